/* loop_batch.c -- while and scan under batching.
 *
 * Lanes that end at different trips: the loop runs while any lane is active; a finished
 * lane keeps its carries, and computes, if at all, with the values of an active lane, so
 * that neither its numbers nor its derivatives can do harm. */
#include "hops/batch.h"

#include <string.h>

/* Which carries become batched: those that start so, or that a step makes so. */
static hop_status fix_carries(hop_build *b, const hop_rule *r, const hop_graph *body,
                              bool masked, uint32_t nc, bool *bin)
{
	bool *bo = HOP_NEWN(&b->env->tmp, bool, body->nout);
	const hop_graph *h;
	for (bool more = true; more; ) {
		more = false;
		HOP_TRY(hop_batch_body(b, r, body, masked, bin, NULL, &h, bo));
		for (uint32_t k = 0; k < nc; k++)
			if (bo[k] && !bin[k])
				bin[k] = more = true;
	}
	return HOP_OK;
}

/* ---- while ---- */

struct lanes {
	hop_rule        *r;
	const hop_graph *test, *body;     /* batched */
	bool            *bin;             /* [ncarry+nconst] batched operands of both */
	uint32_t         nc, nk, nt;
};

/* Parameters: active, trips, carries, consts. Gives them to a batched graph's order. */
static void lane_params(hop_build *b, const struct lanes *l, const hop_graph *g, hop_val *in,
                        hop_val *active, hop_val *trips)
{
	hop_size n = hop_batch_inner(b->env, l->r, HOP_ATTR(l->r->n, while)->body);
	*active = hop_build_param(b, hop_type_get(b->env, HOP_bool, 1, &n));
	*trips = hop_build_param(b, hop_type_get(b->env, HOP_i64, 1, &n));
	for (uint32_t i = 0; i < l->nc + l->nk; i++)
		in[i] = hop_build_param(b, g->type[i]);
}

static hop_status lane_test(hop_env *e, const struct lanes *l, hop_graph **out_g)
{
	hop_build b;
	hop_val active, trips, any;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, l->nc + l->nk + 1);
	hop_body_open(&b, e, l->test);
	lane_params(&b, l, l->body, in, &active, &trips);
	any = hop_emit_any(&b, active);
	return hop_seal(&b, 1, &any, NULL, out_g);
}

/* new = body(carries); carries = active ? new : old; active &= test(carries) */
static hop_status lane_body(hop_env *e, const struct lanes *l, hop_graph **out_g)
{
	hop_build b;
	hop_val active, trips, go;
	uint32_t np = l->nc + l->nk;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np + 1), *safe = HOP_NEWN(&e->tmp, hop_val, np + 1);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, l->body->nout);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, l->body->nout + 2);
	hop_body_open(&b, e, l->body);
	lane_params(&b, l, l->body, in, &active, &trips);
	hop_val some = hop_emit_some_lane(&b, active);
	for (uint32_t i = 0; i < np; i++)
		safe[i] = l->bin[i] ? hop_emit_safe(&b, active, some, in[i]) : in[i];
	safe[np] = active;
	hop_body_inline(&b, l->body, safe, res);
	for (uint32_t k = 0; k < l->nc && !b.st; k++)
		out[2 + k] = in[k] = hop_emit_lanes(&b, active, res[k], in[k]);
	for (uint32_t k = 0; k < l->nt && !b.st; k++) {
		hop_val y = res[l->nc + k];
		out[2 + l->nc + k] = hop_emit_lanes(&b, active, y,
		                                    hop_emit_zeros(&b, hop_typeof(&b, y)));
	}
	out[1] = b.st ? HOP_BAD : hop_emit(&b, add, trips, hop_emit_cast(&b, active, HOP_i64));
	in[np] = active;
	hop_body_inline(&b, l->test, in, &go);
	out[0] = b.st ? HOP_BAD : hop_emit(&b, and, active, go);
	return hop_seal(&b, 2 + l->nc + l->nt, out, NULL, out_g);
}

