/* retain_test.c -- gradients of values inside: in a line, in branches, regions, scans and maps, against
 * numbers worked out in plain C; and where they are refused. */
#include "trace_rig.h"

static const int both[2] = { 0, 1 };

static void must(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

static void near(const hop_array *a, int64_t n, const double *want)
{
	assert_int_equal(hop_array_count(a), n);
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(hop_array_at(a, i) - want[i]) <= 1e-12 * (1 + fabs(want[i]))))
			fail_msg("element %d is %.17g, not %.17g", (int)i, hop_array_at(a, i), want[i]);
}

/* The gradient of body by both inputs, w (scalar) and x of 3; results called `name` must be want. */
struct ask {
	const char   *name;
	int64_t       n;
	const double *want;
};

static void check(hop_body *body, double w, const double *x, int nmark, const struct ask *ask)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_array *in[2] = { num(w), vec(3, x) }, *out[8];
	hop_fn *f, *g;
	must(hop_capture(ctx, body, NULL, 2, s, &f));
	must(hop_grad(f, 2, both, &g));
	int n = hop_fn_nout(g);
	assert_int_equal(n, 3 + nmark);
	for (int way = 0; way < 2; way++) {
		must(hop_call_with(g, 2, in, n, out, HOP_RUN_OPTS(.interpret = way)));
		for (const struct ask *a = ask; a->name; a++) {
			int k = !strcmp(a->name, "w") ? 1 : !strcmp(a->name, "x") ? 2 : hop_fn_result(g, a->name);
			assert_true(k >= 0);
			near(out[k], a->n, a->want);
		}
		for (int i = 0; i < n; i++)
			hop_array_release(out[i]);
	}
	hop_fn_release(f);
	hop_fn_release(g);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
}

/* h = tanh(w x), y = h h; loss = sum(y) */
static void line(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value h = hop_retain_grad(t, HOP_E(t, "tanh(w * x)", HOP_AS(w, in[0]), HOP_AS(x, in[1])), "h");
	hop_value y = hop_retain_grad(t, hop_mul(t, h, h), "a.y");
	hop_return(t, hop_sum_all(t, y));
}

static void in_a_line(void **state)
{
	const double x[3] = { 0.5, -1, 2 }, w = 0.7, one[3] = { 1, 1, 1 };
	double dh[3], dw = 0, dx[3];
	(void)state;
	for (int i = 0; i < 3; i++) {
		double h = tanh(w * x[i]);
		dh[i] = 2 * h;
		dw += dh[i] * (1 - h * h) * x[i];
		dx[i] = dh[i] * (1 - h * h) * w;
	}
	check(line, w, x, 2, (struct ask[]){ { "grad.h", 3, dh }, { "grad.a.y", 3, one }, { "w", 1, &dw },
	                                     { "x", 3, dx }, { NULL, 0, NULL } });
}

/* h = tanh(w h + x[t]), loss = h h at the end; the mark is in the loop, behind a branch in it. */
static void loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = in[0], h = hop_scalar(t, HOP_f64, 0.1);
	(void)user;
	HOP_FOR(t, i, 3, h) {
		hop_value u = hop_take(t, in[1], i);
		h = hop_retain_grad(t, HOP_E(t, "tanh(w * h + u)", w, h, u), "h");
		HOP_IF(t, HOP_E(t, "u > 0", u), h) {
			h = hop_retain_grad(t, hop_mulf(t, h, 3), "up");
		}
	}
	hop_return(t, hop_mul(t, h, h));
}

static void in_a_scan(void **state)
{
	const double x[3] = { 0.5, -1, 2 }, w = 0.7;
	double pre[4], post[4] = { 0.1 }, dh[3], up[3], d, dw = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		pre[i] = tanh(w * post[i] + x[i]);
		post[i + 1] = x[i] > 0 ? 3 * pre[i] : pre[i];
	}
	d = 2 * post[3];
	for (int i = 2; i >= 0; i--) {
		up[i] = x[i] > 0 ? d : 0;                      /* a branch that is not taken gives 0 */
		dh[i] = x[i] > 0 ? 3 * d : d;
		dw += dh[i] * (1 - pre[i] * pre[i]) * post[i];
		d = dh[i] * (1 - pre[i] * pre[i]) * w;
	}
	check(loop, w, x, 2, (struct ask[]){ { "grad.h", 3, dh }, { "grad.up", 3, up }, { "w", 1, &dw },
	                                     { NULL, 0, NULL } });
}

static void square(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_retain_grad(t, hop_mul(t, in[0], in[0]), "sq"));
}

/* loss = sum over t of w (x[t])^2, in a map with a region in it. */
static void mapped(hop_trace *t, const hop_value *in, void *user)
{
	hop_value ys = HOP_NONE;
	(void)user;
	HOP_MAP(t, i, 3) {
		hop_value u = hop_take(t, in[1], i), y[1];
		hop_region(t, "square", square, NULL, 1, &u, 1, y);
		hop_stack(t, &ys, hop_mul(t, in[0], y[0]));
	}
	hop_return(t, hop_sum_all(t, ys));
}

