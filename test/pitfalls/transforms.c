/* transforms.c -- derivatives and batches as functions of bodies: what lanes share, what they draw, what
 * comes out beside a gradient, and what is asked for wrongly. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- what lanes share ---- */

BODY(look_up)                                          /* table, i */
{
	hop_return(t, hop_mul(t, hop_gather(t, in[0], 0, in[1]), hop_gather(t, in[0], 0, in[1])));
}
BODY(look_up_all)                                      /* table, is */
{
	hop_value y;
	hop_vmap_at(t, look_up, NULL, 2, in, AXES(-1, 0), 1, &y);
	hop_return(t, hop_sum_all(t, y), y);
}

PITFALL(168, "gradients of a table that all lanes read add up in one table")
{
	gives(look_up_all, NULL, LIST(F(1, 2, 3), I(2, 0, 2, 2)), LIST(F0(28), F(9, 1, 9, 9)));
	gradient(look_up_all, NULL, LIST(F(1, 2, 3), I(2, 0, 2, 2)), WRT(0), LIST(F(2, 0, 18)));
	/* the scatter is of the table's size, not of one table a lane */
	must(times("f64[4, 3]", TRAINED_OPTIMISED, look_up_all, NULL, LIST(F(1, 2, 3), I(2, 0, 2, 2))) == 0);
}

BODY(draws)                                            /* key; *user: which of two is drawn first */
{
	hop_value k[2] = { hop_fold_in(t, in[0], hop_i(t, 0)), hop_fold_in(t, in[0], hop_i(t, 1)) };
	hop_value u[2];
	for (int i = 0; i < 2; i++) {
		int which = *(int *)user ? 1 - i : i;
		u[which] = hop_uniform(t, k[which], HOP_f64, 1, (hop_dim[]){ hop_n(5) });
	}
	hop_return(t, u[0], u[1]);
}

PITFALL(169, "what is drawn does not depend on the order of the draws")
{
	tensor key[1] = { I0(11) };
	double first[10];
	for (int order = 0; order < 2; order++)
		for (int interpret = 0; interpret < 2; interpret++) {
			hop_fn *f = captured(draws, &order, 1, key);
			hop_array *a = array_of(key), *y[2];
			ok(hop_call_with(f, 1, &a, 2, y, HOP_RUN_OPTS(.interpret = interpret)));
			for (int i = 0; i < 10; i++) {
				double u = hop_array_at(y[i / 5], i % 5);
				if (!order && !interpret)
					first[i] = u;
				must(u == first[i] && u >= 0 && u < 1);
			}
			must(memcmp(first, first + 5, 5 * sizeof *first));
			hop_array_release(a);
			hop_array_release(y[0]);
			hop_array_release(y[1]);
			hop_fn_release(f);
		}
}

BODY(noisy)                                            /* x, key */
{
	hop_return(t, hop_add(t, in[0], hop_uniform(t, in[1], HOP_f64, 0, NULL)));
}
BODY(noisy_lanes)                                      /* xs, key: equal noise, own noise, by hand */
{
	hop_value same, own, hand[3];
	hop_vmap_at(t, noisy, NULL, 2, in, AXES(0, -1), 1, &same);
	hop_vmap_at(t, noisy, NULL, 2, in, AXES(0, HOP_OWN_KEY), 1, &own);
	for (int i = 0; i < 3; i++) {
		hop_value u = hop_uniform(t, hop_fold_in(t, in[1], hop_i(t, i)), HOP_f64, 0, NULL);
		hand[i] = hop_add(t, hop_index(t, in[0], 0, i), u);
	}
	hop_value one = hop_uniform(t, in[1], HOP_f64, 0, NULL);
	hop_return(t, hop_sub(t, hop_sub(t, same, in[0]), one),
	           hop_sub(t, own, hop_stack_n(t, 3, hand, 0)),
	           hop_all(t, hop_ne(t, hop_index(t, own, 0, 0), hop_index(t, own, 0, 1)), 0, NULL));
}

PITFALL(170, "lanes draw the same random numbers, or their own, as asked")
{
	gives(noisy_lanes, NULL, LIST(F(1, 1, 1), I0(5)), LIST(F(0, 0, 0), F(0, 0, 0), B0(1)));
}

