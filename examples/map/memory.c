/* memory.c -- what reverse mode keeps, what it computes again, and random numbers that are the same
 * both times. */
#include "map.h"

/* Of what is inside, reverse mode keeps the input alone, and computes the rest again. */
EXAMPLE(tag_activation_checkpoint, IN(V(1, 2)), GIVES(4, 32))
{
	hop_value x = in[0], y, loss, gx;
	HOP_GRAD(t, loss, 1, x, gx) {
		y = x;
		HOP_CHECKPOINT(t, NULL, y) {
			y = hop_mul(t, y, y);
			y = hop_mul(t, y, y);
		}
		loss = hop_sum_all(t, y);
	}
	hop_return(t, gx);                                    /* 4 x^3 */
}
ALSO(wrap_activation_checkpoint, tag_activation_checkpoint)
ALSO(checkpoint, tag_activation_checkpoint)

BODY(deep)
{
	hop_value x = in[0];
	for (int i = 0; i < 6; i++)
		x = hop_sin(t, hop_matmul(t, x, in[1]));
	hop_return(t, hop_sum_all(t, x));
}

/* Forward and backward as two functions; with a budget of 0 nothing is saved between them. */
PROGRAM(partitioner)
{
	hop_spec s[2] = { hop_spec2(HOP_f64, 4, 4), hop_spec2(HOP_f64, 4, 4) };
	hop_fn *f, *fwd, *bwd;
	int saved[2];

	must(c, hop_capture(c, deep, NULL, 2, s, &f));
	for (int budget = 0; budget < 2; budget++) {
		must(c, hop_split(f, 1, (int[]){ 0 }, budget, &fwd, &bwd));
		saved[budget] = hop_fn_nout(fwd) - 1;
		hop_fn_release(fwd);
		hop_fn_release(bwd);
	}
	printf(" %d or %d saved", saved[0], saved[1]);
	expect_that(saved[0] == 0 && saved[1] > 0);
	hop_fn_release(f);
}

/* Two draws of one key are the same numbers: there is no state to save and to set. */
EXAMPLE(run_and_save_rng_state, IN(S(7)), GIVES(0, 0, 0))
{
	hop_value key = hop_cast(t, in[0], HOP_i64);
	hop_dim n = hop_n(3);
	hop_return(t, hop_sub(t, hop_uniform(t, key, HOP_f64, 1, &n),
	                      hop_uniform(t, key, HOP_f64, 1, &n)));
}
ALSO(run_with_rng_state, run_and_save_rng_state)

/* Keys are values like others: here a loop carries one, and no two steps draw alike. */
EXAMPLE(graphsafe_run_with_rng_state, IN(S(7)), GIVES(1))
{
	hop_value key = hop_cast(t, in[0], HOP_i64), u, other;
	HOP_FOR(t, i, 2, key) {
		hop_stack(t, &u, hop_uniform(t, key, HOP_f64, 0, NULL));
		key = hop_fold_in(t, key, i);
	}
	other = hop_index(t, u, 0, 1);
	hop_return(t, hop_ne(t, hop_index(t, u, 0, 0), other));
}

/* The key of part 1 of a whole is made of the key of the whole and its place, wherever it is drawn. */
EXAMPLE(run_dtensor_rng_op, IN(S(7)), GIVES(0))
{
	hop_value key = hop_cast(t, in[0], HOP_i64), parts, here;
	HOP_MAP(t, i, 4)
		hop_stack(t, &parts, hop_uniform(t, hop_fold_in(t, key, i), HOP_f64, 0, NULL));
	here = hop_uniform(t, hop_fold_in(t, key, hop_i(t, 1)), HOP_f64, 0, NULL);
	hop_return(t, hop_sub(t, hop_index(t, parts, 0, 1), here));
}

/* in: x; user: an array w, of which the sum of squares is the same in every run. */
BODY(by_length)
{
	hop_value w = hop_use(t, user);
	hop_return(t, hop_mul(t, in[0], hop_sum_all(t, hop_mul(t, w, w))));
}

/* That part is computed once, and again when the array has been written. */
PROGRAM(run_const_graph)
{
	hop_array *w = vector(c, 2, (double[]){ 3, 4 }), *x = scalar(c, 2), *y;
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f;

	must(c, hop_capture(c, by_length, w, 1, &s, &f));
	must(c, hop_fn_compile(f, HOP_COMPILE_OPTS(.constants = HOP_CONSTANTS_ONCE)));
	for (int i = 0; i < 3; i++) {
		must(c, hop_call(f, 1, &x, 1, &y));
		expect(c, 1, &y, 50);
	}
	expect_that(hop_fn_kept(f).runs == 1);
	numbers(w)[0] = 0;
	hop_array_changed(w);
	must(c, hop_call(f, 1, &x, 1, &y));
	expect(c, 1, &y, 32);
	expect_that(hop_fn_kept(f).runs == 2);
	release(2, (hop_array *[]){ w, x });
	hop_fn_release(f);
}
