/* gallery_test.c -- every program of examples/ whose bodies are blocks: what it runs is run
 * eagerly, interpreted and compiled. Eager and interpreted results are the same bits, compiled
 * ones agree within what the dtype allows. Three of them are written with functions for bodies
 * too, and both forms are one graph. What the programs print is compared by
 * scripts/check_examples. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../examples/example.h"

static int nrun;                   /* how many times a program ran something three ways */

static void same_bits(hop_array *a, hop_array *b)
{
	size_t size = hop_array_dtype(a) == HOP_f64 || hop_array_dtype(a) == HOP_i64 ? 8 : 4;

	assert_int_equal(hop_array_dtype(a), hop_array_dtype(b));
	assert_int_equal(hop_array_count(a), hop_array_count(b));
	assert_memory_equal(hop_array_data(a), hop_array_data(b),
	                    (size_t)hop_array_count(a) * size);
}

/* Relative to the largest element. */
static void near_by(hop_array *a, hop_array *b)
{
	double tol = hop_array_dtype(a) == HOP_f64 ? 1e-10 : 1e-5, most = 0;
	int64_t n = hop_array_count(a);

	assert_int_equal(n, hop_array_count(b));
	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs(hop_array_at(a, i)));
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(hop_array_at(a, i) - hop_array_at(b, i)) <= tol * most))
			fail_msg("element %lld: %.17g interpreted, %.17g compiled", (long long)i,
			         hop_array_at(a, i), hop_array_at(b, i));
}

static void three_ways(hop_ctx *c, hop_body *f, int nin, hop_array *const *in, int nout,
                       hop_array **out)
{
	hop_array *eager[8], *interp[8];
	hop_spec s[16];
	hop_fn *fn;

	specs(nin, in, s);
	must(c, hop_capture(c, f, NULL, nin, s, &fn));
	must(c, hop_eager_call(c, f, NULL, nin, in, nout, eager));
	must(c, hop_call_with(fn, nin, in, nout, interp, HOP_RUN_OPTS(.interpret = true)));
	must(c, hop_call(fn, nin, in, nout, out));
	for (int i = 0; i < nout; i++) {
		same_bits(eager[i], interp[i]);
		near_by(interp[i], out[i]);
	}
	release(nout, eager);
	release(nout, interp);
	hop_fn_release(fn);
	nrun++;
}

/* The programs as they are, with another main and another way to run. */
#define run three_ways
#define main newton_main
#include "../../examples/01_newton.c"
#undef main
#define main early_main
#include "../../examples/03_early.c"
#undef main
#define main region_main
#include "../../examples/04_region.c"
#undef main
#define main ode_main
#include "../../examples/07_ode.c"
#undef main
#define main rnn_main
#include "../../examples/08_rnn.c"
#include "../../examples/functions/rnn.c"
#undef main
#define main kalman_main
#include "../../examples/09_kalman.c"
#include "../../examples/functions/kalman.c"
#undef main
#define main ball_main
#include "../../examples/10_ball.c"
#undef main
#define main mpc_main
#include "../../examples/11_mpc.c"
#include "../../examples/functions/mpc.c"
#undef main
#define main greeks_main
#include "../../examples/12_greeks.c"
#undef main
#define main experts_main
#include "../../examples/13_experts.c"
#undef main
#define main maml_main
#include "../../examples/14_maml.c"
#undef main
#define main oscillator_main
#include "../../examples/15_oscillator.c"
#undef main
#define main contact_main
#include "../../examples/16_contact.c"
#undef main
#define main prefix_main
#include "../../examples/17_prefix.c"
#undef main
#define main compact_main
#include "../../examples/18_compact.c"
#undef main
#undef run

/* ---- programs whose main runs a body by run() ---- */

static void whole(int (*program)(void), int times)
{
	nrun = 0;
	assert_int_equal(program(), 0);
	assert_int_equal(nrun, times);
}

static void ode_three_ways(void **state) { (void)state; whole(ode_main, 2); }
static void rnn_three_ways(void **state) { (void)state; whole(rnn_main, 1); }
static void kalman_three_ways(void **state) { (void)state; whole(kalman_main, 1); }
static void ball_three_ways(void **state) { (void)state; whole(ball_main, 1); }
static void greeks_three_ways(void **state) { (void)state; whole(greeks_main, 1); }
static void experts_three_ways(void **state) { (void)state; whole(experts_main, 1); }
static void maml_three_ways(void **state) { (void)state; whole(maml_main, 1); }
static void contact_three_ways(void **state) { (void)state; whole(contact_main, 5); }
static void prefix_three_ways(void **state) { (void)state; whole(prefix_main, 1); }
static void compact_three_ways(void **state) { (void)state; whole(compact_main, 2); }

/* ---- programs that show another way to run: once as they are, then their bodies ---- */

