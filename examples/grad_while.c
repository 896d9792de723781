/* The gradient of a while loop beside its finite difference. */
#include <stdio.h>
#include <hop/hop.h>
static void below(hop_trace *t, const hop_value *in, void *user)
{ (void)user; hop_return(t, hop_lt(t, in[0], hop_f(t, 100))); }
static void grow(hop_trace *t, const hop_value *in, void *user)
{ (void)user; hop_return(t, hop_add(t, hop_mulf(t, in[0], 2), hop_sin(t, in[0]))); }
static void loop(hop_trace *t, const hop_value *in, void *user)
{ (void)user; hop_value x; hop_while(t, below, grow, NULL, 1, in, NULL, &x, NULL); hop_return(t, x); }

int main(void)
{
	hop_ctx *c; hop_fn *f, *g; hop_spec s = hop_spec0(HOP_f64); int wrt = 0;
	double at[3] = { 0.5, 0.5 - 1e-6, 0.5 + 1e-6 }, v[3], dv[3];
	if (hop_ctx_new(NULL, &c) || hop_capture(c, loop, NULL, 1, &s, &f) || hop_grad(f, 1, &wrt, &g))
		return 1;
	for (int i = 0; i < 3; i++) {
		hop_array *x, *y[2];
		if (hop_array_new(c, HOP_f64, 0, NULL, &at[i], &x) || hop_call(g, 1, &x, 2, y)) return 1;
		v[i] = hop_array_at(y[0], 0); dv[i] = hop_array_at(y[1], 0);
		hop_array_release(x); hop_array_release(y[0]); hop_array_release(y[1]);
	}
	printf("gradient %.6f, finite difference %.6f\n", dv[0], (v[2] - v[1]) / 2e-6);
	hop_fn_release(f); hop_fn_release(g); hop_ctx_free(c);
}
