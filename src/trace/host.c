/* host.c -- calls of functions of the host: what they give, what they write, and the rules that their
 * maker gave. A function with rules becomes a custom node around the call; it runs elsewhere. */
#include "data/foreign.h"
#include "trace/trace.h"

#include <string.h>

/* One call, through its guarded steps. What it gives are the results, then the new values of what it
 * writes. */
struct hosting {
	const char        *file, *name;
	int                line;
	const hop_foreign *f;          /* NULL = not known yet */
	int                nin, cap, nout, nall;
	const hop_value   *in;
	hop_value         *out, *all;
	const hop_result  *given;
	hop_result        *type;       /* [nout] */
	const hop_type   **in_type;
	/* with rules: types of cotangents and tangents that they give, and room */
	hop_result        *back, *along;
	int                nback, nalong;
	hop_value         *room, *made;
};

static bool wrong(hop_trace *t, const char *what)
{
	hop_trace_fail(t, HOP_EUSE, "host: %s", what);
	return false;
}

static bool takes(hop_trace *t, const struct hosting *h)
{
	if (!h->name || !*h->name)
		return wrong(t, "the function has no name");
	if (h->nin < 0 || (h->nin && !h->in) || h->cap < 0 || (h->cap && !h->out))
		return wrong(t, "a count is negative or a list is missing");
	for (int i = 0; h->f && i < h->f->nwrite; i++)
		if (h->f->writes[i] < 0 || h->f->writes[i] >= h->nin) {
			hop_trace_fail(t, HOP_EUSE, "host: `%s` writes input %lld, but it is called with %d",
			               h->name, (long long)h->f->writes[i], h->nin);
			return false;
		}
	if (!h->given && h->cap && !h->f) {
		hop_trace_fail(t, HOP_EUSE, "host: no function `%s` is known to this context: "
		               "hop_host_add makes it known", h->name);
		return false;
	}
	if (!h->given && h->cap && !h->f->shape) {
		hop_trace_fail(t, HOP_EUSE, "host: `%s` has no shape function, so the types of its results "
		               "must be given", h->name);
		return false;
	}
	return true;
}

static void begin(hop_trace *t, void *arg)
{
	struct hosting *h = arg;
	h->f = h->name ? hop_foreign_find(t->root->ctx, h->name, strlen(h->name)) : NULL;
	if (!takes(t, h))
		return;
	h->in_type = HOP_NEWN(&t->arena, const hop_type *, h->nin);
	for (int i = 0; i < h->nin; i++) {
		hop_val v = hop_value_read(t, h->in[i]);
		if (hop_is_bad(v))
			return;
		h->in_type[i] = hop_typeof(&t->b, v);
	}
	h->nout = h->given ? h->cap : 0;
	h->type = HOP_NEWN(&t->arena, hop_result, h->nout);
	if (h->nout)
		memcpy(h->type, h->given, (size_t)h->nout * sizeof *h->type);
}

static hop_result result_of(const hop_type *t)
{
	hop_result r = { .dtype = (hop_dtype)t->dtype, .rank = t->rank };
	for (int i = 0; i < t->rank; i++)
		r.dim[i] = (hop_dim){ t->dim[i].k, t->dim[i].e };
	return r;
}

/* ---- types from the shape function ---- */

struct shaping { struct hosting *h; hop_trace *body; };

static void take_types(hop_trace *t, void *arg)
{
	struct shaping *s = arg;
	struct hosting *h = s->h;
	hop_trace *b = s->body;
	if ((int)b->nret > h->cap) {
		hop_trace_fail(t, HOP_EUSE, "host: the shape of `%s` gives %u results, there is room for %d",
		               h->name, b->nret, h->cap);
		return;
	}
	h->nout = (int)b->nret;
	h->type = HOP_NEWN(&t->arena, hop_result, h->nout);
	for (int i = 0; i < h->nout; i++)
		h->type[i] = result_of(hop_typeof(&b->b, b->out[i]));
}

static bool shape(hop_trace *t, struct hosting *h)
{
	hop_body_args a = { .fn = h->f->shape, .user = h->f->user, .what = "the shape of a host function",
	                    .n = h->nin, .type = h->in_type };
	struct shaping s = { h, hop_body_run(t, h->file, h->line, &a) };
	bool ok = s.body && hop_enter(t, NULL, h->file, h->line, take_types, &s);
	hop_body_drop(s.body);
	return ok;
}

/* ---- the call ---- */

