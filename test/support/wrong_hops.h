/* wrong_hops.h -- operators with bodies, called wrongly: a body for each mistake, with words of the
 * message that it must give. Constructors without bodies are in wrong_calls.h. */
#ifndef WRONG_HOPS_H
#define WRONG_HOPS_H

#include "unit/trace_rig.h"

#include <limits.h>

enum { X, S, K, P, Q, NIN };           /* f64[3], f64, i64 of 2, false, true */

#define BODY(name, ...) \
	static void name(hop_trace *t, const hop_value *in, void *user) \
	{ (void)t, (void)in, (void)user; hop_value out[4] = { { 0, 0 } }; (void)out; __VA_ARGS__; }

/* ---- bodies to give ---- */

static const hop_value unset = { 0, 0 };
static hop_value *outside;             /* a value of the trace around */

BODY(same_, hop_return(t, in[0]))
BODY(both_, hop_return(t, in[0], in[1]))
BODY(none_, hop_return_n(t, 0, NULL))
BODY(twice_two_, hop_return(t, in[0], in[0]))
BODY(half_, hop_return(t, hop_mulf(t, in[0], 0.5)))
BODY(never_, hop_return(t, hop_lt(t, hop_f(t, 1), hop_f(t, 0))))
BODY(always_, hop_return(t, hop_lt(t, hop_f(t, 0), hop_f(t, 1))))
BODY(twice_, hop_return(t, in[0]); hop_return(t, in[0]))
BODY(forgets_, hop_sin(t, in[0]))
BODY(short_, hop_return(t, hop_narrow(t, in[0], 0, 0, 2)))
BODY(whole_, hop_return(t, hop_cast(t, in[0], HOP_i64)))
BODY(total_, hop_return(t, hop_sum_all(t, in[0])))
BODY(pi_, hop_return(t, hop_f(t, 3.14)))
BODY(writes_, hop_add_(t, *outside, *outside); hop_return(t, in[0]))
BODY(writes_sum_, hop_add_(t, *outside, *outside); hop_return(t, hop_sum_all(t, in[0])))
BODY(uses_outer_, hop_return(t, hop_sin(user, in[0])))
#define RULE(...) { .size = sizeof(hop_custom_rule), __VA_ARGS__ }
static const hop_custom_rule no_fwd = RULE(.bwd = same_), no_bwd = RULE(.fwd = same_),
	rule = RULE(.fwd = same_, .bwd = same_), rule_writes = RULE(.fwd = writes_, .bwd = same_),
	two_ways = RULE(.fwd = same_, .bwd = same_, .batch = same_, .lanewise = true);
#undef RULE

/* ---- wrong calls ---- */

#define OUT 4, out
#define DONE hop_return(t, out[0])

BODY(cond_then_false, hop_cond(t, in[P], NULL, same_, NULL, 1, in, OUT); DONE)
BODY(cond_then_true, hop_cond(t, in[Q], NULL, same_, NULL, 1, in, OUT); DONE)
BODY(cond_else_false, hop_cond(t, in[P], same_, NULL, NULL, 1, in, OUT); DONE)
BODY(cond_else_true, hop_cond(t, in[Q], same_, NULL, NULL, 1, in, OUT); DONE)
BODY(sized_else, hop_cond_sized(t, in[Q], same_, NULL, NULL, 1, in, OUT); DONE)
BODY(exact_then, hop_cond_exact(t, in[P], NULL, same_, NULL, 1, in, OUT); DONE)
BODY(exact_room, hop_cond_exact(t, in[Q], both_, both_, NULL, 2, in, 1, out); DONE)
BODY(cond_many, hop_cond(t, in[X], same_, same_, NULL, 1, in, OUT); DONE)
BODY(cond_unset, hop_cond(t, unset, same_, same_, NULL, 1, in, OUT); DONE)
BODY(cond_count, hop_cond(t, in[Q], same_, same_, NULL, -1, in, OUT); DONE)
BODY(cond_list, hop_cond(t, in[Q], same_, same_, NULL, 1, NULL, OUT); DONE)
BODY(cond_cap, hop_cond(t, in[Q], same_, same_, NULL, 1, in, -1, out); DONE)
BODY(cond_out, hop_cond(t, in[Q], same_, same_, NULL, 1, in, 1, NULL); DONE)
BODY(cond_room, hop_cond(t, in[Q], both_, both_, NULL, 2, in, 1, out); DONE)
BODY(cond_value, hop_cond(t, in[Q], pi_, pi_, NULL, 1, &unset, OUT); DONE)
BODY(cond_twice, hop_cond(t, in[Q], twice_, twice_, NULL, 1, in, OUT); DONE)
BODY(cond_forgets, hop_cond(t, in[Q], forgets_, forgets_, NULL, 1, in, OUT); DONE)
BODY(cond_outer, hop_cond(t, in[Q], uses_outer_, uses_outer_, t, 1, in, OUT); DONE)

static hop_body *const same3[3] = { same_, same_, same_ }, *const hole3[3] = { same_, same_, NULL };
BODY(switch_none, hop_switch(t, in[K], 0, same3, NULL, 1, in, OUT); DONE)
BODY(switch_minus, hop_switch(t, in[K], INT_MIN, same3, NULL, 1, in, OUT); DONE)
BODY(sized_none, hop_switch_sized(t, in[K], 0, same3, NULL, 1, in, OUT); DONE)
BODY(sized_hole, hop_switch_exact(t, hop_i(t, 0), 3, hole3, NULL, 1, in, OUT); DONE)
BODY(switch_null, hop_switch(t, in[K], 3, NULL, NULL, 1, in, OUT); DONE)
BODY(switch_hole, hop_switch(t, hop_i(t, 0), 3, hole3, NULL, 1, in, OUT); DONE)
BODY(switch_float, hop_switch(t, in[S], 3, same3, NULL, 1, in, OUT); DONE)
BODY(switch_many, hop_value k = hop_cast(t, in[X], HOP_i64);
     hop_switch(t, k, 3, same3, NULL, 1, in, OUT); DONE)
BODY(switch_unset, hop_switch(t, unset, 3, same3, NULL, 1, in, OUT); DONE)
BODY(switch_list, hop_switch(t, in[K], 3, same3, NULL, 1, NULL, OUT); DONE)
BODY(switch_twice, hop_body *const b[2] = { twice_, twice_ };
     hop_switch(t, in[K], 2, b, NULL, 1, in, OUT); DONE)
BODY(map_fn, hop_map(t, NULL, NULL, 1, in, 0, OUT); DONE)
BODY(map_none, hop_map(t, pi_, NULL, 0, NULL, 0, OUT); DONE)
BODY(map_count, hop_map(t, same_, NULL, -1, in, 0, OUT); DONE)
BODY(map_list, hop_map(t, same_, NULL, 1, NULL, 0, OUT); DONE)
BODY(map_axis, hop_map(t, same_, NULL, 1, in, 1, OUT); DONE)
BODY(map_scalar, hop_map(t, same_, NULL, 1, &in[S], 0, OUT); DONE)
BODY(map_room, hop_map(t, same_, NULL, 1, in, 0, 0, NULL); DONE)
BODY(map_value, hop_map(t, same_, NULL, 1, &unset, 0, OUT); DONE)
BODY(map_sizes, hop_value two = hop_narrow(t, in[X], 0, 0, 2);
     hop_map(t, both_, NULL, 2, (hop_value[]){ in[X], two }, 0, OUT); DONE)
