/* device_order.c -- a loop in order whose steps add to rows that they look up: all rows side by side,
 * each its own steps in their order, so that every bit is as if one came after the other.
 *
 *	for i in order: row = clamp(..i..); for c: x[row, c] = f(x[row, c], ..i..)
 * becomes
 *	key[i] = row
 *	sort steps by key, those of one key in order: count digits of pieces, sum the counts, put in place
 *	from[row], to[row]: where the steps of a row are
 *	for row, c over all threads: a = x[row, c]; for its steps i in order: a = f(a, ..i..); x[row, c] = a
 *
 * needs: carries as copies.  keeps: meaning, bit by bit. */
#include "loop/device.h"

enum {
	LEAST = 512,             /* steps that pay */
	PIECES = 256,            /* of the keys, which are counted and put in place by a thread each */
	SHORT = 4,               /* keys of one, at least */
	COUNTS = 1 << 22,        /* about so many, at most */
	DIGIT = 8,               /* bits of a key that one round sorts by */
	NEAR = 32, FAR = 128,    /* counts that are summed at once, and sums of those */
	WIDE = 128, EACH = 4,    /* elements of a row from which a thread takes several, so many */
	MAXCOL = 6,
	ROOM = 1 << 30           /* numbers of steps and rows are i32 */
};

typedef struct order {
	hop_dfunc *d;
	hop_block *home;
	hop_stmt  *seq, *col[MAXCOL];    /* the loop, those over a row */
	int        ncol;
	hop_block  pre, all;     /* operations of a step, and with those of an element */
	hop_stmt  *store;        /* of all */
	hop_reg    row;
	int64_t    n, rows, width;
	hop_block  out;
	hop_lbuild b;
	int        key[2], step[2];      /* buffers */
	int        count, sums, sums2, before2, before, from, to;
	int64_t    pieces, piece, bins, room;
	int        bits;
} order;

/* ---- is it one? ---- */

static bool is_op(const hop_stmt *s, enum hop_sop sop)
{
	return s->kind == HOP_L_OP && s->sop == sop;
}

static const hop_stmt *def_in(const hop_block *b, hop_reg r)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_OP && s->dst == r)
			return s;
	return NULL;
}

static const hop_stmt *def_of(const order *o, hop_reg r)
{
	const hop_stmt *s = def_in(&o->pre, r);
	return s ? s : def_in(o->home, r);
}

static bool number(const order *o, hop_reg r, int64_t *out)
{
	const hop_stmt *s = def_of(o, r);
	if (s && s->sop == HOP_SOP_size && hop_size_const(s->u.size))
		*out = s->u.size.k;
	else if (s && s->sop == HOP_SOP_consti)
		*out = s->u.i;
	else
		return false;
	return true;
}

/* r is sop(something, a number): that, or 0. */
static hop_reg clamped(const order *o, hop_reg r, enum hop_sop sop, int64_t *out)
{
	const hop_stmt *s = def_of(o, r);
	if (!s || s->sop != sop)
		return 0;
	return number(o, s->a[1], out) ? s->a[0] : number(o, s->a[0], out) ? s->a[1] : 0;
}

/* Rows are 0 .. rows-1. */
static bool find_rows(order *o)
{
	int64_t low = 0, high = 0;
	hop_reg q = clamped(o, o->row, HOP_SOP_max, &low);
	if (q)
		q = clamped(o, q, HOP_SOP_min, &high);
	else if ((q = clamped(o, o->row, HOP_SOP_min, &high)))
		q = clamped(o, q, HOP_SOP_max, &low);
	o->rows = high + 1;
	return q && !low && high >= 0 && high < ROOM;
}

static bool has_store(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (is_op(s, HOP_SOP_store))
			return true;
	return false;
}

/* Operations, then the loops over a row one in the other, then operations; as copies. */
static bool gather(order *o, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_OP) {
			if (!o->ncol && s->sop != HOP_SOP_store)
				hop_block_append(&o->pre, hop_stmt_copy(o->d->a, s));
			hop_block_append(&o->all, hop_stmt_copy(o->d->a, s));
			continue;
		}
		if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_PAR || s->bound || s->next ||
		    has_store(&o->all) || !hop_size_const(s->extent) || s->extent.k < 1 || o->ncol == MAXCOL)
			return false;
		o->col[o->ncol++] = (hop_stmt *)(uintptr_t)s;
		o->width *= s->extent.k < ROOM && o->width < ROOM ? s->extent.k : 1;
		return s->extent.k < ROOM && o->width < ROOM && gather(o, &s->body);
	}
	return true;
}

