/* strict_loop.h -- strict.h, while, scan, map and associative_scan. */
#ifndef STRICT_LOOP_H
#define STRICT_LOOP_H

#include "support/strict.h"

/* ---- while ---- */

BODY(b_small, hop_return(t, hop_lt(t, in[0], hop_f(t, 9))))
BODY(b_small_all, hop_return(t, hop_lt(t, in[0], all->x)))
BODY(b_small_f64, hop_return(t, hop_sub(t, in[0], all->h)))
BODY(b_always, hop_return(t, hop_lt(t, hop_f(t, 1), hop_f(t, 2))))
BODY(b_never, hop_return(t, hop_lt(t, hop_f(t, 2), hop_f(t, 1))))
BODY(b_go, hop_return(t, in[1]))
BODY(b_next, hop_return(t, hop_addf(t, in[0], 1)))
BODY(b_next_two, hop_return(t, hop_addf(t, in[0], 1), hop_mulf(t, in[1], 2)))
BODY(b_next_go, hop_value n = hop_addf(t, in[0], 1);
     hop_return(t, n, hop_lt(t, n, hop_f(t, 9))))
BODY(b_next_i, hop_return(t, hop_addf(t, in[0], 1), hop_add(t, in[1], hop_i(t, 1))))
BODY(b_next_k, hop_return(t, hop_addf(t, in[0], 1), hop_add(t, in[1], all->k)))
BODY(b_unchanged, hop_return(t, hop_addf(t, in[0], 1), in[1]))
BODY(b_swap, hop_return(t, in[1], in[0]))
BODY(b_gives_h, hop_return(t, hop_addf(t, in[0], 1), all->h))
BODY(b_same_two, hop_value n = hop_addf(t, in[0], 1); hop_return(t, n, n))
BODY(b_next_short, hop_return(t, hop_cast(t, in[0], HOP_f32)))
BODY(b_short_two, hop_return(t, hop_cast(t, in[0], HOP_f32), hop_cast(t, in[1], HOP_f32)))
BODY(b_writes_carry, hop_add_(t, in[0], all->h); hop_return(t, hop_sin(t, in[0])))
BODY(b_writes_h, hop_add_(t, all->h, in[0]); hop_return(t, hop_addf(t, in[0], 1)))
BODY(b_writes_v, hop_add_(t, all->v, in[0]); hop_return(t, hop_lt(t, in[0], hop_f(t, 9))))
BODY(b_next_x, hop_return(t, hop_addf(t, in[0], 1), hop_addf(t, in[0], 2)))
BODY(b_stacks_carry, hop_value n = hop_addf(t, in[0], 1); hop_return(t, n, n))
BODY(b_stacks_h, hop_add_(t, all->h, in[0]);
     hop_return(t, hop_addf(t, in[0], 1), hop_sin(t, in[0])))
BODY(b_stacks_i, hop_return(t, hop_add(t, in[0], hop_i(t, 1)), hop_add(t, in[0], all->k)))

#define WHILE(test, body, ...) \
	hop_while(t, test, body, USER, TAKES(__VA_ARGS__), NULL, out, NULL)
#define WHILE_PAIR(test, body, ...) \
	hop_while(t, test, body, USER, TAKES(__VA_ARGS__), \
	          HOP_WHILE_OPTS(.carry = &strict_pair_tree), out, NULL)
#define WHILE_STACK(body, ...) \
	hop_while_stack_output(t, b_small, body, USER, TAKES(__VA_ARGS__), \
	                       HOP_WHILE_OPTS(.max_trips = 5), 4, out, NULL)

