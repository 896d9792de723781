/* shape.c -- checks on axes and sizes, and walks over strided indices, that several ops
 * share. Emits nothing but permutations, and decides no op's meaning. */
#include "ops/shape.h"

#include <string.h>

/* ---- inference ---- */

const char *hop_shape_text(hop_infer *f, hop_size s)
{
	if (hop_size_bad(s))
		return "too large";
	hop_buf t;
	hop_buf_open(&t, f->env);
	hop_size_print(&t, s, f->b->symname, (int)(f->b->nsym + f->b->nlocal));
	const char *text = hop_arena_str(&f->env->tmp, t.s, t.n);
	hop_buf_free(&t);
	return text;
}

hop_range hop_shape_range(hop_infer *f, hop_size s)
{
	return hop_size_range(s, f->b->range, (int)(f->b->nsym + f->b->nlocal));
}

hop_status hop_shape_same(hop_infer *f, const char *x, int i, hop_size a, const char *y,
                          int j, hop_size b)
{
	if (hop_infer_holds(f, HOP_EQ, a, b))
		return HOP_OK;
	return hop_infer_equal(f, a, b, hop_infer_text(f, "%s axis %d has size {0}, %s axis %d "
	                       "has size {1}", x, i, y, j));
}

hop_status hop_shape_dtypes(hop_infer *f, hop_dtype a, hop_dtype b)
{
	if (a == b)
		return HOP_OK;
	return hop_infer_fail(f, HOP_ETYPE, "%s: %s on the left, %s on the right: cast one of "
	                      "them", hop_opname(f), hop_dtype_name(a), hop_dtype_name(b));
}

hop_status hop_shape_axes(hop_infer *f, hop_ints axes, int rank)
{
	for (int64_t i = 0; i < axes.n; i++) {
		if (axes.v[i] < 0 || axes.v[i] >= rank)
			return hop_infer_fail(f, HOP_EVALUE, "%s: axis %lld of %d axes", hop_opname(f),
			                      (long long)axes.v[i], rank);
		if (i && axes.v[i] <= axes.v[i - 1])
			return hop_infer_fail(f, HOP_EVALUE, "%s: axis %lld after axis %lld: axes must "
			                      "increase", hop_opname(f), (long long)axes.v[i],
			                      (long long)axes.v[i - 1]);
	}
	return HOP_OK;
}

hop_status hop_shape_out(hop_infer *f, hop_dtype d, int rank, const hop_size *dim)
{
	return hop_infer_dims(f, d, NULL, (hop_sizes){ rank, dim }, &f->out[0]);
}

/* ---- axes ---- */

hop_ints hop_axes_shift(hop_ints axes, bool lead, int64_t *v)
{
	int64_t n = 0;
	if (lead)
		v[n++] = 0;
	for (int64_t i = 0; i < axes.n; i++)
		v[n++] = axes.v[i] + 1;
	return (hop_ints){ n, v };
}

int hop_axes_rest(hop_ints axes, int rank, int64_t *out_v)
{
	bool used[HOP_MAXDIM] = { false };
	int n = 0;
	for (int64_t i = 0; i < axes.n; i++)
		used[axes.v[i]] = true;
	for (int i = 0; i < rank; i++)
		if (!used[i])
			out_v[n++] = i;
	return n;
}

hop_val hop_axes_front(hop_build *b, hop_val v, int rank, int from)
{
	int64_t axes[HOP_MAXDIM];
	if (!from)
		return v;
	axes[0] = from;
	for (int i = 1; i < rank; i++)
		axes[i] = i <= from ? i - 1 : i;
	return hop_emit_permute(b, v, axes);
}

/* ---- evaluation ---- */

void hop_strides(const hop_array *t, int64_t *out_s)
{
	int64_t s = 1;
	for (int i = t->rank - 1; i >= 0; i--) {
		out_s[i] = s;
		s *= t->dim[i];
	}
}

void hop_copy_nd(size_t bytes, int rank, const int64_t *dim, char *dst, const int64_t *ds,
                 const char *src, const int64_t *ss)
{
	if (!rank) {
		memcpy(dst, src, bytes);
	} else if (rank == 1 && ds[0] == 1 && ss[0] == 1) {
		if (dim[0])
			memcpy(dst, src, (size_t)dim[0] * bytes);
	} else {
		int64_t size = (int64_t)bytes;
		for (int64_t i = 0; i < dim[0]; i++)
			hop_copy_nd(bytes, rank - 1, dim + 1, dst + i * ds[0] * size, ds + 1,
			            src + i * ss[0] * size, ss + 1);
	}
}

int64_t *hop_offsets(hop_interp *p, const hop_array *t, int n, const int64_t *axes,
                     int64_t *out_n)
{
	int64_t stride[HOP_MAXRANK], count = 1;
	hop_strides(t, stride);
	for (int i = 0; i < n; i++)
		count *= t->dim[axes[i]];
	int64_t *off = HOP_NEWN(&p->env->tmp, int64_t, count);
	/* each axis in turn multiplies the offsets made so far, from the last axis on */
	int64_t m = count ? 1 : 0;
	for (int i = n - 1; i >= 0 && count; i--) {
		int64_t d = t->dim[axes[i]], s = stride[axes[i]];
		for (int64_t j = d - 1; j >= 0; j--)
			for (int64_t k = 0; k < m; k++)
				off[j * m + k] = off[k] + j * s;
		m *= d;
	}
	*out_n = count;
	return off;
}
