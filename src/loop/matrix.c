/* matrix.c -- see matrix.h. Knows no template. */
#include "loop/matrix.h"
#include "loop/walk.h"

/* ---- elements ---- */

/* A register that moves rows and columns has one term. */
static void add_term(const hop_mx *q, hop_addr *x, hop_reg r, hop_size stride)
{
	int i = hop_addr_term(x, r);
	hop_addr_add(q->b->a, x, r, stride);
	if (i >= 0)
		x->term[i].stride = hop_size_add(q->b->env, x->term[--x->nterm].stride, x->term[i].stride);
}

static hop_addr at(const hop_mx *q, int arg, hop_mxpos row, hop_mxpos col)
{
	const hop_targ *o = &q->t->arg[arg];
	const hop_mxpos w[] = { row, col };
	hop_addr x = o->at;
	if (x.nterm)
		x.term = hop_arena_dup(q->b->a, x.term, (size_t)x.nterm * sizeof *x.term);
	if (q->lane)
		add_term(q, &x, q->lane, o->stride[0]);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 2; k++)
			if (w[i].r[k])
				add_term(q, &x, w[i].r[k], o->stride[1 + i]);
		x.offset = hop_size_add(q->b->env, x.offset,
		                        hop_size_mul(q->b->env, o->stride[1 + i], hop_size_int(w[i].c)));
	}
	return x;
}

hop_reg hop_mx_get(const hop_mx *q, int arg, hop_mxpos row, hop_mxpos col)
{
	hop_addr x = at(q, arg, row, col);
	return hop_l_load(q->b, hop_tile_dtype(q->t, arg), &x);
}

void hop_mx_set(const hop_mx *q, int arg, hop_mxpos row, hop_mxpos col, hop_reg v)
{
	hop_addr x = at(q, arg, row, col);
	hop_l_store(q->b, hop_tile_dtype(q->t, arg), &x, v);
}

hop_reg hop_mx_op(const hop_mx *q, enum hop_sop s, hop_dtype d, hop_reg x, hop_reg y)
{
	return hop_l_op(q->b, s, d, y ? 2 : 1, (hop_reg[]){ x, y });
}

hop_reg hop_mx_choose(const hop_mx *q, hop_reg p, hop_reg x, hop_reg y)
{
	return hop_l_op(q->b, HOP_SOP_select, q->d, 3, (hop_reg[]){ p, x, y });
}

/* ---- loops ---- */

hop_mxrun hop_mx_all(hop_size n)
{
	return (hop_mxrun){ .n = n };
}

hop_mxrun hop_mx_one(hop_mxpos at)
{
	return (hop_mxrun){ .from = at, .n = hop_size_int(1) };
}

hop_reg hop_mx_loop(const hop_mx *q, enum hop_loop_kind k, hop_size n, hop_reg bound)
{
	hop_stmt *s = hop_l_loop(q->b, k, n, hop_l_reg(q->b));
	s->bound = bound;
	return s->dst;
}

hop_reg hop_mx_reduced(const hop_mx *q, hop_block *out, enum hop_red r, hop_dtype d, hop_reg init,
                       hop_reg v)
{
	hop_stmt *s = out->last;
	s->nacc = 1;
	s->acc = HOP_NEW(q->b->a, hop_acc);
	*s->acc = (hop_acc){ r, d, init, v, hop_l_reg(q->b) };
	q->b->block = out;
	return s->acc->result;
}

hop_mxpos hop_mx_open(hop_mx *q, enum hop_loop_kind kind, const hop_mxrun *run)
{
	hop_mxpos p = run->from;
	if (!run->bound && hop_size_is(run->n, 1))
		return p;
	HOP_ASSERT(!p.r[1]);
	p.r[p.r[0] ? 1 : 0] = hop_mx_loop(q, kind, run->n, run->bound);
	return p;
}

void hop_mx_open_lanes(hop_mx *q)
{
	if (!hop_size_is(q->lanes, 1))
		q->lane = hop_mx_loop(q, HOP_LOOP_PAR, q->lanes, 0);
}

