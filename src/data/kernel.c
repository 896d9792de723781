/* kernel.c -- kernels of users as functions of the host: which argument is which operand and which
 * result, and the call. How they come to be is the driver's. */
#include <string.h>

#include "data/kernel.h"
#include "ir/dtype.h"

hop_user_kernel *hop_kernel_new(hop_env *e, int narg)
{
	size_t n = (size_t)narg;
	hop_user_kernel *k = hop_raw_new(e, sizeof *k);
	memset(k, 0, sizeof *k);
	k->mem = e->mem;
	k->narg = narg;
	k->arg = hop_raw_try(&e->mem, n * (sizeof *k->arg + sizeof(int)) + 1);
	if (!k->arg) {
		hop_kernel_drop(k);
		hop_nomem(e);
	}
	k->at = (int *)(void *)(k->arg + n);
	return k;
}

void hop_kernel_drop(void *kernel)
{
	hop_user_kernel *k = kernel;
	hop_mem mem = k->mem;
	if (k->unload)
		k->unload(k->image);
	if (k->c)
		hop_raw_free(&mem, (void *)(uintptr_t)k->c, strlen(k->c) + 1);
	if (k->arg)
		hop_raw_free(&mem, k->arg, (size_t)k->narg * (sizeof *k->arg + sizeof(int)) + 1);
	hop_raw_free(&mem, k, sizeof *k);
}

hop_status hop_kernel_keep(hop_env *e, hop_user_kernel *k, bool unknown)
{
	int writes[HOP_KERNEL_ARGS];
	hop_host_def d = { .name = k->name, .run = hop_kernel_run, .user = k, .drop = hop_kernel_drop,
	                   .pure = !unknown, .writes = writes,
	                   .batch = k->lanes ? HOP_HOST_WHOLE : HOP_HOST_LANES };
	hop_foreign *f;
	for (int i = 0; i < k->narg; i++)
		if (k->arg[i].use == HOP_KERNEL_INOUT)
			writes[d.nwrite++] = k->at[i];
	HOP_TRY(hop_foreign_add(e, &d, &f));
	f->kernel = k;
	f->what = "kernel";
	return HOP_OK;
}

/* ---- the call ---- */

/* Elements of all lanes, or of one. */
static int64_t count(int rank, const int64_t *dim)
{
	int64_t n = 1;
	for (int i = 0; i < rank; i++)
		n *= dim[i];
	return n;
}

/* Is it what was declared, but for leading axes? Their number of lanes must be the same for all:
 * lanes is -1 at first. */
static bool fits(const hop_user_kernel *k, const hop_kernel_arg *a, const hop_host_arg *h,
                 int64_t *lanes)
{
	int more = h->rank - a->rank;
	if (h->dtype != a->dtype || more < 0 || (more && !k->lanes))
		return false;
	int64_t n = count(more, h->dim);
	bool same = *lanes < 0 || *lanes == n;
	*lanes = n;
	return same;
}

static hop_status misfit(const hop_host_call *c, const hop_user_kernel *k, int i,
                         const hop_host_arg *h)
{
	const hop_kernel_arg *a = &k->arg[i];
	return hop_host_fail(c, HOP_ETYPE, "argument %d%s%s is %s of rank %d, it takes %s of rank %d", i,
	                     a->name ? " " : "", a->name ? a->name : "", hop_dtype_name(h->dtype),
	                     h->rank, hop_dtype_name(a->dtype), a->rank);
}

hop_status hop_kernel_run(const hop_host_call *c)
{
	const hop_user_kernel *k = c->user;
	void *arg[HOP_KERNEL_ARGS];
	const int64_t *dim[HOP_KERNEL_ARGS];
	int64_t lanes = -1;
	if (c->nin != k->nin || c->nout != k->nout)
		return hop_host_fail(c, HOP_ETYPE, "it takes %d operands and gives %d results, not %d and %d",
		                     k->nin, k->nout, c->nin, c->nout);
	for (int i = 0; i < k->narg; i++) {
		const hop_kernel_arg *a = &k->arg[i];
		const hop_host_arg *h = a->use == HOP_KERNEL_OUT ? &c->out[k->at[i]] : &c->in[k->at[i]];
		if (!fits(k, a, h, &lanes))
			return misfit(c, k, i, h);
		arg[i] = h->data;
		dim[i] = h->dim + h->rank - a->rank;
	}
	int rc = k->fn(arg, dim, lanes < 0 ? 1 : lanes);
	return rc ? hop_host_fail(c, HOP_EVALUE, "it returned %d", rc) : HOP_OK;
}
