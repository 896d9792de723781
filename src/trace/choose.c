/* choose.c -- composites that take values apart, put them together, or choose between them: stack,
 * split, where, clamp. One value from another is in move.c. */
#include "trace/compose.h"
#include "hop/shape.h"

struct choose {
	hop_value        v[3], r;
	int              n, axis;
	bool             numbers;      /* the bounds are low and high, not values */
	double           low, high;
	const hop_value *list;
	const hop_dim   *sizes;
	hop_value       *out;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line,
                     hop_make_fn *make, struct choose c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.r : (hop_value){ 0, 0 };
}

/* As far as it is known. */
static bool one_shape(hop_trace *t, const hop_type *x, const hop_type *y)
{
	bool same = x->rank == y->rank;
	for (int i = 0; same && i < x->rank; i++)
		same = hop_build_holds(&t->b, HOP_EQ, x->dim[i], y->dim[i]) != HOP_NEVER;
	return same;
}

static void make_stack(hop_trace *t, void *arg)
{
	struct choose *c = arg;
	hop_build *b = &t->b;
	if (c->n < 1 || !c->list) {
		hop_trace_fail(t, HOP_EVALUE, "stack_n: nothing to stack");
		return;
	}
	hop_dtype d = hop_promote_dtype(t, c->n, c->list);
	hop_val *v = HOP_NEWN(&t->arena, hop_val, c->n);
	for (int i = 0; i < c->n; i++) {
		v[i] = hop_promote_cast(t, c->list[i], d);
		if (hop_is_bad(v[i]))
			return;
	}
	const hop_type *type = hop_typeof(b, v[0]);
	int axis = hop_axis(t, t->op, c->axis, type->rank + 1);
	if (axis < 0)
		return;
	if (type->rank == HOP_MAXRANK) {
		hop_trace_fail(t, HOP_ESHAPE, "stack_n: there are %d axes already", HOP_MAXRANK);
		return;
	}
	for (int i = 0; i < c->n; i++) {
		const hop_type *own = hop_typeof(b, v[i]);
		hop_size dim[HOP_MAXRANK];
		if (!one_shape(t, type, own)) {
			hop_trace_fail(t, HOP_ESHAPE, "stack_n: value 0 is %s, value %d is %s: they need one shape",
			               hop_type_text(t, type), i, hop_type_text(t, own));
			return;
		}
		for (int k = 0, j = 0; k <= own->rank; k++)
			dim[k] = k == axis ? hop_size_int(1) : own->dim[j++];
		v[i] = hop_emit_reshape(b, v[i], own->rank + 1, dim);
	}
	c->r = hop_value_new(t, b->st ? HOP_BAD : hop_emit_concat(b, c->n, v, axis));
}

hop_value hop_at_stack_n(hop_trace *t, const char *file, int line, int n, const hop_value *x,
                         int axis)
{
	return run(t, "stack_n", file, line, make_stack,
	           (struct choose){ .n = n, .list = x, .axis = axis });
}

/* ---- parts of an axis ---- */

/* The sizes of the parts; false and a failure when they do not make up the axis. */
static bool parts(hop_trace *t, const struct choose *c, const hop_type *type, int axis,
                  hop_size *out)
{
	hop_env *e = hop_env_of(t);
	hop_size n = type->dim[axis], sum = hop_size_int(0);
	for (int i = 0; i < c->n; i++) {
		if (!c->sizes)
			out[i] = hop_size_div(e, n, hop_size_int(c->n));
		else if (!hop_dims(t, t->op, 1, &c->sizes[i], &out[i]))
			return false;
		sum = hop_size_add(e, sum, out[i]);
	}
	if (hop_build_holds(&t->b, HOP_EQ, sum, n) == HOP_NEVER) {
		hop_trace_fail(t, HOP_ESHAPE, c->sizes ? "split_axis: axis %d of %s is not as long as its %d "
		               "parts" : "split_axis: axis %d of %s has no %d equal parts", axis,
		               hop_type_text(t, type), c->n);
		return false;
	}
	hop_build_check(&t->b, (hop_check){ .a = sum, .b = n, .rel = HOP_EQ, .op = HOP_OP_slice,
	                                    .loc = t->b.loc, .as = t->op,
	                                    .what = "the parts have {0} elements, the axis {1}" });
	return true;
}

