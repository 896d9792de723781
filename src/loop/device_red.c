/* device_red.c -- a sum over all blocks: parts of it, a block each, whose results lie in scratch; then
 * the sum of those. How many parts depends on the extent alone, so that the order of additions does.
 * A sum of sums is made one sum first.
 *
 *	for p over blocks: r = sum of this part; partial[p] = r
 *	all wait, or the last block goes on
 *	result = sum over p of partial[p]
 *
 * keeps: meaning but for the order of additions, which a RED loop leaves open */
#include "loop/device.h"

enum { PARTS = 512, LEAST = 2048 };      /* parts at most; iterations a part at least */

hop_size hop_device_red_parts(hop_env *e, hop_size n, hop_size row)
{
	hop_size all = hop_size_mul(e, n, row);
	hop_size parts = hop_size_div(e, hop_size_add(e, all, hop_size_int(LEAST - 1)), hop_size_int(LEAST));
	parts = hop_size_min(e, hop_size_min(e, parts, n), hop_size_int(PARTS));
	return hop_size_max(e, parts, hop_size_int(1));
}

static hop_reg op2(hop_lbuild *b, enum hop_sop s, hop_reg x, hop_reg y)
{
	return hop_l_op(b, s, HOP_i64, 2, (hop_reg[]){ x, y });
}

/* How many there are at most is not known before it runs. */
static bool is_local(const hop_dfunc *d, const hop_stmt *s)
{
	return hop_size_nsym(s->extent) > d->f->nsym;
}

/* What changes nothing: f of reals, i of the others. */
typedef struct number { double f; int64_t i; } number;

static number identity_of(const hop_acc *c)
{
	bool real = hop_dtype_real(c->dtype);
	switch (c->op) {
	case HOP_RED_mul: return (number){ 1, 1 };
	case HOP_RED_max: return (number){ -__builtin_inf(), real ? 0 : hop_dtype_least(c->dtype) };
	case HOP_RED_min: return (number){ __builtin_inf(), real ? 0 : hop_dtype_most(c->dtype) };
	case HOP_RED_and: return (number){ 0, -1 };
	default:          return (number){ 0, 0 };
	}
}

hop_reg hop_device_identity(hop_lbuild *b, const hop_acc *c)
{
	number n = identity_of(c);
	return hop_dtype_real(c->dtype) ? hop_l_constf(b, c->dtype, n.f) : hop_l_consti(b, c->dtype, n.i);
}

/* ---- sums of sums ---- */

/* Is r a constant of the function, and that one? */
static bool is_identity(const hop_dfunc *d, hop_reg r, const hop_acc *c)
{
	bool real = hop_dtype_real(c->dtype);
	number n = identity_of(c);
	const hop_stmt *s = d->f->body.first;
	while (s && !(s->kind == HOP_L_OP && s->dst == r))
		s = s->next;
	return s && s->sop == (real ? HOP_SOP_constf : HOP_SOP_consti) &&
	       (real ? s->u.f == n.f : s->u.i == n.i);
}

/* The sum that s adds up and nothing else, or NULL. */
static hop_stmt *sum_in(const hop_dfunc *d, const hop_stmt *s)
{
	hop_stmt *in = hop_device_only(&s->body);
	if (!in || in->kind != HOP_L_LOOP || in->loop != HOP_LOOP_RED || in->bound ||
	    in->nacc != s->nacc)
		return NULL;
	for (int i = 0; i < s->nacc; i++)
		if (s->acc[i].value != in->acc[i].result || s->acc[i].op != in->acc[i].op ||
		    s->acc[i].dtype != in->acc[i].dtype || !is_identity(d, in->acc[i].init, &in->acc[i]))
			return NULL;
	return in;
}

static void take_values(hop_stmt *s, const hop_stmt *in)
{
	for (int i = 0; i < s->nacc; i++)
		s->acc[i].value = in->acc[i].value;
}

void hop_device_flatten_along(hop_dfunc *d, hop_stmt *s)
{
	for (hop_stmt *in; !s->bound && (in = sum_in(d, s)) && hop_device_line_up(d, s, in);)
		take_values(s, in);
}

void hop_device_flatten(hop_dfunc *d, hop_stmt *s)
{
	for (hop_stmt *in; !s->bound && (in = sum_in(d, s));) {
		if (!hop_device_line_up(d, s, in))
			hop_device_join(d, s, in);
		take_values(s, in);
	}
}

/* ---- parts ---- */

/* Insert what was built in the place of s, and s after it: the caller has changed s. */
static void put_before(hop_block *b, hop_stmt *s, hop_block *what)
{
	hop_stmt **at = &b->first;
	if (!what->first)
		return;
	while (*at != s)
		at = &(*at)->next;
	*at = what->first;
	what->last->next = s;
}

