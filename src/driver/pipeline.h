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

/* Called after each pass with what it made and how long it took. */
typedef void hop_pass_hook(void *user, const hop_pass *p, const hop_graph *g, double seconds);

/* Run every pass that is `always`. With the environment variable HOP_DUMP=name,name the
 * graph is printed on standard error after those passes ("all" names every one). */
hop_status hop_pipeline_run(hop_env *e, const hop_graph *g, const hop_graph **out_g);
hop_status hop_pipeline_watch(hop_env *e, const hop_graph *g, hop_pass_hook *hook, void *user,
                              const hop_graph **out_g);

/* The transforms as passes: every float parameter is differentiated, every parameter
 * batched. grad: result 0 and its gradients. */
hop_pass_fn hop_pass_grad, hop_pass_vjp, hop_pass_jvp, hop_pass_vmap, hop_pass_vmap_any;

#endif
