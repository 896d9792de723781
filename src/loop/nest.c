/* nest.c -- how long a nest takes, for whoever must ask between nests whether to go on. */
#include "loop/loop.h"

/* How often a size that is not known may be: no more than this is nothing to wait for. */
static double times(hop_size s)
{
	return hop_size_const(s) ? (double)s.k : 4096;
}

/* Statements that a nest runs, about. */
static double work(const hop_stmt *s)
{
	double n = 1;
	for (int i = 0; s->kind == HOP_L_TILE && i < s->tile->of->nextent; i++)
		n *= times(s->tile->extent[i]);
	if (s->kind != HOP_L_LOOP)
		return n;
	for (const hop_stmt *q = s->body.first; q; q = q->next)
		n += work(q);
	return n * times(s->extent);
}

bool hop_stmt_is_nest(const hop_stmt *s)
{
	return s->kind == HOP_L_TILE || (s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ);
}

bool hop_nest_is_long(const hop_stmt *s)
{
	return hop_stmt_is_nest(s) && work(s) > 1e6;
}

bool hop_block_steps(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ))
			return true;
	return false;
}
