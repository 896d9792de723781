/* strict.c -- what PyTorch refuses of the bodies of cond, switch, while, scan, map and
 * associative_scan, refused here, too, where the context asks for it: results that share memory,
 * writes, numbers where it takes tensors, nothing to go over. The table is docs/strict.md. What
 * hop refuses by itself is not asked again, and what PyTorch does not have is not refused. */
#include "trace/strict.h"
#include "trace/block.h"
#include "trace/mode.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The gradient mode of PyTorch where t stands: the innermost that says something. */
enum hop_strict hop_strict_level(const hop_trace *t)
{
	if (t->root->strict == HOP_STRICT_OFF)
		return HOP_STRICT_OFF;
	if (t->modes && t->modes->says_grad)
		return t->modes->no_grad ? HOP_STRICT_NO_GRAD : HOP_STRICT_GRAD;
	for (; t; t = t->up) {
		if (t->in_grad)
			return HOP_STRICT_GRAD;
		if (t->in_custom)              /* a forward of its own is not differentiated */
			return HOP_STRICT_NO_GRAD;
		if (!t->up)
			break;
	}
	return t->root->strict;
}

__attribute__((format(printf, 4, 5)))
static bool refuse(const hop_seen *l, hop_loc loc, bool inside, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	hop_seen_refuse(l, loc, inside, fmt, ap);
	va_end(ap);
	return false;
}

/* ---- memory ---- */

static bool is_given(const hop_seen *l, uint32_t store)
{
	const hop_store *s = &l->body->store[store];
	return s->owner != l->body || store < l->body->nin || s->take;
}

/* Two stores that are one in PyTorch: elements that were taken twice. */
static bool one_store(const hop_trace *b, uint32_t x, uint32_t y)
{
	return x == y || (b->store[x].take && b->store[x].take == b->store[y].take);
}

/* What is to be done with a copy of result i. */
static const char *verb(const hop_seen *l, uint32_t i)
{
	return !l->body->block ? "return" :
	       l->kind == HOP_STRICT_LOOP && i >= l->ncarry ? "stack" : "assign";
}

/* Where an outer value comes from, when it has no name. */
static void note_made(const hop_seen *l, uint32_t store)
{
	const hop_store *s = &l->body->store[store];
	if (s->owner == l->body || s->index < s->owner->nin)
		return;
	hop_val v = s->owner->store[s->index].cur;
	for (uint32_t i = 0; i < s->owner->b.nnode; i++) {
		const hop_node *n = &s->owner->b.node[i];
		if (v.id >= n->out0.id && v.id < n->out0.id + n->nout && n->loc)
			hop_note(hop_env_of(l->t), n->loc, "it is made here");
	}
}

/* A variable that an eager loop leaves alone: captured, it would not be carried. */
static bool left_alone(const hop_seen *l, uint32_t i)
{
	const hop_block_state *s = l->body->block;
	return l->kind == HOP_STRICT_LOOP && l->body->eager && s && i < l->ncarry && !s->changed[i];
}

static bool results_own(const hop_seen *l)
{
	const hop_trace *b = l->body;
	for (uint32_t i = 0; i < b->nret; i++) {
		const hop_cell *c = &b->slot[hop_seen_slot(l, i)];
		if (c->weak || !is_given(l, c->store) || left_alone(l, i))
			continue;
		const char *out = hop_seen_result(l, i), *in = hop_seen_store(l, c->store);
		bool same = !c->view && (!strcmp(out, in) || (l->choice && l->choice->name &&
		                                              !strcmp(l->choice->name[i], in)));
		refuse(l, b->b.loc, true, "%s is %s%s: PyTorch refuses results that share memory with "
		       "what a body is given: %s hop_clone of it", out, c->view ? "a view of " : "",
		       same ? "what it was" : in, verb(l, i));
		note_made(l, c->store);
		return false;
	}
	for (uint32_t i = 0; i < b->nret; i++)
		for (uint32_t k = 0; k < i; k++) {
			const hop_cell *c = &b->slot[hop_seen_slot(l, i)], *d = &b->slot[hop_seen_slot(l, k)];
			if (c->weak || d->weak || !one_store(b, c->store, d->store))
				continue;
			return refuse(l, b->b.loc, true, "%s and %s share memory: PyTorch refuses such "
			              "results: %s hop_clone of one of them", hop_seen_result(l, k),
			              hop_seen_result(l, i), verb(l, i));
		}
	return true;
}

