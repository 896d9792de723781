/** Composites: each is a few ops, captured as such. */
#ifndef HOP_NN_H
#define HOP_NN_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** As PyTorch's matmul: vectors, matrices, broadcast batches of matrices. */
hop_value hop_at_matmul(hop_trace *t, const char *file, int line, hop_value x, hop_value y);
#define hop_matmul(t, ...) hop_at_matmul(t, __FILE__, __LINE__, __VA_ARGS__)
/** The same, added up and given in dtype, at least as wide as the operands and of their kind: bf16 and
 * f16 in f32, so that nothing is rounded at the end, i32 in i64. */
hop_value hop_at_matmul_as(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                           hop_dtype dtype);
#define hop_matmul_as(t, ...) hop_at_matmul_as(t, __FILE__, __LINE__, __VA_ARGS__)
/** Element by element, in what the operands and dtype are promoted to, as dtype. */
hop_value hop_at_mul_as(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                        hop_dtype dtype);
#define hop_mul_as(t, ...) hop_at_mul_as(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_div_as(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                        hop_dtype dtype);
#define hop_div_as(t, ...) hop_at_div_as(t, __FILE__, __LINE__, __VA_ARGS__)
/** As PyTorch's linear: x times the transposed weight, which has a row for each result, along the last
 * axis; plus bias, which may be {0, 0} = none. */
hop_value hop_at_linear(hop_trace *t, const char *file, int line, hop_value x, hop_value weight,
                        hop_value bias);
#define hop_linear(t, ...) hop_at_linear(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- along an axis ---- */

hop_value hop_at_softmax(hop_trace *t, const char *file, int line, hop_value x, int axis);
#define hop_softmax(t, ...) hop_at_softmax(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_log_softmax(hop_trace *t, const char *file, int line, hop_value x, int axis);
#define hop_log_softmax(t, ...) hop_at_log_softmax(t, __FILE__, __LINE__, __VA_ARGS__)
/** The logarithm of the sum of exponentials; the axis goes. */
hop_value hop_at_logsumexp(hop_trace *t, const char *file, int line, hop_value x, int axis);
#define hop_logsumexp(t, ...) hop_at_logsumexp(t, __FILE__, __LINE__, __VA_ARGS__)
/** Of each element and all before it along an axis: their sum, product, largest, smallest, or the
 * logarithm of the sum of their exponentials. Integers add up and multiply as i64. how: bits of
 * hop_cum_how, 0 for none. */
enum hop_cum { HOP_CUM_SUM, HOP_CUM_PROD, HOP_CUM_MAX, HOP_CUM_MIN, HOP_CUM_LOGSUMEXP };
enum hop_cum_how {
	HOP_CUM_REVERSE = 1,           /**< of each and all behind it */
	HOP_CUM_EXCLUSIVE = 2          /**< of those only, without the element itself */
};
hop_value hop_at_cum(hop_trace *t, const char *file, int line, enum hop_cum kind, hop_value x,
                     int axis, int how);
#define hop_cum(t, ...) hop_at_cum(t, __FILE__, __LINE__, __VA_ARGS__)
#define hop_cumsum(t, x, axis)  hop_at_cum(t, __FILE__, __LINE__, HOP_CUM_SUM, x, axis, 0)
#define hop_cumprod(t, x, axis) hop_at_cum(t, __FILE__, __LINE__, HOP_CUM_PROD, x, axis, 0)
#define hop_cummax(t, x, axis)  hop_at_cum(t, __FILE__, __LINE__, HOP_CUM_MAX, x, axis, 0)
#define hop_cummin(t, x, axis)  hop_at_cum(t, __FILE__, __LINE__, HOP_CUM_MIN, x, axis, 0)
#define hop_logcumsumexp(t, x, axis) \
	hop_at_cum(t, __FILE__, __LINE__, HOP_CUM_LOGSUMEXP, x, axis, 0)
/** out: the k largest elements along an axis, the largest first, and their places, i64. Of equal
 * ones the first comes first; NaNs are larger than all. In k steps: for few. Returns 2, or 0
 * after a failure. */
int hop_at_topk(hop_trace *t, const char *file, int line, hop_value x, int axis, int64_t k,
                hop_value *out);
#define hop_topk(t, ...) hop_at_topk(t, __FILE__, __LINE__, __VA_ARGS__)
/** Over the last axis; weight and bias may be {0, 0} = none. */
hop_value hop_at_layer_norm(hop_trace *t, const char *file, int line, hop_value x,
                            hop_value weight, hop_value bias, double eps);
#define hop_layer_norm(t, ...) hop_at_layer_norm(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- losses ---- */

enum hop_loss { HOP_LOSS_MEAN, HOP_LOSS_SUM, HOP_LOSS_EACH };
/** -log softmax(x) at the targets: whole numbers, which class on the axis, of the sizes of x
 * without the axis. One that is no class counts as the nearest. */
hop_value hop_at_cross_entropy(hop_trace *t, const char *file, int line, hop_value x,
                               hop_value target, int axis, enum hop_loss kind);
#define hop_cross_entropy(t, ...) hop_at_cross_entropy(t, __FILE__, __LINE__, __VA_ARGS__)
/** Squares of differences. */
hop_value hop_at_mse(hop_trace *t, const char *file, int line, hop_value x, hop_value y,
                     enum hop_loss kind);
#define hop_mse(t, ...) hop_at_mse(t, __FILE__, __LINE__, __VA_ARGS__)

/* ---- element by element ---- */

hop_value hop_at_sigmoid(hop_trace *t, const char *file, int line, hop_value x);
#define hop_sigmoid(t, ...) hop_at_sigmoid(t, __FILE__, __LINE__, __VA_ARGS__)
/** log(sigmoid(x)), also where sigmoid(x) rounds to 0 or 1. */
hop_value hop_at_log_sigmoid(hop_trace *t, const char *file, int line, hop_value x);
#define hop_log_sigmoid(t, ...) hop_at_log_sigmoid(t, __FILE__, __LINE__, __VA_ARGS__)
/** log(1 + exp(x)), also where that rounds to 1 or overflows. */
hop_value hop_at_softplus(hop_trace *t, const char *file, int line, hop_value x);
#define hop_softplus(t, ...) hop_at_softplus(t, __FILE__, __LINE__, __VA_ARGS__)
/** Its slope at 0 is 0, as PyTorch has it; that of hop_max(x, 0) is 1/2. */
hop_value hop_at_relu(hop_trace *t, const char *file, int line, hop_value x);
#define hop_relu(t, ...) hop_at_relu(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_silu(hop_trace *t, const char *file, int line, hop_value x);
#define hop_silu(t, ...) hop_at_silu(t, __FILE__, __LINE__, __VA_ARGS__)
/** x times the normal distribution function of x; or its approximation by tanh. */
hop_value hop_at_gelu(hop_trace *t, const char *file, int line, hop_value x, bool by_tanh);
#define hop_gelu(t, x)      hop_at_gelu(t, __FILE__, __LINE__, x, false)
#define hop_gelu_tanh(t, x) hop_at_gelu(t, __FILE__, __LINE__, x, true)
/** Below 0: slope times x, and alpha times (exp(x) - 1). */
hop_value hop_at_leaky_relu(hop_trace *t, const char *file, int line, hop_value x, double slope);
#define hop_leaky_relu(t, ...) hop_at_leaky_relu(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_elu(hop_trace *t, const char *file, int line, hop_value x, double alpha);
#define hop_elu(t, ...) hop_at_elu(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
