/* interp.c -- runs a graph node by node through the eval column. Values die after their
 * last use, so that a long graph needs the memory of its widest point only. */
#include "interp/interp.h"
#include "data/fn.h"

#include <string.h>

int64_t hop_interp_size(hop_interp *p, hop_size s)
{
	int64_t v;
	if (hop_size_const(s))
		return s.k;
	if (!hop_size_eval(s, p->syms, (int)(p->g->nsym + p->g->nlocal), &v))
		hop_nomem(p->env);         /* more than 2^63 of anything */
	return v;
}

void hop_interp_bind(hop_interp *p, int64_t sym, int64_t value)
{
	HOP_ASSERT(sym >= p->g->nsym && sym < p->g->nsym + p->g->nlocal);
	p->syms[sym] = value;
}

hop_status hop_interp_go_on(hop_interp *p)
{
	if (!p->cancel || !__atomic_load_n(&p->cancel->flag, __ATOMIC_RELAXED))
		return HOP_OK;
	return hop_fail(p->env, 0, HOP_ECANCELED, "run: canceled");
}

/* How often each value is read; results count once more. */
static uint32_t *count_uses(hop_env *e, const hop_graph *g)
{
	uint32_t *uses = HOP_NEWN(&e->tmp, uint32_t, g->nvalue);
	for (uint32_t i = 0; i < g->nnode; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++)
			uses[g->node[i].in[k].id]++;
	for (uint32_t i = 0; i < g->nout; i++)
		uses[g->out[i].id]++;
	return uses;
}

static void drop(hop_interp *p, hop_array **val, uint32_t *uses, uint32_t id)
{
	if (--uses[id] == 0) {
		hop_interp_release(p, val[id]);
		val[id] = NULL;
	}
}

/* The cell, in a place of its own if it has bodies. */
static hop_status eval(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out)
{
	hop_at here = { .up = p->at, .n = n, .trip = -1, .ran = -1 };
	bool bodies = hop_optab[n->op].flags & HOP_F_R;
	if (bodies)
		p->at = &here;
	hop_status st = hop_optab[n->op].eval(p, n, in, out);
	p->at = here.up;
	return st;
}

static hop_status run_node(hop_interp *p, const hop_node *n, hop_array **val, uint32_t *uses,
                           hop_births *births)
{
	const hop_graph *g = p->g;
	hop_array **in = HOP_NEWN(&p->env->tmp, hop_array *, n->nin);
	hop_array **out = HOP_NEWN(&p->env->tmp, hop_array *, n->nout);
	for (uint32_t k = 0; k < n->nin; k++)
		in[k] = val[n->in[k].id];
	if (!(hop_optab[n->op].flags & HOP_F_R))
		for (uint32_t k = 0; k < n->nout; k++)
			out[k] = hop_interp_of(p, g->type[n->out0.id + k]);
	if (p->ran)
		p->ran[n->op]++;
	uint32_t before = p->nborn;
	HOP_TRY(eval(p, n, in, out));
	if (p->nan)
		HOP_TRY(hop_births_node(p, births, n, before, in, out));
	if (p->watch)
		p->watch(p->watch_user, n, in, out);
	for (uint32_t k = 0; k < n->nout; k++) {
		uint32_t id = n->out0.id + k;
		if (uses[id])
			val[id] = out[k];
		else
			hop_interp_release(p, out[k]);
	}
	for (uint32_t k = 0; k < n->nin; k++)
		drop(p, val, uses, n->in[k].id);
	return HOP_OK;
}

