/* assoc_lower.c -- lowering of associative_scan and reduce as the fold they mean: one sequential
 * loop, what was combined so far in buffers. Where lanes are many that is all it takes: the loop
 * passes let threads and vectors share them. A long row of scalars goes in blocks before.
 *
 * Where the first result needs no combine (no init: it is x_0; exclusive: it is init), a head
 * writes it and the loop begins one step later. */
#include "hops/assoc_lower.h"

enum { FEW = 4096, LINE = 64 };

/* ---- one combine ---- */

static void bind(hop_lower *l, const hop_fold *s, hop_linst *in, const hop_combined *of)
{
	int first = (int)s->a.ninit;
	for (int i = 0; i < (int)in->g->nparam; i++)
		if (i < s->nx)
			hop_lower_bind_view(l, in, i, &of->left[i]);
		else if (i < 2 * s->nx && of->right)
			hop_lower_bind_view(l, in, i, &of->right[i - s->nx]);
		else
			hop_lower_bind_arg(l, s->n, first + i - s->nx, in, i,
			                   i < 2 * s->nx ? of->t : NULL);
}

hop_status hop_combine_new(hop_lower *l, const hop_fold *s, const hop_combined *of,
                           const hop_view *dest, hop_combine *out)
{
	hop_linst *in = hop_lower_body(l, s->n, s->a.combine);
	bool *fixed = HOP_NEWN(l->w, bool, in->g->nparam);
	*out = (hop_combine){ in, HOP_NEWN(l->w, hop_view, s->nx) };
	in->many = !hop_size_const(s->length) || s->length.k >= 8;
	for (int i = 0; i < (int)in->g->nparam; i++)
		fixed[i] = i >= 2 * s->nx;
	for (int k = 0; k < s->nx; k++) {
		out->dest[k] = dest[k];
		if (!s->live[k])
			out->dest[k].buf = HOP_VIEW_NONE;
	}
	bind(l, s, in, of);
	HOP_TRY(hop_lower_decide(l, in, out->dest, fixed));
	return hop_lower_emit(l, in, out->dest, true);
}

static hop_status emit_combine(hop_lower *l, const hop_fold *s, const hop_combine *q,
                               const hop_combined *of, const hop_view *dest)
{
	bind(l, s, q->in, of);
	for (int k = 0; k < s->nx; k++) {
		hop_lval *x = &q->in->val[q->in->g->out[k].id];
		if (!s->live[k])
			continue;
		q->dest[k] = dest[k];
		if (x->has_dest && x->dest.buf == dest[k].buf)
			x->dest = dest[k];
	}
	return hop_lower_emit(l, q->in, q->dest, false);
}

hop_status hop_combine_step(hop_lower *l, const hop_fold *s, const hop_combine *q,
                            const hop_combined *of, const hop_view *dest)
{
	HOP_TRY(emit_combine(l, s, q, of, dest));
	for (int k = 0; k < s->nx; k++)
		if (s->live[k])
			hop_view_copy(l, s->c.type[k], &dest[k], &of->left[k]);
	return HOP_OK;
}

/* Nothing in it that could not stand garbage: then step 0 combines it, and selects what it reads. */
static bool is_total(const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nnode; i++)
		if (hop_optab[g->node[i].op].flags & HOP_F_WHOLE || g->node[i].guard)
			return false;
	return true;
}

/* Where `first` holds slice t itself, else what is in `from`, to two places. */
static void choose(hop_lower *l, const hop_fold *s, int k, const hop_ix *t, hop_reg first,
                   const hop_view *from, const hop_view *const *to)
{
	const hop_type *ty = s->c.type[k];
	hop_dtype d = (hop_dtype)ty->dtype;
	const hop_ix *x[HOP_MAXRANK + 1] = { t };
	int m = hop_lower_open_dims(l, ty->rank, ty->dim, x + 1);
	hop_reg old = hop_lower_load(l, d, from->buf, hop_view_at(l, from, ty->rank, x + 1), l->q.cur);
	hop_reg in = hop_lower_arg(l, s->n, (int)s->a.ninit + k, x);
	hop_reg r = hop_lower_do(l, select, hop_dtype_computes(d), first, in, old);
	for (int i = 0; i < 2; i++)
		hop_lower_put(l, d, to[i]->buf, hop_view_at(l, to[i], ty->rank, x + 1), r);
	hop_lower_close_n(l, m);
}

/* ---- the fold ---- */

