/* watch_test.c -- hop_watch: the history of a value in loops, compiled, interpreted and eager; in
 * lanes, under derivatives, in bounded memory; and who is told of mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;

enum way { COMPILED, INTERPRETED, EAGER, NWAY };

static hop_array *vec(int64_t n, const double *v)
{
	hop_array *a;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &a), HOP_OK);
	return a;
}

/* One vector in, one result, which is let go. */
static hop_status go(hop_body *f, enum way w, hop_record *r, int64_t n, const double *v)
{
	hop_array *x = vec(n, v), *y = NULL;
	hop_spec spec = hop_spec1(HOP_f64, n);
	hop_fn *fn;
	hop_status st;
	const hop_run_opts *o = HOP_RUN_OPTS(.record = r, .interpret = w == INTERPRETED);
	if (w == EAGER) {
		st = hop_eager_call_with(ctx, f, NULL, 1, &x, 1, &y, o);
	} else {
		assert_int_equal(hop_capture(ctx, f, NULL, 1, &spec, &fn), HOP_OK);
		st = hop_call_with(fn, 1, &x, 1, &y, o);
		hop_fn_release(fn);
	}
	hop_array_release(x);
	hop_array_release(y);
	return st;
}

static hop_record *record(const hop_record_opts *o)
{
	hop_record *r;
	assert_int_equal(hop_record_new(ctx, o, &r), HOP_OK);
	return r;
}

/* Rows and trips are exactly these. */
static void held(hop_record *r, const char *name, int64_t rows, int64_t each, const double *want,
                 int64_t loops, const int64_t *trip)
{
	hop_array *v, *t;
	if (hop_watched(r, name, &v, &t))
		fail_msg("%s", hop_message(ctx));
	assert_int_equal(hop_array_dims(v)[0], rows);
	assert_int_equal(hop_array_dims(t)[0], rows);
	assert_int_equal(hop_array_dims(t)[1], loops);
	for (int64_t i = 0; i < rows * each; i++)
		assert_true(hop_array_at(v, i) == want[i]);
	for (int64_t i = 0; i < rows * loops; i++)
		assert_int_equal((int64_t)hop_array_at(t, i), trip[i]);
	hop_array_release(v);
	hop_array_release(t);
}

/* ---- loops in loops, a branch in them ---- */

static void nested(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = in[0], n = hop_scalar(t, HOP_i64, 0);
	(void)user;
	hop_watch(t, s, "start");
	HOP_WHILE(t, hop_lt(t, n, hop_i(t, 2)), s, n) {
		HOP_FOR_DOWN(t, i, 3, s) {
			s = hop_add(t, s, hop_cast(t, i, HOP_f64));
			hop_watch(t, s, "s");
			HOP_IF(t, hop_eq(t, i, hop_i(t, 1))) {
				hop_watch(t, hop_mulf(t, s, 10), "at one");
			}
		}
		n = hop_add(t, n, hop_i(t, 1));
	}
	hop_return(t, s);
}

static void test_nested(void **state)
{
	(void)state;
	for (int w = 0; w < NWAY; w++) {
		hop_record *r = record(NULL);
		assert_int_equal(go(nested, (enum way)w, r, 2, (double[]){ 0, 100 }), HOP_OK);
		held(r, "start", 1, 2, (double[]){ 0, 100 }, 0, NULL);
		held(r, "s", 6, 2, (double[]){ 2, 102, 3, 103, 3, 103, 5, 105, 6, 106, 6, 106 }, 2,
		     (int64_t[]){ 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2 });
		held(r, "at one", 2, 2, (double[]){ 30, 1030, 60, 1060 }, 2, (int64_t[]){ 0, 1, 1, 1 });
		assert_int_equal(hop_record_names(r), 3);
		assert_string_equal(hop_record_name(r, 1), "s");
		assert_null(hop_record_name(r, 3));
		assert_null(hop_record_name(r, -1));
		/* runs add; clear forgets */
		assert_int_equal(go(nested, (enum way)w, r, 2, (double[]){ 0, 100 }), HOP_OK);
		held(r, "at one", 4, 2, (double[]){ 30, 1030, 60, 1060, 30, 1030, 60, 1060 }, 2,
		     (int64_t[]){ 0, 1, 1, 1, 0, 1, 1, 1 });
		hop_record_clear(r);
		assert_int_equal(hop_record_names(r), 0);
		hop_record_free(r);
		assert_int_equal(go(nested, (enum way)w, NULL, 2, (double[]){ 0, 100 }), HOP_OK);
	}
}

