/* block.c -- what all blocks share: the user's variables, scopes that open and close, ways out
 * that are none. Which operator a block is, it does not know. */
#include "trace/block.h"

#include <string.h>

/* ---- places ---- */

const hop_site *hop_site_of(const hop_root *r, uint32_t serial)
{
	const hop_site *best = NULL;
	for (size_t i = 0; serial && i < r->nsite; i++) {
		const hop_site *s = &r->site[i];
		if (s->first && serial >= s->first && serial <= s->last &&
		    (!best || s->last - s->first < best->last - best->first))
			best = s;
	}
	return best;
}

static size_t site_get(hop_root *r, hop_loc loc, const char *what)
{
	for (size_t i = 0; i < r->nsite; i++)
		if (r->site[i].loc == loc && !strcmp(r->site[i].what, what)) {
			r->site[i].first = r->site[i].last = 0;
			return i;
		}
	r->site = hop_arena_grow(&r->arena, r->site, sizeof *r->site, r->nsite + 1, &r->sitecap);
	r->site[r->nsite] = (hop_site){ .loc = loc, .what = what };
	return r->nsite++;
}

void hop_block_note(hop_trace *t)
{
	const hop_block_state *s = t->block;
	if (s)
		hop_note(hop_env_of(t), t->root->site[s->site].loc, "this %s", s->kind->name);
}

/* ---- variables ---- */

/* The next of a list of C arguments, without blanks around it; false at the end. */
static bool next_arg(const char **at, const char **out, size_t *out_n)
{
	const char *s = *at;
	int depth = 0;
	char quote = 0;
	if (!*s)
		return false;
	for (*out = s; *s && (depth || quote || *s != ','); s++) {
		if (quote) {
			if (*s == '\\' && s[1])
				s++;
			else if (*s == quote)
				quote = 0;
		} else if (*s == '"' || *s == '\'') {
			quote = *s;
		} else {
			depth += (*s == '(' || *s == '[' || *s == '{') - (*s == ')' || *s == ']' || *s == '}');
		}
	}
	*at = *s ? s + 1 : s;
	while (s > *out && s[-1] == ' ')
		s--;
	while (*out < s && **out == ' ')
		++*out;
	*out_n = (size_t)(s - *out);
	return true;
}

/* The first argument of the text is no variable. */
static void names_of(hop_block_state *s, const char *text)
{
	hop_arena *a = &s->t->arena;
	hop_field_name *f = HOP_NEWN(a, hop_field_name, s->nvar);
	const char *arg = "";
	size_t n = 0;
	next_arg(&text, &arg, &n);
	for (int i = 0; i < s->nvar; i++) {
		if (!next_arg(&text, &arg, &n))
			arg = "?", n = 1;
		f[i].name = s->name[i] = hop_arena_str(a, arg, n);
	}
	s->tree = (hop_tree){ .count = s->nvar, .nfield = s->nvar, .field = f };
}

static void names_of_tree(hop_block_state *s, const hop_tree *tree)
{
	char path[256];
	s->tree = *tree;
	for (int i = 0; i < s->nvar; i++) {
		hop_tree_path(tree, i, path, sizeof path);
		s->name[i] = hop_arena_str(&s->t->arena, path, strlen(path));
	}
}

struct opening {
	hop_block_state      *s;
	const hop_block_kind *kind;
	const char           *file, *names;
	int                   line, n;
	va_list              *ap;
	void                (*fill)(hop_block_state *s, const void *arg);
	const void           *arg;
};

static void room(hop_block_state *s, int n)
{
	hop_arena *a = &s->t->arena;
	s->nvar = n;
	s->var = HOP_NEWN(a, hop_value *, s->kind->pairs ? 2 * n : n);
	s->name = HOP_NEWN(a, const char *, s->nvar);
	s->init = HOP_NEWN(a, hop_value, s->nvar);
	s->bound = HOP_NEWN(a, hop_value, s->nvar);
	s->param = HOP_NEWN(a, hop_val, s->nvar);
	s->changed = HOP_NEWN(a, bool, s->nvar);
	s->none = HOP_NEWN(a, bool, s->nvar);
}

