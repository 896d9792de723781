/* while.c -- pitfalls of loops with a test: carries, writes, results. Their derivatives are in
 * while_ad.c. */
#include "pitfall.h"

BODY(fibonacci)
{
	hop_value a = in[0], b = in[1], n = in[2];
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), a, b, n) {
		hop_value next = hop_add(t, a, b);
		a = b;
		b = next;
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, a, b);
}

BODY(above)
{
	hop_return(t, hop_gt(t, in[2], hop_i(t, 0)));
}

BODY(swap)
{
	hop_return(t, in[1], in[0], hop_sub(t, in[2], hop_i(t, 1)));
}

BODY(swaps)
{
	hop_value out[3];
	hop_while(t, above, swap, NULL, 3, in, NULL, out, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], hop_exp(t, out[1]))), out[0], out[1]);
}

PITFALL(27, "a body swaps two carries")
{
	gives(swaps, NULL, LIST(F0(1), F0(0), I0(3)), LIST(F0(0), F0(0), F0(1)));
	gives(swaps, NULL, LIST(F0(1), F0(0), I0(4)), LIST(F0(1), F0(1), F0(0)));
	gives(fibonacci, NULL, LIST(I0(0), I0(1), I0(50)), LIST(I0(12586269025), I0(20365011074)));
	slopes(swaps, NULL, LIST(F(1, 2), F(0.5, -1), I0(5)), WRT(0, 1));
}

BODY(keep_first)
{
	hop_return(t, in[0], hop_add(t, in[1], in[0]), hop_sub(t, in[2], hop_i(t, 1)));
}

BODY(keeps)
{
	hop_value out[3];
	hop_while(t, above, keep_first, NULL, 3, in, NULL, out, NULL);
	hop_return(t, hop_sum_all(t, out[1]), out[0], out[1]);
}

PITFALL(28, "a body returns a carry as it was")
{
	gives(keeps, NULL, LIST(F(1, 2), F(0, 10), I0(3)), LIST(F0(19), F(1, 2), F(3, 16)));
	gradient(keeps, NULL, LIST(F(1, 2), F(0, 10), I0(3)), WRT(0, 1), LIST(F(3, 3), F(1, 1)));
}

BODY(add_in_place)
{
	hop_value log = *(hop_value *)user;
	hop_add_(t, in[0], hop_f(t, 1));
	hop_add_(t, log, in[0]);
	hop_return(t, in[0], in[1], hop_sub(t, in[2], hop_i(t, 1)));
}

BODY(writes)
{
	hop_value out[3], log = in[3];
	hop_while(t, above, add_in_place, &log, 3, in, NULL, out, NULL);
	hop_return(t, out[0], in[0]);
}

PITFALL(29, "a body writes a carry, and a captured buffer too")
{
	leaves(writes, NULL, LIST(F(1, 2), F0(0), I0(3), F(0, 0)), LIST(F(4, 5), F(1, 2)),
	       LIST(F(1, 2), F0(0), I0(3), F(9, 12)));
	leaves(writes, NULL, LIST(F(1, 2), F0(0), I0(0), F(0, 7)), LIST(F(1, 2), F(1, 2)),
	       LIST(F(1, 2), F0(0), I0(0), F(0, 7)));
}

BODY(count_tests)
{
	hop_add_(t, *(hop_value *)user, hop_i(t, 1));
	hop_return(t, hop_lt(t, in[0], hop_f(t, 8)));
}

BODY(never)
{
	hop_add_(t, *(hop_value *)user, hop_i(t, 1));
	hop_return(t, hop_scalar(t, HOP_bool, 0));
}

BODY(twice)
{
	hop_return(t, hop_mulf(t, in[0], 2));
}

BODY(counted)
{
	hop_value out[2], count = in[1];
	hop_while(t, count_tests, twice, &count, 1, in, NULL, out, NULL);
	hop_while(t, never, twice, &count, 1, out, NULL, out + 1, NULL);
	hop_return(t, out[1]);
}

PITFALL(30, "only the test of a loop writes, also one that is never true")
{
	leaves(counted, NULL, LIST(F0(1), I0(0)), LIST(F0(8)), LIST(F0(1), I0(5)));
	leaves(counted, NULL, LIST(F0(9), I0(0)), LIST(F0(9)), LIST(F0(9), I0(2)));
}

BODY(smear)
{
	hop_value lo = hop_narrow(t, in[0], 0, 0, 2), hi = hop_narrow(t, in[0], 0, 2, 2), n = in[1];
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), n) {
		hop_add_(t, lo, hi);
		hop_mul_(t, hi, hop_f(t, 2));
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, in[0]);
}

BODY(smeared_sum)
{
	hop_value x[2] = { hop_clone(t, in[0]), in[1] };
	smear(t, x, NULL);
}

BODY(smear_loss)
{
	hop_value out[1];
	hop_region(t, "smear", smeared_sum, NULL, 2, in, 1, out);
	hop_return(t, hop_sum_all(t, out[0]));
}

PITFALL(31, "a loop writes disjoint slices of one buffer")
{
	leaves(smear, NULL, LIST(F(1, 2, 3, 4), I0(3)), LIST(F(22, 30, 24, 32)),
	       LIST(F(22, 30, 24, 32), I0(3)));
	gradient(smear_loss, NULL, LIST(F(1, 2, 3, 4), I0(3)), WRT(0), LIST(F(1, 1, 15, 15)));
	slopes2(smear_loss, NULL, LIST(F(1, 2, 3, 4), I0(3)), WRT(0));
}

