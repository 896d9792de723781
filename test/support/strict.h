/* strict.h -- programs for every error of PyTorch's control-flow operators, and their neighbours that
 * it accepts: one function each, captured in the three modes. Those of choices; the loops are in
 * strict_loop.h, blocks and nests in strict_block.h. docs/strict.md is the table of them. */
#ifndef STRICT_H
#define STRICT_H

#include "hop/hop.h"

#define STRICT_ALL(has) \
	has(LEAF, x, "f64[3]") has(LEAF, y, "f64[3]") has(LEAF, m, "f64[2, 3]") \
	has(LEAF, none, "f64[0, 3]") has(LEAF, h, "f64") has(LEAF, v, "f64") \
	has(LEAF, k, "i64") has(LEAF, p, "bool") has(LEAF, q, "f64[3, 3]")
HOP_STRUCT(strict_in, STRICT_ALL);

#define STRICT_PAIR(has)  has(LEAF, a, "f64")  has(LEAF, b, "f64")
HOP_STRUCT(strict_pair, STRICT_PAIR);

/* in: what the body gets. all: the inputs of the function, captured by bodies. */
#define BODY(name, ...) \
	static void name(hop_trace *t, const hop_value *in, void *user) \
	{ const struct strict_in *all = user; (void)t, (void)in, (void)all; __VA_ARGS__; }
/* A function that gives what is in out[0], or the input h. */
#define PROGRAM(name, ...) \
	static void name(hop_trace *t, const hop_value *in, void *user) \
	{ \
		const struct strict_in *all = HOP_IN(struct strict_in, in); \
		hop_value out[4] = { { 0, 0 } }; \
		(void)user, (void)all; \
		__VA_ARGS__; \
		hop_return(t, out[0].trace ? out[0] : hop_sin(t, all->h)); \
	}
#define USER (void *)all
#define LIST(...) (const hop_value[]){ __VA_ARGS__ }
#define COUNT(...) (int)(sizeof(hop_value[]){ __VA_ARGS__ } / sizeof(hop_value))
#define TAKES(...) COUNT(__VA_ARGS__), LIST(__VA_ARGS__)

/* ---- bodies ---- */

BODY(b_first, hop_return(t, in[0]))
BODY(b_sin, hop_return(t, hop_sin(t, in[0])))
BODY(b_cos, hop_return(t, hop_cos(t, in[0])))
BODY(b_clone, hop_return(t, hop_clone(t, in[0])))
BODY(b_float, hop_return(t, hop_f(t, 1.5)))
BODY(b_one, hop_return(t, hop_i(t, 1)))
BODY(b_two, hop_return(t, hop_i(t, 2)))
BODY(b_whole, hop_return(t, hop_scalar(t, HOP_i64, 2)))
BODY(b_twice, hop_value r = hop_sin(t, in[0]); hop_return(t, r, r))
BODY(b_both, hop_return(t, hop_sin(t, in[0]), hop_cos(t, in[0])))
BODY(b_row, hop_return(t, hop_index(t, in[0], 0, 0)))
BODY(b_new_row, hop_return(t, hop_index(t, hop_sin(t, in[0]), 0, 0)))
BODY(b_cast, hop_return(t, hop_cast(t, in[0], HOP_f32)))
BODY(b_sum, hop_return(t, hop_sum_all(t, in[0])))
BODY(b_short, hop_return(t, hop_narrow(t, hop_sin(t, in[0]), 0, 0, 2)))
BODY(b_ab, hop_return_named(t, "a, b", hop_sin(t, in[0]), hop_cos(t, in[0])))
BODY(b_ac, hop_return_named(t, "a, c", hop_sin(t, in[0]), hop_cos(t, in[0])))
BODY(b_write, hop_add_(t, in[0], in[0]); hop_return(t, hop_sin(t, in[0])))
BODY(b_write_x, hop_add_(t, all->x, in[0]); hop_return(t, hop_sin(t, in[0])))
BODY(b_print, hop_print(t, "{}", 1, in); hop_return(t, hop_sin(t, in[0])))
BODY(b_fails, hop_fail_here(t, "no such thing here"); hop_return(t, in[0]))
BODY(b_in_map, hop_value r; hop_map(t, b_fails, user, 1, in, 0, 1, &r); hop_return(t, r))
BODY(b_own, hop_value r = hop_sin(t, in[0]); hop_add_(t, r, in[0]); hop_return(t, r))

