/* device_test.c -- schedules of a device that are more than places: nests whose loads and stores lie
 * along different loops go through tiles, rows that are added to in order side by side, sorts by places;
 * and give what the graph gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "text/text.h"
#include "device_programs.h"
#include "support/lower_check.h"

/* Of those that a thread has, one element each: slices of several are not looked at. */
static int count(const hop_prog *p, enum hop_space space)
{
	int n = 0;
	for (int i = 0; i < p->nfunc; i++)
		for (int k = 0; k < p->func[i].nbuf; k++) {
			const hop_lbuf *b = &p->func[i].buf[k];
			n += b->kind == HOP_BUF_TEMP && b->space == space &&
			     (space != HOP_SPACE_LOCAL || hop_size_is(b->count, 1));
		}
	return n;
}

static bool is_as_said(hop_env *e, const program *p, const hop_graph *g)
{
	static const hop_machine grid = { .blocks = 5, .warp = 32, .shared = 48 << 10, .small = 4 };
	hop_lower_opts o = { .machine = &grid };
	hop_prog      *q;
	int            tiles, sums;

	assert_int_equal(hop_lower_graph(e, g, &o, &q), HOP_OK);
	tiles = count(q, HOP_SPACE_SHARED);
	sums = count(q, HOP_SPACE_LOCAL);
	hop_prog_free(q, &e->mem);
	if (tiles != p->tiles || sums != p->sums)
		fprintf(stderr, "%s: %d tiles, %d sums\n", p->name, tiles, sums);
	return tiles == p->tiles && sums == p->sums;
}

static int check(hop_env *e, const program *p)
{
	hop_module *m;
	int         bad;

	if (hop_module_parse(e, p->text, strlen(p->text), p->name, &m)) {
		fprintf(stderr, "%s\n", e->diag.text);
		return 1;
	}
	bad = hop_lower_check_all(e, hop_module_find(m, NULL), p->syms, 5);
	bad |= !is_as_said(e, p, hop_module_find(m, NULL));
	hop_module_free(m, &e->mem);
	return bad;
}

static void test_programs(void **state)
{
	volatile int bad = 0;

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
		bad += check(&e, &programs[i]) != 0;
		hop_guard_end(&e, &f);
		hop_env_fini(&e);
		hop_ctx_free(ctx);
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
