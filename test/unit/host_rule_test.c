/* host_rule_test.c -- what the maker of a host function may declare beside its results: their shape,
 * what it writes, its gradient; and that values are the caller's own memory where they can be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

#include "device_rig.h"

static hop_ctx *ctx;

enum way { COMPILED, INTERPRETED, EAGER, NWAY };

static struct {
	int         calls, slopes;
	const void *in[8];
} seen;

static int64_t elements(const hop_host_arg *a)
{
	int64_t n = 1;
	for (int k = 0; k < a->rank; k++)
		n *= a->dim[k];
	return n;
}

static void note(const hop_host_call *c)
{
	for (int i = 0; i < c->nin && i < 8; i++)
		seen.in[i] = c->in[i].data;
	seen.calls++;
}

/* ---- the functions ---- */

/* y = x^3 elementwise, and how many are negative. */
static hop_status cube(const hop_host_call *c)
{
	const double *x = c->in[0].data;
	double *y = c->out[0].data;
	int64_t *n = c->out[1].data;
	note(c);
	*n = 0;
	for (int64_t i = 0; i < elements(c->in); i++) {
		y[i] = x[i] * x[i] * x[i];
		*n += x[i] < 0;
	}
	return HOP_OK;
}

/* The types of cube's results: those of x, and a count. */
static void cube_shape(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_tanh(t, in[0]), hop_i(t, 0));
}

/* x, k; y, n; ct of y: 3 x^2 ct. */
static void cube_vjp(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_mulf(t, hop_mul(t, in[0], in[0]), 3), in[3]));
}

static void cube_jvp(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_mulf(t, hop_mul(t, in[0], in[0]), 3), in[1]));
}

/* y = exp(x) z, whose gradient is a function of the host that reads y. */
static hop_status grow(const hop_host_call *c)
{
	const double *x = c->in[0].data, *z = c->in[1].data;
	note(c);
	for (int64_t i = 0; i < elements(c->in); i++)
		((double *)c->out[0].data)[i] = exp(x[i]) * z[0];
	return HOP_OK;
}

/* x, z, y, ct -> y ct, and zeros for z, which we hold to be constant. */
static hop_status grow_slope(const hop_host_call *c)
{
	const double *y = c->in[2].data, *ct = c->in[3].data;
	seen.slopes++;
	for (int64_t i = 0; i < elements(c->in); i++)
		((double *)c->out[0].data)[i] = y[i] * ct[i];
	*(double *)c->out[1].data = 0;
	return HOP_OK;
}

/* x += y in place; gives the sum of what x was. */
static hop_status add_to(const hop_host_call *c)
{
	double *x = c->in[0].data;
	const double *y = c->in[1].data;
	double *was = c->out[0].data;
	note(c);
	*was = 0;
	for (int64_t i = 0; i < elements(c->in); i++) {
		*was += x[i];
		x[i] += y[i];
	}
	return HOP_OK;
}

/* ---- running ---- */

static hop_status go(hop_body *f, enum way w, int64_t n, double *v, int nout, double *out)
{
	hop_array *x, *y[2] = { NULL, NULL };
	hop_spec spec = hop_spec_sym(hop_spec1(HOP_f64, n), 0, "n", 0, 100);
	hop_fn *fn;
	hop_status st;
	memset(&seen, 0, sizeof seen);
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &x), HOP_OK);
	if (w == EAGER) {
		st = hop_eager_call(ctx, f, NULL, 1, &x, nout, y);
	} else {
		if ((st = hop_capture(ctx, f, NULL, 1, &spec, &fn)))
			fail_msg("%s", hop_message(ctx));
		st = hop_call_with(fn, 1, &x, nout, y, HOP_RUN_OPTS(.interpret = w == INTERPRETED));
		hop_fn_release(fn);
	}
	for (int k = 0, at = 0; k < nout && !st; at += (int)hop_array_count(y[k]), k++)
		memcpy(out + at, hop_array_data(y[k]), (size_t)hop_array_count(y[k]) * sizeof *out);
	hop_array_release(x);
	hop_array_release(y[0]);
	hop_array_release(y[1]);
	return st;
}