BODY(update)                                           /* w, g -> w - g / (1 + g g) */
{
	hop_return(t, HOP_E(t, "w - g / (1 + g * g)", HOP_AS(w, in[0]), HOP_AS(g, in[1])));
}
BODY(optimiser)                                        /* *user pairs of f64[2], then one of f64[3] */
{
	int n = *(int *)user;
	hop_value list[2 * 40], out[40], sum = hop_scalar(t, HOP_f64, 0);
	for (int i = 0; i < n; i++) {
		list[2 * i] = i + 1 < n ? hop_mulf(t, in[0], i + 1) : in[1];
		list[2 * i + 1] = i + 1 < n ? in[0] : in[1];
	}
	hop_foreach_map(t, update, NULL, n, 2, list, 40, out);
	for (int i = 0; i < n; i++)
		sum = hop_add(t, sum, hop_sum_all(t, out[i]));
	hop_return(t, sum);
}

PITFALL(171, "a list of tensors is worked on by one body for each type, not for each tensor")
{
	int few = 4, many = 40;
	must(times("graph @", CAPTURED, optimiser, &few, LIST(F(1, 2), F(1, 2, 3))) == 3);
	must(times("graph @", CAPTURED, optimiser, &many, LIST(F(1, 2), F(1, 2, 3))) == 3);
	must(times("= call ", CAPTURED, optimiser, &many, LIST(F(1, 2), F(1, 2, 3))) == 40);
	/* (1 + 2) (1 + 2 + 3) - 3 (1/2 + 2/5) + 6 - 1/2 - 2/5 - 3/10 */
	gives(optimiser, &few, LIST(F(1, 2), F(1, 2, 3)), LIST(F0(18 - 2.7 + 6 - 1.2)));
	slopes(optimiser, &few, LIST(F(1, 2), F(1, 2, 3)), WRT(0, 1));
}

/* ---- beside a gradient ---- */

BODY(with_aux)                                         /* x -> loss, and more */
{
	hop_value s = hop_sum_all(t, hop_mul(t, in[0], in[0]));
	hop_return(t, s, hop_mulf(t, in[0], 10), hop_cast(t, in[0], HOP_i64), hop_gt(t, s, hop_f(t, 1)));
}
BODY(aux_beside)
{
	hop_value out[5];
	int n = hop_grad_at(t, with_aux, NULL, 1, in, WRT(0), 5, out);
	hop_return_n(t, n, out);
}

PITFALL(172, "results beside the loss come out as they are, of any dtype")
{
	gives(aux_beside, NULL, LIST(F(1, 2)), LIST(F0(5), F(10, 20), I(1, 2), B0(1), F(2, 4)));
}

BODY(layer) { hop_return(t, hop_sin(t, hop_mulf(t, in[0], 1.5))); }
BODY(some_trained)                                     /* x, y: one call is differentiated, one not */
{
	hop_value a, b;
	hop_region(t, "layer", layer, NULL, 1, &in[0], 1, &a);
	hop_region(t, "layer", layer, NULL, 1, &in[1], 1, &b);
	hop_return(t, hop_sum_all(t, hop_mul(t, a, b)));
}

PITFALL(173, "whether a call is differentiated does not make it another region")
{
	must(times("= sin ", TRAINED, some_trained, NULL, LIST(F(1, 2), F(3, 4))) == 1);
	must(times("{body = @layer}", TRAINED, some_trained, NULL, LIST(F(1, 2), F(3, 4))) == 2);
	gradient(some_trained, NULL, LIST(F(1, 2), F(3, 4)), WRT(0),
	         LIST(F(1.5 * cos(1.5) * sin(4.5), 1.5 * cos(3) * sin(6))));
}

BODY(many_small)                                       /* bf16: 1000 times 1 times 1 */
{
	hop_value x = hop_cast(t, in[0], HOP_bf16);
	hop_return(t, hop_cast(t, hop_matmul(t, x, x), HOP_f64), hop_cast(t, hop_sum_all(t, x), HOP_f64));
}

PITFALL(174, "sums and products of 16 bits add up in 32")
{
	double one[1000];
	for (int i = 0; i < 1000; i++)
		one[i] = 1;                                      /* in bf16, 256 + 1 is 256 */
	tensor x = tensor_of(HOP_f64, 1, 1000, 0, 0, one);
	gives(many_small, NULL, 1, &x, LIST(F0(1000), F0(1000)));
}

/* ---- asked for wrongly ---- */

