/* wrong_calls.h -- wrong arguments to every public constructor, and the functions that go through
 * them: each call is given to agree(), which whoever includes this defines. Operators with bodies
 * are in wrong_hops.h. */
#ifndef WRONG_CALLS_H
#define WRONG_CALLS_H

#include "unit/trace_rig.h"

#include <limits.h>

/* ---- what the constructors are given ---- */

enum { MAT, IDX, NUM, MASK, KEY, WIDE, NIN };      /* inputs of every body */
enum { MESSAGE = 600 };                            /* the longest message */

struct args {
	hop_value      v[3];
	int            axis, other, rank, n, kind;
	hop_dtype      dtype;
	const hop_dim *dim, *after;
	const int     *axes;
	hop_dim        start, len;
	int64_t        step, min, max;
	bool           no_list;        /* NULL where a list of values belongs */
	const char    *text;
};
typedef hop_value call_fn(hop_trace *t, const struct args *a);

#define CALL(name, ...) \
	static hop_value c_##name(hop_trace *t, const struct args *a) { return __VA_ARGS__; }
#define DO(name, ...) \
	static hop_value c_##name(hop_trace *t, const struct args *a) { __VA_ARGS__; return a->v[0]; }
#define ONE(name) CALL(name, hop_##name(t, a->v[0]))
#define TWO(name) CALL(name, hop_##name(t, a->v[0], a->v[1]))
#define V (a->no_list ? NULL : a->v)

TWO(add) TWO(sub) TWO(mul) TWO(div) TWO(rem) TWO(max) TWO(min) ONE(neg) ONE(abs) ONE(exp)
ONE(log) ONE(sin) ONE(cos) ONE(tanh) ONE(sqrt) TWO(eq) TWO(ne) TWO(lt) TWO(le) TWO(and)
TWO(or) ONE(not) TWO(fold_in) TWO(gt) TWO(ge) TWO(idiv) TWO(matmul) ONE(sigmoid) ONE(relu)
ONE(silu) ONE(clone) ONE(log_sigmoid) ONE(softplus) ONE(gelu) ONE(gelu_tanh) ONE(stop_gradient)
TWO(straight)
CALL(matmul_as, hop_matmul_as(t, a->v[0], a->v[1], a->dtype))
CALL(mul_as, hop_mul_as(t, a->v[0], a->v[1], a->dtype))
CALL(div_as, hop_div_as(t, a->v[0], a->v[1], a->dtype))
CALL(linear, hop_linear(t, a->v[0], a->v[1], a->v[2]))
CALL(solve, hop_solve(t, hop_slice(t, a->v[0], 1, (hop_dim){ 0, NULL }, (hop_dim){ 2, NULL }, 1),
                      a->v[1]))
CALL(leaky_relu, hop_leaky_relu(t, a->v[0], 0.5))
CALL(elu, hop_elu(t, a->v[0], 0.5))
CALL(log_softmax, hop_log_softmax(t, a->v[0], a->axis))
CALL(logsumexp, hop_logsumexp(t, a->v[0], a->axis))
CALL(cum, hop_at_cum(t, __FILE__, __LINE__, (enum hop_cum)a->kind, a->v[0], a->axis, a->other))
CALL(cross_entropy, hop_cross_entropy(t, a->v[0], a->v[1], a->axis, (enum hop_loss)a->kind))
CALL(mse, hop_mse(t, a->v[0], a->v[1], (enum hop_loss)a->kind))
CALL(norm, hop_norm(t, a->v[0], a->n, a->axes))
CALL(variance, hop_variance(t, a->v[0], a->n, a->axes, 1))
CALL(std, hop_std(t, a->v[0], a->n, a->axes, 0))
CALL(scalar, hop_scalar(t, a->dtype, 2))
CALL(arange, hop_arange(t, a->dtype, a->dim ? a->dim[0] : hop_n(-1)))
CALL(linspace, hop_linspace(t, a->dtype, 0, 1, a->dim ? a->dim[0] : hop_n(-1)))
CALL(eye, hop_eye(t, a->dtype, a->dim ? a->dim[0] : hop_n(-1), hop_n(3)))
CALL(one_hot, hop_one_hot(t, a->dtype, a->v[0], a->dim ? a->dim[0] : hop_n(-1)))
CALL(normal, hop_normal(t, a->v[0], a->dtype, a->rank, a->dim))
CALL(stack_n, hop_stack_n(t, a->n, V, a->axis))
CALL(where, hop_where(t, a->v[0], a->v[1], a->v[2]))
CALL(clamp, hop_clamp(t, a->v[0], a->v[1], a->v[2]))
CALL(clampf, hop_clampf(t, a->v[0], -1, 1))

