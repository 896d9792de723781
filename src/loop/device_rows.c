/* device_rows.c -- rows that are added to in order, when the steps of each are known.
 *
 *	short    a thread has a few columns of a row, and goes through the row's steps
 *	long     a block has some columns: all its threads bring what many steps add to what they share,
 *	         then a thread for each column adds it up in order; so much is under way for one row
 *
 * A row is long if it has LONG steps. Then one of them stands at a multiple of LONG among all that are
 * sorted: there a block looks, and the first of the row takes it. Does not sort. */
#include "loop/device_order.h"

enum {
	WIDE = 128, EACH = 4,    /* elements of a row from which a thread takes several, so many */
	SOME = 4,                /* steps of a row, on average, that are few: several taken at once cost
	                            registers, and with them threads that wait for other rows */
	LONG = 512,              /* steps of a row that is long: more than device_place.c ranks */
	COLUMNS = 32,            /* that a block has of one, at most */
	STAGE = 32 << 10,        /* bytes that it shares for that */
	FEW_LONG = 4, FEW_COLUMNS = 2, FEW_STEPS = 3,          /* where tests have few */
	PIECE = 16               /* elements that a slice is a multiple of */
};

typedef struct ends { hop_reg from, n; } ends;

static hop_reg num(hop_order *o, int64_t v)
{
	return hop_d_num(&o->b, HOP_i64, v);
}

static hop_reg op(hop_order *o, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_d_op(&o->b, s, HOP_i64, x, y);
}

static ends ends_of(hop_order *o, hop_reg row)
{
	hop_dbuild *b = &o->b;
	hop_reg from = hop_d_load(b, HOP_i32, hop_d_at(b, o->from, row, 1, 0), 0);
	hop_reg to = hop_d_load(b, HOP_i32, hop_d_at(b, o->to, row, 1, 0), 0);
	ends e = { .from = hop_d_cast(b, HOP_i64, from) };
	e.n = op(o, HOP_SOP_sub, hop_d_cast(b, HOP_i64, to), e.from);
	return e;
}

static hop_addr element(hop_order *o, hop_reg *map)
{
	hop_addr a = { .buf = o->store->u.addr.buf, .offset = o->store->u.addr.offset };
	for (int i = 0; i < o->store->u.addr.nterm; i++) {
		hop_term t = o->store->u.addr.term[i];
		hop_addr_add(o->d->a, &a, map[t.reg] ? map[t.reg] : t.reg, t.stride);
	}
	return a;
}

/* Columns of a row that one thread has: more loads at once, and fewer of what says which. */
static int columns_each(const hop_order *o)
{
	return o->width >= WIDE && o->width % EACH == 0 ? EACH : 1;
}

/* Where column `at` of the row is in its loops. */
static void part_columns(hop_order *o, hop_reg at, hop_reg *map)
{
	for (int i = o->ncol - 1; i >= 0; i--) {
		hop_reg by = num(o, o->col[i]->extent.k);
		map[o->col[i]->dst] = i ? op(o, HOP_SOP_rem, at, by) : at;
		at = i ? op(o, HOP_SOP_div, at, by) : at;
	}
}

static bool is_mine(hop_order *o, const hop_stmt *q)
{
	return q->sop == HOP_SOP_store ||
	       (q->sop == HOP_SOP_load && hop_device_meet(o->d, q->u.addr.buf, o->store->u.addr.buf));
}

/* Operations of a step of a column: what it adds to is in a register. */
static void put_step(hop_order *o, const hop_block *ops, int acc, hop_reg *map)
{
	hop_block c = hop_order_renamed(o, ops, map);
	for (hop_stmt *q = c.first; q; q = q->next)
		if (is_mine(o, q))
			q->u.addr = hop_d_at(&o->b, acc, 0, 0, 0);
	hop_order_append(o, &c);
}

