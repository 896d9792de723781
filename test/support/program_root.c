/* program_root.c -- random programs: root and linear_solve. The equations are s(c) x = w(c), with s
 * between 1 and 2, so that their solvers are divisions and always right; what is inside s and w is
 * drawn. */
#include "support/program.h"

#include "hops/body.h"

/* One body: takes `lead` values of type t and then g's parameters; s and w are made of g's two
 * results. */
struct body {
	hop_build b;
	hop_val   lead[2], s, w;
};

static void open_body(struct body *y, hop_env *e, const hop_graph *g, uint32_t lead)
{
	hop_val in[GEN_IN], out[2];
	hop_body_open(&y->b, e, g);
	const hop_type *t = hop_graph_out_type(g, 0);
	for (uint32_t i = 0; i < lead; i++)
		y->lead[i] = hop_build_param(&y->b, t);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&y->b, g->type[i]);
	if (hop_body_inline(&y->b, g, in, out))
		return;
	hop_val half = hop_emit_full(&y->b, t, 0.5), more = hop_emit_full(&y->b, t, 1.5);
	y->s = hop_emit(&y->b, add, more, hop_emit(&y->b, mul, half, hop_emit(&y->b, sin, out[0])));
	y->w = hop_emit(&y->b, tanh, out[1]);
}

/* s x - w, or s x. */
static hop_status make_f(hop_env *e, const hop_graph *g, bool linear, hop_graph **out_g)
{
	struct body y;
	open_body(&y, e, g, 1);
	hop_val v = y.b.st ? HOP_BAD : hop_emit(&y.b, mul, y.s, y.lead[0]);
	if (!linear && !y.b.st)
		v = hop_emit(&y.b, sub, v, y.w);
	return hop_seal(&y.b, 1, &v, NULL, out_g);
}

/* What it is asked for, divided by s: w, or its first parameter. */
static hop_status make_solver(hop_env *e, const hop_graph *g, uint32_t lead, bool own,
                              hop_graph **out_g)
{
	struct body y;
	hop_val out[2];
	open_body(&y, e, g, lead);
	out[0] = y.b.st ? HOP_BAD : hop_emit(&y.b, div, own ? y.w : y.lead[0], y.s);
	out[1] = hop_emit_const_i(&y.b, HOP_i64, 0);
	return hop_seal(&y.b, 2, out, NULL, out_g);
}

static void make(gen_scope *s, bool linear)
{
	hop_env *e = s->g->e;
	hop_val in[GEN_IN + 1];
	const hop_type *t = gen_float(s->g), *two[2] = { t, t };
	hop_graph *g, *f, *solve, *tangent, *turned = NULL;
	uint32_t n = gen_capture(s, in + 1);
	in[0] = gen_want(s, t);
	if (gen_body(s, n, in + 1, 2, two, &g) || s->b.st)
		return;
	hop_status st = make_f(e, g, linear, &f);
	st = st ? st : make_solver(e, g, 1, !linear, &solve);
	st = st ? st : make_solver(e, g, linear ? 1 : 2, false, &tangent);
	if (!st && gen_below(s->g, 2))
		st = make_solver(e, g, linear ? 1 : 2, false, &turned);
	if (st) {
		s->b.st = st;
		return;
	}
	struct hop_attr_root r = { .nx = 1, .sargs = gen_sargs(s), .f = f, .solve = solve,
	                           .tangent = tangent, .cotangent = turned };
	struct hop_attr_linear_solve l = { .nb = 1, .transposed = turned && gen_below(s->g, 2),
	                                   .sargs = gen_sargs(s), .matvec = f, .solve = solve,
	                                   .tsolve = turned };
	hop_val v = linear ? hop_emit_op(&s->b, HOP_OP_linear_solve, &l, n + 1, in)
	                   : hop_emit_op(&s->b, HOP_OP_root, &r, n + 1, in);
	for (uint32_t i = 0; i < 2 && !s->b.st; i++)
		gen_add(s, (hop_val){ v.id + i });
}

void gen_root(gen_scope *s)
{
	make(s, false);
}

void gen_linear_solve(gen_scope *s)
{
	make(s, true);
}
