/* block_arm.c -- blocks whose statements are given the caller's own values: HOP_IF, HOP_SWITCH,
 * HOP_REGION; and HOP_GRAD, whose variables are parameters. Loops are in block_while.c and
 * block_for.c. */
#include "trace/block.h"
#include "trace/control.h"

#include <string.h>

/* ---- HOP_IF and HOP_SWITCH ---- */

struct arms {
	hop_block_state b;
	hop_choice      c;
	int             arm;               /* the one that is open */
	bool          **none;              /* per arm and variable: left without value */
	bool           *wanted;            /* variables that are results */
};

static void arms_begin(hop_trace *t, hop_block_state *s)
{
	struct arms *a = (struct arms *)s;
	a->c.block = s->kind->name;
	hop_choice_begin(t, &a->c);
	if (t->b.st)
		return;
	a->none = HOP_NEWN(&t->arena, bool *, a->c.n);
	for (int k = 0; k < a->c.n; k++)
		a->none[k] = HOP_NEWN(&t->arena, bool, s->nvar);
}

/* Results: what an arm changed. Eagerly, where the other arms did not run, all that may have been
 * changed there. */
static void choose_results(hop_trace *t, void *arg)
{
	struct arms *a = arg;
	hop_block_state *s = &a->b;
	hop_arena *m = &t->arena;
	bool all = a->c.nrun < a->c.n;
	hop_value *in = HOP_NEWN(m, hop_value, s->nvar);
	const char **name = HOP_NEWN(m, const char *, s->nvar);
	int n = 0;
	a->wanted = HOP_NEWN(m, bool, s->nvar);
	for (int i = 0; i < s->nvar; i++) {
		a->wanted[i] = s->changed[i] || (all && s->init[i].trace);
		for (int k = 0; a->wanted[i] && k < a->c.n; k++)
			if (a->c.body[k] && a->none[k][i]) {
				hop_trace_fail(t, HOP_EUSE, "%s: %s has no value at the end of %s: set it in every "
				               "arm, or before", s->kind->name, s->name[i],
				               hop_choice_word(t, &a->c, k));
				return;
			}
		if (a->wanted[i])
			name[n++] = s->name[i];
		if (a->wanted[i] && s->init[i].trace)
			in[a->c.io.nin++] = s->init[i];
	}
	for (int k = 0; k < a->c.n; k++)
		if (a->c.body[k])
			hop_block_keep(s, a->c.body[k], a->wanted);
	a->c.name = name;
	a->c.io.in = in;
	a->c.io.cap = n;
	a->c.io.out = HOP_NEWN(m, hop_value, n);
	hop_choice_end(t, &a->c);
}

/* A variable that no arm changes is a value of its own from here on, as it would be if one had. */
static void fresh(hop_trace *t, void *arg)
{
	struct arms *a = arg;
	hop_block_state *s = &a->b;
	int n = 0;
	for (int i = 0; i < s->nvar; i++) {
		hop_value v = s->init[i];
		if (a->wanted[i])
			v = a->c.io.out[n++];
		else if (v.trace && !hop_cell_of(t, v)->weak)
			v = hop_value_new(t, hop_value_read(t, v));
		*s->var[i] = v;
	}
}

static void arms_next(hop_block_state *s)
{
	struct arms *a = (struct arms *)s;
	a->arm = hop_choice_next(&a->c);
	if (a->arm >= 0) {
		hop_block_open(s, &(hop_body_args){ .what = s->kind->name, .in = s->init, .n = s->nvar,
		                                    .eager = a->c.taken == a->arm }, NULL);
		return;
	}
	bool ok = hop_block_do(s, choose_results, a) && hop_block_do(s, fresh, a);
	for (int k = a->c.n; k-- > 0; )
		hop_body_drop(a->c.body[k]);
	hop_block_finish(s, ok);
}

static void arms_closed(hop_block_state *s, hop_trace *c)
{
	struct arms *a = (struct arms *)s;
	a->c.body[a->arm] = c;
	a->c.nrun++;
	memcpy(a->none[a->arm], s->none, (size_t)s->nvar * sizeof *s->none);
}

static const hop_block_kind kind_if = {
	.name = "HOP_IF", .op = "cond", .bytes = sizeof(struct arms), .none = true,
	.begin = arms_begin, .next = arms_next, .closed = arms_closed,
};
static const hop_block_kind kind_switch = {
	.name = "HOP_SWITCH", .op = "switch", .bytes = sizeof(struct arms), .none = true,
	.begin = arms_begin, .next = arms_next, .closed = arms_closed,
};

