/* jit_more_test.c -- jits whose arguments share memory, their check mode, their transforms, and all of
 * it without memory. */
#include "jit_rig.h"

/* ---- memory ---- */

/* x += 1; y *= x: what is in y depends on whether it is x */
static void both(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	runs++;
	hop_add_(t, in[0], hop_f(t, 1));
	hop_mul_(t, in[1], in[0]);
	hop_return(t, hop_sum_all(t, in[0]), hop_sum_all(t, in[1]));
}

/* The same by an eager run, where one array is one value, too. */
static void same_as_eager(hop_jit *j, hop_body *f, int nin, hop_array **in, hop_array **copy,
                          int nout)
{
	hop_array *got[RIG_MAX], *want[RIG_MAX];
	ok(hop_jit_call(j, nin, in, nout, got));
	ok(hop_eager_call(ctx, f, NULL, nin, copy, nout, want));
	for (int i = 0; i < nin; i++)
		equal(in[i], copy[i]);
	for (int i = 0; i < nout; i++)
		equal(got[i], want[i]);
	release(nout, got);
	release(nout, want);
}

static void test_overlap(void **state)
{
	hop_jit *j = jit(both, NULL, NULL);
	hop_array *a = ramp1(4, 1), *b = ramp1(4, 2), *a2 = ramp1(4, 1), *b2 = ramp1(4, 2);
	(void)state;
	runs = 0;
	same_as_eager(j, both, 2, (hop_array *[]){ a, b }, (hop_array *[]){ a2, b2 }, 2);
	assert_int_equal(runs, 1 + 1);
	same_as_eager(j, both, 2, (hop_array *[]){ a, a }, (hop_array *[]){ a2, a2 }, 2);
	same_as_eager(j, both, 2, (hop_array *[]){ b, b }, (hop_array *[]){ b2, b2 }, 2);
	same_as_eager(j, both, 2, (hop_array *[]){ b, a }, (hop_array *[]){ b2, a2 }, 2);
	assert_int_equal(runs, 1 + 2 + 4);       /* the second: apart, and as one */
	why(j, 2, "arguments 0 and 1 overlap");
	assert_non_null(strstr(hop_explain(j), "  capture 2: f64[4], f64[4]; 1 is 0: 1 hit\n"));
	release(4, (hop_array *[]){ a, b, a2, b2 });
	hop_jit_release(j);
	/* as one first */
	j = jit(both, NULL, NULL);
	a = ramp1(4, 1);
	b = ramp1(4, 1);
	ok(call(j, 2, (hop_array *[]){ a, a }, 2));
	ok(call(j, 2, (hop_array *[]){ a, b }, 2));
	why(j, 2, "arguments 0 and 1 overlap no longer");
	release(2, (hop_array *[]){ a, b });
	hop_jit_release(j);
}

/* Nothing is written: it does not matter. Three of them, and one that is not written. */
static void last(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	runs++;
	hop_add_(t, in[2], in[0]);
	hop_return(t, hop_add(t, in[2], in[1]), in[0]);
}

static void test_overlap_more(void **state)
{
	hop_array *a = ramp1(3, 1), *b = ramp1(3, 5), *a2 = ramp1(3, 1), *b2 = ramp1(3, 5);
	hop_jit *j = jit(add, NULL, NULL);
	(void)state;
	runs = 0;
	ok(call(j, 2, (hop_array *[]){ a, b }, 1));
	ok(call(j, 2, (hop_array *[]){ a, a }, 1));
	assert_int_equal(runs, 1);
	hop_jit_release(j);
	j = jit(last, NULL, NULL);
	runs = 0;
	/* all patterns of three arguments over two arrays */
	for (int p = 0; p < 16; p++) {
		hop_array *in[3], *copy[3];
		for (int i = 0; i < 3; i++) {
			in[i] = p >> i & 1 ? a : b;
			copy[i] = p >> i & 1 ? a2 : b2;
		}
		same_as_eager(j, last, 3, in, copy, 2);
	}
	/* apart but for the two that are read; 2 is 0; 2 is 1; one array. The first by itself,
	 * the others when they were captured apart before */
	assert_int_equal(runs - 16, 1 + 3 * 2);
	release(4, (hop_array *[]){ a, b, a2, b2 });
	hop_jit_release(j);
}

