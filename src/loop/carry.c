/* carry.c -- what a step of a loop hands to the next: copies of whole buffers at the end of a
 * step become pairs of the loop, so that a target may exchange the buffers instead. What fusion
 * has made to be done in place is no copy any more, and stays as it is; so do single elements, and
 * copies to a place that moves with a loop around.
 *
 * needs: fused, collapsed loops.  keeps: meaning.  fills: carry of SEQ and WHILE */
#include <string.h>

#include "loop/lower.h"

typedef struct pass {
	hop_env   *e;
	hop_arena *a;
	hop_lfunc *f;
} pass;

/* Element `var` of a whole buffer. */
static bool is_whole(const pass *p, const hop_addr *x, hop_reg var, hop_size n)
{
	return x->nterm == 1 && x->term[0].reg == var && hop_size_is(x->term[0].stride, 1) &&
	       hop_size_is(x->offset, 0) && hop_size_eq(p->f->buf[x->buf].count, n);
}

/* A nest that does nothing but copy buffers: how many; or 0. Alternating loads and stores. */
static int copies(const pass *p, const hop_stmt *s)
{
	int n = 0;
	if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_PAR || s->bound)
		return 0;
	for (const hop_stmt *q = s->body.first; q; q = q->next->next, n++) {
		const hop_stmt *w = q->next;
		if (q->kind != HOP_L_OP || q->sop != HOP_SOP_load || q->na || !w ||
		    w->kind != HOP_L_OP || w->sop != HOP_SOP_store || w->na != 1 || w->a[0] != q->dst ||
		    !is_whole(p, &q->u.addr, s->dst, s->extent) ||
		    !is_whole(p, &w->u.addr, s->dst, s->extent) ||
		    p->f->buf[q->u.addr.buf].kind != HOP_BUF_TEMP)
			return 0;
	}
	return n;
}

/* What fusion has brought to its place already is copied onto itself: nothing is handed on. */
static bool idle(const hop_stmt *load)
{
	return load->u.addr.buf == load->next->u.addr.buf;
}

typedef struct look { int now, next; bool clash; } look;

static void look_addr(void *user, hop_addr *x, bool is_write)
{
	look *k = user;
	k->clash |= x->buf == k->now || (is_write && x->buf == k->next);
}

/* May the copies of s wait until the statements behind it are done? */
static bool waits(pass *p, const hop_stmt *s)
{
	for (const hop_stmt *q = s->body.first; q; q = q->next->next) {
		look k = { q->next->u.addr.buf, q->u.addr.buf, false };
		for (hop_stmt *x = idle(q) ? NULL : s->next; x; x = x->next) {
			hop_stmt_all_addrs(p->f, x, look_addr, &k);
			k.clash |= x->kind == HOP_L_GROW || x->kind == HOP_L_CHECK;
		}
		if (k.clash)
			return false;
	}
	return true;
}

static hop_addr whole(int buf)
{
	return (hop_addr){ .buf = buf, .offset = hop_size_int(0) };
}

static void add(pass *p, hop_stmt *loop, const hop_stmt *s)
{
	int n = loop->ncarry + copies(p, s);
	hop_carry *c = HOP_NEWN(p->a, hop_carry, n);
	if (loop->ncarry)
		memcpy(c, loop->carry, (size_t)loop->ncarry * sizeof *c);
	for (const hop_stmt *q = s->body.first; q; q = q->next->next)
		if (!idle(q))
			c[loop->ncarry++] = (hop_carry){ whole(q->next->u.addr.buf), whole(q->u.addr.buf),
			                                 s->extent };
	loop->carry = c;
}

static bool shares(const hop_stmt *load, int now, int next)
{
	int to = load->next->u.addr.buf, from = load->u.addr.buf;
	return to == now || to == next || from == now || from == next;
}

/* No buffer is both, and none is there twice: neither among the copies of s nor beside those that
 * the loop has. */
static bool apart(const hop_stmt *loop, const hop_stmt *s)
{
	for (const hop_stmt *q = s->body.first; q; q = q->next->next) {
		if (idle(q))
			continue;
		for (int i = 0; i < loop->ncarry; i++)
			if (shares(q, loop->carry[i].now.buf, loop->carry[i].next.buf))
				return false;
		for (const hop_stmt *x = q->next->next; x; x = x->next->next)
			if (!idle(x) && shares(q, x->next->u.addr.buf, x->u.addr.buf))
				return false;
	}
	return true;
}

static void take(pass *p, hop_stmt *loop)
{
	hop_stmt *prev = NULL;
	for (hop_stmt *s = loop->body.first; s; s = s->next) {
		if (!copies(p, s) || !apart(loop, s) || !waits(p, s)) {
			prev = s;
			continue;
		}
		add(p, loop, s);
		if (prev)
			prev->next = s->next;
		else
			loop->body.first = s->next;
		if (loop->body.last == s)
			loop->body.last = prev;
	}
}

static void visit(pass *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		for (int i = 0; i < k; i++)
			visit(p, sub[i]);
		if (s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ))
			take(p, s);
	}
}

void hop_loop_carries(hop_env *e, hop_arena *a, hop_lfunc *f)
{
	pass p = { e, a, f };
	visit(&p, &f->body);
}

void hop_carry_loops(hop_lbuild *b, const hop_lfunc *f, const hop_stmt *s)
{
	hop_block *out = b->block;
	for (int i = 0; i < s->ncarry; i++, b->block = out) {
		hop_addr now = s->carry[i].now, next = s->carry[i].next;
		hop_dtype d = f->buf[now.buf].dtype;
		hop_reg r = hop_l_reg(b);
		hop_l_loop(b, HOP_LOOP_PAR, s->carry[i].count, r);
		hop_addr_add(b->a, &now, r, hop_size_int(1));
		hop_addr_add(b->a, &next, r, hop_size_int(1));
		hop_l_store(b, d, &now, hop_l_load(b, d, &next));
	}
}
