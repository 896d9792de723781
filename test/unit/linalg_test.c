/* linalg_test.c -- linear algebra by its constructors, captured and eagerly: values worked out in
 * plain C, a filter of four states in a scan with all its derivatives and batches, and what is
 * refused. What ops do with odd sizes and bad matrices is in solve_test.c. */
#include "trace_rig.h"

/* ---- values ---- */

enum { N = 3 };
static const double A[] = { 4, 1, -2, 1, 5, 0.5, -2, 0.5, 6 }, V[] = { 1, -2, 3 };

static hop_array *mat(int64_t n, int64_t m, const double *v)
{
	return array(HOP_f64, 2, (int64_t[]){ n, m }, v);
}

static void products(hop_trace *t, const hop_value *in, void *user)
{
	hop_value l = hop_cholesky(t, in[0], HOP_LOWER), u = hop_cholesky(t, in[0], HOP_UPPER);
	(void)user;
	hop_return(t, hop_matmul(t, l, hop_transpose(t, l, 0, 1)),
	           hop_matmul(t, hop_transpose(t, u, 0, 1), u),
	           hop_sub(t, hop_triu(t, l, 1), hop_tril(t, u, -1)),
	           hop_exp(t, hop_cho_logdet(t, l)));
}

/* The determinant by Sarrus' rule. */
static double det3(const double *a)
{
	return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
	       a[2] * (a[3] * a[7] - a[4] * a[6]);
}

static void test_cholesky(void **state)
{
	static const double none[9];
	double det = det3(A);
	(void)state;
	rig_run(&(struct rig){ .f = products, .nin = 1, .nout = 4, .in = { mat(N, N, A) },
	                       .want = { A, A, none, &det }, .n = { 9, 9, 9, 1 } });
}

/* a x = v in many ways, as a x. */
static void equations(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], v = in[1], l = hop_cholesky(t, a, HOP_LOWER);
	hop_value u = hop_cholesky(t, a, HOP_UPPER), y = hop_triangular_solve(t, l, v, HOP_LOWER);
	(void)user;
	hop_return(t, hop_matmul(t, a, hop_solve(t, a, v)),
	           hop_matmul(t, a, hop_cho_solve(t, l, v, HOP_LOWER)),
	           hop_matmul(t, a, hop_cho_solve(t, u, v, HOP_UPPER)),
	           hop_matmul(t, a, hop_matmul(t, hop_inv(t, a), v)),
	           hop_matmul(t, a, hop_triangular_solve(t, l, y, HOP_LOWER | HOP_TRANSPOSED)),
	           hop_matmul(t, a, hop_triangular_solve(t, u, y, HOP_UPPER)));
}

static void test_equations(void **state)
{
	(void)state;
	rig_run(&(struct rig){ .f = equations, .nin = 2, .nout = 6, .in = { mat(N, N, A), vec(N, V) },
	                       .want = { V, V, V, V, V, V }, .n = { N, N, N, N, N, N } });
}

static void parts(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_diag(t, in[0]), hop_diag(t, in[1]), hop_diag_sum(t, in[0]),
	           hop_tril(t, in[0], -1), hop_triu(t, in[0], INT64_MIN), hop_tril(t, in[0], INT64_MIN),
	           hop_outer(t, in[1], in[1]), hop_diag(t, hop_narrow(t, in[0], 0, 1, 2)));
}

static void test_parts(void **state)
{
	static const double d[] = { 4, 5, 6 }, trace = 15, on[] = { 1, 0, 0, 0, -2, 0, 0, 0, 3 },
	                    low[] = { 0, 0, 0, 1, 0, 0, -2, 0.5, 0 }, none[9],
	                    vv[] = { 1, -2, 3, -2, 4, -6, 3, -6, 9 }, wide[] = { 1, 0.5 };
	(void)state;
	rig_run(&(struct rig){ .f = parts, .nin = 2, .nout = 8, .in = { mat(N, N, A), vec(N, V) },
	                       .want = { d, on, &trace, low, A, none, vv, wide },
	                       .n = { 3, 9, 1, 9, 9, 9, 9, 2 } });
}

/* One matrix for a batch of right sides, a batch of matrices for one; integers become f32. */
static void batches(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = hop_cast(t, in[0], HOP_i64);
	(void)user;
	hop_return(t, hop_matmul(t, in[0], hop_solve(t, in[0], in[1])),
	           hop_matmul(t, in[1], hop_triangular_solve(t, in[1], hop_tril(t, in[0], 0), HOP_LOWER)),
	           hop_i(t, hop_dtype_of(t, hop_cholesky(t, a, HOP_LOWER)) == HOP_f32));
}

