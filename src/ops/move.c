/* move.c -- ops that put elements elsewhere by a rule known when the graph is made:
 * broadcast, reshape, permute, slice, pad, concat. Types, derivatives and batching; how
 * elements are copied is in move_eval.c. Indices that are values are in index.c. */
#include "ops/shape.h"

#include <stdio.h>

/* broadcast x {dims axes} -- repeat x along new axes
 * Axis i of x is axis axes[i] of the result, of the same size: a size of 1 is not
 * stretched. The axes increase. */
hop_status hop_infer_broadcast(hop_infer *f)
{
	const struct hop_attr_broadcast *a = f->attr;
	const hop_type *t = f->in[0];
	if (a->axes.n != t->rank)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand has %d axes, %lld are "
		                      "placed", hop_opname(f), t->rank, (long long)a->axes.n);
	HOP_TRY(hop_shape_axes(f, a->axes, (int)a->dims.n));
	for (int i = 0; i < t->rank; i++) {
		int j = (int)a->axes.v[i];
		HOP_TRY(hop_shape_same(f, "operand", i, t->dim[i], "result", j, a->dims.v[j]));
	}
	return hop_shape_out(f, t->dtype, (int)a->dims.n, a->dims.v);
}

/* The cotangent of something repeated is the sum over the copies. */
hop_status hop_vjp_broadcast(hop_build *b, hop_rule *r)
{
	int64_t rest[HOP_MAXDIM];
	int rank = hop_typeof(b, r->out[0])->rank;
	int n = hop_axes_rest(HOP_ATTR(r->n, broadcast)->axes, rank, rest);
	r->din[0] = n ? hop_emit_sum(b, r->dout[0], n, rest) : r->dout[0];
	return HOP_OK;
}

/* dims of the source node behind the batch axis; returns the rank. */
static int lead_dims(hop_build *b, const hop_rule *r, hop_sizes dims, hop_size *out_dim)
{
	out_dim[0] = r->bsize;
	for (int i = 0; i < dims.n; i++)
		out_dim[i + 1] = hop_rule_size(b, r, dims.v[i]);
	return (int)dims.n + 1;
}

hop_status hop_batch_broadcast(hop_build *b, hop_rule *r)
{
	const struct hop_attr_broadcast *a = r->n->attr;
	hop_size dim[HOP_MAXDIM];
	int64_t axes[HOP_MAXDIM];
	int rank = lead_dims(b, r, a->dims, dim);
	hop_axes_shift(a->axes, true, axes);
	return hop_rule_batched(b, r, hop_emit_broadcast(b, r->in[0], rank, dim, axes));
}

/* reshape x {dims} -- the same elements in the same order under other sizes */
hop_status hop_infer_reshape(hop_infer *f)
{
	hop_sizes to = ((const struct hop_attr_reshape *)f->attr)->dims;
	HOP_TRY(hop_shape_out(f, f->in[0]->dtype, (int)to.n, to.v));
	hop_size m = hop_type_count(f->env, f->in[0]);
	hop_size n = hop_type_count(f->env, f->out[0]);
	return hop_infer_equal(f, m, n, "the operand has {0} elements, the result {1}");
}

hop_status hop_vjp_reshape(hop_build *b, hop_rule *r)
{
	const hop_type *t = hop_typeof(b, r->in[0]);
	r->din[0] = hop_emit_reshape(b, r->dout[0], t->rank, t->dim);
	return HOP_OK;
}

hop_status hop_batch_reshape(hop_build *b, hop_rule *r)
{
	hop_size dim[HOP_MAXDIM];
	int rank = lead_dims(b, r, HOP_ATTR(r->n, reshape)->dims, dim);
	return hop_rule_batched(b, r, hop_emit_reshape(b, r->in[0], rank, dim));
}

/* permute x {axes} -- reorder axes: axis i of the result is axis axes[i] of x */
hop_status hop_infer_permute(hop_infer *f)
{
	hop_ints axes = ((const struct hop_attr_permute *)f->attr)->axes;
	const hop_type *t = f->in[0];
	hop_size dim[HOP_MAXRANK];
	bool used[HOP_MAXRANK] = { false };
	if (axes.n != t->rank)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand has %d axes, %lld are "
		                      "named", hop_opname(f), t->rank, (long long)axes.n);
	for (int i = 0; i < t->rank; i++) {
		int64_t j = axes.v[i];
		if (j < 0 || j >= t->rank)
			return hop_infer_fail(f, HOP_EVALUE, "%s: axis %lld of %d axes",
			                      hop_opname(f), (long long)j, t->rank);
		if (used[j])
			return hop_infer_fail(f, HOP_EVALUE, "%s: axis %lld is named twice",
			                      hop_opname(f), (long long)j);
		used[j] = true;
		dim[i] = t->dim[j];
	}
	return hop_shape_out(f, t->dtype, t->rank, dim);
}

