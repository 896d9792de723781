/* bench.c -- hop bench: one graph, many times, by the clock. Checks no result. */
#include "cmd.h"

#include "driver/compile.h"

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

static void report(const char *what, double *took, int64_t reps)
{
	qsort(took, (size_t)reps, sizeof *took, by_value);
	printf("%s: least %.3f us, median %.3f us of %lld\n", what, took[0] * 1e6,
	       took[reps / 2] * 1e6, (long long)reps);
}

static hop_status interpreted(cmd *c, const hop_graph *g, const int64_t *syms,
                              hop_array *const *in, int64_t reps, double *took)
{
	hop_array **out = HOP_NEWN(&c->env->tmp, hop_array *, g->nout);
	for (int64_t i = -1; i < reps; i++) {          /* the first one warms up */
		double t = now();
		HOP_TRY(hop_interp_graph(&c->ip, g, syms, in, out));
		if (i >= 0)
			took[i] = now() - t;
		for (uint32_t k = 0; k < g->nout; k++)
			hop_interp_release(&c->ip, out[k]);
	}
	report("interpreter", took, reps);
	return HOP_OK;
}

/* An array where the code works: on a device, a copy, which the process has to its end. */
static hop_status bring(cmd *c, hop_array *a, hop_arg *out)
{
	const hop_memory *m = hop_code_memory(c->exec->code);
	hop_array *there = a;
	if (m->far && hop_array_to(a, (hop_device){ m->far->type, 0 }, &there))
		return hop_fail(c->env, 0, HOP_ETARGET, "bench: %s", hop_message(c->env->ctx));
	*out = hop_array_arg(there);
	out->dim = a->dim;
	return HOP_OK;
}

/* Through the hard door: the same memory every time. */
static hop_status compiled(cmd *c, const hop_graph *g, hop_array *const *in,
                           int64_t reps, double *took)
{
	const hop_exec *x = c->exec;
	int nout = (int)g->nout + hop_exec_counts(x);
	hop_array **out = HOP_NEWN(&c->env->tmp, hop_array *, nout);
	hop_arg *ai = HOP_NEWN(&c->env->tmp, hop_arg, g->nparam);
	hop_arg *ao = HOP_NEWN(&c->env->tmp, hop_arg, nout);
	HOP_TRY(hop_exec_arrays(&c->ip, x, in, out));
	for (uint32_t i = 0; i < g->nparam; i++)
		HOP_TRY(bring(c, in[i], &ai[i]));
	for (int k = 0; k < nout; k++) {
		int64_t dim[HOP_MAXRANK];
		int rank = hop_exec_result(x, ai, k, dim);
		out[k] = hop_interp_new(&c->ip, (hop_dtype)hop_graph_out_type(x->g, (uint32_t)k)->dtype, rank,
		                        dim);
		HOP_TRY(bring(c, out[k], &ao[k]));
	}
	int64_t bytes = hop_exec_workspace(x, ai);
	hop_array *work = hop_interp_new(&c->ip, HOP_bool, 1, &bytes);
	hop_run_opts o = { .size = sizeof o, .cancel = c->ip.cancel };
	for (int64_t i = 0; i < reps; i++) {
		double t = now();
		HOP_TRY(hop_run_with(x, ai, ao, work->data, &o));
		took[i] = now() - t;
	}
	hop_compile_times t = hop_exec_times(x);
	printf("compile: passes %.3f ms, lowering %.3f ms, code %.3f ms%s\n", t.opt * 1e3,
	       t.lower * 1e3, t.code * 1e3, t.from_cache ? " (from the cache)" : "");
	report("native", took, reps);
	return HOP_OK;
}

static hop_status bench(cmd *c, const hop_graph *g, const cmd_inputs *from, int64_t reps,
                        bool interp, int64_t threads, const char *device)
{
	hop_array **in;
	hop_compile_opts o = { .size = sizeof o, .threads = (int)threads };
	if (device)
		HOP_TRY(cmd_target_of(c, device, &o.target));
	double *took = HOP_NEWN(&c->env->tmp, double, reps);
	int64_t *syms;
	HOP_TRY(cmd_make_inputs(c, g, from, &in, &syms));
	c->ip.print = silent;
	if (interp)
		return interpreted(c, g, syms, in, reps, took);
	HOP_TRY(hop_exec_new(c->env, g, &o, &c->exec));
	return compiled(c, g, in, reps, took);
}

hop_status cmd_bench(cmd *c)
{
	cmd_inputs from = { 0 };
	int64_t reps = 20, threads = 1;
	bool interp = false;
	const char *s, *device = NULL;
	hop_status st;
	while (cmd_more(c)) {
		if (cmd_flag(c, "--interp"))
			interp = true;
		else if (cmd_input_option(c, &from, &st))
			HOP_TRY(st);
		else if (cmd_value(c, "--device", &device))
			HOP_TRY(cmd_need(c, "--device", device));
		else if (cmd_value(c, "--threads", &s))
			HOP_TRY(cmd_number(c, "--threads", s, 0, 1024, &threads));
		else if (cmd_value(c, "--reps", &s))
			HOP_TRY(cmd_number(c, "--reps", s, 1, 1000000, &reps));
		else
			HOP_TRY(cmd_other(c));
	}
	hop_graph *g;
	HOP_TRY(cmd_load(c));
	HOP_TRY(cmd_pick(c, &g));
	return bench(c, g, &from, reps, interp, threads, device);
}
