/* prelude.c -- what stands before programs in a file: the structs of abi.h, and the scalar
 * operations that C has no expression for, a set a dtype. Needs no C library but for functions of
 * floats, which a free-standing program brings itself. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "target/abi.h"
#include "target/c/emit.h"

/* In a template $T is the C type of a dtype, $N its name, $W its bits, $F the letter behind the
 * names of its functions; of a cast $S and $M are type and name of what it is cast from. */
static void put(hop_buf *o, const char *text, hop_dtype d, hop_dtype from)
{
	for (; *text; text++) {
		if (*text != '$') {
			hop_putc(o, *text);
			continue;
		}
		switch (*++text) {
		case 'T': hop_put(o, hop_c_type(d)); break;
		case 'N': hop_put(o, hop_dtype_name(d)); break;
		case 'W': hop_putf(o, "%d", 8 * (int)hop_dtype_bytes(d)); break;
		case 'F': hop_put(o, hop_dtype_bytes(d) == 4 ? "f" : ""); break;
		case 'S': hop_put(o, hop_c_type(from)); break;
		case 'M': hop_put(o, hop_dtype_name(from)); break;
		default: hop_bug(__FILE__, __LINE__, "template");
		}
	}
}

static const char head[] =
	"#include <stdbool.h>\n"
	"#include <stdint.h>\n"
	"\n"
	"#ifndef HOP_ABI\n"
	"#define HOP_ABI %d\n"
	"struct hop_tape { void *ptr; int64_t bytes; };\n"
	"struct hop_rt {\n"
	"\tint  (*grow)(struct hop_rt *rt, int slot, int64_t bytes);\n"
	"\tint  (*effect)(struct hop_rt *rt, int id, void *const *args, const int64_t *syms);\n"
	"\tint  (*check)(struct hop_rt *rt, int id, const int64_t *syms);\n"
	"\tint  (*library)(struct hop_rt *rt, int id, int dtype, void *const *args,\n"
	"\t                const int64_t *extent);\n"
	"\tvoid (*parallel)(struct hop_rt *rt, void (*body)(void *arg, int64_t begin, int64_t end),\n"
	"\t                 void *arg, int64_t n);\n"
	"\tconst int       *cancel;\n"
	"\tint              nthread;\n"
	"\tstruct hop_tape *tape;\n"
	"\tvoid            *user;\n"
	"\tint64_t          skip;\n"
	"};\n"
	"#endif\n"
	"\n"
	"/* Memory is used for one type after another. The iterations of a parallel loop do not\n"
	" * depend on each other. */\n"
	"#if defined __GNUC__\n"
	"#define HOP_FN static inline __attribute__((unused))\n"
	"#define HOP_ALIAS __attribute__((may_alias))\n"
	"#else\n"
	"#define HOP_FN static inline\n"
	"#define HOP_ALIAS\n"
	"#endif\n"
	"#if defined __clang__\n"
	"#pragma clang diagnostic ignored \"-Wpass-failed\"\n"
	"#define HOP_PARALLEL _Pragma(\"clang loop vectorize(assume_safety)\")\n"
	"#elif defined __GNUC__\n"
	"#define HOP_PARALLEL _Pragma(\"GCC ivdep\")\n"
	"#else\n"
	"#define HOP_PARALLEL\n"
	"#endif\n"
	"/* Two mistakes of GCC 12. It loses the upper half of (a << 32 | b) >> 11; and of constants it\n"
	" * makes wrong vectors, if it sees them where they are used. */\n"
	"#if defined __GNUC__ && !defined __clang__ && __GNUC__ == 12\n"
	"#pragma GCC optimize(\"no-tree-vrp\")\n"
	"#endif\n"
	"#if defined __GNUC__ && !defined __clang__\n"
	"#define HOP_DATA __attribute__((weak, visibility(\"hidden\"))) const\n"
	"#else\n"
	"#define HOP_DATA static const\n"
	"#endif\n"
	"\n"
	"/* Not 0: somebody wants the program to stop. */\n"
	"HOP_FN int hop_poll(const struct hop_rt *rt) { return *(const volatile int *)rt->cancel; }\n"
	"\n";

/* Where there is no C library, whoever needs a function has it. */
static const char libm_head[] =
	"#if !defined __STDC_HOSTED__ || __STDC_HOSTED__\n"
	"#include <math.h>\n"
	"#else\n";
static const char libm[] =
	"$T exp$F($T), log$F($T), sin$F($T), cos$F($T), tanh$F($T), sqrt$F($T), fabs$F($T);\n"
	"$T floor$F($T), ceil$F($T), trunc$F($T), rint$F($T), fmod$F($T, $T), pow$F($T, $T);\n";

