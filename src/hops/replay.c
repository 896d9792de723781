/* replay.c -- replay: the reverse of a loop whose states were not kept. What it means: its
 * definition is the plain reverse, and the interpreter runs that. How it runs in bounded memory
 * is in replay_expand.c, what transforms make of it in replay_ad.c. */
#include "hops/replay.h"

#include <string.h>

/* The places that a list names, rising, below n. */
static bool named(hop_ints s, int64_t n, bool *on)
{
	for (int64_t i = 0; i < s.n; i++) {
		if (s.v[i] < 0 || s.v[i] >= n || (i && s.v[i] <= s.v[i - 1]))
			return false;
		on[s.v[i]] = true;
	}
	return true;
}

static uint32_t count_on(const bool *on, uint32_t n)
{
	uint32_t k = 0;
	for (uint32_t i = 0; i < n; i++)
		k += on[i];
	return k;
}

bool hop_replay_read(hop_env *e, hop_arena *m, const struct hop_attr_replay *a, uint32_t nin,
                     hop_replay *r)
{
	const hop_graph *g = a->step;
	int64_t np = g ? g->nparam : 0, no = g ? g->nout : 0;
	*r = (hop_replay){ .a = a };
	if (!g || a->ncarry < 0 || a->nx < 0 || a->ncarry > np || a->nx > np - a->ncarry ||
	    a->ncarry > no)
		return false;
	hop_loop *l = &r->l;
	*l = (hop_loop){ .body = g, .nc = (uint32_t)a->ncarry, .nx = (uint32_t)a->nx };
	l->nk = g->nparam - l->nc - l->nx;
	l->ny = g->nout - l->nc;
	l->act = HOP_NEWN(m, bool, np);
	l->live = HOP_NEWN(m, bool, no);
	if (!named(a->wrt, np, l->act) || !named(a->live, no, l->live) ||
	    memcmp(l->act, l->live, l->nc))
		return false;
	r->nca = count_on(l->act, l->nc);
	r->nxa = count_on(l->act + l->nc, l->nx);
	r->nka = count_on(l->act + l->nc + l->nx, l->nk);
	r->nya = count_on(l->live + l->nc, l->ny);
	r->carry = HOP_REPLAY_LEAD;
	r->x = r->carry + l->nc;
	r->konst = r->x + l->nx;
	r->kept = r->konst + l->nk;
	r->dcarry = r->kept + l->nc;
	r->dy = r->dcarry + r->nca;
	r->length = hop_size_const(a->length) ? a->length : hop_size_sym(e, (int)a->size);
	r->rows = hop_size_int(a->rows);
	if (!a->rows && a->leaf > 0)
		r->rows = hop_size_div(e, hop_size_add(e, r->length, hop_size_int(a->leaf - 1)),
		                       hop_size_int(a->leaf));
	return nin == r->dy + r->nya && (!a->grow || (!l->nx && !l->ny));
}

/* Result or parameter number k among those that are on. */
static uint32_t nth(const bool *on, uint32_t k)
{
	uint32_t i = 0;
	for (;; i++)
		if (on[i] && k-- == 0)
			return i;
}

const hop_type *hop_replay_type(hop_env *e, const hop_replay *r, uint32_t i)
{
	const hop_graph *g = r->l.body;
	if (i < HOP_REPLAY_LEAD)
		return hop_type_scalar(e, HOP_i64);
	if (i < r->kept) {
		const hop_type *t = g->type[i - r->carry];
		return i >= r->x && i < r->konst ? hop_type_prepend(e, t, r->length) : t;
	}
	if (i < r->dcarry)
		return hop_type_prepend(e, g->type[i - r->kept], r->rows);
	if (i < r->dy)
		return g->type[nth(r->l.act, i - r->dcarry)];
	uint32_t y = nth(r->l.live + r->l.nc, i - r->dy);
	return hop_type_prepend(e, hop_graph_out_type(g, r->l.nc + y), r->length);
}

