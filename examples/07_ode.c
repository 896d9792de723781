/* Fitting the parameters of a differential equation: hares and lynxes,
 *	s' = s (r + k flip(s)),
 * are followed by Runge-Kutta steps, and Adam descends the gradient of the whole orbit's error.
 * The descent, the gradient in it and the integrator in that are one compiled function. */
#include "example.h"

enum { ORBIT = 60, DESCENT = 400 };

static hop_value growth(hop_trace *t, hop_value s, hop_value r, hop_value k)
{
	return HOP_E(t, "s * (r + k * s[::-1])", s, r, k);
}

/* All points of the orbit from s, a row each. */
static hop_value orbit(hop_trace *t, hop_value s, hop_value r, hop_value k)
{
	hop_value h = hop_f(t, 0.15), all;

	HOP_FOR(t, i, ORBIT, s) {
		hop_value a = growth(t, s, r, k);
		hop_value b = growth(t, HOP_E(t, "s + h / 2 * a", s, h, a), r, k);
		hop_value c = growth(t, HOP_E(t, "s + h / 2 * b", s, h, b), r, k);
		hop_value d = growth(t, HOP_E(t, "s + h * c", s, h, c), r, k);
		s = HOP_E(t, "s + h / 6 * (a + 2 * b + 2 * c + d)", s, h, a, b, c, d);
		hop_stack(t, &all, s);
	}
	return all;
}

/* in: the start, what was seen, the first guess of (r, k). */
static void fit_orbit(hop_trace *t, const hop_value *in, void *user)
{
	hop_value p = in[2], m = hop_zeros_like(t, p), v = m, loss, g, losses, points;
	(void)user;

	HOP_FOR(t, i, DESCENT, p, m, v) {
		HOP_GRAD(t, loss, 1, p, g) {
			points = orbit(t, in[0], HOP_E(t, "p[0]", p), HOP_E(t, "p[1]", p));
			loss = HOP_E(t, "mean((points - in[1]) ** 2)", points, in[1]);
		}
		m = HOP_E(t, "0.9 * m + 0.1 * g", m, g);
		v = HOP_E(t, "0.99 * v + 0.01 * g * g", v, g);
		p = HOP_E(t, "p - 0.01 * m / (sqrt(v) + 1e-8)", p, m, v);
		hop_stack(t, &losses, loss);
	}
	points = orbit(t, in[0], HOP_E(t, "p[0]", p), HOP_E(t, "p[1]", p));
	hop_return(t, p, losses, points);
}

static void true_orbit(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, orbit(t, in[0], HOP_E(t, "in[1][0]", in[1]), HOP_E(t, "in[1][1]", in[1])));
}

int main(void)
{
	const double truth[4] = { 1.1, -0.4, -0.4, 0.1 }, guess[4] = { 0.9, -0.5, -0.5, 0.15 };
	hop_ctx *c = context();
	hop_array *in[3] = { vector(c, 2, (double[]){ 8, 4 }), matrix(c, 2, 2, truth),
	                     matrix(c, 2, 2, guess) }, *out[3], *seen;
	struct picture p = { { { 0 } } };

	run(c, true_orbit, 2, in, 1, &seen);
	run(c, fit_orbit, 3, (hop_array *[]){ in[0], seen, in[2] }, 3, out);
	curve("error", out[1]);
	puts("\n        guess    found    truth");
	for (int i = 0; i < 4; i++)
		printf("%s[%d] %8.4f %8.4f %8.4f\n", i < 2 ? "r" : "k", i % 2, guess[i], numbers(out[0])[i],
		       truth[i]);
	puts("\nlynxes over hares: seen o, fitted +");
	for (int i = 0; i < ORBIT; i++) {
		dot(&p, numbers(seen)[2 * i] / 9, numbers(seen)[2 * i + 1] / 5, 'o');
		dot(&p, numbers(out[2])[2 * i] / 9, numbers(out[2])[2 * i + 1] / 5, '+');
	}
	draw(&p);
	release(3, in);
	release(3, out);
	release(1, &seen);
	hop_ctx_free(c);
	return 0;
}
/* prints
error from 2 to 1.3e-05 in 400 steps
*
**
 ***
   ****
      *********
              ***************
                            ***********
                                      *********
                                              *******
                                                    ******
                                                         *****
                                                             ***

        guess    found    truth
r[0]   0.9000   1.0951   1.1000
r[1]  -0.5000  -0.4020  -0.4000
k[0]  -0.5000  -0.3985  -0.4000
k[1]   0.1500   0.1005   0.1000

lynxes over hares: seen o, fitted +
                       +  +   +  +
               ++ + +                 +   +    +
           +++                                      +
         +++
        ++
        +
        ++
          +++++                                    +   +  +  +
               +++ ++ + + + + +  +  + +   +  +  +



*/
