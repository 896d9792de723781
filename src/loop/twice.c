/* twice.c -- for a device: loops in order whose steps hand on whole arrays, by twos: the second step
 * reads where the first wrote, and writes where that read. So nothing is copied from step to step, and
 * all who share a step wait for each other once, not again for the copy.
 *
 *	while p { body }                     while p { body; p'; if p' { body' } else { copy } }
 *	for i < n { body }                   for k < (n + 1) / 2 { i = 2 k; body;
 *	                                                           if i + 1 < n { body' } else { copy } }
 *
 * where ' is the same with the two buffers of each carry exchanged; of a known even number of steps
 * there is always a second. What is small is copied as ever, and so is all of a body that is large: it
 * would be compiled twice.
 *
 * needs: carries, no memory plan yet: where a step ends, what it hands on lives on in either of two
 * places.  keeps: meaning, whoever runs it.  breaks: carries of the loops that it takes */
#include "loop/lower.h"
#include "loop/walk.h"

enum {
	SMALL = 4096,            /* elements that are copied in no time */
	HEAVY = 1000             /* weight of a step that is not worth compiling twice */
};

typedef struct twice {
	hop_env   *e;
	hop_arena *a;
	const hop_machine *m;
	hop_lfunc *f;
	int       *all;          /* [nbuf] accesses in f */
	hop_reg   *reg;          /* [nreg+1] of the second step; 0 = as in the first */
	int       *buf;          /* [nbuf] the same */
} twice;

/* ---- which loops ---- */

static bool is_large(const twice *t, const hop_carry *c)
{
	return !hop_size_const(c->count) || c->count.k > (t->m->small ? t->m->small : SMALL);
}

static bool is_whole(const hop_addr *x)
{
	return !x->nterm && hop_size_is(x->offset, 0);
}

static bool asks(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_EFFECT || s->kind == HOP_L_GROW || s->kind == HOP_L_CHECK ||
		    asks(&s->body) || asks(&s->other))
			return true;
	return false;
}

/* Each new state has a buffer for itself, and all that is in it a step has written: what lies there from
 * before the loop the other buffer has not. */
static bool is_own(twice *t, hop_stmt *s)
{
	int *in = HOP_NEWN(&t->e->tmp, int, t->f->nbuf);
	hop_stmt_count_addrs(t->f, s, in);
	for (int i = 0; i < s->ncarry; i++) {
		int next = s->carry[i].next.buf;
		if (!is_large(t, &s->carry[i]))
			continue;
		if (t->f->buf[next].kind != HOP_BUF_TEMP || in[next] != t->all[next])
			return false;
		for (int k = 0; k < s->ncarry; k++)
			if (s->carry[k].now.buf == next || (k != i && s->carry[k].next.buf == next))
				return false;
	}
	return true;
}

static bool is_worth(const twice *t, const hop_stmt *s)
{
	bool large = false;
	for (int i = 0; i < s->ncarry; i++)
		large |= is_large(t, &s->carry[i]);
	for (int i = 0; i < s->ncarry; i++)
		large &= is_whole(&s->carry[i].now) && is_whole(&s->carry[i].next);
	return large && !s->apart && !s->loose && !asks(&s->body) && !asks(&s->other) &&
	       hop_block_weight(&s->body) + hop_block_weight(&s->other) <= HEAVY;
}

/* ---- the second step ---- */

static void new_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	twice *t = user;
	hop_lbuild b = { .env = t->e, .a = t->a, .f = t->f };
	(void)d;
	if (def)
		t->reg[*r] = hop_l_reg(&b);
}

static void rename_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	const twice *t = user;
	(void)def;
	(void)d;
	if (t->reg[*r])
		*r = t->reg[*r];
}

static void rename_buf(void *user, hop_addr *x, bool is_write)
{
	const twice *t = user;
	(void)is_write;
	x->buf = t->buf[x->buf];
}

static void append_second(twice *t, hop_block *out, const hop_block *of)
{
	hop_block b = hop_block_copy(t->a, of);
	hop_block_regs(&b, new_reg, t);
	hop_block_regs(&b, rename_reg, t);
	for (hop_stmt *s = b.first; s; s = s->next)
		hop_stmt_all_addrs(t->f, s, rename_buf, t);
	hop_block_join(out, &b);
}

static void exchange(twice *t, const hop_stmt *s)
{
	t->reg = HOP_NEWN(&t->e->tmp, hop_reg, t->f->nreg + 1);
	t->buf = HOP_NEWN(&t->e->tmp, int, t->f->nbuf);
	for (int i = 0; i < t->f->nbuf; i++)
		t->buf[i] = i;
	for (int i = 0; i < s->ncarry; i++) {
		if (!is_large(t, &s->carry[i]))
			continue;
		t->buf[s->carry[i].now.buf] = s->carry[i].next.buf;
		t->buf[s->carry[i].next.buf] = s->carry[i].now.buf;
	}
}

/* Copies of the carries that are exchanged, or of the others. */
static void copy(twice *t, hop_lbuild *b, const hop_stmt *s, bool large)
{
	for (int i = 0; i < s->ncarry; i++) {
		hop_stmt one = { .ncarry = 1, .carry = &s->carry[i] };
		if (is_large(t, &s->carry[i]) == large)
			hop_carry_loops(b, t->f, &one);
	}
}

static bool is_even(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && !s->bound && hop_size_const(s->extent) && s->extent.k % 2 == 0;
}