static void types_of(hop_trace *t, int n, const hop_result *r, hop_types *out)
{
	int64_t *head = HOP_NEWN(&t->arena, int64_t, 2 * n);
	hop_size *dim = HOP_NEWN(&t->arena, hop_size, HOP_MAXRANK * n);
	*out = (hop_types){ .dim = dim, .n = n, .head = head };
	for (int i = 0; i < n; i++) {
		if ((uint64_t)r[i].dtype >= HOP_NDTYPE || r[i].rank < 0 || r[i].rank > HOP_MAXRANK) {
			wrong(t, "a result has a dtype or a rank that there is not");
			return;
		}
		head[2 * i] = r[i].dtype;
		head[2 * i + 1] = r[i].rank;
		for (int k = 0; k < r[i].rank; k++) {
			hop_size s = { r[i].dim[k].k, r[i].dim[k].e };
			if (!hop_size_known(t, "host", s))
				return;
			dim[out->ndim++] = s;
		}
	}
}

/* Emit the node on the values `in` of this trace. */
static void emit(hop_trace *t, struct hosting *h, const hop_value *in)
{
	struct hop_attr_host a = { .fn = { (int64_t)strlen(h->name), h->name } };
	hop_val *v = HOP_NEWN(&t->arena, hop_val, h->nin);
	for (int i = 0; i < h->nin && !t->b.st; i++)
		v[i] = hop_value_read(t, in[i]);
	types_of(t, h->nout, h->type, &a.types);
	if (t->b.st)
		return;
	if (h->f)
		a.writes = (hop_ints){ h->f->nwrite, h->f->writes };
	int op = h->f && h->f->pure ? HOP_OP_host_pure : HOP_OP_host;
	hop_val r = hop_emit_op(&t->b, op, &a, (uint32_t)h->nin, v);
	h->nall = h->nout + (int)a.writes.n;
	h->all = HOP_NEWN(&t->arena, hop_value, h->nall);
	for (int k = 0; k < h->nall && !t->b.st; k++)
		h->all[k] = hop_value_new(t, (hop_val){ r.id + (uint32_t)k });
}

static void plain(hop_trace *t, void *arg)
{
	struct hosting *h = arg;
	emit(t, h, h->in);
}

/* Results to the caller, new values to what is written. */
static void settle(hop_trace *t, void *arg)
{
	struct hosting *h = arg;
	for (int k = 0; k < h->nout; k++)
		h->out[k] = h->all[k];
	for (int k = 0; h->f && k < h->f->nwrite && !t->b.st; k++) {
		int64_t s = hop_slot_of(t, h->in[h->f->writes[k]]);
		hop_val v = s < 0 ? HOP_BAD : hop_value_read(t, h->all[h->nout + k]);
		if (!hop_is_bad(v))
			hop_slot_write(t, (uint32_t)s, v);
	}
}

/* ---- with rules ---- */

struct inner { struct hosting *h; const hop_value *in; };

static void inner_call(hop_trace *t, void *arg)
{
	struct inner *i = arg;
	emit(t, i->h, i->in);
}

static void fwd(hop_trace *t, const hop_value *in, void *user)
{
	struct hosting *h = user;
	struct inner i = { h, in };
	if (!hop_enter(t, "host", h->file, h->line, inner_call, &i))
		return;
	hop_at_save(t, h->file, h->line, h->nin, in);
	hop_at_save(t, h->file, h->line, h->nall, h->all);
	hop_at_return_n(t, h->file, h->line, h->nall, h->all);
}

/* The floats among some, as types of results. */
static int floats(int n, const hop_type *const *type, hop_result *out)
{
	int m = 0;
	for (int i = 0; i < n; i++)
		if (hop_type_diff(type[i]))
			out[m++] = result_of(type[i]);
	return m;
}

static const hop_type *type_of(hop_trace *t, const hop_result *r)
{
	hop_size dim[HOP_MAXRANK];
	for (int i = 0; i < r->rank; i++)
		dim[i] = (hop_size){ r->dim[i].k, r->dim[i].e };
	return hop_type_get(hop_env_of(t), r->dtype, r->rank, dim);
}

