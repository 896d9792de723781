/* scan_flip.c -- a scan that runs backwards as one that runs forward over its xs flipped. Where
 * steps are counted from the one that runs first: reverse mode of a scan that stops or that keeps
 * some carries. Flipping is a view, but for a scan that is counted. */
#include "hops/scan_chunk.h"

/* The steps in the order of the other way: x[T - 1 - i], or x[n - 1 - i] if n steps run. */
static hop_val flip(hop_build *b, hop_val x, hop_size length, hop_val order)
{
	hop_size start[HOP_MAXRANK];
	int64_t step[HOP_MAXRANK];
	if (b->st)
		return HOP_BAD;
	if (!hop_is_zero(order))
		return hop_emit_gather(b, x, order, 0, 0);
	const hop_type *t = hop_typeof(b, x);
	for (int i = 0; i < t->rank; i++) {
		start[i] = i ? hop_size_int(0) : hop_size_sub(b->env, length, hop_size_int(1));
		step[i] = i ? 1 : -1;
	}
	return hop_emit_slice(b, x, start, t->dim, step);
}

/* y where its step ran, of n; else zero. */
static hop_val only_run(hop_build *b, hop_val y, hop_val ran)
{
	if (b->st || hop_is_zero(ran))
		return y;
	const hop_type *t = hop_typeof(b, y);
	return hop_emit(b, select, hop_emit_match(b, ran, t), y, hop_emit_zeros(b, t));
}

hop_status hop_scan_flip(hop_env *e, const hop_graph *g, const hop_node *n, hop_graph **out_g)
{
	hop_steps s = hop_steps_of(n);
	hop_build b;
	hop_size length = hop_scan_open(&b, e, g, n);
	uint32_t np = s.nc + s.nx + s.nk, no = s.body->nout;
	hop_val count = HOP_ZERO, order = HOP_ZERO, ran = HOP_ZERO;
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, np), *out = HOP_NEWN(&e->tmp, hop_val, no);
	if (s.lead)
		count = hop_build_param(&b, hop_type_scalar(e, HOP_i64));
	for (uint32_t i = 0; i < np; i++) {
		const hop_type *t = s.body->type[i];
		bool x = i >= s.nc && i < s.nc + s.nx;
		p[i] = hop_build_param(&b, x ? hop_type_prepend(e, t, length) : t);
	}
	if (s.lead) {
		hop_val zero = hop_emit_const_i(&b, HOP_i64, 0), one = hop_emit_const_i(&b, HOP_i64, 1);
		hop_val i = hop_emit_iota(&b, HOP_i64, 1, &length, 0);
		hop_val most = hop_emit(&b, min, count, hop_emit_size(&b, length));
		hop_val k = hop_emit(&b, max, zero, most);
		order = hop_emit(&b, sub, hop_emit_lead(&b, hop_emit(&b, sub, k, one), length), i);
		ran = hop_emit(&b, lt, i, hop_emit_lead(&b, k, length));
	}
	for (uint32_t i = s.nc; i < s.nc + s.nx; i++)
		p[i] = flip(&b, p[i], length, order);
	hop_scan_args a = { .body = s.body, .sargs = hop_own_sizes(e, s.body->nsym), .ncarry = s.nc,
	                    .nx = s.nx, .nconst = s.nk, .length = length, .stops = s.stops,
	                    .every = s.every, .slots = s.slots, .unroll = s.unroll, .count = count,
	                    .carry = p, .x = p + s.nc, .konst = p + s.nc + s.nx };
	hop_emit_scan(&b, &a, out);
	for (uint32_t i = s.nc; i < s.nc + s.ny; i++)
		out[i] = only_run(&b, flip(&b, out[i], length, order), ran);
	return hop_seal(&b, no, out, NULL, out_g);
}
