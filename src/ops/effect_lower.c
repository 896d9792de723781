/* effect_lower.c -- lowering of effects and of functions of the host: a call of the run time with
 * operands and results in memory. Text is formatted there, not here. */
#include "data/foreign.h"
#include "loop/lower.h"
#include "ops/ops.h"

static bool is_in(hop_ints v, uint32_t i)
{
	for (int64_t k = 0; k < v.n; k++)
		if (v.v[k] == (int64_t)i)
			return true;
	return false;
}

/* An operand that is written begins where its result will be. */
static hop_status begin(hop_lower *l, const hop_node *n, int k, const hop_view *to)
{
	hop_lval *x = &l->q.inst->val[n->in[k].id];
	while (x->kind == HOP_LV_ALIAS && !x->lead)
		x = &x->inst->val[x->val.id];
	if (x->kind == HOP_LV_BUF && x->view.buf == to->buf && x->view.base == to->base)
		return HOP_OK;
	return hop_lower_store_arg(l, n, k, to);
}

static hop_status emit(hop_lower *l, const hop_node *n, hop_str text, bool when)
{
	hop_ints writes = hop_node_writes(n);
	hop_prog *p = l->prog;
	hop_leffect *f;
	hop_stmt *s;
	uint32_t narg = n->nin + n->nout;
	hop_addr *args = HOP_NEWN(l->q.a, hop_addr, narg);
	const hop_type **type = HOP_NEWN(l->q.a, const hop_type *, narg);
	hop_view *dense = HOP_NEWN(l->w, hop_view, n->nout);
	for (uint32_t i = 0; i < n->nin; i++) {
		hop_view v;
		type[i] = hop_lower_in(l, n, (int)i);
		if (is_in(writes, i))
			continue;
		HOP_TRY(hop_lower_arg_view(l, n, (int)i, true, &v));
		args[i] = hop_lower_addr(l, v.buf, v.base);
	}
	for (uint32_t k = 0; k < n->nout; k++) {
		dense[k] = hop_lower_result_dense(l, n, (int)k);
		args[n->nin + k] = hop_lower_addr(l, dense[k].buf, dense[k].base);
		type[n->nin + k] = hop_lower_out(l, n, (int)k);
	}
	for (uint32_t k = 0, at = n->nout - (uint32_t)writes.n; k < writes.n; k++, at++) {
		HOP_TRY(begin(l, n, (int)writes.v[k], &dense[at]));
		args[writes.v[k]] = hop_lower_addr(l, dense[at].buf, dense[at].base);
	}
	p->effect = hop_arena_grow(p->a, p->effect, sizeof *p->effect, (size_t)p->neffect + 1,
	                           &l->all->effectcap);
	f = &p->effect[p->neffect];
	f->op = n->op;
	f->is_assert = n->op == HOP_OP_assert;
	f->is_progress = n->op == HOP_OP_progress;
	f->text = hop_arena_str(p->a, text.s, (size_t)text.n);
	f->loc = n->loc;
	f->narg = (int)narg;
	f->nin = (int)n->nin;
	f->nwrite = (int)writes.n;
	f->type = type;
	f->has_when = when;
	l->q.b.block = l->q.cur->block;
	s = hop_l_stmt(&l->q.b, HOP_L_EFFECT);
	s->callee = p->neffect++;
	s->nacc = (int)n->nin;
	s->narg = (int)narg;
	s->args = args;
	for (uint32_t k = 0; k < n->nout; k++)
		hop_lower_result_settle(l, n, (int)k, &dense[k]);
	return HOP_OK;
}

hop_status hop_lower_host(hop_lower *l, const hop_node *n)
{
	const hop_foreign *f = hop_host_of(l->env, n);
	if (!f)
		return l->env->diag.st;
	HOP_TRY(emit(l, n, HOP_ATTR(n, host)->fn, false));
	l->prog->effect[l->prog->neffect - 1].foreign = f;
	return HOP_OK;
}

/* All others have the attributes of print, under names of their own. */
hop_status hop_lower_effect(hop_lower *l, const hop_node *n)
{
	if (n->op == HOP_OP_progress)
		return emit(l, n, HOP_ATTR(n, progress)->text, false);
	return emit(l, n, HOP_ATTR(n, print)->text, HOP_ATTR(n, print)->when);
}

hop_status hop_lower_tick(hop_lower *l, const hop_node *n)
{
	HOP_TRY(emit(l, n, (hop_str){ 4, "tick" }, false));
	l->prog->effect[l->prog->neffect - 1].tick = (int)HOP_ATTR(n, tick)->what;
	return HOP_OK;
}
