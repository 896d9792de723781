/* index.c -- index expressions: sums of registers with size coefficients, and quotients
 * and remainders that simplify, so that a chain of views costs what one access costs.
 * Emits nothing; scope.c turns an index into statements. */
#include <string.h>

#include "loop/lower.h"

enum { MAXT = 48 };

typedef struct hop_ixterm term;

/* A sum being put together: terms in order of atom id, no zero coefficients. */
typedef struct sum {
	hop_size k;
	int      n;
	term     t[MAXT];
} sum;

static const hop_ix *intern(hop_lower *l, const sum *s)
{
	struct { int64_t k; const void *e, *a; } key[MAXT + 1];

	memset(key, 0, sizeof key[0] * (size_t)(s->n + 1));
	key[0].k = s->k.k;
	key[0].e = s->k.e;
	for (int i = 0; i < s->n; i++) {
		key[i + 1].k = s->t[i].c.k;
		key[i + 1].e = s->t[i].c.e;
		key[i + 1].a = s->t[i].a;
	}
	size_t nb = sizeof key[0] * (size_t)(s->n + 1);
	hop_ix *x = hop_map_get(&l->names.ixs, key, nb);
	if (x)
		return x;
	x = hop_arena_alloc(l->w, sizeof *x + sizeof(term) * (size_t)s->n);
	x->k = s->k;
	x->n = s->n;
	for (int i = 0; i < s->n; i++)
		x->t[i] = s->t[i];
	hop_map_put(&l->names.ixs, key, nb, x);
	return x;
}

static const hop_ixatom *atom(hop_lower *l, int kind, hop_reg r, const hop_ix *of,
                              hop_size by, hop_size extent)
{
	struct { int64_t kind, reg; const void *of; int64_t k; const void *e; } key =
		{ kind + 1, r, of, by.k, by.e };
	hop_ixatom *a = hop_map_get(&l->names.ixs, &key, sizeof key - (kind ? 0 : 8));

	if (a)
		return a;
	a = HOP_NEW(l->w, hop_ixatom);
	*a = (hop_ixatom){ .kind = kind, .id = ++l->names.natom, .reg = r, .of = of, .by = by,
	                   .extent = extent };
	hop_map_put(&l->names.ixs, &key, sizeof key - (kind ? 0 : 8), a);
	return a;
}

static void add_term(hop_lower *l, sum *s, const hop_ixatom *a, hop_size c)
{
	int i = 0;
	while (i < s->n && s->t[i].a->id < a->id)
		i++;
	if (i < s->n && s->t[i].a == a) {
		c = hop_size_add(l->env, s->t[i].c, c);
		if (hop_size_is(c, 0)) {
			s->n--;
			memmove(&s->t[i], &s->t[i + 1], sizeof(term) * (size_t)(s->n - i));
		} else {
			s->t[i].c = c;
		}
		return;
	}
	if (hop_size_is(c, 0))
		return;
	HOP_ASSERT(s->n < MAXT);
	memmove(&s->t[i + 1], &s->t[i], sizeof(term) * (size_t)(s->n - i));
	s->t[i] = (term){ a, c };
	s->n++;
}

static void add_all(hop_lower *l, sum *s, const hop_ix *x, hop_size c)
{
	s->k = hop_size_add(l->env, s->k, hop_size_mul(l->env, x->k, c));
	for (int i = 0; i < x->n; i++)
		add_term(l, s, x->t[i].a, hop_size_mul(l->env, x->t[i].c, c));
}

/* c*b*(e div b) + c*(e mod b) = c*e. */
static bool rejoin(hop_lower *l, sum *s)
{
	for (int i = 0; i < s->n; i++) {
		const hop_ixatom *m = s->t[i].a;
		if (m->kind != HOP_IX_MOD)
			continue;
		hop_size want = hop_size_mul(l->env, s->t[i].c, m->by);
		for (int j = 0; j < s->n; j++) {
			const hop_ixatom *d = s->t[j].a;
			if (d->kind != HOP_IX_DIV || d->of != m->of ||
			    !hop_size_eq(d->by, m->by) || !hop_size_eq(s->t[j].c, want))
				continue;
			hop_size c = s->t[i].c, zero = hop_size_sub(l->env, hop_size_int(0), want);
			add_term(l, s, d, zero);
			add_term(l, s, m, hop_size_sub(l->env, hop_size_int(0), c));
			add_all(l, s, m->of, c);
			return true;
		}
	}
	return false;
}

