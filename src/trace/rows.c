/* Generated from src/ir/ops.def by tools/opgen.c: do not edit. Constructors. */
#include "trace/raw.h"
#include "hop/ops.h"
#include "hop/rows.h"

hop_value hop_at_fold_in(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_fold_in, 2, (hop_value[]){ x, y });
}

hop_value hop_at_add(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_add, 2, (hop_value[]){ x, y });
}

hop_value hop_at_sub(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_sub, 2, (hop_value[]){ x, y });
}

hop_value hop_at_mul(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_mul, 2, (hop_value[]){ x, y });
}

hop_value hop_at_div(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_div, 2, (hop_value[]){ x, y });
}

hop_value hop_at_rem(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_rem, 2, (hop_value[]){ x, y });
}

hop_value hop_at_max(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_max, 2, (hop_value[]){ x, y });
}

hop_value hop_at_min(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_min, 2, (hop_value[]){ x, y });
}

hop_value hop_at_neg(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_neg, 1, (hop_value[]){ x });
}

hop_value hop_at_abs(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_abs, 1, (hop_value[]){ x });
}

hop_value hop_at_sign(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_sign, 1, (hop_value[]){ x });
}

hop_value hop_at_exp(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_exp, 1, (hop_value[]){ x });
}

hop_value hop_at_log(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_log, 1, (hop_value[]){ x });
}

hop_value hop_at_sin(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_sin, 1, (hop_value[]){ x });
}

hop_value hop_at_cos(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_cos, 1, (hop_value[]){ x });
}

hop_value hop_at_tanh(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_tanh, 1, (hop_value[]){ x });
}

hop_value hop_at_sqrt(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_sqrt, 1, (hop_value[]){ x });
}

hop_value hop_at_log1p(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_log1p, 1, (hop_value[]){ x });
}

hop_value hop_at_expm1(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_expm1, 1, (hop_value[]){ x });
}

hop_value hop_at_rsqrt(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_rsqrt, 1, (hop_value[]){ x });
}

hop_value hop_at_sinh(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_sinh, 1, (hop_value[]){ x });
}

hop_value hop_at_cosh(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_cosh, 1, (hop_value[]){ x });
}

hop_value hop_at_asinh(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_asinh, 1, (hop_value[]){ x });
}

hop_value hop_at_acosh(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_acosh, 1, (hop_value[]){ x });
}

hop_value hop_at_atanh(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_atanh, 1, (hop_value[]){ x });
}

hop_value hop_at_atan(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_atan, 1, (hop_value[]){ x });
}

hop_value hop_at_asin(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_asin, 1, (hop_value[]){ x });
}

hop_value hop_at_acos(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_acos, 1, (hop_value[]){ x });
}

hop_value hop_at_atan2(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_atan2, 2, (hop_value[]){ x, y });
}

hop_value hop_at_pow(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_pow, 2, (hop_value[]){ x, y });
}

hop_value hop_at_erf(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_erf, 1, (hop_value[]){ x });
}

hop_value hop_at_floor(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_floor, 1, (hop_value[]){ x });
}

hop_value hop_at_ceil(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_ceil, 1, (hop_value[]){ x });
}

hop_value hop_at_trunc(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_trunc, 1, (hop_value[]){ x });
}

hop_value hop_at_round(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_round, 1, (hop_value[]){ x });
}

hop_value hop_at_eq(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_eq, 2, (hop_value[]){ x, y });
}

hop_value hop_at_ne(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_ne, 2, (hop_value[]){ x, y });
}

hop_value hop_at_lt(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_lt, 2, (hop_value[]){ x, y });
}

hop_value hop_at_le(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_le, 2, (hop_value[]){ x, y });
}

hop_value hop_at_and(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_and, 2, (hop_value[]){ x, y });
}

hop_value hop_at_or(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_or, 2, (hop_value[]){ x, y });
}

hop_value hop_at_xor(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_xor, 2, (hop_value[]){ x, y });
}

