/* copy.c -- statements once more, with all that is in them: for passes that make several functions of
 * one. Registers and buffers keep their numbers. */
#include "loop/device.h"

#include <string.h>

static void *again(hop_arena *a, const void *p, int n, size_t size)
{
	void *q = n ? hop_arena_alloc(a, (size_t)n * size) : NULL;
	if (n)
		memcpy(q, p, (size_t)n * size);
	return q;
}

static void copy_terms(hop_arena *a, hop_addr *x)
{
	x->term = again(a, x->term, x->nterm, sizeof *x->term);
}

static hop_tile *copy_tile(hop_arena *a, const hop_tile *t)
{
	hop_tile *n = again(a, t, 1, sizeof *t);
	for (int i = 0; i < HOP_TILE_ARGS; i++)
		copy_terms(a, &n->arg[i].at);
	for (int i = 0; i < HOP_TILE_HOLES; i++)
		n->hole[i].body = hop_block_copy(a, &t->hole[i].body);
	return n;
}

hop_stmt *hop_stmt_copy(hop_arena *a, const hop_stmt *s)
{
	hop_stmt *n = again(a, s, 1, sizeof *s);
	n->next = NULL;
	if (s->kind == HOP_L_OP && hop_sop_memory(s->sop))
		copy_terms(a, &n->u.addr);
	if (s->kind == HOP_L_TILE) {
		n->tile = copy_tile(a, s->tile);
	} else if (s->kind == HOP_L_CALL || s->kind == HOP_L_EFFECT) {
		n->args = again(a, s->args, s->narg, sizeof *s->args);
		n->sizes = again(a, s->sizes, s->nsize, sizeof *s->sizes);
		for (int i = 0; i < s->narg; i++)
			copy_terms(a, &n->args[i]);
	} else if (s->kind == HOP_L_LOOP && s->nacc) {
		n->acc = again(a, s->acc, s->nacc, sizeof *s->acc);
	} else if (s->ncarry) {
		n->carry = again(a, s->carry, s->ncarry, sizeof *s->carry);
	}
	n->body = hop_block_copy(a, &s->body);
	n->other = hop_block_copy(a, &s->other);
	return n;
}

hop_block hop_block_copy(hop_arena *a, const hop_block *b)
{
	hop_block n = { 0 };
	for (const hop_stmt *s = b->first; s; s = s->next)
		hop_block_append(&n, hop_stmt_copy(a, s));
	return n;
}
