/* Hooks on gradients: a recurrent map that makes the gradients of its first steps huge, trained with
 * and without a hook that keeps them short in every step. The hook tells how long they were; how long
 * they may be is an input of the run. docs/hooks.md has the other uses. */
#include "example.h"

enum { STEPS = 12, TRAINING = 60 };

/* h = w sin(3 h), twelve times, should end at 0.5. */
static void miss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = hop_scalar(t, HOP_f64, 0.4), w = in[0], longest = *(hop_value *)user;

	HOP_FOR(t, i, STEPS, h) {
		HOP_HOOK(t, h, g) {
			hop_tell(t, hop_abs(t, g), "size");
			g = HOP_E(t, "g * min(1, longest / max(abs(g), 1e-30))", g, longest);
		}
		h = HOP_E(t, "w * sin(3 * h)", w, h);
	}
	hop_return(t, HOP_E(t, "(h - 0.5) ** 2", h));
}

/* in: w, the longest that a gradient may be -> losses, the longest that each step had */
static void train(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = in[0], seen = hop_zeros(t, HOP_f64, 1, ((hop_dim[]){ hop_n(STEPS) })), losses;
	hop_value longest = in[1];                            /* captured by what is differentiated */
	(void)user;

	HOP_FOR(t, k, TRAINING, w, seen) {
		hop_value out[3];                             /* the loss, its gradient, what is told */
		hop_grad_at(t, miss, &longest, 1, &w, 1, (const int[]){ 0 }, 3, out);
		w = HOP_E(t, "w - 0.02 * g", w, HOP_AS(g, out[1]));
		seen = hop_max(t, seen, out[2]);
		hop_stack(t, &losses, out[0]);
	}
	hop_return(t, losses, seen, w);
}

int main(void)
{
	hop_ctx *c = context();

	for (int clipped = 0; clipped < 2; clipped++) {
		hop_array *in[2] = { scalar(c, 0.95), scalar(c, clipped ? 1 : INFINITY) }, *out[3];
		run(c, train, 2, in, 3, out);
		double loss = numbers(out[0])[TRAINING - 1];
		printf(isfinite(loss) ? "%s: a loss of %.1e\n" : "%s: lost, the gradients had no bound\n",
		       clipped ? "clipped" : "as it is", loss);
		for (int i = 0; isfinite(loss) && i < STEPS; i++)
			printf("%s%.2f%s", i ? " " : "  longest gradient of each step: ", numbers(out[1])[i],
			       i + 1 < STEPS ? "" : "\n");
		release(2, in);
		release(3, out);
	}
	hop_ctx_free(c);
	return 0;
}
/* prints
as it is: lost, the gradients had no bound
clipped: a loss of 4.9e-05
  longest gradient of each step: 1.04 2.02 0.78 2.66 1.47 1.93 0.95 2.78 2.09 1.73 1.72 0.93
*/
