/* curve_lower.c -- functions of numbers that are expressions of others: a target needs nothing
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
#define PI(share)       K(3.14159265358979323846 * (share))

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

/* The same the other way round: log(u) is what exp, which gave u, really took. */
static hop_reg expm1_from(at c, hop_reg x, hop_reg u)
{
	hop_reg d = SUB(u, K(1));
	hop_reg y = MUL(d, DIV(x, OF(log, u)));
	y = IF(EQ(d, K(-1)), d, IF(EQ(u, INF), u, y));
	return IF(EQ(d, K(0)), x, y);
}

static hop_reg expm1_of(at c, hop_reg x)
{
	return expm1_from(c, x, OF(exp, x));
}

static hop_reg rsqrt_of(at c, hop_reg x)
{
	return DIV(K(1), OF(sqrt, x));
}

/* u / 2 with u = exp(a); where that is beyond the range and its half is not, a product. */
static hop_reg half_exp(at c, hop_reg a, hop_reg u)
{
	hop_reg h = OF(exp, MUL(K(0.5), a));
	return IF(LT(u, INF), MUL(K(0.5), u), MUL(MUL(K(0.5), h), h));
}

/* With m = expm1(|x|): (m + m/(m+1)) / 2, without cancellation; half of exp(|x|) where exp(-|x|) no
 * longer counts. */
static hop_reg sinh_of(at c, hop_reg x)
{
	hop_reg a = OF(abs, x), u = OF(exp, a), m = expm1_from(c, a, u);
	hop_reg small = MUL(K(0.5), ADD(m, DIV(m, ADD(m, K(1)))));
	return signed_as(c, IF(LT(a, K(20)), small, half_exp(c, a, u)), x);
}