/* What the fill puts there. */
static hop_reg filled(hop_order *o, hop_addr at)
{
	hop_reg *map = hop_order_map(o), v = 0, i = num(o, at.offset.k);
	for (int k = 0; k < at.nterm; k++) {
		hop_reg more = op(o, HOP_SOP_mul, at.term[k].reg, num(o, at.term[k].stride.k));
		i = op(o, HOP_SOP_add, i, more);
	}
	map[o->fill->dst] = i;
	hop_block all = hop_order_renamed(o, &o->fill->body, map), c = { 0 };
	for (hop_stmt *q = all.first, *next; q; q = next) {
		next = q->next;
		q->next = NULL;
		if (q->sop == HOP_SOP_store)
			v = q->a[0];
		else
			hop_block_append(&c, q);
	}
	hop_order_append(o, &c);
	return v;
}

/* What a column begins with. */
static hop_reg first_of(hop_order *o, hop_addr at, hop_reg some)
{
	hop_dbuild *b = &o->b;
	hop_dtype t = (hop_dtype)o->store->dtype;
	if (o->fill && !o->begins)
		return filled(o, at);
	if (!o->fill)
		return hop_d_load(b, t, at, some);
	hop_reg later = hop_l_op(&b->b, HOP_SOP_not, HOP_bool, 1, &o->begins);
	hop_reg was = hop_d_load(b, t, at, hop_d_test(b, HOP_SOP_and, some, later));
	return hop_d_select(b, t, o->begins, filled(o, at), was);
}

/* ---- short ones ---- */

/* The columns that a thread has, and where they are. */
typedef struct part { int n, acc[EACH]; hop_reg *map[EACH]; hop_addr at[EACH]; } part;

static void open_part(hop_order *o, part *p, hop_reg row, hop_reg column, hop_reg some)
{
	hop_dbuild *b = &o->b;
	int64_t per = o->width / p->n;
	for (int k = 0; k < p->n; k++) {
		p->map[k] = hop_order_map(o);
		part_columns(o, k ? op(o, HOP_SOP_add, column, num(o, k * per)) : column, p->map[k]);
		hop_order_put_row(o, p->map[k], row);
		p->at[k] = element(o, p->map[k]);
		hop_reg v = first_of(o, element(o, p->map[k]), some);
		p->acc[k] = hop_d_own(b, (hop_dtype)o->store->dtype, v);
	}
}

/* limit: rows of so many steps are others' business; 0 = none are. */
static void put_rows(hop_order *o, int steps, int64_t limit)
{
	hop_dbuild *b = &o->b;
	part p = { .n = columns_each(o) };
	hop_reg i = hop_d_nest(b, o->rows * (o->width / p.n)), by = num(o, o->width / p.n);
	hop_reg column = op(o, HOP_SOP_rem, i, by), row = op(o, HOP_SOP_div, i, by), zero = num(o, 0);
	ends e = ends_of(o, row);
	hop_reg some = o->fill && !o->begins ? 0 : hop_d_test(b, HOP_SOP_lt, zero, e.n);
	some = o->begins ? hop_d_test(b, HOP_SOP_or, some, o->begins) : some;
	if (limit) {
		hop_reg ours = hop_d_test(b, HOP_SOP_lt, e.n, num(o, limit));
		e.n = hop_d_select(b, HOP_i64, ours, e.n, zero);
		some = some ? hop_d_test(b, HOP_SOP_and, some, ours) : ours;
	}
	open_part(o, &p, row, column, some);
	hop_block *outer = b->b.block;
	hop_stmt *s = hop_d_seq(b, o->n);
	s->bound = e.n;
	s->bind.each = o->here || o->n <= SOME * o->rows;
	hop_reg step = hop_d_load(b, HOP_i32, hop_d_at(b, steps, e.from, 1, s->dst), 0);
	step = hop_order_step(o, hop_d_cast(b, HOP_i64, step));
	for (int k = 0; k < p.n; k++) {
		p.map[k][o->seq->dst] = step;
		put_step(o, &o->all, p.acc[k], p.map[k]);
	}
	b->b.block = outer;
	for (int k = 0; k < p.n; k++)
		hop_d_store(b, (hop_dtype)o->store->dtype, p.at[k], hop_d_get(b, p.acc[k]), some);
}

