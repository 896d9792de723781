/* cuda_loop_test.c -- loops of a host's list: their trips are kernels of a graph, and the device decides
 * whether there is another. HOP_CUDA_LOOPS=1 makes one of every loop that can be. Needs a device, or the
 * emulated one; without it all are skipped. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "numbers_rig.h"

#include "hop/host.h"
#include "hop/run.h"

enum { N = 300, M = 20 };
static hop_device far;
static bool absent;

static int open_cuda(void **state)
{
	setenv("HOP_CUDA_LOOPS", "1", 1);
	if (open_ctx(state))
		return 1;
	absent = hop_device_find(ctx, "cuda", &far) != HOP_OK;
	if (absent)
		print_message("skipped: no device (%s)\n", hop_message(ctx));
	return 0;
}

static hop_array *ramp(double first)
{
	double v[N];
	int64_t n = N;
	hop_array *x;
	for (int i = 0; i < N; i++)
		v[i] = first + 0.01 * i;
	ok(hop_array_new(ctx, HOP_f64, 1, &n, v, &x));
	return x;
}

/* The function on the device for each number, three times over: a plan and its graph are used again. */
static void judge(hop_body *body, int count, const double *first)
{
	hop_spec s = hop_spec1(HOP_f64, N);
	hop_fn *f;
	if (absent)
		skip();
	ok(hop_capture(ctx, body, NULL, 1, &s, &f));
	for (int k = 0; k < 3 * count; k++) {
		hop_array *x = ramp(first[k % count]), *dx, *dy, *y, *want;
		ok(hop_array_to(x, far, &dx));
		ok(hop_call(f, 1, &dx, 1, &dy));
		ok(hop_array_to(dy, (hop_device){ 0, 0 }, &y));
		ok(hop_call_with(f, 1, &x, 1, &want, HOP_RUN_OPTS(.interpret = true)));
		const double *a = hop_array_data(y), *b = hop_array_data(want);
		for (int64_t i = 0; i < hop_array_count(want); i++)
			if (!(fabs(a[i] - b[i]) <= 1e-9 * (1 + fabs(b[i]))))
				fail_msg("from %g: element %d is %.17g, not %.17g", first[k % count], (int)i, a[i],
				         b[i]);
		hop_array_release(want);
		hop_array_release(y);
		hop_array_release(dy);
		hop_array_release(dx);
		hop_array_release(x);
	}
	hop_fn_release(f);
}

/* Each element by its neighbours: nests that meet. */
static hop_value near(hop_trace *t, hop_value x)
{
	hop_value left = hop_concat(t, 2, (hop_value[]){ hop_narrow(t, x, 0, N - 1, 1),
	                                                 hop_narrow(t, x, 0, 0, N - 1) }, 0);
	return hop_add(t, hop_mulf(t, x, 0.5), hop_mulf(t, hop_sin(t, left), 0.5));
}

/* ---- so many trips ---- */

/* No multiple of how many are told at once; the step counts too. */
static void steps(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, M + 1, x)
		x = hop_add(t, near(t, x), hop_mulf(t, hop_cast(t, i, HOP_f64), 0.01));
	HOP_FOR_DOWN(t, i, 3, x)
		x = hop_sub(t, near(t, x), hop_mulf(t, hop_cast(t, i, HOP_f64), 0.1));
	hop_return(t, x);
}

static void test_steps(void **state)
{
	(void)state;
	judge(steps, 2, (const double[]){ 0, 1 });
}

/* ---- as long as ---- */

/* 0, 1, a few, and many trips, by what it is given. */
static void decide(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, hop_sum_all(t, x), hop_f(t, 5000.0)), x)
		x = hop_addf(t, near(t, x), 20.0);
	hop_return(t, x);
}

static void test_decide(void **state)
{
	(void)state;
	judge(decide, 4, (const double[]){ 40, 10, 0, -1000 });
}

/* ---- in each other ---- */

static void nested(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], k = hop_i(t, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, k, hop_i(t, 5)), k, x) {
		HOP_WHILE(t, hop_lt(t, hop_sum_all(t, x), hop_mulf(t, hop_cast(t, k, HOP_f64), 300.0)), x)
			x = hop_addf(t, near(t, x), 4.0);
		HOP_FOR(t, i, 3, x)
			x = hop_mulf(t, near(t, x), 0.9);
		k = hop_add(t, k, hop_i(t, 1));
	}
	hop_return(t, x);
}

static void test_nested(void **state)
{
	(void)state;
	judge(nested, 2, (const double[]){ 0, 2 });
}

/* ---- the host is asked before and after ---- */

static int asked;

static hop_status note(const hop_host_call *c)
{
	const double *x = c->in[0].data;
	*(double *)c->out[0].data = x[0] + x[N - 1];
	asked++;
	return HOP_OK;
}

static void around(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y;
	(void)user;
	HOP_FOR(t, i, 9, x)
		x = near(t, x);
	hop_host(t, "note", 1, &x, 1, (hop_result[]){ { .dtype = HOP_f64 } }, &y);
	HOP_FOR(t, i, 5, x)
		x = hop_add(t, near(t, x), y);
	hop_print(t, "between {}", 1, &y);
	hop_host(t, "note", 1, &x, 1, (hop_result[]){ { .dtype = HOP_f64 } }, &y);
	x = hop_add(t, x, y);
	HOP_WHILE(t, hop_lt(t, hop_sum_all(t, x), hop_f(t, 2000.0)), x)
		x = hop_addf(t, x, 1.0);
	hop_return(t, x);
}

static void test_around(void **state)
{
	(void)state;
	ok(hop_host_add(ctx, HOP_HOST_DEF(.name = "note", .run = note)));
	asked = 0;
	judge(around, 1, (const double[]){ 1 });
	assert_int_equal(asked, absent ? 0 : 12);
}

/* ---- stopped ---- */

static void endless(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, hop_sum_all(t, x), hop_f(t, 1e9)), x, y) {
		HOP_WHILE(t, hop_lt(t, hop_sum_all(t, y), hop_f(t, 1e9)), y)
			y = hop_mulf(t, near(t, y), 0.5);
		x = hop_mulf(t, near(t, x), 0.5);
	}
	hop_return(t, x);
}

static void *stop_soon(void *c)
{
	struct timespec w = { .tv_nsec = 40000000 };
	nanosleep(&w, NULL);
	hop_cancel_set(c);
	return NULL;
}

/* The loop around one that was stopped ends too, and the function can be run again. */
static void test_canceled(void **state)
{
	hop_spec s = hop_spec1(HOP_f64, N);
	hop_array *x, *dx, *y = NULL;
	hop_fn *f;
	pthread_t th;
	(void)state;
	if (absent)
		skip();
	ok(hop_capture(ctx, endless, NULL, 1, &s, &f));
	x = ramp(0);
	ok(hop_array_to(x, far, &dx));
	for (int k = 0; k < 2; k++) {
		hop_cancel c = { 0 };
		alarm(100);
		assert_int_equal(pthread_create(&th, NULL, stop_soon, &c), 0);
		assert_int_equal(hop_call_with(f, 1, &dx, 1, &y, HOP_RUN_OPTS(.cancel = &c)), HOP_ECANCELED);
		pthread_join(th, NULL);
		alarm(0);
	}
	hop_array_release(dx);
	hop_array_release(x);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steps, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_decide, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_nested, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_around, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_canceled, open_cuda, close_ctx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
