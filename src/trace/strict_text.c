/* strict_text.c -- what the operands and results of a body are called in the messages of strict
 * captures: by their path, or by the variable. It decides nothing. */
#include "trace/block.h"
#include "trace/strict.h"

#include <stdio.h>
#include <string.h>

static const char *keep(const hop_seen *l, const char *s)
{
	return hop_arena_str(&l->t->arena, s, strlen(s));
}

void hop_seen_refuse(const hop_seen *l, hop_loc loc, bool inside, const char *fmt, va_list ap)
{
	char s[1600];
	vsnprintf(s, sizeof s, fmt, ap);
	l->t->b.st = hop_fail(hop_env_of(l->t), loc, HOP_EREFUSED, "%s: strict: %s", l->op, s);
	if (inside)
		hop_note(hop_env_of(l->t), l->body->site, "in %s", l->body->what);
}

/* ---- results ---- */

static const char *branch_result(const hop_seen *l, uint32_t i)
{
	const hop_choice *c = l->choice;
	char s[400];
	const char *word = hop_choice_word(l->t, c, l->arm);
	if (c->name)
		snprintf(s, sizeof s, "%.300s in %s", c->name[i], word);
	else if (l->body->retname)
		snprintf(s, sizeof s, "%.300s of %s", l->body->retname[i], word);
	else
		snprintf(s, sizeof s, "result %u of %s", i, word);
	return keep(l, s);
}

const char *hop_seen_result(const hop_seen *l, uint32_t i)
{
	char s[400];
	if (l->kind == HOP_STRICT_TEST)
		return "the test";
	if (l->kind == HOP_STRICT_CHOICE)
		return branch_result(l, i);
	if (l->kind == HOP_STRICT_COMBINE)
		return hop_path_text(l->t, "y", l->x, (int)i);
	if (i < l->ncarry)
		return hop_path_text(l->t, l->alone ? NULL : "carry", l->carry, (int)i);
	if (l->body->block)
		snprintf(s, sizeof s, "stack %u", i - l->ncarry);
	else if (l->body->retname)
		snprintf(s, sizeof s, "y %.300s", l->body->retname[i]);
	else
		snprintf(s, sizeof s, "y[%u]", i - l->ncarry);
	return keep(l, s);
}

/* ---- what a body was given ---- */

/* The slot of a handle in a trace that may have it already; -1 = not there. */
static int64_t slot_in(hop_trace *t, hop_value v)
{
	if (v.trace == t->serial)
		return v.id;
	return (int64_t)(uintptr_t)hop_map_get(&t->lifted, &v, sizeof v) - 1;
}

uint32_t hop_seen_slot(const hop_seen *l, uint32_t i)
{
	hop_trace *b = l->body;
	if (l->kind == HOP_STRICT_LOOP && b->block && i >= l->ncarry) {
		int64_t s = slot_in(b, b->block->stack[i - l->ncarry].from);
		if (s >= 0)
			return (uint32_t)s;
	}
	return b->ret[i];
}

/* A parameter of the body itself. */
static const char *own_param(const hop_seen *l, uint32_t i)
{
	const hop_block_state *s = l->body->block;
	bool counts = !strcmp(l->op, "fori_loop");
	if (s)
		return i < (uint32_t)s->nvar ? s->name[i] : "the index";
	if (l->kind == HOP_STRICT_COMBINE && i >= l->body->nin / 2)
		return hop_path_text(l->t, "right", l->x, (int)(i - l->body->nin / 2));
	if (l->kind == HOP_STRICT_COMBINE)
		return hop_path_text(l->t, "left", l->x, (int)i);
	if (counts && i + 1 == l->body->nin)
		return "the index";
	if (i < l->ncarry)
		return hop_path_text(l->t, "carry", l->carry, (int)i);
	return hop_path_text(l->t, "x", l->x, (int)(i - l->ncarry));
}

/* One of an enclosing trace, number i there. */
static const char *outer(const hop_seen *l, const hop_trace *o, uint32_t i)
{
	char s[400];
	bool param = i < o->nin;
	if (o->block && param)
		return i < (uint32_t)o->block->nvar ? o->block->name[i] : "the index of a loop around it";
	if (param && !o->site)
		snprintf(s, sizeof s, "input %.300s",
		         hop_input_text(&l->t->arena, i, o->inname ? o->inname[i] : NULL));
	else if (param)
		snprintf(s, sizeof s, "parameter %u of %.300s", i, o->what);
	else
		snprintf(s, sizeof s, "a value of type %.300s", hop_type_text(l->t, o->store[i].type));
	return keep(l, s);
}

/* The variable or operand of a choice whose storage this is; NULL = none. */
static const char *listed(const hop_seen *l, uint32_t store)
{
	const hop_block_state *s = l->body->block;
	hop_trace *b = l->body;
	char text[400];
	for (int i = 0; s && i < s->nvar; i++) {
		int64_t k = s->init[i].trace ? slot_in(b, s->init[i]) : -1;
		if (k >= 0 && b->slot[k].store == store && !b->slot[k].weak)
			return s->name[i];
	}
	for (int i = 0; !s && l->choice && i < l->choice->io.nin; i++) {
		int64_t k = slot_in(b, l->choice->io.in[i]);
		if (k >= 0 && b->slot[k].store == store && !b->slot[k].weak) {
			const hop_store *o = &b->store[store];
			bool param = o->index < o->owner->nin;
			snprintf(text, sizeof text, param ? "operand in[%d], %.300s," : "operand in[%d]", i,
			         outer(l, o->owner, o->index));
			return keep(l, text);
		}
	}
	return NULL;
}

const char *hop_seen_store(const hop_seen *l, uint32_t store)
{
	const hop_store *s = &l->body->store[store];
	if (s->take)
		return "what hop_take gave";
	if (s->owner == l->body)
		return own_param(l, store);
	const char *name = listed(l, store);
	return name ? name : outer(l, s->owner, s->index);
}