#define OK(e) do { if (e) fail_msg("%s: %s", #e, hop_message(ctx)); } while (0)

/* ---- shapes ---- */

static void shaped(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y[2];
	(void)user;
	hop_host(t, "cube", 1, in, 2, NULL, y);
	hop_return(t, hop_add(t, y[0], hop_cast(t, y[1], HOP_f64)));
}

static void no_shape(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_host(t, "grow", 1, in, 1, NULL, &y);
}

static void no_room(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_host(t, "cube", 1, in, 1, NULL, &y);
}

static void test_shape(void **state)
{
	hop_spec spec = hop_spec1(HOP_f64, 2);
	hop_fn *f;
	(void)state;
	for (enum way w = 0; w < NWAY; w++) {
		double y[2];
		OK(go(shaped, w, 2, (double[]){ 2, -1 }, 1, y));
		assert_true(y[0] == 9 && y[1] == 0 && seen.calls == 1);
	}
	assert_int_equal(hop_capture(ctx, no_shape, NULL, 1, &spec, &f), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "`grow` has no shape function, so the types"));
	assert_int_equal(hop_capture(ctx, no_room, NULL, 1, &spec, &f), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "gives 2 results, there is room for 1"));
	assert_int_equal(hop_capture(ctx, shaped, NULL, 1, &spec, &f), HOP_OK);
	assert_null(strstr(hop_fn_text(f), "tanh"));        /* nothing of the shape is kept */
	hop_fn_release(f);
}

/* ---- gradients ---- */

static void cube_sum(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y[2];
	(void)user;
	hop_host(t, "cube", 1, in, 2, NULL, y);
	hop_return(t, hop_sum(t, y[0], 0, NULL));
}

static void grow_sum(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim n = hop_dim_of(t, in[0], 0);
	hop_result r = hop_result_of(HOP_f64, 1, &n);
	hop_value x[2] = { in[0], hop_sum(t, in[0], 0, NULL) }, y;
	(void)user;
	hop_host(t, "grow", 2, x, 1, &r, &y);
	hop_return(t, hop_sum(t, y, 0, NULL));
}

/* Compiled and interpreted. */
static hop_status call1(hop_fn *f, enum way w, int64_t n, const double *v, int k, double *out)
{
	hop_array *x, *y[4] = { NULL };
	memset(&seen, 0, sizeof seen);
	OK(hop_array_new(ctx, HOP_f64, 1, &n, v, &x));
	int nout = hop_fn_nout(f);
	hop_status st = hop_call_with(f, 1, &x, nout, y, HOP_RUN_OPTS(.interpret = w == INTERPRETED));
	if (!st)
		memcpy(out, hop_array_data(y[k]), (size_t)hop_array_count(y[k]) * sizeof *out);
	hop_array_release(x);
	for (int i = 0; i < nout; i++)
		hop_array_release(y[i]);
	return st;
}

static void test_gradient(void **state)
{
	hop_spec spec = hop_spec1(HOP_f64, 2);
	const double v[2] = { 2, -1 };
	hop_fn *f, *g, *h, *s, *j;
	double y[4];
	(void)state;
	OK(hop_capture(ctx, cube_sum, NULL, 1, &spec, &f));
	OK(hop_grad(f, 1, (int[]){ 0 }, &g));
	OK(hop_hessian(f, 1, (int[]){ 0 }, NULL, &h));
	for (enum way w = 0; w <= INTERPRETED; w++) {
		OK(call1(g, w, 2, v, 1, y));
		assert_true(y[0] == 12 && y[1] == 3 && seen.calls == 1);
		OK(call1(h, w, 2, v, hop_fn_nout(h) - 1, y));
		assert_true(y[0] == 12 && y[1] == 0 && y[2] == 0 && y[3] == -6);
	}
	OK(hop_capture(ctx, grow_sum, NULL, 1, &spec, &s));
	OK(hop_grad(s, 1, (int[]){ 0 }, &j));
	for (enum way w = 0; w <= INTERPRETED; w++) {
		OK(call1(j, w, 2, v, 1, y));
		assert_true(fabs(y[0] - exp(2)) < 1e-14 && fabs(y[1] - exp(-1)) < 1e-14);
		assert_true(seen.calls == 1 && seen.slopes == 1);
	}
	hop_fn_release(h);
	assert_int_equal(hop_hessian(s, 1, (int[]){ 0 }, NULL, &h), HOP_ENODIFF);
	assert_non_null(strstr(hop_message(ctx), "the host function `grow_slope` has no"));
	hop_fn_release(f), hop_fn_release(g), hop_fn_release(s), hop_fn_release(j);
}

