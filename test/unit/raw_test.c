/* raw_test.c -- constructors straight from the table: what they make, captured and eagerly, and
 * what they refuse. */
#include "trace_rig.h"

#include "hop/rows.h"

#define AT t, __FILE__, __LINE__

static void ops_body(hop_trace *t, const hop_value *in, void *user)
{
	static const int64_t last[] = { 1 };
	hop_value a, s, w, both[2] = { in[0], in[0] };
	(void)user;
	hop_op_mul(AT, 2, both, 1, &a);
	hop_op_sum(AT, 1, &a, 1, &s, 1, last);
	hop_op_cast(AT, 1, &s, 1, &w, HOP_i64);
	hop_return(t, s, w);
}

static void ops(void **state)
{
	static const double x[] = { 1, 2, 3, 4, 5, 6 }, want[] = { 14, 77 };
	static const int64_t dim[] = { 2, 3 };
	(void)state;
	hop_array *a = array(HOP_f64, 2, dim, x), *y[2];
	hop_spec s = spec_of(a);
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, ops_body, NULL, 1, &s, &f), HOP_OK);
	for (int eager = 0; eager < 2; eager++) {
		assert_int_equal(eager ? hop_eager_call(ctx, ops_body, NULL, 1, &a, 2, y)
		                       : hop_call(f, 1, &a, 2, y), HOP_OK);
		for (int i = 0; i < 2; i++) {
			assert_true(((const double *)hop_array_data(y[0]))[i] == want[i]);
			assert_int_equal(((const int64_t *)hop_array_data(y[1]))[i], (int64_t)want[i]);
		}
		hop_array_release(y[0]), hop_array_release(y[1]);
	}
	hop_fn_release(f);
	hop_array_release(a);
}

/* ---- operators on functions ---- */

static void step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = hop_add(t, hop_mul(t, in[0], in[2]), in[1]);
	(void)user;
	hop_return(t, h, hop_sin(t, h));
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 2));
}

static void square(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[0]));
}

struct fns { hop_fn *step, *branch[3]; };

static void bodies_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct fns *f = user;
	const hop_fn *branch[3] = { f->branch[0], f->branch[1], f->branch[2] };
	hop_value y[2] = { { 0, 0 }, { 0, 0 } }, z = { 0, 0 }, sel[2] = { in[3], { 0, 0 } };
	int n = hop_op_scan(AT, 3, in, 2, y, 1, 1, hop_n(4), false, false, false, 0, 0, 0, 0,
	                    NULL, f->step);
	sel[1] = y[0];
	n += hop_op_switch(AT, 2, sel, 1, &z, false, 0, NULL, 3, branch);
	hop_return(t, z, y[1], hop_full(t, HOP_i64, 0, NULL, n));
}

static void bodies(void **state)
{
	static const double x[] = { 0.5, -1, 2, 0.25 };
	hop_spec s0 = hop_spec0(HOP_f64), three[3] = { s0, s0, s0 };
	hop_array *in[4] = { num(1), vec(4, x), num(0.5), num_i(1) }, *y[3];
	hop_spec spec[4];
	struct fns f;
	double h = 1;
	(void)state;
	assert_int_equal(hop_capture(ctx, step, NULL, 3, three, &f.step), HOP_OK);
	assert_int_equal(hop_capture(ctx, twice, NULL, 1, &s0, &f.branch[0]), HOP_OK);
	assert_int_equal(hop_capture(ctx, square, NULL, 1, &s0, &f.branch[1]), HOP_OK);
	assert_int_equal(hop_capture(ctx, twice, NULL, 1, &s0, &f.branch[2]), HOP_OK);
	for (int i = 0; i < 4; i++) {
		spec[i] = spec_of(in[i]);
		h = h * 0.5 + x[i];
	}
	hop_fn *g;
	assert_int_equal(hop_capture(ctx, bodies_body, &f, 4, spec, &g), HOP_OK);
	for (int eager = 0; eager < 2; eager++) {
		if (eager ? hop_eager_call(ctx, bodies_body, &f, 4, in, 3, y) : hop_call(g, 4, in, 3, y))
			fail_msg("%s", hop_message(ctx));
		assert_true(fabs(*(const double *)hop_array_data(y[0]) - h * h) < 1e-12);
		assert_true(fabs(((const double *)hop_array_data(y[1]))[3] - sin(h)) < 1e-12);
		assert_int_equal(*(const int64_t *)hop_array_data(y[2]), 3);
		for (int i = 0; i < 3; i++)
			hop_array_release(y[i]);
	}
	hop_fn_release(g);
	hop_fn_release(f.step);
	for (int i = 0; i < 3; i++)
		hop_fn_release(f.branch[i]);
	for (int i = 0; i < 4; i++)
		hop_array_release(in[i]);
}