hop_value hop_at_shl(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_shl, 2, (hop_value[]){ x, y });
}

hop_value hop_at_shr(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_shr, 2, (hop_value[]){ x, y });
}

hop_value hop_at_not(hop_trace *t, const char *file, int line,
                    hop_value x)
{
	return hop_at_point(t, file, line, HOP_OP_not, 1, (hop_value[]){ x });
}

hop_value hop_at_select(hop_trace *t, const char *file, int line,
                    hop_value p, hop_value x, hop_value y)
{
	return hop_at_point(t, file, line, HOP_OP_select, 3, (hop_value[]){ p, x, y });
}

int hop_op_constant(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                const hop_array *value)
{
	const hop_raw a[] = {
		{ .p = value },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_constant, a, nin, in, cap, out);
}

int hop_op_iota(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dtype dtype,
                int ndims, const hop_dim *dims,
                int64_t axis)
{
	const hop_raw a[] = {
		{ .i = (int64_t)dtype },
		{ .i = ndims, .p = dims },
		{ .i = axis },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_iota, a, nin, in, cap, out);
}

int hop_op_size_of(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dim size)
{
	const hop_raw a[] = {
		{ .d = size },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_size_of, a, nin, in, cap, out);
}

int hop_op_as_size(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t min,
                int64_t max,
                bool sym)
{
	const hop_raw a[] = {
		{ .i = min },
		{ .i = max },
		{ .i = sym },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_as_size, a, nin, in, cap, out);
}

int hop_op_random_bits(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims)
{
	const hop_raw a[] = {
		{ .i = ndims, .p = dims },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_random_bits, a, nin, in, cap, out);
}

int hop_op_uniform(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dtype dtype,
                int ndims, const hop_dim *dims)
{
	const hop_raw a[] = {
		{ .i = (int64_t)dtype },
		{ .i = ndims, .p = dims },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_uniform, a, nin, in, cap, out);
}

int hop_op_fold_in(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_fold_in, a, nin, in, cap, out);
}

int hop_op_cast(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                hop_dtype dtype)
{
	const hop_raw a[] = {
		{ .i = (int64_t)dtype },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_cast, a, nin, in, cap, out);
}

int hop_op_broadcast(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = ndims, .p = dims },
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_broadcast, a, nin, in, cap, out);
}

int hop_op_reshape(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims)
{
	const hop_raw a[] = {
		{ .i = ndims, .p = dims },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_reshape, a, nin, in, cap, out);
}

int hop_op_permute(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_permute, a, nin, in, cap, out);
}

int hop_op_slice(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nstart, const hop_dim *start,
                int ndims, const hop_dim *dims,
                int nstep, const int64_t *step)
{
	const hop_raw a[] = {
		{ .i = nstart, .p = start },
		{ .i = ndims, .p = dims },
		{ .i = nstep, .p = step },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_slice, a, nin, in, cap, out);
}

int hop_op_pad(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nstart, const hop_dim *start,
                int ndims, const hop_dim *dims,
                int nstep, const int64_t *step)
{
	const hop_raw a[] = {
		{ .i = nstart, .p = start },
		{ .i = ndims, .p = dims },
		{ .i = nstep, .p = step },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_pad, a, nin, in, cap, out);
}

int hop_op_concat(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis)
{
	const hop_raw a[] = {
		{ .i = axis },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_concat, a, nin, in, cap, out);
}

int hop_op_dynslice(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int ndims, const hop_dim *dims)
{
	const hop_raw a[] = {
		{ .i = ndims, .p = dims },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_dynslice, a, nin, in, cap, out);
}

int hop_op_dynupdate(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_dynupdate, a, nin, in, cap, out);
}

int hop_op_gather(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis,
                int64_t nbatch)
{
	const hop_raw a[] = {
		{ .i = axis },
		{ .i = nbatch },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_gather, a, nin, in, cap, out);
}

