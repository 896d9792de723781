/* custom: a function with its own derivative. Rounding has slope zero; here its gradient is
 * passed straight through, as when weights are trained that will be rounded later. */
#include "example.h"

static void round_fwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value n = hop_cast(t, hop_addf(t, in[0], 0.5), HOP_i64);
	hop_return(t, hop_cast(t, n, HOP_f64));
}

static void round_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);                         /* nothing saved: only the cotangent */
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = round_fwd, .bwd = round_bwd };
	hop_value r[1];
	(void)user;
	hop_custom(t, &rule, NULL, 1, in, 1, r);
	hop_return(t, hop_sum_all(t, hop_mul(t, r[0], r[0])));
}

int main(void)
{
	hop_ctx *c;
	hop_fn *f, *g;
	hop_spec in = hop_spec1(HOP_f64, 3);
	int wrt = 0;
	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, loss, NULL, 1, &in, &f));
	must(c, hop_grad(f, 1, &wrt, &g));
	hop_array *x = vector(c, 3, (double[]){ 0.2, 1.4, 2.6 }), *out[2];
	must(c, hop_call(g, 1, &x, 2, out));
	show("loss", out[0]);
	show("gradient", out[1]);
	hop_array_release(x);
	hop_fn_release(f);
	hop_fn_release(g);
	hop_ctx_free(c);
	return 0;
}
/* prints
loss 10
gradient 0 2 6
*/