/* ---- a loop of so many trips as the data say, twice differentiated ---- */

static void cubes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y[2];
	(void)user;
	HOP_WHILE(t, hop_gt(t, hop_sum(t, x, 0, NULL), hop_f(t, 0.5)), x) {
		hop_host(t, "cube", 1, &x, 2, NULL, y);
		x = y[0];
	}
	hop_return(t, hop_sum(t, x, 0, NULL));
}

static void cubes_slope(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	hop_grad_at(t, cubes, NULL, 1, in, 1, (int[]){ 0 }, 2, out);
	hop_return(t, hop_sum(t, out[1], 0, NULL));
}

/* 0.9^9 in two trips, since 0.9 and 0.729 are above one half: 72 * 0.9^7. */
static void test_second(void **state)
{
	hop_spec spec = hop_spec1(HOP_f64, 1);
	double v = 0.9, want = 72 * pow(0.9, 7), y[2];
	hop_fn *f, *g;
	(void)state;
	OK(hop_capture(ctx, cubes_slope, NULL, 1, &spec, &f));
	OK(hop_grad(f, 1, (int[]){ 0 }, &g));
	for (enum way w = 0; w <= INTERPRETED; w++) {
		OK(call1(g, w, 1, &v, 1, y));
		assert_true(fabs(y[0] - want) < 1e-12 * want);
	}
	hop_fn_release(f), hop_fn_release(g);
}

/* ---- writes ---- */

static hop_value add_into(hop_trace *t, hop_value x, hop_value y)
{
	hop_result r = hop_result_of(HOP_f64, 0, NULL);
	hop_value in[2] = { x, y }, was;
	hop_host(t, "add_to", 2, in, 1, &r, &was);
	return was;
}

static void writes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = hop_clone(t, in[0]);
	hop_value was = add_into(t, x, in[0]);
	(void)user;
	hop_return(t, x, was);
}

/* The first two of x, a view; and then all of it, three times. */
static void writes_view(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = hop_clone(t, in[0]), head = hop_narrow(t, x, 0, 0, 2);
	(void)user;
	add_into(t, head, head);
	HOP_FOR(t, i, 3)
		add_into(t, x, in[0]);
	hop_return(t, x, hop_sum(t, head, 0, NULL));
}

static void writes_number(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	add_into(t, hop_f(t, 1), in[0]);
	hop_return(t, in[0]);
}

static void test_writes(void **state)
{
	hop_spec spec = hop_spec1(HOP_f64, 3);
	hop_fn *f;
	(void)state;
	for (enum way w = 0; w < NWAY; w++) {
		double v[3] = { 1, 2, 3 }, y[4];
		OK(go(writes, w, 3, v, 2, y));
		assert_true(y[0] == 2 && y[1] == 4 && y[2] == 6 && y[3] == 6 && seen.calls == 1);
		OK(go(writes_view, w, 3, v, 2, y));
		assert_true(y[0] == 5 && y[1] == 10 && y[2] == 12 && y[3] == 15 && seen.calls == 4);
		assert_true(v[0] == 1 && v[1] == 2 && v[2] == 3);
	}
	assert_int_equal(hop_capture(ctx, writes_number, NULL, 1, &spec, &f), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "a number cannot be written"));
}

/* ---- memory ---- */

static void looks(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y[2];
	(void)user;
	hop_host(t, "cube", 1, in, 2, NULL, y);
	hop_return(t, y[0]);
}

