/* nan_test.c -- HOP_ENAN: where a NaN or an infinity was made, through every door: compiled,
 * interpreted, eager, a jit, derivatives, lanes; and what is none: masks, branches not taken,
 * inputs that had it already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;

enum way { COMPILED, INTERPRETED, EAGER, JIT, NWAY };
static const char *const way_name[] = { "compiled", "interpreted", "eager", "jit" };

static hop_array *vec(int64_t n, const double *v)
{
	hop_array *a;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &a), HOP_OK);
	return a;
}

/* One input, a vector; one result. */
static hop_status go(hop_body *f, enum way w, hop_nan nan, int64_t n, const double *v,
                     hop_array **out)
{
	hop_array *x = vec(n, v);
	hop_status st;
	hop_fn *fn;
	hop_spec spec = hop_spec1(HOP_f64, n);
	const hop_run_opts *o = HOP_RUN_OPTS(.nan = nan, .interpret = w == INTERPRETED);
	if (w == EAGER) {
		st = hop_eager_call_with(ctx, f, NULL, 1, &x, 1, out, o);
	} else if (w == JIT) {
		hop_jit *j;
		assert_int_equal(hop_jit_new(ctx, f, NULL, NULL, &j), HOP_OK);
		st = hop_jit_call_with(j, 1, &x, 1, out, o);
		hop_jit_release(j);
	} else {
		assert_int_equal(hop_capture(ctx, f, NULL, 1, &spec, &fn), HOP_OK);
		st = hop_call_with(fn, 1, &x, 1, out, o);
		hop_fn_release(fn);
	}
	hop_array_release(x);
	return st;
}

/* The message has all of these, in this order. */
static void says(enum way w, const char *const *part)
{
	const char *at = hop_message(ctx);
	for (; *part; part++) {
		const char *found = strstr(at, *part);
		if (!found)
			fail_msg("%s: \"%s\" is not in order in:\n%s", way_name[w], *part, hop_message(ctx));
		at = found + strlen(*part);
	}
}

static void refused(hop_body *f, hop_nan nan, int64_t n, const double *v, const char *const *part)
{
	for (int w = 0; w < NWAY; w++) {
		hop_array *y;
		assert_int_equal(go(f, (enum way)w, nan, n, v, &y), HOP_ENAN);
		assert_null(y);
		says((enum way)w, part);
	}
}

static void fine(hop_body *f, enum way last, hop_nan nan, int64_t n, const double *v)
{
	for (int w = 0; w <= (int)last; w++) {
		hop_array *y;
		if (go(f, (enum way)w, nan, n, v, &y))
			fail_msg("%s: %s", way_name[w], hop_message(ctx));
		hop_array_release(y);
	}
}

/* ---- loops ---- */

/* x, x-1, .. 1 / that: the fourth trip divides by zero where x is 3. */
static void loops(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], s = hop_full_like(t, x, 0);
	(void)user;
	HOP_FOR(t, i, 2, x, s) {
		HOP_FOR(t, k, 3, x, s) {
			s = hop_add(t, s, hop_div(t, hop_f(t, 1), x));         /* the line */
			x = hop_subf(t, x, 1);
		}
	}
	hop_return(t, s);
}

static void test_loops(void **state)
{
	(void)state;
	refused(loops, HOP_NAN_INF, 2, (double[]){ 7, 4 }, (const char *[]){
		"nan_test.c:", "div: makes inf in element [1] of f64[2], from 1.0 and 0.0",
		"trip 1", "trip 1", NULL
	});
	fine(loops, JIT, HOP_NAN_INF, 2, (double[]){ 7, 8 });
	fine(loops, JIT, HOP_NAN_ONLY, 2, (double[]){ 7, 4 });
	fine(loops, JIT, HOP_NAN_OFF, 2, (double[]){ 7, 4 });
}

static void halves(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = hop_sum_all(t, in[0]), n = hop_scalar(t, HOP_f64, 5);
	(void)user;
	HOP_WHILE(t, hop_lt(t, hop_f(t, 0.5), n), x, n) {
		x = hop_sqrt(t, hop_subf(t, x, 1));
		n = hop_subf(t, n, 1);
	}
	hop_return(t, x);
}

