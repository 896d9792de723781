/* replay_batch.c -- replay under batching: a replay of the batched step.
 *
 * What a step gives a derivative to is batched, since each lane has its own cotangent. Where lanes
 * ran different numbers of steps, all run as many as the longest did; a lane that is done keeps
 * its carries, and computes with the values of an active one. The
 * states that each lane kept at its own trips do not fit together then: the replay starts from
 * the first. */
#include "hops/batch.h"
#include "hops/replay.h"

#include <string.h>

struct batcher {
	hop_rule        *r;
	hop_replay       p;
	bool            *bin;            /* [nparam] batched parameters of the step */
	const hop_graph *step;           /* batched */
	bool             masked;
};

/* Batch the step: what has a derivative, and all carries if `all`. */
static hop_status batch_step(hop_build *b, struct batcher *t, bool all)
{
	const hop_replay *p = &t->p;
	const hop_loop *l = &p->l;
	hop_env *e = b->env;
	const bool *given = t->r->bin;
	bool *force = HOP_NEWN(&e->tmp, bool, l->body->nout), *bo = HOP_NEWN(&e->tmp, bool, l->body->nout);
	t->bin = HOP_NEWN(&e->tmp, bool, l->body->nparam);
	for (uint32_t i = 0; i < l->body->nparam; i++)
		t->bin[i] = given[p->carry + i] || l->act[i] ||
		            (i < l->nc && (all || given[p->kept + i]));
	HOP_TRY(hop_batch_carries(b, t->r, l->body, t->masked, l->nc, t->bin));
	memcpy(force, t->bin, l->nc * sizeof *force);
	for (uint32_t k = l->nc; k < l->body->nout; k++)
		force[k] = all || l->live[k];
	return hop_batch_body(b, t->r, l->body, t->masked, t->bin, force, &t->step, bo);
}

/* Operand i with the batch axis, behind that of the steps if it has one. */
static hop_val solid(hop_build *b, const struct batcher *t, uint32_t i, bool rows)
{
	hop_val v = hop_batch_solid(b, t->r, t->r->in[i], t->r->bin[i]);
	return rows && !b->st ? hop_emit_swap(b, v) : v;
}

/* Operand i as the batched step wants it. */
static hop_val operand(hop_build *b, const struct batcher *t, uint32_t i)
{
	const hop_replay *p = &t->p;
	uint32_t k = i - (i < p->kept ? p->carry : p->kept);
	bool on = i >= p->dcarry || t->bin[k];
	bool rows = i >= p->dy || (i >= p->x && i < p->konst) || (i >= p->kept && i < p->dcarry);
	return on ? solid(b, t, i, rows) : t->r->in[i];
}

static hop_status emit(hop_build *b, const struct batcher *t, const struct hop_attr_replay *a,
                       uint32_t n, const hop_val *in)
{
	const hop_replay *p = &t->p;
	hop_rule *r = t->r;
	hop_val v = b->st ? HOP_BAD : hop_emit_op(b, HOP_OP_replay, a, n, in);
	for (uint32_t k = 0; k < r->n->nout && !b->st; k++) {
		r->out[k] = (hop_val){ v.id + k };
		if (k >= p->nca && k < p->nca + p->nxa)
			r->out[k] = hop_emit_swap(b, r->out[k]);
		r->bout[k] = true;
	}
	return b->st;
}

/* All lanes ran the same number of steps. */
static hop_status batch_shared(hop_build *b, struct batcher *t)
{
	const hop_replay *p = &t->p;
	hop_rule *r = t->r;
	uint32_t n = 0;
	t->masked = !hop_is_zero(r->mask) && hop_ad_needs_mask(p->l.body);
	HOP_TRY(batch_step(b, t, false));
	struct hop_attr_replay *a = hop_rule_attr(b, r);
	a->step = t->step;
	a->sargs = hop_batch_sargs(b, r);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, r->n->nin + 1);
	for (uint32_t i = 0; i < r->n->nin; i++) {
		if (i == p->kept && t->masked)
			in[n++] = r->mask;
		in[n++] = i < HOP_REPLAY_LEAD ? r->in[i] : operand(b, t, i);
	}
	if (t->masked && p->kept == r->n->nin)
		in[n++] = r->mask;
	return emit(b, t, a, n, in);
}

