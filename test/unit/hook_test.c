/* hook_test.c -- hooks on gradients: where they are put and what they then see, against numbers worked
 * out in plain C, compiled and interpreted. */
#include "trace_rig.h"

static const int zero[1] = { 0 }, both[2] = { 0, 1 };

static void must(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

static double clip(double x, double most)
{
	return x > most ? most : x < -most ? -most : x;
}

static void near(const char *what, const hop_array *a, int64_t n, const double *want)
{
	assert_int_equal(hop_array_count(a), n);
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(hop_array_at(a, i) - want[i]) <= 1e-11 * (1 + fabs(want[i]))))
			fail_msg("%s: element %d is %.17g, not %.17g", what, (int)i, hop_array_at(a, i), want[i]);
}

/* The gradients of a function of w (a scalar) and x (3), both ways. */
static void grads_of(hop_fn *g, double w, const double *x, double dw, const double *dx)
{
	hop_array *in[2] = { num(w), vec(3, x) }, *out[3];
	for (int way = 0; way < 2; way++) {
		must(hop_call_with(g, 2, in, 3, out, HOP_RUN_OPTS(.interpret = way)));
		near(way ? "dw, interpreted" : "dw, compiled", out[1], 1, &dw);
		near(way ? "dx, interpreted" : "dx, compiled", out[2], 3, dx);
		for (int i = 0; i < 3; i++)
			hop_array_release(out[i]);
	}
	hop_array_release(in[0]);
	hop_array_release(in[1]);
}

static void check(hop_body *body, void *user, double w, const double *x, double dw, const double *dx)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_fn *f, *g;
	must(hop_capture(ctx, body, user, 2, s, &f));
	if (getenv("RIG_TEXT"))
		puts(hop_fn_text(f));
	must(hop_grad(f, 2, both, &g));
	grads_of(g, w, x, dw, dx);
	hop_fn_release(f);
	hop_fn_release(g);
}

static const double W = 0.7, X[3] = { 0.5, -1, 2 };

static void times(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mulf(t, in[0], *(double *)user));
}

static void plus(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_addf(t, in[0], *(double *)user));
}

static double k2 = 2, k3 = 3, one = 1;

/* ---- where ---- */

/* loss = sum(sin(x) sin(x) w); which value has the hook is told by user: 0 x, 1 w, 2 sin(x), 3 the
 * product, 4 the loss */
static void places(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_sin(t, in[1]), p = hop_mul(t, s, s);
	hop_value l = hop_sum_all(t, hop_mul(t, p, in[0]));
	hop_value all[5] = { in[1], in[0], s, p, l };
	hop_hook(t, all[*(int *)user], times, &k3);
	hop_return(t, l);
}

static void on_any_value(void **state)
{
	(void)state;
	for (int at = 0; at < 5; at++) {
		double dw = 0, dx[3];
		for (int i = 0; i < 3; i++) {
			dw += sin(X[i]) * sin(X[i]);
			dx[i] = 2 * sin(X[i]) * cos(X[i]) * W * (at == 1 ? 1 : 3);
		}
		check(places, &at, W, X, dw * (at == 1 || at == 4 ? 3 : 1), dx);
	}
}

/* What read the value before the hook, and after it, is seen as one: clipping is not linear. */
static void used_before(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[1], a = hop_mul(t, x, x);
	(void)user;
	hop_clip_grad_value(t, x, 1);
	hop_value b = hop_mul(t, x, in[0]);
	hop_return(t, hop_sum_all(t, hop_add(t, a, b)));
}

static void all_readers(void **state)
{
	double dx[3], dw = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		dx[i] = clip(2 * X[i] + W, 1);
		dw += X[i];
	}
	check(used_before, NULL, W, X, dw, dx);
}

static void three_hooks(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[1], y = hop_mul(t, x, in[0]);
	(void)user;
	hop_hook(t, x, plus, &one);
	hop_hook(t, y, plus, &k3);
	hop_hook(t, x, times, &k2);
	hop_hook(t, y, times, &k3);
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)));
}

static void in_order(void **state)
{
	double dx[3], dw = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		double gy = (2 * X[i] * W + 3) * 3;
		dw += gy * X[i];
		dx[i] = (gy * W + 1) * 2;
	}
	check(three_hooks, NULL, W, X, dw, dx);
}

