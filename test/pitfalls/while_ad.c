/* while_ad.c -- pitfalls of the derivatives of loops with a test. */
#include "pitfall.h"

BODY(power)
{
	hop_value x = in[0], n = in[2];
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), x, n) {
		x = hop_mul(t, hop_sin(t, x), in[1]);
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, x), n);
}

PITFALL(37, "the gradient of a loop that makes no trip")
{
	gradient(power, NULL, LIST(F(1, 2), F(3, 4), I0(0)), WRT(0, 1), LIST(F(1, 1), F(0, 0)));
	gradient(power, NULL, LIST(F(1, 2), F(3, 4), I0(1)), WRT(0, 1),
	         LIST(F(3 * cos(1), 4 * cos(2)), F(sin(1), sin(2))));
	slopes(power, NULL, LIST(F(1, 2), F(0.5, 0.75), I0(4)), WRT(0, 1));
}

PITFALL(38, "forward mode and second derivatives through a loop, beside whole-number carries")
{
	slopes2(power, NULL, LIST(F(1, 2), F(1.5, 0.75), I0(3)), WRT(0, 1));
	slopes2(power, NULL, LIST(F(1, 2), F(1.5, 0.75), I0(0)), WRT(0, 1));
}

BODY(divide)
{
	hop_value x = in[0];
	HOP_WHILE(t, hop_gt(t, x, hop_f(t, 1)), x) {
		x = hop_div(t, in[1], hop_subf(t, x, 1));
	}
	hop_return(t, x);
}

BODY(divide_lanes)
{
	hop_value out[1];
	const int axes[2] = { 0, -1 };
	hop_vmap_at(t, divide, NULL, 2, in, axes, 1, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0]);
}

/* One trip more of a lane that ended at 1 would divide by zero. */
PITFALL(39, "a lane that has ended would divide by zero, under a gradient")
{
	tensor x = F(1, 3, 1.5, 9);
	gives(divide_lanes, NULL, LIST(x, F0(2)), LIST(F0(1 + 1 + 2 / 3.0 + 1 / 4.0),
	      F(1, 2 / (3 - 1.0), 2 / (2 / 0.5 - 1), 2 / (9 - 1.0))));
	gradient(divide_lanes, NULL, LIST(x, F0(2)), WRT(0), LIST(F(1, -2 / 4.0,
	         (-2 / 9.0) * (-2 / 0.25), -2 / 64.0)));
	slopes2(divide_lanes, NULL, LIST(F(3.5, 1.5, 9), F0(2)), WRT(0, 1));
	lanes(divide, NULL, LIST(x, F0(2)), AXES(0, -1));
}

BODY(step)
{
	hop_value w = *(hop_value *)user;
	hop_return(t, hop_tanh(t, hop_mul(t, w, in[0])), hop_sub(t, in[1], hop_i(t, 1)));
}

BODY(left)
{
	hop_return(t, hop_gt(t, in[1], hop_i(t, 0)));
}

BODY(slotted)
{
	hop_value out[2], w = in[2];
	hop_while(t, left, step, &w, 2, in, HOP_WHILE_OPTS(.slots = 3), out, NULL);
	hop_return(t, hop_sum_all(t, out[0]));
}

PITFALL(40, "the gradient of a loop in memory that does not grow with its trips")
{
	double x = 0.7, w = 1.3, dx = 1, dw = 0;
	for (int i = 0; i < 200; i++) {
		double y = tanh(w * x), s = 1 - y * y;
		dw = s * (x + w * dw);
		dx *= s * w;
		x = y;
	}
	gives(slotted, NULL, LIST(F0(0.7), I0(200), F0(1.3)), LIST(F0(x)));
	gradient(slotted, NULL, LIST(F0(0.7), I0(200), F0(1.3)), WRT(0, 2), LIST(F0(dx), F0(dw)));
	slopes(slotted, NULL, LIST(F(0.7, 0.1), I0(7), F(1.3, 2)), WRT(0, 2));
	slopes2(slotted, NULL, LIST(F(0.7, 0.1), I0(7), F(1.3, 0.9)), WRT(0, 2));
	lanes(slotted, NULL, LIST(F(0.7, 0.1, 1), I(7, 0, 4), F0(1.3)), AXES(0, 0, -1));
}

BODY(keep_all)
{
	hop_value w = *(hop_value *)user, x = hop_mul(t, w, in[0]);
	hop_return(t, x, hop_sub(t, in[1], hop_i(t, 1)), hop_mul(t, x, x));
}

BODY(stacked)
{
	hop_value out[3], trips, w = in[2];
	hop_while_stack_output(t, left, keep_all, &w, 2, in, HOP_WHILE_OPTS(.max_trips = 4), 3, out,
	                       &trips);
	hop_return(t, hop_sum_all(t, out[2]), out[2], trips);
}

PITFALL(41, "all trips of a loop are stacked: none is not one, and they have a gradient")
{
	tensor x = F0(3), w = F0(2);
	gives(stacked, NULL, LIST(x, I0(0), w), LIST(F0(0), F(0, 0, 0, 0), I0(0)));
	gives(stacked, NULL, LIST(x, I0(1), w), LIST(F0(36), F(36, 0, 0, 0), I0(1)));
	gives(stacked, NULL, LIST(x, I0(3), w), LIST(F0(756), F(36, 144, 576, 0), I0(3)));
	gradient(stacked, NULL, LIST(x, I0(0), w), WRT(0, 2), LIST(F0(0), F0(0)));
	gradient(stacked, NULL, LIST(x, I0(1), w), WRT(0, 2), LIST(F0(24), F0(36)));
	slopes(stacked, NULL, LIST(x, I0(3), w), WRT(0, 2));
	slopes2(stacked, NULL, LIST(F0(0.5), I0(3), F0(0.75)), WRT(0, 2));
	lanes(stacked, NULL, LIST(F(1, 2, 3), I(2, 0, 9), w), AXES(0, 0, -1));
}

BODY(decay)
{
	hop_value s = in[0], c = in[1], n = in[2];
	HOP_WHILE(t, hop_gt(t, hop_sum_all(t, s), n), s) {
		HOP_FOR(t, i, 3, s) {
			s = hop_mul(t, s, hop_sin(t, hop_take(t, c, i)));
		}
	}
	hop_return(t, hop_sum_all(t, s));
}

PITFALL(42, "a scan inside a while, with a gradient")
{
	slopes(decay, NULL, LIST(F(3, 4), F(1, 2, 0.8), F0(1)), WRT(0, 1));
	slopes(decay, NULL, LIST(F(3, 4), F(1, 2, 0.8), F0(100)), WRT(0, 1));
	slopes2(decay, NULL, LIST(F(3, 4), F(1, 2, 0.8), F0(1)), WRT(0, 1));
	lanes(decay, NULL, LIST(F2(3, 1, 3, 10, 0.5), F(1, 2, 0.8), F0(1)), AXES(0, -1, -1));
}
