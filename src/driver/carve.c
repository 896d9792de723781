/* carve.c -- regions for an engine out of a whole program: nodes that it supports, grown together as
 * far as there is no way out of a region and back into it, which would be a circle. A node with bodies
 * goes as one, or else its bodies are looked at. The same program always gives the same regions.
 *
 * needs: nothing.  keeps: values, effects and their order. */
#include "driver/delegate.h"

#include <string.h>

#include "opt/opt.h"
#include "opt/rewrite.h"

enum { NONE = UINT32_MAX };

/* One graph. A group is named by its first node; a node that is not supported is one by itself. */
struct carve {
	hop_env          *env;
	const hop_engine *engine;
	hop_map          *done;            /* graph -> carved */
	const hop_graph  *g;
	bool             *ours;            /* [nnode] not for the engine */
	uint32_t         *group;           /* [nnode] */
	uint32_t         *next;            /* [nnode] the next node of the group; NONE = last */
	uint32_t         *before;          /* [nnode] the node that has to stay before it: effects, and
	                                      sizes that nodes bind; NONE = none */
	uint32_t         *user0, *user;    /* [nnode+1], nodes that read node i: user[user0[i]..] */
	uint32_t         *stack;           /* [nnode] */
	bool             *seen;            /* [nnode] groups */
};

/* ---- what the engine supports ---- */

static hop_engine_type told(const hop_type *t)
{
	hop_engine_type r = { .dtype = (hop_dtype)t->dtype, .rank = t->rank };
	for (int i = 0; i < t->rank; i++)
		r.dim[i] = hop_size_const(t->dim[i]) ? t->dim[i].k : -1;
	return r;
}

static bool local(const hop_graph *g, const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (hop_size_nsym(t->dim[i]) > (int)g->nsym)
			return true;
	return false;
}

struct mention { const hop_graph *g; bool some; };

static void mention(void *user, int sym)
{
	struct mention *m = user;
	m->some |= sym >= (int)m->g->nsym;
}

/* Does it have to do with sizes that nodes bind? */
static bool is_local(const hop_graph *g, const hop_node *n)
{
	struct mention m = { g, hop_node_binds(n) >= 0 };
	hop_node_syms(n, mention, &m);
	bool some = m.some;
	for (uint32_t k = 0; k < n->nin; k++)
		some |= local(g, g->type[n->in[k].id]);
	for (uint32_t k = 0; k < n->nout; k++)
		some |= local(g, g->type[n->out0.id + k]);
	return some;
}

static bool supported(const struct carve *c, const hop_node *n)
{
	const hop_graph *g = c->g;
	if (hop_node_effect(n) || n->guard || hop_node_holds(n) & HOP_HOLDS_HOST || is_local(g, n) ||
	    !n->nout || (n->op == HOP_OP_call && HOP_ATTR(n, call)->to.n))
		return false;
	hop_mark m = hop_mark_at(&c->env->tmp);
	hop_engine_type *t = HOP_NEWN(&c->env->tmp, hop_engine_type, n->nin + n->nout);
	for (uint32_t k = 0; k < n->nin; k++)
		t[k] = told(g->type[n->in[k].id]);
	for (uint32_t k = 0; k < n->nout; k++)
		t[n->nin + k] = told(g->type[n->out0.id + k]);
	bool yes = c->engine->supports && c->engine->supports(c->engine->user, hop_optab[n->op].name,
	                                                      (int)n->nin, t, (int)n->nout, t + n->nin);
	hop_rewind(&c->env->tmp, m);
	return yes;
}

/* ---- groups ---- */

static void link_users(struct carve *c)
{
	const hop_graph *g = c->g;
	uint32_t *n = c->user0, all = 0;
	for (uint32_t i = 0; i < g->nnode; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++) {
			uint32_t d = g->def[g->node[i].in[k].id];
			if (d != NONE)
				n[d + 1]++;
		}
	for (uint32_t i = 0; i < g->nnode; i++) {
		if (c->before[i] != NONE)
			n[c->before[i] + 1]++;
	}
	for (uint32_t i = 0; i < g->nnode; i++)
		n[i + 1] += n[i];
	all = n[g->nnode];
	c->user = HOP_NEWN(&c->env->tmp, uint32_t, all);
	uint32_t *at = HOP_NEWN(&c->env->tmp, uint32_t, g->nnode);
	for (uint32_t i = 0; i < g->nnode; i++) {
		for (uint32_t k = 0; k < g->node[i].nin; k++) {
			uint32_t d = g->def[g->node[i].in[k].id];
			if (d != NONE)
				c->user[n[d] + at[d]++] = i;
		}
		if (c->before[i] != NONE)
			c->user[n[c->before[i]] + at[c->before[i]]++] = i;
	}
}

