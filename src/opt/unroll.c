/* unroll.c -- scans that run several steps at a time, where they or the region around them say so.
 *
 * needs: nothing.  keeps: everything.  What a region says holds for all in it, calls too, that do
 * not say something else; so the same body may be made in several ways, and the memo is of this
 * run and not of the context. Afterwards nothing says it any more. */
#include "opt/opt.h"
#include "opt/rewrite.h"

#include <string.h>

#include "hops/scan_group.h"
#include "ir/rule.h"

struct run {
	hop_env *env;
	hop_map  done;           /* graph and steps at a time -> the same graph with them */
};

static hop_status walk(struct run *r, const hop_graph *g, int64_t k, const hop_graph **out_g);

static bool types_kept(hop_rw *w, const hop_node *n, const hop_val *out)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (hop_typeof(&w->b, out[i]) != hop_rw_type(w, n, i))
			return false;
	return true;
}

/* n with the bodies in attr, k steps at a time. False, and nothing has an effect, if that would
 * rest on a condition of its own or have other types. */
static bool grouped(hop_rw *w, const hop_node *n, const void *attr, int64_t k)
{
	hop_env *e = w->env;
	hop_steps s;
	if (!hop_steps_read(n->op, attr, n->nin, &s) || (n->nout && hop_node_binds(n) >= 0))
		return false;
	if (!hop_size_const(s.length) && hop_node_effect(n))
		return false;                  /* it could not be taken back */
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin), *out = HOP_NEWN(&e->tmp, hop_val, n->nout);
	hop_size *v = HOP_NEWN(&e->tmp, hop_size, s.sargs.n);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = w->map[n->in[i].id];
	for (int64_t i = 0; i < s.sargs.n; i++)
		v[i] = hop_size_subst(e, s.sargs.v[i], w->smap, w->nsmap);
	hop_scan_args a = { .body = s.body, .sargs = { s.sargs.n, v }, .ncarry = s.nc, .nx = s.nx,
	                    .nconst = s.nk, .length = hop_size_subst(e, s.length, w->smap, w->nsmap),
	                    .reverse = s.reverse, .stops = s.stops, .every = s.every,
	                    .slots = s.slots, .count = s.lead ? in[0] : HOP_ZERO,
	                    .carry = in + s.lead, .x = in + s.lead + s.nc,
	                    .konst = in + s.lead + s.nc + s.nx };
	w->b.loc = n->loc;
	w->b.firm = true;
	hop_status st = hop_emit_scan_group(&w->b, &a, k, out);
	w->b.firm = false;
	if (st == HOP_ESHAPE) {
		w->b.st = HOP_OK;
		hop_diag_clear(e);
	}
	if (st || !types_kept(w, n, out))
		return false;
	memcpy(w->map + n->out0.id, out, n->nout * sizeof *out);
	return true;
}

static hop_status node(struct run *r, hop_rw *w, const hop_node *n, int64_t k)
{
	hop_env *e = r->env;
	int nsub;
	if (!(hop_optab[n->op].flags & HOP_F_R))
		return hop_rw_copy(w, n);
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, NULL, -1);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	struct hop_attr_call *c = n->op == HOP_OP_call ? attr : NULL;
	struct hop_attr_scan *s = n->op == HOP_OP_scan ? attr : NULL;
	int64_t *says = c ? &c->unroll : s ? &s->unroll : NULL, own = says && *says ? *says : k;
	if (says)
		*says = 0;
	for (int i = 0; i < nsub; i++)
		if (sub[i])
			HOP_TRY(walk(r, sub[i], c ? own : k, &sub[i]));
	if (s && own > 1 && grouped(w, n, attr, own))
		return HOP_OK;
	if (w->b.st)
		return w->b.st;
	hop_node copy = *n;
	copy.attr = attr;
	return hop_rw_copy(w, &copy);
}

static hop_status walk(struct run *r, const hop_graph *g, int64_t k, const hop_graph **out_g)
{
	struct { const hop_graph *g; int64_t k; } key = { g, k };
	hop_env *e = r->env;
	const hop_graph *old = hop_map_get(&r->done, &key, sizeof key);
	if (old || (k < 2 && !(g->holds & HOP_HOLDS_UNROLL))) {
		*out_g = old ? old : g;
		return HOP_OK;
	}
	hop_rw w;
	hop_graph *made;
	hop_status st = HOP_OK;
	hop_rw_open(&w, e, g);
	for (uint32_t i = 0; i < g->nnode && !st; i++)
		st = node(r, &w, &g->node[i], k);
	HOP_TRY(hop_rw_end(&w, st, &made));
	hop_map_put(&r->done, &key, sizeof key, made);
	*out_g = made;
	return HOP_OK;
}

hop_status hop_opt_unroll(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct run r = { .env = e, .done.a = &e->tmp };
	hop_status st = walk(&r, g, 0, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}
