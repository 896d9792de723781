/* program_assoc.c -- random programs: associative_scan and reduce, whose combines are associative by
 * what they are. What is random in a combine depends on captured values only. */
#include <string.h>

#include "hops/hops.h"
#include "support/program.h"

enum law { SUM, MOST, LEAST, PAIR, GROUP, PRODUCT, LOG_SUM, NLAW };

static hop_val scaled(hop_build *b, hop_val x, double k)
{
	return b->st ? HOP_BAD : hop_emit(b, mul, x, hop_emit_full(b, hop_typeof(b, x), k));
}

/* l o r; in: all left leaves, then all right ones. */
static void joined(gen_scope *c, enum law law, const hop_val *in, hop_val *out)
{
	hop_build *b = &c->b;
	hop_val l = in[0], r = in[1], g;
	const int64_t one = 1, zero = 0;
	if (b->st)
		return;
	switch (law) {
	case SUM:
		out[0] = hop_emit(b, add, l, r);
		return;
	case MOST:
		out[0] = hop_emit(b, max, l, r);
		return;
	case LEAST:
		out[0] = hop_emit(b, min, l, r);
		return;
	case PAIR:                             /* x -> c (a x + b) + d */
		out[0] = hop_emit(b, mul, in[0], in[2]);
		out[1] = hop_emit(b, add, hop_emit(b, mul, in[1], in[2]), in[3]);
		return;
	case GROUP:                            /* with any g; a small one, since (1 + g)^n grows */
		g = scaled(b, gen_tame(c, gen_want(c, hop_typeof(b, l))), 0.05);
		out[0] = hop_emit(b, add, hop_emit(b, add, l, r),
		                  hop_emit(b, mul, g, hop_emit(b, mul, l, r)));
		return;
	case PRODUCT:                          /* half of it, which no length makes grow */
		out[0] = hop_emit_dot(b, l, r, (hop_ints){ 0, NULL }, (hop_ints){ 0, NULL },
		                      (hop_ints){ 1, &one }, (hop_ints){ 1, &zero });
		out[0] = scaled(b, out[0], 0.5);
		return;
	default:
		out[0] = hop_emit(b, log, hop_emit(b, add, hop_emit(b, exp, l), hop_emit(b, exp, r)));
	}
}

/* Parameters: leaves twice, which the random part does not see; then what is captured. */
static hop_status combine(gen_scope *s, enum law law, uint32_t nx, const hop_type *t, uint32_t nk,
                          const hop_val *konst, hop_graph **out_g)
{
	gen_opts quiet = *s->g->o;
	const gen_opts *old = s->g->o;
	hop_val in[4], out[2];
	gen_scope c;
	quiet.effects = false;                 /* a combine has none */
	s->g->o = &quiet;
	gen_body_open(&c, s);
	for (uint32_t i = 0; i < 2 * nx; i++)
		in[i] = hop_build_param(&c.b, t);
	gen_body_take(&c, s, nk, konst);
	if (law == GROUP && nk)
		gen_steps(&c, 1 + (int)gen_below(s->g, 3));
	if (!c.n)
		gen_add(&c, hop_emit_const_f(&c.b, HOP_f64, 0.3));
	joined(&c, law, in, out);
	hop_status st = gen_body_close(s, &c, nx, out, out_g);
	s->g->o = old;
	return st;
}

void gen_assoc(gen_scope *s)
{
	gen *g = s->g;
	enum law law = (enum law)gen_below(g, NLAW);
	uint32_t nx = law == PAIR ? 2 : 1, n = 0;
	const hop_size two[2] = { hop_size_int(2), hop_size_int(2) };
	const hop_type *t = law == PRODUCT ? hop_type_get(g->e, HOP_f64, 2, two)
	                  : law <= LEAST ? gen_type(g) : gen_float(g);
	hop_size length = hop_size_int(gen_below(g, 6));
	hop_val in[4 + GEN_IN], konst[GEN_IN], out[2];
	hop_graph *body;
	if (law == SUM && t->dtype == HOP_bool)
		law = MOST;
	if (g->o->nsym && gen_below(g, 2))
		length = hop_size_sym(g->e, (int)gen_below(g, (uint32_t)g->o->nsym));
	hop_assoc a = { .length = length, .nx = nx, .whole = !gen_below(g, 3),
	                .nk = gen_capture(s, konst) };
	a.ninit = a.whole || gen_below(g, 2) ? nx : 0;
	a.reverse = !a.whole && gen_below(g, 2);
	a.exclusive = !a.whole && a.ninit && gen_below(g, 2);
	for (uint32_t i = 0; i < a.ninit; i++)
		in[n++] = gen_tame(s, gen_want(s, t));
	for (uint32_t i = 0; i < nx; i++)
		in[n++] = gen_tame(s, gen_want(s, hop_type_prepend(g->e, t, length)));
	memcpy(in + n, konst, a.nk * sizeof *in);
	if (s->b.st || combine(s, law, nx, t, a.nk, konst, &body))
		return;
	a.combine = body;
	a.sargs = gen_sargs(s);
	if (hop_emit_assoc(&s->b, &a, in, out))
		return;
	for (uint32_t i = 0; i < nx; i++)
		gen_add(s, gen_tame(s, out[i]));
}
