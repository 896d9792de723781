/* pure.c -- a graph without its effects. What reverse mode computes a second time must not
 * be said a second time; what was asserted the first time still holds. Bodies that only derivatives
 * run keep theirs: they have not been seen yet. */
#include "ad/ad.h"

#include <string.h>

#include "ir/sig.h"

hop_status hop_ad_pure_node(hop_env *e, hop_arena *a, const hop_node *n, hop_node *out_n)
{
	int nsub;
	*out_n = *n;
	if (!(hop_optab[n->op].flags & HOP_F_R))
		return HOP_OK;
	void *attr = hop_attr_copy(e, a, n->op, n->attr, NULL, -1);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	for (int i = 0; i < nsub; i++)
		if (sub[i] && hop_sig_runs(n, i))
			HOP_TRY(hop_ad_pure(e, sub[i], &sub[i]));
	out_n->attr = attr;
	return HOP_OK;
}

/* Values that the results need; what tests or binds a size is needed too. */
static const bool *find_needed(hop_env *e, const hop_graph *g)
{
	bool *need = HOP_NEWN(&e->tmp, bool, g->nvalue);
	for (uint32_t i = 0; i < g->nout; i++)
		need[g->out[i].id] = true;
	for (uint32_t i = g->nnode; i-- > 0; ) {
		const hop_node *n = &g->node[i];
		bool any = n->guard || hop_node_binds(n) >= 0;
		for (uint32_t k = 0; k < n->nout; k++)
			any |= need[n->out0.id + k];
		for (uint32_t k = 0; any && k < n->nin; k++)
			need[n->in[k].id] = true;
		for (uint32_t k = 0; any && k < n->nout; k++)
			need[n->out0.id + k] = true;
	}
	return need;
}

static hop_status asked_again(hop_env *e, const hop_node *n)
{
	hop_str s = *(const hop_str *)n->attr;         /* whom a row with W calls comes first in it */
	return hop_fail(e, n->loc, HOP_EREFUSED, "%s: this derivative would ask `%.*s` of the host a second "
	                "time, which may not answer the same: declare it pure, or keep the loop around it "
	                "from being run again", hop_optab[n->op].name, (int)s.n, s.s);
}

static hop_status build(hop_env *e, const hop_graph *g, hop_graph **out_g)
{
	const bool *need = find_needed(e, g);
	hop_build b;
	hop_status st = HOP_OK;
	int nsym = (int)(g->nsym + g->nlocal);
	hop_val *map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_size *smap = HOP_NEWN(&e->tmp, hop_size, nsym);
	hop_build_open(&b, e);
	hop_build_syms_of(&b, g);
	for (uint32_t i = 0; i < g->nsym; i++)
		smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < g->nnode && !st && !b.st; i++) {
		const hop_node *n = &g->node[i];
		hop_node pure;
		if (n->nout ? !need[n->out0.id] : !n->guard)
			continue;
		if (hop_optab[n->op].flags & HOP_F_X) {
			b.st = asked_again(e, n);
			break;
		}
		if (n->op == HOP_OP_packed) {          /* nothing is saved of it again */
			map[n->out0.id] = map[n->in[0].id];
			continue;
		}
		hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin);
		for (uint32_t k = 0; k < n->nin; k++)
			in[k] = map[n->in[k].id];
		st = hop_ad_pure_node(e, &e->tmp, n, &pure);
		hop_val v = st ? HOP_BAD : hop_emit_copy(&b, g, &pure, in, smap, nsym);
		for (uint32_t k = 0; k < n->nout; k++)
			map[n->out0.id + k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
	}
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = map[g->out[i].id];
	if (!b.st)
		b.st = st;
	if (!b.st)
		hop_build_checks_of(&b, g, smap, nsym);
	return hop_seal(&b, g->nout, out, g->name, out_g);
}

hop_status hop_ad_pure(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	struct { uint64_t kind; const hop_graph *g; } key = { 'p', g };
	if (!g->has_effect) {
		*out_g = g;
		return HOP_OK;
	}
	hop_mark m = hop_mark_at(&e->tmp);
	hop_graph *r = hop_ctx_memo_get(e, &key, sizeof key);
	hop_status st = HOP_OK;
	if (!r) {
		st = build(e, g, &r);
		if (!st)
			r = hop_ctx_memo_put(e, &key, sizeof key, r);
	}
	*out_g = r;
	hop_rewind(&e->tmp, m);
	return st;
}
