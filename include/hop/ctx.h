/** The context: everything that is shared lives in one. Threads may share a context; it
 * must outlive all that was made from it.
 *
 * A process may fork() at any time, whatever its other threads are doing in hop: the
 * child can go on with every context, run what was compiled before, compile, and free.
 * Threads are not inherited; the child starts its own when it first needs them. fork()
 * waits for LLVM to end the modules it is compiling in other threads. What those threads
 * had made and not yet handed over is lost to the child, as memory is. Handlers of
 * pthread_atfork for locks that are held while hop is called must be registered after the
 * first context was made, those for the lock of an allocator before it. */
#ifndef HOP_CTX_H
#define HOP_CTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hop/look.h"
#include "hop/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_VERSION "0.1.0"
/** Of the library that runs, which need not be that of the header. */
const char *hop_version(void);
/** A status in words; the message of a failure says more. */
const char *hop_status_name(hop_status st);

typedef struct hop_ctx hop_ctx;

/** The allocator hook. ptr NULL allocates nsize bytes, nsize 0 frees ptr (and returns
 * NULL), otherwise it resizes ptr from osize to nsize bytes. Aligned as malloc does. NULL
 * for a nonzero nsize means no memory and leaves ptr as it was. Threads that share the
 * context call it at the same time; threads of hop's own do not. It must not call hop,
 * and not fork(). */
typedef void *hop_alloc_fn(void *user, void *ptr, size_t osize, size_t nsize);

/** How much of what PyTorch refuses hop refuses, too: for programs that must stay portable. What is
 * accepted means the same, and gives the same graph, as without. docs/strict.md has the table. */
enum hop_strict {
	HOP_STRICT_AUTO,         /**< HOP_STRICT in the environment, else off */
	HOP_STRICT_OFF,
	HOP_STRICT_GRAD,         /**< what it refuses while gradients are recorded */
	HOP_STRICT_NO_GRAD       /**< under torch.no_grad(): some writes and aliases are allowed */
};

/** How far a loop is that says so (hop_progress). */
typedef struct hop_progress_info {
	const char *text;        /**< its first bytes; valid during the call */
	int64_t     done, total; /**< trips; total 0 = not known. done rises to total, and begins again
	                          * when the loop does */
	double      seconds;     /**< since it began */
	double      rate;        /**< trips a second; 0 = not known yet */
	double      left;        /**< seconds to go; below 0 = not known */
} hop_progress_info;
/** By the thread that runs the loop, at most about ten times a second for each loop, and when a run
 * ends with what was not told yet. Threads that run programs of the context call it at the same
 * time. It must not call hop with this context. */
typedef void hop_progress_fn(void *user, const hop_progress_info *p);

/** Options of any function are a struct with its size first: that of the headers the caller was
 * built with. A library that knows more fields takes those that are missing as zero; a size of
 * zero, or one that is larger than the library's own, is HOP_EVALUE. No options at all (NULL) are
 * all defaults. */
typedef struct hop_ctx_opts {
	size_t        size;      /**< sizeof in the caller's build; grows at the end only */
	hop_alloc_fn *alloc;     /**< NULL = the C library's */
	void         *user;      /**< first argument of alloc */
	int           threads;   /**< of parallel loops; 0 = HOP_THREADS, else the processors
	                          * that this process may use */
	enum hop_strict strict;  /**< what captures and eager runs refuse */
	hop_nan       nan;       /**< of all runs that do not say; HOP_NAN_OFF = as HOP_NAN says */
	bool          progress;  /**< show how far loops are on standard error; else what hop_progress
	                          * says is dropped when programs are compiled. Also by HOP_PROGRESS=1 */
	hop_progress_fn *progress_fn;    /**< call this instead of showing it */
	void         *progress_user;     /**< first argument of progress_fn */
} hop_ctx_opts;
#ifndef __cplusplus
#define HOP_CTX_OPTS(...) (&(hop_ctx_opts){ .size = sizeof(hop_ctx_opts), __VA_ARGS__ })
#endif

/** opts NULL = all defaults. On failure *out_c is NULL: HOP_ENOMEM, or HOP_EVALUE
 * for an option, or a HOP_NAN, that means nothing. */
HOP_MUST_USE hop_status hop_ctx_new(const hop_ctx_opts *opts, hop_ctx **out_c);

/** Everything made from c must be gone, and no other thread may use it. NULL is fine. */
void hop_ctx_free(hop_ctx *c);

/** Give back the memory of graphs that no function and no compiled code holds, and forget
 * what was derived from them; it is derived again when it is needed. For long lives with
 * many captures. No trace may be open and no other thread may use c meanwhile. */
void hop_ctx_trim(hop_ctx *c);

/** The text of the last failure on this thread, "" when there was none. Stays valid until
 * the next failure on this thread or the end of the context. */
const char *hop_message(hop_ctx *c);

#ifdef __cplusplus
}
#endif

#endif
