/* interchange.c -- loops that go step by step, whose steps are one parallel loop of lanes that never
 * meet. Threads may then share the lanes and go through all steps, instead of waiting for each
 * other after every step: such a loop is marked. Where the steps of a lane are neighbours in
 * memory, the lane is the outer loop; where lanes are, and carry more than stays near, tiles of
 * them are. On a device many lanes are the outer loop, whatever lies beside what: each is a thread's.
 * Joins no loops so that more would fit: fuse.c has done that.
 *
 * Why it is right. Steps of one lane stay in order. An element that is written in the loop has
 * the address  big + stride * lane + rest,  where big is a multiple of stride * lanes and rest
 * spans less than stride, in all accesses alike: so two of them meet only where the lanes are the
 * same one. The numbers that choose are those of shapes, never of threads.
 *
 * needs: fused, collapsed loops, carries.  keeps: meaning.  fills: apart; breaks: register
 * numbers in order */
#include "loop/device.h"
#include "loop/fuse.h"
#include "loop/lanes.h"

enum {
	MANY = 1024,                 /* lanes that have use for more than a block of a device */
	MOST = 512,                  /* statements of a lane's step that one thread may well do, */
	PLENTY = 1 << 16,            /* unless there are so many lanes */
	BLOCK = 4096, SHORT = 32,    /* lanes that a block may well have, for steps that are not worth a
	                                kernel of their own */
	NEAR = 1 << 14,              /* bytes of a tile's carries: half of what is nearest */
	NEW = 8                      /* registers that a loop over tiles needs at most */
};

typedef struct swap {
	hop_fpass  p;
	const hop_machine *m;
	int        nest;             /* parallel loops around */
} swap;

static bool nonneg(const hop_fpass *p, hop_size s)
{
	return !hop_size_bad(s) && hop_size_range(s, p->range, p->f->nsym + p->f->nlocal).lo >= 0;
}

/* ---- may lanes go apart? ---- */

static void mark_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	hop_fpass *p = user;
	(void)t;
	if (!def)
		return;
	p->mark[*r] = p->stamp;
	p->extent[*r] = hop_size_int(-1);
	if (def->kind == HOP_L_LOOP && def->dst == *r)
		p->extent[*r] = def->extent;
}

/* What is left of an address without the lane: terms from outside, and the span of the rest. */
typedef struct row {
	hop_addr outer;
	hop_size stride, lo, hi;
} row;

static bool row_of(swap *w, const hop_addr *a, const hop_stmt *par, row *out)
{
	hop_fpass *p = &w->p;
	int at = a ? hop_addr_term(a, par->dst) : -1;
	hop_size q, all;
	if (at < 0)
		return false;
	*out = (row){ .outer.buf = a->buf, .lo = a->offset, .hi = a->offset,
	              .stride = a->term[at].stride };
	out->outer.term = HOP_NEWN(&p->e->tmp, hop_term, a->nterm);
	all = hop_size_mul(p->e, out->stride, par->extent);
	for (int i = 0; i < a->nterm; i++) {
		hop_reg r = a->term[i].reg;
		hop_size s = a->term[i].stride;
		if (i == at)
			continue;
		if (p->mark[r] != p->stamp) {
			out->outer.term[out->outer.nterm++] = a->term[i];
			continue;
		}
		if (hop_size_quot(p->e, s, all, &q))
			continue;
		if (hop_size_is(p->extent[r], -1) || !nonneg(p, s))
			return false;
		out->hi = hop_size_add(p->e, out->hi, hop_size_mul(p->e, s,
		                       hop_size_sub(p->e, p->extent[r], hop_size_int(1))));
	}
	return true;
}

static bool wider(const hop_fpass *p, row *all, const row *r)
{
	if (!hop_addr_eq(&r->outer, &all->outer) || !hop_size_eq(r->stride, all->stride))
		return false;
	if (nonneg(p, hop_size_sub(p->e, all->lo, r->lo)))
		all->lo = r->lo;
	else if (!nonneg(p, hop_size_sub(p->e, r->lo, all->lo)))
		return false;
	if (nonneg(p, hop_size_sub(p->e, r->hi, all->hi)))
		all->hi = r->hi;
	else if (!nonneg(p, hop_size_sub(p->e, all->hi, r->hi)))
		return false;
	return true;
}