static hop_value c_topk(hop_trace *t, const struct args *a)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };
	hop_topk(t, a->v[0], a->axis, a->min, a->no_list ? NULL : out);
	return out[0];
}

static hop_value c_nonzero(hop_trace *t, const struct args *a)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };
	hop_nonzero(t, a->v[0], HOP_COUNT_OPTS(.has_cap = true, .cap = a->len), a->no_list ? NULL : out);
	return out[0];
}

static hop_value c_masked_select(hop_trace *t, const struct args *a)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };
	hop_masked_select(t, a->v[0], a->v[1], HOP_COUNT_OPTS(.fill = a->v[2]),
	                  a->no_list ? NULL : out);
	return out[0];
}

static hop_value c_compact(hop_trace *t, const struct args *a)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };
	hop_compact(t, a->v[0], hop_index(t, a->v[1], 1, 0), HOP_COUNT_OPTS(.fill = a->v[2]),
	            a->no_list ? NULL : out);
	return out[0];
}

static hop_value c_unique(hop_trace *t, const struct args *a)
{
	hop_value out[4] = { { 0, 0 } };
	hop_unique(t, a->v[0], HOP_COUNT_OPTS(.has_cap = true, .cap = a->len, .inverse = true,
	                                      .counts = true), a->no_list ? NULL : out);
	return out[0];
}

static hop_value c_split_axis(hop_trace *t, const struct args *a)
{
	hop_value out[4] = { { 0, 0 } };
	hop_split_axis(t, a->v[0], a->axis, a->n, a->dim, a->no_list ? NULL : out);
	return out[0];
}

#define SQUARE hop_slice(t, a->v[0], 1, (hop_dim){ 0, NULL }, (hop_dim){ 2, NULL }, 1)
CALL(triangular_solve, hop_triangular_solve(t, SQUARE, a->v[1], a->axis))
CALL(cho_solve, hop_cho_solve(t, SQUARE, a->v[1], a->axis))
CALL(cholesky, hop_cholesky(t, SQUARE, a->axis))
CALL(inv, hop_inv(t, SQUARE))
CALL(cho_logdet, hop_cho_logdet(t, SQUARE))
#undef SQUARE
ONE(diag) ONE(diag_sum) TWO(outer)
CALL(tril, hop_tril(t, a->v[0], a->axis))
CALL(triu, hop_triu(t, a->v[0], a->axis))
CALL(select, hop_select(t, a->v[0], a->v[1], a->v[2]))
CALL(with, hop_at_with(t, __FILE__, __LINE__, (enum hop_with)a->kind, a->v[0], 2))
CALL(full, hop_full(t, a->dtype, a->rank, a->dim, 3))
CALL(full_like, hop_full_like(t, a->v[0], 3))
CALL(iota, hop_iota(t, a->dtype, a->rank, a->dim, a->axis))
CALL(random_bits, hop_random_bits(t, a->v[0], a->rank, a->dim))
CALL(uniform, hop_uniform(t, a->v[0], a->dtype, a->rank, a->dim))
CALL(reshape, hop_reshape(t, a->v[0], a->rank, a->dim))
CALL(permute, hop_permute(t, a->v[0], a->axes))
CALL(transpose, hop_transpose(t, a->v[0], a->axis, a->other))
CALL(slice, hop_slice(t, a->v[0], a->axis, a->start, a->len, a->step))
CALL(index, hop_index(t, a->v[0], a->axis, a->step))
CALL(expand, hop_expand(t, a->v[0], a->rank, a->dim))
CALL(unsqueeze, hop_unsqueeze(t, a->v[0], a->axis))
CALL(cast, hop_cast(t, a->v[0], a->dtype))
CALL(pad, hop_pad(t, a->v[0], a->dim, a->after))
CALL(concat, hop_concat(t, a->n, V, a->axis))
CALL(dynslice, hop_dynslice(t, a->v[0], a->no_list ? NULL :
	(hop_value[]){ a->v[1], a->v[1], a->v[1] }, a->dim))
CALL(dynupdate, hop_dynupdate(t, a->v[0], a->v[1], a->no_list ? NULL :
	(hop_value[]){ a->v[2], a->v[2], a->v[2] }))