static void test_while(void **state)
{
	(void)state;
	/* 10 -> 3 -> 1.414 -> 0.643 -> NaN */
	refused(halves, HOP_NAN_ONLY, 1, (double[]){ 10 }, (const char *[]){
		"sqrt: makes nan from -0.35", "trip 3", NULL
	});
}

/* ---- what is none ---- */

static void masked(hop_trace *t, const hop_value *in, void *user)
{
	hop_value some = hop_lt(t, hop_f(t, 0), in[0]);
	(void)user;
	hop_return(t, hop_softmax(t, hop_select(t, some, in[0], hop_f(t, -INFINITY)), 0));
}

static void left_out(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_select(t, hop_lt(t, hop_f(t, 0), in[0]), hop_log(t, in[0]), hop_f(t, 0)));
}

static void branch(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_IF(t, hop_lt(t, hop_f(t, 0), hop_sum_all(t, x)), x) {
		x = hop_log(t, x);
	}
	hop_return(t, x);
}

static void test_none(void **state)
{
	const double v[] = { 1, 0, -2 };
	(void)state;
	fine(masked, JIT, HOP_NAN_INF, 3, v);
	fine(masked, JIT, HOP_NAN_ANY, 3, v);
	fine(branch, JIT, HOP_NAN_ANY, 3, v);
	fine(left_out, INTERPRETED, HOP_NAN_INF, 3, v);
	refused(left_out, HOP_NAN_ANY, 3, v, (const char *[]){ "log: makes", NULL });
	/* what comes in was not made here */
	fine(masked, JIT, HOP_NAN_INF, 2, (double[]){ NAN, 1 });
	fine(branch, JIT, HOP_NAN_ANY, 2, (double[]){ INFINITY, 1 });
	/* nothing is masked: -inf - -inf */
	refused(masked, HOP_NAN_INF, 2, (double[]){ -1, -1 }, (const char *[]){
		"sub: makes nan in element [0] of f64[2], from -inf and -inf", NULL
	});
	fine(masked, JIT, HOP_NAN_INF, 0, NULL);
}

/* ---- derivatives and lanes ---- */

static void root_sum(hop_trace *t, const hop_value *in, void *user)
{
	hop_value zero = hop_full_like(t, in[0], 0);
	(void)user;
	hop_return(t, hop_sum_all(t, hop_select(t, hop_lt(t, zero, in[0]), hop_sqrt(t, in[0]), zero)));
}

static void test_grad(void **state)
{
	hop_fn *f, *g;
	hop_spec spec = hop_spec1(HOP_f64, 3);
	hop_array *x = vec(3, (double[]){ 1, 0, 4 }), *y[2];
	(void)state;
	assert_int_equal(hop_capture(ctx, root_sum, NULL, 1, &spec, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(hop_call_with(f, 1, &x, 1, y, HOP_RUN_OPTS(.nan = HOP_NAN_INF)), HOP_OK);
	hop_array_release(y[0]);
	for (int w = 0; w < 2; w++) {
		assert_int_equal(hop_call_with(g, 1, &x, 2, y, HOP_RUN_OPTS(.nan = HOP_NAN_INF,
		                               .interpret = w)), HOP_ENAN);
		says((enum way)w, (const char *[]){ "nan_test.c:", "div: makes nan in element [1] of f64[3], "
		                                    "from 0.0 and 0.0, in the derivative of sqrt", NULL });
	}
	hop_fn_release(f);
	hop_fn_release(g);
	hop_array_release(x);
}

static void lane(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], n = hop_scalar(t, HOP_f64, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, n, hop_min(t, x, hop_f(t, 5))), n, x) {
		n = hop_addf(t, n, 1);
		x = hop_add(t, x, hop_div(t, hop_f(t, 0.001), hop_subf(t, x, 3.5)));
	}
	hop_return(t, x);
}