/* Behind the first step, if `more` says so. */
static void put_second(twice *t, hop_lbuild *b, const hop_stmt *s, const hop_block *body, hop_reg more)
{
	hop_block *outer = b->block;
	if (is_even(s)) {
		append_second(t, outer, body);
		copy(t, b, s, false);
		return;
	}
	hop_stmt *q = hop_l_stmt(b, HOP_L_IF);
	q->na = 1;
	q->a[0] = more;
	append_second(t, &q->body, body);
	b->block = &q->body;
	copy(t, b, s, false);
	b->block = &q->other;
	copy(t, b, s, true);
	b->block = outer;
}

/* ---- loops ---- */

static hop_reg two(hop_lbuild *b, enum hop_sop s, hop_dtype d, hop_reg x, hop_reg y)
{
	return hop_l_op(b, s, d, 2, (hop_reg[]){ x, y });
}

static void take_while(twice *t, hop_stmt *s)
{
	hop_block body = s->body, out = hop_block_copy(t->a, &s->body);
	hop_lbuild b = { .env = t->e, .a = t->a, .f = t->f, .block = &out, .loc = s->loc };
	copy(t, &b, s, false);
	append_second(t, &out, &s->other);
	put_second(t, &b, s, &body, t->reg[s->a[0]] ? t->reg[s->a[0]] : s->a[0]);
	s->body = out;
}

/* Step i of n, from the last one on if that is how they go. */
static hop_reg step(hop_lbuild *b, const hop_stmt *s, hop_reg i, hop_reg n)
{
	hop_reg one = hop_l_consti(b, HOP_i64, 1);
	return s->reverse ? two(b, HOP_SOP_sub, HOP_i64, two(b, HOP_SOP_sub, HOP_i64, n, one), i) : i;
}

/* (n + 1) / 2 */
static hop_reg half(hop_lbuild *b, hop_reg n)
{
	hop_reg more = two(b, HOP_SOP_add, HOP_i64, n, hop_l_consti(b, HOP_i64, 1));
	return two(b, HOP_SOP_div, HOP_i64, more, hop_l_consti(b, HOP_i64, 2));
}

/* before: what comes before the loop. */
static void take_steps(twice *t, hop_stmt *s, hop_block *before)
{
	hop_block body = s->body, first = { 0 }, out = { 0 };
	hop_lbuild b = { .env = t->e, .a = t->a, .f = t->f, .block = before, .loc = s->loc };
	hop_reg n = s->bound, was = s->dst, k = hop_l_reg(&b);
	if (n)
		s->bound = half(&b, n);
	b.block = &out;
	if (!n)
		n = hop_l_size(&b, s->extent);
	hop_reg i = two(&b, HOP_SOP_mul, HOP_i64, k, hop_l_consti(&b, HOP_i64, 2));
	hop_reg j = two(&b, HOP_SOP_add, HOP_i64, i, hop_l_consti(&b, HOP_i64, 1));
	hop_reg at = step(&b, s, i, n), then = step(&b, s, j, n);
	hop_reg more = is_even(s) ? 0 : two(&b, HOP_SOP_lt, HOP_bool, j, n);

	first = hop_block_copy(t->a, &body);
	t->reg[was] = at;
	hop_block_regs(&first, rename_reg, t);
	hop_block_join(&out, &first);
	copy(t, &b, s, false);
	t->reg[was] = then;
	put_second(t, &b, s, &body, more);
	s->dst = k;
	s->reverse = false;
	s->extent = hop_size_div(t->e, hop_size_add(t->e, s->extent, hop_size_int(1)), hop_size_int(2));
	s->body = out;
}

static void recount(twice *t, hop_stmt *s, int by)
{
	int *in = HOP_NEWN(&t->e->tmp, int, t->f->nbuf);
	hop_stmt_count_addrs(t->f, s, in);
	for (int i = 0; i < t->f->nbuf; i++)
		t->all[i] += by * in[i];
}

static void take(twice *t, hop_stmt *s, hop_block *before)
{
	recount(t, s, -1);
	exchange(t, s);
	if (s->kind == HOP_L_WHILE)
		take_while(t, s);
	else
		take_steps(t, s, before);
	s->ncarry = 0;
	s->carry = NULL;
	recount(t, s, 1);
}

static void visit(twice *t, hop_block *b)
{
	hop_block out = { 0 };
	for (hop_stmt *s = b->first, *next; s; s = next) {
		hop_mark m = hop_mark_at(&t->e->tmp);
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		next = s->next;
		s->next = NULL;
		for (int i = 0; i < k; i++)
			visit(t, sub[i]);
		if (s->ncarry && is_worth(t, s) && is_own(t, s))
			take(t, s, &out);
		hop_block_append(&out, s);
		hop_rewind(&t->e->tmp, m);
	}
	*b = out;
}

void hop_loop_twice(hop_env *e, hop_arena *a, const hop_machine *m, hop_lfunc *f)
{
	hop_mark at = hop_mark_at(&e->tmp);
	twice t = { .e = e, .a = a, .m = m, .f = f, .all = HOP_NEWN(&e->tmp, int, f->nbuf) };
	for (hop_stmt *s = f->body.first; s; s = s->next)
		hop_stmt_count_addrs(f, s, t.all);
	visit(&t, &f->body);
	hop_rewind(&e->tmp, at);
}
