/* custom_orders.c -- functions with a derivative of their own: what is not asked for is not computed,
 * rules for one mode, for lanes, for one order, rules that use rules; effects, random numbers, loops.
 * Rules are wrong on purpose where a right one would not show that it was used. */
#include "inside.h"

#define RULE(...) { .size = sizeof(hop_custom_rule), __VA_ARGS__ }

/* ---- what nobody asked for ---- */

BODY(pair_fwd)                                         /* x, y -> sin x, x y */
{
	hop_save(t, 2, in);
	hop_return(t, hop_sin(t, in[0]), hop_mul(t, in[0], in[1]));
}
BODY(pair_bwd)                                         /* x, y, ct, ct2: each part has its own op */
{
	hop_value a = hop_mul(t, hop_tanh(t, in[0]), in[2]);
	hop_value b = hop_mul(t, hop_exp(t, in[1]), in[3]);
	hop_return(t, hop_add(t, a, b), hop_mul(t, hop_sqrt(t, in[0]), in[3]));
}
static const hop_custom_rule pair_rule = RULE(.fwd = pair_fwd, .bwd = pair_bwd);
BODY(first_only)
{
	hop_value y[2];
	hop_custom(t, &pair_rule, NULL, 2, in, 2, y);
	hop_return(t, hop_sum_all(t, y[0]));
}
BODY(second_only)
{
	hop_value y[2];
	hop_custom(t, &pair_rule, NULL, 2, in, 2, y);
	hop_return(t, hop_sum_all(t, y[1]));
}
BODY(first_steps)                                      /* the same in a loop */
{
	hop_value h = in[0];
	HOP_FOR(t, i, 3, h) {
		hop_value a[2] = { h, in[1] }, y[2];
		hop_custom(t, &pair_rule, NULL, 2, a, 2, y);
		h = y[0];
	}
	hop_return(t, hop_sum_all(t, h));
}
BODY(called_bwd)                                       /* its work in a region */
{
	hop_value y[2];
	hop_region(t, "way_back", pair_bwd, NULL, 4, in, 2, y);
	hop_return(t, y[0], y[1]);
}
BODY(first_called)                                     /* two, so that it is not one callee */
{
	static const hop_custom_rule rule = RULE(.fwd = pair_fwd, .bwd = called_bwd);
	hop_value y[2], a[2] = { in[0], in[1] };
	hop_custom(t, &rule, NULL, 2, a, 2, y);
	a[0] = y[0];
	hop_custom(t, &rule, NULL, 2, a, 2, y);
	hop_return(t, hop_sum_all(t, y[0]));
}

PITFALL(358, "a cotangent that does not arrive costs nothing, infinities neither")
{
	/* exp and sqrt belong to the second cotangent, and to y, for which nobody asks */
	must(times("= exp f64", TRAINED_LOWERED, first_only, NULL, LIST(F(1, 2), F(3, 4))) == 0);
	must(times("= sqrt f64", TRAINED_LOWERED, first_only, NULL, LIST(F(1, 2), F(3, 4))) == 0);
	must(times("= tanh f64", TRAINED_LOWERED, first_only, NULL, LIST(F(1, 2), F(3, 4))) == 1);
	must(times("= exp f64", TRAINED_LOWERED, first_steps, NULL, LIST(F(1, 2), F(3, 4))) == 0);
	must(times("= tanh f64", TRAINED_LOWERED, first_steps, NULL, LIST(F(1, 2), F(3, 4))) == 1);
	must(times("= exp f64", TRAINED_LOWERED, first_called, NULL, LIST(F(1, 2), F(3, 4))) == 0);
	/* exp(1000) is infinite: times a zero that was computed it would be NaN */
	gradient(first_only, NULL, LIST(F(0.5, 1), F(1000, 2)), WRT(0, 1),
	         LIST(F(tanh(0.5), tanh(1)), F(0, 0)));
}

