/* work.h -- a captured function with its inputs, ready to be called again and again. */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "bench.h"
#include "hop/hop.h"

enum hop_work_kind { HOP_WORK_RNN, HOP_WORK_LOOP, HOP_WORK_SOFTMAX, HOP_WORK_GEMM,
                     HOP_WORK_TINY };

typedef struct hop_work {
	hop_fn    *fn;
	int        nin;
	hop_array *in[4];
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
