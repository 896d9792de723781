/* linalg.c -- equations with small matrices, and their factors, a thousand at a time, on one thread.
 * beside_numpy.py runs it in turn with NumPy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "hop/compile.h"
#include "linalg.h"

enum { BATCH = 1000, MOST = 32 };

static void solve(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_solve(t, in[0], in[1]));
}

static void cholesky(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_cholesky(t, in[0], HOP_LOWER));
}

struct work {
	hop_exec  *x;
	hop_arg    in[2], out[1];
	void      *space;
	hop_status st;
};

static void run(void *user)
{
	struct work *w = user;
	w->st = hop_run(w->x, w->in, w->out, w->space);
}

static double time_of(hop_ctx *c, hop_body *f, int nin, int64_t n, double *a, double *b, double *out)
{
	hop_compile_opts o = { .size = sizeof o, .threads = 1, .no_cache = true };
	hop_spec s[2] = { hop_spec3(HOP_f64, BATCH, n, n), hop_spec3(HOP_f64, BATCH, n, 1) };
	struct work w = { .in = { { .data = a }, { .data = b } }, .out = { { .data = out } } };
	hop_fn *fn;
	double t = NAN;
	if (hop_capture(c, f, NULL, nin, s, &fn))
		return t;
	if (!hop_compile(fn, &o, &w.x)) {
		w.space = aligned_alloc(64, (size_t)(hop_exec_workspace(w.x, w.in) + 127) / 64 * 64);
		run(&w);
		if (w.space && !w.st)
			t = bench_time(run, &w, 0.01);
		free(w.space);
	}
	hop_exec_release(w.x);
	hop_fn_release(fn);
	return t;
}

/* Far from singular; what is above the diagonal is like what is below. */
static void fill(int64_t n, double *a, double *b)
{
	for (int64_t i = 0; i < BATCH * n * n; i++) {
		int64_t row = i / n % n, col = i % n, lane = i / (n * n);
		a[i] = sin((double)(lane + 7 * (row + col) + row * col)) + (row == col ? (double)n : 0);
	}
	for (int64_t i = 0; i < BATCH * n; i++)
		b[i] = cos((double)i);
}

int bench_linalg(void)
{
	size_t most = (size_t)BATCH * MOST * MOST;
	double *a = malloc(most * sizeof *a), *b = malloc(most * sizeof *b);
	double *out = malloc(most * sizeof *out);
	hop_ctx *c = NULL;
	int bad = !a || !b || !out || hop_ctx_new(NULL, &c);
	for (int64_t n = 4; n <= MOST && !bad; n *= 2) {
		fill(n, a, b);
		double s = time_of(c, solve, 2, n, a, b, out), l = time_of(c, cholesky, 1, n, a, b, out);
		bad = isnan(s) || isnan(l);
		printf("%d %.1f %.1f\n", (int)n, s * 1e6, l * 1e6);
	}
	if (bad)
		printf("linalg: %s\n", c ? hop_message(c) : "no memory");
	hop_ctx_free(c);
	free(a), free(b), free(out);
	return bad;
}
