/* compose.c -- reductions and composites: softmax, norms, gates. Each is a few ops, captured as such,
 * so they need no rules of their own. Products are in product.c. */
#include "trace/compose.h"
#include "trace/fast.h"
#include "hop/nn.h"
#include "hop/shape.h"

struct compose {
	hop_value       x, y, z, r;
	enum hop_reduce kind;
	int             n, axis;
	const int      *axes;
	double          eps;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line,
                     hop_make_fn *make, struct compose c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.r : (hop_value){ 0, 0 };
}

/* ---- what composites share ---- */

hop_val hop_floats(hop_trace *t, hop_value x)
{
	hop_dtype d = hop_promote_dtype(t, 1, &x);
	return hop_promote_cast(t, x, hop_dtype_float(d) ? hop_dtype_computes(d) : HOP_f32);
}

hop_value hop_rounded(hop_trace *t, hop_val v, int n, const hop_value *operand)
{
	hop_dtype d = hop_promote_dtype(t, n, operand);
	return hop_value_new(t, hop_dtype_packed(d) ? hop_emit_cast(&t->b, v, d) : v);
}

hop_val hop_number_like(hop_build *b, hop_val x, double v)
{
	return b->st ? HOP_BAD : hop_emit_full(b, hop_typeof(b, x), v);
}

int hop_axis_list(hop_trace *t, int naxes, const int *axes, int rank, int64_t *out)
{
	if (naxes < 0 || naxes > rank || (naxes && !axes)) {
		hop_trace_fail(t, HOP_EVALUE, "%s: %d axes of a value of rank %d", t->op, naxes, rank);
		return -1;
	}
	bool used[HOP_MAXRANK] = { false };
	int n = 0;
	for (int i = 0; i < naxes; i++) {
		int a = hop_axis(t, t->op, axes[i], rank);
		if (a < 0)
			return -1;
		if (used[a]) {
			hop_trace_fail(t, HOP_EVALUE, "%s: axis %d is named twice", t->op, a);
			return -1;
		}
		used[a] = true;
	}
	for (int a = 0; a < rank; a++)
		if (used[a] || !naxes)
			out[n++] = a;
	return n;
}

hop_val hop_widened(hop_build *b, hop_val v, const hop_type *type, int n, const int64_t *axes)
{
	int64_t keep[HOP_MAXRANK];
	if (b->st)
		return HOP_BAD;
	for (int i = 0, k = 0, j = 0; i < type->rank; i++)
		if (j < n && axes[j] == i)
			j++;
		else
			keep[k++] = i;
	return hop_emit_broadcast(b, v, type->rank, type->dim, keep);
}

hop_val hop_along(hop_build *b, hop_val x, int64_t axis, int op)
{
	hop_val s = hop_emit_reduce(b, op, x, 1, &axis);
	return b->st ? HOP_BAD : hop_widened(b, s, hop_typeof(b, x), 1, &axis);
}

hop_val hop_counted(hop_trace *t, const hop_type *type, int n, const int64_t *axes, hop_dtype d)
{
	hop_size count = hop_size_int(1);
	for (int i = 0; i < n; i++)
		count = hop_size_mul(hop_env_of(t), count, type->dim[axes[i]]);
	return hop_emit_cast(&t->b, hop_emit_size(&t->b, count), d);
}

/* ---- reductions ---- */

/* A mean is a sum first. */
static const struct { const char *name; int op; } reduction[] = {
	[HOP_REDUCE_SUM] = { "sum", HOP_OP_sum }, [HOP_REDUCE_MAX] = { "amax", HOP_OP_amax },
	[HOP_REDUCE_MEAN] = { "mean", HOP_OP_sum }, [HOP_REDUCE_MIN] = { "amin", HOP_OP_amin },
	[HOP_REDUCE_PROD] = { "prod", HOP_OP_prod }, [HOP_REDUCE_ANY] = { "any", HOP_OP_any },
	[HOP_REDUCE_ALL] = { "all", HOP_OP_all },
};
enum { NREDUCTION = sizeof reduction / sizeof *reduction };

/* The operand in the dtype that is reduced: integers add up and multiply as i64. */
static hop_val reduced(hop_trace *t, enum hop_reduce kind, hop_value x, bool isfloat)
{
	if (kind == HOP_REDUCE_MEAN)
		return hop_floats(t, x);
	if (kind == HOP_REDUCE_ANY || kind == HOP_REDUCE_ALL)
		return hop_promote_cast(t, x, HOP_bool);
	if ((kind == HOP_REDUCE_SUM || kind == HOP_REDUCE_PROD) && !isfloat)
		return hop_promote_cast(t, x, HOP_i64);
	return hop_value_read(t, x);
}

