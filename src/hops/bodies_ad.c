/* bodies_ad.c -- what every operator does by its signature: which results depend on which
 * operands, and forward mode. Tangents stand behind their values in each role: a carry's
 * tangent is a carry, a slice's a slice. Of what is combined, a leaf is active as init, as slice
 * and as result, or in none of them. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

/* Which parameters of a body are active, given which operands of the node are. */
static const bool *params(hop_env *e, const hop_roles *node, const hop_roles *body,
                          const bool *act)
{
	hop_span x = node->in.x, s = node->in.same, left = body->in.left;
	if (!left.n)
		return act + node->lead;
	bool *p = HOP_NEWN(&e->tmp, bool, 2 * left.n + s.n);
	memcpy(p + left.at, act + x.at, x.n);
	memcpy(p + body->in.right.at, act + x.at, x.n);
	memcpy(p + body->in.same.at, act + s.at, s.n);
	return p;
}

/* One round of the fix-point for operands that results feed: those at `in`, of which there may
 * be none, at `too`, and the results at `out` are active together. */
static bool together(bool *act, hop_span in, hop_span too, bool *res, hop_span out)
{
	bool more = false;
	for (uint32_t k = 0; k < out.n; k++) {
		bool *a = in.n ? &act[in.at + k] : &act[too.at + k], *b = &act[too.at + k];
		bool any = *a || *b || res[out.at + k];
		more |= any && !(*a && *b);
		*a = *b = res[out.at + k] = any;
	}
	return more;
}

/* act: which operands are active; grows by the carries that a step makes so. out: which
 * results. */
static void reach(hop_env *e, const hop_node *n, bool *act, bool *out)
{
	hop_roles node, body;
	hop_graphs sub = hop_node_subs(n);
	hop_node_roles(n, &node);
	for (bool more = true; more; ) {
		more = false;
		for (int j = 0; j < sub.n; j++) {
			hop_body_roles(n, j, &body);
			if (!hop_sig_gives(&body))
				continue;
			bool *res = HOP_NEWN(&e->tmp, bool, sub.v[j]->nout);
			hop_ad_active(e, sub.v[j], params(e, &node, &body, act), res);
			for (uint32_t k = 0; k < sub.v[j]->nout; k++) {
				uint32_t to = hop_sig_result(&node, &body, k);
				if (to != UINT32_MAX)
					out[to] |= res[k];
			}
		}
		more |= together(act, node.in.carry, node.in.carry, out, node.out.carry);
		more |= together(act, node.in.init, node.in.x, out, node.out.left);
	}
}

void hop_active_bodies(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	hop_mark m = hop_mark_at(&e->tmp);
	bool *act = hop_arena_dup(&e->tmp, in, n->nin * sizeof *in);
	memset(out, 0, n->nout * sizeof *out);
	reach(e, n, act, out);
	hop_rewind(&e->tmp, m);
}

/* Values of a list, each role followed by its tangents where on[] says so. from: values,
 * then tangents in their order. Returns how many. */
static uint32_t pair(const hop_spans *s, const bool *on, const hop_val *from,
                     const uint32_t *tangent, hop_val *out)
{
	uint32_t n = 0;
	for (int g = 0; g < s->n; g++) {
		hop_span p = s->by[s->order[g]];
		for (uint32_t i = p.at; i < p.at + p.n; i++)
			out[n++] = from[i];
		for (uint32_t i = p.at; i < p.at + p.n; i++)
			if (on[i])
				out[n++] = from[tangent[i]];
	}
	return n;
}

/* Where the tangents stand that come behind n values. */
static uint32_t *places(hop_env *e, const bool *on, uint32_t n, uint32_t *out_n)
{
	uint32_t *at = HOP_NEWN(&e->tmp, uint32_t, n), k = n;
	for (uint32_t i = 0; i < n; i++)
		at[i] = on[i] ? k++ : 0;
	*out_n = k;
	return at;
}

/* A body that takes tangents, and gives those of the results in live (NULL: it gives none,
 * and ignores what it takes). */
