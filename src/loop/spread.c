/* spread.c -- steps that have nothing to do with each other, as those of a map: a loop in order becomes a
 * parallel one, so that blocks of a device share its steps. What one step needs for itself gets room for
 * all of them. Does not ask whether a step alone would fill the device but by its number of steps.
 *
 * needs: fused loops, no carries yet.  keeps: what is computed */
#include "loop/lower.h"
#include "loop/walk.h"

enum {
	STEPS = 16,                  /* fewer are not worth it */
	WIDE = 1 << 16,              /* elements of a buffer of one step: more fill the device alone */
	ROOM = 1 << 28               /* bytes of one buffer for all steps */
};

typedef struct spread {
	hop_env   *e;
	hop_arena *a;
	hop_lfunc *f;
	hop_stmt  *seq;
	int64_t    least;            /* steps */
	int64_t   *most;             /* [nreg+1] iterations of the loop whose variable it is; 0 = not known */
	int        buf;
	hop_reg    var;              /* slices are looked for along it */
	int64_t    size;             /* of a slice; 0 = none seen yet */
	int64_t    lo, hi;           /* of an element in its slice */
	bool       ok;
	int        nread, nwrite;
} spread;

/* ---- who touches what ---- */

static void count(void *user, hop_addr *a, bool is_write)
{
	spread *p = user;
	p->nread += !is_write && a->buf == p->buf;
	p->nwrite += is_write && a->buf == p->buf;
}

static bool touches(spread *p, hop_stmt *s)
{
	p->nread = p->nwrite = 0;
	hop_stmt_all_addrs(p->f, s, count, p);
	return p->nread || p->nwrite;
}

static void know(spread *p, hop_reg r, hop_size n)
{
	p->most[r] = hop_size_const(n) && n.k > 0 ? n.k : 0;
}

/* What loops and tiles count; false: a statement that asks the run time, or calls. */
static bool know_all(spread *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		if (s->kind != HOP_L_OP && s->kind != HOP_L_LOOP && s->kind != HOP_L_IF && s->kind != HOP_L_TILE)
			return false;
		if (s->ncarry)
			return false;
		if (s->kind == HOP_L_LOOP)
			know(p, s->dst, s->extent);
		for (int i = 0; s->kind == HOP_L_TILE && i < s->tile->of->nhole; i++)
			for (int q = 0; s->tile->hole[i].body.first && q < s->tile->of->hole[i].npos; q++)
				know(p, s->tile->hole[i].reg[q], s->tile->extent[s->tile->of->hole[i].pos[q]]);
		for (int i = 0; i < k; i++)
			if (!know_all(p, sub[i]))
				return false;
	}
	return true;
}

/* ---- slices ---- */

static void reach(spread *p, hop_size stride, int64_t n, int64_t *lo, int64_t *hi)
{
	double far = hop_size_const(stride) ? (double)stride.k * (double)(n - 1) : 1e18;
	if (n < 1 || far > 1e15 || far < -1e15) {
		p->ok = false;
		return;
	}
	*(far < 0 ? lo : hi) += (int64_t)far;
}

/* An element is at var * size + something that is less, for all accesses. */
static void see(spread *p, const hop_stmt *s, const hop_addr *a, const hop_targ *t, int arg)
{
	int i = hop_addr_term(a, p->var);
	int64_t lo, hi, size = i < 0 || !hop_size_const(a->term[i].stride) ? 0 : a->term[i].stride.k;
	p->ok &= size > 0 && hop_size_const(a->offset) && (!p->size || p->size == size);
	if (!p->ok)
		return;
	lo = hi = a->offset.k;
	for (int k = 0; k < a->nterm; k++)
		if (k != i)
			reach(p, a->term[k].stride, p->most[a->term[k].reg], &lo, &hi);
	for (int k = 0; t && k < s->tile->of->arg[arg].naxis; k++) {
		hop_size n = s->tile->extent[s->tile->of->arg[arg].axis[k]];
		reach(p, t->stride[k], hop_size_const(n) ? n.k : 0, &lo, &hi);
	}
	p->lo = !p->size || lo < p->lo ? lo : p->lo;
	p->hi = !p->size || hi > p->hi ? hi : p->hi;
	p->size = size;
}

static void see_all(spread *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s && p->ok; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		bool mem = s->kind == HOP_L_OP && (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store);
		if (mem && s->u.addr.buf == p->buf)
			see(p, s, &s->u.addr, NULL, 0);
		for (int i = 0; s->kind == HOP_L_TILE && i < s->tile->of->narg; i++)
			if (s->tile->arg[i].access && s->tile->arg[i].at.buf == p->buf)
				see(p, s, &s->tile->arg[i].at, &s->tile->arg[i], i);
		for (int i = 0; i < k; i++)
			see_all(p, sub[i]);
	}
}

/* Iterations of var touch the buffer each in a slice of its own; gives its size, or 0. */
static int64_t slice(spread *p, hop_block *b, hop_reg var)
{
	p->var = var;
	p->size = p->lo = p->hi = 0;
	p->ok = true;
	see_all(p, b);
	return p->ok && p->size && p->hi - p->lo < p->size ? p->size : 0;
}

