/* region_test.c -- what regions ask of the compiler: it changes no value, and is found again in the
 * text of derivatives and batches. Values are compared with plain C and with the same program
 * without options; how code comes out is in test/golden/text/no_fuse.hop and test/golden/opt. */
#include "trace_rig.h"

#include "device_rig.h"

enum { N = 3, STEPS = 5 };
struct state { hop_value h; };
HOP_TREE(state_tree, struct state, h);

enum how { FUNCTION, BLOCK, TREE, KEYED, NHOW };
struct net {
	enum how        how;
	hop_region_opts opts;
	int             unroll;            /* of the loop itself */
};

/* x -> tanh(x), then five times h = sin(h) + x. */
static hop_value steps(hop_trace *t, hop_value x, const struct net *n)
{
	hop_value h = hop_tanh(t, x);
	HOP_FOR(t, i, STEPS, h) {
		if (n->unroll)
			hop_unroll(t, n->unroll);
		h = hop_add(t, hop_sin(t, h), x);
	}
	return h;
}

static void layer(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, steps(t, in[0], user));
}

static void program(hop_trace *t, const hop_value *in, void *user)
{
	struct net *n = user;
	struct state s = { in[0] };
	for (int i = 0; i < 2; i++)
		switch (n->how) {
		case FUNCTION:
			hop_region_with(t, "layer", layer, n, &n->opts, 1, &s.h, 1, &s.h);
			break;
		case BLOCK:
			HOP_REGION_WITH(t, "layer", &n->opts, s.h)
				s.h = steps(t, s.h, n);
			break;
		case TREE:
			HOP_REGION_WITH_N(t, "layer", &n->opts, state_tree, &s)
				s.h = steps(t, s.h, n);
			break;
		default:
			hop_region_keyed(t, "layer", layer, n, &n->opts, 1, &s.h, 1, &s.h);
		}
	hop_return(t, hop_sum_all(t, s.h));
}

static double by_hand(const double *x)
{
	double sum = 0;
	for (int k = 0; k < N; k++) {
		double h = x[k];
		for (int i = 0; i < 2; i++) {
			double was = h;
			h = tanh(was);
			for (int j = 0; j < STEPS; j++)
				h = sin(h) + was;
		}
		sum += h;
	}
	return sum;
}

static const hop_region_opts options[] = {
	{ .size = sizeof *options, .no_inline = true },
	{ .size = sizeof *options, .no_fuse = true },
	{ .size = sizeof *options, .unroll = 2 },
	{ .size = sizeof *options, .no_inline = true, .no_fuse = true, .unroll = 4,
	  .hints = "tile=8,where=host" },
};
enum { NOPTION = sizeof options / sizeof *options };

static hop_fn *captured(struct net *n)
{
	hop_fn *f;
	hop_spec s = hop_spec_of(HOP_f64, 1, (int64_t[]){ N });
	if (hop_capture(ctx, program, n, 1, &s, &f))
		fail_msg("capture: %s", hop_message(ctx));
	return f;
}

static void test_values(void **state)
{
	static const double x[N] = { 0.3, -1.2, 2 };
	(void)state;
	double want = by_hand(x);
	for (int k = 0; k < NOPTION; k++)
		for (enum how h = 0; h < NHOW; h++) {
			struct net n = { .how = h, .opts = options[k] };
			struct rig r = { .f = program, .user = &n, .nin = 1, .nout = 1, .in = { vec(N, x) },
				             .want = { &want }, .n = { 1 } };
			rig_run(&r);
		}
}

/* All ways to write it are one graph. */
static void test_texts(void **state)
{
	(void)state;
	for (int k = 0; k < NOPTION; k++) {
		struct net n = { .how = FUNCTION, .opts = options[k] };
		hop_fn *first = captured(&n);
		for (enum how h = BLOCK; h < NHOW; h++) {
			n.how = h;
			hop_fn *f = captured(&n);
			assert_string_equal(hop_fn_text(f), hop_fn_text(first));
			hop_fn_release(f);
		}
		hop_fn_release(first);
	}
}

