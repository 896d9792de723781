/* block_hook.c -- HOP_HOOK: the statements of the block are the body of a hook, its variable the
 * gradient. Eagerly they do not run. And the hooks that are often wanted. */
#include "hop/hook.h"
#include "hop/ops.h"
#include "hop/shape.h"
#include "hop/trace.h"
#include "trace/block.h"
#include "trace/hook.h"

#include <math.h>

struct hooking {
	hop_block_state b;
	hop_hook_call   c;
	hop_value       in;                /* the gradient as it comes */
	hop_value      *g;                 /* the user's */
};

static void begin(hop_trace *t, hop_block_state *s)
{
	hop_hook_begin(t, &((struct hooking *)s)->c);
}

static void next(hop_block_state *s)
{
	struct hooking *h = (struct hooking *)s;
	hop_value *in;
	if (s->t->eager)
		hop_block_finish(s, true);
	else if (hop_block_open(s, &(hop_body_args){ .what = s->kind->name, .type = &h->c.type, .n = 1,
	                                             .in_hook = true, .exempt = true }, &in))
		h->in = in[0];
}

static void collect(hop_trace *c, hop_block_state *s)
{
	const struct hooking *h = (struct hooking *)s;
	if (!h->g || !h->g->trace)
		hop_trace_fail(c, HOP_EUSE, "%s: the gradient has no value when the block ends",
		               s->kind->name);
	else
		hop_set_results(c, 1, h->g);
}

static void closed(hop_block_state *s, hop_trace *c)
{
	struct hooking *h = (struct hooking *)s;
	h->c.body = c;
	bool ok = hop_block_do(s, hop_hook_end, &h->c);
	hop_body_drop(c);
	hop_block_finish(s, ok);
}

static const hop_block_kind kind_hook = {
	.name = "HOP_HOOK", .op = "hook", .bytes = sizeof(struct hooking), .begin = begin, .next = next,
	.closed = closed, .collect = collect,
};

static void fill(hop_block_state *s, const void *arg)
{
	((struct hooking *)s)->c.v = *(const hop_value *)arg;
}

static hop_at_block open_block(hop_trace *t, const char *file, int line, hop_value *v, int n, ...)
{
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &kind_hook, "", n, ap, fill, v);
	va_end(ap);
	return b;
}

hop_at_block hop_block_hook(hop_trace *t, const char *file, int line, hop_value v)
{
	return open_block(t, file, line, &v, 0);
}

bool hop_block_gradient(hop_at_block *b, hop_value *g)
{
	struct hooking *h = b->s;
	if (!h || !h->b.scope)
		return false;
	h->g = g;
	*g = h->in;
	return true;
}

/* ---- often wanted ---- */

struct limit {
	double      k;
	const char *op, *what;             /* in messages */
	bool        any;                   /* 0 and less, too */
	const char *file;
	int         line;
};

static void check_limit(hop_trace *t, void *arg)
{
	const struct limit *l = arg;
	if (!isfinite(l->k) || (!l->any && l->k <= 0))
		hop_trace_fail(t, HOP_EVALUE, "%s: %s is %g: it must be a finite number%s", l->op, l->what,
		               l->k, l->any ? "" : " above 0");
}

static void give(hop_trace *t, const struct limit *l, hop_value v)
{
	hop_at_return_n(t, l->file, l->line, 1, &v);
}

/* The norm is one of f32 at least. At 0 the factor is 1, and its slope 0. */
static void by_norm(hop_trace *t, const hop_value *in, void *user)
{
	const struct limit *l = user;
	const char *f = l->file;
	hop_dtype d = hop_at_dtype_of(t, f, l->line, in[0]);
	bool half = d == HOP_f16 || d == HOP_bf16;
	hop_value x = half ? hop_at_cast(t, f, l->line, in[0], HOP_f32) : in[0];
	hop_value k = hop_at_f(t, f, l->line, l->k);
	hop_value n = hop_at_max(t, f, l->line, hop_at_norm(t, f, l->line, x, 0, NULL), k);
	x = hop_at_mul(t, f, l->line, x, hop_at_div(t, f, l->line, k, n));
	give(t, l, half ? hop_at_cast(t, f, l->line, x, d) : x);
}

static void by_value(hop_trace *t, const hop_value *in, void *user)
{
	const struct limit *l = user;
	give(t, l, hop_at_clampf(t, l->file, l->line, in[0], -l->k, l->k));
}

static void scaled(hop_trace *t, const hop_value *in, void *user)
{
	const struct limit *l = user;
	give(t, l, hop_at_with(t, l->file, l->line, HOP_WITH_MUL, in[0], l->k));
}

static void limited(hop_trace *t, hop_value v, hop_body *body, struct limit l)
{
	if (hop_enter(t, l.op, l.file, l.line, check_limit, &l))
		hop_at_hook(t, l.file, l.line, v, body, &l);
}

void hop_at_clip_grad_norm(hop_trace *t, const char *file, int line, hop_value v, double norm)
{
	limited(t, v, by_norm, (struct limit){ .k = norm, .op = "clip_grad_norm", .what = "the norm",
	                                       .file = file, .line = line });
}

void hop_at_clip_grad_value(hop_trace *t, const char *file, int line, hop_value v, double most)
{
	limited(t, v, by_value, (struct limit){ .k = most, .op = "clip_grad_value", .what = "the bound",
	                                        .file = file, .line = line });
}

void hop_at_scale_grad(hop_trace *t, const char *file, int line, hop_value v, double by)
{
	limited(t, v, scaled, (struct limit){ .k = by, .op = "scale_grad", .what = "the factor",
	                                      .any = true, .file = file, .line = line });
}