/* The row's number is the only thing in the address that a step computes. */
static bool find_row(order *o)
{
	const hop_addr *a = &o->store->u.addr;
	for (int i = 0; i < a->nterm; i++) {
		if (a->term[i].reg == o->seq->dst || !hop_size_const(a->term[i].stride))
			return false;
		if (!def_in(&o->all, a->term[i].reg))
			continue;
		if (o->row || !def_in(&o->pre, a->term[i].reg))
			return false;
		o->row = a->term[i].reg;
	}
	return o->row != 0;
}

static int64_t extent_of(const order *o, hop_reg r)
{
	for (int i = 0; i < o->ncol; i++)
		if (o->col[i]->dst == r)
			return o->col[i]->extent.k;
	return r == o->row ? o->rows : 1;
}

/* No element is of two rows, or of two columns: each stride is longer than all that is below it. */
static bool is_apart(const order *o)
{
	const hop_addr *a = &o->store->u.addr;
	int64_t below = 0, last = 0;
	int seen = 0, want = 0;
	for (int i = 0; i < a->nterm; i++)
		want += extent_of(o, a->term[i].reg) > 1;
	for (int i = 0; i < o->ncol; i++)
		if (o->col[i]->extent.k > 1 && hop_addr_term(a, o->col[i]->dst) < 0)
			return false;
	for (; seen < want; seen++) {
		int64_t next = INT64_MAX, n = 1;
		for (int i = 0; i < a->nterm; i++) {
			int64_t st = a->term[i].stride.k;
			if (extent_of(o, a->term[i].reg) > 1 && st > last && st < next) {
				next = st;
				n = extent_of(o, a->term[i].reg);
			}
		}
		if (next == INT64_MAX || next <= below)
			return false;
		below += next * (n - 1);
		last = next;
	}
	return true;
}

/* One store, and loads of what it writes at the same place only. */
static bool find_store(order *o)
{
	for (hop_stmt *s = o->all.first; s; s = s->next)
		if (is_op(s, HOP_SOP_store)) {
			if (o->store || s->na > 1)
				return false;
			o->store = s;
		}
	for (const hop_stmt *s = o->all.first; o->store && s; s = s->next)
		if (is_op(s, HOP_SOP_load) && hop_device_meet(o->d, s->u.addr.buf, o->store->u.addr.buf) &&
		    (s->na || !hop_addr_eq(&s->u.addr, &o->store->u.addr)))
			return false;
	return o->store != NULL;
}

static bool is_one(order *o)
{
	const hop_stmt *s = o->seq;
	if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_SEQ || s->bound || s->ncarry || s->reverse ||
	    !hop_size_const(s->extent) || s->extent.k >= ROOM)
		return false;
	o->n = s->extent.k;
	if (o->n < (o->d->m->small ? 2 : LEAST) || !gather(o, &s->body) || !find_store(o) || !find_row(o) ||
	    !find_rows(o))
		return false;
	return o->rows > 1 && (double)o->rows * (double)o->width < ROOM && is_apart(o);
}

/* ---- pieces of programs ---- */

static hop_reg op2(order *o, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_l_op(&o->b, s, HOP_i64, 2, (hop_reg[]){ x, y });
}

static hop_reg test(order *o, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_l_op(&o->b, s, HOP_bool, 2, (hop_reg[]){ x, y });
}

static hop_reg num(order *o, int64_t v)
{
	return hop_l_consti(&o->b, HOP_i64, v);
}

/* i * stride + j, either may be 0. */
static hop_addr at(order *o, int buf, hop_reg i, int64_t stride, hop_reg j)
{
	hop_addr a = { .buf = buf, .offset = hop_size_int(0) };
	if (i)
		hop_addr_add(o->d->a, &a, i, hop_size_int(stride));
	if (j)
		hop_addr_add(o->d->a, &a, j, hop_size_int(1));
	return a;
}

