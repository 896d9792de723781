/* modes.c -- modes of a trace: gradients off and on, casts, and the dtype of products. What other
 * systems keep as a state of the thread or as nodes of the graph is decided here when a call is
 * captured. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- without gradients ---- */

BODY(half_stopped)
{
	hop_value c = HOP_NONE;
	HOP_NO_GRAD(t)
		c = hop_mul(t, in[0], in[0]);
	hop_return(t, hop_sum_all(t, hop_mul(t, c, in[0])));
}

PITFALL(331, "a block without gradient captures values of outside, and stays in no graph")
{
	gives(half_stopped, NULL, LIST(F(2, 3)), LIST(F0(35)));
	gradient(half_stopped, NULL, LIST(F(2, 3)), WRT(0), LIST(F(4, 9)));
	must(times("stop_gradient", CAPTURED, half_stopped, NULL, LIST(F(2, 3))) == 1);
	lanes(half_stopped, NULL, LIST(F2(2, 2, 1, 2, 3, 4)), AXES(0));
}

BODY(updated)
{
	hop_value w = hop_clone(t, in[0]);
	HOP_NO_GRAD(t)
		hop_sub_(t, w, hop_mulf(t, w, 0.25));
	hop_return(t, hop_sum_all(t, hop_mul(t, w, w)));
}

PITFALL(332, "a weight that is updated in place without gradient can still be trained")
{
	gives(updated, NULL, LIST(F(4, -8)), LIST(F0(9 + 36)));
	gradient(updated, NULL, LIST(F(4, -8)), WRT(0), LIST(F(6, -12)));
}

BODY(masked)
{
	hop_value w = hop_clone(t, hop_div(t, hop_f(t, 1), in[0]));
	HOP_NO_GRAD(t)
		hop_copy_(t, w, in[1]);
	hop_return(t, hop_mul(t, w, in[1]));
}

PITFALL(333, "what is written over without gradient may be infinite")
{
	gives(masked, NULL, LIST(F(0, 2), F(3, 5)), LIST(F(9, 25)));
}

BODY(looped)
{
	hop_value x = in[0];
	HOP_NO_GRAD(t) {
		HOP_FOR(t, i, 3, x) {
			HOP_IF(t, hop_gt(t, hop_sum_all(t, x), hop_f(t, 0)), x) {
				x = hop_mulf(t, x, 2);
			}
		}
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, in[0])));
}

PITFALL(334, "bodies inherit the mode, and pay nothing for it inside")
{
	gradient(looped, NULL, LIST(F(1, 2)), WRT(0), LIST(F(8, 16)));
	must(times("stop_gradient", CAPTURED, looped, NULL, LIST(F(1, 2))) == 1);
}

BODY(inner_gradient)
{
	hop_value loss, x = in[0], g = HOP_NONE;
	HOP_NO_GRAD(t) {
		HOP_GRAD(t, loss, 1, x, g) {
			loss = hop_sum_all(t, hop_mul(t, x, hop_mul(t, x, x)));
		}
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, g, in[0])));
}

PITFALL(335, "a gradient that is taken where gradients are off is that of its function")
{
	gives(inner_gradient, NULL, LIST(F(1, 2)), LIST(F0(3 + 24)));
	gradient(inner_gradient, NULL, LIST(F(1, 2)), WRT(0), LIST(F(3, 12)));
}

BODY(left)
{
	HOP_NO_GRAD(t)
		break;
	hop_return(t, in[0]);
}

BODY(still_on)
{
	hop_mode_push(t, HOP_MODE_NO_GRAD, HOP_f32);
	hop_return(t, in[0]);
}

PITFALL(336, "a mode ends where its block ends, however it is left")
{
	refuses(left, NULL, LIST(F(1)), HOP_EUSE, "HOP_NO_GRAD: the block was left by break: it ends at "
	        "its closing brace, or by continue");
	refuses(still_on, NULL, LIST(F(1)), HOP_EUSE, "the function ended inside a mode");
}

/* ---- casts ---- */

BODY(product)
{
	hop_value x = hop_cast(t, in[0], HOP_f32), w = hop_cast(t, in[1], HOP_f32), y = HOP_NONE;
	HOP_AUTOCAST(t, HOP_bf16)
		y = hop_matmul(t, x, w);
	hop_return(t, hop_cast(t, y, HOP_f64));
}

PITFALL(337, "autocast captures values of outside; gradients have the dtype of their value")
{
	gives(product, NULL, LIST(F(1.00390625, 1), F(1, 1)), LIST(F0(2)));
	gradient(product, NULL, LIST(F(1, 2), F(3, 4)), WRT(0, 1), LIST(F(3, 4), F(1, 2)));
}

