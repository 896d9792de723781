/* partition_test.c -- a choice a lane where every branch runs on its own lanes: the values and
 * gradients of running all branches on all lanes, for the work of one. A mixture of experts, each
 * token for the one with the largest gate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/fn.h"
#include "hop/hop.h"
#include "interp/interp.h"

enum { K = 8, D = 8, F = 16, NIN = 2 + 2 * K, STEPS = 3 };

static hop_ctx *ctx;

static void ok(hop_status st)
{
	if (st)
		fail_msg("%s", hop_message(ctx));
}

struct ask { bool partition, loop, only; };    /* only: all tokens go to expert 5 */

static hop_value expert(hop_trace *t, const hop_value *in, int k, hop_value x)
{
	hop_value h = hop_tanh(t, hop_matmul(t, in[2 + k], x));
	return hop_matmul(t, in[2 + K + k], h);
}

static hop_value route(hop_trace *t, const hop_value *in, const struct ask *a, hop_value x)
{
	hop_value y = x, i = hop_argmax(t, hop_matmul(t, in[1], x), 0);
	i = a->only ? hop_add(t, hop_mul(t, i, hop_i(t, 0)), hop_i(t, 5)) : i;
	HOP_SWITCH(t, i, K, y) {
	case 0: y = expert(t, in, 0, x); break;
	case 1: y = expert(t, in, 1, x); break;
	case 2: y = expert(t, in, 2, x); break;
	case 3: y = expert(t, in, 3, x); break;
	case 4: y = expert(t, in, 4, x); break;
	case 5: y = expert(t, in, 5, x); break;
	case 6:
		if (a->partition)
			hop_partition(t);
		y = expert(t, in, 6, x);
		break;
	default: y = expert(t, in, 7, x);
	}
	return y;
}

/* x[D], gates[K, D], K times W[F, D], K times V[D, F] -> y[D] */
static void mixture(hop_trace *t, const hop_value *in, void *user)
{
	const struct ask *a = user;
	hop_value y = in[0];
	if (a->loop)
		HOP_FOR(t, s, STEPS, y)
			y = hop_add(t, y, route(t, in, a, y));
	else
		y = route(t, in, a, y);
	hop_return(t, y);
}

static hop_fn *capture(struct ask a)
{
	hop_spec s[NIN] = { hop_spec1(HOP_f64, D), hop_spec2(HOP_f64, K, D) };
	hop_fn *f;
	for (int k = 0; k < K; k++) {
		s[2 + k] = hop_spec2(HOP_f64, F, D);
		s[2 + K + k] = hop_spec2(HOP_f64, D, F);
	}
	ok(hop_capture(ctx, mixture, &a, NIN, s, &f));
	return f;
}

static hop_fn *tokens(hop_fn *f, int64_t n)
{
	const bool batched[NIN] = { true };
	hop_fn *g;
	ok(hop_vmap(f, batched, n, &g));
	hop_fn_release(f);
	return g;
}

static hop_fn *reverse(hop_fn *f)
{
	int wrt[NIN];
	hop_fn *g;
	for (int i = 0; i < NIN; i++)
		wrt[i] = i;
	ok(hop_vjp(f, NIN, wrt, &g));
	hop_fn_release(f);
	return g;
}

static hop_array *made(int rank, const int64_t *dim, double scale, int seed)
{
	int64_t n = 1;
	hop_array *a;
	for (int i = 0; i < rank; i++)
		n *= dim[i];
	double *v = malloc(sizeof *v * (size_t)(n + 1));
	unsigned s = (unsigned)seed * 7919u + 1;
	for (int64_t i = 0; i < n; i++) {
		s = s * 1664525u + 1013904223u;
		v[i] = scale * ((double)(s >> 8) / 8388608 - 1);
	}
	ok(hop_array_new(ctx, HOP_f64, rank, dim, v, &a));
	free(v);
	return a;
}

/* Tokens of the shape dim[0 .. rank), then the weights, then cotangents of the tokens. */
static void inputs(int rank, const int64_t *dim, hop_array **in)
{
	in[0] = made(rank, dim, 1, 1);
	in[1] = made(2, (const int64_t[]){ K, D }, 1, 2);
	for (int k = 0; k < K; k++) {
		in[2 + k] = made(2, (const int64_t[]){ F, D }, 0.5, 3 + k);
		in[2 + K + k] = made(2, (const int64_t[]){ D, F }, 0.5, 30 + k);
	}
	in[NIN] = made(rank, dim, 1, 9);
}

