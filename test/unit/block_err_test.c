/* block_err_test.c -- every misuse of a block gives its message, captured and eagerly, and leaves
 * nothing behind: the sanitized build runs this, too. */
#include "trace_rig.h"

#define BODY(name) static void name(hop_trace *t, const hop_value *in, void *user)

/* What the message of a failing body must contain: captured, and eagerly if `eager` is set. */
static void refuses(hop_body *f, const char *captured, const char *eager)
{
	double v[3] = { 1, 2, 3 }, one = 1;
	hop_array *in[2] = { num(one), vec(3, v) }, *out[4] = { NULL };
	hop_spec spec[2] = { spec_of(in[0]), spec_of(in[1]) };
	hop_fn *g = NULL;
	if (captured) {
		hop_status st = hop_capture(ctx, f, NULL, 2, spec, &g);
		if (!st || g || !strstr(hop_message(ctx), captured))
			fail_msg("captured: status %d: %s\nwanted: %s", st, hop_message(ctx), captured);
	}
	if (eager) {
		hop_status st = hop_eager_call(ctx, f, NULL, 2, in, 1, out);
		if (!st || out[0] || !strstr(hop_message(ctx), eager))
			fail_msg("eager: status %d: %s\nwanted: %s", st, hop_message(ctx), eager);
	}
	hop_array_release(in[0]);
	hop_array_release(in[1]);
}

/* ---- ways out ---- */

BODY(break_while)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x) {
		x = hop_addf(t, x, 1);
		break;
	}
	hop_return(t, x);
}

BODY(break_if)
{
	hop_value x = in[0];
	(void)user;
	HOP_IF(t, hop_lt(t, x, hop_f(t, 9)), x)
		break;
	hop_return(t, x);
}

BODY(break_for)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x) {
		HOP_REGION(t, "r", x)
			x = hop_addf(t, x, 1);
		break;
	}
	hop_return(t, x);
}

BODY(break_inner)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		HOP_FOR(t, j, 3, y)
			break;
	hop_return(t, x);
}

static hop_value leaves(hop_trace *t, hop_value x)
{
	HOP_IF(t, hop_lt(t, x, hop_f(t, 9)), x)
		return hop_neg(t, x);
	return x;
}

BODY(return_if)
{
	(void)user;
	hop_return(t, leaves(t, in[0]));
}

BODY(goto_grad)
{
	hop_value x = in[0], l = HOP_NONE, g = HOP_NONE;
	(void)user;
	HOP_GRAD(t, l, 1, x, g) {
		HOP_FOR(t, i, 3, x)
			goto out;
	}
out:
	hop_return(t, x);
}

BODY(return_inside)
{
	hop_value x = in[0];
	(void)user;
	HOP_REGION(t, "r", x)
		hop_return(t, x);
}

static void ways_out(void **state)
{
	(void)state;
	refuses(break_while, "HOP_WHILE: the block was left by break", "HOP_WHILE: the block was left");
	refuses(break_if, "HOP_IF: the block was left by break", "HOP_IF: the block was left by break");
	refuses(break_for, "HOP_FOR: the block was left by break", "HOP_FOR: the block was left");
	refuses(break_inner, "HOP_FOR: the block was left by break", "HOP_FOR: the block was left");
	refuses(return_if, "HOP_IF: the block was left by return or goto", "left by return or goto");
	refuses(goto_grad, "HOP_FOR: the block was left by return or goto", "left by return or goto");
	refuses(return_inside, "return: it stands inside HOP_REGION", "it stands inside HOP_REGION");
}

/* ---- unlisted variables ---- */

BODY(after_block)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_IF(t, hop_lt(t, x, hop_f(t, 9)), x)
		y = hop_neg(t, x);
	hop_return(t, hop_add(t, x, y));
}

BODY(next_trip)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x) {
		x = hop_add(t, x, y);
		y = hop_mulf(t, y, 2);
	}
	hop_return(t, x);
}

