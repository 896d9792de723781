/* constants.c -- a graph in two: what depends on arrays that were captured and on nothing else, to
 * be run once, and the rest, which takes the results of the first as parameters.
 *
 * needs: the last graph pass, since what loops and regions compute alike each time is outside of
 * them then.  keeps: everything.  Effects, functions of the host and what a size parameter is part
 * of stay with the rest. Views of what is kept are made again: they cost nothing, and would take
 * memory. */
#include "opt/constants.h"
#include "opt/rewrite.h"

#include "ir/rule.h"

enum kind { VARIES, FREE, ONCE };       /* FREE: made of nothing */

struct parts {
	hop_env         *e;
	const hop_graph *g;
	uint8_t         *kind;      /* [nvalue] */
	bool            *want;      /* [nvalue] the rest needs it */
	bool            *keep;      /* [nvalue] made once, and handed over */
};

static bool fixed_sizes(const hop_graph *g, const hop_node *n)
{
	for (int i = 0; i < hop_optab[n->op].nfield; i++) {
		hop_sizes s = hop_attr_sizes(n->op, n->attr, i);
		for (int64_t k = 0; k < s.n; k++)
			if (!hop_size_const(s.v[k]))
				return false;
	}
	for (uint32_t k = 0; k < n->nout; k++) {
		const hop_type *t = g->type[n->out0.id + k];
		for (int d = 0; d < t->rank; d++)
			if (!hop_size_const(t->dim[d]))
				return false;
	}
	return true;
}

static enum kind kind_of(const struct parts *p, const hop_node *n)
{
	enum kind k = FREE;
	if (hop_node_effect(n) || n->guard || hop_node_binds(n) >= 0 ||
	    hop_node_holds(n) & HOP_HOLDS_HOST || !fixed_sizes(p->g, n))
		return VARIES;
	for (uint32_t i = 0; i < n->nin; i++) {
		enum kind in = p->kind[n->in[i].id];
		if (in == VARIES)
			return VARIES;
		k = in == ONCE ? ONCE : k;
	}
	return k;
}

/* What the rest wants of v it makes itself, or it is kept. */
static bool made_again(const struct parts *p, const hop_node *n)
{
	return p->kind[n->out0.id] != ONCE || hop_optab[n->op].flags & HOP_F_V;
}

static void look(struct parts *p, const bool *fixed)
{
	const hop_graph *g = p->g;
	for (uint32_t i = 0; i < g->nparam; i++)
		p->kind[i] = fixed[i] ? ONCE : VARIES;
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		enum kind k = kind_of(p, n);
		for (uint32_t j = 0; j < n->nout; j++)
			p->kind[n->out0.id + j] = k;
	}
	for (uint32_t i = 0; i < g->nout; i++)
		p->want[g->out[i].id] = true;
	for (uint32_t i = g->nnode; i-- > 0; ) {
		const hop_node *n = &g->node[i];
		bool used = !n->nout || p->kind[n->out0.id] == VARIES;
		for (uint32_t j = 0; j < n->nout; j++) {
			used |= p->want[n->out0.id + j];
			p->keep[n->out0.id + j] = p->want[n->out0.id + j] && !made_again(p, n);
		}
		if (!n->nout || made_again(p, n))
			for (uint32_t j = 0; used && j < n->nin; j++)
				p->want[n->in[j].id] = true;
	}
}

/* Parameters: those of hidden arrays that it reads, out_param of them. */
static hop_status once_graph(const struct parts *p, hop_once_graphs *out)
{
	const hop_graph *g = p->g;
	hop_env *e = p->e;
	bool *need = HOP_NEWN(&e->tmp, bool, g->nvalue);
	hop_val *map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, out->nkept);
	hop_size *smap = HOP_NEWN(&e->tmp, hop_size, g->nsym + g->nlocal);
	uint32_t k = 0;
	hop_graph *made;
	hop_build b;
	for (uint32_t i = 0; i < g->nvalue; i++)
		need[i] = p->keep[i];
	for (uint32_t i = g->nnode; i-- > 0; )
		for (uint32_t j = 0; j < g->node[i].nout; j++)
			for (uint32_t m = 0; need[g->node[i].out0.id + j] && m < g->node[i].nin; m++)
				need[g->node[i].in[m].id] = true;
	hop_build_open(&b, e);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (need[i]) {
			out->param[out->nparam++] = i;
			map[i] = hop_build_param(&b, g->type[i]);
		}
	for (uint32_t i = 0; i < g->nnode && !b.st; i++) {
		const hop_node *n = &g->node[i];
		bool any = false;
		for (uint32_t j = 0; j < n->nout; j++)
			any |= need[n->out0.id + j];
		if (!any)
			continue;
		hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin);
		for (uint32_t j = 0; j < n->nin; j++)
			in[j] = map[n->in[j].id];
		b.loc = n->loc;
		hop_val v = hop_emit_copy(&b, g, n, in, smap, (int)(g->nsym + g->nlocal));
		for (uint32_t j = 0; j < n->nout && !b.st; j++)
			map[n->out0.id + j] = (hop_val){ v.id + j };
	}
	for (uint32_t i = 0; i < g->nvalue; i++)
		if (p->keep[i])
			res[k++] = map[i];
	HOP_TRY(hop_seal(&b, k, res, "constants", &made));
	out->once = made;
	return HOP_OK;
}

/* All parameters, then what was kept. */
static hop_status rest_graph(const struct parts *p, hop_once_graphs *out)
{
	const hop_graph *g = p->g;
	hop_rw w;
	hop_graph *made;
	hop_status st = HOP_OK;
	hop_rw_open(&w, p->e, g);
	for (uint32_t i = 0; i < g->nvalue; i++)
		if (p->keep[i])
			w.map[i] = hop_build_param(&w.b, g->type[i]);
	for (uint32_t i = 0; i < g->nnode && !st; i++) {
		const hop_node *n = &g->node[i];
		bool used = !n->nout || p->kind[n->out0.id] == VARIES;
		for (uint32_t j = 0; j < n->nout; j++)
			used |= p->want[n->out0.id + j] && !p->keep[n->out0.id + j];
		if (used)
			st = hop_rw_copy(&w, n);
	}
	HOP_TRY(hop_rw_end(&w, st, &made));
	out->rest = made;
	return HOP_OK;
}

hop_status hop_opt_constants(hop_env *e, const hop_graph *g, const bool *fixed,
                             hop_once_graphs *out)
{
	struct parts p = { .e = e, .g = g, .kind = HOP_NEWN(&e->tmp, uint8_t, g->nvalue),
		               .want = HOP_NEWN(&e->tmp, bool, g->nvalue),
		               .keep = HOP_NEWN(&e->tmp, bool, g->nvalue) };
	*out = (hop_once_graphs){ .param = HOP_NEWN(&e->tmp, uint32_t, g->nparam) };
	look(&p, fixed);
	for (uint32_t i = 0; i < g->nvalue; i++)
		out->nkept += p.keep[i];
	if (!out->nkept)
		return HOP_OK;
	HOP_TRY(once_graph(&p, out));
	return rest_graph(&p, out);
}
