/* compose.c -- reductions and composites: matrix products, softmax, norms, gates. Each is a
 * few ops, captured as such, so they need no rules of their own. */
#include "trace/trace.h"
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

/* x as a float; integers become f32. A packed float is computed in what its ops compute in, so that
 * a composite is rounded once, as an op is. */
static hop_val floats(hop_trace *t, hop_value x)
{
	hop_dtype d = hop_promote_dtype(t, 1, &x);
	return hop_promote_cast(t, x, hop_dtype_float(d) ? hop_dtype_computes(d) : HOP_f32);
}

/* The result, rounded to what the n operands are promoted to. */
static hop_value rounded(hop_trace *t, hop_val v, int n, const hop_value *operand)
{
	hop_dtype d = hop_promote_dtype(t, n, operand);
	return hop_value_new(t, hop_dtype_packed(d) ? hop_emit_cast(&t->b, v, d) : v);
}

static hop_val number_like(hop_build *b, hop_val x, double v)
{
	return b->st ? HOP_BAD : hop_emit_full(b, hop_typeof(b, x), v);
}

/* ---- reductions ---- */

/* The axes to reduce, counted from 0, each once; -1 and a failure otherwise. */
static int axis_list(hop_trace *t, const struct compose *c, int rank, int64_t *out)
{
	if (c->n < 0 || c->n > rank || (c->n && !c->axes)) {
		hop_trace_fail(t, HOP_EVALUE, "%s: %d axes of a value of rank %d", t->op, c->n, rank);
		return -1;
	}
	bool used[HOP_MAXRANK] = { false };
	int n = 0;
	for (int i = 0; i < c->n; i++) {
		int a = hop_axis(t, t->op, c->axes[i], rank);
		if (a < 0)
			return -1;
		if (used[a]) {
			hop_trace_fail(t, HOP_EVALUE, "%s: axis %d is named twice", t->op, a);
			return -1;
		}
		used[a] = true;
	}
	for (int a = 0; a < rank; a++)
		if (used[a] || !c->n)
			out[n++] = a;
	return n;
}

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
		return floats(t, x);
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
	int n = type ? axis_list(t, c, type->rank, axes) : -1;
	if (n < 0)
		return;
	hop_val x = reduced(t, c->kind, c->x, hop_dtype_float((hop_dtype)type->dtype));
	if (b->st)
		return;
	hop_val s = hop_emit_reduce(b, reduction[c->kind].op, x, n, axes);
	if (c->kind == HOP_REDUCE_MEAN && !b->st) {
		hop_size count = hop_size_int(1);
		for (int i = 0; i < n; i++)
			count = hop_size_mul(hop_env_of(t), count, type->dim[axes[i]]);
		const hop_type *st = hop_typeof(b, s);
		hop_val k = hop_emit_cast(b, hop_emit_size(b, count), (hop_dtype)st->dtype);
		s = hop_emit_op(b, HOP_OP_div, NULL, 2, (hop_val[]){ s, hop_emit_match(b, k, st) });
	}
	c->r = rounded(t, s, 1, &c->x);
}

hop_value hop_at_reduce(hop_trace *t, const char *file, int line, enum hop_reduce r,
                        hop_value x, int naxes, const int *axes)
{
	return run(t, (unsigned)r >= NREDUCTION ? "reduce" : reduction[r].name, file, line,
	           make_reduce, (struct compose){ .kind = r, .x = x, .n = naxes, .axes = axes });
}

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

/* Reduce the last axis and repeat the result along it again. */
static hop_val along(hop_build *b, hop_val x, int64_t axis, bool max)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *type = hop_typeof(b, x);
	hop_val s = max ? hop_emit_amax(b, x, 1, &axis) : hop_emit_sum(b, x, 1, &axis);
	int64_t keep[HOP_MAXRANK];
	for (int i = 0, n = 0; i < type->rank; i++)
		if (i != axis)
			keep[n++] = i;
	return hop_emit_broadcast(b, s, type->rank, type->dim, keep);
}

