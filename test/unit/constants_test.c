/* constants_test.c -- what depends on captured arrays only is computed once: how often is asked of
 * the code itself, values are compared with plain C and with code that computes it each time. */
#include "trace_rig.h"

#include <pthread.h>
#include <stdatomic.h>

enum { N = 4, M = 3 };

static hop_array *W, *B;               /* captured: f64[M, N], f64[N] */
static const double w0[M * N] = { 0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 1, 1.1, -1.2 };
static const double b0[N] = { 0.5, -1, 0.25, 2 };

/* x[M] -> tanh(x W' ) + sum(exp(b)), W' = sin(W) scaled by its largest row sum: all but the product
 * depends on W and b alone. */
static void program(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = hop_use(t, W), b = hop_use(t, B), s = hop_sin(t, w);
	hop_value most = hop_amax(t, hop_sum(t, hop_abs(t, s), 1, (int[]){ 1 }), 0, NULL);
	(void)user;
	s = hop_div(t, s, most);
	hop_value y = hop_matmul(t, in[0], s);
	y = hop_add(t, hop_tanh(t, y), hop_sum_all(t, hop_exp(t, b)));
	hop_return(t, y, hop_sum_all(t, hop_mul(t, y, y)));
}

static void by_hand(const double *w, const double *b, const double *x, double *y)
{
	double most = 0, e = 0;
	for (int i = 0; i < M; i++) {
		double row = 0;
		for (int j = 0; j < N; j++)
			row += fabs(sin(w[i * N + j]));
		most = row > most ? row : most;
	}
	for (int j = 0; j < N; j++)
		e += exp(b[j]);
	y[N] = 0;
	for (int j = 0; j < N; j++) {
		double z = 0;
		for (int i = 0; i < M; i++)
			z += x[i] * sin(w[i * N + j]) / most;
		y[j] = tanh(z) + e;
		y[N] += y[j] * y[j];
	}
}

static int up(void **state)
{
	if (rig_up(state))
		return 1;
	W = array(HOP_f64, 2, (int64_t[]){ M, N }, w0);
	B = vec(N, b0);
	return 0;
}

static int down(void **state)
{
	hop_array_release(W);
	hop_array_release(B);
	return rig_down(state);
}

static hop_fn *captured(void)
{
	hop_fn *f;
	hop_spec s = hop_spec_of(HOP_f64, 1, (int64_t[]){ M });
	if (hop_capture(ctx, program, NULL, 1, &s, &f))
		fail_msg("%s", hop_message(ctx));
	return f;
}

static const hop_compile_opts once = { .size = sizeof once, .constants = HOP_CONSTANTS_ONCE };
static const double x0[M] = { 1, -0.5, 2 };

static void ok(hop_status st)
{
	if (st)
		fail_msg("%s", hop_message(ctx));
}

static void call(hop_fn *f)
{
	double want[N + 1];
	hop_array *in = vec(M, x0), *out[2];
	by_hand(hop_array_data(W), hop_array_data(B), x0, want);
	ok(hop_call(f, 1, &in, 2, out));
	same(out[0], want, N);
	same(out[1], want + N, 1);
	hop_array_release(in);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
}

/* ---- hop_call ---- */

static void test_call(void **state)
{
	(void)state;
	hop_fn *f = captured();
	ok(hop_fn_compile(f, &once));
	assert_int_equal(hop_fn_kept(f).values, 2);
	assert_int_equal(hop_fn_kept(f).bytes, (M * N + 1) * (int64_t)sizeof(double));
	for (int i = 0; i < 3; i++)
		call(f);
	assert_int_equal(hop_fn_kept(f).runs, 1);
	((double *)hop_array_data(W))[3] = 0.9;
	hop_array_changed(W);
	for (int i = 0; i < 3; i++)
		call(f);
	assert_int_equal(hop_fn_kept(f).runs, 2);
	assert_int_equal(hop_fn_compile(f, &once), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "has code already"));
	hop_fn_release(f);
	((double *)hop_array_data(W))[3] = w0[3];
}

