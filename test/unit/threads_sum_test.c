/* threads_sum_test.c -- long reductions on several threads: every kind, several at once, with
 * results stored in the same loop, of known and of symbolic sizes, inside other operators and
 * differentiated. The same bits for 1, 2, 3 and 7 threads, and near the interpreter's. */
#include "numbers_rig.h"

enum { NOUT = 3 };

static void sums(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_tanh(t, in[0]);

	(void)user;
	hop_return(t, hop_sum_all(t, y), y, hop_sum_all(t, hop_mul(t, y, in[0])));
}

static void extremes(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_amax(t, in[0], 0, NULL), hop_neg(t, hop_amax(t, hop_neg(t, in[0]), 0, NULL)),
	           hop_sum_all(t, hop_exp(t, hop_sub(t, in[0], hop_amax(t, in[0], 0, NULL)))));
}

/* Numbers near 1, so that the product of many is none that leaves the range. */
static void products(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = hop_addf(t, hop_mulf(t, in[0], 1e-5), 1);

	(void)user;
	hop_return(t, hop_prod(t, x, 0, NULL), hop_argmax(t, in[0], 0),
	           hop_argmin(t, hop_cast(t, in[0], HOP_f64), -1));
}

static void truths(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = hop_lt(t, in[0], hop_f(t, 0.99)), y = hop_lt(t, in[0], hop_f(t, 5));

	(void)user;
	hop_return(t, hop_cast(t, hop_any(t, x, 0, NULL), HOP_i64),
	           hop_cast(t, hop_all(t, x, 0, NULL), HOP_i64),
	           hop_cast(t, hop_all(t, y, 0, NULL), HOP_i64));
}

static void counts(hop_trace *t, const hop_value *in, void *user)
{
	hop_value big = hop_gt(t, in[0], hop_f(t, 0.25));

	(void)user;
	hop_return(t, hop_sum_all(t, hop_cast(t, big, HOP_i64)), hop_sum_all(t, hop_cast(t, in[0], HOP_f64)),
	           hop_mean(t, in[0], 0, NULL));
}

static void add_up(hop_trace *t, const hop_value *in, void *user)
{
	const hop_value *x = user;
	hop_value s = hop_sum_all(t, hop_sin(t, hop_add(t, *x, in[0])));

	hop_return(t, hop_add(t, in[0], hop_mulf(t, s, 1e-6)));
}

/* In the steps of a loop, from a captured value. */
static void steps(hop_trace *t, const hop_value *in, void *user)
{
	hop_value     c = hop_sum_all(t, in[0]), x = in[0], y;
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(3) };

	(void)user;
	hop_scan(t, add_up, &x, 1, &c, 0, NULL, &o, 1, &y, NULL);
	hop_return(t, y, hop_sum_all(t, hop_mul(t, in[0], y)), c);
}

/* Rows that are reduced apart and together, and an axis of one. */
static void planes(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim   d[3] = { hop_n(1), hop_dim_of(t, in[0], 0), hop_n(1) };
	hop_value x = hop_reshape(t, in[0], 3, d);

	(void)user;
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)), hop_sum(t, x, 1, (const int[]){ 1 }),
	           hop_amax(t, x, 2, (const int[]){ 0, 1 }));
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value m = hop_mean(t, in[0], 0, NULL), d = hop_sub(t, in[0], m);

	(void)user;
	hop_return(t, hop_div(t, hop_sum_all(t, hop_mul(t, hop_mul(t, d, d), d)),
	                      hop_addf(t, hop_sum_all(t, hop_mul(t, d, d)), 1)));
}

static hop_exec *compiled(hop_fn *f, int threads)
{
	hop_compile_opts o = { .size = sizeof o, .threads = threads };
	hop_exec        *x;

	ok(hop_compile(f, &o, &x));
	return x;
}

static double number(const hop_array *a, int64_t i)
{
	const void *p = hop_array_data((hop_array *)a);

	return hop_array_dtype(a) == HOP_f32 ? ((const float *)p)[i] :
	       hop_array_dtype(a) == HOP_f64 ? ((const double *)p)[i] : (double)((const int64_t *)p)[i];
}

static void near(const hop_array *a, const hop_array *b, const char *name)
{
	int64_t n = hop_array_count(a);

	assert_int_equal(n, hop_array_count(b));
	for (int64_t i = 0; i < n; i++) {
		double x = number(a, i), y = number(b, i);
		if (fabs(x - y) > 2e-5 * (1 + fabs(y)))
			fail_msg("%s: element %lld of %lld is %.9g, the interpreter has %.9g", name,
			         (long long)i, (long long)n, x, y);
	}
}

