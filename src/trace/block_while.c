/* block_while.c -- HOP_WHILE. Captured, its test and its statements run once each; eagerly they run
 * turn by turn, each in a scope of its own. */
#include "trace/block.h"
#include "trace/loop.h"

struct block {
	hop_block_state       b;
	struct hop_while_call c;
	bool                  testing;     /* the open scope is the test's */
	bool                  typed;       /* eager: the block is captured for its types, nothing ran */
	hop_value             test;        /* and this its value */
	hop_trace            *once[2];     /* test and body of the first of two captures */
};

static void while_begin(hop_trace *t, hop_block_state *s)
{
	struct block *w = (struct block *)s;
	w->c = (struct hop_while_call){ .op = s->kind->op, .what = s->kind->name, .ncarry = s->nvar,
	                                .init = s->init, .block = true, .stacks = true };
	hop_while_begin(t, &w->c);
	w->c.opts.carry = &s->tree;
	if (t->eager)
		hop_while_arrays(t, &w->c);
}

static bool open_scope(struct block *w, bool test)
{
	bool eager = w->b.t->eager && !w->typed;
	w->testing = test;
	if (!test)
		w->b.nstack = 0;
	return hop_block_open(&w->b, &(hop_body_args){ .what = w->b.kind->name, .n = w->b.nvar,
	                      .type = w->c.type, .ten = eager ? w->c.ten : NULL, .eager = eager,
	                      .trip = w->c.count + 1, .ran = w->c.count }, NULL);
}

static void while_next(hop_block_state *s)
{
	open_scope((struct block *)s, true);
}

/* ---- the end ---- */

/* The lists of the call without the variables that are not carried. */
static void drop_rest(struct hop_while_call *c, int n, const bool *carried)
{
	int k = 0;
	for (int i = 0; i < n; i++)
		if (carried[i]) {
			c->val[k] = c->val[i];
			c->type[k] = c->type[i];
			c->number[k] = c->number[i];
			c->store[k++] = (uint32_t)i;
		}
	c->ncarry = k;
}

static void capture_end(hop_trace *t, void *arg)
{
	struct block *w = arg;
	hop_block_state *s = &w->b;
	struct hop_while_call *c = &w->c;
	hop_trace *body[2] = { c->test, c->body };
	bool *carried = HOP_NEWN(&t->arena, bool, s->nvar);
	uint32_t *number = HOP_NEWN(&t->arena, uint32_t, s->nvar);
	hop_field_name *name = HOP_NEWN(&t->arena, hop_field_name, s->nvar);

	for (int i = 0; i < s->nvar; i++)
		s->changed[i] |= c->test->store[i].version != 0;
	int n = hop_block_carried(s, 2, body, carried, number);
	if (c->test->b.st || c->body->b.st)
		return;
	for (int i = 0; i < s->nvar; i++)
		if (carried[i])
			name[number[i]].name = s->name[i];
	drop_rest(c, s->nvar, carried);
	c->opts.carry = &(hop_tree){ .count = n, .nfield = n, .field = name };
	hop_params_renumber(c->test, number);
	hop_params_renumber(c->body, number);
	hop_block_keep(s, c->body, carried);
	hop_while_end(t, c);
	for (int i = 0; i < s->nvar && !t->b.st; i++)
		*s->var[i] = carried[i] ? c->out[number[i]] : s->init[i];
}

/* Variables that no trip changed are what they were. */
static void eager_end(hop_trace *t, void *arg)
{
	struct block *w = arg;
	hop_block_state *s = &w->b;
	hop_while_results(t, &w->c);
	for (int i = 0; i < s->nvar && !t->b.st; i++)
		*s->var[i] = s->changed[i] || !w->c.count ? w->c.out[i] : s->init[i];
}

static void end(struct block *w, hop_make_fn *last)
{
	hop_block_state *s = &w->b;
	bool ok = hop_block_do(s, last, w);
	hop_body_drop(w->c.body);
	hop_body_drop(w->c.test);
	if (s->t->eager) {
		hop_loop_release(s->t, w->c.ten, (uint32_t)s->nvar);
		hop_loop_release(s->t, w->c.ys.y, w->c.ys.n);
	}
	hop_block_give(s, ok, ok ? w->c.out + w->c.ncarry : NULL, w->c.trips);
	hop_block_finish(s, ok);
}

/* ---- scopes ---- */

/* The block runs a second time: what the first one recorded is kept for the comparison. */
static bool again(struct block *w)
{
	if (w->once[0] || !w->b.t->root->twice)
		return false;
	w->once[0] = w->c.test;
	w->once[1] = w->c.body;
	w->c.test = w->c.body = NULL;
	return true;
}

static void compare(struct block *w)
{
	if (!w->once[0])
		return;
	hop_block_same(&w->b, w->once[0], w->c.test);
	hop_block_same(&w->b, w->once[1], w->c.body);
	hop_body_drop(w->once[1]);
	hop_body_drop(w->once[0]);
}

