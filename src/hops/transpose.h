/* transpose.h -- linear functions turned round. */
#ifndef HOP_TRANSPOSE_H
#define HOP_TRANSPOSE_H

#include "ir/rule.h"

/* g is linear in its parameters with lin[i], floats, and gives floats only. Parameters of the
 * transposed: cotangents of g's results, then g's other parameters. Results: cotangents of the
 * parameters with lin. */
hop_status hop_graph_transpose(hop_env *e, const hop_graph *g, const bool *lin,
                         const hop_graph **out_g);
/* Refuse a g that is not: op is who asks. What is linear by its value only, and not by how it is
 * computed, is refused too. */
hop_status hop_linear_check(hop_env *e, const char *op, hop_loc loc, const hop_graph *g,
                            const bool *lin);

#endif
