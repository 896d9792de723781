/* solve.c -- solutions of linear equations, in all cells: the derivative of a solution solves
 * equations with the same matrix. How it runs fast is the template's business (loop/solve.c). */
#include <math.h>

#include "ops/linear.h"

/* solve a b -- x such that a x = b: matrices a, of n rows and columns, and b, of n rows, or
 * batches of them along the axes in front
 * By elimination with rows exchanged. Where a has no inverse, or a NaN in it, all of x is NaN. */
hop_status hop_infer_solve(hop_infer *f)
{
	return hop_linear_infer(f, "divided");
}

/* ---- evaluation ---- */

/* The first row from k on whose element in column k is the largest; a NaN is larger than all. */
static int64_t pivot(const hop_linear_eval *s, int64_t k)
{
	int64_t p = k;
	for (int64_t i = k; i < s->n; i++) {
		double v = fabs(s->a[i * s->n + k]);
		if (isnan(v))
			return i;
		if (v > fabs(s->a[p * s->n + k]))
			p = i;
	}
	return p;
}

static void exchange(double *v, int64_t cols, int64_t i, int64_t k)
{
	for (int64_t j = 0; j < cols; j++) {
		double t = v[i * cols + j];
		v[i * cols + j] = v[k * cols + j];
		v[k * cols + j] = t;
	}
}

/* False: there is no solution, or no number. */
static bool eliminate(const hop_linear_eval *s)
{
	for (int64_t k = 0; k < s->n; k++) {
		int64_t p = pivot(s, k);
		exchange(s->a, s->n, k, p);
		exchange(s->x, s->m, k, p);
		double d = s->a[k * s->n + k];
		if (d == 0 || isnan(d))
			return false;
		for (int64_t i = k + 1; i < s->n; i++) {
			double f = hop_linear_round(s, s->a[i * s->n + k] / d);
			hop_linear_lose(s, s->a, s->n, i, k, f, k + 1);
			hop_linear_lose(s, s->x, s->m, i, k, f, 0);
		}
	}
	return true;
}

static void substitute(const hop_linear_eval *s)
{
	for (int64_t k = s->n; k-- > 0;) {
		for (int64_t j = 0; j < s->m; j++)
			s->x[k * s->m + j] = hop_linear_round(s, s->x[k * s->m + j] / s->a[k * s->n + k]);
		for (int64_t i = 0; i < k; i++)
			hop_linear_lose(s, s->x, s->m, i, k, s->a[i * s->n + k], 0);
	}
}

static bool solve_one(const hop_linear_eval *s, const hop_node *n)
{
	(void)n;
	if (!eliminate(s))
		return false;
	substitute(s);
	return true;
}

hop_status hop_eval_solve(hop_interp *p, const hop_node *n, hop_array *const *in,
                          hop_array **out)
{
	return hop_linear_each(p, n, in, out, solve_one);
}

/* ---- derivatives ---- */

/* a x = b: a dx = db - da x */
hop_status hop_jvp_solve(hop_build *b, hop_rule *r)
{
	hop_val d = r->din[1];
	if (!hop_is_zero(r->din[0]))
		d = hop_emit_acc(b, d, hop_emit(b, neg, hop_linear_product(b, r->din[0], 1, r->out[0], 0)));
	r->dout[0] = hop_emit(b, solve, r->in[0], d);
	return HOP_OK;
}

/* The cotangent of b solves equations with the transposed matrix; that of a is minus its
 * product with x. */
hop_status hop_vjp_solve(hop_build *b, hop_rule *r)
{
	hop_val c = hop_emit(b, solve, hop_emit_turned(b, r->in[0]), r->dout[0]);
	if (r->act[0])
		r->din[0] = hop_emit(b, neg, hop_linear_product(b, c, 1, r->out[0], 1));
	if (r->act[1])
		r->din[1] = c;
	return HOP_OK;
}

/* ---- lowering ---- */

hop_status hop_lower_solve(hop_lower *l, const hop_node *n)
{
	return hop_lower_linear(l, n, &(hop_linear){ .of = &hop_template_solve, .room = true });
}
