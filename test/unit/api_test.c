/* api_test.c -- functions from text, what they take and give, names of statuses; numbers that
 * branches return. */
#include "trace_rig.h"

static const char text[] =
	"hop 1\n"
	"graph @twice(%0: f64[3]) {\n"
	"  %1 = add %0, %0\n"
	"  return %1\n"
	"}\n"
	"graph @rows<n: 2..8>(%0: bf16[n, 4], %1: f64[2*n]) {\n"
	"  %2 = sum %1 {axes = [0]}\n"
	"  return %0, %2\n"
	"}\n";

static void parses(void **state)
{
	static const double x[] = { 1, -2, 0.5 }, want[] = { 2, -4, 1 };
	hop_fn *f, *g;
	hop_array *a = vec(3, x), *y;
	hop_spec s;
	(void)state;
	assert_int_equal(hop_fn_parse(ctx, text, strlen(text), "twice", &f), HOP_OK);
	assert_int_equal(hop_call(f, 1, &a, 1, &y), HOP_OK);
	for (int i = 0; i < 3; i++)
		assert_true(hop_array_at(y, i) == want[i]);
	hop_array_release(y);
	assert_int_equal(hop_fn_parse(ctx, hop_fn_text(f), strlen(hop_fn_text(f)), NULL, &g), HOP_OK);
	assert_string_equal(hop_fn_text(f), hop_fn_text(g));
	hop_fn_release(g);
	hop_fn_release(f);
	hop_array_release(a);
	assert_int_equal(hop_fn_parse(ctx, text, strlen(text), NULL, &f), HOP_OK);
	assert_true(hop_fn_in_type(f, 0, &s));
	assert_int_equal(s.dtype, HOP_bf16);
	assert_int_equal(s.rank, 2);
	assert_string_equal(s.sym[0], "n");
	assert_int_equal(s.dim[0], 2);
	assert_int_equal(s.max[0], 8);
	assert_null(s.sym[1]);
	assert_int_equal(s.dim[1], 4);
	assert_true(hop_fn_in_type(f, 1, &s));
	assert_null(s.sym[0]);
	assert_int_equal(s.dim[0], -1);
	assert_true(hop_fn_out_type(f, 1, &s));
	assert_int_equal(s.rank, 0);
	assert_false(hop_fn_in_type(f, 2, &s) || hop_fn_in_type(f, -1, &s) ||
	             hop_fn_out_type(f, 2, &s) || hop_fn_in_type(NULL, 0, &s) ||
	             hop_fn_in_type(f, 0, NULL));
	hop_fn_release(f);
}

static void refuses(void **state)
{
	static const char local[] = "hop 1\ngraph @f(%0: i64) {\n  %1 = as_size %0 {min = 0, max = 4, "
	                            "sym = k}\n  %2 = iota {dtype = i64, dims = [k], axis = 0}\n"
	                            "  return %2\n}\n";
	hop_fn *f = (hop_fn *)1;
	(void)state;
	assert_int_equal(hop_fn_parse(ctx, text, strlen(text), "none", &f), HOP_EVALUE);
	assert_null(f);
	assert_non_null(strstr(hop_message(ctx), "no graph @none"));
	assert_int_equal(hop_fn_parse(ctx, "hop 1\n", 6, NULL, &f), HOP_EVALUE);
	assert_int_equal(hop_fn_parse(ctx, "hop 1\ngraph", 11, NULL, &f), HOP_EPARSE);
	assert_non_null(strstr(hop_message(ctx), "text:"));
	assert_int_equal(hop_fn_parse(ctx, NULL, 0, NULL, &f), HOP_EPARSE);
	assert_int_equal(hop_fn_parse(ctx, local, strlen(local), NULL, &f), HOP_EREFUSED);
	assert_int_equal(hop_fn_parse(ctx, NULL, 3, NULL, &f), HOP_EUSE);
	assert_int_equal(hop_fn_parse(NULL, text, 3, NULL, &f), HOP_EUSE);
	assert_int_equal(hop_fn_parse(ctx, text, 3, NULL, NULL), HOP_EUSE);
}

/* ---- numbers that branches return ---- */

static void half(hop_trace *t, const hop_value *in, void *user)
{
	(void)in, (void)user;
	hop_return(t, hop_f(t, 2.5), hop_i(t, 1));
}

static void one(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_i(t, 1), in[0]);
}

static void choices(hop_trace *t, const hop_value *in, void *user)
{
	hop_body *const branch[3] = { one, half, one };
	hop_value a[2] = { HOP_NONE, HOP_NONE }, b[2] = { HOP_NONE, HOP_NONE };
	(void)user;
	hop_cond(t, hop_lt(t, in[0], hop_f(t, 3)), half, one, NULL, 1, in, 2, a);
	hop_switch(t, hop_i(t, 1), 3, branch, NULL, 1, in, 2, b);
	hop_return(t, a[0], a[1], b[0], b[1]);
}

/* Among numbers alone the widest dtype; next to a tensor that of the tensor. */
static void numbers(void **state)
{
	static const double want[4] = { 2.5, 1, 2.5, 1 };
	hop_spec s = hop_spec0(HOP_f64);
	hop_array *x = num(1), *y[4];
	hop_fn *f;
	(void)state;
	assert_int_equal(hop_capture(ctx, choices, NULL, 1, &s, &f), HOP_OK);
	for (int eager = 0; eager < 2; eager++) {
		assert_int_equal(eager ? hop_eager_call(ctx, choices, NULL, 1, &x, 4, y)
		                       : hop_call(f, 1, &x, 4, y), HOP_OK);
		for (int i = 0; i < 4; i++) {
			assert_int_equal(hop_array_dtype(y[i]), i % 2 ? HOP_f64 : HOP_f32);
			assert_true(hop_array_at(y[i], 0) == want[i]);
			hop_array_release(y[i]);
		}
	}
	hop_fn_release(f);
	hop_array_release(x);
}

static void none_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)in, (void)user;
	hop_return(t, HOP_NONE);
}

static void names(void **state)
{
	hop_fn *f;
	(void)state;
	for (int i = 0; i <= HOP_ENAN; i++)
		assert_true(strlen(hop_status_name((hop_status)i)) > 1);
	assert_string_equal(hop_status_name((hop_status)-1), "no status of hop");
	assert_string_equal(hop_status_name((hop_status)99), "no status of hop");
	assert_string_equal(hop_version(), HOP_VERSION);
	assert_int_equal(hop_capture(ctx, none_body, NULL, 0, NULL, &f), HOP_EUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parses, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(refuses, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(names, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(numbers, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
