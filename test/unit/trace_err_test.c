/* trace_err_test.c -- misuse of the public interface: a status and a message with the user's
 * lines, never a crash; want of memory at every allocation; trees and their paths. */
#include "trace_rig.h"

/* ---- wrong use ---- */

static hop_value kept;

static void f_keep(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	kept = hop_sin(t, in[0]);
	hop_return(t, kept);
}

static void f_stale(hop_trace *t, const hop_value *in, void *user)
{
	(void)in;
	(void)user;
	hop_return(t, hop_cos(t, kept));
}

static void f_unset(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = { 0, 0 };
	(void)user;
	hop_return(t, hop_add(t, in[0], x));
}

static void f_twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
	hop_return(t, in[0]);
}

static void f_never(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	(void)hop_sin(t, in[0]);
}

static void f_null(hop_trace *t, const hop_value *in, void *user)
{
	(void)in;
	(void)user;
	hop_return_n(t, 2, NULL);
}

static void inner_outer(hop_trace *t, const hop_value *in, void *user)
{
	hop_trace *outer = user;
	hop_return(t, hop_sin(outer, in[0]));
}

static void f_wrong_trace(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	(void)user;
	hop_region(t, "r", inner_outer, t, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void f_no_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	(void)user;
	hop_cond(t, in[0], NULL, f_keep, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void f_escape(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	(void)user;
	hop_region(t, "r", f_keep, NULL, 1, in, 1, out);
	hop_return(t, hop_add(t, out[0], kept));             /* of a body that has ended */
}

static void f_stop_here(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_stop_if(t, in[0]);
	hop_return(t, in[0]);
}

static void f_write_number(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, hop_f(t, 1), in[0]);
	hop_return(t, in[0]);
}

static void f_write_expanded(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_dim d[1] = { { 3, NULL } };
	hop_add_(t, hop_expand(t, in[0], 1, d), in[0]);
	hop_return(t, in[0]);
}

static void f_bad_args(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_dim d[1] = { { -3, NULL } };
	hop_return(t, hop_reshape(t, in[0], 1, d));
}

static void f_bad_axis(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_softmax(t, in[0], 4));
}

static void wrong_use(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	static const struct { hop_body *f; hop_status st; const char *text; } cases[] = {
		{ f_stale, HOP_EUSE, "trace that has ended" },
		{ f_unset, HOP_EUSE, "never set" },
		{ f_twice, HOP_EUSE, "nothing may follow hop_return" },
		{ f_never, HOP_EUSE, "ended without hop_return" },
		{ f_null, HOP_EUSE, "no values" },
		{ f_wrong_trace, HOP_EUSE, "not the innermost" },
		{ f_no_body, HOP_EUSE, "no function was given for the then branch" },
		{ f_escape, HOP_EUSE, "trace that has ended" },
		{ f_stop_here, HOP_EUSE, "body of scan" },
		{ f_write_number, HOP_EUSE, "a number cannot be written" },
		{ f_write_expanded, HOP_EREFUSED, "expanded view" },
		{ f_bad_args, HOP_EVALUE, "size -3 on axis 0" },
		{ f_bad_axis, HOP_EVALUE, "axis 4" },
		{ NULL, HOP_EUSE, "no function was given" },
	};
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, f_keep, NULL, 1, &in, &f), HOP_OK);
	hop_fn_release(f);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		rig_fails(cases[i].f, NULL, 1, &in, cases[i].st, cases[i].text);
		if (cases[i].f)
			assert_non_null(strstr(hop_message(ctx), "trace_err_test.c:"));
	}
	rig_fails(f_keep, NULL, 1, NULL, HOP_EUSE, "no types");
	assert_int_equal(hop_call(NULL, 0, NULL, 0, NULL), HOP_EUSE);
	assert_int_equal(hop_sin(NULL, kept).trace, 0);
	assert_true(hop_failed(NULL));
}

static void f_other(hop_trace *t, const hop_value *in, void *user)
{
	(void)in;
	hop_return(t, hop_use(t, user));
}