static hop_reg load(order *o, hop_dtype t, hop_addr a, hop_reg mask)
{
	hop_reg r = hop_l_load(&o->b, t, &a);
	if (mask) {
		o->b.block->last->na = 1;
		o->b.block->last->a[0] = mask;
	}
	return r;
}

static void store(order *o, hop_dtype t, hop_addr a, hop_reg v, hop_reg mask)
{
	hop_l_store(&o->b, t, &a, v);
	if (mask) {
		o->b.block->last->na = 2;
		o->b.block->last->a[1] = mask;
	}
}

static hop_reg wide(order *o, hop_reg r)
{
	return hop_l_op(&o->b, HOP_SOP_cast, HOP_i64, 1, &r);
}

static hop_reg small(order *o, hop_reg r)
{
	return hop_l_op(&o->b, HOP_SOP_cast, HOP_i32, 1, &r);
}

static hop_reg add_i32(order *o, hop_reg x, hop_reg y)
{
	return hop_l_op(&o->b, HOP_SOP_add, HOP_i32, 2, (hop_reg[]){ x, y });
}

/* A nest of its own: iterations are apart, which addresses do not show. What follows goes into it. */
static hop_reg nest(order *o, int64_t n)
{
	o->b.block = &o->out;
	hop_stmt *s = hop_l_loop(&o->b, HOP_LOOP_PAR, hop_size_int(n), hop_l_reg(&o->b));
	s->apart = true;
	return s->dst;
}

static hop_stmt *in_order(order *o, int64_t n)
{
	return hop_l_loop(&o->b, HOP_LOOP_SEQ, hop_size_int(n), hop_l_reg(&o->b));
}

/* The sum over n of what the caller puts into the loop, until he puts the block back. */
static hop_stmt *open_sum(order *o, int64_t n)
{
	hop_reg zero = hop_l_consti(&o->b, HOP_i32, 0);
	hop_stmt *s = hop_l_loop(&o->b, HOP_LOOP_RED, hop_size_int(n), hop_l_reg(&o->b));
	s->acc = HOP_NEW(o->d->a, hop_acc);
	s->nacc = 1;
	*s->acc = (hop_acc){ .op = HOP_RED_add, .dtype = HOP_i32, .init = zero, .result = hop_l_reg(&o->b) };
	return s;
}

static hop_reg only_below(order *o, hop_reg i, hop_reg end, hop_reg v)
{
	hop_reg m = test(o, HOP_SOP_lt, i, end), zero = hop_l_consti(&o->b, HOP_i32, 0);
	return hop_l_op(&o->b, HOP_SOP_select, HOP_i32, 3, (hop_reg[]){ m, v, zero });
}

/* Operations with registers of their own; map says what those from outside are now. */
typedef struct fresh { hop_lbuild *b; hop_reg *map; } fresh;

static void new_def(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	fresh *f = user;
	(void)t;
	if (def)
		f->map[*r] = hop_l_reg(f->b);
}

static void rename_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	fresh *f = user;
	(void)def;
	(void)t;
	if (f->map[*r])
		*r = f->map[*r];
}

static hop_block renamed(order *o, const hop_block *b, hop_reg *map)
{
	hop_block c = hop_block_copy(o->d->a, b);
	fresh f = { &o->b, map };
	hop_block_regs(&c, new_def, &f);
	hop_block_regs(&c, rename_reg, &f);
	return c;
}

static void append_all(order *o, hop_block *c)
{
	for (hop_stmt *s = c->first, *next; s; s = next) {
		next = s->next;
		s->next = NULL;
		hop_block_append(o->b.block, s);
	}
}

/* ---- sorting ---- */

static void put_keys(order *o, int nreg)
{
	hop_reg *map = HOP_NEWN(&o->d->e->tmp, hop_reg, nreg + 1), i = nest(o, o->n);
	map[o->seq->dst] = i;
	hop_block c = renamed(o, &o->pre, map);
	append_all(o, &c);
	store(o, HOP_i32, at(o, o->key[0], i, 1, 0), small(o, map[o->row]), 0);
	store(o, HOP_i32, at(o, o->step[0], i, 1, 0), small(o, i), 0);
}

/* The pieces' keys one after the other: where the next of its digit is counted. */
typedef struct digit { hop_reg i, key, mask; hop_addr at; } digit;