bool hop_replay_fits(const hop_loop *l)
{
	for (uint32_t i = 0; i < l->nc + l->nx; i++)
		if (l->body->type[i]->rank == HOP_MAXRANK)
			return false;
	for (uint32_t i = 0; i < l->ny; i++)
		if (hop_graph_out_type(l->body, l->nc + i)->rank == HOP_MAXRANK)
			return false;
	return true;
}

static hop_status check_attrs(hop_infer *f, hop_replay *r)
{
	const struct hop_attr_replay *a = f->attr;
	if (!hop_replay_read(f->env, &f->b->arena, a, f->nin, r))
		return hop_infer_fail(f, HOP_EVALUE, "replay: %lld carries and %lld xs, %lld wrt and "
		                      "%lld live do not fit %u operands and the step",
		                      (long long)a->ncarry, (long long)a->nx, (long long)a->wrt.n,
		                      (long long)a->live.n, f->nin);
	if (a->rows < 0 || a->slots < 0 || a->leaf < 1 || (!a->rows && a->grow))
		return hop_infer_fail(f, HOP_EVALUE, "replay: %lld rows, %lld slots, a leaf of %lld "
		                      "steps: a leaf has steps, a loop that grows has rows",
		                      (long long)a->rows, (long long)a->slots, (long long)a->leaf);
	if (!hop_size_const(a->length) && (a->size < 0 || a->size >= a->sargs.n ||
	                                   !hop_size_eq(a->length, a->sargs.v[a->size])))
		return hop_infer_fail(f, HOP_EVALUE, "replay: the length is neither a constant nor size "
		                      "argument %lld", (long long)a->size);
	for (uint32_t i = 0; i < r->l.body->nparam; i++)
		if (r->l.act[i] && !hop_type_diff(r->l.body->type[i]))
			return hop_infer_fail(f, HOP_ETYPE, "replay: wrt names parameter %u of step, which "
			                      "is no float", i);
	if (!hop_replay_fits(&r->l))
		return hop_infer_fail(f, HOP_ESHAPE, "replay: a carry, x or y of rank %d has no room "
		                      "for the axis of the steps", HOP_MAXRANK);
	if (r->l.body->has_effect)
		return hop_infer_fail(f, HOP_EREFUSED, "replay: step has an effect, which would be seen "
		                      "again");
	return HOP_OK;
}

/* replay trips stride count carries xs consts states cotangents -- the reverse of a loop, run
 * again from its first carries
 * Made by reverse mode of loops with slots: memory is bounded, results are those of the plain
 * reverse. */
hop_status hop_infer_replay(hop_infer *f)
{
	const struct hop_attr_replay *a = f->attr;
	hop_replay r;
	uint32_t n = 0;
	HOP_TRY(check_attrs(f, &r));
	const hop_graph *g = a->step;
	if (a->sargs.n != (int64_t)g->nsym)
		return hop_infer_fail(f, HOP_ETYPE, "replay: step takes %u sizes, got %lld", g->nsym,
		                      (long long)a->sargs.n);
	HOP_TRY(hop_infer_le(f, hop_size_int(0), a->length, "length is {1}"));
	for (uint32_t i = 0; i < f->nin; i++) {
		const hop_type *t = hop_replay_type(f->env, &r, i);
		HOP_TRY(hop_types_agree(f, hop_body_type(f->env, t, a->sargs), f->in[i], "operand", i,
		                        "the step", "the operands"));
	}
	hop_infer_outs(f, (uint32_t)a->wrt.n);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (r.l.act[i])
			f->out[n++] = f->in[r.carry + i];
	return HOP_OK;
}

void hop_replay_spread(const hop_replay *r, const hop_val *in, hop_val *dcarry, hop_val *dy)
{
	const hop_loop *l = &r->l;
	uint32_t c = r->dcarry, y = r->dy;
	for (uint32_t i = 0; i < l->nc; i++)
		dcarry[i] = l->act[i] ? in[c++] : HOP_ZERO;
	for (uint32_t i = 0; i < l->ny; i++)
		dy[i] = l->live[l->nc + i] ? in[y++] : HOP_ZERO;
}