/* Nothing that was made inside is kept: only two captures tell. */
BODY(silent)
{
	hop_value x = in[0], y = in[0], z = hop_mulf(t, in[0], 3);
	(void)user;
	HOP_FOR(t, i, 3, x) {
		x = hop_add(t, x, y);
		y = z;
	}
	hop_return(t, x);
}

BODY(silent_number)
{
	hop_value x = in[0];
	double k = 1;
	(void)user;
	HOP_FOR(t, i, 3, x) {
		x = hop_mulf(t, x, k);
		k += 1;
	}
	hop_return(t, x);
}

BODY(inner_block)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x) {
		HOP_IF(t, hop_lt(t, x, hop_f(t, 9)), y)
			y = hop_add(t, y, x);
		x = hop_add(t, x, y);
	}
	hop_return(t, x);
}

static void unlisted(void **state)
{
	(void)state;
	const char *made = "a value that was made inside HOP_WHILE is used after it, or in its next "
	                   "trip, but its variable is not listed there";
	unsetenv("HOP_CHECK");
	refuses(after_block, "made inside HOP_IF", "made inside HOP_IF");
	refuses(after_block, "note: this HOP_IF: list the variable here", NULL);
	refuses(next_trip, NULL, made);
	refuses(inner_block, NULL, "note: y is listed here");
	setenv("HOP_CHECK", "blocks", 1);
	refuses(next_trip, made, made);
	refuses(silent, "captured a second time, the block records something else", NULL);
	refuses(silent_number, "captured a second time", NULL);
	refuses(inner_block, "made inside HOP_FOR", "made inside HOP_FOR");
	setenv("HOP_CHECK", "jit", 1);
	hop_spec spec[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, silent, NULL, 2, spec, &f), HOP_OK);
	hop_fn_release(f);
	unsetenv("HOP_CHECK");
}

/* ---- types ---- */

BODY(other_dtype)
{
	hop_value x = in[0], k = hop_cast(t, in[0], HOP_f32);
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x, k) {
		x = hop_addf(t, x, 1);
		k = hop_mul(t, k, x);
	}
	hop_return(t, x);
}

BODY(number_grows)
{
	hop_value x = in[0], sum = hop_f(t, 0);
	(void)user;
	HOP_FOR(t, i, 3, sum)
		sum = hop_add(t, sum, x);
	hop_return(t, sum);
}

struct pair { hop_value first, rest[2]; };
HOP_TREE(pair_tree, struct pair, first, rest[2]);

BODY(other_size)
{
	struct pair p = { in[1], { in[1], in[1] } };
	(void)user;
	HOP_FOR_N(t, i, 3, pair_tree, &p)
		p.rest[1] = hop_narrow(t, p.rest[1], 0, 0, 1);
	hop_return(t, p.first);
}

BODY(arms_differ)
{
	struct pair p = { in[1], { in[1], in[1] } };
	(void)user;
	HOP_IF(t, hop_lt(t, in[0], hop_f(t, 9)), p.rest[0])
		p.rest[0] = in[0];
	hop_return(t, p.first);
}

BODY(no_bool)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, x, x)
		x = hop_addf(t, x, -1);
	hop_return(t, x);
}

BODY(no_scalar)
{
	hop_value x = in[1], l = HOP_NONE, g = HOP_NONE;
	(void)user;
	HOP_GRAD(t, l, 1, x, g)
		l = hop_mul(t, x, x);
	hop_return(t, l);
}

static void types(void **state)
{
	(void)state;
	refuses(other_dtype, "while: k is f32 when a step begins, f64 when it ends",
	        "while: k is f32 when a step begins, f64 when it ends");
	refuses(number_grows, "scan: sum is f32 when a step begins, f64 when it ends: it started as a "
	        "number: start with hop_scalar(t, HOP_f64, ..)", "start with hop_scalar(t, HOP_f64");
	refuses(other_size, "scan: rest[1] is f64[3] when a step begins, f64[1] when it ends: a carry "
	        "keeps its sizes", "scan: rest[1] is f64[3]");
	refuses(arms_differ, "cond: p.rest[0] is f64 in then, f64[3] in else", NULL);
	refuses(no_bool, "while: the test gives f64, a bool scalar it must be", "a bool scalar it must");
	refuses(no_scalar, "grad", "grad");
}

