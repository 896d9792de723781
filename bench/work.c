/* The same work for hop: captured once through the public interface. How it is run is the
 * library's business; the results are compared with the peers' before anything is timed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "work.h"

struct cell { hop_value W, U; };

static void rnn_step(hop_trace *t, const hop_value *in, void *user)
{
	struct cell *c = user;
	hop_value z = hop_add(t, hop_matmul(t, c->W, in[0]), hop_matmul(t, c->U, in[1]));

	hop_return(t, hop_tanh(t, z));
}

/* W, U, x, h0 -> h */
static void rnn(hop_trace *t, const hop_value *in, void *user)
{
	struct cell c = { in[0], in[1] };
	hop_value out[1] = { { 0, 0 } };

	(void)user;
	hop_scan(t, rnn_step, &c, 1, in + 3, 1, in + 2, NULL, 1, out, NULL);
	hop_return(t, out[0]);
}

static void loop_test(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_lt(t, in[0], *(hop_value *)user));
}

static void loop_trip(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)),
	           hop_addf(t, hop_mulf(t, in[1], 0.999), 0.001));
}

/* x0, trips -> x */
static void loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value trips = in[1], out[2] = { { 0, 0 }, { 0, 0 } };
	hop_value init[2] = { hop_full(t, HOP_i64, 0, NULL, 0), in[0] };

	(void)user;
	hop_while(t, loop_test, loop_trip, &trips, 2, init, NULL, out, NULL);
	hop_return(t, out[1]);
}

static void softmax(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_softmax(t, in[0], 1));
}

static void gemm(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul(t, in[0], in[1]));
}

static void tiny(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_addf(t, in[0], 1));
}

/* Inputs that differ from f32 data handed over by the caller: the number of trips. */
static hop_status give(hop_ctx *c, const hop_spec *s, const float *data, hop_array **out_a)
{
	int64_t trips = LOOP_TRIPS;

	return hop_array_new(c, s->dtype, s->rank, s->dim,
	                     s->dtype == HOP_i64 ? (const void *)&trips : data, out_a);
}

hop_status hop_work_new(hop_ctx *c, hop_work *w, enum hop_work_kind kind,
                        const float *const *data)
{
	hop_spec m = hop_spec2(HOP_f32, RNN_H, RNN_H);
	hop_spec g = hop_spec2(HOP_f32, GEMM_N, GEMM_N);
	const struct { hop_body *f; int nin; hop_spec in[4]; } all[] = {
		[HOP_WORK_RNN] = { rnn, 4, { m, m, hop_spec2(HOP_f32, RNN_T, RNN_H),
		                             hop_spec1(HOP_f32, RNN_H) } },
		[HOP_WORK_LOOP] = { loop, 2, { hop_spec1(HOP_f32, LOOP_N), hop_spec0(HOP_i64) } },
		[HOP_WORK_SOFTMAX] = { softmax, 1, { hop_spec2(HOP_f32, SOFT_R, SOFT_C) } },
		[HOP_WORK_GEMM] = { gemm, 2, { g, g } },
		[HOP_WORK_TINY] = { tiny, 1, { hop_spec0(HOP_f32) } },
	};

	memset(w, 0, sizeof *w);
	w->nin = all[kind].nin;
	for (int i = 0; i < w->nin; i++) {
		hop_status st = give(c, &all[kind].in[i], data[i], &w->in[i]);

		if (st)
			return st;
	}
	return hop_capture(c, all[kind].f, NULL, w->nin, all[kind].in, &w->fn);
}

void hop_work_free(hop_work *w)
{
	for (int i = 0; i < w->nin; i++)
		hop_array_release(w->in[i]);
	hop_fn_release(w->fn);
}

void hop_work_run(void *user)
{
	hop_work *w = user;
	hop_array *out = NULL;

	w->st = hop_call(w->fn, w->nin, w->in, 1, &out);
	hop_array_release(out);
}

double hop_work_error(hop_work *w, const float *want)
{
	hop_array *out = NULL;
	double worst = 0;

	w->st = hop_call(w->fn, w->nin, w->in, 1, &out);
	if (w->st)
		return INFINITY;
	for (int64_t i = 0; i < hop_array_count(out); i++)
		worst = fmax(worst, fabs(hop_array_at(out, i) - want[i]));
	hop_array_release(out);
	return worst;
}
