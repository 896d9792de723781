/* scan_ad.c -- scan and map under vjp. One step's joint graph is cut; the reverse is a scan in
 * the other direction. With `every` or `slots` only some carries are kept: the scan is rewritten as
 * a scan over chunks of an inner scan, which gives the carry of each chunk, and the reverse is a
 * replay. What counts steps from the first that runs is told forward: a scan that stops or keeps
 * carries and runs backwards is one over flipped xs. */
#include "hops/replay.h"
#include "hops/scan_chunk.h"

#include <string.h>

struct saved {
	hop_steps  n;                /* the node */
	hop_loop   l;
	hop_sizes  sargs;
	hop_size   length;
	hop_val    count;            /* HOP_ZERO = all steps ran */
	hop_val   *stacked;
	hop_val   *kept;             /* of a replay; NULL = the first carries only */
	hop_chunks c;
};

enum way { PLAIN, FLIPPED, REPLAYED };

static enum way way_of(hop_env *e, const hop_rule *r)
{
	hop_chunks c;
	hop_steps s = hop_steps_of(r->n);
	hop_loop l = { .body = s.body, .nc = s.nc, .nx = s.nx, .nk = s.nk, .ny = s.ny };
	hop_range len = hop_size_range(s.length, r->g->range, (int)(r->g->nsym + r->g->nlocal));
	bool keeps = s.every || s.slots;
	if (len.hi < 1 || !(s.reverse ? keeps || s.stops : keeps))
		return PLAIN;
	if (s.reverse)
		return FLIPPED;
	return hop_replay_fits(&l) && (s.slots || hop_scan_chunks(e, r->g, r->n, &c)) ? REPLAYED
	                                                                              : PLAIN;
}

/* The size arguments of a graph that hop_scan_open began. */
static hop_sizes graph_sargs(hop_build *b, hop_rule *r)
{
	hop_size length = hop_steps_of(r->n).length;
	hop_sizes s = hop_rule_sargs(b, r);            /* leaves room for one more */
	if (!hop_size_const(length))
		((hop_size *)(uintptr_t)s.v)[s.n++] = hop_size_subst(b->env, length, r->smap,
		                                                     r->nsmap);
	return s;
}

static struct saved *begin(hop_build *b, hop_rule *r)
{
	struct saved *s = r->save = HOP_NEW(&b->arena, struct saved);
	hop_steps n = s->n = hop_steps_of(r->n);
	s->l = (hop_loop){ .body = n.body, .nc = n.nc, .nx = n.nx, .nk = n.nk, .ny = n.ny,
	                   .stops = n.stops };
	s->sargs = hop_rule_sargs(b, r);
	s->length = hop_size_subst(b->env, n.length, r->smap, r->nsmap);
	s->count = n.lead ? r->in[0] : HOP_ZERO;
	return s;
}

static hop_status fwd_plain(hop_build *b, hop_rule *r, struct saved *s)
{
	hop_env *e = b->env;
	hop_steps n = s->n;
	const hop_val *in = r->in + n.lead;
	HOP_TRY(hop_loop_cut(b, &s->l, r->act + n.lead, r->live + n.nc, HOP_CUT_MIN));
	uint32_t nout = s->l.fwd->nout, first = n.nc + n.ny;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, nout);
	hop_scan_args w = { .body = s->l.fwd, .sargs = s->sargs, .ncarry = n.nc, .nx = n.nx,
	                    .nconst = n.nk, .length = s->length, .reverse = n.reverse,
	                    .stops = n.stops, .unordered = n.unordered, .unroll = n.unroll,
	                    .count = s->count,
	                    .carry = in, .x = in + n.nc, .konst = in + n.nc + n.nx };
	HOP_TRY(hop_emit_scan(b, &w, out));
	memcpy(r->out, out, first * sizeof *out);
	s->stacked = hop_arena_dup(&b->arena, out + first, s->l.nstack * sizeof *out);
	if (n.stops)
		r->out[first] = s->count = out[nout - 1];
	return b->st;
}

