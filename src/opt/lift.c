/* lift.c -- nodes of a loop body in front of the loop: which may go, and emitting them.
 * What depends on a slice is emitted for all steps at once by the op's own batch rule, with
 * time as the batch axis. */
#include "opt/lift.h"

#include <string.h>

#include "ad/ad.h"
#include "ir/rule.h"

static bool local_sizes(const hop_graph *g, const hop_node *n)
{
	for (int i = 0; i < hop_optab[n->op].nfield; i++) {
		hop_sizes s = hop_attr_sizes(n->op, n->attr, i);
		for (int64_t k = 0; k < s.n; k++)
			if (hop_size_nsym(s.v[k]) > (int)g->nsym)
				return true;
	}
	return false;
}

/* Runs to an end, touches nothing, binds nothing: may run although the loop would not. */
static bool movable(const hop_graph *g, const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	int flags = hop_optab[n->op].flags;
	if (n->attr && hop_attr_sym(n->op, (void *)(uintptr_t)n->attr))
		return false;
	if (!(flags & (HOP_F_P | HOP_F_R)) || flags & (HOP_F_W | HOP_F_G) || local_sizes(g, n))
		return false;
	for (int64_t i = 0; i < sub.n; i++)
		if (sub.v[i] && hop_ad_needs_mask(sub.v[i]))
			return false;
	return true;
}

/* Ops whose batch rule does for all steps exactly what each step would do. */
static bool batches(const hop_node *n)
{
	int flags = hop_optab[n->op].flags;
	return flags & (HOP_F_E | HOP_F_V) || n->op == HOP_OP_dot || n->op == HOP_OP_sum;
}

bool hop_lift_heavy(const hop_graph *g, const hop_node *n)
{
	static const uint8_t cost[HOP_NOPS] = {       /* 1: if more than one element */
		[HOP_OP_log1p] = 1, [HOP_OP_expm1] = 1, [HOP_OP_rsqrt] = 1, [HOP_OP_sinh] = 1,
		[HOP_OP_cosh] = 1, [HOP_OP_asinh] = 1, [HOP_OP_acosh] = 1, [HOP_OP_atanh] = 1,
		[HOP_OP_atan] = 1, [HOP_OP_asin] = 1, [HOP_OP_acos] = 1, [HOP_OP_atan2] = 1,
		[HOP_OP_pow] = 1, [HOP_OP_erf] = 1,
		[HOP_OP_dot] = 2, [HOP_OP_sum] = 2, [HOP_OP_amax] = 2, [HOP_OP_amin] = 2,
		[HOP_OP_prod] = 2, [HOP_OP_any] = 2, [HOP_OP_all] = 2, [HOP_OP_argmax] = 2,
		[HOP_OP_argmin] = 2, [HOP_OP_argsort] = 2, [HOP_OP_uniform] = 2,
		[HOP_OP_random_bits] = 2, [HOP_OP_scatter] = 2, [HOP_OP_exp] = 1,
		[HOP_OP_log] = 1, [HOP_OP_sin] = 1, [HOP_OP_cos] = 1, [HOP_OP_tanh] = 1,
		[HOP_OP_sqrt] = 1,
	};
	if (hop_optab[n->op].flags & HOP_F_R)
		return true;
	hop_size one = hop_size_int(1);
	const hop_type *t = g->type[n->out0.id];
	bool many = false;
	for (int i = 0; i < t->rank; i++)
		many |= !hop_size_eq(t->dim[i], one);
	return cost[n->op] == 2 || (cost[n->op] == 1 && many);
}

static const hop_type *outside(hop_lift *l, uint32_t v)
{
	hop_env *e = l->w->env;
	const hop_type *t = hop_type_subst(e, l->g->type[v], l->smap,
	                                   (int)(l->g->nsym + l->g->nlocal));
	if (l->kind[v] != HOP_LIFT_SLICE)
		return t;
	return t->rank < HOP_MAXRANK ? hop_type_prepend(e, t, l->length) : NULL;
}

static uint8_t kind_of(const hop_lift *l, const hop_node *n)
{
	uint8_t k = HOP_LIFT_SAME;
	if (!movable(l->g, n))
		return HOP_LIFT_NO;
	for (uint32_t i = 0; i < n->nin; i++) {
		uint8_t o = l->kind[n->in[i].id];
		if (o == HOP_LIFT_NO || o == HOP_LIFT_SLICE)
			k = o == HOP_LIFT_NO || k == HOP_LIFT_NO ? HOP_LIFT_NO : HOP_LIFT_SLICE;
	}
	return k == HOP_LIFT_SLICE && !batches(n) ? HOP_LIFT_NO : k;
}

