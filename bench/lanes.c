/* lanes.c -- batched loops whose lanes end at different trips: each form of the loop beside
 * freezing, in turn, so that all see the same machine; and whether every lane has the same bits.
 * 10,000 lanes, trips between 10 and 1000, as many in each octave. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "hop/compile.h"
#include "hop/hop.h"
#include "lanes.h"

enum { LANES = 10000, FORMS = 4, NIN = 3, NOUT = 3, ROUNDS = 9 };

static const char *const name[FORMS] = { "auto", "freeze", "interchange", "compact" };

/* trips, y, r: y = r y (1 - y), and the sum of all y */
static void logistic(hop_trace *t, const hop_value *in, void *user)
{
	hop_value k = hop_i(t, 0), y = in[1], sum = hop_f(t, 0);

	k = hop_cast(t, k, HOP_i64);
	sum = hop_cast(t, sum, HOP_f64);
	HOP_WHILE(t, hop_lt(t, k, in[0]), k, y, sum) {
		hop_lanes(t, *(enum hop_lanes_how *)user);
		y = hop_mul(t, hop_mul(t, in[2], y), hop_sub(t, hop_f(t, 1), y));
		sum = hop_add(t, sum, y);
		k = hop_add(t, k, hop_i(t, 1));
	}
	hop_return(t, y, sum, k);
}

/* trips, M, e: Newton steps to the root of E - e sin E = M; the sum of their lengths */
static void newton(hop_trace *t, const hop_value *in, void *user)
{
	hop_value k = hop_cast(t, hop_i(t, 0), HOP_i64), E = in[1];
	hop_value sum = hop_cast(t, hop_f(t, 0), HOP_f64), e = hop_mulf(t, in[2], 0.2);

	HOP_WHILE(t, hop_lt(t, k, in[0]), k, E, sum) {
		hop_lanes(t, *(enum hop_lanes_how *)user);
		hop_value f = hop_sub(t, hop_sub(t, E, hop_mul(t, e, hop_sin(t, E))), in[1]);
		hop_value d = hop_sub(t, hop_f(t, 1), hop_mul(t, e, hop_cos(t, E)));
		hop_value step = hop_div(t, f, d);
		E = hop_sub(t, E, step);
		sum = hop_add(t, sum, hop_abs(t, step));
		k = hop_add(t, k, hop_i(t, 1));
	}
	hop_return(t, E, sum, k);
}

struct form {
	hop_exec *x;
	void     *work;
	hop_arg   in[NIN], out[NOUT];
};

static void call(void *user)
{
	struct form *f = user;

	if (hop_run(f->x, f->in, f->out, f->work))
		abort();
}

static void *room(size_t n)
{
	void *p = aligned_alloc(64, (n + 64) / 64 * 64);

	if (!p)
		abort();
	memset(p, 0, n);
	return p;
}

static hop_status make(hop_ctx *c, hop_body *body, enum hop_lanes_how how, void *const *data,
                       struct form *f)
{
	static const bool all[NIN] = { true, true, true };
	hop_spec s[NIN] = { hop_spec0(HOP_i64), hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	hop_fn *one, *many;
	hop_status st = hop_capture(c, body, &how, NIN, s, &one);

	if (st)
		return st;
	st = hop_vmap(one, all, LANES, &many);
	hop_fn_release(one);
	if (st)
		return st;
	st = hop_compile(many, HOP_COMPILE_OPTS(.threads = 1), &f->x);
	hop_fn_release(many);
	if (st)
		return st;
	for (int i = 0; i < NIN; i++)
		f->in[i].data = data[i];
	for (int i = 0; i < NOUT; i++)
		f->out[i].data = room(LANES * 8);
	f->work = room((size_t)hop_exec_workspace(f->x, f->in));
	return HOP_OK;
}

static bool same(const struct form *a, const struct form *b)
{
	for (int i = 0; i < NOUT; i++)
		if (memcmp(a->out[i].data, b->out[i].data, LANES * 8))
			return false;
	return true;
}

static hop_status row(hop_ctx *c, const char *what, hop_body *body, void *const *data)
{
	struct form f[FORMS] = { { 0 } };
	double best[FORMS] = { INFINITY, INFINITY, INFINITY, INFINITY };
	hop_status st = HOP_OK;

	for (int k = 0; k < FORMS && !st; k++)
		st = make(c, body, (enum hop_lanes_how)k, data, &f[k]);
	for (int r = 0; r < ROUNDS && !st; r++)
		for (int k = 0; k < FORMS; k++) {
			double s = bench_time(call, &f[k], 0.001);
			best[k] = s < best[k] ? s : best[k];
		}
	for (int k = 0; k < FORMS && !st; k++)
		printf("%-10s %-12s %9.0f us   %5.2f   %s\n", what, name[k], best[k] * 1e6,
		       best[HOP_LANES_FREEZE] / best[k],
		       same(&f[k], &f[HOP_LANES_FREEZE]) ? "same bits" : "OTHER BITS");
	for (int k = 0; k < FORMS; k++) {
		hop_exec_release(f[k].x);
		free(f[k].work);
		for (int i = 0; i < NOUT; i++)
			free(f[k].out[i].data);
	}
	return st;
}

int bench_lanes(void)
{
	void *data[NIN] = { room(LANES * 8), room(LANES * 8), room(LANES * 8) };
	int64_t *trips = data[0];
	double *y = data[1], *r = data[2], sum = 0;
	unsigned s = 1;
	hop_ctx *c;

	if (hop_ctx_new(NULL, &c))
		return 1;
	for (int i = 0; i < LANES; i++) {
		s = s * 1664525u + 1013904223u;
		trips[i] = (int64_t)(10 * pow(100, (s >> 8) / 16777216.0));
		s = s * 1664525u + 1013904223u;
		y[i] = (s >> 8) / 16777216.0;
		s = s * 1664525u + 1013904223u;
		r[i] = 3.5 + 0.4 * (s >> 8) / 16777216.0;
		sum += (double)trips[i];
	}
	printf("%d lanes, %.0f trips each on average, one thread: time, and freeze over it\n", LANES,
	       sum / LANES);
	hop_status st = row(c, "logistic", logistic, data);
	if (!st)
		st = row(c, "newton", newton, data);
	if (st)
		printf("%s\n", hop_message(c));
	for (int i = 0; i < NIN; i++)
		free(data[i]);
	hop_ctx_free(c);
	return st != HOP_OK;
}
