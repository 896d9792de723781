/* trace.c -- the door every public call comes through, and the opening and closing of traces
 * and bodies. It does not know what any op does. */
#include "trace/trace.h"
#include "data/tree.h"
#include "trace/mode.h"

#include <string.h>

/* ---- the door ---- */

/* Is this the trace that may record now? */
static bool usable(hop_trace *t)
{
	hop_root *r = t->root;
	if (r->env.diag.st)
		return false;
	if (r->top != t) {
		hop_trace_fail(t, HOP_EUSE, "%s: this trace is not the innermost one: inside a body, "
		               "use the trace that the body was given", t->op);
		return false;
	}
	if (t->returned) {
		hop_trace_fail(t, HOP_EUSE, "%s: nothing may follow hop_return in %s", t->op,
		               t->what);
		return false;
	}
	return true;
}

bool hop_trace_opts(hop_trace *t, const void *given, void *out, size_t ours)
{
	if (hop_opts_take(given, out, ours))
		return true;
	hop_trace_fail(t, HOP_EVALUE, HOP_OPTS_BAD, t->op, hop_opts_size(given), ours);
	return false;
}

/* The call itself, in the trace that it is of: op is NULL for a further step of one. */
static void call(hop_trace *t, const char *op, hop_make_fn *make, void *arg)
{
	t->cast = op ? hop_autocast_of(t->modes, op) : HOP_NDTYPE;
	make(t, arg);
	t->cast = HOP_NDTYPE;
	if (t->eager && !hop_env_of(t)->diag.st && t->root->top == t)
		hop_eager_settle(t);
}

/* Guarded; t is the innermost trace, and stays so: a variable that changes might be lost in a jump. */
static bool enter(hop_trace *t, const char *op, const char *file, int line, hop_make_fn *make,
                  void *arg)
{
	if (op)
		t->op = op;
	hop_env *e = hop_env_of(t);
	if (e->diag.st)
		return false;
	hop_frame f;
	if (HOP_GUARD(e, &f)) {
		hop_guard_nomem(e, &f);
		return false;
	}
	hop_trace *top = t->root->top;
	hop_loc loc = file ? hop_loc_get(e, file, line, 0) : 0;
	t->b.loc = top->b.loc = loc;
	t->b.as = t->op;
	if (usable(t))
		call(t, op, make, arg);
	hop_guard_end(e, &f);
	return !e->diag.st;
}

bool hop_enter(hop_trace *t, const char *op, const char *file, int line, hop_make_fn *make,
               void *arg)
{
	return t && t->root && enter(hop_here(t), op, file, line, make, arg);
}

/* ---- traces ---- */

/* A trace of the pool, or a new one: traces live as long as the root, so that a handle kept
 * too long is an error and not a crash. */
static hop_trace *trace_new(hop_root *r, hop_trace *up, bool eager)
{
	hop_trace *t = r->pool;
	if (t)
		r->pool = t->next;
	else
		t = HOP_NEW(&r->arena, hop_trace);
	*t = (hop_trace){ .root = r, .up = up, .eager = eager, .what = "this body", .op = "",
	                   .cast = HOP_NDTYPE };
	t->serial = hop_ctx_serial(r->ctx);
	t->depth = up ? up->depth + 1 : 0;
	hop_arena_open(&t->arena, &r->env);
	hop_build_open(&t->b, &r->env);
	t->lifted.a = t->mirrors.a = t->casts.a = &t->arena;
	t->stop = HOP_BAD;
	if (up)
		for (uint32_t i = 0; i < up->b.nsym + up->b.nlocal; i++)
			hop_build_sym(&t->b, up->b.range[i], up->b.symname[i]);
	return t;
}

static void trace_end(hop_trace *t)
{
	for (size_t i = 0; i < t->nten; i++)
		if (t->ten[i])
			hop_interp_release(&t->root->ip, t->ten[i]);
	t->nten = 0;
	t->serial = 0;
	t->inner = NULL;
	hop_build_drop(&t->b);
	hop_arena_free(&t->arena, &t->root->env.mem);
	t->next = t->root->pool;
	t->root->pool = t;
}

