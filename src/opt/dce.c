/* dce.c -- what operators compute, carry or take without need.
 *
 * needs: nothing.  keeps: everything.  Nodes that nothing needs are gone already: sealing
 * drops them. Left are the insides of operators: results that nobody reads, parameters
 * that no body reads, carries that feed only themselves or never change, operands passed
 * twice, results that are operands. custom keeps its form: its rules are written for it. */
#include "opt/opt.h"
#include "opt/rewrite.h"

#include <string.h>

#include "ir/rule.h"

enum { MAX_ROUNDS = 4 };         /* each may uncover more; nearly always two do */

/* An operator seen as parameters and results of its bodies. Bodies that give results give the
 * same ones; the others only say whether to go on. */
struct form {
	hop_form   f;
	hop_roles  body;             /* of those that give results */
	bool      *gives;            /* [nbody] */
	uint32_t   np;               /* parameters */
	uint32_t   nres;             /* results of a body that gives some, stop included */
};

/* What becomes of an operator. */
struct plan {
	bool             keep;       /* the node is needed at all */
	bool             other;      /* it changes: the rest is set */
	const hop_graph **body;
	uint32_t         nin, nc, nx, nres;
	uint32_t        *in;         /* [nin] kept operands */
	uint32_t        *sel;        /* [nres] kept results of the bodies */
	int32_t         *fwd;        /* [old nres] result is operand fwd; or < 0 */
	int32_t         *same;       /* [old nres] result is also that one; or < 0 */
};

static uint32_t result_of(const struct form *f, uint32_t k)
{
	return hop_form_result(&f->f.r, &f->body, k);
}

static bool read_form(hop_env *e, const hop_node *n, struct form *f)
{
	*f = (struct form){ .np = n->nin };
	if (!hop_form_read(n, (void *)(uintptr_t)n->attr, &f->f))
		return false;
	f->np -= f->f.lead;
	f->nres = f->f.body[f->f.main]->nout;
	f->gives = HOP_NEWN(&e->tmp, bool, f->f.nbody);
	for (int j = 0; j < f->f.nbody; j++) {
		hop_roles b;
		hop_body_roles(n, j, &b);
		f->gives[j] = hop_sig_gives(&b);
		if (j == f->f.main)
			f->body = b;
	}
	return true;
}

/* The result that counts steps and that no body has a say in, or UINT32_MAX. */
static uint32_t own_count(const struct form *f)
{
	return f->f.r.out.steps.n && !f->f.stops ? f->f.r.out.steps.at : UINT32_MAX;
}

static bool is_x(const struct form *f, uint32_t i)
{
	return i >= f->f.nc && i < f->f.nc + f->f.nx;
}

/* Which parameters are needed for these results; carries by fix-point, `res` grows. */
static void needed(hop_env *e, const struct form *f, const struct plan *p, bool *res,
                   bool *par)
{
	bool *one = HOP_NEWN(&e->tmp, bool, f->np);
	for (bool more = true; more; ) {
		more = false;
		for (int j = 0; j < f->f.nbody; j++) {
			hop_rw_needs(e, p->body[j], f->gives[j] ? res : NULL, one);
			for (uint32_t i = 0; i < f->np; i++)
				par[i] |= one[i];
		}
		for (uint32_t k = 0; k < f->f.nc; k++) {
			if (par[k] && !res[k])
				res[k] = more = true;
			par[k] |= res[k];        /* its initial value may be its final one */
		}
	}
}

/* Result k of every body is parameter *out_p. */
static bool is_param(const struct form *f, const struct plan *p, uint32_t k, uint32_t *out_p)
{
	const hop_graph *g = p->body[f->f.main];
	*out_p = g->out[k].id;
	for (int j = 0; j < f->f.nbody; j++)
		if (f->gives[j] && p->body[j]->out[k].id != *out_p)
			return false;
	return *out_p < g->nparam;
}

/* Results that are operands: all of what runs once, unchanged carries of loops, xs that a
 * loop of all its steps stacks again. */
static void find_forwards(const hop_graph *g, const hop_node *n, const struct form *f,
                          struct plan *p)
{
	bool loop = f->f.r.loop;
	for (uint32_t k = 0; k < f->nres; k++) {
		uint32_t i;
		p->fwd[k] = -1;
		if (!is_param(f, p, k, &i))
			continue;
		bool again = loop && k >= f->f.nc && is_x(f, i) && f->f.all;
		if (loop && !again && (k >= f->f.nc || i != k))
			continue;
		if (g->type[n->in[f->f.lead + i].id] == g->type[n->out0.id + result_of(f, k)])
			p->fwd[k] = (int32_t)(f->f.lead + i);
	}
}

