/* fuse.c -- join sibling loops of equal extent, from the outside in, and put the loops
 * that only finish a matrix product into its template. Two loops may be one
 * when every element they share belongs to one iteration: its index has the loop's
 * variable with a stride that the rest of the index never exceeds. Afterwards forward.c
 * finds stores and loads side by side. Splits nothing and changes no order of iterations.
 *
 * needs: registers defined once.  keeps: meaning.  breaks: register numbers in order */
#include <string.h>

#include "loop/lower.h"

enum {
	MAXSTMT = 200, REACH = 64,
	TILE_OPS = 12,              /* statements of an epilogue */
	TILE_LARGE = 1 << 18        /* elements from which a pass over the product hurts */
};

typedef struct access { hop_addr *at; int buf; bool is_write; } access;

/* A statement of the block with all its accesses, nested ones too. */
typedef struct entry {
	hop_stmt *s;
	access   *acc;
	size_t    nacc, cap;
	int       nstmt;
	bool      inner;            /* has loops in it */
	bool      local;            /* writes a size symbol */
} entry;

typedef struct pass {
	hop_env   *e;
	hop_arena *a;
	hop_lfunc *f;
	const hop_range *range;
	hop_size  *extent;          /* [nreg+1] of loop variables; k = -1: not one */
	int       *mark;            /* [nreg+1] stamp of "defined inside" */
	int        stamp;
	bool       tile, tile_all;  /* second round: epilogues, and even small ones */
} pass;

/* ---- accesses ---- */

typedef struct collect_to { pass *p; entry *x; } collect_to;

static void collect_addr(void *user, hop_addr *a, bool is_write)
{
	collect_to *c = user;
	entry      *x = c->x;

	x->acc = hop_arena_grow(&c->p->e->tmp, x->acc, sizeof *x->acc, x->nacc + 1, &x->cap);
	x->acc[x->nacc++] = (access){ a, a->buf, is_write };
	for (int i = 0; is_write && i < c->p->f->nlocal; i++)
		x->local |= a->buf == c->p->f->local[i];
}

static void collect(pass *p, entry *x, hop_stmt *s, bool top)
{
	collect_to c = { p, x };
	hop_block *sub[2];
	int        k = hop_stmt_blocks(s, sub);

	hop_stmt_addrs(p->f, s, collect_addr, &c);
	if (s->kind == HOP_L_GROW) {
		x->acc = hop_arena_grow(&p->e->tmp, x->acc, sizeof *x->acc, x->nacc + 1, &x->cap);
		x->acc[x->nacc++] = (access){ NULL, s->buf, true };
	}
	x->nstmt++;
	x->inner |= !top && s->kind == HOP_L_LOOP;
	for (int i = 0; i < k; i++)
		for (hop_stmt *q = sub[i]->first; q; q = q->next)
			collect(p, x, q, false);
}

static entry describe(pass *p, hop_stmt *s)
{
	entry x = { .s = s };

	collect(p, &x, s, true);
	return x;
}

static bool clash(const entry *a, const entry *b, int *out_buf)
{
	for (size_t i = 0; i < a->nacc; i++)
		for (size_t j = 0; j < b->nacc; j++)
			if (a->acc[i].buf == b->acc[j].buf &&
			    (a->acc[i].is_write || b->acc[j].is_write)) {
				*out_buf = a->acc[i].buf;
				return true;
			}
	return false;
}

/* ---- registers ---- */

static bool defines(const hop_stmt *s, hop_reg r)
{
	if (!r)
		return false;
	if (s->kind == HOP_L_OP)
		return s->dst == r;
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		if (s->acc[i].result == r)
			return true;
	return false;
}

typedef struct reads { const hop_stmt *def; bool found; } reads;

static void reads_addr(void *user, hop_addr *a, bool is_write)
{
	reads *r = user;

	(void)is_write;
	for (int i = 0; i < a->nterm && !r->found; i++)
		r->found = defines(r->def, a->term[i].reg);
}

