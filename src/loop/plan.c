/* plan.c -- the memory plan: which temporaries share bytes of the frame.
 * A temporary lives from its first to its last access; one that is used in and outside of
 * a sequential loop lives through the whole loop. Parallel nests count as one moment, as
 * their iterations may run at once. Large ones may live in a result that is written when
 * they are over. Moves no statement.
 *
 * needs: final statements, planned callees.  fills: space, offset, frame, is_written */
#include <stdlib.h>
#include <string.h>

#include "loop/lower.h"

enum {
	ALIGN = 64,
	LARGE = 1 << 16             /* bytes that are worth looking for a result to hold them */
};

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
	int       no;               /* to have one order every time */
	hop_size  bytes;
	int64_t   least;            /* the same without what fills the last line, if known */
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
	int64_t    large;           /* bytes that may live in a result */
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
	int lo = p->pos, hi = p->pos;
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
		int k = hop_stmt_blocks(s, sub);
		bool nest = hop_stmt_is_nest(s);
		bool loop = k && !nest && s->kind != HOP_L_IF && !p->frozen;
		bool was = p->frozen;
		region *r = NULL;

		if (!p->frozen)
			p->pos++;
		if (!loop)
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
			p->pos++;
			hop_stmt_addrs(p->f, s, touch, p);       /* carries, when the body is done */
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
		int k = hop_stmt_blocks(s, sub);
		n++;
		for (int i = 0; i < k; i++)
			n += count_loops(sub[i]);
	}
	return n;
}

static hop_size align(hop_env *e, hop_size s)
{
	if (hop_size_const(s))
		return hop_size_int((s.k + ALIGN - 1) / ALIGN * ALIGN);
	s = hop_size_div(e, hop_size_add(e, s, hop_size_int(ALIGN - 1)), hop_size_int(ALIGN));
	return hop_size_mul(e, s, hop_size_int(ALIGN));
}

/* ---- places ---- */

/* Items come by the time of their first access, so what has had its last one is free. */
typedef struct gap { int64_t at, bytes; } gap;

typedef struct places {
	hop_env *e;
	item   **live;               /* a heap: the one that is over first is on top */
	int      nlive;
	size_t   livecap;
	gap     *gap;                /* by address; no two touch */
	int      ngap;
	size_t   gapcap;
	int64_t  top;
	int64_t  limit;              /* bytes that there are; 0 = as many as are wanted */
} places;

static void sink(places *q, int i)
{
	for (int k; (k = 2 * i + 1) < q->nlive; i = k) {
		item *x = q->live[i];
		k += k + 1 < q->nlive && q->live[k + 1]->last < q->live[k]->last;
		if (x->last <= q->live[k]->last)
			return;
		q->live[i] = q->live[k];
		q->live[k] = x;
	}
}

static void push(places *q, item *x)
{
	int i = q->nlive;
	q->live = hop_arena_grow(&q->e->tmp, q->live, sizeof *q->live, (size_t)i + 1, &q->livecap);
	q->nlive++;
	for (; i && q->live[(i - 1) / 2]->last > x->last; i = (i - 1) / 2)
		q->live[i] = q->live[(i - 1) / 2];
	q->live[i] = x;
}

/* The item that is over before the position, or NULL. */
static item *over(places *q, int pos)
{
	item *x = q->nlive ? q->live[0] : NULL;
	if (!x || x->last >= pos)
		return NULL;
	q->live[0] = q->live[--q->nlive];
	sink(q, 0);
	return x;
}