static void test_lanes(void **state)
{
	hop_fn *f, *g;
	hop_spec spec = hop_spec0(HOP_f64);
	const bool batched = true;
	hop_array *y, *x = vec(3, (double[]){ 0, 3.5, 9 }), *ok = vec(2, (double[]){ 0, 5 });
	(void)state;
	assert_int_equal(hop_capture(ctx, lane, NULL, 1, &spec, &f), HOP_OK);
	assert_int_equal(hop_vmap(f, &batched, -1, &g), HOP_OK);
	for (int w = 0; w < 2; w++) {
		const hop_run_opts *o = HOP_RUN_OPTS(.nan = HOP_NAN_INF, .interpret = w);
		assert_int_equal(hop_call_with(g, 1, &x, 1, &y, o), HOP_ENAN);
		says((enum way)w, (const char *[]){ "div: makes inf in element [1] of f64[3], from 0.001 and "
		                                    "0.0", "body of while, trip 0", NULL });
		assert_int_equal(hop_call_with(g, 1, &ok, 1, &y, o), HOP_OK);
		hop_array_release(y);
	}
	hop_array_release(x);
	hop_array_release(ok);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- effects, writes, options ---- */

static void tells(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_print(t, "x is {}", 1, in);
	hop_value y = hop_log(t, in[0]);
	hop_copy_(t, in[0], y);
	hop_return(t, y);
}

/* Lines on the standard output of one call. */
static int lines_of(hop_fn *f, hop_array *x, hop_status want)
{
	FILE *to = tmpfile();
	hop_array *y;
	int n = 0, c;
	assert_non_null(to);
	fflush(stdout);
	FILE *was = stdout;
	stdout = to;
	hop_status st = hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.nan = HOP_NAN_INF));
	stdout = was;
	assert_int_equal(st, want);
	hop_array_release(y);
	rewind(to);
	while ((c = getc(to)) != EOF)
		n += c == '\n';
	fclose(to);
	return n;
}

static void test_effects(void **state)
{
	hop_fn *f;
	hop_spec spec = hop_spec1(HOP_f64, 2);
	hop_array *bad = vec(2, (double[]){ 1, 0 }), *good = vec(2, (double[]){ 1, 2 });
	(void)state;
	assert_int_equal(hop_capture(ctx, tells, NULL, 1, &spec, &f), HOP_OK);
	assert_int_equal(lines_of(f, bad, HOP_ENAN), 1);
	assert_true(hop_array_at(bad, 0) == 1 && hop_array_at(bad, 1) == 0);     /* not written */
	assert_int_equal(lines_of(f, good, HOP_OK), 1);
	assert_true(hop_array_at(good, 0) == 0);
	hop_array_release(bad);
	hop_array_release(good);
	hop_fn_release(f);
}

static void test_options(void **state)
{
	hop_ctx *c, *was = ctx;
	hop_array *y;
	(void)state;
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.nan = (hop_nan)9), &c), HOP_EVALUE);
	assert_int_equal(go(left_out, COMPILED, (hop_nan)-1, 1, (double[]){ 1 }, &y), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "option nan is -1"));
	assert_int_equal(go(left_out, EAGER, (hop_nan)4, 1, (double[]){ 1 }, &y), HOP_EVALUE);
	assert_int_equal(hop_ctx_new(HOP_CTX_OPTS(.nan = HOP_NAN_ONLY), &ctx), HOP_OK);
	assert_int_equal(go(halves, COMPILED, HOP_NAN_OFF, 1, (double[]){ 10 }, &y), HOP_ENAN);
	hop_ctx_free(ctx);
	setenv("HOP_NAN", "some", 1);
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_EVALUE);
	setenv("HOP_NAN", "1", 1);
	assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
	unsetenv("HOP_NAN");
	assert_int_equal(go(loops, COMPILED, HOP_NAN_OFF, 1, (double[]){ 4 }, &y), HOP_ENAN);
	assert_int_equal(go(loops, EAGER, HOP_NAN_OFF, 1, (double[]){ 4 }, &y), HOP_ENAN);
	hop_ctx_free(ctx);
	ctx = was;
}

static int setup(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx);
}

static int teardown(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops), cmocka_unit_test(test_while), cmocka_unit_test(test_none),
		cmocka_unit_test(test_grad), cmocka_unit_test(test_lanes), cmocka_unit_test(test_effects),
		cmocka_unit_test(test_options),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
