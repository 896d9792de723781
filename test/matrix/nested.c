/* Cells: every operator inside every operator, itself too: value, both derivatives, second
 * derivative, batches. Also the cell two_levels: the base function, two bodies down, uses a
 * value of the outermost trace, and its gradient is right. */
#include <stdio.h>
#include <stdlib.h>

#include "support/checks.h"

static int all(hop_ctx *c, const subject *s)
{
	return check_value(c, s) || check_jvp(c, s) || check_vjp(c, s) || check_vjp_vjp(c, s) ||
	       check_vmap(c, s) || check_vmap_vjp(c, s);
}

static int inside(hop_ctx *c, int op, int outer)
{
	subject s = { .n = 2, .ops = { outer, op } };

	return all(c, &s);
}

static int two_levels(hop_ctx *c, int op, int arg)
{
	subject a = { .n = 3, .ops = { op, OP_CALL, OP_COND } };
	subject b = { .n = 3, .ops = { OP_COND, OP_CALL, op } };

	(void)arg;
	return check_value(c, &a) || check_vjp(c, &a) || check_value(c, &b) || check_vjp(c, &b);
}

/* nested [K N]: operators K, K + N, ..; all without. */
int main(int argc, char **argv)
{
	int bad = 0, first = argc > 2 ? atoi(argv[1]) : 0, step = argc > 2 ? atoi(argv[2]) : 1;

	for (int op = first; op < NOPERATOR && step > 0; op += step) {
		for (int outer = 0; outer < NOPERATOR; outer++) {
			char cap[32];

			snprintf(cap, sizeof cap, "in_%s", cell_op[outer]);
			bad += cell_run(op, cap, inside, outer);
		}
		bad += cell_run(op, "two_levels", two_levels, NOPERATOR);
	}
	return bad != 0;
}
