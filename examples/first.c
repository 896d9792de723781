/* A square root by Newton's method: a loop that ends when it is good enough, and its slope. */
#include <stdio.h>
#include <hop/hop.h>

static void root(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], x = a, r = HOP_E(t, "x * x - a", x, a);
	(void)user;
	HOP_WHILE(t, HOP_E(t, "abs(r) > 1e-12 * a", r, a), x, r) {
		x = HOP_E(t, "x - r / (2 * x)", x, r);
		r = HOP_E(t, "x * x - a", x, a);
	}
	hop_return(t, x);
}

int main(void)
{
	hop_ctx *c;
	hop_jit *f = NULL, *df = NULL;
	hop_array *a = NULL, *y[2] = { NULL, NULL };
	double two = 2;
	int wrt = 0;

	if (hop_ctx_new(NULL, &c))
		return 1;
	if (hop_jit_new(c, root, NULL, NULL, &f) || hop_jit_grad(f, 1, &wrt, &df) ||
	    hop_array_new(c, HOP_f64, 0, NULL, &two, &a) || hop_jit_call(df, 1, &a, 2, y))
		fprintf(stderr, "%s\n", hop_message(c));
	else
		printf("root %.9f, slope %.9f\n", hop_array_at(y[0], 0), hop_array_at(y[1], 0));
	for (int i = 0; i < 2; i++)
		hop_array_release(y[i]);
	hop_array_release(a);
	hop_jit_release(df);
	hop_jit_release(f);
	hop_ctx_free(c);
	return 0;
}
