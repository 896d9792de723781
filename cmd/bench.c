/* bench.c -- hop bench: one graph, many times, by the clock. Checks no result. */
#include "cmd.h"

#include "ir/interp.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int silent(void *user, const char *line)
{
	(void)user;
	(void)line;
	return 0;
}

static hop_status bench(cmd *c, hop_interp *p, const hop_graph *g, const cmd_inputs *from,
                        int64_t reps)
{
	hop_tensor **in, **out = HOP_NEWN(&c->env->tmp, hop_tensor *, g->nout);
	double *took = HOP_NEWN(&c->env->tmp, double, reps);
	int64_t *syms;
	HOP_TRY(cmd_make_inputs(c, p, g, from, &in, &syms));
	p->print = silent;
	for (int64_t i = -1; i < reps; i++) {          /* the first one warms up */
		double t = now();
		HOP_TRY(hop_interp_graph(p, g, syms, in, out));
		if (i >= 0)
			took[i] = now() - t;
		for (uint32_t k = 0; k < g->nout; k++)
			hop_tensor_release(p, out[k]);
	}
	qsort(took, (size_t)reps, sizeof *took, by_value);
	printf("interpreter: least %.3f us, median %.3f us of %lld\n", took[0] * 1e6,
	       took[reps / 2] * 1e6, (long long)reps);
	return HOP_OK;
}

hop_status cmd_bench(cmd *c)
{
	cmd_inputs from = { 0 };
	int64_t reps = 20;
	const char *s;
	hop_status st;
	while (cmd_more(c)) {
		if (cmd_input_option(c, &from, &st))
			HOP_TRY(st);
		else if (cmd_value(c, "--reps", &s))
			HOP_TRY(cmd_number(c, "--reps", s, 1, &reps));
		else
			HOP_TRY(cmd_other(c));
	}
	if (reps > 1000000)
		return hop_fail(c->env, 0, HOP_EUSE, "bench: at most a million --reps");
	hop_graph *g;
	HOP_TRY(cmd_load(c));
	HOP_TRY(cmd_pick(c, &g));
	hop_interp p;
	hop_interp_init(&p, c->env);
	st = bench(c, &p, g, &from, reps);
	hop_interp_fini(&p);
	return st;
}
