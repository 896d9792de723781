/* custom_batch.c -- custom under batching: the node again, on batched bodies. The user's rule
 * stays in force, lane by lane; a batch body of the user's own computes the results, and only those:
 * what is saved for bwd, and bwd, are batched. When lanes may be inactive and a body has loops or
 * effects, the mask of the lanes becomes one more operand and, for bwd, one more saved value, last
 * among them.
 * The other way, a loop over the lanes, is in custom_lanes.c. */
#include "hops/batch.h"
#include "hops/custom.h"

#include <string.h>

struct lanes {
	hop_build                    *b;
	const hop_rule               *r;
	const struct hop_attr_custom *a;
	bool                          masked;
	uint32_t                      np, nsave;
};

/* Batch body g over the parameters of bin; all results are batched. With a mask, its
 * parameters are g's, then the mask. */
static hop_status batch_all(const struct lanes *l, const hop_graph *g, const bool *bin,
                            const hop_graph **out_g)
{
	hop_env *e = l->b->env;
	bool *all = HOP_NEWN(&e->tmp, bool, g->nout), *bo = HOP_NEWN(&e->tmp, bool, g->nout);
	memset(all, 1, g->nout);
	return hop_batch_body(l->b, l->r, g, l->masked, bin, all, out_g, bo);
}

/* Open a graph with the parameters of h in another order: the mask, h's last, comes after
 * the first `at`. in[] is in h's order. */
static void open_moved(hop_build *c, hop_env *e, const hop_graph *h, uint32_t at, bool masked,
                       hop_val *in)
{
	uint32_t n = h->nparam - masked;
	hop_body_open(c, e, h);
	for (uint32_t i = 0; i < at; i++)
		in[i] = hop_build_param(c, h->type[i]);
	if (masked)
		in[n] = hop_build_param(c, h->type[n]);
	for (uint32_t i = at; i < n; i++)
		in[i] = hop_build_param(c, h->type[i]);
}

/* The user's batch body inside fwd: every operand gets the batch axis, and of lanes that are not
 * there the values of one that is; where none is there, it does not run. */
static hop_status own_results(const struct lanes *l, hop_build *c, const hop_val *in, hop_val *out)
{
	hop_env *e = l->b->env;
	const hop_graph *g = l->a->batch;
	hop_size n = hop_batch_inner(e, l->r, l->a->fwd), *v;
	hop_sizes s = hop_own_sizes(e, g->nsym);
	hop_val *arg = HOP_NEWN(&e->tmp, hop_val, g->nparam), some = HOP_BAD;
	v = (hop_size *)(uintptr_t)s.v;
	v[g->nsym - 1] = n;
	if (l->masked)
		some = hop_emit_some_lane(c, in[l->np]);
	for (uint32_t i = 0; i < l->np; i++) {
		bool own = l->r->bin[i];
		arg[i] = own ? in[i] : hop_emit_lead(c, in[i], n);
		if (own && l->masked)
			arg[i] = hop_emit_safe(c, in[l->np], some, arg[i]);
		arg[l->np + i] = hop_emit_const_i(c, HOP_bool, own);
	}
	if (c->st)
		return c->st;
	if (!l->masked)
		return hop_emit_call(c, g, s, arg, out);
	hop_graph *none;
	HOP_TRY(hop_batch_empty(e, g, &none));
	return hop_emit_cond(c, g, none, s, hop_emit_any(c, in[l->np]), arg, out);
}

/* fwd for all lanes. With a batch body its batched form gives what is saved and is no result; it
 * has no effects then, since the batch body has them. */
