/* cond_ad.c -- cond and switch under vjp and batch: transform all bodies, re-emit.
 *
 * vjp: forward, the same choice of the bodies' forward halves; what they save shares result
 * slots of equal type, and a slot a branch does not use is filled and never read. Inputs are
 * not returned as residuals: the backward node reads them where they are. */
#include "ad/ad.h"
#include "hops/batch.h"

#include <string.h>

/* ---- reverse ---- */

struct saved {
	int             n;
	hop_graphs      body;
	const hop_cut **cut;           /* [n] */
	uint32_t        nslot;
	const hop_type **slot;         /* types, over the bodies' symbols */
	uint32_t      **at;            /* [n][nextra] the slot of each extra */
	hop_val        *slots;         /* values in the outer graph */
	hop_sizes       sargs;
};

/* Give every extra of every branch a slot; branches share slots of equal type. */
static void assign_slots(hop_build *b, struct saved *s, uint32_t no)
{
	uint32_t total = 0;
	for (int k = 0; k < s->n; k++)
		total += s->cut[k]->nextra;
	s->slot = HOP_NEWN(&b->arena, const hop_type *, total);
	for (int k = 0; k < s->n; k++) {
		const hop_cut *c = s->cut[k];
		bool *used = HOP_NEWN(&b->env->tmp, bool, total);
		s->at[k] = HOP_NEWN(&b->arena, uint32_t, c->nextra);
		for (uint32_t i = 0; i < c->nextra; i++) {
			const hop_type *t = hop_graph_out_type(c->fwd, no + i);
			uint32_t j = 0;
			while (j < s->nslot && (used[j] || s->slot[j] != t))
				j++;
			if (j == s->nslot)
				s->slot[s->nslot++] = t;
			used[j] = true;
			s->at[k][i] = j;
		}
	}
}

