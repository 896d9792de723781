/* compose_test.c -- compositions of transforms and operators that must hold, each against
 * the same function unrolled by hand into plain ops, without operators: the interpreter and
 * native code agree with it to 1e-6, relative. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "hop/hop.h"

enum { N = 3, T = 4, B = 3 };

static hop_ctx *ctx;

static int open_ctx(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) != HOP_OK;
}

static int close_ctx(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

static void ok(hop_status st)
{
	if (st)
		fail_msg("%s", hop_message(ctx));
}

static hop_array *array(int rank, const int64_t *dim, const double *x)
{
	hop_array *a;
	ok(hop_array_new(ctx, HOP_f64, rank, dim, x, &a));
	return a;
}

static hop_array *vec(int64_t n, const double *x)
{
	return array(1, &n, x);
}

static hop_array *mat(int64_t n, int64_t m, const double *x)
{
	return array(2, (const int64_t[]){ n, m }, x);
}

static hop_fn *capture(hop_body *f, void *user, int nin, const hop_spec *in)
{
	hop_fn *r;
	ok(hop_capture(ctx, f, user, nin, in, &r));
	return r;
}

/* Results of f by the interpreter and by native code must be near `want`, n numbers from
 * result k on. */
static void expect(hop_fn *f, int nin, hop_array *const *in, int k, int n, const double *want)
{
	for (int native = 0; native < 2; native++) {
		hop_array *out[8];
		ok(hop_call_with(f, nin, in, hop_fn_nout(f), out, HOP_RUN_OPTS(.interpret = !native)));
		assert_int_equal(hop_array_count(out[k]), n);
		for (int i = 0; i < n; i++) {
			double got = hop_array_at(out[k], i);
			if (!(fabs(got - want[i]) <= 1e-6 * (1e-3 + fabs(want[i]))))
				fail_msg("%s: element %d is %.12g, expected %.12g",
				         native ? "native" : "interpreter", i, got, want[i]);
		}
		for (int i = 0; i < hop_fn_nout(f); i++)
			hop_array_release(out[i]);
	}
}

/* The same numbers from another function: result k of f. */
static void numbers(hop_fn *f, int nin, hop_array *const *in, int k, int n, double *out)
{
	hop_array *r[8];
	ok(hop_call_with(f, nin, in, hop_fn_nout(f), r, HOP_RUN_OPTS(.interpret = true)));
	for (int i = 0; i < n; i++)
		out[i] = hop_array_at(r[k], i);
	for (int i = 0; i < hop_fn_nout(f); i++)
		hop_array_release(r[i]);
}

static hop_fn *grad(hop_fn *f, int wrt)
{
	hop_fn *g;
	ok(hop_grad(f, 1, &wrt, &g));
	hop_fn_release(f);
	return g;
}

static hop_fn *vmap(hop_fn *f, const bool *batched, int64_t n)
{
	hop_fn *g;
	ok(hop_vmap(f, batched, n, &g));
	hop_fn_release(f);
	return g;
}

/* ---- vmap(vjp(scan)) ---- */

static hop_value rnn_cell(hop_trace *t, hop_value W, hop_value h, hop_value x)
{
	return hop_tanh(t, hop_add(t, hop_matmul(t, W, h), x));
}

static void rnn_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, rnn_cell(t, *(hop_value *)user, in[0], in[1]));
}

/* W, h0, xs -> sum of squares of the last state; user: unrolled? */
static void rnn(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = in[1], W = in[0];
	if (user)
		for (int i = 0; i < T; i++)
			h = rnn_cell(t, W, h, hop_index(t, in[2], 0, i));
	else
		hop_scan(t, rnn_step, &W, 1, &in[1], 1, &in[2], NULL, 1, &h, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, h, h)));
}

static void fill(int n, double *x, unsigned seed)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		x[i] = 0.2 + (double)(seed >> 8) / 16777216.0;
	}
}

