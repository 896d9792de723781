/* collapse.c -- a loop that only holds a loop, both running through memory without gaps,
 * becomes one long loop: short rows then fill vectors. Parallel loops only. */
#include "loop/lower.h"

typedef struct pair {
	hop_env *e;
	hop_stmt *out, *in;
	bool      ok, apply;
} pair;

static bool is_pair(const pair *p, hop_reg r)
{
	return r && (r == p->out->dst || r == p->in->dst);
}

static void addr(void *user, hop_addr *a, bool is_write)
{
	pair *p = user;
	int i = hop_addr_term(a, p->out->dst), j = hop_addr_term(a, p->in->dst);
	(void)is_write;
	if (i < 0 && j < 0)
		return;
	if (i < 0 || j < 0) {
		p->ok = false;
		return;
	}
	if (p->apply)
		a->term[i] = a->term[--a->nterm];
	else if (!hop_size_eq(a->term[i].stride,
	                      hop_size_mul(p->e, a->term[j].stride, p->in->extent)))
		p->ok = false;
}

static void visit(pair *p, hop_lfunc *f, hop_block *b)
{
	for (hop_stmt *s = b->first; s && p->ok; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		hop_stmt_addrs(f, s, addr, p);
		for (int i = 0; i < s->na; i++)
			p->ok = p->ok && !is_pair(p, s->a[i]);
		p->ok = p->ok && !is_pair(p, s->bound);
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
			p->ok = p->ok && !is_pair(p, s->acc[i].init) &&
			        !is_pair(p, s->acc[i].value);
		for (int i = 0; i < k; i++)
			visit(p, f, sub[i]);
	}
}

static void block(hop_env *e, hop_lfunc *f, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		int k = hop_stmt_blocks(s, sub);
		for (int i = 0; i < k; i++)
			block(e, f, sub[i]);
		while (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_PAR && s->body.first &&
		       !s->body.first->next && s->body.first->kind == HOP_L_LOOP &&
		       s->body.first->loop == HOP_LOOP_PAR && !s->bound && !s->body.first->bound) {
			pair p = { e, s, s->body.first, true, false };
			visit(&p, f, &p.in->body);
			if (!p.ok)
				break;
			p.apply = true;
			visit(&p, f, &p.in->body);
			s->extent = hop_size_mul(e, s->extent, p.in->extent);
			s->dst = p.in->dst;
			s->body = p.in->body;
		}
	}
}

void hop_loop_collapse(hop_env *e, hop_lfunc *f)
{
	block(e, f, &f->body);
}
