/* index.c -- ops whose indices are values: dynslice, dynupdate, gather, scatter. Types and
 * evaluation; derivatives and batching are in index_ad.c and scatter_ad.c. An index is clamped,
 * never an error: a lane that is not taken must not trap. */
#include "ops/shape.h"

#include <string.h>

/* ---- dynslice, dynupdate ---- */

/* Operands from `first` on are the starts, one i64 scalar an axis. */
static hop_status check_starts(hop_infer *f, uint32_t first, int rank)
{
	if (f->nin != first + (uint32_t)rank)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand has %d axes, %lld starts are "
		                      "given", hop_opname(f), rank,
		                      (long long)f->nin - (long long)first);
	for (uint32_t i = first; i < f->nin; i++)
		if (!hop_type_is_scalar(f->in[i], HOP_i64))
			return hop_infer_fail(f, HOP_ETYPE, "%s: the start of axis %u is %s with %d "
			                      "axes, needs an i64 scalar", hop_opname(f), i - first,
			                      hop_dtype_name(f->in[i]->dtype), f->in[i]->rank);
	return HOP_OK;
}

static hop_status check_window(hop_infer *f, const hop_size *narrow, const hop_type *wide)
{
	for (int i = 0; i < wide->rank; i++)
		if (!hop_infer_holds(f, HOP_LE, narrow[i], wide->dim[i]))
			HOP_TRY(hop_infer_le(f, narrow[i], wide->dim[i],
			                     hop_infer_text(f, "a window of {0} on axis %d of size {1}",
			                                    i)));
	return HOP_OK;
}

/* dynslice x start... {dims} -- a window of x whose place is a value
 * One i64 start an axis, clamped to 0 .. size - dim so that the window lies inside. */
hop_status hop_infer_dynslice(hop_infer *f)
{
	hop_sizes dims = ((const struct hop_attr_dynslice *)f->attr)->dims;
	if (!f->nin)
		return hop_infer_fail(f, HOP_ETYPE, "%s: no operands", hop_opname(f));
	const hop_type *t = f->in[0];
	HOP_TRY(check_starts(f, 1, t->rank));
	if (dims.n != t->rank)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand has %d axes, the window "
		                      "%lld", hop_opname(f), t->rank, (long long)dims.n);
	HOP_TRY(check_window(f, dims.v, t));
	return hop_shape_out(f, t->dtype, t->rank, dims.v);
}

/* dynupdate x u start... -- x with the window at start replaced by u
 * The starts are clamped as those of dynslice. */
hop_status hop_infer_dynupdate(hop_infer *f)
{
	if (f->nin < 2)
		return hop_infer_fail(f, HOP_ETYPE, "%s: needs an operand and an update", hop_opname(f));
	const hop_type *t = f->in[0], *u = f->in[1];
	HOP_TRY(hop_shape_dtypes(f, t->dtype, u->dtype));
	if (u->rank != t->rank)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand has %d axes, the update "
		                      "%d", hop_opname(f), t->rank, u->rank);
	HOP_TRY(check_starts(f, 2, t->rank));
	HOP_TRY(check_window(f, u->dim, t));
	f->out[0] = t;
	return HOP_OK;
}

/* ---- gather, scatter ---- */

