/* mode_test.c -- modes of a trace: what no_grad makes constant, what writes in it are to derivatives,
 * what bodies inherit, and how modes end. Derivatives are worked out by hand. Autocast against PyTorch
 * is in autocast_test.c, fast-math in fast_test.c. */
#include "trace_rig.h"

#define MAYBE __attribute__((unused))
#define BODY(name) \
	static void name(MAYBE hop_trace *t, MAYBE const hop_value *in, MAYBE void *user)

static hop_fn *capture(hop_body *f, int nin, const hop_spec *in)
{
	hop_fn *r;
	if (hop_capture(ctx, f, NULL, nin, in, &r))
		fail_msg("capture: %s", hop_message(ctx));
	return r;
}

static int count(hop_fn *f, const char *word)
{
	int n = 0;
	for (const char *s = hop_fn_text(f); (s = strstr(s, word)); s++)
		n++;
	return n;
}

static hop_fn *scalars(hop_body *f, int nin)
{
	hop_spec s[4];
	for (int i = 0; i < nin; i++)
		s[i] = hop_spec_of(HOP_f64, 0, NULL);
	return capture(f, nin, s);
}

/* The value of f, a function of scalars, and its derivative by each, in reverse and forward mode. */
static void slopes(hop_body *f, int nin, const double *x, double value, const double *slope)
{
	hop_fn *fn = scalars(f, nin), *grad, *jvp;
	hop_array *in[8], *out[8];
	int wrt[4] = { 0, 1, 2, 3 };
	assert_int_equal(hop_grad(fn, nin, wrt, &grad), HOP_OK);
	assert_int_equal(hop_jvp(fn, nin, wrt, &jvp), HOP_OK);
	for (int i = 0; i < nin; i++)
		in[i] = num(x[i]);
	if (hop_call(grad, nin, in, nin + 1, out))
		fail_msg("%s", hop_message(ctx));
	same(out[0], &value, 1);
	for (int i = 0; i < nin; i++)
		same(out[1 + i], &slope[i], 1);
	for (int i = 0; i <= nin; i++)
		hop_array_release(out[i]);
	for (int k = 0; k < nin; k++) {
		for (int i = 0; i < nin; i++)
			in[nin + i] = num(i == k);
		if (hop_call(jvp, 2 * nin, in, 2, out))
			fail_msg("%s", hop_message(ctx));
		same(out[1], &slope[k], 1);
		for (int i = 0; i < 2; i++)
			hop_array_release(out[i]);
		for (int i = 0; i < nin; i++)
			hop_array_release(in[nin + i]);
	}
	if (hop_eager_call(ctx, f, NULL, nin, in, 1, out))
		fail_msg("%s", hop_message(ctx));
	same(out[0], &value, 1);
	hop_array_release(out[0]);
	for (int i = 0; i < nin; i++)
		hop_array_release(in[i]);
	hop_fn_release(fn);
	hop_fn_release(grad);
	hop_fn_release(jvp);
}
#define SLOPES(f, n, x, value, ...) \
	slopes(f, n, (const double[])x, value, (const double[])__VA_ARGS__)
#define L(...) { __VA_ARGS__ }

/* ---- what is constant ---- */

BODY(half)                     /* x * stop(x^2) + y */
{
	hop_value c = HOP_NONE;
	HOP_NO_GRAD(t)
		c = hop_mul(t, in[0], in[0]);
	hop_return(t, hop_add(t, hop_mul(t, in[0], c), in[1]));
}

BODY(outside)                  /* values of outside stay what they are: x * x, held in no_grad */
{
	hop_value x = HOP_NONE;
	HOP_NO_GRAD(t) {
		x = in[0];
	}
	hop_return(t, hop_mul(t, x, x));
}

BODY(enabled)                  /* stop(x^2) * x^3 */
{
	hop_value a = HOP_NONE, b = HOP_NONE;
	HOP_NO_GRAD(t) {
		a = hop_mul(t, in[0], in[0]);
		HOP_ENABLE_GRAD(t) {
			b = hop_mul(t, hop_mul(t, in[0], in[0]), in[0]);
		}
		a = hop_mulf(t, a, 1);
	}
	hop_return(t, hop_mul(t, a, b));
}

