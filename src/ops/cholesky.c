/* cholesky.c -- the factor of Cholesky, in all cells. Only the lower triangle of a matrix is read,
 * so derivatives have nothing above the diagonal. How it runs fast is the template's business
 * (loop/cholesky.c). */
#include <math.h>

#include "ops/linear.h"

/* cholesky a -- the lower triangle l with a positive diagonal such that a = l l^T, for a matrix a
 * of which only the lower triangle is read, and batches of them
 * Where a is not positive definite, or has a NaN there, all of l is NaN. */
hop_status hop_infer_cholesky(hop_infer *f)
{
	return hop_linear_infer(f, "factored");
}

/* ---- evaluation ---- */

static bool factor(const hop_linear_eval *s, const hop_node *n)
{
	(void)n;
	for (int64_t k = 0; k < s->n; k++) {
		double *row = s->a + k * s->n;
		if (!(row[k] > 0))
			return false;
		row[k] = hop_linear_round(s, sqrt(row[k]));
		for (int64_t j = k + 1; j < s->n; j++)
			row[j] = 0;
		for (int64_t i = k + 1; i < s->n; i++)
			s->a[i * s->n + k] = hop_linear_round(s, s->a[i * s->n + k] / row[k]);
		for (int64_t i = k + 1; i < s->n; i++)
			for (int64_t j = k + 1; j <= i; j++) {
				double v = hop_linear_round(s, s->a[i * s->n + k] * s->a[j * s->n + k]);
				s->a[i * s->n + j] = hop_linear_round(s, s->a[i * s->n + j] - v);
			}
	}
	return true;
}

hop_status hop_eval_cholesky(hop_interp *p, const hop_node *n, hop_array *const *in,
                             hop_array **out)
{
	return hop_linear_each(p, n, in, out, factor);
}

/* ---- derivatives (Murray, Differentiation of the Cholesky decomposition, 2016) ---- */

static hop_val solve(hop_build *b, hop_val l, bool transposed, hop_val x)
{
	struct hop_attr_triangular_solve p = { .transposed = transposed };
	return hop_emit_op(b, HOP_OP_triangular_solve, &p, 2, (hop_val[]){ l, x });
}

/* The lower triangle of x, with half of its diagonal. */
static hop_val half(hop_build *b, hop_val x)
{
	hop_val low = hop_emit_below(b, x, 0), under = hop_emit_below(b, x, -1);
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	hop_val h = hop_emit(b, mul, x, hop_emit_full(b, t, 0.5));
	return hop_emit(b, select, under, x, hop_emit(b, select, low, h, hop_emit_zeros(b, t)));
}

/* What the op makes of a matrix whose lower triangle it reads. */
static hop_val mirrored(hop_build *b, hop_val x)
{
	hop_val h = half(b, x);
	return hop_emit(b, add, h, hop_emit_turned(b, h));
}

/* dl = l half(l^-1 da l^-T) */
hop_status hop_jvp_cholesky(hop_build *b, hop_rule *r)
{
	hop_val l = r->out[0], x = solve(b, l, false, mirrored(b, r->din[0]));
	x = solve(b, l, false, hop_emit_turned(b, x));         /* it is its own transpose */
	r->dout[0] = hop_linear_product(b, l, 1, half(b, x), 0);
	return HOP_OK;
}

/* s = l^-T half(l^T dl) l^-1, and both elements that one of the lower triangle stands for. */
hop_status hop_vjp_cholesky(hop_build *b, hop_rule *r)
{
	hop_val l = r->out[0], s = half(b, hop_linear_product(b, l, 0, r->dout[0], 0));
	s = solve(b, l, true, s);
	s = solve(b, l, true, hop_emit_turned(b, s));          /* transposed */
	r->din[0] = half(b, hop_emit(b, add, s, hop_emit_turned(b, s)));
	return HOP_OK;
}

/* ---- lowering ---- */

/* Nothing above the diagonal; NaN everywhere if the last of it is. */
static hop_reg element(hop_lower *l, hop_dtype d, const hop_view *v, int rank,
                       const hop_ix *const *x, hop_size n)
{
	const hop_ix *last[HOP_MAXRANK];
	hop_reg zero = hop_lower_const(l, d, 0, 0), nan = hop_lower_const(l, d, NAN, 0), e, c, p;
	for (int i = 0; i < rank; i++)
		last[i] = i < rank - 2 ? x[i] : hop_ix_size(l, hop_size_sub(l->env, n, hop_size_int(1)));
	e = hop_lower_load(l, d, v->buf, hop_view_at(l, v, rank, x), l->q.cur);
	c = hop_lower_load(l, d, v->buf, hop_view_at(l, v, rank, last), l->q.cur);
	p = hop_lower_do(l, le, HOP_bool, hop_lower_ixreg(l, x[rank - 1]), hop_lower_ixreg(l, x[rank - 2]));
	e = hop_lower_do(l, select, d, p, e, zero);
	return hop_lower_do(l, select, d, hop_lower_do(l, ne, HOP_bool, c, c), nan, e);
}

hop_status hop_lower_cholesky(hop_lower *l, const hop_node *n)
{
	return hop_lower_linear(l, n, &(hop_linear){ .of = &hop_template_cholesky, .rows = true,
	                                             .element = element });
}
