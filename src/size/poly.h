/* poly.h -- sizes taken apart: the work form behind size.c and size_ops.c. Private to
 * them and to size_read.c. */
#ifndef HOP_POLY_H
#define HOP_POLY_H

#include "ctx/ctx.h"
#include "size/size.h"

/* c times the product of the atoms, which are sorted by hop_atom_cmp. */
typedef struct hop_mono {
	int64_t                c;
	int                    n;
	const hop_atom *const *at;
} hop_mono;

/* A sum in scratch memory. In no order and with repeats, unlike hop_sexpr, which is the
 * same thing interned: monomials sorted, distinct, nonzero. */
typedef struct hop_poly {
	int64_t   k;
	int       n;
	hop_mono *m;
	bool      bad;         /* left 64 bits on the way */
} hop_poly;

/* Interned as these bytes, the atoms following term[nterm]. Orders and hash depend on
 * content only, never on addresses. */
struct hop_sexpr {
	uint64_t hash;
	int32_t  nterm;
	int32_t  nsym;         /* one more than the largest symbol */
	int32_t  weight;       /* terms and atoms, nested ones too */
	int32_t  zero;
	struct hop_term { int64_t c; int32_t off, n; } term[];
};

static inline const hop_atom *const *hop_sexpr_atoms(const hop_sexpr *x)
{
	return (const hop_atom *const *)(x->term + x->nterm);
}

/* The only term of a size that is one atom and nothing else; else NULL. */
static inline const hop_atom *hop_size_pure(hop_size a)
{
	if (a.k || !a.e || a.e->nterm != 1 || a.e->term[0].c != 1 || a.e->term[0].n != 1)
		return NULL;
	return hop_sexpr_atoms(a.e)[0];
}

hop_poly hop_poly_of(hop_env *e, hop_size a, int room);    /* room for more monomials */
hop_size hop_poly_size(hop_env *e, hop_poly *p);           /* sorts p, too */
hop_size hop_size_atom(hop_env *e, hop_atom_kind kind, hop_size a, hop_size b);

/* Floor and its remainder with the conventions for 0; false: leaves 64 bits. */
bool     hop_floor_div(int64_t a, int64_t b, int64_t *out_v);
int64_t  hop_floor_mod(int64_t a, int64_t b);

#endif
