/* scans.c -- scans beside loops by hand, with the same threads, in turn, so that all see the same
 * machine; the least of several rounds. What is promised: the selective scan at the speed of the
 * loop, forward and gradient; a long affine scan at 65 % of what a copy moves. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hop/hop.h"
#include "scans.h"

enum { ROUNDS = 12, MOST = 6, AFFINE = 1 << 25 };

/* ---- programs ---- */

static hop_value along(hop_trace *t, hop_value x, int axis)
{
	return hop_unsqueeze(t, x, axis);
}

/* h; x, dt, B, C -> h, y */
static void select_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value A = *(hop_value *)user, dt = along(t, in[2], 2), u = hop_mul(t, in[1], in[2]);
	hop_value h = hop_mul(t, hop_exp(t, hop_mul(t, dt, A)), in[0]);

	h = hop_add(t, h, hop_mul(t, along(t, u, 2), along(t, in[3], 1)));
	hop_return(t, h, hop_sum(t, hop_mul(t, h, along(t, in[4], 1)), 1, (const int[]){ 2 }));
}

/* x, dt, A, B, C -> y */
static hop_value by_scan(hop_trace *t, const hop_value *in)
{
	const hop_dim dim[] = { hop_n(SEL_B), hop_n(SEL_D), hop_n(SEL_N) };
	hop_value h = hop_zeros(t, HOP_f32, 3, dim), A = in[2], out[2] = { { 0, 0 }, { 0, 0 } };
	hop_value xs[] = { in[0], in[1], in[3], in[4] };

	hop_scan(t, select_step, &A, 1, &h, 4, xs, NULL, 2, out, NULL);
	return out[1];
}

static void affine(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[2]), hop_add(t, hop_mul(t, in[1], in[2]), in[3]));
}

static hop_value by_assoc(hop_trace *t, const hop_value *in)
{
	hop_value u = hop_mul(t, in[1], in[0]), out[2] = { { 0, 0 }, { 0, 0 } }, xs[2];

	xs[0] = hop_exp(t, hop_mul(t, along(t, in[1], 3), in[2]));
	xs[1] = hop_mul(t, along(t, u, 3), along(t, in[3], 2));
	hop_associative_scan(t, affine, NULL, 2, xs, NULL, out);
	return hop_sum(t, hop_mul(t, out[1], along(t, in[4], 2)), 1, (const int[]){ 3 });
}

static void scan_y(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, by_scan(t, in));
}

static void scan_loss(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, by_scan(t, in)));
}

static void assoc_y(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, by_assoc(t, in));
}

static void assoc_loss(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, by_assoc(t, in)));
}

static void sums(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_cumsum(t, in[0], 1));
}

static void pairs(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };

	(void)user;
	hop_associative_scan(t, affine, NULL, 2, in, NULL, out);
	hop_return(t, out[0], out[1]);
}

/* ---- a program that is ready to run ---- */

struct ready {
	hop_exec *x;
	void     *work;
	int64_t   bytes;
	hop_arg   in[MOST], out[MOST];
	int       nout;
};

static bool make(hop_ctx *c, hop_body *body, bool grad, int nin, const hop_spec *s,
                 float *const *in, int threads, struct ready *r)
{
	hop_compile_opts o = { .size = sizeof o, .threads = threads };
	hop_fn *f = NULL, *g = NULL;
	const int wrt[] = { 0, 1, 2, 3, 4 };
	bool ok = !hop_capture(c, body, NULL, nin, s, &f) && (!grad || !hop_grad(f, nin, wrt, &g));

	memset(r, 0, sizeof *r);
	ok = ok && !hop_compile(g ? g : f, &o, &r->x);
	r->nout = ok ? hop_fn_nout(g ? g : f) : 0;
	for (int i = 0; ok && i < nin; i++)
		r->in[i].data = in[i];
	for (int i = 0; ok && i < r->nout; i++) {
		int64_t dim[HOP_RANK], n = 1;
		int rank = hop_exec_result(r->x, r->in, i, dim);

		for (int k = 0; k < rank; k++)
			n *= dim[k];
		r->out[i].data = aligned_alloc(64, (size_t)(n * 4 + 63) / 64 * 64);
		ok = r->out[i].data != NULL;
	}
	r->bytes = ok ? hop_exec_workspace_for(r->x, r->in, r->out) : 0;
	r->work = ok ? aligned_alloc(64, (size_t)(r->bytes + 127) / 64 * 64) : NULL;
	hop_fn_release(g);
	hop_fn_release(f);
	if (!r->work)
		printf("hop: %s\n", hop_message(c));
	return r->work != NULL;
}

