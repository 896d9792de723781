/* control.c -- call and the function inside a trace, and what cond.c shares with them. The
 * bodies get the caller's own handles: what they use is lifted, what they write is written
 * outside. Loops, whose bodies have parameters of their own, are in loop.c. */
#include "trace/control.h"

#include <string.h>

bool hop_call_lists(hop_trace *t, const hop_call_io *c)
{
	if (c->nin < 0 || (c->nin && !c->in) || c->cap < 0 || (c->cap && !c->out)) {
		hop_trace_fail(t, HOP_EUSE, "%s: a count is negative or a list is missing", t->op);
		return false;
	}
	for (int i = 0; i < c->nin; i++)
		if (hop_slot_of(t, c->in[i]) < 0)
			return false;
	return true;
}

bool hop_call_room(hop_trace *t, uint32_t n, int cap)
{
	if (n <= (uint32_t)cap)
		return true;
	hop_trace_fail(t, HOP_EUSE, "%s: gives %u results, there is room for %d", t->op, n, cap);
	return false;
}

hop_layout hop_call_layout(hop_join *j, const hop_val **out_operands)
{
	hop_arena *a = &j->t->arena;
	uint32_t n = j->nw + j->nk;
	hop_val *v = HOP_NEWN(a, hop_val, n);
	const hop_type **ty = HOP_NEWN(a, const hop_type *, n);
	for (uint32_t i = 0; i < n; i++) {
		v[i] = i < j->nw ? j->wval[i] : j->kval[i - j->nw];
		ty[i] = i < j->nw ? j->wtype[i] : j->ktype[i - j->nw];
	}
	*out_operands = v;
	return (hop_layout){ .nparam = n, .type = ty, .w0 = 0, .k0 = j->nw };
}

hop_val *hop_call_outs(hop_join *j, int k, const hop_outs *o)
{
	hop_val *all = HOP_NEWN(&j->t->arena, hop_val, o->n + j->nw);
	memcpy(all, o->v, o->n * sizeof *all);
	memcpy(all + o->n, j->wout[k], j->nw * sizeof *all);
	return all;
}

void hop_call_publish(hop_trace *t, hop_call_io *c, uint32_t n, const hop_val *v)
{
	for (uint32_t i = 0; i < n; i++)
		c->out[i] = hop_value_new(t, v[i]);
	c->n = t->b.st ? 0 : (int)n;
}

/* ---- call ---- */

bool hop_region_like(hop_trace *t, const hop_region_opts *o, struct hop_attr_call *out)
{
	if (o->unroll < 0) {
		hop_trace_fail(t, HOP_EVALUE, "%s: unroll is %d: it is how many steps of its loops run at a "
		               "time", t->op, o->unroll);
		return false;
	}
	size_t n = o->hints ? strlen(o->hints) : 0, m = o->to ? strlen(o->to) : 0;
	*out = (struct hop_attr_call){ .no_inline = o->no_inline, .no_fuse = o->no_fuse,
	                               .unroll = o->unroll,
	                               .hints = { (int64_t)n, hop_arena_str(&t->arena, o->hints, n) },
	                               .to = { (int64_t)m, hop_arena_str(&t->arena, o->to, m) } };
	return true;
}

void hop_region_begin(hop_trace *t, void *arg)
{
	hop_region_call *c = arg;
	hop_region_opts o;
	if (!hop_call_lists(t, &c->io) || !hop_trace_opts(t, c->given, &o, sizeof o) ||
	    !hop_region_like(t, &o, &c->like))
		return;
	if (o.statics[0].data || o.check)
		hop_trace_fail(t, HOP_EUSE, "%s: %s belongs to a region with a key: call hop_region_keyed, or "
		               "leave it out", t->op, o.check ? "check" : "static data");
}

static void region_eager_end(hop_trace *t, void *arg)
{
	hop_region_call *c = arg;
	c->io.n = hop_eager_results(t, c->body, c->io.cap, c->io.out);
}

