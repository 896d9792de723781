/* device_place.c -- the steps of each row together and in order, by counting: for rows of few steps
 * each, which is what most are.
 *
 *	count    of a row, by its steps as they come: each has a number among those of its row
 *	begin    where a row's steps begin: sums of all counts before it, by parts
 *	place    a step goes there, behind as many as its number says
 *	rank     each step counts those of its row that come before it: so their order is that of the
 *	         steps, whoever came first to be counted
 *
 * A row of more steps than FEW is too long to rank: if there is one, all steps are sorted after all
 * (device_sort.c), and the device decides that. Who makes the rows sees no difference.
 *
 * gives: keys and steps in order in sort.key[1] and sort.was[1], from, to */
#include "loop/device_order.h"

enum {
	FEW = 128, FEW_FEW = 3,          /* steps of a row that are ranked; where tests have few */
	EACH = 4, GROUP = 16,            /* counts of a thread, threads of a group, groups of a part */
	EACH_FEW = 2, GROUP_FEW = 2,
	LIKELY = 4                       /* where rows have a quarter of FEW, likely none has more */
};

typedef struct place {
	hop_order *o;
	int64_t    each, group, part, parts, few;
	int        count, number, sum, most;      /* buffers: of a row, of a step, of a part */
} place;

static hop_reg num(place *p, int64_t v)
{
	return hop_d_num(&p->o->b, HOP_i64, v);
}

static hop_reg op(place *p, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_d_op(&p->o->b, s, HOP_i64, x, y);
}

static hop_reg load(place *p, int buf, hop_reg i, hop_reg mask)
{
	return hop_d_load(&p->o->b, HOP_i32, hop_d_at(&p->o->b, buf, i, 1, 0), mask);
}

static void store(place *p, int buf, hop_reg i, hop_reg v, hop_reg mask)
{
	hop_d_store(&p->o->b, HOP_i32, hop_d_at(&p->o->b, buf, i, 1, 0), v, mask);
}

static hop_reg wide(place *p, hop_reg v)
{
	return hop_d_cast(&p->o->b, HOP_i64, v);
}

/* Reductions of i32 over n iterations, or as many as `bound` says: give ends one with its value. */
static hop_stmt *open_red(place *p, int64_t n, hop_reg bound)
{
	hop_lbuild *b = &p->o->b.b;
	hop_stmt *s = hop_l_loop(b, HOP_LOOP_RED, hop_size_int(n), hop_l_reg(b));
	s->bound = bound;
	s->acc = HOP_NEWN(b->a, hop_acc, 2);
	return s;
}

static hop_reg give(place *p, hop_stmt *s, enum hop_red red, hop_reg init, hop_reg value)
{
	hop_reg r = hop_l_reg(&p->o->b.b);
	s->acc[s->nacc++] = (hop_acc){ red, HOP_i32, init, value, r };
	return r;
}

/* ---- counting ---- */

static void count_steps(place *p)
{
	hop_order *o = p->o;
	hop_dbuild *b = &o->b;
	hop_reg v = hop_d_nest(b, o->rows);
	store(p, p->count, v, hop_d_num(b, HOP_i32, 0), 0);
	hop_reg i = hop_order_steps(o);
	hop_addr at = hop_d_at(b, p->count, hop_order_key(o, i), 1, 0);
	hop_reg n = hop_l_op(&b->b, HOP_SOP_count, HOP_i32, 0, NULL);
	b->b.block->last->u.addr = at;
	store(p, p->number, i, n, 0);
}

/* ---- where rows begin ---- */

/* Row `first` + j of all; out: there is one. Its count, or 0. */
static hop_reg count_of(place *p, hop_reg first, hop_reg j, hop_reg *out_row, hop_reg *out_there)
{
	*out_row = op(p, HOP_SOP_add, first, j);
	*out_there = 0;
	if (p->o->rows % p->part)
		*out_there = hop_d_test(&p->o->b, HOP_SOP_lt, *out_row, num(p, p->o->rows));
	return load(p, p->count, *out_row, *out_there);
}