BODY(map_writes, hop_value w = hop_clone(t, in[X]); outside = &w;
     hop_map(t, writes_, NULL, 1, in, 0, OUT); DONE)
BODY(stops_, hop_stop_if(t, hop_lt(t, in[0], hop_f(t, 0))); hop_return(t, in[0]))
BODY(first_sum_, hop_return(t, hop_sum_all(t, in[0])))
BODY(prints_, hop_print(t, "{}", 1, in); hop_return(t, in[0]))
#define ASSOC(f, nx, xs, ...) \
	hop_associative_scan(t, f, NULL, nx, xs, HOP_ASSOC_OPTS(__VA_ARGS__), out); DONE
BODY(assoc_fn, ASSOC(NULL, 1, in, .axis = 0))
BODY(assoc_none, ASSOC(same_, 0, in, .axis = 0))
BODY(assoc_list, ASSOC(same_, 1, NULL, .axis = 0))
BODY(assoc_axis, ASSOC(same_, 1, in, .axis = 1))
BODY(assoc_scalar, ASSOC(same_, 1, &in[S], .axis = 0))
BODY(assoc_value, ASSOC(same_, 1, &unset, .axis = 0))
BODY(assoc_sizes, hop_value two[2] = { in[X], hop_narrow(t, in[X], 0, 0, 2) };
     ASSOC(both_, 2, two, .axis = 0))
BODY(assoc_init, ASSOC(same_, 1, in, .exclusive = true))
BODY(assoc_init_type, ASSOC(same_, 1, in, .init = in))
BODY(assoc_init_value, ASSOC(same_, 1, in, .init = &unset))
BODY(assoc_many, ASSOC(both_, 1, in, .axis = 0))
BODY(assoc_type, ASSOC(whole_, 1, in, .axis = 0))
BODY(assoc_shape, hop_value m = hop_expand(t, hop_unsqueeze(t, in[X], 0), 2,
     (hop_dim[]){ hop_n(2), hop_n(3) }); ASSOC(first_sum_, 1, &m, .axis = 0))
BODY(assoc_writes, hop_value w = hop_clone(t, in[X]); outside = &w;
     ASSOC(writes_, 1, in, .axis = 0))
BODY(assoc_prints, ASSOC(prints_, 1, in, .axis = 0))
BODY(assoc_stops, ASSOC(stops_, 1, in, .axis = 0))
BODY(reduce_list, hop_reduce_with(t, same_, NULL, 1, NULL, in, 0, out); DONE)
BODY(reduce_axis, hop_reduce_with(t, same_, NULL, 1, &in[S], in, 2, out); DONE)
BODY(reduce_init, hop_reduce_with(t, same_, NULL, 1, &in[K], in, 0, out); DONE)
BODY(reduce_type, hop_reduce_with(t, whole_, NULL, 1, &in[S], in, 0, out); DONE)
#undef ASSOC
BODY(map_stops, hop_map(t, stops_, NULL, 1, in, 0, OUT); DONE)

BODY(region_fn, hop_region(t, "r", NULL, NULL, 1, in, OUT); DONE)
BODY(region_count, hop_region(t, "r", same_, NULL, INT_MIN, in, OUT); DONE)
BODY(region_list, hop_region(t, "r", same_, NULL, 1, NULL, OUT); DONE)
BODY(region_room, hop_region(t, "r", same_, NULL, 1, in, 0, NULL); DONE)
static const hop_checkpoint_opts ck_no_size, ck_word = { .size = sizeof ck_word, .must_save = "sine" },
	ck_twice = { .size = sizeof ck_twice, .must_save = "sin", .prefer_save = "sin" },
	ck_share = { .size = sizeof ck_share, .budget = -0.5 },
	ck_pack = { .size = sizeof ck_pack, .pack = same_ };
BODY(ck_fn, hop_checkpoint(t, NULL, NULL, NULL, 1, in, OUT); DONE)
BODY(ck_count, hop_checkpoint(t, same_, NULL, NULL, INT_MIN, in, OUT); DONE)
BODY(ck_list, hop_checkpoint(t, same_, NULL, NULL, 1, NULL, OUT); DONE)
BODY(ck_room, hop_checkpoint(t, same_, NULL, NULL, 1, in, 0, NULL); DONE)
BODY(ck_value, hop_checkpoint(t, pi_, NULL, NULL, 1, &unset, OUT); DONE)
BODY(ck_opts, hop_checkpoint(t, same_, NULL, &ck_no_size, 1, in, OUT); DONE)
BODY(ck_words, hop_checkpoint(t, same_, NULL, &ck_word, 1, in, OUT); DONE)
BODY(ck_both, hop_checkpoint(t, same_, NULL, &ck_twice, 1, in, OUT); DONE)
BODY(ck_budget, hop_checkpoint(t, same_, NULL, &ck_share, 1, in, OUT); DONE)
BODY(ck_alone, hop_checkpoint(t, same_, NULL, &ck_pack, 1, in, OUT); DONE)
BODY(name_none, hop_return(t, hop_name(t, in[0], NULL)))
BODY(name_comma, hop_return(t, hop_name(t, in[0], "a,b")))
BODY(name_how, hop_return(t, hop_name_as(t, in[0], "a", (hop_saving)7)))
BODY(name_unset, hop_return(t, hop_name(t, unset, "a")))
BODY(pack_none, hop_return(t, hop_pack(t, in[0], NULL, same_, NULL)))
BODY(pack_unset, hop_return(t, hop_pack(t, unset, same_, same_, NULL)))
BODY(keyed_fn, hop_region_keyed(t, "r", NULL, NULL, NULL, 1, in, OUT); DONE)
BODY(keyed_count, hop_region_keyed(t, "r", same_, NULL, NULL, -1, in, OUT); DONE)
BODY(keyed_list, hop_region_keyed(t, "r", same_, NULL, NULL, 1, NULL, OUT); DONE)
BODY(keyed_room, hop_region_keyed(t, "r", same_, NULL, NULL, 1, in, 0, NULL); DONE)
BODY(keyed_value, hop_region_keyed(t, "r", pi_, NULL, NULL, 1, &unset, OUT); DONE)
BODY(keyed_writes, outside = (hop_value *)(uintptr_t)&in[X];
     hop_region_keyed(t, "r", writes_, NULL, NULL, 1, in, OUT); DONE)
