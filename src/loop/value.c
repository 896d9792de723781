/* value.c -- values during lowering: an element of one, its address, the whole of it
 * stored somewhere. Runs the cells; does not choose between virtual and stored. */
#include <string.h>

#include "loop/lower.h"

/* A register already computed for (value, index, mask), where it can be seen. */
typedef struct seen {
	struct seen *next;
	hop_reg      reg;
} seen;

enum { KEYMAX = HOP_MAXRANK + 4 };

static size_t memo_key(hop_lower *l, const hop_linst *in, hop_val v, int rank,
                       const hop_ix *const *ix, const void **key)
{
	key[0] = in;
	key[1] = (const void *)(uintptr_t)v.id;
	key[2] = (const void *)(uintptr_t)l->q.mask;
	key[3] = NULL;
	for (int i = 0; i < rank; i++)
		key[4 + i] = ix[i];
	return sizeof *key * (size_t)(4 + rank);
}

static const hop_type *type_of(hop_lower *l, hop_linst *in, hop_val v)
{
	hop_lval *x = &in->val[v.id];
	if (!x->type)
		x->type = hop_type_subst(l->env, in->g->type[v.id], in->smap,
		                         (int)(in->g->nsym + in->g->nlocal));
	return x->type;
}

const hop_type *hop_lower_in(hop_lower *l, const hop_node *n, int k)
{
	return type_of(l, l->q.inst, n->in[k]);
}

const hop_type *hop_lower_out(hop_lower *l, const hop_node *n, int k)
{
	return type_of(l, l->q.inst, (hop_val){ n->out0.id + (uint32_t)k });
}

hop_size hop_lower_size(hop_lower *l, hop_size s)
{
	return hop_size_subst(l->env, s, l->q.inst->smap,
	                      (int)(l->q.inst->g->nsym + l->q.inst->g->nlocal));
}

static const hop_node *node_of(const hop_linst *in, hop_val v)
{
	uint32_t d = in->g->def[v.id];
	return d == UINT32_MAX ? NULL : &in->g->node[d];
}

/* Run a cell for a result at an index; the caller's place is kept. An element is rounded to its
 * dtype here, and nowhere on the way to it. */
static hop_status run(hop_lower *l, hop_linst *in, const hop_node *n, enum hop_ask ask,
                      const hop_ix *const *ix)
{
	hop_question was = l->q;
	l->q.inst = in;
	l->q.ask = ask;
	l->q.ix = ix;
	l->q.b.loc = n->loc;
	hop_status st = hop_optab[n->op].lower(l, n);
	if (ask == HOP_ASK_AT && l->reg)
		l->reg = hop_lower_round(l, (hop_dtype)hop_lower_out(l, n, 0)->dtype, l->reg);
	l->q = was;
	return st;
}

const hop_ix *hop_view_at(hop_lower *l, const hop_view *v, int rank,
                          const hop_ix *const *x)
{
	const hop_ix *p = v->base;
	for (int i = 0; i < rank; i++)
		p = hop_ix_add(l, p, hop_ix_mul(l, x[i], v->stride[i]));
	return p;
}

/* Where an element is: l->addr, with buf < 0 when it is nowhere. */
static void find(hop_lower *l, hop_linst *in, hop_val v, const hop_ix *const *ix)
{
	hop_lval *x = &in->val[v.id];
	const hop_ix *y[HOP_MAXRANK + 1];
	const hop_node *n;
	int rank = type_of(l, in, v)->rank;
	l->addr.buf = -1;
	switch (x->kind) {
	case HOP_LV_BUF:
		l->addr.at = hop_view_at(l, &x->view, rank, ix);
		l->addr.buf = x->view.buf;
		l->addr.scope = x->scope;
		return;
	case HOP_LV_ALIAS:
		y[0] = x->lead;
		for (int i = 0; i < rank; i++)
			y[i + (x->lead != NULL)] = ix[i];
		find(l, x->inst, x->val, y);
		return;
	case HOP_LV_NODE:
		n = node_of(in, v);
		if (n && (hop_optab[n->op].flags & HOP_F_V))
			(void)!run(l, in, n, HOP_ASK_ADDR, ix);
		return;
	case HOP_LV_REG:
		return;
	}
}

