/** A body that is called with arrays and captures itself: at the first call, and again when a call
 * comes that no capture fits. What was captured is compiled and kept.
 *
 *	struct net cfg = { .layers = 3 };
 *	hop_jit *j;
 *	hop_jit_new(c, forward, &cfg, HOP_JIT_OPTS(.statics = { HOP_STATIC(&cfg, sizeof cfg) }), &j);
 *	hop_jit_call(j, 2, in, 1, out);
 *	puts(hop_explain(j));
 *
 * A capture fits a call when these are the same: the number of arguments; their dtypes, ranks and
 * sizes; the contents of the static data; and, if the body writes arguments, which of them are one
 * array. Not part of it is anything else that the body looks at: what user points to is static
 * data or never changes. docs/capture.md has the rules, sizes above all. */
#ifndef HOP_JIT_H
#define HOP_JIT_H

#include "hop/compile.h"
#include "hop/fn.h"
#include "hop/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Counted, thread safe. One thread captures at a time: others whose calls fit run meanwhile, those
 * whose calls do not wait, and look again. So a body must not call its own jit, which is refused,
 * nor one whose body calls this one. */
typedef struct hop_jit hop_jit;

enum { HOP_JIT_KEEP = 8 };

typedef struct hop_jit_opts {
	size_t                  size;       /**< sizeof in the caller's build; grows at the end only */
	const char             *name;       /**< in messages; NULL = "jit". Copied */
	const hop_tree         *args;       /**< names of the arguments, in messages; or NULL. Stays */
	hop_static              statics[HOP_STATICS];  /**< up to the first whose data is NULL */
	int                     keep;       /**< so many captures at most, the longest unused goes;
	                                     * 0 = HOP_JIT_KEEP */
	bool                    exact;      /**< no size becomes a symbol */
	bool                    check;      /**< capture again at every call, and compare; also if the
	                                     * environment has HOP_CHECK=jit when the jit is made */
	const hop_compile_opts *compile;    /**< of all it compiles. Copied; its strings stay. NULL = as
	                                     * hop_call does: what cannot be compiled is interpreted */
} hop_jit_opts;
#ifndef __cplusplus
#define HOP_JIT_OPTS(...) (&(hop_jit_opts){ .size = sizeof(hop_jit_opts), __VA_ARGS__ })
#endif

/** Captures nothing yet. opts may be NULL. */
HOP_MUST_USE hop_status hop_jit_new(hop_ctx *c, hop_body *f, void *user, const hop_jit_opts *opts,
                                    hop_jit **out_j);
hop_jit *hop_jit_retain(hop_jit *j);
void     hop_jit_release(hop_jit *j);                    /**< NULL is fine */

/** Call it: out[i] are new arrays, NULL after a failure. A body that fails, or that gives another
 * number of results than nout, leaves nothing behind. */
HOP_MUST_USE hop_status hop_jit_call(hop_jit *j, int nin, hop_array *const *in, int nout,
                                     hop_array **out);
/** The same with options of the run; o may be NULL. */
HOP_MUST_USE hop_status hop_jit_call_with(hop_jit *j, int nin, hop_array *const *in, int nout,
                                          hop_array **out, const hop_run_opts *o);

/** The function that a call with these arrays runs, captured if need be: to print, to split, to
 * compile for the hard door. Release it. Arguments that were captured as one are one input. */
HOP_MUST_USE hop_status hop_jit_fn(hop_jit *j, int nin, hop_array *const *in, hop_fn **out_f);

/** What is kept, how often it was used, and why each capture happened, as text. Valid until the
 * next hop_explain of j; NULL without memory. */
const char *hop_explain(hop_jit *j);

/* ---- transforms; each gives a new jit of the same body, which captures for itself. Inputs and
 * results are those of hop_grad, .. in hop/fn.h; they compose in any order and depth ---- */

HOP_MUST_USE hop_status hop_jit_grad(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j);
HOP_MUST_USE hop_status hop_jit_jvp(hop_jit *j, int nwrt, const int *wrt, hop_jit **out_j);
/** nin: arguments of j, behind which the cotangents come. */
HOP_MUST_USE hop_status hop_jit_vjp(hop_jit *j, int nin, int nwrt, const int *wrt,
                                    hop_jit **out_j);
/** Arguments with batched[i] have the lanes as their first axis; at least one does. */
HOP_MUST_USE hop_status hop_jit_vmap(hop_jit *j, int nin, const bool *batched, hop_jit **out_j);

#ifdef __cplusplus
}
#endif

#endif
