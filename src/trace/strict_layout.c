/* strict_layout.c -- how PyTorch would lay out what a body gives: strides and storage offset, which
 * values of hop do not have. Views change them, elementwise ops keep the order of axes, all else is
 * contiguous. What cannot be known, by sizes that are symbols or by writes, is not refused. */
#include "trace/strict.h"
#include "trace/block.h"

#include <stdio.h>
#include <string.h>

enum state { UNKNOWN, PLAIN, STRIDED };        /* PLAIN: contiguous from the start, of any sizes */

/* Numbers are there of what is STRIDED, whose sizes are constants. */
typedef struct laid {
	enum state state;
	int64_t    offset, stride[HOP_MAXRANK];
} laid;

static const laid plain = { .state = PLAIN }, unknown = { .state = UNKNOWN };

static bool constant(const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (!hop_size_const(t->dim[i]))
			return false;
	return true;
}

static void fill(const hop_type *t, laid *l)
{
	int64_t n = 1;
	for (int i = t->rank; i-- > 0; n *= t->dim[i].k ? t->dim[i].k : 1)
		l->stride[i] = n;
}

/* With numbers, whose sizes are constants. */
static laid numbers(const hop_type *t, laid l)
{
	if (l.state == PLAIN)
		fill(t, &l);
	return l;
}

/* Axes of one element say nothing. */
static bool same_strides(const hop_type *t, const laid *x, const laid *y)
{
	for (int i = 0; i < t->rank; i++)
		if (t->dim[i].k > 1 && x->stride[i] != y->stride[i])
			return false;
	return true;
}

static laid settle(const hop_type *t, laid l)
{
	laid c = numbers(t, plain);
	return !l.offset && same_strides(t, &l, &c) ? plain : l;
}

/* ---- views ---- */

/* A view where the axes longer than one stay, or all are in one piece; else PyTorch copies. */
static laid reshaped(const hop_type *in, const hop_type *out, laid l)
{
	laid c = numbers(in, plain), r = l;
	if (same_strides(in, &l, &c)) {
		fill(out, &r);
		return settle(out, r);
	}
	int k = 0;
	for (int i = 0; i < out->rank; i++) {
		r.stride[i] = 1;
		if (out->dim[i].k == 1)
			continue;
		while (k < in->rank && in->dim[k].k == 1)
			k++;
		if (k == in->rank || in->dim[k].k != out->dim[i].k)
			return plain;
		r.stride[i] = l.stride[k++];
	}
	return settle(out, r);
}

static laid viewed(int op, const void *attr, const hop_type *in, const hop_type *out, laid l)
{
	if (l.state == UNKNOWN || (l.state == PLAIN && op == HOP_OP_reshape))
		return l;
	if (!constant(in) || !constant(out))
		return unknown;
	l = numbers(in, l);
	laid r = { .state = STRIDED, .offset = l.offset };
	if (op == HOP_OP_reshape) {
		l.state = STRIDED;
		return reshaped(in, out, l);
	}
	if (op == HOP_OP_permute) {
		const struct hop_attr_permute *a = attr;
		for (int i = 0; i < out->rank; i++)
			r.stride[i] = l.stride[a->axes.v[i]];
	} else if (op == HOP_OP_broadcast) {
		const struct hop_attr_broadcast *a = attr;
		for (int64_t i = 0; i < a->axes.n; i++)
			r.stride[a->axes.v[i]] = l.stride[i];
	} else {
		const struct hop_attr_slice *a = attr;
		for (int i = 0; i < in->rank; i++) {
			int64_t step = a->step.n ? a->step.v[i] : 1;
			if (step < 0)                  /* flipped: a copy there */
				return plain;
			r.offset += a->start.v[i].k * l.stride[i];
			r.stride[i] = step * l.stride[i];
		}
	}
	return settle(out, r);
}

/* ---- ops ---- */

/* Does axis x vary faster than y? The first operand that tells decides; 0 = none does. */
static int faster(const hop_type *t, uint32_t n, const laid *in, int x, int y)
{
	for (uint32_t k = 0; k < n; k++) {
		int64_t a = in[k].stride[x], b = in[k].stride[y];
		if (a && b && a != b)
			return a < b ? 1 : -1;
		if (a && b && t->dim[y].k > t->dim[x].k)
			return 1;
	}
	return 0;
}

