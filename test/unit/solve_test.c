/* solve_test.c -- equations, triangles and factors: all sizes from none on, matrices that have no
 * inverse or no factor, NaN, rows that must be exchanged, batches, by the interpreter and by native
 * code; and LAPACK, which is this program itself here: what it is asked for, and what is said where
 * there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hop/ctx.h"
#include "text/text.h"
#include "support/native_run.h"
#include "device_rig.h"

/* ---- LAPACK, as small as it can be ---- */

static int nfactored, nsolved, nroots, ntriangles;

#define LAPACK(c, real) \
void c##getrf_(const int *m, const int *n, real *a, const int *lda, int *ipiv, int *info); \
void c##getrs_(const char *trans, const int *n, const int *nrhs, const real *a, const int *lda, \
               const int *ipiv, real *b, const int *ldb, int *info, size_t ntrans); \
void c##getrf_(const int *m, const int *n, real *a, const int *lda, int *ipiv, int *info) \
{ \
	int ld = *lda; \
	assert_true(*m == *n && ld == *n && ++nfactored); \
	*info = 0; \
	for (int k = 0; k < *n; k++) { \
		int p = k; \
		for (int i = k; i < *n; i++) \
			p = fabs((double)a[i + k * ld]) > fabs((double)a[p + k * ld]) ? i : p; \
		ipiv[k] = p + 1; \
		for (int j = 0; j < *n; j++) { \
			real t = a[k + j * ld]; \
			a[k + j * ld] = a[p + j * ld]; \
			a[p + j * ld] = t; \
		} \
		if (a[k + k * ld] == 0) { \
			*info = *info ? *info : k + 1; \
			continue; \
		} \
		for (int i = k + 1; i < *n; i++) { \
			a[i + k * ld] /= a[k + k * ld]; \
			for (int j = k + 1; j < *n; j++) \
				a[i + j * ld] -= a[i + k * ld] * a[k + j * ld]; \
		} \
	} \
} \
void c##getrs_(const char *trans, const int *n, const int *nrhs, const real *a, const int *lda, \
               const int *ipiv, real *b, const int *ldb, int *info, size_t ntrans) \
{ \
	int ld = *lda; \
	assert_true(*trans == 'N' && ntrans == 1 && *ldb == *n && ++nsolved); \
	*info = 0; \
	for (int j = 0; j < *nrhs; j++, b += *ldb) { \
		for (int k = 0; k < *n; k++) { \
			real t = b[k]; \
			b[k] = b[ipiv[k] - 1]; \
			b[ipiv[k] - 1] = t; \
		} \
		for (int k = 0; k < *n; k++) \
			for (int i = k + 1; i < *n; i++) \
				b[i] -= a[i + k * ld] * b[k]; \
		for (int k = *n; k-- > 0;) { \
			b[k] /= a[k + k * ld]; \
			for (int i = 0; i < k; i++) \
				b[i] -= a[i + k * ld] * b[k]; \
		} \
	} \
}
LAPACK(s, float)
LAPACK(d, double)
#undef LAPACK

#define LAPACK(c, real) \
void c##potrf_(const char *uplo, const int *n, real *a, const int *lda, int *info, size_t nuplo); \
void c##trtrs_(const char *uplo, const char *trans, const char *diag, const int *n, \
               const int *nrhs, const real *a, const int *lda, real *b, const int *ldb, int *info, \
               size_t nuplo, size_t ntrans, size_t ndiag); \