/* ---- matrix products ---- */

/* Leading axes of both, broadcast against each other. */
static hop_val batched(hop_trace *t, hop_val x, int nbatch, const hop_size *batch)
{
	const hop_type *type = hop_typeof(&t->b, x);
	hop_size dim[HOP_MAXRANK];
	for (int i = 0; i < nbatch; i++)
		dim[i] = batch[i];
	dim[nbatch] = type->dim[type->rank - 2];
	dim[nbatch + 1] = type->dim[type->rank - 1];
	return hop_broadcast_to(t, x, nbatch + 2, dim);
}

/* Two matrices, or batches of them, with the same leading axes; how many these are. */
static int same_batch(hop_trace *t, hop_val *x, hop_val *y)
{
	hop_build *b = &t->b;
	const hop_type *xt = hop_typeof(b, *x), *yt = hop_typeof(b, *y);
	const hop_type *w = xt->rank > yt->rank ? xt : yt, *o = w == xt ? yt : xt;
	hop_size batch[HOP_MAXRANK];
	int n = w->rank - 2;
	for (int i = 0; i < n; i++) {
		int k = i - (w->rank - o->rank);
		batch[i] = hop_size_is(w->dim[i], 1) && k >= 0 ? o->dim[k] : w->dim[i];
	}
	*x = batched(t, *x, n, batch);
	*y = b->st ? HOP_BAD : batched(t, *y, n, batch);
	return n;
}

/* Are there as many columns on the left as rows on the right, for all that is known, and do the
 * batches in front broadcast? */
static bool products_fit(hop_trace *t, const hop_type *x, const hop_type *y, hop_size columns,
                         hop_size rows)
{
	bool fit = hop_build_holds(&t->b, HOP_EQ, columns, rows) != HOP_NEVER;
	for (int i = 3; fit && i <= x->rank && i <= y->rank; i++) {
		hop_size a = x->dim[x->rank - i], b = y->dim[y->rank - i];
		fit = hop_size_is(a, 1) || hop_size_is(b, 1) ||
		      hop_build_holds(&t->b, HOP_EQ, a, b) != HOP_NEVER;
		if (!fit)
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s: the batches in front do not broadcast",
			               t->op, hop_type_text(t, x), hop_type_text(t, y));
	}
	if (!fit && !t->b.st) {
		const char *many = x->rank > 1 ? "columns" : "elements";
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s: the left has not as many %s as the right "
		               "has %s", t->op, hop_type_text(t, x), hop_type_text(t, y), many,
		               y->rank > 1 ? "rows" : "elements");
	}
	return fit;
}

static void make_matmul(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	hop_value both[2] = { c->x, c->y };
	hop_dtype d = hop_promote_dtype(t, 2, both);
	hop_val x = hop_promote_cast(t, c->x, d), y = hop_promote_cast(t, c->y, d);
	if (b->st)
		return;
	const hop_type *xt = hop_typeof(b, x), *yt = hop_typeof(b, y);
	if (!xt->rank || !yt->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "matmul: %s and %s, a scalar is not a matrix",
		               hop_type_text(t, xt), hop_type_text(t, yt));
		return;
	}
	int64_t bx[HOP_MAXRANK], lsum = xt->rank - 1, rsum = yt->rank > 1 ? yt->rank - 2 : 0;
	if (!products_fit(t, xt, yt, xt->dim[lsum], yt->dim[rsum]))
		return;
	int nbatch = 0;
	/* a vector beside a batch takes no part in it: dot needs no batch axis then */
	if ((xt->rank > 2 || yt->rank > 2) && xt->rank > 1 && yt->rank > 1) {
		nbatch = same_batch(t, &x, &y);
		if (b->st)
			return;
		lsum = nbatch + 1;
		rsum = nbatch;
	}
	for (int i = 0; i < nbatch; i++)
		bx[i] = i;
	hop_ints bs = { nbatch, bx }, ls = { 1, &lsum }, rs = { 1, &rsum };
	c->r = hop_value_new(t, hop_emit_dot(b, x, y, bs, bs, ls, rs));
}

