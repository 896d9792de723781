/* regions.c -- a part of a program that is a graph of its own: when two are one, what is compiled of
 * them, and what they may do. Counts are of graphs and nodes, never of seconds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- which are one ---- */

BODY(layer) { hop_return(t, hop_tanh(t, hop_mulf(t, in[0], 1.5))); }

/* *user layers, named by number. */
BODY(stack)
{
	hop_value h = in[0];
	for (int i = 0; i < *(int *)user; i++) {
		char name[32];
		snprintf(name, sizeof name, "model.layers.%d", i);
		hop_region(t, name, layer, NULL, 1, &h, 1, &h);
	}
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(93, "a layer's number in its name makes it no other layer")
{
	int n = 6;
	must(times("graph @", CAPTURED, stack, &n, LIST(F(0.5, 1))) == 2);       /* main, and the layer */
	must(times("= call ", CAPTURED, stack, &n, LIST(F(0.5, 1))) == 6);
	slopes(stack, &n, LIST(F(0.5, -1)), WRT(0));
}

/* Large enough to stay a graph when it is compiled. */
BODY(block)
{
	hop_value n = hop_layer_norm(t, in[0], HOP_NONE, HOP_NONE, 1e-5);
	hop_return(t, hop_add(t, in[0], hop_mul(t, hop_softmax(t, n, 0), hop_gelu(t, n))));
}
BODY(blocks)
{
	hop_value h = in[0];
	for (int i = 0; i < *(int *)user; i++)
		hop_region(t, "block", block, NULL, 1, &h, 1, &h);
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(94, "N equal layers are captured, differentiated, optimised and lowered as one")
{
	int few = 3, many = 48;
	for (enum stage s = CAPTURED; s <= TRAINED_OPTIMISED; s++) {
		int graphs = times("graph @", s, blocks, &few, LIST(F(0.5, 1)));
		int nodes = times("\n  %", s, blocks, &few, LIST(F(0.5, 1)));
		int calls = times("= call ", s, blocks, &few, LIST(F(0.5, 1)));
		must(graphs > 1 && calls > 0 && calls % 3 == 0);
		must(times("graph @", s, blocks, &many, LIST(F(0.5, 1))) == graphs);
		must(times("= call ", s, blocks, &many, LIST(F(0.5, 1))) == calls / 3 * 48);
		must(times("\n  %", s, blocks, &many, LIST(F(0.5, 1))) == nodes + calls / 3 * 45);
	}
	for (enum stage s = LOWERED; s <= TRAINED_LOWERED; s++) {
		int functions = times("func f", s, blocks, &few, LIST(F(0.5, 1)));
		must(functions == (s == LOWERED ? 2 : 3));               /* main, the block, and its way back */
		must(times("func f", s, blocks, &many, LIST(F(0.5, 1))) == functions);
		must(times(" loop ", s, blocks, &many, LIST(F(0.5, 1))) ==
		     times(" loop ", s, blocks, &few, LIST(F(0.5, 1))));
	}
}

BODY(one_region)
{
	hop_value h = in[0];
	hop_region(t, "layer", layer, NULL, 1, &h, 1, &h);
	hop_return(t, hop_sum_all(t, h));
}
BODY(no_region) { hop_return(t, hop_sum_all(t, hop_tanh(t, hop_mulf(t, in[0], 1.5)))); }

PITFALL(95, "a region that is called once costs nothing")
{
	for (enum stage s = OPTIMISED; s <= TRAINED_OPTIMISED; s++) {
		char *with = inside(s, one_region, NULL, LIST(F(0.5, 1)));
		char *without = inside(s, no_region, NULL, LIST(F(0.5, 1)));
		must(!strcmp(with, without));
		free(with);
		free(without);
	}
}

BODY(of_shapes)                                        /* f64[2], f64[3], f64[2] */
{
	hop_value out[3], sum = hop_scalar(t, HOP_f64, 0);
	for (int i = 0; i < 3; i++) {
		hop_region(t, "layer", layer, NULL, 1, &in[i], 1, &out[i]);
		sum = hop_add(t, sum, hop_sum_all(t, out[i]));
	}
	hop_return(t, sum);
}
BODY(of_dtypes)
{
	hop_value a = hop_cast(t, in[0], HOP_f32), b = in[0];
	hop_region(t, "layer", layer, NULL, 1, &a, 1, &a);
	hop_region(t, "layer", layer, NULL, 1, &b, 1, &b);
	hop_return(t, b, a);
}

PITFALL(96, "a region is another one for other sizes and dtypes")
{
	double y = tanh(1.5);
	must(times("graph @", CAPTURED, of_shapes, NULL, LIST(F(1, 1), F(1, 1, 1), F(1, 1))) == 3);
	gives(of_shapes, NULL, LIST(F(1, 1), F(1, 1, 1), F(1, 1)), LIST(F0(7 * y)));
	must(times("graph @", CAPTURED, of_dtypes, NULL, LIST(F(1))) == 3);
	gives(of_dtypes, NULL, LIST(F(1)), LIST(F(y), tensor_of(HOP_f32, 1, 1, 0, 0, (double[]){ y })));
}

BODY(times_user) { hop_return(t, hop_mulf(t, in[0], *(double *)user)); }
BODY(constants)
{
	double by[3] = { 2, 3, 2 };
	hop_value h = in[0];
	for (int i = 0; i < 3; i++)
		hop_region(t, "scale", times_user, &by[i], 1, &h, 1, &h);
	hop_return(t, h);
}

PITFALL(97, "a constant that a region was captured with is part of its key")
{
	must(times("graph @", CAPTURED, constants, NULL, LIST(F(1, 2))) == 3);
	gives(constants, NULL, LIST(F(1, 2)), LIST(F(12, 24)));
}

/* An outer region that looks at nothing itself; the inner one looks at *user. */
BODY(around)
{
	hop_value h = in[0];
	hop_region(t, "inner", times_user, user, 1, &h, 1, &h);
	hop_return(t, hop_addf(t, h, 1));
}
BODY(nested_keys)
{
	double by[3] = { 2, 3, 2 };
	hop_value h = in[0];
	for (int i = 0; i < 3; i++)
		hop_region(t, "outer", around, &by[i], 1, &h, 1, &h);
	hop_return(t, h);
}

PITFALL(98, "an outer region's key has in it what its inner regions depend on")
{
	must(times("graph @", CAPTURED, nested_keys, NULL, LIST(F(1))) == 5);
	gives(nested_keys, NULL, LIST(F(1)), LIST(F(((1 * 2 + 1) * 3 + 1) * 2 + 1)));
}

BODY(total) { hop_return(t, hop_add(t, in[0], hop_sum_all(t, in[0]))); }
BODY(symbols)                                          /* f64[n], f64[m], f64[n] */
{
	hop_value out[3];
	for (int i = 0; i < 3; i++)
		hop_region(t, "total", total, NULL, 1, &in[i], 1, &out[i]);
	hop_return_n(t, 3, out);
}

PITFALL(99, "a region of an unknown size is called with two unknown sizes")
{
	gives(symbols, NULL,
	      LIST(UNKNOWN(F(1, 2), "n"), UNKNOWN(F(1, 2, 3), "m"), UNKNOWN(F(5, 6), "n")),
	      LIST(F(4, 5), F(7, 8, 9), F(16, 17)));
}

BODY(first_of) { hop_return(t, hop_sin(t, in[0])); }
BODY(unused)                                           /* calls with an argument nobody reads */
{
	hop_value a[2] = { in[0], in[1] }, y[2];
	hop_region(t, "first", first_of, NULL, 2, a, 1, &y[0]);
	a[0] = y[0];
	a[1] = in[0];
	hop_region(t, "first", first_of, NULL, 2, a, 1, &y[1]);
	hop_return(t, hop_sum_all(t, y[1]));
}

PITFALL(100, "an argument that no call uses does not keep two regions apart")
{
	must(times("graph @", CAPTURED, unused, NULL, LIST(F(1, 2), F(3, 4))) == 2);
	must(times("graph @", TRAINED, unused, NULL, LIST(F(1, 2), F(3, 4))) == 3);
	gradient(unused, NULL, LIST(F(1, 2), F(3, 4)), WRT(0, 1),
	         LIST(F(cos(1) * cos(sin(1)), cos(2) * cos(sin(2))), F(0, 0)));
}

BODY(deep)                                             /* the same region in three bodies */
{
	hop_value h = in[0];
	HOP_FOR(t, i, 2, h) {
		hop_region(t, "layer", layer, NULL, 1, &h, 1, &h);
		HOP_IF(t, hop_eq(t, i, hop_i(t, 1)), h)
			hop_region(t, "layer", layer, NULL, 1, &h, 1, &h);
	}
	hop_region(t, "layer", layer, NULL, 1, &h, 1, &h);
	hop_return(t, hop_sum_all(t, h));
}

PITFALL(101, "a region is one graph inside of loops and branches too")
{
	double h = 0.7;
	for (int i = 0; i < 4; i++)
		h = tanh(1.5 * h);
	must(times("= tanh ", CAPTURED, deep, NULL, LIST(F(0.7))) == 1);
	gives(deep, NULL, LIST(F(0.7)), LIST(F0(h)));
	slopes(deep, NULL, LIST(F(0.7)), WRT(0));
	slopes2(deep, NULL, LIST(F(0.7)), WRT(0));
	lanes(deep, NULL, LIST(F2(3, 1, 0.7, -1, 0.2)), AXES(0));
}

/* ---- what is asked of their derivatives ---- */

BODY(product) { hop_return(t, hop_matmul(t, in[0], in[1])); }
BODY(laid_out)                                         /* cotangents dense, and a transposed view */
{
	hop_value y, z;
	hop_region(t, "product", product, NULL, 2, in, 1, &y);
	hop_region(t, "product", product, NULL, 2, (hop_value[]){ in[0], in[2] }, 1, &z);
	hop_value turned = hop_transpose(t, z, 0, 1);
	hop_return(t, hop_sum_all(t, hop_mul(t, hop_mul(t, y, in[2]), hop_mul(t, turned, in[2]))));
}

PITFALL(102, "cotangents of two layouts need one backward graph")
{
	tensor m[3] = { F2(2, 2, 1, 2, 3, 4), F2(2, 2, 0.5, -1, 2, 1), F2(2, 2, 1, 3, -1, 2) };
	must(times("graph @", TRAINED, laid_out, NULL, 3, m) == 3);
	slopes(laid_out, NULL, 3, m, WRT(0, 1, 2));
	slopes2(laid_out, NULL, 3, m, WRT(0, 1, 2));
}

BODY(sine_cosine) { hop_return(t, hop_sin(t, in[0]), hop_cos(t, in[0])); }
BODY(same_cotangent)
{
	hop_value y[2];
	hop_region(t, "pair", sine_cosine, NULL, 1, in, 2, y);
	hop_return(t, hop_sum_all(t, hop_mul(t, hop_add(t, y[0], y[1]), in[0])));
}
BODY(only_second)
{
	hop_value y[2];
	hop_region(t, "pair", sine_cosine, NULL, 1, in, 2, y);
	hop_return(t, hop_sum_all(t, y[1]));
}

PITFALL(103, "two cotangents are one value, or one is missing")
{
	slopes(same_cotangent, NULL, LIST(F(0.5, 2)), WRT(0));
	gradient(only_second, NULL, LIST(F(0.5, 2)), WRT(0), LIST(F(-sin(0.5), -sin(2))));
}

BODY(detached)
{
	hop_value a, b;
	hop_region(t, "layer", layer, NULL, 1, in, 1, &a);
	hop_region(t, "layer", layer, NULL, 1, in, 1, &b);
	hop_region(t, "layer", layer, NULL, 1, &b, 1, &b);             /* dropped: nobody reads it */
	hop_return(t, hop_sum_all(t, hop_mul(t, hop_stop_gradient(t, a), a)));
}

PITFALL(104, "a call that nothing is asked back of, beside one that is")
{
	double y = tanh(1.5 * 0.4), d = 1.5 * (1 - y * y);
	gradient(detached, NULL, LIST(F(0.4)), WRT(0), LIST(F(y * d)));
}

BODY(round_fwd)                                        /* the rule says 7x, not 2x */
{
	hop_save(t, 1, in);
	hop_return(t, hop_mul(t, in[0], in[0]), hop_cast(t, hop_round(t, in[0]), HOP_i64));
}
BODY(round_bwd) { hop_return(t, hop_mul(t, in[1], hop_mulf(t, in[0], 7))); }
BODY(with_whole)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = round_fwd, .bwd = round_bwd };
	hop_value out[2];
	hop_custom(t, &rule, NULL, 1, in, 2, out);
	hop_return_n(t, 2, out);
}
BODY(through_region)
{
	hop_value out[2];
	hop_region(t, "whole", with_whole, NULL, 1, in, 2, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[1])), out[1]);
}