CALL(gather, hop_gather(t, a->v[0], a->axis, a->v[1]))
CALL(argmax, hop_argmax(t, a->v[0], a->axis))
CALL(argmin, hop_argmin(t, a->v[0], a->axis))
CALL(argsort, hop_argsort(t, a->v[0], a->axis, a->other))
CALL(sort, hop_sort(t, a->v[0], a->axis, a->other))
CALL(count_nonzero, hop_count_nonzero(t, a->v[0]))
CALL(exact, hop_exact(t, a->v[0], a->v[1]))
CALL(scatter, hop_at_scatter(t, __FILE__, __LINE__, (enum hop_scatter_mode)a->kind, a->v[0],
	a->axis, a->v[1], a->v[2]))
CALL(scatter_add, hop_scatter_add(t, a->v[0], a->axis, a->v[1], a->v[2]))
CALL(reduce, hop_at_reduce(t, __FILE__, __LINE__, (enum hop_reduce)a->kind, a->v[0], a->n,
	a->axes))
CALL(softmax, hop_softmax(t, a->v[0], a->axis))
CALL(layer_norm, hop_layer_norm(t, a->v[0], a->v[1], a->v[2], 1e-5))
CALL(size_of, hop_size_of(t, a->v[0], a->axis))
CALL(dim_of, hop_size_value(t, hop_dim_of(t, a->v[0], a->axis)))
CALL(rank, hop_i(t, hop_rank(t, a->v[0])))
CALL(dtype_of, hop_i(t, hop_dtype_of(t, a->v[0])))
CALL(dim_op, hop_size_value(t, hop_at_dim_op(t, __FILE__, __LINE__, (enum hop_dim_op)a->kind,
	a->start, a->len)))
CALL(as_size, hop_size_value(t, hop_as_size(t, a->v[0], a->min, a->max)))
CALL(data, hop_data(t, a->dtype, a->rank, a->rank ? &a->min : NULL, a->text))
DO(print, hop_print(t, a->text, a->n, V))
DO(assert, hop_assert(t, a->v[0], a->text, a->n, a->no_list ? NULL : &a->v[1]))
DO(write, hop_at_write(t, __FILE__, __LINE__, (enum hop_write)a->kind, a->v[0], a->v[1]))
DO(index_put, hop_index_put_(t, a->v[0], a->axis, a->v[1], a->v[2]))
DO(stop_if, hop_stop_if(t, a->v[0]))
DO(progress, hop_progress(t, a->v[0], a->v[1], a->text))
DO(save, hop_save(t, a->n, V))

/* What varies, and what a right call looks like. */
enum { AXIS = 1, OTHER = 2, DIMS = 4, AFTER = 8, AXES = 16, COUNT = 32, DTYPE = 64, KIND = 128,
       WINDOW = 256, LIST = 512, TEXT = 1024, RANGE = 2048, ALWAYS = 4096, RANK = 8192,
       OPTION = 16384 };
static const hop_dim d23[2] = { { 2, NULL }, { 3, NULL } }, d6[2] = { { 6, NULL }, { 1, NULL } };
/* as long as the highest rank among the inputs: their length is not asked */
static const hop_dim ones[3] = { { 1, NULL }, { 1, NULL }, { 1, NULL } };
static const int turn[3] = { 1, 0, 2 };

