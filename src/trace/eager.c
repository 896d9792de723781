/* eager.c -- running ops as they are emitted, on real data, by the interpreter's rules. An
 * eager draft has constant sizes only and holds an array for each value. What a body's
 * scope holds is released when the body is done. */
#include "data/record.h"
#include "trace/trace.h"

#include <string.h>

static void ten_room(hop_trace *t)
{
	size_t n = t->b.nvalue;
	t->ten = hop_arena_grow(&t->arena, t->ten, sizeof *t->ten, n, &t->tencap);
	while (t->nten < n)
		t->ten[t->nten++] = NULL;
}

const hop_type *hop_eager_type(hop_trace *t, const hop_array *x)
{
	hop_size dim[HOP_MAXRANK];
	for (int i = 0; i < x->rank; i++)
		dim[i] = hop_size_int(x->dim[i]);
	return hop_type_get(hop_env_of(t), x->dtype, x->rank, dim);
}

hop_val hop_eager_leaf(hop_trace *t, hop_array *x)
{
	hop_val v = hop_build_leaf(&t->b, hop_eager_type(t, x));
	ten_room(t);
	t->ten[v.id] = x;
	return v;
}

hop_array *hop_eager_array(hop_trace *t, hop_val v)
{
	HOP_ASSERT(v.id < t->nten && t->ten[v.id]);
	return t->ten[v.id];
}

/* Where a run that is watched is: in these trips of eager loops. */
static void place(hop_trace *t)
{
	hop_interp *p = &t->root->ip;
	int64_t trip[HOP_RECORD_LOOPS];
	int n = 0;
	for (const hop_trace *o = t; o; o = o->up)
		n += o->trip && n < HOP_RECORD_LOOPS;
	int k = n;
	for (const hop_trace *o = t; o && k; o = o->up)
		if (o->trip)
			trip[--k] = o->ran;
	hop_record_place(p->record, 0, n, trip);
	p->outer = n;
}

/* One node: plain ops write into arrays made here. Operators with bodies never get into an
 * eager draft. */
static hop_status run_node(hop_trace *t, const hop_node *n)
{
	hop_interp *p = &t->root->ip;
	hop_arena *tmp = &hop_env_of(t)->tmp;
	hop_mark m = hop_mark_at(tmp);
	hop_array **in = HOP_NEWN(tmp, hop_array *, n->nin);
	hop_array **out = HOP_NEWN(tmp, hop_array *, n->nout);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = hop_eager_array(t, n->in[i]);
	for (uint32_t i = 0; i < n->nout; i++)
		out[i] = t->ten[n->out0.id + i] = hop_interp_of(p, t->b.type[n->out0.id + i]);
	if (p->record && hop_optab[n->op].flags & HOP_F_O)
		place(t);
	hop_status st = hop_optab[n->op].eval(p, n, in, out);
	if (!st && p->nan)
		st = hop_births_single(p, n, in, out);
	hop_rewind(tmp, m);
	return st;
}

void hop_eager_settle(hop_trace *t)
{
	if (t->b.st)
		return;
	ten_room(t);
	if ((t->b.st = hop_interp_go_on(&t->root->ip)))
		return;
	while (t->ndone < t->b.nnode) {
		hop_status st = run_node(t, &t->b.node[t->ndone]);
		t->ndone++;
		if (st) {
			t->b.st = st;
			return;
		}
	}
}

hop_array *hop_eager_fetch(hop_trace *t, hop_trace *owner, uint32_t index)
{
	for (; t != owner; t = t->up) {
		uint32_t key[2] = { owner->serial, index };
		uintptr_t had = (uintptr_t)hop_map_get(&t->mirrors, key, sizeof key);
		if (had && !hop_is_bad(t->store[had - 1].cur))
			return hop_eager_array(t, t->store[had - 1].cur);
	}
	return hop_eager_array(owner, owner->store[index].cur);
}

/* Does a handle or another storage stand on this value? */
static bool in_use(const hop_trace *t, uint32_t store, hop_val v)
{
	for (size_t i = 0; i < t->nslot; i++)
		if (hop_same(t->slot[i].val, v))
			return true;
	for (size_t i = 0; i < t->nstore; i++)
		if (i != store && hop_same(t->store[i].cur, v))
			return true;
	return false;
}

/* Contents that nothing but the storage stands on give way to the new ones: otherwise a loop
 * would hold the contents of every trip until its parent ends. */
void hop_eager_commit(hop_trace *t, hop_trace *child)
{
	for (size_t i = 0; i < child->nstore; i++) {
		hop_store s = child->store[i];
		if (s.owner == child || !s.version)
			continue;
		uint32_t at = hop_store_mirror(t, s.owner, s.index);
		hop_array *x = hop_array_retain(hop_eager_array(child, s.cur));
		hop_val old = t->store[at].cur;
		if (hop_is_bad(old) || in_use(t, at, old)) {
			old = hop_eager_leaf(t, x);
		} else {
			hop_interp_release(&t->root->ip, t->ten[old.id]);
			t->ten[old.id] = x;
		}
		hop_store_set(t, at, old);
	}
}

int hop_eager_results(hop_trace *t, hop_trace *child, int cap, hop_value *out)
{
	int n = (int)child->nret;
	if (n > cap || (n && !out)) {
		hop_trace_fail(t, HOP_EUSE, "%s: gives %d results, there is room for %d", t->op, n, cap);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		hop_array *x = hop_array_retain(hop_eager_array(child, child->out[i]));
		out[i] = hop_value_new(t, hop_eager_leaf(t, x));
	}
	hop_eager_commit(t, child);
	return n;
}

hop_status hop_call_here(hop_trace *t, const hop_graph *g, hop_sizes sargs,
                         const hop_val *in, hop_val *out)
{
	return hop_call_like_here(t, NULL, g, sargs, in, out);
}

hop_status hop_call_like_here(hop_trace *t, const struct hop_attr_call *like, const hop_graph *g,
                              hop_sizes sargs, const hop_val *in, hop_val *out)
{
	if (!t->eager)
		return hop_emit_call_like(&t->b, like, g, sargs, in, out);
	hop_eager_settle(t);
	if (t->b.st)
		return t->b.st;
	hop_array **x = HOP_NEWN(&t->arena, hop_array *, g->nparam);
	hop_array **y = HOP_NEWN(&t->arena, hop_array *, g->nout);
	int64_t *syms = HOP_NEWN(&t->arena, int64_t, g->nsym);
	for (int64_t i = 0; i < sargs.n; i++)
		syms[i] = sargs.v[i].k;
	for (uint32_t i = 0; i < g->nparam; i++)
		x[i] = hop_eager_array(t, in[i]);
	if (t->root->ip.record)
		place(t);
	if ((t->b.st = hop_interp_graph(&t->root->ip, g, syms, x, y)))
		return t->b.st;
	for (uint32_t i = 0; i < g->nout; i++)
		out[i] = hop_eager_leaf(t, y[i]);
	return HOP_OK;
}