static hop_array *adopted(double *p, int64_t n, bool readonly)
{
	hop_array *a;
	ok(hop_array_adopt(ctx, HOP_f64, 1, &n, p, readonly, NULL, NULL, &a));
	return a;
}

static void test_clash(void **state)
{
	hop_jit *j = jit(both, NULL, HOP_JIT_OPTS(.args = &names, .name = "both"));
	double m[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	hop_array *lo = adopted(m, 4, false), *hi = adopted(m + 2, 4, false), *ro = adopted(m, 4, true);
	hop_array *lo2 = adopted(m, 4, false), *far = adopted(m + 4, 4, false), *g[2];
	(void)state;
	runs = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call(j, 2, (hop_array *[]){ lo, hi }, 2), HOP_EUSE);
		assert_string_equal(hop_message(ctx), "error: both: argument 0 (x) is written and shares "
		                    "memory with argument 1 (w): pass a copy");
	}
	assert_int_equal(runs, 1);
	assert_int_equal(call(j, 2, (hop_array *[]){ far, ro }, 2), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: both: argument 1 (w) is written, and its memory is "
	                    "read-only");
	assert_true(m[0] == 1 && m[2] == 3 && m[4] == 5);
	/* one memory, two arrays */
	ok(hop_jit_call(j, 2, (hop_array *[]){ lo, lo2 }, 2, g));
	assert_true(m[0] == 4 && m[3] == 25 && hop_array_at(g[0], 0) == 4 + 9 + 16 + 25);
	release(2, g);
	hop_jit_release(j);
	release(5, (hop_array *[]){ lo, hi, ro, lo2, far });
}

/* A captured array that is an argument, too. */
static void counts(hop_trace *t, const hop_value *in, void *user)
{
	hop_value n = hop_use(t, *(hop_array **)user);
	hop_add_(t, n, hop_f(t, 1));
	hop_return(t, hop_add(t, in[0], n));
}

static void test_captured(void **state)
{
	hop_array *n = num(0), *x = num(5), *other = num(100);
	hop_array *used = n;
	hop_jit *j = jit(counts, &used, HOP_JIT_OPTS(.statics = { HOP_STATIC(&used, sizeof used) }));
	(void)state;
	ok(call(j, 1, &x, 1));
	ok(call(j, 1, &x, 1));
	assert_true(hop_array_at(n, 0) == 2);
	assert_int_equal(call(j, 1, &n, 1), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: argument 0 shares memory with an array that "
	                    "the body captured, and one of them is written: pass a copy");
	used = other;
	ok(call(j, 1, &n, 1));
	assert_true(hop_array_at(n, 0) == 2 && hop_array_at(other, 0) == 101);
	release(3, (hop_array *[]){ n, x, other });
	hop_jit_release(j);
}

/* ---- check mode ---- */

static void test_check(void **state)
{
	struct config c = { .layers = 1, .scale = 2 };
	hop_jit *j = jit(configured, &c, HOP_JIT_OPTS(.check = true));
	(void)state;
	assert_true(at_two(j) == 4);
	assert_true(at_two(j) == 4);
	runs = 0;
	assert_true(at_two(j) == 4);
	assert_int_equal(runs, 1);
	c.layers = 2;
	hop_array *x = num(2), *y;
	assert_int_equal(hop_jit_call(j, 1, &x, 1, &y), HOP_EUSE);
	assert_null(y);
	assert_string_equal(hop_message(ctx),
	                    "error: jit: captured again, the body gives another graph: it depends on "
	                    "something that was not given as HOP_STATIC\n"
	                    "  line 5 was   return %2\n"
	                    "  line 5 is    %3 = mul %2, %1 : f64");
	c.layers = 1;
	c.scale = 2.5;
	assert_int_equal(hop_jit_call(j, 1, &x, 1, &y), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "line 3 was   %1 = constant {value = f64 2.0} : f64\n"
	                       "  line 3 is    %1 = constant {value = f64 2.5} : f64"));
	c.scale = 2;
	assert_true(at_two(j) == 4);
	hop_array_release(x);
	hop_jit_release(j);
	/* arrays are not in the text */
	hop_array *n = num(0), *other = num(100), *used = n;
	assert_int_equal(setenv("HOP_CHECK", "blocks,jit", 1), 0);
	j = jit(counts, &used, NULL);
	assert_int_equal(unsetenv("HOP_CHECK"), 0);
	x = num(5);
	ok(call(j, 1, &x, 1));
	used = other;
	assert_int_equal(call(j, 1, &x, 1), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: captured again, the body uses another array as "
	                    "its captured array 0: give the pointer to it as HOP_STATIC, or pass the "
	                    "array");
	release(3, (hop_array *[]){ n, other, x });
	hop_jit_release(j);
	/* what is right passes: symbols, arguments that are one, transforms */
	hop_jit *g;
	const int wrt = 0;
	j = jit(both, NULL, HOP_JIT_OPTS(.check = true));
	for (int i = 0; i < 3; i++) {
		hop_array *a = ramp1(4 + i, 1), *b = ramp1(4 + i, 2);
		ok(call(j, 2, (hop_array *[]){ a, b }, 2));
		ok(call(j, 2, (hop_array *[]){ a, a }, 2));
		ok(hop_jit_grad(j, 1, &wrt, &g));
		ok(call(g, 2, (hop_array *[]){ a, b }, 3));
		ok(call(g, 2, (hop_array *[]){ a, b }, 3));
		hop_jit_release(g);
		release(2, (hop_array *[]){ a, b });
	}
	hop_jit_release(j);
}

