/* slots_test.c -- loops differentiated in bounded memory: the bits of the plain reverse, in every
 * mode, and how often the body runs for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "hop/ctx.h"
#include "interp/interp.h"
#include "opt/opt.h"
#include "support/native_run.h"
#include "text/text.h"

typedef struct rig {
	hop_ctx   *ctx;
	hop_env    env;
	hop_interp p;
} rig;

/* A float carry, a whole one, a const; random numbers from the whole one. */
static const char a_while[] =
	"hop 1\n"
	"graph @f(%%n: i64, %%h: f64[3], %%k: f64[3]) {\n"
	"  %%z = constant {value = i64 0}\n"
	"  %%a, %%i, %%m = while %%h, %%z, %%n, %%k {ncarry = 2%s} {\n"
	"    test(%%h: f64[3], %%i: i64, %%n: i64, %%k: f64[3]) {\n"
	"      %%t = lt %%i, %%n\n"
	"      return %%t\n"
	"    }\n"
	"    body(%%h: f64[3], %%i: i64, %%n: i64, %%k: f64[3]) {\n"
	"      %%key = constant {value = i64 7}\n"
	"      %%seed = fold_in %%key, %%i\n"
	"      %%u = uniform %%seed {dtype = f64, dims = [3]}\n"
	"      %%p = mul %%h, %%k\n"
	"      %%q = add %%p, %%u\n"
	"      %%r = sin %%q\n"
	"      %%s = sub %%r, %%u\n"
	"      %%o = constant {value = i64 1}\n"
	"      %%j = add %%i, %%o\n"
	"      return %%s, %%j\n"
	"    }\n"
	"  }\n"
	"  return %%a, %%m\n"
	"}\n";

/* The same with slices and stacked results. */
static const char a_scan[] =
	"hop 1\n"
	"graph @f(%%n: i64, %%h: f64[3], %%k: f64[3], %%xs: f64[23, 3]) {\n"
	"  %%a, %%ys = scan %%n, %%h, %%xs, %%k {ncarry = 1, nx = 1, length = 23, counted = true%s} {\n"
	"    body(%%h: f64[3], %%x: f64[3], %%k: f64[3]) {\n"
	"      %%p = mul %%h, %%k\n"
	"      %%q = add %%p, %%x\n"
	"      %%r = sin %%q\n"
	"      %%s = mul %%r, %%k\n"
	"      return %%s, %%r\n"
	"    }\n"
	"  }\n"
	"  return %%a, %%ys\n"
	"}\n";

/* The joint graph: results, then gradients of all floats. */
static const hop_graph *joint_of(rig *t, const char *program, const char *mode)
{
	char text[4096];
	hop_module *m;
	const hop_graph *g, *j;
	bool ct[2], want[4];
	snprintf(text, sizeof text, program, mode);
	if (hop_module_parse(&t->env, text, strlen(text), "slots", &m))
		fail_msg("%s", t->env.diag.text);
	g = hop_module_find(m, NULL);
	hop_module_free(m, &t->env.mem);
	for (uint32_t i = 0; i < g->nout; i++)
		ct[i] = hop_type_diff(hop_graph_out_type(g, i));
	for (uint32_t i = 0; i < g->nparam; i++)
		want[i] = hop_type_diff(g->type[i]);
	if (hop_ad_vjp(&t->env, g, ct, want, &j) || hop_verify(&t->env, j))
		fail_msg("%s", t->env.diag.text);
	return j;
}

static void inputs(rig *t, const hop_graph *g, int64_t trips, hop_array **in)
{
	for (uint32_t i = 0; i < g->nparam; i++) {
		int64_t dim[2];
		for (int k = 0; k < g->type[i]->rank; k++)
			dim[k] = g->type[i]->dim[k].k;
		in[i] = hop_interp_new(&t->p, (hop_dtype)g->type[i]->dtype, g->type[i]->rank, dim);
		for (int64_t k = 0; i && k < in[i]->count; k++)
			hop_array_set_f(in[i], k, 0.7 + 0.4 * sin((double)(7 * i) + (double)k));
	}
	hop_array_set_i(in[0], 0, trips);
}

static void run(rig *t, judge_run_fn *f, const hop_graph *g, int64_t trips, hop_array **out)
{
	hop_array *in[8];
	inputs(t, g, trips, in);
	if (f(&t->p, g, NULL, in, out))
		fail_msg("%s", t->env.diag.text);
	for (uint32_t i = 0; i < g->nparam; i++)
		hop_interp_release(&t->p, in[i]);
}

static void equal(rig *t, const hop_graph *a, const hop_graph *b, judge_run_fn *f, int64_t trips,
                  const char *mode)
{
	hop_array *x[8], *y[8];
	run(t, f, a, trips, x);
	run(t, f, b, trips, y);
	for (uint32_t i = 0; i < a->nout; i++) {
		size_t n = (size_t)x[i]->count * hop_dtype_bytes(x[i]->dtype);
		if (x[i]->count != y[i]->count || memcmp(x[i]->data, y[i]->data, n))
			fail_msg("%s: result %u differs after %lld trips", mode, i, (long long)trips);
		hop_interp_release(&t->p, x[i]);
		hop_interp_release(&t->p, y[i]);
	}
}

