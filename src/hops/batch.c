/* batch.c -- lanes, masks and safe values for batched bodies. */
#include "hops/batch.h"

#include <string.h>

hop_status hop_batch_body(hop_build *b, const hop_rule *r, const hop_graph *g, bool masked,
                          const bool *bin, const bool *force, const hop_graph **out_g,
                          bool *out_batched)
{
	hop_batch_spec s = { .size = hop_size_const(r->bsize) ? r->bsize.k : -1,
	                     .masked = masked, .in = bin,
	                     .force = force };
	return hop_ad_batch(b->env, g, &s, out_g, out_batched);
}

hop_sizes hop_batch_sargs(hop_build *b, const hop_rule *r)
{
	hop_sizes s = hop_rule_sargs(b, r);
	if (!hop_size_const(r->bsize))
		((hop_size *)(uintptr_t)s.v)[s.n++] = r->bsize;    /* rule_sargs left room */
	return s;
}

hop_size hop_batch_inner(hop_env *e, const hop_rule *r, const hop_graph *g)
{
	return hop_size_const(r->bsize) ? r->bsize : hop_size_sym(e, (int)g->nsym);
}

hop_val hop_batch_solid(hop_build *b, const hop_rule *r, hop_val v, bool batched)
{
	return batched ? v : hop_emit_lead(b, v, r->bsize);
}

hop_val hop_emit_own_keys(hop_build *b, hop_val key, hop_size n)
{
	hop_val keys = hop_emit_lead(b, key, n);
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, keys);
	return hop_emit(b, fold_in, keys, hop_emit_iota(b, HOP_i64, t->rank, t->dim, 0));
}

hop_val hop_emit_lanes(hop_build *b, hop_val m, hop_val x, hop_val y)
{
	if (b->st)
		return HOP_BAD;
	return hop_emit(b, select, hop_emit_match(b, m, hop_typeof(b, x)), x, y);
}

hop_val hop_emit_any(hop_build *b, hop_val m)
{
	return hop_emit_amax(b, m, 1, (const int64_t[]){ 0 });
}

hop_val hop_emit_some_lane(hop_build *b, hop_val m)
{
	if (b->st)
		return HOP_BAD;
	const hop_size *n = hop_typeof(b, m)->dim;
	hop_val i = hop_emit_iota(b, HOP_i64, 1, n, 0);
	if (b->st)
		return HOP_BAD;
	hop_val z = hop_emit_zeros(b, hop_typeof(b, i));
	hop_val lane = hop_emit_amax(b, hop_emit(b, select, m, i, z), 1, (const int64_t[]){ 0 });
	return hop_emit(b, max, lane, hop_emit_const_i(b, HOP_i64, 0));
}

hop_val hop_emit_safe(hop_build *b, hop_val m, hop_val some, hop_val x)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	if (hop_size_is(t->dim[0], 0))
		return x;
	hop_val one = hop_emit_gather(b, x, some, 0, 0);
	return hop_emit_lanes(b, m, x, hop_emit_lead(b, one, t->dim[0]));
}

hop_status hop_emit_before(hop_build *b, hop_val x, hop_val *out_all, hop_val *out_before)
{
	hop_build step;
	hop_graph *body;
	hop_val out[2], zero = hop_emit_const_i(b, HOP_i64, 0);
	if (b->st)
		return b->st;
	hop_build_open(&step, b->env);
	out[1] = hop_build_param(&step, hop_type_scalar(b->env, HOP_i64));
	hop_val more = hop_build_param(&step, hop_type_scalar(b->env, HOP_i64));
	out[0] = hop_emit(&step, add, out[1], more);
	HOP_TRY(hop_seal(&step, 2, out, NULL, &body));
	hop_scan_args s = { .body = body, .ncarry = 1, .nx = 1, .length = hop_typeof(b, x)->dim[0],
	                    .carry = &zero, .x = &x, .count = HOP_ZERO };
	HOP_TRY(hop_emit_scan(b, &s, out));
	*out_all = out[0];
	*out_before = out[1];
	return b->st;
}

hop_val hop_emit_swap(hop_build *b, hop_val x)
{
	int64_t axes[HOP_MAXRANK];
	for (int i = 0; i < HOP_MAXRANK; i++)
		axes[i] = i;
	axes[0] = 1;
	axes[1] = 0;
	return hop_emit_permute(b, x, axes);
}

hop_status hop_batch_carries(hop_build *b, const hop_rule *r, const hop_graph *body,
                             bool masked, uint32_t nc, bool *bin)
{
	bool *bo = HOP_NEWN(&b->env->tmp, bool, body->nout);
	const hop_graph *h;
	for (bool more = true; more; ) {
		more = false;
		HOP_TRY(hop_batch_body(b, r, body, masked, bin, NULL, &h, bo));
		for (uint32_t k = 0; k < nc; k++)
			if (bo[k] && !bin[k])
				bin[k] = more = true;
	}
	return HOP_OK;
}
