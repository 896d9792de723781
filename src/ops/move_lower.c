/* move_lower.c -- lowering of ops that move values. Views only change the index; pad and
 * concat choose by masks, or store piece by piece when the whole value is wanted. */
#include "loop/lower.h"

hop_status hop_lower_broadcast(hop_lower *l, const hop_node *n)
{
	const hop_ix *x[HOP_MAXRANK];
	hop_ints ax = HOP_ATTR(n, broadcast)->axes;
	for (int64_t i = 0; i < ax.n; i++)
		x[i] = l->q.ix[ax.v[i]];
	l->reg = hop_lower_arg(l, n, 0, x);
	return HOP_OK;
}

/* A dense destination can be seen with the operand's sizes. */
hop_status hop_lower_reshape(hop_lower *l, const hop_node *n)
{
	const hop_type *t = hop_lower_out(l, n, 0), *s = hop_lower_in(l, n, 0);
	const hop_ix *x[HOP_MAXRANK];
	if (l->q.ask == HOP_ASK_STORE) {
		if (!hop_view_is_dense(l, &l->q.dest, t))
			return hop_lower_nest(l, n);
		hop_view v = hop_lower_dense(l, l->q.dest.buf, s);
		v.base = l->q.dest.base;
		return hop_lower_store_arg(l, n, 0, &v);
	}
	hop_lower_special(l);
	hop_lower_split(l, s);
	hop_ix_unflat(l, hop_ix_flat(l, t->rank, t->dim, l->q.ix), s->rank, s->dim, x);
	l->reg = hop_lower_arg(l, n, 0, x);
	return HOP_OK;
}

hop_status hop_lower_permute(hop_lower *l, const hop_node *n)
{
	const hop_ix *x[HOP_MAXRANK];
	hop_ints ax = HOP_ATTR(n, permute)->axes;
	for (int64_t i = 0; i < ax.n; i++)
		x[ax.v[i]] = l->q.ix[i];
	l->reg = hop_lower_arg(l, n, 0, x);
	return HOP_OK;
}

static const hop_ix *affine(hop_lower *l, const hop_ix *x, hop_size start, int64_t step)
{
	return hop_ix_add(l, hop_ix_mul(l, x, hop_size_int(step)), hop_ix_size(l, start));
}

hop_status hop_lower_slice(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_slice *a = HOP_ATTR(n, slice);
	const hop_ix *x[HOP_MAXRANK];
	for (int64_t i = 0; i < a->dims.n; i++)
		x[i] = affine(l, l->q.ix[i], hop_lower_size(l, a->start.v[i]), a->step.v[i]);
	l->reg = hop_lower_arg(l, n, 0, x);
	return HOP_OK;
}

/* p is where axis i is in the operand when q (a multiple of the step) is not negative:
 * true inside. */
static hop_reg inside(hop_lower *l, const hop_ix *p, hop_size dim, int64_t step,
                      const hop_ix **out_x)
{
	hop_reg zero = hop_lower_const(l, HOP_i64, 0, 0), r = hop_lower_ixreg(l, p), m, st;
	hop_size span = hop_size_mul(l->env, dim, hop_size_int(step));
	m = hop_lower_and(l, hop_lower_do(l, le, HOP_bool, zero, r),
	                  hop_lower_do(l, lt, HOP_bool, r, hop_lower_sizereg(l, span)));
	*out_x = p;
	if (step == 1)
		return m;
	st = hop_lower_const(l, HOP_i64, 0, step);
	m = hop_lower_and(l, m, hop_lower_do(l, eq, HOP_bool,
	                                     hop_lower_do(l, rem, HOP_i64, r, st), zero));
	*out_x = hop_ix_reg(l, hop_lower_do(l, div, HOP_i64, r, st), dim);
	return m;
}

static hop_status pad_store(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_pad *a = HOP_ATTR(n, pad);
	hop_view to = l->q.dest;
	hop_size *stride = HOP_NEWN(l->w, hop_size, a->dims.n);
	hop_lower_fill(l, hop_lower_out(l, n, 0), &to);
	for (int64_t i = 0; i < a->dims.n; i++) {
		hop_size at = hop_size_mul(l->env, hop_lower_size(l, a->start.v[i]), to.stride[i]);
		to.base = hop_ix_add(l, to.base, hop_ix_size(l, at));
		stride[i] = hop_size_mul(l->env, to.stride[i], hop_size_int(a->step.v[i]));
	}
	to.stride = stride;
	return hop_lower_store_arg(l, n, 0, &to);
}