static digit open_piece(order *o, int round)
{
	hop_reg c = nest(o, o->pieces), from = op2(o, HOP_SOP_mul, c, num(o, o->piece));
	hop_stmt *s = in_order(o, o->piece);
	digit g = { .i = op2(o, HOP_SOP_add, from, s->dst) };
	if (o->n % o->piece)
		g.mask = test(o, HOP_SOP_lt, g.i, num(o, o->n));
	g.key = load(o, HOP_i32, at(o, o->key[round % 2], g.i, 1, 0), g.mask);
	hop_reg k = wide(o, g.key);
	k = op2(o, HOP_SOP_shr, k, num(o, (int64_t)round * o->bits));
	g.at = at(o, o->count, op2(o, HOP_SOP_and, k, num(o, o->bins - 1)), o->pieces, c);
	return g;
}

static hop_reg count_one(order *o, const digit *g)
{
	hop_addr a = g->at, b = { .buf = a.buf, .offset = a.offset };
	for (int i = 0; i < a.nterm; i++)
		hop_addr_add(o->d->a, &b, a.term[i].reg, a.term[i].stride);
	hop_reg t = load(o, HOP_i32, a, 0);
	store(o, HOP_i32, b, add_i32(o, t, hop_l_consti(&o->b, HOP_i32, 1)), g->mask);
	return t;
}

static void count(order *o, int round)
{
	hop_reg i = nest(o, o->room);
	store(o, HOP_i32, at(o, o->count, i, 1, 0), hop_l_consti(&o->b, HOP_i32, 0), 0);
	digit g = open_piece(o, round);
	count_one(o, &g);
}

/* to[a] = the sum of n of `from`, from a * n on. */
static void sum_up(order *o, int from, int to, int64_t nto, int64_t n)
{
	hop_reg a = nest(o, nto);
	hop_block *outer = o->b.block;
	hop_stmt *s = open_sum(o, n);
	s->acc->value = load(o, HOP_i32, at(o, from, a, n, s->dst), 0);
	o->b.block = outer;
	store(o, HOP_i32, at(o, to, a, 1, 0), s->acc->result, 0);
}

/* to[a] = the sum of those of its group of n in `of` that are before it, and of all groups before. */
static void sum_before(order *o, int of, int groups, int to, int64_t nto, int64_t n)
{
	hop_reg a = nest(o, nto), by = num(o, n);
	hop_reg g = op2(o, HOP_SOP_div, a, by), h = op2(o, HOP_SOP_rem, a, by);
	hop_block *outer = o->b.block;
	hop_stmt *s = open_sum(o, n);
	s->acc->value = only_below(o, s->dst, h, load(o, HOP_i32, at(o, of, g, n, s->dst), 0));
	o->b.block = outer;
	hop_reg r = s->acc->result;
	if (groups >= 0)
		r = add_i32(o, r, load(o, HOP_i32, at(o, groups, g, 1, 0), 0));
	store(o, HOP_i32, at(o, to, a, 1, 0), r, 0);
}

static int own(order *o, hop_dtype t)
{
	return hop_l_buf(&o->b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_LOCAL, .dtype = t,
		.count = hop_size_int(1), .offset = hop_size_int(0), .is_written = true });
}

/* Counts become the number of keys that go before. */
static void sum_counts(order *o)
{
	int64_t sums = o->room / NEAR, sums2 = sums / FAR;
	sum_up(o, o->count, o->sums, sums, NEAR);
	sum_up(o, o->sums, o->sums2, sums2, FAR);
	sum_before(o, o->sums2, -1, o->before2, sums2, sums2);
	sum_before(o, o->sums, o->before2, o->before, sums, FAR);
	hop_reg a = nest(o, sums);
	int run = own(o, HOP_i32);
	store(o, HOP_i32, at(o, run, 0, 0, 0), load(o, HOP_i32, at(o, o->before, a, 1, 0), 0), 0);
	hop_stmt *s = in_order(o, NEAR);
	hop_reg t = load(o, HOP_i32, at(o, o->count, a, NEAR, s->dst), 0);
	hop_reg u = load(o, HOP_i32, at(o, run, 0, 0, 0), 0);
	store(o, HOP_i32, at(o, o->count, a, NEAR, s->dst), u, 0);
	store(o, HOP_i32, at(o, run, 0, 0, 0), add_i32(o, u, t), 0);
}

