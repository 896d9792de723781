/* solve.c -- solutions of linear equations, in all cells: the derivative of a solution solves
 * equations with the same matrix. How it runs fast is the template's business (loop/solve.c). */
#include <math.h>

#include "loop/lower.h"
#include "ops/shape.h"

/* solve a b -- x such that a x = b: matrices a, of n rows and columns, and b, of n rows, or
 * batches of them along the axes in front
 * By elimination with rows exchanged. Where a has no inverse, or a NaN in it, all of x is NaN. */
hop_status hop_infer_solve(hop_infer *f)
{
	const hop_type *a = f->in[0], *b = f->in[1];
	int r = a->rank;
	HOP_TRY(hop_shape_dtypes(f, a->dtype, b->dtype));
	if (!hop_dtype_float((hop_dtype)a->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "solve: %s, and only floats can be divided: cast first",
		                      hop_dtype_name((hop_dtype)a->dtype));
	if (r < 2 || b->rank != r)
		return hop_infer_fail(f, HOP_ESHAPE, "solve: rank %d on the left, %d on the right: "
		                      "matrices are wanted, or batches of the same rank", r, b->rank);
	HOP_TRY(hop_shape_same(f, "left", r - 2, a->dim[r - 2], "left", r - 1, a->dim[r - 1]));
	for (int i = 0; i < r - 1; i++)
		HOP_TRY(hop_shape_same(f, "left", i, a->dim[i], "right", i, b->dim[i]));
	return hop_shape_out(f, b->dtype, r, b->dim);
}

/* ---- evaluation ---- */

typedef struct linear {
	bool    single;               /* every step is rounded to f32 */
	int64_t n, m;
	double *a, *x;                /* rows after each other */
} linear;

static double rnd(const linear *s, double v)
{
	return s->single ? (float)v : v;
}

/* The first row from k on whose element in column k is the largest; a NaN is larger than all. */
static int64_t pivot(const linear *s, int64_t k)
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

/* Row i loses f times row k, from column `from` on. */
static void lose(const linear *s, double *v, int64_t cols, int64_t i, int64_t k, double f,
                 int64_t from)
{
	for (int64_t j = from; j < cols; j++)
		v[i * cols + j] = rnd(s, v[i * cols + j] - rnd(s, f * v[k * cols + j]));
}

/* False: there is no solution, or no number. */
static bool eliminate(const linear *s)
{
	for (int64_t k = 0; k < s->n; k++) {
		int64_t p = pivot(s, k);
		exchange(s->a, s->n, k, p);
		exchange(s->x, s->m, k, p);
		double d = s->a[k * s->n + k];
		if (d == 0 || isnan(d))
			return false;
		for (int64_t i = k + 1; i < s->n; i++) {
			double f = rnd(s, s->a[i * s->n + k] / d);
			lose(s, s->a, s->n, i, k, f, k + 1);
			lose(s, s->x, s->m, i, k, f, 0);
		}
	}
	return true;
}

static void substitute(const linear *s)
{
	for (int64_t k = s->n; k-- > 0;) {
		for (int64_t j = 0; j < s->m; j++)
			s->x[k * s->m + j] = rnd(s, s->x[k * s->m + j] / s->a[k * s->n + k]);
		for (int64_t i = 0; i < k; i++)
			lose(s, s->x, s->m, i, k, s->a[i * s->n + k], 0);
	}
}

hop_status hop_eval_solve(hop_interp *p, const hop_node *n, hop_array *const *in,
                          hop_array **out)
{
	const hop_array *a = in[0], *b = in[1];
	hop_mark mark = hop_mark_at(&p->env->tmp);
	linear s = { hop_dtype_computes(a->dtype) == HOP_f32, a->dim[a->rank - 1],
	             b->dim[b->rank - 1], NULL, NULL };
	(void)n;
	s.a = HOP_NEWN(&p->env->tmp, double, s.n * s.n);
	s.x = HOP_NEWN(&p->env->tmp, double, s.n * s.m);
	for (int64_t at = 0, from = 0; at < b->count; at += s.n * s.m, from += s.n * s.n) {
		for (int64_t i = 0; i < s.n * s.n; i++)
			s.a[i] = hop_array_f(a, from + i);
		for (int64_t i = 0; i < s.n * s.m; i++)
			s.x[i] = hop_array_f(b, at + i);
		bool ok = eliminate(&s);
		if (ok)
			substitute(&s);
		for (int64_t i = 0; i < s.n * s.m; i++)
			hop_array_set_f(out[0], at + i, ok ? s.x[i] : NAN);
	}
	hop_rewind(&p->env->tmp, mark);
	return HOP_OK;
}

/* ---- derivatives ---- */

/* The product of matrices, summed over axis i of one and k of the other, counted from the
 * first of the matrix. */
static hop_val product(hop_build *b, hop_val x, int i, hop_val y, int k)
{
	int64_t batch[HOP_MAXRANK], lead = hop_typeof(b, x)->rank - 2, xs = lead + i, ys = lead + k;
	for (int64_t a = 0; a < lead; a++)
		batch[a] = a;
	return hop_emit_dot(b, x, y, (hop_ints){ lead, batch }, (hop_ints){ lead, batch },
	                    (hop_ints){ 1, &xs }, (hop_ints){ 1, &ys });
}

/* a x = b: a dx = db - da x */
hop_status hop_jvp_solve(hop_build *b, hop_rule *r)
{
	hop_val d = r->din[1];
	if (!hop_is_zero(r->din[0]))
		d = hop_emit_acc(b, d, hop_emit(b, neg, product(b, r->din[0], 1, r->out[0], 0)));
	r->dout[0] = hop_emit(b, solve, r->in[0], d);
	return HOP_OK;
}

/* The cotangent of b solves equations with the transposed matrix; that of a is minus its
 * product with x. */
hop_status hop_vjp_solve(hop_build *b, hop_rule *r)
{
	int64_t turn[HOP_MAXRANK];
	int rank = hop_typeof(b, r->in[0])->rank;
	for (int i = 0; i < rank; i++)
		turn[i] = i < rank - 2 ? i : i == rank - 2 ? rank - 1 : rank - 2;
	hop_val c = hop_emit(b, solve, hop_emit_permute(b, r->in[0], turn), r->dout[0]);
	if (r->act[0])
		r->din[0] = hop_emit(b, neg, product(b, c, 1, r->out[0], 1));
	if (r->act[1])
		r->din[1] = c;
	return HOP_OK;
}

/* ---- batching ---- */

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
	x = hop_emit(b, solve, r->in[0], hop_emit_reshape(b, x, rank - 1, dim));
	return hop_emit_permute(b, hop_emit_reshape(b, x, rank, wide->dim), out);
}

