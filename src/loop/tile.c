/* tile.c -- what follows a tile moves into it: a copy or a sum of its result goes to its
 * destination at once; other loops over it may fill its first hole, as its epilogue. Where the
 * result is a matrix: the hole sees rows and columns. Joins no loops; fuse.c has done that. */
#include <string.h>

#include "loop/fuse.h"

enum {
	REACH = 64,
	FAR = 1024,                 /* statements to the only reader of a result */
	TILE_OPS = 12               /* statements of an epilogue */
};

/* The loops of an epilogue: one over all of rows * columns, or two. */
typedef struct tiling {
	hop_stmt *rows, *cols;      /* rows NULL: cols runs through both */
	hop_addr  c;                /* an element of the result, by their variables */
	bool      flip;             /* rows runs over the columns of the result */
} tiling;

static hop_size extent(const hop_tile *t, int i)
{
	return t->extent[t->of->hole[0].pos[i]];
}

/* Its result is a matrix, which may be finished or go elsewhere. */
static bool open(const hop_stmt *s)
{
	const hop_template *t = s->kind == HOP_L_TILE ? s->tile->of : NULL;
	return t && t->out && t->nhole && t->hole[0].npos == 2 && t->hole[0].nval == 1 &&
	       hop_tile_out(s->tile)->access == HOP_WRITE && !s->tile->hole[0].body.first;
}

static bool only_ops(const hop_block *b, const hop_stmt *end, int max)
{
	const hop_stmt *s = b->first;
	for (; s && s != end && max-- > 0; s = s->next)
		if (s->kind != HOP_L_OP)
			return false;
	return s == end;
}

static bool fits(hop_fpass *p, hop_tile *g, hop_stmt *s, bool flip, tiling *t)
{
	const hop_targ *c = hop_tile_out(g);
	hop_stmt *in = s->body.last;
	if (s->loop != HOP_LOOP_PAR || s->bound || c->at.nterm > HOP_MAXTERM - 2)
		return false;
	*t = (tiling){ NULL, s, c->at, flip };
	if (in && in->kind == HOP_L_LOOP) {
		if (in->loop != HOP_LOOP_PAR || in->bound || !only_ops(&s->body, in, 4) ||
		    !hop_size_eq(s->extent, extent(g, flip)) ||
		    !hop_size_eq(in->extent, extent(g, !flip)))
			return false;
		t->rows = s;
		t->cols = in;
		hop_addr_add(&p->e->tmp, &t->c, s->dst, c->stride[flip]);
	} else if (flip ||
	           !hop_size_eq(s->extent, hop_size_mul(p->e, extent(g, 0), extent(g, 1))) ||
	           !hop_size_is(c->stride[1], 1) || !hop_size_eq(c->stride[0], extent(g, 1))) {
		return false;
	}
	hop_addr_add(&p->e->tmp, &t->c, t->cols->dst, c->stride[!flip]);
	return only_ops(&t->cols->body, NULL, 200);
}

/* Accesses of every buffer in the function: counted once, then kept up to date. */
static void tally_addr(void *user, hop_addr *a, bool is_write)
{
	hop_ftally *t = user;
	*(is_write ? &t[a->buf].nwrite : &t[a->buf].nread) += 1;
}

/* Measured: with the result still in cache, a loop of its own beats an epilogue, which
 * takes registers from the tile. */
static bool pays(const hop_tile *g, const hop_block *b, int64_t cache)
{
	hop_size rows = extent(g, 0), cols = extent(g, 1);
	int n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next, n++)
		if (hop_sop_cost(s->sop, s->dtype) >= HOP_SOP_DEAR)
			return false;
	return n <= TILE_OPS && hop_size_const(rows) && hop_size_const(cols) &&
	       rows.k * cols.k >= cache / (int64_t)sizeof(float);
}

/* A product that a library does faster, by so much that a loop behind it is nothing: packed operands are
 * multiplied by units that the template does not use. To round and store the sums is the library's too.
 * It is only asked for what is a kernel of its own. */
