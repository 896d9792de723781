/* size_ops.c -- floor quotients, remainders, minima, maxima, substitution.
 * Does not assume that a divisor is not 0: s/s stays as it is. */
#include <stdlib.h>

#include "size/poly.h"

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t r = a % b;
		a = b;
		b = r;
	}
	return a < 0 ? -a : a;
}

static hop_size negated(hop_env *e, hop_size a)
{
	return hop_size_sub(e, hop_size_int(0), a);
}

/* a = c*q + r for c > 1: coefficients of r smaller than c and of the sign they had, its
 * constant in 0..c-1. */
static void split(hop_env *e, hop_size a, int64_t c, hop_size *out_q, hop_size *out_r)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_poly q = hop_poly_of(e, a, 0), r = hop_poly_of(e, a, 0);
	hop_floor_div(a.k, c, &q.k);
	r.k = hop_floor_mod(a.k, c);
	for (int i = 0; i < q.n; i++) {
		q.m[i].c /= c;
		r.m[i].c %= c;
	}
	*out_q = hop_poly_size(e, &q);
	*out_r = hop_poly_size(e, &r);
	hop_rewind(&e->tmp, mark);
}

/* The gcd of c and all coefficients but the constant; then floor(a / it), which is exact
 * but for the constant. */
static int64_t reduce(hop_env *e, hop_size a, int64_t c, hop_size *out_a)
{
	int64_t g = c;
	for (int i = 0; a.e && i < a.e->nterm; i++)
		g = gcd(g, a.e->term[i].c);
	*out_a = a;
	if (g == 1)
		return 1;
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_poly p = hop_poly_of(e, a, 0);
	hop_floor_div(a.k, g, &p.k);
	for (int i = 0; i < p.n; i++)
		p.m[i].c /= g;
	*out_a = hop_poly_size(e, &p);
	hop_rewind(&e->tmp, mark);
	return g;
}

/* r/c for r as split leaves it. floor((g*x + k) / (g*c)) = floor((x + floor(k/g)) / c),
 * and floor((floor(x/d) + k) / c) = floor((x + k*d) / (c*d)). */
static hop_size div_rest(hop_env *e, hop_size r, int64_t c)
{
	if (!r.e)
		return hop_size_int(0);
	c /= reduce(e, r, c, &r);
	if (c == 1)
		return r;
	const hop_atom *in = hop_size_pure((hop_size){ 0, r.e });
	int64_t cd;
	if (in && in->kind == HOP_ATOM_DIV && !in->b.e && in->b.k > 1 &&
	    !__builtin_mul_overflow(c, in->b.k, &cd)) {
		hop_size kd = hop_size_mul(e, hop_size_int(r.k), in->b);
		hop_size x = hop_size_add(e, in->a, kd);
		if (!hop_size_bad(x))
			return hop_size_div(e, x, hop_size_int(cd));
	}
	return hop_size_atom(e, HOP_ATOM_DIV, r, hop_size_int(c));
}

hop_size hop_size_div(hop_env *e, hop_size a, hop_size b)
{
	if (hop_size_bad(a) || hop_size_bad(b))
		return hop_size_int(HOP_SIZE_BAD);
	if (hop_size_is(a, 0) || hop_size_is(b, 0))
		return hop_size_int(0);
	if (b.e)
		return hop_size_atom(e, HOP_ATOM_DIV, a, b);
	if (b.k < 0)
		return hop_size_div(e, negated(e, a), hop_size_int(-b.k));
	if (b.k == 1)
		return a;
	hop_size q, r;
	split(e, a, b.k, &q, &r);
	return hop_size_add(e, q, div_rest(e, r, b.k));
}

/* Modulo c, (x mod m) is x when c divides m. True when there was one to replace. */
static bool unwrap(hop_env *e, hop_size *a, int64_t c)
{
	for (int i = 0; a->e && i < a->e->nterm; i++) {
		const struct hop_term *t = &a->e->term[i];
		const hop_atom *in = hop_sexpr_atoms(a->e)[t->off];
		if (t->n != 1 || in->kind != HOP_ATOM_MOD || in->b.e || in->b.k % c)
			continue;
		hop_size d = hop_size_sub(e, in->a, hop_size_atom(e, HOP_ATOM_MOD, in->a, in->b));
		d = hop_size_add(e, *a, hop_size_mul(e, hop_size_int(t->c), d));
		if (hop_size_bad(d))
			continue;
		*a = d;
		return true;
	}
	return false;
}

/* (g*x + k) mod (g*c) = g*((x + floor(k/g)) mod c) + k mod g */
static hop_size mod_const(hop_env *e, hop_size a, int64_t c)
{
	hop_size q, r;
	do {
		split(e, a, c, &q, &r);
		a = r;
	} while (unwrap(e, &a, c));
	if (!r.e)
		return r;
	int64_t k = r.k, g = reduce(e, r, c, &r);
	hop_size rest = hop_size_int(hop_floor_mod(k, g));
	if (c == g)
		return rest;
	r = hop_size_atom(e, HOP_ATOM_MOD, r, hop_size_int(c / g));
	return hop_size_add(e, rest, hop_size_mul(e, hop_size_int(g), r));
}

