/* batch.h -- what the operators share when their bodies are batched. */
#ifndef HOP_HOPS_BATCH_H
#define HOP_HOPS_BATCH_H

#include "ad/ad.h"
#include "hops/body.h"

/* Batch a body of r's node for r's batch size. bin: its batched parameters; force: results
 * that must be batched (NULL = none). */
hop_status hop_batch_body(hop_build *b, const hop_rule *r, const hop_graph *g, bool masked,
                          const bool *bin, const bool *force, const hop_graph **out_g,
                          bool *out_batched);
/* Which of the first nc parameters of a step become batched: those that start so, or that a
 * step makes so. bin grows. */
hop_status hop_batch_carries(hop_build *b, const hop_rule *r, const hop_graph *body,
                             bool masked, uint32_t nc, bool *bin);
/* The size arguments of a batched body: the node's, then the batch size if symbolic. */
hop_sizes  hop_batch_sargs(hop_build *b, const hop_rule *r);
/* The batch size as a body made by hop_batch_body (of source body g) sees it. */
hop_size   hop_batch_inner(hop_env *e, const hop_rule *r, const hop_graph *g);
/* Zeros of the batched result types: what a branch that no lane takes gives. */
hop_status hop_batch_empty(hop_env *e, const hop_graph *g, hop_graph **out_g);
/* A cond or switch that differs between lanes, each branch on its lanes only; whether it asks for
 * that and it can be so. */
hop_status hop_batch_partition(hop_build *b, hop_rule *r);
bool       hop_partition_fits(const hop_rule *r);
/* A key of its own for each of n lanes: with the batch axis. */
hop_val    hop_emit_own_keys(hop_build *b, hop_val key, hop_size n);
/* v, with the batch axis if it has none. */
hop_val    hop_batch_solid(hop_build *b, const hop_rule *r, hop_val v, bool batched);
/* Per lane: m ? x : y, where m is bool[n] and x, y have the leading axis n. */
hop_val    hop_emit_lanes(hop_build *b, hop_val m, hop_val x, hop_val y);
/* bool[n] -> bool: is any lane set? */
hop_val    hop_emit_any(hop_build *b, hop_val m);
/* A lane that is set (the last one; 0 if none), as an i64 scalar. */
hop_val    hop_emit_some_lane(hop_build *b, hop_val m);
/* x where m is set; elsewhere what lane `some` has: values that are safe to compute with,
 * because an active lane computes with them, and whose cotangent is exactly zero. */
hop_val    hop_emit_safe(hop_build *b, hop_val m, hop_val some, hop_val x);
/* i64[n] -> the sum of all, and i64[n]: the sum of those before each. */
hop_status hop_emit_before(hop_build *b, hop_val x, hop_val *out_all, hop_val *out_before);
/* Exchange the two leading axes. */
hop_val    hop_emit_swap(hop_build *b, hop_val x);

#endif
