/* keyed.c -- regions with a key: a body that was captured under an equal key is called again without
 * being run. The key is the function, the static data by contents, and the types of the inputs;
 * names are no part of it. So that nothing else can decide what the body is, it gets parameters of
 * its own and sees no value of outside, and the static data of regions inside it must be among its
 * own: else the one around would be used again when only the inner one has changed. It cannot see C
 * variables that the body reads: the check mode runs it every time, and compares. */
#include "trace/control.h"
#include "text/text.h"
#include "trace/mode.h"
#include "trace/strict.h"

#include <string.h>

/* What a capture under a key gave. Interned, so it lives as long as the memo. */
struct record {
	const hop_graph *g;
	uint64_t         nsym;
	int64_t          sym[];        /* of the trace, for the sizes of the inputs */
};

/* A keyed region that is being run: those inside it look at it. */
struct hop_keyed {
	const struct hop_keyed *up;
	const char             *name;
	int                     nstatic;
	const hop_static       *statics;
};

struct call {
	hop_call_io         io;
	struct hop_keyed    self;
	const char         *name;
	hop_body           *fn;
	const void         *given;
	hop_region_opts     opts;
	struct hop_attr_call like;
	hop_val            *val;
	const hop_type    **type;
	hop_array         **ten;       /* eager: the inputs */
	size_t              nkey;
	char               *key;
	const struct record *had;
	hop_trace          *body;
};

/* ---- the key ---- */

static bool mentions_sizes(const struct call *c)
{
	for (int i = 0; i < c->io.nin; i++)
		for (int d = 0; d < c->type[i]->rank; d++)
			if (hop_size_nsym(c->type[i]->dim[d]))
				return true;
	return false;
}

/* Types are interned: their addresses stand for them. Sizes that are symbols mean something in one
 * trace only, which is then part of the key. So is what a strict context refuses where it stands. */
static void make_key(hop_trace *t, struct call *c)
{
	hop_buf b;
	uint64_t head[] = { 'k', mentions_sizes(c) ? t->serial : 0, (uint64_t)c->io.nin,
		                (uint64_t)c->self.nstatic, (uint64_t)hop_strict_level(t), hop_modes_key(t) };
	hop_buf_open(&b, hop_env_of(t));
	hop_putn(&b, (const char *)head, sizeof head);
	hop_putn(&b, (const char *)&c->fn, sizeof c->fn);
	hop_putn(&b, (const char *)c->type, (size_t)c->io.nin * sizeof *c->type);
	for (int i = 0; i < c->self.nstatic; i++) {
		uint64_t n = c->opts.statics[i].bytes;
		hop_putn(&b, (const char *)&n, sizeof n);
		hop_putn(&b, c->opts.statics[i].data, n);
	}
	c->nkey = b.n;
	c->key = hop_arena_dup(&t->arena, b.s, b.n);
	hop_buf_free(&b);
}

static bool within(const hop_static *s, const struct hop_keyed *k)
{
	uintptr_t at = (uintptr_t)s->data, end = at + s->bytes;
	for (int i = 0; i < k->nstatic; i++) {
		uintptr_t from = (uintptr_t)k->statics[i].data, to = from + k->statics[i].bytes;
		if (at >= from && end <= to)
			return true;
	}
	return false;
}

/* What this region depends on, every keyed one around it depends on. */
static bool covered(hop_trace *t, const struct call *c)
{
	for (const struct hop_keyed *k = t->root->keyed; k; k = k->up)
		for (int i = 0; i < c->self.nstatic; i++)
			if (!within(&c->opts.statics[i], k)) {
				hop_trace_fail(t, HOP_EUSE, "region_keyed: static data %d of region %s is not "
				               "among that of region %s, which it is inside of: what decides the "
				               "inner one decides the outer one, so give both the same memory", i,
				               c->name, k->name);
				return false;
			}
	return true;
}

bool hop_keyed_refuses(hop_trace *t, const hop_trace *owner)
{
	for (const hop_trace *b = t; b != owner; b = b->up)
		if (b->closed) {
			hop_trace_fail(t, HOP_EREFUSED, "%s: region %s has a key, and uses a value from outside "
			               "that is not among its inputs: pass it in, or call hop_region", t->op,
			               b->closed);
			return true;
		}
	return false;
}

/* ---- one call ---- */

static void keyed_begin(hop_trace *t, void *arg)
{
	struct call *c = arg;
	int n = 0;
	if (!hop_trace_opts(t, c->given, &c->opts, sizeof c->opts) || !hop_call_lists(t, &c->io) ||
	    !hop_region_like(t, &c->opts, &c->like))
		return;
	if (!c->fn) {
		hop_trace_fail(t, HOP_EUSE, "region_keyed: no function was given for the body of region");
		return;
	}
	while (n < HOP_STATICS && c->opts.statics[n].data)
		n++;
	c->self = (struct hop_keyed){ t->root->keyed, c->name, n, c->opts.statics };
	if (!covered(t, c))
		return;
	c->val = HOP_NEWN(&t->arena, hop_val, c->io.nin);
	c->type = HOP_NEWN(&t->arena, const hop_type *, c->io.nin);
	for (int i = 0; i < c->io.nin; i++) {
		c->val[i] = hop_value_read(t, c->io.in[i]);
		if (hop_is_bad(c->val[i]))
			return;
		c->type[i] = hop_typeof(&t->b, c->val[i]);
	}
	if (t->eager) {
		hop_eager_settle(t);
		c->ten = HOP_NEWN(&t->arena, hop_array *, c->io.nin);
		for (int i = 0; i < c->io.nin && !t->b.st; i++)
			c->ten[i] = hop_eager_array(t, c->val[i]);
		return;
	}
	make_key(t, c);
	c->had = hop_ctx_memo_get(hop_env_of(t), c->key, c->nkey);
}