/* The sizes of what gather takes from x; returns their number through out_rank. */
static hop_status gathered(hop_infer *f, int64_t axis, int64_t nbatch, hop_size *dim,
                           int *out_rank)
{
	const hop_type *t = f->in[0], *ix = f->in[1];
	if (hop_dtype_class(ix->dtype) != HOP_DC_INT)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the index is %s, needs i32 or i64",
		                      hop_opname(f), hop_dtype_name(ix->dtype));
	if (nbatch < 0 || nbatch > ix->rank)
		return hop_infer_fail(f, HOP_EVALUE, "%s: %lld batch axes, the index has %d",
		                      hop_opname(f), (long long)nbatch, ix->rank);
	if (axis < nbatch || axis >= t->rank)
		return hop_infer_fail(f, HOP_EVALUE, "%s: axis %lld of %d axes, %lld of them batch "
		                      "axes", hop_opname(f), (long long)axis, t->rank,
		                      (long long)nbatch);
	int rank = t->rank - 1 + ix->rank - (int)nbatch, n = 0;
	if (rank > HOP_MAXRANK)
		return hop_infer_fail(f, HOP_ESHAPE, "%s: takes a value with %d axes, the most is "
		                      "%d", hop_opname(f), rank, HOP_MAXRANK);
	for (int i = 0; i < nbatch; i++)
		HOP_TRY(hop_shape_same(f, "operand", i, t->dim[i], "index", i, ix->dim[i]));
	for (int i = 0; i < axis; i++)
		dim[n++] = t->dim[i];
	for (int i = (int)nbatch; i < ix->rank; i++)
		dim[n++] = ix->dim[i];
	for (int i = (int)axis + 1; i < t->rank; i++)
		dim[n++] = t->dim[i];
	*out_rank = n;
	if (hop_size_is(t->dim[axis], 0)) {
		bool some = true;
		for (int i = 0; i < n; i++)
			some = some && hop_shape_range(f, dim[i]).lo > 0;
		if (some)
			return hop_infer_fail(f, HOP_ESHAPE, "%s: axis %lld of the operand is empty, the "
			                      "index is not", hop_opname(f), (long long)axis);
	}
	return HOP_OK;
}

/* gather x idx {axis nbatch} -- elements of x along an axis, at given indices
 * The leading nbatch axes of x and idx go together; the axes of idx behind them take the
 * place of `axis` (counted in x). Indices are clamped to 0 .. size-1; from an empty axis
 * come zeros. */
hop_status hop_infer_gather(hop_infer *f)
{
	const struct hop_attr_gather *a = f->attr;
	hop_size dim[HOP_MAXRANK];
	int rank;
	HOP_TRY(gathered(f, a->axis, a->nbatch, dim, &rank));
	return hop_shape_out(f, f->in[0]->dtype, rank, dim);
}

/* scatter x idx u {mode axis nbatch} -- x with u written where gather would read
 * u has the type that gather gives. The mode says how it meets what is there: set, add, mul, min
 * or max. Indices may meet: then one after the other, in row-major order of u, so that of those
 * which set the last one stays. */
hop_status hop_infer_scatter(hop_infer *f)
{
	const struct hop_attr_scatter *a = f->attr;
	const hop_type *t = f->in[0], *u = f->in[2];
	hop_size dim[HOP_MAXRANK];
	int rank;
	if (a->mode < 0 || a->mode >= HOP_NMODE)
		return hop_infer_fail(f, HOP_EVALUE, "%s: there is no mode %lld", hop_opname(f),
		                      (long long)a->mode);
	if (hop_dtype_bool((hop_dtype)t->dtype) && (a->mode == HOP_MODE_add || a->mode == HOP_MODE_mul))
		return hop_infer_fail(f, HOP_ETYPE, "%s: no arithmetic on bool: cast first", hop_opname(f));
	if (t->dtype != u->dtype)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand is %s, the update %s: "
		                      "cast one of them", hop_opname(f), hop_dtype_name(t->dtype),
		                      hop_dtype_name(u->dtype));
	HOP_TRY(gathered(f, a->axis, a->nbatch, dim, &rank));
	if (u->rank != rank)
		return hop_infer_fail(f, HOP_ETYPE, "%s: the update has %d axes, the index "
		                      "takes %d", hop_opname(f), u->rank, rank);
	for (int i = 0; i < rank; i++)
		HOP_TRY(hop_shape_same(f, "update", i, u->dim[i], "taken", i, dim[i]));
	f->out[0] = t;
	return HOP_OK;
}

/* x as [batch, outer, n, inner], idx as [batch, k], what is taken as [batch, outer, k,
 * inner]. */
typedef struct taking {
	int64_t batch, outer, n, inner, k;
} taking;

