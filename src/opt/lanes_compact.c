/* lanes_compact.c -- lanes in slots: a loop of a few lanes at a time, in which those that have
 * ended make room for those that wait. Decides nothing.
 *
 *	next, id, slot = W, 0 .. W-1, rows id of the operands
 *	while (any slot is active || next < n)
 *		while (more than 3/4 of the slots are active; at the end: any) slot = body(slot)
 *		result[id] = slot
 *		each free slot: id = next++, slot = rows id, as long as there are lanes
 *
 * A slot whose lane has ended and that no other lane takes writes the same again. With fewer
 * lanes than slots several slots have the last lane, and compute the same. */
#include "opt/lanes.h"

#include <string.h>

#include "hops/batch.h"

/* Operands of the outer loop, in their order. */
struct outer {
	hop_val  next;           /* the first lane that waits */
	hop_val  id;             /* [W] the lane of each slot */
	hop_val *slot;           /* [nc+nk] what the inner loop takes: rows of W lanes, or shared */
	hop_val *res;            /* [nc] of all lanes */
	hop_val *all;            /* [nc+nk] what the loop itself was given */
};

struct compact {
	const hop_lanes *l;
	hop_size         w;
	hop_size         n;      /* the lanes, over the symbols of the bodies */
};

static uint32_t nin(const struct compact *c)
{
	const hop_lanes *l = c->l;
	return 2 + 3 * l->nc + 2 * l->nrow + (l->nk - l->nrow);
}

static uint32_t ncarry(const struct compact *c)
{
	return 2 + 2 * c->l->nc + c->l->nrow;
}

static struct outer lists(const struct compact *c)
{
	hop_arena *a = &c->l->env->tmp;
	uint32_t np = c->l->nc + c->l->nk;
	return (struct outer){ .slot = HOP_NEWN(a, hop_val, np), .all = HOP_NEWN(a, hop_val, np),
	                       .res = HOP_NEWN(a, hop_val, c->l->nc) };
}

/* In a row, for a call of the outer loop: carries, consts. */
static void line_up(const struct compact *c, const struct outer *o, hop_val *v)
{
	const hop_lanes *l = c->l;
	uint32_t np = l->nc + l->nk, n = 0;
	v[n++] = o->next;
	v[n++] = o->id;
	for (uint32_t i = 0; i < np; i++)
		if (l->row[i])
			v[n++] = o->slot[i];
	for (uint32_t i = 0; i < l->nc; i++)
		v[n++] = o->res[i];
	for (uint32_t i = 0; i < np; i++)
		v[n++] = o->all[i];
}

/* The same as parameters. */
static struct outer params(const struct compact *c, hop_build *b)
{
	const hop_lanes *l = c->l;
	hop_env *e = l->env;
	struct outer o = lists(c);
	uint32_t np = l->nc + l->nk;
	o.next = hop_build_param(b, hop_type_scalar(e, HOP_i64));
	o.id = hop_build_param(b, hop_type_get(e, HOP_i64, 1, &c->w));
	for (uint32_t i = 0; i < np; i++)
		if (l->row[i])
			o.slot[i] = hop_build_param(b, hop_lanes_type(l, i, c->w));
	for (uint32_t i = 0; i < l->nc; i++)
		o.res[i] = hop_build_param(b, l->body->type[i]);
	for (uint32_t i = 0; i < np; i++) {
		o.all[i] = hop_build_param(b, l->body->type[i]);
		if (!l->row[i])
			o.slot[i] = o.all[i];
	}
	return o;
}

static hop_val count(hop_build *b, hop_val m)
{
	return hop_emit_cast(b, hop_emit_sum(b, hop_emit_cast(b, m, HOP_i32), 1,
	                                     (const int64_t[]){ 0 }), HOP_i64);
}

/* ---- loops of the body as it is ---- */

/* The test or the body with one more parameter in front of the consts: a carry that counts the
 * trips, or a const that says how many lanes may be left over. */
struct more {
	hop_build b;
	hop_val  *in, *out;
	hop_val   one;
};

