/* Derivatives and batching inside a body: Newton's method on x^2 = a, with the slope from
 * jac, for several a at once. */
#include "example.h"

static void residual(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *a = user;                          /* captured: a constant to the slope */
	hop_return(t, hop_sub(t, hop_mul(t, in[0], in[0]), *a));
}

static void newton(hop_trace *t, const hop_value *in, void *user)
{
	const int wrt = 0;
	hop_value slope, r;
	hop_region(t, "residual", residual, user, 1, in, 1, &r);
	hop_jac_at(t, residual, user, 1, in, 1, &wrt, 1, &slope);
	hop_return(t, hop_sub(t, in[0], hop_div(t, r, slope)));
}

static void root(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], x;
	hop_scan_opts opts = { .size = sizeof opts, .has_length = true, .length = hop_n(6) };
	(void)user;
	hop_scan(t, newton, &a, 1, in, 0, NULL, &opts, 1, &x, NULL);
	hop_return(t, x);
}

static void roots(hop_trace *t, const hop_value *in, void *user)
{
	const int axis = 0;
	hop_value x;
	(void)user;
	hop_vmap_at(t, root, NULL, 1, in, &axis, 1, &x);
	hop_return(t, x);
}

int main(void)
{
	hop_ctx *c;
	hop_fn *f;
	hop_spec in = hop_spec1(HOP_f64, 3);
	hop_array *x, *y;
	if (hop_ctx_new(NULL, &c))
		return 1;
	x = vector(c, 3, (double[]){ 2, 9, 10 });
	must(c, hop_capture(c, roots, NULL, 1, &in, &f));
	must(c, hop_call(f, 1, &x, 1, &y));
	show("roots", y);
	hop_array_release(x);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
