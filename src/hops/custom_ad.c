/* custom_ad.c -- custom under jvp and vjp; batching is in custom_batch.c.
 *
 * vjp: the node is emitted again with its saved values as results, and bwd is called on them. A
 * saved value that is a result is that result, so that it keeps the user's rule at second order.
 * jvp without a jvp body: bwd is linear in the cotangents, so its own reverse, applied to the
 * tangents, is the tangent. vjp without a bwd body: jvp is linear in the tangents, transposed. */
#include "hops/custom.h"

#include "ad/ad.h"
#include "hops/transpose.h"

#include <string.h>

/* Emit the node with all saved values as results. */
static hop_status emit_full(hop_build *b, const struct hop_attr_custom *a, hop_sizes sargs,
                            const hop_val *in, hop_val *out)
{
	struct hop_attr_custom c = *a;
	c.nres = hop_custom_nsaved(a);
	c.sargs = sargs;
	hop_val v = hop_emit_op(b, HOP_OP_custom, &c, a->fwd->nparam, in);
	if (b->st)
		return b->st;
	for (uint32_t k = 0; k < a->fwd->nout; k++)
		out[k] = (hop_val){ v.id + k };
	for (uint32_t k = 0; k < c.nres; k++) {
		hop_val s = a->fwd->out[a->nouts + k];
		uint32_t is = hop_custom_result(a, k);
		if (is != UINT32_MAX)
			out[a->nouts + k] = out[is];
		else if (s.id < a->fwd->nparam)
			out[a->nouts + k] = hop_emit_as(b, in[s.id], hop_typeof(b, out[a->nouts + k]));
	}
	return b->st;
}

/* What a rule gives. One that may be used once is hidden in a node that has no rule itself. */
static hop_status emit_rule(hop_build *b, const struct hop_attr_custom *a, const hop_graph *g,
                            hop_sizes sargs, const hop_val *in, hop_val *out)
{
	if (!a->once)
		return hop_emit_call(b, g, sargs, in, out);
	struct hop_attr_custom c = { .nouts = g->nout, .once = true, .sargs = sargs, .fwd = g };
	hop_val v = hop_emit_op(b, HOP_OP_custom, &c, g->nparam, in);
	for (uint32_t k = 0; k < g->nout; k++)
		out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	return b->st;
}

/* The same on operands of which some are HOP_ZERO; so are results then. */
static hop_status emit_partly(hop_build *b, const struct hop_attr_custom *a, const hop_graph *g,
                              hop_sizes sargs, const hop_val *in, hop_val *out)
{
	hop_env *e = b->env;
	bool *zero = HOP_NEWN(&e->tmp, bool, g->nparam), *gone = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *rest = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	const hop_graph *h = g;
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->nparam; i++)
		if (!(zero[i] = hop_is_zero(in[i])))
			rest[n++] = in[i];
	if (n < g->nparam)
		HOP_TRY(hop_graph_zeros(e, g, zero, &h, gone));
	HOP_TRY(emit_rule(b, a, h, sargs, rest, out));
	for (uint32_t k = 0; k < g->nout; k++)
		if (gone[k] || hop_graph_gives_zero(h, k))
			out[k] = HOP_ZERO;
	return HOP_OK;
}

static hop_status refuse(hop_build *b, const hop_rule *r)
{
	return hop_fail(b->env, r->n->loc, HOP_ENODIFF, "custom: a second derivative is asked for, and "
	                "its rule is to be used once: leave out once, if what bwd and jvp compute may be "
	                "differentiated");
}

static bool no_rule(const struct hop_attr_custom *a)
{
	return !a->bwd && !a->jvp;
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
			in[n++] = r->din[i];
	return emit_partly(b, a, a->jvp, sargs, in, res);
}

/* The results of g from number `from` on. */
static hop_status tail(hop_env *e, const hop_graph *g, uint32_t from, const hop_graph **out_g)
{
	hop_build c;
	hop_graph *made;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam), *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_body_open(&c, e, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&c, g->type[i]);
	hop_body_inline(&c, g, in, out);
	HOP_TRY(hop_seal(&c, g->nout - from, out + from, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* The reverse of bwd with respect to its cotangents, at the tangents of the operands. */
static hop_status jvp_transposed(hop_build *b, hop_rule *r, hop_sizes sargs,
                                 const hop_val *saved, hop_val *res)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	hop_env *e = b->env;
	const hop_graph *g = a->bwd, *j;
	uint32_t ns = hop_custom_nsaved(a), n = g->nparam, k = 0;
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
	HOP_TRY(tail(e, j, g->nout, &j));
	return emit_rule(b, a, j, sargs, in, res);
}

/* Saved values that are results or operands have their tangents; outs: those that have not. */
static bool jvp_shared(hop_rule *r, bool *outs)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	bool any = false;
	for (uint32_t k = 0; k < hop_custom_nsaved(a); k++) {
		uint32_t i = (uint32_t)a->nouts + k, is = hop_custom_result(a, k), from = a->fwd->out[i].id;
		if (is == UINT32_MAX && from >= a->fwd->nparam) {
			any |= outs[i];
			continue;
		}
		outs[i] = false;
		r->dout[i] = is != UINT32_MAX ? r->dout[is] : r->act[from] ? r->din[from] : HOP_ZERO;
	}
	return any;
}

