/* linear_solve: y of 2 y + 0.1 s sum(y) = x, where s = tanh f(x). What is inside makes the matrix. */
#include <math.h>

#include "operator/operator.h"

struct equation {
	const chain *c;
	hop_value    x;
};

static void matvec(hop_trace *t, const hop_value *in, void *user)
{
	const struct equation *e = user;
	hop_value f = chain_inner(t, e->c, e->x), v = in[0];

	hop_return(t, HOP_E(t, "2 * v + 0.1 * sum(v) * tanh(f)", v, f));
}

hop_value apply_linear_solve(hop_trace *t, const chain *c, hop_value x)
{
	struct equation e = { c, x };
	hop_value y = HOP_NONE;

	hop_linear_solve(t, matvec, &e, 1, &x, NULL, &y, NULL);
	return y;
}

/* By Sherman's and Morrison's formula: the sum of y first. */
void ref_linear_solve(const ref *r, int n, const double *x, double *out)
{
	double f[SUBJECT_MAX], s = 0;

	ref_inner(r, n, x, f);
	for (int i = 0; i < n; i++)
		s += tanh(f[i]);
	s = 0.5 * ref_total(n, x) / (1 + 0.05 * s);
	for (int i = 0; i < n; i++)
		out[i] = 0.5 * (x[i] - 0.1 * s * tanh(f[i]));
}

static void own_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_clone(t, in[0]);

	(void)user;
	hop_mul_(t, y, hop_f(t, 0.5));
	hop_return(t, y);
}

static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = HOP_NONE;

	(void)user;
	hop_linear_solve(t, own_body, NULL, 1, in, NULL, &y, NULL);
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
	hop_linear_solve(t, captured_body, &acc, 1, in, NULL, &y, NULL);
	hop_return(t, y);
}

/* Its own values yes, captured ones no. */
int mutation_linear_solve(hop_ctx *c)
{
	double want[1][BODY_N];

	for (int i = 0; i < BODY_N; i++)
		want[0][i] = 2 * body_x[i];
	return body_expect(c, own, NULL, BODY_N, body_x, 1, want) ||
	       body_refused(c, captured, "linear_solve: a captured tensor is written");
}

/* A matrix that exchanges: so does its inverse. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value b[2] = { hop_mulf(t, in[0], 2), in[0] }, y[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_linear_solve(t, body_swap, NULL, 2, b, NULL, y, NULL);
	hop_return(t, y[0], y[1]);
}

int aliasing_linear_solve(hop_ctx *c)
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
	hop_value b = hop_full(t, HOP_f64, 1, &dim, 0), y = HOP_NONE, k = in[0];

	(void)user;
	hop_linear_solve(t, none_body, &k, 1, &b, NULL, &y, NULL);
	hop_return(t, hop_sum_all(t, y), hop_mulf(t, in[0], 0));
}

/* No equations: no solution, and no derivative for their matrix. */
int zero_linear_solve(hop_ctx *c)
{
	static const double nothing[BODY_N] = { 0 };

	return body_gradient(c, none, nothing, nothing);
}