static bool read_tree(hop_trace *t, hop_block_state *s, va_list *ap)
{
	bool two = s->kind->pairs != NULL;
	const hop_tree *tree = va_arg(*ap, const hop_tree *);
	hop_value *p = va_arg(*ap, hop_value *), *q = two ? va_arg(*ap, hop_value *) : p;
	int n = hop_tree_count(tree);
	if (!p || !q || n != tree->count) {
		hop_trace_fail(t, HOP_EUSE, "%s: the struct is missing, or its tree names %d values and "
		               "it has %d", s->kind->name, n, tree->count);
		return false;
	}
	room(s, n);
	names_of_tree(s, tree);
	for (int i = 0; i < n; i++) {
		s->var[i] = p + i;
		if (two)
			s->var[n + i] = q + i;
	}
	return true;
}

static bool read_list(hop_trace *t, hop_block_state *s, const struct opening *o)
{
	if (s->kind->pairs && o->n % 2) {
		hop_trace_fail(t, HOP_EUSE, "%s: there are %d variables: first %s", s->kind->name, o->n,
		               s->kind->pairs);
		return false;
	}
	room(s, s->kind->pairs ? o->n / 2 : o->n);
	names_of(s, o->names);
	for (int i = 0; i < o->n; i++)
		s->var[i] = va_arg(*o->ap, hop_value *);
	return true;
}

static void make_block(hop_trace *t, void *arg)
{
	struct opening *o = arg;
	hop_block_state *s = hop_arena_alloc(&t->arena, o->kind->bytes);
	memset(s, 0, o->kind->bytes);
	s->kind = o->kind;
	s->t = t;
	s->file = o->file;
	s->line = o->line;
	s->site = site_get(t->root, t->b.loc, s->kind->name);
	if (o->n < 0 ? !read_tree(t, s, o->ap) : !read_list(t, s, o))
		return;
	for (int i = 0; i < s->nvar; i++) {
		s->init[i] = *s->var[i];
		if (!s->init[i].trace && !s->kind->none) {
			hop_trace_fail(t, HOP_EUSE, "%s: %s has no value before the block", s->kind->name,
			               s->name[i]);
			return;
		}
		if (s->init[i].trace && hop_slot_of(t, s->init[i]) < 0) {
			hop_note(hop_env_of(t), t->b.loc, "%s is listed here", s->name[i]);
			return;
		}
	}
	if (o->fill)
		o->fill(s, o->arg);
	s->kind->begin(t, s);
	o->s = s;
}

hop_at_block hop_block_new(hop_trace *t, const char *file, int line, const hop_block_kind *k,
                           const char *names, int n, va_list ap,
                           void (*fill)(hop_block_state *s, const void *arg), const void *arg)
{
	va_list own;
	va_copy(own, ap);
	struct opening o = { .kind = k, .file = file, .line = line, .names = names, .n = n, .ap = &own,
	                     .fill = fill, .arg = arg };
	bool ok = hop_enter(t, k->op, file, line, make_block, &o);
	va_end(own);
	return (hop_at_block){ ok ? o.s : NULL };
}

/* ---- scopes ---- */

bool hop_block_open(hop_block_state *s, const hop_body_args *a, hop_value **out_in)
{
	hop_value *in;
	hop_site *site = &s->t->root->site[s->site];
	s->scope = hop_scope_open(s->t, s->file, s->line, a, &in);
	if (!s->scope)
		return false;
	s->scope->block = s;
	s->t->inner = s->scope;
	if (!site->first)
		site->first = s->scope->serial;
	for (int i = 0; i < s->nvar; i++) {
		s->bound[i] = *s->var[i] = a->in ? s->init[i] : in[i];
		if (!a->in)
			s->param[i] = s->scope->slot[in[i].id].val;
	}
	if (out_in)
		*out_in = in;
	return true;
}

/* Is result i of the scope something else than variable i was? A parameter may have been written
 * in place; what a scope was given of its parent is written there. */
static bool differs(hop_trace *c, const hop_block_state *s, int i)
{
	hop_value was = s->bound[i];
	if (s->none[i] || !was.trace)
		return s->none[i] != !was.trace;
	uint32_t slot = (uint32_t)hop_slot_of(c, was);
	hop_val v = was.trace == c->serial ? s->param[i] : hop_slot_read(c, slot);
	return !hop_same(v, c->out[i]) || c->slot[slot].weak != c->slot[c->ret[i]].weak;
}