/* ---- written before it is read ---- */

static bool tile_writes(const spread *p, const hop_tile *t, int64_t n)
{
	const hop_targ *c = hop_tile_out((hop_tile *)(uintptr_t)t);
	hop_size rows = t->extent[t->of->hole[0].pos[0]], cols = t->extent[t->of->hole[0].pos[1]];
	return c && t->of->nhole && t->of->hole[0].npos == 2 && c->at.buf == p->buf && c->access == HOP_WRITE &&
	       hop_size_const(rows) && hop_size_const(cols) && rows.k * cols.k == n &&
	       hop_size_is(c->stride[1], 1) && hop_size_eq(c->stride[0], cols);
}

/* The first statement of b that touches the buffer writes all n elements that there are for it. */
static bool fresh(spread *p, hop_block *b, int64_t n)
{
	hop_stmt *s = b->first;
	while (s && !touches(p, s))
		s = s->next;
	if (!s)
		return false;
	if (s->kind == HOP_L_OP)
		return s->sop == HOP_SOP_store && s->na == 1 && n == 1;
	if (s->kind == HOP_L_TILE)
		return !p->nread && tile_writes(p, s->tile, n);
	if (s->kind != HOP_L_LOOP || s->bound || !p->most[s->dst])
		return false;
	int64_t each = slice(p, &s->body, s->dst), trips = p->most[s->dst];
	if (!each || each * trips != n)
		return false;
	p->most[s->dst] = 1;                   /* in one iteration */
	bool ok = fresh(p, &s->body, each);
	p->most[s->dst] = trips;
	return ok;
}

/* ---- all buffers ---- */

/* Nobody outside of the loop touches it. */
static bool is_inside(spread *p)
{
	for (hop_stmt *s = p->f->body.first; s; s = s->next)
		if (s != p->seq && touches(p, s))
			return false;
	for (int i = 0; i < p->f->nlocal; i++)
		if (p->f->local[i] == p->buf)
			return false;
	return true;
}

enum way { NO, AS_IT_IS, WITH_ROOM };

static enum way way_of(spread *p)
{
	const hop_lbuf *b = &p->f->buf[p->buf];
	if (!touches(p, p->seq) || (!p->nwrite && !b->alias))
		return AS_IT_IS;
	if (b->kind == HOP_BUF_TAPE || b->alias)
		return NO;
	if (slice(p, &p->seq->body, p->seq->dst))
		return AS_IT_IS;
	bool fits = b->kind == HOP_BUF_TEMP && hop_size_const(b->count) && b->count.k > 0 &&
	            b->count.k <= WIDE &&
	            b->count.k * p->most[p->seq->dst] <= ROOM / (int64_t)hop_dtype_bytes(b->dtype);
	return fits && is_inside(p) && fresh(p, &p->seq->body, b->count.k) ? WITH_ROOM : NO;
}

static bool has_room(spread *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		hop_addr *a;
		int k = hop_stmt_blocks(s, sub);
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
			if (a->nterm > HOP_MAXTERM - 3)
				return false;
		for (int i = 0; i < k; i++)
			if (!has_room(p, sub[i]))
				return false;
	}
	return true;
}

static void move(void *user, hop_addr *a, bool is_write)
{
	spread *p = user;
	(void)is_write;
	if (a->buf == p->buf && hop_addr_term(a, p->seq->dst) < 0)
		hop_addr_add(p->a, a, p->seq->dst, p->f->buf[p->buf].count);
}

static void try_loop(spread *p)
{
	hop_stmt *s = p->seq;
	uint8_t *way = HOP_NEWN(&p->e->tmp, uint8_t, p->f->nbuf);
	know(p, s->dst, s->extent);
	if (s->bound || s->ncarry || p->most[s->dst] < p->least || !know_all(p, &s->body) ||
	    !has_room(p, &s->body))
		return;
	for (p->buf = 0; p->buf < p->f->nbuf; p->buf++)
		if (!(way[p->buf] = way_of(p)))
			return;
	for (p->buf = 0; p->buf < p->f->nbuf; p->buf++)
		if (way[p->buf] == WITH_ROOM) {
			hop_lbuf *b = &p->f->buf[p->buf];
			hop_stmt_all_addrs(p->f, s, move, p);
			b->count = hop_size_mul(p->e, b->count, s->extent);
		}
	s->loop = HOP_LOOP_PAR;
	s->reverse = s->apart = false;
}

void hop_loop_spread(hop_env *e, hop_arena *a, const hop_machine *d, hop_lfunc *f)
{
	hop_mark m = hop_mark_at(&e->tmp);
	spread p = { .e = e, .a = a, .f = f, .least = d->small ? 2 : STEPS };
	for (hop_stmt *s = f->body.first; s; s = s->next)
		if (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ) {
			p.seq = s;
			p.most = HOP_NEWN(&e->tmp, int64_t, f->nreg + 1);
			try_loop(&p);
		}
	hop_rewind(&e->tmp, m);
}
