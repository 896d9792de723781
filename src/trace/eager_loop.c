/* eager_loop.c -- while and scan run directly: each trip is a scope of its own, opened with
 * real arrays and closed before the next. Nothing is captured, except when a scan has no
 * step to show the types of its outputs. */
#include "trace/loop.h"

#include <string.h>

/* The array takes the place of what is there. */
static void replace(hop_trace *t, hop_array **at, hop_array *x)
{
	hop_array_retain(x);
	if (*at)
		hop_interp_release(&t->root->ip, *at);
	*at = x;
}

void hop_loop_release(hop_trace *t, hop_array **x, uint32_t n)
{
	for (uint32_t i = 0; x && i < n; i++)
		if (x[i])
			hop_interp_release(&t->root->ip, x[i]);
}

/* A child's draft may have failed or gained nodes in a check; make both final. */
static bool settled(hop_trace *t, hop_trace *child)
{
	if (!child->b.st)
		hop_eager_settle(child);
	if (child->b.st && !t->b.st)
		t->b.st = child->b.st;
	return !t->b.st;
}

/* ---- rows that are stacked ---- */

/* Where the rows of one step go. */
struct stacking {
	const char *op;
	uint32_t    first;                 /* results of the body before those that are stacked */
	int64_t     rows, place, step;     /* there is room for; of this step; its number, for messages */
};

static bool make_rows(hop_trace *t, struct hop_rows *r, const struct stacking *s, hop_trace *body)
{
	r->n = body->nret - s->first;
	r->y = HOP_NEWN(&t->arena, hop_array *, r->n);
	for (uint32_t i = 0; i < r->n; i++) {
		const hop_type *y = hop_typeof(&body->b, body->out[s->first + i]);
		int64_t dim[HOP_MAXRANK + 1] = { s->rows };
		for (int d = 0; d < y->rank; d++)
			dim[d + 1] = y->dim[d].k;
		if (y->rank == HOP_MAXRANK) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: output %u has %d axes already", s->op, i,
			               HOP_MAXRANK);
			return false;
		}
		r->y[i] = hop_interp_new(&t->root->ip, (hop_dtype)y->dtype, y->rank + 1, dim);
	}
	return true;
}

static void put_row(hop_trace *t, const struct stacking *s, uint32_t i, hop_array *y,
                    const hop_array *row)
{
	size_t bytes = (size_t)row->count * hop_dtype_bytes(row->dtype);
	bool fits = y->dtype == row->dtype && y->rank == row->rank + 1;
	for (int d = 0; fits && d < row->rank; d++)
		fits = y->dim[d + 1] == row->dim[d];
	if (!fits)
		hop_trace_fail(t, HOP_ESHAPE, "%s: output %u has another type in step %lld", s->op, i,
		               (long long)s->step);
	else if (bytes)
		memcpy((char *)y->data + (size_t)s->place * bytes, row->data, bytes);
}

/* The first step makes them. */
static bool put_rows(hop_trace *t, struct hop_rows *r, const struct stacking *s, hop_trace *body)
{
	if (!r->y && !make_rows(t, r, s, body))
		return false;
	if (body->nret != s->first + r->n) {
		hop_trace_fail(t, HOP_ETYPE, "%s: step %lld gives %u results, the first gave %u", s->op,
		               (long long)s->step, body->nret, s->first + r->n);
		return false;
	}
	for (uint32_t i = 0; i < r->n; i++)
		put_row(t, s, i, r->y[i], hop_eager_array(body, body->out[s->first + i]));
	return !t->b.st;
}

/* ---- while ---- */

void hop_while_arrays(hop_trace *t, void *arg)
{
	struct hop_while_call *c = arg;
	hop_eager_settle(t);
	if (t->b.st)
		return;
	c->ten = HOP_NEWN(&t->arena, hop_array *, c->ncarry);
	for (int i = 0; i < c->ncarry; i++)
		c->ten[i] = hop_array_retain(hop_eager_array(t, c->val[i]));
}

/* The test may have written to its carries, too. */
void hop_while_tested(hop_trace *t, void *arg)
{
	struct hop_while_call *c = arg;
	hop_trace *test = c->test;
	if (!hop_while_test_ok(t, c, test))
		return;
	c->go = hop_array_i(hop_eager_array(test, test->out[0]), 0) != 0;
	for (int i = 0; i < c->ncarry; i++)
		replace(t, &c->ten[i], hop_eager_array(test, test->store[i].cur));
	hop_eager_commit(t, test);
}

