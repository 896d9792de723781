/* Functions with a derivative of their own beside torch.autograd.Function, whose numbers are in
 * test/data/custom.h: compiled and interpreted, to 1e-10. Softmax cross entropy is written twice: with
 * a softmax that is made again, and with one that is saved, which PyTorch could not differentiate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hop/hop.h"

#include "data/custom.h"

#define BODY(name) static void name(hop_trace *t, const hop_value *in, void *user)
#define RULE(...) { .size = sizeof(hop_custom_rule), __VA_ARGS__ }
#define WRT 1, (int[]){ 0 }
#define UNUSED (void)user

static hop_ctx *ctx;

static int up(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) != HOP_OK;
}

static int down(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

static void must(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

static void near(const char *what, const double *want, const hop_array *got)
{
	for (int64_t i = 0; i < hop_array_count(got); i++) {
		double g = hop_array_at(got, i);
		if (!(fabs(g - want[i]) <= 1e-10 * (1 + fabs(want[i]))))
			fail_msg("%s: element %d is %.17g, expected %.17g", what, (int)i, g, want[i]);
	}
}

/* Inputs are matrices of n rows and k columns, or, with n = 0, vectors. */
struct given {
	int64_t       n, k;
	int           nin;
	const double *in[3];
};

/* The only result is this. */
static void compare(const char *what, hop_body *f, void *user, const struct given *g,
                    const double *want)
{
	hop_spec spec[3];
	hop_array *in[3], *out;
	hop_fn *fn;
	int64_t dim[2] = { g->n, g->k };
	for (int i = 0; i < g->nin; i++) {
		spec[i] = g->n ? hop_spec2(HOP_f64, g->n, g->k) : hop_spec1(HOP_f64, g->k);
		must(hop_array_new(ctx, HOP_f64, g->n ? 2 : 1, g->n ? dim : dim + 1, g->in[i], &in[i]));
	}
	must(hop_capture(ctx, f, user, g->nin, spec, &fn));
	for (int way = 0; way < 2; way++) {
		must(hop_call_with(fn, g->nin, in, 1, &out, HOP_RUN_OPTS(.interpret = way)));
		near(what, want, out);
		hop_array_release(out);
	}
	for (int i = 0; i < g->nin; i++)
		hop_array_release(in[i]);
	hop_fn_release(fn);
}

/* ---- softmax cross entropy ---- */

static hop_value entropy(hop_trace *t, const hop_value *in)            /* logits, one-hot targets */
{
	hop_value p = hop_mul(t, hop_log_softmax(t, in[0], -1), in[1]);
	hop_value n = hop_cast(t, hop_size_of(t, in[0], 0), HOP_f64);
	return hop_neg(t, hop_div(t, hop_sum_all(t, p), n));
}

static hop_value slope(hop_trace *t, hop_value p, hop_value hot, hop_value ct)
{
	hop_value n = hop_cast(t, hop_size_of(t, p, 0), HOP_f64);
	return hop_mul(t, hop_sub(t, p, hot), hop_div(t, ct, n));
}

BODY(again_fwd) { UNUSED; hop_save(t, 2, in); hop_return(t, entropy(t, in)); }
BODY(again_bwd) { UNUSED; hop_return(t, slope(t, hop_softmax(t, in[0], -1), in[1], in[2]), HOP_NONE); }
BODY(saved_fwd)
{
	UNUSED;
	hop_value keep[2] = { hop_softmax(t, in[0], -1), in[1] };
	hop_save(t, 2, keep);
	hop_return(t, entropy(t, in));
}
BODY(saved_bwd) { UNUSED; hop_return(t, slope(t, in[0], in[1], in[2]), HOP_NONE); }
static const hop_custom_rule again = RULE(.fwd = again_fwd, .bwd = again_bwd),
	saved = RULE(.fwd = saved_fwd, .bwd = saved_bwd),
	each = RULE(.fwd = saved_fwd, .bwd = saved_bwd, .lanewise = true);

BODY(loss)
{
	hop_value y;
	hop_custom(t, user, NULL, 2, in, 1, &y);
	hop_return(t, y);
}
BODY(gradient)
{
	hop_value out[2];
	hop_grad_at(t, loss, user, 2, in, WRT, 2, out);
	hop_return(t, out[1]);
}
BODY(along)                                                            /* x, hot, v */
{
	hop_value out[2];
	hop_grad_at(t, loss, user, 2, in, WRT, 2, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], in[2])));
}
BODY(twice)
{
	hop_value out[2];
	hop_grad_at(t, along, user, 3, in, WRT, 2, out);
	hop_return(t, out[1]);
}
BODY(one_lane)                                                         /* a row as a batch of one */
{
	hop_value a[2] = { hop_unsqueeze(t, in[0], 0), hop_unsqueeze(t, in[1], 0) }, out[2];
	hop_grad_at(t, loss, user, 2, a, WRT, 2, out);
	hop_return(t, hop_index(t, out[1], 0, 0));
}
BODY(lanes)
{
	hop_value y;
	hop_vmap_at(t, one_lane, user, 2, in, (int[]){ 0, 0 }, 1, &y);
	hop_return(t, y);
}

