/* licm.c -- costly work of a loop body that is the same every time moves in front of the
 * loop and comes in as one more operand.
 *
 * needs: nothing.  keeps: everything.  Only what runs to an end moves, since the loop may
 * not run at all; cheap nodes move only below a costly one. Views and repeated scalars
 * stay: they cost nothing where they are used. */
#include "opt/opt.h"
#include "opt/lift.h"

#include <string.h>

#include "ir/rule.h"

/* The new operands of one loop. */
struct more {
	uint32_t         n;
	hop_val         *val;        /* outside */
	const hop_type **type;       /* as the bodies see them */
};

/* Emit the costly constant part of one body; repl says which values it replaces. */
static hop_status lift_body(hop_rw *w, const hop_loop_form *f, const hop_graph *body,
                            const hop_val *in, struct more *m, int32_t *repl)
{
	hop_lift l;
	bool any = false, *want = HOP_NEWN(&w->env->tmp, bool, body->nnode);
	hop_lift_open(&l, w, f, body, in, false, hop_size_of(0));
	for (uint32_t i = 0; i < body->nnode; i++) {
		const hop_node *n = &body->node[i];
		want[i] = n->nout && l.kind[n->out0.id] == HOP_LIFT_SAME && n->nin &&
		          hop_lift_heavy(body, n);
		any |= want[i];
	}
	if (any)
		HOP_TRY(hop_lift_emit(&l, want));
	for (uint32_t i = 0; i < body->nnode; i++) {
		const hop_node *n = &body->node[i];
		if (!want[i] || l.kind[n->out0.id] == HOP_LIFT_NO)
			continue;
		for (uint32_t k = 0; k < n->nout; k++) {
			repl[n->out0.id + k] = (int32_t)m->n;
			m->val[m->n] = l.val[n->out0.id + k];
			m->type[m->n++] = body->type[n->out0.id + k];
		}
	}
	return HOP_OK;
}

static int32_t *none(hop_env *e, const hop_graph *g)
{
	int32_t *r = HOP_NEWN(&e->tmp, int32_t, g->nvalue);
	for (uint32_t i = 0; i < g->nvalue; i++)
		r[i] = -1;
	return r;
}

/* Drop those of the new parameters that nothing reads: inner parts of what moved. */
static hop_status trim(hop_env *e, struct more *m, uint32_t np, const hop_graph **body,
                       const hop_graph **test)
{
	uint32_t all = np + m->n, k = 0;
	bool *used = HOP_NEWN(&e->tmp, bool, all), *more = HOP_NEWN(&e->tmp, bool, all);
	int32_t *pmap = HOP_NEWN(&e->tmp, int32_t, all);
	hop_rw_needs(e, *body, NULL, used);
	if (*test)
		hop_rw_needs(e, *test, NULL, more);
	for (uint32_t i = 0; i < all; i++) {
		bool keep = i < np || used[i] || more[i];
		pmap[i] = keep ? (int32_t)(np + k) : -1;
		if (i < np) {
			pmap[i] = (int32_t)i;
		} else if (keep) {
			m->val[k++] = m->val[i - np];
		}
	}
	m->n = k;
	const hop_graph **g[2] = { body, test };
	for (int j = 0; j < 2 && *g[j]; j++) {
		uint32_t *sel = HOP_NEWN(&e->tmp, uint32_t, (*g[j])->nout);
		for (uint32_t i = 0; i < (*g[j])->nout; i++)
			sel[i] = i;
		HOP_TRY(hop_rw_reform(e, *g[j], pmap, np + k, (*g[j])->nout, sel, g[j]));
	}
	return HOP_OK;
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	hop_env *e = w->env;
	hop_loop_form f;
	if (!hop_loop_read(n->op, attr, &f))
		return hop_rw_keep(w, n, in, attr, out);
	uint32_t np = n->nin - f.lead, room = f.body->nvalue + (f.test ? f.test->nvalue : 0);
	struct more m = { 0, HOP_NEWN(&e->tmp, hop_val, room),
	                  HOP_NEWN(&e->tmp, const hop_type *, room) };
	int32_t *rb = none(e, f.body), *rt = f.test ? none(e, f.test) : NULL;
	HOP_TRY(lift_body(w, &f, f.body, in + f.lead, &m, rb));
	if (f.test)
		HOP_TRY(lift_body(w, &f, f.test, in + f.lead, &m, rt));
	if (!m.n)
		return hop_rw_keep(w, n, in, attr, out);
	HOP_TRY(hop_rw_widen(e, f.body, np, m.n, m.type, rb, &f.body));
	if (f.test)
		HOP_TRY(hop_rw_widen(e, f.test, np, m.n, m.type, rt, &f.test));
	HOP_TRY(trim(e, &m, np, &f.body, &f.test));
	hop_val *all = HOP_NEWN(&e->tmp, hop_val, n->nin + m.n);
	memcpy(all, in, n->nin * sizeof *in);
	memcpy(all + n->nin, m.val, m.n * sizeof *all);
	int k = 0, nsub;
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	if (f.test)
		sub[k++] = f.test;
	sub[k] = f.body;
	hop_node wide = *n;
	wide.nin += m.n;
	return hop_rw_keep(w, &wide, all, attr, out);
}

hop_status hop_opt_licm(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'l', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
