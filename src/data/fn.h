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
	const char      **name;        /* [nin + nout] of inputs and results; interned, or NULL */
	char             *text;        /* made on demand */
	size_t            ntext;
	_Atomic(struct hop_exec *) exec;       /* driver/call.c: its code, and how to let it go */
	_Atomic(struct hop_exec *) watched;    /* the same with its watches */
	_Atomic(struct hop_exec *) there;      /* for arrays on a device, where exec is not for it */
	void            (*_Atomic drop_exec)(void *x);
};
/* A function over a sealed graph with the layout above; hidden arrays are retained. */
hop_status hop_fn_new(hop_ctx *c, const hop_graph *g, int nin, int nout, int nhidden,
                      hop_array *const *hidden, int nwrote, const int *wrote,
                      hop_fn **out_f);

/* ---- names.c ---- */

/* g was made from f: its first inputs, and if so its first results, are those of f. */
void hop_names_keep(hop_fn *g, const hop_fn *f, bool results);
/* Some inputs or results of g, which belong to inputs or results of f. */
typedef struct hop_naming {
	bool       results, of_results;
	int        at, n;              /* n of them, from `at` on */
	const int *of;                 /* [n] NULL = to none */
} hop_naming;
/* Name them after what they belong to: "word.x"; "word[3]" after a number; "word2.x" and so on if
 * one of the names is taken. */
void hop_names_add(hop_env *e, hop_fn *g, const hop_fn *f, const char *word, int npart,
                   const hop_naming *part);
/* "3", or "3 (layer[0].w)": an input in messages. name may be NULL. */
const char *hop_input_text(hop_arena *a, uint32_t i, const char *name);

#endif