/* Of every part, the sum of its counts and the largest. */
static void sum_parts(place *p)
{
	hop_dbuild *b = &p->o->b;
	hop_reg part = hop_d_nest(b, p->parts), none = hop_d_num(b, HOP_i32, 0), row, there;
	hop_reg first = op(p, HOP_SOP_mul, part, num(p, p->part));
	hop_block *nest = b->b.block;
	hop_stmt *s = open_red(p, p->part, 0);
	hop_reg c = count_of(p, first, s->dst, &row, &there);
	hop_reg sum = give(p, s, HOP_RED_add, none, c), most = give(p, s, HOP_RED_max, none, c);
	b->b.block = nest;
	store(p, p->sum, part, sum, 0);
	store(p, p->most, part, most, 0);
}

/* buf[first ..], n of them at most, as many as `bound` says, added to what was before. */
static hop_reg sum_before(place *p, int buf, hop_addr at, int64_t n, hop_reg bound, hop_reg before)
{
	hop_dbuild *b = &p->o->b;
	hop_block *outer = b->b.block;
	hop_stmt *s = open_red(p, n, bound);
	at.buf = buf;
	hop_addr_add(b->b.a, &at, s->dst, hop_size_int(1));
	hop_reg sum = give(p, s, HOP_RED_add, before, hop_d_load(b, HOP_i32, at, 0));
	b->b.block = outer;
	return sum;
}

/* The rows of a thread: what each has is behind what came before. */
static void put_begins(place *p, hop_reg first, hop_reg j, hop_reg before)
{
	hop_reg from = before, by = op(p, HOP_SOP_mul, j, num(p, p->each)), row, there;
	for (int64_t k = 0; k < p->each; k++) {
		hop_reg c = count_of(p, first, op(p, HOP_SOP_add, by, num(p, k)), &row, &there);
		hop_reg to = hop_d_op(&p->o->b, HOP_SOP_add, HOP_i32, from, c);
		store(p, p->o->from, row, from, there);
		store(p, p->o->to, row, to, there);
		from = to;
	}
}

/* A block has a part: sums of threads, then of groups of them, through what it shares. */
static void begin_rows(place *p)
{
	hop_order *o = p->o;
	hop_dbuild *b = &o->b;
	int64_t threads = p->group * p->group, ngroup = p->group;
	int mine = hop_order_slices(o, HOP_i32, &threads, p->parts);
	int ours = hop_order_slices(o, HOP_i32, &ngroup, p->parts);
	hop_reg part = hop_d_nest(b, p->parts), zero = hop_d_num(b, HOP_i32, 0), row, there;
	hop_block *nest = b->b.block;
	hop_reg first = op(p, HOP_SOP_mul, part, num(p, p->part));
	hop_reg before = sum_before(p, p->sum, hop_d_at(b, p->sum, 0, 0, 0), p->parts, part, zero);

	hop_reg j = hop_order_share(o, p->group * p->group, 0), sum = zero;
	hop_reg by = op(p, HOP_SOP_mul, j, num(p, p->each));
	for (int64_t k = 0; k < p->each; k++) {
		hop_reg c = count_of(p, first, op(p, HOP_SOP_add, by, num(p, k)), &row, &there);
		sum = hop_d_op(b, HOP_SOP_add, HOP_i32, sum, c);
	}
	hop_d_store(b, HOP_i32, hop_d_at(b, mine, part, threads, j), sum, 0);
	b->b.block = nest;

	hop_reg g = hop_order_share(o, p->group, 0);
	hop_addr at = hop_d_at(b, mine, part, threads, 0);
	hop_addr_add(b->b.a, &at, g, hop_size_int(p->group));
	sum = sum_before(p, mine, at, p->group, 0, zero);
	hop_d_store(b, HOP_i32, hop_d_at(b, ours, part, ngroup, g), sum, 0);
	b->b.block = nest;

	j = hop_order_share(o, p->group * p->group, 0);
	hop_reg size = num(p, p->group), group = op(p, HOP_SOP_div, j, size);
	sum = sum_before(p, ours, hop_d_at(b, ours, part, ngroup, 0), p->group, group, before);
	at = hop_d_at(b, mine, part, threads, 0);
	hop_addr_add(b->b.a, &at, group, hop_size_int(p->group));
	sum = sum_before(p, mine, at, p->group, op(p, HOP_SOP_rem, j, size), sum);
	put_begins(p, first, j, sum);
	b->b.block = nest;
}

