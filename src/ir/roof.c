/* roof.c -- upper bounds of sizes that nodes bind, from what is known of them: ranges, and the checks
 * that the graph has recorded. A bound, not the least one. */
#include "ir/build.h"

enum { DEEP = 8 };                 /* bounds that stand on bounds */

static bool roof(hop_build *b, hop_size s, int deep, hop_size *out);

/* The better of two bounds, if one is. */
static hop_size lower_of(hop_build *b, hop_size x, hop_size y)
{
	return hop_build_holds(b, HOP_LE, y, x) == HOP_ALWAYS ? y : x;
}

static bool roof_sym(hop_build *b, int sym, int deep, hop_size *out)
{
	hop_size s = hop_size_sym(b->env, sym), other;
	bool found = b->range[sym].hi < HOP_SIZE_MAX;
	*out = hop_size_int(b->range[sym].hi);
	for (size_t i = 0; i < b->ncheck; i++) {
		const hop_check *c = &b->check[i];
		if (hop_size_eq(c->a, s))
			other = c->b;
		else if (c->rel == HOP_EQ && hop_size_eq(c->b, s))
			other = c->a;
		else
			continue;
		if (!roof(b, other, deep + 1, &other))
			continue;
		*out = found ? lower_of(b, *out, other) : other;
		found = true;
	}
	return found;
}

static bool roof_atom(hop_build *b, const hop_atom *a, int deep, hop_size *out)
{
	hop_size x, y;
	switch (a->kind) {
	case HOP_ATOM_SYM:
		if (a->sym >= (int)b->nsym)
			return roof_sym(b, a->sym, deep, out);
		*out = hop_size_sym(b->env, a->sym);
		return true;
	case HOP_ATOM_MIN:
	case HOP_ATOM_MAX:
		if (!roof(b, a->a, deep, &x) || !roof(b, a->b, deep, &y))
			return false;
		*out = a->kind == HOP_ATOM_MIN ? hop_size_min(b->env, x, y) : hop_size_max(b->env, x, y);
		return true;
	case HOP_ATOM_DIV:
		if (!hop_size_const(a->b) || a->b.k < 1 || !roof(b, a->a, deep, &x))
			return false;
		*out = hop_size_div(b->env, x, a->b);
		return true;
	default:
		return false;
	}
}

/* A product of what is not negative grows with its factors; less than nothing is at most nothing. */
static bool roof_term(hop_build *b, const hop_sexpr *e, int term, int deep, hop_size *out)
{
	int64_t c = hop_sexpr_coeff(e, term);
	hop_size all = hop_size_int(c), one;
	for (int i = 0; i < hop_sexpr_natom(e, term); i++) {
		const hop_atom *a = hop_sexpr_atom(e, term, i);
		if (c < 0 && a->kind != HOP_ATOM_SYM)
			return false;
		if (c >= 0 && !roof_atom(b, a, deep, &one))
			return false;
		all = c < 0 ? hop_size_int(0) : hop_size_mul(b->env, all, one);
	}
	*out = all;
	return !hop_size_bad(all);
}

static bool roof(hop_build *b, hop_size s, int deep, hop_size *out)
{
	hop_size sum = hop_size_int(s.k), one;
	if (hop_size_nsym(s) <= (int)b->nsym) {
		*out = s;
		return !hop_size_bad(s);
	}
	bool found = deep < DEEP;
	for (int i = 0; found && i < hop_sexpr_nterm(s.e); i++) {
		found = roof_term(b, s.e, i, deep, &one);
		sum = found ? hop_size_add(b->env, sum, one) : sum;
	}
	int64_t hi = hop_size_range(s, b->range, (int)(b->nsym + b->nlocal)).hi;
	*out = found ? sum : hop_size_int(hi);
	return (found && !hop_size_bad(sum)) || hi < HOP_SIZE_MAX;
}

bool hop_build_roof(hop_build *b, hop_size s, hop_size *out)
{
	return roof(b, s, 0, out);
}