BODY(vector) { hop_return(t, hop_mulf(t, in[0], 2)); }
BODY(whole) { hop_return(t, hop_sum_all(t, hop_cast(t, in[0], HOP_i64))); }
BODY(of_vector)
{
	hop_value out[2];
	hop_grad_at(t, vector, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}
BODY(of_whole)
{
	hop_value out[2];
	hop_grad_at(t, whole, NULL, 1, in, WRT(0), 2, out);
	hop_return(t, out[1]);
}
BODY(named_twice)
{
	hop_value out[3];
	hop_grad_at(t, with_aux, NULL, 1, in, WRT(0, 0), 3, out);
	hop_return(t, out[1]);
}
BODY(not_there)
{
	hop_value out[3];
	hop_grad_at(t, with_aux, NULL, 1, in, WRT(1), 3, out);
	hop_return(t, out[1]);
}

PITFALL(175, "a gradient of what is no float scalar")
{
	refuses(of_vector, NULL, LIST(F(1, 2)), HOP_ENODIFF,
	        "grad: the first result is f64[2], it must be a float scalar: sum it, or use vjp");
	refuses(of_whole, NULL, LIST(F(1, 2)), HOP_ENODIFF,
	        "grad: the first result is i64, it must be a float scalar: sum it, or use vjp");
}

PITFALL(176, "a gradient for an input twice, or for one that is not there")
{
	refuses(named_twice, NULL, LIST(F(1, 2)), HOP_EVALUE, "grad: input 0 is named twice");
	refuses(not_there, NULL, LIST(F(1, 2)), HOP_EVALUE, "grad: there is no input 1: there are 1");
}

BODY(short_tangent)                                    /* x, dx of another size */
{
	hop_value out[2];
	hop_jvp_at(t, vector, NULL, 1, in, WRT(0), in + 1, 2, out);
	hop_return(t, out[1]);
}
BODY(unlike_lanes)                                     /* xs, ys of another number */
{
	hop_value y;
	hop_vmap_at(t, noisy, NULL, 2, in, AXES(0, 0), 1, &y);
	hop_return(t, y);
}
BODY(no_lanes)
{
	hop_value y;
	hop_vmap_at(t, vector, NULL, 1, in, AXES(-1), 1, &y);
	hop_return(t, y);
}

PITFALL(177, "a tangent that does not fit its input")
{
	refuses(short_tangent, NULL, LIST(F(1, 2), F(1, 2, 3)), HOP_ESHAPE,
	        "jvp: the tangent of input 0 is f64[3], the input f64[2]");
}

PITFALL(178, "lanes of different numbers, or none")
{
	refuses(unlike_lanes, NULL, LIST(F(1, 2), I(1, 2, 3)), HOP_ESHAPE,
	        "vmap: input 1 is i64[3], its axis 0 has another size than those before");
	refuses(no_lanes, NULL, LIST(F(1, 2)), HOP_EUSE, "vmap: no input has an axis to go over");
}

/* ---- whole derivatives ---- */

BODY(cubes)                                            /* x -> by loops: x_i^3 x_0, and more */
{
	hop_value y = in[0];
	HOP_FOR(t, i, 2, y)
		y = hop_mul(t, y, in[0]);
	hop_return(t, hop_mul(t, y, hop_index(t, in[0], 0, 0)), hop_sum_all(t, in[0]),
	           hop_scalar(t, HOP_i64, 7));
}
BODY(forward_twice)                                    /* jacfwd of jacfwd */
{
	hop_value out[4];
	hop_jacfwd_at(t, cubes, NULL, 1, in, WRT(0), NULL, 4, out);
	hop_return(t, out[3]);
}
BODY(both_jacobians)
{
	hop_value a[4], b[4], c[2], d[2];
	hop_jacrev_at(t, cubes, NULL, 1, in, WRT(0), NULL, 4, a);
	hop_jacfwd_at(t, cubes, NULL, 1, in, WRT(0), NULL, 4, b);
	hop_jacfwd_at(t, forward_twice, NULL, 1, in, WRT(0), NULL, 2, c);
	hop_jacrev_at(t, forward_twice, NULL, 1, in, WRT(0), NULL, 2, d);
	hop_return(t, a[3], b[3], c[1], d[1], a[1], a[2]);
}

PITFALL(182, "a Jacobian of a Jacobian, forwards over forwards, with results beside it")
{
	/* y_0 = x^4, y_1 = z^3 x */
	double x = 2, z = 3;
	gives(both_jacobians, NULL, LIST(F(2, 3)),
	      LIST(F2(2, 2, 4 * x * x * x, 0, z * z * z, 3 * z * z * x),
	           F2(2, 2, 4 * x * x * x, 0, z * z * z, 3 * z * z * x),
	           F3(2, 2, 2, 12 * x * x, 0, 0, 0, 0, 3 * z * z, 3 * z * z, 6 * z * x),
	           F3(2, 2, 2, 12 * x * x, 0, 0, 0, 0, 3 * z * z, 3 * z * z, 6 * z * x), F0(5), I0(7)));
	lanes(both_jacobians, NULL, LIST(F2(2, 2, 2, 3, -1, 0.5)), AXES(0));
}

BODY(costly)                                           /* x: what linearize must not run twice */
{
	hop_value y = in[0];
	hop_print(t, "run", 0, NULL);
	HOP_FOR(t, i, 3, y)
		y = hop_sin(t, y);
	hop_return(t, y);
}
BODY(linearized)                                       /* x: its slope along three directions */
{
	hop_linear *lin;
	hop_value y, d[3];
	hop_linearize_at(t, costly, NULL, 1, in, WRT(0), 1, &y, &lin);
	for (int i = 0; i < 3; i++) {
		hop_value v = hop_scalar(t, HOP_f64, i + 1);
		hop_linear_apply(t, lin, 1, &v, 1, &d[i]);
		hop_print(t, "along", 0, NULL);
	}
	hop_return(t, hop_add(t, hop_add(t, d[0], d[1]), d[2]));
}

PITFALL(183, "a linearised function is run once, however often its slope is asked for")
{
	prints(linearized, NULL, LIST(F0(0.5)), "run\nalong\nalong\nalong\n");
	must(times("= sin ", OPTIMISED, linearized, NULL, LIST(F0(0.5))) == 1);
}

BODY(outer_product) { hop_return(t, hop_outer(t, in[0], in[1]), hop_sum_all(t, in[1])); }
struct how { int out[2], chunk; };
BODY(chunked)                                          /* xs, y: lanes along axis 1, out at the end */
{
	const struct how *o = user;
	hop_value out[2];
	hop_vmap_with_at(t, outer_product, NULL, 2, in,
	                 HOP_VMAP_OPTS(.nout = 2, .in = AXES(1, -1), .out = o->out, .chunk = o->chunk), 2,
	                 out);
	hop_return(t, out[0], out[1]);
}

PITFALL(184, "lanes go in along one axis and come out along another, some at a time")
{
	struct how o = { { 2, -1 }, 0 };
	tensor want = F3(2, 2, 3, 1, 2, 3, 10, 20, 30, 4, 5, 6, 40, 50, 60);
	gives(chunked, &o, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), F(1, 10)), LIST(want, F0(11)));
	o.out[1] = 0;
	for (o.chunk = 0; o.chunk < 4; o.chunk++)
		gives(chunked, &o, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), F(1, 10)), LIST(want, F(11, 11, 11)));
}

