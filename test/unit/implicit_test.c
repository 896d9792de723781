/* implicit_test.c -- root, fixed_point, minimize and linear_solve as the public interface gives
 * them: values against plain C, derivatives of all orders, batches and native code by the judge. */
#include "trace_rig.h"

#include "support/judge_files.h"

/* Capture f and let the judge have its text. */
static void judged(const char *what, hop_body *f, int nin, const hop_spec *in, int depth)
{
	hop_fn *fn;
	judge_total all = { 0 };
	if (hop_capture(ctx, f, NULL, nin, in, &fn))
		fail_msg("%s: %s", what, hop_message(ctx));
	const char *text = hop_fn_text(fn);
	assert_non_null(text);
	if (getenv("RIG_TEXT"))
		puts(text);
	judge_text(text, what, depth, &all);
	hop_fn_release(fn);
	assert_true(all.checks > 0);
	assert_int_equal(all.failures, 0);
}

/* ---- root ---- */

/* x^3 + x + s = a, where s = 0.2 sum(x): not symmetric in how it is weighted. */
static void cubic(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "x * x * x + x + 0.2 * sum(x) * a - a", x, a));
}

static void f_root(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info, a = in[1];
	(void)user;
	hop_root(t, cubic, &a, 1, in, NULL, &x, &info);
	hop_return(t, x, info);
}

static void cubic_in_c(int n, const double *a, double *x)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		x[i] = 0;
	for (int turn = 0; turn < 200; turn++) {
		double sum = 0;
		for (int i = 0; i < n; i++) {
			for (int k = 0; k < 60; k++)
				x[i] -= (x[i] * x[i] * x[i] + x[i] + s * a[i] - a[i]) / (3 * x[i] * x[i] + 1);
			sum += 0.2 * x[i];
		}
		s = 0.5 * (s + sum);
	}
}

static void root_value(void **state)
{
	(void)state;
	double x0[3] = { 0, 5, -3 }, a[3] = { 0.5, 1, 2 }, x[3], zero = 0;
	cubic_in_c(3, a, x);
	rig_run(&(struct rig){ .f = f_root, .nin = 2, .in = { vec(3, x0), vec(3, a) }, .nout = 2,
	                       .want = { x, &zero }, .n = { 3, 1 } });
}

static void root_judged(void **state)
{
	(void)state;
	judged("root", f_root, 2, (hop_spec[]){ hop_spec1(HOP_f64, 3), hop_spec1(HOP_f64, 3) }, 2);
}

/* Unknowns of two shapes and dtypes; a start that is a scalar. */
static void pair(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "2 * x + 0.3 * sin(x) * y - a", x, y, a),
	           HOP_E(t, "3 * y + 0.1 * sum(x * x) - sum(a)", x, y, a));
}

static void f_pair(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], info, a = in[0];
	(void)user;
	hop_value x0[2] = { HOP_E(t, "0 * a", a), hop_scalar(t, HOP_f64, 1) };
	hop_root(t, pair, &a, 2, x0, NULL, out, &info);
	hop_return(t, out[0], out[1], info);
}

static void root_pair(void **state)
{
	(void)state;
	judged("root_pair", f_pair, 1, (hop_spec[]){ hop_spec2(HOP_f64, 2, 2) }, 2);
}

/* Any number of unknowns: GMRES, also for derivatives. */
static void root_any_size(void **state)
{
	(void)state;
	hop_spec any = hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 1, 6);
	judged("root_any", f_root, 2, (hop_spec[]){ any, any }, 1);
}

/* An own solver, and own tangents: x^2 = a, that say nothing of info. */
static void square_less(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "x * x - a", x, a));
}

static void own_sqrt(hop_trace *t, const hop_value *in, void *user)
{
	(void)in;
	hop_return(t, hop_sqrt(t, *(hop_value *)user));
}

static void own_tangent(hop_trace *t, const hop_value *in, void *user)
{
	hop_value b = in[0], x = in[1];
	(void)user;
	hop_return(t, HOP_E(t, "b / (2 * x)", b, x));
}

static void f_own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info, a = in[0];
	(void)user;
	hop_root(t, square_less, &a, 1, &a, HOP_IMPLICIT_OPTS(.solve = own_sqrt,
	         .tangent = own_tangent, .symmetric = true), &x, &info);
	hop_return(t, x, info);
}

