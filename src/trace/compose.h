/* compose.h -- what the files of composites share: operands in what is computed in, results
 * rounded once, reductions that stay as wide as they were. Nothing here is public. */
#ifndef HOP_COMPOSE_H
#define HOP_COMPOSE_H

#include "trace/trace.h"
#include "hop/nn.h"

/* ---- compose.c ---- */

/* x as a float; integers become f32. A packed float is computed in what its ops compute in, so that
 * a composite is rounded once, as an op is. */
hop_val   hop_floats(hop_trace *t, hop_value x);
/* The result, rounded to what the n operands are promoted to. */
hop_value hop_rounded(hop_trace *t, hop_val v, int n, const hop_value *operand);
/* v in the shape and dtype of x. */
hop_val   hop_number_like(hop_build *b, hop_val x, double v);
/* The axes to reduce, counted from 0, each once, in order; none given = all. How many, or -1
 * and a failure. */
int       hop_axis_list(hop_trace *t, int naxes, const int *axes, int rank, int64_t *out);
/* A reduced value, repeated along the axes it lost. */
hop_val   hop_widened(hop_build *b, hop_val v, const hop_type *type, int n, const int64_t *axes);
/* x reduced along an axis by op and repeated along it again. */
hop_val   hop_along(hop_build *b, hop_val x, int64_t axis, int op);
/* How many elements these axes have, as a scalar of dtype d. */
hop_val   hop_counted(hop_trace *t, const hop_type *type, int n, const int64_t *axes, hop_dtype d);

/* ---- running.c ---- */

/* hop_cum of contents: their dtype is that of the result. */
hop_val   hop_running(hop_trace *t, enum hop_cum kind, hop_val x, int axis, int how);

/* ---- move.c ---- */

/* User sizes to ours; false and a failure when they cannot be a shape. */
bool      hop_dims(hop_trace *t, const char *op, int rank, const hop_dim *d, hop_size *out);
bool      hop_dtype_check(hop_trace *t, const char *op, hop_dtype d);
/* A view of n elements of an axis from start, every step-th. */
hop_value hop_narrowed(hop_trace *t, hop_value x, int axis, hop_size start, hop_size n,
                       int64_t step);

#endif
