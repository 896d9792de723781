/* deep.c -- from bytes to compiled code. What comes from text may be anything, so what would
 * take too long or too much memory is only lowered. */
#include "support/deep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ad/ad.h"
#include "driver/pipeline.h"
#include "hop/ctx.h"
#include "text/text.h"
#include "loop/lower.h"
#include "support/program.h"
#include "support/refuse.h"

enum { MOST_NODES = 400, MOST_WORK = 30000, MOST_SIZE = 9 };

/* ---- what is small enough to be run ---- */

/* Elements that g computes when every size is the largest it is run with; more than
 * MOST_WORK when it cannot be told or never ends. */
static double work(hop_env *e, const hop_graph *g, const int64_t *syms)
{
	double all = 0;
	int64_t *own = HOP_NEWN(&e->tmp, int64_t, g->nsym + g->nlocal);
	for (uint32_t i = 0; i < g->nsym + g->nlocal; i++)
		own[i] = i < g->nsym ? syms[i] : g->range[i].hi < 64 ? g->range[i].hi : 64;
	for (uint32_t v = 0; v < g->nvalue; v++) {
		double n = 1;
		for (int k = 0; k < g->type[v]->rank; k++) {
			int64_t d;
			if (!hop_size_eval(g->type[v]->dim[k], own, (int)(g->nsym + g->nlocal), &d))
				return 2 * MOST_WORK;
			n *= d < 0 ? 0 : (double)d;
		}
		all += n + 1;
	}
	for (uint32_t i = 0; i < g->nnode && all <= MOST_WORK; i++) {
		const hop_node *n = &g->node[i];
		hop_graphs sub = hop_node_subs(n);
		hop_sizes a = hop_node_sargs(n);
		int64_t *args = HOP_NEWN(&e->tmp, int64_t, a.n + 1), trips = 1;
		if (n->op == HOP_OP_while)
			trips = HOP_ATTR(n, while)->max_trips ? HOP_ATTR(n, while)->max_trips : MOST_WORK + 1;
		if (n->op == HOP_OP_scan &&
		    !hop_size_eval(HOP_ATTR(n, scan)->length, own, (int)(g->nsym + g->nlocal), &trips))
			trips = MOST_WORK + 1;
		for (int64_t k = 0; k < a.n; k++)
			if (!hop_size_eval(a.v[k], own, (int)(g->nsym + g->nlocal), &args[k]))
				return 2 * MOST_WORK;
		for (int k = 0; k < sub.n; k++)
			if (sub.v[k] && sub.v[k]->nsym == a.n)
				all += (double)(trips < 1 ? 1 : trips) * work(e, sub.v[k], args);
	}
	return all;
}

static bool runs(hop_env *e, const hop_graph *g)
{
	int64_t *syms = HOP_NEWN(&e->tmp, int64_t, g->nsym);
	for (uint32_t i = 0; i < g->nsym; i++) {
		syms[i] = g->range[i].hi < 67 ? g->range[i].hi : 67;
		if (g->range[i].lo > MOST_SIZE)
			return false;
	}
	/* every size must be found in a shape */
	for (uint32_t s = 0; s < g->nsym; s++) {
		bool found = false;
		for (uint32_t i = 0; i < g->nparam; i++)
			for (int k = 0; k < g->type[i]->rank; k++)
				found |= hop_size_bare(g->type[i]->dim[k]) == (int)s;
		if (!found)
			return false;
	}
	for (uint32_t i = 0; i < g->nout; i++)
		for (int k = 0; k < hop_graph_out_type(g, i)->rank; k++)
			if ((uint32_t)hop_size_nsym(hop_graph_out_type(g, i)->dim[k]) > g->nsym)
				return false;
	return g->nsym <= 16 && !g->has_effect && work(e, g, syms) <= MOST_WORK;
}

/* ---- graphs ---- */

/* What cannot be run is optimised and lowered all the same. */
static void lower_only(hop_env *e, const hop_graph *g, deep_count *c)
{
	const hop_graph *o;
	hop_prog *p;
	hop_status st = hop_pipeline_run(e, g, false, &o);
	if (!st)
		st = hop_lower_graph(e, o, NULL, &p);
	if (!st) {
		c->programs++;
		hop_prog_free(p, &e->mem);
	} else if (st != HOP_ENOMEM && st != HOP_EREFUSED) {
		c->failures++;
		fprintf(stderr, "cannot be lowered: %s\n", e->diag.text ? e->diag.text : "");
	}
}

static void graph(hop_env *e, const hop_graph *g, refuse_opts o, deep_count *c)
{
	refuse_count r = { 0 };
	if (gen_weight(g, MOST_NODES) >= MOST_NODES)
		return;
	if (!runs(e, g)) {
		lower_only(e, g, c);
		return;
	}
	refuse_graph(e, g, &o, &r);
	c->programs += r.graphs;
	c->compiled += r.compiled;
	c->runs += r.inputs;
	c->refused += r.refused;
	c->unsteady += r.unsteady;
	c->failures += r.failures;
}

static void from_text(hop_env *e, const uint8_t *p, size_t n, refuse_opts o, deep_count *c)
{
	hop_module *m;
	if (hop_module_parse(e, (const char *)p, n, "input", &m)) {
		hop_diag_clear(e);
		return;
	}
	o.any_values = true;
	for (uint32_t i = 0; i < m->n; i++)
		graph(e, m->entry[i].g, o, c);
	hop_module_free(m, &e->mem);
}

static void from_choices(hop_env *e, const uint8_t *p, size_t n, refuse_opts o,
                         deep_count *c)
{
	uint8_t head[8] = { 0 };
	memcpy(head, p, n < 8 ? n : 8);
	gen_opts g = { .seed = o.seed, .bytes = p + (n < 8 ? n : 8), .nbyte = n < 8 ? 0 : n - 8,
	               .steps = 1 + head[0] % 8, .depth = head[1] % 4,
	               .nsym = head[2] % (GEN_MAXSYM + 1), .risks = head[3] % 3,
	               .locals = head[4] % 3 == 0, .wide = head[5] % 2, .f32 = head[6] % 4 == 0 };
	hop_graph *made;
	if (gen_program(e, &g, &made)) {
		c->failures++;
		fprintf(stderr, "cannot be made: %s\n", e->diag.text ? e->diag.text : "");
		return;
	}
	o.loose = g.f32;
	graph(e, made, o, c);
}

void deep_input(const uint8_t *p, size_t n, unsigned native, deep_count *c)
{
	uint64_t seed = hop_hash_bytes(p, n).lo;
	refuse_opts o = { .seed = seed % 1000000007, .inputs = 2, .transforms = (int)(seed >> 40) % 3,
	                  .native = native && (seed >> 20) % native == 0 };
	hop_ctx *ctx;
	hop_env e;
	hop_frame f;
	c->inputs++;
	if (hop_ctx_new(NULL, &ctx))
		abort();
	hop_env_init(&e, ctx, hop_ctx_mem(ctx));
	if (HOP_GUARD(&e, &f)) {
		(void)!hop_guard_nomem(&e, &f);
	} else {
		if (n > 4 && !memcmp(p, "hop ", 4))
			from_text(&e, p, n, o, c);
		else
			from_choices(&e, p, n, o, c);
		hop_guard_end(&e, &f);
	}
	hop_env_fini(&e);
	hop_ctx_free(ctx);
}