static bool is_others(const hop_fpass *p, const hop_stmt *tile, const hop_block *b)
{
	enum { LARGE = 1 << 27 };       /* multiplications */
	const hop_tile *g = tile->tile;
	const hop_stmt *q = p->f->body.first;
	int n = 0;
	double w = 1;
	if (!g->arg[0].stored || g->arg[0].stored != g->arg[1].stored)
		return false;
	while (q && q != tile)
		q = q->next;
	for (int i = 0; i < g->of->nextent; i++)
		w *= hop_size_const(g->extent[i]) ? (double)g->extent[i].k : 1;
	for (const hop_stmt *s = b->first; s; s = s->next)
		n++;
	return q && w >= LARGE && n > 3;
}

/* Is the buffer one of the tile's operands? */
static bool operand(const hop_tile *g, int buf)
{
	for (int i = 0; i < g->of->narg; i++)
		if (g->arg[i].access && g->arg[i].at.buf == buf)
			return true;
	return false;
}

/* The result goes nowhere but into these loops, which write nothing that the tile reads. */
static bool finishes(hop_fpass *p, const hop_fentry *a, const hop_fentry *b,
                     const tiling *t)
{
	hop_tile *g = a->s->tile;
	int c = hop_tile_out(g)->at.buf, here = 0;
	hop_ftally *n = &p->tally[c];
	if (p->f->buf[c].kind != HOP_BUF_TEMP || b->local)
		return false;
	for (size_t i = 0; i < b->nacc; i++) {
		int buf = b->acc[i].buf;
		if (b->acc[i].is_write && operand(g, buf) && !p->f->buf[buf].turns)
			return false;
		if (buf == c && !hop_addr_eq(b->acc[i].at, &t->c))
			return false;
		here += buf == c;
	}
	return here > 0 && n->nread == here && n->nwrite == 1;
}

/* r in one loop over all elements becomes row * columns + column. */
static bool splits(hop_block *b, hop_reg r)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		bool mem = s->sop == HOP_SOP_load || s->sop == HOP_SOP_store;
		for (int i = 0; i < s->na; i++)
			if (s->a[i] == r)
				return false;
		if (mem && hop_addr_term(&s->u.addr, r) >= 0 &&
		    s->u.addr.nterm == HOP_MAXTERM)
			return false;
	}
	return true;
}

static void split_all(hop_fpass *p, hop_block *b, hop_reg r, hop_reg row, hop_size n)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (s->sop != HOP_SOP_load && s->sop != HOP_SOP_store)
			continue;
		hop_addr *a = &s->u.addr;
		int i = hop_addr_term(a, r);
		if (i >= 0)
			hop_addr_add(p->a, a, row, hop_size_mul(p->e, a->term[i].stride, n));
	}
}

/* Loads of the result become the value that the hole sees. */
static void take_value(hop_fpass *p, hop_block *body, int buf, hop_reg value)
{
	for (hop_stmt **at = &body->first, *prev = NULL; *at;) {
		hop_stmt *s = *at;
		if (s->sop != HOP_SOP_load || s->u.addr.buf != buf) {
			prev = s;
			at = &s->next;
			continue;
		}
		*at = s->next;
		if (body->last == s)
			body->last = prev;
		hop_fuse_rename(p, body, (hop_reg[]){ s->dst, value });
	}
}

/* The hole gets the loops' body, by row and column. */
static void fill(hop_fpass *p, hop_tile *g, const tiling *t)
{
	hop_block *body = &t->cols->body;
	hop_targ *c = hop_tile_out(g);
	hop_hole *h = &g->hole[0];
	hop_reg var = t->cols->dst;
	for (int i = 0; i < 3; i++)
		h->reg[i] = ++p->f->nreg;
	take_value(p, body, c->at.buf, h->reg[2]);
	if (t->rows) {
		hop_stmt *s = t->rows->body.first;
		hop_fuse_rename(p, &t->rows->body, (hop_reg[]){ t->rows->dst, h->reg[0] });
		if (s != t->cols) {
			while (s->next != t->cols)
				s = s->next;
			s->next = body->first;
			body->first = t->rows->body.first;
		}
	} else {
		split_all(p, body, var, h->reg[0], extent(g, 1));
	}
	hop_fuse_rename(p, body, (hop_reg[]){ var, h->reg[1] });
	h->body = *body;
	c->access = 0;
}

