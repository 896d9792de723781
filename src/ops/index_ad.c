/* index_ad.c -- derivatives and batching of dynslice, dynupdate and gather. All three are
 * linear in their values; indices have no tangent. Those of scatter are in scatter_ad.c. */
#include "ops/shape.h"

/* ---- emitting ---- */

/* at: one start an axis. */
static hop_val emit_dynslice(hop_build *b, hop_val x, int rank, const hop_val *at,
                             const hop_size *dim)
{
	struct hop_attr_dynslice a = { .dims = { rank, dim } };
	hop_val in[1 + HOP_MAXDIM];
	in[0] = x;
	for (int i = 0; i < rank; i++)
		in[1 + i] = at[i];
	return hop_emit_op(b, HOP_OP_dynslice, &a, 1 + (uint32_t)rank, in);
}

static hop_val emit_dynupdate(hop_build *b, hop_val x, hop_val u, int rank,
                              const hop_val *at)
{
	hop_val in[2 + HOP_MAXDIM];
	in[0] = x;
	in[1] = u;
	for (int i = 0; i < rank; i++)
		in[2 + i] = at[i];
	return hop_emit_op(b, HOP_OP_dynupdate, NULL, 2 + (uint32_t)rank, in);
}

/* ---- derivatives ---- */

hop_status hop_jvp_dynslice(hop_build *b, hop_rule *r)
{
	const hop_type *t = hop_typeof(b, r->out[0]);
	if (!hop_is_zero(r->din[0]))
		r->dout[0] = emit_dynslice(b, r->din[0], t->rank, r->in + 1, t->dim);
	return HOP_OK;
}

hop_status hop_vjp_dynslice(hop_build *b, hop_rule *r)
{
	const hop_type *t = hop_typeof(b, r->in[0]);
	if (r->act[0])
		r->din[0] = emit_dynupdate(b, hop_emit_zeros(b, t), r->dout[0], t->rank, r->in + 1);
	return HOP_OK;
}

hop_status hop_jvp_dynupdate(hop_build *b, hop_rule *r)
{
	const hop_type *t = hop_typeof(b, r->in[0]), *u = hop_typeof(b, r->in[1]);
	if (hop_is_zero(r->din[0]) && hop_is_zero(r->din[1]))
		return HOP_OK;
	r->dout[0] = emit_dynupdate(b, hop_emit_solid(b, r->din[0], t),
	                            hop_emit_solid(b, r->din[1], u), t->rank, r->in + 2);
	return HOP_OK;
}

/* What was overwritten gets nothing; the window goes to the update. */
hop_status hop_vjp_dynupdate(hop_build *b, hop_rule *r)
{
	const hop_type *t = hop_typeof(b, r->in[0]), *u = hop_typeof(b, r->in[1]);
	if (r->act[0])
		r->din[0] = emit_dynupdate(b, r->dout[0], hop_emit_zeros(b, u), t->rank, r->in + 2);
	if (r->act[1])
		r->din[1] = emit_dynslice(b, r->dout[0], t->rank, r->in + 2, u->dim);
	return HOP_OK;
}

hop_status hop_jvp_gather(hop_build *b, hop_rule *r)
{
	const struct hop_attr_gather *a = r->n->attr;
	if (!hop_is_zero(r->din[0]))
		r->dout[0] = hop_emit_gather(b, r->din[0], r->in[1], (int)a->axis, (int)a->nbatch);
	return HOP_OK;
}

hop_status hop_vjp_gather(hop_build *b, hop_rule *r)
{
	const struct hop_attr_gather *a = r->n->attr;
	if (r->act[0])
		r->din[0] = hop_emit_scatter(b, HOP_MODE_add,
		                             hop_emit_zeros(b, hop_typeof(b, r->in[0])), r->in[1],
		                             r->dout[0], (int)a->axis, (int)a->nbatch);
	return HOP_OK;
}

/* ---- batching of windows ---- */

