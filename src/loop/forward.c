/* forward.c -- within blocks: a load of what was just stored or loaded takes the register,
 * equal operations become one, and what nobody reads goes away: registers, temporaries,
 * empty loops. Moves nothing between blocks. */
#include <string.h>

#include "loop/lower.h"

/* An element whose value is in a register. */
typedef struct held {
	hop_addr at;
	hop_reg  reg;
} held;

/* Equal operations: valid while the block they are in is open. */
typedef struct same { hop_reg reg; int block; } same;

typedef struct pass {
	hop_env   *e;
	hop_lfunc *f;
	hop_reg   *map;             /* [nreg+1] replaced by; 0 = itself */
	int       *nuse;            /* [nreg+1] */
	int       *nread;           /* [nbuf] */
	held      *held;
	size_t     nheld, capheld;
	hop_map    ops;
	bool      *open;            /* [block] */
	size_t     capopen;
	int        nblock;
	bool       changed;
} pass;

static hop_reg follow(pass *p, hop_reg r)
{
	while (r && p->map[r])
		r = p->map[r];
	return r;
}

static void follow_addr(void *user, hop_addr *a, bool is_write)
{
	(void)is_write;
	for (int i = 0; i < a->nterm; i++)
		a->term[i].reg = follow(user, a->term[i].reg);
}

static void follow_stmt(pass *p, hop_stmt *s)
{
	hop_stmt_addrs(p->f, s, follow_addr, p);
	s->bound = follow(p, s->bound);
	for (int i = 0; i < s->na; i++)
		s->a[i] = follow(p, s->a[i]);
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		s->acc[i].init = follow(p, s->acc[i].init);
}

/* Addresses of one buffer that differ by a constant are different elements. */
static bool apart(const hop_addr *a, const hop_addr *b)
{
	hop_addr c = *b;

	if (a->offset.e != b->offset.e || a->offset.k == b->offset.k)
		return false;
	c.offset = a->offset;
	return hop_addr_eq(a, &c);
}

static void kill(pass *p, const hop_addr *a, bool whole)
{
	size_t n = 0;

	for (size_t i = 0; i < p->nheld; i++)
		if (p->held[i].at.buf != a->buf || (!whole && apart(&p->held[i].at, a)))
			p->held[n++] = p->held[i];
	p->nheld = n;
}

static void kill_write(void *user, hop_addr *a, bool is_write)
{
	if (is_write)
		kill(user, a, true);
}

static void kill_inside(pass *p, hop_stmt *s)
{
	hop_block *sub[2];
	int        k = hop_stmt_blocks(s, sub);

	hop_stmt_addrs(p->f, s, kill_write, p);
	if (s->kind == HOP_L_GROW)
		kill(p, &(hop_addr){ .buf = s->buf }, true);
	for (int i = 0; i < k; i++)
		for (hop_stmt *q = sub[i]->first; q; q = q->next)
			kill_inside(p, q);
}

static void hold(pass *p, const hop_addr *a, hop_reg r)
{
	p->held = hop_arena_grow(&p->e->tmp, p->held, sizeof *p->held, p->nheld + 1,
	                         &p->capheld);
	p->held[p->nheld++] = (held){ *a, r };
}

/* True if the load is known. */
static bool known_load(pass *p, hop_stmt *s)
{
	for (size_t i = p->nheld; i-- > 0;)
		if (hop_addr_eq(&p->held[i].at, &s->u.addr)) {
			p->map[s->dst] = p->held[i].reg;
			return true;
		}
	hold(p, &s->u.addr, s->dst);
	return false;
}

static bool known_op(pass *p, hop_stmt *s, int block)
{
	struct { int32_t sop, d, a[3], pad; int64_t k, e; } key;

	memset(&key, 0, sizeof key);
	key.sop = s->sop;
	key.d = s->dtype;
	for (int i = 0; i < s->na; i++)
		key.a[i] = s->a[i];
	if (s->sop == HOP_SOP_constf) {
		memcpy(&key.k, &s->u.f, sizeof key.k);
	} else if (s->sop == HOP_SOP_consti) {
		key.k = s->u.i;
	} else if (s->sop == HOP_SOP_size) {
		if (hop_size_nsym(s->u.size) > p->f->nsym)
			return false;
		key.k = s->u.size.k;
		memcpy(&key.e, &s->u.size.e, sizeof s->u.size.e);
	}
	same *o = hop_map_get(&p->ops, &key, sizeof key);
	if (o && p->open[o->block]) {
		p->map[s->dst] = o->reg;
		return true;
	}
	o = HOP_NEW(&p->e->tmp, same);
	*o = (same){ s->dst, block };
	hop_map_put(&p->ops, &key, sizeof key, o);
	return false;
}

static int block_open(pass *p)
{
	p->open = hop_arena_grow(&p->e->tmp, p->open, sizeof *p->open, (size_t)p->nblock + 1,
	                         &p->capopen);
	p->open[p->nblock] = true;
	return p->nblock++;
}

static void drop(hop_block *b, hop_stmt *prev, hop_stmt *s)
{
	if (prev)
		prev->next = s->next;
	else
		b->first = s->next;
	if (b->last == s)
		b->last = prev;
}

