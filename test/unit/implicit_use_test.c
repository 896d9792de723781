/* implicit_use_test.c -- what roots, fixed points and minima are for: steps of stiff equations,
 * contact, networks without depth, regression; batches in which a lane fails; and each of them
 * inside the other operators. Against closed forms and differences. */
#include "trace_rig.h"

#include "support/judge_files.h"

static void judged(const char *what, hop_body *f, int nin, const hop_spec *in, int depth)
{
	hop_fn *fn;
	judge_total all = { 0 };
	if (hop_capture(ctx, f, NULL, nin, in, &fn))
		fail_msg("%s: %s", what, hop_message(ctx));
	const char *text = hop_fn_text(fn);
	assert_non_null(text);
	judge_text(text, what, depth, &all);
	hop_fn_release(fn);
	assert_true(all.checks > 0);
	assert_int_equal(all.failures, 0);
}

/* ---- a fixed point of a network: z = tanh(W z + x) ---- */

static void layer(hop_trace *t, const hop_value *in, void *user)
{
	hop_value z = in[0], w = ((hop_value *)user)[0], x = ((hop_value *)user)[1];
	hop_return(t, HOP_E(t, "tanh(0.4 * w @ z + x)", w, z, x));
}

static void f_deq(hop_trace *t, const hop_value *in, void *user)
{
	hop_value z, info, x = in[1], z0 = HOP_E(t, "0 * x", x);
	(void)user;
	hop_fixed_point(t, layer, (void *)(uintptr_t)in, 1, &z0, NULL, &z, &info);
	hop_return(t, z, info);
}

static void deep_equilibrium(void **state)
{
	double w[9] = { 0.3, -0.2, 0.5, 0.1, 0.6, -0.4, 0.2, 0.2, 0.1 }, x[3] = { 0.1, -0.3, 0.7 };
	double z[3] = { 0 }, zero = 0;
	int64_t dim[2] = { 3, 3 };
	(void)state;
	for (int turn = 0; turn < 500; turn++) {
		double y[3];
		for (int i = 0; i < 3; i++) {
			y[i] = x[i];
			for (int k = 0; k < 3; k++)
				y[i] += 0.4 * w[3 * i + k] * z[k];
		}
		for (int i = 0; i < 3; i++)
			z[i] = tanh(y[i]);
	}
	rig_run(&(struct rig){ .f = f_deq, .nin = 2, .in = { array(HOP_f64, 2, dim, w), vec(3, x) },
	                       .nout = 2, .want = { z, &zero }, .n = { 3, 1 } });
	judged("deq", f_deq, 2, (hop_spec[]){ hop_spec2(HOP_f64, 3, 3), hop_spec1(HOP_f64, 3) }, 2);
}

/* ---- ridge regression: the least |A x - b|^2 + p |x|^2 ---- */

static void ridge(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], *g = user, a = g[0], b = g[1], p = g[2];
	hop_value r = HOP_E(t, "a @ x - b", a, x, b);
	hop_return(t, HOP_E(t, "sum(r * r) + p * sum(x * x)", r, p, x));
}

/* x, and x as (A^T A + p) x = A^T b has it. */
static void f_ridge(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info, a = in[0], b = in[1], p = in[2], x0 = HOP_E(t, "0 * a[0]", a);
	(void)user;
	hop_minimize(t, ridge, (void *)(uintptr_t)in, 1, &x0, NULL, &x, &info);
	hop_value want = HOP_E(t, "solve(transpose(a) @ a + p * eye(f64, 3, 3), transpose(a) @ b)",
	                       a, p, b);
	hop_return(t, x, HOP_E(t, "x - want", x, want), info);
}

/* The sum of x, and of the closed form, for the gradient. */
static void f_ridge_sum(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, a = in[0], b = in[1], p = in[2], x0 = HOP_E(t, "0 * a[0]", a);
	if (user)
		x = HOP_E(t, "solve(transpose(a) @ a + p * eye(f64, 3, 3), transpose(a) @ b)", a, p, b);
	else
		hop_minimize(t, ridge, (void *)(uintptr_t)in, 1, &x0, NULL, &x, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)));
}

