/* cond.c -- pitfalls of two and more branches: what they return, what they share, what is merged. */
#include "pitfall.h"

BODY(keep)
{
	hop_return(t, in[0]);
}

BODY(twice)
{
	hop_return(t, hop_mulf(t, in[0], 2));
}

BODY(keep_or_twice)
{
	hop_value out[1];
	hop_cond(t, in[1], keep, twice, NULL, 1, in, 1, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0]);
}

PITFALL(1, "a branch returns its operand")
{
	gives(keep_or_twice, NULL, LIST(F(1, 2), B0(1)), LIST(F0(3), F(1, 2)));
	gives(keep_or_twice, NULL, LIST(F(1, 2), B0(0)), LIST(F0(6), F(2, 4)));
	gradient(keep_or_twice, NULL, LIST(F(1, 2), B0(1)), WRT(0), LIST(F(1, 1)));
	gradient(keep_or_twice, NULL, LIST(F(1, 2), B0(0)), WRT(0), LIST(F(2, 2)));
}
