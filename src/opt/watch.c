/* watch.c -- effects that only look. unwatch: without them, where nobody does. ticks: where somebody
 * does, loops that hold watches say when they begin, step and end, so that what is recorded has its
 * trips.
 *
 * needs: nothing.  keeps: everything else, and the order of effects. */
#include "data/record.h"
#include "opt/opt.h"
#include "opt/rewrite.h"

static hop_status leave_out(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                            hop_val *out)
{
	if (hop_optab[n->op].flags & HOP_F_O)
		return HOP_OK;
	return hop_rw_keep(w, n, in, attr, out);
}

hop_status hop_opt_unwatch(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'w', leave_out, NULL };
	*out_g = g;
	return g->holds & HOP_HOLDS_EFFECT ? hop_rw_graph(e, &pass, g, out_g) : HOP_OK;
}

static void tick(hop_build *b, int what)
{
	struct hop_attr_tick a = { .what = what };
	hop_emit_op(b, HOP_OP_tick, &a, 0, NULL);
}

/* A body that says first that a trip of its loop begins. */
static hop_status stepping(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_rw w;
	hop_graph *r;
	hop_rw_open(&w, e, g);
	tick(&w.b, HOP_TICK_STEP);
	for (uint32_t i = 0; i < g->nnode && !w.b.st; i++)
		HOP_TRY(hop_rw_copy(&w, &g->node[i]));
	HOP_TRY(hop_rw_end(&w, HOP_OK, &r));
	*out_g = r;
	return HOP_OK;
}

/* A loop's first body is the first that runs in a trip: the test of a while. */
static hop_status count(hop_rw *w, const hop_node *n, const hop_val *in, void *attr, hop_val *out)
{
	hop_form f;
	bool watched = false;
	if (!hop_form_read(n, attr, &f) || !(f.length || hop_optab[n->op].flags & HOP_F_U))
		return hop_rw_keep(w, n, in, attr, out);
	for (int i = 0; i < f.nbody; i++)
		watched |= f.body[i] && f.body[i]->holds & HOP_HOLDS_WATCH;
	if (!watched)
		return hop_rw_keep(w, n, in, attr, out);
	HOP_TRY(stepping(w->env, f.body[0], &f.body[0]));
	tick(&w->b, HOP_TICK_ENTER);
	HOP_TRY(hop_rw_keep(w, n, in, attr, out));
	tick(&w->b, HOP_TICK_LEAVE);
	return w->b.st;
}

hop_status hop_opt_ticks(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 't', count, NULL };
	*out_g = g;
	return g->holds & HOP_HOLDS_WATCH ? hop_rw_graph(e, &pass, g, out_g) : HOP_OK;
}
