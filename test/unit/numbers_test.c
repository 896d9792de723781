/* numbers_test.c -- how near results are to the numbers they stand for: gates and their
 * derivatives at both ends of the line, ties of relu, and numbers that meet alone. What
 * PyTorch says is in test/data/numbers.h. */
#include "data/numbers.h"
#include "numbers_rig.h"

/* ---- gates: values and two derivatives, in every direction ---- */

/* order 0 is the value. *scale: the size of the terms it is the sum of. */
typedef long double gate_fn(hop_dtype d, int order, long double x, long double *scale);
struct gate {
	const char *name;
	hop_value (*f)(hop_trace *t, hop_value x);
	gate_fn    *want;
	double      allowed[3];
};

/* The slope of the sigmoid: e/(1 + e)^2. */
static long double bell(long double x)
{
	long double e = expl(-fabsl(x));
	return e / ((1 + e) * (1 + e));
}

static long double rise(long double x)
{
	long double e = expl(-fabsl(x));
	return (x < 0 ? e : 1) / (1 + e);
}

static long double want_sigmoid(hop_dtype d, int order, long double x, long double *scale)
{
	(void)d;
	*scale = order ? bell(x) : rise(x);
	return order < 2 ? *scale : -bell(x) * tanhl(x / 2);
}

static long double want_log_sigmoid(hop_dtype d, int order, long double x,
                                    long double *scale)
{
	(void)d;
	long double v = order == 0 ? fminl(x, 0) - log1pl(expl(-fabsl(x))) :
	                order == 1 ? rise(-x) : -bell(x);
	if (isnan(x))
		v = x;
	*scale = v;
	return v;
}

/* x times a sigmoid that is below the normal numbers has no more digits than that. */
static long double want_silu(hop_dtype d, int order, long double x, long double *scale)
{
	long double least = fabsl(x) * (d == HOP_f32 ? FLT_MIN : DBL_MIN);
	long double s = rise(x), b = bell(x), c = -b * tanhl(x / 2);
	if (isinf(x)) {
		*scale = 1;
		return order == 0 ? fmaxl(x, 0) : order == 1 ? x > 0 : 0;
	}
	*scale = order == 0 ? x * s : order == 1 ? s + fabsl(x) * b : 2 * b + fabsl(x) * b;
	*scale = fmaxl(fabsl(*scale), least);
	return order == 0 ? x * s : order == 1 ? s + x * b : 2 * b + x * c;
}

static long double want_relu(hop_dtype d, int order, long double x, long double *scale)
{
	(void)d;
	*scale = 0;
	return order == 0 ? (x <= 0 ? 0 : x) : order == 1 ? (x <= 0 ? 0 : 1) : 0;
}

static hop_value f_sigmoid(hop_trace *t, hop_value x) { return hop_sigmoid(t, x); }
static hop_value f_silu(hop_trace *t, hop_value x) { return hop_silu(t, x); }
static hop_value f_fall(hop_trace *t, hop_value x) { return hop_log_sigmoid(t, x); }
static hop_value f_relu(hop_trace *t, hop_value x) { return hop_relu(t, x); }

static void value(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, ((struct gate *)user)->f(t, in[0]));
}

static void total(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_sum_all(t, ((struct gate *)user)->f(t, in[0])));
}

static hop_value back(hop_trace *t, hop_body *f, const hop_value *in, void *user)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };
	hop_grad_at(t, f, user, 1, in, 1, (const int[]){ 0 }, 2, out);
	return out[1];
}

static hop_value forth(hop_trace *t, hop_body *f, const hop_value *in, void *user)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } }, one = hop_full_like(t, in[0], 1);
	hop_jvp_at(t, f, user, 1, in, 1, (const int[]){ 0 }, &one, 2, out);
	return out[1];
}

static void slope_back(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, back(t, total, in, user));
}

static void total_slope(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_sum_all(t, back(t, total, in, user)));
}

static void slope_forth(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, forth(t, value, in, user));
}

static void curve_back(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, back(t, total_slope, in, user));
}

static void curve_forth(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, forth(t, slope_forth, in, user));
}

static void curve_mixed(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, forth(t, slope_back, in, user));
}