/* A function that writes B is seen by the other. */
static void writes(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, hop_use(t, B), in[0]);
	hop_return(t, in[0]);
}

static void test_written(void **state)
{
	(void)state;
	hop_fn *f = captured(), *g;
	hop_spec s = hop_spec_of(HOP_f64, 0, NULL);
	hop_array *in = num(0.125), *out;
	ok(hop_capture(ctx, writes, NULL, 1, &s, &g));
	ok(hop_fn_compile(f, &once));
	call(f);
	for (int i = 0; i < 2; i++) {              /* the long way, then the short */
		ok(hop_call(g, 1, &in, 1, &out));
		hop_array_release(out);
		call(f);
		assert_int_equal(hop_fn_kept(f).runs, 2 + i);
	}
	/* what it writes itself is no constant */
	ok(hop_fn_compile(g, &once) == HOP_EUSE ? HOP_OK : HOP_EUSE);
	hop_fn_release(f);
	hop_fn_release(g);
	hop_array_release(in);
	memcpy(hop_array_data(B), b0, sizeof b0);
	hop_array_changed(B);
}

static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value b = hop_use(t, B), e = hop_exp(t, b);
	(void)user;
	hop_add_(t, b, in[0]);
	hop_return(t, e, hop_exp(t, hop_use(t, B)));
}

static void test_own(void **state)
{
	(void)state;
	hop_fn *f;
	hop_spec s = hop_spec_of(HOP_f64, 0, NULL);
	hop_array *in = num(0.5), *out[2];
	ok(hop_capture(ctx, own, NULL, 1, &s, &f));
	ok(hop_fn_compile(f, &once));
	assert_int_equal(hop_fn_kept(f).values, 0);
	for (int i = 0; i < 3; i++) {
		ok(hop_call(f, 1, &in, 2, out));
		for (int j = 0; j < N; j++) {
			assert_true(fabs(hop_array_at(out[0], j) - exp(b0[j] + 0.5 * i)) < 1e-9);
			assert_true(fabs(hop_array_at(out[1], j) - exp(b0[j] + 0.5 * (i + 1))) < 1e-9);
		}
		hop_array_release(out[0]);
		hop_array_release(out[1]);
	}
	hop_fn_release(f);
	hop_array_release(in);
	memcpy(hop_array_data(B), b0, sizeof b0);
	hop_array_changed(B);
}

/* ---- a jit ---- */

static void test_jit(void **state)
{
	(void)state;
	hop_jit *j;
	hop_fn *f;
	hop_array *in = vec(M, x0), *out[2];
	double want[N + 1];
	ok(hop_jit_new(ctx, program, NULL, HOP_JIT_OPTS(.compile = &once), &j));
	for (int i = 0; i < 4; i++) {
		if (i == 2) {
			((double *)hop_array_data(B))[0] = 3;
			hop_array_changed(B);
		}
		by_hand(w0, hop_array_data(B), x0, want);
		ok(hop_jit_call(j, 1, &in, 2, out));
		same(out[0], want, N);
		hop_array_release(out[0]);
		hop_array_release(out[1]);
	}
	ok(hop_jit_fn(j, 1, &in, &f));
	assert_int_equal(hop_fn_kept(f).runs, 2);
	hop_fn_release(f);
	hop_jit_release(j);
	hop_array_release(in);
	((double *)hop_array_data(B))[0] = b0[0];
	hop_array_changed(B);
}

/* ---- hop_run ---- */

struct room { _Alignas(64) char bytes[8192]; };

static void run(const hop_exec *x, double *y)
{
	struct room w;
	hop_arg in = { .data = (void *)(uintptr_t)x0 }, out[2] = { { .data = y }, { .data = y + N } };
	assert_true(hop_exec_workspace(x, &in) <= (int64_t)sizeof w);
	ok(hop_run(x, &in, out, w.bytes));
}

static void agrees(const double *y, const double *want)
{
	for (int i = 0; i <= N; i++)
		assert_true(fabs(y[i] - want[i]) < 1e-9);
}