/* ---- long ones ---- */

/* A step in two: what it adds, which knows nothing of the row, and how. */
typedef struct halves { hop_block what, how; hop_reg value; hop_dtype dtype; } halves;

static bool is_loop_var(const hop_order *o, hop_reg r)
{
	for (int i = 0; i < o->ncol; i++)
		if (o->col[i]->dst == r)
			return true;
	return r == o->seq->dst;
}

static const hop_stmt *def_in(const hop_block *b, hop_reg r)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->sop != HOP_SOP_store && s->dst == r)
			return s;
	return NULL;
}

/* The operands of q, an operation of `how`, are its own, from outside of the loop, or the value. */
static bool knows_value(hop_order *o, halves *h, const hop_stmt *q)
{
	for (int i = 0; i < q->na; i++) {
		const hop_stmt *d = def_in(&h->what, q->a[i]);
		if (is_loop_var(o, q->a[i]) || (d && h->value && h->value != q->a[i]))
			return false;
		if (d) {
			h->value = q->a[i];
			h->dtype = (hop_dtype)d->dtype;
		}
	}
	return true;
}

/* False: more than one value comes to the row, or none. */
static bool halve(hop_order *o, halves *h)
{
	for (const hop_stmt *q = o->all.first; q; q = q->next) {
		bool how = is_mine(o, q);
		for (int i = 0; i < q->na; i++)
			how = how || def_in(&h->how, q->a[i]);
		if (!is_mine(o, q) && how && q->sop == HOP_SOP_load)
			return false;
		for (int i = 0; !how && q->sop == HOP_SOP_load && i < q->u.addr.nterm; i++)
			if (def_in(&h->how, q->u.addr.term[i].reg))
				return false;
		hop_block_append(how ? &h->how : &h->what, hop_stmt_copy(o->d->a, q));
	}
	for (const hop_stmt *q = h->how.first; q; q = q->next)
		if (!knows_value(o, h, q))
			return false;
	return h->value != 0;
}

typedef struct piece {
	halves  *h;
	int      steps, acc, stage;      /* buffers */
	int64_t  columns, count;         /* that it has of the row, steps at once */
	int64_t  nacc, nstage;           /* elements of the slices */
	hop_reg  i, row, first, mine;    /* which it is, its row, its first column; it takes the row */
	ends     e;
} piece;

int hop_order_slices(hop_order *o, hop_dtype t, int64_t *each, int64_t n)
{
	*each = (*each + PIECE - 1) / PIECE * PIECE;
	return hop_l_buf(&o->b.b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .space = HOP_SPACE_SCRATCH, .dtype = t,
		.index = (int)*each, .count = hop_size_int(*each * n), .offset = hop_size_int(-1),
		.is_written = true });
}

hop_reg hop_order_share(hop_order *o, int64_t n, hop_reg bound)
{
	hop_stmt *s = hop_l_loop(&o->b.b, HOP_LOOP_PAR, hop_size_int(n), hop_l_reg(&o->b.b));
	s->apart = true;
	s->bound = bound;
	return s->dst;
}

/* Columns behind the last are the last once more. */
static hop_reg *columns_of(hop_order *o, const piece *p, hop_reg c)
{
	hop_reg *map = hop_order_map(o), at = op(o, HOP_SOP_add, p->first, c);
	if (o->width % p->columns)
		at = op(o, HOP_SOP_min, at, num(o, o->width - 1));
	part_columns(o, at, map);
	return map;
}

