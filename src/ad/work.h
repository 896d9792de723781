/* work.h -- how much is computed. */
#ifndef HOP_WORK_H
#define HOP_WORK_H

#include "ir/graph.h"

double hop_work_node(hop_env *e, const hop_graph *g, const hop_node *n);
double hop_work_graph(hop_env *e, const hop_graph *g);

#endif
