/* sink.c -- products that a scan makes only to stack them: one product behind it.
 *
 * A y that is dot(a, c), with c the same each step and the product read nowhere else, is
 * stacked as a; the product of all rows with c follows the loop. This makes the cotangent
 * of a recurrent net's inputs one matrix product.
 *
 * needs: licm before it, so that what stays the same is an operand.  keeps: everything.
 * Taken if a is not more than twice as large as the product. Scans that may not run all
 * their steps are left alone, as in hoist.c. */
#include "opt/opt.h"
#include "opt/lift.h"

#include <string.h>

#include "ir/rule.h"

/* Which operand of the product is stacked instead of it; -1 if none may be. */
static int stacked(const hop_lift *l, const hop_node *n)
{
	if (n->op != HOP_OP_dot)
		return -1;
	for (int i = 0; i < 2; i++) {
		const hop_type *t = l->g->type[n->in[i].id];
		bool ok = l->kind[n->in[1 - i].id] == HOP_LIFT_SAME &&
		          l->kind[n->in[i].id] == HOP_LIFT_NO && t->rank < HOP_MAXRANK;
		for (int k = 0; k < t->rank; k++)
			ok = ok && hop_size_nsym(t->dim[k]) <= (int)l->g->nsym;
		if (!ok)
			continue;
		hop_env *e = l->w->env;
		const hop_type *to = l->g->type[n->out0.id];
		return hop_rw_guess(&l->w->b, hop_type_subst(e, t, l->smap, (int)l->g->nsym)) <=
		       2 * hop_rw_guess(&l->w->b, hop_type_subst(e, to, l->smap, (int)l->g->nsym))
		       ? i : -1;
	}
	return -1;
}

/* The body with the operands in place of the products. */
static hop_status restack(hop_env *e, const hop_graph *g, const int *side, uint32_t nc,
                          const hop_graph **out_g)
{
	hop_rw w;
	hop_graph *made = NULL;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_rw_open(&w, e, g);
	for (uint32_t i = 0; i < g->nnode; i++)
		if (hop_rw_copy(&w, &g->node[i]))
			break;
	for (uint32_t k = 0; k < g->nout; k++) {
		hop_val v = g->out[k];
		if (k >= nc && side[k] >= 0)
			v = g->node[g->def[v.id]].in[side[k]];
		out[k] = w.map[v.id];
	}
	hop_status st = hop_rw_seal(&w, g->nout, out, &made);
	*out_g = made;
	return st;
}

static hop_status product(hop_lift *l, const hop_node *d, int side, hop_val rows,
                          hop_val *out)
{
	bool bin[2] = { side == 0, side == 1 }, bout = false;
	hop_val in[2];
	in[side] = rows;
	in[1 - side] = l->val[d->in[1 - side].id];
	hop_rule r = { .g = l->g, .n = d, .type = l->g->type, .smap = l->smap,
	               .nsmap = (int)(l->g->nsym + l->g->nlocal), .in = in, .out = out,
	               .bin = bin, .bout = &bout, .bsize = l->length, .mask = HOP_ZERO };
	l->w->b.loc = d->loc;
	return hop_optab[d->op].batch(&l->w->b, &r);
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	hop_env *e = w->env;
	hop_form f;
	if (!hop_form_read(n, attr, &f) || !f.all)
		return hop_rw_keep(w, n, in, attr, out);
	const hop_graph *g = f.body[f.main];
	hop_lift l;
	hop_lift_open(&l, w, &f, g, in, false, *f.length);
	uint32_t *uses = HOP_NEWN(&e->tmp, uint32_t, g->nvalue);
	int *side = HOP_NEWN(&e->tmp, int, g->nout);
	bool *want = HOP_NEWN(&e->tmp, bool, g->nnode), any = false;
	for (uint32_t i = 0; i < g->nnode; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++)
			uses[g->node[i].in[k].id]++;
	for (uint32_t k = 0; k < g->nout; k++)
		uses[g->out[k].id]++;
	for (uint32_t k = 0; k < g->nout; k++) {
		uint32_t d = g->def[g->out[k].id];
		side[k] = k < f.nc || d == UINT32_MAX || uses[g->out[k].id] != 1
			? -1 : stacked(&l, &g->node[d]);
		if (side[k] < 0)
			continue;
		any = true;
		uint32_t c = g->def[g->node[d].in[1 - side[k]].id];
		if (c != UINT32_MAX)
			want[c] = true;
	}
	if (!any)
		return hop_rw_keep(w, n, in, attr, out);
	HOP_TRY(hop_lift_emit(&l, want));
	for (uint32_t k = f.nc; k < g->nout; k++)        /* what came out otherwise stays */
		if (side[k] >= 0 &&
		    l.kind[g->node[g->def[g->out[k].id]].in[1 - side[k]].id] != HOP_LIFT_SAME)
			side[k] = -1;
	HOP_TRY(restack(e, g, side, f.nc, &f.body[f.main]));
	HOP_TRY(hop_rw_keep(w, n, in, attr, out));
	for (uint32_t k = f.nc; k < g->nout && !w->b.st; k++)
		if (side[k] >= 0)
			HOP_TRY(product(&l, &g->node[g->def[g->out[k].id]], side[k], out[k], &out[k]));
	return w->b.st;
}

hop_status hop_opt_sink(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 's', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
