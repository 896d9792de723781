/* device_columns.c -- sums across memory: a thread each would be few threads with a long way to go, so
 * each sum is made of parts, by threads of their own, and a second nest adds them.
 *
 *	for j: r = sum over k of ..; rest        becomes
 *	for p, for j: r = sum over k of part p; partial[p, j] = r
 *	for j: r = sum over p of partial[p, j]; rest
 *
 * How many parts depends on the shape alone: of a sum whose length is a size parameter, on what that
 * is when it runs, up to as many as a long one has. What comes before the sum in an iteration is done in
 * both.
 * Few parts are added in the same kernel, by the block that ends the last part of its columns.
 *
 * keeps: meaning but for the order of additions, which a RED loop leaves open */
#include "loop/device.h"

enum { FULL = 1 << 18,           /* threads that fill a device */
       WIDE = 1 << 17,           /* sums that are threads enough */
       LEAST = 64,               /* of a sum, a part */
       LONG = 512,               /* sums that are worth parts */
       FOLD = 32,                /* parts that a block which has made some may add up itself */
       BLOCK = 256, NARROW = 128 };      /* threads of a block that has a sum a thread, at least */

/* ops, RED, then what uses it: the sum, if there is no other loop and nothing is stored before. Over
 * several axes it is one, where they lie behind each other. */
static hop_stmt *sum_in(hop_dfunc *d, const hop_block *b)
{
	hop_stmt *sum = NULL;
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (s->kind == HOP_L_OP && (sum || !hop_sop_writes(s->sop)))
			continue;
		if (sum || s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_RED || s->bound)
			return NULL;
		sum = s;
	}
	if (sum)
		hop_device_flatten_along(d, sum);
	return sum && hop_size_nsym(sum->extent) <= d->f->nsym ? sum : NULL;
}

static bool only_reads(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind != HOP_L_OP || hop_sop_writes(s->sop))
			return false;
	return true;
}

static int near(const hop_addr *a, hop_reg var)
{
	int t = hop_addr_term(a, var);
	return t >= 0 && hop_size_is(a->term[t].stride, 1);
}

static bool across(const hop_stmt *sum, hop_reg j)
{
	int n = 0;
	for (const hop_stmt *s = sum->body.first; s; s = s->next)
		if (s->sop == HOP_SOP_load)
			n += near(&s->u.addr, j) - near(&s->u.addr, sum->dst);
	return n > 0;
}

/* The loop over sums: the innermost of parallel loops right in each other, all of known extent. */
static hop_stmt *columns_in(hop_stmt *s, int64_t *out_n)
{
	*out_n = 1;
	for (;;) {
		if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_PAR || s->bound || !hop_size_const(s->extent) ||
		    !hop_block_owns(&s->body, s->dst))
			return NULL;
		*out_n *= s->extent.k;
		hop_stmt *in = s->body.first;
		if (!in || in->next || in->kind != HOP_L_LOOP || in->loop != HOP_LOOP_PAR)
			return s;
		s = in;
	}
}

/* A machine for which little is much has parts of little, too. */
static int64_t least_of(const hop_dfunc *d)
{
	return d->m->small ? 2 : LEAST;
}

/* Of sums of that length, or of any. */
static int64_t parts_for(const hop_dfunc *d, int64_t sums, hop_size length)
{
	int64_t s = d->m->small, n = (int64_t)hop_device_trips(length);
	int64_t p = (s ? 16 * s : FULL) / sums, most = n / least_of(d);
	p = n < (s ? s : LONG) ? 1 : p < most ? p : most;
	return p > FOLD && p <= 2 * FOLD ? p / 2 : p;
}

/* How a sum is cut. */
typedef struct cut { int64_t most; hop_size parts, chunk; } cut;

static hop_size up(hop_env *e, hop_size n, hop_size by)
{
	return hop_size_div(e, hop_size_add(e, n, hop_size_add(e, by, hop_size_int(-1))), by);
}