BODY(views)                    /* a view, written behind it: it stays a constant, and sees the write */
{
	hop_value x = hop_clone(t, hop_reshape(t, in[0], 1, (hop_dim[]){ hop_n(1) })), v = HOP_NONE;
	HOP_NO_GRAD(t)
		v = hop_reshape(t, x, 0, NULL);
	hop_mul_(t, x, in[1]);
	hop_return(t, hop_add(t, hop_mul(t, v, in[0]), hop_sum_all(t, x)));
}

static void constants(void **state)
{
	(void)state;
	SLOPES(half, 2, L(3, 5), 32, { 9, 1 });
	SLOPES(outside, 1, L(3), 9, { 6 });
	SLOPES(enabled, 1, L(2), 32, { 4 * 12 });
	SLOPES(views, 2, L(3, 5), 15 * 3 + 15, { 15 + 5, 3 });
}

/* ---- bodies ---- */

BODY(loop)                     /* stop(x * 2^3) * y */
{
	hop_value x = in[0];
	HOP_NO_GRAD(t) {
		HOP_FOR(t, i, 3, x) {
			x = hop_mulf(t, x, 2);
		}
	}
	hop_return(t, hop_mul(t, x, in[1]));
}

BODY(in_loop)                  /* x_{n+1} = x_n * stop(x_n), twice: x^4; d = x_0 x_1 = x^3 */
{
	hop_value x = in[0];
	HOP_FOR(t, i, 2, x) {
		hop_value c = HOP_NONE;
		HOP_NO_GRAD(t)
			c = hop_mulf(t, x, 1);
		x = hop_mul(t, x, c);
	}
	hop_return(t, x);
}

BODY(chosen)
{
	hop_value x = in[0];
	HOP_NO_GRAD(t) {
		HOP_IF(t, hop_gt(t, in[0], hop_f(t, 0)), x) {
			x = hop_mul(t, x, x);
		}
	}
	hop_return(t, hop_mul(t, x, in[0]));
}

BODY(gradient)                 /* the inner derivative is of the inner function: stop(2 x) * x */
{
	hop_value loss = HOP_NONE, x = in[0], g = HOP_NONE;
	HOP_NO_GRAD(t) {
		HOP_GRAD(t, loss, 1, x, g) {
			loss = hop_mul(t, x, x);
		}
	}
	hop_return(t, hop_mul(t, g, in[0]));
}

BODY(cube) { hop_return(t, hop_mul(t, hop_mul(t, in[0], in[0]), in[0])); }
BODY(forward)                  /* stop(3 x^2) * x */
{
	hop_value out[2], one = hop_full_like(t, in[0], 1);
	HOP_NO_GRAD(t)
		hop_jvp_at(t, cube, NULL, 1, in, 1, (int[]){ 0 }, &one, 2, out);
	hop_return(t, hop_mul(t, out[1], in[0]));
}

BODY(inner_stop)               /* grad of (stop(x^2) x) = x^2, then d(x^2 x)/dx outside */
{
	hop_value loss = HOP_NONE, x = in[0], g = HOP_NONE;
	HOP_GRAD(t, loss, 1, x, g) {
		hop_value c = HOP_NONE;
		HOP_NO_GRAD(t)
			c = hop_mul(t, x, x);
		loss = hop_mul(t, c, x);
	}
	hop_return(t, hop_mul(t, g, in[0]));
}

BODY(fwd) { hop_save(t, 1, in); hop_return(t, hop_mul(t, in[0], in[0])); }
BODY(bwd)                      /* exempt: its slope is 10 x, and has a slope itself */
{
	assert_true(hop_mode_holds(t, HOP_MODE_AUTOCAST_OFF));
	assert_true(hop_mode_holds(t, HOP_MODE_ENABLE_GRAD));
	hop_return(t, hop_mul(t, in[1], hop_mulf(t, in[0], 10)));
}
BODY(rule)
{
	hop_value y;
	HOP_AUTOCAST(t, HOP_bf16)
		HOP_ENABLE_GRAD(t)
			hop_custom(t, &(hop_custom_rule){ .size = sizeof(hop_custom_rule), .fwd = fwd,
			                                  .bwd = bwd }, NULL, 1, in, 1, &y);
	hop_return(t, y);
}

