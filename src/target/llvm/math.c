/* math.c -- exp, log, tanh, sin, cos and pow as straight code on scalars or vectors.
 *
 * Each reduces its argument to a short interval and sums the Taylor series there (tanh: a
 * polynomial fitted to it); the number of terms is what the dtype needs. Reductions use
 * fma, so that the product is exact. NaN and infinities pass through by construction or
 * by a select. Does not round correctly: errors are below 2 units in the last place. */
#include <math.h>
#include <stdio.h>

#include "target/llvm/emit.h"

/* One call's setting: everything has this dtype and number of lanes. */
typedef struct mx {
	hop_emit *e;
	hop_dtype d, i;          /* the float, and the integer of its width */
	int       n;
	bool      sg;            /* 23 bits of mantissa, not 52: the two that there are series for */
	int       bias, shift;   /* of the exponent */
} mx;

static mx setting(hop_emit *e, hop_dtype d, int n)
{
	const hop_drow *r = hop_dtype_row(d);
	HOP_ASSERT(r->man == 23 || r->man == 52);
	return (mx){ e, d, hop_dtype_int_of(d), n, r->man == 23, (1 << (r->exp - 1)) - 1, r->man };
}

static hop_lv *k(const mx *m, double v)
{
	return hop_e_constf(m->e, m->d, m->n, v);
}

static hop_lv *ki(const mx *m, int64_t v)
{
	return hop_e_consti(m->e, m->i, m->n, v);
}

static hop_lv *op(const mx *m, enum hop_llvm_op o, hop_lv *a, hop_lv *b)
{
	return hop_e_bin(m->e, o, a, b);
}

static hop_lv *fma3(const mx *m, hop_lv *a, hop_lv *b, hop_lv *c)
{
	return hop_e_fma(m->e, a, b, c);
}

static hop_lv *minus(const mx *m, hop_lv *x)
{
	return m->e->L->BuildFNeg(m->e->b, x, "");
}

static hop_lv *as_int(const mx *m, hop_lv *x)
{
	return hop_e_cast(m->e, LL_BITCAST, x, hop_e_type(m->e, m->i, m->n));
}

static hop_lv *as_float(const mx *m, hop_lv *x)
{
	return hop_e_cast(m->e, LL_BITCAST, x, hop_e_type(m->e, m->d, m->n));
}

static hop_lv *fabs1(const mx *m, hop_lv *x)
{
	hop_lt *t = hop_e_type(m->e, m->d, m->n);
	return hop_e_intrin(m->e, "llvm.fabs", 1, &t, 1, &x);
}

/* c[n-1] x^(n-1) + ... + c[0] */
static hop_lv *poly(const mx *m, hop_lv *x, const double *c, int n)
{
	hop_lv *r = k(m, c[n - 1]);
	for (int i = n - 2; i >= 0; i--)
		r = fma3(m, r, x, k(m, c[i]));
	return r;
}

static double inverse_factorial(int n)
{
	double f = 1;
	for (int i = 2; i <= n; i++)
		f *= i;
	return 1 / f;
}

/* The nearest integer by adding and taking away a number whose last place is one: no
 * conversion, so NaN does no harm. *out_i is the integer, wrapped when x is huge. */
static hop_lv *nearest(const mx *m, hop_lv *x, hop_lv *by, hop_lv **out_i)
{
	double magic = ldexp(1.5, m->shift);
	hop_lv *t = fma3(m, x, by, k(m, magic));
	*out_i = op(m, LL_SUB, as_int(m, t), as_int(m, k(m, magic)));
	return op(m, LL_FSUB, t, k(m, magic));
}

/* 2^i for i within the exponents of normal numbers. */
static hop_lv *pow2(const mx *m, hop_lv *i)
{
	i = op(m, LL_ADD, i, ki(m, m->bias));
	return as_float(m, op(m, LL_SHL, i, ki(m, m->shift)));
}

