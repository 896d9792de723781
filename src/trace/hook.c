/* hook.c -- hooks on the gradients of values. A hook is noted when it is registered and becomes a node
 * when the body that has the value is closed: all readers of the value, those before the hook too,
 * then read the node. What hooks mean is in hops/hook.c. */
#include "ad/ad.h"
#include "hop/hook.h"
#include "trace/hook.h"

#include <string.h>

/* ---- one hook ---- */

void hop_hook_begin(hop_trace *t, void *arg)
{
	hop_hook_call *c = arg;
	const hop_cell *s = hop_cell_of(t, c->v);
	if (!s)
		return;
	if (s->weak || !hop_type_diff(s->type)) {
		hop_trace_fail(t, HOP_ENODIFF, "hook: %s has no gradient: it must be a tensor of floats",
		               s->weak ? "a number" : hop_type_text(t, s->type));
		return;
	}
	c->val = hop_value_read(t, c->v);
	c->type = t->b.st ? NULL : hop_typeof(&t->b, c->val);
}

/* A number is the gradient everywhere. */
static bool returns(hop_trace *t, hop_trace *b, const hop_type *type)
{
	if (b->nret != 1) {
		t->b.st = hop_fail(hop_env_of(t), b->b.loc, HOP_ETYPE, "hook: the body gives %u results: it "
		                   "takes a gradient and gives one", b->nret);
		hop_note(hop_env_of(t), b->site, "in %s", b->what);
		return false;
	}
	if (b->slot[b->ret[0]].weak) {
		hop_value v = { b->serial, b->ret[0] };
		b->out[0] = hop_promote_cast(b, v, (hop_dtype)type->dtype);
		b->out[0] = b->b.st ? HOP_BAD : hop_broadcast_to(b, b->out[0], type->rank, type->dim);
	}
	if (b->b.st)
		return false;
	const hop_type *have = hop_typeof(&b->b, b->out[0]);
	if (have == type)
		return true;
	t->b.st = hop_fail(hop_env_of(t), b->b.loc, HOP_ETYPE, "hook: the gradient is %s, what the body "
	                   "makes of it %s: %s", hop_type_text(t, type), hop_type_text(b, have),
	                   have->dtype == type->dtype ? "it keeps its sizes" : "cast it back");
	hop_note(hop_env_of(t), b->site, "in %s", b->what);
	return false;
}

static hop_str told_names(hop_trace *t, const hop_trace *b)
{
	hop_buf s;
	hop_buf_open(&s, hop_env_of(t));
	for (uint32_t i = 0; i < b->nsaid; i++) {
		hop_put(&s, i ? "," : "");
		hop_put(&s, b->saidname[i]);
	}
	hop_str r = { (int64_t)s.n, hop_arena_str(&t->arena, s.s, s.n) };
	hop_buf_free(&s);
	return r;
}

static void note(hop_trace *t, hop_noted h)
{
	t->hook = hop_arena_grow(&t->arena, t->hook, sizeof h, t->nhook + 1, &t->hookcap);
	t->hook[t->nhook++] = h;
}

void hop_hook_end(hop_trace *t, void *arg)
{
	hop_hook_call *c = arg;
	hop_trace *b = c->body;
	hop_join j;
	if (!returns(t, b, c->type))
		return;
	uint32_t n = 1 + b->nsaid;
	hop_val *out = HOP_NEWN(&t->arena, hop_val, n);
	out[0] = b->out[0];
	for (uint32_t i = 0; i < b->nsaid; i++)
		out[1 + i] = b->said[i];
	hop_outs o = { b, n, out };
	if (!hop_join_open(&j, t, 1, &o, 0, NULL) || !hop_join_pure(&j, "hook"))
		return;
	hop_join_syms(&j, 1, &c->type);
	const hop_type **ty = HOP_NEWN(&t->arena, const hop_type *, 1 + j.nk);
	ty[0] = c->type;
	for (uint32_t i = 0; i < j.nk; i++)
		ty[1 + i] = j.ktype[i];
	hop_layout l = { .nparam = 1 + j.nk, .type = ty, .param = &(uint32_t){ 0 }, .k0 = 1 };
	hop_noted h = { .v = c->val, .loc = t->b.loc, .ncap = j.nk, .cap = j.kval,
	                .tells = told_names(t, b) };
	if (hop_join_seal(&j, 0, &l, n, out, NULL, &h.body))
		return;
	h.sargs = hop_join_sargs(&j);
	note(t, h);
}

