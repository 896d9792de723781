/* parts.c -- what a program is made of: for each function how often it is called and how many nests
 * it has. Says nothing of what they compute. */
#include "loop/parts.h"

/* Loops whose iterations have no order, and templates, by the outermost of each. */
static void count(const hop_prog *p, hop_block *b, int *nests, int *calls)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int n = hop_stmt_blocks(s, sub);
		bool nest = s->kind == HOP_L_TILE || (s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ);
		*nests += nest;
		if (s->kind == HOP_L_CALL)
			calls[s->callee]++;
		for (int i = 0; i < n; i++) {
			int inner = 0;
			count(p, sub[i], nest ? &inner : nests, calls);
		}
	}
}

void hop_prog_parts(const hop_prog *p, int *nests, int *calls)
{
	for (int i = 0; i < p->nfunc; i++)
		nests[i] = calls[i] = 0;
	for (int i = 0; i < p->nfunc; i++)
		count(p, (hop_block *)(uintptr_t)&p->func[i].body, &nests[i], calls);
}