static void ridge_regression(void **state)
{
	double a[12] = { 1, 2, 0.5, -1, 0.3, 2, 0.7, -0.2, 1, 1.5, 0.1, -0.4 }, b[4] = { 1, 2, -1, 0.5 };
	double p = 0.3, got[2][17];
	int64_t dim[2] = { 4, 3 };
	const int wrt[3] = { 0, 1, 2 };
	(void)state;
	hop_array *in[3] = { array(HOP_f64, 2, dim, a), vec(4, b), num(p) }, *out[4];
	hop_spec spec[3] = { spec_of(in[0]), spec_of(in[1]), spec_of(in[2]) };
	for (int way = 0; way < 2; way++) {
		hop_fn *f, *g;
		int n = 0;
		if (hop_capture(ctx, f_ridge_sum, way ? &p : NULL, 3, spec, &f) ||
		    hop_grad(f, 3, wrt, &g) || hop_call(g, 3, in, 4, out))
			fail_msg("%s", hop_message(ctx));
		for (int i = 1; i < 4; i++) {
			for (int64_t k = 0; k < hop_array_count(out[i]); k++)
				got[way][n++] = hop_array_at(out[i], k);
			hop_array_release(out[i]);
		}
		hop_array_release(out[0]);
		hop_fn_release(g);
		hop_fn_release(f);
	}
	for (int i = 0; i < 17; i++)
		assert_true(fabs(got[0][i] - got[1][i]) < 1e-8);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	judged("ridge", f_ridge, 3, (hop_spec[]){ hop_spec2(HOP_f64, 4, 3), hop_spec1(HOP_f64, 4),
	                                          hop_spec0(HOP_f64) }, 1);
}

/* ---- a minimum that is no sum of squares: Rosenbrock's valley, from afar ---- */

static void valley(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "(a - x[0]) ** 2 + 100 * (x[1] - x[0] * x[0]) ** 2", a, x));
}

static void f_valley(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info;
	(void)user;
	hop_minimize(t, valley, (void *)(uintptr_t)&in[1], 1, in, NULL, &x, &info);
	hop_return(t, x, info);
}

static void rosenbrock(void **state)
{
	double x0[2] = { -1.2, 1 }, want[2] = { 1.5, 2.25 }, zero = 0;
	(void)state;
	rig_run(&(struct rig){ .f = f_valley, .nin = 2, .in = { vec(2, x0), num(1.5) }, .nout = 2,
	                       .want = { want, &zero }, .n = { 2, 1 } });
}

/* ---- an implicit step of a stiff equation, in a scan: y' = -k y^3 ---- */

struct step { hop_value y, k; };

static void euler(hop_trace *t, const hop_value *in, void *user)
{
	struct step *s = user;
	hop_value z = in[0], y = s->y, k = s->k;
	hop_return(t, HOP_E(t, "z + 0.1 * k * z * z * z - y", z, k, y));
}

static void stiff_step(hop_trace *t, const hop_value *in, void *user)
{
	struct step s = { in[0], *(hop_value *)user };
	hop_value z;
	hop_root(t, euler, &s, 1, in, NULL, &z, NULL);
	hop_return(t, z, z);
}

static void f_stiff(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], k = in[1];
	(void)user;
	hop_scan(t, stiff_step, &k, 1, in, 0, NULL, HOP_SCAN_OPTS(.has_length = true,
	         .length = hop_n(5)), 2, out, NULL);
	hop_return(t, out[0], out[1]);
}

static void implicit_euler(void **state)
{
	double y[2] = { 1, 3 }, ys[10], k = 50;
	(void)state;
	double z[2] = { y[0], y[1] };
	for (int n = 0; n < 5; n++)
		for (int i = 0; i < 2; i++) {
			double was = z[i];
			for (int j = 0; j < 100; j++)
				z[i] -= (z[i] + 0.1 * k * z[i] * z[i] * z[i] - was) / (1 + 0.3 * k * z[i] * z[i]);
			ys[2 * n + i] = z[i];
		}
	rig_run(&(struct rig){ .f = f_stiff, .nin = 2, .in = { vec(2, y), num(k) }, .nout = 2,
	                       .want = { z, ys }, .n = { 2, 10 } });
	judged("stiff", f_stiff, 2, (hop_spec[]){ hop_spec1(HOP_f64, 2), hop_spec0(HOP_f64) }, 1);
}

