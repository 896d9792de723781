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
static hop_status lift_body(hop_rw *w, const hop_form *f, const hop_graph *body,
                            const hop_val *in, struct more *m, int32_t *repl)
{
	hop_lift l;
	bool any = false, *want = HOP_NEWN(&w->env->tmp, bool, body->nnode);
	hop_lift_open(&l, w, f, body, in, false, hop_size_int(0));
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
static hop_status trim(hop_env *e, struct more *m, uint32_t np, int nbody,
                       const hop_graph **body)
{
	uint32_t all = np + m->n, k = 0;
	bool *used = HOP_NEWN(&e->tmp, bool, all), *one = HOP_NEWN(&e->tmp, bool, all);
	int32_t *pmap = HOP_NEWN(&e->tmp, int32_t, all);
	for (int j = 0; j < nbody; j++) {
		hop_rw_needs(e, body[j], NULL, one);
		for (uint32_t i = 0; i < all; i++)
			used[i] |= one[i];
	}
	for (uint32_t i = 0; i < all; i++) {
		bool keep = i < np || used[i];
		pmap[i] = keep ? (int32_t)(np + k) : -1;
		if (i < np) {
			pmap[i] = (int32_t)i;
		} else if (keep) {
			m->val[k++] = m->val[i - np];
		}
	}
	m->n = k;
	for (int j = 0; j < nbody; j++)
		HOP_TRY(hop_rw_reform(e, body[j], pmap, np + k, body[j]->nout,
		                      hop_rw_all(e, body[j]->nout), &body[j]));
	return HOP_OK;
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	hop_env *e = w->env;
	hop_form f;
	if (!hop_form_read(n, attr, &f) || !f.r.loop)
		return hop_rw_keep(w, n, in, attr, out);
	uint32_t np = n->nin - f.lead, room = 0;
	for (int j = 0; j < f.nbody; j++)
		room += f.body[j]->nvalue;
	struct more m = { 0, HOP_NEWN(&e->tmp, hop_val, room),
	                  HOP_NEWN(&e->tmp, const hop_type *, room) };
	int32_t **repl = HOP_NEWN(&e->tmp, int32_t *, f.nbody);
	for (int j = 0; j < f.nbody; j++) {
		repl[j] = none(e, f.body[j]);
		HOP_TRY(lift_body(w, &f, f.body[j], in + f.lead, &m, repl[j]));
	}
	if (!m.n)
		return hop_rw_keep(w, n, in, attr, out);
	for (int j = 0; j < f.nbody; j++)
		HOP_TRY(hop_rw_widen(e, f.body[j], np, m.n, m.type, repl[j], &f.body[j]));
	HOP_TRY(trim(e, &m, np, f.nbody, f.body));
	hop_val *all = HOP_NEWN(&e->tmp, hop_val, n->nin + m.n);
	memcpy(all, in, n->nin * sizeof *in);
	memcpy(all + n->nin, m.val, m.n * sizeof *all);
	hop_node wide = *n;
	wide.nin += m.n;
	return hop_rw_keep(w, &wide, all, attr, out);
}

hop_status hop_opt_licm(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'l', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
