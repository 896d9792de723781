/* cuda.h -- what the parts of the CUDA target say to each other: text (emit*.c), cubin (nvrtc.c), images
 * and their runs. Device memory, streams and the driver: device.h, driver.h. */
#ifndef HOP_CUDA_H
#define HOP_CUDA_H

#include "target/cuda/state.h"
#include "target/target.h"

/* ---- the text of a program (emit*.c) ---- */

/* Of a KERNEL, and zero for other functions. Its name in the text is NAME_<function>. */
typedef struct hop_cuda_kernel {
	int64_t shared;            /* bytes of its `extern __shared__` array: SPACE_SHARED, then scratch of
	                              reductions and tiles */
	bool    looks;             /* at the state's code: some kernel can leave or end the run */
	bool    leaves;            /* it, or what it calls, can leave, and goes on where it left */
	bool    cancels;           /* it reads *cancel: the host must hear of it while it waits */
	bool    early;             /* it waits itself for what ran before */
	int     piece;             /* which of the program's texts it is in (pieces.h) */
} hop_cuda_kernel;

/* What the text needs of a run. */
typedef struct hop_cuda_needs {
	int64_t save;              /* most words of registers and points that a chain of calls saves */
	int64_t request;           /* most words of a request */
	bool    ring;              /* it writes to the ring */
} hop_cuda_needs;

/* The program as CUDA C, prelude first, its kernels and functions NAME_<function>. kernel: [p->nfunc],
 * zeroed. The bytes of a CONST that a HOST function hands on as an argument are
 * `extern "C" __device__ const ... NAME_c<function>_<buffer>[]`. */
hop_status hop_cuda_text(hop_env *e, const hop_prog *p, const char *name, hop_buf *out,
                         hop_cuda_kernel *kernel, hop_cuda_needs *needs);

/* Kernels start while the one before them ends, and wait for it themselves: HOP_CUDA_EARLY asks for it,
 * of a device and a driver that can (target.c). */
bool hop_cuda_early(void);

/* ---- for --emit (target.c) ---- */

/* The text of a scheduled program, and its cubin for the architecture of this machine's device
 * (HOP_CUDA_ARCH; sm_90a if there is none). */
hop_status hop_cuda_emit_text(hop_env *e, const hop_prog *p, const char *name, hop_buf *out);
hop_status hop_cuda_emit_cubin(hop_env *e, const hop_prog *p, const char *name, hop_buf *out);

#endif