/* x + low = i ln 2 + r; gives r and i, and p = (e^r - 1) / r. A low of NULL is 0. */
static hop_lv *reduce_exp(const mx *m, hop_lv *x, hop_lv *low, hop_lv **out_i, hop_lv **out_p)
{
	bool s = m->sg;
	double c[16];
	int n = s ? 7 : 13;
	hop_lv *f = nearest(m, x, k(m, 1.4426950408889634), out_i), *r;
	r = fma3(m, f, k(m, s ? -0x1.62e43p-1 : -0x1.62e42fefa39efp-1), x);
	r = fma3(m, f, k(m, s ? 0x1.05c61p-29 : -0x1.abc9e3b39803fp-56), r);
	if (low)
		r = op(m, LL_FADD, r, low);
	for (int i = 0; i < n; i++)
		c[i] = inverse_factorial(i + 1);
	*out_p = poly(m, r, c, n);
	return r;
}

/* e^(x + low); low is small, or NULL. */
static hop_lv *emit_exp(hop_emit *e, hop_dtype d, int lanes, hop_lv *x, hop_lv *low)
{
	mx m = setting(e, d, lanes);
	double lo = m.sg ? -104 : -746, hi = m.sg ? 89 : 710;
	hop_lv *i, *p, *r, *half;
	/* Outside, the result is 0 or infinity; a comparison with NaN keeps NaN. */
	x = hop_e_sel(e, hop_e_fcmp(e, LL_OLT, x, k(&m, lo)), k(&m, lo), x);
	x = hop_e_sel(e, hop_e_fcmp(e, LL_OGT, x, k(&m, hi)), k(&m, hi), x);
	r = reduce_exp(&m, x, low, &i, &p);
	p = fma3(&m, p, r, k(&m, 1));
	/* In two factors, so that results below the normal numbers come out. */
	half = op(&m, LL_ASHR, i, ki(&m, 1));
	p = op(&m, LL_FMUL, p, pow2(&m, half));
	return op(&m, LL_FMUL, p, pow2(&m, op(&m, LL_SUB, i, half)));
}

/* Up to 5/8, tanh v = v + v^3 P(v^2); P has the least greatest error relative to tanh.
 * Above, |x| = i ln2/2 + v with a small v, and the addition theorem gives, with t =
 * tanh v and h = 2^i / 2, tanh |x| = 1 + (t - 1) / (h + 1/2 + (h - 1/2) t). */
static hop_lv *emit_tanh(hop_emit *e, hop_dtype d, int lanes, hop_lv *x)
{
	static const double c32[] = {
		-0.33333281942012773, 0.13331442198175808, -0.053739715085824959,
		0.020639087244729173, -0.0057049869934552029
	};
	static const double c64[] = {
		-0.33333333333332855, 0.13333333333262087, -0.053968253931266109,
		0.021869487576066181, -0.0088632210023287463, 0.0035919891717823674,
		-0.0014549588690781954, 0.00058631651499355072, -0.00022856416598422301,
		7.7144320927945376e-5, -1.6072549574299152e-5
	};
	mx m = setting(e, d, lanes);
	bool sg = m.sg;
	double hi = sg ? 10 : 22;           /* from here on it is 1 */
	hop_lt *type = hop_e_type(e, d, lanes);
	hop_lv *y, *far, *i, *f, *v, *z, *t, *h, *low;

	y = fabs1(&m, x);
	y = hop_e_sel(e, hop_e_fcmp(e, LL_OGT, y, k(&m, hi)), k(&m, hi), y);
	far = hop_e_fcmp(e, LL_UGE_F, y, k(&m, 0.625));
	f = nearest(&m, y, k(&m, 2.8853900817779268), &i);
	f = hop_e_sel(e, far, f, k(&m, 0));
	/* v is exact but for what the constant lacks, which shows only where tanh is flat. */
	v = fma3(&m, f, k(&m, sg ? -0x1.62e43p-2 : -0x1.62e42fefa39efp-2), y);
	z = op(&m, LL_FMUL, v, v);
	t = sg ? poly(&m, z, c32, 5) : poly(&m, z, c64, 11);
	t = fma3(&m, op(&m, LL_FMUL, v, z), t, v);
	h = pow2(&m, op(&m, LL_SUB, i, ki(&m, 1)));
	low = fma3(&m, op(&m, LL_FSUB, h, k(&m, 0.5)), t, op(&m, LL_FADD, h, k(&m, 0.5)));
	y = op(&m, LL_FDIV, op(&m, LL_FSUB, t, k(&m, 1)), low);
	y = hop_e_sel(e, far, op(&m, LL_FADD, y, k(&m, 1)), t);
	return hop_e_intrin(e, "llvm.copysign", 1, &type, 2, (hop_lv *[]){ y, x });
}

