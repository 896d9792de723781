/* vjp.c -- drives the vjp column: reverse mode, as one joint graph. Cutting it into a
 * forward and a backward half is cut.c's work. */
#include "ad/ad.h"

#include <string.h>

struct rev {
	hop_build        b;
	const hop_graph *g;
	hop_val         *map;      /* source value -> primal */
	hop_val         *ct;       /* source value -> cotangent so far */
	bool            *act;      /* depends on a wanted parameter */
	bool            *live;     /* reaches a result that has a cotangent */
	hop_rule        *rule;     /* [nnode] */
	hop_size        *smap;
	int              nsmap;
};

static void find_active(struct rev *v, hop_env *e, const bool *want)
{
	const hop_graph *g = v->g;
	for (uint32_t i = 0; i < g->nparam; i++)
		v->act[i] = want[i] && hop_type_diff(g->type[i]);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		bool *arg = HOP_NEWN(&e->tmp, bool, n->nin), any = false;
		for (uint32_t k = 0; k < n->nin; k++)
			any |= arg[k] = v->act[n->in[k].id];
		v->rule[i].act = arg;
		if (!any || hop_optab[n->op].vjp == hop_vjp_zero)
			continue;
		if (hop_optab[n->op].flags & HOP_F_R)
			hop_hoptab[n->op].active(e, n, arg, v->act + n->out0.id);
		else
			for (uint32_t k = 0; k < n->nout; k++)
				v->act[n->out0.id + k] = hop_type_diff(g->type[n->out0.id + k]);
	}
}

static void find_live(struct rev *v, const bool *ct)
{
	const hop_graph *g = v->g;
	for (uint32_t i = 0; i < g->nout; i++)
		v->live[g->out[i].id] |= ct[i] && v->act[g->out[i].id];
	for (uint32_t i = g->nnode; i-- > 0; ) {
		const hop_node *n = &g->node[i];
		bool any = false;
		for (uint32_t k = 0; k < n->nout; k++)
			any |= v->live[n->out0.id + k];
		for (uint32_t k = 0; any && k < n->nin; k++)
			v->live[n->in[k].id] |= v->act[n->in[k].id];
	}
}

/* Emit the primal node; an operator that will be differentiated also emits what its
 * reverse needs. */
static hop_status forward(struct rev *v, uint32_t i)
{
	const hop_node *n = &v->g->node[i];
	hop_arena *tmp = &v->b.env->tmp;
	hop_rule *r = &v->rule[i];
	hop_val *in = HOP_NEWN(tmp, hop_val, n->nin);
	bool act = false, live = false;
	for (uint32_t k = 0; k < n->nin; k++) {
		in[k] = v->map[n->in[k].id];
		act |= r->act[k];
	}
	for (uint32_t k = 0; k < n->nout; k++)
		live |= v->live[n->out0.id + k];
	r->g = v->g;
	r->n = n;
	r->type = v->g->type;
	r->smap = v->smap;
	r->nsmap = v->nsmap;
	r->in = in;
	r->out = v->map + n->out0.id;
	r->dout = v->ct + n->out0.id;
	r->live = v->live + n->out0.id;
	v->b.loc = n->loc;
	if (act && live && (hop_optab[n->op].flags & HOP_F_R)) {
		hop_cuts_enter(v->b.env->cuts, n);
		hop_status st = hop_hoptab[n->op].fwd(&v->b, r);
		hop_cuts_leave(v->b.env->cuts);
		return st;
	}
	hop_val o = hop_emit_copy(&v->b, v->g, n, in, v->smap, v->nsmap);
	for (uint32_t k = 0; k < n->nout; k++)
		r->out[k] = hop_is_bad(o) ? o : (hop_val){ o.id + k };
	return v->b.st;
}

static hop_status backward(struct rev *v, uint32_t i)
{
	const hop_node *n = &v->g->node[i];
	hop_rule *r = &v->rule[i];
	bool act = false, any = false;
	for (uint32_t k = 0; k < n->nin; k++)
		act |= r->act[k];
	for (uint32_t k = 0; k < n->nout; k++)
		any |= !hop_is_zero(r->dout[k]);
	if (!act || !any)
		return HOP_OK;
	r->din = HOP_NEWN(&v->b.env->tmp, hop_val, n->nin);
	for (uint32_t k = 0; k < n->nin; k++)
		r->din[k] = HOP_ZERO;
	v->b.loc = hop_loc_derived(v->b.env, n->loc, hop_optab[n->op].name);
	if (hop_optab[n->op].flags & HOP_F_R)
		HOP_TRY(hop_hoptab[n->op].bwd(&v->b, r));
	else
		HOP_TRY(hop_optab[n->op].vjp(&v->b, r));
	for (uint32_t k = 0; k < n->nin && !v->b.st; k++)
		if (r->act[k]) {                   /* a cotangent has its value's type */
			hop_val *ct = &v->ct[n->in[k].id];
			hop_val d = hop_emit_as(&v->b, r->din[k], hop_typeof(&v->b, r->in[k]));
			*ct = hop_emit_acc(&v->b, *ct, d);
		}
	return v->b.st;
}

