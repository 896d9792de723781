/* zeros.c -- graphs some of whose parameters are zeros that nobody computed: a cotangent that did not
 * arrive. Such a zero times anything is zero, infinities too, which folding could not say of a zero
 * that was computed. Only ops that are known to be linear in what is zero pass it on; a loop or a
 * branch is given plain zeros. */
#include "hops/custom.h"

#include <string.h>

struct walk {
	hop_build        b;
	const hop_graph *g;
	hop_val         *map;
	bool            *zero;       /* [nvalue] */
	hop_size        *smap;
	int              nsmap;
};

static bool all_zero(const struct walk *w, const hop_node *n, uint32_t from, uint32_t to)
{
	for (uint32_t k = from; k < to; k++)
		if (!w->zero[n->in[k].id])
			return false;
	return from < to;
}

/* Is the only result of a plain node zero? */
static bool vanishes(const struct walk *w, const hop_node *n)
{
	const bool *z = w->zero;
	switch (n->op) {
	case HOP_OP_mul:
	case HOP_OP_dot:
		return z[n->in[0].id] || z[n->in[1].id];
	case HOP_OP_div:
	case HOP_OP_gather:
	case HOP_OP_dynslice:
		return z[n->in[0].id];
	case HOP_OP_solve:
	case HOP_OP_triangular_solve:
		return z[n->in[1].id];
	case HOP_OP_cast:
	case HOP_OP_stop_gradient:
		return z[n->in[0].id];
	case HOP_OP_select:
		return all_zero(w, n, 1, 3);
	case HOP_OP_dynupdate:
		return all_zero(w, n, 0, 2);
	case HOP_OP_scatter:
		return HOP_ATTR(n, scatter)->mode <= HOP_MODE_add && z[n->in[0].id] && z[n->in[2].id];
	default:
		return hop_optab[n->op].flags & HOP_F_L && all_zero(w, n, 0, n->nin);
	}
}

/* The operand, zeros that somebody reads being there. */
static hop_val solid(struct walk *w, hop_val v)
{
	if (w->zero[v.id] && hop_is_zero(w->map[v.id]))
		w->map[v.id] = hop_emit_zeros(&w->b, hop_type_subst(w->b.env, w->g->type[v.id], w->smap,
		                                                     w->nsmap));
	return w->map[v.id];
}

/* A call of what is left of the callee. */
static hop_status push_call(struct walk *w, const hop_node *n)
{
	hop_env *e = w->b.env;
	struct hop_attr_call *a = hop_attr_copy(e, &w->b.arena, n->op, n->attr, w->smap, w->nsmap);
	bool *zero = HOP_NEWN(&e->tmp, bool, n->nin);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin);
	uint32_t k = 0;
	for (uint32_t i = 0; i < n->nin; i++)
		if (!(zero[i] = w->zero[n->in[i].id]))
			in[k++] = w->map[n->in[i].id];
	HOP_TRY(hop_graph_zeros(e, a->body, zero, &a->body, w->zero + n->out0.id));
	hop_val v = hop_emit_op(&w->b, n->op, a, k, in);
	for (uint32_t i = 0; i < n->nout; i++)
		w->map[n->out0.id + i] = hop_is_bad(v) ? v : w->zero[n->out0.id + i] ? HOP_ZERO
		                                           : (hop_val){ v.id + i };
	return w->b.st;
}

