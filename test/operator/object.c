/* object: f(x) as a method of an object makes it, gain * x, where the object has the gain; with a rule
 * that is a body and asks the object for it. */
#include "operator/operator.h"

#include "support/host_fns.h"

static hop_value scaled(hop_trace *t, hop_value x)
{
	hop_value y = HOP_NONE;

	hop_method(t, "test_object.scale", hop_object(t, host_fns_object()), 1, &x, 1, NULL, &y);
	return y;
}

hop_value apply_object(hop_trace *t, const chain *c, hop_value x)
{
	return scaled(t, chain_inner(t, c, x));
}

void ref_object(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] *= 0.5;
}

/* The object adds up: what it has seen is its own; the program writes what it gives. */
static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_value in[2] = { *acc, x }, sum = HOP_NONE;

	hop_method(t, "test_object.sum", hop_object(t, host_fns_object()), 2, in, 1, NULL, &sum);
	hop_copy_(t, *acc, sum);
	*out = hop_addf(t, x, 1);
}

int mutation_object(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

/* A handle goes through as the number it is. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = hop_object(t, host_fns_object()), other = h, y = HOP_NONE;

	(void)user;
	HOP_IF(t, hop_gt(t, hop_sum_all(t, in[0]), hop_f(t, 0)), other)
		other = h;
	hop_method(t, "test_object.scale", other, 1, in, 1, NULL, &y);
	hop_return(t, hop_mulf(t, y, 2), hop_mulf(t, in[0], 2));
}

int aliasing_object(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_object(hop_ctx *c)
{
	(void)c;
	return 0;
}