/* The predicate differs between lanes. */
static hop_status while_split(hop_build *b, hop_rule *r, bool *bin)
{
	const struct hop_attr_while *a = HOP_ATTR(r->n, while);
	hop_env *e = b->env;
	uint32_t nc = (uint32_t)a->ncarry, np = r->n->nin, nt = a->body->nout - nc;
	struct lanes l = { .r = r, .nc = nc, .nk = np - nc, .nt = nt, .bin = bin };
	bool *all = HOP_NEWN(&e->tmp, bool, a->body->nout), *bo = HOP_NEWN(&e->tmp, bool, a->body->nout);
	hop_graph *test, *body;
	hop_val go;
	memset(all, 1, a->body->nout);
	memset(bin, 1, nc);
	HOP_TRY(hop_batch_body(b, r, a->test, true, bin, (const bool[]){ true }, &l.test, bo));
	HOP_TRY(hop_batch_body(b, r, a->body, true, bin, all, &l.body, bo));
	HOP_TRY(lane_test(e, &l, &test));
	HOP_TRY(lane_body(e, &l, &body));

	hop_sizes sargs = hop_batch_sargs(b, r);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np + 3), *out = HOP_NEWN(&e->tmp, hop_val, body->nout + 1);
	for (uint32_t i = 0; i < np; i++)
		in[2 + i] = i < nc ? hop_batch_solid(b, r, r->in[i], r->bin[i]) : r->in[i];
	hop_val all_on = hop_emit_lead(b, hop_emit_const_i(b, HOP_bool, 1), r->bsize);
	hop_val mask = hop_is_zero(r->mask) ? all_on : r->mask;
	in[2 + np] = mask;
	if (b->st)
		return b->st;
	HOP_TRY(hop_emit_call(b, l.test, sargs, in + 2, &go));
	in[0] = hop_emit(b, and, mask, go);
	in[1] = hop_emit_lead(b, hop_emit_const_i(b, HOP_i64, 0), r->bsize);
	if (b->st)
		return b->st;
	hop_size cap;
	hop_while_args w = { .test = test, .body = body, .sargs = sargs, .ncarry = nc + 2,
	                     .nconst = l.nk, .max_trips = a->max_trips, .carry = in,
	                     .konst = in + 2 + nc,
	                     .trips = a->sym >= 0 ? r->g->range[a->sym]
	                                          : (hop_range){ 0, HOP_SIZE_MAX },
	                     .out_cap = a->sym >= 0 ? &cap : NULL };
	HOP_TRY(hop_emit_while(b, &w, out));
	if (a->sym >= 0)
		r->smap[a->sym] = cap;
	memcpy(r->out, out + 2, nc * sizeof *out);
	r->out[nc] = out[1];
	for (uint32_t k = 0; k < nt; k++)
		r->out[nc + 1 + k] = hop_emit_swap(b, out[nc + 3 + k]);
	memset(r->bout, 1, r->n->nout);
	return b->st;
}

/* One predicate for all lanes. */
static hop_status while_shared(hop_build *b, hop_rule *r, bool *bin)
{
	const struct hop_attr_while *a = HOP_ATTR(r->n, while);
	hop_env *e = b->env;
	uint32_t nc = (uint32_t)a->ncarry, np = r->n->nin, nt = a->body->nout - nc;
	bool masked = !hop_is_zero(r->mask) &&
	              (hop_ad_needs_mask(a->body) || hop_ad_needs_mask(a->test));
	bool *force = HOP_NEWN(&e->tmp, bool, a->body->nout), *bo = HOP_NEWN(&e->tmp, bool, a->body->nout);
	bool tb;
	const hop_graph *test, *body;
	memcpy(force, bin, nc);
	HOP_TRY(hop_batch_body(b, r, a->test, masked, bin, NULL, &test, &tb));
	HOP_TRY(hop_batch_body(b, r, a->body, masked, bin, force, &body, bo));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np + 1), *out = HOP_NEWN(&e->tmp, hop_val, body->nout + 1);
	for (uint32_t i = 0; i < np; i++)
		in[i] = i < nc && bin[i] ? hop_batch_solid(b, r, r->in[i], r->bin[i]) : r->in[i];
	in[np] = r->mask;
	if (b->st)
		return b->st;
	hop_size cap;
	hop_while_args w = { .test = test, .body = body, .sargs = hop_batch_sargs(b, r),
	                     .ncarry = nc, .nconst = np - nc + masked,
	                     .max_trips = a->max_trips, .carry = in, .konst = in + nc,
	                     .trips = a->sym >= 0 ? r->g->range[a->sym]
	                                          : (hop_range){ 0, HOP_SIZE_MAX },
	                     .out_cap = a->sym >= 0 ? &cap : NULL };
	HOP_TRY(hop_emit_while(b, &w, out));
	if (a->sym >= 0)
		r->smap[a->sym] = cap;
	memcpy(r->out, out, r->n->nout * sizeof *out);
	memcpy(r->bout, bo, nc);
	for (uint32_t k = 0; k < nt; k++) {
		r->bout[nc + 1 + k] = bo[nc + k];
		if (bo[nc + k])
			r->out[nc + 1 + k] = hop_emit_swap(b, out[nc + 1 + k]);
	}
	return b->st;
}

