/* torch_ops_test.c -- every first-order op against PyTorch: values and gradients, by the
 * interpreter and by native code. The data and the script that made it are in test/data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "data/ops.h"
#include "hop/ctx.h"
#include "ir/text.h"
#include "support/native_run.h"

enum { NCASE = sizeof torch_ops / sizeof *torch_ops };

static void near(const char *name, const char *what, const hop_tensor *t, const double *want)
{
	for (int64_t i = 0; i < t->count; i++) {
		double got = hop_tensor_f(t, i);
		if (!(fabs(got - want[i]) <= 1e-12 * (1 + fabs(want[i]))))
			fail_msg("%s: %s %d is %.17g, PyTorch says %.17g", name, what, (int)i, got, want[i]);
	}
}

/* The joint graph gives the result and then the cotangents of the float parameters. */
static void one(hop_interp *p, const struct torch_op *op, judge_run_fn *run)
{
	hop_env *e = p->env;
	hop_module *m;
	const hop_graph *joint;
	if (hop_module_parse(e, op->text, strlen(op->text), op->name, &m))
		fail_msg("%s", e->diag.text);
	const hop_graph *g = hop_module_find(m, NULL);
	bool *want = HOP_NEWN(&e->tmp, bool, g->nparam);
	bool ct = hop_dtype_float((hop_dtype)hop_graph_out_type(g, 0)->dtype);
	const double *in = op->in, *grad = op->grad;
	hop_tensor **x = HOP_NEWN(&e->tmp, hop_tensor *, g->nparam + 1);
	hop_tensor **y = HOP_NEWN(&e->tmp, hop_tensor *, g->nparam + 1);
	for (uint32_t i = 0; i < g->nparam; i++) {
		x[i] = hop_tensor_of(p, g->type[i]);
		want[i] = hop_dtype_float((hop_dtype)g->type[i]->dtype);
		for (int64_t k = 0; k < x[i]->count; k++)
			hop_tensor_set_f(x[i], k, *in++);
	}
	x[g->nparam] = hop_tensor_of(p, hop_graph_out_type(g, 0));
	for (int64_t k = 0; k < x[g->nparam]->count; k++)
		hop_tensor_set_f(x[g->nparam], k, cos((double)k));
	if (hop_ad_vjp(e, g, &ct, want, &joint) || run(p, joint, NULL, x, y))
		fail_msg("%s: %s", op->name, e->diag.text);
	near(op->name, "result", y[0], op->out);
	for (uint32_t k = 1; k < joint->nout; k++) {
		near(op->name, "gradient", y[k], grad);
		grad += y[k]->count;
	}
	hop_module_free(m, &e->mem);
}

static void all(hop_interp *p)
{
	for (int i = 0; i < NCASE; i++) {
		one(p, &torch_ops[i], hop_interp_graph);
		one(p, &torch_ops[i], native_run);
	}
}

static void test_ops(void **state)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_interp p;
	(void)state;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		fail_msg("no memory");
	hop_interp_init(&p, &e);
	all(&p);
	hop_interp_fini(&p);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
}

/* Rows that PyTorch has no word for; everything else must have a case. */
static void test_covered(void **state)
{
	static const char *const own[] = { "constant", "size_of", "as_size", "random_bits",
	                                   "uniform", "fold_in" };
	(void)state;
	for (int op = 1; op < HOP_NOPS; op++) {
		bool found = hop_optab[op].flags & (HOP_F_R | HOP_F_X);
		for (int i = 0; i < NCASE; i++)
			found |= !strcmp(torch_ops[i].name, hop_optab[op].name);
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			found |= !strcmp(own[i], hop_optab[op].name);
		if (!found)
			fail_msg("%s has no case in test/data/gen_ops.py", hop_optab[op].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ops),
	                                    cmocka_unit_test(test_covered) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
