/* device_keep.c -- what stays in registers while one block, or all, run a loop.
 *
 * A scalar that is only stored together is computed by every thread, so each may have it for itself: no
 * thread waits to hear of it. An element that only one thread of one block ever touches, as in a loop
 * whose body goes element by element, stays with that thread from the first trip to the last. Before and
 * after, copies. How many elements a thread of all blocks has the device decides: these stay in memory.
 *
 * A temporary that nobody else uses is not copied: its bytes may be another's by then. In a loop of the
 * host's list everything counts as used by others: there one that shares bytes with another of the same
 * kernel is only kept if that one is done with them.
 *
 * needs: bound loops; a block that does not leave.  keeps: meaning.  fills: SPACE_LOCAL, SPACE_OWN */
#include "loop/device.h"

#include <string.h>

enum { MOST = 16,                /* elements of one buffer in a thread */
       MOST_ROW = 32,            /* of a row, whose blocks come and go */
       WORDS = 96,               /* of all that a thread keeps of a row */
       PIECE = 4 };              /* of a row, that lie together: see width_of */

typedef struct keep {
	hop_dfunc *d;
	const bool *used, *later;
	int        nbuf;             /* of those there were */
	struct use {
		bool     no;             /* it cannot be */
		bool     read, write, looped;
		int64_t  n;              /* OWN: extent of the loops */
		int      count;          /* accesses */
		bool     first;          /* the first of them is a read */
		hop_addr at;             /* of it; the loop's variable is `var` there */
		hop_reg  var;
	} *use;                      /* [nbuf] of the kernel, or of the loop that is looked at */
	int       *all;              /* [nbuf] accesses in the kernel */
	int       *first, *last;     /* [nbuf] statements right in it that have some, from 1 on */
	int       *list, nlist;      /* buffers with accesses */
	int        pos;
	int       *to;               /* [nbuf] what stands for it; -1 = itself */
	bool      *var;              /* [nreg+1] of a loop over threads */
	bool      *made;             /* [nreg+1] in the row: it need not be the same at all accesses */
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

/* ---- who shares bytes ---- */

static void note(void *user, hop_addr *a, bool is_write)
{
	keep *k = user;
	(void)is_write;
	if (!k->all[a->buf]++) {
		k->first[a->buf] = k->pos;
		k->list[k->nlist++] = a->buf;
	}
	k->last[a->buf] = k->pos;
}

/* Another temporary of the kernel has bytes of i, which is one too, while i has them, or after. */
static bool is_taken(const keep *k, int i)
{
	for (int n = 0; k->d->f->buf[i].kind == HOP_BUF_TEMP && n < k->nlist; n++) {
		int j = k->list[n];
		if (j != i && k->last[j] >= k->first[i] && hop_device_meet(k->d, i, j))
			return true;
	}
	return false;
}

/* ---- copies ---- */

static void replace(void *user, hop_addr *a, bool is_write)
{
	const keep *k = user;
	(void)is_write;
	if (a->buf < k->nbuf && k->to[a->buf] >= 0)
		a->buf = k->to[a->buf];
}

/* An element of `from`, at x, to `to`, at y: of a register if one of them is. Those at the loop's
 * variable have a term for it. */
static void copy_one(hop_lbuild *b, hop_dtype t, const hop_addr *x, const hop_addr *y)
{
	hop_l_store(b, t, y, hop_l_load(b, t, x));
}

static hop_addr whole(int buf)
{
	return (hop_addr){ .buf = buf, .offset = hop_size_int(0) };
}

/* Where memory is while `kept` stands for it: at[var] for each of n, or its only element. */
typedef struct pair { hop_dtype t; hop_addr at; hop_reg var; int kept; int64_t n; } pair;

static void copy(hop_lbuild *b, hop_block *out, const pair *p, bool in)
{
	hop_addr mem = p->at, own = whole(p->kept);
	b->block = out;
	if (p->n) {
		hop_stmt *l = hop_l_loop(b, HOP_LOOP_PAR, hop_size_int(p->n), hop_l_reg(b));
		l->bind.place = HOP_PLACE_THREAD;
		mem.term = HOP_NEWN(b->a, hop_term, mem.nterm);
		memcpy(mem.term, p->at.term, (size_t)mem.nterm * sizeof *mem.term);
		mem.term[hop_addr_term(&mem, p->var)].reg = l->dst;
		hop_addr_add(b->a, &own, l->dst, hop_size_int(1));
	}
	if (in)
		copy_one(b, p->t, &mem, &own);
	else
		copy_one(b, p->t, &own, &mem);
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
		bool shared = s->kind == HOP_L_TILE || (s->kind == HOP_L_LOOP && s->bind.place);
		hop_block *sub[2];
		hop_addr *a;
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
			struct use *u = &k->use[a->buf];
			bool write = hop_stmt_access(s, i) & HOP_WRITE;
			u->write |= write;
			u->read |= !write;
			u->looped |= write && looped;
			u->no |= s->kind != HOP_L_OP || (write && (alone || s->na > 1));
		}
		for (int i = 0, n = hop_stmt_blocks(s, sub); i < n; i++)
			look_scalars(k, sub[i], looped || loops, alone || shared);
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
		if (u->no || !u->looped || !hop_size_is(v.count, 1) || !is_kept(d, i) || v.alias ||
		    is_host_of(d, i) || (k->later[i] && is_taken(k, i)))
			continue;
		bool param = v.kind == HOP_BUF_PARAM;
		k->to[i] = hop_l_buf(&l, like(&v, HOP_SPACE_LOCAL, 1));
		pair p = { .t = v.dtype, .at = whole(i), .kept = k->to[i] };
		if (param || k->used[i])
			copy(&l, &in, &p, true);
		if (param || k->later[i])
			copy(&l, &out, &p, false);
	}
	for (hop_stmt *s = b->first; s; s = s->next)
		hop_stmt_all_addrs(d->f, s, replace, k);
	put(b, b->first, &in);
	put(b, NULL, &out);
}

