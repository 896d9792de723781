/* lower_test.c -- loop programs give what graphs give: each program below, and its
 * derivatives and batched form, run by the interpreter and by the loop runner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "text/text.h"
#include "support/lower_check.h"
#include "support/program.h"
#include "support/retype.h"

/* text, values of size parameters */
typedef struct program { const char *name, *text; int64_t syms[4]; } program;

static const program programs[] = {
#include "lower_programs.h"
};

static void all_floats(const hop_type *const *t, const hop_val *v, uint32_t n, bool *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = hop_dtype_float((hop_dtype)t[v ? v[i].id : i]->dtype);
}

/* Results whose size is found while running have no cotangent of a known shape. */
static bool local_results(const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nout; i++)
		for (int d = 0; d < hop_graph_out_type(g, i)->rank; d++)
			if (hop_size_nsym(hop_graph_out_type(g, i)->dim[d]) > (int)g->nsym)
				return true;
	return false;
}

static int check(hop_env *e, const char *what, const program *p, const hop_graph *g)
{
	int bad = 0;

	for (unsigned s = 1; s <= 2 && !bad; s++)
		bad = hop_lower_check(e, g, p->syms, s * 77);
	if (bad > 0)
		fprintf(stderr, "FAIL %s: %s\n", p->name, what);
	return bad > 0;
}

static int variants(hop_env *e, const program *p, const hop_graph *g)
{
	bool             in[64] = { 0 }, out[64] = { 0 };
	const hop_graph *h, *k;
	int              bad = check(e, "itself", p, g);

	if (g->nparam > 64 || g->nout > 64 || local_results(g))
		return bad;
	all_floats(g->type, NULL, g->nparam, in);
	all_floats(g->type, g->out, g->nout, out);
	if (!hop_ad_jvp(e, g, in, out, &h))
		bad += check(e, "jvp", p, h);
	hop_diag_clear(e);
	if (!hop_ad_vjp(e, g, out, in, &h)) {
		bad += check(e, "vjp", p, h);
		bool all[128] = { 0 }, bat[128];
		for (uint32_t i = 0; i < h->nparam && i < 128; i++)
			all[i] = true;
		hop_batch_spec s = { .size = 3, .in = all };
		if (h->nparam < 128 && h->nout < 128 && !hop_ad_needs_mask(h) &&
		    !hop_ad_batch(e, h, &s, &k, bat))
			bad += check(e, "batched vjp", p, k);
	}
	hop_diag_clear(e);
	bool all[64], bat[64];
	for (uint32_t i = 0; i < g->nparam; i++)
		all[i] = true;
	hop_batch_spec s = { .size = 3, .in = all };
	if (!hop_ad_batch(e, g, &s, &k, bat))
		bad += check(e, "batched", p, k);
	hop_diag_clear(e);
	return bad;
}

/* Each in f32 and in the dtypes that compute in it. */
static void test_programs(void **state)
{
	volatile int bad = 0, done = 0;

	(void)state;
	for (volatile size_t i = 0; i < HOP_NDTYPE * (sizeof programs / sizeof *programs); i++) {
		const program *p = &programs[i / HOP_NDTYPE];
		hop_dtype      d = (hop_dtype)(i % HOP_NDTYPE);
		hop_ctx       *ctx;
		hop_env        e;
		hop_frame      f;
		hop_module    *m;
		if (hop_dtype_computes(d) != HOP_f32)
			continue;
		assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
		hop_env_init(&e, ctx, hop_ctx_mem(ctx));
		if (HOP_GUARD(&e, &f)) {
			assert_int_equal(hop_guard_nomem(&e, &f), HOP_OK);
			return;
		}
		if (retype_text(&e, p->text, strlen(p->text), p->name, HOP_f32, d, &m)) {
			fprintf(stderr, "%s\n", e.diag.text);
			bad++;
		} else {
			bad += variants(&e, p, hop_module_find(m, NULL));
			done += d == HOP_f32;
			hop_module_free(m, &e.mem);
		}
		hop_guard_end(&e, &f);
		hop_env_fini(&e);
		hop_ctx_free(ctx);
	}
	assert_int_equal(bad, 0);
	assert_int_equal(done, sizeof programs / sizeof *programs);
}

static void test_random(void **state)
{
	const char  *every = getenv("JUDGE_EVERY");
	unsigned     most = every && atoi(every) > 4 ? 20 : 60;
	volatile int bad = 0;

	(void)state;
	for (volatile unsigned i = 0; i < most && !bad; i++) {
		program    p = { "random", "", { 0 } };
		hop_ctx   *ctx;
		hop_env    e;
		hop_frame  f;
		hop_graph *g;
		assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
		hop_env_init(&e, ctx, hop_ctx_mem(ctx));
		if (HOP_GUARD(&e, &f)) {
			assert_int_equal(hop_guard_nomem(&e, &f), HOP_OK);
			return;
		}
		gen_opts o = { .seed = i * 7919 + 1, .steps = 20, .depth = 2, .f32 = i % 2 };
		if (gen_program(&e, &o, &g)) {
			fprintf(stderr, "%s\n", e.diag.text);
			bad++;
		} else {
			bad += variants(&e, &p, g);
		}
		if (bad)
			fprintf(stderr, "seed %u\n", i);
		hop_guard_end(&e, &f);
		hop_env_fini(&e);
		hop_ctx_free(ctx);
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