/* ---- values that are missing or in the wrong place ---- */

BODY(no_value_before)
{
	hop_value x = HOP_NONE;
	(void)user;
	HOP_WHILE(t, hop_lt(t, in[0], hop_f(t, 9)), x)
		x = in[0];
	hop_return(t, x);
}

BODY(no_value_after)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		x = HOP_NONE;
	hop_return(t, x);
}

BODY(one_arm)
{
	hop_value x = HOP_NONE;
	(void)user;
	HOP_IF(t, hop_gt(t, in[0], hop_f(t, 9)), x)
		x = in[0];
	hop_return(t, in[0]);
}

BODY(test_assigns)
{
	hop_value x = in[0], y = in[0];
	(void)user;
	HOP_WHILE(t, (y = hop_neg(t, x), hop_lt(t, y, hop_f(t, 9))), x, y)
		x = hop_addf(t, x, 1);
	hop_return(t, x);
}

BODY(no_loss)
{
	hop_value x = in[0], l = HOP_NONE, g = HOP_NONE;
	(void)user;
	HOP_GRAD(t, l, 1, x, g)
		x = hop_neg(t, x);
	hop_return(t, x);
}

BODY(bad_count)
{
	hop_value x = in[0], l = HOP_NONE, g = HOP_NONE;
	(void)user;
	HOP_GRAD(t, l, 2, x, g)
		l = x;
	hop_return(t, x);
}

BODY(odd_count)
{
	hop_value x = in[0], l = HOP_NONE, g = HOP_NONE, h = HOP_NONE;
	(void)user;
	HOP_GRAD(t, l, 1, x, g, h)
		l = x;
	hop_return(t, x);
}

BODY(no_arms)
{
	hop_value x = in[0];
	(void)user;
	HOP_SWITCH(t, hop_i(t, 0), 0, x) {
	default:
		x = hop_neg(t, x);
	}
	hop_return(t, x);
}

BODY(negative)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, -1, x)
		x = hop_neg(t, x);
	hop_return(t, x);
}

static void values(void **state)
{
	(void)state;
	refuses(no_value_before, "HOP_WHILE: x has no value before the block", "x has no value before");
	refuses(no_value_after, "HOP_FOR: x has no value when the block ends", "x has no value when");
	refuses(one_arm, "HOP_IF: x has no value at the end of else", "no value at the end of else");
	refuses(test_assigns, "HOP_WHILE: the test assigns y", "HOP_WHILE: the test assigns y");
	refuses(no_loss, "HOP_GRAD: the loss has no value", "HOP_GRAD: the loss has no value");
	refuses(bad_count, "HOP_GRAD: for 2 gradients there are 2 variables behind the count, not 4",
	        "HOP_GRAD: for 2 gradients");
	refuses(odd_count, "HOP_GRAD: there are 3 variables", "HOP_GRAD: there are 3 variables");
	refuses(no_arms, "switch: there is no branch", "switch: there is no branch");
	refuses(negative, "scan: length -1", "scan: length -1");
}

/* ---- what stands where it does not belong ---- */

BODY(stack_in_if)
{
	hop_value x = in[0], ys = HOP_NONE;
	(void)user;
	HOP_FOR(t, i, 3, x)
		HOP_IF(t, hop_lt(t, x, hop_f(t, 9)), x)
			hop_stack(t, &ys, x);
	hop_return(t, x);
}

BODY(stack_twice)
{
	hop_value x = in[0], ys = HOP_NONE;
	(void)user;
	HOP_MAP(t, i, 3) {
		hop_stack(t, &ys, x);
		hop_stack(t, &ys, x);
	}
	hop_return(t, x);
}