/* ---- elements ---- */

/* The variable's term is its only one, or, in a row, the others are the same in all accesses. */
static bool fits(const keep *h, const struct use *u, const hop_stmt *s, const hop_addr *a,
                 const hop_stmt *loop, bool row)
{
	int t = loop ? hop_addr_term(a, loop->dst) : -1;
	if (t < 0 || s->kind != HOP_L_OP || s->na > (s->sop == HOP_SOP_store) ||
	    !hop_size_is(a->term[t].stride, 1) || (u->n && u->n != loop->extent.k))
		return false;
	if (!row)
		return a->nterm == 1 && hop_size_is(a->offset, 0);
	for (int i = 0; i < a->nterm; i++)
		if (i != t && h->made[a->term[i].reg])
			return false;
	if (!u->count)
		return true;
	if (u->at.nterm != a->nterm || !hop_size_eq(u->at.offset, a->offset))
		return false;
	for (int i = 0; i < a->nterm; i++) {
		int k = hop_addr_term(&u->at, i == t ? u->var : a->term[i].reg);
		if (k < 0 || !hop_size_eq(u->at.term[k].stride, a->term[i].stride))
			return false;
	}
	return true;
}

static void look_addr(keep *k, hop_stmt *s, int i, const hop_stmt *loop, bool row)
{
	hop_addr *a = hop_stmt_addr(s, i);
	if (a->buf >= k->nbuf)         /* a scalar that is kept already */
		return;
	struct use *u = &k->use[a->buf];
	int access = hop_stmt_access(s, i);
	bool ok = !u->no && fits(k, u, s, a, loop, row);
	if (!u->count++) {
		u->first = access & HOP_READ;
		u->at = *a;
		u->var = loop ? loop->dst : 0;
	}
	u->no |= !ok;
	u->read |= access & HOP_READ;
	u->write |= access & HOP_WRITE;
	if (ok)
		u->n = loop->extent.k;
}

