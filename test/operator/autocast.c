/* autocast: f(x) times a product of matrices that bf16 holds exactly, so that the reference is exact;
 * that it was computed in bf16 is asked where it is captured. f, of f64, is not touched; of bf16, it
 * comes out in what its calls give. */
#include "operator/operator.h"

static hop_value factor(hop_trace *t)
{
	static const float a[4] = { 1, 0.5f, 2, 0.25f }, b[2] = { 1, 1 };
	static const int64_t dim[2] = { 2, 2 };
	hop_value y = hop_matmul(t, hop_data(t, HOP_f32, 2, dim, a), hop_data(t, HOP_f32, 1, dim, b));

	if (hop_dtype_of(t, y) != HOP_bf16)
		hop_fail_here(t, "the product is not of bf16");
	return hop_index(t, y, 0, 0);
}

hop_value apply_autocast(hop_trace *t, const chain *c, hop_value x)
{
	hop_value y = HOP_NONE, k = HOP_NONE;

	HOP_AUTOCAST(t, HOP_bf16) {
		k = factor(t);
		y = chain_inner(t, c, x);
	}
	return hop_mul(t, y, hop_cast(t, k, hop_dtype_of(t, y)));
}

void ref_autocast(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] *= 1.5;
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	HOP_AUTOCAST(t, HOP_bf16) {
		body_write_all(t, *acc, x);
		*out = hop_addf(t, x, 1);
	}
}

int mutation_autocast(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = HOP_NONE, y = HOP_NONE;

	(void)user;
	HOP_AUTOCAST(t, HOP_bf16) {
		x = in[0];
		y = hop_mulf(t, in[0], 2);
	}
	hop_return(t, x, y);
}

int aliasing_autocast(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_autocast(hop_ctx *c)
{
	(void)c;
	return 0;
}
