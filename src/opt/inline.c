/* inline.c -- callees where they are called: small ones, and those called from one place, unless
 * the call says otherwise.
 *
 * needs: nothing.  keeps: everything.  A callee used from several places stays one graph,
 * compiled once. How often one is called depends on the whole graph, so the memo is of
 * this run and not of the context. */
#include "opt/opt.h"
#include "opt/rewrite.h"

#include "ir/rule.h"

enum { SMALL = 8 };          /* nodes */

struct run {
	hop_env *env;
	hop_map  calls;      /* body -> number of call nodes + 1 */
	hop_map  seen;       /* graphs counted */
	hop_map  done;       /* graph -> the same with its calls inlined */
};

static void count(struct run *r, const hop_graph *g)
{
	if (hop_map_get(&r->seen, &g, sizeof g))
		return;
	hop_map_put(&r->seen, &g, sizeof g, r);
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		for (int64_t j = 0; j < sub.n; j++) {
			const hop_graph *s = sub.v[j];
			if (!s)
				continue;
			count(r, s);
			uintptr_t n = (uintptr_t)hop_map_get(&r->calls, &s, sizeof s);
			hop_map_put(&r->calls, &s, sizeof s, (void *)(n + 1));
		}
	}
}

static hop_status walk(struct run *r, const hop_graph *g, const hop_graph **out_g);

static bool types_kept(hop_rw *w, const hop_node *n)
{
	for (uint32_t k = 0; k < n->nout; k++)
		if (hop_typeof(&w->b, w->map[n->out0.id + k]) != hop_rw_type(w, n, k))
			return false;
	return true;
}

static hop_status node(struct run *r, hop_rw *w, const hop_node *n)
{
	hop_env *e = r->env;
	int nsub;
	if (!(hop_optab[n->op].flags & HOP_F_R))
		return hop_rw_copy(w, n);
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, NULL, -1);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub), *callee = sub[0];
	hop_form f;
	for (int i = 0; i < nsub; i++)
		if (sub[i])
			HOP_TRY(walk(r, sub[i], &sub[i]));
	hop_node copy = *n;
	copy.attr = attr;
	if (hop_form_read(n, attr, &f) && !f.r.loop && !f.lead &&      /* it runs, and once */
	    !hop_call_apart(n)) {
		const hop_graph *body = f.body[f.main];
		bool single = (uintptr_t)hop_map_get(&r->calls, &callee, sizeof callee) == 1;
		hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin);
		hop_size *v = HOP_NEWN(&e->tmp, hop_size, f.sargs.n);
		for (uint32_t k = 0; k < n->nin; k++)
			in[k] = w->map[n->in[k].id];
		for (int64_t k = 0; k < f.sargs.n; k++)
			v[k] = hop_size_subst(e, f.sargs.v[k], w->smap, w->nsmap);
		w->b.loc = n->loc;
		if ((single || body->nnode <= SMALL) &&
		    hop_rw_inline(w, body, (hop_sizes){ f.sargs.n, v }, in,
		                  w->map + n->out0.id) &&
		    (w->b.st || body->has_effect || types_kept(w, n)))
			return w->b.st;
	}
	return hop_rw_copy(w, &copy);
}

static hop_status walk(struct run *r, const hop_graph *g, const hop_graph **out_g)
{
	hop_env *e = r->env;
	const hop_graph *old = hop_map_get(&r->done, &g, sizeof g);
	if (old) {
		*out_g = old;
		return HOP_OK;
	}
	hop_rw w;
	hop_graph *made;
	hop_status st = HOP_OK;
	hop_rw_open(&w, e, g);
	for (uint32_t i = 0; i < g->nnode && !st; i++)
		st = node(r, &w, &g->node[i]);
	HOP_TRY(hop_rw_end(&w, st, &made));
	hop_map_put(&r->done, &g, sizeof g, made);
	*out_g = made;
	return HOP_OK;
}

hop_status hop_opt_inline(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct run r = { .env = e, .calls.a = &e->tmp, .seen.a = &e->tmp, .done.a = &e->tmp };
	count(&r, g);
	hop_status st = walk(&r, g, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}
