/* pipeline.h -- the passes by name. What a pass does is not here: one file each. */
#ifndef HOP_PIPELINE_H
#define HOP_PIPELINE_H

#include "ir/graph.h"

/* Graph to graph. *out_g is borrowed from the context; it may be g itself. */
typedef hop_status hop_pass_fn(hop_env *e, const hop_graph *g, const hop_graph **out_g);

/* Arguments of a pass, as the command reads them: `vmap(axis=[0,none],n=8)`. What was not given is
 * not there. A number is a list of one that is not in brackets. */
enum hop_pass_key { HOP_ARG_WRT, HOP_ARG_RESULTS, HOP_ARG_AXIS, HOP_ARG_OUT, HOP_ARG_N,
                    HOP_ARG_CHUNK, HOP_ARG_HALF, HOP_NARG };
typedef struct hop_pass_arg {
	bool     given, list;
	int      n, at;                /* at: where it stands in the text, from 1 */
	int64_t *v;                    /* [n]; none is -1, any HOP_ARG_ANY */
} hop_pass_arg;
enum { HOP_ARG_NONE = -1, HOP_ARG_ANY = -2 };
typedef struct hop_pass_args {
	const char  *pass;
	hop_pass_arg arg[HOP_NARG];
} hop_pass_args;
typedef hop_status hop_pass_with(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                                 const hop_graph **out_g);

/* Which compilations run it, in the table's order: none, all, those for this machine, for a device. */
typedef enum hop_pass_when {
	HOP_PASS_ASKED, HOP_PASS_ALWAYS, HOP_PASS_HERE, HOP_PASS_DEVICE
} hop_pass_when;

typedef struct hop_pass {
	const char    *name;
	hop_pass_fn   *run;        /* NULL = it takes arguments */
	hop_pass_when  when;
	const char    *help;       /* one line */
	hop_pass_with *with;
	unsigned       keys;       /* 1 << hop_pass_key: those that it takes */
} hop_pass;

const hop_pass *hop_pass_find(const char *name);      /* NULL = none */
const hop_pass *hop_pass_at(size_t i);                /* NULL past the last */

bool hop_pass_runs(const hop_pass *p, bool device);   /* in a compilation for a device, or not */

/* Called after each pass with what it made and how long it took. */
typedef void hop_pass_hook(void *user, const hop_pass *p, const hop_graph *g, double seconds);

/* Without what hop_progress says, whatever the context wants: for code that runs elsewhere. */
hop_status hop_pipeline_mute(hop_env *e, const hop_graph *g, const hop_graph **out_g);
/* Run every pass of a compilation, for a device or not. With the environment variable
 * HOP_DUMP=name,name the graph is printed on standard error after those passes ("all" names every
 * one). */
hop_status hop_pipeline_run(hop_env *e, const hop_graph *g, bool device, const hop_graph **out_g);
/* The same for runs with a record: watches stay. */
hop_status hop_pipeline_looking(hop_env *e, const hop_graph *g, bool device,
                                const hop_graph **out_g);
/* The same, not for a device, with what each pass made. */
hop_status hop_pipeline_watch(hop_env *e, const hop_graph *g, hop_pass_hook *hook, void *user,
                              const hop_graph **out_g);

/* Run passes by name, comma between them, with their arguments; each result is verified. who: the
 * command, in messages, which say where in the text. */
hop_status hop_passes_run(hop_env *e, const char *who, const char *text, const hop_graph *g,
                          const hop_graph **out_g);
/* The arguments that a pass takes, as in `hop opt --list`; "" = none. */
const char *hop_pass_usage(const hop_pass *p, char *buf, size_t n);

/* The transforms as passes (derive.c). Without arguments every float parameter is differentiated,
 * and every parameter batched. */
hop_pass_with hop_pass_grad, hop_pass_vjp, hop_pass_jvp, hop_pass_jacrev, hop_pass_jacfwd,
              hop_pass_hessian, hop_pass_hvp, hop_pass_vhp, hop_pass_linearize, hop_pass_vmap,
              hop_pass_vmap_any;

#endif
