/** Constructors whose op has attributes: literals, casts, views, reductions, products,
 * random numbers. Negative axes count from the end. Those without attributes are in ops.h,
 * which is generated. */
#ifndef HOP_SHAPE_H
#define HOP_SHAPE_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- making values ---- */

/** Numbers: they take the dtype of what they meet. Ops on numbers alone give numbers, in
 * double or int64; where a tensor is wanted they are f32 and i64. */
hop_value hop_at_f(hop_trace *t, const char *file, int line, double v);
hop_value hop_at_i(hop_trace *t, const char *file, int line, int64_t v);
#define hop_f(t, ...) hop_at_f(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_i(t, ...) hop_at_i(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_full(hop_trace *t, const char *file, int line, hop_dtype d, int rank,
                      const hop_dim *dim, double v);
#define hop_full(t, ...) hop_at_full(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_zeros(t, d, rank, dim)    hop_at_full(t, __FILE__, __LINE__, d, rank, dim, 0)
hop_value hop_at_full_like(hop_trace *t, const char *file, int line, hop_value x, double v);
#define hop_full_like(t, ...) hop_at_full_like(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_zeros_like(t, x)    hop_at_full_like(t, __FILE__, __LINE__, x, 0)
/** A scalar that keeps its dtype where it meets others, unlike a number. */
hop_value hop_at_scalar(hop_trace *t, const char *file, int line, hop_dtype d, double v);
#define hop_scalar(t, ...) hop_at_scalar(t, __FILE__, __LINE__, __VA_ARGS__)
/** Bytes copied now, row-major. */
hop_value hop_at_data(hop_trace *t, const char *file, int line, hop_dtype d, int rank,
                      const int64_t *dim, const void *bytes);
#define hop_data(t, ...) hop_at_data(t, __FILE__, __LINE__, __VA_ARGS__)
/** The index along an axis. */
hop_value hop_at_iota(hop_trace *t, const char *file, int line, hop_dtype d, int rank,
                      const hop_dim *dim, int axis);
#define hop_iota(t, ...) hop_at_iota(t, __FILE__, __LINE__, __VA_ARGS__)
/** 0, 1, .. n - 1; and n numbers at equal distances, both ends among them. */
hop_value hop_at_arange(hop_trace *t, const char *file, int line, hop_dtype d, hop_dim n);
#define hop_arange(t, ...) hop_at_arange(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_linspace(hop_trace *t, const char *file, int line, hop_dtype d, double from,
                          double to, hop_dim n);
#define hop_linspace(t, ...) hop_at_linspace(t, __FILE__, __LINE__, __VA_ARGS__)
/** n rows and m columns, ones where the two are equal. */
hop_value hop_at_eye(hop_trace *t, const char *file, int line, hop_dtype d, hop_dim n, hop_dim m);
#define hop_eye(t, ...) hop_at_eye(t, __FILE__, __LINE__, __VA_ARGS__)
/** One more axis of n behind those of the index: 1 at the index, else 0. All 0 where the index is
 * not in 0 .. n - 1. */
hop_value hop_at_one_hot(hop_trace *t, const char *file, int line, hop_dtype d, hop_value index,
                         hop_dim n);
#define hop_one_hot(t, ...) hop_at_one_hot(t, __FILE__, __LINE__, __VA_ARGS__)
/** From a key (i64 scalar): 32 bits, or floats in [0, 1). A tensor of keys makes one stream an
 * element, on axes in front. */
hop_value hop_at_random(hop_trace *t, const char *file, int line, hop_value key, bool bits,
                        hop_dtype d, int rank, const hop_dim *dim);
#define hop_random_bits(t, key, rank, dim) \
	hop_at_random(t, __FILE__, __LINE__, key, true, HOP_i32, rank, dim)
#define hop_uniform(t, key, d, rank, dim) \
	hop_at_random(t, __FILE__, __LINE__, key, false, d, rank, dim)
/** Normal random numbers of mean 0 and variance 1. */
hop_value hop_at_normal(hop_trace *t, const char *file, int line, hop_value key, hop_dtype d,
                        int rank, const hop_dim *dim);
#define hop_normal(t, ...) hop_at_normal(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- views: they share storage with x, so writes are seen both ways ---- */

hop_value hop_at_reshape(hop_trace *t, const char *file, int line, hop_value x, int rank,
                         const hop_dim *dim);
#define hop_reshape(t, ...) hop_at_reshape(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_permute(hop_trace *t, const char *file, int line, hop_value x,
                         const int *axes);
#define hop_permute(t, ...) hop_at_permute(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_transpose(hop_trace *t, const char *file, int line, hop_value x, int a,
                           int b);
#define hop_transpose(t, ...) hop_at_transpose(t, __FILE__, __LINE__, __VA_ARGS__)
/** n elements of an axis from start, every step-th; a negative step goes backwards. */
hop_value hop_at_slice(hop_trace *t, const char *file, int line, hop_value x, int axis,
                        hop_dim start, hop_dim n, int64_t step);
