/* host_test.c -- functions of the host: compiled, interpreted and eager, in loops and branches, with
 * results that are read and not, under derivatives, and what they say when they fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;

enum way { COMPILED, INTERPRETED, EAGER, NWAY };

/* What the functions below were asked, in order. */
static struct log {
	int    n;
	double first[64];
	int    dropped, rank;
} told;

static void count(const hop_host_call *c)
{
	if (c->nin && told.n < 64)
		told.first[told.n] = ((const double *)c->in[0].data)[0];
	told.rank = c->nin ? c->in[0].rank : 0;
	told.n++;
}

static int64_t elements(const hop_host_arg *a)
{
	int64_t n = 1;
	for (int k = 0; k < a->rank; k++)
		n *= a->dim[k];
	return n;
}

static hop_status twice(const hop_host_call *c)
{
	const double *x = c->in[0].data;
	double *y = c->out[0].data;
	count(c);
	for (int64_t i = 0; i < elements(c->in); i++)
		y[i] = 2 * x[i];
	return HOP_OK;
}

/* 0, 1, 2, .. */
static hop_status next(const hop_host_call *c)
{
	*(double *)c->out[0].data = told.n;
	count(c);
	return HOP_OK;
}

static hop_status angry(const hop_host_call *c)
{
	return hop_host_fail(c, HOP_EVALUE, "row %d is not there", 7);
}

static void drop(void *user)
{
	((struct log *)user)->dropped++;
}

static hop_array *vec(int64_t n, const double *v)
{
	hop_array *a;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &a), HOP_OK);
	return a;
}

static hop_status go(hop_body *f, enum way w, int64_t n, const double *v, double *out)
{
	hop_array *x = vec(n, v), *y = NULL;
	hop_spec spec = hop_spec_sym(hop_spec1(HOP_f64, n), 0, "n", 0, 100);
	hop_fn *fn;
	hop_status st;
	told.n = 0;
	if (w == EAGER) {
		st = hop_eager_call(ctx, f, NULL, 1, &x, 1, &y);
	} else {
		if ((st = hop_capture(ctx, f, NULL, 1, &spec, &fn)))
			fail_msg("%s", hop_message(ctx));
		st = hop_call_with(fn, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = w == INTERPRETED));
		hop_fn_release(fn);
	}
	if (!st)
		memcpy(out, hop_array_data(y), (size_t)hop_array_dims(y)[0] * sizeof *out);
	hop_array_release(x);
	hop_array_release(y);
	return st;
}

static hop_value call_twice(hop_trace *t, const char *name, hop_value x)
{
	hop_dim n = hop_dim_of(t, x, 0);
	hop_result r = hop_result_of(HOP_f64, 1, &n);
	hop_value y;
	hop_host(t, name, 1, &x, 1, &r, &y);
	return y;
}

static void plain(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, call_twice(t, "twice", hop_mulf(t, in[0], 3)), in[0]));
}

static void in_loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		x = call_twice(t, "twice", x);
	hop_return(t, x);
}

static void in_branch(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_IF(t, hop_gt(t, hop_sum(t, x, 0, NULL), hop_f(t, 0)), x)
		x = call_twice(t, "twice", x);
	hop_return(t, x);
}

/* Nobody reads the first, and it is called; nobody reads the second, which is pure. */
static void unread(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	call_twice(t, "twice", in[0]);
	call_twice(t, "pure", in[0]);
	hop_return(t, in[0]);
}

static void fails(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, call_twice(t, "angry", in[0]));
}

static void test_values(void **state)
{
	(void)state;
	for (enum way w = 0; w < NWAY; w++) {
		double y[3];
		assert_int_equal(go(plain, w, 3, (double[]){ 1, 2, 3 }, y), HOP_OK);
		assert_true(y[0] == 7 && y[1] == 14 && y[2] == 21 && told.n == 1);
		assert_int_equal(go(in_loop, w, 2, (double[]){ 1, -2 }, y), HOP_OK);
		assert_true(y[0] == 8 && y[1] == -16 && told.n == 3);
		assert_true(told.first[0] == 1 && told.first[1] == 2 && told.first[2] == 4);
		assert_int_equal(go(in_branch, w, 2, (double[]){ 1, 2 }, y), HOP_OK);
		assert_true(y[1] == 4 && told.n == 1);
		assert_int_equal(go(in_branch, w, 2, (double[]){ 1, -2 }, y), HOP_OK);
		assert_true(y[1] == -2 && told.n == 0);
		assert_int_equal(go(unread, w, 1, (double[]){ 5 }, y), HOP_OK);
		assert_true(y[0] == 5 && told.n == (w == COMPILED ? 1 : told.n));
	}
}

/* ---- lanes ---- */

/* Lanes that are above zero ask, and then all do. */
static void some_lanes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_IF(t, hop_gt(t, hop_sum(t, x, 0, NULL), hop_f(t, 0)), x)
		x = call_twice(t, "twice", x);
	hop_return(t, x);
}