/* Parts of a known sum have something, all of them. */
static cut cut_of(const hop_dfunc *d, hop_size n, int64_t most)
{
	cut c = { .most = most };
	if (hop_size_const(n)) {
		c.chunk = up(d->e, n, hop_size_int(most));
		c.parts = up(d->e, n, c.chunk);
		c.most = c.parts.k;
		return c;
	}
	hop_size some = hop_size_max(d->e, up(d->e, n, hop_size_int(least_of(d))), hop_size_int(1));
	c.parts = hop_size_min(d->e, some, hop_size_int(most));
	c.chunk = up(d->e, n, c.parts);
	return c;
}

/* The position of the iteration among all of them, as terms: row after row. */
static hop_addr place(hop_dfunc *d, int buf, const hop_stmt *s, const hop_stmt *last)
{
	hop_addr a = { .buf = buf, .offset = hop_size_int(0) };
	for (;; s = s->body.first) {
		int64_t stride = 1;
		for (const hop_stmt *q = s; q != last; q = q->body.first)
			stride *= q->body.first->extent.k;
		hop_addr_add(d->a, &a, s->dst, hop_size_int(stride));
		if (s == last)
			return a;
	}
}

static void end_at(hop_block *b, hop_stmt *s)
{
	s->next = NULL;
	b->last = s;
}

static void rename_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	int *map = user;
	(void)t;
	(void)def;
	if (map[*r])
		*r = map[*r];
}

static void fresh(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	struct { hop_lfunc *f; int *map; } *u = user;
	(void)t;
	if (def)
		u->map[*r] = ++u->f->nreg;
}

/* s with registers of its own. */
static hop_stmt *twin(hop_dfunc *d, const hop_stmt *s)
{
	hop_stmt *q = hop_stmt_copy(d->a, s);
	struct { hop_lfunc *f; int *map; } u = { d->f, HOP_NEWN(&d->e->tmp, int, d->f->nreg + 1) };
	int before = d->f->nreg;
	hop_stmt_regs(q, fresh, &u);
	int *map = HOP_NEWN(&d->e->tmp, int, d->f->nreg + 1);
	for (int i = 0; i <= before; i++)
		map[i] = u.map[i];
	hop_stmt_regs(q, rename_reg, map);
	return q;
}

/* Part p of the sum: its variable counts from p * chunk on. */
static void take_part(hop_dfunc *d, hop_stmt *col, hop_stmt *sum, hop_reg p, hop_size chunk)
{
	hop_block ops = { 0 };
	hop_lbuild b = { .env = d->e, .a = d->a, .f = d->f, .block = &ops, .loc = sum->loc };
	hop_size n = sum->extent;
	bool known = hop_size_const(n);
	hop_reg by = known ? hop_l_consti(&b, HOP_i64, chunk.k) : hop_l_size(&b, chunk);
	hop_reg from = hop_l_op(&b, HOP_SOP_mul, HOP_i64, 2, (hop_reg[]){ p, by });
	hop_reg all = known ? hop_l_consti(&b, HOP_i64, n.k) : hop_l_size(&b, n);
	hop_reg left = hop_l_op(&b, HOP_SOP_sub, HOP_i64, 2, (hop_reg[]){ all, from });
	if (!known || n.k % chunk.k)
		sum->bound = hop_l_op(&b, HOP_SOP_max, HOP_i64, 2, (hop_reg[]){ hop_l_consti(&b, HOP_i64, 0),
		                      hop_l_op(&b, HOP_SOP_min, HOP_i64, 2, (hop_reg[]){ left, by }) });
	sum->extent = chunk;
	for (int i = 0; i < sum->nacc; i++)
		sum->acc[i].init = hop_device_identity(&b, &sum->acc[i]);
	hop_stmt *add = HOP_NEW(d->a, hop_stmt);
	*add = (hop_stmt){ .kind = HOP_L_OP, .sop = HOP_SOP_add, .dtype = HOP_i64, .na = 2, .dst = sum->dst,
	                   .a = { from, ++d->f->nreg }, .loc = sum->loc, .next = sum->body.first };
	sum->dst = d->f->nreg;
	sum->body.first = add;
	ops.last->next = col->body.first;
	col->body.first = ops.first;
}