void c##potrf_(const char *uplo, const int *n, real *a, const int *lda, int *info, size_t nuplo) \
{ \
	int ld = *lda; \
	assert_true(*uplo == 'U' && nuplo == 1 && ld == *n && ++nroots); \
	*info = 0; \
	for (int j = 0; j < *n && !*info; j++) \
		for (int i = 0; i <= j && !*info; i++) { \
			real v = a[i + j * ld]; \
			for (int k = 0; k < i; k++) \
				v -= a[k + i * ld] * a[k + j * ld]; \
			if (i == j && !(v > 0)) \
				*info = j + 1; \
			else \
				a[i + j * ld] = i == j ? (real)sqrt((double)v) : v / a[i + i * ld]; \
		} \
} \
void c##trtrs_(const char *uplo, const char *trans, const char *diag, const int *n, \
               const int *nrhs, const real *a, const int *lda, real *b, const int *ldb, int *info, \
               size_t nuplo, size_t ntrans, size_t ndiag) \
{ \
	int ld = *lda, up = *uplo == 'U', unit = *diag == 'U'; \
	assert_true(*trans == 'N' && nuplo + ntrans + ndiag == 3 && *ldb == *n && ++ntriangles); \
	*info = 0; \
	for (int k = 0; k < *n && !*info && !unit; k++) \
		*info = a[k + k * ld] == 0 ? k + 1 : 0; \
	for (int j = 0; j < *nrhs && !*info; j++, b += *ldb) \
		for (int q = 0; q < *n; q++) { \
			int k = up ? *n - 1 - q : q; \
			b[k] /= unit ? 1 : a[k + k * ld]; \
			for (int i = up ? 0 : k + 1; i < (up ? k : *n); i++) \
				b[i] -= a[i + k * ld] * b[k]; \
		} \
}
LAPACK(s, float)
LAPACK(d, double)
#undef LAPACK

/* ---- running ---- */

typedef void body_fn(hop_interp *p, judge_run_fn *run);

static void within(body_fn *body, judge_run_fn *run)
{
	hop_ctx *c;
	hop_env e;
	hop_frame f;
	hop_interp p;
	assert_int_equal(hop_ctx_new(NULL, &c), HOP_OK);
	hop_env_init(&e, c, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &f))
		fail_msg("no memory");
	hop_interp_init(&p, &e);
	body(&p, run);
	hop_interp_fini(&p);
	hop_guard_end(&e, &f);
	hop_env_fini(&e);
	hop_ctx_free(c);
}

/* One size of equations: `batch` of them, on sizes that are known or not. op: with its attributes
 * behind a space; NULL = solve. */
typedef struct shape { int64_t batch, n, m; hop_dtype d; bool dyn; const char *op, *attr; } shape;

static double number(int64_t i)
{
	return sin((double)(i * 7919 % 1013)) * 2;
}

static hop_array *tensor(hop_interp *p, const shape *s, int64_t cols)
{
	hop_array *t = hop_interp_new(p, s->d, 3, (int64_t[]){ s->batch, s->n, cols });
	for (int64_t i = 0; i < t->count; i++)
		hop_array_set_f(t, i, number(i + cols));
	return t;
}

/* x, to be released. b is a where there is no right side; then m is n. */
static hop_array *solved(hop_interp *p, judge_run_fn *run, const shape *s, hop_array *a,
                          hop_array *b)
{
	const char *d = hop_dtype_name(s->d);
	int64_t syms[] = { s->batch, s->n, s->m };
	char text[400], call[100];
	hop_module *m;
	hop_array *x;
	snprintf(call, sizeof call, "%s %%0%s %s", s->op ? s->op : "solve", b == a ? "" : ", %1",
	         s->attr ? s->attr : "");
	if (s->dyn)
		snprintf(text, sizeof text, "hop 1\ngraph @f<b: 0.., n: 0.., m: 0..>(%%0: %s[b, n, n], "
		         "%%1: %s[b, n, m]) {\n  %%2 = %s\n  return %%2\n}\n", d, d, call);
	else
		snprintf(text, sizeof text, "hop 1\ngraph @f(%%0: %s[%d, %d, %d], %%1: %s[%d, %d, %d]) "
		         "{\n  %%2 = %s\n  return %%2\n}\n", d, (int)s->batch, (int)s->n,
		         (int)s->n, d, (int)s->batch, (int)s->n, (int)s->m, call);
	if (hop_module_parse(p->env, text, strlen(text), "test", &m) ||
	    run(p, hop_module_find(m, NULL), s->dyn ? syms : NULL, (hop_array *[]){ a, b }, &x))
		fail_msg("%s", p->env->diag.text);
	hop_module_free(m, &p->env->mem);
	return x;
}

