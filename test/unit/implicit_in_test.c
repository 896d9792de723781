/* implicit_in_test.c -- operators inside the equations of root and its like, which depend on the
 * unknown there, and root inside operators; other dtypes; what it means to transpose. */
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

/* ---- operators in the residual ---- */

static void loops(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], a = *(hop_value *)user, s = x;
	HOP_FOR(t, i, 3, s)
		s = HOP_E(t, "0.3 * sin(s) + 0.1 * i * a", s, HOP_AS(i, hop_cast(t, i, HOP_f64)), a);
	hop_value n = hop_scalar(t, HOP_f64, 0), w = x;
	HOP_WHILE(t, hop_lt(t, n, hop_f(t, 2)), n, w) {
		w = HOP_E(t, "0.5 * w + 0.1 * a", w, a);
		n = hop_addf(t, n, 1);
	}
	hop_value c = x;
	HOP_IF(t, hop_lt(t, hop_sum_all(t, a), hop_f(t, 0)), c)
		c = hop_mulf(t, c, 2);
	else
		c = hop_sin(t, c);
	hop_return(t, HOP_E(t, "2 * x + s + w + 0.2 * c - a", x, s, w, c, a));
}

static void f_loops(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info, a = in[0];
	(void)user;
	hop_root(t, loops, &a, 1, in, NULL, &x, &info);
	hop_return(t, x, info);
}

static void loops_inside(void **state)
{
	(void)state;
	judged("loops", f_loops, 1, (hop_spec[]){ hop_spec1(HOP_f64, 2) }, 2);
}

/* A root whose residual has a minimum in it, whose loss has linear equations in it. */
static void scale(hop_trace *t, const hop_value *in, void *user)
{
	hop_value v = in[0], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "(2 + a * a) * v", a, v));
}

struct two { hop_value a, x; };

static void bowl(hop_trace *t, const hop_value *in, void *user)
{
	struct two *u = user;
	hop_value y = in[0], x = u->x, z;
	hop_linear_solve(t, scale, &u->a, 1, &y, NULL, &z, NULL);
	hop_return(t, HOP_E(t, "sum(0.5 * y * y + 0.1 * cosh(y - x) + 0.5 * z * y)", y, x, z));
}

static void deep(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], a = *(hop_value *)user, y;
	struct two u = { a, x };
	hop_minimize(t, bowl, &u, 1, in, NULL, &y, NULL);
	hop_return(t, HOP_E(t, "x + 0.5 * y - a", x, y, a));
}

static void f_deep(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, info, a = in[0];
	(void)user;
	hop_root(t, deep, &a, 1, in, NULL, &x, &info);
	hop_return(t, x, info);
}

static void all_inside(void **state)
{
	(void)state;
	judged("deep", f_deep, 1, (hop_spec[]){ hop_spec1(HOP_f64, 2) }, 1);
}

/* ---- root in operators: taken by some lanes only, as often as a lane says ---- */

static void square_less(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "x * x + x - a", x, a));
}

static void f_lanes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], y = in[0], n = in[0];
	(void)user;
	HOP_WHILE(t, hop_gt(t, n, hop_f(t, 0.3)), n, y) {
		HOP_IF(t, hop_gt(t, y, hop_f(t, 0.5)), y) {
			hop_value x, b = y;
			hop_root(t, square_less, &b, 1, &a, NULL, &x, NULL);
			y = x;
		}
		n = hop_mulf(t, n, 0.7);
		y = hop_addf(t, y, 0.2);
	}
	hop_return(t, y);
}

static void lanes_go_own_ways(void **state)
{
	(void)state;
	judged("lanes", f_lanes, 1, (hop_spec[]){ hop_spec0(HOP_f64) }, 1);
}

/* ---- other floats ---- */

static void f_in(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x, a = hop_cast(t, in[0], *(hop_dtype *)user);
	hop_root(t, square_less, &a, 1, &a, NULL, &x, NULL);
	hop_return(t, hop_cast(t, x, HOP_f64));
}

static void other_floats(void **state)
{
	hop_dtype d[] = { HOP_f32, HOP_f16, HOP_bf16 };
	const double near[] = { 1e-5, 5e-3, 3e-2 };
	const int wrt[1] = { 0 };
	(void)state;
	for (int i = 0; i < 3; i++) {
		hop_spec spec = hop_spec0(HOP_f64);
		hop_array *a = num(2), *out[2];
		hop_fn *f, *g;
		if (hop_capture(ctx, f_in, &d[i], 1, &spec, &f) || hop_grad(f, 1, wrt, &g) ||
		    hop_call(g, 1, &a, 2, out))
			fail_msg("%s", hop_message(ctx));
		/* x^2 + x = 2 at 1, dx = 1 / (2 x + 1) */
		assert_true(fabs(hop_array_at(out[0], 0) - 1) < near[i]);
		assert_true(fabs(hop_array_at(out[1], 0) - 1 / 3.0) < near[i]);
		hop_array_release(out[0]);
		hop_array_release(out[1]);
		hop_array_release(a);
		hop_fn_release(g);
		hop_fn_release(f);
	}
}

