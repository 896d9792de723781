/* custom.c -- custom: a function whose derivative the user wrote. What it means; how its
 * rules are used is in custom_ad.c. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

/* bwd takes the saved values and the cotangents of the float results, and gives the
 * cotangents of the float operands. */
static hop_status check_bwd(hop_infer *f, const struct hop_attr_custom *a)
{
	uint32_t nsave = a->fwd->nout - (uint32_t)a->nouts, n = 0;
	const hop_type **t = HOP_NEWN(&f->b->arena, const hop_type *, a->fwd->nout);
	for (uint32_t k = 0; k < nsave; k++)
		HOP_TRY(hop_body_gives(f, "fwd", a->fwd, a->sargs, (uint32_t)a->nouts + k, &t[n++]));
	for (uint32_t k = 0; k < a->nouts; k++)
		if (hop_type_diff(hop_graph_out_type(a->fwd, k)))
			HOP_TRY(hop_body_gives(f, "fwd", a->fwd, a->sargs, k, &t[n++]));
	HOP_TRY(hop_body_takes(f, "bwd", a->bwd, a->sargs, n, t));
	uint32_t k = 0;
	for (uint32_t i = 0; i < f->nin; i++) {
		const hop_type *g;
		if (!hop_type_diff(f->in[i]))
			continue;
		if (k == a->bwd->nout)
			return hop_infer_fail(f, HOP_ETYPE, "custom: bwd gives %u cotangents, fewer than "
			                      "there are float operands", k);
		HOP_TRY(hop_body_gives(f, "bwd", a->bwd, a->sargs, k, &g));
		HOP_TRY(hop_types_agree(f, f->in[i], g, "the cotangent of operand", i, "the operands",
		                        "bwd"));
		k++;
	}
	if (k != a->bwd->nout)
		return hop_infer_fail(f, HOP_ETYPE, "custom: bwd gives %u cotangents for %u float "
		                      "operands", a->bwd->nout, k);
	return HOP_OK;
}

/* jvp takes the operands and the tangents of the float ones, and gives the tangents of the
 * float results. */
static hop_status check_jvp(hop_infer *f, const struct hop_attr_custom *a)
{
	const hop_type **t = HOP_NEWN(&f->b->arena, const hop_type *, 2 * f->nin);
	uint32_t n = f->nin, k = 0;
	memcpy(t, f->in, f->nin * sizeof *t);
	for (uint32_t i = 0; i < f->nin; i++)
		if (hop_type_diff(f->in[i]))
			t[n++] = f->in[i];
	HOP_TRY(hop_body_takes(f, "jvp", a->jvp, a->sargs, n, t));
	for (uint32_t i = 0; i < a->nouts; i++)
		k += hop_type_diff(hop_graph_out_type(a->fwd, i));
	if (k != a->jvp->nout)
		return hop_infer_fail(f, HOP_ETYPE, "custom: jvp gives %u tangents for %u float results",
		                      a->jvp->nout, k);
	return HOP_OK;
}

/* custom operands {nouts nres sargs fwd bwd jvp batch} -- apply fwd; differentiate with bwd */
hop_status hop_infer_custom(hop_infer *f)
{
	const struct hop_attr_custom *a = f->attr;
	HOP_TRY(hop_body_takes(f, "fwd", a->fwd, a->sargs, f->nin, f->in));
	int64_t nsave = (int64_t)a->fwd->nout - a->nouts;
	if (a->nouts < 0 || nsave < 0 || (a->nres && a->nres != nsave))
		return hop_infer_fail(f, HOP_EVALUE, "custom: %lld results and %lld residuals, but fwd "
		                      "gives %u values", (long long)a->nouts, (long long)a->nres,
		                      a->fwd->nout);
	if (!a->bwd)
		return hop_infer_fail(f, HOP_ETYPE, "custom: bwd is missing");
	HOP_TRY(check_bwd(f, a));
	if (a->jvp)
		HOP_TRY(check_jvp(f, a));
	hop_infer_outs(f, (uint32_t)(a->nouts + a->nres));
	for (uint32_t k = 0; k < f->nout; k++)
		HOP_TRY(hop_body_gives(f, "fwd", a->fwd, a->sargs, k, &f->out[k]));
	return HOP_OK;
}

hop_status hop_eval_custom(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	const struct hop_attr_custom *a = HOP_ATTR(n, custom);
	hop_array **res = HOP_NEWN(&p->env->tmp, hop_array *, a->fwd->nout);
	HOP_TRY(hop_interp_body(p, n, a->fwd, in, res));
	for (uint32_t k = 0; k < a->fwd->nout; k++) {
		if (k < n->nout)
			out[k] = res[k];
		else
			hop_interp_release(p, res[k]);
	}
	return HOP_OK;
}

/* The user's rule may use any operand, so any active operand makes float results active. */
void hop_active_custom(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	const struct hop_attr_custom *a = HOP_ATTR(n, custom);
	bool any = false;
	(void)e;
	for (uint32_t i = 0; i < n->nin; i++)
		any |= in[i];
	for (uint32_t k = 0; k < n->nout; k++)
		out[k] = any && hop_type_diff(hop_graph_out_type(a->fwd, k));
}
