/* solve.c -- the solution of linear equations as a template: a[n,n] x = x[n,m], for each of a
 * batch, by elimination with rows exchanged. Both are overwritten. p is room for the rows that
 * LAPACK exchanges. A matrix without inverse, or with a
 * NaN, makes all of its x NaN. The loops do not work in blocks: what is large is for the
 * library. */
#include <math.h>

#include "loop/matrix.h"

enum { A = HOP_MX_A, X = HOP_MX_X, P };

static int64_t weight(const hop_tile *t)
{
	(void)t;
	return 160;
}

static bool alone(const hop_tile *t)
{
	(void)t;
	return true;
}

/* ---- exchanging rows ---- */

/* Rows from k on, by the variable of a loop. */
static hop_mxpos from(hop_mxpos k, hop_reg i)
{
	k.r[k.r[0] ? 1 : 0] = i;
	return k;
}

/* The first of the rows from k on whose element in column k is the largest; a NaN is larger
 * than all. Counted from k. */
static hop_reg pivot(hop_mx *q, hop_mxpos k, const hop_mxrun *rows)
{
	hop_block *out = q->b->block;
	hop_reg best, v, i, same, first = hop_l_size(q->b, q->n);
	best = hop_l_constf(q->b, q->d, -1);
	i = hop_mx_loop(q, HOP_LOOP_RED, rows->n, rows->bound);
	v = hop_mx_op(q, HOP_SOP_abs, q->d, hop_mx_get(q, A, from(k, i), k), 0);
	best = hop_mx_reduced(q, out, HOP_RED_max, q->d, best, v);
	i = hop_mx_loop(q, HOP_LOOP_RED, rows->n, rows->bound);
	v = hop_mx_op(q, HOP_SOP_abs, q->d, hop_mx_get(q, A, from(k, i), k), 0);
	same = hop_mx_op(q, HOP_SOP_or, HOP_bool, hop_mx_op(q, HOP_SOP_eq, HOP_bool, v, best),
	                 hop_mx_op(q, HOP_SOP_ne, HOP_bool, v, v));
	v = hop_l_op(q->b, HOP_SOP_select, HOP_i64, 3, (hop_reg[]){ same, i, first });
	return hop_mx_reduced(q, out, HOP_RED_min, HOP_i64, first, v);
}

static void swap(hop_mx *q, int arg, hop_mxrun cols, hop_mxpos k, hop_mxpos other)
{
	hop_block *out = q->b->block;
	hop_mxpos j = hop_mx_open(q, HOP_LOOP_PAR, &cols);
	hop_reg v = hop_mx_get(q, arg, k, j), w = hop_mx_get(q, arg, other, j);
	hop_mx_set(q, arg, k, j, w);
	hop_mx_set(q, arg, other, j, v);
	q->b->block = out;
}

/* The number of the row that has the largest element in column k. Passes see that it is that of a row,
 * whatever the data. */
static hop_mxpos largest(hop_mx *q, const hop_mxstep *s, const hop_mxrun *from_k)
{
	hop_reg p = pivot(q, s->k, from_k);
	hop_reg first = s->k.r[0] ? s->k.r[0] : hop_l_consti(q->b, HOP_i64, s->k.c);
	hop_reg last = hop_l_size(q->b, hop_size_sub(q->b->env, q->n, hop_size_int(1)));
	p = hop_mx_op(q, HOP_SOP_min, HOP_i64, hop_mx_op(q, HOP_SOP_add, HOP_i64, p, first), last);
	p = hop_mx_op(q, HOP_SOP_max, HOP_i64, p, hop_l_consti(q->b, HOP_i64, 0));
	return (hop_mxpos){ { p }, 0 };
}

/* Row k changes places with another. */
static void exchange(hop_mx *q, const hop_mxstep *s, const hop_mxrun *from_k, hop_mxpos other)
{
	swap(q, A, *from_k, s->k, other);
	swap(q, X, hop_mx_all(q->t->extent[2]), s->k, other);
}

/* ---- elimination ---- */

/* A pivot of 0 stands for NaN, which gets into all of x. */
static hop_reg not_zero(hop_mx *q, hop_reg v)
{
	hop_reg zero = hop_l_constf(q->b, q->d, 0), nan = hop_l_constf(q->b, q->d, NAN);
	return hop_mx_choose(q, hop_mx_op(q, HOP_SOP_eq, HOP_bool, v, zero), nan, v);
}

static void eliminate(hop_mx *q, const hop_mxstep *s)
{
	hop_block *out = q->b->block;
	hop_mxrun cols = hop_mx_all(q->t->extent[2]), from_k = hop_mx_rest(q, s);
	bool waits = hop_mx_waits(q, s);
	hop_mx_open_lanes(q);
	hop_mxpos other = largest(q, s, &from_k);
	hop_reg d = waits ? not_zero(q, hop_mx_get(q, A, other, s->k)) : 0;
	exchange(q, s, &from_k, other);
	hop_mx_close_lanes(q, out);
	if (waits) {
		hop_mx_scale(q, s, d);
	} else {
		hop_mx_diagonal(q, s->k, not_zero);
		hop_mx_divide(q, A, s->below, hop_mx_one(s->k), s->k);
	}
	hop_mx_lose(q, A, s->k, s->below, s->below);
	hop_mx_lose(q, X, s->k, s->below, cols);
}

static void solve(hop_mx *q)
{
	hop_mx_steps(q, false, eliminate);
	hop_mx_substitute(q, true);
}

static bool expand(hop_lbuild *b, const hop_tile *t)
{
	return hop_mx_expand(b, t, solve);
}

const hop_template hop_template_solve = {
	.name = "solve", .func = "solve", .on = HOP_ON_F, .nextent = 3, .narg = 3,
	.arg = { [A] = { "a", 0, 3, { 0, 1, 1 } }, [X] = { "x", 0, 3, { 0, 1, 2 } },
	         [P] = { "p", 1 + HOP_i32, 1, { 1 } } },
	.weight = weight, .alone = alone, .nreg = 92, .expand = expand,
	.library = HOP_LIBRARY_SOLVE,
};
