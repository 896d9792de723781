/* exec.h -- a graph, compiled and ready to run: optimise, lower, generate, bind. The public
 * view is include/hop/compile.h. */
#ifndef HOP_DRIVER_EXEC_H
#define HOP_DRIVER_EXEC_H

#include "hop/compile.h"
#undef hop_size_of                 /* here it is the function of ir/type.h */
#include "ir/graph.h"
#include "rt/exec.h"

/* Hidden parameters are the graph's last ones, bound to arrays the exec keeps. */
hop_status hop_exec_new(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec **out_x);
/* Bind the last nhidden parameters to these addresses, which must outlive the exec;
 * `drop` is called with `user` when it dies. */
void       hop_exec_bind(hop_exec *x, int nhidden, void *const *data, void (*drop)(void *),
                         void *user);
const hop_graph *hop_exec_graph(const hop_exec *x);

#endif
