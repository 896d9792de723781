/* point_eval.c -- the arithmetic of ops element by element. Knows nothing of derivatives.
 *
 * Two arithmetics serve all dtypes. Floats are computed in double and rounded once to what the
 * dtype computes in: for + - * / and sqrt that is the correctly rounded f32 result, because
 * 53 >= 2*24 + 2, and fmod is exact. Integers are computed in 64 bits without sign and cut to
 * their width, which is wrapping. bool is the integers 0 and 1. */
#include <math.h>
#include <string.h>

#include "ops/ops.h"

typedef double  float_fn(double x, double y);
typedef int64_t int_fn(int64_t x, int64_t y);

/* Store an integer result, cut to the width of the dtype. */
static void put_int(hop_array *t, int64_t i, int64_t v)
{
	hop_array_set_i(t, i, hop_dtype_bool(t->dtype) ? v & 1 : v);
}

/* Element by element over one or two operands; the second is the first when there is
 * only one. Results are of the operands' dtype. */
static hop_status apply(const hop_node *n, hop_array *const *in, hop_array **out,
                        float_fn *ff, int_fn *fi)
{
	hop_array *x = in[0], *y = in[n->nin - 1], *z = out[0];
	bool real = hop_dtype_real(x->dtype);
	HOP_ASSERT(real ? ff != NULL : fi != NULL);
	for (int64_t i = 0; i < z->count; i++)
		if (real)
			hop_array_set_f(z, i, ff(hop_array_f(x, i), hop_array_f(y, i)));
		else
			put_int(z, i, fi(hop_array_i(x, i), hop_array_i(y, i)));
	return HOP_OK;
}

/* The same for comparisons. order says whether x is less than, equal to, greater than,
 * or not comparable with y, as a bit: 1, 2, 4, 8. */
static hop_status compare(hop_array *const *in, hop_array **out, int accept)
{
	hop_array *x = in[0], *y = in[1], *z = out[0];
	for (int64_t i = 0; i < z->count; i++) {
		int order;
		if (hop_dtype_real(x->dtype)) {
			double a = hop_array_f(x, i), b = hop_array_f(y, i);
			order = a < b ? 1 : a == b ? 2 : a > b ? 4 : 8;
		} else {
			int64_t a = hop_array_i(x, i), b = hop_array_i(y, i);
			order = a < b ? 1 : a == b ? 2 : 4;
		}
		hop_array_set_i(z, i, (order & accept) != 0);
	}
	return HOP_OK;
}

/* ---- floats ---- */

static double f_add(double x, double y)  { return x + y; }
static double f_sub(double x, double y)  { return x - y; }
static double f_mul(double x, double y)  { return x * y; }
static double f_div(double x, double y)  { return x / y; }
static double f_rem(double x, double y)  { return fmod(x, y); }
static double f_neg(double x, double y)  { (void)y; return -x; }

static double f_sign(double x, double y)
{
	(void)y;
	return isnan(x) ? x : (x > 0) - (x < 0);
}

/* NaN wins; of two zeros either may be the answer. */
static double f_max(double x, double y)
{
	return isnan(x) || x > y ? x : y;
}

static double f_min(double x, double y)
{
	return isnan(x) || x < y ? x : y;
}

/* ---- integers ---- */

