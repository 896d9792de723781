/* targets.h -- the targets beside each other. */
#ifndef BENCH_TARGETS_H
#define BENCH_TARGETS_H

#include "work.h"

struct bench_row { const char *name; enum hop_work_kind kind; const float *const *in; };
void bench_targets(const struct bench_row *row, int n);

#endif