static void in_a_map(void **state)
{
	const double x[3] = { 0.5, -1, 2 }, w = 0.7, dsq[3] = { w, w, w };
	double dx[3] = { 2 * w * x[0], 2 * w * x[1], 2 * w * x[2] };
	(void)state;
	check(mapped, w, x, 1, (struct ask[]){ { "grad.sq", 3, dsq }, { "x", 3, dx }, { NULL, 0, NULL } });
}

/* Inside a body: loss, gradients by w and x, then of a.y and of h, by name. Batched around it. */
static void within(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[5];
	(void)user;
	int n = hop_grad_at(t, line, NULL, 2, in, 2, both, 5, out);
	if (n == 5)
		hop_return(t, out[3], out[4]);
}

static void in_bodies(void **state)
{
	const double x[3] = { 0.5, -1, 2 }, one[3] = { 1, 1, 1 };
	double dh[3];
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_fn *f, *g;
	hop_array *in[2] = { num(0.7), vec(3, x) }, *out[2];
	(void)state;
	for (int i = 0; i < 3; i++)
		dh[i] = 2 * tanh(0.7 * x[i]);
	struct rig r = { .f = within, .nin = 2, .nout = 2, .in = { num(0.7), vec(3, x) },
	                 .want = { one, dh }, .n = { 3, 3 } };
	rig_run(&r);
	must(hop_capture(ctx, within, NULL, 2, s, &f));
	must(hop_vmap(f, (const bool[]){ true, false }, 2, &g));
	hop_array_release(in[0]);
	in[0] = vec(2, (double[]){ 0.7, 0.7 });
	must(hop_call(g, 2, in, 2, out));
	for (int i = 0; i < 6; i++)
		assert_true(fabs(hop_array_at(out[1], i) - dh[i % 3]) < 1e-12);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* Other derivatives do not see marks, and a gradient takes them away. */
static void others(void **state)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_fn *f, *g, *h;
	(void)state;
	must(hop_capture(ctx, loop, NULL, 2, s, &f));
	assert_non_null(strstr(hop_fn_text(f), "retain_grad"));
	must(hop_grad(f, 1, both, &g));
	assert_int_equal(hop_fn_nout(g), 4);
	assert_null(strstr(hop_fn_text(g), "retain_grad"));
	must(hop_grad(g, 1, both, &h));                /* of the loss again */
	assert_int_equal(hop_fn_nout(h), 5);
	hop_fn_release(h);
	hop_fn_release(g);
	must(hop_hvp(f, 1, both, &g));
	assert_int_equal(hop_fn_nout(g), 3);
	assert_null(strstr(hop_fn_text(g), "retain_grad"));
	hop_fn_release(g);
	must(hop_vjp(f, 1, both, &g));
	assert_int_equal(hop_fn_nout(g), 2);
	hop_fn_release(g);
	must(hop_hessian(f, 2, both, NULL, &g));
	assert_int_equal(hop_fn_nout(g), 7);
	hop_fn_release(g);
	must(hop_linearize(f, 1, both, &g, &h));
	assert_null(strstr(hop_fn_text(h), "retain_grad"));
	hop_fn_release(g);
	hop_fn_release(h);
	hop_fn_release(f);
}

/* ---- refused ---- */

static void wrong(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = in[0], x = in[1], y = hop_sum_all(t, x), l = HOP_NONE, g = HOP_NONE;
	switch (*(int *)user) {
	case 0:
		HOP_WHILE(t, HOP_E(t, "y > 1", y), y) {
			y = hop_retain_grad(t, hop_mulf(t, y, 0.5), "y");
		}
		break;
	case 1:
		y = hop_add(t, hop_retain_grad(t, y, "y"), hop_retain_grad(t, hop_mul(t, w, y), "y"));
		break;
	case 2: hop_retain_grad(t, hop_i(t, 3), "three"); break;
	case 3: hop_retain_grad(t, y, ""); break;
	case 4: hop_retain_grad(t, y, NULL); break;
	case 5:
		HOP_GRAD(t, l, 1, w, g) {
			l = hop_mul(t, hop_retain_grad(t, hop_mul(t, w, y), "inner"), w);
		}
		y = g;
		break;
	}
	hop_return(t, y);
}

static void refused(void **state)
{
	static const char *const text[] = {
		"grad: the gradient of y is asked for, which is in the body of while",
		"grad: two values whose gradients are asked for are called y",
		"retain_grad: ", "retain_grad: a name is needed", "retain_grad: a name is needed",
		"HOP_GRAD: the gradient of inner is asked for by retain_grad",
	};
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	(void)state;
	for (int i = 0; i < (int)(sizeof text / sizeof *text); i++) {
		hop_fn *f = NULL, *g;
		hop_status st = hop_capture(ctx, wrong, &i, 2, s, &f);
		if (!st)
			st = hop_grad(f, 1, both + 1, &g);
		if (!st || !strstr(hop_message(ctx), text[i]))
			fail_msg("%d: status %d: %s\nnot: %s", i, (int)st, st ? hop_message(ctx) : "", text[i]);
		hop_fn_release(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_line), cmocka_unit_test(in_a_scan), cmocka_unit_test(in_a_map),
		cmocka_unit_test(in_bodies), cmocka_unit_test(others), cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