/* x = 2^i (1 + f) with 1 + f between sqrt 1/2 and sqrt 2; gives f, exactly, and i as a float. Of
 * 0, of what is below, of infinity and NaN it gives numbers that mean nothing. */
static hop_lv *reduce_log(const mx *m, hop_lv *x, hop_lv **out_i)
{
	bool sg = m->sg;
	int shift = sg ? 23 : 52, bias = sg ? 127 : 1023, up = sg ? 23 : 54;
	int64_t one = sg ? 0x3f800000 : 0x3ff0000000000000;
	int64_t low = sg ? 0x3f3504f3 : 0x3fe6a09e667f3bcd;
	hop_lv *small, *y, *b, *i;
	small = hop_e_fcmp(m->e, LL_OLT, x, k(m, sg ? 0x1p-126 : 0x1p-1022));
	y = hop_e_sel(m->e, small, op(m, LL_FMUL, x, k(m, ldexp(1, up))), x);
	b = op(m, LL_ADD, as_int(m, y), ki(m, one - low));
	i = op(m, LL_SUB, op(m, LL_ASHR, b, ki(m, shift)), ki(m, bias));
	i = hop_e_sel(m->e, small, op(m, LL_SUB, i, ki(m, up)), i);
	*out_i = hop_e_cast(m->e, LL_SITOFP, i, hop_e_type(m->e, m->d, m->n));
	b = op(m, LL_AND, b, ki(m, ((int64_t)1 << shift) - 1));
	return op(m, LL_FSUB, as_float(m, op(m, LL_ADD, b, ki(m, low))), k(m, 1));
}

/* With f and i of reduce_log, and s = f / (2 + f):
 * log (1 + f) = 2 atanh s = f - f^2/2 + s (f^2/2 + R), R = sum of 2 s^2j / (2j + 1). */
static hop_lv *emit_log(hop_emit *e, hop_dtype d, int lanes, hop_lv *x)
{
	mx m = setting(e, d, lanes);
	bool sg = m.sg;
	int n = sg ? 5 : 11;
	double c[16];
	hop_lv *g, *f = reduce_log(&m, x, &g), *s, *z, *r, *h;
	for (int j = 0; j < n; j++)
		c[j] = 2.0 / (2 * j + 3);
	s = op(&m, LL_FDIV, f, op(&m, LL_FADD, f, k(&m, 2)));
	z = op(&m, LL_FMUL, s, s);
	r = op(&m, LL_FMUL, poly(&m, z, c, n), z);
	h = op(&m, LL_FMUL, op(&m, LL_FMUL, f, f), k(&m, 0.5));
	r = op(&m, LL_FMUL, s, op(&m, LL_FADD, h, r));
	/* The low part of i ln 2 joins the small terms; the high part comes last. */
	r = fma3(&m, g, k(&m, sg ? -0x1.05c61p-29 : 0x1.abc9e3b39803fp-56), r);
	r = op(&m, LL_FSUB, f, op(&m, LL_FSUB, h, r));
	r = fma3(&m, g, k(&m, sg ? 0x1.62e43p-1 : 0x1.62e42fefa39efp-1), r);

	r = hop_e_sel(e, hop_e_fcmp(e, LL_OEQ, x, k(&m, INFINITY)), x, r);
	r = hop_e_sel(e, hop_e_fcmp(e, LL_OEQ, x, k(&m, 0)), k(&m, -INFINITY), r);
	/* Below zero, and NaN itself. */
	return hop_e_sel(e, hop_e_fcmp(e, LL_UGE_F, x, k(&m, 0)),
	                 hop_e_sel(e, hop_e_fcmp(e, LL_UNO, x, x), x, r), k(&m, NAN));
}

