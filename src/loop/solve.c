/* solve.c -- the solution of linear equations as a template: a[n,n] x = x[n,m], for each of a
 * batch, by elimination with rows exchanged. Both are overwritten and lie column after column, as
 * LAPACK wants them; p is room for the rows that it exchanges. A matrix without inverse, or with
 * a NaN, makes all of its x NaN. The loops do not work in blocks: what is large is for the
 * library. */
#include <math.h>

#include "loop/loop.h"

enum { A, P, X };

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

/* ---- as loops ---- */

typedef struct linear {
	hop_lbuild     *b;
	const hop_tile *t;
	hop_dtype       d;
	hop_size        n, m;
	hop_reg         lane;            /* which of the batch */
} linear;

/* A row or column: registers added up, and a constant. */
typedef struct where { hop_reg r[2]; int c; } where;

static where is(hop_reg r)
{
	return (where){ { r, 0 }, 0 };
}

static where behind(hop_reg k, hop_reg i)      /* k + 1 + i */
{
	return (where){ { k, i }, 1 };
}

static hop_addr at(const linear *q, int arg, where row, where col)
{
	const hop_targ *o = &q->t->arg[arg];
	const where w[] = { row, col };
	hop_addr x = o->at;
	hop_addr_add(q->b->a, &x, q->lane, o->stride[0]);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 2; k++)
			if (w[i].r[k])
				hop_addr_add(q->b->a, &x, w[i].r[k], o->stride[1 + i]);
		x.offset = hop_size_add(q->b->env, x.offset,
		                        hop_size_mul(q->b->env, o->stride[1 + i], hop_size_int(w[i].c)));
	}
	return x;
}

static hop_reg get(const linear *q, int arg, where row, where col)
{
	hop_addr x = at(q, arg, row, col);
	return hop_l_load(q->b, q->d, &x);
}

static void set(const linear *q, int arg, where row, where col, hop_reg v)
{
	hop_addr x = at(q, arg, row, col);
	hop_l_store(q->b, q->d, &x, v);
}

static hop_reg op(const linear *q, enum hop_sop s, hop_dtype d, hop_reg x, hop_reg y)
{
	return hop_l_op(q->b, s, d, y ? 2 : 1, (hop_reg[]){ x, y });
}

static hop_reg choose(const linear *q, hop_dtype d, hop_reg p, hop_reg x, hop_reg y)
{
	return hop_l_op(q->b, HOP_SOP_select, d, 3, (hop_reg[]){ p, x, y });
}

static hop_reg nan_or_equal(const linear *q, hop_reg v, hop_reg w)
{
	return op(q, HOP_SOP_or, HOP_bool, op(q, HOP_SOP_eq, HOP_bool, v, w),
	          op(q, HOP_SOP_ne, HOP_bool, v, v));
}

/* A loop over n, or over as many as `bound` says; gives its variable. */
static hop_reg loop(const linear *q, enum hop_loop_kind k, hop_size n, hop_reg bound)
{
	hop_stmt *s = hop_l_loop(q->b, k, n, hop_l_reg(q->b));
	s->bound = bound;
	return s->dst;
}

/* Give the last loop of `out` an accumulator, and leave it. */
static hop_reg reduced(const linear *q, hop_block *out, enum hop_red r, hop_dtype d, hop_reg init,
                       hop_reg v)
{
	hop_stmt *s = out->last;
	s->nacc = 1;
	s->acc = HOP_NEW(q->b->a, hop_acc);
	*s->acc = (hop_acc){ r, d, init, v, hop_l_reg(q->b) };
	q->b->block = out;
	return s->acc->result;
}

/* The first of the rows from k on whose element in column k is the largest; a NaN is larger
 * than all. Counted from k. */
static hop_reg pivot(const linear *q, hop_reg k, hop_reg rest)
{
	hop_block *out = q->b->block;
	hop_reg best, v, i, first = hop_l_size(q->b, q->n);
	best = hop_l_constf(q->b, q->d, -1);
	i = loop(q, HOP_LOOP_RED, q->n, rest);
	v = op(q, HOP_SOP_abs, q->d, get(q, A, (where){ { k, i }, 0 }, is(k)), 0);
	best = reduced(q, out, HOP_RED_max, q->d, best, v);
	i = loop(q, HOP_LOOP_RED, q->n, rest);
	v = op(q, HOP_SOP_abs, q->d, get(q, A, (where){ { k, i }, 0 }, is(k)), 0);
	v = choose(q, HOP_i64, nan_or_equal(q, v, best), i, first);
	return reduced(q, out, HOP_RED_min, HOP_i64, first, v);
}

