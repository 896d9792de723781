/* replay_ad.c -- replay under transforms, and how reverse mode of loops emits it. Further
 * derivatives are those of the definition, which starts from the first carries: the states that
 * were kept have none. Batching is in replay_batch.c. */
#include "hops/replay.h"

#include <string.h>

/* ---- emitting ---- */

/* The body as a step: without effects and without stop. Its size parameters are as wide as the
 * size arguments, not as the body says, since that is tested where a step runs. */
static hop_status make_step(hop_build *at, const hop_loop *l, hop_sizes sargs,
                            const hop_graph **out_g)
{
	const hop_graph *g;
	hop_env *e = at->env;
	hop_build b;
	hop_graph *made;
	HOP_TRY(hop_ad_pure(e, l->body, &g));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam), *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_build_open(&b, e);
	for (int64_t i = 0; i < sargs.n; i++) {
		hop_range r = hop_size_range(sargs.v[i], at->range, (int)(at->nsym + at->nlocal));
		r.lo = r.lo < 0 ? 0 : r.lo;
		r.hi = r.hi < r.lo ? r.lo : r.hi;
		hop_build_sym(&b, r, i < g->nsym ? g->symname[i] : NULL);
	}
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_body_inline(&b, g, in, out);
	HOP_TRY(hop_seal(&b, l->nc + l->ny, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

static hop_ints list_on(hop_env *e, const bool *on, uint32_t n)
{
	int64_t *v = HOP_NEWN(&e->tmp, int64_t, n), k = 0;
	for (uint32_t i = 0; i < n; i++)
		if (on[i])
			v[k++] = i;
	return (hop_ints){ k, v };
}

/* The number of the size argument that is the length; a new one if none is. */
static int64_t length_arg(hop_sizes *s, hop_size length)
{
	for (int64_t i = 0; i < s->n; i++)
		if (hop_size_eq(s->v[i], length))
			return i;
	((hop_size *)(uintptr_t)s->v)[s->n] = length;          /* there is room */
	return s->n++;
}

static hop_val first_row(hop_build *b, hop_val x)
{
	return b->st ? HOP_BAD : hop_emit_lead(b, hop_emit(b, stop_gradient, x), hop_size_int(1));
}

hop_status hop_emit_replay(hop_build *b, const hop_replay_args *a, hop_val *dcarry, hop_val *dx,
                           hop_val *dk)
{
	hop_env *e = b->env;
	const hop_loop *l = a->l;
	uint32_t np = l->nc + l->nx + l->nk, n = 0;
	struct hop_attr_replay t = { .ncarry = l->nc, .nx = l->nx, .grow = a->grow,
	                             .whole = a->whole, .rows = a->rows, .slots = a->slots,
	                             .leaf = a->leaf, .sargs = a->sargs,
	                             .length = a->grow ? hop_size_int(0) : a->length };
	t.wrt = list_on(e, l->act, np);
	t.live = list_on(e, l->live, l->nc + l->ny);
	if (!hop_size_const(t.length))
		t.size = length_arg(&t.sargs, t.length);
	HOP_TRY(make_step(b, l, t.sargs, &t.step));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, HOP_REPLAY_LEAD + np + 2 * l->nc + l->ny);
	in[n++] = a->trips;
	in[n++] = a->stride;
	in[n++] = a->count;
	for (uint32_t i = 0; i < np; i++)
		in[n++] = i < l->nc ? a->carry[i] : i < l->nc + l->nx ? a->x[i - l->nc]
		        : a->konst[i - l->nc - l->nx];
	for (uint32_t i = 0; i < l->nc; i++)
		in[n++] = a->kept ? a->kept[i] : first_row(b, a->carry[i]);
	for (uint32_t i = 0; i < l->nc && !b->st; i++)
		if (l->act[i])
			in[n++] = hop_emit_solid(b, a->dcarry[i], hop_typeof(b, a->out[i]));
	for (uint32_t i = 0; i < l->ny && !b->st; i++)
		if (l->live[l->nc + i])
			in[n++] = hop_emit_solid(b, a->dy[i], hop_typeof(b, a->out[l->nc + i]));
	hop_val v = b->st ? HOP_BAD : hop_emit_op(b, HOP_OP_replay, &t, n, in);
	for (uint32_t i = 0; i < np && !b->st; i++) {
		hop_val *d = i < l->nc ? &dcarry[i] : i < l->nc + l->nx ? &dx[i - l->nc]
		           : &dk[i - l->nc - l->nx];
		*d = HOP_ZERO;
		if (l->act[i])
			*d = (hop_val){ v.id++ };
	}
	return b->st;
}

/* ---- derivatives: those of the definition ---- */

void hop_active_replay(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	const hop_graph *g;
	memset(out, 1, n->nout * sizeof *out);         /* should it fail, the rule will say so */
	if (!hop_replay_plain(e, n, &g))
		hop_ad_active(e, g, in, out);
}

hop_status hop_jvp_replay(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	const hop_graph *g, *j;
	uint32_t nin = r->n->nin, no = r->n->nout, n = nin, k = no;
	HOP_TRY(hop_replay_plain(e, r->n, &g));
	bool *outs = HOP_NEWN(&e->tmp, bool, no);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, 2 * nin), *out = HOP_NEWN(&e->tmp, hop_val, 2 * no);
	hop_ad_active(e, g, r->act, outs);
	HOP_TRY(hop_ad_jvp(e, g, r->act, outs, &j));
	memcpy(in, r->in, nin * sizeof *in);
	for (uint32_t i = 0; i < nin; i++)
		if (r->act[i])
			in[n++] = r->din[i];
	HOP_TRY(hop_emit_call(b, j, hop_rule_sargs(b, r), in, out));
	memcpy(r->out, out, no * sizeof *out);
	for (uint32_t i = 0; i < no; i++)
		if (outs[i])
			r->dout[i] = out[k++];
	return HOP_OK;
}

hop_status hop_fwd_replay(hop_build *b, hop_rule *r)
{
	const hop_graph *g;
	HOP_TRY(hop_replay_plain(b->env, r->n, &g));
	return hop_fwd_graph(b, r, NULL, g, hop_rule_sargs(b, r));
}

hop_status hop_bwd_replay(hop_build *b, hop_rule *r)
{
	return hop_bwd_call(b, r);
}
