/* lanes.c -- loops of lanes that end at different trips get the form they run in: all lanes at
 * once until the last one ends (freeze: nothing to do), groups of lanes (interchange), or slots
 * that lanes leave when they have ended (compact). On a device lanes of a few numbers are groups of
 * one: each is a thread's, and ends when it ends.
 *
 * needs: licm before it, so that what a lane computes once is an operand.  keeps: what every lane
 * computes, bit by bit.  A loop whose form would show stays as it is: one with effects, one that
 * binds a size to the trips of the longest lane, one whose operands have lanes on another axis. */
#include "opt/opt.h"
#include "opt/lanes.h"

#include <string.h>

#include "hops/body.h"

enum {
	GROUP = 256,             /* lanes of a group that is not compacted; no fewer are split */
	SLOTS = 256,             /* that run at a time */
	SMALL = 16,              /* elements of a carry of a lane that a thread may have */
	PART  = 4096             /* lanes of a group that is: for threads */
};

/* ---- shared ---- */

hop_sizes hop_lanes_sargs(const hop_lanes *l, hop_sizes sargs, hop_size lanes)
{
	hop_size *s = hop_arena_dup(&l->env->tmp, sargs.v, (size_t)sargs.n * sizeof *s);
	s[sargs.n - 1] = lanes;
	return (hop_sizes){ sargs.n, s };
}

const hop_type *hop_lanes_type(const hop_lanes *l, uint32_t i, hop_size lanes)
{
	const hop_type *t = l->body->type[i];
	return l->row[i] ? hop_type_prepend(l->env, hop_type_drop(l->env, t), lanes) : t;
}

hop_val hop_lanes_rows(hop_build *b, hop_val x, hop_val ids)
{
	return hop_emit_gather(b, x, ids, 0, 0);
}

hop_val hop_lanes_pick(hop_build *b, hop_val p, hop_val x, hop_val y)
{
	if (b->st)
		return HOP_BAD;
	return hop_emit(b, select, hop_emit_match(b, p, hop_typeof(b, x)), x, y);
}

/* ---- groups ---- */

struct groups {
	const hop_lanes *l;
	hop_size         n, width, count;    /* lanes; of a group; groups */
	hop_size         padded;             /* width * count, at least n */
};

/* [n, ..] -> [count, width, ..]; lanes that are not there have the values of the last. */
static hop_val split(hop_build *b, const struct groups *g, hop_val x)
{
	hop_size dim[HOP_MAXRANK];
	if (!hop_size_eq(g->n, g->padded))
		x = hop_lanes_rows(b, x, hop_emit_iota(b, HOP_i64, 1, &g->padded, 0));
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	dim[0] = g->count;
	dim[1] = g->width;
	memcpy(dim + 2, t->dim + 1, (size_t)(t->rank - 1) * sizeof *dim);
	return hop_emit_reshape(b, x, t->rank + 1, dim);
}

/* [lead, count, width, ..] -> [lead, n, ..], where there may be no lead. */
static hop_val join(hop_build *b, const struct groups *g, hop_val y, int lead)
{
	hop_size dim[HOP_MAXRANK];
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, y);
	memcpy(dim, t->dim, (size_t)t->rank * sizeof *dim);
	dim[lead] = g->padded;
	memmove(dim + lead + 1, dim + lead + 2, (size_t)(t->rank - lead - 2) * sizeof *dim);
	y = hop_emit_reshape(b, y, t->rank - 1, dim);
	if (hop_size_eq(g->n, g->padded))
		return y;
	return hop_emit_gather(b, y, hop_emit_iota(b, HOP_i64, 1, &g->n, 0), lead, 0);
}

/* Which of the operands is the j-th parameter of a group: those with rows come first. */
static uint32_t *order(const hop_lanes *l)
{
	uint32_t np = l->nc + l->nk, n = 0, *at = HOP_NEWN(&l->env->tmp, uint32_t, np);
	for (int row = 1; row >= 0; row--)
		for (uint32_t i = 0; i < np; i++)
			if (l->row[i] == row)
				at[n++] = i;
	return at;
}

/* The body of a group of one: it runs as long as its lane does, so that it need not ask. */
static hop_status alone_body(const hop_lanes *l, hop_graph **out_g)
{
	hop_env *e = l->env;
	hop_build b;
	const hop_graph *g = l->body;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam), *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_build_open(&b, e);
	hop_build_syms_of(&b, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	in[0] = hop_emit_full(&b, g->type[0], 1);
	if (!b.st)
		hop_emit_inline(&b, g, hop_own_sizes(e, g->nsym).v, in, out);
	return hop_seal(&b, g->nout, out, NULL, out_g);
}

