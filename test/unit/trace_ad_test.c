/* trace_ad_test.c -- derivatives and batching as the public interface gives them: inside
 * bodies and on functions, captured and eager. The rules themselves are tested elsewhere. */
#include "trace_rig.h"

/* ---- inside a body ---- */

static void cube(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *k = user;                                 /* captured: a constant here */
	hop_return(t, hop_sum_all(t, hop_mul(t, *k, hop_mul(t, in[0], hop_mul(t, in[0], in[0])))),
	           in[0]);
}

static void f_grad(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3], k = in[1];
	const int wrt[1] = { 0 };
	(void)user;
	int n = hop_grad_at(t, cube, &k, 1, in, 1, wrt, 3, out);
	assert_true(hop_failed(t) || n == 3);
	hop_return(t, out[0], out[1], out[2]);
}

static void grad_inside(void **state)
{
	(void)state;
	double x[2] = { 1, -2 }, v[1] = { 2 * (1 - 8) }, g[2] = { 6, 24 };
	rig_run(&(struct rig){ .f = f_grad, .nin = 2, .in = { vec(2, x), num(2) }, .nout = 3,
	                       .want = { v, x, g }, .n = { 1, 2, 2 } });
}

/* The derivative inside, seen from outside: d/dk of (d/dx k x^3) = 3 x^2. */
static void inner_grad(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3], k = in[0], *x = user;
	const int wrt[1] = { 0 };
	hop_grad_at(t, cube, &k, 1, x, 1, wrt, 3, out);
	hop_return(t, hop_sum_all(t, out[2]));
}

static void f_grad2(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], x = in[0];
	const int wrt[1] = { 0 };
	(void)user;
	hop_grad_at(t, inner_grad, &x, 1, in + 1, 1, wrt, 2, out);
	hop_return(t, out[0], out[1]);
}

static void captured_is_live_outside(void **state)
{
	(void)state;
	double x[2] = { 1, -2 }, v[1] = { 3 * 2 * (1 + 4) }, g[1] = { 15 };
	rig_run(&(struct rig){ .f = f_grad2, .nin = 2, .in = { vec(2, x), num(2) }, .nout = 2,
	                       .want = { v, g }, .n = { 1, 1 } });
}

static void both(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], hop_sin(t, in[1])));
}

static void f_jvp(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	const int wrt[2] = { 1, 0 };
	(void)user;
	hop_jvp_at(t, both, NULL, 2, in, 2, wrt, in + 2, 2, out);
	hop_return(t, out[0], out[1]);
}

static void jvp_inside(void **state)
{
	(void)state;
	double a = 2, b = 0.3, db = 5, da = 7;               /* tangents in the order of wrt */
	rig_run(&(struct rig){ .f = f_jvp, .nin = 4, .in = { num(a), num(b), num(db), num(da) },
	        .nout = 2, .want = { (double[]){ a * sin(b) },
	                             (double[]){ da * sin(b) + a * cos(b) * db } },
	        .n = { 1, 1 } });
}

static void map2(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_matmul(t, in[0], in[1]), in[2]));
}

static void f_jac(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	const int wrt[2] = { 2, 1 };
	(void)user;
	hop_jac_at(t, map2, NULL, 3, in, 2, wrt, 2, out);
	hop_return(t, out[0], out[1]);
}

static void jac_inside(void **state)
{
	(void)state;
	double w[6] = { 1, 2, 3, 4, 5, 6 }, x[3] = { 1, -1, 0.5 }, s[2] = { 2, 3 };
	double ds[4] = { 0 }, dx[6];
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 3; k++) {
			ds[i * 2 + i] += w[i * 3 + k] * x[k];
			dx[i * 3 + k] = w[i * 3 + k] * s[i];
		}
	}
	rig_run(&(struct rig){ .f = f_jac, .nin = 3,
	        .in = { array(HOP_f64, 2, (int64_t[]){ 2, 3 }, w), vec(3, x), vec(2, s) },
	        .nout = 2, .want = { ds, dx }, .n = { 4, 6 } });
}

static void lane(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *c = user;
	hop_return(t, hop_add(t, hop_sum_all(t, hop_mul(t, in[0], in[1])), *c), in[1]);
}

static void f_vmap(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], c = in[2];
	const int axes[2] = { 1, -1 };
	(void)user;
	hop_vmap_at(t, lane, &c, 2, in, axes, 2, out);
	hop_return(t, out[0], out[1]);
}

static void vmap_inside(void **state)
{
	(void)state;
	double x[6] = { 1, 2, 3, 4, 5, 6 }, y[2] = { 10, 100 };      /* x[2][3], lanes = columns */
	double r[3], ys[6];
	for (int k = 0; k < 3; k++) {
		r[k] = x[k] * y[0] + x[3 + k] * y[1] + 0.5;
		ys[2 * k] = y[0];
		ys[2 * k + 1] = y[1];
	}
	rig_run(&(struct rig){ .f = f_vmap, .nin = 3,
	        .in = { array(HOP_f64, 2, (int64_t[]){ 2, 3 }, x), vec(2, y), num(0.5) },
	        .nout = 2, .want = { r, ys }, .n = { 3, 6 } });
}

