/* block_for.c -- HOP_FOR, HOP_FOR_DOWN and HOP_MAP: a scan or a map whose length is given. What it
 * goes over are the xs of hop_take, found as the block runs; its stacked outputs those of
 * hop_stack. */
#include "trace/block.h"
#include "trace/loop.h"

#include <string.h>

/* Element i of an xs from outside, taken in the body: a parameter of its own. */
struct take {
	hop_value xs;
	hop_val   val;                     /* the parameter in the draft, next after i and those before */
};

struct block {
	hop_block_state      b;
	struct hop_scan_call c;
	enum hop_way         way;
	hop_dim              length;
	hop_value            index;        /* i, in the open scope */
	hop_value            counts;       /* eager: 0, 1, 2 .. */
	hop_trace           *once;         /* body of the first of two captures */
	const hop_type     **type;         /* parameters of the body: variables, i */
	bool                 typed;        /* eager: captured for its types, nothing runs */
	size_t               ntake, takecap;
	struct take         *take;
	uint32_t            *number;       /* per parameter of the draft: its place in the graph */
};

static bool unordered(const hop_block_state *s)
{
	return s->kind == &hop_block_kind_map;
}

static bool is_for(const hop_trace *t)
{
	return hop_block_is(t, &hop_block_kind_for) || hop_block_is(t, &hop_block_kind_map);
}

static hop_val count_up(hop_trace *t, hop_size n)
{
	return hop_emit_iota(&t->b, HOP_i64, 1, &n, 0);
}

/* ---- capturing and running ---- */

static void for_begin(hop_trace *t, hop_block_state *s)
{
	struct block *f = (struct block *)s;
	hop_size n = { f->length.k, f->length.e };
	f->c = (struct hop_scan_call){ .op = s->kind->op, .what = s->kind->name, .block = true,
	        .unordered = unordered(s), .ncarry = s->nvar, .init = s->init,
	        .opts = { .has_length = true, .length = f->length, .reverse = f->way == HOP_DOWN,
	                  .carry = &s->tree } };
	if (t->eager && !n.e && n.k >= 0 && n.k <= HOP_SIZE_MAX) {
		f->counts = hop_value_new(t, count_up(t, n));
		f->c.xs = &f->counts;
		f->c.nx = 1;
	}
	hop_scan_begin(t, &f->c);
	if (t->b.st)
		return;
	f->type = HOP_NEWN(&t->arena, const hop_type *, s->nvar + 1);
	memcpy(f->type, f->c.type, (size_t)s->nvar * sizeof *f->type);
	f->type[s->nvar] = hop_type_scalar(hop_env_of(t), HOP_i64);
	if (t->eager)
		hop_scan_arrays(t, &f->c);
}

static bool open_scope(struct block *f, bool eager)
{
	hop_block_state *s = &f->b;
	hop_value *in;
	f->ntake = s->nstack = 0;
	if (!hop_block_open(s, &(hop_body_args){ .what = s->kind->name, .n = s->nvar + 1, .type = f->type,
	                    .ten = eager ? f->c.ten : NULL, .eager = eager,
	                    .trip = (f->c.opts.reverse ? f->c.total - 1 - f->c.step : f->c.step) + 1,
	                    .ran = f->c.step,
	                    .in_scan = !unordered(s) }, &in))
		return false;
	f->index = in[s->nvar];
	return true;
}

static void for_collect(hop_trace *c, hop_block_state *s)
{
	struct block *f = (struct block *)s;
	hop_block_collect_loop(c, s);
	if (!f->c.out) {
		f->c.cap = s->nvar + (int)s->nstack;
		f->c.out = HOP_NEWN(&s->t->arena, hop_value, f->c.cap);
	}
}

static void finish(struct block *f, bool ok)
{
	hop_block_give(&f->b, ok, ok ? f->c.out + f->c.ncarry : NULL, f->c.steps);
	hop_block_finish(&f->b, ok);
}

/* ---- captured ---- */

/* The storage of xs, as the body sees it; UINT32_MAX for none. */
static uint32_t store_in(hop_trace *body, hop_value xs)
{
	const hop_cell *c = hop_cell_of(body, xs);
	return c ? c->store : UINT32_MAX;
}