static hop_stmt *sum_of(hop_stmt *col)
{
	hop_stmt *s = col->body.first;
	while (s->kind != HOP_L_LOOP)
		s = s->next;
	return s;
}

static hop_stmt *last_of(hop_stmt *s)
{
	while (s->body.first && !s->body.first->next && s->body.first->kind == HOP_L_LOOP &&
	       s->body.first->loop == HOP_LOOP_PAR)
		s = s->body.first;
	return s;
}

static void reads(void *user, hop_addr *x, bool is_write)
{
	((bool *)user)[x->buf] |= !is_write;
}

static void writes(void *user, hop_addr *x, bool is_write)
{
	((bool *)user)[x->buf] |= is_write;
}

/* What s writes is nothing that others may still read for parts. */
static bool is_apart(hop_dfunc *d, hop_stmt *over, hop_stmt *s)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	bool *in = HOP_NEWN(&d->e->tmp, bool, d->f->nbuf), *out = HOP_NEWN(&d->e->tmp, bool, d->f->nbuf);
	bool ok = true;
	hop_stmt_all_addrs(d->f, over, reads, in);
	hop_stmt_all_addrs(d->f, s, writes, out);
	for (int i = 0; i < d->f->nbuf; i++)
		for (int k = 0; in[i] && k < d->f->nbuf; k++)
			ok = ok && !(out[k] && hop_device_meet(d, i, k));
	hop_rewind(&d->e->tmp, m);
	return ok;
}

/* s with the sum in its innermost loop: the parts, which stand before it, and s changed. */
static hop_stmt *split(hop_dfunc *d, hop_stmt *s, int64_t sums, cut c)
{
	hop_stmt *own = last_of(s), *sum = sum_of(own), *q = twin(d, s), *col = last_of(q);
	hop_lbuild b = { .env = d->e, .a = d->a, .f = d->f, .loc = s->loc };
	hop_stmt *over = HOP_NEW(d->a, hop_stmt), *qsum = sum_of(col);
	*over = (hop_stmt){ .kind = HOP_L_LOOP, .loop = HOP_LOOP_PAR, .dst = hop_l_reg(&b), .loc = s->loc,
	                    .extent = c.parts, .body = { q, q } };
	q->next = NULL;
	end_at(&col->body, qsum);
	take_part(d, col, qsum, over->dst, c.chunk);
	hop_block again = { 0 };
	hop_reg p = hop_l_reg(&b);
	for (int i = 0; i < sum->nacc; i++) {
		hop_dtype t = sum->acc[i].dtype;
		int buf = hop_device_scratch(d, t, hop_size_int(c.most * sums));
		hop_addr to = place(d, buf, q, col), from = place(d, buf, s, own);
		hop_addr_add(d->a, &to, over->dst, hop_size_int(sums));
		hop_addr_add(d->a, &from, p, hop_size_int(sums));
		b.block = &col->body;
		hop_l_store(&b, t, &to, qsum->acc[i].result);
		b.block = &again;
		sum->acc[i].value = hop_l_load(&b, t, &from);
	}
	sum->extent = c.parts;
	sum->dst = p;
	sum->body = again;
	over->parts = s == own && hop_size_const(c.parts) && c.most <= FOLD &&
	              sums >= NARROW && sums <= HOP_GROUPS * BLOCK &&
	              sums * c.most > NARROW * FOLD / 2 && is_apart(d, over, s);
	return over;
}

void hop_device_split_columns(hop_dfunc *d, hop_block *b)
{
	for (hop_stmt **at = &b->first, *s; (s = *at); at = &(*at)->next) {
		int64_t sums;
		hop_stmt *col = s->kind == HOP_L_LOOP ? columns_in(s, &sums) : NULL;
		hop_stmt *sum = col ? sum_in(d, &col->body) : NULL;
		int64_t most;
		if (!sum || sums < 1 || sums > WIDE || !only_reads(&sum->body) || !across(sum, col->dst) ||
		    (most = parts_for(d, sums, sum->extent)) < 2)
			continue;
		*at = split(d, s, sums, cut_of(d, sum->extent, most));
		(*at)->next = s;
		at = &(*at)->next;
	}
}
