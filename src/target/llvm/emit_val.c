/* emit_val.c -- types, constants and one-instruction helpers. Each works on scalars and
 * on vectors alike. Does not know of loop programs. */
#include <string.h>

#include "target/llvm/emit.h"

hop_lt *hop_e_type(hop_emit *e, hop_dtype d, int lanes)
{
	static const size_t at[HOP_NDTYPE] = {
#define HOP_DTYPE(name, T, form, dclass, computes, exp, man, flags, npy, dlpack, tensors, reg, mem) \
		[HOP_##name] = offsetof(hop_emit, reg),
#include "ir/dtypes.def"
	};
	hop_lt *t;

	HOP_ASSERT((unsigned)d < HOP_NDTYPE);
	t = *(hop_lt **)((char *)e + at[d]);
	return lanes > 1 ? e->L->VectorType(t, (unsigned)lanes) : t;
}

/* A bool is a byte in memory and a bit in a register. */
hop_lt *hop_e_mem(hop_emit *e, hop_dtype d, int lanes)
{
	static const size_t at[HOP_NDTYPE] = {
#define HOP_DTYPE(name, T, form, dclass, computes, exp, man, flags, npy, dlpack, tensors, reg, mem) \
		[HOP_##name] = offsetof(hop_emit, mem),
#include "ir/dtypes.def"
	};
	hop_lt *t;

	HOP_ASSERT((unsigned)d < HOP_NDTYPE);
	t = *(hop_lt **)((char *)e + at[d]);
	return lanes > 1 ? e->L->VectorType(t, (unsigned)lanes) : t;
}

hop_lv *hop_e_to_reg(hop_emit *e, hop_dtype d, hop_lv *v, int lanes)
{
	if (!hop_dtype_bool(d))
		return v;
	return hop_e_icmp(e, LL_NE, v, e->L->ConstNull(hop_e_mem(e, d, lanes)));
}

hop_lv *hop_e_to_mem(hop_emit *e, hop_dtype d, hop_lv *v, int lanes)
{
	return hop_dtype_bool(d) ? hop_e_cast(e, LL_ZEXT, v, hop_e_mem(e, d, lanes)) : v;
}

hop_lv *hop_e_int(hop_emit *e, int64_t v)
{
	return e->L->ConstInt(e->i64, (unsigned long long)v, 1);
}

static hop_lv *const_splat(hop_emit *e, hop_lv *c, int lanes)
{
	hop_lv *v[512];
	if (lanes <= 1)
		return c;
	HOP_ASSERT(lanes <= 512);
	for (int i = 0; i < lanes; i++)
		v[i] = c;
	return e->L->ConstVector(v, (unsigned)lanes);
}

hop_lv *hop_e_consti(hop_emit *e, hop_dtype d, int lanes, int64_t v)
{
	hop_lv *c = e->L->ConstInt(hop_e_type(e, d, 1), (unsigned long long)v, 1);
	return const_splat(e, c, lanes);
}

hop_lv *hop_e_constf(hop_emit *e, hop_dtype d, int lanes, double v)
{
	return const_splat(e, e->L->ConstReal(hop_e_type(e, d, 1), v), lanes);
}

hop_lv *hop_e_splat(hop_emit *e, hop_lv *v, int lanes)
{
	hop_lt *t = e->L->VectorType(e->L->TypeOf(v), (unsigned)lanes);
	hop_lt *m = e->L->VectorType(e->i32, (unsigned)lanes);
	hop_lv *u = e->L->GetPoison(t);
	if (lanes <= 1)
		return v;
	u = e->L->BuildInsertElement(e->b, u, v, e->L->ConstInt(e->i32, 0, 0), "");
	return e->L->BuildShuffleVector(e->b, u, e->L->GetPoison(t), e->L->ConstNull(m), "");
}

hop_lv *hop_e_iota(hop_emit *e, hop_lt *elem, int lanes, int64_t step)
{
	hop_lv *v[512];
	HOP_ASSERT(lanes <= 512);
	for (int i = 0; i < lanes; i++)
		v[i] = e->L->ConstInt(elem, (unsigned long long)(i * step), 1);
	return e->L->ConstVector(v, (unsigned)lanes);
}

/* Index arithmetic is full of ones and zeros, and every instruction costs the code
 * generator; LLVM's builder only folds what is constant on both sides. */
hop_lv *hop_e_bin(hop_emit *e, enum hop_llvm_op op, hop_lv *a, hop_lv *b)
{
	if (op == LL_ADD && hop_e_known(e, b, 1) == 0)
		return a;
	if (op == LL_ADD && hop_e_known(e, a, 1) == 0)
		return b;
	if (op == LL_SUB && hop_e_known(e, b, 1) == 0)
		return a;
	if (op == LL_MUL && hop_e_known(e, b, 0) == 1)
		return a;
	if (op == LL_MUL && hop_e_known(e, a, 0) == 1)
		return b;
	return e->L->BuildBinOp(e->b, op, a, b, "");
}

/* Products may be fused into sums and the sign of zero is free; NaN and infinities are
 * kept, and nothing is reassociated behind our back. */
static hop_lv *flags(hop_emit *e, hop_lv *v)
{
	if (e->L->CanValueUseFastMathFlags(v))
		e->L->SetFastMathFlags(v, LL_FMF_CONTRACT | LL_FMF_NSZ);
	return v;
}

hop_lv *hop_e_fbin(hop_emit *e, enum hop_llvm_op op, hop_lv *a, hop_lv *b)
{
	return flags(e, e->L->BuildBinOp(e->b, op, a, b, ""));
}

hop_lv *hop_e_icmp(hop_emit *e, enum hop_llvm_icmp p, hop_lv *a, hop_lv *b)
{
	return e->L->BuildICmp(e->b, p, a, b, "");
}

hop_lv *hop_e_fcmp(hop_emit *e, enum hop_llvm_fcmp p, hop_lv *a, hop_lv *b)
{
	return e->L->BuildFCmp(e->b, p, a, b, "");
}

hop_lv *hop_e_sel(hop_emit *e, hop_lv *c, hop_lv *a, hop_lv *b)
{
	return e->L->BuildSelect(e->b, c, a, b, "");
}

hop_lv *hop_e_cast(hop_emit *e, enum hop_llvm_op op, hop_lv *a, hop_lt *t)
{
	return e->L->BuildCast(e->b, op, a, t, "");
}

hop_lv *hop_e_intrin(hop_emit *e, const char *name, int nt, hop_lt **t, int na,
                     hop_lv **a)
{
	unsigned id = e->L->LookupIntrinsicID(name, strlen(name));
	hop_lv *f;
	HOP_ASSERT(id);
	f = e->L->GetIntrinsicDeclaration(e->mod, id, t, (size_t)nt);
	return e->L->BuildCall2(e->b, e->L->GlobalGetValueType(f), f, a, (unsigned)na, "");
}

hop_lv *hop_e_fma(hop_emit *e, hop_lv *a, hop_lv *b, hop_lv *c)
{
	hop_lt *t = e->L->TypeOf(a);
	return hop_e_intrin(e, "llvm.fma", 1, &t, 3, (hop_lv *[]){ a, b, c });
}

/* a * b + c, in one instruction where the machine has it: what a product and a sum that
 * may be contracted become, but less work for the code generator. */
hop_lv *hop_e_muladd(hop_emit *e, hop_lv *a, hop_lv *b, hop_lv *c)
{
	hop_lt *t = e->L->TypeOf(a);
	return hop_e_intrin(e, "llvm.fmuladd", 1, &t, 3, (hop_lv *[]){ a, b, c });
}

/* Lanes from .. from+n-1 as a vector (a scalar when n is 1). */
hop_lv *hop_e_slice(hop_emit *e, hop_lv *v, int from, int n)
{
	hop_lv *m[512];
	if (n == 1)
		return e->L->BuildExtractElement(e->b, v,
		                e->L->ConstInt(e->i32, (unsigned long long)from, 0), "");
	for (int i = 0; i < n; i++)
		m[i] = e->L->ConstInt(e->i32, (unsigned long long)(from + i), 0);
	return e->L->BuildShuffleVector(e->b, v, e->L->GetPoison(e->L->TypeOf(v)),
	                                e->L->ConstVector(m, (unsigned)n), "");
}

hop_lbb *hop_e_block(hop_emit *e)
{
	return e->L->AppendBasicBlockInContext(e->cx, e->s.fn, "");
}

void hop_e_at(hop_emit *e, hop_lbb *b)
{
	e->L->PositionBuilderAtEnd(e->b, b);
	hop_e_debug_at(e, b);
}

int64_t hop_e_known(hop_emit *e, hop_lv *v, int64_t otherwise)
{
	return e->L->IsAConstantInt(v) ? e->L->ConstIntGetSExtValue(v) : otherwise;
}
