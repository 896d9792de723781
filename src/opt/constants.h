/* constants.h -- a graph in two: what is computed once, and the rest. */
#ifndef HOP_OPT_CONSTANTS_H
#define HOP_OPT_CONSTANTS_H

#include "ir/graph.h"

typedef struct hop_once_graphs {
	const hop_graph *once;         /* NULL, like rest, when there is nothing to compute once */
	const hop_graph *rest;         /* parameters: all of g, then what once gives; results: those
	                                * of g */
	uint32_t         nkept, nparam;
	uint32_t        *param;        /* [nparam] which parameters of g once takes; from e->tmp */
} hop_once_graphs;
/* fixed: which parameters are the same at every run, until somebody says otherwise. */
hop_status hop_opt_constants(hop_env *e, const hop_graph *g, const bool *fixed,
                             hop_once_graphs *out);

#endif