static void test_batches(void **state)
{
	double b[2 * 9], low[2 * 9];
	static const double yes = 1;
	(void)state;
	for (int i = 0; i < 18; i++) {
		int row = i / 3 % 3, col = i % 3;
		b[i] = col > row ? 0 : row == col ? 2 + i : sin(i);
		low[i] = col > row ? 0 : A[i % 9];
	}
	rig_run(&(struct rig){ .f = batches, .nin = 2, .nout = 3,
	                       .in = { mat(N, N, A), array(HOP_f64, 3, (int64_t[]){ 2, N, N }, b) },
	                       .want = { b, low, &yes }, .n = { 18, 18, 1 } });
}

/* ---- a filter: position and speed in two dimensions, of which the position is measured ---- */

enum { S = 4, Z = 2, T = 6, B = 7 };
static const double DT = 0.3;

/* In hop: the negative logarithm of the likelihood, less a constant, by a factor of the covariance of
 * the measurement. */
struct filter { hop_value f, q, r; };

static hop_value eye(hop_trace *t, int n)
{
	double one[S] = { 1, 1, 1, 1 };
	int64_t dim = n;
	return hop_diag(t, hop_data(t, HOP_f64, 1, &dim, one));
}

static hop_value turned(hop_trace *t, hop_value x)
{
	return hop_transpose(t, x, 0, 1);
}

static void filter_step(hop_trace *t, const hop_value *in, void *user)
{
	const struct filter *m = user;
	hop_value x = hop_matmul(t, m->f, in[0]), p, ph, s, l, v, w, y;
	p = hop_matmul(t, hop_matmul(t, m->f, in[1]), turned(t, m->f));
	p = hop_add(t, p, hop_mul(t, eye(t, S), m->q));
	ph = hop_narrow(t, p, 1, 0, Z);
	s = hop_add(t, hop_narrow(t, ph, 0, 0, Z), hop_mul(t, eye(t, Z), m->r));
	l = hop_cholesky(t, s, HOP_LOWER);
	v = hop_sub(t, in[3], hop_narrow(t, x, 0, 0, Z));
	y = hop_cho_solve(t, l, v, HOP_LOWER);
	w = hop_triangular_solve(t, l, turned(t, ph), HOP_LOWER);
	hop_return(t, hop_add(t, x, hop_matmul(t, ph, y)),
	           hop_sub(t, p, hop_matmul(t, turned(t, w), w)),
	           hop_add(t, in[2], hop_add(t, hop_matmul(t, v, y), hop_cho_logdet(t, l))));
}

/* noise[2], z[T, 2] */
static void filter(hop_trace *t, const hop_value *in, void *user)
{
	double f[S * S] = { 1, 0, DT, 0, 0, 1, 0, DT, 0, 0, 1, 0, 0, 0, 0, 1 }, x0[S] = { 0 };
	struct filter m = { hop_data(t, HOP_f64, 2, (int64_t[]){ S, S }, f), hop_index(t, in[0], 0, 0),
	                    hop_index(t, in[0], 0, 1) };
	hop_value init[3] = { hop_data(t, HOP_f64, 1, (int64_t[]){ S }, x0), eye(t, S),
	                      hop_data(t, HOP_f64, 0, NULL, x0) }, out[3];
	(void)user;
	hop_scan(t, filter_step, &m, 3, init, 1, &in[1], NULL, 3, out, NULL);
	hop_return(t, out[2]);
}

/* In C: by the inverse of the covariance. */
static void predict(double *x, double *p, double q)
{
	double f[S][S] = { { 1, 0, DT, 0 }, { 0, 1, 0, DT }, { 0, 0, 1, 0 }, { 0, 0, 0, 1 } };
	double fp[S][S] = { { 0 } }, y[S] = { 0 };
	for (int i = 0; i < S; i++)
		for (int j = 0; j < S; j++) {
			y[i] += f[i][j] * x[j];
			for (int k = 0; k < S; k++)
				fp[i][j] += f[i][k] * p[k * S + j];
		}
	for (int i = 0; i < S; i++) {
		x[i] = y[i];
		for (int j = 0; j < S; j++) {
			p[i * S + j] = i == j ? q : 0;
			for (int k = 0; k < S; k++)
				p[i * S + j] += fp[i][k] * f[j][k];
		}
	}
}

