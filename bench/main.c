/* The benchmark: what hop needs beside what hand-written C needs on the same data, in one
 * run, as ratios; absolute times of a shared machine mean little. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

struct work {
	float *W, *U, *x, *h0, *out;
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
	struct work *w = user; \
	peer_rnn##tail(w->W, w->U, w->x, w->h0, w->out); \
} \
static void do_loop##tail(void *user) \
{ \
	struct work *w = user; \
	peer_loop##tail(w->x, w->out, LOOP_TRIPS); \
} \
static void do_softmax##tail(void *user) \
{ \
	struct work *w = user; \
	peer_softmax##tail(w->x, w->out); \
}
PEERS()
PEERS(_fast)
#undef PEERS

/* One line: the peer's time plain and with fast math, in units of 1/scale seconds. */
static void peer(const char *name, const char *unit, double scale, bench_fn *f, bench_fn *fast,
                 struct work *w)
{
	double a = bench_time(f, w, 0.05) * scale, b = bench_time(fast, w, 0.05) * scale;

	printf("%-20s gcc -O3 %8.1f %s, with -ffast-math %8.1f\n", name, a, unit, b);
}

int main(void)
{
	long n = SOFT_R * SOFT_C;
	struct work w = {
		malloc(sizeof(float) * RNN_H * RNN_H), malloc(sizeof(float) * RNN_H * RNN_H),
		malloc(sizeof(float) * (size_t)n), malloc(sizeof(float) * RNN_H),
		malloc(sizeof(float) * (size_t)n)
	};

	if (!w.W || !w.U || !w.x || !w.h0 || !w.out)
		return 1;
	fill(w.W, RNN_H * RNN_H, 0.1f);
	fill(w.U, RNN_H * RNN_H, 0.1f);
	fill(w.x, n, 1);
	fill(w.h0, RNN_H, 1);
	printf("peak of one core     f32 %.1f, f64 %.1f GFLOP/s\n", bench_peak_f32(),
	       bench_peak_f64());
	peer("rnn H=64 T=1000", "ns a step", 1e9 / RNN_T, do_rnn, do_rnn_fast, &w);
	peer("while over 1024", "ns a trip", 1e9 / LOOP_TRIPS, do_loop, do_loop_fast, &w);
	peer("softmax 64x1024", "us a call", 1e6, do_softmax, do_softmax_fast, &w);
	free(w.W), free(w.U), free(w.x), free(w.h0), free(w.out);
	return 0;
}