/* No two lanes meet in buffer `buf`. */
static bool apart(swap *w, const hop_fentry *x, int buf, const hop_stmt *par)
{
	hop_fpass *p = &w->p;
	row all = { 0 }, r;
	bool any = false;
	for (size_t i = 0; i < x->nacc; i++) {
		if (x->acc[i].buf != buf)
			continue;
		if (!row_of(w, x->acc[i].at, par, &r) || (any && !wider(p, &all, &r)))
			return false;
		if (!any)
			all = r;
		any = true;
	}
	/* hi < lo + stride */
	hop_size gap = hop_size_sub(p->e, hop_size_add(p->e, all.lo, all.stride), all.hi);
	return nonneg(p, hop_size_sub(p->e, gap, hop_size_int(1)));
}

static bool plain(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind > HOP_L_WHILE || s->ncarry || !plain(&s->body) || !plain(&s->other))
			return false;
	return true;
}
_Static_assert(HOP_L_OP < HOP_L_WHILE && HOP_L_LOOP < HOP_L_WHILE && HOP_L_IF < HOP_L_WHILE &&
               HOP_L_TILE > HOP_L_WHILE, "operations and blocks of them");

/* The parallel loop that is all of the step but for operations before it, or NULL. */
static hop_stmt *only_loop(const hop_stmt *seq)
{
	hop_stmt *s = seq->body.first;
	while (s && s->kind == HOP_L_OP && s->sop != HOP_SOP_store)
		s = s->next;
	return s && !s->next && s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_PAR && !s->bound &&
	       s->body.first ? s : NULL;
}

static bool legal(swap *w, const hop_fentry *x, const hop_stmt *par)
{
	hop_fpass *p = &w->p;
	bool ok = !x->s->ncarry && plain(&x->s->body);
	p->stamp++;
	hop_stmt_regs(x->s, mark_reg, p);
	for (size_t i = 0; ok && i < x->nacc; i++)
		if (x->acc[i].is_write)
			ok = !p->f->buf[x->acc[i].buf].alias && apart(w, x, x->acc[i].buf, par);
	return ok;
}

hop_stmt *hop_steps_apart(hop_fpass *p, hop_stmt *seq)
{
	hop_mark m = hop_mark_at(&p->e->tmp);
	swap w = { .p = *p };
	hop_stmt *par = only_loop(seq);
	hop_fentry x = hop_fuse_describe(p, seq);
	par = par && legal(&w, &x, par) ? par : NULL;
	p->stamp = w.p.stamp;
	hop_rewind(&p->e->tmp, m);
	return par;
}

/* ---- does it pay, and in tiles of how many lanes? ---- */

static bool is_far(hop_env *e, hop_size a, hop_size b)
{
	hop_size q;
	if (hop_size_const(a) && hop_size_const(b))
		return a.k > b.k;
	return !hop_size_eq(a, b) && hop_size_quot(e, a, b, &q);
}

/* More accesses step through what is one lane's in memory than go from lane to lane. */
static bool runs_along(const swap *w, const hop_fentry *x, const hop_stmt *par)
{
	int along = 0;
	for (size_t i = 0; i < x->nacc; i++) {
		const hop_addr *a = x->acc[i].at;
		int t = hop_addr_term(a, x->s->dst), l = hop_addr_term(a, par->dst);
		if (t >= 0 && l >= 0)
			along += is_far(w->p.e, a->term[l].stride, a->term[t].stride) ? 1 : -1;
	}
	return along > 0;
}