hop_status hop_batch_while(hop_build *b, hop_rule *r)
{
	const struct hop_attr_while *a = HOP_ATTR(r->n, while);
	uint32_t nc = (uint32_t)a->ncarry;
	bool *bin = HOP_NEWN(&b->env->tmp, bool, r->n->nin), tb;
	const hop_graph *h;
	memcpy(bin, r->bin, r->n->nin);
	HOP_TRY(fix_carries(b, r, a->body, false, nc, bin));
	HOP_TRY(hop_batch_body(b, r, a->test, false, bin, NULL, &h, &tb));
	/* A mask must end the loop for lanes that are not there, so it splits it too. */
	if (tb || !hop_is_zero(r->mask))
		return while_split(b, r, bin);
	return while_shared(b, r, bin);
}

/* ---- scan ---- */

/* Put the scanned axis first: [batch, length, ..] -> [length, batch, ..]. */
static hop_val scan_x(hop_build *b, hop_val x, bool batched)
{
	return batched ? hop_emit_swap(b, x) : x;
}

static hop_status scan_shared(hop_build *b, hop_rule *r, bool *bin)
{
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	hop_env *e = b->env;
	uint32_t lead = a->counted ? 1 : 0, nc = (uint32_t)a->ncarry, nx = (uint32_t)a->nx;
	uint32_t np = r->n->nin - lead, no = a->body->nout;
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
	hop_scan_args s = { .body = body, .sargs = hop_batch_sargs(b, r), .ncarry = nc, .nx = nx,
	                    .nconst = np - nc - nx + masked,
	                    .length = hop_size_subst(e, a->length, r->smap, r->nsmap),
	                    .reverse = a->reverse, .stops = a->stops, .every = a->every,
	                    .count = lead ? r->in[0] : HOP_ZERO, .carry = in, .x = in + nc,
	                    .konst = in + nc + nx };
	HOP_TRY(hop_emit_scan(b, &s, r->out));
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
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	uint32_t nc = (uint32_t)a->ncarry, nx = (uint32_t)a->nx, np = a->body->nparam;
	uint32_t no = a->body->nout, ny = no - nc - (a->stops ? 1 : 0), n = 0;
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
	if (a->stops && !b.st) {           /* no lane left that runs and is due */
		hop_val next = hop_emit(&b, add, t, hop_emit_const_i(&b, HOP_i64, 1));
		due = hop_emit(&b, lt, hop_emit_lead(&b, next, lanes), count);
		out[n++] = b.st ? HOP_BAD :
		           hop_emit(&b, not, hop_emit_any(&b, hop_emit(&b, and, out[0], due)));
	}
	return hop_seal(&b, n, out, NULL, out_g);
}

static hop_status scan_split(hop_build *b, hop_rule *r, bool *bin)
{
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	hop_env *e = b->env;
	uint32_t lead = a->counted ? 1 : 0, nc = (uint32_t)a->ncarry, nx = (uint32_t)a->nx;
	uint32_t np = r->n->nin - lead, no = a->body->nout, ny = no - nc - (a->stops ? 1 : 0);
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
	                    .stops = a->stops, .every = a->every, .count = limit,
	                    .carry = carry, .x = x, .konst = konst };
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
	const struct hop_attr_scan *a = HOP_ATTR(r->n, scan);
	uint32_t lead = a->counted ? 1 : 0, nc = (uint32_t)a->ncarry, no = a->body->nout;
	bool *bin = HOP_NEWN(&b->env->tmp, bool, r->n->nin);
	bool *bo = HOP_NEWN(&b->env->tmp, bool, no);
	const hop_graph *h;
	/* under a mask, inner loops split, so more carries may become batched */
	bool masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(a->body);
	memcpy(bin, r->bin + lead, r->n->nin - lead);
	HOP_TRY(fix_carries(b, r, a->body, masked, nc, bin));
	HOP_TRY(hop_batch_body(b, r, a->body, masked, bin, NULL, &h, bo));
	if ((lead && r->bin[0]) || (a->stops && bo[no - 1]))
		return scan_split(b, r, bin);
	return scan_shared(b, r, bin);
}