static void put_in_place(order *o, int round)
{
	digit g = open_piece(o, round);
	hop_reg s = load(o, HOP_i32, at(o, o->step[round % 2], g.i, 1, 0), g.mask);
	hop_reg to = wide(o, count_one(o, &g));
	store(o, HOP_i32, at(o, o->key[1 - round % 2], to, 1, 0), g.key, g.mask);
	store(o, HOP_i32, at(o, o->step[1 - round % 2], to, 1, 0), s, g.mask);
}

/* Where the steps of a row begin and end. */
static void find_ends(order *o, int last)
{
	hop_reg v = nest(o, o->rows), none = hop_l_consti(&o->b, HOP_i32, 0);
	store(o, HOP_i32, at(o, o->from, v, 1, 0), none, 0);
	store(o, HOP_i32, at(o, o->to, v, 1, 0), none, 0);
	hop_reg i = nest(o, o->n), k = load(o, HOP_i32, at(o, o->key[last], i, 1, 0), 0), row = wide(o, k);
	hop_reg zero = num(o, 0), end = num(o, o->n), next = op2(o, HOP_SOP_add, i, num(o, 1));
	hop_addr before = at(o, o->key[last], i, 1, 0), behind = at(o, o->key[last], i, 1, 0);
	before.offset = hop_size_int(-1);
	behind.offset = hop_size_int(1);
	hop_reg has_before = test(o, HOP_SOP_lt, zero, i), has_next = test(o, HOP_SOP_lt, next, end);
	hop_reg other = test(o, HOP_SOP_ne, load(o, HOP_i32, before, has_before), k);
	hop_reg first = test(o, HOP_SOP_or, test(o, HOP_SOP_eq, i, zero), other);
	store(o, HOP_i32, at(o, o->from, row, 1, 0), small(o, i), first);
	other = test(o, HOP_SOP_ne, load(o, HOP_i32, behind, has_next), k);
	hop_reg final = test(o, HOP_SOP_or, test(o, HOP_SOP_eq, next, end), other);
	store(o, HOP_i32, at(o, o->to, row, 1, 0), small(o, next), final);
}

/* ---- rows ---- */

static hop_addr element(order *o, hop_reg *map)
{
	hop_addr a = { .buf = o->store->u.addr.buf, .offset = o->store->u.addr.offset };
	for (int i = 0; i < o->store->u.addr.nterm; i++) {
		hop_term t = o->store->u.addr.term[i];
		hop_addr_add(o->d->a, &a, map[t.reg] ? map[t.reg] : t.reg, t.stride);
	}
	return a;
}

/* Columns of a row that one thread has: more loads at once, and fewer of what says which. */
static int columns_each(const order *o)
{
	return o->width >= WIDE && o->width % EACH == 0 ? EACH : 1;
}

/* Where column `at` of the row is in its loops. */
static void part_columns(order *o, hop_reg at, hop_reg *map)
{
	for (int i = o->ncol - 1; i >= 0; i--) {
		hop_reg by = num(o, o->col[i]->extent.k);
		map[o->col[i]->dst] = i ? op2(o, HOP_SOP_rem, at, by) : at;
		at = i ? op2(o, HOP_SOP_div, at, by) : at;
	}
}

/* One step of a column: what it adds to is in a register. */
static void put_step(order *o, int acc, hop_reg *map)
{
	int x = o->store->u.addr.buf;
	hop_block c = renamed(o, &o->all, map);
	for (hop_stmt *q = c.first; q; q = q->next)
		if (q->sop == HOP_SOP_store ||
		    (q->sop == HOP_SOP_load && hop_device_meet(o->d, q->u.addr.buf, x)))
			q->u.addr = at(o, acc, 0, 0, 0);
	append_all(o, &c);
}