/* Bytes that a lane carries from step to step. */
static double carried(swap *w, const hop_fentry *x, const hop_stmt *par)
{
	double n = 0;
	for (size_t i = 0; i < x->nacc; i++) {
		const hop_faccess *a = &x->acc[i];
		hop_size span;
		row r;
		if (!a->is_write || hop_addr_term(a->at, x->s->dst) >= 0 || !row_of(w, a->at, par, &r))
			continue;
		span = hop_size_sub(w->p.e, r.hi, r.lo);
		n += (hop_size_const(span) ? (double)span.k + 1 : HOP_SIZE_USUAL) *
		     (double)hop_dtype_bytes(w->p.f->buf[a->buf].dtype);
	}
	return n > 4 ? n : 4;
}

/* Lanes of a tile that is worth it; 0 = none. */
static int64_t tile_of(swap *w, const hop_fentry *x, const hop_stmt *par)
{
	double n = hop_loop_trips(par), each = carried(w, x, par);
	int64_t tile = (int64_t)(NEAR / each) / 64 * 64;
	if (w->nest || tile < 64 || n * each <= (double)hop_machine_cache(w->m) / 2)
		return 0;
	return tile;
}

/* Data choose what is written: device_order.c puts such steps side by side. Behind legal(). */
static bool is_chosen(const swap *w, const hop_fentry *x)
{
	const hop_fpass *p = &w->p;
	for (size_t i = 0; i < x->nacc; i++)
		for (int k = 0; x->acc[i].is_write && k < x->acc[i].at->nterm; k++) {
			hop_reg r = x->acc[i].at->term[k].reg;
			if (p->mark[r] == p->stamp && hop_size_is(p->extent[r], -1))
				return true;
		}
	return false;
}

/* On a device: a lane a thread. */
static bool by_threads(const swap *w, const hop_fentry *x, const hop_stmt *par)
{
	double n = hop_loop_trips(par);
	if (w->m->small)
		return n > (double)w->m->small && !is_chosen(w, x);
	bool many = n >= (hop_loop_trips(x->s) < SHORT ? BLOCK + 1 : MANY);
	return many && (n >= PLENTY || hop_nest_work(par) <= n * MOST) && !is_chosen(w, x);
}

/* ---- doing it ---- */

/* Steps in the lane: what stands before the loop of lanes is done by each. */
static hop_stmt *inside_out(hop_stmt *seq, hop_stmt *par)
{
	hop_block step = { 0 };
	for (hop_stmt *s = seq->body.first, *next; s != par; s = next) {
		next = s->next;
		hop_block_append(&step, s);
	}
	if (step.last)
		step.last->next = par->body.first;
	else
		step.first = par->body.first;
	step.last = par->body.last;
	seq->body = step;
	par->body = (hop_block){ 0 };
	par->apart = true;
	hop_block_append(&par->body, seq);
	return par;
}

typedef struct strip {
	swap   *w;
	hop_reg lane, tile, was;     /* was: in operands, what the lane was before */
	int64_t n;
	bool    ok, uses, apply;
} strip;

static void strip_addr(void *user, hop_addr *x, bool is_write)
{
	strip *k = user;
	hop_env *e = k->w->p.e;
	int i = hop_addr_term(x, k->lane);
	(void)is_write;
	if (i < 0)
		return;
	k->ok = k->ok && x->nterm < HOP_MAXTERM;
	if (k->apply)
		hop_addr_add(k->w->p.a, x, k->tile, hop_size_mul(e, x->term[i].stride, hop_size_int(k->n)));
}

static void strip_use(strip *k, hop_reg *r)
{
	if (*r != k->lane)
		return;
	k->uses = true;
	if (k->apply)
		*r = k->was;
}

static void strip_block(strip *k, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_stmt_addrs(k->w->p.f, s, strip_addr, k);
		for (int i = 0; i < s->na; i++)
			strip_use(k, &s->a[i]);
		strip_use(k, &s->bound);
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++) {
			strip_use(k, &s->acc[i].init);
			strip_use(k, &s->acc[i].value);
		}
		strip_block(k, &s->body);
		strip_block(k, &s->other);
	}
}