/* ---- cond ---- */

#define COND(then_, else_, ...) \
	hop_cond(t, all->p, then_, else_, USER, TAKES(__VA_ARGS__), 4, out)

PROGRAM(cond_pred_unset, hop_cond(t, HOP_NONE, b_sin, b_cos, USER, TAKES(all->x), 4, out))
PROGRAM(cond_numel, hop_cond(t, all->x, b_sin, b_cos, USER, TAKES(all->x), 4, out))
PROGRAM(cond_not_callable, COND(b_sin, NULL, all->x))
PROGRAM(cond_no_list, hop_cond(t, all->p, b_sin, b_cos, USER, 1, NULL, 4, out))
PROGRAM(cond_bad_leaf, COND(b_sin, b_cos, HOP_NONE))
PROGRAM(cond_float, COND(b_float, b_float, all->x))
PROGRAM(cond_int, COND(b_one, b_two, all->x))
PROGRAM(cond_int_tensor, COND(b_one, b_whole, all->x))
PROGRAM(cond_counts, COND(b_both, b_sin, all->x))
PROGRAM(cond_tree, COND(b_ab, b_ac, all->x))
PROGRAM(cond_dtype, COND(b_sin, b_cast, all->x))
PROGRAM(cond_rank, COND(b_sin, b_sum, all->x))
PROGRAM(cond_sizes, COND(b_sin, b_short, all->x))
BODY(b_second, hop_return(t, hop_index(t, hop_sin(t, in[0]), 0, 1)))
BODY(b_turned, hop_return(t, hop_transpose(t, hop_sin(t, in[0]), 0, 1)))
BODY(b_turned_cos, hop_return(t, hop_transpose(t, hop_cos(t, in[0]), 0, 1)))
BODY(b_sin_turned, hop_return(t, hop_sin(t, hop_transpose(t, in[0], 0, 1))))
BODY(b_turned_clone, hop_return(t, hop_clone(t, hop_transpose(t, hop_sin(t, in[0]), 0, 1))))
BODY(b_every_second, hop_return(t, hop_slice(t, hop_sin(t, in[0]), 0, hop_n(0), hop_n(2), 2)))
BODY(b_two_clone, hop_return(t, hop_clone(t, hop_narrow(t, hop_cos(t, in[0]), 0, 0, 2))))
BODY(b_repeats, hop_return(t, hop_expand(t, hop_sum_all(t, in[0]), 1, (hop_dim[]){ hop_n(3) })))
PROGRAM(cond_offset, COND(b_second, b_sum, all->x))
PROGRAM(cond_strides, COND(b_turned, b_cos, all->q))
PROGRAM(cond_strides_of_ops, COND(b_sin_turned, b_cos, all->q))
PROGRAM(cond_strides_alike, COND(b_turned, b_turned_cos, all->q))
PROGRAM(cond_strides_clone, COND(b_turned_clone, b_cos, all->q))
BODY(b_cos_second, hop_return(t, hop_cos(t, in[1])))
BODY(b_mixed, hop_return(t, hop_add(t, in[0], hop_transpose(t, in[0], 0, 1))))
BODY(b_mixed_turned, hop_return(t, hop_add(t, hop_transpose(t, in[0], 0, 1), in[0])))
PROGRAM(cond_strides_mixed, COND(b_mixed, b_cos, all->q))
PROGRAM(cond_strides_first, COND(b_mixed_turned, b_cos, all->q))
PROGRAM(cond_strides_outer, hop_value turned = hop_transpose(t, all->q, 0, 1);
        COND(b_sin, b_cos_second, turned, all->q))
