/* checkpoint.c -- regions whose inside is computed again: the body is captured and sealed, the policy is
 * asked about every node of it, and the answers become names in the graph that is called. */
#include "trace/checkpoint.h"
#include "trace/block.h"

#include <string.h>

void hop_checkpoint_begin(hop_trace *t, void *arg)
{
	hop_checkpoint_call *c = arg;
	if (hop_call_lists(t, &c->io) && hop_trace_opts(t, c->given, &c->opts, sizeof c->opts))
		hop_policy_check(t, &c->opts);
}

static void eager_end(hop_trace *t, void *arg)
{
	hop_checkpoint_call *c = arg;
	c->io.n = hop_eager_results(t, c->body, c->io.cap, c->io.out);
}

/* ---- first step: the body as a graph, and what to ask ---- */

static void seal_body(hop_trace *t, void *arg)
{
	hop_checkpoint_call *c = arg;
	hop_trace *b = c->body;
	hop_outs o = { b, b->nret, b->out };
	if (!hop_call_room(t, b->nret, c->io.cap) || !hop_join_open(&c->j, t, 1, &o, 0, NULL))
		return;
	hop_join_syms(&c->j, 0, NULL);
	hop_layout l = hop_call_layout(&c->j, &c->operand);
	if (!hop_join_seal(&c->j, 0, &l, b->nret + c->j.nw, hop_call_outs(&c->j, 0, &o), c->opts.name,
	                   &c->g))
		c->ask = hop_policy_asks(t, &c->opts, c->g, &c->nask);
}

/* ---- second step, unguarded: the user's answers ---- */

struct wrong { const hop_ask *ask; hop_saving how; };

static void bad_answer(hop_trace *t, void *arg)
{
	const struct wrong *w = arg;
	hop_trace_fail(t, HOP_EVALUE, "checkpoint: the policy said %d of %s (question %d): there is no such "
	               "hop_saving", (int)w->how, w->ask->q.op, w->ask->q.index);
}

static bool ask_all(hop_checkpoint_call *c, hop_step_fn *step, void *at)
{
	for (uint32_t i = 0; c->opts.policy && i < c->nask; i++) {
		hop_saving how = c->opts.policy(c->opts.policy_user, &c->ask[i].q);
		if ((int)how < 0 || (int)how >= HOP_NSAVE) {
			step(at, bad_answer, &(struct wrong){ &c->ask[i], how });
			return false;
		}
		if (how != HOP_SAVING_FREE)
			c->ask[i].how = how;
	}
	return true;
}

/* ---- third step: packing, one for each type of what is to be saved ---- */

static bool kept(const hop_ask *a)
{
	hop_saving how = a->how ? a->how : a->q.how;
	return how == HOP_MUST_SAVE || how == HOP_PREFER_SAVE;
}

/* The packing of a value of the body, or NULL; types are those of the body's graph. */
static const hop_packing *packing_of(const hop_checkpoint_call *c, hop_env *e, hop_sizes sargs,
                                     const hop_type *t)
{
	const hop_type *out = hop_type_subst(e, t, sargs.v, (int)sargs.n);
	for (uint32_t i = 0; i < c->npacking; i++)
		if (c->packing[i].type == out)
			return &c->packing[i];
	return NULL;
}

/* A size that only the body knows cannot leave it. */
static bool packs(const hop_graph *g, const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if ((uint32_t)hop_size_nsym(t->dim[i]) > g->nsym)
			return false;
	return hop_type_diff(t);
}

static void list_types(hop_trace *t, void *arg)
{
	hop_checkpoint_call *c = arg;
	const hop_graph *g = c->g;
	hop_sizes sargs = hop_join_sargs(&c->j);
	c->packing = HOP_NEWN(&t->arena, hop_packing, g->nvalue);
	for (uint32_t i = 0; i < c->nask; i++)
		for (uint32_t k = 0; kept(&c->ask[i]) && k < c->ask[i].n->nout; k++) {
			const hop_type *ty = g->type[c->ask[i].n->out0.id + k];
			if (!packs(g, ty) || packing_of(c, hop_env_of(t), sargs, ty))
				continue;
			c->packing[c->npacking++] = (hop_packing){
				.type = hop_type_subst(hop_env_of(t), ty, sargs.v, (int)sargs.n),
				.pack = c->opts.pack, .unpack = c->opts.unpack, .user = c->opts.pack_user,
				.closed = true
			};
		}
}

