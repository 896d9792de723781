/* widen.c -- results whose sizes only the run knows, for callers who must give memory before it: each
 * gets its upper bounds as sizes, zeros behind what is there, and the sizes themselves become
 * results. How arrays are cut to size again is arrays.c. */
#include "driver/compile.h"

bool hop_sizes_are_born(const hop_graph *g)
{
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		for (int i = 0; i < t->rank; i++)
			if ((uint32_t)hop_size_nsym(t->dim[i]) > g->nsym)
				return true;
	}
	return false;
}

static void note(void *user, int sym)
{
	((bool *)user)[sym] = true;
}

bool *hop_sizes_born(hop_arena *a, const hop_graph *g)
{
	bool *is = HOP_NEWN(a, bool, g->nsym + g->nlocal);
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		for (int i = 0; i < t->rank; i++)
			hop_size_syms(t->dim[i], note, is);
	}
	for (uint32_t i = 0; i < g->nsym; i++)
		is[i] = false;
	return is;
}

/* Result k of g, v of b, as large as it can be. */
static hop_val widened(hop_build *b, uint32_t k, hop_val v)
{
	hop_size zero[HOP_MAXRANK], cap[HOP_MAXRANK];
	bool any = false;
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, v);
	for (int i = 0; i < t->rank; i++) {
		zero[i] = hop_size_int(0);
		if (!hop_build_roof(b, t->dim[i], &cap[i])) {
			b->st = hop_fail(b->env, 0, HOP_EREFUSED, "compile: dimension %d of result %u is a size "
			                 "that only the program knows, and nothing bounds it: return the "
			                 "capacity and a count", i, k);
			return HOP_BAD;
		}
		any |= !hop_size_eq(cap[i], t->dim[i]);
	}
	return any ? hop_emit_pad(b, v, zero, cap, NULL) : v;
}

hop_status hop_results_widen(hop_env *e, const hop_graph *g, const hop_graph **out)
{
	hop_build b;
	hop_graph *made;
	*out = g;
	if (!hop_sizes_are_born(g))
		return HOP_OK;
	int nsym = (int)(g->nsym + g->nlocal);
	uint32_t most = 0, n = g->nout;
	for (uint32_t i = 0; i < g->nnode; i++)
		most = g->node[i].nin > most ? g->node[i].nin : most;
	hop_val *map = HOP_NEWN(&e->tmp, hop_val, g->nvalue), *arg = HOP_NEWN(&e->tmp, hop_val, most);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, g->nout + g->nlocal);
	hop_size *smap = HOP_NEWN(&e->tmp, hop_size, nsym);
	const bool *born = hop_sizes_born(&e->tmp, g);
	hop_build_open(&b, e);
	for (int i = 0; i < nsym; i++)
		smap[i] = hop_size_int(HOP_SIZE_BAD);
	for (uint32_t i = 0; i < g->nsym; i++)
		smap[i] = hop_size_sym(e, hop_build_sym(&b, g->range[i], g->symname[i]));
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(&b, g->type[i]);
	hop_build_checks_of(&b, g, smap, nsym);
	for (uint32_t i = 0; i < g->nnode && !b.st; i++) {
		const hop_node *o = &g->node[i];
		for (uint32_t k = 0; k < o->nin; k++)
			arg[k] = map[o->in[k].id];
		hop_val v = hop_emit_copy(&b, g, o, arg, smap, nsym);
		for (uint32_t k = 0; k < o->nout; k++)
			map[o->out0.id + k] = (hop_val){ v.id + k };
		if (!b.st && hop_node_binds(o) >= 0)
			hop_build_checks_of(&b, g, smap, nsym);
	}
	for (uint32_t k = 0; k < g->nout; k++)
		res[k] = widened(&b, k, b.st ? HOP_BAD : map[g->out[k].id]);
	for (int i = (int)g->nsym; i < nsym; i++)
		if (born[i])
			res[n++] = hop_emit_size(&b, smap[i]);
	HOP_TRY(hop_seal(&b, n, res, g->name, &made));
	*out = made;
	return HOP_OK;
}