static void drop(struct ready *r)
{
	hop_exec_release(r->x);
	free(r->work);
	for (int i = 0; i < r->nout; i++)
		free(r->out[i].data);
}

static double time_ready(struct ready *r, double least)
{
	double start = bench_now();

	if (hop_run(r->x, r->in, r->out, r->work))
		return INFINITY;
	return fmin(least, bench_now() - start);
}

/* ---- by hand, in as many parts as threads ---- */

typedef void part_fn(const void *user, int part, int parts);
struct part { part_fn *f; const void *user; };

static void *second(void *user)
{
	struct part *p = user;

	p->f(p->user, 1, 2);
	return NULL;
}

static double time_hand(part_fn *f, const void *user, int threads, double least)
{
	struct part p = { f, user };
	double start = bench_now();
	pthread_t other;
	bool two = threads > 1 && !pthread_create(&other, NULL, second, &p);

	f(user, 0, two ? 2 : 1);
	if (two)
		pthread_join(other, NULL);
	return fmin(least, bench_now() - start);
}

#define PART(name) \
static void hand_##name(const void *user, int part, int parts) \
{ \
	name(user, SEL_B * part / parts, SEL_B * (part + 1) / parts); \
}
PART(peer_select)
PART(peer_select_fast)
PART(peer_select_grad)
PART(peer_select_grad_fast)
#undef PART

/* ---- rows ---- */

static double difference(const float *a, const float *b, long n)
{
	double worst = 0, most = 1e-30;

	for (long i = 0; i < n; i++) {
		worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
		most = fmax(most, fabs((double)b[i]));
	}
	return worst / most;
}

static float *make_array(long n, float low, float high)
{
	float *p = aligned_alloc(64, (size_t)(n * 4 + 63) / 64 * 64);
	unsigned s = 12345;

	for (long i = 0; p && i < n; i++) {
		s = s * 1664525u + 1013904223u;
		p[i] = low + (high - low) * ((float)(s >> 8) / 16777216.0f);
	}
	return p;
}

static void select_row(hop_ctx *c, const char *name, hop_body *body, bool grad,
                       const struct select *q, float *const *in, int threads)
{
	hop_spec x = hop_spec3(HOP_f32, SEL_T, SEL_B, SEL_D), b = hop_spec3(HOP_f32, SEL_T, SEL_B, SEL_N);
	const hop_spec s[] = { x, x, hop_spec2(HOP_f32, SEL_D, SEL_N), b, b };
	double hand = INFINITY, fast = INFINITY, hop = INFINITY;
	struct ready r;

	if (make(c, body, grad, 5, s, in, threads, &r)) {
		for (int i = 0; i < ROUNDS; i++) {
			hand = time_hand(grad ? hand_peer_select_grad : hand_peer_select, q, threads, hand);
			fast = time_hand(grad ? hand_peer_select_grad_fast : hand_peer_select_fast, q, threads,
			                 fast);
			hop = time_ready(&r, hop);
		}
		printf("%-26s %d %9.2f %9.2f %9.2f   %5.2f   %6.0f   %.1e\n", name, threads, hand * 1e3,
		       fast * 1e3, hop * 1e3, fmin(hand, fast) / hop, (double)r.bytes / 1e6,
		       difference(r.out[grad].data, grad ? q->gx : q->y, (long)SEL_T * SEL_B * SEL_D));
	}
	fflush(stdout);
	drop(&r);
}

static void selects(hop_ctx *c)
{
	long wide = (long)SEL_T * SEL_B * SEL_D, thin = (long)SEL_T * SEL_B * SEL_N;
	long state = (long)SEL_B * SEL_D * SEL_N;
	float *in[] = { make_array(wide, -1, 1), make_array(wide, 0.001f, 0.1f),
	                make_array((long)SEL_D * SEL_N, -8, -0.5f), make_array(thin, -1, 1),
	                make_array(thin, -1, 1) };
	float *own[] = { make_array(state, 0, 0), make_array(wide, 0, 0), make_array(wide * SEL_N, 0, 0),
	                 make_array(state, 0, 0), make_array(wide, 0, 0), make_array(wide, 0, 0),
	                 make_array(state, 0, 0), make_array(thin, 0, 0), make_array(thin, 0, 0) };
	struct select q = { in[0], in[1], in[2], in[3], in[4], own[0], own[1], own[2], own[3], own[4],
	                    own[5], own[6], own[7], own[8] };

	printf("\nselective scan: %d steps, %d samples, %d channels of %d states, ms\n%-26s %s %9s %9s %9s"
	       "   %5s   %6s   %s\n", SEL_T, SEL_B, SEL_D, SEL_N, "", "threads", "gcc", "gcc fast", "hop",
	       "speed", "MB", "difference");
	for (int k = 1; k <= 2; k++) {
		select_row(c, "scan", scan_y, false, &q, in, k);
		select_row(c, "associative_scan", assoc_y, false, &q, in, k);
		select_row(c, "gradient of scan", scan_loss, true, &q, in, k);
		select_row(c, "gradient of associative", assoc_loss, true, &q, in, k);
	}
	for (int i = 0; i < 5; i++)
		free(in[i]);
	for (int i = 0; i < 9; i++)
		free(own[i]);
}

