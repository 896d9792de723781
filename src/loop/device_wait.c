/* device_wait.c -- barriers. Between two statements that are together there is one if a thread may
 * need what another wrote, or write what another still reads: if both touch a piece of memory, one of
 * them to write, and it is not plain that each element has the same owner in both.
 *
 * needs: bound loops.  keeps: order of statements.  fills: HOP_L_BARRIER */
#include "loop/device.h"

#include <string.h>

/* A touch of memory since the last barrier. */
typedef struct touch {
	int             buf;
	bool            write;
	bool            local;         /* of a size that is bound: its bytes are nobody else's meanwhile */
	const hop_stmt *loop;          /* whose iterations are a thread's each; NULL: others */
	const hop_addr *at;
} touch;

/* A set of touches, each by its number: loops in loops hand them on again and again. */
typedef struct pending {
	uint64_t *bits;
	size_t    n, cap;              /* words */
	bool      frames;              /* a function was called: any temporary may have been touched */
} pending;

typedef struct wait {
	hop_dfunc  *d;
	hop_unit    unit;
	const hop_stmt *loop;
	pending    *now;               /* of the statement that is looked at */
	struct numbered {
		touch   t;
		pending asked, meets;  /* others that it was compared with; those of them that it meets */
	}          *t;                 /* touch k is t[k - 1] */
	size_t      n, cap;
	hop_map     number;            /* of a touch, from 1 on */
} wait;

/* ---- sets of touches ---- */

static void make_room(wait *w, pending *p, size_t words)
{
	if (p->n >= words)
		return;
	p->bits = hop_arena_grow(&w->d->e->tmp, p->bits, sizeof *p->bits, words, &p->cap);
	p->n = words;
}

static void put(wait *w, pending *p, size_t k)
{
	make_room(w, p, k / 64 + 1);
	p->bits[k / 64] |= (uint64_t)1 << k % 64;
}

static void add(wait *w, pending *p, touch t)
{
	uintptr_t k = (uintptr_t)hop_map_get(&w->number, &t, sizeof t);
	if (!k) {
		w->t = hop_arena_grow(&w->d->e->tmp, w->t, sizeof *w->t, w->n + 1, &w->cap);
		w->t[w->n] = (struct numbered){ .t = t };
		k = ++w->n;
		hop_map_put(&w->number, &t, sizeof t, (void *)k);
	}
	put(w, p, k);
}

/* The first of them behind number k; 0 = there is none. */
static size_t after(const pending *p, size_t k)
{
	for (k++; k / 64 < p->n; k = (k / 64 + 1) * 64) {
		uint64_t left = p->bits[k / 64] >> k % 64;
		if (left)
			return k + (size_t)__builtin_ctzll(left);
	}
	return 0;
}

static const touch *at(const wait *w, size_t k)
{
	return &w->t[k - 1].t;
}

static void merge(wait *w, pending *to, const pending *from)
{
	make_room(w, to, from->n);
	for (size_t i = 0; i < from->n; i++)
		to->bits[i] |= from->bits[i];
	to->frames |= from->frames;
}

/* All of a is in b too. */
static bool is_within(const pending *a, const pending *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->bits[i] & ~(i < b->n ? b->bits[i] : 0))
			return false;
	return !a->frames || b->frames;
}

/* ---- what touches what ---- */

static void look_block(wait *w, hop_block *b);

/* Threads of a block have their iterations alike in all loops of one place and extent. */
static bool is_threads(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP &&
	       (s->bind.place == HOP_PLACE_GRID || s->bind.place >= HOP_PLACE_THREAD);
}

static void look(wait *w, hop_stmt *s)
{
	const hop_stmt *was = w->loop;
	hop_block *sub[2];
	hop_addr *a;
	int k = hop_stmt_blocks(s, sub);
	for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
		touch t;
		memset(&t, 0, sizeof t);
		t.buf = a->buf;
		t.loop = w->loop;
		t.at = w->loop ? a : NULL;
		int access = hop_stmt_access(s, i);
		if (access & HOP_READ)
			add(w, w->now, t);
		t.write = true;
		if (access & HOP_WRITE)
			add(w, w->now, t);
	}
	if (s->kind == HOP_L_CALL)
		w->now->frames = true;
	if (is_threads(s))
		w->loop = s;
	for (int i = 0; i < k; i++)
		look_block(w, sub[i]);
	w->loop = was;
}

static void look_block(wait *w, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next)
		look(w, s);
}

/* Local sizes are read wherever a size that has one is. */
static void look_locals(wait *w, pending *p)
{
	for (int i = 0; i < w->d->f->nlocal; i++) {
		touch t;
		memset(&t, 0, sizeof t);
		t.buf = w->d->f->local[i];
		t.local = true;
		add(w, p, t);
	}
}

