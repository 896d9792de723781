/* while_batch.c -- while under batching.
 *
 * Lanes that end at different trips: the loop runs while any lane is active; a finished
 * lane keeps its carries, and computes, if at all, with the values of an active lane, so
 * that neither its numbers nor its derivatives can do harm. The bodies take the number of
 * lanes as a size, so that a compilation may run fewer of them at a time (opt/lanes.c). A loop
 * of lanes that is batched again is a loop of the new ones, each of which has the old ones. */
#include "hops/batch.h"

#include <string.h>

struct lanes {
	hop_rule        *r;
	const hop_graph *test, *body;     /* batched */
	bool            *bin;             /* [ncarry+nconst] batched operands of both */
	uint32_t         nc, nk, nt;
};

/* A body batched for any number of lanes: its last size parameter counts them. */
static hop_status any_lanes(hop_build *b, const hop_graph *g, const bool *bin,
                            const bool *force, const hop_graph **out_g)
{
	bool *bo = HOP_NEWN(&b->env->tmp, bool, g->nout);
	hop_batch_spec s = { .size = -1, .masked = true, .in = bin, .force = force };
	return hop_ad_batch(b->env, g, &s, out_g, bo);
}

static hop_sizes lane_sargs(hop_build *b, const hop_rule *r)
{
	hop_sizes s = hop_rule_sargs(b, r);
	((hop_size *)(uintptr_t)s.v)[s.n++] = r->bsize;        /* rule_sargs left room */
	return s;
}

/* Parameters: active, trips, carries, consts. Gives them to a batched graph's order. */
static void lane_params(hop_build *b, const struct lanes *l, const hop_graph *g, hop_val *in,
                        hop_val *active, hop_val *trips)
{
	hop_size n = hop_size_sym(b->env, (int)l->body->nsym - 1);
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
	int64_t most = HOP_ATTR(l->r->n, while)->max_trips;
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
	if (most && !b.st) {
		hop_val end = hop_emit_lead(&b, hop_emit_const_i(&b, HOP_i64, most),
		                            hop_typeof(&b, active)->dim[0]);
		out[0] = hop_emit(&b, and, out[0], hop_emit(&b, lt, out[1], end));
	}
	return hop_seal(&b, 2 + l->nc + l->nt, out, NULL, out_g);
}

/* The loop with other bodies, on as many operands as they take. */
static hop_status emit_again(hop_build *b, hop_rule *r, const hop_graph *test,
                             const hop_graph *body, bool lanes, uint32_t ncarry,
                             const hop_val *in, hop_val *out)
{
	struct hop_attr_while *a = hop_rule_attr(b, r);
	a->test = test;
	a->body = body;
	a->ncarry = ncarry;
	a->lanes = lanes;
	a->sargs = lanes ? lane_sargs(b, r) : hop_batch_sargs(b, r);
	hop_val v = hop_emit_op(b, HOP_OP_while, a, body->nparam, in);
	for (uint32_t k = 0; k <= body->nout; k++)
		out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	return b->st;
}

/* The predicate differs between lanes. */
static hop_status while_split(hop_build *b, hop_rule *r, bool *bin)
{
	const struct hop_attr_while *a = HOP_ATTR(r->n, while);
	hop_env *e = b->env;
	uint32_t nc = (uint32_t)a->ncarry, np = r->n->nin, nt = a->body->nout - nc;
	struct lanes l = { .r = r, .nc = nc, .nk = np - nc, .nt = nt, .bin = bin };
	bool *all = HOP_NEWN(&e->tmp, bool, a->body->nout);
	hop_graph *test, *body;
	hop_val go;
	memset(all, 1, a->body->nout);
	memset(bin, 1, nc);
	HOP_TRY(any_lanes(b, a->test, bin, (const bool[]){ true }, &l.test));
	HOP_TRY(any_lanes(b, a->body, bin, all, &l.body));
	HOP_TRY(lane_test(e, &l, &test));
	HOP_TRY(lane_body(e, &l, &body));

	hop_sizes sargs = lane_sargs(b, r);
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
	HOP_TRY(emit_again(b, r, test, body, true, nc + 2, in, out));
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
	HOP_TRY(emit_again(b, r, test, body, false, nc, in, out));
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
	HOP_TRY(hop_batch_carries(b, r, a->body, false, nc, bin));
	HOP_TRY(hop_batch_body(b, r, a->test, false, bin, NULL, &h, &tb));
	/* A mask must end the loop for lanes that are not there, so it splits it too. */
	if (tb || !hop_is_zero(r->mask))
		return while_split(b, r, bin);
	return while_shared(b, r, bin);
}
