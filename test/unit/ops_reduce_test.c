/* ops_reduce_test.c -- products where elements are zero, and their second derivatives; argmax and
 * argmin of what ties, of NaN and infinities. By the interpreter and by native code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hop/ctx.h"
#include "text/text.h"
#include "support/native_run.h"

typedef void body_fn(hop_interp *p, judge_run_fn *run);

static void within(body_fn *body)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_interp p;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		fail_msg("no memory");
	hop_interp_init(&p, &e);
	body(&p, hop_interp_graph);
	body(&p, native_run);
	hop_interp_fini(&p);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
}

static const hop_graph *graph(hop_interp *p, const char *text, hop_module **m)
{
	if (hop_module_parse(p->env, text, strlen(text), "test", m))
		fail_msg("%s", p->env->diag.text);
	return hop_module_find(*m, NULL);
}

static hop_array *vector(hop_interp *p, hop_dtype d, int64_t n, const double *v)
{
	hop_array *t = hop_interp_new(p, d, 1, &n);
	for (int64_t i = 0; i < n; i++)
		hop_array_set_f(t, i, v[i]);
	return t;
}

/* ---- prod ---- */

enum { N = 5 };

/* The product of all elements but i and j. */
static double without(const double *x, int i, int j)
{
	double p = 1;
	for (int k = 0; k < N; k++)
		p *= k == i || k == j ? 1 : x[k];
	return p;
}

/* Of a program that multiplies all elements: the gradient times v, and the gradient of that. */
static void curved(hop_interp *p, judge_run_fn *run, const char *text)
{
	static const double xs[][N] = { { 2, -3, 0.5, 1, 7 }, { 2, 0, 0.5, 1, 7 },
	                                { 0, -3, 0.5, 0, 7 }, { 0, 0, 0.5, 0, 7 }, { 0 } };
	static const double v[N] = { 1, -2, 3, 0.25, 5 };
	hop_module *m;
	const hop_graph *first, *second;
	const hop_graph *g = graph(p, text, &m);
	/* x, ct -> prod, gradient; then x, ct, ct of the gradient -> the same, H v */
	assert_int_equal(hop_ad_vjp(p->env, g, (bool[]){ true }, (bool[]){ true }, &first), HOP_OK);
	assert_int_equal(hop_ad_vjp(p->env, first, (bool[]){ false, true }, (bool[]){ true, false },
	                            &second), HOP_OK);
	for (size_t k = 0; k < sizeof xs / sizeof *xs; k++) {
		const double *x = xs[k];
		hop_array *in[3] = { vector(p, HOP_f64, N, x), hop_interp_new(p, HOP_f64, 0, NULL),
		                      vector(p, HOP_f64, N, v) }, *out[3];
		hop_array_set_f(in[1], 0, 1);
		if (run(p, second, NULL, in, out))
			fail_msg("%s", p->env->diag.text);
		for (int i = 0; i < N; i++) {
			double want = 0;
			for (int j = 0; j < N; j++)
				want += j == i ? 0 : v[j] * without(x, i, j);
			assert_true(fabs(hop_array_f(out[1], i) - without(x, i, i)) < 1e-12);
			assert_true(fabs(hop_array_f(out[2], i) - want) < 1e-12);
		}
	}
	hop_module_free(m, &p->env->mem);
}

static void by_prod(hop_interp *p, judge_run_fn *run)
{
	curved(p, run, "hop 1\ngraph @f(%0: f64[5]) {\n  %1 = prod %0 {axes = [0]}\n"
	               "  return %1\n}\n");
}

/* All updates meet in the one element that there is. */
static void by_scatter(hop_interp *p, judge_run_fn *run)
{
	curved(p, run, "hop 1\ngraph @f(%0: f64[5]) {\n"
	               "  %1 = slice %0 {start = [2], dims = [1], step = [1]}\n"
	               "  %2 = slice %0 {start = [0], dims = [2], step = [1]}\n"
	               "  %3 = slice %0 {start = [3], dims = [2], step = [1]}\n"
	               "  %4 = concat %2, %3 {axis = 0}\n"
	               "  %5 = constant {value = i64[4] [0, 0, 0, 0]}\n"
	               "  %6 = scatter %1, %5, %4 {mode = mul}\n"
	               "  %7 = reshape %6 {dims = []}\n  return %7\n}\n");
}

static void test_prod(void **state)
{
	(void)state;
	within(by_prod);
	within(by_scatter);
}

/* ---- argmax, argmin ---- */

static void found(hop_interp *p, judge_run_fn *run)
{
	static const struct { double x[4]; int max, min; } c[] = {
		{ { 1, 3, 3, 1 }, 1, 0 }, { { 0, -0.0, 0, 0 }, 0, 0 },
		{ { 1, NAN, 9, NAN }, 1, 1 }, { { 2, -INFINITY, INFINITY, INFINITY }, 2, 1 },
		{ { -INFINITY, -INFINITY, -INFINITY, -INFINITY }, 0, 0 },
		{ { INFINITY, INFINITY, INFINITY, NAN }, 3, 3 }, { { -5, -4, -3, -7 }, 2, 3 },
	};
	for (int d = 0; d < HOP_NDTYPE; d++) {
		char text[200];
		hop_module *m;
		snprintf(text, sizeof text, "hop 1\ngraph @f(%%0: %s[4]) {\n"
		         "  %%1 = argmax %%0 {axis = 0}\n  %%2 = argmin %%0 {axis = 0}\n  return %%1, %%2\n}\n",
		         hop_dtype_name((hop_dtype)d));
		const hop_graph *g = graph(p, text, &m);
		for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
			bool real = hop_dtype_float((hop_dtype)d);
			hop_array *x = hop_interp_new(p, (hop_dtype)d, 1, (int64_t[]){ 4 }), *out[2];
			for (int i = 0; i < 4; i++)
				if (real)
					hop_array_set_f(x, i, c[k].x[i]);
				else                             /* 0 1 1 0 in any of them */
					hop_array_set_i(x, i, i == 1 || i == 2);
			if (run(p, g, NULL, &x, out))
				fail_msg("%s", p->env->diag.text);
			assert_int_equal(hop_array_i(out[0], 0), real ? c[k].max : 1);
			assert_int_equal(hop_array_i(out[1], 0), real ? c[k].min : 0);
		}
		hop_module_free(m, &p->env->mem);
	}
}

static void test_arg(void **state)
{
	(void)state;
	within(found);
}

/* An empty axis is refused, when it is known and when it comes. */
static void empty(hop_interp *p, judge_run_fn *run)
{
	hop_module *m;
	const hop_graph *g = graph(p, "hop 1\ngraph @f<n: 0..9>(%0: f64[n]) {\n"
	                              "  %1 = argmax %0 {axis = 0}\n  return %1\n}\n", &m);
	hop_array *x = vector(p, HOP_f64, 0, NULL), *out;
	assert_int_equal(run(p, g, (int64_t[]){ 0 }, &x, &out), HOP_ESHAPE);
	hop_diag_clear(p->env);
	x = vector(p, HOP_f64, 3, (const double[]){ 1, 2, 0 });
	assert_int_equal(run(p, g, (int64_t[]){ 3 }, &x, &out), HOP_OK);
	assert_int_equal(hop_array_i(out, 0), 1);
	hop_module_free(m, &p->env->mem);
}

static void test_empty(void **state)
{
	(void)state;
	within(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_prod), cmocka_unit_test(test_arg),
	                                    cmocka_unit_test(test_empty) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
