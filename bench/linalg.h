/* linalg.h -- small matrices, a thousand at a time. */
#ifndef LINALG_H
#define LINALG_H

#include "hop/hop.h"

/* A line a size: n, us of a thousand solutions, us of a thousand factors. */
int bench_linalg(void);

#endif
