/* walk.c -- what statements hold: blocks and addresses. For passes over loop programs. */
#include "loop/lower.h"

bool hop_addr_eq(const hop_addr *a, const hop_addr *b)
{
	if (a->buf != b->buf || a->nterm != b->nterm || !hop_size_eq(a->offset, b->offset))
		return false;
	for (int i = 0; i < a->nterm; i++) {
		int k = hop_addr_term(b, a->term[i].reg);
		if (k < 0 || !hop_size_eq(a->term[i].stride, b->term[k].stride))
			return false;
	}
	return true;
}

int hop_addr_term(const hop_addr *a, hop_reg r)
{
	for (int i = 0; i < a->nterm; i++)
		if (a->term[i].reg == r)
			return i;
	return -1;
}

void hop_stmt_addrs(hop_lfunc *f, hop_stmt *s, hop_addr_fn *fn, void *user)
{
	(void)f;
	switch (s->kind) {
	case HOP_L_OP:
		if (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store)
			fn(user, &s->u.addr, s->sop == HOP_SOP_store);
		break;
	case HOP_L_GEMM:
		fn(user, &s->gemm->a, false);
		fn(user, &s->gemm->b, false);
		if (!s->gemm->epilogue.first || s->gemm->beta)     /* read too when beta */
			fn(user, &s->gemm->c, true);
		break;
	case HOP_L_COPY:
		fn(user, &s->src, false);
		fn(user, &s->to, true);
		break;
	case HOP_L_CALL:                       /* nacc of the args are inputs */
		for (int i = 0; i < s->narg; i++)
			fn(user, &s->args[i], i >= s->nacc);
		break;
	case HOP_L_EFFECT:
		for (int i = 0; i < s->narg; i++)
			fn(user, &s->args[i], false);
		break;
	default:
		break;
	}
}

int hop_stmt_blocks(hop_stmt *s, hop_block **out)
{
	switch (s->kind) {
	case HOP_L_LOOP:
		out[0] = &s->body;
		return 1;
	case HOP_L_IF:
		out[0] = &s->body;
		out[1] = &s->other;
		return 2;
	case HOP_L_WHILE:
		out[0] = &s->other;
		out[1] = &s->body;
		return 2;
	case HOP_L_GEMM:
		out[0] = &s->gemm->epilogue;
		return 1;
	default:
		return 0;
	}
}
