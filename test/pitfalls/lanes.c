/* lanes.c -- pitfalls of branches in many lanes that go different ways. */
#include "pitfall.h"

BODY(two_results)
{
	hop_value a = in[0], b = in[0];
	HOP_IF(t, hop_and(t, in[1], in[2]), a, b) {
		a = hop_mul(t, a, a);
		b = hop_sum_all(t, a);
	} else {
		a = hop_neg(t, a);
		b = hop_scalar(t, HOP_f64, 7);
	}
	hop_return(t, a, b);
}

BODY(constants)
{
	hop_value a = HOP_NONE, b = HOP_NONE;
	HOP_IF(t, in[0], a, b) {
		a = hop_scalar(t, HOP_f64, 1);
		b = hop_scalar(t, HOP_i64, 2);
	} else {
		a = hop_scalar(t, HOP_f64, 3);
		b = hop_scalar(t, HOP_i64, 4);
	}
	hop_return(t, a, b);
}

BODY(inner)
{
	hop_value out[2];
	const int axes[3] = { -1, 0, -1 };
	hop_vmap_at(t, two_results, NULL, 3, in, axes, 2, out);
	hop_return(t, out[0], out[1]);
}

PITFALL(69, "batches in batches, predicates batched in either, several results, no operands")
{
	tensor x = F2(3, 2, 1, 2, 3, 4, 5, 6);
	lanes(inner, NULL, LIST(x, B(1, 0, 1), B(1, 0, 1)), AXES(0, -1, 0));
	lanes(inner, NULL, LIST(x, tensor_of(HOP_bool, 2, 2, 3, 0, NUMBERS_(1, 0, 1, 0, 1, 1)), B0(1)),
	      AXES(0, 1, -1));
	lanes(constants, NULL, LIST(B(1, 0, 0)), AXES(0));
}

BODY(safe_root)
{
	hop_value y = in[0];
	HOP_IF(t, hop_gt(t, y, hop_f(t, 0)), y) {
		y = hop_add(t, hop_sqrt(t, y), hop_log(t, y));
	} else {
		y = hop_mulf(t, y, 3);
	}
	hop_return(t, y);
}

BODY(safe_roots)
{
	hop_value out[1];
	const int axes[1] = { 0 };
	hop_vmap_at(t, safe_root, NULL, 1, in, axes, 1, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0]);
}

PITFALL(70, "the branch that a lane does not take has no number there, under a gradient")
{
	tensor x = F(4, -1, 0, 1);
	gives(safe_roots, NULL, LIST(x), LIST(F0(2 + log(4) - 3 + 0 + 1), F(2 + log(4), -3, 0, 1)));
	gradient(safe_roots, NULL, LIST(x), WRT(0), LIST(F(0.25 + 0.25, 3, 3, 0.5 + 1)));
}