static const hop_region_opts no_size = { .check = true };
BODY(keyed_opts, hop_region_keyed(t, "r", same_, NULL, &no_size, 1, in, OUT); DONE)
BODY(with_fn, hop_region_with(t, "r", NULL, NULL, NULL, 1, in, OUT); DONE)
BODY(with_count, hop_region_with(t, "r", same_, NULL, NULL, -1, in, OUT); DONE)
BODY(with_list, hop_region_with(t, "r", same_, NULL, NULL, 1, NULL, OUT); DONE)
BODY(with_room, hop_region_with(t, "r", same_, NULL, NULL, 1, in, 0, NULL); DONE)
BODY(with_value, hop_region_with(t, "r", pi_, NULL, NULL, 1, &unset, OUT); DONE)
BODY(with_opts, hop_region_with(t, "r", same_, NULL, &no_size, 1, in, OUT); DONE)
static const hop_region_opts unrolled_less = { .size = sizeof unrolled_less, .unroll = -3 };
BODY(with_unroll, hop_region_with(t, "r", same_, NULL, &unrolled_less, 1, in, OUT); DONE)
BODY(keyed_unroll, hop_region_keyed(t, "r", same_, NULL, &unrolled_less, 1, in, OUT); DONE)
static const hop_region_opts key_check = { .size = sizeof key_check, .check = true };
BODY(with_check, hop_region_with(t, "r", same_, NULL, &key_check, 1, in, OUT); DONE)
static const hop_region_opts key_static = { .size = sizeof key_static,
	                                        .statics = { HOP_STATIC(&key_check, sizeof key_check) } };
BODY(with_static, hop_region_with(t, "r", same_, NULL, &key_static, 1, in, OUT); DONE)
BODY(region_value, hop_region(t, "r", pi_, NULL, 1, &unset, OUT); DONE)

BODY(while_test, hop_while(t, NULL, same_, NULL, 1, in, NULL, out, NULL); DONE)
BODY(while_body, hop_while(t, never_, NULL, NULL, 1, in, NULL, out, NULL); DONE)
BODY(while_count, hop_while(t, never_, same_, NULL, -1, in, NULL, out, NULL); DONE)
BODY(while_init, hop_while(t, never_, same_, NULL, 1, NULL, NULL, out, NULL); DONE)
BODY(while_out, hop_while(t, never_, same_, NULL, 1, in, NULL, NULL, NULL); DONE)
BODY(while_value, hop_while(t, never_, same_, NULL, 1, &unset, NULL, out, NULL); DONE)
BODY(while_float, hop_while(t, pi_, same_, NULL, 1, in, NULL, out, NULL); DONE)
BODY(while_two, hop_while(t, both_, both_, NULL, 2, in, NULL, out, NULL); DONE)
BODY(while_none, hop_while(t, none_, same_, NULL, 1, in, NULL, out, NULL); DONE)
BODY(while_vector, hop_while(t, same_, same_, NULL, 1, in, NULL, out, NULL); DONE)
BODY(while_few, hop_while(t, always_, none_, NULL, 1, in, NULL, out, NULL); DONE)
BODY(while_short, hop_while(t, always_, short_, NULL, 1, in, NULL, out, NULL); DONE)
BODY(while_dtype, hop_while(t, always_, whole_, NULL, 1, in, NULL, out, NULL); DONE)
static const hop_while_opts negative = { .size = sizeof negative, .max_trips = -1 };
static const hop_while_opts fewer = { .size = sizeof fewer, .slots = -1 };
struct pair { hop_value a, b; };
HOP_TREE(pair_tree, struct pair, a, b);
static const hop_while_opts named = { .size = sizeof named, .carry = &pair_tree };
BODY(while_trips, hop_while(t, never_, same_, NULL, 1, in, &negative, out, NULL); DONE)
BODY(while_slots, hop_while(t, never_, same_, NULL, 1, in, &fewer, out, NULL); DONE)
BODY(while_tree, hop_while(t, never_, same_, NULL, 1, in, &named, out, NULL); DONE)

#define SCAN(name, fn, nc, init, nx, xs, cap, ...) \
	BODY(name, hop_scan_opts o = { .size = sizeof o, __VA_ARGS__ }; \
	     hop_scan(t, fn, NULL, nc, init, nx, xs, &o, cap, out, NULL); DONE)
#define LEN(n) .has_length = true, .length = { n, NULL }
SCAN(scan_fn, NULL, 1, in, 0, NULL, 4, LEN(2))
SCAN(scan_fn_none, NULL, 1, in, 0, NULL, 4, LEN(0))
SCAN(scan_ncarry, same_, -1, in, 0, NULL, 4, LEN(2))
SCAN(scan_nx, same_, 1, in, -1, in, 4, LEN(2))
SCAN(scan_init, same_, 1, NULL, 0, NULL, 4, LEN(2))
SCAN(scan_xs, same_, 1, in, 1, NULL, 4, LEN(2))
SCAN(scan_cap, same_, 1, in, 0, NULL, -1, LEN(2))
SCAN(scan_room, both_, 1, in, 1, in, 1, .axis = 0)
SCAN(scan_no_length, same_, 1, in, 0, NULL, 4, .axis = 0)
SCAN(scan_negative, same_, 1, in, 0, NULL, 4, LEN(-1))
SCAN(scan_huge, same_, 1, in, 0, NULL, 4, LEN(INT64_MAX))
SCAN(scan_lengths, same_, 1, in, 1, in, 4, LEN(2))
SCAN(scan_axis, both_, 1, in, 1, in, 4, .axis = 1)
SCAN(scan_axis_back, both_, 1, in, 1, in, 4, .axis = -2)
SCAN(scan_axis_none, both_, 2, in, 0, NULL, 4, LEN(2), .axis = -1)
SCAN(scan_scalar, both_, 1, in, 1, &in[S], 4, .axis = 0)
SCAN(scan_every, same_, 1, in, 0, NULL, 4, LEN(2), .every = -2)
SCAN(scan_slots, same_, 1, in, 0, NULL, 4, LEN(2), .slots = -1)
SCAN(scan_slots_every, same_, 1, in, 0, NULL, 4, LEN(2), .slots = 3, .every = 2)
SCAN(scan_every_min, same_, 1, in, 0, NULL, 4, LEN(2), .every = INT_MIN)
SCAN(scan_count_float, same_, 1, in, 0, NULL, 4, LEN(2), .counted = true, .count = in[S])
SCAN(scan_count_bool, same_, 1, in, 0, NULL, 4, LEN(2), .counted = true, .count = in[Q])
SCAN(scan_count_vector, same_, 1, in, 0, NULL, 4, LEN(2), .counted = true,
     .count = hop_cast(t, in[X], HOP_i64))
SCAN(scan_count_unset, same_, 1, in, 0, NULL, 4, LEN(2), .counted = true)
SCAN(scan_tree, same_, 1, in, 0, NULL, 4, LEN(2), .carry = &pair_tree)
SCAN(scan_tree_x, both_, 1, in, 1, in, 4, .x = &pair_tree)
SCAN(scan_value, same_, 1, &unset, 0, NULL, 4, LEN(2))
SCAN(scan_x_value, both_, 1, in, 1, &unset, 4, .axis = 0)
SCAN(scan_few, none_, 1, in, 0, NULL, 4, LEN(2))
SCAN(scan_short, short_, 1, in, 0, NULL, 4, LEN(2))