/* ---- last step: the graph with the answers in it, called ---- */

/* The sizes that pack takes, as the body's graph has them. */
static hop_sizes inner_sargs(hop_trace *t, const hop_checkpoint_call *c, const hop_packing *p)
{
	hop_size *s = HOP_NEWN(&t->arena, hop_size, p->j.nsym);
	for (uint32_t i = 0; i < p->j.nsym; i++)
		s[i] = hop_size_sym(hop_env_of(t), c->j.newsym[p->j.sym[i]]);
	return (hop_sizes){ p->j.nsym, s };
}

static hop_val say(hop_trace *t, const hop_checkpoint_call *c, hop_build *b, const hop_ask *a,
                   hop_val v)
{
	hop_sizes sargs = hop_join_sargs((hop_join *)(uintptr_t)&c->j);
	struct hop_attr_name n = { .save = a->how };
	if (a->how)
		v = hop_emit_op(b, HOP_OP_name, &n, 1, &v);
	const hop_packing *p = kept(a) && !b->st ? packing_of(c, b->env, sargs, hop_typeof(b, v)) : NULL;
	if (!p)
		return v;
	struct hop_attr_packed k = { .sargs = inner_sargs(t, c, p), .pack = p->g[0], .unpack = p->g[1] };
	return hop_emit_op(b, HOP_OP_packed, &k, 1, &v);
}

static hop_status freeze(hop_trace *t, const hop_checkpoint_call *c, hop_graph **out_g)
{
	const hop_graph *g = c->g;
	hop_env *e = hop_env_of(t);
	hop_arena *tmp = &t->arena;
	hop_build b;
	int nsym = (int)(g->nsym + g->nlocal);
	hop_val *map = HOP_NEWN(tmp, hop_val, g->nvalue), *out = HOP_NEWN(tmp, hop_val, g->nout);
	hop_size *smap = HOP_NEWN(tmp, hop_size, nsym);
	uint32_t at = 0;
	hop_build_open(&b, e);
	hop_build_syms_of(&b, g);
	for (uint32_t i = 0; i < g->nsym; i++)
		smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < g->nnode && !b.st; i++) {
		const hop_node *n = &g->node[i];
		const hop_ask *a = at < c->nask && c->ask[at].n == n ? &c->ask[at++] : NULL;
		hop_val *in = HOP_NEWN(tmp, hop_val, n->nin);
		for (uint32_t k = 0; k < n->nin; k++)
			in[k] = map[n->in[k].id];
		hop_val v = hop_emit_copy(&b, g, n, in, smap, nsym);
		for (uint32_t k = 0; k < n->nout && !b.st; k++) {
			hop_val r = { v.id + k };
			map[n->out0.id + k] = a ? say(t, c, &b, a, r) : r;
		}
	}
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = map[g->out[i].id];
	if (!b.st)
		hop_build_checks_of(&b, g, smap, nsym);
	return hop_seal(&b, g->nout, out, g->name, out_g);
}

static void call_frozen(hop_trace *t, void *arg)
{
	hop_checkpoint_call *c = arg;
	hop_graph *g;
	uint32_t n = c->body->nret;
	if ((t->b.st = freeze(t, c, &g)))
		return;
	struct hop_attr_checkpoint a = { .budget = c->opts.budget, .sargs = hop_join_sargs(&c->j),
	                                 .body = g };
	hop_val *res = HOP_NEWN(&t->arena, hop_val, g->nout);
	if (hop_emit_checkpoint(&t->b, &a, c->operand, res))
		return;
	hop_join_wrote(&c->j, res + n);
	hop_call_publish(t, &c->io, n, res);
}

