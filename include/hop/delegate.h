/** Engines that take regions of a program: another compiler, a device, a library, code that was made
 * ahead of time (docs/delegates.md). */
#ifndef HOP_DELEGATE_H
#define HOP_DELEGATE_H

#include "hop/compile.h"
#include "hop/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A size parameter of a region, and what it can be. */
typedef struct hop_engine_size {
	const char *name;              /**< NULL = it has none */
	int64_t     min, max;
} hop_engine_size;

/** A region that an engine is asked to take: the user's, or a derivative or a batch of it. Valid
 * during the call. */
typedef struct hop_engine_region {
	size_t      size;              /**< of this struct in the library */
	const char *name;              /**< of the region; NULL = it has none */
	hop_fn     *fn;                /**< what it computes; retain it to keep it */
	const char *text;              /**< the same as text (docs/ir.md) */
	const char *hints;             /**< of the region; "" = none */
	int         nsym;
	const hop_engine_size *sym;    /**< the sizes in its types */
	void       *user;              /**< of hop_engine */
	char       *message;           /**< for hop_engine_refuse */
	size_t      room;
	const void *graph;             /**< for the library's own engines */
} hop_engine_region;

/** `return hop_engine_refuse(r, "no %s in my language", "sort");` */
hop_status hop_engine_refuse(const hop_engine_region *r, const char *fmt, ...)
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
;

/** An operand or a result: a size that is not a number is -1. */
typedef struct hop_engine_type {
	hop_dtype dtype;
	int       rank;
	int64_t   dim[HOP_RANK];
} hop_engine_type;

typedef struct hop_engine {
	size_t      size;              /**< sizeof in the caller's build; grows at the end only */
	const char *name;              /**< one of a name in a context; no blank and no comma in it */
	void       *user;
	/** Take the region, or refuse. Called once for equal regions of a compilation. */
	hop_status (*prepare)(const hop_engine_region *r, void **out_handle);
	/** Run it, on memory of ours: c->in, c->out, which overlap nothing; sizes are within the ranges.
	 * hop_host_fail says why not. Called by several threads at once if the program is run so. */
	hop_status (*run)(void *handle, const hop_host_call *c);
	void       (*free)(void *handle);      /**< when the compiled code goes; NULL = nothing to do */
	/** Would it take a region of such ops? For hop_compile_opts.delegate; NULL = of none. */
	bool       (*supports)(void *user, const char *op, int nin, const hop_engine_type *in, int nout,
	                       const hop_engine_type *out);
	void       (*drop)(void *user);        /**< when the context goes; NULL = nothing to do */
} hop_engine;
#ifndef __cplusplus
#define HOP_ENGINE(...) (&(hop_engine){ .size = sizeof(hop_engine), __VA_ARGS__ })
#endif

/** Make an engine known to the context, for as long as that lives. Regions name it by
 * hop_region_opts.to. */
HOP_MUST_USE hop_status hop_engine_add(hop_ctx *c, const hop_engine *engine);

/** Compiled code as an engine of this name: it takes the function it was compiled from and no other,
 * so `hop_apply_to(t, f, "name, hop", ...)` calls it, and derivatives are compiled as ever. */
HOP_MUST_USE hop_status hop_exec_add(hop_ctx *c, const char *name, hop_exec *x);

/** hop_apply by an engine; `to` as of hop_region_opts. */
int hop_at_apply_to(hop_trace *t, const char *file, int line, hop_fn *f, const char *to, int nin,
                    const hop_value *in, int cap, hop_value *out);
#define hop_apply_to(t, ...) hop_at_apply_to(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