/* Eager traces keep no tape: nothing is called. */
void hop_at_hook(hop_trace *t, const char *file, int line, hop_value v, hop_body *body, void *user)
{
	hop_hook_call c = { .v = v };
	hop_body_args a = { .fn = body, .user = user, .what = "the body of hook", .n = 1,
	                    .type = &c.type, .in_hook = true, .exempt = true };
	t = hop_here(t);
	if (!hop_enter(t, "hook", file, line, hop_hook_begin, &c) || (t->eager && body))
		return;
	c.body = hop_body_run(t, file, line, &a);
	if (c.body)
		hop_enter(t, NULL, file, line, hop_hook_end, &c);
	hop_body_drop(c.body);
}

/* ---- what a hook tells ---- */

struct telling {
	hop_value   v;
	const char *name;
};

static void make_tell(hop_trace *t, void *arg)
{
	struct telling *c = arg;
	hop_arena *a = &t->arena;
	if (!t->in_hook) {
		hop_trace_fail(t, HOP_EUSE, "tell: it belongs directly into the body of a hook, this is %s",
		               t->what);
		return;
	}
	if (!c->name || !*c->name || strchr(c->name, ',')) {
		hop_trace_fail(t, HOP_EUSE, "tell: a name without commas is needed, by which the value is "
		               "found");
		return;
	}
	hop_val v = hop_value_read(t, c->v);
	if (hop_is_bad(v))
		return;
	if (!hop_type_diff(hop_typeof(&t->b, v))) {
		hop_trace_fail(t, HOP_ETYPE, "tell: %s is %s: what comes out beside gradients is a tensor of "
		               "floats, cast it", c->name, hop_type_text(t, hop_typeof(&t->b, v)));
		return;
	}
	size_t cap = t->saidcap;
	t->saidname = hop_arena_grow(a, t->saidname, sizeof *t->saidname, t->nsaid + 1, &cap);
	t->said = hop_arena_grow(a, t->said, sizeof v, t->nsaid + 1, &t->saidcap);
	t->saidname[t->nsaid] = hop_arena_str(a, c->name, strlen(c->name));
	t->said[t->nsaid++] = v;
}

void hop_at_tell(hop_trace *t, const char *file, int line, hop_value v, const char *name)
{
	hop_enter(t, "tell", file, line, make_tell, &(struct telling){ v, name });
}

/* ---- hooks on values of outside ---- */

/* The leaf that v is, if it comes from outside and is the same whenever the body runs; or NULL. */
static const hop_leaf *outside(hop_join *j, hop_trace *b, hop_val v)
{
	for (size_t i = 0; i < b->nleaf; i++)
		if (hop_same(b->leaf[i].val, v))
			return b->leaf[i].kind != HOP_LEAF_PARAM && !hop_join_writes(j, b, b->leaf[i].index)
			       ? &b->leaf[i] : NULL;
	return NULL;
}

/* It belongs to the trace that has the value: once, however often the body runs. */
static bool move_up(hop_join *j, hop_trace *b, const hop_noted *h, const hop_leaf *leaf)
{
	hop_trace *t = j->t;
	hop_noted up = *h;
	hop_size *s = HOP_NEWN(&t->arena, hop_size, h->sargs.n);
	bool ok = true;
	up.v = hop_join_outer(j, b, leaf);
	up.cap = HOP_NEWN(&t->arena, hop_val, h->ncap);
	up.tells.s = hop_arena_str(&t->arena, h->tells.s, (size_t)h->tells.n);
	for (uint32_t i = 0; i < h->ncap && ok; i++) {
		leaf = outside(j, b, h->cap[i]);
		ok = leaf != NULL;
		up.cap[i] = ok ? hop_join_outer(j, b, leaf) : HOP_BAD;
	}
	for (int64_t i = 0; i < h->sargs.n && ok; i++) {
		s[i] = h->sargs.v[i];
		ok = hop_size_nsym(s[i]) <= (int)(t->b.nsym + t->b.nlocal);
	}
	up.sargs.v = s;
	if (!ok) {
		t->b.st = hop_fail(hop_env_of(t), h->loc, HOP_EREFUSED, "hook: the value is from outside %s, "
		                   "and so is its hook, whose body uses something that was made inside: hook "
		                   "hop_clone of the value", b->what);
		return false;
	}
	if (!t->b.st)
		note(t, up);
	return !t->b.st;
}