static void give(places *q, int64_t at, int64_t bytes)
{
	int i = q->ngap;
	while (i > 0 && q->gap[i - 1].at > at)
		i--;
	bool before = i > 0 && q->gap[i - 1].at + q->gap[i - 1].bytes == at;
	bool after = i < q->ngap && at + bytes == q->gap[i].at;
	if (before) {
		q->gap[i - 1].bytes += bytes + (after ? q->gap[i].bytes : 0);
		if (after)
			memmove(&q->gap[i], &q->gap[i + 1], sizeof *q->gap * (size_t)(--q->ngap - i));
	} else if (after) {
		q->gap[i] = (gap){ at, bytes + q->gap[i].bytes };
	} else {
		q->gap = hop_arena_grow(&q->e->tmp, q->gap, sizeof *q->gap, (size_t)q->ngap + 1,
		                        &q->gapcap);
		memmove(&q->gap[i + 1], &q->gap[i], sizeof *q->gap * (size_t)(q->ngap++ - i));
		q->gap[i] = (gap){ at, bytes };
	}
}

/* The first gap that is large enough, else the end; -1 when there is a limit and no room. */
static int64_t take(places *q, int64_t bytes, int64_t least)
{
	int64_t at = q->top;
	for (int i = 0; i < q->ngap; i++) {
		gap *g = &q->gap[i];
		bool end = g->at + g->bytes == q->top;
		if ((g->bytes < bytes && !end) || (q->limit && g->at + least > q->limit))
			continue;
		at = g->at;
		if (g->bytes < bytes)
			q->top = at + bytes;
		g->at += bytes;
		g->bytes -= bytes;
		if (g->bytes <= 0)
			memmove(g, g + 1, sizeof *g * (size_t)(--q->ngap - i));
		return at;
	}
	if (q->limit && at + least > q->limit)
		return -1;
	q->top += bytes;
	return at;
}

static bool place_const(places *q, item *x)
{
	item *old;
	while ((old = over(q, x->first)))
		give(q, old->offset.k, old->bytes.k);
	int64_t at = x->bytes.k ? take(q, x->bytes.k, x->least) : 0;
	if (at < 0)
		return false;
	x->offset = hop_size_int(at);
	if (x->bytes.k)
		push(q, x);
	return true;
}

/* ---- results that are not yet written ---- */

typedef struct room {
	struct room *next;           /* the first to be written comes first */
	int          buf, first;
	places       in;
} room;

static room *find_rooms(plan *p)
{
	room *all = NULL;
	for (int i = 0; i < p->f->nbuf; i++) {
		const hop_lbuf *b = &p->f->buf[i];
		const item *x = &p->buf[i];
		if (b->kind != HOP_BUF_PARAM || b->index < p->f->nin || b->alias || x->least < p->large ||
		    x->first < 0)
			continue;
		room *r = HOP_NEW(&p->e->tmp, room), **at = &all;
		*r = (room){ .buf = i, .first = x->first, .in = { .e = p->e, .limit = x->least } };
		while (*at && (*at)->first <= r->first)
			at = &(*at)->next;
		r->next = *at;
		*at = r;
	}
	return all;
}

static bool place_in_result(plan *p, room *all, item *x)
{
	hop_lbuf *b = x->buf >= 0 ? &p->f->buf[x->buf] : NULL;
	if (!b || x->least < p->large)
		return false;
	for (room *r = all; r; r = r->next) {
		const hop_lbuf *to = &p->f->buf[r->buf];
		if (x->last >= r->first || to->dtype != b->dtype || !place_const(&r->in, x))
			continue;
		b->space = HOP_SPACE_RESULT;
		b->index = to->index;
		return true;
	}
	return false;
}

/* Items of one symbolic size: in the place of one that is over, or on top. */
typedef struct sized {
	struct sized *next;
	hop_size      bytes;
	places        in;
} sized;

static void place_symbolic(hop_env *e, sized **all, item *x, hop_size *top)
{
	sized *z = *all;
	while (z && !hop_size_eq(z->bytes, x->bytes))
		z = z->next;
	if (!z) {
		z = HOP_NEW(&e->tmp, sized);
		*z = (sized){ .next = *all, .bytes = x->bytes, .in.e = e };
		*all = z;
	}
	item *old = over(&z->in, x->first);
	x->offset = old ? old->offset : *top;
	if (!old)
		*top = hop_size_add(e, *top, x->bytes);
	push(&z->in, x);
}