/* The greatest of |a x - b|, beside |a| |x| n. */
static double residual(const shape *s, const hop_array *a, const hop_array *b,
                       const hop_array *x)
{
	double worst = 0, most = 1e-300;
	for (int64_t q = 0; q < s->batch; q++)
		for (int64_t i = 0; i < s->n; i++)
			for (int64_t j = 0; j < s->m; j++) {
				double v = -hop_array_f(b, (q * s->n + i) * s->m + j);
				for (int64_t k = 0; k < s->n; k++) {
					double t = hop_array_f(a, (q * s->n + i) * s->n + k) *
					           hop_array_f(x, (q * s->n + k) * s->m + j);
					v += t;
					most = fmax(most, fabs(t));
				}
				assert_false(isnan(v));
				worst = fmax(worst, fabs(v));
			}
	return worst / most / (double)(s->n + 1);
}

static double epsilon(hop_dtype d)
{
	return d == HOP_f64 ? 1e-15 : d == HOP_f32 ? 5e-7 : d == HOP_bf16 ? 2e-2 : 3e-3;
}

static void try(hop_interp *p, judge_run_fn *run, shape s)
{
	hop_array *a = tensor(p, &s, s.n), *b = tensor(p, &s, s.m);
	hop_array *x = solved(p, run, &s, a, b);
	assert_int_equal(x->count, s.batch * s.n * s.m);
	if (!(residual(&s, a, b, x) < epsilon(s.d)))
		fail_msg("%s %dx%dx%d dyn%d: %g", hop_dtype_name(s.d), (int)s.batch, (int)s.n, (int)s.m,
		         s.dyn, residual(&s, a, b, x));
	hop_interp_release(p, a);
	hop_interp_release(p, b);
	hop_interp_release(p, x);
}

/* What the op reads of the matrices: NaN in the place of all that it must not, and 3 on a diagonal that
 * it does. In `full` 0 and 1 are in these places. */
static void triangles(const shape *s, bool upper, bool unit, hop_array *a, hop_array *full)
{
	for (int64_t i = 0; i < a->count; i++) {
		int64_t row = i / s->n % s->n, col = i % s->n;
		bool in = row == col ? !unit : (col > row) == upper;
		double v = number(i) / (double)(s->n + 1) + (row == col ? 3 : 0);
		hop_array_set_f(a, i, in ? v : NAN);
		hop_array_set_f(full, i, in ? hop_array_f(a, i) : row == col);
	}
}

static void turn(const shape *s, hop_array *a)
{
	for (int64_t i = 0; i < a->count; i++) {
		int64_t row = i / s->n % s->n, col = i % s->n, other = i + (s->n - 1) * (col - row);
		double v = hop_array_f(a, i);
		if (col <= row)
			continue;
		hop_array_set_f(a, i, hop_array_f(a, other));
		hop_array_set_f(a, other, v);
	}
}

static void try_triangles(hop_interp *p, judge_run_fn *run, shape s)
{
	static const char *const attr[] = {
		"", "{upper = true}", "{unit = true}", "{upper = true, unit = true}", "{transposed = true}",
		"{upper = true, transposed = true}", "{transposed = true, unit = true}",
		"{upper = true, transposed = true, unit = true}",
	};
	s.op = "triangular_solve";
	for (int k = 0; k < 8; k += s.d == HOP_f32 ? 3 : 1) {
		hop_array *a = tensor(p, &s, s.n), *full = tensor(p, &s, s.n), *b = tensor(p, &s, s.m), *x;
		s.attr = attr[k];
		triangles(&s, k & 1, k & 2, a, full);
		if (k & 4)
			turn(&s, full);
		x = solved(p, run, &s, a, b);
		if (!(residual(&s, full, b, x) < epsilon(s.d)))
			fail_msg("%s %s %dx%dx%d dyn%d: %g", attr[k], hop_dtype_name(s.d), (int)s.batch, (int)s.n,
			         (int)s.m, s.dyn, residual(&s, full, b, x));
		hop_interp_release(p, a);
		hop_interp_release(p, full);
		hop_interp_release(p, b);
		hop_interp_release(p, x);
	}
}

