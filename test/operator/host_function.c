/* host_function: f(x) as C code of the host makes it of what is inside, x + x^2 / 8 of each element, by
 * rules that are bodies. It holds no body: what is inside comes in as its input. */
#include "operator/operator.h"

#include "support/host_fns.h"

static hop_value lift(hop_trace *t, hop_value x)
{
	hop_value y = HOP_NONE;

	hop_host(t, "test.host_function", 1, &x, 1, NULL, &y);
	return y;
}

hop_value apply_host_function(hop_trace *t, const chain *c, hop_value x)
{
	return lift(t, chain_inner(t, c, x));
}

void ref_host_function(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] += out[i] * out[i] / 8;
}

/* The host writes, in place of a body: acc += 2 x, and twice its element 0. */
static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_value in[2] = { *acc, x };

	hop_host(t, "test.write", 2, in, 0, NULL, NULL);
	*out = hop_addf(t, x, 1);
}

int mutation_host_function(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

/* What comes in comes out: results are never the memory of an input. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value same = HOP_NONE;

	(void)user;
	hop_host(t, "test.same", 1, in, 1, NULL, &same);
	hop_return(t, same, hop_mulf(t, in[0], 2));
}

int aliasing_host_function(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_host_function(hop_ctx *c)
{
	(void)c;
	return 0;
}