PITFALL(105, "a result without a derivative stays without one through a region")
{
	gives(through_region, NULL, LIST(F(1.2, 2.9)), LIST(F0(1.44 + 3 * 8.41), I(1, 3)));
	gradient(through_region, NULL, LIST(F(1.2, 2.9)), WRT(0), LIST(F(7 * 1.2, 3 * 7 * 2.9)));
}

/* ---- inputs as results, writes, effects ---- */

BODY(views)                                            /* its input, twice, a view, a part */
{
	hop_return(t, in[0], in[0], hop_transpose(t, in[0], 0, 1), hop_narrow(t, in[0], 0, 1, 1));
}
BODY(independent)
{
	hop_value out[4], x = hop_clone(t, in[0]);
	hop_region(t, "views", views, NULL, 1, &x, 4, out);
	hop_add_(t, out[0], hop_f(t, 100));
	hop_mul_(t, x, hop_f(t, 0));
	hop_return(t, out[0], out[1], out[2], out[3], x);
}

PITFALL(106, "a region returns its input, twice, and views of it")
{
	gives(independent, NULL, LIST(F2(2, 2, 1, 2, 3, 4)),
	      LIST(F2(2, 2, 101, 102, 103, 104), F2(2, 2, 1, 2, 3, 4), F2(2, 2, 1, 3, 2, 4),
	           F2(1, 2, 3, 4), F2(2, 2, 0, 0, 0, 0)));
}