static const struct ctor {
	const char *name, *also;       /* a message names one of them */
	call_fn    *call;
	int         nv, in[3];
	int         vary;
	struct args good;
} ctors[] = {
#define R1(n, i) { #n, #n, c_##n, 1, { i }, 0, { .rank = 0 } }
#define R2(n, i, k) { #n, #n, c_##n, 2, { i, k }, 0, { .rank = 0 } }
	R2(add, MAT, MAT), R2(sub, MAT, NUM), R2(mul, MAT, MAT), R2(div, MAT, IDX),
	R2(rem, MAT, MAT), R2(max, MAT, NUM), R2(min, MAT, NUM), R1(neg, MAT), R1(abs, MAT),
	R1(exp, MAT), R1(log, MAT), R1(sin, MAT), R1(cos, IDX), R1(tanh, MAT), R1(sqrt, MAT),
	R2(eq, MAT, MAT), R2(ne, MAT, IDX), R2(lt, MAT, MAT), R2(le, MAT, NUM),
	R2(and, MASK, MASK), R2(or, MASK, MASK), R1(not, MASK), R2(fold_in, KEY, KEY),
	{ "gt", "gt", c_gt, 2, { MAT, MAT }, 0, { .rank = 0 } },
	{ "ge", "ge", c_ge, 2, { MAT, MAT }, 0, { .rank = 0 } },
	{ "idiv", "idiv", c_idiv, 2, { IDX, IDX }, 0, { .rank = 0 } },
	{ "matmul", "matmul", c_matmul, 2, { MAT, IDX }, 0, { .rank = 0 } },
	{ "solve", "slice", c_solve, 2, { MAT, MAT }, 0, { .rank = 0 } },
	{ "triangular_solve", "slice", c_triangular_solve, 2, { MAT, MAT }, AXIS, { .rank = 0 } },
	{ "cho_solve", "slice", c_cho_solve, 2, { MAT, MAT }, AXIS, { .rank = 0 } },
	{ "cholesky", "slice", c_cholesky, 1, { MAT }, AXIS, { .rank = 0 } },
	{ "inv", "slice", c_inv, 1, { MAT }, 0, { .rank = 0 } },
	{ "cho_logdet", "slice", c_cho_logdet, 1, { MAT }, 0, { .rank = 0 } },
	R1(diag, MAT), R1(diag_sum, MAT), R2(outer, IDX, IDX),
	{ "tril", "tril", c_tril, 1, { MAT }, 0, { .rank = 0 } },
	{ "triu", "triu", c_triu, 1, { MAT }, 0, { .rank = 0 } },
	R1(log_sigmoid, MAT), R1(softplus, MAT), R1(gelu, IDX), R1(gelu_tanh, MAT),
	R2(straight, MAT, NUM),
	{ "matmul_as", "matmul_as", c_matmul_as, 2, { MAT, IDX }, DTYPE, { .dtype = HOP_f64 } },
	{ "mul_as", "mul_as", c_mul_as, 2, { MAT, IDX }, DTYPE, { .dtype = HOP_f32 } },
	{ "div_as", "div_as", c_div_as, 2, { MAT, NUM }, DTYPE, { .dtype = HOP_i64 } },
	{ "linear", "linear", c_linear, 2, { MAT, MAT }, 0, { .rank = 0 } },
	R1(stop_gradient, MAT), R1(leaky_relu, MAT), R1(elu, MAT),
	{ "log_softmax", "log_softmax", c_log_softmax, 1, { MAT }, AXIS, { .axis = 1 } },
	{ "logsumexp", "logsumexp", c_logsumexp, 1, { MAT }, AXIS, { .axis = 1 } },
	{ "cum", "cum", c_cum, 1, { MAT }, AXIS | KIND, { .axis = 1 } },
	{ "cumprod", "cumprod", c_cum, 1, { MAT }, AXIS | OTHER,
	  { .kind = HOP_CUM_PROD, .other = HOP_CUM_REVERSE } },
	{ "cummax", "cummax", c_cum, 1, { MASK }, AXIS, { .kind = HOP_CUM_MAX } },
	{ "logcumsumexp", "logcumsumexp", c_cum, 1, { IDX }, AXIS, { .kind = HOP_CUM_LOGSUMEXP } },
	{ "topk", "topk", c_topk, 1, { MAT }, AXIS | LIST, { .axis = 1, .min = 2 } },
	{ "cross_entropy", "cross_entropy", c_cross_entropy, 2, { MAT, IDX }, AXIS | KIND,
	  { .axis = 0 } },
	{ "mse", "mse", c_mse, 2, { MAT, MAT }, KIND, { .rank = 0 } },
	{ "norm", "norm", c_norm, 1, { MAT }, AXES | COUNT, { .n = 2, .axes = turn } },
	{ "variance", "variance", c_variance, 1, { MAT }, AXES | COUNT, { .n = 2, .axes = turn } },
	{ "std", "std", c_std, 1, { MAT }, AXES | COUNT, { .n = 2, .axes = turn } },
	{ "scalar", "scalar", c_scalar, 0, { 0 }, DTYPE, { .dtype = HOP_f32 } },
	{ "arange", "arange", c_arange, 0, { 0 }, DTYPE | DIMS, { .dtype = HOP_i64, .dim = d23 } },
	{ "linspace", "linspace", c_linspace, 0, { 0 }, DTYPE | DIMS,
	  { .dtype = HOP_f32, .dim = d23 } },
	{ "eye", "eye", c_eye, 0, { 0 }, DTYPE | DIMS, { .dtype = HOP_bool, .dim = d23 } },
	{ "one_hot", "one_hot", c_one_hot, 1, { IDX }, DTYPE | DIMS,
	  { .dtype = HOP_f64, .dim = d23 } },
	{ "normal", "normal", c_normal, 1, { KEY }, DIMS | RANK | DTYPE,
	  { .dtype = HOP_f64, .rank = 2, .dim = d23 } },
	{ "stack_n", "stack_n", c_stack_n, 2, { MAT, MAT }, AXIS | COUNT | LIST, { .n = 2 } },
	{ "split_axis", "split_axis", c_split_axis, 1, { MAT }, AXIS | COUNT | LIST,
	  { .n = 3, .axis = 1 } },
	{ "where", "where", c_where, 3, { MASK, MAT, NUM }, 0, { .rank = 0 } },
	{ "clamp", "clamp", c_clamp, 3, { MAT, NUM, NUM }, OPTION, { .rank = 0 } },
	R1(clampf, MAT),
	R1(sigmoid, MAT), R1(relu, MAT), R1(silu, MAT),
	R1(clone, MAT), R1(full_like, MAT), R1(rank, MAT), R1(dtype_of, MAT),
	{ "select", "select", c_select, 3, { MASK, MAT, NUM }, 0, { .rank = 0 } },
	{ "with", "add", c_with, 1, { MAT }, KIND, { .kind = HOP_WITH_ADD } },
	{ "full", "full", c_full, 0, { 0 }, DIMS | RANK | DTYPE,
	  { .dtype = HOP_f64, .rank = 2, .dim = d23 } },
	{ "iota", "iota", c_iota, 0, { 0 }, DIMS | RANK | DTYPE | AXIS,
	  { .dtype = HOP_i64, .rank = 2, .dim = d23 } },
	{ "random_bits", "random_bits", c_random_bits, 1, { KEY }, DIMS | RANK,
	  { .rank = 2, .dim = d23 } },
	{ "uniform", "uniform", c_uniform, 1, { KEY }, DIMS | RANK | DTYPE,
	  { .dtype = HOP_f64, .rank = 2, .dim = d23 } },
	{ "reshape", "reshape", c_reshape, 1, { MAT }, DIMS | RANK, { .rank = 2, .dim = d6 } },
	{ "permute", "permute", c_permute, 1, { MAT }, AXES, { .axes = turn } },
	{ "transpose", "transpose", c_transpose, 1, { MAT }, AXIS | OTHER, { .other = 1 } },
	{ "slice", "slice", c_slice, 1, { MAT }, AXIS | WINDOW,
	  { .axis = 1, .start = { 1, NULL }, .len = { 2, NULL }, .step = 1 } },
	{ "index", "index", c_index, 1, { MAT }, AXIS | WINDOW, { .step = 1 } },
	{ "expand", "expand", c_expand, 1, { NUM }, DIMS | RANK, { .rank = 2, .dim = d23 } },
	{ "unsqueeze", "unsqueeze", c_unsqueeze, 1, { MAT }, AXIS, { .axis = 0 } },
	{ "cast", "cast", c_cast, 1, { MAT }, DTYPE, { .dtype = HOP_f32 } },
	{ "pad", "pad", c_pad, 1, { MAT }, DIMS | AFTER, { .dim = ones, .after = ones } },
	{ "concat", "concat", c_concat, 2, { MAT, MAT }, AXIS | COUNT | LIST, { .n = 2 } },
	{ "dynslice", "dynslice", c_dynslice, 2, { MAT, KEY }, DIMS | LIST, { .dim = ones } },
	{ "dynupdate", "dynupdate", c_dynupdate, 3, { MAT, MAT, KEY }, LIST, { .rank = 0 } },
	{ "gather", "gather", c_gather, 2, { MAT, IDX }, AXIS, { .axis = 0 } },
	{ "scatter", "scatter", c_scatter, 3, { MAT, IDX, MAT }, AXIS | KIND, { .axis = 1 } },
	{ "scatter_add", "scatter_add", c_scatter_add, 3, { MAT, IDX, MAT }, AXIS,
	  { .axis = 1 } },
	{ "sum", "reduce", c_reduce, 1, { MAT }, AXES | COUNT | KIND,
	  { .n = 2, .axes = turn, .kind = HOP_REDUCE_SUM } },
	{ "amax", "reduce", c_reduce, 1, { MAT }, AXES | COUNT,
	  { .n = 2, .axes = turn, .kind = HOP_REDUCE_MAX } },
	{ "prod", "reduce", c_reduce, 1, { MAT }, AXES | COUNT,
	  { .n = 2, .axes = turn, .kind = HOP_REDUCE_PROD } },
	{ "any", "reduce", c_reduce, 1, { MAT }, AXES | COUNT,
	  { .n = 2, .axes = turn, .kind = HOP_REDUCE_ANY } },
	{ "argmax", "argmax", c_argmax, 1, { MAT }, AXIS, { .axis = 1 } },
	{ "argmin", "argmin", c_argmin, 1, { MAT }, AXIS, { .axis = 0 } },
	{ "argsort", "argsort", c_argsort, 1, { MAT }, AXIS, { .axis = 1, .other = 1 } },
	{ "sort", "sort", c_sort, 1, { MASK }, AXIS, { .axis = 0 } },
	{ "nonzero", "nonzero", c_nonzero, 1, { MAT }, WINDOW | LIST, { .len = { 4, NULL } } },
	{ "count_nonzero", "count_nonzero", c_count_nonzero, 1, { MAT }, 0, { .rank = 0 } },
	{ "masked_select", "masked_select", c_masked_select, 3, { MAT, MASK, NUM }, LIST | OPTION,
	  { .rank = 0 } },
	{ "compact", "index", c_compact, 3, { MAT, MASK, NUM }, LIST | OPTION, { .rank = 0 } },
	{ "unique", "unique", c_unique, 1, { MAT }, WINDOW | LIST, { .len = { 4, NULL } } },
	{ "exact", "exact", c_exact, 2, { MAT, KEY }, 0, { .rank = 0 } },
	{ "mean", "reduce", c_reduce, 1, { MAT }, AXES | COUNT,
	  { .n = 2, .axes = turn, .kind = HOP_REDUCE_MEAN } },
	{ "softmax", "softmax", c_softmax, 1, { MAT }, AXIS, { .axis = 1 } },
	{ "layer_norm", "layer_norm", c_layer_norm, 3, { MAT, NUM, NUM }, OPTION, { .rank = 0 } },
	{ "size_of", "size_of", c_size_of, 1, { MAT }, AXIS, { .axis = 1 } },
	{ "dim_of", "dim_of", c_dim_of, 1, { MAT }, AXIS, { .axis = 1 } },
	{ "dim_op", "size", c_dim_op, 0, { 0 }, KIND | WINDOW,
	  { .start = { 6, NULL }, .len = { 2, NULL } } },
	{ "as_size", "as_size", c_as_size, 1, { KEY }, RANGE, { .min = 0, .max = 9 } },
	{ "data", "data", c_data, 0, { 0 }, DTYPE | RANK | RANGE,
	  { .dtype = HOP_bool, .rank = 1, .min = 2, .text = "\1\0\1\1\0\0\1" } },
	{ "print", "print", c_print, 1, { NUM }, COUNT | LIST | TEXT, { .n = 1, .text = "{}" } },
	{ "assert", "assert", c_assert, 2, { MAT, NUM }, COUNT | LIST | TEXT,
	  { .n = 1, .text = "{}" } },
	{ "progress", "progress", c_progress, 2, { KEY, KEY }, 0, { .text = "trips" } },
	{ "_", "write", c_write, 2, { MAT, MAT }, KIND, { .kind = HOP_WRITE_ADD } },
	{ "index_put_", "index_put_", c_index_put, 3, { MAT, IDX, MAT }, AXIS, { .axis = 1 } },
	{ "stop_if", "stop_if", c_stop_if, 1, { NUM }, ALWAYS, { .rank = 0 } },
	{ "save", "save", c_save, 1, { NUM }, ALWAYS, { .n = 1 } },
#undef R1
#undef R2
};
enum { NCTOR = sizeof ctors / sizeof *ctors };