int hop_op_scatter(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int mode,
                int64_t axis,
                int64_t nbatch)
{
	const hop_raw a[] = {
		{ .i = mode },
		{ .i = axis },
		{ .i = nbatch },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_scatter, a, nin, in, cap, out);
}

int hop_op_add(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_add, a, nin, in, cap, out);
}

int hop_op_sub(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_sub, a, nin, in, cap, out);
}

int hop_op_mul(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_mul, a, nin, in, cap, out);
}

int hop_op_div(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_div, a, nin, in, cap, out);
}

int hop_op_rem(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_rem, a, nin, in, cap, out);
}

int hop_op_max(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_max, a, nin, in, cap, out);
}

int hop_op_min(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_min, a, nin, in, cap, out);
}

int hop_op_neg(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_neg, a, nin, in, cap, out);
}

int hop_op_abs(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_abs, a, nin, in, cap, out);
}

int hop_op_sign(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_sign, a, nin, in, cap, out);
}

int hop_op_exp(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_exp, a, nin, in, cap, out);
}

int hop_op_log(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_log, a, nin, in, cap, out);
}

int hop_op_sin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_sin, a, nin, in, cap, out);
}

int hop_op_cos(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_cos, a, nin, in, cap, out);
}

int hop_op_tanh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_tanh, a, nin, in, cap, out);
}

int hop_op_sqrt(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_sqrt, a, nin, in, cap, out);
}

int hop_op_log1p(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_log1p, a, nin, in, cap, out);
}

int hop_op_expm1(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_expm1, a, nin, in, cap, out);
}

int hop_op_rsqrt(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_rsqrt, a, nin, in, cap, out);
}

int hop_op_sinh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_sinh, a, nin, in, cap, out);
}

int hop_op_cosh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_cosh, a, nin, in, cap, out);
}

int hop_op_asinh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_asinh, a, nin, in, cap, out);
}

int hop_op_acosh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_acosh, a, nin, in, cap, out);
}

int hop_op_atanh(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_atanh, a, nin, in, cap, out);
}

int hop_op_atan(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_atan, a, nin, in, cap, out);
}

int hop_op_asin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_asin, a, nin, in, cap, out);
}

int hop_op_acos(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_acos, a, nin, in, cap, out);
}

int hop_op_atan2(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_atan2, a, nin, in, cap, out);
}

int hop_op_pow(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_pow, a, nin, in, cap, out);
}

int hop_op_erf(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_erf, a, nin, in, cap, out);
}

int hop_op_floor(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_floor, a, nin, in, cap, out);
}

int hop_op_ceil(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_ceil, a, nin, in, cap, out);
}

int hop_op_trunc(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_trunc, a, nin, in, cap, out);
}

int hop_op_round(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_round, a, nin, in, cap, out);
}

int hop_op_eq(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_eq, a, nin, in, cap, out);
}

int hop_op_ne(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_ne, a, nin, in, cap, out);
}

int hop_op_lt(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_lt, a, nin, in, cap, out);
}

int hop_op_le(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_le, a, nin, in, cap, out);
}

int hop_op_and(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_and, a, nin, in, cap, out);
}

int hop_op_or(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_or, a, nin, in, cap, out);
}

int hop_op_xor(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_xor, a, nin, in, cap, out);
}

int hop_op_shl(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_shl, a, nin, in, cap, out);
}

int hop_op_shr(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_shr, a, nin, in, cap, out);
}

int hop_op_not(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_not, a, nin, in, cap, out);
}

int hop_op_select(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out)
{
	const hop_raw a[] = {
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_select, a, nin, in, cap, out);
}

int hop_op_sum(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_sum, a, nin, in, cap, out);
}

int hop_op_amax(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_amax, a, nin, in, cap, out);
}

int hop_op_amin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_amin, a, nin, in, cap, out);
}

int hop_op_prod(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_prod, a, nin, in, cap, out);
}

int hop_op_any(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_any, a, nin, in, cap, out);
}

int hop_op_all(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int naxes, const int64_t *axes)
{
	const hop_raw a[] = {
		{ .i = naxes, .p = axes },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_all, a, nin, in, cap, out);
}

