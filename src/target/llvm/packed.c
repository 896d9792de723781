/* packed.c -- floats of 16 bits and fewer to f32 and back, on scalars or vectors alike, in
 * instructions that every machine has: LLVM would call a library for those that the machine has
 * not. Where it has one it is used, to the same bits but of NaN. Which float it is, the bits of its
 * row say. Does no arithmetic on them. */
#include <math.h>

#include "target/llvm/emit.h"

enum { MAN = 23, BIAS = 127, SIGN = 31, INF = 0x7f800000 };      /* of f32 */

typedef struct px {
	hop_emit *e;
	int       n;
	int       exp, man, bias;
} px;

static px setting(hop_emit *e, hop_dtype d, int n)
{
	const hop_drow *r = hop_dtype_row(d), *c = hop_dtype_row(hop_dtype_computes(d));
	HOP_ASSERT(c->man == MAN && r->exp <= c->exp && r->man < c->man);
	return (px){ e, n, r->exp, r->man, (1 << (r->exp - 1)) - 1 };
}

static hop_lv *k(const px *p, int64_t v)
{
	return hop_e_consti(p->e, HOP_i32, p->n, v);
}

static hop_lv *op(const px *p, enum hop_llvm_op o, hop_lv *a, int64_t b)
{
	return hop_e_bin(p->e, o, a, k(p, b));
}

static hop_lv *as_int(const px *p, hop_lv *x)
{
	return hop_e_cast(p->e, LL_BITCAST, x, hop_e_type(p->e, HOP_i32, p->n));
}

static hop_lv *as_float(const px *p, hop_lv *x)
{
	return hop_e_cast(p->e, LL_BITCAST, x, hop_e_type(p->e, HOP_f32, p->n));
}

static bool is_half(const px *p)
{
	return p->e->m->halves && p->exp == 5 && p->man == 10;
}

static hop_lt *half(const px *p)
{
	hop_lt *t = p->e->L->HalfTypeInContext(p->e->cx);
	return p->n > 1 ? p->e->L->VectorType(t, (unsigned)p->n) : t;
}

/* With fewer bits of exponent: as if it had f32's, scaled, which also makes numbers below its
 * least normal one normal. */
hop_lv *hop_e_widen(hop_emit *e, hop_dtype d, int n, hop_lv *x)
{
	px p = setting(e, d, n);
	int bits = p.exp + p.man;
	hop_lv *u, *mag, *f, *far;
	if (is_half(&p))
		return hop_e_cast(e, LL_FPEXT, hop_e_cast(e, LL_BITCAST, x, half(&p)),
		                  hop_e_type(e, HOP_f32, n));
	u = hop_e_cast(e, LL_ZEXT, x, hop_e_type(e, HOP_i32, n));
	if (bits == SIGN - MAN + p.man)
		return as_float(&p, op(&p, LL_SHL, u, SIGN - bits));
	mag = op(&p, LL_SHL, op(&p, LL_AND, u, (1 << bits) - 1), MAN - p.man);
	f = hop_e_bin(e, LL_FMUL, as_float(&p, mag),
	              hop_e_constf(e, HOP_f32, n, ldexp(1, BIAS - p.bias)));
	far = hop_e_icmp(e, LL_UGE, mag, k(&p, (int64_t)((1 << p.exp) - 1) << MAN));
	f = hop_e_sel(e, far, op(&p, LL_OR, mag, INF), as_int(&p, f));
	u = op(&p, LL_SHL, op(&p, LL_LSHR, u, bits), SIGN);
	return as_float(&p, hop_e_bin(e, LL_OR, f, u));
}

/* Below the least normal number: in units of the last place, by adding a number whose last place
 * that is. Above the greatest: infinite. */
static hop_lv *ends(const px *p, hop_lv *a, hop_lv *r)
{
	hop_emit *e = p->e;
	int64_t far = (int64_t)(BIAS + p->bias) << MAN | ((2 << p->man) - 1) << (MAN - 1 - p->man);
	int64_t inf = (int64_t)((1 << p->exp) - 1) << p->man;
	double unit = ldexp(1, 1 + MAN - p->bias - p->man);
	hop_lv *one = hop_e_constf(e, HOP_f32, p->n, unit), *low;
	r = op(p, LL_SUB, r, (int64_t)(BIAS - p->bias) << p->man);
	r = hop_e_sel(e, hop_e_icmp(e, LL_UGE, a, k(p, far)), k(p, inf), r);
	low = as_int(p, hop_e_bin(e, LL_FADD, as_float(p, a), one));
	low = hop_e_bin(e, LL_SUB, low, as_int(p, one));
	return hop_e_sel(e, hop_e_icmp(e, LL_ULT, a, k(p, (int64_t)(BIAS - p->bias + 1) << MAN)), low,
	                 r);
}

/* To nearest, ties to even: what is dropped is carried into what stays, which with f32's exponent
 * is into infinity at most and never into the sign. Every NaN is the same. */
hop_lv *hop_e_narrow(hop_emit *e, hop_dtype d, int n, hop_lv *x)
{
	px p = setting(e, d, n);
	int bits = p.exp + p.man, drop = MAN - p.man;
	int64_t nan = (int64_t)((2 << p.exp) - 1) << (p.man - 1);
	bool few = bits != SIGN - drop;
	hop_lv *u, *a, *odd, *r;
	if (is_half(&p))
		return hop_e_cast(e, LL_BITCAST, hop_e_cast(e, LL_FPTRUNC, x, half(&p)),
		                  hop_e_type(e, d, n));
	u = as_int(&p, x);
	a = few ? op(&p, LL_AND, u, 0x7fffffff) : u;
	odd = op(&p, LL_AND, op(&p, LL_LSHR, a, drop), 1);
	r = hop_e_bin(e, LL_ADD, op(&p, LL_ADD, a, (1 << (drop - 1)) - 1), odd);
	r = op(&p, LL_LSHR, r, drop);
	if (few) {
		r = ends(&p, a, r);
		r = hop_e_bin(e, LL_OR, r, op(&p, LL_SHL, op(&p, LL_LSHR, u, SIGN), bits));
	}
	r = hop_e_sel(e, hop_e_fcmp(e, LL_UNO, x, x), k(&p, nan), r);
	return hop_e_cast(e, LL_TRUNC, r, hop_e_type(e, d, n));
}