static void lanes(hop_trace *t, hop_body *f, const hop_value *in, void *user)
{
	hop_value out[1] = { { 0, 0 } };
	hop_vmap_at(t, f, user, 1, in, (const int[]){ 0 }, 1, out);
	hop_return(t, out[0]);
}

static void value_lanes(hop_trace *t, const hop_value *in, void *user)
{
	lanes(t, value, in, user);
}

static void slope_lanes(hop_trace *t, const hop_value *in, void *user)
{
	lanes(t, slope_back, in, user);
}

static const struct { const char *name; hop_body *f; int order; } views[] = {
	{ "value", value, 0 },              { "value in vmap", value_lanes, 0 },
	{ "reverse slope", slope_back, 1 }, { "forward slope", slope_forth, 1 },
	{ "slope in vmap", slope_lanes, 1 }, { "reverse twice", curve_back, 2 },
	{ "forward twice", curve_forth, 2 }, { "forward over reverse", curve_mixed, 2 },
};

static void compare_gate(const struct gate *g, hop_dtype d, hop_array *x, int view,
                         enum way way)
{
	hop_array *y = run(way, views[view].f, (void *)g, x);
	const char *dtype = d == HOP_f32 ? "f32" : "f64";
	double worst = 0, at = 0;
	for (int64_t i = 0; i < hop_array_count(x); i++) {
		long double scale, v = hop_array_at(x, i);
		long double want = g->want(d, views[view].order, v, &scale);
		double far = off(d, hop_array_at(y, i), want, scale);
		if (far > worst) {
			worst = far;
			at = (double)v;
		}
	}
	hop_array_release(y);
	if (getenv("NUMBERS_SHOW"))
		printf("%-12s %s %-12s %-21s %.2f at %.9g\n", g->name, dtype, way_name[way],
		       views[view].name, worst, at);
	if (worst > g->allowed[views[view].order])
		fail_msg("%s, %s, %s, %s: off by %.3g in the last place at %.17g", g->name,
		         dtype, way_name[way], views[view].name, worst, at);
}

/* Points: the ends, the ties, and a walk through all that lies between. */
static hop_array *gate_points(hop_dtype d)
{
	static const double ends[] = {
		0, -0.0, 1e-30, -1e-30, 0.5, -0.5, 1, -1, 18, -18, 40, -40, 86, -86, 100, -100,
		700, -700, 1000, -1000, 1e6, -1e6, 1e30, -1e30, INFINITY, -INFINITY, NAN
	};
	enum { NEND = sizeof ends / sizeof *ends, N = 3000 };
	double v[N];
	for (int i = 0; i < N; i++)
		v[i] = i < NEND ? ends[i] : (i - N / 2) * (i % 3 ? 0.03 : i % 2 ? 0.4 : 0.003);
	return vector(d, N, v);
}

static void test_gates(void **state)
{
	static const struct gate gates[] = {
		{ "sigmoid", f_sigmoid, want_sigmoid, { 3, 4, 5 } },
		{ "log_sigmoid", f_fall, want_log_sigmoid, { 3, 4, 5 } },
		{ "silu", f_silu, want_silu, { 3, 4, 5 } },
		{ "relu", f_relu, want_relu, { 0, 0, 0 } },
	};
	(void)state;
	for (int k = 0; k < 2; k++) {
		hop_dtype d = k ? HOP_f64 : HOP_f32;
		hop_array *x = gate_points(d);
		for (size_t i = 0; i < sizeof gates / sizeof *gates; i++)
			for (size_t v = 0; v < sizeof views / sizeof *views; v++)
				for (int w = 0; w < (v ? EAGER : NWAY); w++)
					compare_gate(&gates[i], d, x, (int)v, (enum way)w);
		hop_array_release(x);
	}
}

/* The larger of two keeps PyTorch's halves at ties; relu does not have them. */
static hop_value f_max(hop_trace *t, hop_value x)
{
	return hop_max(t, x, hop_zeros_like(t, x));
}

static hop_value f_twice(hop_trace *t, hop_value x) { return hop_max(t, x, x); }

static void agree(const char *gate, const char *way, const char *view, double x,
                  double got, double want)
{
	if (!(fabs(got - want) <= 1e-15 + 1e-13 * fabs(want)))
		fail_msg("%s, %s, %s at %g: %.17g, PyTorch says %.17g", gate, way, view, x, got,
		         want);
}