static void test_vmap_vjp_scan(void **state)
{
	hop_spec s[3] = { hop_spec2(HOP_f64, N, N), hop_spec1(HOP_f64, N), hop_spec2(HOP_f64, T, N) };
	double W[N * N], h[B * N], x[B * T * N], want[B * N * N];
	hop_fn *plain = grad(capture(rnn, "unrolled", 3, s), 0);
	hop_fn *f = vmap(grad(capture(rnn, NULL, 3, s), 0), (bool[]){ false, true, true }, B);
	(void)state;
	fill(N * N, W, 1);
	fill(B * N, h, 2);
	fill(B * T * N, x, 3);
	for (int b = 0; b < B; b++) {
		hop_array *one[3] = { mat(N, N, W), vec(N, h + b * N), mat(T, N, x + b * T * N) };
		numbers(plain, 3, one, 1, N * N, want + b * N * N);
		for (int i = 0; i < 3; i++)
			hop_array_release(one[i]);
	}
	hop_array *in[3] = { mat(N, N, W), mat(B, N, h),
	                     array(3, (const int64_t[]){ B, T, N }, x) };
	expect(f, 3, in, 1, B * N * N, want);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	hop_fn_release(f);
	hop_fn_release(plain);
}

/* ---- vjp(vmap(while)), lanes that stop at different trips ---- */

static void small(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 10)));
}

static hop_value grow_once(hop_trace *t, hop_value x, hop_value k)
{
	return hop_add(t, hop_mul(t, x, k), hop_sin(t, x));
}

static void grow(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, grow_once(t, in[0], *(hop_value *)user));
}

static void growing(hop_trace *t, const hop_value *in, void *user)
{
	hop_value k = in[1], x = in[0];
	if (user)
		for (int i = 0; i < *(int *)user; i++)
			x = grow_once(t, x, k);
	else
		hop_while(t, small, grow, &k, 1, in, NULL, &x, NULL);
	hop_return(t, x);
}

static int trips_of(double x, double k)
{
	int n = 0;
	for (; x < 10; n++)
		x = x * k + sin(x);
	return n;
}

/* d(sum over lanes)/dx and /dk */
static void test_vjp_vmap_while(void **state)
{
	const double x[B] = { 0.7, 5.5, 12 }, k = 1.7, one[B] = { 1, 1, 1 };
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	double dx[B], dk = 0;
	hop_fn *f = vmap(capture(growing, NULL, 2, s), (bool[]){ true, false }, B), *g;
	(void)state;
	ok(hop_vjp(f, 2, (const int[]){ 0, 1 }, &g));
	for (int b = 0; b < B; b++) {
		int n = trips_of(x[b], k);
		double part;
		hop_array *in[2] = { array(0, NULL, &x[b]), array(0, NULL, &k) };
		hop_fn *px = grad(capture(growing, &n, 2, s), 0), *pk = grad(capture(growing, &n, 2, s), 1);
		numbers(px, 2, in, 1, 1, &dx[b]);
		numbers(pk, 2, in, 1, 1, &part);
		dk += part;
		for (int i = 0; i < 2; i++)
			hop_array_release(in[i]);
		hop_fn_release(px);
		hop_fn_release(pk);
	}
	assert_int_equal(trips_of(x[2], k), 0);
	hop_array *in[3] = { vec(B, x), array(0, NULL, &k), vec(B, one) };
	expect(g, 3, in, 1, B, dx);
	expect(g, 3, in, 2, 1, &dk);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- vjp(vjp(cond in scan)) ---- */

static void up(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], hop_sin(t, in[1])));
}

static void down(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sub(t, hop_exp(t, in[0]), in[1]));
}

static void branch_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value p = hop_lt(t, hop_sum_all(t, in[1]), hop_f(t, 2)), h;
	(void)user;
	hop_cond(t, p, up, down, NULL, 2, in, 1, &h);
	hop_return(t, hop_tanh(t, h));
}

/* h0, xs -> scalar; user: NULL or which branch each step takes. */
static void branching(hop_trace *t, const hop_value *in, void *user)
{
	const bool *takes = user;
	hop_value h = in[0];
	for (int i = 0; takes && i < T; i++) {
		hop_value x = hop_index(t, in[1], 0, i);
		h = hop_tanh(t, takes[i] ? hop_mul(t, h, hop_sin(t, x))
		                         : hop_sub(t, hop_exp(t, h), x));
	}
	if (!takes)
		hop_scan(t, branch_step, NULL, 1, in, 1, in + 1, NULL, 1, &h, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, h, h)));
}