hop_value hop_at_matmul(hop_trace *t, const char *file, int line, hop_value x, hop_value y)
{
	return run(t, "matmul", file, line, make_matmul, (struct compose){ .x = x, .y = y });
}

/* A vector on the right is one column. */
static void make_solve(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	hop_value both[2] = { c->x, c->y };
	hop_dtype d = hop_promote_dtype(t, 2, both);
	d = hop_dtype_float(d) ? d : HOP_f32;
	hop_val x = hop_promote_cast(t, c->x, d), y = hop_promote_cast(t, c->y, d);
	if (b->st)
		return;
	const hop_type *xt = hop_typeof(b, x), *yt = hop_typeof(b, y);
	bool vector = yt->rank == 1;
	if (xt->rank < 2 || !yt->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "solve: %s and %s: a matrix on the left, and one or a vector "
		               "on the right", hop_type_text(t, xt), hop_type_text(t, yt));
		return;
	}
	if (vector)
		y = hop_emit_reshape(b, y, 2, (hop_size[]){ yt->dim[0], hop_size_int(1) });
	if (!b->st)
		same_batch(t, &x, &y);
	hop_val v = b->st ? HOP_BAD : hop_emit(b, solve, x, y);
	if (vector && !b->st)
		v = hop_emit_reshape(b, v, hop_typeof(b, v)->rank - 1, hop_typeof(b, v)->dim);
	c->r = hop_value_new(t, v);
}

hop_value hop_at_solve(hop_trace *t, const char *file, int line, hop_value a, hop_value b)
{
	return run(t, "solve", file, line, make_solve, (struct compose){ .x = a, .y = b });
}

/* ---- softmax and norms ---- */

static void make_softmax(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	hop_val x = floats(t, c->x);
	int axis = b->st ? -1 : hop_axis(t, "softmax", c->axis, hop_typeof(b, x)->rank);
	if (axis < 0)
		return;
	hop_val m = along(b, x, axis, true);
	hop_val e = b->st ? HOP_BAD : hop_emit(b, sub, x, m);
	e = b->st ? HOP_BAD : hop_emit(b, exp, e);
	hop_val s = along(b, e, axis, false);
	c->r = rounded(t, b->st ? HOP_BAD : hop_emit(b, div, e, s), 1, &c->x);
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
	hop_val x = floats(t, c->x);
	if (b->st)
		return;
	const hop_type *type = hop_typeof(b, x);
	int axis = hop_axis(t, "layer_norm", -1, type->rank);
	if (axis < 0)
		return;
	hop_dtype d = (hop_dtype)type->dtype;
	hop_val n = hop_emit_match(b, hop_emit_cast(b, hop_emit_size(b, type->dim[axis]), d), type);
	hop_val s = along(b, x, axis, false);
	hop_val mean = b->st ? HOP_BAD : hop_emit(b, div, s, n);
	hop_val dev = b->st ? HOP_BAD : hop_emit(b, sub, x, mean);
	hop_val sq = along(b, b->st ? HOP_BAD : hop_emit(b, mul, dev, dev), axis, false);
	hop_val var = b->st ? HOP_BAD : hop_emit(b, div, sq, n);
	hop_val eps = number_like(b, var, c->eps);
	hop_val sd = b->st ? HOP_BAD : hop_emit(b, sqrt, hop_emit(b, add, var, eps));
	hop_value y = hop_value_new(t, b->st ? HOP_BAD : hop_emit(b, div, dev, sd));
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
	c->r = y.trace ? rounded(t, hop_value_read(t, y), k, all) : y;
}

hop_value hop_at_layer_norm(hop_trace *t, const char *file, int line, hop_value x,
                            hop_value weight, hop_value bias, double eps)
{
	return run(t, "layer_norm", file, line, make_norm,
	           (struct compose){ .x = x, .y = weight, .z = bias, .eps = eps });
}

/* ---- gates ---- */