void hop_block_collect(hop_trace *c, hop_block_state *s, int n, const hop_value *more)
{
	hop_value *v = HOP_NEWN(&c->arena, hop_value, s->nvar + n);
	for (int i = 0; i < s->nvar; i++) {
		v[i] = *s->var[i];
		s->none[i] = !v[i].trace;
		if (s->none[i] && !s->kind->none) {
			hop_trace_fail(c, HOP_EUSE, "%s: %s has no value when the block ends", s->kind->name,
			               s->name[i]);
			return;
		}
		if (s->none[i])
			v[i] = hop_value_weak(c, HOP_WEAK_INT, 0, 0);      /* keeps the place */
	}
	for (int i = 0; i < n; i++)
		v[s->nvar + i] = more[i];
	if (hop_set_results(c, s->nvar + n, v))
		for (int i = 0; i < s->nvar; i++)
			s->changed[i] |= differs(c, s, i);
}

void hop_block_keep(hop_block_state *s, hop_trace *c, const bool *wanted)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->nret; i++)
		if (i >= (uint32_t)s->nvar || wanted[i]) {
			c->ret[n] = c->ret[i];
			c->out[n++] = c->out[i];
		}
	c->nret = n;
}

static void collect(hop_trace *c, void *arg)
{
	hop_block_state *s = arg;
	if (c != s->scope)
		hop_trace_fail(c, HOP_EUSE, "%s: a block inside it was left while it was open",
		               s->kind->name);
	else if (s->kind->collect)
		s->kind->collect(c, s);
	else
		hop_block_collect(c, s, 0, NULL);
}

static hop_trace *end_scope(hop_block_state *s)
{
	hop_trace *c = s->scope;
	s->t->root->site[s->site].last = c->serial;
	s->t->inner = NULL;
	s->scope = NULL;
	return hop_scope_close(s->t, c);
}

hop_trace *hop_block_close(hop_block_state *s)
{
	hop_enter(s->t, s->kind->op, s->file, s->line, collect, s);
	return end_scope(s);
}

bool hop_block_do(hop_block_state *s, hop_make_fn *make, void *arg)
{
	return hop_enter(s->t, s->kind->op, s->file, s->line, make, arg);
}

void hop_block_finish(hop_block_state *s, bool ok)
{
	s->over = true;
	for (int i = 0; !ok && i < s->nvar; i++)
		*s->var[i] = s->init[i];
}

/* ---- ways out that are none ---- */

struct leaving {
	hop_block_state *s;
	const char      *how;
};

static void make_left(hop_trace *c, void *arg)
{
	struct leaving *l = arg;
	hop_trace_fail(c, HOP_EUSE, "%s: the block was left by %s: it ends at its closing brace, or by "
	               "continue", l->s->kind->name, l->how);
}

static void leave(hop_block_state *s, const char *how)
{
	struct leaving l = { s, how };
	if (s->scope) {
		hop_enter(s->t, s->kind->op, s->file, s->line, make_left, &l);
		end_scope(s);
	}
	hop_block_finish(s, false);
}

void hop_block_leave(hop_at_block *b)
{
	hop_block_state *s = b->s;
	b->s = NULL;
	if (s && !s->over)
		leave(s, "return or goto");
}

/* ---- the calls of the macros ---- */

static void advance(hop_block_state *s)
{
	if (!s->over)
		s->kind->next(s);
	if (!s->over && (!s->scope || hop_failed(s->t)))
		hop_block_finish(s, false);
}

bool hop_block_step(hop_at_block *b)
{
	hop_block_state *s = b->s;
	if (!s || s->over)
		return false;
	if (s->scope)
		leave(s, "break");
	else
		advance(s);
	return !s->over;
}

bool hop_block_more(hop_at_block *b)
{
	const hop_block_state *s = b->s;
	return s && s->scope;
}

void hop_block_done(hop_at_block *b)
{
	hop_block_state *s = b->s;
	if (!s || !s->scope)
		return;
	hop_trace *c = hop_block_close(s);
	if (c)
		s->kind->closed(s, c);
	if (!c || hop_failed(s->t))
		hop_block_finish(s, false);
	advance(s);
}
