/* rewrite.c -- copying graphs with a say in each node. Every value keeps its type: where a
 * pass offers one of another type, the node is emitted as it was. */
#include "opt/rewrite.h"

#include <string.h>

#include "ir/rule.h"

/* No inlining past these: a graph may grow so many times, or to so many nodes. */
enum { MAX_TIMES = 4, MAX_NODES = 20000, MAX_LOCALS = 48 };

/* ---- copying ---- */

static void open_maps(hop_rw *w, hop_env *e, const hop_graph *g)
{
	*w = (hop_rw){ .env = e, .g = g, .nsmap = (int)(g->nsym + g->nlocal) };
	w->map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	w->uses = HOP_NEWN(&e->tmp, uint32_t, g->nvalue);
	w->smap = HOP_NEWN(&e->tmp, hop_size, w->nsmap);
	for (int i = 0; i < w->nsmap; i++)
		w->smap[i] = i < (int)g->nsym ? hop_size_sym(e, i) : hop_size_int(HOP_SIZE_BAD);
	for (uint32_t i = 0; i < g->nvalue; i++)
		w->map[i] = HOP_BAD;
	for (uint32_t i = 0; i < g->nnode; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++)
			w->uses[g->node[i].in[k].id]++;
	for (uint32_t i = 0; i < g->nout; i++)
		w->uses[g->out[i].id]++;
}

void hop_rw_open_bare(hop_rw *w, hop_env *e, const hop_graph *g)
{
	open_maps(w, e, g);
	hop_build_open(&w->b, e);
	hop_build_syms_of(&w->b, g);
}

void hop_rw_open(hop_rw *w, hop_env *e, const hop_graph *g)
{
	hop_rw_open_bare(w, e, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		w->map[i] = hop_build_param(&w->b, g->type[i]);
	hop_build_checks_of(&w->b, g, w->smap, w->nsmap);
}

hop_status hop_rw_seal(hop_rw *w, uint32_t nout, const hop_val *out, hop_graph **out_g)
{
	if (!w->b.st && w->g->nlocal)          /* of symbols that a pass bound its own way */
		hop_build_checks_of(&w->b, w->g, w->smap, w->nsmap);
	return hop_seal(&w->b, nout, out, w->g->name, out_g);
}

hop_status hop_rw_end(hop_rw *w, hop_status st, hop_graph **out_g)
{
	const hop_graph *g = w->g;
	hop_val *out = HOP_NEWN(&w->env->tmp, hop_val, g->nout);
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = w->map[g->out[i].id];
	if (st && !w->b.st)
		w->b.st = st;
	return hop_rw_seal(w, g->nout, out, out_g);
}

const hop_type *hop_rw_type(hop_rw *w, const hop_node *n, uint32_t k)
{
	return hop_type_subst(w->env, w->g->type[n->out0.id + k], w->smap, w->nsmap);
}

const hop_node *hop_rw_def(const hop_rw *w, hop_val v, int op)
{
	uint32_t d = w->b.def[v.id];
	return d != UINT32_MAX && w->b.node[d].op == op ? &w->b.node[d] : NULL;
}

hop_status hop_rw_keep(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	w->b.loc = n->loc;
	hop_val v = hop_emit_op(&w->b, n->op, attr, n->nin, in);
	for (uint32_t k = 0; k < n->nout; k++)
		out[k] = w->b.st ? HOP_BAD : (hop_val){ v.id + k };
	return w->b.st;
}

static hop_val *operands(hop_rw *w, const hop_node *n)
{
	hop_val *in = HOP_NEWN(&w->env->tmp, hop_val, n->nin);
	for (uint32_t k = 0; k < n->nin; k++)
		in[k] = w->map[n->in[k].id];
	return in;
}

hop_status hop_rw_copy(hop_rw *w, const hop_node *n)
{
	hop_mark m = hop_mark_at(&w->env->tmp);
	hop_val v = hop_emit_copy(&w->b, w->g, n, operands(w, n), w->smap, w->nsmap);
	for (uint32_t k = 0; k < n->nout && !w->b.st; k++)
		w->map[n->out0.id + k] = (hop_val){ v.id + k };
	if (!w->b.st && hop_node_binds(n) >= 0)
		hop_build_checks_of(&w->b, w->g, w->smap, w->nsmap);
	hop_rewind(&w->env->tmp, m);
	return w->b.st;
}

/* ---- a pass ---- */

static hop_status do_bodies(hop_rw *w, const hop_rw_pass *p, int op, void *attr)
{
	int n;
	const hop_graph **sub = hop_attr_subs(op, attr, &n);
	for (int i = 0; i < n; i++)
		if (sub[i])
			HOP_TRY(hop_rw_graph(w->env, p, sub[i], &sub[i]));
	return HOP_OK;
}

static bool types_kept(hop_rw *w, const hop_node *n, const hop_val *out)
{
	for (uint32_t k = 0; k < n->nout; k++)
		if (hop_is_bad(out[k]) || hop_typeof(&w->b, out[k]) != hop_rw_type(w, n, k))
			return false;
	return true;
}

/* The node with the attributes it came with: those a pass worked on may be half changed. */
static hop_status keep_source(hop_rw *w, const hop_rw_pass *p, const hop_node *n,
                              const hop_val *in, hop_val *out)
{
	hop_env *e = w->env;
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, w->smap, w->nsmap);
	int64_t *sym = attr ? hop_attr_sym(n->op, attr) : NULL;
	HOP_TRY(do_bodies(w, p, n->op, attr));
	if (sym && *sym >= 0)
		*sym = hop_size_nsym(w->smap[*sym]) - 1;
	return hop_rw_keep(w, n, in, attr, out);
}

