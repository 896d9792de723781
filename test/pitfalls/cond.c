/* cond.c -- pitfalls of two branches: what they return and write, and what of it can be merged. Where
 * branches meet lanes is in lanes.c, where they capture in capture.c. */
#include "pitfall.h"

BODY(keep)
{
	hop_return(t, in[0]);
}

BODY(twice)
{
	hop_return(t, hop_mulf(t, in[0], 2));
}

BODY(keep_or_twice)
{
	hop_value out[1];
	hop_cond(t, in[1], keep, twice, NULL, 1, in, 1, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0]);
}

PITFALL(1, "a branch returns its operand")
{
	gives(keep_or_twice, NULL, LIST(F(1, 2), B0(1)), LIST(F0(3), F(1, 2)));
	gives(keep_or_twice, NULL, LIST(F(1, 2), B0(0)), LIST(F0(6), F(2, 4)));
	gradient(keep_or_twice, NULL, LIST(F(1, 2), B0(1)), WRT(0), LIST(F(1, 1)));
	gradient(keep_or_twice, NULL, LIST(F(1, 2), B0(0)), WRT(0), LIST(F(2, 2)));
}

BODY(one_twice)
{
	hop_value y = hop_mulf(t, in[0], 3);
	hop_return(t, y, y);
}

BODY(operand_twice)
{
	hop_return(t, in[0], in[0]);
}

BODY(pairs)
{
	hop_value out[2];
	hop_cond(t, in[1], one_twice, operand_twice, NULL, 1, in, 2, out);
	hop_add_(t, out[0], hop_f(t, 1));
	hop_return(t, out[0], out[1]);
}

PITFALL(2, "a branch returns one value twice, and one of the two is written")
{
	leaves(pairs, NULL, LIST(F(1, 2), B0(1)), LIST(F(4, 7), F(3, 6)), LIST(F(1, 2), B0(1)));
	leaves(pairs, NULL, LIST(F(1, 2), B0(0)), LIST(F(2, 3), F(1, 2)), LIST(F(1, 2), B0(0)));
}

BODY(first_two)
{
	hop_return(t, hop_narrow(t, in[0], 0, 0, 2));
}

BODY(last_two)
{
	hop_return(t, hop_narrow(t, in[0], 0, 1, 2));
}

BODY(views)
{
	hop_value out[1];
	hop_cond(t, in[1], first_two, last_two, NULL, 1, in, 1, out);
	hop_mul_(t, out[0], hop_f(t, 10));
	hop_return(t, hop_sum_all(t, out[0]), out[0], in[0]);
}

PITFALL(3, "a branch returns a view of its operand, which is written afterwards")
{
	gives(views, NULL, LIST(F(1, 2, 3), B0(1)), LIST(F0(30), F(10, 20), F(1, 2, 3)));
	gives(views, NULL, LIST(F(1, 2, 3), B0(0)), LIST(F0(50), F(20, 30), F(1, 2, 3)));
	gradient(views, NULL, LIST(F(1, 2, 3), B0(0)), WRT(0), LIST(F(0, 10, 10)));
}

BODY(square_if)
{
	hop_value x = hop_clone(t, in[0]);
	HOP_IF(t, in[1]) {
		hop_mul_(t, x, x);
	}
	hop_return(t, hop_sum_all(t, x));
}

PITFALL(4, "a branch writes its operand, and a gradient is wanted")
{
	gradient(square_if, NULL, LIST(F(1, 2, 3), B0(1)), WRT(0), LIST(F(2, 4, 6)));
	gradient(square_if, NULL, LIST(F(1, 2, 3), B0(0)), WRT(0), LIST(F(1, 1, 1)));
	slopes2(square_if, NULL, LIST(F(1, 2, 3), B0(1)), WRT(0));
}

BODY(count_if)
{
	hop_value y = in[0];
	HOP_IF(t, in[2], y) {
		hop_add_(t, in[1], hop_sum_all(t, y));
		y = hop_neg(t, y);
	}
	hop_return(t, y);
}

PITFALL(5, "only one branch writes a captured buffer")
{
	leaves(count_if, NULL, LIST(F(1, 2), F(5, 6), B0(1)), LIST(F(-1, -2)),
	       LIST(F(1, 2), F(8, 9), B0(1)));
	leaves(count_if, NULL, LIST(F(1, 2), F(5, 6), B0(0)), LIST(F(1, 2)),
	       LIST(F(1, 2), F(5, 6), B0(0)));
}

BODY(add_left)
{
	hop_add_(t, in[0], in[1]);
	hop_return(t, in[1]);
}

BODY(keep_right)
{
	hop_return(t, in[1]);
}

