/* move_eval.c -- running the ops of move.c and the dynamic slices of index.c: every one is a
 * few strided copies. Sizes that inference could not decide are checked here, so that
 * no element outside a tensor is ever touched. */
#include "ops/shape.h"

#include <string.h>

static hop_status misfit(hop_interp *p, const hop_node *n, int axis, int64_t a, int64_t b)
{
	return hop_fail(p->env, n->loc, HOP_EVALUE, "%s: axis %d has size %lld, needs %lld",
	                hop_optab[n->op].name, axis, (long long)a, (long long)b);
}

/* Copy count elements of x as they lie. */
static void copy_all(hop_array *to, const hop_array *x)
{
	if (x->count)
		memcpy(to->data, x->data, (size_t)x->count * hop_dtype_bytes(x->dtype));
}

/* A strided copy into `to` at element `at`, from x at element `from`. */
static void copy_part(hop_array *to, int64_t at, const int64_t *ds, const hop_array *x,
                      int64_t from, const int64_t *ss, int rank, const int64_t *dim)
{
	size_t size = hop_dtype_bytes(x->dtype);
	for (int i = 0; i < rank; i++)
		if (!dim[i])
			return;
	hop_copy_nd(size, rank, dim, (char *)to->data + at * (int64_t)size, ds,
	            (const char *)x->data + from * (int64_t)size, ss);
}

hop_status hop_eval_broadcast(hop_interp *p, const hop_node *n, hop_array *const *in,
                              hop_array **out)
{
	hop_ints axes = HOP_ATTR(n, broadcast)->axes;
	int64_t xs[HOP_MAXRANK], ss[HOP_MAXRANK] = { 0 }, ds[HOP_MAXRANK];
	hop_array *o = out[0];
	hop_strides(in[0], xs);
	hop_strides(o, ds);
	for (int i = 0; i < in[0]->rank; i++) {
		int j = (int)axes.v[i];
		if (in[0]->dim[i] != o->dim[j])
			return misfit(p, n, i, in[0]->dim[i], o->dim[j]);
		ss[j] = xs[i];
	}
	copy_part(o, 0, ds, in[0], 0, ss, o->rank, o->dim);
	return HOP_OK;
}

hop_status hop_eval_reshape(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	if (in[0]->count != out[0]->count)
		return hop_fail(p->env, n->loc, HOP_EVALUE, "reshape: the operand has %lld "
		                "elements, the result %lld", (long long)in[0]->count,
		                (long long)out[0]->count);
	copy_all(out[0], in[0]);
	return HOP_OK;
}

hop_status hop_eval_permute(hop_interp *p, const hop_node *n, hop_array *const *in,
                            hop_array **out)
{
	(void)p;
	hop_ints axes = HOP_ATTR(n, permute)->axes;
	int64_t xs[HOP_MAXRANK], ss[HOP_MAXRANK], ds[HOP_MAXRANK];
	hop_array *o = out[0];
	hop_strides(in[0], xs);
	hop_strides(o, ds);
	for (int i = 0; i < o->rank; i++)
		ss[i] = xs[axes.v[i]];
	copy_part(o, 0, ds, in[0], 0, ss, o->rank, o->dim);
	return HOP_OK;
}

/* Where start, start+step, ... lie in `wide`: the offset of the first and the strides. */
static hop_status strided(hop_interp *p, const hop_node *n, const hop_array *wide,
                          const hop_array *narrow, hop_sizes start, hop_ints step,
                          int64_t *out_at, int64_t *stride)
{
	hop_strides(wide, stride);
	*out_at = 0;
	if (!narrow->count)
		return HOP_OK;
	for (int i = 0; i < wide->rank; i++) {
		int64_t first = -1, size = wide->dim[i];
		int64_t more = narrow->dim[i] - 1, far = step.v[i];
		int nsym = (int)(p->g->nsym + p->g->nlocal);
		bool bad = !hop_size_eval(start.v[i], p->syms, nsym, &first);
		bad = bad || first < 0 || first >= size;
		if (!bad && more) {
			/* |step| * more may not fit: compare by division */
			int64_t room = far > 0 ? (size - 1 - first) / far
			             : far < -size ? 0 : first / -far;
			bad = room < more;
		}
		if (bad)
			return hop_fail(p->env, n->loc, HOP_EVALUE, "%s: axis %d has size %lld: index "
			                "%lld with %lld more in steps of %lld is outside",
			                hop_optab[n->op].name, i, (long long)size, (long long)first,
			                (long long)more, (long long)far);
		*out_at += first * stride[i];
		stride[i] *= more ? far : 0;
	}
	return HOP_OK;
}

