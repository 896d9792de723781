/* custom.c -- custom: a function whose derivative the user wrote. What it means; how its
 * rules are used is in custom_ad.c. */
#include "hops/custom.h"

#include "ad/ad.h"

#include <string.h>

bool hop_custom_diff(const struct hop_attr_custom *a, uint32_t k)
{
	for (int64_t i = 0; i < a->nondiff.n; i++)
		if (a->nondiff.v[i] == k)
			return false;
	return k < a->nouts && hop_type_diff(hop_graph_out_type(a->fwd, k));
}

uint32_t hop_custom_result(const struct hop_attr_custom *a, uint32_t k)
{
	for (uint32_t i = 0; i < a->nouts; i++)
		if (hop_same(a->fwd->out[i], a->fwd->out[a->nouts + k]))
			return i;
	return UINT32_MAX;
}

/* ---- inference ---- */

/* bwd takes the saved values and the cotangents of the differentiated results, and gives the
 * cotangents of the float operands. */
static hop_status check_bwd(hop_infer *f, const struct hop_attr_custom *a)
{
	uint32_t nsave = hop_custom_nsaved(a), n = 0, k = 0;
	const hop_type **t = HOP_NEWN(&f->b->arena, const hop_type *, a->fwd->nout);
	for (uint32_t i = 0; i < nsave; i++)
		HOP_TRY(hop_body_gives(f, "fwd", a->fwd, a->sargs, (uint32_t)a->nouts + i, &t[n++]));
	for (uint32_t i = 0; i < a->nouts; i++)
		if (hop_custom_diff(a, i))
			HOP_TRY(hop_body_gives(f, "fwd", a->fwd, a->sargs, i, &t[n++]));
	HOP_TRY(hop_body_takes(f, "bwd", a->bwd, a->sargs, n, t));
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
 * differentiated results. */
static hop_status check_jvp(hop_infer *f, const struct hop_attr_custom *a)
{
	const hop_type **t = HOP_NEWN(&f->b->arena, const hop_type *, 2 * f->nin);
	uint32_t n = f->nin, k = 0, want = 0;
	memcpy(t, f->in, f->nin * sizeof *t);
	for (uint32_t i = 0; i < f->nin; i++)
		if (hop_type_diff(f->in[i]))
			t[n++] = f->in[i];
	HOP_TRY(hop_body_takes(f, "jvp", a->jvp, a->sargs, n, t));
	for (uint32_t i = 0; i < a->nouts; i++)
		want += hop_custom_diff(a, i);
	if (want != a->jvp->nout)
		return hop_infer_fail(f, HOP_ETYPE, "custom: jvp gives %u tangents for %u float results",
		                      a->jvp->nout, want);
	for (uint32_t i = 0; i < a->nouts; i++) {
		const hop_type *g, *r;
		if (!hop_custom_diff(a, i))
			continue;
		HOP_TRY(hop_body_gives(f, "jvp", a->jvp, a->sargs, k++, &g));
		HOP_TRY(hop_body_gives(f, "fwd", a->fwd, a->sargs, i, &r));
		HOP_TRY(hop_types_agree(f, r, g, "the tangent of result", i, "fwd", "jvp"));
	}
	return HOP_OK;
}

/* A type of batch, as it would be with one axis more: asked in the body's own symbols, since the
 * node does not know how many lanes there will be. */
static hop_status check_lanes(hop_infer *f, const struct hop_attr_custom *a, const hop_type *one,
                              const hop_type *got, const char *what, uint32_t k)
{
	const hop_graph *g = a->batch;
	if (one->rank == HOP_MAXRANK)
		return hop_infer_fail(f, HOP_ETYPE, "custom: %s %u has rank %d already: there is no room "
		                      "for lanes", what, k, HOP_MAXRANK);
	const hop_type *want = hop_type_prepend(f->env, one, hop_size_sym(f->env, (int)g->nsym - 1));
	if (want == got)
		return HOP_OK;
	hop_buf s;
	hop_buf_open(&s, f->env);
	hop_put(&s, "but ");
	hop_type_print(&s, got, g->symname, (int)g->nsym);
	hop_put(&s, " in batch: it must be ");
	hop_type_print(&s, want, g->symname, (int)g->nsym);
	hop_status st = hop_infer_fail(f, HOP_ETYPE, "custom: %s %u has one lane in fwd, %s", what, k,
	                               s.s);
	hop_buf_free(&s);
	return st;
}

static hop_status check_batch(hop_infer *f, const struct hop_attr_custom *a)
{
	const hop_graph *g = a->batch;
	if (g->nsym != a->fwd->nsym + 1)
		return hop_infer_fail(f, HOP_ETYPE, "custom: batch takes %u sizes, it must take those of "
		                      "fwd and then the number of lanes: %u", g->nsym, a->fwd->nsym + 1);
	if (g->nparam != 2 * f->nin)
		return hop_infer_fail(f, HOP_ETYPE, "custom: batch takes %u values, it must take %u "
		                      "operands and a bool for each", g->nparam, f->nin);
	if (g->nout != a->nouts)
		return hop_infer_fail(f, HOP_ETYPE, "custom: batch gives %u values for %lld results",
		                      g->nout, (long long)a->nouts);
	for (uint32_t i = 0; i < f->nin; i++) {
		const hop_type *flag = g->type[f->nin + i];
		HOP_TRY(check_lanes(f, a, a->fwd->type[i], g->type[i], "operand", i));
		if (flag->dtype != HOP_bool || flag->rank)
			return hop_infer_fail(f, HOP_ETYPE, "custom: parameter %u of batch says whether operand "
			                      "%u differs between lanes: it is a bool scalar", f->nin + i, i);
	}
	for (uint32_t k = 0; k < g->nout; k++)
		HOP_TRY(check_lanes(f, a, hop_graph_out_type(a->fwd, k), hop_graph_out_type(g, k),
		                    "result", k));
	return HOP_OK;
}

static hop_status check_rules(hop_infer *f, const struct hop_attr_custom *a)
{
	if (!a->bwd && !a->jvp && !a->once)
		return hop_infer_fail(f, HOP_ETYPE, "custom: bwd is missing, and jvp too: one of them says "
		                      "what the derivative is");
	if (!a->bwd && hop_custom_nsaved(a))
		return hop_infer_fail(f, HOP_ETYPE, "custom: fwd saves %u values, but there is no bwd to "
		                      "take them", hop_custom_nsaved(a));
	if (a->batch && a->lanewise)
		return hop_infer_fail(f, HOP_EVALUE, "custom: batch and lanewise are two ways to be "
		                      "batched: leave out one");
	for (int64_t i = 0; i < a->nondiff.n; i++)
		if (a->nondiff.v[i] < 0 || a->nondiff.v[i] >= a->nouts ||
		    (i && a->nondiff.v[i] <= a->nondiff.v[i - 1]))
			return hop_infer_fail(f, HOP_EVALUE, "custom: nondiff names result %lld: there are "
			                      "%lld, to be named once each and in order",
			                      (long long)a->nondiff.v[i], (long long)a->nouts);
	if (a->bwd)
		HOP_TRY(check_bwd(f, a));
	if (a->jvp)
		HOP_TRY(check_jvp(f, a));
	return a->batch ? check_batch(f, a) : HOP_OK;
}

/* custom operands {nouts nres nondiff once lanewise sargs fwd bwd jvp batch} -- apply fwd; differentiate
 * with bwd and jvp */
hop_status hop_infer_custom(hop_infer *f)
{
	const struct hop_attr_custom *a = f->attr;
	HOP_TRY(hop_body_takes(f, "fwd", a->fwd, a->sargs, f->nin, f->in));
	int64_t nsave = (int64_t)a->fwd->nout - a->nouts;
	if (a->nouts < 0 || nsave < 0 || (a->nres && a->nres != nsave))
		return hop_infer_fail(f, HOP_EVALUE, "custom: %lld results and %lld residuals, but fwd "
		                      "gives %u values", (long long)a->nouts, (long long)a->nres,
		                      a->fwd->nout);
	HOP_TRY(check_rules(f, a));
	hop_infer_outs(f, (uint32_t)(a->nouts + a->nres));
	for (uint32_t k = 0; k < f->nout; k++)
		HOP_TRY(hop_body_gives(f, "fwd", a->fwd, a->sargs, k, &f->out[k]));
	return HOP_OK;
}

/* ---- running ---- */

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

/* The user's rule may use any operand, so any active operand makes its results active. */
void hop_active_custom(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	const struct hop_attr_custom *a = HOP_ATTR(n, custom);
	bool any = false;
	(void)e;
	for (uint32_t i = 0; i < n->nin; i++)
		any |= in[i];
	for (uint32_t k = 0; k < n->nout; k++)
		out[k] = any && (k < a->nouts ? hop_custom_diff(a, k)
		                              : hop_type_diff(hop_graph_out_type(a->fwd, k)));
}