static void call_it(hop_trace *t, struct call *c, const struct record *r)
{
	hop_size *s = HOP_NEWN(&t->arena, hop_size, r->nsym);
	hop_val *res = HOP_NEWN(&t->arena, hop_val, r->g->nout);
	for (uint64_t i = 0; i < r->nsym; i++)
		s[i] = hop_size_sym(hop_env_of(t), (int)r->sym[i]);
	if (hop_call_room(t, r->g->nout, c->io.cap) &&
	    !hop_call_like_here(t, &c->like, r->g, (hop_sizes){ (int64_t)r->nsym, s }, c->val, res))
		hop_call_publish(t, &c->io, r->g->nout, res);
}

static void keyed_again(hop_trace *t, void *arg)
{
	struct call *c = arg;
	call_it(t, c, c->had);
}

struct sizes { const struct call *c; int sym; bool found; };

static void look(void *user, int sym)
{
	struct sizes *s = user;
	s->found |= sym == s->sym;
}

/* The sizes that the graph takes are those of the inputs, and so part of the key. */
static bool sizes_known(hop_trace *t, const struct call *c, const hop_join *j)
{
	for (uint32_t i = 0; i < j->nsym; i++) {
		struct sizes s = { c, j->sym[i], false };
		for (int k = 0; k < c->io.nin; k++)
			for (int d = 0; d < c->type[k]->rank; d++)
				hop_size_syms(c->type[k]->dim[d], look, &s);
		if (s.found)
			continue;
		hop_trace_fail(t, HOP_EREFUSED, "region_keyed: region %s uses a size from outside that none "
		               "of its inputs has: pass a value that has it, or call hop_region", c->name);
		return false;
	}
	return true;
}

static const struct record *seal(hop_trace *t, struct call *c)
{
	hop_env *e = hop_env_of(t);
	hop_trace *b = c->body;
	hop_outs o = { b, b->nret, b->out };
	uint32_t n = (uint32_t)c->io.nin, *param = HOP_NEWN(&t->arena, uint32_t, n);
	hop_join j;
	const hop_graph *g;
	for (uint32_t i = 0; i < n; i++)
		param[i] = i;
	if (!hop_join_open(&j, t, 1, &o, 0, NULL))
		return NULL;
	HOP_ASSERT(!j.nk && !j.nw);            /* hop_keyed_refuses has seen to it */
	hop_join_syms(&j, n, c->type);
	hop_layout l = { .nparam = n, .type = c->type, .param = param, .w0 = n, .k0 = n };
	if (!sizes_known(t, c, &j) ||
	    hop_join_seal(&j, 0, &l, b->nret, b->out, c->name, &g))
		return NULL;
	size_t bytes = sizeof(struct record) + j.nsym * sizeof(int64_t);
	struct record *r = hop_arena_alloc(&t->arena, bytes);
	r->g = g;
	r->nsym = j.nsym;
	for (uint32_t i = 0; i < j.nsym; i++)
		r->sym[i] = j.sym[i];
	return hop_ctx_intern(e, HOP_IN_CUT, r, bytes, 8);
}

static void keyed_end(hop_trace *t, void *arg)
{
	struct call *c = arg;
	hop_env *e = hop_env_of(t);
	if (t->eager) {
		c->io.n = hop_eager_results(t, c->body, c->io.cap, c->io.out);
		return;
	}
	const struct record *r = seal(t, c);
	if (!r)
		return;
	if (c->had && c->had->g != r->g) {
		hop_buf b;
		hop_buf_open(&b, e);
		hop_graph_differ(&b, c->had->g, r->g);
		hop_trace_fail(t, HOP_EUSE, "region_keyed: region %s gives another body under the same key: "
		               "it depends on something that is neither static data of it nor a type of an "
		               "input\n  %s", c->name, b.s);
		hop_buf_free(&b);
		return;
	}
	if (!c->had)
		r = hop_ctx_memo_put(e, c->key, c->nkey, (void *)(uintptr_t)r);
	call_it(t, c, r);
}

int hop_at_region_keyed(hop_trace *t, const char *file, int line, const char *name,
                        hop_body *body, void *user, const hop_region_opts *opts, int nin,
                        const hop_value *in, int cap, hop_value *out)
{
	struct call c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out },
		              .name = name ? name : "without a name", .fn = body, .given = opts };
	t = hop_here(t);
	if (!hop_enter(t, "region_keyed", file, line, keyed_begin, &c))
		return 0;
	if (c.had && !c.opts.check && !t->root->again) {
		hop_enter(t, NULL, file, line, keyed_again, &c);
		return c.io.n;
	}
	hop_body_args a = { .fn = body, .user = user, .what = "the body of region", .n = nin,
		                .type = c.type, .ten = c.ten, .eager = t->eager, .closed = c.name };
	t->root->keyed = &c.self;
	c.body = hop_body_run(t, file, line, &a);
	t->root->keyed = c.self.up;
	if (c.body)
		hop_enter(t, NULL, file, line, keyed_end, &c);
	hop_body_drop(c.body);
	return c.io.n;
}
