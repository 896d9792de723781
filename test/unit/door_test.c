/* door_test.c -- the hard door: no allocation, any strides, sizes checked, re-entrant, the
 * caller's own threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hop/compile.h"
#include "hop/hop.h"
#include "device_rig.h"

enum { N = 5, T = 7 };

static long allocations;

static void *counted(void *user, void *p, size_t osize, size_t nsize)
{
	(void)user;
	(void)osize;
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	if (!nsize) {
		free(p);
		return NULL;
	}
	return realloc(p, nsize);
}

static hop_ctx *open_ctx(void)
{
	hop_ctx_opts o = { .size = sizeof o, .alloc = counted };
	hop_ctx *c;
	assert_int_equal(hop_ctx_new(&o, &c), HOP_OK);
	return c;
}

static void ok(hop_ctx *c, hop_status st)
{
	if (st)
		fail_msg("%s", hop_message(c));
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = hop_tanh(t, hop_add(t, hop_matmul(t, *(hop_value *)user, in[0]), in[1]));
	hop_return(t, h, h);
}

/* W, h0, xs -> h, all of them */
static void rnn(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], W = in[0];
	(void)user;
	hop_scan(t, step, &W, 1, &in[1], 1, &in[2], NULL, 2, out, NULL);
	hop_return(t, out[0], out[1]);
}

static void reference(const double *W, const double *h0, const double *x, double *h,
                      double *all)
{
	memcpy(h, h0, N * sizeof *h);
	for (int t = 0; t < T; t++) {
		double z[N];
		for (int i = 0; i < N; i++) {
			z[i] = x[t * N + i];
			for (int k = 0; k < N; k++)
				z[i] += W[i * N + k] * h[k];
		}
		for (int i = 0; i < N; i++)
			all[t * N + i] = h[i] = tanh(z[i]);
	}
}

static void fill(double *p, int n, double s)
{
	for (int i = 0; i < n; i++)
		p[i] = sin(s * (i + 1));
}

static void near(const double *a, const double *b, int n)
{
	for (int i = 0; i < n; i++)
		assert_true(fabs(a[i] - b[i]) < 1e-12);
}

static hop_exec *compiled(hop_ctx *c, hop_body *f, int nin, const hop_spec *s,
                          const hop_compile_opts *o)
{
	hop_fn *fn;
	hop_exec *x;
	ok(c, hop_capture(c, f, NULL, nin, s, &fn));
	ok(c, hop_compile(fn, o, &x));
	hop_fn_release(fn);
	return x;
}

static void *space(const hop_exec *x, const hop_arg *in)
{
	int64_t n = hop_exec_workspace(x, in);
	assert_true(n >= 0);
	void *w = aligned_alloc(64, (size_t)(n + 127) / 64 * 64);
	assert_non_null(w);
	return w;
}

static void test_no_allocation(void **state)
{
	hop_ctx *c = open_ctx();
	hop_spec s[3] = { hop_spec2(HOP_f64, N, N), hop_spec1(HOP_f64, N), hop_spec2(HOP_f64, T, N) };
	hop_compile_opts o = { .size = sizeof o, .threads = 1 };
	double W[N * N], h0[N], x[T * N], h[N], all[T * N], wh[N], wall[T * N];
	hop_arg in[3] = { { .data = W }, { .data = h0 }, { .data = x } };
	hop_arg out[2] = { { .data = h }, { .data = all } };
	hop_exec *e = compiled(c, rnn, 3, s, &o);
	(void)state;
	fill(W, N * N, 0.7);
	fill(h0, N, 0.3);
	fill(x, T * N, 0.9);
	reference(W, h0, x, wh, wall);
	void *w = space(e, in);
	assert_true(hop_exec_is_hard(e));
	for (int i = 0; on_device() && i < 3; i++)     /* launches become a graph at the second */
		ok(c, hop_run(e, in, out, w));
	long before = allocations;
	for (int i = 0; i < 100; i++)
		ok(c, hop_run(e, in, out, w));
	assert_int_equal(allocations, before);
	near(h, wh, N);
	near(all, wall, T * N);
	free(w);
	hop_exec_release(e);
	hop_ctx_free(c);
}

