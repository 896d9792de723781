/** Traces: returning, asking, literals, effects, writes. The first failure sticks: later
 * calls do nothing and give {0, 0}; whoever started the trace gets status and message. */
#ifndef HOP_TRACE_H
#define HOP_TRACE_H

#include "hop/run.h"
#include "hop/tree.h"
#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- eager traces: ops run at once, on real data ---- */

HOP_MUST_USE hop_status hop_eager_new(hop_ctx *c, hop_trace **out_t);
/** The same with options of all that it runs; o may be NULL. */
HOP_MUST_USE hop_status hop_eager_new_with(hop_ctx *c, const hop_run_opts *o,
                                           hop_trace **out_t);
/** The first failure of the trace, after which it is gone. A trace that a body was given is
 * not the caller's to free: HOP_EUSE. */
HOP_MUST_USE hop_status hop_eager_free(hop_trace *t);

/** An array as a value. Captured by a graph, it becomes a hidden parameter of the outermost
 * function, which retains it; writes to the value reach the array when the function has
 * run. In an eager trace they reach it when the trace ends. */
hop_value hop_at_use(hop_trace *t, const char *file, int line, hop_array *a);
#define hop_use(t, ...) hop_at_use(t, __FILE__, __LINE__, __VA_ARGS__)
/** The contents of a value of an eager trace, as a new array. */
HOP_MUST_USE hop_status hop_at_read(hop_trace *t, const char *file, int line, hop_value v,
                                    hop_array **out_a);
#define hop_read(t, ...) hop_at_read(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- results ---- */

/** Once, as the last call of a body. */
void hop_at_return_n(hop_trace *t, const char *file, int line, int n, const hop_value *v);
#define hop_return_n(t, ...) hop_at_return_n(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same with names for the results of the function that this body becomes: those of a tree
 * and its struct of values; or written as in C, "loss, acc, w[2]". Names of other bodies are not
 * kept. */
void hop_at_return_tree(hop_trace *t, const char *file, int line, const hop_tree *tree,
                        const void *values);
#define hop_return_tree(t, ...) hop_at_return_tree(t, __FILE__, __LINE__, __VA_ARGS__)
void hop_at_return_named(hop_trace *t, const char *file, int line, const char *names, int n,
                         const hop_value *v);
