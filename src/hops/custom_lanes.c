/* custom_lanes.c -- a custom that asks for it, batched as a loop over the lanes: the node itself, its
 * rule and all, in the body of a map; of a scan where it has effects, whose order is that of the
 * lanes. A lane that is not active gives zeros, and nothing runs for it. */
#include "hops/batch.h"
#include "hops/custom.h"

#include <string.h>

/* The node as a graph of its operands. */
static hop_status alone(hop_env *e, const hop_rule *r, const hop_graph **out_g)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	hop_graph *made;
	hop_build c;
	struct hop_attr_custom own = *a;
	hop_val *v = HOP_NEWN(&e->tmp, hop_val, r->n->nin + r->n->nout);
	hop_body_open(&c, e, a->fwd);
	c.loc = r->n->loc;
	for (uint32_t i = 0; i < r->n->nin; i++)
		v[i] = hop_build_param(&c, a->fwd->type[i]);
	own.sargs = hop_own_sizes(e, a->fwd->nsym);
	hop_val o = hop_emit_op(&c, HOP_OP_custom, &own, r->n->nin, v);
	for (uint32_t k = 0; k < r->n->nout; k++)
		v[k] = c.st ? HOP_BAD : (hop_val){ o.id + k };
	HOP_TRY(hop_seal(&c, r->n->nout, v, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* One step: slices of what differs between lanes, the lane's bit of the mask last among them, then
 * what the lanes share. */
static hop_status step(hop_env *e, const hop_rule *r, const hop_graph *one, bool masked,
                       const hop_graph **out_g)
{
	hop_graph *made, *none;
	hop_build c;
	hop_val on = HOP_ZERO, *in = HOP_NEWN(&e->tmp, hop_val, one->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, one->nout);
	hop_sizes own = hop_own_sizes(e, one->nsym);
	hop_body_open(&c, e, one);
	for (uint32_t i = 0; i < one->nparam; i++)
		if (r->bin[i])
			in[i] = hop_build_param(&c, one->type[i]);
	if (masked)
		on = hop_build_param(&c, hop_type_scalar(e, HOP_bool));
	for (uint32_t i = 0; i < one->nparam; i++)
		if (!r->bin[i])
			in[i] = hop_build_param(&c, one->type[i]);
	if (masked) {
		HOP_TRY(hop_batch_empty(e, one, &none));
		hop_emit_cond(&c, one, none, own, on, in, out);
	} else {
		hop_body_inline(&c, one, in, out);
	}
	HOP_TRY(hop_seal(&c, one->nout, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

hop_status hop_custom_lanes(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	const hop_graph *one, *body;
	uint32_t n = r->n->nin, nx = 0, nk = 0;
	hop_val *x = HOP_NEWN(&e->tmp, hop_val, n + 1), *k = HOP_NEWN(&e->tmp, hop_val, n);
	bool masked = !hop_is_zero(r->mask);
	HOP_TRY(alone(e, r, &one));
	HOP_TRY(step(e, r, one, masked, &body));
	for (uint32_t i = 0; i < n; i++)
		if (r->bin[i])
			x[nx++] = r->in[i];
		else
			k[nk++] = r->in[i];
	if (masked)
		x[nx++] = r->mask;
	hop_scan_args s = { .body = body, .sargs = hop_rule_sargs(b, r), .nx = nx, .nconst = nk,
	                    .length = r->bsize, .unordered = !body->has_effect, .x = x, .konst = k,
	                    .count = HOP_ZERO };
	memset(r->bout, 1, r->n->nout);
	return hop_emit_scan(b, &s, r->out);
}
