/* safety_test.c -- inputs that must be refused, from C, case by case: what the program rests
 * on is tested wherever it runs, interpreted and compiled, and the message says what to
 * change. Random ones are in test/random/refusals.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>
#include <hop/compile.h>

static hop_ctx *ctx;

#define BODY(name, ...) \
	static void name(hop_trace *t, const hop_value *in, void *user) \
	{ \
		hop_value out[4]; \
		(void)in, (void)user, (void)out; \
		__VA_ARGS__; \
	}

/* ---- functions of f64[n], f64[m], i64 ---- */

BODY(narrow, hop_return(t, hop_narrow(t, in[0], 0, 1000, 4)))
BODY(product, hop_return(t, hop_mul(t, in[1], in[0])))
BODY(product_if, hop_value p = hop_lt(t, in[2], hop_i(t, 5));
     hop_cond(t, p, product, product, NULL, 2, in, 1, out); hop_return(t, out[0]))
BODY(zero_, hop_return(t, hop_mulf(t, in[1], 0)))
BODY(product_or_zero, hop_value p = hop_lt(t, in[2], hop_i(t, 5));
     hop_cond(t, p, product, zero_, NULL, 2, in, 1, out); hop_return(t, out[0]))
BODY(product_region, hop_region(t, "r", product, NULL, 2, in, 1, out); hop_return(t, out[0]))
BODY(product_step, const hop_value *v = user;
     hop_return(t, hop_add(t, in[0], hop_sum_all(t, hop_mul(t, v[1], v[0])))))
BODY(product_scan, hop_value s = hop_sum_all(t, in[0]);
     hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(3), .counted = true,
                         .count = in[2] };
     hop_scan(t, product_step, (void *)(uintptr_t)in, 1, &s, 0, NULL, &o, 1, out, NULL);
     hop_return(t, out[0]))
BODY(below_, const hop_value *v = user;
     hop_return(t, hop_lt(t, in[1], v[2])))
BODY(product_trip, const hop_value *v = user;
     hop_return(t, hop_add(t, in[0], hop_sum_all(t, hop_mul(t, v[1], v[0]))),
                hop_add(t, in[1], hop_i(t, 1))))
BODY(product_while, hop_value c[2];
     c[0] = hop_sum_all(t, in[0]);
     c[1] = hop_sub(t, in[2], in[2]);
     hop_while(t, below_, product_trip, (void *)(uintptr_t)in, 2, c, NULL, out, NULL);
     hop_return(t, out[0]))
BODY(product_join, const hop_value *v = user; hop_value y = hop_add(t, in[0], in[1]);
     hop_return(t, hop_add(t, y, hop_sum_all(t, hop_mul(t, v[1], v[0])))))
BODY(product_prefix, hop_value x = hop_unsqueeze(t, in[0], 1);
     hop_associative_scan(t, product_join, (void *)(uintptr_t)in, 1, &x, NULL, out);
     hop_return(t, out[0]))
BODY(product_rest, hop_value y = hop_add(t, in[0], in[1]); const hop_value *v = user;
     hop_mul(t, v[1], v[0]); hop_return(t, y))
BODY(product_sum, hop_value x = hop_f(t, 0);
     hop_reduce_with(t, product_rest, (void *)(uintptr_t)in, 1, &x, in, 0, out);
     hop_return(t, out[0]))
BODY(unused, hop_mul(t, in[0], in[1]); hop_return(t, hop_sum_all(t, in[0])))
BODY(unused_region, hop_region(t, "r", product, NULL, 2, in, 1, out);
     hop_return(t, hop_sum_all(t, in[0])))
BODY(data_size, hop_dim k = hop_as_size(t, in[2], 1, 400000);
     hop_value i = hop_iota(t, HOP_f64, 1, &k, 0);
     hop_value y = hop_clone(t, in[0]);
     hop_copy_(t, y, hop_add(t, i, in[0]));
     hop_return(t, y))
BODY(first_four, hop_return(t, hop_sum_all(t, hop_narrow(t, in[0], 0, 0, 4))))
BODY(sum_, hop_return(t, hop_sum_all(t, in[0])))
BODY(guarded, hop_value p = hop_ge(t, hop_size_of(t, in[0], 0), hop_i(t, 4));
     hop_cond(t, p, first_four, sum_, NULL, 1, in, 1, out); hop_return(t, out[0]))