/* The step with lanes of their own: carries, i; xs; consts, trips -> carries, i'; ys. */
static hop_status split_step(hop_env *e, const struct batcher *t, hop_graph **out_g)
{
	const hop_loop *l = &t->p.l;
	const hop_graph *g = t->step;
	uint32_t np = l->body->nparam, no = l->body->nout;
	hop_size lanes = hop_batch_inner(e, t->r, l->body);
	hop_build b;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, np), *safe = HOP_NEWN(&e->tmp, hop_val, np + 1);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, no), *out = HOP_NEWN(&e->tmp, hop_val, no + 1);
	hop_val i = HOP_BAD;
	hop_body_open(&b, e, g);
	for (uint32_t k = 0; k <= np; k++) {
		if (k == l->nc)
			i = hop_build_param(&b, hop_type_scalar(e, HOP_i64));
		if (k < np)
			in[k] = hop_build_param(&b, g->type[k]);
	}
	hop_val trips = hop_build_param(&b, hop_type_get(e, HOP_i64, 1, &lanes));
	hop_val active = hop_emit(&b, lt, hop_emit_lead(&b, i, lanes), trips);
	hop_val some = hop_emit_some_lane(&b, active);
	for (uint32_t k = 0; k < np; k++)
		safe[k] = t->bin[k] ? hop_emit_safe(&b, active, some, in[k]) : in[k];
	safe[np] = active;
	hop_body_inline(&b, g, safe, res);
	for (uint32_t k = 0; k < no && !b.st; k++)
		out[k < l->nc ? k : k + 1] = hop_emit_lanes(&b, active, res[k], k < l->nc ? in[k]
		                             : hop_emit_zeros(&b, hop_typeof(&b, res[k])));
	if (!b.st)
		out[l->nc] = hop_emit(&b, add, i, hop_emit_const_i(&b, HOP_i64, 1));
	return hop_seal(&b, no + 1, out, NULL, out_g);
}

/* Places from the first x or y on are one later: a carry was put in front of them. */
static hop_ints shifted(hop_env *e, hop_ints s, uint32_t nc)
{
	int64_t *v = HOP_NEWN(&e->tmp, int64_t, s.n);
	for (int64_t i = 0; i < s.n; i++)
		v[i] = s.v[i] < nc ? s.v[i] : s.v[i] + 1;
	return (hop_ints){ s.n, v };
}

static hop_val one_row(hop_build *b, hop_val x)
{
	return b->st ? HOP_BAD : hop_emit_lead(b, hop_emit(b, stop_gradient, x), hop_size_int(1));
}

static hop_status batch_split(hop_build *b, struct batcher *t)
{
	const hop_replay *p = &t->p;
	const hop_loop *l = &p->l;
	hop_rule *r = t->r;
	hop_env *e = b->env;
	hop_graph *step;
	uint32_t n = 0;
	t->masked = true;
	HOP_TRY(batch_step(b, t, true));
	HOP_TRY(split_step(e, t, &step));
	struct hop_attr_replay *a = hop_rule_attr(b, r);
	a->step = step;
	a->sargs = hop_batch_sargs(b, r);
	a->wrt = shifted(e, a->wrt, l->nc);
	a->live = shifted(e, a->live, l->nc);
	a->ncarry++;
	a->slots += a->rows ? a->rows - 1 : a->leaf;
	a->rows = 1;
	a->whole = false;
	hop_val one = hop_emit_const_i(b, HOP_i64, 1), zero = hop_emit_const_i(b, HOP_i64, 0);
	hop_val trips = solid(b, t, HOP_REPLAY_TRIPS, false);
	if (!b->st && !hop_is_zero(r->mask))             /* lanes that are not there ran no step */
		trips = hop_emit_lanes(b, r->mask, trips, hop_emit_zeros(b, hop_typeof(b, trips)));
	hop_val most = hop_emit_amax(b, trips, 1, (const int64_t[]){ 0 });
	most = b->st ? HOP_BAD : hop_emit(b, max, most, zero);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, r->n->nin + 4);
	in[n++] = most;
	in[n++] = one;
	in[n++] = one;
	for (uint32_t i = p->carry; i < p->x; i++)
		in[n++] = operand(b, t, i);
	in[n++] = zero;
	for (uint32_t i = p->x; i < p->kept; i++)
		in[n++] = operand(b, t, i);
	in[n++] = trips;
	for (uint32_t i = 0; i <= l->nc; i++)
		in[n++] = one_row(b, in[HOP_REPLAY_LEAD + i]);
	for (uint32_t i = p->dcarry; i < r->n->nin; i++)
		in[n++] = operand(b, t, i);
	return emit(b, t, a, n, in);
}

hop_status hop_batch_replay(hop_build *b, hop_rule *r)
{
	struct batcher t = { .r = r };
	bool ok = hop_replay_read(b->env, &b->env->tmp, HOP_ATTR(r->n, replay), r->n->nin, &t.p);
	HOP_ASSERT(ok);
	for (int i = 0; i < HOP_REPLAY_LEAD; i++)
		if (r->bin[i])
			return batch_split(b, &t);
	return batch_shared(b, &t);
}
