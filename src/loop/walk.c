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
	/* Every pass comes by here, and in a long program the next statement is in no cache. */
	if (s->next) {
		__builtin_prefetch(s->next);
		__builtin_prefetch((const char *)s->next + 64);
	}
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

void hop_stmt_all_addrs(hop_lfunc *f, hop_stmt *s, hop_addr_fn *fn, void *user)
{
	hop_block *sub[2];
	int k = hop_stmt_blocks(s, sub);
	hop_stmt_addrs(f, s, fn, user);
	for (int i = 0; i < k; i++)
		for (hop_stmt *q = sub[i]->first; q; q = q->next)
			hop_stmt_all_addrs(f, q, fn, user);
}

/* ---- addresses by number, and registers ---- */

/* With an epilogue there need not be anything at c. */
static bool has_c(const hop_gemm *g)
{
	return !g->epilogue.first || g->beta;
}

hop_addr *hop_stmt_addr(hop_stmt *s, int i)
{
	switch (s->kind) {
	case HOP_L_OP:
		return i < (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store) ? &s->u.addr : NULL;
	case HOP_L_GEMM:
		return i == 0 ? &s->gemm->a : i == 1 ? &s->gemm->b :
		       i == 2 && has_c(s->gemm) ? &s->gemm->c : NULL;
	default:
		return i < s->narg ? &s->args[i] : NULL;
	}
}

void hop_stmt_uses(hop_stmt *s, hop_reg_fn *fn, void *user)
{
	hop_addr *a;
	for (int i = 0; i < s->na || (s->kind != HOP_L_OP && i < 1); i++)
		if (s->a[i])
			fn(user, &s->a[i], NULL, HOP_i64);
	if (s->bound)
		fn(user, &s->bound, NULL, HOP_i64);
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		fn(user, &s->acc[i].init, NULL, s->acc[i].dtype);
	for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
		for (int k = 0; k < a->nterm; k++)
			fn(user, &a->term[k].reg, NULL, HOP_i64);
}

void hop_stmt_inner(hop_stmt *s, hop_reg_fn *fn, void *user)
{
	if (s->kind == HOP_L_LOOP)
		fn(user, &s->dst, s, HOP_i64);
	if (s->kind == HOP_L_GEMM && s->gemm->epilogue.first) {
		fn(user, &s->gemm->em, s, HOP_i64);
		fn(user, &s->gemm->en, s, HOP_i64);
		fn(user, &s->gemm->ev, s, s->gemm->dtype);
	}
}

void hop_stmt_regs(hop_stmt *s, hop_reg_fn *fn, void *user)
{
	hop_block *sub[2];
	int k = hop_stmt_blocks(s, sub), nacc = s->kind == HOP_L_LOOP ? s->nacc : 0;
	hop_stmt_uses(s, fn, user);
	hop_stmt_inner(s, fn, user);
	for (int i = 0; i < k; i++)
		hop_block_regs(sub[i], fn, user);
	for (int i = 0; i < nacc; i++)
		fn(user, &s->acc[i].value, NULL, s->acc[i].dtype);
	if (s->kind == HOP_L_OP && s->dst)
		fn(user, &s->dst, s, s->dtype);
	for (int i = 0; i < nacc; i++)
		fn(user, &s->acc[i].result, s, s->acc[i].dtype);
}

void hop_block_regs(hop_block *b, hop_reg_fn *fn, void *user)
{
	for (hop_stmt *s = b->first; s; s = s->next)
		hop_stmt_regs(s, fn, user);
}
