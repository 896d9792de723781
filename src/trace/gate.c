/* gate.c -- composites of one value, element by element: sigmoid and what is bent like it. No rules
 * of their own; each is written so that no digits cancel and no slope is NaN, at infinity
 * neither. */
#include "trace/compose.h"
#include "hop/nn.h"

struct gate {
	hop_value x, r;
	double    k;
	bool      by_tanh;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line,
                     hop_make_fn *make, struct gate c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.r : (hop_value){ 0, 0 };
}

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
	struct fade f = { .zero = hop_number_like(b, x, 0), .one = hop_number_like(b, x, 1), .x = x };
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
	struct gate *c = arg;
	struct fade f = fade(&t->b, hop_floats(t, c->x));
	c->r = hop_rounded(t, sigmoid(&t->b, &f), 1, &c->x);
}

hop_value hop_at_sigmoid(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "sigmoid", file, line, make_sigmoid, (struct gate){ .x = x });
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
	struct gate *c = arg;
	hop_build *b = &t->b;
	struct fade f = fade(b, hop_floats(t, c->x));
	hop_val low = hop_emit(b, select, f.below, f.x, f.zero);
	c->r = hop_rounded(t, hop_emit(b, sub, low, log_above_1(b, &f)), 1, &c->x);
}

hop_value hop_at_log_sigmoid(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "log_sigmoid", file, line, make_log_sigmoid, (struct gate){ .x = x });
}

/* x sigmoid(x) = max(x, 0) - |x| e/(1 + e). Where e is 0 in every dtype -1000 stands for
 * -|x|: infinity times 0 would be NaN, here or in a derivative. */
static void make_silu(hop_trace *t, void *arg)
{
	struct gate *c = arg;
	hop_build *b = &t->b;
	struct fade f = fade(b, hop_floats(t, c->x));
	hop_val low = hop_number_like(b, f.x, -1000);
	hop_val high = hop_emit(b, select, f.below, f.zero, f.x);
	hop_val m = hop_emit(b, select, hop_emit(b, lt, f.m, low), low, f.m);
	hop_val q = hop_emit(b, div, f.e, hop_emit(b, add, f.one, f.e));
	c->r = hop_rounded(t, hop_emit(b, add, high, hop_emit(b, mul, m, q)), 1, &c->x);
}

hop_value hop_at_silu(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "silu", file, line, make_silu, (struct gate){ .x = x });
}

/* Not max(x, 0), which splits its slope at a tie: PyTorch's relu has slope 0 at 0. NaN is
 * not below 0, so it passes. */
static void make_relu(hop_trace *t, void *arg)
{
	struct gate *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_value_read(t, c->x), zero = hop_number_like(b, x, 0);
	c->r = hop_value_new(t, hop_emit(b, select, hop_emit(b, le, x, zero), zero, x));
}

hop_value hop_at_relu(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "relu", file, line, make_relu, (struct gate){ .x = x });
}

/* max(x, 0) + log(1 + e) */
static void make_softplus(hop_trace *t, void *arg)
{
	struct gate *c = arg;
	hop_build *b = &t->b;
	struct fade f = fade(b, hop_floats(t, c->x));
	hop_val high = hop_emit(b, select, f.below, f.zero, f.x);
	c->r = hop_rounded(t, hop_emit(b, add, high, log_above_1(b, &f)), 1, &c->x);
}

hop_value hop_at_softplus(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "softplus", file, line, make_softplus, (struct gate){ .x = x });
}

static hop_val scaled(hop_build *b, hop_val x, double k)
{
	return hop_emit(b, mul, x, hop_number_like(b, x, k));
}

/* Phi(x) - 1/2, twice: erf(x / sqrt(2)), or what stands for it in the tanh form. */
static hop_val bell(hop_build *b, hop_val x, bool by_tanh)
{
	if (!by_tanh)
		return hop_emit(b, erf, scaled(b, x, 0.70710678118654752));
	hop_val cube = hop_emit(b, mul, x, hop_emit(b, mul, x, x));
	hop_val inner = hop_emit(b, add, x, scaled(b, cube, 0.044715));
	return hop_emit(b, tanh, scaled(b, inner, 0.79788456080286536));
}

/* x/2 (1 + bell(x)). From 40 on bell is 1 or -1 in every dtype: further out 40 stands for x, in
 * bell on both sides, for the factor where it meets 0. Infinity times 0 would be NaN. */
static void make_gelu(hop_trace *t, void *arg)
{
	struct gate *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_floats(t, c->x);
	hop_val far = hop_number_like(b, x, 40), back = hop_number_like(b, x, -40);
	hop_val low = hop_emit(b, select, hop_emit(b, lt, x, back), back, x);
	hop_val mid = hop_emit(b, select, hop_emit(b, lt, far, low), far, low);
	hop_val up = hop_emit(b, add, hop_number_like(b, x, 1), bell(b, mid, c->by_tanh));
	c->r = hop_rounded(t, hop_emit(b, mul, scaled(b, low, 0.5), up), 1, &c->x);
}

hop_value hop_at_gelu(hop_trace *t, const char *file, int line, hop_value x, bool by_tanh)
{
	return run(t, by_tanh ? "gelu_tanh" : "gelu", file, line, make_gelu,
	           (struct gate){ .x = x, .by_tanh = by_tanh });
}

/* x above 0, else k x: at 0 the slope is k, as PyTorch has it. */
static void make_leaky_relu(hop_trace *t, void *arg)
{
	struct gate *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_floats(t, c->x);
	hop_val above = hop_emit(b, lt, hop_number_like(b, x, 0), x);
	c->r = hop_rounded(t, hop_emit(b, select, above, x, scaled(b, x, c->k)), 1, &c->x);
}

hop_value hop_at_leaky_relu(hop_trace *t, const char *file, int line, hop_value x, double slope)
{
	return run(t, "leaky_relu", file, line, make_leaky_relu, (struct gate){ .x = x, .k = slope });
}

/* x above 0, else k (exp(x) - 1), computed of nothing above 0, where it overflows. */
static void make_elu(hop_trace *t, void *arg)
{
	struct gate *c = arg;
	hop_build *b = &t->b;
	hop_val x = hop_floats(t, c->x), zero = hop_number_like(b, x, 0);
	hop_val above = hop_emit(b, lt, zero, x), low = hop_emit(b, select, above, zero, x);
	hop_val bent = scaled(b, hop_emit(b, expm1, low), c->k);
	c->r = hop_rounded(t, hop_emit(b, select, above, x, bent), 1, &c->x);
}

hop_value hop_at_elu(hop_trace *t, const char *file, int line, hop_value x, double alpha)
{
	return run(t, "elu", file, line, make_elu, (struct gate){ .x = x, .k = alpha });
}