static void forward(pass *p, hop_block *b);

/* The test of a loop may be entered from its body, so nothing written in either holds. */
static void nested(pass *p, hop_stmt *s)
{
	hop_block *sub[2];
	int        k = hop_stmt_blocks(s, sub);

	kill_inside(p, s);
	size_t n = p->nheld;
	held  *was = hop_arena_dup(&p->e->tmp, p->held, n * sizeof *was);
	for (int i = 0; i < k; i++) {
		forward(p, sub[i]);
		p->nheld = 0;
		for (size_t j = 0; j < n; j++)
			hold(p, &was[j].at, was[j].reg);
	}
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		s->acc[i].value = follow(p, s->acc[i].value);
	if (s->kind == HOP_L_WHILE)
		s->a[0] = follow(p, s->a[0]);
}

static void forward(pass *p, hop_block *b)
{
	int       id = block_open(p);
	hop_stmt *prev = NULL;

	for (hop_stmt *s = b->first; s; s = s->next) {
		bool gone = false;
		if (s->kind != HOP_L_WHILE)
			follow_stmt(p, s);
		if (s->kind == HOP_L_OP && s->sop == HOP_SOP_load) {
			gone = !s->na && known_load(p, s);
		} else if (s->kind == HOP_L_OP && s->sop == HOP_SOP_store) {
			kill(p, &s->u.addr, false);
			if (s->na == 1)
				hold(p, &s->u.addr, s->a[0]);
		} else if (s->kind == HOP_L_OP) {
			gone = known_op(p, s, id);
		} else {
			nested(p, s);
		}
		if (gone) {
			drop(b, prev, s);
			p->changed = true;
		} else {
			prev = s;
		}
	}
	p->open[id] = false;
}

/* ---- what nobody reads ---- */

static void use_addr(void *user, hop_addr *a, bool is_write)
{
	pass *p = user;

	if (!is_write)
		p->nread[a->buf]++;
	for (int i = 0; i < a->nterm; i++)
		p->nuse[a->term[i].reg]++;
}

static void count(pass *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		hop_stmt_addrs(p->f, s, use_addr, p);
		if (s->kind == HOP_L_GEMM && s->gemm->beta)
			p->nread[s->gemm->c.buf]++;
		p->nuse[s->bound]++;
		for (int i = 0; i < s->na; i++)
			p->nuse[s->a[i]]++;
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++) {
			p->nuse[s->acc[i].init]++;
			p->nuse[s->acc[i].value]++;
		}
		for (int i = 0; i < k; i++)
			count(p, sub[i]);
	}
}

static bool useless(pass *p, hop_stmt *s)
{
	const hop_lbuf *b;

	switch (s->kind) {
	case HOP_L_OP:
		if (s->sop != HOP_SOP_store)
			return !p->nuse[s->dst];
		b = &p->f->buf[s->u.addr.buf];
		return b->kind == HOP_BUF_TEMP && !p->nread[s->u.addr.buf];
	case HOP_L_LOOP:
		for (int i = 0; i < s->nacc; i++)
			if (!p->nuse[s->acc[i].result])
				s->acc[i--] = s->acc[--s->nacc];
		if (s->loop == HOP_LOOP_RED && !s->nacc && s->body.first)
			s->loop = HOP_LOOP_PAR;
		return !s->nacc && !s->body.first;
	case HOP_L_IF:
		return !s->body.first && !s->other.first;
	case HOP_L_GEMM:
		b = &p->f->buf[s->gemm->c.buf];
		return !s->gemm->epilogue.first && b->kind == HOP_BUF_TEMP &&
		       !p->nread[s->gemm->c.buf];
	default:
		return false;
	}
}

static void sweep(pass *p, hop_block *b)
{
	hop_stmt *prev = NULL;

	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		bool       tile = s->kind == HOP_L_GEMM && s->gemm->epilogue.first;
		for (int i = 0; i < k; i++)
			sweep(p, sub[i]);
		/* an epilogue that stores nothing would mean: store the sum */
		if (useless(p, s) || (tile && !s->gemm->epilogue.first)) {
			drop(b, prev, s);
			p->changed = true;
		} else {
			prev = s;
		}
	}
}

void hop_loop_forward(hop_env *e, hop_arena *a, hop_lfunc *f)
{
	hop_mark m = hop_mark_at(&e->tmp);
	pass     p = { .e = e, .f = f, .ops.a = &e->tmp };

	(void)a;
	p.map = HOP_NEWN(&e->tmp, hop_reg, f->nreg + 1);
	p.nuse = HOP_NEWN(&e->tmp, int, f->nreg + 1);
	p.nread = HOP_NEWN(&e->tmp, int, f->nbuf);
	forward(&p, &f->body);
	for (p.changed = true; p.changed;) {
		p.changed = false;
		memset(p.nuse, 0, sizeof *p.nuse * ((size_t)f->nreg + 1));
		if (f->nbuf)
			memset(p.nread, 0, sizeof *p.nread * (size_t)f->nbuf);
		count(&p, &f->body);
		for (int i = 0; i < f->nlocal; i++)
			p.nread[f->local[i]]++;
		sweep(&p, &f->body);
	}
	hop_rewind(&e->tmp, m);
}
