/* use.c -- arrays in traces: captured by the outermost one, read from an eager one; and eager traces
 * themselves. What an array is stands in data/. */
#include "data/record.h"
#include "data/stream.h"
#include "trace/trace.h"

#include <string.h>

/* ---- arrays in traces ---- */

/* Arrays belong to the outermost trace, whichever asks: there they are parameters. */
hop_value hop_array_here(hop_trace *t, hop_array *a)
{
	hop_root *r = t->root;
	hop_trace *base = r->base;
	if (!a || a->ctx != r->ctx) {
		hop_trace_fail(t, HOP_EUSE, "%s: the array is missing or of another context", t->op);
		return (hop_value){ 0, 0 };
	}
	if (base->eager && a->mem) {
		char where[HOP_DEVICE_TEXT];
		hop_trace_fail(t, HOP_EUSE, "%s: the array is on %s, and an eager trace works in the memory of "
		               "this process: compile it for the device (hop_call, hop_jit_call), or copy it "
		               "(hop_array_to)", t->op, hop_array_where(a, where));
		return (hop_value){ 0, 0 };
	}
	for (size_t i = 0; i < r->narray; i++)
		if (r->array[i] == a)
			return (hop_value){ base->serial, r->array_slot[i] };
	size_t cap = r->arraycap;
	r->array_slot = hop_arena_grow(&r->arena, r->array_slot, sizeof *r->array_slot,
	                               r->narray + 1, &cap);
	r->array = hop_arena_grow(&r->arena, r->array, sizeof *r->array, r->narray + 1,
	                          &r->arraycap);
	hop_val v;
	if (base->eager) {
		v = hop_eager_leaf(base, hop_interp_hold(&r->ip, a));
	} else {
		hop_size dim[HOP_MAXRANK];
		for (int i = 0; i < a->rank; i++)
			dim[i] = hop_size_int(a->dim[i]);
		v = hop_param_new(base, hop_type_get(&r->env, a->dtype, a->rank, dim));
	}
	hop_value h = hop_value_plain(base, v);
	r->array[r->narray] = hop_array_retain(a);
	r->array_slot[r->narray++] = h.id;
	return h;
}

struct using {
	hop_array *a;
	hop_value  v;
};

static void make_use(hop_trace *t, void *arg)
{
	struct using *u = arg;
	u->v = hop_array_here(t, u->a);
}

hop_value hop_at_use(hop_trace *t, const char *file, int line, hop_array *a)
{
	struct using u = { .a = a };
	return hop_enter(t, "use", file, line, make_use, &u) ? u.v : (hop_value){ 0, 0 };
}

struct reading {
	hop_value   v;
	hop_array *x;
};

static void make_read(hop_trace *t, void *arg)
{
	struct reading *r = arg;
	if (!t->eager) {
		hop_trace_fail(t, HOP_EUSE, "read: the trace is captured, it has no data yet");
		return;
	}
	hop_val v = hop_value_read(t, r->v);
	if (!t->b.st)
		hop_eager_settle(t);
	if (!t->b.st)
		r->x = hop_eager_array(t, v);
}

hop_status hop_at_read(hop_trace *t, const char *file, int line, hop_value v,
                       hop_array **out_a)
{
	struct reading r = { .v = v };
	if (!out_a || !t)
		return HOP_EUSE;
	*out_a = NULL;
	if (!hop_enter(t, "read", file, line, make_read, &r))
		return t->root->env.diag.st;
	return hop_array_new(t->root->ctx, r.x->dtype, r.x->rank, r.x->dim, r.x->data, out_a);
}

/* ---- eager traces ---- */

hop_status hop_eager_new(hop_ctx *c, hop_trace **out_t)
{
	return hop_eager_new_with(c, NULL, out_t);
}

hop_status hop_eager_new_with(hop_ctx *c, const hop_run_opts *o, hop_trace **out_t)
{
	hop_run_opts own;
	if (!out_t || !c)
		return HOP_EUSE;
	*out_t = NULL;
	HOP_TRY(hop_opts_read(c, "eager trace", o, &own, sizeof own));
	HOP_TRY(hop_nan_of(c, "eager trace", &own));
	HOP_TRY(hop_root_new(c, true, out_t));
	(*out_t)->what = "this eager trace";
	(*out_t)->root->ip.cancel = own.cancel;
	(*out_t)->root->ip.nan = own.nan;
	(*out_t)->root->ip.record = own.record;
	hop_record_begin(own.record);
	return HOP_OK;
}

/* The contents of captured array i, if they were written; else NULL. */
static hop_array **written(hop_root *r, size_t i)
{
	hop_trace *base = r->base;
	const hop_store *s = &base->store[base->slot[r->array_slot[i]].store];
	return s->version ? &base->ten[s->cur.id] : NULL;
}

/* What one array gets may be what another had: none is written before all contents are apart. */
static void take_apart(hop_trace *t, void *arg)
{
	hop_root *r = t->root;
	(void)arg;
	for (size_t i = 0; i < r->narray; i++) {
		hop_array **x = written(r, i);
		if (x)
			*x = hop_interp_own(&r->ip, *x);
	}
}

static bool meets(hop_root *r)
{
	for (size_t i = 0; i < r->narray; i++) {
		hop_array **x = written(r, i);
		if (x && (*x)->drop)
			return true;
	}
	return false;
}

/* Writes to arrays happen here, and only when nothing failed. */
hop_status hop_eager_free(hop_trace *t)
{
	if (!t || t != t->root->base || !t->eager)       /* a body's trace, or a captured one */
		return HOP_EUSE;
	hop_root *r = t->root;
	if (!r->env.diag.st && r->top != t)
		hop_fail(&r->env, 0, HOP_EUSE, "eager trace: it ends inside %s", r->top->what);
	if (!r->env.diag.st && meets(r))
		hop_enter(t, "eager trace", NULL, 0, take_apart, NULL);
	for (size_t i = 0; !r->env.diag.st && i < r->narray; i++) {
		hop_array **x = written(r, i);
		if (x)
			(void)!hop_array_unpack(r->array[i], (*x)->data);      /* none is on a device */
	}
	return hop_root_free(t);
}
