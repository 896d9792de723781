/* composites_test.c -- what PyTorch's data does not ask of the composites: no elements, integers and
 * bools, ties, views, numbers, sizes that do not fit, the distribution of normal random numbers,
 * and the reverse derivative inside a body. Expected numbers are worked out in plain C. */
#include "trace_rig.h"

typedef hop_value form(hop_trace *t, const hop_value *in);

static void plain(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, (*(form **)user)(t, in));
}

/* The form of one array is n numbers, of dtype d, captured and eagerly. */
static void is(form *f, hop_array *x, hop_dtype d, int64_t n, const double *want)
{
	hop_array *out[2];
	hop_spec s = spec_of(x);
	hop_fn *fn;
	if (hop_capture(ctx, plain, &f, 1, &s, &fn) || hop_call(fn, 1, &x, 1, &out[0]) ||
	    hop_eager_call(ctx, plain, &f, 1, &x, 1, &out[1]))
		fail_msg("%s", hop_message(ctx));
	for (int k = 0; k < 2; k++) {
		assert_int_equal(hop_array_dtype(out[k]), d);
		assert_int_equal(hop_array_count(out[k]), n);
		for (int64_t i = 0; i < n; i++) {
			double got = hop_array_at(out[k], i);
			if (got != want[i] && !(isnan(got) && isnan(want[i])))
				fail_msg("element %d is %.17g, not %.17g", (int)i, got, want[i]);
		}
		hop_array_release(out[k]);
	}
	hop_fn_release(fn);
	hop_array_release(x);
}

#define FORM(name, ...) \
	static hop_value name(hop_trace *t, const hop_value *in) { (void)in; return __VA_ARGS__; }
#define W(...) (const double[]){ __VA_ARGS__ }

/* ---- no elements ---- */

static hop_value first_of(hop_trace *t, hop_value x, int axis, int64_t k, int which)
{
	hop_value out[2];
	hop_topk(t, x, axis, k, out);
	return out[which];
}

static hop_value part(hop_trace *t, hop_value x, int n, const hop_dim *sizes, int which)
{
	hop_value out[4];
	hop_split_axis(t, x, 0, n, sizes, out);
	return out[which];
}

FORM(sum0, hop_cumsum(t, in[0], 0))
FORM(sum1, hop_cumsum(t, in[0], 1))
FORM(sum1_ex, hop_cum(t, HOP_CUM_SUM, in[0], 1, HOP_CUM_EXCLUSIVE))
FORM(prod0, hop_cumprod(t, in[0], 0))
FORM(max0, hop_cummax(t, in[0], 0))
FORM(min0, hop_cummin(t, in[0], 0))
FORM(max_ex, hop_cum(t, HOP_CUM_MAX, in[0], 0, HOP_CUM_EXCLUSIVE))
FORM(lse0, hop_logcumsumexp(t, in[0], 0))
FORM(lse, hop_logsumexp(t, in[0], 0))
FORM(soft0, hop_log_softmax(t, in[0], 0))
FORM(norm0, hop_norm(t, in[0], 0, NULL))
FORM(var0, hop_variance(t, in[0], 0, NULL, 0))
FORM(top0, first_of(t, in[0], 0, 2, 0))
FORM(top0_at, first_of(t, in[0], 0, 2, 1))
FORM(top1, first_of(t, in[0], 1, 1, 0))
FORM(third0, part(t, in[0], 3, NULL, 2))
FORM(stack2, hop_stack_n(t, 2, (hop_value[]){ in[0], in[0] }, 0))
FORM(each_loss, hop_cross_entropy(t, in[0], hop_cast(t, hop_sum(t, in[0], 1, (int[]){ 1 }), HOP_i64),
                                  1, HOP_LOSS_EACH))
FORM(square, hop_mse(t, in[0], in[0], HOP_LOSS_SUM))
FORM(line0, hop_linspace(t, HOP_f64, 1, 5, hop_n(0)))
FORM(line1, hop_linspace(t, HOP_f64, 1, 5, hop_n(1)))
FORM(line2, hop_linspace(t, HOP_f32, 1, 5, hop_n(2)))
FORM(line5, hop_linspace(t, HOP_bf16, 1, 5, hop_n(5)))
FORM(range0, hop_arange(t, HOP_i32, hop_n(0)))
FORM(range3, hop_arange(t, HOP_i32, hop_n(3)))
FORM(eye03, hop_eye(t, HOP_bool, hop_n(0), hop_n(3)))
FORM(eye23, hop_eye(t, HOP_i64, hop_n(2), hop_n(3)))