static hop_status taking_of(hop_interp *p, const hop_node *n, const hop_array *x,
                            const hop_array *idx, const hop_array *u, int axis,
                            int nbatch, taking *g)
{
	*g = (taking){ 1, 1, x->dim[axis], 1, 1 };
	bool fit = u->rank == x->rank - 1 + idx->rank - nbatch;
	for (int i = 0; i < nbatch; i++) {
		fit = fit && x->dim[i] == idx->dim[i];
		g->batch *= x->dim[i];
	}
	for (int i = nbatch; i < axis; i++)
		g->outer *= x->dim[i];
	for (int i = axis + 1; i < x->rank; i++)
		g->inner *= x->dim[i];
	for (int i = nbatch; i < idx->rank; i++)
		g->k *= idx->dim[i];
	if (fit && u->count == g->batch * g->outer * g->k * g->inner)
		return HOP_OK;
	return hop_fail(p->env, n->loc, HOP_EVALUE, "%s: the sizes of operand and index do not "
	                "fit", hop_optab[n->op].name);
}

hop_status hop_eval_gather(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	const struct hop_attr_gather *a = n->attr;
	const hop_array *x = in[0], *idx = in[1];
	hop_array *o = out[0];
	taking g;
	HOP_TRY(taking_of(p, n, x, idx, o, (int)a->axis, (int)a->nbatch, &g));
	if (!o->count)
		return HOP_OK;
	size_t row = (size_t)g.inner * hop_dtype_bytes(x->dtype);
	char *dst = o->data;
	for (int64_t b = 0; b < g.batch * g.outer; b++)
		for (int64_t k = 0; k < g.k; k++, dst += row) {
			int64_t at = hop_array_i(idx, b / g.outer * g.k + k);
			if (!g.n) {
				memset(dst, 0, row);
				continue;
			}
			at = hop_clamp(at, 0, g.n - 1);
			memcpy(dst, (const char *)x->data + (size_t)(b * g.n + at) * row, row);
		}
	return HOP_OK;
}

/* Floats of f32 are computed in double and rounded once: the same as in f32. NaN wins. */
static double meet_f(enum hop_mode mode, double x, double u)
{
	switch (mode) {
	case HOP_MODE_add: return x + u;
	case HOP_MODE_mul: return x * u;
	case HOP_MODE_min: return x != x || x < u ? x : u;
	case HOP_MODE_max: return x != x || x > u ? x : u;
	default:           return u;
	}
}

static int64_t meet_i(enum hop_mode mode, int64_t x, int64_t u)
{
	switch (mode) {
	case HOP_MODE_add: return (int64_t)((uint64_t)x + (uint64_t)u);
	case HOP_MODE_mul: return (int64_t)((uint64_t)x * (uint64_t)u);
	case HOP_MODE_min: return x < u ? x : u;
	case HOP_MODE_max: return x > u ? x : u;
	default:           return u;
	}
}

static void meet(enum hop_mode mode, hop_array *t, int64_t i, const hop_array *u, int64_t j)
{
	if (hop_dtype_real(t->dtype))
		hop_array_set_f(t, i, meet_f(mode, hop_array_f(t, i), hop_array_f(u, j)));
	else
		hop_array_set_i(t, i, meet_i(mode, hop_array_i(t, i), hop_array_i(u, j)));
}

hop_status hop_eval_scatter(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	const struct hop_attr_scatter *a = n->attr;
	const hop_array *x = in[0], *idx = in[1], *u = in[2];
	hop_array *o = out[0];
	taking g;
	HOP_TRY(taking_of(p, n, x, idx, u, (int)a->axis, (int)a->nbatch, &g));
	if (!x->count)
		return HOP_OK;
	memcpy(o->data, x->data, (size_t)x->count * hop_dtype_bytes(x->dtype));
	int64_t j = 0;
	for (int64_t b = 0; b < g.batch * g.outer; b++)
		for (int64_t k = 0; k < g.k; k++) {
			int64_t at = hop_array_i(idx, b / g.outer * g.k + k);
			at = (b * g.n + hop_clamp(at, 0, g.n - 1)) * g.inner;
			for (int64_t i = 0; i < g.inner; i++)
				meet((enum hop_mode)a->mode, o, at + i, u, j++);
		}
	return HOP_OK;
}