const hop_ix *hop_ix_size(hop_lower *l, hop_size k)
{
	sum s = { .k = k };
	return intern(l, &s);
}

const hop_ix *hop_ix_reg(hop_lower *l, hop_reg r, hop_size extent)
{
	sum s = { .k = hop_size_int(0) };
	add_term(l, &s, atom(l, HOP_IX_REG, r, NULL, hop_size_int(0), extent), hop_size_int(1));
	return intern(l, &s);
}

const hop_ix *hop_ix_add(hop_lower *l, const hop_ix *a, const hop_ix *b)
{
	sum s = { .k = hop_size_int(0) };
	add_all(l, &s, a, hop_size_int(1));
	add_all(l, &s, b, hop_size_int(1));
	while (rejoin(l, &s))
		;
	return intern(l, &s);
}

const hop_ix *hop_ix_mul(hop_lower *l, const hop_ix *a, hop_size c)
{
	sum s = { .k = hop_size_int(0) };
	add_all(l, &s, a, c);
	return intern(l, &s);
}

bool hop_lower_nonneg(hop_lower *l, hop_size s)
{
	if (hop_size_bad(s))
		return false;
	return hop_size_range(s, l->range, l->q.b.f->nsym + l->q.b.f->nlocal).lo >= 0;
}

/* The largest value when wanted is 1, the smallest when it is 0; false = not known. */
static bool extreme(hop_lower *l, const hop_ix *x, bool max, hop_size *out)
{
	hop_size v = x->k;
	for (int i = 0; i < x->n; i++) {
		hop_size c = x->t[i].c;
		hop_size last = hop_size_sub(l->env, x->t[i].a->extent, hop_size_int(1));
		bool up;
		if (hop_lower_nonneg(l, c))
			up = true;
		else if (hop_lower_nonneg(l, hop_size_sub(l->env, hop_size_int(0), c)))
			up = false;
		else
			return false;
		if (up == max)
			v = hop_size_add(l->env, v, hop_size_mul(l->env, c, last));
	}
	*out = v;
	return true;
}

/* 0 <= x < c, provably. */
static bool within(hop_lower *l, const hop_ix *x, hop_size c)
{
	hop_size lo, hi;
	if (!extreme(l, x, false, &lo) || !hop_lower_nonneg(l, lo))
		return false;
	if (!extreme(l, x, true, &hi))
		return false;
	hi = hop_size_sub(l->env, hop_size_sub(l->env, c, hi), hop_size_int(1));
	return hop_lower_nonneg(l, hi);
}

static bool nonneg(hop_lower *l, const hop_ix *x)
{
	hop_size lo;
	return extreme(l, x, false, &lo) && hop_lower_nonneg(l, lo);
}

/* x = c*q + r where r holds what c does not divide. */
static void split(hop_lower *l, const hop_ix *x, hop_size c, const hop_ix **out_q,
                  const hop_ix **out_r)
{
	sum q = { .k = hop_size_int(0) }, r = { .k = hop_size_int(0) };
	hop_size z;
	if (hop_size_const(x->k) && hop_size_const(c) && c.k > 0) {
		int64_t f = x->k.k / c.k - (x->k.k % c.k < 0);
		q.k = hop_size_int(f);
		r.k = hop_size_int(x->k.k - f * c.k);
	} else if (hop_size_quot(l->env, x->k, c, &z)) {
		q.k = z;
	} else {
		r.k = x->k;
	}
	for (int i = 0; i < x->n; i++)
		if (hop_size_quot(l->env, x->t[i].c, c, &z))
			add_term(l, &q, x->t[i].a, z);
		else
			add_term(l, &r, x->t[i].a, x->t[i].c);
	*out_q = intern(l, &q);
	*out_r = intern(l, &r);
}

/* A factor g of c such that r = g*a + b with 0 <= b < g; then r div c = a div (c/g). */
static bool factor(hop_lower *l, const hop_ix *r, hop_size c, hop_size *out_g,
                   hop_size *out_cg, const hop_ix **out_a, const hop_ix **out_b)
{
	for (int i = 0; i < r->n; i++) {
		hop_size g = r->t[i].c;
		if (hop_size_is(g, 1) || !hop_lower_nonneg(l, g) ||
		    !hop_size_quot(l->env, c, g, out_cg))
			continue;
		split(l, r, g, out_a, out_b);
		if (!within(l, *out_b, g))
			continue;
		*out_g = g;
		return true;
	}
	return false;
}