void hop_lift_open(hop_lift *l, hop_rw *w, const hop_form *f, const hop_graph *body,
                   const hop_val *in, bool slices, hop_size length)
{
	hop_arena *tmp = &w->env->tmp;
	*l = (hop_lift){ .w = w, .g = body, .length = length };
	l->kind = HOP_NEWN(tmp, uint8_t, body->nvalue);
	l->val = HOP_NEWN(tmp, hop_val, body->nvalue);
	l->smap = HOP_NEWN(tmp, hop_size, body->nsym + body->nlocal);
	for (uint32_t i = 0; i < body->nsym + body->nlocal; i++)
		l->smap[i] = i < body->nsym ? f->sargs.v[i] : hop_size_int(HOP_SIZE_BAD);
	/* the loop may not run: what rests on a check of its body stays behind the check */
	if (!hop_build_accepts(&w->b, body, f->sargs))
		return;
	for (uint32_t i = f->nc; i < body->nparam; i++) {
		bool x = i < f->nc + f->nx;
		if (x && !slices)
			continue;
		l->kind[i] = x ? HOP_LIFT_SLICE : HOP_LIFT_SAME;
		l->val[i] = in[i];
		if (hop_typeof(&w->b, in[i]) != outside(l, i))
			l->kind[i] = HOP_LIFT_NO;
	}
	for (uint32_t i = 0; i < body->nnode; i++) {
		const hop_node *n = &body->node[i];
		uint8_t k = kind_of(l, n);
		for (uint32_t j = 0; j < n->nout; j++)
			l->kind[n->out0.id + j] = k;
	}
}

static hop_status emit_slices(hop_lift *l, const hop_node *n, const hop_val *in)
{
	hop_env *e = l->w->env;
	bool *bin = HOP_NEWN(&e->tmp, bool, n->nin), bout = false;
	for (uint32_t i = 0; i < n->nin; i++)
		bin[i] = l->kind[n->in[i].id] == HOP_LIFT_SLICE;
	hop_rule r = { .g = l->g, .n = n, .type = l->g->type, .smap = l->smap,
	               .nsmap = (int)(l->g->nsym + l->g->nlocal), .in = in,
	               .out = &l->val[n->out0.id], .bin = bin, .bout = &bout,
	               .bsize = l->length, .mask = HOP_ZERO };
	l->w->b.loc = n->loc;
	HOP_TRY(hop_optab[n->op].batch(&l->w->b, &r));
	if (!bout)
		l->kind[n->out0.id] = HOP_LIFT_NO;
	return l->w->b.st;
}

static hop_status emit_node(hop_lift *l, const hop_node *n)
{
	hop_build *b = &l->w->b;
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, n->nin);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (l->kind[n->in[i].id] == HOP_LIFT_NO) {      /* an operand came out otherwise */
			memset(&l->kind[n->out0.id], HOP_LIFT_NO, n->nout);
			return HOP_OK;
		}
		in[i] = l->val[n->in[i].id];
	}
	if (l->kind[n->out0.id] == HOP_LIFT_SLICE) {
		HOP_TRY(emit_slices(l, n, in));
	} else {
		hop_val v = hop_emit_copy(b, l->g, n, in, l->smap,
		                          (int)(l->g->nsym + l->g->nlocal));
		for (uint32_t k = 0; k < n->nout; k++)
			l->val[n->out0.id + k] = (hop_val){ v.id + k };
	}
	for (uint32_t k = 0; k < n->nout && !b->st; k++)
		if (l->kind[n->out0.id + k] &&
		    hop_typeof(b, l->val[n->out0.id + k]) != outside(l, n->out0.id + k))
			memset(&l->kind[n->out0.id], HOP_LIFT_NO, n->nout);
	return b->st;
}

hop_status hop_lift_emit(hop_lift *l, const bool *want)
{
	const hop_graph *g = l->g;
	bool *need = HOP_NEWN(&l->w->env->tmp, bool, g->nvalue);
	bool *go = HOP_NEWN(&l->w->env->tmp, bool, g->nnode);
	for (uint32_t i = g->nnode; i-- > 0; ) {
		const hop_node *n = &g->node[i];
		go[i] = want[i];
		for (uint32_t k = 0; k < n->nout; k++)
			go[i] |= need[n->out0.id + k];
		for (uint32_t k = 0; k < n->nin && go[i]; k++)
			need[n->in[k].id] = true;
	}
	for (uint32_t i = 0; i < g->nnode; i++)
		if (go[i])
			HOP_TRY(emit_node(l, &g->node[i]));
	return HOP_OK;
}