static double update(double *x, double *p, const double *z, double r)
{
	double a = p[0] + r, b = p[1], c = p[S], d = p[S + 1] + r, det = a * d - b * c;
	double si[Z][Z] = { { d / det, -b / det }, { -c / det, a / det } }, k[S][Z], h[Z * S];
	double v[Z] = { z[0] - x[0], z[1] - x[1] }, e = log(det);
	memcpy(h, p, sizeof h);
	for (int i = 0; i < S; i++)
		for (int j = 0; j < Z; j++)
			k[i][j] = p[i * S] * si[0][j] + p[i * S + 1] * si[1][j];
	for (int i = 0; i < Z; i++)
		for (int j = 0; j < Z; j++)
			e += v[i] * si[i][j] * v[j];
	for (int i = 0; i < S; i++) {
		x[i] += k[i][0] * v[0] + k[i][1] * v[1];
		for (int j = 0; j < S; j++)
			p[i * S + j] -= k[i][0] * h[j] + k[i][1] * h[S + j];
	}
	return e;
}

static double unlikely(const double *noise, const double *z)
{
	double x[S] = { 0 }, p[S * S] = { 0 }, e = 0;
	for (int i = 0; i < S; i++)
		p[i * (S + 1)] = 1;
	for (int i = 0; i < T; i++) {
		predict(x, p, noise[0]);
		e += update(x, p, z + i * Z, noise[1]);
	}
	return e;
}

/* Differences: the slope for noise k, and its slope for noise j. */
static double slope(const double *noise, const double *z, int k)
{
	double h = 1e-5, a[2] = { noise[0], noise[1] }, b[2] = { noise[0], noise[1] };
	a[k] += h;
	b[k] -= h;
	return (unlikely(a, z) - unlikely(b, z)) / (2 * h);
}

static double bend(const double *noise, const double *z, int k, int j)
{
	double h = 1e-4, a[2] = { noise[0], noise[1] }, b[2] = { noise[0], noise[1] };
	a[j] += h;
	b[j] -= h;
	return (slope(a, z, k) - slope(b, z, k)) / (2 * h);
}

static void measured(double *z)
{
	for (int i = 0; i < B * T * Z; i++)
		z[i] = 0.3 * i / Z + sin(3.7 * i);
}

/* Result k of f by native code and by the interpreter; f and the inputs are released. */
static void expect(hop_fn *f, int nin, hop_array *const *in, int k, int n, const double *want,
                   double tol)
{
	for (int way = 0; way < 2; way++) {
		hop_array *out[8];
		if (hop_call_with(f, nin, in, hop_fn_nout(f), out, HOP_RUN_OPTS(.interpret = way)))
			fail_msg("%s", hop_message(ctx));
		assert_int_equal(hop_array_count(out[k]), n);
		for (int i = 0; i < n; i++)
			if (!(fabs(hop_array_at(out[k], i) - want[i]) <= tol * (1 + fabs(want[i]))))
				fail_msg("element %d is %.12g, not %.12g", i, hop_array_at(out[k], i), want[i]);
		for (int i = 0; i < hop_fn_nout(f); i++)
			hop_array_release(out[i]);
	}
	for (int i = 0; i < nin; i++)
		hop_array_release(in[i]);
	hop_fn_release(f);
}

typedef hop_status transform(hop_fn *f, int nwrt, const int *wrt, hop_fn **out_f);

static hop_fn *made(transform *by, hop_fn *f)
{
	hop_fn *g;
	int first = 0;
	if (by(f, 1, &first, &g))
		fail_msg("%s", hop_message(ctx));
	hop_fn_release(f);
	return g;
}

static hop_fn *lanes(hop_fn *f)
{
	hop_fn *g;
	if (hop_vmap(f, (bool[]){ false, true }, B, &g))
		fail_msg("%s", hop_message(ctx));
	hop_fn_release(f);
	return g;
}

static hop_fn *captured(hop_body *body, int rank)
{
	hop_spec s[2] = { hop_spec1(HOP_f64, 2), rank == 2 ? hop_spec2(HOP_f64, T, Z) :
	                                         hop_spec3(HOP_f64, B, T, Z) };
	hop_fn *f;
	if (hop_capture(ctx, body, NULL, 2, s, &f))
		fail_msg("%s", hop_message(ctx));
	return f;
}

static void all_lanes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value e;
	hop_vmap_at(t, filter, user, 2, in, (int[]){ -1, 0 }, 1, &e);
	hop_return(t, hop_sum_all(t, e));
}