int hop_op_argmax(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis)
{
	const hop_raw a[] = {
		{ .i = axis },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_argmax, a, nin, in, cap, out);
}

int hop_op_argmin(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t axis)
{
	const hop_raw a[] = {
		{ .i = axis },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_argmin, a, nin, in, cap, out);
}

int hop_op_dot(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nlbatch, const int64_t *lbatch,
                int nrbatch, const int64_t *rbatch,
                int nlsum, const int64_t *lsum,
                int nrsum, const int64_t *rsum)
{
	const hop_raw a[] = {
		{ .i = nlbatch, .p = lbatch },
		{ .i = nrbatch, .p = rbatch },
		{ .i = nlsum, .p = lsum },
		{ .i = nrsum, .p = rsum },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_dot, a, nin, in, cap, out);
}

int hop_op_print(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                const char *text,
                bool when)
{
	const hop_raw a[] = {
		{ .p = text },
		{ .i = when },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_print, a, nin, in, cap, out);
}

int hop_op_assert(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                const char *text,
                bool when)
{
	const hop_raw a[] = {
		{ .p = text },
		{ .i = when },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_assert, a, nin, in, cap, out);
}

int hop_op_call(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nsargs, const hop_dim *sargs,
                const hop_fn *body)
{
	const hop_raw a[] = {
		{ .i = nsargs, .p = sargs },
		{ .p = body },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_call, a, nin, in, cap, out);
}

int hop_op_cond(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nsargs, const hop_dim *sargs,
                const hop_fn *then,
                const hop_fn *else_)
{
	const hop_raw a[] = {
		{ .i = nsargs, .p = sargs },
		{ .p = then },
		{ .p = else_ },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_cond, a, nin, in, cap, out);
}

int hop_op_switch(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int nsargs, const hop_dim *sargs,
                int nbranch, const hop_fn *const *branch)
{
	const hop_raw a[] = {
		{ .i = nsargs, .p = sargs },
		{ .i = nbranch, .p = branch },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_switch, a, nin, in, cap, out);
}

int hop_op_while(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t ncarry,
                int64_t max_trips,
                bool sym,
                int nsargs, const hop_dim *sargs,
                const hop_fn *test,
                const hop_fn *body)
{
	const hop_raw a[] = {
		{ .i = ncarry },
		{ .i = max_trips },
		{ .i = sym },
		{ .i = nsargs, .p = sargs },
		{ .p = test },
		{ .p = body },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_while, a, nin, in, cap, out);
}

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
                const hop_fn *body)
{
	const hop_raw a[] = {
		{ .i = ncarry },
		{ .i = nx },
		{ .d = length },
		{ .i = reverse },
		{ .i = counted },
		{ .i = stops },
		{ .i = every },
		{ .i = nsargs, .p = sargs },
		{ .p = body },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_scan, a, nin, in, cap, out);
}

int hop_op_map(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t nx,
                hop_dim length,
                int nsargs, const hop_dim *sargs,
                const hop_fn *body)
{
	const hop_raw a[] = {
		{ .i = nx },
		{ .d = length },
		{ .i = nsargs, .p = sargs },
		{ .p = body },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_map, a, nin, in, cap, out);
}

int hop_op_custom(hop_trace *t, const char *file, int line, int nin,
                const hop_value *in, int cap, hop_value *out,
                int64_t nouts,
                int64_t nres,
                int nsargs, const hop_dim *sargs,
                const hop_fn *fwd,
                const hop_fn *bwd,
                const hop_fn *jvp,
                const hop_fn *batch)
{
	const hop_raw a[] = {
		{ .i = nouts },
		{ .i = nres },
		{ .i = nsargs, .p = sargs },
		{ .p = fwd },
		{ .p = bwd },
		{ .p = jvp },
		{ .p = batch },
		{ .i = 0 } };
	return hop_raw_op(t, file, line, HOP_OP_custom, a, nin, in, cap, out);
}
