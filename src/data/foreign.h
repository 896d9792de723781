/* foreign.h -- code that is not ours, as the context knows it: by name. Who calls it, and when, is
 * said by nodes of the graph. */
#ifndef HOP_FOREIGN_H
#define HOP_FOREIGN_H

#include "ctx/ctx.h"
#include "hop/host.h"

/* Written once, then only read; lives as long as the context. */
typedef struct hop_foreign {
	hop_mem      mem;
	const char  *name;             /* interned */
	bool         pure;
	hop_host_fn *run;
	void        *user;
	void       (*drop)(void *user);
	const struct hop_user_kernel *kernel;  /* if it is one: the same as user */
	const char  *what;             /* of it, in messages; NULL = a host function */
	enum hop_host_batch batch;
	hop_body    *shape, *vjp, *jvp;
	const char  *vjp_host, *jvp_host;      /* interned, or NULL */
	bool         checked;          /* HOP_CHECK had host when it was added */
	int          nwrite;
	int64_t      writes[];         /* [nwrite] */
} hop_foreign;

/* Make one known; drop(user) is the caller's to call after a failure. */
hop_status hop_foreign_add(hop_env *e, const hop_host_def *d, hop_foreign **out_f);
/* What the host function of a node is: one of the context, or a region that an engine has taken from
 * the compilation under way; or NULL. */
const hop_foreign *hop_foreign_here(const hop_env *e, const char *name, size_t n);
/* The host function of this name, or NULL. */
const hop_foreign *hop_foreign_find(hop_ctx *c, const char *name, size_t n);
/* f->run(c), and look after it: what it wrote and may not (foreign_check.c). */
hop_status hop_foreign_checked(hop_env *e, const hop_foreign *f, hop_host_call *c);
/* Call it. A failure is recorded at loc, under its name. */
hop_status hop_foreign_run(hop_env *e, const hop_foreign *f, hop_loc loc, int nin,
                           const hop_host_arg *in, int nout, const hop_host_arg *out);

#endif