BODY(halves)
{
	hop_value half[2] = { hop_narrow(t, in[0], 0, 0, 2), hop_narrow(t, in[0], 0, 2, 2) }, out[1];
	hop_cond(t, in[1], add_left, keep_right, NULL, 2, half, 1, out);
	hop_return(t, out[0], in[0]);
}

PITFALL(6, "the operands are disjoint slices of one buffer, and one is written")
{
	leaves(halves, NULL, LIST(F(1, 2, 3, 4), B0(1)), LIST(F(3, 4), F(4, 6, 3, 4)),
	       LIST(F(4, 6, 3, 4), B0(1)));
	leaves(halves, NULL, LIST(F(1, 2, 3, 4), B0(0)), LIST(F(3, 4), F(1, 2, 3, 4)),
	       LIST(F(1, 2, 3, 4), B0(0)));
}

BODY(sine_or_one)
{
	hop_value y = HOP_NONE;
	HOP_IF(t, in[2], y) {
		y = hop_sum_all(t, hop_mul(t, hop_sin(t, in[0]), in[1]));
	} else {
		y = hop_scalar(t, HOP_f64, 1);
	}
	hop_return(t, y);
}

PITFALL(7, "only one branch depends on what is differentiated")
{
	gradient(sine_or_one, NULL, LIST(F(1, 2), F(3, 4), B0(0)), WRT(0, 1),
	         LIST(F(0, 0), F(0, 0)));
	gradient(sine_or_one, NULL, LIST(F(1, 2), F(3, 4), B0(1)), WRT(0, 1),
	         LIST(F(3 * cos(1), 4 * cos(2)), F(sin(1), sin(2))));
}

