/* custom.c -- functions with a derivative of their own: what they are given, what they give back, and
 * that the rule is asked, and nothing else, at every order. Rules here are wrong on purpose where a
 * right one would not show that it was used. */
#include "inside.h"

#define RULE(...) { .size = sizeof(hop_custom_rule), __VA_ARGS__ }

/* ---- arguments ---- */

BODY(mul_fwd)
{
	hop_save(t, 2, in);
	hop_return(t, hop_mul(t, in[0], in[1]));
}
BODY(mul_bwd)                                          /* x, y, ct: ten times what is right */
{
	hop_value ct = hop_mulf(t, in[2], 10);
	hop_return(t, hop_mul(t, ct, in[1]), hop_mul(t, ct, in[0]));
}
static const hop_custom_rule mul_rule = RULE(.fwd = mul_fwd, .bwd = mul_bwd);

BODY(same_twice)
{
	hop_value a[2] = { in[0], in[0] }, y;
	hop_custom(t, &mul_rule, NULL, 2, a, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(119, "a custom gradient gets one value for two arguments")
{
	gradient(same_twice, NULL, LIST(F(1, 2, 3)), WRT(0), LIST(F(20, 40, 60)));
}

BODY(first_fwd)                                        /* x, unused, count */
{
	hop_save(t, 1, in);
	hop_return(t, hop_sin(t, in[0]));
}
BODY(first_bwd)                                        /* x, ct: of both floats; an integer has none */
{
	hop_return(t, hop_mul(t, in[1], hop_cos(t, in[0])), hop_zeros_like(t, in[1]));
}
BODY(some_unused)
{
	static const hop_custom_rule rule = RULE(.fwd = first_fwd, .bwd = first_bwd);
	hop_value y;
	hop_custom(t, &rule, NULL, 3, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(120, "a custom gradient has arguments that are not used, and integers")
{
	gradient(some_unused, NULL, LIST(F(0.5, 2), F(3, 4), I0(7)), WRT(0, 1),
	         LIST(F(cos(0.5), cos(2)), F(0, 0)));
}

BODY(one_bwd) { hop_return(t, in[2]); }
BODY(missing)
{
	static const hop_custom_rule rule = RULE(.fwd = mul_fwd, .bwd = one_bwd);
	hop_value y;
	hop_custom(t, &rule, NULL, 2, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(short_bwd) { hop_return(t, hop_sum_all(t, in[2]), in[2]); }
BODY(wrong_type)
{
	static const hop_custom_rule rule = RULE(.fwd = mul_fwd, .bwd = short_bwd);
	hop_value y;
	hop_custom(t, &rule, NULL, 2, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(121, "a backward body gives too few gradients")
{
	refuses_capture(missing, NULL, LIST(F(1, 2), F(3, 4)), HOP_ETYPE,
	                "custom: bwd gives 1 cotangents for 2 float inputs");
}

PITFALL(122, "a backward body gives a gradient of another type than its input")
{
	refuses_capture(wrong_type, NULL, LIST(F(1, 2), F(3, 4)), HOP_ETYPE,
	                "custom: the cotangent of operand 0 is f64[2] in the operands, but f64 in bwd");
}

/* What is captured is a constant to the rule: pass it to have its gradient. */
BODY(scale_fwd) { hop_return(t, hop_mul(t, in[0], *(hop_value *)user)); }
BODY(scale_bwd) { hop_return(t, hop_mul(t, in[0], *(hop_value *)user)); }
BODY(capturing)                                        /* x, w */
{
	static const hop_custom_rule rule = RULE(.fwd = scale_fwd, .bwd = scale_bwd);
	hop_value y, w = in[1];
	hop_custom(t, &rule, &w, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(123, "a custom gradient uses a value that it was not passed")
{
	gives(capturing, NULL, LIST(F(1, 2), F(3, 4)), LIST(F0(11)));
	gradient(capturing, NULL, LIST(F(1, 2), F(3, 4)), WRT(0, 1), LIST(F(3, 4), F(0, 0)));
}

BODY(scaled_steps)                                     /* x, ws: captured from the trip it is in */
{
	static const hop_custom_rule rule = RULE(.fwd = scale_fwd, .bwd = scale_bwd);
	hop_value h = in[0];
	HOP_FOR(t, i, 3, h) {
		hop_value w = hop_take(t, in[1], i);
		hop_custom(t, &rule, &w, 1, &h, 1, &h);
	}
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(124, "a custom gradient captures a value of the loop that it is in")
{
	gives(scaled_steps, NULL, LIST(F(1, 2), F(2, 3, 5)), LIST(F0(90)));
	gradient(scaled_steps, NULL, LIST(F(1, 2), F(2, 3, 5)), WRT(0), LIST(F(30, 30)));
}

/* ---- results ---- */

BODY(through_fwd) { hop_return(t, in[0]); }
BODY(clip_bwd) { hop_return(t, hop_clampf(t, in[0], -1, 1)); }
static const hop_custom_rule clip_rule = RULE(.fwd = through_fwd, .bwd = clip_bwd);
BODY(clipped)                                          /* x, used twice behind the clip */
{
	hop_value y;
	hop_custom(t, &clip_rule, NULL, 1, in, 1, &y);
	hop_return(t, hop_add(t, hop_sum_all(t, hop_mulf(t, y, 0.75)), hop_sum_all(t, hop_mulf(t, y, 0.5))));
}

PITFALL(125, "a custom gradient returns its input: a hook on a gradient")
{
	/* the sum of both uses is clipped, once: 1, not 0.75 + 0.5 */
	gradient(clipped, NULL, LIST(F(2, -3)), WRT(0), LIST(F(1, 1)));
	gives(clipped, NULL, LIST(F(2, -3)), LIST(F0(-1.25)));
}

BODY(step_fwd)                                         /* a spike, and which ones there were */
{
	hop_value p = hop_gt(t, in[0], hop_f(t, 0));
	hop_save(t, 1, in);
	hop_return(t, hop_cast(t, p, HOP_f64), p, hop_sum_all(t, hop_cast(t, p, HOP_i64)));
}
BODY(step_bwd)                                         /* x, ct of the float result alone */
{
	hop_return(t, hop_div(t, in[1], hop_addf(t, hop_mul(t, in[0], in[0]), 1)));
}
static const hop_custom_rule step_rule = RULE(.fwd = step_fwd, .bwd = step_bwd);
BODY(spikes)
{
	hop_value y[3];
	hop_custom(t, &step_rule, NULL, 1, in, 3, y);
	hop_return(t, hop_sum_all(t, y[0]), y[1], y[2]);
}
BODY(spiking)                                          /* xs, v: a neuron in time, kept every 2 */
{
	hop_value v = in[1], sum = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), v, sum) {
		hop_every(t, 2);
		hop_value y[3];
		v = hop_add(t, hop_mulf(t, v, 0.5), hop_take(t, in[0], i));
		hop_value over = hop_subf(t, v, 1);
		hop_custom(t, &step_rule, NULL, 1, &over, 3, y);
		v = hop_sub(t, v, y[0]);
		sum = hop_add(t, sum, y[0]);
	}
	hop_return(t, sum);
}

PITFALL(126, "a custom gradient has integer and bool results")
{
	gives(spikes, NULL, LIST(F(1, -2, 3)), LIST(F0(2), B(1, 0, 1), I0(2)));
	gradient(spikes, NULL, LIST(F(1, -2, 3)), WRT(0), LIST(F(0.5, 0.2, 0.1)));
}

PITFALL(127, "a surrogate gradient in a loop that is run again")
{
	double x[4] = { 0.8, 0.9, 0.2, 1.4 }, v = 0.3, d[4] = { 0 }, slope[4], dv = 0;
	for (int i = 0; i < 4; i++) {                        /* forth, then back by hand */
		v = 0.5 * v + x[i];
		slope[i] = 1 / (1 + (v - 1) * (v - 1));
		v -= v > 1;
	}
	for (int i = 3; i >= 0; i--) {
		double before = dv + (1 - dv) * slope[i];
		d[i] = before;
		dv = 0.5 * before;
	}
	gradient(spiking, NULL, LIST(F(0.8, 0.9, 0.2, 1.4), F0(0.3)), WRT(0, 1),
	         LIST(F(d[0], d[1], d[2], d[3]), F0(dv)));
}

/* ---- writes ---- */

BODY(dirty_fwd)                                        /* writes its input, and what it saved */
{
	hop_save(t, 1, in);
	hop_mul_(t, in[0], hop_f(t, 3));
	hop_return(t, in[0]);
}
BODY(dirty_bwd)                                        /* what was saved, ct */
{
	hop_return(t, hop_mul(t, in[0], in[1]));
}
BODY(dirty)
{
	static const hop_custom_rule rule = RULE(.fwd = dirty_fwd, .bwd = dirty_bwd);
	hop_value x = hop_clone(t, in[0]), y;
	hop_custom(t, &rule, NULL, 1, &x, 1, &y);
	hop_mul_(t, x, hop_f(t, 0));                         /* and it is written behind it */
	hop_return(t, hop_sum_all(t, y), x, y);
}

PITFALL(128, "what a custom gradient saved is written afterwards")
{
	gives(dirty, NULL, LIST(F(1, 2)), LIST(F0(9), F(0, 0), F(3, 6)));
	gradient(dirty, NULL, LIST(F(1, 2)), WRT(0), LIST(F(1, 2)));
}

/* ---- orders, batches, forwards ---- */

BODY(cube_fwd)
{
	hop_save(t, 1, in);
	hop_return(t, HOP_E(t, "x * x * x", HOP_AS(x, in[0])));
}
BODY(cube_bwd)                                         /* x, ct: 5 x^2 instead of 3 x^2 */
{
	hop_return(t, HOP_E(t, "5 * x * x * c", HOP_AS(x, in[0]), HOP_AS(c, in[1])));
}
static const hop_custom_rule cube_rule = RULE(.fwd = cube_fwd, .bwd = cube_bwd);
BODY(cube)
{
	hop_value y;
	hop_custom(t, &cube_rule, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(cube_slope)
{
	hop_value out[2];
	hop_grad_at(t, cube, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, hop_sum_all(t, out[1]));
}
BODY(cube_bend)
{
	hop_value out[2];
	hop_grad_at(t, cube_slope, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, hop_sum_all(t, out[1]));
}

PITFALL(129, "a custom rule is differentiated again, as it is written")
{
	gradient(cube, NULL, LIST(F(2, 3)), WRT(0), LIST(F(20, 45)));
	gradient(cube_slope, NULL, LIST(F(2, 3)), WRT(0), LIST(F(20, 30)));
	gradient(cube_bend, NULL, LIST(F(2, 3)), WRT(0), LIST(F(10, 10)));
}

BODY(own_mul)                                          /* x, y */
{
	hop_value z;
	hop_custom(t, &mul_rule, NULL, 2, in, 1, &z);
	hop_return(t, hop_sum_all(t, z));
}
BODY(lane_slopes)
{
	hop_value out[3];
	hop_grad_at(t, own_mul, NULL, 2, in, WRT(0, 1), 3, out);
	hop_return(t, out[1], out[2]);
}
BODY(over_lanes)                                       /* xs, y: y is shared among lanes */
{
	hop_value z;
	hop_vmap_at(t, own_mul, NULL, 2, in, AXES(0, -1), 1, &z);
	hop_return(t, hop_sum_all(t, z));
}

PITFALL(130, "a custom gradient is batched, and what lanes share is summed")
{
	lanes(lane_slopes, NULL, LIST(F2(3, 2, 1, 2, 3, 4, 5, 6), F(7, 8)), AXES(0, -1));
	lanes(lane_slopes, NULL, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), F2(3, 2, 1, 2, 3, 4, 5, 6)), AXES(1, 0));
	gradient(over_lanes, NULL, LIST(F2(3, 2, 1, 2, 3, 4, 5, 6), F(7, 8)), WRT(0, 1),
	         LIST(F2(3, 2, 70, 80, 70, 80, 70, 80), F(90, 120)));
}

BODY(cube_jvp)                                         /* x, dx: 7 x^2 */
{
	hop_return(t, HOP_E(t, "7 * x * x * d", HOP_AS(x, in[0]), HOP_AS(d, in[1])));
}
BODY(along)                                            /* x, dx */
{
	hop_value out[2];
	hop_jvp_at(t, cube, NULL, 1, in, WRT(0), in + 1, 2, out);
	hop_return(t, out[1]);
}
BODY(both_ways)
{
	static const hop_custom_rule rule = RULE(.fwd = cube_fwd, .bwd = cube_bwd, .jvp = cube_jvp);
	hop_value y;
	hop_custom(t, &rule, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(along_both)
{
	hop_value out[2];
	hop_jvp_at(t, both_ways, NULL, 1, in, WRT(0), in + 1, 2, out);
	hop_return(t, out[1]);
}

PITFALL(131, "a custom gradient without a forward rule is differentiated forwards")
{
	gives(along, NULL, LIST(F(2, 3), F(1, 0.5)), LIST(F0(20 + 22.5)));       /* 5 x^2, as bwd says */
	gives(along_both, NULL, LIST(F(2, 3), F(1, 0.5)), LIST(F0(28 + 31.5)));
	gradient(both_ways, NULL, LIST(F(2, 3)), WRT(0), LIST(F(20, 45)));
}

BODY(half)                                             /* x, y: only x is wanted */
{
	hop_value y;
	hop_custom(t, &mul_rule, NULL, 2, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(132, "a gradient that nobody wants is not computed")
{
	/* the product itself, and 10 y; not 10 x */
	must(times("= mul f64", TRAINED_LOWERED, half, NULL, LIST(F(1, 2), F(3, 4))) == 2);
	gradient(half, NULL, LIST(F(1, 2), F(3, 4)), WRT(0), LIST(F(30, 40)));
}
