/* fuse.c -- join sibling loops of equal extent, from the outside in. Two loops may be one
 * when every element they share belongs to one iteration: its index has the loop's
 * variable with a stride that the rest of the index never exceeds. Afterwards forward.c
 * finds stores and loads side by side. Splits nothing and changes no order of iterations.
 *
 * needs: registers defined once.  keeps: meaning.  breaks: register numbers in order */
#include <string.h>

#include "loop/fuse.h"

enum { MAXSTMT = 200, REACH = 64 };

/* ---- accesses ---- */

typedef struct collect_to { hop_fpass *p; hop_fentry *x; } collect_to;

static void collect_addr(void *user, hop_addr *a, bool is_write)
{
	collect_to *c = user;
	hop_fentry *x = c->x;
	x->acc = hop_arena_grow(&c->p->e->tmp, x->acc, sizeof *x->acc, x->nacc + 1, &x->cap);
	x->acc[x->nacc++] = (hop_faccess){ a, a->buf, is_write };
	for (int i = 0; is_write && i < c->p->f->nlocal; i++)
		x->local |= a->buf == c->p->f->local[i];
}

static void collect(hop_fpass *p, hop_fentry *x, hop_stmt *s, bool top)
{
	collect_to c = { p, x };
	hop_block *sub[2];
	int k = hop_stmt_blocks(s, sub);
	hop_stmt_addrs(p->f, s, collect_addr, &c);
	if (s->kind == HOP_L_GROW) {
		x->acc = hop_arena_grow(&p->e->tmp, x->acc, sizeof *x->acc, x->nacc + 1, &x->cap);
		x->acc[x->nacc++] = (hop_faccess){ NULL, s->buf, true };
	}
	x->nstmt++;
	x->inner |= !top && s->kind == HOP_L_LOOP;
	for (int i = 0; i < k; i++)
		for (hop_stmt *q = sub[i]->first; q; q = q->next)
			collect(p, x, q, false);
}

hop_fentry hop_fuse_describe(hop_fpass *p, hop_stmt *s)
{
	hop_fentry x = { .s = s };
	collect(p, &x, s, true);
	return x;
}

hop_fentry *hop_fuse_entries(hop_fpass *p, hop_block *b, int *out_n)
{
	int n = 0;
	for (hop_stmt *s = b->first; s; s = s->next)
		n++;
	hop_fentry *x = HOP_NEWN(&p->e->tmp, hop_fentry, n);
	n = 0;
	for (hop_stmt *s = b->first; s; s = s->next)
		x[n++] = hop_fuse_describe(p, s);
	*out_n = n;
	return x;
}

static bool clash(const hop_fentry *a, const hop_fentry *b, int *out_buf)
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

bool hop_fuse_defines(const hop_stmt *s, hop_reg r)
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
		r->found = hop_fuse_defines(r->def, a->term[i].reg);
}

/* Does s, or what is in it, use a register that def defines? */
static bool depends(hop_fpass *p, hop_stmt *s, const hop_stmt *def)
{
	reads r = { def, false };
	hop_block *sub[2];
	int k = hop_stmt_blocks(s, sub);
	if (def->kind != HOP_L_OP && !(def->kind == HOP_L_LOOP && def->nacc))
		return false;
	hop_stmt_addrs(p->f, s, reads_addr, &r);
	r.found = r.found || hop_fuse_defines(def, s->bound);
	for (int i = 0; i < s->na; i++)
		r.found = r.found || hop_fuse_defines(def, s->a[i]);
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		r.found = r.found || hop_fuse_defines(def, s->acc[i].init) ||
		          hop_fuse_defines(def, s->acc[i].value);
	for (int i = 0; i < k && !r.found; i++)
		for (hop_stmt *q = sub[i]->first; q && !r.found; q = q->next)
			r.found = depends(p, q, def);
	return r.found;
}

/* May b, which follows a, go before it? */
bool hop_fuse_swaps(hop_fpass *p, const hop_fentry *a, const hop_fentry *b)
{
	int buf;
	if (a->local || b->local || a->s->kind == HOP_L_CHECK || b->s->kind == HOP_L_CHECK)
		return false;
	if (a->s->kind == HOP_L_EFFECT && b->s->kind == HOP_L_EFFECT)
		return false;
	return !clash(a, b, &buf) && !depends(p, b->s, a->s);
}

/* ---- legality ---- */

static void mark_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	hop_fpass *p = user;
	(void)t;
	p->mark[*r] = p->stamp;
	if (def->kind == HOP_L_LOOP && def->dst == *r)
		p->extent[*r] = def->bound ? hop_size_int(-1) : def->extent;
}

static bool nonneg(hop_fpass *p, hop_size s)
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

