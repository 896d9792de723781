/* dot_lower.c -- lowering of dot: a tile template when all three sizes are worth it, else
 * a reducing loop for one element. Does not pack; the target does. */
#include "loop/gemm.h"
#include "loop/lower.h"

enum { MINDIM = 4, MINWORK = 2048 };

/* Axes of one operand in the order batch, free, sum. */
typedef struct side {
	hop_ints batch, sum;
	int      nfree, free[HOP_MAXRANK];
} side;

static bool has(hop_ints v, int64_t a)
{
	for (int64_t i = 0; i < v.n; i++)
		if (v.v[i] == a)
			return true;
	return false;
}

static side side_of(const hop_type *t, hop_ints batch, hop_ints sum)
{
	side s = { batch, sum, 0, { 0 } };
	for (int i = 0; i < t->rank; i++)
		if (!has(batch, i) && !has(sum, i))
			s.free[s.nfree++] = i;
	return s;
}

static bool worth(hop_size s)
{
	return !hop_size_const(s) || s.k >= MINDIM;
}

static hop_size prod(hop_lower *l, const hop_type *t, int n, const int *ax)
{
	hop_size p = hop_size_int(1);
	for (int i = 0; i < n; i++)
		p = hop_size_mul(l->env, p, t->dim[ax[i]]);
	return p;
}

static bool tiled(hop_lower *l, const hop_node *n, const side *a, const side *b)
{
	const hop_type *t = hop_lower_in(l, n, 0);
	hop_size m = prod(l, t, a->nfree, a->free), k = hop_size_int(1), w;
	hop_size q = prod(l, hop_lower_in(l, n, 1), b->nfree, b->free);
	for (int64_t i = 0; i < a->sum.n; i++)
		k = hop_size_mul(l->env, k, t->dim[a->sum.v[i]]);
	w = hop_size_mul(l->env, hop_size_mul(l->env, m, q), k);
	hop_dtype d = (hop_dtype)hop_lower_out(l, n, 0)->dtype;
	return hop_dtype_computes(d) == hop_dtype_computes((hop_dtype)t->dtype) &&
	       hop_dtype_real(d) && worth(m) && worth(q) && worth(k) &&
	       (!hop_size_const(w) || w.k >= MINWORK);
}

/* ---- template ---- */

/* Axes first..n-1 as one: the position moves by *out for a step of the last of them. */
static bool joined(hop_lower *l, const hop_view *v, const hop_type *t, int first, int n,
                   const int *ax, hop_size *out)
{
	hop_size next = hop_size_int(0);
	bool any = false;
	*out = hop_size_int(0);
	for (int i = n - 1; i >= first; i--) {
		if (hop_size_is(t->dim[ax[i]], 1))
			continue;
		if (!any)
			*out = v->stride[ax[i]];
		else if (!hop_size_eq(v->stride[ax[i]], next))
			return false;
		next = hop_size_mul(l->env, v->stride[ax[i]], t->dim[ax[i]]);
		any = true;
	}
	return true;
}

/* On a device the template reads packed operands, which are half as long. */
static bool packs(const hop_lower *l)
{
	return l->opt->machine && l->opt->machine->blocks;
}

/* Operand k copied, its axes in memory in the order ax. */
static hop_status packed(hop_lower *l, const hop_node *n, int k, const int *ax,
                         hop_view *out)
{
	const hop_type *t = hop_lower_in(l, n, k);
	hop_size dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		dim[i] = t->dim[ax[i]];
	hop_dtype d = (hop_dtype)t->dtype;
	hop_view v = hop_lower_temp(l, hop_type_get(l->env, packs(l) ? d : hop_dtype_computes(d), t->rank,
	                                            dim));
	*out = hop_view_permuted(l, &v, t->rank, ax);
	return hop_lower_store_arg(l, n, k, out);
}

/* Axes as batch, free, sum. */
static void sum_last(const side *s, int *ax)
{
	int r = 0;
	for (int64_t i = 0; i < s->batch.n; i++)
		ax[r++] = (int)s->batch.v[i];
	for (int i = 0; i < s->nfree; i++)
		ax[r++] = s->free[i];
	for (int64_t i = 0; i < s->sum.n; i++)
		ax[r++] = (int)s->sum.v[i];
}

/* Axes with the sum before the free ones: rows that a vector can run along. */
static void rows_last(const side *s, int *ax)
{
	int r = 0;
	for (int64_t i = 0; i < s->batch.n; i++)
		ax[r++] = (int)s->batch.v[i];
	for (int64_t i = 0; i < s->sum.n; i++)
		ax[r++] = (int)s->sum.v[i];
	for (int i = 0; i < s->nfree; i++)
		ax[r++] = s->free[i];
}

/* A small right operand whose rows do not run along the free axes, for many rows of the
 * left one: turned once it costs little, and the template needs no packing of its own. */
