/* loss.c -- composites of sums of exponentials: log_softmax, logsumexp; and losses, of squares too.
 * Exponents are never above 0, and the largest element, which they are measured from, is a
 * constant to derivatives: it cancels in them. Nothing here is a rule of an op. */
#include "trace/compose.h"
#include "hop/nn.h"

struct loss {
	hop_value     x, y, r;
	int           axis;
	enum hop_loss kind;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line,
                     hop_make_fn *make, struct loss c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.r : (hop_value){ 0, 0 };
}

/* x less the largest along the axis. */
static hop_val shifted(hop_build *b, hop_val x, int64_t axis)
{
	hop_val m = hop_along(b, x, axis, HOP_OP_amax);
	return hop_emit(b, sub, x, hop_emit(b, stop_gradient, m));
}

/* x as a float and its axis counted from 0; -1 after a failure. */
static int operand(hop_trace *t, const struct loss *c, hop_val *out_x)
{
	*out_x = hop_floats(t, c->x);
	return t->b.st ? -1 : hop_axis(t, t->op, c->axis, hop_typeof(&t->b, *out_x)->rank);
}

static void make_log_softmax(hop_trace *t, void *arg)
{
	struct loss *c = arg;
	hop_build *b = &t->b;
	hop_val x;
	int axis = operand(t, c, &x);
	if (axis < 0)
		return;
	hop_val z = shifted(b, x, axis);
	hop_val s = hop_along(b, hop_emit(b, exp, z), axis, HOP_OP_sum);
	c->r = hop_rounded(t, hop_emit(b, sub, z, hop_emit(b, log, s)), 1, &c->x);
}

hop_value hop_at_log_softmax(hop_trace *t, const char *file, int line, hop_value x, int axis)
{
	return run(t, "log_softmax", file, line, make_log_softmax,
	           (struct loss){ .x = x, .axis = axis });
}

/* An infinite largest element is not subtracted: infinity less infinity would be NaN. Where the sum
 * is 0, of nothing or of minus infinities alone, so is the slope. */
static void make_logsumexp(hop_trace *t, void *arg)
{
	struct loss *c = arg;
	hop_build *b = &t->b;
	hop_val x;
	int64_t axis = operand(t, c, &x);
	if (axis < 0)
		return;
	const hop_type *type = hop_typeof(b, x);
	hop_val m = hop_emit(b, stop_gradient, hop_emit_amax(b, x, 1, &axis));
	if (b->st)
		return;
	hop_val zero = hop_number_like(b, m, 0), inf = hop_number_like(b, m, __builtin_inf());
	m = hop_emit(b, select, hop_emit(b, eq, hop_emit(b, abs, m), inf), zero, m);
	hop_val z = hop_emit(b, sub, x, hop_widened(b, m, type, 1, &axis));
	hop_val s = hop_emit_sum(b, hop_emit(b, exp, z), 1, &axis);
	hop_val none = hop_emit(b, eq, s, zero);
	hop_val some = hop_emit(b, select, none, hop_number_like(b, m, 1), s);
	hop_val v = hop_emit(b, add, m, hop_emit(b, log, some));
	v = hop_emit(b, select, none, hop_emit(b, neg, inf), v);
	c->r = hop_rounded(t, v, 1, &c->x);
}

hop_value hop_at_logsumexp(hop_trace *t, const char *file, int line, hop_value x, int axis)
{
	return run(t, "logsumexp", file, line, make_logsumexp,
	           (struct loss){ .x = x, .axis = axis });
}

/* ---- losses ---- */

/* All of them, their sum, or their mean. */
static hop_val gathered(hop_trace *t, hop_val v, enum hop_loss kind)
{
	hop_build *b = &t->b;
	if (b->st || kind == HOP_LOSS_EACH)
		return v;
	const hop_type *type = hop_typeof(b, v);
	int64_t all[HOP_MAXRANK];
	for (int i = 0; i < type->rank; i++)
		all[i] = i;
	hop_val s = hop_emit_sum(b, v, type->rank, all);
	if (kind == HOP_LOSS_SUM)
		return s;
	return hop_emit(b, div, s, hop_counted(t, type, type->rank, all, (hop_dtype)type->dtype));
}

static bool kind_ok(hop_trace *t, enum hop_loss kind)
{
	if ((unsigned)kind <= HOP_LOSS_EACH)
		return true;
	hop_trace_fail(t, HOP_EVALUE, "%s: there is no reduction %d of losses", t->op, (int)kind);
	return false;
}

/* Has y the sizes of x without the axis, for all that is known? */
static bool targets_fit(hop_trace *t, const hop_type *x, int axis, const hop_type *y)
{
	bool fit = y->rank == x->rank - 1;
	for (int i = 0; fit && i < y->rank; i++)
		fit = hop_build_holds(&t->b, HOP_EQ, x->dim[i + (i >= axis)], y->dim[i]) != HOP_NEVER;
	if (!fit)
		hop_trace_fail(t, HOP_ESHAPE, "%s: the classes are on axis %d of %s, the targets are %s: they "
		               "have the same sizes without that axis", t->op, axis, hop_type_text(t, x),
		               hop_type_text(t, y));
	return fit;
}

/* log sum exp z - z[target], z measured from the largest. */
static void make_cross_entropy(hop_trace *t, void *arg)
{
	struct loss *c = arg;
	hop_build *b = &t->b;
	hop_val x;
	int64_t axis = operand(t, c, &x), to[HOP_MAXRANK];
	hop_val y = axis < 0 ? HOP_BAD : hop_promote_whole(t, c->y, "the target");
	if (hop_is_bad(y) || !kind_ok(t, c->kind))
		return;
	const hop_type *type = hop_typeof(b, x);
	int last = type->rank - 1;
	if (!targets_fit(t, type, (int)axis, hop_typeof(b, y)))
		return;
	hop_val z = shifted(b, x, axis);
	hop_val s = hop_emit_sum(b, hop_emit(b, exp, z), 1, &axis);
	for (int i = 0; i < type->rank; i++)
		to[i] = i == last ? axis : i + (i >= axis);
	hop_val at = hop_emit_gather(b, hop_emit_permute(b, z, to), y, last, last);
	hop_val v = hop_emit(b, sub, hop_emit(b, log, s), at);
	c->r = hop_rounded(t, gathered(t, v, c->kind), 1, &c->x);
}

hop_value hop_at_cross_entropy(hop_trace *t, const char *file, int line, hop_value x,
                               hop_value target, int axis, enum hop_loss kind)
{
	return run(t, "cross_entropy", file, line, make_cross_entropy,
	           (struct loss){ .x = x, .y = target, .axis = axis, .kind = kind });
}

static void make_mse(hop_trace *t, void *arg)
{
	struct loss *c = arg;
	hop_build *b = &t->b;
	hop_value both[2] = { c->x, c->y };
	hop_dtype d = hop_promote_dtype(t, 2, both);
	hop_val v[2];
	d = hop_dtype_float(d) ? hop_dtype_computes(d) : HOP_f32;
	if (!kind_ok(t, c->kind) || !hop_promote(t, 2, both, d, v))
		return;
	hop_val e = hop_emit(b, sub, v[0], v[1]);
	c->r = hop_rounded(t, gathered(t, hop_emit(b, mul, e, e), c->kind), 2, both);
}

hop_value hop_at_mse(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                     enum hop_loss kind)
{
	return run(t, "mse", file, line, make_mse, (struct loss){ .x = x, .y = y, .kind = kind });
}
