/* lanes_test.c -- loops of lanes that end at different trips: in every form the same bits, and
 * what a loop over the lanes in C computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_rig.h"
#include "hop/hop.h"
#include "ops/philox.h"

enum { D = 17, NIN = 4, MOST = 9 };

static hop_ctx *ctx;

static void ok(hop_status st)
{
	if (st)
		fail_msg("%s", hop_message(ctx));
}

struct ask {
	enum hop_lanes_how how;
	int64_t            bound;      /* trips, 0 = none */
	bool               inner;      /* a step runs a loop that ends by itself too */
};

/* limit, x, v[D]; W[D, D], the same for all lanes -> x, v, trips. */
static void program(hop_trace *t, const hop_value *in, void *user)
{
	const struct ask *a = user;
	hop_value limit = in[0], x = in[1], v = in[2], W = in[3], trips = hop_i(t, 0);
	HOP_WHILE(t, hop_lt(t, x, limit), x, v) {
		hop_lanes(t, a->how);
		hop_trips(t, &trips);
		if (a->bound)
			hop_bound(t, a->bound);
		v = hop_tanh(t, hop_add(t, hop_matmul(t, W, v), x));
		hop_value s = hop_sum_all(t, v), y = x;
		x = hop_add(t, x, hop_add(t, hop_f(t, 0.25), hop_mulf(t, hop_mul(t, s, s), 0.01)));
		if (a->inner) {
			HOP_WHILE(t, hop_lt(t, y, x), y) {
				hop_lanes(t, a->how);
				y = hop_add(t, y, hop_mulf(t, hop_add(t, x, hop_f(t, 1)), 0.125));
			}
			x = y;
		}
	}
	hop_return(t, x, v, trips);
}

static int64_t plain(const struct ask *a, double limit, double *px, double *v, const double *W)
{
	int64_t n = 0;
	double x = *px;
	for (; x < limit && (!a->bound || n < a->bound); n++) {
		double w[D], s = 0, y = x;
		for (int i = 0; i < D; i++) {
			double d = 0;
			for (int j = 0; j < D; j++)
				d += W[i * D + j] * v[j];
			w[i] = tanh(d + x);
			s += w[i];
		}
		memcpy(v, w, sizeof w);
		x += 0.25 + s * s * 0.01;
		while (a->inner && y < x)
			y += (x + 1) * 0.125;
		x = a->inner ? y : x;
	}
	*px = x;
	return n;
}

/* Of all lanes; those of index 5, 12 .. never run. */
struct data { double *limit, *x, *v, W[D * D]; };

static struct data data_of(int64_t n, double most)
{
	struct data d = { malloc(8 * (size_t)(n + 1)), malloc(8 * (size_t)(n + 1)),
	                  malloc(8 * D * (size_t)(n + 1)), { 0 } };
	unsigned s = 7;
	for (int i = 0; i < D * D; i++)
		d.W[i] = 0.1 * sin(3 * i + 1);
	for (int64_t i = 0; i < n; i++) {
		s = s * 1664525u + 1013904223u;
		d.x[i] = (double)(s >> 8) / 16777216;
		s = s * 1664525u + 1013904223u;
		d.limit[i] = i % 7 == 5 ? 0 : 1 + most * pow((double)(s >> 8) / 16777216, 4);
		for (int j = 0; j < D; j++)
			d.v[i * D + j] = sin((double)(i + 5 * j));
	}
	return d;
}

static void arrays(const struct data *d, int64_t n, hop_array **in)
{
	const int64_t dim[2] = { n, D }, square[2] = { D, D };
	ok(hop_array_new(ctx, HOP_f64, 1, dim, d->limit, &in[0]));
	ok(hop_array_new(ctx, HOP_f64, 1, dim, d->x, &in[1]));
	ok(hop_array_new(ctx, HOP_f64, 2, dim, d->v, &in[2]));
	ok(hop_array_new(ctx, HOP_f64, 2, square, d->W, &in[3]));
}

