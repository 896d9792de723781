/* split_test.c -- the reverse derivative in two halves: the same gradients for any budget,
 * and fewer saved values for a smaller one; random numbers are the same when recomputed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "hop/hop.h"

enum { N = 4, LAYERS = 5 };

/* W, x, key -> sum; each layer drops elements by chance and multiplies. */
static void net(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[1];
	(void)user;
	for (int i = 0; i < LAYERS; i++) {
		hop_value key = hop_fold_in(t, in[2], hop_i(t, i));
		hop_value u = hop_uniform(t, key, HOP_f64, 1, (const hop_dim[]){ hop_n(N) });
		hop_value y = hop_tanh(t, hop_matmul(t, in[0], x));
		x = hop_select(t, hop_lt(t, u, hop_f(t, 0.8)), y, hop_mulf(t, x, 0.5));
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)));
}

static void ok(hop_ctx *c, hop_status st)
{
	if (st)
		fail_msg("%s", hop_message(c));
}

static void test_budgets(void **state)
{
	hop_ctx *c;
	hop_fn *f, *g, *fwd, *bwd;
	hop_spec s[3] = { hop_spec2(HOP_f64, N, N), hop_spec1(HOP_f64, N), hop_spec0(HOP_i64) };
	const int wrt[2] = { 1, 0 };
	const double budget[3] = { 1, 0.5, 0 }, one = 1;
	const int64_t key = 42, dim[2] = { N, N };
	double W[N * N], x[N] = { 0.1, -0.2, 0.3, 0.7 };
	int saved[3];
	hop_array *in[3 + 1 + 64 + 1], *ref[3], *out[1 + 64], *grad[2];
	(void)state;
	for (int i = 0; i < N * N; i++)
		W[i] = sin(i + 1.0);
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	ok(c, hop_array_new(c, HOP_f64, 2, dim, W, &in[0]));
	ok(c, hop_array_new(c, HOP_f64, 1, dim, x, &in[1]));
	ok(c, hop_array_new(c, HOP_i64, 0, NULL, &key, &in[2]));
	ok(c, hop_capture(c, net, NULL, 3, s, &f));
	ok(c, hop_grad(f, 2, wrt, &g));
	ok(c, hop_call(g, 3, in, 3, ref));
	for (int b = 0; b < 3; b++) {
		ok(c, hop_split(f, 2, wrt, budget[b], &fwd, &bwd));
		int nout = hop_fn_nout(fwd);
		saved[b] = nout - 1;
		assert_true(saved[b] <= 64);
		assert_int_equal(hop_fn_nin(bwd), 3 + nout + 1);
		ok(c, hop_call(fwd, 3, in, nout, out));
		for (int i = 0; i < nout; i++)
			in[3 + i] = out[i];
		ok(c, hop_array_new(c, HOP_f64, 0, NULL, &one, &in[3 + nout]));
		ok(c, hop_call(bwd, 3 + nout + 1, in, 2, grad));
		for (int r = 0; r < 2; r++)
			for (int64_t i = 0; i < hop_array_count(grad[r]); i++)
				assert_true(fabs(hop_array_at(grad[r], i) - hop_array_at(ref[1 + r], i)) < 1e-12);
		for (int i = 0; i <= nout; i++)
			hop_array_release(in[3 + i]);
		hop_array_release(grad[0]);
		hop_array_release(grad[1]);
		hop_fn_release(fwd);
		hop_fn_release(bwd);
	}
	assert_true(saved[0] > saved[1]);
	assert_true(saved[1] > saved[2]);
	assert_int_equal(saved[2], 0);
	assert_int_equal(hop_split(f, 2, wrt, 1.5, &fwd, &bwd), HOP_EVALUE);
	assert_int_equal(hop_split(f, 2, wrt, NAN, &fwd, &bwd), HOP_EVALUE);
	assert_int_equal(hop_split(NULL, 2, wrt, 1, &fwd, &bwd), HOP_EUSE);
	for (int i = 0; i < 3; i++) {
		hop_array_release(in[i]);
		hop_array_release(ref[i]);
	}
	hop_fn_release(f);
	hop_fn_release(g);
	hop_ctx_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_budgets) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
