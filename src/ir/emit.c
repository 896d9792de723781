/* emit.c -- helpers that emit particular ops: constants, broadcasts, reductions. Rules and
 * composites are written with them. Nothing here decides types; infer does. */
#include "ir/build.h"

#include <string.h>

hop_val hop_emit_data(hop_build *b, const hop_type *t, const void *bytes)
{
	if (b->st)
		return HOP_BAD;
	hop_data d = { t, 0, bytes };
	hop_size n = hop_type_count(b->env, t);
	HOP_ASSERT(hop_size_const(n));
	d.nbyte = (size_t)n.k * hop_dtype_bytes((hop_dtype)t->dtype);
	struct hop_attr_constant a = { .value = &d };
	return hop_emit_op(b, HOP_OP_constant, &a, 0, NULL);
}

/* Scalars are shared: a builder emits each only once. */
static hop_val scalar(hop_build *b, hop_dtype d, const void *bytes)
{
	if (b->st)
		return HOP_BAD;
	struct { uint64_t d; uint64_t v; } key = { (uint64_t)d, 0 };
	memcpy(&key.v, bytes, hop_dtype_bytes(d));
	uintptr_t old = (uintptr_t)hop_map_get(&b->cse, &key, sizeof key);
	if (old)
		return (hop_val){ (uint32_t)(old - 1) };
	hop_val v = hop_emit_data(b, hop_type_scalar(b->env, d), bytes);
	if (!b->st)
		hop_map_put(&b->cse, &key, sizeof key, (void *)(uintptr_t)(v.id + 1ul));
	return v;
}

hop_val hop_emit_const_i(hop_build *b, hop_dtype d, int64_t v)
{
	uint64_t elem = 0;
	hop_elem_set_i(d, &elem, v);
	return scalar(b, d, &elem);
}

hop_val hop_emit_const_f(hop_build *b, hop_dtype d, double v)
{
	uint64_t elem = 0;
	hop_elem_set_f(d, &elem, v);
	return scalar(b, d, &elem);
}

hop_val hop_emit_full(hop_build *b, const hop_type *t, double v)
{
	return hop_emit_broadcast(b, hop_emit_const_f(b, (hop_dtype)t->dtype, v), t->rank,
	                          t->dim, NULL);
}

hop_val hop_emit_zeros(hop_build *b, const hop_type *t)
{
	return hop_emit_full(b, t, 0);
}

hop_val hop_emit_cast(hop_build *b, hop_val x, hop_dtype d)
{
	if (b->st || hop_typeof(b, x)->dtype == d)
		return x;
	struct hop_attr_cast a = { .dtype = d };
	return hop_emit_op(b, HOP_OP_cast, &a, 1, &x);
}

hop_val hop_emit_broadcast(hop_build *b, hop_val x, int rank, const hop_size *dims,
                           const int64_t *axes)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	if (t->rank == rank)
		return x;
	struct hop_attr_broadcast a = { .dims = { rank, dims }, .axes = { t->rank, axes } };
	return hop_emit_op(b, HOP_OP_broadcast, &a, 1, &x);
}

hop_val hop_emit_lead(hop_build *b, hop_val x, hop_size n)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	hop_size dims[HOP_MAXRANK + 1];
	int64_t axes[HOP_MAXRANK];
	dims[0] = n;
	for (int i = 0; i < t->rank; i++) {
		dims[i + 1] = t->dim[i];
		axes[i] = i + 1;
	}
	return hop_emit_broadcast(b, x, t->rank + 1, dims, axes);
}

hop_val hop_emit_match(hop_build *b, hop_val p, const hop_type *t)
{
	if (b->st)
		return HOP_BAD;
	int64_t axes[HOP_MAXRANK];
	for (int i = 0; i < HOP_MAXRANK; i++)
		axes[i] = i;
	return hop_emit_broadcast(b, p, t->rank, t->dim, axes);
}

static bool same_dims(const hop_type *t, int rank, const hop_size *dims)
{
	if (t->rank != rank)
		return false;
	for (int i = 0; i < rank; i++)
		if (!hop_size_eq(t->dim[i], dims[i]))
			return false;
	return true;
}

hop_val hop_emit_reshape(hop_build *b, hop_val x, int rank, const hop_size *dims)
{
	if (b->st || same_dims(hop_typeof(b, x), rank, dims))
		return x;
	struct hop_attr_reshape a = { .dims = { rank, dims } };
	return hop_emit_op(b, HOP_OP_reshape, &a, 1, &x);
}

hop_val hop_emit_as(hop_build *b, hop_val x, const hop_type *t)
{
	if (b->st || hop_is_zero(x) || hop_typeof(b, x) == t)
		return x;
	return hop_emit_reshape(b, x, t->rank, t->dim);
}

hop_val hop_emit_permute(hop_build *b, hop_val x, const int64_t *axes)
{
	if (b->st)
		return HOP_BAD;
	int rank = hop_typeof(b, x)->rank, i = 0;
	while (i < rank && axes[i] == i)
		i++;
	if (i == rank)
		return x;
	struct hop_attr_permute a = { .axes = { rank, axes } };
	return hop_emit_op(b, HOP_OP_permute, &a, 1, &x);
}

static const int64_t ones[HOP_MAXRANK] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

