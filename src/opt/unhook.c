/* unhook.c -- graphs without hooks, each its first operand.
 *
 * needs: expand before it, which still differentiates.  keeps: everything that runs. Only
 * compilation does this: no derivative is taken of what it gives. */
#include "opt/opt.h"
#include "opt/rewrite.h"

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr, hop_val *out)
{
	if (n->op != HOP_OP_hook)
		return hop_rw_keep(w, n, in, attr, out);
	out[0] = in[0];
	return HOP_OK;
}

hop_status hop_opt_unhook(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'u', node, NULL };
	*out_g = g;
	return g->holds & HOP_HOLDS_HOOK ? hop_rw_graph(e, &pass, g, out_g) : HOP_OK;
}
