/* no_grad: f(x) + g(f(x)), g a rounding to multiples of 8 that is written as sums: to a derivative that
 * does not know the mode its slope is 1, to differences it is 0. f is inside the mode, once as it is
 * and once differentiable again. */
#include <math.h>

#include "operator/operator.h"

static const double large = 1.5 * 36028797018963968.0;         /* 2^55: its neighbours are 8 away */

hop_value apply_no_grad(hop_trace *t, const chain *c, hop_value x)
{
	hop_value y = HOP_NONE, z = HOP_NONE;

	HOP_NO_GRAD(t) {
		hop_value k = hop_scalar(t, HOP_f64, large);
		z = hop_cast(t, chain_inner(t, c, x), HOP_f64);
		z = hop_sub(t, hop_add(t, z, k), k);
		HOP_ENABLE_GRAD(t)
			y = chain_inner(t, c, x);
	}
	return hop_add(t, y, hop_cast(t, z, hop_dtype_of(t, y)));
}

void ref_no_grad(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] += 8 * nearbyint(out[i] / 8);
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	HOP_NO_GRAD(t) {
		body_write_all(t, *acc, x);
		*out = hop_addf(t, x, 1);
	}
}

int mutation_no_grad(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = HOP_NONE, y = HOP_NONE;

	(void)user;
	HOP_NO_GRAD(t)
		x = y = in[0];
	hop_return(t, x, hop_mulf(t, y, 2));
}

int aliasing_no_grad(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_no_grad(hop_ctx *c)
{
	(void)c;
	return 0;
}
