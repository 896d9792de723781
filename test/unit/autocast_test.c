/* autocast_test.c -- autocast against PyTorch 2.13: the dtype of the result of every row of the
 * table, by its CPU and by its lists for CUDA; the loss and gradients of a small network; and products
 * with a dtype of their own. The numbers are in test/data/autocast.h. What modes are in general is in
 * mode_test.c. */
#include "trace_rig.h"

#include "data/autocast.h"

enum { NCASE = sizeof cast_cases / sizeof *cast_cases };

typedef hop_value form(hop_trace *t, const hop_value *in);
#define FORM(name, ...) \
	static hop_value f_##name(hop_trace *t, const hop_value *in) { return __VA_ARGS__; }
#define X in[0]                            /* [3, 3] */
#define V in[1]                            /* [3] */

FORM(matmul, hop_matmul(t, X, X))
FORM(linear, hop_linear(t, X, X, V))
FORM(prod, hop_prod(t, X, 0, NULL))
FORM(mse, hop_mse(t, X, X, HOP_LOSS_MEAN))
FORM(cross_entropy, hop_cross_entropy(t, X, hop_arange(t, HOP_i64, hop_n(3)), 1, HOP_LOSS_MEAN))
FORM(diag_sum, hop_diag_sum(t, X))
FORM(cholesky, hop_cholesky(t, X, HOP_LOWER))
FORM(cho_solve, hop_cho_solve(t, X, X, HOP_LOWER))
FORM(solve, hop_solve(t, X, X))
FORM(triangular_solve, hop_triangular_solve(t, X, X, HOP_UPPER))
FORM(inv, hop_inv(t, X))
FORM(exp, hop_exp(t, X))
FORM(expm1, hop_expm1(t, X))
FORM(log, hop_log(t, X))
FORM(log1p, hop_log1p(t, X))
FORM(rsqrt, hop_rsqrt(t, X))
FORM(sinh, hop_sinh(t, X))
FORM(cosh, hop_cosh(t, X))
FORM(asin, hop_asin(t, X))
FORM(acos, hop_acos(t, X))
FORM(pow, hop_pow(t, X, X))
FORM(sum, hop_sum_all(t, X))
FORM(cumsum, hop_cumsum(t, X, 0))
FORM(cumprod, hop_cumprod(t, X, 0))
FORM(softmax, hop_softmax(t, X, 1))
FORM(log_softmax, hop_log_softmax(t, X, 1))
FORM(logsumexp, hop_logsumexp(t, X, 1))
FORM(softplus, hop_softplus(t, X))
FORM(layer_norm, hop_layer_norm(t, X, V, V, 1e-5))
FORM(norm, hop_norm(t, X, 0, NULL))
FORM(concat, hop_concat(t, 2, (hop_value[]){ X, X }, 0))
FORM(stack_n, hop_stack_n(t, 2, (hop_value[]){ X, X }, 0))
FORM(atan2, hop_atan2(t, X, X))
FORM(scatter_add, hop_scatter_add(t, X, 0, hop_arange(t, HOP_i64, hop_n(3)), X))

static const struct { const char *name; form *f; } forms[] = {
#define F(name) { #name, f_##name }
	F(matmul), F(linear), F(prod), F(mse), F(cross_entropy), F(diag_sum), F(cholesky), F(cho_solve),
	F(solve), F(triangular_solve), F(inv), F(exp), F(expm1), F(log), F(log1p), F(rsqrt), F(sinh),
	F(cosh), F(asin), F(acos), F(pow), F(sum), F(cumsum), F(cumprod), F(softmax), F(log_softmax),
	F(logsumexp), F(softplus), F(layer_norm), F(norm), F(concat), F(stack_n), F(atan2),
	F(scatter_add),
#undef F
};

/* ---- dtypes ---- */

struct asked { form *f; const struct cast_case *c; hop_dtype got; };

static void ask(hop_trace *t, const hop_value *in, void *user)
{
	struct asked *a = user;
	hop_value y = HOP_NONE;
	if (a->c->cuda)
		HOP_AUTOCAST_CUDA(t, a->c->to)
			y = a->f(t, in);
	else
		HOP_AUTOCAST(t, a->c->to)
			y = a->f(t, in);
	a->got = hop_dtype_of(t, y);
	hop_return(t, y);
}

static void dtypes(void **state)
{
	(void)state;
	const int64_t three[2] = { 3, 3 };
	int tried = 0;
	for (int i = 0; i < NCASE; i++) {
		const struct cast_case *c = &cast_cases[i];
		hop_spec s[2] = { hop_spec_of(c->in, 2, three), hop_spec_of(c->in, 1, three) };
		for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
			struct asked a = { forms[k].f, c, HOP_bool };
			hop_fn *f;
			if (strcmp(forms[k].name, c->name))
				continue;
			if (hop_capture(ctx, ask, &a, 2, s, &f))
				fail_msg("%s", hop_message(ctx));
			if (a.got != c->out)
				fail_msg("%s of dtype %d under %d: dtype %d, PyTorch's is %d", c->name, c->in, c->to,
				         a.got, c->out);
			hop_fn_release(f);
			tried++;
		}
	}
	assert_int_equal(tried, NCASE);
}