static void region_captured_end(hop_trace *t, void *arg)
{
	hop_region_call *c = arg;
	hop_join j;
	const hop_graph *g;
	const hop_val *operands;
	hop_trace *b = c->body;
	hop_outs o = { b, b->nret, b->out };
	if (!hop_call_room(t, b->nret, c->io.cap) ||
	    !hop_join_open(&j, t, 1, &o, 0, NULL))
		return;
	hop_join_syms(&j, 0, NULL);
	hop_layout l = hop_call_layout(&j, &operands);
	uint32_t nout = b->nret + j.nw;
	if (hop_join_seal(&j, 0, &l, nout, hop_call_outs(&j, 0, &o), c->name, &g))
		return;
	hop_val *res = HOP_NEWN(&t->arena, hop_val, nout);
	if (hop_call_like_here(t, &c->like, g, hop_join_sargs(&j), operands, res))
		return;
	hop_join_wrote(&j, res + b->nret);
	hop_call_publish(t, &c->io, b->nret, res);
}

void hop_region_end(hop_trace *t, void *arg)
{
	if (t->eager)
		region_eager_end(t, arg);
	else
		region_captured_end(t, arg);
}

static int region(hop_trace *t, const char *op, const char *file, int line, const char *name,
                  hop_body *body, void *user, const hop_region_opts *opts, int nin,
                  const hop_value *in, int cap, hop_value *out)
{
	hop_region_call c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out },
	                      .name = name, .given = opts };
	t = hop_here(t);
	if (!hop_enter(t, op, file, line, hop_region_begin, &c))
		return 0;
	hop_body_args a = { .fn = body, .user = user, .what = "the body of region", .n = nin,
	                    .in = in, .eager = t->eager };
	c.body = hop_body_run(t, file, line, &a);
	if (c.body)
		hop_enter(t, NULL, file, line, hop_region_end, &c);
	hop_body_drop(c.body);
	return c.io.n;
}

int hop_at_region(hop_trace *t, const char *file, int line, const char *name, hop_body *body,
                  void *user, int nin, const hop_value *in, int cap, hop_value *out)
{
	return region(t, "region", file, line, name, body, user, NULL, nin, in, cap, out);
}

int hop_at_region_with(hop_trace *t, const char *file, int line, const char *name, hop_body *body,
                       void *user, const hop_region_opts *opts, int nin, const hop_value *in,
                       int cap, hop_value *out)
{
	return region(t, "region_with", file, line, name, body, user, opts, nin, in, cap, out);
}

/* ---- a function inside a trace ---- */

/* Size arguments: a parameter's axis that is one symbol says what the symbol is here. */
static hop_sizes solve_sizes(hop_trace *t, const hop_graph *g, const hop_val *in)
{
	hop_env *e = hop_env_of(t);
	hop_size *s = HOP_NEWN(&t->arena, hop_size, g->nsym);
	bool *known = HOP_NEWN(&t->arena, bool, g->nsym);
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *want = g->type[i], *have = hop_typeof(&t->b, in[i]);
		for (int d = 0; d < want->rank && d < have->rank; d++)
			for (uint32_t k = 0; k < g->nsym; k++)
				if (!known[k] && hop_size_eq(want->dim[d], hop_size_sym(e, (int)k))) {
					known[k] = true;
					s[k] = have->dim[d];
				}
	}
	for (uint32_t k = 0; k < g->nsym; k++)
		if (!known[k])
			hop_trace_fail(t, HOP_ESHAPE, "apply: no input says what size %s is",
			               g->symname[k] ? g->symname[k] : "symbol");
	return (hop_sizes){ g->nsym, s };
}

static bool differ(hop_size a, hop_size b)
{
	return hop_size_const(a) && hop_size_const(b) && a.k != b.k;
}

/* An input in messages. */
static const char *applied(hop_trace *t, const hop_fn *f, uint32_t i)
{
	return hop_input_text(&t->arena, i, hop_fn_input_name(f, (int)i));
}

/* Inputs whose sizes are known not to be those of the function, once its symbols are what
 * they are here: emitting a call would find it, running one would not. */