PITFALL(359, "a gradient that nobody wants is not computed in a rule, in a loop neither")
{
	must(times("= sqrt f64", TRAINED_LOWERED, second_only, NULL, LIST(F(1, 2), F(3, 4))) == 0);
	must(times("= tanh f64", TRAINED_LOWERED, second_only, NULL, LIST(F(1, 2), F(3, 4))) == 0);
	must(times("= exp f64", TRAINED_LOWERED, second_only, NULL, LIST(F(1, 2), F(3, 4))) == 1);
	must(times("= sqrt f64", TRAINED_LOWERED, first_steps, NULL, LIST(F(1, 2), F(3, 4))) == 0);
}

/* ---- rules for one mode, for one order ---- */

BODY(wave_fwd) { hop_return(t, hop_sin(t, in[0]), hop_mul(t, in[0], in[1])); }
BODY(wave_jvp)                                         /* x, y, dx, dy: ten times what is right */
{
	hop_value a = hop_mul(t, hop_cos(t, in[0]), in[2]);
	hop_value b = hop_add(t, hop_mul(t, in[1], in[2]), hop_mul(t, in[0], in[3]));
	hop_return(t, hop_mulf(t, a, 10), hop_mulf(t, b, 10));
}
static const hop_custom_rule wave_rule = RULE(.fwd = wave_fwd, .jvp = wave_jvp);
BODY(wave)
{
	hop_value y[2];
	hop_custom(t, &wave_rule, NULL, 2, in, 2, y);
	hop_return(t, hop_sum_all(t, hop_add(t, y[0], hop_mul(t, y[1], in[1]))));
}
BODY(wave_slope)
{
	hop_value out[2];
	hop_grad_at(t, wave, NULL, 2, in, WRT(0), 2, out);
	hop_return(t, hop_sum_all(t, out[1]));
}

PITFALL(360, "a rule for forward mode alone serves reverse mode")
{
	double x = 0.5, y = 3;
	gradient(wave, NULL, LIST(F(x), F(y)), WRT(0, 1), LIST(F(10 * cos(x) + 10 * y * y), F(11 * x * y)));
	/* of the slope 10 cos x + 10 y^2: by its own ops */
	gradient(wave_slope, NULL, LIST(F(x), F(y)), WRT(0, 1), LIST(F(-10 * sin(x)), F(20 * y)));
	lanes(wave_slope, NULL, LIST(F2(2, 2, 1, 2, 3, 4), F(3, 4)), AXES(0, -1));
	must(times("= cos f64", TRAINED_LOWERED, wave, NULL, LIST(F(x), F(y))) == 1);
}

