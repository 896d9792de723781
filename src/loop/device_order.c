/* device_order.c -- a loop in order whose steps add to rows that they look up: all rows side by side,
 * each its own steps in their order, so that every bit is as if one came after the other.
 *
 *	for i in order: row = clamp(..i..); for c: x[row, c] = f(x[row, c], ..i..)
 * becomes
 *	key[i] = row; sort steps by it, those of one row in order: by counting (device_place.c), or by
 *	comparing where rows have many (device_sort.c)
 *	from[row], to[row]: where the steps of a row are
 *	for row, c over all threads: a = x[row, c]; for its steps i: a = f(a, ..i..); x[row, c] = a
 *
 * Where the number of steps is a size parameter they are taken by rounds, one after the other, so that
 * it is known how much is to be sorted at most. Loops over several axes of the steps are one first, and
 * so are lanes, of which each has rows and steps of its own.
 *
 * A nest right before it that fills x, with zeros most of the time, becomes the a that rows begin with.
 *
 * needs: carries as copies.  keeps: meaning, bit by bit. */
#include "loop/device_order.h"

enum {
	LEAST = 512,             /* steps that pay */
	LANES = 1 << 14,         /* so many are threads enough, each with a lane */
	LANE = 4096,             /* operations of a lane that take long */
	ROUND = 1 << 19, ROUND_FEW = 7,      /* of a round; where tests have few */
	ROOM = 1 << 30           /* numbers of steps and rows are i32 */
};

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

static const hop_stmt *def_of(const hop_order *o, hop_reg r)
{
	const hop_stmt *s = def_in(&o->pre, r);
	return s ? s : def_in(o->home, r);
}

static bool number(const hop_order *o, hop_reg r, int64_t *out)
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
static hop_reg clamped(const hop_order *o, hop_reg r, enum hop_sop sop, int64_t *out)
{
	const hop_stmt *s = def_of(o, r);
	if (!s || s->sop != sop)
		return 0;
	return number(o, s->a[1], out) ? s->a[0] : number(o, s->a[0], out) ? s->a[1] : 0;
}

/* Rows are 0 .. rows-1. */
static bool find_rows(hop_order *o)
{
	int64_t low = 0, high = 0;
	hop_reg q = clamped(o, o->row, HOP_SOP_max, &low);
	if (q)
		q = clamped(o, q, HOP_SOP_min, &high);
	else if ((q = clamped(o, o->row, HOP_SOP_min, &high)))
		q = clamped(o, q, HOP_SOP_max, &low);
	o->each = high + 1;
	o->rows = o->each * o->lanes;
	return q && !low && high >= 0 && high < ROOM && o->rows < ROOM;
}

static bool has_store(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (is_op(s, HOP_SOP_store))
			return true;
	return false;
}

/* Operations, then the loops over a row one in the other, then operations; as copies. */
static bool gather(hop_order *o, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_OP) {
			if (!o->ncol && s->sop != HOP_SOP_store)
				hop_block_append(&o->pre, hop_stmt_copy(o->d->a, s));
			hop_block_append(&o->all, hop_stmt_copy(o->d->a, s));
			continue;
		}
		if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_PAR || s->bound || s->next ||
		    has_store(&o->all) || !hop_size_const(s->extent) || s->extent.k < 1 ||
		    o->ncol == HOP_ORDER_COLS)
			return false;
		o->col[o->ncol++] = (hop_stmt *)(uintptr_t)s;
		o->width *= s->extent.k < ROOM && o->width < ROOM ? s->extent.k : 1;
		return s->extent.k < ROOM && o->width < ROOM && gather(o, &s->body);
	}
	return true;
}

/* The row's number is the only thing in the address that a step computes. */
static bool find_row(hop_order *o)
{
	const hop_addr *a = &o->store->u.addr;
	if (o->lane && hop_addr_term(a, o->lane) < 0)
		return false;
	for (int i = 0; i < a->nterm; i++) {
		if (a->term[i].reg == o->seq->dst || !hop_size_const(a->term[i].stride))
			return false;
		if (a->term[i].reg == o->lane)
			continue;
		if (!def_in(&o->all, a->term[i].reg))
			continue;
		if (o->row || !def_in(&o->pre, a->term[i].reg))
			return false;
		o->row = a->term[i].reg;
	}
	return o->row != 0;
}

static int64_t extent_of(const hop_order *o, hop_reg r)
{
	for (int i = 0; i < o->ncol; i++)
		if (o->col[i]->dst == r)
			return o->col[i]->extent.k;
	return r == o->row ? o->each : r == o->lane ? o->lanes : 1;
}

/* No element is of two rows, or of two columns: each stride is longer than all that is below it. */
static bool is_apart(const hop_order *o)
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
static bool find_store(hop_order *o)
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

