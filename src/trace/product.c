/* product.c -- products as users write them: matmul, also with the dtype of its result, and linear, each
 * one dot and what its operands and its result need; products and quotients of elements in a dtype
 * that is asked for. */
#include "trace/compose.h"
#include "hop/nn.h"

struct product {
	hop_value x, y, z, r;
	bool      as;                  /* the result is of dtype */
	hop_dtype dtype;
	int       op;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line,
                     hop_make_fn *make, struct product c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.r : (hop_value){ 0, 0 };
}

/* Leading axes of both, broadcast against each other. */
static hop_val batched(hop_trace *t, hop_val x, int nbatch, const hop_size *batch)
{
	const hop_type *type = hop_typeof(&t->b, x);
	hop_size dim[HOP_MAXRANK];
	for (int i = 0; i < nbatch; i++)
		dim[i] = batch[i];
	dim[nbatch] = type->dim[type->rank - 2];
	dim[nbatch + 1] = type->dim[type->rank - 1];
	return hop_broadcast_to(t, x, nbatch + 2, dim);
}

int hop_same_batch(hop_trace *t, hop_val *x, hop_val *y)
{
	hop_build *b = &t->b;
	const hop_type *xt = hop_typeof(b, *x), *yt = hop_typeof(b, *y);
	const hop_type *w = xt->rank > yt->rank ? xt : yt, *o = w == xt ? yt : xt;
	hop_size batch[HOP_MAXRANK];
	int n = w->rank - 2;
	for (int i = 0; i < n; i++) {
		int k = i - (w->rank - o->rank);
		batch[i] = hop_size_is(w->dim[i], 1) && k >= 0 ? o->dim[k] : w->dim[i];
	}
	*x = batched(t, *x, n, batch);
	*y = b->st ? HOP_BAD : batched(t, *y, n, batch);
	return n;
}

/* Are there as many columns on the left as rows on the right, for all that is known, and do the
 * batches in front broadcast? */
static bool products_fit(hop_trace *t, const hop_type *x, const hop_type *y, hop_size columns,
                         hop_size rows)
{
	bool fit = hop_build_holds(&t->b, HOP_EQ, columns, rows) != HOP_NEVER;
	for (int i = 3; fit && i <= x->rank && i <= y->rank; i++) {
		hop_size a = x->dim[x->rank - i], b = y->dim[y->rank - i];
		fit = hop_size_is(a, 1) || hop_size_is(b, 1) ||
		      hop_build_holds(&t->b, HOP_EQ, a, b) != HOP_NEVER;
		if (!fit)
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s: the batches in front do not broadcast",
			               t->op, hop_type_text(t, x), hop_type_text(t, y));
	}
	if (!fit && !t->b.st) {
		const char *many = x->rank > 1 ? "columns" : "elements";
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s: the left must have as many %s as the right "
		               "has %s", t->op, hop_type_text(t, x), hop_type_text(t, y), many,
		               y->rank > 1 ? "rows" : "elements");
	}
	return fit;
}

static void make_matmul(hop_trace *t, void *arg)
{
	struct product *c = arg;
	hop_build *b = &t->b;
	hop_value both[2] = { c->x, c->y };
	hop_dtype d = hop_promote_dtype(t, 2, both);
	hop_val x = hop_promote_cast(t, c->x, d), y = hop_promote_cast(t, c->y, d);
	if (b->st)
		return;
	const hop_type *xt = hop_typeof(b, x), *yt = hop_typeof(b, y);
	if (!xt->rank || !yt->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s, a scalar is not a matrix", t->op,
		               hop_type_text(t, xt), hop_type_text(t, yt));
		return;
	}
	int64_t bx[HOP_MAXRANK], lsum = xt->rank - 1, rsum = yt->rank > 1 ? yt->rank - 2 : 0;
	if (!products_fit(t, xt, yt, xt->dim[lsum], yt->dim[rsum]))
		return;
	int nbatch = 0;
	/* A vector takes no part in a batch. Nor does a matrix on the right: all rows of all the left has
	 * are one product with it, and so is its gradient. */
	if (yt->rank > 2 && xt->rank > 1) {
		nbatch = hop_same_batch(t, &x, &y);
		if (b->st)
			return;
		lsum = nbatch + 1;
		rsum = nbatch;
	}
	for (int i = 0; i < nbatch; i++)
		bx[i] = i;
	hop_ints bs = { nbatch, bx }, ls = { 1, &lsum }, rs = { 1, &rsum };
	c->r = hop_value_new(t, hop_emit_dot_like(b, x, y, &(struct hop_attr_dot){
		.lbatch = bs, .rbatch = bs, .lsum = ls, .rsum = rs,
		.dtype = c->as && c->dtype != d ? c->dtype : HOP_bool
	}));
}