static void test_torch_gates(void **state)
{
	static const struct gate have[] = {
		{ .name = "sigmoid", .f = f_sigmoid }, { .name = "silu", .f = f_silu },
		{ .name = "log_sigmoid", .f = f_fall }, { .name = "relu", .f = f_relu },
		{ .name = "max", .f = f_max }, { .name = "twice", .f = f_twice },
	};
	enum { NPOINT = sizeof torch_points / sizeof *torch_points,
	       NGATE = sizeof torch_gates / sizeof *torch_gates };
	hop_array *x = vector(HOP_f64, NPOINT, torch_points);
	(void)state;
	for (int i = 0; i < NGATE; i++) {
		assert_string_equal(torch_gates[i].name, have[i].name);
		for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
			for (int w = 0; w < EAGER; w++) {
				hop_array *y = run((enum way)w, views[v].f, (void *)&have[i], x);
				const double *want = torch_gates[i].order[views[v].order];
				for (int k = 0; k < NPOINT; k++)
					agree(have[i].name, way_name[w], views[v].name, torch_points[k],
					      hop_array_at(y, k), want[k]);
				hop_array_release(y);
			}
		}
	}
	hop_array_release(x);
}

static hop_value f_log_of(hop_trace *t, hop_value x)
{
	return hop_log(t, hop_sigmoid(t, x));
}

/* In two calls, as far as the sigmoid is a normal number. */
static void test_log_of_sigmoid(void **state)
{
	static const double v[] = { -1, -17, -18, -50, -87 };
	struct gate g = { "log of sigmoid", f_log_of, NULL, { 0 } };
	hop_array *x = vector(HOP_f32, 5, v);
	(void)state;
	for (int w = 0; w < EAGER; w++) {
		hop_array *y = run((enum way)w, slope_back, &g, x);
		for (int i = 0; i < 5; i++) {
			long double want = rise(-hop_array_at(x, i));
			if (off(HOP_f32, hop_array_at(y, i), want, 0) > 4)
				fail_msg("%s at %g: %.9g, not %.9Lg", way_name[w], v[i],
				         hop_array_at(y, i), want);
		}
		hop_array_release(y);
	}
	hop_array_release(x);
}

/* ---- numbers that meet alone ---- */

typedef hop_value number_fn(hop_trace *t);
#define F(v) hop_f(t, v)
#define I(v) hop_i(t, v)
#define NUMBER(name, expr) static hop_value name(hop_trace *t) { return expr; }
NUMBER(n_mul, hop_mul(t, F(0.1), F(3)))
NUMBER(n_add, hop_add(t, F(0.1), F(0.2)))
NUMBER(n_sub, hop_sub(t, F(0.3), F(0.1)))
NUMBER(n_div, hop_div(t, I(1), I(3)))
NUMBER(n_half, hop_div(t, I(7), I(2)))
NUMBER(n_idiv, hop_idiv(t, I(-7), I(2)))
NUMBER(n_idiv_0, hop_idiv(t, I(7), I(0)))
NUMBER(n_idivf, hop_idiv(t, F(7), I(2)))
NUMBER(n_rem, hop_rem(t, I(-7), I(3)))
NUMBER(n_remf, hop_rem(t, F(0.7), F(0.2)))
NUMBER(n_neg, hop_neg(t, F(0.1)))
NUMBER(n_abs, hop_abs(t, I(-5)))
NUMBER(n_max, hop_max(t, F(0.1), I(-3)))
NUMBER(n_min, hop_min(t, F(0.1), I(-3)))
NUMBER(n_exp, hop_exp(t, I(1)))
NUMBER(n_log, hop_log(t, F(0.1)))
NUMBER(n_sin, hop_sin(t, F(0.1)))
NUMBER(n_cos, hop_cos(t, F(0.1)))
NUMBER(n_tanh, hop_tanh(t, F(0.1)))
NUMBER(n_sqrt, hop_sqrt(t, I(2)))
NUMBER(n_and, hop_and(t, I(12), I(10)))
NUMBER(n_or, hop_or(t, I(12), I(10)))
NUMBER(n_not, hop_not(t, I(12)))
NUMBER(n_wrap, hop_add(t, I(INT64_MAX), I(1)))
NUMBER(n_lt, hop_lt(t, F(0.1), F(0.1 + 1e-12)))
NUMBER(n_gt, hop_gt(t, F(0.1), F(0.1 + 1e-12)))
NUMBER(n_truths, hop_add(t, hop_eq(t, I(1), I(1)), hop_le(t, I(1), F(1))))
NUMBER(n_nor, hop_not(t, hop_or(t, hop_eq(t, I(1), I(2)), hop_ne(t, F(1), F(1)))))
NUMBER(n_select, hop_select(t, hop_lt(t, I(1), I(2)), F(0.1), I(7)))
NUMBER(n_pick, hop_select(t, F(0), F(0.1), I(7)))
NUMBER(n_with, hop_mulf(t, hop_addf(t, I(1), 0.1), 0.7))
NUMBER(n_long, hop_sub(t, hop_mul(t, hop_div(t, F(1), F(3)), F(3)), hop_exp(t, F(-40))))
#undef NUMBER
#undef F
#undef I

