/* object_test.c -- objects of the host: methods in order, handles as carries, choices, lanes, inputs and
 * results, and handles of what is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;
static int destroyed;

enum way { COMPILED, INTERPRETED, EAGER, NWAY };
#define OK(e) do { if (e) fail_msg("%s: %s", #e, hop_message(ctx)); } while (0)

/* ---- a queue of numbers ---- */

typedef struct queue {
	double v[64];
	int    n, at;
} queue;

static hop_status push(void *self, const hop_host_call *c)
{
	queue *q = self;
	if (q->n == 64)
		return hop_host_fail(c, HOP_EVALUE, "the queue is full");
	q->v[q->n++] = *(const double *)c->in[0].data;
	return HOP_OK;
}

static hop_status pop(void *self, const hop_host_call *c)
{
	queue *q = self;
	if (q->at == q->n)
		return hop_host_fail(c, HOP_EVALUE, "the queue is empty");
	*(double *)c->out[0].data = q->v[q->at++];
	return HOP_OK;
}

static hop_status length(void *self, const hop_host_call *c)
{
	const queue *q = self;
	*(int64_t *)c->out[0].data = q->n - q->at;
	return HOP_OK;
}

static void length_shape(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);          /* an i64 scalar, as the handle is */
}

static void destroy(void *self)
{
	destroyed++;
	free(self);
}

static int64_t new_queue(int n, const double *v)
{
	queue *q = calloc(1, sizeof *q);
	int64_t h;
	for (int i = 0; i < n; i++)
		q->v[q->n++] = v[i];
	OK(hop_object_new(ctx, "queue", q, &h));
	return h;
}

static const queue *self(int64_t h)
{
	return hop_object_self(ctx, "queue", h);
}

/* ---- programs: the handle is input 0 ---- */

static void push_in(hop_trace *t, hop_value q, hop_value x)
{
	hop_method(t, "queue.push", q, 1, &x, 0, NULL, NULL);
}

static hop_value pop_from(hop_trace *t, hop_value q)
{
	hop_result r = hop_result_of(HOP_f64, 0, NULL);
	hop_value x;
	hop_method(t, "queue.pop", q, 0, NULL, 1, &r, &x);
	return x;
}

static hop_value length_of(hop_trace *t, hop_value q)
{
	hop_value n;
	hop_method(t, "queue.length", q, 0, NULL, 1, NULL, &n);
	return n;
}

/* Pushes 1, 2, 3, pops two: 1 + 10 * 2, and one is left. */
static void in_order(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	HOP_FOR(t, i, 3)
		push_in(t, in[0], hop_add(t, hop_cast(t, i, HOP_f64), hop_f(t, 1)));
	hop_value a = pop_from(t, in[0]), b = pop_from(t, in[0]);
	hop_return(t, hop_add(t, a, hop_mulf(t, b, 10)), length_of(t, in[0]));
}

/* The handle is a carry: two queues, exchanged at each step; gives the one that is first. */
static void exchanged(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], b = in[1];
	(void)user;
	HOP_FOR(t, i, 3, a, b) {
		push_in(t, a, hop_cast(t, i, HOP_f64));
		hop_value c = a;
		a = b;
		b = c;
	}
	hop_return(t, a);
}

static void chosen(hop_trace *t, const hop_value *in, void *user)
{
	hop_value q = in[0];
	(void)user;
	HOP_IF(t, hop_gt(t, length_of(t, in[0]), length_of(t, in[1])), q)
		q = in[1];
	push_in(t, q, hop_cast(t, hop_f(t, 5), HOP_f64));
	hop_return(t, q);
}

static void lanes(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, pop_from(t, in[0]));
}

/* ---- running ---- */

static hop_status go(hop_body *f, enum way w, int nin, const int64_t *h, int nout, hop_array **y)
{
	hop_array *x[2];
	hop_spec spec[2] = { hop_spec0(HOP_i64), hop_spec0(HOP_i64) };
	hop_fn *fn;
	hop_status st;
	for (int i = 0; i < nin; i++)
		OK(hop_array_new(ctx, HOP_i64, 0, NULL, &h[i], &x[i]));
	if (w == EAGER) {
		st = hop_eager_call(ctx, f, NULL, nin, x, nout, y);
	} else {
		OK(hop_capture(ctx, f, NULL, nin, spec, &fn));
		st = hop_call_with(fn, nin, x, nout, y, HOP_RUN_OPTS(.interpret = w == INTERPRETED));
		hop_fn_release(fn);
	}
	for (int i = 0; i < nin; i++)
		hop_array_release(x[i]);
	return st;
}

static double number(hop_array *a)
{
	double v = hop_array_dtype(a) == HOP_i64 ? (double)*(const int64_t *)hop_array_data(a)
	                                         : *(const double *)hop_array_data(a);
	hop_array_release(a);
	return v;
}

static void test_order(void **state)
{
	(void)state;
	for (enum way w = 0; w < NWAY; w++) {
		int64_t q = new_queue(0, NULL);
		hop_array *y[2];
		OK(go(in_order, w, 1, &q, 2, y));
		assert_true(number(y[0]) == 21);
		assert_true(number(y[1]) == 1);
		hop_object_release(ctx, q);
	}
	assert_int_equal(destroyed, NWAY);
}

