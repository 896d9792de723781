/* fold.c -- evaluate what is known, and identities of single nodes.
 *
 * needs: nothing.  keeps: everything.  Rules, all of them exact but for the first:
 *  1. x + 0 is x. For floats this differs where x is -0.0: the sum is +0.0. Sums that
 *     start from zeros are everywhere in derivatives, and no result depends on the sign.
 *  2. 0 * x is not 0 for floats: x may be infinite or NaN.
 *  3. Nothing is reassociated: a sum of sums stays two sums.
 * An identity that would change a type, where two sizes are equal only at run time, is not
 * taken: rewrite.c sees to that. */
#include "opt/opt.h"
#include "opt/fold.h"

#include <math.h>
#include <string.h>

#include "ir/rule.h"

/* ---- constants ---- */

static hop_dtype dtype(const hop_rw *w, hop_val v)
{
	return (hop_dtype)hop_typeof(&w->b, v)->dtype;
}

/* Every element of v is x, and of that sign. */
static bool is(const hop_rw *w, hop_val v, double x)
{
	const void *p = hop_fold_splat(w, v);
	if (!p)
		return false;
	double f = hop_elem_f(dtype(w, v), p);
	if (hop_dtype_real(dtype(w, v)))
		return f == x && signbit(f) == signbit(x);
	return !signbit(x) && hop_elem_i(dtype(w, v), p) == (int64_t)x;
}

static bool is_float(const hop_rw *w, hop_val v)
{
	return hop_dtype_real(dtype(w, v));
}

/* The splatted element of v, repeated to another type of the same dtype. */
static hop_val spread(hop_rw *w, hop_val v, const hop_type *t)
{
	const hop_type *one = hop_type_scalar(w->env, dtype(w, v));
	hop_val c = hop_emit_data(&w->b, one, hop_fold_splat(w, v));
	return hop_emit_broadcast(&w->b, c, t->rank, t->dim, NULL);
}

/* An elementwise op of repeated scalars is a repeated scalar, whatever the sizes. */
static bool points(hop_rw *w, const hop_node *n, const hop_val *in, const void *attr,
                   const hop_type *t, hop_val *out)
{
	const hop_data **d = HOP_NEWN(&w->env->tmp, const hop_data *, n->nin);
	if (!n->nin || n->nin > 3)
		return false;
	for (uint32_t k = 0; k < n->nin; k++) {
		const void *one = hop_fold_splat(w, in[k]);
		if (!one)
			return false;
		hop_data *made = HOP_NEW(&w->env->tmp, hop_data);
		*made = (hop_data){ hop_type_scalar(w->env, dtype(w, in[k])),
		                    hop_dtype_bytes(dtype(w, in[k])), one };
		d[k] = made;
	}
	hop_val v;
	if (!hop_fold_eval(w, n, attr, d, hop_type_scalar(w->env, (hop_dtype)t->dtype), &v))
		return false;
	*out = hop_emit_broadcast(&w->b, v, t->rank, t->dim, NULL);
	return true;
}

static bool evaluate(hop_rw *w, const hop_node *n, const hop_val *in, const void *attr,
                     hop_val *out)
{
	int flags = hop_optab[n->op].flags;
	if (!(flags & HOP_F_P) || flags & (HOP_F_R | HOP_F_W) || !n->nin || n->nout != 1)
		return false;
	const hop_type *t = hop_rw_type(w, n, 0);
	if (flags & HOP_F_E && points(w, n, in, attr, t, out))
		return true;
	if (flags & HOP_F_V && hop_fold_splat(w, in[0])) {
		*out = spread(w, in[0], t);
		return true;
	}
	const hop_data **d = HOP_NEWN(&w->env->tmp, const hop_data *, n->nin);
	for (uint32_t k = 0; k < n->nin; k++)
		if (!(d[k] = hop_fold_data(w, in[k])))
			return false;
	return hop_fold_eval(w, n, attr, d, t, out);
}

/* ---- identities: each gives a value that is there already, or HOP_BAD ---- */

static hop_val fold_add(hop_rw *w, const hop_val *in)
{
	for (int k = 0; k < 2; k++)
		if (is(w, in[k], 0) || is(w, in[k], -0.0))
			return in[1 - k];
	return HOP_BAD;
}

static hop_val fold_sub(hop_rw *w, const hop_val *in)
{
	if (is(w, in[1], 0))
		return in[0];
	if (hop_same(in[0], in[1]) && !is_float(w, in[0]))
		return hop_emit_zeros(&w->b, hop_typeof(&w->b, in[0]));
	return HOP_BAD;
}

