/* value.c -- handles, storages and views: what a public value stands for in a trace, and how
 * one of an enclosing trace is lifted. Writes are in write.c. */
#include "trace/mode.h"

#include <string.h>

/* ---- making ---- */

static uint32_t slot_new(hop_trace *t, hop_cell s)
{
	t->slot = hop_arena_grow(&t->arena, t->slot, sizeof s, t->nslot + 1, &t->slotcap);
	t->slot[t->nslot] = s;
	return (uint32_t)t->nslot++;
}

static uint32_t store_new(hop_trace *t, hop_store s)
{
	t->store = hop_arena_grow(&t->arena, t->store, sizeof s, t->nstore + 1, &t->storecap);
	t->store[t->nstore] = s;
	return (uint32_t)t->nstore++;
}

static hop_val leaf_new(hop_trace *t, const hop_type *type, hop_leaf l)
{
	if (t->b.st)
		return HOP_BAD;
	l.val = hop_build_leaf(&t->b, type);
	t->leaf = hop_arena_grow(&t->arena, t->leaf, sizeof l, t->nleaf + 1, &t->leafcap);
	t->leaf[t->nleaf++] = l;
	return l.val;
}

hop_val hop_param_new(hop_trace *t, const hop_type *type)
{
	return leaf_new(t, type, (hop_leaf){ .kind = HOP_LEAF_PARAM, .index = t->nparam++ });
}

static hop_value handle(hop_trace *t, uint32_t slot)
{
	return (hop_value){ t->serial, slot };
}

/* More elements than any machine has: the product would overflow somewhere further on. */
static bool too_many(hop_trace *t, const hop_type *type)
{
	int64_t n = 1;
	for (int i = 0; i < type->rank; i++)
		if (hop_size_const(type->dim[i]) && type->dim[i].k &&
		    (__builtin_mul_overflow(n, type->dim[i].k, &n) || n > HOP_SIZE_MAX)) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s has more than %lld elements", t->op,
			               hop_type_text(t, type), (long long)HOP_SIZE_MAX);
			return true;
		}
	return false;
}

hop_value hop_value_plain(hop_trace *t, hop_val v)
{
	if (hop_is_bad(v))
		return (hop_value){ 0, 0 };
	const hop_type *type = hop_typeof(&t->b, v);
	if (too_many(t, type))
		return (hop_value){ 0, 0 };
	uint32_t n = (uint32_t)t->nstore;
	store_new(t, (hop_store){ .owner = t, .index = n, .type = type, .cur = v,
	                          .entry = HOP_BAD });
	return handle(t, slot_new(t, (hop_cell){ .store = n, .type = type, .val = v }));
}

hop_value hop_value_new(hop_trace *t, hop_val v)
{
	return hop_value_plain(t, hop_mode_result(t, v));
}

hop_value hop_value_weak(hop_trace *t, enum hop_weak w, double f, int64_t i)
{
	hop_val v = w == HOP_WEAK_FLOAT ? hop_emit_const_f(&t->b, HOP_f32, f) :
	            hop_emit_const_i(&t->b, w == HOP_WEAK_INT ? HOP_i64 : HOP_bool, i);
	hop_value r = hop_value_new(t, v);
	if (!r.trace)
		return r;
	hop_cell *s = &t->slot[r.id];
	s->weak = w;
	s->f = f;
	s->i = i;
	return r;
}

/* ---- finding ---- */

static hop_trace *owner_of(hop_trace *t, uint32_t serial)
{
	for (hop_trace *o = t; o; o = o->up)
		if (o->serial == serial)
			return o;
	return NULL;
}