/* Results of elementwise ops are dense, their axes in the order of the operands'. */
static laid pointwise(const hop_type *t, uint32_t n, const laid *in)
{
	int axis[HOP_MAXRANK];                         /* the fastest first */
	laid r = { .state = STRIDED };
	for (int i = 0; i < t->rank; i++)
		axis[i] = t->rank - 1 - i;
	for (int i = 1; i < t->rank; i++) {
		int at = i;
		for (int k = i - 1; k >= 0; k--) {
			int f = faster(t, n, in, axis[at], axis[k]);
			if (f < 0)
				break;
			if (f > 0) {
				int was = axis[at];
				axis[at] = axis[k];
				axis[k] = was;
				at = k;
			}
		}
	}
	int64_t size = 1;
	for (int i = 0; i < t->rank; i++) {
		r.stride[axis[i]] = size;
		size *= t->dim[axis[i]].k;
	}
	return settle(t, r);
}

static laid of_node(hop_trace *b, const hop_node *n, const laid *value)
{
	const hop_type *out = hop_typeof(&b->b, n->out0);
	int flags = hop_optab[n->op].flags;
	bool all = true, known = true;
	if (flags & HOP_F_V)
		return viewed(n->op, n->attr, hop_typeof(&b->b, n->in[0]), out, value[n->in[0].id]);
	for (uint32_t k = 0; k < n->nin; k++) {
		all &= value[n->in[k].id].state == PLAIN;
		known &= value[n->in[k].id].state != UNKNOWN;
	}
	if (all)
		return plain;
	if (!known || !(flags & HOP_F_E) || !constant(out))
		return unknown;
	laid *in = HOP_NEWN(&b->root->env.tmp, laid, n->nin);
	for (uint32_t k = 0; k < n->nin; k++)
		in[k] = numbers(out, value[n->in[k].id]);
	return pointwise(out, n->nin, in);
}

/* ---- values of a draft ---- */

/* What was found out of the traces around a body, by their depth. */
typedef struct around {
	const laid *value[HOP_MAXNEST + 1];
} around;

static laid of_cell(hop_trace *t, const hop_cell *c, const laid *value, around *m);
static const laid *of_values(hop_trace *b, const hop_value *init, uint32_t ninit, around *m);

/* A value of a trace around the one looked at. Writes there make it unknown. */
static laid of_outer(hop_trace *o, const hop_cell *c, around *m)
{
	if (o->eager || o->store[c->store].version)
		return unknown;
	if (!m->value[o->depth])
		m->value[o->depth] = of_values(o, NULL, 0, m);
	return of_cell(o, c, m->value[o->depth], m);
}

static hop_trace *owner_of(hop_trace *t, uint32_t serial)
{
	while (t && t->serial != serial)
		t = t->up;
	return t;
}

static laid of_handle(hop_trace *t, hop_value v, around *m)
{
	hop_trace *o = owner_of(t, v.trace);
	return o ? of_outer(o, &o->slot[v.id], m) : unknown;
}

/* A carry is a copy of what it starts with; a slice is contiguous. */
static laid of_param(hop_trace *b, size_t i, const hop_type *type, const hop_value *init,
                     uint32_t ninit, around *m)
{
	if (i >= ninit)
		return !b->site || init || type->rank < 2 ? plain : unknown;
	laid l = of_handle(b->up, init[i], m);
	l.offset = 0;
	return l.state == STRIDED ? settle(type, l) : l;
}

static laid of_leaf(hop_trace *b, size_t i, const hop_value *init, uint32_t ninit, around *m)
{
	const hop_leaf *f = &b->leaf[i];
	const hop_type *type = hop_typeof(&b->b, f->val);
	if (f->kind == HOP_LEAF_PARAM)
		return of_param(b, i, type, init, ninit, m);
	const hop_store *s = &b->store[f->index];
	if (f->kind == HOP_LEAF_VIEW)
		return of_handle(b->up, b->slot[f->slot].outer, m);
	return of_outer(s->owner, &(hop_cell){ .store = s->index, .type = type }, m);
}