static hop_val fold_mul(hop_rw *w, const hop_val *in)
{
	for (int k = 0; k < 2; k++) {
		if (is(w, in[k], 1))
			return in[1 - k];
		if (is(w, in[k], 0) && !is_float(w, in[k]))
			return in[k];
	}
	return HOP_BAD;
}

/* On integers these are bitwise: only zero is neutral or absorbing there. */
static hop_val fold_and(hop_rw *w, const hop_val *in)
{
	for (int k = 0; k < 2; k++) {
		if (is(w, in[k], 1) && hop_dtype_bool(dtype(w, in[k])))
			return in[1 - k];
		if (is(w, in[k], 0))
			return in[k];
	}
	return hop_same(in[0], in[1]) ? in[0] : HOP_BAD;
}

static hop_val fold_or(hop_rw *w, const hop_val *in)
{
	for (int k = 0; k < 2; k++) {
		if (is(w, in[k], 0))
			return in[1 - k];
		if (is(w, in[k], 1) && hop_dtype_bool(dtype(w, in[k])))
			return in[k];
	}
	return hop_same(in[0], in[1]) ? in[0] : HOP_BAD;
}

/* f(f(x)) = x */
static hop_val fold_twice(hop_rw *w, int op, hop_val x)
{
	const hop_node *n = hop_rw_def(w, x, op);
	return n ? n->in[0] : HOP_BAD;
}

static hop_val fold_select(hop_rw *w, const hop_val *in)
{
	if (is(w, in[0], 1) || hop_same(in[1], in[2]))
		return in[1];
	if (is(w, in[0], 0))
		return in[2];
	const hop_node *not = hop_rw_def(w, in[0], HOP_OP_not);
	return not ? hop_emit(&w->b, select, not->in[0], in[2], in[1]) : HOP_BAD;
}

/* There and back without loss: what the middle dtype holds exactly. */
static hop_val fold_cast(hop_rw *w, hop_val x, hop_dtype to)
{
	if (dtype(w, x) == to)
		return x;
	const hop_node *n = hop_rw_def(w, x, HOP_OP_cast);
	if (n && dtype(w, n->in[0]) == to && hop_dtype_holds(dtype(w, x), to))
		return n->in[0];
	return HOP_BAD;
}

/* ---- moving ---- */

static bool sizes_are(hop_sizes a, const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (a.n != t->rank || !hop_size_eq(a.v[i], t->dim[i]))
			return false;
	return a.n == t->rank;
}

static bool whole(hop_sizes start, hop_sizes dims, hop_ints step, const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (!hop_size_is(start.v[i], 0) || step.v[i] != 1)
			return false;
	return sizes_are(dims, t);
}

static hop_val fold_broadcast(hop_rw *w, hop_val x, const struct hop_attr_broadcast *a)
{
	const hop_type *t = hop_typeof(&w->b, x);
	int64_t more = a->dims.n - t->rank, ones = 0;
	if (!more)
		return x;
	for (int64_t i = 0, k = 0; i < a->dims.n; i++) {
		if (k < t->rank && a->axes.v[k] == i)
			k++;
		else
			ones += hop_size_is(a->dims.v[i], 1);
	}
	if (ones == more && t->rank)         /* repeated once: a scalar stays recognisable */
		return hop_emit_reshape(&w->b, x, (int)a->dims.n, a->dims.v);
	const hop_node *n = hop_rw_def(w, x, HOP_OP_broadcast);
	if (!n)
		return HOP_BAD;
	hop_ints in = HOP_ATTR(n, broadcast)->axes;
	int64_t axes[HOP_MAXRANK];
	for (int64_t i = 0; i < in.n; i++)
		axes[i] = a->axes.v[in.v[i]];
	return hop_emit_broadcast(&w->b, n->in[0], (int)a->dims.n, a->dims.v, axes);
}

static hop_val fold_reshape(hop_rw *w, hop_val x, const struct hop_attr_reshape *a)
{
	if (sizes_are(a->dims, hop_typeof(&w->b, x)))
		return x;
	const hop_node *n = hop_rw_def(w, x, HOP_OP_reshape);
	return n ? hop_emit_reshape(&w->b, n->in[0], (int)a->dims.n, a->dims.v) : HOP_BAD;
}

