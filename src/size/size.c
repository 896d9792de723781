/* size.c -- sizes as canonical polynomials: order, interning, sums and products.
 * Does not use what is known of symbols' ranges: equality holds for all integers. */
#include <stdlib.h>
#include <string.h>

#include "size/poly.h"

_Static_assert(sizeof(hop_atom) == 8 + 2 * sizeof(hop_size), "an atom has no padding");
_Static_assert(sizeof(hop_size) == 16, "a size has no padding");

/* ---- order ---- */

static int cmp64(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int atom_cmp(const hop_atom *a, const hop_atom *b)
{
	if (a == b)
		return 0;
	int d = cmp64(a->kind, b->kind);
	if (!d)
		d = cmp64(a->sym, b->sym);
	if (!d)
		d = hop_size_cmp(a->a, b->a);
	return d ? d : hop_size_cmp(a->b, b->b);
}

/* Higher degree first, then atom by atom: a graded lexicographic order, which products
 * keep. hop_size_quot relies on that. */
static int atoms_cmp(const hop_atom *const *a, int na, const hop_atom *const *b, int nb)
{
	int d = cmp64(nb, na);
	for (int i = 0; !d && i < na; i++)
		d = atom_cmp(a[i], b[i]);
	return d;
}

static int mono_cmp(const void *pa, const void *pb)
{
	const hop_mono *a = pa, *b = pb;
	return atoms_cmp(a->at, a->n, b->at, b->n);
}

static int sexpr_cmp(const hop_sexpr *x, const hop_sexpr *y)
{
	if (x == y)
		return 0;
	if (!x || !y)
		return x ? -1 : 1;
	const hop_atom *const *ax = hop_sexpr_atoms(x), *const *ay = hop_sexpr_atoms(y);
	for (int i = 0; i < x->nterm && i < y->nterm; i++) {
		const struct hop_term *s = &x->term[i], *t = &y->term[i];
		int d = atoms_cmp(ax + s->off, s->n, ay + t->off, t->n);
		if (!d)
			d = cmp64(s->c, t->c);
		if (d)
			return d;
	}
	return cmp64(y->nterm, x->nterm);
}

int hop_size_cmp(hop_size a, hop_size b)
{
	int d = sexpr_cmp(a.e, b.e);
	return d ? d : cmp64(a.k, b.k);
}

/* ---- interning ---- */

uint64_t hop_size_hash(hop_size a)
{
	uint64_t w[2] = { (uint64_t)a.k, a.e ? a.e->hash : 0 };
	return hop_hash_bytes(w, sizeof w).lo;
}

static uint64_t atom_hash(const hop_atom *a)
{
	uint64_t w[4] = { (uint64_t)a->kind, (uint64_t)a->sym, 0, 0 };
	if (a->kind != HOP_ATOM_SYM) {
		w[2] = hop_size_hash(a->a);
		w[3] = hop_size_hash(a->b);
	}
	return hop_hash_bytes(w, sizeof w).lo;
}

static int weight(hop_size a)
{
	return 1 + (a.e ? a.e->weight : 0);
}

static int atom_weight(const hop_atom *a)
{
	return a->kind == HOP_ATOM_SYM ? 1 : 1 + weight(a->a) + weight(a->b);
}

static int atom_nsym(const hop_atom *a)
{
	if (a->kind == HOP_ATOM_SYM)
		return a->sym + 1;
	int x = hop_size_nsym(a->a), y = hop_size_nsym(a->b);
	return x > y ? x : y;
}

/* Sort, merge equal monomials, drop zeros. A coefficient must have a negative. */
static void tidy(hop_poly *p)
{
	if (p->n > 1)
		qsort(p->m, (size_t)p->n, sizeof *p->m, mono_cmp);
	int n = 0;
	for (int i = 0; i < p->n;) {
		hop_mono m = p->m[i++];
		for (; i < p->n && !mono_cmp(&m, &p->m[i]); i++)
			p->bad |= __builtin_add_overflow(m.c, p->m[i].c, &m.c);
		p->bad |= m.c == INT64_MIN;
		if (m.c)
			p->m[n++] = m;
	}
	p->n = n;
}

/* Build the bytes of the interned form in scratch, then intern them. */
static const hop_sexpr *intern(hop_env *e, const hop_poly *p, int natom)
{
	size_t head = sizeof(hop_sexpr) + (size_t)p->n * sizeof(struct hop_term);
	size_t size = head + (size_t)natom * sizeof(hop_atom *);
	hop_sexpr *x = hop_arena_alloc(&e->tmp, size);
	const hop_atom **at = (const hop_atom **)((char *)x + head);
	uint64_t *w = HOP_NEWN(&e->tmp, uint64_t, 2 * p->n + natom);
	size_t nw = 0;
	int off = 0;
	x->nterm = p->n;
	for (int i = 0; i < p->n; i++) {
		const hop_mono *m = &p->m[i];
		x->term[i] = (struct hop_term){ m->c, off, m->n };
		x->weight += 1;
		w[nw++] = (uint64_t)m->c;
		w[nw++] = (uint64_t)m->n;
		for (int j = 0; j < m->n; j++) {
			const hop_atom *a = at[off++] = m->at[j];
			int ns = atom_nsym(a);
			x->nsym = x->nsym > ns ? x->nsym : ns;
			x->weight += atom_weight(a);
			w[nw++] = atom_hash(a);
			if (x->weight > HOP_SIZE_WEIGHT)
				return NULL;
		}
	}
	x->hash = hop_hash_bytes(w, nw * sizeof *w).lo;
	return hop_ctx_intern(e, HOP_IN_SEXPR, x, size, _Alignof(hop_sexpr));
}

hop_size hop_poly_size(hop_env *e, hop_poly *p)
{
	tidy(p);
	if (p->bad)
		return hop_size_int(HOP_SIZE_BAD);
	if (!p->n)
		return hop_size_int(p->k);
	int natom = 0;
	for (int i = 0; i < p->n; i++) {
		natom += p->m[i].n;
		if (natom > HOP_SIZE_WEIGHT)
			return hop_size_int(HOP_SIZE_BAD);
	}
	hop_mark mark = hop_mark_at(&e->tmp);
	const hop_sexpr *x = intern(e, p, natom);
	hop_rewind(&e->tmp, mark);
	return x && p->k != INT64_MIN ? (hop_size){ p->k, x } : hop_size_int(HOP_SIZE_BAD);
}

hop_poly hop_poly_of(hop_env *e, hop_size a, int room)
{
	int n = a.e ? a.e->nterm : 0;
	hop_poly p = { .k = a.k, .n = n, .bad = hop_size_bad(a) };
	p.m = HOP_NEWN(&e->tmp, hop_mono, n + room);
	for (int i = 0; i < n; i++) {
		const struct hop_term *t = &a.e->term[i];
		p.m[i] = (hop_mono){ t->c, t->n, hop_sexpr_atoms(a.e) + t->off };
	}
	return p;
}

/* The size that is one atom. */
static hop_size atom_size(hop_env *e, hop_atom a)
{
	const hop_atom *at = hop_ctx_intern(e, HOP_IN_ATOM, &a, sizeof a, _Alignof(hop_atom));
	hop_mono m = { 1, 1, &at };
	hop_poly p = { .n = 1, .m = &m };
	return hop_poly_size(e, &p);
}

hop_size hop_size_sym(hop_env *e, int sym)
{
	HOP_ASSERT(sym >= 0 && sym < INT32_MAX);
	return atom_size(e, (hop_atom){ .kind = HOP_ATOM_SYM, .sym = sym });
}

hop_size hop_size_atom(hop_env *e, hop_atom_kind kind, hop_size a, hop_size b)
{
	return atom_size(e, (hop_atom){ .kind = kind, .a = a, .b = b });
}

/* ---- sums and products ---- */

/* a + f*b */
static hop_size addmul(hop_env *e, hop_size a, int64_t f, hop_size b)
{
	if (hop_size_bad(a) || hop_size_bad(b))
		return hop_size_int(HOP_SIZE_BAD);
	int64_t k;
	bool bad = __builtin_mul_overflow(f, b.k, &k) || __builtin_add_overflow(a.k, k, &k);
	if (bad)
		return hop_size_int(HOP_SIZE_BAD);
	if (!b.e || !f)
		return k == HOP_SIZE_BAD ? hop_size_int(k) : (hop_size){ k, a.e };
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_poly p = hop_poly_of(e, a, b.e->nterm);
	hop_poly q = hop_poly_of(e, b, 0);
	p.k = k;
	for (int i = 0; i < q.n; i++) {
		hop_mono m = q.m[i];
		p.bad |= __builtin_mul_overflow(m.c, f, &m.c);
		p.m[p.n++] = m;
	}
	hop_size r = hop_poly_size(e, &p);
	hop_rewind(&e->tmp, mark);
	return r;
}

hop_size hop_size_add(hop_env *e, hop_size a, hop_size b)
{
	return addmul(e, a, 1, b);
}

hop_size hop_size_sub(hop_env *e, hop_size a, hop_size b)
{
	return addmul(e, a, -1, b);
}

static hop_mono mono_mul(hop_env *e, hop_mono a, hop_mono b, bool *bad)
{
	hop_mono r = { 0, a.n + b.n, NULL };
	*bad |= __builtin_mul_overflow(a.c, b.c, &r.c);
	if (!a.n || !b.n) {
		r.at = a.n ? a.at : b.at;
		return r;
	}
	const hop_atom **at = HOP_NEWN(&e->tmp, const hop_atom *, r.n);
	int i = 0, j = 0;
	for (int n = 0; n < r.n; n++) {
		bool left = j == b.n || (i < a.n && atom_cmp(a.at[i], b.at[j]) <= 0);
		at[n] = left ? a.at[i++] : b.at[j++];
	}
	r.at = at;
	return r;
}

/* Products with more monomials than this before merging are refused unseen. */
enum { MAXPRODUCT = 1 << 16 };

hop_size hop_size_mul(hop_env *e, hop_size a, hop_size b)
{
	if (hop_size_bad(a) || hop_size_bad(b))
		return hop_size_int(HOP_SIZE_BAD);
	if (!a.e)
		return addmul(e, hop_size_int(0), a.k, b);
	if (!b.e)
		return addmul(e, hop_size_int(0), b.k, a);
	int na = a.e->nterm + 1, nb = b.e->nterm + 1;       /* with the constants */
	if (na * nb > MAXPRODUCT)
		return hop_size_int(HOP_SIZE_BAD);
	hop_mark mark = hop_mark_at(&e->tmp);
	hop_poly p = hop_poly_of(e, a, 1), q = hop_poly_of(e, b, 1);
	hop_poly r = { .m = HOP_NEWN(&e->tmp, hop_mono, na * nb) };
	p.m[p.n++] = (hop_mono){ .c = a.k };
	q.m[q.n++] = (hop_mono){ .c = b.k };
	for (int i = 0; i < p.n; i++)
		for (int j = 0; j < q.n; j++) {
			hop_mono m = mono_mul(e, p.m[i], q.m[j], &r.bad);
			if (m.n)
				r.m[r.n++] = m;
			else
				r.k = m.c;
		}
	hop_size s = hop_poly_size(e, &r);
	hop_rewind(&e->tmp, mark);
	return s;
}
