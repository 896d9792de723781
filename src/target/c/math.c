/* math.c -- exp, log and tanh as C of the prelude: straight code that a compiler can vectorise, by
 * the same series as LLVM's (target/llvm/math.c says why they are right). They rest on fma; where the
 * machine has none, and for all other functions, the C library is called. */
#include <math.h>
#include <string.h>

#include "target/c/emit.h"

/* One dtype's numbers: 23 bits of mantissa or 52, the two that there are series for. */
typedef struct mx {
	hop_buf        *o;
	const hop_drow *r;
	bool            sg;
	int             bias;
} mx;

static void number(const mx *m, double v)
{
	v = hop_float_round(v, m->r->exp, m->r->man);
	hop_put_float(m->o, v, m->r->exp, m->r->man);
	hop_put(m->o, m->sg ? "f" : "");
}

/* What $ and this letter stand for, see put. */
static void word(const mx *m, char c)
{
	switch (c) {
	case 'T': hop_put(m->o, m->sg ? "float" : "double"); break;
	case 'I': hop_put(m->o, m->sg ? "i32" : "i64"); break;
	case 'U': hop_put(m->o, m->sg ? "uint32_t" : "uint64_t"); break;
	case 'N': hop_put(m->o, m->r->name); break;
	case 'F': hop_put(m->o, m->sg ? "f" : ""); break;
	case 'S': hop_putf(m->o, "%d", m->r->man); break;
	case 'B': hop_putf(m->o, "%d", m->bias); break;
	default: hop_bug(__FILE__, __LINE__, "template");
	}
}

/* $T is the type, $I the integer of its width, $U that without a sign, $N the dtype's name, $F the
 * letter of its functions, $S bits of mantissa, $B the bias; #, the next of the numbers. */
static void put(const mx *m, const char *text, const double *k)
{
	for (; *text; text++) {
		if (*text == '#' && text[1] == ',') {
			number(m, *k++);
			text++;
		} else if (*text != '$') {
			hop_putc(m->o, *text);
		} else {
			word(m, *++text);
		}
	}
}

/* p = c[n-1] x^(n-1) + ... + c[0] */
static void poly(const mx *m, const char *x, const double *c, int n)
{
	put(m, "\t$T p = #,;\n", &c[n - 1]);
	for (int i = n - 2; i >= 0; i--) {
		hop_putf(m->o, "\tp = hop_fma_%s(p, %s, ", m->r->name, x);
		number(m, c[i]);
		hop_put(m->o, ");\n");
	}
}

static double inverse_factorial(int n)
{
	double f = 1;
	for (int i = 2; i <= n; i++)
		f *= i;
	return 1 / f;
}

/* The nearest integer by adding and taking away a number whose last place is one: no conversion, so
 * NaN does no harm. */
static void put_basic(const mx *m)
{
	put(m, "HOP_FN $T hop_fma_$N($T a, $T b, $T c) { return __builtin_fma$F(a, b, c); }\n"
	       "/* 2^i for exponents of normal numbers. */\n"
	       "HOP_FN $T hop_pow2_$N($U i)\n"
	       "{\n"
	       "\tconst union { $U b; $T a; } u = { (i + $B) << $S };\n"
	       "\treturn u.a;\n"
	       "}\n"
	       "/* x * by as the nearest integer, also in *out_i. */\n"
	       "HOP_FN $T hop_nearest_$N($T x, $T by, $U *out_i)\n"
	       "{\n"
	       "\tconst union { $T a; $U b; } magic = { #, }, t = { hop_fma_$N(x, by, magic.a) };\n"
	       "\t*out_i = t.b - magic.b;\n"
	       "\treturn t.a - magic.a;\n"
	       "}\n", (double[]){ ldexp(1.5, m->r->man) });
}

/* Outside of the bounds the result is 0 or infinity; a comparison with NaN keeps NaN. In two
 * factors, so that results below the normal numbers come out. */
static void put_exp(const mx *m)
{
	bool   s = m->sg;
	double c[16], lo = s ? -104 : -746, hi = s ? 89 : 710;
	int    n = s ? 7 : 13;

	for (int i = 0; i < n; i++)
		c[i] = inverse_factorial(i + 1);
	put(m, "HOP_FN $T hop_exp_$N($T x)\n"
	       "{\n"
	       "\t$U i;\n"
	       "\tx = x < #, ? #, : x;\n"
	       "\tx = x > #, ? #, : x;\n"
	       "\tconst $T f = hop_nearest_$N(x, #,, &i);\n"
	       "\t$T r = hop_fma_$N(f, #,, x);\n"
	       "\tr = hop_fma_$N(f, #,, r);\n",
	    (double[]){ lo, lo, hi, hi, 1.4426950408889634,
	                s ? -0x1.62e43p-1 : -0x1.62e42fefa39efp-1,
	                s ? 0x1.05c61p-29 : -0x1.abc9e3b39803fp-56 });
	poly(m, "r", c, n);
	put(m, "\tp = hop_fma_$N(p, r, 1);\n"
	       "\tconst $U half = i >> 1 | (i & ($U)1 << (sizeof i * 8 - 1));\n"
	       "\treturn p * hop_pow2_$N(half) * hop_pow2_$N(i - half);\n"
	       "}\n", NULL);
}