/* ---- contact: a ball that falls on a plane ----
 * Unknowns of a step: speed v and force f, with height h + dt v >= 0, f >= 0 and one of them zero, as
 * Fischer's and Burmeister's equation a + b - sqrt(a^2 + b^2 + e) = 0 says it, smoothed by e. */

struct ball { hop_value h, v, g; };

static void contact(hop_trace *t, const hop_value *in, void *user)
{
	struct ball *b = user;
	hop_value v = in[0], f = in[1], h = b->h, v0 = b->v, g = b->g;
	hop_value gap = HOP_E(t, "h + 0.05 * v", h, v);
	hop_return(t, HOP_E(t, "v - v0 + 0.05 * g - 0.05 * f", v, v0, g, f),
	           HOP_E(t, "gap + f - sqrt(gap * gap + f * f + 1e-4)", gap, f));
}

static void ball_step(hop_trace *t, const hop_value *in, void *user)
{
	struct ball b = { in[0], in[1], *(hop_value *)user };
	hop_value x[2], h = in[0], x0[2] = { in[1], hop_scalar(t, HOP_f64, 1) };
	hop_root(t, contact, &b, 2, x0, NULL, x, NULL);
	hop_value v = x[0];
	hop_return(t, HOP_E(t, "h + 0.05 * v", h, v), v, h);
}

static void f_ball(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3], g = in[2];
	(void)user;
	hop_scan(t, ball_step, &g, 2, in, 0, NULL, HOP_SCAN_OPTS(.has_length = true,
	         .length = hop_n(30)), 3, out, NULL);
	hop_return(t, out[0], out[1]);
}

static void ball_in_c(double h, double v, double g, double *out)
{
	for (int n = 0; n < 30; n++) {
		double lo = -1e3, hi = 1e3;                 /* bisection in v: the gap's equation rises */
		for (int k = 0; k < 200; k++) {
			double m = 0.5 * (lo + hi), f = (m - v + 0.05 * g) / 0.05, gap = h + 0.05 * m;
			if (gap + f - sqrt(gap * gap + f * f + 1e-4) > 0)
				hi = m;
			else
				lo = m;
		}
		v = lo;
		h += 0.05 * v;
	}
	out[0] = h;
	out[1] = v;
}

static void contact_solver(void **state)
{
	double want[2], a[2], b[2];
	(void)state;
	ball_in_c(1, 0.5, 9.81, want);
	assert_true(want[0] < 0.2);                     /* it has come down */
	rig_run(&(struct rig){ .f = f_ball, .nin = 3, .in = { num(1), num(0.5), num(9.81) },
	                       .nout = 2, .want = { want, want + 1 }, .n = { 1, 1 } });
	/* the gradient of the height for start and gravity, against differences in C */
	const int wrt[3] = { 0, 1, 2 };
	double at[3] = { 1, 0.5, 9.81 };
	hop_array *in[3] = { num(at[0]), num(at[1]), num(at[2]) }, *out[5];
	hop_spec spec[3] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	hop_fn *f, *g;
	if (hop_capture(ctx, f_ball, NULL, 3, spec, &f) || hop_grad(f, 3, wrt, &g) ||
	    hop_call(g, 3, in, 5, out))
		fail_msg("%s", hop_message(ctx));
	for (int i = 0; i < 3; i++) {
		double d = 1e-6, p[3] = { at[0], at[1], at[2] }, q[3] = { at[0], at[1], at[2] };
		p[i] += d;
		q[i] -= d;
		ball_in_c(p[0], p[1], p[2], a);
		ball_in_c(q[0], q[1], q[2], b);
		double slope = (a[0] - b[0]) / (2 * d), have = hop_array_at(out[2 + i], 0);
		if (fabs(slope - have) > 1e-5 * (1 + fabs(slope)))
			fail_msg("gradient %d is %g, not %g", i, have, slope);
	}
	for (int i = 0; i < 5; i++)
		hop_array_release(out[i]);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	hop_fn_release(g);
	hop_fn_release(f);
}

