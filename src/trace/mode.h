/* mode.h -- modes of a trace, inside: what holds where a call stands. The public view is
 * include/hop/mode.h.
 *
 * An operator is a call like others: under no_grad its results are stopped where it stands, so that
 * nothing in its bodies needs to be. */
#ifndef HOP_TRACE_MODE_H
#define HOP_TRACE_MODE_H

#include "trace/trace.h"
#include "hop/mode.h"

/* All that holds from where a mode begins, so that the innermost record says it. In the arena of its
 * trace. */
struct hop_modes {
	const hop_modes *up;
	const char      *name;         /* "HOP_NO_GRAD", or "mode_push" */
	hop_loc          loc;
	bool             no_grad;
	bool             says_grad;    /* some mode in this body, or around it, says so or not so */
	bool             quiet;        /* an operator around it has its results stopped */
	bool             fast, deterministic, cuda;
	hop_dtype        cast;         /* HOP_NDTYPE = no autocast */
};

/* The modes of a body that c is, opened in t: before any call in it, behind its parameters. */
void hop_modes_inherit(hop_trace *c, const hop_trace *t, const hop_body_args *a);
/* Are all modes that the body opened closed? Fails otherwise. */
bool hop_modes_closed(hop_trace *c);
/* All that decides what a body is captured as, in a word. */
uint64_t hop_modes_key(const hop_trace *t);
/* The dtype that the float operands of this call get; HOP_NDTYPE = they stay. */
hop_dtype hop_autocast_of(const hop_modes *m, const char *op);
/* The slot of a value in the dtype that autocast wants of it. */
uint32_t hop_autocast_slot(hop_trace *t, uint32_t slot);
/* What a call gave, as the mode wants it: a constant to derivatives, or as it is. */
hop_val  hop_mode_result(hop_trace *t, hop_val v);
/* New contents of a storage that had others. */
hop_val  hop_mode_written(hop_trace *t, hop_val old, hop_val v);
static inline bool hop_mode_stops(const hop_trace *t)
{
	return t->modes && t->modes->no_grad && !t->modes->quiet && !t->eager;
}

#endif