/* Where the body writes xs after all, the element is read from what it was when the step began. */
static void read_written(struct block *f, hop_trace *body)
{
	uint32_t n = 0;
	hop_val *to = HOP_NEWN(&body->arena, hop_val, f->ntake);
	for (size_t k = 0; k < f->ntake; k++) {
		uint32_t st = store_in(body, f->take[k].xs);
		to[k] = HOP_BAD;
		if (st == UINT32_MAX || !body->store[st].version)
			continue;
		hop_val entry = hop_store_entry(body, st);
		hop_val x = hop_view_emit(&body->b, hop_cell_of(body, f->take[k].xs)->view, entry);
		to[k] = hop_emit_gather(&body->b, x, body->slot[f->index.id].val, 0, 0);
		n++;
	}
	if (!n || body->b.st)
		return;
	hop_val *map = hop_draft_map(body);
	for (size_t k = 0; k < f->ntake; k++)
		if (!hop_is_bad(to[k]))
			map[f->take[k].val.id] = to[k];
	hop_draft_subst(body, map);
}

/* The xs in the parent, as long as the loop. */
static hop_val operand(hop_trace *t, const struct hop_scan_call *c, hop_value xs)
{
	hop_val x = hop_value_read(t, xs);
	if (hop_is_bad(x) || hop_size_eq(hop_typeof(&t->b, x)->dim[0], c->length))
		return x;
	hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK];
	const hop_type *type = hop_typeof(&t->b, x);
	for (int i = 0; i < type->rank; i++) {
		start[i] = hop_size_int(0);
		dim[i] = i ? type->dim[i] : c->length;
	}
	const char *as = t->b.as;
	t->b.as = "take";                      /* what the window is for, in messages */
	x = hop_emit_slice(&t->b, x, start, dim, NULL);
	t->b.as = as;
	return x;
}

/* The xs are what the closed body reads, in the order of first use. */
static void choose_xs(hop_trace *t, struct hop_scan_call *c, const hop_join *j)
{
	hop_trace *body = j->body[0];
	struct block *f = (struct block *)body->block;
	uint32_t nvar = (uint32_t)f->b.nvar, nc = (uint32_t)c->ncarry;
	hop_val *val = HOP_NEWN(&t->arena, hop_val, nc + f->ntake + 1);
	const hop_type **type = HOP_NEWN(&t->arena, const hop_type *, nc + f->ntake + 1);
	memcpy(val, c->val, nc * sizeof *val);
	memcpy(type, c->type, nc * sizeof *type);
	for (uint32_t i = 0; i < j->norder[0] && !t->b.st; i++) {
		const hop_leaf *l = &body->leaf[j->order[0][i]];
		if (l->kind != HOP_LEAF_PARAM || l->index < nvar)
			continue;
		hop_val x = l->index == nvar ? count_up(t, c->length)
		                             : operand(t, c, f->take[l->index - nvar - 1].xs);
		if (hop_is_bad(x))
			return;
		uint32_t k = 0;
		while (k < (uint32_t)c->nx && !hop_same(val[nc + k], x))
			k++;
		f->number[l->index] = nc + k;
		val[nc + k] = x;
		type[nc + k] = hop_type_drop(hop_env_of(t), hop_typeof(&t->b, x));
		if (k == (uint32_t)c->nx)
			c->nx++;
	}
	c->val = val;
	c->type = type;
	hop_params_renumber(body, f->number);
}

static void capture_end(hop_trace *t, void *arg)
{
	struct block *f = arg;
	hop_block_state *s = &f->b;
	struct hop_scan_call *c = &f->c;
	hop_trace *body = c->body;
	bool *carried = HOP_NEWN(&t->arena, bool, s->nvar);
	hop_field_name *name = HOP_NEWN(&t->arena, hop_field_name, s->nvar);
	int n = 0;

	read_written(f, body);
	f->number = HOP_NEWN(&t->arena, uint32_t, body->nparam);
	memset(f->number, 0xff, body->nparam * sizeof *f->number);
	hop_block_carried(s, 1, &body, carried, f->number);
	if (body->b.st)
		return;
	for (int i = 0; i < s->nvar; i++)
		if (carried[i]) {
			name[n].name = s->name[i];
			c->val[n] = c->val[i];
			c->type[n] = c->type[i];
			c->number[n++] = c->number[i];
		}
	c->ncarry = n;
	c->opts.carry = &(hop_tree){ .count = n, .nfield = n, .field = name };
	c->choose_xs = choose_xs;
	hop_block_keep(s, body, carried);
	hop_scan_end(t, c);
	for (int i = 0; i < s->nvar && !t->b.st; i++)
		*s->var[i] = carried[i] ? c->out[f->number[i]] : s->init[i];
}

static void captured(struct block *f, hop_trace *c)
{
	hop_block_state *s = &f->b;
	if (s->t->root->twice && !f->once) {
		f->once = c;
		f->c.out = NULL;
		return;
	}
	bool ok = !f->once || hop_block_same(s, f->once, c);
	f->c.body = c;
	ok = ok && hop_block_do(s, capture_end, f);
	hop_body_drop(c);
	hop_body_drop(f->once);
	finish(f, ok);
}

