/* expand.c -- replays as the loops that run them, customs without a rule as calls.
 *
 * needs: nothing.  keeps: everything but the way back: what is expanded should not be
 * differentiated again. Both are calls, so that the passes behind this one see into them. */
#include "opt/opt.h"
#include "opt/rewrite.h"

#include "hops/replay.h"

/* A custom that has no derivative is there to say so; what it gives may be in vain. */
static bool bare(const hop_node *n, const struct hop_attr_custom *a)
{
	return n->op == HOP_OP_custom && !a->bwd && !a->jvp;
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	const hop_graph *g;
	if (bare(n, attr))
		return hop_emit_call(&w->b, ((struct hop_attr_custom *)attr)->fwd,
		                     ((struct hop_attr_custom *)attr)->sargs, in, out);
	if (n->op != HOP_OP_replay)
		return hop_rw_keep(w, n, in, attr, out);
	hop_node now = *n;
	now.attr = attr;
	HOP_TRY(hop_replay_expand(w->env, &now, &g));
	HOP_TRY(hop_opt_expand(w->env, g, &g));        /* its steps may hold others */
	return hop_emit_call(&w->b, g, hop_node_sargs(&now), in, out);
}

hop_status hop_opt_expand(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'x', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