uint32_t hop_replay_gather(const hop_replay *r, const hop_val *dcarry, const hop_val *dx,
                           const hop_val *dk, hop_val *out)
{
	const hop_loop *l = &r->l;
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->body->nparam; i++)
		if (l->act[i])
			out[n++] = i < l->nc ? dcarry[i] : i < l->nc + l->nx ? dx[i - l->nc]
			         : dk[i - l->nc - l->nx];
	return n;
}

/* ---- the definition ---- */

/* A step that counts, or its test: of carries, i, consts, trips. */
static hop_status counted(hop_env *e, const hop_loop *l, bool test, const hop_graph **out_g)
{
	const hop_graph *g = l->fwd;
	const hop_type *i64 = hop_type_scalar(e, HOP_i64);
	hop_build b;
	hop_graph *made;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, g->nout), *out = HOP_NEWN(&e->tmp, hop_val, g->nout + 1);
	uint32_t n = 1;
	hop_body_open(&b, e, g);
	for (uint32_t k = 0; k < l->nc; k++)
		in[k] = hop_build_param(&b, g->type[k]);
	hop_val i = hop_build_param(&b, i64);
	for (uint32_t k = l->nc; k < g->nparam; k++)
		in[k] = hop_build_param(&b, g->type[k]);
	hop_val trips = hop_build_param(&b, i64);
	if (test) {
		out[0] = hop_emit(&b, lt, i, trips);
	} else {
		hop_body_inline(&b, g, in, res);
		memcpy(out, res, l->nc * sizeof *out);
		out[l->nc] = hop_emit(&b, add, i, hop_emit_const_i(&b, HOP_i64, 1));
		memcpy(out + l->nc + 1, res + l->nc, (g->nout - l->nc) * sizeof *out);
		n = g->nout + 1;
	}
	HOP_TRY(hop_seal(&b, n, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* The loop again, as long as it was, with tapes that grow. */
static hop_status again_while(hop_build *b, const hop_replay *r, hop_sizes sargs,
                              const hop_val *p, hop_val *out, hop_size *out_cap)
{
	hop_env *e = b->env;
	const hop_loop *l = &r->l;
	const hop_graph *test, *body;
	HOP_TRY(counted(e, l, true, &test));
	HOP_TRY(counted(e, l, false, &body));
	hop_val *carry = HOP_NEWN(&e->tmp, hop_val, l->nc + 1);
	hop_val *konst = HOP_NEWN(&e->tmp, hop_val, l->nk + 1);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, body->nout + 1);
	memcpy(carry, p + r->carry, l->nc * sizeof *carry);
	carry[l->nc] = hop_emit_const_i(b, HOP_i64, 0);
	memcpy(konst, p + r->konst, l->nk * sizeof *konst);
	konst[l->nk] = p[HOP_REPLAY_TRIPS];
	hop_while_args w = { .test = test, .body = body, .sargs = sargs, .ncarry = l->nc + 1,
	                     .nconst = l->nk + 1, .carry = carry, .konst = konst,
	                     .trips = { 0, HOP_SIZE_MAX }, .out_cap = out_cap };
	HOP_TRY(hop_emit_while(b, &w, res));
	memcpy(out, res, l->nc * sizeof *out);
	memcpy(out + l->nc, res + l->nc + 2, (l->fwd->nout - l->nc) * sizeof *out);
	return b->st;
}

static hop_status again_scan(hop_build *b, const hop_replay *r, hop_sizes sargs,
                             const hop_val *p, hop_val *out)
{
	const hop_loop *l = &r->l;
	hop_scan_args s = { .body = l->fwd, .sargs = sargs, .ncarry = l->nc, .nx = l->nx,
	                    .nconst = l->nk, .length = r->length,
	                    .count = r->a->whole ? HOP_ZERO : p[HOP_REPLAY_TRIPS],
	                    .carry = p + r->carry, .x = p + r->x, .konst = p + r->konst };
	return hop_emit_scan(b, &s, out);
}

static hop_status make_plain(hop_env *e, const hop_node *n, hop_graph **out_g)
{
	hop_build b;
	hop_replay r;
	bool ok = hop_replay_read(e, &e->tmp, HOP_ATTR(n, replay), n->nin, &r);
	HOP_ASSERT(ok);
	hop_loop *l = &r.l;
	hop_body_open(&b, e, l->body);
	hop_sizes sargs = hop_own_sizes(e, l->body->nsym);
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, n->nin);
	hop_val *dc = HOP_NEWN(&e->tmp, hop_val, l->nc), *dx = HOP_NEWN(&e->tmp, hop_val, l->nx);
	hop_val *dk = HOP_NEWN(&e->tmp, hop_val, l->nk), *dy = HOP_NEWN(&e->tmp, hop_val, l->ny);
	for (uint32_t i = 0; i < n->nin; i++)
		p[i] = hop_build_param(&b, hop_replay_type(e, &r, i));
	HOP_TRY(hop_loop_cut(&b, l, l->act, l->live + l->nc, HOP_CUT_MIN));
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, l->fwd->nout);
	hop_size cap = r.length;
	hop_status st = r.a->grow ? again_while(&b, &r, sargs, p, res, &cap)
	                          : again_scan(&b, &r, sargs, p, res);
	hop_replay_spread(&r, p, dc, dy);
	hop_loop_vals v = { .x = p + r.x, .konst = p + r.konst, .y = res + l->nc,
	                    .stacked = res + l->nc + l->ny, .dcarry = dc, .dy = dy, .carry = res,
	                    .count = r.a->whole ? HOP_ZERO : p[HOP_REPLAY_TRIPS], .length = cap,
	                    .reverse = true, .sargs = sargs };
	if (!st)
		st = hop_loop_reverse(&b, l, &v, dc, dx, dk);
	if (!b.st)
		b.st = st;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, l->body->nparam);
	return hop_seal(&b, hop_replay_gather(&r, dc, dx, dk, out), out, NULL, out_g);
}

