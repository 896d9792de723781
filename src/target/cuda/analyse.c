/* analyse.c -- what the text of one function must know of the others: who can leave, who calls whom
 * and how, what is shared when it runs. Callees stand behind their callers in a program. Changes
 * nothing. */
#include "target/cuda/emit.h"

enum { ALIGN = 16 };

typedef struct walk {
	hop_env        *e;
	const hop_prog *p;
	hop_cufunc     *func;
	hop_cufunc     *me;
	const hop_lfunc *f;            /* it */
	hop_status      st;
	bool            last;          /* behind a BARRIER_LAST */
} walk;

bool hop_cuda_leaves(const hop_prog *p, const hop_cufunc *func, const hop_stmt *s)
{
	hop_block *sub[2];
	int        k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
	(void)p;
	if (s->kind == HOP_L_EFFECT || s->kind == HOP_L_GROW || s->kind == HOP_L_CHECK)
		return true;
	if (s->kind == HOP_L_CALL)
		return func[s->callee].leaves;
	for (int i = 0; i < k; i++)
		if (hop_cuda_block_leaves(p, func, sub[i]))
			return true;
	return false;
}

bool hop_cuda_block_leaves(const hop_prog *p, const hop_cufunc *func, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (hop_cuda_leaves(p, func, s))
			return true;
	return false;
}

/* ---- from callees to callers ---- */

bool hop_cuda_polls(const hop_stmt *s)
{
	enum { FEW = 16 };
	int64_t n = hop_cuda_known(s);
	return s->kind == HOP_L_WHILE ||
	       (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ && (n < 0 || n > FEW));
}

/* A look in a short loop costs more than the loop: loads no longer go before it. */
bool hop_cuda_watches(const hop_stmt *s)
{
	bool may_be_long = !hop_size_const(s->extent) || s->extent.k > 1 << 24;
	return s->kind == HOP_L_WHILE ||
	       (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ && may_be_long);
}

static enum hop_who within(enum hop_who who, const hop_stmt *s)
{
	if (s->kind != HOP_L_LOOP)
		return who;
	switch ((enum hop_place)s->bind.place) {
	case HOP_PLACE_NONE:    return who;
	case HOP_PLACE_BLOCK_X:
	case HOP_PLACE_BLOCK_Y:
	case HOP_PLACE_BLOCK_Z: return HOP_WHO_BLOCK;
	case HOP_PLACE_WARP:    return HOP_WHO_WARP;
	default:                return HOP_WHO_ONE;
	}
}

static void look_up(walk *w, const hop_block *b, enum hop_who who)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
		bool       shares = s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_RED &&
		                    s->bind.place == HOP_PLACE_THREAD;

		w->me->leaves |= s->kind == HOP_L_EFFECT || s->kind == HOP_L_GROW || s->kind == HOP_L_CHECK;
		w->me->polls |= who == HOP_WHO_TEAM && hop_cuda_polls(s);
		w->me->watches |= who == HOP_WHO_ONE && hop_cuda_watches(s);
		w->me->tells |= s->kind == HOP_L_OP && s->sop == HOP_SOP_store &&
		                w->f->buf[s->u.addr.buf].decides;
		w->me->lasts |= s->kind == HOP_L_BARRIER && s->callee == HOP_BARRIER_LAST;
		w->me->meets |= shares || s->kind == HOP_L_TILE;
		if (shares && w->me->rows < s->nacc)
			w->me->rows = s->nacc;
		if (s->kind == HOP_L_CALL && w->p->func[s->callee].level != HOP_LEVEL_THREAD) {
			const hop_cufunc *c = &w->func[s->callee];
			w->me->leaves |= c->leaves;
			w->me->polls |= c->polls;
			w->me->watches |= c->watches;
			w->me->meets |= c->meets;
		}
		for (int i = 0; i < k; i++)
			look_up(w, sub[i], within(who, s));
	}
}

/* ---- from callers to callees ---- */

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void called(walk *w, const hop_stmt *s, enum hop_who who)
{
	hop_cufunc *c = &w->func[s->callee];
	if (w->p->func[s->callee].level == HOP_LEVEL_THREAD)
		who = HOP_WHO_ONE;
	if (c->calls && c->calls != 1 + (int)who) {
		if (!w->st)
			w->st = hop_fail(w->e, s->loc, HOP_ETARGET,
			                 "cuda: %s is called by all threads here and by some there",
			                 w->p->func[s->callee].name);
		return;
	}
	c->threads = !c->calls || c->threads == w->me->threads ? w->me->threads : 0;
	c->alone = (!c->calls || c->alone) && (w->me->alone || w->last);
	c->meet = (!c->calls || c->meet) && (w->me->meet || w->last);
	c->calls = 1 + (int)who;
	c->sites++;
	w->me->makes = true;
	c->shared = larger(c->shared, w->me->shared);
}

static void look_down(walk *w, const hop_block *b, enum hop_who who)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
		if (s->kind == HOP_L_CALL)
			called(w, s, who);
		w->last |= s->kind == HOP_L_BARRIER && s->callee == HOP_BARRIER_LAST;
		for (int i = 0; i < k; i++)
			look_down(w, sub[i], within(who, s));
	}
}

static void begin(const hop_lfunc *f, hop_cufunc *c)
{
	c->shared = larger(c->shared, (f->shared + ALIGN - 1) / ALIGN * ALIGN);
	if (f->level != HOP_LEVEL_KERNEL)
		return;
	c->alone = true;
	for (int i = 0; i < 3; i++)
		c->alone &= hop_size_is(f->team.blocks[i], 1) || hop_size_is(f->team.blocks[i], 0);
	c->meet = c->alone || f->team.resident;
	c->threads = f->team.threads;
	c->calls = 1 + HOP_WHO_TEAM;
}

hop_status hop_cuda_analyse(hop_env *e, const hop_prog *p, hop_cufunc *func)
{
	walk w = { .e = e, .p = p, .func = func };
	for (int i = p->nfunc - 1; i >= 0; i--) {
		w.me = &func[i];
		w.f = &p->func[i];
		if (p->func[i].level != HOP_LEVEL_HOST && p->func[i].level != HOP_LEVEL_THREAD)
			look_up(&w, &p->func[i].body, HOP_WHO_TEAM);
		w.me->polls |= w.me->tells;
	}
	for (int i = 0; i < p->nfunc; i++) {
		w.me = &func[i];
		w.last = false;
		begin(&p->func[i], w.me);
		if (p->func[i].level != HOP_LEVEL_HOST)
			look_down(&w, &p->func[i].body, (enum hop_who)(w.me->calls ? w.me->calls - 1 : 0));
		w.me->ends = w.me->leaves || (w.me->polls && (w.me->meet || w.me->lasts));
	}
	return w.st;
}