PROGRAM(while_not_callable, WHILE(b_small, NULL, all->h))
PROGRAM(while_no_list, hop_while(t, b_small, b_next, USER, 1, NULL, NULL, out, NULL))
PROGRAM(while_bad_leaf, WHILE(b_small, b_next, HOP_NONE))
PROGRAM(while_float_carry, WHILE(b_small, b_next, hop_f(t, 1)))
PROGRAM(while_int_carry, WHILE(b_small, b_next_i, all->h, hop_i(t, 0)))
PROGRAM(while_int_tensor, WHILE(b_small, b_next_k, all->h, hop_i(t, 0)))
BODY(b_next_one, hop_return(t, hop_addf(t, in[0], 1), hop_i(t, 7)))
PROGRAM(while_tensor_int, WHILE(b_small, b_next_one, all->h, all->k))
PROGRAM(while_test_shape, WHILE(b_small_all, b_next, all->h))
PROGRAM(while_test_dtype, WHILE(b_small_f64, b_next, all->h))
PROGRAM(while_forever, WHILE(b_always, b_next, all->h))
PROGRAM(while_never, WHILE(b_never, b_next, all->h))
PROGRAM(while_count, WHILE(b_small, b_next_x, all->h))
PROGRAM(while_metadata, WHILE(b_small, b_next_short, all->h))
PROGRAM(while_metadata_all, WHILE_PAIR(b_small, b_short_two, all->h, all->v))
BODY(b_turns_two, hop_return(t, hop_addf(t, in[0], 1), hop_transpose(t, hop_addf(t, in[1], 1), 0, 1)))
PROGRAM(while_strides, WHILE_PAIR(b_small, b_turns_two, all->h, all->q))
PROGRAM(while_strides_kept, WHILE(b_small, b_next_two, all->h, hop_transpose(t, all->q, 0, 1)))
PROGRAM(while_unchanged, WHILE_PAIR(b_small, b_unchanged, all->h, all->v))
PROGRAM(while_swap, WHILE_PAIR(b_small, b_swap, all->h, all->v))
PROGRAM(while_same_twice, WHILE_PAIR(b_small, b_same_two, all->h, all->v))
PROGRAM(while_captured, WHILE_PAIR(b_small, b_gives_h, all->h, all->v))
PROGRAM(while_test_alias, WHILE(b_go, b_next_go, all->h, all->p))
PROGRAM(while_write_carry, WHILE(b_small, b_writes_carry, all->v))
PROGRAM(while_write_capture, WHILE(b_small, b_writes_h, all->v))
PROGRAM(while_test_write, WHILE(b_writes_v, b_next, all->h))
PROGRAM(while_aliased_init, WHILE_PAIR(b_small, b_next_two, all->h, all->h))

/* ---- while_stack_output ---- */

PROGRAM(stack_int_carry, WHILE_STACK(b_stacks_i, hop_i(t, 0)))
PROGRAM(stack_carry, WHILE_STACK(b_stacks_carry, all->h))
PROGRAM(stack_write_capture, WHILE_STACK(b_stacks_h, all->v))
PROGRAM(stack_plain, WHILE_STACK(b_next_x, all->h))

/* ---- scan ---- */

BODY(b_step, hop_value n = hop_add(t, in[0], in[1]); hop_return(t, n, hop_sin(t, n)))
BODY(b_step_none, hop_return_n(t, 0, NULL))
BODY(b_step_carry, hop_value n = hop_add(t, in[0], in[1]); hop_return(t, n, n))
BODY(b_step_was, hop_return(t, hop_add(t, in[0], in[1]), in[0]))
BODY(b_step_x, hop_return(t, hop_add(t, in[0], in[1]), in[1]))
BODY(b_step_unchanged, hop_return(t, in[0], hop_sin(t, in[1])))
BODY(b_step_promotes, hop_return(t, hop_add(t, in[0], in[1])))
BODY(b_step_number, hop_return(t, hop_add(t, in[0], in[1]), hop_i(t, 3)))
BODY(b_step_number_carry, hop_return(t, hop_i(t, 3), hop_sin(t, in[1])))
BODY(b_step_two_y, hop_value s = hop_sin(t, in[1]); hop_return(t, hop_add(t, in[0], in[1]), s, s))
BODY(b_step_two_types, hop_return(t, hop_cast(t, in[0], HOP_f32), hop_cast(t, in[1], HOP_f32)))
BODY(b_step_writes_carry, hop_add_(t, in[0], in[1]); hop_return(t, hop_sin(t, in[0])))
BODY(b_step_writes_x, hop_add_(t, in[1], in[0]); hop_return(t, hop_sin(t, in[1])))
BODY(b_step_writes_h, hop_add_(t, all->h, in[1]); hop_return(t, hop_add(t, in[0], in[1])))
BODY(b_step_alone, hop_return(t, hop_mulf(t, in[0], 2)))
BODY(b_step_no_carry, hop_return(t, hop_sin(t, in[0])))

