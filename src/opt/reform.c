/* reform.c -- bodies with other parameters and results, and how operators are laid out. What
 * should change is decided by the passes. */
#include "opt/rewrite.h"

#include <string.h>

#include "ir/rule.h"

/* Values that the listed results and the effects need; need[] is [g->nvalue]. */
static void mark(const hop_graph *g, bool *need)
{
	for (uint32_t i = g->nnode; i-- > 0; ) {
		const hop_node *n = &g->node[i];
		bool live = hop_node_effect(n) || n->guard || hop_node_binds(n) >= 0;
		for (uint32_t k = 0; k < n->nout; k++)
			live |= need[n->out0.id + k];
		for (uint32_t k = 0; k < n->nin && live; k++)
			need[n->in[k].id] = true;
	}
}

void hop_rw_needs(hop_env *e, const hop_graph *g, const bool *want, bool *param)
{
	hop_mark m = hop_mark_at(&e->tmp);
	bool *need = HOP_NEWN(&e->tmp, bool, g->nvalue);
	for (uint32_t i = 0; i < g->nout; i++)
		if (!want || want[i])
			need[g->out[i].id] = true;
	mark(g, need);
	memcpy(param, need, g->nparam * sizeof *param);
	hop_rewind(&e->tmp, m);
}

hop_status hop_rw_reform(hop_env *e, const hop_graph *g, const int32_t *pmap,
                         uint32_t nparam, uint32_t nout, const uint32_t *sel,
                         const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_rw w;
	hop_rw_open_bare(&w, e, g);
	bool *need = HOP_NEWN(&e->tmp, bool, g->nvalue);
	for (uint32_t j = 0; j < nparam; j++) {
		uint32_t i = 0;
		while (i < g->nparam && pmap[i] != (int32_t)j)
			i++;
		HOP_ASSERT(i < g->nparam);
		hop_build_param(&w.b, g->type[i]);
	}
	hop_build_checks_of(&w.b, g, w.smap, w.nsmap);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (pmap[i] >= 0)
			w.map[i] = (hop_val){ (uint32_t)pmap[i] };
	for (uint32_t k = 0; k < nout; k++)
		need[g->out[sel[k]].id] = true;
	mark(g, need);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		bool live = hop_node_effect(n) || n->guard || hop_node_binds(n) >= 0;
		for (uint32_t k = 0; k < n->nout; k++)
			live |= need[n->out0.id + k];
		if (live && hop_rw_copy(&w, n))
			break;
	}
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, nout);
	for (uint32_t k = 0; k < nout; k++)
		out[k] = w.map[g->out[sel[k]].id];
	hop_graph *made = NULL;
	hop_status st = hop_rw_seal(&w, nout, out, &made);
	*out_g = made;
	hop_rewind(&e->tmp, m);
	return st;
}

const uint32_t *hop_rw_all(hop_env *e, uint32_t n)
{
	uint32_t *sel = HOP_NEWN(&e->tmp, uint32_t, n);
	for (uint32_t i = 0; i < n; i++)
		sel[i] = i;
	return sel;
}

hop_status hop_rw_widen(hop_env *e, const hop_graph *g, uint32_t at, uint32_t nmore,
                        const hop_type *const *more, const int32_t *repl,
                        const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_rw w;
	hop_rw_open_bare(&w, e, g);
	for (uint32_t i = 0; i < at; i++)
		w.map[i] = hop_build_param(&w.b, g->type[i]);
	uint32_t first = (uint32_t)w.b.nvalue;
	for (uint32_t i = 0; i < nmore; i++)
		hop_build_param(&w.b, more[i]);
	for (uint32_t i = at; i < g->nparam; i++)
		w.map[i] = hop_build_param(&w.b, g->type[i]);
	hop_build_checks_of(&w.b, g, w.smap, w.nsmap);
	for (uint32_t i = 0; i < g->nnode && !w.b.st; i++) {
		const hop_node *n = &g->node[i];
		hop_rw_copy(&w, n);
		for (uint32_t k = 0; k < n->nout; k++)
			if (repl[n->out0.id + k] >= 0)
				w.map[n->out0.id + k].id = first + (uint32_t)repl[n->out0.id + k];
	}
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	for (uint32_t k = 0; k < g->nout; k++)
		out[k] = w.map[g->out[k].id];
	hop_graph *made = NULL;
	hop_status st = hop_rw_seal(&w, g->nout, out, &made);
	*out_g = made;
	hop_rewind(&e->tmp, m);
	return st;
}

bool hop_form_read(const hop_node *n, void *attr, hop_form *f)
{
	hop_node now = { .op = n->op, .nin = n->nin, .nout = n->nout, .attr = attr };
	*f = (hop_form){ .main = -1 };
	if (!(hop_optab[n->op].flags & HOP_F_R))
		return false;
	f->body = hop_attr_subs(n->op, attr, &f->nbody);
	for (int j = 0; j < f->nbody; j++) {
		hop_roles b;
		hop_body_roles(&now, j, &b);
		if (!b.run || b.in.left.n)
			return false;
		if (f->main < 0 && hop_sig_gives(&b)) {
			f->main = j;
			f->stops = b.out.stop.n;
		}
	}
	hop_node_roles(&now, &f->r);
	f->lead = f->r.lead;
	f->nc = f->r.in.carry.n;
	f->nx = f->r.in.x.n;
	f->ny = f->r.out.y.n;
	f->sargs = hop_node_sargs(&now);
	f->length = hop_attr_length(n->op, attr);
	f->all = f->length && !f->r.in.count.n && !f->stops;
	return true;
}

uint32_t hop_form_result(const hop_roles *node, const hop_roles *body, uint32_t k)
{
	if (body->out.stop.n && k == body->out.stop.at)
		return node->out.steps.at;
	return hop_sig_result(node, body, k);
}

double hop_rw_guess(const hop_build *b, const hop_type *t)
{
	double n = 1;
	for (int i = 0; i < t->rank; i++) {
		hop_range r = hop_size_range(t->dim[i], b->range, (int)(b->nsym + b->nlocal));
		n *= (double)hop_range_usual(r);
	}
	return n;
}
