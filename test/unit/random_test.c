/* random_test.c -- a few random programs at each run; test/random/programs.c does many.
 * RANDOM_SEED and RANDOM_COUNT choose others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "support/random.h"

static void test_random(void **state)
{
	const char *seed = getenv("RANDOM_SEED"), *count = getenv("RANDOM_COUNT");
	uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
	int n = count ? atoi(count) : seed ? 1 : 60, bad = 0;
	(void)state;
	for (int i = 0; i < n; i++)            /* compiling takes longest: half of them */
		if (random_program(first + (uint64_t)i, seed || i % 2 ? RANDOM_ALL
		                                              : RANDOM_ALL - RANDOM_NATIVE)) {
			print_error("failed: RANDOM_SEED=%llu\n", (unsigned long long)first + i);
			bad++;
		}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
