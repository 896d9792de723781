/* Fitting the parameters of a differential equation: hares and lynxes,
 *	s' = s (r + k flip(s)),
 * are followed by Runge-Kutta steps, and Adam descends the gradient of the whole orbit's error.
 * The descent, the gradient in it and the integrator in that are one compiled function. */
#include "example.h"

enum { ORBIT = 60, DESCENT = 400 };

static hop_value growth(hop_trace *t, hop_value s, hop_value r, hop_value k)
{
	hop_value flip = hop_slice(t, s, 0, hop_n(1), hop_n(2), -1);
	return hop_mul(t, s, hop_add(t, r, hop_mul(t, k, flip)));
}

static hop_value ahead(hop_trace *t, hop_value s, double h, hop_value slope)
{
	return hop_add(t, s, hop_mulf(t, slope, h));
}

/* All points of the orbit from s, a row each. */
static hop_value orbit(hop_trace *t, hop_value s, hop_value r, hop_value k)
{
	const double h = 0.15;
	hop_value all;

	HOP_FOR(t, i, ORBIT, s) {
		hop_value a = growth(t, s, r, k), b = growth(t, ahead(t, s, h / 2, a), r, k);
		hop_value c = growth(t, ahead(t, s, h / 2, b), r, k), d = growth(t, ahead(t, s, h, c), r, k);
		s = ahead(t, s, h / 6, hop_add(t, hop_add(t, a, d), hop_mulf(t, hop_add(t, b, c), 2)));
		hop_stack(t, &all, s);
	}
	return all;
}

/* in: the start, what was seen, the first guess of (r, k). */
static void fit_orbit(hop_trace *t, const hop_value *in, void *user)
{
	hop_value p = in[2], m = hop_zeros_like(t, p), v = m, loss, g, losses;
	(void)user;

	HOP_FOR(t, i, DESCENT, p, m, v) {
		HOP_GRAD(t, loss, 1, p, g) {
			hop_value miss = hop_sub(t, orbit(t, in[0], hop_index(t, p, 0, 0), hop_index(t, p, 0, 1)),
			                         in[1]);
			loss = hop_mean(t, hop_mul(t, miss, miss), 0, NULL);
		}
		m = hop_add(t, hop_mulf(t, m, 0.9), hop_mulf(t, g, 0.1));
		v = hop_add(t, hop_mulf(t, v, 0.99), hop_mulf(t, hop_mul(t, g, g), 0.01));
		p = hop_sub(t, p, hop_div(t, hop_mulf(t, m, 0.01), hop_addf(t, hop_sqrt(t, v), 1e-8)));
		hop_stack(t, &losses, loss);
	}
	hop_return(t, p, losses, orbit(t, in[0], hop_index(t, p, 0, 0), hop_index(t, p, 0, 1)));
}

static void true_orbit(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, orbit(t, in[0], hop_index(t, in[1], 0, 0), hop_index(t, in[1], 0, 1)));
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
