/* program_size.c -- random programs: sizes. Constants and expressions of size parameters for
 * types; ops whose sizes fit only sometimes, so that the program has something to refuse;
 * sizes made from data. */
#include "support/program.h"

#include "ir/rule.h"

static hop_size symbol(gen *g)
{
	return hop_size_sym(g->e, (int)gen_below(g, (uint32_t)g->o->nsym));
}

static hop_size plus(gen *g, hop_size a, int64_t k)
{
	return hop_size_add(g->e, a, hop_size_int(k));
}

hop_size gen_size(gen *g)
{
	if (g->o->nsym && !gen_below(g, 3)) {
		hop_size n = symbol(g);
		switch (gen_below(g, 8)) {
		case 0:  return plus(g, n, 1);
		case 1:  return hop_size_mul(g->e, n, hop_size_int(2));
		case 2:  return hop_size_div(g->e, n, hop_size_int(2));
		default: return n;
		}
	}
	if (g->o->wide && !gen_below(g, 8))
		return hop_size_int(gen_below(g, 68));
	return hop_size_int(gen_below(g, 6) ? 2 + gen_below(g, 2) : 1);
}

/* Something that may be larger or smaller than another size, or negative. */
static hop_size any_size(gen *g)
{
	if (!g->o->nsym || gen_below(g, 2))
		return hop_size_int(gen_below(g, 8));
	hop_size n = symbol(g);
	switch (gen_below(g, 5)) {
	case 0:  return plus(g, n, -(int64_t)(1 + gen_below(g, 3)));
	case 1:  return hop_size_sub(g->e, n, symbol(g));
	case 2:  return hop_size_min(g->e, n, hop_size_int(gen_below(g, 9)));
	case 3:  return plus(g, n, gen_below(g, 3));
	default: return n;
	}
}

hop_val gen_guard(gen_scope *s)
{
	hop_val a = hop_emit_size(&s->b, any_size(s->g)), b = hop_emit_size(&s->b, any_size(s->g));
	return s->b.st ? HOP_BAD : hop_emit(&s->b, le, a, b);
}

/* A float with an axis to cut; its axes keep small. */
static hop_val long_one(gen_scope *s)
{
	hop_val v = gen_any_float(s);
	if (s->b.st || (hop_typeof(&s->b, v)->rank && gen_count(hop_typeof(&s->b, v)) < 300))
		return v;
	hop_size n = s->g->o->nsym ? symbol(s->g) : hop_size_int(5);
	return gen_want(s, hop_type_get(s->g->e, HOP_f64, 1, &n));
}

static hop_val window(gen_scope *s, hop_val x, bool pad)
{
	gen *g = s->g;
	const hop_type *t = hop_typeof(&s->b, x);
	hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK];
	int64_t step[HOP_MAXRANK];
	int k = (int)gen_below(g, t->rank);
	for (int i = 0; i < t->rank; i++) {
		start[i] = hop_size_int(0);
		dim[i] = t->dim[i];
		step[i] = 1;
	}
	static const int64_t steps[] = { 1, 1, 1, 2, -1, -2 };
	step[k] = steps[gen_below(g, 6)];
	dim[k] = any_size(g);
	hop_size span = hop_size_mul(g->e, hop_size_sub(g->e, pad ? t->dim[k] : dim[k],
	                                                hop_size_int(1)), hop_size_int(-step[k]));
	start[k] = hop_size_int(gen_below(g, 4));
	if (step[k] < 0)
		start[k] = hop_size_add(g->e, start[k], span);
	if (pad)
		return hop_emit_pad(&s->b, x, start, dim, step);
	return hop_emit_slice(&s->b, x, start, dim, step);
}

static hop_val moving(gen_scope *s, hop_val x, bool update)
{
	gen *g = s->g;
	const hop_type *t = hop_typeof(&s->b, x), *i64 = hop_type_scalar(g->e, HOP_i64);
	hop_size dim[HOP_MAXRANK];
	hop_val in[2 + HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++) {
		dim[i] = t->dim[i];
		in[2 + i] = gen_want(s, i64);
	}
	dim[gen_below(g, t->rank)] = any_size(g);
	struct hop_attr_dynslice a = { .dims = { t->rank, dim } };
	if (!update) {
		in[1] = x;
		return hop_emit_op(&s->b, HOP_OP_dynslice, &a, 1 + t->rank, in + 1);
	}
	in[0] = x;
	in[1] = gen_want(s, hop_type_get(g->e, (hop_dtype)t->dtype, t->rank, dim));
	return s->b.st ? HOP_BAD : hop_emit_op(&s->b, HOP_OP_dynupdate, NULL, 2 + t->rank, in);
}