/* ---- blocks record what the functions do ---- */

static void fn_root(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "2 * x + y - a", x, y, a), HOP_E(t, "3 * y - x * x", x, y));
}

static void fn_fixed(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "0.2 * sin(y) + a", y, a), HOP_E(t, "0.3 * x", x));
}

static void fn_least(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "sum((x - a) ** 2 + (y - x) ** 2)", x, y, a));
}

static void fn_linear(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1], a = *(hop_value *)user;
	hop_return(t, HOP_E(t, "2 * x + a * y", x, a, y), HOP_E(t, "3 * y", y));
}

static void by_functions(hop_trace *t, const hop_value *in, void *user)
{
	static hop_body *const fn[] = { fn_root, fn_fixed, fn_least, fn_linear };
	hop_value x[2] = { in[0], in[1] }, a = in[2], info;
	int which = *(int *)user;
	(which == 0 ? hop_at_root : which == 1 ? hop_at_fixed_point : which == 2 ? hop_at_minimize
	 : hop_at_linear_solve)(t, __FILE__, __LINE__, fn[which], &a, 2, x, NULL, x, &info);
	hop_return(t, x[0], x[1], info);
}

static void by_blocks(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1], a = in[2], r, s, info;
	int which = *(int *)user;
	if (which == 0)
		HOP_ROOT(t, NULL, x, y, r, s) {
			hop_info(t, &info);
			r = HOP_E(t, "2 * x + y - a", x, y, a);
			s = HOP_E(t, "3 * y - x * x", x, y);
		}
	else if (which == 1)
		HOP_FIXED_POINT(t, NULL, x, y) {
			hop_value was = x;
			hop_info(t, &info);
			x = HOP_E(t, "0.2 * sin(y) + a", y, a);
			y = HOP_E(t, "0.3 * was", was);
		}
	else if (which == 2)
		HOP_MINIMIZE(t, r, NULL, x, y) {
			hop_info(t, &info);
			r = HOP_E(t, "sum((x - a) ** 2 + (y - x) ** 2)", x, y, a);
		}
	else
		HOP_LINEAR_SOLVE(t, NULL, x, y, r, s) {
			hop_info(t, &info);
			r = HOP_E(t, "2 * x + a * y", x, a, y);
			s = HOP_E(t, "3 * y", y);
		}
	hop_return(t, x, y, info);
}

struct point { hop_value x, y; };
HOP_TREE(point_tree, struct point, x, y);

/* The same with a struct for the unknowns. */
static void by_trees(hop_trace *t, const hop_value *in, void *user)
{
	struct point p = { in[0], in[1] }, q;
	hop_value a = in[2], l, info;
	int which = *(int *)user;
	if (which == 0)
		HOP_ROOT_N(t, NULL, point_tree, &p, &q) {
			hop_info(t, &info);
			q.x = HOP_E(t, "2 * p.x + p.y - a", p.x, p.y, a);
			q.y = HOP_E(t, "3 * p.y - p.x * p.x", p.x, p.y);
		}
	else if (which == 1)
		HOP_FIXED_POINT_N(t, NULL, point_tree, &p) {
			hop_value was = p.x;
			hop_info(t, &info);
			p.x = HOP_E(t, "0.2 * sin(p.y) + a", p.y, a);
			p.y = HOP_E(t, "0.3 * was", was);
		}
	else if (which == 2)
		HOP_MINIMIZE_N(t, l, NULL, point_tree, &p) {
			hop_info(t, &info);
			l = HOP_E(t, "sum((p.x - a) ** 2 + (p.y - p.x) ** 2)", p.x, p.y, a);
		}
	else
		HOP_LINEAR_SOLVE_N(t, NULL, point_tree, &p, &q) {
			hop_info(t, &info);
			q.x = HOP_E(t, "2 * p.x + a * p.y", p.x, a, p.y);
			q.y = HOP_E(t, "3 * p.y", p.y);
		}
	hop_return(t, p.x, p.y, info);
}

static void blocks(void **state)
{
	double x[2] = { 0.3, 0.4 };
	hop_spec spec[3] = { hop_spec1(HOP_f64, 2), hop_spec1(HOP_f64, 2), hop_spec1(HOP_f64, 2) };
	hop_array *in[3] = { vec(2, x), vec(2, x), vec(2, x) };
	(void)state;
	for (int which = 0; which < 4; which++) {
		hop_fn *f, *g, *h;
		hop_array *a[3], *b[3];
		if (hop_capture(ctx, by_functions, &which, 3, spec, &f) ||
		    hop_capture(ctx, by_blocks, &which, 3, spec, &g) ||
		    hop_capture(ctx, by_trees, &which, 3, spec, &h))
			fail_msg("%d: %s", which, hop_message(ctx));
		assert_string_equal(hop_fn_text(f), hop_fn_text(g));
		assert_string_equal(hop_fn_text(f), hop_fn_text(h));
		if (hop_call(f, 3, in, 3, a) ||
		    hop_eager_call(ctx, by_blocks, &which, 3, in, 3, b))
			fail_msg("%d: %s", which, hop_message(ctx));
		for (int i = 0; i < 3; i++) {
			for (int64_t k = 0; k < hop_array_count(a[i]); k++)
				assert_true(fabs(hop_array_at(a[i], k) - hop_array_at(b[i], k)) < 1e-9);
			hop_array_release(a[i]);
			hop_array_release(b[i]);
		}
		hop_fn_release(f);
		hop_fn_release(g);
		hop_fn_release(h);
	}
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
}