static bool is_steps(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ && !s->bound && !s->ncarry && !s->reverse;
}

static bool is_lanes(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_PAR && !s->bound && hop_size_const(s->extent) &&
	       s->extent.k > 0 && s->extent.k < ROOM;
}

static bool is_one(hop_order *o)
{
	const hop_stmt *s = o->seq;
	bool known = hop_size_const(s->extent), few = o->d->m->small;
	if (!is_steps(s) || (known ? s->extent.k >= ROOM : hop_size_nsym(s->extent) > o->d->f->nsym))
		return false;
	o->n = known ? s->extent.k : few ? ROUND_FEW : ROUND;
	if (o->n < (few ? 2 : LEAST) || !gather(o, &s->body) || !find_store(o) || !find_row(o) ||
	    !find_rows(o))
		return false;
	return o->rows > 1 && (double)o->rows * (double)o->width < ROOM && is_apart(o);
}

/* There are steps in steps, or in lanes: what may be one when they are joined. */
static bool is_several(const hop_stmt *s)
{
	const hop_stmt *in = s->body.first;
	if (s->kind != HOP_L_LOOP)
		return false;
	if (is_steps(s))
		return in && !in->next && is_steps(in);
	while (s && is_lanes(s))
		s = hop_device_only(&s->body);
	return s && is_steps(s);
}

/* Steps over several axes as one loop. */
static void join_steps(hop_dfunc *d, hop_stmt *s)
{
	for (hop_stmt *in; (in = s->body.first) && !in->next && is_steps(in);)
		if (!hop_device_line_up(d, s, in))
			hop_device_join_along(d, s, in);
}

/* A thread for each would be few, with a long way to go. */
static bool is_few(const hop_order *o, const hop_stmt *s, const hop_stmt *in)
{
	return o->d->m->small || (s->extent.k <= LANES && hop_nest_work(in) >= LANE);
}

/* Before `end` something is loaded, once for all steps: they may have changed it. */
static bool loads_before(const hop_block *b, const hop_stmt *end)
{
	for (const hop_stmt *s = b->first; s != end; s = s->next)
		if (is_op(s, HOP_SOP_load))
			return true;
	return false;
}

/* Steps of lanes side by side as those of one lane after the other. */
static bool join_lanes(hop_order *o, hop_stmt *s)
{
	hop_stmt *in = hop_device_only(&s->body);
	while (in && is_lanes(in) && hop_device_line_up(o->d, s, in))
		in = hop_device_only(&s->body);
	if (!in || !is_steps(in) || !is_lanes(s) || loads_before(&s->body, in) || !is_few(o, s, in))
		return false;
	join_steps(o->d, in);
	o->lane = s->dst;
	o->lanes = s->extent.k;
	hop_device_join_along(o->d, s, in);
	*s = (hop_stmt){ .kind = HOP_L_LOOP, .loop = HOP_LOOP_SEQ, .dst = s->dst, .extent = s->extent,
	                 .loc = in->loc, .body = s->body };
	return true;
}

/* Is it one when all its loops are? */
static bool is_one_of(hop_order *o)
{
	hop_stmt *s = o->seq;
	if (!is_several(s))
		return is_one(o);
	hop_stmt one = *hop_stmt_copy(o->d->a, s);
	if (is_steps(s))
		join_steps(o->d, &one);
	else if (!join_lanes(o, &one))
		return false;
	o->seq = &one;
	bool ok = is_one(o);
	o->seq = s;
	if (ok) {
		one.next = s->next;
		*s = one;
	}
	return ok;
}

/* ---- what was in the rows ---- */

/* The store of s, a loop over operations that puts something into each element of x up to n; NULL: it is
 * none, or more. */
static const hop_stmt *fill_of(const hop_order *o, const hop_stmt *s, int x, int64_t n)
{
	const hop_stmt *store = NULL;
	if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_PAR || s->bound || !hop_size_is(s->extent, n))
		return NULL;
	for (const hop_stmt *q = s->body.first; q; q = q->next) {
		bool load = is_op(q, HOP_SOP_load);
		if (q->kind != HOP_L_OP || (load && hop_device_meet(o->d, q->u.addr.buf, x)))
			return NULL;
		if (!is_op(q, HOP_SOP_store))
			continue;
		if (store || q->na > 1 || q->u.addr.buf != x || q->dtype != o->store->dtype)
			return NULL;
		store = q;
	}
	const hop_addr *a = store ? &store->u.addr : NULL;
	return a && a->nterm == 1 && a->term[0].reg == s->dst && hop_size_is(a->term[0].stride, 1) &&
	       hop_size_is(a->offset, 0) ? store : NULL;
}

