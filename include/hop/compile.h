/** Compiling and the hard door: run compiled code on the caller's memory, without
 * allocation, locks or compilation. */
#ifndef HOP_COMPILE_H
#define HOP_COMPILE_H

#include "hop/fn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Compiled code for one function. Immutable, counted; any number of threads may run it. */
typedef struct hop_exec hop_exec;

/** Run body(arg, begin, end) over pieces that cover 0..n; return when all are done. */
typedef void hop_parallel_fn(void *user, void (*body)(void *arg, int64_t begin, int64_t end),
                             void *arg, int64_t n);

/** What depends on captured arrays (hop_use) and on no input. */
enum hop_constants {
	HOP_CONSTANTS_EACH_RUN,          /**< is computed by every run */
	HOP_CONSTANTS_ONCE               /**< is computed when it is compiled, and kept: hop_exec_refresh */
};

typedef struct hop_compile_opts {
	size_t           size;           /**< sizeof in the caller's build; grows at the end only */
	int              threads;        /**< 0 = the context's, as many as the machine has; 1 = none */
	bool             no_cache;       /**< neither read nor write the object cache */
	hop_parallel_fn *parallel;       /**< the caller's threads instead of ours */
	void            *parallel_user;
	const char      *target;         /**< which code generator; NULL = as HOP_TARGET says, else
	                                  * LLVM. HOP_EVALUE lists those there are */
	bool             watch;          /**< keep the watches, for runs that have a record; such runs
	                                  * allocate */
	const char      *delegate;       /**< an engine: what it supports becomes regions that it takes
	                                  * (hop/delegate.h); NULL = only regions that say so */
	enum hop_constants constants;
} hop_compile_opts;
#ifndef __cplusplus
#define HOP_COMPILE_OPTS(...) (&(hop_compile_opts){ .size = sizeof(hop_compile_opts), __VA_ARGS__ })
#endif

/** Where the time of a compilation went, in seconds. */
typedef struct hop_compile_times {
	double opt, lower, code;
	bool   from_cache;               /**< code was loaded, not generated */
	int64_t code_bytes;              /**< of the code; 0 = not known */
} hop_compile_times;

/** opts may be NULL. HOP_ETARGET when the target's code generator is not there. */
HOP_MUST_USE hop_status hop_compile(hop_fn *f, const hop_compile_opts *opts,
                                    hop_exec **out_x);
hop_exec *hop_exec_retain(hop_exec *x);
void      hop_exec_release(hop_exec *x);                 /**< NULL is fine */
hop_compile_times hop_exec_times(const hop_exec *x);

/** A function of compiled code: the program itself first, then bodies that several places call, or that
 * are kept apart (no_inline), and nests that are equal. */
typedef struct hop_exec_part {
	const char *name;                /**< of the region; lives as long as the exec */
	int         calls;               /**< places that call it; 0 of the first */
	int         nests;               /**< loop nests and templates in it, callees not counted */
	double      seconds;             /**< that lowering it took, callees not counted; 0 = it is part of
	                                  * another, where that is counted */
} hop_exec_part;
/** How many there are; the first cap of them are described. In text: `hop show --regions`. */
int hop_exec_parts(const hop_exec *x, int cap, hop_exec_part *out);

/** Of HOP_CONSTANTS_ONCE: compute anew what is kept, from what the captured arrays hold now. Runs at
 * the same time end with what they began with; later ones have the new values. After a failure the
 * old ones stay. hop_call and jits do so by themselves, when an array that it is made of has been
 * written (hop_array_changed). Without such values it does nothing. */
HOP_MUST_USE hop_status hop_exec_refresh(hop_exec *x);
/** What is kept: values, their bytes, and how often they have been computed. */
typedef struct hop_kept {
	int     values;
	int64_t bytes, runs;
} hop_kept;
hop_kept hop_exec_kept(const hop_exec *x);
/** The code that hop_call runs, made with these options, before its first call: HOP_EUSE later. */
HOP_MUST_USE hop_status hop_fn_compile(hop_fn *f, const hop_compile_opts *opts);
hop_kept hop_fn_kept(const hop_fn *f);                   /**< of that code */

/** One operand in the caller's memory. dim is read when the function has size symbols, and
 * may be NULL otherwise; stride is in elements, NULL = dense row-major. Code for a device
 * (.target) takes memory of this process too, which it copies, and memory of its device, which is
 * dense and which it uses as it is. */
typedef struct hop_arg {
	void          *data;
	const int64_t *dim;
	const int64_t *stride;
	hop_device     device;           /**< where data is; zero = memory of this process */
} hop_arg;

/** Bytes of workspace that hop_run needs for these inputs, or -1 if their sizes do not fit.
 * The workspace must be aligned to 64 bytes. */
int64_t hop_exec_workspace(const hop_exec *x, const hop_arg *in);
/** The same for these results too: what hop_exec_workspace keeps for results that are strided is
 * left out for those that are not. */
int64_t hop_exec_workspace_for(const hop_exec *x, const hop_arg *in, const hop_arg *out);
/** How many results there are behind those of the function: where results have sizes that only a run
 * knows (hop_exact), each result has the most that it can be, zeros behind what is there, and the
 * last ones are i64 scalars, the sizes. Else 0. hop_call gives arrays of these sizes. */
int     hop_exec_counts(const hop_exec *x);
/** Sizes of result k for these inputs; dim has room for HOP_RANK. Returns its rank, or -1. */
int     hop_exec_result(const hop_exec *x, const hop_arg *in, int k, int64_t *dim);
/** False if a run may allocate: a loop without a bound leaves a trail that grows. */
bool    hop_exec_is_hard(const hop_exec *x);
/** Run. Results never overlap inputs: give memory of their own, in which a run may also work
 * before it has the results. HOP_EUSE for pointers that are missing, HOP_ENOMEM for sizes whose
 * workspace cannot be counted; a failing assert, and HOP_ESHAPE for sizes that do not fit, leave
 * a message too. After a failure the results hold anything. */
HOP_MUST_USE hop_status hop_run(const hop_exec *x, const hop_arg *in, const hop_arg *out,
                                void *workspace);
/** The same with options of the run; o may be NULL. */
HOP_MUST_USE hop_status hop_run_with(const hop_exec *x, const hop_arg *in, const hop_arg *out,
                                     void *workspace, const hop_run_opts *o);

#ifdef __cplusplus
}
#endif

#endif