hop_val hop_emit_slice(hop_build *b, hop_val x, const hop_size *start, const hop_size *dims,
                       const int64_t *step)
{
	if (b->st)
		return HOP_BAD;
	int rank = hop_typeof(b, x)->rank;
	struct hop_attr_slice a = { .start = { rank, start }, .dims = { rank, dims },
	                            .step = { rank, step ? step : ones } };
	return hop_emit_op(b, HOP_OP_slice, &a, 1, &x);
}

hop_val hop_emit_pad(hop_build *b, hop_val x, const hop_size *start, const hop_size *dims,
                     const int64_t *step)
{
	if (b->st)
		return HOP_BAD;
	int rank = hop_typeof(b, x)->rank;
	struct hop_attr_pad a = { .start = { rank, start }, .dims = { rank, dims },
	                          .step = { rank, step ? step : ones } };
	return hop_emit_op(b, HOP_OP_pad, &a, 1, &x);
}

hop_val hop_emit_reduce(hop_build *b, int op, hop_val x, int naxes, const int64_t *axes)
{
	if (b->st || !naxes)
		return x;
	struct hop_attr_sum a = { .axes = { naxes, axes } };
	return hop_emit_op(b, op, &a, 1, &x);
}

hop_val hop_emit_sum(hop_build *b, hop_val x, int naxes, const int64_t *axes)
{
	return hop_emit_reduce(b, HOP_OP_sum, x, naxes, axes);
}

hop_val hop_emit_amax(hop_build *b, hop_val x, int naxes, const int64_t *axes)
{
	return hop_emit_reduce(b, HOP_OP_amax, x, naxes, axes);
}

hop_val hop_emit_amin(hop_build *b, hop_val x, int naxes, const int64_t *axes)
{
	return hop_emit_reduce(b, HOP_OP_amin, x, naxes, axes);
}

hop_val hop_emit_iota(hop_build *b, hop_dtype d, int rank, const hop_size *dims, int axis)
{
	struct hop_attr_iota a = { .dtype = d, .dims = { rank, dims }, .axis = axis };
	return hop_emit_op(b, HOP_OP_iota, &a, 0, NULL);
}

hop_val hop_emit_size(hop_build *b, hop_size s)
{
	if (hop_size_const(s))
		return hop_emit_const_i(b, HOP_i64, s.k);
	struct hop_attr_size_of a = { .size = s };
	return hop_emit_op(b, HOP_OP_size_of, &a, 0, NULL);
}

hop_val hop_emit_gather(hop_build *b, hop_val x, hop_val idx, int axis, int nbatch)
{
	struct hop_attr_gather a = { .axis = axis, .nbatch = nbatch };
	return hop_emit_op(b, HOP_OP_gather, &a, 2, (hop_val[]){ x, idx });
}

hop_val hop_emit_scatter(hop_build *b, enum hop_mode mode, hop_val x, hop_val idx, hop_val u,
                         int axis, int nbatch)
{
	struct hop_attr_scatter a = { .mode = mode, .axis = axis, .nbatch = nbatch };
	return hop_emit_op(b, HOP_OP_scatter, &a, 3, (hop_val[]){ x, idx, u });
}

hop_val hop_emit_concat(hop_build *b, int n, const hop_val *x, int axis)
{
	struct hop_attr_concat a = { .axis = axis };
	return hop_emit_op(b, HOP_OP_concat, &a, (uint32_t)n, x);
}

hop_val hop_emit_dot(hop_build *b, hop_val x, hop_val y, hop_ints lbatch, hop_ints rbatch,
                     hop_ints lsum, hop_ints rsum)
{
	return hop_emit_dot_like(b, x, y, &(struct hop_attr_dot){ .lbatch = lbatch, .rbatch = rbatch,
	                                                          .lsum = lsum, .rsum = rsum });
}

hop_val hop_emit_dot_like(hop_build *b, hop_val x, hop_val y, const struct hop_attr_dot *a)
{
	return hop_emit_op(b, HOP_OP_dot, a, 2, (hop_val[]){ x, y });
}

hop_val hop_emit_turned(hop_build *b, hop_val x)
{
	int64_t axes[HOP_MAXRANK + 2];
	if (b->st)
		return HOP_BAD;
	int r = hop_typeof(b, x)->rank;
	for (int i = 0; i < r; i++)
		axes[i] = i < r - 2 ? i : i == r - 2 ? r - 1 : r - 2;
	return hop_emit_permute(b, x, axes);
}

hop_val hop_emit_below(hop_build *b, hop_val x, int64_t most)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	int r = t->rank;
	const hop_size *dim = &t->dim[r - 2];
	hop_val row = hop_emit_iota(b, HOP_i64, 2, dim, 0), col = hop_emit_iota(b, HOP_i64, 2, dim, 1);
	if (b->st)
		return HOP_BAD;
	hop_val k = hop_emit_broadcast(b, hop_emit_const_i(b, HOP_i64, most), 2, dim, NULL);
	hop_val p = hop_emit(b, le, hop_emit(b, sub, col, row), k);
	return hop_emit_broadcast(b, p, r, t->dim, (int64_t[]){ r - 2, r - 1 });
}

hop_val hop_emit_acc(hop_build *b, hop_val x, hop_val y)
{
	if (hop_is_zero(x))
		return y;
	if (hop_is_zero(y))
		return x;
	return hop_emit(b, add, x, y);
}

hop_val hop_emit_solid(hop_build *b, hop_val x, const hop_type *t)
{
	return hop_is_zero(x) ? hop_emit_zeros(b, t) : x;
}