/* log a of a > 0 in f64 as a sum of two numbers, right to about 2^-64: 2 s + 2 s (z/3 + Q),
 * s = f / (2 + f) and z = s^2 in two numbers each, Q = z^2/5 + z^3/7 + ... in one. *out_low gets
 * the smaller one. */
static hop_lv *log_twice(const mx *m, hop_lv *a, hop_lv **out_low)
{
	double c[11];
	hop_lv *i, *f = reduce_log(m, a, &i), *d, *dl, *s, *sl, *z, *zl, *q, *t, *tl, *u, *h, *l;
	d = op(m, LL_FADD, f, k(m, 2));
	dl = op(m, LL_FSUB, f, op(m, LL_FSUB, d, k(m, 2)));
	s = op(m, LL_FDIV, f, d);
	sl = fma3(m, minus(m, s), d, f);
	sl = op(m, LL_FDIV, fma3(m, minus(m, s), dl, sl), d);
	z = op(m, LL_FMUL, s, s);
	zl = fma3(m, op(m, LL_FADD, s, s), sl, fma3(m, s, s, minus(m, z)));
	for (int j = 0; j < 11; j++)
		c[j] = 1.0 / (2 * j + 5);
	q = op(m, LL_FMUL, op(m, LL_FMUL, z, z), poly(m, z, c, 11));
	/* u = z/3 + Q, the larger first; tl is what is left over */
	t = op(m, LL_FMUL, z, k(m, 1.0 / 3));
	tl = fma3(m, z, k(m, 1.0 / 3), minus(m, t));
	tl = fma3(m, z, k(m, 0x1.5555555555555p-56), fma3(m, zl, k(m, 1.0 / 3), tl));
	u = op(m, LL_FADD, t, q);
	tl = op(m, LL_FADD, op(m, LL_FADD, op(m, LL_FSUB, t, u), q), tl);
	/* s + s u */
	t = op(m, LL_FMUL, s, u);
	tl = fma3(m, s, tl, fma3(m, sl, u, fma3(m, s, u, minus(m, t))));
	h = op(m, LL_FADD, s, t);
	l = op(m, LL_FADD, op(m, LL_FADD, op(m, LL_FADD, op(m, LL_FSUB, s, h), t), tl), sl);
	/* twice that, and i ln 2: the first part has few enough digits to be exact times i */
	h = op(m, LL_FADD, h, h);
	l = op(m, LL_FADD, l, l);
	t = op(m, LL_FMUL, i, k(m, 0x1.62e42fefa38p-1));
	u = op(m, LL_FADD, t, h);
	l = op(m, LL_FADD, op(m, LL_FADD, op(m, LL_FSUB, t, u), h), l);
	*out_low = fma3(m, i, k(m, 0x1.ef35793c7673p-45), l);
	return u;
}

/* x^y of x >= 0: e^(y log x). The logarithm needs more digits than the result, since y
 * multiplies its error: f32 has them in f64. */
