/* triangular.c -- equations whose matrix is a triangle, in all cells. Half of a matrix is never read,
 * so derivatives have nothing there. How it runs fast is the templates' business
 * (loop/triangular.c). */
#include <math.h>

#include "ops/linear.h"

/* triangular_solve a b {upper transposed unit} -- x such that a x = b, or the transposed a x = b,
 * for matrices a of which only the lower or the upper triangle is read, and batches of them
 * unit: the diagonal is taken for ones, and not read. Where it has a 0, all of x is NaN. */
hop_status hop_infer_triangular(hop_infer *f)
{
	return hop_linear_infer(f, "divided");
}

/* ---- evaluation ---- */

static double at(const hop_linear_eval *s, bool transposed, int64_t i, int64_t k)
{
	return transposed ? s->a[k * s->n + i] : s->a[i * s->n + k];
}

static bool substitute(const hop_linear_eval *s, const hop_node *n)
{
	const struct hop_attr_triangular_solve *p = HOP_ATTR(n, triangular_solve);
	bool down = p->upper != p->transposed;
	for (int64_t k = 0; k < s->n && !p->unit; k++)
		if (s->a[k * s->n + k] == 0)
			return false;
	for (int64_t q = 0; q < s->n; q++) {
		int64_t k = down ? s->n - 1 - q : q, from = down ? 0 : k + 1, to = down ? k : s->n;
		for (int64_t j = 0; j < s->m && !p->unit; j++)
			s->x[k * s->m + j] = hop_linear_round(s, s->x[k * s->m + j] / s->a[k * s->n + k]);
		for (int64_t i = from; i < to; i++)
			hop_linear_lose(s, s->x, s->m, i, k, at(s, p->transposed, i, k), 0);
	}
	return true;
}

hop_status hop_eval_triangular(hop_interp *p, const hop_node *n, hop_array *const *in,
                               hop_array **out)
{
	return hop_linear_each(p, n, in, out, substitute);
}

/* ---- derivatives ---- */

/* What of x the op reads of its matrix. */
static hop_val triangle(hop_build *b, const struct hop_attr_triangular_solve *p, hop_val x)
{
	hop_val below = hop_emit_below(b, x, p->upper == p->unit ? 0 : -1);
	if (b->st)
		return HOP_BAD;
	hop_val zero = hop_emit_zeros(b, hop_typeof(b, x));
	return p->upper ? hop_emit(b, select, below, zero, x) : hop_emit(b, select, below, x, zero);
}

static hop_val solve(hop_build *b, struct hop_attr_triangular_solve p, bool turn, hop_val a, hop_val x)
{
	p.transposed = p.transposed != turn;
	return hop_emit_op(b, HOP_OP_triangular_solve, &p, 2, (hop_val[]){ a, x });
}

/* a x = b: a dx = db - da x */
hop_status hop_jvp_triangular(hop_build *b, hop_rule *r)
{
	const struct hop_attr_triangular_solve *p = HOP_ATTR(r->n, triangular_solve);
	hop_val d = r->din[1];
	if (!hop_is_zero(r->din[0])) {
		hop_val da = triangle(b, p, r->din[0]);
		d = hop_emit_acc(b, d, hop_emit(b, neg, hop_linear_product(b, da, p->transposed ? 0 : 1,
		                                                           r->out[0], 0)));
	}
	r->dout[0] = solve(b, *p, false, r->in[0], d);
	return HOP_OK;
}

/* The cotangent of b solves equations with the transposed matrix; that of a is the triangle of
 * minus its product with x. */
hop_status hop_vjp_triangular(hop_build *b, hop_rule *r)
{
	const struct hop_attr_triangular_solve *p = HOP_ATTR(r->n, triangular_solve);
	hop_val c = solve(b, *p, true, r->in[0], r->dout[0]), x = r->out[0];
	if (r->act[0]) {
		hop_val d = p->transposed ? hop_linear_product(b, x, 1, c, 1)
		                          : hop_linear_product(b, c, 1, x, 1);
		r->din[0] = triangle(b, p, hop_emit(b, neg, d));
	}
	if (r->act[1])
		r->din[1] = c;
	return HOP_OK;
}

/* ---- lowering ---- */

hop_status hop_lower_triangular(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_triangular_solve *p = HOP_ATTR(n, triangular_solve);
	static const hop_template *const of[2][2] = {
		{ &hop_template_lower, &hop_template_upper },
		{ &hop_template_unit_lower, &hop_template_unit_upper },
	};
	return hop_lower_linear(l, n, &(hop_linear){ .of = of[p->unit][p->upper != p->transposed],
	                                             .reads = true, .turned = p->transposed });
}