void hop_while_stepped(hop_trace *t, void *arg)
{
	struct hop_while_call *c = arg;
	struct stacking s = { "while", (uint32_t)c->ncarry, c->opts.max_trips, c->count, c->count };
	if (!hop_while_body_ok(t, c, c->body) || !settled(t, c->body) ||
	    !put_rows(t, &c->ys, &s, c->body))
		return;
	for (int i = 0; i < c->ncarry; i++)
		replace(t, &c->ten[i], hop_eager_array(c->body, c->body->out[i]));
	hop_eager_commit(t, c->body);
	c->count++;
}

void hop_while_typed(hop_trace *t, void *arg)
{
	struct hop_while_call *c = arg;
	struct stacking s = { "while", (uint32_t)c->ncarry, c->opts.max_trips, 0, 0 };
	if (hop_while_body_ok(t, c, c->body))
		make_rows(t, &c->ys, &s, c->body);
}

void hop_while_results(hop_trace *t, void *arg)
{
	struct hop_while_call *c = arg;
	for (int i = 0; i < c->ncarry; i++)
		c->out[i] = hop_value_new(t, hop_eager_leaf(t, hop_array_retain(c->ten[i])));
	for (uint32_t i = 0; i < c->ys.n; i++)
		c->out[c->ncarry + (int)i] = hop_value_new(t, hop_eager_leaf(t,
		                                           hop_array_retain(c->ys.y[i])));
	c->trips = hop_value_new(t, hop_emit_const_i(&t->b, HOP_i64, c->count));
	c->n = t->b.st ? 0 : c->ncarry + (int)c->ys.n;
}

/* One scope: run, let `step` take its results, close. */
static bool scope(hop_trace *t, const char *file, int line, const hop_body_args *a,
                  hop_make_fn *step, void *arg, hop_trace **at)
{
	*at = hop_body_run(t, file, line, a);
	bool ok = *at && hop_enter(t, NULL, file, line, step, arg);
	hop_body_drop(*at);
	*at = NULL;
	return ok;
}

bool hop_while_eager(hop_trace *t, const char *file, int line, struct hop_while_call *c)
{
	bool ok = hop_enter(t, NULL, file, line, hop_while_arrays, c);
	while (ok) {
		hop_body_args a = { .fn = c->test_fn, .user = c->user, .what = "the test of while",
		                    .n = c->ncarry, .ten = c->ten, .eager = true,
		                    .trip = c->count + 1, .ran = c->count };
		ok = scope(t, file, line, &a, hop_while_tested, c, &c->test);
		if (!ok || !c->go || (c->opts.max_trips && c->count == c->opts.max_trips))
			break;
		a.fn = c->body_fn;
		a.what = c->what;
		ok = scope(t, file, line, &a, hop_while_stepped, c, &c->body);
	}
	if (ok && c->stacks && !c->count) {
		hop_body_args a = { .fn = c->body_fn, .user = c->user, .what = c->what,
		                    .n = c->ncarry, .type = c->type };
		ok = scope(t, file, line, &a, hop_while_typed, c, &c->body);
	}
	ok = ok && hop_enter(t, NULL, file, line, hop_while_results, c);
	hop_loop_release(t, c->ten, (uint32_t)c->ncarry);
	hop_loop_release(t, c->ys.y, c->ys.n);
	return ok;
}

/* ---- scan ---- */

void hop_scan_arrays(hop_trace *t, void *arg)
{
	struct hop_scan_call *c = arg;
	int n = c->ncarry + c->nx;
	hop_eager_settle(t);
	if (t->b.st)
		return;
	c->ten = HOP_NEWN(&t->arena, hop_array *, n);
	for (int i = 0; i < c->ncarry; i++)
		c->ten[i] = hop_array_retain(hop_eager_array(t, c->val[i]));
	c->total = c->length.k;
	if (c->opts.counted) {
		int64_t k = hop_array_i(hop_eager_array(t, c->count), 0);
		c->total = k < 0 ? 0 : k < c->total ? k : c->total;
	}
}

static int64_t place_of(const struct hop_scan_call *c)
{
	return c->opts.reverse ? c->total - 1 - c->step : c->step;
}

