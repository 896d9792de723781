/* effect_lower.c -- lowering of effects: a call of the run time with operands in memory.
 * The text is formatted there, not here. */
#include "loop/lower.h"

hop_status hop_lower_effect(hop_lower *l, const hop_node *n)
{
	hop_prog *p = l->prog;
	bool is_assert = n->op == HOP_OP_assert, is_progress = n->op == HOP_OP_progress;
	hop_str text = is_assert ? HOP_ATTR(n, assert)->text :
	               is_progress ? HOP_ATTR(n, progress)->text : HOP_ATTR(n, print)->text;
	hop_leffect *f;
	hop_stmt *s;
	hop_addr *args = HOP_NEWN(l->q.a, hop_addr, n->nin);
	const hop_type **type = HOP_NEWN(l->q.a, const hop_type *, n->nin);
	for (uint32_t i = 0; i < n->nin; i++) {
		hop_view v;
		HOP_TRY(hop_lower_arg_view(l, n, (int)i, true, &v));
		args[i] = hop_lower_addr(l, v.buf, v.base);
		type[i] = hop_lower_in(l, n, (int)i);
	}
	p->effect = hop_arena_grow(p->a, p->effect, sizeof *p->effect, (size_t)p->neffect + 1,
	                           &l->all->effectcap);
	f = &p->effect[p->neffect];
	f->is_assert = is_assert;
	f->is_progress = is_progress;
	f->text = hop_arena_str(p->a, text.s, (size_t)text.n);
	f->loc = n->loc;
	f->narg = (int)n->nin;
	f->type = type;
	f->has_when = is_assert ? HOP_ATTR(n, assert)->when :
	              !is_progress && HOP_ATTR(n, print)->when;
	l->q.b.block = l->q.cur->block;
	s = hop_l_stmt(&l->q.b, HOP_L_EFFECT);
	s->callee = p->neffect++;
	s->narg = (int)n->nin;
	s->args = args;
	return HOP_OK;
}
