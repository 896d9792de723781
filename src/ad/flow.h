/* flow.h -- maximum flow, for the partitioner. Knows nothing of graphs of ops. */
#ifndef HOP_FLOW_H
#define HOP_FLOW_H

#include "base/base.h"

#define HOP_FLOW_INF ((int64_t)1 << 60)

typedef struct hop_flow {
	hop_arena *a;
	int        nvert, nedge;
	size_t     cap;
	struct hop_edge { int to, next; int64_t room; } *edge;   /* i and i^1 are a pair */
	int       *head, *level, *iter, *queue;
} hop_flow;

void hop_flow_init(hop_flow *f, hop_arena *a, int nvert);
void hop_flow_edge(hop_flow *f, int from, int to, int64_t cap);
/* Dinic's algorithm. Returns the flow; afterwards in_sink[v] says which vertices still
 * reach t, so that the cut nearest to t is between the rest and them. */
int64_t hop_flow_run(hop_flow *f, int s, int t, bool *in_sink);

#endif