/* ---- values that are none ---- */

enum bad { FINE, UNSET, ENDED, FOREIGN, BESIDE, BEYOND, NBAD };
static hop_value ended, foreign, beside;
static hop_ctx *other_ctx;
static hop_trace *other_trace, *beside_trace;

static void f_ended(hop_trace *t, const hop_value *in, void *user)
{
	(void)in, (void)user;
	ended = hop_full(t, HOP_f64, 0, NULL, 1);
	hop_return(t, ended);
}

static int up(void **state)
{
	hop_fn *f;
	setenv("HOP_INTERP", "1", 1);              /* thousands of small functions */
	if (rig_up(state) || hop_ctx_new(NULL, &other_ctx) ||
	    hop_eager_new(other_ctx, &other_trace) || hop_eager_new(ctx, &beside_trace) ||
	    hop_capture(ctx, f_ended, NULL, 0, NULL, &f))
		return 1;
	hop_fn_release(f);
	foreign = hop_full(other_trace, HOP_f64, 0, NULL, 1);
	beside = hop_full(beside_trace, HOP_f64, 0, NULL, 1);
	return 0;
}

static int down(void **state)
{
	return hop_eager_free(other_trace) || hop_eager_free(beside_trace) ||
	       (hop_ctx_free(other_ctx), rig_down(state));
}

