/* switch: f(-x / 2) + 0.25, 1.5 f(x) or 0.8 f(0.3 x), as the sum of x is up to 0, up to 2, or more. */
#include "operator/operator.h"

static void first_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_addf(t, chain_inner(t, user, hop_mulf(t, in[0], -0.5)), 0.25));
}

static void second_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mulf(t, chain_inner(t, user, in[0]), 1.5));
}

static void third_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mulf(t, chain_inner(t, user, hop_mulf(t, in[0], 0.3)), 0.8));
}

hop_value apply_switch(hop_trace *t, const chain *c, hop_value x)
{
	hop_body *const branch[3] = { first_body, second_body, third_body };
	hop_value sum = hop_sum_all(t, x), out = HOP_NONE;
	hop_value some = hop_cast(t, hop_lt(t, hop_f(t, 0), sum), HOP_i64);
	hop_value many = hop_cast(t, hop_lt(t, hop_f(t, 2), sum), HOP_i64);

	hop_switch(t, hop_add(t, some, many), 3, branch, (void *)c, 1, &x, 1, &out);
	return out;
}

void ref_switch(const ref *r, int n, const double *x, double *out)
{
	double sum = ref_total(n, x), a[SUBJECT_MAX];
	int way = sum > 2 ? 2 : sum > 0;
	static const double scale[3] = { -0.5, 1, 0.3 };

	ref_went(r, way);
	for (int i = 0; i < n; i++)
		a[i] = scale[way] * x[i];
	ref_inner(r, n, a, out);
	for (int i = 0; i < n; i++)
		out[i] = way == 2 ? 0.8 * out[i] : way == 1 ? 1.5 * out[i] : out[i] + 0.25;
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_body *const branch[3] = { body_keep, body_keep, body_write };

	hop_switch(t, hop_i(t, 7), 3, branch, acc, 1, &x, 1, out);
}

int mutation_switch(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

/* An index before the first. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_body *const branch[3] = { body_pair, body_swap, body_swap };
	hop_value a[2] = { in[0], hop_mulf(t, in[0], 2) }, out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_switch(t, hop_i(t, -1), 3, branch, NULL, 2, a, 2, out);
	hop_return(t, out[0], out[1]);
}

int aliasing_switch(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_switch(hop_ctx *c)
{
	(void)c;
	return 0;
}
