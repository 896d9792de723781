/* hook_effect_test.c -- hooks that do something: in the backward half of a split under any budget, in
 * checkpoints, with functions of the host, with asserts; of every float dtype and of sizes that are
 * symbols. Each is done once, in the order of the reverse pass. */
#include "trace_rig.h"

static const int zero[1] = { 0 };

static void must(hop_status st)
{
	if (st)
		fail_msg("status %d: %s", (int)st, hop_message(ctx));
}

/* ---- what was seen ---- */

static double seen[16];
static int nseen;

static hop_status look(const hop_host_call *c)
{
	double x = *(const double *)c->in[0].data;
	if (nseen < 16)
		seen[nseen] = x;
	nseen++;
	*(double *)c->out[0].data = 2 * x;
	return HOP_OK;
}

static void saw(const char *when, int n, const double *want)
{
	if (nseen != n)
		fail_msg("%s: called %d times, not %d", when, nseen, n);
	for (int i = 0; i < n; i++)
		if (fabs(seen[i] - want[i]) > 1e-12)
			fail_msg("%s: call %d saw %g, not %g", when, i, seen[i], want[i]);
	nseen = 0;
}

/* The gradient, doubled by the host. */
static void ask_host(hop_trace *t, const hop_value *in, void *user)
{
	hop_result type = { .dtype = HOP_f64 };
	hop_value g = HOP_NONE;
	(void)user;
	hop_host(t, "look", 1, in, 1, &type, &g);
	hop_return(t, g);
}

static int look_up(void **state)
{
	return rig_up(state) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "look", .run = look)) != HOP_OK;
}

static void call_once(hop_fn *f, double x, int k, double want)
{
	for (int way = 0; way < 2; way++) {
		hop_array *in = num(x), *out[4];
		must(hop_call_with(f, 1, &in, hop_fn_nout(f), out, HOP_RUN_OPTS(.interpret = way)));
		if (k >= 0 && fabs(hop_array_at(out[k], 0) - want) > 1e-12)
			fail_msg("gives %g, not %g", hop_array_at(out[k], 0), want);
		for (int i = 0; i < hop_fn_nout(f); i++)
			hop_array_release(out[i]);
		hop_array_release(in);
		if (!way && k >= 0)
			nseen = 0;
	}
}

/* x, times 3 twice, with a hook before each: in a line, in checkpoints, in regions, in a loop. */
static void layers(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	int how = *(int *)user;
	if (how == 3) {
		HOP_FOR(t, i, 2, x) {
			hop_hook(t, x, ask_host, NULL);
			x = hop_mul(t, x, hop_f(t, 3));
		}
		hop_return(t, x);
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (how == 1) {
			HOP_CHECKPOINT(t, NULL, x) {
				hop_value y = hop_mul(t, x, hop_f(t, 1));
				hop_hook(t, y, ask_host, NULL);
				x = hop_mul(t, hop_mul(t, y, y), hop_div(t, hop_f(t, 3), y));
			}
		} else if (how == 2) {
			HOP_REGION(t, "layer", x) {
				hop_value y = hop_mul(t, x, hop_f(t, 1));
				hop_hook(t, y, ask_host, NULL);
				x = hop_mul(t, y, hop_f(t, 3));
			}
		} else {
			hop_hook(t, x, ask_host, NULL);
			x = hop_mul(t, x, hop_f(t, 3));
		}
	}
	hop_return(t, x);
}

/* The gradient is 1; 3, seen, 6; 18, seen, 36. */
static void once_each(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	(void)state;
	for (int how = 0; how < 4; how++) {
		hop_fn *f, *g;
		must(hop_capture(ctx, layers, &how, 1, &s, &f));
		must(hop_grad(f, 1, zero, &g));
		nseen = 0;
		call_once(f, 0.5, -1, 0);
		saw("forwards", 0, NULL);
		call_once(g, 0.5, 1, 36);
		saw(how == 1 ? "a checkpoint" : how == 2 ? "a region" : how == 3 ? "a loop" : "in a line", 2,
		    (double[]){ 3, 18 });
		hop_fn_release(f);
		hop_fn_release(g);
	}
}

