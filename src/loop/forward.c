/* forward.c -- within blocks: a load of what was just stored or loaded takes the register,
 * equal operations become one, and what nobody reads goes away: registers, temporaries,
 * empty loops. Moves nothing between blocks. */
#include <string.h>

#include "loop/lower.h"

/* Addresses of one buffer that differ by a constant at most have one form: elements of it at
 * different constants are different. */
typedef struct form { int buf; } form;

/* An element whose value is in a register, since `time`, while the block is open. */
typedef struct held { hop_reg reg; int time, block; } held;

/* The last writes to a buffer. What is held lives on when all of them since had its form. */
typedef struct writes {
	const form *last;           /* form of the latest */
	int         at, other;      /* its time; that of the latest of another form */
	int         all;            /* the latest that may be anywhere */
} writes;

/* Equal operations: valid while the block they are in is open. */
typedef struct same { hop_reg reg; int block; } same;

typedef struct pass {
	hop_env   *e;
	hop_lfunc *f;
	hop_reg   *map;             /* [nreg+1] replaced by; 0 = itself */
	int       *nuse;            /* [nreg+1] */
	int       *nread;           /* [nbuf] */
	hop_map    forms, held, ops;
	writes    *writes;          /* [nbuf] */
	int        time;            /* counts writes and what is held */
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

static const form *form_of(pass *p, const hop_addr *a)
{
	struct { int64_t buf, e; struct { int64_t reg, k, e; } t[HOP_MAXTERM]; } key;
	size_t nb = 16 + (size_t)a->nterm * sizeof key.t[0];

	memset(&key, 0, sizeof key);
	key.buf = a->buf;
	memcpy(&key.e, &a->offset.e, sizeof a->offset.e);
	for (int i = 0; i < a->nterm; i++) {             /* in the order of registers */
		int k = i;
		for (; k > 0 && key.t[k - 1].reg > a->term[i].reg; k--)
			key.t[k] = key.t[k - 1];
		memset(&key.t[k], 0, sizeof key.t[k]);
		key.t[k].reg = a->term[i].reg;
		key.t[k].k = a->term[i].stride.k;
		memcpy(&key.t[k].e, &a->term[i].stride.e, sizeof a->term[i].stride.e);
	}
	form *m = hop_map_get(&p->forms, &key, nb);
	if (!m) {
		m = HOP_NEW(&p->e->tmp, form);
		m->buf = a->buf;
		hop_map_put(&p->forms, &key, nb, m);
	}
	return m;
}

typedef struct spot { const form *form; int64_t k; } spot;

static spot spot_of(pass *p, const hop_addr *a)
{
	return (spot){ form_of(p, a), a->offset.k };
}

/* A write anywhere in the buffer. */
static void kill(pass *p, int buf)
{
	p->writes[buf].all = ++p->time;
}

static void wrote(pass *p, const form *m)
{
	writes *w = &p->writes[m->buf];
	if (w->last != m)
		w->other = w->at;
	w->last = m;
	w->at = ++p->time;
}

static bool holds(const pass *p, const form *m, const held *h)
{
	const writes *w = &p->writes[m->buf];
	return p->open[h->block] && h->time > w->all &&
	       h->time > (w->last == m ? w->other : w->at);
}

static void kill_write(void *user, hop_addr *a, bool is_write)
{
	if (is_write)
		kill(user, a->buf);
}

static void kill_inside(pass *p, hop_stmt *s)
{
	hop_block *sub[2];
	int k = hop_stmt_blocks(s, sub);
	hop_stmt_addrs(p->f, s, kill_write, p);
	if (s->kind == HOP_L_GROW)
		kill(p, s->buf);
	for (int i = 0; i < k; i++)
		for (hop_stmt *q = sub[i]->first; q; q = q->next)
			kill_inside(p, q);
}

static void hold(pass *p, spot at, hop_reg r, int block)
{
	held *h = hop_map_get(&p->held, &at, sizeof at);
	if (!h) {
		h = HOP_NEW(&p->e->tmp, held);
		hop_map_put(&p->held, &at, sizeof at, h);
	}
	*h = (held){ r, ++p->time, block };
}

/* True if the load is known. */
static bool known_load(pass *p, hop_stmt *s, int block)
{
	spot at = spot_of(p, &s->u.addr);
	const held *h = hop_map_get(&p->held, &at, sizeof at);
	if (h && holds(p, at.form, h)) {
		p->map[s->dst] = h->reg;
		return true;
	}
	hold(p, at, s->dst, block);
	return false;
}

/* A masked one leaves the element in no register. */
static void store(pass *p, const hop_stmt *s, int block)
{
	spot at = spot_of(p, &s->u.addr);
	held *h = hop_map_get(&p->held, &at, sizeof at);
	wrote(p, at.form);
	if (s->na == 1)
		hold(p, at, s->a[0], block);
	else if (h)
		h->time = 0;
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
	int k = hop_stmt_blocks(s, sub);
	kill_inside(p, s);
	for (int i = 0; i < k; i++)
		forward(p, sub[i]);
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		s->acc[i].value = follow(p, s->acc[i].value);
	if (s->kind == HOP_L_WHILE)
		s->a[0] = follow(p, s->a[0]);
}

static void forward(pass *p, hop_block *b)
{
	int id = block_open(p);
	hop_stmt *prev = NULL;
	for (hop_stmt *s = b->first; s; s = s->next) {
		bool gone = false;
		if (s->kind != HOP_L_WHILE)
			follow_stmt(p, s);
		if (s->kind == HOP_L_OP && s->sop == HOP_SOP_load) {
			gone = !s->na && known_load(p, s, id);
		} else if (s->kind == HOP_L_OP && s->sop == HOP_SOP_store) {
			store(p, s, id);
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

/* What the statement itself uses, once more or (by -1) once less. */
static void count_stmt(pass *p, hop_stmt *s, int by)
{
	hop_addr *a;
	for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
		if (hop_stmt_access(s, i) & HOP_READ)
			p->nread[a->buf] += by;
		for (int k = 0; k < a->nterm; k++)
			p->nuse[a->term[k].reg] += by;
	}
	p->nuse[s->bound] += by;
	for (int i = 0; i < s->na; i++)
		p->nuse[s->a[i]] += by;
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++) {
		p->nuse[s->acc[i].init] += by;
		p->nuse[s->acc[i].value] += by;
	}
}

static void count(pass *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		count_stmt(p, s, 1);
		for (int i = 0; i < k; i++)
			count(p, sub[i]);
	}
}

/* Nobody reads what the statement itself writes. */
static bool unread(pass *p, hop_stmt *s)
{
	hop_addr *a;
	for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
		if (hop_stmt_access(s, i) & HOP_WRITE &&
		    (p->f->buf[a->buf].kind != HOP_BUF_TEMP || p->nread[a->buf]))
			return false;
	return true;
}

static bool useless(pass *p, hop_stmt *s)
{
	switch (s->kind) {
	case HOP_L_OP:
		return s->sop == HOP_SOP_store ? unread(p, s) : !p->nuse[s->dst];
	case HOP_L_LOOP:
		for (int i = 0; i < s->nacc; i++)
			if (!p->nuse[s->acc[i].result]) {
				p->nuse[s->acc[i].init]--;
				p->nuse[s->acc[i].value]--;
				s->acc[i--] = s->acc[--s->nacc];
				p->changed = true;
			}
		if (s->loop == HOP_LOOP_RED && !s->nacc && s->body.first)
			s->loop = HOP_LOOP_PAR;
		return !s->nacc && !s->body.first;
	case HOP_L_IF:
		return !s->body.first && !s->other.first;
	case HOP_L_TILE:
		return !hop_tile_filled(s->tile) && unread(p, s);
	default:
		return false;
	}
}

/* From the end: what only the dropped used is met after them. */
static void sweep(pass *p, hop_block *b)
{
	hop_mark m = hop_mark_at(&p->e->tmp);
	hop_stmt **all, *kept = NULL;
	int n = 0;
	for (hop_stmt *s = b->first; s; s = s->next)
		n++;
	all = HOP_NEWN(&p->e->tmp, hop_stmt *, n);
	n = 0;
	for (hop_stmt *s = b->first; s; s = s->next)
		all[n++] = s;
	b->last = NULL;
	while (n-- > 0) {
		hop_stmt *s = all[n];
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		bool tile = s->kind == HOP_L_TILE && hop_tile_filled(s->tile);
		for (int i = k; i-- > 0;)
			sweep(p, sub[i]);
		/* a hole that stores nothing would mean: do what is done without */
		tile = tile && !hop_tile_filled(s->tile);
		if (tile || useless(p, s)) {
			if (!tile)               /* it was counted as another statement */
				count_stmt(p, s, -1);
			p->changed = true;
			continue;
		}
		s->next = kept;
		kept = s;
		if (!b->last)
			b->last = s;
	}
	b->first = kept;
	hop_rewind(&p->e->tmp, m);
}

void hop_loop_forward(hop_env *e, hop_arena *a, hop_lfunc *f)
{
	hop_mark m = hop_mark_at(&e->tmp);
	pass p = { .e = e, .f = f, .forms.a = &e->tmp, .held.a = &e->tmp,
	           .ops.a = &e->tmp };
	(void)a;
	p.map = HOP_NEWN(&e->tmp, hop_reg, f->nreg + 1);
	p.nuse = HOP_NEWN(&e->tmp, int, f->nreg + 1);
	p.nread = HOP_NEWN(&e->tmp, int, f->nbuf);
	p.writes = HOP_NEWN(&e->tmp, writes, f->nbuf);
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