static bool row_of(hop_fpass *p, const hop_addr *a, hop_reg var, row *out)
{
	bool has = false;
	if (!a)
		return false;
	*out = (row){ .outer.buf = a->buf, .lo = a->offset, .hi = a->offset };
	out->outer.term = HOP_NEWN(&p->e->tmp, hop_term, a->nterm);
	for (int i = 0; i < a->nterm; i++) {
		hop_reg r = a->term[i].reg;
		hop_size s = a->term[i].stride;
		if (r == var) {
			out->stride = s;
			has = true;
		} else if (p->mark[r] != p->stamp) {
			out->outer.term[out->outer.nterm++] = a->term[i];
		} else {
			if (hop_size_is(p->extent[r], -1) || !nonneg(p, s))
				return false;
			hop_size last = hop_size_sub(p->e, p->extent[r], hop_size_int(1));
			out->hi = hop_size_add(p->e, out->hi, hop_size_mul(p->e, s, last));
		}
	}
	return has;
}

/* Operands of tiles move by their strides as well: not seen through. */
static bool all_rows(hop_fpass *p, const hop_fentry *x, int buf, hop_reg var, row *first,
                     bool *any)
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
		int n = hop_stmt_blocks((hop_stmt *)s, sub);
		if (s->kind == k)
			return true;
		for (int i = 0; i < n; i++)
			if (has_kind(sub[i], k))
				return true;
	}
	return false;
}

static bool rows_apart(hop_fpass *p, const hop_fentry *a, const hop_fentry *b, int buf)
{
	row r = { 0 };
	hop_mark m = hop_mark_at(&p->e->tmp);
	bool any = false;
	bool ok = all_rows(p, a, buf, a->s->dst, &r, &any) &&
	          all_rows(p, b, buf, b->s->dst, &r, &any);
	hop_rewind(&p->e->tmp, m);
	if (!ok)
		return false;
	/* lo <= rest <= hi < lo + stride */
	hop_size gap = hop_size_sub(p->e, hop_size_add(p->e, r.lo, r.stride), r.hi);
	return nonneg(p, hop_size_sub(p->e, gap, hop_size_int(1)));
}

static bool is_nest(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ && !s->bound;
}

/* Which way vectors would run: > 0 along the outer loop, < 0 along an inner one. Inner
 * variables are marked. */
static int direction(hop_fpass *p, const hop_fentry *x)
{
	int across = 0, along = 0;
	for (size_t i = 0; i < x->nacc; i++) {
		const hop_addr *a = x->acc[i].at;
		bool inner = false, unit = false;
		for (int k = 0; a && k < a->nterm; k++) {
			hop_reg r = a->term[k].reg;
			bool one = hop_size_is(a->term[k].stride, 1);
			if (r == x->s->dst) {
				across += !one;
			} else if (p->mark[r] == p->stamp && !hop_size_is(p->extent[r], -1)) {
				inner = true;
				unit |= one;
			}
		}
		along += inner && !unit;
	}
	return along - across;
}

static bool is_seq(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ && !s->bound;
}

/* A nest over the steps of a loop, whose lanes are the loop's: it may be done in the steps, and
 * threads share the lanes of both. */
static bool goes_along(hop_fpass *p, const hop_stmt *seq, const hop_stmt *nest)
{
	if (!p->steps || !is_seq(seq) || nest->loop != HOP_LOOP_PAR || nest->bound || !nest->body.first)
		return false;
	const hop_stmt *lanes = hop_steps_apart(p, (hop_stmt *)(uintptr_t)seq), *in = nest->body.last;
	for (const hop_stmt *s = nest->body.first; s != in; s = s->next)
		if (s->kind != HOP_L_OP || s->sop == HOP_SOP_store)
			return false;
	return lanes && in->kind == HOP_L_LOOP && in->loop == HOP_LOOP_PAR && !in->bound &&
	       hop_size_eq(in->extent, lanes->extent);
}

static bool pair(hop_fpass *p, const hop_stmt *a, const hop_stmt *b)
{
	if (a->kind != HOP_L_LOOP || b->kind != HOP_L_LOOP || !hop_size_eq(a->extent, b->extent))
		return false;
	return (is_nest(a) && is_nest(b)) || goes_along(p, a, b) || goes_along(p, b, a);
}

static bool joins(hop_fpass *p, const hop_fentry *a, const hop_fentry *b)
{
	bool shared = false;
	if (!pair(p, a->s, b->s))
		return false;
	if (a->nstmt + b->nstmt > MAXSTMT || a->local || b->local)
		return false;
	if (depends(p, b->s, a->s))
		return false;
	if (has_kind(&a->s->body, HOP_L_TILE) || has_kind(&b->s->body, HOP_L_TILE))
		return false;
	p->stamp++;
	hop_block_defs(&a->s->body, mark_reg, p);
	hop_block_defs(&b->s->body, mark_reg, p);
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
	if (!is_nest(a->s) || !is_nest(b->s))
		return shared;
	if (a->inner && b->inner) {
		int da = direction(p, a), db = direction(p, b);
		if ((da > 0 && db < 0) || (da < 0 && db > 0))
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

void hop_fuse_rename(hop_fpass *p, hop_block *b, hop_reg *r)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
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
			hop_fuse_rename(p, sub[i], r);
	}
}

