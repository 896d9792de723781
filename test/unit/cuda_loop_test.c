/* cuda_loop_test.c -- loops and branches of a host's list: their trips are kernels of a graph, and the
 * device decides whether there is another. HOP_CUDA_LOOPS=1 makes one of every loop and branch that can
 * be. Needs a device, or the emulated one; without it all are skipped. */
#include "cuda_rig.h"

#include "hop/host.h"

enum { N = 300, M = 20 };

static int open_lists(void **state)
{
	setenv("HOP_CUDA_LOOPS", "1", 1);
	return open_cuda(state);
}

static hop_array *ramp(int64_t n, double first)
{
	hop_array *x;
	ok(hop_array_new(ctx, HOP_f64, 1, &n, NULL, &x));
	double *v = hop_array_data(x);
	for (int64_t i = 0; i < n; i++)
		v[i] = first + 0.01 * (double)(i % N);
	return x;
}

/* The function on the device for each number, three times over: a plan and its graph are used again. */
static void judge_of(int64_t n, hop_body *body, int count, const double *first)
{
	hop_spec s = hop_spec1(HOP_f64, n);
	hop_fn *f;
	NEED_CUDA();
	ok(hop_capture(ctx, body, NULL, 1, &s, &f));
	for (int k = 0; k < 3 * count; k++) {
		hop_array *x = ramp(n, first[k % count]), *dx, *dy, *y, *want;
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

static void judge(hop_body *body, int count, const double *first)
{
	judge_of(N, body, count, first);
}

/* Each of n elements by its neighbours: nests that meet. */
static hop_value near_of(hop_trace *t, hop_value x, int64_t n)
{
	hop_value left = hop_concat(t, 2, (hop_value[]){ hop_narrow(t, x, 0, n - 1, 1),
	                                                 hop_narrow(t, x, 0, 0, n - 1) }, 0);
	return hop_add(t, hop_mulf(t, x, 0.5), hop_mulf(t, hop_sin(t, left), 0.5));
}

static hop_value near(hop_trace *t, hop_value x)
{
	return near_of(t, x, N);
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

/* ---- by twos ---- */

enum { WIDE = 5000 };                /* a state that is not copied from step to step */

static hop_value wide(hop_trace *t, hop_value x)
{
	return near_of(t, x, WIDE);
}

/* Even and odd numbers of steps, none, one that only the run knows; small carries beside. */
static void twos(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y, k = hop_scalar(t, HOP_f64, 0);
	hop_value n = hop_cast(t, hop_index(t, x, 0, 0), HOP_i64);
	(void)user;
	HOP_FOR(t, i, 4, x, k) {
		x = hop_add(t, wide(t, x), hop_mulf(t, hop_cast(t, i, HOP_f64), 0.01));
		k = hop_add(t, k, hop_index(t, x, 0, 7));
	}
	HOP_FOR_DOWN(t, i, 3, x)
		x = hop_sub(t, wide(t, x), hop_mulf(t, hop_cast(t, i, HOP_f64), 0.1));
	HOP_FOR(t, i, 0, x)
		x = hop_addf(t, wide(t, x), 1);
	HOP_FOR_DOWN(t, i, 1, x)
		x = hop_add(t, wide(t, x), hop_cast(t, i, HOP_f64));
	y = x;
	HOP_FOR_DOWN(t, i, 4, y, k) {
		y = hop_add(t, wide(t, y), hop_mulf(t, hop_cast(t, i, HOP_f64), 0.02));
		k = hop_add(t, hop_mulf(t, k, 0.5), hop_index(t, y, 0, 9));
	}
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), x, y, n) {
		hop_value z = hop_add(t, wide(t, x), hop_mulf(t, y, 0.1));
		y = hop_sub(t, wide(t, y), hop_mulf(t, x, 0.1));
		x = z;
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, hop_add(t, hop_add(t, x, y), k));
}

/* A sum decides, in a loop of steps. */
static void twos_within(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x) {
		HOP_WHILE(t, hop_lt(t, hop_sum_all(t, x), hop_mulf(t, hop_cast(t, i, HOP_f64), 7000)), x)
			x = hop_addf(t, wide(t, x), 2);
		HOP_FOR(t, j, 3, x)
			x = hop_mulf(t, wide(t, x), 0.75);
	}
	hop_return(t, x);
}

static void judge_twos(void)
{
	judge_of(WIDE, twos, 5, (const double[]){ 0, 1, 2, 3, 6 });
	judge_of(WIDE, twos_within, 2, (const double[]){ 0, 3 });
}

static void test_twos(void **state)
{
	(void)state;
	judge_twos();
}