/* e = exp(-|x|) and what goes with it. |x| is a choice of x or -x and not the op abs,
 * whose slope at 0 is 0: a formula that takes one side everywhere has the slope it
 * should. */
struct fade {
	hop_val zero, one, x;
	hop_val below;                 /* x < 0; not so for NaN, which m and e then are */
	hop_val m;                     /* -|x| */
	hop_val e;                     /* in 0 .. 1: neither it nor its slopes overflow */
};

static struct fade fade(hop_build *b, hop_val x)
{
	struct fade f = { .zero = number_like(b, x, 0), .one = number_like(b, x, 1), .x = x };
	f.below = hop_emit(b, lt, x, f.zero);
	f.m = hop_emit(b, select, f.below, x, hop_emit(b, neg, x));
	f.e = hop_emit(b, exp, f.m);
	return f;
}

/* e/(1 + e) below 0, else 1/(1 + e). No digits cancel at either end, and none do in the
 * derivatives that are made of this: those of 1/(1 + exp(-x)) overflow below 0, and those
 * of s*(1 - s) lose everything above. */
static hop_val sigmoid(hop_build *b, const struct fade *f)
{
	hop_val top = hop_emit(b, select, f->below, f->e, f->one);
	return hop_emit(b, div, top, hop_emit(b, add, f->one, f->e));
}

static void make_sigmoid(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	struct fade f = fade(&t->b, floats(t, c->x));
	c->r = rounded(t, sigmoid(&t->b, &f), 1, &c->x);
}

hop_value hop_at_sigmoid(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "sigmoid", file, line, make_sigmoid, (struct compose){ .x = x });
}

/* log(1 + e): what rounding u = 1 + e loses is e - (u - 1), exactly, and log u + lost/u
 * has it again. Its slope is 1/u to the last digits as well. */
static hop_val log_above_1(hop_build *b, const struct fade *f)
{
	hop_val u = hop_emit(b, add, f->one, f->e);
	hop_val lost = hop_emit(b, sub, f->e, hop_emit(b, sub, u, f->one));
	return hop_emit(b, add, hop_emit(b, log, u), hop_emit(b, div, lost, u));
}

/* min(x, 0) - log(1 + e) */
static void make_log_sigmoid(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	struct fade f = fade(b, floats(t, c->x));
	hop_val low = hop_emit(b, select, f.below, f.x, f.zero);
	c->r = rounded(t, hop_emit(b, sub, low, log_above_1(b, &f)), 1, &c->x);
}

hop_value hop_at_log_sigmoid(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "log_sigmoid", file, line, make_log_sigmoid, (struct compose){ .x = x });
}

/* x sigmoid(x) = max(x, 0) - |x| e/(1 + e). Where e is 0 in every dtype -1000 stands for
 * -|x|: infinity times 0 would be NaN, here or in a derivative. */
static void make_silu(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	struct fade f = fade(b, floats(t, c->x));
	hop_val low = number_like(b, f.x, -1000);
	hop_val high = hop_emit(b, select, f.below, f.zero, f.x);
	hop_val m = hop_emit(b, select, hop_emit(b, lt, f.m, low), low, f.m);
	hop_val q = hop_emit(b, div, f.e, hop_emit(b, add, f.one, f.e));
	c->r = rounded(t, hop_emit(b, add, high, hop_emit(b, mul, m, q)), 1, &c->x);
}

hop_value hop_at_silu(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "silu", file, line, make_silu, (struct compose){ .x = x });
}

/* Not max(x, 0), which splits its slope at a tie: PyTorch's relu has slope 0 at 0. NaN is
 * not below 0, so it passes. */
static void make_relu(hop_trace *t, void *arg)
{
	struct compose *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_value_read(t, c->x), zero = number_like(b, x, 0);
	c->r = hop_value_new(t, hop_emit(b, select, hop_emit(b, le, x, zero), zero, x));
}

hop_value hop_at_relu(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "relu", file, line, make_relu, (struct compose){ .x = x });
}
