/* assoc_lower.c -- lowering of associative_scan and reduce as the fold they mean: one sequential
 * loop, what was combined so far in buffers.
 *
 * Where the first result needs no combine (no init: it is x_0; exclusive: it is init), a head
 * writes it and the loop begins one step later. */
#include "hops/hops.h"
#include "hops/loop_lower.h"

typedef struct fold {
	const hop_node *n;
	hop_assoc       a;
	int             nx;
	hop_size        length;
	bool            head;         /* the first result is no combine */
	hop_carries     c;
	hop_view       *ys, *dest;
	hop_linst      *in;
} fold;

static void bind(hop_lower *l, fold *s, const hop_ix *t)
{
	int first = (int)s->a.ninit;
	for (int i = 0; i < (int)s->in->g->nparam; i++)
		if (i < s->nx)
			hop_lower_bind_view(l, s->in, i, &s->c.now[i]);
		else
			hop_lower_bind_arg(l, s->n, first + i - s->nx, s->in, i,
			                   i < 2 * s->nx ? t : NULL);
}

/* Where the fold begins: the inits, or nothing yet. */
static hop_status begin(hop_lower *l, fold *s)
{
	s->ys = HOP_NEWN(l->w, hop_view, s->nx);
	if (s->a.whole)
		return hop_carries_init(l, s->n, 0, s->nx, &s->c);
	s->c = (hop_carries){ s->nx, HOP_NEWN(l->w, hop_view, s->nx),
	                      HOP_NEWN(l->w, hop_view, s->nx),
	                      HOP_NEWN(l->w, const hop_type *, s->nx) };
	for (int k = 0; k < s->nx; k++) {
		s->ys[k] = hop_lower_result(l, s->n, k);
		s->c.type[k] = hop_type_drop(l->env, hop_lower_out(l, s->n, k));
		s->c.now[k] = hop_lower_temp(l, s->c.type[k]);
		if (s->a.ninit)
			HOP_TRY(hop_lower_store_arg(l, s->n, k, &s->c.now[k]));
	}
	return HOP_OK;
}

/* What no step changes, before the loop. */
static hop_status before(hop_lower *l, fold *s)
{
	bool *fixed = HOP_NEWN(l->w, bool, s->in->g->nparam);
	for (int i = 0; i < (int)s->in->g->nparam; i++)
		fixed[i] = i >= 2 * s->nx;
	bind(l, s, hop_ix_size(l, hop_size_int(0)));
	if (s->a.whole)
		hop_carries_plan(l, &s->c, s->in, s->dest);
	else
		for (int k = 0; k < s->nx; k++)
			s->dest[k] = s->ys[k];
	HOP_TRY(hop_lower_decide(l, s->in, s->dest, fixed));
	return hop_lower_emit(l, s->in, s->dest, true);
}

/* The first result, where there is one: s->c begins with it. */
static void head(hop_lower *l, fold *s)
{
	hop_size one = hop_size_int(1), last = hop_size_sub(l->env, s->length, one);
	bool sure = hop_lower_nonneg(l, last);
	const hop_ix *t = hop_ix_size(l, s->a.reverse ? last : hop_size_int(0));
	if (!sure)
		hop_lower_open(l, HOP_LOOP_SEQ, hop_size_min(l->env, s->length, one), NULL);
	for (int k = 0; k < s->nx; k++) {
		const hop_type *ty = s->c.type[k];
		hop_view y = hop_view_lead(l, &s->ys[k], t);
		const hop_ix *x[HOP_MAXRANK + 1] = { t };
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

/* The step that reads slice t and, in a scan, writes slice `to`. */
static hop_status step(hop_lower *l, fold *s, const hop_ix *t, const hop_ix *to)
{
	bind(l, s, t);
	for (int k = 0; k < s->nx && !s->a.whole; k++) {
		hop_lval *x = &s->in->val[s->in->g->out[k].id];
		s->c.next[k] = s->dest[k] = hop_view_lead(l, &s->ys[k], to);
		if (x->has_dest && x->dest.buf == s->ys[k].buf)
			x->dest = s->dest[k];
	}
	HOP_TRY(hop_lower_emit(l, s->in, s->dest, false));
	hop_carries_step(l, s->n, &s->c);
	return HOP_OK;
}

static hop_status steps(hop_lower *l, fold *s)
{
	hop_size one = hop_size_int(1), left = s->length;
	if (s->head)
		left = hop_size_max(l->env, hop_size_int(0), hop_size_sub(l->env, left, one));
	const hop_ix *t = hop_lower_open(l, HOP_LOOP_SEQ, left, NULL), *to = t;
	const hop_ix *next = hop_ix_add(l, t, hop_ix_size(l, one));
	l->q.cur->stmt->reverse = s->a.reverse;
	/* backwards, the index counts from the end, where the head is */
	if (s->head && !s->a.reverse)
		to = next;
	if (s->head && s->a.exclusive == s->a.reverse)
		t = next;
	HOP_TRY(step(l, s, t, to));
	hop_lower_close(l);
	return HOP_OK;
}

hop_status hop_lower_assoc(hop_lower *l, const hop_node *n)
{
	fold s = { .n = n, .a = hop_assoc_of(n) };
	s.nx = (int)s.a.nx;
	s.length = hop_lower_size(l, s.a.length);
	s.head = !s.a.whole && (!s.a.ninit || s.a.exclusive);
	s.dest = HOP_NEWN(l->w, hop_view, s.nx);
	HOP_TRY(begin(l, &s));
	if (s.head)
		head(l, &s);
	s.in = hop_lower_body(l, n, s.a.combine);
	s.in->many = !hop_size_const(s.length) || s.length.k >= 8;
	HOP_TRY(before(l, &s));
	return steps(l, &s);
}