static const struct {
	number_fn *f;
	double     want;
	hop_dtype  alone;
} numbers[] = {
	{ n_mul, 0.30000000000000004, HOP_f32 }, { n_add, 0.30000000000000004, HOP_f32 },
	{ n_sub, 0.19999999999999998, HOP_f32 }, { n_div, 1.0 / 3, HOP_f32 },
	{ n_half, 3.5, HOP_f32 }, { n_idiv, -3, HOP_i64 }, { n_idiv_0, 0, HOP_i64 },
	{ n_idivf, 3.5, HOP_f32 }, { n_rem, -1, HOP_i64 }, { n_neg, -0.1, HOP_f32 },
	{ n_abs, 5, HOP_i64 }, { n_max, 0.1, HOP_f32 }, { n_min, -3, HOP_f32 },
	{ n_and, 8, HOP_i64 }, { n_or, 14, HOP_i64 }, { n_not, -13, HOP_i64 },
	{ n_wrap, -0x1p63, HOP_i64 }, { n_lt, 1, HOP_bool }, { n_gt, 0, HOP_bool },
	{ n_truths, 2, HOP_i64 }, { n_nor, 1, HOP_bool }, { n_select, 0.1, HOP_f32 },
	{ n_pick, 7, HOP_f32 }, { n_with, 0.77, HOP_f32 },
};
enum { NNUMBER = sizeof numbers / sizeof *numbers };

static void times_number(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], (*(number_fn **)user)(t)));
}

static void only_number(hop_trace *t, const hop_value *in, void *user)
{
	(void)in;
	hop_return(t, (*(number_fn **)user)(t));
}

/* The result on the f64 number 1, exactly. */
static double number_times_one(enum way w, number_fn *f)
{
	hop_array *x = vector(HOP_f64, 1, (const double[]){ 1 });
	hop_array *y = run(w, times_number, &f, x);
	double v = hop_array_at(y, 0);
	assert_int_equal(hop_array_dtype(y), HOP_f64);
	hop_array_release(x);
	hop_array_release(y);
	return v;
}

static void test_numbers(void **state)
{
	hop_array *x = vector(HOP_f32, 1, (const double[]){ 1 });
	(void)state;
	for (int w = 0; w < NWAY; w++) {
		for (int i = 0; i < NNUMBER; i++) {
			number_fn *f = numbers[i].f;
			double got = number_times_one((enum way)w, f);
			if (got != numbers[i].want)
				fail_msg("number %d, %s: %.17g, not %.17g", i, way_name[w], got,
				         numbers[i].want);
			hop_array *y = run((enum way)w, only_number, &f, x);
			double alone = numbers[i].alone == HOP_f32 ? (float)numbers[i].want :
			               numbers[i].want;
			if (hop_array_dtype(y) != numbers[i].alone || hop_array_at(y, 0) != alone)
				fail_msg("number %d, %s, alone: %.17g of dtype %d", i, way_name[w],
				         hop_array_at(y, 0), (int)hop_array_dtype(y));
			hop_array_release(y);
			y = run((enum way)w, times_number, &f, x);
			assert_int_equal(hop_array_dtype(y), HOP_f32);
			hop_array_release(y);
		}
		assert_true(number_times_one((enum way)w, n_exp) == exp(1));
		assert_true(number_times_one((enum way)w, n_log) == log(0.1));
		assert_true(number_times_one((enum way)w, n_sin) == sin(0.1));
		assert_true(number_times_one((enum way)w, n_cos) == cos(0.1));
		assert_true(number_times_one((enum way)w, n_tanh) == tanh(0.1));
		assert_true(number_times_one((enum way)w, n_sqrt) == sqrt(2));
		assert_true(number_times_one((enum way)w, n_remf) == fmod(0.7, 0.2));
		assert_true(number_times_one((enum way)w, n_long) == 1 - exp(-40));
	}
	hop_array_release(x);
}