#ifdef __cplusplus
}
template <typename... V>
static inline void hop_return_names(hop_trace *t, const char *file, int line, const char *names,
                                    V... v)
{
	const hop_value all[] = { v... };
	hop_at_return_named(t, file, line, names, (int)sizeof...(v), all);
}
template <typename... V>
static inline void hop_return_all(hop_trace *t, const char *file, int line, V... v)
{
	const hop_value all[] = { v... };
	hop_at_return_n(t, file, line, (int)sizeof...(v), all);
}
extern "C" {
#define hop_return(t, ...) hop_return_all(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_return_named(t, names, ...) hop_return_names(t, __FILE__, __LINE__, names, __VA_ARGS__)
#else
#define hop_return_named(t, names, ...) \
	hop_at_return_named(t, __FILE__, __LINE__, names, \
	              (int)(sizeof((hop_value[]){ __VA_ARGS__ }) / sizeof(hop_value)), \
	              (hop_value[]){ __VA_ARGS__ })
#define hop_return(t, ...) \
	hop_at_return_n(t, __FILE__, __LINE__, \
	              (int)(sizeof((hop_value[]){ __VA_ARGS__ }) / sizeof(hop_value)), \
	              (hop_value[]){ __VA_ARGS__ })
#endif

/* ---- asking; on a failed trace the answers are harmless: rank 0, size 1, f32 ---- */

bool      hop_failed(const hop_trace *t);
bool      hop_is_eager(const hop_trace *t);
/** The first failure so far, and its text, "" when there is none; valid until the next call. */
hop_status hop_failure(const hop_trace *t, const char **out_text);
/** The innermost body that is open where t is: the only trace that records now. */
hop_trace *hop_innermost(hop_trace *t);
/** How many inputs the body was given whose trace this is; 0 where it got the caller's own values, as
 * in a branch. */
int        hop_body_nin(const hop_trace *t);
/** Make the caller's own trouble the failure of the trace: HOP_EUSE with this text. */
void      hop_at_fail_here(hop_trace *t, const char *file, int line, const char *text);
#define hop_fail_here(t, ...) hop_at_fail_here(t, __FILE__, __LINE__, __VA_ARGS__)
int       hop_at_rank(hop_trace *t, const char *file, int line, hop_value v);
hop_dtype hop_at_dtype_of(hop_trace *t, const char *file, int line, hop_value v);
hop_dim   hop_at_dim_of(hop_trace *t, const char *file, int line, hop_value v, int axis);
#define hop_rank(t, ...) hop_at_rank(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_dtype_of(t, ...) hop_at_dtype_of(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_dim_of(t, ...) hop_at_dim_of(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- sizes: size_of and as_size are the only bridges to data ---- */

enum hop_dim_op { HOP_DIM_ADD, HOP_DIM_SUB, HOP_DIM_MUL, HOP_DIM_DIV, HOP_DIM_MIN,
                  HOP_DIM_MAX };
hop_dim   hop_at_dim_op(hop_trace *t, const char *file, int line, enum hop_dim_op op,
                        hop_dim a, hop_dim b);
#define hop_dim_add(t, ...) hop_at_dim_op(t, __FILE__, __LINE__, HOP_DIM_ADD, __VA_ARGS__)
#define hop_dim_sub(t, ...) hop_at_dim_op(t, __FILE__, __LINE__, HOP_DIM_SUB, __VA_ARGS__)
#define hop_dim_mul(t, ...) hop_at_dim_op(t, __FILE__, __LINE__, HOP_DIM_MUL, __VA_ARGS__)
#define hop_dim_div(t, ...) hop_at_dim_op(t, __FILE__, __LINE__, HOP_DIM_DIV, __VA_ARGS__)
#define hop_dim_min(t, ...) hop_at_dim_op(t, __FILE__, __LINE__, HOP_DIM_MIN, __VA_ARGS__)
#define hop_dim_max(t, ...) hop_at_dim_op(t, __FILE__, __LINE__, HOP_DIM_MAX, __VA_ARGS__)
/** The number that a size is, for C code that needs one: to unroll, to choose. A size that is a
 * symbol is none, and fails the trace; a jit then captures for this very size. k of a hop_dim
 * is not that number: it is 0 for a symbol. */
int64_t   hop_at_dim_int(hop_trace *t, const char *file, int line, hop_dim d);
#define hop_dim_int(t, ...) hop_at_dim_int(t, __FILE__, __LINE__, __VA_ARGS__)
/** A size as an i64 scalar; and of an axis of a value. */
hop_value hop_at_size_value(hop_trace *t, const char *file, int line, hop_dim d);
#define hop_size_value(t, ...) hop_at_size_value(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_size_of(hop_trace *t, const char *file, int line, hop_value v, int axis);
#define hop_size_of(t, ...) hop_at_size_of(t, __FILE__, __LINE__, __VA_ARGS__)
/** An i64 scalar, clamped to min..max, as a size of later types. */
hop_dim   hop_at_as_size(hop_trace *t, const char *file, int line, hop_value v, int64_t min,
                         int64_t max);
#define hop_as_size(t, ...) hop_at_as_size(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- effects: they keep their order ---- */

void hop_at_print(hop_trace *t, const char *file, int line, const char *text, int n,
                  const hop_value *v);
#define hop_print(t, ...) hop_at_print(t, __FILE__, __LINE__, __VA_ARGS__)
/** Stops the program with the text unless every element of ok holds. */
void hop_at_assert(hop_trace *t, const char *file, int line, hop_value ok, const char *text,
                   int n, const hop_value *v);
#define hop_assert(t, ...) hop_at_assert(t, __FILE__, __LINE__, __VA_ARGS__)

/** Trip i, counted from 0, of n is done: for people and programs that wait for a loop. n is 0 if
 * it is not known. Shown as the context's options say (hop/ctx.h): a bar on a terminal with rate
 * and time left, lines elsewhere, or calls of a function, some ten a second; dropped when a program
 * is compiled if nobody wants to know. It has no order: of a batch one trip is told, the furthest
 * lane's; reverse mode and what runs again for it say nothing. */
void hop_at_progress(hop_trace *t, const char *file, int line, hop_value i, hop_value n,
                     const char *text);
#define hop_progress(t, ...) hop_at_progress(t, __FILE__, __LINE__, __VA_ARGS__)

/** Record v under a name each time this is reached, for runs with a record (hop/look.h); nothing
 * elsewhere. Of the lanes of a vmap all at once; a derivative records the forward pass only. */
void hop_at_watch(hop_trace *t, const char *file, int line, hop_value v, const char *name);
#define hop_watch(t, ...) hop_at_watch(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- writes: x keeps its type; what is written is cast and broadcast to it. Views of x,
 * and what x is a view of, see the write from here on. ---- */

enum hop_write { HOP_WRITE_COPY, HOP_WRITE_ADD, HOP_WRITE_SUB, HOP_WRITE_MUL,
                 HOP_WRITE_DIV };
void hop_at_write(hop_trace *t, const char *file, int line, enum hop_write w, hop_value x,
                  hop_value y);
#define hop_copy_(t, ...) hop_at_write(t, __FILE__, __LINE__, HOP_WRITE_COPY, __VA_ARGS__)
#define hop_add_(t, ...) hop_at_write(t, __FILE__, __LINE__, HOP_WRITE_ADD, __VA_ARGS__)
#define hop_sub_(t, ...) hop_at_write(t, __FILE__, __LINE__, HOP_WRITE_SUB, __VA_ARGS__)
#define hop_mul_(t, ...) hop_at_write(t, __FILE__, __LINE__, HOP_WRITE_MUL, __VA_ARGS__)
#define hop_div_(t, ...) hop_at_write(t, __FILE__, __LINE__, HOP_WRITE_DIV, __VA_ARGS__)
/** x[.., idx[k], ..] = u[.., k, ..] along axis; of equal indices the last wins; idx is i64
 * of rank 0 or 1, and out of range indices are clamped. */
void hop_at_index_put(hop_trace *t, const char *file, int line, hop_value x, int axis,
                      hop_value idx, hop_value u);
#define hop_index_put_(t, ...) hop_at_index_put(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