/* ---- transforms ---- */

/* x[m], w[m] -> sum sin(x w) + w[0] */
static void loss(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value s = hop_sum_all(t, hop_sin(t, hop_mul(t, in[0], in[1])));
	hop_return(t, hop_add(t, s, hop_index(t, in[1], 0, 0)));
}

/* d/dw of each lane of x, and of its mean over lanes; of several sizes. */
static void test_transforms(void **state)
{
	const int wrt = 1, first = 0;
	const bool batched[2] = { true, false }, lanes[3] = { true, false, true };
	hop_jit *j = jit(loss, NULL, NULL), *g, *gv, *jv, *vj, *jvv;
	(void)state;
	ok(hop_jit_grad(j, 1, &wrt, &g));
	ok(hop_jit_vmap(g, 2, batched, &gv));
	ok(hop_jit_jvp(j, 1, &first, &jv));
	ok(hop_jit_vmap(jv, 3, lanes, &jvv));
	ok(hop_jit_vjp(j, 2, 1, &wrt, &vj));
	hop_jit_release(j);                      /* they do not need it */
	for (int64_t n = 1; n < 5; n++)
		for (int64_t m = 1; m < 4; m++) {
			hop_array *x = ramp2(n, m, 0.1), *w = ramp1(m, 1), *one = ramp2(n, m, 1), *r[2], *d[2];
			hop_array *x0 = ramp1(m, 0.3), *c = num(2), *s[2], *u[2];
			ok(hop_jit_call(gv, 2, (hop_array *[]){ x, w }, 2, r));
			ok(hop_jit_call(jvv, 3, (hop_array *[]){ x, w, one }, 2, d));
			for (int64_t l = 0; l < n; l++) {
				double v = hop_array_at(w, 0), along = 0;
				for (int64_t k = 0; k < m; k++) {
					double xk = hop_array_at(x, l * m + k), wk = hop_array_at(w, k);
					v += sin(xk * wk);
					along += cos(xk * wk) * wk * hop_array_at(one, l * m + k);
					double want = cos(xk * wk) * xk + (k == 0);
					assert_true(fabs(hop_array_at(r[1], l * m + k) - want) < 1e-12);
				}
				assert_true(fabs(hop_array_at(r[0], l) - v) < 1e-12);
				assert_true(fabs(hop_array_at(d[1], l) - along) < 1e-12);
			}
			ok(hop_jit_call(g, 2, (hop_array *[]){ x0, w }, 2, s));
			ok(hop_jit_call(vj, 3, (hop_array *[]){ x0, w, c }, 2, u));
			for (int64_t k = 0; k < m; k++)
				assert_true(fabs(2 * hop_array_at(s[1], k) - hop_array_at(u[1], k)) < 1e-12);
			release(2, r);
			release(2, d);
			release(2, s);
			release(2, u);
			release(5, (hop_array *[]){ x, w, one, x0, c });
		}
	/* 1, 2 or a symbol, each with 1, 2 or a symbol; but 2 is within the symbol that was there */
	says(gv, "jit: ", "12 calls, 5 hits, 7 captures, 7 kept of at most 8");
	hop_jit *all[] = { g, gv, jv, vj, jvv };
	for (int i = 0; i < 5; i++)
		hop_jit_release(all[i]);
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = hop_sin(t, hop_add(t, hop_mul(t, in[0], *(hop_value *)user), in[1]));
	hop_return(t, h, h);
}

