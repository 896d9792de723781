/* program.c -- random programs: ops without bodies. Comparisons are shifted by odd
 * constants, so that two ways to round never disagree about a branch. */
#include "support/program.h"

#include <math.h>
#include <string.h>

#include "ir/rule.h"

uint32_t gen_below(gen *g, uint32_t n)
{
	if (g->at < g->o->nbyte)
		return g->o->bytes[g->at++] % n;
	uint64_t z = g->state += 0x9e3779b97f4a7c15u;      /* splitmix64 */
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(z >> 33) % n;
}

static double odd(gen *g)
{
	return 0.1 + (double)gen_below(g, 9973) / 10007.0;
}

static bool is_float(const hop_type *t)
{
	return hop_dtype_float((hop_dtype)t->dtype);
}

static const hop_type *type_of(const gen_scope *s, hop_val v)
{
	return hop_typeof(&s->b, v);
}

static hop_val constant(gen_scope *s, hop_dtype d, double v)
{
	if (hop_dtype_float(d))
		return hop_emit_const_f(&s->b, d, v);
	return hop_emit_const_i(&s->b, d, (int64_t)v);
}

/* A scalar constant in the shape of v. */
static hop_val filled(gen_scope *s, const hop_type *t, double v)
{
	return hop_emit_full(&s->b, t, v);
}

/* ---- types ---- */

static const hop_type *shaped(gen *g, hop_dtype d)
{
	hop_size dim[2];
	int rank = (int)gen_below(g, 3);
	for (int i = 0; i < rank; i++)
		dim[i] = gen_size(g);
	return hop_type_get(g->e, d, rank, dim);
}

const hop_type *gen_float(gen *g)
{
	return shaped(g, g->o->f32 && gen_below(g, 5) == 0 ? HOP_f32 : HOP_f64);
}

const hop_type *gen_type(gen *g)
{
	static const hop_dtype few[] = { HOP_i64, HOP_i64, HOP_bool, HOP_i32 };
	if (gen_below(g, 4))
		return gen_float(g);
	return shaped(g, few[gen_below(g, 4)]);
}

/* ---- values ---- */

void gen_open(gen_scope *s, gen *g, int depth)
{
	memset(s, 0, sizeof *s);
	s->g = g;
	s->depth = depth;
	hop_build_open(&s->b, g->e);
	for (int i = 0; i < g->o->nsym; i++) {
		static const char *const name[GEN_MAXSYM] = { "s", "t", "u" };
		hop_range r = g->range[i];
		/* a body may take less than it is given */
		if (g->risks && depth < g->o->depth && !gen_below(g, 12)) {
			g->risks--;
			g->narrow = true;
			r.lo += gen_below(g, 4);
			r.hi = r.lo + gen_below(g, 9);
		}
		hop_build_sym(&s->b, r, name[i]);
	}
}

void gen_add(gen_scope *s, hop_val v)
{
	if (s->b.st)
		return;
	s->pool = hop_arena_grow(&s->g->e->tmp, s->pool, sizeof *s->pool, s->n + 1, &s->cap);
	s->pool[s->n++] = v;
}

/* Newer values more often, so that programs are deep rather than wide. */
hop_val gen_any(gen_scope *s)
{
	if (!s->n)
		return constant(s, HOP_f64, odd(s->g));
	uint32_t a = gen_below(s->g, (uint32_t)s->n), b = gen_below(s->g, (uint32_t)s->n);
	return s->pool[a > b ? a : b];
}

hop_val gen_any_float(gen_scope *s)
{
	for (int i = 0; i < 8; i++) {
		hop_val v = gen_any(s);
		if (s->b.st || is_float(type_of(s, v)))
			return v;
	}
	return gen_want(s, gen_float(s->g));
}

hop_val gen_tame(gen_scope *s, hop_val v)
{
	if (s->b.st || !is_float(type_of(s, v)))
		return v;
	switch (gen_below(s->g, 3)) {
	case 0:  return hop_emit(&s->b, sin, v);
	case 1:  return hop_emit(&s->b, tanh, v);
	default: return hop_emit(&s->b, cos, v);
	}
}

/* |v| < 7, whatever was done to it. */
static hop_val small(gen_scope *s, hop_val v)
{
	return s->b.st ? HOP_BAD : hop_emit(&s->b, rem, v, filled(s, type_of(s, v), 7));
}