/* l l^T is the matrix again, and nothing is above the diagonal of l. */
static void try_factor(hop_interp *p, judge_run_fn *run, shape s)
{
	s.op = "cholesky";
	s.m = s.n;
	hop_array *a = tensor(p, &s, s.n), *l;
	double worst = 0;
	for (int64_t i = 0; i < a->count; i++) {
		int64_t row = i / s.n % s.n, col = i % s.n;
		hop_array_set_f(a, i, col > row ? NAN : number(i) / (double)s.n + (row == col ? 3 : 0));
	}
	l = solved(p, run, &s, a, a);
	for (int64_t i = 0; i < a->count; i++) {
		int64_t row = i / s.n % s.n, col = i % s.n;
		double v = col > row ? 0 : -hop_array_f(a, i);
		for (int64_t k = 0; k < s.n && col <= row; k++)
			v += hop_array_f(l, i - col + k) * hop_array_f(l, i - col + k + (col - row) * s.n);
		assert_true(col <= row || hop_array_f(l, i) == 0);
		assert_true(col != row || hop_array_f(l, i) > 0);
		assert_false(isnan(v));
		worst = fmax(worst, fabs(v));
	}
	if (!(worst < 5 * epsilon(s.d)))
		fail_msg("%s %dx%d dyn%d: %g", hop_dtype_name(s.d), (int)s.batch, (int)s.n, s.dyn, worst);
	hop_interp_release(p, a);
	hop_interp_release(p, l);
}

/* ---- sizes ---- */

static void try_all(hop_interp *p, judge_run_fn *run, shape s)
{
	try(p, run, s);
	try_triangles(p, run, s);
	try_factor(p, run, s);
}

/* More than a line of lanes, and not whole lines; steps that are written out, and loops. */
static void sizes(hop_interp *p, judge_run_fn *run)
{
	static const int64_t n[][3] = { { 1, 0, 0 }, { 1, 0, 3 }, { 0, 3, 2 }, { 2, 3, 0 },
	                                { 1, 1, 1 }, { 3, 1, 2 }, { 1, 2, 1 }, { 2, 5, 3 },
	                                { 4, 17, 1 }, { 1, 40, 33 }, { 8, 4, 1 }, { 19, 3, 2 },
	                                { 33, 9, 1 }, { 16, 32, 2 }, { 1, 32, 17 }, { 2, 33, 1 } };
	for (size_t i = 0; i < sizeof n / sizeof *n; i++)
		for (int dyn = 0; dyn < 2; dyn++)
			for (int d = 0; d < 2 - dyn; d++)
				try_all(p, run, (shape){ n[i][0], n[i][1], n[i][2], d ? HOP_f32 : HOP_f64, dyn,
				                         NULL, NULL });
	try_all(p, run, (shape){ 2, 3, 2, HOP_bf16, false, NULL, NULL });
	try_all(p, run, (shape){ 1, 3, 2, HOP_f16, false, NULL, NULL });
	try_all(p, run, (shape){ 2, 3, 2, HOP_f16, true, NULL, NULL });
}

/* ---- what has no solution ---- */

static void set_matrix(hop_array *a, int q, int n, const double *v)
{
	for (int i = 0; i < n * n; i++)
		hop_array_set_f(a, q * n * n + i, v[i]);
}

