/* reuse.c -- a temporary that is last read where a result is written, element by element,
 * lives in the result from the start: the rows of a softmax need no second matrix. What
 * an iteration of a parallel loop touches of the temporary is its own, or the loop would
 * not be parallel, so only the order inside one iteration matters.
 *
 * needs: fused loops.  keeps: meaning.  breaks: nothing; buffers become unused */
#include "loop/lower.h"

/* Where a buffer is used. A nest is the outermost parallel loop around an access. */
typedef struct usage {
	int        n;                  /* accesses */
	hop_stmt  *nest;               /* the nest of all of them; NULL = several or none */
	bool       split;              /* in several nests, or outside of one */
	int        first, last;        /* positions */
	hop_block *home;               /* block of the first access's outermost statement */
	bool       strange;            /* used by something else than loads and stores */
} usage;

typedef struct pass {
	hop_lfunc *f;
	usage     *use;                /* [nbuf] */
	int        pos;
	hop_stmt  *nest;
	hop_block *block;              /* the one that holds the nest */
	bool       plain;              /* the statement is a load or a store */
} pass;

static void note(void *user, hop_addr *a, bool is_write)
{
	pass *p = user;
	usage *u = &p->use[a->buf];
	(void)is_write;
	if (!u->n++) {
		u->first = p->pos;
		u->nest = p->nest;
		u->home = p->block;
	}
	u->split |= !p->nest || u->nest != p->nest;
	u->strange |= !p->plain;
	u->last = p->pos;
}

static void walk(pass *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2], *was = p->block;
		int k = hop_stmt_blocks(s, sub);
		bool top = !p->nest;
		p->pos++;
		if (top)
			p->block = b;
		if (top && s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_PAR)
			p->nest = s;
		p->plain = s->kind == HOP_L_OP;
		hop_stmt_addrs(p->f, s, note, p);
		if (s->kind == HOP_L_GROW)
			p->use[s->buf].strange = true;
		for (int i = 0; i < k; i++)
			walk(p, sub[i]);
		if (top)
			p->nest = NULL;
		p->block = was;
	}
}

/* Only parallel loops from the nest down to the block. */
static bool parallel_to(hop_stmt *s, const hop_block *b)
{
	if (s->kind != HOP_L_LOOP)
		return false;
	if (&s->body == b)
		return true;
	if (s->loop != HOP_LOOP_PAR)
		return false;
	for (hop_stmt *q = s->body.first; q; q = q->next)
		if (parallel_to(q, b))
			return true;
	return false;
}

/* How often t is read in the block itself; 0 when not only at the place of the store, or
 * not only before it. */
static int same_place(const hop_block *b, int t, const hop_stmt *store)
{
	hop_addr a = store->u.addr;
	bool after = false;
	int n = 0;
	a.buf = t;
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s == store)
			after = true;
		if (s->kind != HOP_L_OP || (s->sop != HOP_SOP_load && s->sop != HOP_SOP_store) ||
		    s->u.addr.buf != t)
			continue;
		if (after || s->sop == HOP_SOP_store || s->na || !hop_addr_eq(&s->u.addr, &a))
			return 0;
		n++;
	}
	return n;
}

typedef struct swap { int from, to; } swap;

static void swap_addr(void *user, hop_addr *a, bool is_write)
{
	const swap *w = user;
	(void)is_write;
	if (a->buf == w->from)
		a->buf = w->to;
}

static void swap_block(hop_lfunc *f, hop_block *b, swap *w)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		hop_stmt_addrs(f, s, swap_addr, w);
		for (int i = 0; i < k; i++)
			swap_block(f, sub[i], w);
	}
}

/* Accesses of a buffer inside a statement. */
static int count_in(hop_block *b, int buf)
{
	int n = 0;
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_OP && (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store))
			n += s->u.addr.buf == buf;
		for (int i = 0; i < k; i++)
			n += count_in(sub[i], buf);
	}
	return n;
}

static bool writes_in(hop_block *b, int buf)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_OP && s->sop == HOP_SOP_store && s->u.addr.buf == buf)
			return true;
		for (int i = 0; i < k; i++)
			if (writes_in(sub[i], buf))
				return true;
	}
	return false;
}

/* On the way from loop s to block b, every loop either writes what it reads of t in the
 * same iteration, or reads t nowhere but at the n places in b: a loop that only reads t
 * may read an element in many iterations. */
static bool own_rows(hop_stmt *s, const hop_block *b, int t, int n)
{
	if (count_in(&s->body, t) != n && !writes_in(&s->body, t))
		return false;
	if (&s->body == b)
		return true;
	for (hop_stmt *q = s->body.first; q; q = q->next)
		if (parallel_to(q, b))
			return own_rows(q, b, t, n);
	return false;
}

static bool may_share(pass *p, int t, const hop_stmt *store, hop_block *b, int pos)
{
	int o = store->u.addr.buf;
	const hop_lbuf *bt = &p->f->buf[t], *bo = &p->f->buf[o];
	usage *ut = &p->use[t], *uo = &p->use[o];
	if (t == o || bt->kind != HOP_BUF_TEMP || bt->dtype != bo->dtype ||
	    !hop_size_eq(bt->count, bo->count) || bo->kind == HOP_BUF_TAPE)
		return false;
	for (int i = 0; i < p->f->nlocal; i++)
		if (p->f->local[i] == t || p->f->local[i] == o)
			return false;
	if (ut->split || ut->strange || !ut->nest || ut->last > pos)
		return false;
	/* the result is first touched here, once in the nest, and no loop comes back */
	if (uo->first != pos || uo->home != &p->f->body ||
	    count_in(&ut->nest->body, o) != 1)
		return false;
	int n = same_place(b, t, store);
	return n && parallel_to(ut->nest, b) && own_rows(ut->nest, b, t, n);
}

static void share(pass *p, int t, int o)
{
	usage *ut = &p->use[t], *uo = &p->use[o];
	swap w = { t, o };
	swap_block(p->f, &ut->nest->body, &w);
	uo->n += ut->n;
	uo->first = ut->first;
	uo->split |= uo->nest != ut->nest;
	*ut = (usage){ .split = true };
}

static void find(pass *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		p->pos++;
		if (s->kind == HOP_L_OP && s->sop == HOP_SOP_store &&
		    p->use[s->u.addr.buf].first == p->pos)
			for (hop_stmt *q = b->first; q != s; q = q->next)
				if (q->kind == HOP_L_OP && q->sop == HOP_SOP_load &&
				    may_share(p, q->u.addr.buf, s, b, p->pos)) {
					share(p, q->u.addr.buf, s->u.addr.buf);
					break;
				}
		for (int i = 0; i < k; i++)
			find(p, sub[i]);
	}
}

void hop_loop_reuse(hop_env *e, hop_lfunc *f)
{
	hop_mark m = hop_mark_at(&e->tmp);
	pass p = { .f = f };
	p.use = HOP_NEWN(&e->tmp, usage, f->nbuf);
	walk(&p, &f->body);
	p.pos = 0;
	find(&p, &f->body);
	hop_rewind(&e->tmp, m);
}