static const hop_lfunc *callee(const hop_lfn *fns, int index)
{
	while (fns->index != index)
		fns = fns->next;
	return &fns->f;
}

static int by_first(const void *a, const void *b)
{
	const item *x = *(item *const *)a, *y = *(item *const *)b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->no < y->no ? -1 : x->no > y->no;
}

/* Constants below, so that their places are known; then what depends on sizes. */
static void place(plan *p)
{
	hop_env *e = p->e;
	int all = p->f->nbuf + p->ncall, n = 0;
	item **by = HOP_NEWN(&e->tmp, item *, all);
	places q = { .e = e };
	sized *sizes = NULL;
	for (int i = 0; i < all; i++) {
		item *x = i < p->f->nbuf ? &p->buf[i] : &p->call[i - p->f->nbuf];
		x->no = i;
		if (x->used)
			by[n++] = x;
	}
	qsort(by, (size_t)n, sizeof *by, by_first);
	room *rooms = find_rooms(p);
	for (int i = 0; i < n; i++)
		if (hop_size_const(by[i]->bytes) && !place_in_result(p, rooms, by[i]))
			place_const(&q, by[i]);
	hop_size high = hop_size_int(q.top);
	for (int i = 0; i < n; i++) {
		if (!hop_size_const(by[i]->bytes))
			place_symbolic(e, &sizes, by[i], &high);
		if (by[i]->buf >= 0)
			p->f->buf[by[i]->buf].offset = by[i]->offset;
		else
			by[i]->call->frame = by[i]->offset;
	}
	p->f->frame = high;
}

/* A call that is never made may be one whose frame makes no sense. */
static hop_size call_bytes(hop_env *e, const hop_facts *given, const hop_range *range,
                           const plan *p, const hop_stmt *call)
{
	const hop_lfunc *g = callee(p->fns, call->callee);
	hop_size zero = hop_size_int(0);
	hop_size n = align(e, hop_size_subst(e, g->frame, call->sizes, call->nsize));
	if (hop_facts_say(given, range, p->f->nsym, HOP_LE, zero, n) == HOP_ALWAYS)
		return n;
	return hop_size_max(e, zero, n);
}

void hop_loop_plan(hop_env *e, const hop_facts *given, const hop_lfn *fns,
                   const hop_range *range, hop_lfunc *f, bool room_all)
{
	hop_mark m = hop_mark_at(&e->tmp);
	region whole = { 0 };
	plan p = { .e = e, .f = f, .fns = fns, .cur = &whole, .large = room_all ? 1 : LARGE };
	p.buf = HOP_NEWN(&e->tmp, item, f->nbuf);
	p.region = HOP_NEWN(&e->tmp, region *, count_loops(&f->body));
	for (int i = 0; i < f->nbuf; i++) {
		p.buf[i].buf = i;
		p.buf[i].first = p.buf[i].last = -1;
	}
	walk(&p, &f->body);
	p.call = HOP_NEWN(&e->tmp, item, p.ncall);
	/* a result keeps what one step of a loop has written */
	for (int i = 0; i < f->nbuf; i++)
		if (f->buf[i].kind == HOP_BUF_PARAM)
			p.buf[i].home = &whole;
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
		hop_size b = hop_size_int((int64_t)hop_dtype_bytes(f->buf[i].dtype));
		p.buf[i].used = p.buf[i].used && f->buf[i].kind == HOP_BUF_TEMP;
		p.buf[i].bytes = hop_size_mul(e, f->buf[i].count, b);
		p.buf[i].least = hop_size_const(p.buf[i].bytes) ? p.buf[i].bytes.k : 0;
		p.buf[i].bytes = align(e, p.buf[i].bytes);
	}
	for (int i = 0; i < p.ncall; i++)
		p.call[i].bytes = call_bytes(e, given, range, &p, p.call[i].call);
	place(&p);
	hop_rewind(&e->tmp, m);
}
