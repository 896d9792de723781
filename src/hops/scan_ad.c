/* scan_ad.c -- scan under jvp and vjp.
 *
 * vjp: one step's joint graph is cut; the reverse is a scan in the other direction. With
 * `every` = k only the carry of every k-th step is kept: the scan is first rewritten as a
 * scan over chunks of an inner scan, and the outer step is recomputed. */
#include "hops/loop_ad.h"
#include "hops/scan_chunk.h"

#include <string.h>

static hop_loop loop_of(const hop_node *n)
{
	const struct hop_attr_scan *a = HOP_ATTR(n, scan);
	uint32_t lead = a->counted ? 1 : 0, nc = (uint32_t)a->ncarry, nx = (uint32_t)a->nx;
	return (hop_loop){ .body = a->body, .nc = nc, .nx = nx, .nk = n->nin - lead - nc - nx,
	                   .ny = a->body->nout - nc - (a->stops ? 1 : 0), .stops = a->stops };
}

/* ---- reverse ---- */

struct saved {
	hop_loop  l;
	hop_sizes sargs;
	hop_size  length;
	hop_val   count;
	hop_val  *stacked;
};

static hop_status fwd_plain(hop_build *b, hop_rule *r, struct saved *s,
                            enum hop_cut_policy policy)
{
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	hop_env *e = b->env;
	uint32_t lead = a->counted ? 1 : 0;
	s->l = loop_of(r->n);
	const hop_loop *l = &s->l;
	HOP_TRY(hop_loop_cut(b, &s->l, r->act + lead, r->live + l->nc, policy));
	s->sargs = hop_rule_sargs(b, r);
	s->length = hop_size_subst(e, a->length, r->smap, r->nsmap);
	s->count = lead ? r->in[0] : HOP_ZERO;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, l->fwd->nout);
	hop_scan_args w = { .body = l->fwd, .sargs = s->sargs, .ncarry = l->nc, .nx = l->nx,
	                    .nconst = l->nk, .length = s->length, .reverse = a->reverse,
	                    .stops = a->stops, .count = s->count, .carry = r->in + lead,
	                    .x = r->in + lead + l->nc, .konst = r->in + lead + l->nc + l->nx };
	HOP_TRY(hop_emit_scan(b, &w, out));
	memcpy(r->out, out, (l->nc + l->ny) * sizeof *out);
	s->stacked = hop_arena_dup(&b->arena, out + l->nc + l->ny, l->nstack * sizeof *out);
	if (l->stops) {
		r->out[l->nc + l->ny] = out[l->fwd->nout - 1];
		s->count = out[l->fwd->nout - 1];
	}
	return b->st;
}

/* Keep a carry a chunk: differentiate the chunked form in its place. */
static hop_status fwd_chunked(hop_build *b, hop_rule *r)
{
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	hop_graph *g;
	HOP_TRY(hop_scan_chunk(b->env, r->g, r->n, &g));
	hop_sizes s = hop_rule_sargs(b, r);            /* leaves room for one more */
	if (!hop_size_const(a->length))
		((hop_size *)(uintptr_t)s.v)[s.n++] = hop_size_subst(b->env, a->length, r->smap,
		                                                     r->nsmap);
	return hop_fwd_graph(b, r, g, s);
}

hop_status hop_fwd_scan(hop_build *b, hop_rule *r)
{
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	if (hop_scan_chunkable(r->g, r->n))
		return fwd_chunked(b, r);
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	r->save = s;
	if (a->every == HOP_EVERY_RECOMPUTE)
		return fwd_plain(b, r, s, HOP_CUT_RECOMPUTE);
	return fwd_plain(b, r, s, HOP_CUT_MIN);
}

hop_status hop_bwd_scan(hop_build *b, hop_rule *r)
{
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	if (hop_scan_chunkable(r->g, r->n))
		return hop_bwd_call(b, r);
	const struct saved *s = r->save;
	const hop_loop *l = &s->l;
	uint32_t lead = a->counted ? 1 : 0;
	const hop_val *in = r->in + lead;
	hop_val *din = r->din + lead;
	hop_loop_vals v = { .x = in + l->nc, .konst = in + l->nc + l->nx, .y = r->out + l->nc,
	                    .stacked = s->stacked, .dcarry = r->dout, .dy = r->dout + l->nc,
	                    .carry = r->out, .count = s->count, .length = s->length,
	                    .reverse = !a->reverse, .sargs = s->sargs };
	return hop_loop_reverse(b, l, &v, din, din + l->nc, din + l->nc + l->nx);
}