/* xs[n], w -> the sum over a scan that captures w */
static void chained(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], w = in[1], h = hop_mulf(t, in[1], 0.5);
	(void)user;
	hop_scan(t, step, &w, 1, &h, 1, &in[0], NULL, 2, out, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], out[1])));
}

/* The same as a block. */
static void in_block(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = in[1], h = hop_mulf(t, w, 0.5), s = hop_mulf(t, w, 0);
	(void)user;
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), h, s) {
		h = hop_sin(t, hop_add(t, hop_mul(t, h, w), hop_take(t, in[0], i)));
		s = hop_add(t, s, hop_mul(t, h, h));
	}
	hop_return(t, s);
}

static double value_of(hop_jit *j, int nout, int k, hop_array *x, double w)
{
	hop_array *in[2] = { x, num(w) }, *out[3];
	ok(hop_jit_call(j, 2, in, nout, out));
	double v = hop_array_at(out[k], 0);
	release(nout, out);
	hop_array_release(in[1]);
	return v;
}

/* Of any length, none too, by one capture with a symbol: against differences, and twice. */
static void any_length(hop_body *body)
{
	const int wrt = 1;
	const double eps = 1e-6;
	hop_jit *j = jit(body, NULL, NULL), *g, *h;
	ok(hop_jit_grad(j, 1, &wrt, &g));
	ok(hop_jit_jvp(g, 1, &wrt, &h));
	for (int64_t n = 0; n < 12; n++) {
		hop_array *x = ramp1(n, 0.2), *w = num(0.7), *one = num(1), *out[4];
		double d = (value_of(j, 1, 0, x, 0.7 + eps) - value_of(j, 1, 0, x, 0.7 - eps)) / (2 * eps);
		double dd = (value_of(g, 2, 1, x, 0.7 + eps) - value_of(g, 2, 1, x, 0.7 - eps)) / (2 * eps);
		assert_true(fabs(value_of(g, 2, 1, x, 0.7) - d) < 1e-6 * (1 + fabs(d)));
		ok(hop_jit_call(h, 3, (hop_array *[]){ x, w, one }, 4, out));
		assert_true(fabs(hop_array_at(out[1], 0) - d) < 1e-6 * (1 + fabs(d)));
		assert_true(fabs(hop_array_at(out[3], 0) - dd) < 1e-5 * (1 + fabs(dd)));
		release(4, out);
		release(3, (hop_array *[]){ x, w, one });
	}
	says(g, "jit: ", "36 calls, 32 hits, 4 captures, 4 kept of at most 8");
	hop_jit *all[] = { j, g, h };
	for (int i = 0; i < 3; i++)
		hop_jit_release(all[i]);
}

static void test_chain(void **state)
{
	(void)state;
	any_length(chained);
	any_length(in_block);
}

/* The gradient of a gradient is a Hessian; wrong numbers of arguments are told. */
static void square(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_mul(t, in[0], in[0]), in[0]));
}