/* A product with its free axes swapped is the product of the swapped operands. */
static hop_val swap_dot(hop_rw *w, const hop_node *n, hop_val x, hop_ints axes)
{
	const hop_node *d = hop_rw_def(w, x, HOP_OP_dot);
	if (!d || w->uses[n->in[0].id] > 1)
		return HOP_BAD;
	const struct hop_attr_dot *a = HOP_ATTR(d, dot);
	int64_t nb = a->lbatch.n;
	int64_t l = hop_typeof(&w->b, d->in[0])->rank - nb - a->lsum.n, r = axes.n - nb - l;
	for (int64_t i = 0; i < axes.n; i++) {
		int64_t from = i < nb ? i : i < nb + r ? i + l : i - r;
		if (axes.v[i] != from)
			return HOP_BAD;
	}
	return hop_emit_dot_like(&w->b, d->in[1], d->in[0], &(struct hop_attr_dot){
		.lbatch = a->rbatch, .rbatch = a->lbatch, .lsum = a->rsum, .rsum = a->lsum,
		.dtype = a->dtype
	});
}

static hop_val fold_permute(hop_rw *w, const hop_node *n, hop_val x,
                            const struct hop_attr_permute *a)
{
	int64_t axes[HOP_MAXRANK];
	const hop_node *p = hop_rw_def(w, x, HOP_OP_permute);
	if (p) {
		for (int64_t i = 0; i < a->axes.n; i++)
			axes[i] = HOP_ATTR(p, permute)->axes.v[a->axes.v[i]];
		return hop_emit_permute(&w->b, p->in[0], axes);
	}
	int64_t i = 0;
	while (i < a->axes.n && a->axes.v[i] == i)
		i++;
	return i == a->axes.n ? x : swap_dot(w, n, x, a->axes);
}

static hop_val fold_slice(hop_rw *w, hop_val x, const struct hop_attr_slice *a)
{
	if (whole(a->start, a->dims, a->step, hop_typeof(&w->b, x)))
		return x;
	const hop_node *p = hop_rw_def(w, x, HOP_OP_pad);
	if (!p || !sizes_are(a->dims, hop_typeof(&w->b, p->in[0])))
		return HOP_BAD;
	for (int64_t i = 0; i < a->start.n; i++)
		if (!hop_size_eq(a->start.v[i], HOP_ATTR(p, pad)->start.v[i]) ||
		    a->step.v[i] != HOP_ATTR(p, pad)->step.v[i])
			return HOP_BAD;
	return p->in[0];
}

static hop_val fold_pad(hop_rw *w, hop_val x, const struct hop_attr_pad *a)
{
	const hop_type *t = hop_typeof(&w->b, x);
	if (whole(a->start, a->dims, a->step, t))
		return x;
	if (!is(w, x, 0))
		return HOP_BAD;
	return spread(w, x, hop_type_get(w->env, (hop_dtype)t->dtype, t->rank, a->dims.v));
}

static hop_val fold_sum(hop_rw *w, const hop_node *n, hop_val x,
                        const struct hop_attr_sum *a)
{
	const hop_type *t = hop_typeof(&w->b, x), *to = hop_rw_type(w, n, 0);
	if (is(w, x, 0))
		return spread(w, x, to);
	for (int64_t i = 0; i < a->axes.n; i++)
		if (!hop_size_is(t->dim[a->axes.v[i]], 1))
			return HOP_BAD;
	const hop_node *r = hop_rw_def(w, x, HOP_OP_reshape);
	return hop_emit_reshape(&w->b, r ? r->in[0] : x, to->rank, to->dim);
}

/* Axes of a permuted operand, seen without the permutation; false if its free axes would
 * come in another order. */
static bool unpermute(const hop_node *p, hop_ints batch, hop_ints sum, int64_t *b, int64_t *s)
{
	hop_ints axes = HOP_ATTR(p, permute)->axes;
	bool used[HOP_MAXRANK] = { false };
	for (int64_t i = 0; i < batch.n; i++) {
		b[i] = axes.v[batch.v[i]];
		used[batch.v[i]] = true;
	}
	for (int64_t i = 0; i < sum.n; i++) {
		s[i] = axes.v[sum.v[i]];
		used[sum.v[i]] = true;
	}
	int64_t last = -1;
	for (int64_t i = 0; i < axes.n; i++) {
		if (used[i])
			continue;
		if (axes.v[i] < last)
			return false;
		last = axes.v[i];
	}
	return true;
}

/* Numbers that are not computed in the dtype of the result are cast before: templates are of one
 * dtype. 16-bit floats are, in f32. */
