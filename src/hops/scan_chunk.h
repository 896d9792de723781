/* scan_chunk.h -- scans as graphs of others: over chunks of an inner scan, and the other way round.
 * For reverse mode that keeps some carries. */
#ifndef HOP_SCAN_CHUNK_H
#define HOP_SCAN_CHUNK_H

#include "hops/body.h"

/* Start a graph that does what scan n of g does: its size parameters are those of the body, as wide
 * as the scan's size arguments and not as the body says, since that is tested where a step runs;
 * then the length, if that is no constant. Gives the length. */
hop_size   hop_scan_open(hop_build *b, hop_env *e, const hop_graph *g, const hop_node *n);

/* A scan that runs backwards, as one that runs forward. */
hop_status hop_scan_flip(hop_env *e, const hop_graph *g, const hop_node *n, hop_graph **out_g);

/* About the square root of a length, or of its bound if it has a small one. */
int64_t    hop_chunk_root(hop_range r);

/* How a scan is split: C chunks of K steps, one of them a constant. */
typedef struct hop_chunks {
	hop_size length, each, chunks;   /* over the size parameters of the graph made */
	int64_t  every;                  /* K, or 0 if it is not constant */
} hop_chunks;

/* Whether scan n of graph g asks to be split, and can be: not if it is empty, nor if a
 * value has so many axes that there is no room for one more. */
bool       hop_scan_chunks(hop_env *e, const hop_graph *g, const hop_node *n, hop_chunks *out);
/* The same function of the same operands, as a graph; behind its results the carries as each
 * chunk began, [C, t], for t = 0, K, 2K ..: constants to derivatives. */
hop_status hop_scan_chunk(hop_env *e, const hop_graph *g, const hop_node *n,
                          const hop_chunks *c, hop_graph **out_g);

/* [T, ...] -> [C, K, ...], zeros behind the end; and back. */
hop_val    hop_chunk_split(hop_build *b, const hop_chunks *c, hop_val x);
hop_val    hop_chunk_join(hop_build *b, const hop_chunks *c, hop_val y);
/* How many of chunk i's steps run, of n in all: clamp(n - i*K, 0, K). */
hop_val    hop_chunk_count(hop_build *b, const hop_chunks *c, hop_val n, hop_val i);
/* The chunks that n steps are in. */
hop_val    hop_chunk_visits(hop_build *b, const hop_chunks *c, hop_val n);

#endif
