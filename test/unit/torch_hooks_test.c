/* torch_hooks_test.c -- gradients that hooks change, and gradients of those, beside what PyTorch gives:
 * on an input, on a value inside, several in order, after the value was read, with captured values, with
 * bodies that are not linear, before a write. */
#include "trace_rig.h"

#include "data/hooks.h"

#define BODY(name) static void name(hop_trace *t, const hop_value *in, void *user)
#define UNUSED (void)user

BODY(leaf)
{
	hop_value x = in[0];
	UNUSED;
	hop_scale_grad(t, x, 3);
	hop_return(t, HOP_E(t, "sum(sin(x) * w)", x, HOP_AS(w, in[1])));
}

BODY(inner)
{
	hop_value y = HOP_E(t, "sin(x) * w", HOP_AS(x, in[0]), HOP_AS(w, in[1]));
	UNUSED;
	hop_clip_grad_value(t, y, 0.5);
	hop_return(t, HOP_E(t, "sum(y * y)", y));
}

BODY(ordered)
{
	hop_value y = hop_mul(t, in[0], in[1]);
	UNUSED;
	HOP_HOOK(t, y, g)
		g = hop_addf(t, g, 1);
	HOP_HOOK(t, y, g)
		g = hop_mulf(t, g, 2);
	HOP_HOOK(t, y, g)
		g = hop_mul(t, g, g);
	hop_return(t, HOP_E(t, "sum(y * y * y)", y));
}

BODY(after_use)
{
	hop_value y = hop_mul(t, in[0], in[1]), a = hop_exp(t, y);
	UNUSED;
	HOP_HOOK(t, y, g)
		g = hop_tanh(t, g);
	hop_return(t, HOP_E(t, "sum(a + y * y)", a, y));
}

BODY(captured)
{
	hop_value y = hop_mul(t, in[0], in[0]), w = in[1];
	UNUSED;
	HOP_HOOK(t, y, g)
		g = HOP_E(t, "g * w * w", g, w);
	hop_return(t, HOP_E(t, "sum(y * y * w)", y, w));
}

BODY(nonlinear)
{
	hop_value x = in[0], y = hop_sin(t, x);
	UNUSED;
	HOP_HOOK(t, y, g)
		g = hop_mul(t, g, g);
	HOP_HOOK(t, x, g)
		g = hop_exp(t, hop_mulf(t, g, 0.1));
	hop_return(t, HOP_E(t, "sum(y * y * y * w)", y, HOP_AS(w, in[1])));
}

BODY(written)
{
	hop_value y = hop_mul(t, in[0], in[1]), a = hop_mul(t, y, y);
	UNUSED;
	hop_scale_grad(t, y, 3);
	hop_add_(t, y, hop_f(t, 1));
	hop_return(t, HOP_E(t, "sum(a + y * y)", a, y));
}

static const struct { const char *name; hop_body *f; } bodies[] = {
	{ "leaf", leaf }, { "inner", inner }, { "ordered", ordered }, { "after_use", after_use },
	{ "captured", captured }, { "nonlinear", nonlinear }, { "written", written },
};

/* x, w -> the sum of the squares of dx, the loss, dx, dw */
BODY(squares)
{
	const int wrt[2] = { 0, 1 };
	hop_value out[3];
	if (hop_grad_at(t, *(hop_body **)user, NULL, 2, in, 2, wrt, 3, out) != 3)
		return;
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], out[1])), out[0], out[1], out[2]);
}

static void close_to(const char *name, const char *what, const hop_array *a, int64_t n,
                     const double *want)
{
	assert_int_equal(hop_array_count(a), n);
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(hop_array_at(a, i) - want[i]) <= 1e-10 * (1 + fabs(want[i]))))
			fail_msg("%s: element %d of %s is %.17g, PyTorch has %.17g", name, (int)i, what,
			         hop_array_at(a, i), want[i]);
}

static void compare(const struct hook_case *k, hop_body *f)
{
	const double x[3] = { 0.5, -1, 2 };
	hop_spec s[2] = { hop_spec1(HOP_f64, 3), hop_spec0(HOP_f64) };
	hop_array *in[2] = { vec(3, x), num(0.7) }, *out[6];
	hop_fn *fn, *g;
	if (hop_capture(ctx, squares, &f, 2, s, &fn) || hop_grad(fn, 2, (const int[]){ 0, 1 }, &g))
		fail_msg("%s: %s", k->name, hop_message(ctx));
	for (int way = 0; way < 2; way++) {
		if (hop_call_with(g, 2, in, 6, out, HOP_RUN_OPTS(.interpret = way)))
			fail_msg("%s: %s", k->name, hop_message(ctx));
		close_to(k->name, "the loss", out[1], 1, &k->loss);
		close_to(k->name, "dx", out[2], 3, k->dx);
		close_to(k->name, "dw", out[3], 1, &k->dw);
		close_to(k->name, "the second by x", out[4], 3, k->dxx);
		close_to(k->name, "the second by w", out[5], 1, &k->dxw);
		for (int i = 0; i < 6; i++)
			hop_array_release(out[i]);
	}
	hop_fn_release(fn);
	hop_fn_release(g);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
}

static void as_pytorch(void **state)
{
	size_t n = sizeof hook_cases / sizeof *hook_cases;
	(void)state;
	assert_int_equal(n, sizeof bodies / sizeof *bodies);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(hook_cases[i].name, bodies[i].name);
		compare(&hook_cases[i], bodies[i].f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(as_pytorch) };
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
