/* cond: 1.5 f(x) where the sum of x is positive, else f(-x / 2) + 0.25. */
#include "operator/operator.h"

static void then_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mulf(t, chain_inner(t, user, in[0]), 1.5));
}

static void else_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_addf(t, chain_inner(t, user, hop_mulf(t, in[0], -0.5)), 0.25));
}

static hop_value positive(hop_trace *t, hop_value x)
{
	return hop_lt(t, hop_f(t, 0), hop_sum_all(t, x));
}

hop_value apply_cond(hop_trace *t, const chain *c, hop_value x)
{
	hop_value out = HOP_NONE;

	hop_cond(t, positive(t, x), then_body, else_body, (void *)c, 1, &x, 1, &out);
	return out;
}

void ref_cond(const ref *r, int n, const double *x, double *out)
{
	bool then_ = ref_total(n, x) > 0;
	double a[SUBJECT_MAX];

	ref_went(r, then_);
	for (int i = 0; i < n; i++)
		a[i] = then_ ? x[i] : -0.5 * x[i];
	ref_inner(r, n, a, out);
	for (int i = 0; i < n; i++)
		out[i] = then_ ? 1.5 * out[i] : out[i] + 0.25;
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_cond(t, positive(t, x), body_write, body_keep, acc, 1, &x, 1, out);
}

int mutation_cond(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

/* x > 0 somewhere: (x, y), else (y, x). */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[2] = { in[0], hop_mulf(t, in[0], 2) }, out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_cond(t, positive(t, in[0]), body_pair, body_swap, NULL, 2, a, 2, out);
	hop_return(t, out[0], out[1]);
}

int aliasing_cond(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_cond(hop_ctx *c)
{
	(void)c;
	return 0;
}