/* ---- a batch in which one lane has no derivative, and one no root ---- */

static void power(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "x * x * x - a", x, a));
}

/* The cube root, whose derivative at 0 is not there: J = 3 x^2 is singular. */
static void f_power(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info, a = in[0], x0 = hop_full_like(t, in[0], 0);
	(void)user;
	x0 = hop_select(t, hop_eq(t, a, hop_f(t, 0)), x0, hop_full_like(t, a, 1));
	hop_root(t, power, &a, 1, &x0, NULL, &x, &info);
	hop_return(t, x, info);
}

static void singular_lane(void **state)
{
	double a[4] = { 8, 0, 27, 1 }, x[4] = { 2, 0, 3, 1 };
	const int wrt[1] = { 0 };
	(void)state;
	hop_fn *f, *g, *h;
	hop_spec spec = hop_spec0(HOP_f64);
	hop_array *in = vec(4, a), *out[3];
	if (hop_capture(ctx, f_power, NULL, 1, &spec, &f) || hop_grad(f, 1, wrt, &g) ||
	    hop_vmap(g, (bool[]){ true }, 4, &h) || hop_call(h, 1, &in, 3, out))
		fail_msg("%s", hop_message(ctx));
	same(out[0], x, 4);
	for (int i = 0; i < 4; i++) {
		double d = hop_array_at(out[2], i);
		assert_int_equal(hop_array_at(out[1], i), 0);
		if (a[i] == 0)
			assert_true(isnan(d));
		else
			assert_true(fabs(d - 1 / (3 * x[i] * x[i])) < 1e-8);
	}
	for (int i = 0; i < 3; i++)
		hop_array_release(out[i]);
	hop_array_release(in);
	hop_fn_release(h);
	hop_fn_release(g);
	hop_fn_release(f);
}

/* ---- the same of linear equations, which also say so themselves ---- */

static void scaled(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], *(hop_value *)user));
}

static void f_scaled(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info, a = in[0], b = hop_full_like(t, in[0], 6);
	hop_linear_solve(t, scaled, &a, 1, &b, HOP_IMPLICIT_OPTS(.linear = *(int *)user), &x, &info);
	hop_return(t, hop_sum_all(t, x), info);
}

static void singular_equations(void **state)
{
	double a[6] = { 2, 3, 0, 1, -1, 6 };
	const int wrt[1] = { 0 };
	(void)state;
	for (int method = HOP_LINEAR_DENSE; method <= HOP_LINEAR_GMRES; method += 2) {
		hop_fn *f, *g, *h;
		hop_spec spec = hop_spec1(HOP_f64, 2);
		hop_array *in = array(HOP_f64, 2, (int64_t[]){ 3, 2 }, a), *out[3];
		if (hop_capture(ctx, f_scaled, &method, 1, &spec, &f) || hop_grad(f, 1, wrt, &g) ||
		    hop_vmap(g, (bool[]){ true }, 3, &h) || hop_call(h, 1, &in, 3, out))
			fail_msg("%s", hop_message(ctx));
		for (int lane = 0; lane < 3; lane++) {
			bool none = lane == 1;                    /* 0 x = 6 */
			assert_int_equal(hop_array_at(out[1], lane) > 0, none);
			for (int i = 0; i < 2; i++) {
				double d = hop_array_at(out[2], 2 * lane + i), k = a[2 * lane + i];
				assert_true(none ? isnan(d) : fabs(d + 6 / (k * k)) < 1e-7);
			}
		}
		for (int i = 0; i < 3; i++)
			hop_array_release(out[i]);
		hop_array_release(in);
		hop_fn_release(h);
		hop_fn_release(g);
		hop_fn_release(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_equilibrium),
		cmocka_unit_test(ridge_regression),
		cmocka_unit_test(rosenbrock),
		cmocka_unit_test(implicit_euler),
		cmocka_unit_test(contact_solver),
		cmocka_unit_test(singular_lane),
		cmocka_unit_test(singular_equations),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
