/* delegate.c -- regions for engines. Each call that names one is shown to it, as a function that was
 * cleaned up first; what the engine takes becomes a body of one node, a call of the host, under the
 * same conditions on sizes. So no pass and no target hears of engines.
 *
 * needs: all transforms done, replays expanded.  breaks: derivatives of what is taken. */
#include "driver/delegate.h"

#include <stdio.h>
#include <string.h>

#include "data/fn.h"
#include "driver/pipeline.h"
#include "opt/opt.h"
#include "opt/rewrite.h"

struct run {
	hop_env    *env;
	hop_map     done;              /* graph -> the same without regions for engines */
	hop_taken **taken;
	int         n;                 /* of them */
};

/* ---- asking an engine ---- */

static const hop_engine *find(struct run *r, const hop_node *n, const char *name, size_t len)
{
	return hop_engine_named(r->env, n->loc, "region", name, len);
}

/* What it runs must be there before it runs, so its results must have known sizes. */
static hop_status check(struct run *r, const hop_node *n, const hop_graph *g)
{
	for (uint32_t k = 0; k < g->nout; k++)
		for (int i = 0; i < hop_graph_out_type(g, k)->rank; i++)
			if (hop_size_nsym(hop_graph_out_type(g, k)->dim[i]) > (int)g->nsym)
				return hop_fail(r->env, n->loc, HOP_EREFUSED, "region: result %u has a size that only "
				                "the region knows: an engine writes into memory that is there before, "
				                "so give the result its capacity", k);
	return HOP_OK;
}

static const hop_engine_size *sizes(hop_env *e, const hop_graph *g)
{
	hop_engine_size *s = HOP_NEWN(&e->tmp, hop_engine_size, g->nsym);
	for (uint32_t i = 0; i < g->nsym; i++)
		s[i] = (hop_engine_size){ g->symname[i], g->range[i].lo, g->range[i].hi };
	return s;
}

static hop_status prepare(struct run *r, const hop_node *n, const hop_engine *engine,
                          const char *hints, hop_taken **out_t)
{
	hop_env *e = r->env;
	const hop_graph *g = HOP_ATTR(n, call)->body, *clean;
	hop_fn *fn;
	HOP_TRY(check(r, n, g));
	HOP_TRY(hop_pipeline_run(e, g, false, &clean));
	hop_engine_region q = { .name = g->name, .hints = hints, .nsym = (int)g->nsym,
	                        .sym = sizes(e, g), .graph = g };
	char name[128];
	snprintf(name, sizeof name, "%.100s:%d", engine->name, r->n);
	const char *kept = hop_ctx_name(e, name, strlen(name));
	HOP_TRY(hop_fn_new(e->ctx, clean, (int)clean->nparam, (int)clean->nout, 0, NULL, 0, NULL, &fn));
	q.fn = fn;
	q.text = hop_fn_text(fn);
	hop_status st = q.text ? hop_engine_take(e, engine, n->loc, &q, kept, out_t)
	                       : hop_fail(e, n->loc, HOP_ENOMEM, "region: no memory for its text");
	hop_fn_release(fn);
	if (st)
		return st;
	(*out_t)->g = g;
	(*out_t)->hints = hints;
	(*out_t)->next = *r->taken;
	*r->taken = *out_t;
	r->n++;
	return HOP_OK;
}

/* The same region goes to an engine once. */
static hop_status ask(struct run *r, const hop_node *n, const hop_engine *engine, hop_taken **out_t)
{
	const struct hop_attr_call *a = HOP_ATTR(n, call);
	const char *hints = hop_ctx_name(r->env, a->hints.n ? a->hints.s : "", (size_t)a->hints.n);
	for (*out_t = *r->taken; *out_t; *out_t = (*out_t)->next)
		if ((*out_t)->engine == engine && (*out_t)->g == a->body && (*out_t)->hints == hints)
			return HOP_OK;
	return prepare(r, n, engine, hints, out_t);
}

/* The first of the list that takes the region; *out_t = NULL: we do. A refusal is the last word only
 * if there is nobody else. */
static hop_status choose(struct run *r, const hop_node *n, hop_taken **out_t)
{
	const char *name;
	size_t at = 0, len;
	hop_status st = HOP_OK;
	for (*out_t = NULL; (len = hop_call_engine(n, &at, &name)); *out_t = NULL) {
		hop_diag_clear(r->env);
		if (len == 3 && !memcmp(name, "hop", 3))
			return HOP_OK;
		const hop_engine *engine = find(r, n, name, len);
		if (!engine)
			return r->env->diag.st;
		st = ask(r, n, engine, out_t);
		if (st != HOP_EREFUSED)
			return st;
	}
	return st;
}

