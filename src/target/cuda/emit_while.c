/* emit_while.c -- loops that go on as long as a register says. Where a trip is short, what decides
 * whether there is another takes longer than the trip does. So a loop that only counts, as in i < n;
 * i = i + 1, runs many trips before it looks again, and those are unrolled. Does not look into trips in
 * which threads wait. */
#include "target/cuda/emit.h"

enum { SHORT = 64 };                   /* instructions of a short trip, about */

/* ---- is it short? ---- */

/* Instructions of a thread; more than SHORT if they are not all known. */
static int work(const hop_cuemit *e, const hop_block *b)
{
	int n = 0;
	for (const hop_stmt *s = b->first; s && n <= SHORT; s = s->next) {
		int64_t rounds = s->kind == HOP_L_LOOP ? hop_cuda_known(s) : 0, t = e->f->team.threads;
		if (s->kind == HOP_L_OP)
			n += hop_sop_cost(s->sop, s->dtype);
		else if (rounds >= 0 && s->loop == HOP_LOOP_PAR && hop_cuda_is_simple(&s->body) &&
		         hop_cuda_owns(e, s) && rounds <= SHORT * t)
			n += (int)((rounds + t - 1) / t) * work(e, &s->body);
		else
			n = SHORT + 1;
	}
	return n;
}

bool hop_cuda_is_short(const hop_cuemit *e, const hop_block *b)
{
	return work(e, b) <= SHORT;
}

/* ---- does it count? ---- */

static const hop_stmt *made_by(const hop_block *b, hop_reg r)
{
	const hop_stmt *s = b->first, *q;
	for (; s; s = s->next) {
		if (s->kind == HOP_L_OP && s->dst == r)
			return s;
		q = s->kind == HOP_L_OP ? NULL : made_by(&s->body, r);
		q = q || s->kind == HOP_L_OP ? q : made_by(&s->other, r);
		if (q)
			return q;
	}
	return NULL;
}

/* It loads what every thread has for itself. */
static bool is_counter(const hop_cuemit *e, const hop_stmt *s)
{
	const hop_lbuf *b = s && s->sop == HOP_SOP_load ? &e->f->buf[s->u.addr.buf] : NULL;
	return b && b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_LOCAL && hop_size_is(b->count, 1) &&
	       b->dtype == HOP_i64 && !s->na;
}

static bool is_one(const hop_cuemit *e, hop_reg r)
{
	const hop_stmt *s = made_by(&e->f->body, r);
	return s && s->sop == HOP_SOP_consti && s->u.i == 1;
}

/* The value that is stored is one more than what was there. */
static bool is_next(const hop_cuemit *e, const hop_stmt *s, const hop_stmt *store, int buf)
{
	const hop_stmt *add = made_by(&s->body, store->a[0]);
	for (int i = 0; add && add->sop == HOP_SOP_add && i < 2; i++) {
		const hop_stmt *was = made_by(&s->body, add->a[i]);
		was = was ? was : made_by(&s->other, add->a[i]);
		if (is_counter(e, was) && was->u.addr.buf == buf && is_one(e, add->a[!i]))
			return store->na == 1;
	}
	return false;
}

/* Once a trip, and right in it: all of it is operations and loops of threads, which do not count. */
static bool counts(const hop_cuemit *e, const hop_stmt *s, int buf)
{
	int n = 0;
	for (const hop_stmt *q = s->body.first; q; q = q->next)
		if (q->kind == HOP_L_OP && q->sop == HOP_SOP_store && q->u.addr.buf == buf) {
			n++;
			if (!is_next(e, s, q, buf))
				return false;
		}
	return n == 1;
}

static bool writes(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->sop == HOP_SOP_store)
			return true;
	return false;
}

typedef struct reads { const hop_block *of; bool any; } reads;

static void look(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	reads *l = user;
	(void)d;
	l->any |= !def && made_by(l->of, *r);
}

/* Registers of one block in another. */
static bool is_read(const hop_block *of, const hop_block *in)
{
	reads l = { of, false };
	hop_block_regs((hop_block *)(uintptr_t)in, look, &l);
	return l.any;
}

/* i < n: the test; NULL: it is more than that. */
static const hop_stmt *count_of(const hop_cuemit *e, const hop_stmt *s)
{
	const hop_stmt *test = made_by(&s->other, s->a[0]), *from, *end;
	if (s->ncarry || !hop_cuda_is_simple(&s->other) || writes(&s->other) || !test ||
	    test->sop != HOP_SOP_lt || work(e, &s->body) + work(e, &s->other) > SHORT)
		return NULL;
	from = made_by(&s->other, test->a[0]);
	end = made_by(&s->other, test->a[1]);
	if (!is_counter(e, from) || (end && end->sop != HOP_SOP_consti) ||
	    !counts(e, s, from->u.addr.buf))
		return NULL;
	return test;
}

/* ---- text ---- */

static void test(hop_cuemit *e, const hop_stmt *s, bool high)
{
	hop_cuda_all(e, &s->other, high);
	hop_c_line(e, "if (!%s)", hop_c_reg(e, s->a[0]));
	hop_c_line(e, "\tbreak;");
}

static void counted(hop_cuemit *e, const hop_stmt *s, const hop_stmt *lt)
{
	int most = hop_cuda_between(e, s);

	hop_c_open(e, "for (;;)");
	test(e, s, false);
	hop_c_line(e, "const uint64_t left = (uint64_t)%s - (uint64_t)%s;", hop_c_reg(e, lt->a[1]),
	           hop_c_reg(e, lt->a[0]));
	hop_c_line(e, "const unsigned some = left < %d ? (unsigned)left : %d;", most, most);
	hop_cuda_poll(e, s, "some");
	hop_c_line(e, HOP_CUDA_FEW);
	hop_c_open(e, "for (unsigned trip = 0; trip < some; trip++)");
	if (is_read(&s->other, &s->body))
		hop_cuda_all(e, &s->other, false);
	hop_cuda_all(e, &s->body, false);
	hop_c_close(e);
	hop_c_close(e);
}

void hop_cuda_while(hop_cuemit *e, const hop_stmt *s)
{
	struct hop_cuda *cu = e->cu;
	bool             high = hop_cuda_leaves(e->p, cu->func, s);
	int              n = cu->nscope, outer = cu->outer;
	const hop_stmt  *lt = high ? NULL : count_of(e, s);

	if (lt) {
		counted(e, s, lt);
		return;
	}
	hop_c_open(e, "for (;;)");
	cu->outer = n;
	hop_cuda_poll(e, s, NULL);
	test(e, s, high);
	hop_cuda_all(e, &s->body, high);
	hop_cuda_carries(e, s);
	hop_c_close(e);
	cu->nscope = n;
	cu->outer = outer;
}
