/* compile.h -- from a graph to something that runs: optimise, lower, generate. */
#ifndef HOP_DRIVER_COMPILE_H
#define HOP_DRIVER_COMPILE_H

#include "data/fn.h"
#include "interp/interp.h"
#include "rt/exec.h"

/* o: NULL, or ours in full: its size is not looked at. Hidden parameters are the graph's last
 * ones, bound to arrays the exec keeps. */
hop_status hop_exec_new(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec **out_x);

/* The same of a function. Its captured arrays are the caller's to pass, unless the options ask for
 * constants and there are some: then they are bound to the exec (nhidden), and f must outlive it. */
hop_status hop_exec_of(hop_env *e, hop_fn *f, const hop_compile_opts *o, hop_exec **out_x);
/* The code of an optimised graph, for x: program, code and times. */
hop_status hop_exec_code(hop_env *e, const hop_graph *opt, const hop_target *t, const hop_machine *m,
                         const hop_target_opts *to, hop_exec *x);

/* ---- constants.c ---- */

/* Divide opt, what became of the graph of f, where captured arrays allow it; x gets what is computed
 * once, and *out_rest is what is left to compile. */
hop_status hop_exec_divide(hop_env *e, hop_fn *f, const hop_graph *opt, const hop_target *t,
                           const hop_machine *m, const hop_target_opts *to, hop_exec *x,
                           const hop_graph **out_rest);

/* ---- widen.c ---- */

/* Has a result a size that a node binds? */
bool       hop_sizes_are_born(const hop_graph *g);
/* Which symbols of g these sizes are of: [nsym + nlocal]. */
bool      *hop_sizes_born(hop_arena *a, const hop_graph *g);
/* g with its results as large as they can be, and behind them one i64 scalar for each of those
 * symbols, in order; g itself if there are none. What nothing bounds is refused: it has no place in
 * the caller's memory. */
hop_status hop_results_widen(hop_env *e, const hop_graph *g, const hop_graph **out);

/* ---- arrays.c, nan.c ---- */

/* Run on arrays of an interpreter; out[] are new. */
hop_status hop_exec_arrays(hop_interp *p, const hop_exec *x, hop_array *const *in,
                            hop_array **out);
/* The same, and when p->nan looks for something, what the results tell of is an error. ANY is for
 * the interpreter, not for here. */
hop_status hop_nan_exec(hop_interp *p, const hop_exec *x, const int64_t *syms, hop_array *const *in,
                        hop_array **out);

#endif
