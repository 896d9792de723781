/* deep_fuzz.c -- support/deep.c as a libFuzzer target. DEEP_NATIVE=n compiles one input in n
 * (16 unless told; 0 = none), DEEP_SAY=1 prints the counts at the end. */
#include <stdio.h>
#include <stdlib.h>

#include "support/deep.h"

static deep_count all;

static void say(void)
{
	fprintf(stderr, "deep_fuzz: %ld inputs, %ld programs lowered, %ld compiled, %ld runs, %ld "
	        "of them refused, %ld unsteady\n", all.inputs, all.programs, all.compiled, all.runs,
	        all.refused, all.unsteady);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	const char *native = getenv("DEEP_NATIVE");
	if (!all.inputs)
		atexit(say);
	deep_input(p, n, native ? (unsigned)atoi(native) : 16, &all);
	if (all.failures)
		abort();
	return 0;
}