static hop_reg at(hop_lower *l, hop_linst *in, hop_val v, const hop_ix *const *ix)
{
	hop_lval *x = &in->val[v.id];
	const hop_type *t = type_of(l, in, v);
	const hop_ix *y[HOP_MAXRANK + 1];
	const void *key[KEYMAX];
	const hop_node *n;
	if (x->kind == HOP_LV_REG)
		return x->reg;
	if (x->kind == HOP_LV_ALIAS) {
		y[0] = x->lead;
		for (int i = 0; i < t->rank; i++)
			y[i + (x->lead != NULL)] = ix[i];
		return at(l, x->inst, x->val, y);
	}
	size_t nb = memo_key(l, in, v, t->rank, ix, key);
	seen *old = hop_map_get(&l->memo, key, nb), *s;
	while (old && hop_lower_reg_scope(l, old->reg)->is_shut)
		old = old->next;                     /* nobody will see it again */
	for (s = old; s; s = s->next)
		if (hop_lower_visible(l, s->reg))
			return s->reg;
	if (x->kind == HOP_LV_BUF) {
		l->reg = hop_lower_load(l, (hop_dtype)t->dtype, x->view.buf,
		                        hop_view_at(l, &x->view, t->rank, ix), x->scope);
	} else {
		n = node_of(in, v);
		HOP_ASSERT(n && !x->must);
		l->reg = 0;
		(void)!run(l, in, n, HOP_ASK_AT, ix);
		HOP_ASSERT(l->reg);
	}
	s = HOP_NEW(l->w, seen);
	*s = (seen){ old, l->reg };
	hop_map_put(&l->memo, key, nb, s);
	return s->reg;
}

/* ---- dry runs ---- */

/* A scalar is computed once, in front of all nests, whichever of them want it: wishes for it
 * that differ in nothing else are one, or every scalar would pass on as many as there are
 * results that depend on it. */
static void demand(hop_lower *l, hop_lval *x, int rank, const hop_ix *const *ix, bool need)
{
	enum { ENOUGH = 64 };                /* more of the same say nothing new */
	hop_demand *d;

	need |= l->q.dry.need;
	if (x->ndemand > ENOUGH && !need && !l->q.mask && l->q.dry.home >= 0)
		return;
	for (d = x->demand; d; d = d->next) {
		bool same = d->need == need && (d->home < 0) == (l->q.dry.home < 0);
		if (same && d->home >= 0)
			same = d->cond == (l->q.mask != 0) &&
			       (!rank || !memcmp(d->ix, ix, sizeof *ix * (size_t)rank));
		if (!same || (rank && d->home != l->q.dry.home))
			continue;
		x->ndemand += d->home != l->q.dry.home;
		return;
	}
	d = HOP_NEW(l->w, hop_demand);
	d->home = l->q.dry.home;
	d->cond = l->q.mask != 0;
	d->need = need;
	d->scope = l->q.cur;
	d->ix = hop_arena_dup(l->w, ix, sizeof *ix * (size_t)rank);
	d->next = x->demand;
	x->demand = d;
	x->ndemand++;
}

/* A stand-in for an operand: costs are added up, wishes noted. */
static hop_reg dry_arg(hop_lower *l, const hop_node *n, int k, const hop_ix *const *ix)
{
	hop_lval *x = &l->q.inst->val[n->in[k].id];
	int rank = hop_lower_in(l, n, k)->rank;
	hop_scope *s = l->top;
	hop_reg r = hop_l_reg(&l->q.b);
	for (int i = 0; i < rank && !x->uniform; i++)
		s = hop_lower_deeper(s, hop_lower_ix_scope(l, ix[i]));
	if (l->q.mask)
		s = hop_lower_deeper(s, hop_lower_reg_scope(l, l->q.mask));
	hop_lower_note_reg(l, r, hop_lower_deeper(s, l->q.cur->barrier));
	if (l->q.dry.val) {                        /* forward: what would it cost inline? */
		bool same = l->q.ix && rank && x->split && x->kind == HOP_LV_NODE &&
		            rank == l->q.dry.val->type->rank;
		for (int i = 0; same && i < rank; i++)
			same = ix[i] == l->q.ix[i];
		if (same)
			hop_lower_split(l, x->split);
		l->found.cost += x->cost;
		l->found.deep = x->deep > l->found.deep ? x->deep : l->found.deep;
		l->found.size += x->kind == HOP_LV_NODE && !x->must ? x->size : 1;
	} else if (x->kind == HOP_LV_NODE) {
		demand(l, x, rank, ix, false);
	}
	return r;
}

