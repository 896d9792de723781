/* kernel.h -- kernels of users: functions of the host whose arguments are declared. */
#ifndef HOP_DATA_KERNEL_H
#define HOP_DATA_KERNEL_H

#include "data/foreign.h"
#include "hop/kernel.h"

/* Written once, then only read. Names are interned. */
typedef struct hop_user_kernel {
	hop_mem         mem;
	const char     *name;
	int             narg, nin, nout;       /* nin of them are IN or INOUT, nout are OUT */
	hop_kernel_arg *arg;
	int            *at;                    /* [narg] which operand, or of OUT which result */
	hop_kernel_fn  *fn;
	const char     *symbol;                /* or NULL */
	const char     *c;                     /* the whole text, if it was C; or NULL. Of the hook */
	void           *image;                 /* what drop lets go of */
	void          (*unload)(void *image);
	bool            lanes;
} hop_user_kernel;

/* The hop_host_fn of all of them; its user is the kernel. */
hop_status hop_kernel_run(const hop_host_call *call);
/* Makes it known: it is dropped when the context goes; after a failure it is the caller's. unknown: an
 * effect. */
hop_status hop_kernel_keep(hop_env *e, hop_user_kernel *k, bool unknown);
/* Room for n arguments; of the hook. */
hop_user_kernel *hop_kernel_new(hop_env *e, int narg);
void       hop_kernel_drop(void *kernel);

#endif
