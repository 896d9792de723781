/** Functions: a captured graph with what it closes over. Immutable, counted, thread safe. */
#ifndef HOP_FN_H
#define HOP_FN_H

#include "hop/run.h"
#include "hop/tree.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hop_fn hop_fn;

/** Run f once on symbolic inputs. Results are what it returns; inputs that it writes are
 * written in the arrays of the caller. */
HOP_MUST_USE hop_status hop_capture(hop_ctx *c, hop_body *f, void *user, int nin,
                                    const hop_spec *in, hop_fn **out_f);
/** The same for the inputs that a tree declares; they get its names. Sizes that are given are
 * numbers, all others symbols. */
HOP_MUST_USE hop_status hop_capture_tree(hop_ctx *c, hop_body *f, void *user, const hop_tree *in,
                                         const hop_named_size *sizes, hop_fn **out_f);
hop_fn *hop_fn_retain(hop_fn *f);
void    hop_fn_release(hop_fn *f);                       /**< NULL is fine */
int     hop_fn_nin(const hop_fn *f);
int     hop_fn_nout(const hop_fn *f);
/** Its text. Valid as long as f; NULL without memory. */
const char *hop_fn_text(hop_fn *f);
/** A function from text (docs/ir.md): the graph of this name, or the last one. */
HOP_MUST_USE hop_status hop_fn_parse(hop_ctx *c, const char *text, size_t n, const char *name,
                                     hop_fn **out_f);
/** Write a page for a browser: n functions of one context, each a stage, such as a function and its
 * gradient, then what a compilation makes of the last one, pass by pass; with the lines of your
 * files. One file, which needs no other (docs/looking-inside.md). */
HOP_MUST_USE hop_status hop_fn_page(int n, hop_fn *const *f, const char *path);
/** What input i, result i is; false if there is none. A size that follows from others is -1.
 * Names are valid as long as the context. */
bool hop_fn_in_type(const hop_fn *f, int i, hop_spec *out);
bool hop_fn_out_type(const hop_fn *f, int i, hop_spec *out);

/* ---- names: inputs have those of hop_capture_tree, results those of hop_return_named and
 * hop_return_tree. Transforms keep them and name what they add, for inputs and results of:
 *   hop_grad   results grad.x
 *   hop_jvp    inputs tangent.x, results tangent.y
 *   hop_vjp    inputs cotangent.y, results cotangent.x
 *   hop_split  saved[0] ..; inputs of bwd: those of f, result.y, saved[0] .., cotangent.y
 * where x is an input, y a result. Without a name, x is its number: grad[0]. If that would be a
 * second one of a name, the word gets a number: tangent2.x. Text has no names. ---- */

/** NULL = no name, or no such input or result. Valid as long as the context. */
const char *hop_fn_input_name(const hop_fn *f, int i);
const char *hop_fn_result_name(const hop_fn *f, int i);
/** The index of a name, or -1; of a struct, that of the first value in it: "grad.layer[0]". */
int hop_fn_input(const hop_fn *f, const char *path);
int hop_fn_result(const hop_fn *f, const char *path);
/** The inputs that are, or are in, these: "layer, x"; in order, each once. Returns their number, of
 * which the first cap are written; -1 when one of them is not there. For wrt of transforms. */
int hop_fn_inputs(const hop_fn *f, const char *paths, int cap, int *out);

/** Call it: out[i] are new arrays, NULL after a failure. nin and nout must be right. */
HOP_MUST_USE hop_status hop_call(hop_fn *f, int nin, hop_array *const *in, int nout,
                                 hop_array **out);
/** The same with options of the run; o may be NULL. */
HOP_MUST_USE hop_status hop_call_with(hop_fn *f, int nin, hop_array *const *in, int nout,
                                      hop_array **out, const hop_run_opts *o);
/** Call it with structs of arrays, by name: each input must be in the one, each array of the
 * other is the result of its name, a new array or NULL after a failure. Results that it does not
 * have are let go. out_tree NULL = none are wanted. */
HOP_MUST_USE hop_status hop_call_tree(hop_fn *f, const hop_tree *in_tree, const void *in,
                                      const hop_tree *out_tree, void *out);
/** Run a body on arrays at once, op by op, without a graph. nout is what it returns. */
HOP_MUST_USE hop_status hop_eager_call(hop_ctx *c, hop_body *f, void *user, int nin,
                                       hop_array *const *in, int nout, hop_array **out);
HOP_MUST_USE hop_status hop_eager_call_with(hop_ctx *c, hop_body *f, void *user, int nin,
                                            hop_array *const *in, int nout, hop_array **out,
                                            const hop_run_opts *o);
/** Call it inside a trace. */
int hop_at_apply(hop_trace *t, const char *file, int line, hop_fn *f, int nin,
                 const hop_value *in, int cap, hop_value *out);
#define hop_apply(t, ...) hop_at_apply(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- transforms of functions; each gives a new function ---- */

/** The first result must be a float scalar. Results: those of f, then the gradients of the
 * first for the inputs wrt[0..nwrt). */
HOP_MUST_USE hop_status hop_grad(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f);
/** More inputs: tangents of the float inputs wrt. More results: tangents of the float results. */
HOP_MUST_USE hop_status hop_jvp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f);
/** More inputs: cotangents of the float results. More results: cotangents of the inputs wrt. */
HOP_MUST_USE hop_status hop_vjp(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f);
/** The transposed of what is linear in the inputs wrt. Inputs: those of f that are not in wrt, then
 * cotangents of its results. Results: cotangents of the inputs wrt. Refuses what is not linear in
 * them, or adds something that does not depend on them, and names the op. */
HOP_MUST_USE hop_status hop_linear_transpose(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f);
/** Inputs with batched[i] get a leading axis of size n (-1: a new size symbol, for which one
 * of them must be batched); so do all results. */
HOP_MUST_USE hop_status hop_vmap(hop_fn *f, const bool *batched, int64_t n, hop_fn **out_f);
/** The same, and an input with own[i], a key (i64) that is not batched, is a key of its own in every
 * lane: hop_fold_in(key, lane). Otherwise lanes that share a key draw the same numbers. */
HOP_MUST_USE hop_status hop_vmap_own(hop_fn *f, const bool *batched, const bool *own, int64_t n,
                                     hop_fn **out_f);

/** The reverse derivative as two functions, to be run at different times. fwd: the inputs of
 * f -> its results, then n saved values. bwd: inputs, results, saved values, cotangents of
 * the float results -> cotangents of the inputs wrt. budget: the share of memory for saved
 * values, from 1 (save whatever is dear to compute again) to 0 (save nothing, compute all
 * again); between them the dearest are kept. */
HOP_MUST_USE hop_status hop_split(hop_fn *f, int nwrt, const int *wrt, double budget,
                                  hop_fn **out_fwd, hop_fn **out_bwd);

#ifdef __cplusplus
}
#endif

#endif
