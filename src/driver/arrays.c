/* arrays.c -- compiled code on the interpreter's arrays: for tools, and for calls that do not fit
 * the way without copies. */
#include <string.h>

#include "driver/compile.h"

/* A run that stops has a status and, unless it lacked memory or was canceled, a message on the
 * context. */
static hop_status pass_on(hop_env *e, hop_status st)
{
	if (st == HOP_ENOMEM || st == HOP_ECANCELED)
		return hop_fail(e, 0, st, st == HOP_ENOMEM ? "run: no memory" : "run: canceled");
	if (!hop_run_told(st))
		return hop_fail(e, 0, st, "run: the program stopped");
	const char *text = hop_message(e->ctx);
	size_t n = strlen(text);
	hop_diag_clear(e);
	e->diag.text = hop_raw_new(e, n + 1);
	memcpy(e->diag.text, text, n + 1);
	e->diag.len = n;
	return e->diag.st = st;
}

/* What the run gave, cut to the sizes that it found. */
static void cut(hop_interp *p, const hop_exec *x, const hop_arg *in, hop_array *const *wide,
                hop_array **out)
{
	hop_env *e = p->env;
	const hop_graph *g = x->own;
	int nsym = (int)(g->nsym + g->nlocal);
	int64_t *syms = HOP_NEWN(&e->tmp, int64_t, nsym + HOP_MAXSYM), ws[HOP_MAXRANK], ts[HOP_MAXRANK];
	const bool *born = hop_sizes_born(&e->tmp, g);
	uint32_t at = g->nout;
	(void)!hop_exec_sizes(x, in, syms, NULL);
	for (int i = (int)g->nsym; i < nsym; i++)
		syms[i] = born[i] ? hop_array_i(wide[at++], 0) : 0;
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		int64_t dim[HOP_MAXRANK];
		for (int i = 0; i < t->rank; i++)
			if (!hop_size_eval(t->dim[i], syms, nsym, &dim[i]))
				HOP_ASSERT(!"a size that the run computed");
		out[k] = hop_interp_new(p, (hop_dtype)t->dtype, t->rank, dim);
		hop_dense_strides(t->rank, wide[k]->dim, ws);
		hop_dense_strides(t->rank, dim, ts);
		hop_copy_strided(hop_dtype_bytes((hop_dtype)t->dtype), t->rank, dim, out[k]->data, ts,
		                 wide[k]->data, ws);
		hop_interp_release(p, wide[k]);
	}
	while (at-- > g->nout)
		hop_interp_release(p, wide[at]);
}

hop_status hop_exec_arrays(hop_interp *p, const hop_exec *x, hop_array *const *in,
                            hop_array **out)
{
	hop_env *e = p->env;
	const hop_graph *g = x->g;
	hop_mark m = hop_mark_at(&e->tmp);
	hop_arg *ai = HOP_NEWN(&e->tmp, hop_arg, g->nparam);
	hop_arg *ao = HOP_NEWN(&e->tmp, hop_arg, g->nout);
	hop_array **res = x->own ? HOP_NEWN(&e->tmp, hop_array *, g->nout) : out;
	for (uint32_t i = 0; i < g->nparam - (uint32_t)x->nhidden; i++)
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
		res[k] = hop_interp_new(p, (hop_dtype)hop_graph_out_type(g, k)->dtype, rank, dim);
		ao[k] = (hop_arg){ .data = res[k]->data };
	}
	hop_array *work = hop_interp_new(p, HOP_bool, 1, &bytes);
	hop_run_opts o = { .size = sizeof o, .cancel = p->cancel, .record = p->record };
	hop_status st = hop_run_with(x, ai, ao, work->data, &o);
	hop_interp_release(p, work);
	if (x->own && !st)
		cut(p, x, ai, res, out);
	hop_rewind(&e->tmp, m);
	return st ? pass_on(e, st) : HOP_OK;
}
