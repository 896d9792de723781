/* A Kalman filter with four states, the likelihood of what was seen, and the gradient of that: a
 * thing wanders over the plane, is seen with noise, and the filter finds out how much it wanders
 * (q) and how badly it is seen (r) before it smooths the track. functions/kalman.c writes the same
 * with functions for bodies. */
#include "example.h"

enum { SIGHTS = 80, ASCENT = 100 };

static const double moves[16] = { 1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1 };
static const double wanders[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
static const double shows[8] = { 1, 0, 0, 0, 0, 1, 0, 0 };
static const double unsure[16] = { 10, 0, 0, 0, 0, 10, 0, 0, 0, 0, 10, 0, 0, 0, 0, 10 };
static const hop_dim four = { 4, NULL };

static hop_value constant(hop_trace *t, int rows, const double *v)
{
	return hop_data(t, HOP_f64, 2, ((int64_t[]){ rows, 4 }), v);
}

/* The state is two places and two speeds. p: the logarithms of q and r. Gives the logarithm of the
 * likelihood, and all states. */
static hop_value filter(hop_trace *t, hop_value z, hop_value p, hop_value *track)
{
	hop_value A = constant(t, 4, moves), Q = constant(t, 4, wanders), P = constant(t, 4, unsure);
	hop_value C = constant(t, 2, shows), R = hop_narrow(t, C, 1, 0, 2);
	hop_value x = hop_full(t, HOP_f64, 1, &four, 0), ll = hop_scalar(t, HOP_f64, 0);

	HOP_FOR(t, i, SIGHTS, x, P, ll) {
		x = HOP_E(t, "A @ x", A, x);
		P = HOP_E(t, "A @ P @ transpose(A) + exp(p[0]) * Q", A, P, p, Q);
		hop_value y = HOP_E(t, "z - C @ x", HOP_AS(z, hop_take(t, z, i)), C, x);
		hop_value S = HOP_E(t, "C @ P @ transpose(C) + exp(p[1]) * R", C, P, p, R);
		hop_value K = HOP_E(t, "transpose(solve(S, C @ P))", S, C, P);
		x = HOP_E(t, "x + K @ y", x, K, y);
		P = HOP_E(t, "P - K @ C @ P", P, K, C);
		ll = HOP_E(t, "ll - (y @ solve(S, y) + log(S[0,0]*S[1,1] - S[0,1]*S[1,0])) / 2", ll, y, S);
		hop_stack(t, track, x);
	}
	return ll;
}

/* in: what was seen [SIGHTS, 2], the first guess of p. */
static void kalman(hop_trace *t, const hop_value *in, void *user)
{
	hop_value p = in[1], ll, dp, lls, dps, track;
	(void)user;

	HOP_FOR(t, k, ASCENT, p) {
		HOP_GRAD(t, ll, 1, p, dp)
			ll = filter(t, in[0], p, &track);
		hop_stack(t, &lls, ll);
		hop_stack(t, &dps, dp);
		p = HOP_E(t, "p + 0.02 * dp", p, dp);
	}
	filter(t, in[0], p, &track);
	hop_return(t, track, p, lls, dps);
}

/* A true track, and what is seen of it; normal numbers are sums of twelve. */
static void wander(double *at, double *z)
{
	double s[4] = { 0, 0, 0.5, 0.6 };
	unsigned seed = 7;

	for (int i = 0; i < 2 * SIGHTS; i++) {
		double n[2] = { 0, 0 };
		for (int j = 0; j < 24; j++, seed = seed * 1103515245u + 12345u)
			n[j % 2] += (double)(seed >> 16 & 0x7fff) / 32768 - 0.5;
		at[i] = s[i % 2] += s[i % 2 + 2];
		s[i % 2 + 2] += 0.05 * n[0];
		z[i] = at[i] + n[1];
	}
}

int main(void)
{
	double at[SIGHTS * 2], z[SIGHTS * 2], bad[2] = { 0, 0 };
	hop_ctx *c = context();
	struct picture p = { { { 0 } } };

	wander(at, z);
	hop_array *in[2] = { matrix(c, SIGHTS, 2, z), vector(c, 2, (double[]){ 0, 0 }) }, *out[4];
	run(c, kalman, 2, in, 4, out);
	puts("step  log likelihood  d/dlog q  d/dlog r");
	for (int k = 0; k < ASCENT; k += k < 20 ? 10 : 20) {
		const double *d = numbers(out[3]) + 2 * k;
		printf("%4d  %14.2f  %8.3f  %8.3f\n", k, numbers(out[2])[k], d[0], d[1]);
	}
	printf("q found %.4f, true 0.0025; r found %.4f, true 1\n", exp(numbers(out[1])[0]),
	       exp(numbers(out[1])[1]));
	for (int i = 0; i < SIGHTS; i++) {
		const double *x = numbers(out[0]) + 4 * i, *o = at + 2 * i, *s = z + 2 * i;
		bad[0] += pow(s[0] - o[0], 2) + pow(s[1] - o[1], 2);
		bad[1] += pow(x[0] - o[0], 2) + pow(x[1] - o[1], 2);
		dot(&p, s[0] / 16, s[1] / 40, '.');
		dot(&p, x[0] / 16, x[1] / 40, 'o');
	}
	printf("mean error seen %.3f, filtered %.3f\n", sqrt(bad[0] / SIGHTS), sqrt(bad[1] / SIGHTS));
	draw(&p);
	release(2, in);
	release(4, out);
	hop_ctx_free(c);
	return 0;
}
/* prints
step  log likelihood  d/dlog q  d/dlog r
   0         -166.35   -21.751   -10.228
  10         -126.22    -8.426     0.319
  20         -117.84    -4.728     0.180
  40         -113.63    -1.896     0.065
  60         -112.98    -0.705     0.025
  80         -112.90    -0.251     0.009
q found 0.0023, true 0.0025; r found 1.0191, true 1
mean error seen 1.434, filtered 0.988
                                                      .
                                                    .. ooo .
                                                  . ....oo . .
                                         ...oo   ..oo.o.
                                  o  o o  o.o.. .o o. .
                           .    ooo.
                         .  .o oo..
                       .. . oooo
                      ..  .oo .  .
             .  . o oo oo.
        .    o ..o  .
o      o .o
*/