/* A transposed W, xs with a gap between rows, results into every second element. */
static void test_strides(void **state)
{
	hop_ctx *c = open_ctx();
	hop_spec s[3] = { hop_spec2(HOP_f64, N, N), hop_spec1(HOP_f64, N), hop_spec2(HOP_f64, T, N) };
	double W[N * N], Wt[N * N], h0[N], x[T * N], gap[T * (N + 3)], h[2 * N], all[T * N];
	double wh[N], wall[T * N];
	const int64_t turned[2] = { 1, N }, wide[2] = { N + 3, 1 }, second[1] = { 2 };
	hop_arg in[3] = { { .data = Wt, .stride = turned }, { .data = h0 },
	                  { .data = gap, .stride = wide } };
	hop_arg out[2] = { { .data = h, .stride = second }, { .data = all } };
	hop_exec *e = compiled(c, rnn, 3, s, NULL);
	(void)state;
	fill(W, N * N, 0.7);
	fill(h0, N, 0.3);
	fill(x, T * N, 0.9);
	reference(W, h0, x, wh, wall);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			Wt[k * N + i] = W[i * N + k];
	for (int t = 0; t < T; t++)
		memcpy(gap + t * (N + 3), x + t * N, N * sizeof *x);
	memset(h, 0, sizeof h);
	void *w = space(e, in);
	ok(c, hop_run(e, in, out, w));
	for (int i = 0; i < N; i++) {
		near(&h[2 * i], &wh[i], 1);
		assert_true(h[2 * i + 1] == 0);
	}
	near(all, wall, T * N);
	free(w);
	hop_exec_release(e);
	hop_ctx_free(c);
}

static void scaled(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[1]), hop_sum_all(t, in[0]));
}

/* One exec for several sizes; sizes that do not fit are a status. */
static void test_sizes(void **state)
{
	hop_ctx *c = open_ctx();
	hop_spec v = hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 2, 100), s[2] = { v, v };
	double x[50], y[50], z[50], sum;
	hop_exec *e = compiled(c, scaled, 2, s, NULL);
	(void)state;
	fill(x, 50, 0.2);
	fill(y, 50, 0.4);
	for (int64_t n = 2; n <= 50; n += 16) {
		hop_arg in[2] = { { .data = x, .dim = &n }, { .data = y, .dim = &n } };
		hop_arg out[2] = { { .data = z }, { .data = &sum } };
		int64_t dim[HOP_RANK];
		double want = 0;
		assert_int_equal(hop_exec_result(e, in, 0, dim), 1);
		assert_int_equal(dim[0], n);
		void *w = space(e, in);
		ok(c, hop_run(e, in, out, w));
		for (int i = 0; i < n; i++) {
			want += x[i];
			assert_true(z[i] == x[i] * y[i]);
		}
		near(&sum, &want, 1);
		const int64_t other = n + 1, small = 1;
		in[1].dim = &other;
		assert_int_equal(hop_exec_workspace(e, in), -1);
		assert_int_equal(hop_run(e, in, out, w), HOP_ESHAPE);
		in[0].dim = in[1].dim = &small;
		assert_int_equal(hop_run(e, in, out, w), HOP_ESHAPE);
		free(w);
	}
	assert_int_equal(hop_exec_result(e, NULL, 9, NULL), -1);
	hop_exec_release(e);
	hop_ctx_free(c);
}

/* ---- threads ---- */

struct job { const hop_exec *e; double a, got; };

static void *work(void *user)
{
	struct job *j = user;
	double x[64], y[64], z[64], sum;
	const int64_t n = 64;
	hop_arg in[2] = { { .data = x, .dim = &n }, { .data = y, .dim = &n } };
	hop_arg out[2] = { { .data = z }, { .data = &sum } };
	for (int i = 0; i < 64; i++) {
		x[i] = j->a;
		y[i] = i;
	}
	void *w = space(j->e, in);
	for (int i = 0; i < 200; i++)
		if (hop_run(j->e, in, out, w))
			sum = NAN;
	j->got = sum;
	free(w);
	return NULL;
}