/* ---- steps ---- */

static void place_steps(place *p)
{
	hop_order *o = p->o;
	hop_reg i = hop_order_steps(o), row = wide(p, load(p, o->sort.key[0], i, 0));
	hop_reg from = wide(p, load(p, o->from, row, 0)), number = wide(p, load(p, p->number, i, 0));
	store(p, o->sort.was[0], op(p, HOP_SOP_add, from, number), hop_d_cast(&o->b, HOP_i32, i), 0);
}

/* Place by place, not step by step: neighbours ask for the same others. */
static void rank_steps(place *p)
{
	hop_order *o = p->o;
	hop_dbuild *b = &o->b;
	hop_reg at = hop_order_steps(o), step = load(p, o->sort.was[0], at, 0);
	hop_block *nest = b->b.block;
	hop_reg row = wide(p, load(p, o->sort.key[0], wide(p, step), 0));
	hop_reg from = wide(p, load(p, o->from, row, 0)), to = wide(p, load(p, o->to, row, 0));
	hop_reg all = op(p, HOP_SOP_sub, to, from), few = num(p, p->few);
	hop_reg ours = hop_d_test(b, HOP_SOP_le, all, few), n = op(p, HOP_SOP_min, all, few);
	hop_reg zero = hop_d_num(b, HOP_i32, 0);
	hop_stmt *s = open_red(p, p->few, n);
	hop_reg other = load(p, o->sort.was[0], op(p, HOP_SOP_add, from, s->dst), 0);
	hop_reg less = hop_d_cast(b, HOP_i32, hop_d_test(b, HOP_SOP_lt, other, step));
	hop_reg rank = give(p, s, HOP_RED_add, zero, less);
	b->b.block = nest;
	store(p, o->sort.was[1], op(p, HOP_SOP_add, from, wide(p, rank)), step, ours);
}

/* A row that is too long is one of a part's. */
static void sort_if_long(place *p)
{
	hop_order *o = p->o;
	hop_dbuild *b = &o->b;
	hop_block *was = b->out;
	b->b.block = b->out;
	hop_reg few = hop_d_num(b, HOP_i32, p->few);
	hop_stmt *s = open_red(p, p->parts, 0);
	hop_reg most = give(p, s, HOP_RED_max, few, load(p, p->most, s->dst, 0));
	b->b.block = b->out;
	o->many = hop_d_test(b, HOP_SOP_lt, few, most);
	hop_stmt *branch = hop_l_stmt(&b->b, HOP_L_IF);
	branch->na = 1;
	branch->a[0] = o->many;
	branch->rare = true;
	b->out = &branch->body;
	if (!hop_device_sort(b, &o->sort, o->n, o->here)) {
		hop_reg i = hop_order_steps(o);
		store(p, o->sort.key[1], i, load(p, o->sort.key[0], i, 0), 0);
		store(p, o->sort.was[1], i, load(p, o->sort.was[0], i, 0), 0);
	}
	b->out = was;
	b->b.block = was;
}

bool hop_order_place(hop_order *o)
{
	bool few = o->d->m->small;
	place p = { .o = o, .each = few ? EACH_FEW : EACH, .group = few ? GROUP_FEW : GROUP,
	            .few = few ? FEW_FEW : FEW };
	if (o->rows * p.few / LIKELY < o->n)
		return false;
	p.part = p.each * p.group * p.group;
	p.parts = (o->rows + p.part - 1) / p.part;
	p.count = hop_device_scratch(o->d, HOP_i32, hop_size_int(o->rows));
	p.number = hop_device_scratch(o->d, HOP_i32, hop_size_int(o->n));
	p.sum = hop_device_scratch(o->d, HOP_i32, hop_size_int(p.parts));
	p.most = hop_device_scratch(o->d, HOP_i32, hop_size_int(p.parts));
	count_steps(&p);
	sum_parts(&p);
	begin_rows(&p);
	place_steps(&p);
	rank_steps(&p);
	sort_if_long(&p);
	return true;
}