void hop_mx_close_lanes(hop_mx *q, hop_block *out)
{
	if (!hop_size_is(q->lanes, 1))
		q->lane = 0;
	q->b->block = out;
}

static bool none(const hop_mxrun *run)
{
	return !run->bound && hop_size_is(run->n, 0);
}

static void step_written(hop_mx *q, int64_t k, hop_mxstep_fn *f)
{
	f(q, &(hop_mxstep){ .k = { .c = k }, .above = hop_mx_all(hop_size_int(k)),
	                    .below = { { .c = k + 1 }, hop_size_int(q->n.k - 1 - k), 0 } });
}

static void step_loop(hop_mx *q, bool down, hop_mxstep_fn *f)
{
	hop_block *out = q->b->block;
	hop_reg k = hop_mx_loop(q, HOP_LOOP_SEQ, q->n, 0), rest;
	out->last->reverse = down;
	rest = hop_mx_op(q, HOP_SOP_sub, HOP_i64, hop_l_size(q->b, q->n), k);
	rest = hop_mx_op(q, HOP_SOP_sub, HOP_i64, rest, hop_l_consti(q->b, HOP_i64, 1));
	f(q, &(hop_mxstep){ .k = { { k }, 0 }, .above = { { { 0 }, 0 }, q->n, k },
	                    .below = { { { k }, 1 }, q->n, rest } });
	q->b->block = out;
}

void hop_mx_steps(hop_mx *q, bool down, hop_mxstep_fn *f)
{
	if (!hop_size_const(q->n) || q->n.k > HOP_MX_WRITTEN)
		step_loop(q, down, f);
	else
		for (int64_t i = 0; i < q->n.k; i++)
			step_written(q, down ? q->n.k - 1 - i : i, f);
}

bool hop_mx_expand(hop_lbuild *b, const hop_tile *t, void (*body)(hop_mx *q))
{
	hop_block *out = b->block;
	hop_mx q = { .b = b, .t = t, .d = t->dtype, .n = t->extent[1], .lanes = hop_size_int(1) };
	for (int i = 0; i < t->of->narg; i++)
		if (t->arg[i].at.nterm > HOP_MAXTERM - 5)
			return false;
	if (hop_size_is(t->arg[HOP_MX_A].stride[0], 1))
		q.lanes = t->extent[0];
	else if (!hop_size_is(t->extent[0], 1))
		q.lane = hop_mx_loop(&q, HOP_LOOP_PAR, t->extent[0], 0);
	body(&q);
	b->block = out;
	return true;
}

/* ---- what eliminations are made of ---- */

hop_mxrun hop_mx_rest(hop_mx *q, const hop_mxstep *s)
{
	hop_mxrun r = { s->k, s->below.n, s->below.bound };
	hop_size one = hop_size_int(1);
	if (r.bound)
		r.bound = hop_mx_op(q, HOP_SOP_add, HOP_i64, r.bound, hop_l_size(q->b, one));
	else
		r.n = hop_size_add(q->b->env, r.n, one);
	return r;
}

bool hop_mx_waits(const hop_mx *q, const hop_mxstep *s)
{
	return s->k.r[0] && hop_size_is(q->lanes, 1);
}

void hop_mx_scale(hop_mx *q, const hop_mxstep *s, hop_reg d)
{
	hop_block *out = q->b->block;
	hop_mxrun rows = hop_mx_rest(q, s);
	hop_reg zero = hop_l_consti(q->b, HOP_i64, 0);
	hop_mxpos i = hop_mx_open(q, HOP_LOOP_PAR, &rows);
	hop_reg v = hop_mx_get(q, HOP_MX_A, i, s->k);
	hop_reg first = hop_mx_op(q, HOP_SOP_eq, HOP_bool, i.r[1], zero);
	v = hop_mx_choose(q, first, d, hop_mx_op(q, HOP_SOP_div, q->d, v, d));
	hop_mx_set(q, HOP_MX_A, i, s->k, v);
	q->b->block = out;
}

