/* pitfall.c -- runs a body by every door and compares it with what a test has written down. Does not
 * differentiate: slopes.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doors.h"

hop_ctx *ctx;

const char *const door_name[NDOOR] = { "eager", "interpreted", "compiled" };

void fail_at(const char *file, int line, const char *format, ...)
{
	va_list ap;
	printf("%s:%d: ", file, line);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(NULL);
	_exit(1);                                            /* what is left is left: no leaks to tell */
}

/* ---- tensors ---- */

tensor tensor_of(hop_dtype d, int rank, int64_t n, int64_t m, int64_t k, const double *v)
{
	tensor x = { .dtype = d, .rank = rank, .dim = { n, m, k }, .v = v };
	return x;
}

tensor unknown_at(tensor x, int axis, const char *name)
{
	x.sym[axis] = name;
	return x;
}

int64_t tensor_count(const tensor *x)
{
	int64_t n = 1;
	for (int i = 0; i < x->rank; i++)
		n *= x->dim[i];
	return n;
}

static void put(hop_array *a, int64_t i, double v)
{
	void *p = hop_array_data(a);
	switch (hop_array_dtype(a)) {
	case HOP_bool: ((bool *)p)[i] = v != 0; break;
	case HOP_i32: ((int32_t *)p)[i] = (int32_t)v; break;
	case HOP_i64: ((int64_t *)p)[i] = (int64_t)v; break;
	case HOP_f32: ((float *)p)[i] = (float)v; break;
	case HOP_f64: ((double *)p)[i] = v; break;
	default: fail("a test writes down no tensors of 16 bits: cast inside");
	}
}

hop_array *array_of(const tensor *x)
{
	hop_array *a;
	ok(hop_array_new(ctx, x->dtype, x->rank, x->dim, NULL, &a));
	for (int64_t i = 0; x->v && i < tensor_count(x); i++)
		put(a, i, x->v[i]);
	return a;
}

hop_spec spec_of(const tensor *x)
{
	hop_spec s = hop_spec_of(x->dtype, x->rank, x->dim);
	for (int i = 0; i < x->rank; i++)
		if (x->sym[i])
			s = hop_spec_sym(s, i, x->sym[i], 0, 0);
	return s;
}

static double tolerance(hop_dtype d)
{
	return d == HOP_f64 ? 1e-10 : d == HOP_f32 ? 1e-5 : d == HOP_bf16 || d == HOP_f16 ? 1e-2 : 0;
}

void compare(const char *file, int line, const char *what, int k, const hop_array *a,
             const tensor *want)
{
	double tol = tolerance(want->dtype);
	if (hop_array_dtype(a) != want->dtype || hop_array_rank(a) != want->rank)
		fail_at(file, line, "%s: result %d has dtype %d and rank %d, not %d and %d", what, k,
		        hop_array_dtype(a), hop_array_rank(a), want->dtype, want->rank);
	for (int i = 0; i < want->rank; i++)
		if (hop_array_dims(a)[i] != want->dim[i])
			fail_at(file, line, "%s: result %d: axis %d has size %lld, not %lld", what, k, i,
			        (long long)hop_array_dims(a)[i], (long long)want->dim[i]);
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		double x = hop_array_at(a, i), y = want->v ? want->v[i] : 0;
		if (x == y || (isnan(x) && isnan(y)))
			continue;
		if (!(fabs(x - y) <= tol * (1 + fabs(y))))
			fail_at(file, line, "%s: result %d: element %lld is %.17g, not %.17g", what, k,
			        (long long)i, x, y);
	}
}

/* ---- doors ---- */

hop_status go_through(enum door d, hop_body *f, void *user, int nin, const tensor *in,
                      hop_array **arrays, int nout, hop_array **out)
{
	hop_spec spec[MAXLIST];
	hop_fn *fn;
	if (d == EAGER)
		return hop_eager_call(ctx, f, user, nin, arrays, nout, out);
	for (int i = 0; i < nin; i++)
		spec[i] = spec_of(&in[i]);
	hop_status st = hop_capture(ctx, f, user, nin, spec, &fn);
	if (st)
		return st;
	if (getenv("PITFALL_TEXT") && d == INTERPRETED)
		puts(hop_fn_text(fn));
	if (hop_fn_nout(fn) != nout)
		fail("captured, the body gives %d results, not %d", hop_fn_nout(fn), nout);
	if (d == COMPILED) {                                 /* hop_call would interpret what cannot be */
		hop_exec *x;
		ok(hop_compile(fn, NULL, &x));
		hop_exec_release(x);
	}
	st = hop_call_with(fn, nin, arrays, nout, out, HOP_RUN_OPTS(.interpret = d == INTERPRETED));
	hop_fn_release(fn);
	return st;
}

void release(int n, hop_array **a)
{
	for (int i = 0; i < n; i++)
		hop_array_release(a[i]);
}

