/* region_opts.c -- what regions ask of the compiler, and what is computed once. Counts are of nodes,
 * loops and functions, never of seconds. */
#include <stdio.h>
#include <string.h>

#include "inside.h"

/* ---- options ---- */

struct net {
	hop_region_opts opts;
	int             layers;
};

BODY(layer)                                            /* too small to stay a function of its own */
{
	hop_return(t, hop_tanh(t, hop_exp(t, hop_sin(t, hop_mulf(t, in[0], 0.5)))));
}
BODY(layers)
{
	const struct net *n = user;
	hop_value h = in[0];
	for (int i = 0; i < n->layers; i++)
		hop_region_with(t, "layer", layer, NULL, &n->opts, 1, &h, 1, &h);
	hop_return(t, hop_sum_all(t, h));
}
BODY(no_region)
{
	hop_return(t, hop_sum_all(t, hop_tanh(t, hop_exp(t, hop_sin(t, hop_mulf(t, in[0], 0.5))))));
}

static struct net net(int n, hop_region_opts o)
{
	o.size = sizeof o;
	return (struct net){ o, n };
}

PITFALL(301, "what a region asks for is not lost on the way back")
{
	struct net n = net(2, (hop_region_opts){ .no_inline = true, .no_fuse = true, .unroll = 3,
		                                     .hints = "tile=8" });
	const char *asked = "{no_inline = true, no_fuse = true, unroll = 3, hints = \"tile=8\"";
	must(times(asked, CAPTURED, layers, &n, LIST(F(0.5, 1))) == 2);
	must(times("= call ", TRAINED, layers, &n, LIST(F(0.5, 1))) == 4);
	must(times(asked, TRAINED, layers, &n, LIST(F(0.5, 1))) == 4);
	slopes(layers, &n, LIST(F(0.5, 1)), WRT(0));
	slopes2(layers, &n, LIST(F(0.5, 1)), WRT(0));
	lanes(layers, &n, LIST(F2(2, 2, 0.5, 1, -1, 2)), AXES(0));
}

PITFALL(302, "a region that is called once is as many loops as the program without it")
{
	struct net n = net(1, (hop_region_opts){ 0 });
	for (enum stage s = LOWERED; s <= TRAINED_LOWERED; s++) {
		must(times("func f", s, layers, &n, LIST(F(0.5, 1))) == 1);
		must(times(" loop ", s, layers, &n, LIST(F(0.5, 1))) ==
		     times(" loop ", s, no_region, NULL, LIST(F(0.5, 1))));
	}
}

PITFALL(303, "a region can be kept from fusing, inside and across its border")
{
	struct net n = net(1, (hop_region_opts){ .no_fuse = true });
	double y = tanh(exp(sin(0.25)));
	must(times(" loop ", LOWERED, no_region, NULL, LIST(F(0.5, 0.5))) == 1);
	/* the sum, and four ops of the region */
	must(times(" loop ", LOWERED, layers, &n, LIST(F(0.5, 0.5))) == 5);
	gives(layers, &n, LIST(F(0.5, 0.5)), LIST(F0(2 * y)));
}

PITFALL(304, "N layers that stay functions are one function")
{
	struct net few = net(2, (hop_region_opts){ .no_inline = true });
	struct net many = net(40, (hop_region_opts){ .no_inline = true });
	must(times("func f", LOWERED, layers, &few, LIST(F(0.5, 1))) == 2);
	must(times("func f", LOWERED, layers, &many, LIST(F(0.5, 1))) == 2);
	must(times("func f", TRAINED_LOWERED, layers, &many, LIST(F(0.5, 1))) == 3);
	slopes(layers, &few, LIST(F(0.5, 1)), WRT(0));
}

/* ---- steps at a time ---- */

BODY(looped)
{
	hop_value h = in[0];
	HOP_FOR(t, i, 7, h)
		h = hop_sin(t, hop_mul(t, h, in[0]));
	hop_return(t, h);
}
BODY(in_region)
{
	hop_value y;
	hop_region_with(t, "loop", looped, NULL, user, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(305, "the loops of a region, and of its way back, run several steps at a time")
{
	hop_region_opts one = { .size = sizeof one }, three = { .size = sizeof three, .unroll = 3 };
	double h = 0.75;
	for (int i = 0; i < 7; i++)
		h = sin(h * 0.75);
	gives(in_region, &three, LIST(F(0.75)), LIST(F0(h)));
	must(times("= sin ", OPTIMISED, in_region, &one, LIST(F(0.75))) == 1);
	/* three, and one for what is left */
	must(times("= sin ", OPTIMISED, in_region, &three, LIST(F(0.75))) == 4);
	must(times("= cos ", TRAINED_OPTIMISED, in_region, &three, LIST(F(0.75))) >=
	     2 * times("= cos ", TRAINED_OPTIMISED, in_region, &one, LIST(F(0.75))));
	slopes(in_region, &three, LIST(F(0.75)), WRT(0));
	slopes2(in_region, &three, LIST(F(0.75)), WRT(0));
	lanes(in_region, &three, LIST(F2(2, 1, 0.5, -1)), AXES(0));
}

/* ---- once ---- */

static hop_array *weights;

BODY(with_weights)
{
	hop_return(t, hop_mul(t, in[0], hop_sum_all(t, hop_exp(t, hop_use(t, weights)))));
}

PITFALL(306, "what captured arrays are made into is computed once, and again when they change")
{
	hop_ctx *c;
	hop_fn *f;
	hop_array *x, *y;
	hop_spec s = hop_spec_of(HOP_f64, 0, NULL);
	double w[2] = { 0, 1 }, two = 2;
	must(!hop_ctx_new(NULL, &c));
	must(!hop_array_new(c, HOP_f64, 1, (int64_t[]){ 2 }, w, &weights));
	must(!hop_array_new(c, HOP_f64, 0, NULL, &two, &x));
	must(!hop_capture(c, with_weights, NULL, 1, &s, &f));
	must(!hop_fn_compile(f, HOP_COMPILE_OPTS(.constants = HOP_CONSTANTS_ONCE)));
	for (int i = 0; i < 6; i++) {
		if (i == 3) {
			((double *)hop_array_data(weights))[1] = 2;
			hop_array_changed(weights);
		}
		must(!hop_call(f, 1, &x, 1, &y));
		must(fabs(hop_array_at(y, 0) - 2 * (1 + exp(i < 3 ? 1 : 2))) < 1e-12);
		must(hop_fn_kept(f).runs == (i < 3 ? 1 : 2));
		hop_array_release(y);
	}
	hop_fn_release(f);
	hop_array_release(x);
	hop_array_release(weights);
	hop_ctx_free(c);
}