hop_status hop_vjp_permute(hop_build *b, hop_rule *r)
{
	hop_ints axes = HOP_ATTR(r->n, permute)->axes;
	int64_t back[HOP_MAXRANK];
	for (int i = 0; i < axes.n; i++)
		back[axes.v[i]] = i;
	r->din[0] = hop_emit_permute(b, r->dout[0], back);
	return HOP_OK;
}

hop_status hop_batch_permute(hop_build *b, hop_rule *r)
{
	int64_t axes[HOP_MAXDIM];
	hop_axes_shift(HOP_ATTR(r->n, permute)->axes, true, axes);
	return hop_rule_batched(b, r, hop_emit_permute(b, r->in[0], axes));
}

/* ---- slice and pad: each is the other's transpose ---- */

/* The window on one axis lies between first and last, both counted; it is empty when they
 * are a step apart the wrong way round. */
static hop_status inside(hop_infer *f, int axis, hop_size first, hop_size last, hop_size n)
{
	hop_size zero = hop_size_int(0), end = hop_size_add(f->env, last, hop_size_int(1));
	if (!hop_infer_holds(f, HOP_LE, zero, first))
		HOP_TRY(hop_infer_le(f, zero, first, hop_infer_text(f, "the window on axis %d starts "
		                     "at {1}", axis)));
	if (!hop_infer_holds(f, HOP_LE, end, n))
		HOP_TRY(hop_infer_le(f, end, n, hop_infer_text(f, "the window on axis %d ends at "
		                     "{0}, the axis has size {1}", axis)));
	return HOP_OK;
}

/* Indices start, start+step, ... of each axis must fall within `wide`; there are as many
 * as `narrow` says. Without any the same two conditions are asked for: they are linear in
 * the sizes, and hold for a whole axis of size 0 in either direction. */
static hop_status strided(hop_infer *f, hop_sizes start, const hop_size *narrow,
                          hop_ints step, const hop_size *wide, hop_sizes dims, int rank)
{
	if (start.n != rank || step.n != rank || dims.n != rank)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand has %d axes; %lld starts, "
		                      "%lld sizes, %lld steps", hop_opname(f), rank,
		                      (long long)start.n, (long long)dims.n, (long long)step.n);
	for (int i = 0; i < rank; i++) {
		if (!step.v[i])
			return hop_infer_fail(f, HOP_EVALUE, "%s: the step of axis %d is 0",
			                      hop_opname(f), i);
		if (hop_size_nsym(start.v[i]) > (int)(f->b->nsym + f->b->nlocal))
			return hop_infer_fail(f, HOP_ESHAPE, "%s: the start of axis %d uses size symbol "
			                      "%d of %u", hop_opname(f), i,
			                      hop_size_nsym(start.v[i]) - 1, f->b->nsym + f->b->nlocal);
		hop_size last = hop_size_sub(f->env, narrow[i], hop_size_int(1));
		last = hop_size_mul(f->env, last, hop_size_int(step.v[i]));
		last = hop_size_add(f->env, start.v[i], last);
		bool up = step.v[i] > 0;
		HOP_TRY(inside(f, i, up ? start.v[i] : last, up ? last : start.v[i], wide[i]));
	}
	return HOP_OK;
}

/* slice x {start dims step} -- every step-th element: result[i] = x[start + i*step]
 * A negative step reverses. Every index read must exist. */
hop_status hop_infer_slice(hop_infer *f)
{
	const struct hop_attr_slice *a = f->attr;
	const hop_type *t = f->in[0];
	HOP_TRY(strided(f, a->start, a->dims.v, a->step, t->dim, a->dims, t->rank));
	return hop_shape_out(f, t->dtype, t->rank, a->dims.v);
}

/* pad x {start dims step} -- x among zeros: result[start + i*step] = x[i], zero elsewhere
 * dims are the sizes of the result. Every index written must exist. */
hop_status hop_infer_pad(hop_infer *f)
{
	const struct hop_attr_pad *a = f->attr;
	const hop_type *t = f->in[0];
	HOP_TRY(strided(f, a->start, t->dim, a->step, a->dims.v, a->dims, t->rank));
	return hop_shape_out(f, t->dtype, t->rank, a->dims.v);
}

static void map_sizes(hop_build *b, const hop_rule *r, hop_sizes s, hop_size *out_s)
{
	for (int i = 0; i < s.n; i++)
		out_s[i] = hop_rule_size(b, r, s.v[i]);
}

hop_status hop_vjp_slice(hop_build *b, hop_rule *r)
{
	const struct hop_attr_slice *a = r->n->attr;
	hop_size start[HOP_MAXRANK];
	map_sizes(b, r, a->start, start);
	r->din[0] = hop_emit_pad(b, r->dout[0], start, hop_typeof(b, r->in[0])->dim, a->step.v);
	return HOP_OK;
}