BODY(bound_in_for)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		hop_bound(t, 3);
	hop_return(t, x);
}

BODY(every_in_while)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x)
		hop_every(t, 3);
	hop_return(t, x);
}

BODY(trips_nowhere)
{
	hop_value n = HOP_NONE;
	(void)user;
	hop_trips(t, &n);
	hop_return(t, in[0]);
}

BODY(keep_in_for)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		hop_keep(t, &x, x);
	hop_return(t, x);
}

BODY(zero_bound)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x) {
		hop_bound(t, 0);
		x = hop_addf(t, x, 1);
	}
	hop_return(t, x);
}

BODY(take_short)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 4, x)
		x = hop_add(t, x, hop_take(t, in[1], i));
	hop_return(t, x);
}

BODY(take_scalar)
{
	(void)user;
	hop_return(t, hop_take(t, in[0], hop_i(t, 0)));
}

BODY(take_vector)
{
	(void)user;
	hop_return(t, hop_take(t, in[1], hop_cast(t, in[1], HOP_i64)));
}

BODY(map_writes)
{
	hop_value buf = hop_clone(t, in[0]);
	(void)user;
	HOP_MAP(t, i, 3)
		hop_add_(t, buf, hop_f(t, 1));
	hop_return(t, buf);
}

static hop_trace *outer;

BODY(uses_outer)
{
	(void)t;
	(void)user;
	hop_return(outer, hop_neg(outer, in[0]));
}

BODY(outer_in_function)
{
	hop_value x = in[0];
	(void)user;
	outer = t;
	HOP_FOR(t, i, 3, x)
		hop_cond(t, hop_lt(t, x, hop_f(t, 9)), uses_outer, uses_outer, NULL, 1, &x, 1, &x);
	hop_return(t, x);
}

static void places(void **state)
{
	(void)state;
	refuses(stack_in_if, "stack: it belongs directly into HOP_FOR or HOP_MAP, this is HOP_IF",
	        "this is HOP_IF");
	refuses(stack_twice, "stack: two stacks for one variable", "two stacks for one variable");
	refuses(bound_in_for, "bound: it belongs directly into HOP_WHILE, this is HOP_FOR",
	        "this is HOP_FOR");
	refuses(every_in_while, "every: it belongs directly into HOP_FOR, this is HOP_WHILE",
	        "this is HOP_WHILE");
	refuses(trips_nowhere, "trips: it belongs directly into a loop", "directly into a loop");
	refuses(keep_in_for, "keep: it belongs directly into HOP_GRAD, this is HOP_FOR",
	        "this is HOP_FOR");
	refuses(zero_bound, "bound: 0 trips", "bound: 0 trips");
	refuses(take_short, "take: f64[3] is shorter than its loop, of length 4", "of length 4");
	refuses(take_scalar, "take: f64 has no axis to take from", "no axis to take from");
	refuses(take_vector, "take: the index is i64[3], not a scalar", "not a scalar");
	refuses(map_writes, "map: a captured tensor is written in HOP_MAP", "is written in HOP_MAP");
	refuses(outer_in_function, "this trace is not the innermost one", "is not the innermost one");
}

/* ---- failures end every loop, and what is open is found ---- */

BODY(fails_inside)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 1e9)), x)
		HOP_FOR(t, i, 1000000, x)
			x = hop_add(t, x, hop_matmul(t, in[1], in[0]));
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 1e9)), x)
		x = in[0];
	hop_return(t, x);
}

static void failures_end_loops(void **state)
{
	(void)state;
	refuses(fails_inside, "note: in HOP_FOR", "note: in HOP_FOR");
	refuses(fails_inside, "note: in HOP_WHILE", "note: in HOP_WHILE");
}

static void left_open(void **state)
{
	(void)state;
	hop_trace *t;
	hop_value x;
	assert_int_equal(hop_eager_new(ctx, &t), HOP_OK);
	x = hop_f(t, 1);
	hop_at_block b = hop_block_region(t, __FILE__, __LINE__, "r", "\"r\", x", 1, &x);
	assert_true(hop_block_step(&b));
	assert_int_equal(hop_eager_free(t), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "it ends inside HOP_REGION"));
}