BODY(custom_rule, hop_custom(t, NULL, NULL, 1, in, OUT); DONE)
BODY(custom_fwd, hop_custom(t, &no_fwd, NULL, 1, in, OUT); DONE)
BODY(custom_bwd, hop_custom(t, &no_bwd, NULL, 1, in, OUT); DONE)
BODY(custom_count, hop_custom(t, &rule, NULL, -1, in, OUT); DONE)
BODY(custom_list, hop_custom(t, &rule, NULL, 1, NULL, OUT); DONE)
BODY(custom_room, hop_custom(t, &rule, NULL, 1, in, 0, NULL); DONE)
BODY(custom_value, hop_custom(t, &rule, NULL, 1, &unset, OUT); DONE)
BODY(custom_ways, hop_custom(t, &two_ways, NULL, 1, in, OUT); DONE)
BODY(nondiff_place, hop_nondiff(t, 1, in); hop_return(t, in[X]))
BODY(give_place, hop_give_grad(t, in[X], in[X]); hop_return(t, in[X]))
BODY(tangent_place, out[0] = hop_tangent_of(t, in[X]); DONE)
BODY(custom_writes, hop_value w = hop_clone(t, in[X]); outside = &w;
     hop_custom(t, &rule_writes, NULL, 1, in, OUT); DONE)

/* solvers to give: info that is no number of iterations, too few values, of another type */
BODY(info_float_, hop_return(t, in[0], hop_f(t, 0)))
BODY(info_many_, hop_return(t, in[0], hop_i(t, 0), hop_i(t, 0)))
BODY(square_, hop_return(t, hop_mul(t, in[0], in[0])))
BODY(plus_one_, hop_return(t, hop_addf(t, in[0], 1)))
BODY(add_outside_, hop_return(t, hop_add(t, in[0], *outside)))
#define IMPLICIT(name, call, fn, n, x0, ...) \
	BODY(name, hop_implicit_opts o = { .size = sizeof o, __VA_ARGS__ }; \
	     call(t, fn, NULL, n, x0, &o, out, NULL); DONE)
IMPLICIT(root_fn, hop_root, NULL, 1, in, .restart = 0)
IMPLICIT(root_count, hop_root, half_, 0, in, .restart = 0)
IMPLICIT(root_list, hop_root, half_, 1, NULL, .restart = 0)
BODY(root_out, hop_root(t, half_, NULL, 1, in, NULL, NULL, NULL); DONE)
IMPLICIT(root_value, hop_root, half_, 1, &unset, .restart = 0)
IMPLICIT(root_whole, hop_root, half_, 1, &in[K], .restart = 0)
IMPLICIT(root_few, hop_root, none_, 1, in, .restart = 0)
IMPLICIT(root_short, hop_root, short_, 1, in, .restart = 0)
IMPLICIT(root_dtype, hop_root, whole_, 1, in, .restart = 0)
IMPLICIT(root_tolerance, hop_root, half_, 1, in, .tolerance = -1)
IMPLICIT(root_iterations, hop_root, half_, 1, in, .max_iterations = -1)
IMPLICIT(root_restart, hop_root, half_, 1, in, .restart = -1)
IMPLICIT(root_linear, hop_root, half_, 1, in, .linear = 9)
IMPLICIT(root_cg, hop_root, half_, 1, in, .linear = HOP_LINEAR_CG)
IMPLICIT(root_solve_none, hop_root, half_, 1, in, .solve = none_)
IMPLICIT(root_solve_short, hop_root, half_, 1, in, .solve = short_)
IMPLICIT(root_solve_info, hop_root, half_, 1, in, .solve = info_float_)
IMPLICIT(root_solve_many, hop_root, half_, 1, in, .solve = info_many_)
IMPLICIT(root_tangent_short, hop_root, half_, 1, in, .tangent = short_)
IMPLICIT(root_cotangent_info, hop_root, half_, 1, in, .cotangent = info_float_)
BODY(root_writes, hop_value w = hop_clone(t, in[X]); outside = &w;
     hop_root(t, writes_, NULL, 1, in, NULL, out, NULL); DONE)
BODY(root_solve_writes, hop_value w = hop_clone(t, in[X]); outside = &w;
     hop_root(t, half_, NULL, 1, in, HOP_IMPLICIT_OPTS(.solve = writes_), out, NULL); DONE)
IMPLICIT(fixed_fn, hop_fixed_point, NULL, 1, in, .restart = 0)
IMPLICIT(fixed_short, hop_fixed_point, short_, 1, in, .restart = 0)
IMPLICIT(least_vector, hop_minimize, half_, 1, in, .restart = 0)
IMPLICIT(least_two, hop_minimize, both_, 2, in, .restart = 0)
IMPLICIT(linear_square, hop_linear_solve, square_, 1, in, .restart = 0)
IMPLICIT(linear_plus, hop_linear_solve, plus_one_, 1, in, .restart = 0)
BODY(linear_outside, hop_value w = in[X]; outside = &w;
     hop_linear_solve(t, add_outside_, NULL, 1, in, NULL, out, NULL); DONE)
IMPLICIT(linear_tangent, hop_linear_solve, half_, 1, in, .tangent = half_)
#define TURN(name, fn, nct, ct) \
	BODY(name, hop_linear_transpose_at(t, fn, NULL, 1, in, 1, (int[]){ 0 }, nct, ct, OUT); DONE)
TURN(turn_fn, NULL, 1, in)
TURN(turn_square, square_, 1, in)
TURN(turn_plus, plus_one_, 1, in)
TURN(turn_whole, whole_, 1, in)
TURN(turn_none, half_, 1, NULL)
TURN(turn_few, half_, 0, NULL)
TURN(turn_shape, half_, 1, &in[S])

#define WRT(...) (int[]){ __VA_ARGS__ }
BODY(grad_fn, hop_grad_at(t, NULL, NULL, 1, in, 1, WRT(0), OUT); DONE)
BODY(grad_twice, hop_grad_at(t, total_, NULL, 1, in, 2, WRT(0, 0), OUT); DONE)
BODY(grad_wrt, hop_grad_at(t, total_, NULL, 1, in, 1, WRT(1), OUT); DONE)
BODY(grad_wrt_back, hop_grad_at(t, total_, NULL, 1, in, 1, WRT(-1), OUT); DONE)
BODY(grad_whole, hop_grad_at(t, total_, NULL, 1, &in[K], 1, WRT(0), OUT); DONE)
BODY(grad_count, hop_grad_at(t, total_, NULL, 1, in, -1, WRT(0), OUT); DONE)
BODY(grad_list, hop_grad_at(t, total_, NULL, 1, in, 1, NULL, OUT); DONE)
BODY(grad_in, hop_grad_at(t, total_, NULL, 1, NULL, 1, WRT(0), OUT); DONE)
BODY(grad_nin, hop_grad_at(t, total_, NULL, -1, in, 0, NULL, OUT); DONE)
BODY(grad_room, hop_grad_at(t, total_, NULL, 1, in, 1, WRT(0), 1, out); DONE)
BODY(grad_vector, hop_grad_at(t, same_, NULL, 1, in, 1, WRT(0), OUT); DONE)
BODY(grad_none, hop_grad_at(t, none_, NULL, 1, in, 1, WRT(0), OUT); DONE)
BODY(grad_value, hop_grad_at(t, total_, NULL, 1, &unset, 1, WRT(0), OUT); DONE)
BODY(grad_writes, hop_value w = hop_clone(t, in[X]); outside = &w;
     hop_grad_at(t, writes_sum_, NULL, 1, in, 1, WRT(0), OUT); DONE)
