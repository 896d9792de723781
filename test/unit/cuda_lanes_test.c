/* cuda_lanes_test.c -- lanes on a device: loops whose lanes end at different trips, or go through the
 * same steps, each lane by a thread; lanes of many elements, together; what a map's steps carry. Against
 * the interpreter, with derivatives, stopped in the middle. Needs a device, or the emulated one; without
 * it all are skipped. */
#include "cuda_rig.h"

static hop_array *numbers(int rank, const int64_t *dim, double first, double step, int period)
{
	hop_array *x;
	ok(hop_array_new(ctx, HOP_f64, rank, dim, NULL, &x));
	double *v = hop_array_data(x);
	for (int64_t i = 0; i < hop_array_count(x); i++)
		v[i] = first + step * (double)(i % period);
	return x;
}

/* f on the device against f interpreted, twice: the second time as a graph. */
static void judge(hop_fn *f, int nin, hop_array **in, int nout)
{
	hop_array *y[6], *want[6];
	ok(hop_fn_compile(f, HOP_COMPILE_OPTS(.target = "cuda")));
	ok(hop_call_with(f, nin, in, nout, want, HOP_RUN_OPTS(.interpret = true)));
	for (int k = 0; k < 2; k++) {
		ok(hop_call(f, nin, in, nout, y));
		for (int r = 0; r < nout; r++) {
			for (int64_t i = 0; i < hop_array_count(want[r]); i++) {
				double a = hop_array_at(y[r], i), b = hop_array_at(want[r], i);
				if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b))))
					fail_msg("result %d, element %d is %.17g, not %.17g", r, (int)i, a, b);
			}
			hop_array_release(y[r]);
		}
	}
	for (int r = 0; r < nout; r++)
		hop_array_release(want[r]);
}

static hop_fn *lanes_of(hop_body *body, int nin, const hop_spec *spec, const bool *which, int64_t n)
{
	hop_fn *f, *g;
	ok(hop_capture(ctx, body, NULL, nin, spec, &f));
	ok(hop_vmap(f, which, n, &g));
	hop_fn_release(f);
	return g;
}

/* ---- loops that end at different trips ---- */

enum { LANES = 1500, MOST = 9 };
static const bool both[] = { true, true };

/* As many trips as the second says, none of some; the number of them counts too. */
static void trips(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], i = hop_scalar(t, HOP_f64, 0), n;
	(void)user;
	HOP_WHILE(t, hop_lt(t, i, in[1]), x, i) {
		x = hop_add(t, hop_mulf(t, hop_sin(t, x), 1.25), hop_mulf(t, i, 0.125));
		i = hop_addf(t, i, 1);
	}
	n = hop_mulf(t, i, 2);
	hop_return(t, x, n);
}

static void test_trips(void **state)
{
	const hop_spec s[] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	const int64_t  count[] = { 1, 3, 40, LANES };
	(void)state;
	NEED_CUDA();
	for (int k = 0; k < 4; k++) {
		hop_fn *f = lanes_of(trips, 2, s, both, count[k]);
		hop_array *in[] = { numbers(1, &count[k], 0.1, 0.01, 37), numbers(1, &count[k], 0, 1, 7) };
		judge(f, 2, in, 2);
		hop_array_release(in[0]), hop_array_release(in[1]), hop_fn_release(f);
	}
}

/* A loop in a loop, carries of some elements, a branch; derivatives need a bound. */
static void inner(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], i = hop_scalar(t, HOP_f64, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, i, hop_sum_all(t, in[1])), x, i) {
		hop_value k = hop_scalar(t, HOP_f64, 0), first = hop_index(t, x, 0, 0);
		hop_bound(t, MOST);
		HOP_WHILE(t, hop_lt(t, k, i), x, k) {
			hop_bound(t, MOST);
			x = hop_mulf(t, hop_sin(t, hop_add(t, x, in[1])), 0.75);
			k = hop_addf(t, k, 1);
		}
		HOP_IF(t, hop_lt(t, first, hop_f(t, 0.5)), x)
			x = hop_add(t, x, hop_mulf(t, first, 0.25));
		else
			x = hop_cos(t, x);
		i = hop_addf(t, i, 1);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)));
}

