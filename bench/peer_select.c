/* The selective scan of a state space model, by hand: h = exp(dt A) h + dt B x, y = sum of C h over
 * states. Arrays are [step][sample][..], and a call is for samples from .. to-1. The gradient is of
 * the sum of all y; it keeps all h, as many as a caller has room for, and computes exp again. */
#include <math.h>
#include <string.h>

#include "scans.h"

enum { S = SEL_B, D = SEL_D, N = SEL_N };

void peer_select(const struct select *q, int from, int to)
{
	memset(q->h + (long)from * D * N, 0, sizeof(float) * (size_t)(to - from) * D * N);
	for (long t = 0; t < SEL_T; t++)
		for (int s = from; s < to; s++) {
			const float *B = q->B + (t * S + s) * N, *C = q->C + (t * S + s) * N;
			for (int d = 0; d < D; d++) {
				float dt = q->dt[(t * S + s) * D + d], u = dt * q->x[(t * S + s) * D + d], y = 0;
				float *restrict h = q->h + ((long)s * D + d) * N;
				const float *A = q->A + d * N;
				for (int n = 0; n < N; n++) {
					h[n] = expf(dt * A[n]) * h[n] + u * B[n];
					y += C[n] * h[n];
				}
				q->y[(t * S + s) * D + d] = y;
			}
		}
}

static void keep(const struct select *q, int from, int to)
{
	memset(q->h + (long)from * D * N, 0, sizeof(float) * (size_t)(to - from) * D * N);
	for (long t = 0; t < SEL_T; t++)
		for (int s = from; s < to; s++) {
			const float *B = q->B + (t * S + s) * N;
			for (int d = 0; d < D; d++) {
				float dt = q->dt[(t * S + s) * D + d], u = dt * q->x[(t * S + s) * D + d];
				float *restrict h = q->h + ((long)s * D + d) * N;
				float *restrict all = q->all + ((t * S + s) * D + d) * N;
				const float *A = q->A + d * N;
				for (int n = 0; n < N; n++) {
					all[n] = h[n];
					h[n] = expf(dt * A[n]) * h[n] + u * B[n];
				}
			}
		}
}

void peer_select_grad(const struct select *q, int from, int to)
{
	keep(q, from, to);
	for (int s = from; s < to; s++) {
		memset(q->g + (long)s * D * N, 0, sizeof(float) * D * N);
		memset(q->gA + (long)s * D * N, 0, sizeof(float) * D * N);
	}
	for (long t = SEL_T - 1; t >= 0; t--)
		for (int s = from; s < to; s++) {
			const float *B = q->B + (t * S + s) * N, *C = q->C + (t * S + s) * N;
			float gB[N] = { 0 }, gC[N] = { 0 };
			for (int d = 0; d < D; d++) {
				long at = (t * S + s) * D + d;
				float dt = q->dt[at], x = q->x[at], u = dt * x, gu = 0, gt = 0;
				float *restrict g = q->g + ((long)s * D + d) * N;
				float *restrict gA = q->gA + ((long)s * D + d) * N;
				const float *A = q->A + d * N, *h = q->all + at * N;
				for (int n = 0; n < N; n++) {
					float a = expf(dt * A[n]), z = g[n] + C[n], w = z * h[n] * a;
					gC[n] += a * h[n] + u * B[n];
					gB[n] += z * u;
					gu += z * B[n];
					gt += w * A[n];
					gA[n] += w * dt;
					g[n] = z * a;
				}
				q->gx[at] = gu * dt;
				q->gdt[at] = gu * x + gt;
			}
			memcpy(q->gB + (t * S + s) * N, gB, sizeof gB);
			memcpy(q->gC + (t * S + s) * N, gC, sizeof gC);
		}
}

/* Sums along each row. */
void peer_cumsum(const float *x, float *y, long rows, long n)
{
	for (long r = 0; r < rows; r++) {
		float sum = 0;
		for (long i = 0; i < n; i++)
			y[r * n + i] = sum += x[r * n + i];
	}
}