hop_status hop_interp_graph(hop_interp *p, const hop_graph *g, const int64_t *syms,
                            hop_array *const *in, hop_array **out)
{
	hop_env *e = p->env;
	hop_mark m = hop_mark_at(&e->tmp);
	const hop_graph *outer = p->g;
	int64_t *outer_syms = p->syms;
	hop_array **val = HOP_NEWN(&e->tmp, hop_array *, g->nvalue);
	uint32_t *uses = count_uses(e, g);
	hop_status st = HOP_OK;
	hop_births births;
	p->g = g;
	p->syms = HOP_NEWN(&e->tmp, int64_t, g->nsym + g->nlocal);
	if (g->nsym)
		memcpy(p->syms, syms, g->nsym * sizeof *syms);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (uses[i])
			val[i] = hop_array_retain(in[i]);
	if (p->nan)
		hop_births_open(p, g, in, &births);
	st = hop_interp_go_on(p);            /* of a body: once a trip */
	if (!st)
		st = hop_checks_test(e, g, p->syms, 0, (int)g->nsym);
	for (uint32_t i = 0; i < g->nnode && !st; i++) {
		hop_mark mi = hop_mark_at(&e->tmp);
		st = hop_interp_go_on(p);
		if (!st)
			st = run_node(p, &g->node[i], val, uses, &births);
		int sym = (int)hop_node_binds(&g->node[i]);
		if (!st && sym >= 0)
			st = hop_checks_test(e, g, p->syms, sym, sym + 1);
		hop_rewind(&e->tmp, mi);
	}
	for (uint32_t i = 0; i < g->nout && !st; i++)
		out[i] = hop_array_retain(val[g->out[i].id]);
	if (p->nan)
		st = hop_births_close(p, &births, g, st, out);
	for (uint32_t i = 0; i < g->nvalue; i++)
		hop_interp_release(p, val[i]);
	p->g = outer;
	p->syms = outer_syms;
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_interp_body(hop_interp *p, const hop_node *n, const hop_graph *body,
                           hop_array *const *in, hop_array **out)
{
	hop_mark m = hop_mark_at(&p->env->tmp);
	hop_sizes a = hop_node_sargs(n);
	int64_t *syms = HOP_NEWN(&p->env->tmp, int64_t, a.n);
	if (p->at)
		p->at->body = body;
	for (int64_t i = 0; i < a.n; i++)
		syms[i] = hop_interp_size(p, a.v[i]);
	hop_status st = hop_ranges_test(p->env, n, body, syms);
	if (!st)
		st = hop_interp_graph(p, body, syms, in, out);
	hop_rewind(&p->env->tmp, m);
	return st;
}

/* ---- size parameters from shapes ---- */

static const char *parameter(hop_env *e, const char *const *name, uint32_t i)
{
	return hop_input_text(&e->tmp, i, name ? name[i] : NULL);
}

static hop_status bad_dim(hop_env *e, const hop_graph *g, const char *const *name, uint32_t i, int k,
                          int64_t got)
{
	hop_buf t;
	hop_buf_open(&t, e);
	hop_type_print(&t, g->type[i], g->symname, (int)g->nsym);
	hop_status st = hop_fail(e, 0, HOP_ESHAPE,
	                         "call: parameter %s is %s, but dimension %d of the argument is %lld",
	                         parameter(e, name, i), t.s, k, (long long)got);
	hop_buf_free(&t);
	return st;
}

hop_status hop_bind_shapes(hop_env *e, const hop_graph *g, const char *const *name,
                           const int *rank, const int64_t *const *dim, int64_t *syms)
{
	bool *known = HOP_NEWN(&e->tmp, bool, g->nsym);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *t = g->type[i];
		if (rank[i] != t->rank)
			return hop_fail(e, 0, HOP_ESHAPE,
			                "call: parameter %s has rank %d, the argument has rank %d",
			                parameter(e, name, i), t->rank, rank[i]);
		for (int k = 0; k < t->rank; k++) {
			int s = hop_size_bare(t->dim[k]);
			if (s < 0 || known[s])
				continue;
			known[s] = true;
			syms[s] = dim[i][k];
			if (dim[i][k] < g->range[s].lo || dim[i][k] > g->range[s].hi)
				return hop_fail(e, 0, HOP_ESHAPE,
				                "call: dimension %d of argument %s is %lld, outside %lld..%lld",
				                k, parameter(e, name, i), (long long)dim[i][k],
				                (long long)g->range[s].lo,
				                (long long)g->range[s].hi);
		}
	}
	for (uint32_t i = 0; i < g->nsym; i++)
		if (!known[i])
			return hop_fail(e, 0, HOP_ESHAPE,
			                "call: size parameter %u is not a dimension of any parameter", i);
	for (uint32_t i = 0; i < g->nparam; i++)
		for (int k = 0; k < g->type[i]->rank; k++) {
			int64_t v;
			if (!hop_size_eval(g->type[i]->dim[k], syms, (int)g->nsym, &v) ||
			    v != dim[i][k] || v < 0)
				return bad_dim(e, g, name, i, k, dim[i][k]);
		}
	return hop_checks_test(e, g, syms, 0, (int)g->nsym);
}
