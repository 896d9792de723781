/* The same body, captured and eager: under an eager trace each op runs at once on real data,
 * so that a debugger can stop in it. It also shows writes: to a view, seen by its owner. */
#include "example.h"

static void f(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = hop_clone(t, in[0]), tail = hop_narrow(t, x, 0, 1, 2);
	(void)user;
	hop_mul_(t, tail, hop_f(t, 10));              /* x changes with its view */
	hop_add_(t, x, hop_f(t, 1));                  /* and the view with x */
	hop_print(t, "x is {}, its tail {}", 2, (hop_value[]){ x, tail });
	hop_return(t, x, tail);
}

int main(void)
{
	hop_ctx *c;
	hop_fn *fn;
	hop_spec in = hop_spec1(HOP_f64, 3);
	hop_array *out[2];
	if (hop_ctx_new(NULL, &c))
		return 1;
	hop_array *x = vector(c, 3, (double[]){ 1, 2, 3 });
	must(c, hop_eager_call(c, f, NULL, 1, &x, 2, out));
	show("eager", out[0]);
	show("  tail", out[1]);
	must(c, hop_capture(c, f, NULL, 1, &in, &fn));
	must(c, hop_call(fn, 1, &x, 2, out));
	show("captured", out[0]);
	show("  tail", out[1]);
	hop_array_release(x);
	hop_fn_release(fn);
	hop_ctx_free(c);
	return 0;
}
/* prints
x is [2.0, 21.0, 31.0], its tail [21.0, 31.0]
eager 2 21 31
  tail 21 31
x is [2.0, 21.0, 31.0], its tail [21.0, 31.0]
captured 2 21 31
  tail 21 31
*/
