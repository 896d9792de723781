/* lower_check.h -- compare a graph run by the interpreter with its loop program. */
#ifndef HOP_LOWER_CHECK_H
#define HOP_LOWER_CHECK_H

#include "interp/interp.h"
#include "loop/lower.h"

/* Runs g on made-up inputs (seed) both ways, fused and not; 0 when all results agree.
 * syms: values of its size parameters. On a difference the graph, the loop program and
 * the first wrong element are printed. */
int hop_lower_check(hop_env *e, const hop_graph *g, const int64_t *syms, unsigned seed);
/* The same on every machine of a device, not on one that the seed draws. */
int hop_lower_check_all(hop_env *e, const hop_graph *g, const int64_t *syms, unsigned seed);

#endif
