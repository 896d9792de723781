/* fast_test.c -- fast-math: what each identity makes of a call, and how far the result is from the exact
 * one, in units of rounding, over numbers of all sizes; and that nothing is changed without it. */
#include "trace_rig.h"

enum { N = 512 };

typedef hop_value form(hop_trace *t, hop_value x, hop_value y);
#define FORM(name, ...) \
	static hop_value f_##name(hop_trace *t, hop_value x, hop_value y) \
	{ (void)x, (void)y; return __VA_ARGS__; }

FORM(by_number, hop_divf(t, x, 3))
FORM(by_repeated, hop_div(t, x, hop_expand(t, hop_index(t, y, 0, 1), 1, (hop_dim[]){ hop_n(N) })))
FORM(by_root, hop_div(t, x, hop_sqrt(t, y)))
FORM(one_by_root, hop_div(t, hop_f(t, 1), hop_sqrt(t, y)))
FORM(cube, hop_pow(t, x, hop_f(t, 3)))
FORM(seventh, hop_pow(t, x, hop_f(t, 7)))
FORM(inverse_square, hop_pow(t, x, hop_f(t, -2)))
FORM(half, hop_pow(t, x, hop_f(t, 0.5)))
FORM(minus_half, hop_pow(t, x, hop_f(t, -0.5)))
FORM(size, hop_sqrt(t, hop_mul(t, x, x)))
FORM(by_tiny, hop_divf(t, x, 1e-44))
FORM(large_power, hop_pow(t, x, hop_f(t, 9)))
FORM(some_power, hop_pow(t, x, hop_f(t, 1.5)))
FORM(by_other, hop_div(t, x, y))

/* What is exact, in more places than a float has. */
#define EXACT(name, v) \
	static long double e_##name(long double x, long double y, long double z) \
	{ (void)x, (void)y, (void)z; return v; }
EXACT(by_number, x / 3)
EXACT(by_repeated, x / z)
EXACT(by_root, x / sqrtl(y))
EXACT(one_by_root, 1 / sqrtl(y))
EXACT(cube, x * x * x)
EXACT(seventh, powl(x, 7))
EXACT(inverse_square, 1 / (x * x))
EXACT(half, sqrtl(x))
EXACT(minus_half, 1 / sqrtl(x))
EXACT(size, fabsl(x))
EXACT(by_tiny, x / (long double)1e-44f)
EXACT(large_power, powl(x, 9))
EXACT(some_power, powl(x, 1.5L))
EXACT(by_other, x / y)

static const struct row {
	const char  *name;
	form        *f;
	long double (*exact)(long double x, long double y, long double z);
	const char  *gone, *there;         /* a word of the graph that the mode takes away, and brings */
	double       bound;                /* in halves of a place: 1 is as near as can be */
} rows[] = {
#define F(n, gone, there, bound) { #n, f_##n, e_##n, gone, there, bound }
	F(by_number, "= div", "= mul", 3), F(by_repeated, "", "= mul", 3),
	F(by_root, "= div", "= rsqrt", 5),
	F(one_by_root, "= div", "= rsqrt", 5), F(cube, "= pow", "= mul", 4),
	F(seventh, "= pow", "= mul", 12), F(inverse_square, "= pow", "= div", 5),
	F(half, "= pow", "= sqrt", 1.01), F(minus_half, "= pow", "= rsqrt", 4),
	F(size, "= sqrt", "= abs", 0),
	/* nothing to gain, or something to lose */
	F(by_tiny, "", "= div", 1.01), F(large_power, "", "= pow", 4), F(some_power, "", "= pow", 4),
	F(by_other, "", "= div", 1.01),
#undef F
};
enum { NROW = sizeof rows / sizeof *rows };

struct way { const struct row *r; bool fast; };

static void body(hop_trace *t, const hop_value *in, void *user)
{
	const struct way *w = user;
	hop_value y = HOP_NONE;
	if (w->fast)
		HOP_FAST_MATH(t)
			y = w->r->f(t, in[0], in[1]);
	else
		HOP_FAST_MATH(t)
			HOP_FAST_MATH_OFF(t)
				y = w->r->f(t, in[0], in[1]);
	hop_return(t, y);
}

static hop_fn *captured(const struct row *r, bool fast, hop_dtype d)
{
	const int64_t n = N;
	hop_spec s[2] = { hop_spec_of(d, 1, &n), hop_spec_of(d, 1, &n) };
	struct way w = { r, fast };
	hop_fn *f;
	if (hop_capture(ctx, body, &w, 2, s, &f))
		fail_msg("%s: %s", r->name, hop_message(ctx));
	return f;
}

static double off(const struct row *r, const float *x, const float *y, hop_fn *f)
{
	const int64_t n = N;
	hop_array *in[2] = { array(HOP_f32, 1, &n, x), array(HOP_f32, 1, &n, y) }, *out;
	double most = 0;
	if (hop_call(f, 2, in, 1, &out))
		fail_msg("%s: %s", r->name, hop_message(ctx));
	for (int i = 0; i < N; i++) {
		long double e = r->exact(x[i], y[i], y[1]), got = hop_array_at(out, i);
		if (fabsl(e) > 3e38L || fabsl(e) < 1e-36L)
			continue;
		most = fmax(most, (double)(fabsl(got - e) / fabsl(e)) * 16777216);
	}
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_array_release(out);
	return most;
}

