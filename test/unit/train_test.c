/* train_test.c -- the transformer of the gallery learns as PyTorch's does: the loss in each of 50
 * steps. test/data/train.h has PyTorch's numbers, from the same program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define main transformer_main
#include "../../examples/24_transformer.c"
#undef main

#include "data/train.h"

/* A share of PyTorch's loss, or, of f32, the difference itself. */
static void as_pytorch(hop_array *losses, int steps, const double *want, double tol, bool share)
{
	assert_int_equal(hop_array_count(losses), steps);
	for (int i = 0; i < steps; i++)
		if (!(fabs(hop_array_at(losses, i) - want[i]) <= tol * (share ? want[i] : 1)))
			fail_msg("step %d: %.9g, and PyTorch has %.9g", i, hop_array_at(losses, i), want[i]);
}

static void in_f32(void **state)
{
	hop_ctx *c = with_loader();
	hop_array *losses = learn(c, (struct how){ STEPS, HOP_f32 });

	(void)state;
	as_pytorch(losses, STEPS, train_f32, 1e-4, false);
	hop_array_release(losses);
	hop_ctx_free(c);
}

/* The products are in bf16, and not by chance near those of f32. */
static void in_bf16(void **state)
{
	hop_ctx *c = with_loader();
	hop_array *losses = learn(c, (struct how){ STEPS, HOP_bf16 });
	double most = 0;

	(void)state;
	as_pytorch(losses, STEPS, train_bf16, 0.02, true);
	for (int i = 0; i < STEPS; i++)
		most = fmax(most, fabs(hop_array_at(losses, i) - train_f32[i]));
	assert_true(most > 1e-4);
	hop_array_release(losses);
	hop_ctx_free(c);
}

/* Three steps op by op, and interpreted. */
static void without_code(void **state)
{
	enum { FEW = 3 };
	struct how how = { FEW, HOP_f32 };
	hop_ctx *c = with_loader();
	struct trained_arrays s;
	hop_array *losses;
	hop_fn *f;

	(void)state;
	prepare(c, &how, &s, &f);
	must(c, hop_call_with(f, trained_tree.count, &s.p.words, 1, &losses,
	                      HOP_RUN_OPTS(.interpret = true)));
	as_pytorch(losses, FEW, train_f32, 1e-4, false);
	hop_array_release(losses);
	must(c, hop_eager_call(c, train, &how, trained_tree.count, &s.p.words, 1, &losses));
	as_pytorch(losses, FEW, train_f32, 1e-4, false);
	hop_array_release(losses);
	hop_tree_release(&trained_tree, &s);
	hop_fn_release(f);
	hop_ctx_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_f32), cmocka_unit_test(in_bf16), cmocka_unit_test(without_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