static void open(struct carve *c)
{
	const hop_graph *g = c->g;
	hop_arena *tmp = &c->env->tmp;
	uint32_t last = NONE;
	c->ours = HOP_NEWN(tmp, bool, g->nnode);
	c->seen = HOP_NEWN(tmp, bool, g->nnode);
	c->group = HOP_NEWN(tmp, uint32_t, g->nnode);
	c->next = HOP_NEWN(tmp, uint32_t, g->nnode);
	c->before = HOP_NEWN(tmp, uint32_t, g->nnode);
	c->stack = HOP_NEWN(tmp, uint32_t, g->nnode);
	c->user0 = HOP_NEWN(tmp, uint32_t, (size_t)g->nnode + 1);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		c->ours[i] = !supported(c, n);
		c->group[i] = i;
		c->next[i] = c->before[i] = NONE;
		if (hop_node_effect(n) || n->guard || is_local(g, n)) {
			c->before[i] = last;
			last = i;
		}
	}
	link_users(c);
}

/* Put the readers of a group that are in none of these two onto the stack; true if one is in b and
 * this is not a itself: then there is a way around. */
static bool spread(struct carve *c, uint32_t group, uint32_t a, uint32_t b, uint32_t *io_n)
{
	for (uint32_t i = group; i != NONE; i = c->next[i])
		for (uint32_t k = c->user0[i]; k < c->user0[i + 1]; k++) {
			uint32_t to = c->group[c->user[k]];
			if (to == b && group != a)
				return true;
			if (to != a && to != b && !c->seen[to]) {
				c->seen[to] = true;
				c->stack[(*io_n)++] = to;
			}
		}
	return false;
}

/* Is there a way from a to b through a third one? */
static bool around(struct carve *c, uint32_t a, uint32_t b)
{
	uint32_t n = 0;
	memset(c->seen, 0, c->g->nnode * sizeof *c->seen);
	bool yes = spread(c, a, a, b, &n);
	while (!yes && n)
		yes = spread(c, c->stack[--n], a, b, &n);
	return yes;
}

/* b into a; both lists are in order, and so is the new one. */
static void merge(struct carve *c, uint32_t a, uint32_t b)
{
	uint32_t first = a < b ? a : b, *end = &(uint32_t){ NONE }, x = a, y = b;
	while (x != NONE || y != NONE) {
		uint32_t *take = y == NONE || (x != NONE && x < y) ? &x : &y, i = *take;
		*take = c->next[i];
		*end = i;
		end = &c->next[i];
		c->group[i] = first;
	}
	*end = NONE;
}

/* Along every edge between supported nodes, until nothing grows: what was in the way may have become
 * a part. */
static void grow(struct carve *c)
{
	const hop_graph *g = c->g;
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < g->nnode; i++)
			for (uint32_t k = 0; !c->ours[i] && k < g->node[i].nin; k++) {
				uint32_t d = g->def[g->node[i].in[k].id];
				if (d == NONE || c->ours[d] || c->group[d] == c->group[i] ||
				    around(c, c->group[d], c->group[i]))
					continue;
				merge(c, c->group[d], c->group[i]);
				more = true;
			}
	}
}

/* ---- the new graph ---- */

/* A region being made: what it takes and gives, values of the source. */
struct region {
	uint32_t *in, *out;
	uint32_t  nin, nout;
};

static bool read_outside(const struct carve *c, uint32_t node, uint32_t v)
{
	const hop_graph *g = c->g;
	for (uint32_t i = 0; i < g->nout; i++)
		if (g->out[i].id == v)
			return true;
	for (uint32_t k = c->user0[node]; k < c->user0[node + 1]; k++) {
		const hop_node *n = &g->node[c->user[k]];
		for (uint32_t j = 0; j < n->nin && c->group[c->user[k]] != c->group[node]; j++)
			if (n->in[j].id == v)
				return true;
	}
	return false;
}

static void border(struct carve *c, uint32_t group, struct region *r)
{
	const hop_graph *g = c->g;
	bool *has = HOP_NEWN(&c->env->tmp, bool, g->nvalue);
	r->in = HOP_NEWN(&c->env->tmp, uint32_t, g->nvalue);
	r->out = HOP_NEWN(&c->env->tmp, uint32_t, g->nvalue);
	for (uint32_t i = group; i != NONE; i = c->next[i]) {
		const hop_node *n = &g->node[i];
		for (uint32_t k = 0; k < n->nin; k++) {
			uint32_t v = n->in[k].id, d = g->def[v];
			if (!has[v] && (d == NONE || c->group[d] != group))
				r->in[r->nin++] = v;
			has[v] = true;
		}
		for (uint32_t k = 0; k < n->nout; k++)
			if (read_outside(c, i, n->out0.id + k))
				r->out[r->nout++] = n->out0.id + k;
	}
}

