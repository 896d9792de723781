/* cost.h -- compile times, and the price of a call by either door. */
#ifndef COST_H
#define COST_H

#include "bench.h"
#include "hop/hop.h"

/* One line: passes, lowering, code, their sum, and the sum with the object cache, in ms. */
void bench_cost(hop_ctx *c, const char *name, hop_fn *f);
/* A call through the hard door and through the comfortable one, from next to nothing on. */
void bench_door(hop_ctx *c);

#endif