static void while_closed(hop_block_state *s, hop_trace *c)
{
	struct block *w = (struct block *)s;
	w->c.body = c;
	if (s->t->eager) {
		bool ok = hop_block_do(s, w->typed ? hop_while_typed : hop_while_stepped, &w->c);
		hop_body_drop(c);
		w->c.body = NULL;
		if (ok && w->typed)
			end(w, eager_end);
	} else if (!again(w)) {
		compare(w);
		end(w, capture_end);
	}
}

/* The test is closed: what follows? */
static bool tested(struct block *w, hop_trace *test)
{
	struct hop_while_call *c = &w->c;
	hop_block_state *s = &w->b;
	c->test = test;
	if (!s->t->eager)
		return open_scope(w, false);
	bool ok = hop_block_do(s, hop_while_tested, c);
	hop_body_drop(test);
	c->test = NULL;
	if (!ok)
		return false;
	if (c->go && (!c->opts.max_trips || c->count < c->opts.max_trips))
		return open_scope(w, false);
	w->typed = !c->count;
	if (w->typed)
		return open_scope(w, false);
	end(w, eager_end);
	return false;
}

static void while_collect(hop_trace *c, hop_block_state *s)
{
	struct block *w = (struct block *)s;
	for (int i = 0; w->testing && i < s->nvar; i++)
		if (s->var[i]->trace != s->bound[i].trace || s->var[i]->id != s->bound[i].id) {
			hop_trace_fail(c, HOP_EUSE, "%s: the test assigns %s: only the block may do so",
			               s->kind->name, s->name[i]);
			return;
		}
	if (w->testing) {
		hop_set_results(c, 1, &w->test);
		return;
	}
	if (s->nstack && !w->c.opts.max_trips) {
		hop_trace_fail(c, HOP_EUSE, "stack: a HOP_WHILE has room for what it stacks if it has a "
		               "bound: call hop_bound in it");
		return;
	}
	hop_block_collect_loop(c, s);
	if (!w->c.out) {
		w->c.cap = s->nvar + (int)s->nstack;
		w->c.out = HOP_NEWN(&s->t->arena, hop_value, w->c.cap);
	}
}

const hop_block_kind hop_block_kind_while = {
	.name = "HOP_WHILE", .op = "while", .bytes = sizeof(struct block),
	.begin = while_begin, .next = while_next, .closed = while_closed, .collect = while_collect,
};

bool hop_block_test(hop_at_block *b, hop_value test)
{
	struct block *w = b->s;
	if (!w || !w->b.scope)
		return false;
	if (!w->testing)
		return true;
	w->test = test;
	hop_trace *c = hop_block_close(&w->b);
	if (c && tested(w, c))
		return true;
	if (!w->b.over)
		hop_block_finish(&w->b, false);
	return false;
}

hop_at_block hop_block_while(hop_trace *t, const char *file, int line, const char *names,
                             int n, ...)
{
	va_list ap;
	va_start(ap, n);
	hop_at_block b = hop_block_new(t, file, line, &hop_block_kind_while, names, n, ap, NULL, NULL);
	va_end(ap);
	return b;
}

/* ---- options ---- */

static void make_bound(hop_trace *t, void *arg)
{
	int64_t n = *(int64_t *)arg;
	if (!hop_block_is(t, &hop_block_kind_while))
		hop_trace_fail(t, HOP_EUSE, "bound: it belongs directly into HOP_WHILE, this is %s", t->what);
	else if (n < 1)
		hop_trace_fail(t, HOP_EVALUE, "bound: %lld trips", (long long)n);
	else
		((struct block *)t->block)->c.opts.max_trips = n;
}

void hop_at_bound(hop_trace *t, const char *file, int line, int64_t n)
{
	hop_enter(t, "bound", file, line, make_bound, &n);
}

static void make_slots(hop_trace *t, void *arg)
{
	int n = *(int *)arg;
	if (!hop_block_is(t, &hop_block_kind_while) && !hop_block_is(t, &hop_block_kind_for))
		hop_trace_fail(t, HOP_EUSE, "slots: it belongs directly into HOP_WHILE or HOP_FOR, this is "
		               "%s", t->what);
	else if (n < 1)
		hop_trace_fail(t, HOP_EVALUE, "slots: %d: reverse mode keeps at least 1 state", n);
	else if (hop_block_is(t, &hop_block_kind_for))
		hop_block_for_slots(t, n);
	else
		((struct block *)t->block)->c.opts.slots = n;
}

void hop_at_slots(hop_trace *t, const char *file, int line, int n)
{
	hop_enter(t, "slots", file, line, make_slots, &n);
}

static void make_lanes(hop_trace *t, void *arg)
{
	enum hop_lanes_how how = *(enum hop_lanes_how *)arg;
	if (!hop_block_is(t, &hop_block_kind_while))
		hop_trace_fail(t, HOP_EUSE, "lanes: it belongs directly into HOP_WHILE, this is %s", t->what);
	else if ((unsigned)how >= HOP_NHOW)
		hop_trace_fail(t, HOP_EVALUE, "lanes: there is no way %d: give one of enum hop_lanes_how",
		               (int)how);
	else
		((struct block *)t->block)->c.opts.lanes = how;
}

void hop_at_lanes(hop_trace *t, const char *file, int line, enum hop_lanes_how how)
{
	hop_enter(t, "lanes", file, line, make_lanes, &how);
}