/* The atoms of a without those of b; false when b has one that a has not. Both sorted,
 * and equal atoms are one pointer. */
static bool atoms_without(hop_env *e, hop_mono a, hop_mono b, hop_mono *out_m)
{
	const hop_atom **at = HOP_NEWN(&e->tmp, const hop_atom *, a.n);
	int n = 0, j = 0;
	for (int i = 0; i < a.n; i++) {
		if (j < b.n && a.at[i] == b.at[j])
			j++;
		else
			at[n++] = a.at[i];
	}
	if (j < b.n || a.c % b.c)
		return false;
	*out_m = (hop_mono){ b.c == -1 ? -a.c : a.c / b.c, n, at };
	return true;
}

/* Modulo b of one monomial, the terms it divides are 0. */
static hop_size drop_multiples(hop_env *e, hop_size a, hop_size b)
{
	if (b.k || b.e->nterm != 1)
		return a;
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_poly p = hop_poly_of(e, a, 0), q = hop_poly_of(e, b, 0);
	hop_mono unused;
	for (int i = 0; i < p.n; i++)
		if (atoms_without(e, p.m[i], q.m[0], &unused))
			p.m[i].c = 0;
	a = hop_poly_size(e, &p);
	hop_rewind(&e->tmp, mark);
	return a;
}

hop_size hop_size_mod(hop_env *e, hop_size a, hop_size b)
{
	if (hop_size_bad(a) || hop_size_bad(b))
		return hop_size_int(HOP_SIZE_BAD);
	if (hop_size_is(b, 0))
		return hop_size_int(0);
	if (b.e) {
		hop_size q;
		a = drop_multiples(e, a, b);
		if (hop_size_quot(e, a, b, &q))
			return hop_size_int(0);
		return hop_size_atom(e, HOP_ATOM_MOD, a, b);
	}
	if (b.k < 0)
		return negated(e, hop_size_mod(e, negated(e, a), hop_size_int(-b.k)));
	return b.k == 1 ? hop_size_int(0) : mod_const(e, a, b.k);
}

/* The leading monomial: the constant when there is no other. */
static hop_mono lead(hop_env *e, hop_size a)
{
	return a.e ? hop_poly_of(e, a, 0).m[0] : (hop_mono){ .c = a.k };
}

/* Quotients of more terms are not looked for. */
enum { MAXQUOT = 64 };

/* Division of polynomials: leading terms cancel, so the rest gets smaller. */
bool hop_size_quot(hop_env *e, hop_size a, hop_size b, hop_size *out_q)
{
	hop_size q = hop_size_int(0);
	if (hop_size_bad(a) || hop_size_bad(b) || hop_size_is(b, 0))
		return false;
	for (int i = 0; !hop_size_is(a, 0); i++) {
		hop_mark mark = hop_mark_at(&e->tmp);
		hop_mono m;
		hop_size t = hop_size_int(HOP_SIZE_BAD);
		if (atoms_without(e, lead(e, a), lead(e, b), &m)) {
			hop_poly p = { .n = 1, .m = &m };
			if (!m.n)
				p = (hop_poly){ .k = m.c };
			t = hop_poly_size(e, &p);
		}
		hop_rewind(&e->tmp, mark);
		a = hop_size_sub(e, a, hop_size_mul(e, t, b));
		q = hop_size_add(e, q, t);
		if (hop_size_bad(a) || hop_size_bad(q) || i == MAXQUOT)
			return false;
	}
	*out_q = q;
	return true;
}

/* ---- minima and maxima ---- */

static int size_cmp(const void *a, const void *b)
{
	return hop_size_cmp(*(const hop_size *)a, *(const hop_size *)b);
}

/* Both operands opened up into one sorted list of sizes that are no such atom;
 * of those that differ by a constant one stays. Then nested again, to the left. */