static hop_array *empty(hop_dtype d, int64_t n, int64_t m)
{
	return array(d, 2, (int64_t[]){ n, m }, NULL);
}

static void no_elements(void **state)
{
	(void)state;
	is(sum0, vec(0, NULL), HOP_f64, 0, NULL);
	is(sum0, empty(HOP_f32, 0, 3), HOP_f32, 0, NULL);
	is(sum1, empty(HOP_f32, 0, 3), HOP_f32, 0, NULL);
	is(sum1, empty(HOP_f16, 3, 0), HOP_f16, 0, NULL);
	is(sum1_ex, empty(HOP_f64, 3, 0), HOP_f64, 0, NULL);
	is(prod0, empty(HOP_i32, 3, 0), HOP_i64, 0, NULL);
	is(max0, vec(0, NULL), HOP_f64, 0, NULL);
	is(lse0, vec(0, NULL), HOP_f64, 0, NULL);
	is(lse, vec(0, NULL), HOP_f64, 1, W(-INFINITY));
	is(lse, empty(HOP_f64, 0, 2), HOP_f64, 2, W(-INFINITY, -INFINITY));
	is(soft0, vec(0, NULL), HOP_f64, 0, NULL);
	is(norm0, vec(0, NULL), HOP_f64, 1, W(0));
	is(var0, vec(0, NULL), HOP_f64, 1, W(NAN));
	is(var0, vec(1, W(7)), HOP_f64, 1, W(0));
	is(top0, empty(HOP_f64, 2, 0), HOP_f64, 0, NULL);
	is(top1, empty(HOP_f64, 0, 3), HOP_f64, 0, NULL);
	is(third0, vec(0, NULL), HOP_f64, 0, NULL);
	is(stack2, vec(0, NULL), HOP_f64, 0, NULL);
	is(each_loss, empty(HOP_f64, 0, 3), HOP_f64, 0, NULL);
	is(square, vec(0, NULL), HOP_f64, 1, W(0));
	is(line0, num(0), HOP_f64, 0, NULL);
	is(range0, num(0), HOP_i32, 0, NULL);
	is(eye03, num(0), HOP_bool, 0, NULL);
}

static void few_elements(void **state)
{
	(void)state;
	is(sum0, vec(1, W(3)), HOP_f64, 1, W(3));
	is(lse0, vec(1, W(3)), HOP_f64, 1, W(3));
	is(sum1, array(HOP_f64, 2, (int64_t[]){ 1, 3 }, W(1, 2, 4)), HOP_f64, 3, W(1, 3, 7));
	is(sum0, array(HOP_f64, 2, (int64_t[]){ 1, 3 }, W(1, 2, 4)), HOP_f64, 3, W(1, 2, 4));
	is(top1, array(HOP_f64, 2, (int64_t[]){ 3, 1 }, W(1, 2, 4)), HOP_f64, 3, W(1, 2, 4));
	is(line1, num(0), HOP_f64, 1, W(1));
	is(line2, num(0), HOP_f32, 2, W(1, 5));
	is(line5, num(0), HOP_bf16, 5, W(1, 2, 3, 4, 5));
	is(range3, num(0), HOP_i32, 3, W(0, 1, 2));
	is(eye23, num(0), HOP_i64, 6, W(1, 0, 0, 0, 1, 0));
}

/* ---- integers, bools, ties ---- */

FORM(bound_whole, hop_clamp(t, in[0], hop_i(t, -1), hop_i(t, 2)))
FORM(bound_float, hop_clampf(t, in[0], -0.5, 2.5))
FORM(bound_both, hop_clampf(t, in[0], 3, 1))
FORM(mixed, hop_stack_n(t, 2, (hop_value[]){ in[0], hop_full(t, HOP_f64, 1, (hop_dim[]){ hop_n(4) },
                                                             0.5) }, 1))
FORM(hot, hop_one_hot(t, HOP_i32, in[0], hop_n(3)))
FORM(select_numbers, hop_add(t, hop_cast(t, in[0], HOP_f32),
                             hop_where(t, hop_i(t, 1), hop_f(t, 0.5), hop_f(t, 2))))
FORM(leaky, hop_leaky_relu(t, in[0], 0.5))

