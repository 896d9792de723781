/* assoc.h -- what the reverse of associative_scan and reduce needs from its other form. */
#ifndef HOP_ASSOC_H
#define HOP_ASSOC_H

#include "hops/body.h"

/* The same function of the same operands as node n of graph g, as a graph of maps and scans. Its
 * size parameters are those of combine, then the length if that is no constant. */
hop_status hop_assoc_chunk(hop_env *e, const hop_graph *g, const hop_node *n,
                           hop_graph **out_g);

#endif
