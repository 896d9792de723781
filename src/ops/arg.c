/* arg.c -- argmax, argmin: where along an axis the extreme element is, in all its cells. They have
 * no derivative: an index does not move by little. */
#include "loop/lower.h"
#include "ops/shape.h"

#include <math.h>

_Static_assert(sizeof(struct hop_attr_argmax) == sizeof(struct hop_attr_argmin), "one attribute");
static int64_t axis_of(const void *attr)
{
	return ((const struct hop_attr_argmax *)attr)->axis;
}

/* argmax x {axis} -- the index, i64, of the largest element along axis: of several the first, and
 * a NaN is larger than all
 * argmin x {axis} -- the same of the smallest; a NaN is smaller than all
 * The axis disappears from the result. An empty one is refused. */
hop_status hop_infer_argmax(hop_infer *f)
{
	int64_t axis = axis_of(f->attr);
	const hop_type *t = f->in[0];
	hop_size dim[HOP_MAXRANK];
	int n = 0;
	HOP_TRY(hop_shape_axes(f, (hop_ints){ 1, &axis }, t->rank));
	HOP_TRY(hop_infer_le(f, hop_size_int(1), t->dim[axis], "nothing on the axis to choose from"));
	for (int i = 0; i < t->rank; i++)
		if (i != axis)
			dim[n++] = t->dim[i];
	return hop_shape_out(f, HOP_i64, n, dim);
}

/* Does element i of x come before element j? */
static bool beats(const hop_array *x, int64_t i, int64_t j, bool max)
{
	if (!hop_dtype_float(x->dtype)) {
		int64_t v = hop_array_i(x, i), w = hop_array_i(x, j);
		return max ? v > w : v < w;
	}
	double v = hop_array_f(x, i), w = hop_array_f(x, j);
	return !isnan(w) && (isnan(v) || (max ? v > w : v < w));
}

hop_status hop_eval_argmax(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	const hop_array *x = in[0];
	int64_t axis = axis_of(n->attr), inner = 1, size = x->dim[axis];
	(void)p;
	for (int i = (int)axis + 1; i < x->rank; i++)
		inner *= x->dim[i];
	for (int64_t o = 0; o < out[0]->count; o++) {
		int64_t first = o / inner * size * inner + o % inner, best = 0;
		for (int64_t k = 1; k < size; k++)
			if (beats(x, first + k * inner, first + best * inner, n->op == HOP_OP_argmax))
				best = k;
		hop_array_set_i(out[0], o, best);
	}
	return HOP_OK;
}

hop_status hop_batch_argmax(hop_build *b, hop_rule *r)
{
	struct hop_attr_argmax a = { .axis = axis_of(r->n->attr) + 1 };
	return hop_rule_batched(b, r, hop_emit_op(b, r->n->op, &a, 1, r->in));
}

/* Two loops: the extreme element, then the least index that has it. Both read the operand from
 * memory: computed again, a float may be rounded otherwise and equal none. */
static hop_status store(hop_lower *l, const hop_node *n)
{
	const hop_type *t = hop_lower_in(l, n, 0), *o = hop_lower_out(l, n, 0);
	int axis = (int)axis_of(n->attr);
	hop_dtype d = (hop_dtype)t->dtype;
	bool max = n->op == HOP_OP_argmax;
	enum hop_red red = max ? HOP_RED_max : HOP_RED_min;
	hop_view to = l->q.dest, from;
	const hop_ix *x[HOP_MAXRANK], *ox[HOP_MAXRANK];
	hop_reg best, v, is, r;
	if (hop_dtype_bool(d))
		red = max ? HOP_RED_or : HOP_RED_and;
	HOP_TRY(hop_lower_arg_view(l, n, 0, false, &from));
	hop_scope *there = l->q.cur;
	int nloop = hop_lower_open_dims(l, o->rank, o->dim, ox);

	for (int i = 0; i < o->rank; i++)
		x[i + (i >= axis)] = ox[i];
	best = hop_lower_identity(l, red, d);
	x[axis] = hop_lower_open(l, HOP_LOOP_RED, t->dim[axis], NULL);
	v = hop_lower_load(l, d, from.buf, hop_view_at(l, &from, t->rank, x), there);
	best = hop_lower_acc(l, red, d, best, v);
	hop_lower_close(l);

	r = hop_lower_identity(l, HOP_RED_min, HOP_i64);
	x[axis] = hop_lower_open(l, HOP_LOOP_RED, t->dim[axis], NULL);
	v = hop_lower_load(l, d, from.buf, hop_view_at(l, &from, t->rank, x), there);
	is = hop_lower_do(l, eq, HOP_bool, v, best);
	if (hop_dtype_float(d))
		is = hop_lower_do(l, or, HOP_bool, is, hop_lower_do(l, ne, HOP_bool, v, v));
	v = hop_lower_do(l, select, HOP_i64, is, hop_lower_ixreg(l, x[axis]), r);
	r = hop_lower_acc(l, HOP_RED_min, HOP_i64, r, v);
	hop_lower_close(l);

	hop_lower_put(l, HOP_i64, to.buf, hop_view_at(l, &to, o->rank, ox), r);
	hop_lower_close_n(l, nloop);
	return HOP_OK;
}

hop_status hop_lower_argmax(hop_lower *l, const hop_node *n)
{
	if (l->q.ask == HOP_ASK_STORE)
		return store(l, n);
	hop_lower_must(l);
	return HOP_OK;
}
