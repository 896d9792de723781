/* saved_test.c -- what hop show --saved says is what the cut does: the bytes that it counts are those
 * of the results made to be saved, for any budget, with loops and branches in the graph; and somebody
 * who listens changes no graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "ad/ad.h"
#include "text/text.h"

static const char *const programs[] = {
	"hop 1\n"
	"graph @f(%0: f64[4, 4], %1: f64[4, 4]) {\n"
	"  %2 = dot %0, %1 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	"  %3 = exp %2\n"
	"  %4 = dot %3, %0 {lbatch = [], rbatch = [], lsum = [1], rsum = [0]}\n"
	"  %5 = sin %4\n"
	"  %6 = mul %5, %3\n"
	"  %7 = sum %6 {axes = [0, 1]}\n"
	"  return %7\n"
	"}\n",
	"hop 1\n"
	"graph @f(%0: f32[5], %1: f32[7, 5]) {\n"
	"  %2, %3 = scan %0, %1 {ncarry = 1, nx = 1, length = 7} {\n"
	"    body(%0: f32[5], %1: f32[5]) {\n"
	"      %2 = mul %0, %1\n"
	"      %3 = tanh %2\n"
	"      %4 = constant {value = f32 0.0}\n"
	"      %5 = sum %3 {axes = [0]}\n"
	"      %6 = lt %4, %5\n"
	"      %7 = cond %6, %3 {\n"
	"        then(%0: f32[5]) {\n"
	"          %1 = exp %0\n"
	"          %2 = mul %1, %0\n"
	"          return %2\n"
	"        }\n"
	"        else(%0: f32[5]) {\n"
	"          return %0\n"
	"        }\n"
	"      }\n"
	"      return %7, %3\n"
	"    }\n"
	"  }\n"
	"  %4 = mul %3, %3\n"
	"  return %2, %4\n"
	"}\n",
};

struct work {
	hop_env     *e;
	const char  *text;
	double       budget;
	bool         listen;
	long long    told, counted;    /* values at a price: as told, as made */
	long long    told_bytes, counted_bytes;
	const hop_graph *fwd, *bwd;
};

static long long bytes_of(const hop_type *t)
{
	long long n = (long long)hop_dtype_bytes((hop_dtype)t->dtype);
	for (int i = 0; i < t->rank; i++)
		n *= t->dim[i].k;
	return n;
}

static hop_status cut(struct work *w)
{
	hop_env *e = w->e;
	hop_module *m;
	hop_buf whole, bodies;
	hop_arena keep;
	hop_cuts cuts = { .whole = &whole, .bodies = &bodies, .keep = &keep };
	const hop_cut *c;
	const hop_graph *joint;
	HOP_TRY(hop_module_parse(e, w->text, strlen(w->text), "saved", &m));
	const hop_graph *g = hop_module_find(m, NULL);
	hop_arena_open(&keep, e);
	hop_buf_open(&whole, e);
	hop_buf_open(&bodies, e);
	e->cuts = w->listen ? &cuts : NULL;
	hop_status st = hop_ask_vjp(e, g, g->nout, 2, (int[]){ 0, 1 }, &joint);
	if (!st)
		st = hop_ad_cut(e, joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, w->budget, &c);
	e->cuts = NULL;
	if (!st) {
		w->fwd = c->fwd;
		w->bwd = c->bwd;
		w->counted = c->nextra;
		w->counted_bytes = 0;
		for (uint32_t k = 0; k < c->nextra; k++)
			w->counted_bytes += bytes_of(hop_graph_out_type(c->fwd, g->nout + k));
		if (w->listen && sscanf(whole.s, "%lld saved, %lld bytes", &w->told, &w->told_bytes) != 2)
			st = HOP_EVALUE;
	}
	hop_buf_free(&bodies);
	hop_buf_free(&whole);
	hop_arena_free(&keep, &e->mem);
	hop_module_free(m, &e->mem);
	return st;
}

static void run(struct work *w)
{
	hop_frame f;
	if (HOP_GUARD(w->e, &f))
		fail_msg("no memory");
	hop_status st = cut(w);
	hop_guard_end(w->e, &f);
	if (st)
		fail_msg("%s", w->e->diag.text ? w->e->diag.text : "nothing was told");
}

static void test_bytes(void **state)
{
	static const double budget[] = { 1, 0.5, 0.1, 0 };
	(void)state;
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		for (size_t k = 0; k < sizeof budget / sizeof *budget; k++) {
			hop_ctx *ctx;
			hop_env e;
			assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
			hop_env_init(&e, ctx, hop_ctx_mem(ctx));
			struct work w = { .e = &e, .text = programs[i], .budget = budget[k], .listen = true };
			run(&w);
			assert_int_equal(w.told, w.counted);
			assert_int_equal(w.told_bytes, w.counted_bytes);
			assert_true(budget[k] < 1 || w.told > 0);
			struct work alone = w;
			alone.listen = false;
			run(&alone);
			assert_ptr_equal(alone.fwd, w.fwd);
			assert_ptr_equal(alone.bwd, w.bwd);
			hop_env_fini(&e);
			hop_ctx_free(ctx);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bytes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
