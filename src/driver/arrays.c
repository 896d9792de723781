/* arrays.c -- compiled code on the interpreter's arrays: for tools, and for calls that do not fit
 * the way without copies. */
#include <string.h>

#include "driver/compile.h"

/* A run that stops has a status and, if an effect or a check stopped it, a message on the
 * context. */
static hop_status pass_on(hop_env *e, hop_status st)
{
	if (st == HOP_ENOMEM || st == HOP_ECANCELED)
		return hop_fail(e, 0, st, st == HOP_ENOMEM ? "run: no memory" : "run: canceled");
	if (st != HOP_EASSERT && st != HOP_ESHAPE)
		return hop_fail(e, 0, st, "run: the program stopped");
	const char *text = hop_message(e->ctx);
	size_t n = strlen(text);
	hop_diag_clear(e);
	e->diag.text = hop_raw_new(e, n + 1);
	memcpy(e->diag.text, text, n + 1);
	e->diag.len = n;
	return e->diag.st = st;
}

hop_status hop_exec_arrays(hop_interp *p, const hop_exec *x, hop_array *const *in,
                            hop_array **out)
{
	hop_env *e = p->env;
	const hop_graph *g = x->g;
	hop_mark m = hop_mark_at(&e->tmp);
	hop_arg *ai = HOP_NEWN(&e->tmp, hop_arg, g->nparam);
	hop_arg *ao = HOP_NEWN(&e->tmp, hop_arg, g->nout);
	for (uint32_t i = 0; i < g->nparam; i++)
		ai[i] = (hop_arg){ .data = in[i]->data, .dim = in[i]->dim };
	int64_t bytes = hop_exec_workspace(x, ai);
	if (bytes < 0) {
		int64_t syms[HOP_MAXSYM];
		HOP_TRY(hop_exec_sizes(x, ai, syms, e));
		return hop_fail(e, 0, HOP_ENOMEM, "run: more memory is needed than there can be");
	}
	for (uint32_t k = 0; k < g->nout; k++) {
		int64_t dim[HOP_MAXRANK];
		int rank = hop_exec_result(x, ai, (int)k, dim);
		out[k] = hop_interp_new(p, (hop_dtype)hop_graph_out_type(g, k)->dtype, rank, dim);
		ao[k] = (hop_arg){ .data = out[k]->data };
	}
	hop_array *work = hop_interp_new(p, HOP_bool, 1, &bytes);
	hop_run_opts o = { .size = sizeof o, .cancel = p->cancel };
	hop_status st = hop_run_with(x, ai, ao, work->data, &o);
	hop_interp_release(p, work);
	hop_rewind(&e->tmp, m);
	return st ? pass_on(e, st) : HOP_OK;
}