static void test_handles(void **state)
{
	(void)state;
	for (enum way w = 0; w < NWAY; w++) {
		int64_t q[2] = { new_queue(0, NULL), new_queue(0, NULL) };
		hop_array *y;
		OK(go(exchanged, w, 2, q, 1, &y));
		assert_true(*(const int64_t *)hop_array_data(y) == q[1]);
		hop_array_release(y);
		assert_true(self(q[0])->n == 2 && self(q[1])->n == 1 && self(q[1])->v[0] == 1);
		OK(go(chosen, w, 2, q, 1, &y));
		assert_true(*(const int64_t *)hop_array_data(y) == q[1] && self(q[1])->v[1] == 5);
		hop_array_release(y);
		hop_object_release(ctx, q[0]);
		hop_object_release(ctx, q[1]);
	}
}

/* Each lane has an object of its own; two of them the same. */
static void test_lanes(void **state)
{
	const double v[4] = { 1, 2, 3, 4 };
	hop_spec spec = hop_spec0(HOP_i64);
	hop_fn *f, *vf;
	(void)state;
	OK(hop_capture(ctx, lanes, NULL, 1, &spec, &f));
	OK(hop_vmap(f, (bool[]){ true }, 3, &vf));
	for (int interpret = 0; interpret < 2; interpret++) {
		int64_t a = new_queue(2, v), b = new_queue(2, v + 2), q[3] = { a, b, a };
		hop_array *x, *y;
		OK(hop_array_new(ctx, HOP_i64, 1, (int64_t[]){ 3 }, q, &x));
		OK(hop_call_with(vf, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = interpret)));
		const double *got = hop_array_data(y);
		assert_true(got[0] == 1 && got[1] == 3 && got[2] == 2);
		hop_array_release(x), hop_array_release(y);
		hop_object_release(ctx, a), hop_object_release(ctx, b);
	}
	hop_fn_release(f), hop_fn_release(vf);
}

/* An object of a program's own, as a constant of it. */
static void kept(hop_trace *t, const hop_value *in, void *user)
{
	(void)in;
	hop_return(t, pop_from(t, hop_object(t, *(int64_t *)user)));
}

static void wrong_type(hop_trace *t, const hop_value *in, void *user)
{
	(void)in, (void)user;
	pop_from(t, hop_f(t, 1));
}

static void says(const char *words)
{
	if (!strstr(hop_message(ctx), words))
		fail_msg("%s", hop_message(ctx));
}

static void test_wrong(void **state)
{
	int64_t q = new_queue(1, (double[]){ 7 }), other, again;
	hop_fn *f;
	hop_array *y;
	(void)state;
	OK(hop_capture(ctx, kept, &q, 0, NULL, &f));
	OK(hop_call(f, 0, NULL, 1, &y));
	assert_true(number(y) == 7);
	assert_int_equal(hop_call(f, 0, NULL, 1, &y), HOP_EVALUE);
	says("host function `queue.pop`: the queue is empty");
	OK(hop_object_retain(ctx, q));
	hop_object_release(ctx, q);
	int n = destroyed;
	hop_object_release(ctx, q);
	assert_int_equal(destroyed, n + 1);
	assert_int_equal(hop_object_retain(ctx, q), HOP_EUSE);
	assert_null(hop_object_self(ctx, "queue", q));
	again = new_queue(1, (double[]){ 8 });         /* takes the place, not the handle */
	assert_true(again != q);
	assert_int_equal(hop_call(f, 0, NULL, 1, &y), HOP_EVALUE);
	says("is the handle of no object: it was released, or never made");
	OK(hop_object_new(ctx, "thing", NULL, &other));
	for (enum way w = 0; w < NWAY; w++) {
		assert_int_equal(go(lanes, w, 1, &other, 1, &y), HOP_ETYPE);
		says("the object is a `thing`, not a `queue`");
		assert_int_equal(go(lanes, w, 1, (int64_t[]){ -1 }, 1, &y), HOP_EVALUE);
		says("-1 is the handle of no object");
	}
	hop_fn_release(f);
	assert_int_equal(hop_capture(ctx, wrong_type, NULL, 0, NULL, &f), HOP_ETYPE);
	says("method: the object is f32, but a handle is i64");
	assert_int_equal(hop_object_new(ctx, "nothing", NULL, &other), HOP_EUSE);
	says("there is no class `nothing`");
	assert_int_equal(hop_class_add(ctx, HOP_CLASS_DEF(.name = "thing")), HOP_EVALUE);
	says("there is a class `thing` already");
	assert_int_equal(hop_class_add(ctx, HOP_CLASS_DEF(.name = "a b")), HOP_EUSE);
	assert_int_equal(hop_class_add(ctx, HOP_CLASS_DEF(.name = "c", .nmethod = 1)), HOP_EUSE);
	static const hop_method_def two[] = { { .name = "m", .run = pop }, { .name = "m", .run = pop } };
	assert_int_equal(hop_class_add(ctx, HOP_CLASS_DEF(.name = "c", .nmethod = 2, .method = two)),
	                 HOP_EVALUE);
	says("its method `m` has a name that is too long or taken");
}

static int setup(void **state)
{
	static const hop_method_def m[] = {
		{ .name = "push", .run = push }, { .name = "pop", .run = pop },
		{ .name = "length", .run = length, .shape = length_shape }
	};
	(void)state;
	return hop_ctx_new(NULL, &ctx) ||
	       hop_class_add(ctx, HOP_CLASS_DEF(.name = "queue", .nmethod = 3, .method = m,
	                                        .destroy = destroy)) ||
	       hop_class_add(ctx, HOP_CLASS_DEF(.name = "thing"));
}

/* What is still there goes with the context: one queue. */
static int teardown(void **state)
{
	int n = destroyed;
	(void)state;
	hop_ctx_free(ctx);
	return destroyed != n + 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order), cmocka_unit_test(test_handles), cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_wrong)
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
