/* cholesky.c -- the factor of Cholesky as a template: the lower triangle of a[n,n] becomes that of l,
 * a = l l^T, for each of a batch. What is above the diagonal is neither read nor written. Where a is
 * not positive definite the last element of the diagonal becomes NaN, and the others are of no
 * use: whoever reads them has to ask. */
#include <math.h>

#include "loop/matrix.h"

enum { A = HOP_MX_A };

static int64_t weight(const hop_tile *t)
{
	(void)t;
	return 60;
}

static bool alone(const hop_tile *t)
{
	(void)t;
	return true;
}

/* ---- as loops ---- */

/* NaN unless it is above 0: it gets into all that comes behind. */
static hop_reg root(hop_mx *q, hop_reg v)
{
	hop_reg zero = hop_l_constf(q->b, q->d, 0), nan = hop_l_constf(q->b, q->d, NAN);
	hop_reg ok = hop_mx_op(q, HOP_SOP_lt, HOP_bool, zero, v);
	return hop_mx_choose(q, ok, hop_mx_op(q, HOP_SOP_sqrt, q->d, v, 0), nan);
}

/* What is left of the triangle loses the product of column k with itself, row by row up to the
 * diagonal. */
static void lose(hop_mx *q, const hop_mxstep *s)
{
	hop_block *out = q->b->block;
	hop_mxrun cols = s->below;
	if (!cols.bound && hop_size_is(cols.n, 0))
		return;
	hop_mxpos i = hop_mx_open(q, HOP_LOOP_PAR, &s->below), j;
	hop_reg row = i.r[1] ? i.r[1] : i.r[0], one = hop_l_consti(q->b, HOP_i64, 1), v;
	if (row)
		cols.bound = hop_mx_op(q, HOP_SOP_add, HOP_i64, row, one);
	j = hop_mx_open(q, HOP_LOOP_PAR, &cols);
	hop_mx_open_lanes(q);
	v = hop_mx_op(q, HOP_SOP_mul, q->d, hop_mx_get(q, A, i, s->k), hop_mx_get(q, A, j, s->k));
	hop_mx_set(q, A, i, j, hop_mx_op(q, HOP_SOP_sub, q->d, hop_mx_get(q, A, i, j), v));
	hop_mx_close_lanes(q, out);
}

static void step(hop_mx *q, const hop_mxstep *s)
{
	if (hop_mx_waits(q, s)) {
		hop_mx_scale(q, s, root(q, hop_mx_get(q, A, s->k, s->k)));
	} else {
		hop_mx_diagonal(q, s->k, root);
		hop_mx_divide(q, A, s->below, hop_mx_one(s->k), s->k);
	}
	lose(q, s);
}

static void factor(hop_mx *q)
{
	hop_mx_steps(q, false, step);
}

static bool expand(hop_lbuild *b, const hop_tile *t)
{
	return hop_mx_expand(b, t, factor);
}

const hop_template hop_template_cholesky = {
	.name = "cholesky", .func = "cholesky", .on = HOP_ON_F, .nextent = 2, .narg = 1,
	.arg = { [A] = { "a", 0, 3, { 0, 1, 1 } } },
	.weight = weight, .alone = alone, .nreg = 40, .expand = expand,
	.library = HOP_LIBRARY_CHOLESKY,
};
