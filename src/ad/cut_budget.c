/* cut_budget.c -- a cut in a share of the memory: which of the values that are worth saving are
 * saved. */
#include "ad/cut.h"
#include "ad/flow.h"
#include "ad/work.h"

#include <string.h>

/* Forward nodes that the backward half depends on, directly or not. */
static bool *find_upstream(const hop_cutter *c)
{
	const hop_graph *j = c->j;
	bool *value = HOP_NEWN(&c->env->tmp, bool, j->nvalue);
	bool *node = HOP_NEWN(&c->env->tmp, bool, j->nnode);
	memcpy(value, c->needed, j->nvalue * sizeof *value);
	for (uint32_t i = j->nnode; i-- > 0; ) {
		const hop_node *n = &j->node[i];
		for (uint32_t k = 0; k < n->nout; k++)
			node[i] |= value[n->out0.id + k];
		for (uint32_t k = 0; node[i] && k < n->nin; k++)
			value[n->in[k].id] = true;
	}
	return node;
}

/* Choose which of the banned nodes to keep banned: a 0/1 knapsack over the bytes of their
 * results, in 1/1000ths of the budget, maximising the work not done again. */
static void knapsack(hop_cutter *c, int64_t room)
{
	enum { GRID = 1000 };
	const hop_graph *j = c->j;
	uint32_t *item = HOP_NEWN(&c->env->tmp, uint32_t, j->nnode), n = 0;
	const bool *upstream = find_upstream(c);
	for (uint32_t i = 0; i < j->nnode; i++)
		if (c->banned[i] && upstream[i] && !hop_cut_once(&j->node[i]))
			item[n++] = i;
	int64_t *best = HOP_NEWN(&c->env->tmp, int64_t, GRID + 1);
	uint8_t *take = HOP_NEWN(&c->env->tmp, uint8_t, (size_t)n * (GRID + 1));
	int *weight = HOP_NEWN(&c->env->tmp, int, n);
	for (uint32_t i = 0; i < n; i++) {
		const hop_node *d = &j->node[item[i]];
		int64_t bytes = 0, value = (int64_t)hop_work_node(c->env, j, d);
		for (uint32_t k = 0; k < d->nout; k++)
			bytes += hop_cut_cost(c, d->out0.id + k);
		weight[i] = room ? (int)(bytes >= room ? (bytes == room ? GRID : GRID + 1)
		                                       : (bytes * GRID + room - 1) / room)
		                 : bytes ? GRID + 1 : 0;
		for (int w = GRID; w >= weight[i]; w--)
			if (best[w - weight[i]] + value > best[w]) {
				best[w] = best[w - weight[i]] + value;
				take[(size_t)i * (GRID + 1) + (size_t)w] = 1;
			}
	}
	int w = GRID;
	for (uint32_t i = n; i-- > 0; ) {
		c->banned[item[i]] = take[(size_t)i * (GRID + 1) + (size_t)w];
		if (c->banned[item[i]])
			w -= weight[i];
	}
}

/* What is dear was saved; now some of it only, and what the others need instead must find room, too. */
bool hop_cut_budget(hop_cutter *c)
{
	enum { ROUNDS = 4 };
	int64_t room = (int64_t)(c->budget * (double)hop_cut_saved(c)), fill = room, was;
	bool *all = hop_arena_dup(&c->env->tmp, c->banned, c->j->nnode * sizeof *all);
	for (int i = 0; i < ROUNDS; i++) {
		memcpy(c->banned, all, c->j->nnode * sizeof *all);
		knapsack(c, fill);
		if (!hop_cut_min(c))
			return false;
		was = hop_cut_saved(c);
		if (was <= room)
			return true;
		fill = (int64_t)((double)fill * (double)room / (double)was * 0.95);
	}
	return true;
}
