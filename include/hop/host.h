/** Functions of the host in a program: C code that it calls while it runs (docs/host.md). */
#ifndef HOP_HOST_H
#define HOP_HOST_H

#include "hop/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor that a host function is given: dense, row-major. */
typedef struct hop_host_arg {
	hop_dtype      dtype;
	int            rank;
	const int64_t *dim;
	void          *data;           /**< of an input: not to be written */
} hop_host_arg;

/** One call of a host function. Results are to be filled in whole; they overlap nothing. */
typedef struct hop_host_call {
	size_t            size;        /**< of this struct in the library */
	const char       *name;
	void             *user;        /**< of hop_host_def */
	int               nin, nout;
	const hop_host_arg *in, *out;
	char             *message;     /**< for hop_host_fail */
	size_t            room;
} hop_host_call;

/** HOP_OK, or what ends the run: hop_host_fail says why. Called by one thread at a time for one run;
 * runs on several threads call it at once. */
typedef hop_status hop_host_fn(const hop_host_call *c);

/** `return hop_host_fail(c, HOP_EVALUE, "row %d is not there", k);` */
hop_status hop_host_fail(const hop_host_call *c, hop_status st, const char *fmt, ...)
#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
;

/** What vmap makes of a call. */
enum hop_host_batch {
	HOP_HOST_LANES,                /**< a call a lane, in the order of the lanes */
	HOP_HOST_WHOLE                 /**< one call: a leading axis at every input and result. An effect
	                                * of which some lanes are not there is called by lane even so */
};

typedef struct hop_host_def {
	size_t       size;             /**< sizeof in the caller's build; grows at the end only */
	const char  *name;             /**< by which programs call it: one of a name in a context */
	hop_host_fn *run;
	void        *user;
	void       (*drop)(void *user);        /**< when the context goes; NULL = nothing to do */
	bool         pure;             /**< gives the same for the same inputs, and changes nothing: it
	                                * may be left out or called once for two. Else it is called as
	                                * often as it stands there, in order. */
	enum hop_host_batch batch;
	int          nwrite;           /**< so many inputs it changes in place: those of writes[..] */
	const int   *writes;           /**< in[..].data of these is its own; what it leaves there is new */
	/** Result types, where a call gives none: a body on the inputs, whose results have the types that
	 * the function's have. Nothing of it is kept. Bodies here get `user`. */
	hop_body    *shape;
	/** Gradient: (inputs, results, cotangents of the float results) -> cotangents of the float inputs;
	 * what it writes counts as a result, behind the others. A body, or a function of the host by its
	 * name. None: a gradient through the function is refused. */
	hop_body    *vjp;
	const char  *vjp_host;
	/** (inputs, tangents of the float inputs) -> tangents of the float results; without it forward mode
	 * transposes vjp, which must then be a body. */
	hop_body    *jvp;
	const char  *jvp_host;
} hop_host_def;
#ifndef __cplusplus
#define HOP_HOST_DEF(...) (&(hop_host_def){ .size = sizeof(hop_host_def), __VA_ARGS__ })
#endif

/** Make a function known to the context, for as long as that lives. */
HOP_MUST_USE hop_status hop_host_add(hop_ctx *c, const hop_host_def *def);

/** Call it: nout results of these types into out; or of those that its shape gives where type is NULL:
 * nout is then how many there is room for. The number of results, 0 after a failure. */
int hop_at_host(hop_trace *t, const char *file, int line, const char *name, int nin,
                const hop_value *in, int nout, const hop_result *type, hop_value *out);
#define hop_host(t, ...) hop_at_host(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