static void drop(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

static void free_data(struct data *d)
{
	free(d->limit);
	free(d->x);
	free(d->v);
}

static hop_fn *capture(struct ask a)
{
	hop_spec s[NIN] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64), hop_spec1(HOP_f64, D),
	                    hop_spec2(HOP_f64, D, D) };
	hop_fn *f;
	ok(hop_capture(ctx, program, &a, NIN, s, &f));
	return f;
}

static hop_fn *lanes_of(hop_fn *f, int64_t n)
{
	const bool batched[NIN] = { true, true, true, false };
	hop_fn *g;
	ok(hop_vmap(f, batched, n, &g));
	hop_fn_release(f);
	return g;
}

static const char bits[] = "forms of a loop have other multiply-adds, and other bits";

/* Equal bits, and equal sizes. */
static void same(hop_array *a, hop_array *b)
{
	assert_int_equal(hop_array_count(a), hop_array_count(b));
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		double x = hop_array_at(a, i), y = hop_array_at(b, i);
		assert_memory_equal(&x, &y, sizeof x);
	}
}

/* Every form beside the first, freeze. make: the function on n lanes. */
typedef hop_fn *make_fn(struct ask a, int64_t n);

static void forms(make_fn *make, struct ask a, int64_t n, int nin, hop_array **in)
{
	hop_array *ref[MOST], *out[MOST];
	for (int how = HOP_LANES_FREEZE; how <= HOP_LANES_COMPACT + 1; how++) {
		a.how = how > HOP_LANES_COMPACT ? HOP_LANES_AUTO : (enum hop_lanes_how)how;
		hop_fn *f = make(a, n);
		int nout = hop_fn_nout(f);
		bool first = how == HOP_LANES_FREEZE;
		assert_true(nout <= MOST && hop_fn_nin(f) == nin);
		ok(hop_call(f, nin, in, nout, first ? ref : out));
		for (int i = 0; i < nout && !first; i++)
			same(ref[i], out[i]);
		if (!first)
			drop(nout, out);
		if (how > HOP_LANES_COMPACT)
			drop(nout, ref);
		hop_fn_release(f);
	}
}

static hop_fn *known(struct ask a, int64_t n) { return lanes_of(capture(a), n); }
static hop_fn *any(struct ask a, int64_t n) { return lanes_of(capture(a), n < 0 ? n : -1); }

static void beside_c(struct ask a, int64_t n, double most)
{
	struct data d = data_of(n, most);
	hop_array *in[NIN], *out[3];
	arrays(&d, n, in);
	hop_fn *f = known(a, n);
	ok(hop_call(f, NIN, in, 3, out));
	for (int64_t i = 0; i < n; i++) {
		int64_t trips = plain(&a, d.limit[i], &d.x[i], d.v + i * D, d.W);
		assert_true(fabs(hop_array_at(out[0], i) - d.x[i]) < 1e-9);
		for (int j = 0; j < D; j++)
			assert_true(fabs(hop_array_at(out[1], i * D + j) - d.v[i * D + j]) < 1e-9);
		assert_int_equal((int64_t)hop_array_at(out[2], i), trips);
	}
	drop(3, out);
	drop(NIN, in);
	hop_fn_release(f);
	free_data(&d);
}

/* Numbers of lanes around those of a group, and of those that run at a time. */
static const int64_t counts[] = { 0, 1, 3, 255, 256, 257, 700 };

static void test_values(void **state)
{
	(void)state;
	for (int how = HOP_LANES_AUTO; how <= HOP_LANES_COMPACT; how++) {
		struct ask a = { .how = (enum hop_lanes_how)how };
		for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
			beside_c(a, counts[i], 20);
		beside_c(a, 3000, 200);        /* long enough for auto to part with lanes */
		a.bound = 9;
		beside_c(a, 300, 20);
		a.inner = true;
		beside_c(a, 300, 20);
	}
}

static void test_bits(void **state)
{
	static const struct ask kind[] = { { 0 }, { .bound = 7 }, { .inner = true } };
	(void)state;
	NOT_ON_A_DEVICE(bits);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		for (size_t k = 0; k < 3; k++) {
			struct data d = data_of(counts[i], 20);
			hop_array *in[NIN];
			arrays(&d, counts[i], in);
			forms(known, kind[k], counts[i], NIN, in);
			forms(any, kind[k], counts[i], NIN, in);
			drop(NIN, in);
			free_data(&d);
		}
}

