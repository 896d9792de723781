/* growth_test.c -- programs that are long, deep or full of repetition: cut into parts, made
 * of equal nests, calling each other twice at every level. They compute what the interpreter
 * computes. How long compiling takes is measured in bench/growth.c. */
#include <pthread.h>

#include "trace_rig.h"

static void ok(hop_status st)
{
	if (st)
		fail_msg("%s", hop_message(ctx));
}

/* The results on the same inputs, compiled and interpreted, are the same. */
static void same_both_ways(hop_fn *f, int nin, hop_array *const *in, int nout, double tol)
{
	hop_array *a[4] = { 0 }, *b[4] = { 0 };
	unsetenv("HOP_INTERP");
	ok(hop_call(f, nin, in, nout, a));
	hop_array_release(a[0]);
	a[0] = NULL;
	for (int i = 1; i < nout; i++)
		hop_array_release(a[i]);
	ok(hop_call(f, nin, in, nout, a));          /* again, without copies */
	ok(hop_call_with(f, nin, in, nout, b, HOP_RUN_OPTS(.interpret = true)));
	for (int i = 0; i < nout; i++) {
		bool wide = hop_array_dtype(a[i]) == HOP_f64;
		int64_t n = hop_array_count(a[i]);
		assert_int_equal(n, hop_array_count(b[i]));
		for (int64_t k = 0; k < n; k++) {
			double x = wide ? ((double *)hop_array_data(a[i]))[k]
			                : (double)((float *)hop_array_data(a[i]))[k];
			double y = wide ? ((double *)hop_array_data(b[i]))[k]
			                : (double)((float *)hop_array_data(b[i]))[k];
			if (!(fabs(x - y) <= tol * (1 + fabs(y))))
				fail_msg("element %d of result %d: %.17g, not %.17g", (int)k, i, x, y);
		}
		hop_array_release(a[i]);
		hop_array_release(b[i]);
	}
}

static hop_array *filled(hop_dtype d, int rank, const int64_t *dim)
{
	hop_array *a;
	ok(hop_array_new(ctx, d, rank, dim, NULL, &a));
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		double v = 0.3 + 0.01 * (double)(i * 7 % 40);
		if (d == HOP_f64)
			((double *)hop_array_data(a))[i] = v;
		else
			((float *)hop_array_data(a))[i] = (float)(0.1 * v);
	}
	return a;
}

static void check(hop_body *body, int nin, const hop_spec *spec, double tol)
{
	hop_array *in[2];
	hop_fn *f, *g;
	int wrt = 0;
	for (int i = 0; i < nin; i++)
		in[i] = filled(spec[i].dtype, spec[i].rank, spec[i].dim);
	ok(hop_capture(ctx, body, NULL, nin, spec, &f));
	ok(hop_grad(f, 1, &wrt, &g));
	same_both_ways(f, nin, in, 1, tol);
	same_both_ways(g, nin, in, 2, tol);
	hop_fn_release(f);
	hop_fn_release(g);
	for (int i = 0; i < nin; i++)
		hop_array_release(in[i]);
}

/* ---- long ---- */

static void scalars(hop_trace *t, const hop_value *in, void *user)
{
	enum { LAST = 16 };
	hop_value v[LAST];
	unsigned s = 3;
	(void)user;
	for (int i = 0; i < LAST; i++)
		v[i] = in[i & 1];
	for (int i = 0; i < 3000; i++) {
		s = s * 1664525u + 1013904223u;
		hop_value p = v[s >> 12 & 15], q = v[s >> 20 & 15];
		v[i % LAST] = i % 4 == 0 ? hop_sin(t, p) : i % 4 == 1 ? hop_mul(t, p, q) :
		              i % 4 == 2 ? hop_sub(t, p, q) : hop_tanh(t, p);
	}
	for (int i = 1; i < LAST; i++)
		v[0] = hop_add(t, v[0], v[i]);
	hop_return(t, v[0]);
}

static void half(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_sin(t, in[0]), in[1]));
}

static void more(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], in[1]));
}

static void branches(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[2] = { in[0], in[1] };
	(void)user;
	for (int i = 0; i < 300; i++)
		hop_cond(t, hop_lt(t, a[0], hop_f(t, 0.4)), more, half, NULL, 2, a, 1, a);
	hop_return(t, a[0]);
}

static void test_long(void **state)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	(void)state;
	check(scalars, 2, s, 1e-9);
	check(branches, 2, s, 1e-9);
}

/* ---- the same again and again ---- */

static void layers(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], none = { 0, 0 };
	(void)user;
	for (int i = 0; i < 12; i++) {
		hop_value h = hop_matmul(t, hop_layer_norm(t, x, none, none, 1e-5), in[1]);
		x = hop_add(t, x, hop_softmax(t, hop_tanh(t, h), 1));
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)));
}

static void test_equal(void **state)
{
	hop_spec s[2] = { hop_spec2(HOP_f32, 16, 24), hop_spec2(HOP_f32, 24, 24) };
	(void)state;
	check(layers, 2, s, 2e-4);
}

/* ---- deep ---- */

struct tower { int left; };

static void floor_of(hop_trace *t, const hop_value *in, void *user)
{
	struct tower w = { ((struct tower *)user)->left - 1 };
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(1) };
	hop_value x = hop_sin(t, in[0]);
	if (w.left)
		hop_scan(t, floor_of, &w, 1, &x, 0, NULL, &o, 1, &x, NULL);
	hop_return(t, x);
}