static hop_array *whole(int64_t n, const int32_t *v)
{
	return array(HOP_i32, 1, &n, v);
}

static hop_array *truths(int64_t n, const char *v)
{
	return array(HOP_bool, 1, &n, v);
}

static void integers_and_bools(void **state)
{
	const int32_t v[4] = { 3, -5, 3, INT32_MAX }, low[3] = { INT32_MIN, INT32_MIN, INT32_MIN };
	const char b[4] = { 0, 1, 1, 0 };
	(void)state;
	is(sum0, whole(4, v), HOP_i64, 4, W(3, -2, 1, 2147483648.0));
	is(prod0, whole(3, v), HOP_i64, 3, W(3, -15, -45));
	is(sum0, truths(4, b), HOP_i64, 4, W(0, 1, 2, 2));
	is(max0, whole(4, v), HOP_i32, 4, W(3, 3, 3, INT32_MAX));
	is(min0, whole(4, v), HOP_i32, 4, W(3, -5, -5, -5));
	is(max_ex, whole(4, v), HOP_i32, 4, W(INT32_MIN, 3, 3, 3));
	is(max0, truths(4, b), HOP_bool, 4, W(0, 1, 1, 1));
	is(max_ex, truths(4, b), HOP_bool, 4, W(0, 0, 1, 1));
	is(lse0, whole(1, v), HOP_f32, 1, W(3));
	is(top0, whole(4, v), HOP_i32, 2, W(INT32_MAX, 3));
	is(top0_at, whole(4, v), HOP_i64, 2, W(3, 0));
	is(top0_at, whole(3, low), HOP_i64, 2, W(0, 1));
	is(top0_at, truths(4, b), HOP_i64, 2, W(1, 2));
	is(top0_at, truths(3, "\0\0\0"), HOP_i64, 2, W(0, 1));
	is(top0_at, vec(4, W(-INFINITY, -INFINITY, -INFINITY, -INFINITY)), HOP_i64, 2, W(0, 1));
	is(top0_at, vec(4, W(NAN, 1, INFINITY, NAN)), HOP_i64, 2, W(0, 3));
	is(top0_at, vec(3, W(NAN, 1, INFINITY)), HOP_i64, 2, W(0, 2));
	is(bound_whole, whole(4, v), HOP_i32, 4, W(2, -1, 2, 2));
	is(bound_float, whole(2, v), HOP_f32, 2, W(2.5, -0.5));
	is(bound_both, vec(2, W(0, 9)), HOP_f64, 2, W(1, 1));
	is(mixed, whole(4, v), HOP_f64, 8, W(3, 0.5, -5, 0.5, 3, 0.5, 2147483647.0, 0.5));
	is(hot, whole(4, v), HOP_i32, 12, W(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
	is(hot, whole(2, (int32_t[]){ 2, 0 }), HOP_i32, 6, W(0, 0, 1, 1, 0, 0));
	is(leaky, whole(2, v), HOP_f32, 2, W(3, -2.5));
	is(select_numbers, whole(1, v), HOP_f32, 1, W(3.5));
}

/* ---- numbers and scalars ---- */

FORM(strong, hop_mul(t, hop_scalar(t, HOP_f64, 1e300), hop_cast(t, in[0], HOP_f32)))
FORM(weak, hop_mul(t, hop_stop_gradient(t, hop_f(t, 1e300)), in[0]))

static void halve(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], hop_scalar(t, HOP_f64, 0.5)));
}

static void above(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_gt(t, in[0], hop_f(t, 1)));
}

static hop_value halved(hop_trace *t, const hop_value *in)
{
	hop_value x = hop_scalar(t, HOP_f64, 12);
	hop_while(t, above, halve, NULL, 1, &x, NULL, &x, NULL);
	return hop_add(t, x, in[0]);
}

static void scalars(void **state)
{
	(void)state;
	is(strong, num(1), HOP_f64, 1, W(1e300));
	is(weak, num(1), HOP_f64, 1, W(1e300));
	is(halved, num(0), HOP_f64, 1, W(0.75));
}

/* ---- parts are views ---- */

static hop_value written(hop_trace *t, const hop_value *in)
{
	hop_value x = hop_clone(t, in[0]), out[3];
	const hop_dim sizes[3] = { hop_n(2), hop_n(0), hop_n(1) };
	hop_split_axis(t, x, -1, 3, sizes, out);
	hop_add_(t, out[0], hop_f(t, 10));
	hop_mul_(t, out[2], hop_f(t, 2));
	return x;
}