/* What result k of the combine needs, its operands first. */
static void needs(const hop_graph *g, int k, bool *on)
{
	on[g->out[k].id] = true;
	for (uint32_t i = g->nnode; i-- > 0;) {
		bool any = false;
		for (uint32_t j = 0; j < g->node[i].nout; j++)
			any |= on[g->node[i].out0.id + j];
		for (uint32_t j = 0; any && j < g->node[i].nin; j++)
			on[g->node[i].in[j].id] = true;
	}
}

/* And what those need of their left operand. */
static void close_live(const hop_fold *s, bool *live, bool *on)
{
	for (bool more = true; more; ) {
		more = false;
		for (int k = 0; k < s->nx; k++)
			if (live[k])
				needs(s->a.combine, k, on);
		for (int k = 0; k < s->nx; k++) {
			more |= on[k] && !live[k];
			live[k] |= on[k];
		}
	}
}

static void find_live(hop_lower *l, hop_fold *s)
{
	const hop_lval *x = &l->q.inst->val[s->n->out0.id];
	bool *on = HOP_NEWN(l->w, bool, s->a.combine->nvalue);
	s->live = HOP_NEWN(l->w, bool, s->nx);
	s->total = HOP_NEWN(l->w, bool, s->nx);
	for (int k = 0; k < s->nx; k++)
		s->live[k] = x[k].ndemand || x[k].has_dest;
	close_live(s, s->live, on);
	for (int k = 0; k < s->nx; k++)
		s->total[k] = s->live[k] || on[s->nx + k];
	close_live(s, s->total, on);
}

/* Where the fold begins: the inits, or nothing yet. */
static hop_status begin(hop_lower *l, hop_fold *s)
{
	s->ys = HOP_NEWN(l->w, hop_view, s->nx);
	if (s->a.whole)
		return hop_carries_init(l, s->n, 0, s->nx, &s->c);
	s->c = (hop_carries){ s->nx, HOP_NEWN(l->w, hop_view, s->nx),
	                      HOP_NEWN(l->w, hop_view, s->nx),
	                      HOP_NEWN(l->w, const hop_type *, s->nx) };
	for (int k = 0; k < s->nx; k++) {
		s->ys[k] = hop_stack_result(l, s->n, k);
		s->c.type[k] = hop_type_drop(l->env, hop_lower_out(l, s->n, k));
		s->c.now[k] = hop_lower_temp(l, s->c.type[k]);
		if (s->a.ninit && s->live[k])
			HOP_TRY(hop_lower_store_arg(l, s->n, k, &s->c.now[k]));
	}
	return HOP_OK;
}

/* The first result, where there is one: s->c begins with it. Where there may be none, that is a
 * loop of at most one trip, by whose variable it reads: nothing of it can leave. */
static void head(hop_lower *l, hop_fold *s)
{
	hop_size one = hop_size_int(1), last = hop_size_sub(l->env, s->length, one);
	bool sure = hop_lower_nonneg(l, last);
	const hop_ix *t = hop_ix_size(l, s->a.reverse ? last : hop_size_int(0));
	if (!sure) {
		hop_size trips = hop_size_min(l->env, s->length, one);
		last = hop_size_sub(l->env, s->length, trips);
		t = hop_lower_open(l, HOP_LOOP_SEQ, trips, NULL);
		if (s->a.reverse)
			t = hop_ix_add(l, t, hop_ix_size(l, last));
	}
	for (int k = 0; k < s->nx; k++) {
		const hop_type *ty = s->c.type[k];
		hop_view y = hop_view_lead(l, &s->ys[k], t);
		const hop_ix *x[HOP_MAXRANK + 1] = { t };
		if (!s->live[k])
			continue;
		if (!s->a.ninit) {
			int m = hop_lower_open_dims(l, ty->rank, ty->dim, x + 1);
			hop_reg r = hop_lower_arg(l, s->n, k, x);
			hop_lower_put(l, (hop_dtype)ty->dtype, s->c.now[k].buf,
			              hop_view_at(l, &s->c.now[k], ty->rank, x + 1), r);
			hop_lower_close_n(l, m);
		}
		hop_view_copy(l, ty, &s->c.now[k], &y);
	}
	if (!sure)
		hop_lower_close(l);
}

