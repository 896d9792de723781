/* saved.c -- hop show --saved: what the reverse pass of a graph keeps from the forward pass, and what it
 * computes again. The deciding is ad/cut.c, the words are ad/cut_say.c. */
#include "cmd.h"

#include "ad/ad.h"

#include <stdio.h>
#include <stdlib.h>

static hop_status read_budget(cmd *c, const char *s, double *out)
{
	char *end;
	*out = s ? strtod(s, &end) : 1;
	if (!s || (*s >= '0' && *s <= '9' && !*end && *out >= 0 && *out <= 1))
		return HOP_OK;
	return hop_fail(c->env, 0, HOP_EUSE, "show: --budget=%s: a number from 0 to 1 is needed", s);
}

static hop_status say(cmd *c, const hop_graph *g, double budget, hop_cuts *w)
{
	hop_env *e = c->env;
	const hop_graph *joint;
	const hop_cut *cut;
	int *wrt = HOP_NEWN(&e->tmp, int, g->nparam), n = 0;
	for (uint32_t i = 0; i < g->nparam; i++)
		if (hop_type_diff(g->type[i]))
			wrt[n++] = (int)i;
	if (!n)
		return hop_fail(e, 0, HOP_ENODIFF, "show: --saved: the graph has no float parameter to "
		                "differentiate");
	e->cuts = w;
	hop_status st = hop_ask_joint(e, g, g->nout, n, wrt, &joint);
	if (!st)
		st = hop_ad_cut(e, joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, budget, &cut);
	e->cuts = NULL;
	return st;
}

hop_status cmd_saved(cmd *c, const hop_graph *g, const char *budget)
{
	double share;
	hop_buf whole, bodies;
	hop_arena keep;
	hop_cuts w = { .whole = &whole, .bodies = &bodies, .keep = &keep };
	HOP_TRY(read_budget(c, budget, &share));
	hop_arena_open(&keep, c->env);
	hop_buf_open(&whole, c->env);
	hop_buf_open(&bodies, c->env);
	hop_status st = say(c, g, share, &w);
	if (!st)
		printf("%s%s", whole.s, bodies.n ? bodies.s : "");
	hop_buf_free(&bodies);
	hop_buf_free(&whole);
	hop_arena_free(&keep, &c->env->mem);
	return st;
}
