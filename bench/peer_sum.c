/* The sum of many numbers, in as many partial sums as hide the latency of an addition. */
#include "bench.h"

float peer_sum(const float *x, long n)
{
	enum { LANES = 128 };
	float part[LANES] = { 0 }, sum = 0;

	for (long i = 0; i + LANES <= n; i += LANES)
		for (int k = 0; k < LANES; k++)
			part[k] += x[i + k];
	for (int k = 0; k < LANES; k++)
		sum += part[k];
	return sum;
}
