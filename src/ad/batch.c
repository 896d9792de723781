/* batch.c -- drives the batch column. The batch axis of a batched value is axis 0; values
 * that do not depend on the lane stay unbatched. */
#include "ad/ad.h"

#include <string.h>

struct lanes {
	hop_build        b;
	const hop_graph *g;
	hop_val         *map;
	bool            *bat;
	hop_size        *smap;
	int              nsmap;
	hop_size         size;
	hop_val          mask;
};

bool hop_ad_needs_mask(const hop_graph *g)
{
	if (g->holds & HOP_HOLDS_EFFECT)
		return true;
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		if (hop_optab[g->node[i].op].flags & HOP_F_U)
			return true;
		for (int64_t j = 0; j < sub.n; j++)
			if (sub.v[j] && hop_ad_needs_mask(sub.v[j]))
				return true;
	}
	return false;
}

/* Whether a node with no batched operand still has to know the lanes: it has effects, or a
 * loop that must not run for lanes that are not there. */
static bool wants_mask(const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	if (hop_optab[n->op].flags & (HOP_F_X | HOP_F_U))
		return true;
	for (int64_t j = 0; j < sub.n; j++)
		if (sub.v[j] && hop_ad_needs_mask(sub.v[j]))
			return true;
	return false;
}

static hop_status push_node(struct lanes *l, const hop_node *n)
{
	hop_arena *tmp = &l->b.env->tmp;
	hop_val *in = HOP_NEWN(tmp, hop_val, n->nin);
	bool *bin = HOP_NEWN(tmp, bool, n->nin), any = false;
	hop_val *out = l->map + n->out0.id;
	for (uint32_t k = 0; k < n->nin; k++) {
		in[k] = l->map[n->in[k].id];
		any |= bin[k] = l->bat[n->in[k].id];
	}
	l->b.loc = n->loc;
	bool masked = !hop_is_zero(l->mask) && wants_mask(n);
	if (!any && !masked && !(hop_node_holds(n) & HOP_HOLDS_ASKS)) {
		hop_val v = hop_emit_copy(&l->b, l->g, n, in, l->smap, l->nsmap);
		for (uint32_t k = 0; k < n->nout; k++)
			out[k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
		return l->b.st;
	}
	hop_rule r = { .g = l->g, .n = n, .type = l->g->type, .smap = l->smap,
	               .nsmap = l->nsmap, .in = in, .out = out, .bin = bin,
	               .bout = l->bat + n->out0.id, .bsize = l->size, .mask = l->mask };
	HOP_TRY(hop_optab[n->op].batch(&l->b, &r));
	for (uint32_t k = 0; k < n->nout && !l->b.st; k++) {   /* the source's type, with lanes */
		const hop_type *t = hop_type_subst(l->b.env, l->g->type[n->out0.id + k], l->smap,
		                                   l->nsmap);
		out[k] = hop_emit_as(&l->b, out[k],
		                     r.bout[k] ? hop_type_prepend(l->b.env, t, l->size) : t);
	}
	return l->b.st;
}

static void open_lanes(struct lanes *l, hop_env *e, const hop_batch_spec *s)
{
	const hop_graph *g = l->g;
	hop_build_open(&l->b, e);
	hop_build_syms_of(&l->b, g);
	l->size = hop_size_int(s->size);
	if (s->size < 0)
		l->size = hop_size_sym(e, hop_build_sym(&l->b, (hop_range){ 0, HOP_SIZE_MAX }, NULL));
	l->nsmap = (int)(g->nsym + g->nlocal);
	l->smap = HOP_NEWN(&e->tmp, hop_size, l->nsmap);
	for (uint32_t i = 0; i < g->nsym; i++)
		l->smap[i] = hop_size_sym(e, (int)i);
	l->map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	l->bat = HOP_NEWN(&e->tmp, bool, g->nvalue);
}

static hop_status build(struct lanes *l, hop_env *e, const hop_batch_spec *s,
                        hop_graph **out_g, bool *out_batched)
{
	const hop_graph *g = l->g;
	hop_status st = HOP_OK;
	open_lanes(l, e, s);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *t = g->type[i];
		if (s->in[i] && t->rank == HOP_MAXRANK)
			st = hop_fail(e, 0, HOP_ESHAPE, "vmap: parameter %u has rank %d already", i,
			              HOP_MAXRANK);
		l->bat[i] = s->in[i];
		l->map[i] = hop_build_param(&l->b, s->in[i] && !st ?
		                            hop_type_prepend(e, t, l->size) : t);
	}
	const hop_type *mt = hop_type_get(e, HOP_bool, 1, &l->size);
	l->mask = s->masked ? hop_build_param(&l->b, mt) : HOP_ZERO;
	for (uint32_t i = 0; i < g->nnode && !st; i++) {
		hop_mark m = hop_mark_at(&e->tmp);
		st = push_node(l, &g->node[i]);
		hop_rewind(&e->tmp, m);
	}
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	for (uint32_t i = 0; i < g->nout && !st; i++) {
		out[i] = l->map[g->out[i].id];
		out_batched[i] = l->bat[g->out[i].id];
		if (s->force && s->force[i] && !out_batched[i]) {
			out[i] = hop_emit_lead(&l->b, out[i], l->size);
			out_batched[i] = true;
		}
	}
	if (!l->b.st)
		l->b.st = st;
	if (!l->b.st)
		hop_build_checks_of(&l->b, g, l->smap, l->nsmap);
	return hop_seal(&l->b, g->nout, out, NULL, out_g);
}

/* The memo holds the graph and which results are batched, as one interned record. */
struct record { const hop_graph *g; uint64_t nout; bool batched[]; };

hop_status hop_ad_batch(hop_env *e, const hop_graph *g, const hop_batch_spec *s,
                        const hop_graph **out_g, bool *out_batched)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct { uint64_t kind; const hop_graph *g; int64_t size, flags; } head = {
		'b', g, s->size, s->masked | (s->force != NULL) << 1
	};
	size_t n = sizeof head + g->nparam + (s->force ? g->nout : 0);
	char *key = HOP_NEWN(&e->tmp, char, n);
	memcpy(key, &head, sizeof head);
	memcpy(key + sizeof head, s->in, g->nparam);
	if (s->force)
		memcpy(key + sizeof head + g->nparam, s->force, g->nout);
	const struct record *r = hop_ctx_memo_get(e, key, n);
	hop_status st = HOP_OK;
	if (!r) {
		struct lanes l = { .g = g };
		size_t bytes = sizeof *r + g->nout;
		struct record *w = hop_arena_alloc(&e->tmp, bytes);
		hop_graph *made = NULL;
		st = build(&l, e, s, &made, w->batched);
		if (!st) {
			w->g = made;
			w->nout = g->nout;
			r = hop_ctx_intern(e, HOP_IN_CUT, w, bytes, 8);
			r = hop_ctx_memo_put(e, key, n, (void *)(uintptr_t)r);
		}
	}
	if (!st) {
		*out_g = r->g;
		memcpy(out_batched, r->batched, g->nout);
	}
	hop_rewind(&e->tmp, m);
	return st;
}