/* ---- the graph ---- */

/* The body that runs it: a call of the host on its parameters, under its conditions. */
static hop_status stand_in(struct run *r, const hop_node *n, const hop_taken *t,
                           const hop_graph **out_g)
{
	hop_env *e = r->env;
	const hop_graph *g = t->g;
	int64_t *head = HOP_NEWN(&e->tmp, int64_t, 2 * g->nout), ndim = 0;
	hop_size *dim = HOP_NEWN(&e->tmp, hop_size, (size_t)g->nout * HOP_MAXRANK);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_graph *made;
	hop_rw w;
	hop_rw_open(&w, e, g);
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *ty = hop_graph_out_type(g, k);
		head[2 * k] = ty->dtype;
		head[2 * k + 1] = ty->rank;
		for (int i = 0; i < ty->rank; i++)
			dim[ndim++] = ty->dim[i];
	}
	struct hop_attr_host a = { .fn = { (int64_t)strlen(t->name), t->name },
	                           .types = { ndim, dim, g->nout, head } };
	w.b.loc = n->loc;
	hop_val v = hop_emit_op(&w.b, g->has_effect ? HOP_OP_host : HOP_OP_host_pure, &a, g->nparam,
	                        w.map);
	for (uint32_t k = 0; k < g->nout; k++)
		out[k] = w.b.st ? HOP_BAD : (hop_val){ v.id + k };
	HOP_TRY(hop_seal(&w.b, g->nout, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

static hop_status walk(struct run *r, const hop_graph *g, const hop_graph **out_g);

static hop_status node(struct run *r, hop_rw *w, const hop_node *n)
{
	hop_env *e = r->env;
	int nsub;
	if (!(hop_optab[n->op].flags & HOP_F_R))
		return hop_rw_copy(w, n);
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, NULL, -1);
	hop_node copy = *n;
	hop_taken *t = NULL;
	copy.attr = attr;
	if (n->op == HOP_OP_call && HOP_ATTR(n, call)->to.n) {
		struct hop_attr_call *a = attr;
		HOP_TRY(choose(r, n, &t));
		a->to = a->hints = (hop_str){ 0, NULL };
		if (t) {
			HOP_TRY(stand_in(r, n, t, &a->body));
			return hop_rw_copy(w, &copy);
		}
	}
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	for (int i = 0; i < nsub; i++)
		if (sub[i])
			HOP_TRY(walk(r, sub[i], &sub[i]));
	return hop_rw_copy(w, &copy);
}

/* Does it, or a body of it, have a region for an engine? */
static bool has(struct run *r, hop_map *seen, const hop_graph *g)
{
	if (hop_map_get(seen, &g, sizeof g))
		return false;
	hop_map_put(seen, &g, sizeof g, r);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		hop_graphs sub = hop_node_subs(n);
		if (n->op == HOP_OP_call && HOP_ATTR(n, call)->to.n)
			return true;
		for (int64_t k = 0; k < sub.n; k++)
			if (sub.v[k] && has(r, seen, sub.v[k]))
				return true;
	}
	return false;
}

static hop_status walk(struct run *r, const hop_graph *g, const hop_graph **out_g)
{
	hop_env *e = r->env;
	const hop_graph *old = hop_map_get(&r->done, &g, sizeof g);
	if (old) {
		*out_g = old;
		return HOP_OK;
	}
	hop_rw w;
	hop_graph *made;
	hop_status st = HOP_OK;
	hop_rw_open(&w, e, g);
	for (uint32_t i = 0; i < g->nnode && !st; i++)
		st = node(r, &w, &g->node[i]);
	HOP_TRY(hop_rw_end(&w, st, &made));
	hop_map_put(&r->done, &g, sizeof g, made);
	*out_g = made;
	return HOP_OK;
}

hop_status hop_delegate(hop_env *e, const hop_graph *g, hop_taken **io_taken,
                        const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct run r = { .env = e, .done.a = &e->tmp, .taken = io_taken };
	hop_map seen = { .a = &e->tmp };
	hop_status st = HOP_OK;
	*out_g = g;
	if (has(&r, &seen, g)) {
		st = hop_opt_expand(e, g, &g);
		st = st ? st : walk(&r, g, out_g);
	}
	hop_rewind(&e->tmp, m);
	return st;
}
