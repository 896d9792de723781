/* jvp.c -- drives the jvp column: forward mode. Rules are beside the ops. */
#include "ad/ad.h"

#include <string.h>

/* ---- activity ---- */

static void find_active(hop_env *e, const hop_graph *g, const bool *in, bool *out)
{
	hop_mark m = hop_mark_at(&e->tmp);
	bool *act = HOP_NEWN(&e->tmp, bool, g->nvalue);
	for (uint32_t i = 0; i < g->nparam; i++)
		act[i] = in[i] && hop_type_diff(g->type[i]);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		bool *arg = HOP_NEWN(&e->tmp, bool, n->nin), any = false;
		for (uint32_t k = 0; k < n->nin; k++)
			any |= arg[k] = act[n->in[k].id];
		if (!any || hop_optab[n->op].jvp == hop_jvp_zero)
			continue;
		if (hop_optab[n->op].flags & HOP_F_R)
			hop_hoptab[n->op].active(e, n, arg, act + n->out0.id);
		else
			for (uint32_t k = 0; k < n->nout; k++)
				act[n->out0.id + k] = hop_type_diff(g->type[n->out0.id + k]);
	}
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = act[g->out[i].id];
	hop_rewind(&e->tmp, m);
}

static bool has_bodies(const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nnode; i++)
		if (hop_optab[g->node[i].op].flags & HOP_F_R)
			return true;
	return false;
}

/* Remembered for graphs with bodies: one that is called in two places would be looked at
 * twice, and what it calls four times. */
void hop_ad_active(hop_env *e, const hop_graph *g, const bool *in, bool *out)
{
	if (!has_bodies(g)) {
		find_active(e, g, in, out);
		return;
	}
	hop_mark m = hop_mark_at(&e->tmp);
	struct { uint64_t kind; const hop_graph *g; } head = { 'a', g };
	size_t n = sizeof head + g->nparam;
	char *key = HOP_NEWN(&e->tmp, char, n);
	memcpy(key, &head, sizeof head);
	memcpy(key + sizeof head, in, g->nparam);
	const bool *r = hop_ctx_memo_get(e, key, n);
	if (!r) {
		find_active(e, g, in, out);
		r = hop_ctx_intern(e, HOP_IN_CUT, out, g->nout, 8);
		r = hop_ctx_memo_put(e, key, n, (void *)(uintptr_t)r);
	}
	memcpy(out, r, g->nout);
	hop_rewind(&e->tmp, m);
}

/* ---- the driver ---- */

struct fwd {
	hop_build        b;
	const hop_graph *g;
	hop_val         *map;      /* source value -> primal */
	hop_val         *tan;      /* source value -> tangent */
	const bool      *want;     /* source value: does a tangent that is asked for need its own? */
	hop_size        *smap;
	int              nsmap;
};

/* What nobody asks for is not derived: it may have no derivative. */
static const bool *find_wanted(hop_env *e, const hop_graph *g, const bool *outs)
{
	bool *want = HOP_NEWN(&e->tmp, bool, g->nvalue);
	for (uint32_t i = 0; i < g->nout; i++)
		want[g->out[i].id] |= outs[i];
	for (uint32_t i = g->nnode; i-- > 0; ) {
		const hop_node *n = &g->node[i];
		bool any = false;
		for (uint32_t k = 0; k < n->nout; k++)
			any |= want[n->out0.id + k];
		for (uint32_t k = 0; any && k < n->nin; k++)
			want[n->in[k].id] = true;
	}
	return want;
}

static bool wanted(const struct fwd *f, const hop_node *n)
{
	for (uint32_t k = 0; k < n->nout; k++)
		if (f->want[n->out0.id + k])
			return true;
	return false;
}