PROGRAM(cond_gaps, COND(b_every_second, b_two_clone, all->x))
PROGRAM(cond_repeats, COND(b_repeats, b_sin, all->x))
PROGRAM(cond_identity, COND(b_sin, b_first, all->x))
PROGRAM(cond_clone, COND(b_sin, b_clone, all->x))
PROGRAM(cond_view, COND(b_row, b_sum, all->x))
PROGRAM(cond_own_view, COND(b_new_row, b_sum, all->x))
PROGRAM(cond_twice, COND(b_both, b_twice, all->x))
BODY(b_two_views, hop_return(t, hop_add(t, hop_sum_all(t, in[0]), in[1])))
PROGRAM(cond_two_views, hop_value first = hop_index(t, all->x, 0, 0);
        COND(b_two_views, b_sum, all->x, first))
PROGRAM(cond_write_operand, COND(b_sin, b_write, all->x))
PROGRAM(cond_write_capture, COND(b_sin, b_write_x, all->y))
PROGRAM(cond_write_own, COND(b_sin, b_own, all->x))
PROGRAM(cond_print, COND(b_sin, b_print, all->x))
PROGRAM(cond_break, COND(b_sin, b_in_map, all->x))
BODY(b_trains, hop_value r = hop_sin(t, in[0]); hop_value s;
     hop_cond(t, all->p, b_sin, b_write, user, 1, &r, 1, &s);
     hop_return(t, hop_sum_all(t, hop_add(t, r, s))))
PROGRAM(cond_training, hop_grad_at(t, b_trains, USER, TAKES(all->x), 1, (int[]){ 0 }, 4, out))

/* ---- switch ---- */

#define SWITCH(...) \
	hop_body *const branch[] = { __VA_ARGS__ }; \
	hop_switch(t, all->k, (int)(sizeof branch / sizeof *branch), branch, USER, TAKES(all->x), 4, out)

PROGRAM(switch_numel, hop_body *const branch[] = { b_sin, b_cos };
        hop_switch(t, hop_cast(t, all->x, HOP_i64), 2, branch, USER, TAKES(all->x), 4, out))
PROGRAM(switch_float_index, hop_body *const branch[] = { b_sin, b_cos };
        hop_switch(t, all->h, 2, branch, USER, TAKES(all->x), 4, out))
PROGRAM(switch_empty, hop_switch(t, all->k, 0, NULL, USER, TAKES(all->x), 4, out))
PROGRAM(switch_not_callable, SWITCH(b_sin, NULL, b_cos))
PROGRAM(switch_number, hop_body *const branch[] = { b_sin, b_cos };
        hop_switch(t, all->k, 2, branch, USER, TAKES(hop_f(t, 2)), 4, out))
PROGRAM(switch_counts, SWITCH(b_sin, b_both))
PROGRAM(switch_tree, SWITCH(b_ab, b_ab, b_ac))
PROGRAM(switch_float, SWITCH(b_sum, b_float))
PROGRAM(switch_int, SWITCH(b_one, b_two))
PROGRAM(switch_int_tensor, SWITCH(b_whole, b_two))
PROGRAM(switch_alias, SWITCH(b_sin, b_cos, b_first))
PROGRAM(switch_write, SWITCH(b_sin, b_write))
PROGRAM(switch_strides, hop_body *const branch[] = { b_sin, b_cos, b_turned };
        hop_switch(t, all->k, 3, branch, USER, TAKES(all->q), 4, out))
PROGRAM(switch_one, SWITCH(b_first))
PROGRAM(switch_clamped, hop_body *const branch[] = { b_sin, b_cos };
        hop_switch(t, hop_scalar(t, HOP_i64, 9), 2, branch, USER, TAKES(all->x), 4, out))

#endif