static void put_rows(order *o, int last, int nreg)
{
	int each = columns_each(o), acc[EACH];
	int64_t per = o->width / each;
	hop_reg p = nest(o, o->rows * per), by = num(o, per), *map[EACH], step;
	hop_reg column = op2(o, HOP_SOP_rem, p, by), row = op2(o, HOP_SOP_div, p, by);
	hop_reg from = wide(o, load(o, HOP_i32, at(o, o->from, row, 1, 0), 0));
	hop_reg to = wide(o, load(o, HOP_i32, at(o, o->to, row, 1, 0), 0));
	hop_reg n = op2(o, HOP_SOP_sub, to, from), some = test(o, HOP_SOP_lt, num(o, 0), n);
	hop_dtype t = (hop_dtype)o->store->dtype;
	hop_addr back[EACH];
	for (int k = 0; k < each; k++) {
		map[k] = HOP_NEWN(&o->d->e->tmp, hop_reg, nreg + 1);
		acc[k] = own(o, t);
		part_columns(o, k ? op2(o, HOP_SOP_add, column, num(o, k * per)) : column, map[k]);
		map[k][o->row] = row;
		back[k] = element(o, map[k]);
		store(o, t, at(o, acc[k], 0, 0, 0), load(o, t, element(o, map[k]), some), 0);
	}
	hop_block *outer = o->b.block;
	hop_stmt *s = in_order(o, o->n);
	s->bound = n;
	step = op2(o, HOP_SOP_add, from, s->dst);
	step = wide(o, load(o, HOP_i32, at(o, o->step[last], step, 1, 0), 0));
	for (int k = 0; k < each; k++) {
		map[k][o->seq->dst] = step;
		put_step(o, acc[k], map[k]);
	}
	o->b.block = outer;
	for (int k = 0; k < each; k++)
		store(o, t, back[k], load(o, t, at(o, acc[k], 0, 0, 0), 0), some);
}

/* ---- all of it ---- */

static int room_for(order *o, int64_t n)
{
	return hop_device_scratch(o->d, HOP_i32, hop_size_int(n));
}

/* Keys that a thread goes through in order: few, since that takes long; not so few that counts, one for
 * each bin and piece, are more than the keys by much. */
static int64_t piece_for(const order *o)
{
	int64_t n = o->n / PIECES, most = o->bins / 4, few = o->n * o->bins / COUNTS;
	most = most > few ? most : few;
	n = n < most ? n : most;
	return n > SHORT ? n : SHORT;
}

static int plan(order *o)
{
	int bits = 1, rounds;
	while ((int64_t)1 << bits < o->rows)
		bits++;
	rounds = (bits + DIGIT - 1) / DIGIT;
	o->bits = (bits + rounds - 1) / rounds;
	o->bins = (int64_t)1 << o->bits;
	o->piece = piece_for(o);
	o->pieces = (o->n + o->piece - 1) / o->piece;
	o->room = (o->bins * o->pieces + NEAR * FAR - 1) / (NEAR * FAR) * (NEAR * FAR);
	for (int i = 0; i < 2; i++) {
		o->key[i] = room_for(o, o->n);
		o->step[i] = room_for(o, o->n);
	}
	o->count = room_for(o, o->room);
	o->sums = room_for(o, o->room / NEAR);
	o->before = room_for(o, o->room / NEAR);
	o->sums2 = room_for(o, o->room / NEAR / FAR);
	o->before2 = room_for(o, o->room / NEAR / FAR);
	o->from = room_for(o, o->rows);
	o->to = room_for(o, o->rows);
	return rounds;
}

static void make(order *o)
{
	int nreg = o->d->f->nreg, rounds = plan(o);
	put_keys(o, nreg);
	for (int i = 0; i < rounds; i++) {
		count(o, i);
		sum_counts(o);
		put_in_place(o, i);
	}
	find_ends(o, rounds % 2);
	put_rows(o, rounds % 2, nreg);
}

void hop_device_order(hop_dfunc *d, hop_block *b)
{
	for (hop_stmt **at = &b->first, *s; (s = *at); at = &(*at)->next) {
		order o = { .d = d, .home = b, .seq = s, .width = 1 };
		if (!is_one(&o))
			continue;
		o.b = (hop_lbuild){ .env = d->e, .a = d->a, .f = d->f, .block = &o.out, .loc = s->loc };
		make(&o);
		o.out.last->next = s->next;
		*at = o.out.first;
		if (b->last == s)
			b->last = o.out.last;
		while (*at != o.out.last)
			at = &(*at)->next;
	}
}
