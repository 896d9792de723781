/* reform.c -- bodies with other parameters and results, and how loops are laid out. What
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

bool hop_loop_read(int op, const void *attr, hop_loop_form *l)
{
	*l = (hop_loop_form){ .lead = 0 };
	if (op == HOP_OP_while) {
		const struct hop_attr_while *a = attr;
		l->test = a->test;
		l->body = a->body;
		l->sargs = a->sargs;
		l->nc = (uint32_t)a->ncarry;
		l->ny = a->body->nout - l->nc;
		return true;
	}
	if (op != HOP_OP_scan)
		return false;
	const struct hop_attr_scan *a = attr;
	l->body = a->body;
	l->sargs = a->sargs;
	l->lead = a->counted ? 1 : 0;
	l->nc = (uint32_t)a->ncarry;
	l->nx = (uint32_t)a->nx;
	l->stops = a->stops;
	l->ny = a->body->nout - l->nc - (a->stops ? 1 : 0);
	return true;
}

double hop_rw_guess(const hop_build *b, const hop_type *t)
{
	double n = 1;
	for (int i = 0; i < t->rank; i++) {
		hop_range r = hop_size_range(t->dim[i], b->range, (int)(b->nsym + b->nlocal));
		n *= (double)(r.lo > 64 ? r.lo : r.hi < 64 ? r.hi : 64);
	}
	return n;
}
