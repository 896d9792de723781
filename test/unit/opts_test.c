/* opts_test.c -- option structs of callers built with other headers: shorter ones are filled up with
 * zeros, a size of zero and one that is too large are refused, in the same way everywhere. */
#include "numbers_rig.h"

#include <stddef.h>

static void once(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 2));
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 2), in[0]);
}

static void less(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 100)));
}

static void cotangent(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

/* ---- one public function a line: its status with options of this size ---- */

/* A capture of one operator with the size in *user. */
static void with_while(hop_trace *t, const hop_value *in, void *user)
{
	hop_while_opts o = { .size = *(size_t *)user, .max_trips = 1 };
	hop_value out[1];
	hop_while(t, less, once, NULL, 1, in, &o, out, NULL);
	hop_return(t, out[0]);
}

static void with_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_scan_opts o = { .size = *(size_t *)user, .has_length = true, .length = hop_n(3) };
	hop_value out[2];
	hop_scan(t, twice, NULL, 1, in, 0, NULL, &o, 2, out, NULL);
	hop_return(t, out[0]);
}

static void with_custom(hop_trace *t, const hop_value *in, void *user)
{
	hop_custom_rule r = { .size = *(size_t *)user, .fwd = once, .bwd = cotangent };
	hop_value out[1];
	hop_custom(t, &r, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

static hop_status captured(hop_body *f, size_t size)
{
	hop_spec s = hop_spec0(HOP_f32);
	hop_fn *fn;
	hop_status st = hop_capture(ctx, f, &size, 1, &s, &fn);
	hop_fn_release(fn);
	return st;
}

static hop_status try_while(size_t size) { return captured(with_while, size); }
static hop_status try_scan(size_t size) { return captured(with_scan, size); }
static hop_status try_custom(size_t size) { return captured(with_custom, size); }

static hop_fn *doubled(void)
{
	hop_spec s = hop_spec0(HOP_f32);
	hop_fn *f;
	ok(hop_capture(ctx, once, NULL, 1, &s, &f));
	return f;
}

static hop_status try_compile(size_t size)
{
	hop_compile_opts o = { .size = size };
	hop_fn *f = doubled();
	hop_exec *x;
	hop_status st = hop_compile(f, &o, &x);
	hop_exec_release(x);
	hop_fn_release(f);
	return st;
}

static hop_status try_call(size_t size)
{
	hop_run_opts o = { .size = size };
	hop_array *x, *y;
	hop_fn *f = doubled();
	ok(hop_array_new(ctx, HOP_f32, 0, NULL, NULL, &x));
	hop_status st = hop_call_with(f, 1, &x, 1, &y, &o);
	hop_array_release(y);
	hop_array_release(x);
	hop_fn_release(f);
	return st;
}

static hop_status try_run(size_t size)
{
	_Alignas(64) char ws[4096];
	hop_run_opts o = { .size = size };
	hop_fn *f = doubled();
	hop_exec *x;
	float in = 1, out = 0;
	hop_arg ai = { .data = &in }, ao = { .data = &out };
	ok(hop_compile(f, NULL, &x));
	assert_true(hop_exec_workspace(x, &ai) <= (int64_t)sizeof ws);
	hop_status st = hop_run_with(x, &ai, &ao, ws, &o);
	hop_exec_release(x);
	hop_fn_release(f);
	return st;
}

static hop_status try_eager(size_t size)
{
	hop_run_opts o = { .size = size };
	hop_trace *t;
	hop_status st = hop_eager_new_with(ctx, &o, &t);
	return st ? st : hop_eager_free(t);
}

static hop_status try_eager_call(size_t size)
{
	hop_run_opts o = { .size = size };
	hop_array *x, *y;
	ok(hop_array_new(ctx, HOP_f32, 0, NULL, NULL, &x));
	hop_status st = hop_eager_call_with(ctx, once, NULL, 1, &x, 1, &y, &o);
	hop_array_release(y);
	hop_array_release(x);
	return st;
}

static hop_status try_ctx(size_t size)
{
	hop_ctx_opts o = { .size = size };
	hop_ctx *c;
	hop_status st = hop_ctx_new(&o, &c);
	hop_ctx_free(c);
	return st;
}

static void test_sizes(void **state)
{
	static const struct { hop_status (*try)(size_t size); size_t own, least; } all[] = {
		{ try_ctx, sizeof(hop_ctx_opts), sizeof(size_t) },
		{ try_while, sizeof(hop_while_opts), sizeof(size_t) },
		{ try_scan, sizeof(hop_scan_opts), offsetof(hop_scan_opts, every) },
		{ try_custom, sizeof(hop_custom_rule), offsetof(hop_custom_rule, jvp) },
		{ try_compile, sizeof(hop_compile_opts), sizeof(size_t) },
		{ try_call, sizeof(hop_run_opts), sizeof(size_t) },
		{ try_run, sizeof(hop_run_opts), sizeof(size_t) },
		{ try_eager, sizeof(hop_run_opts), sizeof(size_t) },
		{ try_eager_call, sizeof(hop_run_opts), sizeof(size_t) },
	};
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		ok(all[i].try(all[i].own));
		for (size_t n = all[i].least; n < all[i].own; n++)
			ok(all[i].try(n));
		size_t bad[] = { 0, 1, sizeof(size_t) - 1, all[i].own + 1, SIZE_MAX };
		for (int k = 0; k < 5; k++) {
			assert_int_equal(all[i].try(bad[k]), HOP_EVALUE);
			if (all[i].try != try_ctx)
				assert_non_null(strstr(hop_message(ctx), "the options say that they have"));
		}
	}
}

/* What an older caller did not know is zero, whatever lies behind its struct. */
static void test_old(void **state)
{
	hop_ctx_opts o = { .size = offsetof(hop_ctx_opts, threads), .threads = -1 };
	hop_ctx *c;
	(void)state;
	assert_int_equal(hop_ctx_new(&o, &c), HOP_OK);
	hop_ctx_free(c);
	o.size = sizeof o;
	assert_int_equal(hop_ctx_new(&o, &c), HOP_EVALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sizes), cmocka_unit_test(test_old) };
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