static hop_val compare(gen_scope *s, hop_val x, hop_val y)
{
	if (s->b.st)
		return HOP_BAD;
	const hop_type *t = type_of(s, x);
	if (is_float(t))
		y = hop_emit(&s->b, add, y, filled(s, t, odd(s->g) / 97));
	switch (is_float(t) ? 0 : gen_below(s->g, 4)) {
	case 0:  return hop_emit(&s->b, lt, x, y);
	case 1:  return hop_emit(&s->b, le, x, y);
	case 2:  return hop_emit(&s->b, eq, x, y);
	default: return hop_emit(&s->b, ne, x, y);
	}
}

static hop_val to_dtype(gen_scope *s, hop_val v, hop_dtype d)
{
	if (s->b.st)
		return HOP_BAD;
	const hop_type *t = type_of(s, v);
	if (t->dtype == d)
		return v;
	if (d == HOP_bool)
		return compare(s, v, filled(s, t, is_float(t) ? odd(s->g) : 1));
	if (is_float(t) && !hop_dtype_float(d)) {
		v = hop_emit(&s->b, mul, hop_emit(&s->b, sin, v), filled(s, t, 2.7183));
		return hop_emit_cast(&s->b, v, d);
	}
	return hop_emit_cast(&s->b, v, d);
}