static bool is_threads(const keep *k, const hop_stmt *s, bool row)
{
	return s->bind.place == HOP_PLACE_THREAD && !s->bound && s->bind.each <= 1 &&
	       hop_size_const(s->extent) && s->extent.k <= (int64_t)(row ? MOST_ROW : MOST) * k->d->threads;
}

/* loop: over threads, that b is in, or NULL. A tile's elements have owners of its own. */
static void look_own(keep *k, hop_block *b, const hop_stmt *loop, bool row)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		bool placed = s->kind == HOP_L_TILE || (s->kind == HOP_L_LOOP && s->bind.place);
		const hop_stmt *in = placed ? s->kind == HOP_L_LOOP && is_threads(k, s, row) ? s : NULL : loop;
		hop_block *sub[2];
		for (int i = 0; hop_stmt_addr(s, i); i++)
			look_addr(k, s, i, loop, row);
		for (int i = 0, n = hop_stmt_blocks(s, sub); i < n; i++)
			look_own(k, sub[i], in, row);
	}
}

/* Others may use it after the loop. */
static bool is_outside(const keep *k, int i)
{
	return k->d->f->buf[i].kind == HOP_BUF_PARAM || k->used[i] || k->all[i] > k->use[i].count;
}

static void own_one(keep *k, hop_lbuild *l, int i, bool row, hop_block *in, hop_block *out)
{
	const struct use *u = &k->use[i];
	const hop_lbuf v = k->d->f->buf[i];
	bool outside = is_outside(k, i);
	k->to[i] = hop_l_buf(l, like(&v, HOP_SPACE_OWN, u->n));
	pair p = { .t = v.dtype, .at = u->at, .var = u->var, .kept = k->to[i], .n = u->n };
	if (row ? u->first : outside)
		copy(l, in, &p, true);
	if (outside && u->write)
		copy(l, out, &p, false);
}

/* In rows addresses have more terms than the loop's variable. */
static void replace_own(void *user, hop_addr *a, bool is_write)
{
	const keep *k = user;
	(void)is_write;
	if (a->buf >= k->nbuf || k->to[a->buf] < 0)
		return;
	for (int i = 0; i < a->nterm; i++)
		if (hop_size_is(a->term[i].stride, 1) && k->var[a->term[i].reg])
			a->term[0] = a->term[i];
	a->nterm = 1;
	a->offset = hop_size_int(0);
	a->buf = k->to[a->buf];
}

static void mark_made(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	(void)def;
	(void)t;
	((bool *)user)[*r] = true;
}

static void mark_vars(keep *k, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_LOOP && s->bind.place == HOP_PLACE_THREAD)
			k->var[s->dst] = true;
		mark_vars(k, &s->body);
		mark_vars(k, &s->other);
	}
}

/* Of a row of n elements, in a row: as many as one load may bring. */
static int width_of(const keep *k, int64_t n)
{
	return n % PIECE == 0 && n >= (int64_t)PIECE * k->d->threads ? PIECE : 0;
}

static int64_t words_of(const keep *k, int i)
{
	int64_t bytes = (int64_t)hop_dtype_bytes(k->d->f->buf[i].dtype), t = k->d->threads;
	return (k->use[i].n + t - 1) / t * (bytes > 4 ? bytes / 4 : 1);
}

static void find_kept(void *user, hop_addr *a, bool is_write)
{
	struct { const hop_lfunc *f; bool found; } *u = user;
	const hop_lbuf *b = &u->f->buf[a->buf];
	(void)is_write;
	u->found |= b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_OWN;
}

/* Loops over what is kept have their iterations alike. */
static void widen(keep *k, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		struct { const hop_lfunc *f; bool found; } u = { k->d->f, false };
		if (s->kind == HOP_L_LOOP && s->bind.place == HOP_PLACE_THREAD)
			hop_stmt_all_addrs(k->d->f, s, find_kept, &u);
		if (u.found)
			s->bind.width = (uint8_t)width_of(k, s->extent.k);
		widen(k, &s->body);
	}
}