uint32_t hop_store_mirror(hop_trace *t, hop_trace *owner, uint32_t index)
{
	if (owner == t)
		return index;
	uint32_t key[2] = { owner->serial, index };
	uintptr_t had = (uintptr_t)hop_map_get(&t->mirrors, key, sizeof key);
	if (had)
		return (uint32_t)(had - 1);
	uint32_t n = store_new(t, (hop_store){ .owner = owner, .index = index,
	                                       .type = owner->store[index].type,
	                                       .cur = HOP_BAD, .entry = HOP_BAD });
	hop_map_put(&t->mirrors, key, sizeof key, (void *)((uintptr_t)n + 1));
	return n;
}

/* A handle of an enclosing trace: its slot here. Numbers are constants everywhere. */
static uint32_t lift(hop_trace *t, hop_trace *owner, hop_value v)
{
	uintptr_t had = (uintptr_t)hop_map_get(&t->lifted, &v, sizeof v);
	if (had)
		return (uint32_t)(had - 1);
	hop_cell s = owner->slot[v.id];
	uint32_t n;
	if (s.weak) {
		n = hop_value_weak(t, s.weak, s.f, s.i).id;
	} else {
		const hop_store *b = &owner->store[s.store];
		uint32_t store = hop_store_mirror(t, b->owner, b->index);
		n = slot_new(t, (hop_cell){ .store = store, .view = s.view, .type = s.type,
		                            .val = HOP_BAD, .outer = v, .still = s.still });
	}
	hop_map_put(&t->lifted, &v, sizeof v, (void *)((uintptr_t)n + 1));
	return n;
}

int64_t hop_slot_of(hop_trace *t, hop_value v)
{
	hop_trace *o = v.trace ? owner_of(t, v.trace) : NULL;
	if (!o || v.id >= o->nslot) {
		const hop_site *s = hop_site_of(t->root, v.trace);
		bool again = hop_env_of(t)->diag.st;     /* another operand of the same call */
		hop_trace_fail(t, HOP_EUSE, s ? "%s: a value that was made inside %s is used after it, or "
		               "in its next trip, but its variable is not listed there" : v.trace ?
		               "%s: a value of a trace that has ended, or of another one" :
		               "%s: a value that was never set", t->op, s ? s->what : "");
		if (s && !again)
			hop_note(hop_env_of(t), s->loc, "this %s: list the variable here", s->what);
		return -1;
	}
	if (o != t && hop_keyed_refuses(t, o))
		return -1;
	uint32_t slot = o == t ? v.id : lift(t, o, v);
	return t->cast == HOP_NDTYPE ? slot : hop_autocast_slot(t, slot);
}

/* Finding it may move the list of slots. */
const hop_cell *hop_cell_of(hop_trace *t, hop_value v)
{
	int64_t slot = hop_slot_of(t, v);
	return slot < 0 ? NULL : &t->slot[slot];
}

/* ---- reading ---- */

hop_val hop_store_entry(hop_trace *t, uint32_t store)
{
	hop_store *s = &t->store[store];
	hop_val v = s->entry;
	if (!hop_is_bad(v))
		return v;
	if (t->eager)
		v = hop_eager_leaf(t, hop_array_retain(hop_eager_fetch(t->up, s->owner, s->index)));
	else
		v = leaf_new(t, s->type, (hop_leaf){ .kind = HOP_LEAF_STORE, .index = store });
	return t->store[store].entry = v;
}

hop_val hop_store_cur(hop_trace *t, uint32_t store)
{
	if (hop_is_bad(t->store[store].cur))
		t->store[store].cur = hop_store_entry(t, store);
	return t->store[store].cur;
}

/* The steps from the storage to a view, first one first; in the scratch arena. */
const hop_view_step **hop_view_steps(hop_env *e, const hop_view_step *w, size_t *out_n)
{
	size_t n = 0;
	for (const hop_view_step *v = w; v; v = v->up)
		n++;
	const hop_view_step **s = HOP_NEWN(&e->tmp, const hop_view_step *, n);
	*out_n = n;
	for (; w; w = w->up)
		s[--n] = w;
	return s;
}