static bool tile(hop_fpass *p, hop_fentry *a, hop_fentry *b)
{
	hop_tile *g = a->s->tile;
	tiling t;
	if (!open(a->s) || b->s->kind != HOP_L_LOOP || !fits(p, g, b->s, false, &t) ||
	    !finishes(p, a, b, &t))
		return false;
	hop_block *body = &t.cols->body;
	if ((!t.rows && !splits(body, t.cols->dst)) || (!p->tile_all && !pays(g, body, p->cache)) ||
	    is_others(p, a->s, body))
		return false;
	p->tally[hop_tile_out(g)->at.buf] = (hop_ftally){ 0, 0 };
	fill(p, g, &t);
	*a = hop_fuse_describe(p, a->s);
	return true;
}

/* ---- destinations ---- */

static int uses_of(hop_block *b, hop_reg r, hop_stmt **out_user)
{
	int n = 0;
	for (hop_stmt *s = b->first; s; s = s->next) {
		bool mem = s->sop == HOP_SOP_load || s->sop == HOP_SOP_store;
		for (int i = 0; i < s->na; i++)
			if (s->a[i] == r) {
				*out_user = s;
				n++;
			}
		n += mem && hop_addr_term(&s->u.addr, r) >= 0;
	}
	return n;
}

static hop_stmt *def_of(hop_block *b, hop_reg r)
{
	for (hop_stmt *s = b->first; s; s = s->next)
		if (s->dst == r)
			return s;
	return NULL;
}

static void unlink_stmt(hop_block *b, hop_stmt *x)
{
	hop_stmt *prev = NULL;
	for (hop_stmt *s = b->first; s != x; s = s->next)
		prev = s;
	if (prev)
		prev->next = x->next;
	else
		b->first = x->next;
	if (b->last == x)
		b->last = prev;
}

/* load c; store o[a]   or   load c; load o[a]; add; store o[a] */
typedef struct sink { hop_stmt *load, *old, *add, *store; } sink;

static bool find_sink(hop_block *b, const tiling *t, sink *k)
{
	hop_stmt *u = NULL, *w = NULL;
	*k = (sink){ 0 };
	for (hop_stmt *s = b->first; s; s = s->next)
		if (s->sop == HOP_SOP_load && !s->na && hop_addr_eq(&s->u.addr, &t->c))
			k->load = s;
	if (!k->load || uses_of(b, k->load->dst, &u) != 1 || !u)
		return false;
	if (u->sop == HOP_SOP_store) {
		k->store = u;
		return u->na == 1;
	}
	if (u->sop != HOP_SOP_add || uses_of(b, u->dst, &k->store) != 1 || !k->store ||
	    k->store->sop != HOP_SOP_store || k->store->na != 1)
		return false;
	k->add = u;
	k->old = def_of(b, u->a[u->a[0] == k->load->dst]);
	return k->old && k->old->sop == HOP_SOP_load && !k->old->na && k->old != k->load &&
	       uses_of(b, k->old->dst, &w) == 1 &&
	       hop_addr_eq(&k->old->u.addr, &k->store->u.addr);
}

static bool touches(const hop_fentry *x, int buf)
{
	for (size_t i = 0; i < x->nacc; i++)
		if (x->acc[i].buf == buf)
			return true;
	return false;
}

/* The destination as rows and columns of the result; what is left is known before. */
static bool matrix(hop_fpass *p, const hop_fentry *x, int i, int j, const tiling *t,
                   hop_addr *o, hop_size *cs)
{
	int at = hop_addr_term(o, t->cols->dst);
	if (at < 0)
		return false;
	o->term = hop_arena_dup(p->a, o->term, (size_t)o->nterm * sizeof *o->term);
	cs[!t->flip] = o->term[at].stride;
	o->term[at] = o->term[--o->nterm];
	if (!t->rows)
		cs[0] = hop_size_mul(p->e, cs[1], extent(x[i].s->tile, 1));
	if (t->rows) {
		at = hop_addr_term(o, t->rows->dst);
		if (at < 0)
			return false;
		cs[t->flip] = o->term[at].stride;
		o->term[at] = o->term[--o->nterm];
	}
	for (int k = 0; k < o->nterm; k++) {
		hop_reg r = o->term[k].reg;
		for (int q = i + 1; q < j; q++)
			if (hop_fuse_defines(x[q].s, r))
				return false;
		if (def_of(&t->cols->body, r) || (t->rows && def_of(&t->rows->body, r)))
			return false;
	}
	return true;
}

