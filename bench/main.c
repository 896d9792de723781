/* The benchmark: what hop needs beside what hand-written C needs on the same data, in one
 * run, as ratios; absolute times of a shared machine mean little. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "growth.h"
#include "lanes.h"
#include "layers.h"
#include "linalg.h"
#include "loops.h"
#include "memory.h"
#include "scans.h"
#include "targets.h"
#include "threads.h"
#include "train.h"
#include "work.h"

struct data {
	float *W, *U, *x, *h0, *out, *big;
};

static void fill(float *p, long n, float scale)
{
	unsigned s = 12345;

	for (long i = 0; i < n; i++) {
		s = s * 1664525u + 1013904223u;
		p[i] = scale * ((float)(s >> 8) / 8388608.0f - 1.0f);
	}
}

#define PEERS(tail) \
static void do_rnn##tail(void *user) \
{ \
	struct data *w = user; \
	peer_rnn##tail(w->W, w->U, w->x, w->h0, w->out); \
} \
static void do_loop##tail(void *user) \
{ \
	struct data *w = user; \
	peer_loop##tail(w->x, w->out, LOOP_TRIPS); \
} \
static void do_softmax##tail(void *user) \
{ \
	struct data *w = user; \
	peer_softmax##tail(w->x, w->out); \
}
PEERS()
PEERS(_fast)
#undef PEERS

/* Time of one call of hop, after the first; NAN when it fails. */
static double time_hop(hop_ctx *c, hop_work *w, const char *name)
{
	hop_work_run(w);
	if (w->st) {
		printf("%-18s hop: %s\n", name, hop_message(c));
		return NAN;
	}
	return bench_time(hop_work_run, w, 0.003);
}

/* One line: peer plain, peer with fast math, hop, and hop over the faster peer. */
static void compare(hop_ctx *c, const char *name, const char *unit, double scale, bench_fn *f,
                    bench_fn *fast, struct data *d, enum hop_work_kind kind,
                    const float *const *in)
{
	hop_work w;

	f(d);
	double a = bench_time(f, d, 0.003), b = bench_time(fast, d, 0.003);
	if (hop_work_new(c, &w, kind, in)) {
		printf("%-18s hop: %s\n", name, hop_message(c));
		return;
	}
	f(d);
	double error = hop_work_error(&w, d->out), h = time_hop(c, &w, name);
	hop_work_free(&w);
	printf("%-18s %9.1f %9.1f %9.1f %s   %6.2f   %.1e\n", name, a * scale, b * scale,
	       h * scale, unit, h / (a < b ? a : b), error);
}