/* ---- do they meet? ---- */

/* a is where n bytes from b on end, or behind, whatever the sizes are. */
static bool is_behind(hop_env *e, hop_size a, hop_size b, hop_size n)
{
	return hop_size_nonneg(e, hop_size_sub(e, a, hop_size_add(e, b, n)), NULL, 0);
}

static bool ranges_meet(hop_env *e, hop_size a, hop_size na, hop_size b, hop_size nb)
{
	return !is_behind(e, a, b, nb) && !is_behind(e, b, a, na);
}

static hop_size bytes(hop_env *e, const hop_lbuf *b)
{
	return hop_size_mul(e, b->count, hop_size_int((int64_t)hop_dtype_bytes(b->dtype)));
}

/* The parameter that the buffer is in; -1 = none. */
static int param_of(const hop_lbuf *b)
{
	bool in = b->kind == HOP_BUF_PARAM || (b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_RESULT);
	return in ? b->index : -1;
}

static bool aliased(const hop_lbuf *x, const hop_lbuf *y)
{
	return x->kind == HOP_BUF_PARAM && x->alias && x->alias - 1 == param_of(y);
}

bool hop_device_meet(const hop_dfunc *d, int a, int b)
{
	const hop_lbuf *x = &d->f->buf[a], *y = &d->f->buf[b];
	if (a == b)
		return true;
	if (hop_device_is_away(x) || hop_device_is_away(y))
		return false;
	if (x->kind == HOP_BUF_CONST || y->kind == HOP_BUF_CONST)
		return false;
	if (x->kind == HOP_BUF_TAPE || y->kind == HOP_BUF_TAPE)
		return x->kind == y->kind && x->index == y->index;
	if (param_of(x) >= 0 || param_of(y) >= 0)
		return param_of(x) == param_of(y) || aliased(x, y) || aliased(y, x);
	return x->space == y->space &&
	       ranges_meet(d->e, x->offset, bytes(d->e, x), y->offset, bytes(d->e, y));
}

/* Where the loop's variable alone says which element it is. */
static const hop_term *own_term(const touch *t)
{
	if (!t->loop || !t->at || t->at->nterm != 1 || t->at->term[0].reg != t->loop->dst)
		return NULL;
	return &t->at->term[0];
}

static bool same_owner(const touch *a, const touch *b)
{
	const hop_term *x = own_term(a), *y = own_term(b);
	return x && y && a->buf == b->buf && a->loop->bind.place == b->loop->bind.place &&
	       a->loop->bind.each == b->loop->bind.each && a->loop->bind.width == b->loop->bind.width &&
	       a->loop->bound == b->loop->bound &&
	       hop_size_eq(a->loop->extent, b->loop->extent) && hop_size_eq(x->stride, y->stride) &&
	       hop_size_eq(a->at->offset, b->at->offset);
}

static bool is_frame(const hop_lbuf *b)
{
	return b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_FRAME;
}

/* What a callee keeps in its frame may lie where any temporary does. */
static bool meets_frames(const wait *w, const pending *p)
{
	for (size_t k = 0; (k = after(p, k)); )
		if (is_frame(&w->d->f->buf[at(w, k)->buf]))
			return true;
	return false;
}

static bool is_own_space(const hop_lbuf *b)
{
	return b->kind == HOP_BUF_TEMP && (b->space == HOP_SPACE_LOCAL || b->space == HOP_SPACE_OWN);
}

static bool touches_meet(const hop_dfunc *d, const touch *x, const touch *y)
{
	if ((x->local || y->local) && x->buf != y->buf)
		return false;
	return (x->write || y->write) && hop_device_meet(d, x->buf, y->buf) && !same_owner(x, y) &&
	       !is_own_space(&d->f->buf[x->buf]);
}

/* Touch k with any of p. Loops in loops ask for the same pairs again and again. */
static bool touch_meets(wait *w, size_t k, const pending *p)
{
	struct numbered *x = &w->t[k - 1];
	make_room(w, &x->asked, p->n);
	make_room(w, &x->meets, p->n);
	for (size_t i = 0; i < p->n; i++) {
		for (uint64_t left = p->bits[i] & ~x->asked.bits[i]; left; left &= left - 1) {
			size_t j = i * 64 + (size_t)__builtin_ctzll(left);
			if (touches_meet(w->d, at(w, j), &x->t))
				put(w, &x->meets, j);
		}
		x->asked.bits[i] |= p->bits[i];
		if (p->bits[i] & x->meets.bits[i])
			return true;
	}
	return false;
}

