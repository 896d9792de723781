/* call_ad.c -- call and checkpoint under vjp and batch: the transformed graph, called. */
#include "ad/ad.h"
#include "hops/body.h"
#include "hops/batch.h"

#include <string.h>

struct saved {
	const struct hop_attr_call *like;    /* NULL = a plain call */
	const hop_graph *g;
	const hop_cut   *cut;
	hop_val         *res;
	hop_sizes        sargs;
};

/* Run the forward half, and keep what the backward half takes. */
static hop_status run_fwd(hop_build *b, hop_rule *r, struct saved *s)
{
	const hop_graph *g = s->g;
	hop_val *out = HOP_NEWN(&b->arena, hop_val, g->nout + s->cut->nextra);
	HOP_TRY(hop_emit_call_like(b, s->like, s->cut->fwd, s->sargs, r->in, out));
	memcpy(r->out, out, g->nout * sizeof *out);
	s->res = HOP_NEWN(&b->arena, hop_val, s->cut->nres);
	for (uint32_t k = 0; k < s->cut->nres; k++) {
		hop_res q = s->cut->res[k];
		s->res[k] = q.kind == HOP_RES_PARAM ? r->in[q.index]
		          : q.kind == HOP_RES_OUT ? out[q.index] : out[g->nout + q.index];
	}
	r->save = s;
	return b->st;
}

hop_status hop_fwd_graph(hop_build *b, hop_rule *r, const struct hop_attr_call *like,
                         const hop_graph *g, hop_sizes sargs)
{
	enum { MOST = 256 };           /* values that one call saves */
	const hop_graph *joint;
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	s->like = like;
	s->g = g;
	s->sargs = sargs;
	HOP_TRY(hop_ad_vjp(b->env, g, r->live, r->act, &joint));
	HOP_TRY(hop_ad_cut(b->env, joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, 1, &s->cut));
	/* a graph that calls another twice saves twice as much, and so on with each that calls
	 * it: past some it is better to run the forward half again */
	if (s->cut->nextra > MOST && s->cut->nextra > 2 * g->nnode)
		HOP_TRY(hop_ad_cut(b->env, joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_RECOMPUTE, 1,
		                   &s->cut));
	return run_fwd(b, r, s);
}

hop_status hop_fwd_call(hop_build *b, hop_rule *r)
{
	const struct hop_attr_call *a = HOP_ATTR(r->n, call);
	return hop_fwd_graph(b, r, a, a->body, hop_rule_sargs(b, r));
}

/* Cut by the names in its body and its budget. Its results are not free to save as its operands are: who
 * else needs them is not known here. The halves stay functions of their own: put side by side, what the
 * backward half computes again would be found equal to what the forward half computes, and be kept. */
hop_status hop_fwd_checkpoint(hop_build *b, hop_rule *r)
{
	static const struct hop_attr_call apart = { .no_inline = true };
	const struct hop_attr_checkpoint *a = HOP_ATTR(r->n, checkpoint);
	const hop_graph *g = a->body, *joint;
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	uint8_t *ocost = HOP_NEWN(&b->env->tmp, uint8_t, g->nout);
	memset(ocost, 1, g->nout);
	s->like = &apart;
	s->g = g;
	s->sargs = hop_rule_sargs(b, r);
	HOP_TRY(hop_ad_vjp(b->env, g, r->live, r->act, &joint));
	HOP_TRY(hop_ad_cut(b->env, joint, g->nparam, g->nout, NULL, ocost,
	                   a->budget > 0 ? HOP_CUT_MIN : HOP_CUT_RECOMPUTE,
	                   a->budget > 0 ? a->budget : 1, &s->cut));
	return run_fwd(b, r, s);
}

hop_status hop_bwd_call(hop_build *b, hop_rule *r)
{
	const struct saved *s = r->save;
	const hop_graph *g = s->g;
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, s->cut->nres + g->nout);
	hop_val *out = HOP_NEWN(&b->env->tmp, hop_val, g->nparam);
	uint32_t n = s->cut->nres, k = 0;
	memcpy(in, s->res, n * sizeof *in);
	for (uint32_t i = 0; i < g->nout; i++)
		if (r->live[i])
			in[n++] = hop_emit_solid(b, r->dout[i], hop_typeof(b, r->out[i]));
	if (b->st)
		return b->st;
	HOP_TRY(hop_emit_call_like(b, s->like, s->cut->bwd, s->sargs, in, out));
	for (uint32_t i = 0; i < g->nparam; i++)
		if (r->act[i])
			r->din[i] = out[k++];
	return HOP_OK;
}

hop_status hop_batch_call(hop_build *b, hop_rule *r)
{
	const struct hop_attr_call *a = HOP_ATTR(r->n, call);
	const hop_graph *g = a->body, *h;
	bool masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(g);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, g->nparam + 1);
	HOP_TRY(hop_batch_body(b, r, g, masked, r->bin, NULL, &h, r->bout));
	memcpy(in, r->in, g->nparam * sizeof *in);
	in[g->nparam] = r->mask;
	return hop_emit_call_like(b, a, h, hop_batch_sargs(b, r), in, r->out);
}

hop_status hop_batch_checkpoint(hop_build *b, hop_rule *r)
{
	struct hop_attr_checkpoint a = *HOP_ATTR(r->n, checkpoint);
	const hop_graph *g = a.body;
	bool masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(g);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, g->nparam + 1);
	HOP_TRY(hop_batch_body(b, r, g, masked, r->bin, NULL, &a.body, r->bout));
	memcpy(in, r->in, g->nparam * sizeof *in);
	in[g->nparam] = r->mask;
	a.sargs = hop_batch_sargs(b, r);
	return hop_emit_checkpoint(b, &a, in, r->out);
}
