/* The same work for hop: captured and compiled once through the public interface. The
 * results are compared with the peers' before anything is timed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The sum of the last state, to be differentiated. */
static void rnn_loss(hop_trace *t, const hop_value *in, void *user)
{
	struct cell c = { in[0], in[1] };
	hop_value out[1] = { { 0, 0 } };

	(void)user;
	hop_scan(t, rnn_step, &c, 1, in + 3, 1, in + 2, NULL, 1, out, NULL);
	hop_return(t, hop_sum_all(t, out[0]));
}

/* Inputs that differ from f32 data handed over by the caller: the number of trips. */
static hop_status give(hop_ctx *c, const hop_spec *s, const float *data, hop_array **out_a)
{
	int64_t trips = LOOP_TRIPS;

	return hop_array_new(c, s->dtype, s->rank, s->dim,
	                     s->dtype == HOP_i64 ? (const void *)&trips : data, out_a);
}

/* The gradient for all four inputs instead of the value. */
static hop_status differentiate(hop_work *w)
{
	hop_fn *g;
	hop_status st = hop_grad(w->fn, 4, (const int[]){ 0, 1, 2, 3 }, &g);

	if (st)
		return st;
	hop_fn_release(w->fn);
	w->fn = g;
	return HOP_OK;
}

/* Compile, and lay out results and workspace. */
static hop_status make_ready(hop_ctx *c, hop_work *w)
{
	hop_compile_opts o = { .size = sizeof o, .threads = 1, .no_cache = true };
	hop_status st = hop_compile(w->fn, &o, &w->x);

	if (st)
		return st;
	for (int i = 0; i < w->nin; i++)
		w->ain[i].data = hop_array_data(w->in[i]);
	w->nout = hop_fn_nout(w->fn);
	for (int k = 0; k < w->nout; k++) {
		int64_t dim[HOP_RANK];
		int rank = hop_exec_result(w->x, w->ain, k, dim);

		st = hop_array_new(c, HOP_f32, rank, dim, NULL, &w->out[k]);
		if (st)
			return st;
		w->aout[k].data = hop_array_data(w->out[k]);
	}
	int64_t n = hop_exec_workspace(w->x, w->ain);
	w->space = aligned_alloc(64, (size_t)(n + 127) / 64 * 64);
	return w->space ? HOP_OK : HOP_ENOMEM;
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
		[HOP_WORK_RNN_GRAD] = { rnn_loss, 4, { m, m, hop_spec2(HOP_f32, RNN_T, RNN_H),
		                                       hop_spec1(HOP_f32, RNN_H) } },
	};

	memset(w, 0, sizeof *w);
	w->nin = all[kind].nin;
	for (int i = 0; i < w->nin; i++) {
		hop_status st = give(c, &all[kind].in[i], data[i], &w->in[i]);

		if (st)
			return st;
	}
	hop_status st = hop_capture(c, all[kind].f, NULL, w->nin, all[kind].in, &w->fn);
	if (!st && kind == HOP_WORK_RNN_GRAD)
		st = differentiate(w);
	return st ? st : make_ready(c, w);
}

void hop_work_free(hop_work *w)
{
	for (int i = 0; i < w->nin; i++)
		hop_array_release(w->in[i]);
	for (int i = 0; i < w->nout; i++)
		hop_array_release(w->out[i]);
	free(w->space);
	hop_exec_release(w->x);
	hop_fn_release(w->fn);
}

void hop_work_run(void *user)
{
	hop_work *w = user;

	w->st = hop_run(w->x, w->ain, w->aout, w->space);
}

double hop_work_error(hop_work *w, const float *want)
{
	double worst = 0;

	hop_work_run(w);
	if (w->st)
		return INFINITY;
	for (int64_t i = 0; i < hop_array_count(w->out[0]); i++)
		worst = fmax(worst, fabs(hop_array_at(w->out[0], i) - want[i]));
	return worst;
}
