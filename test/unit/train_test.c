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

static void as_pytorch(hop_array *losses, const double *want, double tol)
{
	assert_int_equal(hop_array_count(losses), STEPS);
	for (int i = 0; i < STEPS; i++)
		if (!(fabs(hop_array_at(losses, i) - want[i]) <= tol))
			fail_msg("step %d: %.9g, and PyTorch has %.9g", i, hop_array_at(losses, i), want[i]);
}

static void in_f32(void **state)
{
	hop_ctx *c = context();
	hop_array *losses = learn(c);

	(void)state;
	as_pytorch(losses, train_f32, 1e-4);
	hop_array_release(losses);
	hop_ctx_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_f32),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
