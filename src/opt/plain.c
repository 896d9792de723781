/* plain.c -- graphs without what only a reverse pass reads: names and what to save, packing,
 * checkpoints.
 *
 * needs: nothing; early, so that no other pass takes them for work.  keeps: everything else. A graph
 * that is compiled is not differentiated any more. */
#include "opt/opt.h"
#include "opt/rewrite.h"

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr, hop_val *out)
{
	if (n->op == HOP_OP_name || n->op == HOP_OP_packed) {
		out[0] = in[0];
		return HOP_OK;
	}
	if (n->op != HOP_OP_checkpoint)
		return hop_rw_keep(w, n, in, attr, out);
	const struct hop_attr_checkpoint *a = attr;
	w->b.loc = n->loc;
	return hop_emit_call(&w->b, a->body, a->sargs, in, out);
}

hop_status hop_opt_plain(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'n', node, NULL };
	*out_g = g;
	return g->holds & HOP_HOLDS_NAME ? hop_rw_graph(e, &pass, g, out_g) : HOP_OK;
}