static hop_status fwd_body(hop_env *e, const struct saved *s, int k, const hop_graph **out_g)
{
	const hop_graph *g = s->cut[k]->fwd;
	uint32_t no = s->body.v[k]->nout;
	hop_graph *made;
	hop_build b;
	hop_body_open(&b, e, g);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *mid = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, no + s->nslot);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_body_inline(&b, g, in, mid);
	memcpy(out, mid, no * sizeof *out);
	for (uint32_t i = 0; i < s->nslot; i++)
		out[no + i] = HOP_ZERO;
	for (uint32_t i = 0; i < s->cut[k]->nextra; i++)
		out[no + s->at[k][i]] = mid[no + i];
	for (uint32_t i = 0; i < s->nslot; i++)
		out[no + i] = hop_emit_solid(&b, out[no + i], s->slot[i]);
	HOP_TRY(hop_seal(&b, no + s->nslot, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

hop_status hop_fwd_cond(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	s->body = hop_node_subs(r->n);
	s->n = (int)s->body.n;
	s->cut = HOP_NEWN(&b->arena, const hop_cut *, s->n);
	s->at = HOP_NEWN(&b->arena, uint32_t *, s->n);
	uint32_t np = s->body.v[0]->nparam, no = s->body.v[0]->nout;
	const hop_graph **body = HOP_NEWN(&e->tmp, const hop_graph *, s->n);
	for (int k = 0; k < s->n; k++) {
		const hop_graph *joint;
		HOP_TRY(hop_ad_vjp(e, s->body.v[k], r->live, r->act + 1, &joint));
		HOP_TRY(hop_ad_cut(e, joint, np, no, NULL, NULL, HOP_CUT_MIN | HOP_CUT_MAYBE, 1,
		                   &s->cut[k]));
	}
	assign_slots(b, s, no);
	for (int k = 0; k < s->n; k++)
		HOP_TRY(fwd_body(e, s, k, &body[k]));
	hop_val *out = HOP_NEWN(&b->arena, hop_val, no + s->nslot);
	s->sargs = hop_rule_sargs(b, r);
	HOP_TRY(hop_emit_branches(b, r->n, body, s->sargs, r->in[0], r->in + 1, out));
	memcpy(r->out, out, no * sizeof *out);
	s->slots = out + no;
	r->save = s;
	return b->st;
}

/* Parameters of a backward body: operands, results, slots, cotangents of live results. */
static hop_status bwd_body(hop_env *e, const struct saved *s, int k, const bool *live,
                           const hop_graph **out_g)
{
	const hop_graph *g = s->cut[k]->bwd, *orig = s->body.v[k];
	uint32_t np = orig->nparam, no = orig->nout, nres = s->cut[k]->nres, n = nres;
	hop_graph *made;
	hop_build b;
	hop_body_open(&b, e, g);
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, np + no + s->nslot);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	for (uint32_t i = 0; i < np; i++)
		p[i] = hop_build_param(&b, orig->type[i]);
	for (uint32_t i = 0; i < no; i++)
		p[np + i] = hop_build_param(&b, hop_graph_out_type(orig, i));
	for (uint32_t i = 0; i < s->nslot; i++)
		p[np + no + i] = hop_build_param(&b, s->slot[i]);
	for (uint32_t i = 0; i < no; i++)
		if (live[i])
			in[n++] = hop_build_param(&b, hop_graph_out_type(orig, i));
	for (uint32_t i = 0; i < nres; i++) {
		hop_res q = s->cut[k]->res[i];
		in[i] = q.kind == HOP_RES_PARAM ? p[q.index]
		      : q.kind == HOP_RES_OUT ? p[np + q.index] : p[np + no + s->at[k][q.index]];
	}
	hop_body_inline(&b, g, in, out);
	HOP_TRY(hop_seal(&b, g->nout, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

hop_status hop_bwd_cond(hop_build *b, hop_rule *r)
{
	const struct saved *s = r->save;
	hop_env *e = b->env;
	uint32_t np = s->body.v[0]->nparam, no = s->body.v[0]->nout, n = 0, k = 0;
	const hop_graph **body = HOP_NEWN(&e->tmp, const hop_graph *, s->n);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np + 2 * no + s->nslot);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, np);
	for (int j = 0; j < s->n; j++)
		HOP_TRY(bwd_body(e, s, j, r->live, &body[j]));
	for (uint32_t i = 0; i < np; i++)
		in[n++] = r->in[i + 1];
	for (uint32_t i = 0; i < no; i++)
		in[n++] = r->out[i];
	for (uint32_t i = 0; i < s->nslot; i++)
		in[n++] = s->slots[i];
	for (uint32_t i = 0; i < no; i++)
		if (r->live[i])
			in[n++] = hop_emit_solid(b, r->dout[i], hop_typeof(b, r->out[i]));
	if (b->st)
		return b->st;
	HOP_TRY(hop_emit_branches(b, r->n, body, s->sargs, r->in[0], in, out));
	for (uint32_t i = 0; i < np; i++)
		if (r->act[i + 1])
			r->din[i + 1] = out[k++];
	return HOP_OK;
}

/* ---- batching ---- */

/* One choice for all lanes: still one. All bodies must batch the same results. */
static hop_status batch_shared(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	hop_graphs sub = hop_node_subs(r->n);
	uint32_t np = sub.v[0]->nparam, no = sub.v[0]->nout;
	bool masked = false;
	bool *x = HOP_NEWN(&e->tmp, bool, no), *y = HOP_NEWN(&e->tmp, bool, no);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np + 1);
	const hop_graph **body = HOP_NEWN(&e->tmp, const hop_graph *, sub.n);
	for (int j = 0; j < sub.n; j++)
		masked |= !hop_is_zero(r->mask) && hop_ad_needs_mask(sub.v[j]);
	for (int j = 0; j < sub.n; j++) {
		HOP_TRY(hop_batch_body(b, r, sub.v[j], masked, r->bin + 1, NULL, &body[j], y));
		for (uint32_t i = 0; i < no; i++)
			x[i] |= y[i];
	}
	for (int j = 0; j < sub.n; j++)
		HOP_TRY(hop_batch_body(b, r, sub.v[j], masked, r->bin + 1, x, &body[j], r->bout));
	memcpy(in, r->in + 1, np * sizeof *in);
	in[np] = r->mask;
	return hop_emit_branches(b, r->n, body, hop_batch_sargs(b, r), r->in[0], in, r->out);
}

hop_status hop_batch_empty(hop_env *e, const hop_graph *g, hop_graph **out_g)
{
	hop_build b;
	hop_body_open_wide(&b, e, g);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	for (uint32_t i = 0; i < g->nparam; i++)
		hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = hop_emit_zeros(&b, hop_graph_out_type(g, i));
	return hop_seal(&b, g->nout, out, NULL, out_g);
}

/* A branch that no lane takes would compute with whatever lane 0 has, and nonsense times a
 * zero cotangent is NaN. Only a branch of linear ops, whose reverse multiplies by nothing
 * it read, may run without a test; and only if it has nothing to refuse. */
static bool worth_test(const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_opinfo *o = &hop_optab[g->node[i].op];
		if (!(o->flags & HOP_F_L) && (o->jvp != hop_jvp_zero || o->flags & HOP_F_X))
			return true;
	}
	return false;
}