/* ---- derivatives: of lanes, and lanes of derivatives ---- */

static const int wrt[2] = { 1, 3 };

static hop_fn *jvp_of_lanes(struct ask a, int64_t n)
{
	hop_fn *f = known(a, n), *g;
	ok(hop_jvp(f, 2, wrt, &g));
	hop_fn_release(f);
	return g;
}

static hop_fn *vjp_of_lanes(struct ask a, int64_t n)
{
	hop_fn *f = known(a, n), *g;
	ok(hop_vjp(f, 2, wrt, &g));
	hop_fn_release(f);
	return g;
}

static hop_fn *lanes_of_jvp(struct ask a, int64_t n)
{
	const bool batched[NIN + 2] = { true, true, true, false, true, false };
	hop_fn *f = capture(a), *g, *h;
	ok(hop_jvp(f, 2, wrt, &g));
	ok(hop_vmap(g, batched, n, &h));
	hop_fn_release(g);
	hop_fn_release(f);
	return h;
}

static hop_fn *lanes_of_vjp(struct ask a, int64_t n)
{
	const bool batched[NIN + 2] = { true, true, true, false, true, true };
	hop_fn *f = capture(a), *g, *h;
	ok(hop_vjp(f, 2, wrt, &g));
	ok(hop_vmap(g, batched, n, &h));
	hop_fn_release(g);
	hop_fn_release(f);
	return h;
}

static void test_derivatives(void **state)
{
	static const struct ask kind[] = { { 0 }, { .bound = 7 } };
	const int64_t n = 300, one[1] = { n }, square[2] = { D, D };
	struct data d = data_of(n, 10);
	hop_array *in[NIN + 2];
	(void)state;
	NOT_ON_A_DEVICE(bits);
	arrays(&d, n, in);
	for (size_t k = 0; k < 2; k++) {
		ok(hop_array_new(ctx, HOP_f64, 1, one, d.limit, &in[4]));
		ok(hop_array_new(ctx, HOP_f64, 2, square, d.W, &in[5]));
		forms(jvp_of_lanes, kind[k], n, NIN + 2, in);
		forms(lanes_of_jvp, kind[k], n, NIN + 2, in);
		drop(2, in + 4);
		in[4] = hop_array_retain(in[1]);
		in[5] = hop_array_retain(in[2]);
		forms(vjp_of_lanes, kind[k], n, NIN + 2, in);
		forms(lanes_of_vjp, kind[k], n, NIN + 2, in);
		drop(2, in + 4);
	}
	drop(NIN, in);
	free_data(&d);
}

/* ---- lanes of lanes ---- */

static hop_fn *twice(struct ask a, int64_t n)
{
	const bool inner[NIN] = { false, true, false, false }, outer[NIN] = { true, true, true, false };
	hop_fn *f = capture(a), *g, *h;
	ok(hop_vmap(f, inner, 5, &g));
	ok(hop_vmap(g, outer, n, &h));
	hop_fn_release(g);
	hop_fn_release(f);
	return h;
}

static void test_twice(void **state)
{
	const int64_t n = 60, dim[2] = { n, 5 };
	struct data d = data_of(5 * n, 10);
	hop_array *in[NIN];
	(void)state;
	arrays(&d, n, in);
	hop_array_release(in[1]);
	ok(hop_array_new(ctx, HOP_f64, 2, dim, d.x, &in[1]));
	forms(twice, (struct ask){ 0 }, n, NIN, in);
	drop(NIN, in);
	free_data(&d);
}

/* ---- keys ---- */

/* key, x -> x and numbers drawn: one, and one a step of a loop that carries the key along. */
static void draws(hop_trace *t, const hop_value *in, void *user)
{
	hop_value key = hop_fold_in(t, in[0], hop_i(t, 3)), s = in[1], one = in[0];
	(void)user;
	s = hop_add(t, s, hop_uniform(t, one, HOP_f64, 0, NULL));
	HOP_FOR(t, i, 4, key, s) {
		s = hop_add(t, s, hop_uniform(t, key, HOP_f64, 0, NULL));
		key = hop_fold_in(t, key, i);
	}
	hop_return(t, s);
}