/* ---- refused, captured and eagerly ---- */

#define BAD(name, ...) \
	static void name(hop_trace *t, const hop_value *in, void *user) \
	{ hop_value out[2] = { { 0, 0 }, { 0, 0 } }; (void)user; __VA_ARGS__; hop_return(t, out[0], in[0]); }
BAD(no_list, hop_op_add(AT, 2, NULL, 1, out))
BAD(no_room, hop_op_neg(AT, 1, in, 0, NULL))
BAD(minus, hop_op_add(AT, -1, in, 1, out))
BAD(few, hop_op_add(AT, 1, in, 1, out))
BAD(mixed, hop_op_add(AT, 2, in, 1, out))
BAD(dtype, hop_op_cast(AT, 1, in, 1, out, (hop_dtype)99))
BAD(mode, hop_op_scatter(AT, 1, in, 1, out, 17, 0, 0))
BAD(axes, hop_op_sum(AT, 1, in, 1, out, 1, NULL))
BAD(body, hop_op_call(AT, 1, in, 1, out, false, false, 0, NULL, NULL, 0, NULL, NULL))
BAD(no_branch, hop_op_switch(AT, 2, in, 1, out, false, 0, NULL, 0, NULL))
BAD(hole, const hop_fn *none = NULL; hop_op_switch(AT, 2, in, 1, out, false, 0, NULL, 1, &none))
BAD(text, hop_op_print(AT, 1, in, 0, NULL, NULL, false))
BAD(data, hop_op_constant(AT, 0, NULL, 1, out, NULL))
BAD(unset, hop_value none = { 0, 0 }; hop_op_neg(AT, 1, &none, 1, out))

static void refused(void **state)
{
	static const struct { hop_body *f; const char *words; } bad[] = {
		{ no_list, "add: a count is negative or a list" }, { no_room, "room for 0" },
		{ minus, "add: a count" }, { few, "add" }, { mixed, "add" },
		{ dtype, "cast: dtype: there is no such dtype" },
		{ mode, "scatter: mode: there is no such mode" }, { axes, "sum: axes: a count" },
		{ body, "call: body: a function is missing" }, { no_branch, "no branch" },
		{ hole, "switch: branch: a function is missing" }, { text, "print: text" },
		{ data, "constant: value: an array is missing" }, { unset, "neg: a value that was" },
	};
	hop_array *in[2] = { num(1), num_i(2) }, *y[2];
	hop_spec s[2] = { spec_of(in[0]), spec_of(in[1]) };
	hop_fn *f;
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		for (int eager = 0; eager < 2; eager++) {
			hop_status st = eager ? hop_eager_call(ctx, bad[i].f, NULL, 2, in, 2, y)
			                      : hop_capture(ctx, bad[i].f, NULL, 2, s, &f);
			if (!st || !strstr(hop_message(ctx), bad[i].words))
				fail_msg("%zu: %d, %s", i, st, hop_message(ctx));
		}
	hop_array_release(in[0]), hop_array_release(in[1]);
}

/* The names of before. */
static void old_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_assert_(t, hop_lt(t, in[0], hop_f(t, 3)), "x is {}", 1, in);
	assert_int_equal(hop_at_dtype(AT, in[0]), HOP_f64);
	hop_return(t, in[0]);
}

static void old_names(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f;
	(void)state;
	assert_int_equal(hop_capture(ctx, old_body, NULL, 1, &s, &f), HOP_OK);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(ops, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(bodies, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(refused, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(old_names, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
