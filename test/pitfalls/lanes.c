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
	slopes2(safe_roots, NULL, LIST(F(4, -1, 1)), WRT(0));
}

BODY(draw)
{
	hop_return(t, hop_uniform(t, in[0], HOP_f64, 1, (hop_dim[]){ hop_n(2) }), in[1]);
}

BODY(draws)
{
	hop_value out[2], same[2];
	const int own[2] = { HOP_OWN_KEY, 0 }, one[2] = { -1, 0 };
	hop_vmap_at(t, draw, NULL, 2, in, own, 2, out);
	hop_vmap_at(t, draw, NULL, 2, in, one, 2, same);
	hop_value d = hop_sub(t, hop_index(t, out[0], 0, 0), hop_index(t, out[0], 0, 1));
	hop_value e = hop_sub(t, hop_index(t, same[0], 0, 0), hop_index(t, same[0], 0, 1));
	hop_value apart = hop_ne(t, hop_index(t, d, 0, 0), hop_f(t, 0));
	hop_return(t, hop_and(t, apart, hop_eq(t, hop_index(t, e, 0, 0), hop_f(t, 0))));
}

PITFALL(218, "lanes that share a key draw the same numbers, unless each is to have its own")
{
	holds(draws, NULL, LIST(I0(3), F(1, 2)));
}

BODY(count_down)
{
	hop_value x = in[0], n = in[1], w = in[2];
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), x, n) {
		x = hop_tanh(t, hop_matmul(t, w, x));
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, x));
}

BODY(count_downs)
{
	hop_value out[1];
	const int axes[3] = { 0, 0, -1 };
	hop_vmap_at(t, count_down, NULL, 3, in, axes, 1, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0]);
}

PITFALL(219, "weights that all lanes of a loop share, under a gradient")
{
	tensor x = F2(3, 2, 0.1, 0.2, 1, -1, 0.5, 0.3), w = F2(2, 2, 0.5, -1, 0.3, 0.8);
	slopes(count_downs, NULL, LIST(x, I(3, 0, 1), w), WRT(0, 2));
	slopes2(count_downs, NULL, LIST(x, I(3, 0, 1), w), WRT(0, 2));
	lanes(count_down, NULL, LIST(x, I(3, 0, 1), w), AXES(0, 0, -1));
	lanes(count_down, NULL, LIST(F(1, 2), I0(2), F3(2, 2, 2, 1, 2, 3, 4, 5, 6, 7, 8)),
	      AXES(-1, -1, 0));
}

PITFALL(220, "no lanes at all, and a number of lanes that is not known")
{
	tensor w = F2(2, 2, 0.5, -1, 0.3, 0.8), x = F2(3, 2, 0.1, 0.2, 1, -1, 0.5, 0.3), n = I(3, 0, 1);
	gives(count_downs, NULL, LIST(EMPTY2(HOP_f64, 0, 2), EMPTY(HOP_i64), w),
	      LIST(F0(0), EMPTY(HOP_f64)));
	gives(count_downs, NULL, LIST(unknown_at(EMPTY2(HOP_f64, 0, 2), 0, "n"),
	      UNKNOWN(EMPTY(HOP_i64), "n"), w), LIST(F0(0), EMPTY(HOP_f64)));
	gradient(count_downs, NULL, LIST(EMPTY2(HOP_f64, 0, 2), EMPTY(HOP_i64), w), WRT(2),
	         LIST(F2(2, 2, 0, 0, 0, 0)));
	slopes(count_downs, NULL, LIST(unknown_at(x, 0, "n"), UNKNOWN(n, "n"), w), WRT(0, 2));
}

BODY(tells)
{
	HOP_IF(t, hop_gt(t, in[0], hop_f(t, 0))) {
		hop_print(t, "up {}", 1, in);
	} else {
		hop_print(t, "down {}", 1, in);
	}
	hop_return(t, in[0]);
}

BODY(tell_all)
{
	hop_value out[1];
	const int axes[1] = { 0 };
	hop_vmap_at(t, tells, NULL, 1, in, axes, 1, out);
	hop_return(t, out[0]);
}

PITFALL(221, "the branches of lanes print")
{
	prints(tell_all, NULL, LIST(F(1, -2, 3)), "lane 0: up 1.0\nlane 2: up 3.0\n"
	       "lane 1: down -2.0\n");
}

BODY(adds_to)
{
	hop_add_(t, *(hop_value *)user, in[0]);
	hop_return(t, in[0]);
}

BODY(race)
{
	hop_value out[1], sum = in[1];
	const int axes[1] = { 0 };
	hop_vmap_at(t, adds_to, &sum, 1, in, axes, 1, out);
	hop_return(t, out[0]);
}

PITFALL(222, "lanes write what they share")
{
	refuses(race, NULL, LIST(F(1, 2), F0(0)), HOP_EREFUSED,
	        "vmap: a captured tensor is written in the body of vmap");
}
