/* team_run.h -- run a scheduled loop program as a device would: every thread of a kernel by itself,
 * in an order that a seed decides, from one barrier to the next. What loop_run.h checks is checked
 * here too, and that no thread meets what another did without a barrier between. */
#ifndef HOP_TEAM_RUN_H
#define HOP_TEAM_RUN_H

#include "support/loop_run.h"

typedef struct hop_team_opts {
	unsigned seed;
	int      blocks;        /* at most so many along an axis where a kernel does not say exactly; 0: 3 */
	int      at_once;       /* blocks that run at the same time where all need not; 0: 3 */
} hop_team_opts;

/* As hop_loop_run; -1 also for barriers that not all threads reach, and for races. `o` may be NULL. */
int hop_team_run(hop_env *e, const hop_prog *p, void *const *params, const int64_t *syms,
                 hop_run_effect *effect, void *user, const hop_team_opts *o, const char **why);

#endif