/* Rows are all of x up to n, since no two elements are the same. */
static bool is_dense(const hop_order *o, int64_t n)
{
	const hop_addr *a = &o->store->u.addr;
	int64_t last = 0;
	for (int i = 0; i < a->nterm; i++) {
		int64_t k = extent_of(o, a->term[i].reg);
		if (k < 2)
			return false;            /* it may be any number */
		last += (k - 1) * a->term[i].stride.k;
	}
	return hop_size_is(a->offset, 0) && last == n - 1;
}

/* s, before the loop and operations, makes all that the rows begin with. */
static bool fills(const hop_order *o, const hop_stmt *s)
{
	int x = o->store->u.addr.buf;
	int64_t n = o->rows * o->width;
	if (!is_dense(o, n) || !fill_of(o, s, x, n))
		return false;
	for (s = s->next; s != o->seq; s = s->next)
		if (is_op(s, HOP_SOP_load) && hop_device_meet(o->d, s->u.addr.buf, x))
			return false;
	return true;
}

static void leave_out(hop_block *b, const hop_stmt *s)
{
	for (hop_stmt **at = &b->first; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			return;
		}
}

/* ---- pieces of programs ---- */

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

hop_reg *hop_order_map(hop_order *o)
{
	return HOP_NEWN(&o->d->e->tmp, hop_reg, o->nreg + 1);
}

hop_block hop_order_renamed(hop_order *o, const hop_block *b, hop_reg *map)
{
	hop_block c = hop_block_copy(o->d->a, b);
	fresh f = { &o->b.b, map };
	hop_block_regs(&c, new_def, &f);
	hop_block_regs(&c, rename_reg, &f);
	return c;
}

void hop_order_append(hop_order *o, hop_block *c)
{
	for (hop_stmt *s = c->first, *next; s; s = next) {
		next = s->next;
		s->next = NULL;
		hop_block_append(o->b.b.block, s);
	}
}

/* ---- sorting ---- */

hop_reg hop_order_steps(hop_order *o)
{
	return hop_d_nest_to(&o->b, o->round, o->here);
}

hop_reg hop_order_step(hop_order *o, hop_reg i)
{
	return o->base ? hop_d_op(&o->b, HOP_SOP_add, HOP_i64, o->base, i) : i;
}

void hop_order_put_row(hop_order *o, hop_reg *map, hop_reg row)
{
	hop_reg by = o->lane ? hop_d_num(&o->b, HOP_i64, o->each) : 0;
	map[o->row] = o->lane ? hop_d_op(&o->b, HOP_SOP_rem, HOP_i64, row, by) : row;
	if (o->lane)
		map[o->lane] = hop_d_op(&o->b, HOP_SOP_div, HOP_i64, row, by);
}

static hop_reg row_of(hop_order *o, const hop_reg *map)
{
	if (!o->lane)
		return map[o->row];
	hop_reg by = hop_d_num(&o->b, HOP_i64, o->each);
	hop_reg first = hop_d_op(&o->b, HOP_SOP_mul, HOP_i64, map[o->lane], by);
	return hop_d_op(&o->b, HOP_SOP_add, HOP_i64, first, map[o->row]);
}

hop_reg hop_order_key(hop_order *o, hop_reg i)
{
	hop_dbuild *b = &o->b;
	hop_reg *map = hop_order_map(o);
	map[o->seq->dst] = hop_order_step(o, i);
	hop_block c = hop_order_renamed(o, &o->pre, map);
	hop_order_append(o, &c);
	hop_reg row = row_of(o, map), key = hop_d_cast(b, HOP_i32, row);
	hop_d_store(b, HOP_i32, hop_d_at(b, o->sort.key[0], i, 1, 0), key, 0);
	return row;
}

/* Is the key that is `by` from i another, or is there none? */
static hop_reg is_other(hop_order *o, int keys, hop_reg i, int64_t by, hop_reg key)
{
	hop_dbuild *b = &o->b;
	hop_reg end = hop_d_num(b, HOP_i64, by < 0 ? 0 : o->here ? by : o->n - by);
	if (by > 0 && o->here)
		end = hop_d_op(b, HOP_SOP_sub, HOP_i64, o->here, end);
	hop_reg there = hop_d_test(b, HOP_SOP_lt, by < 0 ? end : i, by < 0 ? i : end);
	hop_addr beside = hop_d_at(b, keys, i, 1, 0);
	beside.offset = hop_size_int(by);
	hop_reg other = hop_d_test(b, HOP_SOP_ne, hop_d_load(b, HOP_i32, beside, there), key);
	return hop_d_test(b, HOP_SOP_or, other, hop_l_op(&b->b, HOP_SOP_not, HOP_bool, 1, &there));
}