static void test_run(void **state)
{
	(void)state;
	hop_fn *f = captured();
	hop_exec *x, *plain;
	double y[N + 1], was[N + 1], is[N + 1];
	by_hand(w0, b0, x0, was);
	ok(hop_compile(f, &once, &x));
	ok(hop_compile(f, NULL, &plain));
	assert_int_equal(hop_exec_kept(plain).values, 0);
	ok(hop_exec_refresh(plain));
	hop_fn_release(f);
	run(x, y);
	agrees(y, was);
	((double *)hop_array_data(W))[0] = -2;
	hop_array_changed(W);
	by_hand(hop_array_data(W), b0, x0, is);
	run(x, y);
	agrees(y, was);                            /* until it is told */
	run(plain, y);
	agrees(y, is);
	ok(hop_exec_refresh(x));
	run(x, y);
	agrees(y, is);
	assert_int_equal(hop_exec_kept(x).runs, 2);
	hop_exec_release(x);
	hop_exec_release(plain);
	((double *)hop_array_data(W))[0] = w0[0];
	hop_array_changed(W);
	assert_int_equal(hop_exec_refresh(NULL), HOP_EUSE);
	assert_int_equal(hop_exec_kept(NULL).runs, 0);
	assert_int_equal(hop_fn_kept(NULL).runs, 0);
	assert_int_equal(hop_fn_compile(NULL, NULL), HOP_EUSE);
	hop_array_changed(NULL);
	f = captured();
	hop_compile_opts wrong = { .size = sizeof wrong, .constants = (enum hop_constants)7 };
	assert_int_equal(hop_compile(f, &wrong, &x), HOP_EVALUE);
	assert_string_equal(hop_message(ctx), "error: compile: constants is 7: there is "
	                    "HOP_CONSTANTS_EACH_RUN and HOP_CONSTANTS_ONCE");
	hop_fn_release(f);
}

/* ---- gradients, sizes, loops, effects ---- */

static void test_grad(void **state)
{
	(void)state;
	hop_fn *f = captured(), *g;
	hop_array *in = vec(M, x0), *out[3], *want[3], *ct[3];
	ct[0] = in;
	ct[1] = vec(N, (double[]){ 0, 0, 0, 0 });
	ct[2] = num(1);
	for (int k = 0; k < 2; k++) {
		ok(hop_vjp(f, 1, (int[]){ 0 }, &g));
		if (k)
			ok(hop_fn_compile(g, &once));
		ok(hop_call(g, 3, ct, 3, k ? out : want));
		assert_true(!k || hop_fn_kept(g).values > 0);
		hop_fn_release(g);
	}
	for (int i = 0; i < M; i++)
		assert_true(fabs(hop_array_at(out[2], i) - hop_array_at(want[2], i)) < 1e-12);
	for (int i = 0; i < 3; i++) {
		hop_array_release(out[i]);
		hop_array_release(want[i]);
		hop_array_release(ct[i]);
	}
	hop_fn_release(f);
}

/* x[n], a region and a loop whose steps compute the same of W each time; what is asserted and what n
 * is part of stays where it was. */
static void body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], hop_sum_all(t, hop_exp(t, hop_use(t, B)))));
}
static void sized(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], w = hop_use(t, W);
	(void)user;
	HOP_FOR(t, i, 3, x) {
		hop_region(t, "r", body, NULL, 1, &x, 1, &x);
		x = hop_add(t, x, hop_sum_all(t, hop_matmul(t, w, hop_transpose(t, w, 0, 1))));
	}
	hop_dim n = hop_dim_of(t, in[0], 0);
	hop_value wide = hop_mul(t, x, hop_expand(t, hop_sin(t, hop_sum_all(t, w)), 1, &n));
	hop_assert(t, hop_lt(t, hop_sum_all(t, hop_use(t, B)), hop_f(t, 100)), "b is small", 0, NULL);
	hop_return(t, wide);
}