/* The slices of this step: rows, since the scanned axis is the first. */
void hop_scan_sliced(hop_trace *t, void *arg)
{
	struct hop_scan_call *c = arg;
	hop_interp *p = &t->root->ip;
	for (int i = 0; i < c->nx; i++) {
		const hop_array *x = hop_eager_array(t, c->val[c->ncarry + i]);
		hop_array *row = hop_interp_new(p, x->dtype, x->rank - 1, x->dim + 1);
		size_t bytes = (size_t)row->count * hop_dtype_bytes(x->dtype);
		if (bytes)
			memcpy(row->data, (const char *)x->data + (size_t)place_of(c) * bytes, bytes);
		replace(t, &c->ten[c->ncarry + i], row);
		hop_interp_release(p, row);
	}
}

static struct stacking stacking_of(const struct hop_scan_call *c)
{
	return (struct stacking){ c->op, (uint32_t)c->ncarry, c->length.k, place_of(c), c->step };
}

static bool room(hop_trace *t, const struct hop_scan_call *c, const hop_trace *body)
{
	if (body->nret <= (uint32_t)c->cap)
		return true;
	hop_trace_fail(t, HOP_EUSE, "%s: gives %u results, there is room for %d", c->op, body->nret,
	               c->cap);
	return false;
}

void hop_scan_stepped(hop_trace *t, void *arg)
{
	struct hop_scan_call *c = arg;
	hop_trace *b = c->body;
	uint32_t nc = (uint32_t)c->ncarry;
	struct stacking s = stacking_of(c);
	if (!hop_scan_body_ok(t, c, b) || !settled(t, b) ||
	    (!c->ys.y && !room(t, c, b)) || (c->unordered && !hop_body_pure(t, b, c->op)) ||
	    !put_rows(t, &c->ys, &s, b))
		return;
	for (uint32_t i = 0; i < nc; i++)
		replace(t, &c->ten[i], hop_eager_array(b, b->out[i]));
	if (!hop_is_bad(b->stop))
		c->stop = hop_array_i(hop_eager_array(b, b->stop), 0) != 0;
	hop_eager_commit(t, b);
	c->nrun++;
}

/* No step will run: the body is captured for the types of its outputs. */
void hop_scan_typed(hop_trace *t, void *arg)
{
	struct hop_scan_call *c = arg;
	struct stacking s = stacking_of(c);
	if (hop_scan_body_ok(t, c, c->body) && room(t, c, c->body) &&
	    (!c->unordered || hop_body_pure(t, c->body, c->op)))
		make_rows(t, &c->ys, &s, c->body);
}

void hop_scan_results(hop_trace *t, void *arg)
{
	struct hop_scan_call *c = arg;
	uint32_t nc = (uint32_t)c->ncarry;
	for (uint32_t i = 0; i < nc; i++)
		c->out[i] = hop_value_new(t, hop_eager_leaf(t, hop_array_retain(c->ten[i])));
	for (uint32_t i = 0; i < c->ys.n; i++)
		c->out[nc + i] = hop_scan_stacked(t, c,
		                                  hop_eager_leaf(t, hop_array_retain(c->ys.y[i])));
	c->steps = hop_value_new(t, hop_emit_const_i(&t->b, HOP_i64, c->nrun));
	c->n = t->b.st ? 0 : (int)(nc + c->ys.n);
}

bool hop_scan_eager(hop_trace *t, const char *file, int line, struct hop_scan_call *c,
                    const hop_body_args *body)
{
	hop_body_args a = *body;
	bool ok = hop_enter(t, NULL, file, line, hop_scan_arrays, c);
	if (ok && !c->total)
		ok = scope(t, file, line, &a, hop_scan_typed, c, &c->body);
	a.ten = c->ten;
	a.eager = true;
	for (; ok && c->step < c->total && !c->stop; c->step++) {
		a.trip = place_of(c) + 1;
		a.ran = c->step;
		ok = hop_enter(t, NULL, file, line, hop_scan_sliced, c) &&
		     scope(t, file, line, &a, hop_scan_stepped, c, &c->body);
	}
	ok = ok && hop_enter(t, NULL, file, line, hop_scan_results, c);
	hop_loop_release(t, c->ten, (uint32_t)(c->ncarry + c->nx));
	hop_loop_release(t, c->ys.y, c->ys.n);
	return ok;
}
