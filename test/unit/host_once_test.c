/* host_once_test.c -- the host is asked once: under derivatives of loops that keep all, or are run
 * again, in checkpoints, on threads, while NaNs are looked for; and runs that end in the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;
static int calls;
static pthread_t caller;
static bool strange;                   /* called by a thread that did not start the run */
static hop_cancel stop;

#define OK(e) do { if (e) fail_msg("%s: %s", #e, hop_message(ctx)); } while (0)

/* 1, 2, 3, ..: what is asked twice answers otherwise. */
static hop_status next(const hop_host_call *c)
{
	strange |= !pthread_equal(caller, pthread_self());
	*(double *)c->out[0].data = ++calls;
	return HOP_OK;
}

static hop_status late(const hop_host_call *c)
{
	*(double *)c->out[0].data = 1;
	if (++calls == 3)
		return hop_host_fail(c, HOP_EIO, "the third time is too much");
	return HOP_OK;
}

static hop_status cancels(const hop_host_call *c)
{
	*(double *)c->out[0].data = 1;
	if (++calls == 3)
		hop_cancel_set(&stop);
	return HOP_OK;
}

/* Gives NaN; it changes nothing, so that it may be asked again. */
static hop_status nan_of(const hop_host_call *c)
{
	calls++;
	*(double *)c->out[0].data = NAN;
	return HOP_OK;
}

static hop_value ask(hop_trace *t, const char *name)
{
	hop_result r = hop_result_of(HOP_f64, 0, NULL);
	hop_value y;
	hop_host(t, name, 0, NULL, 1, &r, &y);
	return y;
}

/* ---- x * 1 * 2 * 3 * 4, written in many ways: its slope is 24 ---- */

static void step(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], ask(t, user ? user : "next")));
}

static void plain(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 4, x)
		x = hop_mul(t, x, ask(t, "next"));
	hop_return(t, x);
}

static void scan_with(hop_trace *t, hop_value x, const hop_scan_opts *o)
{
	hop_value out;
	hop_scan(t, step, NULL, 1, &x, 0, NULL, o, 1, &out, NULL);
	hop_return(t, out);
}

static void every(hop_trace *t, const hop_value *in, void *user)
{
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(4), .every = 2 };
	(void)user;
	scan_with(t, in[0], &o);
}

static void slots(hop_trace *t, const hop_value *in, void *user)
{
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(4), .slots = 2 };
	(void)user;
	scan_with(t, in[0], &o);
}

static void whiled(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], i = hop_i(t, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, i, hop_i(t, 4)), x, i) {
		x = hop_mul(t, x, ask(t, "next"));
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

static void branched(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 4, x)
		HOP_IF(t, hop_gt(t, x, hop_f(t, 0)), x)
			x = hop_mul(t, x, ask(t, "next"));
	hop_return(t, x);
}

static void four(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 4; i++)
		x = hop_mul(t, x, ask(t, "next"));
	hop_return(t, x);
}

static void checkpointed(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_checkpoint(t, four, NULL, NULL, 1, in, 1, &y);
	hop_return(t, y);
}

static void region(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 4; i++)
		hop_region(t, "step", step, NULL, 1, &x, 1, &x);
	hop_return(t, x);
}

static double slope(hop_body *f, bool interpret, hop_status want)
{
	hop_spec spec = hop_spec0(HOP_f64);
	double v = 1, s = 0;
	hop_fn *fn, *g;
	hop_array *x, *y[2];
	calls = 0;
	OK(hop_capture(ctx, f, NULL, 1, &spec, &fn));
	hop_status st = hop_grad(fn, 1, (int[]){ 0 }, &g);
	hop_fn_release(fn);
	if (st != want)
		fail_msg("%d: %s", (int)st, hop_message(ctx));
	if (st)
		return 0;
	OK(hop_array_new(ctx, HOP_f64, 0, NULL, &v, &x));
	OK(hop_call_with(g, 1, &x, 2, y, HOP_RUN_OPTS(.interpret = interpret)));
	s = *(const double *)hop_array_data(y[1]);
	hop_array_release(x), hop_array_release(y[0]), hop_array_release(y[1]), hop_fn_release(g);
	return s;
}

