/* seed.c -- where random tests start. */
#include "support/seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FIXED = 1000 };

/* Made once a process, and said. */
static uint64_t fresh(void)
{
	static uint64_t first;
	struct timespec t;
	if (!first) {
		clock_gettime(CLOCK_REALTIME, &t);
		first = ((uint64_t)t.tv_sec * 1000003u + (uint64_t)t.tv_nsec * 31u +
		         (uint64_t)getpid()) % 1000000000000u + 1000000u;
		printf("seeds from the clock start at %llu\n", (unsigned long long)first);
		fflush(stdout);
	}
	return first;
}

bool seed_more(long i, long *n)
{
	static struct timespec first;
	const char *most = getenv("RANDOM_SECONDS");
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (!i)
		first = t;
	if (i < *n && most && t.tv_sec - first.tv_sec >= atol(most)) {
		printf("%ld of %ld in %s seconds\n", i, *n, most);
		*n = i;
	}
	return i < *n;
}

uint64_t seed_of(long i, long n)
{
	const char *one = getenv("RANDOM_SEED");
	uint64_t seed = one ? strtoull(one, NULL, 10) + (uint64_t)i
	                    : (i < (n + 1) / 2 ? FIXED : fresh()) + (uint64_t)i;
	if (getenv("RANDOM_NOTE"))
		fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
	return seed;
}

void seed_parts(uint64_t seed)
{
	if (seed % 3 == 0)
		setenv("HOP_PART", "9", 1);
	else
		unsetenv("HOP_PART");
	if (seed % 4 == 0)
		setenv("HOP_FORK", "40", 1);
	else
		unsetenv("HOP_FORK");
	if (seed % 5 < 2)
		setenv("HOP_PIECE", seed % 5 ? "3" : "7", 1);
	else
		unsetenv("HOP_PIECE");
}

int seed_each(int argc, char **argv, bool (*one)(uint64_t seed))
{
	long count = argc > 1 ? atol(argv[1]) : getenv("RANDOM_SEED") ? 1 : 100, bad = 0;
	for (long i = 0; seed_more(i, &count); i++) {
		bad += !one(seed_of(i, count));
		fflush(stdout);
	}
	printf("%ld passed, %ld failed\n", count - bad, bad);
	return bad != 0;
}