static void make_matmul_as(hop_trace *t, void *arg)
{
	hop_dtype d = ((struct product *)arg)->dtype;
	if (!hop_dtype_check(t, t->op, d))
		return;
	if (hop_dtype_bool(d))
		hop_trace_fail(t, HOP_ETYPE, "%s: products do not add up to bool: compare the result", t->op);
	else
		make_matmul(t, arg);
}

hop_value hop_at_matmul(hop_trace *t, const char *file, int line, hop_value x, hop_value y)
{
	return run(t, "matmul", file, line, make_matmul, (struct product){ .x = x, .y = y });
}

hop_value hop_at_matmul_as(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                           hop_dtype dtype)
{
	return run(t, "matmul_as", file, line, make_matmul_as,
	           (struct product){ .x = x, .y = y, .as = true, .dtype = dtype });
}

/* ---- elements ---- */

/* In what the operands and the result are promoted to. */
static void make_point_as(hop_trace *t, void *arg)
{
	struct product *c = arg;
	hop_build *b = &t->b;
	hop_val in[2];
	if (!hop_dtype_check(t, t->op, c->dtype))
		return;
	hop_dtype d = hop_dtype_join(hop_promote_dtype(t, 2, (hop_value[]){ c->x, c->y }), c->dtype);
	if (c->op == HOP_OP_div && !hop_dtype_float(d))
		d = HOP_f32;
	if (hop_promote(t, 2, (hop_value[]){ c->x, c->y }, d, in))
		c->r = hop_value_new(t, hop_emit_cast(b, hop_emit_op(b, c->op, NULL, 2, in), c->dtype));
}

hop_value hop_at_mul_as(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                        hop_dtype dtype)
{
	return run(t, "mul_as", file, line, make_point_as,
	           (struct product){ .x = x, .y = y, .dtype = dtype, .op = HOP_OP_mul });
}

hop_value hop_at_div_as(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                        hop_dtype dtype)
{
	return run(t, "div_as", file, line, make_point_as,
	           (struct product){ .x = x, .y = y, .dtype = dtype, .op = HOP_OP_div });
}

/* ---- linear ---- */

/* Is w a matrix with as many columns as x has elements in its last axis, and b as long as w has
 * rows? */
static bool layer_fits(hop_trace *t, const hop_type *x, const hop_type *w, const hop_type *b)
{
	bool fit = x->rank && w->rank == 2 &&
	           hop_build_holds(&t->b, HOP_EQ, x->dim[x->rank - 1], w->dim[1]) != HOP_NEVER;
	if (!fit) {
		hop_trace_fail(t, HOP_ESHAPE, "linear: %s and the weight %s: its columns go with the last "
		               "axis of the left, its rows are the results", hop_type_text(t, x),
		               hop_type_text(t, w));
		return false;
	}
	if (b && (b->rank != 1 || hop_build_holds(&t->b, HOP_EQ, b->dim[0], w->dim[0]) == HOP_NEVER)) {
		hop_trace_fail(t, HOP_ESHAPE, "linear: the bias %s and the weight %s: there is one for each "
		               "of its rows", hop_type_text(t, b), hop_type_text(t, w));
		return false;
	}
	return true;
}

/* 16-bit floats add up and get their bias in f32, and are rounded once. */
static void make_linear(hop_trace *t, void *arg)
{
	struct product *c = arg;
	hop_build *b = &t->b;
	hop_value all[3] = { c->x, c->y, c->z };
	int n = c->z.trace ? 3 : 2;
	hop_dtype d = hop_promote_dtype(t, n, all);
	hop_val x = hop_promote_cast(t, c->x, d), w = hop_promote_cast(t, c->y, d), bias = HOP_BAD;
	if (n == 3)
		bias = hop_promote_cast(t, c->z, d);
	if (b->st || !layer_fits(t, hop_typeof(b, x), hop_typeof(b, w),
	                         n == 3 ? hop_typeof(b, bias) : NULL))
		return;
	hop_dtype wide = hop_dtype_packed(d) ? hop_dtype_computes(d) : d;
	int64_t last = hop_typeof(b, x)->rank - 1, one = 1;
	hop_val y = hop_emit_dot_like(b, x, w, &(struct hop_attr_dot){
		.lsum = { 1, &last }, .rsum = { 1, &one }, .dtype = wide == d ? HOP_bool : wide
	});
	if (n == 3 && !b->st) {
		const hop_type *type = hop_typeof(b, y);
		bias = hop_broadcast_to(t, hop_emit_cast(b, bias, wide), type->rank, type->dim);
		y = b->st ? HOP_BAD : hop_emit(b, add, y, bias);
	}
	c->r = hop_value_new(t, b->st ? HOP_BAD : hop_emit_cast(b, y, d));
}

hop_value hop_at_linear(hop_trace *t, const char *file, int line, hop_value x, hop_value weight,
                        hop_value bias)
{
	return run(t, "linear", file, line, make_linear,
	           (struct product){ .x = x, .y = weight, .z = bias });
}
