/* nest.c -- pitfalls of bodies in bodies: values from far out, transforms inside, carries of odd
 * kinds. */
#include "pitfall.h"

BODY(deep)
{
	hop_value y = in[0], a = in[1], b = in[2], n = in[3];
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), y, n) {
		HOP_FOR(t, i, 2, y) {
			HOP_IF(t, hop_eq(t, hop_rem(t, hop_add(t, n, i), hop_i(t, 2)), hop_i(t, 0)), y) {
				HOP_REGION(t, "inmost", y) {
					y = hop_add(t, hop_mul(t, hop_sin(t, y), a), hop_mul(t, b, n));
				}
			} else {
				y = hop_mul(t, y, hop_take(t, in[4], i));
			}
		}
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, y));
}

/* The loop in C. */
static double deep_c(double y, double a, double b, int n, const double *w)
{
	for (; n > 0; n--)
		for (int i = 0; i < 2; i++)
			y = (n + i) % 2 == 0 ? sin(y) * a + b * n : y * w[i];
	return y;
}

PITFALL(201, "a body four bodies deep uses values of each of them")
{
	const double w[2] = { 1.5, -0.5 };
	tensor x = F0(0.3), a = F0(2), b = F0(0.25), k = tensor_of(HOP_f64, 1, 2, 0, 0, w);
	gives(deep, NULL, LIST(x, a, b, I0(3), k), LIST(F0(deep_c(0.3, 2, 0.25, 3, w))));
	slopes(deep, NULL, LIST(x, a, b, I0(3), k), WRT(0, 1, 2, 4));
	lanes(deep, NULL, LIST(F(1, 2, 3), a, b, I(0, 2, 5), k), AXES(0, -1, -1, 0, -1));
}

BODY(turned)
{
	hop_value x = in[0], n = in[1];
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), x, n) {
		x = hop_transpose(t, hop_mul(t, x, in[2]), 0, 1);
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, hop_mul(t, x, in[2]))), x);
}

PITFALL(202, "a carry is transposed in every trip, with a gradient")
{
	tensor x = F2(2, 2, 1, 2, 3, 4), w = F2(2, 2, 1, 0.5, 2, 1);
	gives(turned, NULL, LIST(x, I0(1), w), LIST(F0(1 * 1 + 0.5 * 36 + 2 * 1 + 16),
	      F2(2, 2, 1, 6, 1, 4)));
	slopes(turned, NULL, LIST(x, I0(3), w), WRT(0, 2));
	slopes(turned, NULL, LIST(x, I0(2), w), WRT(0, 2));
}

BODY(by_buffer)
{
	hop_value buf = hop_clone(t, in[0]);
	HOP_WHILE(t, hop_lt(t, hop_sum_all(t, buf), hop_f(t, 20))) {
		hop_mul_(t, buf, in[1]);
	}
	hop_return(t, hop_sum_all(t, buf), buf);
}

PITFALL(203, "a loop without carries, whose state is a buffer that it writes and tests")
{
	gives(by_buffer, NULL, LIST(F(1, 2), F(2, 2)), LIST(F0(24), F(8, 16)));
	gives(by_buffer, NULL, LIST(F(10, 20), F(2, 2)), LIST(F0(30), F(10, 20)));
	gradient(by_buffer, NULL, LIST(F(1, 2), F(2, 2)), WRT(0, 1), LIST(F(8, 8), F(12, 24)));
	slopes2(by_buffer, NULL, LIST(F(1, 2), F(2, 2)), WRT(0, 1));
}

BODY(nothing_carried)
{
	hop_value x = in[0], n = in[1], s = hop_scalar(t, HOP_f64, 1);
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), x, n, s) {
		x = hop_mulf(t, x, 2);
		s = hop_add(t, s, hop_sum_all(t, x));
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, s, x);
}

PITFALL(204, "a carry without elements")
{
	tensor no = EMPTY2(HOP_f64, 0, 3);
	gives(nothing_carried, NULL, LIST(no, I0(3)), LIST(F0(1), no));
	gives(nothing_carried, NULL, LIST(unknown_at(no, 0, "n"), I0(3)), LIST(F0(1), no));
	gradient(nothing_carried, NULL, LIST(no, I0(3)), WRT(0), LIST(no));
}

BODY(times)
{
	hop_value w = *(hop_value *)user;
	hop_return(t, hop_mul(t, hop_addf(t, in[1], 1), hop_add(t, w, in[0])));
}

BODY(by_data)
{
	hop_value out[2], w = in[2];
	hop_fori_loop(t, 1, in[1], times, &w, 1, in, NULL, out);
	hop_fori_loop(t, 1, in[1], times, &w, 1, in, HOP_FORI_OPTS(.max_trips = 6), out + 1);
	hop_return(t, hop_add(t, out[0], hop_mulf(t, out[1], 2)), out[0], out[1]);
}

