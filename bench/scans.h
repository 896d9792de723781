/* scans.h -- scans beside loops written by hand: a selective scan and its gradient, sums along rows,
 * a long affine scan beside a copy. */
#ifndef SCANS_H
#define SCANS_H

#include "bench.h"

enum { SEL_T = 4096, SEL_B = 8, SEL_D = 64, SEL_N = 16 };

/* x, dt, y, gx, gdt: [T][B][D]; A: [D][N]; B, C, gB, gC: [T][B][N]; h, g, gA: [B][D][N] (gA to be
 * added up over samples); all: [T][B][D][N]. */
struct select {
	const float *x, *dt, *A, *B, *C;
	float *h, *y, *all, *g, *gx, *gdt, *gA, *gB, *gC;
};

#ifdef BENCH_FAST
#define peer_select      peer_select_fast
#define peer_select_grad peer_select_grad_fast
#define peer_cumsum      peer_cumsum_fast
#endif

void peer_select(const struct select *q, int from, int to);
void peer_select_grad(const struct select *q, int from, int to);
void peer_cumsum(const float *x, float *y, long rows, long n);

#ifndef BENCH_FAST
void peer_select_fast(const struct select *q, int from, int to);
void peer_select_grad_fast(const struct select *q, int from, int to);
void peer_cumsum_fast(const float *x, float *y, long rows, long n);

int bench_scans(void);
#endif

#endif
