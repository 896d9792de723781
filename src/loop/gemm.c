/* gemm.c -- the matrix product as a template: its description, and the product as plain
 * loops. Makes no tiles of registers: that is for targets. */
#include "loop/gemm.h"

enum { A, B, C };

hop_tile hop_gemm_tile(const hop_gemm *g)
{
	int c = (g->beta ? HOP_READ : 0) | (g->epilogue.first ? 0 : HOP_WRITE);
	hop_tile t = {
		.of = &hop_template_gemm, .dtype = g->dtype, .extent = { g->m, g->n, g->k },
		.arg = { [A] = { g->a, { g->as[0], g->as[1] }, HOP_READ, (int16_t)g->stored[0] },
		         [B] = { g->b, { g->bs[0], g->bs[1] }, HOP_READ, (int16_t)g->stored[1] },
		         [C] = { g->c, { g->cs[0], g->cs[1] }, (int16_t)c, 0 } },
		.hole = { { { g->em, g->en, g->ev }, g->epilogue } }
	};
	return t;
}

hop_gemm hop_gemm_of(const hop_tile *t)
{
	const hop_targ *a = &t->arg[A], *b = &t->arg[B], *c = &t->arg[C];
	const hop_hole *h = &t->hole[0];
	HOP_ASSERT(t->of == &hop_template_gemm);
	return (hop_gemm){ t->dtype, t->extent[0], t->extent[1], t->extent[2],
	                   a->at, b->at, c->at, { a->stride[0], a->stride[1] },
	                   { b->stride[0], b->stride[1] }, { c->stride[0], c->stride[1] },
	                   { a->stored, b->stored }, c->access & HOP_READ, h->reg[0], h->reg[1],
	                   h->reg[2], h->body };
}

hop_stmt *hop_l_gemm(hop_lbuild *b, const hop_gemm *g)
{
	hop_tile *t = HOP_NEW(b->a, hop_tile);
	*t = hop_gemm_tile(g);
	return hop_l_tile(b, t);
}

/* Copying columns that are apart together is as much code as the product. */
static int64_t weight(const hop_tile *t)
{
	return hop_size_is(t->arg[B].stride[1], 1) ? 80 : 160;
}

/* Small ones are plain loops to a target, and a call is nothing beside the others. */
static bool alone(const hop_tile *t)
{
	int64_t m = t->extent[0].k, n = t->extent[1].k, k = t->extent[2].k;
	return m > 1 && n >= 16 && k > 2 && (double)m * (double)n * (double)k >= 2048;
}

/* A product written by columns is the product of the transposed, written by rows. */
static void by_rows(hop_tile *t)
{
	hop_gemm g = hop_gemm_of(t), r = g;
	if (!hop_size_is(g.cs[0], 1) || hop_size_is(g.cs[1], 1) || g.epilogue.first)
		return;
	r.a = g.b;
	r.b = g.a;
	r.m = g.n;
	r.n = g.m;
	for (int i = 0; i < 2; i++) {
		r.as[i] = g.bs[!i];
		r.bs[i] = g.as[!i];
		r.cs[i] = g.cs[!i];
		r.stored[i] = g.stored[!i];
	}
	*t = hop_gemm_tile(&r);
}

/* ---- as loops ---- */

static bool add_term(hop_arena *a, hop_addr *x, hop_reg r, hop_size stride)
{
	if (x->nterm == HOP_MAXTERM)
		return false;
	hop_addr_add(a, x, r, stride);
	return true;
}

static hop_reg start(hop_lbuild *b, const hop_gemm *g, const hop_addr *c)
{
	return g->beta ? hop_l_load(b, g->dtype, c) : hop_l_constf(b, g->dtype, 0);
}

static hop_reg factor(hop_lbuild *b, const hop_gemm *g, int i)
{
	const hop_addr *at = i ? &g->b : &g->a;
	hop_reg x;
	if (!g->stored[i])
		return hop_l_load(b, g->dtype, at);
	x = hop_l_load(b, (hop_dtype)(g->stored[i] - 1), at);
	return hop_l_op(b, HOP_SOP_cast, g->dtype, 1, &x);
}

/* for m { for n { sum over k; epilogue } }. Not when an address has no room for two more
 * terms. */
static bool expand(hop_lbuild *b, const hop_tile *t)
{
	hop_gemm g = hop_gemm_of(t);
	hop_block *top = b->block;
	bool each = g.epilogue.first;
	hop_reg m = each ? g.em : hop_l_reg(b), n = each ? g.en : hop_l_reg(b);
	hop_reg k = hop_l_reg(b), sum = each ? g.ev : hop_l_reg(b), init, x[2];
	if (!add_term(b->a, &g.a, m, g.as[0]) || !add_term(b->a, &g.a, k, g.as[1]) ||
	    !add_term(b->a, &g.b, k, g.bs[0]) || !add_term(b->a, &g.b, n, g.bs[1]) ||
	    !add_term(b->a, &g.c, m, g.cs[0]) || !add_term(b->a, &g.c, n, g.cs[1]))
		return false;
	hop_l_loop(b, HOP_LOOP_PAR, g.m, m);
	hop_block *each_n = &hop_l_loop(b, HOP_LOOP_PAR, g.n, n)->body;
	init = start(b, &g, &g.c);
	hop_stmt *s = hop_l_loop(b, HOP_LOOP_RED, g.k, k);
	x[0] = factor(b, &g, 0);
	x[1] = factor(b, &g, 1);
	s->nacc = 1;
	s->acc = HOP_NEW(b->a, hop_acc);
	*s->acc = (hop_acc){ HOP_RED_add, g.dtype, init,
	                     hop_l_op(b, HOP_SOP_mul, g.dtype, 2, x), sum };
	b->block = each_n;
	if (each) {
		each_n->last->next = g.epilogue.first;
		each_n->last = g.epilogue.last;
	} else {
		hop_l_store(b, g.dtype, &g.c, sum);
	}
	b->block = top;
	return true;
}

const hop_template hop_template_gemm = {
	.name = "gemm", .func = "product", .on = HOP_ON_F, .nextent = 3, .narg = 3, .nhole = 1,
	.packs = true, .out = 1 + C,
	.arg = { [A] = { "a", 0, 2, { 0, 2 } }, [B] = { "b", 0, 2, { 2, 1 } },
	         [C] = { "c", 0, 2, { 0, 1 } } },
	.hole = { { 2, 1, { 0, 1 } } },
	.weight = weight, .alone = alone, .settle = by_rows, .nreg = 10, .expand = expand,
};
