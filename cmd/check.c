/* check.c -- hop check: does the text read, and do its graphs hold together? Prints no
 * graph. */
#include "cmd.h"

#include <stdio.h>

hop_status cmd_check(cmd *c)
{
	size_t nodes = 0;
	while (cmd_more(c))
		HOP_TRY(cmd_other(c));
	HOP_TRY(cmd_load(c));
	hop_graph *g;
	if (c->graph)
		HOP_TRY(cmd_pick(c, &g));
	for (uint32_t i = 0; i < c->m->n; i++)
		nodes += c->m->entry[i].g->nnode;
	printf("%u graphs, %zu nodes: ok\n", c->m->n, nodes);
	return HOP_OK;
}
