/* loops.h -- memory and time of gradients of long loops. */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

int bench_loops(void);

#endif