static bool any_batched(const hop_rule *r, uint32_t first)
{
	for (uint32_t i = first; i < r->n->nin; i++)
		if (r->bin[i])
			return true;
	return false;
}

/* The starts of operands from `first` on, behind a start of 0 for the batch axis. */
static void lead_starts(hop_build *b, const hop_rule *r, uint32_t first, hop_val *out_at)
{
	out_at[0] = hop_emit_const_i(b, HOP_i64, 0);
	for (uint32_t i = first; i < r->n->nin; i++)
		out_at[1 + i - first] = r->in[i];
}

/* Starts of one axis, i64[B], clamped so that a window of d fits into n. */
static hop_val clamped(hop_build *b, const hop_rule *r, uint32_t i, hop_size n, hop_size d)
{
	hop_size room = hop_size_sub(b->env, n, d);
	hop_val hi = hop_emit_lead(b, hop_emit_size(b, room), r->bsize);
	hop_val lo = hop_emit_lead(b, hop_emit_const_i(b, HOP_i64, 0), r->bsize);
	return hop_emit(b, max, hop_emit(b, min, hop_rule_lead(b, r, i), hi), lo);
}

/* i64[B, n] of v[lane] and of 0 .. n-1. */
static void lane_grid(hop_build *b, hop_val v, hop_size lanes, hop_size n, hop_val *out_v,
                      hop_val *out_i)
{
	hop_size dim[2] = { lanes, n };
	*out_v = hop_emit_broadcast(b, v, 2, dim, (const int64_t[]){ 0 });
	*out_i = hop_emit_iota(b, HOP_i64, 2, dim, 1);
}

/* Each lane has its own window: first the axes whose start all lanes share, in one slice,
 * then a gather for each of the others. An axis taken whole starts at 0 for everyone. */
static hop_status batch_windows(hop_build *b, hop_rule *r)
{
	const hop_type *t = hop_typeof(b, r->in[0]);
	hop_sizes want = HOP_ATTR(r->n, dynslice)->dims;
	int rank = (int)want.n, lead = r->bin[0];
	hop_size dim[HOP_MAXDIM], part[HOP_MAXDIM];
	hop_val at[HOP_MAXDIM], x = r->in[0];
	bool shared = false;
	if (lead) {
		part[0] = r->bsize;
		at[0] = hop_emit_const_i(b, HOP_i64, 0);
	}
	for (int i = 0; i < rank; i++) {
		bool own = r->bin[1 + i];
		dim[i] = hop_rule_size(b, r, want.v[i]);
		part[i + lead] = own ? t->dim[i + lead] : dim[i];
		at[i + lead] = own ? hop_emit_const_i(b, HOP_i64, 0) : r->in[1 + i];
		shared = shared || !hop_size_eq(part[i + lead], t->dim[i + lead]);
	}
	if (shared)
		x = emit_dynslice(b, x, rank + lead, at, part);
	for (int i = 0; i < rank; i++) {
		hop_size n = t->dim[i + r->bin[0]];
		hop_val start, step;
		if (!r->bin[1 + i] || hop_size_eq(n, dim[i]))
			continue;
		lane_grid(b, clamped(b, r, 1 + (uint32_t)i, n, dim[i]), r->bsize, dim[i], &start,
		          &step);
		x = hop_emit_gather(b, x, hop_emit(b, add, start, step), i + lead, lead);
		if (!lead)
			x = hop_axes_front(b, x, rank + 1, i);
		lead = 1;
	}
	r->out[0] = x;
	r->bout[0] = lead;
	return b->st;
}

hop_status hop_batch_dynslice(hop_build *b, hop_rule *r)
{
	if (any_batched(r, 1))
		return batch_windows(b, r);
	hop_sizes want = HOP_ATTR(r->n, dynslice)->dims;
	hop_size dim[HOP_MAXDIM];
	hop_val at[HOP_MAXDIM];
	lead_starts(b, r, 1, at);
	dim[0] = r->bsize;
	for (int i = 0; i < want.n; i++)
		dim[i + 1] = hop_rule_size(b, r, want.v[i]);
	return hop_rule_batched(b, r, emit_dynslice(b, r->in[0], (int)want.n + 1, at, dim));
}

