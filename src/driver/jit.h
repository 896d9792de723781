/* jit.h -- the jit inside: what is kept of each capture, and when it fits a call. The public view is
 * include/hop/jit.h. */
#ifndef HOP_DRIVER_JIT_H
#define HOP_DRIVER_JIT_H

#include <pthread.h>

#include "base/fork.h"
#include "data/fn.h"
#include "hop/jit.h"

enum { HOP_JIT_SYMS = 48,          /* more axes than this stay numbers */
       HOP_JIT_EVENTS = 32,        /* captures whose reasons are remembered */
       HOP_JIT_EVENT = 400 };      /* bytes of one */

/* One capture, and which calls it fits. Without a function: one that was dropped, remembered to
 * know its sizes when they come again. One block of memory; only hits and used change after it
 * was put into the list. */
typedef struct hop_jit_entry {
	struct hop_jit_entry *next;
	size_t      bytes;             /* of this block */
	hop_fn     *base, *f;          /* as captured; and transformed, which is what is called */
	uint64_t    used, hits;        /* the last call it served; how many */
	int         number;            /* of the capture, from 1 */
	int         nin, naxis, nsym;
	bool        pinned;            /* sizes stay numbers: with symbols the capture failed */
	bool        merged;            /* arguments that are one array were captured as one value */
	int         nparam;
	int        *param;             /* [nparam] the argument of each input of f */
	int        *root;              /* [nin] the first argument that was the same array; or itself */
	hop_dtype  *dtype;             /* [nin] */
	int        *rank;              /* [nin] */
	int64_t    *dim;               /* [naxis] of all arguments: a size, or ~s for symbol s, which are
	                                * numbered as they come and stand for sizes from 2 */
	char       *statics;           /* contents, one after the other */
} hop_jit_entry;

enum hop_jit_kind { HOP_JIT_GRAD, HOP_JIT_JVP, HOP_JIT_VJP, HOP_JIT_VMAP, HOP_JIT_JACREV,
                    HOP_JIT_JACFWD, HOP_JIT_HESSIAN, HOP_JIT_HVP, HOP_JIT_VHP };

/* A transform as it was asked for. */
typedef struct hop_jit_step {
	enum hop_jit_kind kind;
	int               nin;         /* VJP, VMAP: arguments of what is transformed */
	int               nout;        /* VMAP: how many results have an axis of their own choice; of
	                                * Jacobians: the first so many results */
	int64_t           chunk;
	int               n;
	int               at[];        /* [n] wrt; VMAP: axes of nin arguments, then of nout results */
} hop_jit_step;

/* Everything above `lock` never changes. The list is read under the lock, or with the turn to
 * capture; it is changed with both. */
struct hop_jit {
	uint32_t         refs;
	hop_ctx         *ctx;
	hop_mem          mem;
	hop_body        *body;
	void            *user;
	char             name[64];
	hop_jit_opts     o;            /* its compile points to `compile`, or is NULL */
	hop_compile_opts compile;
	int              nstatic;
	size_t           nbytes;       /* of all static data */
	int              nstep, room;
	hop_jit_step   **step;         /* [room] innermost first */
	pthread_mutex_t  lock;
	pthread_cond_t   done;
	hop_fork_hook    fork;
	bool             busy;         /* `who` has the turn to capture */
	pthread_t        who;
	hop_jit_entry   *list;         /* those with fewer symbols first */
	uint64_t         calls, hits;
	unsigned         ncapture;
	char             event[HOP_JIT_EVENTS][HOP_JIT_EVENT];     /* a ring, by capture */
	char            *text;         /* of hop_explain */
	size_t           ntext;
};

/* Message and status. */
hop_status hop_jit_fail(hop_jit *j, hop_status st, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "2", or "2 (w)" when it has a name. */
enum { HOP_JIT_NAME = 80 };
const char *hop_jit_arg_name(const hop_jit *j, int i, char buf[HOP_JIT_NAME]);

/* ---- jit_key.c: what fits ---- */

/* Numbers of arguments, dtypes and ranks; then sizes; and static data. */
bool hop_jit_class_fits(const hop_jit_entry *e, int nin, hop_array *const *in);
bool hop_jit_sizes_fit(const hop_jit_entry *e, hop_array *const *in);
bool hop_jit_statics_fit(const hop_jit *j, const hop_jit_entry *e);
/* How memory that f writes meets other arguments. SAME: two arguments are one array, which another
 * capture could serve. a is written; b is the other, -1 for an array that the body captured. */
enum hop_jit_meet { HOP_JIT_APART, HOP_JIT_SAME, HOP_JIT_CLASH, HOP_JIT_READONLY };
enum hop_jit_meet hop_jit_meet(const hop_jit *j, const hop_jit_entry *e, hop_array *const *in,
                               int *out_a, int *out_b);
/* Do they fit the same calls? */
bool hop_jit_equal(const hop_jit *j, const hop_jit_entry *a, const hop_jit_entry *b);
/* An entry for this call, its sizes numbers, its arguments apart; NULL without memory. */
hop_jit_entry *hop_jit_entry_new(hop_jit *j, int nin, hop_array *const *in);
void hop_jit_entry_free(hop_jit *j, hop_jit_entry *e);
/* Sizes that changed since other entries become symbols; or all become numbers again. */
void hop_jit_symbols(const hop_jit *j, hop_jit_entry *e, hop_array *const *in);
void hop_jit_numbers(hop_jit_entry *e, hop_array *const *in);
/* The first argument that is the same array as argument i. */
int  hop_jit_root(hop_array *const *in, int i);
/* Arguments that are one array become one value. */
void hop_jit_merge(hop_jit_entry *e, hop_array *const *in);

/* ---- jit_make.c: capturing ---- */

/* Fill in base and f. compile: and code for it. */
hop_status hop_jit_make(hop_jit *j, hop_jit_entry *e, hop_array *const *in, bool compile);
hop_status hop_jit_code(hop_jit *j, hop_fn *f, int nin, hop_array *const *in);
/* Capture e again; HOP_EUSE unless that gives the same. */
hop_status hop_jit_again(hop_jit *j, const hop_jit_entry *e);

/* ---- jit_explain.c ---- */

/* Why no entry serves this call, for which e was captured. failed: what it failed with when sizes were
 * symbols; or NULL. */
void hop_jit_why(const hop_jit *j, const hop_jit_entry *e, hop_array *const *in,
                 const char *failed, char text[HOP_JIT_EVENT]);

#endif
