/* pool.h -- threads for parallel loops. */
#ifndef HOP_POOL_H
#define HOP_POOL_H

#include "base/base.h"

/* Workers that spin a while for work, then sleep. One fork at a time: a second caller,
 * or a fork inside a fork, runs its own pieces itself. A child of fork() has the pool
 * without its workers: its first loop starts new ones, or runs alone if it gets none. */
typedef struct hop_pool hop_pool;
hop_pool *hop_pool_new(const hop_mem *m, int nthread);      /* 0 = as the machine has */
void      hop_pool_free(hop_pool *p);
int       hop_pool_threads(const hop_pool *p);
void      hop_pool_run(hop_pool *p, void (*body)(void *arg, int64_t begin, int64_t end),
                       void *arg, int64_t n);

#endif
