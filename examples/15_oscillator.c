/* A damped oscillator, x'' = -k x - c x', is fitted to what was seen of it: gradient descent through
 * an integrator that chooses its own steps. */
#include <math.h>
#include <stdio.h>
#include <hop/hop.h>

static hop_value pull(hop_trace *t, hop_value k, hop_value c, hop_value x, hop_value v)
{
	return hop_neg(t, hop_add(t, hop_mul(t, k, x), hop_mul(t, c, v)));
}

/* From x = 1 at rest, by steps that a better rule moves no farther than 0.001. */
static hop_value misfit(hop_trace *t, hop_value k, hop_value c, hop_value seen)
{
	hop_value e = hop_zeros_like(t, k), v = e, x = hop_full_like(t, k, 1), h = hop_full_like(t, k, 0.25);
	HOP_FOR(t, i, 20, x, v, h, e) {
		hop_value left = hop_full_like(t, k, 0.25);
		HOP_WHILE(t, hop_gt(t, left, hop_f(t, 0)), x, v, h, left) {
			hop_value s = hop_min(t, h, left), half = hop_mulf(t, s, 0.5), a = pull(t, k, c, x, v);
			hop_value x1 = hop_add(t, x, hop_mul(t, s, v)), v1 = hop_add(t, v, hop_mul(t, s, a));
			hop_value dx = hop_mul(t, half, hop_sub(t, v1, v));
			hop_value dv = hop_mul(t, half, hop_sub(t, pull(t, k, c, x1, v1), a));
			hop_value far = hop_add(t, hop_abs(t, dx), hop_abs(t, dv));
			HOP_IF(t, hop_lt(t, far, hop_f(t, 1e-3)), x, v, left, h) {
				x = hop_add(t, x1, dx), v = hop_add(t, v1, dv), left = hop_sub(t, left, s);
				h = hop_select(t, hop_lt(t, far, hop_f(t, 2e-4)), hop_mulf(t, s, 2), s);
			} else {
				h = half;
			}
		}
		hop_value miss = hop_sub(t, x, hop_take(t, seen, i));
		e = hop_add(t, e, hop_mul(t, miss, miss));
	}
	return e;
}

static void oscillator(hop_trace *t, const hop_value *in, void *user)
{
	hop_value k = in[1], c = in[2], e, gk, gc, es;
	HOP_FOR(t, i, 80, k, c) {
		HOP_GRAD(t, e, 2, k, c, gk, gc)
			e = misfit(t, k, c, in[0]);
		k = hop_sub(t, k, hop_mulf(t, gk, 0.05)), c = hop_sub(t, c, hop_mulf(t, gc, 0.05));
		hop_stack(t, &es, e);
	}
	hop_return(t, k, c, es), (void)user;
}

int main(void)
{
	double seen[20], guess[2] = { 3, 0.2 }, w = sqrt(4 - 0.0625);       /* truth: k = 4, c = 0.5 */
	hop_spec s[3] = { hop_spec1(HOP_f64, 20), hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	hop_ctx *c; hop_fn *f; hop_array *in[3], *out[3];
	for (int i = 0; i < 20; i++)
		seen[i] = exp(-(i + 1) / 16.0) * (cos(w * (i + 1) / 4) + 0.25 / w * sin(w * (i + 1) / 4));
	if (hop_ctx_new(NULL, &c) || hop_capture(c, oscillator, NULL, 3, s, &f) ||
	    hop_array_new(c, HOP_f64, 1, (int64_t[]){ 20 }, seen, &in[0]) ||
	    hop_array_new(c, HOP_f64, 0, NULL, &guess[0], &in[1]) ||
	    hop_array_new(c, HOP_f64, 0, NULL, &guess[1], &in[2]) || hop_call(f, 3, in, 3, out))
		return 1;
	for (int i = 0; i < 80; i += 20)
		printf("error %.6f\n", hop_array_at(out[2], i));
	printf("k %.4f, c %.4f\n", hop_array_at(out[0], 0), hop_array_at(out[1], 0));
	for (int i = 0; i < 3; i++) hop_array_release(in[i]), hop_array_release(out[i]);
	hop_fn_release(f); hop_ctx_free(c); return 0;
}
/* prints
error 1.673216
error 0.011257
error 0.000299
error 0.000009
k 3.9984, c 0.4997
*/
