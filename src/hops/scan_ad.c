/* scan_ad.c -- scan and map under vjp. One step's joint graph is cut; the reverse is a scan in
 * the other direction. With `every` = k only the carry of every k-th step is kept: the scan is
 * first rewritten as a scan over chunks of an inner scan, and the outer step is recomputed. */
#include "hops/loop_ad.h"
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

static hop_status fwd_plain(hop_build *b, hop_rule *r, struct saved *s,
                            enum hop_cut_policy policy)
{
	hop_env *e = b->env;
	hop_steps n = s->n = hop_steps_of(r->n);
	const hop_val *in = r->in + n.lead;
	s->l = (hop_loop){ .body = n.body, .nc = n.nc, .nx = n.nx, .nk = n.nk, .ny = n.ny,
	                   .stops = n.stops };
	HOP_TRY(hop_loop_cut(b, &s->l, r->act + n.lead, r->live + n.nc, policy));
	s->sargs = hop_rule_sargs(b, r);
	s->length = hop_size_subst(e, n.length, r->smap, r->nsmap);
	s->count = n.lead ? r->in[0] : HOP_ZERO;
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

hop_status hop_fwd_scan(hop_build *b, hop_rule *r)
{
	if (hop_scan_chunkable(r->g, r->n))
		return fwd_chunked(b, r);
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	r->save = s;
	return fwd_plain(b, r, s, hop_steps_of(r->n).every == HOP_EVERY_RECOMPUTE
	                          ? HOP_CUT_RECOMPUTE : HOP_CUT_MIN);
}

hop_status hop_bwd_scan(hop_build *b, hop_rule *r)
{
	if (hop_scan_chunkable(r->g, r->n))
		return hop_bwd_call(b, r);
	const struct saved *s = r->save;
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
