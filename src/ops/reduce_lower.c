/* reduce_lower.c -- lowering of the reductions of reduce.c: a reducing loop for one element.
 * Products of matrices are in dot_lower.c. */
#include <math.h>

#include "loop/lower.h"
#include "ops/shape.h"

/* Where the loops go: around nothing the result does not depend on. */
hop_scope *hop_lower_red_scope(hop_lower *l, int rank, const hop_ix *const *ix)
{
	hop_scope *s = l->q.inst->scope && !l->q.dry.on ? l->q.inst->scope : l->q.cur->barrier;
	for (int i = 0; i < rank; i++)
		s = hop_lower_deeper(s, hop_lower_ix_scope(l, ix[i]));
	if (l->q.mask)
		s = hop_lower_deeper(s, hop_lower_reg_scope(l, l->q.mask));
	return s;
}

static enum hop_red combines(int op, hop_dtype d)
{
	if (op == HOP_OP_sum)
		return HOP_RED_add;
	if (op == HOP_OP_prod)
		return HOP_RED_mul;
	if (op == HOP_OP_amax || op == HOP_OP_any)
		return hop_dtype_bool(d) ? HOP_RED_or : HOP_RED_max;
	return hop_dtype_bool(d) ? HOP_RED_and : HOP_RED_min;
}

hop_reg hop_lower_identity(hop_lower *l, enum hop_red red, hop_dtype d)
{
	bool real = hop_dtype_real(d);
	switch (red) {
	case HOP_RED_mul:
		return hop_lower_const(l, d, 1, 1);
	case HOP_RED_max:
		return hop_lower_const(l, d, -INFINITY, real ? 0 : hop_dtype_least(d));
	case HOP_RED_min:
		return hop_lower_const(l, d, INFINITY, real ? 0 : hop_dtype_most(d));
	case HOP_RED_and:
		return hop_lower_const(l, d, 0, hop_dtype_bool(d) ? 1 : -1);
	default:
		return hop_lower_const(l, d, 0, 0);
	}
}

hop_status hop_lower_reduce(hop_lower *l, const hop_node *n)
{
	const hop_type *t = hop_lower_in(l, n, 0);
	hop_ints ax = hop_reduce_axes(n->attr);
	hop_dtype d = (hop_dtype)t->dtype, in = d;
	enum hop_red red = combines(n->op, d);
	const hop_ix *x[HOP_MAXRANK];
	hop_scope *at = hop_lower_red_scope(l, t->rank - (int)ax.n, l->q.ix);
	hop_reg init, r;
	if (ax.n)
		hop_lower_heavy(l);
	/* Products of f32 are made in f64: on the way they stay in the range, and small errors that
	 * all point one way do not pile up. */
	if (red == HOP_RED_mul && d == HOP_f32 && ax.n)
		d = HOP_f64;
	init = hop_lower_identity(l, red, d);
	for (int i = 0, k = 0, o = 0; i < t->rank; i++) {
		if (k < ax.n && ax.v[k] == i) {
			x[i] = hop_lower_open(l, HOP_LOOP_RED, t->dim[i], k ? NULL : at);
			k++;
		} else {
			x[i] = l->q.ix[o++];
		}
	}
	r = hop_lower_arg(l, n, 0, x);
	if (d != in)
		r = hop_lower_do(l, cast, d, r);
	for (int64_t k = 0; k < ax.n; k++) {
		r = hop_lower_acc(l, red, d, init, r);
		hop_lower_close(l);
	}
	l->reg = d != in ? hop_lower_do(l, cast, in, r) : r;
	return HOP_OK;
}