/* ---- custom ---- */

static void c_fwd(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *k = user, y = hop_mul(t, hop_exp(t, in[0]), *k);
	hop_save(t, 1, &y);
	hop_return(t, y);
}

/* Not the true derivative, so that it can be told apart: 100 y ct + k. */
static void c_bwd(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *k = user;
	hop_return(t, hop_add(t, hop_mul(t, hop_mulf(t, in[0], 100), in[1]), *k));
}

static void c_jvp(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *k = user;
	hop_return(t, hop_mul(t, hop_mulf(t, hop_mul(t, hop_exp(t, in[0]), *k), 100), in[1]));
}

static void with_custom(hop_trace *t, const hop_value *in, void *user)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = c_fwd, .bwd = c_bwd,
		.jvp = c_jvp };
	hop_value out[1];
	hop_custom(t, &rule, user, 1, in, 1, out);
	hop_return(t, hop_sum_all(t, out[0]));
}

static void f_custom(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[4], k = hop_mulf(t, in[1], 1), one = hop_full_like(t, in[0], 1), *g = out + 2;
	const int wrt[1] = { 0 };
	(void)user;
	hop_grad_at(t, with_custom, &k, 1, in, 1, wrt, 2, out);
	hop_jvp_at(t, with_custom, &k, 1, in, 1, wrt, &one, 2, g);
	hop_return(t, out[0], out[1], g[1]);
}

static void custom_gradient(void **state)
{
	(void)state;
	double x[2] = { 0.1, 0.2 }, k = 3, y[2], g[2], v, j;
	for (int i = 0; i < 2; i++) {
		y[i] = exp(x[i]) * k;
		g[i] = 100 * y[i] + k;
	}
	v = y[0] + y[1];
	j = 100 * v;
	rig_run(&(struct rig){ .f = f_custom, .nin = 2, .in = { vec(2, x), num(k) }, .nout = 3,
	                       .want = { &v, g, &j }, .n = { 1, 2, 1 } });
}

static void wrong_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[0]);
}

static void writes_out(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *k = user;
	hop_add_(t, *k, in[0]);
	hop_return(t, in[0]);
}

static void f_bad_custom(hop_trace *t, const hop_value *in, void *user)
{
	enum { N = sizeof(hop_custom_rule) };
	static const hop_custom_rule rules[] = { { .size = N, .fwd = writes_out, .bwd = wrong_bwd },
		{ .size = N, .fwd = c_fwd, .bwd = wrong_bwd }, { .size = N, .fwd = c_fwd } };
	hop_value out[1], k = hop_clone(t, in[0]);
	hop_custom(t, &rules[*(int *)user], &k, 1, in, 1, out);
	hop_return(t, out[0]);
}

static void wrong_rules(void **state)
{
	(void)state;
	hop_spec in = hop_spec0(HOP_f64);
	int i = 0;
	rig_fails(f_bad_custom, &i, 1, &in, HOP_EREFUSED, "captured tensor is written");
	i = 1;
	rig_fails(f_bad_custom, &i, 1, &in, HOP_ETYPE, "2 cotangents for 1 float");
	i = 2;
	rig_fails(f_bad_custom, &i, 1, &in, HOP_EUSE, "must be given");
}

/* ---- functions ---- */

static void keep_on(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 100)));
}

static void double_it(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *k = user;
	hop_return(t, hop_mul(t, in[0], *k));
}

static void f_loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1], k = in[1];
	(void)user;
	hop_while(t, keep_on, double_it, &k, 1, in, NULL, out, NULL);
	hop_return(t, out[0]);
}

static void grad_of_while(void **state)
{
	(void)state;
	hop_spec in[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	const int wrt[2] = { 0, 1 };
	hop_fn *f, *g;
	assert_int_equal(hop_capture(ctx, f_loop, NULL, 2, in, &f), HOP_OK);
	if (hop_grad(f, 2, wrt, &g))
		fail_msg("%s", hop_message(ctx));
	double start[2] = { 3, 200 };                        /* 200: no trip at all */
	for (int i = 0; i < 2; i++) {
		double x = start[i], dx = 1, dk = 0, k = 2.5;
		while (x < 100) {
			dk = dk * k + x;
			dx *= k;
			x *= k;
		}
		hop_array *a[2] = { num(start[i]), num(k) }, *out[3];
		if (hop_call(g, 2, a, 3, out))
			fail_msg("%s", hop_message(ctx));
		same(out[0], &x, 1);
		same(out[1], &dx, 1);
		same(out[2], &dk, 1);
		for (int n = 0; n < 3; n++)
			hop_array_release(out[n]);
		hop_array_release(a[0]);
		hop_array_release(a[1]);
	}
	hop_fn_release(f);
	hop_fn_release(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grad_inside),
		cmocka_unit_test(captured_is_live_outside),
		cmocka_unit_test(jvp_inside),
		cmocka_unit_test(jac_inside),
		cmocka_unit_test(vmap_inside),
		cmocka_unit_test(custom_gradient),
		cmocka_unit_test(wrong_rules),
		cmocka_unit_test(grad_of_while),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