static hop_status batch_fwd(const struct lanes *l, const hop_graph **out_g)
{
	hop_env *e = l->b->env;
	uint32_t no = (uint32_t)l->a->nouts;
	const hop_graph *h;
	hop_graph *made;
	hop_build c;
	HOP_TRY(batch_all(l, l->a->fwd, l->r->bin, &h));
	if (l->a->batch)
		HOP_TRY(hop_ad_pure(e, h, &h));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, h->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, h->nout + 1);
	open_moved(&c, e, h, l->np, l->masked, in);
	hop_body_inline(&c, h, in, out);
	if (l->a->batch && !c.st) {
		if (own_results(l, &c, in, out) && !c.st)
			c.st = e->diag.st;
		for (uint32_t k = 0; k < l->nsave; k++) {
			uint32_t is = hop_custom_result(l->a, k);
			if (is != UINT32_MAX)
				out[no + k] = out[is];
		}
	}
	bool keep = l->masked && l->a->bwd;
	if (keep)
		out[h->nout] = in[l->np];
	HOP_TRY(hop_seal(&c, h->nout + keep, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* bwd for all lanes at once. A cotangent of an operand that all lanes share is summed. */
static hop_status batch_bwd(const struct lanes *l, const hop_graph **out_g)
{
	hop_env *e = l->b->env;
	const hop_graph *h;
	hop_graph *made;
	hop_build c;
	uint32_t n = 0;
	bool *bin = HOP_NEWN(&e->tmp, bool, l->a->bwd->nparam);
	memset(bin, 1, l->a->bwd->nparam);
	HOP_TRY(batch_all(l, l->a->bwd, bin, &h));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, h->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, h->nout);
	open_moved(&c, e, h, l->nsave, l->masked, in);
	hop_body_inline(&c, h, in, out);
	for (uint32_t i = 0; i < l->np; i++) {
		if (!hop_type_diff(l->a->fwd->type[i]))
			continue;
		if (!l->r->bin[i])
			out[n] = hop_emit_sum(&c, out[n], 1, (const int64_t[]){ 0 });
		n++;
	}
	HOP_TRY(hop_seal(&c, n, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* jvp for all lanes: tangents of shared operands are shared too. */
static hop_status batch_jvp(const struct lanes *l, const hop_graph **out_g)
{
	hop_env *e = l->b->env;
	const hop_graph *g = l->a->jvp, *h;
	hop_graph *made;
	hop_build c;
	uint32_t n = l->np;
	bool *bin = HOP_NEWN(&e->tmp, bool, g->nparam);
	memcpy(bin, l->r->bin, n);
	for (uint32_t i = 0; i < l->np; i++)
		if (hop_type_diff(l->a->fwd->type[i]))
			bin[n++] = l->r->bin[i];
	HOP_TRY(batch_all(l, g, bin, &h));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, h->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, h->nout);
	open_moved(&c, e, h, l->np, l->masked, in);
	hop_body_inline(&c, h, in, out);
	HOP_TRY(hop_seal(&c, h->nout, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

static bool needs_mask(const struct hop_attr_custom *a)
{
	return hop_ad_needs_mask(a->fwd) || (a->bwd && hop_ad_needs_mask(a->bwd)) ||
	       (a->jvp && hop_ad_needs_mask(a->jvp)) || (a->batch && hop_ad_needs_mask(a->batch));
}

hop_status hop_batch_custom(hop_build *b, hop_rule *r)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	if (a->lanewise)
		return hop_custom_lanes(b, r);
	struct lanes l = { .b = b, .r = r, .a = a, .np = r->n->nin, .nsave = hop_custom_nsaved(a) };
	l.masked = !hop_is_zero(r->mask) && needs_mask(a);
	struct hop_attr_custom c = { .nouts = a->nouts, .nondiff = a->nondiff, .once = a->once };
	c.nres = a->nres ? a->nres + l.masked : 0;
	HOP_TRY(batch_fwd(&l, &c.fwd));
	if (a->bwd)
		HOP_TRY(batch_bwd(&l, &c.bwd));
	if (a->jvp)
		HOP_TRY(batch_jvp(&l, &c.jvp));
	c.sargs = hop_batch_sargs(b, r);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, l.np + 1);
	memcpy(in, r->in, l.np * sizeof *in);
	in[l.np] = r->mask;
	hop_val v = hop_emit_op(b, HOP_OP_custom, &c, l.np + l.masked, in);
	for (uint32_t k = 0; k < r->n->nout; k++) {
		r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
		r->bout[k] = true;
	}
	return b->st;
}
