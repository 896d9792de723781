/* strided_test.c -- arrays on memory with gaps or in another order: read, written and captured in
 * every way to call, and what must be refused. */
#include "numbers_rig.h"

#include "hop/dlpack.h"

enum { R = 3, C = 4 };

static int dropped;

static void drop(void *owner)
{
	assert_ptr_equal(owner, &dropped);
	dropped++;
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 2));
}

static void add_one(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, in[0], hop_f(t, 1));
	hop_return(t, hop_sum_all(t, in[0]));
}

static void use(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_add(t, in[0], hop_use(t, user)));
}

/* A matrix of R x C numbers 10 i + j, every other one of a column-major block, backwards in j. */
typedef struct { float m[2 * R * C]; } block;

static float *at(block *b, int i, int j)
{
	return &b->m[2 * (i + R * (C - 1 - j))];
}

static hop_array *adopt(block *b, bool readonly)
{
	int64_t dim[2] = { R, C }, stride[2] = { 2, -2 * R };
	hop_array *a;
	for (size_t k = 0; k < sizeof b->m / sizeof *b->m; k++)
		b->m[k] = -1;
	for (int i = 0; i < R; i++)
		for (int j = 0; j < C; j++)
			*at(b, i, j) = (float)(10 * i + j);
	ok(hop_array_adopt_strided(ctx, HOP_f32, 2, dim, stride, at(b, 0, 0), readonly, drop, &dropped, &a));
	return a;
}

/* Two calls: the second goes the way without copies of what is dense. */
static void test_read(void **state)
{
	block b;
	hop_array *a = adopt(&b, true);
	(void)state;
	dropped = 0;
	assert_int_equal(hop_array_strides(a)[1], -2 * R);
	for (int w = 0; w < NWAY; w++)
		for (int again = 0; again < 2; again++) {
			hop_array *y = run((enum way)w, twice, NULL, a);
			assert_null(hop_array_strides(y));
			for (int i = 0; i < R; i++)
				for (int j = 0; j < C; j++) {
					assert_true(hop_array_at(a, i * C + j) == 10 * i + j);
					assert_true(((float *)hop_array_data(y))[i * C + j] == 20 * i + 2 * j);
				}
			hop_array_release(y);
		}
	assert_int_equal(dropped, 0);
	hop_array_release(a);
	assert_int_equal(dropped, 1);
}

static void expect_written(block *b, int times)
{
	for (int i = 0; i < R; i++)
		for (int j = 0; j < C; j++)
			assert_true(*at(b, i, j) == 10 * i + j + times);
	for (size_t k = 1; k < sizeof b->m / sizeof *b->m; k += 2)
		assert_true(b->m[k] == -1);              /* the gaps are nobody's */
}

static void test_written(void **state)
{
	block b;
	hop_array *a = adopt(&b, false), *y;
	hop_spec s = hop_spec2(HOP_f32, R, C);
	hop_fn *f;
	(void)state;
	ok(hop_capture(ctx, add_one, NULL, 1, &s, &f));
	for (int i = 1; i <= 3; i++) {
		ok(i == 3 ? hop_call_with(f, 1, &a, 1, &y, HOP_RUN_OPTS(.interpret = true))
		          : hop_call(f, 1, &a, 1, &y));
		expect_written(&b, i);
		hop_array_release(y);
	}
	ok(hop_eager_call(ctx, add_one, NULL, 1, &a, 1, &y));
	expect_written(&b, 4);
	hop_array_release(y);
	hop_array_release(a);
	a = adopt(&b, true);
	assert_int_equal(hop_call(f, 1, &a, 1, &y), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "read-only"));
	expect_written(&b, 0);
	hop_array_release(a);
	hop_fn_release(f);
}

/* As a captured constant, by either door. */
static void test_captured(void **state)
{
	block b;
	hop_array *a = adopt(&b, true), *y, *zero;
	int64_t dim[2] = { R, C };
	hop_spec s = hop_spec2(HOP_f32, R, C);
	hop_fn *f;
	hop_exec *x;
	(void)state;
	ok(hop_array_new(ctx, HOP_f32, 2, dim, NULL, &zero));
	ok(hop_capture(ctx, use, a, 1, &s, &f));
	for (int i = 0; i < 2; i++) {
		ok(hop_call(f, 1, &zero, 1, &y));
		for (int k = 0; k < R * C; k++)
			assert_true(hop_array_at(y, k) == 10 * (k / C) + k % C);
		hop_array_release(y);
	}
	ok(hop_compile(f, NULL, &x));
	float out[R * C];
	hop_arg in = { .data = hop_array_data(zero) }, to = { .data = out };
	void *ws = aligned_alloc(64, (size_t)(hop_exec_workspace(x, &in) + 127) / 64 * 64);
	ok(hop_run(x, &in, &to, ws));
	for (int k = 0; k < R * C; k++)
		assert_true(out[k] == 10 * (k / C) + k % C);
	free(ws);
	hop_exec_release(x);
	hop_fn_release(f);
	hop_array_release(zero);
	hop_array_release(a);
}

static void test_refused(void **state)
{
	float m[16] = { 0 };
	int64_t dim[2] = { 2, 3 }, same[2] = { 0, 1 }, meet[2] = { 2, 1 };
	int64_t far[2] = { INT64_MAX, 1 }, least[2] = { INT64_MIN, 1 }, fine[2] = { 3, -1 };
	const int64_t *bad[] = { same, meet, far, least };
	hop_array *a;
	(void)state;
	dropped = 0;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(hop_array_adopt_strided(ctx, HOP_f32, 2, dim, bad[i], m, false, drop,
		                                         &dropped, &a), HOP_EVALUE);
		assert_null(a);
		assert_non_null(strstr(hop_message(ctx), "strides"));
	}
	for (int i = 0; i < 4; i++)                  /* to be read, elements may meet */
		assert_int_equal(hop_array_adopt_strided(ctx, HOP_f32, 2, dim, bad[i], m, true, NULL, NULL,
		                                         &a) == HOP_OK, i < 2),
		hop_array_release(a);
	ok(hop_array_adopt_strided(ctx, HOP_f32, 2, dim, fine, m + 8, false, drop, &dropped, &a));
	hop_array_release(a);
	dim[0] = 0;                                  /* nothing is anywhere */
	ok(hop_array_adopt_strided(ctx, HOP_f32, 2, dim, far, NULL, false, drop, &dropped, &a));
	hop_array_release(a);
	assert_int_equal(dropped, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_captured),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