BODY(grow_first)
{
	hop_mul_(t, in[0], hop_f(t, 3));
	hop_return(t, in[0], hop_add(t, in[1], in[0]), hop_sub(t, in[2], hop_i(t, 1)));
}

BODY(from_one)
{
	hop_value out[3], init[3] = { in[0], in[0], in[1] };
	hop_while(t, above, grow_first, NULL, 3, init, NULL, out, NULL);
	hop_return(t, hop_sum_all(t, out[1]), out[0], out[1], in[0]);
}

PITFALL(32, "two carries start as one tensor, and one of them is written")
{
	gives(from_one, NULL, LIST(F(1, 2), I0(2)), LIST(F0(39), F(9, 18), F(13, 26), F(1, 2)));
	gradient(from_one, NULL, LIST(F(1, 2), I0(2)), WRT(0), LIST(F(13, 13)));
}

BODY(collatz)
{
	hop_value n = in[0], steps = hop_scalar(t, HOP_i64, 0), x = in[1];
	HOP_WHILE(t, hop_ne(t, n, hop_i(t, 1)), n, steps, x) {
		HOP_IF(t, hop_eq(t, hop_rem(t, n, hop_i(t, 2)), hop_i(t, 0)), n, x) {
			n = hop_idiv(t, n, hop_i(t, 2));
			x = hop_mulf(t, x, 0.5);
		} else {
			n = hop_add(t, hop_mul(t, n, hop_i(t, 3)), hop_i(t, 1));
			x = hop_addf(t, hop_mulf(t, x, 3), 1);
		}
		steps = hop_add(t, steps, hop_i(t, 1));
	}
	hop_return(t, steps, n, x);
}

PITFALL(33, "lanes of a loop end at different trips, with whole-number carries")
{
	lanes(collatz, NULL, LIST(I(1, 2, 3, 7, 27), F0(5)), AXES(0, -1));
	lanes(collatz, NULL, LIST(I0(6), F2(2, 3, 1, 2, 3, 4, 5, 6)), AXES(-1, 1));
	gives(collatz, NULL, LIST(I0(27), F0(27)), LIST(I0(111), I0(1), F0(1)));
}

BODY(always)
{
	hop_return(t, hop_scalar(t, HOP_bool, 1));
}

BODY(bounded)
{
	hop_value out[1], trips;
	hop_while(t, always, twice, NULL, 1, in, HOP_WHILE_OPTS(.max_trips = 10), out, &trips);
	hop_return(t, out[0], trips);
}

PITFALL(34, "a test that is always true")
{
	gives(bounded, NULL, LIST(F0(1)), LIST(F0(1024), I0(10)));
	gradient(bounded, NULL, LIST(F0(1)), WRT(0), LIST(F0(1024)));
}

struct state {
	hop_value pos, vel;
};
HOP_TREE(state_tree, struct state, pos, vel);

BODY(fast)
{
	hop_return(t, hop_lt(t, hop_sum_all(t, in[0]), hop_f(t, 8)));
}

BODY(narrows)
{
	hop_return(t, hop_mulf(t, in[0], 2), hop_cast(t, in[1], HOP_f32));
}

BODY(shrinks)
{
	hop_return(t, hop_mulf(t, in[0], 2), hop_narrow(t, in[1], 0, 0, 1));
}

BODY(one_less)
{
	hop_return(t, hop_mulf(t, in[0], 2));
}

BODY(moves)
{
	hop_value out[2];
	hop_while(t, fast, *(hop_body **)user, NULL, 2, in, HOP_WHILE_OPTS(.carry = &state_tree), out,
	          NULL);
	hop_return(t, out[0], out[1]);
}

PITFALL(35, "a carry changes its dtype, its size, or is not returned")
{
	hop_body *body = narrows;
	refuses(moves, &body, LIST(F(1, 2), F(3, 4)), HOP_ETYPE,
	        "while: carry.vel is f64[2] when a step begins, f32[2] when it ends: cast it, or start "
	        "with that dtype");
	body = shrinks;
	refuses(moves, &body, LIST(F(1, 2), F(3, 4)), HOP_ESHAPE,
	        "while: carry.vel is f64[2] when a step begins, f64[1] when it ends: a carry keeps its "
	        "sizes: give it a capacity, and carry a count");
	body = one_less;
	refuses(moves, &body, LIST(F(1, 2), F(3, 4)), HOP_ETYPE,
	        "while: the body gives 1 results for 2 carries");
}

BODY(below_each)
{
	hop_return(t, hop_lt(t, in[0], hop_f(t, 8)));
}

BODY(how_far)
{
	hop_return(t, hop_sub(t, hop_f(t, 8), hop_sum_all(t, in[0])));
}

BODY(tested)
{
	hop_value out[1];
	hop_while(t, *(hop_body **)user, twice, NULL, 1, in, NULL, out, NULL);
	hop_return(t, out[0]);
}

PITFALL(36, "the test gives several truths, or a number")
{
	hop_body *test = below_each;
	refuses(tested, &test, LIST(F(1, 2)), HOP_ETYPE,
	        "while: the test gives bool[2], a bool scalar it must be");
	test = how_far;
	refuses(tested, &test, LIST(F(1, 2)), HOP_ETYPE,
	        "while: the test gives f64, a bool scalar it must be");
}
