/* work.h -- a compiled function with its inputs and results, run through the hard door on
 * one thread, again and again. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "bench.h"
#include "hop/compile.h"
#include "hop/hop.h"

enum hop_work_kind { HOP_WORK_RNN, HOP_WORK_LOOP, HOP_WORK_SOFTMAX, HOP_WORK_GEMM,
                     HOP_WORK_RNN_GRAD };

typedef struct hop_work {
	hop_fn    *fn;
	hop_exec  *x;
	int        nin, nout;
	hop_array *in[4], *out[5];
	hop_arg    ain[4], aout[5];
	void      *space;
	hop_status st;             /* of the last call */
} hop_work;

/* data: one pointer an f32 input. */
hop_status hop_work_new(hop_ctx *c, hop_work *w, enum hop_work_kind kind,
                        const float *const *data);
void       hop_work_free(hop_work *w);
void       hop_work_run(void *work);
/* The largest difference from what the peer computed. */
double     hop_work_error(hop_work *w, const float *want);

#endif