static bool sort_out(hop_join *j, hop_trace *b)
{
	size_t n = 0;
	for (size_t i = 0; i < b->nhook; i++) {
		const hop_leaf *l = outside(j, b, b->hook[i].v);
		if (!l)
			b->hook[n++] = b->hook[i];
		else if (!move_up(j, b, &b->hook[i], l))
			return false;
	}
	b->nhook = n;
	return true;
}

/* ---- hooks as nodes ---- */

/* What a body uses of values that depend on hooked ones must not depend on the hooks: it is computed
 * again without them. Hooks on leaves do not count for the bodies of hooks on other values. */
struct apply {
	hop_trace *b;
	uint32_t   nval, nnode;            /* of the draft before */
	uint8_t   *hooked;                 /* per value: has a hook */
	uint8_t   *dep;                    /* per value: depends on one, LEAF or INNER */
	hop_val   *again[2];               /* per value: computed again, for hooks on leaves, on others */
	hop_val   *swap;                   /* per value: what its readers read */
};
enum { LEAF = 1, INNER = 2 };

static bool is_leaf(const struct apply *a, hop_val v)
{
	return a->b->b.def[v.id] == UINT32_MAX;
}

static void find_dependent(struct apply *a)
{
	const hop_build *b = &a->b->b;
	for (size_t i = 0; i < a->b->nhook; i++) {
		hop_val v = a->b->hook[i].v;
		a->hooked[v.id] = is_leaf(a, v) ? LEAF : INNER;
	}
	for (uint32_t i = 0; i < a->nnode; i++) {
		const hop_node *n = &b->node[i];
		uint8_t dep = 0;
		for (uint32_t k = 0; k < n->nin; k++)
			dep |= a->dep[n->in[k].id] | a->hooked[n->in[k].id];
		for (uint32_t k = 0; k < n->nout; k++)
			a->dep[n->out0.id + k] = dep;
	}
}

static bool stale(const struct apply *a, hop_val v, bool inner)
{
	return a->dep[v.id] & (inner ? INNER : LEAF | INNER);
}

static hop_val version(const struct apply *a, hop_val v, bool inner)
{
	if (stale(a, v, inner))
		return a->again[inner][v.id];
	return inner && a->hooked[v.id] == LEAF ? a->swap[v.id] : v;
}

static void compute_again(struct apply *a, uint32_t i, bool inner, hop_size *smap)
{
	hop_build *b = &a->b->b;
	hop_graph draft = { .nsym = b->nsym, .nlocal = b->nlocal, .range = b->range,
	                    .symname = b->symname };
	hop_node n;
	hop_val *in = HOP_NEWN(&a->b->arena, hop_val, b->node[i].nin);
	if (hop_ad_pure_node(b->env, &a->b->arena, &b->node[i], &n))
		b->st = b->env->diag.st;
	for (uint32_t k = 0; k < n.nin; k++)
		in[k] = version(a, n.in[k], inner);
	hop_val v = hop_emit_copy(b, &draft, &n, in, smap, (int)(b->nsym + b->nlocal));
	for (uint32_t k = 0; k < n.nout && !b->st; k++)
		a->again[inner][n.out0.id + k] = (hop_val){ v.id + k };
}

static bool repeatable(struct apply *a, const hop_noted *h, const hop_node *n)
{
	if (hop_node_binds(n) < 0 && !(hop_node_holds(n) & HOP_HOLDS_HOST))
		return true;
	a->b->b.st = hop_fail(a->b->b.env, h->loc, HOP_EREFUSED, "hook: its body uses what %s made of "
	                      "hooked values, which cannot be computed twice: use hop_clone of the "
	                      "values for one of the two", hop_optab[n->op].name);
	return false;
}