BODY(jvp_tangents, hop_jvp_at(t, half_, NULL, 1, in, 1, WRT(0), NULL, OUT); DONE)
BODY(jvp_shape, hop_jvp_at(t, half_, NULL, 1, in, 1, WRT(0), &in[S], OUT); DONE)
BODY(jvp_value, hop_jvp_at(t, half_, NULL, 1, in, 1, WRT(0), &unset, OUT); DONE)
BODY(jvp_twice, hop_jvp_at(t, half_, NULL, 1, in, 2, WRT(0, 0), (hop_value[]){ in[X], in[X] },
                           OUT); DONE)
BODY(vjp_fn, hop_vjp_at(t, NULL, NULL, 1, in, 1, WRT(0), 1, in, OUT); DONE)
BODY(vjp_none, hop_vjp_at(t, half_, NULL, 1, in, 1, WRT(0), 1, NULL, OUT); DONE)
BODY(vjp_few, hop_vjp_at(t, half_, NULL, 1, in, 1, WRT(0), 0, NULL, OUT); DONE)
BODY(vjp_many, hop_vjp_at(t, half_, NULL, 1, in, 1, WRT(0), 2, in, OUT); DONE)
BODY(vjp_minus, hop_vjp_at(t, half_, NULL, 1, in, 1, WRT(0), -1, in, OUT); DONE)
BODY(vjp_shape, hop_vjp_at(t, half_, NULL, 1, in, 1, WRT(0), 1, &in[S], OUT); DONE)
BODY(vjp_value, hop_vjp_at(t, half_, NULL, 1, in, 1, WRT(0), 1, &unset, OUT); DONE)
BODY(vjp_twice, hop_vjp_at(t, half_, NULL, 1, in, 2, WRT(0, 0), 1, in, OUT); DONE)
BODY(vjp_room, hop_vjp_at(t, half_, NULL, 1, in, 1, WRT(0), 1, in, 1, out); DONE)
BODY(jac_two, hop_jac_at(t, both_, NULL, 2, in, 1, WRT(0), OUT); DONE)
BODY(jac_whole, hop_jac_at(t, whole_, NULL, 1, in, 1, WRT(0), OUT); DONE)
BODY(jac_twice, hop_jac_at(t, half_, NULL, 1, in, 2, WRT(0, 0), OUT); DONE)
BODY(vmap_fn, hop_vmap_at(t, NULL, NULL, 1, in, WRT(0), OUT); DONE)
BODY(vmap_axes, hop_vmap_at(t, half_, NULL, 1, in, NULL, OUT); DONE)
BODY(vmap_axis, hop_vmap_at(t, half_, NULL, 1, in, WRT(1), OUT); DONE)
BODY(vmap_back, hop_vmap_at(t, half_, NULL, 1, in, WRT(-2), OUT); DONE)
BODY(vmap_nothing, hop_vmap_at(t, half_, NULL, 1, in, WRT(-1), OUT); DONE)
BODY(vmap_empty, hop_vmap_at(t, pi_, NULL, 0, NULL, NULL, OUT); DONE)
BODY(vmap_sizes, hop_value two = hop_narrow(t, in[X], 0, 0, 2); hop_vmap_at(t, both_, NULL, 2,
     (hop_value[]){ in[X], two }, WRT(0, 0), OUT); DONE)
BODY(vmap_room, hop_vmap_at(t, half_, NULL, 1, in, WRT(0), 0, NULL); DONE)

static const hop_while_opts four = { .size = sizeof four, .max_trips = 4 };
BODY(stack_bound, hop_while_stack_output(t, never_, both_, NULL, 1, in, NULL, OUT, NULL); DONE)
BODY(stack_few, hop_while_stack_output(t, never_, none_, NULL, 1, in, &four, OUT, NULL); DONE)
BODY(stack_cap, hop_while_stack_output(t, never_, same_, NULL, 1, in, &four, 0, out, NULL); DONE)
BODY(stack_room, hop_while_stack_output(t, never_, twice_two_, NULL, 1, in, &four, 1, out, NULL); DONE)
SCAN(scan_unroll, same_, 1, in, 0, NULL, 4, LEN(2), .unroll = -1)
BODY(map_chunk, hop_map_chunked(t, same_, NULL, 1, in, 0, -3, OUT); DONE)
BODY(fori_fn, hop_fori_loop(t, 0, 3, NULL, NULL, 1, in, NULL, out); DONE)
BODY(fori_count, hop_fori_loop(t, 0, 3, same_, NULL, -1, in, NULL, out); DONE)
BODY(fori_list, hop_fori_loop(t, 0, 3, same_, NULL, 1, NULL, NULL, out); DONE)
BODY(fori_float, hop_fori_loop(t, 0, in[S], same_, NULL, 1, in, NULL, out); DONE)
BODY(fori_vector, hop_value k = hop_cast(t, in[X], HOP_i64);
     hop_fori_loop(t, k, 3, same_, NULL, 1, in, NULL, out); DONE)
BODY(fori_few, hop_fori_loop(t, 0, 3, none_, NULL, 1, in, NULL, out); DONE)
BODY(fori_many, hop_fori_loop(t, 0, in[K], both_, NULL, 1, in, NULL, out); DONE)
BODY(fori_carry, hop_fori_loop(t, 0, in[K], same_, NULL, 1, in, NULL, out); DONE)
static const hop_fori_opts fori_four = { .size = sizeof fori_four, .max_trips = 4 };
BODY(fori_trips, hop_fori_loop(t, 0, 3, same_, NULL, 1, in, &fori_four, out); DONE)
BODY(each_fn, hop_foreach_map(t, NULL, NULL, 1, 1, in, OUT); DONE)
BODY(each_count, hop_foreach_map(t, same_, NULL, -1, 1, in, OUT); DONE)
BODY(each_list, hop_foreach_map(t, same_, NULL, 2, 1, NULL, OUT); DONE)
BODY(each_room, hop_foreach_map(t, same_, NULL, 2, 1, in, 1, out); DONE)

/* functions to apply: of f64[3]; of f64[n], f64[n] with n of 1..4; of f64[n], f64[m] that
 * adds them; of another context */
static hop_fn *three, *pairs, *sums, *foreign_fn;
BODY(sum_, hop_return(t, hop_add(t, in[0], in[1])))
static hop_ctx *other;
static hop_array *foreign_array;
BODY(kernel_name, hop_kernel(t, "nobody", 1, in, 0, NULL, OUT); DONE)
BODY(kernel_none, hop_kernel(t, NULL, 1, in, 0, NULL, OUT); DONE)
BODY(apply_to_fn, hop_apply_to(t, NULL, "npu", 1, in, OUT); DONE)
BODY(apply_fn, hop_apply(t, NULL, 1, in, OUT); DONE)
BODY(apply_foreign, hop_apply(t, foreign_fn, 1, in, OUT); DONE)
BODY(apply_nin, hop_apply(t, three, 2, in, OUT); DONE)
BODY(apply_list, hop_apply(t, three, 1, NULL, OUT); DONE)
BODY(apply_rank, hop_apply(t, three, 1, &in[S], OUT); DONE)
BODY(apply_size, hop_value two = hop_narrow(t, in[X], 0, 0, 2);
     hop_apply(t, three, 1, &two, OUT); DONE)
