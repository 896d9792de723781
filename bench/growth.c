/* growth.c -- compile time and memory as a program grows: each stage of 1 x, 10 x and 100 x
 * the nodes, value and gradient, every one in a process of its own. What is promised is
 * proportion: at most 13 times for 10 times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace/trace.h"
#include "growth.h"
#include "hop/compile.h"

static const char *const stage_name[] = { "capture", "gradient", "passes", "lowering", "code" };

typedef struct growth_cost cost;

static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void growth_end(cost *c, int stage)
{
	struct rusage u;
	double now = cpu();
	getrusage(RUSAGE_SELF, &u);
	c->s[stage] = now - c->since;
	c->mb[stage] = (double)u.ru_maxrss / 1024;
	c->since = now;
}

/* LLVM is loaded by the first compilation of a process; that is not what grows. */
static hop_status warm(hop_ctx *c)
{
	hop_fn *f = NULL;
	hop_exec *x = NULL;
	hop_compile_opts o = { .size = sizeof o, .threads = 1, .no_cache = true };
	long n = 4;
	const growth_kind *k = &growth_kinds[0];
	hop_status st = hop_capture(c, k->body, &n, k->nin, k->in, &f);
	if (!st)
		st = hop_compile(f, &o, &x);
	hop_exec_release(x);
	hop_fn_release(f);
	return st;
}

static hop_status stages(hop_ctx *c, const growth_kind *k, long n, bool grad, cost *out)
{
	hop_spec in[4];
	hop_fn *f, *d;
	int wrt = 0;
	memcpy(in, k->in, sizeof in);
	for (int i = 0; i < k->nin; i++)
		for (int j = 0; j < in[i].rank; j++)
			in[i].dim[j] = in[i].dim[j] < 0 ? n : in[i].dim[j];
	HOP_TRY(warm(c));
	out->since = cpu();
	HOP_TRY(hop_capture(c, k->body, &n, k->nin, in, &f));
	growth_end(out, CAPTURE);
	if (grad) {
		HOP_TRY(hop_grad(f, 1, &wrt, &d));
		f = d;
	}
	growth_end(out, GRADIENT);
	return growth_compile(c, f->g, out);
}

static void measure(const growth_kind *k, long n, bool grad, cost *out)
{
	hop_ctx *c;
	if (hop_ctx_new(NULL, &c))
		return;
	out->ok = !stages(c, k, n, grad, out);
	if (!out->ok)
		fprintf(stderr, "%s %ld: %s\n", k->name, n, hop_message(c));
}

/* In a child: it takes its memory with it, and may be stopped. */
static cost measure_apart(const growth_kind *k, long n, bool grad, int seconds)
{
	cost c = { .ok = false };
	int pipes[2];
	if (pipe(pipes))
		return c;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		struct rlimit most = { (rlim_t)seconds, (rlim_t)seconds };
		setrlimit(RLIMIT_CPU, &most);
		measure(k, n, grad, &c);
		_exit(write(pipes[1], &c, sizeof c) != sizeof c);
	}
	close(pipes[1]);
	if (child < 0 || read(pipes[0], &c, sizeof c) != sizeof c)
		c.ok = false;
	close(pipes[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return c;
}

static double total(const cost *c)
{
	double s = 0;
	for (int i = 0; i < NSTAGE; i++)
		s += c->s[i];
	return s;
}

static void row(const growth_kind *k, bool grad, int sizes, int seconds)
{
	cost last = { .ok = false };
	long n = k->least;
	for (int i = 0; i < sizes; i++, n *= k->is_count && k->least < 100 ? 2 : 10) {
		cost c = measure_apart(k, n, grad, seconds);
		printf("%-9s %-5s %7ld", k->name, grad ? "grad" : "value", n);
		if (!c.ok) {
			printf("   stopped after %d s of CPU\n", seconds);
			return;
		}
		for (int s = 0; s < NSTAGE; s++)
			printf(" %8.1f", c.s[s] * 1e3);
		printf(" %9.1f ", total(&c) * 1e3);
		for (int s = 0; s < NSTAGE; s++)
			printf(" %5.0f", c.mb[s]);
		if (last.ok)
			printf("  x %.1f", total(&c) / total(&last));
		printf("\n");
		fflush(stdout);
		last = c;
	}
}

static const growth_kind *find(const char *name)
{
	for (const growth_kind *k = growth_kinds; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

int bench_growth(int argc, char **argv)
{
	const growth_kind *one = argc > 0 ? find(argv[0]) : NULL;
	int sizes = 3, seconds = 120;
	if (argc > 0 && !one) {
		fprintf(stderr, "growth: no kind %s\n", argv[0]);
		return 1;
	}
	printf("\ncompiling as programs grow: CPU ms by stage, all, peak MB, times the row before\n");
	printf("%-9s %-5s %7s", "", "", "nodes");
	for (int s = 0; s < NSTAGE; s++)
		printf(" %8s", stage_name[s]);
	printf(" %9s %7s\n", "all", "MB");
	if (one && argc > 2) {
		growth_kind k = *one;
		k.least = atol(argv[1]);
		row(&k, !strcmp(argv[2], "grad"), 1, seconds);
		return 0;
	}
	for (const growth_kind *k = growth_kinds; k->name; k++)
		for (int grad = 0; grad < 2; grad++)
			if (!one || one == k)
				row(k, grad, argc > 1 ? atoi(argv[1]) : sizes, seconds);
	return 0;
}
