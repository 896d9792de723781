/* loop_run.c -- a loop program of a machine without a device, by one thread. */
#include "support/loop_step.h"

int hop_loop_run(hop_env *e, const hop_prog *p, void *const *params, const int64_t *syms,
                 hop_run_effect *effect, void *user, const char **why)
{
	static _Thread_local char reason[sizeof((run_machine *)0)->why];
	run_machine m;

	run_open(&m, e, p);
	m.effect = effect;
	m.user = user;
	if (run_enters(&m, syms))
		run_call(&m, 0, params, syms);
	else
		m.stop = HOP_LOOP_REFUSED;
	run_close(&m);
	for (size_t i = 0; i < sizeof reason; i++)
		reason[i] = m.why[i];
	if (why)
		*why = reason;
	return m.stop;
}
