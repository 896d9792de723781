/* scan_batch.c -- scan and map under batching. Where lanes run different numbers of steps, a
 * finished lane keeps its carries, and computes, if at all, with the values of an active lane,
 * so that neither its numbers nor its derivatives can do harm. */
#include "hops/batch.h"

#include <string.h>

/* Put the scanned axis first: [batch, length, ..] -> [length, batch, ..]. */
static hop_val scan_x(hop_build *b, hop_val x, bool batched)
{
	return batched ? hop_emit_swap(b, x) : x;
}

static hop_status scan_shared(hop_build *b, hop_rule *r, bool *bin)
{
	hop_steps s = hop_steps_of(r->n), *a = &s;
	hop_env *e = b->env;
	uint32_t lead = s.lead, nc = s.nc, nx = s.nx, np = r->n->nin - lead, no = s.body->nout;
	bool masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(a->body);
	bool *force = HOP_NEWN(&e->tmp, bool, no), *bo = HOP_NEWN(&e->tmp, bool, no);
	const hop_graph *body;
	memcpy(force, bin, nc);
	HOP_TRY(hop_batch_body(b, r, a->body, masked, bin, force, &body, bo));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np + 1);
	for (uint32_t i = 0; i < np; i++) {
		hop_val v = r->in[lead + i];
		in[i] = i < nc ? (bin[i] ? hop_batch_solid(b, r, v, r->bin[lead + i]) : v)
		      : i < nc + nx ? scan_x(b, v, r->bin[lead + i]) : v;
	}
	in[np] = r->mask;
	if (b->st)
		return b->st;
	hop_scan_args w = { .body = body, .sargs = hop_batch_sargs(b, r), .ncarry = nc, .nx = nx,
	                    .nconst = np - nc - nx + masked,
	                    .length = hop_size_subst(e, a->length, r->smap, r->nsmap),
	                    .reverse = a->reverse, .stops = a->stops,
	                    .unordered = a->unordered, .every = a->every, .slots = a->slots,
	                    .unroll = a->unroll, .count = lead ? r->in[0] : HOP_ZERO, .carry = in,
	                    .x = in + nc, .konst = in + nc + nx };
	HOP_TRY(hop_emit_scan(b, &w, r->out));
	memcpy(r->bout, bo, no);
	for (uint32_t k = nc; k < no; k++)
		if (bo[k])
			r->out[k] = hop_emit_swap(b, r->out[k]);
	return b->st;
}

/* Lanes run different numbers of steps. Carries: running, steps, carries; xs: t, xs;
 * consts: count, consts. A lane is active while running and t < count. */