/* The bits of all modes are those of the plain one: by the definition, as loops, compiled. */
static void modes(rig *t, const char *program, const char *const *mode, int nmode,
                  const int64_t *trips, int ntrip)
{
	const hop_graph *plain = joint_of(t, program, "");
	for (int i = 0; i < nmode; i++) {
		const hop_graph *g = joint_of(t, program, mode[i]), *loops;
		assert_int_equal(hop_opt_expand(&t->env, g, &loops), HOP_OK);
		assert_int_equal(hop_verify(&t->env, loops), HOP_OK);
		for (int k = 0; k < ntrip; k++) {
			equal(t, plain, g, hop_interp_graph, trips[k], mode[i]);
			equal(t, plain, loops, hop_interp_graph, trips[k], mode[i]);
		}
		equal(t, plain, g, native_run, trips[ntrip - 1], mode[i]);
	}
}

#define MODES(t, program, mode, trips) \
	modes(t, program, mode, (int)(sizeof mode / sizeof *mode), trips, \
	      (int)(sizeof trips / sizeof *trips))

static void while_modes(void **state)
{
	static const char *const mode[] = {
		", max_trips = 64", ", slots = 1", ", slots = 2", ", slots = 3", ", slots = 4",
		", slots = 5", ", slots = 8", ", slots = 40", ", max_trips = 64, slots = 6"
	};
	static const int64_t trips[] = { 0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 61 };
	rig *t = *state;
	hop_frame f;
	if (HOP_GUARD(&t->env, &f))
		fail_msg("no memory");
	MODES(t, a_while, mode, trips);
	hop_guard_end(&t->env, &f);
}

static void scan_modes(void **state)
{
	static const char *const mode[] = {
		", every = 1", ", every = 4", ", every = 40", ", every = -1", ", slots = 1",
		", slots = 2", ", slots = 4", ", slots = 9", ", slots = 100"
	};
	static const char *const back[] = {
		", reverse = true, every = 4", ", reverse = true, slots = 2", ", reverse = true, slots = 5"
	};
	static const int64_t trips[] = { -1, 0, 1, 2, 4, 5, 8, 22, 23, 24 };
	rig *t = *state;
	hop_frame f;
	if (HOP_GUARD(&t->env, &f))
		fail_msg("no memory");
	MODES(t, a_scan, mode, trips);
	const hop_graph *plain = joint_of(t, a_scan, ", reverse = true");
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof trips / sizeof *trips; k++)
			equal(t, plain, joint_of(t, a_scan, back[i]), hop_interp_graph, trips[k], back[i]);
	hop_guard_end(&t->env, &f);
}

/* The body runs once, and once more for every time that its states are made again; a sine is what
 * only the body computes, and no reverse needs. */
static double passes(rig *t, const char *mode, int64_t trips)
{
	const hop_graph *g = joint_of(t, a_while, mode), *loops;
	int64_t ran[HOP_NOPS] = { 0 };
	hop_array *out[8];
	assert_int_equal(hop_opt_expand(&t->env, g, &loops), HOP_OK);
	t->p.ran = ran;
	run(t, hop_interp_graph, loops, trips, out);
	t->p.ran = NULL;
	for (uint32_t i = 0; i < loops->nout; i++)
		hop_interp_release(&t->p, out[i]);
	return (double)ran[HOP_OP_sin] / (double)trips;
}

static void counted(void **state)
{
	rig *t = *state;
	hop_frame f;
	if (HOP_GUARD(&t->env, &f))
		fail_msg("no memory");
	assert_true(passes(t, "", 100) == 1);
	/* so many trips as slots^3 / 4 are done in three passes */
	static const struct { const char *mode; int64_t trips; double most; } row[] = {
		{ ", slots = 8", 8, 2 }, { ", slots = 8", 120, 3 }, { ", slots = 8", 400, 4 },
		{ ", slots = 16", 1000, 3 }, { ", slots = 32", 8000, 3 }, { ", slots = 1", 20, 6 },
		{ ", slots = 256", 1000000, 3 }         /* last: it takes seconds */
	};
	size_t nrow = sizeof row / sizeof *row - (getenv("JUDGE_EVERY") != NULL);
	for (size_t i = 0; i < nrow; i++) {
		double n = passes(t, row[i].mode, row[i].trips);
		print_message("%lld trips%s: %.2f passes\n", (long long)row[i].trips, row[i].mode, n);
		if (n > row[i].most)
			fail_msg("at most %g were promised", row[i].most);
	}
	hop_guard_end(&t->env, &f);
}

static int setup(void **state)
{
	static rig t;
	if (hop_ctx_new(NULL, &t.ctx))
		return -1;
	hop_env_init(&t.env, t.ctx, (hop_mem){ 0 });
	hop_interp_init(&t.p, &t.env);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	rig *t = *state;
	hop_interp_fini(&t->p);
	hop_env_fini(&t->env);
	hop_ctx_free(t->ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(while_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(scan_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(counted, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
