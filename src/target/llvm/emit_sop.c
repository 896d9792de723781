/* emit_sop.c -- the scalar operations of sops.def, and the combining step of reductions,
 * on scalars or vectors. Loads and stores are not here: they need addresses. */
#include <math.h>

#include "target/llvm/emit.h"

static hop_lv *call1(hop_emit *e, const char *name, hop_lv *a)
{
	hop_lt *t = e->L->TypeOf(a);
	return hop_e_intrin(e, name, 1, &t, 1, &a);
}

static int bits(hop_dtype d)
{
	return hop_dtype_bool(d) ? 1 : (int)hop_dtype_bytes(d) * 8;
}

/* x/0 = 0, x rem 0 = x, and the one overflow wraps: divide by 1 in those lanes. */
static hop_lv *idiv(hop_emit *e, bool rem, hop_dtype d, int n, hop_lv *a, hop_lv *b)
{
	int64_t least = hop_dtype_least(d);
	hop_lv *zero = hop_e_consti(e, d, n, 0), *one = hop_e_consti(e, d, n, 1);
	hop_lv *isz = hop_e_icmp(e, LL_EQ, b, zero);
	hop_lv *ovf = hop_e_bin(e, LL_AND,
	                        hop_e_icmp(e, LL_EQ, a, hop_e_consti(e, d, n, least)),
	                        hop_e_icmp(e, LL_EQ, b, hop_e_consti(e, d, n, -1)));
	hop_lv *by = hop_e_sel(e, hop_e_bin(e, LL_OR, isz, ovf), one, b);
	hop_lv *q = hop_e_bin(e, rem ? LL_SREM : LL_SDIV, a, by);
	return hop_e_sel(e, isz, rem ? a : zero, q);
}

static hop_lv *shift(hop_emit *e, bool left, hop_dtype d, int n, hop_lv *a, hop_lv *b)
{
	hop_lv *ok = hop_e_icmp(e, LL_ULT, b, hop_e_consti(e, d, n, bits(d)));
	hop_lv *by = hop_e_bin(e, LL_AND, b, hop_e_consti(e, d, n, bits(d) - 1));
	return hop_e_sel(e, ok, hop_e_bin(e, left ? LL_SHL : LL_LSHR, a, by),
	                 hop_e_consti(e, d, n, 0));
}

/* The comparison and select are one max instruction, which gives b when either is NaN;
 * the second select brings back a NaN in a. Reductions pass the new value as a, so
 * that the chain through b is one instruction and a select. */
static hop_lv *extreme(hop_emit *e, bool max, hop_dtype d, hop_lv *a, hop_lv *b)
{
	hop_lv *m;
	if (!hop_dtype_real(d))
		return hop_e_sel(e, hop_e_icmp(e, max ? LL_SGT : LL_SLT, a, b), a, b);
	m = hop_e_sel(e, hop_e_fcmp(e, max ? LL_OGT : LL_OLT, a, b), a, b);
	return hop_e_sel(e, hop_e_fcmp(e, LL_UNO, a, a), a, m);
}

/* ---- a function a row: d is the dtype of the result, from that of the operands ---- */

#define SOP(name) \
	hop_lv *hop_llvm_sop_##name(hop_emit *e, hop_dtype d, hop_dtype from, int n, \
	                            hop_lv *const *a)
#define UNUSED (void)e, (void)d, (void)from, (void)n

