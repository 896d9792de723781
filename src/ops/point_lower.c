/* point_lower.c -- lowering of element-by-element ops: one scalar operation each.
 * Whether the result is stored is not decided here. */
#include "loop/lower.h"

/* Rows of the two tables that have the same name. */
static const enum hop_sop sop[HOP_NOPS] = {
#define HOP_SOP(name, in, on, cost) [HOP_OP_##name] = HOP_SOP_##name,
#define HOP_SOP_IN(name, in, on, cost)
#define HOP_SOP_MEM(name, in, on, cost)
#include "loop/sops.def"
};

/* On bool: max is or, min is and, x < y is !x & y, x <= y is !x | y. */
static hop_reg logic(hop_lower *l, int op, hop_reg x, hop_reg y)
{
	switch (op) {
	case HOP_OP_max:
		return hop_lower_do(l, or, HOP_bool, x, y);
	case HOP_OP_min:
		return hop_lower_do(l, and, HOP_bool, x, y);
	case HOP_OP_lt:
		return hop_lower_do(l, and, HOP_bool, hop_lower_do(l, not, HOP_bool, x), y);
	case HOP_OP_le:
		return hop_lower_do(l, or, HOP_bool, hop_lower_do(l, not, HOP_bool, x), y);
	}
	return 0;
}

hop_status hop_lower_points(hop_lower *l, const hop_node *n)
{
	hop_dtype d = (hop_dtype)hop_lower_out(l, n, 0)->dtype;
	hop_reg a[3] = { 0 };
	HOP_ASSERT(sop[n->op] && n->nin <= 3);
	for (uint32_t i = 0; i < n->nin; i++)
		a[i] = hop_lower_arg(l, n, (int)i, l->q.ix);
	l->reg = 0;
	if (n->nin == 2 && hop_dtype_bool((hop_dtype)hop_lower_in(l, n, 0)->dtype))
		l->reg = logic(l, n->op, a[0], a[1]);
	if (!l->reg)
		l->reg = hop_lower_op(l, sop[n->op], d, (int)n->nin, a);
	return HOP_OK;
}

/* What is equal to itself must be so wherever it is computed: x == amax(x) has to hold for
 * some x. */
hop_status hop_lower_equal(hop_lower *l, const hop_node *n)
{
	hop_lower_once(l, n, 0);
	hop_lower_once(l, n, 1);
	return hop_lower_points(l, n);
}

hop_status hop_lower_cast(hop_lower *l, const hop_node *n)
{
	l->reg = hop_lower_to(l, (hop_dtype)hop_lower_out(l, n, 0)->dtype,
	                      (hop_dtype)hop_lower_in(l, n, 0)->dtype,
	                      hop_lower_arg(l, n, 0, l->q.ix));
	return HOP_OK;
}

hop_status hop_lower_todo(hop_lower *l, const hop_node *n)
{
	return hop_fail(l->env, n->loc, HOP_ETARGET, "%s: not compiled yet",
	                hop_optab[n->op].name);
}