static void fill_arms(hop_block_state *s, const void *arg)
{
	((struct arms *)s)->c = *(const hop_choice *)arg;
}

hop_at_block hop_block_if(hop_trace *t, const char *file, int line, hop_value pred,
                          const char *names, int n, ...)
{
	hop_choice c = { .sel = pred, .two = true, .n = 2 };
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &kind_if, names, n, ap, fill_arms, &c);
	va_end(ap);
	return b;
}

hop_at_block hop_block_switch(hop_trace *t, const char *file, int line, hop_value index, int narm,
                              const char *names, int n, ...)
{
	hop_choice c = { .sel = index, .n = narm };
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &kind_switch, names, n, ap, fill_arms, &c);
	va_end(ap);
	return b;
}

static void make_partition(hop_trace *t, void *arg)
{
	(void)arg;
	if (!hop_block_is(t, &kind_if) && !hop_block_is(t, &kind_switch))
		hop_trace_fail(t, HOP_EUSE, "partition: it belongs directly into HOP_IF or HOP_SWITCH, this is "
		               "%s", t->what);
	else
		((struct arms *)t->block)->c.partition = true;
}

void hop_at_partition(hop_trace *t, const char *file, int line)
{
	hop_enter(t, "partition", file, line, make_partition, NULL);
}

int hop_block_arm(hop_at_block *b)
{
	const struct arms *a = b->s;
	return a && a->b.scope ? a->arm : 0;
}

/* ---- HOP_REGION ---- */

struct region {
	hop_block_state b;
	hop_region_call c;
};

static void region_begin(hop_trace *t, hop_block_state *s)
{
	hop_region_begin(t, &((struct region *)s)->c);
}

static void region_results(hop_trace *t, void *arg)
{
	struct region *r = arg;
	hop_block_state *s = &r->b;
	hop_call_io *io = &r->c.io;
	hop_value *in = HOP_NEWN(&t->arena, hop_value, s->nvar);
	for (int i = 0; i < s->nvar; i++) {
		io->cap += s->changed[i];
		if (s->changed[i] && s->init[i].trace)
			in[io->nin++] = s->init[i];
		if (s->changed[i] && s->none[i]) {
			hop_trace_fail(t, HOP_EUSE, "%s: %s has no value when the block ends", s->kind->name,
			               s->name[i]);
			return;
		}
	}
	hop_block_keep(s, r->c.body, s->changed);
	io->in = in;
	io->out = HOP_NEWN(&t->arena, hop_value, io->cap);
	hop_region_end(t, &r->c);
	for (int i = 0, n = 0; i < s->nvar && io->n == io->cap; i++)
		*s->var[i] = s->changed[i] ? io->out[n++] : s->init[i];
}

static void region_next(hop_block_state *s)
{
	hop_block_open(s, &(hop_body_args){ .what = s->kind->name, .in = s->init, .n = s->nvar,
	                                    .eager = s->t->eager }, NULL);
}

static void region_closed(hop_block_state *s, hop_trace *c)
{
	struct region *r = (struct region *)s;
	r->c.body = c;
	bool ok = hop_block_do(s, region_results, r);
	hop_body_drop(c);
	hop_block_finish(s, ok);
}

static const hop_block_kind kind_region = {
	.name = "HOP_REGION", .op = "region", .bytes = sizeof(struct region), .none = true,
	.begin = region_begin, .next = region_next, .closed = region_closed,
};

struct region_is {
	const char            *name;
	const hop_region_opts *opts;
};

static void fill_region(hop_block_state *s, const void *arg)
{
	const struct region_is *is = arg;
	struct region *r = (struct region *)s;
	r->c.name = is->name;
	r->c.given = is->opts;
}

hop_at_block hop_block_region(hop_trace *t, const char *file, int line, const char *name,
                              const hop_region_opts *opts, const char *names, int n, ...)
{
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &kind_region, names, n, ap, fill_region,
	                               &(struct region_is){ name, opts });
	va_end(ap);
	return b;
}

/* ---- HOP_GRAD ---- */

/* A value that leaves the block beside the loss. */
struct kept {
	hop_value *to;                     /* the user's */
	hop_value  v;
};

struct grad {
	hop_block_state b;
	hop_xform       x;
	hop_value      *loss;
	int             nwrt;              /* as the caller says; -1 = all */
	size_t          nkept, keptcap;
	struct kept    *kept;
};

