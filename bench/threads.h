/* threads.h -- threads on an idle machine and on a busy one. */
#ifndef THREADS_H
#define THREADS_H

#include "hop/compile.h"
#include "hop/hop.h"

int bench_threads(void);

#endif
