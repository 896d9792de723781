/* quiet.c -- graphs without what hop_progress says.
 *
 * needs: nothing; first, so that no other pass takes a loop for one with effects.  keeps:
 * everything else. */
#include "opt/opt.h"
#include "opt/rewrite.h"

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr, hop_val *out)
{
	if (n->op == HOP_OP_progress)
		return HOP_OK;
	return hop_rw_keep(w, n, in, attr, out);
}

hop_status hop_opt_mute(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'q', node, NULL };
	*out_g = g;
	return g->holds & HOP_HOLDS_EFFECT ? hop_rw_graph(e, &pass, g, out_g) : HOP_OK;
}

hop_status hop_opt_quiet(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	*out_g = g;
	return hop_ctx_progress(e->ctx).on ? HOP_OK : hop_opt_mute(e, g, out_g);
}