hop_status hop_lower_pad(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_pad *a = HOP_ATTR(n, pad);
	const hop_type *s = hop_lower_in(l, n, 0);
	const hop_ix *x[HOP_MAXRANK], *p;
	hop_reg was = l->q.mask, m = 0;
	if (l->q.ask == HOP_ASK_STORE)
		return pad_store(l, n);
	hop_lower_special(l);
	for (int i = 0; i < s->rank; i++) {
		hop_size start = hop_lower_size(l, a->start.v[i]);
		int64_t step = a->step.v[i];
		if (hop_size_is(start, 0) && step == 1 &&
		    hop_size_eq(s->dim[i], hop_lower_out(l, n, 0)->dim[i])) {
			x[i] = l->q.ix[i];
			continue;
		}
		start = hop_size_sub(l->env, hop_size_int(0), start);
		p = affine(l, l->q.ix[i], start, 1);
		if (step < 0)
			p = hop_ix_mul(l, p, hop_size_int(-1));
		m = hop_lower_and(l, m, inside(l, p, s->dim[i], step < 0 ? -step : step, &x[i]));
	}
	l->q.mask = hop_lower_and(l, was, m);
	hop_reg r = hop_lower_arg(l, n, 0, x);
	l->q.mask = was;
	if (m) {
		hop_dtype d = (hop_dtype)s->dtype;
		r = hop_lower_do(l, select, d, m, r, hop_lower_const(l, d, 0, 0));
	}
	l->reg = r;
	return HOP_OK;
}

static hop_status concat_store(hop_lower *l, const hop_node *n)
{
	int64_t axis = HOP_ATTR(n, concat)->axis;
	hop_view to = l->q.dest;
	for (uint32_t k = 0; k < n->nin; k++) {
		hop_size d = hop_lower_in(l, n, (int)k)->dim[axis];
		HOP_TRY(hop_lower_store_arg(l, n, (int)k, &to));
		d = hop_size_mul(l->env, d, to.stride[axis]);
		to.base = hop_ix_add(l, to.base, hop_ix_size(l, d));
	}
	return HOP_OK;
}

/* From the last operand to the first: each takes what lies before its end. */
hop_status hop_lower_concat(hop_lower *l, const hop_node *n)
{
	int64_t axis = HOP_ATTR(n, concat)->axis;
	hop_dtype d = (hop_dtype)hop_lower_out(l, n, 0)->dtype;
	int rank = hop_lower_out(l, n, 0)->rank;
	const hop_ix *x[HOP_MAXRANK];
	hop_size start = hop_size_int(0), end;
	hop_reg was = l->q.mask, r = 0, pos, lo = 0;
	if (l->q.ask == HOP_ASK_STORE)
		return concat_store(l, n);
	if (n->nin > 1)
		hop_lower_special(l);
	pos = hop_lower_ixreg(l, l->q.ix[axis]);
	for (int i = 0; i < rank; i++)
		x[i] = l->q.ix[i];
	for (uint32_t k = 0; k < n->nin; k++) {
		hop_reg hi = 0, v;
		end = hop_size_add(l->env, start, hop_lower_in(l, n, (int)k)->dim[axis]);
		if (k + 1 < n->nin)
			hi = hop_lower_do(l, lt, HOP_bool, pos, hop_lower_sizereg(l, end));
		x[axis] = affine(l, l->q.ix[axis], hop_size_sub(l->env, hop_size_int(0), start), 1);
		l->q.mask = hop_lower_and(l, was, hop_lower_and(l, lo, hi));
		v = hop_lower_arg(l, n, (int)k, x);
		l->q.mask = was;
		r = r ? hop_lower_do(l, select, d, lo, v, r) : v;
		lo = hi ? hop_lower_do(l, not, HOP_bool, hi) : 0;
		start = end;
	}
	l->reg = r;
	return HOP_OK;
}