static void redirect(hop_fpass *p, hop_fentry *x, int n, int i)
{
	hop_tile *g = x[i].s->tile;
	hop_targ *r = hop_tile_out(g);
	hop_ftally *c = &p->tally[r->at.buf];
	int j = i + 1, here = 0;
	tiling t;
	sink k;
	if (p->f->buf[r->at.buf].kind != HOP_BUF_TEMP || c->nread != 1 || c->nwrite != 1)
		return;
	while (j < n && j - i <= FAR && !touches(&x[j], r->at.buf))
		j++;
	if (j == n || j - i > FAR || x[j].s->kind != HOP_L_LOOP ||
	    !((fits(p, g, x[j].s, false, &t) && find_sink(&t.cols->body, &t, &k)) ||
	      (fits(p, g, x[j].s, true, &t) && find_sink(&t.cols->body, &t, &k))))
		return;
	hop_addr o = k.store->u.addr;
	hop_size cs[2];
	if (operand(g, o.buf) || p->f->buf[o.buf].dtype != g->dtype)
		return;
	for (int q = i + 1; q < j; q++)
		if (touches(&x[q], o.buf))
			return;
	for (size_t q = 0; q < x[j].nacc; q++)
		here += x[j].acc[q].buf == o.buf;
	if (here != (k.old ? 2 : 1) || !matrix(p, x, i, j, &t, &o, cs))
		return;
	*c = (hop_ftally){ 0, 0 };
	p->tally[o.buf].nread -= k.old != NULL;
	*r = (hop_targ){ o, { cs[0], cs[1] }, k.old ? HOP_READ | HOP_WRITE : HOP_WRITE, 0 };
	g->of->settle(g);
	unlink_stmt(&t.cols->body, k.load);
	unlink_stmt(&t.cols->body, k.store);
	if (k.old) {
		unlink_stmt(&t.cols->body, k.old);
		unlink_stmt(&t.cols->body, k.add);
	}
	x[i] = hop_fuse_describe(p, x[i].s);
	x[j] = hop_fuse_describe(p, x[j].s);
}

/* ---- blocks ---- */

/* x[j] joins a tile before it as its epilogue. */
static bool epilogue(hop_fpass *p, hop_fentry *x, int j)
{
	if (x[j].s->kind != HOP_L_LOOP)
		return false;
	for (int i = j - 1; i >= 0 && j - i <= REACH; i--) {
		if (tile(p, &x[i], &x[j]))
			return true;
		if (!hop_fuse_swaps(p, &x[i], &x[j]))
			return false;
	}
	return false;
}

static int epilogues(hop_fpass *p, hop_fentry *x, int all)
{
	int n = 0;
	for (int j = 0; j < all; j++) {      /* x[0..n) stay */
		x[n] = x[j];
		n += !epilogue(p, x, n);
	}
	return n;
}

static void block(hop_fpass *p, hop_block *b)
{
	hop_mark m = hop_mark_at(&p->e->tmp);
	int n, k;
	hop_fentry *x = hop_fuse_entries(p, b, &n);
	for (int i = 0; i < n; i++)
		if (open(x[i].s))
			redirect(p, x, n, i);
	n = epilogues(p, x, n);
	hop_fuse_relink(b, x, n);
	hop_rewind(&p->e->tmp, m);
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		k = hop_stmt_blocks(s, sub);
		for (int i = 0; i < k; i++)
			block(p, sub[i]);
	}
}

void hop_loop_tile(hop_env *e, hop_arena *a, hop_lfunc *f, const hop_range *r, int64_t cache,
                   bool all)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_fpass p = { .e = e, .a = a, .f = f, .range = r, .tile_all = all,
	                .cache = cache };
	p.tally = HOP_NEWN(&e->tmp, hop_ftally, f->nbuf);
	for (hop_stmt *s = f->body.first; s; s = s->next)
		hop_stmt_all_addrs(f, s, tally_addr, p.tally);
	block(&p, &f->body);
	hop_rewind(&e->tmp, m);
}