/* Per value of the draft: is it read, by a node or as a result? */
static const bool *read_values(hop_trace *b)
{
	bool *r = HOP_NEWN(&b->arena, bool, b->b.nvalue);
	for (uint32_t i = 0; i < b->b.nnode; i++)
		for (uint32_t k = 0; k < b->b.node[i].nin; k++)
			r[b->b.node[i].in[k].id] = true;
	for (uint32_t i = 0; i < b->nret; i++)
		r[b->out[i].id] = true;
	if (!hop_is_bad(b->stop))
		r[b->stop.id] = true;
	return r;
}

/* Captured values become operands; two of one memory are refused there. An eager body captures
 * nothing. */
static bool operands_own(const hop_seen *l)
{
	hop_trace *b = l->body;
	const bool *read = read_values(b);
	uint8_t *seen = HOP_NEWN(&b->arena, uint8_t, b->nstore);
	for (size_t i = 0; i < b->nleaf; i++) {
		const hop_leaf *x = &b->leaf[i];
		if (x->kind != HOP_LEAF_PARAM && read[x->val.id] && seen[x->index]++) {
			refuse(l, b->b.loc, true, "two values are captured that share memory, %s and a view of "
			       "it: PyTorch refuses such operands: capture hop_clone of one, or make the view "
			       "inside", hop_seen_store(l, x->index));
			note_made(l, x->index);
			return false;
		}
	}
	return true;
}

/* ---- writes ---- */

enum may { NEVER, NO_GRAD };

/* Is nothing written that must not be? own: what the body is given; else what it captures. */
static bool unwritten(const hop_seen *l, enum may own, enum may captured)
{
	const hop_trace *b = l->body;
	for (uint32_t i = 0; i < b->nstore; i++) {
		const hop_store *s = &b->store[i];
		if (!s->version || !is_given(l, i))
			continue;
		bool mine = s->owner == b;
		enum may may = mine ? own : captured;
		if (may == NO_GRAD && l->level == HOP_STRICT_NO_GRAD)
			continue;
		bool free = may == NO_GRAD && b->root->strict == HOP_STRICT_GRAD;
		refuse(l, s->wloc, true, "%s is written: PyTorch refuses writes to what %s%s: %s%s",
		       hop_seen_store(l, i), mine ? "a body is given" : "comes from outside",
		       may != NO_GRAD ? "" : free ? " while gradients are recorded" : " in training",
		       mine ? "write to hop_clone of it" : "return the new contents",
		       free ? ", or capture as under no_grad (HOP_STRICT_NO_GRAD)" : "");
		note_made(l, i);
		return false;
	}
	return true;
}

/* ---- effects and numbers ---- */

static bool silent(const hop_seen *l)
{
	const hop_build *b = &l->body->b;
	for (uint32_t i = 0; i < b->nnode; i++) {
		if (hop_node_holds(&b->node[i]) & HOP_HOLDS_PRINT)
			return refuse(l, b->node[i].loc, true, "a print: PyTorch captures no side effects in "
			              "bodies: print the results behind the operator");
	}
	return true;
}

static const char *kind_of(enum hop_weak w)
{
	return w == HOP_WEAK_FLOAT ? "a float" : "a number";
}

/* Results that are tensors, and no numbers. */
static bool tensors(const hop_seen *l, uint32_t first)
{
	const hop_trace *b = l->body;
	for (uint32_t i = first; i < b->nret; i++) {
		const hop_cell *c = &b->slot[hop_seen_slot(l, i)];
		if (c->weak)
			return refuse(l, b->b.loc, true, "%s is %s: PyTorch takes tensors: make one with "
			              "hop_scalar", hop_seen_result(l, i), kind_of(c->weak));
	}
	return true;
}

/* What a loop starts with is asked for where it stands. */
static bool starts(const hop_seen *l, const bool *number, const hop_type *const *type, bool ints)
{
	for (uint32_t i = 0; i < l->ncarry; i++) {
		bool whole = type[i]->dtype == HOP_i64 || type[i]->dtype == HOP_bool;
		if (number[i] && !(ints && whole))
			return refuse(l, l->t->b.loc, false, "%s starts as %s: PyTorch takes tensors%s: start "
			              "with hop_scalar(t, HOP_%s, ..)", hop_seen_result(l, i),
			              whole ? "a number" : "a float", ints ? " and whole numbers" : "",
			              hop_dtype_name((hop_dtype)type[i]->dtype));
	}
	return true;
}