hop_status hop_batch_solve(hop_build *b, hop_rule *r)
{
	hop_val x = r->bin[0] ? hop_emit(b, solve, r->in[0], hop_rule_lead(b, r, 1))
	                      : by_columns(b, r);
	return hop_rule_batched(b, r, x);
}

/* ---- lowering ---- */

/* Operand k where it may be overwritten, its matrices column after column, in what is computed
 * in. */
static hop_status copied(hop_lower *l, const hop_node *n, int k, hop_view *out)
{
	const hop_type *t = hop_lower_in(l, n, k);
	hop_size dim[HOP_MAXRANK];
	int turn[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++) {
		turn[i] = i < t->rank - 2 ? i : i == t->rank - 2 ? t->rank - 1 : t->rank - 2;
		dim[i] = t->dim[turn[i]];
	}
	hop_view v = hop_lower_temp(l, hop_type_get(l->env, hop_dtype_computes((hop_dtype)t->dtype),
	                                            t->rank, dim));
	*out = hop_view_permuted(l, &v, t->rank, turn);
	return hop_lower_store_arg(l, n, k, out);
}

static hop_targ columns(hop_lower *l, const hop_view *v, hop_size rows, hop_size cols)
{
	return (hop_targ){ hop_lower_addr(l, v->buf, v->base),
	                   { hop_size_mul(l->env, rows, cols), hop_size_int(1), rows },
	                   HOP_READ | HOP_WRITE };
}

hop_status hop_lower_solve(hop_lower *l, const hop_node *n)
{
	const hop_type *ct = hop_lower_out(l, n, 0);
	hop_size batch = hop_size_int(1), rows = ct->dim[ct->rank - 2], cols = ct->dim[ct->rank - 1];
	hop_view a, x, p, to = l->q.dest;
	if (l->q.ask != HOP_ASK_STORE) {
		hop_lower_must(l);
		return HOP_OK;
	}
	for (int i = 0; i < ct->rank - 2; i++)
		batch = hop_size_mul(l->env, batch, ct->dim[i]);
	HOP_TRY(copied(l, n, 0, &a));
	HOP_TRY(copied(l, n, 1, &x));
	p = hop_lower_temp(l, hop_type_get(l->env, HOP_i32, 1, &rows));
	hop_tile *t = HOP_NEW(l->q.a, hop_tile);
	*t = (hop_tile){ .of = &hop_template_solve, .extent = { batch, rows, cols },
	                 .dtype = hop_dtype_computes((hop_dtype)ct->dtype),
	                 .arg = { columns(l, &a, rows, rows),
	                          { hop_lower_addr(l, p.buf, p.base), { hop_size_int(1) }, HOP_WRITE },
	                          columns(l, &x, rows, cols) } };
	l->q.b.block = l->q.cur->block;
	hop_l_tile(&l->q.b, t);
	hop_view_copy(l, ct, &x, &to);
	return HOP_OK;
}
