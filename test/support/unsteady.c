/* unsteady.c -- inputs moved by some roundings, as many as an order of additions makes. Decides nothing
 * about programs that are steady. */
#include "support/unsteady.h"

#include <math.h>
#include <string.h>

#include "support/judge.h"
#include "support/program.h"

enum { RUNS = 12, SHARE = 4 };         /* of what they disagree by, an element moves a fourth or more */

static hop_array *nudged(hop_interp *p, const hop_array *t, double by, uint64_t *state)
{
	hop_array *r = hop_interp_new(p, t->dtype, t->rank, t->dim);
	memcpy(r->data, t->data, (size_t)t->count * hop_dtype_bytes(t->dtype));
	for (int64_t i = 0; i < t->count && hop_dtype_float(t->dtype); i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		hop_array_set_f(r, i, hop_array_f(t, i) * (1 + (*state >> 63 ? by : -by)));
	}
	return r;
}

/* y, of a nudged run, beside what was wanted: does it excuse that got is where it is? */
static bool excuses(double want, double got, double y)
{
	if (!isfinite(want) || !isfinite(got))
		return isfinite(got) ? isfinite(y) : judge_near(got, y, 0);
	return fabs(y - want) >= fabs(got - want) / SHARE;
}

/* How many elements of `got` are off and were never excused; those that are, are marked. */
static int64_t left(const hop_graph *g, hop_array *const *want, hop_array *const *got,
                    hop_array *const *y, double tol, bool **marked)
{
	int64_t n = 0;
	for (uint32_t k = 0; k < g->nout; k++)
		for (int64_t i = 0; i < want[k]->count; i++) {
			double w = hop_array_f(want[k], i), v = hop_array_f(got[k], i);
			if (marked[k][i] || judge_near(w, v, tol))
				continue;
			marked[k][i] = y && y[k]->count == want[k]->count && excuses(w, v, hop_array_f(y[k], i));
			n += !marked[k][i];
		}
	return n;
}

static void drop(hop_interp *p, uint32_t n, hop_array **t)
{
	for (uint32_t i = 0; i < n; i++)
		hop_interp_release(p, t[i]);
}

bool unsteady(hop_interp *p, const hop_graph *g, const int64_t *syms, hop_array *const *in,
              hop_array *const *want, hop_array *const *got, double tol)
{
	hop_arena *a = &p->env->tmp;
	hop_mark m = hop_mark_at(a);
	hop_array **x = HOP_NEWN(a, hop_array *, g->nparam), **y = HOP_NEWN(a, hop_array *, g->nout);
	bool **marked = HOP_NEWN(a, bool *, g->nout);
	double by = gen_has_f32(g) ? 1e-6 : 1e-13;
	uint64_t state = 1;
	int64_t n = 1;
	for (uint32_t k = 0; k < g->nout; k++) {
		if (got[k]->count != want[k]->count)
			return false;
		marked[k] = HOP_NEWN(a, bool, want[k]->count);
	}
	for (int run = 0; run < RUNS && n; run++) {
		for (uint32_t i = 0; i < g->nparam; i++)
			x[i] = nudged(p, in[i], by, &state);
		bool ran = !hop_interp_graph(p, g, syms, x, y);
		n = left(g, want, got, ran ? y : NULL, tol, marked);
		if (ran)
			drop(p, g->nout, y);
		drop(p, g->nparam, x);
		hop_diag_clear(p->env);
	}
	hop_rewind(a, m);
	return !n;
}
