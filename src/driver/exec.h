/* exec.h -- a graph, compiled and ready to run: optimise, lower, generate, bind. The public
 * view is include/hop/compile.h. */
#ifndef HOP_DRIVER_EXEC_H
#define HOP_DRIVER_EXEC_H

#include "hop/compile.h"
#include "ir/interp.h"
#include "rt/exec.h"

#include <stdatomic.h>

/* Everything a run needs. Written once, then only read, but for spare. */
struct hop_exec {
	atomic_int       refs;
	hop_ctx         *ctx;
	hop_mem          mem;
	hop_graph       *g;              /* retained */
	hop_prog        *prog;           /* for its effects */
	hop_code        *code;
	hop_pool        *pool;           /* the context's */
	hop_parallel_fn *parallel;
	void            *parallel_user;
	int              nthread;
	hop_compile_times times;
	int              nhidden;
	void           **hidden;
	void           (*drop)(void *);
	void            *drop_user;
	_Atomic(struct hop_spare *) spare;       /* direct.c: memory to work in, kept */
};
void hop_exec_drop_spare(hop_exec *x);

/* Hidden parameters are the graph's last ones, bound to arrays the exec keeps. */
hop_status hop_exec_new(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec **out_x);
/* Bind the last nhidden parameters to these addresses, which must outlive the exec;
 * `drop` is called with `user` when it dies. */
void       hop_exec_bind(hop_exec *x, int nhidden, void *const *data, void (*drop)(void *),
                         void *user);
/* The caller's sizes (bind.c): the values of the size symbols, when all dimensions, ranges,
 * checks and limits fit. Allocates nothing; with e the failure is recorded there. */
hop_status hop_exec_sizes(const hop_exec *x, const hop_arg *in, int64_t *syms, hop_env *e);
enum { HOP_MAXSYM = 64 };          /* size symbols of what can be run */
/* Sizes of result k, given those symbols: its rank, or -1. */
int        hop_exec_dims(const hop_exec *x, const int64_t *syms, int k, int64_t *dim);
/* The workspace: pointers, tapes, dense copies of strided arguments, the frame. False if that
 * is more than there can be. */
typedef struct hop_room { int64_t params, tapes, packs, frame, total; } hop_room;
bool       hop_exec_measure(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                            const hop_arg *out, hop_room *r);
/* hop_run_with, when all of this is known. */
hop_status hop_exec_go(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                       const hop_arg *out, const hop_room *r, void *workspace,
                       const hop_run_opts *o);

/* Run on tensors of an interpreter; out[] are new. */
hop_status hop_exec_tensors(hop_interp *p, const hop_exec *x, hop_tensor *const *in,
                            hop_tensor **out);
/* Compile and run; if there is no code generator, say so on standard error and interpret. */
hop_status hop_graph_run(hop_interp *p, const hop_graph *g, const int64_t *syms,
                         hop_tensor *const *in, hop_tensor **out);

#endif