/* ---- eager ---- */

/* Variables that no step changed are what they were. */
static void eager_end(hop_trace *t, void *arg)
{
	struct block *f = arg;
	hop_block_state *s = &f->b;
	hop_scan_results(t, &f->c);
	for (int i = 0; i < s->nvar && !t->b.st; i++)
		*s->var[i] = s->changed[i] || !f->c.nrun ? f->c.out[i] : s->init[i];
}

static void eager_finish(struct block *f)
{
	bool ok = hop_block_do(&f->b, eager_end, f);
	hop_loop_release(f->b.t, f->c.ten, (uint32_t)(f->c.ncarry + f->c.nx));
	hop_loop_release(f->b.t, f->c.ys.y, f->c.ys.n);
	finish(f, ok);
}

static void eager_next(struct block *f)
{
	struct hop_scan_call *c = &f->c;
	if (c->step < c->total && !c->stop) {
		if (hop_block_do(&f->b, hop_scan_sliced, c))
			open_scope(f, true);
	} else if (!c->total && !f->typed) {
		f->typed = true;
		open_scope(f, false);
	} else {
		eager_finish(f);
	}
}

static void for_next(hop_block_state *s)
{
	struct block *f = (struct block *)s;
	if (s->t->eager)
		eager_next(f);
	else
		open_scope(f, false);
}

static void for_closed(hop_block_state *s, hop_trace *c)
{
	struct block *f = (struct block *)s;
	if (!s->t->eager) {
		captured(f, c);
		return;
	}
	f->c.body = c;
	hop_block_do(s, f->typed ? hop_scan_typed : hop_scan_stepped, &f->c);
	hop_body_drop(c);
	f->c.body = NULL;
	f->c.step++;
}

const hop_block_kind hop_block_kind_for = {
	.name = "HOP_FOR", .op = "scan", .bytes = sizeof(struct block),
	.begin = for_begin, .next = for_next, .closed = for_closed, .collect = for_collect,
};
const hop_block_kind hop_block_kind_map = {
	.name = "HOP_MAP", .op = "map", .bytes = sizeof(struct block),
	.begin = for_begin, .next = for_next, .closed = for_closed, .collect = for_collect,
};

/* ---- the calls of the macro ---- */

static void fill(hop_block_state *s, const void *arg)
{
	const struct block *f = arg;
	((struct block *)s)->way = f->way;
	((struct block *)s)->length = f->length;
}

hop_at_block hop_block_for(hop_trace *t, const char *file, int line, enum hop_way way,
                           hop_dim length, const char *names, int n, ...)
{
	struct block f = { .way = way, .length = length };
	const hop_block_kind *k = way == HOP_UNORDERED ? &hop_block_kind_map : &hop_block_kind_for;
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, k, names, n, ap, fill, &f);
	va_end(ap);
	return b;
}

bool hop_block_index(hop_at_block *b, hop_value *i)
{
	struct block *f = b->s;
	if (!f || !f->b.scope)
		return false;
	*i = f->index;
	return true;
}

/* ---- hop_take ---- */

struct taking {
	hop_value xs, i, r;
};

/* The scope of the loop that counts with i. */
static hop_trace *loop_of(hop_trace *t, hop_value i)
{
	for (; t; t = t->up)
		if (is_for(t)) {
			hop_value k = ((struct block *)t->block)->index;
			if (k.trace == i.trace && k.id == i.id)
				return t;
		}
	return NULL;
}

/* Is xs a value from outside that nothing up to here has written? */
static bool goes_over(hop_trace *t, hop_trace *loop, hop_value xs)
{
	hop_trace *o = loop->up;
	while (o && o->serial != xs.trace)
		o = o->up;
	if (!o)
		return false;
	for (;; t = t->up) {
		uint32_t s = store_in(t, xs);
		if (s == UINT32_MAX || t->store[s].version)
			return false;
		if (t == loop)
			return true;
	}
}

/* The number of xs among those that are taken from. */
static size_t take_of(struct block *f, hop_value xs)
{
	size_t k = 0;
	while (k < f->ntake && (f->take[k].xs.trace != xs.trace || f->take[k].xs.id != xs.id))
		k++;
	if (k == f->ntake) {
		f->take = hop_arena_grow(&f->b.t->arena, f->take, sizeof *f->take, k + 1, &f->takecap);
		f->take[k] = (struct take){ xs, HOP_BAD };
		f->ntake++;
	}
	return k;
}

/* Strict captures ask what a value is an element of. */
static hop_value taken(hop_trace *t, hop_val v, size_t k)
{
	hop_value r = hop_value_new(t, v);
	if (r.trace)
		t->store[t->slot[r.id].store].take = (uint32_t)k + 1;
	return r;
}