static void test_bounded(void **state)
{
	(void)state;
	for (int w = 0; w < NWAY; w++) {
		hop_record *r = record(HOP_RECORD_OPTS(.every = 2, .last = 2));
		assert_int_equal(go(nested, (enum way)w, r, 1, (double[]){ 0 }), HOP_OK);
		held(r, "s", 2, 1, (double[]){ 3, 6 }, 2, (int64_t[]){ 0, 2, 1, 1 });
		hop_record_free(r);
		r = record(HOP_RECORD_OPTS(.last = 1));
		assert_int_equal(go(nested, (enum way)w, r, 1, (double[]){ 0 }), HOP_OK);
		held(r, "s", 1, 1, (double[]){ 6 }, 2, (int64_t[]){ 1, 2 });
		hop_record_free(r);
		r = record(NULL);
		assert_int_equal(go(nested, (enum way)w, r, 0, NULL), HOP_OK);      /* of nothing */
		held(r, "s", 6, 0, NULL, 2, (int64_t[]){ 0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2 });
		hop_record_free(r);
	}
}

/* ---- lanes and derivatives ---- */

static void halve(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, hop_f(t, 1), x), x) {
		x = hop_mulf(t, x, 0.5);
		hop_watch(t, x, "x");
	}
	hop_return(t, hop_mul(t, x, x));
}

static void test_lanes(void **state)
{
	hop_fn *f, *b;
	const bool all = true;
	hop_spec spec = hop_spec0(HOP_f64);
	hop_array *x = vec(3, (double[]){ 3, 0.5, 8 }), *y;
	(void)state;
	assert_int_equal(hop_capture(ctx, halve, NULL, 1, &spec, &f), HOP_OK);
	assert_int_equal(hop_vmap(f, &all, -1, &b), HOP_OK);
	for (int w = 0; w < 2; w++) {
		hop_record *r = record(NULL);
		assert_int_equal(hop_call_with(b, 1, &x, 1, &y, HOP_RUN_OPTS(.record = r, .interpret = w)),
		                 HOP_OK);
		/* a lane that has ended keeps its last row; one that never ran has zeros */
		held(r, "x", 3, 3, (double[]){ 1.5, 0, 4, 0.75, 0, 2, 0.75, 0, 1 }, 1,
		     (int64_t[]){ 0, 1, 2 });
		hop_array_release(y);
		hop_record_free(r);
	}
	hop_array_release(x);
	hop_fn_release(f);
	hop_fn_release(b);
}

static void test_grad(void **state)
{
	hop_fn *f, *g;
	hop_spec spec = hop_spec0(HOP_f64);
	double six = 6;
	hop_array *x, *y[2];
	(void)state;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 0, NULL, &six, &x), HOP_OK);
	assert_int_equal(hop_capture(ctx, halve, NULL, 1, &spec, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_OK);
	for (int w = 0; w < 2; w++) {
		hop_record *r = record(NULL);
		assert_int_equal(hop_call_with(g, 1, &x, 2, y, HOP_RUN_OPTS(.record = r, .interpret = w)),
		                 HOP_OK);
		held(r, "x", 3, 1, (double[]){ 3, 1.5, 0.75 }, 1, (int64_t[]){ 0, 1, 2 });
		assert_true(hop_array_at(y[1], 0) == 2 * 0.75 / 8);
		hop_array_release(y[0]);
		hop_array_release(y[1]);
		hop_record_free(r);
	}
	hop_array_release(x);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- the hard door, and nobody watching ---- */

static void test_door(void **state)
{
	hop_fn *f;
	hop_exec *plain, *watched;
	hop_spec spec = hop_spec1(HOP_f64, 2);
	double x[2] = { 0, 100 }, y[2];
	hop_arg in = { .data = x }, out = { .data = y };
	hop_record *r = record(NULL);
	(void)state;
	assert_int_equal(hop_capture(ctx, nested, NULL, 1, &spec, &f), HOP_OK);
	assert_int_equal(hop_compile(f, NULL, &plain), HOP_OK);
	assert_int_equal(hop_compile(f, HOP_COMPILE_OPTS(.watch = true), &watched), HOP_OK);
	int64_t n = hop_exec_workspace(plain, &in), m = hop_exec_workspace(watched, &in);
	void *work = aligned_alloc(64, (size_t)((n > m ? n : m) + 127) / 64 * 64);
	assert_int_equal(hop_run(plain, &in, &out, work), HOP_OK);
	assert_int_equal(hop_run(watched, &in, &out, work), HOP_OK);
	assert_int_equal(hop_run_with(plain, &in, &out, work, HOP_RUN_OPTS(.record = r)), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "compile it with .watch"));
	assert_int_equal(hop_record_names(r), 0);
	assert_int_equal(hop_run_with(watched, &in, &out, work, HOP_RUN_OPTS(.record = r)), HOP_OK);
	held(r, "at one", 2, 2, (double[]){ 30, 1030, 60, 1060 }, 2, (int64_t[]){ 0, 1, 1, 1 });
	free(work);
	hop_exec_release(plain);
	hop_exec_release(watched);
	hop_fn_release(f);
	hop_record_free(r);
}