struct rows { const float *x; float *y; long rows, n; };

static void hand_rows(const void *user, int part, int parts)
{
	const struct rows *q = user;
	long from = q->rows * part / parts, to = q->rows * (part + 1) / parts;

	peer_cumsum(q->x + from * q->n, q->y + from * q->n, to - from, q->n);
}

static void sum_rows(hop_ctx *c)
{
	static const long shape[][2] = { { 100000, 10 }, { 10000, 100 }, { 1000, 1000 }, { 16, 65536 },
	                                 { 1, 1 << 20 } };

	printf("\nsums along rows, us\n%-26s %9s %9s   %5s   %s\n", "", "gcc", "hop", "speed",
	       "difference");
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		long n = shape[i][0] * shape[i][1];
		float *x = make_array(n, -1, 1), *y = make_array(n, 0, 0);
		struct rows q = { x, y, shape[i][0], shape[i][1] };
		hop_spec s = hop_spec2(HOP_f32, shape[i][0], shape[i][1]);
		double hand = INFINITY, hop = INFINITY;
		struct ready r;

		if (make(c, sums, false, 1, &s, &x, 1, &r)) {
			for (int k = 0; k < 20 * ROUNDS; k++) {
				hand = time_hand(hand_rows, &q, 1, hand);
				hop = time_ready(&r, hop);
			}
			printf("%8ld x %-15ld %9.1f %9.1f   %5.2f   %.1e\n", q.rows, q.n, hand * 1e6,
			       hop * 1e6, hand / hop, difference(r.out[0].data, y, n));
		}
		fflush(stdout);
		drop(&r);
		free(x);
		free(y);
	}
}

struct copy { float *to[2]; float *const *from; };

/* Both arrays, or half of each. */
static void hand_copy(const void *user, int part, int parts)
{
	const struct copy *q = user;
	size_t n = AFFINE / (size_t)parts;

	for (int i = 0; i < 2; i++)
		memcpy(q->to[i] + (size_t)part * n, q->from[i] + (size_t)part * n, n * sizeof(float));
}

static void affine_row(hop_ctx *c)
{
	float *in[] = { make_array(AFFINE, 0.9f, 1.1f), make_array(AFFINE, -1, 1) };
	struct copy q = { { make_array(AFFINE, 0, 0), make_array(AFFINE, 0, 0) }, in };
	const hop_spec s[] = { hop_spec1(HOP_f32, AFFINE), hop_spec1(HOP_f32, AFFINE) };

	printf("\naffine scan of %d pairs, GB/s read and written\n%-26s %9s %9s\n", AFFINE, "threads",
	       "copy", "hop");
	for (int k = 1; k <= 2; k++) {
		double copy = INFINITY, hop = INFINITY;
		struct ready r;

		if (make(c, pairs, false, 2, s, in, k, &r)) {
			for (int i = 0; i < ROUNDS; i++) {
				copy = time_hand(hand_copy, &q, k, copy);
				hop = time_ready(&r, hop);
			}
			printf("%-26d %9.1f %9.1f   %.0f %%\n", k, 16e-9 * AFFINE / copy, 16e-9 * AFFINE / hop,
			       100 * copy / hop);
		}
		fflush(stdout);
		drop(&r);
	}
	for (int i = 0; i < 2; i++) {
		free(in[i]);
		free(q.to[i]);
	}
}

int bench_scans(void)
{
	hop_ctx *c;

	if (hop_ctx_new(NULL, &c))
		return 1;
	selects(c);
	sum_rows(c);
	affine_row(c);
	hop_ctx_free(c);
	return 0;
}