#define hop_slice(t, ...) hop_at_slice(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_narrow(t, x, axis, start, n) \
	hop_at_slice(t, __FILE__, __LINE__, x, axis, hop_n(start), hop_n(n), 1)
/** Element i of an axis, which goes; negative i counts from the end. */
hop_value hop_at_index(hop_trace *t, const char *file, int line, hop_value x, int axis,
                       int64_t i);
#define hop_index(t, ...) hop_at_index(t, __FILE__, __LINE__, __VA_ARGS__)
/** As PyTorch's expand: right aligned, sizes of 1 are repeated. Not writable. */
hop_value hop_at_expand(hop_trace *t, const char *file, int line, hop_value x, int rank,
                        const hop_dim *dim);
#define hop_expand(t, ...) hop_at_expand(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_unsqueeze(hop_trace *t, const char *file, int line, hop_value x, int axis);
#define hop_unsqueeze(t, ...) hop_at_unsqueeze(t, __FILE__, __LINE__, __VA_ARGS__)

/** n parts of an axis, in order: of these sizes, or equal ones when sizes is NULL. out has room
 * for n. Returns n, or 0 after a failure. */
int hop_at_split_axis(hop_trace *t, const char *file, int line, hop_value x, int axis, int n,
                      const hop_dim *sizes, hop_value *out);
#define hop_split_axis(t, ...) hop_at_split_axis(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- copies ---- */

hop_value hop_at_cast(hop_trace *t, const char *file, int line, hop_value x, hop_dtype d);
#define hop_cast(t, ...) hop_at_cast(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same contents in a storage of its own. */
hop_value hop_at_clone(hop_trace *t, const char *file, int line, hop_value x);
#define hop_clone(t, ...) hop_at_clone(t, __FILE__, __LINE__, __VA_ARGS__)
/** x among zeros: before[i] and after[i] of them on axis i. */
hop_value hop_at_pad(hop_trace *t, const char *file, int line, hop_value x,
                     const hop_dim *before, const hop_dim *after);
#define hop_pad(t, ...) hop_at_pad(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_concat(hop_trace *t, const char *file, int line, int n, const hop_value *x,
                        int axis);
#define hop_concat(t, ...) hop_at_concat(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same along a new axis: values of one shape. */
hop_value hop_at_stack_n(hop_trace *t, const char *file, int line, int n, const hop_value *x,
                         int axis);
#define hop_stack_n(t, ...) hop_at_stack_n(t, __FILE__, __LINE__, __VA_ARGS__)
/** A window at places that are values (i64 scalars, clamped), and x with it replaced by u. */
hop_value hop_at_dynslice(hop_trace *t, const char *file, int line, hop_value x,
                          const hop_value *start, const hop_dim *dim);
#define hop_dynslice(t, ...) hop_at_dynslice(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_dynupdate(hop_trace *t, const char *file, int line, hop_value x,
                           hop_value u, const hop_value *start);
#define hop_dynupdate(t, ...) hop_at_dynupdate(t, __FILE__, __LINE__, __VA_ARGS__)
/** x at indices (clamped) along an axis; and x with u written there. Where indices meet, one
 * after the other: of those that set the last one stays. */
hop_value hop_at_gather(hop_trace *t, const char *file, int line, hop_value x, int axis,
                        hop_value idx);
#define hop_gather(t, ...) hop_at_gather(t, __FILE__, __LINE__, __VA_ARGS__)
enum hop_scatter_mode {
	HOP_SCATTER_SET, HOP_SCATTER_ADD, HOP_SCATTER_MUL, HOP_SCATTER_MIN, HOP_SCATTER_MAX
};
hop_value hop_at_scatter(hop_trace *t, const char *file, int line, enum hop_scatter_mode mode,
                         hop_value x, int axis, hop_value idx, hop_value u);
#define hop_scatter(t, ...) \
	hop_at_scatter(t, __FILE__, __LINE__, HOP_SCATTER_SET, __VA_ARGS__)
#define hop_scatter_add(t, ...) \
	hop_at_scatter(t, __FILE__, __LINE__, HOP_SCATTER_ADD, __VA_ARGS__)
#define hop_scatter_mul(t, ...) \
	hop_at_scatter(t, __FILE__, __LINE__, HOP_SCATTER_MUL, __VA_ARGS__)
#define hop_scatter_min(t, ...) \
	hop_at_scatter(t, __FILE__, __LINE__, HOP_SCATTER_MIN, __VA_ARGS__)
#define hop_scatter_max(t, ...) \
	hop_at_scatter(t, __FILE__, __LINE__, HOP_SCATTER_MAX, __VA_ARGS__)

/* ---- many to one: naxes 0 = all axes; the axes go ---- */

