/* Measures time. It reports medians and does not look for outliers. */
#include <stdlib.h>
#include <time.h>

#include "bench.h"

double bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
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
	enum { ROUNDS = 9 };
	double t[ROUNDS];
	long n = 1;

	while (round_of(f, user, n) < least && n < (1L << 30))
		n *= 2;
	for (int i = 0; i < ROUNDS; i++)
		t[i] = round_of(f, user, n) / (double)n;
	qsort(t, ROUNDS, sizeof t[0], ascending);
	return t[ROUNDS / 2];
}