static hop_status push_node(struct fwd *f, const hop_node *n)
{
	hop_arena *tmp = &f->b.env->tmp;
	hop_val *in = HOP_NEWN(tmp, hop_val, n->nin), *din = HOP_NEWN(tmp, hop_val, n->nin);
	bool *act = HOP_NEWN(tmp, bool, n->nin), any = false;
	hop_val *out = f->map + n->out0.id, *dout = f->tan + n->out0.id;
	for (uint32_t k = 0; k < n->nin; k++) {
		in[k] = f->map[n->in[k].id];
		din[k] = f->tan[n->in[k].id];
		any |= act[k] = !hop_is_zero(din[k]);
	}
	for (uint32_t k = 0; k < n->nout; k++)
		dout[k] = HOP_ZERO;
	any = any && wanted(f, n);
	f->b.loc = n->loc;
	if (!any || !(hop_optab[n->op].flags & HOP_F_R)) {
		hop_val v = hop_emit_copy(&f->b, f->g, n, in, f->smap, f->nsmap);
		for (uint32_t k = 0; k < n->nout; k++)
			out[k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
	}
	if (!any || f->b.st)
		return f->b.st;
	hop_rule r = { .g = f->g, .n = n, .type = f->g->type, .smap = f->smap,
	               .nsmap = f->nsmap, .in = in, .out = out, .din = din, .dout = dout,
	               .act = act };
	f->b.loc = hop_loc_derived(f->b.env, n->loc, hop_optab[n->op].name);
	HOP_TRY(hop_optab[n->op].jvp(&f->b, &r));
	for (uint32_t k = 0; k < n->nout && !f->b.st; k++)     /* a tangent has its value's type */
		dout[k] = hop_emit_as(&f->b, dout[k], hop_typeof(&f->b, out[k]));
	return f->b.st;
}

static hop_status build(struct fwd *f, hop_env *e, const bool *act, const bool *outs,
                        hop_graph **out_g)
{
	const hop_graph *g = f->g;
	hop_build_open(&f->b, e);
	hop_build_syms_of(&f->b, g);
	f->nsmap = (int)(g->nsym + g->nlocal);
	f->smap = HOP_NEWN(&e->tmp, hop_size, f->nsmap);
	f->map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	f->tan = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	f->want = find_wanted(e, g, outs);
	for (uint32_t i = 0; i < g->nsym; i++)
		f->smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i < g->nparam; i++)
		f->map[i] = hop_build_param(&f->b, g->type[i]);
	for (uint32_t i = 0; i < g->nparam; i++)
		f->tan[i] = act[i] ? hop_build_param(&f->b, g->type[i]) : HOP_ZERO;
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_mark m = hop_mark_at(&e->tmp);
		if (push_node(f, &g->node[i]))
			break;
		hop_rewind(&e->tmp, m);
	}
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, 2 * g->nout);
	uint32_t n = g->nout;
	for (uint32_t i = 0; i < g->nout && !f->b.st && !e->diag.st; i++) {
		hop_val v = g->out[i];
		out[i] = f->map[v.id];
		if (outs[i])
			out[n++] = hop_emit_solid(&f->b, f->tan[v.id], hop_typeof(&f->b, out[i]));
	}
	if (!f->b.st)
		f->b.st = e->diag.st;
	if (!f->b.st)
		hop_build_checks_of(&f->b, g, f->smap, f->nsmap);
	return hop_seal(&f->b, n, out, NULL, out_g);
}

hop_status hop_ad_jvp(hop_env *e, const hop_graph *g, const bool *act, const bool *outs,
                      const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct { uint64_t kind; const hop_graph *g; } head = { 'j', g };
	size_t n = sizeof head + g->nparam + g->nout;
	char *key = HOP_NEWN(&e->tmp, char, n);
	memcpy(key, &head, sizeof head);
	memcpy(key + sizeof head, act, g->nparam);
	memcpy(key + sizeof head + g->nparam, outs, g->nout);
	hop_graph *r = hop_ctx_memo_get(e, key, n);
	hop_status st = HOP_OK;
	if (!r) {
		struct fwd f = { .g = g };
		st = build(&f, e, act, outs, &r);
		if (!st)
			r = hop_ctx_memo_put(e, key, n, r);
	}
	*out_g = r;
	hop_rewind(&e->tmp, m);
	return st;
}
