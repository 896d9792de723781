/* custom_rules.c -- functions with a derivative of their own: results without one, inputs that are
 * written, captured values, rules for one mode only, for lanes, for one order. Rules are wrong on
 * purpose where a right one would not show that it was used. */
#include "inside.h"

#include <string.h>

#define RULE(...) { .size = sizeof(hop_custom_rule), __VA_ARGS__ }

/* ---- results without derivative ---- */

BODY(gate_fwd)                                         /* x max(x, 0), and which of them: floats */
{
	hop_value on = hop_cast(t, hop_gt(t, in[0], hop_f(t, 0)), HOP_f64);
	hop_value part = hop_mul(t, on, hop_sin(t, in[0]));
	hop_nondiff(t, 1, &part);
	hop_save(t, 1, &part);
	hop_return(t, hop_mul(t, on, in[0]), part);
}
BODY(gate_bwd) {
	hop_return(t, hop_mul(t, in[1], hop_addf(t, in[0], 2)));
}                                                                             /* part, ct */
BODY(gate_jvp) {
	hop_return(t, hop_mulf(t, in[1], 3));
}                                                                             /* x, dx */
static const hop_custom_rule gate_rule = RULE(.fwd = gate_fwd, .bwd = gate_bwd);
static const hop_custom_rule gate_both = RULE(.fwd = gate_fwd, .bwd = gate_bwd, .jvp = gate_jvp);
BODY(gated)                                            /* user: the rule */
{
	hop_value y[2];
	hop_custom(t, user, NULL, 1, in, 2, y);
	hop_return(t, hop_add(t, hop_sum_all(t, y[0]), hop_sum_all(t, hop_mul(t, y[1], y[1]))), y[1]);
}
BODY(gated_slope)
{
	hop_value out[3];
	hop_grad_at(t, gated, user, 1, in, WRT(0), 3, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[2], in[0])));
}
BODY(gated_along)                                      /* x, dx */
{
	hop_value out[4];
	hop_jvp_at(t, gated, user, 1, in, WRT(0), in + 1, 4, out);
	hop_return(t, out[2], out[3]);
}
BODY(gate_region) { gated(t, in, user); }
BODY(gated_inside)                                     /* the same through a region, twice */
{
	hop_value a[2], b[2];
	hop_region(t, "gate", gate_region, user, 1, in, 2, a);
	hop_region(t, "gate", gate_region, user, 1, in, 2, b);
	hop_return(t, hop_add(t, a[0], hop_sum_all(t, hop_mul(t, b[1], in[0]))));
}

PITFALL(351, "a float result of a custom gradient has no derivative")
{
	double s = sin(0.5);
	gradient(gated, (void *)&gate_rule, LIST(F(0.5, -1)), WRT(0), LIST(F(2 + s, 2)));
	/* the saved one stays a constant at second order: d (x (2 + part)) / dx */
	gradient(gated_slope, (void *)&gate_rule, LIST(F(0.5, -1)), WRT(0), LIST(F(2 + s, 2)));
	gives(gated_along, (void *)&gate_rule, LIST(F(0.5, -1), F(1, 10)), LIST(F0(2 + s + 20), F(0, 0)));
	gives(gated_along, (void *)&gate_both, LIST(F(0.5, -1), F(1, 10)), LIST(F0(33), F(0, 0)));
	lanes(gated_slope, (void *)&gate_both, LIST(F2(2, 2, 0.5, -1, 2, 3)), AXES(0));
}

PITFALL(352, "a result without derivative stays so through a region")
{
	double s = sin(0.5);
	gradient(gated_inside, (void *)&gate_rule, LIST(F(0.5, -1)), WRT(0), LIST(F(2 + s + s, 2)));
}

BODY(mark_other) { hop_value z = hop_sin(t, in[0]); hop_nondiff(t, 1, &z); hop_return(t, in[0]); }
BODY(pass_bwd) { hop_return(t, in[0]); }
BODY(marks_nothing)
{
	static const hop_custom_rule rule = RULE(.fwd = mark_other, .bwd = pass_bwd);
	hop_value y;
	hop_custom(t, &rule, NULL, 1, in, 1, &y);
	hop_return(t, y);
}

PITFALL(353, "what is marked to have no derivative is no result")
{
	refuses(marks_nothing, NULL, LIST(F(1, 2)), HOP_EUSE,
	        "custom: hop_nondiff names a value that fwd does not return");
}

/* ---- inputs that are written ---- */