static void test_sized(void **state)
{
	static const double x[6] = { 1, 2, 3, 4, 5, 6 };
	(void)state;
	hop_fn *f;
	hop_spec s = { .dtype = HOP_f64, .rank = 1, .dim = { 1 }, .sym = { "n" } };
	ok(hop_capture(ctx, sized, NULL, 1, &s, &f));
	ok(hop_fn_compile(f, &once));
	double e = 0, p = 0, sw = 0;
	for (int j = 0; j < N; j++)
		e += exp(b0[j]);
	for (int i = 0; i < M * N; i++)
		sw += w0[i];
	for (int i = 0; i < M; i++)
		for (int k = 0; k < M; k++)
			for (int j = 0; j < N; j++)
				p += w0[i * N + j] * w0[k * N + j];
	for (int64_t n = 2; n <= 6; n += 2) {
		hop_array *in = vec(n, x), *out;
		ok(hop_call(f, 1, &in, 1, &out));
		for (int64_t i = 0; i < n; i++) {
			double y = x[i];
			for (int k = 0; k < 3; k++)
				y = y * e + p;
			assert_true(fabs(hop_array_at(out, i) - y * sin(sw)) < 1e-9 * (1 + fabs(y)));
		}
		hop_array_release(in);
		hop_array_release(out);
	}
	assert_int_equal(hop_fn_kept(f).runs, 1);
	assert_true(hop_fn_kept(f).values >= 3);
	((double *)hop_array_data(B))[0] = 1000;           /* what it looks at is kept, the assert not */
	hop_array_changed(B);
	hop_array *in = vec(2, x), *out;
	assert_int_equal(hop_call(f, 1, &in, 1, &out), HOP_EASSERT);
	assert_int_equal(hop_call(f, 1, &in, 1, &out), HOP_EASSERT);
	assert_int_equal(hop_fn_kept(f).runs, 2);
	hop_array_release(in);
	((double *)hop_array_data(B))[0] = b0[0];
	hop_array_changed(B);
	hop_fn_release(f);
}

/* ---- refreshed while others run ---- */

struct threads {
	hop_exec   *x;
	atomic_bool end;
	double      want[2][N + 1];
	atomic_int  wrong, done;
};

static void *runs(void *p)
{
	struct threads *t = p;
	while (!atomic_load(&t->end)) {
		double y[N + 1];
		bool same_as[2] = { true, true };
		run(t->x, y);
		for (int k = 0; k < 2; k++)
			for (int i = 0; i <= N; i++)
				same_as[k] &= fabs(y[i] - t->want[k][i]) < 1e-9;
		if (!same_as[0] && !same_as[1])
			atomic_fetch_add(&t->wrong, 1);
		atomic_fetch_add(&t->done, 1);
	}
	return NULL;
}

static void test_threads(void **state)
{
	(void)state;
	struct threads t = { .wrong = 0 };
	hop_fn *f = captured();
	pthread_t id[2];
	double *w = hop_array_data(W), other[M * N];
	for (int i = 0; i < M * N; i++)
		other[i] = w0[i] * 1.5;
	by_hand(w0, b0, x0, t.want[0]);
	by_hand(other, b0, x0, t.want[1]);
	ok(hop_compile(f, HOP_COMPILE_OPTS(.constants = HOP_CONSTANTS_ONCE, .threads = 1), &t.x));
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&id[i], NULL, runs, &t), 0);
	for (int k = 0; k < 200 || atomic_load(&t.done) < 50; k++) {
		memcpy(w, k % 2 ? w0 : other, sizeof other);       /* only a refresh reads it */
		ok(hop_exec_refresh(t.x));
	}
	atomic_store(&t.end, true);
	for (int i = 0; i < 2; i++)
		pthread_join(id[i], NULL);
	assert_int_equal(atomic_load(&t.wrong), 0);
	memcpy(w, w0, sizeof w0);
	hop_array_changed(W);
	hop_exec_release(t.x);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call), cmocka_unit_test(test_written), cmocka_unit_test(test_own),
		cmocka_unit_test(test_jit), cmocka_unit_test(test_run), cmocka_unit_test(test_grad),
		cmocka_unit_test(test_sized), cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, up, down);
}
