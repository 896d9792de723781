/* verify.c -- every invariant of a sealed graph, asked again: order, numbering, symbols,
 * effects, types by inference. Does not look for what could be better. */
#include "ir/rule.h"

#include <string.h>

struct verifier {
	hop_env *env;
	hop_map  seen;               /* graphs already verified */
};

#define BROKEN(v, loc, ...) hop_fail((v)->env, (loc), HOP_EUSE, "verify: " __VA_ARGS__)

static const void *field_at(const hop_node *n, int i)
{
	return (const char *)n->attr + hop_attr_offset(n->op, i);
}

/* ---- numbering: parameters, then results in order; operands come earlier ---- */

static hop_status numbers(struct verifier *v, const hop_graph *g)
{
	uint32_t next = g->nparam;
	if (g->nparam > g->nvalue)
		return BROKEN(v, 0, "%u parameters among %u values", g->nparam, g->nvalue);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (g->def[i] != UINT32_MAX)
			return BROKEN(v, 0, "parameter %%%u is defined by a node", i);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		if (!n->op || n->op >= HOP_NOPS)
			return BROKEN(v, n->loc, "node %u has op %u, which has no row", i, n->op);
		if (n->out0.id != next || n->nout > g->nvalue - next)
			return BROKEN(v, n->loc, "results of node %u start at %%%u, not %%%u", i,
			              n->out0.id, next);
		for (uint32_t k = 0; k < n->nin; k++)
			if (n->in[k].id >= next)
				return BROKEN(v, n->loc, "%s: operand %u is %%%u, which comes later",
				              hop_optab[n->op].name, k, n->in[k].id);
		for (uint32_t k = 0; k < n->nout; k++)
			if (g->def[next + k] != i)
				return BROKEN(v, n->loc, "%%%u does not know its node", next + k);
		next += n->nout;
	}
	if (next != g->nvalue)
		return BROKEN(v, 0, "%u values, nodes define %u", g->nvalue, next);
	for (uint32_t i = 0; i < g->nout; i++)
		if (g->out[i].id >= g->nvalue)
			return BROKEN(v, 0, "result %u is %%%u of %u", i, g->out[i].id, g->nvalue);
	return HOP_OK;
}

/* ---- symbols: used after they are bound, bound once and in order ---- */

static hop_status type_syms(struct verifier *v, hop_loc at, const hop_type *t, int have)
{
	for (int i = 0; i < t->rank; i++) {
		if (hop_size_nsym(t->dim[i]) > have)
			return BROKEN(v, at, "dimension %d uses a size that is not bound yet", i);
		if (hop_size_const(t->dim[i]) && t->dim[i].k < 0)
			return BROKEN(v, at, "dimension %d is negative", i);
	}
	return HOP_OK;
}

static hop_status attr_syms(struct verifier *v, const hop_node *n, int *have)
{
	for (int i = 0; i < hop_optab[n->op].nfield; i++) {
		const hop_field *f = &hop_optab[n->op].field[i];
		hop_sizes s = hop_attr_sizes(n->op, n->attr, i);
		for (int64_t k = 0; k < s.n; k++)
			if (hop_size_nsym(s.v[k]) > *have)
				return BROKEN(v, n->loc, "%s: %s uses a size that is not bound yet",
				              hop_optab[n->op].name, f->name);
		if (f->kind != HOP_AK_sym || *(const int64_t *)field_at(n, i) < 0)
			continue;
		if (*(const int64_t *)field_at(n, i) != (*have)++)
			return BROKEN(v, n->loc, "%s binds its size out of order",
			              hop_optab[n->op].name);
	}
	return HOP_OK;
}

static hop_status symbols(struct verifier *v, const hop_graph *g)
{
	int have = (int)g->nsym, all = (int)(g->nsym + g->nlocal);
	for (int i = 0; i < all; i++)
		if (g->range[i].lo < 0 || g->range[i].hi < g->range[i].lo ||
		    g->range[i].hi > HOP_SIZE_MAX)
			return BROKEN(v, 0, "size symbol %d has no proper range", i);
	for (uint32_t i = 0; i < g->nparam; i++)
		HOP_TRY(type_syms(v, 0, g->type[i], have));
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		HOP_TRY(attr_syms(v, n, &have));
		if (have > all)
			return BROKEN(v, n->loc, "%s binds a size the graph does not have",
			              hop_optab[n->op].name);
		for (uint32_t k = 0; k < n->nout; k++)
			HOP_TRY(type_syms(v, n->loc, g->type[n->out0.id + k], have));
	}
	if (have != all)
		return BROKEN(v, 0, "no node binds size symbol %d", have);
	for (uint32_t i = 0; i < g->ncheck; i++)
		if (hop_size_bad(g->check[i].a) || hop_size_bad(g->check[i].b) ||
		    hop_size_nsym(g->check[i].a) > all || hop_size_nsym(g->check[i].b) > all)
			return BROKEN(v, g->check[i].loc, "a check uses a size the graph does not have");
	return HOP_OK;
}