BODY(reversed, hop_return(t, hop_slice(t, in[0], 0, hop_dim_sub(t, hop_dim_of(t, in[0], 0),
     hop_n(1)), hop_dim_of(t, in[0], 0), -1)))
BODY(differences, hop_dim n = hop_dim_sub(t, hop_dim_of(t, in[0], 0), hop_n(1));
     hop_return(t, hop_sub(t, hop_slice(t, in[0], 0, hop_n(1), n, 1),
                           hop_slice(t, in[0], 0, hop_n(0), n, 1))))

/* ---- running ---- */

struct input { int64_t n, m, k; };

static hop_fn *captured(hop_body *f)
{
	hop_spec s[3] = { hop_spec_sym(hop_spec1(HOP_f64, 0), 0, "n", 0, 0),
	                  hop_spec_sym(hop_spec1(HOP_f64, 0), 0, "m", 0, 0), hop_spec0(HOP_i64) };
	hop_fn *fn;
	if (hop_capture(ctx, f, NULL, 3, s, &fn))
		fail_msg("%s", hop_message(ctx));
	return fn;
}

static hop_status call_with(hop_fn *f, struct input x, const hop_run_opts *o)
{
	hop_array *in[3], *out = NULL;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &x.n, NULL, &in[0]), HOP_OK);
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &x.m, NULL, &in[1]), HOP_OK);
	assert_int_equal(hop_array_new(ctx, HOP_i64, 0, NULL, &x.k, &in[2]), HOP_OK);
	hop_status st = hop_call_with(f, 3, in, 1, &out, o);
	if (st)
		assert_null(out);
	hop_array_release(out);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	return st;
}

/* Refused with these words both ways, or accepted both ways when words is NULL. */
static void expect(hop_body *body, struct input x, const char *words)
{
	hop_fn *f = captured(body);
	hop_exec *code;
	if (hop_compile(f, NULL, &code))             /* a call would interpret it, and say so */
		fail_msg("%s", hop_message(ctx));
	hop_exec_release(code);
	for (int interp = 0; interp < 2; interp++) {
		hop_status st = call_with(f, x, HOP_RUN_OPTS(.interpret = interp));
		if (st != (words ? HOP_ESHAPE : HOP_OK))
			fail_msg("status %d, wanted %s: %s", st, words ? words : "none",
			         hop_message(ctx));
		if (words && (!strstr(hop_message(ctx), words) ||
		              !strstr(hop_message(ctx), "safety_test.c:")))
			fail_msg("%s\nwanted: %s, and the line", hop_message(ctx), words);
	}
	hop_fn_release(f);
}

static void test_windows(void **state)
{
	(void)state;
	expect(narrow, (struct input){ 2, 0, 0 },
	       "slice: the window on axis 0 ends at 1004, the axis has size 2");
	expect(narrow, (struct input){ 1003, 0, 0 }, "ends at 1004");
	expect(narrow, (struct input){ 1004, 0, 0 }, NULL);
	for (int64_t n = 0; n < 4; n++)
		expect(reversed, (struct input){ n, 0, 0 }, NULL);
	expect(differences, (struct input){ 0, 0, 0 }, "is -1");
	expect(differences, (struct input){ 1, 0, 0 }, NULL);
	expect(differences, (struct input){ 9, 0, 0 }, NULL);
}

static void test_bodies(void **state)
{
	static const char both[] = "mul: dimension 0 is 4000 on the left, 2 on the right";
	(void)state;
	expect(product, (struct input){ 2, 4000, 1 }, both);
	expect(product_if, (struct input){ 2, 4000, 1 }, both);
	expect(product_region, (struct input){ 2, 4000, 1 }, both);
	expect(product_scan, (struct input){ 2, 4000, 1 }, both);
	expect(product_while, (struct input){ 2, 4000, 1 }, both);
	expect(product_if, (struct input){ 3, 3, 1 }, NULL);
	expect(product_scan, (struct input){ 3, 3, 1 }, NULL);
	expect(product_while, (struct input){ 3, 3, 1 }, NULL);
	/* the branch not taken, and loops of no trips, test nothing */
	expect(product_or_zero, (struct input){ 2, 4000, 9 }, NULL);
	expect(product_or_zero, (struct input){ 2, 4000, 1 }, both);
	expect(product_scan, (struct input){ 2, 4000, 0 }, NULL);
	expect(product_while, (struct input){ 2, 4000, 0 }, NULL);
	/* one slice is combined with nothing */
	expect(product_prefix, (struct input){ 1, 4000, 0 }, NULL);
	expect(product_prefix, (struct input){ 0, 4000, 0 }, NULL);
	expect(product_prefix, (struct input){ 3, 3, 0 }, NULL);
	expect(product_prefix, (struct input){ 2, 4000, 0 }, both);
	/* a combine of scalars, which else goes in blocks on threads */
	expect(product_sum, (struct input){ 0, 4000, 0 }, NULL);
	expect(product_sum, (struct input){ 3, 3, 0 }, NULL);
	expect(product_sum, (struct input){ 2, 4000, 0 }, both);
	/* what nobody reads is tested all the same, as it is eagerly */
	expect(unused, (struct input){ 2, 4000, 1 }, "mul: ");
	expect(unused_region, (struct input){ 2, 4000, 1 }, "mul: ");
}