/* Run one branch for the lanes of mask m, on operands that are safe in the others. */
static hop_status run_branch(hop_build *b, hop_rule *r, const hop_graph *g, hop_val m,
                             hop_val *out)
{
	hop_env *e = b->env;
	bool *all = HOP_NEWN(&e->tmp, bool, g->nout), *bo = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam + 1);
	const hop_graph *h;
	hop_graph *none;
	bool masked = hop_ad_needs_mask(g);
	memset(all, 1, g->nout);
	HOP_TRY(hop_batch_body(b, r, g, masked, r->bin + 1, all, &h, bo));
	hop_val some = hop_emit_some_lane(b, m);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = r->bin[i + 1] ? hop_emit_safe(b, m, some, r->in[i + 1]) : r->in[i + 1];
	in[g->nparam] = m;
	if (b->st)
		return b->st;
	if (!worth_test(g) && hop_build_accepts(b, g, hop_rule_sargs(b, r)))
		return hop_emit_call(b, h, hop_batch_sargs(b, r), in, out);
	HOP_TRY(hop_batch_empty(e, h, &none));
	return hop_emit_cond(b, h, none, hop_batch_sargs(b, r), hop_emit_any(b, m), in, out);
}

/* Which lanes take branch j: an index out of range means the first or the last. */
static hop_val taken(hop_build *b, const hop_rule *r, int j, int n)
{
	hop_val p = r->in[0];
	if (r->n->op == HOP_OP_cond)
		return j ? hop_emit(b, not, p) : p;
	hop_val k = hop_emit_lead(b, hop_emit_const_i(b, HOP_i64, j), r->bsize);
	if (b->st || n == 1)
		return b->st ? HOP_BAD : hop_emit(b, eq, k, k);
	return j == 0 ? hop_emit(b, le, p, k) : j == n - 1 ? hop_emit(b, le, k, p)
	                                                  : hop_emit(b, eq, p, k);
}

/* A choice a lane: run all branches, each masked to its lanes, and select. */
static hop_status batch_split(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	hop_graphs sub = hop_node_subs(r->n);
	int n = (int)sub.n;
	uint32_t no = sub.v[0]->nout;
	hop_val *mine = HOP_NEWN(&e->tmp, hop_val, n);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, (uint32_t)n * no);
	for (int j = 0; j < n; j++)
		mine[j] = taken(b, r, j, n);
	for (int j = 0; j < n && !b->st; j++) {          /* in order, for their effects */
		hop_val m = hop_is_zero(r->mask) ? mine[j] : hop_emit(b, and, mine[j], r->mask);
		HOP_TRY(run_branch(b, r, sub.v[j], m, res + (uint32_t)j * no));
	}
	for (uint32_t i = 0; i < no && !b->st; i++) {
		r->out[i] = res[(uint32_t)(n - 1) * no + i];
		for (int j = n - 1; j-- > 0; )
			r->out[i] = hop_emit_lanes(b, mine[j], res[(uint32_t)j * no + i], r->out[i]);
	}
	memset(r->bout, 1, no);
	return b->st;
}

hop_status hop_batch_cond(hop_build *b, hop_rule *r)
{
	if (!r->bin[0])
		return batch_shared(b, r);
	return hop_partition_fits(r) ? hop_batch_partition(b, r) : batch_split(b, r);
}
