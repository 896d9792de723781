/* wrong_blocks.h -- every misuse of a block, for the test that it is refused and for the golden
 * file of what is said then. Which run refuses it stands in the table at the end. */
#ifndef WRONG_BLOCKS_H
#define WRONG_BLOCKS_H

#include "unit/trace_rig.h"

#define BODY(name) static void name(hop_trace *t, const hop_value *in, void *user)

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

BODY(slots_in_map)
{
	hop_value x = in[0];
	(void)user;
	HOP_MAP(t, i, 3)
		hop_slots(t, 3);
	hop_return(t, x);
}

BODY(slots_none)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x) {
		hop_slots(t, 0);
		x = hop_addf(t, x, 1);
	}
	hop_return(t, x);
}

BODY(slots_and_every)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x) {
		hop_every(t, 2);
		hop_slots(t, 3);
	}
	hop_return(t, x);
}

BODY(every_and_slots)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x) {
		hop_slots(t, 3);
		hop_every(t, 2);
	}
	hop_return(t, x);
}

BODY(unroll_in_map)
{
	(void)user;
	HOP_MAP(t, i, 3)
		hop_unroll(t, 2);
	hop_return(t, in[0]);
}

BODY(unroll_negative)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		hop_unroll(t, -2);
	hop_return(t, x);
}

BODY(chunk_in_for)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		hop_chunk(t, 2);
	hop_return(t, x);
}

BODY(chunk_negative)
{
	(void)user;
	HOP_MAP(t, i, 3)
		hop_chunk(t, -1);
	hop_return(t, in[0]);
}

BODY(stack_unbounded)
{
	hop_value x = in[0], ys = HOP_NONE;
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x) {
		hop_stack(t, &ys, x);
		x = hop_mulf(t, x, 2);
	}
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

BODY(lanes_in_for)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 3, x)
		hop_lanes(t, HOP_LANES_COMPACT);
	hop_return(t, x);
}

BODY(lanes_of_no_kind)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x) {
		hop_lanes(t, (enum hop_lanes_how)7);
		x = hop_addf(t, x, 1);
	}
	hop_return(t, x);
}

BODY(partition_in_while)
{
	hop_value x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 9)), x)
		hop_partition(t);
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

/* ---- hooks ---- */

BODY(break_hook)
{
	hop_value x = in[0];
	(void)user;
	HOP_HOOK(t, x, g) {
		g = hop_neg(t, g);
		break;
	}
	hop_return(t, x);
}

BODY(hook_of_whole)
{
	hop_value x = in[0], k = hop_cast(t, x, HOP_i64);
	(void)user;
	HOP_HOOK(t, k, g)
		g = hop_neg(t, g);
	hop_return(t, x);
}

BODY(hook_loses)
{
	hop_value x = in[0];
	(void)user;
	HOP_HOOK(t, x, g)
		g = HOP_NONE;
	hop_return(t, x);
}

BODY(hook_shortens)
{
	hop_value x = in[1];
	(void)user;
	HOP_HOOK(t, x, g)
		g = hop_sum_all(t, g);
	hop_return(t, x);
}

BODY(tell_in_if)
{
	hop_value x = in[0];
	(void)user;
	HOP_HOOK(t, x, g) {
		HOP_IF(t, hop_lt(t, g, hop_f(t, 0)))
			hop_tell(t, g, "g");
	}
	hop_return(t, x);
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

/* ---- which run refuses it ---- */

enum { CAPTURED = 1, EAGER = 2, TWICE = 4, ALL = 7 };

struct wrong_block {
	const char *name;
	hop_body   *f;
	int         by;
};
#define WRONG(f, by) { #f, f, by }
static const struct wrong_block wrong_blocks[] = {
	WRONG(break_while, ALL),
	WRONG(break_if, ALL),
	WRONG(break_for, ALL),
	WRONG(break_inner, ALL),
	WRONG(return_if, ALL),
	WRONG(goto_grad, ALL),
	WRONG(return_inside, ALL),
	WRONG(after_block, ALL),
	WRONG(next_trip, EAGER | TWICE),
	WRONG(silent, TWICE),
	WRONG(silent_number, TWICE),
	WRONG(inner_block, EAGER | TWICE),
	WRONG(other_dtype, ALL),
	WRONG(number_grows, ALL),
	WRONG(other_size, ALL),
	WRONG(arms_differ, CAPTURED | TWICE),
	WRONG(no_bool, ALL),
	WRONG(no_scalar, ALL),
	WRONG(no_value_before, ALL),
	WRONG(no_value_after, ALL),
	WRONG(one_arm, ALL),
	WRONG(test_assigns, ALL),
	WRONG(no_loss, ALL),
	WRONG(bad_count, ALL),
	WRONG(odd_count, ALL),
	WRONG(no_arms, ALL),
	WRONG(negative, ALL),
	WRONG(stack_in_if, ALL),
	WRONG(stack_twice, ALL),
	WRONG(bound_in_for, ALL),
	WRONG(every_in_while, ALL),
	WRONG(slots_in_map, ALL),
	WRONG(slots_none, ALL),
	WRONG(slots_and_every, ALL),
	WRONG(every_and_slots, ALL),
	WRONG(unroll_in_map, ALL),
	WRONG(unroll_negative, ALL),
	WRONG(chunk_in_for, ALL),
	WRONG(chunk_negative, ALL),
	WRONG(stack_unbounded, ALL),
	WRONG(trips_nowhere, ALL),
	WRONG(keep_in_for, ALL),
	WRONG(zero_bound, ALL),
	WRONG(lanes_in_for, ALL),
	WRONG(lanes_of_no_kind, ALL),
	WRONG(partition_in_while, ALL),
	WRONG(take_short, ALL),
	WRONG(take_scalar, ALL),
	WRONG(take_vector, ALL),
	WRONG(map_writes, ALL),
	WRONG(outer_in_function, ALL),
	WRONG(break_hook, CAPTURED | TWICE),
	WRONG(hook_of_whole, ALL),
	WRONG(hook_loses, CAPTURED | TWICE),
	WRONG(hook_shortens, CAPTURED | TWICE),
	WRONG(tell_in_if, CAPTURED | TWICE),
	WRONG(fails_inside, ALL),
};

/* One run: its status, with the message in the context. */
static inline hop_status wrong_run(const struct wrong_block *w, int by)
{
	double v[3] = { 1, 2, 3 }, one = 1;
	hop_array *in[2] = { num(one), vec(3, v) }, *out = NULL;
	hop_spec spec[2] = { spec_of(in[0]), spec_of(in[1]) };
	hop_fn *g = NULL;
	if (by == TWICE)
		setenv("HOP_CHECK", "blocks", 1);
	else
		unsetenv("HOP_CHECK");
	hop_status st = by == EAGER ? hop_eager_call(ctx, w->f, NULL, 2, in, 1, &out)
	                            : hop_capture(ctx, w->f, NULL, 2, spec, &g);
	unsetenv("HOP_CHECK");
	hop_fn_release(g);
	hop_array_release(out);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	return st;
}

#endif
