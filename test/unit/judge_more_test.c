/* judge_more_test.c -- the programs of test/ad/ that judge_test.c leaves out, so that both halves run
 * at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/judge_files.h"

#ifndef HOP_TEST_DIR
#define HOP_TEST_DIR "test"
#endif

static void test_programs(void **state)
{
	judge_total all = { 0 };
	(void)state;
	judge_files(HOP_TEST_DIR "/ad", HOP_f64, 2, 1, 2, &all);
	assert_true(all.programs > 0);
	print_message("%d programs, %d checks\n", all.programs, all.checks);
	assert_int_equal(all.failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_programs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