/* d/dxs of <d/dh0, v>: the gradient of the gradient, along v. */
struct second { void *user; };
static void first_grad(hop_trace *t, const hop_value *in, void *user)
{
	struct second *s = user;
	hop_value out[2];
	hop_grad_at(t, branching, s->user, 2, in, 1, (const int[]){ 0 }, 2, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], hop_sin(t, in[0]))));
}

static void test_vjp_vjp_cond_scan(void **state)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, N), hop_spec2(HOP_f64, T, N) };
	double h[N], x[T * N], want[T * N];
	bool takes[T];
	(void)state;
	fill(N, h, 5);
	fill(T * N, x, 6);
	for (int i = 0; i < T; i++) {
		double sum = 0;
		for (int k = 0; k < N; k++)
			sum += x[i * N + k];
		takes[i] = sum < 2;
	}
	hop_array *in[2] = { vec(N, h), mat(T, N, x) };
	hop_fn *plain = grad(capture(first_grad, &(struct second){ takes }, 2, s), 1);
	hop_fn *f = grad(capture(first_grad, &(struct second){ NULL }, 2, s), 1);
	numbers(plain, 2, in, 1, T * N, want);
	expect(f, 2, in, 1, T * N, want);
	for (int i = 0; i < 2; i++)
		hop_array_release(in[i]);
	hop_fn_release(plain);
	hop_fn_release(f);
}

/* ---- jvp(vjp(while in cond)) ---- */

static void looping(hop_trace *t, const hop_value *in, void *user)
{
	hop_value k = in[1], x;
	(void)user;
	hop_while(t, small, grow, &k, 1, in, NULL, &x, NULL);
	hop_return(t, hop_mul(t, x, k));
}

static void straight(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[0]));
}

static void while_in_cond(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_cond(t, hop_lt(t, in[0], hop_f(t, 3)), looping, straight, NULL, 2, in, 1, &y);
	hop_return(t, y);
}

/* The same, unrolled: n trips and the product, or the square. */
static void unrolled_cond(hop_trace *t, const hop_value *in, void *user)
{
	int n = *(int *)user;
	hop_value x = in[0];
	for (int i = 0; i < n; i++)
		x = grow_once(t, x, in[1]);
	hop_return(t, n < 0 ? hop_mul(t, in[0], in[0]) : hop_mul(t, x, in[1]));
}

static void test_jvp_vjp_while_cond(void **state)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	const double xs[2] = { 0.8, 4 }, k = 1.6, v = 0.3, w = -0.7;
	const int wrt[2] = { 0, 1 };
	(void)state;
	for (int i = 0; i < 2; i++) {
		int n = xs[i] < 3 ? trips_of(xs[i], k) : -1;
		hop_fn *f, *g, *p, *q;
		double want[2];
		hop_array *in[4] = { array(0, NULL, &xs[i]), array(0, NULL, &k), array(0, NULL, &v),
		                     array(0, NULL, &w) };
		f = capture(while_in_cond, NULL, 2, s);
		p = capture(unrolled_cond, &n, 2, s);
		ok(hop_grad(f, 2, wrt, &g));
		ok(hop_grad(p, 2, wrt, &q));
		hop_fn_release(f);
		hop_fn_release(p);
		ok(hop_jvp(g, 2, wrt, &f));
		ok(hop_jvp(q, 2, wrt, &p));
		for (int r = 4; r < 6; r++) {        /* tangents of the two gradients */
			numbers(p, 4, in, r, 1, want);
			expect(f, 4, in, r, 1, want);
		}
		for (int r = 0; r < 4; r++)
			hop_array_release(in[r]);
		hop_fn_release(f);
		hop_fn_release(g);
		hop_fn_release(p);
		hop_fn_release(q);
	}
}

/* ---- vmap(vmap(cond)): the branch not taken never ends, or divides by zero ---- */

static void forever_test(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 1)));
}

static void forever_trip(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 1));
}

/* Ends only for x >= 1. */
static void forever(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x;
	(void)user;
	hop_while(t, forever_test, forever_trip, NULL, 1, in, NULL, &x, NULL);
	hop_return(t, hop_mul(t, x, x));
}

static void inverse(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_div(t, hop_f(t, 1), in[0]));
}

static void triple(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 3));
}