static void bounds(void **state)
{
	(void)state;
	float x[N], y[N];
	for (int i = 0; i < N; i++) {
		x[i] = ldexpf(1 + fmodf((float)i * 0.61803f, 1), i % 11 - 5);
		y[i] = ldexpf(1 + fmodf((float)i * 0.73205f, 1), i % 13 - 6);
	}
	for (int k = 0; k < NROW; k++) {
		const struct row *r = &rows[k];
		hop_fn *f = captured(r, true, HOP_f32), *slow = captured(r, false, HOP_f32);
		double most = off(r, x, y, f);
		if (*r->gone && strstr(hop_fn_text(f), r->gone))
			fail_msg("%s: there is still %s\n%s", r->name, r->gone, hop_fn_text(f));
		if (!strstr(hop_fn_text(f), r->there))
			fail_msg("%s: there is no %s\n%s", r->name, r->there, hop_fn_text(f));
		if (getenv("FAST_SHOW"))
			printf("%-16s %.2f, as it is %.2f\n", r->name, most, off(r, x, y, slow));
		if (most > r->bound)
			fail_msg("%s: off by %g halves of a place, not %g", r->name, most, r->bound);
		hop_fn_release(f);
		hop_fn_release(slow);
	}
}

/* 16-bit floats are left alone, and so is everything outside. */
static void untouched(void **state)
{
	(void)state;
	for (int k = 0; k < NROW; k++) {
		hop_fn *a = captured(&rows[k], true, HOP_bf16), *b = captured(&rows[k], false, HOP_bf16);
		assert_string_equal(hop_fn_text(a), hop_fn_text(b));
		hop_fn_release(a);
		hop_fn_release(b);
	}
}

/* Composites: softmax divides once a row, a norm takes one root of each. */
static void soft(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = HOP_NONE;
	(void)user;
	HOP_FAST_MATH(t)
		y = hop_layer_norm(t, hop_softmax(t, in[0], 1), HOP_NONE, HOP_NONE, 1e-5);
	hop_return(t, y);
}

static void soft_exact(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_layer_norm(t, hop_softmax(t, in[0], 1), HOP_NONE, HOP_NONE, 1e-5));
}

/* Is the word in the line that begins here? */
static const char *found(const char *line, const char *word)
{
	const char *at = strstr(line, word);
	return at && at < line + strcspn(line, "\n") ? at : NULL;
}

static void composites(void **state)
{
	(void)state;
	double x[32];
	const int64_t d[2] = { 4, 8 };
	for (int i = 0; i < 32; i++)
		x[i] = sin(i * 1.7) * 3;
	hop_array *in = array(HOP_f64, 2, d, x), *out[4];
	hop_spec s = spec_of(in);
	hop_fn *f, *e, *g[2];
	if (hop_capture(ctx, soft, NULL, 1, &s, &f) || hop_capture(ctx, soft_exact, NULL, 1, &s, &e) ||
	    hop_call(f, 1, &in, 1, &out[0]) || hop_call(e, 1, &in, 1, &out[1]) ||
	    hop_eager_call(ctx, soft, NULL, 1, &in, 1, &out[2]))
		fail_msg("%s", hop_message(ctx));
	for (const char *l = hop_fn_text(f); (l = strstr(l, "= div")); l++)
		assert_null(found(l, "f64[4, 8]"));
	for (int i = 0; i < 32; i++) {
		assert_true(fabs(hop_array_at(out[0], i) - hop_array_at(out[1], i)) < 1e-13);
		assert_true(fabs(hop_array_at(out[2], i) - hop_array_at(out[1], i)) < 1e-13);
	}
	/* slopes are those of what it is */
	assert_int_equal(hop_jvp(f, 1, (int[]){ 0 }, &g[0]), HOP_OK);
	assert_int_equal(hop_jvp(e, 1, (int[]){ 0 }, &g[1]), HOP_OK);
	hop_array_release(out[2]);
	for (int k = 0; k < 2; k++) {
		hop_array *both[2] = { in, in }, *r[2];
		assert_int_equal(hop_call(g[k], 2, both, 2, r), HOP_OK);
		hop_array_release(r[0]);
		out[2 + k] = r[1];
	}
	for (int i = 0; i < 32; i++)
		assert_true(fabs(hop_array_at(out[2], i) - hop_array_at(out[3], i)) < 1e-11);
	for (int k = 0; k < 4; k++)
		hop_array_release(out[k]);
	hop_array_release(in);
	for (int k = 0; k < 2; k++)
		hop_fn_release(g[k]);
	hop_fn_release(f);
	hop_fn_release(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bounds, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(untouched, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(composites, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