/* Does s, or what is in it, use a register that def defines? */
static bool depends(pass *p, hop_stmt *s, const hop_stmt *def)
{
	reads      r = { def, false };
	hop_block *sub[2];
	int        k = hop_stmt_blocks(s, sub);

	if (def->kind != HOP_L_OP && !(def->kind == HOP_L_LOOP && def->nacc))
		return false;
	hop_stmt_addrs(p->f, s, reads_addr, &r);
	r.found = r.found || defines(def, s->bound);
	for (int i = 0; i < s->na; i++)
		r.found = r.found || defines(def, s->a[i]);
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		r.found = r.found || defines(def, s->acc[i].init) ||
		          defines(def, s->acc[i].value);
	for (int i = 0; i < k && !r.found; i++)
		for (hop_stmt *q = sub[i]->first; q && !r.found; q = q->next)
			r.found = depends(p, q, def);
	return r.found;
}

/* May b, which follows a, go before it? */
static bool swaps(pass *p, const entry *a, const entry *b)
{
	int buf;

	if (a->local || b->local)
		return false;
	if (a->s->kind == HOP_L_EFFECT && b->s->kind == HOP_L_EFFECT)
		return false;
	return !clash(a, b, &buf) && !depends(p, b->s, a->s);
}

/* ---- legality ---- */

static void mark_block(pass *p, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks((hop_stmt *)s, sub);
		if (s->dst)
			p->mark[s->dst] = p->stamp;
		if (s->kind == HOP_L_LOOP) {
			p->extent[s->dst] = s->bound ? hop_size_of(-1) : s->extent;
			for (int i = 0; i < s->nacc; i++)
				p->mark[s->acc[i].result] = p->stamp;
		}
		if (s->kind == HOP_L_GEMM) {
			p->mark[s->gemm->em] = p->mark[s->gemm->en] = p->stamp;
			p->mark[s->gemm->ev] = p->stamp;
		}
		for (int i = 0; i < k; i++)
			mark_block(p, sub[i]);
	}
}

static bool nonneg(pass *p, hop_size s)
{
	if (hop_size_bad(s))
		return false;
	return hop_size_range(s, p->range, p->f->nsym + p->f->nlocal).lo >= 0;
}

/* The index without the loop variable: outer terms, and the range of the rest. */
typedef struct row {
	hop_addr outer;             /* offset 0 */
	hop_size stride, lo, hi;
} row;

static bool row_of(pass *p, const hop_addr *a, hop_reg var, row *out)
{
	bool has = false;

	if (!a)
		return false;
	*out = (row){ .outer.buf = a->buf, .lo = a->offset, .hi = a->offset };
	for (int i = 0; i < a->nterm; i++) {
		hop_reg  r = a->term[i].reg;
		hop_size s = a->term[i].stride;
		if (r == var) {
			out->stride = s;
			has = true;
		} else if (p->mark[r] != p->stamp) {
			out->outer.term[out->outer.nterm++] = a->term[i];
		} else {
			if (hop_size_is(p->extent[r], -1) || !nonneg(p, s))
				return false;
			hop_size last = hop_size_sub(p->e, p->extent[r], hop_size_of(1));
			out->hi = hop_size_add(p->e, out->hi, hop_size_mul(p->e, s, last));
		}
	}
	return has;
}

/* GEMM operands move by their strides as well: not seen through. */
static bool all_rows(pass *p, const entry *x, int buf, hop_reg var, row *first, bool *any)
{
	for (size_t i = 0; i < x->nacc; i++) {
		row r;
		if (x->acc[i].buf != buf)
			continue;
		if (!row_of(p, x->acc[i].at, var, &r))
			return false;
		if (!*any) {
			*first = r;
			*any = true;
			continue;
		}
		if (!hop_addr_eq(&r.outer, &first->outer) ||
		    !hop_size_eq(r.stride, first->stride))
			return false;
		if (nonneg(p, hop_size_sub(p->e, first->lo, r.lo)))
			first->lo = r.lo;
		else if (!nonneg(p, hop_size_sub(p->e, r.lo, first->lo)))
			return false;
		if (nonneg(p, hop_size_sub(p->e, r.hi, first->hi)))
			first->hi = r.hi;
		else if (!nonneg(p, hop_size_sub(p->e, first->hi, r.hi)))
			return false;
	}
	return true;
}

static bool has_kind(const hop_block *b, enum hop_lkind k)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        n = hop_stmt_blocks((hop_stmt *)s, sub);
		if (s->kind == k)
			return true;
		for (int i = 0; i < n; i++)
			if (has_kind(sub[i], k))
				return true;
	}
	return false;
}