void leaves_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
               int nwant, const tensor *want, int nafter, const tensor *after)
{
	hop_array *a[MAXLIST], *out[MAXLIST];
	if (nin > MAXLIST || nwant > MAXLIST || (nafter && nafter != nin))
		fail_at(file, line, "too many tensors, or not all inputs afterwards");
	for (enum door d = 0; d < NDOOR; d++) {
		for (int i = 0; i < nin; i++)
			a[i] = array_of(&in[i]);
		if (go_through(d, f, user, nin, in, a, nwant, out))
			fail_at(file, line, "%s: %s", door_name[d], hop_message(ctx));
		for (int i = 0; i < nwant; i++)
			compare(file, line, door_name[d], i, out[i], &want[i]);
		for (int i = 0; i < nafter; i++)
			compare(file, line, door_name[d], -1 - i, a[i], &after[i]);
		release(nin, a);
		release(nwant, out);
	}
}

void gives_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
              int nwant, const tensor *want)
{
	leaves_at(file, line, f, user, nin, in, nwant, want, 0, NULL);
}

void holds_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in)
{
	gives_at(file, line, f, user, nin, in, LIST(B0(1)));
}

/* Standard output goes into a file meanwhile; what it holds then, into got. */
static hop_status run_caught(const char *file, int line, enum door d, hop_body *f, void *user,
                             int nin, const tensor *in, hop_array **a, int nout, hop_array **out,
                             size_t size, char *got)
{
	FILE *tmp = tmpfile();
	fflush(stdout);
	int was = dup(1);
	if (!tmp || was < 0 || dup2(fileno(tmp), 1) < 0)
		fail_at(file, line, "no file for what is printed");
	hop_status st = go_through(d, f, user, nin, in, a, nout, out);
	fflush(stdout);
	dup2(was, 1);
	close(was);
	rewind(tmp);
	got[fread(got, 1, size - 1, tmp)] = '\0';
	fclose(tmp);
	return st;
}

void prints_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
               const char *want)
{
	hop_array *a[MAXLIST], *out[MAXLIST];
	int nout = results_of(file, line, f, user, nin, in);
	for (enum door d = 0; d < NDOOR; d++) {
		char got[4096];
		for (int i = 0; i < nin; i++)
			a[i] = array_of(&in[i]);
		if (run_caught(file, line, d, f, user, nin, in, a, nout, out, sizeof got, got))
			fail_at(file, line, "%s: %s", door_name[d], hop_message(ctx));
		if (strcmp(got, want))
			fail_at(file, line, "%s: printed\n%snot\n%s", door_name[d], got, want);
		release(nin, a);
		release(nout, out);
	}
}

int results_of(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in)
{
	hop_spec spec[MAXLIST];
	hop_fn *fn;
	for (int i = 0; i < nin; i++)
		spec[i] = spec_of(&in[i]);
	if (hop_capture(ctx, f, user, nin, spec, &fn))
		fail_at(file, line, "capture: %s", hop_message(ctx));
	int n = hop_fn_nout(fn);
	hop_fn_release(fn);
	if (n > MAXLIST)
		fail_at(file, line, "%d results are too many", n);
	return n;
}

/* ---- refusals ---- */

static void refused(const char *file, int line, const char *how, hop_status st, hop_status want_st,
                    const char *want)
{
	const char *m = hop_message(ctx), *at = strstr(m, "error: ");
	if (at)
		m = at + strlen("error: ");
	size_t n = strcspn(m, "\n");
	if (st != want_st || n != strlen(want) || memcmp(m, want, n))
		fail_at(file, line, "%s: %s: %s\nnot %s: %s", how, hop_status_name(st),
		        st ? m : "nothing", hop_status_name(want_st), want);
}

void refuses_capture_at(const char *file, int line, hop_body *f, void *user, int nin,
                        const tensor *in, hop_status st, const char *message)
{
	hop_spec spec[MAXLIST];
	hop_fn *fn;
	for (int i = 0; i < nin; i++)
		spec[i] = spec_of(&in[i]);
	refused(file, line, "captured", hop_capture(ctx, f, user, nin, spec, &fn), st, message);
}

void refuses_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                hop_status st, const char *message)
{
	hop_array *a[MAXLIST], *out[MAXLIST];
	refuses_capture_at(file, line, f, user, nin, in, st, message);
	for (int i = 0; i < nin; i++)
		a[i] = array_of(&in[i]);
	refused(file, line, "eager", hop_eager_call(ctx, f, user, nin, a, 1, out), st, message);
	release(nin, a);
}

static void refused_from(enum door first, const char *file, int line, hop_body *f, void *user,
                         int nin, const tensor *in, hop_status st, const char *message)
{
	hop_array *a[MAXLIST], *out[MAXLIST];
	int nout = results_of(file, line, f, user, nin, in);
	for (int i = 0; i < nin; i++)
		a[i] = array_of(&in[i]);
	for (enum door d = first; d < NDOOR; d++) {
		char got[4096];
		refused(file, line, door_name[d], run_caught(file, line, d, f, user, nin, in, a, nout, out,
		        sizeof got, got), st, message);
	}
	release(nin, a);
}

void refuses_run_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                    hop_status st, const char *message)
{
	refused_from(EAGER, file, line, f, user, nin, in, st, message);
}

void refuses_call_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                     hop_status st, const char *message)
{
	refused_from(INTERPRETED, file, line, f, user, nin, in, st, message);
}
