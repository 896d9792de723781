/* Generated from src/ir/ops.def by tools/opgen.c: do not edit. Element by element;
 * operands are promoted and broadcast as in PyTorch. */
#ifndef HOP_OPS_H
#define HOP_OPS_H

#include "hop/types.h"

#ifdef __cplusplus
extern "C" {
#endif

hop_value hop_at_fold_in(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_fold_in(t, x, y) hop_at_fold_in(t, __FILE__, __LINE__, x, y)
hop_value hop_at_add(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_add(t, x, y) hop_at_add(t, __FILE__, __LINE__, x, y)
hop_value hop_at_sub(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_sub(t, x, y) hop_at_sub(t, __FILE__, __LINE__, x, y)
hop_value hop_at_mul(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_mul(t, x, y) hop_at_mul(t, __FILE__, __LINE__, x, y)
hop_value hop_at_div(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_div(t, x, y) hop_at_div(t, __FILE__, __LINE__, x, y)
hop_value hop_at_rem(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_rem(t, x, y) hop_at_rem(t, __FILE__, __LINE__, x, y)
hop_value hop_at_max(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_max(t, x, y) hop_at_max(t, __FILE__, __LINE__, x, y)
hop_value hop_at_min(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_min(t, x, y) hop_at_min(t, __FILE__, __LINE__, x, y)
hop_value hop_at_neg(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_neg(t, x) hop_at_neg(t, __FILE__, __LINE__, x)
hop_value hop_at_abs(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_abs(t, x) hop_at_abs(t, __FILE__, __LINE__, x)
hop_value hop_at_sign(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_sign(t, x) hop_at_sign(t, __FILE__, __LINE__, x)
hop_value hop_at_exp(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_exp(t, x) hop_at_exp(t, __FILE__, __LINE__, x)
hop_value hop_at_log(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_log(t, x) hop_at_log(t, __FILE__, __LINE__, x)
hop_value hop_at_sin(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_sin(t, x) hop_at_sin(t, __FILE__, __LINE__, x)
hop_value hop_at_cos(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_cos(t, x) hop_at_cos(t, __FILE__, __LINE__, x)
hop_value hop_at_tanh(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_tanh(t, x) hop_at_tanh(t, __FILE__, __LINE__, x)
hop_value hop_at_sqrt(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_sqrt(t, x) hop_at_sqrt(t, __FILE__, __LINE__, x)
hop_value hop_at_log1p(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_log1p(t, x) hop_at_log1p(t, __FILE__, __LINE__, x)
hop_value hop_at_expm1(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_expm1(t, x) hop_at_expm1(t, __FILE__, __LINE__, x)
hop_value hop_at_rsqrt(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_rsqrt(t, x) hop_at_rsqrt(t, __FILE__, __LINE__, x)
hop_value hop_at_sinh(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_sinh(t, x) hop_at_sinh(t, __FILE__, __LINE__, x)
hop_value hop_at_cosh(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_cosh(t, x) hop_at_cosh(t, __FILE__, __LINE__, x)
hop_value hop_at_asinh(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_asinh(t, x) hop_at_asinh(t, __FILE__, __LINE__, x)
hop_value hop_at_acosh(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_acosh(t, x) hop_at_acosh(t, __FILE__, __LINE__, x)
hop_value hop_at_atanh(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_atanh(t, x) hop_at_atanh(t, __FILE__, __LINE__, x)
hop_value hop_at_atan(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_atan(t, x) hop_at_atan(t, __FILE__, __LINE__, x)
hop_value hop_at_asin(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_asin(t, x) hop_at_asin(t, __FILE__, __LINE__, x)
hop_value hop_at_acos(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_acos(t, x) hop_at_acos(t, __FILE__, __LINE__, x)
hop_value hop_at_atan2(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_atan2(t, x, y) hop_at_atan2(t, __FILE__, __LINE__, x, y)
hop_value hop_at_pow(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_pow(t, x, y) hop_at_pow(t, __FILE__, __LINE__, x, y)
hop_value hop_at_erf(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_erf(t, x) hop_at_erf(t, __FILE__, __LINE__, x)
hop_value hop_at_floor(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_floor(t, x) hop_at_floor(t, __FILE__, __LINE__, x)
hop_value hop_at_ceil(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_ceil(t, x) hop_at_ceil(t, __FILE__, __LINE__, x)
hop_value hop_at_trunc(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_trunc(t, x) hop_at_trunc(t, __FILE__, __LINE__, x)
hop_value hop_at_round(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_round(t, x) hop_at_round(t, __FILE__, __LINE__, x)
hop_value hop_at_eq(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_eq(t, x, y) hop_at_eq(t, __FILE__, __LINE__, x, y)
hop_value hop_at_ne(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_ne(t, x, y) hop_at_ne(t, __FILE__, __LINE__, x, y)
hop_value hop_at_lt(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_lt(t, x, y) hop_at_lt(t, __FILE__, __LINE__, x, y)
hop_value hop_at_le(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_le(t, x, y) hop_at_le(t, __FILE__, __LINE__, x, y)
hop_value hop_at_and(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_and(t, x, y) hop_at_and(t, __FILE__, __LINE__, x, y)
hop_value hop_at_or(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_or(t, x, y) hop_at_or(t, __FILE__, __LINE__, x, y)
hop_value hop_at_xor(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_xor(t, x, y) hop_at_xor(t, __FILE__, __LINE__, x, y)
hop_value hop_at_shl(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_shl(t, x, y) hop_at_shl(t, __FILE__, __LINE__, x, y)
hop_value hop_at_shr(hop_trace *t, const char *file, int line,
                    hop_value x, hop_value y);
#define hop_shr(t, x, y) hop_at_shr(t, __FILE__, __LINE__, x, y)
hop_value hop_at_not(hop_trace *t, const char *file, int line,
                    hop_value x);
#define hop_not(t, x) hop_at_not(t, __FILE__, __LINE__, x)
hop_value hop_at_select(hop_trace *t, const char *file, int line,
                    hop_value p, hop_value x, hop_value y);
#define hop_select(t, p, x, y) hop_at_select(t, __FILE__, __LINE__, p, x, y)

#ifdef __cplusplus
}
#endif

#endif
