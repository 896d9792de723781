/* device_cut.c -- a run of statements of a host function as a kernel: with the operations that it needs
 * of what came before, what other kernels left for it in scratch, and no more registers and buffers
 * than it uses: so that a program of a thousand kernels is a thousand small functions.
 *
 * A register that a kernel needs and an earlier one made is made again where that gives the same for
 * certain, from sizes, constants and inputs that nobody writes, and takes few operations; else it goes
 * through scratch. */
#include "loop/device_cut.h"

#include <string.h>

enum {
	CELL = 8,                /* bytes of a register in scratch */
	AGAIN = 64               /* operations that are rather done again than their result kept */
};

/* ---- what can be made again ---- */

static bool is_input(const hop_cut *c, int buf)
{
	const hop_lbuf *b = &c->d.f->buf[buf];
	return b->kind == HOP_BUF_CONST || b->counts ||
	       (b->kind == HOP_BUF_PARAM && !b->is_written && !c->aliased[b->index]);
}

static bool has_locals(const hop_cut *c, hop_size s)
{
	return hop_size_nsym(s) > c->d.f->nsym;
}

/* What it rests on is the same whenever it is made. */
static bool is_same(const hop_cut *c, const hop_stmt *s)
{
	const hop_addr *a = &s->u.addr;
	if (s->sop == HOP_SOP_size)
		return !has_locals(c, s->u.size);
	bool ok = s->sop != HOP_SOP_load || (is_input(c, a->buf) && !has_locals(c, a->offset));
	for (int i = 0; s->sop == HOP_SOP_load && i < a->nterm; i++)
		ok = ok && !has_locals(c, a->term[i].stride);
	return ok;
}

static void add_price(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	hop_cut *c = user;
	(void)t;
	if (!def)
		c->price += c->again[*r] ? c->again[*r] : AGAIN;
}

/* In order of definition: operands are known. */
static void learn(hop_cut *c, hop_stmt *s)
{
	if (s->kind != HOP_L_OP || hop_sop_writes(s->sop))
		return;
	c->def[s->dst] = s;
	c->price = 1;
	hop_stmt_uses(s, add_price, c);
	c->again[s->dst] = (uint8_t)(is_same(c, s) && c->price <= AGAIN ? c->price : 0);
}

/* Loops of the host's list too: what is in them is cut as the rest. */
static void learn_block(hop_cut *c, const hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		learn(c, s);
		if (s->hosted)
			learn_block(c, &s->body);
	}
}

/* Room for a few buffers behind those of the function, which every kernel uses anew: hop_l_buf makes
 * a larger array when their number is a power of two. */
static void make_room(hop_dfunc *d)
{
	hop_lfunc *f = d->f;
	int n = 64;
	while (n < f->nbuf + 64)
		n *= 2;
	hop_lbuf *all = HOP_NEWN(d->a, hop_lbuf, n);
	memcpy(all, f->buf, (size_t)f->nbuf * sizeof *all);
	f->buf = all;
	while (f->nbuf <= n / 2)
		all[f->nbuf++] = (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_LOCAL };
}

void hop_cut_open(hop_cut *c, const hop_dfunc *d)
{
	const hop_lfunc *f = d->f;
	*c = (hop_cut){ .d = *d };
	make_room(&c->d);
	c->again = HOP_NEWN(&d->e->tmp, uint8_t, f->nreg + 1);
	c->def = HOP_NEWN(&d->e->tmp, hop_stmt *, f->nreg + 1);
	c->made = HOP_NEWN(&d->e->tmp, int, f->nreg + 1);
	c->slot = HOP_NEWN(&d->e->tmp, int64_t, f->nreg + 1);
	c->dtype = HOP_NEWN(&d->e->tmp, uint8_t, f->nreg + 1);
	c->aliased = HOP_NEWN(&d->e->tmp, bool, f->nin + f->nout + 1);
	for (int i = 0; i < f->nbuf; i++)
		if (f->buf[i].kind == HOP_BUF_PARAM && f->buf[i].alias)
			c->aliased[f->buf[i].alias - 1] = true;
	learn_block(c, &f->body);
}

bool hop_cut_is_again(const hop_cut *c, const hop_stmt *s)
{
	return s->kind == HOP_L_OP && !hop_sop_writes(s->sop) && c->again[s->dst];
}

/* ---- which registers cross ---- */

static void note_def(hop_cut *c, hop_reg r, hop_dtype t)
{
	c->made[r] = c->kernel;
	c->dtype[r] = (uint8_t)t;
}

static void note(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	hop_cut *c = user;
	if (def) {
		note_def(c, *r, t);
		return;
	}
	if (c->made[*r] != c->kernel && !c->again[*r] && !c->slot[*r]) {
		c->slot[*r] = 1 + c->spilled;
		c->spilled += CELL;
	}
}

void hop_cut_note(hop_cut *c, hop_stmt *first, const hop_stmt *end)
{
	c->kernel++;
	for (hop_stmt *s = first; s != end; s = s->next)
		hop_stmt_regs(s, note, c);
}

/* ---- making the kernel ---- */

static hop_addr slot_of(hop_cut *c, hop_lbuild *b, hop_reg r)
{
	hop_lbuf v = { .kind = HOP_BUF_TEMP, .space = HOP_SPACE_SCRATCH, .dtype = (hop_dtype)c->dtype[r],
	               .count = hop_size_int(1), .offset = hop_size_int(c->d.scratch + c->slot[r] - 1),
	               .is_written = true };
	return (hop_addr){ .buf = hop_l_buf(b, v), .offset = hop_size_int(0) };
}

typedef struct needs { hop_cut *c; hop_lbuild *b; } needs;

