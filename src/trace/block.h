/* block.h -- blocks, inside. A block is an operator whose bodies are the statements behind a macro:
 * the calls of the macro open a scope, let the statements record into it, and close it, until the
 * operator is complete. What the operators do with closed bodies stands in cond.c, loop.c, scan.c,
 * control.c and transform.c, for functions and blocks alike. */
#ifndef HOP_TRACE_BLOCK_H
#define HOP_TRACE_BLOCK_H

#include <stdarg.h>

#include "hop/block.h"
#include "trace/trace.h"

typedef struct hop_block_state hop_block_state;

typedef struct hop_block_kind {
	const char *name;                  /* "HOP_WHILE" */
	const char *op;
	size_t      bytes;                 /* of the state, which begins with hop_block_state */
	bool        none;                  /* variables may start, and arms leave them, without value */
	/* Not NULL: a second half of variables is only assigned. What both halves are, in words. */
	const char *pairs;
	/* The operator's first step, guarded. */
	void      (*begin)(hop_trace *t, hop_block_state *s);
	/* Open the next scope by hop_block_open; or finish, and open none. */
	void      (*next)(hop_block_state *s);
	/* A scope was closed; c is the block's now. */
	void      (*closed)(hop_block_state *s, hop_trace *c);
	/* What the variables are when a scope ends: its results. NULL: hop_block_collect. */
	void      (*collect)(hop_trace *c, hop_block_state *s);
} hop_block_kind;

struct hop_block_state {
	const hop_block_kind *kind;
	hop_trace   *t, *scope;            /* where it stands; what is open, or NULL */
	const char  *file;
	int          line;
	size_t       site;                 /* its number in the root */
	bool         over;                 /* nothing more is to run */
	int          nvar;
	hop_value  **var;                  /* the user's; twice as many for pairs */
	const char **name;                 /* theirs */
	hop_tree     tree;                 /* the same as a tree, for messages */
	hop_value   *init, *bound;         /* before the block; when the scope began */
	hop_val     *param;                /* contents then, where the scope has parameters */
	bool        *changed;              /* by any scope so far */
	bool        *none;                 /* without value at the end of the last scope */
	/* loops */
	hop_value   *trips;                /* the user's, or NULL */
	size_t       nstack, stackcap;
	struct hop_block_stack {
		hop_value *ys;             /* the user's */
		hop_value  v;              /* in the scope */
		hop_value  from;           /* what the user gave: v has its contents */
	}           *stack;
};

/* A block of this kind, or one that does nothing after a failure. init: the kind's own part, of
 * which `fill` makes the state before begin. */
hop_at_block hop_block_new(hop_trace *t, const char *file, int line, const hop_block_kind *k,
                           const char *names, int n, va_list ap,
                           void (*fill)(hop_block_state *s, const void *arg), const void *arg);
/* Open a scope; the variables get the handles of its first parameters, or keep what they were
 * before the block where it has none. False after a failure. in: all parameters. */
bool hop_block_open(hop_block_state *s, const hop_body_args *a, hop_value **out_in);
/* Close it. The scope, to be dropped; NULL after a failure. */
hop_trace *hop_block_close(hop_block_state *s);
/* A step of the operator where the block stands. */
bool hop_block_do(hop_block_state *s, hop_make_fn *make, void *arg);
/* The results of a scope: the variables, then n more. Notes which ones changed. */
void hop_block_collect(hop_trace *c, hop_block_state *s, int n, const hop_value *more);
/* Of the results of c that are variables those stay that are wanted. */
void hop_block_keep(hop_block_state *s, hop_trace *c, const bool *wanted);
/* No scope follows. ok: the variables have their values. */
void hop_block_finish(hop_block_state *s, bool ok);

/* The state of the block whose scope t is, if it is of this kind. */
static inline bool hop_block_is(const hop_trace *t, const hop_block_kind *k)
{
	return t->block && t->block->kind == k;
}

extern const hop_block_kind hop_block_kind_while, hop_block_kind_for, hop_block_kind_map;
/* What reverse mode keeps of a HOP_FOR. */
void hop_block_for_slots(hop_trace *t, int n);

/* ---- block_loop.c, for while and for ---- */

/* Which variables are carried by the bodies given, once all are closed: those that changed and
 * those whose storage a body writes. The others become captured values of them. Returns how many;
 * number[i] is the place of variable i among them, or UINT32_MAX. */
int hop_block_carried(hop_block_state *s, int n, hop_trace *const *body, bool *carried,
                      uint32_t *number);
/* The results of a scope of a loop: the variables, then what is stacked. */
void hop_block_collect_loop(hop_trace *c, hop_block_state *s);
/* The loop is over: stacks, of which y[0] is the first, and trips go where the user wants them. */
void hop_block_give(hop_block_state *s, bool ok, const hop_value *y, hop_value trips);
/* Did both captures of a block record the same? Otherwise a failure. */
bool hop_block_same(hop_block_state *s, const hop_trace *a, const hop_trace *b);

#endif
