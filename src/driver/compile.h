/* compile.h -- from a graph to something that runs: optimise, lower, generate. */
#ifndef HOP_DRIVER_COMPILE_H
#define HOP_DRIVER_COMPILE_H

#include "interp/interp.h"
#include "rt/exec.h"

/* o: NULL, or ours in full: its size is not looked at. Hidden parameters are the graph's last
 * ones, bound to arrays the exec keeps. */
hop_status hop_exec_new(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec **out_x);

/* A result whose size only the program knows has no place in the caller's memory: refused. */
hop_status hop_check_results(hop_env *e, const hop_graph *g);

/* ---- arrays.c ---- */

/* Run on arrays of an interpreter; out[] are new. */
hop_status hop_exec_arrays(hop_interp *p, const hop_exec *x, hop_array *const *in,
                            hop_array **out);

#endif
