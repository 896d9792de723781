/* work.c -- how much a graph computes: operations on elements, by a rule of thumb. Products count
 * two for each pair, functions such as exp some, views none, a loop its body as often as it runs. */
#include "ad/work.h"

#include "ad/ad.h"
#include "ir/sig.h"

enum { CURVE = 8 };                    /* of exp and its like */

static double dim(const hop_graph *g, hop_size s)
{
	enum { MOST = 64 };
	int64_t syms[MOST], d;
	uint32_t n = g->nsym + g->nlocal;
	for (uint32_t i = 0; i < n && i < MOST; i++)
		syms[i] = hop_range_usual(g->range[i]);
	return hop_size_eval(s, syms, n < MOST ? (int)n : MOST, &d) ? (double)(d < 0 ? 0 : d)
	                                                           : HOP_SIZE_USUAL;
}

static double elements(const hop_graph *g, const hop_type *t)
{
	double n = 1;
	for (int i = 0; i < t->rank; i++)
		n *= dim(g, t->dim[i]);
	return n;
}

/* What runs of an operator: one of its branches, the most that it may be; bodies of a loop each trip. */
static double bodies(hop_env *e, const hop_graph *g, const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	hop_roles r;
	double w = 0;
	hop_node_roles(n, &r);
	for (int i = 0; i < sub.n; i++) {
		double one = sub.v[i] && hop_sig_runs(n, i) ? hop_work_graph(e, sub.v[i]) : 0;
		w = r.lead && !r.loop ? one > w ? one : w : w + one;
	}
	const hop_size *length = hop_attr_length(n->op, n->attr);
	return w * (!r.loop ? 1 : length ? dim(g, *length) : HOP_SIZE_USUAL);
}

double hop_work_node(hop_env *e, const hop_graph *g, const hop_node *n)
{
	int flags = hop_optab[n->op].flags;
	double in = 0, out = 0, deep = 1;
	if (flags & HOP_F_R)
		return bodies(e, g, n);
	if (flags & (HOP_F_V | HOP_F_X) || !n->nin || n->op == HOP_OP_name)
		return 0;
	for (uint32_t k = 0; k < n->nin; k++) {
		double m = elements(g, g->type[n->in[k].id]);
		in = m > in ? m : in;
	}
	for (uint32_t k = 0; k < n->nout; k++)
		out += elements(g, g->type[n->out0.id + k]);
	if (n->op == HOP_OP_dot) {
		const struct hop_attr_dot *a = n->attr;
		for (int64_t i = 0; i < a->lsum.n; i++)
			deep *= dim(g, g->type[n->in[0].id]->dim[a->lsum.v[i]]);
		return 2 * out * deep;
	}
	if (flags & HOP_F_H) {                 /* of square matrices */
		const hop_type *t = g->type[n->in[0].id];
		return 2 * out * (t->rank ? dim(g, t->dim[t->rank - 1]) : 1);
	}
	if (flags & HOP_F_F && n->nin == 1)
		return CURVE * out;
	return in > out ? in : out;
}

double hop_work_graph(hop_env *e, const hop_graph *g)
{
	struct { uint64_t kind; const hop_graph *g; } key = { 'W', g };
	const double *had = hop_ctx_memo_get(e, &key, sizeof key);
	double w = 0;
	if (had)
		return *had;
	for (uint32_t i = 0; i < g->nnode; i++)
		w += hop_work_node(e, g, &g->node[i]);
	const void *kept = hop_ctx_intern(e, HOP_IN_CUT, &w, sizeof w, 8);
	hop_ctx_memo_put(e, &key, sizeof key, (void *)(uintptr_t)kept);
	return w;
}
