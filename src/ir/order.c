/* order.c -- what of a builder is needed, in an order that does not depend on the order of
 * construction: C evaluates nested calls in no fixed order. Sealing and capture both rest on
 * it. */
#include "ir/build.h"

#include <string.h>

#include "ir/rule.h"

void hop_size_syms(hop_size s, hop_sym_fn *f, void *user)
{
	if (!s.e)
		return;
	for (int t = 0; t < hop_sexpr_nterm(s.e); t++)
		for (int i = 0; i < hop_sexpr_natom(s.e, t); i++) {
			const hop_atom *a = hop_sexpr_atom(s.e, t, i);
			if (a->kind == HOP_ATOM_SYM) {
				f(user, a->sym);
			} else {
				hop_size_syms(a->a, f, user);
				hop_size_syms(a->b, f, user);
			}
		}
}

void hop_node_syms(const hop_node *n, hop_sym_fn *f, void *user)
{
	for (int i = 0; i < hop_optab[n->op].nfield; i++) {
		hop_sizes s = hop_attr_sizes(n->op, n->attr, i);
		for (int64_t k = 0; k < s.n; k++)
			hop_size_syms(s.v[k], f, user);
	}
}

/* Depth first: operands before the node, left to right, then the nodes that bind the sizes
 * it mentions, in the order it mentions them. */
struct walk {
	const hop_build *b;
	hop_order       *o;
	uint8_t         *live;       /* per node: reached */
	uint8_t         *met;        /* per value: reached, and no node makes it */
	uint32_t        *binder;     /* per local symbol: the node that binds it */
	uint32_t        *stack;
	uint32_t        *cursor;     /* per node: next operand to look at */
	uint32_t         unbound;    /* a node not reached that binds a symbol asked for */
};

/* The node of a value to be visited, or UINT32_MAX. */
static uint32_t reach(struct walk *w, hop_val v)
{
	uint32_t d = w->b->def[v.id];
	if (d != UINT32_MAX)
		return w->live[d] ? UINT32_MAX : d;
	if (!w->met[v.id]) {
		w->met[v.id] = 1;
		w->o->leaf[w->o->nleaf++] = v;
	}
	return UINT32_MAX;
}

static void find_unbound(void *user, int sym)
{
	struct walk *w = user;
	if (w->unbound != UINT32_MAX || (uint32_t)sym < w->b->nsym)
		return;
	uint32_t i = w->binder[(uint32_t)sym - w->b->nsym];
	if (i != UINT32_MAX && !w->live[i])
		w->unbound = i;
}

/* What node i needs next, or UINT32_MAX. */
static uint32_t next_need(struct walk *w, uint32_t i)
{
	const hop_node *n = &w->b->node[i];
	while (w->cursor[i] < n->nin) {
		uint32_t d = reach(w, n->in[w->cursor[i]++]);
		if (d != UINT32_MAX)
			return d;
	}
	w->unbound = UINT32_MAX;
	if (w->b->nlocal)
		hop_node_syms(n, find_unbound, w);
	return w->unbound;
}

static void visit(struct walk *w, uint32_t root)
{
	uint32_t top = 0;
	if (root == UINT32_MAX || w->live[root])
		return;
	w->live[root] = 1;
	w->stack[top++] = root;
	while (top) {
		uint32_t i = w->stack[top - 1], d = next_need(w, i);
		if (d == UINT32_MAX) {
			w->o->seq[w->o->nseq++] = i;
			top--;
		} else {
			w->live[d] = 1;
			w->stack[top++] = d;
		}
	}
}

/* The nodes that bind what a check mentions. */
static void visit_binders(struct walk *w, const hop_check *c)
{
	for (;;) {
		w->unbound = UINT32_MAX;
		hop_size_syms(c->a, find_unbound, w);
		hop_size_syms(c->b, find_unbound, w);
		if (w->unbound == UINT32_MAX)
			return;
		visit(w, w->unbound);
	}
}

void hop_build_order(const hop_build *b, hop_arena *a, uint32_t nout, const hop_val *out,
                     hop_order *o)
{
	struct walk w = { .b = b, .o = o };
	*o = (hop_order){ .seq = HOP_NEWN(a, uint32_t, b->nnode),
	                  .leaf = HOP_NEWN(a, hop_val, b->nvalue) };
	w.live = HOP_NEWN(a, uint8_t, b->nnode);
	w.met = HOP_NEWN(a, uint8_t, b->nvalue);
	w.stack = HOP_NEWN(a, uint32_t, b->nnode + 1);
	w.cursor = HOP_NEWN(a, uint32_t, b->nnode);
	w.binder = HOP_NEWN(a, uint32_t, b->nlocal);
	memset(w.binder, 0xff, b->nlocal * sizeof *w.binder);
	for (uint32_t i = 0; i < b->nnode; i++) {
		int64_t s = hop_node_binds(&b->node[i]);
		if (s >= b->nsym)
			w.binder[s - b->nsym] = i;
	}
	for (uint32_t i = 0; i < b->nnode; i++)
		if (hop_node_effect(&b->node[i]))
			visit(&w, i);
	for (uint32_t i = 0; i < nout; i++)
		visit(&w, reach(&w, out[i]));
	/* what is tested is tested, whether or not somebody reads a result */
	for (uint32_t i = 0; i < b->nnode; i++)
		if (b->node[i].guard)
			visit(&w, i);
	for (size_t i = 0; i < b->ncheck; i++)
		visit_binders(&w, &b->check[i]);
}