static void test_twice(void **state)
{
	const int wrt = 0, none = 3;
	const bool batched[1] = { true }, no[1] = { false };
	hop_jit *j = jit(square, NULL, NULL), *a, *b, *v, *bad;
	hop_array *x = ramp1(3, 1), *one = ramp1(3, 1), *y = num(1), *out[4];
	(void)state;
	ok(hop_jit_jvp(j, 1, &wrt, &a));
	ok(hop_jit_jvp(a, 1, &wrt, &b));
	ok(hop_jit_vmap(b, 3, (const bool[]){ true, true, true }, &v));
	ok(hop_jit_call(v, 3, (hop_array *[]){ x, one, one }, 4, out));
	for (int i = 0; i < 3; i++) {            /* x^3, 3 x^2 u, 3 x^2 w, 6 x u w */
		double p = hop_array_at(x, i), u = hop_array_at(one, i);
		assert_true(fabs(hop_array_at(out[3], i) - 6 * p * u * u) < 1e-12);
	}
	release(4, out);
	assert_int_equal(call(a, 1, &x, 2), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "mul: a value that was never set"));
	assert_int_equal(call(a, 0, NULL, 2), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: got 0 arguments: those of the function come "
	                    "first, then a tangent for each in wrt");
	assert_int_equal(call(v, 2, (hop_array *[]){ x, one }, 4), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: the batched function takes 3 arguments, got 2");
	assert_int_equal(hop_jit_vmap(j, 1, no, &bad), HOP_EVALUE);
	assert_null(bad);
	assert_int_equal(hop_jit_grad(j, 1, NULL, &bad), HOP_EUSE);
	ok(hop_jit_grad(j, 1, &none, &bad));
	assert_int_equal(call(bad, 1, &y, 2), HOP_EVALUE);
	hop_jit_release(bad);
	ok(hop_jit_vmap(j, 1, batched, &bad));
	assert_int_equal(call(bad, 1, &y, 1), HOP_ESHAPE);
	assert_string_equal(hop_message(ctx), "error: jit: argument 0 is batched and has no axis for the "
	                    "lanes");
	hop_jit_release(bad);
	ok(hop_jit_vjp(j, 1, 1, &wrt, &bad));
	assert_int_equal(call(bad, 1, &y, 2), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: the function takes 2 arguments, got 1");
	hop_jit_release(bad);
	hop_jit *all[] = { j, a, b, v };
	for (int i = 0; i < 4; i++)
		hop_jit_release(all[i]);
	release(3, (hop_array *[]){ x, one, y });
}

/* ---- no memory ---- */

struct meter { long calls, bad, live; };

static void *metered(void *user, void *p, size_t osize, size_t nsize)
{
	struct meter *m = user;
	if (!nsize) {
		m->live -= p ? (long)osize : 0;
		free(p);
		return NULL;
	}
	if (m->calls++ == m->bad)
		return NULL;
	void *q = realloc(p, nsize);
	m->live += q ? (long)nsize - (p ? (long)osize : 0) : 0;
	return q;
}

/* Captures, a symbol, one that is dropped, arguments that are one, a transform. */
static hop_status life(hop_ctx *c)
{
	hop_jit *j = NULL, *v = NULL;
	hop_array *in[2] = { 0 }, *out[2] = { 0 };
	const bool batched[2] = { true, true };
	hop_status st = hop_jit_new(c, both, NULL, HOP_JIT_OPTS(.keep = 2), &j);
	for (int i = 0; !st && i < 6; i++) {
		int64_t n = 3 + i % 3;
		st = hop_array_new(c, HOP_f64, 1, &n, NULL, &in[0]);
		in[1] = i < 3 ? hop_array_retain(in[0]) : NULL;
		if (!st && !in[1])
			st = hop_array_new(c, HOP_f64, 1, &n, NULL, &in[1]);
		if (!st)
			st = hop_jit_call(j, 2, in, 2, out);
		for (int k = 0; k < 2; k++) {
			hop_array_release(in[k]);
			hop_array_release(out[k]);
			in[k] = out[k] = NULL;
		}
	}
	if (!st)
		st = hop_jit_vmap(j, 2, batched, &v);
	if (!st && (!hop_explain(j) || !hop_explain(v)))
		st = HOP_ENOMEM;
	hop_jit_release(v);
	hop_jit_release(j);
	return st;
}

static void test_nomem(void **state)
{
	long bad = 0;
	(void)state;
	assert_int_equal(setenv("HOP_INTERP", "1", 1), 0);   /* nomem_test.c compiles */
	for (bool passed = false; !passed; bad++) {
		struct meter m = { .bad = bad };
		hop_ctx_opts o = { .size = sizeof o, .alloc = metered, .user = &m };
		hop_ctx *c;
		hop_status st = hop_ctx_new(&o, &c);
		if (!st) {
			st = life(c);
			hop_ctx_free(c);
		}
		if (m.live)
			fail_msg("allocation %ld failing leaks %ld bytes (status %d)", bad, m.live, st);
		if (st != HOP_OK && st != HOP_ENOMEM)
			fail_msg("allocation %ld failing gives status %d", bad, st);
		passed = m.calls <= bad;
	}
	assert_int_equal(unsetenv("HOP_INTERP"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_overlap_more),
		cmocka_unit_test(test_clash),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_transforms),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_nomem),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