/* Two storages that hold one value: one was cloned, and a clone is contiguous. */
static uint8_t *holders(const hop_trace *b)
{
	uint8_t *n = HOP_NEWN(&b->root->env.tmp, uint8_t, b->b.nvalue);
	for (size_t i = 0; i < b->nstore; i++) {
		hop_val v = b->store[i].cur;
		if (b->store[i].owner == b && !hop_is_bad(v) && n[v.id] < 2)
			n[v.id]++;
	}
	return n;
}

/* init: of the carries, which are the first leaves; NULL of a body that is not looked at. */
static const laid *of_values(hop_trace *b, const hop_value *init, uint32_t ninit, around *m)
{
	laid *v = HOP_NEWN(&b->root->env.tmp, laid, b->b.nvalue);
	const uint8_t *held = holders(b);
	for (size_t i = 0; i < b->nleaf; i++)
		v[b->leaf[i].val.id] = of_leaf(b, i, init, ninit, m);
	for (uint32_t i = 0; i < b->b.nnode; i++) {
		const hop_node *n = &b->b.node[i];
		uint8_t own = hop_optab[n->op].flags & HOP_F_V ? 1 : 2;
		laid l = n->nout ? of_node(b, n, v) : plain;
		for (uint32_t k = 0; k < n->nout; k++)
			v[n->out0.id + k] = held[n->out0.id + k] >= own ? plain : l;
	}
	return v;
}

static laid of_cell(hop_trace *t, const hop_cell *c, const laid *value, around *m)
{
	size_t n;
	const hop_store *s = &t->store[c->store];
	laid l = unknown;
	if (s->owner != t && !s->version)
		l = of_outer(s->owner, &(hop_cell){ .store = s->index, .type = s->type }, m);
	else if (s->owner == t && !hop_is_bad(s->cur))
		l = value[s->cur.id];
	const hop_view_step **w = hop_view_steps(&t->root->env, c->view, &n);
	for (size_t i = 0; i < n; i++)
		l = viewed(w[i]->op, w[i]->attr, w[i]->in, w[i]->out, l);
	return l;
}

/* ---- asking ---- */

__attribute__((format(printf, 2, 3)))
static bool refuse(const hop_seen *l, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	hop_seen_refuse(l, l->body->b.loc, true, fmt, ap);
	va_end(ap);
	return false;
}

static bool writes(const hop_trace *b)
{
	for (size_t i = 0; i < b->nstore; i++)
		if (b->store[i].version)
			return true;
	return false;
}

/* Has a result axes to order, or a place to begin at? */
static bool shaped(const hop_trace *b)
{
	for (uint32_t i = 0; i < b->nret; i++)
		if (b->slot[b->ret[i]].view || b->slot[b->ret[i]].type->rank > 1)
			return true;
	return false;
}

static const char *text(const hop_seen *l, const hop_type *t, const laid *x)
{
	char s[600];
	size_t n = (size_t)snprintf(s, sizeof s, "strides [");
	for (int i = 0; i < t->rank && n < sizeof s; i++)
		n += (size_t)snprintf(s + n, sizeof s - n, "%s%lld", i ? ", " : "", (long long)x->stride[i]);
	if (n < sizeof s)
		snprintf(s + n, sizeof s - n, x->offset || !t->rank ? "] from element %lld on" : "]",
		         (long long)x->offset);
	return hop_arena_str(&l->t->arena, s, strlen(s));
}

static const hop_type *result_type(const hop_trace *b, uint32_t i)
{
	return hop_typeof(&b->b, b->out[i]);
}

/* Axes in the order of their strides, without gaps; those that only repeat apart. */
static bool dense(const hop_type *t, const laid *x)
{
	int64_t want = 1;
	uint32_t left = 0;
	for (int i = 0; i < t->rank; i++)
		left |= t->dim[i].k > 1 && x->stride[i] ? 1u << i : 0;
	while (left) {
		int next = -1;
		for (int i = 0; i < t->rank; i++)
			if (left >> i & 1 && x->stride[i] == want)
				next = i;
		if (next < 0)
			return false;
		left &= ~(1u << next);
		want *= t->dim[next].k;
	}
	return true;
}