static bool turns(hop_lower *l, const hop_node *n, const side *s, const hop_view *v)
{
	const hop_type *t = hop_lower_in(l, n, 1), *ct = hop_lower_out(l, n, 0);
	hop_size all = hop_type_count(l->env, t), c = hop_type_count(l->env, ct);
	int64_t small = hop_machine_cache(l->opt->machine) / 4 / (int64_t)sizeof(float);
	return s->nfree && hop_size_const(all) && hop_size_const(c) && all.k > 0 &&
	       all.k <= small && c.k >= 64 * t->dim[s->free[s->nfree - 1]].k &&
	       !hop_size_is(v->stride[s->free[s->nfree - 1]], 1);
}

/* The template reads what it computes in. */
static bool readable(hop_lower *l, const hop_view *v)
{
	return l->q.dry.on || packs(l) || !hop_dtype_packed(l->q.b.f->buf[v->buf].dtype);
}

static int stored(hop_lower *l, const hop_view *v)
{
	hop_dtype d = l->q.dry.on ? HOP_bool : l->q.b.f->buf[v->buf].dtype;
	return hop_dtype_packed(d) ? 1 + (int)d : 0;
}

/* The operand, its sum axes in one stride. The right one is best with rows along the
 * free axes; inside a loop that is worth a copy before it. */
static hop_status operand(hop_lower *l, const hop_node *n, int k, const side *s,
                          hop_view *out, hop_size *out_sum)
{
	const hop_type *t = hop_lower_in(l, n, k);
	int ax[HOP_MAXRANK], rows[HOP_MAXRANK];
	for (int64_t i = 0; i < s->sum.n; i++)
		ax[i] = (int)s->sum.v[i];
	rows_last(s, rows);
	if (k == 0 || !s->nfree || !hop_lower_arg_packed(l, n, k, rows, out)) {
		HOP_TRY(hop_lower_arg_view(l, n, k, false, out));
		if (k == 1 && (turns(l, n, s, out) || !readable(l, out)))
			HOP_TRY(packed(l, n, k, rows, out));
	}
	if (readable(l, out) && joined(l, out, t, 0, (int)s->sum.n, ax, out_sum))
		return HOP_OK;
	sum_last(s, rows);
	HOP_TRY(packed(l, n, k, rows, out));
	HOP_ASSERT(joined(l, out, t, 0, (int)s->sum.n, ax, out_sum));
	return HOP_OK;
}

/* Move the base of a view to an index on one axis. */
static void step(hop_lower *l, hop_view *v, int axis, const hop_ix *x)
{
	v->base = hop_ix_add(l, v->base, hop_ix_mul(l, x, v->stride[axis]));
}

/* Free axes that cannot be joined become loops; the rest is one size and two strides.
 * at is the position of the first free axis in the result. */
static int free_axes(hop_lower *l, const hop_type *t, const side *s, hop_view *v,
                     hop_view *c, const hop_type *ct, int at, hop_size *out_dim,
                     hop_size *out_vs, hop_size *out_cs)
{
	int cax[HOP_MAXRANK], first = 0, nloop = 0;
	for (int i = 0; i < s->nfree; i++)
		cax[i] = at + i;
	while (!joined(l, v, t, first, s->nfree, s->free, out_vs) ||
	       !joined(l, c, ct, first, s->nfree, cax, out_cs))
		first++;
	for (int i = 0; i < first; i++) {
		const hop_ix *x = hop_lower_open(l, HOP_LOOP_PAR, t->dim[s->free[i]], NULL);
		nloop += !hop_size_is(t->dim[s->free[i]], 1);
		step(l, v, s->free[i], x);
		step(l, c, at + i, x);
	}
	*out_dim = prod(l, t, s->nfree - first, s->free + first);
	return nloop;
}

/* The template for operands whose sum axes are joined (g->as[1], g->bs[0] are set). */
static void gemm_emit(hop_lower *l, hop_gemm *g, const hop_type *at, const side *a,
                      hop_view va, const hop_type *bt, const side *b, hop_view vb,
                      const hop_type *ct, hop_view vc)
{
	int nloop = 0, nb = (int)a->batch.n;
	for (int i = 0; i < nb; i++) {
		const hop_ix *x = hop_lower_open(l, HOP_LOOP_PAR, ct->dim[i], NULL);
		nloop += !hop_size_is(ct->dim[i], 1);
		step(l, &va, (int)a->batch.v[i], x);
		step(l, &vb, (int)b->batch.v[i], x);
		step(l, &vc, i, x);
	}
	nloop += free_axes(l, at, a, &va, &vc, ct, nb, &g->m, &g->as[0], &g->cs[0]);
	nloop += free_axes(l, bt, b, &vb, &vc, ct, nb + a->nfree, &g->n, &g->bs[1], &g->cs[1]);
	g->dtype = hop_dtype_computes((hop_dtype)ct->dtype);
	g->k = hop_size_int(1);
	for (int64_t i = 0; i < a->sum.n; i++)
		g->k = hop_size_mul(l->env, g->k, at->dim[a->sum.v[i]]);
	g->a = hop_lower_addr(l, va.buf, va.base);
	g->b = hop_lower_addr(l, vb.buf, vb.base);
	g->c = hop_lower_addr(l, vc.buf, vc.base);
	g->stored[0] = stored(l, &va);
	g->stored[1] = stored(l, &vb);
	l->q.b.block = l->q.cur->block;
	hop_l_gemm(&l->q.b, g);
	hop_lower_close_n(l, nloop);
}

