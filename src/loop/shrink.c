/* shrink.c -- a temporary that lives inside one iteration of a parallel loop shrinks to what one
 * iteration needs: the row of a matrix that is used row by row. Where threads may share the loop,
 * each of its blocks has a slice, and blocks are made by the number of iterations alone. Does
 * not join loops so that more would fit: fuse.c has done that.
 *
 * Why it is right. Iterations are independent, so an element that one has written is read by
 * no other. An address is stride * i + rest, where rest takes the same values for every i; it
 * is in bounds for the first i and for the last, and the buffer has stride elements for each: so
 * rest is in 0 .. stride-1.
 *
 * needs: bound loops.  keeps: meaning.  fills: slices; breaks: counts of temporaries */
#include "loop/lower.h"

typedef struct usage {
	int      n;                  /* accesses in the loop */
	bool     ok;
	hop_size stride;             /* of the loop's variable, in all of them */
} usage;

/* A register: may differ between iterations; the same, but only up to a limit that does not. */
enum { CAPPED = 1, MADE = 2 };

typedef struct shrink {
	hop_env     *e;
	hop_lfunc   *f;
	bool         threads;
	int         *all;            /* [nbuf] accesses in the function */
	usage       *use;            /* [nbuf] in the loop */
	int         *met;            /* [nbuf] buffers that the loop uses */
	int          nmet;
	uint8_t     *made;           /* by register, slices too; 0 = the same for all iterations */
	hop_stmt    *loop;
	bool         maybe;          /* under a condition */
} shrink;

static void count(void *user, hop_addr *a, bool is_write)
{
	shrink *p = user;
	(void)is_write;
	p->all[a->buf]++;
}

/* ---- looking at a loop ---- */

/* It may be left as it was. */
static bool masked(const hop_stmt *s)
{
	return s->kind == HOP_L_OP && s->sop == HOP_SOP_store && s->na > 1;
}

/* The same for all iterations but for the loop's variable, which has one term. */
static bool fits(const shrink *p, const hop_addr *a, hop_size *stride)
{
	int n = 0;
	for (int i = 0; i < a->nterm; i++) {
		if (a->term[i].reg == p->loop->dst) {
			*stride = a->term[i].stride;
			n++;
		} else if (p->made[a->term[i].reg] || hop_size_nsym(a->term[i].stride) > p->f->nsym) {
			return false;
		}
	}
	return n == 1 && hop_size_nsym(a->offset) <= p->f->nsym;
}

static void look_addr(shrink *p, const hop_stmt *s, const hop_addr *a, int access)
{
	usage *u = &p->use[a->buf];
	hop_size stride = hop_size_int(0);
	if (!u->n++) {
		p->met[p->nmet++] = a->buf;
		u->ok = access == HOP_WRITE;     /* nothing is left from before */
	}
	if (!u->ok)
		return;
	u->ok = !p->maybe && !masked(s) && fits(p, a, &stride) &&
	        (u->n == 1 || hop_size_eq(stride, u->stride));
	u->stride = stride;
}

static void look_def(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	(void)t;
	if (def)
		((uint8_t *)user)[*r] = MADE;
}

static void forget_def(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	(void)t;
	if (def)
		((uint8_t *)user)[*r] = 0;
}

/* The same of the positions that a tile has. */
static void look_holes(shrink *p, const hop_tile *t)
{
	for (int i = 0; i < t->of->nextent; i++)
		if (hop_size_nsym(t->extent[i]) > p->f->nsym)
			return;
	for (int i = 0; i < t->of->nhole; i++)
		for (int k = 0; k < t->of->hole[i].npos; k++)
			p->made[t->hole[i].reg[k]] = 0;
}

/* Computed from what is the same rest each time: so is it. An index that is clamped (min, then max)
 * could be any of its range each time, and is in bounds with all of them. */
static uint8_t made_by(const shrink *p, const hop_stmt *s)
{
	bool same = s->sop != HOP_SOP_load &&
	            !(s->sop == HOP_SOP_size && hop_size_nsym(s->u.size) > p->f->nsym), any = false;
	uint8_t most = 0;
	for (int i = 0; i < s->na; i++) {
		uint8_t m = p->made[s->a[i]];
		any |= !m;
		most = m > most ? m : most;
	}
	if (!same || (most && !any))
		return MADE;
	if (s->sop == HOP_SOP_min && most)
		return CAPPED;
	return s->sop == HOP_SOP_max && most == CAPPED ? 0 : most ? MADE : 0;
}

/* Variables of loops that run alike every time are the same rest each time. */
static void look_vars(shrink *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_OP && s->sop != HOP_SOP_store)
			p->made[s->dst] = made_by(p, s);
		if (s->kind == HOP_L_LOOP && hop_size_nsym(s->extent) <= p->f->nsym &&
		    !(s->bound && p->made[s->bound]))
			p->made[s->dst] = 0;
		if (s->kind == HOP_L_TILE)
			look_holes(p, s->tile);
		for (int i = 0; i < k; i++)
			look_vars(p, sub[i]);
	}
}

