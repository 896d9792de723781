/* judge_test.c -- every other program of test/ad/, and the transforms of its transforms; the rest are
 * in judge_more_test.c. Every row of the table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/ctx.h"
#include "text/text.h"
#include "support/judge_files.h"
#include "support/native_run.h"

#ifndef HOP_TEST_DIR
#define HOP_TEST_DIR "test"
#endif

static void test_programs(void **state)
{
	judge_total all = { 0 };
	(void)state;
	judge_files(HOP_TEST_DIR "/ad", HOP_f64, 2, 0, 2, &all);
	assert_true(all.programs > 0);
	print_message("%d programs, %d checks\n", all.programs, all.checks);
	assert_int_equal(all.failures, 0);
}

/* ---- from the table ---- */

/* Which rows the programs use, bodies included. */
static void mark_rows(const hop_graph *g, bool *used)
{
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		used[g->node[i].op] = true;
		for (int64_t k = 0; k < sub.n; k++)
			if (sub.v[k])
				mark_rows(sub.v[k], used);
	}
}

/* An elementwise row without attributes on operands of one dtype, where it has a meaning:
 * false if it has none. */
static bool row_graph(hop_env *e, int op, hop_dtype d, hop_graph **out_g)
{
	const hop_opinfo *row = &hop_optab[op];
	const hop_size dim[2] = { hop_size_int(2), hop_size_int(3) };
	hop_build b;
	hop_val in[3];
	hop_build_open(&b, e);
	for (int i = 0; i < row->nin; i++)
		in[i] = hop_build_param(&b, hop_type_get(e, op == HOP_OP_select && !i ? HOP_bool : d,
		                                         2, dim));
	/* where it is defined: from 1 on, or up to 1 */
	if (op == HOP_OP_acosh && hop_dtype_float(d))
		in[0] = hop_emit(&b, add, in[0], hop_emit_full(&b, hop_typeof(&b, in[0]), 1));
	if ((op == HOP_OP_atanh || op == HOP_OP_asin || op == HOP_OP_acos) && hop_dtype_float(d))
		in[0] = hop_emit(&b, mul, in[0], hop_emit_full(&b, hop_typeof(&b, in[0]), 0.25));
	/* where its derivative is also the limit of differences */
	if (op == HOP_OP_stop_gradient && hop_dtype_float(d))
		in[0] = hop_emit(&b, floor, in[0]);
	if (op == HOP_OP_straight && hop_dtype_float(d))
		in[0] = hop_emit(&b, add, in[1], hop_emit(&b, floor, in[0]));
	hop_val out = hop_emit_op(&b, op, NULL, (uint32_t)row->nin, in);
	hop_status st = hop_seal(&b, 1, &out, NULL, out_g);
	hop_diag_clear(e);
	return st == HOP_OK;
}

/* Every elementwise row on every dtype it takes. */
static int judge_rows(hop_interp *p, bool *used)
{
	int checks = 0;
	for (int op = 1; op < HOP_NOPS; op++) {
		const hop_opinfo *row = &hop_optab[op];
		int kinds = 0;
		if (!(row->flags & HOP_F_E) || row->nfield)
			continue;
		for (int d = 0; d < HOP_NDTYPE; d++) {
			hop_graph *g;
			if (!row_graph(p->env, op, (hop_dtype)d, &g))
				continue;
			judge j = { .p = p, .seed = 7, .what = row->name, .other = native_run };
			judge_graph(&j, g, 2, "");
			assert_int_equal(j.failures, 0);
			checks += j.checks;
			kinds++;
		}
		assert_true(kinds > 0);
		used[op] = true;
	}
	return checks;
}

static void mark_files(hop_env *e, bool *used)
{
	DIR *dir = opendir(HOP_TEST_DIR "/ad");
	assert_non_null(dir);
	for (struct dirent *x; (x = readdir(dir)); ) {
		char path[512];
		size_t n;
		hop_module *m;
		if (!strstr(x->d_name, ".hop"))
			continue;
		snprintf(path, sizeof path, "%s/ad/%s", HOP_TEST_DIR, x->d_name);
		char *text = judge_read(path, &n);
		assert_int_equal(hop_module_parse(e, text, n, x->d_name, &m), HOP_OK);
		for (uint32_t i = 0; i < m->n; i++)
			mark_rows(m->entry[i].g, used);
		hop_module_free(m, &e->mem);
		free(text);
	}
	closedir(dir);
}

/* Every row of the table is judged here or is in some program of test/ad, so that a row
 * without a program fails. */
static void all_rows(hop_env *e)
{
	bool used[HOP_NOPS] = { false };
	int missing = 0;
	hop_interp p;
	hop_interp_init(&p, e);
	int checks = judge_rows(&p, used);
	mark_files(e, used);
	for (int op = 1; op < HOP_NOPS; op++)
		if (!used[op]) {
			print_error("no program of test/ad uses %s\n", hop_optab[op].name);
			missing++;
		}
	print_message("%d rows, %d checks\n", HOP_NOPS - 1, checks);
	assert_int_equal(missing, 0);
	hop_interp_fini(&p);
}

static void test_rows(void **state)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	(void)state;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		fail_msg("no memory");
	all_rows(&e);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
	                                    cmocka_unit_test(test_programs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