static void careful(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y, z;
	(void)user;
	hop_cond(t, hop_lt(t, in[0], hop_f(t, 1)), triple, forever, NULL, 1, in, 1, &y);
	hop_cond(t, hop_eq(t, in[0], hop_f(t, 0)), triple, inverse, NULL, 1, in, 1, &z);
	hop_return(t, hop_add(t, y, z));
}

static void test_vmap_vmap_cond(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	const double x[6] = { 0, 2, 0.5, 3, 0, 1 };
	double want[6], dwant[6], one[6];
	hop_fn *f = vmap(vmap(capture(careful, NULL, 1, &s), (bool[]){ true }, 3), (bool[]){ true }, 2);
	hop_fn *g;
	(void)state;
	for (int i = 0; i < 6; i++) {
		double y = x[i] < 1 ? 3 * x[i] : x[i] * x[i], dy = x[i] < 1 ? 3 : 2 * x[i];
		want[i] = y + (x[i] == 0 ? 3 * x[i] : 1 / x[i]);
		dwant[i] = dy + (x[i] == 0 ? 3 : -1 / (x[i] * x[i]));
		one[i] = 1;
	}
	hop_array *in[2] = { mat(2, 3, x), mat(2, 3, one) };
	expect(f, 1, in, 0, 6, want);
	ok(hop_vjp(f, 1, (const int[]){ 0 }, &g));
	expect(g, 2, in, 1, 6, dwant);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- training in one while loop: a gradient inside a body ---- */

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	const hop_value *data = user;                  /* xs [T, N], ys [T] */
	hop_value e = hop_sub(t, hop_matmul(t, data[0], in[0]), data[1]);
	hop_return(t, hop_sum_all(t, hop_mul(t, e, e)));
}

static void more_steps(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_i(t, 20)));
}

static hop_value descend(hop_trace *t, hop_value w, hop_value *data)
{
	hop_value out[2];
	hop_grad_at(t, loss, data, 1, &w, 1, (const int[]){ 0 }, 2, out);
	return hop_sub(t, w, hop_mulf(t, out[1], 0.05));
}

static void train_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)), descend(t, in[1], user));
}

static void train(hop_trace *t, const hop_value *in, void *user)
{
	hop_value data[2] = { in[1], in[2] }, out[2];
	hop_value init[2] = { hop_full(t, HOP_i64, 0, NULL, 0), in[0] };
	if (user) {
		out[1] = in[0];
		for (int i = 0; i < 20; i++)
			out[1] = descend(t, out[1], data);
	} else {
		hop_while(t, more_steps, train_step, data, 2, init, NULL, out, NULL);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], out[1])), out[1]);
}

/* The weights after training by plain C, and the derivative through the training. */
static void test_training_loop(void **state)
{
	hop_spec s[3] = { hop_spec1(HOP_f64, N), hop_spec2(HOP_f64, T, N), hop_spec1(HOP_f64, T) };
	double w0[N], x[T * N], y[T], w[N], want[T * N];
	(void)state;
	fill(N, w0, 7);
	fill(T * N, x, 8);
	fill(T, y, 9);
	for (int i = 0; i < N; i++)
		w[i] = w0[i];
	for (int step = 0; step < 20; step++) {
		double d[N] = { 0 };
		for (int i = 0; i < T; i++) {
			double e = -y[i];
			for (int k = 0; k < N; k++)
				e += x[i * N + k] * w[k];
			for (int k = 0; k < N; k++)
				d[k] += 2 * e * x[i * N + k];
		}
		for (int k = 0; k < N; k++)
			w[k] -= 0.05 * d[k];
	}
	hop_array *in[3] = { vec(N, w0), mat(T, N, x), vec(T, y) };
	hop_fn *f = capture(train, NULL, 3, s), *plain = grad(capture(train, "unrolled", 3, s), 1);
	expect(f, 3, in, 1, N, w);
	f = grad(f, 1);
	numbers(plain, 3, in, 2, T * N, want);
	expect(f, 3, in, 2, T * N, want);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	hop_fn_release(f);
	hop_fn_release(plain);
}

/* ---- a custom gradient under vmap inside scan ---- */

static void clip_fwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_save(t, 1, in);
	hop_return(t, hop_mul(t, in[0], in[0]));
}