static void grad_begin(hop_trace *t, hop_block_state *s)
{
	struct grad *g = (struct grad *)s;
	int *wrt = HOP_NEWN(&t->arena, int, s->nvar);
	if (g->nwrt >= 0 && g->nwrt != s->nvar) {
		hop_trace_fail(t, HOP_EUSE, "%s: for %d gradients there are %d variables behind the count, "
		               "not %d", s->kind->name, g->nwrt, 2 * s->nvar, 2 * g->nwrt);
		return;
	}
	for (int i = 0; i < s->nvar; i++)
		wrt[i] = i;
	g->x = (hop_xform){ .op = "grad", .nin = s->nvar, .in = s->init, .nwrt = s->nvar, .wrt = wrt,
	                   .block = s->kind->name };
	hop_xform_begin(t, &g->x);
}

static void grad_next(hop_block_state *s)
{
	struct grad *g = (struct grad *)s;
	hop_block_open(s, &(hop_body_args){ .what = s->kind->name, .type = g->x.type, .n = s->nvar,
	                                    .in_grad = true }, NULL);
}

static void grad_collect(hop_trace *c, hop_block_state *s)
{
	struct grad *g = (struct grad *)s;
	if (!g->loss->trace) {
		hop_trace_fail(c, HOP_EUSE, "%s: the loss has no value when the block ends",
		               s->kind->name);
		return;
	}
	hop_value *v = HOP_NEWN(&c->arena, hop_value, 1 + g->nkept);
	v[0] = *g->loss;
	for (size_t i = 0; i < g->nkept; i++)
		v[1 + i] = g->kept[i].v;
	hop_set_results(c, 1 + (int)g->nkept, v);
	g->x.cap = 1 + (int)g->nkept + s->nvar;
	g->x.out = HOP_NEWN(&s->t->arena, hop_value, g->x.cap);
}

static void grad_closed(hop_block_state *s, hop_trace *c)
{
	struct grad *g = (struct grad *)s;
	g->x.body = c;
	bool ok = hop_block_do(s, hop_grad_end, &g->x);
	hop_body_drop(c);
	const hop_value *out = g->x.out;
	*g->loss = ok ? *out++ : HOP_NONE;
	for (size_t i = 0; i < g->nkept; i++)
		*g->kept[i].to = ok ? *out++ : HOP_NONE;
	for (int i = 0; i < s->nvar; i++) {
		*s->var[i] = s->init[i];
		*s->var[s->nvar + i] = ok ? *out++ : HOP_NONE;
	}
	hop_block_finish(s, ok);
}

static const hop_block_kind kind_grad = {
	.name = "HOP_GRAD", .op = "grad", .bytes = sizeof(struct grad),
	.pairs = "those to differentiate by, then as many for the gradients",
	.begin = grad_begin, .next = grad_next, .closed = grad_closed, .collect = grad_collect,
};

static void fill_grad(hop_block_state *s, const void *arg)
{
	const struct grad *g = arg;
	((struct grad *)s)->loss = g->loss;
	((struct grad *)s)->nwrt = g->nwrt;
}

hop_at_block hop_block_grad(hop_trace *t, const char *file, int line, hop_value *loss, int nwrt,
                            const char *names, int n, ...)
{
	struct grad g = { .loss = loss, .nwrt = n < 0 ? -1 : nwrt };
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &kind_grad, names, n, ap, fill_grad, &g);
	va_end(ap);
	return b;
}

static void make_keep(hop_trace *t, void *arg)
{
	struct kept *k = arg;
	struct grad *g = (struct grad *)t->block;
	if (!hop_block_is(t, &kind_grad)) {
		hop_trace_fail(t, HOP_EUSE, "keep: it belongs directly into HOP_GRAD, this is %s", t->what);
		return;
	}
	if (!k->to) {
		hop_trace_fail(t, HOP_EUSE, "keep: no variable was given");
		return;
	}
	hop_val v = hop_value_read(t, k->v);
	if (t->b.st)
		return;
	g->kept = hop_arena_grow(&g->b.t->arena, g->kept, sizeof *g->kept, g->nkept + 1, &g->keptcap);
	g->kept[g->nkept++] = (struct kept){ k->to, hop_value_new(t, v) };
}

void hop_at_keep(hop_trace *t, const char *file, int line, hop_value *to, hop_value v)
{
	hop_enter(t, "keep", file, line, make_keep, &(struct kept){ to, v });
}