PITFALL(205, "a counted loop whose end is data, with a gradient")
{
	double x = 0.5, w = 0.25;
	for (int i = 1; i < 4; i++)
		x = (x + 1) * (w + i);
	gives(by_data, NULL, LIST(F0(0.5), I0(4), F0(0.25)), LIST(F0(3 * x), F0(x), F0(x)));
	gives(by_data, NULL, LIST(F0(0.5), I0(-4), F0(0.25)), LIST(F0(1.5), F0(0.5), F0(0.5)));
	slopes(by_data, NULL, LIST(F0(0.5), I0(4), F0(0.25)), WRT(0, 2));
	slopes2(by_data, NULL, LIST(F0(0.1), I0(3), F0(0.25)), WRT(0, 2));
	lanes(by_data, NULL, LIST(F0(0.5), I(0, 4, 2), F(0.25, 1, 2)), AXES(-1, 0, 0));
	gradient(by_data, NULL, LIST(F0(0.5), I0(1), F0(0.25)), WRT(0, 2), LIST(F0(3), F0(0)));
}

BODY(square_sum)
{
	hop_return(t, hop_sum_all(t, hop_mul(t, in[0], hop_mul(t, in[0], in[0]))));
}

BODY(descend)
{
	hop_value x = in[0], n = in[1];
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), x, n) {
		hop_value out[2];
		const int wrt[1] = { 0 };
		hop_grad_at(t, square_sum, NULL, 1, &x, 1, wrt, 2, out);
		HOP_IF(t, hop_gt(t, out[0], hop_f(t, 0)), x) {
			x = hop_sub(t, x, hop_mul(t, in[2], out[1]));
		}
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, x), x);
}

PITFALL(206, "a loop takes gradients, and is differentiated for the rate of its steps")
{
	double x = 0.8, dr = 0, r = 0.1;
	for (int i = 0; i < 3; i++) {
		dr = dr * (1 - 6 * r * x) - 3 * x * x;
		x -= r * 3 * x * x;
	}
	gives(descend, NULL, LIST(F(0.8), I0(3), F0(0.1)), LIST(F0(x), F(x)));
	gradient(descend, NULL, LIST(F(0.8), I0(3), F0(0.1)), WRT(2), LIST(F0(dr)));
	slopes2(descend, NULL, LIST(F(0.8), I0(3), F0(0.1)), WRT(0, 2));
	lanes(descend, NULL, LIST(F2(3, 1, 0.8, -1, 0.1), I(1, 3, 0), F0(0.1)), AXES(0, 0, -1));
}

BODY(stops)
{
	hop_value w = *(hop_value *)user, s = hop_mul(t, in[0], hop_add(t, in[1], w));
	hop_stop_if(t, hop_gt(t, s, hop_f(t, 10)));
	hop_return(t, s, hop_mul(t, s, s));
}

BODY(until)
{
	hop_value out[2], steps, w = in[2];
	hop_scan(t, stops, &w, 1, in, 1, in + 1, HOP_SCAN_OPTS(.reverse = *(bool *)user), 2, out, &steps);
	hop_return(t, hop_add(t, out[0], hop_sum_all(t, out[1])), out[0], out[1], steps);
}

PITFALL(207, "a scan that stops early, forwards and backwards, with a gradient")
{
	bool reverse = false;
	tensor x = F(1, 2, 4, 8, 16), w = F0(0);
	gives(until, &reverse, LIST(F0(2), x, w), LIST(F0(2 * 2 + 4 * 4 + 16 * 16 + 16), F0(16),
	      F(4, 16, 256, 0, 0), I0(3)));
	slopes(until, &reverse, LIST(F0(2), x, F0(0.5)), WRT(0, 1, 2));
	lanes(until, &reverse, LIST(F(2, 20, 0.01), x, w), AXES(0, -1, -1));
	reverse = true;
	gives(until, &reverse, LIST(F0(0.25), x, w), LIST(F0(4 * 4 + 32 * 32 + 32), F0(32),
	      F(0, 0, 0, 1024, 16), I0(2)));
	slopes(until, &reverse, LIST(F0(0.25), x, F0(0.5)), WRT(0, 1, 2));
	slopes2(until, &reverse, LIST(F0(0.01), F(1, 2, 3, 4), F0(0.5)), WRT(0, 1, 2));
	lanes(until, &reverse, LIST(F(2, 20, 0.01), x, w), AXES(0, -1, -1));
}

BODY(unrolled)
{
	hop_value s = in[0], ys = HOP_NONE;
	HOP_FOR(t, i, 10, s) {
		hop_unroll(t, 4);
		s = hop_add(t, hop_mulf(t, s, 0.5), hop_sin(t, hop_take(t, in[1], i)));
		hop_stack(t, &ys, s);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, ys, ys)), s);
}

PITFALL(208, "a scan is unrolled by a number that does not divide its length")
{
	double x[10], s = 0.5, sum = 0;
	for (int i = 0; i < 10; i++) {
		x[i] = 0.3 * i - 1;
		s = 0.5 * s + sin(x[i]);
		sum += s * s;
	}
	tensor xs = tensor_of(HOP_f64, 1, 10, 0, 0, x);
	gives(unrolled, NULL, LIST(F0(0.5), xs), LIST(F0(sum), F0(s)));
	slopes(unrolled, NULL, LIST(F0(0.5), xs), WRT(0, 1));
	slopes2(unrolled, NULL, LIST(F0(0.5), xs), WRT(0));
}