static hop_status bwd_plain(hop_build *b, hop_rule *r, const struct saved *s)
{
	const hop_steps *n = &s->n;
	const hop_val *in = r->in + n->lead;
	hop_val *din = r->din + n->lead;
	hop_loop_vals v = { .x = in + n->nc, .konst = in + n->nc + n->nx, .y = r->out + n->nc,
	                    .stacked = s->stacked, .dcarry = r->dout, .dy = r->dout + n->nc,
	                    .carry = r->out, .count = s->count, .length = s->length,
	                    .reverse = !n->reverse, .unordered = n->unordered,
	                    .sargs = s->sargs, .unroll = n->unroll };
	return hop_loop_reverse(b, &s->l, &v, din, din + n->nc, din + n->nc + n->nx);
}

/* ---- some carries kept ---- */

/* The scan over chunks, or as it is when it has too few slots to keep anything on its way. */
static hop_status fwd_replay(hop_build *b, hop_rule *r, struct saved *s)
{
	hop_steps n = s->n;
	uint32_t no = r->n->nout;
	hop_graph *g;
	hop_loop_active(b, &s->l, r->act + n.lead, r->live + n.nc);
	if (hop_scan_chunks(b->env, r->g, r->n, &s->c)) {
		hop_val *out = HOP_NEWN(&b->arena, hop_val, no + n.nc);
		HOP_TRY(hop_scan_chunk(b->env, r->g, r->n, &s->c, &g));
		HOP_TRY(hop_emit_call(b, g, graph_sargs(b, r), r->in, out));
		memcpy(r->out, out, no * sizeof *out);
		s->kept = out + no;
	} else {
		hop_val v = hop_emit_copy(b, r->g, r->n, r->in, r->smap, r->nsmap);
		for (uint32_t k = 0; k < no; k++)
			r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	}
	if (n.stops)
		s->count = r->out[no - 1];
	return b->st;
}

static hop_status bwd_replay(hop_build *b, hop_rule *r, const struct saved *s)
{
	const hop_steps *n = &s->n;
	const hop_val *in = r->in + n->lead;
	hop_val *din = r->din + n->lead;
	hop_range len = hop_size_range(n->length, r->g->range, (int)(r->g->nsym + r->g->nlocal));
	hop_val one = hop_emit_const_i(b, HOP_i64, 1), zero = hop_emit_const_i(b, HOP_i64, 0);
	hop_replay_args a = { .l = &s->l, .sargs = s->sargs, .length = s->length,
	                      .whole = hop_is_zero(s->count), .rows = 1, .slots = n->slots,
	                      .trips = hop_emit_size(b, s->length), .stride = one, .count = one,
	                      .carry = in, .x = in + n->nc, .konst = in + n->nc + n->nx,
	                      .kept = s->kept, .dcarry = r->dout, .dy = r->dout + n->nc,
	                      .out = r->out };
	a.leaf = n->slots < len.hi ? n->slots : len.hi;
	if (!a.whole && !b->st)
		a.trips = hop_emit(b, max, zero, hop_emit(b, min, s->count, a.trips));
	if (s->kept) {
		hop_sizes sargs = graph_sargs(b, r);
		hop_chunks c = { .each = hop_size_subst(b->env, s->c.each, sargs.v, (int)sargs.n) };
		a.count = hop_chunk_visits(b, &c, a.trips);
		a.stride = hop_emit_size(b, c.each);
		a.rows = s->c.every ? 0 : s->c.chunks.k;
		a.slots = s->c.every ? 0 : n->slots - a.rows;
		a.leaf = s->c.every ? s->c.every : a.leaf;
	}
	return hop_emit_replay(b, &a, din, din + n->nc, din + n->nc + n->nx);
}

/* ---- the rule ---- */

hop_status hop_fwd_scan(hop_build *b, hop_rule *r)
{
	enum way way = way_of(b->env, r);
	hop_graph *g;
	if (way == FLIPPED) {
		HOP_TRY(hop_scan_flip(b->env, r->g, r->n, &g));
		return hop_fwd_graph(b, r, NULL, g, graph_sargs(b, r));
	}
	struct saved *s = begin(b, r);
	return way == REPLAYED ? fwd_replay(b, r, s) : fwd_plain(b, r, s);
}

hop_status hop_bwd_scan(hop_build *b, hop_rule *r)
{
	enum way way = way_of(b->env, r);
	if (way == FLIPPED)
		return hop_bwd_call(b, r);
	return way == REPLAYED ? bwd_replay(b, r, r->save) : bwd_plain(b, r, r->save);
}