hop_status hop_eval_slice(hop_interp *p, const hop_node *n, hop_array *const *in,
                          hop_array **out)
{
	const struct hop_attr_slice *a = n->attr;
	int64_t at, ss[HOP_MAXRANK], ds[HOP_MAXRANK];
	hop_array *o = out[0];
	HOP_TRY(strided(p, n, in[0], o, a->start, a->step, &at, ss));
	hop_strides(o, ds);
	copy_part(o, 0, ds, in[0], at, ss, o->rank, o->dim);
	return HOP_OK;
}

hop_status hop_eval_pad(hop_interp *p, const hop_node *n, hop_array *const *in,
                        hop_array **out)
{
	const struct hop_attr_pad *a = n->attr;
	int64_t at, ss[HOP_MAXRANK], ds[HOP_MAXRANK];
	hop_array *o = out[0];
	if (o->count)
		memset(o->data, 0, (size_t)o->count * hop_dtype_bytes(o->dtype));
	HOP_TRY(strided(p, n, o, in[0], a->start, a->step, &at, ds));
	hop_strides(in[0], ss);
	copy_part(o, at, ds, in[0], 0, ss, o->rank, in[0]->dim);
	return HOP_OK;
}

hop_status hop_eval_concat(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	int axis = (int)HOP_ATTR(n, concat)->axis;
	int64_t ss[HOP_MAXRANK], ds[HOP_MAXRANK], at = 0;
	hop_array *o = out[0];
	hop_strides(o, ds);
	for (uint32_t k = 0; k < n->nin; k++) {
		const hop_array *x = in[k];
		for (int i = 0; i < o->rank; i++)
			if (i == axis ? x->dim[i] > o->dim[i] - at : x->dim[i] != o->dim[i])
				return misfit(p, n, i, x->dim[i], i == axis ? o->dim[i] - at : o->dim[i]);
		hop_strides(x, ss);
		copy_part(o, at * ds[axis], ds, x, 0, ss, o->rank, x->dim);
		at += x->dim[axis];
	}
	return HOP_OK;
}

/* ---- windows whose place is a value ---- */

/* The offset in `wide` of a window as large as `narrow`, its starts clamped so that it
 * lies inside. */
static hop_status window(hop_interp *p, const hop_node *n, const hop_array *wide,
                         const hop_array *narrow, hop_array *const *at, int64_t *stride,
                         int64_t *out_off)
{
	hop_strides(wide, stride);
	*out_off = 0;
	for (int i = 0; i < wide->rank; i++) {
		int64_t room = wide->dim[i] - narrow->dim[i];
		if (room < 0)
			return hop_fail(p->env, n->loc, HOP_EVALUE, "%s: a window of %lld on axis %d of "
			                "size %lld", hop_optab[n->op].name, (long long)narrow->dim[i], i,
			                (long long)wide->dim[i]);
		*out_off += hop_clamp(hop_array_i(at[i], 0), 0, room) * stride[i];
	}
	return HOP_OK;
}

hop_status hop_eval_dynslice(hop_interp *p, const hop_node *n, hop_array *const *in,
                             hop_array **out)
{
	int64_t at, ss[HOP_MAXRANK], ds[HOP_MAXRANK];
	hop_array *o = out[0];
	HOP_TRY(window(p, n, in[0], o, in + 1, ss, &at));
	hop_strides(o, ds);
	copy_part(o, 0, ds, in[0], at, ss, o->rank, o->dim);
	return HOP_OK;
}

hop_status hop_eval_dynupdate(hop_interp *p, const hop_node *n, hop_array *const *in,
                              hop_array **out)
{
	int64_t at, ss[HOP_MAXRANK], ds[HOP_MAXRANK];
	hop_array *o = out[0];
	HOP_TRY(window(p, n, o, in[1], in + 2, ds, &at));
	copy_all(o, in[0]);
	hop_strides(in[1], ss);
	copy_part(o, at, ds, in[1], 0, ss, o->rank, in[1]->dim);
	return HOP_OK;
}
