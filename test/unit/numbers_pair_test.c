/* numbers_pair_test.c -- functions of two floats: native code against the C library in more
 * digits, and all ways at the ends of their range, where C says what they give.
 * NUMBERS_SHOW=1 prints the greatest error of each. */
#include "numbers_rig.h"

struct pair {
	const char  *name;
	hop_value  (*f)(hop_trace *t, hop_value x, hop_value y);
	double     (*want)(double x, double y);                  /* for f32 */
	long double (*want_long)(long double x, long double y);  /* for f64 */
	double       allowed;
};

static hop_value f_atan2(hop_trace *t, hop_value x, hop_value y) { return hop_atan2(t, x, y); }
static hop_value f_pow(hop_trace *t, hop_value x, hop_value y) { return hop_pow(t, x, y); }

static const struct pair pairs[] = {
	{ "atan2", f_atan2, atan2, atan2l, 2.5 },
	{ "pow", f_pow, pow, powl, 2 },
};
enum { NPAIR = sizeof pairs / sizeof *pairs };

static void body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, ((const struct pair *)user)->f(t, in[0], in[1]));
}

static hop_array *call(enum way way, const struct pair *p, hop_array *x, hop_array *y)
{
	hop_array *in[2] = { x, y }, *z;
	hop_spec s[2];
	hop_fn *fn;
	if (way == EAGER) {
		ok(hop_eager_call(ctx, body, (void *)p, 2, in, 1, &z));
		return z;
	}
	for (int i = 0; i < 2; i++)
		s[i] = hop_spec_of(hop_array_dtype(in[i]), 1, hop_array_dims(in[i]));
	ok(hop_capture(ctx, body, (void *)p, 2, s, &fn));
	if (way == INTERP)
		setenv("HOP_INTERP", "1", 1);
	ok(hop_call(fn, 2, in, 1, &z));
	unsetenv("HOP_INTERP");
	hop_fn_release(fn);
	return z;
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state ^ *state >> 29;
}

/* Any float of the dtype, or one of moderate size, or near 1, or a small whole number. */
static double sample(hop_dtype d, uint64_t *state)
{
	uint64_t r = next(state), bits = next(state);
	double unit = (double)(bits >> 11) * 0x1p-53, v;
	float f;
	switch (r >> 40 & 3) {
	case 0:
		memcpy(&v, &bits, sizeof v);
		memcpy(&f, &bits, sizeof f);
		return d == HOP_f32 ? f : v;
	case 1: return ldexp(1 + unit, (int)(r >> 20 & 15) - 8) * (r & 4096 ? 1 : -1);
	case 2: return 1 + (unit - 0.5) * ldexp(1, -(int)(r >> 20 & 15));
	default: return floor((unit - 0.5) * 40);
	}
}

static void measure(const struct pair *p, hop_dtype d)
{
	enum { N = 1000000 };
	double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), worst = 0, at[2] = { 0 };
	uint64_t state = 1;
	assert_true(x && y);
	for (int i = 0; i < N; i++) {
		x[i] = sample(d, &state);
		y[i] = sample(d, &state);
	}
	hop_array *in[2] = { vector(d, N, x), vector(d, N, y) }, *z = call(NATIVE, p, in[0], in[1]);
	for (int i = 0; i < N; i++) {
		double u = hop_array_at(in[0], i), v = hop_array_at(in[1], i);
		long double want = d == HOP_f32 ? p->want(u, v) : p->want_long(u, v);
		double far = off(d, hop_array_at(z, i), want, 0);
		if (far > worst) {
			worst = far;
			at[0] = u;
			at[1] = v;
		}
	}
	free(x);
	free(y);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_array_release(z);
	const char *dtype = d == HOP_f32 ? "f32" : "f64";
	if (getenv("NUMBERS_SHOW"))
		printf("%s %s: at most %.3f at %.17g, %.17g\n", p->name, dtype, worst, at[0], at[1]);
	if (!(worst <= p->allowed))
		fail_msg("%s %s: off by %.3f in the last place at %.17g, %.17g", p->name, dtype, worst,
		         at[0], at[1]);
}

static void test_pairs(void **state)
{
	(void)state;
	for (int i = 0; i < NPAIR; i++) {
		measure(&pairs[i], HOP_f32);
		measure(&pairs[i], HOP_f64);
	}
}

/* Every two of them: what the result is, and its sign where it is a number. */
static void ends(const struct pair *p, hop_dtype d, enum way way)
{
	static const double k[] = { 0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 2.5, -2.5, INFINITY,
	                            -INFINITY, NAN, 1e30, -1e30, 1e-30, -1e-30, 1e38, 0x1p-149,
	                            -0x1p-149, 16777217, 16777216 };
	enum { K = sizeof k / sizeof *k, N = K * K };
	double x[N], y[N];
	for (int i = 0; i < N; i++) {
		x[i] = k[i / K];
		y[i] = k[i % K];
	}
	hop_array *u = vector(d, N, x), *v = vector(d, N, y), *z = call(way, p, u, v);
	for (int i = 0; i < N; i++) {
		double a = hop_array_at(u, i), b = hop_array_at(v, i), got = hop_array_at(z, i);
		long double want = d == HOP_f32 ? p->want(a, b) : p->want_long(a, b);
		if (!(off(d, got, want, 0) <= p->allowed) ||
		    (!isnan(got) && !signbit(got) != !signbit(want)))
			fail_msg("%s of %g and %g, %s: %g, not %Lg", p->name, a, b, way_name[way], got,
			         want);
	}
	hop_array_release(u);
	hop_array_release(v);
	hop_array_release(z);
}

static void test_ends(void **state)
{
	(void)state;
	for (int i = 0; i < NPAIR; i++)
		for (int way = 0; way < NWAY; way++) {
			ends(&pairs[i], HOP_f32, (enum way)way);
			ends(&pairs[i], HOP_f64, (enum way)way);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_ends),
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
