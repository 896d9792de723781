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
	return d == HOP_bool ? 1 : (int)hop_dtype_bytes(d) * 8;
}

/* x/0 = 0, x rem 0 = x, and the one overflow wraps: divide by 1 in those lanes. */
static hop_lv *idiv(hop_emit *e, bool rem, hop_dtype d, int n, hop_lv *a, hop_lv *b)
{
	int64_t least = d == HOP_i32 ? INT32_MIN : INT64_MIN;
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

	if (!hop_dtype_float(d))
		return hop_e_sel(e, hop_e_icmp(e, max ? LL_SGT : LL_SLT, a, b), a, b);
	m = hop_e_sel(e, hop_e_fcmp(e, max ? LL_OGT : LL_OLT, a, b), a, b);
	return hop_e_sel(e, hop_e_fcmp(e, LL_UNO, a, a), a, m);
}

static hop_lv *cast(hop_emit *e, hop_dtype d, hop_dtype s, int n, hop_lv *a)
{
	hop_lt *t = hop_e_type(e, d, n), *f = hop_e_type(e, s, n);
	bool    df = hop_dtype_float(d), sf = hop_dtype_float(s);

	if (d == s)
		return a;
	if (d == HOP_bool)
		return sf ? hop_e_fcmp(e, LL_UNE, a, hop_e_constf(e, s, n, 0))
		          : hop_e_icmp(e, LL_NE, a, hop_e_consti(e, s, n, 0));
	if (s == HOP_bool)
		return hop_e_cast(e, df ? LL_UITOFP : LL_ZEXT, a, t);
	if (df && sf)
		return hop_e_cast(e, d == HOP_f64 ? LL_FPEXT : LL_FPTRUNC, a, t);
	if (df)
		return hop_e_cast(e, LL_SITOFP, a, t);
	if (sf)
		return hop_e_intrin(e, "llvm.fptosi.sat", 2, (hop_lt *[]){ t, f }, 1, &a);
	return hop_e_cast(e, d == HOP_i64 ? LL_SEXT : LL_TRUNC, a, t);
}

static hop_lv *mulhi(hop_emit *e, int n, hop_lv *a, hop_lv *b)
{
	hop_lt *w = hop_e_type(e, HOP_i64, n);
	hop_lv *p = hop_e_bin(e, LL_MUL, hop_e_cast(e, LL_ZEXT, a, w),
	                      hop_e_cast(e, LL_ZEXT, b, w));

	p = hop_e_bin(e, LL_LSHR, p, hop_e_consti(e, HOP_i64, n, 32));
	return hop_e_cast(e, LL_TRUNC, p, hop_e_type(e, HOP_i32, n));
}

static hop_lv *compare(hop_emit *e, enum hop_sop s, hop_dtype d, hop_lv *a, hop_lv *b)
{
	int k = s == HOP_SOP_eq ? 0 : s == HOP_SOP_ne ? 1 : s == HOP_SOP_lt ? 2 : 3;

	static const enum hop_llvm_fcmp f[] = { LL_OEQ, LL_UNE, LL_OLT, LL_OLE };
	static const enum hop_llvm_icmp i[] = { LL_EQ, LL_NE, LL_SLT, LL_SLE };
	static const enum hop_llvm_icmp u[] = { LL_EQ, LL_NE, LL_ULT, LL_ULE };

	if (hop_dtype_float(d))
		return hop_e_fcmp(e, f[k], a, b);
	return hop_e_icmp(e, d == HOP_bool ? u[k] : i[k], a, b);
}

/* d is the dtype of the result, from that of the operands. */
hop_lv *hop_e_sop(hop_emit *e, enum hop_sop s, hop_dtype d, hop_dtype from, int n,
                  hop_lv *a, hop_lv *b, hop_lv *c)
{
	bool fl = hop_dtype_float(d);

	switch (s) {
	case HOP_SOP_cast:
		return cast(e, d, from, n, a);
	case HOP_SOP_bitcast:
		return d == from ? a : hop_e_cast(e, LL_BITCAST, a, hop_e_type(e, d, n));
	case HOP_SOP_neg:
		return fl ? e->L->BuildFNeg(e->b, a, "")
		          : hop_e_bin(e, LL_SUB, hop_e_consti(e, d, n, 0), a);
	case HOP_SOP_abs:
		if (fl)
			return call1(e, "llvm.fabs", a);
		return hop_e_sel(e, hop_e_icmp(e, LL_SLT, a, hop_e_consti(e, d, n, 0)),
		                 hop_e_bin(e, LL_SUB, hop_e_consti(e, d, n, 0), a), a);
	case HOP_SOP_not:
		return hop_e_bin(e, LL_XOR, a, hop_e_consti(e, d, n, -1));
	case HOP_SOP_exp: case HOP_SOP_log: case HOP_SOP_sin: case HOP_SOP_cos:
	case HOP_SOP_tanh:
		return hop_e_math(e, s, d, n, a);
	case HOP_SOP_sqrt:
		return call1(e, "llvm.sqrt", a);
	case HOP_SOP_floor:
		return call1(e, "llvm.floor", a);
	case HOP_SOP_add:
		return fl ? hop_e_fbin(e, LL_FADD, a, b) : hop_e_bin(e, LL_ADD, a, b);
	case HOP_SOP_sub:
		return fl ? hop_e_fbin(e, LL_FSUB, a, b) : hop_e_bin(e, LL_SUB, a, b);
	case HOP_SOP_mul:
		return fl ? hop_e_fbin(e, LL_FMUL, a, b) : hop_e_bin(e, LL_MUL, a, b);
	case HOP_SOP_div:
		return fl ? hop_e_bin(e, LL_FDIV, a, b) : idiv(e, false, d, n, a, b);
	case HOP_SOP_rem:
		return fl ? hop_e_bin(e, LL_FREM, a, b) : idiv(e, true, d, n, a, b);
	case HOP_SOP_max:
		return extreme(e, true, d, a, b);
	case HOP_SOP_min:
		return extreme(e, false, d, a, b);
	case HOP_SOP_and:
		return hop_e_bin(e, LL_AND, a, b);
	case HOP_SOP_or:
		return hop_e_bin(e, LL_OR, a, b);
	case HOP_SOP_xor:
		return hop_e_bin(e, LL_XOR, a, b);
	case HOP_SOP_shl:
		return shift(e, true, d, n, a, b);
	case HOP_SOP_shr:
		return shift(e, false, d, n, a, b);
	case HOP_SOP_mulhi:
		return mulhi(e, n, a, b);
	case HOP_SOP_eq: case HOP_SOP_ne: case HOP_SOP_lt: case HOP_SOP_le:
		return compare(e, s, from, a, b);
	case HOP_SOP_select:
		return hop_e_sel(e, a, b, c);
	default:
		hop_bug(__FILE__, __LINE__, "operation without emitter");
	}
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
	bool    fl = hop_dtype_float(d), w = d == HOP_i32;
	int64_t least = w ? INT32_MIN : INT64_MIN, most = w ? INT32_MAX : INT64_MAX;

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