static void other_contexts(void **state)
{
	(void)state;
	hop_ctx *other;
	hop_array *a;
	assert_int_equal(hop_ctx_new(NULL, &other), HOP_OK);
	assert_int_equal(hop_array_new(other, HOP_f64, 0, NULL, NULL, &a), HOP_OK);
	rig_fails(f_other, a, 0, NULL, HOP_EUSE, "another context");
	hop_spec in = hop_spec0(HOP_f64);
	hop_fn *f, *g;
	assert_int_equal(hop_capture(other, f_keep, NULL, 1, &in, &f), HOP_OK);
	rig_fails(f_stale, NULL, 0, NULL, HOP_EUSE, "trace that has ended");
	assert_int_equal(hop_capture(ctx, f_keep, NULL, 1, &in, &g), HOP_OK);
	hop_array *out;
	assert_int_equal(hop_call(g, 1, &a, 1, &out), HOP_EUSE);
	assert_null(out);
	hop_fn_release(f);
	hop_fn_release(g);
	hop_array_release(a);
	hop_ctx_free(other);
}

static void calls_with_wrong_inputs(void **state)
{
	(void)state;
	hop_spec in = hop_spec1(HOP_f64, 3);
	hop_fn *f;
	hop_array *x = vec(2, (double[]){ 1, 2 }), *i = num_i(1), *out;
	assert_int_equal(hop_capture(ctx, f_keep, NULL, 1, &in, &f), HOP_OK);
	assert_int_equal(hop_call(f, 1, &x, 1, &out), HOP_ESHAPE);
	assert_int_equal(hop_call(f, 1, &i, 1, &out), HOP_ETYPE);
	assert_int_equal(hop_call(f, 2, &x, 1, &out), HOP_EUSE);
	hop_array_release(x);
	hop_array_release(i);
	hop_fn_release(f);
}

/* ---- messages ---- */

struct layer_values { hop_value h, c; };
struct net_values { hop_value x; struct layer_values layer[3]; hop_value w[2]; };
HOP_TREE(layer_tree, struct layer_values, h, c);
static const hop_field_name net_fields[] = {
	HOP_LEAF(x), HOP_NODES(layer, 3, layer_tree), HOP_LEAVES(w, 2)
};
HOP_TREE_OF(net_tree, struct net_values, net_fields);
HOP_TREE(flat_tree, struct net_values, x, layer[6], w[2]);

static void trees(void **state)
{
	(void)state;
	char buf[64], tiny[5];
	assert_int_equal(hop_tree_count(&net_tree), 9);
	assert_int_equal(net_tree.count, 9);
	assert_int_equal(hop_tree_count(&flat_tree), 9);
	assert_true(hop_tree_path(&net_tree, 5, buf, sizeof buf));
	assert_string_equal(buf, "layer[2].h");
	assert_true(hop_tree_path(&net_tree, 8, buf, sizeof buf));
	assert_string_equal(buf, "w[1]");
	assert_true(hop_tree_path(&net_tree, 5, tiny, sizeof tiny));
	assert_string_equal(tiny, "laye");
	assert_true(hop_tree_path(&flat_tree, 3, buf, sizeof buf));
	assert_string_equal(buf, "layer[2]");
	assert_int_equal(hop_tree_find(&net_tree, "layer[1].c"), 4);
	assert_int_equal(hop_tree_find(&net_tree, "layer[3].c"), -1);
	assert_false(hop_tree_path(&net_tree, 9, buf, sizeof buf));
}

/* Twice each value; counts the calls and checks that paths come with them in order. */
static hop_value twice(hop_trace *t, hop_value v, const char *path, void *user)
{
	int *n = user;
	assert_int_equal(hop_tree_find(&layer_tree, path), *n);
	++*n;
	return hop_mulf(t, v, 2);
}

static void f_tree_map(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	int n = 0;
	assert_true(hop_is_eager(t) == (user != NULL));
	hop_tree_map(t, &layer_tree, twice, &n, in, out);
	assert_int_equal(n, 2);
	hop_tree_map(t, &layer_tree, NULL, NULL, in, out);      /* nothing to do: no crash */
	hop_tree_map(t, &layer_tree, twice, &n, NULL, out);
	assert_int_equal(n, 2);
	hop_return(t, hop_add(t, out[0], out[1]));
}