static void body_three_ways(int (*program)(void), hop_body *f, int nin, hop_array **in, int nout,
                            hop_ctx *c)
{
	hop_array *out[8];

	whole(program, 0);
	three_ways(c, f, nin, in, nout, out);
	release(nin, in);
	release(nout, out);
	hop_ctx_free(c);
}

static void newton_three_ways(void **state)
{
	hop_ctx *c = context();
	hop_array *in[1] = { scalar(c, 1000) };

	(void)state;
	body_three_ways(newton_main, newton, 1, in, 2, c);
}

static void early_three_ways(void **state)
{
	hop_ctx *c = context();
	hop_array *in[3] = { vector(c, 6, (double[]){ 0.5, 1, 1, 0.5, 0, 0 }), scalar(c, 0.9),
	                     scalar(c, 0.7) };

	(void)state;
	body_three_ways(early_main, read_on, 3, in, 3, c);
}

static void region_three_ways(void **state)
{
	hop_ctx *c = context();
	float x[6], w[36];
	hop_array *in[2];

	(void)state;
	for (int i = 0; i < 36; i++)
		w[i] = 0.5f + 0.3f * sinf((float)i);
	for (int i = 0; i < 6; i++)
		x[i] = 0.3f + 0.1f * cosf((float)i);
	must(c, hop_array_new(c, HOP_f32, 2, (int64_t[]){ 2, 3 }, x, &in[0]));
	must(c, hop_array_new(c, HOP_f32, 3, (int64_t[]){ 4, 3, 3 }, w, &in[1]));
	body_three_ways(region_main, layers, 2, in, 1, c);
}

static void mpc_three_ways(void **state)
{
	double s[4] = { 0.5, 0.2, -0.1, 0.3 }, u[AHEAD];
	hop_ctx *c = context();

	(void)state;
	for (int i = 0; i < AHEAD; i++)
		u[i] = sin(i);
	hop_array *in[3] = { vector(c, 4, s), vector(c, AHEAD, u), scalar(c, 4) };
	body_three_ways(mpc_main, plan_crane, 3, in, 1, c);
}

static void oscillator_three_ways(void **state)
{
	double seen[20];
	hop_ctx *c = context();

	(void)state;
	for (int i = 0; i < 20; i++)
		seen[i] = cos(0.5 * (i + 1)) * exp(-0.05 * i);
	hop_array *in[2] = { vector(c, 20, seen), vector(c, 2, (double[]){ 3, 0.2 }) };
	body_three_ways(oscillator_main, oscillator, 2, in, 2, c);
}

/* ---- two forms, one graph ---- */

static void one_graph(int nin, const hop_spec *s, hop_body *blocks, hop_body *functions)
{
	hop_ctx *c = context();
	hop_fn *a, *b;

	must(c, hop_capture(c, blocks, NULL, nin, s, &a));
	must(c, hop_capture(c, functions, NULL, nin, s, &b));
	assert_string_equal(hop_fn_text(a), hop_fn_text(b));
	hop_fn_release(a);
	hop_fn_release(b);
	hop_ctx_free(c);
}

static void rnn_one_graph(void **state)
{
	const hop_spec s[4] = { hop_spec2(HOP_f64, CELLS, CELLS), hop_spec2(HOP_f64, 1, CELLS),
	                        hop_spec3(HOP_f64, HEARD, PUPILS, 1),
	                        hop_spec3(HOP_f64, HEARD, PUPILS, 1) };

	(void)state;
	one_graph(4, s, train_rnn, train_rnn_functions);
}

static void kalman_one_graph(void **state)
{
	const hop_spec s[2] = { hop_spec2(HOP_f64, SIGHTS, 2), hop_spec1(HOP_f64, 2) };

	(void)state;
	one_graph(2, s, kalman, kalman_functions);
}

static void mpc_one_graph(void **state)
{
	const hop_spec s[3] = { hop_spec1(HOP_f64, 4), hop_spec1(HOP_f64, AHEAD), hop_spec0(HOP_f64) };

	(void)state;
	one_graph(3, s, plan_crane, plan_crane_functions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newton_three_ways), cmocka_unit_test(early_three_ways),
		cmocka_unit_test(region_three_ways), cmocka_unit_test(ode_three_ways),
		cmocka_unit_test(rnn_three_ways), cmocka_unit_test(kalman_three_ways),
		cmocka_unit_test(contact_three_ways), cmocka_unit_test(prefix_three_ways),
		cmocka_unit_test(compact_three_ways),
		cmocka_unit_test(ball_three_ways), cmocka_unit_test(mpc_three_ways),
		cmocka_unit_test(greeks_three_ways), cmocka_unit_test(experts_three_ways),
		cmocka_unit_test(maml_three_ways), cmocka_unit_test(oscillator_three_ways),
		cmocka_unit_test(rnn_one_graph), cmocka_unit_test(kalman_one_graph),
		cmocka_unit_test(mpc_one_graph),
	};

	setenv("HOP_CHECK", "blocks", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