int main(int argc, char **argv)
{
	size_t n = (size_t)SOFT_R * SOFT_C, square = (size_t)RNN_H * RNN_H;
	struct data d = {
		malloc(sizeof(float) * square), malloc(sizeof(float) * square),
		malloc(sizeof(float) * n), malloc(sizeof(float) * RNN_H),
		malloc(sizeof(float) * n), malloc(sizeof(float) * GEMM_N * GEMM_N)
	};
	const float *rnn[4] = { d.W, d.U, d.x, d.h0 }, *x[2] = { d.x, NULL };
	const float *square_in[2] = { d.big, d.big };
	hop_ctx *c;
	hop_work w;

	if (argc > 1 && !strcmp(argv[1], "growth"))
		return bench_growth(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "run"))
		return bench_run(argc - 2, argv + 2);
	if (argc > 1 && !strcmp(argv[1], "threads"))
		return bench_threads();
	if (argc > 1 && !strcmp(argv[1], "lanes"))
		return bench_lanes();
	if (argc > 1 && !strcmp(argv[1], "scans"))
		return bench_scans();
	if (argc > 1 && !strcmp(argv[1], "linalg"))
		return bench_linalg();
	if (argc > 1 && !strcmp(argv[1], "train"))
		return bench_train();
	if (argc > 1 && !strcmp(argv[1], "loops"))
		return bench_loops();
	if (argc > 1 && !strcmp(argv[1], "memory"))
		return bench_memory();
	if (argc > 1 && !strcmp(argv[1], "door") && !hop_ctx_new(NULL, &c)) {
		bench_door(c);
		hop_ctx_free(c);
		return 0;
	}
	if (!d.W || !d.U || !d.x || !d.h0 || !d.out || !d.big || hop_ctx_new(NULL, &c))
		return 1;
	/* W keeps the gradient alive: were it smaller, most steps would compute with denormal
	 * numbers, which the machine does slowly whoever wrote the program */
	fill(d.W, (long)square, 0.3f);
	fill(d.U, (long)square, 0.1f);
	fill(d.x, (long)n, 1);
	fill(d.h0, RNN_H, 1);
	fill(d.big, (long)GEMM_N * GEMM_N, 1);

	double peak = bench_peak_f32();
	printf("peak of one core: f32 %.1f, f64 %.1f GFLOP/s\n\n", peak, bench_peak_f64());
	printf("%-18s %9s %9s %9s %-11s %6s   %s\n", "", "gcc", "gcc fast", "hop", "", "ratio",
	       "difference");
	compare(c, "rnn H=64 T=1000", "ns a step", 1e9 / RNN_T, do_rnn, do_rnn_fast, &d,
	        HOP_WORK_RNN, rnn);
	compare(c, "while over 1024", "ns a trip", 1e9 / LOOP_TRIPS, do_loop, do_loop_fast, &d,
	        HOP_WORK_LOOP, x);
	compare(c, "softmax 64x1024", "us a call", 1e6, do_softmax, do_softmax_fast, &d,
	        HOP_WORK_SOFTMAX, x);
	if (!hop_work_new(c, &w, HOP_WORK_GEMM, square_in)) {
		double t = time_hop(c, &w, "matmul 256"), flop = 2.0 * GEMM_N * GEMM_N * GEMM_N;

		for (int i = 0; i < 4; i++) {        /* in turn, so that both see the same machine */
			double p = bench_peak_f32(), again = time_hop(c, &w, "matmul 256");

			peak = p > peak ? p : peak;
			t = again < t ? again : t;
		}

		printf("%-18s %.1f GFLOP/s, %.0f %% of one core's peak\n", "matmul 256",
		       flop / t * 1e-9, flop / t * 1e-7 / peak);
	}
	hop_work_free(&w);
	hop_work r;
	if (!hop_work_new(c, &w, HOP_WORK_RNN_GRAD, rnn) && !hop_work_new(c, &r, HOP_WORK_RNN, rnn)) {
		double g = time_hop(c, &w, "rnn gradient"), f = time_hop(c, &r, "rnn");

		printf("%-18s %.1f ns a step, %.2f times the forward scan\n", "rnn gradient",
		       g * 1e9 / RNN_T, g / f);
		hop_work_free(&r);
	}
	hop_work_free(&w);
	const struct bench_row all[] = {
		{ "rnn", HOP_WORK_RNN, rnn }, { "rnn gradient", HOP_WORK_RNN_GRAD, rnn },
		{ "while", HOP_WORK_LOOP, x }, { "softmax", HOP_WORK_SOFTMAX, x },
		{ "matmul 256", HOP_WORK_GEMM, square_in }
	};
	enum { NROW = sizeof all / sizeof *all };
	bench_targets(all, NROW);
	bench_door(c);
	printf("\ncompiling, in ms\n%-18s %9s %9s %9s %9s %9s\n", "", "passes", "lowering",
	       "code", "total", "cached");
	for (int i = 0; i < NROW; i++) {
		if (!hop_work_new(c, &w, all[i].kind, all[i].in))
			bench_cost(c, all[i].name, w.fn);
		hop_work_free(&w);
	}
	bench_layers();
	bench_threads();
	bench_scans();
	bench_lanes();
	bench_memory();
	bench_loops();
	bench_growth(0, NULL);
	hop_ctx_free(c);
	free(d.W), free(d.U), free(d.x), free(d.h0), free(d.out), free(d.big);
	return 0;
}