static void test_filter(void **state)
{
	static const double noise[2] = { 0.2, 0.7 };
	double z[B * T * Z], e[B], g[B * 2], sum[2] = { 0, 0 }, h[2];
	(void)state;
	measured(z);
	for (int b = 0; b < B; b++) {
		e[b] = unlikely(noise, z + b * T * Z);
		for (int k = 0; k < 2; k++)
			sum[k] += g[2 * b + k] = slope(noise, z + b * T * Z, k);
	}
	for (int k = 0; k < 2; k++)
		h[k] = bend(noise, z, k, 0) - 2 * bend(noise, z, k, 1);
#define ONE mat(T, Z, z)
#define ALL array(HOP_f64, 3, (int64_t[]){ B, T, Z }, z)
#define IN(z) 2, (hop_array *[]){ vec(2, noise), z }
	expect(captured(filter, 2), IN(ONE), 0, 1, e, 1e-10);
	expect(lanes(captured(filter, 2)), IN(ALL), 0, B, e, 1e-10);
	expect(made(hop_grad, captured(filter, 2)), IN(ONE), 1, 2, g, 1e-7);
	expect(lanes(made(hop_grad, captured(filter, 2))), IN(ALL), 1, 2 * B, g, 1e-7);
	expect(made(hop_grad, captured(all_lanes, 3)), IN(ALL), 1, 2, sum, 1e-7);
	expect(made(hop_jvp, made(hop_grad, captured(filter, 2))), 3,
	       (hop_array *[]){ vec(2, noise), ONE, vec(2, (double[]){ 1, -2 }) }, 3, 2, h, 1e-5);
#undef ONE
#undef ALL
#undef IN
}

/* ---- what is refused ---- */

static void call(hop_trace *t, const hop_value *in, void *user)
{
	hop_value v = HOP_NONE;
	switch (*(const char *)user) {
	case 'c': v = hop_cholesky(t, in[0], HOP_LOWER); break;
	case 'f': v = hop_cholesky(t, in[0], HOP_UNIT); break;
	case 't': v = hop_triangular_solve(t, in[0], in[1], 8); break;
	case 's': v = hop_solve(t, in[0], in[1]); break;
	case 'h': v = hop_cho_solve(t, in[0], in[1], HOP_UPPER); break;
	case 'i': v = hop_inv(t, in[0]); break;
	case 'd': v = hop_diag(t, in[1]); break;
	case 'l': v = hop_tril(t, in[1], 0); break;
	case 'o': v = hop_outer(t, in[0], in[1]); break;
	default:;
	}
	hop_return(t, v);
}

static void test_refused(void **state)
{
	hop_spec wide[2] = { hop_spec2(HOP_f64, 2, 3), hop_spec0(HOP_f64) };
	hop_spec rows[2] = { hop_spec2(HOP_f64, 3, 3), hop_spec1(HOP_f64, 4) };
	hop_spec one[2] = { hop_spec1(HOP_f64, 3), hop_spec1(HOP_f64, 3) };
	(void)state;
	rig_fails(call, "c", 1, wide, HOP_ESHAPE, "cholesky: f64[2, 3]: as many rows as columns");
	rig_fails(call, "c", 1, one, HOP_ESHAPE, "cholesky: f64[3]: a matrix is wanted");
	rig_fails(call, "f", 1, rows, HOP_EVALUE, "cholesky: flags 4: 4 has no meaning here");
	rig_fails(call, "t", 2, rows, HOP_EVALUE, "triangular_solve: flags 8: 8 has no meaning");
	rig_fails(call, "s", 2, rows, HOP_ESHAPE, "solve: f64[3, 3] and f64[4]: as many rows");
	rig_fails(call, "s", 2, wide, HOP_ESHAPE, "solve: f64[2, 3] and f64: a matrix on the left");
	rig_fails(call, "h", 2, rows, HOP_ESHAPE, "cho_solve: f64[3, 3] and f64[4]: as many rows");
	rig_fails(call, "i", 1, wide, HOP_ESHAPE, "inv: f64[2, 3]: as many rows as columns");
	rig_fails(call, "d", 2, wide, HOP_ESHAPE, "diag: f64: a vector or a matrix is wanted");
	rig_fails(call, "l", 2, one, HOP_ESHAPE, "tril: f64[3]: a matrix is wanted");
	rig_fails(call, "o", 2, rows, HOP_ESHAPE, "outer: f64[3, 3] and f64[4]: two vectors");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cholesky), cmocka_unit_test(test_equations),
		cmocka_unit_test(test_parts), cmocka_unit_test(test_batches),
		cmocka_unit_test(test_filter), cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
