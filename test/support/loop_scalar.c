/* loop_scalar.c -- what sops.def says, to the letter, on one value at a time. Knows nothing of
 * memory or of who runs. */
#include "support/loop_scalar.h"

#include <math.h>
#include <stdlib.h>

scalar run_get(hop_dtype d, const void *p)
{
	scalar s;

	if (hop_dtype_real(d))
		s.f = hop_elem_f(d, p);
	else
		s.i = hop_elem_i(d, p);
	return s;
}

void run_set(hop_dtype d, void *p, scalar s)
{
	if (hop_dtype_real(d))
		hop_elem_set_f(d, p, s.f);
	else
		hop_elem_set_i(d, p, s.i);
}

/* What a register of the dtype can hold. */
scalar run_trim(hop_dtype d, scalar s)
{
	uint64_t elem;

	if (hop_dtype_bool(d))
		s.i &= 1;
	run_set(d, &elem, s);
	return run_get(d, &elem);
}

static int64_t saturate(hop_dtype d, double v)
{
	double least = (double)hop_dtype_least(d);

	if (v != v)
		return 0;
	return v < least ? hop_dtype_least(d) : v >= -least ? hop_dtype_most(d) : (int64_t)v;
}

static scalar cast(hop_dtype to, hop_dtype from, scalar s)
{
	bool     fl = hop_dtype_real(from);
	uint64_t elem;
	scalar   r;

	if (hop_dtype_bool(to)) {
		r.i = fl ? s.f != 0 : s.i != 0;
	} else if (hop_dtype_real(to) && !fl) {
		hop_elem_set_i(to, &elem, s.i);              /* rounded once */
		return run_get(to, &elem);
	} else if (hop_dtype_real(to)) {
		r.f = s.f;
	} else {
		r.i = fl ? saturate(to, s.f) : s.i;
	}
	return run_trim(to, r);
}

static scalar bitcast(hop_dtype to, hop_dtype from, scalar s)
{
	char bytes[8];

	run_set(from, bytes, s);
	return run_get(to, bytes);
}

static double fop1(enum hop_sop s, double x)
{
	switch (s) {
	case HOP_SOP_neg: return -x;
	case HOP_SOP_abs: return fabs(x);
	case HOP_SOP_exp: return exp(x);
	case HOP_SOP_log: return log(x);
	case HOP_SOP_sin: return sin(x);
	case HOP_SOP_cos: return cos(x);
	case HOP_SOP_tanh: return tanh(x);
	case HOP_SOP_sqrt: return sqrt(x);
	case HOP_SOP_floor: return floor(x);
	case HOP_SOP_ceil: return ceil(x);
	case HOP_SOP_trunc: return trunc(x);
	case HOP_SOP_round: return nearbyint(x);
	default: return NAN;
	}
}

static double fop2(enum hop_sop s, double x, double y)
{
	switch (s) {
	case HOP_SOP_add: return x + y;
	case HOP_SOP_sub: return x - y;
	case HOP_SOP_mul: return x * y;
	case HOP_SOP_div: return x / y;
	case HOP_SOP_rem: return fmod(x, y);
	case HOP_SOP_pow: return pow(x, y);
	case HOP_SOP_max: return x != x ? x : y != y ? y : x > y ? x : y;
	case HOP_SOP_min: return x != x ? x : y != y ? y : x < y ? x : y;
	default: return NAN;
	}
}

static int64_t iop2(enum hop_sop s, hop_dtype d, int64_t x, int64_t y)
{
	uint64_t a = (uint64_t)x, b = (uint64_t)y, w = 8 * hop_dtype_bytes(d);

	switch (s) {
	case HOP_SOP_add: return (int64_t)(a + b);
	case HOP_SOP_sub: return (int64_t)(a - b);
	case HOP_SOP_mul: return (int64_t)(a * b);
	case HOP_SOP_div: return y == 0 ? 0 : y == -1 ? (int64_t)(0 - a) : x / y;
	case HOP_SOP_rem: return y == 0 ? x : y == -1 ? 0 : x % y;
	case HOP_SOP_max: return x > y ? x : y;
	case HOP_SOP_min: return x < y ? x : y;
	case HOP_SOP_and: return x & y;
	case HOP_SOP_or: return x | y;
	case HOP_SOP_xor: return x ^ y;
	case HOP_SOP_shl: return b >= w ? 0 : (int64_t)(a << b);
	case HOP_SOP_shr: return b >= w ? 0 : (int64_t)((w == 32 ? (uint32_t)a : a) >> b);
	case HOP_SOP_mulhi: return (int64_t)((uint64_t)(uint32_t)a * (uint32_t)b >> 32);
	default: return 0;
	}
}

