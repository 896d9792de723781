/* plan.c -- the memory plan: which temporaries share bytes of the frame.
 * A temporary lives from its first to its last access; one that is used in and outside of
 * a sequential loop lives through the whole loop. Parallel nests count as one moment, as
 * their iterations may run at once. Moves no statement.
 *
 * needs: final statements, planned callees.  fills: offset, frame, is_written */
#include <string.h>

#include "loop/lower.h"

enum { ALIGN = 64 };

typedef struct region {
	struct region *up;
	int            depth, begin, end;
} region;

/* One thing to place: a buffer, or the frame of a call. */
typedef struct item {
	int       buf;              /* -1: a call */
	hop_stmt *call;
	region   *home;             /* the innermost loop around all accesses */
	bool      used;
	int       first, last;
	hop_size  bytes;
	hop_size  offset;
} item;

typedef struct plan {
	hop_env   *e;
	hop_lfunc *f;
	const hop_lfn *fns;
	item      *buf;             /* [nbuf] */
	item      *call;
	int        ncall;
	int        pos;
	int        nregion;
	region   **region;          /* in order of entry */
	int        pass, at_region;
	region    *cur;
	bool       frozen;          /* inside a parallel nest */
} plan;

static region *common(region *a, region *b)
{
	while (a->depth > b->depth)
		a = a->up;
	while (b->depth > a->depth)
		b = b->up;
	while (a != b) {
		a = a->up;
		b = b->up;
	}
	return a;
}

static void touch(void *user, hop_addr *a, bool is_write)
{
	plan *p = user;
	item *x = &p->buf[a->buf];

	if (is_write)
		p->f->buf[a->buf].is_written = true;
	if (p->pass == 0) {
		x->home = x->used ? common(x->home, p->cur) : p->cur;
		x->used = true;
		return;
	}
	int     lo = p->pos, hi = p->pos;
	region *r = p->cur;
	for (; r != x->home; r = r->up) {
		lo = r->begin;
		hi = r->end;
	}
	if (x->first < 0 || lo < x->first)
		x->first = lo;
	if (hi > x->last)
		x->last = hi;
}

static void walk(plan *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		bool       nest = s->kind == HOP_L_GEMM ||
		                  (s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ);
		bool       loop = k && !nest && s->kind != HOP_L_IF && !p->frozen;
		bool       was = p->frozen;
		region    *r = NULL;

		if (!p->frozen)
			p->pos++;
		hop_stmt_addrs(p->f, s, touch, p);
		if (s->kind == HOP_L_GROW)
			p->f->buf[s->buf].is_written = true;
		if (s->kind == HOP_L_CALL && p->pass == 1)
			p->call[p->ncall++] = (item){ .buf = -1, .call = s, .used = true,
			                              .first = p->pos, .last = p->pos };
		else if (s->kind == HOP_L_CALL)
			p->ncall++;
		if (loop && p->pass == 0) {
			r = HOP_NEW(&p->e->tmp, region);
			*r = (region){ p->cur, p->cur->depth + 1, p->pos, 0 };
			p->region[p->nregion++] = r;
		} else if (loop) {
			r = p->region[p->at_region++];
		}
		if (loop)
			p->cur = r;
		p->frozen = was || nest;
		for (int i = 0; i < k; i++)
			walk(p, sub[i]);
		p->frozen = was;
		if (loop) {
			r->end = ++p->pos;
			p->cur = r->up;
		}
	}
}

static int count_loops(hop_block *b)
{
	int n = 0;

	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		n++;
		for (int i = 0; i < k; i++)
			n += count_loops(sub[i]);
	}
	return n;
}

static hop_size align(hop_env *e, hop_size s)
{
	if (hop_size_const(s))
		return hop_size_of((s.k + ALIGN - 1) / ALIGN * ALIGN);
	s = hop_size_div(e, hop_size_add(e, s, hop_size_of(ALIGN - 1)), hop_size_of(ALIGN));
	return hop_size_mul(e, s, hop_size_of(ALIGN));
}

static bool overlap(const item *a, const item *b)
{
	return a->first <= b->last && b->first <= a->last;
}

/* First fit below the items already placed. */
static void place_const(item *all, int n, item *x)
{
	int64_t at = 0;

	for (bool moved = true; moved;) {
		moved = false;
		for (int i = 0; i < n; i++) {
			item *y = &all[i];
			if (!hop_size_const(y->bytes) || !overlap(x, y) ||
			    y->offset.k >= at + x->bytes.k || at >= y->offset.k + y->bytes.k)
				continue;
			at = y->offset.k + y->bytes.k;
			moved = true;
		}
	}
	x->offset = hop_size_of(at);
}

