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

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t r = a % b;
		a = b;
		b = r;
	}
	return a;
}

/* Banned nodes that a smaller budget may let be computed again, and the bytes of their results. */
static uint32_t find_items(const hop_cutter *c, uint32_t *item, int64_t *bytes)
{
	const hop_graph *j = c->j;
	const bool *upstream = find_upstream(c);
	uint32_t n = 0;
	for (uint32_t i = 0; i < j->nnode; i++) {
		const hop_node *d = &j->node[i];
		if (!c->banned[i] || !upstream[i] || hop_cut_once(c, d))
			continue;
		for (uint32_t k = 0; k < d->nout; k++) {
			uint32_t v = d->out0.id + k;
			bytes[n] += hop_cut_pinned(c, v) ? 0 : hop_cut_cost(c, v);
		}
		item[n++] = i;
	}
	return n;
}

/* Choose which of the banned nodes to keep banned: a 0/1 knapsack over the bytes of their results,
 * maximising the work not done again. It counts in what all of them are multiples of, so that equal
 * layers fill their share exactly, but in no less than 1/1000th of the room. */
static void knapsack(hop_cutter *c, int64_t room)
{
	enum { GRID = 1000 };
	const hop_graph *j = c->j;
	uint32_t *item = HOP_NEWN(&c->env->tmp, uint32_t, j->nnode);
	int64_t *bytes = HOP_NEWN(&c->env->tmp, int64_t, j->nnode), unit = 0;
	uint32_t n = find_items(c, item, bytes);
	for (uint32_t i = 0; i < n; i++)
		unit = gcd(bytes[i], unit);
	if (!unit || room / unit > GRID)
		unit = room / GRID + 1;
	int64_t cells = room / unit;
	double *best = HOP_NEWN(&c->env->tmp, double, cells + 1);
	uint8_t *take = HOP_NEWN(&c->env->tmp, uint8_t, (size_t)n * (size_t)(cells + 1));
	for (uint32_t i = 0; i < n; i++) {
		int64_t weight = bytes[i] = bytes[i] / unit + (bytes[i] % unit != 0);
		double value = hop_work_node(c->env, j, &j->node[item[i]]);
		for (int64_t w = cells; w >= weight; w--)
			if (best[w - weight] + value > best[w]) {
				best[w] = best[w - weight] + value;
				take[(size_t)i * (size_t)(cells + 1) + (size_t)w] = 1;
			}
	}
	int64_t w = cells;
	for (uint32_t i = n; i-- > 0; ) {
		c->banned[item[i]] = take[(size_t)i * (size_t)(cells + 1) + (size_t)w];
		if (c->banned[item[i]])
			w -= bytes[i];
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
