/* device_alone.c -- what a thread comes to at every step of a loop that it runs alone stays in a
 * register: the elements that it has at one address, whatever step it is. Before the first step they are
 * fetched, behind the last those that were written go back.
 *
 *	for i over all threads { for t in order { x[i] = f(x[i], y[i], z[t, i]) } }
 * becomes
 *	for i over all threads { u = x[i]; v = y[i]; for t in order { u = f(u, v, z[t, i]) } x[i] = u }
 *
 * Contrast device_keep.c, where threads of a block go through the steps together.
 *
 * needs: bound loops, iterations that are apart.  keeps: meaning.  fills: SPACE_LOCAL */
#include "loop/device.h"

enum { MOST = 48 };                /* words that a thread keeps */

typedef struct cell {
	hop_addr at;                   /* of all accesses */
	int      count;
	bool     no;                   /* there is another address, or a mask */
	bool     write;
	bool     sure;                 /* one surely happens */
	int      kept;                 /* what stands for it; -1 = nothing */
} cell;

typedef struct alone {
	hop_dfunc *d;
	const hop_stmt *loop;          /* whose iteration a thread runs alone */
	cell      *cell;               /* [nbuf] of the steps that are looked at */
	int        nbuf;               /* there were then */
	int       *list, nlist;        /* buffers with accesses */
	bool      *made;               /* [nreg+1] by a step */
} alone;

/* More than one, maybe. */
static bool is_steps(const hop_stmt *s)
{
	return s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ &&
	                                  !(hop_size_const(s->extent) && s->extent.k < 2));
}

/* ---- what is there ---- */

static void mark(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	(void)def;
	(void)t;
	((bool *)user)[*r] = true;
}

/* The same element at every step, by a load or a store that happens where it stands. */
static bool is_fixed(const alone *k, const hop_stmt *s, const hop_addr *a)
{
	if (s->kind != HOP_L_OP || s->sop == HOP_SOP_count || s->na > (s->sop == HOP_SOP_store))
		return false;
	for (int i = 0; i < a->nterm; i++)
		if (k->made[a->term[i].reg])
			return false;
	return true;
}

static void look_addr(alone *k, hop_stmt *s, int i, bool sure)
{
	hop_addr *a = hop_stmt_addr(s, i);
	cell *c = &k->cell[a->buf];
	if (!c->count++) {
		k->list[k->nlist++] = a->buf;
		c->at = *a;
	}
	c->no = c->no || !is_fixed(k, s, a) || !hop_addr_eq(a, &c->at);
	c->write |= hop_stmt_access(s, i) & HOP_WRITE;
	c->sure |= sure;
}

static void look(alone *k, hop_block *b, bool sure)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int n = hop_stmt_blocks(s, sub);
		for (int i = 0; hop_stmt_addr(s, i); i++)
			look_addr(k, s, i, sure);
		for (int i = 0; i < n; i++)
			look(k, sub[i], false);
	}
}

/* What a while asks before its first step surely happens; and so has what stood before the steps. */
static void look_steps(alone *k, const hop_block *b, hop_stmt *steps)
{
	hop_stmt *next = steps->next;
	steps->next = NULL;
	hop_block_defs(&(hop_block){ steps, steps }, mark, k->made);
	steps->next = next;
	for (int i = 0; hop_stmt_addr(steps, i); i++)
		look_addr(k, steps, i, false);
	look(k, &steps->other, steps->kind == HOP_L_WHILE);
	look(k, &steps->body, false);
	for (hop_stmt *s = b->first; s != steps; s = s->next) {
		hop_addr *a = s->kind == HOP_L_OP ? hop_stmt_addr(s, 0) : NULL;
		if (a && s->na <= (s->sop == HOP_SOP_store) && k->cell[a->buf].count &&
		    hop_addr_eq(a, &k->cell[a->buf].at))
			k->cell[a->buf].sure = true;
	}
}

/* ---- what may be kept ---- */

static bool is_memory(const hop_dfunc *d, int buf)
{
	const hop_lbuf *b = &d->f->buf[buf];
	for (int i = 0; i < d->f->nlocal; i++)
		if (d->f->local[i] == buf)
			return false;
	return b->kind == HOP_BUF_PARAM || (b->kind == HOP_BUF_TEMP && b->space != HOP_SPACE_LOCAL &&
	                                    b->space != HOP_SPACE_OWN && b->space != HOP_SPACE_SHARED);
}

/* Nothing else of the iteration is in its bytes, if either is written. */
static bool is_own(const alone *k, int buf)
{
	for (int i = 0; i < k->nlist; i++) {
		int j = k->list[i];
		if (j != buf && (k->cell[buf].write || k->cell[j].write) && hop_device_meet(k->d, buf, j))
			return false;
	}
	return true;
}

/* It is there, also if nobody comes to it in the end: an access surely happens, or the buffer has room
 * for what every iteration of the loop would find. */
