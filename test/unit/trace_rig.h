/* trace_rig.h -- runs one body captured and eagerly, and compares both with numbers worked
 * out by the test in plain C. */
#ifndef TRACE_RIG_H
#define TRACE_RIG_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hop/hop.h"

enum { RIG_MAX = 8 };

static hop_ctx *ctx;

static inline int rig_up(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) != HOP_OK;
}

static inline int rig_down(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

static inline hop_array *array(hop_dtype d, int rank, const int64_t *dim, const void *data)
{
	hop_array *a;
	assert_int_equal(hop_array_new(ctx, d, rank, dim, data, &a), HOP_OK);
	return a;
}

static inline hop_array *vec(int64_t n, const double *v)
{
	return array(HOP_f64, 1, &n, v);
}

static inline hop_array *num(double v)
{
	return array(HOP_f64, 0, NULL, &v);
}

static inline hop_array *num_i(int64_t v)
{
	return array(HOP_i64, 0, NULL, &v);
}

static inline hop_spec spec_of(const hop_array *a)
{
	return hop_spec_of(hop_array_dtype(a), hop_array_rank(a), hop_array_dims(a));
}

static inline void same(const hop_array *a, const double *want, int64_t n)
{
	assert_non_null(a);
	assert_int_equal(hop_array_count(a), n);
	for (int64_t i = 0; i < n; i++)
		if (fabs(hop_array_at(a, i) - want[i]) > 1e-6 * (1 + fabs(want[i])))
			fail_msg("element %d is %g, not %g", (int)i, hop_array_at(a, i), want[i]);
}

/* One result each way, flattened: want[i] has n[i] numbers. Inputs are copied for each run,
 * and what a run wrote into them must be `after`, when given. */
struct rig {
	hop_body     *f;
	void         *user;
	int           nin, nout;
	hop_array    *in[RIG_MAX];
	const double *want[RIG_MAX];
	int64_t       n[RIG_MAX];
	const double *after[RIG_MAX];
};

static inline void rig_compare(struct rig *r, hop_array **in, hop_array **out, const char *how)
{
	for (int i = 0; i < r->nout; i++) {
		if (!out[i])
			fail_msg("%s: result %d is missing", how, i);
		same(out[i], r->want[i], r->n[i]);
		hop_array_release(out[i]);
	}
	for (int i = 0; i < r->nin; i++) {
		if (r->after[i])
			same(in[i], r->after[i], hop_array_count(in[i]));
		hop_array_release(in[i]);
	}
}

static inline void rig_run(struct rig *r)
{
	hop_spec spec[RIG_MAX];
	hop_array *in[RIG_MAX], *out[RIG_MAX];
	hop_fn *f;
	for (int i = 0; i < r->nin; i++)
		spec[i] = spec_of(r->in[i]);
	for (int way = 0; way < 2; way++) {
		for (int i = 0; i < r->nin; i++)
			in[i] = array(hop_array_dtype(r->in[i]), hop_array_rank(r->in[i]),
			              hop_array_dims(r->in[i]), hop_array_data(r->in[i]));
		hop_status st;
		if (way) {
			st = hop_eager_call(ctx, r->f, r->user, r->nin, in, r->nout, out);
		} else {
			st = hop_capture(ctx, r->f, r->user, r->nin, spec, &f);
			if (st)
				fail_msg("capture: %s", hop_message(ctx));
			if (getenv("RIG_TEXT"))
				puts(hop_fn_text(f));
			st = hop_call(f, r->nin, in, r->nout, out);
			hop_fn_release(f);
		}
		if (st)
			fail_msg("%s: %s", way ? "eager" : "call", hop_message(ctx));
		rig_compare(r, in, out, way ? "eager" : "captured");
	}
	for (int i = 0; i < r->nin; i++)
		hop_array_release(r->in[i]);
}

/* The message of a body that must not be captured; `want` is part of it. */
static inline void rig_fails(hop_body *f, void *user, int nin, const hop_spec *in,
                             hop_status want_st, const char *want)
{
	hop_fn *fn;
	hop_status st = hop_capture(ctx, f, user, nin, in, &fn);
	assert_null(fn);
	if (st != want_st || !strstr(hop_message(ctx), want))
		fail_msg("status %d: %s\nwanted %d: %s", st, hop_message(ctx), want_st, want);
}

#endif
