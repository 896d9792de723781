/* associative_scan: l o r = l + r + g l r with g = 0.2 f(x), which is associative whatever f is, over
 * three slices 0.3 (i + 1) x; a fifth of the sum of all prefixes. */
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

hop_value apply_associative_scan(hop_trace *t, const chain *c, hop_value x)
{
	struct law w = { c, x };
	hop_dim dim[2] = { hop_n(3), hop_dim_of(t, x, 0) };
	hop_value j = hop_addf(t, hop_iota(t, hop_dtype_of(t, x), 2, dim, 0), 1), y = HOP_NONE;
	hop_value xs = hop_mul(t, hop_mulf(t, j, 0.3), x);
	int first = 0;

	hop_associative_scan(t, combine, &w, 1, &xs, NULL, &y);
	return hop_mulf(t, hop_sum(t, y, 1, &first), 0.2);
}

void ref_associative_scan(const ref *r, int n, const double *x, double *out)
{
	double f[SUBJECT_MAX];

	ref_inner(r, n, x, f);
	for (int i = 0; i < n; i++) {
		double y = 0.3 * x[i], sum = y;

		for (int j = 1; j < 3; j++) {
			double s = 0.3 * (j + 1) * x[i];

			y = y + s + 0.2 * f[i] * y * s;
			sum += y;
		}
		out[i] = 0.2 * sum;
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

static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = HOP_NONE;

	(void)user;
	hop_associative_scan(t, own_body, NULL, 1, in, NULL, &y);
	hop_return(t, y);
}

static void captured_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_add_(t, *(hop_value *)user, in[0]);
	hop_return(t, in[1]);
}

static void captured(hop_trace *t, const hop_value *in, void *user)
{
	hop_value acc = hop_full(t, HOP_f64, 0, NULL, 0), y = HOP_NONE;

	(void)user;
	hop_associative_scan(t, captured_body, &acc, 1, in, NULL, &y);
	hop_return(t, y);
}

/* Its own values yes, captured ones no. */
int mutation_associative_scan(hop_ctx *c)
{
	double want[1][BODY_N];

	for (int i = 0; i < BODY_N; i++)
		want[0][i] = body_x[i] + (i ? want[0][i - 1] : 0);
	return body_expect(c, own, NULL, BODY_N, body_x, 1, want) ||
	       body_refused(c, captured, "associative_scan: a captured tensor is written");
}

static void last(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[2], in[3]);
}

/* The last of all that came: the slices themselves. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[2] = { in[0], hop_mulf(t, in[0], 2) }, out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_associative_scan(t, last, NULL, 2, a, NULL, out);
	hop_return(t, out[0], out[1]);
}

int aliasing_associative_scan(hop_ctx *c)
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
	hop_value x = hop_full(t, HOP_f64, 2, dim, 1), y = HOP_NONE, z = HOP_NONE, k = in[0];
	int first = 0;

	(void)user;
	hop_associative_scan(t, product, &k, 1, &x, NULL, &y);
	hop_associative_scan(t, product, &k, 1, &y,
	                     HOP_ASSOC_OPTS(.exclusive = true, .init = &k), &z);
	hop_return(t, hop_sum_all(t, z), hop_sum(t, y, 1, &first));
}

/* No slices: no rows, not even init, and nothing added to what is captured. */
int zero_associative_scan(hop_ctx *c)
{
	static const double none[BODY_N] = { 0 };

	return body_gradient(c, no_rows, none, none);
}