#define SCAN(body, init, ...) \
	hop_scan(t, body, USER, 1, LIST(init), TAKES(__VA_ARGS__), NULL, 4, out, NULL)

PROGRAM(scan_not_callable, SCAN(NULL, all->h, all->x))
PROGRAM(scan_no_carry, hop_scan(t, b_step_no_carry, USER, 0, NULL, TAKES(all->x), NULL, 4, out, NULL))
PROGRAM(scan_number_carry, SCAN(b_step, hop_f(t, 0), hop_cast(t, all->x, HOP_f32)))
PROGRAM(scan_bad_leaf, SCAN(b_step, HOP_NONE, all->x))
PROGRAM(scan_number_xs, SCAN(b_step, all->h, hop_f(t, 2)))
PROGRAM(scan_rank, hop_scan(t, b_step, USER, 1, &all->h, TAKES(all->x), HOP_SCAN_OPTS(.axis = 1), 4,
                            out, NULL))
PROGRAM(scan_zero, SCAN(b_step, all->x, all->none))
PROGRAM(scan_no_xs, hop_scan(t, b_step_alone, USER, 1, &all->h, 0, NULL,
                             HOP_SCAN_OPTS(.has_length = true, .length = hop_n(4)), 4, out, NULL))
PROGRAM(scan_results, SCAN(b_step_none, all->h, all->x))
PROGRAM(scan_metadata, SCAN(b_next_short, all->h, all->x))
PROGRAM(scan_metadata_all, hop_scan(t, b_step_two_types, USER, TAKES(all->h, all->v), TAKES(all->x),
                                    HOP_SCAN_OPTS(.carry = &strict_pair_tree), 4, out, NULL))
PROGRAM(scan_promotes, SCAN(b_step_promotes, all->k, all->x))
PROGRAM(scan_sum, SCAN(b_step, all->h, all->x))
BODY(b_step_turns, hop_return(t, hop_transpose(t, hop_add(t, in[0], in[1]), 0, 1)))
BODY(b_step_turns_y, hop_value n = hop_add(t, in[0], in[1]);
     hop_return(t, n, hop_transpose(t, hop_mul(t, in[0], in[1]), 0, 1)))
PROGRAM(scan_strides, SCAN(b_step_turns, all->q, all->x))
PROGRAM(scan_strides_kept, SCAN(b_step, hop_transpose(t, all->q, 0, 1), all->x))
PROGRAM(scan_strides_y, SCAN(b_step_turns_y, all->q, all->x))
PROGRAM(scan_carry_as_y, SCAN(b_step_carry, all->h, all->x))
PROGRAM(scan_old_carry_as_y, SCAN(b_step_was, all->h, all->x))
PROGRAM(scan_x_as_y, SCAN(b_step_x, all->h, all->x))
PROGRAM(scan_unchanged, SCAN(b_step_unchanged, all->h, all->x))
PROGRAM(scan_y_twice, SCAN(b_step_two_y, all->h, all->x))
PROGRAM(scan_number_y, SCAN(b_step_number, all->h, all->x))
PROGRAM(scan_number_next, SCAN(b_step_number_carry, all->k, all->x))
PROGRAM(scan_write_carry, SCAN(b_step_writes_carry, all->h, all->x))
PROGRAM(scan_write_x, SCAN(b_step_writes_x, all->h, all->x))
PROGRAM(scan_write_capture, SCAN(b_step_writes_h, all->v, all->x))

/* ---- associative_scan ---- */

BODY(b_add, hop_return(t, hop_add(t, in[0], in[1])))
BODY(b_add_k, hop_return(t, hop_mul(t, hop_add(t, in[0], in[1]), all->h)))
BODY(b_left, hop_return(t, in[0]))
BODY(b_pair, hop_return(t, hop_mul(t, in[0], in[2]), hop_add(t, hop_mul(t, in[1], in[2]), in[3])))
BODY(b_pair_twice, hop_value r = hop_mul(t, in[0], in[2]); hop_return(t, r, r))
BODY(b_pair_names, hop_return_named(t, "a, c", hop_mul(t, in[0], in[2]), hop_add(t, in[1], in[3])))
BODY(b_pair_good, hop_return_named(t, "a, b", hop_mul(t, in[0], in[2]), hop_add(t, in[1], in[3])))
BODY(b_sums, hop_value axes[1] = { in[1] };
     hop_return(t, hop_add(t, hop_mul(t, in[0], hop_sum_all(t, in[1])), axes[0])))