/* The common end: memory, writes, effects. */
static bool look(const hop_seen *l, enum may own, enum may captured, bool alias)
{
	return silent(l) && unwritten(l, own, captured) &&
	       (!alias || (results_own(l) && operands_own(l)));
}

/* ---- cond and switch ---- */

/* A number in one branch is one in all; a float nowhere. */
static bool whole_numbers(const hop_seen *l)
{
	const hop_choice *c = l->choice;
	for (uint32_t i = 0; i < l->body->nret; i++) {
		enum hop_weak w = l->body->slot[l->body->ret[i]].weak;
		if (w == HOP_WEAK_FLOAT)
			return refuse(l, l->body->b.loc, true, "%s is a float: PyTorch takes tensors and whole "
			              "numbers: make a tensor of it with hop_scalar", hop_seen_result(l, i));
		for (int k = 0; w && k < c->n; k++) {
			const hop_trace *o = c->body[k];
			if (o && i < o->nret && !o->slot[o->ret[i]].weak)
				return refuse(l, l->body->b.loc, true, "%s is a number, in %s it is a tensor: PyTorch "
				              "refuses that: make a tensor of it with hop_scalar",
				              hop_seen_result(l, i), hop_choice_word(l->t, c, k));
		}
	}
	return true;
}

/* The same tree: results are called the same, or nothing, in all branches. */
static bool same_tree(const hop_seen *l)
{
	const hop_trace *b = l->body, *f = l->choice->body[0];
	for (uint32_t i = 0; f && f->nret == b->nret && i < b->nret; i++) {
		const char *x = f->retname ? f->retname[i] : NULL, *y = b->retname ? b->retname[i] : NULL;
		if (x != y && (!x || !y || strcmp(x, y)))
			return refuse(l, b->b.loc, true, "result %u is called %s in %s, %s in %s: PyTorch wants "
			              "one tree: return the same struct", i, x ? x : "nothing",
			              hop_choice_word(l->t, l->choice, 0), y ? y : "nothing",
			              hop_choice_word(l->t, l->choice, l->arm));
	}
	return true;
}

static bool switch_operands(const hop_seen *l)
{
	const hop_call_io *io = &l->choice->io;
	for (int i = 0; !l->choice->block && i < io->nin; i++) {
		const hop_cell *c = hop_cell_of(l->t, io->in[i]);
		if (c && c->weak)
			return refuse(l, l->t->b.loc, false, "operand in[%d] is %s: PyTorch takes tensors: make "
			              "one with hop_scalar", i, kind_of(c->weak));
	}
	return true;
}

bool hop_strict_choice(hop_trace *t, const hop_choice *c)
{
	hop_seen l = { .t = t, .op = hop_choice_op(c), .kind = HOP_STRICT_CHOICE, .choice = c,
	               .level = hop_strict_level(t) };
	bool ok = true;
	if (l.level == HOP_STRICT_OFF || c->n == 1)            /* one branch is a plain call */
		return true;
	if (!c->two)
		ok = switch_operands(&l);
	hop_seen first = l;
	first.body = c->body[0];
	for (l.arm = 0; ok && l.arm < c->n; l.arm++) {
		enum may may = c->two ? NO_GRAD : NEVER;
		l.body = c->body[l.arm];
		if (l.body)                                    /* an eager run has those that ran */
			ok = whole_numbers(&l) && same_tree(&l) &&
			     look(&l, may, may, may == NEVER || l.level == HOP_STRICT_GRAD);
		if (ok && l.body && first.body && l.arm)
			ok = hop_strict_alike(&first, &l);
	}
	return ok;
}

/* ---- loops ---- */

