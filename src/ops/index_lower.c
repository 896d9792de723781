/* index_lower.c -- lowering of ops whose indices are data. Every index is clamped before
 * it is used, so no read leaves its buffer, whatever the data say. */
#include "loop/lower.h"

/* Start of a window of size w in an axis of size n, as an index. */
static const hop_ix *start_of(hop_lower *l, const hop_node *n, int k, hop_size size,
                              hop_size w)
{
	if (hop_size_eq(size, w))
		return hop_ix_size(l, hop_size_int(0));
	hop_reg r = hop_lower_scalar(l, n, k);
	hop_size room = hop_size_add(l->env, hop_size_sub(l->env, size, w), hop_size_int(1));
	r = hop_lower_as_i64(l, r, (hop_dtype)hop_lower_in(l, n, k)->dtype);
	return hop_lower_clamp(l, r, room);
}

hop_status hop_lower_dynslice(hop_lower *l, const hop_node *n)
{
	const hop_type *t = hop_lower_in(l, n, 0), *o = hop_lower_out(l, n, 0);
	const hop_ix *x[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		x[i] = hop_ix_add(l, l->q.ix[i], start_of(l, n, 1 + i, t->dim[i], o->dim[i]));
	l->reg = hop_lower_arg(l, n, 0, x);
	return HOP_OK;
}

/* The rest of the buffer is already right when it holds operand 0. */
static hop_status base_store(hop_lower *l, const hop_node *n, const hop_view *to)
{
	hop_val v = n->in[0];
	hop_lval *x = &l->q.inst->val[v.id];
	while (x->kind == HOP_LV_ALIAS && !x->lead)
		x = &x->inst->val[x->val.id];
	if (!l->q.dry.on && x->kind == HOP_LV_BUF && x->view.buf == to->buf &&
	    x->view.base == to->base)
		return HOP_OK;
	return hop_lower_store_arg(l, n, 0, to);
}

static hop_status update_store(hop_lower *l, const hop_node *n)
{
	const hop_type *t = hop_lower_in(l, n, 0), *u = hop_lower_in(l, n, 1);
	hop_view to = l->q.dest;
	bool whole = true;
	/* what is overwritten entirely is not asked for, here as in the cell below */
	for (int i = 0; i < t->rank; i++)
		whole = whole && hop_size_eq(t->dim[i], u->dim[i]);
	if (whole)
		return hop_lower_store_arg(l, n, 1, &to);
	HOP_TRY(base_store(l, n, &to));
	for (int i = 0; i < t->rank; i++) {
		const hop_ix *s = start_of(l, n, 2 + i, t->dim[i], u->dim[i]);
		to.base = hop_ix_add(l, to.base, hop_ix_mul(l, s, to.stride[i]));
	}
	return hop_lower_store_arg(l, n, 1, &to);
}

hop_status hop_lower_dynupdate(hop_lower *l, const hop_node *n)
{
	const hop_type *t = hop_lower_in(l, n, 0), *u = hop_lower_in(l, n, 1);
	const hop_ix *x[HOP_MAXRANK];
	hop_reg m = 0, was = l->q.mask, v, zero;
	if (l->q.ask == HOP_ASK_STORE)
		return update_store(l, n);
	hop_lower_special(l);
	zero = hop_lower_const(l, HOP_i64, 0, 0);
	for (int i = 0; i < t->rank; i++) {
		x[i] = l->q.ix[i];
		if (hop_size_eq(t->dim[i], u->dim[i]))
			continue;
		const hop_ix *s = start_of(l, n, 2 + i, t->dim[i], u->dim[i]);
		x[i] = hop_ix_add(l, x[i], hop_ix_mul(l, s, hop_size_int(-1)));
		hop_reg p = hop_lower_ixreg(l, x[i]), end = hop_lower_sizereg(l, u->dim[i]);
		m = hop_lower_and(l, m, hop_lower_do(l, le, HOP_bool, zero, p));
		m = hop_lower_and(l, m, hop_lower_do(l, lt, HOP_bool, p, end));
	}
	l->q.mask = hop_lower_and(l, was, m);
	v = hop_lower_arg(l, n, 1, x);
	l->q.mask = was;
	l->reg = m ? hop_lower_do(l, select, (hop_dtype)t->dtype, m, v,
	                          hop_lower_arg(l, n, 0, l->q.ix))
	           : v;
	return HOP_OK;
}

/* Read index element ix of operand k, clamped to the axis. *out_any gets a register that
 * is false when the axis is empty, or 0 when it cannot be. */
static const hop_ix *position(hop_lower *l, const hop_node *n, int k,
                              const hop_ix *const *ix, hop_size size, hop_reg *out_any)
{
	hop_reg r = hop_lower_arg(l, n, k, ix);
	*out_any = 0;
	if (!hop_lower_nonneg(l, hop_size_sub(l->env, size, hop_size_int(1))))
		*out_any = hop_lower_do(l, lt, HOP_bool, hop_lower_const(l, HOP_i64, 0, 0),
		                        hop_lower_sizereg(l, size));
	r = hop_lower_as_i64(l, r, (hop_dtype)hop_lower_in(l, n, k)->dtype);
	return hop_lower_clamp(l, r, size);
}

/* Split a gather result's index into that of idx and that of x around the axis. */
static void split(const hop_ix *const *ix, int nbatch, int axis, int ri, int rx,
                  const hop_ix **out_i, const hop_ix **out_x)
{
	int m = ri - nbatch;
	for (int i = 0; i < nbatch; i++)
		out_i[i] = ix[i];
	for (int i = 0; i < m; i++)
		out_i[nbatch + i] = ix[axis + i];
	for (int i = 0; i < axis; i++)
		out_x[i] = ix[i];
	for (int i = axis + 1; i < rx; i++)
		out_x[i] = ix[i + m - 1];
}

hop_status hop_lower_gather(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_gather *a = HOP_ATTR(n, gather);
	const hop_type *t = hop_lower_in(l, n, 0), *it = hop_lower_in(l, n, 1);
	const hop_ix *x[HOP_MAXRANK], *xi[HOP_MAXRANK];
	hop_reg was = l->q.mask, any;
	split(l->q.ix, (int)a->nbatch, (int)a->axis, it->rank, t->rank, xi, x);
	x[a->axis] = position(l, n, 1, xi, t->dim[a->axis], &any);
	l->q.mask = hop_lower_and(l, was, any);
	hop_reg r = hop_lower_arg(l, n, 0, x);
	l->q.mask = was;
	if (any) {                       /* an operand that is computed is not 0 where its
	                                    loads are */
		hop_dtype d = (hop_dtype)t->dtype;
		r = hop_lower_do(l, select, d, any, r, hop_lower_const(l, d, 0, 0));
	}
	l->reg = r;
	return HOP_OK;
}

/* What stands at a position after u came to old. */
static hop_reg meet(hop_lower *l, enum hop_mode mode, hop_dtype d, hop_reg old, hop_reg u)
{
	switch (mode) {
	case HOP_MODE_add:
		return hop_lower_do(l, add, d, old, u);
	case HOP_MODE_mul:
		return hop_lower_do(l, mul, d, old, u);
	case HOP_MODE_min:
		return hop_dtype_bool(d) ? hop_lower_do(l, and, d, old, u) : hop_lower_do(l, min, d, old, u);
	case HOP_MODE_max:
		return hop_dtype_bool(d) ? hop_lower_do(l, or, d, old, u) : hop_lower_do(l, max, d, old, u);
	default:
		return u;                        /* set: what was there is not asked for */
	}
}

/* Positions may repeat: the loops over the index run in order, the others in any. */
static hop_status scatter_store(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_scatter *a = HOP_ATTR(n, scatter);
	const hop_type *t = hop_lower_in(l, n, 0), *it = hop_lower_in(l, n, 1),
	               *ut = hop_lower_in(l, n, 2);
	const hop_ix *ux[HOP_MAXRANK], *x[HOP_MAXRANK], *xi[HOP_MAXRANK];
	hop_view to = l->q.dest;
	hop_dtype d = (hop_dtype)t->dtype;
	int m = it->rank - (int)a->nbatch, nloop = 0;
	hop_reg was = l->q.mask, any, v;
	HOP_TRY(base_store(l, n, &to));
	for (int i = 0; i < ut->rank; i++) {
		bool seq = i >= a->axis && i < a->axis + m;
		ux[i] = hop_lower_open(l, seq ? HOP_LOOP_SEQ : HOP_LOOP_PAR, ut->dim[i], NULL);
		nloop += seq || !hop_size_is(ut->dim[i], 1);
	}
	split(ux, (int)a->nbatch, (int)a->axis, it->rank, t->rank, xi, x);
	x[a->axis] = position(l, n, 1, xi, t->dim[a->axis], &any);
	v = hop_lower_arg(l, n, 2, ux);
	const hop_ix *at = hop_view_at(l, &to, t->rank, x);
	l->q.mask = hop_lower_and(l, was, any);
	if (a->mode != HOP_MODE_set)
		v = meet(l, (enum hop_mode)a->mode, d, hop_lower_load(l, d, to.buf, at, l->q.cur), v);
	hop_lower_put(l, d, to.buf, at, v);
	l->q.mask = was;
	hop_lower_close_n(l, nloop);
	return HOP_OK;
}

hop_status hop_lower_scatter(hop_lower *l, const hop_node *n)
{
	if (l->q.ask == HOP_ASK_STORE)
		return scatter_store(l, n);
	hop_lower_must(l);
	return HOP_OK;
}
