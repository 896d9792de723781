/* flow.c -- Dinic's maximum flow (1970): level graphs and blocking flows, with an explicit
 * stack, since the graphs are as deep as the programs. */
#include "ad/flow.h"

#include <string.h>

void hop_flow_init(hop_flow *f, hop_arena *a, int nvert)
{
	memset(f, 0, sizeof *f);
	f->a = a;
	f->nvert = nvert;
	f->head = HOP_NEWN(a, int, nvert);
	f->level = HOP_NEWN(a, int, nvert);
	f->iter = HOP_NEWN(a, int, nvert);
	f->queue = HOP_NEWN(a, int, nvert);
	for (int i = 0; i < nvert; i++)
		f->head[i] = -1;
}

static void half(hop_flow *f, int from, int to, int64_t cap)
{
	f->edge = hop_arena_grow(f->a, f->edge, sizeof *f->edge, (size_t)f->nedge + 1, &f->cap);
	f->edge[f->nedge] = (struct hop_edge){ to, f->head[from], cap };
	f->head[from] = f->nedge++;
}

void hop_flow_edge(hop_flow *f, int from, int to, int64_t cap)
{
	half(f, from, to, cap);
	half(f, to, from, 0);
}

static bool find_levels(hop_flow *f, int s, int t)
{
	int n = 0;
	for (int i = 0; i < f->nvert; i++)
		f->level[i] = -1;
	f->level[s] = 0;
	f->queue[n++] = s;
	for (int q = 0; q < n; q++)
		for (int e = f->head[f->queue[q]]; e >= 0; e = f->edge[e].next)
			if (f->edge[e].room > 0 && f->level[f->edge[e].to] < 0) {
				f->level[f->edge[e].to] = f->level[f->queue[q]] + 1;
				f->queue[n++] = f->edge[e].to;
			}
	return f->level[t] >= 0;
}

/* One augmenting path in the level graph; 0 when there is none. The path's edges are kept
 * in queue, which find_levels no longer needs. */
static int64_t augment(hop_flow *f, int s, int t)
{
	int v = s, n = 0;
	while (v != t) {
		int e = f->iter[v];
		while (e >= 0 && !(f->edge[e].room > 0 &&
		                   f->level[f->edge[e].to] == f->level[v] + 1))
			e = f->edge[e].next;
		f->iter[v] = e;
		if (e >= 0) {
			f->queue[n++] = e;
			v = f->edge[e].to;
			continue;
		}
		if (v == s)
			return 0;
		v = f->edge[f->queue[--n] ^ 1].to;        /* back, and past the dead edge */
		f->iter[v] = f->edge[f->iter[v]].next;
	}
	int64_t push = HOP_FLOW_INF;
	for (int i = 0; i < n; i++)
		if (f->edge[f->queue[i]].room < push)
			push = f->edge[f->queue[i]].room;
	for (int i = 0; i < n; i++) {
		f->edge[f->queue[i]].room -= push;
		f->edge[f->queue[i] ^ 1].room += push;
	}
	return push;
}

int64_t hop_flow_run(hop_flow *f, int s, int t, bool *in_sink)
{
	int64_t total = 0, push;
	while (total < HOP_FLOW_INF && find_levels(f, s, t)) {
		memcpy(f->iter, f->head, (size_t)f->nvert * sizeof *f->iter);
		while (total < HOP_FLOW_INF && (push = augment(f, s, t)) > 0)
			total += push;
	}
	int n = 0;
	memset(in_sink, 0, (size_t)f->nvert * sizeof *in_sink);
	in_sink[t] = true;
	f->queue[n++] = t;
	for (int q = 0; q < n; q++)          /* against the edges: who still reaches t */
		for (int e = f->head[f->queue[q]]; e >= 0; e = f->edge[e].next)
			if (f->edge[e ^ 1].room > 0 && !in_sink[f->edge[e].to]) {
				in_sink[f->edge[e].to] = true;
				f->queue[n++] = f->edge[e].to;
			}
	return total;
}