/* All that captured values of a hook need and that is stale, computed again. */
static void freshen(struct apply *a, const hop_noted *h, bool inner)
{
	hop_build *b = &a->b->b;
	bool *need = HOP_NEWN(&a->b->arena, bool, a->nnode);
	hop_size *smap = HOP_NEWN(&a->b->arena, hop_size, b->nsym + b->nlocal);
	for (uint32_t i = 0; i < b->nsym + b->nlocal; i++)
		smap[i] = hop_size_sym(b->env, (int)i);
	for (uint32_t i = 0; i < h->ncap; i++)
		if (stale(a, h->cap[i], inner))
			need[b->def[h->cap[i].id]] = true;
	for (uint32_t i = a->nnode; i-- > 0; )
		for (uint32_t k = 0; need[i] && k < b->node[i].nin; k++)
			if (stale(a, b->node[i].in[k], inner))
				need[b->def[b->node[i].in[k].id]] = true;
	for (uint32_t i = 0; i < a->nnode && !b->st; i++)
		if (need[i] && hop_is_bad(a->again[inner][b->node[i].out0.id]) &&
		    repeatable(a, h, &b->node[i]))
			compute_again(a, i, inner, smap);
}

/* The hooks of one value. The first that was registered is the first to see the gradient: it is the
 * last of them on the way from the value to its readers. */
static void chain(struct apply *a, hop_val v)
{
	hop_build *b = &a->b->b;
	bool inner = !is_leaf(a, v);
	hop_val cur = v;
	for (size_t i = a->b->nhook; i-- > 0 && !b->st; ) {
		const hop_noted *h = &a->b->hook[i];
		if (!hop_same(h->v, v))
			continue;
		freshen(a, h, inner);
		hop_val *in = HOP_NEWN(&a->b->arena, hop_val, 1 + h->ncap);
		in[0] = cur;
		for (uint32_t k = 0; k < h->ncap && !b->st; k++)
			in[1 + k] = hop_same(h->cap[k], v) ? v : version(a, h->cap[k], inner);
		struct hop_attr_hook at = { .tells = h->tells, .sargs = h->sargs, .body = h->body };
		hop_loc was = b->loc;
		b->loc = h->loc;
		cur = b->st ? HOP_BAD : hop_emit_op(b, HOP_OP_hook, &at, 1 + h->ncap, in);
		b->loc = was;
	}
	a->swap[v.id] = cur;
}

static void turn_to_nodes(hop_trace *b)
{
	uint32_t nval = (uint32_t)b->b.nvalue;
	struct apply a = { .b = b, .nval = nval, .nnode = (uint32_t)b->b.nnode };
	a.hooked = HOP_NEWN(&b->arena, uint8_t, nval);
	a.dep = HOP_NEWN(&b->arena, uint8_t, nval);
	a.swap = HOP_NEWN(&b->arena, hop_val, nval);
	for (int k = 0; k < 2; k++)
		a.again[k] = HOP_NEWN(&b->arena, hop_val, nval);
	for (uint32_t i = 0; i < nval; i++) {
		a.again[0][i] = a.again[1][i] = HOP_BAD;
		a.swap[i] = (hop_val){ i };
	}
	find_dependent(&a);
	for (int inner = 0; inner < 2; inner++)
		for (size_t i = 0; i < b->nhook && !b->b.st; i++) {
			hop_val v = b->hook[i].v;
			if (is_leaf(&a, v) != inner && a.swap[v.id].id == v.id)
				chain(&a, v);
		}
	for (uint32_t i = 0; i < a.nnode; i++)            /* the draft's own arena holds them */
		for (uint32_t k = 0; k < b->b.node[i].nin; k++) {
			hop_val *in = (hop_val *)(uintptr_t)&b->b.node[i].in[k];
			if (in->id < nval)
				*in = a.swap[in->id];
		}
	b->swap = a.swap;
	b->nswap = nval;
}

bool hop_hooks_close(hop_join *j, hop_trace *b)
{
	if (!b->nhook || b->swap)
		return true;
	if (j->t->up && !j->t->eager && !sort_out(j, b))
		return false;
	if (b->nhook)
		turn_to_nodes(b);
	if (b->b.st)
		j->t->b.st = b->b.st;
	return !j->t->b.st;
}

hop_val hop_hooks_read(const hop_trace *b, hop_val v)
{
	return b->swap && v.id < b->nswap ? b->swap[v.id] : v;
}
