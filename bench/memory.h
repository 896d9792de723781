/* memory.h -- the bytes that gradients work in. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

int bench_memory(void);

#endif