hop_status hop_vjp_pad(hop_build *b, hop_rule *r)
{
	const struct hop_attr_pad *a = r->n->attr;
	hop_size start[HOP_MAXRANK];
	map_sizes(b, r, a->start, start);
	r->din[0] = hop_emit_slice(b, r->dout[0], start, hop_typeof(b, r->in[0])->dim,
	                           a->step.v);
	return HOP_OK;
}

/* The batch axis is taken whole. */
static void lead_strided(hop_build *b, const hop_rule *r, hop_sizes start, hop_ints step,
                         hop_size *out_start, int64_t *out_step)
{
	out_start[0] = hop_size_int(0);
	out_step[0] = 1;
	map_sizes(b, r, start, out_start + 1);
	for (int i = 0; i < step.n; i++)
		out_step[i + 1] = step.v[i];
}

hop_status hop_batch_slice(hop_build *b, hop_rule *r)
{
	const struct hop_attr_slice *a = r->n->attr;
	hop_size start[HOP_MAXDIM], dim[HOP_MAXDIM];
	int64_t step[HOP_MAXDIM];
	lead_dims(b, r, a->dims, dim);
	lead_strided(b, r, a->start, a->step, start, step);
	return hop_rule_batched(b, r, hop_emit_slice(b, r->in[0], start, dim, step));
}

hop_status hop_batch_pad(hop_build *b, hop_rule *r)
{
	const struct hop_attr_pad *a = r->n->attr;
	hop_size start[HOP_MAXDIM], dim[HOP_MAXDIM];
	int64_t step[HOP_MAXDIM];
	lead_dims(b, r, a->dims, dim);
	lead_strided(b, r, a->start, a->step, start, step);
	return hop_rule_batched(b, r, hop_emit_pad(b, r->in[0], start, dim, step));
}

/* ---- concat ---- */

/* concat x... {axis} -- operands one after the other along an axis they all have */
hop_status hop_infer_concat(hop_infer *f)
{
	int64_t axis = ((const struct hop_attr_concat *)f->attr)->axis;
	if (!f->nin)
		return hop_infer_fail(f, HOP_ETYPE, "%s: no operands", hop_opname(f));
	const hop_type *t = f->in[0];
	if (axis < 0 || axis >= t->rank)
		return hop_infer_fail(f, HOP_EVALUE, "%s: axis %lld of %d axes", hop_opname(f),
		                      (long long)axis, t->rank);
	hop_size dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		dim[i] = t->dim[i];
	for (uint32_t k = 1; k < f->nin; k++) {
		const hop_type *u = f->in[k];
		if (u->dtype != t->dtype)
			return hop_infer_fail(f, HOP_ETYPE, "%s: operand 0 is %s, operand %u is %s: "
			                      "cast one of them", hop_opname(f),
			                      hop_dtype_name(t->dtype), k, hop_dtype_name(u->dtype));
		if (u->rank != t->rank)
			return hop_infer_fail(f, HOP_ETYPE, "%s: operand 0 has %d axes, operand %u "
			                      "has %d", hop_opname(f), t->rank, k, u->rank);
		for (int i = 0; i < t->rank; i++) {
			if (i != axis) {
				char name[32];
				snprintf(name, sizeof name, "operand %u", k);
				HOP_TRY(hop_shape_same(f, "operand 0", i, t->dim[i], name, i, u->dim[i]));
			}
		}
		dim[axis] = hop_size_add(f->env, dim[axis], u->dim[axis]);
	}
	return hop_shape_out(f, t->dtype, t->rank, dim);
}

/* Each operand gets its own part of the cotangent. */
hop_status hop_vjp_concat(hop_build *b, hop_rule *r)
{
	int axis = (int)HOP_ATTR(r->n, concat)->axis;
	hop_size start[HOP_MAXRANK];
	for (int i = 0; i < HOP_MAXRANK; i++)
		start[i] = hop_size_int(0);
	for (uint32_t k = 0; k < r->n->nin; k++) {
		const hop_type *t = hop_typeof(b, r->in[k]);
		if (r->act[k])
			r->din[k] = hop_emit_slice(b, r->dout[0], start, t->dim, NULL);
		start[axis] = hop_size_add(b->env, start[axis], t->dim[axis]);
	}
	return HOP_OK;
}

hop_status hop_batch_concat(hop_build *b, hop_rule *r)
{
	hop_mark m = hop_mark_at(&b->env->tmp);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, r->n->nin);
	for (uint32_t k = 0; k < r->n->nin; k++)
		in[k] = hop_rule_lead(b, r, k);
	hop_val v = hop_emit_concat(b, (int)r->n->nin, in, (int)HOP_ATTR(r->n, concat)->axis + 1);
	hop_rewind(&b->env->tmp, m);
	return hop_rule_batched(b, r, v);
}