void hop_mx_diagonal(hop_mx *q, hop_mxpos k, hop_reg (*f)(hop_mx *q, hop_reg v))
{
	hop_block *out = q->b->block;
	hop_mx_open_lanes(q);
	hop_mx_set(q, HOP_MX_A, k, k, f(q, hop_mx_get(q, HOP_MX_A, k, k)));
	hop_mx_close_lanes(q, out);
}

/* What is the same for all elements of inner loops is loaded before them, but not for lanes, which
 * are further in. */
static hop_reg early(const hop_mx *q, int arg, hop_mxpos row, hop_mxpos col)
{
	return hop_size_is(q->lanes, 1) ? hop_mx_get(q, arg, row, col) : 0;
}

static hop_reg late(const hop_mx *q, hop_reg v, int arg, hop_mxpos row, hop_mxpos col)
{
	return v ? v : hop_mx_get(q, arg, row, col);
}

void hop_mx_divide(hop_mx *q, int arg, hop_mxrun rows, hop_mxrun cols, hop_mxpos k)
{
	hop_block *out = q->b->block;
	if (none(&rows) || none(&cols))
		return;
	hop_reg d = early(q, HOP_MX_A, k, k), v;
	hop_mxpos i = hop_mx_open(q, HOP_LOOP_PAR, &rows), j = hop_mx_open(q, HOP_LOOP_PAR, &cols);
	hop_mx_open_lanes(q);
	v = hop_mx_get(q, arg, i, j);
	hop_mx_set(q, arg, i, j, hop_mx_op(q, HOP_SOP_div, q->d, v, late(q, d, HOP_MX_A, k, k)));
	hop_mx_close_lanes(q, out);
}

void hop_mx_lose(hop_mx *q, int arg, hop_mxpos k, hop_mxrun rows, hop_mxrun cols)
{
	hop_block *out = q->b->block;
	bool down = hop_size_is(q->t->arg[arg].stride[1], 1);     /* columns lie after each other */
	hop_mxpos i, j;
	hop_reg f = 0, x = 0;
	if (none(&rows) || none(&cols))
		return;
	if (down) {
		j = hop_mx_open(q, HOP_LOOP_PAR, &cols);
		x = early(q, arg, k, j);
		i = hop_mx_open(q, HOP_LOOP_PAR, &rows);
	} else {
		i = hop_mx_open(q, HOP_LOOP_PAR, &rows);
		f = early(q, HOP_MX_A, i, k);
		j = hop_mx_open(q, HOP_LOOP_PAR, &cols);
	}
	hop_mx_open_lanes(q);
	f = late(q, f, HOP_MX_A, i, k);
	x = hop_mx_op(q, HOP_SOP_mul, q->d, f, late(q, x, arg, k, j));
	hop_mx_set(q, arg, i, j, hop_mx_op(q, HOP_SOP_sub, q->d, hop_mx_get(q, arg, i, j), x));
	hop_mx_close_lanes(q, out);
}

/* ---- substitution ---- */

static void forward(hop_mx *q, const hop_mxstep *s)
{
	hop_mxrun cols = hop_mx_all(q->t->extent[2]);
	if (!q->unit)
		hop_mx_divide(q, HOP_MX_X, hop_mx_one(s->k), cols, s->k);
	hop_mx_lose(q, HOP_MX_X, s->k, s->below, cols);
}

static void backward(hop_mx *q, const hop_mxstep *s)
{
	hop_mxrun cols = hop_mx_all(q->t->extent[2]);
	if (!q->unit)
		hop_mx_divide(q, HOP_MX_X, hop_mx_one(s->k), cols, s->k);
	hop_mx_lose(q, HOP_MX_X, s->k, s->above, cols);
}

void hop_mx_substitute(hop_mx *q, bool upper)
{
	hop_mx_steps(q, upper, upper ? backward : forward);
}
