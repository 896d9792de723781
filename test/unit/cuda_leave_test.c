/* cuda_leave_test.c -- kernels that leave for the host and go on: behind a sum over blocks that come
 * and go, where one block is left, and a block that starts late must not take the second start for the
 * first; and in a loop of resident blocks. Needs a device, or the emulated one; without it all are
 * skipped. */
#include "cuda_rig.h"

#include "hop/host.h"

enum { N = 70000, TIMES = 6 };         /* elements: 34 blocks; each run has another order of blocks */
static int  asked;

static hop_status note(const hop_host_call *c)
{
	*(double *)c->out[0].data = 2 * *(const double *)c->in[0].data;
	asked++;
	return HOP_OK;
}

static int open_host(void **state)
{
	return open_cuda(state) || hop_host_add(ctx, HOP_HOST_DEF(.name = "note", .run = note)) != HOP_OK;
}

static hop_array *numbers(void)
{
	int64_t n = N;
	hop_array *x;
	ok(hop_array_new(ctx, HOP_f64, 1, &n, NULL, &x));
	for (int i = 0; i < N; i++)
		((double *)hop_array_data(x))[i] = 1e-5 * (i % 7);
	return x;
}

/* f on the device, some times, against the interpreter. It may print. */
static void judge(hop_fn *f, int nout)
{
	hop_array *x = numbers(), *dx, *want[3], *dy[3];
	ok(hop_call_with(f, 1, &x, nout, want, HOP_RUN_OPTS(.interpret = true)));
	ok(hop_array_to(x, far, &dx));
	for (int k = 0; k < TIMES; k++) {
		ok(hop_call(f, 1, &dx, nout, dy));
		for (int j = 0; j < nout; j++) {
			hop_array *y;
			ok(hop_array_to(dy[j], (hop_device){ 0, 0 }, &y));
			for (int64_t i = 0; i < hop_array_count(y); i++)
				if (!(fabs(hop_array_at(y, i) - hop_array_at(want[j], i)) <=
				      1e-9 * (1 + fabs(hop_array_at(want[j], i)))))
					fail_msg("run %d, result %d: element %d is %.17g, not %.17g", k, j, (int)i,
					         hop_array_at(y, i), hop_array_at(want[j], i));
			hop_array_release(y);
			hop_array_release(dy[j]);
		}
	}
	for (int j = 0; j < nout; j++)
		hop_array_release(want[j]);
	hop_array_release(dx);
	hop_array_release(x);
}

static hop_fn *captured(hop_body *body)
{
	hop_spec s = hop_spec1(HOP_f64, N);
	hop_fn *f;
	ok(hop_capture(ctx, body, NULL, 1, &s, &f));
	return f;
}

/* ---- behind a sum ---- */

static void grows(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_sum_all(t, hop_mul(t, in[0], in[0]));
	(void)user;
	HOP_WHILE(t, hop_lt(t, s, hop_f(t, 50)), s)
		s = hop_add(t, hop_mulf(t, s, 1.25), hop_sin(t, s));
	hop_return(t, s);
}

static void test_tape(void **state)
{
	(void)state;
	NEED_CUDA();
	hop_fn *f = captured(grows), *g;
	ok(hop_grad(f, 1, (const int[]){ 0 }, &g));
	judge(g, 2);
	hop_fn_release(g);
	hop_fn_release(f);
}

static void asks(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_sum_all(t, in[0]), y, z;
	(void)user;
	hop_host(t, "note", 1, &s, 1, (hop_result[]){ { .dtype = HOP_f64 } }, &y);
	y = hop_add(t, y, s);
	hop_host(t, "note", 1, &y, 1, (hop_result[]){ { .dtype = HOP_f64 } }, &z);
	hop_return(t, s, y, z);
}

static void test_host(void **state)
{
	(void)state;
	NEED_CUDA();
	hop_fn *f = captured(asks);
	asked = 0;
	judge(f, 3);
	assert_int_equal(asked, 2 * (TIMES + 1));
	hop_fn_release(f);
}

/* ---- all blocks ---- */

static void steps(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = hop_sum_all(t, x);
	(void)user;
	HOP_FOR(t, i, 3, x, y) {
		x = hop_addf(t, hop_sin(t, x), 0.001);
		hop_value s = hop_sum_all(t, x);
		hop_host(t, "note", 1, &s, 1, (hop_result[]){ { .dtype = HOP_f64 } }, &y);
		x = hop_mul(t, x, hop_cos(t, y));
	}
	hop_return(t, x, y);
}

static void test_resident(void **state)
{
	(void)state;
	NEED_CUDA();
	hop_fn *f = captured(steps);
	asked = 0;
	judge(f, 2);
	assert_int_equal(asked, 3 * (TIMES + 1));
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tape, open_host, close_ctx),
		cmocka_unit_test_setup_teardown(test_host, open_host, close_ctx),
		cmocka_unit_test_setup_teardown(test_resident, open_host, close_ctx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