/* Where the steps of a row begin and end. */
static void find_ends(hop_order *o, int keys)
{
	hop_dbuild *b = &o->b;
	hop_reg v = hop_d_nest(b, o->rows), none = hop_d_num(b, HOP_i32, 0);
	hop_d_store(b, HOP_i32, hop_d_at(b, o->from, v, 1, 0), none, 0);
	hop_d_store(b, HOP_i32, hop_d_at(b, o->to, v, 1, 0), none, 0);
	hop_reg i = hop_order_steps(o), key = hop_d_load(b, HOP_i32, hop_d_at(b, keys, i, 1, 0), 0);
	hop_reg first = is_other(o, keys, i, -1, key), last = is_other(o, keys, i, 1, key);
	hop_reg row = hop_d_cast(b, HOP_i64, key);
	hop_reg next = hop_d_op(b, HOP_SOP_add, HOP_i64, i, hop_d_num(b, HOP_i64, 1));
	hop_d_store(b, HOP_i32, hop_d_at(b, o->from, row, 1, 0), hop_d_cast(b, HOP_i32, i), first);
	hop_d_store(b, HOP_i32, hop_d_at(b, o->to, row, 1, 0), hop_d_cast(b, HOP_i32, next), last);
}

/* ---- all of it ---- */

static int room_for(hop_order *o, int64_t n)
{
	return hop_device_scratch(o->d, HOP_i32, hop_size_int(n));
}

/* Rows of many steps: all of them by their keys; which place has them. */
static int sort_steps(hop_order *o)
{
	hop_order_key(o, hop_order_steps(o));
	int last = hop_device_sort(&o->b, &o->sort, o->n, o->here);
	find_ends(o, o->sort.key[last]);
	return last;
}

/* All that follows is for one round after the other. */
static void open_rounds(hop_order *o)
{
	hop_lbuild *b = &o->b.b;
	hop_size all = o->seq->extent;
	hop_size rounds = hop_size_div(o->d->e, hop_size_add(o->d->e, all, hop_size_int(o->n - 1)),
	                               hop_size_int(o->n));
	if (o->fill)                     /* which takes a round */
		rounds = hop_size_max(o->d->e, rounds, hop_size_int(1));
	hop_stmt *s = hop_l_loop(b, HOP_LOOP_SEQ, rounds, hop_l_reg(b));
	s->bind.each = 1;                /* mostly there is one round */
	hop_reg most = hop_d_num(&o->b, HOP_i64, o->n);
	o->base = hop_d_op(&o->b, HOP_SOP_mul, HOP_i64, s->dst, most);
	hop_reg left = hop_d_op(&o->b, HOP_SOP_sub, HOP_i64, hop_l_size(b, all), o->base);
	o->here = hop_d_op(&o->b, HOP_SOP_min, HOP_i64, left, most);
	if (o->fill)
		o->begins = hop_d_test(&o->b, HOP_SOP_eq, o->base, hop_d_num(&o->b, HOP_i64, 0));
	o->b.out = &s->body;
}

static void make(hop_order *o)
{
	if (!hop_size_const(o->seq->extent))
		open_rounds(o);
	o->nreg = o->d->f->nreg;
	o->round = hop_size_min(o->d->e, o->seq->extent, hop_size_int(o->n));
	for (int i = 0; i < 2; i++) {
		o->sort.key[i] = room_for(o, o->n);
		o->sort.was[i] = room_for(o, o->n);
	}
	o->from = room_for(o, o->rows);
	o->to = room_for(o, o->rows);
	int last = hop_order_place(o) ? 1 : sort_steps(o);
	hop_order_rows(o, o->sort.key[last], o->sort.was[last]);
}

void hop_device_order(hop_dfunc *d, hop_block *b)
{
	hop_stmt *before = NULL;         /* the nest that came last, behind it operations only */
	for (hop_stmt **at = &b->first, *s; (s = *at); at = &(*at)->next) {
		hop_order o = { .d = d, .home = b, .seq = s, .width = 1, .lanes = 1 };
		if (!is_one_of(&o)) {
			before = s->kind != HOP_L_OP ? s : is_op(s, HOP_SOP_store) ? NULL : before;
			continue;
		}
		o.b = (hop_dbuild){ .d = d, .out = &o.out,
		                    .b = { .env = d->e, .a = d->a, .f = d->f, .block = &o.out, .loc = s->loc } };
		o.fill = before && fills(&o, before) ? before : NULL;
		make(&o);
		o.out.last->next = s->next;
		*at = o.out.first;
		if (b->last == s)
			b->last = o.out.last;
		while (*at != o.out.last)
			at = &(*at)->next;
		if (o.fill)
			leave_out(b, o.fill);
		before = NULL;
	}
}