static hop_val widened_dot(hop_rw *w, const hop_val *in, const struct hop_attr_dot *a)
{
	hop_dtype had = (hop_dtype)hop_typeof(&w->b, in[0])->dtype, d = (hop_dtype)a->dtype;
	struct hop_attr_dot plain = *a;
	plain.dtype = HOP_bool;
	if (!d || (had != d && hop_dtype_computes(had) == d))
		return HOP_BAD;
	return hop_emit_dot_like(&w->b, hop_emit_cast(&w->b, in[0], d), hop_emit_cast(&w->b, in[1], d),
	                         &plain);
}

static hop_val fold_dot(hop_rw *w, const hop_val *in, const struct hop_attr_dot *a)
{
	const hop_node *l = hop_rw_def(w, in[0], HOP_OP_permute);
	const hop_node *r = hop_rw_def(w, in[1], HOP_OP_permute);
	int64_t v[4][HOP_MAXRANK];
	struct hop_attr_dot d = *a;
	if (l && unpermute(l, a->lbatch, a->lsum, v[0], v[1])) {
		d.lbatch.v = v[0];
		d.lsum.v = v[1];
	} else {
		l = NULL;
	}
	if (r && unpermute(r, a->rbatch, a->rsum, v[2], v[3])) {
		d.rbatch.v = v[2];
		d.rsum.v = v[3];
	} else {
		r = NULL;
	}
	if (!l && !r)
		return widened_dot(w, in, a);
	return hop_emit_dot_like(&w->b, l ? l->in[0] : in[0], r ? r->in[0] : in[1], &d);
}

/* ---- one node ---- */

static hop_val simplify(hop_rw *w, const hop_node *n, const hop_val *in, const void *attr)
{
	switch (n->op) {
	case HOP_OP_constant: {
		const hop_data *d = ((const struct hop_attr_constant *)attr)->value;
		return hop_fold_emit(w, d->type, d->bytes);
	}
	case HOP_OP_size_of: {
		hop_size s = ((const struct hop_attr_size_of *)attr)->size;
		return hop_size_const(s) ? hop_emit_size(&w->b, s) : HOP_BAD;
	}
	case HOP_OP_add:       return fold_add(w, in);
	case HOP_OP_sub:       return fold_sub(w, in);
	case HOP_OP_mul:       return fold_mul(w, in);
	case HOP_OP_div:       return is(w, in[1], 1) ? in[0] : HOP_BAD;
	case HOP_OP_max:
	case HOP_OP_min:       return hop_same(in[0], in[1]) ? in[0] : HOP_BAD;
	case HOP_OP_and:       return fold_and(w, in);
	case HOP_OP_or:        return fold_or(w, in);
	case HOP_OP_neg:
	case HOP_OP_not:       return fold_twice(w, n->op, in[0]);
	case HOP_OP_select:    return fold_select(w, in);
	case HOP_OP_cast:
		return fold_cast(w, in[0],
		                 (hop_dtype)((const struct hop_attr_cast *)attr)->dtype);
	case HOP_OP_broadcast: return fold_broadcast(w, in[0], attr);
	case HOP_OP_reshape:   return fold_reshape(w, in[0], attr);
	case HOP_OP_permute:   return fold_permute(w, n, in[0], attr);
	case HOP_OP_slice:     return fold_slice(w, in[0], attr);
	case HOP_OP_pad:       return fold_pad(w, in[0], attr);
	case HOP_OP_concat:    return n->nin == 1 ? in[0] : HOP_BAD;
	/* of the whole: the start is clamped to 0 */
	case HOP_OP_dynslice:
		return hop_rw_type(w, n, 0) == hop_typeof(&w->b, in[0]) ? in[0] : HOP_BAD;
	case HOP_OP_dynupdate:
		return hop_typeof(&w->b, in[1]) == hop_typeof(&w->b, in[0]) ? in[1] : HOP_BAD;
	case HOP_OP_sum:       return fold_sum(w, n, in[0], attr);
	case HOP_OP_dot:       return fold_dot(w, in, attr);
	default:               return HOP_BAD;
	}
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	if (hop_optab[n->op].flags & HOP_F_R)
		return hop_fold_bodies(w, n, in, attr, out);
	switch (n->op) {
	case HOP_OP_broadcast:
	case HOP_OP_as_size:       /* a repeated scalar stays one; a bound symbol stays bound */
		break;
	default:
		if (evaluate(w, n, in, attr, out))
			return w->b.st;
	}
	if ((hop_optab[n->op].flags & (HOP_F_P | HOP_F_W)) == HOP_F_P) {
		out[0] = simplify(w, n, in, attr);
		if (w->b.st || !hop_is_bad(out[0]))
			return w->b.st;
	}
	return hop_rw_keep(w, n, in, attr, out);
}

hop_status hop_opt_fold(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'f', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
