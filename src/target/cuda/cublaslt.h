/* cublaslt.h -- large matrix products by cuBLASLt, which is found at run time and opened when the first
 * of them comes; without it the template of gemm.c does all. Our own declarations: no header of it is
 * needed. Any thread may call any of this. */
#ifndef HOP_CUBLASLT_H
#define HOP_CUBLASLT_H

#include "target/cuda/device.h"

/* A product as the library sees it, by columns: D[m, n] = (beta ? D : 0) + L[m, k] R[k, n], `batch` of
 * them, `step` elements apart. An operand that is turned lies by rows. Compared as bytes. */
typedef struct hop_lt_operand { int64_t rows, cols, lead, step; } hop_lt_operand;
typedef struct hop_lt_shape {
	hop_lt_operand l, r, d;
	int64_t batch;
	int32_t dtype_in, dtype_out;   /* hop_dtype */
	int32_t turn_l, turn_r, beta, zero;
} hop_lt_shape;

/* How the library does a shape: asked once, kept, so that bits stay the same. */
typedef struct hop_lt {
	struct hop_lt *next;
	hop_lt_shape shape;
	void    *what, *l, *r, *d;     /* descriptions */
	uint64_t algo[8];
	size_t   work;                 /* bytes that it needs for itself; aligned to 256 */
	bool     can;                  /* false: it has no way that is the same at every run */
} hop_lt;

/* What the answers of the library are as errors, beside the driver's, which are not negative. */
enum { HOP_LT_ALIGN = 16 };            /* bytes that operands' addresses must be a multiple of */

/* Products of fewer operations (2 m n k) stay with the template: 2^31, 2^28 of packed operands, which
 * that does ten times slower; or HOP_CUBLASLT_LEAST. */
double      hop_lt_least(int32_t dtype_in);
/* In words: which library it is; or why there is none. */
void        hop_lt_about(hop_cuda *d, char *out, size_t n);
/* Among the ways that are kept in *list, or a new one; NULL: the library cannot do it, or is not there,
 * or there is no memory. The device's context is this thread's; who calls has locked the list. */
const hop_lt *hop_lt_find(hop_cuda *d, const hop_mem *m, const hop_lt_shape *s, hop_lt **list);
void        hop_lt_free(const hop_mem *m, hop_lt **list);
/* Put it on the stream: 0, or minus what the library said. */
int         hop_lt_run(const hop_lt *p, hop_cuptr l, hop_cuptr r, hop_cuptr d, hop_cuptr work,
                       void *stream);
const char *hop_lt_text(int error);
bool        hop_lt_nomem(int error);

#endif
