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
#include "bench.h"
#include "growth.h"
#include "hop/compile.h"

static const char *const stage_name[] = { "capture", "gradient", "passes", "lowering", "code" };

typedef struct growth_cost cost;

/* What is measured. */
typedef struct asked {
	const growth_kind *k;
	bool grad, device;             /* a device's text, which needs no device, instead of code */
	int  seconds;                  /* that a program may take */
} asked;

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

/* The program of n nodes, or its gradient. */
static hop_status program(hop_ctx *c, const growth_kind *k, long n, bool grad, cost *out,
                          hop_fn **out_f)
{
	int one = k->nin - k->per, nin = one + k->per * (int)n;
	hop_spec *in = calloc((size_t)nin, sizeof *in);
	int *wrt = calloc((size_t)nin, sizeof *wrt);
	hop_fn *f, *d;
	if (!in || !wrt)
		return HOP_ENOMEM;
	for (int i = 0; i < nin; i++) {
		wrt[i] = i;
		in[i] = k->in[i < one ? i : one + (i - one) % k->per];
		for (int j = 0; j < in[i].rank; j++)
			in[i].dim[j] = in[i].dim[j] < 0 ? n : in[i].dim[j];
	}
	HOP_TRY(hop_capture(c, k->body, &n, nin, in, &f));
	growth_end(out, CAPTURE);
	if (grad) {
		HOP_TRY(hop_grad(f, k->per ? nin : 1, wrt, &d));
		f = d;
	}
	growth_end(out, GRADIENT);
	free(in);
	free(wrt);
	*out_f = f;
	return HOP_OK;
}

static hop_status stages(hop_ctx *c, const asked *a, long n, cost *out)
{
	hop_fn *f;
	HOP_TRY(warm(c));
	out->since = cpu();
	HOP_TRY(program(c, a->k, n, a->grad, out, &f));
	return growth_compile(c, f->g, a->device, out);
}

static void measure(const asked *a, long n, cost *out)
{
	hop_ctx *c;
	if (hop_ctx_new(NULL, &c))
		return;
	out->ok = !stages(c, a, n, out);
	if (!out->ok)
		fprintf(stderr, "%s %ld: %s\n", a->k->name, n, hop_message(c));
}

/* In a child: it takes its memory with it, and may be stopped. */
static cost measure_apart(const asked *a, long n)
{
	cost c = { .ok = false };
	int pipes[2];
	if (pipe(pipes))
		return c;
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		alarm((unsigned)a->seconds);          /* a limit of CPU time makes its clock coarse */
		measure(a, n, &c);
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

/* What is short is measured several times. */
static cost measure_well(const asked *a, long n)
{
	enum { TIMES = 5 };
	cost c = measure_apart(a, n);
	int times = 1;
	for (double all = total(&c); c.ok && times < TIMES && all < 1; times++) {
		cost more = measure_apart(a, n);
		all += total(&more);
		for (int s = 0; s < NSTAGE; s++)
			c.s[s] += more.s[s];
		c.ok = more.ok;
	}
	for (int s = 0; s < NSTAGE; s++)
		c.s[s] /= times;
	return c;
}

/* How much more than the row before; also the stage that grew most, of those that matter. */
static void print_growth(const cost *c, const cost *last)
{
	int worst = -1;
	double most = 0, all = total(c);
	for (int s = 0; s < NSTAGE; s++)
		if (c->s[s] > 0.05 * all && c->s[s] / last->s[s] > most) {
			worst = s;
			most = c->s[s] / last->s[s];
		}
	printf("  x %.1f", all / total(last));
	if (worst >= 0)
		printf(" (%s %.1f)", stage_name[worst], most);
}

static void row(const asked *a, int sizes)
{
	cost last = { .ok = false };
	const growth_kind *k = a->k;
	long n = k->least;
	for (int i = 0; i < sizes; i++, n *= k->is_count && k->least < 100 ? 2 : 10) {
		cost c = measure_well(a, n);
		printf("%-9s %-5s %7ld", k->name, a->grad ? "grad" : "value", n);
		if (!c.ok) {
			printf("   stopped after %d s\n", a->seconds);
			return;
		}
		for (int s = 0; s < NSTAGE; s++)
			printf(" %8.1f", c.s[s] * 1e3);
		printf(" %9.1f ", total(&c) * 1e3);
		for (int s = 0; s < NSTAGE; s++)
			printf(" %5.0f", c.mb[s]);
		if (last.ok)
			print_growth(&c, &last);
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

struct run {
	hop_fn     *f;
	hop_array **in, **out;
	int         nin, nout;
};

static void call_once(void *user)
{
	struct run *r = user;
	for (int i = 0; i < r->nout; i++)
		hop_array_release(r->out[i]);
	if (hop_call(r->f, r->nin, r->in, r->nout, r->out))
		memset(r->out, 0, sizeof *r->out * (size_t)r->nout);
}

int bench_run(int argc, char **argv)
{
	const growth_kind *k = argc > 2 ? find(argv[0]) : NULL;
	struct run r = { 0 };
	cost c = { 0 };
	hop_ctx *x;
	long n = k ? atol(argv[1]) : 0;
	if (!k || hop_ctx_new(NULL, &x))
		return 1;
	if (program(x, k, n, !strcmp(argv[2], "grad"), &c, &r.f))
		return 1;
	r.nin = hop_fn_nin(r.f);
	r.nout = hop_fn_nout(r.f);
	r.in = calloc((size_t)r.nin, sizeof *r.in);
	r.out = calloc((size_t)r.nout, sizeof *r.out);
	for (int i = 0; r.in && i < r.nin; i++) {
		const hop_type *t = r.f->g->type[i];
		int64_t dim[HOP_RANK];
		for (int j = 0; j < t->rank; j++)
			dim[j] = t->dim[j].k;
		if (hop_array_new(x, (hop_dtype)t->dtype, t->rank, dim, NULL, &r.in[i]))
			return 1;
	}
	call_once(&r);
	printf("%s %s %s: us a call %.2f\n", argv[0], argv[1], argv[2],
	       bench_time(call_once, &r, 0.01) * 1e6);
	return 0;
}

int bench_growth(int argc, char **argv)
{
	bool device = argc > 0 && !strcmp(argv[0], "device");
	argc -= device;
	argv += device;
	const growth_kind *one = argc > 0 ? find(argv[0]) : NULL;
	enum { SIZES = 3, SECONDS = 120 };
	if (argc > 0 && !one) {
		fprintf(stderr, "growth: no kind %s\n", argv[0]);
		return 1;
	}
	printf("\ncompiling as programs grow%s: CPU ms by stage and in all, peak MB after each stage, "
	       "times the row\nbefore (the stage that grew most, of those with a twentieth of the time)\n",
	       device ? ", for a device, as far as their texts" : "");
	printf("%-9s %-5s %7s", "", "", "nodes");
	for (int s = 0; s < NSTAGE; s++)
		printf(" %8s", stage_name[s]);
	printf(" %9s  %5s\n", "all", "MB");
	if (one && argc > 2) {
		growth_kind k = *one;
		k.least = atol(argv[1]);
		row(&(asked){ &k, !strcmp(argv[2], "grad"), device, SECONDS }, 1);
		return 0;
	}
	for (const growth_kind *k = growth_kinds; k->name; k++)
		for (int grad = 0; grad < 2; grad++)
			if (!one || one == k)
				row(&(asked){ k, grad, device, SECONDS }, argc > 1 ? atoi(argv[1]) : SIZES);
	return 0;
}
