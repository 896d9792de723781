/* block_loop.c -- what the blocks of loops share: which variables are carried, what is stacked, and
 * the comparison of two captures of one block. Bodies are looked at when they are closed;
 * nothing here opens or closes one. */
#include "trace/block.h"
#include "trace/loop.h"

#include <string.h>

/* ---- carried variables ---- */

/* Does a body write the storage that v is a view of? */
static bool written(hop_trace *t, hop_value v, int n, hop_trace *const *body)
{
	const hop_cell *cell = hop_cell_of(t, v);
	if (!cell)
		return false;
	const hop_store s = t->store[cell->store];
	for (int k = 0; k < n; k++) {
		uint32_t m = hop_store_mirror(body[k], s.owner, s.index);
		if (body[k]->store[m].version)
			return true;
	}
	return false;
}

static hop_val param_of(const hop_trace *body, uint32_t i)
{
	for (size_t k = 0; k < body->nleaf; k++)
		if (body->leaf[k].kind == HOP_LEAF_PARAM && body->leaf[k].index == i)
			return body->leaf[k].val;
	return HOP_BAD;
}

static void capture_rest(hop_block_state *s, hop_trace *body, const bool *carried)
{
	hop_val *to = HOP_NEWN(&body->arena, hop_val, s->nvar);
	for (int i = 0; i < s->nvar; i++)
		if (!carried[i])
			to[i] = hop_value_read(body, s->init[i]);
	if (body->b.st)
		return;
	hop_val *map = hop_draft_map(body);
	for (int i = 0; i < s->nvar; i++)
		if (!carried[i])
			map[param_of(body, (uint32_t)i).id] = to[i];
	hop_draft_subst(body, map);
}

int hop_block_carried(hop_block_state *s, int n, hop_trace *const *body, bool *carried,
                      uint32_t *number)
{
	uint32_t k = 0;
	for (int i = 0; i < s->nvar; i++) {
		carried[i] = s->changed[i] || written(s->t, s->init[i], n, body);
		number[i] = carried[i] ? k++ : UINT32_MAX;
	}
	for (int b = 0; b < n; b++)
		capture_rest(s, body[b], carried);
	return (int)k;
}

/* ---- what is stacked, and how often it ran ---- */

void hop_block_collect_loop(hop_trace *c, hop_block_state *s)
{
	hop_value *v = HOP_NEWN(&c->arena, hop_value, s->nstack);
	for (size_t i = 0; i < s->nstack; i++)
		v[i] = s->stack[i].v;
	hop_block_collect(c, s, (int)s->nstack, v);
}

void hop_block_give(hop_block_state *s, bool ok, const hop_value *y, hop_value trips)
{
	for (size_t i = 0; i < s->nstack; i++)
		*s->stack[i].ys = ok ? y[i] : HOP_NONE;
	if (s->trips)
		*s->trips = ok ? trips : HOP_NONE;
}

static bool in_loop(const hop_trace *t)
{
	return hop_block_is(t, &hop_block_kind_for) || hop_block_is(t, &hop_block_kind_map) ||
	       hop_block_is(t, &hop_block_kind_while);
}

static void make_stack(hop_trace *t, void *arg)
{
	struct hop_block_stack *x = arg;
	hop_block_state *s = t->block;
	if (!in_loop(t)) {
		hop_trace_fail(t, HOP_EUSE, "stack: it belongs directly into a loop, this is %s", t->what);
		return;
	}
	if (!x->ys) {
		hop_trace_fail(t, HOP_EUSE, "stack: no variable was given");
		return;
	}
	for (size_t i = 0; i < s->nstack; i++)
		if (s->stack[i].ys == x->ys) {
			hop_trace_fail(t, HOP_EUSE, "stack: two stacks for one variable");
			return;
		}
	hop_val v = hop_value_read(t, x->v);
	if (t->b.st)
		return;
	s->stack = hop_arena_grow(&s->t->arena, s->stack, sizeof *s->stack, s->nstack + 1,
	                          &s->stackcap);
	s->stack[s->nstack++] = (struct hop_block_stack){ x->ys, hop_value_new(t, v), x->v };
}

void hop_at_stack_to(hop_trace *t, const char *file, int line, hop_value *ys, hop_value v)
{
	hop_enter(t, "stack", file, line, make_stack, &(struct hop_block_stack){ .ys = ys, .v = v });
}

static void make_trips(hop_trace *t, void *arg)
{
	if (!arg)
		hop_trace_fail(t, HOP_EUSE, "trips: no variable was given");
	else if (!in_loop(t))
		hop_trace_fail(t, HOP_EUSE, "trips: it belongs directly into a loop, this is %s", t->what);
	else
		t->block->trips = arg;
}

void hop_at_trips(hop_trace *t, const char *file, int line, hop_value *n)
{
	hop_enter(t, "trips", file, line, make_trips, n);
}

/* ---- two captures ---- */

static bool same_node(const hop_node *a, const hop_node *b)
{
	return a->op == b->op && a->nin == b->nin && a->nout == b->nout && hop_same(a->out0, b->out0) &&
	       !memcmp(a->in, b->in, a->nin * sizeof *a->in) && hop_attr_equal(a->op, a->attr, b->attr);
}

static bool same_leaf(const hop_trace *a, const hop_leaf *x, const hop_trace *b, const hop_leaf *y)
{
	if (x->kind != y->kind || !hop_same(x->val, y->val) ||
	    a->b.type[x->val.id] != b->b.type[y->val.id])
		return false;
	if (x->kind == HOP_LEAF_PARAM)
		return x->index == y->index;
	const hop_store *s = &a->store[x->index], *r = &b->store[y->index];
	if (s->owner != r->owner || s->index != r->index)
		return false;
	hop_value v = a->slot[x->slot].outer, w = b->slot[y->slot].outer;
	return x->kind == HOP_LEAF_STORE || (v.trace == w.trace && v.id == w.id);
}

static bool same_draft(const hop_trace *a, const hop_trace *b)
{
	if (a->b.nnode != b->b.nnode || a->b.nvalue != b->b.nvalue || a->nleaf != b->nleaf ||
	    a->nret != b->nret || a->nhook != b->nhook || a->stop.id != b->stop.id)
		return false;
	for (size_t i = 0; i < a->nleaf; i++)
		if (!same_leaf(a, &a->leaf[i], b, &b->leaf[i]))
			return false;
	for (size_t i = 0; i < a->b.nnode; i++)
		if (!same_node(&a->b.node[i], &b->b.node[i]))
			return false;
	return !memcmp(a->out, b->out, a->nret * sizeof *a->out);
}

struct pair {
	hop_block_state *s;
	const hop_trace *a, *b;
};

static void compare(hop_trace *t, void *arg)
{
	struct pair *p = arg;
	if (!same_draft(p->a, p->b))
		hop_trace_fail(t, HOP_EUSE, "%s: captured a second time, the block records something else: "
		               "a variable that it assigns is not listed, or it depends on something that "
		               "changes from trip to trip", p->s->kind->name);
}

bool hop_block_same(hop_block_state *s, const hop_trace *a, const hop_trace *b)
{
	return hop_block_do(s, compare, &(struct pair){ s, a, b });
}
