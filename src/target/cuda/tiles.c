/* tiles.c -- templates on a device: those with code of their own, and the loops that the others stand
 * for. The schedule has given other templates than products as loops before. */
#include "target/cuda/emit.h"
#include "target/tiles.h"

/* A loop that is nothing but another one. */
static hop_stmt *only(const hop_stmt *s)
{
	hop_stmt *q = s->body.first;
	return q && !q->next && q->kind == HOP_L_LOOP && q->loop == HOP_LOOP_PAR ? q : NULL;
}

/* Threads share the longer of the two outermost loops. */
static void bind(hop_block *b, uint8_t place)
{
	hop_stmt *s = b->first, *in;
	while (s && s->kind == HOP_L_OP)
		s = s->next;
	if (!place || !s || s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_PAR)
		return;
	in = only(s);
	if (in && hop_size_const(s->extent) && (!hop_size_const(in->extent) || in->extent.k > s->extent.k))
		s = in;
	s->bind.place = place;
}

void hop_cuda_tile(hop_cuemit *e, const hop_stmt *s)
{
	hop_block b;
	if (s->tile->of == &hop_template_gemm && hop_cuda_gemm(e, s))
		return;
	HOP_ASSERT(s->tile->of->nreg <= HOP_C_OWN);
	if (!hop_tile_expand(e->env, s->tile, e->f->nreg, &b)) {
		hop_cuda_refuse(e, s, hop_c_text(e, "no code for the template %s", s->tile->of->name));
		return;
	}
	bind(&b, s->bind.place);
	hop_c_live_own(e, &b);
	hop_c_brace(e);
	hop_cuda_block(e, &b);
	hop_c_close(e);
}
