/* fixed_point: y = tanh f(x) + 0.3 sin(y) - 0.05 sum(y). What is inside may jump, so it does not
 * depend on the unknown: nothing might be fixed. */
#include <math.h>

#include "operator/operator.h"

struct equation {
	const chain *c;
	hop_value    x;
};

static void next(hop_trace *t, const hop_value *in, void *user)
{
	const struct equation *e = user;
	hop_value f = chain_inner(t, e->c, e->x), y = in[0];

	hop_return(t, HOP_E(t, "tanh(f) + 0.3 * sin(y) - 0.05 * sum(y)", f, y));
}

hop_value apply_fixed_point(hop_trace *t, const chain *c, hop_value x)
{
	struct equation e = { c, x };
	hop_value x0 = hop_mulf(t, x, 0.4), y = HOP_NONE;

	/* the reference is exact */
	double tolerance = hop_dtype_of(t, x) == HOP_f64 ? 1e-13 : 0;

	hop_fixed_point(t, next, &e, 1, &x0, HOP_IMPLICIT_OPTS(.tolerance = tolerance), &y, NULL);
	return y;
}

void ref_fixed_point(const ref *r, int n, const double *x, double *out)
{
	double f[SUBJECT_MAX];

	ref_inner(r, n, x, f);
	for (int i = 0; i < n; i++)
		out[i] = 0;
	for (int turn = 0; turn < 1000; turn++) {
		double sum = ref_total(n, out);

		for (int i = 0; i < n; i++)
			out[i] = tanh(f[i]) + 0.3 * sin(out[i]) - 0.05 * sum;
	}
}

static void own_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_clone(t, in[0]);

	hop_mul_(t, y, hop_f(t, 0));
	hop_add_(t, y, *(hop_value *)user);
	hop_return(t, y);
}

static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], x0 = hop_mulf(t, x, 3), y = HOP_NONE;

	(void)user;
	hop_fixed_point(t, own_body, &x, 1, &x0, NULL, &y, NULL);
	hop_return(t, y);
}

static void captured_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_add_(t, *(hop_value *)user, in[0]);
	hop_return(t, in[0]);
}

static void captured(hop_trace *t, const hop_value *in, void *user)
{
	hop_value acc = hop_clone(t, in[0]), y = HOP_NONE;

	(void)user;
	hop_fixed_point(t, captured_body, &acc, 1, in, NULL, &y, NULL);
	hop_return(t, y);
}

/* Its own values yes, captured ones no. */
int mutation_fixed_point(hop_ctx *c)
{
	double want[1][BODY_N];

	for (int i = 0; i < BODY_N; i++)
		want[0][i] = body_x[i];
	return body_expect(c, own, NULL, BODY_N, body_x, 1, want) ||
	       body_refused(c, captured, "fixed_point: a captured tensor is written");
}

/* What goes in comes out: every start is fixed. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x0[2] = { in[0], hop_mulf(t, in[0], 2) }, y[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_fixed_point(t, body_pair, NULL, 2, x0, NULL, y, NULL);
	hop_return(t, y[0], y[1]);
}

int aliasing_fixed_point(hop_ctx *c)
{
	return body_aliases(c, alias);
}

static void none_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], hop_sum_all(t, *(hop_value *)user)));
}

static void none(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim dim = hop_n(0);
	hop_value x0 = hop_full(t, HOP_f64, 1, &dim, 0), y = HOP_NONE, k = in[0];

	(void)user;
	hop_fixed_point(t, none_body, &k, 1, &x0, NULL, &y, NULL);
	hop_return(t, hop_sum_all(t, y), hop_mulf(t, in[0], 0));
}

/* Nothing is fixed at once, and has no derivative. */
int zero_fixed_point(hop_ctx *c)
{
	static const double nothing[BODY_N] = { 0 };

	return body_gradient(c, none, nothing, nothing);
}