static void join(hop_fpass *p, hop_fentry *a, hop_fentry *b)
{
	hop_stmt *x = a->s, *y = b->s;
	hop_reg r[2] = { y->dst, x->dst };
	hop_fuse_rename(p, &y->body, r);
	x->loose = false;              /* a step may need what another nest did in one before */
	if (y->loop == HOP_LOOP_SEQ) {
		x->loop = HOP_LOOP_SEQ;
		x->reverse = y->reverse;
	}
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
	a->acc = hop_arena_grow(&p->e->tmp, a->acc, sizeof *a->acc, a->nacc + b->nacc, &a->cap);
	for (size_t i = 0; i < b->nacc; i++)
		a->acc[a->nacc++] = b->acc[i];
	a->nstmt += b->nstmt - 1;
	a->inner |= b->inner;
}

/* ---- blocks ---- */

void hop_fuse_relink(hop_block *b, hop_fentry *x, int n)
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

static void move(hop_fentry *x, int from, int to)
{
	hop_fentry t = x[from];
	memmove(&x[to + 1], &x[to], sizeof *x * (size_t)(from - to));
	x[to] = t;
}

/* Scalars before the loops they do not need, so that loops become neighbours. */
static void raise(hop_fpass *p, hop_fentry *x, int n)
{
	for (int j = 1; j < n; j++) {
		int at = j, i = j;
		if (x[j].s->kind != HOP_L_OP || x[j].s->sop == HOP_SOP_store)
			continue;
		if (x[j].s->sop == HOP_SOP_size &&
		    hop_size_nsym(x[j].s->u.size) > p->f->nsym)
			continue;
		while (i > 0 && j - i < 4 * REACH && hop_fuse_swaps(p, &x[i - 1], &x[j])) {
			i--;
			if (x[i].s->kind != HOP_L_OP)
				at = i;
		}
		if (at < j)
			move(x, j, at);
	}
}

/* The loop before x[j] to join it to, or -1: the one whose results it uses when that is
 * possible, else the nearest. */
static int partner(hop_fpass *p, const hop_fentry *x, int j)
{
	int best = -1;
	for (int i = j - 1; i >= 0 && j - i <= REACH; i--) {
		bool free = hop_fuse_swaps(p, &x[i], &x[j]);
		if ((best < 0 || !free) && joins(p, &x[i], &x[j]))
			best = i;
		if (!free)
			break;
	}
	return best;
}

/* May x[i] wait until just before x[j]? */
static bool waits(hop_fpass *p, const hop_fentry *x, int i, int j)
{
	for (int k = i + 1; k < j; k++)
		if (!hop_fuse_swaps(p, &x[i], &x[k]))
			return false;
	return true;
}

/* Nests whose results the steps x[n] use, with what stands between: they wait, and go along.
 * Gives where the steps are then. */
static int take_along(hop_fpass *p, hop_fentry *x, int n)
{
	for (int i = n - 1; i >= 0 && n - i <= REACH; i--) {
		if (!waits(p, x, i, n) || !joins(p, &x[i], &x[n]))
			continue;
		hop_fentry t = x[i];
		memmove(&x[i], &x[i + 1], sizeof *x * (size_t)(n - 1 - i));
		x[n - 1] = t;
		join(p, &x[n - 1], &x[n]);
		n--;
	}
	return n;
}

static void block(hop_fpass *p, hop_block *b)
{
	hop_mark m = hop_mark_at(&p->e->tmp);
	int all, n = 0, k;
	hop_fentry *x = hop_fuse_entries(p, b, &all);
	raise(p, x, all);
	for (int j = 0; j < all; j++) {      /* x[0..n) stay */
		x[n] = x[j];
		int i = is_nest(x[n].s) ? partner(p, x, n) : -1;
		if (p->steps && is_seq(x[n].s))
			n = take_along(p, x, n) + 1;
		else if (i < 0)
			n++;
		else
			join(p, &x[i], &x[n]);
	}
	hop_fuse_relink(b, x, n);
	hop_rewind(&p->e->tmp, m);
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		k = hop_stmt_blocks(s, sub);
		for (int i = 0; i < k; i++)
			block(p, sub[i]);
	}
}

void hop_loop_fuse(hop_env *e, hop_arena *a, hop_lfunc *f, const hop_range *r, bool steps)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_fpass p = { .e = e, .a = a, .f = f, .range = r, .steps = steps };
	p.extent = HOP_NEWN(&e->tmp, hop_size, f->nreg + 1);
	p.mark = HOP_NEWN(&e->tmp, int, f->nreg + 1);
	for (int i = 0; i <= f->nreg; i++)
		p.extent[i] = hop_size_int(-1);
	block(&p, &f->body);
	hop_rewind(&e->tmp, m);
}
