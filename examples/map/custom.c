/* custom.c -- derivatives that are one's own. */
#include "map.h"

/* Rounding, whose gradient passes straight through. */
BODY(round_fwd)
{
	hop_return(t, hop_round(t, in[0]));
}

BODY(round_bwd)
{
	hop_return(t, in[0]);
}

EXAMPLE(autograd_function_apply, IN(V(0.2, 1.4)), GIVES(0, 2))
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = round_fwd, .bwd = round_bwd };
	hop_value x = in[0], r, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		hop_custom(t, &rule, NULL, 1, &x, 1, &r);
		loss = hop_sum_all(t, hop_mul(t, r, r));
	}
	hop_return(t, gx);                                    /* 2 r, not 0 */
}

/* jvp: x and its tangent -> the tangent of the result. */
BODY(round_jvp)
{
	hop_return(t, hop_mulf(t, in[1], 3));
}

/* A rule for forward mode, along a direction of two. */
BODY(rounded)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = round_fwd, .bwd = round_bwd,
	                                      .jvp = round_jvp };
	hop_value r;
	hop_custom(t, &rule, NULL, 1, in, 1, &r);
	hop_return(t, r);
}

EXAMPLE(custom_function_call, IN(S(1.4), S(2)), GIVES(1, 6))
{
	hop_value out[2];
	hop_jvp_at(t, rounded, NULL, 1, in, 1, (const int[]){ 0 }, &in[1], 2, out);
	hop_return(t, out[0], out[1]);
}

/* What is done with a gradient is given when it is run; what it was comes out beside it. */
BODY(told_what)
{
	hop_value x = in[0], how = in[1];
	HOP_HOOK(t, x, g) {
		hop_tell(t, hop_abs(t, g), "size");
		g = hop_mul(t, g, how);
	}
	hop_return(t, hop_mul(t, x, x));
}

EXAMPLE(BackwardState, IN(S(-3), S(10)), GIVES(-60, 6))
{
	hop_value out[3] = { HOP_NONE, HOP_NONE, HOP_NONE };
	hop_grad_at(t, told_what, NULL, 2, in, 1, (const int[]){ 0 }, 3, out);
	hop_return(t, out[1], out[2]);
}

/* What is computed inside is a constant to the gradient. */
EXAMPLE(wrap_with_set_grad_enabled, IN(S(3)), GIVES(9))
{
	hop_value x = in[0], a, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		HOP_NO_GRAD(t)
			a = hop_mul(t, x, x);
		loss = hop_mul(t, a, x);
	}
	hop_return(t, gx);                                    /* of 9 x, not of x x x */
}
ALSO(no_grad, wrap_with_set_grad_enabled)

/* Products are in bf16, whose 8 bits do not hold 1/256 beside 1; the sum behind them is not. */
EXAMPLE(wrap_with_autocast, IN(V(1.00390625, 1), V(1, 1)), GIVES(2.00390625))
{
	hop_value x = hop_cast(t, in[0], HOP_f32), w = hop_cast(t, in[1], HOP_f32), y;
	HOP_AUTOCAST(t, HOP_bf16)
		y = hop_matmul(t, x, w);
	hop_return(t, hop_addf(t, hop_cast(t, y, HOP_f32), 0.00390625));
}
ALSO(autocast, wrap_with_autocast)

/* The gradient of a value is 1 at most, for all that reads it, before the hook too. */
EXAMPLE(register_hook, IN(V(0.2, 3)), GIVES(0.4, 1))
{
	hop_value x = in[0], y, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		y = hop_mul(t, x, x);
		HOP_HOOK(t, x, g) {
			g = hop_clampf(t, g, -1, 1);
		}
		loss = hop_sum_all(t, y);
	}
	hop_return(t, gx);
}

/* A function of the gradient that the forward pass does not enter. */
BODY(halved)
{
	hop_return(t, hop_mulf(t, in[0], 0.5));
}

EXAMPLE(trace_wrapped, IN(S(3)), GIVES(3))
{
	hop_value x = in[0], y, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		y = hop_mul(t, x, x);
		hop_hook(t, y, halved, NULL);
		loss = y;
	}
	hop_return(t, gx);
}
