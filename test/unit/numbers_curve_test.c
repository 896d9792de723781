/* numbers_curve_test.c -- the elementary functions of native code against the C library
 * in more digits. Every 64th float for tanh, fewer for the others; NUMBERS_STEP=1 tries
 * them all, NUMBERS_SHOW=1 prints the greatest error of each. */
#include "numbers_rig.h"

struct curve {
	const char  *name;
	hop_value  (*f)(hop_trace *t, hop_value x);
	double     (*want)(double x);            /* for f32 */
	long double (*want_long)(long double x); /* for f64 */
	uint32_t     step;                       /* between the patterns of floats tried */
	double       allowed;
};

static hop_value f_tanh(hop_trace *t, hop_value x) { return hop_tanh(t, x); }
static hop_value f_exp(hop_trace *t, hop_value x) { return hop_exp(t, x); }
static hop_value f_log(hop_trace *t, hop_value x) { return hop_log(t, x); }
static hop_value f_sin(hop_trace *t, hop_value x) { return hop_sin(t, x); }
static hop_value f_cos(hop_trace *t, hop_value x) { return hop_cos(t, x); }
static hop_value f_sqrt(hop_trace *t, hop_value x) { return hop_sqrt(t, x); }

static hop_value f_log1p(hop_trace *t, hop_value x) { return hop_log1p(t, x); }
static hop_value f_expm1(hop_trace *t, hop_value x) { return hop_expm1(t, x); }
static hop_value f_rsqrt(hop_trace *t, hop_value x) { return hop_rsqrt(t, x); }
static hop_value f_sinh(hop_trace *t, hop_value x) { return hop_sinh(t, x); }
static hop_value f_cosh(hop_trace *t, hop_value x) { return hop_cosh(t, x); }
static hop_value f_asinh(hop_trace *t, hop_value x) { return hop_asinh(t, x); }
static hop_value f_acosh(hop_trace *t, hop_value x) { return hop_acosh(t, x); }
static hop_value f_atanh(hop_trace *t, hop_value x) { return hop_atanh(t, x); }
static hop_value f_atan(hop_trace *t, hop_value x) { return hop_atan(t, x); }
static hop_value f_asin(hop_trace *t, hop_value x) { return hop_asin(t, x); }
static hop_value f_acos(hop_trace *t, hop_value x) { return hop_acos(t, x); }
static hop_value f_erf(hop_trace *t, hop_value x) { return hop_erf(t, x); }
static double one_by_sqrt(double x) { return 1 / sqrt(x); }
static long double one_by_sqrtl(long double x) { return 1 / sqrtl(x); }

static const struct curve curves[] = {
	{ "tanh", f_tanh, tanh, tanhl, 64, 2 },
	{ "exp", f_exp, exp, expl, 1021, 2 },
	{ "log", f_log, log, logl, 1021, 2 },
	{ "sin", f_sin, sin, sinl, 1021, 2 },
	{ "cos", f_cos, cos, cosl, 1021, 2 },
	{ "sqrt", f_sqrt, sqrt, sqrtl, 1021, 0.501 },
	{ "log1p", f_log1p, log1p, log1pl, 1021, 3 },
	{ "expm1", f_expm1, expm1, expm1l, 1021, 3 },
	{ "rsqrt", f_rsqrt, one_by_sqrt, one_by_sqrtl, 1021, 1.5 },
	{ "sinh", f_sinh, sinh, sinhl, 1021, 3.5 },
	{ "cosh", f_cosh, cosh, coshl, 1021, 3.5 },
	{ "asinh", f_asinh, asinh, asinhl, 1021, 3.5 },
	{ "acosh", f_acosh, acosh, acoshl, 1021, 3.5 },
	{ "atanh", f_atanh, atanh, atanhl, 1021, 3.5 },
	{ "atan", f_atan, atan, atanl, 1021, 2 },
	{ "asin", f_asin, asin, asinl, 1021, 3 },
	{ "acos", f_acos, acos, acosl, 1021, 3 },
	{ "erf", f_erf, erf, erfl, 1021, 2 },
};
enum { NCURVE = sizeof curves / sizeof *curves };

static void curve_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, ((const struct curve *)user)->f(t, in[0]));
}

static hop_fn *curve_fn(const struct curve *c, hop_dtype d, int64_t n)
{
	hop_spec s = hop_spec1(d, n);
	hop_fn *fn;
	ok(hop_capture(ctx, curve_body, (void *)c, 1, &s, &fn));
	return fn;
}