static void test_reentrant(void **state)
{
	hop_ctx *c = open_ctx();
	hop_spec v = hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 2, 100), s[2] = { v, v };
	hop_exec *e = compiled(c, scaled, 2, s, NULL);
	struct job j[3] = { { e, 1, 0 }, { e, 2, 0 }, { e, 3, 0 } };
	pthread_t t[3];
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, work, &j[i]), 0);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		assert_true(j[i].got == 64.0 * (i + 1));
	}
	hop_exec_release(e);
	hop_ctx_free(c);
}

static void own_threads(void *user, void (*body)(void *, int64_t, int64_t), void *arg,
                        int64_t n)
{
	++*(int *)user;
	for (int64_t i = 0; i < n; i++)       /* pieces in any order must do */
		body(arg, n - 1 - i, n - i);
}

static void big(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_tanh(t, hop_mulf(t, in[0], 0.5)));
}

static void test_own_threads(void **state)
{
	enum { M = 1 << 18 };
	hop_ctx *c = open_ctx();
	hop_spec s = hop_spec1(HOP_f64, M);
	int calls = 0;
	hop_compile_opts o = { .size = sizeof o, .parallel = own_threads, .parallel_user = &calls };
	double *x = malloc(M * sizeof *x), *y = malloc(M * sizeof *y);
	hop_arg in = { .data = x }, out = { .data = y };
	hop_exec *e = compiled(c, big, 1, &s, &o);
	(void)state;
	fill(x, M, 0.01);
	void *w = space(e, &in);
	ok(c, hop_run(e, &in, &out, w));
	assert_true(on_device() ? !calls : calls > 0); /* a device has its own */
	for (int i = 0; i < M; i++)
		assert_true(fabs(y[i] - tanh(0.5 * x[i])) < 1e-14);
	free(w);
	free(x);
	free(y);
	hop_exec_release(e);
	hop_ctx_free(c);
}

/* ---- misuse ---- */

static void test_misuse(void **state)
{
	hop_ctx *c = open_ctx();
	hop_spec s = hop_spec1(HOP_f64, 4);
	hop_compile_opts o = { .size = 3 };
	hop_fn *f;
	hop_exec *x;
	(void)state;
	ok(c, hop_capture(c, big, NULL, 1, &s, &f));
	assert_int_equal(hop_compile(NULL, NULL, &x), HOP_EUSE);
	assert_int_equal(hop_compile(f, NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_compile(f, &o, &x), HOP_EVALUE);
	assert_null(x);
	assert_non_null(strstr(hop_message(c), "options"));
	hop_exec_release(NULL);
	assert_int_equal(hop_run(NULL, NULL, NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_exec_workspace(NULL, NULL), -1);
	assert_int_equal(hop_exec_result(NULL, NULL, 0, NULL), -1);
	assert_false(hop_exec_is_hard(NULL));
	assert_true(hop_exec_times(NULL).code == 0);
	ok(c, hop_compile(f, NULL, &x));
	double data[4] = { 0 };
	hop_arg arg = { .data = data };
	assert_int_equal(hop_exec_workspace(x, NULL), -1);
	assert_int_equal(hop_run(x, NULL, &arg, data), HOP_EUSE);
	assert_int_equal(hop_run(x, &arg, NULL, data), HOP_EUSE);
	assert_int_equal(hop_run(x, &arg, &arg, NULL), HOP_EUSE);
	hop_exec_release(x);
	hop_fn_release(f);
	hop_ctx_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_allocation), cmocka_unit_test(test_strides),
		cmocka_unit_test(test_sizes), cmocka_unit_test(test_reentrant),
		cmocka_unit_test(test_own_threads), cmocka_unit_test(test_misuse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