/* ---- numbers in bodies ---- */

static hop_value third(hop_trace *t)
{
	return hop_div(t, hop_i(t, 1), hop_i(t, 3));
}

static void give_number(hop_trace *t, const hop_value *in, void *user)
{
	(void)in, (void)user;
	hop_return(t, third(t));
}

static void give_tensor(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_index(t, in[0], 0, 0));
}

/* Either branch of a cond, decided by a comparison of numbers. */
static void in_cond(hop_trace *t, const hop_value *in, void *user)
{
	hop_value yes = hop_lt(t, hop_i(t, 1), hop_f(t, 1.5));
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };
	(void)user;
	hop_cond(t, yes, give_number, give_tensor, NULL, 1, in, 1, &out[0]);
	hop_cond(t, hop_not(t, yes), give_tensor, give_number, NULL, 1, in, 1, &out[1]);
	hop_return(t, hop_add(t, in[0], hop_mul(t, out[0], out[1])));
}

static void small(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[1], hop_mul(t, hop_i(t, 2), hop_i(t, 2))));
}

/* The first carry becomes a number, the second counts. */
static void count(hop_trace *t, const hop_value *in, void *user)
{
	hop_value one = hop_sub(t, hop_i(t, 3), hop_i(t, 2));
	hop_return(t, *(hop_value *)user, hop_add(t, in[1], one));
}

static void in_while(hop_trace *t, const hop_value *in, void *user)
{
	hop_value outer = third(t), out[2] = { { 0, 0 }, { 0, 0 } };
	hop_value none = hop_sub(t, hop_i(t, 1), hop_i(t, 1));
	hop_value init[2] = { hop_index(t, in[0], 0, 0), none };
	(void)user;
	hop_while(t, small, count, &outer, 2, init, NULL, out, NULL);
	hop_return(t, hop_add(t, in[0], hop_mul(t, out[0], out[1])));
}

static void add_third(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_add(t, in[0], *(hop_value *)user);
	hop_return(t, y, y);
}

/* A number of the enclosing trace. */
static void in_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_value outer = third(t), out[2] = { { 0, 0 }, { 0, 0 } };
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(2) };
	(void)user;
	hop_scan(t, add_third, &outer, 1, in, 0, NULL, &o, 2, out, NULL);
	hop_return(t, out[0]);
}

static void test_numbers_in_bodies(void **state)
{
	static const struct { hop_body *f; double want; } bodies[] = {
		{ in_cond, 1 + 1.0 / 3 * (1.0 / 3) }, { in_while, 1 + 1.0 / 3 * 4 },
		{ in_scan, 1 + 1.0 / 3 + 1.0 / 3 },
	};
	hop_array *x = vector(HOP_f64, 1, (const double[]){ 1 });
	(void)state;
	for (int w = 0; w < NWAY; w++)
		for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
			hop_array *y = run((enum way)w, bodies[i].f, NULL, x);
			if (hop_array_dtype(y) != HOP_f64 ||
			    fabs(hop_array_at(y, 0) - bodies[i].want) > 4e-16)
				fail_msg("body %d, %s: %.17g, not %.17g", (int)i, way_name[w],
				         hop_array_at(y, 0), bodies[i].want);
			hop_array_release(y);
		}
	hop_array_release(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gates),
		cmocka_unit_test(test_torch_gates),
		cmocka_unit_test(test_log_of_sigmoid),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_numbers_in_bodies),
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
