/* effects.c -- writes, printing, conditions. */
#include "map.h"

/* A write through a view is a new value of what it is a view of. */
EXAMPLE(auto_functionalized, IN(M(2, 2, 1, 2, 3, 4)), GIVES(1, 2, 13, 14))
{
	hop_value x = hop_clone(t, in[0]);
	hop_add_(t, hop_index(t, x, 0, 1), hop_f(t, 10));
	hop_return(t, x);
}

/* Two views of one array, which overlap: the second sees what the first wrote. */
EXAMPLE(auto_functionalized_v2, IN(V(1, 2, 3)), GIVES(2, 8, 6))
{
	hop_value x = hop_clone(t, in[0]);
	hop_mul_(t, hop_narrow(t, x, 0, 0, 2), hop_f(t, 2));
	hop_mul_(t, hop_narrow(t, x, 0, 1, 2), hop_f(t, 2));
	hop_return(t, x);
}

/* Effects come in the order of the lines, as often as the body runs. */
EXAMPLE(with_effects, IN(S(3)), GIVES(3))
{
	HOP_FOR(t, i, 2)
		hop_print(t, " trip {}", 1, &i);
	hop_print(t, " then x = {}", 1, in);
	hop_return(t, in[0]);
}

EXAMPLE(print, IN(V(1, 2)), GIVES(3))
{
	hop_print(t, " x is {}", 1, in);
	hop_return(t, hop_sum_all(t, in[0]));
}

BODY(root)
{
	hop_assert(t, hop_ge(t, in[0], hop_f(t, 0)), "{} has no root", 1, in);
	hop_return(t, hop_sqrt(t, in[0]));
}

/* A condition that fails ends the run with its text, and is never dropped. */
PROGRAM(_assert_async)
{
	hop_array *x = scalar(c, -4), *y;
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f;

	must(c, hop_capture(c, root, NULL, 1, &s, &f));
	expect_that(hop_call(f, 1, &x, 1, &y) != HOP_OK);
	expect_that(strstr(hop_message(c), "-4.0 has no root"));
	hop_array_release(x);
	hop_fn_release(f);
}
ALSO(_assert_scalar, _assert_async)
