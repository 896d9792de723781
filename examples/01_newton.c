/* A loop and a branch, differentiated and batched: roots of several numbers by Newton's method,
 * each with as many trips as it needs, and their slopes. */
#include "example.h"

static void newton(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], x = a, r = hop_sub(t, hop_mul(t, x, x), a), trips;
	(void)user;

	HOP_WHILE(t, hop_gt(t, hop_abs(t, r), hop_f(t, 1e-12)), x, r) {
		x = hop_sub(t, x, hop_div(t, r, hop_mulf(t, x, 2)));
		r = hop_sub(t, hop_mul(t, x, x), a);
		hop_trips(t, &trips);
	}
	HOP_IF(t, hop_lt(t, x, hop_f(t, 0)), x)
		x = hop_neg(t, x);
	hop_return(t, x, trips);
}

int main(void)
{
	hop_ctx *c = context();
	hop_spec s = hop_spec0(HOP_f64);
	hop_array *a = vector(c, 4, (double[]){ 0.25, 2, 9, 1000 }), *out[3];
	hop_fn *f, *slope, *all;

	must(c, hop_capture(c, newton, NULL, 1, &s, &f));
	must(c, hop_grad(f, 1, (int[]){ 0 }, &slope));
	must(c, hop_vmap(slope, (bool[]){ true }, 4, &all));
	must(c, hop_call(all, 1, &a, 3, out));
	puts("     a      root  trips     slope  1/(2 root)");
	for (int i = 0; i < 4; i++) {
		double x = hop_array_at(out[0], i);
		printf("%6g  %8.5f  %5g  %8.5f    %8.5f\n", hop_array_at(a, i), x, hop_array_at(out[1], i),
		       hop_array_at(out[2], i), 1 / (2 * x));
	}
	release(1, &a);
	release(3, out);
	hop_fn_release(f);
	hop_fn_release(slope);
	hop_fn_release(all);
	hop_ctx_free(c);
	return 0;
}
/* prints
     a      root  trips     slope  1/(2 root)
  0.25   0.50000      5   1.00000     1.00000
     2   1.41421      5   0.35355     0.35355
     9   3.00000      6   0.16667     0.16667
  1000  31.62278     10   0.01581     0.01581
*/