static void test_once(void **state)
{
	hop_body *const kept[] = { plain, whiled, branched, four, checkpointed, region };
	hop_body *const again[] = { every, slots };
	(void)state;
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < sizeof kept / sizeof *kept; k++) {
			double s = slope(kept[k], i, HOP_OK);
			if (s != 24 || calls != 4)
				fail_msg("%d, %d: slope %g, %d calls", (int)k, i, s, calls);
		}
		for (size_t k = 0; k < sizeof again / sizeof *again; k++) {
			slope(again[k], i, HOP_EREFUSED);
			assert_non_null(strstr(hop_message(ctx), "would ask `next` of the host a second time"));
		}
	}
}

/* ---- runs that end in the middle of a loop ---- */

static void ends(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], i = hop_i(t, 0);
	HOP_WHILE(t, hop_lt(t, i, hop_i(t, 1000)), x, i) {
		x = hop_sin(t, hop_mul(t, x, ask(t, user)));
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

static hop_status run_grad(const char *name, bool interpret)
{
	hop_spec spec = hop_spec0(HOP_f64);
	double v = 1;
	hop_fn *fn, *g;
	hop_array *x, *y[2];
	calls = 0;
	OK(hop_capture(ctx, ends, (void *)(uintptr_t)name, 1, &spec, &fn));
	OK(hop_grad(fn, 1, (int[]){ 0 }, &g));
	OK(hop_array_new(ctx, HOP_f64, 0, NULL, &v, &x));
	hop_cancel_reset(&stop);
	hop_status st = hop_call_with(g, 1, &x, 2, y, HOP_RUN_OPTS(.interpret = interpret,
	                                                           .cancel = &stop));
	hop_array_release(x), hop_fn_release(fn), hop_fn_release(g);
	return st;
}

static void test_ends(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run_grad("late", i), HOP_EIO);
		assert_non_null(strstr(hop_message(ctx), "host function `late`: the third time is too much"));
		assert_int_equal(calls, 3);
		assert_int_equal(run_grad("cancels", i), HOP_ECANCELED);
		assert_true(calls <= 4);
	}
}

/* ---- threads ---- */

/* 64 lanes of work, with the host in each: asked by the thread that runs, one lane after the other. */
static void lane(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		x = hop_sin(t, hop_matmul(t, x, x));
	hop_return(t, hop_mul(t, x, ask(t, "next")));
}

static void test_threads(void **state)
{
	enum { LANES = 64, N = 24 };
	hop_spec spec = hop_spec2(HOP_f64, N, N);
	hop_fn *f, *vf;
	hop_array *x, *y;
	(void)state;
	calls = 0;
	strange = false;
	caller = pthread_self();
	OK(hop_capture(ctx, lane, NULL, 1, &spec, &f));
	OK(hop_vmap(f, (bool[]){ true }, LANES, &vf));
	OK(hop_array_new(ctx, HOP_f64, 3, (int64_t[]){ LANES, N, N }, NULL, &x));
	OK(hop_call(vf, 1, &x, 1, &y));
	assert_int_equal(calls, LANES);
	assert_false(strange);
	hop_array_release(x), hop_array_release(y), hop_fn_release(f), hop_fn_release(vf);
}

/* ---- NaN ---- */

static void makes_nan(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], ask(t, "nan_of")));
}

static void test_nan(void **state)
{
	hop_spec spec = hop_spec0(HOP_f64);
	double v = 1;
	hop_fn *f;
	hop_array *x, *y;
	(void)state;
	calls = 0;
	OK(hop_capture(ctx, makes_nan, NULL, 1, &spec, &f));
	OK(hop_array_new(ctx, HOP_f64, 0, NULL, &v, &x));
	assert_int_equal(hop_call_with(f, 1, &x, 1, &y, HOP_RUN_OPTS(.nan = HOP_NAN_ONLY)), HOP_ENAN);
	assert_int_equal(calls, 1);
	assert_non_null(strstr(hop_message(ctx), "host"));
	hop_array_release(x), hop_fn_release(f);
}

static int setup(void **state)
{
	(void)state;
	caller = pthread_self();
	return hop_ctx_new(&(hop_ctx_opts){ .size = sizeof(hop_ctx_opts), .threads = 4 }, &ctx) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "next", .run = next)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "late", .run = late)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "cancels", .run = cancels)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "nan_of", .run = nan_of));
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
		cmocka_unit_test(test_once), cmocka_unit_test(test_ends), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_nan)
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
