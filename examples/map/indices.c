/* indices.c -- dtypes of products, places that are values; and what stands around operators in graphs
 * of PyTorch. */
#include "map.h"

/* Factors in bf16, whose 8 bits do not hold 1/256 beside 1; the sum is an f32, which does. */
EXAMPLE(out_dtype, IN(V(1, 0.00390625), V(1, 1)), GIVES(1.00390625, 1))
{
	hop_value x = hop_cast(t, in[0], HOP_bf16), w = hop_cast(t, in[1], HOP_bf16);
	hop_return(t, hop_matmul_as(t, x, w, HOP_f32), hop_matmul(t, x, w));
}

/* A row by a number that is data; 7 is clamped to the last. */
EXAMPLE(mod_index, IN(M(3, 2, 1, 2, 3, 4, 5, 6), V(2, 0, 7)), GIVES(5, 6, 1, 2, 5, 6))
{
	hop_return(t, hop_gather(t, in[0], 0, hop_cast(t, in[1], HOP_i64)));
}

/* Added where the numbers say: two go to place 1. */
EXAMPLE(zeros_and_scatter, IN(V(1, 0, 1), V(10, 20, 30)), GIVES(20, 40, 0))
{
	hop_value zero = hop_zeros(t, HOP_f64, 1, ((hop_dim[]){ hop_n(3) }));
	hop_return(t, hop_scatter_add(t, zero, 0, hop_cast(t, in[0], HOP_i64), in[1]));
}

/* A number of C, or a value: they are two calls. */
EXAMPLE(TransformGetItemToIndex, IN(V(5, 6, 7), S(2)), GIVES(6, 7))
{
	hop_value at = hop_cast(t, in[1], HOP_i64);
	hop_return(t, hop_index(t, in[0], 0, 1), hop_take(t, in[0], at));
}

/* Attention written out, with a bias on the scores that the user chose: later keys count for less. */
static hop_value attention(hop_trace *t, hop_value q, hop_value k, hop_value v)
{
	hop_dim n[2] = { hop_n(2), hop_n(2) };
	hop_value score = hop_matmul(t, q, hop_transpose(t, k, 0, 1));
	score = hop_sub(t, score, hop_iota(t, HOP_f64, 2, n, 1));
	return hop_matmul(t, hop_softmax(t, score, 1), v);
}

#define QKV IN(M(2, 1, 0, 0), M(2, 1, 5, 7), M(2, 1, 1, 2))
EXAMPLE(flex_attention, QKV, GIVES(1.2689414, 1.2689414))
{
	hop_return(t, attention(t, in[0], in[1], in[2]));
}

EXAMPLE(flex_attention_backward, QKV, GIVES(0.3932239, 0.3932239))
{
	hop_value q = in[0], loss, gq;
	HOP_GRAD(t, loss, 1, q, gq)
		loss = hop_sum_all(t, attention(t, q, in[1], in[2]));
	hop_return(t, gq);
}
#undef QKV

/* ---- around operators ---- */

/* Sizes are of types, and symbols where they are not known; as data they are i64. */
EXAMPLE(sym_size, IN(M(2, 3, 1, 2, 3, 4, 5, 6)), GIVES(3))
{
	hop_return(t, hop_size_of(t, in[0], 1));
}

EXAMPLE(sym_min, IN(V(1, 2, 3), V(1, 2)), GIVES(0, 0))
{
	hop_dim n = hop_dim_min(t, hop_dim_of(t, in[0], 0), hop_dim_of(t, in[1], 0));
	hop_return(t, hop_zeros(t, HOP_f64, 1, &n));
}

/* A size that is data, within bounds. */
EXAMPLE(_local_scalar_dense, IN(S(4)), GIVES(6))
{
	hop_dim n = hop_as_size(t, hop_cast(t, in[0], HOP_i64), 0, 8);
	hop_return(t, hop_sum_all(t, hop_arange(t, HOP_f64, n)));
}

EXAMPLE(copy_, IN(V(1, 2), V(3, 4)), GIVES(3, 4))
{
	hop_value x = hop_clone(t, in[0]);
	hop_copy_(t, x, in[1]);
	hop_return(t, x);
}

EXAMPLE(lift_fresh_copy, IN(S(1)), GIVES(3, 5))
{
	hop_value two = hop_data(t, HOP_f64, 1, (const int64_t[]){ 2 }, (const double[]){ 2, 4 });
	hop_return(t, hop_add(t, two, in[0]));
}

/* Numbers from 0 to 1 of a key: as many as x has. */
EXAMPLE(rand_like, IN(S(7), V(1, 2, 3)), GIVES(1))
{
	hop_dim n = hop_dim_of(t, in[1], 0);
	hop_value u = hop_uniform(t, hop_cast(t, in[0], HOP_i64), HOP_f64, 1, &n);
	hop_return(t, hop_all(t, hop_and(t, hop_ge(t, u, hop_f(t, 0)), hop_lt(t, u, hop_f(t, 1))), 0, NULL));
}

/* Half of the numbers, doubled. */
EXAMPLE(native_dropout, IN(S(7), V(1, 2, 3)), GIVES(1))
{
	hop_dim n = hop_dim_of(t, in[1], 0);
	hop_value u = hop_uniform(t, hop_cast(t, in[0], HOP_i64), HOP_f64, 1, &n), y, left;
	y = hop_where(t, hop_lt(t, u, hop_f(t, 0.5)), hop_mulf(t, in[1], 2), hop_f(t, 0));
	left = hop_or(t, hop_eq(t, y, hop_f(t, 0)), hop_eq(t, y, hop_mulf(t, in[1], 2)));
	hop_return(t, hop_all(t, left, 0, NULL));
}

/* From one call to the other, what is computed is a constant to the gradient. */
EXAMPLE(_set_grad_enabled, IN(S(3)), GIVES(9))
{
	hop_value x = in[0], a, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		hop_mode_push(t, HOP_MODE_NO_GRAD, HOP_f32);
		a = hop_mul(t, x, x);
		hop_mode_pop(t);
		loss = hop_mul(t, a, x);
	}
	hop_return(t, gx);
}

EXAMPLE(_enter_autocast, IN(V(1.00390625, 1), V(1, 1)), GIVES(2))
{
	hop_value x = hop_cast(t, in[0], HOP_f32), w = hop_cast(t, in[1], HOP_f32), y;
	hop_mode_push(t, HOP_MODE_AUTOCAST, HOP_bf16);
	y = hop_matmul(t, x, w);
	hop_mode_pop(t);
	hop_return(t, y);
}
ALSO(_exit_autocast, _enter_autocast)

BODY(square)
{
	hop_return(t, hop_mul(t, in[0], in[0]));
}

/* A body for one lane, batched along the first axis. */
EXAMPLE(_add_batch_dim, IN(V(1, 2, 3)), GIVES(1, 4, 9))
{
	hop_value y;
	hop_vmap_at(t, square, NULL, 1, in, (const int[]){ 0 }, 1, &y);
	hop_return(t, y);
}

BODY(squares)
{
	hop_value y;
	hop_vmap_at(t, square, NULL, 1, in, (const int[]){ 0 }, 1, &y);
	hop_return(t, y);
}

/* Lanes of lanes. */
EXAMPLE(_vmap_increment_nesting, IN(M(2, 2, 1, 2, 3, 4)), GIVES(1, 4, 9, 16))
{
	hop_value y;
	hop_vmap_at(t, squares, NULL, 1, in, (const int[]){ 0 }, 1, &y);
	hop_return(t, y);
}