/* Wrapping, and total: x/0 is 0, x rem 0 is x, shifts by the width or more give 0. */
static const char whole[] =
	"HOP_FN $T hop_abs_$N($T a) { return a < 0 ? ($T)(0 - (uint$W_t)a) : a; }\n"
	"HOP_FN $T hop_max_$N($T a, $T b) { return a > b ? a : b; }\n"
	"HOP_FN $T hop_min_$N($T a, $T b) { return a < b ? a : b; }\n"
	"HOP_FN $T hop_div_$N($T a, $T b)\n"
	"{\n"
	"\treturn b == 0 ? 0 : b == -1 ? ($T)(0 - (uint$W_t)a) : a / b;\n"
	"}\n"
	"HOP_FN $T hop_rem_$N($T a, $T b)\n"
	"{\n"
	"\treturn b == 0 ? a : b == -1 ? 0 : a % b;\n"
	"}\n"
	"HOP_FN $T hop_shl_$N($T a, $T b)\n"
	"{\n"
	"\treturn (uint$W_t)b >= $W ? 0 : ($T)((uint$W_t)a << ((uint$W_t)b & ($W - 1)));\n"
	"}\n"
	"HOP_FN $T hop_shr_$N($T a, $T b)\n"
	"{\n"
	"\treturn (uint$W_t)b >= $W ? 0 : ($T)((uint$W_t)a >> ((uint$W_t)b & ($W - 1)));\n"
	"}\n";
static const char mulhi[] =
	"HOP_FN $T hop_mulhi_$N($T a, $T b)\n"
	"{\n"
	"\treturn ($T)(uint32_t)((uint64_t)(uint32_t)a * (uint32_t)b >> 32);\n"
	"}\n";

/* A NaN in either operand is passed on. */
static const char real[] =
	"HOP_FN $T hop_max_$N($T a, $T b) { return a != a ? a : a > b ? a : b; }\n"
	"HOP_FN $T hop_min_$N($T a, $T b) { return a != a ? a : a < b ? a : b; }\n";

static const char bits[] =
	"HOP_FN $T hop_$N_bits_$M($S a)\n"
	"{\n"
	"\tunion { $S a; $T b; } u;\n"
	"\tu.a = a;\n"
	"\treturn u.b;\n"
	"}\n";

/* Saturating; NaN is 0. The bounds are powers of two, exact in both. */
static const char of[] =
	"HOP_FN $T hop_$N_of_$M($S a)\n"
	"{\n"
	"\tconst $S far = ($S)(UINT$W_C(1) << ($W - 1));\n"
	"\treturn a >= far ? INT$W_MAX : a < -far ? INT$W_MIN : a != a ? 0 : ($T)a;\n"
	"}\n";

/* Sizes: floor and its remainder; by 0 they give 0. */
static const char size[] =
	"HOP_FN int64_t hop_size_div(int64_t a, int64_t b)\n"
	"{\n"
	"\tconst int64_t q = hop_div_i64(a, b);\n"
	"\tconst int64_t r = b == 0 ? 0 : hop_rem_i64(a, b);\n"
	"\treturn r != 0 && (r < 0) != (b < 0) ? q - 1 : q;\n"
	"}\n"
	"HOP_FN int64_t hop_size_mod(int64_t a, int64_t b)\n"
	"{\n"
	"\tconst int64_t r = b == 0 ? 0 : hop_rem_i64(a, b);\n"
	"\treturn r != 0 && (r < 0) != (b < 0) ? r + b : r;\n"
	"}\n";

/* ---- packed floats ---- */

enum { MAN = 23, BIAS = 127, SIGN = 31 };          /* of f32 */

/* With f32's bits of exponent it is the upper part of an f32; with fewer: as if it had f32's,
 * scaled, which also makes numbers below its least normal one normal. */
static void put_widen(hop_buf *o, hop_dtype d)
{
	const hop_drow *r = hop_dtype_row(d);
	int             low = r->exp + r->man, bias = (1 << (r->exp - 1)) - 1;

	hop_putf(o, "HOP_FN float hop_widen_%s(uint16_t x)\n{\n", r->name);
	if (low == SIGN - MAN + r->man) {
		hop_putf(o, "\treturn hop_f32_bits_u32((uint32_t)x << %d);\n}\n", SIGN - low);
		return;
	}
	hop_putf(o, "\tconst uint32_t a = (x & 0x%xu) << %d;\n", (1u << low) - 1, MAN - r->man);
	hop_putf(o, "\tconst uint32_t n = hop_u32_bits_f32(hop_f32_bits_u32(a) * 0x1p%df);\n", BIAS - bias);
	hop_putf(o, "\tconst uint32_t f = a >= 0x%xu ? a | 0x7f800000u : n;\n",
	         ((1u << r->exp) - 1) << MAN);
	hop_putf(o, "\treturn hop_f32_bits_u32(f | (uint32_t)x >> %d << %d);\n}\n", low, SIGN);
}

/* To nearest, ties to even: what is dropped is carried into what stays. Every NaN is the same. With
 * fewer bits of exponent: below the least normal number in units of the last place, by adding a
 * number whose last place that is; above the greatest, infinite. */