hop_reg hop_lower_arg(hop_lower *l, const hop_node *n, int k, const hop_ix *const *ix)
{
	if (l->q.dry.on)
		return dry_arg(l, n, k, ix);
	if (l->q.ask == HOP_ASK_ADDR) {
		find(l, l->q.inst, n->in[k], ix);
		return 0;
	}
	return at(l, l->q.inst, n->in[k], ix);
}

void hop_lower_must(hop_lower *l)
{
	if (l->q.dry.val)
		l->q.dry.val->must = l->q.dry.val->special = true;
}

void hop_lower_once(hop_lower *l, const hop_node *n, int k)
{
	hop_linst *in = l->q.inst;
	hop_val v = n->in[k];
	bool again = false;
	for (; l->q.dry.val; v = node_of(in, v)->in[0]) {      /* views are nothing computed */
		const hop_node *d = node_of(in, v);
		again |= in->nuse[v.id] > 1;
		if (!d || hop_optab[d->op].flags & HOP_F_R)
			return;
		if (!(hop_optab[d->op].flags & HOP_F_V)) {
			in->val[v.id].must |= again && d->nin &&
			                      hop_dtype_real((hop_dtype)in->g->type[v.id]->dtype);
			return;
		}
	}
}

void hop_lower_special(hop_lower *l)
{
	if (l->q.dry.val)
		l->q.dry.val->special = true;
}

void hop_lower_split(hop_lower *l, const hop_type *t)
{
	hop_lval *x = l->q.dry.val;
	hop_size dim[HOP_MAXRANK];
	if (!x)
		return;
	if (!x->split) {
		x->split = t;
		return;
	}
	int n = hop_ix_refine(l, x->split->rank, x->split->dim, t->rank, t->dim, dim);
	if (n)
		x->split = hop_type_get(l->env, (hop_dtype)t->dtype, n, dim);
}

void hop_lower_heavy(hop_lower *l)
{
	if (l->q.dry.val)
		l->q.dry.val->heavy = true;
}

/* ---- whole values ---- */

hop_view hop_lower_dense(hop_lower *l, int buf, const hop_type *t)
{
	hop_size *stride = HOP_NEWN(l->w, hop_size, t->rank), s = hop_size_int(1);
	for (int i = t->rank - 1; i >= 0; i--) {
		stride[i] = s;
		s = hop_size_mul(l->env, s, t->dim[i]);
	}
	return (hop_view){ buf, hop_ix_size(l, hop_size_int(0)), stride };
}

hop_view hop_view_permuted(hop_lower *l, const hop_view *v, int rank, const int *order)
{
	hop_size *stride = HOP_NEWN(l->w, hop_size, rank);
	for (int i = 0; i < rank; i++)
		stride[order[i]] = v->stride[i];
	return (hop_view){ v->buf, v->base, stride };
}

/* A buffer whose count depends on a size found while running cannot be in the frame. */
hop_view hop_lower_temp(hop_lower *l, const hop_type *t)
{
	if (l->q.dry.on)
		return hop_lower_dense(l, 0, t);
	hop_size c = hop_guard_room(l, t);
	hop_lbuf b = { .kind = HOP_BUF_TEMP, .dtype = (hop_dtype)t->dtype, .count = c };
	if (hop_size_nsym(c) > l->q.b.f->nsym) {
		hop_guard_limit(l, c);
		b.kind = HOP_BUF_TAPE;
		b.index = l->prog->ntape++;
		int i = hop_l_buf(&l->q.b, b);
		hop_reg r = hop_lower_sizereg(l, c);
		l->q.b.block = l->q.cur->block;
		hop_stmt *s = hop_l_stmt(&l->q.b, HOP_L_GROW);
		s->buf = i;
		s->na = 1;
		s->a[0] = r;
		return hop_lower_dense(l, i, t);
	}
	return hop_lower_dense(l, hop_l_buf(&l->q.b, b), t);
}

bool hop_view_is_dense(hop_lower *l, const hop_view *v, const hop_type *t)
{
	hop_view d = hop_lower_dense(l, v->buf, t);
	for (int i = 0; i < t->rank; i++)
		if (!hop_size_is(t->dim[i], 1) && !hop_size_eq(d.stride[i], v->stride[i]))
			return false;
	return true;
}

void hop_lower_fill(hop_lower *l, const hop_type *t, const hop_view *to)
{
	const hop_ix *x[HOP_MAXRANK];
	hop_reg zero = hop_lower_const(l, (hop_dtype)t->dtype, 0, 0);
	int n = hop_lower_open_dims(l, t->rank, t->dim, x);
	hop_lower_put(l, (hop_dtype)t->dtype, to->buf, hop_view_at(l, to, t->rank, x), zero);
	hop_lower_close_n(l, n);
}