static hop_value no_value(enum bad b, hop_value near)
{
	switch (b) {
	case ENDED:   return ended;
	case FOREIGN: return foreign;
	case BESIDE:  return beside;
	case BEYOND:  return (hop_value){ near.trace, 1u << 30 };
	default:      return (hop_value){ 0, 0 };
	}
}

/* ---- one call, both ways ---- */

struct one {
	const struct ctor *c;
	struct args        a;
	int                operand;       /* this one is bad, or another input, or a number */
	enum bad           bad;
	int                instead;
};

static void f_one(hop_trace *t, const hop_value *in, void *user)
{
	struct one *o = user;
	struct args a = o->a;
	for (int i = 0; i < o->c->nv; i++) {
		int k = i == o->operand && o->bad == FINE ? o->instead : o->c->in[i];
		a.v[i] = k < NIN ? in[k] : k == NIN ? hop_f(t, 1.5) : hop_i(t, 1);
	}
	if (o->operand >= 0 && o->bad != FINE)
		a.v[o->operand] = no_value(o->bad, in[0]);
	hop_return(t, hop_cast(t, o->c->call(t, &a), HOP_f64));
}

static hop_array *inputs[NIN];

static void make_inputs(void)
{
	static const int64_t d[2] = { 2, 3 };
	static const double mat[6] = { 1, -2, 3, 0.5, 4, 2 };
	static const int64_t idx[3] = { 1, 0, 1 };
	static const char mask[6] = { 1, 0, 1, 1, 1, 0 };
	inputs[MAT] = array(HOP_f64, 2, d, mat);
	inputs[IDX] = array(HOP_i64, 1, &d[1], idx);
	inputs[NUM] = num(0.5);
	inputs[MASK] = array(HOP_bool, 2, d, mask);
	inputs[KEY] = num_i(1);
	inputs[WIDE] = array(HOP_f32, 3, (int64_t[]){ 4, 2, 3 }, NULL);
}