bool hop_checkpoint_finish(hop_trace *t, hop_checkpoint_call *c, hop_step_fn *step, void *at)
{
	if (t->eager)
		return step(at, eager_end, c);
	if (!step(at, seal_body, c) || !ask_all(c, step, at))
		return false;
	if (c->opts.pack && !step(at, list_types, c))
		return false;
	for (uint32_t i = 0; i < c->npacking; i++)
		if (!hop_packing_make(t, c->file, c->line, &c->packing[i]))
			return false;
	return step(at, call_frozen, c);
}

/* ---- the function ---- */

struct place { hop_trace *t; const char *file; int line; };

static bool step_here(void *at, hop_make_fn *make, void *arg)
{
	const struct place *p = at;
	return hop_enter(p->t, NULL, p->file, p->line, make, arg);
}

int hop_at_checkpoint(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                      const hop_checkpoint_opts *opts, int nin, const hop_value *in, int cap,
                      hop_value *out)
{
	hop_checkpoint_call c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .file = file,
	                          .line = line, .given = opts };
	t = hop_here(t);
	if (!hop_enter(t, "checkpoint", file, line, hop_checkpoint_begin, &c))
		return 0;
	hop_body_args a = { .fn = body, .user = user, .what = "the body of checkpoint", .n = nin,
	                    .in = in, .eager = t->eager };
	c.body = hop_body_run(t, file, line, &a);
	if (c.body)
		hop_checkpoint_finish(t, &c, step_here, &(struct place){ t, file, line });
	hop_body_drop(c.body);
	return c.io.n;
}

/* ---- the block ---- */

struct block {
	hop_block_state     b;
	hop_checkpoint_call c;
};

static void block_begin(hop_trace *t, hop_block_state *s)
{
	hop_checkpoint_begin(t, &((struct block *)s)->c);
}

static void block_next(hop_block_state *s)
{
	hop_block_open(s, &(hop_body_args){ .what = s->kind->name, .in = s->init, .n = s->nvar,
	                                    .eager = s->t->eager }, NULL);
}

/* Variables that the block changed are its results. */
static void block_lists(hop_trace *t, void *arg)
{
	struct block *r = arg;
	hop_block_state *s = &r->b;
	hop_call_io *io = &r->c.io;
	for (int i = 0; i < s->nvar; i++) {
		io->cap += s->changed[i];
		if (s->changed[i] && s->none[i]) {
			hop_trace_fail(t, HOP_EUSE, "%s: %s has no value when the block ends", s->kind->name,
			               s->name[i]);
			return;
		}
	}
	hop_block_keep(s, r->c.body, s->changed);
	io->out = HOP_NEWN(&t->arena, hop_value, io->cap);
}

static bool block_step(void *at, hop_make_fn *make, void *arg)
{
	return hop_block_do(at, make, arg);
}

static void block_closed(hop_block_state *s, hop_trace *c)
{
	struct block *r = (struct block *)s;
	hop_call_io *io = &r->c.io;
	r->c.body = c;
	r->c.file = s->file;
	r->c.line = s->line;
	bool ok = hop_block_do(s, block_lists, r) && hop_checkpoint_finish(s->t, &r->c, block_step, s);
	for (int i = 0, n = 0; ok && i < s->nvar; i++)
		*s->var[i] = s->changed[i] ? io->out[n++] : s->init[i];
	hop_body_drop(c);
	hop_block_finish(s, ok);
}

static const hop_block_kind kind_checkpoint = {
	.name = "HOP_CHECKPOINT", .op = "checkpoint", .bytes = sizeof(struct block), .none = true,
	.begin = block_begin, .next = block_next, .closed = block_closed,
};

static void fill(hop_block_state *s, const void *arg)
{
	((struct block *)s)->c.given = arg;
}

hop_at_block hop_block_checkpoint(hop_trace *t, const char *file, int line,
                                  const hop_checkpoint_opts *opts, const char *names, int n, ...)
{
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &kind_checkpoint, names, n, ap, fill, opts);
	va_end(ap);
	return b;
}