BODY(decay)                                            /* buffer, x: buffer = buffer / 2 + x x */
{
	hop_mul_(t, in[0], hop_f(t, 0.5));
	hop_add_(t, in[0], hop_mul(t, in[1], in[1]));
	hop_return(t, hop_add(t, in[0], in[1]));
}
BODY(averaged)                                         /* x, buffer */
{
	hop_value a[2] = { in[1], in[0] }, y, z;
	hop_region(t, "decay", decay, NULL, 2, a, 1, &y);
	hop_region(t, "decay", decay, NULL, 2, a, 1, &z);
	hop_return(t, hop_sum_all(t, hop_mul(t, y, z)));
}

PITFALL(107, "a region writes its argument, twice in a row, while it is trained")
{
	/* buffers 4/2 + 9 = 11 and 11/2 + 9 = 14.5; results 14 and 17.5 */
	leaves(averaged, NULL, LIST(F(3), F(4)), LIST(F0(14 * 17.5)), LIST(F(3), F(14.5)));
	/* (2x + 1) 17.5 + 14 (2x / 2 + 2x + 1) */
	gradient(averaged, NULL, LIST(F(3), F(4)), WRT(0), LIST(F(7 * 17.5 + 14 * 10)));
	must(times("graph @", CAPTURED, averaged, NULL, LIST(F(3), F(4))) == 2);
	slopes2(averaged, NULL, LIST(F(3), F(4)), WRT(0, 1));
}

