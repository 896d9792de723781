/* hoist.c -- products of a slice with something that stays the same: one product for all
 * steps in front of the scan, whose rows come in as one more xs.
 *
 * needs: licm before it, so that what stays the same is an operand.  keeps: everything.
 * A step's product is taken if its result is not larger than twice its operands together,
 * since the results of all steps are then in memory at once. Scans that may not run all
 * their steps are left alone: most of the product could be for nothing. */
#include "opt/opt.h"
#include "opt/lift.h"

#include <string.h>

#include "ir/rule.h"

static bool wanted(const hop_lift *l, const hop_node *n)
{
	if (n->op != HOP_OP_dot)
		return false;
	uint8_t x = l->kind[n->in[0].id], y = l->kind[n->in[1].id];
	bool mixed = (x == HOP_LIFT_SLICE && y == HOP_LIFT_SAME) ||
	             (x == HOP_LIFT_SAME && y == HOP_LIFT_SLICE);
	if (!mixed || l->g->type[n->out0.id]->rank >= HOP_MAXRANK)
		return false;
	hop_env *e = l->w->env;
	double size[3];
	const uint32_t v[3] = { n->in[0].id, n->in[1].id, n->out0.id };
	for (int i = 0; i < 3; i++)
		size[i] = hop_rw_guess(&l->w->b,
		                       hop_type_subst(e, l->g->type[v[i]], l->smap,
		                                      (int)(l->g->nsym + l->g->nlocal)));
	return size[2] <= 2 * (size[0] + size[1]);
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	hop_env *e = w->env;
	hop_form f;
	if (!hop_form_read(n, attr, &f) || !f.all)
		return hop_rw_keep(w, n, in, attr, out);
	const hop_graph *body = f.body[f.main];
	hop_lift l;
	hop_lift_open(&l, w, &f, body, in, true, *f.length);
	bool *want = HOP_NEWN(&e->tmp, bool, body->nnode), any = false;
	for (uint32_t i = 0; i < body->nnode; i++)
		any |= want[i] = body->node[i].nout == 1 && wanted(&l, &body->node[i]) &&
		                 l.kind[body->node[i].out0.id] == HOP_LIFT_SLICE;
	if (!any)
		return hop_rw_keep(w, n, in, attr, out);
	HOP_TRY(hop_lift_emit(&l, want));

	uint32_t nmore = 0, at = f.nc + f.nx;
	int32_t *repl = HOP_NEWN(&e->tmp, int32_t, body->nvalue);
	hop_val *all = HOP_NEWN(&e->tmp, hop_val, n->nin + body->nnode);
	const hop_type **type = HOP_NEWN(&e->tmp, const hop_type *, body->nnode);
	for (uint32_t i = 0; i < body->nvalue; i++)
		repl[i] = -1;
	memcpy(all, in, at * sizeof *all);
	for (uint32_t i = 0; i < body->nnode; i++) {
		uint32_t v = body->node[i].out0.id;
		if (!want[i] || l.kind[v] != HOP_LIFT_SLICE)
			continue;
		repl[v] = (int32_t)nmore;
		type[nmore] = body->type[v];
		all[at + nmore++] = l.val[v];
	}
	memcpy(all + at + nmore, in + at, (n->nin - at) * sizeof *all);
	HOP_TRY(hop_rw_widen(e, body, at, nmore, type, repl, &f.body[f.main]));
	hop_sig_count(n->op, attr, HOP_R_x, f.nx + nmore);
	hop_node wide = *n;
	wide.nin += nmore;
	return hop_rw_keep(w, &wide, all, attr, out);
}

hop_status hop_opt_hoist(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'h', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