/* What n steps add, from the `at`th on. */
static void put_stage(hop_order *o, const piece *p, hop_reg at, hop_reg n)
{
	hop_dbuild *b = &o->b;
	hop_block *outer = b->b.block;
	hop_reg by = num(o, p->columns);
	hop_reg k = hop_order_share(o, p->count * p->columns, op(o, HOP_SOP_mul, n, by));
	hop_reg *map = columns_of(o, p, op(o, HOP_SOP_rem, k, by));
	hop_addr a = hop_d_at(b, p->steps, at, 1, op(o, HOP_SOP_div, k, by));
	map[o->seq->dst] = hop_order_step(o, hop_d_cast(b, HOP_i64, hop_d_load(b, HOP_i32, a, 0)));
	hop_block c = hop_order_renamed(o, &p->h->what, map);
	hop_order_append(o, &c);
	hop_d_store(b, p->h->dtype, hop_d_at(b, p->stage, p->i, p->nstage, k), map[p->h->value], 0);
	b->b.block = outer;
}

/* n of them are added up. */
static void add_stage(hop_order *o, const piece *p, hop_reg n)
{
	hop_dbuild *b = &o->b;
	hop_block *outer = b->b.block, *in;
	hop_dtype t = (hop_dtype)o->store->dtype;
	hop_reg c = hop_order_share(o, p->columns, 0), *map = hop_order_map(o);
	in = b->b.block;
	int acc = hop_d_own(b, t, hop_d_load(b, t, hop_d_at(b, p->acc, p->i, p->nacc, c), 0));
	hop_stmt *s = hop_d_seq(b, p->count);
	s->bound = n;
	hop_addr a = hop_d_at(b, p->stage, p->i, p->nstage, c);
	hop_addr_add(o->d->a, &a, s->dst, hop_size_int(p->columns));
	map[p->h->value] = hop_d_load(b, p->h->dtype, a, 0);
	put_step(o, &p->h->how, acc, map);
	b->b.block = in;
	hop_d_store(b, t, hop_d_at(b, p->acc, p->i, p->nacc, c), hop_d_get(b, acc), 0);
	b->b.block = outer;
}

/* At most `count` steps at once; none where there are less than none left. */
static hop_reg at_once(hop_order *o, const piece *p, hop_reg left)
{
	return op(o, HOP_SOP_max, op(o, HOP_SOP_min, left, num(o, p->count)), num(o, 0));
}

static void put_stages(hop_order *o, const piece *p)
{
	hop_dbuild *b = &o->b;
	hop_block *outer = b->b.block;
	hop_reg by = num(o, p->count), more = op(o, HOP_SOP_add, p->e.n, num(o, p->count - 1));
	put_stage(o, p, p->e.from, at_once(o, p, p->e.n));
	hop_reg trips = op(o, HOP_SOP_div, more, by);
	hop_stmt *s = hop_d_seq(b, (o->n + p->count - 1) / p->count);
	s->bound = trips;
	hop_reg done = op(o, HOP_SOP_mul, s->dst, by), left = op(o, HOP_SOP_sub, p->e.n, done);
	add_stage(o, p, at_once(o, p, left));
	hop_reg next = op(o, HOP_SOP_add, op(o, HOP_SOP_add, p->e.from, done), by);
	put_stage(o, p, next, at_once(o, p, op(o, HOP_SOP_sub, left, by)));
	b->b.block = outer;
}

static int64_t pieces_of(const hop_order *o, const piece *p)
{
	return (o->width + p->columns - 1) / p->columns;
}

/* Its row, if that is long and this is the first multiple of `limit` in it. */
static void find_long(hop_order *o, piece *p, int keys, int64_t limit)
{
	hop_dbuild *b = &o->b;
	int64_t each = pieces_of(o, p);
	hop_reg by = num(o, limit), first;
	hop_reg at = op(o, HOP_SOP_mul, op(o, HOP_SOP_div, p->i, num(o, each)), by);
	p->first = op(o, HOP_SOP_mul, op(o, HOP_SOP_rem, p->i, num(o, each)), num(o, p->columns));
	hop_reg there = o->here ? hop_d_test(b, HOP_SOP_lt, at, o->here) : 0;
	if (o->many)
		there = there ? hop_d_test(b, HOP_SOP_and, there, o->many) : o->many;
	p->row = hop_d_cast(b, HOP_i64, hop_d_load(b, HOP_i32, hop_d_at(b, keys, at, 1, 0), there));
	p->e = ends_of(o, p->row);
	first = op(o, HOP_SOP_div, op(o, HOP_SOP_add, p->e.from, num(o, limit - 1)), by);
	p->mine = hop_d_test(b, HOP_SOP_eq, op(o, HOP_SOP_mul, first, by), at);
	p->mine = hop_d_test(b, HOP_SOP_and, p->mine, hop_d_test(b, HOP_SOP_le, by, p->e.n));
	p->mine = there ? hop_d_test(b, HOP_SOP_and, p->mine, there) : p->mine;
	p->e.n = hop_d_select(b, HOP_i64, p->mine, p->e.n, num(o, 0));
}