static hop_status both_ways(struct rev *v, const bool *ct)
{
	const hop_graph *g = v->g;
	for (uint32_t i = 0; i < g->nnode; i++)
		HOP_TRY(forward(v, i));
	uint32_t p = g->nparam;
	for (uint32_t i = 0; i < g->nout; i++) {
		if (!ct[i])
			continue;
		hop_val *c = &v->ct[g->out[i].id], in = { p++ };
		if (v->live[g->out[i].id])
			*c = hop_emit_acc(&v->b, *c, in);
	}
	for (uint32_t i = g->nnode; i-- > 0; )
		HOP_TRY(backward(v, i));
	return v->b.st;
}

static hop_status build(struct rev *v, hop_env *e, const bool *ct, const bool *want,
                        hop_graph **out_g)
{
	const hop_graph *g = v->g;
	hop_build_open(&v->b, e);
	hop_build_syms_of(&v->b, g);
	v->nsmap = (int)(g->nsym + g->nlocal);
	v->smap = HOP_NEWN(&e->tmp, hop_size, v->nsmap);
	v->map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	v->ct = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	v->act = HOP_NEWN(&e->tmp, bool, g->nvalue);
	v->live = HOP_NEWN(&e->tmp, bool, g->nvalue);
	v->rule = HOP_NEWN(&e->tmp, hop_rule, g->nnode);
	for (uint32_t i = 0; i < g->nsym; i++)
		v->smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i < g->nvalue; i++)
		v->ct[i] = HOP_ZERO;
	for (uint32_t i = 0; i < g->nparam; i++)
		v->map[i] = hop_build_param(&v->b, g->type[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		if (ct[i])
			hop_build_param(&v->b, hop_graph_out_type(g, i));
	find_active(v, e, want);
	find_live(v, ct);
	hop_status st = both_ways(v, ct);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout + g->nparam);
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->nout && !st; i++)
		out[n++] = v->map[g->out[i].id];
	for (uint32_t i = 0; i < g->nparam && !st; i++)
		if (want[i])
			out[n++] = hop_emit_solid(&v->b, v->ct[i], g->type[i]);
	if (!v->b.st)
		v->b.st = st;
	if (!v->b.st)
		hop_build_checks_of(&v->b, g, v->smap, v->nsmap);
	return hop_seal(&v->b, n, out, NULL, out_g);
}

hop_status hop_ad_vjp(hop_env *e, const hop_graph *g, const bool *ct, const bool *want,
                      const hop_graph **out_g)
{
	for (uint32_t i = 0; i < g->nout; i++) {
		const hop_type *t = hop_graph_out_type(g, i);
		for (int k = 0; ct[i] && k < t->rank; k++)
			if ((uint32_t)hop_size_nsym(t->dim[k]) > g->nsym)
				return hop_fail(e, 0, HOP_EREFUSED, "vjp: dimension %d of result %u is a size "
				                "that only the function knows: give the result its capacity",
				                k, i);
	}
	hop_mark m = hop_mark_at(&e->tmp);
	struct { uint64_t kind; const hop_graph *g; } head = { 'v', g };
	size_t n = sizeof head + g->nparam + g->nout;
	char *key = HOP_NEWN(&e->tmp, char, n);
	memcpy(key, &head, sizeof head);
	memcpy(key + sizeof head, ct, g->nout);
	memcpy(key + sizeof head + g->nout, want, g->nparam);
	hop_graph *r = hop_cuts_told(e->cuts, key, n) ? hop_ctx_memo_get(e, key, n) : NULL;
	hop_status st = HOP_OK;
	if (!r) {
		struct rev v = { .g = g };
		st = build(&v, e, ct, want, &r);
		if (!st)
			r = hop_ctx_memo_put(e, key, n, r);
	}
	*out_g = r;
	hop_rewind(&e->tmp, m);
	return st;
}

/* Operators are differentiated by their two halves, never by the column. */
hop_status hop_vjp_hop(hop_build *b, hop_rule *r)
{
	(void)b;
	(void)r;
	HOP_ASSERT(!"an operator with bodies reached the vjp column");
	return HOP_OK;
}