static void test_inner(void **state)
{
	const hop_spec s[] = { hop_spec1(HOP_f64, 3), hop_spec1(HOP_f64, 3) };
	const int64_t  dim[] = { 70, 3 };
	hop_fn *f, *g, *v;
	(void)state;
	NEED_CUDA();
	hop_array *in[] = { numbers(2, dim, 0.2, 0.05, 23), numbers(2, dim, 0, 0.25, 6) };
	ok(hop_capture(ctx, inner, NULL, 2, s, &f));
	ok(hop_vmap(f, both, dim[0], &v));
	judge(v, 2, in, 1);
	hop_fn_release(v);
	ok(hop_grad(f, 2, (const int[]){ 0, 1 }, &g));
	ok(hop_vmap(g, both, dim[0], &v));
	judge(v, 2, in, 3);
	hop_fn_release(v), hop_fn_release(g), hop_fn_release(f);
	hop_array_release(in[0]), hop_array_release(in[1]);
}

/* Lanes that are more than a thread has: they go together until the last ends. */
static void wide(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], i = hop_scalar(t, HOP_f64, 0);
	(void)user;
	HOP_WHILE(t, hop_lt(t, i, in[1]), x, i) {
		x = hop_sub(t, hop_mulf(t, x, 1.5), hop_mulf(t, hop_sum_all(t, x), 0.01));
		i = hop_addf(t, i, 1);
	}
	hop_return(t, x);
}

static void test_wide(void **state)
{
	const hop_spec s[] = { hop_spec1(HOP_f64, 50), hop_spec0(HOP_f64) };
	const int64_t  dim[] = { 6, 50 };
	(void)state;
	NEED_CUDA();
	hop_fn *f = lanes_of(wide, 2, s, both, dim[0]);
	hop_array *in[] = { numbers(2, dim, 0.2, 0.05, 23), numbers(1, dim, 0, 1, 5) };
	judge(f, 2, in, 1);
	hop_array_release(in[0]), hop_array_release(in[1]), hop_fn_release(f);
}

/* ---- the same steps ---- */

/* What is stacked goes by steps, then by lanes. */
static void steps(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], w = in[1], all;
	(void)user;
	HOP_FOR(t, i, 12, a, w) {
		w = hop_sub(t, w, hop_mulf(t, hop_sin(t, a), 0.1));
		a = hop_add(t, a, hop_mulf(t, w, 0.1));
		hop_stack(t, &all, a);
	}
	hop_return(t, hop_mul(t, a, hop_sum_all(t, all)), w);
}

static void test_steps(void **state)
{
	const hop_spec s[] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	const int64_t  n = LANES;
	hop_fn *f, *g, *v;
	(void)state;
	NEED_CUDA();
	hop_array *in[] = { numbers(1, &n, 0.1, 0.01, 37), numbers(1, &n, 0, 0.1, 7) };
	ok(hop_capture(ctx, steps, NULL, 2, s, &f));
	ok(hop_vmap(f, both, n, &v));
	judge(v, 2, in, 2);
	hop_fn_release(v);
	ok(hop_grad(f, 2, (const int[]){ 0, 1 }, &g));
	ok(hop_vmap(g, both, n, &v));
	judge(v, 2, in, 4);
	hop_fn_release(v), hop_fn_release(g), hop_fn_release(f);
	hop_array_release(in[0]), hop_array_release(in[1]);
}