static void make_reduce(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	int64_t axes[HOP_MAXRANK];
	if ((unsigned)c->kind >= NREDUCTION) {
		hop_trace_fail(t, HOP_EVALUE, "reduce: there is no reduction %d", (int)c->kind);
		return;
	}
	const hop_type *type = hop_value_type(t, c->x);
	int n = type ? hop_axis_list(t, c->n, c->axes, type->rank, axes) : -1;
	if (n < 0)
		return;
	hop_val x = reduced(t, c->kind, c->x, hop_dtype_float((hop_dtype)type->dtype));
	if (b->st)
		return;
	hop_val s = hop_emit_reduce(b, reduction[c->kind].op, x, n, axes);
	if (c->kind == HOP_REDUCE_MEAN && !b->st) {
		const hop_type *st = hop_typeof(b, s);
		hop_val k = hop_counted(t, type, n, axes, (hop_dtype)st->dtype);
		s = hop_fast(t, div, s, hop_emit_match(b, k, st));
	}
	c->r = hop_rounded(t, s, 1, &c->x);
}

hop_value hop_at_reduce(hop_trace *t, const char *file, int line, enum hop_reduce r,
                        hop_value x, int naxes, const int *axes)
{
	return run(t, (unsigned)r >= NREDUCTION ? "reduce" : reduction[r].name, file, line,
	           make_reduce, (struct compose){ .kind = r, .x = x, .n = naxes, .axes = axes });
}

/* ---- norm, variance ---- */

/* The root of a sum of squares s: at 0 its slope is 0, as PyTorch has it, where that of sqrt is
 * infinite. */
static hop_val root(hop_build *b, hop_val s)
{
	hop_val zero = hop_number_like(b, s, 0), none = hop_emit(b, eq, s, zero);
	hop_val some = hop_emit(b, select, none, hop_number_like(b, s, 1), s);
	return hop_emit(b, select, none, zero, hop_emit(b, sqrt, some));
}

static void make_two_norm(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	int64_t axes[HOP_MAXRANK];
	hop_val x = hop_floats(t, c->x);
	int n = b->st ? -1 : hop_axis_list(t, c->n, c->axes, hop_typeof(b, x)->rank, axes);
	if (n < 0)
		return;
	hop_val s = hop_emit_sum(b, hop_emit(b, mul, x, x), n, axes);
	c->r = hop_rounded(t, root(b, s), 1, &c->x);
}

hop_value hop_at_norm(hop_trace *t, const char *file, int line, hop_value x, int naxes,
                      const int *axes)
{
	return run(t, "norm", file, line, make_two_norm,
	           (struct compose){ .x = x, .n = naxes, .axes = axes });
}

/* axis: the root of it; eps: by how much less than the number of elements the squares are divided,
 * at least by 0. */
static void make_var(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	int64_t axes[HOP_MAXRANK];
	hop_val x = hop_floats(t, c->x);
	int n = b->st ? -1 : hop_axis_list(t, c->n, c->axes, hop_typeof(b, x)->rank, axes);
	if (n < 0)
		return;
	const hop_type *type = hop_typeof(b, x);
	hop_val s = hop_emit_sum(b, x, n, axes);
	hop_val k = hop_counted(t, type, n, axes, (hop_dtype)type->dtype);
	if (b->st)
		return;
	const hop_type *st = hop_typeof(b, s);
	hop_val mean = hop_fast(t, div, s, hop_emit_match(b, k, st));
	hop_val dev = hop_emit(b, sub, x, hop_widened(b, mean, type, n, axes));
	hop_val sq = hop_emit_sum(b, hop_emit(b, mul, dev, dev), n, axes);
	hop_val less = hop_emit(b, sub, k, hop_number_like(b, k, c->eps));
	less = hop_emit(b, max, less, hop_number_like(b, k, 0));
	hop_val v = hop_fast(t, div, sq, hop_emit_match(b, less, st));
	c->r = hop_rounded(t, c->axis ? root(b, v) : v, 1, &c->x);
}

hop_value hop_at_variance(hop_trace *t, const char *file, int line, bool root_of, hop_value x,
                     int naxes, const int *axes, double correction)
{
	return run(t, root_of ? "std" : "variance", file, line, make_var,
	           (struct compose){ .x = x, .n = naxes, .axes = axes, .eps = correction,
	                             .axis = root_of });
}

/* ---- where the extreme element is ---- */

/* n: of the smallest. */
static void make_arg(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_val x = hop_value_read(t, c->x);
	int axis = t->b.st ? -1 : hop_axis(t, t->op, c->axis, hop_typeof(&t->b, x)->rank);
	if (axis < 0)
		return;
	struct hop_attr_argmax a = { .axis = axis };
	c->r = hop_value_new(t, hop_emit_op(&t->b, c->n ? HOP_OP_argmin : HOP_OP_argmax, &a, 1, &x));
}

hop_value hop_at_argmax(hop_trace *t, const char *file, int line, hop_value x, int axis)
{
	return run(t, "argmax", file, line, make_arg, (struct compose){ .x = x, .axis = axis });
}