BODY(apply_long, hop_value six = hop_concat(t, 2, (hop_value[]){ in[X], in[X] }, 0);
     hop_apply(t, three, 1, &six, OUT); DONE)
BODY(apply_sizes, hop_value two = hop_narrow(t, in[X], 0, 0, 2);
     hop_apply(t, pairs, 2, (hop_value[]){ in[X], two }, OUT); DONE)
BODY(apply_range, hop_value six = hop_concat(t, 2, (hop_value[]){ in[X], in[X] }, 0);
     hop_apply(t, pairs, 2, (hop_value[]){ six, six }, OUT); DONE)
BODY(apply_check, hop_value six = hop_concat(t, 2, (hop_value[]){ in[X], in[X] }, 0);
     hop_apply(t, sums, 2, (hop_value[]){ six, in[X] }, OUT); DONE)
BODY(apply_room, hop_apply(t, three, 1, in, 0, NULL); DONE)
BODY(apply_value, hop_apply(t, three, 1, &unset, OUT); DONE)

BODY(use_null, hop_return(t, hop_use(t, NULL)))
BODY(use_foreign, hop_return(t, hop_use(t, foreign_array)))
BODY(return_count, hop_return_n(t, -1, in))
BODY(return_list, hop_return_n(t, 1, NULL))
BODY(return_value, hop_return(t, unset))
BODY(return_twice, hop_return(t, in[0]); hop_return(t, in[0]))
BODY(after_return, hop_return(t, in[0]); hop_sin(t, in[0]))
BODY(tree_zeros, hop_tree_zeros_like(t, &pair_tree, NULL, out); DONE)
BODY(tree_axpy, hop_tree_axpy(t, &pair_tree, in[S], in, NULL, out); DONE)