void hop_view_copy(hop_lower *l, const hop_type *t, const hop_view *from, const hop_view *to)
{
	const hop_ix *x[HOP_MAXRANK];
	int k = hop_lower_open_dims(l, t->rank, t->dim, x);
	hop_dtype d = (hop_dtype)t->dtype;
	hop_reg r = hop_lower_load(l, d, from->buf, hop_view_at(l, from, t->rank, x), l->q.cur);
	hop_lower_put(l, d, to->buf, hop_view_at(l, to, t->rank, x), r);
	hop_lower_close_n(l, k);
}

/* Loops over the sizes of t, or over finer ones that make the index of v simple. */
static int open_split(hop_lower *l, const hop_lval *v, const hop_type *t, const hop_ix **x)
{
	const hop_ix *y[HOP_MAXRANK];
	hop_size dim[HOP_MAXRANK], have, q;
	int n = 0, k, at = 0;
	if (v->split && !l->q.dry.on)
		n = hop_ix_refine(l, t->rank, t->dim, v->split->rank, v->split->dim, dim);
	if (n <= t->rank)
		return hop_lower_open_dims(l, t->rank, t->dim, x);
	k = hop_lower_open_dims(l, n, dim, y);
	for (int i = 0; i < t->rank; i++) {
		x[i] = hop_ix_size(l, hop_size_int(0));
		for (have = t->dim[i]; !hop_size_is(have, 1); have = q, at++) {
			HOP_ASSERT(at < n && hop_size_quot(l->env, have, dim[at], &q));
			x[i] = hop_ix_add(l, hop_ix_mul(l, x[i], dim[at]), y[at]);
		}
	}
	return k;
}

hop_status hop_lower_nest(hop_lower *l, const hop_node *n)
{
	const hop_type *t = hop_lower_out(l, n, 0);
	const hop_ix *x[HOP_MAXRANK];
	hop_view to = l->q.dest;
	int k = open_split(l, &l->q.inst->val[n->out0.id], t, x);
	l->reg = 0;
	HOP_TRY(run(l, l->q.inst, n, HOP_ASK_AT, x));
	if (l->reg)
		hop_lower_put(l, (hop_dtype)t->dtype, to.buf, hop_view_at(l, &to, t->rank, x),
		              l->reg);
	hop_lower_close_n(l, k);
	return HOP_OK;
}

/* Store a node's value: by its own way when it has one. */
static hop_status store_node(hop_lower *l, hop_linst *in, const hop_node *n, bool special,
                             const hop_view *to)
{
	hop_question was = l->q;
	hop_status st;
	l->q.inst = in;
	l->q.dest = *to;
	l->q.b.loc = n->loc;
	st = special ? run(l, in, n, HOP_ASK_STORE, NULL) : hop_lower_nest(l, n);
	l->q = was;
	return st;
}

static hop_status store(hop_lower *l, hop_linst *in, hop_val v, const hop_view *to)
{
	hop_lval *x = &in->val[v.id];
	const hop_type *t = type_of(l, in, v);
	const hop_node *n = node_of(in, v);
	const hop_ix *y[HOP_MAXRANK];
	if (x->kind == HOP_LV_ALIAS && !x->lead)
		return store(l, x->inst, x->val, to);
	if (x->kind == HOP_LV_NODE && n && x->special)
		return store_node(l, in, n, true, to);
	int k = hop_lower_open_dims(l, t->rank, t->dim, y);
	hop_reg r = at(l, in, v, y);
	hop_lower_put(l, (hop_dtype)t->dtype, to->buf, hop_view_at(l, to, t->rank, y), r);
	hop_lower_close_n(l, k);
	return HOP_OK;
}

hop_status hop_lower_store_arg(hop_lower *l, const hop_node *n, int k, const hop_view *to)
{
	if (!l->q.dry.on)
		return store(l, l->q.inst, n->in[k], to);
	const hop_type *t = hop_lower_in(l, n, k);
	const hop_ix *x[HOP_MAXRANK];
	int m = hop_lower_open_dims(l, t->rank, t->dim, x);
	dry_arg(l, n, k, x);
	hop_lower_close_n(l, m);
	return HOP_OK;
}