/* All carries that do not end as they began, where there are several: hop names the first. */
static bool keeps_types(const hop_seen *l, const hop_type *const *type)
{
	hop_trace *b = l->body;
	char s[1200];
	size_t n = 0;
	int bad = 0;
	for (uint32_t i = 0; i < l->ncarry && i < b->nret; i++) {
		const hop_type *have = hop_typeof(&b->b, b->out[i]);
		if (have == type[i] || b->slot[b->ret[i]].weak || n >= sizeof s)
			continue;
		n += (size_t)snprintf(s + n, sizeof s - n, "%s%s is %s when a step begins, %s when it ends",
		                      bad++ ? "; " : "", hop_seen_result(l, i), hop_type_text(l->t, type[i]),
		                      hop_type_text(b, have));
	}
	if (bad < 2)
		return true;
	return refuse(l, b->b.loc, true, "%s: carries keep their types", s);
}

/* Per value of the draft: does it rest on nothing but whole numbers, carries that began as such
 * and constants? */
static const bool *whole_values(hop_trace *b, const bool *number)
{
	bool *w = HOP_NEWN(&b->arena, bool, b->b.nvalue);
	for (size_t i = 0; i < b->nleaf; i++) {
		const hop_leaf *f = &b->leaf[i];
		w[f->val.id] = f->kind == HOP_LEAF_PARAM && f->index != UINT32_MAX && number[f->index];
	}
	for (uint32_t i = 0; i < b->b.nnode; i++) {
		const hop_node *n = &b->b.node[i];
		bool all = n->nout == 1 && (!n->nin || (hop_optab[n->op].flags & HOP_F_E));
		for (uint32_t k = 0; k < n->nin; k++)
			all = all && w[n->in[k].id];
		if (n->nout == 1)
			w[n->out0.id] = all;
	}
	return w;
}

/* A number stays one, a tensor too. Eager, it cannot be told what a whole number was made of. */
static bool stays(const hop_seen *l, const bool *number)
{
	hop_trace *b = l->body;
	const bool *whole = whole_values(b, number);
	for (uint32_t i = 0; i < l->ncarry && i < b->nret; i++) {
		enum hop_weak w = b->slot[b->ret[i]].weak;
		if (w && (!number[i] || w == HOP_WEAK_FLOAT))
			return refuse(l, b->b.loc, true, "%s starts as a %s, the body gives %s: PyTorch refuses "
			              "that: make a tensor of it with hop_scalar", hop_seen_result(l, i),
			              number[i] ? "whole number" : "tensor", kind_of(w));
		if (!w && number[i] && !b->eager && !whole[b->out[i].id])
			return refuse(l, b->b.loc, true, "%s starts as a number, the body gives a tensor: PyTorch "
			              "refuses that: start with hop_scalar", hop_seen_result(l, i));
	}
	return true;
}

static hop_seen look_while(hop_trace *t, const struct hop_while_call *c, hop_trace *body)
{
	return (hop_seen){ .t = t, .body = body, .op = c->op, .level = hop_strict_level(t),
	                   .kind = HOP_STRICT_LOOP, .ncarry = (uint32_t)c->ncarry,
	                   .carry = c->opts.carry, .alone = c->block };
}

bool hop_strict_test(hop_trace *t, const struct hop_while_call *c, hop_trace *test)
{
	hop_seen l = look_while(t, c, test);
	l.kind = HOP_STRICT_TEST;
	if (l.level == HOP_STRICT_OFF || test->nret != 1)
		return true;
	const hop_cell *r = &test->slot[test->ret[0]];
	if (r->weak == HOP_WEAK_BOOL && r->i)
		return refuse(&l, test->b.loc, true, "the test is always true: PyTorch refuses a loop without "
		              "end: test a carry");
	return look(&l, NEVER, NO_GRAD, true);
}

/* A loop that stacks is another operator there: of tensors, and without writes. */
bool hop_strict_while(hop_trace *t, const struct hop_while_call *c, hop_trace *body)
{
	hop_seen l = look_while(t, c, body);
	bool stacks = body->nret > l.ncarry;
	return l.level == HOP_STRICT_OFF || body->nret < l.ncarry ||
	       (starts(&l, c->number, c->type, !stacks) && stays(&l, c->number) &&
	        tensors(&l, l.ncarry) && keeps_types(&l, c->type) &&
	        look(&l, NEVER, stacks ? NEVER : NO_GRAD, true) && hop_strict_keeps(&l, c->init));
}

/* ---- scan and map ---- */