static void exchange(const linear *q, int arg, hop_size cols, hop_reg k, hop_reg p)
{
	hop_block *out = q->b->block;
	where other = { { k, p }, 0 };
	hop_reg j = loop(q, HOP_LOOP_PAR, cols, 0);
	hop_reg v = get(q, arg, is(k), is(j)), w = get(q, arg, other, is(j));
	set(q, arg, is(k), is(j), w);
	set(q, arg, other, is(j), v);
	q->b->block = out;
}

/* Rows of a column lose v times those of column k of a. */
static void lose(const linear *q, int arg, where col, hop_reg k, hop_reg v, bool below,
                 hop_reg rows)
{
	hop_reg i = loop(q, HOP_LOOP_PAR, q->n, rows), w;
	where row = below ? behind(k, i) : is(i);
	w = op(q, HOP_SOP_mul, q->d, get(q, A, row, is(k)), v);
	set(q, arg, row, col, op(q, HOP_SOP_sub, q->d, get(q, arg, row, col), w));
}

/* Step k: the rows below lose their column k. */
static void eliminate(const linear *q, hop_reg k, hop_reg below)
{
	hop_block *out = q->b->block;
	hop_reg d = get(q, A, is(k), is(k)), i = loop(q, HOP_LOOP_PAR, q->n, below), j;
	where row = behind(k, i);
	set(q, A, row, is(k), op(q, HOP_SOP_div, q->d, get(q, A, row, is(k)), d));
	q->b->block = out;
	j = loop(q, HOP_LOOP_PAR, q->n, below);
	lose(q, A, behind(k, j), k, get(q, A, is(k), behind(k, j)), true, below);
	q->b->block = out;
	j = loop(q, HOP_LOOP_PAR, q->m, 0);
	lose(q, X, is(j), k, get(q, X, is(k), is(j)), true, below);
	q->b->block = out;
}

static void forward(const linear *q)
{
	hop_block *out = q->b->block;
	hop_reg k = loop(q, HOP_LOOP_SEQ, q->n, 0), rest, below, p;
	rest = op(q, HOP_SOP_sub, HOP_i64, hop_l_size(q->b, q->n), k);
	below = op(q, HOP_SOP_sub, HOP_i64, rest, hop_l_consti(q->b, HOP_i64, 1));
	p = pivot(q, k, rest);
	exchange(q, A, q->n, k, p);
	exchange(q, X, q->m, k, p);
	eliminate(q, k, below);
	q->b->block = out;
}

static void backward(const linear *q)
{
	hop_block *out = q->b->block;
	hop_reg k = loop(q, HOP_LOOP_SEQ, q->n, 0), d, j, v;
	out->last->reverse = true;
	d = get(q, A, is(k), is(k));
	j = loop(q, HOP_LOOP_PAR, q->m, 0);
	v = op(q, HOP_SOP_div, q->d, get(q, X, is(k), is(j)), d);
	set(q, X, is(k), is(j), v);
	lose(q, X, is(j), k, v, false, k);
	q->b->block = out;
}

/* All NaN if an element of the diagonal is 0 or NaN. */
static void refuse(const linear *q)
{
	hop_block *out = q->b->block;
	hop_reg none = hop_l_consti(q->b, HOP_bool, 0), zero = hop_l_constf(q->b, q->d, 0), k, bad, i, j;
	k = loop(q, HOP_LOOP_RED, q->n, 0);
	bad = nan_or_equal(q, get(q, A, is(k), is(k)), zero);
	bad = reduced(q, out, HOP_RED_or, HOP_bool, none, bad);
	hop_stmt *s = hop_l_stmt(q->b, HOP_L_IF);
	s->na = 1;
	s->a[0] = bad;
	q->b->block = &s->body;
	j = loop(q, HOP_LOOP_PAR, q->m, 0);
	i = loop(q, HOP_LOOP_PAR, q->n, 0);
	set(q, X, is(i), is(j), hop_l_constf(q->b, q->d, NAN));
	q->b->block = out;
}

static bool expand(hop_lbuild *b, const hop_tile *t)
{
	hop_block *out = b->block;
	linear q = { b, t, t->dtype, t->extent[1], t->extent[2], 0 };
	if (t->arg[A].at.nterm > HOP_MAXTERM - 5 || t->arg[X].at.nterm > HOP_MAXTERM - 5)
		return false;
	q.lane = loop(&q, HOP_LOOP_PAR, t->extent[0], 0);
	forward(&q);
	backward(&q);
	refuse(&q);
	b->block = out;
	return true;
}

const hop_template hop_template_solve = {
	.name = "solve", .func = "solve", .on = HOP_ON_F, .nextent = 3, .narg = 3,
	.arg = { [A] = { "a", 0, 3, { 0, 1, 1 } }, [P] = { "p", 1 + HOP_i32, 1, { 1 } },
	         [X] = { "x", 0, 3, { 0, 1, 2 } } },
	.weight = weight, .alone = alone, .nreg = 63, .expand = expand,
	.library = HOP_LIBRARY_SOLVE,
};
