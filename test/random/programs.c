/* Whole programs at random: programs COUNT checks that many, from RANDOM_SEED=n on if that is said;
 * without COUNT the one of that seed. RANDOM_WAYS chooses among the ways to run
 * (see support/random.h). */
#include <stdio.h>
#include <stdlib.h>

#include "support/random.h"
#include "support/seed.h"

int main(int argc, char **argv)
{
	const char *one = getenv("RANDOM_SEED"), *ways = getenv("RANDOM_WAYS");
	long count = argc > 1 ? atol(argv[1]) : one ? 1 : 100, fail = 0;

	for (long i = 0; seed_more(i, &count); i++) {
		uint64_t seed = seed_of(i, count);
		if (random_program(seed, ways ? atoi(ways) : RANDOM_ALL)) {
			fail++;
			printf("FAIL seed %llu\n", (unsigned long long)seed);
			fflush(stdout);
		}
	}
	printf("%ld passed, %ld failed\n", count - fail, fail);
	return fail != 0;
}
