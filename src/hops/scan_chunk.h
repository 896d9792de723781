/* scan_chunk.h -- a scan over chunks of an inner scan, for reverse mode with `every`. */
#ifndef HOP_SCAN_CHUNK_H
#define HOP_SCAN_CHUNK_H

#include "hops/body.h"

/* Whether scan n of graph g asks to be split, and can be: not if it is empty, nor if a
 * value has so many axes that there is no room for one more. */
bool       hop_scan_chunkable(const hop_graph *g, const hop_node *n);
/* The same function of the same operands, as a graph. Its size parameters are those of the
 * body, then the length if that is no constant. */
hop_status hop_scan_chunk(hop_env *e, const hop_graph *g, const hop_node *n,
                          hop_graph **out_g);

#endif
