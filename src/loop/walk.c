/* walk.c -- what statements hold: blocks and addresses. For passes over loop programs. */
#include "loop/walk.h"

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

/* ---- addresses ---- */

hop_targ *hop_tile_out(hop_tile *t)
{
	return t->of->out ? &t->arg[t->of->out - 1] : NULL;
}

hop_dtype hop_tile_dtype(const hop_tile *t, int i)
{
	int own = t->of->arg[i].own;
	if (t->arg[i].stored)
		return (hop_dtype)(t->arg[i].stored - 1);
	return own ? (hop_dtype)(own - 1) : t->dtype;
}

bool hop_tile_filled(const hop_tile *t)
{
	bool any = false;
	for (int i = 0; i < t->of->nhole; i++)
		any |= t->hole[i].body.first != NULL;
	return any;
}

/* Operand i of those that are there. */
static hop_targ *operand(hop_tile *t, int i)
{
	for (int k = 0; k < t->of->narg; k++)
		if (t->arg[k].access && !i--)
			return &t->arg[k];
	return NULL;
}

hop_addr *hop_stmt_addr(hop_stmt *s, int i)
{
	hop_targ *o;
	switch (s->kind) {
	case HOP_L_OP:
		return i < hop_sop_memory(s->sop) ? &s->u.addr : NULL;
	case HOP_L_TILE:
		o = operand(s->tile, i);
		return o ? &o->at : NULL;
	case HOP_L_LOOP: case HOP_L_WHILE:
		return i >= 2 * s->ncarry ? NULL : i % 2 ? &s->carry[i / 2].now : &s->carry[i / 2].next;
	default:
		return i < s->narg ? &s->args[i] : NULL;
	}
}

int hop_stmt_access(hop_stmt *s, int i)
{
	switch (s->kind) {
	case HOP_L_OP:
		return s->sop == HOP_SOP_store ? HOP_WRITE : s->sop == HOP_SOP_load ? HOP_READ :
		       HOP_READ | HOP_WRITE;
	case HOP_L_TILE:
		return operand(s->tile, i)->access;
	case HOP_L_LOOP: case HOP_L_WHILE:
		return i % 2 ? HOP_WRITE : HOP_READ;
	case HOP_L_CALL: case HOP_L_EFFECT:    /* nacc of the args are inputs */
		return i < s->nacc ? HOP_READ : HOP_WRITE;
	default:
		return HOP_READ;
	}
}

void hop_stmt_addrs(hop_lfunc *f, hop_stmt *s, hop_addr_fn *fn, void *user)
{
	hop_addr *a;
	(void)f;
	if (s->kind == HOP_L_OP) {                     /* nearly all are */
		if (hop_sop_memory(s->sop))
			fn(user, &s->u.addr, hop_sop_writes(s->sop));
		return;
	}
	for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
		fn(user, a, hop_stmt_access(s, i) & HOP_WRITE);
}

/* ---- blocks ---- */

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
	case HOP_L_TILE:
		for (int i = 0; i < s->tile->of->nhole; i++)
			out[i] = &s->tile->hole[i].body;
		return s->tile->of->nhole;
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

static void count_addr(void *user, hop_addr *a, bool is_write)
{
	(void)is_write;
	((int *)user)[a->buf]++;
}

void hop_stmt_count_addrs(hop_lfunc *f, hop_stmt *s, int *n)
{
	hop_stmt_all_addrs(f, s, count_addr, n);
}

/* ---- registers ---- */

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
	if (s->kind == HOP_L_LOOP && s->bind.slice)
		fn(user, &s->bind.slice, s, HOP_i64);
	for (int i = 0; s->kind == HOP_L_TILE && i < s->tile->of->nhole; i++) {
		const hop_template *t = s->tile->of;
		int npos = t->hole[i].npos, n = npos + t->hole[i].nval;
		for (int k = 0; k < n && s->tile->hole[i].body.first; k++)
			fn(user, &s->tile->hole[i].reg[k], s, k < npos ? HOP_i64 : s->tile->dtype);
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

void hop_block_defs(hop_block *b, hop_reg_fn *fn, void *user)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_OP && s->dst)
			fn(user, &s->dst, s, s->dtype);
		if (!k)
			continue;
		hop_stmt_inner(s, fn, user);
		for (int i = 0; i < k; i++)
			hop_block_defs(sub[i], fn, user);
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
			fn(user, &s->acc[i].result, s, s->acc[i].dtype);
	}
}

void hop_block_regs(hop_block *b, hop_reg_fn *fn, void *user)
{
	for (hop_stmt *s = b->first; s; s = s->next)
		hop_stmt_regs(s, fn, user);
}

int hop_block_count(const hop_block *b)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n += 1 + hop_block_count(&s->body) + hop_block_count(&s->other);
	return n;
}

/* ---- who writes what ---- */

static bool moves_with(const hop_addr *a, hop_reg var)
{
	int i = hop_addr_term(a, var);
	return i >= 0 && !hop_size_is(a->term[i].stride, 0);
}

static bool tile_owns(const hop_tile *t, hop_reg var)
{
	for (int i = 0; i < t->of->narg; i++)
		if (t->arg[i].access & HOP_WRITE && !moves_with(&t->arg[i].at, var))
			return false;
	for (int i = 0; i < t->of->nhole; i++)
		if (!hop_block_owns(&t->hole[i].body, var))
			return false;
	return true;
}

bool hop_block_owns(const hop_block *b, hop_reg var)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		switch (s->kind) {
		case HOP_L_OP:
			if (hop_sop_writes(s->sop) && !moves_with(&s->u.addr, var))
				return false;
			break;
		case HOP_L_LOOP: case HOP_L_IF: case HOP_L_WHILE:
			if (s->ncarry || !hop_block_owns(&s->body, var) || !hop_block_owns(&s->other, var))
				return false;
			break;
		case HOP_L_TILE:
			if (!tile_owns(s->tile, var))
				return false;
			break;
		default:
			return false;
		}
	}
	return true;
}