/* One group: the loop on `width` lanes. Results: carries, trips, tapes. */
static hop_status group_body(const struct groups *g, int64_t slots, hop_graph **out_g)
{
	const hop_lanes *l = g->l;
	hop_env *e = l->env;
	hop_build b;
	uint32_t np = l->nc + l->nk, *at = order(l), no = l->nc + 1 + l->nt;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np), *out = HOP_NEWN(&e->tmp, hop_val, no);
	hop_graph *body = (hop_graph *)(uintptr_t)l->body;
	if (hop_size_is(g->width, 1))
		HOP_TRY(alone_body(l, &body));
	hop_build_open(&b, e);
	hop_build_syms_of(&b, l->test);        /* a group whose lanes make no trip asks no more than that */
	hop_sizes sargs = hop_lanes_sargs(l, hop_own_sizes(e, l->body->nsym), g->width);
	for (uint32_t j = 0; j < np; j++)
		in[at[j]] = hop_build_param(&b, hop_lanes_type(l, at[j], g->width));
	if (slots) {
		hop_lanes_compact(&b, l, sargs, slots, false, in, out);
		out[l->nc] = hop_emit_const_i(&b, HOP_i64, 0);
	} else {
		hop_while_args w = { .test = l->test, .body = body, .sargs = sargs, .ncarry = l->nc,
		                     .nconst = l->nk, .max_trips = l->max_trips, .lanes = true,
		                     .how = HOP_HOW_freeze, .carry = in, .konst = in + l->nc };
		hop_emit_while(&b, &w, out);
	}
	return hop_seal(&b, no, out, NULL, out_g);
}

hop_status hop_lanes_groups(hop_build *b, const hop_lanes *l, hop_sizes sargs, int64_t width,
                            int64_t slots, const hop_val *in, hop_val *out)
{
	hop_env *e = l->env;
	struct groups g = { .l = l, .n = sargs.v[sargs.n - 1], .width = hop_size_int(width) };
	uint32_t np = l->nc + l->nk, *at = order(l), nx = l->nc + l->nrow;
	hop_graph *body;
	g.count = hop_size_div(e, hop_size_add(e, g.n, hop_size_int(width - 1)), g.width);
	g.padded = hop_size_mul(e, g.count, g.width);
	HOP_TRY(group_body(&g, slots, &body));
	hop_val *v = HOP_NEWN(&e->tmp, hop_val, np), *y = HOP_NEWN(&e->tmp, hop_val, body->nout);
	for (uint32_t j = 0; j < np; j++)
		v[j] = j < nx ? split(b, &g, in[at[j]]) : in[at[j]];
	if (!hop_size_eq(g.n, g.padded)) {         /* lanes that are not there do not run */
		hop_val lane = hop_emit_iota(b, HOP_i64, 1, &g.padded, 0);
		hop_val is = hop_emit(b, lt, lane, hop_emit_lead(b, hop_emit_size(b, g.n), g.padded));
		v[0] = hop_emit(b, and, v[0], hop_emit_reshape(b, is, 2, (hop_size[]){ g.count, g.width }));
	}
	if (b->st)
		return b->st;
	hop_scan_args s = { .body = body, .sargs = sargs, .nx = nx, .nconst = np - nx,
	                    .length = g.count, .unordered = true, .count = HOP_ZERO, .x = v,
	                    .konst = v + nx };
	HOP_TRY(hop_emit_scan(b, &s, y));
	for (uint32_t k = 0; k < l->nc; k++)
		out[k] = join(b, &g, y[k], 0);
	out[l->nc] = hop_emit(b, max, hop_emit_const_i(b, HOP_i64, 0),
	                      hop_emit_amax(b, y[l->nc], 1, (const int64_t[]){ 0 }));
	for (uint32_t k = 0; k < l->nt && !b->st; k++) {
		int64_t axes[HOP_MAXRANK];
		for (int i = 0; i < HOP_MAXRANK; i++)
			axes[i] = i > 1 ? i : 1 - i;
		hop_val t = hop_emit_permute(b, y[l->nc + 1 + k], axes);
		out[l->nc + 1 + k] = join(b, &g, t, 1);
	}
	return b->st;
}

/* ---- the pass ---- */

struct asked { int sym; bool found; };

static void look(void *user, int sym)
{
	struct asked *a = user;
	a->found |= sym == a->sym;
}