/* A loop over tiles of n lanes, the steps of a tile in it; NULL: an address has no room. */
static hop_stmt *in_tiles(swap *w, hop_stmt *seq, hop_stmt *par, int64_t n)
{
	hop_env *e = w->p.e;
	hop_block out = { 0 };
	hop_lbuild b = { .env = e, .a = w->p.a, .f = w->p.f, .block = &out, .loc = seq->loc };
	strip k = { .w = w, .lane = par->dst, .n = n, .ok = true };
	hop_size all = par->extent, size = hop_size_int(n);
	bool whole = hop_size_const(all) && all.k % n == 0;
	int had = w->p.f->nreg;
	strip_block(&k, &par->body);
	if (!k.ok)
		return NULL;
	k.tile = hop_l_reg(&b);
	hop_l_loop(&b, HOP_LOOP_PAR, hop_size_div(e, hop_size_add(e, all, hop_size_int(n - 1)), size),
	           k.tile);
	hop_reg each = hop_l_consti(&b, HOP_i64, n);
	hop_reg from = hop_l_op(&b, HOP_SOP_mul, HOP_i64, 2, (hop_reg[]){ k.tile, each });
	if (!whole) {
		hop_reg left = hop_l_op(&b, HOP_SOP_sub, HOP_i64, 2,
		                        (hop_reg[]){ hop_l_size(&b, all), from });
		par->bound = hop_l_op(&b, HOP_SOP_min, HOP_i64, 2, (hop_reg[]){ left, each });
	}
	par->extent = size;
	hop_block_append(b.block, seq);
	k.was = k.uses ? hop_l_reg(&b) : 0;
	k.apply = true;
	strip_block(&k, &par->body);
	if (k.uses) {
		hop_block old = par->body;
		par->body = (hop_block){ 0 };
		b.block = &par->body;
		hop_stmt *s = hop_l_stmt(&b, HOP_L_OP);
		s->sop = HOP_SOP_add;
		s->dtype = HOP_i64;
		s->na = 2;
		s->a[0] = from;
		s->a[1] = par->dst;
		s->dst = k.was;
		s->next = old.first;
		par->body.last = old.last;
	}
	HOP_ASSERT(w->p.f->nreg - had <= NEW);
	return out.first;
}

/* What stands in the place of s. */
static hop_stmt *visit_loop(swap *w, hop_stmt *s)
{
	hop_mark m = hop_mark_at(&w->p.e->tmp);
	hop_stmt *par = only_loop(s), *out = s;
	hop_fentry x = hop_fuse_describe(&w->p, s);
	if (par && hop_block_weight(&s->body) <= 2 * hop_loop_part_weight() && legal(w, &x, par)) {
		bool device = w->m && w->m->blocks;
		bool turned = device ? by_threads(w, &x, par) : runs_along(w, &x, par);
		int64_t n = turned || device ? 0 : tile_of(w, &x, par);
		hop_stmt *tiles = n ? in_tiles(w, s, par, n) : NULL;
		if (tiles)
			out = tiles;
		else if (turned)
			out = inside_out(s, par);
		else
			s->apart = !device;
	}
	hop_rewind(&w->p.e->tmp, m);
	return out;
}

static void visit(swap *w, hop_block *b)
{
	hop_block old = *b;
	*b = (hop_block){ 0 };
	for (hop_stmt *s = old.first, *next; s; s = next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub), nest = hop_stmt_is_nest(s);
		next = s->next;
		w->nest += nest;
		for (int i = 0; i < k; i++)
			visit(w, sub[i]);
		w->nest -= nest;
		hop_block_append(b, s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ ? visit_loop(w, s) : s);
	}
}

void hop_loop_interchange(hop_env *e, hop_arena *a, const hop_machine *m, hop_lfunc *f,
                          const hop_range *r)
{
	hop_mark at = hop_mark_at(&e->tmp);
	swap w = { .p = { .e = e, .a = a, .f = f, .range = r }, .m = m };
	int most = f->nreg + 1 + NEW * hop_block_count(&f->body);
	w.p.extent = HOP_NEWN(&e->tmp, hop_size, most);
	w.p.mark = HOP_NEWN(&e->tmp, int, most);
	visit(&w, &f->body);
	hop_rewind(&e->tmp, at);
}
