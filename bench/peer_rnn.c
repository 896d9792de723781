/* The recurrent scan as one would write it by hand: W transposed once, so that both products
 * run along the rows of the result and vectorise without reordering sums. It does not use a
 * vector tanh beyond what the compiler finds in the C library. */
#include <math.h>
#include <string.h>

#include "bench.h"

void peer_rnn(const float *W, const float *U, const float *x, const float *h0, float *h)
{
	static float Wt[RNN_H][RNN_H], Ut[RNN_H][RNN_H];
	float z[RNN_H];

	for (int i = 0; i < RNN_H; i++) {
		for (int k = 0; k < RNN_H; k++) {
			Wt[k][i] = W[i * RNN_H + k];
			Ut[k][i] = U[i * RNN_H + k];
		}
	}
	memcpy(h, h0, RNN_H * sizeof *h);
	for (int t = 0; t < RNN_T; t++) {
		const float *xt = x + t * RNN_H;

		for (int i = 0; i < RNN_H; i++)
			z[i] = 0;
		for (int k = 0; k < RNN_H; k++) {
			for (int i = 0; i < RNN_H; i++)
				z[i] += Wt[k][i] * h[k] + Ut[k][i] * xt[k];
		}
		for (int i = 0; i < RNN_H; i++)
			h[i] = tanhf(z[i]);
	}
}