static hop_status body(struct carve *c, uint32_t group, const struct region *r,
                       const hop_graph **out_g)
{
	hop_env *e = c->env;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, r->nout);
	hop_graph *made;
	hop_rw w;
	hop_rw_open_bare(&w, e, c->g);
	for (uint32_t k = 0; k < r->nin; k++)
		w.map[r->in[k]] = hop_build_param(&w.b, c->g->type[r->in[k]]);
	hop_build_checks_of(&w.b, c->g, w.smap, w.nsmap);
	for (uint32_t i = group; i != NONE && !w.b.st; i = c->next[i])
		hop_rw_copy(&w, &c->g->node[i]);
	for (uint32_t k = 0; k < r->nout; k++)
		out[k] = w.map[r->out[k]];
	HOP_TRY(hop_seal(&w.b, r->nout, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

static hop_status emit_region(struct carve *c, hop_rw *w, uint32_t group)
{
	hop_env *e = c->env;
	struct region r = { 0 };
	const hop_graph *b;
	border(c, group, &r);
	if (!r.nout)
		return HOP_OK;
	HOP_TRY(body(c, group, &r, &b));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, r.nin), *out = HOP_NEWN(&e->tmp, hop_val, r.nout);
	hop_size *s = HOP_NEWN(&e->tmp, hop_size, c->g->nsym);
	struct hop_attr_call like = { .to = { (int64_t)strlen(c->engine->name), c->engine->name } };
	for (uint32_t k = 0; k < r.nin; k++)
		in[k] = w->map[r.in[k]];
	for (uint32_t i = 0; i < c->g->nsym; i++)
		s[i] = hop_size_sym(e, (int)i);
	w->b.loc = c->g->node[group].loc;
	HOP_TRY(hop_emit_call_like(&w->b, &like, b, (hop_sizes){ c->g->nsym, s }, in, out));
	for (uint32_t k = 0; k < r.nout; k++)
		w->map[r.out[k]] = out[k];
	return HOP_OK;
}

static hop_status carve(hop_env *e, const hop_engine *engine, hop_map *done, const hop_graph *g,
                        const hop_graph **out_g);

static hop_status emit_node(struct carve *c, hop_rw *w, const hop_node *n)
{
	hop_env *e = c->env;
	int nsub;
	hop_form f;
	if (!(hop_optab[n->op].flags & HOP_F_R) ||
	    (n->op == HOP_OP_call && HOP_ATTR(n, call)->to.n))
		return hop_rw_copy(w, n);
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, NULL, -1);
	if (!hop_form_read(n, attr, &f))       /* its bodies do more than run */
		return hop_rw_copy(w, n);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	for (int i = 0; i < nsub; i++)
		if (sub[i])
			HOP_TRY(carve(e, c->engine, c->done, sub[i], &sub[i]));
	hop_node copy = *n;
	copy.attr = attr;
	return hop_rw_copy(w, &copy);
}

/* A group and what it waits for. Groups were kept free of circles, so this ends; a stack of our own,
 * since a way may be as long as the graph. */
static hop_status emit(struct carve *c, hop_rw *w, bool *out, uint32_t group)
{
	const hop_graph *g = c->g;
	uint32_t n = 0;
	c->stack[n++] = group;
	while (n) {
		uint32_t top = c->stack[n - 1], wait = NONE;
		for (uint32_t i = top; i != NONE && wait == NONE && !out[top]; i = c->next[i]) {
			for (uint32_t k = 0; k < g->node[i].nin && wait == NONE; k++) {
				uint32_t d = g->def[g->node[i].in[k].id];
				if (d != NONE && c->group[d] != top && !out[c->group[d]])
					wait = c->group[d];
			}
			if (wait == NONE && c->before[i] != NONE && !out[c->group[c->before[i]]] &&
			    c->group[c->before[i]] != top)
				wait = c->group[c->before[i]];
		}
		if (wait != NONE) {
			HOP_ASSERT(n < g->nnode);
			c->stack[n++] = wait;
			continue;
		}
		n--;
		if (out[top])
			continue;
		out[top] = true;
		HOP_TRY(c->ours[top] ? emit_node(c, w, &g->node[top]) : emit_region(c, w, top));
	}
	return HOP_OK;
}

static hop_status carve(hop_env *e, const hop_engine *engine, hop_map *done, const hop_graph *g,
                        const hop_graph **out_g)
{
	struct carve c = { .env = e, .engine = engine, .done = done, .g = g };
	const hop_graph *old = hop_map_get(done, &g, sizeof g);
	hop_status st = HOP_OK;
	hop_graph *made;
	hop_rw w;
	if (old) {
		*out_g = old;
		return HOP_OK;
	}
	open(&c);
	grow(&c);
	hop_rw_open(&w, e, g);
	bool *out = HOP_NEWN(&e->tmp, bool, g->nnode);
	for (uint32_t i = 0; i < g->nnode && !st; i++)
		st = emit(&c, &w, out, c.group[i]);
	HOP_TRY(hop_rw_end(&w, st, &made));
	hop_map_put(done, &g, sizeof g, made);
	*out_g = made;
	return HOP_OK;
}

hop_status hop_carve(hop_env *e, const hop_graph *g, const char *name, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_map done = { .a = &e->tmp };
	const hop_engine *engine = hop_engine_named(e, 0, "compile", name, strlen(name));
	if (!engine)
		return e->diag.st;
	hop_status st = hop_opt_expand(e, g, &g);
	st = st ? st : carve(e, engine, &done, g, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}