static void drop(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

static double apart(hop_array *a, hop_array *b)
{
	double most = 0;
	assert_int_equal(hop_array_count(a), hop_array_count(b));
	for (int64_t i = 0; i < hop_array_count(a); i++)
		most = fmax(most, fabs(hop_array_at(a, i) - hop_array_at(b, i)));
	return most;
}

/* Both to rounding: products of few rows may add up in another order. */
static void beside(hop_fn *f, hop_fn *g, hop_array **in)
{
	hop_array *a[1 + NIN], *b[1 + NIN];
	int nin = hop_fn_nin(f), nout = hop_fn_nout(f);
	ok(hop_call(f, nin, in, nout, a));
	ok(hop_call(g, nin, in, nout, b));
	for (int i = 0; i < nout; i++)
		assert_true(apart(a[i], b[i]) < 1e-11);
	drop(nout, a);
	drop(nout, b);
	hop_fn_release(f);
	hop_fn_release(g);
}

static void test_values(void **state)
{
	static const int64_t counts[] = { 0, 1, 5, 64, 300 };
	(void)state;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		for (int kind = 0; kind < 4; kind++) {
			struct ask a = { .loop = kind == 1, .only = kind == 2 }, p = a;
			int64_t n = counts[i], dim[2] = { n, D };
			hop_array *in[NIN + 1];
			p.partition = true;
			inputs(2, dim, in);
			n = kind == 3 ? -1 : n;
			beside(tokens(capture(a), n), tokens(capture(p), n), in);
			if (kind < 3)
				beside(reverse(tokens(capture(a), n)), reverse(tokens(capture(p), n)), in);
			drop(NIN + 1, in);
		}
}

/* Lanes of lanes, and lanes of the gradient of one token. */
static void test_again(void **state)
{
	const int64_t dim[3] = { 6, 20, D };
	struct ask a = { 0 }, p = { .partition = true };
	hop_array *in[NIN + 1];
	(void)state;
	inputs(3, dim, in);
	beside(tokens(tokens(capture(a), 20), 6), tokens(tokens(capture(p), 20), 6), in);
	beside(reverse(tokens(tokens(capture(a), 20), 6)), reverse(tokens(tokens(capture(p), 20), 6)),
	       in);
	drop(NIN + 1, in);
}

static void plain(hop_array *const *in, int64_t n, double *y)
{
	for (int64_t i = 0; i < n; i++) {
		int best = 0;
		double most = -INFINITY, h[F];
		for (int k = 0; k < K; k++) {
			double s = 0;
			for (int j = 0; j < D; j++)
				s += hop_array_at(in[1], k * D + j) * hop_array_at(in[0], i * D + j);
			best = s > most ? k : best;
			most = fmax(s, most);
		}
		for (int f = 0; f < F; f++) {
			double s = 0;
			for (int j = 0; j < D; j++)
				s += hop_array_at(in[2 + best], f * D + j) * hop_array_at(in[0], i * D + j);
			h[f] = tanh(s);
		}
		for (int j = 0; j < D; j++) {
			y[i * D + j] = 0;
			for (int f = 0; f < F; f++)
				y[i * D + j] += hop_array_at(in[2 + K + best], j * F + f) * h[f];
		}
	}
}

static void test_reference(void **state)
{
	enum { N = 300 };
	const int64_t dim[2] = { N, D };
	static double y[N * D];
	hop_array *in[NIN + 1], *out[1];
	(void)state;
	inputs(2, dim, in);
	plain(in, N, y);
	hop_fn *f = tokens(capture((struct ask){ .partition = true }), N);
	ok(hop_call(f, NIN, in, 1, out));
	for (int64_t i = 0; i < N * D; i++)
		assert_true(fabs(hop_array_at(out[0], i) - y[i]) < 1e-12);
	drop(1, out);
	drop(NIN + 1, in);
	hop_fn_release(f);
}

/* ---- work ---- */

/* Multiplications and additions of floats, and other functions of them. */
static void count(void *user, const hop_node *n, hop_array *const *in, hop_array *const *out)
{
	int flags = hop_optab[n->op].flags;
	double *sum = user;
	if (n->nout != 1 || !hop_dtype_float(out[0]->dtype))
		return;
	if (n->op == HOP_OP_dot) {
		double inner = 1;
		for (int64_t i = 0; i < HOP_ATTR(n, dot)->lsum.n; i++)
			inner *= (double)in[0]->dim[HOP_ATTR(n, dot)->lsum.v[i]];
		*sum += 2 * inner * (double)out[0]->count;
	} else if (flags & HOP_F_E && n->op != HOP_OP_select) {
		*sum += (double)out[0]->count;
	} else if (n->op == HOP_OP_sum) {
		*sum += (double)in[0]->count;
	} else if (n->op == HOP_OP_scatter && HOP_ATTR(n, scatter)->mode != HOP_MODE_set) {
		*sum += (double)in[2]->count;
	}
}

static double work(hop_fn *f, hop_array **in)
{
	hop_env e;
	hop_frame frame;
	hop_interp p;
	hop_array *out[1 + NIN];
	double sum = 0;
	hop_env_init(&e, ctx, hop_ctx_mem(ctx));
	hop_guard_begin(&e, &frame);
	hop_interp_init(&p, &e);
	p.watch = count;
	p.watch_user = &sum;
	if (hop_interp_graph(&p, f->g, NULL, in, out))
		fail_msg("%s", e.diag.text);
	hop_interp_fini(&p);
	hop_guard_end(&e, &frame);
	hop_env_fini(&e);
	hop_fn_release(f);
	return sum;
}

static void test_work(void **state)
{
	enum { N = 1024 };
	const int64_t dim[2] = { N, D };
	const struct ask p = { .partition = true }, s = { 0 };
	/* gates; two products and a tanh. In reverse four products, and three operations for tanh */
	const double gates = 2.0 * K * D, once = 4.0 * D * F + F, again = 8.0 * D * F + 3.0 * F;
	hop_array *in[NIN + 1];
	(void)state;
	inputs(2, dim, in);
	double fwd = work(tokens(capture(p), N), in) / (N * (gates + once));
	double both = work(reverse(tokens(capture(p), N)), in) / (N * (gates + once + again));
	double all = work(tokens(capture(s), N), in) / (N * (gates + once));
	print_message("work over that of ideal routing: forward %.3f, with gradient %.3f; "
	              "all experts on all tokens %.2f\n", fwd, both, all);
	assert_true(fwd >= 1 && fwd <= 1.3);
	assert_true(both >= 1 && both <= 1.3);
	assert_true(all > 5);
	drop(NIN + 1, in);
}

static int up(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) != HOP_OK;
}

static int down(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_again),
		cmocka_unit_test(test_reference), cmocka_unit_test(test_work),
	};
	return cmocka_run_group_tests(tests, up, down);
}
