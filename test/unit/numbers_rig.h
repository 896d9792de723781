/* numbers_rig.h -- run a body in every way, and measure how near its results are. */
#ifndef NUMBERS_RIG_H
#define NUMBERS_RIG_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hop/compile.h"
#include "hop/hop.h"

static hop_ctx *ctx;

static inline int open_ctx(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) != HOP_OK;
}

static inline int close_ctx(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

static inline void ok(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

/* ---- running ---- */

enum way { INTERP, NATIVE, EAGER, NWAY };
static const char *const way_name[] = { "interpreter", "native", "eager" };

/* The only result of a body on one input. */
static inline hop_array *run(enum way way, hop_body *f, void *user, hop_array *x)
{
	hop_array *y;
	if (way == EAGER) {
		ok(hop_eager_call(ctx, f, user, 1, &x, 1, &y));
		return y;
	}
	hop_spec s = hop_spec_of(hop_array_dtype(x), hop_array_rank(x), hop_array_dims(x));
	hop_fn *fn;
	ok(hop_capture(ctx, f, user, 1, &s, &fn));
	if (way == INTERP)
		setenv("HOP_INTERP", "1", 1);
	ok(hop_call(fn, 1, &x, 1, &y));
	unsetenv("HOP_INTERP");
	hop_fn_release(fn);
	return y;
}

/* n numbers as a vector of dtype d. */
static inline hop_array *vector(hop_dtype d, int64_t n, const double *v)
{
	hop_array *a;
	ok(hop_array_new(ctx, d, 1, &n, NULL, &a));
	for (int64_t i = 0; i < n; i++)
		if (d == HOP_f32)
			((float *)hop_array_data(a))[i] = (float)v[i];
		else
			((double *)hop_array_data(a))[i] = v[i];
	return a;
}

/* The distance between neighbours of dtype d at v. */
static inline long double ulp(hop_dtype d, long double v)
{
	int digits = d == HOP_f32 ? FLT_MANT_DIG : DBL_MANT_DIG;
	int least = d == HOP_f32 ? FLT_MIN_EXP : DBL_MIN_EXP, e;
	frexpl(v, &e);
	return ldexpl(1, (v == 0 || e < least ? least : e) - digits);
}

/* How far got is from want, in neighbours of dtype d at want or at scale, which is larger
 * where want is a small difference of larger terms. */
static inline double off(hop_dtype d, double got, long double want, long double scale)
{
	long double most = d == HOP_f32 ? FLT_MAX : DBL_MAX;
	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got) ? 0 : INFINITY;
	if (isinf(want) || fabsl(want) > most)
		return got == want || fabs(got) >= (double)most ? 0 : INFINITY;
	scale = fmaxl(fabsl(scale), fabsl(want));
	return (double)(fabsl(got - want) / ulp(d, scale));
}

#endif