/* Not the true derivative: half of it, so that the rule is seen to be used. */
static void clip_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[1]));
}

static void half_square(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_custom(t, &(hop_custom_rule){ .size = sizeof(hop_custom_rule), .fwd = clip_fwd,
	                                  .bwd = clip_bwd }, NULL, 1, in, 1, &y);
	hop_return(t, y);
}

static void custom_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_vmap_at(t, half_square, NULL, 1, in, (const int[]){ 0 }, 1, &y);
	hop_return(t, hop_add(t, hop_mulf(t, y, 0.5), in[1]));
}

static void custom_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h;
	(void)user;
	hop_scan(t, custom_step, NULL, 1, in, 1, in + 1, NULL, 1, &h, NULL);
	hop_return(t, hop_sum_all(t, h));
}

static void test_custom_vmap_scan(void **state)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, N), hop_spec2(HOP_f64, T, N) };
	double h[N], x[T * N], state_[T + 1][N], d[N];
	(void)state;
	fill(N, h, 11);
	fill(T * N, x, 12);
	for (int k = 0; k < N; k++) {
		state_[0][k] = h[k];
		d[k] = 1;
	}
	for (int i = 0; i < T; i++)
		for (int k = 0; k < N; k++)
			state_[i + 1][k] = 0.5 * state_[i][k] * state_[i][k] + x[i * N + k];
	for (int i = T; i-- > 0; )
		for (int k = 0; k < N; k++)
			d[k] *= 0.5 * state_[i][k];          /* half of the true 2 h 0.5 */
	hop_array *in[2] = { vec(N, h), mat(T, N, x) };
	hop_fn *f = grad(capture(custom_scan, NULL, 2, s), 0);
	expect(f, 2, in, 1, N, d);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
}

/* ---- a scan whose body writes a captured tensor ---- */

static void write_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value total = *(hop_value *)user;
	hop_add_(t, total, hop_mul(t, in[0], in[1]));
	hop_return(t, hop_sin(t, in[1]));
}

static void write_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_value total = hop_mulf(t, in[0], 2), h = in[0];
	if (user)
		for (int i = 0; i < T; i++) {
			hop_value x = hop_index(t, in[1], 0, i);
			total = hop_add(t, total, hop_mul(t, h, x));
			h = hop_sin(t, x);
		}
	else
		hop_scan(t, write_step, &total, 1, in, 1, in + 1, NULL, 1, &h, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, total, hop_exp(t, h))), total);
}

static void test_scan_writes(void **state)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, N), hop_spec2(HOP_f64, T, N) };
	double h[N], x[T * N], total[N], want[T * N];
	(void)state;
	fill(N, h, 13);
	fill(T * N, x, 14);
	for (int k = 0; k < N; k++) {
		double c = h[k];
		total[k] = 2 * h[k];
		for (int i = 0; i < T; i++) {
			total[k] += c * x[i * N + k];
			c = sin(x[i * N + k]);
		}
	}
	hop_array *in[2] = { vec(N, h), mat(T, N, x) };
	hop_fn *f = capture(write_scan, NULL, 2, s), *plain = grad(capture(write_scan, "unrolled", 2, s), 1);
	expect(f, 2, in, 1, N, total);
	f = grad(f, 1);
	numbers(plain, 2, in, 2, T * N, want);
	expect(f, 2, in, 2, T * N, want);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_fn_release(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_vmap_vjp_scan, open_ctx, close_ctx),
		cmocka_unit_test_setup_teardown(test_vjp_vmap_while, open_ctx, close_ctx),
		cmocka_unit_test_setup_teardown(test_vjp_vjp_cond_scan, open_ctx, close_ctx),
		cmocka_unit_test_setup_teardown(test_jvp_vjp_while_cond, open_ctx, close_ctx),
		cmocka_unit_test_setup_teardown(test_vmap_vmap_cond, open_ctx, close_ctx),
		cmocka_unit_test_setup_teardown(test_training_loop, open_ctx, close_ctx),
		cmocka_unit_test_setup_teardown(test_custom_vmap_scan, open_ctx, close_ctx),
		cmocka_unit_test_setup_teardown(test_scan_writes, open_ctx, close_ctx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