BODY(hook_fn, hop_hook(t, in[X], NULL, NULL); hop_return(t, in[X]))
BODY(hook_value, hop_hook(t, unset, half_, NULL); hop_return(t, in[X]))
BODY(hook_whole, hop_hook(t, in[K], half_, NULL); hop_return(t, in[X]))
BODY(hook_number, hop_hook(t, hop_f(t, 2), half_, NULL); hop_return(t, in[X]))
BODY(clip_zero, hop_clip_grad_norm(t, in[X], 0); hop_return(t, in[X]))
BODY(clip_less, hop_clip_grad_value(t, in[X], -1); hop_return(t, in[X]))
BODY(clip_whole, hop_clip_grad_value(t, in[K], 1); hop_return(t, in[X]))
BODY(scale_nan, hop_scale_grad(t, in[X], NAN); hop_return(t, in[X]))
BODY(tell_here, hop_tell(t, in[X], "x"); hop_return(t, in[X]))
/* A hook's body is not called eagerly: these are inside of a gradient. */
#define HOOKED(name, body) \
	BODY(name##_, hop_hook(t, in[0], body, NULL); hop_return(t, hop_sum_all(t, in[0]))) \
	BODY(name, hop_grad_at(t, name##_, NULL, 1, in, 1, WRT(0), OUT); DONE)
BODY(tells_no_name_, hop_tell(t, in[0], NULL); hop_return(t, in[0]))
BODY(tells_comma_, hop_tell(t, in[0], "a,b"); hop_return(t, in[0]))
BODY(tells_whole_, hop_tell(t, hop_i(t, 1), "one"); hop_return(t, in[0]))
BODY(tells_unset_, hop_tell(t, unset, "x"); hop_return(t, in[0]))
BODY(tells_twice_, hop_tell(t, in[0], "x"); hop_tell(t, in[0], "x"); hop_return(t, in[0]))
BODY(hook_writes_, hop_value w = hop_clone(t, in[0]); outside = &w; hop_hook(t, in[0], writes_, NULL);
     hop_return(t, hop_sum_all(t, in[0])))
BODY(hook_writes, hop_grad_at(t, hook_writes_, NULL, 1, in, 1, WRT(0), OUT); DONE)
HOOKED(hook_none, none_)
HOOKED(hook_two, twice_two_)
HOOKED(hook_forgets, forgets_)
HOOKED(hook_short, short_)
HOOKED(hook_dtype, whole_)
HOOKED(hook_twice, twice_)
HOOKED(tell_no_name, tells_no_name_)
HOOKED(tell_comma, tells_comma_)
HOOKED(tell_whole, tells_whole_)
HOOKED(tell_unset, tells_unset_)
HOOKED(tell_twice, tells_twice_)

static const struct wrong { const char *name, *words; hop_body *f; } wrongs[] = {
#define W(name, words) { #name, words, name }
	W(cond_then_false, "then branch of cond"), W(cond_then_true, "then branch of cond"),
	W(cond_else_false, "else branch of cond"), W(cond_else_true, "else branch of cond"),
	W(sized_else, "else branch of cond"), W(exact_then, "then branch of cond"),
	W(exact_room, "room for 1"), W(sized_none, "switch: there is no branch"),
	W(sized_hole, "branch 2 of switch"), W(cond_many, "cond: the predicate"),
	W(cond_unset, "cond: a value that was never set"), W(cond_count, "cond: a count"),
	W(cond_list, "cond: a count"), W(cond_cap, "cond: a count"), W(cond_out, "cond: a count"),
	W(cond_room, "room for 1"), W(cond_value, "cond: a value that was never set"),
	W(cond_twice, "return: nothing may follow"), W(cond_forgets, "branch of cond ended"),
	W(cond_outer, "sin: this trace is not"), W(switch_none, "switch: there is no branch"),
	W(switch_minus, "switch: there is no branch"), W(switch_null, "switch: there is no branch"),
	W(switch_hole, "branch 2 of switch"), W(switch_float, "switch: the index is f64"),
	W(switch_many, "switch: the index is i64[3]"), W(switch_unset, "switch: a value that was"),
	W(switch_list, "switch: a count"), W(switch_twice, "return: nothing may follow"),
	W(assoc_fn, "combine of associative_scan"), W(assoc_none, "associative_scan: there are no xs"),
	W(assoc_list, "associative_scan: there are no xs, or a list"),
	W(assoc_axis, "associative_scan: x[0] is f64[3], it has no axis 1"),
	W(assoc_scalar, "it has no axis 0"), W(assoc_value, "associative_scan: a value"),
	W(assoc_sizes, "axis 0 of x[1], which is f64[2], has another size"),
	W(assoc_init, "associative_scan: an exclusive scan begins with init"),
	W(assoc_init_type, "associative_scan: init[0] is f64[3], a slice of x[0] is f64"),
	W(assoc_init_value, "associative_scan: a value"),
	W(assoc_many, "associative_scan: combine gives 2 results for 1 leaves"),
	W(assoc_type, "a slice of x[0] is f64, combine gives i64 for it: cast"),
	W(assoc_shape, "a slice of x[0] is f64[3], combine gives f64 for it: a leaf keeps"),
	W(assoc_writes, "associative_scan: a captured tensor is written"),
	W(assoc_prints, "associative_scan: combine has an effect (print)"),
	W(assoc_stops, "stop_if: it belongs"), W(reduce_list, "reduce_with: there are no xs"),
	W(reduce_axis, "reduce_with: x[0] is f64[3], it has no axis 2"),
	W(reduce_init, "reduce_with: init[0] is i64, a slice of x[0] is f64"),
	W(reduce_type, "reduce_with: a slice of x[0] is f64, combine gives i64"),
	W(map_fn, "body of map"), W(map_none, "map: without xs"), W(map_count, "map: a count"),
	W(map_list, "map: a count"), W(map_axis, "map: x[0] is f64[3], it has no axis 1"),
	W(map_scalar, "no axis 0"), W(map_room, "map: gives 1"), W(map_value, "map: a value"),
	W(map_sizes, "map: x[1] has length 2, the map has 3"),
	W(map_writes, "map: a captured tensor is written"), W(map_stops, "stop_if: it belongs"),
	W(region_fn, "body of region"),
	W(region_count, "region: a count"), W(region_list, "region: a count"),
	W(ck_fn, "body of checkpoint"), W(ck_count, "checkpoint: a count"),
	W(ck_list, "checkpoint: a count"), W(ck_room, "room for 0"),
	W(ck_value, "checkpoint: a value that was never set"), W(ck_opts, "checkpoint: the options say"),
	W(ck_words, "must_save: sine is no word of a policy"),
	W(ck_both, "sin is in must_save and in prefer_save"),
	W(ck_budget, "a budget of -0.5: it must be from 0 to 1"),
	W(ck_alone, "checkpoint: pack is given without unpack"), W(name_none, "name: a name is needed"),
	W(name_comma, "name: a,b: a name has no commas"), W(name_how, "name: there is no hop_saving 7"),
	W(name_unset, "name: a value that was never set"), W(pack_none, "pack: pack and unpack must be"),
	W(pack_unset, "pack: a value that was never set"),
	W(keyed_fn, "body of region"), W(keyed_count, "region_keyed: a count"),
	W(keyed_list, "region_keyed: a count"), W(keyed_room, "room for 0"),
	W(keyed_value, "region_keyed: a value that was never set"),
	W(keyed_writes, "uses a value from outside"), W(keyed_opts, "region_keyed: the options say"),
	W(region_room, "room for 0"), W(region_value, "region: a value that was never set"),
	W(with_fn, "body of region"), W(with_count, "region_with: a count"),
	W(with_list, "region_with: a count"), W(with_room, "room for 0"),
	W(with_value, "region_with: a value that was never set"),
	W(with_opts, "region_with: the options say"), W(with_unroll, "region_with: unroll is -3"),
	W(keyed_unroll, "region_keyed: unroll is -3"), W(with_check, "check belongs to a region with a key"),
	W(with_static, "static data belongs to a region with a key"),
	W(while_test, "test of while"), W(while_body, "body of while"),
	W(while_count, "while: a count"), W(while_init, "while: a count"),
	W(while_out, "while: a count"), W(while_value, "while: a value that was never set"),
	W(while_float, "while: the test gives f32"), W(while_two, "while: the test gives 2"),
	W(while_none, "while: the test gives 0"), W(while_vector, "while: the test gives f64[3]"),
	W(while_few, "while: the body gives 0"), W(while_short, "while: carry[0] is f64[3]"),
	W(while_dtype, "while: carry[0] is f64[3]"), W(while_trips, "while: max_trips"),
	W(while_slots, "while: slots is -1"),
	W(while_tree, "while: the tree names 2"), W(scan_fn, "body of scan"),
	W(scan_fn_none, "body of scan"), W(scan_ncarry, "scan: a count"),
	W(scan_nx, "scan: a count"), W(scan_init, "scan: a count"), W(scan_xs, "scan: a count"),
	W(scan_cap, "scan: a count"), W(scan_room, "scan: gives 2"),
	W(scan_no_length, "scan: without xs"), W(scan_negative, "scan: length -1"),
	W(scan_huge, "scan: length"), W(scan_lengths, "scan: x[0] has length 3"),
	W(scan_axis, "no axis 1"), W(scan_axis_back, "axis"), W(scan_axis_none, "scan: axis -1"),
	W(scan_scalar, "no axis 0"), W(scan_every, "scan: every is -2"),
	W(scan_slots, "scan: slots is -1"), W(scan_slots_every, "scan: slots is 3 and every is 2"),
	W(scan_every_min, "scan: every is"), W(scan_count_float, "scan: the count is f64"),
	W(scan_count_bool, "scan: the count is bool"), W(scan_count_vector, "scan: the count is"),
	W(scan_count_unset, "scan: a value that was never set"), W(scan_tree, "scan: the tree"),
	W(scan_tree_x, "scan: the tree"), W(scan_value, "scan: a value"),
	W(scan_x_value, "scan: a value"), W(scan_few, "scan: the body gives 0"),
	W(scan_short, "scan: carry[0]"), W(custom_rule, "custom: fwd must be"),
	W(custom_fwd, "custom: fwd must be"), W(custom_bwd, "custom: fwd must be"),
	W(custom_count, "custom: a count"), W(custom_list, "custom: a count"),
	W(custom_room, "room for 0"), W(custom_value, "custom: a value that was never set"),
	W(custom_ways, "custom: batch and lanewise"), W(nondiff_place, "nondiff: it belongs"),
	W(give_place, "give_grad: it belongs"), W(tangent_place, "tangent_of: it belongs"),
	W(custom_writes, "custom: a captured tensor is written"), W(grad_fn, "body of grad"),
	W(grad_twice, "grad: input 0 is named twice"), W(grad_wrt, "grad: there is no input 1"),
	W(grad_wrt_back, "grad: there is no input -1"), W(grad_whole, "grad: input 0 is i64"),
	W(grad_count, "grad: a count"), W(grad_list, "grad: a count"), W(grad_in, "grad: a count"),
	W(grad_nin, "grad: a count"), W(grad_room, "grad: gives 2"),
	W(grad_vector, "grad: the first result is f64[3]"), W(grad_none, "grad: the first result"),
	W(grad_value, "grad: a value that was never set"),
	W(grad_writes, "grad: a captured tensor is written"), W(jvp_tangents, "jvp: no tangents"),
	W(jvp_shape, "jvp: the tangent"), W(jvp_value, "jvp: a value that was never set"),
	W(jvp_twice, "jvp: input 0 is named twice"), W(vjp_fn, "body of vjp"),
	W(vjp_none, "vjp: no cotangents"), W(vjp_few, "vjp: 0 cotangents for 1"),
	W(vjp_many, "vjp: 2 cotangents for 1"), W(vjp_minus, "vjp: no cotangents"),
	W(vjp_shape, "vjp: the cotangent of result 0"), W(vjp_value, "vjp: a value that was"),
	W(vjp_twice, "vjp: input 0 is named twice"), W(vjp_room, "vjp: gives 2"),
	W(jac_two, "jac: "), W(jac_whole, "jac: "),
	W(jac_twice, "jac: input 0 is named twice"), W(vmap_fn, "body of vmap"),
	W(vmap_axes, "vmap: no axes"), W(vmap_axis, "vmap: axis 1"), W(vmap_back, "vmap: axis -2"),
	W(vmap_nothing, "vmap: no input has"), W(vmap_empty, "vmap: no input has"),
	W(vmap_sizes, "vmap: input 1"), W(vmap_room, "vmap: gives 1"),
	W(stack_bound, "while: what is stacked needs room"), W(stack_few, "fewer than the 1 carries"),
	W(stack_cap, "while: 1 carries, there is room for 0"), W(stack_room, "while: gives 2"),
	W(scan_unroll, "scan: unroll is -1"), W(map_chunk, "map: chunk is -3"),
	W(fori_fn, "body of fori_loop"), W(fori_count, "fori_loop: a count"),
	W(fori_list, "fori_loop: a count"), W(fori_float, "fori_loop: the upper limit is f64"),
	W(fori_vector, "fori_loop: the lower limit is i64[3]"),
	W(fori_few, "fori_loop: the body gives 0"), W(fori_many, "fori_loop: the body gives 2"),
	W(fori_carry, "fori_loop: carry[0] is f64[3]"), W(fori_trips, "but the limits say"),
	W(each_fn, "body of foreach_map"), W(each_count, "foreach_map: a count"),
	W(each_list, "foreach_map: a count"), W(each_room, "room for 0"),
	W(kernel_name, "kernel: no kernel `nobody`"), W(kernel_none, "kernel: no kernel ``"),
	W(apply_to_fn, "apply: the function is missing"),
	W(apply_fn, "apply: the function is missing"), W(apply_foreign, "apply: the function"),
	W(apply_nin, "apply: the function takes 1"), W(apply_list, "apply: a count"),
	W(apply_rank, "apply: input 0"), W(apply_size, "apply: input 0 is f64[2]"),
	W(apply_long, "apply: input 0 is f64[6]"), W(apply_sizes, "apply: input 1 is f64[2]"),
	W(apply_range, "a size argument is 6, the body takes at most 4"),
	W(apply_check, "add: dimension 0 is 6 on the left, 3"), W(apply_room, "apply: gives 1"),
	W(apply_value, "apply: a value that was never set"), W(use_null, "use: the array"),
	W(use_foreign, "use: the array"), W(return_count, "return: no values"),
	W(return_list, "return: no values"), W(return_value, "return: a value"),
	W(return_twice, "return: nothing may follow"), W(after_return, "sin: nothing may follow"),
	W(root_fn, "residual of root"), W(root_count, "root: there are no unknowns"),
	W(root_list, "root: there are no unknowns"), W(root_out, "root: there are no unknowns"),
	W(root_value, "root: a value that was never set"), W(root_whole, "root: unknown 0 is i64"),
	W(root_few, "root: the body gives 0 values, it must give 1"),
	W(root_short, "root: value 0 of the body is f64[2], unknown 0 is f64[3]"),
	W(root_dtype, "root: value 0 of the body is i64[3]"), W(root_tolerance, "root: tolerance -1"),
	W(root_iterations, "max_iterations -1"), W(root_restart, "restart -1"),
	W(root_linear, "root: there is no method 9"), W(root_cg, "root: conjugate gradients"),
	W(root_solve_none, "root: solve gives 0 values"),
	W(root_solve_short, "root: value 0 is f64[3] in the operands, but f64[2] in solve"),
	W(root_solve_info, "root: the info that solve gives is"),
	W(root_solve_many, "root: solve gives 3 values"),
	W(root_tangent_short, "root: value 0 is f64[3] in the operands, but f64[2] in tangent"),
	W(root_cotangent_info, "root: the info that cotangent gives is"),
	W(root_writes, "root: a captured tensor is written"),
	W(root_solve_writes, "root: a captured tensor is written"),
	W(fixed_fn, "body of fixed_point"), W(fixed_short, "fixed_point: value 0 of the body"),
	W(least_vector, "minimize: the body gives f64[3]"),
	W(least_two, "minimize: the body gives 2 values"),
	W(linear_square, "linear_solve: mul is not linear"),
	W(linear_plus, "linear_solve: result 0 is not zero where"),
	W(linear_outside, "linear_solve: result 0 is not zero where"),
	W(linear_tangent, "linear_solve: it has no tangent"),
	W(turn_fn, "body of linear_transpose"), W(turn_square, "linear_transpose: mul is not linear"),
	W(turn_plus, "linear_transpose: result 0 is not zero"),
	W(turn_whole, "linear_transpose: result 0 is i64"),
	W(turn_none, "linear_transpose: no cotangents"),
	W(turn_few, "linear_transpose: 0 cotangents for 1"),
	W(turn_shape, "linear_transpose: the cotangent of result 0"),
	W(hook_fn, "body of hook"), W(hook_value, "hook: a value that was never set"),
	W(hook_whole, "hook: i64 has no gradient"), W(hook_number, "hook: a number has no gradient"),
	W(clip_zero, "clip_grad_norm: the norm is 0"), W(clip_less, "clip_grad_value: the bound is -1"),
	W(clip_whole, "hook: i64 has no gradient"), W(scale_nan, "scale_grad: the factor is"),
	W(tell_here, "tell: it belongs directly into the body of a hook"),
	W(hook_writes, "hook: a captured tensor is written"), W(hook_none, "hook: the body gives 0"),
	W(hook_two, "hook: the body gives 2 results"), W(hook_forgets, "body of hook ended"),
	W(hook_short, "hook: the gradient is f64[3], what the body makes of it f64[2]"),
	W(hook_dtype, "hook: the gradient is f64[3], what the body makes of it i64[3]: cast"),
	W(hook_twice, "return: nothing may follow"), W(tell_no_name, "tell: a name"),
	W(tell_comma, "tell: a name without commas"), W(tell_whole, "tell: one is i64"),
	W(tell_unset, "tell: a value that was never set"), W(tell_twice, "are called x"),
	W(tree_zeros, "tree_zeros_like: a list"), W(tree_axpy, "tree_axpy: a list"),
#undef W
};

static int up(void **state)
{
	hop_spec s = hop_spec1(HOP_f64, 3);
	hop_spec n[2] = { hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 1, 4),
	                  hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 1, 4) };
	hop_spec nm[2] = { hop_spec_sym(n[0], 0, "n", 2, 0), hop_spec_sym(n[0], 0, "m", 2, 0) };
	return rig_up(state) || hop_ctx_new(NULL, &other) ||
	       hop_array_new(other, HOP_f64, 0, NULL, NULL, &foreign_array) ||
	       hop_capture(ctx, half_, NULL, 1, &s, &three) ||
	       hop_capture(ctx, both_, NULL, 2, n, &pairs) ||
	       hop_capture(ctx, sum_, NULL, 2, nm, &sums) ||
	       hop_capture(other, half_, NULL, 1, &s, &foreign_fn);
}

static int down(void **state)
{
	hop_fn_release(three);
	hop_fn_release(pairs);
	hop_fn_release(sums);
	hop_fn_release(foreign_fn);
	hop_array_release(foreign_array);
	hop_ctx_free(other);
	return rig_down(state);
}

#endif
