/* pipeline.h -- the passes by name. What a pass does is not here: one file each. */
#ifndef HOP_PIPELINE_H
#define HOP_PIPELINE_H

#include "ir/graph.h"

/* Graph to graph. *out_g is borrowed from the context; it may be g itself. */
typedef hop_status hop_pass_fn(hop_env *e, const hop_graph *g, const hop_graph **out_g);

typedef struct hop_pass {
	const char  *name;
	hop_pass_fn *run;
	bool         always;       /* every compilation runs it, in the table's order */
	const char  *help;         /* one line */
} hop_pass;

const hop_pass *hop_pass_find(const char *name);      /* NULL = none */
const hop_pass *hop_pass_at(size_t i);                /* NULL past the last */

#endif
