/* reduce: from init = x on, l o r = l + r + g l r with g = 0.2 f(x) over three slices 0.2 (i + 1) x;
 * half of what comes out. */
#include <string.h>

#include "operator/operator.h"

struct law {
	const chain *c;
	hop_value    x;
};

static void combine(hop_trace *t, const hop_value *in, void *user)
{
	const struct law *w = user;
	hop_value g = hop_mulf(t, chain_inner(t, w->c, w->x), 0.2), l = in[0], r = in[1];

	hop_return(t, HOP_E(t, "l + r + g * l * r", l, r, g));
}

hop_value apply_reduce(hop_trace *t, const chain *c, hop_value x)
{
	struct law w = { c, x };
	hop_dim dim[2] = { hop_n(3), hop_dim_of(t, x, 0) };
	hop_value j = hop_addf(t, hop_iota(t, hop_dtype_of(t, x), 2, dim, 0), 1), y = HOP_NONE;
	hop_value xs = hop_mul(t, hop_mulf(t, j, 0.2), x);

	hop_reduce_with(t, combine, &w, 1, &x, &xs, 0, &y);
	return hop_mulf(t, y, 0.5);
}

void ref_reduce(const ref *r, int n, const double *x, double *out)
{
	double f[SUBJECT_MAX];

	ref_inner(r, n, x, f);
	for (int i = 0; i < n; i++) {
		double y = x[i];

		for (int j = 0; j < 3; j++) {
			double s = 0.2 * (j + 1) * x[i];

			y = y + s + 0.2 * f[i] * y * s;
		}
		out[i] = 0.5 * y;
	}
}

static void own_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_clone(t, in[0]);

	(void)user;
	hop_add_(t, y, in[1]);
	hop_mul_(t, in[0], in[1]);         /* what it is given is the body's own, too */
	hop_return(t, y);
}

/* Rows x, 2x, 3x added to x. */
static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim dim[2] = { hop_n(3), hop_n(BODY_N) };
	hop_value j = hop_addf(t, hop_iota(t, HOP_f64, 2, dim, 0), 1), y = HOP_NONE;
	hop_value xs = hop_mul(t, j, in[0]);

	(void)user;
	hop_reduce_with(t, own_body, NULL, 1, in, &xs, 0, &y);
	hop_return(t, y);
}

static void captured_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_add_(t, *(hop_value *)user, in[0]);
	hop_return(t, in[1]);
}

static void captured(hop_trace *t, const hop_value *in, void *user)
{
	hop_value acc = hop_full(t, HOP_f64, 0, NULL, 0), zero = hop_f(t, 0), y = HOP_NONE;

	(void)user;
	hop_reduce_with(t, captured_body, &acc, 1, &zero, in, 0, &y);
	hop_return(t, y);
}

/* Its own values yes, captured ones no. */
int mutation_reduce(hop_ctx *c)
{
	double want[1][BODY_N];

	for (int i = 0; i < BODY_N; i++)
		want[0][i] = 7 * body_x[i];
	return body_expect(c, own, NULL, BODY_N, body_x, 1, want) ||
	       body_refused(c, captured, "reduce_with: a captured tensor is written");
}

static void first(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[1]);
}

/* The first of all: the inits. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[2] = { in[0], hop_mulf(t, in[0], 2) }, out[2] = { HOP_NONE, HOP_NONE };
	hop_dim dim[2] = { hop_n(2), hop_n(BODY_N) };
	hop_value xs[2] = { hop_full(t, HOP_f64, 2, dim, 5), hop_full(t, HOP_f64, 2, dim, 6) };

	(void)user;
	hop_reduce_with(t, first, NULL, 2, a, xs, 0, out);
	hop_return(t, out[0], out[1]);
}

int aliasing_reduce(hop_ctx *c)
{
	return body_aliases(c, alias);
}

static void product(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, hop_mul(t, in[0], in[1]), *(hop_value *)user));
}

static void no_rows(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim dim[2] = { hop_n(0), hop_n(BODY_N) };
	hop_value x = hop_full(t, HOP_f64, 2, dim, 1), y = HOP_NONE, k = in[0];

	(void)user;
	hop_reduce_with(t, product, &k, 1, &k, &x, 0, &y);
	hop_return(t, hop_sum_all(t, y), y);
}

/* No slices: init, and what goes into it. */
int zero_reduce(hop_ctx *c)
{
	static const double one[BODY_N] = { 1, 1, 1 };

	return body_gradient(c, no_rows, body_x, one);
}
