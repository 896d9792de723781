/* reduce.c -- many elements to one: sum, prod, amax and amin, any and all along axes. Averages,
 * norms and the like are composites and not here; where the extreme is, is said in arg.c. */
#include "hops/hops.h"
#include "ops/shape.h"

#include <math.h>

/* sum x {axes} -- add the elements along axes; none gives x, an empty axis gives 0
 * prod x {axes} -- multiply the elements along axes; an empty axis gives 1
 * amax x {axes} -- the largest element along axes; of bool: any of them
 * amin x {axes} -- the smallest element along axes; of bool: all of them
 * any x {axes} -- is one of the bools along axes true; none is on an empty axis
 * all x {axes} -- are all of the bools along axes true; they are on an empty axis
 * The axes increase and disappear from the result. A NaN wins; an empty axis gives the least
 * value of the dtype, or the greatest. */
hop_status hop_infer_reduce(hop_infer *f)
{
	hop_ints axes = hop_reduce_axes(f->attr);
	const hop_type *t = f->in[0];
	hop_size dim[HOP_MAXRANK];
	int64_t keep[HOP_MAXDIM];
	HOP_TRY(hop_shape_axes(f, axes, t->rank));
	if ((f->op == HOP_OP_sum || f->op == HOP_OP_prod) && hop_dtype_bool((hop_dtype)t->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: bool cannot be %s: cast first",
		                      hop_opname(f), f->op == HOP_OP_sum ? "added" : "multiplied");
	if ((f->op == HOP_OP_any || f->op == HOP_OP_all) && !hop_dtype_bool((hop_dtype)t->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand is %s, not bool: compare first",
		                      hop_opname(f), hop_dtype_name(t->dtype));
	int n = hop_axes_rest(axes, t->rank, keep);
	for (int i = 0; i < n; i++)
		dim[i] = t->dim[keep[i]];
	return hop_shape_out(f, t->dtype, n, dim);
}

/* ---- evaluation ---- */

/* One result is the reduction of x at base + at[0 .. n-1]. */
typedef void fold_fn(hop_array *o, int64_t i, const hop_array *x, int64_t base,
                     const int64_t *at, int64_t n);

static hop_status reduce(hop_interp *p, hop_ints axes, const hop_array *x, hop_array *o,
                         fold_fn *fold)
{
	hop_mark m = hop_mark_at(&p->env->tmp);
	int64_t keep[HOP_MAXDIM], nout, nred;
	int k = hop_axes_rest(axes, x->rank, keep);
	int64_t *base = hop_offsets(p, x, k, keep, &nout);
	int64_t *at = hop_offsets(p, x, (int)axes.n, axes.v, &nred);
	HOP_ASSERT(nout == o->count);
	for (int64_t i = 0; i < nout; i++)
		fold(o, i, x, base[i], at, nred);
	hop_rewind(&p->env->tmp, m);
	return HOP_OK;
}

/* Halves of halves, and f32 adds up in double: the interpreter is what others are
 * measured against. */
static double sum_floats(const hop_array *x, int64_t base, const int64_t *at, int64_t n)
{
	double s = 0;
	int64_t h = n / 2;
	if (n > 256)
		return sum_floats(x, base, at, h) + sum_floats(x, base, at + h, n - h);
	for (int64_t k = 0; k < n; k++)
		s += hop_array_f(x, base + at[k]);
	return s;
}

static void fold_sum(hop_array *o, int64_t i, const hop_array *x, int64_t base,
                     const int64_t *at, int64_t n)
{
	if (hop_dtype_real(x->dtype)) {
		hop_array_set_f(o, i, sum_floats(x, base, at, n));
	} else {
		uint64_t s = 0;
		for (int64_t k = 0; k < n; k++)
			s += (uint64_t)hop_array_i(x, base + at[k]);
		hop_array_set_i(o, i, (int64_t)s);
	}
}

static void fold_prod(hop_array *o, int64_t i, const hop_array *x, int64_t base,
                      const int64_t *at, int64_t n)
{
	double f = 1;
	uint64_t m = 1;
	for (int64_t k = 0; k < n; k++)
		if (hop_dtype_float(x->dtype))
			f *= hop_array_f(x, base + at[k]);
		else
			m *= (uint64_t)hop_array_i(x, base + at[k]);
	if (hop_dtype_float(x->dtype))
		hop_array_set_f(o, i, f);
	else
		hop_array_set_i(o, i, (int64_t)m);
}

/* A NaN wins. Integers start from the value that loses against all. */
static void extreme(hop_array *o, int64_t i, const hop_array *x, int64_t base,
                    const int64_t *at, int64_t n, bool max)
{
	bool real = hop_dtype_real(x->dtype);
	int64_t m = real ? 0 : max ? hop_dtype_least(x->dtype) : hop_dtype_most(x->dtype);
	double f = max ? -INFINITY : INFINITY;
	for (int64_t k = 0; k < n; k++)
		if (real) {
			double v = hop_array_f(x, base + at[k]);
			f = isnan(v) || (max ? v > f : v < f) ? v : f;
		} else {
			int64_t v = hop_array_i(x, base + at[k]);
			m = (max ? v > m : v < m) ? v : m;
		}
	if (real)
		hop_array_set_f(o, i, f);
	else
		hop_array_set_i(o, i, m);
}

static void fold_amax(hop_array *o, int64_t i, const hop_array *x, int64_t base,
                      const int64_t *at, int64_t n)
{
	extreme(o, i, x, base, at, n, true);
}

static void fold_amin(hop_array *o, int64_t i, const hop_array *x, int64_t base,
                      const int64_t *at, int64_t n)
{
	extreme(o, i, x, base, at, n, false);
}

hop_status hop_eval_sum(hop_interp *p, const hop_node *n, hop_array *const *in,
                        hop_array **out)
{
	return reduce(p, HOP_ATTR(n, sum)->axes, in[0], out[0], fold_sum);
}

hop_status hop_eval_prod(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	return reduce(p, HOP_ATTR(n, prod)->axes, in[0], out[0], fold_prod);
}

/* Of amax, and of bools any. */
hop_status hop_eval_amax(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	return reduce(p, hop_reduce_axes(n->attr), in[0], out[0], fold_amax);
}

/* Of amin, and of bools all. */
hop_status hop_eval_amin(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	return reduce(p, hop_reduce_axes(n->attr), in[0], out[0], fold_amin);
}

/* ---- derivatives ---- */

/* A reduced value, repeated along the axes it lost, as large as x. */
static hop_val widen(hop_build *b, hop_val v, const hop_type *t, hop_ints axes)
{
	int64_t keep[HOP_MAXDIM];
	hop_axes_rest(axes, t->rank, keep);
	return axes.n ? hop_emit_broadcast(b, v, t->rank, t->dim, keep) : v;
}

hop_status hop_vjp_sum(hop_build *b, hop_rule *r)
{
	r->din[0] = widen(b, r->dout[0], hop_typeof(b, r->in[0]), HOP_ATTR(r->n, sum)->axes);
	return HOP_OK;
}

/* p, x -> p x, p: the products of what came before, of m elements side by side. */
static hop_graph *before(hop_build *b, hop_dtype d, hop_size m)
{
	hop_build body;
	hop_graph *g = NULL;
	hop_build_open(&body, b->env);
	if (!hop_size_const(m))
		m = hop_size_sym(b->env, hop_build_sym(&body, (hop_range){ 0, HOP_SIZE_MAX }, NULL));
	const hop_type *t = hop_type_get(b->env, d, 1, &m);
	hop_val p = hop_build_param(&body, t), x = hop_build_param(&body, t);
	hop_status st = hop_seal(&body, 2, (hop_val[]){ hop_emit(&body, mul, p, x), p }, NULL, &g);
	if (st && !b->st)
		b->st = st;
	return g;
}

/* For each element the product of all others: of those before it times those behind it. Without
 * a division: zeros do no harm, to its own derivatives neither. x as [n, m], n reduced. */
static hop_val others(hop_build *b, hop_val x, hop_ints axes)
{
	const hop_type *t = hop_typeof(b, x);
	int64_t to[HOP_MAXDIM], back[HOP_MAXDIM];
	hop_size dim[HOP_MAXDIM], flat[2] = { hop_size_int(1), hop_size_int(1) };
	for (int64_t i = 0; i < axes.n; i++)
		to[i] = axes.v[i];
	hop_axes_rest(axes, t->rank, to + axes.n);
	for (int i = 0; i < t->rank; i++) {
		hop_size *into = &flat[i >= axes.n];
		dim[i] = t->dim[to[i]];
		back[to[i]] = i;
		*into = hop_size_mul(b->env, *into, dim[i]);
	}
	hop_graph *body = before(b, (hop_dtype)t->dtype, flat[1]);
	x = hop_emit_reshape(b, hop_emit_permute(b, x, to), 2, flat);
	if (b->st)
		return HOP_BAD;
	const hop_type *side = hop_type_get(b->env, (hop_dtype)t->dtype, 1, &flat[1]);
	hop_val one = hop_emit_full(b, side, 1), ahead[2], behind[2];
	hop_scan_args s = { .body = body, .sargs = { !hop_size_const(flat[1]), &flat[1] },
	                    .ncarry = 1, .nx = 1, .length = flat[0], .count = HOP_ZERO,
	                    .carry = &one, .x = &x };
	hop_emit_scan(b, &s, ahead);
	s.reverse = true;
	if (hop_emit_scan(b, &s, behind))
		return HOP_BAD;
	x = hop_emit_reshape(b, hop_emit(b, mul, ahead[1], behind[1]), t->rank, dim);
	return hop_emit_permute(b, x, back);
}

hop_status hop_jvp_prod(hop_build *b, hop_rule *r)
{
	hop_ints axes = HOP_ATTR(r->n, prod)->axes;
	r->dout[0] = !axes.n ? r->din[0] :
	             hop_emit_sum(b, hop_emit(b, mul, r->din[0], others(b, r->in[0], axes)),
	                          (int)axes.n, axes.v);
	return HOP_OK;
}

hop_status hop_vjp_prod(hop_build *b, hop_rule *r)
{
	hop_ints axes = HOP_ATTR(r->n, prod)->axes;
	hop_val each = widen(b, r->dout[0], hop_typeof(b, r->in[0]), axes);
	r->din[0] = axes.n ? hop_emit(b, mul, each, others(b, r->in[0], axes)) : each;
	return HOP_OK;
}

/* Which elements are the extreme one, and how many there are: those that tie share. */
static hop_val extremes(hop_build *b, hop_rule *r, hop_ints axes, hop_val *out_count)
{
	const hop_type *t = hop_typeof(b, r->in[0]);
	hop_val is = hop_emit(b, eq, r->in[0], widen(b, r->out[0], t, axes));
	*out_count = hop_emit_sum(b, hop_emit_cast(b, is, t->dtype), (int)axes.n, axes.v);
	return is;
}

/* Of amax and amin: the average tangent of those elements. The count is 0 for NaN and for
 * empty axes: then so is the tangent. */
hop_status hop_jvp_amax(hop_build *b, hop_rule *r)
{
	hop_ints axes = hop_reduce_axes(r->n->attr);
	const hop_type *t = hop_typeof(b, r->in[0]), *o = hop_typeof(b, r->out[0]);
	hop_val count, is = extremes(b, r, axes, &count);
	hop_val some = hop_emit(b, select, is, r->din[0], hop_emit_zeros(b, t));
	hop_val total = hop_emit_sum(b, some, (int)axes.n, axes.v);
	r->dout[0] = hop_emit(b, div, total, hop_emit(b, max, count, hop_emit_full(b, o, 1)));
	return HOP_OK;
}

hop_status hop_vjp_amax(hop_build *b, hop_rule *r)
{
	hop_ints axes = hop_reduce_axes(r->n->attr);
	const hop_type *t = hop_typeof(b, r->in[0]), *o = hop_typeof(b, r->out[0]);
	hop_val count, is = extremes(b, r, axes, &count);
	hop_val one = hop_emit(b, max, count, hop_emit_full(b, o, 1));
	hop_val share = widen(b, hop_emit(b, div, r->dout[0], one), t, axes);
	r->din[0] = hop_emit(b, select, is, share, hop_emit_zeros(b, t));
	return HOP_OK;
}

/* ---- batching ---- */

hop_status hop_batch_reduce(hop_build *b, hop_rule *r)
{
	int64_t v[HOP_MAXDIM];
	struct hop_attr_sum a = { .axes = hop_axes_shift(hop_reduce_axes(r->n->attr), false, v) };
	return hop_rule_batched(b, r, a.axes.n ? hop_emit_op(b, r->n->op, &a, 1, r->in) : r->in[0]);
}
