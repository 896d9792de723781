/* exec.h -- a compiled graph and its runs. How it was compiled is the driver's; the public view
 * is include/hop/compile.h. */
#ifndef HOP_EXEC_H
#define HOP_EXEC_H

#include "hop/compile.h"
#include "data/stream.h"
#include "ctx/meter.h"
#include "ir/build.h"
#include "rt/pool.h"
#include "target/target.h"

#include <stdatomic.h>

/* Everything a run needs. Written once, then only read, but for spare. */
struct hop_exec {
	atomic_int       refs;
	hop_ctx         *ctx;
	hop_mem          mem;
	hop_graph       *g;              /* retained */
	hop_graph       *own;            /* what it was made of, where its results have sizes that
	                                    only a run knows; else NULL. Retained */
	hop_prog        *prog;           /* for its effects */
	struct hop_taken *taken;         /* regions that engines run */
	hop_code        *code;
	hop_pool        *pool;           /* the context's */
	hop_parallel_fn *parallel;
	void            *parallel_user;
	int              nthread;
	bool             watch;          /* its watches are there */
	hop_compile_times times;
	int              nhidden;
	const hop_arg   *hidden;         /* [nhidden] the last parameters, but for the data of what is
	                                    kept */
	hop_array *const *bound;         /* [nbound] the arrays of the first hidden ones */
	int              nbound;
	struct hop_once *once;           /* once.c: what is kept; or NULL */
	void           (*drop)(void *);  /* told when the exec dies; or NULL */
	void            *drop_user;
	_Atomic(struct hop_spare *) spare;       /* spare.c: memory to work in, kept */
};

/* ---- exec.c ---- */

/* Empty but for the graph, which it retains: program and code are the caller's to fill in. */
hop_exec  *hop_exec_open(hop_env *e, const hop_graph *g);
/* The threads that the options ask for: the context's, the caller's or none. */
hop_status hop_exec_threads(hop_env *e, hop_exec *x, const hop_compile_opts *o);
/* Bind the last n parameters to these arrays, which must outlive the exec, and nkept behind them to
 * what is kept. */
hop_status hop_exec_bind(hop_env *e, hop_exec *x, int n, struct hop_array *const *array, int nkept);

static inline hop_arg hop_array_arg(const hop_array *a)
{
	return (hop_arg){ .data = a->data, .dim = a->dim, .stride = a->dense ? NULL : a->stride,
	                  .device = hop_array_device(a) };
}

/* ---- bind.c, run.c ---- */

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
/* hop_run_with, when all of this is known. Who else works on arrays behind `in` and `out` is the
 * caller's to ask (hop_array_use); those that are bound are looked after here. */
hop_status hop_exec_go(const hop_exec *x, const int64_t *syms, const hop_arg *in,
                       const hop_arg *out, const hop_room *r, void *workspace,
                       const hop_run_opts *o);

/* ---- host.c: what running code asks of us ---- */

/* Did who stopped a run with this status leave a message? Effects, checks, the host and devices do. */
static inline bool hop_run_told(hop_status st)
{
	return st && st != HOP_ENOMEM && st != HOP_ECANCELED;
}

typedef struct hop_running {
	hop_rt          rt;
	const hop_exec *x;
	hop_status      st;            /* why it stopped, when we stopped it */
	hop_meter       meter;         /* how far its loops are */
	hop_record     *record;        /* NULL = nobody watches */
	void           *queue;         /* in whose order it runs */
} hop_running;
/* Fills the run-time table; tape: room for the program's tapes. o may be NULL. */
void       hop_running_init(hop_running *r, const hop_exec *x, struct hop_tape *tape,
                            const hop_run_opts *o);
void       hop_running_fini(hop_running *r);           /* frees what tapes grew to */

/* ---- spare.c ---- */

/* At least so many bytes to work in, aligned; NULL without memory. Give it back after the run. */
struct hop_spare { size_t bytes; void *p; };
struct hop_spare *hop_spare_take(hop_exec *x, int64_t bytes);
void              hop_spare_give(hop_exec *x, struct hop_spare *s);
void              hop_spare_drop(hop_exec *x);         /* all that is kept */

/* ---- library.c ---- */

/* Open what templates of the program may ask for, outside of any run. Then hop_rt.library: what
 * it misses is said on standard error, once. */
void hop_library_open(const hop_prog *p);
int  hop_library_run(hop_rt *rt, int id, int dtype, void *const *args, const int64_t *extent);

#endif