BODY(cube_or_exp)
{
	hop_value y = in[0];
	HOP_IF(t, in[1], y) {
		y = hop_mul(t, y, hop_mul(t, y, y));
	} else {
		y = hop_exp(t, y);
	}
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(8, "second derivatives through a cond")
{
	slopes2(cube_or_exp, NULL, LIST(F(0.5, -1), B0(1)), WRT(0));
	slopes2(cube_or_exp, NULL, LIST(F(0.5, -1), B0(0)), WRT(0));
}

BODY(direction)
{
	hop_value out[2];
	const int wrt[1] = { 0 };
	hop_jvp_at(t, cube_or_exp, NULL, 2, in, 1, wrt, in + 2, 2, out);
	hop_return(t, out[1]);
}

PITFALL(9, "forward mode through a cond")
{
	gives(direction, NULL, LIST(F(2, 3), B0(1), F(1, -1)), LIST(F0(12 - 27)));
	gives(direction, NULL, LIST(F(2, 3), B0(0), F(1, -1)), LIST(F0(exp(2) - exp(3))));
}

PITFALL(10, "the predicate is a number, not a truth")
{
	gives(keep_or_twice, NULL, LIST(F(1, 2), F0(0.25)), LIST(F0(3), F(1, 2)));
	gives(keep_or_twice, NULL, LIST(F(1, 2), F0(-0.0)), LIST(F0(6), F(2, 4)));
	gives(keep_or_twice, NULL, LIST(F(1, 2), F0(NAN)), LIST(F0(3), F(1, 2)));
	gives(keep_or_twice, NULL, LIST(F(1, 2), I0(256)), LIST(F0(3), F(1, 2)));
}

PITFALL(11, "the predicate has one element and an axis")
{
	gives(keep_or_twice, NULL, LIST(F(1, 2), B(1)), LIST(F0(3), F(1, 2)));
	gives(keep_or_twice, NULL, LIST(F(1, 2), B(0)), LIST(F0(6), F(2, 4)));
	lanes(keep_or_twice, NULL, LIST(F2(2, 2, 1, 2, 3, 4), tensor_of(HOP_bool, 2, 2, 1, 0,
	      NUMBERS_(1, 0))), AXES(0, 0));
}

PITFALL(12, "the predicate has two elements")
{
	refuses(keep_or_twice, NULL, LIST(F(1, 2), B(1, 0)), HOP_ESHAPE,
	        "cond: the predicate is bool[2], it must have one element");
}

BODY(as_f32)
{
	hop_return(t, hop_cast(t, in[0], HOP_f32));
}

BODY(keep_or_f32)
{
	hop_value out[1];
	hop_cond(t, in[1], keep, as_f32, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

PITFALL(13, "the branches give different dtypes")
{
	refuses_capture(keep_or_f32, NULL, LIST(F(1, 2), B0(1)), HOP_ETYPE,
	                "cond: result 0 is f64[2] in then, f32[2] in else: cast or reshape one of them");
}

BODY(one_tenth)
{
	hop_return(t, hop_f(t, 0.1));
}

BODY(sum_or_tenth)
{
	hop_value y = hop_sum_all(t, in[0]), out[1];
	hop_cond(t, in[1], keep, one_tenth, NULL, 1, &y, 1, out);
	hop_return(t, out[0]);
}

PITFALL(14, "a branch returns a number of the host")
{
	gives(sum_or_tenth, NULL, LIST(F(1, 2), B0(1)), LIST(F0(3)));
	gives(sum_or_tenth, NULL, LIST(F(1, 2), B0(0)), LIST(F0(0.1)));
	gradient(sum_or_tenth, NULL, LIST(F(1, 2), B0(0)), WRT(0), LIST(F(0, 0)));
}

BODY(one_or_two)
{
	hop_value out[2];
	hop_cond(t, in[1], keep, operand_twice, NULL, 1, in, 2, out);
	hop_return(t, out[0]);
}

PITFALL(15, "the branches give different numbers of results")
{
	refuses_capture(one_or_two, NULL, LIST(F(1, 2), B0(1)), HOP_ETYPE,
	                "cond: then gives 1 results, else gives 2");
}

BODY(two_or_three)
{
	hop_value out[1];
	hop_cond(t, in[1], keep, first_two, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

PITFALL(16, "the branches give different sizes, and nothing says that they may")
{
	refuses_capture(two_or_three, NULL, LIST(F(1, 2, 3), B0(1)), HOP_ESHAPE,
	                "cond: result 0 is f64[3] in then, f64[2] in else: give both the same sizes, "
	                "or use hop_cond_sized");
}

BODY(squares)
{
	hop_return(t, hop_mul(t, in[0], in[0]));
}

BODY(sized)
{
	hop_value out[2];
	hop_cond_sized(t, in[1], squares, first_two, NULL, 1, in, 2, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[0])), out[0], out[1]);
}

PITFALL(17, "the branches give different sizes, with a gradient")
{
	gives(sized, NULL, LIST(F(1, 2, 3), B0(1)), LIST(F0(98), F(1, 4, 9), I0(3)));
	gives(sized, NULL, LIST(F(1, 2, 3), B0(0)), LIST(F0(5), F(1, 2, 0), I0(2)));
	gradient(sized, NULL, LIST(F(1, 2, 3), B0(1)), WRT(0), LIST(F(4, 32, 108)));
	gradient(sized, NULL, LIST(F(1, 2, 3), B0(0)), WRT(0), LIST(F(2, 4, 0)));
	slopes2(sized, NULL, LIST(F(1, 2, 3), B0(1)), WRT(0));
	lanes(sized, NULL, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), B(1, 0)), AXES(0, 0));
}

BODY(transposed)
{
	hop_return(t, hop_transpose(t, in[0], 0, 1));
}

BODY(turn_or_keep)
{
	hop_value out[1];
	hop_cond(t, in[1], transposed, keep, NULL, 1, in, 1, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], in[2])), out[0]);
}

PITFALL(18, "the branches give different layouts in memory")
{
	tensor x = F2(2, 2, 1, 2, 3, 4), w = F2(2, 2, 1, 10, 100, 1000);
	gives(turn_or_keep, NULL, LIST(x, B0(1), w), LIST(F0(4231), F2(2, 2, 1, 3, 2, 4)));
	gives(turn_or_keep, NULL, LIST(x, B0(0), w), LIST(F0(4321), x));
	gradient(turn_or_keep, NULL, LIST(x, B0(1), w), WRT(0), LIST(F2(2, 2, 1, 100, 10, 1000)));
}

BODY(root_if)
{
	hop_value y = in[0], p = hop_gt(t, in[0], hop_f(t, 1));
	HOP_IF(t, p, y) {
		y = hop_mul(t, y, y);
	} else {
		y = hop_mulf(t, y, 3);
	}
	hop_return(t, y);
}

PITFALL(19, "the predicate depends on what is differentiated")
{
	gradient(root_if, NULL, LIST(F0(2)), WRT(0), LIST(F0(4)));
	gradient(root_if, NULL, LIST(F0(0.5)), WRT(0), LIST(F0(3)));
	slopes2(root_if, NULL, LIST(F0(2)), WRT(0));
}

BODY(no_else)
{
	hop_value out[1];
	hop_cond(t, in[1], keep, NULL, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

PITFALL(20, "a branch is missing")
{
	refuses(no_else, NULL, LIST(F(1), B0(1)), HOP_EUSE,
	        "cond: no function was given for the else branch of cond");
}