/* All elements in one. */
static hop_val scalar(gen_scope *s, hop_val v)
{
	if (s->b.st)
		return HOP_BAD;
	const hop_type *t = type_of(s, v);
	int64_t axes[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		axes[i] = i;
	if (!t->rank)
		return v;
	if (t->dtype == HOP_bool)
		return hop_emit_amax(&s->b, v, t->rank, axes);
	v = hop_emit_sum(&s->b, v, t->rank, axes);
	return is_float(t) ? gen_tame(s, v) : small(s, v);
}

hop_val gen_want(gen_scope *s, const hop_type *t)
{
	uint32_t same = 0;
	if (s->b.st)
		return HOP_BAD;
	for (size_t i = 0; i < s->n; i++)
		same += type_of(s, s->pool[i]) == t;
	if (same && gen_below(s->g, 5)) {
		uint32_t at = gen_below(s->g, same);
		for (size_t i = 0; i < s->n; i++)
			if (type_of(s, s->pool[i]) == t && !at--)
				return s->pool[i];
	}
	hop_val v = scalar(s, to_dtype(s, gen_any(s), (hop_dtype)t->dtype));
	if (s->b.st || !t->rank)
		return v;
	v = hop_emit_match(&s->b, v, t);
	if (t->dtype == HOP_bool || s->b.st)
		return v;
	/* elements that differ, so that a wrong index shows */
	hop_val i = hop_emit_iota(&s->b, HOP_i64, t->rank, t->dim, t->rank - 1);
	i = hop_emit_cast(&s->b, i, (hop_dtype)t->dtype);
	if (is_float(t))
		i = s->b.st ? HOP_BAD : hop_emit(&s->b, mul, i, filled(s, t, odd(s->g) / 3));
	return s->b.st ? HOP_BAD : hop_emit(&s->b, add, v, i);
}

/* ---- ops ---- */

int64_t gen_count(const hop_type *t)
{
	int64_t n = 1, d, four[GEN_MAXSYM] = { 4, 4, 4 };
	for (int i = 0; i < t->rank; i++)
		n *= hop_size_eval(t->dim[i], four, GEN_MAXSYM, &d) ? d : 4;
	return n;
}

/* x^2 + c > 0: safe to divide by, to take the root or the logarithm of. */
static hop_val positive(gen_scope *s, hop_val x)
{
	if (s->b.st)
		return HOP_BAD;
	return hop_emit(&s->b, add, hop_emit(&s->b, mul, x, x),
	                filled(s, type_of(s, x), 0.4 + odd(s->g)));
}

static hop_val op_point(gen_scope *s)
{
	hop_build *b = &s->b;
	hop_val x = gen_any_float(s);
	if (b->st)
		return HOP_BAD;
	const hop_type *t = type_of(s, x);
	hop_val y = gen_want(s, t);
	if (b->st)
		return HOP_BAD;
	switch (gen_below(s->g, 12)) {
	case 0:  return gen_tame(s, hop_emit(b, add, x, y));
	case 1:  return gen_tame(s, hop_emit(b, sub, x, y));
	case 2:
	case 3:  return gen_tame(s, hop_emit(b, mul, x, y));
	case 4:  return gen_tame(s, hop_emit(b, div, x, positive(s, y)));
	case 5:  return gen_tame(s, hop_emit(b, log, positive(s, x)));
	case 6:  return gen_tame(s, hop_emit(b, sqrt, positive(s, x)));
	case 7:  return hop_emit(b, neg, x);
	case 8:  return hop_emit(b, exp, gen_tame(s, x));
	case 9:  return hop_emit(b, max, hop_emit(b, sin, x), filled(s, t, odd(s->g)));
	case 10: return hop_emit(b, min, hop_emit(b, cos, x), filled(s, t, odd(s->g)));
	default: return gen_tame(s, x);
	}
}

/* The order of whole numbers, many of them equal: a float may be rounded into another place. */
static hop_val order(gen_scope *s, hop_val x, const hop_type *t)
{
	struct hop_attr_argsort a = { .axis = t->rank ? gen_below(s->g, (uint32_t)t->rank) : 0,
	                              .down = gen_below(s->g, 2) };
	return t->rank ? hop_emit_op(&s->b, HOP_OP_argsort, &a, 1, &x) : x;
}

static hop_val op_int(gen_scope *s)
{
	hop_build *b = &s->b;
	const hop_type *t = shaped(s->g, gen_below(s->g, 4) ? HOP_i64 : HOP_i32);
	hop_val x = gen_want(s, t), y = gen_want(s, t);
	if (b->st)
		return HOP_BAD;
	switch (gen_below(s->g, 9)) {
	case 0:  return small(s, hop_emit(b, add, x, y));
	case 1:  return small(s, hop_emit(b, sub, x, y));
	case 2:  return small(s, hop_emit(b, mul, x, y));
	case 3:  return hop_emit(b, max, x, y);
	case 4:  return hop_emit(b, min, x, y);
	case 5:  return hop_emit(b, div, x, filled(s, t, 3));
	case 6:  return hop_emit(b, and, x, filled(s, t, 3));
	case 7:  return order(s, x, t);
	default: return hop_emit(b, neg, x);
	}
}

static hop_val op_bool(gen_scope *s)
{
	hop_val x = gen_any(s);
	if (s->b.st)
		return HOP_BAD;
	const hop_type *t = type_of(s, x), *p = hop_type_with(s->g->e, t, HOP_bool);
	hop_val y = gen_want(s, t), c = compare(s, x, y), d = gen_want(s, p);
	if (s->b.st)
		return HOP_BAD;
	switch (gen_below(s->g, 6)) {
	case 0:  return hop_emit(&s->b, and, c, d);
	case 1:  return hop_emit(&s->b, or, c, d);
	case 2:  return hop_emit(&s->b, not, c);
	default: return hop_emit(&s->b, select, c, x, y);
	}
}

static hop_val op_reduce(gen_scope *s)
{
	hop_val x = gen_any_float(s);
	if (s->b.st)
		return HOP_BAD;
	const hop_type *t = type_of(s, x);
	if (!t->rank)
		return gen_tame(s, x);
	int64_t axis = gen_below(s->g, t->rank);
	if (gen_below(s->g, 3)) {
		int op = gen_below(s->g, 4) ? HOP_OP_sum : HOP_OP_prod;
		/* a product of numbers above one is soon so steep that no two ways agree on its sine */
		x = op == HOP_OP_prod ? gen_tame(s, x) : x;
		return s->b.st ? HOP_BAD : gen_tame(s, hop_emit_reduce(&s->b, op, x, 1, &axis));
	}
	/* no two elements may tie for the largest; the largest of none is not finite */
	hop_val i = hop_emit_iota(&s->b, HOP_i64, t->rank, t->dim, (int)axis);
	i = hop_emit_cast(&s->b, i, (hop_dtype)t->dtype);
	if (s->b.st)
		return HOP_BAD;
	i = hop_emit(&s->b, mul, i, filled(s, t, odd(s->g)));
	x = hop_emit_amax(&s->b, hop_emit(&s->b, add, x, i), 1, &axis);
	return s->b.st ? HOP_BAD
	               : gen_tame(s, hop_emit(&s->b, max, x, filled(s, type_of(s, x), -9.7)));
}

static hop_val op_move(gen_scope *s)
{
	hop_build *b = &s->b;
	hop_val x = gen_any(s);
	if (b->st)
		return HOP_BAD;
	const hop_type *t = type_of(s, x);
	hop_env *e = s->g->e;
	hop_size dim[HOP_MAXRANK], start[HOP_MAXRANK], one = hop_size_int(1);
	int64_t axes[HOP_MAXRANK], step[HOP_MAXRANK];
	int k = t->rank ? (int)gen_below(s->g, t->rank) : 0;
	if (!t->rank || (t->rank < 3 && gen_count(t) < 16 && !gen_below(s->g, 5)))
		return hop_emit_lead(b, x, hop_size_int(2));
	for (int i = 0; i < t->rank; i++) {
		dim[i] = t->dim[i];
		start[i] = hop_size_int(0);
		axes[i] = t->rank - 1 - i;
		step[i] = 1;
	}
	switch (gen_count(t) > 20 ? gen_below(s->g, 4) : gen_below(s->g, 6)) {
	case 0:
		return hop_emit_permute(b, x, axes);
	case 1:
		dim[0] = hop_type_count(e, t);
		return hop_emit_reshape(b, x, 1, dim);
	case 2:                                 /* reversed */
		start[k] = hop_size_sub(e, dim[k], one);
		step[k] = -1;
		return hop_emit_slice(b, x, start, dim, step);
	case 3:                                 /* all but the first */
		if (!hop_size_const(dim[k]) || dim[k].k < 2)
			return gen_tame(s, x);
		start[k] = one;
		dim[k] = hop_size_sub(e, dim[k], one);
		return hop_emit_slice(b, x, start, dim, NULL);
	case 4:
		start[k] = one;
		step[k] = 2;
		dim[k] = hop_size_add(e, hop_size_mul(e, dim[k], hop_size_int(2)), one);
		return hop_emit_pad(b, x, start, dim, step);
	default:
		return hop_emit_concat(b, 2, (const hop_val[]){ x, gen_want(s, t) }, k);
	}
}

static hop_val op_index(gen_scope *s)
{
	hop_build *b = &s->b;
	hop_env *e = s->g->e;
	hop_val x = gen_any_float(s), in[HOP_MAXRANK + 2];
	if (b->st)
		return HOP_BAD;
	const hop_type *t = type_of(s, x), *i64 = hop_type_scalar(e, HOP_i64);
	hop_size dim[HOP_MAXRANK], two = hop_size_int(2);
	if (!t->rank || !gen_count(t))
		return gen_tame(s, x);
	if (gen_below(s->g, 2)) {
		int axis = (int)gen_below(s->g, t->rank);
		hop_val i = gen_want(s, gen_below(s->g, 2) ? i64 : hop_type_get(e, HOP_i64, 1, &two));
		hop_val y = hop_emit_gather(b, x, i, axis, 0);
		if (b->st || gen_below(s->g, 2))
			return y;
		/* not min or max: no two may tie */
		static const enum hop_mode mode[] = { HOP_MODE_set, HOP_MODE_add, HOP_MODE_mul };
		y = gen_tame(s, gen_want(s, type_of(s, y)));
		return hop_emit_scatter(b, mode[gen_below(s->g, 3)], x, i, y, axis, 0);
	}
	for (int i = 0; i < t->rank; i++) {
		dim[i] = t->dim[i];
		if (hop_size_const(dim[i]) && dim[i].k)
			dim[i] = hop_size_int(1 + gen_below(s->g, (uint32_t)dim[i].k));
		in[i + 2] = gen_want(s, i64);
	}
	in[1] = x;
	struct hop_attr_dynslice a = { .dims = { t->rank, dim } };
	hop_val y = hop_emit_op(b, HOP_OP_dynslice, &a, 1 + t->rank, in + 1);
	if (b->st || gen_below(s->g, 2))
		return y;
	in[0] = x;
	in[1] = gen_tame(s, gen_want(s, type_of(s, y)));
	return b->st ? HOP_BAD : hop_emit_op(b, HOP_OP_dynupdate, NULL, 2 + t->rank, in);
}

static hop_val op_dot(gen_scope *s)
{
	static const int64_t zero[] = { 0 }, one[] = { 1 };
	hop_val x = gen_any_float(s);
	if (s->b.st || !type_of(s, x)->rank)
		return gen_tame(s, x);
	const hop_type *t = type_of(s, x);
	hop_val y = gen_want(s, t);
	hop_ints none = { 0, NULL }, first = { 1, zero }, second = { 1, one };
	bool batch = t->rank > 1 && gen_below(s->g, 2);
	bool wide = t->rank > 1 && gen_count(t) > 40;
	hop_ints same = batch || wide ? first : none, sum = batch || wide ? second : first;
	struct hop_attr_dot a = { .lbatch = same, .rbatch = same, .lsum = sum, .rsum = sum };
	if (gen_count(t) % 3 == 0)             /* added up in another dtype; no number is drawn for it */
		a.dtype = HOP_f64;
	y = hop_emit_dot_like(&s->b, x, y, &a);
	return gen_tame(s, s->b.st ? HOP_BAD : hop_emit_cast(&s->b, y, (hop_dtype)t->dtype));
}

/* Equations and factors of matrices far from singular: the diagonal is more than all the rest of a
 * row. */
static hop_val op_linear(gen_scope *s)
{
	hop_build *b = &s->b;
	hop_val x = gen_any_float(s), a;
	if (b->st || !type_of(s, x)->rank || type_of(s, x)->rank > 3 || gen_count(type_of(s, x)) > 40)
		return gen_tame(s, x);
	const hop_type *t = type_of(s, x);
	int r = t->rank;
	hop_size dim[HOP_MAXRANK];
	int64_t axes[HOP_MAXRANK];
	uint32_t kind = gen_below(s->g, 10);
	for (int i = 0; i < r; i++) {
		dim[i] = t->dim[i];
		axes[i] = i;
	}
	dim[r] = t->dim[r - 1];
	axes[r - 1] = gen_below(s->g, 2) ? r : r - 1;
	a = hop_emit_broadcast(b, gen_tame(s, x), r + 1, dim, axes);
	hop_val low = hop_emit_below(b, a, 0), under = hop_emit_below(b, a, -1);
	if (b->st)
		return HOP_BAD;
	hop_val n = hop_emit_size(b, hop_size_add(s->g->e, dim[r], hop_size_int(2)));
	n = hop_emit_match(b, hop_emit_cast(b, n, (hop_dtype)t->dtype), type_of(s, a));
	a = hop_emit(b, select, hop_emit(b, xor, low, under), n, a);
	if (kind == 0)
		return gen_tame(s, hop_emit(b, cholesky, a));
	dim[r] = hop_size_int(1);
	hop_val y = hop_emit_reshape(b, x, r + 1, dim);
	struct hop_attr_triangular_solve p = { .upper = kind & 1, .transposed = kind >> 1 & 1,
	                                       .unit = kind >> 2 & 1 };
	if (kind > 7)
		y = hop_emit(b, solve, a, y);
	else
		y = hop_emit_op(b, HOP_OP_triangular_solve, &p, 2, (hop_val[]){ a, y });
	return gen_tame(s, hop_emit_reshape(b, y, r, dim));
}

static hop_val op_random(gen_scope *s)
{
	hop_size two = hop_size_int(2);
	hop_val i = gen_want(s, hop_type_scalar(s->g->e, HOP_i64));
	hop_val k = gen_want(s, hop_type_scalar(s->g->e, HOP_i64));
	struct hop_attr_uniform a = { .dtype = HOP_f64, .dims = { 1, &two } };
	if (s->b.st)
		return HOP_BAD;
	k = hop_emit(&s->b, fold_in, k, i);
	return hop_emit_op(&s->b, HOP_OP_uniform, &a, 1, &k);
}

static void say(gen_scope *s)
{
	hop_val v = gen_any(s);
	struct hop_attr_print a = { .text = { 6, "v = {}" } };
	struct hop_attr_progress far = { .text = { 3, "far" } };
	if (!gen_below(s->g, 3)) {
		const hop_type *t = hop_type_scalar(s->g->e, HOP_i64);
		hop_val i = gen_want(s, t), n = gen_want(s, t);
		if (!s->b.st)
			hop_emit_op(&s->b, HOP_OP_progress, &far, 2, (hop_val[]){ i, n });
		return;
	}
	if (!s->b.st)
		hop_emit_op(&s->b, HOP_OP_print, &a, 1, &v);
}

static hop_val op_plain(gen_scope *s)
{
	switch (gen_below(s->g, 17)) {
	case 0:
	case 1:  return op_int(s);
	case 2:  return op_bool(s);
	case 3:
	case 4:  return op_reduce(s);
	case 5:
	case 6:  return op_move(s);
	case 7:
	case 8:  return op_index(s);
	case 9:  return op_dot(s);
	case 10: return op_random(s);
	case 11: return op_linear(s);
	default: return op_point(s);
	}
}

/* A body that takes fewer sizes may take none of which something outside is ever made. */
static void try_operator(gen_scope *s)
{
	gen_operator(s);
	if (s->b.st == HOP_ESHAPE && s->g->narrow) {
		s->b.st = HOP_OK;
		hop_diag_clear(s->g->e);
	}
}

void gen_steps(gen_scope *s, int n)
{
	for (int i = 0; i < n && !s->b.st; i++) {
		if (s->g->risks && !gen_below(s->g, 4)) {
			s->g->risks--;
			gen_add(s, gen_risky(s));
		} else if (s->g->o->locals && !gen_below(s->g, 6))
			gen_add(s, gen_local(s));
		else if (s->depth && !gen_below(s->g, 3))
			try_operator(s);
		else
			gen_add(s, op_plain(s));
		if (s->g->o->effects && !gen_below(s->g, 6))
			say(s);
	}
}

hop_status gen_program(hop_env *e, const gen_opts *o, hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	gen g = { .e = e, .o = o, .state = o->seed * 0x2545f4914f6cdd1du, .risks = o->risks };
	gen_scope s;
	hop_val out[3];
	for (int i = 0; i < o->nsym; i++) {
		static const int64_t low[] = { 0, 0, 0, 1, 2, 5 };
		g.range[i].lo = low[gen_below(&g, 6)];
		g.range[i].hi = gen_below(&g, 3) ? 67 : g.range[i].lo + 3 + gen_below(&g, 9);
	}
	gen_open(&s, &g, o->depth);
	uint32_t np = 1 + gen_below(&g, 3), no = 1 + gen_below(&g, 3);
	gen_add(&s, hop_build_param(&s.b, gen_float(&g)));
	for (int i = 0; i < o->nsym; i++) {        /* a size is found from a shape */
		hop_size sym = hop_size_sym(e, i);
		gen_add(&s, hop_build_param(&s.b, hop_type_get(e, HOP_f64, 1, &sym)));
	}
	for (uint32_t i = 0; i < np; i++)
		gen_add(&s, hop_build_param(&s.b, gen_type(&g)));
	gen_steps(&s, o->steps);
	if (s.b.st)
		no = 0;
	/* the newest values, a float first: little of the program is in vain */
	size_t at = s.n;
	while (at && !is_float(type_of(&s, s.pool[at - 1])))
		at--;
	if (no)
		out[0] = at ? s.pool[at - 1] : gen_want(&s, gen_float(&g));
	for (uint32_t i = 1; i < no; i++)
		out[i] = s.n > i ? s.pool[s.n - i] : gen_any(&s);
	hop_status st = hop_seal(&s.b, no, out, "f", out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

double gen_eps(const hop_graph *g)
{
	double eps = 0, in;
	for (uint32_t v = 0; v < g->nvalue; v++) {
		const hop_drow *r = hop_dtype_row((hop_dtype)g->type[v]->dtype);
		eps = r->man && ldexp(1, -r->man) > eps ? ldexp(1, -r->man) : eps;
	}
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		for (int64_t k = 0; k < sub.n; k++)
			if (sub.v[k] && (in = gen_eps(sub.v[k])) > eps)
				eps = in;
	}
	return eps;
}

bool gen_has_f32(const hop_graph *g)
{
	return gen_eps(g) >= 0x1p-23;
}