static void test_data(void **state)
{
	(void)state;
	expect(data_size, (struct input){ 4, 0, 4 }, NULL);
	expect(data_size, (struct input){ 4, 0, 400000 }, "400000");
	expect(data_size, (struct input){ 4, 0, -5 }, "add: dimension 0");
}

static void test_guard(void **state)
{
	(void)state;
	for (int64_t n = 0; n < 7; n++)
		expect(guarded, (struct input){ n, 0, 0 }, NULL);
}

/* Derivatives and batches refuse what the function refuses, and nothing else. */
static void test_transforms(void **state)
{
	static hop_body *const fs[] = { product_or_zero, product_scan, product_while, guarded };
	static const struct input xs[] = { { 2, 7, 1 }, { 2, 7, 9 }, { 2, 7, 0 }, { 3, 3, 1 },
	                                   { 0, 0, 1 }, { 5, 5, 9 } };
	const bool batched[3] = { true, true, false };
	int wrt[2] = { 0, 1 };
	(void)state;
	for (size_t i = 0; i < sizeof fs / sizeof *fs; i++) {
		hop_fn *f = captured(fs[i]), *g[3];
		assert_int_equal(hop_jvp(f, 2, wrt, &g[0]), HOP_OK);
		assert_int_equal(hop_vjp(f, 2, wrt, &g[1]), HOP_OK);
		assert_int_equal(hop_vmap(f, batched, 2, &g[2]), HOP_OK);
		for (size_t k = 0; k < sizeof xs / sizeof *xs; k++) {
			struct input x = xs[k];
			hop_status want = call_with(f, x, NULL);
			for (int j = 0; j < 3; j++) {
				hop_array *in[6], *out[6] = { NULL };
				int64_t n2[2] = { 2, x.n }, m2[2] = { 2, x.m };
				int nin = hop_fn_nin(g[j]), nout = hop_fn_nout(g[j]), r = j == 2;
				assert_int_equal(hop_array_new(ctx, HOP_f64, 1 + r, n2 + !r, NULL, &in[0]), 0);
				assert_int_equal(hop_array_new(ctx, HOP_f64, 1 + r, m2 + !r, NULL, &in[1]), 0);
				assert_int_equal(hop_array_new(ctx, HOP_i64, 0, NULL, &x.k, &in[2]), 0);
				if (j == 0) {
					in[3] = hop_array_retain(in[0]);
					in[4] = hop_array_retain(in[1]);
				} else if (j == 1) {
					bool whole = fs[i] == product_or_zero;
					assert_int_equal(hop_array_new(ctx, HOP_f64, whole, &x.m, NULL, &in[3]), 0);
				}
				hop_status st = hop_call(g[j], nin, in, nout, out);
				if (st != want)
					fail_msg("function %zu, input %zu, transform %d: %d, not %d: %s", i, k, j,
					         st, want, hop_message(ctx));
				for (int q = 0; q < nin; q++)
					hop_array_release(in[q]);
				for (int q = 0; q < nout; q++)
					hop_array_release(out[q]);
			}
		}
		for (int j = 0; j < 3; j++)
			hop_fn_release(g[j]);
		hop_fn_release(f);
	}
}

/* ---- the hard door ---- */

BODY(total, hop_return(t, hop_sum_all(t, hop_sin(t, in[0]))))
BODY(wide, hop_return(t, hop_sin(t, in[0])))

