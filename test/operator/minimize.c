/* minimize: the least of y^2 / 2 + sqrt(1 + y^2) / 4 - y tanh f(x). What is inside tilts it. */
#include <math.h>

#include "operator/operator.h"

struct equation {
	const chain *c;
	hop_value    x;
};

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	const struct equation *e = user;
	hop_value f = chain_inner(t, e->c, e->x), y = in[0];

	hop_return(t, HOP_E(t, "sum(0.5 * y * y + 0.25 * sqrt(1 + y * y) - y * tanh(f))", y, f));
}

hop_value apply_minimize(hop_trace *t, const chain *c, hop_value x)
{
	struct equation e = { c, x };
	hop_value y = HOP_NONE;

	hop_minimize(t, loss, &e, 1, &x, NULL, &y, NULL);
	return y;
}

/* Where y + y / (4 sqrt(1 + y^2)) is tanh f: the left side rises, at least as much as y. */
void ref_minimize(const ref *r, int n, const double *x, double *out)
{
	double f[SUBJECT_MAX];

	ref_inner(r, n, x, f);
	for (int i = 0; i < n; i++) {
		double y = 0, want = tanh(f[i]);

		for (int turn = 0; turn < 60; turn++) {
			double w = sqrt(1 + y * y);

			y -= (y + 0.25 * y / w - want) / (1 + 0.25 / (w * w * w));
		}
		out[i] = y;
	}
}

static void own_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_clone(t, in[0]);

	hop_sub_(t, y, *(hop_value *)user);
	hop_mul_(t, y, y);
	hop_return(t, hop_sum_all(t, y));
}

static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], x0 = hop_mulf(t, x, 3), y = HOP_NONE;

	(void)user;
	hop_minimize(t, own_body, &x, 1, &x0, NULL, &y, NULL);
	hop_return(t, y);
}

static void captured_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_add_(t, *(hop_value *)user, in[0]);
	hop_return(t, hop_sum_all(t, in[0]));
}

static void captured(hop_trace *t, const hop_value *in, void *user)
{
	hop_value acc = hop_clone(t, in[0]), y = HOP_NONE;

	(void)user;
	hop_minimize(t, captured_body, &acc, 1, in, NULL, &y, NULL);
	hop_return(t, y);
}

/* Its own values yes, captured ones no. */
int mutation_minimize(hop_ctx *c)
{
	double want[1][BODY_N];

	for (int i = 0; i < BODY_N; i++)
		want[0][i] = body_x[i];
	return body_expect(c, own, NULL, BODY_N, body_x, 1, want) ||
	       body_refused(c, captured, "minimize: a captured tensor is written");
}

/* A loss that is what was captured has its least value wherever one starts. */
static void alias_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)in;
	hop_return(t, *(hop_value *)user);
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x0[2] = { in[0], hop_mulf(t, in[0], 2) }, y[2] = { HOP_NONE, HOP_NONE };
	hop_value k = hop_sum_all(t, in[0]);

	(void)user;
	hop_minimize(t, alias_body, &k, 2, x0, NULL, y, NULL);
	hop_return(t, y[0], y[1]);
}

int aliasing_minimize(hop_ctx *c)
{
	return body_aliases(c, alias);
}

static void none_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, hop_sum_all(t, in[0]), hop_sum_all(t, *(hop_value *)user)));
}

static void none(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim dim = hop_n(0);
	hop_value x0 = hop_full(t, HOP_f64, 1, &dim, 0), y = HOP_NONE, k = in[0];

	(void)user;
	hop_minimize(t, none_body, &k, 1, &x0, NULL, &y, NULL);
	hop_return(t, hop_sum_all(t, y), hop_mulf(t, in[0], 0));
}

/* Nothing to move, and no derivative. */
int zero_minimize(hop_ctx *c)
{
	static const double nothing[BODY_N] = { 0 };

	return body_gradient(c, none, nothing, nothing);
}
