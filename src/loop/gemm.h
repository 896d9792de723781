/* gemm.h -- the matrix product template by the names of its parts, for whoever makes or
 * compiles one. Passes over loop programs do not need it: see hop_tile. */
#ifndef HOP_LOOP_GEMM_H
#define HOP_LOOP_GEMM_H

#include "loop/loop.h"

/* C[m,n] = (beta ? C : 0) + sum over k of A[m,k] * B[k,n]; one dtype for all, but A and B may be packed
 * in memory.
 * Row and column strides are free (a transposed operand is a stride pattern). `epilogue`
 * is run for each element of C: it sees registers em, en (i64 position) and ev (the sum)
 * and ends in stores; if it is empty, the sum is stored to C. */
typedef struct hop_gemm {
	hop_dtype dtype;
	hop_size  m, n, k;
	hop_addr  a, b, c;                      /* base addresses; terms are outer registers */
	hop_size  as[2], bs[2], cs[2];          /* strides: a[m,k], b[k,n], c[m,n] */
	int       stored[2];                    /* of A, B: see hop_targ */
	bool      beta;
	hop_reg   em, en, ev;
	hop_block epilogue;
} hop_gemm;

hop_tile  hop_gemm_tile(const hop_gemm *g);
hop_gemm  hop_gemm_of(const hop_tile *t);
hop_stmt *hop_l_gemm(hop_lbuild *b, const hop_gemm *g);

#endif