static hop_status run(struct one *o, bool eager, hop_array **out, char *text)
{
	hop_spec spec[NIN];
	hop_array *in[NIN];
	hop_fn *f;
	hop_status st;
	*out = NULL;
	make_inputs();
	memcpy(in, inputs, sizeof in);
	for (int i = 0; i < NIN; i++)
		spec[i] = spec_of(in[i]);
	if (eager) {
		st = hop_eager_call(ctx, f_one, o, NIN, in, 1, out);
	} else if (!(st = hop_capture(ctx, f_one, o, NIN, spec, &f))) {
		st = hop_call(f, NIN, in, 1, out);
		hop_fn_release(f);
	}
	snprintf(text, MESSAGE, "%s", st ? hop_message(ctx) : "");
	for (int i = 0; i < NIN; i++)
		hop_array_release(in[i]);
	return st;
}

/* ---- the ways to be wrong ---- */

/* One call; must: it has to be refused. */
static void agree(struct one o, bool must, const char *what, int64_t number);
/* After all calls of one way. */
static void finish(void);

static struct one right(const struct ctor *c)
{
	return (struct one){ .c = c, .a = c->good, .operand = -1 };
}

static void right_calls(void **state)
{
	(void)state;
	for (int i = 0; i < NCTOR; i++) {
		char text[MESSAGE];
		hop_array *out;
		struct one o = right(&ctors[i]);
		if (!(ctors[i].vary & ALWAYS) && run(&o, true, &out, text))
			fail_msg("%s", text);
		else if (!(ctors[i].vary & ALWAYS))
			hop_array_release(out);
		agree(o, ctors[i].vary & ALWAYS, "as it should be", 0);
	}
	finish();
}

static void bad_values(void **state)
{
	(void)state;
	for (int i = 0; i < NCTOR; i++)
		for (int k = 0; k < ctors[i].nv; k++)
			for (enum bad b = UNSET; b < NBAD; b++) {
				struct one o = right(&ctors[i]);
				o.operand = k;
				o.bad = b;
				agree(o, !(k && b == UNSET && ctors[i].vary & OPTION), "a bad value", b);
			}
	finish();
}

static void other_values(void **state)
{
	(void)state;
	for (int i = 0; i < NCTOR; i++)
		for (int k = 0; k < ctors[i].nv; k++)
			for (int v = 0; v < NIN + 2; v++) {
				struct one o = right(&ctors[i]);
				o.operand = k;
				o.instead = v;
				agree(o, ctors[i].vary & ALWAYS, "another value", 10 * k + v);
			}
	finish();
}