static void need_regs(needs *n, hop_stmt *s);

/* Make r known: again, or from its slot. */
static void need(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	needs *n = user;
	hop_cut *c = n->c;
	(void)t;
	if (def || c->made[*r] == c->kernel)
		return;
	c->made[*r] = c->kernel;
	if (c->again[*r]) {
		hop_stmt *s = hop_stmt_copy(c->d.a, c->def[*r]);
		need_regs(n, s);
		hop_block_append(n->b->block, s);
		return;
	}
	hop_addr a = slot_of(c, n->b, *r);
	hop_stmt *s = hop_l_stmt(n->b, HOP_L_OP);
	s->sop = HOP_SOP_load;
	s->dtype = c->dtype[*r];
	s->dst = *r;
	s->u.addr = a;
}

static void need_regs(needs *n, hop_stmt *s)
{
	hop_stmt_uses(s, need, n);
}

static void mark_def(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	hop_cut *c = user;
	(void)t;
	if (def)
		c->made[*r] = c->kernel;
}

/* Registers right in the run that others need. */
static void leave_regs(hop_cut *c, hop_lbuild *b, hop_stmt *first, const hop_stmt *end)
{
	for (hop_stmt *s = first; s != end; s = s->next) {
		int n = s->kind == HOP_L_LOOP ? s->nacc : s->kind == HOP_L_OP && s->dst ? 1 : 0;
		for (int i = 0; i < n; i++) {
			hop_reg r = s->kind == HOP_L_LOOP ? s->acc[i].result : s->dst;
			if (!c->slot[r])
				continue;
			hop_addr a = slot_of(c, b, r);
			hop_l_store(b, (hop_dtype)c->dtype[r], &a, r);
		}
	}
}

void hop_cut_make(hop_cut *c, hop_lfunc *k, hop_stmt *first, const hop_stmt *end)
{
	hop_dfunc *d = &c->d;
	hop_block head = { 0 }, own = { 0 };
	*k = *d->f;                        /* buffers keep their numbers until hop_cut_number */
	hop_lbuild b = { .env = d->e, .a = d->a, .f = k, .block = &head };
	needs n = { .c = c, .b = &b };
	c->kernel++;
	for (const hop_stmt *s = first; s != end; s = s->next)
		hop_block_append(&own, hop_stmt_copy(d->a, s));
	hop_block_regs(&own, mark_def, c);
	hop_block_regs(&own, need, &n);
	if (own.first) {
		if (head.last)
			head.last->next = own.first;
		else
			head.first = own.first;
		head.last = own.last;
	}
	b.block = &head;
	leave_regs(c, &b, first, end);
	k->body = head;
}

/* ---- fewer registers and buffers ---- */

static void reg_number(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	hop_cut *c = user;
	(void)t;
	(void)def;
	if (c->regstamp[*r] != c->stamp) {
		c->regstamp[*r] = c->stamp;
		c->regmap[*r] = ++c->nreg;
	}
	*r = c->regmap[*r];
}

static int buf_number(hop_cut *c, const hop_lfunc *k, int buf, hop_lbuild *b)
{
	if (c->bufstamp[buf] != c->stamp) {
		c->bufstamp[buf] = c->stamp;
		c->bufmap[buf] = hop_l_buf(b, k->buf[buf]);
		c->was[c->bufmap[buf]] = buf;
	}
	return c->bufmap[buf];
}

typedef struct bufs { hop_cut *c; const hop_lfunc *k; hop_lbuild *b; } bufs;

static void buf_addr(void *user, hop_addr *a, bool is_write)
{
	bufs *u = user;
	(void)is_write;
	a->buf = buf_number(u->c, u->k, a->buf, u->b);
}

static void grow_bufs(bufs *u, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_GROW)
			s->buf = buf_number(u->c, u->k, s->buf, u->b);
		for (int i = 0; i < k; i++)
			grow_bufs(u, sub[i]);
	}
}

static void ensure(hop_cut *c, const hop_lfunc *k)
{
	hop_arena *t = &c->d.e->tmp;
	if (c->nregcap <= k->nreg) {
		c->nregcap = 2 * k->nreg + 64;
		c->regmap = HOP_NEWN(t, int, c->nregcap);
		c->regstamp = HOP_NEWN(t, int, c->nregcap);
	}
	if (c->nbufcap <= k->nbuf) {
		c->nbufcap = 2 * k->nbuf + 64;
		c->bufmap = HOP_NEWN(t, int, c->nbufcap);
		c->bufstamp = HOP_NEWN(t, int, c->nbufcap);
		c->was = HOP_NEWN(t, int, c->nbufcap);
	}
}

void hop_cut_number(hop_cut *c, hop_lfunc *k)
{
	hop_lfunc own = *k;
	hop_lbuild b = { .env = c->d.e, .a = c->d.a, .f = &own };
	bufs u = { .c = c, .k = k, .b = &b };
	ensure(c, k);
	c->stamp++;
	own.buf = NULL;
	own.nbuf = 0;
	c->nreg = 0;
	hop_block_regs(&k->body, reg_number, c);
	for (hop_stmt *s = k->body.first; s; s = s->next)
		hop_stmt_all_addrs(k, s, buf_addr, &u);
	grow_bufs(&u, &k->body);
	own.local = HOP_NEWN(c->d.a, int, k->nlocal);
	for (int i = 0; i < k->nlocal; i++)
		own.local[i] = buf_number(c, k, k->local[i], &b);
	own.nreg = c->nreg;
	own.body = k->body;
	if (k->when)
		own.when = 1 + buf_number(c, k, k->when - 1, &b);
	*k = own;
}