BODY(b_turns, hop_return(t, hop_add(t, hop_reshape(t, in[0], 1, (hop_dim[]){ hop_n(3) }), in[1])))
BODY(b_writes_left, hop_add_(t, in[0], in[1]); hop_return(t, hop_sin(t, in[0])))

#define ASSOC(body, ...) hop_associative_scan(t, body, USER, TAKES(__VA_ARGS__), NULL, out)
#define ASSOC_PAIR(body, ...) \
	hop_associative_scan(t, body, USER, TAKES(__VA_ARGS__), \
	                     HOP_ASSOC_OPTS(.x = &strict_pair_tree), out)

PROGRAM(assoc_not_callable, ASSOC(NULL, all->x))
PROGRAM(assoc_no_leaves, hop_associative_scan(t, b_add, USER, 0, NULL, NULL, out))
PROGRAM(assoc_bad_leaf, ASSOC(b_add, HOP_NONE))
PROGRAM(assoc_number, ASSOC(b_add, hop_f(t, 2)))
PROGRAM(assoc_rank, hop_associative_scan(t, b_add, USER, TAKES(all->x), HOP_ASSOC_OPTS(.axis = 1), out))
PROGRAM(assoc_zero, ASSOC(b_add, all->none))
PROGRAM(assoc_lengths, ASSOC(b_pair, all->x, all->m))
PROGRAM(assoc_count, ASSOC(b_both, all->x))
PROGRAM(assoc_tree, ASSOC_PAIR(b_pair_names, all->x, all->y))
PROGRAM(assoc_named, ASSOC_PAIR(b_pair_good, all->x, all->y))
PROGRAM(assoc_metadata, ASSOC(b_cast, all->x))
PROGRAM(assoc_sum, ASSOC(b_add, all->x))
PROGRAM(assoc_capture, ASSOC(b_add_k, all->x))
PROGRAM(assoc_not_pointwise, ASSOC(b_sums, all->m))
PROGRAM(assoc_view, ASSOC(b_turns, all->m))
PROGRAM(assoc_left, ASSOC(b_left, all->x))
PROGRAM(assoc_twice, ASSOC_PAIR(b_pair_twice, all->x, all->y))
PROGRAM(assoc_number_out, ASSOC(b_float, hop_cast(t, all->x, HOP_f32)))
PROGRAM(assoc_write, ASSOC(b_writes_left, all->x))
PROGRAM(assoc_write_capture, ASSOC(b_writes_h, all->x))

/* ---- map ---- */

BODY(b_writes_slice, hop_add_(t, in[0], in[0]); hop_return(t, hop_sin(t, in[0])))
BODY(b_map_writes_h, hop_add_(t, all->h, in[0]); hop_return(t, hop_sin(t, in[0])))

#define MAP(body, ...) hop_map(t, body, USER, TAKES(__VA_ARGS__), 0, 4, out)

PROGRAM(map_not_callable, MAP(NULL, all->x))
PROGRAM(map_bad_leaf, MAP(b_sin, HOP_NONE))
PROGRAM(map_number, MAP(b_sin, hop_f(t, 2)))
PROGRAM(map_scalar, MAP(b_sin, all->h))
PROGRAM(map_zero, MAP(b_sin, all->none))
PROGRAM(map_lengths, MAP(b_sin, all->x, all->m))
PROGRAM(map_plain, MAP(b_sin, all->x))
PROGRAM(map_number_y, MAP(b_one, all->x))
PROGRAM(map_identity, MAP(b_first, all->x))
PROGRAM(map_twice, MAP(b_twice, all->x))
PROGRAM(map_write_x, MAP(b_writes_slice, all->x))
PROGRAM(map_write_capture, MAP(b_map_writes_h, all->x))

#endif
