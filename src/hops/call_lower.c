/* call_lower.c -- lowering of call, custom and cond. A body is inlined or becomes a
 * function; the choice is in loop/lower.c. */
#include "loop/lower.h"

hop_status hop_lower_call(hop_lower *l, const hop_node *n)
{
	return hop_lower_call_body(l, n, HOP_ATTR(n, call)->body);
}

/* The values saved for bwd are results only when nres says so. */
hop_status hop_lower_custom(hop_lower *l, const hop_node *n)
{
	return hop_lower_call_body(l, n, HOP_ATTR(n, custom)->fwd);
}

static hop_status branch(hop_lower *l, const hop_node *n, const hop_graph *body,
                         hop_stmt *s, hop_block *b, const hop_view *dest)
{
	hop_linst *in = hop_lower_body(l, n, body);
	hop_status st;

	for (uint32_t i = 0; i < body->nparam; i++)
		hop_lower_bind_arg(l, n, (int)i + 1, in, (int)i, NULL);
	hop_lower_enter(l, s, b, true);
	st = hop_lower_decide(l, in, dest, NULL);
	if (!st)
		st = hop_lower_emit(l, in, dest, false);
	hop_lower_leave(l, false);
	return st;
}

/* Both bodies write the same buffers. */
hop_status hop_lower_cond(hop_lower *l, const hop_node *n)
{
	hop_view *dest = HOP_NEWN(l->w, hop_view, n->nout);
	hop_reg   p = hop_lower_scalar(l, n, 0);
	hop_stmt *s = hop_lower_new(l, HOP_L_IF);

	s->na = 1;
	s->a[0] = p;
	for (uint32_t i = 0; i < n->nout; i++)
		dest[i] = hop_lower_result(l, n, (int)i);
	HOP_TRY(branch(l, n, HOP_ATTR(n, cond)->then, s, &s->body, dest));
	HOP_TRY(branch(l, n, HOP_ATTR(n, cond)->else_, s, &s->other, dest));
	hop_lower_enter(l, s, l->cur->block, false);
	hop_lower_leave(l, true);
	return HOP_OK;
}