hop_value hop_at_argmin(hop_trace *t, const char *file, int line, hop_value x, int axis)
{
	return run(t, "argmin", file, line, make_arg,
	           (struct compose){ .x = x, .axis = axis, .n = 1 });
}

/* ---- in order ---- */

/* n: the largest first; eps: the elements, not their places. */
static void make_sort(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_value_read(t, c->x);
	int axis = b->st ? -1 : hop_axis(t, t->op, c->axis, hop_typeof(b, x)->rank);
	if (axis < 0)
		return;
	struct hop_attr_argsort a = { .axis = axis, .down = c->n };
	hop_val at = hop_emit_op(b, HOP_OP_argsort, &a, 1, &x);
	if (c->eps == 0 || b->st) {
		c->r = hop_value_new(t, at);
		return;
	}
	/* gather takes leading axes line by line, so the axis goes last and comes back */
	const hop_type *type = hop_typeof(b, x);
	int64_t to[HOP_MAXRANK], back[HOP_MAXRANK];
	int last = type->rank - 1;
	for (int i = 0; i <= last; i++) {
		to[i] = i == last ? axis : i + (i >= axis);
		back[to[i]] = i;
	}
	x = hop_emit_permute(b, x, to);
	at = hop_emit_permute(b, at, to);
	c->r = hop_value_new(t, hop_emit_permute(b, hop_emit_gather(b, x, at, last, last), back));
}

hop_value hop_at_argsort(hop_trace *t, const char *file, int line, hop_value x, int axis, bool down)
{
	return run(t, "argsort", file, line, make_sort,
	           (struct compose){ .x = x, .axis = axis, .n = down });
}

hop_value hop_at_sort(hop_trace *t, const char *file, int line, hop_value x, int axis, bool down)
{
	return run(t, "sort", file, line, make_sort,
	           (struct compose){ .x = x, .axis = axis, .n = down, .eps = 1 });
}

/* ---- softmax and norms ---- */

static void make_softmax(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_floats(t, c->x);
	int axis = b->st ? -1 : hop_axis(t, "softmax", c->axis, hop_typeof(b, x)->rank);
	if (axis < 0)
		return;
	hop_val m = hop_along(b, x, axis, HOP_OP_amax);
	hop_val e = b->st ? HOP_BAD : hop_emit(b, sub, x, m);
	e = b->st ? HOP_BAD : hop_emit(b, exp, e);
	hop_val s = hop_along(b, e, axis, HOP_OP_sum);
	c->r = hop_rounded(t, b->st ? HOP_BAD : hop_fast(t, div, e, s), 1, &c->x);
}

hop_value hop_at_softmax(hop_trace *t, const char *file, int line, hop_value x, int axis)
{
	return run(t, "softmax", file, line, make_softmax,
	           (struct compose){ .x = x, .axis = axis });
}

static void make_norm(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_floats(t, c->x);
	if (b->st)
		return;
	const hop_type *type = hop_typeof(b, x);
	int axis = hop_axis(t, "layer_norm", -1, type->rank);
	if (axis < 0)
		return;
	hop_dtype d = (hop_dtype)type->dtype;
	hop_val n = hop_emit_match(b, hop_emit_cast(b, hop_emit_size(b, type->dim[axis]), d), type);
	hop_val s = hop_along(b, x, axis, HOP_OP_sum);
	hop_val mean = b->st ? HOP_BAD : hop_fast(t, div, s, n);
	hop_val dev = b->st ? HOP_BAD : hop_emit(b, sub, x, mean);
	hop_val sq = hop_along(b, b->st ? HOP_BAD : hop_emit(b, mul, dev, dev), axis, HOP_OP_sum);
	hop_val var = b->st ? HOP_BAD : hop_fast(t, div, sq, n);
	hop_val eps = hop_number_like(b, var, c->eps);
	hop_val sd = b->st ? HOP_BAD : hop_emit(b, sqrt, hop_emit(b, add, var, eps));
	hop_value y = hop_value_new(t, b->st ? HOP_BAD : hop_fast(t, div, dev, sd));
	hop_value all[3] = { c->x };
	int k = 1;
	if (c->y.trace && y.trace) {
		y = hop_value_new(t, hop_point(t, HOP_OP_mul, 2, (hop_value[]){ y, c->y }));
		all[k++] = c->y;
	}
	if (c->z.trace && y.trace) {
		y = hop_value_new(t, hop_point(t, HOP_OP_add, 2, (hop_value[]){ y, c->z }));
		all[k++] = c->z;
	}
	c->r = y.trace ? hop_rounded(t, hop_value_read(t, y), k, all) : y;
}

hop_value hop_at_layer_norm(hop_trace *t, const char *file, int line, hop_value x,
                            hop_value weight, hop_value bias, double eps)
{
	return run(t, "layer_norm", file, line, make_norm,
	           (struct compose){ .x = x, .y = weight, .z = bias, .eps = eps });
}