/* The first use of the weight is without gradient. PyTorch keeps that cast for the second. */
BODY(cached)
{
	hop_value x = hop_cast(t, in[0], HOP_f32), w = hop_cast(t, in[1], HOP_f32);
	hop_value a = HOP_NONE, b = HOP_NONE;
	HOP_AUTOCAST(t, HOP_bf16) {
		HOP_NO_GRAD(t)
			a = hop_matmul(t, x, w);
		b = hop_matmul(t, x, w);
	}
	hop_return(t, hop_cast(t, hop_add(t, a, b), HOP_f64));
}

PITFALL(338, "a weight cast first without gradient has its gradient afterwards")
{
	gradient(cached, NULL, LIST(F(1, 2), F(3, 4)), WRT(1), LIST(F(1, 2)));
	must(times("= cast", CAPTURED, cached, NULL, LIST(F(1, 2), F(3, 4))) == 5);
}

BODY(layers)
{
	hop_value h = hop_cast(t, in[0], HOP_f32), w = hop_cast(t, in[1], HOP_f32);
	HOP_AUTOCAST(t, HOP_bf16) {
		HOP_FOR(t, i, 4, h) {
			h = hop_cast(t, hop_matmul(t, h, w), HOP_f32);
		}
	}
	hop_return(t, hop_sum_all(t, hop_cast(t, h, HOP_f64)));
}

PITFALL(339, "a weight that a loop uses is cast once, before it")
{
	static const double zeros[64 * 64];
	tensor m = tensor_of(HOP_f64, 2, 64, 64, 0, zeros);
	char *text = inside(LOWERED, layers, NULL, LIST(m, m));
	char *loop = strstr(text, "loop seq"), *first = strstr(text, "cast bf16");
	int n = 0;
	must(loop && first && first < loop);
	for (char *s = loop; (s = strstr(s, "cast bf16")); s++)
		n++;
	free(text);
	must(n == 2);                          /* of h, into the product and behind it */
	gives(layers, NULL, LIST(F2(2, 2, 1, 2, 3, 4), F2(2, 2, 1, 0, 0, 1)), LIST(F0(10)));
}

/* ---- rules ---- */

BODY(fwd)
{
	hop_save(t, 1, in);
	hop_return(t, hop_matmul(t, in[0], in[0]));
}

BODY(bwd)
{
	must(hop_mode_holds(t, HOP_MODE_AUTOCAST_OFF) && hop_mode_holds(t, HOP_MODE_ENABLE_GRAD));
	hop_return(t, hop_mul(t, hop_cast(t, in[1], HOP_f32), hop_mulf(t, in[0], 2)));
}

BODY(with_rule)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = fwd, .bwd = bwd };
	hop_value x = hop_cast(t, in[0], HOP_f32), y = HOP_NONE;
	HOP_AUTOCAST(t, HOP_bf16)
		hop_custom(t, &rule, NULL, 1, &x, 1, &y);
	hop_return(t, hop_cast(t, y, HOP_f64));
}

PITFALL(340, "the rules of a custom gradient are not cast: they say what they compute in")
{
	gives(with_rule, NULL, LIST(F(1.00390625, 1)), LIST(F0(2)));
	gradient(with_rule, NULL, LIST(F(1.5, 2)), WRT(0), LIST(F(3, 4)));
}

/* ---- the dtype of products ---- */

BODY(wide)
{
	hop_value x = hop_cast(t, in[0], HOP_bf16), n = hop_cast(t, in[1], HOP_i32);
	hop_return(t, hop_cast(t, hop_matmul_as(t, x, x, HOP_f32), HOP_f64),
	           hop_matmul_as(t, n, n, HOP_i64));
}

BODY(wide_loss)
{
	hop_value x = hop_cast(t, in[0], HOP_bf16);
	hop_return(t, hop_cast(t, hop_matmul_as(t, x, x, HOP_f32), HOP_f64));
}

BODY(narrow) { hop_return(t, hop_matmul_as(t, in[0], in[0], HOP_f32)); }

PITFALL(341, "products say what they add up in, with gradients; others are refused with a list")
{
	gives(wide, NULL, LIST(F(16, 1), I(1048576, 3)), LIST(F0(257), I0(1099511627785)));
	gradient(wide_loss, NULL, LIST(F(16, 1)), WRT(0), LIST(F(32, 2)));
	lanes(wide_loss, NULL, LIST(F2(2, 2, 16, 1, 1, 2)), AXES(0));
	refuses(narrow, NULL, LIST(F(1, 2)), HOP_ETYPE, "matmul_as: products of f64 do not add up to "
	        "f32: to f64 they may");
}

/* ---- fast-math ---- */

BODY(fast)
{
	hop_value y = HOP_NONE;
	HOP_FAST_MATH(t)
		y = hop_divf(t, in[0], 3);
	hop_return(t, y, hop_divf(t, in[0], 3));
}

PITFALL(342, "fast-math is of a block, not of a process")
{
	gives(fast, NULL, LIST(F(1, 7)), LIST(F(1.0 / 3, 7.0 / 3), F(1.0 / 3, 7.0 / 3)));
	must(times("= div", CAPTURED, fast, NULL, LIST(F(1, 7))) == 1);
}