/* Every row of the table is in the data, or has no word in PyTorch. */
static void covered(void **state)
{
	static const char *const rows[] = {
#define HOP_CAST_ROW(name, torch, cpu, cuda) #name,
#include "trace/autocast.def"
#undef HOP_CAST_ROW
	};
	(void)state;
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		bool found = !strcmp(rows[k], "matmul_as");
		for (int i = 0; i < NCASE; i++)
			found |= !strcmp(rows[k], cast_cases[i].name);
		if (!found)
			fail_msg("%s has no case in test/data/gen_autocast.py", rows[k]);
	}
}

/* ---- a network ---- */

static void net(hop_trace *t, const hop_value *in, void *user)
{
	hop_value loss = HOP_NONE;
	(void)user;
	HOP_AUTOCAST(t, HOP_bf16) {
		hop_value h = hop_relu(t, hop_linear(t, in[0], in[2], in[3]));
		loss = hop_cross_entropy(t, hop_linear(t, h, in[4], in[5]), in[1], 1, HOP_LOSS_MEAN);
	}
	hop_return(t, loss);
}

static hop_array *floats(const double *v, int rank, int64_t m, int64_t n, hop_dtype d)
{
	hop_array *a = array(d, rank, (int64_t[]){ m, n }, NULL);
	for (int64_t i = 0; i < hop_array_count(a); i++)
		if (d == HOP_i64)
			((int64_t *)hop_array_data(a))[i] = (int64_t)v[i];
		else
			((float *)hop_array_data(a))[i] = (float)v[i];
	return a;
}

/* Both round the same numbers to bf16, after sums in another order: a sum that falls on the other side
 * of a tie is one place of bf16 off, and what follows from it likewise. */
static void close_to(const hop_array *a, const double *want)
{
	double big = 0, most = 0, sum = 0;
	int64_t n = hop_array_count(a);
	assert_int_equal(hop_array_dtype(a), HOP_f32);
	for (int64_t i = 0; i < n; i++) {
		double e = fabs(hop_array_at(a, i) - want[i]);
		big = fmax(big, fabs(want[i]));
		most = fmax(most, e);
		sum += e;
	}
	if (most > big / 128 || sum / (double)n > big / 2048)
		fail_msg("off by %g at most, %g in the mean, of %g", most, sum / (double)n, big);
}

