/* Cells: jvp, vjp, vjp of vjp, vmap, vmap of vjp, each operator alone. Operators inside each
 * other are in nested.c. */
#include "support/checks.h"

#define CELL(name) \
static int name(hop_ctx *c, int op, int arg) \
{ \
	subject s = { 1, { op }, false }; \
	(void)arg; \
	return check_##name(c, &s); \
}
CELL(jvp)
CELL(vjp)
CELL(vjp_vjp)
CELL(vmap)
CELL(vmap_vjp)
#undef CELL

int main(void)
{
	int bad = 0;

	for (int op = 0; op < NOPERATOR; op++) {
		bad += cell_run(op, "jvp", jvp, NOPERATOR);
		bad += cell_run(op, "vjp", vjp, NOPERATOR);
		bad += cell_run(op, "vjp_vjp", vjp_vjp, NOPERATOR);
		bad += cell_run(op, "vmap", vmap, NOPERATOR);
		bad += cell_run(op, "vmap_vjp", vmap_vjp, NOPERATOR);
	}
	return bad != 0;
}
