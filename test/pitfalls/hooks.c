/* hooks.c -- hooks on gradients: what they see, when they are called, what they print, what they may
 * look at, and that passes leave them where they are. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- what a hook sees ---- */

BODY(read_before)                                      /* x: read before the hook and after it */
{
	hop_value a = hop_mul(t, in[0], in[0]);
	hop_clip_grad_value(t, in[0], 1);
	hop_return(t, hop_sum_all(t, hop_add(t, a, hop_mulf(t, in[0], 3))));
}

PITFALL(371, "a hook sees the gradient of all readers at once, those before it too")
{
	gradient(read_before, NULL, LIST(F(-1.25, -1.75, 2)), WRT(0), LIST(F(0.5, -0.5, 1)));
}

BODY(add_one) { hop_return(t, hop_addf(t, in[0], 1)); }
BODY(double_it) { hop_return(t, hop_mulf(t, in[0], 2)); }
BODY(ordered)
{
	hop_value x = in[0], y = hop_mulf(t, x, 3);
	hop_hook(t, x, *(int *)user ? double_it : add_one, NULL);
	hop_hook(t, x, *(int *)user ? add_one : double_it, NULL);
	hop_return(t, y);
}

PITFALL(372, "several hooks of one value are called in the order in which they were registered")
{
	gradient(ordered, &(int){ 0 }, LIST(F0(1)), WRT(0), LIST(F0(8)));
	gradient(ordered, &(int){ 1 }, LIST(F0(1)), WRT(0), LIST(F0(7)));
}

BODY(written_later)                                    /* x, written after the hook */
{
	hop_value y = hop_mulf(t, in[0], 2), a = hop_mul(t, y, y);
	hop_hook(t, y, add_one, NULL);
	hop_mul_(t, y, hop_f(t, 5));
	hop_return(t, hop_add(t, a, y));
}

PITFALL(373, "a hook belongs to what a value was: a write later makes another value")
{
	gradient(written_later, NULL, LIST(F0(3)), WRT(0), LIST(F0((2 * 6 + 5 + 1) * 2)));
}

/* ---- when it is called ---- */

