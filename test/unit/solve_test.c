/* solve_test.c -- linear equations: all sizes from none on, matrices that have no inverse, NaN,
 * rows that must be exchanged, batches, by the interpreter and by native code; and LAPACK, which
 * is this program itself here: what it is asked for, and what is said where there is none. */
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

/* ---- LAPACK, as small as it can be ---- */

static int nfactored, nsolved;

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

/* One size of equations: `batch` of them, on sizes that are known or not. */
typedef struct shape { int64_t batch, n, m; hop_dtype d; bool dyn; } shape;

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

/* x, to be released. */
static hop_array *solved(hop_interp *p, judge_run_fn *run, const shape *s, hop_array *a,
                          hop_array *b)
{
	const char *d = hop_dtype_name(s->d);
	int64_t syms[] = { s->batch, s->n, s->m };
	char text[300];
	hop_module *m;
	hop_array *x;
	if (s->dyn)
		snprintf(text, sizeof text, "hop 1\ngraph @f<b: 0.., n: 0.., m: 0..>(%%0: %s[b, n, n], "
		         "%%1: %s[b, n, m]) {\n  %%2 = solve %%0, %%1\n  return %%2\n}\n", d, d);
	else
		snprintf(text, sizeof text, "hop 1\ngraph @f(%%0: %s[%d, %d, %d], %%1: %s[%d, %d, %d]) "
		         "{\n  %%2 = solve %%0, %%1\n  return %%2\n}\n", d, (int)s->batch, (int)s->n,
		         (int)s->n, d, (int)s->batch, (int)s->n, (int)s->m);
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

static void try(hop_interp *p, judge_run_fn *run, shape s)
{
	hop_array *a = tensor(p, &s, s.n), *b = tensor(p, &s, s.m);
	hop_array *x = solved(p, run, &s, a, b);
	double eps = s.d == HOP_f64 ? 1e-15 : s.d == HOP_f32 ? 5e-7 : s.d == HOP_bf16 ? 2e-2 : 3e-3;
	assert_int_equal(x->count, s.batch * s.n * s.m);
	if (!(residual(&s, a, b, x) < eps))
		fail_msg("%s %dx%dx%d dyn%d: %g", hop_dtype_name(s.d), (int)s.batch, (int)s.n, (int)s.m,
		         s.dyn, residual(&s, a, b, x));
	hop_interp_release(p, a);
	hop_interp_release(p, b);
	hop_interp_release(p, x);
}

/* ---- sizes ---- */

static void sizes(hop_interp *p, judge_run_fn *run)
{
	static const int64_t n[][3] = { { 1, 0, 0 }, { 1, 0, 3 }, { 0, 3, 2 }, { 2, 3, 0 },
	                                { 1, 1, 1 }, { 3, 1, 2 }, { 1, 2, 1 }, { 2, 5, 3 },
	                                { 4, 17, 1 }, { 1, 40, 33 } };
	for (size_t i = 0; i < sizeof n / sizeof *n; i++)
		for (int dyn = 0; dyn < 2; dyn++)
			for (int d = 0; d < 2; d++)
				try(p, run, (shape){ n[i][0], n[i][1], n[i][2], d ? HOP_f32 : HOP_f64, dyn });
	try(p, run, (shape){ 2, 3, 2, HOP_bf16, false });
	try(p, run, (shape){ 2, 3, 2, HOP_f16, true });
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
		shape s = { LANES, 3, 2, d ? HOP_f32 : HOP_f64, false };
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

static void test_values(void **state)
{
	(void)state;
	within(sizes, hop_interp_graph);
	within(sizes, native_run);
	within(no_inverse, hop_interp_graph);
	within(no_inverse, native_run);
}

/* ---- libraries: each in a process of its own, which opens one once ---- */

static void large(hop_interp *p, judge_run_fn *run)
{
	try(p, run, (shape){ 2, 150, 3, HOP_f64, false });
	try(p, run, (shape){ 1, 130, 1, HOP_f32, true });
	try(p, run, (shape){ 1, 100, 1, HOP_f64, true });         /* too small to ask */
}

/* Matrices that only differ in a row from one that is fine. */
static void large_bad(hop_interp *p, judge_run_fn *run)
{
	enum { N = 130 };
	shape s = { 3, N, 2, HOP_f64, false };
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

/* What the child says on standard error; it must end well. */
static void child(const char *lapack, int factored, int done, char *out, size_t room)
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
		_exit(nfactored == factored && nsolved == done ? 0 : 100);
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
	child("", 2 + 1 + 3, 2 + 1 + 1, said, sizeof said);      /* in this program */
	assert_string_equal(said, "");
	child("0", 0, 0, said, sizeof said);
	assert_string_equal(said, "");
	child("/nowhere/liblapack.so", 0, 0, said, sizeof said);
	at = strstr(said, "hop: HOP_LAPACK: no LAPACK in /nowhere/liblapack.so");
	assert_non_null(at);
	assert_null(strstr(at + 1, "hop: "));                    /* once */
	child("libc.so.6", 0, 0, said, sizeof said);             /* a library, but not that */
	assert_non_null(strstr(said, "no LAPACK in libc.so.6"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_library), cmocka_unit_test(test_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
