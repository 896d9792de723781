/* device_join.c -- two loops, one in the other, as one. Does not ask whether that pays.
 *
 * needs: nothing else in the outer one but operations before the inner.  keeps: meaning */
#include "loop/device.h"

void hop_device_join(hop_dfunc *d, hop_stmt *out, hop_stmt *in)
{
	hop_block   ops = { 0 }, was = out->body;
	hop_lbuild  b = { .env = d->e, .a = d->a, .f = d->f, .block = &ops, .loc = out->loc };
	hop_reg     p = hop_l_reg(&b), by = hop_l_size(&b, in->extent);
	hop_stmt   *i = hop_l_stmt(&b, HOP_L_OP), *j = hop_l_stmt(&b, HOP_L_OP);

	*i = (hop_stmt){ .kind = HOP_L_OP, .sop = HOP_SOP_div, .dtype = HOP_i64, .na = 2, .loc = out->loc,
	                 .dst = out->dst, .a = { p, by }, .next = j };
	*j = (hop_stmt){ .kind = HOP_L_OP, .sop = HOP_SOP_rem, .dtype = HOP_i64, .na = 2, .loc = out->loc,
	                 .dst = in->dst, .a = { p, by } };
	for (hop_stmt *s = was.first, *next; s != in; s = next) {
		next = s->next;
		s->next = NULL;
		hop_block_append(&ops, s);
	}
	if (in->body.first) {
		ops.last->next = in->body.first;
		ops.last = in->body.last;
	}
	out->dst = p;
	out->extent = hop_size_mul(d->e, out->extent, in->extent);
	out->body = ops;
}

/* Where a step of `out` is n of `in` the address is as many of both. */
static void count_both(hop_env *e, hop_block *b, hop_reg out, hop_reg in, hop_reg both, hop_size n)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		hop_addr *a;
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
			int o = hop_addr_term(a, out), k = hop_addr_term(a, in);
			if (o < 0 || k < 0 || !hop_size_eq(a->term[o].stride, hop_size_mul(e, a->term[k].stride, n)))
				continue;
			a->term[k].reg = both;
			a->term[o] = a->term[--a->nterm];
		}
		for (int i = 0, k = hop_stmt_blocks(s, sub); i < k; i++)
			count_both(e, sub[i], out, in, both, n);
	}
}

void hop_device_join_along(hop_dfunc *d, hop_stmt *out, hop_stmt *in)
{
	hop_reg o = out->dst;
	hop_device_join(d, out, in);
	count_both(d->e, &out->body, o, in->dst, out->dst, in->extent);
}

/* ---- without a division ---- */

/* What is asked of two variables. */
typedef struct asked { hop_reg out, in; int times; } asked;

static void count_use(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	asked *k = user;
	(void)t;
	k->times += !def && (*r == k->out || *r == k->in);
}

/* Both or none; a step of `out` is n steps of `in`. */
static bool goes_on(hop_env *e, const hop_addr *a, asked *k, hop_size n)
{
	int o = hop_addr_term(a, k->out), i = hop_addr_term(a, k->in);
	if (o < 0 && i < 0)
		return true;
	k->times -= 2;
	return o >= 0 && i >= 0 && hop_size_eq(a->term[o].stride, hop_size_mul(e, a->term[i].stride, n));
}

static bool gives(const hop_stmt *s, const asked *k)
{
	for (int i = 0; i < s->nacc; i++)
		if (s->acc[i].value == k->out || s->acc[i].value == k->in)
			return true;
	return false;
}

/* Nothing in b asks for the variables but addresses, and those go on along `out` where `in`, n times,
 * ends. */
static bool lines_up(hop_env *e, const hop_block *b, hop_reg out, hop_reg in, hop_size n)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		asked k = { out, in, 0 };
		hop_addr *a;
		if (s->kind != HOP_L_OP && s->kind != HOP_L_LOOP)
			return false;
		hop_stmt_uses(s, count_use, &k);
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
			if (!goes_on(e, a, &k, n))
				return false;
		if (k.times || (s->kind == HOP_L_LOOP && gives(s, &k)) || !lines_up(e, &s->body, out, in, n))
			return false;
	}
	return true;
}

static void drop_term(hop_block *b, hop_reg r)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_addr *a;
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++) {
			int t = hop_addr_term(a, r);
			if (t >= 0)
				a->term[t] = a->term[--a->nterm];
		}
		drop_term(&s->body, r);
	}
}

bool hop_device_line_up(hop_dfunc *d, hop_stmt *out, hop_stmt *in)
{
	asked k = { out->dst, in->dst, 0 };
	if (out->body.first != in || in->next || gives(in, &k) ||
	    !lines_up(d->e, &in->body, out->dst, in->dst, in->extent))
		return false;
	drop_term(&in->body, out->dst);
	out->extent = hop_size_mul(d->e, out->extent, in->extent);
	out->dst = in->dst;
	out->body = in->body;
	return true;
}
