/* turn_test.c -- nests whose loads and stores lie along different loops: on a device they go through
 * tiles, and give what the graph gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "text/text.h"
#include "support/lower_check.h"

/* text, how often a tile is in its schedule, values of size parameters */
typedef struct program { const char *name, *text; int tiles; int64_t syms[3]; } program;

static const program programs[] = {
{ "copy", "hop 1\ngraph @f(%0: f32[40, 70]) {\n  %1 = permute %0 {axes = [1, 0]}\n  %2 = exp %1\n"
          "  return %2\n}\n", 1, { 0 } },
{ "even", "hop 1\ngraph @f(%0: f64[64, 32]) {\n  %1 = permute %0 {axes = [1, 0]}\n  %2 = neg %1\n"
          "  return %2\n}\n", 1, { 0 } },
{ "two",  "hop 1\ngraph @f(%0: f32[33, 9], %1: i32[33, 9], %2: f32[9, 33]) {\n"
          "  %3 = permute %0 {axes = [1, 0]}\n  %4 = permute %1 {axes = [1, 0]}\n"
          "  %5 = cast %4 {dtype = f32}\n  %6 = mul %3, %5\n  %7 = add %6, %2\n  return %7\n}\n", 2, { 0 } },
{ "half", "hop 1\ngraph @f(%0: bf16[35, 37]) {\n  %1 = permute %0 {axes = [1, 0]}\n  %2 = cast %1 {dtype = f32}\n"
          "  %3 = exp %2\n  return %3\n}\n", 1, { 0 } },
{ "bool", "hop 1\ngraph @f(%0: bool[35, 37]) {\n  %1 = permute %0 {axes = [1, 0]}\n  %2 = not %1\n"
          "  return %2\n}\n", 1, { 0 } },
{ "batch", "hop 1\ngraph @f(%0: f32[3, 34, 5]) {\n  %1 = permute %0 {axes = [0, 2, 1]}\n  %2 = exp %1\n"
           "  return %2\n}\n", 1, { 0 } },
{ "ends", "hop 1\ngraph @f(%0: f32[6, 3, 2, 36]) {\n  %1 = permute %0 {axes = [3, 2, 1, 0]}\n"
          "  %2 = exp %1\n  return %2\n}\n", 1, { 0 } },
{ "sizes", "hop 1\ngraph @f<s: 1.., t: 1..>(%0: f32[s, t], %1: f32[t]) {\n"
           "  %2 = permute %0 {axes = [1, 0]}\n  %3 = broadcast %1 {dims = [t, s], axes = [0]}\n"
           "  %4 = add %2, %3\n  return %4\n}\n", 1, { 70, 35 } },
{ "along", "hop 1\ngraph @f(%0: f32[40, 70]) {\n  %1 = exp %0\n  return %1\n}\n", 0, { 0 } },
};

static int tiles_of(hop_env *e, const hop_graph *g)
{
	static const hop_machine grid = { .blocks = 5, .warp = 32, .shared = 48 << 10, .small = 4 };
	hop_lower_opts o = { .machine = &grid };
	hop_prog      *p;
	int            n = 0;

	assert_int_equal(hop_lower_graph(e, g, &o, &p), HOP_OK);
	for (int i = 0; i < p->nfunc; i++)
		for (int k = 0; k < p->func[i].nbuf; k++)
			n += p->func[i].buf[k].kind == HOP_BUF_TEMP && p->func[i].buf[k].space == HOP_SPACE_SHARED;
	hop_prog_free(p, &e->mem);
	return n;
}

static int check(hop_env *e, const program *p)
{
	hop_module *m;
	int         bad, n;

	if (hop_module_parse(e, p->text, strlen(p->text), p->name, &m)) {
		fprintf(stderr, "%s\n", e->diag.text);
		return 1;
	}
	bad = hop_lower_check(e, hop_module_find(m, NULL), p->syms, 5);
	n = tiles_of(e, hop_module_find(m, NULL));
	if (n != p->tiles)
		fprintf(stderr, "%s: %d tiles, not %d\n", p->name, n, p->tiles);
	hop_module_free(m, &e->mem);
	return bad || n != p->tiles;
}

static void test_programs(void **state)
{
	(void)state;
	for (volatile size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		hop_ctx   *ctx;
		hop_env    e;
		hop_frame  f;
		assert_int_equal(hop_ctx_new(NULL, &ctx), HOP_OK);
		hop_env_init(&e, ctx, hop_ctx_mem(ctx));
		if (HOP_GUARD(&e, &f)) {
			assert_int_equal(hop_guard_nomem(&e, &f), HOP_OK);
			return;
		}
		if (check(&e, &programs[i]))
			fail_msg("%s", programs[i].name);
		hop_guard_end(&e, &f);
		hop_env_fini(&e);
		hop_ctx_free(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