/* What the two graphs are made of. */
struct key {
	uint64_t         kind;
	const hop_graph *step;
	int64_t          num[9];
	bool             on[];
};

hop_status hop_replay_memo(hop_env *e, const hop_node *n, uint64_t kind,
                           hop_status (*make)(hop_env *, const hop_node *, hop_graph **),
                           const hop_graph **out_g)
{
	const struct hop_attr_replay *a = HOP_ATTR(n, replay);
	const hop_graph *g = a->step;
	hop_mark m = hop_mark_at(&e->tmp);
	size_t size = sizeof(struct key) + g->nparam + g->nout;
	struct key *k = hop_arena_alloc(&e->tmp, size);
	memset(k, 0, size);
	k->kind = kind;
	k->step = g;
	bool fixed = hop_size_const(a->length);
	const int64_t num[] = { a->ncarry, a->nx, fixed, fixed ? a->length.k : a->size, a->grow,
	                        a->whole, a->rows, a->slots, a->leaf };
	_Static_assert(sizeof num == sizeof k->num, "the key holds all numbers");
	memcpy(k->num, num, sizeof num);
	named(a->wrt, g->nparam, k->on);
	named(a->live, g->nout, k->on + g->nparam);
	hop_graph *r = hop_ctx_memo_get(e, k, size);
	hop_status st = HOP_OK;
	if (!r && !(st = make(e, n, &r)))
		r = hop_ctx_memo_put(e, k, size, r);
	*out_g = r;
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_replay_plain(hop_env *e, const hop_node *n, const hop_graph **out_g)
{
	return hop_replay_memo(e, n, 'R', make_plain, out_g);
}

hop_status hop_eval_replay(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	const hop_graph *g;
	HOP_TRY(hop_replay_plain(p->env, n, &g));
	return hop_interp_body(p, n, g, in, out);
}