SOP(cast)
{
	hop_lt *t = hop_e_type(e, d, n), *f = hop_e_type(e, from, n);
	bool df = hop_dtype_real(d), sf = hop_dtype_real(from);
	bool wider = hop_dtype_bytes(d) > hop_dtype_bytes(from);
	hop_lv *x = a[0];
	if (d == from)
		return x;
	if (hop_dtype_packed(d))
		return hop_e_narrow(e, d, n, x);
	if (hop_dtype_packed(from))
		return hop_e_widen(e, from, n, x);
	if (hop_dtype_bool(d))
		return sf ? hop_e_fcmp(e, LL_UNE, x, hop_e_constf(e, from, n, 0))
		          : hop_e_icmp(e, LL_NE, x, hop_e_consti(e, from, n, 0));
	if (hop_dtype_bool(from))
		return hop_e_cast(e, df ? LL_UITOFP : LL_ZEXT, x, t);
	if (df && sf)
		return hop_e_cast(e, wider ? LL_FPEXT : LL_FPTRUNC, x, t);
	if (df)
		return hop_e_cast(e, LL_SITOFP, x, t);
	if (sf)
		return hop_e_intrin(e, "llvm.fptosi.sat", 2, (hop_lt *[]){ t, f }, 1, &x);
	return hop_e_cast(e, wider ? LL_SEXT : LL_TRUNC, x, t);
}

SOP(bitcast)
{
	return d == from ? a[0] : hop_e_cast(e, LL_BITCAST, a[0], hop_e_type(e, d, n));
}

SOP(neg)
{
	UNUSED;
	return hop_dtype_real(d) ? e->L->BuildFNeg(e->b, a[0], "")
	                          : hop_e_bin(e, LL_SUB, hop_e_consti(e, d, n, 0), a[0]);
}

SOP(abs)
{
	hop_lv *zero;
	UNUSED;
	if (hop_dtype_real(d))
		return call1(e, "llvm.fabs", a[0]);
	zero = hop_e_consti(e, d, n, 0);
	return hop_e_sel(e, hop_e_icmp(e, LL_SLT, a[0], zero), hop_e_bin(e, LL_SUB, zero, a[0]),
	                 a[0]);
}

SOP(not)
{
	UNUSED;
	return hop_e_bin(e, LL_XOR, a[0], hop_e_consti(e, d, n, -1));
}

/* Functions without an instruction: math.c. */
#define MATH(name) SOP(name) { UNUSED; return hop_e_math(e, HOP_SOP_##name, d, n, a); }
MATH(exp)
MATH(log)
MATH(sin)
MATH(cos)
MATH(tanh)
MATH(pow)
#undef MATH

#define INTRINSIC(name, of) SOP(name) { UNUSED; return call1(e, "llvm." of, a[0]); }
INTRINSIC(sqrt, "sqrt")
INTRINSIC(floor, "floor")
INTRINSIC(ceil, "ceil")
INTRINSIC(trunc, "trunc")
INTRINSIC(round, "roundeven")
#undef INTRINSIC

#define ARITHMETIC(name, f, i) \
	SOP(name) \
	{ \
		UNUSED; \
		return hop_dtype_real(d) ? hop_e_fbin(e, f, a[0], a[1]) : hop_e_bin(e, i, a[0], a[1]); \
	}
ARITHMETIC(add, LL_FADD, LL_ADD)
ARITHMETIC(sub, LL_FSUB, LL_SUB)
ARITHMETIC(mul, LL_FMUL, LL_MUL)
#undef ARITHMETIC

SOP(div)
{
	UNUSED;
	return hop_dtype_real(d) ? hop_e_bin(e, LL_FDIV, a[0], a[1])
	                          : idiv(e, false, d, n, a[0], a[1]);
}

SOP(rem)
{
	UNUSED;
	return hop_dtype_real(d) ? hop_e_bin(e, LL_FREM, a[0], a[1])
	                          : idiv(e, true, d, n, a[0], a[1]);
}

#define BITS(name, op) SOP(name) { UNUSED; return hop_e_bin(e, op, a[0], a[1]); }
BITS(and, LL_AND)
BITS(or, LL_OR)
BITS(xor, LL_XOR)
#undef BITS

SOP(max) { UNUSED; return extreme(e, true, d, a[0], a[1]); }
SOP(min) { UNUSED; return extreme(e, false, d, a[0], a[1]); }
SOP(shl) { UNUSED; return shift(e, true, d, n, a[0], a[1]); }
SOP(shr) { UNUSED; return shift(e, false, d, n, a[0], a[1]); }