static void parts_are_views(void **state)
{
	(void)state;
	is(written, vec(3, W(1, 2, 3)), HOP_f64, 3, W(11, 12, 6));
}

/* ---- sizes that are seen only when it runs ---- */

FORM(halves, part(t, in[0], 2, NULL, 1))
FORM(three_of, first_of(t, in[0], 0, 3, 0))
FORM(product, hop_matmul(t, in[0], hop_full(t, HOP_f64, 1, (hop_dim[]){ hop_n(4) }, 1)))

static void refused(form *f, hop_array *x, const char *want)
{
	hop_spec s = hop_spec_sym(spec_of(x), 0, "n", 0, 0);
	hop_array *out;
	hop_fn *fn;
	if (hop_capture(ctx, plain, &f, 1, &s, &fn))
		fail_msg("%s", hop_message(ctx));
	for (int native = 0; native < 2; native++) {
		assert_int_equal(hop_call_with(fn, 1, &x, 1, &out, HOP_RUN_OPTS(.interpret = !native)),
		                 HOP_ESHAPE);
		if (!strstr(hop_message(ctx), want))
			fail_msg("%s\nwanted %s", hop_message(ctx), want);
	}
	hop_fn_release(fn);
	hop_array_release(x);
}

static void sizes_at_run_time(void **state)
{
	(void)state;
	refused(halves, vec(3, W(1, 2, 3)), "split_axis: the parts have 2 elements, the axis 3");
	refused(three_of, vec(2, W(1, 2)), "topk: k is 3, the axis has 2");
	refused(product, vec(3, W(1, 2, 3)), "matmul: ");
}

/* ---- normal random numbers ---- */

enum { MANY = 400000 };

static hop_value normals(hop_trace *t, hop_value key, hop_dtype d, int64_t n)
{
	return hop_normal(t, key, d, 1, (hop_dim[]){ hop_n(n) });
}

FORM(many_f32, normals(t, in[0], HOP_f32, MANY))
FORM(many_f64, normals(t, in[0], HOP_f64, MANY))
FORM(some_f64, normals(t, in[0], HOP_f64, 101))
FORM(some_f32, normals(t, in[0], HOP_f32, 101))
FORM(some_f16, normals(t, in[0], HOP_f16, 101))
FORM(rounded_f32, hop_cast(t, normals(t, in[0], HOP_f32, 101), HOP_f16))

static hop_array *called(form *f, hop_array *key, bool native)
{
	hop_spec s = spec_of(key);
	hop_array *out;
	hop_fn *fn;
	if (hop_capture(ctx, plain, &f, 1, &s, &fn) ||
	    hop_call_with(fn, 1, &key, 1, &out, HOP_RUN_OPTS(.interpret = !native)))
		fail_msg("%s", hop_message(ctx));
	hop_fn_release(fn);
	hop_array_release(key);
	return out;
}

static void near(const char *what, double got, double want, double sigma)
{
	if (!(fabs(got - want) <= 5 * sigma))
		fail_msg("%s is %g, expected %g within %g", what, got, want, 5 * sigma);
}

/* Moments, the distribution function at many points, far tails, and neighbours and halves that know
 * nothing of each other: each within five of its standard deviations. */
static void distribution_of(form *f, int64_t key)
{
	hop_array *a = called(f, num_i(key), true);
	double m[5] = { 0 }, next = 0, half = 0, n = MANY, most = 0;
	int below[61] = { 0 };
	for (int i = 0; i < MANY; i++) {
		double x = hop_array_at(a, i), p = 1;
		assert_true(isfinite(x));
		most = fmax(most, fabs(x));
		for (int k = 1; k < 5; k++)
			m[k] += p *= x;
		for (int k = 0; k < 61; k++)
			below[k] += x < (k - 30) / 7.0;
		next += i ? x * hop_array_at(a, i - 1) : 0;
		half += i < MANY / 2 ? x * hop_array_at(a, i + MANY / 2) : 0;
	}
	near("the mean", m[1] / n, 0, 1 / sqrt(n));
	near("the second moment", m[2] / n, 1, sqrt(2 / n));
	near("the third moment", m[3] / n, 0, sqrt(15 / n));
	near("the fourth moment", m[4] / n, 3, sqrt(96 / n));
	near("the product of neighbours", next / n, 0, 1 / sqrt(n));
	near("the product of the halves", half / (n / 2), 0, sqrt(2 / n));
	for (int k = 0; k < 61; k++) {
		double p = 0.5 * erfc(-(k - 30) / 7.0 / sqrt(2));
		near("the share below a number", below[k] / n, p, sqrt(p * (1 - p) / n) + 1e-9);
	}
	assert_true(most > 4 && most < 6.5);           /* both as good as impossible of 400000 */
	hop_array_release(a);
}