/* Tangents of results that are saved values: those of fwd itself. */
static hop_status jvp_saved(hop_build *b, hop_rule *r, hop_sizes sargs)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	hop_env *e = b->env;
	const hop_graph *g = a->fwd, *j;
	bool *outs = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, 2 * g->nparam);
	uint32_t n = g->nparam, k = g->nout;
	hop_ad_active(e, g, r->act, outs);
	memset(outs, 0, (size_t)a->nouts);
	if (!jvp_shared(r, outs))
		return HOP_OK;
	HOP_TRY(hop_ad_pure(e, a->fwd, &g));           /* the node itself has the effects */
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
	if (no_rule(a))
		return refuse(b, r);
	HOP_TRY(emit_full(b, a, sargs, r->in, full));
	memcpy(r->out, full, r->n->nout * sizeof *full);
	if (a->jvp)
		HOP_TRY(jvp_user(b, r, sargs, res));
	else
		HOP_TRY(jvp_transposed(b, r, sargs, full + a->nouts, res));
	for (uint32_t i = 0, k = 0; i < a->nouts; i++)
		if (hop_custom_diff(a, i))
			r->dout[i] = res[k++];
	return a->nres ? jvp_saved(b, r, sargs) : HOP_OK;
}

/* ---- reverse mode ---- */

hop_status hop_custom_linear(hop_env *e, hop_loc loc, const hop_graph *jvp, uint32_t np)
{
	bool *lin = HOP_NEWN(&e->tmp, bool, jvp->nparam);
	memset(lin + np, 1, jvp->nparam - np);
	hop_status st = hop_linear_check(e, "custom", loc, jvp, lin);
	if (st)
		hop_note(e, loc, "in jvp, whose inputs here are the tangents: without bwd the reverse "
		         "derivative is jvp, transposed. Make it linear in them, or give bwd");
	return st;
}

struct saved {
	hop_sizes sargs;
	hop_val  *full;              /* results, then saved values */
};

hop_status hop_fwd_custom(hop_build *b, hop_rule *r)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	if (no_rule(a))
		return refuse(b, r);
	if (!a->bwd)
		HOP_TRY(hop_custom_linear(b->env, r->n->loc, a->jvp, a->fwd->nparam));
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
	const hop_graph *g = a->fwd, *j;
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
	HOP_TRY(hop_ad_pure(e, a->fwd, &g));
	HOP_TRY(hop_ad_vjp(e, g, ct, r->act, &j));
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	HOP_TRY(hop_emit_call(b, j, s->sargs, in, out));
	n = g->nout;
	for (uint32_t i = 0; i < g->nparam; i++)
		if (r->act[i])
			r->din[i] = hop_emit_acc(b, r->din[i], out[n++]);
	return b->st;
}

/* The body that makes cotangents, and what it takes beside those of the results. */
static hop_status way_back(hop_env *e, const hop_rule *r, const struct saved *s, uint32_t nct,
                           const hop_val *ct, hop_val *in, const hop_graph **out_g)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	uint32_t np = a->fwd->nparam, ns = hop_custom_nsaved(a);
	*out_g = a->bwd;
	if (a->bwd) {
		memcpy(in, s->full + a->nouts, ns * sizeof *in);
		memcpy(in + ns, ct, nct * sizeof *in);
		return HOP_OK;
	}
	bool *lin = HOP_NEWN(&e->tmp, bool, a->jvp->nparam);
	memset(lin + np, 1, a->jvp->nparam - np);
	memcpy(in, ct, nct * sizeof *in);
	memcpy(in + nct, r->in, np * sizeof *in);
	return hop_graph_transpose(e, a->jvp, lin, out_g);
}

hop_status hop_bwd_custom(hop_build *b, hop_rule *r)
{
	const struct hop_attr_custom *a = HOP_ATTR(r->n, custom);
	const struct saved *s = r->save;
	hop_env *e = b->env;
	uint32_t np = a->fwd->nparam, n = 0, k = 0;
	hop_val *ct = HOP_NEWN(&e->tmp, hop_val, (size_t)a->nouts);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, a->fwd->nout + np);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, np);
	const hop_graph *g;
	bool any = false;
	for (uint32_t i = 0; i < a->nouts; i++)
		if (hop_custom_diff(a, i)) {
			any |= !hop_is_zero(r->dout[i]);
			ct[n++] = r->dout[i];
		}
	if (any) {
		HOP_TRY(way_back(e, r, s, n, ct, in, &g));
		HOP_TRY(emit_partly(b, a, g, s->sargs, in, out));
		for (uint32_t i = 0; i < np; i++)
			if (hop_type_diff(a->fwd->type[i]))
				r->din[i] = out[k++];
	}
	return bwd_saved(b, r, s);
}
