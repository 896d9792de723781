/* linear.c -- see linear.h: all but the lowering, which is linear_lower.c. */
#include <math.h>

#include "ops/linear.h"

/* ---- inference ---- */

hop_status hop_linear_infer(hop_infer *f, const char *verb)
{
	const hop_type *a = f->in[0], *b = f->nin > 1 ? f->in[1] : a;
	const char *op = hop_opname(f);
	int r = a->rank;
	HOP_TRY(hop_shape_dtypes(f, a->dtype, b->dtype));
	if (!hop_dtype_float((hop_dtype)a->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: %s, and only floats can be %s: cast first", op,
		                      hop_dtype_name((hop_dtype)a->dtype), verb);
	if (b != a && (r < 2 || b->rank != r))
		return hop_infer_fail(f, HOP_ESHAPE, "%s: rank %d on the left, %d on the right: "
		                      "matrices are wanted, or batches of the same rank", op, r, b->rank);
	if (r < 2)
		return hop_infer_fail(f, HOP_ESHAPE, "%s: rank %d: a matrix is wanted, or a batch of them",
		                      op, r);
	const char *left = f->nin > 1 ? "left" : "operand";
	HOP_TRY(hop_shape_same(f, left, r - 2, a->dim[r - 2], left, r - 1, a->dim[r - 1]));
	for (int i = 0; b != a && i < r - 1; i++)
		HOP_TRY(hop_shape_same(f, "left", i, a->dim[i], "right", i, b->dim[i]));
	return hop_shape_out(f, b->dtype, r, b->dim);
}

/* ---- evaluation ---- */

void hop_linear_lose(const hop_linear_eval *s, double *v, int64_t cols, int64_t i, int64_t k,
                     double f, int64_t from)
{
	for (int64_t j = from; j < cols; j++)
		v[i * cols + j] = hop_linear_round(s, v[i * cols + j] -
		                                      hop_linear_round(s, f * v[k * cols + j]));
}

static void read_all(const hop_array *t, int64_t at, int64_t n, double *out)
{
	for (int64_t i = 0; i < n; i++)
		out[i] = hop_array_f(t, at + i);
}

hop_status hop_linear_each(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out,
                           bool (*one)(const hop_linear_eval *s, const hop_node *n))
{
	const hop_array *a = in[0], *b = n->nin > 1 ? in[1] : NULL;
	hop_mark mark = hop_mark_at(&p->env->tmp);
	hop_linear_eval s = { .single = hop_dtype_computes(a->dtype) == HOP_f32,
	                      .n = a->dim[a->rank - 1], .m = b ? b->dim[b->rank - 1] : 0 };
	int64_t na = s.n * s.n, nx = s.n * s.m, each = b ? nx : na;
	s.a = HOP_NEWN(&p->env->tmp, double, na);
	s.x = HOP_NEWN(&p->env->tmp, double, nx);
	for (int64_t at = 0, from = 0; at < out[0]->count; at += each, from += na) {
		read_all(a, from, na, s.a);
		if (b)
			read_all(b, at, nx, s.x);
		bool ok = one(&s, n);
		for (int64_t i = 0; i < each; i++)
			hop_array_set_f(out[0], at + i, !ok ? NAN : b ? s.x[i] : s.a[i]);
	}
	hop_rewind(&p->env->tmp, mark);
	return HOP_OK;
}

/* ---- derivatives and batching ---- */

hop_val hop_linear_product(hop_build *b, hop_val x, int i, hop_val y, int k)
{
	if (b->st)
		return HOP_BAD;
	int64_t batch[HOP_MAXRANK], lead = hop_typeof(b, x)->rank - 2, xs = lead + i, ys = lead + k;
	for (int64_t a = 0; a < lead; a++)
		batch[a] = a;
	return hop_emit_dot(b, x, y, (hop_ints){ lead, batch }, (hop_ints){ lead, batch },
	                    (hop_ints){ 1, &xs }, (hop_ints){ 1, &ys });
}

/* One matrix for all lanes: their right sides are columns of one, [.., n, lanes * m]. */
static hop_val by_columns(hop_build *b, hop_rule *r)
{
	hop_val x = r->in[1];
	const hop_type *t = hop_typeof(b, x);
	int rank = t->rank;
	int64_t in[HOP_MAXDIM], out[HOP_MAXDIM];
	hop_size dim[HOP_MAXDIM];
	for (int i = 0; i < rank - 2; i++)
		in[i] = i + 1;
	in[rank - 2] = 0;
	in[rank - 1] = rank - 1;
	for (int i = 0; i < rank; i++)
		out[in[i]] = i;
	x = hop_emit_permute(b, x, in);
	if (b->st)
		return HOP_BAD;
	const hop_type *wide = hop_typeof(b, x);
	for (int i = 0; i < rank - 2; i++)
		dim[i] = wide->dim[i];
	dim[rank - 2] = hop_size_mul(b->env, wide->dim[rank - 2], wide->dim[rank - 1]);
	x = hop_emit_reshape(b, x, rank - 1, dim);
	x = hop_emit_op(b, r->n->op, r->n->attr, 2, (hop_val[]){ r->in[0], x });
	return hop_emit_permute(b, hop_emit_reshape(b, x, rank, wide->dim), out);
}

/* The node with operand 0 of all lanes; or, where that is the same for all, with the right sides
 * of all lanes as columns of one. */
hop_status hop_batch_linear(hop_build *b, hop_rule *r)
{
	hop_val x;
	if (r->n->nin == 1)
		x = hop_emit_op(b, r->n->op, r->n->attr, 1, r->in);
	else if (!r->bin[0])
		x = by_columns(b, r);
	else
		x = hop_emit_op(b, r->n->op, r->n->attr, 2, (hop_val[]){ r->in[0], hop_rule_lead(b, r, 1) });
	return hop_rule_batched(b, r, x);
}