/* One result of two branches: both of one layout, without gaps. The one that is not contiguous
 * is told. */
static bool alike(const hop_seen *first, const hop_seen *l, const hop_type *t, uint32_t i, laid x,
                  laid y)
{
	const hop_seen *bad = y.state == PLAIN ? first : l, *other = bad == l ? first : l;
	if (!x.state || !y.state || (x.state == PLAIN && y.state == PLAIN))
		return true;
	x = numbers(t, x);
	y = numbers(t, y);
	return (x.offset == y.offset && same_strides(t, &x, &y) && dense(t, &x)) ||
	       refuse(bad, "%s has %s in PyTorch, in %s %s: it wants branches laid out alike, and without "
	              "gaps: hop_clone of it is contiguous", hop_seen_result(bad, i),
	              text(l, t, bad == l ? &y : &x), hop_choice_word(l->t, l->choice, other->arm),
	              text(l, t, bad == l ? &x : &y));
}

bool hop_strict_alike(const hop_seen *first, const hop_seen *l)
{
	hop_arena *tmp = &hop_env_of(l->t)->tmp;
	hop_trace *a = first->body, *b = l->body;
	bool ok = true;
	if (a->nret != b->nret || a->eager || b->eager || writes(a) || writes(b) ||
	    (!shaped(a) && !shaped(b)))
		return true;
	hop_mark m = hop_mark_at(tmp);
	around *r = HOP_NEW(tmp, around);
	const laid *va = of_values(a, NULL, 0, r), *vb = of_values(b, NULL, 0, r);
	for (uint32_t i = 0; ok && i < b->nret; i++) {
		const hop_cell *ca = &a->slot[a->ret[i]], *cb = &b->slot[b->ret[i]];
		const hop_type *t = result_type(b, i);
		if (!ca->weak && !cb->weak && t == result_type(a, i) && constant(t))
			ok = alike(first, l, t, i, of_cell(a, ca, va, r), of_cell(b, cb, vb, r));
	}
	hop_rewind(tmp, m);
	return ok;
}

/* The parameter that carry i is when a step begins. */
static uint32_t param_of(const hop_seen *l, uint32_t i)
{
	const hop_block_state *s = l->body->block;
	const char *name = hop_seen_result(l, i);
	uint32_t k = 0;
	if (!s)
		return i;
	while (k < (uint32_t)s->nvar && strcmp(s->name[k], name))
		k++;
	return k;
}

bool hop_strict_keeps(const hop_seen *l, const hop_value *init)
{
	hop_arena *tmp = &hop_env_of(l->t)->tmp;
	hop_trace *b = l->body;
	bool ok = true;
	if (b->eager || writes(b) || !shaped(b))
		return true;
	hop_mark m = hop_mark_at(tmp);
	around *r = HOP_NEW(tmp, around);
	const laid *v = b->block ? of_values(b, b->block->init, (uint32_t)b->block->nvar, r) :
	                of_values(b, init, l->ncarry, r);
	for (uint32_t i = 0; ok && i < l->ncarry; i++) {
		const hop_cell *c = &b->slot[b->ret[i]];
		const hop_type *t = result_type(b, i);
		uint32_t k = param_of(l, i);
		if (c->weak || k >= b->nin || t != hop_typeof(&b->b, b->leaf[k].val) || !constant(t))
			continue;
		laid x = numbers(t, v[b->leaf[k].val.id]), y = numbers(t, of_cell(b, c, v, r));
		if (x.state && y.state && !same_strides(t, &x, &y))
			ok = refuse(l, "%s has %s in PyTorch when a step ends, %s when it begins: carries keep "
			            "their layout: hop_clone of it is contiguous", hop_seen_result(l, i),
			            text(l, t, &y), text(l, t, &x));
	}
	hop_rewind(tmp, m);
	return ok;
}
