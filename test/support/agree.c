/* agree.c -- see agree.h. */
#include "support/agree.h"

#include <math.h>
#include <stdio.h>

enum { MOST = 8 };

hop_array *agree_input(hop_ctx *c, hop_dtype d, int rank, const int64_t *dim, double step)
{
	hop_array *a;
	if (hop_array_new(c, d, rank, dim, NULL, &a))
		return NULL;
	for (int64_t i = 0; i < hop_array_count(a); i++) {
		double v = sin(step * (double)(i + 1) + 0.37 * (double)(i % 11));
		if (d == HOP_f64)
			((double *)hop_array_data(a))[i] = v;
		else
			((float *)hop_array_data(a))[i] = (float)v;
	}
	return a;
}

static bool same(hop_array *a, hop_array *b, double tol, int64_t *where)
{
	int64_t n = hop_array_count(a);
	for (*where = 0; *where < n; ++*where) {
		double x = hop_array_at(a, *where), y = hop_array_at(b, *where);
		if (!(fabs(x - y) <= tol * (1 + fabs(x))) && !(isnan(x) && isnan(y)))
			return false;
	}
	return n == hop_array_count(b);
}

bool agree(hop_ctx *c, hop_fn *f, const char *what, int nin, hop_array **in, int n, double tol)
{
	hop_array *want[MOST] = { NULL }, *got[MOST] = { NULL };
	int64_t at;
	bool ok = n <= MOST && !hop_call_with(f, nin, in, n, want, HOP_RUN_OPTS(.interpret = true)) &&
	          !hop_call(f, nin, in, n, got);
	if (!ok)
		printf("%s: %s\n", what, hop_message(c));
	for (int i = 0; ok && i < n; i++)
		if (!same(want[i], got[i], tol, &at)) {
			printf("%s: result %d, element %lld is %.17g, not %.17g\n", what, i, (long long)at,
			       hop_array_at(got[i], at), hop_array_at(want[i], at));
			ok = false;
		}
	for (int i = 0; i < MOST; i++) {
		hop_array_release(want[i]);
		hop_array_release(got[i]);
	}
	return ok;
}