/* Are there xs? Those of a block are what it reads of its index and of what it takes. */
static bool has_xs(const hop_seen *l, const struct hop_scan_call *c)
{
	hop_trace *b = l->body;
	if (c->nx || !c->block || b->eager)
		return c->nx;
	const bool *read = read_values(b);
	for (size_t i = 0; i < b->nleaf; i++)
		if (b->leaf[i].kind == HOP_LEAF_PARAM && b->leaf[i].index >= (uint32_t)b->block->nvar &&
		    read[b->leaf[i].val.id])
			return true;
	return false;
}

static bool goes_over(const hop_seen *l, const struct hop_scan_call *c)
{
	hop_loc loc = l->t->b.loc;
	if (hop_size_is(c->length, 0))
		return refuse(l, loc, false, "there are 0 steps: PyTorch refuses xs without elements: leave "
		              "it out where there is nothing to go over");
	if (!c->unordered && !c->ncarry)
		return refuse(l, loc, false, "there are no carries: PyTorch wants one at least: carry "
		              "something, or map");
	if (!has_xs(l, c))
		return refuse(l, loc, false, "there are no xs: PyTorch takes the number of steps from them: %s",
		              c->block ? "use the index of the block, or hop_take" : "give it hop_iota");
	return true;
}

bool hop_strict_scan(hop_trace *t, const struct hop_scan_call *c, hop_trace *body)
{
	hop_seen l = { .t = t, .body = body, .op = c->op, .level = hop_strict_level(t),
		           .kind = HOP_STRICT_LOOP,
	               .ncarry = (uint32_t)c->ncarry, .carry = c->opts.carry, .x = c->opts.x,
	               .alone = c->block };
	enum may own = c->unordered ? NO_GRAD : NEVER, captured = c->unordered ? NEVER : NO_GRAD;
	return l.level == HOP_STRICT_OFF || body->nret < l.ncarry ||
	       (goes_over(&l, c) && starts(&l, c->number, c->type, false) && tensors(&l, 0) &&
	        keeps_types(&l, c->type) && look(&l, own, captured, true) &&
	        hop_strict_keeps(&l, c->init));
}

/* ---- associative_scan ---- */

/* What hop itself broadcasts is part of an elementwise op; a view that was asked for is not. */
static bool elementwise(const hop_seen *l)
{
	const hop_trace *b = l->body;
	const char *bad = NULL;
	hop_loc loc = b->b.loc;
	for (uint32_t i = 0; i < b->b.nnode && !bad; i++) {
		const hop_node *n = &b->b.node[i];
		bool ours = n->op == HOP_OP_broadcast || n->op == HOP_OP_reshape;
		if (n->nin && !ours && !(hop_optab[n->op].flags & HOP_F_E))
			bad = hop_optab[n->op].name, loc = n->loc;
	}
	for (size_t i = 0; i < b->nslot && !bad; i++)
		if (b->slot[i].view && !b->slot[i].outer.trace)
			bad = hop_optab[b->slot[i].view->op].name;
	return !bad || refuse(l, loc, true, "combine uses %s: PyTorch wants elementwise ops alone there: "
	                      "bring what else it needs into the xs", bad);
}

/* Results that are named are named as the leaves. */
static bool same_leaves(const hop_seen *l)
{
	const hop_trace *b = l->body;
	char path[256];
	for (uint32_t i = 0; b->retname && l->x && i < b->nret; i++)
		if (hop_tree_path(l->x, (int)i, path, sizeof path) && strcmp(path, b->retname[i]))
			return refuse(l, b->b.loc, true, "result %u is called %s, its leaf %s: PyTorch wants one "
			              "tree: return the struct of the xs", i, b->retname[i], path);
	return true;
}

bool hop_strict_assoc(hop_trace *t, const char *op, hop_trace *combine, hop_size length,
                      const hop_tree *x)
{
	hop_seen l = { .t = t, .body = combine, .op = op, .level = hop_strict_level(t),
	               .kind = HOP_STRICT_COMBINE, .x = x };
	if (l.level == HOP_STRICT_OFF || combine->nret != combine->nin / 2)
		return true;
	if (hop_size_is(length, 0))
		return refuse(&l, t->b.loc, false, "there are 0 slices: PyTorch refuses xs without elements: "
		              "leave it out where there is nothing to go over");
	return tensors(&l, 0) && same_leaves(&l) && elementwise(&l) && look(&l, NEVER, NEVER, true);
}
