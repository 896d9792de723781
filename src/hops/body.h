/* body.h -- what the operators share when they look at their bodies. */
#ifndef HOP_BODY_H
#define HOP_BODY_H

#include "hops/hops.h"
#include "interp/interp.h"
#include "ir/sig.h"

/* A body's type as the node's graph sees it. */
const hop_type *hop_body_type(hop_env *e, const hop_type *t, hop_sizes sargs);
/* Check the size arguments of a body, and that there is one. */
hop_status hop_body_sargs(hop_infer *f, const char *which, const hop_graph *body,
                          hop_sizes sargs);
/* Check that a body takes `nin` operands of the given types; names it in the message. */
hop_status hop_body_takes(hop_infer *f, const char *which, const hop_graph *body,
                          hop_sizes sargs, uint32_t nin, const hop_type *const *in);
/* Result k of a body, checked to mention no symbol that the body binds itself. */
hop_status hop_body_gives(hop_infer *f, const char *which, const hop_graph *body,
                          hop_sizes sargs, uint32_t k, const hop_type **out_t);
/* Equality of two types with a message that shows both. */
hop_status hop_types_agree(hop_infer *f, const hop_type *a, const hop_type *b,
                           const char *what, uint32_t index, const char *left,
                           const char *right);

/* How a parameter of a body whose last size parameter counts lanes mentions it. */
enum hop_lead {
	HOP_LEAD_NONE,             /* not at all */
	HOP_LEAD_LANES,            /* as its first size, and nowhere else: a row a lane */
	HOP_LEAD_OTHER
};
enum hop_lead hop_lanes_lead(const hop_graph *body, const hop_type *t);

/* The node's size arguments, as sizes of the graph being built. */
hop_sizes hop_rule_sargs(hop_build *b, const hop_rule *r);
/* The node's attributes, to be changed and emitted: sizes are those of the graph being
 * built, a bound symbol is a new one, and the source's symbol means it from now on. */
void     *hop_rule_attr(hop_build *b, hop_rule *r);
/* Start a graph with the size parameters of g; its parameters are the caller's work. */
void      hop_body_open(hop_build *b, hop_env *e, const hop_graph *g);
/* The same for a graph that runs when g may not: it takes sizes that g would refuse. */
void      hop_body_open_wide(hop_build *b, hop_env *e, const hop_graph *g);
/* Size parameters 0 .. n-1 of the graph being built, as size arguments; from e->tmp. */
hop_sizes hop_own_sizes(hop_env *e, uint32_t n);
/* Emit all of g inside a body opened for it: size parameters pass through. */
hop_status hop_body_inline(hop_build *b, const hop_graph *g, const hop_val *in, hop_val *out);

/* Reverse mode, first half, of any node that does what graph g does on the same operands:
 * as calls of halves of g, like `like` (hop_emit_call_like). The second half is hop_bwd_call. */
hop_status hop_fwd_graph(hop_build *b, hop_rule *r, const struct hop_attr_call *like,
                         const hop_graph *g, hop_sizes sargs);

/* Copy slice t of x (leading axis) into a new tensor; write it back into y. */
hop_array *hop_tensor_row(hop_interp *p, const hop_array *x, int64_t t);
void        hop_tensor_put_row(hop_array *y, int64_t t, const hop_array *row);
hop_array *hop_tensor_i64(hop_interp *p, int64_t v);

#endif