static int64_t i_add(int64_t x, int64_t y)
{
	return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t i_sub(int64_t x, int64_t y)
{
	return (int64_t)((uint64_t)x - (uint64_t)y);
}

static int64_t i_mul(int64_t x, int64_t y)
{
	return (int64_t)((uint64_t)x * (uint64_t)y);
}

static int64_t i_neg(int64_t x, int64_t y)
{
	(void)y;
	return i_sub(0, x);
}

/* Total: nothing traps. */
static int64_t i_div(int64_t x, int64_t y)
{
	return y == 0 ? 0 : y == -1 ? i_sub(0, x) : x / y;
}

static int64_t i_rem(int64_t x, int64_t y)
{
	return y == 0 ? x : y == -1 ? 0 : x % y;
}

static int64_t i_max(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t i_min(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t i_and(int64_t x, int64_t y) { return x & y; }
static int64_t i_or(int64_t x, int64_t y)  { return x | y; }
static int64_t i_xor(int64_t x, int64_t y) { return x ^ y; }
static int64_t i_not(int64_t x, int64_t y) { (void)y; return ~x; }
static int64_t i_sign(int64_t x, int64_t y) { (void)y; return (x > 0) - (x < 0); }

/* ---- the cells ---- */

#define EVAL(name, ff, fi) \
	hop_status hop_eval_##name(hop_interp *p, const hop_node *n, hop_array *const *in, \
	                           hop_array **out) \
	{ \
		(void)p; \
		return apply(n, in, out, ff, fi); \
	}
/*    op    on floats on integers */
EVAL( add,  f_add,    i_add )
EVAL( sub,  f_sub,    i_sub )
EVAL( mul,  f_mul,    i_mul )
EVAL( div,  f_div,    i_div )
EVAL( rem,  f_rem,    i_rem )
EVAL( atan2, atan2,   NULL )
EVAL( pow,  pow,      NULL )
EVAL( max,  f_max,    i_max )
EVAL( min,  f_min,    i_min )
EVAL( neg,  f_neg,    i_neg )
EVAL( and,  NULL,     i_and )
EVAL( or,   NULL,     i_or )
EVAL( xor,  NULL,     i_xor )
EVAL( not,  NULL,     i_not )
EVAL( sign, f_sign,   i_sign )
#undef EVAL

#define EVAL(name, accept) \
	hop_status hop_eval_##name(hop_interp *p, const hop_node *n, hop_array *const *in, \
	                           hop_array **out) \
	{ \
		(void)p, (void)n; \
		return compare(in, out, accept); \
	}
/*    op    less equal greater incomparable */
EVAL( lt,   1 )
EVAL( le,   1 | 2 )
EVAL( eq,   2 )
EVAL( ne,   1 | 4 | 8 )
#undef EVAL

/* Of the width of the dtype: bits that leave it are gone, none come in but zeros. */
static hop_status shift(hop_array *const *in, hop_array **out, bool left)
{
	int w = 8 * (int)hop_dtype_bytes(in[0]->dtype);
	for (int64_t i = 0; i < out[0]->count; i++) {
		uint64_t x = (uint64_t)hop_array_i(in[0], i), n = (uint64_t)hop_array_i(in[1], i);
		x = w == 32 ? (uint32_t)x : x;
		put_int(out[0], i, n >= (uint64_t)w ? 0 : (int64_t)(left ? x << n : x >> n));
	}
	return HOP_OK;
}

hop_status hop_eval_shl(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out)
{
	(void)p, (void)n;
	return shift(in, out, true);
}

hop_status hop_eval_shr(hop_interp *p, const hop_node *n, hop_array *const *in, hop_array **out)
{
	(void)p, (void)n;
	return shift(in, out, false);
}

hop_status hop_eval_select(hop_interp *p, const hop_node *n, hop_array *const *in,
                           hop_array **out)
{
	size_t w = hop_dtype_bytes(out[0]->dtype);
	(void)p, (void)n;
	for (int64_t i = 0; i < out[0]->count; i++) {
		const hop_array *from = hop_array_i(in[0], i) ? in[1] : in[2];
		memcpy((char *)out[0]->data + (size_t)i * w,
		       (const char *)from->data + (size_t)i * w, w);
	}
	return HOP_OK;
}

/* ---- cast ---- */

static int64_t saturate(double v, hop_dtype d)
{
	double least = (double)hop_dtype_least(d);     /* a power of two */
	if (isnan(v))
		return 0;
	if (v >= -least)
		return hop_dtype_most(d);
	return v < least ? hop_dtype_least(d) : (int64_t)v;
}

hop_status hop_eval_cast(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	hop_array *x = in[0], *z = out[0];
	bool from = hop_dtype_real(x->dtype), to = hop_dtype_real(z->dtype);
	(void)p, (void)n;
	for (int64_t i = 0; i < z->count; i++) {
		double f = from ? hop_array_f(x, i) : 0;
		int64_t v = from ? 0 : hop_array_i(x, i);
		if (hop_dtype_bool(z->dtype))
			hop_array_set_i(z, i, from ? f != 0 : v != 0);
		else if (from && to)
			hop_array_set_f(z, i, f);
		else if (from)
			hop_array_set_i(z, i, saturate(f, z->dtype));
		else
			hop_array_set_i(z, i, v);
	}
	return HOP_OK;
}