const hop_ix *hop_ix_div(hop_lower *l, const hop_ix *x, hop_size c)
{
	const hop_ix *q, *r, *a, *b;
	hop_size g, cg, hi;
	if (hop_size_is(c, 1))
		return x;
	split(l, x, c, &q, &r);
	if (within(l, r, c))
		return q;
	if (!nonneg(l, r)) {
		q = hop_ix_size(l, hop_size_int(0));
		r = x;
	} else if (factor(l, r, c, &g, &cg, &a, &b)) {
		return hop_ix_add(l, q, hop_ix_div(l, a, cg));
	}
	if (extreme(l, r, true, &hi))
		hi = hop_size_add(l->env, hop_size_div(l->env, hi, c), hop_size_int(1));
	else
		hi = hop_size_int(HOP_SIZE_MAX);
	sum s = { .k = hop_size_int(0) };
	add_term(l, &s, atom(l, HOP_IX_DIV, 0, r, c, hi), hop_size_int(1));
	return hop_ix_add(l, q, intern(l, &s));
}

const hop_ix *hop_ix_mod(hop_lower *l, const hop_ix *x, hop_size c)
{
	const hop_ix *q, *r, *a, *b;
	hop_size g, cg;
	if (hop_size_is(c, 1))
		return hop_ix_size(l, hop_size_int(0));
	split(l, x, c, &q, &r);
	if (within(l, r, c))
		return r;
	if (!nonneg(l, r))
		r = x;
	else if (factor(l, r, c, &g, &cg, &a, &b))
		return hop_ix_add(l, hop_ix_mul(l, hop_ix_mod(l, a, cg), g), b);
	sum s = { .k = hop_size_int(0) };
	add_term(l, &s, atom(l, HOP_IX_MOD, 0, r, c, c), hop_size_int(1));
	return intern(l, &s);
}

const hop_ix *hop_ix_flat(hop_lower *l, int rank, const hop_size *dim,
                          const hop_ix *const *x)
{
	const hop_ix *p = hop_ix_size(l, hop_size_int(0));
	for (int i = 0; i < rank; i++)
		p = hop_ix_add(l, hop_ix_mul(l, p, dim[i]), x[i]);
	return p;
}

/* From the last axis on, dividing step by step: quotients of quotients are what
 * hop_ix_flat joins again. */
void hop_ix_unflat(hop_lower *l, const hop_ix *p, int rank, const hop_size *dim,
                   const hop_ix **out)
{
	int first = 0;
	while (first < rank && hop_size_is(dim[first], 1))
		first++;
	for (int i = rank - 1; i >= 0; i--) {
		if (hop_size_is(dim[i], 1)) {
			out[i] = hop_ix_size(l, hop_size_int(0));
		} else if (i == first) {
			out[i] = p;
		} else {
			out[i] = hop_ix_mod(l, p, dim[i]);
			p = hop_ix_div(l, p, dim[i]);
		}
	}
}

int hop_ix_refine(hop_lower *l, int na, const hop_size *a, int nb, const hop_size *b,
                  hop_size *out)
{
	hop_size x = hop_size_int(1), y = x, q, rev[2 * HOP_MAXRANK];
	int n = 0;
	for (;;) {
		while (hop_size_is(x, 1) && na > 0)
			x = a[--na];
		while (hop_size_is(y, 1) && nb > 0)
			y = b[--nb];
		if (hop_size_is(x, 1) || hop_size_is(y, 1))
			break;
		/* 0 is a multiple of everything, and what it is put together from says nothing */
		if (n == HOP_MAXRANK || hop_size_is(x, 0) || hop_size_is(y, 0))
			return 0;
		if (hop_size_eq(x, y)) {
			rev[n++] = x;
			x = y = hop_size_int(1);
		} else if (hop_size_quot(l->env, y, x, &q)) {
			rev[n++] = x;
			x = hop_size_int(1);
			y = q;
		} else if (hop_size_quot(l->env, x, y, &q)) {
			rev[n++] = y;
			y = hop_size_int(1);
			x = q;
		} else {
			return 0;
		}
	}
	if (!hop_size_is(x, 1) || !hop_size_is(y, 1))
		return 0;
	for (int i = 0; i < n; i++)
		out[i] = rev[n - 1 - i];
	return n;
}
