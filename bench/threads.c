/* threads.c -- what threads give where the machine is idle, and what they cost where another
 * process wants a processor: medians of 100 calls, in turn, so that all see the same machine.
 * What is promised: a gain when idle, at most 1.3 times the time of one thread when not. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "threads.h"

enum { CALLS = 100, MANY = 2 };

static void chain(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];

	(void)user;
	for (int i = 0; i < 6; i++)
		x = hop_tanh(t, hop_mulf(t, x, 1.1));
	hop_return(t, x);
}

static void softmax(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_softmax(t, in[0], 1));
}

static void square(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul(t, in[0], in[0]));
}

static void all(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, in[0]));
}

static void tanhs(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_tanh(t, in[0])));
}

/* A loss and its gradient in the rows' sums. */
static void norms(hop_trace *t, const hop_value *in, void *user)
{
	hop_value none = { 0, 0 };

	(void)user;
	hop_return(t, hop_sum_all(t, hop_tanh(t, hop_layer_norm(t, in[0], none, none, 1e-5))));
}

static const struct kind {
	const char *name;
	hop_body   *body;
	int64_t     dim[2];
} kinds[] = {
	{ "chain 64k", chain, { 1, 1 << 16 } },
	{ "chain 1M", chain, { 1, 1 << 20 } },
	{ "softmax 64x1024", softmax, { 64, 1024 } },
	{ "softmax 1024x1024", softmax, { 1024, 1024 } },
	{ "matmul 256", square, { 256, 256 } },
	{ "matmul 512", square, { 512, 512 } },
	{ "norm and sum 4M", norms, { 4096, 1024 } },
	{ "sum of 64 KiB", all, { 1, 1 << 14 } },
	{ "sum of 4 MB", all, { 1, 1 << 20 } },
	{ "sum of tanh 1M", tanhs, { 1, 1 << 20 } },
	{ "sum of 64 MB", all, { 1, 1 << 24 } },
};

struct one {
	hop_exec *x[2];                /* one thread, two */
	void     *work[2];
	hop_arg   in, out[2];
	double    t[2][CALLS];
};

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Ten calls of one, ten of the other, and so on. */
static void rounds(struct one *o, double *median)
{
	for (int r = 0; r < CALLS; r += 10)
		for (int k = 0; k < 2; k++)
			for (int i = 0; i < 10; i++) {
				double start = bench_now();
				if (hop_run(o->x[k], &o->in, &o->out[k], o->work[k]))
					return;
				o->t[k][r + i] = bench_now() - start;
			}
	for (int k = 0; k < 2; k++) {
		qsort(o->t[k], CALLS, sizeof(double), by_size);
		median[k] = o->t[k][CALLS / 2];
	}
}

static pid_t busy(void)
{
	pid_t child = fork();

	if (!child)
		for (volatile unsigned long i = 0;; i++)
			;
	return child;
}

static void measure(struct one *o, const struct kind *k, size_t bytes)
{
	double idle[2] = { 0, 0 }, full[2] = { 0, 0 };

	rounds(o, idle);
	pid_t other = busy();
	if (other > 0) {
		rounds(o, full);
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	printf("%-18s %9.1f %9.1f  %5.2f   %9.1f %9.1f  %5.2f   %s\n", k->name, idle[0] * 1e6,
	       idle[1] * 1e6, idle[0] / idle[1], full[0] * 1e6, full[1] * 1e6, full[1] / full[0],
	       memcmp(o->out[0].data, o->out[1].data, bytes) ? "OTHER BITS" : "same bits");
	fflush(stdout);
}

static void row(hop_ctx *c, const struct kind *k)
{
	hop_spec   s = hop_spec2(HOP_f32, k->dim[0], k->dim[1]);
	hop_fn    *f = NULL;
	struct one o = { .in.dim = k->dim };
	size_t     n = (size_t)(k->dim[0] * k->dim[1]);
	float     *x = aligned_alloc(64, n * sizeof *x);

	bool ok = x && !hop_capture(c, k->body, NULL, 1, &s, &f);
	for (size_t i = 0; ok && i < n; i++)
		x[i] = (float)(i % 1000) * 0.001f - 0.4f;
	o.in.data = x;
	for (int i = 0; i < 2 && ok; i++) {
		hop_compile_opts opts = { .size = sizeof opts, .threads = i ? MANY : 1 };
		ok = !hop_compile(f, &opts, &o.x[i]);
		o.work[i] = ok ? aligned_alloc(64, (size_t)(hop_exec_workspace(o.x[i], &o.in) + 127) / 64 * 64)
		               : NULL;
		o.out[i].data = calloc(n, sizeof *x);
		ok = ok && o.work[i] && o.out[i].data;
	}
	if (ok)
		measure(&o, k, n * sizeof *x);
	else
		printf("%-18s %s\n", k->name, hop_message(c));
	for (int i = 0; i < 2; i++) {
		hop_exec_release(o.x[i]);
		free(o.work[i]);
		free(o.out[i].data);
	}
	hop_fn_release(f);
	free(x);
}

/* ---- what memory allows: the sum by hand, its second half by another thread ---- */

struct half {
	const float      *x;
	long              n;
	float             sum;
	pthread_barrier_t meet;
};

static void *second(void *user)
{
	struct half *h = user;

	for (int i = 0; i < CALLS; i++) {
		pthread_barrier_wait(&h->meet);
		h->sum = peer_sum_fast(h->x + h->n / 2, h->n / 2);
		pthread_barrier_wait(&h->meet);
	}
	return NULL;
}

static void by_hand(void)
{
	enum { N = 1 << 24 };
	double      t[2][CALLS];
	float      *x = aligned_alloc(64, N * sizeof *x), sum = 0;
	struct half h = { .x = x, .n = N };
	pthread_t   other;

	if (!x || pthread_barrier_init(&h.meet, NULL, 2) || pthread_create(&other, NULL, second, &h))
		return;
	for (long i = 0; i < N; i++)
		x[i] = (float)(i % 1000) * 0.001f - 0.4f;
	for (int i = 0; i < CALLS; i++) {
		double start = bench_now();
		sum = peer_sum_fast(x, N);
		t[0][i] = bench_now() - start;
		pthread_barrier_wait(&h.meet);
		start = bench_now();
		float a = peer_sum_fast(x, N / 2);
		pthread_barrier_wait(&h.meet);
		t[1][i] = bench_now() - start;
		sum -= a + h.sum;
	}
	pthread_join(other, NULL);
	for (int k = 0; k < 2; k++)
		qsort(t[k], CALLS, sizeof(double), by_size);
	printf("%-18s %9.1f %9.1f  %5.2f   what memory allows (difference %g)\n",
	       "the same by hand", t[0][CALLS / 2] * 1e6, t[1][CALLS / 2] * 1e6,
	       t[0][CALLS / 2] / t[1][CALLS / 2], (double)sum);
	pthread_barrier_destroy(&h.meet);
	free(x);
}

int bench_threads(void)
{
	hop_ctx *c;

	if (hop_ctx_new(NULL, &c))
		return 1;
	printf("\ntwo threads, median us of %d calls\n%-18s %9s %9s  %5s   %9s %9s  %5s\n", CALLS, "",
	       "one", "two", "gain", "one, busy", "two, busy", "cost");
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		row(c, &kinds[i]);
	by_hand();
	hop_ctx_free(c);
	return 0;
}
