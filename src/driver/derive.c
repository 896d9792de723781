/* derive.c -- derivatives and batching as passes, for the command: what to differentiate is
 * not asked, it is all there is. For functions see transform.c. */
#include "driver/pipeline.h"

#include <string.h>

#include "ad/ad.h"
#include "hops/body.h"

enum { LANES = 4 };

/* Which of n types have tangents. */
static bool *floats(hop_env *e, uint32_t n, const hop_graph *g, bool results)
{
	bool *f = HOP_NEWN(&e->tmp, bool, n);
	for (uint32_t i = 0; i < n; i++)
		f[i] = hop_type_diff(results ? hop_graph_out_type(g, i) : g->type[i]);
	return f;
}

hop_status hop_pass_vjp(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_status st = hop_ad_vjp(e, g, floats(e, g->nout, g, true),
	                           floats(e, g->nparam, g, false), out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_pass_jvp(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_status st = hop_ad_jvp(e, g, floats(e, g->nparam, g, false),
	                           floats(e, g->nout, g, true), out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_pass_grad(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	int *wrt = HOP_NEWN(&e->tmp, int, g->nparam), n = 0;
	for (uint32_t i = 0; i < g->nparam; i++)
		if (hop_type_diff(g->type[i]))
			wrt[n++] = (int)i;
	hop_status st = hop_ask_grad(e, 0, g, n, wrt, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

static hop_status batch(hop_env *e, const hop_graph *g, int64_t size, const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	bool *in = HOP_NEWN(&e->tmp, bool, g->nparam), *out = HOP_NEWN(&e->tmp, bool, g->nout);
	bool *force = HOP_NEWN(&e->tmp, bool, g->nout);
	memset(in, 1, g->nparam);
	memset(force, 1, g->nout);
	hop_batch_spec s = { .size = size, .in = in, .force = force };
	hop_status st = hop_ad_batch(e, g, &s, out_g, out);
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_pass_vmap(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	return batch(e, g, LANES, out_g);
}

hop_status hop_pass_vmap_any(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	return batch(e, g, -1, out_g);
}
