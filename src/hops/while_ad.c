/* while_ad.c -- while under jvp and vjp.
 *
 * jvp: tangents ride along as carries. vjp: the forward loop leaves on tapes what a trip
 * must save; the reverse is a scan from the last trip to the first, as many as ran, so that
 * zero trips give the identity. Without max_trips the tapes grow; with it they are bounded; with
 * slots the loop keeps a few of its states (while_slots.c), and the reverse is a replay. */
#include "hops/while_slots.h"

#include <string.h>

static hop_range trip_range(const hop_rule *r)
{
	int64_t s = HOP_ATTR(r->n, while)->sym;
	return s >= 0 ? r->g->range[s] : (hop_range){ 0, HOP_SIZE_MAX };
}

/* The symbol that the source node binds is now what the new node binds. */
static void rebind(hop_rule *r, hop_size cap)
{
	int64_t s = HOP_ATTR(r->n, while)->sym;
	if (s >= 0)
		r->smap[s] = cap;
}

struct saved {
	hop_loop  l;
	hop_sizes sargs;
	hop_size  cap;
	hop_val  *stacked;
	hop_kept  kept;
};

/* A loop with tapes has the memory of all trips anyway. */
static bool in_slots(const hop_rule *r, const hop_loop *l)
{
	const struct hop_attr_while *a = HOP_ATTR(r->n, while);
	return a->slots > 0 && !l->ny && a->sym < 0 && hop_replay_fits(l);
}

static hop_status fwd_slots(hop_build *b, hop_rule *r, struct saved *s)
{
	hop_loop_active(b, &s->l, r->act, NULL);
	s->sargs = hop_rule_sargs(b, r);
	r->save = s;
	return hop_while_keep(b, r, s->sargs, &s->kept);
}

static hop_status bwd_slots(hop_build *b, hop_rule *r, const struct saved *s)
{
	uint32_t nc = s->l.nc;
	hop_replay_args a = { .l = &s->l, .sargs = s->sargs, .grow = true, .rows = s->kept.rows,
	                      .slots = s->kept.more, .leaf = HOP_ATTR(r->n, while)->slots,
	                      .trips = r->out[nc], .stride = s->kept.stride,
	                      .count = s->kept.count, .carry = r->in, .konst = r->in + nc,
	                      .kept = s->kept.state, .dcarry = r->dout, .out = r->out };
	return hop_emit_replay(b, &a, r->din, NULL, r->din + nc);
}

hop_status hop_fwd_while(hop_build *b, hop_rule *r)
{
	const struct hop_attr_while *a = HOP_ATTR(r->n, while);
	hop_env *e = b->env;
	uint32_t nc = (uint32_t)a->ncarry, nk = r->n->nin - nc, nt = a->body->nout - nc;
	struct saved *s = HOP_NEW(&b->arena, struct saved);
	s->l = (hop_loop){ .body = a->body, .nc = nc, .nk = nk, .ny = nt };
	if (in_slots(r, &s->l))
		return fwd_slots(b, r, s);
	HOP_TRY(hop_loop_cut(b, &s->l, r->act, r->live + nc + 1, HOP_CUT_MIN));
	s->sargs = hop_rule_sargs(b, r);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, s->l.fwd->nout + 1);
	hop_while_args w = { .test = a->test, .body = s->l.fwd, .sargs = s->sargs, .ncarry = nc,
	                     .nconst = nk, .max_trips = a->max_trips, .lanes = a->lanes,
	                     .how = a->how, .carry = r->in, .konst = r->in + nc,
	                     .trips = trip_range(r), .out_cap = &s->cap };
	HOP_TRY(hop_emit_while(b, &w, out));
	rebind(r, s->cap);
	memcpy(r->out, out, r->n->nout * sizeof *out);
	s->stacked = hop_arena_dup(&b->arena, out + nc + 1 + nt, s->l.nstack * sizeof *out);
	r->save = s;
	return b->st;
}

hop_status hop_bwd_while(hop_build *b, hop_rule *r)
{
	const struct saved *s = r->save;
	uint32_t nc = s->l.nc;
	if (in_slots(r, &s->l))
		return bwd_slots(b, r, s);
	hop_loop_vals v = { .konst = r->in + nc, .y = r->out + nc + 1, .stacked = s->stacked,
	                    .dcarry = r->dout, .dy = r->dout + nc + 1, .carry = r->out,
	                    .count = r->out[nc], .length = s->cap, .reverse = true,
	                    .sargs = s->sargs };
	return hop_loop_reverse(b, &s->l, &v, r->din, NULL, r->din + nc);
}
