/* replay_expand.c -- replay as loops of other operators, in bounded memory.
 *
 * States are stacked: those that the loop kept lie below, `slots` more may be put on top. The
 * steps behind the uppermost state that are not reversed yet are divided into leaves of `leaf`
 * steps. A round of the outer loop takes the uppermost state and
 *   - if one leaf is left: runs it with a tape and reverses it, and drops the state;
 *   - else runs on to a later leaf and puts the state there on the stack, or, if the stack is
 *     full, runs and reverses the last leaf from there.
 * Which leaf: with s states (the uppermost and the free slots) and no leaf run more than r
 * times, b(s, r) = (s + r over r) leaves can be reversed; r is the smallest that does, and the
 * new state is put so that the leaves behind it are b(s - 1, r), those before it b(s, r - 1) at
 * most (Griewank 1992, "revolve"). Sums of consts go on from leaf to leaf, so that they are added
 * up in the order of the plain reverse. */
#include "hops/replay.h"

#include <string.h>

#include "loop/lower.h"

/* Carries of the outer loop, then its consts. */
struct rounds {
	hop_val  t, left, sp, pos;       /* steps to reverse, kept states left, stack */
	hop_val *stack;                  /* [nc] of [slots + 1, t]: the last row is waste */
	hop_val *dc, *dk, *dx;           /* active ones; dx has one row of waste, too */
	hop_val  stride;
	hop_val *x, *konst, *kept, *dy;  /* dy: live ones */
};

struct expander {
	hop_env   *e;
	hop_replay r;
	int64_t    leaf, slots;
	hop_sizes  own;
	const hop_type *i64;
};

static hop_val num(hop_build *b, int64_t v)
{
	return hop_emit_const_i(b, HOP_i64, v);
}

#define DO(op, ...) (b->st ? HOP_BAD : hop_emit(b, op, __VA_ARGS__))

/* ---- running on ---- */