/* A hook belongs to the contents that there were. user: 0 before the write, 1 after it. */
static void written(hop_trace *t, const hop_value *in, void *user)
{
	int late = *(int *)user;
	hop_value y = hop_mul(t, in[1], in[0]), a = hop_mul(t, y, y);
	if (!late)
		hop_hook(t, y, times, &k3);
	hop_add_(t, y, hop_f(t, 1));
	if (late)
		hop_hook(t, y, times, &k3);
	hop_return(t, hop_sum_all(t, hop_add(t, a, hop_mul(t, y, y))));
}

static void versions(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		double dx[3], dw = 0;
		for (int i = 0; i < 3; i++) {
			double y = W * X[i], g0 = 2 * y, g1 = 2 * (y + 1);
			double g = late ? g0 + 3 * g1 : 3 * (g0 + g1);
			dw += g * X[i];
			dx[i] = g * W;
		}
		check(written, &late, W, X, dw, dx);
	}
}

/* A copy has a gradient of its own, and so has a view. */
static void copies(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[1], c = hop_clone(t, x), d = hop_zeros_like(t, x);
	(void)user;
	hop_copy_(t, d, x);
	hop_hook(t, c, times, &k2);
	hop_hook(t, d, times, &k3);
	hop_value v = hop_slice(t, x, 0, hop_n(1), hop_n(2), 1);
	hop_hook(t, v, plus, &one);
	hop_value s = hop_add(t, hop_mul(t, x, in[0]), hop_add(t, hop_mul(t, c, c), hop_mul(t, d, d)));
	hop_return(t, hop_add(t, hop_sum_all(t, s), hop_sum_all(t, v)));
}

static void copies_apart(void **state)
{
	double dx[3], dw = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		dx[i] = W + 2 * 2 * X[i] + 3 * 2 * X[i] + (i ? 2 : 0);
		dw += X[i];
	}
	check(copies, NULL, W, X, dw, dx);
}

/* ---- what the body uses ---- */

struct two {
	hop_value a, b;
};

static void by_two(hop_trace *t, const hop_value *in, void *user)
{
	struct two *u = user;
	hop_return(t, hop_mul(t, in[0], hop_add(t, u->a, u->b)));
}

/* The body uses the value itself and what was made of it, which the hook must not change. */
static void uses(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[1], s = hop_sin(t, x), c = hop_exp(t, s);
	struct two u = { x, c };
	(void)user;
	hop_hook(t, s, by_two, &(struct two){ c, in[0] });
	hop_hook(t, x, by_two, &u);
	hop_return(t, hop_sum_all(t, hop_mul(t, c, in[0])));
}

static void forward_values(void **state)
{
	double dx[3], dw = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		double s = sin(X[i]), c = exp(s), gs = W * c * (c + W);
		dx[i] = gs * cos(X[i]) * (X[i] + c);
		dw += c;
	}
	check(uses, NULL, W, X, dw, dx);
}

/* ---- in bodies ---- */

/* h = tanh(w h + x[t]): the gradient of the carry is clipped in each trip. user: 0 a function, 1 a
 * block; 2 and 3 keep every second carry, and two, only */
static void carried(hop_trace *t, const hop_value *in, void *user)
{
	int how = *(int *)user;
	hop_value w = in[0], h = hop_scalar(t, HOP_f64, 0.1);
	HOP_FOR(t, i, 3, h) {
		hop_value u = hop_take(t, in[1], i);
		if (how == 2)
			hop_every(t, 2);
		if (how == 3)
			hop_slots(t, 1);
		if (how == 1) {
			HOP_HOOK(t, h, g) {
				g = hop_clampf(t, g, -0.2, 0.2);
			}
		} else {
			hop_clip_grad_value(t, h, 0.2);
		}
		h = HOP_E(t, "tanh(w * h + u)", w, h, u);
	}
	hop_return(t, hop_mul(t, h, h));
}

static void in_loops(void **state)
{
	double h[4] = { 0.1 }, d, dw = 0, dx[3];
	(void)state;
	for (int i = 0; i < 3; i++)
		h[i + 1] = tanh(W * h[i] + X[i]);
	d = 2 * h[3];
	for (int i = 2; i >= 0; i--) {
		double g = d * (1 - h[i + 1] * h[i + 1]);
		dx[i] = g;
		dw += g * h[i];
		d = clip(g * W, 0.2);
	}
	for (int how = 0; how < 4; how++)
		check(carried, &how, W, X, dw, dx);
}

/* A while: the carry is halved until it is small; its gradient grows by 3 a trip. */
static void until(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_sum_all(t, hop_mul(t, in[1], in[1]));
	(void)user;
	HOP_WHILE(t, HOP_E(t, "y > 1", y), y) {
		hop_scale_grad(t, y, 3);
		y = hop_mulf(t, y, 0.5);
	}
	hop_return(t, hop_mul(t, y, in[0]));
}