static void distribution(void **state)
{
	(void)state;
	for (int64_t key = 1; key <= 3; key++) {
		distribution_of(many_f32, key);
		distribution_of(many_f64, key);
	}
}

static void bits_equal(hop_array *a, hop_array *b)
{
	assert_int_equal(hop_array_count(a), hop_array_count(b));
	for (int64_t i = 0; i < hop_array_count(a); i++)
		assert_true(hop_array_at(a, i) == hop_array_at(b, i));
	hop_array_release(a);
	hop_array_release(b);
}

/* The same numbers every time, and those of f16 are those of f32. */
static void reproducible(void **state)
{
	(void)state;
	bits_equal(called(some_f64, num_i(9), true), called(some_f64, num_i(9), true));
	bits_equal(called(some_f32, num_i(9), false), called(some_f32, num_i(9), false));
	bits_equal(called(some_f16, num_i(9), true), called(rounded_f32, num_i(9), true));
	hop_array *a = called(some_f64, num_i(9), true), *b = called(some_f64, num_i(9), false);
	for (int i = 0; i < 101; i++)
		assert_true(fabs(hop_array_at(a, i) - hop_array_at(b, i)) < 1e-14);
	hop_array_release(a);
	hop_array_release(b);
}

/* Lanes with keys of their own are what each key gives alone; lanes of one key are alike. */
static void keys_of_lanes(void **state)
{
	form *f = some_f64;
	hop_spec s = hop_spec0(HOP_i64);
	hop_array *out, *keys = array(HOP_i64, 1, (int64_t[]){ 3 }, (int64_t[]){ 5, 6, 5 });
	hop_fn *fn, *g;
	(void)state;
	assert_int_equal(hop_capture(ctx, plain, &f, 1, &s, &fn), HOP_OK);
	assert_int_equal(hop_vmap(fn, (bool[]){ true }, 3, &g), HOP_OK);
	assert_int_equal(hop_call(g, 1, &keys, 1, &out), HOP_OK);
	for (int b = 0; b < 3; b++) {
		hop_array *one = called(some_f64, num_i(b == 1 ? 6 : 5), true);
		for (int i = 0; i < 101; i++)
			assert_true(hop_array_at(out, b * 101 + i) == hop_array_at(one, i));
		hop_array_release(one);
	}
	hop_array_release(out);
	hop_array_release(keys);
	hop_fn_release(fn);
	hop_fn_release(g);
}

/* x <- x + tanh(x) z(key, step): the reverse derivative draws the numbers again when it keeps each
 * second carry only, and they are the same. */
static void noisy(hop_trace *t, const hop_value *in, void *user)
{
	hop_value key = hop_fold_in(t, *(hop_value *)user, in[1]);
	hop_value z = hop_normal(t, key, HOP_f64, 0, NULL);
	hop_return(t, hop_add(t, in[0], hop_mul(t, hop_tanh(t, in[0]), z)));
}

static int keeps;

static hop_value walk(hop_trace *t, const hop_value *in)
{
	hop_scan_opts o = { .size = sizeof o, .every = keeps };
	hop_value key = hop_i(t, 4), steps = hop_arange(t, HOP_i64, hop_n(9)), y;
	key = hop_cast(t, key, HOP_i64);
	hop_scan(t, noisy, &key, 1, in, 1, &steps, &o, 1, &y, NULL);
	return y;
}