static hop_value parameter(hop_trace *loop, hop_value xs, const hop_type *type)
{
	struct block *f = (struct block *)loop->block;
	size_t k = take_of(f, xs);
	if (hop_is_bad(f->take[k].val))
		f->take[k].val = hop_param_new(loop, hop_type_drop(hop_env_of(loop), type));
	return taken(loop, f->take[k].val, k);
}

static void make_take(hop_trace *t, void *arg)
{
	struct taking *x = arg;
	const hop_type *type = hop_value_type(t, x->xs);
	hop_trace *loop = loop_of(t, x->i);
	if (!type)
		return;
	if (!type->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "take: %s has no axis to take from", hop_type_text(t, type));
		return;
	}
	if (loop) {
		hop_size n = ((struct block *)loop->block)->c.length;
		if (hop_build_holds(&t->b, HOP_LE, n, type->dim[0]) == HOP_NEVER) {
			hop_trace_fail(t, HOP_ESHAPE, "take: %s is shorter than its loop, of length %lld",
			               hop_type_text(t, type), (long long)n.k);
			return;
		}
	}
	bool over = loop && goes_over(t, loop, x->xs);
	if (over && !loop->eager) {
		x->r = parameter(loop, x->xs, type);
		return;
	}
	hop_val v = hop_value_read(t, x->xs);
	hop_val i = t->b.st ? HOP_BAD : hop_promote_whole(t, x->i, "the index");
	if (t->b.st)
		return;
	if (hop_typeof(&t->b, i)->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "take: the index is %s, not a scalar",
		               hop_type_text(t, hop_typeof(&t->b, i)));
		return;
	}
	v = hop_emit_gather(&t->b, v, i, 0, 0);
	x->r = over ? taken(t, v, take_of((struct block *)loop->block, x->xs)) : hop_value_new(t, v);
}

hop_value hop_at_take(hop_trace *t, const char *file, int line, hop_value xs, hop_value i)
{
	struct taking x = { .xs = xs, .i = i };
	return hop_enter(t, "take", file, line, make_take, &x) ? x.r : HOP_NONE;
}

/* ---- options ---- */

static void make_every(hop_trace *t, void *arg)
{
	int k = *(int *)arg;
	if (!hop_block_is(t, &hop_block_kind_for))
		hop_trace_fail(t, HOP_EUSE, "every: it belongs directly into HOP_FOR, this is %s", t->what);
	else if (k && ((struct block *)t->block)->c.opts.slots)
		hop_trace_fail(t, HOP_EUSE, "every: the loop has slots already: give one of them");
	else if (k < HOP_EVERY_SQRT)
		hop_trace_fail(t, HOP_EVALUE, "every: %d: 0 keeps all, k each k-th carry, -1 about as many "
		               "as it leaves out", k);
	else
		((struct block *)t->block)->c.opts.every = k;
}

void hop_at_every(hop_trace *t, const char *file, int line, int k)
{
	hop_enter(t, "every", file, line, make_every, &k);
}

void hop_block_for_slots(hop_trace *t, int n)
{
	hop_scan_opts *o = &((struct block *)t->block)->c.opts;
	if (o->every)
		hop_trace_fail(t, HOP_EUSE, "slots: the loop has every already: give one of them");
	else
		o->slots = n;
}

static void make_unroll(hop_trace *t, void *arg)
{
	int k = *(int *)arg;
	if (!hop_block_is(t, &hop_block_kind_for))
		hop_trace_fail(t, HOP_EUSE, "unroll: it belongs directly into HOP_FOR, this is %s", t->what);
	else if (k < 0)
		hop_trace_fail(t, HOP_EVALUE, "unroll: %d: it is how many steps of the block one step of the "
		               "loop runs", k);
	else
		((struct block *)t->block)->c.opts.unroll = k;
}

void hop_at_unroll(hop_trace *t, const char *file, int line, int k)
{
	hop_enter(t, "unroll", file, line, make_unroll, &k);
}

static void make_chunk(hop_trace *t, void *arg)
{
	int k = *(int *)arg;
	if (!hop_block_is(t, &hop_block_kind_map))
		hop_trace_fail(t, HOP_EUSE, "chunk: it belongs directly into HOP_MAP, this is %s", t->what);
	else if (k < 0)
		hop_trace_fail(t, HOP_EVALUE, "chunk: %d: it is how many steps are batched", k);
	else
		((struct block *)t->block)->c.chunk = k;
}

void hop_at_chunk(hop_trace *t, const char *file, int line, int k)
{
	hop_enter(t, "chunk", file, line, make_chunk, &k);
}