static hop_status split_body(hop_env *e, const hop_rule *r, const hop_graph *g,
                             const bool *bin, hop_graph **out_g)
{
	hop_steps s = hop_steps_of(r->n), *a = &s;
	uint32_t nc = s.nc, nx = s.nx, ny = s.ny, np = s.body->nparam, no = s.body->nout, n = 0;
	hop_size lanes = hop_batch_inner(e, r, a->body);
	const hop_type *mask = hop_type_get(e, HOP_bool, 1, &lanes);
	const hop_type *i64s = hop_type_get(e, HOP_i64, 1, &lanes);
	hop_build b;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np), *safe = HOP_NEWN(&e->tmp, hop_val, np + 1);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, no), *out = HOP_NEWN(&e->tmp, hop_val, no + 4);
	hop_body_open(&b, e, g);
	hop_val running = hop_build_param(&b, mask), steps = hop_build_param(&b, i64s);
	for (uint32_t i = 0; i < nc; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_val t = hop_build_param(&b, hop_type_scalar(e, HOP_i64));
	for (uint32_t i = nc; i < nc + nx; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_val count = hop_build_param(&b, i64s);
	for (uint32_t i = nc + nx; i < np; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_val due = hop_emit(&b, lt, hop_emit_lead(&b, t, lanes), count);
	hop_val active = b.st ? HOP_BAD : hop_emit(&b, and, running, due);
	hop_val some = hop_emit_some_lane(&b, active);
	for (uint32_t i = 0; i < np; i++)
		safe[i] = bin[i] ? hop_emit_safe(&b, active, some, in[i]) : in[i];
	safe[np] = active;
	hop_body_inline(&b, g, safe, res);
	if (!b.st && a->stops) {
		hop_val stop = hop_emit(&b, and, active, res[no - 1]);
		out[n++] = hop_emit(&b, and, running, hop_emit(&b, not, stop));
	} else {
		out[n++] = running;
	}
	out[n++] = b.st ? HOP_BAD : hop_emit(&b, add, steps, hop_emit_cast(&b, active, HOP_i64));
	for (uint32_t k = 0; k < nc && !b.st; k++)
		out[n++] = hop_emit_lanes(&b, active, res[k], in[k]);
	for (uint32_t k = nc; k < nc + ny && !b.st; k++)
		out[n++] = hop_emit_lanes(&b, active, res[k],
		                          hop_emit_zeros(&b, hop_typeof(&b, res[k])));
	if (a->stops && !b.st) {           /* no lane left that runs and is due, now or later */
		hop_val next = hop_emit_const_i(&b, HOP_i64, a->reverse ? 0 : 1);
		if (!a->reverse)
			next = hop_emit(&b, add, t, next);
		due = hop_emit(&b, lt, hop_emit_lead(&b, next, lanes), count);
		out[n++] = b.st ? HOP_BAD :
		           hop_emit(&b, not, hop_emit_any(&b, hop_emit(&b, and, out[0], due)));
	}
	return hop_seal(&b, n, out, NULL, out_g);
}

static hop_status scan_split(hop_build *b, hop_rule *r, bool *bin)
{
	hop_steps n = hop_steps_of(r->n), *a = &n;
	hop_env *e = b->env;
	uint32_t lead = n.lead, nc = n.nc, nx = n.nx, ny = n.ny;
	uint32_t np = r->n->nin - lead, no = n.body->nout;
	bool *all = HOP_NEWN(&e->tmp, bool, no), *bo = HOP_NEWN(&e->tmp, bool, no);
	const hop_graph *g;
	hop_graph *body;
	memset(all, 1, no);
	memset(bin, 1, nc);
	HOP_TRY(hop_batch_body(b, r, a->body, true, bin, all, &g, bo));
	HOP_TRY(split_body(e, r, g, bin, &body));

	hop_size len = hop_size_subst(e, a->length, r->smap, r->nsmap);
	hop_val full = hop_emit_lead(b, hop_emit_size(b, len), r->bsize), count = full;
	if (lead) {
		count = hop_batch_solid(b, r, r->in[0], r->bin[0]);
		if (!b->st && !hop_is_zero(r->mask))     /* lanes that are not there run no step */
			count = hop_emit_lanes(b, r->mask, count, hop_emit_zeros(b, hop_typeof(b, count)));
	}
	hop_val *carry = HOP_NEWN(&e->tmp, hop_val, nc + 2), *x = HOP_NEWN(&e->tmp, hop_val, nx + 1);
	hop_val *konst = HOP_NEWN(&e->tmp, hop_val, np + 2), *out = HOP_NEWN(&e->tmp, hop_val, body->nout);
	uint32_t nk = 0;
	carry[0] = hop_is_zero(r->mask)
	         ? hop_emit_lead(b, hop_emit_const_i(b, HOP_bool, 1), r->bsize) : r->mask;
	carry[1] = hop_emit_lead(b, hop_emit_const_i(b, HOP_i64, 0), r->bsize);
	for (uint32_t i = 0; i < nc; i++)
		carry[2 + i] = hop_batch_solid(b, r, r->in[lead + i], r->bin[lead + i]);
	x[0] = hop_emit_iota(b, HOP_i64, 1, &len, 0);
	for (uint32_t i = 0; i < nx; i++)
		x[1 + i] = scan_x(b, r->in[lead + nc + i], r->bin[lead + nc + i]);
	konst[nk++] = count;
	for (uint32_t i = nc + nx; i < np; i++)
		konst[nk++] = r->in[lead + i];
	if (b->st)
		return b->st;
	hop_val limit = HOP_ZERO;          /* no lane runs past the largest count */
	if (lead) {
		hop_val zero = hop_emit_const_i(b, HOP_i64, 0);
		limit = hop_emit(b, max, hop_emit_amax(b, count, 1, (const int64_t[]){ 0 }), zero);
	}
	hop_scan_args s = { .body = body, .sargs = hop_batch_sargs(b, r), .ncarry = nc + 2,
	                    .nx = nx + 1, .nconst = nk, .length = len, .reverse = a->reverse,
	                    .stops = a->stops, .every = a->every, .slots = a->slots,
	                    .unroll = a->unroll, .count = limit, .carry = carry, .x = x,
	                    .konst = konst };
	HOP_TRY(hop_emit_scan(b, &s, out));
	memcpy(r->out, out + 2, nc * sizeof *out);
	for (uint32_t k = 0; k < ny; k++)
		r->out[nc + k] = hop_emit_swap(b, out[nc + 2 + k]);
	if (a->stops)
		r->out[nc + ny] = out[1];
	memset(r->bout, 1, r->n->nout);
	return b->st;
}

hop_status hop_batch_scan(hop_build *b, hop_rule *r)
{
	hop_steps s = hop_steps_of(r->n), *a = &s;
	uint32_t lead = s.lead, nc = s.nc, no = s.body->nout;
	bool *bin = HOP_NEWN(&b->env->tmp, bool, r->n->nin);
	bool *bo = HOP_NEWN(&b->env->tmp, bool, no);
	const hop_graph *h;
	/* under a mask, inner loops split, so more carries may become batched */
	bool masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(a->body);
	memcpy(bin, r->bin + lead, r->n->nin - lead);
	HOP_TRY(hop_batch_carries(b, r, a->body, masked, nc, bin));
	HOP_TRY(hop_batch_body(b, r, a->body, masked, bin, NULL, &h, bo));
	if ((lead && r->bin[0]) || (a->stops && bo[no - 1]))
		return scan_split(b, r, bin);
	return scan_shared(b, r, bin);
}