/* A map over rows, whose steps have loops: of none, and of some. */
static void mapped(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	HOP_MAP(t, i, 300) {
		hop_value x = hop_take(t, in[0], i), n = hop_take(t, in[1], i), k = hop_scalar(t, HOP_f64, 0);
		hop_value a = hop_index(t, x, 0, 0), b = hop_index(t, x, 0, 1);
		HOP_WHILE(t, hop_lt(t, k, n), a, b, k) {
			hop_value was = a;
			a = hop_cos(t, hop_add(t, a, b));
			b = hop_mulf(t, was, 0.5);
			k = hop_addf(t, k, 1);
		}
		hop_stack(t, &y, hop_sub(t, a, b));
	}
	hop_return(t, y);
}

static void test_mapped(void **state)
{
	const hop_spec s[] = { hop_spec2(HOP_f64, 300, 2), hop_spec1(HOP_f64, 300) };
	const int64_t  dim[] = { 300, 2 };
	hop_fn *f;
	(void)state;
	NEED_CUDA();
	hop_array *in[] = { numbers(2, dim, 0.2, 0.05, 23), numbers(1, dim, 0, 1, 6) };
	ok(hop_capture(ctx, mapped, NULL, 2, s, &f));
	judge(f, 2, in, 1);
	hop_array_release(in[0]), hop_array_release(in[1]), hop_fn_release(f);
}

/* ---- before what all do together ---- */

enum { FEW = 40, LONG = 2500 };

/* Lanes take unlike trips, and then threads wait for each other in more steps than they do without
 * looking whether they are to stop. */
static void together(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x;
	(void)user;
	HOP_MAP(t, i, FEW) {
		hop_value a = hop_take(t, in[0], i), n = hop_take(t, in[1], i), k = hop_scalar(t, HOP_f64, 0);
		HOP_WHILE(t, hop_lt(t, k, n), a, k) {
			a = hop_mulf(t, hop_cos(t, a), 0.5);
			k = hop_addf(t, k, 1);
		}
		hop_stack(t, &x, a);
	}
	HOP_FOR(t, j, LONG, x) {
		hop_value left = hop_concat(t, 2, (hop_value[]){ hop_narrow(t, x, 0, FEW - 1, 1),
		                                                 hop_narrow(t, x, 0, 0, FEW - 1) }, 0);
		x = hop_add(t, hop_mulf(t, x, 0.5), hop_mulf(t, left, 0.5));
	}
	hop_return(t, x);
}

static void test_together(void **state)
{
	const hop_spec s[] = { hop_spec1(HOP_f64, FEW), hop_spec1(HOP_f64, FEW) };
	const int64_t  n = FEW;
	hop_fn *f;
	(void)state;
	NEED_CUDA();
	hop_array *in[] = { numbers(1, &n, 0.2, 0.05, 23), numbers(1, &n, 0, 5, 7) };
	ok(hop_capture(ctx, together, NULL, 2, s, &f));
	judge(f, 2, in, 1);
	hop_array_release(in[0]), hop_array_release(in[1]), hop_fn_release(f);
}

/* ---- stopped ---- */

static void endless(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 1e9)), x, y) {
		HOP_WHILE(t, hop_lt(t, y, hop_f(t, 1e9)), y)
			y = hop_mulf(t, y, 0.5);
		x = hop_mulf(t, hop_add(t, x, y), 0.25);
	}
	hop_return(t, x);
}

/* Threads look by themselves, and leave the loops around too; then the function can be run again. */
static void test_canceled(void **state)
{
	const hop_spec s = hop_spec0(HOP_f64);
	const int64_t  n = 5;
	(void)state;
	NEED_CUDA();
	hop_fn *f = lanes_of(endless, 1, &s, both, n);
	ok(hop_fn_compile(f, HOP_COMPILE_OPTS(.target = "cuda")));
	hop_array *x = numbers(1, &n, 0, 1, 7);
	judge_canceled(f, x);
	hop_array_release(x);
	hop_fn_release(f);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_cuda, close_ctx)
	const struct CMUnitTest tests[] = {
		TEST(test_trips), TEST(test_inner), TEST(test_wide), TEST(test_steps), TEST(test_mapped),
		TEST(test_together), TEST(test_canceled),
	};
#undef TEST
	return cmocka_run_group_tests(tests, NULL, NULL);
}
