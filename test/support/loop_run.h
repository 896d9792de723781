/* loop_run.h -- run a loop program one scalar at a time: the oracle between the graph
 * interpreter and compiled code. Checks every access; slow on purpose. */
#ifndef HOP_LOOP_RUN_H
#define HOP_LOOP_RUN_H

#include "loop/loop.h"

/* Called for an effect with pointers of its operands; non-zero stops the run. */
typedef int hop_run_effect(void *user, const hop_leffect *f, void *const *args,
                           const int64_t *syms);

enum { HOP_LOOP_REFUSED = 1000 };

/* Function 0 on pointers of inputs, then outputs. Returns 0, or -1 after an access out of
 * bounds or a bad size (why gets the reason), or HOP_LOOP_REFUSED when a check of the
 * program does not hold, or what the effect said. */
int hop_loop_run(hop_env *e, const hop_prog *p, void *const *params, const int64_t *syms,
                 hop_run_effect *effect, void *user, const char **why);

#endif
