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

/* k[n-1] x^(n-1) + ... + k[0] */
static hop_reg poly(at c, hop_reg x, const double *k, int n)
{
	hop_reg r = K(k[n - 1]);

	for (int i = n - 2; i >= 0; i--)
		r = ADD(MUL(r, x), K(k[i]));
	return r;
}

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

/* Up to 7/8, erf x = x + x R(x^2). Above, 1 - exp(-Q(x)) with Q near -log erfc: its errors
 * count only as much as erfc does next to 1. R and Q have the least greatest error in the
 * result. Beyond `far` it is 1. */
static hop_reg erf_of(at c, hop_reg x)
{
	static const double r32[] = {
		0.128379157491822507, -0.3761255046423912, 0.11282455329519212,
		-0.0267914630197877041, 0.00503218128925402781, -0.000620325493789953132 };
	static const double q32[] = {
		0.000144212411034769797, 1.1278893802556702, 0.636820661819261092,
		0.104250191116346947, -0.0223810247369351151, 0.00308199456403784391,
		-0.000199901220523380572 };
	static const double r64[] = {
		0.128379167095512574, -0.376126389031837391, 0.112837916709543038,
		-0.0268661706449326113, 0.0052239776229561307, -0.000854832683944515341,
		0.000120553243261210041, -0.0000149253814898252332, 1.6456518575294646e-6,
		-1.62883805987987109e-7, 1.41180584240602543e-8, -8.65511513465755905e-10 };
	static const double q64[] = {
		5.376794153693144e-8, 1.12837859231567656, 0.636622582730135501,
		0.102764346235947127, -0.0191124628086897165, -0.000229796227985894756,
		0.00171186032960141025, -0.000590941802927676042, 9.91681807001542036e-6,
		0.0000896819775777230425, -0.0000535680331934865972, 0.0000195136392518790397,
		-5.1605999328251787e-6, 1.03113338633465728e-6, -1.555225292277526e-7,
		1.72490983035438947e-8, -1.33056934325547618e-9, 6.38237276881659663e-11,
		-1.43371916140103223e-12 };
	bool    f = c.d == HOP_f32;
	hop_reg a = OF(abs, x), far = f ? K(4) : K(6);
	hop_reg b = IF(LT(far, a), far, a), z = MUL(b, b);
	hop_reg r = f ? poly(c, z, r32, 6) : poly(c, z, r64, 12);
	hop_reg q = f ? poly(c, b, q32, 7) : poly(c, b, q64, 19);
	hop_reg large = SUB(K(1), OF(exp, OF(neg, q)));

	return IF(LT(a, K(0.875)), ADD(x, MUL(x, r)), signed_as(c, large, x));
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
LOWER(erf)