/* What is dense is given as it is, and results are written where the caller wants them. */
static void test_memory(void **state)
{
	hop_spec spec = hop_spec1(HOP_f64, 3);
	const double v[3] = { 1, 2, 3 };
	hop_fn *f;
	hop_array *x, *y;
	(void)state;
	NOT_ON_A_DEVICE("what a host function is given comes from there");
	OK(hop_capture(ctx, looks, NULL, 1, &spec, &f));
	OK(hop_array_new(ctx, HOP_f64, 1, (int64_t[]){ 3 }, v, &x));
	OK(hop_call(f, 1, &x, 1, &y));
	assert_ptr_equal(seen.in[0], hop_array_data(x));
	assert_true(((const double *)hop_array_data(y))[2] == 27);
	hop_array_release(x), hop_array_release(y), hop_fn_release(f);
}

/* ---- HOP_CHECK=host: setup has it on ---- */

static hop_status sneaks(const hop_host_call *c)
{
	((double *)c->in[0].data)[0] += 1;
	*(double *)c->out[0].data = 0;
	return HOP_OK;
}

static hop_status strays(const hop_host_call *c)
{
	((double *)c->out[0].data)[1] = 0;
	return HOP_OK;
}

static void asks(hop_trace *t, const hop_value *in, void *user)
{
	hop_result r = hop_result_of(HOP_f64, 0, NULL);
	hop_value y;
	hop_host(t, user, 1, in, 1, &r, &y);
	hop_return(t, y);
}

static void test_check(void **state)
{
	static const char *const bad[][2] = {
		{ "sneaks", "undeclared write detected: it changed input 0: name that in .writes" },
		{ "strays", "it wrote outside of result 0" }
	};
	hop_spec spec = hop_spec1(HOP_f64, 2);
	(void)state;
	for (int i = 0; i < 2; i++)
		for (enum way w = 0; w <= INTERPRETED; w++) {
			double v[2] = { 1, 2 }, y[2];
			hop_fn *f;
			OK(hop_capture(ctx, asks, (void *)(uintptr_t)bad[i][0], 1, &spec, &f));
			assert_int_equal(call1(f, w, 2, v, 0, y), HOP_EVALUE);
			if (!strstr(hop_message(ctx), bad[i][1]))
				fail_msg("%s", hop_message(ctx));
			hop_fn_release(f);
		}
}

static void test_wrong(void **state)
{
	(void)state;
	static const struct { hop_host_def d; const char *words; } bad[] = {
		{ { .name = "a", .run = cube, .nwrite = -1 }, "the count of writes is negative" },
		{ { .name = "a", .run = cube, .nwrite = 1 }, "their list is missing" },
		{ { .name = "a", .run = cube, .vjp = cube_vjp, .vjp_host = "b" }, "not both" },
		{ { .name = "a", .run = cube, .jvp = cube_jvp }, "has a jvp, but no vjp" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		hop_host_def d = bad[i].d;
		d.size = sizeof d;
		assert_int_equal(hop_host_add(ctx, &d), HOP_EUSE);
		if (!strstr(hop_message(ctx), bad[i].words))
			fail_msg("%s", hop_message(ctx));
	}
}

static int setup(void **state)
{
	static const int first = 0;
	(void)state;
	setenv("HOP_CHECK", "host", 1);
	if (hop_ctx_new(NULL, &ctx))
		return 1;
	return hop_host_add(ctx, HOP_HOST_DEF(.name = "sneaks", .run = sneaks)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "strays", .run = strays)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "cube", .run = cube, .shape = cube_shape,
	                                      .pure = true, .vjp = cube_vjp, .jvp = cube_jvp)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "grow", .run = grow, .vjp_host = "grow_slope")) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "grow_slope", .run = grow_slope, .pure = true)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "add_to", .run = add_to, .nwrite = 1,
	                                      .writes = &first));
}

static int teardown(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape), cmocka_unit_test(test_gradient), cmocka_unit_test(test_second),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_memory), cmocka_unit_test(test_check), cmocka_unit_test(test_wrong)
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