static bool sizes_fit(hop_trace *t, const hop_fn *f, hop_sizes s, const hop_val *in)
{
	const hop_graph *g = f->g;
	for (uint32_t i = 0; i < g->nparam; i++) {
		const hop_type *want = hop_type_subst(hop_env_of(t), g->type[i], s.v, (int)s.n);
		const hop_type *have = hop_typeof(&t->b, in[i]);
		for (int d = 0; d < want->rank; d++)
			if (differ(want->dim[d], have->dim[d])) {
				hop_trace_fail(t, HOP_ESHAPE, "apply: input %s is %s, the function takes %s",
				               applied(t, f, i), hop_type_text(t, have), hop_type_text(t, want));
				return false;
			}
	}
	if (hop_build_refuse(&t->b, g, s)) {           /* also what it asks of them itself */
		t->b.st = HOP_ESHAPE;
		hop_note(hop_env_of(t), t->b.loc, "in the function given to apply");
	}
	return !t->b.st;
}

struct apply {
	hop_call_io io;
	hop_fn     *func;
	const char *to;                /* or NULL */
};

static void make_apply(hop_trace *t, void *arg)
{
	hop_call_io *c = &((struct apply *)arg)->io;
	hop_fn *f = ((struct apply *)arg)->func;
	if (!hop_call_lists(t, c))
		return;
	if (!f || f->ctx != t->root->ctx) {
		hop_trace_fail(t, HOP_EUSE, "apply: the function is missing or of another context");
		return;
	}
	if (c->nin != f->nin) {
		hop_trace_fail(t, HOP_EUSE, "apply: the function takes %d inputs, got %d", f->nin,
		               c->nin);
		return;
	}
	if (!hop_call_room(t, (uint32_t)f->nout, c->cap))
		return;
	hop_value *h = HOP_NEWN(&t->arena, hop_value, f->g->nparam);
	hop_val *in = HOP_NEWN(&t->arena, hop_val, f->g->nparam);
	hop_val *res = HOP_NEWN(&t->arena, hop_val, f->g->nout);
	for (uint32_t i = 0; i < f->g->nparam; i++) {
		h[i] = i < (uint32_t)f->nin ? c->in[i] :
		       hop_array_here(t, f->hidden[i - (uint32_t)f->nin]);
		in[i] = t->b.st ? HOP_BAD :
		        hop_promote_cast(t, h[i], (hop_dtype)f->g->type[i]->dtype);
		if (hop_is_bad(in[i]))
			return;
		const hop_type *have = hop_typeof(&t->b, in[i]);
		if (have->rank != f->g->type[i]->rank) {
			hop_trace_fail(t, HOP_ESHAPE, "apply: input %s is %s, of rank %d it should be",
			               applied(t, f, i), hop_type_text(t, have), f->g->type[i]->rank);
			return;
		}
	}
	hop_sizes s = solve_sizes(t, f->g, in);
	const char *to = ((struct apply *)arg)->to;
	struct hop_attr_call like = { .to = { to ? (int64_t)strlen(to) : 0, to } };
	if (t->b.st || !sizes_fit(t, f, s, in) || hop_call_like_here(t, &like, f->g, s, in, res))
		return;
	for (int i = 0; i < f->nwrote; i++) {
		int64_t slot = hop_slot_of(t, h[f->wrote[i]]);
		if (slot >= 0)
			hop_slot_write(t, (uint32_t)slot, res[f->nout + i]);
	}
	hop_call_publish(t, c, (uint32_t)f->nout, res);
}

int hop_at_apply(hop_trace *t, const char *file, int line, hop_fn *f, int nin,
                 const hop_value *in, int cap, hop_value *out)
{
	struct apply c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .func = f };
	hop_enter(t, "apply", file, line, make_apply, &c);
	return c.io.n;
}

int hop_at_apply_to(hop_trace *t, const char *file, int line, hop_fn *f, const char *to, int nin,
                    const hop_value *in, int cap, hop_value *out)
{
	struct apply c = { .io = { .nin = nin, .cap = cap, .in = in, .out = out }, .func = f, .to = to };
	hop_enter(t, "apply", file, line, make_apply, &c);
	return c.io.n;
}
