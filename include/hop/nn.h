/* Composites: each is a few ops, captured as such. */
#ifndef HOP_NN_H
#define HOP_NN_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As PyTorch's matmul: vectors, matrices, broadcast batches of matrices. */
hop_value hop_at_matmul(hop_trace *t, const char *file, int line, hop_value x, hop_value y);
#define hop_matmul(t, ...) hop_at_matmul(t, __FILE__, __LINE__, __VA_ARGS__)
/* x such that a x = b, for matrices a and for b a vector, a matrix, or broadcast batches of
 * matrices. All of x is NaN where a has no inverse. LAPACK does the large ones where it is
 * installed: see HOP_LAPACK in README.md. */
hop_value hop_at_solve(hop_trace *t, const char *file, int line, hop_value a, hop_value b);
#define hop_solve(t, ...) hop_at_solve(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_softmax(hop_trace *t, const char *file, int line, hop_value x, int axis);
#define hop_softmax(t, ...) hop_at_softmax(t, __FILE__, __LINE__, __VA_ARGS__)
/* Over the last axis; weight and bias may be {0, 0} = none. */
hop_value hop_at_layer_norm(hop_trace *t, const char *file, int line, hop_value x,
                            hop_value weight, hop_value bias, double eps);
#define hop_layer_norm(t, ...) hop_at_layer_norm(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_sigmoid(hop_trace *t, const char *file, int line, hop_value x);
#define hop_sigmoid(t, ...) hop_at_sigmoid(t, __FILE__, __LINE__, __VA_ARGS__)
/* log(sigmoid(x)), also where sigmoid(x) rounds to 0 or 1. softplus(x) is
 * -log_sigmoid(-x). */
hop_value hop_at_log_sigmoid(hop_trace *t, const char *file, int line, hop_value x);
#define hop_log_sigmoid(t, ...) hop_at_log_sigmoid(t, __FILE__, __LINE__, __VA_ARGS__)
/* Its slope at 0 is 0, as PyTorch has it; that of hop_max(x, 0) is 1/2. */
hop_value hop_at_relu(hop_trace *t, const char *file, int line, hop_value x);
#define hop_relu(t, ...) hop_at_relu(t, __FILE__, __LINE__, __VA_ARGS__)
hop_value hop_at_silu(hop_trace *t, const char *file, int line, hop_value x);
#define hop_silu(t, ...) hop_at_silu(t, __FILE__, __LINE__, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
