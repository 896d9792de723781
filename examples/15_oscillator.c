/* A damped oscillator, x'' = -k x - c x', is fitted to what was seen of it: gradient descent for
 * p = (k, c) through an integrator that chooses its own steps, in one compiled function. */
#include <math.h>
#include <stdio.h>
#include <hop/hop.h>

/* From x = 1 at rest. A step s is taken if Heun's rule (x2, v2) changes Euler's (x1, v1) little. */
static hop_value misfit(hop_trace *t, hop_value p, hop_value seen)
{
	hop_value e = hop_scalar(t, HOP_f64, 0), v = e, x = HOP_E(t, "e + 1", e), h = x;
	HOP_FOR(t, i, 20, x, v, h, e) {
		hop_value left = hop_full_like(t, e, 0.25);
		HOP_WHILE(t, HOP_E(t, "left > 0", left), x, v, h, left) {
			hop_value s = hop_min(t, h, left), a = HOP_E(t, "-p[0] * x - p[1] * v", p, x, v);
			hop_value x1 = HOP_E(t, "x + s * v", x, s, v), v1 = HOP_E(t, "v + s * a", v, s, a);
			hop_value x2 = HOP_E(t, "x + s * (v + v1) / 2", x, s, v, v1);
			hop_value v2 = HOP_E(t, "v + s * (a - p[0] * x1 - p[1] * v1) / 2", v, s, a, p, x1, v1);
			hop_value change = HOP_E(t, "abs(x2 - x1) + abs(v2 - v1)", x2, x1, v2, v1);
			h = HOP_E(t, "change > 1e-3 ? s / 2 : change > 2e-4 ? s : 2 * s", change, s);
			HOP_IF(t, HOP_E(t, "change <= 1e-3", change), x, v, left)
				x = x2, v = v2, left = HOP_E(t, "left - s", left, s);
		}
		e = HOP_E(t, "e + (x - y) ** 2", e, x, HOP_AS(y, hop_take(t, seen, i)));
	}
	return e;
}

static void oscillator(hop_trace *t, const hop_value *in, void *user)
{
	hop_value p = in[1], e, g, es;
	(void)user;
	HOP_FOR(t, i, 80, p) {
		HOP_GRAD(t, e, 1, p, g)
			e = misfit(t, p, in[0]);
		p = HOP_E(t, "p - g / 20", p, g);
		hop_stack(t, &es, e);
	}
	hop_return(t, p, es);
}

int main(void)
{
	double seen[20], guess[2] = { 3, 0.2 }, w = sqrt(4 - 0.0625);   /* truth: k = 4, c = 0.5 */
	hop_spec s[2] = { hop_spec1(HOP_f64, 20), hop_spec1(HOP_f64, 2) };
	hop_ctx *c; hop_fn *f; hop_array *in[2], *out[2];
	for (int i = 0; i < 20; i++)
		seen[i] = exp(-(i + 1) / 16.0) * (cos(w * (i + 1) / 4) + 0.25 / w * sin(w * (i + 1) / 4));
	if (hop_ctx_new(NULL, &c) || hop_capture(c, oscillator, NULL, 2, s, &f) ||
	    hop_array_new(c, HOP_f64, 1, (int64_t[]){ 20 }, seen, &in[0]) ||
	    hop_array_new(c, HOP_f64, 1, (int64_t[]){ 2 }, guess, &in[1]) || hop_call(f, 2, in, 2, out))
		return 1;
	printf("error %.2g, then %.2g; k %.4f, c %.4f\n", hop_array_at(out[1], 0),
	       hop_array_at(out[1], 79), hop_array_at(out[0], 0), hop_array_at(out[0], 1));
	for (int i = 0; i < 2; i++) hop_array_release(in[i]), hop_array_release(out[i]);
	hop_fn_release(f); hop_ctx_free(c); return 0;
}
/* prints
error 1.7, then 3.3e-07; k 3.9984, c 0.4997
*/