static bool compare(enum hop_sop s, bool fl, scalar x, scalar y)
{
	switch (s) {
	case HOP_SOP_eq: return fl ? x.f == y.f : x.i == y.i;
	case HOP_SOP_ne: return fl ? x.f != y.f : x.i != y.i;
	case HOP_SOP_lt: return fl ? x.f < y.f : x.i < y.i;
	default: return fl ? x.f <= y.f : x.i <= y.i;
	}
}

/* Registers do not carry their dtype: comparisons and casts look for the definition. */
static void note(const hop_block *b, hop_dtype *d)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_OP && s->dst)
			d[s->dst] = s->dtype;
		if (s->kind == HOP_L_LOOP) {
			d[s->dst] = HOP_i64;
			d[s->bind.slice] = HOP_i64;
			for (int i = 0; i < s->nacc; i++)
				d[s->acc[i].result] = s->acc[i].dtype;
		}
		for (int i = 0; s->kind == HOP_L_TILE && i < s->tile->of->nhole; i++) {
			for (int k = 0; k < HOP_TILE_REGS; k++)
				d[s->tile->hole[i].reg[k]] = k < s->tile->of->hole[i].npos ? HOP_i64
				                                                           : s->tile->dtype;
			note(&s->tile->hole[i].body, d);
		}
		note(&s->body, d);
		note(&s->other, d);
	}
}

hop_dtype *run_types(const hop_lfunc *f)
{
	hop_dtype *d = calloc((size_t)f->nreg + 1, sizeof *d);

	note(&f->body, d);
	return d;
}

scalar run_combine(const hop_acc *c, scalar x, scalar y)
{
	static const enum hop_sop sop[] = { HOP_SOP_add, HOP_SOP_max, HOP_SOP_min, HOP_SOP_mul,
	                                    HOP_SOP_or, HOP_SOP_and };
	scalar r;

	if (hop_dtype_real(c->dtype))
		r.f = fop2(sop[c->op], x.f, y.f);      /* not rounded to f32: a better sum */
	else
		r = run_trim(c->dtype, (scalar){ .i = iop2(sop[c->op], c->dtype, x.i, y.i) });
	return r;
}


scalar run_value(const hop_stmt *s, const scalar *a, const hop_dtype *dt)
{
	scalar r = { .i = 0 };
	bool   fl = hop_dtype_real(s->dtype);

	switch (s->sop) {
	case HOP_SOP_constf: r.f = s->u.f; break;
	case HOP_SOP_consti: r.i = s->u.i; break;
	case HOP_SOP_bitcast: r = bitcast(s->dtype, dt[s->a[0]], a[0]); break;
	case HOP_SOP_cast: r = cast(s->dtype, dt[s->a[0]], a[0]); break;
	case HOP_SOP_eq: case HOP_SOP_ne: case HOP_SOP_lt: case HOP_SOP_le:
		r.i = compare(s->sop, hop_dtype_real(dt[s->a[0]]), a[0], a[1]);
		break;
	case HOP_SOP_select: r = a[0].i ? a[1] : a[2]; break;
	case HOP_SOP_not: r.i = hop_dtype_bool((hop_dtype)s->dtype) ? !a[0].i : ~a[0].i; break;
	default:
		if (s->na == 1 && fl)
			r.f = fop1(s->sop, a[0].f);
		else if (s->na == 1)
			r.i = s->sop == HOP_SOP_neg || a[0].i < 0 ? (int64_t)(0 - (uint64_t)a[0].i)
			                                          : a[0].i;
		else if (fl)
			r.f = fop2(s->sop, a[0].f, a[1].f);
		else
			r.i = iop2(s->sop, s->dtype, a[0].i, a[1].i);
	}
	return run_trim(s->dtype, r);
}
