/* block_implicit.c -- HOP_ROOT, HOP_FIXED_POINT, HOP_MINIMIZE and HOP_LINEAR_SOLVE: the statements of
 * the block are the function of the unknowns. While capturing and eagerly they run once: a solver
 * calls what they recorded. */
#include "trace/block.h"
#include "trace/implicit.h"

struct equations {
	hop_block_state   b;
	hop_implicit_call c;
	hop_value        *loss;            /* the user's, of HOP_MINIMIZE */
	hop_value        *info;            /* the same, where hop_info says; or NULL */
};

static void begin(hop_trace *t, hop_block_state *s)
{
	struct equations *e = (struct equations *)s;
	e->c.x0 = s->init;
	e->c.s.file = s->file;
	e->c.s.line = s->line;
	e->c.s.n = s->nvar;
	e->c.out = HOP_NEWN(&t->arena, hop_value, s->nvar);
	hop_implicit_begin(t, &e->c);
}

static void next(hop_block_state *s)
{
	struct equations *e = (struct equations *)s;
	hop_block_open(s, &(hop_body_args){ .what = s->kind->name, .type = e->c.type, .n = s->nvar },
	               NULL);
}

/* What the function gives: the loss, the second half of the variables, or the first, changed. */
static void collect(hop_trace *c, hop_block_state *s)
{
	struct equations *e = (struct equations *)s;
	hop_value *v = HOP_NEWN(&c->arena, hop_value, s->nvar);
	int n = e->loss ? 1 : s->nvar;
	for (int i = 0; i < n; i++) {
		v[i] = e->loss ? *e->loss : *s->var[s->kind->pairs ? s->nvar + i : i];
		if (!v[i].trace) {
			hop_trace_fail(c, HOP_EUSE, "%s: %s has no value when the block ends", s->kind->name,
			               e->loss ? "the loss" : s->kind->pairs ? "a residual" : s->name[i]);
			return;
		}
	}
	hop_set_results(c, n, v);
}

static void closed(hop_block_state *s, hop_trace *c)
{
	struct equations *e = (struct equations *)s;
	e->c.body[HOP_EQ_F] = c;
	bool ok = hop_implicit_end(s->t, &e->c, NULL) > 0;
	for (int i = 0; i < s->nvar; i++) {
		*s->var[i] = ok ? e->c.out[i] : s->init[i];
		if (s->kind->pairs)
			*s->var[s->nvar + i] = HOP_NONE;
	}
	if (e->loss)
		*e->loss = HOP_NONE;
	if (e->info)
		*e->info = ok ? e->c.info : HOP_NONE;
	hop_block_finish(s, ok);
}

#define KIND(name_, op_, pairs_) { \
	.name = name_, .op = op_, .bytes = sizeof(struct equations), .pairs = pairs_, .begin = begin, \
	.next = next, .closed = closed, .collect = collect }
static const hop_block_kind kinds[] = {
	[HOP_EQUATION_ROOT] = KIND("HOP_ROOT", "root", "the unknowns, then as many residuals"),
	[HOP_EQUATION_FIXED_POINT] = KIND("HOP_FIXED_POINT", "fixed_point", NULL),
	[HOP_EQUATION_MINIMUM] = KIND("HOP_MINIMIZE", "minimize", NULL),
	[HOP_EQUATION_LINEAR] = KIND("HOP_LINEAR_SOLVE", "linear_solve",
	                             "the unknowns, then as many products"),
};
#undef KIND

static void fill(hop_block_state *s, const void *arg)
{
	const struct equations *e = arg;
	((struct equations *)s)->c.kind = e->c.kind;
	((struct equations *)s)->c.given = e->c.given;
	((struct equations *)s)->loss = e->loss;
}

hop_at_block hop_block_implicit(hop_trace *t, const char *file, int line, enum hop_equation which,
                                hop_value *loss, const hop_implicit_opts *opts, const char *names,
                                int n, ...)
{
	struct equations e = { .c = { .kind = which, .given = opts }, .loss = loss };
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &kinds[which], names, n, ap, fill, &e);
	va_end(ap);
	return b;
}

static void make_info(hop_trace *t, void *arg)
{
	struct equations *e = (struct equations *)t->block;
	if (!t->block || t->block->kind < kinds || t->block->kind >= kinds + 4)
		hop_trace_fail(t, HOP_EUSE, "info: it belongs directly into HOP_ROOT, HOP_FIXED_POINT, "
		               "HOP_MINIMIZE or HOP_LINEAR_SOLVE, this is %s", t->what);
	else if (!arg)
		hop_trace_fail(t, HOP_EUSE, "info: no variable was given");
	else
		e->info = arg;
}

void hop_at_info(hop_trace *t, const char *file, int line, hop_value *info)
{
	hop_enter(t, "info", file, line, make_info, info);
}