static void put_narrow(hop_buf *o, hop_dtype d)
{
	const hop_drow *r = hop_dtype_row(d);
	int             low = r->exp + r->man, bias = (1 << (r->exp - 1)) - 1, drop = MAN - r->man;
	bool            few = low != SIGN - drop;

	hop_putf(o, "HOP_FN uint16_t hop_narrow_%s(float x)\n{\n", r->name);
	hop_put(o, "\tconst uint32_t u = hop_u32_bits_f32(x);\n");
	hop_putf(o, "\tconst uint32_t a = u%s;\n", few ? " & 0x7fffffffu" : "");
	hop_putf(o, "\tuint32_t r = (a + 0x%xu + (a >> %d & 1)) >> %d;\n", (1u << (drop - 1)) - 1, drop,
	         drop);
	if (few) {
		hop_putf(o, "\tconst float unit = 0x1p%df;\n", 1 + MAN - bias - r->man);
		hop_put(o, "\tconst uint32_t low = hop_u32_bits_f32(hop_f32_bits_u32(a) + unit) - "
		           "hop_u32_bits_f32(unit);\n");
		hop_putf(o, "\tr -= 0x%xu;\n", (uint32_t)(BIAS - bias) << r->man);
		hop_putf(o, "\tr = a >= 0x%xu ? 0x%xu : r;\n",
		         (uint32_t)(BIAS + bias) << MAN | ((2u << r->man) - 1) << (MAN - 1 - r->man),
		         ((1u << r->exp) - 1) << r->man);
		hop_putf(o, "\tr = a < 0x%xu ? low : r;\n", (uint32_t)(BIAS - bias + 1) << MAN);
		hop_putf(o, "\tr |= u >> %d << %d;\n", SIGN, low);
	}
	hop_putf(o, "\treturn (uint16_t)(x != x ? 0x%xu : r);\n}\n",
	         ((2u << r->exp) - 1) << (r->man - 1));
}

static const char words[] =
	"HOP_FN uint32_t hop_u32_bits_f32(float a)\n"
	"{\n"
	"\tunion { float a; uint32_t b; } u;\n"
	"\tu.a = a;\n"
	"\treturn u.b;\n"
	"}\n"
	"HOP_FN float hop_f32_bits_u32(uint32_t a)\n"
	"{\n"
	"\tunion { uint32_t a; float b; } u;\n"
	"\tu.a = a;\n"
	"\treturn u.b;\n"
	"}\n";

/* ---- all of it ---- */

/* A float that C has no constant for without a library: by its exponent and first bit. */
static void put_special(hop_buf *o, hop_dtype d)
{
	const hop_drow *r = hop_dtype_row(d);
	uint64_t        inf = (((uint64_t)1 << r->exp) - 1) << r->man;

	for (int nan = 0; nan < 2; nan++) {
		hop_putf(o, "HOP_FN %s hop_%s_%s(void)\n{\n", hop_c_type(d), nan ? "nan" : "inf", r->name);
		hop_putf(o, "\tconst union { uint%d_t b; %s a; } u = { UINT%d_C(0x%" PRIx64 ") };\n",
		         8 * r->bytes, hop_c_type(d), 8 * r->bytes, nan ? inf | inf >> 1 : inf);
		hop_put(o, "\treturn u.a;\n}\n");
	}
}

static bool is_whole(hop_dtype d)
{
	return hop_dtype_class(d) == HOP_DC_INT;
}

static bool is_real(hop_dtype d)
{
	return hop_dtype_real(d) && !hop_dtype_packed(d);
}

static void put_casts(hop_buf *o, hop_dtype d, hop_dtype from)
{
	bool bi = is_whole(d) || is_real(d), bj = is_whole(from) || is_real(from);
	if (d != from && bi && bj && hop_dtype_bytes(d) == hop_dtype_bytes(from))
		put(o, bits, d, from);
	if (is_whole(d) && is_real(from))
		put(o, of, d, from);
}

void hop_c_ops_prelude(hop_buf *o, hop_c_mathfn *math)
{
	hop_put(o, words);
	for (hop_dtype d = 0; d < HOP_NDTYPE; d++) {
		if (is_whole(d))
			put(o, whole, d, d);
		if (is_whole(d) && hop_dtype_bytes(d) == 4)
			put(o, mulhi, d, d);
		if (is_real(d)) {
			put(o, real, d, d);
			put_special(o, d);
			math(o, d);
		}
		if (hop_dtype_packed(d)) {
			put_widen(o, d);
			put_narrow(o, d);
		}
		for (hop_dtype f = 0; f < HOP_NDTYPE; f++)
			put_casts(o, d, f);
	}
	hop_put(o, size);
}

void hop_c_prelude(hop_buf *o)
{
	hop_putf(o, head, HOP_ABI);
	for (hop_dtype d = 0; d < HOP_NDTYPE; d++)
		hop_putf(o, "typedef %s HOP_ALIAS hop_%s;\n",
		         hop_dtype_bool(d) ? "uint8_t" : hop_c_type(d), hop_dtype_name(d));
	hop_put(o, "\n");
	hop_put(o, libm_head);
	for (hop_dtype d = 0; d < HOP_NDTYPE; d++)
		if (is_real(d))
			put(o, libm, d, d);
	hop_put(o, "#endif\n\n");
	hop_c_ops_prelude(o, hop_c_math_prelude);
	hop_c_gemm_prelude(o);
}