/* Calls of the macros that no macro makes. */
static void calls_alone(void **state)
{
	(void)state;
	hop_at_block b = { NULL };
	hop_value i = HOP_NONE;
	assert_false(hop_block_step(&b));
	assert_false(hop_block_more(&b));
	assert_false(hop_block_test(&b, i));
	assert_false(hop_block_index(&b, &i));
	assert_int_equal(hop_block_arm(&b), 0);
	hop_block_done(&b);
	hop_block_leave(&b);
	b = hop_block_while(NULL, __FILE__, __LINE__, "", 0);
	assert_null(b.s);
}

/* ---- no memory ---- */

struct meter { long calls, bad, live; };

static void *metered(void *user, void *p, size_t osize, size_t nsize)
{
	struct meter *m = user;
	if (nsize && m->calls++ == m->bad)
		return NULL;
	m->live += (long)nsize - (p ? (long)osize : 0);
	if (nsize)
		return realloc(p, nsize);
	free(p);
	return NULL;
}

BODY(every_block)
{
	struct pair p = { in[0], { in[0], in[0] } };
	hop_value x = in[0], y = in[0], l = HOP_NONE, g = HOP_NONE, ys = HOP_NONE, zs = HOP_NONE;
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 4)), x, y) {
		HOP_IF(t, hop_lt(t, x, y), x)
			x = hop_mulf(t, x, 2);
		else
			x = hop_addf(t, x, 1);
	}
	HOP_FOR(t, i, 2, x) {
		x = hop_add(t, x, hop_take(t, in[1], i));
		hop_stack(t, &ys, x);
	}
	HOP_MAP(t, i, 2)
		hop_stack(t, &zs, hop_take(t, ys, i));
	HOP_GRAD(t, l, 1, x, g) {
		HOP_REGION_N(t, "r", pair_tree, &p)
			p.first = hop_mul(t, x, x);
		l = p.first;
	}
	hop_return(t, hop_add(t, g, hop_sum_all(t, zs)));
}

static hop_status try_all(struct meter *m, bool eager)
{
	hop_ctx *c;
	hop_array *in[2] = { 0 }, *out = NULL;
	hop_fn *f = NULL;
	double v[3] = { 1, 2, 3 };
	int64_t n = 3;
	hop_spec spec[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	hop_status st = hop_ctx_new(HOP_CTX_OPTS(.alloc = metered, .user = m), &c);
	if (st)
		return st;
	st = hop_array_new(c, HOP_f64, 0, NULL, v, &in[0]);
	if (!st)
		st = hop_array_new(c, HOP_f64, 1, &n, v, &in[1]);
	if (!st)
		st = eager ? hop_eager_call(c, every_block, NULL, 2, in, 1, &out)
		           : hop_capture(c, every_block, NULL, 2, spec, &f);
	if (!st && eager)
		assert_true(hop_array_at(out, 0) == 14 + 12);
	hop_array_release(out);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	hop_ctx_free(c);
	return st;
}

static void no_memory(void **state)
{
	(void)state;
	for (int eager = 0; eager < 2; eager++)
		for (long bad = 0; ; bad++) {
			struct meter m = { .bad = bad };
			hop_status st = try_all(&m, eager);
			if (m.live)
				fail_msg("allocation %ld failing leaks %ld bytes", bad, m.live);
			if (st && st != HOP_ENOMEM)
				fail_msg("allocation %ld failing gives status %d", bad, st);
			if (!st && m.calls <= bad)
				break;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_out),
		cmocka_unit_test(unlisted),
		cmocka_unit_test(types),
		cmocka_unit_test(values),
		cmocka_unit_test(places),
		cmocka_unit_test(failures_end_loops),
		cmocka_unit_test(left_open),
		cmocka_unit_test(calls_alone),
		cmocka_unit_test(no_memory),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
