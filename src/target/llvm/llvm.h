/* llvm.h -- LLVM's C API as a table of pointers, found at run time. Our own declarations,
 * so that hop builds where LLVM is absent; the numbers below are part of that API. */
#ifndef HOP_LLVM_H
#define HOP_LLVM_H

#include "base/base.h"

typedef struct LLVMOpaqueContext    hop_lcx;
typedef struct LLVMOpaqueModule     hop_lmod;
typedef struct LLVMOpaqueType       hop_lt;
typedef struct LLVMOpaqueValue      hop_lv;
typedef struct LLVMOpaqueBasicBlock hop_lbb;
typedef struct LLVMOpaqueBuilder    hop_lbld;
typedef struct LLVMOpaqueMetadata   hop_lmd;
typedef struct LLVMOpaqueDIBuilder  hop_ldib;

enum hop_llvm_op {
	LL_ADD = 8, LL_FADD, LL_SUB, LL_FSUB, LL_MUL, LL_FMUL, LL_UDIV, LL_SDIV, LL_FDIV,
	LL_UREM, LL_SREM, LL_FREM, LL_SHL, LL_LSHR, LL_ASHR, LL_AND, LL_OR, LL_XOR,
	LL_TRUNC = 30, LL_ZEXT, LL_SEXT, LL_FPTOUI, LL_FPTOSI, LL_UITOFP, LL_SITOFP,
	LL_FPTRUNC, LL_FPEXT, LL_PTRTOINT, LL_INTTOPTR, LL_BITCAST
};

enum hop_llvm_icmp { LL_EQ = 32, LL_NE, LL_UGT, LL_UGE, LL_ULT, LL_ULE, LL_SGT, LL_SGE,
                     LL_SLT, LL_SLE };
enum hop_llvm_fcmp { LL_OEQ = 1, LL_OGT, LL_OGE, LL_OLT, LL_OLE, LL_ONE, LL_ORD, LL_UNO,
                     LL_UEQ, LL_UGT_F, LL_UGE_F, LL_ULT_F, LL_ULE_F, LL_UNE };

enum { LL_FMF_NSZ = 1 << 3, LL_FMF_CONTRACT = 1 << 5 };
enum { LL_PRIVATE = 9, LL_INTERNAL = 8 };        /* linkage */
enum { LL_ATTR_FUNC = -1 };

typedef struct hop_llvm {
#define HOP_LLVM(ret, name, params) ret (*name) params;
#include "target/llvm/llvm_syms.def"
#undef HOP_LLVM
} hop_llvm;

/* Find LLVM 19 or later and fill the table. HOP_ETARGET when there is none. */
hop_status hop_llvm_load(hop_env *e, hop_llvm *out_l);

/* What is tried, in order: HOP_LLVM alone, or the names that distributions use. */
const char *hop_llvm_name(int i);                /* NULL: no more */
/* Which build of LLVM it is (base/object.h); zero when there is none. The first looks for
 * the file and does not open it, the second asks the library that was opened. */
hop_hash    hop_llvm_expected(hop_env *e);
hop_hash    hop_llvm_opened(void);

#endif