static void in_a_while(void **state)
{
	double y = 0, k = W, dx[3];
	(void)state;
	for (int i = 0; i < 3; i++)
		y += X[i] * X[i];
	for (; y > 1; y *= 0.5)
		k *= 1.5;
	for (int i = 0; i < 3; i++)
		dx[i] = k * 2 * X[i];
	check(until, NULL, W, X, y, dx);
}

/* An element of a map, and a value made in a branch that may not be taken. */
static void chosen(hop_trace *t, const hop_value *in, void *user)
{
	hop_value ys = HOP_NONE;
	(void)user;
	HOP_MAP(t, i, 3) {
		hop_value u = hop_take(t, in[1], i), y = hop_mul(t, u, u);
		hop_clip_grad_value(t, u, 1.5);
		HOP_IF(t, HOP_E(t, "u > 0", u), y) {
			y = hop_mul(t, y, in[0]);
			hop_scale_grad(t, y, 10);
		}
		hop_stack(t, &ys, y);
	}
	hop_return(t, hop_sum_all(t, ys));
}

static void in_branches(void **state)
{
	double dx[3], dw = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		dx[i] = clip(X[i] > 0 ? 2 * X[i] * 10 * W : 2 * X[i], 1.5);
		dw += X[i] > 0 ? 10 * X[i] * X[i] : 0;
	}
	check(chosen, NULL, W, X, dw, dx);
}

/* ---- values of outside ---- */

static void hooks_outside(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = *(hop_value *)user;
	hop_clip_grad_value(t, x, 1);
	hop_return(t, hop_mul(t, x, in[0]));
}

/* user: 0 in a region, 1 in a loop, 2 in a loop inside a region, 3 in a branch */
static void from_inside(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[1], w = in[0], y = hop_mul(t, x, x), s = hop_zeros_like(t, x);
	switch (*(int *)user) {
	case 0:
		hop_region(t, "r", hooks_outside, &x, 1, &w, 1, &s);
		s = hop_mulf(t, s, 3);
		break;
	case 1:
		HOP_FOR(t, i, 3, s) {
			hop_clip_grad_value(t, x, 1);
			s = hop_add(t, s, hop_mul(t, x, w));
		}
		break;
	case 2:
		HOP_REGION(t, "r", s) {
			HOP_FOR(t, i, 3, s) {
				HOP_HOOK(t, x, g) {
					g = hop_clampf(t, g, -1, 1);
				}
				s = hop_add(t, s, hop_mul(t, x, w));
			}
		}
		break;
	case 3:
		HOP_IF(t, HOP_E(t, "w > 0", w), s) {
			hop_clip_grad_value(t, x, 1);
			s = hop_mul(t, x, hop_mulf(t, w, 3));
		}
		break;
	}
	hop_return(t, hop_sum_all(t, hop_add(t, y, s)));
}

static void belong_outside(void **state)
{
	(void)state;
	for (int at = 0; at < 4; at++) {
		double dx[3], dw = 0;
		for (int i = 0; i < 3; i++) {
			dx[i] = clip(2 * X[i] + 3 * W, 1);
			dw += 3 * X[i];
		}
		check(from_inside, &at, W, X, dw, dx);
	}
}

/* What a trip adds to the gradient: of a copy, made in the loop. */
static void each_trip(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_zeros_like(t, in[1]), w = in[0];
	(void)user;
	HOP_FOR(t, i, 3, s) {
		hop_value mine = hop_clone(t, w);
		hop_clip_grad_value(t, mine, 0.25);
		s = hop_add(t, s, hop_mul(t, hop_take(t, in[1], i), mine));
	}
	hop_return(t, hop_sum_all(t, s));
}

static void trips_apart(void **state)
{
	double dx[3], dw = 0;
	(void)state;
	for (int i = 0; i < 3; i++) {
		dx[i] = 3 * W;
		dw += clip(3 * X[i], 0.25);
	}
	check(each_trip, NULL, W, X, dw, dx);
}

/* ---- transforms ---- */

static void cubed(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	hop_hook(t, x, times, &k2);
	hop_return(t, hop_mul(t, x, hop_mul(t, x, x)));
}

static double first(hop_fn *f, int k, double x)
{
	hop_array *in = num(x), *out[4];
	must(hop_call(f, 1, &in, hop_fn_nout(f), out));
	double r = hop_array_at(out[k], 0);
	for (int i = 0; i < hop_fn_nout(f); i++)
		hop_array_release(out[i]);
	hop_array_release(in);
	return r;
}