hop_status hop_root_new(hop_ctx *c, bool eager, hop_trace **out_t)
{
	*out_t = NULL;
	hop_mem mem = hop_ctx_mem(c);
	hop_root *r = hop_raw_try(&mem, sizeof *r);
	if (!r) {
		hop_ctx_set_message(c, &(hop_diag){ .st = HOP_ENOMEM });
		return HOP_ENOMEM;
	}
	memset(r, 0, sizeof *r);
	r->ctx = c;
	hop_env_init(&r->env, c, mem);
	hop_interp_init(&r->ip, &r->env);
	r->none.ctx = c;
	r->ip.g = &r->none;
	r->twice = hop_check_asked("blocks");
	r->strict = hop_ctx_strict(c);
	r->again = hop_check_asked("regions");
	hop_frame f;
	if (HOP_GUARD(&r->env, &f)) {
		hop_status st = hop_guard_nomem(&r->env, &f);
		hop_ctx_set_message(c, &r->env.diag);
		hop_interp_fini(&r->ip);
		hop_env_fini(&r->env);
		hop_raw_free(&mem, r, sizeof *r);
		return st;
	}
	hop_arena_open(&r->arena, &r->env);
	r->top = r->base = trace_new(r, NULL, eager);
	hop_guard_end(&r->env, &f);
	*out_t = r->base;
	return HOP_OK;
}

hop_status hop_root_free(hop_trace *t)
{
	hop_root *r = t->root;
	hop_mem mem = r->env.mem;
	hop_status st = r->env.diag.st;
	if (st)
		hop_ctx_set_message(r->ctx, &r->env.diag);
	for (size_t i = 0; i < r->narray; i++)
		hop_array_release(r->array[i]);
	hop_interp_fini(&r->ip);
	hop_env_fini(&r->env);               /* and every arena still open */
	hop_raw_free(&mem, r, sizeof *r);
	return st;
}

/* ---- bodies ---- */

struct opening {
	const hop_body_args *a;
	hop_trace           *child;
	hop_value           *in;
};

static void body_open(hop_trace *t, void *arg)
{
	struct opening *o = arg;
	const hop_body_args *a = o->a;
	if (t->depth == HOP_MAXNEST) {
		hop_trace_fail(t, HOP_EUSE, "%s: %s is inside %d others: does it call itself?", t->op,
		               a->what, HOP_MAXNEST);
		return;
	}
	hop_trace *c = trace_new(t->root, t, a->eager);
	c->what = a->what;
	c->trip = a->trip;
	c->ran = a->ran;
	c->site = c->b.loc = t->b.loc;
	c->in_scan = a->in_scan;
	c->in_custom = a->in_custom;
	c->in_rule = a->in_rule;
	c->in_hook = a->in_hook;
	c->in_grad = a->in_grad;
	c->nin = a->in ? 0 : (uint32_t)a->n;
	c->inname = a->name;
	c->closed = a->closed;
	o->in = HOP_NEWN(&c->arena, hop_value, a->n + HOP_BEYOND);
	for (int i = 0; i < a->n; i++) {
		if (a->in)
			o->in[i] = a->in[i];
		else if (a->ten)
			o->in[i] = hop_value_plain(c, hop_eager_leaf(c, hop_array_retain(a->ten[i])));
		else
			o->in[i] = hop_value_plain(c, hop_param_new(c, a->type[i]));
	}
	hop_modes_inherit(c, t, a);
	t->root->top = o->child = c;
}

/* The nearest body around c that was opened at the same line and is the same thing: c is in
 * itself. NULL = none. */
static hop_trace *same_outside(const hop_trace *c)
{
	for (hop_trace *o = c->up; o; o = o->up)
		if (o->site == c->site && !strcmp(o->what, c->what))
			return o;
	return NULL;
}

/* What a failed body leaves: nothing but the message. Needs no memory. Bodies inside themselves are
 * one note, of the outermost. */