static hop_lv *power(const mx *m, hop_lv *x, hop_lv *y)
{
	hop_emit *e = m->e;
	hop_lv *h, *l, *p, *low;
	if (m->sg) {
		hop_lt *wide = hop_e_type(e, HOP_f64, m->n);

		h = emit_log(e, HOP_f64, m->n, hop_e_cast(e, LL_FPEXT, x, wide));
		p = op(m, LL_FMUL, hop_e_cast(e, LL_FPEXT, y, wide), h);
		p = emit_exp(e, HOP_f64, m->n, p, NULL);
		return hop_e_cast(e, LL_FPTRUNC, p, hop_e_type(e, HOP_f32, m->n));
	}
	h = log_twice(m, x, &l);
	h = hop_e_sel(e, hop_e_fcmp(e, LL_OEQ, x, k(m, INFINITY)), x, h);
	h = hop_e_sel(e, hop_e_fcmp(e, LL_OEQ, x, k(m, 0)), k(m, -INFINITY), h);
	p = op(m, LL_FMUL, y, h);
	low = fma3(m, y, l, fma3(m, y, h, minus(m, p)));
	/* where the result is 0 or infinity it does not count, and may be anything */
	low = hop_e_sel(e, hop_e_fcmp(e, LL_OLT, fabs1(m, p), k(m, 1000)), low, k(m, 0));
	return emit_exp(e, HOP_f64, m->n, p, low);
}

static hop_lv *is_whole(const mx *m, hop_lv *x)
{
	hop_lt *t = hop_e_type(m->e, m->d, m->n);
	return hop_e_fcmp(m->e, LL_OEQ, hop_e_intrin(m->e, "llvm.trunc", 1, &t, 1, &x), x);
}

/* The special cases of C's pow around that of |x|. */
static hop_lv *emit_pow(hop_emit *e, hop_dtype d, int lanes, hop_lv *x, hop_lv *y)
{
	mx m = setting(e, d, lanes);
	hop_lv *a = fabs1(&m, x), *r = power(&m, a, y), *whole, *even, *below, *one, *ends;
	whole = is_whole(&m, y);
	even = is_whole(&m, op(&m, LL_FMUL, y, k(&m, 0.5)));
	below = hop_e_icmp(e, LL_SLT, as_int(&m, x), ki(&m, 0));
	r = hop_e_sel(e, op(&m, LL_AND, below, whole), hop_e_sel(e, even, r, minus(&m, r)), r);
	/* between 0 and -infinity only whole powers exist */
	below = op(&m, LL_AND, hop_e_fcmp(e, LL_OLT, x, k(&m, 0)),
	           hop_e_fcmp(e, LL_OLT, a, k(&m, INFINITY)));
	r = hop_e_sel(e, below, hop_e_sel(e, whole, r, k(&m, NAN)), r);
	r = hop_e_sel(e, hop_e_fcmp(e, LL_UNO, x, y), k(&m, NAN), r);
	/* 1^y, x^0 and (-1)^infinity are 1 */
	one = op(&m, LL_OR, hop_e_fcmp(e, LL_OEQ, x, k(&m, 1)), hop_e_fcmp(e, LL_OEQ, y, k(&m, 0)));
	ends = op(&m, LL_AND, hop_e_fcmp(e, LL_OEQ, a, k(&m, 1)),
	          hop_e_fcmp(e, LL_OEQ, fabs1(&m, y), k(&m, INFINITY)));
	return hop_e_sel(e, op(&m, LL_OR, one, ends), k(&m, 1), r);
}