static hop_status push_node(struct walk *w, const hop_node *n)
{
	bool any = false;
	for (uint32_t k = 0; k < n->nin; k++)
		any |= w->zero[n->in[k].id];
	w->b.loc = n->loc;
	if (any && n->op == HOP_OP_call)
		return push_call(w, n);
	if (any && n->nout == 1 && !(hop_optab[n->op].flags & HOP_F_R) && vanishes(w, n)) {
		w->zero[n->out0.id] = true;
		w->map[n->out0.id] = HOP_ZERO;
		return HOP_OK;
	}
	hop_val *in = HOP_NEWN(&w->b.env->tmp, hop_val, n->nin);
	for (uint32_t k = 0; k < n->nin; k++)
		in[k] = solid(w, n->in[k]);
	hop_val v = hop_emit_copy(&w->b, w->g, n, in, w->smap, w->nsmap);
	for (uint32_t k = 0; k < n->nout; k++)
		w->map[n->out0.id + k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
	return w->b.st;
}

bool hop_graph_gives_zero(const hop_graph *g, uint32_t k)
{
	hop_val v = g->out[k];
	while (v.id >= g->nparam) {
		const hop_node *n = &g->node[g->def[v.id]];
		if (n->op == HOP_OP_broadcast) {
			v = n->in[0];
			continue;
		}
		if (n->op != HOP_OP_constant || !hop_type_diff(g->type[v.id]))
			return false;
		const hop_data *d = HOP_ATTR(n, constant)->value;
		for (size_t i = 0; i < d->nbyte; i++)
			if (((const char *)d->bytes)[i])
				return false;
		return true;
	}
	return false;
}

static hop_status build(struct walk *w, hop_env *e, const bool *zero, hop_graph **out_g,
                        bool *out_zero)
{
	const hop_graph *g = w->g;
	w->nsmap = (int)(g->nsym + g->nlocal);
	w->smap = HOP_NEWN(&e->tmp, hop_size, w->nsmap);
	w->map = HOP_NEWN(&e->tmp, hop_val, g->nvalue);
	w->zero = HOP_NEWN(&e->tmp, bool, g->nvalue);
	hop_body_open(&w->b, e, g);
	for (uint32_t i = 0; i < g->nsym; i++)
		w->smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i < g->nparam; i++) {
		w->zero[i] = zero[i];
		w->map[i] = zero[i] ? HOP_ZERO : hop_build_param(&w->b, g->type[i]);
	}
	for (uint32_t i = 0; i < g->nnode && !w->b.st; i++)
		if (push_node(w, &g->node[i]) && !w->b.st)
			w->b.st = e->diag.st;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	for (uint32_t k = 0; k < g->nout && !w->b.st; k++) {
		out_zero[k] = w->zero[g->out[k].id];
		out[k] = solid(w, g->out[k]);
	}
	if (!w->b.st)
		hop_build_checks_of(&w->b, g, w->smap, w->nsmap);
	return hop_seal(&w->b, g->nout, out, g->name, out_g);
}

/* The memo holds the graph and its zeros as one interned record. */
struct record { const hop_graph *g; uint64_t nout; bool zero[]; };

hop_status hop_graph_zeros(hop_env *e, const hop_graph *g, const bool *zero,
                           const hop_graph **out_g, bool *out_zero)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct { uint64_t kind; const hop_graph *g; } head = { 'z', g };
	size_t n = sizeof head + g->nparam, size = sizeof(struct record) + g->nout;
	char *key = HOP_NEWN(&e->tmp, char, n);
	memcpy(key, &head, sizeof head);
	memcpy(key + sizeof head, zero, g->nparam);
	const struct record *r = hop_ctx_memo_get(e, key, n);
	hop_status st = HOP_OK;
	if (!r) {
		struct walk w = { .g = g };
		struct record *made = hop_arena_alloc(&e->tmp, size);
		hop_graph *h = NULL;
		made->nout = g->nout;
		st = build(&w, e, zero, &h, made->zero);
		made->g = h;
		if (!st) {
			r = hop_ctx_intern(e, HOP_IN_CUT, made, size, 8);
			r = hop_ctx_memo_put(e, key, n, (void *)(uintptr_t)r);
		}
	}
	if (!st) {
		*out_g = r->g;
		memcpy(out_zero, r->zero, g->nout * sizeof *out_zero);
	}
	hop_rewind(&e->tmp, m);
	return st;
}
