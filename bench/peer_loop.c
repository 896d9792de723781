/* The smallest loop: one multiply-add an element and a trip. It does not stop early. */
#include <string.h>

#include "bench.h"

void peer_loop(const float *x0, float *x, long trips)
{
	memcpy(x, x0, LOOP_N * sizeof *x);
	for (long i = 0; i < trips; i++) {
		for (int k = 0; k < LOOP_N; k++)
			x[k] = 0.999f * x[k] + 0.001f;
	}
}