/* The same by one kernel, or a few: all of the device are there at once. */
static void test_twos_resident(void **state)
{
	(void)state;
	unsetenv("HOP_CUDA_LOOPS");
	judge_twos();
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

static void judge_asked(void)
{
	ok(hop_host_add(ctx, HOP_HOST_DEF(.name = "note", .run = note)));
	asked = 0;
	judge(around, 1, (const double[]){ 1 });
	assert_int_equal(asked, absent ? 0 : 12);
}

static void test_around(void **state)
{
	(void)state;
	judge_asked();
}

/* ---- branches ---- */

/* Both sides, one of them with a loop in it; then one side that leaves everything as it is. */
static void branches(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_IF(t, hop_lt(t, hop_sum_all(t, x), hop_f(t, 700)), x) {
		HOP_FOR(t, i, 3, x)
			x = near(t, x);
		x = hop_softmax(t, x, 0);
	} else {
		x = hop_mulf(t, near(t, x), 0.5);
	}
	HOP_IF(t, hop_lt(t, hop_index(t, x, 0, 3), hop_f(t, 0.1)), x)
		x = near(t, hop_addf(t, x, 1));
	hop_return(t, x);
}

static void test_branches(void **state)
{
	(void)state;
	judge(branches, 3, (const double[]){ 0, 1, 4 });
}

/* Trips take either side, and trips that are told and are not there take none. */
static void turns(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], n = hop_scalar(t, HOP_f64, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, n, hop_index(t, in[0], 0, 0)), x, n) {
		hop_value even = hop_lt(t, hop_sub(t, hop_mulf(t, n, 0.5), hop_floor(t, hop_mulf(t, n, 0.5))),
		                        hop_f(t, 0.25));
		HOP_IF(t, even, x)
			x = near(t, x);
		else
			x = hop_addf(t, near(t, hop_mulf(t, x, 0.75)), 0.125);
		n = hop_addf(t, n, 1);
	}
	hop_return(t, x);
}

/* One side, in the place of what it changes: a trip that is not there must not take the one that
 * the last trip took. */
static void in_place(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], n = hop_scalar(t, HOP_f64, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, n, hop_index(t, in[0], 0, 0)), x, n) {
		n = hop_addf(t, n, 1);
		HOP_IF(t, hop_lt(t, hop_sub(t, hop_mulf(t, n, 0.5), hop_floor(t, hop_mulf(t, n, 0.5))),
		                 hop_f(t, 0.25)), x)
			x = hop_addf(t, x, 3);
	}
	hop_return(t, x);
}

static void test_turns(void **state)
{
	(void)state;
	judge(in_place, 3, (const double[]){ 0, 1, 4 });
	judge(turns, 4, (const double[]){ 0, 1, 5, 12 });
}

/* ---- kernels that start early ---- */

/* Nests one after the other, that read what others wrote; behind a sum, around a loop. */
static void rows(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = near(t, in[0]);
	(void)user;
	x = near(t, hop_div(t, x, hop_sum_all(t, hop_mul(t, x, x))));
	HOP_FOR(t, i, 3, x)
		x = near(t, x);
	hop_return(t, near(t, near(t, x)));
}

/* It is asked for when a program is compiled; the second run of it is a graph. */
static void test_early(void **state)
{
	(void)state;
	setenv("HOP_CUDA_EARLY", "1", 1);
	judge(rows, 2, (const double[]){ 0, 3 });
	judge(turns, 2, (const double[]){ 1, 6 });
	unsetenv("HOP_CUDA_EARLY");
}

/* ---- trips that the host takes ---- */

/* Who waits for every kernel asks the device before each trip, or so many at once. Under tools that lose
 * their way in conditional nodes all tests do. */
static void test_careful(void **state)
{
	bool always = getenv("HOP_CUDA_WAIT") != NULL;
	(void)state;
	setenv("HOP_CUDA_WAIT", "1", 1);
	judge_twos();
	judge(nested, 1, (const double[]){ 2 });
	judge(branches, 2, (const double[]){ 0, 4 });
	judge(in_place, 2, (const double[]){ 1, 4 });
	judge(turns, 3, (const double[]){ 0, 1, 12 });
	judge_asked();
	if (!always)
		unsetenv("HOP_CUDA_WAIT");
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

/* The loop around one that was stopped ends too, and the function can be run again. */
static void test_canceled(void **state)
{
	hop_spec s = hop_spec1(HOP_f64, N);
	hop_array *x, *dx;
	hop_fn *f;
	(void)state;
	NEED_CUDA();
	ok(hop_capture(ctx, endless, NULL, 1, &s, &f));
	x = ramp(N, 0);
	ok(hop_array_to(x, far, &dx));
	judge_canceled(f, dx);
	hop_array_release(dx);
	hop_array_release(x);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steps, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_twos, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_twos_resident, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_decide, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_nested, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_around, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_branches, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_turns, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_early, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_careful, open_lists, close_ctx),
		cmocka_unit_test_setup_teardown(test_canceled, open_lists, close_ctx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