/* x^3 with a hook that doubles: 2 * 3 x^2, and then 2 * 2 * 6 x. Forward mode sees none. */
static void grad_of(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	if (hop_grad_at(t, cubed, NULL, 1, in, 1, zero, 2, out) == 2)
		hop_return(t, out[1]);
}

static void second_order(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_array *in[2] = { num(1.5), num(1) }, *out[2];
	hop_fn *f, *g, *h;
	(void)state;
	must(hop_capture(ctx, grad_of, NULL, 1, &s, &f));
	assert_true(fabs(first(f, 0, 1.5) - 2 * 3 * 2.25) < 1e-12);
	must(hop_grad(f, 1, zero, &g));
	assert_true(fabs(first(g, 1, 1.5) - 2 * 2 * 6 * 1.5) < 1e-12);
	must(hop_jvp(f, 1, zero, &h));                 /* of the gradient: the body once */
	must(hop_call(h, 2, in, 2, out));
	assert_true(fabs(hop_array_at(out[1], 0) - 2 * 6 * 1.5) < 1e-12);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
	hop_fn_release(f);
	hop_fn_release(g);
	hop_fn_release(h);
	must(hop_capture(ctx, cubed, NULL, 1, &s, &f));
	must(hop_jvp(f, 1, zero, &h));
	must(hop_call(h, 2, in, 2, out));
	assert_true(fabs(hop_array_at(out[1], 0) - 3 * 2.25) < 1e-12);
	for (int i = 0; i < 2; i++) {
		hop_array_release(out[i]);
		hop_array_release(in[i]);
	}
	hop_fn_release(f);
	hop_fn_release(h);
}

/* The gradient that the body gives depends on a captured value: at second order it has one itself. */
static void weighed(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], *(hop_value *)user));
}

static void with_weight(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], w = in[1];
	(void)user;
	hop_hook(t, x, weighed, &w);
	hop_return(t, hop_mul(t, x, hop_mul(t, x, x)));
}

static void grad_weighed(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3];
	(void)user;
	if (hop_grad_at(t, with_weight, NULL, 2, in, 2, both, 3, out) == 3)
		hop_return(t, out[1], out[2]);
}

static void captured_at_second_order(void **state)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	hop_array *in[2] = { num(1.5), num(0.7) }, *out[4];
	const double want[4] = { 0.7 * 3 * 2.25, 0, 0.7 * 0.7 * 6 * 1.5, 3 * 2.25 };
	hop_fn *f, *g;
	(void)state;
	must(hop_capture(ctx, grad_weighed, NULL, 2, s, &f));
	must(hop_grad(f, 2, both, &g));
	must(hop_call(g, 2, in, 4, out));
	for (int i = 0; i < 4; i++) {
		near("captured", out[i], 1, &want[i]);
		hop_array_release(out[i]);
	}
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* A gradient a lane: each is clipped. One for all lanes: their sum is. */
static void lane(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = in[0];
	(void)user;
	hop_clip_grad_value(t, w, 1);
	hop_return(t, hop_mul(t, w, in[1]));
}

static void all_lanes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y;
	(void)user;
	hop_vmap_at(t, lane, NULL, 2, in, (const int[]){ -1, 0 }, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

static void lanes(void **state)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec0(HOP_f64) };
	const double each[3] = { 0.5, -1, 1 };
	hop_array *in[2] = { num(W), vec(3, X) }, *out[2];
	hop_fn *f, *g, *h;
	(void)state;
	must(hop_capture(ctx, lane, NULL, 2, s, &f));
	must(hop_grad(f, 1, zero, &g));
	must(hop_vmap(g, (const bool[]){ false, true }, 3, &h));
	must(hop_call(h, 2, in, 2, out));
	near("a gradient a lane", out[1], 3, each);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_fn_release(g);
	hop_fn_release(h);
	check(all_lanes, NULL, W, X, clip(X[0] + X[1] + X[2], 1), (double[]){ W, W, W });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_any_value), cmocka_unit_test(all_readers), cmocka_unit_test(in_order),
		cmocka_unit_test(versions), cmocka_unit_test(copies_apart), cmocka_unit_test(forward_values),
		cmocka_unit_test(in_loops), cmocka_unit_test(in_a_while), cmocka_unit_test(in_branches),
		cmocka_unit_test(belong_outside), cmocka_unit_test(trips_apart),
		cmocka_unit_test(second_order), cmocka_unit_test(captured_at_second_order),
		cmocka_unit_test(lanes),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