static void misplaced(hop_trace *t, const hop_value *in, void *user)
{
	hop_value info;
	(void)user;
	hop_info(t, &info);
	hop_return(t, in[0]);
}

static void unset(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], r = HOP_NONE;
	(void)user;
	HOP_ROOT(t, NULL, x, r) {
	}
	hop_return(t, x);
}

static void odd(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[0], r = HOP_NONE;
	(void)user;
	HOP_ROOT(t, NULL, x, y, r)
		r = x;
	hop_return(t, x);
}

static void blocks_refused(void **state)
{
	hop_spec spec = hop_spec1(HOP_f64, 2);
	(void)state;
	rig_fails(misplaced, NULL, 1, &spec, HOP_EUSE, "info: it belongs directly into HOP_ROOT");
	rig_fails(unset, NULL, 1, &spec, HOP_EUSE, "HOP_ROOT: a residual has no value when");
	rig_fails(odd, NULL, 1, &spec, HOP_EUSE, "HOP_ROOT: there are 3 variables");
}

/* ---- transposed ---- */

/* Sums from the left, twice as much of every second: linear, by a loop. */
static void running(hop_trace *t, const hop_value *in, void *user)
{
	hop_value v = in[0], k = in[1], s = HOP_E(t, "0 * v[0]", v), ys = HOP_NONE;
	(void)user;
	HOP_FOR(t, i, 4, s) {
		s = hop_add(t, s, hop_mul(t, k, hop_take(t, v, i)));
		hop_stack(t, &ys, s);
	}
	hop_return(t, ys, HOP_E(t, "v[::2]", v));
}

static void f_turned(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out;
	(void)user;
	hop_linear_transpose_at(t, running, NULL, 2, in, 1, (int[]){ 0 }, 2, in + 2, 1, &out);
	hop_return(t, out);
}

static void transposed(void **state)
{
	double v[4] = { 9, 9, 9, 9 }, a[4] = { 1, 2, 3, 4 }, b[2] = { 10, 20 };
	double want[4] = { 30, 18, 34, 8 };          /* 2 (a[i] + ..), b at every second */
	(void)state;
	rig_run(&(struct rig){ .f = f_turned, .nin = 4, .in = { vec(4, v), num(2), vec(4, a), vec(2, b) },
	                       .nout = 1, .want = { want }, .n = { 4 } });
	/* of the function: inputs k and both cotangents */
	hop_spec spec[2] = { hop_spec1(HOP_f64, 4), hop_spec0(HOP_f64) };
	hop_array *in[3] = { num(2), vec(4, a), vec(2, b) }, *out;
	const int wrt[1] = { 0 };
	hop_fn *f, *g, *none;
	if (hop_capture(ctx, running, NULL, 2, spec, &f) || hop_linear_transpose(f, 1, wrt, &g) ||
	    hop_call(g, 3, in, 1, &out))
		fail_msg("%s", hop_message(ctx));
	assert_int_equal(hop_fn_nin(g), 3);
	same(out, want, 4);
	hop_array_release(out);
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	/* in both it is not linear */
	assert_int_not_equal(hop_linear_transpose(f, 2, (int[]){ 0, 1 }, &none), HOP_OK);
	assert_null(none);
	assert_non_null(strstr(hop_message(ctx), "linear_transpose: scan is not linear"));
	hop_fn_release(g);
	hop_fn_release(f);
}

/* Sums of products are linear in one factor; what is added must be zero with it. */
static void affine(hop_trace *t, const hop_value *in, void *user)
{
	hop_value v = in[0], s = HOP_E(t, "0 * v", v);
	(void)user;
	s = hop_add(t, s, hop_scalar(t, HOP_f64, 0.5));
	HOP_FOR(t, i, 2, s)
		s = hop_add(t, s, v);
	hop_return(t, s);
}

static void affine_refused(void **state)
{
	hop_spec spec = hop_spec1(HOP_f64, 2);
	hop_fn *f, *g;
	(void)state;
	assert_int_equal(hop_capture(ctx, affine, NULL, 1, &spec, &f), HOP_OK);
	assert_int_not_equal(hop_linear_transpose(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_non_null(strstr(hop_message(ctx), "result 0 is not zero where the inputs are"));
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_inside),
		cmocka_unit_test(all_inside),
		cmocka_unit_test(lanes_go_own_ways),
		cmocka_unit_test(other_floats),
		cmocka_unit_test(blocks),
		cmocka_unit_test(blocks_refused),
		cmocka_unit_test(transposed),
		cmocka_unit_test(affine_refused),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
