/* fn.h -- functions: a sealed graph with the arrays that it was captured with. Capturing them is
 * trace/, compiling them driver/; the public view is include/hop/fn.h. */
#ifndef HOP_DATA_FN_H
#define HOP_DATA_FN_H

#include "data/array.h"
#include "hop/fn.h"
#include "ir/graph.h"

/* The graph's parameters are the inputs, then the captured arrays; its results are the function's,
 * then the new contents of wrote[i], indices of parameters. */
struct hop_fn {
	uint32_t          refs;
	hop_ctx          *ctx;
	const hop_graph  *g;
	int               nin, nout, nhidden, nwrote;
	hop_array       **hidden;
	int              *wrote;
	char             *text;        /* made on demand */
	size_t            ntext;
	_Atomic(struct hop_exec *) exec;       /* driver/call.c: its code, and how to let it go */
	void            (*_Atomic drop_exec)(void *x);
};
/* A function over a sealed graph with the layout above; hidden arrays are retained. */
hop_status hop_fn_new(hop_ctx *c, const hop_graph *g, int nin, int nout, int nhidden,
                      hop_array *const *hidden, int nwrote, const int *wrote,
                      hop_fn **out_f);

#endif
