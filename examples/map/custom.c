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

/* The gradient of what a bwd was given is a value that the forward part kept. */
BODY(scale_fwd)
{
	hop_save(t, 1, &in[1]);
	hop_return(t, in[0]);
}

BODY(scale_bwd)
{
	hop_return(t, hop_mul(t, in[1], in[0]), hop_zeros_like(t, in[0]));
}

EXAMPLE(BackwardState, IN(S(3), S(10)), GIVES(60))
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = scale_fwd, .bwd = scale_bwd };
	hop_value x = in[0], y, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		hop_custom(t, &rule, NULL, 2, (hop_value[]){ x, in[1] }, 1, &y);
		loss = hop_mul(t, y, y);
	}
	hop_return(t, gx);                                    /* 2 x, ten times */
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

/* The identity, whose gradient is 1 at most. */
BODY(hook_fwd)
{
	hop_return(t, in[0]);
}

BODY(hook_bwd)
{
	hop_return(t, hop_clampf(t, in[0], -1, 1));
}

EXAMPLE(register_hook, IN(V(0.2, 3)), GIVES(0.4, 1))
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = hook_fwd, .bwd = hook_bwd };
	hop_value x = in[0], y, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		hop_custom(t, &rule, NULL, 1, &x, 1, &y);
		loss = hop_sum_all(t, hop_mul(t, y, y));
	}
	hop_return(t, gx);
}
