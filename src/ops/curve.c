/* curve.c -- functions of one float: what it is, and what its slope makes of a tangent t, in a
 * line each. x is the operand, y the result. Both modes multiply by the slope, so one rule
 * serves both; it emits ops that have derivatives themselves. */
#include <math.h>

#include "ops/ops.h"

/* exp x -- e to the x
 * log x -- natural logarithm
 * sin x -- sine
 * cos x -- cosine
 * tanh x -- hyperbolic tangent
 * sqrt x -- square root
 * log1p x -- log(1 + x), also where 1 + x rounds to 1
 * expm1 x -- exp(x) - 1, also where exp(x) rounds to 1
 * rsqrt x -- 1 / sqrt(x)
 * sinh x -- hyperbolic sine
 * cosh x -- hyperbolic cosine
 * asinh x -- what sinh makes x of
 * acosh x -- what cosh makes x of, not negative; NaN below 1
 * atanh x -- what tanh makes x of; NaN beyond 1 and -1
 * atan x -- the angle whose tangent is x, between -pi/2 and pi/2
 * asin x -- the angle whose sine is x, between -pi/2 and pi/2; NaN beyond 1 and -1
 * acos x -- the angle whose cosine is x, between 0 and pi; NaN beyond 1 and -1
 * atan2 y x -- the angle of the point (x, y), between -pi and pi; zeros count with their signs
 * pow x y -- x to the y, with the special cases of C: 1 where y is 0 or x is 1, also of NaN; NaN
 * below 0 where y is not whole
 * erf x -- 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x
 * floor x -- the next whole number below
 * ceil x -- the next whole number above
 * trunc x -- the next whole number towards zero
 * round x -- the nearest whole number; of two the even one */
hop_status hop_infer_float(hop_infer *f)
{
	hop_dtype d = (hop_dtype)f->in[0]->dtype;
	if (f->nin == 2)
		HOP_TRY(hop_infer_same(f));
	if (!hop_dtype_float(d))
		return hop_infer_fail(f, HOP_ETYPE, "%s: the operand is %s, not a float: cast first",
		                      hop_opname(f), hop_dtype_name(d));
	f->out[0] = f->in[0];
	return HOP_OK;
}

static hop_status evaluate(hop_array *const *in, hop_array **out, double (*f)(double))
{
	for (int64_t i = 0; i < out[0]->count; i++)
		hop_array_set_f(out[0], i, f(hop_array_f(in[0], i)));
	return HOP_OK;
}

#define VALUE(name, value) \
	static double at_##name(double x) { return value; } \
	hop_status hop_eval_##name(hop_interp *p, const hop_node *n, hop_array *const *in, \
	                           hop_array **out) \
	{ \
		(void)p, (void)n; \
		return evaluate(in, out, at_##name); \
	}

/* A function with steps: its slope is zero where it has one (the row says so). */
#define STEPS(name, value) VALUE(name, value)

#define CURVE(name, value, slope) \
	VALUE(name, value) \
	static hop_val by_##name(hop_build *b, hop_val x, hop_val y, hop_val t) \
	{ \
		(void)x, (void)y; \
		return slope; \
	} \
	hop_status hop_jvp_##name(hop_build *b, hop_rule *r) \
	{ \
		r->dout[0] = by_##name(b, r->in[0], r->out[0], r->din[0]); \
		return HOP_OK; \
	} \
	hop_status hop_vjp_##name(hop_build *b, hop_rule *r) \
	{ \
		r->din[0] = by_##name(b, r->in[0], r->out[0], r->dout[0]); \
		return HOP_OK; \
	}

#define ADD(p, q) hop_emit(b, add, p, q)
#define SUB(p, q) hop_emit(b, sub, p, q)
#define MUL(p, q) hop_emit(b, mul, p, q)
#define DIV(p, q) hop_emit(b, div, p, q)
#define OF(f, p)  hop_emit(b, f, p)
#define K(v)      hop_emit_full(b, hop_typeof(b, x), v)

/*     name   value             t times the slope */
CURVE( exp,   exp(x),           MUL(t, y) )
CURVE( log,   log(x),           DIV(t, x) )
CURVE( sin,   sin(x),           MUL(t, OF(cos, x)) )
CURVE( cos,   cos(x),           OF(neg, MUL(t, OF(sin, x))) )
CURVE( tanh,  tanh(x),          MUL(t, SUB(K(1), MUL(y, y))) )
CURVE( sqrt,  sqrt(x),          DIV(MUL(t, K(0.5)), y) )
CURVE( log1p, log1p(x),         DIV(t, ADD(x, K(1))) )
CURVE( expm1, expm1(x),         MUL(t, ADD(y, K(1))) )
CURVE( rsqrt, 1 / sqrt(x),      DIV(MUL(t, MUL(y, K(-0.5))), x) )
CURVE( sinh,  sinh(x),          MUL(t, OF(cosh, x)) )
CURVE( cosh,  cosh(x),          MUL(t, OF(sinh, x)) )
CURVE( asinh, asinh(x),         DIV(t, OF(sqrt, ADD(MUL(x, x), K(1)))) )
CURVE( acosh, acosh(x),         DIV(t, MUL(OF(sqrt, SUB(x, K(1))), OF(sqrt, ADD(x, K(1))))) )
CURVE( atanh, atanh(x),         DIV(t, SUB(K(1), MUL(x, x))) )
CURVE( atan,  atan(x),          DIV(t, ADD(MUL(x, x), K(1))) )
CURVE( asin,  asin(x),          DIV(t, OF(sqrt, SUB(K(1), MUL(x, x)))) )
CURVE( acos,  acos(x),          OF(neg, DIV(t, OF(sqrt, SUB(K(1), MUL(x, x))))) )
CURVE( erf,   erf(x),           MUL(t, MUL(K(1.1283791670955126), OF(exp, OF(neg, MUL(x, x))))) )
STEPS( floor, floor(x) )
STEPS( ceil,  ceil(x) )
STEPS( trunc, trunc(x) )
STEPS( round, rint(x) )
