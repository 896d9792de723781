/* custom_ad.c -- custom under jvp and vjp; batching is in custom_batch.c.
 *
 * vjp: the node is emitted again with its saved values as results, so that saved values
 * which are results keep the user's rule at second order. jvp without a jvp body: bwd is
 * linear in the cotangents, so its own reverse, applied to the tangents, is the tangent. */
#include "hops/batch.h"

#include <string.h>

static uint32_t nsaved(const struct hop_attr_custom *a)
{
	return a->fwd->nout - (uint32_t)a->nouts;
}

/* Emit the node with all saved values as results. */
static hop_status emit_full(hop_build *b, const struct hop_attr_custom *a, hop_sizes sargs,
                            const hop_val *in, hop_val *out)
{
	struct hop_attr_custom c = *a;
	c.nres = nsaved(a);
	c.sargs = sargs;
	hop_val v = hop_emit_op(b, HOP_OP_custom, &c, a->fwd->nparam, in);
	for (uint32_t k = 0; k < a->fwd->nout; k++)
		out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	return b->st;
}

/* ---- forward mode ---- */

static hop_status jvp_user(hop_build *b, hop_rule *r, hop_sizes sargs, hop_val *res)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	uint32_t np = a->fwd->nparam, n = np;
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, 2 * np);
	memcpy(in, r->in, np * sizeof *in);
	for (uint32_t i = 0; i < np; i++)
		if (hop_type_diff(a->fwd->type[i]))
			in[n++] = hop_emit_solid(b, r->din[i], hop_typeof(b, r->in[i]));
	return b->st ? b->st : hop_emit_call(b, a->jvp, sargs, in, res);
}

/* The reverse of bwd with respect to its cotangents, at the tangents of the operands. */
static hop_status jvp_transposed(hop_build *b, hop_rule *r, hop_sizes sargs,
                                 const hop_val *saved, hop_val *res)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	hop_env *e = b->env;
	const hop_graph *g = a->bwd, *j;
	uint32_t ns = nsaved(a), n = g->nparam, k = 0;
	bool *ct = HOP_NEWN(&e->tmp, bool, g->nout), *want = HOP_NEWN(&e->tmp, bool, g->nparam);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam + g->nout);
	memset(want + ns, 1, g->nparam - ns);
	memcpy(in, saved, ns * sizeof *in);
	for (uint32_t i = ns; i < g->nparam; i++)
		in[i] = hop_emit_zeros(b, hop_body_type(e, g->type[i], sargs));
	for (uint32_t i = 0; i < a->fwd->nparam; i++) {
		if (!hop_type_diff(a->fwd->type[i]))
			continue;
		ct[k] = r->act[i];
		if (ct[k++])
			in[n++] = r->din[i];
	}
	if (b->st)
		return b->st;
	HOP_TRY(hop_ad_vjp(e, g, ct, want, &j));
	HOP_TRY(hop_ad_pure(e, j, &j));                /* bwd is not what the user ran */
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	HOP_TRY(hop_emit_call(b, j, sargs, in, out));
	memcpy(res, out + g->nout, (g->nparam - ns) * sizeof *res);
	return HOP_OK;
}

/* Tangents of results that are saved values: those of fwd itself. */
static hop_status jvp_saved(hop_build *b, hop_rule *r, hop_sizes sargs)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	hop_env *e = b->env;
	const hop_graph *g, *j;
	HOP_TRY(hop_ad_pure(e, a->fwd, &g));           /* the node itself has the effects */
	bool *outs = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, 2 * g->nparam);
	uint32_t n = g->nparam, k = g->nout;
	hop_ad_active(e, g, r->act, outs);
	memset(outs, 0, (size_t)a->nouts);
	HOP_TRY(hop_ad_jvp(e, g, r->act, outs, &j));
	memcpy(in, r->in, n * sizeof *in);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (r->act[i])
			in[n++] = r->din[i];
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	HOP_TRY(hop_emit_call(b, j, sargs, in, out));
	for (uint32_t i = (uint32_t)a->nouts; i < r->n->nout; i++)
		if (outs[i])
			r->dout[i] = out[k++];
	return HOP_OK;
}

