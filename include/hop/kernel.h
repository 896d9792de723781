/** Kernels of your own in a program: a function, C source, or LLVM's IR, that works on buffers in
 * place (docs/kernels.md). */
#ifndef HOP_KERNEL_H
#define HOP_KERNEL_H

#include "hop/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/** arg[i] is argument i in memory, dense and row-major; dim[i] its sizes. lanes is 1, or, of a kernel
 * that takes them, how many there are: each argument is then so many of these, one after the other.
 * 0, or a number that ends the run. No two arguments overlap; what is IN is not to be written; what
 * is OUT is to be filled in whole. Called by several threads at once. */
typedef int hop_kernel_fn(void *const *arg, const int64_t *const *dim, int64_t lanes);

typedef enum hop_kernel_use {
	HOP_KERNEL_IN,
	HOP_KERNEL_OUT,                /**< holds anything at first */
	HOP_KERNEL_INOUT               /**< holds the operand at first; then its new value. The operand
	                                * itself stays: it is copied if somebody else reads it */
} hop_kernel_use;

enum { HOP_KERNEL_ARGS = 64 };         /**< the most that a kernel has */

typedef struct hop_kernel_arg {
	const char    *name;           /**< in messages, and in a body: a C name */
	hop_kernel_use use;
	hop_dtype      dtype;
	int            rank;
	const char    *like;           /**< OUT: it has the sizes of the argument of this name; NULL =
	                                * the call says */
} hop_kernel_arg;

/** One of fn, c, body, llvm says what it does. */
typedef struct hop_kernel_def {
	size_t      size;              /**< sizeof in the caller's build; grows at the end only */
	const char *name;              /**< by which programs call it; of c, body and llvm a C name */
	int         narg;
	const hop_kernel_arg *arg;
	hop_kernel_fn *fn;
	const char *c;                 /**< C11, with a function of this name and of type hop_kernel_fn */
	const char *body;              /**< C11 statements. An argument x is a pointer x to its elements,
	                                * its sizes are x_dim[], its elements in all lanes x_n */
	const char *llvm;              /**< a module with such a function, as text or as bitcode */
	size_t      llvm_size;         /**< its bytes; 0 = up to the first zero */
	const char *cuda;              /**< CUDA C, for a target that has it: none has yet */
	const char *file;              /**< where the source comes from, for messages; NULL = "kernel
	                                * NAME", from line 1 */
	int         line;              /**< of its first line; 0 = 1 */
	const char *symbol;            /**< of fn: its name for the linker, for hop_build */
	bool        lanes;             /**< vmap calls it once for all lanes; else once a lane, in order */
	bool        unknown;           /**< it may do more than the arguments say. Then all of them are
	                                * INOUT or OUT, it runs as often as it stands there, in order */
} hop_kernel_def;
#ifndef __cplusplus
#define HOP_KERNEL_DEF(...) (&(hop_kernel_def){ .size = sizeof(hop_kernel_def), __VA_ARGS__ })
#endif

/** Make a kernel known to the context, for as long as that lives. Source is compiled right here, by
 * the C compiler of this machine (HOP_CC, else cc) or by LLVM; HOP_ETARGET with what they say. Kernels
 * and functions of the host share their names. */
HOP_MUST_USE hop_status hop_kernel_add(hop_ctx *c, const hop_kernel_def *def);

/** Call it: in are its arguments IN and INOUT, in order; out gets those OUT and INOUT, in order. type:
 * of the OUT ones that are like nothing, in order. Unless it is `unknown`, it may be left out when
 * nobody reads what it gives. The number of results, 0 after a failure. */
int hop_at_kernel(hop_trace *t, const char *file, int line, const char *name, int nin,
                  const hop_value *in, int ntype, const hop_result *type, int nout, hop_value *out);
#define hop_kernel(t, ...) hop_at_kernel(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