/* Lane 0 can be solved; no other is disturbed, and rows are exchanged where a 0 stands. */
static void no_inverse(hop_interp *p, judge_run_fn *run)
{
	static const double m[][9] = {
		{ 0, 1, 0, 0, 0, 2, 4, 0, 0 }, { 1, 2, 3, 2, 4, 6, 1, 1, 1 }, { 0 },
		{ 1, 2, NAN, 3, 1, 1, 0, 1, 5 }, { NAN, 2, 1, 3, 1, 1, 0, 1, 5 },
		{ 1, 0, 0, 0, 1, 0, 0, 0, NAN }, { 0, 0, 1, 0, 0, 2, 0, 0, 3 },
	};
	enum { LANES = sizeof m / sizeof *m };
	for (int d = 0; d < 2; d++) {
		shape s = { LANES, 3, 2, d ? HOP_f32 : HOP_f64, false, NULL, NULL };
		hop_array *a = tensor(p, &s, 3), *b = tensor(p, &s, 2), *x;
		for (int q = 0; q < LANES; q++)
			set_matrix(a, q, 3, m[q]);
		hop_array_set_f(b, 0, 3);
		hop_array_set_f(b, 2, 5);
		hop_array_set_f(b, 4, 8);
		hop_array_set_f(b, 1, NAN);             /* of its column only */
		x = solved(p, run, &s, a, b);
		assert_true(hop_array_f(x, 0) == 2 && hop_array_f(x, 2) == 3 &&
		            hop_array_f(x, 4) == 2.5);
		assert_true(isnan(hop_array_f(x, 3)));
		for (int i = 6; i < LANES * 6; i++)
			assert_true(isnan(hop_array_f(x, i)));
		hop_interp_release(p, a);
		hop_interp_release(p, b);
		hop_interp_release(p, x);
	}
}

/* Lane 0 is fine; lane after lane of the others has a 0 on its diagonal, or is not positive
 * definite, or has a NaN: all of theirs is NaN, of a NaN in a triangle only what depends on it. */
static void no_triangle(hop_interp *p, judge_run_fn *run)
{
	enum { LANES = 11, N = 5 };
	for (int d = 0; d < 4; d++) {
		shape s = { LANES, N, 2, d & 1 ? HOP_f32 : HOP_f64, d & 2, "triangular_solve", "" };
		hop_array *a = tensor(p, &s, N), *full = tensor(p, &s, N), *b = tensor(p, &s, 2), *x, *l;
		triangles(&s, false, false, a, full);
		for (int q = 1; q <= N; q++)
			hop_array_set_f(a, q * N * N + (q - 1) * (N + 1), 0);
		hop_array_set_f(a, 6 * N * N + 3 * N + 1, NAN);
		x = solved(p, run, &s, a, b);
		for (int i = 0; i < LANES * N * 2; i++) {
			int q = i / (2 * N), row = i / 2 % N;
			assert_true(isnan(hop_array_f(x, i)) == ((q >= 1 && q <= N) || (q == 6 && row >= 3)));
		}
		hop_interp_release(p, x);
		for (int q = 1; q <= N; q++)
			hop_array_set_f(a, q * N * N + (q - 1) * (N + 1), q % 2 ? -1e-3 : 0);
		s.op = "cholesky";
		s.m = N;
		l = solved(p, run, &s, a, a);
		for (int i = 0; i < LANES * N * N; i++)
			assert_true(isnan(hop_array_f(l, i)) == (i / (N * N) >= 1 && i / (N * N) <= 6));
		hop_interp_release(p, l);
		hop_interp_release(p, a);
		hop_interp_release(p, full);
		hop_interp_release(p, b);
	}
}

static void test_values(void **state)
{
	(void)state;
	within(sizes, hop_interp_graph);
	within(sizes, native_run);
	within(no_inverse, hop_interp_graph);
	within(no_inverse, native_run);
	within(no_triangle, hop_interp_graph);
	within(no_triangle, native_run);
}

/* ---- libraries: each in a process of its own, which opens one once ---- */

static void large(hop_interp *p, judge_run_fn *run)
{
	try_all(p, run, (shape){ 2, 150, 3, HOP_f64, false, NULL, NULL });
	try_all(p, run, (shape){ 1, 130, 1, HOP_f32, true, NULL, NULL });
	try_all(p, run, (shape){ 1, 100, 1, HOP_f64, true, NULL, NULL });     /* too small to ask */
}

