/* Cells: mutation, aliasing, zero. What bodies may do that other systems refuse: write to captured
 * tensors and views, return their inputs, run no time at all. Values only, except of zero; the
 * programs are in test/operator. */
#include "operator/operator.h"

typedef int try_fn(hop_ctx *c);

#define REFUSE(op, cap, words, reason)
static try_fn *const mutation_of[NOPERATOR] = {
#define OPERATOR(upper, lower) mutation_##lower,
#include "operator/operators.def"
#undef OPERATOR
};
static try_fn *const aliasing_of[NOPERATOR] = {
#define OPERATOR(upper, lower) aliasing_##lower,
#include "operator/operators.def"
#undef OPERATOR
};
static try_fn *const zero_of[NOPERATOR] = {
#define OPERATOR(upper, lower) zero_##lower,
#include "operator/operators.def"
#undef OPERATOR
};
#undef REFUSE

static int mutation(hop_ctx *c, int op, int arg)
{
	(void)arg;
	return mutation_of[op](c);
}

static int aliasing(hop_ctx *c, int op, int arg)
{
	(void)arg;
	return aliasing_of[op](c);
}

/* No elements at all, value and gradient. */
static int empty(hop_ctx *c, int op)
{
	static const int wrt[2] = { 0, 1 };
	subject s = { .n = 1, .ops = { op }, .scalar = true };
	hop_spec in[2] = { hop_spec1(HOP_f64, 0), hop_spec0(HOP_f64) };
	hop_array *a[2] = { subject_vec(c, 0, body_x), subject_num(c, 0.5) }, *y[3] = { NULL };
	hop_fn *f = NULL, *g = NULL;
	double zero = 0;
	int bad = cell_ok(c, hop_capture(c, subject_body, &s, 2, in, &f), "capture") ||
	          cell_ok(c, hop_grad(f, 2, wrt, &g), "grad") ||
	          cell_ok(c, hop_call(g, 2, a, 3, y), "call") ||
	          cell_near("value", 1, &zero, y[0], 0) ||
	          cell_near("gradient", 0, body_x, y[1], 0) ||
	          cell_near("gradient of k", 1, &zero, y[2], 0);

	for (int i = 0; i < 3; i++)
		hop_array_release(y[i]);
	hop_array_release(a[0]), hop_array_release(a[1]);
	hop_fn_release(g), hop_fn_release(f);
	return bad;
}

static int zero(hop_ctx *c, int op, int arg)
{
	(void)arg;
	return empty(c, op) || zero_of[op](c);
}

int main(void)
{
	int bad = 0;

	for (int op = 0; op < NOPERATOR; op++) {
		bad += cell_run(op, "mutation", mutation, NOPERATOR);
		bad += cell_run(op, "aliasing", aliasing, NOPERATOR);
		bad += cell_run(op, "zero", zero, NOPERATOR);
	}
	return bad != 0;
}