static void not_batched(hop_trace *t, const hop_value *in, void *user)
{
	hop_result r = hop_result_of(HOP_f64, 0, NULL);
	hop_value y;
	(void)user;
	hop_host(t, "next", 0, NULL, 1, &r, &y);
	hop_return(t, hop_add(t, in[0], y));
}

static void at_once(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, call_twice(t, "whole", in[0]));
}

static void batched(hop_body *f, enum way w, const double *v, double *out)
{
	hop_spec spec = hop_spec1(HOP_f64, 2);
	hop_fn *fn, *vf;
	hop_array *x, *y;
	told.n = 0;
	if (hop_capture(ctx, f, NULL, 1, &spec, &fn) || hop_vmap(fn, (bool[]){ true }, 3, &vf) ||
	    hop_array_new(ctx, HOP_f64, 2, (int64_t[]){ 3, 2 }, v, &x) ||
	    hop_call_with(vf, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = w == INTERPRETED)))
		fail_msg("%s", hop_message(ctx));
	memcpy(out, hop_array_data(y), 6 * sizeof *out);
	hop_array_release(x);
	hop_array_release(y);
	hop_fn_release(fn);
	hop_fn_release(vf);
}

static void test_lanes(void **state)
{
	const double v[6] = { 1, 2, -3, -4, 5, 6 };
	(void)state;
	for (enum way w = COMPILED; w <= INTERPRETED; w++) {
		double y[6];
		batched(plain, w, v, y);
		assert_true(told.n == 3 && told.first[0] == 3 && told.first[1] == -9 && told.first[2] == 15);
		for (int i = 0; i < 6; i++)
			assert_true(y[i] == 7 * v[i]);
		batched(some_lanes, w, v, y);
		assert_true(told.n == 2 && told.first[0] == 1 && told.first[1] == 5);
		assert_true(y[0] == 2 && y[1] == 4 && y[2] == -3 && y[3] == -4 && y[4] == 10 && y[5] == 12);
		batched(not_batched, w, v, y);
		assert_true(told.n == 3 && y[0] == 1 && y[2] == -2 && y[5] == 8);
		batched(at_once, w, v, y);
		assert_true(told.n == 1 && told.rank == 2 && y[5] == 12);
	}
}

static void test_failure(void **state)
{
	(void)state;
	for (enum way w = 0; w < NWAY; w++) {
		double y[1];
		assert_int_equal(go(fails, w, 1, (double[]){ 1 }, y), HOP_EVALUE);
		if (!strstr(hop_message(ctx), "host function `angry`: row 7 is not there"))
			fail_msg("%d: %s", (int)w, hop_message(ctx));
	}
}

static void test_text(void **state)
{
	hop_spec spec = hop_spec_sym(hop_spec1(HOP_f64, 3), 0, "n", 0, 100);
	hop_fn *f, *g;
	(void)state;
	assert_int_equal(hop_capture(ctx, plain, NULL, 1, &spec, &f), HOP_OK);
	const char *s = hop_fn_text(f);
	assert_non_null(strstr(s, "host %"));
	assert_non_null(strstr(s, "{fn = \"twice\", types = [f64[n]]}"));
	if (hop_fn_parse(ctx, s, strlen(s), NULL, &g))
		fail_msg("%s", hop_message(ctx));
	assert_string_equal(hop_fn_text(g), s);
	hop_fn_release(f);
	hop_fn_release(g);
}

static void test_wrong(void **state)
{
	double y[1];
	(void)state;
	assert_int_equal(hop_host_add(ctx, HOP_HOST_DEF(.name = "twice", .run = twice)), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "there is a function `twice` already"));
	assert_int_equal(hop_host_add(ctx, HOP_HOST_DEF(.name = "x")), HOP_EUSE);
	assert_int_equal(hop_host_add(ctx, NULL), HOP_EUSE);
	hop_spec spec = hop_spec1(HOP_f64, 1);
	hop_fn *f, *g;
	assert_int_equal(hop_capture(ctx, in_loop, NULL, 1, &spec, &f), HOP_OK);
	assert_int_equal(hop_vjp(f, 1, (int[]){ 0 }, &g), HOP_ENODIFF);
	assert_non_null(strstr(hop_message(ctx), "the host function `twice` has no gradient"));
	assert_int_equal(hop_aot_write(ctx, 1, &f, (const char *[]){ "f" }, "/tmp/hop_host_test", NULL),
	                 HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "build: the program calls `twice` of the host"));
	hop_fn_release(f);
	(void)y;
}

static int setup(void **state)
{
	(void)state;
	memset(&told, 0, sizeof told);
	if (hop_ctx_new(NULL, &ctx))
		return 1;
	return hop_host_add(ctx, HOP_HOST_DEF(.name = "twice", .run = twice, .user = &told,
	                                      .drop = drop)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "pure", .run = twice, .pure = true)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "next", .run = next)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "whole", .run = twice, .batch = HOP_HOST_WHOLE)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "angry", .run = angry));
}

static int teardown(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return told.dropped != 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_text), cmocka_unit_test(test_wrong)
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