/* Two shapes that may be equal. */
static hop_val meeting(gen_scope *s, hop_val x)
{
	gen *g = s->g;
	const hop_type *t = hop_typeof(&s->b, x);
	hop_size dim[HOP_MAXRANK];
	static const int64_t zero[] = { 0 };
	hop_ints none = { 0, NULL }, first = { 1, zero };
	for (int i = 0; i < t->rank; i++)
		dim[i] = t->dim[i];
	dim[gen_below(g, t->rank)] = any_size(g);
	const hop_type *u = hop_type_get(g->e, (hop_dtype)t->dtype, t->rank, dim);
	switch (gen_below(g, 4)) {
	case 0:
		return hop_emit_reshape(&s->b, x, t->rank, dim);
	case 1:
		x = hop_emit_dot(&s->b, x, gen_want(s, u), none, none, first, first);
		return gen_tame(s, x);
	case 2:
		return hop_emit_concat(&s->b, 2, (const hop_val[]){ x, gen_want(s, u) }, 0);
	default:
		break;
	}
	hop_val y = gen_want(s, u);
	return s->b.st ? HOP_BAD : hop_emit(&s->b, add, x, y);
}

hop_val gen_risky(gen_scope *s)
{
	hop_val x = long_one(s), y = HOP_BAD;
	if (s->b.st)
		return HOP_BAD;
	switch (gen_below(s->g, 6)) {
	case 0:  y = window(s, x, false); break;
	case 1:  y = window(s, x, true); break;
	case 2:  y = moving(s, x, false); break;
	case 3:  y = moving(s, x, true); break;
	default: y = meeting(s, x); break;
	}
	/* what is known not to fit is no program */
	if (s->b.st == HOP_ESHAPE) {
		s->b.st = HOP_OK;
		hop_diag_clear(s->g->e);
		y = x;
	}
	return y;
}

hop_val gen_local(gen_scope *s)
{
	gen *g = s->g;
	hop_env *e = g->e;
	int64_t lo = gen_below(g, 3), hi = lo + gen_below(g, 20), axis = 0;
	hop_val k = gen_want(s, hop_type_scalar(e, HOP_i64)), x = long_one(s), y;
	if (s->b.st)
		return HOP_BAD;
	int sym = hop_build_local(&s->b, (hop_range){ lo, hi }, NULL);
	struct hop_attr_as_size a = { .min = lo, .max = hi, .sym = sym };
	hop_emit_op(&s->b, HOP_OP_as_size, &a, 1, &k);
	hop_size n = hop_size_sym(e, sym), zero[HOP_MAXRANK], dim[HOP_MAXRANK];
	y = hop_emit_iota(&s->b, HOP_f64, 1, &n, 0);
	const hop_type *t = hop_typeof(&s->b, x);
	if (!s->b.st && g->risks && t->rank == 1 && t->dtype == HOP_f64 && gen_below(g, 2)) {
		g->risks--;
		zero[0] = hop_size_int(0);
		dim[0] = n;
		if (gen_below(g, 2))
			y = hop_emit(&s->b, add, y, x);
		else
			y = hop_emit_slice(&s->b, x, zero, dim, NULL);
		if (s->b.st == HOP_ESHAPE) {
			s->b.st = HOP_OK;
			hop_diag_clear(e);
			return x;
		}
	}
	return gen_tame(s, hop_emit_sum(&s->b, s->b.st ? HOP_BAD : hop_emit(&s->b, sin, y), 1,
	                                &axis));
}

bool gen_loops(const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		if (g->node[i].op == HOP_OP_scan && !hop_size_const(HOP_ATTR(&g->node[i], scan)->length))
			return true;
		for (int64_t k = 0; k < sub.n; k++)
			if (sub.v[k] && gen_loops(sub.v[k]))
				return true;
	}
	return false;
}

uint32_t gen_weight(const hop_graph *g, uint32_t most)
{
	uint32_t n = g->nnode;
	for (uint32_t i = 0; i < g->nnode && n < most; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		for (int64_t k = 0; k < sub.n; k++)
			n += sub.v[k] ? gen_weight(sub.v[k], most) : 0;
	}
	return n;
}