static void cross_entropy(void **state)
{
	struct given g = { TORCH_N, TORCH_K, 2, { torch_entropy_x, torch_entropy_hot, torch_entropy_v } };
	const hop_custom_rule *rule[] = { &again, &saved, &each };
	(void)state;
	for (int i = 0; i < 3; i++) {
		void *user = (void *)(uintptr_t)rule[i];
		g.nin = 2;
		compare("loss", loss, user, &g, torch_entropy_loss);
		compare("gradient", gradient, user, &g, torch_entropy_g);
		compare("of each lane", lanes, user, &g, torch_entropy_lanes);
		g.nin = 3;
		compare("twice", twice, user, &g, torch_entropy_h);
	}
}

/* ---- a result that is saved ---- */

BODY(sine_fwd)
{
	UNUSED;
	hop_value y = hop_sin(t, in[0]);
	hop_save(t, 1, &y);
	hop_return(t, y);
}
BODY(sine_bwd) { UNUSED; hop_return(t, hop_mul(t, hop_mulf(t, in[0], 2), in[1])); }
BODY(sine)
{
	static const hop_custom_rule rule = RULE(.fwd = sine_fwd, .bwd = sine_bwd);
	hop_value y;
	UNUSED;
	hop_custom(t, &rule, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(sine_1)
{
	hop_value out[2];
	hop_grad_at(t, sine, user, 1, in, WRT, 2, out);
	hop_return(t, hop_sum_all(t, out[1]), out[1]);
}
BODY(sine_2)
{
	hop_value out[3];
	hop_grad_at(t, sine_1, user, 1, in, WRT, 3, out);
	hop_return(t, hop_sum_all(t, out[2]), out[2]);
}
BODY(first)
{
	hop_value out[2];
	hop_grad_at(t, sine, user, 1, in, WRT, 2, out);
	hop_return(t, out[1]);
}
BODY(second)
{
	hop_value out[3];
	hop_grad_at(t, sine_1, user, 1, in, WRT, 3, out);
	hop_return(t, out[2]);
}
BODY(third)
{
	hop_value out[3];
	hop_grad_at(t, sine_2, user, 1, in, WRT, 3, out);
	hop_return(t, out[2]);
}

static void three_orders(void **state)
{
	struct given g = { 0, 3, 1, { torch_sine_x, NULL, NULL } };
	(void)state;
	compare("first", first, NULL, &g, torch_sine_d1);
	compare("second", second, NULL, &g, torch_sine_d2);
	compare("third", third, NULL, &g, torch_sine_d3);
}

/* ---- an input that is written, and a result without derivative ---- */

BODY(scale_fwd)                                                        /* x, s */
{
	UNUSED;
	hop_mul_(t, in[0], in[1]);
	hop_value mask = hop_tanh(t, in[0]);
	hop_nondiff(t, 1, &mask);
	hop_save(t, 1, in + 1);
	hop_return(t, in[0], mask);
}
BODY(scale_bwd) { UNUSED; hop_return(t, hop_mul(t, hop_mulf(t, in[0], 5), in[1]), HOP_NONE); }
BODY(scale)
{
	static const hop_custom_rule rule = RULE(.fwd = scale_fwd, .bwd = scale_bwd);
	hop_value x = hop_mulf(t, in[0], 1), a[2] = { x, hop_scalar(t, HOP_f64, 1.5) }, y[2];
	UNUSED;
	hop_custom(t, &rule, NULL, 2, a, 2, y);
	hop_return(t, hop_sum_all(t, hop_add(t, hop_mul(t, x, x), hop_mul(t, x, y[1]))));
}
BODY(scale_slope)
{
	hop_value out[2];
	hop_grad_at(t, scale, user, 1, in, WRT, 2, out);
	hop_return(t, out[1]);
}

static void written(void **state)
{
	struct given g = { 0, 3, 1, { torch_scale_x, NULL, NULL } };
	(void)state;
	compare("loss", scale, NULL, &g, torch_scale_loss);
	compare("gradient", scale_slope, NULL, &g, torch_scale_g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cross_entropy), cmocka_unit_test(three_orders), cmocka_unit_test(written),
	};
	return cmocka_run_group_tests(tests, up, down);
}
