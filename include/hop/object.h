/** Objects of the host in a program: what lives outside and has methods (docs/host.md). */
#ifndef HOP_OBJECT_H
#define HOP_OBJECT_H

#include "hop/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A method: as a host function, of an object. What the call says of inputs begins behind the object. */
typedef hop_status hop_method_fn(void *self, const hop_host_call *c);

typedef struct hop_method_def {
	const char    *name;           /**< programs call it `class.name` */
	hop_method_fn *run;
	bool           pure;           /**< it changes neither the object nor anything else. Else it is an
	                                * effect: called as often as it stands there, in order */
	hop_body      *shape, *vjp;    /**< as of hop_host_def: the object is the first of the inputs */
} hop_method_def;

typedef struct hop_class_def {
	size_t                size;    /**< sizeof in the caller's build; grows at the end only */
	const char           *name;    /**< one of a name in a context */
	int                   nmethod;
	const hop_method_def *method;
	void                (*destroy)(void *self);    /**< when nobody holds the object; NULL = nothing */
} hop_class_def;
#ifndef __cplusplus
#define HOP_CLASS_DEF(...) (&(hop_class_def){ .size = sizeof(hop_class_def), __VA_ARGS__ })
#endif

/** Make a class known to the context, for as long as that lives. */
HOP_MUST_USE hop_status hop_class_add(hop_ctx *c, const hop_class_def *def);

/** An object as programs see it: a number, i64, that is its handle. Counted; destroyed when released
 * as often as it was made or retained, or with the context. A handle that outlives its object is
 * refused by the run that meets it. Thread safe; what methods do is for them to guard if runs on several
 * threads share an object. */
HOP_MUST_USE hop_status hop_object_new(hop_ctx *c, const char *class_name, void *self,
                                       int64_t *out_handle);
HOP_MUST_USE hop_status hop_object_retain(hop_ctx *c, int64_t handle);
void hop_object_release(hop_ctx *c, int64_t handle);
/** The object itself, or NULL if it is gone or of another class. */
void *hop_object_self(hop_ctx *c, const char *class_name, int64_t handle);

/** Call `class.method` of the object: a value that is its handle, an i64 scalar. It may be an input,
 * a carry of a loop, chosen by a branch, or hop_object of what
 * hop_object_new gave. */
int hop_at_method(hop_trace *t, const char *file, int line, const char *name, hop_value object,
                  int nin, const hop_value *in, int nout, const hop_result *type, hop_value *out);
#define hop_method(t, ...) hop_at_method(t, __FILE__, __LINE__, __VA_ARGS__)
/** The handle as a value. */
hop_value hop_at_object(hop_trace *t, const char *file, int line, int64_t handle);
#define hop_object(t, ...) hop_at_object(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