static bool is_there(const alone *k, const cell *c)
{
	const hop_lbuf *b = &k->d->f->buf[c->at.buf];
	if (c->sure)
		return true;
	if (!hop_size_const(b->count) || !hop_size_const(c->at.offset) || c->at.offset.k < 0)
		return false;
	if (!c->at.nterm)
		return c->at.offset.k < b->count.k;
	hop_size stride = c->at.term[0].stride;
	return c->at.nterm == 1 && c->at.term[0].reg == k->loop->dst && hop_size_const(stride) &&
	       stride.k >= 0 && hop_size_const(k->loop->extent) && k->loop->extent.k > 0 &&
	       c->at.offset.k + (k->loop->extent.k - 1) * stride.k < b->count.k;
}

static bool is_kept(const alone *k, int buf)
{
	const cell *c = &k->cell[buf];
	return !c->no && is_memory(k->d, buf) && is_own(k, buf) && is_there(k, c);
}

/* ---- doing it ---- */

static void replace(void *user, hop_addr *a, bool is_write)
{
	const alone *k = user;
	(void)is_write;
	if (a->buf < k->nbuf && k->cell[a->buf].kept >= 0)
		*a = (hop_addr){ .buf = k->cell[a->buf].kept, .offset = hop_size_int(0) };
}

static hop_addr copy_of(hop_arena *a, hop_addr x)
{
	hop_addr y = { .buf = x.buf, .offset = x.offset };
	for (int i = 0; i < x.nterm; i++)
		hop_addr_add(a, &y, x.term[i].reg, x.term[i].stride);
	return y;
}

static void keep_one(alone *k, cell *c, hop_block *in, hop_block *out)
{
	hop_dfunc *d = k->d;
	hop_dtype t = d->f->buf[c->at.buf].dtype;
	hop_lbuild b = { .env = d->e, .a = d->a, .f = d->f, .loc = k->loop->loc };
	hop_addr mem = c->at;
	c->kept = hop_l_buf(&b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_LOCAL, .dtype = t,
		.count = hop_size_int(1), .offset = hop_size_int(0), .is_written = true });
	hop_addr own = { .buf = c->kept, .offset = hop_size_int(0) };
	hop_addr from = copy_of(d->a, mem);
	b.block = in;
	hop_l_store(&b, t, &own, hop_l_load(&b, t, &from));
	if (c->write) {
		hop_addr to = copy_of(d->a, mem);
		b.block = out;
		hop_l_store(&b, t, &to, hop_l_load(&b, t, &own));
	}
}

/* Copies around the steps, which follow `before` in b. */
static void put(hop_block *b, hop_stmt *before, hop_stmt *steps, const hop_block *in,
                const hop_block *out)
{
	if (in->first) {
		in->last->next = steps;
		*(before ? &before->next : &b->first) = in->first;
	}
	if (out->first) {
		out->last->next = steps->next;
		steps->next = out->first;
		b->last = b->last == steps ? out->last : b->last;
	}
}

static void keep(alone *k, hop_block *b, hop_stmt *before, hop_stmt *steps)
{
	hop_dfunc *d = k->d;
	hop_mark m = hop_mark_at(&d->e->tmp);
	hop_block in = { 0 }, out = { 0 };
	int words = 0;
	k->nbuf = d->f->nbuf;
	k->nlist = 0;
	k->cell = HOP_NEWN(&d->e->tmp, cell, k->nbuf);
	k->list = HOP_NEWN(&d->e->tmp, int, k->nbuf);
	k->made = HOP_NEWN(&d->e->tmp, bool, d->f->nreg + 1);
	look_steps(k, b, steps);
	for (int i = 0; i < k->nlist; i++) {
		cell *c = &k->cell[k->list[i]];
		int n = hop_dtype_bytes(d->f->buf[k->list[i]].dtype) > 4 ? 2 : 1;
		c->kept = -1;
		if (words + n > MOST || !is_kept(k, k->list[i]))
			continue;
		words += n;
		keep_one(k, c, &in, &out);
	}
	hop_stmt_all_addrs(d->f, steps, replace, k);
	put(b, before, steps, &in, &out);
	hop_rewind(&d->e->tmp, m);
}

/* From the outermost steps in: what changes with those may be the same for others inside. */
static void visit(alone *k, hop_block *b)
{
	hop_stmt *before = NULL, *next;
	for (hop_stmt *s = b->first; s; s = next) {
		hop_block *sub[2];
		int n = hop_stmt_blocks(s, sub);
		next = s->next;
		if (is_steps(s))
			keep(k, b, before, s);
		for (int i = 0; i < n; i++)
			visit(k, sub[i]);
		for (before = s; before->next != next;)        /* behind what goes back */
			before = before->next;
	}
}

void hop_device_keep_alone(hop_dfunc *d, hop_stmt *s)
{
	alone k = { .d = d, .loop = s };
	visit(&k, &s->body);
}