/* A step's body, or a row's: s is in b. */
static void keep_own(keep *k, hop_block *b, hop_stmt *s, bool row)
{
	hop_dfunc *d = k->d;
	hop_block in = { 0 }, out = { 0 };
	hop_lbuild l = { .env = d->e, .a = d->a, .f = d->f };
	memset(k->use, 0, (size_t)k->nbuf * sizeof *k->use);
	k->made = HOP_NEWN(&d->e->tmp, bool, d->f->nreg + 1);
	hop_stmt *start = s->body.first;       /* of what a row does, behind what says which one it is */
	hop_block_defs(&s->body, mark_made, k->made);
	for (; start && start->kind == HOP_L_OP && start->sop != HOP_SOP_store; start = start->next)
		k->made[start->dst] = false;
	look_own(k, &s->body, NULL, row);
	look_own(k, &s->other, NULL, row);
	k->var = HOP_NEWN(&d->e->tmp, bool, d->f->nreg + 1);
	mark_vars(k, &s->body);
	mark_vars(k, &s->other);
	int64_t words = 0;
	for (int i = 0; i < k->nbuf; i++) {
		const struct use *u = &k->use[i];
		k->to[i] = -1;
		if (u->no || !u->n || !is_kept(d, i) || !(row ? u->count > 1 && u->read : u->write) ||
		    (row && words + words_of(k, i) > WORDS) ||
		    (u->write && is_outside(k, i) && is_taken(k, i)))
			continue;
		words += words_of(k, i);
		own_one(k, &l, i, row, &in, &out);
	}
	hop_stmt_all_addrs(d->f, s, replace_own, k);
	put(row ? &s->body : b, row ? start : s, &in);
	put(row ? &s->body : b, row ? NULL : s->next, &out);
	if (row)
		widen(k, &s->body);
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
			keep_own(k, b, s, false);
		} else if (s->kind == HOP_L_IF) {
			keep_loops(k, &s->body);
			keep_loops(k, &s->other);
		}
	}
}

static keep new_keep(hop_dfunc *d, hop_block *b, const bool *used, const bool *later)
{
	keep k = { .d = d, .used = used, .later = later, .nbuf = d->f->nbuf };
	k.use = HOP_NEWN(&d->e->tmp, struct use, k.nbuf);
	k.all = HOP_NEWN(&d->e->tmp, int, k.nbuf);
	k.to = HOP_NEWN(&d->e->tmp, int, k.nbuf);
	k.first = HOP_NEWN(&d->e->tmp, int, k.nbuf);
	k.last = HOP_NEWN(&d->e->tmp, int, k.nbuf);
	k.list = HOP_NEWN(&d->e->tmp, int, k.nbuf);
	for (hop_stmt *s = b->first; s; s = s->next) {
		k.pos++;
		hop_stmt_all_addrs(d->f, s, note, &k);
	}
	return k;
}

void hop_device_keep(hop_dfunc *d, hop_block *b, const bool *used, const bool *later)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	if (!leaves(b) && hop_block_steps(b)) {
		keep k = new_keep(d, b, used, later);
		keep_scalars(&k, b);
		if (d->single)
			keep_loops(&k, b);
	}
	hop_rewind(&d->e->tmp, m);
}

/* Nothing but operations and loops of them: all of it is run, each time. */
static bool is_plain(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind != HOP_L_OP && (s->kind != HOP_L_LOOP || s->bound || !is_plain(&s->body)))
			return false;
	return true;
}

void hop_device_keep_row(hop_dfunc *d, hop_block *b, hop_stmt *row, const bool *used)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	if (is_plain(&row->body)) {
		keep k = new_keep(d, b, used, used);
		keep_own(&k, b, row, true);
	}
	hop_rewind(&d->e->tmp, m);
}
