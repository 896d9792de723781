/* Generated from src/ir/ops.def by tools/opgen.c: do not edit. For tools: a
 * constructor for every row of the table, with operands, attributes and results as
 * the graph has them (docs/ops.md): nothing is promoted or broadcast. Each gives the
 * number of results, 0 after a failure. A function that is a body captures no arrays
 * and writes no inputs. A mode is one of enum hop_scatter_mode; sym: bind a size. */
#ifndef HOP_ROWS_H
#define HOP_ROWS_H

#include "hop/fn.h"

#ifdef __cplusplus
extern "C" {
#endif

int hop_op_constant(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                const hop_array *value);
int hop_op_iota(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dtype dtype,
                int ndims, const hop_dim *dims,
                int64_t axis);
int hop_op_size_of(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dim size);
int hop_op_as_size(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t min,
                int64_t max,
                bool sym);
int hop_op_random_bits(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims);
int hop_op_uniform(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dtype dtype,
                int ndims, const hop_dim *dims);
int hop_op_fold_in(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_cast(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dtype dtype);
int hop_op_broadcast(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims,
                int naxes, const int64_t *axes);
int hop_op_reshape(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims);
int hop_op_permute(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes);
int hop_op_slice(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nstart, const hop_dim *start,
                int ndims, const hop_dim *dims,
                int nstep, const int64_t *step);
int hop_op_pad(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nstart, const hop_dim *start,
                int ndims, const hop_dim *dims,
                int nstep, const int64_t *step);
int hop_op_concat(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis);
int hop_op_dynslice(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims);
int hop_op_dynupdate(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_gather(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis,
                int64_t nbatch);
int hop_op_scatter(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int mode,
                int64_t axis,
                int64_t nbatch);
int hop_op_add(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_sub(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_mul(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_div(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_rem(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_max(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_min(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_neg(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_abs(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_sign(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_exp(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_log(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_sin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_cos(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_tanh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_sqrt(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_log1p(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_expm1(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_rsqrt(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_sinh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_cosh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_asinh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_acosh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_atanh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_atan(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_asin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_acos(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_atan2(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_pow(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_erf(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_floor(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_ceil(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_trunc(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_round(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_eq(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_ne(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_lt(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_le(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_and(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_or(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_xor(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_shl(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_shr(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_not(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_select(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out);
int hop_op_sum(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes);
int hop_op_amax(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes);
int hop_op_amin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes);
int hop_op_prod(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes);
int hop_op_any(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes);
int hop_op_all(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes);
int hop_op_argmax(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis);
int hop_op_argmin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis);
int hop_op_dot(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nlbatch, const int64_t *lbatch,
                int nrbatch, const int64_t *rbatch,
                int nlsum, const int64_t *lsum,
                int nrsum, const int64_t *rsum);
int hop_op_print(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                const char *text,
                bool when);
int hop_op_assert(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                const char *text,
                bool when);
int hop_op_call(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nsargs, const hop_dim *sargs,
                const hop_fn *body);
int hop_op_cond(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nsargs, const hop_dim *sargs,
                const hop_fn *then,
                const hop_fn *else_);
int hop_op_switch(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nsargs, const hop_dim *sargs,
                int nbranch, const hop_fn *const *branch);
int hop_op_while(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t ncarry,
                int64_t max_trips,
                bool sym,
                int nsargs, const hop_dim *sargs,
                const hop_fn *test,
                const hop_fn *body);
int hop_op_scan(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t ncarry,
                int64_t nx,
                hop_dim length,
                bool reverse,
                bool counted,
                bool stops,
                int64_t every,
                int nsargs, const hop_dim *sargs,
                const hop_fn *body);
int hop_op_map(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t nx,
                hop_dim length,
                int nsargs, const hop_dim *sargs,
                const hop_fn *body);
int hop_op_custom(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t nouts,
                int64_t nres,
                int nsargs, const hop_dim *sargs,
                const hop_fn *fwd,
                const hop_fn *bwd,
                const hop_fn *jvp,
                const hop_fn *batch);

#ifdef __cplusplus
}
#endif

#endif
