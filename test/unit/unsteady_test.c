/* unsteady_test.c -- what the judges take for an excuse when two ways to run a program disagree, and
 * what not: results of programs that go another way by the last bit are excused, as far as they then
 * move; wrong results of all others are not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hop/ctx.h"
#include "interp/interp.h"
#include "support/unsteady.h"
#include "text/text.h"

enum { N = 4 };

/* Does it say nothing that got is there, of this program of f64[4] for these inputs? */
static bool excused(const char *text, const double *x, const double *got)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_module *m = NULL;
	hop_array *in, *want, *own;
	const int64_t dim[1] = { N };
	bool said = false;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &f))
		fail_msg("%s", e.diag.text ? e.diag.text : "?");
	hop_interp p;
	hop_interp_init(&p, &e);
	assert_int_equal(hop_module_parse(&e, text, strlen(text), "test", &m), HOP_OK);
	const hop_graph *g = hop_module_find(m, NULL);
	in = hop_interp_new(&p, HOP_f64, 1, dim);
	own = hop_interp_new(&p, HOP_f64, 1, dim);
	memcpy(in->data, x, sizeof *x * N);
	memcpy(own->data, got, sizeof *got * N);
	assert_int_equal(hop_interp_graph(&p, g, NULL, &in, &want), HOP_OK);
	said = unsteady(&p, g, NULL, &in, &want, &own, 1e-9);
	hop_interp_release(&p, in);
	hop_interp_release(&p, own);
	hop_interp_release(&p, want);
	hop_interp_fini(&p);
	hop_module_free(m, &e.mem);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
	return said;
}

static const char smooth[] = "hop 1\ngraph @f(%0: f64[4]) {\n  %1 = mul %0, %0\n  return %1\n}\n";
static const char whole[] = "hop 1\ngraph @f(%0: f64[4]) {\n  %1 = cast %0 {dtype = i64}\n"
                            "  %2 = cast %1 {dtype = f64}\n  return %2\n}\n";
static const char steep[] = "hop 1\ngraph @f(%0: f64[4]) {\n  %1 = constant {value = f64 1e8}\n"
                            "  %2 = broadcast %1 {dims = [4], axes = []}\n  %3 = mul %0, %2\n"
                            "  %4 = cos %3\n  return %4\n}\n";

static void test_steady(void **state)
{
	static const double x[N] = { 1, 2, 3, 4 };
	(void)state;
	assert_false(excused(smooth, x, (double[N]){ 1, 4, 9, 16.001 }));
	assert_false(excused(smooth, x, (double[N]){ 1, 4, 9, 16 + 1e-7 }));
	assert_false(excused(smooth, x, (double[N]){ 1, 4, 9, (double)NAN }));
	assert_true(excused(smooth, x, (double[N]){ 1, 4, 9, 16 + 1e-12 }));       /* no disagreement */
}

/* The third is at a step, the others are not. */
static void test_steps(void **state)
{
	static const double x[N] = { 1.5, 2.5, 3, 4.5 };
	(void)state;
	assert_true(excused(whole, x, (double[N]){ 1, 2, 2, 4 }));
	assert_false(excused(whole, x, (double[N]){ 1, 2, 12, 4 }));
	assert_false(excused(whole, x, (double[N]){ 1, 1, 2, 4 }));
}

static void test_steep(void **state)
{
	static const double x[N] = { 1, 2, 3, 4 };
	double got[N];
	(void)state;
	for (int i = 0; i < N; i++)
		got[i] = cos(x[i] * 1e8) + 3e-8;
	assert_true(excused(steep, x, got));
	got[2] += 1e-3;
	assert_false(excused(steep, x, got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady), cmocka_unit_test(test_steps), cmocka_unit_test(test_steep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
