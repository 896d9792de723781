/* transform.h -- transforms of functions, inside: a function being made from another. */
#ifndef HOP_DRIVER_TRANSFORM_H
#define HOP_DRIVER_TRANSFORM_H

#include "ad/ad.h"
#include "data/fn.h"

/* A graph over the same inputs and some more. */
typedef struct hop_made {
	hop_env    e;
	hop_frame  f;
	hop_build  b;
	hop_fn    *from;
	hop_val   *in;               /* [g->nparam] parameters of the old graph */
	hop_val   *more;             /* parameters between the inputs and the captured arrays */
	uint32_t   nmore;
} hop_made;

/* What was asked for; each transform has its own part of it. */
typedef struct hop_made_args {
	const char *op;
	int         nwrt;
	const int  *wrt;
	int         results;         /* the first so many are differentiated */
	int64_t     chunk;
	bool        back, forward;
	/* vmap */
	const int  *in, *out;        /* axes; out NULL = all 0 */
	const bool *batched, *own;   /* instead of in: axis 0 */
	int64_t     size;
	/* split */
	double      budget;
	hop_fn    **out_bwd;
} hop_made_args;

typedef hop_status hop_made_fn(hop_made *m, const hop_made_args *a, hop_fn **out_f);

/* Make a function, inside the guard; failures go to the context. */
hop_status hop_made_run(hop_fn *f, hop_made_fn *make, const hop_made_args *a, hop_fn **out_f);

/* For what is made. May these inputs be differentiated? */
hop_status hop_made_check(hop_made *m, const char *op, const hop_made_args *a);
/* q has the parameters and results of the old graph, then more of both: as a function. */
hop_status hop_made_fit(hop_made *m, const hop_graph *q, hop_fn **out_f);
/* The results of f that are floats. */
int       *hop_made_floats(hop_made *m, int *out_n);
/* An input in messages. */
const char *hop_made_input(hop_made *m, int i);

#endif
