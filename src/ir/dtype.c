/* dtype.c -- the table of dtypes, and elements in memory. Knows nothing of ops: the arithmetic of
 * a dtype is that of the dtype it computes in. */
#include <math.h>
#include <string.h>

#include "ir/dtype.h"

/* The public enum and the table are the same list. */
enum {
#define HOP_DTYPE(name, ...) ROW_##name,
#include "ir/dtypes.def"
	NROW
};
_Static_assert((int)NROW == (int)HOP_NDTYPE, "as many rows as dtypes");
#define HOP_DTYPE(name, ...) \
	_Static_assert((int)ROW_##name == (int)HOP_##name, "rows stand in the order of the enum");
#include "ir/dtypes.def"

const hop_drow hop_dtab[HOP_NDTYPE] = {
#define HOP_DTYPE(name, ctype, form, dclass, computes, exp, man, flags, npy, dlpack, tensors, \
                  reg, mem) \
	[HOP_##name] = { #name, sizeof(ctype), HOP_DC_##dclass, HOP_##computes, exp, man, \
	                 HOP_DF_##flags, dlpack, npy, tensors },
#include "ir/dtypes.def"
};

bool hop_dtype_find(const char *s, size_t n, hop_dtype *out_d)
{
	for (int d = 0; d < HOP_NDTYPE; d++)
		if (strlen(hop_dtab[d].name) == n && !memcmp(hop_dtab[d].name, s, n)) {
			*out_d = (hop_dtype)d;
			return true;
		}
	return false;
}

/* Digits of the numbers without a fraction that it holds without gaps. */
static int digits(const hop_drow *r)
{
	return r->dclass == HOP_DC_BOOL ? 1 : r->man ? r->man + 1 : 8 * r->bytes - 1;
}

bool hop_dtype_holds(hop_dtype b, hop_dtype a)
{
	const hop_drow *x = hop_dtype_row(a), *y = hop_dtype_row(b);
	return x->dclass <= y->dclass && digits(x) <= digits(y) && x->exp <= y->exp;
}

hop_dtype hop_dtype_join(hop_dtype a, hop_dtype b)
{
	hop_dtype best = hop_dtype_class(a) > hop_dtype_class(b) ? a : b;
	if (hop_dtype_class(a) != hop_dtype_class(b))
		return best;
	best = HOP_NDTYPE;
	for (int d = 0; d < HOP_NDTYPE; d++)
		if (hop_dtab[d].dclass == hop_dtype_class(a) && hop_dtype_holds((hop_dtype)d, a) &&
		    hop_dtype_holds((hop_dtype)d, b) &&
		    (best == HOP_NDTYPE || hop_dtab[d].bytes < hop_dtab[best].bytes))
			best = (hop_dtype)d;
	HOP_ASSERT(best != HOP_NDTYPE);
	return best;
}

hop_dtype hop_dtype_int_of(hop_dtype d)
{
	for (int i = 0; i < HOP_NDTYPE; i++)
		if (hop_dtab[i].dclass == HOP_DC_INT && hop_dtab[i].bytes == hop_dtype_bytes(d))
			return (hop_dtype)i;
	return HOP_NDTYPE;
}

int64_t hop_dtype_most(hop_dtype d)
{
	HOP_ASSERT(!hop_dtype_real(d));
	return (int64_t)(~(uint64_t)0 >> (64 - digits(hop_dtype_row(d))));
}

int64_t hop_dtype_least(hop_dtype d)
{
	return hop_dtype_bool(d) ? 0 : -hop_dtype_most(d) - 1;
}

void hop_dtype_list(hop_buf *b)
{
	for (int d = 0; d < HOP_NDTYPE; d++)
		hop_putf(b, "%s%s", d ? ", " : "", hop_dtab[d].name);
}

/* ---- elements ---- */

/* The number that the bits are. */
static double unpacked(hop_dtype d, uint64_t bits)
{
	const hop_drow *r = hop_dtype_row(d);
	uint64_t top = ((uint64_t)1 << r->exp) - 1, one = (uint64_t)1 << r->man;
	uint64_t e = bits >> r->man & top, m = bits & (one - 1);
	int last = 1 - ((1 << (r->exp - 1)) - 1) - r->man;   /* its least exponent */
	double v = !e ? ldexp((double)m, last) : ldexp((double)(m | one), last + (int)e - 1);
	if (e == top)
		v = m ? NAN : INFINITY;
	return bits >> (r->exp + r->man) & 1 ? -v : v;
}

/* The bits of the float nearest to v. The leading bit of a normal number counts as one more
 * exponent. There is one NaN. */
static uint16_t packed(hop_dtype d, float v)
{
	const hop_drow *r = hop_dtype_row(d);
	int least = 1 - ((1 << (r->exp - 1)) - 1), e;
	unsigned inf = ((1u << r->exp) - 1) << r->man, sign;
	double x = hop_float_round((double)v, r->exp, r->man);
	if (isnan(x))
		return (uint16_t)(inf | 1u << (r->man - 1));
	sign = (unsigned)(signbit(x) != 0) << (r->exp + r->man);
	if (isinf(x))
		return (uint16_t)(sign | inf);
	frexp(x, &e);
	e = x == 0 || e - 1 < least ? least : e - 1;
	return (uint16_t)(sign | (((unsigned)(e - least) << r->man) +
	                          (unsigned)ldexp(fabs(x), r->man - e)));
}

#define HOP_DTYPE(name, T, form, dclass, computes, exp, man, ...) \
	_Static_assert(HOP_##computes == HOP_##name || \
	               (HOP_##computes == HOP_f32 && sizeof(T) == 2 && 1 + exp + man == 16), \
	               "what is packed is packed from f32 into 16 bits");
#include "ir/dtypes.def"

/* By form: an element v as a double and as an integer, both as elements of type T. */
#define F_OF_truth(v)        (double)(v)
#define F_OF_whole(v)        (double)(v)
#define F_OF_real(v)         (double)(v)
#define F_OF_packed(v)       unpacked(d, v)
#define I_OF_truth(v)        (int64_t)(v)
#define I_OF_whole(v)        (int64_t)(v)
#define I_OF_real(v)         (int64_t)(v)
#define I_OF_packed(v)       (int64_t)unpacked(d, v)
#define OF_F_truth(T, v)     (T)((int64_t)(v) != 0)
#define OF_F_whole(T, v)     (T)(int64_t)(v)
#define OF_F_real(T, v)      (T)(v)
#define OF_F_packed(T, v)    packed(d, (float)(v))
#define OF_I_truth(T, v)     (T)((v) != 0)
#define OF_I_whole(T, v)     (T)(v)
#define OF_I_real(T, v)      (T)(v)
#define OF_I_packed(T, v)    packed(d, (float)(v))

double hop_elem_f(hop_dtype d, const void *p)
{
	switch (d) {
#define HOP_DTYPE(name, T, form, ...) \
	case HOP_##name: { T v; memcpy(&v, p, sizeof v); return F_OF_##form(v); }
#include "ir/dtypes.def"
	case HOP_NDTYPE: break;
	}
	hop_bug(__FILE__, __LINE__, "no dtype");
}

int64_t hop_elem_i(hop_dtype d, const void *p)
{
	switch (d) {
#define HOP_DTYPE(name, T, form, ...) \
	case HOP_##name: { T v; memcpy(&v, p, sizeof v); return I_OF_##form(v); }
#include "ir/dtypes.def"
	case HOP_NDTYPE: break;
	}
	hop_bug(__FILE__, __LINE__, "no dtype");
}

void hop_elem_set_f(hop_dtype d, void *p, double f)
{
	switch (d) {
#define HOP_DTYPE(name, T, form, ...) \
	case HOP_##name: { T v = OF_F_##form(T, f); memcpy(p, &v, sizeof v); return; }
#include "ir/dtypes.def"
	case HOP_NDTYPE: break;
	}
	hop_bug(__FILE__, __LINE__, "no dtype");
}

void hop_elem_set_i(hop_dtype d, void *p, int64_t i)
{
	switch (d) {
#define HOP_DTYPE(name, T, form, ...) \
	case HOP_##name: { T v = OF_I_##form(T, i); memcpy(p, &v, sizeof v); return; }
#include "ir/dtypes.def"
	case HOP_NDTYPE: break;
	}
	hop_bug(__FILE__, __LINE__, "no dtype");
}

uint64_t hop_elem_bits(hop_dtype d, const void *p)
{
	const unsigned char *s = p;
	const uint16_t one = 1;
	size_t n = hop_dtype_bytes(d);
	bool low_first = *(const unsigned char *)&one;
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v = v << 8 | s[low_first ? n - 1 - i : i];
	return v;
}

void hop_elem_set_bits(hop_dtype d, void *p, uint64_t bits)
{
	unsigned char *s = p;
	const uint16_t one = 1;
	size_t n = hop_dtype_bytes(d);
	bool low_first = *(const unsigned char *)&one;
	for (size_t i = 0; i < n; i++, bits >>= 8)
		s[low_first ? i : n - 1 - i] = (unsigned char)bits;
}

/* ---- text ---- */

void hop_dtype_put_float(hop_buf *b, hop_dtype d, double v)
{
	const hop_drow *r = hop_dtype_row(d);
	hop_put_float(b, v, r->exp, r->man);
}

/* A NaN that `nan` does not give back is written as its bits. */
void hop_elem_print(hop_buf *b, hop_dtype d, const void *p)
{
	const hop_drow *r = hop_dtype_row(d);
	uint64_t bits = hop_elem_bits(d, p), nan;
	if (r->dclass == HOP_DC_BOOL) {
		hop_put(b, bits ? "true" : "false");
	} else if (!r->man) {
		hop_putf(b, "%lld", (long long)hop_elem_i(d, p));
	} else {
		nan = (((uint64_t)1 << (r->exp + 1)) - 1) << (r->man - 1);
		if (isnan(hop_elem_f(d, p)) && bits != nan)
			hop_putf(b, "0x%llx", (unsigned long long)bits);
		else
			hop_dtype_put_float(b, d, hop_elem_f(d, p));
	}
}
