/* A sequence of any length, a state that is a struct, and an early end: a cell reads numbers until
 * it is excited enough. The weights are of the trace around; using them makes them operands. */
#include "example.h"

struct state { hop_value h, c; };                 /* a struct of values is an array of values */
HOP_TREE(state_tree, struct state, h, c);

static void read_on(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], u = in[1], w = in[2], zero = hop_zeros_like(t, u), all, steps;
	struct state s = { zero, zero };
	(void)user;

	HOP_FOR_N(t, i, hop_dim_of(t, x, 0), state_tree, &s) {
		hop_value z = hop_add(t, hop_mul(t, u, s.h), hop_mul(t, w, hop_take(t, x, i)));
		s.c = hop_add(t, hop_mul(t, hop_sigmoid(t, z), s.c), hop_tanh(t, z));
		s.h = hop_tanh(t, s.c);
		hop_stack(t, &all, s.h);
		hop_stop_if(t, hop_gt(t, s.h, hop_f(t, 0.9)));
		hop_trips(t, &steps);
	}
	hop_return(t, s.h, all, steps);
}

int main(void)
{
	hop_ctx *c = context();
	hop_fn *f;
	hop_spec in[3] = { hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 1, 100),
	                   hop_spec0(HOP_f64), hop_spec0(HOP_f64) };

	must(c, hop_capture(c, read_on, NULL, 3, in, &f));        /* once, for every length */
	for (int n = 2; n <= 6; n += 4) {
		hop_array *x[3] = { vector(c, n, (double[]){ 0.5, 1, 1, 0.5, 0, 0 }), scalar(c, 0.9),
		                    scalar(c, 0.7) }, *out[3];
		must(c, hop_call(f, 3, x, 3, out));
		show("last h", out[0]);
		show("  all h", out[1]);
		show("  steps", out[2]);
		release(3, x);
	}
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
/* prints
last h 0.763061
  all h 0.324238 0.763061
  steps 2
last h 0.93355
  all h 0.324238 0.763061 0.93355 0 0 0
  steps 3
*/