/* Above all constants: in the place of one of equal size, or on top. */
static void place_symbolic(hop_env *e, item *all, int n, item *x, hop_size *top)
{
	for (int i = 0; i < n; i++) {
		bool free = !hop_size_const(all[i].bytes) && hop_size_eq(all[i].bytes, x->bytes);
		for (int j = 0; j < n && free; j++)
			if (!hop_size_const(all[j].bytes) &&
			    hop_size_eq(all[j].offset, all[i].offset) && overlap(&all[j], x))
				free = false;
		if (free) {
			x->offset = all[i].offset;
			return;
		}
	}
	x->offset = *top;
	*top = hop_size_add(e, *top, x->bytes);
}

static const hop_lfunc *callee(const hop_lfn *fns, int index)
{
	while (fns->index != index)
		fns = fns->next;
	return &fns->f;
}

static void place(plan *p)
{
	hop_env *e = p->e;
	item    *all = HOP_NEWN(&e->tmp, item, p->f->nbuf + p->ncall);
	int      n = 0;
	int64_t  top = 0;

	for (int pass = 0; pass < 2; pass++) {
		hop_size high = hop_size_of(top);
		for (int i = 0; i < p->f->nbuf + p->ncall; i++) {
			item *x = i < p->f->nbuf ? &p->buf[i] : &p->call[i - p->f->nbuf];
			if (!x->used || hop_size_const(x->bytes) != (pass == 0))
				continue;
			if (pass == 0) {
				place_const(all, n, x);
				if (x->offset.k + x->bytes.k > top)
					top = x->offset.k + x->bytes.k;
			} else {
				place_symbolic(e, all, n, x, &high);
			}
			all[n++] = *x;
			if (x->buf >= 0)
				p->f->buf[x->buf].offset = x->offset;
			else
				x->call->frame = x->offset;
		}
		p->f->frame = high;
		if (pass == 0)
			p->f->frame = hop_size_of(top);
	}
}

/* A call that is never made may be one whose frame makes no sense. */
static hop_size call_bytes(hop_env *e, const hop_facts *given, const hop_range *range,
                           const plan *p, const hop_stmt *call)
{
	const hop_lfunc *g = callee(p->fns, call->callee);
	hop_size         zero = hop_size_of(0);
	hop_size         n = align(e, hop_size_subst(e, g->frame, call->sizes, call->nsize));

	if (hop_facts_say(given, range, p->f->nsym, HOP_LE, zero, n) == HOP_ALWAYS)
		return n;
	return hop_size_max(e, zero, n);
}

void hop_loop_plan(hop_env *e, const hop_facts *given, const hop_lfn *fns,
                   const hop_range *range, hop_lfunc *f)
{
	hop_mark m = hop_mark_at(&e->tmp);
	region   whole = { 0 };
	plan     p = { .e = e, .f = f, .fns = fns, .cur = &whole };

	p.buf = HOP_NEWN(&e->tmp, item, f->nbuf);
	p.region = HOP_NEWN(&e->tmp, region *, count_loops(&f->body));
	for (int i = 0; i < f->nbuf; i++) {
		p.buf[i].buf = i;
		p.buf[i].first = p.buf[i].last = -1;
	}
	walk(&p, &f->body);
	p.call = HOP_NEWN(&e->tmp, item, p.ncall);
	p.pass = 1;
	p.pos = p.ncall = 0;
	walk(&p, &f->body);
	for (int i = 0; i < f->nlocal; i++) {
		item *x = &p.buf[f->local[i]];
		x->used = true;
		x->first = 0;
		x->last = INT32_MAX;
	}
	for (int i = 0; i < f->nbuf; i++) {
		hop_size b = hop_size_of((int64_t)hop_dtype_bytes(f->buf[i].dtype));
		p.buf[i].used = p.buf[i].used && f->buf[i].kind == HOP_BUF_TEMP;
		p.buf[i].bytes = align(e, hop_size_mul(e, f->buf[i].count, b));
	}
	for (int i = 0; i < p.ncall; i++)
		p.call[i].bytes = call_bytes(e, given, range, &p, p.call[i].call);
	place(&p);
	hop_rewind(&e->tmp, m);
}
