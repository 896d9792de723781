/* fast.c -- identities of real numbers that floats have up to roundings, for calls under fast-math.
 * Each is applied where a call is captured, on its operands alone; what the graph passes do, they do
 * for all programs, since they change no bits. docs/modes.md lists them with their bounds. */
#include "trace/fast.h"
#include "trace/mode.h"

#include <math.h>

enum { POWER = 8 };                        /* exponents up to it become products */

static const hop_node *made_by(const hop_build *b, hop_val v, int op)
{
	uint32_t def = b->def[v.id];
	return def != UINT32_MAX && b->node[def].op == op ? &b->node[def] : NULL;
}

/* The number that all elements of v are. */
static bool number(const hop_build *b, hop_val v, double *out)
{
	const hop_node *n = made_by(b, v, HOP_OP_broadcast);
	n = made_by(b, n ? n->in[0] : v, HOP_OP_constant);
	if (!n || HOP_ATTR(n, constant)->value->type->rank)
		return false;
	const hop_data *c = HOP_ATTR(n, constant)->value;
	*out = hop_elem_f((hop_dtype)c->type->dtype, c->bytes);
	return true;
}

static hop_val one_over(hop_build *b, hop_val x)
{
	const hop_node *root = made_by(b, x, HOP_OP_sqrt);
	if (root)
		return hop_emit(b, rsqrt, root->in[0]);
	return hop_emit(b, div, hop_emit_full(b, hop_typeof(b, x), 1), x);
}

static bool normal(hop_dtype d, double x)
{
	return d == HOP_f64 ? isnormal(x) : isnormal((float)x);
}

/* x / y: by a number, by what is repeated, by a root. */
static hop_val quotient(hop_build *b, hop_val x, hop_val y)
{
	const hop_type *t = hop_typeof(b, y);
	const hop_node *wide = made_by(b, y, HOP_OP_broadcast);
	double c;
	if (number(b, y, &c)) {
		if (!normal((hop_dtype)t->dtype, c) || !normal((hop_dtype)t->dtype, 1 / c))
			return HOP_BAD;
		return hop_emit(b, mul, x, hop_emit_full(b, t, 1 / c));
	}
	if (made_by(b, y, HOP_OP_sqrt))
		return hop_emit(b, mul, x, one_over(b, y));
	if (!wide || hop_typeof(b, wide->in[0])->rank >= t->rank)
		return HOP_BAD;
	struct hop_attr_broadcast a = *HOP_ATTR(wide, broadcast);
	hop_val r = one_over(b, wide->in[0]);
	return b->st ? HOP_BAD : hop_emit(b, mul, x, hop_emit_op(b, HOP_OP_broadcast, &a, 1, &r));
}

static hop_val power(hop_build *b, hop_val x, int n)
{
	hop_val y = HOP_BAD;
	for (hop_val p = x; n; n >>= 1) {
		if (n & 1)
			y = hop_is_bad(y) ? p : hop_emit(b, mul, y, p);
		if (n > 1)
			p = hop_emit(b, mul, p, p);
	}
	return y;
}

static hop_val powered(hop_build *b, hop_val x, hop_val y)
{
	double c;
	if (!number(b, y, &c))
		return HOP_BAD;
	if (c == 0.5)
		return hop_emit(b, sqrt, x);
	if (c == -0.5)
		return hop_emit(b, rsqrt, x);
	if (c != floor(c) || fabs(c) > POWER || c == 0)
		return HOP_BAD;
	hop_val p = power(b, x, (int)fabs(c));
	return c > 0 ? p : one_over(b, p);
}

static hop_val rooted(hop_build *b, hop_val x)
{
	const hop_node *n = made_by(b, x, HOP_OP_mul);
	return n && hop_same(n->in[0], n->in[1]) ? hop_emit(b, abs, n->in[0]) : HOP_BAD;
}

hop_val hop_fast_op(hop_trace *t, int op, int n, const hop_val *in)
{
	hop_build *b = &t->b;
	hop_val v = HOP_BAD;
	for (int i = 0; i < n; i++)
		if (hop_is_bad(in[i]))
			return HOP_BAD;
	hop_dtype d = b->st ? HOP_bool : (hop_dtype)hop_typeof(b, in[0])->dtype;
	/* 16-bit floats are rounded after each op: a quotient in one is as near as it gets */
	bool fast = t->modes && t->modes->fast && hop_dtype_float(d) && !hop_dtype_packed(d);
	if (fast && op == HOP_OP_div)
		v = quotient(b, in[0], in[1]);
	else if (fast && op == HOP_OP_pow)
		v = powered(b, in[0], in[1]);
	else if (fast && op == HOP_OP_sqrt)
		v = rooted(b, in[0]);
	return hop_is_bad(v) ? hop_emit_op(b, op, NULL, (uint32_t)n, in) : v;
}