static void root_own(void **state)
{
	(void)state;
	double a[2] = { 4, 9 }, x[2] = { 2, 3 }, zero = 0;
	rig_run(&(struct rig){ .f = f_own, .nin = 1, .in = { vec(2, a) }, .nout = 2,
	                       .want = { x, &zero }, .n = { 2, 1 } });
	judged("root_own", f_own, 1, (hop_spec[]){ hop_spec1(HOP_f64, 2) }, 2);
}

/* No root: the last iterate, and how long it took. x^2 + 1 = 0. */
static void no_root(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	hop_return(t, HOP_E(t, "x * x + 1", x));
}

static void f_no_root(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info;
	(void)user;
	hop_root(t, no_root, NULL, 1, in, HOP_IMPLICIT_OPTS(.max_iterations = 7), &x, &info);
	hop_return(t, HOP_E(t, "abs(x) < 10", x), hop_gt(t, info, hop_i(t, 0)));
}

static void root_none(void **state)
{
	(void)state;
	double x0 = 3, one = 1;
	rig_run(&(struct rig){ .f = f_no_root, .nin = 1, .in = { num(x0) }, .nout = 2,
	                       .want = { &one, &one }, .n = { 1, 1 } });
}

/* ---- linear_solve ---- */

struct matrix { hop_value a; };

static void times(hop_trace *t, const hop_value *in, void *user)
{
	hop_value v = in[0], a = ((struct matrix *)user)->a;
	hop_return(t, HOP_E(t, "a @ v", a, v));
}

static void solve_by(hop_trace *t, const hop_value *in, int method, bool symmetric)
{
	hop_value x, info, a = in[1];
	struct matrix m = { HOP_E(t, "0.1 * a + 2.0 * eye(f64, 4, 4)", a) };
	if (symmetric) {
		hop_value w = m.a;
		m.a = HOP_E(t, "w @ transpose(w)", w);
	}
	hop_linear_solve(t, times, &m, 1, in, HOP_IMPLICIT_OPTS(.linear = method, .restart = 3,
	                 .symmetric = symmetric, .tolerance = 1e-13), &x, &info);
	hop_value want = hop_solve(t, m.a, in[0]);
	hop_return(t, x, info, HOP_E(t, "x - want", x, want));
}

static void f_dense(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	solve_by(t, in, HOP_LINEAR_AUTO, false);
}

static void f_gmres(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	solve_by(t, in, HOP_LINEAR_GMRES, false);
}

static void f_cg(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	solve_by(t, in, HOP_LINEAR_CG, true);
}

/* The same derivatives as equations by a matrix have, to any order. */
static void linear_judged(void **state)
{
	(void)state;
	hop_spec in[2] = { hop_spec1(HOP_f64, 4), hop_spec2(HOP_f64, 4, 4) };
	judged("linear_dense", f_dense, 2, in, 2);
	judged("linear_gmres", f_gmres, 2, in, 1);
	judged("linear_cg", f_cg, 2, in, 1);
}

/* n equations 3 x[i] - x[i-1] - 0.5 x[i+1] = b[i], against elimination in C. */
static void band(hop_trace *t, const hop_value *in, void *user)
{
	hop_value v = in[0];
	(void)user;
	hop_return(t, HOP_E(t, "3.0 * v - concat(zeros(f64, 1), v[:-1])"
	                    " - 0.5 * concat(v[1:], zeros(f64, 1))", v));
}

static void f_band(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info;
	(void)user;
	hop_linear_solve(t, band, NULL, 1, in, NULL, &x, &info);
	hop_return(t, x, info);
}

static void linear_long(void **state)
{
	enum { N = 100 };
	double b[N], c[N], x[N], zero = 0;
	(void)state;
	for (int i = 0; i < N; i++)
		b[i] = sin(i) + 0.5;
	c[0] = -0.5 / 3;                             /* Thomas' algorithm */
	x[0] = b[0] / 3;
	for (int i = 1; i < N; i++) {
		double m = 3 + c[i - 1];
		c[i] = -0.5 / m;
		x[i] = (b[i] + x[i - 1]) / m;
	}
	for (int i = N - 2; i >= 0; i--)
		x[i] -= c[i] * x[i + 1];
	rig_run(&(struct rig){ .f = f_band, .nin = 1, .in = { vec(N, b) }, .nout = 2,
	                       .want = { x, &zero }, .n = { N, 1 } });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_value),
		cmocka_unit_test(root_judged),
		cmocka_unit_test(root_pair),
		cmocka_unit_test(root_any_size),
		cmocka_unit_test(root_own),
		cmocka_unit_test(root_none),
		cmocka_unit_test(linear_judged),
		cmocka_unit_test(linear_long),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
