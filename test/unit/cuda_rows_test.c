/* cuda_rows_test.c -- rows that are added to by looked-up numbers, on a device: the bits of one addition
 * after the other, whichever way their steps are put in order: counted, sorted since a row has too many,
 * sorted since there are few rows; rows of many steps by whole blocks. Needs a device, or the emulated
 * one; without it all are skipped. */
#include "cuda_rig.h"

typedef struct shape {
	int64_t steps, rows, width;
	int     often;                 /* of a hundred steps so many go to one row */
} shape;

static void add(hop_trace *t, const hop_value *in, void *user)
{
	const shape *s = user;
	const hop_dim dim[2] = { hop_n(s->rows), hop_n(s->width) };
	hop_return(t, hop_scatter_add(t, hop_full(t, HOP_f32, 2, dim, 0.5), 0, in[1], in[0]));
}

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Some numbers are out of range: they go to the first row or the last. */
static void fill(const shape *s, hop_array *x, hop_array *at)
{
	float *v = hop_array_data(x);
	int64_t *row = hop_array_data(at);
	uint32_t state = 7;
	for (int64_t i = 0; i < s->steps * s->width; i++)
		v[i] = (float)(next(&state) % 1000) * 1e-3f;
	for (int64_t i = 0; i < s->steps; i++)
		row[i] = next(&state) % 100 < (uint32_t)s->often ? s->rows / 2
		                                                 : (int64_t)(next(&state) % (s->rows + 2)) - 1;
}

/* any: how many steps there are is a size parameter, so that they come in rounds. */
static void check(const shape *s, bool any)
{
	hop_spec spec[2] = { hop_spec2(HOP_f32, s->steps, s->width), hop_spec1(HOP_i64, s->steps) };
	hop_array *in[2], *y, *want;
	shape own = *s;
	hop_fn *f;
	spec[0].sym[0] = spec[1].sym[0] = any ? "n" : NULL;
	ok(hop_capture(ctx, add, &own, 2, spec, &f));
	ok(hop_fn_compile(f, HOP_COMPILE_OPTS(.target = "cuda")));
	ok(hop_array_new(ctx, HOP_f32, 2, (const int64_t[]){ s->steps, s->width }, NULL, &in[0]));
	ok(hop_array_new(ctx, HOP_i64, 1, &s->steps, NULL, &in[1]));
	fill(s, in[0], in[1]);
	ok(hop_call_with(f, 2, in, 1, &want, HOP_RUN_OPTS(.interpret = true)));
	for (int k = 0; k < 2; k++) {
		ok(hop_call(f, 2, in, 1, &y));
		if (memcmp(hop_array_data(y), hop_array_data(want), (size_t)(s->rows * s->width) * 4))
			fail_msg("%d steps to %d rows of %d%s, run %d: other bits", (int)s->steps, (int)s->rows,
			         (int)s->width, any ? ", not known" : "", k);
		hop_array_release(y);
	}
	hop_array_release(want);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
}

static void all(const shape *s, size_t n, bool any)
{
	NEED_CUDA();
	for (size_t i = 0; i < n; i++)
		check(&s[i], any);
}

/* Few steps a row: none, one, some; rows that are no multiple of what a block counts. */
static void test_counted(void **state)
{
	static const shape s[] = { { 5000, 5000, 3, 0 }, { 3001, 9999, 1, 0 }, { 4000, 1024, 130, 0 },
	                           { 600, 700, 2, 0 } };
	(void)state;
	all(s, sizeof s / sizeof *s, false);
}

/* One row has too many, of them as many as a block takes. */
static void test_uneven(void **state)
{
	static const shape s[] = { { 5000, 5000, 3, 5 }, { 4000, 3000, 40, 60 }, { 700, 800, 2, 100 } };
	(void)state;
	all(s, sizeof s / sizeof *s, false);
}

static void test_sorted(void **state)
{
	static const shape s[] = { { 5000, 17, 3, 0 }, { 3000, 2, 64, 0 } };
	(void)state;
	all(s, sizeof s / sizeof *s, false);
}

static void test_rounds(void **state)
{
	static const shape s[] = { { 4000, 3000, 40, 0 }, { 4000, 3000, 40, 60 }, { 3000, 2, 64, 0 } };
	(void)state;
	all(s, sizeof s / sizeof *s, true);
}

/* More steps than a round has, which takes the emulated device half a minute. */
static void test_many_rounds(void **state)
{
	static const shape s = { 530000, 200000, 1, 0 };
	(void)state;
	if (!absent && strstr(hop_device_about(ctx, far), "emulated")) {
		print_message("skipped: on the emulated device: too long\n");
		skip();
	}
	all(&s, 1, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counted, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_uneven, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_sorted, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_rounds, open_cuda, close_ctx),
		cmocka_unit_test_setup_teardown(test_many_rounds, open_cuda, close_ctx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
