/* call_lower.c -- lowering of call, custom, root and linear_solve. A body is inlined or becomes a
 * function; the choice is in loop/lower.c. */
#include "hops/hops.h"
#include "loop/lower.h"

/* Engines were asked before: what is left names one where there are none. */
static hop_status no_engine(hop_lower *l, const hop_node *n)
{
	hop_str to = HOP_ATTR(n, call)->to;
	return hop_fail(l->env, n->loc, HOP_EREFUSED, "call: this region is for engine `%.*s`, and code "
	                "that is made ahead of time has none: say \"%.*s, hop\" where it is to be compiled "
	                "as ever", (int)to.n, to.s, (int)to.n, to.s);
}

hop_status hop_lower_call(hop_lower *l, const hop_node *n)
{
	const struct hop_attr_call *a = HOP_ATTR(n, call);
	if (!hop_call_ours(n))
		return no_engine(l, n);
	return hop_call_apart(n) ? hop_lower_call_apart(l, n, a->body, a->no_fuse)
	                         : hop_lower_call_body(l, n, a->body);
}

/* The values saved for bwd are results only when nres says so. */
hop_status hop_lower_custom(hop_lower *l, const hop_node *n)
{
	return hop_lower_call_body(l, n, HOP_ATTR(n, custom)->fwd);
}

/* Only the solver runs. */
hop_status hop_lower_root(hop_lower *l, const hop_node *n)
{
	return hop_lower_call_body(l, n, HOP_ATTR(n, root)->solve);
}

hop_status hop_lower_linear_solve(hop_lower *l, const hop_node *n)
{
	return hop_lower_call_body(l, n, HOP_ATTR(n, linear_solve)->solve);
}
