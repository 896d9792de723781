/* triangular.c -- equations with a triangle as templates: a[n,n] x = x[n,m], for each of a batch,
 * by substitution. Of a only the triangle is read, and its diagonal only where that is not all
 * ones; x is overwritten. A 0 on the diagonal makes all of x NaN. There is one template for each
 * triangle; a transposed one is the other by its strides. */
#include <math.h>

#include "loop/matrix.h"

enum { A = HOP_MX_A, X = HOP_MX_X };

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

/* The row that all others depend on; no row where there is none. */
static hop_mxrun first_row(hop_mx *q, bool upper)
{
	hop_size last = hop_size_sub(q->b->env, q->n, hop_size_int(1));
	hop_mxrun r = hop_mx_one((hop_mxpos){ .c = 0 });
	if (hop_size_const(q->n)) {
		r.from.c = upper ? last.k : 0;
		return r;
	}
	if (upper)
		r.from.r[0] = hop_l_size(q->b, last);
	r.bound = hop_mx_op(q, HOP_SOP_min, HOP_i64, hop_l_size(q->b, q->n),
	                    hop_l_consti(q->b, HOP_i64, 1));
	return r;
}

/* Is an element of the diagonal 0? */
static hop_reg singular(hop_mx *q)
{
	hop_block *out = q->b->block;
	hop_reg no = hop_l_consti(q->b, HOP_bool, 0), zero = hop_l_constf(q->b, q->d, 0);
	hop_mxpos k = { .r = { hop_mx_loop(q, HOP_LOOP_RED, q->n, 0) } };
	hop_reg v = hop_mx_op(q, HOP_SOP_eq, HOP_bool, hop_mx_get(q, A, k, k), zero);
	return hop_mx_reduced(q, out, HOP_RED_or, HOP_bool, no, v);
}

/* NaN in the first row gets into all others. */
static void refuse(hop_mx *q, bool upper)
{
	hop_block *out = q->b->block;
	hop_mxrun rows, cols = hop_mx_all(q->t->extent[2]);
	if (hop_size_is(q->n, 0))
		return;
	hop_mx_open_lanes(q);
	rows = first_row(q, upper);
	hop_reg bad = singular(q), nan = hop_l_constf(q->b, q->d, NAN);
	hop_mxpos i = hop_mx_open(q, HOP_LOOP_PAR, &rows), j = hop_mx_open(q, HOP_LOOP_PAR, &cols);
	hop_mx_set(q, X, i, j, hop_mx_choose(q, bad, nan, hop_mx_get(q, X, i, j)));
	hop_mx_close_lanes(q, out);
}

static void lower(hop_mx *q)
{
	refuse(q, false);
	hop_mx_substitute(q, false);
}

static void upper(hop_mx *q)
{
	refuse(q, true);
	hop_mx_substitute(q, true);
}

static void unit_lower(hop_mx *q)
{
	q->unit = true;
	hop_mx_substitute(q, false);
}

static void unit_upper(hop_mx *q)
{
	q->unit = true;
	hop_mx_substitute(q, true);
}

#define TRIANGLE(tail, ID) \
static bool expand_##tail(hop_lbuild *b, const hop_tile *t) \
{ \
	return hop_mx_expand(b, t, tail); \
} \
const hop_template hop_template_##tail = { \
	.name = #tail, .func = #tail "_solve", .on = HOP_ON_F, .nextent = 3, .narg = 2, \
	.arg = { [A] = { "a", 0, 3, { 0, 1, 1 } }, [X] = { "x", 0, 3, { 0, 1, 2 } } }, \
	.weight = weight, .alone = alone, .nreg = 48, .expand = expand_##tail, \
	.library = HOP_LIBRARY_##ID, \
};
TRIANGLE(lower, LOWER)
TRIANGLE(upper, UPPER)
TRIANGLE(unit_lower, UNIT_LOWER)
TRIANGLE(unit_upper, UNIT_UPPER)
#undef TRIANGLE