/* A register that stands for any index of an axis, never emitted: one for axis i of a size. */
static const hop_ix *stand_in(hop_lower *l, int i, hop_size n)
{
	struct { int64_t kind, i, k; const void *e; } key = { 9, i, n.k, n.e };
	const hop_ix *x = hop_map_get(&l->names.ixs, &key, sizeof key);

	if (!x) {
		x = hop_ix_reg(l, hop_l_reg(&l->q.b), n);
		hop_map_put(&l->names.ixs, &key, sizeof key, (void *)x);
	}
	return x;
}

/* The address at an index of stand-in registers shows the strides. */
static bool strided(hop_lower *l, hop_linst *in, hop_val v, hop_view *out)
{
	const hop_type *t = type_of(l, in, v);
	const hop_ix *x[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		x[i] = hop_size_is(t->dim[i], 1)
		       ? hop_ix_size(l, hop_size_int(0))
		       : stand_in(l, i, t->dim[i]);
	find(l, in, v, x);
	if (l->addr.buf < 0)
		return false;
	const hop_ix *p = l->addr.at;
	hop_size *stride = HOP_NEWN(l->w, hop_size, t->rank);
	for (int i = 0; i < t->rank; i++) {
		stride[i] = hop_size_int(0);
		if (!x[i]->n)
			continue;
		const hop_ixatom *a = x[i]->t[0].a;
		for (int j = 0; j < p->n; j++) {
			if (p->t[j].a == a)
				stride[i] = p->t[j].c;
			else if (p->t[j].a->kind != HOP_IX_REG)
				return false;        /* may hide a */
		}
		hop_size minus = hop_size_sub(l->env, hop_size_int(0), stride[i]);
		p = hop_ix_add(l, p, hop_ix_mul(l, x[i], minus));
	}
	*out = (hop_view){ l->addr.buf, p, stride };
	return true;
}

hop_status hop_lower_arg_view(hop_lower *l, const hop_node *n, int k, bool dense,
                              hop_view *out)
{
	const hop_type *t = hop_lower_in(l, n, k);
	if (l->q.dry.on) {
		const hop_ix *x[HOP_MAXRANK];
		int m = hop_lower_open_dims(l, t->rank, t->dim, x);
		hop_lval *v = &l->q.inst->val[n->in[k].id];
		if (!l->q.dry.val && v->kind == HOP_LV_NODE)
			demand(l, v, t->rank, x, true);
		hop_lower_close_n(l, m);
		*out = hop_lower_dense(l, 0, t);
		return HOP_OK;
	}
	if (strided(l, l->q.inst, n->in[k], out) &&
	    (!dense || hop_view_is_dense(l, out, t)))
		return HOP_OK;
	*out = hop_lower_temp(l, t);
	return store(l, l->q.inst, n->in[k], out);
}

/* In front of the loop whose step the instance is. */
static void store_before(hop_lower *l, hop_linst *in, hop_val v, const hop_view *to)
{
	hop_scope *home = in->scope;
	in->scope = in->outer;
	HOP_ASSERT(!store(l, in, v, to));
	in->scope = home;
}

bool hop_lower_arg_packed(hop_lower *l, const hop_node *n, int k, const int *order,
                          hop_view *out)
{
	hop_linst *in = l->q.inst;
	const hop_type *t = hop_lower_in(l, n, k);
	const void *key[4 + HOP_MAXRANK] = { in, (void *)(uintptr_t)n->in[k].id };
	hop_size dim[HOP_MAXRANK];
	if (l->q.dry.on || !in->outer || !in->many || !in->val[n->in[k].id].fixed)
		return false;
	if (strided(l, in, n->in[k], out) && hop_size_is(out->stride[order[t->rank - 1]], 1))
		return false;
	for (int i = 0; i < t->rank; i++) {
		dim[i] = t->dim[order[i]];
		key[4 + i] = (void *)(uintptr_t)order[i];
		if (hop_size_nsym(dim[i]) > l->q.b.f->nsym)
			return false;
	}
	key[3] = "packed";
	size_t nb = sizeof *key * (size_t)(4 + t->rank);
	hop_view *v = hop_map_get(&l->memo, key, nb);
	if (v) {
		*out = *v;
		return true;
	}
	hop_question was = l->q;
	l->q.cur = in->outer;
	l->q.mask = 0;
	hop_dtype c = hop_dtype_computes((hop_dtype)t->dtype);
	hop_view d = hop_lower_temp(l, hop_type_get(l->env, c, t->rank, dim));
	v = HOP_NEW(l->w, hop_view);
	*v = hop_view_permuted(l, &d, t->rank, order);
	store_before(l, in, n->in[k], v);
	l->q = was;
	hop_map_put(&l->memo, key, nb, v);
	*out = *v;
	return true;
}

hop_reg hop_lower_scalar(hop_lower *l, const hop_node *n, int k)
{
	return hop_lower_arg(l, n, k, NULL);
}

void hop_lower_is_data(hop_lower *l, const hop_node *n, const hop_data *d)
{
	hop_lval *x = &l->q.inst->val[n->out0.id];
	hop_lbuf b = { .kind = HOP_BUF_CONST, .dtype = (hop_dtype)d->type->dtype,
	               .count = hop_type_count(l->env, d->type) };
	if (x->kind == HOP_LV_BUF)
		return;
	const void *key[2] = { d, NULL };
	uintptr_t buf = (uintptr_t)hop_map_get(&l->memo, key, sizeof key);      /* 1 + it */
	if (!buf) {
		hop_arena *was = l->q.b.a;
		l->q.b.a = l->prog->a;            /* also in a dry run */
		b.data = hop_arena_dup(l->q.b.a, d->bytes, d->nbyte);
		buf = (uintptr_t)hop_l_buf(&l->q.b, b) + 1;
		l->q.b.a = was;
		hop_map_put(&l->memo, key, sizeof key, (void *)buf);
	}
	x->kind = HOP_LV_BUF;
	x->view = hop_lower_dense(l, (int)buf - 1, d->type);
	x->scope = l->top;
}

hop_view hop_lower_result(hop_lower *l, const hop_node *n, int i)
{
	hop_lval *x = &l->q.inst->val[n->out0.id + (uint32_t)i];
	x->view = x->has_dest ? x->dest : hop_lower_temp(l, hop_lower_out(l, n, i));
	x->kind = HOP_LV_BUF;
	x->scope = l->q.cur;
	return x->view;
}

/* ---- instances: emitting what was decided ---- */

static hop_status emit_node(hop_lower *l, hop_linst *in, const hop_node *n)
{
	int flags = hop_optab[n->op].flags;
	hop_lval *x;
	if (flags & HOP_F_WHOLE)
		return run(l, in, n, HOP_ASK_NODE, NULL);
	x = &in->val[n->out0.id];
	if (!x->root || x->kind != HOP_LV_NODE)
		return HOP_OK;
	hop_view to = x->has_dest ? x->dest : hop_lower_temp(l, type_of(l, in, n->out0));
	HOP_TRY(store_node(l, in, n, x->special, &to));
	if (x->fixed && x->has_dest)     /* read as if it were not stored: mark_fixed */
		return HOP_OK;
	x->kind = HOP_LV_BUF;
	x->view = to;
	x->scope = l->q.cur;
	return HOP_OK;
}

hop_status hop_lower_emit(hop_lower *l, hop_linst *in, const hop_view *dest, bool before)
{
	if (before && in->tests)         /* what is in front of the tests could rest on them */
		return HOP_OK;
	in->scope = l->q.cur;
	if (before)
		in->outer = l->q.cur;
	else
		hop_guard_emit(l, in, 0, (int)in->g->nsym);
	for (uint32_t i = 0; i < in->g->nnode && !in->dead; i++) {
		const hop_node *n = &in->g->node[i];
		bool r = hop_optab[n->op].flags & HOP_F_WHOLE;
		int sym = (int)hop_node_binds(n);
		if (!in->live[i] || in->done[i])
			continue;
		if (before && (r || !in->val[n->out0.id].fixed || in->val[n->out0.id].has_dest))
			continue;
		in->done[i] = true;
		if (emit_node(l, in, n))
			return hop_note(l->env, n->loc, "in the lowering of %s",
			                hop_optab[n->op].name);
		if (sym >= 0)
			hop_guard_emit(l, in, sym, sym + 1);
	}
	for (uint32_t i = 0; !before && !in->dead && i < in->g->nout; i++) {
		hop_val v = in->g->out[i];
		hop_lval *x = &in->val[v.id];
		if (dest[i].buf < 0 || (x->has_dest && x->dest.buf == dest[i].buf))
			continue;
		HOP_TRY(store(l, in, v, &dest[i]));
	}
	return HOP_OK;
}

hop_reg hop_lower_out_reg(hop_lower *l, hop_linst *in, int i)
{
	if (in->dead)
		return hop_lower_const(l, (hop_dtype)hop_graph_out_type(in->g, (uint32_t)i)->dtype,
		                       0, 0);
	return at(l, in, in->g->out[i], NULL);
}