/* A loop that may never end is worth waiting for: when every result that is read would be
 * an operand, one of them stays a result. */
static void keep_waiting(const struct form *f, const bool *live, struct plan *p)
{
	uint32_t first = UINT32_MAX;
	if (own_count(f) != UINT32_MAX && live[own_count(f)])
		return;
	for (uint32_t k = 0; k < f->nres; k++) {
		if (!live[result_of(f, k)])
			continue;
		if (p->fwd[k] < 0)
			return;
		first = first == UINT32_MAX ? k : first;
	}
	if (first != UINT32_MAX)
		p->fwd[first] = -1;
}

/* Results equal in every body: the second is read from the first. */
static void find_doubles(const hop_graph *g, const hop_node *n, const struct form *f,
                         struct plan *p)
{
	uint32_t from = f->f.nc, to = f->nres - (f->f.stops ? 1 : 0);
	for (uint32_t k = 0; k < f->nres; k++)
		p->same[k] = -1;
	for (uint32_t k = from; k < to; k++)
		for (uint32_t i = from; i < k && p->same[k] < 0; i++) {
			bool eq = p->same[i] < 0 && p->fwd[i] < 0 &&
			          g->type[n->out0.id + result_of(f, i)] ==
			          g->type[n->out0.id + result_of(f, k)];
			for (int j = 0; j < f->f.nbody; j++)
				eq = eq && (!f->gives[j] || hop_same(p->body[j]->out[i], p->body[j]->out[k]));
			if (eq)
				p->same[k] = (int32_t)i;
		}
}

/* The parameter that takes the same value as i and does so every time, or i itself. */
static uint32_t twin(const hop_node *n, const struct form *f, const struct plan *p,
                     const bool *fixed, uint32_t i)
{
	if (i < f->f.nc && !fixed[i])
		return i;
	for (uint32_t k = 0; k < i; k++) {
		bool ok = is_x(f, k) == is_x(f, i);
		if (!ok || (k < f->f.nc && !fixed[k]) ||
		    !hop_same(n->in[f->f.lead + k], n->in[f->f.lead + i]))
			continue;
		for (int j = 0; j < f->f.nbody; j++)
			ok = ok && p->body[j]->type[k] == p->body[j]->type[i];
		if (ok)
			return k;
	}
	return i;
}

/* New parameters: carries, xs, the rest. Returns their number; pmap as in reform. */
static uint32_t number_params(hop_env *e, const hop_node *n, const struct form *f,
                              struct plan *p, const bool *par, int32_t *pmap)
{
	bool *fixed = HOP_NEWN(&e->tmp, bool, f->np);      /* carries that never change */
	uint32_t *tw = HOP_NEWN(&e->tmp, uint32_t, f->np), m = 0;
	bool *used = HOP_NEWN(&e->tmp, bool, f->np);
	for (uint32_t k = 0; k < f->f.nc; k++)
		fixed[k] = p->fwd[k] >= 0;
	for (uint32_t i = 0; i < f->np; i++) {
		tw[i] = twin(n, f, p, fixed, i);
		pmap[i] = -1;
		used[tw[i]] |= par[i];
	}
	for (uint32_t i = 0; i < f->f.lead; i++)
		p->in[p->nin++] = i;
	for (int group = 0; group < 3; group++)
		for (uint32_t i = 0; i < f->np; i++) {
			int of = i < f->f.nc && !fixed[i] ? 0 : is_x(f, i) ? 1 : 2;
			if (of != group || !used[i] || tw[i] != i)
				continue;
			pmap[i] = (int32_t)m++;
			p->in[p->nin++] = f->f.lead + i;
			p->nc += group == 0;
			p->nx += group == 1;
		}
	for (uint32_t i = 0; i < f->np; i++)
		if (par[i])
			pmap[i] = pmap[tw[i]];
	return m;
}