enum hop_reduce {
	HOP_REDUCE_SUM, HOP_REDUCE_MAX, HOP_REDUCE_MEAN, HOP_REDUCE_MIN, HOP_REDUCE_PROD,
	HOP_REDUCE_ANY, HOP_REDUCE_ALL
};
hop_value hop_at_reduce(hop_trace *t, const char *file, int line, enum hop_reduce r,
                        hop_value x, int naxes, const int *axes);
#define hop_sum(t, ...) hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_SUM, __VA_ARGS__)
#define hop_amax(t, ...) hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_MAX, __VA_ARGS__)
#define hop_amin(t, ...) hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_MIN, __VA_ARGS__)
#define hop_prod(t, ...) hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_PROD, __VA_ARGS__)
#define hop_any(t, ...) hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_ANY, __VA_ARGS__)
#define hop_all(t, ...) hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_ALL, __VA_ARGS__)
#define hop_mean(t, ...) \
	hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_MEAN, __VA_ARGS__)
#define hop_sum_all(t, x) \
	hop_at_reduce(t, __FILE__, __LINE__, HOP_REDUCE_SUM, x, 0, NULL)

/** The root of the sum of squares; its slope at 0 is 0. */
hop_value hop_at_norm(hop_trace *t, const char *file, int line, hop_value x, int naxes,
                      const int *axes);
#define hop_norm(t, ...) hop_at_norm(t, __FILE__, __LINE__, __VA_ARGS__)
/** The variance, and its root. The squares are divided by the number of elements less correction:
 * 1 for a sample, which is PyTorch's default, 0 for all there are. */
hop_value hop_at_variance(hop_trace *t, const char *file, int line, bool root_of, hop_value x,
                     int naxes, const int *axes, double correction);
#define hop_variance(t, ...) hop_at_variance(t, __FILE__, __LINE__, false, __VA_ARGS__)
#define hop_std(t, ...) hop_at_variance(t, __FILE__, __LINE__, true, __VA_ARGS__)

/** Where along an axis the largest or the smallest element is: i64, of several the first. */
hop_value hop_at_argmax(hop_trace *t, const char *file, int line, hop_value x, int axis);
hop_value hop_at_argmin(hop_trace *t, const char *file, int line, hop_value x, int axis);
#define hop_argmax(t, ...) hop_at_argmax(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_argmin(t, ...) hop_at_argmin(t, __FILE__, __LINE__, __VA_ARGS__)

/** The places of the elements along an axis in their order, i64: the smallest first, or with down
 * the largest. Equal ones keep their order; NaNs are larger than all. And the elements in it. */
hop_value hop_at_argsort(hop_trace *t, const char *file, int line, hop_value x, int axis,
                         bool down);
hop_value hop_at_sort(hop_trace *t, const char *file, int line, hop_value x, int axis, bool down);
#define hop_argsort(t, ...) hop_at_argsort(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_sort(t, ...) hop_at_sort(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- the other way round, and whole quotients: hop_div on integers gives floats ---- */

hop_value hop_at_gt(hop_trace *t, const char *file, int line, hop_value x, hop_value y);
hop_value hop_at_ge(hop_trace *t, const char *file, int line, hop_value x, hop_value y);
hop_value hop_at_idiv(hop_trace *t, const char *file, int line, hop_value x, hop_value y);
#define hop_gt(t, ...) hop_at_gt(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_ge(t, ...) hop_at_ge(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_idiv(t, ...) hop_at_idiv(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- one or the other ---- */

/** x where cond holds, else y: hop_select by another name. */
hop_value hop_at_where(hop_trace *t, const char *file, int line, hop_value cond, hop_value x,
                       hop_value y);
#define hop_where(t, ...) hop_at_where(t, __FILE__, __LINE__, __VA_ARGS__)
/** x, but not below low and not above high; HOP_NONE = no such bound. A NaN passes. Where x is a
 * bound its slope is 1. */
hop_value hop_at_clamp(hop_trace *t, const char *file, int line, hop_value x, hop_value low,
                       hop_value high);
#define hop_clamp(t, ...) hop_at_clamp(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_clampf(hop_trace *t, const char *file, int line, hop_value x, double low,
                        double high);
#define hop_clampf(t, ...) hop_at_clampf(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- with a number ---- */

enum hop_with { HOP_WITH_ADD, HOP_WITH_SUB, HOP_WITH_MUL, HOP_WITH_DIV };
hop_value hop_at_with(hop_trace *t, const char *file, int line, enum hop_with w, hop_value x,
                      double v);
#define hop_addf(t, ...) hop_at_with(t, __FILE__, __LINE__, HOP_WITH_ADD, __VA_ARGS__)
#define hop_subf(t, ...) hop_at_with(t, __FILE__, __LINE__, HOP_WITH_SUB, __VA_ARGS__)
#define hop_mulf(t, ...) hop_at_with(t, __FILE__, __LINE__, HOP_WITH_MUL, __VA_ARGS__)
#define hop_divf(t, ...) hop_at_with(t, __FILE__, __LINE__, HOP_WITH_DIV, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
