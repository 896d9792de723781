/* Fit a filter to data, then run it: the program links nothing but kalman.o and libm.
 *	hop build kalman.hop -o kalman --entry=@step --entry=@unlikely:grad
 *	cc main.c kalman.o -lm -o kalman */
#include <stdio.h>
#include <stdlib.h>

#include "kalman.h"

enum { N = 200 };

/* A thing that moves at a speed of 1.5, seen with noise of about 0.3. */
static void observe(float *z)
{
	unsigned seed = 1;
	for (int i = 0; i < N; i++) {
		float noise = 0;
		for (int k = 0; k < 12; k++) {
			seed = seed * 1103515245u + 12345u;
			noise += (float)(seed >> 16 & 0x7fff) / 32768.0f;
		}
		z[i] = 0.15f * (float)i + 0.3f * (noise - 6.0f);
	}
}

/* Steps against the gradient, of a size that does not depend on it: q and r are positive. */
static int fit(const float *z, float *q, float *r, float *first, float *last)
{
	static float dz[N];
	int64_t bytes = kalman_unlikely_grad_workspace(N);
	void *work = bytes < 0 ? NULL : aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
	int st = work ? HOP_AOT_OK : HOP_AOT_ENOMEM;
	for (int i = 0; !st && i < 300; i++) {
		float dq, dr;
		st = kalman_unlikely_grad(q, r, z, last, &dq, &dr, dz, N, work, NULL);
		*first = i ? *first : *last;
		*q *= dq > 0 ? 0.98f : 1.02f;
		*r *= dr > 0 ? 0.98f : 1.02f;
	}
	free(work);
	return st;
}

int main(void)
{
	static _Alignas(64) unsigned char work[KALMAN_STEP_WORKSPACE];
	float z[N], q = 0.5f, r = 0.5f, first = 0, last = 0;
	float x[2] = { 0, 0 }, p[4] = { 1, 0, 0, 1 }, xn[2], pn[4], y, s;
	observe(z);
	int st = fit(z, &q, &r, &first, &last);
	for (int i = 0; !st && i < N; i++) {
		st = kalman_step(x, p, &z[i], &q, &r, xn, pn, &y, &s, work, NULL);
		for (int k = 0; k < 2; k++)
			x[k] = xn[k];
		for (int k = 0; k < 4; k++)
			p[k] = pn[k];
	}
	if (st) {
		fprintf(stderr, "kalman: %s\n", hop_aot_text(st));
		return 1;
	}
	printf("unlikely %.1f, then %.1f; position %.1f, speed %.1f\n", first, last, x[0], x[1]);
	return !(last < first && x[0] > 29.4f && x[0] < 30.3f && x[1] > 1.3f && x[1] < 1.7f);
}