static void test_missing_data(void **state)
{
	hop_spec s = hop_spec_sym(hop_spec1(HOP_f64, 0), 0, "n", 0, 0);
	hop_fn *f;
	hop_exec *x;
	int64_t none = 0, three = 3;
	double v[3] = { 1, 2, 3 }, y;
	_Alignas(64) char ws[4096];
	hop_arg in = { .dim = &three }, out = { .data = &y };
	(void)state;
	assert_int_equal(hop_capture(ctx, total, NULL, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_compile(f, NULL, &x), HOP_OK);
	assert_true(hop_exec_workspace(x, &in) <= (int64_t)sizeof ws);
	assert_int_equal(hop_run(x, &in, &out, ws), HOP_EUSE);
	in.data = v;
	assert_int_equal(hop_run(x, &in, &out, ws), HOP_OK);
	out.data = NULL;
	assert_int_equal(hop_run(x, &in, &out, ws), HOP_EUSE);
	out.data = &y;
	in = (hop_arg){ .dim = &none };        /* no elements: no memory is needed */
	assert_int_equal(hop_run(x, &in, &out, ws), HOP_OK);
	assert_true(y == 0);
	three = -1;
	in = (hop_arg){ .data = v, .dim = &three };
	assert_int_equal(hop_exec_workspace(x, &in), -1);
	assert_int_equal(hop_run(x, &in, &out, ws), HOP_ESHAPE);
	hop_exec_release(x);
	hop_fn_release(f);
}

/* Products of sizes that leave 64 bits: by one argument, by what three small ones make, and
 * by a workspace. */
static void test_large(void **state)
{
	hop_spec s = hop_spec3(HOP_f32, 0, 0, 0);
	int64_t dim[3] = { 1 << 22, 1 << 22, 1 << 22 }, stride[3] = { 0, 0, 0 };
	float v = 1, y[4];
	_Alignas(64) char ws[4096];
	hop_arg in = { .data = &v, .dim = dim, .stride = stride }, out = { .data = y };
	hop_fn *f;
	hop_exec *x;
	(void)state;
	for (int i = 0; i < 3; i++)
		s = hop_spec_sym(s, i, i == 0 ? "n" : i == 1 ? "m" : "k", 0, 0);
	assert_int_equal(hop_capture(ctx, wide, NULL, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_compile(f, NULL, &x), HOP_OK);
	assert_int_equal(hop_exec_workspace(x, &in), -1);
	assert_int_equal(hop_run(x, &in, &out, ws), HOP_ESHAPE);
	assert_non_null(strstr(hop_message(ctx), "more than 2^48 elements"));
	hop_exec_release(x);
	hop_fn_release(f);
}

BODY(outer, hop_value a = hop_unsqueeze(t, hop_unsqueeze(t, in[0], 1), 2);
     hop_value b = hop_unsqueeze(t, in[1], 1);
     hop_return(t, hop_sum_all(t, hop_add(t, hop_add(t, a, b), in[2]))))

static void test_outer(void **state)
{
	hop_spec s[3];
	int64_t dim = 1 << 22, zero = 0;
	double v = 1, y;
	_Alignas(64) char ws[4096];
	hop_arg in[3], out = { .data = &y };
	static const char *const name[] = { "n", "m", "k" };
	hop_fn *f;
	hop_exec *x;
	(void)state;
	for (int i = 0; i < 3; i++) {
		s[i] = hop_spec_sym(hop_spec1(HOP_f64, 0), 0, name[i], 0, 0);
		in[i] = (hop_arg){ .data = &v, .dim = &dim, .stride = &zero };
	}
	assert_int_equal(hop_capture(ctx, outer, NULL, 3, s, &f), HOP_OK);
	assert_int_equal(hop_compile(f, NULL, &x), HOP_OK);
	assert_int_equal(hop_exec_workspace(x, in), -1);
	assert_int_equal(hop_run(x, in, &out, ws), HOP_ESHAPE);
	assert_non_null(strstr(hop_message(ctx), "elements, the most is"));
	hop_exec_release(x);
	hop_fn_release(f);
}

static int up(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx);
}

static int down(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_guard),
		cmocka_unit_test(test_transforms),
		cmocka_unit_test(test_missing_data),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_outer),
	};
	return cmocka_run_group_tests(tests, up, down);
}
