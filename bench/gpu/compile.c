/* compile.c -- how long it takes until there is a result: with everything loaded, from the cache, in
 * a new process; and what many equal regions cost beside a few. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "../layers.h"

static void small(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];

	for (int k = 0; k < 3; k++)
		x = hop_tanh(t, hop_addf(t, hop_mulf(t, x, *(double *)user), 0.5 + k));
	hop_return(t, hop_sum_all(t, x));
}

/* Seconds from nothing to the result of a program that no other is equal to; -1: it failed. */
static double first_call(hop_ctx *c, const char *target, double number, bool cache, bool *out_cached)
{
	float     host[256] = { 0 }, y;
	hop_spec  s = hop_spec1(HOP_f32, 256);
	double    start = bench_now(), end;
	hop_fn   *f = NULL;
	hop_exec *x = NULL;
	hop_arg   in = { .data = host }, out = { .data = &y };
	hop_status st = hop_capture(c, small, &number, 1, &s, &f);

	if (!st)
		st = hop_compile(f, HOP_COMPILE_OPTS(.target = target, .no_cache = !cache), &x);
	if (!st) {
		int64_t n = hop_exec_workspace(x, &in);
		void   *w = aligned_alloc(64, (size_t)(n + 127) / 64 * 64);

		st = hop_run(x, &in, &out, w);
		free(w);
		*out_cached = hop_exec_times(x).from_cache;
	}
	end = bench_now();
	if (st)
		fprintf(stderr, "first call: %s\n", hop_message(c));
	hop_exec_release(x);
	hop_fn_release(f);
	return st ? -1 : end - start;
}

static void line(const char *name, double ms, double goal)
{
	printf("%-28s %9.2f ms %9.2f %7.2f\n", name, ms, goal, ms / goal);
}

void gpu_compile_times(const gpu_place *p)
{
	double number = 0.5 + 1e-3 * (double)(int64_t)(bench_now() * 1e3);     /* a new text every time */
	bool   cached = false;
	double fresh, again, few, many;

	printf("\n%-28s %9s    %9s %7s\n", "compiling", "here", "goal", "ratio");
	if (first_call(p->c, p->target, number, false, &cached) < 0)
		return;
	fresh = first_call(p->c, p->target, number + 0.125, false, &cached);
	line("first call, all loaded", fresh * 1e3, 150);
	first_call(p->c, p->target, number + 0.25, true, &cached);
	again = first_call(p->c, p->target, number + 0.25, true, &cached);
	line(cached ? "first call, from the cache" : "first call, cache is off", again * 1e3, 2);
	setenv("HOP_TARGET", p->target, 1);
	few = bench_layers_total(4);
	many = bench_layers_total(48);
	if (few > 0 && many > 0)
		printf("%-28s %9.2f ms, 48: %.2f ms; %.2f, goal 1.30\n", "4 layers and gradient", few * 1e3,
		       many * 1e3, many / few);
}

int gpu_first(const char *target)
{
	double   start = bench_now(), t;
	bool     cached = false;
	hop_ctx *c;

	if (hop_ctx_new(NULL, &c))
		return 1;
	t = first_call(c, target, 0.75, true, &cached);
	printf("%.1f ms to the first result, %s\n", (bench_now() - start) * 1e3,
	       cached ? "from the cache" : "compiled");
	hop_ctx_free(c);
	return t < 0;
}

/* Twice, in processes of their own: without and with what the first left in the cache. */
void gpu_cold(const char *self, const char *target)
{
	static const char dir[] = "${TMPDIR:-/tmp}/hop_cold.$PPID";
	char command[600];

	printf("\ncold start\n");
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		snprintf(command, sizeof command, "HOP_CACHE_DIR=%s '%s' first --target=%s%s%s", dir, self,
		         target,
		         i ? "; rm -rf " : "", i ? dir : "");
		if (system(command))
			printf("cold start: failed\n");
	}
}
