/* fold.h -- constants as the folder sees them, and its part for operators with bodies. */
#ifndef HOP_FOLD_H
#define HOP_FOLD_H

#include "opt/rewrite.h"

enum { HOP_FOLD_MAX = 64 };      /* elements of what is worth evaluating */

/* The element that v holds everywhere, if v is a constant of one element or a constant
 * scalar repeated; NULL otherwise. */
const void *hop_fold_splat(const hop_rw *w, hop_val v);
/* v as a small constant, repeated elements written out in tmp; NULL if it is none. */
const hop_data *hop_fold_data(hop_rw *w, hop_val v);
/* Run the eval column. false if it cannot be evaluated. t: type of the one result. */
bool hop_fold_eval(hop_rw *w, const hop_node *n, const void *attr,
                   const hop_data *const *in, const hop_type *t, hop_val *out_v);
/* Run a closed body on constants, NULL where a parameter is not used: one bool scalar. */
bool hop_fold_test(hop_rw *w, const hop_graph *g, const int64_t *syms,
                   const hop_data *const *in, bool *out_b);

/* A constant; one that holds the same element everywhere is a repeated scalar. */
hop_val hop_fold_emit(hop_rw *w, const hop_type *t, const void *bytes);

hop_rw_fn hop_fold_bodies;

#endif