static hop_status widen(hop_env *e, const hop_graph *g, const hop_roles *r, const bool *act,
                        const bool *live, const hop_graph **out_g)
{
	hop_build b;
	hop_graph *made;
	const hop_graph *j = g;
	uint32_t np, no = g->nout, *pat = places(e, act, g->nparam, &np), *oat = NULL, n = 0;
	if (live) {
		oat = places(e, live, g->nout, &no);
		HOP_TRY(hop_ad_jvp(e, g, act, live, &j));
	}
	hop_body_open(&b, e, g);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np), *res = HOP_NEWN(&e->tmp, hop_val, no);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, no);
	for (int k = 0; k < r->in.n; k++) {
		hop_span p = r->in.by[r->in.order[k]];
		for (uint32_t i = p.at; i < p.at + p.n; i++)
			in[i] = hop_build_param(&b, g->type[i]);
		for (uint32_t i = p.at; i < p.at + p.n; i++)
			if (act[i])
				in[pat[i]] = hop_build_param(&b, g->type[i]);
	}
	hop_body_inline(&b, j, in, live ? res : out);
	n = live ? pair(&r->out, live, res, oat, out) : g->nout;
	HOP_TRY(hop_seal(&b, n, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

static hop_status widen_bodies(hop_env *e, const hop_node *n, const bool *act,
                               const bool *outs, const hop_graph **sub, int nsub)
{
	hop_roles node, body;
	hop_node_roles(n, &node);
	for (int j = 0; j < nsub; j++) {
		hop_body_roles(n, j, &body);
		bool *live = NULL;
		if (hop_sig_gives(&body)) {
			live = HOP_NEWN(&e->tmp, bool, sub[j]->nout);
			for (uint32_t k = 0; k < sub[j]->nout; k++) {
				uint32_t from = hop_sig_result(&node, &body, k);
				live[k] = from != UINT32_MAX && outs[from];
			}
		}
		HOP_TRY(widen(e, sub[j], &body, params(e, &node, &body, act), live, &sub[j]));
	}
	return HOP_OK;
}

/* jvp (op x) = op' (x dx), with bodies that carry tangents along. */
hop_status hop_jvp_bodies(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	const hop_node *n = r->n;
	hop_roles node;
	int nsub;
	uint32_t nt, k = 0;
	bool *outs = HOP_NEWN(&e->tmp, bool, n->nout);
	bool *act = hop_arena_dup(&e->tmp, r->act, n->nin * sizeof *r->act);
	hop_node_roles(n, &node);
	reach(e, n, act, outs);
	void *attr = hop_rule_attr(b, r);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	HOP_TRY(widen_bodies(e, n, act, outs, sub, nsub));

	uint32_t *at = places(e, act, n->nin, &nt);
	hop_val *from = HOP_NEWN(&e->tmp, hop_val, nt), *in = HOP_NEWN(&e->tmp, hop_val, nt);
	memcpy(from, r->in, n->nin * sizeof *from);
	for (uint32_t i = 0; i < n->nin; i++)
		if (act[i])
			from[at[i]] = hop_emit_solid(b, r->din[i], hop_typeof(b, r->in[i]));
	for (int g = 0; g < node.in.n; g++) {
		hop_span p = node.in.by[node.in.order[g]];
		uint32_t more = 0;
		for (uint32_t i = p.at; i < p.at + p.n; i++)
			more += act[i];
		hop_sig_count(n->op, attr, node.in.order[g], p.n + more);
	}
	uint32_t nin = pair(&node.in, act, from, at, in);
	hop_val v = hop_emit_op(b, n->op, attr, nin, in);
	if (b->st)
		return b->st;
	for (int g = 0; g < node.out.n; g++) {
		hop_span p = node.out.by[node.out.order[g]];
		for (uint32_t i = p.at; i < p.at + p.n; i++)
			r->out[i] = (hop_val){ v.id + k++ };
		for (uint32_t i = p.at; i < p.at + p.n; i++)
			if (outs[i])
				r->dout[i] = (hop_val){ v.id + k++ };
	}
	return HOP_OK;
}
