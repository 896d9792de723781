/* device_keep.c -- what stays in registers while one block runs a loop.
 *
 * A scalar that is only stored together is computed by every thread, so each may have it for itself: no
 * thread waits to hear of it. An element that only one thread ever touches, as in a loop whose body goes
 * element by element, stays with that thread from the first trip to the last. Before and after, copies.
 *
 * A temporary that nobody else uses is not copied: its bytes may be another's by then.
 *
 * needs: bound loops; a block that does not leave.  keeps: meaning.  fills: SPACE_LOCAL, SPACE_OWN */
#include "loop/device.h"

#include <string.h>

enum { MOST = 16 };              /* elements of one buffer in a thread */

typedef struct keep {
	hop_dfunc *d;
	const bool *used, *later;
	int        nbuf;             /* of those there were */
	struct use {
		bool     no;             /* it cannot be */
		bool     read, write, looped;
		int64_t  n;              /* OWN: extent of the loops */
		int      count;          /* accesses */
	} *use;                      /* [nbuf] of the kernel, or of the loop that is looked at */
	int       *all;              /* [nbuf] accesses in the kernel */
	int       *to;               /* [nbuf] what stands for it; -1 = itself */
} keep;

/* ---- may the block keep anything? ---- */

static bool leaves(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_CALL || s->kind == HOP_L_EFFECT || s->kind == HOP_L_GROW ||
		    s->kind == HOP_L_CHECK || leaves(&s->body) || leaves(&s->other))
			return true;
	return false;
}

static bool is_kept(const hop_dfunc *d, int buf)
{
	const hop_lbuf *b = &d->f->buf[buf];
	bool memory = b->kind == HOP_BUF_PARAM || (b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_FRAME);
	for (int i = 0; i < d->f->nlocal; i++)
		memory = memory && d->f->local[i] != buf;
	return memory;
}

/* ---- copies ---- */

static void replace(void *user, hop_addr *a, bool is_write)
{
	const keep *k = user;
	(void)is_write;
	if (a->buf < k->nbuf && k->to[a->buf] >= 0)
		a->buf = k->to[a->buf];
}

/* An element of `from` to `to`, at the loop's variable or alone. */
static void copy_one(hop_lbuild *b, hop_dtype t, int from, int to, hop_reg var)
{
	hop_addr x = { .buf = from, .offset = hop_size_int(0) }, y = { .buf = to, .offset = hop_size_int(0) };
	if (var) {
		hop_addr_add(b->a, &x, var, hop_size_int(1));
		hop_addr_add(b->a, &y, var, hop_size_int(1));
	}
	hop_l_store(b, t, &y, hop_l_load(b, t, &x));
}

static void copy(hop_lbuild *b, hop_block *out, hop_dtype t, int from, int to, int64_t n)
{
	hop_stmt *l = NULL;
	b->block = out;
	if (n) {
		l = hop_l_loop(b, HOP_LOOP_PAR, hop_size_int(n), hop_l_reg(b));
		l->bind.place = HOP_PLACE_THREAD;
	}
	copy_one(b, t, from, to, l ? l->dst : 0);
	b->block = out;
}

static void put(hop_block *b, hop_stmt *before, hop_block *what)
{
	hop_stmt **at = &b->first;
	if (!what->first)
		return;
	while (*at != before)
		at = &(*at)->next;
	what->last->next = before;
	*at = what->first;
	if (!before)
		b->last = what->last;
}

static hop_lbuf like(const hop_lbuf *b, enum hop_space space, int64_t n)
{
	return (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = space, .dtype = b->dtype, .count = hop_size_int(n),
	                   .offset = hop_size_int(0), .is_written = true };
}

/* ---- scalars ---- */

static void look_scalars(keep *k, hop_block *b, bool looped, bool alone)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		bool loops = s->kind == HOP_L_WHILE || s->kind == HOP_L_LOOP;
		bool shared = s->kind == HOP_L_LOOP && s->bind.place;
		hop_addr *a;
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
			struct use *u = &k->use[a->buf];
			bool write = hop_stmt_access(s, i) & HOP_WRITE;
			u->write |= write;
			u->read |= !write;
			u->looped |= write && looped;
			u->no |= s->kind != HOP_L_OP || (write && (alone || s->na > 1));
		}
		look_scalars(k, &s->body, looped || loops, alone || shared);
		look_scalars(k, &s->other, looped || loops, alone || shared);
	}
}

static bool is_host_of(const hop_dfunc *d, int buf)
{
	const hop_lbuf *b = &d->f->buf[buf];
	for (int i = 0; b->kind == HOP_BUF_PARAM && i < d->f->nbuf; i++) {
		const hop_lbuf *x = &d->f->buf[i];
		if (x->kind == HOP_BUF_TEMP && x->space == HOP_SPACE_RESULT && x->index == b->index)
			return true;
	}
	return false;
}