static void drawn_again(void **state)
{
	form *f = walk;
	hop_spec s = hop_spec0(HOP_f64);
	double slope[2], at[3];
	(void)state;
	for (keeps = 0; keeps < 3; keeps += 2) {
		hop_fn *fn, *g;
		assert_int_equal(hop_capture(ctx, plain, &f, 1, &s, &fn), HOP_OK);
		assert_int_equal(hop_grad(fn, 1, (int[]){ 0 }, &g), HOP_OK);
		for (int k = 0; k < 3; k++) {
			hop_array *x = num(0.7 + (k - 1) * 1e-6), *y[2];
			assert_int_equal(hop_call(g, 1, &x, 2, y), HOP_OK);
			at[k] = hop_array_at(y[0], 0);
			if (k == 1)
				slope[keeps / 2] = hop_array_at(y[1], 0);
			hop_array_release(y[0]);
			hop_array_release(y[1]);
			hop_array_release(x);
		}
		assert_true(fabs((at[2] - at[0]) / 2e-6 - slope[keeps / 2]) < 1e-7);
		hop_fn_release(fn);
		hop_fn_release(g);
	}
	assert_true(fabs(slope[0] - slope[1]) < 1e-12);
}

/* ---- the reverse derivative inside a body ---- */

static void two_results(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[1]), hop_cast(t, in[0], HOP_i64), hop_sin(t, in[1]));
}

static void f_vjp(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[5];
	(void)user;
	assert_int_equal(hop_vjp_at(t, two_results, NULL, 2, in, 2, (int[]){ 1, 0 }, 2, in + 2, 5, out),
	                 5);
	hop_return_n(t, 5, out);
}

static void vjp_inside(void **state)
{
	const double x[2] = { 2.5, -1 }, y[2] = { 0.5, 3 }, w[2] = { 2, 3 }, v[2] = { 5, 7 };
	double prod[2], bent[2], dx[2], dy[2];
	(void)state;
	for (int i = 0; i < 2; i++) {
		prod[i] = x[i] * y[i];
		bent[i] = sin(y[i]);
		dx[i] = w[i] * y[i];
		dy[i] = w[i] * x[i] + v[i] * cos(y[i]);
	}
	rig_run(&(struct rig){ .f = f_vjp, .nin = 4, .in = { vec(2, x), vec(2, y), vec(2, w), vec(2, v) },
	        .nout = 5, .want = { prod, W(2, -1), bent, dy, dx }, .n = { 2, 2, 2, 2, 2 } });
}

/* Newton's method on x*x - c with the slope from a vjp, in a scan; differentiated by c. */
static void residual(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_sub(t, hop_mul(t, in[0], in[0]), *(hop_value *)user));
}

static void newton_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], one = hop_full_like(t, in[0], 1);
	hop_vjp_at(t, residual, user, 1, in, 1, (int[]){ 0 }, 1, &one, 2, out);
	hop_return(t, hop_sub(t, in[0], hop_div(t, out[0], out[1])));
}

static void newton(hop_trace *t, const hop_value *in, void *user)
{
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(8) };
	hop_value c = in[0], x = hop_full_like(t, in[0], 1.5);
	(void)user;
	hop_scan(t, newton_step, &c, 1, &x, 0, NULL, &o, 1, &x, NULL);
	hop_return(t, x);
}

static void vjp_in_scan(void **state)
{
	hop_spec s = hop_spec_sym(hop_spec1(HOP_f64, 3), 0, "n", 1, 0);
	const double c[3] = { 2, 3, 5 };
	hop_array *in[2] = { vec(3, c), vec(3, W(1, 1, 1)) }, *y[2];
	hop_fn *f, *g;
	(void)state;
	assert_int_equal(hop_capture(ctx, newton, NULL, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_vjp(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(hop_call(g, 2, in, 2, y), HOP_OK);
	for (int i = 0; i < 3; i++) {
		assert_true(fabs(hop_array_at(y[0], i) - sqrt(c[i])) < 1e-12);
		assert_true(fabs(hop_array_at(y[1], i) - 0.5 / sqrt(c[i])) < 1e-10);
	}
	for (int i = 0; i < 2; i++) {
		hop_array_release(in[i]);
		hop_array_release(y[i]);
	}
	hop_fn_release(f);
	hop_fn_release(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_elements), cmocka_unit_test(few_elements),
		cmocka_unit_test(integers_and_bools), cmocka_unit_test(scalars),
		cmocka_unit_test(parts_are_views), cmocka_unit_test(sizes_at_run_time),
		cmocka_unit_test(distribution), cmocka_unit_test(reproducible),
		cmocka_unit_test(keys_of_lanes), cmocka_unit_test(drawn_again),
		cmocka_unit_test(vjp_inside), cmocka_unit_test(vjp_in_scan),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
