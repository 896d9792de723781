/* curve_lower.c -- functions of one number that are expressions of others: a target needs nothing
 * for them. Each is written so that it keeps its precision where the plain formula loses it, and
 * has its limits at infinity. */
#include "loop/lower.h"

/* ---- one operation on registers of the op's dtype ---- */

typedef struct at {
	hop_lower *l;
	hop_dtype  d;
} at;

#define ADD(p, q)       hop_lower_do(c.l, add, c.d, p, q)
#define SUB(p, q)       hop_lower_do(c.l, sub, c.d, p, q)
#define MUL(p, q)       hop_lower_do(c.l, mul, c.d, p, q)
#define DIV(p, q)       hop_lower_do(c.l, div, c.d, p, q)
#define OF(f, p)        hop_lower_do(c.l, f, c.d, p)
#define IF(p, x, y)     hop_lower_do(c.l, select, c.d, p, x, y)
#define EQ(p, q)        hop_lower_do(c.l, eq, HOP_bool, p, q)
#define LT(p, q)        hop_lower_do(c.l, lt, HOP_bool, p, q)
#define K(v)            hop_lower_const(c.l, c.d, v, (int64_t)(v))
#define FAR(v)          hop_lower_const(c.l, c.d, (double)(v), 0)
#define INF             FAR(__builtin_inff())

/* y with the sign of x, zero included. */
static hop_reg signed_as(at c, hop_reg y, hop_reg x)
{
	return IF(LT(x, K(0)), OF(neg, y), IF(EQ(x, K(0)), x, y));
}

static hop_reg sign_of(at c, hop_reg x)
{
	hop_reg up = IF(LT(K(0), x), K(1), IF(EQ(x, K(0)), K(0), x));

	return IF(LT(x, K(0)), K(-1), up);
}

/* The error of u = 1 + x is what log(u) has too much: both are divided out. */
static hop_reg log1p_of(at c, hop_reg x)
{
	hop_reg u = ADD(K(1), x), d = SUB(u, K(1));
	hop_reg y = MUL(OF(log, u), DIV(x, d));

	return IF(EQ(d, K(0)), x, IF(EQ(u, INF), x, y));
}

/* The same the other way round: log(u) is what exp really took. */
static hop_reg expm1_of(at c, hop_reg x)
{
	hop_reg u = OF(exp, x), d = SUB(u, K(1));
	hop_reg y = MUL(d, DIV(x, OF(log, u)));

	y = IF(EQ(d, K(-1)), d, IF(EQ(u, INF), u, y));
	return IF(EQ(d, K(0)), x, y);
}

static hop_reg rsqrt_of(at c, hop_reg x)
{
	return DIV(K(1), OF(sqrt, x));
}

/* With m = expm1(|x|): (m + m/(m+1)) / 2, without cancellation. Where exp(-x) no longer counts,
 * half of exp(x), as a product that stays in range as long as the result does. */
static hop_reg sinh_of(at c, hop_reg x)
{
	hop_reg a = OF(abs, x), m = expm1_of(c, a), h = OF(exp, MUL(K(0.5), a));
	hop_reg small = MUL(K(0.5), ADD(m, DIV(m, ADD(m, K(1))))), large = MUL(MUL(K(0.5), h), h);

	return signed_as(c, IF(LT(a, K(20)), small, large), x);
}

static hop_reg cosh_of(at c, hop_reg x)
{
	hop_reg h = OF(exp, MUL(K(0.5), OF(abs, x)));

	return ADD(MUL(MUL(K(0.5), h), h), DIV(DIV(K(0.5), h), h));
}

/* log(2 |x|) where x * x would leave the range. */
static hop_reg asinh_of(at c, hop_reg x)
{
	hop_reg a = OF(abs, x), s = MUL(a, a);
	hop_reg y = log1p_of(c, ADD(a, DIV(s, ADD(K(1), OF(sqrt, ADD(s, K(1)))))));

	return signed_as(c, IF(LT(a, K(1e9)), y, ADD(OF(log, a), K(0.69314718055994530942))), x);
}

static hop_reg acosh_of(at c, hop_reg x)
{
	hop_reg t = SUB(x, K(1));
	hop_reg y = log1p_of(c, ADD(t, OF(sqrt, ADD(MUL(K(2), t), MUL(t, t)))));

	y = IF(LT(x, K(1e9)), y, ADD(OF(log, x), K(0.69314718055994530942)));
	return IF(LT(x, K(1)), FAR(__builtin_nanf("")), y);
}

static hop_reg atanh_of(at c, hop_reg x)
{
	hop_reg a = OF(abs, x);
	hop_reg y = MUL(K(0.5), log1p_of(c, DIV(MUL(K(2), a), SUB(K(1), a))));

	return signed_as(c, y, x);
}

/* ---- the cells ---- */

#define LOWER(name) \
	hop_status hop_lower_##name(hop_lower *l, const hop_node *n) \
	{ \
		at c = { l, (hop_dtype)hop_lower_out(l, n, 0)->dtype }; \
		l->reg = name##_of(c, hop_lower_arg(l, n, 0, l->ix)); \
		return HOP_OK; \
	}
LOWER(sign)
LOWER(log1p)
LOWER(expm1)
LOWER(rsqrt)
LOWER(sinh)
LOWER(cosh)
LOWER(asinh)
LOWER(acosh)
LOWER(atanh)
