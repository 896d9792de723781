/* hoist.c -- products of a slice with something that stays the same: one product for all
 * steps in front of the scan, whose rows come in as one more xs.
 *
 * needs: licm before it, so that what stays the same is an operand.  keeps: everything.
 * A step's product is taken if its result is not larger than twice its operands together,
 * since the results of all steps are then in memory at once; and if the slice is not much larger
 * than the xs that it is made of, for the same reason: what a loop makes of few numbers, it
 * made to save memory. Scans that may not run all their steps are left alone: most of the
 * product could be for nothing. */
#include "opt/opt.h"
#include "opt/lift.h"

#include <string.h>

#include "ir/rule.h"

enum { SWELLS = 8 };                   /* a slice so many times as large as what it is made of */

static double guess(const hop_lift *l, uint32_t v)
{
	return hop_rw_guess(&l->w->b, hop_type_subst(l->w->env, l->g->type[v], l->smap,
	                                             (int)(l->g->nsym + l->g->nlocal)));
}

/* Elements of a step's slices of all xs. */
static double slices(const hop_lift *l)
{
	double n = 0;
	for (uint32_t i = 0; i < l->g->nparam; i++)
		n += l->kind[i] == HOP_LIFT_SLICE ? guess(l, i) : 0;
	return n;
}

static bool wanted(const hop_lift *l, const hop_node *n)
{
	if (n->op != HOP_OP_dot)
		return false;
	uint8_t x = l->kind[n->in[0].id], y = l->kind[n->in[1].id];
	bool mixed = (x == HOP_LIFT_SLICE && y == HOP_LIFT_SAME) ||
	             (x == HOP_LIFT_SAME && y == HOP_LIFT_SLICE);
	if (!mixed || l->g->type[n->out0.id]->rank >= HOP_MAXRANK)
		return false;
	double left = guess(l, n->in[0].id), right = guess(l, n->in[1].id);
	double slice = x == HOP_LIFT_SLICE ? left : right;
	return guess(l, n->out0.id) <= 2 * (left + right) && slice <= SWELLS * slices(l);
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
