/* point.c -- ops element by element: types and derivatives. Operands have identical
 * shapes; broadcasting is somebody else's. Their arithmetic is in point_eval.c.
 *
 * Functions of one float are in curve.c. All rules emit ops that have derivatives themselves. */
#include "ops/ops.h"

/* ---- types ---- */

static hop_status check_dtypes(hop_infer *f, uint32_t i, const char *where_i,
                               uint32_t j, const char *where_j)
{
	if (f->in[i]->dtype == f->in[j]->dtype)
		return HOP_OK;
	return hop_infer_fail(f, HOP_ETYPE, "%s: %s %s, %s %s: cast one of them",
	                      hop_opname(f), hop_dtype_name(f->in[i]->dtype), where_i,
	                      hop_dtype_name(f->in[j]->dtype), where_j);
}

/* All operands of one type: one, or a left and a right one. */
static hop_status check_same(hop_infer *f)
{
	if (f->nin == 1 || f->in[0] == f->in[1])
		return HOP_OK;
	HOP_TRY(check_dtypes(f, 0, "on the left", 1, "on the right"));
	return hop_infer_shapes(f, 0, "on the left", 1, "on the right");
}

/* add x y -- sum; integers wrap
 * sub x y -- difference; integers wrap
 * mul x y -- product; integers wrap
 * div x y -- quotient; integers: towards zero, x/0 = 0
 * rem x y -- what div leaves, with the sign of x; integers: x rem 0 = x
 * max x y -- the larger, NaN if either is; on bool: or
 * min x y -- the smaller, NaN if either is; on bool: and
 * neg x -- minus x; integers wrap
 * sign x -- -1, 0 or 1; NaN of NaN */
hop_status hop_infer_same(hop_infer *f)
{
	HOP_TRY(check_same(f));
	if (hop_dtype_bool((hop_dtype)f->in[0]->dtype) && f->op != HOP_OP_max && f->op != HOP_OP_min)
		return hop_infer_fail(f, HOP_ETYPE, "%s: no arithmetic on bool: cast first",
		                      hop_opname(f));
	f->out[0] = f->in[0];
	return HOP_OK;
}

/* eq x y -- equal; false if either is NaN
 * ne x y -- not equal; true if either is NaN
 * lt x y -- less; false < true
 * le x y -- less or equal */
hop_status hop_infer_compare(hop_infer *f)
{
	HOP_TRY(check_same(f));
	f->out[0] = hop_type_with(f->env, f->in[0], HOP_bool);
	return HOP_OK;
}

/* and x y -- both; integers: bit by bit
 * or x y -- either; integers: bit by bit
 * xor x y -- one but not both; integers: bit by bit
 * not x -- the other one; integers: every bit */