static void axes(void **state)
{
	static const int axis[] = { -100, -4, -3, -2, -1, 0, 1, 2, 3, 100, INT_MIN, INT_MAX };
	(void)state;
	for (int i = 0; i < NCTOR; i++)
		for (size_t k = 0; k < sizeof axis / sizeof *axis; k++) {
			struct one o = right(&ctors[i]);
			bool out = axis[k] < -3 || axis[k] > 3;
			o.a.axis = axis[k];
			if (ctors[i].vary & AXIS)
				agree(o, out, "axis", axis[k]);
			o = right(&ctors[i]);
			o.a.other = axis[k];
			if (ctors[i].vary & OTHER)
				agree(o, out, "other axis", axis[k]);
			o = right(&ctors[i]);
			o.a.axes = (int[]){ axis[k], 0, 1 };
			if (ctors[i].vary & AXES)
				agree(o, out, "axes", axis[k]);
		}
	finish();
}

static void sizes(void **state)
{
	static const int64_t size[] = { -1, -3, 0, 1, 2, 7, INT64_MIN, INT64_MAX,
	                                ((int64_t)1 << 48) + 1 };
	(void)state;
	for (int i = 0; i < NCTOR; i++)
		for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
			const hop_dim d[3] = { { size[k], NULL }, { 3, NULL }, { 1, NULL } };
			bool out = size[k] < 0 || size[k] > 9;
			struct one o = right(&ctors[i]);
			o.a.dim = d;
			if (ctors[i].vary & DIMS)
				agree(o, out, "size", size[k]);
			o = right(&ctors[i]);
			o.a.after = d;
			if (ctors[i].vary & AFTER)
				agree(o, out, "size after", size[k]);
			o = right(&ctors[i]);
			o.a.min = size[k];
			if (ctors[i].vary & RANGE)
				agree(o, out, "least size", size[k]);
			o = right(&ctors[i]);
			o.a.max = size[k];
			if (ctors[i].vary & RANGE && ctors[i].nv)
				agree(o, out, "largest size", size[k]);
			for (int w = 0; w < 3 && ctors[i].vary & WINDOW; w++) {
				o = right(&ctors[i]);
				*(w == 0 ? &o.a.start.k : w == 1 ? &o.a.len.k : &o.a.step) = size[k];
				agree(o, false, "window", size[k]);
			}
		}
	finish();
}

static const int many[] = { -1, 17, 18, 100, INT_MIN, INT_MAX };

static void ranks_and_lists(void **state)
{
	(void)state;
	for (int i = 0; i < NCTOR; i++) {
		struct one o = right(&ctors[i]);
		for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
			o.a.rank = many[k];
			if (ctors[i].vary & RANK)
				agree(o, true, "rank", many[k]);
		}
		o = right(&ctors[i]);
		o.a.dim = NULL;
		if (ctors[i].vary & DIMS)
			agree(o, true, "no sizes", 0);
		o = right(&ctors[i]);
		o.a.after = NULL;
		if (ctors[i].vary & AFTER)
			agree(o, true, "no sizes after", 0);
		o = right(&ctors[i]);
		o.a.axes = NULL;
		if (ctors[i].vary & AXES)
			agree(o, true, "no axes", 0);
		o = right(&ctors[i]);
		o.a.no_list = true;
		if (ctors[i].vary & LIST)
			agree(o, true, "no values", 0);
		o = right(&ctors[i]);
		o.a.text = NULL;
		if (ctors[i].vary & TEXT || ctors[i].call == c_data || ctors[i].call == c_progress)
			agree(o, true, "no text", 0);
		o.a.text = "{} {}";
		if (ctors[i].vary & TEXT)
			agree(o, true, "a text for two", 0);
		for (int n = -2; n < 0 && ctors[i].vary & COUNT; n++) {
			o = right(&ctors[i]);
			o.a.n = n == -2 ? INT_MIN : n;
			agree(o, true, "count", o.a.n);
		}
		o = right(&ctors[i]);
		o.a.n = 3;
		if (ctors[i].vary & COUNT && ctors[i].vary & AXES)
			agree(o, true, "count", 3);
	}
	finish();
}

static void dtypes_and_kinds(void **state)
{
	(void)state;
	for (int i = 0; i < NCTOR; i++) {
		struct one o = right(&ctors[i]);
		for (int d = -1; d <= HOP_NDTYPE + 1; d++) {
			o.a.dtype = (hop_dtype)d;
			if (ctors[i].call == c_data && d > HOP_bool && d < HOP_NDTYPE)
				continue;                          /* its bytes are bools */
			if (ctors[i].vary & DTYPE)
				agree(o, d < 0 || d >= HOP_NDTYPE, "dtype", d);
		}
		o = right(&ctors[i]);
		for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
			o.a.kind = many[k];
			if (ctors[i].vary & KIND)
				agree(o, true, "kind", many[k]);
		}
	}
	finish();
}

#endif