/* Sizes are those that `like` takes: where no trip is made, the body may take fewer. */
static void more_open(struct more *m, const struct compact *c, const hop_graph *like)
{
	const hop_lanes *l = c->l;
	hop_env *e = l->env;
	m->in = HOP_NEWN(&e->tmp, hop_val, l->nc + l->nk);
	m->out = HOP_NEWN(&e->tmp, hop_val, l->nc + 1);
	hop_build_open(&m->b, e);
	hop_build_syms_of(&m->b, like);
	for (uint32_t i = 0; i < l->nc; i++)
		m->in[i] = hop_build_param(&m->b, l->body->type[i]);
	m->one = hop_build_param(&m->b, hop_type_scalar(e, HOP_i64));
	for (uint32_t i = l->nc; i < l->nc + l->nk; i++)
		m->in[i] = hop_build_param(&m->b, l->body->type[i]);
}

static hop_status inner_test(const struct compact *c, hop_graph **out_g)
{
	struct more m;
	more_open(&m, c, c->l->test);
	m.out[0] = hop_emit(&m.b, lt, m.one, count(&m.b, m.in[0]));
	return hop_seal(&m.b, 1, m.out, NULL, out_g);
}

/* Go on with all lanes: at first while any runs, then while more than half of them do. */
static hop_status first_test(const struct compact *c, hop_graph **out_g)
{
	enum { TRIPS = 64 };
	struct more m;
	hop_build *b = &m.b;
	more_open(&m, c, c->l->test);
	hop_val half = hop_emit_size(b, hop_size_div(c->l->env, c->n, hop_size_int(2)));
	hop_val early = hop_emit(b, lt, m.one, hop_emit_const_i(b, HOP_i64, TRIPS));
	hop_val least = hop_emit(b, select, early, hop_emit_const_i(b, HOP_i64, 0), half);
	m.out[0] = hop_emit(b, lt, least, count(b, m.in[0]));
	return hop_seal(b, 1, m.out, NULL, out_g);
}

static hop_status more_body(const struct compact *c, bool counts, hop_graph **out_g)
{
	struct more m;
	more_open(&m, c, c->l->body);
	hop_emit_inline(&m.b, c->l->body, hop_own_sizes(c->l->env, c->l->body->nsym).v, m.in, m.out);
	if (counts)
		m.out[c->l->nc] = hop_emit(&m.b, add, m.one, hop_emit_const_i(&m.b, HOP_i64, 1));
	return hop_seal(&m.b, c->l->nc + counts, m.out, NULL, out_g);
}

/* in: carries, the one more, consts; out: carries. */
static hop_status loop(hop_build *b, const struct compact *c, bool counts, hop_sizes sargs,
                       const hop_val *in, hop_val *out)
{
	const hop_lanes *l = c->l;
	hop_graph *test, *body;
	hop_val *res = HOP_NEWN(&l->env->tmp, hop_val, l->nc + 2);
	HOP_TRY(counts ? first_test(c, &test) : inner_test(c, &test));
	HOP_TRY(more_body(c, counts, &body));
	hop_while_args w = { .test = test, .body = body, .sargs = sargs, .ncarry = l->nc + counts,
	                     .nconst = l->nk + !counts, .carry = in,
	                     .konst = in + l->nc + counts };
	HOP_TRY(hop_emit_while(b, &w, res));
	memcpy(out, res, l->nc * sizeof *out);
	return b->st;
}

static hop_status run(hop_build *b, const struct compact *c, struct outer *o)
{
	const hop_lanes *l = c->l;
	hop_val *in = HOP_NEWN(&l->env->tmp, hop_val, l->nc + l->nk + 1);
	hop_val waits = hop_emit(b, lt, o->next, hop_emit_size(b, c->n));
	memcpy(in, o->slot, l->nc * sizeof *in);
	in[l->nc] = hop_emit(b, select, waits, hop_emit_const_i(b, HOP_i64, c->w.k / 4 * 3),
	                     hop_emit_const_i(b, HOP_i64, 0));
	memcpy(in + l->nc + 1, o->slot + l->nc, l->nk * sizeof *in);
	hop_sizes own = hop_own_sizes(l->env, l->body->nsym);
	return loop(b, c, false, hop_lanes_sargs(l, own, c->w), in, o->slot);
}

/* ---- the outer loop ---- */