static hop_addr at_part(hop_dfunc *d, int buf, hop_reg p)
{
	hop_addr a = { .buf = buf, .offset = hop_size_int(0) };
	hop_addr_add(d->a, &a, p, hop_size_int(1));
	return a;
}

/* Iterations of a part, of n in all. */
static hop_reg chunk_of(hop_dfunc *d, hop_lbuild *b, const hop_stmt *s, hop_reg n, hop_size parts)
{
	hop_size less = hop_size_add(d->e, parts, hop_size_int(-1));
	if (!s->bound)
		return hop_l_size(b, hop_size_div(d->e, hop_size_add(d->e, s->extent, less), parts));
	return op2(b, HOP_SOP_div, op2(b, HOP_SOP_add, n, hop_l_size(b, less)), hop_l_size(b, parts));
}

/* The part of s that starts at p * chunk, with results of its own. */
static hop_stmt *part_of(hop_dfunc *d, hop_lbuild *b, const hop_stmt *s, hop_reg p, hop_reg n,
                         hop_reg chunk, hop_size parts)
{
	hop_stmt *q = hop_stmt_copy(d->a, s);
	hop_reg from = op2(b, HOP_SOP_mul, p, chunk), i = hop_l_reg(b);
	bool even = !s->bound && hop_size_const(s->extent) && hop_size_const(parts) &&
	            s->extent.k % parts.k == 0;
	if (even) {
		q->extent = hop_size_int(s->extent.k / parts.k);
	} else {
		hop_reg left = op2(b, HOP_SOP_sub, n, from), zero = hop_l_consti(b, HOP_i64, 0);
		q->bound = op2(b, HOP_SOP_max, op2(b, HOP_SOP_min, left, chunk), zero);
	}
	for (int k = 0; k < q->nacc; k++) {
		q->acc[k].init = hop_device_identity(b, &s->acc[k]);
		q->acc[k].result = hop_l_reg(b);
	}
	/* the loop's variable is where it starts and how far it is */
	hop_stmt *add = HOP_NEW(d->a, hop_stmt);
	*add = (hop_stmt){ .kind = HOP_L_OP, .sop = HOP_SOP_add, .dtype = HOP_i64, .na = 2, .dst = q->dst,
	                   .a = { from, i }, .loc = s->loc, .next = q->body.first };
	q->body.first = add;
	if (!q->body.last)
		q->body.last = add;
	q->dst = i;
	q->bind = (hop_bind){ .place = HOP_PLACE_THREAD };
	hop_block_append(b->block, q);
	return q;
}

hop_stmt *hop_device_split_red(hop_dfunc *d, hop_block *home, hop_stmt *s, hop_size row, bool resident)
{
	hop_block   all = { 0 };
	hop_lbuild  b = { .env = d->e, .a = d->a, .f = d->f, .block = &all, .loc = s->loc };
	bool        local = is_local(d, s);
	hop_size    parts = local ? hop_size_int(PARTS) : hop_device_red_parts(d->e, s->extent, row);
	int        *buf = HOP_NEWN(d->a, int, s->nacc + 1);
	hop_reg     n = s->bound ? s->bound : hop_l_size(&b, s->extent);
	hop_reg     chunk = chunk_of(d, &b, s, n, parts);

	for (int i = 0; i < s->nacc; i++)
		buf[i] = hop_device_scratch(d, s->acc[i].dtype, hop_size_int(PARTS));
	hop_stmt *over = hop_l_loop(&b, HOP_LOOP_PAR, parts, hop_l_reg(&b));
	over->bind = (hop_bind){ .place = HOP_PLACE_BLOCK_X };
	b.block = &over->body;
	hop_stmt *q = part_of(d, &b, s, over->dst, n, chunk, parts);
	for (int i = 0; i < s->nacc; i++) {
		hop_addr a = at_part(d, buf[i], over->dst);
		hop_l_store(&b, s->acc[i].dtype, &a, q->acc[i].result);
	}
	b.block = &all;
	if (!resident) {
		hop_stmt *last = hop_l_stmt(&b, HOP_L_BARRIER);
		last->callee = HOP_BARRIER_LAST;
	}
	put_before(home, s, &all);
	/* s itself is the sum of the parts now */
	hop_block again = { 0 };
	b.block = &again;
	s->extent = parts;
	s->bound = 0;
	s->dst = hop_l_reg(&b);
	for (int i = 0; i < s->nacc; i++) {
		hop_addr a = at_part(d, buf[i], s->dst);
		s->acc[i].value = hop_l_load(&b, s->acc[i].dtype, &a);
	}
	s->body = again;
	s->bind = (hop_bind){ .place = HOP_PLACE_THREAD };
	return q;
}
