/* cancel_test.c -- runs that are stopped from outside: loops without end, long scans, long
 * programs without a loop; eagerly, interpreted and compiled, through both doors. Another
 * thread stops them; an alarm ends the test should one not stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <hop/hop.h>
#include <hop/compile.h>

enum { LONG = 1 << 22 };

static hop_ctx *ctx;

/* ---- programs that take for ever, or as good as ---- */

static void always(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_le(t, hop_mulf(t, in[0], 0), hop_f(t, 1)));
}

static void same(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

static void grow(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sin(t, hop_addf(t, in[0], 0.5)));
}

static void f_same(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, s = hop_sum_all(t, in[0]);
	(void)user;
	hop_while(t, always, same, NULL, 1, &s, NULL, &x, NULL);
	hop_return(t, x);
}

static void f_grow(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, s = hop_sum_all(t, in[0]);
	(void)user;
	hop_while(t, always, grow, NULL, 1, &s, NULL, &x, NULL);
	hop_return(t, x);
}

/* A loop in a branch in a loop. */
static void inner(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x;
	(void)user;
	hop_while(t, always, grow, NULL, 1, in, NULL, &x, NULL);
	hop_return(t, x);
}

static void f_nested(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_sum_all(t, in[0]), x;
	(void)user;
	hop_cond(t, hop_le(t, hop_mulf(t, s, 0), hop_f(t, 1)), inner, same, NULL, 1, &s, 1, &x);
	hop_return(t, x);
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sin(t, hop_addf(t, in[0], 0.5)));
}

static void f_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, s = hop_sum_all(t, in[0]);
	hop_scan_opts o = { .size = sizeof o, .has_length = true,
	                    .length = hop_n((int64_t)1 << 40) };
	(void)user;
	hop_scan(t, step, NULL, 1, &s, 0, NULL, &o, 1, &x, NULL);
	hop_return(t, x);
}

/* Many long statements in a row, none of them a loop that is asked. */
static void f_line(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 100; i++) {
		hop_value s = hop_sum_all(t, hop_sin(t, hop_exp(t, hop_sin(t, x))));
		x = hop_add(t, in[0], hop_mulf(t, s, 1e-9));
	}
	hop_return(t, hop_sum_all(t, x));
}

/* ---- running ---- */

struct stopper { hop_cancel *c; int ms; };

static void *stop_later(void *arg)
{
	struct stopper *s = arg;
	struct timespec w = { .tv_nsec = s->ms * 1000000L };
	nanosleep(&w, NULL);
	hop_cancel_set(s->c);
	return NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum way { EAGER, INTERP, CALL, RUN };
static const char *const ways[] = { "eager", "interpreted", "called", "run" };

static hop_status run_hard(hop_fn *f, hop_array *x, const hop_run_opts *o)
{
	hop_compile_opts co = { .size = sizeof co, .no_cache = true };
	hop_exec *e;
	double y;
	hop_arg in = { .data = hop_array_data(x), .dim = hop_array_dims(x) };
	hop_arg out = { .data = &y };
	void *ws = NULL;
	assert_int_equal(hop_compile(f, &co, &e), HOP_OK);
	assert_int_equal(posix_memalign(&ws, 64, (size_t)hop_exec_workspace(e, &in) + 64), 0);
	hop_status st = hop_run_with(e, &in, &out, ws, o);
	free(ws);
	hop_exec_release(e);
	return st;
}

static hop_status go(hop_body *body, enum way w, int64_t n, const hop_run_opts *o)
{
	hop_spec s = hop_spec1(HOP_f64, n);
	hop_array *x, *y = NULL;
	hop_fn *f;
	hop_status st;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, NULL, &x), HOP_OK);
	if (w == EAGER) {
		st = hop_eager_call_with(ctx, body, NULL, 1, &x, 1, &y, o);
	} else {
		assert_int_equal(hop_capture(ctx, body, NULL, 1, &s, &f), HOP_OK);
		if (w == INTERP)
			setenv("HOP_INTERP", "1", 1);
		st = w == RUN ? run_hard(f, x, o) : hop_call_with(f, 1, &x, 1, &y, o);
		unsetenv("HOP_INTERP");
		hop_fn_release(f);
	}
	if (st)
		assert_null(y);
	hop_array_release(y);
	hop_array_release(x);
	return st;
}

static void stopped(const char *name, hop_body *body, enum way w, int64_t n)
{
	hop_cancel c = { 0 };
	hop_run_opts o = { .size = sizeof o, .cancel = &c };
	struct stopper s = { &c, 40 };
	pthread_t th;
	double t = now();
	alarm(100);
	assert_int_equal(pthread_create(&th, NULL, stop_later, &s), 0);
	hop_status st = go(body, w, n, &o);
	t = now() - t;
	pthread_join(th, NULL);
	if (st != HOP_ECANCELED || t > 60)
		fail_msg("%s, %s: status %d after %.2f s", name, ways[w], st, t);
	if (w != RUN)
		assert_non_null(strstr(hop_message(ctx), "canceled"));
	alarm(0);
}

static void test_loops(void **state)
{
	(void)state;
	for (int w = EAGER; w <= RUN; w++) {
		stopped("same", f_same, (enum way)w, 3);
		stopped("grow", f_grow, (enum way)w, 3);
		stopped("nested", f_nested, (enum way)w, 3);
		stopped("scan", f_scan, (enum way)w, 3);
	}
}

static void test_statements(void **state)
{
	(void)state;
	for (int w = EAGER; w <= RUN; w++)
		stopped("line", f_line, (enum way)w, LONG);
}

static void once(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_sin(t, in[0])));
}

/* A flag that is not set changes nothing; one that is set before stops what loops, and it
 * can be used again. Options of another size are refused. */
static void test_flag(void **state)
{
	hop_cancel c = { 0 };
	hop_run_opts o = { .size = sizeof o, .cancel = &c }, odd = { .size = 3 };
	(void)state;
	for (int w = EAGER; w <= RUN; w++) {
		assert_int_equal(go(once, (enum way)w, 3, NULL), HOP_OK);
		assert_int_equal(go(once, (enum way)w, 3, &o), HOP_OK);
		assert_int_equal(go(once, (enum way)w, 3, &odd), HOP_EVALUE);
		hop_cancel_set(&c);
		assert_int_equal(go(f_grow, (enum way)w, 3, &o), HOP_ECANCELED);
		hop_cancel_reset(&c);
		assert_int_equal(go(once, (enum way)w, 3, &o), HOP_OK);
	}
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
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_flag),
	};
	return cmocka_run_group_tests(tests, up, down);
}