static bool rows_apart(pass *p, const entry *a, const entry *b, int buf)
{
	row  r = { 0 };
	bool any = false;

	if (!all_rows(p, a, buf, a->s->dst, &r, &any) ||
	    !all_rows(p, b, buf, b->s->dst, &r, &any))
		return false;
	/* lo <= rest <= hi < lo + stride */
	hop_size gap = hop_size_sub(p->e, hop_size_add(p->e, r.lo, r.stride), r.hi);
	return nonneg(p, hop_size_sub(p->e, gap, hop_size_of(1)));
}

static bool is_nest(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ && !s->bound;
}

static bool joins(pass *p, const entry *a, const entry *b)
{
	bool shared = false;

	if (!is_nest(a->s) || !is_nest(b->s) || !hop_size_eq(a->s->extent, b->s->extent))
		return false;
	if (a->nstmt + b->nstmt > MAXSTMT || a->local || b->local)
		return false;
	if (depends(p, b->s, a->s))
		return false;
	if (has_kind(&a->s->body, HOP_L_GEMM) || has_kind(&b->s->body, HOP_L_GEMM))
		return false;
	p->stamp++;
	mark_block(p, &a->s->body);
	mark_block(p, &b->s->body);
	for (size_t i = 0; i < a->nacc; i++)
		for (size_t j = 0; j < b->nacc; j++) {
			if (a->acc[i].buf != b->acc[j].buf)
				continue;
			shared = true;
			if (!a->acc[i].is_write && !b->acc[j].is_write)
				continue;
			if (!rows_apart(p, a, b, a->acc[i].buf))
				return false;
		}
	/* loops of different depth gain nothing from each other unless they share data */
	return shared || a->inner == b->inner;
}

/* ---- joining ---- */

static void rename_addr(void *user, hop_addr *a, bool is_write)
{
	hop_reg *r = user;

	(void)is_write;
	for (int i = 0; i < a->nterm; i++)
		if (a->term[i].reg == r[0])
			a->term[i].reg = r[1];
}

static void rename_in(pass *p, hop_block *b, hop_reg *r)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		hop_stmt_addrs(p->f, s, rename_addr, r);
		if (s->bound == r[0])
			s->bound = r[1];
		for (int i = 0; i < s->na; i++)
			if (s->a[i] == r[0])
				s->a[i] = r[1];
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++) {
			if (s->acc[i].init == r[0])
				s->acc[i].init = r[1];
			if (s->acc[i].value == r[0])
				s->acc[i].value = r[1];
		}
		for (int i = 0; i < k; i++)
			rename_in(p, sub[i], r);
	}
}

static void join(pass *p, entry *a, entry *b)
{
	hop_stmt *x = a->s, *y = b->s;
	hop_reg   r[2] = { y->dst, x->dst };

	rename_in(p, &y->body, r);
	if (x->body.last)
		x->body.last->next = y->body.first;
	else
		x->body.first = y->body.first;
	if (y->body.last)
		x->body.last = y->body.last;
	if (y->nacc) {
		hop_acc *c = HOP_NEWN(p->a, hop_acc, x->nacc + y->nacc);
		for (int i = 0; i < x->nacc; i++)
			c[i] = x->acc[i];
		for (int i = 0; i < y->nacc; i++) {
			c[x->nacc + i] = y->acc[i];
			if (y->acc[i].value == r[0])
				c[x->nacc + i].value = r[1];
		}
		x->acc = c;
		x->nacc += y->nacc;
		x->loop = HOP_LOOP_RED;
	}
	*a = describe(p, x);
}

/* ---- epilogues ---- */

/* The loops of an epilogue: one over all of m*n, or two. */
typedef struct tiling {
	hop_stmt *rows, *cols;      /* rows NULL: cols runs through both */
	hop_addr  c;                /* an element of the product, by their variables */
} tiling;

static bool only_ops(const hop_block *b, const hop_stmt *end, int max)
{
	const hop_stmt *s = b->first;

	for (; s && s != end && max-- > 0; s = s->next)
		if (s->kind != HOP_L_OP)
			return false;
	return s == end;
}