/* As many columns as a block may have, then steps that fill what it shares. */
static piece piece_of(hop_order *o, halves *h, int steps)
{
	bool few = o->d->m->small;
	piece p = { .h = h, .steps = steps, .columns = few ? FEW_COLUMNS : COLUMNS };
	p.columns = p.columns < o->width ? p.columns : o->width;
	p.count = few ? FEW_STEPS : STAGE / (p.columns * (int64_t)hop_dtype_bytes(h->dtype));
	p.count = p.count < o->n ? p.count : o->n;
	return p;
}

static void put_back(hop_order *o, const piece *p)
{
	hop_dbuild *b = &o->b;
	hop_dtype t = (hop_dtype)o->store->dtype;
	hop_reg c = hop_order_share(o, p->columns, 0), *map = columns_of(o, p, c), mine = p->mine;
	hop_reg v = hop_d_load(b, t, hop_d_at(b, p->acc, p->i, p->nacc, c), 0);
	hop_order_put_row(o, map, p->row);
	if (o->width % p->columns) {
		hop_reg there = hop_d_test(b, HOP_SOP_lt, op(o, HOP_SOP_add, p->first, c), num(o, o->width));
		mine = hop_d_test(b, HOP_SOP_and, mine, there);
	}
	hop_d_store(b, t, element(o, map), v, mine);
}

/* Where a block looks for one: each multiple, of all that a round has. */
static hop_size looks_of(const hop_order *o, int64_t limit, int64_t pieces)
{
	hop_env *e = o->d->e;
	hop_size all = hop_size_add(e, o->round, hop_size_int(limit - 1));
	return hop_size_mul(e, hop_size_div(e, all, hop_size_int(limit)), hop_size_int(pieces));
}

static void put_long(hop_order *o, halves *h, int keys, int steps, int64_t limit)
{
	hop_dbuild *b = &o->b;
	hop_dtype t = (hop_dtype)o->store->dtype;
	piece p = piece_of(o, h, steps);
	int64_t n = (o->n + limit - 1) / limit * pieces_of(o, &p);
	p.nacc = p.columns;
	p.nstage = p.columns * p.count;
	p.acc = hop_order_slices(o, t, &p.nacc, n);
	p.stage = hop_order_slices(o, h->dtype, &p.nstage, n);
	p.i = hop_d_nest_to(b, looks_of(o, limit, pieces_of(o, &p)), 0);
	hop_block *nest = b->b.block;
	find_long(o, &p, keys, limit);
	hop_reg c = hop_order_share(o, p.columns, 0), *map = columns_of(o, &p, c);
	hop_order_put_row(o, map, p.row);
	hop_reg v = first_of(o, element(o, map), p.mine);
	hop_d_store(b, t, hop_d_at(b, p.acc, p.i, p.nacc, c), v, 0);
	b->b.block = nest;
	put_stages(o, &p);
	put_back(o, &p);
	b->b.block = nest;
}

void hop_order_rows(hop_order *o, int keys, int steps)
{
	halves h = { 0 };
	int64_t limit = o->d->m->small ? FEW_LONG : LONG;
	if (o->n < 2 * limit || !halve(o, &h))
		limit = 0;
	put_rows(o, steps, limit);
	if (limit)
		put_long(o, &h, keys, steps, limit);
}
