/* Cells: derivatives and batches of each operator alone, and of both. Operators inside each other
 * are in nested.c. */
#include "support/checks.h"

#define CELL(name) \
static int name(hop_ctx *c, int op, int arg) \
{ \
	subject s = { .n = 1, .ops = { op } }; \
	(void)arg; \
	return check_##name(c, &s); \
}
CELL(jvp)
CELL(vjp)
CELL(vjp_vjp)
CELL(vmap)
CELL(vmap_vjp)
CELL(jvp_vjp)
CELL(vmap_vmap)
CELL(divergent_lanes)
CELL(checkpointed)
CELL(bf16)
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
		bad += cell_run(op, "jvp_vjp", jvp_vjp, NOPERATOR);
		bad += cell_run(op, "vmap_vmap", vmap_vmap, NOPERATOR);
		bad += cell_run(op, "divergent_lanes", divergent_lanes, NOPERATOR);
		bad += cell_run(op, "checkpointed", checkpointed, NOPERATOR);
		bad += cell_run(op, "bf16", bf16, NOPERATOR);
	}
	return bad != 0;
}
