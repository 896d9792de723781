/* rows_test.c -- reductions of matrices whose sizes are known only when they run, along either
 * axis, at every length around the widths of vectors, against loops written out. */
#include "trace_rig.h"

enum { MAX = 70 };

struct red {
	const char *name;
	hop_value (*f)(hop_trace *t, hop_value x, int n, const int *axes);
	double    (*join)(double a, double b);
	double      start;
};

static hop_value f_sum(hop_trace *t, hop_value x, int n, const int *a) { return hop_sum(t, x, n, a); }
static hop_value f_max(hop_trace *t, hop_value x, int n, const int *a) { return hop_amax(t, x, n, a); }
static hop_value f_min(hop_trace *t, hop_value x, int n, const int *a) { return hop_amin(t, x, n, a); }
static hop_value f_prod(hop_trace *t, hop_value x, int n, const int *a) { return hop_prod(t, x, n, a); }
static double plus(double a, double b) { return a + b; }
static double times(double a, double b) { return a * b; }

static const struct red reds[] = {
	{ "sum", f_sum, plus, 0 }, { "amax", f_max, fmax, -INFINITY },
	{ "amin", f_min, fmin, INFINITY }, { "prod", f_prod, times, 1 },
};

static void both_axes(hop_trace *t, const hop_value *in, void *user)
{
	const struct red *r = user;
	int zero = 0, one = 1;
	hop_return(t, r->f(t, in[0], 1, &one), r->f(t, in[0], 1, &zero));
}

/* A matrix of m rows and n columns; near 1, so that products stay in range. */
static double at(int i, int j)
{
	return 1 + 0.03 * ((i * 37 + j * 11) % 29 - 14) / 14;
}

static void check(const struct red *r, hop_fn *f, hop_dtype d, int m, int n)
{
	int64_t dim[2] = { m, n };
	float x[MAX * MAX];
	double y[MAX * MAX], got[MAX];
	for (int i = 0; i < m * n; i++) {
		y[i] = at(i / (n ? n : 1), i % (n ? n : 1));
		x[i] = (float)y[i];
		y[i] = d == HOP_f32 ? (double)x[i] : y[i];
	}
	hop_array *a = array(d, 2, dim, d == HOP_f32 ? (void *)x : (void *)y), *out[2];
	if (hop_call(f, 1, &a, 2, out))
		fail_msg("%s: %s", r->name, hop_message(ctx));
	for (int k = 0; k < 2; k++) {
		int rows = k ? n : m, cols = k ? m : n;
		assert_int_equal(hop_array_dims(out[k])[0], rows);
		for (int i = 0; i < rows; i++)
			got[i] = d == HOP_f32 ? (double)((float *)hop_array_data(out[k]))[i]
			                      : ((double *)hop_array_data(out[k]))[i];
		for (int i = 0; i < rows; i++) {
			double want = r->start;
			for (int j = 0; j < cols; j++)
				want = r->join(want, k ? y[j * n + i] : y[i * n + j]);
			if (got[i] != want && !(fabs(got[i] - want) <= 1e-5 * (1 + fabs(want))))
				fail_msg("%s along axis %d of [%d, %d], row %d: %.9g, not %.9g", r->name,
				         1 - k, m, n, i, got[i], want);
		}
		hop_array_release(out[k]);
	}
	hop_array_release(a);
}

static void rows(hop_dtype d)
{
	static const int some[] = { 0, 1, 3, 8, 16, 17, 34, 64 };
	hop_spec s = hop_spec_sym(hop_spec_sym(hop_spec2(d, 0, 0), 0, "m", 0, MAX), 1, "n", 0, MAX);
	for (size_t k = 0; k < sizeof reds / sizeof *reds; k++) {
		hop_fn *f;
		assert_int_equal(hop_capture(ctx, both_axes, (void *)&reds[k], 1, &s, &f), HOP_OK);
		for (size_t i = 0; i < sizeof some / sizeof *some; i++)
			for (int n = 0; n < MAX; n++)
				check(&reds[k], f, d, some[i], n);
		hop_fn_release(f);
	}
}

static void rows_f32(void **state) { (void)state; rows(HOP_f32); }
static void rows_f64(void **state) { (void)state; rows(HOP_f64); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_f32, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(rows_f64, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