SOP(mulhi)
{
	hop_lt *w = hop_e_type(e, HOP_i64, n);
	hop_lv *p = hop_e_bin(e, LL_MUL, hop_e_cast(e, LL_ZEXT, a[0], w),
	                      hop_e_cast(e, LL_ZEXT, a[1], w));
	UNUSED;
	p = hop_e_bin(e, LL_LSHR, p, hop_e_consti(e, HOP_i64, n, 32));
	return hop_e_cast(e, LL_TRUNC, p, hop_e_type(e, HOP_i32, n));
}

/* Of floats, of integers, and of bools: false < true. */
#define COMPARE(name, f, i, u) \
	SOP(name) \
	{ \
		UNUSED; \
		return hop_dtype_real(from) ? hop_e_fcmp(e, f, a[0], a[1]) : \
		       hop_e_icmp(e, hop_dtype_bool(from) ? u : i, a[0], a[1]); \
	}
COMPARE(eq, LL_OEQ, LL_EQ, LL_EQ)
COMPARE(ne, LL_UNE, LL_NE, LL_NE)
COMPARE(lt, LL_OLT, LL_SLT, LL_ULT)
COMPARE(le, LL_OLE, LL_SLE, LL_ULE)
#undef COMPARE

SOP(select)
{
	UNUSED;
	return hop_e_sel(e, a[0], a[1], a[2]);
}

hop_lv *hop_e_sop(hop_emit *e, enum hop_sop s, hop_dtype d, hop_dtype from, int n,
                  hop_lv *a, hop_lv *b, hop_lv *c)
{
	static hop_llvm_sop *const emitter[HOP_NSOP] = {
#define HOP_SOP(name, in, on, cost) [HOP_SOP_##name] = hop_llvm_sop_##name,
#define HOP_SOP_IN HOP_SOP
#define HOP_SOP_MEM(name, in, on, cost)
#include "loop/sops.def"
	};

	HOP_ASSERT(emitter[s]);
	return emitter[s](e, d, from, n, (hop_lv *const[]){ a, b, c });
}

hop_lv *hop_e_red(hop_emit *e, enum hop_red op, hop_dtype d, int lanes, hop_lv *acc,
                  hop_lv *v)
{
	static const enum hop_sop sop[] = { HOP_SOP_add, HOP_SOP_max, HOP_SOP_min, HOP_SOP_mul,
	                                    HOP_SOP_or, HOP_SOP_and };
	return hop_e_sop(e, sop[op], d, d, lanes, v, acc, NULL);
}

hop_lv *hop_e_red_id(hop_emit *e, enum hop_red op, hop_dtype d, int lanes)
{
	bool fl = hop_dtype_real(d);
	int64_t least = fl ? 0 : hop_dtype_least(d), most = fl ? 0 : hop_dtype_most(d);
	switch (op) {
	case HOP_RED_max:
		return fl ? hop_e_constf(e, d, lanes, -INFINITY) : hop_e_consti(e, d, lanes, least);
	case HOP_RED_min:
		return fl ? hop_e_constf(e, d, lanes, INFINITY) : hop_e_consti(e, d, lanes, most);
	case HOP_RED_mul:
		return fl ? hop_e_constf(e, d, lanes, 1) : hop_e_consti(e, d, lanes, 1);
	case HOP_RED_and:
		return hop_e_consti(e, d, lanes, -1);
	default:
		return fl ? hop_e_constf(e, d, lanes, 0) : hop_e_consti(e, d, lanes, 0);
	}
}

/* All lanes into one, by halves: an order fixed by the number of lanes alone. */
hop_lv *hop_e_red_all(hop_emit *e, enum hop_red op, hop_dtype d, int lanes, hop_lv *v)
{
	while (lanes > 1) {
		int h = lanes / 2;
		v = hop_e_red(e, op, d, h, hop_e_slice(e, v, 0, h), hop_e_slice(e, v, h, h));
		lanes = h;
	}
	return v;
}