PITFALL(185, "chunks of no lanes, and an axis that is not there")
{
	struct how o = { { 2, 0 }, -1 }, far = { { 3, 0 }, 0 };
	refuses(chunked, &far, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), F(1, 10)), HOP_EVALUE,
	        "vmap: axis 3 for the lanes of result 0, which then has 3 axes: they count from 0, -1 is "
	        "none");
	refuses(chunked, &o, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), F(1, 10)), HOP_EVALUE,
	        "vmap: a chunk of -1: it is how many lanes are computed at a time, 0 is all of them");
}

/* ---- gradients of what is inside ---- */

BODY(with_inside)                                      /* x: of h, read twice, and of each step's y */
{
	hop_value h = hop_retain_grad(t, hop_sin(t, in[0]), "h"), sum = hop_sum_all(t, hop_mul(t, h, h));
	HOP_FOR(t, i, 2, sum) {
		hop_value y = hop_retain_grad(t, hop_mulf(t, hop_take(t, h, i), 3), "y");
		sum = hop_add(t, hop_mulf(t, sum, 0.5), hop_mul(t, y, y));
	}
	hop_return(t, sum);
}
BODY(told_inside)
{
	hop_value out[4];
	int n = hop_grad_at(t, with_inside, NULL, 1, in, WRT(0), 4, out);
	hop_return_n(t, n, out);
}

PITFALL(188, "the gradient of a value inside is that of all its uses, in every step")
{
	/* sum = (h0^2 + h1^2) / 4 + 9 h0^2 / 2 + 9 h1^2 */
	double a = sin(0.5), b = sin(2), ga = 0.5 * a + 9 * a, gb = 0.5 * b + 18 * b;
	gives(told_inside, NULL, LIST(F(0.5, 2)),
	      LIST(F0((a * a + b * b) / 4 + 4.5 * a * a + 9 * b * b), F(ga * cos(0.5), gb * cos(2)),
	           F(ga, gb), F(3 * a, 6 * b)));
	lanes(told_inside, NULL, LIST(F2(2, 2, 0.5, 2, -1, 1)), AXES(0));
}