/* ---- mistakes ---- */

static void no_name(hop_trace *t, const hop_value *in, void *user)
{
	hop_watch(t, in[0], user);
	hop_return(t, in[0]);
}

static void two_types(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_watch(t, in[0], "x");
	hop_watch(t, hop_sum_all(t, in[0]), "x");
	hop_return(t, in[0]);
}

static void plain(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_addf(t, in[0], 1));
}

static void test_mistakes(void **state)
{
	hop_fn *f;
	hop_record *r;
	hop_array *a;
	hop_spec spec = hop_spec1(HOP_f64, 2);
	(void)state;
	assert_int_equal(hop_capture(ctx, no_name, NULL, 1, &spec, &f), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "watch: the value needs a name"));
	char empty[] = "";
	assert_int_equal(hop_capture(ctx, no_name, empty, 1, &spec, &f), HOP_EUSE);
	assert_int_equal(hop_record_new(NULL, NULL, &r), HOP_EUSE);
	assert_int_equal(hop_record_new(ctx, NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_record_new(ctx, HOP_RECORD_OPTS(.every = -1), &r), HOP_EVALUE);
	assert_null(r);
	assert_int_equal(hop_record_new(ctx, HOP_RECORD_OPTS(.last = -5), &r), HOP_EVALUE);
	assert_int_equal(hop_record_new(ctx, &(hop_record_opts){ .size = 3 }, &r), HOP_EVALUE);
	r = record(NULL);
	for (int w = 0; w < NWAY; w++) {
		hop_record_clear(r);
		assert_int_equal(go(two_types, (enum way)w, r, 2, (double[]){ 1, 2 }), HOP_ESHAPE);
		assert_non_null(strstr(hop_message(ctx), "watch: \"x\" had another type"));
		assert_non_null(strstr(hop_message(ctx), "watch_test.c:"));
		hop_record_clear(r);
		assert_int_equal(go(plain, (enum way)w, r, 2, (double[]){ 1, 2 }), HOP_OK);
	}
	assert_int_equal(hop_watched(r, "x", &a, NULL), HOP_EVALUE);
	assert_null(a);
	assert_non_null(strstr(hop_message(ctx), "nothing was recorded as \"x\""));
	assert_int_equal(go(nested, COMPILED, r, 1, (double[]){ 1 }), HOP_OK);
	assert_int_equal(hop_watched(r, "x", &a, NULL), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "there is start, s, at one"));
	assert_int_equal(hop_watched(r, NULL, &a, NULL), HOP_EUSE);
	assert_int_equal(hop_watched(NULL, "x", &a, NULL), HOP_EUSE);
	assert_int_equal(hop_watched(r, "s", NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_record_names(NULL), 0);
	assert_null(hop_record_name(NULL, 0));
	hop_record_free(r);
	hop_record_free(NULL);
	hop_record_clear(NULL);
}

static int setup(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx);
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
		cmocka_unit_test(test_nested), cmocka_unit_test(test_bounded), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_grad), cmocka_unit_test(test_door), cmocka_unit_test(test_mistakes),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