/* A function that applies libm to each lane: for arguments too large to reduce here. */
static hop_lv *slow_path(const mx *m, const char *libm)
{
	hop_emit *e = m->e;
	hop_lt *t = hop_e_type(e, m->d, m->n), *el = hop_e_type(e, m->d, 1);
	hop_lt *ft = e->L->FunctionType(t, &t, 1, 0), *lt;
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	hop_lv *fn, *lib, *r, *outer = e->s.fn;
	char name[48];
	snprintf(name, sizeof name, "hop_%s_%d", libm, m->n);
	fn = e->L->GetNamedFunction(e->mod, name);
	if (fn)
		return fn;
	fn = e->L->AddFunction(e->mod, name, ft);
	e->L->SetLinkage(fn, LL_INTERNAL);
	lt = e->L->FunctionType(el, &el, 1, 0);
	lib = e->L->GetNamedFunction(e->mod, libm);
	if (!lib)
		lib = e->L->AddFunction(e->mod, libm, lt);
	e->s.fn = fn;
	hop_e_at(e, hop_e_block(e));
	r = e->L->GetParam(fn, 0);
	for (int i = 0; m->n > 1 && i < m->n; i++) {
		hop_lv *at = e->L->ConstInt(e->i32, (unsigned long long)i, 0);
		hop_lv *x = e->L->BuildExtractElement(e->b, r, at, "");

		x = e->L->BuildCall2(e->b, lt, lib, &x, 1, "");
		r = e->L->BuildInsertElement(e->b, r, x, at, "");
	}
	if (m->n == 1)
		r = e->L->BuildCall2(e->b, lt, lib, &r, 1, "");
	e->L->BuildRet(e->b, r);
	e->s.fn = outer;
	hop_e_at(e, back);
	return fn;
}

/* x = i pi/2 + r; the quarter turn i picks sine or cosine of r and the sign. */
static hop_lv *quarter(const mx *m, hop_lv *x, bool cosine)
{
	bool sg = m->sg;
	int ns = sg ? 4 : 8, nc = sg ? 5 : 8;
	double c[10];
	hop_lv *i, *n, *r, *z, *s, *q, *odd, *v;
	n = nearest(m, x, k(m, 0.63661977236758134), &i);
	r = fma3(m, n, k(m, sg ? -0x1.921fb6p+0 : -0x1.921fb54442d18p+0), x);
	r = fma3(m, n, k(m, sg ? 0x1.777a5cp-25 : -0x1.1a62633145c07p-54), r);
	r = fma3(m, n, k(m, sg ? 0x1.ee59dap-50 : 0x1.f1976b7ed8fbcp-110), r);
	z = op(m, LL_FMUL, r, r);
	for (int j = 0; j < ns; j++)
		c[j] = (j & 1 ? 1 : -1) * inverse_factorial(2 * j + 3);
	s = fma3(m, op(m, LL_FMUL, poly(m, z, c, ns), z), r, r);
	for (int j = 0; j < nc; j++)
		c[j] = (j & 1 ? 1 : -1) * inverse_factorial(2 * j + 2);
	q = fma3(m, poly(m, z, c, nc), z, k(m, 1));
	if (cosine)
		i = op(m, LL_ADD, i, ki(m, 1));
	odd = hop_e_icmp(m->e, LL_NE, op(m, LL_AND, i, ki(m, 1)), ki(m, 0));
	v = hop_e_sel(m->e, odd, q, s);
	i = op(m, LL_SHL, op(m, LL_AND, i, ki(m, 2)), ki(m, sg ? 30 : 62));
	return as_float(m, op(m, LL_XOR, as_int(m, v), i));
}

static hop_lv *emit_sincos(hop_emit *e, hop_dtype d, int lanes, hop_lv *x, bool cosine)
{
	static const char *const name[2][2] = { { "sinf", "cosf" }, { "sin", "cos" } };

	mx m = setting(e, d, lanes);
	hop_lt *t = hop_e_type(e, d, lanes);
	hop_lv *slow = slow_path(&m, name[!m.sg][cosine]), *big, *fast, *r, *phi;
	hop_lbb *from[2], *rare = hop_e_block(e), *join = hop_e_block(e);

	fast = quarter(&m, x, cosine);
	big = hop_e_fcmp(e, LL_OGT, fabs1(&m, x), k(&m, m.sg ? 1e5 : 1e6));
	if (lanes > 1) {
		hop_lt *bits = e->L->IntTypeInContext(e->cx, (unsigned)lanes);
		big = hop_e_icmp(e, LL_NE, hop_e_cast(e, LL_BITCAST, big, bits),
		                 e->L->ConstNull(bits));
	}
	from[0] = e->L->GetInsertBlock(e->b);
	e->L->BuildCondBr(e->b, big, rare, join);
	hop_e_at(e, rare);
	hop_eline was = hop_e_line_rare(e);
	r = e->L->BuildCall2(e->b, e->L->FunctionType(t, &t, 1, 0), slow, &x, 1, "");
	from[1] = rare;
	e->L->BuildBr(e->b, join);
	hop_e_line_back(e, was);
	hop_e_at(e, join);
	phi = e->L->BuildPhi(e->b, t, "");
	e->L->AddIncoming(phi, (hop_lv *[]){ fast, r }, from, 2);
	return phi;
}