/* The same inside a trace, over the lanes of x. */
static void draws_at(hop_trace *t, const hop_value *in, void *user)
{
	const int axes[2] = { HOP_OWN_KEY, 0 };
	hop_value out[1];
	hop_vmap_at(t, draws, user, 2, in, axes, 1, out);
	hop_return(t, out[0]);
}

static void test_own_keys(void **state)
{
	enum { N = 40 };
	const int64_t key = 99, n = N;
	const bool lanes[2] = { false, true }, own[2] = { true, false };
	hop_spec s[2] = { hop_spec0(HOP_i64), hop_spec0(HOP_f64) };
	hop_spec wide[2] = { hop_spec0(HOP_i64), hop_spec1(HOP_f64, N) };
	hop_fn *f, *g[4];
	hop_array *in[2], *out[4];
	double x[N];
	(void)state;
	for (int i = 0; i < N; i++)
		x[i] = 10 * i;
	ok(hop_array_new(ctx, HOP_i64, 0, NULL, &key, &in[0]));
	ok(hop_array_new(ctx, HOP_f64, 1, &n, x, &in[1]));
	ok(hop_capture(ctx, draws, NULL, 2, s, &f));
	ok(hop_vmap_own(f, lanes, own, N, &g[0]));
	ok(hop_vmap_own(f, lanes, own, -1, &g[1]));
	ok(hop_capture(ctx, draws_at, NULL, 2, wide, &g[2]));
	ok(hop_vmap(f, lanes, N, &g[3]));
	for (int k = 0; k < 4; k++)
		ok(hop_call(g[k], 2, in, 1, &out[k]));
	for (int64_t i = 0; i < N; i++) {
		int64_t mine = (int64_t)hop_philox_fold(99, (uint64_t)i);
		hop_array *one[2], *y[2];
		ok(hop_array_new(ctx, HOP_i64, 0, NULL, &mine, &one[0]));
		ok(hop_array_new(ctx, HOP_f64, 0, NULL, &x[i], &one[1]));
		ok(hop_call(f, 2, one, 1, &y[0]));
		for (int k = 0; k < 3; k++)
			assert_true(hop_array_at(out[k], i) == hop_array_at(y[0], 0));
		assert_true(i == 0 || hop_array_at(out[0], i) - x[i] != hop_array_at(out[0], 0) - x[0]);
		hop_array_release(one[0]);
		one[0] = hop_array_retain(in[0]);
		ok(hop_call(f, 2, one, 1, &y[1]));
		assert_true(hop_array_at(out[3], i) == hop_array_at(y[1], 0));
		drop(2, one);
		drop(2, y);
	}
	hop_fn *bad;
	const bool both[2] = { true, true }, float_key[2] = { false, true }, first[2] = { true, false };
	assert_int_equal(hop_vmap_own(f, both, own, N, &bad), HOP_EUSE);
	assert_int_equal(hop_vmap_own(f, first, float_key, N, &bad), HOP_ETYPE);
	assert_non_null(strstr(hop_message(ctx), "is f64, a key is i64"));
	for (int k = 0; k < 4; k++)
		hop_fn_release(g[k]);
	hop_fn_release(f);
	drop(4, out);
	drop(2, in);
}

/* ---- misuse ---- */

static void wrong_option(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 1)), x) {
		hop_lanes(t, (enum hop_lanes_how)*(int *)user);
		x = hop_mulf(t, x, 2);
	}
	hop_return(t, x);
}

static void test_refused(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f;
	int how = 7;
	(void)state;
	assert_int_equal(hop_capture(ctx, wrong_option, &how, 1, &s, &f), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "lanes: there is no way 7: give one of"));
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
		cmocka_unit_test(test_values), cmocka_unit_test(test_bits),
		cmocka_unit_test(test_derivatives), cmocka_unit_test(test_twice),
		cmocka_unit_test(test_own_keys), cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, up, down);
}