/* Each lane writes elsewhere. Seen from an element of the result: inside its lane's
 * window it is the element of u at its distance from the start, outside that of x. The
 * gathers clamp, so what lies outside reads something harmless. */
static hop_status batch_updates(hop_build *b, hop_rule *r)
{
	hop_val x = hop_rule_lead(b, r, 0), u = hop_rule_lead(b, r, 1), mask = HOP_ZERO;
	if (b->st)
		return b->st;
	const hop_type *t = hop_typeof(b, x), *w = hop_typeof(b, u);
	for (int i = 1; i < t->rank; i++)
		if (hop_size_is(w->dim[i], 0))           /* nothing is written */
			return hop_rule_batched(b, r, x);
	for (int i = 1; i < t->rank; i++) {
		hop_size n = t->dim[i], d = w->dim[i];
		hop_size grid[2] = { r->bsize, n };
		hop_val start, pos;
		if (hop_size_eq(n, d))
			continue;
		lane_grid(b, clamped(b, r, 1 + (uint32_t)i, n, d), r->bsize, n, &start, &pos);
		hop_val far = hop_emit(b, sub, pos, start);
		hop_val end = hop_emit_broadcast(b, hop_emit_size(b, d), 2, grid, NULL);
		hop_val zero = hop_emit_broadcast(b, hop_emit_const_i(b, HOP_i64, 0), 2, grid, NULL);
		hop_val in = hop_emit(b, and, hop_emit(b, le, zero, far), hop_emit(b, lt, far, end));
		in = hop_emit_broadcast(b, in, t->rank, t->dim, (const int64_t[]){ 0, i });
		mask = hop_is_zero(mask) ? in : hop_emit(b, and, mask, in);
		u = hop_emit_gather(b, u, far, i, 1);
	}
	return hop_rule_batched(b, r, hop_is_zero(mask) ? u : hop_emit(b, select, mask, u, x));
}

hop_status hop_batch_dynupdate(hop_build *b, hop_rule *r)
{
	if (any_batched(r, 2))
		return batch_updates(b, r);
	hop_val at[HOP_MAXDIM];
	lead_starts(b, r, 2, at);
	return hop_rule_batched(b, r, emit_dynupdate(b, hop_rule_lead(b, r, 0),
	                                             hop_rule_lead(b, r, 1),
	                                             (int)r->n->nin - 1, at));
}

/* ---- batching of gather ---- */

/* Lanes of idx alone become more indices; x is not repeated. Lanes of x alone become one
 * more axis before the one that is read. */
hop_status hop_batch_gather(hop_build *b, hop_rule *r)
{
	const struct hop_attr_gather *a = r->n->attr;
	int axis = (int)a->axis, nbatch = (int)a->nbatch;
	hop_val x = r->in[0], idx = r->in[1];
	if (!r->bin[0]) {
		int64_t behind[HOP_MAXDIM];             /* the batch axis behind the matched ones */
		int rank = r->type[r->n->in[1].id]->rank + 1;
		for (int i = 0; i < rank; i++)
			behind[i] = i < nbatch ? i + 1 : i == nbatch ? 0 : i;
		if (nbatch)
			idx = hop_emit_permute(b, idx, behind);
		x = hop_emit_gather(b, x, idx, axis, nbatch);
		rank = r->type[r->n->out0.id]->rank + 1;
		return hop_rule_batched(b, r, hop_axes_front(b, x, rank, axis));
	}
	if (!r->bin[1] && !nbatch)
		return hop_rule_batched(b, r, hop_emit_gather(b, x, idx, axis + 1, 0));
	return hop_rule_batched(b, r, hop_emit_gather(b, x, hop_rule_lead(b, r, 1), axis + 1,
	                                              nbatch + 1));
}