static hop_status gemm_store(hop_lower *l, const hop_node *n, const side *a, const side *b)
{
	const hop_type *ct = hop_lower_out(l, n, 0);
	hop_dtype c = hop_dtype_computes((hop_dtype)ct->dtype);
	bool direct = c == (hop_dtype)ct->dtype;
	hop_view va, vb, vc = l->q.dest;
	hop_gemm g = { 0 };
	HOP_TRY(operand(l, n, 0, a, &va, &g.as[1]));
	HOP_TRY(operand(l, n, 1, b, &vb, &g.bs[0]));
	if (!direct)
		vc = hop_lower_temp(l, hop_type_with(l->env, ct, c));
	gemm_emit(l, &g, hop_lower_in(l, n, 0), a, va, hop_lower_in(l, n, 1), b, vb, ct, vc);
	if (!direct)                     /* sums are rounded once, when all of them are there */
		hop_view_copy(l, ct, &vc, &l->q.dest);
	return HOP_OK;
}

/* ---- one element ---- */

/* An element of operand k. A matrix that a loop multiplies with vectors is turned so that
 * neighbouring results are neighbours in it. */
static hop_reg element(hop_lower *l, const hop_node *n, int k, const side *s,
                       const side *other, const hop_ix *const *x)
{
	const hop_type *t = hop_lower_in(l, n, k);
	int ax[HOP_MAXRANK];
	hop_view v;
	if (s->nfree && s->sum.n && !other->nfree && !l->q.dry.on && l->q.inst->many &&
	    !l->q.mask && worth(t->dim[s->free[s->nfree - 1]])) {
		rows_last(s, ax);
		if (hop_lower_arg_packed(l, n, k, ax, &v))
			return hop_lower_load(l, (hop_dtype)t->dtype, v.buf,
			                      hop_view_at(l, &v, t->rank, x), l->q.inst->outer);
	}
	return hop_lower_arg(l, n, k, x);
}

/* The element in the dtype that is multiplied in. */
static hop_reg factor(hop_lower *l, const hop_node *n, int k, hop_dtype d, hop_reg x)
{
	hop_dtype had = (hop_dtype)hop_lower_in(l, n, k)->dtype;
	return had == d ? x : hop_lower_to(l, d, had, x);
}

hop_status hop_lower_dot(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_dot *p = HOP_ATTR(n, dot);
	side a = side_of(hop_lower_in(l, n, 0), p->lbatch, p->lsum);
	side b = side_of(hop_lower_in(l, n, 1), p->rbatch, p->rsum);
	const hop_ix *x[HOP_MAXRANK], *y[HOP_MAXRANK];
	hop_dtype d = (hop_dtype)hop_lower_out(l, n, 0)->dtype;
	int nb = (int)a.batch.n;
	hop_reg init, r, s;
	if (l->q.ask == HOP_ASK_STORE)
		return gemm_store(l, n, &a, &b);
	if (tiled(l, n, &a, &b)) {
		hop_lower_must(l);
		return HOP_OK;
	}
	if (a.sum.n)
		hop_lower_heavy(l);
	for (int i = 0; i < nb; i++)
		x[a.batch.v[i]] = y[b.batch.v[i]] = l->q.ix[i];
	for (int i = 0; i < a.nfree; i++)
		x[a.free[i]] = l->q.ix[nb + i];
	for (int i = 0; i < b.nfree; i++)
		y[b.free[i]] = l->q.ix[nb + a.nfree + i];
	hop_scope *at = hop_lower_red_scope(l, nb + a.nfree + b.nfree, l->q.ix);
	init = hop_lower_const(l, d, 0, 0);
	for (int64_t k = 0; k < a.sum.n; k++)
		x[a.sum.v[k]] = y[b.sum.v[k]] =
			hop_lower_open(l, HOP_LOOP_RED, hop_lower_in(l, n, 0)->dim[a.sum.v[k]],
			               k ? NULL : at);
	r = factor(l, n, 0, d, element(l, n, 0, &a, &b, x));
	s = factor(l, n, 1, d, element(l, n, 1, &b, &a, y));
	r = hop_lower_do(l, mul, d, r, s);
	for (int64_t k = 0; k < a.sum.n; k++) {
		r = hop_lower_acc(l, HOP_RED_add, d, init, r);
		hop_lower_close(l);
	}
	l->reg = r;
	return HOP_OK;
}
