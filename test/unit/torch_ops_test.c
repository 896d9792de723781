/* torch_ops_test.c -- every first-order op against PyTorch: values and gradients, by the
 * interpreter and by native code, in f64, bf16 and f16. The data and the script that made it are
 * in test/data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "data/ops.h"
#include "data/ops_bf16.h"
#include "data/ops_f16.h"
#include "hop/ctx.h"
#include "text/text.h"
#include "support/native_run.h"

enum { NCASE = sizeof torch_ops / sizeof *torch_ops };

_Static_assert(sizeof torch_ops_bf16 == sizeof torch_ops &&
               sizeof torch_ops_f16 == sizeof torch_ops, "all of them made from the same cases");

/* Ops of 16 bits whose results PyTorch's are the same bits as. The others are functions and long
 * sums, which are computed in f32 to the last places: theirs is the same or the next number. */
static bool is_exact(const char *name)
{
	static const char *const yes[] = {
		"add", "sub", "mul", "div", "rem", "max", "min", "neg", "abs", "sign", "sqrt", "floor",
		"ceil", "trunc", "round", "eq", "ne", "lt", "le", "select", "cast", "iota", "broadcast",
		"reshape", "permute", "slice", "pad", "concat", "dynslice", "dynupdate", "gather",
		"scatter_add", "amax", "amin",
	};
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (!strcmp(name, yes[i]))
			return true;
	return false;
}

/* A packed result is rounded once: off by a last place at most. A gradient is several ops here and
 * one there, each of which rounds. */
static double tolerance(const struct torch_op *op, hop_dtype d, bool grad, double want)
{
	double last = ldexp(1, -hop_dtype_row(d)->man);
	if (!hop_dtype_packed(d))
		return 1e-12 * (1 + fabs(want));
	return grad ? 2 * last * (1 + fabs(want)) : is_exact(op->name) ? 0 : last * fabs(want);
}

static void near(const struct torch_op *op, bool grad, const hop_array *t, const double *want)
{
	for (int64_t i = 0; i < t->count; i++) {
		double got = hop_array_f(t, i);
		if (!(fabs(got - want[i]) <= tolerance(op, t->dtype, grad, want[i])))
			fail_msg("%s of %s: %s %d is %.17g, PyTorch says %.17g", op->name,
			         hop_dtype_name(t->dtype), grad ? "gradient" : "result", (int)i, got,
			         want[i]);
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
	hop_array **x = HOP_NEWN(&e->tmp, hop_array *, g->nparam + 1);
	hop_array **y = HOP_NEWN(&e->tmp, hop_array *, g->nparam + 1);
	for (uint32_t i = 0; i < g->nparam; i++) {
		x[i] = hop_interp_of(p, g->type[i]);
		want[i] = hop_dtype_float((hop_dtype)g->type[i]->dtype);
		for (int64_t k = 0; k < x[i]->count; k++)
			hop_array_set_f(x[i], k, *in++);
	}
	x[g->nparam] = hop_interp_of(p, hop_graph_out_type(g, 0));
	for (int64_t k = 0; k < x[g->nparam]->count; k++)
		hop_array_set_f(x[g->nparam], k, cos((double)k));
	if (hop_ad_vjp(e, g, &ct, want, &joint) || run(p, joint, NULL, x, y))
		fail_msg("%s: %s", op->name, e->diag.text);
	near(op, false, y[0], op->out);
	for (uint32_t k = 1; k < joint->nout; k++) {
		near(op, true, y[k], grad);
		grad += y[k]->count;
	}
	hop_module_free(m, &e->mem);
}

static void all(hop_interp *p)
{
	static const struct torch_op *const table[] = { torch_ops, torch_ops_bf16, torch_ops_f16 };
	for (int i = 0; i < 3 * NCASE; i++) {
		one(p, &table[i / NCASE][i % NCASE], hop_interp_graph);
		one(p, &table[i / NCASE][i % NCASE], native_run);
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
	                                   "uniform", "fold_in", "name", "straight", "host_pure" };
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
