/* judge_packed_test.c -- every program of test/ad/ in floats of 16 bits: cond, while, scan, custom,
 * call, and what stands in them. Their elementwise ops are in judge_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/judge_files.h"

#ifndef HOP_TEST_DIR
#define HOP_TEST_DIR "test"
#endif

/* Few programs may go another way in f64, where their derivatives are not compared with f64's. */
static void judged(hop_dtype d, int depth)
{
	judge_total all = { 0 };
	judge_files(HOP_TEST_DIR "/ad", d, depth, 0, 1, &all);
	assert_true(all.programs > 0);
	print_message("%d programs, %d checks, %d of them go another way in f64\n", all.programs,
	              all.checks, all.astray);
	assert_int_equal(all.failures, 0);
	assert_true(all.astray * 100 <= all.checks);
}

static void test_bf16(void **state)
{
	(void)state;
	judged(HOP_bf16, 1);
}

static void test_f16(void **state)
{
	(void)state;
	judged(HOP_f16, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bf16), cmocka_unit_test(test_f16) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