hop_val hop_view_emit(hop_build *b, const hop_view_step *w, hop_val v)
{
	size_t n;
	hop_mark m = hop_mark_at(&b->env->tmp);
	const hop_view_step **s = hop_view_steps(b->env, w, &n);
	for (size_t i = 0; i < n && !b->st; i++)
		v = hop_emit_op(b, s[i]->op, s[i]->attr, 1, &v);
	hop_rewind(&b->env->tmp, m);
	return b->st ? HOP_BAD : v;
}

/* As long as nothing wrote to a captured storage, a view of it is captured as such: the
 * parent makes it, and equal bodies on different views stay equal. */
hop_val hop_slot_read(hop_trace *t, uint32_t slot)
{
	hop_cell *s = &t->slot[slot];
	uint32_t version = t->store[s->store].version;
	if (t->b.st)
		return HOP_BAD;
	if (!hop_is_bad(s->val) && s->version == version)
		return s->val;
	hop_val v;
	if (s->view && s->outer.trace && !version && !t->eager)
		v = leaf_new(t, s->type, (hop_leaf){ .kind = HOP_LEAF_VIEW, .index = s->store,
		                                     .slot = slot });
	else
		v = hop_view_emit(&t->b, s->view, hop_store_cur(t, s->store));
	s = &t->slot[slot];
	if (s->still && !hop_is_bad(v) && !t->eager)
		v = hop_emit(&t->b, stop_gradient, v);
	s->val = v;
	s->version = version;
	return v;
}

hop_val hop_value_read(hop_trace *t, hop_value v)
{
	int64_t s = hop_slot_of(t, v);
	return s < 0 ? HOP_BAD : hop_slot_read(t, (uint32_t)s);
}

const hop_type *hop_value_type(hop_trace *t, hop_value v)
{
	int64_t s = hop_slot_of(t, v);
	return s < 0 ? NULL : t->slot[s].type;
}

hop_val hop_value_apart(hop_trace *t, hop_val v)
{
	if (hop_is_bad(v) || t->eager || !hop_type_diff(hop_typeof(&t->b, v)))
		return v;
	const hop_type *type = hop_typeof(&t->b, v);
	struct hop_attr_reshape a = { .dims = { type->rank, type->dim } };
	return hop_emit_op(&t->b, HOP_OP_reshape, &a, 1, &v);
}

/* ---- views ---- */

hop_value hop_value_view(hop_trace *t, hop_value x, int op, const void *attr)
{
	int64_t i = hop_slot_of(t, x);
	if (i < 0)
		return (hop_value){ 0, 0 };
	hop_val in = hop_slot_read(t, (uint32_t)i);
	hop_val v = hop_is_bad(in) ? HOP_BAD : hop_emit_op(&t->b, op, attr, 1, &in);
	if (hop_is_bad(v) || too_many(t, hop_typeof(&t->b, v)))
		return (hop_value){ 0, 0 };
	hop_cell s = t->slot[i];
	hop_val r = hop_mode_result(t, v);
	hop_view_step *w = HOP_NEW(&t->arena, hop_view_step);
	*w = (hop_view_step){ .up = s.view, .op = op, .in = s.type, .out = hop_typeof(&t->b, v),
	                 .attr = hop_attr_copy(hop_env_of(t), &t->arena, op, attr, NULL, -1) };
	return handle(t, slot_new(t, (hop_cell){ .store = s.store, .view = w, .type = w->out,
	                                         .val = r, .still = s.still || hop_mode_stops(t),
	                                         .version = t->store[s.store].version }));
}

const char *hop_type_text(hop_trace *t, const hop_type *type)
{
	hop_buf b;
	hop_buf_open(&b, hop_env_of(t));
	hop_type_print(&b, type, t->b.symname, (int)(t->b.nsym + t->b.nlocal));
	const char *s = hop_arena_str(&t->arena, b.s, b.n);
	hop_buf_free(&b);
	return s;
}