static void trees_of_values(void **state)
{
	const int64_t dim[1] = { 2 };
	hop_spec s[2] = { hop_spec1(HOP_f32, 2), hop_spec1(HOP_f32, 2) };
	hop_array *in[2], *out;
	hop_fn *f;
	(void)state;
	assert_int_equal(hop_array_new(ctx, HOP_f32, 1, dim, (float[]){ 1, 2 }, &in[0]), HOP_OK);
	assert_int_equal(hop_array_new(ctx, HOP_f32, 1, dim, (float[]){ 3, 5 }, &in[1]), HOP_OK);
	assert_int_equal(hop_array_dtype(in[0]), HOP_f32);
	assert_int_equal(hop_array_rank(in[0]), 1);
	assert_int_equal(hop_array_dims(in[0])[0], 2);
	assert_int_equal(hop_capture(ctx, f_tree_map, NULL, 2, s, &f), HOP_OK);
	assert_int_equal(hop_call(f, 2, in, 1, &out), HOP_OK);
	same(out, (double[]){ 8, 14 }, 2);
	hop_array_release(out);
	assert_int_equal(hop_eager_call(ctx, f_tree_map, "eager", 2, in, 1, &out), HOP_OK);
	same(out, (double[]){ 8, 14 }, 2);
	hop_array_release(out);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
}

static void wrong_carry(hop_trace *t, const hop_value *in, void *user)
{
	struct net_values n;
	(void)user;
	memcpy(&n, in, sizeof n);
	n.layer[2].h = hop_cast(t, n.layer[2].h, HOP_f64);
	hop_return_n(t, 9, &n.x);
}

static void f_paths(hop_trace *t, const hop_value *in, void *user)
{
	hop_value init[9], out[9];
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(2), .carry = &net_tree };
	(void)user;
	for (int i = 0; i < 9; i++)
		init[i] = in[0];
	hop_scan(t, wrong_carry, NULL, 9, init, 0, NULL, &o, 9, out, NULL);
	hop_return_n(t, 9, out);
}

static void paths_in_messages(void **state)
{
	(void)state;
	hop_spec in = hop_spec1(HOP_f32, 4);
	rig_fails(f_paths, NULL, 1, &in, HOP_ETYPE,
	          "carry.layer[2].h is f32[4] when a step begins, f64[4] when it ends");
	assert_non_null(strstr(hop_message(ctx), "note: in the body of scan"));
}

static void bad_add(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *y = user;
	hop_return(t, hop_add(t, in[0], *y));
}

static void mid(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	hop_cond(t, hop_i(t, 1), bad_add, bad_add, user, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void f_levels(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1], y = in[1];
	(void)user;
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(2) };
	hop_scan(t, mid, &y, 1, in, 0, NULL, &o, 1, out, NULL);
	hop_return(t, out[0]);
}

static void a_line_for_every_level(void **state)
{
	(void)state;
	hop_spec in[2] = { hop_spec1(HOP_f64, 3), hop_spec1(HOP_f64, 4) };
	rig_fails(f_levels, NULL, 2, in, HOP_ESHAPE, "error: ");
	const char *m = hop_message(ctx);
	const char *a = strstr(m, "note: in the then branch of cond");
	assert_non_null(a);
	assert_non_null(strstr(a, "note: in the body of scan"));
	int lines = 0;
	for (const char *p = m; (p = strstr(p, "trace_err_test.c:")); p++)
		lines++;
	assert_int_equal(lines, 3);
}

static void two(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[0]);
}

static void one(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

static void longer(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_concat(t, 2, (hop_value[]){ in[0], in[0] }, 0));
}

static void f_counts(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	hop_cond(t, hop_i(t, 1), two, one, NULL, 1, in, 2, out);
	hop_return(t, out[0]);
}

static void f_sizes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	hop_cond(t, hop_i(t, 1), longer, one, NULL, 1, in, 2, out);
	hop_return(t, out[0]);
}