static bool meet(wait *w, const pending *a, const pending *b)
{
	if ((a->frames && (b->frames || meets_frames(w, b))) || (b->frames && meets_frames(w, a)))
		return true;
	for (size_t k = 0; (k = after(b, k)); )
		if (touch_meets(w, k, a))
			return true;
	return false;
}

/* ---- going through a block ---- */

static hop_stmt *barrier(hop_dfunc *d, hop_unit u, hop_loc loc)
{
	hop_stmt *s = HOP_NEW(d->a, hop_stmt);
	s->kind = HOP_L_BARRIER;
	s->loc = loc;
	s->callee = u == HOP_UNIT_WARP ? HOP_BARRIER_WARP : u == HOP_UNIT_BLOCK ? HOP_BARRIER_BLOCK
	                                                                      : HOP_BARRIER_TEAM;
	return s;
}

static void go(wait *w, hop_block *b, pending *p);

/* The next trip comes after this one; or there is none, and nobody waited. Where a trip leaves nothing
 * that was not pending before it, the next one is like it: else loops in loops would be gone through
 * twice as often with every one that is around. */
static void go_around(wait *w, hop_stmt *s, pending *p)
{
	pending before = { 0 };
	merge(w, &before, p);
	go(w, &s->other, p);
	go(w, &s->body, p);
	if (!is_within(p, &before)) {
		go(w, &s->other, p);
		go(w, &s->body, p);
	}
	go(w, &s->other, p);
	merge(w, p, &before);
}

static void go_if(wait *w, hop_stmt *s, pending *p)
{
	pending q = { 0 };
	merge(w, &q, p);
	go(w, &s->body, p);
	go(w, &s->other, &q);
	merge(w, p, &q);
}

/* What a block has for itself all its iterations have, one after the other; the rest is apart. */
static void keep_shared(wait *w, pending *p)
{
	p->frames = false;
	for (size_t k = 0; (k = after(p, k)); ) {
		const hop_lbuf *b = &w->d->f->buf[at(w, k)->buf];
		if (b->kind != HOP_BUF_TEMP || b->space != HOP_SPACE_SHARED)
			p->bits[k / 64] &= ~((uint64_t)1 << k % 64);
	}
}

/* Those who share the iterations wait for each other in it only; across it is one statement. */
static void go_shared(wait *w, hop_stmt *s)
{
	hop_unit was = w->unit;
	const hop_lfunc *f = w->d->f;
	bool warps = s->bind.place == HOP_PLACE_WARP;     /* what they share is the block's */
	bool once = warps || (f->level == HOP_LEVEL_KERNEL && f->team.exact);
	pending p = { 0 };
	w->unit = warps ? HOP_UNIT_WARP : HOP_UNIT_BLOCK;
	go(w, &s->body, &p);
	keep_shared(w, &p);
	if (!once && after(&p, 0))
		go(w, &s->body, &p);
	w->unit = was;
}

static bool is_together(const hop_stmt *s)
{
	return s->kind == HOP_L_IF || s->kind == HOP_L_WHILE ||
	       (s->kind == HOP_L_LOOP && s->bind.place == HOP_PLACE_NONE);
}

static bool is_shared(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->bind.place >= HOP_PLACE_BLOCK_X &&
	       s->bind.place <= HOP_PLACE_WARP;
}

/* s itself against what is pending; true: it has to wait. */
static bool must_wait(wait *w, hop_stmt *s, const pending *p, pending *own)
{
	*own = (pending){ 0 };
	w->now = own;
	if (!is_together(s))
		look(w, s);
	look_locals(w, own);           /* an extent or an address may have one */
	return meet(w, p, own);
}

static void go(wait *w, hop_block *b, pending *p)
{
	hop_stmt **at = &b->first;
	for (hop_stmt *s; (s = *at); at = &(*at)->next) {
		pending own;
		if (s->kind == HOP_L_BARRIER) {
			*p = (pending){ 0 };
			if (s->callee == HOP_BARRIER_LAST)
				w->unit = HOP_UNIT_BLOCK;
			continue;
		}
		if (must_wait(w, s, p, &own)) {
			*at = barrier(w->d, w->unit, s->loc);
			(*at)->next = s;
			at = &(*at)->next;
			*p = (pending){ 0 };
		}
		merge(w, p, &own);
		if (s->kind == HOP_L_IF)
			go_if(w, s, p);
		else if (is_together(s))
			go_around(w, s, p);
		else if (is_shared(s))
			go_shared(w, s);
	}
	if (b->last)
		while (b->last->next)
			b->last = b->last->next;
}

void hop_device_wait(hop_dfunc *d, hop_block *b, hop_unit u)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	wait w = { .d = d, .unit = u, .number = { .a = &d->e->tmp } };
	pending p = { 0 };
	go(&w, b, &p);
	hop_rewind(&d->e->tmp, m);
}
