/* scan_ad.c -- scan and map under vjp. One step's joint graph is cut; the reverse is a scan in
 * the other direction. With `every` = k only the carry of every k-th step is kept: the scan is
 * first rewritten as a scan over chunks of an inner scan, and the outer step is recomputed. With
 * `slots` nothing is kept: the reverse is a replay. */
#include "hops/replay.h"
#include "hops/scan_chunk.h"

#include <string.h>

struct saved {
	hop_steps n;                 /* the node */
	hop_loop  l;
	hop_sizes sargs;
	hop_size  length;
	hop_val   count;
	hop_val  *stacked;
};

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

static hop_status fwd_plain(hop_build *b, hop_rule *r, struct saved *s,
                            enum hop_cut_policy policy)
{
	hop_env *e = b->env;
	hop_steps n = s->n;
	const hop_val *in = r->in + n.lead;
	HOP_TRY(hop_loop_cut(b, &s->l, r->act + n.lead, r->live + n.nc, policy));
	uint32_t nout = s->l.fwd->nout, first = n.nc + n.ny;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, nout);
	hop_scan_args w = { .body = s->l.fwd, .sargs = s->sargs, .ncarry = n.nc, .nx = n.nx,
	                    .nconst = n.nk, .length = s->length, .reverse = n.reverse,
	                    .stops = n.stops, .unordered = n.unordered, .count = s->count,
	                    .carry = in, .x = in + n.nc, .konst = in + n.nc + n.nx };
	HOP_TRY(hop_emit_scan(b, &w, out));
	memcpy(r->out, out, first * sizeof *out);
	s->stacked = hop_arena_dup(&b->arena, out + first, s->l.nstack * sizeof *out);
	if (n.stops)
		r->out[first] = s->count = out[nout - 1];
	return b->st;
}

/* Keep a carry a chunk: differentiate the chunked form in its place. */
static hop_status fwd_chunked(hop_build *b, hop_rule *r)
{
	hop_size length = hop_steps_of(r->n).length;
	hop_graph *g;
	HOP_TRY(hop_scan_chunk(b->env, r->g, r->n, &g));
	hop_sizes s = hop_rule_sargs(b, r);            /* leaves room for one more */
	if (!hop_size_const(length))
		((hop_size *)(uintptr_t)s.v)[s.n++] = hop_size_subst(b->env, length, r->smap,
		                                                     r->nsmap);
	return hop_fwd_graph(b, r, g, s);
}

/* A scan that asks for slots, and has steps to run again. */
static bool in_slots(const hop_rule *r, const struct saved *s)
{
	hop_range len = hop_size_range(s->n.length, r->g->range, (int)(r->g->nsym + r->g->nlocal));
	return s->n.slots > 0 && len.hi > 0 && hop_replay_fits(&s->l);
}

/* The scan as it is. How many steps it ran is known before, or said by itself. */
static hop_status fwd_slots(hop_build *b, hop_rule *r, struct saved *s)
{
	hop_steps n = s->n;
	hop_loop_active(b, &s->l, r->act + n.lead, r->live + n.nc);
	hop_val v = hop_emit_copy(b, r->g, r->n, r->in, r->smap, r->nsmap);
	for (uint32_t k = 0; k < r->n->nout; k++)
		r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	if (n.stops) {
		s->count = r->out[n.nc + n.ny];
	} else {
		hop_val len = hop_emit_size(b, s->length), zero = hop_emit_const_i(b, HOP_i64, 0);
		s->count = b->st ? HOP_BAD : !n.lead ? len
		         : hop_emit(b, max, zero, hop_emit(b, min, s->count, len));
	}
	return b->st;
}

static hop_status bwd_slots(hop_build *b, hop_rule *r, const struct saved *s)
{
	const hop_steps *n = &s->n;
	const hop_val *in = r->in + n->lead;
	hop_val *din = r->din + n->lead, one = hop_emit_const_i(b, HOP_i64, 1);
	hop_range len = hop_size_range(n->length, r->g->range, (int)(r->g->nsym + r->g->nlocal));
	hop_replay_args a = { .l = &s->l, .sargs = s->sargs, .length = s->length,
	                      .reverse = n->reverse, .rows = 1, .slots = n->slots,
	                      .leaf = n->slots < len.hi ? n->slots : len.hi, .trips = s->count,
	                      .stride = one, .count = one, .carry = in, .x = in + n->nc,
	                      .konst = in + n->nc + n->nx, .dcarry = r->dout,
	                      .dy = r->dout + n->nc, .out = r->out };
	return hop_emit_replay(b, &a, din, din + n->nc, din + n->nc + n->nx);
}

hop_status hop_fwd_scan(hop_build *b, hop_rule *r)
{
	if (hop_scan_chunkable(r->g, r->n))
		return fwd_chunked(b, r);
	struct saved *s = begin(b, r);
	if (in_slots(r, s))
		return fwd_slots(b, r, s);
	return fwd_plain(b, r, s, s->n.every == HOP_EVERY_RECOMPUTE ? HOP_CUT_RECOMPUTE
	                                                            : HOP_CUT_MIN);
}

hop_status hop_bwd_scan(hop_build *b, hop_rule *r)
{
	if (hop_scan_chunkable(r->g, r->n))
		return hop_bwd_call(b, r);
	const struct saved *s = r->save;
	if (in_slots(r, s))
		return bwd_slots(b, r, s);
	const hop_steps *n = &s->n;
	const hop_val *in = r->in + n->lead;
	hop_val *din = r->din + n->lead;
	hop_loop_vals v = { .x = in + n->nc, .konst = in + n->nc + n->nx, .y = r->out + n->nc,
	                    .stacked = s->stacked, .dcarry = r->dout, .dy = r->dout + n->nc,
	                    .carry = r->out, .count = s->count, .length = s->length,
	                    .reverse = !n->reverse, .unordered = n->unordered,
	                    .sargs = s->sargs };
	return hop_loop_reverse(b, &s->l, &v, din, din + n->nc, din + n->nc + n->nx);
}