static hop_status refill(hop_build *b, const struct compact *c, struct outer *o)
{
	const hop_lanes *l = c->l;
	hop_val is_free = hop_emit(b, not, o->slot[0]), taken, before;
	HOP_TRY(hop_emit_before(b, hop_emit_cast(b, is_free, HOP_i64), &taken, &before));
	hop_val lane = hop_emit(b, add, before, hop_emit_lead(b, o->next, c->w));
	hop_val n = hop_emit_size(b, c->n);
	hop_val fresh = hop_emit(b, and, is_free, hop_emit(b, lt, lane, hop_emit_lead(b, n, c->w)));
	o->next = hop_emit(b, min, n, hop_emit(b, add, o->next, taken));
	o->id = hop_emit(b, select, fresh, lane, o->id);
	for (uint32_t i = 0; i < l->nc + l->nk && !b->st; i++)
		if (l->row[i])
			o->slot[i] = hop_lanes_pick(b, fresh, hop_lanes_rows(b, o->all[i], lane), o->slot[i]);
	return b->st;
}

/* k = 0 the test, 1 the body. */
static hop_status outer(const struct compact *c, int k, hop_graph **out_g)
{
	const hop_lanes *l = c->l;
	hop_env *e = l->env;
	hop_build b;
	hop_build_open(&b, e);
	hop_build_syms_of(&b, k ? l->body : l->test);
	hop_val *v = HOP_NEWN(&e->tmp, hop_val, nin(c));
	struct outer o = params(c, &b);
	if (!k) {
		hop_val any = hop_emit_amax(&b, o.slot[0], 1, (const int64_t[]){ 0 });
		v[0] = hop_emit(&b, or, any, hop_emit(&b, lt, o.next, hop_emit_size(&b, c->n)));
		return hop_seal(&b, 1, v, NULL, out_g);
	}
	hop_status st = run(&b, c, &o);
	for (uint32_t i = 0; i < l->nc && !b.st; i++)
		o.res[i] = hop_emit_scatter(&b, HOP_MODE_set, o.res[i], o.id, o.slot[i], 0, 0);
	if (!st)
		st = refill(&b, c, &o);
	line_up(c, &o, v);
	if (st && !b.st)
		b.st = st;
	return hop_seal(&b, ncarry(c), v, NULL, out_g);
}

/* All lanes for a while, before it is known whether it pays to part with those that end. */
static hop_status first(hop_build *b, const struct compact *c, hop_sizes sargs, hop_val *in)
{
	const hop_lanes *l = c->l;
	hop_val *all = HOP_NEWN(&l->env->tmp, hop_val, l->nc + l->nk + 1);
	memcpy(all, in, l->nc * sizeof *in);
	all[l->nc] = hop_emit_const_i(b, HOP_i64, 0);
	memcpy(all + l->nc + 1, in + l->nc, l->nk * sizeof *in);
	return loop(b, c, true, sargs, all, in);
}

hop_status hop_lanes_compact(hop_build *b, const hop_lanes *l, hop_sizes sargs, int64_t slots,
                             bool later, const hop_val *in, hop_val *out)
{
	hop_env *e = l->env;
	uint32_t np = l->nc + l->nk;
	struct compact c = { l, hop_size_int(slots), hop_size_sym(e, (int)l->body->nsym - 1) };
	hop_graph *test, *body;
	HOP_TRY(outer(&c, 0, &test));
	HOP_TRY(outer(&c, 1, &body));
	struct outer o = lists(&c);
	memcpy(o.all, in, np * sizeof *in);
	if (later)
		HOP_TRY(first(b, &c, sargs, o.all));
	memcpy(o.res, o.all, l->nc * sizeof *in);
	hop_val n = hop_emit_size(b, sargs.v[sargs.n - 1]);
	hop_val some = hop_emit(b, min, n, hop_emit_const_i(b, HOP_i64, slots));
	hop_val any = hop_emit_amax(b, o.all[0], 1, (const int64_t[]){ 0 });
	o.next = hop_emit(b, select, any, some, n);
	o.id = hop_emit_iota(b, HOP_i64, 1, &c.w, 0);
	for (uint32_t i = 0; i < np && !b->st; i++)
		o.slot[i] = l->row[i] ? hop_lanes_rows(b, o.all[i], o.id) : in[i];
	hop_val *v = HOP_NEWN(&e->tmp, hop_val, nin(&c));
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, ncarry(&c) + 1);
	line_up(&c, &o, v);
	hop_while_args w = { .test = test, .body = body, .sargs = sargs, .ncarry = ncarry(&c),
	                     .nconst = np, .carry = v, .konst = v + ncarry(&c) };
	HOP_TRY(hop_emit_while(b, &w, res));
	memcpy(out, res + ncarry(&c) - l->nc, l->nc * sizeof *out);
	return b->st;
}
