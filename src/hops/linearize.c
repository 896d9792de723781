/* linearize.c -- the forward derivative in two halves. Loops of the forward mode compute values and
 * tangents side by side, so that nothing can be kept of them; the reverse mode keeps what it needs,
 * and its second half is linear in the cotangents: turned round, it is the forward derivative. */
#include <string.h>

#include "hops/body.h"
#include "hops/transform.h"
#include "hops/transpose.h"

/* The transposed takes directions first, and those by number of the parameter: residuals first, as a
 * cut has them, then tangents in the order asked for. */
static hop_status reorder(hop_env *e, const hop_graph *t, uint32_t nres, int nwrt,
                          const uint32_t *at, const hop_graph **out_g)
{
	hop_build b;
	hop_graph *made = NULL;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, t->nparam), *out = HOP_NEWN(&e->tmp, hop_val, t->nout);
	hop_body_open(&b, e, t);
	for (uint32_t k = 0; k < nres; k++)
		in[(uint32_t)nwrt + k] = hop_build_param(&b, t->type[(uint32_t)nwrt + k]);
	for (int i = 0; i < nwrt; i++)
		in[at[i]] = hop_build_param(&b, t->type[at[i]]);
	hop_body_inline(&b, t, in, out);
	hop_status st = hop_seal(&b, t->nout, out, NULL, &made);
	*out_g = made;
	return st;
}

hop_status hop_ask_linearize(hop_env *e, const hop_graph *g, const bool *outs, int nwrt,
                             const int *wrt, const hop_cut **out_cut)
{
	const hop_graph *joint, *t;
	const hop_cut *cut;
	bool *want = HOP_NEWN(&e->tmp, bool, g->nparam);
	uint32_t *at = HOP_NEWN(&e->tmp, uint32_t, nwrt);
	for (int i = 0; i < nwrt; i++)
		want[wrt[i]] = true;
	for (int i = 0; i < nwrt; i++)
		for (int k = 0; k < wrt[i]; k++)
			at[i] += want[k];
	HOP_TRY(hop_marks_drop(e, g, &g));
	HOP_TRY(hop_ad_vjp(e, g, outs, want, &joint));
	HOP_TRY(hop_ad_cut(e, joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, 1, &cut));
	size_t bytes = sizeof *cut + cut->nres * sizeof *cut->res;
	hop_cut *own = hop_arena_alloc(&e->tmp, bytes);
	bool *lin = HOP_NEWN(&e->tmp, bool, cut->bwd->nparam);
	memcpy(own, cut, bytes);
	for (uint32_t i = cut->nres; i < cut->bwd->nparam; i++)
		lin[i] = true;
	HOP_TRY(hop_graph_transpose(e, cut->bwd, lin, &t));
	HOP_TRY(reorder(e, t, cut->nres, nwrt, at, &own->bwd));
	*out_cut = own;
	return HOP_OK;
}
