/* numbers_sum_test.c -- sums of ten million f32: near the truth whatever is added up and
 * along whatever axis, and the same bits on any number of threads. */
#include "numbers_rig.h"

enum { MANY = 10000000 };

/* Each result is a sum of n elements: neighbours, or a stride apart. */
struct tower {
	const char *name;
	hop_body   *f;
	int         rank;
	int64_t     dim[2];
	bool        across;
	bool        is_mean;
	double    (*of)(double x);                   /* what is added up; NULL = x */
};

static double square(double x) { return x * x; }
static double exp_half(double x) { return exp(x / 2); }

static void sum_all(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, in[0]));
}

static void sum_first(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum(t, in[0], 1, (const int[]){ 0 }));
}

static void sum_last(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum(t, in[0], 1, (const int[]){ -1 }));
}

static void mean_all(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mean(t, in[0], 0, NULL));
}

static void sum_exp(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_exp(t, hop_mulf(t, in[0], 0.5))));
}

static void dot_self(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul(t, in[0], in[0]));
}

/* A row of ones times x: a product with a long sum and a thin side. */
static void ones_times(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim d[2] = { hop_n(1), hop_dim_of(t, in[0], 0) };
	(void)user;
	hop_value y = hop_matmul(t, hop_full(t, hop_dtype_of(t, in[0]), 2, d, 1), in[0]);
	hop_return(t, hop_reshape(t, y, 1, (hop_dim[]){ hop_dim_of(t, in[0], 1) }));
}

static const struct tower towers[] = {
	{ "sum", sum_all, 1, { MANY, 0 }, false, false, NULL },
	{ "sum of a square", sum_all, 2, { 3000, 3300 }, false, false, NULL },
	{ "sum of long rows", sum_all, 2, { 1000, 10000 }, false, false, NULL },
	{ "sum of short rows", sum_all, 2, { MANY / 10, 10 }, false, false, NULL },
	{ "mean", mean_all, 1, { MANY, 0 }, false, true, NULL },
	{ "axis 0", sum_first, 2, { 100000, 100 }, true, false, NULL },
	{ "axis 0 of thin", sum_first, 2, { MANY / 5, 5 }, true, false, NULL },
	{ "axis 1", sum_last, 2, { 100, 100000 }, false, false, NULL },
	{ "axis 1 of few", sum_last, 2, { 3, 3000000 }, false, false, NULL },
	{ "sum of exp", sum_exp, 1, { MANY, 0 }, false, false, exp_half },
	{ "dot", dot_self, 1, { MANY, 0 }, false, false, square },
	{ "product", ones_times, 2, { MANY / 4, 4 }, true, false, NULL },
};
enum { NTOWER = sizeof towers / sizeof *towers };

/* All equal, which is the worst; random; large and small in turn. */
enum { NDATA = 3 };
static float tower_data(int kind, uint64_t *state, int64_t i)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return kind == 0 ? 0.1f : kind == 1 ? (float)(*state >> 40) * 0x1p-24f :
	       i % 2 ? 3e-4f : 7;
}

static hop_array *tower_array(const struct tower *w, int kind)
{
	hop_array *a;
	uint64_t state = 7;
	ok(hop_array_new(ctx, HOP_f32, w->rank, w->dim, NULL, &a));
	for (int64_t i = 0; i < hop_array_count(a); i++)
		((float *)hop_array_data(a))[i] = tower_data(kind, &state, i);
	return a;
}

/* The greatest error of a result, relative. */
static double tower_error(const struct tower *w, hop_array *x, hop_array *y)
{
	int64_t many = hop_array_count(y), n = hop_array_count(x) / many;
	const float *v = hop_array_data(x);
	double worst = 0;
	for (int64_t i = 0; i < many; i++) {
		long double sum = 0;
		for (int64_t j = 0; j < n; j++) {
			double e = v[w->across ? j * many + i : i * n + j];
			sum += w->of ? w->of(e) : e;
		}
		sum /= w->is_mean ? n : 1;
		worst = fmax(worst, fabs((double)((hop_array_at(y, i) - sum) / sum)));
	}
	return worst;
}

static hop_fn *tower_fn(const struct tower *w, bool symbolic)
{
	hop_spec s = hop_spec_of(HOP_f32, w->rank, w->dim);
	hop_fn *fn;
	for (int i = 0; symbolic && i < w->rank; i++)
		s = hop_spec_sym(s, i, i ? "m" : "n", 0, 0);
	ok(hop_capture(ctx, w->f, NULL, 1, &s, &fn));
	return fn;
}

