/* emit_sop.c -- the scalar operations of sops.def as expressions, and the combining step of
 * reductions. What C leaves undefined goes through unsigned numbers or a function of the prelude.
 * Loads and stores are not here: they need addresses. */
#include <math.h>

#include "target/c/emit.h"

/* ---- a function a row: d is the dtype of the result, from that of the operands ---- */

#define SOP(name) \
	void hop_c_sop_##name(hop_cemit *e, hop_buf *o, hop_dtype d, hop_dtype from, \
	                      const char *const *a)
#define UNUSED (void)e, (void)d, (void)from

static bool single(hop_dtype d)
{
	return hop_dtype_bytes(d) == 4;
}

SOP(cast)
{
	const char *t = hop_dtype_name(d), *f = hop_dtype_name(from);
	UNUSED;
	if (d == from)
		hop_put(o, a[0]);
	else if (hop_dtype_packed(d))
		hop_putf(o, "hop_narrow_%s(%s)", t, a[0]);
	else if (hop_dtype_packed(from))
		hop_putf(o, "hop_widen_%s(%s)", f, a[0]);
	else if (hop_dtype_bool(d))
		hop_putf(o, "%s != 0", a[0]);
	else if (hop_dtype_real(from) && !hop_dtype_real(d))
		hop_putf(o, "hop_%s_of_%s(%s)", t, f, a[0]);
	else
		hop_putf(o, "(%s)%s", hop_c_type(d), a[0]);
}

SOP(bitcast)
{
	UNUSED;
	if (d == from)
		hop_put(o, a[0]);
	else
		hop_putf(o, "hop_%s_bits_%s(%s)", hop_dtype_name(d), hop_dtype_name(from), a[0]);
}

/* Wrapping arithmetic of integers. */
static void wrap(hop_buf *o, hop_dtype d, const char *a, char op, const char *b)
{
	int w = 8 * (int)hop_dtype_bytes(d);
	hop_putf(o, "(%s)((uint%d_t)%s %c (uint%d_t)%s)", hop_c_type(d), w, a, op, w, b);
}

SOP(neg)
{
	UNUSED;
	if (hop_dtype_real(d))
		hop_putf(o, "-%s", a[0]);
	else
		wrap(o, d, "0", '-', a[0]);
}

SOP(abs)
{
	UNUSED;
	if (hop_dtype_real(d))
		hop_putf(o, "fabs%s(%s)", single(d) ? "f" : "", a[0]);
	else
		hop_putf(o, "hop_abs_%s(%s)", hop_dtype_name(d), a[0]);
}

SOP(not)
{
	UNUSED;
	hop_putf(o, "%c%s", hop_dtype_bool(d) ? '!' : '~', a[0]);
}

#define HELPER1(name) \
	SOP(name) { UNUSED; hop_putf(o, "hop_" #name "_%s(%s)", hop_dtype_name(d), a[0]); }
HELPER1(exp)
HELPER1(log)
HELPER1(tanh)
HELPER1(sin)
HELPER1(cos)
#undef HELPER1

#define MATH1(name, fn) \
	SOP(name) { UNUSED; hop_putf(o, fn "%s(%s)", single(d) ? "f" : "", a[0]); }
MATH1(sqrt, "sqrt")
MATH1(floor, "floor")
MATH1(ceil, "ceil")
MATH1(trunc, "trunc")
MATH1(round, "rint")                   /* ties to even: nobody has changed the mode */
#undef MATH1

static void math2(hop_buf *o, const char *fn, hop_dtype d, const char *const *a)
{
	hop_putf(o, "%s%s(%s, %s)", fn, single(d) ? "f" : "", a[0], a[1]);
}

#define ARITHMETIC(name, op) \
	SOP(name) \
	{ \
		UNUSED; \
		if (hop_dtype_real(d)) \
			hop_putf(o, "%s %c %s", a[0], op, a[1]); \
		else \
			wrap(o, d, a[0], op, a[1]); \
	}
ARITHMETIC(add, '+')
ARITHMETIC(sub, '-')
ARITHMETIC(mul, '*')
#undef ARITHMETIC

static void helper2(hop_buf *o, const char *fn, hop_dtype d, const char *const *a)
{
	hop_putf(o, "hop_%s_%s(%s, %s)", fn, hop_dtype_name(d), a[0], a[1]);
}

SOP(pow) { UNUSED; helper2(o, "pow", d, a); }

SOP(div)
{
	UNUSED;
	if (hop_dtype_real(d))
		hop_putf(o, "%s / %s", a[0], a[1]);
	else
		helper2(o, "div", d, a);
}

SOP(rem)
{
	UNUSED;
	if (hop_dtype_real(d))
		math2(o, "fmod", d, a);
	else
		helper2(o, "rem", d, a);
}

SOP(max) { UNUSED; helper2(o, "max", d, a); }
SOP(min) { UNUSED; helper2(o, "min", d, a); }
SOP(shl) { UNUSED; helper2(o, "shl", d, a); }
SOP(shr) { UNUSED; helper2(o, "shr", d, a); }
SOP(mulhi) { UNUSED; helper2(o, "mulhi", d, a); }

#define INFIX(name, op) SOP(name) { UNUSED; hop_putf(o, "%s " op " %s", a[0], a[1]); }
INFIX(and, "&")
INFIX(or, "|")
INFIX(xor, "^")
INFIX(eq, "==")
INFIX(ne, "!=")
INFIX(lt, "<")
INFIX(le, "<=")
#undef INFIX

SOP(select)
{
	UNUSED;
	hop_putf(o, "%s ? %s : %s", a[0], a[1], a[2]);
}

const char *hop_c_sop(hop_cemit *e, enum hop_sop s, hop_dtype d, hop_dtype from, const char *a,
                      const char *b, const char *c)
{
	static hop_c_sopfn *const emitter[HOP_NSOP] = {
#define HOP_SOP(name, in, on, cost) [HOP_SOP_##name] = hop_c_sop_##name,
#define HOP_SOP_IN HOP_SOP
#define HOP_SOP_MEM(name, in, on, cost)
#include "loop/sops.def"
	};
	const char *t;
	hop_buf     o;

	HOP_ASSERT(emitter[s]);
	hop_buf_open(&o, e->env);
	emitter[s](e, &o, d, from, (const char *const[]){ a, b, c });
	t = hop_c_text(e, "%s", o.s);
	hop_buf_free(&o);
	return t;
}

const char *hop_c_red(hop_cemit *e, enum hop_red op, hop_dtype d, const char *acc,
                      const char *v)
{
	static const enum hop_sop sop[] = { HOP_SOP_add, HOP_SOP_max, HOP_SOP_min, HOP_SOP_mul,
	                                    HOP_SOP_or, HOP_SOP_and };
	return hop_c_sop(e, sop[op], d, d, acc, v, NULL);
}

const char *hop_c_red_id(hop_cemit *e, enum hop_red op, hop_dtype d)
{
	bool fl = hop_dtype_real(d);
	switch (op) {
	case HOP_RED_max:
		return fl ? hop_c_float(e, d, -INFINITY) : hop_c_int(e, hop_dtype_least(d));
	case HOP_RED_min:
		return fl ? hop_c_float(e, d, INFINITY) : hop_c_int(e, hop_dtype_most(d));
	case HOP_RED_mul:
		return "1";
	case HOP_RED_and:
		return hop_dtype_bool(d) ? "1" : "(-1)";
	default:
		return "0";
	}
}