BODY(bent_jvp) { hop_return(t, hop_mul(t, in[1], in[1])); }
BODY(shifted_jvp) { hop_return(t, hop_addf(t, in[1], 1)); }
BODY(one_fwd) { hop_return(t, hop_sin(t, in[0])); }
BODY(save_fwd) { hop_save(t, 1, in); hop_return(t, hop_sin(t, in[0])); }
static const hop_custom_rule bad_rules[] = {
	RULE(.fwd = one_fwd, .jvp = bent_jvp), RULE(.fwd = one_fwd, .jvp = shifted_jvp),
	RULE(.fwd = save_fwd, .jvp = shifted_jvp)
};
BODY(by_rule)
{
	hop_value y;
	hop_custom(t, user, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(361, "a rule for forward mode alone is not linear, or saves for nobody")
{
	refuses_capture(by_rule, (void *)&bad_rules[0], LIST(F(1, 2)), HOP_ENODIFF,
	                "custom: mul is not linear in the inputs: it needs their values");
	refuses_capture(by_rule, (void *)&bad_rules[1], LIST(F(1, 2)), HOP_ENODIFF, "custom: result 0 is "
	                "not zero where the inputs are: it adds something that does not depend on them");
	refuses_capture(by_rule, (void *)&bad_rules[2], LIST(F(1, 2)), HOP_EUSE,
	                "custom: fwd saves 1 values, but there is no bwd to take them");
}

BODY(once_bwd)                                         /* x, ct: 4 x */
{
	hop_return(t, hop_mul(t, in[1], hop_mulf(t, in[0], 4)));
}
static const hop_custom_rule once_rule = RULE(.fwd = save_fwd, .bwd = once_bwd, .once = true);
static const hop_custom_rule pair_once = RULE(.fwd = pair_fwd, .bwd = pair_bwd, .once = true);
BODY(slope_of)                                         /* user: the rule */
{
	hop_value out[2];
	hop_grad_at(t, by_rule, user, 1, in, WRT(0), 2, out);
	hop_return(t, hop_sum_all(t, out[1]));
}
BODY(bend_of)
{
	hop_value out[2];
	hop_grad_at(t, slope_of, user, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}
BODY(bend_along)
{
	hop_value out[2];
	hop_jvp_at(t, slope_of, user, 1, in, WRT(0), in, 2, out);
	hop_return(t, out[1]);
}
BODY(once_pair)
{
	hop_value y[2];
	hop_custom(t, &pair_once, NULL, 2, in, 2, y);
	hop_return(t, hop_sum_all(t, y[0]));
}

PITFALL(362, "a rule that may be used once is not differentiated again")
{
	const char *why = "custom: a second derivative is asked for, and its rule is to be used once: leave "
	                  "out once, if what bwd and jvp compute may be differentiated";
	gradient(by_rule, (void *)&once_rule, LIST(F(1, 2)), WRT(0), LIST(F(4, 8)));
	lanes(slope_of, (void *)&once_rule, LIST(F2(2, 2, 1, 2, 3, 4)), AXES(0));
	refuses(bend_of, (void *)&once_rule, LIST(F(1, 2)), HOP_ENODIFF, why);
	refuses(bend_along, (void *)&once_rule, LIST(F(1, 2)), HOP_ENODIFF, why);
	/* and what is not asked for is not computed */
	must(times("= sqrt f64", TRAINED_LOWERED, once_pair, NULL, LIST(F(1, 2), F(3, 4))) == 0);
	must(times("= tanh f64", TRAINED_LOWERED, once_pair, NULL, LIST(F(1, 2), F(3, 4))) == 1);
}

/* ---- lanes ---- */

/* x, w -> 3 w x for one lane; the batch body says 3 w x + 0.25 (and 0.5 more where w is shared), so
 * that it can be told from it. */
BODY(lane_fwd)
{
	hop_value y = hop_mulf(t, hop_mul(t, in[0], in[1]), 3);
	hop_save(t, 2, (hop_value[]){ in[0], y });
	hop_return(t, y);
}
BODY(lane_bwd)                                         /* x, y, ct: 2 ct, y ct */
{
	hop_return(t, hop_mulf(t, in[2], 2), hop_mul(t, in[1], in[2]));
}
BODY(lane_batch)                                       /* xs, ws, is x batched, is w batched */
{
	hop_value y = hop_addf(t, hop_mulf(t, hop_mul(t, in[0], in[1]), 3), 0.25);
	HOP_IF(t, hop_not(t, in[3]), y)
		y = hop_addf(t, y, 0.5);
	hop_return(t, y);
}
static const hop_custom_rule lane_rule = RULE(.fwd = lane_fwd, .bwd = lane_bwd, .batch = lane_batch);
static const hop_custom_rule plain_rule = RULE(.fwd = lane_fwd, .bwd = lane_bwd);
static const hop_custom_rule each_rule = RULE(.fwd = lane_fwd, .bwd = lane_bwd, .lanewise = true);
BODY(lane)                                             /* x, w; user: the rule */
{
	hop_value y;
	hop_custom(t, user, NULL, 2, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(lane_slope)
{
	hop_value out[3];
	hop_grad_at(t, lane, user, 2, in, WRT(0, 1), 3, out);
	hop_return(t, out[0], out[1], out[2]);
}
BODY(lanes_then)                                       /* vmap, of a gradient */
{
	hop_value out[3];
	hop_vmap_at(t, lane_slope, user, 2, in, AXES(0, -1), 3, out);
	hop_return(t, out[0], out[1], out[2]);
}
BODY(lanes_sum)
{
	hop_value y;
	hop_vmap_at(t, lane, user, 2, in, AXES(0, -1), 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(lanes_own)
{
	hop_value y;
	hop_vmap_at(t, lane, user, 2, in, AXES(0, 0), 1, &y);
	hop_return(t, y);
}
BODY(one_row)                                          /* two axes of lanes: the inner one is its */
{
	hop_value y;
	hop_vmap_at(t, lane, user, 2, in, AXES(0, -1), 1, &y);
	hop_return(t, y);
}
BODY(lanes_twice)
{
	hop_value y;
	hop_vmap_at(t, one_row, user, 2, in, AXES(0, -1), 1, &y);
	hop_return(t, y);
}

PITFALL(363, "lanes are computed by a body of the rule's own, before and behind a gradient")
{
	tensor x = F2(3, 1, 1, 2, 3), w = F(2), ws = F2(3, 1, 2, 4, 6);
	/* 6 x + 0.75: its own results; the gradient of w is y's, which is saved, lane by lane */
	gives(lanes_sum, (void *)&lane_rule, LIST(x, w), LIST(F0(36 + 2.25)));
	gives(lanes_own, (void *)&lane_rule, LIST(x, ws), LIST(F(6.25, 24.25, 54.25)));
	gives(lanes_then, (void *)&lane_rule, LIST(x, w),
	      LIST(F(6.75, 12.75, 18.75), F2(3, 1, 2, 2, 2), F2(3, 1, 6.75, 12.75, 18.75)));
	gradient(lanes_sum, (void *)&lane_rule, LIST(x, w), WRT(0, 1),
	         LIST(F2(3, 1, 2, 2, 2), F(38.25)));
	gives(lanes_twice, (void *)&lane_rule, LIST(F3(2, 2, 1, 1, 2, 3, 4), w),
	      LIST(F2(2, 2, 6.75, 12.75, 18.75, 24.75)));
	gives(lane, (void *)&lane_rule, LIST(F(1, 2), F(3, 4)), LIST(F0(33)));
	gives(lanes_sum, (void *)&lane_rule, LIST(UNKNOWN(x, "lanes"), w), LIST(F0(36 + 2.25)));
	gradient(lanes_sum, (void *)&lane_rule,
	         LIST(unknown_at(UNKNOWN(x, "lanes"), 1, "n"), UNKNOWN(w, "n")), WRT(0, 1),
	         LIST(F2(3, 1, 2, 2, 2), F(38.25)));
	gives(lanes_sum, (void *)&lane_rule, LIST(EMPTY2(HOP_f64, 0, 1), w), LIST(F0(0)));
	gives(lanes_sum, (void *)&each_rule, LIST(EMPTY2(HOP_f64, 0, 1), w), LIST(F0(0)));
	/* what is known of the flags is decided when it is compiled */
	must(times("cond ", OPTIMISED, lanes_sum, (void *)&lane_rule, LIST(x, w)) == 0);
}

BODY(spin_fwd)                                         /* halved until it is small, which lanes do */
{                                                      /* in different numbers of trips */
	hop_value x = in[0];
	hop_save(t, 1, in);
	HOP_WHILE(t, hop_gt(t, hop_sum_all(t, hop_abs(t, x)), hop_f(t, 1)), x)
		x = hop_mulf(t, x, 0.5);
	hop_return(t, x);
}
BODY(spin_bwd) { hop_return(t, hop_mul(t, in[0], in[1])); }
BODY(spin_batch)                                       /* the same of all lanes: would not end for NaN */
{
	hop_value x = in[0], on = hop_gt(t, hop_sum(t, hop_abs(t, x), WRT(1)), hop_f(t, 1));
	HOP_WHILE(t, hop_any(t, on, WRT(0)), x, on) {
		x = hop_select(t, hop_unsqueeze(t, on, 1), hop_mulf(t, x, 0.5), x);
		on = hop_not(t, hop_le(t, hop_sum(t, hop_abs(t, x), WRT(1)), hop_f(t, 1)));
	}
	hop_return(t, x);
}
static const hop_custom_rule spin_rules[] = {
	RULE(.fwd = spin_fwd, .bwd = spin_bwd), RULE(.fwd = spin_fwd, .bwd = spin_bwd, .lanewise = true),
	RULE(.fwd = spin_fwd, .bwd = spin_bwd, .batch = spin_batch)
};
BODY(spin_branch)                                      /* x, p: in a branch that lanes may not take */
{
	hop_value y = hop_mulf(t, in[0], 0.25);
	HOP_IF(t, in[1], y)
		hop_custom(t, user, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(spin_slope)
{
	hop_value out[2];
	hop_grad_at(t, spin_branch, user, 2, in, WRT(0), 2, out);
	hop_return(t, out[0], out[1]);
}
BODY(told_fwd) { hop_print(t, "there {}", 1, in); hop_save(t, 1, in); hop_return(t, hop_sin(t, in[0])); }
BODY(told_bwd) { hop_print(t, "back {}", 1, in); hop_return(t, hop_mul(t, in[0], in[1])); }
static const hop_custom_rule told_rules[] = {
	RULE(.fwd = told_fwd, .bwd = told_bwd), RULE(.fwd = told_fwd, .bwd = told_bwd, .lanewise = true)
};
BODY(told_lanes)                                       /* gradients of each lane */
{
	hop_value out[2];
	hop_vmap_at(t, slope_of, user, 1, in, AXES(0), 1, out);
	hop_return(t, out[0]);
}
BODY(told_slope) { slope_of(t, in, user); }

PITFALL(364, "lanes run one after the other, and give what they give together")
{
	tensor x = F2(3, 2, 1, 2, 8, 4, 0.5, 30), p = B(1, 0, 1);
	gives(lanes_sum, (void *)&each_rule, LIST(F2(3, 1, 1, 2, 3), F(2)), LIST(F0(36)));
	gradient(lanes_sum, (void *)&each_rule, LIST(F2(3, 1, 1, 2, 3), F(2)), WRT(0, 1),
	         LIST(F2(3, 1, 2, 2, 2), F(36)));
	lanes(lane_slope, (void *)&each_rule, LIST(F2(3, 1, 1, 2, 3), F(2)), AXES(0, -1));
	lanes(lane_slope, (void *)&plain_rule, LIST(F2(3, 1, 1, 2, 3), F(2)), AXES(0, -1));
	lanes(spin_slope, (void *)&spin_rules[0], LIST(x, p), AXES(0, 0));
	lanes(spin_slope, (void *)&spin_rules[1], LIST(x, p), AXES(0, 0));
	lanes(spin_slope, (void *)&spin_rules[2], LIST(x, p), AXES(0, 0));
	lanes(spin_slope, (void *)&spin_rules[2], LIST(x, B(0, 0, 0)), AXES(0, 0));
	lanes(spin_slope, (void *)&spin_rules[2], LIST(F2(2, 2, 1, 2, 1, NAN), B(1, 0)), AXES(0, 0));
}

BODY(batch_captures) { hop_return(t, hop_mul(t, in[0], *(hop_value *)user)); }
BODY(fwd_captures) { hop_return(t, hop_mul(t, in[0], *(hop_value *)user)); }
BODY(same_fwd) { hop_return(t, in[0]); }
BODY(batch_sum) { hop_return(t, hop_sum_all(t, in[0])); }
static const hop_custom_rule wrong_batch[] = {
	RULE(.fwd = same_fwd, .bwd = same_fwd, .batch = batch_captures),
	RULE(.fwd = fwd_captures, .bwd = same_fwd, .batch = same_fwd),
	RULE(.fwd = same_fwd, .bwd = same_fwd, .batch = batch_sum),
	RULE(.fwd = same_fwd, .bwd = same_fwd, .batch = same_fwd, .lanewise = true)
};
BODY(batch_wrong)
{
	hop_value w = hop_mulf(t, in[0], 2), y;
	hop_custom(t, user, &w, 1, in, 1, &y);
	hop_return(t, y);
}

PITFALL(365, "a batch body captures a value, gives no lanes, or is one too many")
{
	refuses_capture(batch_wrong, (void *)&wrong_batch[0], LIST(F(1, 2)), HOP_EREFUSED, "custom: batch "
	                "captures a value from outside, and there is a batch body, which has no lanes of "
	                "it: pass it as an input");
	refuses_capture(batch_wrong, (void *)&wrong_batch[1], LIST(F(1, 2)), HOP_EREFUSED, "custom: fwd "
	                "captures a value from outside, and there is a batch body, which has no lanes of "
	                "it: pass it as an input");
	refuses_capture(batch_wrong, (void *)&wrong_batch[2], LIST(F(1, 2)), HOP_ETYPE, "custom: result 0 "
	                "has one lane in fwd, but f64 in batch: it must be f64[s0, 2]");
	refuses(batch_wrong, (void *)&wrong_batch[3], LIST(F(1, 2)), HOP_EUSE,
	        "custom: batch and lanewise are two ways to be batched: leave out one");
}

/* ---- orders ---- */

BODY(sine_fwd) {
	hop_value y = hop_sin(t, in[0]); hop_save(t, 1, &y); hop_return(t, y);
}
BODY(sine_bwd) {
	hop_return(t, hop_mul(t, in[0], hop_mulf(t, in[1], 2)));
}                                                                             /* dy = 2 y */
static const hop_custom_rule sine_rule = RULE(.fwd = sine_fwd, .bwd = sine_bwd);
/* f = g(x)^2 with a rule that calls g again: d f = g(x) g(x) x, say */
BODY(square_fwd)
{
	hop_value y;
	hop_custom(t, &sine_rule, NULL, 1, in, 1, &y);
	hop_save(t, 1, in);
	hop_return(t, hop_mul(t, y, y));
}
BODY(square_bwd)                                       /* x, ct */
{
	hop_value y;
	hop_custom(t, &sine_rule, NULL, 1, in, 1, &y);
	hop_return(t, hop_mul(t, hop_mul(t, y, in[0]), in[1]));
}
static const hop_custom_rule square_rule = RULE(.fwd = square_fwd, .bwd = square_bwd);
BODY(bend_all)
{
	hop_value out[2];
	hop_grad_at(t, slope_of, user, 1, in, WRT(0), 2, out);
	hop_return(t, hop_sum_all(t, out[1]));
}
BODY(third_of)
{
	hop_value out[2];
	hop_grad_at(t, bend_all, user, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(366, "a rule that uses rules, and results that are saved, keep them to the third order")
{
	double y = sin(0.7), x = 0.7;
	/* y' = 2 y, again and again, and never cos x */
	gradient(by_rule, (void *)&sine_rule, LIST(F(x)), WRT(0), LIST(F(2 * y)));
	gradient(slope_of, (void *)&sine_rule, LIST(F(x)), WRT(0), LIST(F(4 * y)));
	gradient(bend_all, (void *)&sine_rule, LIST(F(x)), WRT(0), LIST(F(8 * y)));
	/* f' = y x, f'' = 2 y x + y, f''' = 4 y x + 4 y */
	gradient(by_rule, (void *)&square_rule, LIST(F(x)), WRT(0), LIST(F(y * x)));
	gradient(slope_of, (void *)&square_rule, LIST(F(x)), WRT(0), LIST(F(2 * y * x + y)));
	gradient(bend_all, (void *)&square_rule, LIST(F(x)), WRT(0), LIST(F(4 * y * x + 4 * y)));
	gives(third_of, (void *)&square_rule, LIST(F(x)), LIST(F(4 * y * x + 4 * y)));
	lanes(bend_of, (void *)&square_rule, LIST(F2(2, 1, 0.7, 0.2)), AXES(0));
}

/* ---- effects, random numbers, unknown sizes ---- */

PITFALL(367, "effects of a rule happen once each way, and in the order of lanes")
{
	prints(told_slope, (void *)&told_rules[0], LIST(F0(0.5)), "there 0.5\nback 0.5\n");
	prints(told_lanes, (void *)&told_rules[1], LIST(F(0.5, 1)),
	       "there 0.5\nthere 1.0\nlane 0: back 0.5\nlane 1: back 1.0\n");
}

BODY(drop_fwd)                                         /* x, key: the mask is made again in bwd */
{
	hop_dim n = hop_dim_of(t, in[0], 0);
	hop_value keep = hop_gt(t, hop_uniform(t, in[1], HOP_f64, 1, &n), hop_f(t, 0.5));
	hop_save(t, 2, in);
	hop_return(t, hop_select(t, keep, hop_mulf(t, in[0], 2), hop_f(t, 0)));
}
BODY(drop_bwd)                                         /* x, key, ct: ten times as much */
{
	hop_dim n = hop_dim_of(t, in[2], 0);
	hop_value keep = hop_gt(t, hop_uniform(t, in[1], HOP_f64, 1, &n), hop_f(t, 0.5));
	hop_return(t, hop_select(t, keep, hop_mulf(t, in[2], 20), hop_f(t, 0)));
}
static const hop_custom_rule drop_rule = RULE(.fwd = drop_fwd, .bwd = drop_bwd);
BODY(dropped)                                          /* x, key: by the rule */
{
	hop_value y;
	hop_custom(t, &drop_rule, NULL, 2, in, 1, &y);
	hop_return(t, hop_sum_all(t, y), y);
}
BODY(dropped_same)                                     /* the gradient is ten times the quotient */
{
	hop_value out[3];
	hop_grad_at(t, dropped, NULL, 2, in, WRT(0), 3, out);
	hop_value d = hop_sub(t, hop_mul(t, out[2], in[0]), hop_mulf(t, out[1], 10));
	hop_return(t, hop_le(t, hop_sum_all(t, hop_abs(t, d)), hop_f(t, 1e-9)));
}
BODY(dropped_steps)                                    /* run again on the way back: the same mask */
{
	hop_value h = in[0], all = in[0];
	HOP_FOR(t, i, 6, h, all) {
		hop_every(t, 2);
		hop_value a[2] = { h, hop_fold_in(t, in[1], i) }, y;
		hop_custom(t, &drop_rule, NULL, 2, a, 1, &y);
		h = hop_add(t, h, hop_mulf(t, y, 0.1));
		all = hop_add(t, all, h);
	}
	hop_return(t, hop_sum_all(t, all));
}
BODY(kept_steps)                                       /* and where nothing is run again */
{
	hop_value h = in[0], all = in[0];
	HOP_FOR(t, i, 6, h, all) {
		hop_value a[2] = { h, hop_fold_in(t, in[1], i) }, y;
		hop_custom(t, &drop_rule, NULL, 2, a, 1, &y);
		h = hop_add(t, h, hop_mulf(t, y, 0.1));
		all = hop_add(t, all, h);
	}
	hop_return(t, hop_sum_all(t, all));
}
BODY(all_steps)                                        /* and all of it in a checkpoint */
{
	hop_value y;
	hop_checkpoint(t, kept_steps, NULL, NULL, 2, in, 1, &y);
	hop_return(t, y);
}
BODY(steps_agree)
{
	hop_value a[2], b[2], c[2];
	hop_grad_at(t, dropped_steps, NULL, 2, in, WRT(0), 2, a);
	hop_grad_at(t, kept_steps, NULL, 2, in, WRT(0), 2, b);
	hop_grad_at(t, all_steps, NULL, 2, in, WRT(0), 2, c);
	hop_value d = hop_add(t, hop_abs(t, hop_sub(t, a[1], b[1])), hop_abs(t, hop_sub(t, c[1], b[1])));
	hop_return(t, hop_eq(t, hop_sum_all(t, d), hop_f(t, 0)));
}
BODY(told_kept)                                        /* the rule's effects, in a checkpoint */
{
	hop_value y;
	hop_checkpoint(t, by_rule, user, NULL, 1, in, 1, &y);
	hop_return(t, y);
}
BODY(told_kept_slope)
{
	hop_value out[2];
	hop_grad_at(t, told_kept, user, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(368, "a rule draws random numbers: both ways the same, run again, and of an unknown size")
{
	holds(dropped_same, NULL, LIST(UNKNOWN(F(1, 2, 3, 4, 5, 6, 7), "n"), I0(42)));
	holds(steps_agree, NULL, LIST(UNKNOWN(F(1, 2, 3, 4), "n"), I0(7)));
	prints(told_kept_slope, (void *)&told_rules[0], LIST(F0(0.5)), "there 0.5\nback 0.5\n");
	gradient(told_kept, (void *)&sine_rule, LIST(F(0.7)), WRT(0), LIST(F(2 * sin(0.7))));
}

BODY(clip_bwd) { hop_return(t, hop_clampf(t, in[0], -1, 1)); }
BODY(flip_bwd) { hop_return(t, hop_mulf(t, in[0], -0.5)); }
BODY(round_fwd) { hop_return(t, hop_floor(t, hop_addf(t, in[0], 0.5))); }
static const hop_custom_rule straight = RULE(.fwd = round_fwd, .bwd = same_fwd);
static const hop_custom_rule clipped = RULE(.fwd = same_fwd, .bwd = clip_bwd);
static const hop_custom_rule flipped = RULE(.fwd = same_fwd, .bwd = flip_bwd);
BODY(used_as)                                          /* in a branch of a loop, of each lane */
{
	hop_value h = in[0];
	HOP_FOR(t, i, 2, h) {
		HOP_IF(t, in[1], h) {
			hop_value y;
			hop_custom(t, user, NULL, 1, &h, 1, &y);
			h = hop_mulf(t, y, 3);
		}
	}
	hop_return(t, hop_sum_all(t, h));
}
BODY(used_slope)
{
	hop_value out[2];
	hop_grad_at(t, used_as, user, 2, in, WRT(0), 2, out);
	hop_return(t, out[0], out[1]);
}

PITFALL(369, "straight through, clipped and turned gradients in a branch of a loop of each lane")
{
	tensor x = F2(2, 2, 0.2, 1.7, 3, 4), p = B(1, 0);
	gradient(used_as, (void *)&straight, LIST(F(0.2, 1.7), B0(1)), WRT(0), LIST(F(9, 9)));
	gradient(used_as, (void *)&clipped, LIST(F(0.2, 1.7), B0(1)), WRT(0), LIST(F(1, 1)));
	gradient(used_as, (void *)&flipped, LIST(F(0.2, 1.7), B0(1)), WRT(0), LIST(F(2.25, 2.25)));
	gradient(used_as, (void *)&flipped, LIST(F(0.2, 1.7), B0(0)), WRT(0), LIST(F(1, 1)));
	lanes(used_slope, (void *)&straight, LIST(x, p), AXES(0, 0));
	lanes(used_slope, (void *)&clipped, LIST(x, p), AXES(0, 0));
	lanes(used_slope, (void *)&flipped, LIST(x, p), AXES(0, 0));
}