static void test_long_sums(void **state)
{
	(void)state;
	for (int i = 0; i < NTOWER; i++)
		for (int kind = 0; kind < NDATA; kind++) {
			bool symbolic = (i + kind) % 2;
			hop_fn *fn = tower_fn(&towers[i], symbolic);
			hop_array *x = tower_array(&towers[i], kind), *y;
			ok(hop_call(fn, 1, &x, 1, &y));
			double error = tower_error(&towers[i], x, y);
			if (getenv("NUMBERS_SHOW"))
				printf("%s %d%s: %.2e\n", towers[i].name, kind,
				       symbolic ? " symbolic" : "", error);
			if (!(error < 1e-6))
				fail_msg("%s, data %d%s: relative error %.2e", towers[i].name, kind,
				         symbolic ? ", symbolic" : "", error);
			hop_array_release(x);
			hop_array_release(y);
			hop_fn_release(fn);
		}
}

/* So many rows of ones times x, by tiles. */
static void rows_times(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim d[2] = { hop_n(*(int *)user), hop_dim_of(t, in[0], 0) };
	hop_value y = hop_matmul(t, hop_full(t, HOP_f32, 2, d, 1), in[0]);
	hop_return(t, hop_index(t, y, 0, -1));
}

/* Tiles add up in f32, but not all of k in a row. With few rows B is read in place. */
static void test_products(void **state)
{
	(void)state;
	for (int rows = 8; rows < 40; rows += 24)
		for (int kind = 0; kind < NDATA; kind++) {
			struct tower w = { .f = rows_times, .rank = 2, .dim = { 40000, 64 },
			                   .across = true };
			hop_array *x = tower_array(&w, kind), *y = run(NATIVE, w.f, &rows, x);
			double error = tower_error(&w, x, y);
			if (getenv("NUMBERS_SHOW"))
				printf("product of %d rows, data %d: %.2e\n", rows, kind, error);
			if (!(error < 1e-5))
				fail_msg("%d rows, data %d: relative error %.2e", rows, kind, error);
			hop_array_release(x);
			hop_array_release(y);
		}
}

/* The interpreter rounds a sum once. */
static void test_interpreted_sum(void **state)
{
	struct tower w = { "sum", sum_all, 1, { MANY / 10, 0 }, false, false, NULL };
	(void)state;
	for (int kind = 0; kind < NDATA; kind++) {
		hop_array *x = tower_array(&w, kind), *y = run(INTERP, w.f, NULL, x);
		assert_true(tower_error(&w, x, y) <= 0x1p-24);
		hop_array_release(x);
		hop_array_release(y);
	}
}

/* The same bits on any number of threads. */
static void test_same_bits(void **state)
{
	(void)state;
	for (int i = 0; i < NTOWER; i++) {
		hop_fn *fn = tower_fn(&towers[i], i % 2);
		hop_array *x = tower_array(&towers[i], 1), *first = NULL, *y;
		for (int threads = 1; threads < 5; threads++) {
			hop_compile_opts o = { .size = sizeof o, .threads = threads,
			                       .no_cache = true };
			hop_arg in = { .data = hop_array_data(x), .dim = hop_array_dims(x) };
			hop_arg out = { 0 };
			int64_t dim[HOP_RANK];
			hop_exec *exec;
			ok(hop_compile(fn, &o, &exec));
			int rank = hop_exec_result(exec, &in, 0, dim);
			ok(hop_array_new(ctx, HOP_f32, rank, dim, NULL, &y));
			int64_t bytes = hop_exec_workspace(exec, &in);
			void *space = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
			out.data = hop_array_data(y);
			assert_non_null(space);
			assert_int_equal(hop_run(exec, &in, &out, space), HOP_OK);
			free(space);
			hop_exec_release(exec);
			if (!first)
				first = hop_array_retain(y);
			assert_memory_equal(hop_array_data(first), hop_array_data(y),
			                    (size_t)hop_array_count(y) * sizeof(float));
			hop_array_release(y);
		}
		hop_array_release(first);
		hop_array_release(x);
		hop_fn_release(fn);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_sums),
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_interpreted_sum),
		cmocka_unit_test(test_same_bits),
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