static void body_failed(hop_trace *t, hop_trace *c)
{
	hop_trace *o = c->site ? same_outside(c) : NULL;
	if (o)
		o->within += c->within + 1;
	else if (c->site && c->within)
		hop_note(hop_env_of(t), c->site, "in %s, %u of them inside each other", c->what,
		         c->within + 1);
	else if (c->site && c->trip && hop_env_of(t)->diag.st == HOP_ENAN)
		hop_note(hop_env_of(t), c->site, "in %s, trip %lld", c->what, (long long)c->trip - 1);
	else if (c->site)
		hop_note(hop_env_of(t), c->site, "in %s", c->what);
	t->root->top = t;
	trace_end(c);
}

hop_trace *hop_scope_open(hop_trace *t, const char *file, int line, const hop_body_args *a,
                          hop_value **out_in)
{
	struct opening o = { .a = a };
	bool ok = hop_enter(t, NULL, file, line, body_open, &o);
	if (o.child && !ok)
		body_failed(t, o.child);
	*out_in = o.in;
	return ok ? o.child : NULL;
}

hop_trace *hop_scope_close(hop_trace *t, hop_trace *c)
{
	hop_env *e = hop_env_of(t);
	if (!e->diag.st && t->root->top != c)
		hop_fail(e, c->b.loc, HOP_EUSE, "%s was left while another was open", c->what);
	if (!e->diag.st && !c->returned)
		hop_fail(e, c->b.loc, HOP_EUSE, "%s ended without hop_return", c->what);
	if (!e->diag.st)
		hop_modes_closed(c);
	if (e->diag.st) {
		body_failed(t, c);
		return NULL;
	}
	t->root->top = t;
	return c;
}

static void no_function(hop_trace *t, void *arg)
{
	if (t->b.loc)                          /* else it is a function, not a body of one */
		hop_trace_fail(t, HOP_EUSE, "%s: no function was given for %s", t->op,
		               (const char *)arg);
	else
		hop_trace_fail(t, HOP_EUSE, "%s: no function was given", t->op);
}

hop_trace *hop_body_run(hop_trace *t, const char *file, int line, const hop_body_args *a)
{
	hop_value *in;
	if (!a->fn && !hop_enter(t, NULL, file, line, no_function, (void *)a->what))
		return NULL;
	hop_trace *c = hop_scope_open(t, file, line, a, &in);
	if (!c)
		return NULL;
	a->fn(c, in, a->user);
	return hop_scope_close(t, c);
}

void hop_body_drop(hop_trace *child)
{
	if (child)
		trace_end(child);
}

/* ---- returning ---- */

struct list {
	int              n;
	const hop_value *v;
	const hop_tree  *tree;         /* their names; or NULL */
};

/* Any body may name its results; only a function asks what they are called. */
static bool name_results(hop_trace *t, const struct list *l)
{
	if (l->tree && l->n != hop_tree_count(l->tree))
		hop_trace_fail(t, HOP_EUSE, "return: there are %d names for %d values",
		               hop_tree_count(l->tree), l->n);
	if (!l->tree || t->b.st)
		return !t->b.st;
	t->retname = HOP_NEWN(&t->arena, const char *, l->n);
	if (hop_tree_names(hop_env_of(t), t->b.loc, "return", l->tree, t->retname))
		t->b.st = hop_env_of(t)->diag.st;
	return !t->b.st;
}

bool hop_set_results(hop_trace *t, int n, const hop_value *v)
{
	t->ret = HOP_NEWN(&t->arena, uint32_t, n);
	t->out = HOP_NEWN(&t->arena, hop_val, n);
	for (int i = 0; i < n; i++) {
		if (t->in_rule && !v[i].trace) {
			t->out[i] = HOP_ZERO;
			continue;
		}
		int64_t s = hop_slot_of(t, v[i]);
		if (s < 0)
			return false;
		t->ret[i] = (uint32_t)s;
		t->out[i] = hop_slot_read(t, (uint32_t)s);
	}
	t->nret = (uint32_t)n;
	if (t->eager)
		hop_eager_settle(t);
	t->returned = true;
	return !t->b.st;
}