/* What the rules give, and room for it. */
static void open_rules(hop_trace *t, void *arg)
{
	struct hosting *h = arg;
	hop_types checked;
	types_of(t, h->nout, h->type, &checked);
	if (t->b.st)
		return;
	h->nall = h->nout + h->f->nwrite;
	const hop_type **type = HOP_NEWN(&t->arena, const hop_type *, h->nall);
	for (int k = 0; k < h->nall; k++)
		type[k] = k < h->nout ? type_of(t, &h->type[k]) : h->in_type[h->f->writes[k - h->nout]];
	h->back = HOP_NEWN(&t->arena, hop_result, h->nin);
	h->along = HOP_NEWN(&t->arena, hop_result, h->nall);
	h->nback = floats(h->nin, h->in_type, h->back);
	h->nalong = floats(h->nall, type, h->along);
	h->room = HOP_NEWN(&t->arena, hop_value, h->nin + h->nall);
	h->made = HOP_NEWN(&t->arena, hop_value, h->nall);
}

static void bwd(hop_trace *t, const hop_value *in, void *user)
{
	struct hosting *h = user;
	if (h->f->vjp) {
		h->f->vjp(t, in, h->f->user);
		return;
	}
	int n = hop_at_host(t, h->file, h->line, h->f->vjp_host, h->nin + h->nall + h->nalong, in,
	                    h->nback, h->back, h->room);
	hop_at_return_n(t, h->file, h->line, n, h->room);
}

static void jvp(hop_trace *t, const hop_value *in, void *user)
{
	struct hosting *h = user;
	if (h->f->jvp) {
		h->f->jvp(t, in, h->f->user);
		return;
	}
	int n = hop_at_host(t, h->file, h->line, h->f->jvp_host, h->nin + h->nback, in, h->nalong,
	                    h->along, h->room);
	hop_at_return_n(t, h->file, h->line, n, h->room);
}

static bool with_rules(hop_trace *t, struct hosting *h)
{
	hop_custom_rule r = { .size = sizeof r, .fwd = fwd, .bwd = bwd };
	if (h->f->jvp || h->f->jvp_host)
		r.jvp = jvp;
	if (!hop_enter(t, NULL, h->file, h->line, open_rules, h))
		return false;
	int n = hop_at_custom(t, h->file, h->line, &r, h, h->nin, h->in, h->nall, h->made);
	h->all = h->made;
	return n == h->nall;
}

int hop_at_host(hop_trace *t, const char *file, int line, const char *name, int nin,
                const hop_value *in, int nout, const hop_result *type, hop_value *out)
{
	struct hosting h = { .file = file, .line = line, .name = name, .nin = nin, .in = in, .cap = nout,
	                     .out = out, .given = type };
	t = hop_here(t);
	if (!hop_enter(t, "host", file, line, begin, &h))
		return 0;
	if (!type && h.f && h.f->shape && !shape(t, &h))
		return 0;
	bool ruled = h.f && (h.f->vjp || h.f->vjp_host);
	bool ok = ruled ? with_rules(t, &h) : hop_enter(t, NULL, file, line, plain, &h);
	return ok && hop_enter(t, NULL, file, line, settle, &h) ? h.nout : 0;
}

/* ---- objects ---- */

struct calling {
	hop_value        object, *in;
	int              n;
	const hop_value *rest;
	int64_t          handle;
};

static void put_first(hop_trace *t, void *arg)
{
	struct calling *c = arg;
	if (c->n < 0 || (c->n && !c->rest)) {
		hop_trace_fail(t, HOP_EUSE, "method: a count is negative or a list is missing");
		return;
	}
	c->in = HOP_NEWN(&t->arena, hop_value, c->n + 1);
	c->in[0] = c->object;
	for (int i = 0; i < c->n; i++)
		c->in[i + 1] = c->rest[i];
	const hop_type *type = hop_value_type(t, c->object);
	if (type && (type->rank || type->dtype != HOP_i64))
		hop_trace_fail(t, HOP_ETYPE, "method: the object is %s, but a handle is i64",
		               hop_type_text(t, type));
}

int hop_at_method(hop_trace *t, const char *file, int line, const char *name, hop_value object,
                  int nin, const hop_value *in, int nout, const hop_result *type, hop_value *out)
{
	struct calling c = { .object = object, .n = nin, .rest = in };
	t = hop_here(t);
	if (!hop_enter(t, "method", file, line, put_first, &c))
		return 0;
	return hop_at_host(t, file, line, name, nin + 1, c.in, nout, type, out);
}

static void make_object(hop_trace *t, void *arg)
{
	struct calling *c = arg;
	c->object = hop_value_new(t, hop_emit_const_i(&t->b, HOP_i64, c->handle));
}

hop_value hop_at_object(hop_trace *t, const char *file, int line, int64_t handle)
{
	struct calling c = { .handle = handle };
	hop_enter(t, "object", file, line, make_object, &c);
	return c.object;
}
