/* bench.h -- what the benchmarks share: the clock, the work, the peers written by hand in
 * plain C, and the machine's own peak. Nothing here knows about graphs. */
#ifndef BENCH_H
#define BENCH_H

/* ---- time ---- */

double bench_now(void);                         /* seconds */
typedef void bench_fn(void *user);
/* The best of several rounds, in seconds a call; each round runs for at least `least`. */
double bench_time(bench_fn *f, void *user, double least);

/* ---- peak: multiply-adds of one core, in GFLOP/s (two operations each) ---- */

double bench_peak_f32(void);
double bench_peak_f64(void);

/* ---- peers: compiled twice by gcc -O3 -march=native, plainly and (names with _fast) with
 * -ffast-math, which lets it use the C library's vector functions ---- */

enum { RNN_H = 64, RNN_T = 1000, LOOP_N = 1024, LOOP_TRIPS = 1000, SOFT_R = 64, SOFT_C = 1024,
       GEMM_N = 256 };

#ifdef BENCH_FAST
#define peer_rnn     peer_rnn_fast
#define peer_loop    peer_loop_fast
#define peer_softmax peer_softmax_fast
#define peer_sum     peer_sum_fast
#endif

/* h = tanh(W h + U x_t) for t = 0 .. RNN_T-1; W and U are row-major [H][H], x is [T][H]. */
void peer_rnn(const float *W, const float *U, const float *x, const float *h0, float *h);
/* while (i < trips) x = 0.999 x + 0.001 */
void peer_loop(const float *x0, float *x, long trips);
/* softmax of every row of [SOFT_R][SOFT_C] */
void peer_softmax(const float *x, float *y);
/* of n numbers, a multiple of 128 */
float peer_sum(const float *x, long n);

#ifndef BENCH_FAST
void peer_rnn_fast(const float *W, const float *U, const float *x, const float *h0, float *h);
void peer_loop_fast(const float *x0, float *x, long trips);
void peer_softmax_fast(const float *x, float *y);
float peer_sum_fast(const float *x, long n);
#endif

#endif