/* live: [nout] results of the node that somebody reads. */
static hop_status make_plan(hop_env *e, const hop_graph *g, const hop_node *n,
                            const bool *live, struct plan *p)
{
	struct form f;
	if (!read_form(e, n, &f))
		return HOP_OK;
	hop_arena *tmp = &e->tmp;
	bool *res = HOP_NEWN(tmp, bool, f.nres), *par = HOP_NEWN(tmp, bool, f.np);
	int32_t *pmap = HOP_NEWN(tmp, int32_t, f.np);
	p->body = HOP_NEWN(tmp, const hop_graph *, f.f.nbody);
	for (int j = 0; j < f.f.nbody; j++)
		HOP_TRY(hop_opt_dce(e, f.f.body[j], &p->body[j]));
	p->fwd = HOP_NEWN(tmp, int32_t, f.nres);
	p->same = HOP_NEWN(tmp, int32_t, f.nres);
	p->in = HOP_NEWN(tmp, uint32_t, n->nin);
	p->sel = HOP_NEWN(tmp, uint32_t, f.nres);
	p->other = true;
	find_forwards(g, n, &f, p);
	if (hop_optab[n->op].flags & HOP_F_U)
		keep_waiting(&f, live, p);
	find_doubles(g, n, &f, p);
	for (uint32_t k = 0; k < f.nres; k++)
		if (live[result_of(&f, k)] && p->fwd[k] < 0)
			res[p->same[k] < 0 ? k : (uint32_t)p->same[k]] = true;
	if (f.f.stops)
		res[f.nres - 1] = true;
	needed(e, &f, p, res, par);
	for (uint32_t k = 0; k < f.nres; k++)
		if (res[k] && p->fwd[k] < 0 && p->same[k] < 0)
			p->sel[p->nres++] = k;
	uint32_t m = number_params(e, n, &f, p, par, pmap);
	for (int j = 0; j < f.f.nbody; j++) {
		const hop_graph *body = p->body[j];
		if (f.gives[j])
			HOP_TRY(hop_rw_reform(e, body, pmap, m, p->nres, p->sel, &p->body[j]));
		else
			HOP_TRY(hop_rw_reform(e, body, pmap, m, body->nout, hop_rw_all(e, body->nout),
			                      &p->body[j]));
		HOP_TRY(hop_opt_dce(e, p->body[j], &p->body[j]));
	}
	return HOP_OK;
}

/* ---- the graph: plans from the last node to the first, since needs flow that way ---- */

struct search { int64_t sym; bool found; };

static void look(void *user, int sym)
{
	struct search *s = user;
	s->found |= sym == s->sym;
}

/* Whether some node makes sizes of the symbol, or a check tests it. */
static bool mentioned(const hop_graph *g, int64_t sym)
{
	struct search s = { sym, false };
	for (uint32_t i = 0; i < g->ncheck && !s.found; i++) {
		hop_size_syms(g->check[i].a, look, &s);
		hop_size_syms(g->check[i].b, look, &s);
	}
	for (uint32_t i = 0; i < g->nnode && !s.found; i++)
		hop_node_syms(&g->node[i], look, &s);
	return s.found;
}

static hop_status plan_all(hop_env *e, const hop_graph *g, struct plan *plan)
{
	bool *need = HOP_NEWN(&e->tmp, bool, g->nvalue);
	for (uint32_t i = 0; i < g->nout; i++)
		need[g->out[i].id] = true;
	for (uint32_t i = g->nnode; i-- > 0; ) {
		const hop_node *n = &g->node[i];
		struct plan *p = &plan[i];
		p->keep = hop_node_effect(n) || n->guard ||
		          (hop_node_binds(n) >= 0 && mentioned(g, hop_node_binds(n)));
		for (uint32_t k = 0; k < n->nout; k++)
			p->keep |= need[n->out0.id + k];
		if (!p->keep)
			continue;
		HOP_TRY(make_plan(e, g, n, need + n->out0.id, p));
		if (!p->other) {
			for (uint32_t k = 0; k < n->nin; k++)
				need[n->in[k].id] = true;
			continue;
		}
		for (uint32_t k = 0; k < p->nin; k++)
			need[n->in[p->in[k]].id] = true;
		struct form f;
		read_form(e, n, &f);
		for (uint32_t k = 0; k < f.nres; k++)
			if (p->fwd[k] >= 0 && need[n->out0.id + result_of(&f, k)])
				need[n->in[p->fwd[k]].id] = true;
	}
	return HOP_OK;
}

/* Attributes of the operator as planned. A symbol that it binds is bound again if stacked
 * results have it as their size, or others mention it. */
