/* cond_lower.c -- lowering of cond and switch: all bodies write the same buffers. Many
 * branches are a tree of tests, so that an index is found in few of them. */
#include "loop/lower.h"

struct choice {
	const hop_node         *n;
	const hop_graph *const *body;
	bool                    two;     /* sel is a bool that means the first body */
	hop_reg                 sel;     /* or the number of the body */
	const hop_view         *dest;
};

static hop_status branch(hop_lower *l, const struct choice *c, const hop_graph *body,
                         hop_stmt *s, hop_block *b)
{
	hop_linst *in = hop_lower_body(l, c->n, body);
	hop_status st;
	for (uint32_t i = 0; i < body->nparam; i++)
		hop_lower_bind_arg(l, c->n, (int)i + 1, in, (int)i, NULL);
	hop_lower_enter(l, s, b, true);
	st = hop_lower_decide(l, in, c->dest, NULL);
	if (!st)
		st = hop_lower_emit(l, in, c->dest, false);
	hop_lower_leave(l, false);
	return st;
}

static hop_status choose(hop_lower *l, const struct choice *c, int lo, int hi);

/* One body, or the choice among several, into a block of s. */
static hop_status fill(hop_lower *l, const struct choice *c, int lo, int hi, hop_stmt *s,
                       hop_block *b)
{
	hop_status st;
	if (hi - lo == 1)
		return branch(l, c, c->body[lo], s, b);
	hop_lower_enter(l, s, b, true);
	st = choose(l, c, lo, hi);
	hop_lower_leave(l, false);
	return st;
}

/* Bodies lo .. hi-1, at least two. An index out of range falls to the first or the last. */
static hop_status choose(hop_lower *l, const struct choice *c, int lo, int hi)
{
	int mid = (lo + hi) / 2;
	hop_reg p = c->two ? c->sel : hop_lower_do(l, lt, HOP_bool, c->sel,
	                                           hop_lower_const(l, HOP_i64, 0, mid));
	hop_stmt *s = hop_lower_new(l, HOP_L_IF);
	s->na = 1;
	s->a[0] = p;
	HOP_TRY(fill(l, c, lo, mid, s, &s->body));
	HOP_TRY(fill(l, c, mid, hi, s, &s->other));
	hop_lower_enter(l, s, l->q.cur->block, false);
	hop_lower_leave(l, true);
	return HOP_OK;
}

hop_status hop_lower_cond(hop_lower *l, const hop_node *n)
{
	hop_graphs sub = hop_node_subs(n);
	hop_view *dest = HOP_NEWN(l->w, hop_view, n->nout);
	struct choice c = { .n = n, .body = sub.v, .two = n->op == HOP_OP_cond, .dest = dest };
	const hop_graph *twice[2] = { sub.v[0], sub.v[0] };
	c.sel = hop_lower_scalar(l, n, 0);
	for (uint32_t i = 0; i < n->nout; i++)
		dest[i] = hop_lower_result(l, n, (int)i);
	if (sub.n > 1)
		return choose(l, &c, 0, (int)sub.n);
	c.body = twice;                  /* one branch, as it was written: no pass went over it */
	return choose(l, &c, 0, 2);
}