static void look_block(shrink *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		bool was = p->maybe;
		hop_addr *a;
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
			look_addr(p, s, a, hop_stmt_access(s, i));
		p->maybe |= s->kind == HOP_L_IF || s->kind == HOP_L_WHILE;
		for (int i = 0; i < k; i++)
			look_block(p, sub[i]);
		p->maybe = was;
	}
}

/* ---- changing it ---- */

typedef struct change { int buf; hop_reg loop, slice; hop_size stride; } change;

static void change_addr(void *user, hop_addr *a, bool is_write)
{
	const change *c = user;
	(void)is_write;
	if (a->buf != c->buf)
		return;
	int i = hop_addr_term(a, c->loop);
	a->term[i] = c->slice ? (hop_term){ c->slice, c->stride } : a->term[--a->nterm];
}

static bool is_local(const hop_lfunc *f, int buf)
{
	for (int i = 0; i < f->nlocal; i++)
		if (f->local[i] == buf)
			return true;
	return false;
}

/* Whole lines of the cache: threads that share one would wait for each other. */
static hop_size whole_lines(hop_env *e, hop_size n, hop_dtype d)
{
	hop_size line = hop_size_int(64 / (int64_t)hop_dtype_bytes(d));
	n = hop_size_add(e, n, hop_size_sub(e, line, hop_size_int(1)));
	return hop_size_mul(e, hop_size_div(e, n, line), line);
}

/* Slices are worth it when there are fewer than iterations. */
static void shrink_buf(shrink *p, int buf)
{
	hop_stmt *s = p->loop;
	hop_lbuf *b = &p->f->buf[buf];
	const usage *u = &p->use[buf];
	bool steps = s->loop == HOP_LOOP_SEQ;
	bool forked = p->threads && !steps && (s->bind.thread || s->bind.blocks);
	hop_size blocks = hop_size_int(HOP_BLOCKS);
	if (!u->ok || u->n != p->all[buf] || b->kind != HOP_BUF_TEMP || is_local(p->f, buf) ||
	    !hop_size_eq(b->count, hop_size_mul(p->e, s->extent, u->stride)) ||
	    (hop_size_const(s->extent) && s->extent.k <= (forked ? HOP_BLOCKS : 1)))
		return;
	change c = { .buf = buf, .loop = s->dst };
	b->count = u->stride;
	b->is_private = true;
	s->bind.ordered = !steps;
	if (forked) {
		if (!s->bind.slice)
			s->bind.slice = ++p->f->nreg;
		c.slice = s->bind.slice;
		c.stride = whole_lines(p->e, u->stride, b->dtype);
		b->count = hop_size_mul(p->e, hop_size_min(p->e, s->extent, blocks), c.stride);
	}
	hop_stmt_all_addrs(p->f, s, change_addr, &c);
}

static void shrink_loop(shrink *p, hop_stmt *s)
{
	p->loop = s;
	p->nmet = 0;
	hop_stmt_regs(s, look_def, p->made);
	look_vars(p, &s->body);
	look_block(p, &s->body);
	hop_stmt_regs(s, forget_def, p->made);
	for (int i = 0; i < p->nmet; i++) {
		shrink_buf(p, p->met[i]);
		p->use[p->met[i]] = (usage){ 0 };
	}
}

/* A loop whose iterations are lanes has many at once; the loops in it too. shared: threads go
 * through the steps around, each with iterations of its own. */
static void shrink_block(shrink *p, hop_block *b, bool shared)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind == HOP_L_LOOP && s->bind.width)
			continue;
		if (s->kind == HOP_L_LOOP && !s->bound && !shared &&
		    hop_size_nsym(s->extent) <= p->f->nsym)
			shrink_loop(p, s);
		for (int i = 0; i < k; i++)
			shrink_block(p, sub[i], s->kind == HOP_L_LOOP && s->apart && s->bind.thread);
	}
}

void hop_loop_shrink(hop_env *e, const hop_machine *m, hop_lfunc *f)
{
	hop_mark at = hop_mark_at(&e->tmp);
	shrink p = { .e = e, .f = f, .threads = m->threads };
	p.all = HOP_NEWN(&e->tmp, int, f->nbuf);
	p.use = HOP_NEWN(&e->tmp, usage, f->nbuf);
	p.met = HOP_NEWN(&e->tmp, int, f->nbuf);
	p.made = HOP_NEWN(&e->tmp, uint8_t, f->nreg + 1 + hop_block_count(&f->body));
	for (hop_stmt *s = f->body.first; s; s = s->next)
		hop_stmt_all_addrs(f, s, count, &p);
	shrink_block(&p, &f->body, false);
	hop_rewind(&e->tmp, at);
}