static void bodies(void **state)
{
	(void)state;
	SLOPES(loop, 2, L(3, 5), 120, { 0, 24 });
	SLOPES(in_loop, 1, L(3), 81, { 27 });
	SLOPES(chosen, 1, L(3), 27, { 9 });
	SLOPES(gradient, 1, L(3), 18, { 6 });
	SLOPES(forward, 1, L(2), 24, { 12 });
	SLOPES(inner_stop, 1, L(3), 27, { 9 });
	hop_fn *f = scalars(rule, 1), *g;
	hop_array *x = num(3), *out[2];
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(hop_call(g, 1, &x, 2, out), HOP_OK);
	assert_true(hop_array_at(out[0], 0) == 9 && hop_array_at(out[1], 0) == 30);
	hop_array_release(x);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- writes ---- */

/* An update in place, and a use of what was updated: PyTorch's gradient of the weight is that at its
 * new value, (w - 0.1 * 2 w)^2 -> 2 * 0.8 w. */
BODY(update)
{
	hop_value w = hop_clone(t, in[0]);
	HOP_NO_GRAD(t)
		hop_sub_(t, w, hop_mulf(t, hop_mulf(t, w, 2), 0.1));
	hop_return(t, hop_mul(t, w, w));
}

BODY(update_loop)              /* the same thrice, in a body */
{
	hop_value w = hop_clone(t, in[0]);
	HOP_NO_GRAD(t)
		HOP_FOR(t, i, 3)
			hop_mul_(t, w, in[1]);
	hop_return(t, hop_mul(t, w, w));
}

BODY(update_view)              /* two of three elements */
{
	hop_value w = hop_clone(t, hop_expand(t, in[0], 1, (hop_dim[]){ hop_n(3) })), v;
	v = hop_slice(t, w, 0, hop_n(0), hop_n(2), 1);
	HOP_NO_GRAD(t)
		hop_add_(t, v, hop_mulf(t, v, 9));
	hop_return(t, hop_sum_all(t, hop_mul(t, w, w)));
}

BODY(update_still)             /* what is constant already stays so */
{
	hop_value w = HOP_NONE;
	HOP_NO_GRAD(t) {
		w = hop_clone(t, in[0]);
		hop_mul_(t, w, in[0]);
	}
	hop_return(t, hop_mul(t, w, in[0]));
}

/* What was there before may be anything: nothing of it is in what is written. */
BODY(from_infinity)
{
	hop_value w = hop_clone(t, hop_div(t, hop_f(t, 1), in[0]));
	HOP_NO_GRAD(t)
		hop_copy_(t, w, in[1]);
	hop_return(t, hop_add(t, w, in[1]));
}

static void writes(void **state)
{
	(void)state;
	SLOPES(update, 1, L(2), 2.56, { 3.2 });
	SLOPES(update_loop, 2, L(2, 3), 54 * 54, { 2 * 54, 0 });
	SLOPES(update_view, 1, L(2), 400 + 400 + 4, { 2 * 20 + 2 * 20 + 2 * 2 });
	SLOPES(update_still, 1, L(3), 27, { 9 });
	hop_array *in[2] = { num(0), num(7) }, *out[1];
	hop_fn *f = scalars(from_infinity, 2);
	assert_int_equal(hop_call(f, 2, in, 1, out), HOP_OK);
	assert_true(hop_array_at(out[0], 0) == 14);
	hop_array_release(out[0]);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
}

/* ---- what is left in the graph ---- */

BODY(frontier)
{
	hop_value y = HOP_NONE;
	HOP_NO_GRAD(t) {
		hop_value n = hop_cast(t, in[0], HOP_i64), k = hop_full_like(t, in[0], 2);
		y = hop_mul(t, hop_exp(t, hop_sin(t, in[0])), k);           /* one stop, behind sin */
		y = hop_add(t, y, hop_cast(t, n, HOP_f64));                  /* none */
		HOP_FOR(t, i, 4, y) {
			y = hop_tanh(t, hop_sin(t, y));
		}
	}
	hop_return(t, y);
}
BODY(no_mode) { hop_return(t, hop_matmul(t, in[0], in[0])); }
BODY(dull_modes)
{
	hop_value y = HOP_NONE;
	HOP_ENABLE_GRAD(t)
		HOP_DETERMINISTIC(t)
			HOP_AUTOCAST(t, HOP_bf16)
				HOP_AUTOCAST_OFF(t)
					y = hop_matmul(t, in[0], in[0]);
	hop_return(t, y);
}
BODY(weight)                   /* one cast of the weight for all its uses */
{
	hop_value x = in[0];
	HOP_AUTOCAST(t, HOP_bf16)
		for (int i = 0; i < 5; i++)
		x = hop_matmul(t, x, in[1]);
	hop_return(t, x);
}

static void graphs(void **state)
{
	(void)state;
	hop_fn *f = scalars(frontier, 1);
	assert_int_equal(count(f, "stop_gradient"), 1);
	hop_fn_release(f);
	const int64_t two[2] = { 2, 2 };
	hop_spec s[2] = { hop_spec_of(HOP_f32, 2, two), hop_spec_of(HOP_f32, 2, two) };
	hop_fn *plain = capture(no_mode, 1, s), *dull = capture(dull_modes, 1, s);
	assert_string_equal(strchr(hop_fn_text(plain), '('), strchr(hop_fn_text(dull), '('));
	hop_fn_release(plain);
	hop_fn_release(dull);
	f = capture(weight, 2, s);
	assert_int_equal(count(f, "= cast"), 2);
	assert_int_equal(count(f, "= dot"), 5);
	hop_fn_release(f);
}

/* ---- how they end ---- */

BODY(by_break)
{
	HOP_NO_GRAD(t)
		break;
	hop_return(t, in[0]);
}
BODY(by_return)
{
	HOP_AUTOCAST(t, HOP_bf16)
		return;
}
BODY(by_goto)
{
	HOP_FAST_MATH(t)
		goto out;
out:
	hop_return(t, in[0]);
}
BODY(by_continue)
{
	hop_value y = in[0];
	HOP_NO_GRAD(t) {
		y = hop_mul(t, y, y);
		if (y.trace)
			continue;
		y = hop_mul(t, y, y);
	}
	assert_false(hop_mode_holds(t, HOP_MODE_NO_GRAD));
	hop_return(t, y);
}
BODY(returns_inside)
{
	HOP_NO_GRAD(t)
		hop_return(t, hop_mul(t, in[0], in[0]));
}
BODY(pushed)
{
	hop_mode_push(t, HOP_MODE_NO_GRAD, HOP_f32);
	assert_true(hop_mode_holds(t, HOP_MODE_NO_GRAD));
	hop_value c = hop_mul(t, in[0], in[0]);
	hop_mode_pop(t);
	hop_return(t, hop_mul(t, c, in[0]));
}
BODY(no_pop) { hop_mode_push(t, HOP_MODE_NO_GRAD, HOP_f32); hop_return(t, in[0]); }
BODY(no_push) { hop_mode_pop(t); hop_return(t, in[0]); }
BODY(wrong_pop)
{
	HOP_NO_GRAD(t)
		hop_mode_pop(t);
	hop_return(t, in[0]);
}
BODY(outer_pop)                /* a body does not end what is around it */
{
	hop_value x = in[0];
	hop_mode_push(t, HOP_MODE_NO_GRAD, HOP_f32);
	HOP_FOR(t, i, 2, x)
		hop_mode_pop(t);
	hop_return(t, x);
}
BODY(push_left)
{
	HOP_NO_GRAD(t)
		hop_mode_push(t, HOP_MODE_FAST_MATH, HOP_f32);
	hop_return(t, in[0]);
}
BODY(bad_dtype)
{
	HOP_AUTOCAST(t, HOP_f64)
		hop_mulf(t, in[0], 2);
	hop_return(t, in[0]);
}
BODY(bad_mode) { hop_mode_push(t, (enum hop_mode_kind)99, HOP_f32); hop_return(t, in[0]); }

static void ends(void **state)
{
	(void)state;
	hop_spec s = hop_spec_of(HOP_f64, 0, NULL);
	rig_fails(by_break, NULL, 1, &s, HOP_EUSE, "HOP_NO_GRAD: the block was left by break");
	rig_fails(by_return, NULL, 1, &s, HOP_EUSE, "HOP_AUTOCAST: the block was left by return or goto");
	rig_fails(by_goto, NULL, 1, &s, HOP_EUSE, "HOP_FAST_MATH: the block was left by return or goto");
	rig_fails(no_pop, NULL, 1, &s, HOP_EUSE, "the function ended inside a mode");
	rig_fails(no_push, NULL, 1, &s, HOP_EUSE, "mode_pop: the function pushed no mode");
	rig_fails(wrong_pop, NULL, 1, &s, HOP_EUSE, "this HOP_NO_GRAD is open");
	rig_fails(outer_pop, NULL, 1, &s, HOP_EUSE, "mode_pop: HOP_FOR pushed no mode");
	rig_fails(push_left, NULL, 1, &s, HOP_EUSE, "with a mode or a block still open in it");
	rig_fails(bad_dtype, NULL, 1, &s, HOP_EVALUE, "HOP_AUTOCAST: f64 is not what products");
	rig_fails(bad_mode, NULL, 1, &s, HOP_EVALUE, "there is no mode 99");
	SLOPES(by_continue, 1, L(3), 9, { 0 });
	SLOPES(returns_inside, 1, L(3), 9, { 0 });
	SLOPES(pushed, 1, L(3), 27, { 9 });
	assert_false(hop_mode_holds(NULL, HOP_MODE_NO_GRAD));
	hop_at_mode_push(NULL, __FILE__, __LINE__, HOP_MODE_NO_GRAD, HOP_f32);
	hop_at_mode_pop(NULL, __FILE__, __LINE__);
	HOP_NO_GRAD(NULL)
		fail_msg("a mode of no trace");
}

/* ---- keys ---- */

static int runs;
BODY(keyed_body) { runs++; hop_return(t, hop_matmul(t, in[0], in[0])); }
BODY(keyed)                    /* a body captured under one mode is not the one under another */
{
	hop_value a, b = HOP_NONE, c = HOP_NONE;
	hop_region_keyed(t, "k", keyed_body, NULL, NULL, 1, in, 1, &a);
	HOP_AUTOCAST(t, HOP_bf16)
		hop_region_keyed(t, "k", keyed_body, NULL, NULL, 1, in, 1, &b);
	HOP_AUTOCAST(t, HOP_bf16)
		hop_region_keyed(t, "k", keyed_body, NULL, NULL, 1, in, 1, &c);
	hop_return_n(t, 3, (hop_value[]){ a, b, c });
}

static void keys(void **state)
{
	(void)state;
	const int64_t two[2] = { 2, 2 };
	hop_spec s = hop_spec_of(HOP_f32, 2, two);
	runs = 0;
	hop_fn *f = capture(keyed, 1, &s);
	assert_int_equal(runs, 2);
	assert_int_equal(count(f, "= cast"), 1);
	hop_fn_release(f);
}

/* ---- linear ---- */

BODY(with_linear) { hop_return(t, hop_linear(t, in[0], in[1], in[2])); }
BODY(no_bias) { hop_return(t, hop_linear(t, in[0], in[1], HOP_NONE)); }

static void layers(void **state)
{
	(void)state;
	const double x[6] = { 1, 2, 3, 4, 5, 6 }, w[6] = { 1, 0, -1, 2, 1, 0 }, b[2] = { 10, 20 };
	const int64_t dx[2] = { 2, 3 };
	const double want[4] = { 8, 24, 8, 33 }, bare[2] = { -2, 4 };
	struct rig r = { .f = with_linear, .nin = 3, .nout = 1, .want = { want }, .n = { 4 },
	                 .in = { array(HOP_f64, 2, dx, x), array(HOP_f64, 2, dx, w), vec(2, b) } };
	rig_run(&r);
	struct rig v = { .f = no_bias, .nin = 2, .nout = 1, .want = { bare }, .n = { 2 },
	                 .in = { vec(3, x), array(HOP_f64, 2, dx, w) } };
	rig_run(&v);
	hop_spec s[3] = { hop_spec_of(HOP_f32, 2, dx), hop_spec_of(HOP_f32, 1, dx),
	                  hop_spec_of(HOP_f32, 1, dx) };
	rig_fails(with_linear, NULL, 3, s, HOP_ESHAPE, "linear: f32[2, 3] and the weight f32[2]");
	s[1] = hop_spec_of(HOP_f32, 2, dx);
	s[2] = hop_spec_of(HOP_f32, 2, dx);
	rig_fails(with_linear, NULL, 3, s, HOP_ESHAPE, "linear: the bias f32[2, 3] and the weight");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(constants, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(bodies, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(writes, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(graphs, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(ends, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(keys, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(layers, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