/* A graph whose run does not show how many lanes it was given. */
static bool quiet(const hop_graph *g)
{
	struct asked a = { .sym = (int)g->nsym - 1 };
	for (uint32_t i = 0; i < g->ncheck; i++) {
		hop_size_syms(g->check[i].a, look, &a);
		hop_size_syms(g->check[i].b, look, &a);
	}
	return !a.found && !g->has_effect && !g->range[a.sym].lo &&
	       g->range[a.sym].hi == HOP_SIZE_MAX;
}

static bool tests_any(const hop_graph *t)
{
	uint32_t d = t->def[t->out[0].id];
	return d != UINT32_MAX && t->node[d].in[0].id == 0 &&
	       (t->node[d].op == HOP_OP_amax || t->node[d].op == HOP_OP_any);
}

/* False if the loop has to stay as it is. */
static bool lanes_read(hop_env *e, const hop_node *n, const struct hop_attr_while *a,
                       hop_lanes *l)
{
	uint32_t nc = (uint32_t)a->ncarry;
	bool *row = HOP_NEWN(&e->tmp, bool, n->nin);
	*l = (hop_lanes){ .env = e, .test = a->test, .body = a->body, .max_trips = a->max_trips,
	                  .nc = nc, .nk = n->nin - nc, .nt = a->body->nout - nc, .row = row };
	if (a->sym >= 0 || !quiet(a->test) || !quiet(a->body) || !tests_any(a->test))
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		enum hop_lead is = hop_lanes_lead(a->body, a->body->type[i]);
		row[i] = is == HOP_LEAD_LANES;
		l->nrow += i >= nc && row[i];
		if (is == HOP_LEAD_OTHER || a->body->type[i]->rank + 2 > HOP_MAXRANK)
			return false;
	}
	for (uint32_t k = 0; k < l->nt; k++)
		if (!a->max_trips || hop_graph_out_type(a->body, nc + k)->rank + 3 > HOP_MAXRANK ||
		    hop_lanes_lead(a->body, hop_graph_out_type(a->body, nc + k)) != HOP_LEAD_LANES)
			return false;
	return true;
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	const struct hop_attr_while *a = attr;
	hop_lanes l;
	if (n->op != HOP_OP_while || !a->lanes || a->how == HOP_HOW_freeze ||
	    !lanes_read(w->env, n, a, &l))
		return hop_rw_keep(w, n, in, attr, out);
	hop_size lanes = a->sargs.v[a->sargs.n - 1];
	int64_t many = hop_range_usual(hop_size_range(lanes, w->b.range,
	                                              (int)(w->b.nsym + w->b.nlocal)));
	bool trips = w->uses[n->out0.id + l.nc], plain = !l.nt && !trips;
	bool later = a->how == HOP_HOW_auto, few = hop_size_const(lanes) && lanes.k <= GROUP;
	if (few || (later && (!plain || many < 4 * SLOTS)))
		return hop_rw_keep(w, n, in, attr, out);
	if (a->how == HOP_HOW_interchange || !plain)
		return hop_lanes_groups(&w->b, &l, a->sargs, GROUP, 0, in, out);
	if (!later && many >= 8 * PART)
		return hop_lanes_groups(&w->b, &l, a->sargs, PART, SLOTS, in, out);
	out[l.nc] = hop_emit_const_i(&w->b, HOP_i64, 0);
	return hop_lanes_compact(&w->b, &l, a->sargs, SLOTS, later, in, out);
}

/* The largest carry, or row of a constant, of a lane is a few elements. */
static bool is_small(const hop_lanes *l)
{
	for (uint32_t i = 0; i < l->nc + l->nk; i++) {
		hop_size n = hop_size_int(1);
		for (int k = 1; l->row[i] && k < l->body->type[i]->rank; k++)
			n = hop_size_mul(l->env, n, l->body->type[i]->dim[k]);
		if (!hop_size_const(n) || n.k > SMALL)
			return false;
	}
	return true;
}

/* Large lanes go together, whatever was asked for: blocks share their elements. */
static hop_status device_node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                              hop_val *out)
{
	const struct hop_attr_while *a = attr;
	hop_lanes l;
	if (n->op != HOP_OP_while || !a->lanes || a->how == HOP_HOW_freeze ||
	    !lanes_read(w->env, n, a, &l) || !is_small(&l))
		return hop_rw_keep(w, n, in, attr, out);
	return hop_lanes_groups(&w->b, &l, a->sargs, 1, 0, in, out);
}

hop_status hop_opt_threads(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'H', device_node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}

hop_status hop_opt_lanes(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'L', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