/* In two halves: the first sees nothing, whatever is computed again in the second. */
static void in_halves(void **state)
{
	static const double budget[3] = { 0, 0.5, 1 };
	hop_spec s = hop_spec0(HOP_f64);
	(void)state;
	for (int how = 0; how < 4; how++)
		for (int b = 0; b < 3; b++) {
			hop_array *in[8] = { num(0.5) }, *out[8], *dx;
			hop_fn *f, *fwd, *bwd;
			must(hop_capture(ctx, layers, &how, 1, &s, &f));
			must(hop_split(f, 1, zero, budget[b], &fwd, &bwd));
			int n = hop_fn_nout(fwd);
			assert_true(n + 2 <= 8 && hop_fn_nin(bwd) == n + 2);
			nseen = 0;
			must(hop_call(fwd, 1, in, n, out));
			saw("the forward half", 0, NULL);
			memcpy(in + 1, out, (size_t)n * sizeof *in);
			in[n + 1] = num(1);
			must(hop_call(bwd, n + 2, in, 1, &dx));
			saw("the backward half", 2, (double[]){ 3, 18 });
			assert_true(fabs(hop_array_at(dx, 0) - 36) < 1e-12);
			for (int i = 0; i < n + 2; i++)
				hop_array_release(in[i]);
			hop_array_release(dx);
			hop_fn_release(f);
			hop_fn_release(fwd);
			hop_fn_release(bwd);
		}
}

/* ---- asserts, watches ---- */

static void guarded(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_HOOK(t, x, g) {
		hop_watch(t, g, "dx");
		hop_assert(t, hop_lt(t, hop_abs(t, g), hop_f(t, 10)), "a gradient of {}", 1, &g);
	}
	hop_return(t, hop_mul(t, x, x));
}

static void asserts_and_watches(void **state)
{
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f, *g;
	hop_record *r;
	(void)state;
	must(hop_capture(ctx, guarded, NULL, 1, &s, &f));
	must(hop_grad(f, 1, zero, &g));
	must(hop_record_new(ctx, NULL, &r));
	for (int way = 0; way < 2; way++) {
		hop_array *in = num(3), *bad = num(6), *out[2], *dx;
		must(hop_call_with(f, 1, &bad, 1, out, HOP_RUN_OPTS(.interpret = way, .record = r)));
		hop_array_release(out[0]);
		assert_int_equal(hop_record_names(r), 0);
		must(hop_call_with(g, 1, &in, 2, out, HOP_RUN_OPTS(.interpret = way, .record = r)));
		must(hop_watched(r, "dx", &dx, NULL));
		assert_int_equal(hop_array_count(dx), 1);
		assert_true(hop_array_at(dx, 0) == 6);
		hop_array_release(dx);
		hop_array_release(out[0]);
		hop_array_release(out[1]);
		hop_record_clear(r);
		assert_int_not_equal(hop_call_with(g, 1, &bad, 2, out, HOP_RUN_OPTS(.interpret = way)),
		                     HOP_OK);
		assert_non_null(strstr(hop_message(ctx), "a gradient of 12"));
		hop_array_release(in);
		hop_array_release(bad);
		hop_record_clear(r);
	}
	hop_record_free(r);
	hop_fn_release(f);
	hop_fn_release(g);
}

/* ---- dtypes and sizes ---- */

struct clip {
	hop_dtype dtype;
	int       norm;
};

static void clipped(hop_trace *t, const hop_value *in, void *user)
{
	const struct clip *c = user;
	hop_value x = hop_cast(t, in[0], c->dtype);
	if (c->norm)
		hop_clip_grad_norm(t, x, 2);
	else
		hop_clip_grad_value(t, x, 2);
	hop_return(t, hop_cast(t, hop_sum_all(t, hop_mul(t, x, x)), HOP_f64));
}

/* 2 x is 6, 8: no longer than 2, or no element more than 2. And 0 stays 0. */
static void every_dtype(void **state)
{
	static const hop_dtype all[4] = { HOP_f64, HOP_f32, HOP_f16, HOP_bf16 };
	static const double x[2][2] = { { 3, 4 }, { 0, 0 } };
	static const double want[2][2] = { { 2, 2 }, { 1.2, 1.6 } };
	(void)state;
	for (int d = 0; d < 4; d++)
		for (int norm = 0; norm < 2; norm++) {
			struct clip c = { all[d], norm };
			hop_spec s = hop_spec1(HOP_f64, 1);
			hop_fn *f, *g;
			s.sym[0] = "n";
			s.max[0] = 9;
			must(hop_capture(ctx, clipped, &c, 1, &s, &f));
			must(hop_grad(f, 1, zero, &g));
			for (int k = 0; k < 2; k++) {
				hop_array *in = vec(2, x[k]), *out[2];
				must(hop_call(g, 1, &in, 2, out));
				for (int i = 0; i < 2; i++)
					assert_true(fabs(hop_array_at(out[1], i) - (k ? 0 : want[norm][i])) <=
					            (d < 2 ? 1e-6 : 1e-2));
				hop_array_release(in);
				hop_array_release(out[0]);
				hop_array_release(out[1]);
			}
			hop_fn_release(f);
			hop_fn_release(g);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_each), cmocka_unit_test(in_halves),
		cmocka_unit_test(asserts_and_watches), cmocka_unit_test(every_dtype),
	};
	return cmocka_run_group_tests(tests, look_up, rig_down);
}