static bool fits(pass *p, const hop_gemm *g, hop_stmt *s, tiling *t)
{
	hop_stmt *in = s->body.last;

	if (s->loop != HOP_LOOP_PAR || s->bound || g->c.nterm > HOP_MAXTERM - 2)
		return false;
	*t = (tiling){ NULL, s, g->c };
	if (in && in->kind == HOP_L_LOOP) {
		if (in->loop != HOP_LOOP_PAR || in->bound || !only_ops(&s->body, in, 4) ||
		    !hop_size_eq(s->extent, g->m) || !hop_size_eq(in->extent, g->n))
			return false;
		t->rows = s;
		t->cols = in;
		t->c.term[t->c.nterm].reg = s->dst;
		t->c.term[t->c.nterm++].stride = g->cs[0];
	} else if (!hop_size_eq(s->extent, hop_size_mul(p->e, g->m, g->n)) ||
	           !hop_size_is(g->cs[1], 1) || !hop_size_eq(g->cs[0], g->n)) {
		return false;
	}
	t->c.term[t->c.nterm].reg = t->cols->dst;
	t->c.term[t->c.nterm++].stride = g->cs[1];
	return only_ops(&t->cols->body, NULL, MAXSTMT);
}

typedef struct tally { int buf, nread, nwrite; } tally;

static void tally_addr(void *user, hop_addr *a, bool is_write)
{
	tally *t = user;

	if (a->buf == t->buf)
		*(is_write ? &t->nwrite : &t->nread) += 1;
}

static void tally_block(hop_lfunc *f, hop_block *b, tally *t)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		hop_stmt_addrs(f, s, tally_addr, t);
		for (int i = 0; i < k; i++)
			tally_block(f, sub[i], t);
	}
}

/* Measured: with the product still in cache, a loop of its own beats an epilogue, which
 * takes registers from the tile. */
static bool pays(const hop_gemm *g, const hop_block *b)
{
	int n = 0;

	for (const hop_stmt *s = b->first; s; s = s->next, n++)
		if (s->sop >= HOP_SOP_exp && s->sop <= HOP_SOP_sqrt)
			return false;
	return n <= TILE_OPS && hop_size_const(g->m) && hop_size_const(g->n) &&
	       g->m.k * g->n.k >= TILE_LARGE;
}

/* The product goes nowhere but into these loops, which write nothing that it reads. */
static bool finishes(pass *p, const entry *a, const entry *b, const tiling *t)
{
	const hop_gemm *g = a->s->gemm;
	tally           n = { g->c.buf, 0, 0 };
	int             here = 0;

	if (p->f->buf[g->c.buf].kind != HOP_BUF_TEMP || b->local)
		return false;
	for (size_t i = 0; i < b->nacc; i++) {
		int buf = b->acc[i].buf;
		if (b->acc[i].is_write && (buf == g->a.buf || buf == g->b.buf || buf == g->c.buf))
			return false;
		if (buf == g->c.buf && !hop_addr_eq(b->acc[i].at, &t->c))
			return false;
		here += buf == g->c.buf;
	}
	tally_block(p->f, &p->f->body, &n);
	return here > 0 && n.nread == here && n.nwrite == 1;
}

/* r in one loop over m*n becomes row * n + column. */
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

static void split_all(pass *p, hop_block *b, hop_reg r, hop_reg row, hop_size n)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (s->sop != HOP_SOP_load && s->sop != HOP_SOP_store)
			continue;
		hop_addr *a = &s->u.addr;
		int       i = hop_addr_term(a, r);
		if (i < 0)
			continue;
		a->term[a->nterm].reg = row;
		a->term[a->nterm++].stride = hop_size_mul(p->e, a->term[i].stride, n);
	}
}

static bool tile(pass *p, entry *a, entry *b)
{
	hop_gemm *g = a->s->gemm;
	tiling    t;

	if (a->s->kind != HOP_L_GEMM || b->s->kind != HOP_L_LOOP || g->beta ||
	    g->epilogue.first || !fits(p, g, b->s, &t) || !finishes(p, a, b, &t))
		return false;
	hop_block *body = &t.cols->body;
	hop_reg    r[2] = { t.cols->dst, 0 };
	if ((!t.rows && !splits(body, r[0])) || (!p->tile_all && !pays(g, body)))
		return false;
	g->em = ++p->f->nreg;
	g->en = ++p->f->nreg;
	g->ev = ++p->f->nreg;
	for (hop_stmt **at = &body->first, *prev = NULL; *at;) {   /* the sum is a register */
		hop_stmt *s = *at;
		if (s->sop != HOP_SOP_load || s->u.addr.buf != g->c.buf) {
			prev = s;
			at = &s->next;
			continue;
		}
		*at = s->next;
		if (body->last == s)
			body->last = prev;
		rename_in(p, body, (hop_reg[]){ s->dst, g->ev });
	}
	if (t.rows) {
		hop_stmt *s = t.rows->body.first;
		rename_in(p, &t.rows->body, (hop_reg[]){ t.rows->dst, g->em });
		if (s != t.cols) {
			while (s->next != t.cols)
				s = s->next;
			s->next = body->first;
			body->first = t.rows->body.first;
		}
	} else {
		split_all(p, body, r[0], g->em, g->n);
	}
	r[1] = g->en;
	rename_in(p, body, r);
	g->epilogue = *body;
	g->c.nterm = 0;
	g->c.offset = hop_size_of(0);
	*a = describe(p, a->s);
	return true;
}