/* ---- types: what inference says, node by node, in a builder then dropped ---- */

static hop_status retype(struct verifier *v, const hop_graph *g, hop_build *b,
                         hop_val *map, hop_val *arg)
{
	hop_build_syms_of(b, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(b, g->type[i]);
	for (uint32_t i = 0; i < g->nlocal; i++)
		hop_build_local(b, g->range[g->nsym + i], g->symname[g->nsym + i]);
	for (uint32_t i = 0; i < g->ncheck; i++)
		hop_build_check(b, g->check[i]);
	size_t had = b->ncheck;
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		for (uint32_t k = 0; k < n->nin; k++)
			arg[k] = map[n->in[k].id];
		b->loc = n->loc;
		hop_val o = hop_emit_op(b, n->op, n->attr, n->nin, arg);
		if (b->st)
			return b->st;
		int row = hop_optab[n->op].nout;
		uint32_t nout = row >= 0 ? (uint32_t)row : b->node[b->nnode - 1].nout;
		if (b->node[b->nnode - 1].guard != n->guard)
			return BROKEN(v, n->loc, "%s %s refuse to run and says otherwise",
			              hop_optab[n->op].name, n->guard ? "cannot" : "may");
		if (nout != n->nout)
			return BROKEN(v, n->loc, "%s has %u results, inference says %u",
			              hop_optab[n->op].name, n->nout, nout);
		for (uint32_t k = 0; k < nout; k++) {
			map[n->out0.id + k] = (hop_val){ o.id + k };
			if (b->type[o.id + k] != g->type[n->out0.id + k])
				return BROKEN(v, n->loc, "%s: the type of %%%u is not what inference says",
				              hop_optab[n->op].name, n->out0.id + k);
		}
	}
	if (b->ncheck > had)
		return BROKEN(v, b->check[had].loc, "types rest on a condition that is neither known "
		              "nor checked: %s", b->check[had].what);
	return HOP_OK;
}

static hop_status types(struct verifier *v, const hop_graph *g)
{
	hop_arena *tmp = &v->env->tmp;
	hop_mark m = hop_mark_at(tmp);
	hop_val *map = HOP_NEWN(tmp, hop_val, g->nvalue);
	uint32_t most = 0;
	for (uint32_t i = 0; i < g->nnode; i++)
		most = g->node[i].nin > most ? g->node[i].nin : most;
	hop_val *arg = HOP_NEWN(tmp, hop_val, most);
	hop_build b;
	hop_build_open(&b, v->env);
	hop_status st = retype(v, g, &b, map, arg);
	hop_build_drop(&b);
	hop_rewind(tmp, m);
	return st;
}

/* ---- bodies and effects ---- */

static hop_status graph(struct verifier *v, const hop_graph *g)
{
	if (hop_map_get(&v->seen, &g, sizeof g))
		return HOP_OK;
	hop_map_put(&v->seen, &g, sizeof g, v);
	HOP_TRY(numbers(v, g));
	bool effect = false, acts = false, guard = false;
	uint16_t holds = 0;
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		guard |= g->node[i].guard;
		acts |= hop_node_acts(&g->node[i]);
		holds |= hop_node_holds(&g->node[i]);
		effect |= hop_node_effect(&g->node[i]);
		for (int j = 0; j < sub.n; j++) {
			if (!sub.v[j])
				continue;
			if (sub.v[j]->ctx != g->ctx)
				return BROKEN(v, g->node[i].loc, "a body of another context");
			if (graph(v, sub.v[j]))
				return hop_note(v->env, g->node[i].loc, "in body %d of %s", j,
				                hop_optab[g->node[i].op].name);
		}
	}
	if (guard != g->has_guard)
		return BROKEN(v, 0, "the graph %s nodes that may refuse and says otherwise",
		              guard ? "has" : "has no");
	if (effect != g->has_effect || acts != g->acts)
		return BROKEN(v, 0, "the graph %s effects and says otherwise",
		              effect ? "has" : "has no");
	if (holds != g->holds)
		return BROKEN(v, 0, "the graph says otherwise what marks and watches it has");
	HOP_TRY(symbols(v, g));
	return types(v, g);
}

hop_status hop_verify(hop_env *e, const hop_graph *g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct verifier v = { .env = e, .seen.a = &e->tmp };
	hop_status st = graph(&v, g);
	hop_rewind(&e->tmp, m);
	return st;
}

#undef BROKEN