BODY(norm_fwd)                                         /* x, s: x is scaled in place, and returned */
{
	hop_mul_(t, in[0], in[1]);
	hop_save(t, 1, in + 1);
	hop_return(t, in[0]);
}
BODY(norm_bwd) {
	hop_return(t, hop_mul(t, in[1], hop_mulf(t, in[0], 5)), HOP_NONE);
}                                                                                      /* s, ct */
BODY(quiet_fwd)                                        /* the same, and returns something else */
{
	hop_save(t, 1, in + 1);
	hop_mul_(t, in[0], in[1]);
	hop_return(t, hop_sum_all(t, in[0]));
}
BODY(quiet_bwd)                                        /* s, ct of the sum, ct of the new x */
{
	hop_return(t, hop_add(t, in[1], hop_mul(t, in[2], hop_mulf(t, in[0], 5))), HOP_NONE);
}
static const hop_custom_rule norm_rule = RULE(.fwd = norm_fwd, .bwd = norm_bwd);
static const hop_custom_rule quiet_rule = RULE(.fwd = quiet_fwd, .bwd = quiet_bwd);
BODY(written)                                          /* user: the rule; x, s */
{
	hop_value x = hop_mulf(t, in[0], 1), a[2] = { x, in[1] }, y;
	hop_custom(t, user, NULL, 2, a, 1, &y);
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)), x);
}
BODY(written_row)                                      /* a row of x, through a view */
{
	hop_value x = hop_mulf(t, in[0], 1), y;
	hop_value a[2] = { hop_index(t, x, 0, 1), in[1] };
	hop_custom(t, &quiet_rule, NULL, 2, a, 1, &y);
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)), x);
}
BODY(written_through)                                  /* the function's own input */
{
	hop_value y;
	hop_custom(t, &norm_rule, NULL, 2, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(written_steps)                                    /* in a loop, what is around it */
{
	hop_value x = hop_mulf(t, in[0], 1);
	HOP_FOR(t, i, 3) {
		hop_value a[2] = { x, in[1] }, y;
		hop_custom(t, &quiet_rule, NULL, 2, a, 1, &y);
	}
	hop_return(t, hop_sum_all(t, x), x);
}

PITFALL(354, "a custom gradient writes its input: the new value has the rule's gradient")
{
	/* x' = 2x; d sum(x' x') = 2 x' times 5 s */
	gives(written, (void *)&norm_rule, LIST(F(1, 3), F0(2)), LIST(F0(40), F(2, 6)));
	gradient(written, (void *)&norm_rule, LIST(F(1, 3), F0(2)), WRT(0, 1), LIST(F(40, 120), F0(0)));
	gives(written, (void *)&quiet_rule, LIST(F(1, 3), F0(2)), LIST(F0(40), F(2, 6)));
	gradient(written, (void *)&quiet_rule, LIST(F(1, 3), F0(2)), WRT(0, 1), LIST(F(40, 120), F0(0)));
	gradient(written_row, NULL, LIST(F2(2, 2, 1, 2, 3, 4), F0(2)), WRT(0),
	         LIST(F2(2, 2, 2, 4, 120, 160)));
	leaves(written_through, NULL, LIST(F(1, 3), F0(2)), LIST(F0(8)), LIST(F(2, 6), F0(2)));
	gives(written_steps, NULL, LIST(F(1, 3), F0(2)), LIST(F0(32), F(8, 24)));
	gradient(written_steps, NULL, LIST(F(1, 3), F0(2)), WRT(0), LIST(F(1000, 1000)));
	lanes(written, (void *)&quiet_rule, LIST(F2(2, 2, 1, 2, 3, 4), F0(2)), AXES(0, -1));
}

BODY(twice_written)
{
	hop_value x = hop_mulf(t, in[0], 1), y, a[2] = { x, x };
	hop_custom(t, &norm_rule, NULL, 2, a, 1, &y);
	hop_return(t, y);
}
BODY(outer_fwd) { hop_mul_(t, in[0], *(hop_value *)user); hop_return(t, in[0]); }
BODY(captured_written)
{
	static const hop_custom_rule rule = RULE(.fwd = outer_fwd, .bwd = pass_bwd);
	hop_value x = hop_mulf(t, in[0], 1), y;
	hop_custom(t, &rule, &x, 1, &x, 1, &y);
	hop_return(t, y);
}
BODY(number_written)
{
	hop_value a[2] = { hop_f(t, 2), in[0] }, y;
	hop_custom(t, &norm_rule, NULL, 2, a, 1, &y);
	hop_return(t, y);
}

PITFALL(355, "a custom gradient writes an input that is something else, too")
{
	refuses(twice_written, NULL, LIST(F0(1)), HOP_EREFUSED, "custom: fwd writes input 0, which is the "
	        "same memory as input 1: pass a clone of one of them");
	refuses(captured_written, NULL, LIST(F(1, 2)), HOP_EREFUSED, "custom: fwd writes input 0, and "
	        "captures the same memory from outside: use the input, or capture a clone");
	refuses(number_written, NULL, LIST(F0(1)), HOP_EUSE,
	        "custom: fwd writes input 0, which is a number: make a tensor of it with hop_full");
}

/* ---- captured values ---- */

BODY(scale_fwd) { hop_save(t, 1, in); hop_return(t, hop_mul(t, in[0], *(hop_value *)user)); }
BODY(scale_bwd)                                        /* x, ct: ten times what is right */
{
	hop_value w = *(hop_value *)user, ct = hop_mulf(t, in[1], 10);
	hop_give_grad(t, w, hop_mul(t, ct, in[0]));
	hop_give_grad(t, w, hop_f(t, 0.5));                  /* added up; a number goes everywhere */
	hop_return(t, hop_mul(t, ct, w));
}
BODY(scale_jvp)                                        /* x, dx: seven times */
{
	hop_value w = *(hop_value *)user;
	hop_value d = hop_add(t, hop_mul(t, in[1], w), hop_mul(t, in[0], hop_tangent_of(t, w)));
	hop_return(t, hop_mulf(t, d, 7));
}
static const hop_custom_rule scale_rule = RULE(.fwd = scale_fwd, .bwd = scale_bwd);
static const hop_custom_rule scale_both = RULE(.fwd = scale_fwd, .bwd = scale_bwd, .jvp = scale_jvp);
BODY(scaled)                                           /* x, w; user: the rule */
{
	hop_value w = hop_mulf(t, in[1], 2), y;              /* made here, used inside */
	hop_custom(t, user, &w, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(scaled_along)
{
	hop_value out[2];
	hop_jvp_at(t, scaled, user, 2, in, WRT(0, 1), in + 2, 2, out);
	hop_return(t, out[1]);
}
BODY(scaled_steps)                                     /* x, ws: of the trip it is in */
{
	hop_value h = in[0];
	HOP_FOR(t, i, 2, h) {
		hop_value w = hop_take(t, in[1], i);
		hop_custom(t, &scale_rule, &w, 1, &h, 1, &h);
	}
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(356, "a captured value gets a gradient of the rule's, where it asks for one")
{
	gradient(scaled, (void *)&scale_rule, LIST(F(1, 2), F(3, 4)), WRT(0, 1),
	         LIST(F(60, 80), F(21, 41)));
	gives(scaled_along, (void *)&scale_both, LIST(F(1, 2), F(3, 4), F(1, 0), F(0, 1)),
	      LIST(F0(7 * (6 + 4))));
	/* without a jvp: bwd turned round, at cotangents of zero: what it adds is no slope */
	gives(scaled_along, (void *)&scale_rule, LIST(F(1, 2), F(3, 4), F(1, 0), F(0, 1)),
	      LIST(F0(60 + 40)));
	gradient(scaled_steps, NULL, LIST(F(2), F2(2, 1, 3, 5)), WRT(0, 1),
	         LIST(F(1500), F2(2, 1, 1000.5, 60.5)));
	lanes(scaled, (void *)&scale_rule, LIST(F2(2, 2, 1, 2, 3, 4), F(3, 4)), AXES(0, -1));
}

BODY(give_in_fwd) { hop_give_grad(t, *(hop_value *)user, in[0]); hop_return(t, in[0]); }
BODY(give_inner_bwd) { hop_give_grad(t, in[0], in[0]); hop_return(t, in[0]); }
BODY(give_shape_bwd)
{
	hop_give_grad(t, *(hop_value *)user, hop_sum_all(t, in[0]));
	hop_return(t, in[0]);
}
BODY(through_fwd) { hop_return(t, in[0]); }
static const hop_custom_rule give_rules[] = {
	RULE(.fwd = give_in_fwd, .bwd = pass_bwd), RULE(.fwd = through_fwd, .bwd = give_inner_bwd),
	RULE(.fwd = through_fwd, .bwd = give_shape_bwd)
};
BODY(gives_wrong)
{
	hop_value x = in[0], y;
	hop_custom(t, user, &x, 1, in, 1, &y);
	hop_return(t, y);
}

PITFALL(357, "a gradient is given where it cannot go")
{
	refuses(gives_wrong, (void *)&give_rules[0], LIST(F(1, 2)), HOP_EUSE, "give_grad: it belongs into "
	        "the backward body of a custom gradient, this is the forward body of custom");
	refuses_capture(gives_wrong, (void *)&give_rules[1], LIST(F(1, 2)), HOP_EUSE,
	                "give_grad: this value was made inside: it is for tensors captured from outside "
	                "the custom gradient");
	refuses_capture(gives_wrong, (void *)&give_rules[2], LIST(F(1, 2)), HOP_ETYPE, "give_grad: the "
	                "gradient is f64, the captured value is f64[2]");
}