static void keep_scalars(keep *k, hop_block *b)
{
	hop_dfunc *d = k->d;
	hop_block in = { 0 }, out = { 0 };
	hop_lbuild l = { .env = d->e, .a = d->a, .f = d->f };
	look_scalars(k, b, false, false);
	for (int i = 0; i < k->nbuf; i++) {
		const struct use *u = &k->use[i];
		const hop_lbuf v = d->f->buf[i];
		k->to[i] = -1;
		if (u->no || !u->looped || !hop_size_is(v.count, 1) || !is_kept(d, i) || v.alias || is_host_of(d, i))
			continue;
		bool param = v.kind == HOP_BUF_PARAM;
		k->to[i] = hop_l_buf(&l, like(&v, HOP_SPACE_LOCAL, 1));
		if (param || k->used[i])
			copy(&l, &in, v.dtype, i, k->to[i], 0);
		if (param || k->later[i])
			copy(&l, &out, v.dtype, k->to[i], i, 0);
	}
	for (hop_stmt *s = b->first; s; s = s->next)
		hop_stmt_all_addrs(d->f, s, replace, k);
	put(b, b->first, &in);
	put(b, NULL, &out);
}

/* ---- elements ---- */

static void count_addr(void *user, hop_addr *a, bool is_write)
{
	(void)is_write;
	((int *)user)[a->buf]++;
}

/* The loop over threads that s is in, or NULL. */
static void look_own(keep *k, hop_block *b, const hop_stmt *loop)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_addr *a;
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
			struct use *u = &k->use[a->buf];
			int access = hop_stmt_access(s, i);
			bool ok = loop && s->kind == HOP_L_OP && a->nterm == 1 && a->term[0].reg == loop->dst &&
			          hop_size_is(a->term[0].stride, 1) && hop_size_is(a->offset, 0) &&
			          (!u->n || u->n == loop->extent.k);
			u->no |= !ok;
			u->count++;
			u->read |= access & HOP_READ;
			u->write |= access & HOP_WRITE;
			if (ok)
				u->n = loop->extent.k;
		}
		bool own = s->kind == HOP_L_LOOP && s->bind.place == HOP_PLACE_THREAD && !s->bound &&
		           s->bind.each <= 1 && hop_size_const(s->extent) &&
		           s->extent.k <= (int64_t)MOST * k->d->threads;
		const hop_stmt *in = s->kind == HOP_L_LOOP && s->bind.place ? own ? s : NULL : loop;
		look_own(k, &s->body, in);
		look_own(k, &s->other, in);
	}
}

static void keep_own(keep *k, hop_block *b, hop_stmt *s)
{
	hop_dfunc *d = k->d;
	hop_block in = { 0 }, out = { 0 };
	hop_lbuild l = { .env = d->e, .a = d->a, .f = d->f };
	memset(k->use, 0, (size_t)k->nbuf * sizeof *k->use);
	look_own(k, &s->body, NULL);
	look_own(k, &s->other, NULL);
	for (int i = 0; i < k->nbuf; i++) {
		const struct use *u = &k->use[i];
		const hop_lbuf v = d->f->buf[i];
		k->to[i] = -1;
		if (u->no || !u->write || !u->n || !is_kept(d, i))
			continue;
		bool outside = v.kind == HOP_BUF_PARAM || k->used[i] || k->all[i] > u->count;
		k->to[i] = hop_l_buf(&l, like(&v, HOP_SPACE_OWN, u->n));
		if (outside) {
			copy(&l, &in, v.dtype, i, k->to[i], u->n);
			copy(&l, &out, v.dtype, k->to[i], i, u->n);
		}
	}
	hop_stmt_all_addrs(d->f, s, replace, k);
	put(b, s, &in);
	put(b, s->next, &out);
}

static bool is_steps(const hop_stmt *s)
{
	return s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ);
}

/* The outermost loops that go step by step. */
static void keep_loops(keep *k, hop_block *b)
{
	for (hop_stmt *s = b->first, *next; s; s = next) {
		next = s->next;
		if (is_steps(s)) {
			keep_own(k, b, s);
		} else if (s->kind == HOP_L_IF) {
			keep_loops(k, &s->body);
			keep_loops(k, &s->other);
		}
	}
}

void hop_device_keep(hop_dfunc *d, hop_block *b, const bool *used, const bool *later)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	keep k = { .d = d, .used = used, .later = later, .nbuf = d->f->nbuf };
	if (!leaves(b) && hop_block_steps(b)) {
		k.use = HOP_NEWN(&d->e->tmp, struct use, k.nbuf);
		k.all = HOP_NEWN(&d->e->tmp, int, k.nbuf);
		k.to = HOP_NEWN(&d->e->tmp, int, k.nbuf);
		for (hop_stmt *s = b->first; s; s = s->next)
			hop_stmt_all_addrs(d->f, s, count_addr, k.all);
		keep_scalars(&k, b);
		keep_loops(&k, b);
	}
	hop_rewind(&d->e->tmp, m);
}
