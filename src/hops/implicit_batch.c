/* implicit_batch.c -- root and linear_solve under batching: the node again, on batched bodies. All
 * unknowns have the batch axis, so that every lane has an info of its own; consts that the lanes
 * share stay shared. Where lanes may be inactive and a body has loops or effects, their mask is one
 * more const. */
#include "hops/batch.h"

#include <string.h>

/* Unknowns and the solution are batched, consts as the node's. */
static hop_status batch_one(hop_build *b, hop_rule *r, const hop_roles *node, int j,
                            const hop_graph *g, bool masked, const hop_graph **out_g)
{
	hop_env *e = b->env;
	hop_roles body;
	bool *bin = HOP_NEWN(&e->tmp, bool, g->nparam), *all = HOP_NEWN(&e->tmp, bool, g->nout);
	bool *bo = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_body_roles(r->n, j, &body);
	memset(bin, 1, g->nparam);
	memset(all, 1, g->nout);
	for (uint32_t i = 0; i < body.in.same.n; i++)
		bin[body.in.same.at + i] = r->bin[node->in.same.at + i];
	return hop_batch_body(b, r, g, masked, bin, all, out_g, bo);
}

hop_status hop_batch_implicit(hop_build *b, hop_rule *r)
{
	const hop_node *n = r->n;
	hop_roles node;
	int nsub;
	bool masked = false;
	hop_node_roles(n, &node);
	void *attr = hop_rule_attr(b, r);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	for (int j = 0; j < nsub && !hop_is_zero(r->mask); j++)
		masked |= sub[j] && hop_ad_needs_mask(sub[j]);
	for (int j = 0; j < nsub; j++)
		if (sub[j])
			HOP_TRY(batch_one(b, r, &node, j, sub[j], masked, &sub[j]));
	hop_attr_set_sargs(n->op, attr, hop_batch_sargs(b, r));
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, n->nin + 1);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = i < node.in.sol.n ? hop_batch_solid(b, r, r->in[i], r->bin[i]) : r->in[i];
	in[n->nin] = r->mask;
	hop_val v = hop_emit_op(b, n->op, attr, n->nin + masked, in);
	for (uint32_t k = 0; k < n->nout; k++) {
		r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
		r->bout[k] = true;
	}
	return b->st;
}
