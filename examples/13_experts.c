/* A mixture of experts, one chosen for each point: a gate looks at x and picks a line, a wave or a
 * parabola, and only that one computes. Gate and experts learn together; who was picked is
 * drawn below what they have learnt. */
#include "example.h"

enum { POINTS = 60, LESSONS = 500, EXPERTS = 3 };

/* w: a row of three numbers for each expert; g: scores of the gate, g[0] x + g[1]. The answer
 * counts as much as the gate is sure, which is how the gate learns. */
static hop_value answer(hop_trace *t, hop_value w, hop_value g, hop_value x, hop_value *who)
{
	hop_value score = HOP_E(t, "g[0] * x + g[1]", g, x), y = HOP_NONE;

	*who = hop_argmax(t, score, 0);
	HOP_SWITCH(t, *who, EXPERTS, y) {
	case 0:
		y = HOP_E(t, "w[0, 0] * x + w[0, 1]", w, x);
		break;
	case 1:
		y = HOP_E(t, "w[1, 2] * sin(w[1, 0] * x + w[1, 1])", w, x);
		break;
	default:
		y = HOP_E(t, "w[2, 1] * (x - w[2, 0]) ** 2 + w[2, 2]", w, x);
	}
	return HOP_E(t, "y * softmax(score, 0)[who]", y, score, HOP_AS(who, *who));
}

/* in: x, y, w, g */
static void experts(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = in[2], g = in[3], dw, dg, loss, losses, ys, whos;
	(void)user;

	HOP_FOR(t, k, LESSONS, w, g) {
		HOP_GRAD(t, loss, 2, w, g, dw, dg) {
			hop_value bad, who;
			HOP_MAP(t, i, POINTS) {
				hop_value y = answer(t, w, g, hop_take(t, in[0], i), &who);
				hop_stack(t, &bad, HOP_E(t, "(y - b) ** 2", y, HOP_AS(b, hop_take(t, in[1], i))));
			}
			loss = hop_mean(t, bad, 0, NULL);
		}
		w = HOP_E(t, "w - 0.3 * dw", w, dw);
		g = HOP_E(t, "g - dg", g, dg);
		hop_stack(t, &losses, loss);
	}
	HOP_MAP(t, i, POINTS) {
		hop_value who;
		hop_stack(t, &ys, answer(t, w, g, hop_take(t, in[0], i), &who));
		hop_stack(t, &whos, who);
	}
	hop_return(t, losses, ys, whos);
}

int main(void)
{
	const double w[9] = { 1, 0, 0, 8, 0, 0.5, 1, 1, 0 }, g[6] = { -3, 0, 3, -1, 0, -1 };
	double x[POINTS], y[POINTS];
	hop_ctx *c = context();
	struct picture p = { { { 0 } } };

	for (int i = 0; i < POINTS; i++) {
		x[i] = (double)i / (POINTS - 1) * 2 - 1;
		y[i] = x[i] < -0.4 ? 1 + x[i] : x[i] < 0.4 ? sin(8 * x[i]) : 3 * pow(x[i] - 0.8, 2);
	}
	hop_array *in[4] = { vector(c, POINTS, x), vector(c, POINTS, y), matrix(c, 3, 3, w),
	                     matrix(c, 2, 3, g) }, *out[3];
	run(c, experts, 4, in, 3, out);
	curve("error", out[0]);
	for (int i = 0; i < POINTS; i++) {
		dot(&p, (double)i / (POINTS - 1), 0.5 + y[i] / 3, 'o');
		dot(&p, (double)i / (POINTS - 1), 0.5 + numbers(out[1])[i] / 3, '+');
		dot(&p, (double)i / (POINTS - 1), 0, "LWP"[(int)hop_array_at(out[2], i)]);
	}
	puts("\nwanted o, answered +, by Line, Wave or Parabola");
	draw(&p);
	release(4, in);
	release(3, out);
	hop_ctx_free(c);
	return 0;
}
/* prints
error from 0.31 to 0.015 in 500 steps
*
*
*
 *
 *
 **
  *****
     ********
            *********
                    ***********                *****************
                              ********** **      **
                                       ********** **************

wanted o, answered +, by Line, Wave or Parabola


                                   ++++ +
                  o               +o     +
          o++++++++++            +        ++ ooo
++++++++ ++                     +           +++++++++++ ++++++++
                   o           +
                    o+        +
                      +     o+
                       + ++++

LLLLLLLL LLLLLLLLLLLLWWW WWWWWWWWWWWWWW WWWWPPPPPPPPPPP PPPPPPPP
*/
