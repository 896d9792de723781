/* effects.c -- printing and asserting: never dropped, never twice, in order, and of a batch only the
 * lanes that come there. */
#include "inside.h"

BODY(one_lane)                                         /* x: says so where it is negative */
{
	hop_value y = in[0];
	HOP_IF(t, hop_lt(t, in[0], hop_f(t, 0)), y) {
		hop_print(t, "negative {}", 1, &y);
		y = hop_neg(t, y);
	}
	hop_return(t, y);
}
BODY(many_lanes)
{
	hop_value y;
	hop_vmap_at(t, one_lane, NULL, 1, in, AXES(0), 1, &y);
	hop_return(t, y);
}

PITFALL(144, "of a batch only the lanes that come to a print are printed")
{
	prints(many_lanes, NULL, LIST(F(1, -2, 3, -4)), "lane 1: negative -2.0\nlane 3: negative -4.0\n");
	prints(many_lanes, NULL, LIST(F(1, 2)), "");
}

BODY(counting)                                         /* n: a trip is told */
{
	hop_value i = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_lt(t, i, in[0]), i) {
		hop_print(t, "{} of {}", 2, (hop_value[]){ i, in[0] });
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, i);
}
BODY(counting_lanes)
{
	hop_value y;
	hop_vmap_at(t, counting, NULL, 1, in, AXES(0), 1, &y);
	hop_return(t, y);
}

PITFALL(145, "a lane that has ended prints no more")
{
	prints(counting_lanes, NULL, LIST(I(2, 0, 1)), "lane 0: 0 of 2\nlane 2: 0 of 1\nlane 0: 1 of 2\n");
}

BODY(checked)                                          /* x: nothing depends on what is asserted */
{
	hop_value root = hop_sqrt(t, in[0]);
	hop_assert(t, hop_ge(t, root, hop_f(t, 0)), "no root of {}", 1, in);
	hop_return(t, hop_mulf(t, in[0], 2));
}
BODY(checked_back)
{
	hop_value out[2];
	hop_grad_at(t, checked, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(146, "an assert that nothing depends on is not dead code")
{
	gives(checked, NULL, LIST(F0(4)), LIST(F0(8)));
	refuses_run(checked, NULL, LIST(F0(-4)), HOP_EASSERT, "assert: no root of -4.0");
	refuses_run(checked_back, NULL, LIST(F0(-4)), HOP_EASSERT, "assert: no root of -4.0");
}

BODY(guarded)                                          /* x: asserts in the branch that is taken */
{
	hop_value y = hop_zeros_like(t, in[0]);
	HOP_IF(t, hop_gt(t, in[0], hop_f(t, 0)), y) {
		hop_assert(t, hop_lt(t, in[0], hop_f(t, 10)), "too large", 0, NULL);
		y = hop_log(t, in[0]);
	}
	hop_return(t, y);
}
BODY(guarded_lanes)
{
	hop_value y;
	hop_vmap_at(t, guarded, NULL, 1, in, AXES(0), 1, &y);
	hop_return(t, y);
}

PITFALL(147, "a lane does not fail for an assert in a branch that it does not take")
{
	gives(guarded_lanes, NULL, LIST(F(1, -20, 9)), LIST(F(0, 0, log(9))));
	refuses_run(guarded_lanes, NULL, LIST(F(1, -20, 90)), HOP_EASSERT, "assert: lane 2: too large");
}

BODY(loud) { hop_print(t, "dead {}", 1, in); hop_return(t, hop_exp(t, in[0])); }
BODY(dead)                                             /* x: nobody reads what the regions give */
{
	hop_value y;
	hop_region(t, "loud", loud, NULL, 1, in, 1, &y);
	HOP_FOR(t, i, 2)
		hop_region(t, "loud", loud, NULL, 1, in, 1, &y);
	hop_return(t, in[0]);
}

PITFALL(148, "an effect is kept where no result is read")
{
	prints(dead, NULL, LIST(F0(3)), "dead 3.0\ndead 3.0\ndead 3.0\n");
}

BODY(told_fwd)
{
	hop_print(t, "there {}", 1, in);
	hop_save(t, 1, in);
	hop_return(t, hop_mul(t, in[0], in[0]));
}
BODY(told_bwd)                                         /* x, ct */
{
	hop_print(t, "back {} {}", 2, in);
	hop_return(t, hop_mul(t, in[1], hop_mulf(t, in[0], 2)));
}
BODY(told)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = told_fwd, .bwd = told_bwd };
	hop_value x = in[0];
	HOP_FOR(t, i, 3, x)
		hop_custom(t, &rule, NULL, 1, &x, 1, &x);
	hop_return(t, x);
}
BODY(told_back)
{
	hop_value out[2];
	hop_grad_at(t, told, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(149, "an effect that belongs to the way back")
{
	prints(told, NULL, LIST(F0(2)), "there 2.0\nthere 4.0\nthere 16.0\n");
	prints(told_back, NULL, LIST(F0(2)),
	       "there 2.0\nthere 4.0\nthere 16.0\nback 16.0 1.0\nback 4.0 32.0\nback 2.0 256.0\n");
}
