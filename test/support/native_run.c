/* native_run.c -- compile, lay out the workspace, run once, release. */
#include "support/native_run.h"

#include <stdlib.h>

#include "driver/exec.h"

hop_status native_run(hop_interp *p, const hop_graph *g, const int64_t *syms,
                      hop_tensor *const *in, hop_tensor **out)
{
	hop_env *e = p->env;
	hop_mark m = hop_mark_at(&e->tmp);
	hop_compile_opts o = { .size = sizeof o, .no_cache = true, .threads = 1 };
	hop_exec *x;
	hop_arg *ai = HOP_NEWN(&e->tmp, hop_arg, g->nparam), *ao = HOP_NEWN(&e->tmp, hop_arg, g->nout);
	(void)syms;
	HOP_TRY(hop_exec_new(e, g, &o, &x));
	for (uint32_t i = 0; i < g->nparam; i++)
		ai[i] = (hop_arg){ .data = in[i]->data, .dim = in[i]->dim };
	for (uint32_t k = 0; k < g->nout; k++) {
		int64_t dim[HOP_MAXRANK];
		int rank = hop_exec_result(x, ai, (int)k, dim);
		if (rank < 0)
			return hop_fail(e, 0, HOP_ESHAPE, "native: result %u has no size", k);
		out[k] = hop_tensor_new(p, (hop_dtype)hop_graph_out_type(g, k)->dtype, rank, dim);
		ao[k] = (hop_arg){ .data = out[k]->data };
	}
	int64_t bytes = hop_exec_workspace(x, ai);
	void *w = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
	hop_status st = bytes < 0 || !w ? HOP_ESHAPE : hop_run(x, ai, ao, w);
	free(w);
	hop_exec_release(x);
	hop_rewind(&e->tmp, m);
	return st;
}