static void network(void **state)
{
	(void)state;
	hop_array *in[6] = {
		floats(net_x, 2, 8, 16, HOP_f32), floats(net_y, 1, 8, 0, HOP_i64),
		floats(net_w0, 2, 32, 16, HOP_f32), floats(net_w1, 1, 32, 0, HOP_f32),
		floats(net_w2, 2, 4, 32, HOP_f32), floats(net_w3, 1, 4, 0, HOP_f32),
	}, *out[5];
	const double *want[5] = { net_loss, net_g0, net_g1, net_g2, net_g3 };
	hop_spec s[6];
	hop_fn *f, *g;
	for (int i = 0; i < 6; i++)
		s[i] = spec_of(in[i]);
	if (hop_capture(ctx, net, NULL, 6, s, &f) || hop_grad(f, 4, (int[]){ 2, 3, 4, 5 }, &g) ||
	    hop_call(g, 6, in, 5, out))
		fail_msg("%s", hop_message(ctx));
	for (int i = 0; i < 5; i++) {
		close_to(out[i], want[i]);
		hop_array_release(out[i]);
	}
	if (hop_eager_call(ctx, net, NULL, 6, in, 1, out))
		fail_msg("%s", hop_message(ctx));
	close_to(out[0], net_loss);
	hop_array_release(out[0]);
	for (int i = 0; i < 6; i++)
		hop_array_release(in[i]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- products with a dtype of their own ---- */

static void wide(hop_trace *t, const hop_value *in, void *user)
{
	double w[30];
	(void)user;
	for (int i = 0; i < 30; i++)
		w[i] = cosf((float)i);
	hop_value a = hop_cast(t, in[0], HOP_bf16), b = hop_cast(t, in[1], HOP_bf16);
	hop_value c = hop_matmul_as(t, a, b, HOP_f32);
	hop_value k = hop_cast(t, hop_data(t, HOP_f64, 2, (int64_t[]){ 5, 6 }, w), HOP_f32);
	assert_int_equal(hop_dtype_of(t, c), HOP_f32);
	hop_return_n(t, 2, (hop_value[]){ hop_sum_all(t, hop_mul(t, c, k)), c });
}

static void is(hop_array *a, const double *want, double most)
{
	for (int64_t i = 0; i < hop_array_count(a); i++)
		if (!(fabs(hop_array_at(a, i) - want[i]) <= most * (1 + fabs(want[i]))))
			fail_msg("element %d is %.9g, PyTorch's is %.9g", (int)i, hop_array_at(a, i), want[i]);
	hop_array_release(a);
}

static void products(void **state)
{
	(void)state;
	hop_array *in[2] = { floats(wide_a, 2, 5, 9, HOP_f32), floats(wide_b, 2, 9, 6, HOP_f32) }, *out[4];
	hop_spec s[2] = { spec_of(in[0]), spec_of(in[1]) };
	hop_fn *f, *g;
	if (hop_capture(ctx, wide, NULL, 2, s, &f) || hop_grad(f, 2, (int[]){ 0, 1 }, &g) ||
	    hop_call(g, 2, in, 4, out))
		fail_msg("%s", hop_message(ctx));
	hop_array_release(out[0]);
	is(out[1], wide_c, 1e-6);
	is(out[2], wide_ga, 1.0 / 256);           /* rounded to bf16, after sums in another order */
	is(out[3], wide_gb, 1.0 / 256);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* 257 is no bf16; 2^40 no i32. */
static void unrounded(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = hop_cast(t, in[0], HOP_bf16), n = hop_cast(t, in[1], HOP_i32);
	hop_return_n(t, 6, (hop_value[]){
		hop_matmul(t, x, x), hop_matmul_as(t, x, x, HOP_f32), hop_matmul_as(t, x, x, HOP_f64),
		hop_matmul_as(t, n, n, HOP_i64), hop_mul_as(t, n, n, HOP_i64), hop_div_as(t, n, x, HOP_f64)
	});
}

static void no_rounding(void **state)
{
	(void)state;
	const double one[1] = { 256 }, all[1] = { 257 }, big[1] = { 1099511627776.0 + 9 };
	const double each[2] = { 1099511627776.0, 9 }, ratio[2] = { 65536, 3 };
	struct rig r = { .f = unrounded, .nin = 2, .nout = 6,
		.want = { one, all, all, big, each, ratio }, .n = { 1, 1, 1, 1, 2, 2 },
		.in = { vec(2, (const double[]){ 16, 1 }), vec(2, (const double[]){ 1048576, 3 }) } };
	rig_run(&r);
}

/* f32 in f64, large enough for a template; sums are exact in f64, whatever their order. */
static void as_f64(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul_as(t, in[0], in[1], HOP_f64));
}

static void large(void **state)
{
	enum { M = 9, K = 17, N = 16 };
	static float x[M][K], y[K][N];
	static double want[M][N];
	(void)state;
	for (int i = 0; i < M * K; i++)
		x[i / K][i % K] = (float)(1 << 20 | i * 7) / 64;
	for (int i = 0; i < K * N; i++)
		y[i / N][i % N] = (float)(1 << 20 | i * 11) / 32;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++)
			for (int k = 0; k < K; k++)
				want[i][j] += (double)x[i][k] * y[k][j];
	hop_array *in[2] = { array(HOP_f32, 2, (int64_t[]){ M, K }, x),
		                 array(HOP_f32, 2, (int64_t[]){ K, N }, y) }, *out;
	hop_spec s[2] = { spec_of(in[0]), spec_of(in[1]) };
	hop_fn *f;
	if (hop_capture(ctx, as_f64, NULL, 2, s, &f) || hop_call(f, 2, in, 1, &out))
		fail_msg("%s", hop_message(ctx));
	is(out, want[0], 0);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
}

static void narrow(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_matmul_as(t, in[0], in[0], *(hop_dtype *)user));
}

static void refused(void **state)
{
	(void)state;
	const int64_t three = 3;
	hop_spec s = hop_spec_of(HOP_bf16, 1, &three), n = hop_spec_of(HOP_i32, 1, &three);
	hop_dtype half = HOP_f16, whole = HOP_i32, real = HOP_f32;
	rig_fails(narrow, &half, 1, &s, HOP_ETYPE, "matmul_as: products of bf16 do not add up to f16: "
	          "to f32, f64, bf16 they may");
	rig_fails(narrow, &whole, 1, &s, HOP_ETYPE, "products of bf16 do not add up to i32");
	rig_fails(narrow, &real, 1, &n, HOP_ETYPE, "products of i32 do not add up to f32: to i32, i64");
}

/* ---- bodies ---- */

static void looped(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = in[0];
	(void)user;
	HOP_AUTOCAST(t, HOP_bf16) {
		HOP_FOR(t, i, 3, h) {
			h = hop_cast(t, hop_matmul(t, h, in[1]), HOP_f32);
		}
	}
	hop_return(t, h);
}

/* A body inherits the mode, and numbers, f64 and integers stay. */
static void inherited(void **state)
{
	(void)state;
	const int64_t two[2] = { 2, 2 };
	const float h[4] = { 1, 2, 3, 4 }, w[4] = { 1, 0, 0, 1.00390625f };      /* 1 + 2^-8: 1 in bf16 */
	hop_array *in[2] = { array(HOP_f32, 2, two, h), array(HOP_f32, 2, two, w) }, *out;
	hop_spec s[2] = { spec_of(in[0]), spec_of(in[1]) };
	hop_fn *f;
	if (hop_capture(ctx, looped, NULL, 2, s, &f) || hop_call(f, 2, in, 1, &out))
		fail_msg("%s", hop_message(ctx));
	same(out, (const double[]){ 1, 2, 3, 4 }, 4);
	hop_array_release(out);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(dtypes, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(covered, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(network, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(products, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(no_rounding, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(large, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(refused, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(inherited, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