static void f_room(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	(void)user;
	hop_region(t, NULL, two, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void f_test(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	(void)user;
	hop_while(t, one, one, NULL, 1, in, NULL, out, NULL);
	hop_return(t, out[0]);
}

static void f_pred(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	(void)user;
	hop_cond(t, in[0], one, one, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void f_switch_types(hop_trace *t, const hop_value *in, void *user)
{
	hop_body *const branch[3] = { one, one, longer };
	hop_value out[1];
	(void)user;
	hop_switch(t, hop_i(t, 1), 3, branch, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void f_switch_counts(hop_trace *t, const hop_value *in, void *user)
{
	hop_body *const branch[3] = { two, two, one };
	hop_value out[2];
	(void)user;
	hop_switch(t, hop_i(t, 1), 3, branch, NULL, 1, in, 2, out);
	hop_return(t, out[0]);
}

static void branches_and_loops(void **state)
{
	(void)state;
	hop_spec in = hop_spec1(HOP_f64, 3);
	rig_fails(f_counts, NULL, 1, &in, HOP_ETYPE, "then gives 2 results, else gives 1");
	rig_fails(f_sizes, NULL, 1, &in, HOP_ESHAPE, "f64[6] in then, f64[3] in else");
	assert_non_null(strstr(hop_message(ctx), "hop_cond_sized"));
	rig_fails(f_room, NULL, 1, &in, HOP_EUSE, "room for 1");
	rig_fails(f_switch_types, NULL, 1, &in, HOP_ESHAPE, "f64[3] in branch 0, f64[6] in branch 2");
	rig_fails(f_switch_counts, NULL, 1, &in, HOP_ETYPE,
	          "branch 0 gives 2 results, branch 2 gives 1");
	rig_fails(f_test, NULL, 1, &in, HOP_ETYPE, "a bool scalar");
	rig_fails(f_pred, NULL, 1, &in, HOP_ESHAPE, "one element");
}

/* ---- asserts of the program ---- */

static void asserting(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_assert(t, hop_lt(t, in[0], hop_f(t, 3)), "x is {}", 1, in);
	hop_return(t, hop_addf(t, in[0], 1));
}

static void f_asserts(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(4) };
	hop_scan(t, asserting, user, 1, in, 0, NULL, &o, 1, out, NULL);
	hop_return(t, out[0]);
}

static void asserts(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, f_asserts, NULL, 1, &in, &f), HOP_OK);
	for (int i = -2; i < 2; i++) {
		hop_array *x = num(i), *y;
		hop_status want = i + 3 < 3 ? HOP_OK : HOP_EASSERT;
		assert_int_equal(hop_call(f, 1, &x, 1, &y), want);
		hop_array_release(y);
		assert_int_equal(hop_eager_call(ctx, f_asserts, NULL, 1, &x, 1, &y), want);
		if (want)
			assert_non_null(strstr(hop_message(ctx), "x is 3"));
		hop_array_release(y);
		hop_array_release(x);
	}
	hop_fn_release(f);
}

/* ---- no memory ---- */

struct meter { size_t live; long calls, fail_at; };

static void *metered(void *user, void *ptr, size_t osize, size_t nsize)
{
	struct meter *m = user;
	if (nsize && m->fail_at && ++m->calls >= m->fail_at)
		return NULL;
	m->live += nsize - osize;
	if (nsize)
		return realloc(ptr, nsize);
	free(ptr);
	return NULL;
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *log = user, out[1];
	hop_add_(t, *log, in[0]);
	hop_cond(t, hop_lt(t, in[0], in[1]), one, longer, NULL, 1, &in[0], 1, out);
	hop_return(t, hop_failed(t) ? in[0] : hop_add(t, in[0], in[1]), in[1]);
}

static void f_all(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], log = hop_full(t, HOP_f64, 0, NULL, 0);
	(void)user;
	hop_scan(t, step, &log, 1, in, 1, in + 1, NULL, 2, out, NULL);
	hop_return(t, out[0], log);
}

static void step_ok(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *log = user, out[1];
	hop_add_(t, *log, in[0]);
	hop_cond(t, hop_lt(t, in[0], in[1]), one, one, NULL, 1, &in[0], 1, out);
	hop_return(t, hop_add(t, out[0], in[1]), in[1]);
}

static void f_ok(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], log = hop_full(t, HOP_f64, 0, NULL, 0);
	(void)user;
	hop_scan(t, step_ok, &log, 1, in, 1, in + 1, NULL, 2, out, NULL);
	hop_return(t, out[0], log);
}

/* Capture, call and run eagerly, with allocation number n and all later ones refused. */
static bool starve(long n, hop_body *body)
{
	struct meter m = { .fail_at = 0 };
	hop_ctx_opts o = { .size = sizeof o, .alloc = metered, .user = &m };
	hop_ctx *c;
	hop_fn *f = NULL;
	hop_array *in[2] = { NULL, NULL }, *out[2] = { NULL, NULL };
	hop_spec spec[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	int64_t three = 3;
	assert_int_equal(hop_ctx_new(&o, &c), HOP_OK);
	m.fail_at = n;
	bool ok = !hop_array_new(c, HOP_f64, 0, NULL, NULL, &in[0]) &&
	          !hop_array_new(c, HOP_f64, 1, &three, NULL, &in[1]) &&
	          !hop_capture(c, body, NULL, 2, spec, &f) && !hop_call(f, 2, in, 2, out);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
	out[0] = out[1] = NULL;
	ok = ok && hop_fn_text(f) && !hop_eager_call(c, body, NULL, 2, in, 2, out);
	for (int i = 0; i < 2; i++) {
		hop_array_release(out[i]);
		hop_array_release(in[i]);
	}
	hop_fn_release(f);
	hop_ctx_free(c);
	assert_int_equal(m.live, 0);
	return ok;
}

static void no_memory(void **state)
{
	(void)state;
	long n = 1;
	while (!starve(n, f_ok)) {
		n++;
		assert_true(n < 20000);
	}
	assert_true(n > 50);
	for (n = 1; n < 400; n++)                            /* a body that fails by itself */
		assert_false(starve(n, f_all));
}

/* ---- a failed eager body leaves its parent as it was ---- */

static void write_then_fail(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *w = user;
	hop_add_(t, *w, in[0]);
	hop_return(t, hop_softmax(t, in[0], 7));
}

static void failed_bodies_leave_nothing(void **state)
{
	(void)state;
	hop_trace *t;
	hop_array *a = num(1);
	assert_int_equal(hop_eager_new(ctx, &t), HOP_OK);
	hop_value w = hop_use(t, a), out[1];
	hop_region(t, "r", write_then_fail, &w, 1, &w, 1, out);
	assert_true(hop_failed(t));
	assert_int_equal(hop_eager_free(t), HOP_EVALUE);
	same(a, (double[]){ 1 }, 1);
	hop_array_release(a);
}

/* ---- the caller's own trouble ---- */

static void fails_here(hop_trace *t, const hop_value *in, void *user)
{
	hop_trace *outer = user;
	const char *text;
	assert_ptr_equal(hop_innermost(outer), t);
	assert_ptr_equal(hop_innermost(t), t);
	assert_int_equal(hop_failure(t, &text), HOP_OK);
	assert_string_equal(text, "");
	hop_fail_here(hop_innermost(outer), "the sensor is gone");
	assert_int_equal(hop_failure(t, &text), HOP_EUSE);
	assert_non_null(strstr(text, "error: the sensor is gone"));
	hop_fail_here(t, "a second one does not count");
	assert_int_equal(hop_failure(t, NULL), HOP_EUSE);
	hop_return(t, in[0]);
}

static void f_fails_here(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	(void)user;
	hop_region(t, "r", fails_here, t, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void own_failures(void **state)
{
	(void)state;
	const char *text;
	hop_spec s = hop_spec0(HOP_f64);
	rig_fails(f_fails_here, NULL, 1, &s, HOP_EUSE, "error: the sensor is gone\n");
	assert_non_null(strstr(hop_message(ctx), "note: in the body of region"));
	assert_null(strstr(hop_message(ctx), "second"));
	assert_null(hop_innermost(NULL));
	assert_int_equal(hop_failure(NULL, &text), HOP_EUSE);
	hop_fail_here(NULL, "nobody hears it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_use),
		cmocka_unit_test(other_contexts),
		cmocka_unit_test(calls_with_wrong_inputs),
		cmocka_unit_test(trees),
		cmocka_unit_test(trees_of_values),
		cmocka_unit_test(paths_in_messages),
		cmocka_unit_test(a_line_for_every_level),
		cmocka_unit_test(branches_and_loops),
		cmocka_unit_test(asserts),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(failed_bodies_leave_nothing),
		cmocka_unit_test(own_failures),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