static int count(const hop_fn *f, const char *word)
{
	int n = 0;
	for (const char *s = hop_fn_text((hop_fn *)(uintptr_t)f); (s = strstr(s, word)); s++)
		n++;
	return n;
}

/* Every call of the derivative and of lanes of it says what the region said. */
static void test_transforms(void **state)
{
	static const double x[N] = { 0.3, -1.2, 2 };
	(void)state;
	struct net plain = { .how = FUNCTION, .opts = { .size = sizeof plain.opts } };
	hop_fn *f = captured(&plain), *g, *b;
	hop_array *in = vec(N, x), *want[2], *got[2], *all = array(HOP_f64, 2, (int64_t[]){ 2, N },
		(double[]){ 0.3, -1.2, 2, 0.3, -1.2, 2 }), *lanes[2];
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(hop_call(g, 1, &in, 2, want), HOP_OK);
	hop_fn_release(f);
	hop_fn_release(g);
	struct net n = { .how = FUNCTION, .opts = options[3] };
	f = captured(&n);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(count(g, "= call "), 4);
	assert_int_equal(count(g, "no_inline = true, no_fuse = true, unroll = 4, hints = "
	                       "\"tile=8,where=host\""), 4);
	assert_int_equal(hop_call(g, 1, &in, 2, got), HOP_OK);
	for (int i = 0; i < N; i++)
		assert_true(fabs(hop_array_at(got[1], i) - hop_array_at(want[1], i)) < 1e-12);
	assert_int_equal(hop_vmap(g, (bool[]){ true }, 2, &b), HOP_OK);
	assert_int_equal(count(b, "hints = \"tile=8,where=host\""), 4);
	assert_int_equal(hop_call(b, 1, &all, 2, lanes), HOP_OK);
	for (int i = 0; i < 2 * N; i++)
		assert_true(fabs(hop_array_at(lanes[1], i) - hop_array_at(want[1], i % N)) < 1e-12);
	for (int i = 0; i < 2; i++) {
		hop_array_release(want[i]);
		hop_array_release(got[i]);
		hop_array_release(lanes[i]);
	}
	hop_array_release(in);
	hop_array_release(all);
	hop_fn_release(f);
	hop_fn_release(g);
	hop_fn_release(b);
}

/* A loop that says how many steps it runs at a time is left as it says. */
static void test_otherwise(void **state)
{
	(void)state;
	struct net n = { .how = BLOCK, .opts = options[2], .unroll = 1 };
	hop_fn *f = captured(&n);
	assert_int_equal(count(f, "length = 5, every = 0, slots = 0, unroll = 1"), 1);
	hop_fn_release(f);
}

/* ---- what was compiled ---- */

static void test_parts(void **state)
{
	(void)state;
	NOT_ON_A_DEVICE("parts are kernels and lists");
	struct net n = { .how = FUNCTION, .opts = options[1] };
	hop_exec_part p[4];
	hop_fn *f = captured(&n);
	hop_exec *x;
	assert_int_equal(hop_compile(f, NULL, &x), HOP_OK);
	assert_int_equal(hop_exec_parts(x, 4, p), 2);
	assert_string_equal(p[0].name, "body");            /* captured without a name */
	assert_int_equal(p[0].calls, 0);
	assert_int_equal(p[0].nests, 1);                   /* the sum */
	assert_string_equal(p[1].name, "layer");
	assert_int_equal(p[1].calls, 2);
	assert_true(p[1].nests >= 3);                      /* tanh, sin and add */
	assert_true(p[0].seconds > 0 && p[1].seconds > 0);
	assert_int_equal(hop_exec_parts(x, 1, p), 2);
	assert_int_equal(hop_exec_parts(x, 0, NULL), 2);
	assert_int_equal(hop_exec_parts(NULL, 4, p), 0);
	assert_true(hop_exec_times(x).code_bytes > 0);
	hop_exec_release(x);
	hop_fn_release(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_transforms), cmocka_unit_test(test_otherwise),
		cmocka_unit_test(test_parts),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
