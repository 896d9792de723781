/* while_lower.c -- lowering of while: test and body inlined in one loop, carries in the
 * buffers of the results. Tapes without a bound grow. */
#include "hops/loop_lower.h"

/* Tape k of the node: its buffer, zero where no trip writes. */
static hop_view tape_new(hop_lower *l, const hop_node *n, int k)
{
	const struct hop_attr_while *a = HOP_ATTR(n, while);
	int at = (int)a->ncarry + 1 + k;
	const hop_type *t = hop_lower_out(l, n, at);
	hop_lval *x = &l->q.inst->val[n->out0.id + (uint32_t)at];
	if (a->max_trips > 0) {
		hop_view v = hop_lower_result(l, n, at);
		hop_lower_fill(l, t, &v);
		return v;
	}
	/* the size of the result is known only after the loop */
	hop_lbuf b = { .kind = HOP_BUF_TAPE, .dtype = (hop_dtype)t->dtype,
	               .index = l->prog->ntape++, .count = hop_type_count(l->env, t) };
	x->view = hop_lower_dense(l, hop_l_buf(&l->q.b, b), t);
	x->kind = HOP_LV_BUF;
	x->scope = l->q.cur;
	return x->view;
}

static void grow(hop_lower *l, const hop_view *v, hop_reg trips, hop_size each)
{
	hop_reg r = hop_lower_do(l, add, HOP_i64, trips, hop_lower_const(l, HOP_i64, 0, 1));
	hop_stmt *s;
	r = hop_lower_do(l, mul, HOP_i64, r, hop_lower_sizereg(l, each));
	l->q.b.block = l->q.cur->block;
	s = hop_l_stmt(&l->q.b, HOP_L_GROW);
	s->buf = v->buf;
	s->na = 1;
	s->a[0] = r;
}

static void bind(hop_lower *l, const hop_node *n, hop_linst *in, const hop_carries *c)
{
	for (int i = 0; i < (int)in->g->nparam; i++)
		if (i < c->n)
			hop_lower_bind_view(l, in, i, &c->now[i]);
		else
			hop_lower_bind_arg(l, n, i, in, i, NULL);
}

/* The test; leaves its scope open and gives the condition. */
static hop_status test(hop_lower *l, const hop_node *n, hop_stmt *s, const hop_carries *c,
                       const hop_view *trips)
{
	const struct hop_attr_while *a = HOP_ATTR(n, while);
	hop_linst *in = hop_lower_body(l, n, a->test);
	hop_view want = { .buf = HOP_VIEW_REG };
	hop_reg p, t;
	hop_lower_enter(l, s, &s->other, false);
	bind(l, n, in, c);
	HOP_TRY(hop_lower_decide(l, in, &want, NULL));
	HOP_TRY(hop_lower_emit(l, in, &want, false));
	p = hop_lower_out_reg(l, in, 0);
	if (a->max_trips > 0) {
		t = hop_cell_get(l, HOP_i64, trips);
		t = hop_lower_do(l, lt, HOP_bool, t,
		                 hop_lower_const(l, HOP_i64, 0, a->max_trips));
		p = hop_lower_do(l, and, HOP_bool, p, t);
	}
	s->na = 1;
	s->a[0] = p;
	return HOP_OK;
}

hop_status hop_lower_while(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_while *a = HOP_ATTR(n, while);
	int nc = (int)a->ncarry, ntape = (int)n->nout - nc - 1;
	hop_carries c;
	hop_stmt *s = hop_lower_new(l, HOP_L_WHILE);
	hop_view *tape = HOP_NEWN(l->w, hop_view, ntape);
	hop_view *dest = HOP_NEWN(l->w, hop_view, nc + ntape), trips;
	bool *fixed = HOP_NEWN(l->w, bool, a->body->nparam);
	hop_linst *in;
	hop_reg t;
	HOP_TRY(hop_carries_init(l, n, 0, nc, &c));
	trips = hop_lower_result(l, n, nc);
	hop_cell_set(l, HOP_i64, &trips, hop_lower_const(l, HOP_i64, 0, 0));
	for (int k = 0; k < ntape; k++)
		tape[k] = tape_new(l, n, k);

	in = hop_lower_body(l, n, a->body);
	in->many = a->max_trips <= 0 || a->max_trips >= 8;
	bind(l, n, in, &c);
	for (uint32_t i = 0; i < a->body->nparam; i++)
		fixed[i] = (int)i >= nc;
	hop_carries_plan(l, &c, in, dest);

	/* where the tapes go is not known before the counter is read: decide with shapes */
	for (int k = 0; k < ntape; k++)
		dest[nc + k] = tape[k];
	HOP_TRY(hop_lower_decide(l, in, dest, fixed));
	HOP_TRY(hop_lower_emit(l, in, dest, true));

	HOP_TRY(test(l, n, s, &c, &trips));
	hop_lower_enter(l, s, &s->body, false);
	bind(l, n, in, &c);
	t = hop_cell_get(l, HOP_i64, &trips);
	for (int k = 0; k < ntape; k++) {
		hop_size cap = hop_size_int(a->max_trips > 0 ? a->max_trips : HOP_SIZE_MAX);
		hop_val v = in->g->out[nc + k];
		if (a->max_trips <= 0)
			grow(l, &tape[k], t, tape[k].stride[0]);
		dest[nc + k] = hop_view_lead(l, &tape[k], hop_ix_reg(l, t, cap));
		if (in->val[v.id].has_dest && in->val[v.id].dest.buf == tape[k].buf)
			in->val[v.id].dest = dest[nc + k];
	}
	HOP_TRY(hop_lower_emit(l, in, dest, false));
	hop_carries_step(l, n, &c);
	hop_cell_set(l, HOP_i64, &trips,
	             hop_lower_do(l, add, HOP_i64, t, hop_lower_const(l, HOP_i64, 0, 1)));
	hop_lower_leave(l, false);
	hop_lower_leave(l, true);
	if (a->sym >= 0) {
		hop_view v = trips;
		v.buf = hop_lower_local(l, l->q.inst, (int)a->sym);
		v.base = hop_ix_size(l, hop_size_int(0));
		hop_cell_set(l, HOP_i64, &v, hop_cell_get(l, HOP_i64, &trips));
	}
	return HOP_OK;
}