hop_status hop_jvp_custom(hop_build *b, hop_rule *r)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	hop_sizes sargs = hop_rule_sargs(b, r);
	hop_val *full = HOP_NEWN(&b->env->tmp, hop_val, a->fwd->nout);
	hop_val *res = HOP_NEWN(&b->env->tmp, hop_val, (size_t)a->nouts);
	HOP_TRY(emit_full(b, a, sargs, r->in, full));
	memcpy(r->out, full, r->n->nout * sizeof *full);
	if (a->jvp)
		HOP_TRY(jvp_user(b, r, sargs, res));
	else
		HOP_TRY(jvp_transposed(b, r, sargs, full + a->nouts, res));
	for (uint32_t i = 0, k = 0; i < a->nouts; i++)
		if (hop_type_diff(hop_graph_out_type(a->fwd, i)))
			r->dout[i] = res[k++];
	return a->nres ? jvp_saved(b, r, sargs) : HOP_OK;
}

/* ---- reverse mode ---- */

struct saved {
	hop_sizes sargs;
	hop_val  *full;              /* results, then saved values */
};

hop_status hop_fwd_custom(hop_build *b, hop_rule *r)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	s->sargs = hop_rule_sargs(b, r);
	s->full = HOP_NEWN(&b->arena, hop_val, a->fwd->nout);
	HOP_TRY(emit_full(b, a, s->sargs, r->in, s->full));
	memcpy(r->out, s->full, r->n->nout * sizeof *s->full);
	r->save = s;
	return HOP_OK;
}

/* Cotangents that arrive at saved values go through fwd itself. */
static hop_status bwd_saved(hop_build *b, hop_rule *r, const struct saved *s)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	hop_env *e = b->env;
	const hop_graph *g, *j;
	HOP_TRY(hop_ad_pure(e, a->fwd, &g));
	bool *ct = HOP_NEWN(&e->tmp, bool, g->nout), any = false;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam + g->nout);
	uint32_t n = g->nparam;
	memcpy(in, r->in, n * sizeof *in);
	for (uint32_t i = (uint32_t)a->nouts; i < r->n->nout; i++)
		if ((ct[i] = !hop_is_zero(r->dout[i]))) {
			in[n++] = r->dout[i];
			any = true;
		}
	if (!any)
		return HOP_OK;
	HOP_TRY(hop_ad_vjp(e, g, ct, r->act, &j));
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	HOP_TRY(hop_emit_call(b, j, s->sargs, in, out));
	n = g->nout;
	for (uint32_t i = 0; i < g->nparam; i++)
		if (r->act[i])
			r->din[i] = hop_emit_acc(b, r->din[i], out[n++]);
	return b->st;
}

hop_status hop_bwd_custom(hop_build *b, hop_rule *r)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	const struct saved *s = r->save;
	uint32_t ns = nsaved(a), n = ns, k = 0;
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, a->bwd->nparam);
	hop_val *out = HOP_NEWN(&b->env->tmp, hop_val, a->bwd->nout);
	bool any = false;
	memcpy(in, s->full + a->nouts, ns * sizeof *in);
	for (uint32_t i = 0; i < a->nouts; i++)
		if (hop_type_diff(hop_graph_out_type(a->fwd, i))) {
			any |= !hop_is_zero(r->dout[i]);
			in[n++] = hop_emit_solid(b, r->dout[i], hop_typeof(b, r->out[i]));
		}
	if (b->st)
		return b->st;
	if (any) {
		HOP_TRY(hop_emit_call(b, a->bwd, s->sargs, in, out));
		for (uint32_t i = 0; i < a->fwd->nparam; i++)
			if (hop_type_diff(a->fwd->type[i]))
				r->din[i] = out[k++];
	}
	return bwd_saved(b, r, s);
}