static hop_reg cosh_of(at c, hop_reg x)
{
	hop_reg a = OF(abs, x), u = OF(exp, a);
	return ADD(half_exp(c, a, u), DIV(K(0.5), u));
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

/* ---- angles ---- */

static bool is_f32(at c)
{
	return c.d == HOP_f32;
}

/* What PI(share) lacks because it is rounded to the dtype; share is a power of 2. */
static hop_reg pi_low(at c, double share)
{
	return K(share * (is_f32(c) ? -8.742278000372485e-08 : 1.2246467991473532e-16));
}

/* The sign, of zeros and of NaN too. */
static hop_reg is_negative(at c, hop_reg x)
{
	hop_dtype i = is_f32(c) ? HOP_i32 : HOP_i64;
	return hop_lower_do(c.l, lt, HOP_bool, hop_lower_do(c.l, bitcast, i, x),
	                    hop_lower_const(c.l, i, 0, 0));
}

/* atan(y / x) of y >= 0, x >= 0 that are not both 0 or both infinite. The point is turned by
 * 0, pi/4 or pi/2 so that the tangent t of what is left is at most sqrt 2 - 1; then it is
 * t + t^3 P(t^2), with P of the least greatest error in the result. */
static hop_reg angle(at c, hop_reg y, hop_reg x)
{
	static const double p32[] = {
		-0.333333154236686654, 0.199984840035675097, -0.142437388174250982,
		0.105951400052409686, -0.060811565259120788
	};
	static const double p64[] = {
		-0.333333333333331978, 0.199999999999536634, -0.142857142802040575,
		0.111111107838151569, -0.0909089776708128598, 0.0769206036165870198,
		-0.0666310545340605842, 0.0584789737413258804, -0.050393307515219676,
		0.0380649531686161337, -0.0179073421538499377
	};
	hop_reg half = LT(MUL(x, K(2.41421356237309504880)), y);
	hop_reg some = LT(MUL(x, K(0.41421356237309504880)), y);
	hop_reg up = IF(half, OF(neg, x), IF(some, SUB(y, x), y));
	hop_reg t = DIV(up, IF(half, y, IF(some, ADD(y, x), x))), z = MUL(t, t);
	hop_reg p = is_f32(c) ? poly(c, z, p32, 5) : poly(c, z, p64, 11);
	hop_reg low = IF(half, pi_low(c, 0.5), IF(some, pi_low(c, 0.25), K(0)));
	hop_reg high = IF(half, PI(0.5), IF(some, PI(0.25), K(0)));
	return ADD(high, ADD(t, ADD(MUL(MUL(t, z), p), low)));
}

static hop_reg atan_of(at c, hop_reg x)
{
	return signed_as(c, angle(c, OF(abs, x), K(1)), x);
}

/* The sizes of y and x as angle() wants them: where they are equal only 0 / 1 or 1 / 1 is
 * asked for, and numbers near the end of the range are made smaller first. */
static hop_reg atan2_of(at c, hop_reg y, hop_reg x)
{
	hop_reg top = FAR(is_f32(c) ? 0x1p125 : 0x1p1021);
	hop_reg a = OF(abs, y), b = OF(abs, x), same = EQ(a, b), r;
	hop_reg by = IF(LT(top, a), K(0.25), IF(LT(top, b), K(0.25), K(1)));
	a = IF(same, IF(EQ(a, K(0)), K(0), K(1)), MUL(a, by));
	b = IF(same, K(1), MUL(b, by));
	r = angle(c, a, b);
	r = IF(is_negative(c, x), SUB(PI(1), SUB(r, pi_low(c, 1))), r);
	return IF(is_negative(c, y), OF(neg, r), r);
}

/* Up to 1/2, asin x = x + x^3 P(x^2). Above, pi/2 minus twice the asin of sqrt((1-x)/2):
 * *out_far says where that is, and gets the smaller asin instead. */
static hop_reg asin_part(at c, hop_reg a, hop_reg *out_far)
{
	static const double p32[] = {
		0.166666598529006609, 0.0750051213428858206, 0.0445154705972746508,
		0.031819823623279648, 0.0143937873742784874, 0.0375781840315268098
	};
	static const double p64[] = {
		0.16666666666666763, 0.0749999999997009381, 0.0446428571752898779,
		0.03038194267512067, 0.0223722159098450758, 0.0173515954374949844,
		0.0139810192008989997, 0.0113972882035540326, 0.0107893454596960883,
		0.00367210233553462232, 0.0217908297764538819, -0.0211169550769226748,
		0.0327022971694981996
	};
	hop_reg far = LT(K(0.5), a);
	hop_reg z = IF(far, MUL(SUB(K(1), a), K(0.5)), MUL(a, a));
	hop_reg s = IF(far, OF(sqrt, z), a);
	hop_reg p = is_f32(c) ? poly(c, z, p32, 6) : poly(c, z, p64, 13);
	*out_far = far;
	return ADD(s, MUL(MUL(s, z), p));
}

static hop_reg asin_of(at c, hop_reg x)
{
	hop_reg far, y = asin_part(c, OF(abs, x), &far);
	hop_reg from = SUB(PI(0.5), SUB(MUL(K(2), y), pi_low(c, 0.5)));
	return signed_as(c, IF(far, from, y), x);
}

static hop_reg acos_of(at c, hop_reg x)
{
	hop_reg far, y = asin_part(c, OF(abs, x), &far), below = LT(x, K(0));
	hop_reg twice = MUL(K(2), y), from = SUB(PI(1), SUB(twice, pi_low(c, 1)));
	hop_reg near = SUB(PI(0.5), SUB(IF(below, OF(neg, y), y), pi_low(c, 0.5)));
	return IF(far, IF(below, from, twice), near);
}

/* Up to 7/8, erf x = x + x R(x^2). Above, 1 - exp(-Q(x)) with Q near -log erfc: its errors
 * count only as much as erfc does next to 1. R and Q have the least greatest error in the
 * result. Beyond `far` it is 1. */
static hop_reg erf_of(at c, hop_reg x)
{
	static const double r32[] = {
		0.128379157491822507, -0.3761255046423912, 0.11282455329519212,
		-0.0267914630197877041, 0.00503218128925402781, -0.000620325493789953132
	};
	static const double q32[] = {
		0.000144212411034769797, 1.1278893802556702, 0.636820661819261092,
		0.104250191116346947, -0.0223810247369351151, 0.00308199456403784391,
		-0.000199901220523380572
	};
	static const double r64[] = {
		0.128379167095512574, -0.376126389031837391, 0.112837916709543038,
		-0.0268661706449326113, 0.0052239776229561307, -0.000854832683944515341,
		0.000120553243261210041, -0.0000149253814898252332, 1.6456518575294646e-6,
		-1.62883805987987109e-7, 1.41180584240602543e-8, -8.65511513465755905e-10
	};
	static const double q64[] = {
		5.376794153693144e-8, 1.12837859231567656, 0.636622582730135501,
		0.102764346235947127, -0.0191124628086897165, -0.000229796227985894756,
		0.00171186032960141025, -0.000590941802927676042, 9.91681807001542036e-6,
		0.0000896819775777230425, -0.0000535680331934865972, 0.0000195136392518790397,
		-5.1605999328251787e-6, 1.03113338633465728e-6, -1.555225292277526e-7,
		1.72490983035438947e-8, -1.33056934325547618e-9, 6.38237276881659663e-11,
		-1.43371916140103223e-12
	};
	bool f = is_f32(c);
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
		at c = { l, hop_dtype_computes((hop_dtype)hop_lower_out(l, n, 0)->dtype) }; \
		l->reg = name##_of(c, hop_lower_arg(l, n, 0, l->q.ix)); \
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
LOWER(atan)
LOWER(asin)
LOWER(acos)
LOWER(erf)

hop_status hop_lower_atan2(hop_lower *l, const hop_node *n)
{
	at c = { l, hop_dtype_computes((hop_dtype)hop_lower_out(l, n, 0)->dtype) };
	hop_reg y = hop_lower_arg(l, n, 0, l->q.ix), x = hop_lower_arg(l, n, 1, l->q.ix);
	l->reg = atan2_of(c, y, x);
	return HOP_OK;
}
