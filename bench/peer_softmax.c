/* Softmax of rows in three passes. expf is the C library's; it does not use the row's
 * maximum and sum in one pass. */
#include <math.h>

#include "bench.h"

void peer_softmax(const float *x, float *y)
{
	for (int r = 0; r < SOFT_R; r++, x += SOFT_C, y += SOFT_C) {
		float m = x[0], s = 0;

		for (int c = 1; c < SOFT_C; c++)
			m = x[c] > m ? x[c] : m;
		for (int c = 0; c < SOFT_C; c++)
			y[c] = expf(x[c] - m);
		for (int c = 0; c < SOFT_C; c++)
			s += y[c];
		for (int c = 0; c < SOFT_C; c++)
			y[c] *= 1 / s;
	}
}
