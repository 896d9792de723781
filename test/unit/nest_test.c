/* nest_test.c -- depth that the input decides: functions that apply functions, bodies in
 * bodies, long chains of views and of ops. It works, or it is refused with a message; the
 * stack is never what decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

enum { LEVELS = 400 };               /* as src/ir/graph.h has it */

static hop_ctx *ctx;

struct link { hop_fn *f; bool twice; };

static void body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *l = user;
	hop_value y = in[0];
	if (l->f)
		hop_apply(t, l->f, 1, &y, 1, &y);
	if (l->f && l->twice)                  /* called twice: never inlined away */
		hop_apply(t, l->f, 1, &y, 1, &y);
	hop_return(t, hop_sin(t, y));
}

/* Functions that apply each other, as many as go; the last one made, and how many. */
static hop_fn *chain(int n, bool twice, int *out_n, hop_status *out_st)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f = NULL, *g;
	*out_st = HOP_OK;
	for (*out_n = 0; *out_n < n; ++*out_n) {
		struct link l = { f, twice && *out_n < 3 };
		*out_st = hop_capture(ctx, body, &l, 1, &s, &g);
		if (*out_st)
			break;
		hop_fn_release(f);
		f = g;
	}
	return f;
}

static void call_with(hop_fn *f, int nout, const hop_run_opts *o)
{
	double x = 0.5;
	hop_array *a, *out[3] = { NULL };
	assert_int_equal(hop_array_new(ctx, HOP_f64, 0, NULL, &x, &a), HOP_OK);
	hop_status st = hop_call_with(f, 1, &a, nout, out, o);
	if (st)
		fail_msg("%s", hop_message(ctx));
	for (int i = 0; i < nout; i++)
		hop_array_release(out[i]);
	hop_array_release(a);
}

static void call(hop_fn *f, int nout)
{
	call_with(f, nout, NULL);
}

static void test_apply(void **state)
{
	int n, wrt = 0;
	bool yes = true;
	hop_status st;
	hop_fn *g, *f = chain(30000, true, &n, &st);
	(void)state;
	assert_int_equal(n, LEVELS);
	assert_int_equal(st, HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "nested more than 400 deep"));
	call(f, 1);
	assert_int_equal(hop_grad(f, 1, &wrt, &g), HOP_OK);
	call(g, 2);
	hop_fn_release(g);
	assert_int_equal(hop_vmap(f, &yes, 3, &g), HOP_OK);
	hop_fn_release(g);
	call_with(f, 1, HOP_RUN_OPTS(.interpret = true));
	hop_fn_release(f);
}

/* ---- bodies in bodies ---- */

static void deeper(hop_trace *t, const hop_value *in, void *user)
{
	int *left = user;
	hop_value y = in[0];
	if (*left > 0) {
		--*left;
		hop_cond(t, hop_le(t, y, hop_f(t, 1)), deeper, deeper, left, 1, in, 1, &y);
	}
	hop_return(t, hop_sin(t, y));
}

static void test_bodies(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f;
	(void)state;
	for (int n = 10; n <= 100000; n *= 100) {
		int left = n;
		hop_status st = hop_capture(ctx, deeper, &left, 1, &s, &f);
		if (n == 10) {
			assert_int_equal(st, HOP_OK);
			call(f, 1);
			hop_fn_release(f);
		} else {
			assert_int_equal(st, HOP_EUSE);
			assert_non_null(strstr(hop_message(ctx), "does it call itself"));
		}
	}
}

/* ---- long chains ---- */

enum kind { VIEWS, SLICES, TURNS, OPS };
enum { LONG = 9000 };

struct line { enum kind kind; int n; };

static void line(hop_trace *t, const hop_value *in, void *user)
{
	const struct line *l = user;
	static const int swap[2] = { 1, 0 };
	hop_value x = in[0];
	for (int i = 0; i < l->n; i++) {
		if (l->kind == VIEWS)
			x = hop_permute(t, x, swap);
		else if (l->kind == SLICES)        /* all but the first */
			x = hop_slice(t, x, 0, hop_n(1), hop_n(LONG - 1 - i), 1);
		else if (l->kind == TURNS)
			x = hop_slice(t, x, 0, hop_n(LONG - 1), hop_n(LONG), -1);
		else
			x = hop_sin(t, x);
	}
	hop_return(t, hop_sum_all(t, x));
}

static void run_line(enum kind k, int n)
{
	struct line l = { k, n };
	hop_spec s = hop_spec2(HOP_f64, LONG, 1);
	int64_t dim[2] = { LONG, 1 };
	hop_array *a, *y;
	hop_fn *f;
	hop_status st = hop_capture(ctx, line, &l, 1, &s, &f);
	if (st)
		fail_msg("%s", hop_message(ctx));
	assert_int_equal(hop_array_new(ctx, HOP_f64, 2, dim, NULL, &a), HOP_OK);
	assert_int_equal(hop_call(f, 1, &a, 1, &y), HOP_OK);
	hop_array_release(y);
	hop_array_release(a);
	hop_fn_release(f);
}

static void test_chains(void **state)
{
	(void)state;
	run_line(VIEWS, 8000);
	run_line(SLICES, 8000);
	run_line(TURNS, 8000);
	run_line(OPS, 1000);
}

/* All of it on a small stack, too. */
static void *small(void *arg)
{
	test_apply(NULL);
	test_bodies(NULL);
	run_line(SLICES, 8000);
	run_line(TURNS, 8000);
	return arg;
}

static void test_thread_of_small_stack(void **state)
{
	pthread_attr_t a;
	pthread_t t;
	(void)state;
	pthread_attr_init(&a);
	assert_int_equal(pthread_attr_setstacksize(&a, 4 << 20), 0);
	assert_int_equal(pthread_create(&t, &a, small, NULL), 0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&a);
}

static int up(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx);
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
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_thread_of_small_stack),
	};
	cmocka_set_test_filter(getenv("UNIT_CASES"));         /* NULL: all */
	return cmocka_run_group_tests(tests, up, down);
}