static hop_size extreme(hop_env *e, hop_atom_kind kind, hop_size a, hop_size b)
{
	if (hop_size_bad(a) || hop_size_bad(b))
		return hop_size_int(HOP_SIZE_BAD);
	hop_mark mark = hop_mark_at(&e->tmp);
	size_t cap = 0, n = 2;
	hop_size *op = hop_arena_grow(&e->tmp, NULL, sizeof *op, n, &cap);
	op[0] = a;
	op[1] = b;
	for (size_t i = 0; i < n;) {
		const hop_atom *in = hop_size_pure(op[i]);
		if (!in || in->kind != kind) {
			i++;
			continue;
		}
		op = hop_arena_grow(&e->tmp, op, sizeof *op, n + 1, &cap);
		op[i] = in->a;
		op[n++] = in->b;
	}
	qsort(op, n, sizeof *op, size_cmp);
	size_t left = 1;
	for (size_t i = 1; i < n; i++) {
		hop_size *last = &op[left - 1];
		if (op[i].e != last->e)
			op[left++] = op[i];
		else if (kind == HOP_ATOM_MIN ? op[i].k < last->k : op[i].k > last->k)
			last->k = op[i].k;
	}
	hop_size r = op[0];
	for (size_t i = 1; i < left && !hop_size_bad(r); i++)
		r = hop_size_atom(e, kind, r, op[i]);
	hop_rewind(&e->tmp, mark);
	return r;
}

hop_size hop_size_min(hop_env *e, hop_size a, hop_size b)
{
	return extreme(e, HOP_ATOM_MIN, a, b);
}

hop_size hop_size_max(hop_env *e, hop_size a, hop_size b)
{
	return extreme(e, HOP_ATOM_MAX, a, b);
}

/* ---- signs ---- */

enum { MAXLOOK = 6 };        /* atoms opened up on the way to a proof */

/* a with its term i, which is c times one atom, replaced by c*by. */
static hop_size exchange(hop_env *e, hop_size a, int i, hop_size by)
{
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_poly p = hop_poly_of(e, a, 0);
	hop_size c = hop_size_int(p.m[i].c);
	p.m[i].c = 0;
	hop_size r = hop_size_add(e, hop_poly_size(e, &p), hop_size_mul(e, c, by));
	hop_rewind(&e->tmp, mark);
	return r;
}

static bool nonneg(hop_env *e, hop_size a, const hop_range *syms, int n, int look)
{
	if (hop_size_bad(a))
		return false;
	if (hop_size_range(a, syms, n).lo >= 0)
		return true;
	for (int i = 0; a.e && look && i < a.e->nterm; i++) {
		const struct hop_term *t = &a.e->term[i];
		const hop_atom *in = hop_sexpr_atoms(a.e)[t->off];
		if (t->n != 1)
			continue;
		if (in->kind == HOP_ATOM_MIN || in->kind == HOP_ATOM_MAX) {
			/* one operand is enough where the other can only make it larger */
			bool either = (in->kind == HOP_ATOM_MAX) == (t->c > 0);
			bool x = nonneg(e, exchange(e, a, i, in->a), syms, n, look - 1);
			if (x == either)
				return x;
			return nonneg(e, exchange(e, a, i, in->b), syms, n, look - 1);
		}
		if (in->kind == HOP_ATOM_DIV && !in->b.e && in->b.k > 1 && t->c % in->b.k == 0) {
			/* d*(x/d) = x - x%d */
			hop_size x = hop_size_sub(e, in->a, hop_size_mod(e, in->a, in->b));
			hop_size q = exchange(e, a, i, hop_size_int(0));
			x = hop_size_mul(e, hop_size_int(t->c / in->b.k), x);
			return nonneg(e, hop_size_add(e, q, x), syms, n, look - 1);
		}
	}
	return false;
}

bool hop_size_nonneg(hop_env *e, hop_size a, const hop_range *syms, int n)
{
	return nonneg(e, a, syms, n, MAXLOOK);
}

/* ---- substitution ---- */

static hop_size subst_atom(hop_env *e, const hop_atom *t, const hop_size *args, int nargs)
{
	if (t->kind == HOP_ATOM_SYM) {
		HOP_ASSERT(t->sym < nargs);
		return args[t->sym];
	}
	hop_size a = hop_size_subst(e, t->a, args, nargs);
	hop_size b = hop_size_subst(e, t->b, args, nargs);
	switch (t->kind) {
	case HOP_ATOM_DIV: return hop_size_div(e, a, b);
	case HOP_ATOM_MOD: return hop_size_mod(e, a, b);
	case HOP_ATOM_MIN: return hop_size_min(e, a, b);
	case HOP_ATOM_MAX: return hop_size_max(e, a, b);
	case HOP_ATOM_SYM: break;
	}
	hop_bug(__FILE__, __LINE__, "kind of atom");
}

hop_size hop_size_subst(hop_env *e, hop_size a, const hop_size *args, int nargs)
{
	if (!a.e)
		return a;
	hop_size sum = hop_size_int(a.k);
	for (int i = 0; i < a.e->nterm; i++) {
		const struct hop_term *t = &a.e->term[i];
		hop_size prod = hop_size_int(t->c);
		for (int j = 0; j < t->n; j++) {
			const hop_atom *at = hop_sexpr_atoms(a.e)[t->off + j];
			prod = hop_size_mul(e, prod, subst_atom(e, at, args, nargs));
		}
		sum = hop_size_add(e, sum, prod);
	}
	return sum;
}