static void curve_done(const struct curve *c, const char *dtype, double worst, double at)
{
	if (getenv("NUMBERS_SHOW"))
		printf("%s %s: at most %.3f at %.17g\n", c->name, dtype, worst, at);
	if (!(worst <= c->allowed))
		fail_msg("%s %s: off by %.3f in the last place at %.17g", c->name, dtype, worst,
		         at);
}

/* off() for f32, without long doubles: there are many floats. */
static double off32(float got, double want)
{
	if (isnan(want) || isnan(got) || isinf(want) || isinf(got) || fabs(want) > FLT_MAX)
		return off(HOP_f32, got, want, 0);
	int e = want == 0 ? -126 : ilogb(want);
	return fabs(got - want) * scalbn(1, 23 - (e < -126 ? -126 : e));
}

static void curve_f32(const struct curve *c)
{
	enum { N = 1 << 20 };
	const char *own = getenv("NUMBERS_STEP");
	uint32_t step = own ? (uint32_t)strtoul(own, NULL, 10) : c->step;
	int64_t n = N;
	double worst = 0, at = 0;
	hop_fn *fn = curve_fn(c, HOP_f32, N);
	hop_array *x, *y;
	ok(hop_array_new(ctx, HOP_f32, 1, &n, NULL, &x));
	for (uint64_t bits = 0; bits < 1ull << 32;) {
		float *v = hop_array_data(x);
		for (int i = 0; i < N; i++, bits += step) {
			uint32_t b = (uint32_t)bits;        /* past the end: the first ones again */
			memcpy(&v[i], &b, sizeof b);
		}
		ok(hop_call(fn, 1, &x, 1, &y));
		const float *got = hop_array_data(y);
		for (int i = 0; i < N; i++) {
			double far = off32(got[i], c->want(v[i]));
			if (far > worst) {
				worst = far;
				at = v[i];
			}
		}
		hop_array_release(y);
	}
	hop_array_release(x);
	hop_fn_release(fn);
	curve_done(c, "f32", worst, at);
}

/* A million doubles: some of every exponent, more where the function bends. */
static double sample(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	uint64_t r = *state ^ *state >> 29;
	double unit = (double)(r >> 11) * 0x1p-53, v;
	switch (r & 3) {
	case 0: {
		uint64_t bits = r << 7 ^ r >> 40;
		memcpy(&v, &bits, sizeof v);
		return v;
	}
	case 1: return ldexp(1 + unit, (int)(r >> 3 & 15) - 12) * (r & 4 ? 1 : -1);
	case 2: return 0.625 + (unit - 0.5) * 0.25;
	default: return (unit - 0.5) * 50;
	}
}

static void curve_f64(const struct curve *c)
{
	static const double ends[] = {
		0, -0.0, INFINITY, -INFINITY, NAN, 0.625, -0.625, 22, -22, 0x1p-1074, -0x1p-1074,
		0x1p-1022, 709.78, -745.2, 1, -1, 0.62499999999999989, DBL_MAX, -DBL_MAX
	};
	enum { N = 1000000, NEND = sizeof ends / sizeof *ends };
	double *v = malloc(N * sizeof *v), worst = 0, at = 0;
	uint64_t state = 1;
	assert_non_null(v);
	for (int i = 0; i < N; i++)
		v[i] = i < NEND ? ends[i] : sample(&state);
	hop_array *x = vector(HOP_f64, N, v), *y;
	hop_fn *fn = curve_fn(c, HOP_f64, N);
	ok(hop_call(fn, 1, &x, 1, &y));
	for (int i = 0; i < N; i++) {
		double far = off(HOP_f64, hop_array_at(y, i), c->want_long(v[i]), 0);
		if (far > worst) {
			worst = far;
			at = v[i];
		}
	}
	free(v);
	hop_array_release(x);
	hop_array_release(y);
	hop_fn_release(fn);
	curve_done(c, "f64", worst, at);
}

static void test_curves(void **state)
{
	(void)state;
	for (int i = 0; i < NCURVE; i++) {
		curve_f32(&curves[i]);
		curve_f64(&curves[i]);
	}
}

/* A zero keeps its sign, in vectors and alone. */
static void test_tanh_zero(void **state)
{
	(void)state;
	for (int64_t n = 1; n < 20; n += 18)
		for (int k = 0; k < 2; k++) {
			hop_dtype d = k ? HOP_f64 : HOP_f32;
			hop_array *x = vector(d, n, (const double[20]){ -0.0, [18] = -0.0 }), *y;
			y = run(NATIVE, curve_body, (void *)&curves[0], x);
			assert_true(signbit(hop_array_at(y, 0)) && signbit(hop_array_at(y, n - 1)));
			hop_array_release(x);
			hop_array_release(y);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_curves),
		cmocka_unit_test(test_tanh_zero),
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