static void make_return(hop_trace *t, void *arg)
{
	struct list *l = arg;
	if (t->block) {
		hop_trace_fail(t, HOP_EUSE, "return: it stands inside %s: close the block first, and "
		               "return what its variables are then", t->what);
		hop_block_note(t);
		return;
	}
	if (l->n < 0 || (l->n && !l->v)) {
		hop_trace_fail(t, HOP_EUSE, "return: no values were given");
		return;
	}
	if (name_results(t, l))
		hop_set_results(t, l->n, l->v);
}

void hop_at_return_n(hop_trace *t, const char *file, int line, int n, const hop_value *v)
{
	hop_enter(t, "return", file, line, make_return, &(struct list){ n, v, NULL });
}

static void no_names(hop_trace *t, void *arg)
{
	hop_trace_fail(t, HOP_EUSE, arg ? "return: no tree was given" : "return: no names were given");
}

void hop_at_return_tree(hop_trace *t, const char *file, int line, const hop_tree *tree,
                        const void *values)
{
	struct list l = { tree ? tree->count : 0, values, tree };
	hop_enter(t, "return", file, line, tree ? make_return : no_names, &l);
}

void hop_at_return_named(hop_trace *t, const char *file, int line, const char *names, int n,
                         const hop_value *v)
{
	hop_tree tree = { n, names, 0, NULL };
	struct list l = { n, v, &tree };
	hop_enter(t, "return", file, line, names ? make_return : no_names, names ? &l : NULL);
}

/* ---- asking ---- */

bool hop_failed(const hop_trace *t)
{
	return !t || !t->root || t->root->env.diag.st;
}

bool hop_is_eager(const hop_trace *t)
{
	while (t && t->inner)
		t = t->inner;
	return t && t->eager;
}

hop_status hop_failure(const hop_trace *t, const char **out_text)
{
	const hop_diag *d = t && t->root ? &t->root->env.diag : NULL;
	if (out_text)
		*out_text = !d ? "error: no trace" : d->text ? d->text : d->st ? "error: no memory" : "";
	return d ? d->st : HOP_EUSE;
}

int hop_body_nin(const hop_trace *t)
{
	return t && t->root ? (int)t->nin : 0;
}

hop_trace *hop_innermost(hop_trace *t)
{
	return t && t->root ? t->root->top : NULL;
}

static void make_fail(hop_trace *t, void *arg)
{
	const char *text = arg;
	hop_trace_fail(t, HOP_EUSE, "%s", text ? text : "fail_here: no text was given");
}

void hop_at_fail_here(hop_trace *t, const char *file, int line, const char *text)
{
	hop_enter(t, "fail_here", file, line, make_fail, (void *)text);
}

struct ask {
	hop_value       v;
	const hop_type *type;
};

static void make_ask(hop_trace *t, void *arg)
{
	struct ask *a = arg;
	a->type = hop_value_type(t, a->v);
}

int hop_at_rank(hop_trace *t, const char *file, int line, hop_value v)
{
	struct ask a = { .v = v };
	return hop_enter(t, "rank", file, line, make_ask, &a) ? a.type->rank : 0;
}

hop_dtype hop_at_dtype_of(hop_trace *t, const char *file, int line, hop_value v)
{
	struct ask a = { .v = v };
	return hop_enter(t, "dtype_of", file, line, make_ask, &a) ? (hop_dtype)a.type->dtype
	                                                          : HOP_f32;
}

struct ask_dim {
	hop_value v;
	int       axis;
	hop_size  d;
};

static void make_dim(hop_trace *t, void *arg)
{
	struct ask_dim *a = arg;
	const hop_type *type = hop_value_type(t, a->v);
	int axis = type ? hop_axis(t, "dim_of", a->axis, type->rank) : -1;
	if (axis >= 0)
		a->d = type->dim[axis];
}

hop_dim hop_at_dim_of(hop_trace *t, const char *file, int line, hop_value v, int axis)
{
	struct ask_dim a = { .v = v, .axis = axis };
	if (!hop_enter(t, "dim_of", file, line, make_dim, &a))
		return hop_n(1);
	return (hop_dim){ a.d.k, a.d.e };
}
