/* control.h -- what operators share whose bodies have no parameters of their own. */
#ifndef HOP_TRACE_CONTROL_H
#define HOP_TRACE_CONTROL_H

#include "trace/trace.h"

/* The lists of one public call. */
typedef struct hop_call_io {
	int              nin, cap, n;      /* n: how many results, 0 until there are some */
	const hop_value *in;
	hop_value       *out;
} hop_call_io;

/* The lists are there, and every input is a value: asked before a body runs, which might
 * look at none of them. */
bool hop_call_lists(hop_trace *t, const hop_call_io *c);
bool hop_call_room(hop_trace *t, uint32_t n, int cap);
/* Parameters of such a body: written captures, then the others. */
hop_layout hop_call_layout(hop_join *j, const hop_val **out_operands);
/* Results of body k, then the final contents of written captures. */
hop_val *hop_call_outs(hop_join *j, int k, const hop_outs *o);
void hop_call_publish(hop_trace *t, hop_call_io *c, uint32_t n, const hop_val *v);

/* ---- cond.c: one call of cond or switch, through its guarded steps ---- */

typedef struct hop_choice {
	hop_call_io        io;
	hop_value          sel;          /* the predicate, or the number of the branch */
	bool               two;          /* cond */
	bool               sized, exact; /* sizes may differ; results then have those they have, and
	                                    not the largest */
	bool               partition;    /* batched, a branch runs on its own lanes only */
	int                n;
	hop_body *const   *fn;           /* [n] */
	const char        *block;        /* "HOP_IF": blocks instead of functions; or NULL */
	const char       **what;         /* [n] for notes */
	const char *const *name;         /* of results, for messages; or NULL */
	hop_trace        **body;         /* [n] */
	hop_outs          *o;            /* [n] */
	int                taken;        /* eager: the branch that runs; else -1 */
	int                nrun;         /* branches run so far */
	hop_trace         *again;        /* eager and sized: the branch taken, captured for its types */
	int                ncount;       /* axes that differ: of result .of, axis .axis */
	struct hop_uneven { uint32_t of; int axis; } *count;
} hop_choice;
const char *hop_choice_op(const hop_choice *c);
void hop_choice_begin(hop_trace *t, void *arg);
/* The branch to run next; -1 = no more. Eager: the one taken, and the others for their types
 * only if that matters. */
int  hop_choice_next(const hop_choice *c);
/* The last step. */
void hop_choice_end(hop_trace *t, void *arg);
/* The word of a branch in messages. */
const char *hop_choice_word(hop_trace *t, const hop_choice *c, int k);

/* ---- control.c: one call of region ---- */

typedef struct hop_region_call {
	hop_call_io io;
	const char *name;
	const void *given;             /* options of the caller; or NULL */
	struct hop_attr_call like;     /* what they ask for */
	hop_trace  *body;
} hop_region_call;
/* What options of a region ask for; false after a failure. */
bool hop_region_like(hop_trace *t, const hop_region_opts *o, struct hop_attr_call *out);
void hop_region_begin(hop_trace *t, void *arg);
void hop_region_end(hop_trace *t, void *arg);

/* ---- transform.c: one transform inside a body ---- */

typedef struct hop_xform {
	const char      *op;
	int              nin, nwrt, nct, cap, n;
	const hop_value *in, *tangents;  /* or, of vjp, cotangents: nct */
	const int       *wrt, *axes;
	hop_value       *out;
	hop_val         *val;          /* inputs; batched ones with the axis first */
	const hop_type **type;         /* parameters of the body */
	hop_size         bsize;
	const void      *opts;         /* of the caller; or NULL */
	const char      *block;        /* "HOP_GRAD"; NULL = a function */
	int64_t          chunk;
	const int       *out_axes;     /* vmap: [nout_axes], NULL = all 0 */
	int              nout_axes;
	int              results;      /* of Jacobians: the first so many */
	hop_trace       *body;
	/* closed */
	const hop_graph *g;
	hop_sizes        sargs;
	uint32_t         nop;
	hop_val         *operand;      /* [g->nparam], room for as many again */
} hop_xform;
void hop_xform_begin(hop_trace *t, void *arg);
void hop_grad_end(hop_trace *t, void *arg);
/* The captured body as a graph of the inputs and what it captures; false after a failure. */
bool hop_xform_close(hop_trace *t, hop_xform *x);
bool hop_xform_room(hop_trace *t, const hop_xform *x, uint32_t n);
/* Call g on the operands; all its results are the results. */
void hop_xform_finish(hop_trace *t, hop_xform *x, const hop_graph *g);
/* One more operand: the i-th tangent or cotangent, which has the type of what it belongs to. */
bool hop_xform_along(hop_trace *t, hop_xform *x, int i, const hop_type *want, const char *what,
                     const char *of, uint32_t k);
/* One more size argument, last. */
void hop_xform_size(hop_trace *t, hop_xform *x, hop_size n);
/* The whole of it: first, the body, last. */
int  hop_xform_run(hop_trace *t, const char *file, int line, hop_xform *x, const char *what,
                   hop_body *body, void *user, hop_make_fn *first, hop_make_fn *last);

#endif