/* ---- inline, or called ---- */

static hop_lv *emit(hop_emit *e, enum hop_sop s, hop_dtype d, int lanes, hop_lv *const *a)
{
	switch (s) {
	case HOP_SOP_exp:
		return emit_exp(e, d, lanes, a[0], NULL);
	case HOP_SOP_log:
		return emit_log(e, d, lanes, a[0]);
	case HOP_SOP_tanh:
		return emit_tanh(e, d, lanes, a[0]);
	case HOP_SOP_pow:
		return emit_pow(e, d, lanes, a[0], a[1]);
	default:
		return emit_sincos(e, d, lanes, a[0], s == HOP_SOP_cos);
	}
}

static hop_lt *type_of(hop_emit *e, enum hop_sop s, hop_dtype d, int lanes)
{
	hop_lt *t = hop_e_type(e, d, lanes);
	return e->L->FunctionType(t, (hop_lt *[]){ t, t }, (unsigned)hop_soptab[s].in, 0);
}

/* The same code as a function of the module. */
static hop_lv *function(hop_emit *e, enum hop_sop s, hop_dtype d, int lanes)
{
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	hop_lv *fn, *a[2] = { NULL }, *outer = e->s.fn;
	char name[48];
	snprintf(name, sizeof name, "hop_sop%d_%s_%d", (int)s, hop_dtype_name(d), lanes);
	fn = e->L->GetNamedFunction(e->mod, name);
	if (fn)
		return fn;
	fn = e->L->AddFunction(e->mod, name, type_of(e, s, d, lanes));
	e->L->SetLinkage(fn, LL_INTERNAL);
	hop_e_attributes(e, fn);
	e->s.fn = fn;
	hop_e_at(e, hop_e_block(e));
	for (int i = 0; i < hop_soptab[s].in; i++)
		a[i] = e->L->GetParam(fn, (unsigned)i);
	e->L->BuildRet(e->b, emit(e, s, d, lanes, a));
	e->s.fn = outer;
	hop_e_at(e, back);
	return fn;
}

int hop_e_count_math(const hop_block *b)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next) {
		n += s->kind == HOP_L_OP && (s->sop == HOP_SOP_exp || s->sop == HOP_SOP_log ||
		     s->sop == HOP_SOP_tanh || s->sop == HOP_SOP_sin || s->sop == HOP_SOP_cos ||
		     s->sop == HOP_SOP_pow);
		n += hop_e_count_math(&s->body) + hop_e_count_math(&s->other);
	}
	return n;
}

/* In a nest with few of them they stand where they are used: their constants stay in
 * registers. More of them, or more in a module, would only be the same code again and again,
 * and LLVM's time grows faster than the code. */
hop_lv *hop_e_math(hop_emit *e, enum hop_sop s, hop_dtype d, int lanes, hop_lv *const *a)
{
	enum { SCALAR = 12, NEST = 8, MODULE = 64 };

	if (e->nest_math ? e->nest_math <= NEST && e->ninline++ < MODULE : e->nscalar++ < SCALAR)
		return emit(e, s, d, lanes, a);
	return e->L->BuildCall2(e->b, type_of(e, s, d, lanes), function(e, s, d, lanes),
	                        (hop_lv *[]){ a[0], a[1] }, (unsigned)hop_soptab[s].in, "");
}