BODY(says)
{
	hop_print(t, "x = {}", 1, in);
	hop_return(t, hop_mul(t, in[0], in[0]));
}
BODY(said)
{
	hop_value x = in[0];
	for (int i = 0; i < 3; i++)
		hop_region(t, "says", says, NULL, 1, &x, 1, &x);
	hop_return(t, x);
}
BODY(said_back)
{
	hop_value out[2];
	hop_grad_at(t, said, NULL, 1, in, WRT(0), 2, out);
	hop_print(t, "slope {}", 1, &out[1]);
	hop_return(t, out[1]);
}

PITFALL(108, "an effect in a region happens at every call, in order, and not again on the way back")
{
	prints(said, NULL, LIST(F0(2)), "x = 2.0\nx = 4.0\nx = 16.0\n");
	prints(said_back, NULL, LIST(F0(2)), "x = 2.0\nx = 4.0\nx = 16.0\nslope 1024.0\n");
}

/* ---- keys that are trusted ---- */

struct config { double scale; int runs; };

BODY(keyed_body)
{
	struct config *c = user;
	c->runs++;
	hop_return(t, hop_tanh(t, hop_mulf(t, in[0], c->scale)));
}
BODY(keyed)                                            /* 20 calls, of which the scale changes once */
{
	struct config *c = user;
	hop_value h = in[0];
	for (int i = 0; i < 20; i++) {
		c->scale = i < 10 ? 1.5 : 0.5;
		hop_region_keyed(t, "layer", keyed_body, c,
		                 HOP_REGION_OPTS(.statics = { HOP_STATIC(&c->scale, sizeof c->scale) }), 1,
		                 &h, 1, &h);
	}
	hop_return(t, hop_sum_all(t, h));
}
BODY(wrong_key)                                        /* the key does not have the scale */
{
	struct config *c = user;
	hop_value h = in[0];
	for (int i = 0; i < 2; i++) {
		c->scale = i + 1;
		hop_region_keyed(t, "layer", keyed_body, c, HOP_REGION_OPTS(.check = true), 1, &h, 1, &h);
	}
	hop_return(t, h);
}

PITFALL(180, "a key that is trusted spares the body, and its static data are part of it")
{
	struct config c = { 0 };
	double h = 0.3;
	for (int i = 0; i < 20; i++)
		h = tanh(h * (i < 10 ? 1.5 : 0.5));
	must(times("graph @", CAPTURED, keyed, &c, LIST(F(0.3))) == 3);
	must(c.runs == 2);
	gives(keyed, &c, LIST(F(0.3)), LIST(F0(h)));
	slopes(keyed, &c, LIST(F(0.3)), WRT(0));
}

PITFALL(181, "a key that leaves out what its body depends on is found when asked")
{
	struct config c = { 0 };
	refuses_capture(wrong_key, &c, LIST(F(1, 2)), HOP_EUSE,
	                "region_keyed: region layer gives another body under the same key: it depends on "
	                "something that is neither static data of it nor a type of an input");
}
