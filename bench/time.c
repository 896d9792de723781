/* Measures time. It reports the least of several rounds, since what else runs on the machine
 * only ever adds; it says nothing about spread. */
#include <time.h>

#include "bench.h"

double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double round_of(bench_fn *f, void *user, long n)
{
	double start = bench_now();

	for (long i = 0; i < n; i++)
		f(user);
	return bench_now() - start;
}

double bench_time(bench_fn *f, void *user, double least)
{
	enum { ROUNDS = 60 };          /* short ones: what disturbs comes in bursts */
	double best;
	long n = 1;

	while (round_of(f, user, n) < least && n < (1L << 30))
		n *= 2;
	best = round_of(f, user, n);
	for (int i = 1; i < ROUNDS; i++) {
		double t = round_of(f, user, n);

		best = t < best ? t : best;
	}
	return best / (double)n;
}