static void put_tanh(const mx *m)
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
	bool   s = m->sg;
	double hi = s ? 10 : 22;               /* from here on it is 1 */

	put(m, "HOP_FN $T hop_tanh_$N($T x)\n"
	       "{\n"
	       "\t$U i;\n"
	       "\t$T y = __builtin_fabs$F(x);\n"
	       "\ty = y > #, ? #, : y;\n"
	       "\tconst bool near = y < #,;\n"
	       "\t$T f = hop_nearest_$N(y, #,, &i);\n"
	       "\tf = near ? 0 : f;\n"
	       "\tconst $T v = hop_fma_$N(f, #,, y);\n"
	       "\tconst $T z = v * v;\n",
	    (double[]){ hi, hi, 0.625, 2.8853900817779268,
	                s ? -0x1.62e43p-2 : -0x1.62e42fefa39efp-2 });
	poly(m, "z", s ? c32 : c64, s ? 5 : 11);
	put(m, "\tconst $T t = hop_fma_$N(v * z, p, v);\n"
	       "\tconst $T h = hop_pow2_$N(i - 1);\n"
	       "\tconst $T low = hop_fma_$N(h - #,, t, h + #,);\n"
	       "\ty = (t - 1) / low + 1;\n"
	       "\ty = near ? t : y;\n"
	       "\treturn __builtin_copysign$F(y, x);\n"
	       "}\n", (double[]){ 0.5, 0.5 });
}

/* x = 2^i (1 + f) with 1 + f between sqrt 1/2 and sqrt 2. */
static void put_log(const mx *m)
{
	bool   s = m->sg;
	int    n = s ? 5 : 11;
	double c[16], up = s ? 23 : 54;

	for (int j = 0; j < n; j++)
		c[j] = 2.0 / (2 * j + 3);
	put(m, "HOP_FN $T hop_log_$N($T x)\n"
	       "{\n"
	       "\tconst union { $T a; $U b; } one = { 1 }, low = { #, };\n"
	       "\tunion { $T a; $U b; } y;\n"
	       "\tconst bool small = x < #,;\n"
	       "\ty.a = small ? x * #, : x;\n"
	       "\ty.b += one.b - low.b;\n"
	       "\tconst int e = (int)(y.b >> $S) - $B;\n",
	    (double[]){ s ? 0x1.6a09e6p-1 : 0x1.6a09e667f3bcdp-1, s ? 0x1p-126 : 0x1p-1022,
	                ldexp(1, (int)up) });
	put(m, "\tconst $T i = ($T)(small ? e - ", NULL);
	hop_putf(m->o, "%d", (int)up);
	put(m, " : e);\n"
	       "\ty.b = (y.b & ((($U)1 << $S) - 1)) + low.b;\n"
	       "\tconst $T f = y.a - 1;\n"
	       "\tconst $T s = f / (f + 2);\n"
	       "\tconst $T z = s * s;\n", NULL);
	poly(m, "z", c, n);
	put(m, "\tconst $T h = f * f * #,;\n"
	       "\t$T r = s * (h + p * z);\n"
	       "\tr = hop_fma_$N(i, #,, r);\n"
	       "\tr = f - (h - r);\n"
	       "\tr = hop_fma_$N(i, #,, r);\n"
	       "\tr = x == hop_inf_$N() ? x : r;\n"
	       "\tr = x == 0 ? -hop_inf_$N() : r;\n"
	       "\tr = x < 0 ? hop_nan_$N() : r;\n"
	       "\treturn x != x ? x : r;\n"
	       "}\n",
	    (double[]){ 0.5, s ? -0x1.05c61p-29 : 0x1.abc9e3b39803fp-56,
	                s ? 0x1.62e43p-1 : 0x1.62e42fefa39efp-1 });
}

/* The rest is the library's. It gives NaN for 1 to a NaN that signals, which nobody can tell from
 * others. */
static const char library[] =
	"HOP_FN $T hop_exp_$N($T x) { return exp$F(x); }\n"
	"HOP_FN $T hop_log_$N($T x) { return log$F(x); }\n"
	"HOP_FN $T hop_tanh_$N($T x) { return tanh$F(x); }\n";
static const char others[] =
	"HOP_FN $T hop_sin_$N($T x) { return sin$F(x); }\n"
	"HOP_FN $T hop_cos_$N($T x) { return cos$F(x); }\n"
	"HOP_FN $T hop_pow_$N($T x, $T y) { return x == 1 || y == 0 ? 1 : pow$F(x, y); }\n";

static mx numbers(hop_buf *o, hop_dtype d)
{
	const hop_drow *r = hop_dtype_row(d);
	HOP_ASSERT(r->man == 23 || r->man == 52);
	return (mx){ o, r, r->man == 23, (1 << (r->exp - 1)) - 1 };
}

void hop_c_math_series(hop_buf *o, hop_dtype d, bool exp)
{
	mx m = numbers(o, d);
	put_basic(&m);
	if (exp)
		put_exp(&m);
	put_log(&m);
	put_tanh(&m);
}

void hop_c_math_prelude(hop_buf *o, hop_dtype d)
{
	mx m = numbers(o, d);
	hop_putf(o, "#if defined __FP_FAST_FMA%s\n", m.sg ? "F" : "");
	hop_c_math_series(o, d, true);
	hop_put(o, "#else\n");
	put(&m, library, NULL);
	hop_put(o, "#endif\n");
	put(&m, others, NULL);
}
