/* capture.c -- pitfalls of what bodies take from outside: values, sizes, effects and their order. */
#include <string.h>

#include "pitfall.h"

BODY(three_or_seven)
{
	hop_value n = hop_i(t, 3);
	HOP_IF(t, in[1], n) {
		n = hop_i(t, 7);
	}
	hop_dim d = hop_as_size(t, n, 3, 7);
	hop_value x = hop_arange(t, HOP_f64, d);
	hop_return(t, hop_sum_all(t, hop_mul(t, x, in[0])), n);
}

PITFALL(64, "a whole number that a branch chose becomes a size, within bounds")
{
	gives(three_or_seven, NULL, LIST(F0(2), B0(0)), LIST(F0(6), I0(3)));
	gives(three_or_seven, NULL, LIST(F0(2), B0(1)), LIST(F0(42), I0(7)));
	gradient(three_or_seven, NULL, LIST(F0(2), B0(1)), WRT(0), LIST(F0(21)));
}

BODY(count_or_four)
{
	hop_value n = hop_i(t, 4);
	HOP_IF(t, in[1], n) {
		n = hop_size_of(t, in[0], 0);
	}
	hop_return(t, n, hop_div(t, in[0], n));
}

PITFALL(65, "one branch gives a constant number, the other a size that is not known")
{
	tensor x = UNKNOWN(F(2, 4, 6, 8, 10), "n");
	gives(count_or_four, NULL, LIST(x, B0(1)), LIST(I0(5), F(0.4, 0.8, 1.2, 1.6, 2)));
	gives(count_or_four, NULL, LIST(x, B0(0)), LIST(I0(4), F(0.5, 1, 1.5, 2, 2.5)));
}

BODY(averages)
{
	hop_value y = in[0], k = in[1];
	HOP_WHILE(t, hop_gt(t, k, hop_i(t, 0)), y, k) {
		HOP_IF(t, hop_gt(t, hop_sum_all(t, y), hop_f(t, 0)), y) {
			hop_value ones = hop_full(t, HOP_f64, 1, (hop_dim[]){ hop_dim_of(t, in[0], 0) }, 1);
			y = hop_sub(t, y, hop_div(t, hop_mulf(t, ones, 2), hop_size_of(t, in[0], 0)));
		}
		k = hop_sub(t, k, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, y), y);
}

PITFALL(66, "a body inside a body uses a size that is not known")
{
	tensor x = UNKNOWN(F(1, 2, 3, 2), "n");
	gives(averages, NULL, LIST(x, I0(3)), LIST(F0(2), F(-0.5, 0.5, 1.5, 0.5)));
	gives(averages, NULL, LIST(UNKNOWN(F(5), "n"), I0(2)), LIST(F0(1), F(1)));
	slopes(averages, NULL, LIST(x, I0(3)), WRT(0));
}

BODY(shared)
{
	hop_value y = in[0], w = in[1], v = in[2];
	HOP_SWITCH(t, in[3], 3, y) {
	case 0: y = hop_mul(t, y, w); break;
	case 1: y = hop_add(t, hop_mul(t, w, w), v); break;
	default: y = hop_neg(t, y); break;
	}
	hop_return(t, hop_sum_all(t, y));
}

/* Three operands beside the index: what is used by two branches is passed once. */
PITFALL(67, "a value is used by two of three branches")
{
	hop_spec in[4] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64), hop_spec0(HOP_f64),
		               hop_spec0(HOP_i64) };
	hop_fn *f;
	ok(hop_capture(ctx, shared, NULL, 4, in, &f));
	if (!strstr(hop_fn_text(f), "switch %3, %0, %1, %2 :"))
		fail("%s", hop_fn_text(f));
	hop_fn_release(f);
	for (int i = 0; i < 3; i++)
		slopes(shared, NULL, LIST(F0(2), F0(3), F0(4), I0(i)), WRT(0, 1, 2));
	gradient(shared, NULL, LIST(F0(2), F0(3), F0(4), I0(1)), WRT(0, 1, 2),
	         LIST(F0(0), F0(6), F0(1)));
}

BODY(talks)
{
	hop_value n = in[0];
	hop_print(t, "begin", 0, NULL);
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), n) {
		HOP_IF(t, hop_eq(t, hop_rem(t, n, hop_i(t, 2)), hop_i(t, 0))) {
			hop_print(t, "even {}", 1, &n);
		} else {
			hop_print(t, "odd {}", 1, &n);
		}
		hop_assert(t, hop_lt(t, n, hop_i(t, 5)), "{} is not less than five", 1, &n);
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_print(t, "end", 0, NULL);
	hop_return(t, n);
}

PITFALL(68, "branches and loops print and assert, in order")
{
	prints(talks, NULL, LIST(I0(3)), "begin\nodd 3\neven 2\nodd 1\nend\n");
	refuses_run(talks, NULL, LIST(I0(5)), HOP_EASSERT,
	            "assert: 5 is not less than five");
}