/* ---- blocks ---- */

static void relink(hop_block *b, entry *x, int n)
{
	b->first = b->last = NULL;
	for (int i = 0; i < n; i++) {
		x[i].s->next = NULL;
		if (b->last)
			b->last->next = x[i].s;
		else
			b->first = x[i].s;
		b->last = x[i].s;
	}
}

static void move(entry *x, int from, int to)
{
	entry t = x[from];

	memmove(&x[to + 1], &x[to], sizeof *x * (size_t)(from - to));
	x[to] = t;
}

/* Scalars before the loops they do not need, so that loops become neighbours. */
static void raise(pass *p, entry *x, int n)
{
	for (int j = 1; j < n; j++) {
		int at = j, i = j;
		if (x[j].s->kind != HOP_L_OP || x[j].s->sop == HOP_SOP_store)
			continue;
		if (x[j].s->sop == HOP_SOP_size &&
		    hop_size_nsym(x[j].s->u.size) > p->f->nsym)
			continue;
		while (i > 0 && j - i < 4 * REACH && swaps(p, &x[i - 1], &x[j])) {
			i--;
			if (x[i].s->kind != HOP_L_OP)
				at = i;
		}
		if (at < j)
			move(x, j, at);
	}
}

static void block(pass *p, hop_block *b)
{
	hop_mark m = hop_mark_at(&p->e->tmp);
	int      n = 0, k = 0;

	for (hop_stmt *s = b->first; s; s = s->next)
		n++;
	entry *x = HOP_NEWN(&p->e->tmp, entry, n);
	for (hop_stmt *s = b->first; s; s = s->next)
		x[k++] = describe(p, s);
	raise(p, x, n);
	for (int j = 1; j < n; j++) {
		if (!is_nest(x[j].s))
			continue;
		for (int i = j - 1; i >= 0 && j - i <= REACH; i--) {
			bool done = p->tile ? tile(p, &x[i], &x[j]) : joins(p, &x[i], &x[j]);
			if (done) {
				if (!p->tile)
					join(p, &x[i], &x[j]);
				memmove(&x[j], &x[j + 1], sizeof *x * (size_t)(n - j - 1));
				n--;
				j--;
				break;
			}
			if (!swaps(p, &x[i], &x[j]))
				break;
		}
	}
	relink(b, x, n);
	hop_rewind(&p->e->tmp, m);
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		k = hop_stmt_blocks(s, sub);
		for (int i = 0; i < k; i++)
			block(p, sub[i]);
	}
}

static int count_tiles(hop_block *b)
{
	int n = 0;

	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int        k = hop_stmt_blocks(s, sub);
		n += s->kind == HOP_L_GEMM;
		for (int i = 0; i < k; i++)
			n += count_tiles(sub[i]);
	}
	return n;
}

static void run(hop_env *e, hop_arena *a, hop_lfunc *f, const hop_range *r, bool tile,
                bool tile_all)
{
	hop_mark m = hop_mark_at(&e->tmp);
	pass     p = { .e = e, .a = a, .f = f, .range = r, .tile = tile,
	              .tile_all = tile_all };
	int      nreg = f->nreg + 3 * count_tiles(&f->body);

	p.extent = HOP_NEWN(&e->tmp, hop_size, nreg + 1);
	p.mark = HOP_NEWN(&e->tmp, int, nreg + 1);
	for (int i = 0; i <= nreg; i++)
		p.extent[i] = hop_size_of(-1);
	block(&p, &f->body);
	hop_rewind(&e->tmp, m);
}

void hop_loop_fuse(hop_env *e, hop_arena *a, hop_lfunc *f, const hop_range *r)
{
	run(e, a, f, r, false, false);
}

void hop_loop_tile(hop_env *e, hop_arena *a, hop_lfunc *f, const hop_range *r, bool all)
{
	run(e, a, f, r, true, all);
}