/* Matrices that only differ in a row from one that is fine. */
static void large_bad(hop_interp *p, judge_run_fn *run)
{
	enum { N = 130 };
	shape s = { 3, N, 2, HOP_f64, false, NULL, NULL };
	hop_array *a = tensor(p, &s, s.n), *b = tensor(p, &s, s.m), *x;
	for (int j = 0; j < N; j++)
		hop_array_set_f(a, N * N + 9 * N + j, 0);
	hop_array_set_f(a, 2 * N * N + (N - 1) * N + 5, NAN);
	x = solved(p, run, &s, a, b);
	for (int i = 0; i < 3 * 2 * N; i++)
		assert_true(isnan(hop_array_f(x, i)) == (i >= 2 * N));
	hop_interp_release(p, a);
	hop_interp_release(p, b);
	hop_interp_release(p, x);
}

/* Lane 1 has no factor and no solution; lane 2 a NaN in the triangle, with which no library is
 * asked. */
static void large_triangles(hop_interp *p, judge_run_fn *run)
{
	enum { N = 130 };
	shape s = { 3, N, 2, HOP_f64, false, "triangular_solve", "" };
	hop_array *a = tensor(p, &s, N), *full = tensor(p, &s, N), *b = tensor(p, &s, 2), *x;
	triangles(&s, false, false, a, full);
	hop_array_set_f(a, N * N + 9 * (N + 1), 0);
	for (int nan = 0; nan < 2; nan++) {
		if (nan)
			hop_array_set_f(a, 2 * N * N + 99 * N + 5, NAN);
		x = solved(p, run, &s, a, b);
		for (int i = 0; i < 3 * N * 2; i++)
			assert_true(isnan(hop_array_f(x, i)) ==
			            (i / (2 * N) == 1 || (nan && i / (2 * N) == 2 && i / 2 % N >= 99)));
		hop_interp_release(p, x);
	}
	s.op = "cholesky";
	s.m = N;
	x = solved(p, run, &s, a, a);
	for (int i = 0; i < 3 * N * N; i++)
		assert_true(isnan(hop_array_f(x, i)) == (i >= N * N));
	hop_interp_release(p, x);
	hop_interp_release(p, a);
	hop_interp_release(p, full);
	hop_interp_release(p, b);
}

/* What the child says on standard error; it must end well. */
static void child(const char *lapack, bool there, char *out, size_t room)
{
	int fd[2], st = 0;
	size_t n = 0;
	ssize_t got;
	assert_int_equal(pipe(fd), 0);
	fflush(NULL);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(fd[1], 2);
		close(fd[0]);
		close(fd[1]);
		if (lapack)
			setenv("HOP_LAPACK", lapack, 1);
		within(large, native_run);
		within(large_bad, native_run);
		within(large_triangles, native_run);
		_exit(nfactored == there * (2 + 1 + 3) && nsolved == there * (2 + 1 + 1) &&
		      ntriangles == there * (8 * 2 + 3 * 1 + 3) && nroots == there * (2 + 1 + 3) ? 0 : 100);
	}
	close(fd[1]);
	while ((got = read(fd[0], out + n, room - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = 0;
	close(fd[0]);
	assert_int_equal(waitpid(pid, &st, 0), pid);
	if (st)
		fail_msg("HOP_LAPACK=%s: status %d: %s", lapack, st, out);
}

static void test_library(void **state)
{
	char said[2000];
	const char *at;
	(void)state;
	NOT_ON_A_DEVICE("no library of this process is asked");
	child("", true, said, sizeof said);      /* in this program */
	assert_string_equal(said, "");
	child("0", false, said, sizeof said);
	assert_string_equal(said, "");
	child("/nowhere/liblapack.so", false, said, sizeof said);
	at = strstr(said, "hop: HOP_LAPACK: no LAPACK in /nowhere/liblapack.so");
	assert_non_null(at);
	assert_null(strstr(at + 1, "hop: "));                    /* once */
	child("libc.so.6", false, said, sizeof said);             /* a library, but not that */
	assert_non_null(strstr(said, "no LAPACK in libc.so.6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library), cmocka_unit_test(test_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
