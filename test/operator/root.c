/* root: y where 2 y + 0.5 sin y + 0.1 sum(y) = tanh f(x). What is inside may jump, so it does not depend
 * on the unknown: there might be no root. */
#include <math.h>

#include "operator/operator.h"

struct equation {
	const chain *c;
	hop_value    x;
};

static void residual(hop_trace *t, const hop_value *in, void *user)
{
	const struct equation *e = user;
	hop_value f = chain_inner(t, e->c, e->x), y = in[0];

	hop_return(t, HOP_E(t, "2 * y + 0.5 * sin(y) + 0.1 * sum(y) - tanh(f)", y, f));
}

hop_value apply_root(hop_trace *t, const chain *c, hop_value x)
{
	struct equation e = { c, x };
	hop_value x0 = hop_mulf(t, x, 0.5), y = HOP_NONE;

	hop_root(t, residual, &e, 1, &x0, NULL, &y, NULL);
	return y;
}

/* One y after the other for a given sum, and that again: the sum changes by less each time. */
void ref_root(const ref *r, int n, const double *x, double *out)
{
	double f[SUBJECT_MAX], sum = 0;

	ref_inner(r, n, x, f);
	for (int i = 0; i < n; i++)
		out[i] = 0;
	for (int turn = 0; turn < 200; turn++) {
		for (int i = 0; i < n; i++)
			for (int k = 0; k < 20; k++)
				out[i] -= (2 * out[i] + 0.5 * sin(out[i]) + 0.1 * sum - tanh(f[i])) /
				          (2 + 0.5 * cos(out[i]));
		sum = ref_total(n, out);
	}
}

static void own_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_clone(t, in[0]);

	hop_sub_(t, y, *(hop_value *)user);
	hop_mul_(t, y, hop_f(t, 2));
	hop_return(t, y);
}

static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = HOP_NONE;

	(void)user;
	hop_root(t, own_body, &x, 1, in, NULL, &y, NULL);
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
	hop_root(t, captured_body, &acc, 1, in, NULL, &y, NULL);
	hop_return(t, y);
}

/* Its own values yes, captured ones no. */
int mutation_root(hop_ctx *c)
{
	double want[1][BODY_N];

	for (int i = 0; i < BODY_N; i++)
		want[0][i] = body_x[i];
	return body_expect(c, own, NULL, BODY_N, body_x, 1, want) ||
	       body_refused(c, captured, "root: a captured tensor is written");
}

/* Inputs as residuals, exchanged: zero is where both are. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], x0[2] = { x, hop_mulf(t, x, 2) }, y[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_root(t, body_swap, NULL, 2, x0, NULL, y, NULL);
	hop_return(t, hop_add(t, x, y[0]), hop_add(t, x0[1], y[1]));
}

int aliasing_root(hop_ctx *c)
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
	hop_root(t, none_body, &k, 1, &x0, NULL, &y, NULL);
	hop_return(t, hop_sum_all(t, y), hop_mulf(t, in[0], 0));
}

/* No unknowns to speak of: no residual, and no derivative. */
int zero_root(hop_ctx *c)
{
	static const double nothing[BODY_N] = { 0 };

	return body_gradient(c, none, nothing, nothing);
}