/* A scan in a scan and so on: every level stacks what its reverse needs. */
static void test_tower(void **state)
{
	enum { DEPTH = 24 };
	struct tower w = { DEPTH };
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f, *g;
	hop_array *in = filled(HOP_f64, 0, NULL), *out[2];
	double x = *(double *)hop_array_data(in), d = 1;
	int wrt = 0;
	(void)state;
	ok(hop_capture(ctx, floor_of, &w, 1, &s, &f));
	ok(hop_grad(f, 1, &wrt, &g));
	ok(hop_call(g, 1, &in, 2, out));
	for (int i = 0; i < DEPTH; i++) {
		d *= cos(x);
		x = sin(x);
	}
	assert_true(fabs(*(double *)hop_array_data(out[0]) - x) < 1e-12);
	assert_true(fabs(*(double *)hop_array_data(out[1]) - d) < 1e-12);
	hop_array_release(in);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- called twice at every level ---- */

static void level(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], b;
	if (user) {
		hop_apply(t, user, 1, &a, 1, &a);
		hop_apply(t, user, 1, &a, 1, &b);
		a = hop_add(t, a, b);
	}
	hop_return(t, hop_sin(t, a));
}

static double level_at(int n, double x, double *d)
{
	double a = x, b, da = *d, db;
	if (n) {
		a = level_at(n - 1, a, &da);
		db = da;
		b = level_at(n - 1, a, &db);
		a += b;
		da += db;
	}
	*d = cos(a) * da;
	return sin(a);
}

static hop_fn *levels(int n)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f = NULL, *g;
	for (int i = 0; i <= n; i++, f = g) {
		ok(hop_capture(ctx, level, f, 1, &s, &g));
		hop_fn_release(f);
	}
	return f;
}

static void test_twice(void **state)
{
	enum { RUN = 11, DERIVE = 40 };
	hop_fn *f = levels(RUN), *g;
	hop_array *in = filled(HOP_f64, 0, NULL), *out[2];
	double d = 1, y;
	int wrt = 0;
	(void)state;
	ok(hop_grad(f, 1, &wrt, &g));
	ok(hop_call(g, 1, &in, 2, out));
	y = level_at(RUN, *(double *)hop_array_data(in), &d);
	assert_true(fabs(*(double *)hop_array_data(out[0]) - y) < 1e-10);
	assert_true(fabs(*(double *)hop_array_data(out[1]) - d) < 1e-9 * (1 + fabs(d)));
	hop_array_release(out[0]);
	hop_array_release(out[1]);
	hop_fn_release(f);
	hop_fn_release(g);
	f = levels(DERIVE);
	ok(hop_grad(f, 1, &wrt, &g));
	hop_fn_release(f);
	hop_fn_release(g);
	hop_array_release(in);
}

/* ---- calls without copies, at the same time ---- */

static void shift(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_sum_all(t, in[0]);
	(void)user;
	hop_return(t, hop_add(t, hop_mul(t, in[0], in[1]), s));
}

struct caller { hop_fn *f; hop_array *in[2]; int bad; };

static void *call_on(void *user)
{
	struct caller *c = user;
	for (int i = 0; i < 200; i++) {
		hop_array *y;
		if (hop_call(c->f, 2, c->in, 1, &y)) {
			c->bad++;
			continue;
		}
		const double *p = hop_array_data(y), *a = hop_array_data(c->in[0]);
		const double *b = hop_array_data(c->in[1]);
		double s = 0;
		for (int k = 0; k < 100; k++)
			s += a[k];
		for (int k = 0; k < 100; k++)
			c->bad += fabs(p[k] - (a[k] * b[k] + s)) > 1e-9;
		hop_array_release(y);
	}
	return NULL;
}

static void test_together(void **state)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, 100), hop_spec1(HOP_f64, 100) };
	struct caller c[3];
	pthread_t t[3];
	hop_fn *f;
	int64_t n = 100;
	(void)state;
	ok(hop_capture(ctx, shift, NULL, 2, s, &f));
	for (int i = 0; i < 3; i++) {
		c[i] = (struct caller){ f, { filled(HOP_f64, 1, &n), filled(HOP_f64, 1, &n) }, 0 };
		((double *)hop_array_data(c[i].in[0]))[3] = i;
		assert_int_equal(pthread_create(&t[i], NULL, call_on, &c[i]), 0);
	}
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(c[i].bad, 0);
		hop_array_release(c[i].in[0]);
		hop_array_release(c[i].in[1]);
	}
	hop_fn_release(f);
}

/* More arguments than fit on the stack, one of them written. */
enum { MANY = 40 };

static void many(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = in[0];
	(void)user;
	for (int i = 1; i < MANY; i++)
		s = hop_add(t, s, hop_mulf(t, in[i], i));
	hop_copy_(t, in[0], s);
	hop_return(t, hop_mulf(t, s, 2));
}

static void test_many(void **state)
{
	hop_spec s[MANY];
	hop_array *in[MANY], *y;
	hop_fn *f;
	double x = 1;
	(void)state;
	for (int i = 0; i < MANY; i++) {
		s[i] = hop_spec0(HOP_f64);
		in[i] = num(1);
	}
	ok(hop_capture(ctx, many, NULL, MANY, s, &f));
	for (int k = 0; k < 3; k++) {
		for (int i = 1; i < MANY; i++)
			x += i;
		ok(hop_call(f, MANY, in, 1, &y));
		assert_true(*(double *)hop_array_data(in[0]) == x);
		assert_true(*(double *)hop_array_data(y) == 2 * x);
		hop_array_release(y);
	}
	for (int i = 0; i < MANY; i++)
		hop_array_release(in[i]);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long), cmocka_unit_test(test_equal),
		cmocka_unit_test(test_tower), cmocka_unit_test(test_twice),
		cmocka_unit_test(test_together), cmocka_unit_test(test_many),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