BODY(say)
{
	hop_print(t, "gradient {}", 1, in);
	hop_return(t, in[0]);
}
BODY(doubling)                                         /* x: three trips */
{
	hop_value x = in[0];
	HOP_FOR(t, i, 3, x) {
		if (*(int *)user == 1)
			hop_every(t, 2);
		if (*(int *)user == 2)
			hop_slots(t, 1);
		hop_hook(t, x, say, NULL);
		x = hop_mulf(t, x, 2);
	}
	hop_return(t, x);
}
BODY(doubling_back)
{
	hop_value out[2];
	hop_grad_at(t, doubling, user, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(374, "a hook prints in the reverse pass: once a trip, however often the trips are run again")
{
	for (int how = 0; how < 3; how++)
		prints(doubling_back, &how, LIST(F0(1)), "gradient 2.0\ngradient 4.0\ngradient 8.0\n");
	prints(doubling, &(int){ 0 }, LIST(F0(1)), "");
}

BODY(square_said)
{
	hop_value y = hop_mul(t, in[0], in[0]);
	hop_hook(t, y, say, NULL);
	hop_return(t, y);
}
BODY(region_thrice)                                    /* x: a region, called three times */
{
	hop_value x = in[0];
	for (int i = 0; i < 3; i++)
		hop_region(t, "square", square_said, NULL, 1, &x, 1, &x);
	hop_return(t, x);
}
BODY(thrice_back)
{
	hop_value out[2];
	hop_grad_at(t, region_thrice, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(375, "a hook in a region that is called three times prints three times, the last call first")
{
	prints(thrice_back, NULL, LIST(F0(2)), "gradient 1.0\ngradient 32.0\ngradient 256.0\n");
}

BODY(recomputed)                                       /* x: layers that keep nothing but their inputs */
{
	hop_value x = in[0];
	for (int i = 0; i < 2; i++)
		HOP_CHECKPOINT(t, NULL, x) {
			hop_value y = hop_mul(t, x, x);
			hop_hook(t, y, say, NULL);
			x = hop_mul(t, y, hop_f(t, 3));
		}
	hop_return(t, x);
}
BODY(recomputed_back)
{
	hop_value out[2];
	hop_grad_at(t, recomputed, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(386, "a hook in a checkpoint prints once, although what it is on is computed twice")
{
	prints(recomputed_back, NULL, LIST(F0(1)), "gradient 3.0\ngradient 54.0\n");
	gives(recomputed_back, NULL, LIST(F0(1)), LIST(F0(108)));
}

BODY(one_branch)                                       /* x: a value that a branch makes */
{
	hop_value y = in[0];
	HOP_IF(t, hop_gt(t, y, hop_f(t, 0)), y) {
		y = hop_mul(t, y, y);
		hop_hook(t, y, say, NULL);
	}
	hop_return(t, y);
}
BODY(one_branch_back)
{
	hop_value out[2];
	hop_grad_at(t, one_branch, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}
BODY(branch_lanes)
{
	hop_value y;
	hop_vmap_at(t, one_branch_back, NULL, 1, in, AXES(0), 1, &y);
	hop_return(t, y);
}

PITFALL(376, "the hook of a value in a branch that is not taken is not called, nor of lanes elsewhere")
{
	prints(one_branch_back, NULL, LIST(F0(3)), "gradient 1.0\n");
	prints(one_branch_back, NULL, LIST(F0(-3)), "");
	prints(branch_lanes, NULL, LIST(F(1, -2, 3)), "lane 0: gradient 1.0\nlane 2: gradient 1.0\n");
	gives(branch_lanes, NULL, LIST(F(1, -2, 3)), LIST(F(2, 1, 6)));
}

/* ---- whose it is ---- */

BODY(hook_captured)
{
	hop_value x = *(hop_value *)user;
	hop_clip_grad_value(t, x, 1);
	hop_return(t, hop_mul(t, x, x));
}
BODY(in_region)                                        /* x: read in the region and beside it */
{
	hop_value x = in[0], y;
	hop_region(t, "r", hook_captured, &x, 0, NULL, 1, &y);
	hop_return(t, hop_add(t, y, hop_mulf(t, x, 3)));
}

PITFALL(377, "a hook that a region puts on a value of outside is not confined to the region")
{
	gradient(in_region, NULL, LIST(F0(-1.25)), WRT(0), LIST(F0(0.5)));
	gradient(in_region, NULL, LIST(F0(2)), WRT(0), LIST(F0(1)));
}

BODY(inner_uses)
{
	hop_value x = *(hop_value *)user, mine = hop_mulf(t, in[0], 2);
	HOP_HOOK(t, x, g) {
		g = hop_mul(t, g, mine);
	}
	hop_return(t, hop_mul(t, x, in[0]));
}
BODY(too_far)
{
	hop_value x = in[0], y;
	hop_region(t, "r", inner_uses, &x, 1, in, 1, &y);
	hop_return(t, y);
}

PITFALL(378, "a hook on a value of outside cannot use what was made inside")
{
	refuses_capture(too_far, NULL, LIST(F0(1)), HOP_EREFUSED,
	                "hook: the value is from outside the body of region, and so is its hook, whose body "
	                "uses something that was made inside: hook hop_clone of the value");
}

BODY(circle)                                           /* x: the hook reads what is made of x later */
{
	hop_value x = in[0], y = hop_exp(t, x), z = hop_mul(t, y, x);
	HOP_HOOK(t, x, g) {
		g = hop_mul(t, g, hop_add(t, z, x));
	}
	hop_return(t, z);
}

PITFALL(379, "a hook that reads what was made of its value does not go round in a circle")
{
	double e = exp(0.5), z = 0.5 * e;
	gradient(circle, NULL, LIST(F0(0.5)), WRT(0), LIST(F0((e + z) * (z + 0.5))));
}

/* ---- what comes in and goes out ---- */

BODY(scaled_later)                                     /* x, how: given when it is run */
{
	hop_value x = in[0], how = in[1];
	HOP_HOOK(t, x, g) {
		hop_tell(t, hop_norm(t, g, 0, NULL), "norm");
		g = hop_mul(t, g, how);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)));
}
BODY(scaled_back)
{
	hop_value out[3];
	if (hop_grad_at(t, scaled_later, NULL, 2, in, WRT(0), 3, out) == 3)
		hop_return(t, out[1], out[2]);
}

PITFALL(380, "a hook is told by an input of the run what to do, and tells what it saw")
{
	gives(scaled_back, NULL, LIST(F(3, 4), F0(-1)), LIST(F(-6, -8), F0(10)));
	gives(scaled_back, NULL, LIST(F(3, 4), F0(0.5)), LIST(F(3, 4), F0(10)));
}

BODY(told_trips)                                       /* x: three trips, a number each */
{
	hop_value x = in[0];
	HOP_FOR(t, i, 3, x) {
		HOP_HOOK(t, x, g) {
			hop_tell(t, hop_abs(t, g), "size");
			g = hop_clampf(t, g, -3, 3);
		}
		x = hop_mulf(t, x, -2);
	}
	hop_return(t, x);
}
BODY(told_back)
{
	hop_value out[3];
	if (hop_grad_at(t, told_trips, NULL, 1, in, WRT(0), 3, out) == 3)
		hop_return(t, out[1], out[2]);
}

PITFALL(381, "what a hook tells in a loop is stacked by trip")
{
	gives(told_back, NULL, LIST(F0(1)), LIST(F0(-3), F(6, 4, 2)));
}

BODY(noisy)                                            /* x, key: noise of its own in each trip */
{
	hop_value x = in[0], key = in[1];
	HOP_FOR(t, i, 2, x) {
		HOP_HOOK(t, x, g) {
			g = hop_add(t, g, hop_uniform(t, hop_fold_in(t, key, i), HOP_f64, 0, NULL));
		}
		x = hop_mulf(t, x, 1);
	}
	hop_return(t, x);
}
BODY(noise_is_as_drawn)
{
	hop_value out[2], u[2], key = in[1];
	hop_grad_at(t, noisy, NULL, 2, in, WRT(0), 2, out);
	for (int i = 0; i < 2; i++)
		u[i] = hop_uniform(t, hop_fold_in(t, key, hop_i(t, i)), HOP_f64, 0, NULL);
	hop_value want = hop_addf(t, hop_add(t, u[1], u[0]), 1);
	hop_value close = hop_lt(t, hop_abs(t, hop_sub(t, out[1], want)), hop_f(t, 1e-12));
	hop_return(t, hop_and(t, close, hop_ne(t, u[0], u[1])));
}

PITFALL(382, "noise that a hook adds is drawn from a key, another in each trip")
{
	holds(noise_is_as_drawn, NULL, LIST(F0(1), I0(7)));
}

/* ---- transforms and passes ---- */

BODY(cube_doubled)
{
	hop_value x = in[0];
	hop_hook(t, x, double_it, NULL);
	hop_return(t, hop_mul(t, x, hop_mul(t, x, x)));
}
BODY(slope_of_cube)
{
	hop_value out[2];
	hop_grad_at(t, cube_doubled, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}

PITFALL(383, "a hook is called again for gradients of gradients")
{
	gradient(cube_doubled, NULL, LIST(F0(1.5)), WRT(0), LIST(F0(2 * 3 * 2.25)));
	gradient(slope_of_cube, NULL, LIST(F0(1.5)), WRT(0), LIST(F0(4 * 6 * 1.5)));
}

BODY(shared_lane)                                      /* w, x: clipped to 1 */
{
	hop_value w = in[0];
	hop_clip_grad_value(t, w, 1);
	hop_return(t, hop_mul(t, w, in[1]));
}
BODY(grad_of_lanes)
{
	hop_value y;
	hop_vmap_at(t, shared_lane, NULL, 2, in, AXES(-1, 0), 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(grad_of_lane)
{
	hop_value out[2];
	hop_grad_at(t, shared_lane, NULL, 2, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}
BODY(lanes_of_grad)
{
	hop_value y;
	hop_vmap_at(t, grad_of_lane, NULL, 2, in, AXES(-1, 0), 1, &y);
	hop_return(t, y);
}

PITFALL(384, "lanes of a gradient have a hook each; the gradient of lanes has one, on their sum")
{
	gives(lanes_of_grad, NULL, LIST(F0(2), F(3, -4, 0.5)), LIST(F(1, -1, 0.5)));
	gradient(grad_of_lanes, NULL, LIST(F0(2), F(3, -4, 0.5)), WRT(0), LIST(F0(-0.5)));
}

BODY(costly_hook)                                      /* x: what the hook reads is not computed */
{
	hop_value x = in[0], y = hop_exp(t, hop_sin(t, x));
	HOP_HOOK(t, x, g) {
		g = hop_mul(t, g, y);
	}
	hop_return(t, hop_mulf(t, x, 2));
}

PITFALL(385, "a hook costs nothing where no gradient is taken")
{
	must(times("hook", CAPTURED, costly_hook, NULL, LIST(F0(1))) > 0);
	must(times("hook", OPTIMISED, costly_hook, NULL, LIST(F0(1))) == 0);
	must(times("exp", OPTIMISED, costly_hook, NULL, LIST(F0(1))) == 0);
	must(times("exp", TRAINED_OPTIMISED, costly_hook, NULL, LIST(F0(1))) == 1);
}