static void make_split(hop_trace *t, void *arg)
{
	struct choose *c = arg;
	const hop_type *type = hop_value_type(t, c->v[0]);
	int axis = type ? hop_axis(t, t->op, c->axis, type->rank) : -1;
	if (axis < 0)
		return;
	if (c->n < 1 || !c->out) {
		hop_trace_fail(t, HOP_EVALUE, "split_axis: into %d parts, or no place for them", c->n);
		return;
	}
	hop_size *size = HOP_NEWN(&t->arena, hop_size, c->n), from = hop_size_int(0);
	if (!parts(t, c, type, axis, size))
		return;
	for (int i = 0; i < c->n && !t->b.st; i++) {
		c->out[i] = hop_narrowed(t, c->v[0], axis, from, size[i], 1);
		from = hop_size_add(hop_env_of(t), from, size[i]);
	}
}

int hop_at_split_axis(hop_trace *t, const char *file, int line, hop_value x, int axis, int n,
                      const hop_dim *sizes, hop_value *out)
{
	struct choose c = { .v = { x }, .axis = axis, .n = n, .sizes = sizes, .out = out };
	return hop_enter(t, "split_axis", file, line, make_split, &c) ? n : 0;
}

/* ---- one or the other ---- */

static void make_where(hop_trace *t, void *arg)
{
	struct choose *c = arg;
	if (!hop_number_op(t, HOP_OP_select, false, 3, c->v, &c->r))
		c->r = hop_value_new(t, t->b.st ? HOP_BAD : hop_point(t, HOP_OP_select, 3, c->v));
}

hop_value hop_at_where(hop_trace *t, const char *file, int line, hop_value cond, hop_value x,
                       hop_value y)
{
	return run(t, "where", file, line, make_where, (struct choose){ .v = { cond, x, y } });
}

/* x, or the bound that it is beyond: at the bound itself the slope is that of x. A NaN passes, also
 * one that is a bound. */
static hop_val bounded(hop_build *b, hop_val x, hop_val bound, bool low)
{
	hop_val out = low ? hop_emit(b, lt, x, bound) : hop_emit(b, lt, bound, x);
	if (!b->st && hop_dtype_float((hop_dtype)hop_typeof(b, x)->dtype))
		out = hop_emit(b, or, out, hop_emit(b, ne, bound, bound));
	return hop_emit(b, select, out, bound, x);
}

static void make_clamp(hop_trace *t, void *arg)
{
	struct choose *c = arg;
	if (c->numbers) {
		c->v[1] = hop_value_weak(t, HOP_WEAK_FLOAT, c->low, 0);
		c->v[2] = hop_value_weak(t, HOP_WEAK_FLOAT, c->high, 0);
	}
	hop_value all[3] = { c->v[0] };
	hop_val v[3];
	int n = 1;
	for (int i = 1; i < 3; i++)
		if (c->v[i].trace)
			all[n++] = c->v[i];
	if (!hop_promote(t, n, all, HOP_NDTYPE, v))
		return;
	hop_val x = v[0];
	if (c->v[1].trace)
		x = bounded(&t->b, x, v[1], true);
	if (c->v[2].trace)
		x = bounded(&t->b, x, v[n - 1], false);
	c->r = hop_value_new(t, x);
}

hop_value hop_at_clamp(hop_trace *t, const char *file, int line, hop_value x, hop_value low,
                       hop_value high)
{
	return run(t, "clamp", file, line, make_clamp, (struct choose){ .v = { x, low, high } });
}

hop_value hop_at_clampf(hop_trace *t, const char *file, int line, hop_value x, double low,
                        double high)
{
	return run(t, "clampf", file, line, make_clamp,
	           (struct choose){ .v = { x }, .numbers = true, .low = low, .high = high });
}
