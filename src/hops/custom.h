/* custom.h -- what the files of custom share. */
#ifndef HOP_CUSTOM_H
#define HOP_CUSTOM_H

#include "hops/body.h"

/* Values that fwd gives behind its results, for bwd. */
static inline uint32_t hop_custom_nsaved(const struct hop_attr_custom *a)
{
	return a->fwd->nout - (uint32_t)a->nouts;
}

/* Is result k of fwd differentiated by the rule? */
bool hop_custom_diff(const struct hop_attr_custom *a, uint32_t k);
/* The result that saved value k is, or UINT32_MAX: such a one keeps the rule. */
uint32_t hop_custom_result(const struct hop_attr_custom *a, uint32_t k);

/* Batching as a loop over the lanes (custom_lanes.c). */
hop_status hop_custom_lanes(hop_build *b, hop_rule *r);

/* Refuse a jvp that is not linear in what it takes behind the np operands: it is all there is. */
hop_status hop_custom_linear(hop_env *e, hop_loc loc, const hop_graph *jvp, uint32_t np);

/* ---- zeros.c ---- */

/* g without the parameters that have zero[i], floats, which are zeros that nobody computed: what
 * follows from them alone is not computed either. out_zero[k]: result k is such a zero. */
hop_status hop_graph_zeros(hop_env *e, const hop_graph *g, const bool *zero,
                           const hop_graph **out_g, bool *out_zero);
/* Is result k zeros as they are written: a constant, repeated? */
bool       hop_graph_gives_zero(const hop_graph *g, uint32_t k);

#endif
