/* Sizes that fit and sizes that do not: refusals COUNT makes that many programs, with
 * RANDOM_SEED=n the one of that seed. REFUSE_SHOW=1 prints the graph of a failure, 2 its loop
 * program too; REFUSE_NATIVE=0 leaves compiled code out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/refuse.h"
#include "support/seed.h"

int main(int argc, char **argv)
{
	const char *one = getenv("RANDOM_SEED"), *native = getenv("REFUSE_NATIVE");
	long count = argc > 1 ? atol(argv[1]) : one ? 1 : 100, bad = 0;
	refuse_count all = { 0 };

	for (long i = 0; seed_more(i, &count); i++) {
		uint64_t seed = seed_of(i, count);
		refuse_count c = { 0 };
		refuse_program(seed, 12, !native || strcmp(native, "0"), &c);
		all.programs += c.programs;
		all.graphs += c.graphs;
		all.inputs += c.inputs;
		all.refused += c.refused;
		all.unsteady += c.unsteady;
		if (c.failures) {
			bad++;
			printf("FAIL seed %llu\n", (unsigned long long)seed);
			fflush(stdout);
		}
	}
	printf("%ld programs, %ld graphs, %ld inputs, %ld of them refused, %ld unsteady\n",
	       all.programs, all.graphs, all.inputs, all.refused, all.unsteady);
	printf("%ld passed, %ld failed\n", count - bad, bad);
	return bad != 0;
}