/* Parameters: i, carries; end, xs, consts. */
static hop_status make_run(const struct expander *x, bool test, const hop_graph **out_g)
{
	const hop_loop *l = &x->r.l;
	const hop_graph *g = l->body;
	hop_env *e = x->e;
	hop_build bd, *b = &bd;
	hop_graph *made;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam), *out = HOP_NEWN(&e->tmp, hop_val, g->nout + 1);
	hop_body_open(b, e, g);
	hop_val i = hop_build_param(b, x->i64);
	for (uint32_t k = 0; k < l->nc; k++)
		in[k] = hop_build_param(b, g->type[k]);
	hop_val end = hop_build_param(b, x->i64);
	for (uint32_t k = l->nc; k < g->nparam; k++)
		in[k] = hop_build_param(b, hop_replay_type(e, &x->r, x->r.carry + k));
	if (test) {
		out[0] = DO(lt, i, end);
	} else {
		for (uint32_t k = l->nc; k < l->nc + l->nx; k++)
			in[k] = hop_emit_gather(b, in[k], i, 0, 0);
		hop_body_inline(b, g, in, out + 1);
		out[0] = DO(add, i, num(b, 1));
	}
	HOP_TRY(hop_seal(b, test ? 1 : 1 + l->nc, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* The state at step `to`, from that at step `from`; in place. */
static hop_status run_on(hop_build *b, const struct expander *x, const struct rounds *s,
                         hop_val from, hop_val to, hop_val *state)
{
	const hop_loop *l = &x->r.l;
	hop_env *e = x->e;
	const hop_graph *test, *body;
	uint32_t nk = 0;
	HOP_TRY(make_run(x, true, &test));
	HOP_TRY(make_run(x, false, &body));
	hop_val *carry = HOP_NEWN(&e->tmp, hop_val, l->nc + 1), *out = HOP_NEWN(&e->tmp, hop_val, l->nc + 2);
	hop_val *konst = HOP_NEWN(&e->tmp, hop_val, l->nx + l->nk + 1);
	carry[0] = from;
	memcpy(carry + 1, state, l->nc * sizeof *carry);
	konst[nk++] = to;
	memcpy(konst + nk, s->x, l->nx * sizeof *konst);
	memcpy(konst + nk + l->nx, s->konst, l->nk * sizeof *konst);
	hop_while_args w = { .test = test, .body = body, .sargs = x->own, .ncarry = l->nc + 1,
	                     .nconst = nk + l->nx + l->nk, .carry = carry, .konst = konst };
	HOP_TRY(hop_emit_while(b, &w, out));
	memcpy(state, out + 1, l->nc * sizeof *state);
	return b->st;
}

/* ---- how far ---- */

/* Parameters: r, n; s, m. n = b(s, r). */
static hop_status make_count(const struct expander *x, bool test, const hop_graph **out_g)
{
	hop_build bd, *b = &bd;
	hop_graph *made;
	hop_val p[4], out[2];
	hop_build_open(b, x->e);
	for (int i = 0; i < 4; i++)
		p[i] = hop_build_param(b, x->i64);
	out[0] = test ? DO(lt, p[1], p[3]) : DO(add, p[0], num(b, 1));
	if (!test)
		out[1] = DO(div, DO(mul, p[1], DO(add, p[2], out[0])), out[0]);
	HOP_TRY(hop_seal(b, test ? 1 : 2, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* The leaves before the new state, of m > 1, with s > 1 states. */
static hop_val split(hop_build *b, const struct expander *x, hop_val s, hop_val m)
{
	const hop_graph *test, *body;
	hop_val one = num(b, 1), carry[] = { num(b, 0), one }, konst[] = { s, m }, out[3];
	hop_while_args w = { .ncarry = 2, .nconst = 2, .carry = carry, .konst = konst };
	if (b->st || make_count(x, true, &test) || make_count(x, false, &body))
		return HOP_BAD;
	w.test = test;
	w.body = body;
	if (hop_emit_while(b, &w, out))
		return HOP_BAD;
	hop_val r = out[0];
	hop_val before = DO(div, DO(mul, out[1], r), DO(add, s, r));       /* b(s, r - 1) */
	hop_val below = DO(sub, DO(add, s, r), one);
	hop_val behind = DO(div, DO(mul, before, s), DO(max, below, one)); /* b(s - 1, r - 1) */
	return DO(min, before, DO(sub, m, behind));
}

/* ---- a leaf ---- */

/* Parameters: from, to, state, dc, dk, xs, dy, consts; results: dc, dk, rows of dx.
 * run: else nothing is reversed. */
static hop_status make_leaf(const struct expander *x, bool run, hop_graph **out_g)
{
	const hop_replay *r = &x->r;
	hop_loop l = r->l;
	hop_env *e = x->e;
	const hop_graph *g = l.body;
	hop_build bd, *b = &bd;
	uint32_t no = 0, np = r->konst - r->carry + l.nk;
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, np), *dc = HOP_NEWN(&e->tmp, hop_val, l.nc);
	hop_val *dk = HOP_NEWN(&e->tmp, hop_val, l.nk), *dx = HOP_NEWN(&e->tmp, hop_val, l.nx);
	hop_val *dy = HOP_NEWN(&e->tmp, hop_val, l.ny), *out = HOP_NEWN(&e->tmp, hop_val, np);
	hop_size n = hop_size_int(x->leaf);
	hop_body_open(b, e, g);
	hop_val from = hop_build_param(b, x->i64), to = hop_build_param(b, x->i64);
	for (uint32_t i = 0; i < l.nc; i++)
		p[i] = hop_build_param(b, g->type[i]);
	for (uint32_t i = 0; i < l.nc; i++)
		dc[i] = l.act[i] ? hop_build_param(b, g->type[i]) : HOP_ZERO;
	for (uint32_t i = 0; i < l.nk; i++)
		dk[i] = l.act[l.nc + l.nx + i] ? hop_build_param(b, g->type[l.nc + l.nx + i]) : HOP_ZERO;
	for (uint32_t i = 0; i < l.nx; i++)
		p[l.nc + i] = hop_build_param(b, hop_replay_type(e, r, r->x + i));
	for (uint32_t i = 0, k = r->dy; i < l.ny; i++)
		dy[i] = l.live[l.nc + i] ? hop_build_param(b, hop_replay_type(e, r, k++)) : HOP_ZERO;
	for (uint32_t i = 0; i < l.nk; i++)
		p[l.nc + l.nx + i] = hop_build_param(b, g->type[l.nc + l.nx + i]);
	if (run) {
		hop_val at = DO(add, hop_emit_iota(b, HOP_i64, 1, &n, 0), hop_emit_lead(b, from, n));
		for (uint32_t i = l.nc; i < l.nc + l.nx; i++)
			p[i] = hop_emit_gather(b, p[i], at, 0, 0);
		for (uint32_t i = 0; i < l.ny; i++)
			if (l.live[l.nc + i])
				dy[i] = hop_emit_gather(b, dy[i], at, 0, 0);
		hop_val count = DO(sub, to, from);
		HOP_TRY(hop_loop_cut(b, &l, l.act, l.live + l.nc, HOP_CUT_MIN));
		hop_val *res = HOP_NEWN(&e->tmp, hop_val, l.fwd->nout);
		hop_scan_args w = { .body = l.fwd, .sargs = x->own, .ncarry = l.nc, .nx = l.nx,
		                    .nconst = l.nk, .length = n, .count = count, .carry = p,
		                    .x = p + l.nc, .konst = p + l.nc + l.nx };
		hop_emit_scan(b, &w, res);
		hop_loop_vals v = { .x = w.x, .konst = w.konst, .y = res + l.nc,
		                    .stacked = res + l.nc + l.ny, .dcarry = dc, .dy = dy, .dk = dk,
		                    .carry = res, .count = count, .length = n, .reverse = true,
		                    .sargs = x->own };
		if (!b->st)
			hop_loop_reverse(b, &l, &v, dc, dx, dk);
	} else {
		for (uint32_t i = 0; i < l.nx; i++)
			if (l.act[l.nc + i])
				dx[i] = hop_emit_zeros(b, hop_type_prepend(e, g->type[l.nc + i], n));
	}
	for (uint32_t i = 0; i < l.nc; i++)
		if (l.act[i])
			out[no++] = dc[i];
	for (uint32_t i = 0; i < l.nk; i++)
		if (l.act[l.nc + l.nx + i])
			out[no++] = dk[i];
	for (uint32_t i = 0; i < l.nx; i++)
		if (l.act[l.nc + i])
			out[no++] = dx[i];
	return hop_seal(b, no, out, NULL, out_g);
}

/* Reverse steps from .. to-1 if `on`; sets dc and dk, and dx to the rows of the leaf. */
static hop_status reverse_leaf(hop_build *b, const struct expander *x, const struct rounds *s,
                               hop_val on, hop_val from, const hop_val *state, hop_val *out)
{
	const hop_replay *r = &x->r;
	const hop_loop *l = &r->l;
	hop_graph *then, *other;
	uint32_t n = 0;
	HOP_TRY(make_leaf(x, true, &then));
	HOP_TRY(make_leaf(x, false, &other));
	hop_val *in = HOP_NEWN(&x->e->tmp, hop_val, then->nparam);
	in[n++] = from;
	in[n++] = s->t;
	const struct { const hop_val *v; uint32_t n; } part[] = {
		{ state, l->nc }, { s->dc, r->nca }, { s->dk, r->nka }, { s->x, l->nx },
		{ s->dy, r->nya }, { s->konst, l->nk }
	};
	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		memcpy(in + n, part[i].v, part[i].n * sizeof *in);
		n += part[i].n;
	}
	return hop_emit_cond(b, then, other, x->own, on, in, out);
}

/* ---- a round ---- */

static const hop_type *rows_of(const struct expander *x, const hop_type *t, hop_size n)
{
	return hop_type_prepend(x->e, t, n);
}

/* The parameters of the outer loop, or their types alone. */
static void round_params(hop_build *b, const struct expander *x, struct rounds *s)
{
	const hop_replay *r = &x->r;
	const hop_loop *l = &r->l;
	hop_arena *m = &x->e->tmp;
	hop_size n = hop_size_int(x->slots + 1), len = hop_size_add(x->e, r->length, hop_size_int(1));
	uint32_t nc = 0, nk = 0, nx = 0;
	*s = (struct rounds){ .stack = HOP_NEWN(m, hop_val, l->nc), .dc = HOP_NEWN(m, hop_val, l->nc),
	                      .dk = HOP_NEWN(m, hop_val, l->nk), .dx = HOP_NEWN(m, hop_val, l->nx),
	                      .x = HOP_NEWN(m, hop_val, l->nx), .konst = HOP_NEWN(m, hop_val, l->nk),
	                      .kept = HOP_NEWN(m, hop_val, l->nc), .dy = HOP_NEWN(m, hop_val, l->ny) };
	s->t = hop_build_param(b, x->i64);
	s->left = hop_build_param(b, x->i64);
	s->sp = hop_build_param(b, x->i64);
	s->pos = hop_build_param(b, rows_of(x, x->i64, n));
	for (uint32_t i = 0; i < l->nc; i++)
		s->stack[i] = hop_build_param(b, rows_of(x, l->body->type[i], n));
	for (uint32_t i = 0; i < l->nc; i++)
		if (l->act[i])
			s->dc[nc++] = hop_build_param(b, l->body->type[i]);
	for (uint32_t i = l->nc + l->nx; i < l->body->nparam; i++)
		if (l->act[i])
			s->dk[nk++] = hop_build_param(b, l->body->type[i]);
	for (uint32_t i = l->nc; i < l->nc + l->nx; i++)
		if (l->act[i])
			s->dx[nx++] = hop_build_param(b, rows_of(x, l->body->type[i], len));
	s->stride = hop_build_param(b, x->i64);
	for (uint32_t i = 0; i < l->nx; i++)
		s->x[i] = hop_build_param(b, hop_replay_type(x->e, r, r->x + i));
	for (uint32_t i = 0; i < l->nk; i++)
		s->konst[i] = hop_build_param(b, hop_replay_type(x->e, r, r->konst + i));
	for (uint32_t i = 0; i < l->nc; i++)
		s->kept[i] = hop_build_param(b, hop_replay_type(x->e, r, r->kept + i));
	for (uint32_t i = 0; i < r->nya; i++)
		s->dy[i] = hop_build_param(b, hop_replay_type(x->e, r, r->dy + i));
}

static hop_status make_test(const struct expander *x, hop_graph **out_g)
{
	hop_build bd, *b = &bd;
	struct rounds s;
	hop_body_open(b, x->e, x->r.l.body);
	round_params(b, x, &s);
	hop_val go = DO(lt, num(b, 0), s.t);
	return hop_seal(b, 1, &go, NULL, out_g);
}

/* The rows of dx that the leaf gave, put where they belong; those past its end are waste. */
static void put_rows(hop_build *b, const struct expander *x, const struct rounds *s, hop_val on,
                     hop_val from, const hop_val *rows, hop_val *out)
{
	hop_size n = hop_size_int(x->leaf);
	if (!x->r.nxa || b->st)
		return;
	hop_val i = DO(add, hop_emit_iota(b, HOP_i64, 1, &n, 0), hop_emit_lead(b, from, n));
	hop_val end = DO(select, on, s->t, from);
	hop_val in = DO(lt, i, hop_emit_lead(b, end, n));
	hop_val waste = hop_emit_lead(b, hop_emit_size(b, x->r.length), n);
	hop_val at = DO(select, in, i, waste);
	for (uint32_t k = 0; k < x->r.nxa; k++)
		out[k] = hop_emit_scatter(b, HOP_MODE_set, s->dx[k], at, rows[k], 0, 0);
}

static hop_status make_round(const struct expander *x, hop_graph **out_g)
{
	const hop_replay *r = &x->r;
	const hop_loop *l = &r->l;
	hop_build bd, *b = &bd;
	struct rounds s;
	hop_body_open(b, x->e, l->body);
	round_params(b, x, &s);
	uint32_t nd = r->nca + r->nka, n = 0;
	hop_val *state = HOP_NEWN(&x->e->tmp, hop_val, l->nc);
	hop_val *d = HOP_NEWN(&x->e->tmp, hop_val, nd + r->nxa);
	hop_val *out = HOP_NEWN(&x->e->tmp, hop_val, 4 + l->nc + nd + r->nxa);
	hop_val zero = num(b, 0), one = num(b, 1), leaf = num(b, x->leaf);
	hop_val top = DO(sub, s.sp, one), low = DO(sub, s.left, one);
	hop_val none = DO(le, s.sp, zero);
	hop_val from = DO(select, none, DO(mul, low, s.stride), hop_emit_gather(b, s.pos, top, 0, 0));
	for (uint32_t i = 0; i < l->nc && !b->st; i++)
		state[i] = DO(select, hop_emit_match(b, none, l->body->type[i]),
		              hop_emit_gather(b, s.kept[i], low, 0, 0),
		              hop_emit_gather(b, s.stack[i], top, 0, 0));
	/* leaves behind it, states to divide them with */
	hop_val gap = DO(sub, s.t, from);
	hop_val m = DO(div, DO(add, gap, num(b, x->leaf - 1)), leaf);
	hop_val many = DO(lt, one, m);
	hop_val states = DO(sub, num(b, x->slots + 1), s.sp);
	hop_val push = DO(and, many, DO(lt, one, states));
	hop_val some = split(b, x, states, DO(select, push, m, one));
	hop_val skip = DO(mul, DO(select, push, some, DO(sub, m, one)), leaf);
	hop_val to = DO(add, from, skip);
	if (!b->st)
		run_on(b, x, &s, from, to, state);
	hop_val row = DO(select, push, s.sp, num(b, x->slots)), last = DO(not, push);
	if (!b->st)
		reverse_leaf(b, x, &s, last, to, state, d);
	/* a leaf that begins where the state is was its last */
	hop_val drop = DO(not, many), drops = hop_emit_cast(b, DO(and, drop, DO(not, none)), HOP_i64);
	out[n++] = DO(select, push, s.t, to);
	out[n++] = DO(sub, s.left, hop_emit_cast(b, DO(and, drop, none), HOP_i64));
	out[n++] = DO(add, DO(sub, s.sp, drops), hop_emit_cast(b, push, HOP_i64));
	out[n++] = hop_emit_scatter(b, HOP_MODE_set, s.pos, row, to, 0, 0);
	for (uint32_t i = 0; i < l->nc; i++)
		out[n++] = hop_emit_scatter(b, HOP_MODE_set, s.stack[i], row, state[i], 0, 0);
	for (uint32_t i = 0; i < nd; i++)
		out[n++] = d[i];
	put_rows(b, x, &s, last, to, d + nd, out + n);
	return hop_seal(b, n + r->nxa, out, NULL, out_g);
}

/* ---- all of it ---- */

static void open_expander(struct expander *x, hop_env *e, const hop_node *n)
{
	*x = (struct expander){ .e = e, .i64 = hop_type_scalar(e, HOP_i64) };
	bool ok = hop_replay_read(e, &e->tmp, HOP_ATTR(n, replay), n->nin, &x->r);
	HOP_ASSERT(ok);
	x->leaf = x->r.a->leaf;
	x->slots = x->r.a->slots;
	x->own = hop_own_sizes(e, x->r.l.body->nsym);
}

static hop_status make_expand(hop_env *e, const hop_node *n, hop_graph **out_g)
{
	struct expander x;
	hop_build bd, *b = &bd;
	hop_graph *test, *body;
	open_expander(&x, e, n);
	const hop_replay *r = &x.r;
	const hop_loop *l = &r->l;
	HOP_TRY(make_test(&x, &test));
	HOP_TRY(make_round(&x, &body));
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, n->nin), *out = HOP_NEWN(&e->tmp, hop_val, body->nout + 1);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, body->nparam), *res = HOP_NEWN(&e->tmp, hop_val, n->nout);
	uint32_t nc = 0, k = 0, first = 4 + l->nc;
	hop_body_open(b, e, l->body);
	for (uint32_t i = 0; i < n->nin; i++)
		p[i] = hop_build_param(b, hop_replay_type(e, r, i));
	in[nc++] = p[HOP_REPLAY_TRIPS];
	in[nc++] = p[HOP_REPLAY_COUNT];
	in[nc++] = num(b, 0);
	for (uint32_t i = nc; i < first; i++)
		in[nc++] = hop_emit_zeros(b, body->type[i]);
	for (uint32_t i = 0; i < r->nca; i++)
		in[nc++] = p[r->dcarry + i];
	while (nc < body->nout) {
		in[nc] = hop_emit_zeros(b, body->type[nc]);
		nc++;
	}
	hop_while_args w = { .test = test, .body = body, .sargs = x.own, .ncarry = nc,
	                     .nconst = body->nparam - nc, .carry = in, .konst = in + nc };
	in[nc++] = p[HOP_REPLAY_STRIDE];
	for (uint32_t i = r->x; i < r->dcarry; i++)
		in[nc++] = p[i];
	for (uint32_t i = 0; i < r->nya; i++)
		in[nc++] = p[r->dy + i];
	hop_emit_while(b, &w, out);
	for (uint32_t i = 0; i < r->nca; i++)
		res[k++] = out[first + i];
	for (uint32_t i = 0; i < r->nxa && !b->st; i++) {
		const hop_type *t = hop_typeof(b, out[first + r->nca + r->nka + i]);
		hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK];
		for (int j = 0; j < t->rank; j++) {
			start[j] = hop_size_int(0);
			dim[j] = j ? t->dim[j] : r->length;
		}
		res[k++] = hop_emit_slice(b, out[first + r->nca + r->nka + i], start, dim, NULL);
	}
	for (uint32_t i = 0; i < r->nka; i++)
		res[k++] = out[first + r->nca + i];
	return hop_seal(b, n->nout, res, NULL, out_g);
}

hop_status hop_replay_expand(hop_env *e, const hop_node *n, const hop_graph **out_g)
{
	return hop_replay_memo(e, n, 'E', HOP_ATTR(n, replay)->rows ? make_expand : hop_replay_rows,
	                       out_g);
}

hop_status hop_lower_replay(hop_lower *l, const hop_node *n)
{
	const hop_graph *g;
	HOP_TRY(hop_replay_expand(l->env, n, &g));
	return hop_lower_call_body(l, n, g);
}

#undef DO
