/* control.c -- branches and loops, in blocks where there is a block. Gradients and batches of them are
 * in transforms.c. */
#include "map.h"

/* The square of what is below zero. */
EXAMPLE(cond, IN(S(-3)), GIVES(9))
{
	hop_value x = in[0];
	HOP_IF(t, hop_lt(t, x, hop_f(t, 0)), x)
		x = hop_mul(t, x, x);
	hop_return(t, x);
}

/* One of three, by number; 7 is clamped to the last. */
EXAMPLE(switch, IN(S(7), S(4)), GIVES(2))
{
	hop_value x = in[1];
	HOP_SWITCH(t, hop_cast(t, in[0], HOP_i64), 3, x) {
	case 0:
		x = hop_neg(t, x);
		break;
	case 1:
		x = hop_mulf(t, x, 10);
		break;
	default:
		x = hop_sqrt(t, x);
	}
	hop_return(t, x);
}

/* Newton's method for a square root; the trips are a result. */
EXAMPLE(while_loop, IN(S(16)), GIVES(4, 6))
{
	hop_value a = in[0], x = a, n;
	HOP_WHILE(t, hop_gt(t, hop_abs(t, hop_sub(t, hop_mul(t, x, x), a)), hop_f(t, 1e-9)), x) {
		x = hop_mulf(t, hop_add(t, x, hop_div(t, a, x)), 0.5);
		hop_trips(t, &n);
	}
	hop_return(t, x, n);
}

/* Doubled while below 10: a row for each trip, zeros behind them, and how many there are. */
EXAMPLE(while_loop_stack_output, IN(S(3)), GIVES(6, 12, 0, 0, 2))
{
	hop_value x = in[0], rows, n;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 10)), x) {
		hop_bound(t, 4);
		x = hop_mulf(t, x, 2);
		hop_stack(t, &rows, x);
		hop_trips(t, &n);
	}
	hop_return(t, rows, n);
}

/* A running mean of three numbers, weighted by 1/2: the last state, and all of them. */
EXAMPLE(scan, IN(V(4, 8, 2)), GIVES(3.5, 2, 5, 3.5))
{
	hop_value h = hop_scalar(t, HOP_f64, 0), all;
	HOP_FOR(t, i, 3, h) {
		h = hop_mulf(t, hop_add(t, h, hop_take(t, in[0], i)), 0.5);
		hop_stack(t, &all, h);
	}
	hop_return(t, h, all);
}

/* Prefixes of x -> a x + b: two leaves that meet in the combine. */
BODY(after)
{
	hop_value a1 = in[0], b1 = in[1], a2 = in[2], b2 = in[3];
	hop_return(t, hop_mul(t, a1, a2), hop_add(t, hop_mul(t, b1, a2), b2));
}

EXAMPLE(associative_scan, IN(V(2, 3, 4), V(1, 1, 1)), GIVES(2, 6, 24, 1, 4, 17))
{
	hop_value out[2];
	hop_associative_scan(t, after, NULL, 2, in, NULL, out);
	hop_return(t, out[0], out[1]);
}

/* A row at a time; w is shared, and not a row. */
EXAMPLE(map, IN(M(2, 2, 1, 2, 3, 4), V(10, 1)), GIVES(12, 34))
{
	hop_value y;
	HOP_MAP(t, i, 2)
		hop_stack(t, &y, hop_matmul(t, hop_take(t, in[0], i), in[1]));
	hop_return(t, y);
}
ALSO(map_impl, map)