/* f on x by n threads: results into out, which are as many bytes as the interpreter's. */
static void by_threads(hop_fn *f, hop_array *x, int n, int nout, hop_array *const *want,
                       unsigned char **out)
{
	hop_exec *e = compiled(f, n);
	hop_arg   in = { .data = hop_array_data(x), .dim = hop_array_dims(x) }, o[NOUT];
	int64_t   dim[NOUT][HOP_RANK];

	memset(o, 0, sizeof o);
	for (int i = 0; i < nout; i++) {
		out[i] = calloc(1, (size_t)hop_array_count(want[i]) * 8 + 8);
		memcpy(dim[i], hop_array_dims(want[i]), sizeof(int64_t) * (size_t)hop_array_rank(want[i]));
		o[i].data = out[i];
		o[i].dim = dim[i];
	}
	void *w = aligned_alloc(64, (size_t)(hop_exec_workspace(e, &in) + 127) / 64 * 64);
	ok(hop_run(e, &in, o, w));
	free(w);
	hop_exec_release(e);
}

static void check(const char *name, hop_body *body, bool grad, int nout, hop_spec s, int64_t n)
{
	hop_fn        *f, *d;
	hop_array     *x, *want[NOUT], *got[NOUT];
	unsigned char *one[NOUT], *more[NOUT];

	ok(hop_array_new(ctx, HOP_f32, 1, &n, NULL, &x));
	for (int64_t i = 0; i < n; i++)
		((float *)hop_array_data(x))[i] = (float)((i * 7919) % 2003) / 1000 - 1;
	ok(hop_capture(ctx, body, NULL, 1, &s, &f));
	if (grad) {
		ok(hop_grad(f, 1, (const int[]){ 0 }, &d));
		hop_fn_release(f);
		f = d;
	}
	ok(hop_call_with(f, 1, &x, nout, want, HOP_RUN_OPTS(.interpret = true)));
	ok(hop_call(f, 1, &x, nout, got));
	by_threads(f, x, 1, nout, want, one);
	for (int i = 0; i < nout; i++) {
		near(got[i], want[i], name);
		hop_array_release(got[i]);
	}
	for (int k = 0; k < 3; k++) {
		by_threads(f, x, (const int[]){ 2, 3, 7 }[k], nout, want, more);
		for (int i = 0; i < nout; i++) {
			size_t bytes = (size_t)hop_array_count(want[i]) * 8 + 8;
			if (memcmp(one[i], more[i], bytes))
				fail_msg("%s of %lld: other bits on more threads", name, (long long)n);
			free(more[i]);
		}
	}
	for (int i = 0; i < nout; i++) {
		free(one[i]);
		hop_array_release(want[i]);
	}
	hop_array_release(x);
	hop_fn_release(f);
}

static void all_sizes(const char *name, hop_body *body, bool grad, int nout)
{
	static const int64_t size[] = { 0, 1, 5, 1000, 4097, 65536, 300001, 1 << 20 };

	for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
		hop_spec s = hop_spec1(HOP_f32, size[i]);
		if (!size[i] && body != sums)            /* no greatest of none */
			continue;
		check(name, body, grad, nout, s, size[i]);
		check(name, body, grad, nout, hop_spec_sym(hop_spec1(HOP_f32, 0), 0, "n", body != sums, 0),
		      size[i]);
	}
}

static void test_sums(void **state)
{
	(void)state;
	all_sizes("sums", sums, false, 3);
}

static void test_extremes(void **state)
{
	(void)state;
	all_sizes("extremes", extremes, false, 3);
}

static void test_counts(void **state)
{
	(void)state;
	all_sizes("counts", counts, false, 3);
}

static void test_products(void **state)
{
	(void)state;
	all_sizes("products", products, false, 3);
}

static void test_truths(void **state)
{
	(void)state;
	all_sizes("truths", truths, false, 3);
}

static void test_steps(void **state)
{
	(void)state;
	all_sizes("steps", steps, false, 3);
}

static void test_planes(void **state)
{
	(void)state;
	all_sizes("planes", planes, false, 3);
}

static void test_gradient(void **state)
{
	(void)state;
	all_sizes("gradient", loss, true, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums), cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_counts), cmocka_unit_test(test_products),
		cmocka_unit_test(test_truths), cmocka_unit_test(test_steps),
		cmocka_unit_test(test_planes), cmocka_unit_test(test_gradient)
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