hop_status hop_infer_logic(hop_infer *f)
{
	HOP_TRY(check_same(f));
	if (hop_dtype_float(f->in[0]->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "%s: on bool and integers, not on %s",
		                      hop_opname(f), hop_dtype_name(f->in[0]->dtype));
	f->out[0] = f->in[0];
	return HOP_OK;
}

/* shl x n -- the bits of x, n places up; none are left when n is their number or more, or negative
 * shr x n -- the bits of x, n places down, zeros coming in */
hop_status hop_infer_shift(hop_infer *f)
{
	hop_dtype d = (hop_dtype)f->in[0]->dtype;
	HOP_TRY(check_same(f));
	if (hop_dtype_class(d) != HOP_DC_INT)
		return hop_infer_fail(f, HOP_ETYPE, "%s: on integers, not on %s: cast first",
		                      hop_opname(f), hop_dtype_name(d));
	f->out[0] = f->in[0];
	return HOP_OK;
}

/* select p x y -- x where p holds, else y */
hop_status hop_infer_select(hop_infer *f)
{
	static const char c[] = "in the condition", t[] = "where it holds",
	                  e[] = "where it does not";
	if (!hop_dtype_bool((hop_dtype)f->in[0]->dtype))
		return hop_infer_fail(f, HOP_ETYPE, "select: the condition is %s, not bool",
		                      hop_dtype_name(f->in[0]->dtype));
	HOP_TRY(check_dtypes(f, 1, t, 2, e));
	HOP_TRY(hop_infer_shapes(f, 1, t, 2, e));
	HOP_TRY(hop_infer_shapes(f, 0, c, 1, t));
	f->out[0] = f->in[1];
	return HOP_OK;
}

/* cast x {dtype} -- the same numbers in another dtype. Float to integer: towards zero,
 * saturating, NaN is 0; integers wrap; anything to bool is x != 0 */
hop_status hop_infer_cast(hop_infer *f)
{
	const struct hop_attr_cast *a = f->attr;
	if (a->dtype < 0 || a->dtype >= HOP_NDTYPE)
		return hop_infer_fail(f, HOP_ETYPE, "cast: %lld is not a dtype",
		                      (long long)a->dtype);
	f->out[0] = hop_type_with(f->env, f->in[0], (hop_dtype)a->dtype);
	return HOP_OK;
}

/* ---- helpers of the derivatives ---- */

/* k, in the shape of v. */
static hop_val like(hop_build *b, hop_val v, double k)
{
	return hop_emit_full(b, hop_typeof(b, v), k);
}

/* x * y, where x may be the symbolic zero. */
static hop_val times(hop_build *b, hop_val x, hop_val y)
{
	return hop_is_zero(x) ? x : hop_emit(b, mul, x, y);
}

static hop_val minus(hop_build *b, hop_val x)
{
	return hop_is_zero(x) ? x : hop_emit(b, neg, x);
}

/* ---- cast: only between floats is there something to pass on ---- */

static hop_val cast_by(hop_build *b, hop_rule *r, hop_val t, hop_dtype d)
{
	hop_dtype from = (hop_dtype)hop_typeof(b, r->in[0])->dtype;
	hop_dtype to = (hop_dtype)HOP_ATTR(r->n, cast)->dtype;
	if (!hop_dtype_diff(from) || !hop_dtype_diff(to))
		return HOP_ZERO;
	return hop_emit_cast(b, t, d);
}

hop_status hop_jvp_cast(hop_build *b, hop_rule *r)
{
	r->dout[0] = cast_by(b, r, r->din[0], (hop_dtype)HOP_ATTR(r->n, cast)->dtype);
	return HOP_OK;
}

hop_status hop_vjp_cast(hop_build *b, hop_rule *r)
{
	r->din[0] = cast_by(b, r, r->dout[0], (hop_dtype)hop_typeof(b, r->in[0])->dtype);
	return HOP_OK;
}

/* ---- linear: forward is hop_jvp_linear ---- */

hop_status hop_vjp_add(hop_build *b, hop_rule *r)
{
	(void)b;
	for (int i = 0; i < 2; i++)
		if (r->act[i])
			r->din[i] = r->dout[0];
	return HOP_OK;
}

hop_status hop_vjp_sub(hop_build *b, hop_rule *r)
{
	if (r->act[0])
		r->din[0] = r->dout[0];
	if (r->act[1])
		r->din[1] = hop_emit(b, neg, r->dout[0]);
	return HOP_OK;
}

hop_status hop_vjp_neg(hop_build *b, hop_rule *r)
{
	r->din[0] = hop_emit(b, neg, r->dout[0]);
	return HOP_OK;
}

/* ---- two operands ---- */

/* d(x*y) = dx*y + x*dy */
hop_status hop_jvp_mul(hop_build *b, hop_rule *r)
{
	hop_val left = times(b, r->din[0], r->in[1]);
	r->dout[0] = hop_emit_acc(b, left, times(b, r->din[1], r->in[0]));
	return HOP_OK;
}

hop_status hop_vjp_mul(hop_build *b, hop_rule *r)
{
	for (int i = 0; i < 2; i++)
		if (r->act[i])
			r->din[i] = hop_emit(b, mul, r->dout[0], r->in[1 - i]);
	return HOP_OK;
}

/* z = x/y: dz = (dx - z*dy)/y */
hop_status hop_jvp_div(hop_build *b, hop_rule *r)
{
	hop_val below = minus(b, times(b, r->din[1], r->out[0]));
	r->dout[0] = hop_emit(b, div, hop_emit_acc(b, r->din[0], below), r->in[1]);
	return HOP_OK;
}

hop_status hop_vjp_div(hop_build *b, hop_rule *r)
{
	hop_val each = hop_emit(b, div, r->dout[0], r->in[1]);
	if (r->act[0])
		r->din[0] = each;
	if (r->act[1])
		r->din[1] = hop_emit(b, neg, hop_emit(b, mul, each, r->out[0]));
	return HOP_OK;
}

/* z = x rem y = x - q*y with q whole: dz = dx - q*dy, and q = (x - z)/y. So written, q's
 * own derivative is zero by the rules of sub and div, as it should be. */
static hop_val whole(hop_build *b, hop_rule *r)
{
	return hop_emit(b, div, hop_emit(b, sub, r->in[0], r->out[0]), r->in[1]);
}

hop_status hop_jvp_rem(hop_build *b, hop_rule *r)
{
	hop_val t = HOP_ZERO;
	if (!hop_is_zero(r->din[1]))
		t = hop_emit(b, neg, hop_emit(b, mul, r->din[1], whole(b, r)));
	r->dout[0] = hop_emit_acc(b, r->din[0], t);
	return HOP_OK;
}

hop_status hop_vjp_rem(hop_build *b, hop_rule *r)
{
	if (r->act[0])
		r->din[0] = r->dout[0];
	if (r->act[1])
		r->din[1] = hop_emit(b, neg, hop_emit(b, mul, r->dout[0], whole(b, r)));
	return HOP_OK;
}

/* z = atan2(y, x): dz = (x*dy - y*dx) / (x*x + y*y); none where both are zero */
static hop_val square(hop_build *b, hop_rule *r)
{
	hop_val y = r->in[0], x = r->in[1], zero = like(b, x, 0);
	hop_val s = hop_emit(b, add, hop_emit(b, mul, y, y), hop_emit(b, mul, x, x));
	hop_val none = hop_emit(b, and, hop_emit(b, eq, x, zero), hop_emit(b, eq, y, zero));
	return hop_emit(b, select, none, like(b, x, 1), s);
}

hop_status hop_jvp_atan2(hop_build *b, hop_rule *r)
{
	hop_val right = minus(b, times(b, r->din[1], r->in[0]));
	hop_val turn = hop_emit_acc(b, times(b, r->din[0], r->in[1]), right);
	r->dout[0] = hop_emit(b, div, turn, square(b, r));
	return HOP_OK;
}

hop_status hop_vjp_atan2(hop_build *b, hop_rule *r)
{
	hop_val each = hop_emit(b, div, r->dout[0], square(b, r));
	if (r->act[0])
		r->din[0] = hop_emit(b, mul, each, r->in[1]);
	if (r->act[1])
		r->din[1] = hop_emit(b, neg, hop_emit(b, mul, each, r->in[0]));
	return HOP_OK;
}

/* z = x^y: dz = y x^(y-1) dx + z log(x) dy. A power of 0 is flat in x whatever x is, and so are
 * those of the number 0 in y where they are defined. */
static hop_val power_by(hop_build *b, hop_rule *r, int i, hop_val t)
{
	if (hop_is_zero(t))
		return t;
	hop_val x = r->in[0], y = r->in[1], zero = like(b, x, 0), flat, slope;
	if (i == 0) {
		hop_val less = hop_emit(b, sub, y, like(b, y, 1));
		flat = hop_emit(b, eq, y, zero);
		slope = hop_emit(b, mul, y, hop_emit(b, pow, x, less));
	} else {
		flat = hop_emit(b, and, hop_emit(b, eq, x, zero), hop_emit(b, le, zero, y));
		slope = hop_emit(b, mul, r->out[0], hop_emit(b, log, x));
	}
	return hop_emit(b, select, flat, zero, hop_emit(b, mul, t, slope));
}

hop_status hop_jvp_pow(hop_build *b, hop_rule *r)
{
	hop_val left = power_by(b, r, 0, r->din[0]);
	r->dout[0] = hop_emit_acc(b, left, power_by(b, r, 1, r->din[1]));
	return HOP_OK;
}

hop_status hop_vjp_pow(hop_build *b, hop_rule *r)
{
	for (int i = 0; i < 2; i++)
		if (r->act[i])
			r->din[i] = power_by(b, r, i, r->dout[0]);
	return HOP_OK;
}

/* What operand i of max or min gets of t: all, nothing where it loses, half at a tie. An
 * operand that cannot be compared (NaN) does not lose. */
static hop_val share(hop_build *b, hop_rule *r, int i, hop_val t)
{
	if (hop_is_zero(t))
		return t;
	hop_val x = r->in[i], y = r->in[1 - i];
	bool max = r->n->op == HOP_OP_max;
	hop_val loses = max ? hop_emit(b, lt, x, y) : hop_emit(b, lt, y, x);
	hop_val half = hop_emit(b, mul, t, like(b, x, 0.5));
	hop_val keeps = hop_emit(b, select, hop_emit(b, eq, x, y), half, t);
	return hop_emit(b, select, loses, like(b, x, 0), keeps);
}

static hop_status jvp_extreme(hop_build *b, hop_rule *r)
{
	hop_val left = share(b, r, 0, r->din[0]);
	r->dout[0] = hop_emit_acc(b, left, share(b, r, 1, r->din[1]));
	return HOP_OK;
}

static hop_status vjp_extreme(hop_build *b, hop_rule *r)
{
	for (int i = 0; i < 2; i++)
		if (r->act[i])
			r->din[i] = share(b, r, i, r->dout[0]);
	return HOP_OK;
}

hop_status hop_jvp_max(hop_build *b, hop_rule *r)
{
	return jvp_extreme(b, r);
}

hop_status hop_vjp_max(hop_build *b, hop_rule *r)
{
	return vjp_extreme(b, r);
}

hop_status hop_jvp_min(hop_build *b, hop_rule *r)
{
	return jvp_extreme(b, r);
}

hop_status hop_vjp_min(hop_build *b, hop_rule *r)
{
	return vjp_extreme(b, r);
}

/* ---- select: the condition has no tangent ---- */

hop_status hop_jvp_select(hop_build *b, hop_rule *r)
{
	if (hop_is_zero(r->din[1]) && hop_is_zero(r->din[2]))
		return HOP_OK;
	hop_val x = hop_emit_solid(b, r->din[1], hop_typeof(b, r->in[1]));
	hop_val y = hop_emit_solid(b, r->din[2], hop_typeof(b, r->in[2]));
	r->dout[0] = hop_emit(b, select, r->in[0], x, y);
	return HOP_OK;
}

hop_status hop_vjp_select(hop_build *b, hop_rule *r)
{
	hop_val none = hop_emit_zeros(b, hop_typeof(b, r->out[0]));
	if (r->act[1])
		r->din[1] = hop_emit(b, select, r->in[0], r->dout[0], none);
	if (r->act[2])
		r->din[2] = hop_emit(b, select, r->in[0], none, r->dout[0]);
	return HOP_OK;
}
