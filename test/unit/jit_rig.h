/* jit_rig.h -- what the tests of jits share: arrays, calls, and what hop_explain must say. */
#ifndef JIT_RIG_H
#define JIT_RIG_H

#include "trace_rig.h"

static inline void ok(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", st, hop_message(ctx));
}

static inline hop_jit *jit(hop_body *f, void *user, const hop_jit_opts *o)
{
	hop_jit *j;
	ok(hop_jit_new(ctx, f, user, o, &j));
	return j;
}

/* Numbers of its own in every element. */
static inline hop_array *ramp(hop_dtype d, int rank, const int64_t *dim, double from)
{
	hop_array *a = array(d, rank, dim, NULL);
	for (int64_t i = 0; i < hop_array_count(a); i++)
		if (d == HOP_f64)
			((double *)hop_array_data(a))[i] = from + 0.25 * (double)i;
		else if (d == HOP_f32)
			((float *)hop_array_data(a))[i] = (float)(from + 0.25 * (double)i);
		else
			fail_msg("ramp of another dtype");
	return a;
}

static inline hop_array *ramp1(int64_t n, double from)
{
	return ramp(HOP_f64, 1, &n, from);
}

static inline hop_array *ramp2(int64_t n, int64_t m, double from)
{
	return ramp(HOP_f64, 2, (const int64_t[]){ n, m }, from);
}

static inline void release(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

static inline void equal(const hop_array *a, const hop_array *b)
{
	assert_int_equal(hop_array_dtype(a), hop_array_dtype(b));
	assert_int_equal(hop_array_rank(a), hop_array_rank(b));
	assert_int_equal(hop_array_count(a), hop_array_count(b));
	for (int k = 0; k < hop_array_rank(a); k++)
		assert_int_equal(hop_array_dims(a)[k], hop_array_dims(b)[k]);
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		double x = hop_array_at(a, i), y = hop_array_at(b, i);
		if (fabs(x - y) > 1e-12 * (1 + fabs(y)))
			fail_msg("element %d is %.17g, not %.17g", (int)i, x, y);
	}
}

/* The line of hop_explain that begins with `begin`, behind it. */
static inline void says(hop_jit *j, const char *begin, const char *want)
{
	const char *text = hop_explain(j), *at;
	char line[600];
	assert_non_null(text);
	at = strstr(text, begin);
	if (!at)
		fail_msg("no line %s in\n%s", begin, text);
	at += strlen(begin);
	snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
	assert_string_equal(line, want);
}

static inline void why(hop_jit *j, int capture, const char *want)
{
	char begin[32];
	const char *text = strstr(hop_explain(j), "why\n");
	assert_non_null(text);
	snprintf(begin, sizeof begin, "  capture %d: ", capture);
	const char *at = strstr(text, begin);
	if (!at)
		fail_msg("capture %d is not in\n%s", capture, text);
	at += strlen(begin);
	char line[600];
	snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
	assert_string_equal(line, want);
}

/* Call and throw the results away. */
static inline hop_status call(hop_jit *j, int nin, hop_array **in, int nout)
{
	hop_array *out[RIG_MAX];
	hop_status st = hop_jit_call(j, nin, in, nout, out);
	for (int i = 0; i < nout; i++) {
		assert_true(st ? !out[i] : out[i] != NULL);
		hop_array_release(out[i]);
	}
	return st;
}

static inline void call_n(hop_jit *j, int64_t n)
{
	hop_array *x = ramp1(n, 1);
	ok(call(j, 1, &x, 1));
	hop_array_release(x);
}

struct xw { hop_value x, w; };
HOP_TREE(names, struct xw, x, w);

static int runs;              /* of bodies */

static inline void add(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	runs++;
	hop_return(t, hop_add(t, in[0], in[1]));
}

struct config {
	int    layers;
	char   pad[12];
	double scale;
};

static inline void configured(hop_trace *t, const hop_value *in, void *user)
{
	const struct config *c = user;
	hop_value x = in[0];
	runs++;
	for (int i = 0; i < c->layers; i++)
		x = hop_mulf(t, x, c->scale);
	hop_return(t, x);
}

static inline double at_two(hop_jit *j)
{
	hop_array *x = num(2), *y;
	ok(hop_jit_call(j, 1, &x, 1, &y));
	double v = hop_array_at(y, 0);
	hop_array_release(x);
	hop_array_release(y);
	return v;
}

#endif