static hop_status do_node(hop_rw *w, const hop_rw_pass *p, const hop_node *n)
{
	hop_env *e = w->env;
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, w->smap, w->nsmap);
	const hop_val *in = operands(w, n);
	hop_val *out = w->map + n->out0.id;
	HOP_TRY(do_bodies(w, p, n->op, attr));
	int64_t *sym = attr ? hop_attr_sym(n->op, attr) : NULL, old = sym ? *sym : -1;
	if (old >= 0) {
		*sym = hop_build_local(&w->b, w->g->range[old], w->g->symname[old]);
		w->smap[old] = hop_size_sym(e, (int)*sym);
		hop_build_checks_of(&w->b, w->g, w->smap, w->nsmap);
	}
	w->b.loc = n->loc;
	w->b.firm = true;
	hop_status st = p->node(w, n, in, attr, out);
	w->b.firm = false;
	st = st ? st : w->b.st;
	if (st == HOP_ESHAPE) {
		/* what the pass made would rest on a condition of its own: not taken */
		w->b.st = HOP_OK;
		hop_diag_clear(e);
		return keep_source(w, p, n, in, out);
	}
	if (st || types_kept(w, n, out))
		return st;
	return hop_rw_keep(w, n, in, attr, out);
}

hop_status hop_rw_graph(hop_env *e, const hop_rw_pass *p, const hop_graph *g,
                        const hop_graph **out_g)
{
	struct { uint64_t kind; const hop_graph *g; } key = { p->kind, g };
	const hop_graph *old = hop_ctx_memo_get(e, &key, sizeof key);
	if (old) {
		*out_g = old;
		return HOP_OK;
	}
	hop_mark m = hop_mark_at(&e->tmp);
	hop_rw w;
	hop_status st = HOP_OK;
	hop_rw_open(&w, e, g);
	if (p->begin)
		p->begin(&w);
	for (uint32_t i = 0; i < g->nnode && !st; i++) {
		hop_mark mi = hop_mark_at(&e->tmp);
		st = do_node(&w, p, &g->node[i]);
		hop_rewind(&e->tmp, mi);
	}
	hop_graph *made = NULL;
	st = hop_rw_end(&w, st, &made);
	hop_rewind(&e->tmp, m);
	if (!st)
		*out_g = hop_ctx_memo_put(e, &key, sizeof key, made);
	return st;
}

/* ---- inlining ---- */

bool hop_rw_inline(hop_rw *w, const hop_graph *body, hop_sizes sargs, const hop_val *in,
                   hop_val *out)
{
	size_t most = MAX_NODES + (size_t)MAX_TIMES * w->g->nnode;
	if (w->b.st || w->b.nnode + body->nnode > most ||
	    w->b.nlocal + body->nlocal > MAX_LOCALS || hop_build_refuses(&w->b, body, sargs))
		return false;
	for (uint32_t i = 0; i < body->nparam; i++)
		if (hop_typeof(&w->b, in[i]) !=
		    hop_type_subst(w->env, body->type[i], sargs.v, (int)sargs.n))
			return false;
	hop_emit_inline(&w->b, body, sargs.v, in, out);
	return true;
}