static void *new_attr(hop_rw *w, const hop_node *n, const struct plan *p, bool stacks)
{
	hop_env *e = w->env;
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, w->smap, w->nsmap);
	int nsub;
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	memcpy(sub, p->body, (size_t)nsub * sizeof *sub);
	hop_sig_count(n->op, attr, HOP_R_carry, p->nc);
	hop_sig_count(n->op, attr, HOP_R_x, p->nx);
	int64_t *sym = hop_attr_sym(n->op, attr), old = sym ? *sym : -1;
	if (old < 0)
		return attr;
	*sym = -1;
	if (stacks || mentioned(w->g, old)) {
		*sym = hop_build_local(&w->b, w->g->range[old], w->g->symname[old]);
		w->smap[old] = hop_size_sym(e, (int)*sym);
	}
	return attr;
}

static hop_status emit_plan(hop_rw *w, const hop_node *n, const struct plan *p)
{
	hop_env *e = w->env;
	struct form f;
	hop_roles node, body;
	read_form(e, n, &f);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, p->nin), *out = w->map + n->out0.id;
	for (uint32_t k = 0; k < p->nin; k++)
		in[k] = w->map[n->in[p->in[k]].id];
	w->b.loc = n->loc;
	void *attr = new_attr(w, n, p, p->nres > p->nc);
	hop_val v = hop_emit_op(&w->b, n->op, attr, p->nin, in);
	if (w->b.st)
		return w->b.st;
	const hop_node *made = &w->b.node[w->b.nnode - 1];
	hop_node_roles(made, &node);
	hop_body_roles(made, f.f.main, &body);
	for (uint32_t k = 0; k < p->nres; k++)
		out[result_of(&f, p->sel[k])].id = v.id + hop_form_result(&node, &body, k);
	if (own_count(&f) != UINT32_MAX)
		out[own_count(&f)].id = v.id + node.out.steps.at;
	for (uint32_t k = 0; k < f.nres; k++) {
		if (p->fwd[k] >= 0)
			out[result_of(&f, k)] = w->map[n->in[p->fwd[k]].id];
		else if (p->same[k] >= 0)
			out[result_of(&f, k)] = out[result_of(&f, (uint32_t)p->same[k])];
	}
	return HOP_OK;
}

/* A custom node: the same form, its bodies cleaned. */
static hop_status emit_plain(hop_rw *w, const hop_node *n)
{
	hop_env *e = w->env;
	int nsub;
	if (!(hop_optab[n->op].flags & HOP_F_R))
		return hop_rw_copy(w, n);
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, NULL, -1);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	for (int i = 0; i < nsub; i++)
		if (sub[i])
			HOP_TRY(hop_opt_dce(e, sub[i], &sub[i]));
	hop_node copy = *n;
	copy.attr = attr;
	return hop_rw_copy(w, &copy);
}

static hop_status once(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct plan *plan = HOP_NEWN(&e->tmp, struct plan, g->nnode);
	hop_rw w;
	hop_graph *made = NULL;
	hop_status st = plan_all(e, g, plan);
	if (!st) {
		hop_rw_open(&w, e, g);
		for (uint32_t i = 0; i < g->nnode && !st; i++) {
			hop_mark mi = hop_mark_at(&e->tmp);
			if (plan[i].keep)
				st = plan[i].other ? emit_plan(&w, &g->node[i], &plan[i])
				                   : emit_plain(&w, &g->node[i]);
			hop_rewind(&e->tmp, mi);
		}
		hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
		for (uint32_t i = 0; i < g->nout; i++)
			out[i] = w.map[g->out[i].id];
		if (st && !w.b.st)
			w.b.st = st;
		st = hop_rw_seal(&w, g->nout, out, &made);
		*out_g = made;
	}
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_opt_dce(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	struct { uint64_t kind; const hop_graph *g; } key = { 'O' << 8 | 'd', g };
	const hop_graph *now = hop_ctx_memo_get(e, &key, sizeof key), *last = g;
	if (!now) {
		HOP_TRY(once(e, g, &now));
		for (int i = 1; i < MAX_ROUNDS && now != last; i++) {
			last = now;
			HOP_TRY(once(e, last, &now));
		}
		now = hop_ctx_memo_put(e, &key, sizeof key, (void *)(uintptr_t)now);
	}
	*out_g = now;
	return HOP_OK;
}
