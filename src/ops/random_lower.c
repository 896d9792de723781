/* random_lower.c -- lowering of random numbers: philox.h, written in scalar operations.
 * An element depends on its key and position only, so nothing is kept between them. */
#include "loop/lower.h"
#include "ops/philox.h"

static hop_reg word(hop_lower *l, uint32_t v)
{
	return hop_lower_const(l, HOP_i32, 0, (int32_t)v);
}

/* Low and high words of an i64. */
static void words(hop_lower *l, hop_reg r, hop_reg *out_lo, hop_reg *out_hi)
{
	hop_reg s = hop_lower_const(l, HOP_i64, 0, 32);
	hop_reg m = hop_lower_const(l, HOP_i64, 0, 0xffffffff);
	hop_reg h = hop_lower_const(l, HOP_i64, 0, 0x80000000);
	/* cast saturates: bring the word into the range of i32 first */
	hop_reg lo = hop_lower_do(l, and, HOP_i64, r, m);
	hop_reg hi = hop_lower_do(l, and, HOP_i64, hop_lower_do(l, shr, HOP_i64, r, s), m);
	lo = hop_lower_do(l, sub, HOP_i64, hop_lower_do(l, xor, HOP_i64, lo, h), h);
	hi = hop_lower_do(l, sub, HOP_i64, hop_lower_do(l, xor, HOP_i64, hi, h), h);
	*out_lo = hop_lower_do(l, cast, HOP_i32, lo);
	*out_hi = hop_lower_do(l, cast, HOP_i32, hi);
}

static hop_reg xor3(hop_lower *l, hop_reg a, hop_reg b, hop_reg c)
{
	return hop_lower_do(l, xor, HOP_i32, hop_lower_do(l, xor, HOP_i32, a, b), c);
}

static void philox(hop_lower *l, hop_reg key, hop_reg c[4])
{
	hop_reg k0, k1, m0 = word(l, HOP_PHILOX_M0), m1 = word(l, HOP_PHILOX_M1);
	hop_reg w0 = word(l, HOP_PHILOX_W0), w1 = word(l, HOP_PHILOX_W1);
	words(l, key, &k0, &k1);
	for (int i = 0; i < HOP_PHILOX_ROUNDS; i++) {
		hop_reg ph = hop_lower_do(l, mulhi, HOP_i32, c[0], m0);
		hop_reg pl = hop_lower_do(l, mul, HOP_i32, c[0], m0);
		hop_reg qh = hop_lower_do(l, mulhi, HOP_i32, c[2], m1);
		hop_reg ql = hop_lower_do(l, mul, HOP_i32, c[2], m1);
		c[0] = xor3(l, qh, c[1], k0);
		c[1] = ql;
		c[2] = xor3(l, ph, c[3], k1);
		c[3] = pl;
		k0 = hop_lower_do(l, add, HOP_i32, k0, w0);
		k1 = hop_lower_do(l, add, HOP_i32, k1, w1);
	}
}

/* Word i of the key's stream, i an i64 register. */
static hop_reg stream(hop_lower *l, hop_reg key, hop_reg i)
{
	hop_reg four = hop_lower_const(l, HOP_i64, 0, 4), c[4], r;
	hop_reg w = hop_lower_do(l, rem, HOP_i64, i, four);
	words(l, hop_lower_do(l, div, HOP_i64, i, four), &c[0], &c[1]);
	c[2] = c[3] = word(l, 0);
	philox(l, key, c);
	r = c[3];
	for (int k = 2; k >= 0; k--) {
		hop_reg eq = hop_lower_do(l, eq, HOP_bool, w, hop_lower_const(l, HOP_i64, 0, k));
		r = hop_lower_do(l, select, HOP_i32, eq, c[k], r);
	}
	return r;
}

/* The key of the element wanted, and its position in the key's stream. */
static hop_reg place(hop_lower *l, const hop_node *n, hop_reg *out_pos)
{
	int rk = hop_lower_in(l, n, 0)->rank;
	const hop_type *t = hop_lower_out(l, n, 0);
	*out_pos = hop_lower_ixreg(l, hop_ix_flat(l, t->rank - rk, t->dim + rk, l->q.ix + rk));
	return hop_lower_arg(l, n, 0, l->q.ix);
}

hop_status hop_lower_random_bits(hop_lower *l, const hop_node *n)
{
	hop_reg pos, key = place(l, n, &pos);
	l->reg = stream(l, key, pos);
	return HOP_OK;
}

/* An i32 as the unsigned number it stands for. */
static hop_reg wide(hop_lower *l, hop_reg r)
{
	return hop_lower_do(l, and, HOP_i64, hop_lower_do(l, cast, HOP_i64, r),
	                    hop_lower_const(l, HOP_i64, 0, 0xffffffff));
}

hop_status hop_lower_uniform(hop_lower *l, const hop_node *n)
{
	hop_reg pos, key = place(l, n, &pos), r, q;
	hop_dtype d = (hop_dtype)hop_lower_out(l, n, 0)->dtype;
	int man = hop_dtype_row(d)->man;
	if (man <= 23) {
		r = hop_lower_do(l, shr, HOP_i32, stream(l, key, pos), word(l, 31 - man));
		r = hop_lower_do(l, cast, d, r);
		l->reg = hop_lower_do(l, mul, d, r, hop_lower_const(l, d, 1 / (double)((int64_t)2 << man), 0));
		return HOP_OK;
	}
	pos = hop_lower_do(l, add, HOP_i64, pos, pos);
	r = wide(l, stream(l, key, pos));
	pos = hop_lower_do(l, add, HOP_i64, pos, hop_lower_const(l, HOP_i64, 0, 1));
	q = wide(l, stream(l, key, pos));
	r = hop_lower_do(l, shl, HOP_i64, r, hop_lower_const(l, HOP_i64, 0, 32));
	r = hop_lower_do(l, or, HOP_i64, r, q);
	r = hop_lower_do(l, shr, HOP_i64, r, hop_lower_const(l, HOP_i64, 0, 11));
	r = hop_lower_do(l, cast, d, r);
	l->reg = hop_lower_do(l, mul, d, r, hop_lower_const(l, d, 0x1p-53, 0));
	return HOP_OK;
}

hop_status hop_lower_fold_in(hop_lower *l, const hop_node *n)
{
	hop_reg key = hop_lower_arg(l, n, 0, l->q.ix), c[4];
	hop_reg i = hop_lower_arg(l, n, 1, l->q.ix);
	i = hop_lower_as_i64(l, i, (hop_dtype)hop_lower_in(l, n, 1)->dtype);
	words(l, i, &c[0], &c[1]);
	c[2] = word(l, 1);
	c[3] = word(l, 0);
	philox(l, key, c);
	i = hop_lower_do(l, shl, HOP_i64, wide(l, c[1]), hop_lower_const(l, HOP_i64, 0, 32));
	l->reg = hop_lower_do(l, or, HOP_i64, i, wide(l, c[0]));
	return HOP_OK;
}
