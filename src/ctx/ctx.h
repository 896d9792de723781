/* ctx.h -- the context: what is interned and shared. Thread safe; every table has the
 * one lock of the context, held only for table operations, never across a jump. */
#ifndef HOP_CONTEXT_H
#define HOP_CONTEXT_H

#include "base/base.h"

/* Locations. A chain: this line, nested in the call site `in` (0 = outermost). */
hop_loc hop_loc_get(hop_env *e, const char *file, int line, hop_loc in);
bool    hop_loc_read(hop_ctx *c, hop_loc l, const char **out_file, int *out_line,
                     hop_loc *out_in);
/* The same place, for what is made there to differentiate an op of this name, which must outlive
 * the context. A second derivative is still that of the user's op. */
hop_loc hop_loc_derived(hop_env *e, hop_loc l, const char *of);
const char *hop_loc_of(hop_ctx *c, hop_loc l);         /* that name; NULL = no derivative */

/* An interned byte string of the context's lifetime: names, file names. */
const char *hop_ctx_name(hop_env *e, const char *s, size_t n);

/* Intern raw bytes under a kind: returns the one copy with equal content, which a zero
 * byte follows. Used by sizes and types. Padding counts as content: zero it. */
enum hop_intern_kind { HOP_IN_NAME, HOP_IN_ATOM, HOP_IN_SEXPR, HOP_IN_TYPE, HOP_IN_LOC,
                       HOP_IN_CUT, HOP_IN_FORMULA, HOP_NINTERN };
const void *hop_ctx_intern(hop_env *e, enum hop_intern_kind k, const void *p, size_t n,
                           size_t align);

/* Memo of transforms: key bytes to a sealed graph (or any context-lifetime pointer). */
void *hop_ctx_memo_get(hop_env *e, const void *key, size_t n);
void *hop_ctx_memo_put(hop_env *e, const void *key, size_t n, void *val); /* the winner */

/* Sealed graphs, one per content. Returns the graph equal to g if there is one, else
 * keeps g and returns it. equal runs under the lock: it must not call the context. */
struct hop_graph;
typedef bool hop_graph_equal_fn(const struct hop_graph *a, const struct hop_graph *b);
struct hop_graph *hop_ctx_graph_intern(hop_env *e, hop_hash h, struct hop_graph *g,
                                       hop_graph_equal_fn *equal);
/* In the order of interning. fn runs under the lock: it must not call the context. */
void hop_ctx_graphs_each(hop_ctx *c, void (*fn)(struct hop_graph *g, void *user),
                         void *user);
/* Forget every memo and free each graph that visit, called from the newest graph to the
 * oldest under the lock, does not want to keep. */
void hop_ctx_sweep(hop_ctx *c, bool (*visit)(struct hop_graph *g));
/* hop_ctx_free gives each interned graph to fn, newest first, before anything else goes.
 * Setting the same fn again is fine. */
void hop_ctx_on_free_graph(hop_ctx *c, void (*fn)(hop_ctx *c, struct hop_graph *g));

/* The context itself: hop_ctx_new / hop_ctx_free are public (include/hop/ctx.h). */
hop_mem hop_ctx_mem(hop_ctx *c);
hop_shelf *hop_ctx_shelf(hop_ctx *c);      /* of arrays */
enum hop_strict hop_ctx_strict(const hop_ctx *c);      /* never HOP_STRICT_AUTO */
hop_nan hop_ctx_nan(hop_ctx *c);           /* what its runs look for */

/* A number that no other call gives, and that calls on other contexts hardly ever give;
 * never 0. Values of traces carry one. */
uint32_t hop_ctx_serial(hop_ctx *c);

/* The one object of later layers that a context owns (its threads): made at the first
 * call, dropped with the context. Threads that come first together may each make one; all
 * get the same, and the others are dropped at once. NULL when make gives NULL. */
void *hop_ctx_shared(hop_ctx *c, void *(*make)(const hop_mem *m, int threads),
                     void (*drop)(void *p));

/* Records of later layers that have a name and live as long as the context: functions of the host,
 * engines, targets. drop(p) is called when it goes; NULL = nothing to do. False if there is one of this
 * kind and name. */
enum hop_own_kind { HOP_OWN_HOST, HOP_OWN_DELEGATE, HOP_OWN_CLASS, HOP_OWN_DEVICE, HOP_OWN_TARGET };
bool  hop_ctx_own(hop_env *e, enum hop_own_kind k, const char *name, void *p, void (*drop)(void *p));
void *hop_ctx_owned(hop_ctx *c, enum hop_own_kind k, const char *name, size_t n);      /* or NULL */
/* The name of number i of them, from the newest on; NULL = there are no more. */
const char *hop_ctx_owned_name(hop_ctx *c, enum hop_own_kind k, int i);

/* What hop_message answers on this thread from now on: a copy of d. Called with the env's
 * diag when a public entry fails. Needs no memory to say that there is none. */
void hop_ctx_set_message(hop_ctx *c, const hop_diag *d);

/* Where what hop_progress says goes: nowhere unless on. Set before anything is compiled. */
typedef struct hop_progress_to {
	bool             on;
	hop_progress_fn *fn;           /* NULL = standard error */
	void            *user;
} hop_progress_to;
hop_progress_to hop_ctx_progress(const hop_ctx *c);
void            hop_ctx_set_progress(hop_ctx *c, hop_progress_to p);

/* ---- opts.c ---- */

/* A caller's options, their size first, as ours: what is not given is zero. given NULL = none of
 * them. False for a size that is zero or larger than ours. */
bool       hop_opts_take(const void *given, void *out, size_t ours);
size_t     hop_opts_size(const void *given);
#define HOP_OPTS_BAD "%s: the options say that they have %zu bytes: that must be the size of the " \
                     "struct, and %zu is the most this library knows"
/* The same as a status, HOP_EVALUE with a message on the context unless that is NULL. */
hop_status hop_opts_read(hop_ctx *c, const char *op, const void *given, void *out, size_t ours);

/* Does HOP_CHECK, a list of words, name this one? */
bool       hop_check_asked(const char *word);
/* What HOP_STRICT says: never HOP_STRICT_AUTO. */
enum hop_strict hop_strict_asked(void);
/* "nan", "inf", "any", or "1", which is inf; "0" and "" are off. False for another word. */
bool       hop_nan_read(const char *word, hop_nan *out);

#endif