/* Slices low .. low + count - 1 of the operands. */
static hop_status steps(hop_lower *l, hop_fold *s, hop_size low, hop_size count)
{
	hop_view *dest = HOP_NEWN(l->w, hop_view, s->nx);
	hop_combined of = { .left = s->c.now, .t = hop_ix_size(l, low) };
	hop_combine q;
	for (int k = 0; k < s->nx; k++)
		dest[k] = s->a.whole ? hop_lower_temp(l, s->c.type[k]) : s->ys[k];
	HOP_TRY(hop_combine_new(l, s, &of, dest, &q));
	of.t = hop_ix_add(l, hop_lower_open(l, HOP_LOOP_SEQ, count, NULL), of.t);
	l->q.cur->stmt->reverse = s->a.reverse;
	/* exclusive: the result at a slice is that of those before it */
	const hop_ix *to = of.t;
	if (s->a.exclusive)
		to = hop_ix_add(l, to, hop_ix_size(l, hop_size_int(s->a.reverse ? -1 : 1)));
	for (int k = 0; k < s->nx && !s->a.whole; k++)
		dest[k] = hop_view_lead(l, &s->ys[k], to);
	HOP_TRY(hop_combine_step(l, s, &q, &of, dest));
	hop_lower_close(l);
	for (int k = 0; k < s->nx && s->a.whole; k++)
		hop_lower_copied(l, s->n->loc, dest[k].buf, "carry", k,
		                 "its new value is computed from other elements of the old one");
	return HOP_OK;
}

/* All of them, where step 0 is no other than the others: what makes and takes slices may then be
 * done in the steps. */
static hop_status select_steps(hop_lower *l, hop_fold *s)
{
	hop_view *next = HOP_NEWN(l->w, hop_view, s->nx);
	hop_combined of = { .left = s->c.now, .t = hop_ix_size(l, hop_size_int(0)) };
	hop_combine q;
	for (int k = 0; k < s->nx; k++) {
		next[k] = hop_lower_temp(l, s->c.type[k]);
		if (s->live[k])
			hop_lower_fill(l, s->c.type[k], &s->c.now[k]);
	}
	HOP_TRY(hop_combine_new(l, s, &of, next, &q));
	of.t = hop_lower_open(l, HOP_LOOP_SEQ, s->length, NULL);
	l->q.cur->stmt->reverse = s->a.reverse;
	hop_size at = s->a.reverse ? hop_size_sub(l->env, s->length, hop_size_int(1)) : hop_size_int(0);
	hop_reg first = hop_lower_do(l, eq, HOP_bool, hop_lower_ixreg(l, of.t),
	                             hop_lower_sizereg(l, at));
	HOP_TRY(emit_combine(l, s, &q, &of, next));
	for (int k = 0; k < s->nx; k++) {
		hop_view y = hop_view_lead(l, &s->ys[k], of.t);
		if (s->live[k])
			choose(l, s, k, of.t, first, &next[k],
			       (const hop_view *const[]){ &s->c.now[k], &y });
	}
	hop_lower_close(l);
	return HOP_OK;
}

hop_status hop_lower_assoc(hop_lower *l, const hop_node *n)
{
	hop_fold s = { .n = n, .a = hop_assoc_of(n) };
	s.nx = (int)s.a.nx;
	s.length = hop_lower_size(l, s.a.length);
	bool first = !s.a.whole && (!s.a.ninit || s.a.exclusive);
	hop_size zero = hop_size_int(0), from = hop_size_int(first && !s.a.exclusive), left;
	find_live(l, &s);
	HOP_TRY(begin(l, &s));
	/* what it tests a single slice need not pass, and threads cannot refuse */
	bool tests = hop_lower_body(l, n, s.a.combine)->tests;
	bool plain = !tests && hop_fold_is_plain(&s);
	if (first && !s.a.exclusive && !plain && !tests && is_total(s.a.combine))
		return select_steps(l, &s);
	if (first)
		head(l, &s);
	if (!s.a.exclusive && plain) {
		/* blocks begin where lines of the cache do */
		if (first && hop_size_const(s.length) && s.length.k >= FEW && !s.a.reverse) {
			HOP_TRY(steps(l, &s, from, hop_size_int(LINE - 1)));
			from = hop_size_int(LINE);
		}
		HOP_TRY(hop_fold_blocks(l, &s, &from));
	}
	left = hop_size_sub(l->env, s.length, s.a.exclusive ? hop_size_int(1) : from);
	left = hop_size_max(l->env, zero, left);
	return steps(l, &s, s.a.reverse ? hop_size_int(s.a.exclusive) : from, left);
}
