/* leak.c -- pitfalls of what must not leave a body, or must be said: wrong uses, and their messages. */
#include <stdlib.h>
#include <string.h>

#include "pitfall.h"

BODY(leaks)
{
	hop_value kept = HOP_NONE, y = in[0];
	HOP_IF(t, in[1], y) {
		kept = hop_sin(t, y);
		y = hop_mul(t, kept, kept);
	}
	hop_return(t, hop_add(t, y, kept));
}

PITFALL(209, "a value of a body is used after it")
{
	refuses(leaks, NULL, LIST(F(1, 2), B0(1)), HOP_EUSE,
	        "add: a value that was made inside HOP_IF is used after it, or in its next trip, but its "
	        "variable is not listed there");
}

BODY(itself)
{
	hop_value out[1];
	hop_cond(t, hop_gt(t, in[0], hop_f(t, 0)), itself, itself, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

PITFALL(210, "a body that calls itself")
{
	refuses(itself, NULL, LIST(F0(1)), HOP_EUSE,
	        "cond: the then branch of cond is inside 256 others: does it call itself?");
}

BODY(unlisted)
{
	hop_value s = hop_scalar(t, HOP_f64, 0), last = in[0];
	HOP_FOR(t, i, 3, s) {
		s = hop_add(t, s, last);
		last = hop_take(t, in[1], i);
	}
	hop_return(t, s);
}

PITFALL(211, "a loop changes a variable that it does not say it carries")
{
	must(setenv("HOP_CHECK", "blocks", 1) == 0);
	refuses(unlisted, NULL, LIST(F0(1), F(1, 2, 3)), HOP_EUSE,
	        "add: a value that was made inside HOP_FOR is used after it, or in its next trip, but its "
	        "variable is not listed there");
}

BODY(spread)
{
	hop_value x = hop_expand(t, in[0], 2, (hop_dim[]){ hop_n(3), hop_n(2) });
	HOP_IF(t, in[1]) {
		hop_add_(t, x, hop_f(t, 1));
	}
	hop_return(t, in[0]);
}

PITFALL(212, "a branch writes a view in which elements stand for several")
{
	refuses(spread, NULL, LIST(F(1, 2), B0(1)), HOP_EREFUSED,
	        "add_: an expanded view cannot be written, since several of its elements are one: clone "
	        "it first");
}

BODY(grow)
{
	hop_return(t, hop_arange(t, HOP_f64, hop_as_size(t, in[0], 0, 8)));
}

BODY(grown)
{
	hop_value out[1];
	hop_region(t, "grow", grow, NULL, 1, in, 1, out);
	hop_return(t, out[0]);
}

PITFALL(213, "a body gives a result whose size only it knows")
{
	refuses_capture(grown, NULL, LIST(I0(5)), HOP_EREFUSED,
	                "region: result 0 of the body of region has a size that is only known inside it: "
	                "pad it to a capacity and return the count");
}

BODY(breaks)
{
	hop_value y = in[0];
	HOP_FOR(t, i, 3, y) {
		y = hop_add(t, y, hop_take(t, in[1], i));
		if (hop_rank(t, y) == 0)
			break;
	}
	hop_return(t, y);
}

PITFALL(214, "break leaves a loop while it is captured")
{
	refuses(breaks, NULL, LIST(F0(1), F(1, 2, 3)), HOP_EUSE,
	        "HOP_FOR: the block was left by break: it ends at its closing brace, or by continue");
}

BODY(forgets)
{
	hop_sin(t, in[0]);
}

BODY(forgetful)
{
	hop_value out[1];
	hop_scan(t, forgets, NULL, 1, in, 1, in + 1, NULL, 1, out, NULL);
	hop_return(t, out[0]);
}

PITFALL(215, "a body returns nothing")
{
	refuses(forgetful, NULL, LIST(F0(1), F(1, 2, 3)), HOP_EUSE,
	        "the body of scan ended without hop_return");
}

/* ---- graphs ---- */

BODY(step)
{
	hop_return(t, hop_add(t, in[0], hop_sin(t, in[1])));
}

BODY(sum2)
{
	hop_return(t, hop_add(t, in[0], in[1]));
}

BODY(sine)
{
	hop_return(t, hop_sin(t, in[0]));
}

BODY(three_loops)
{
	hop_value out[3];
	hop_scan(t, step, NULL, 1, in, 1, in + 1, NULL, 1, out, NULL);
	hop_map(t, sine, NULL, 1, in + 1, 0, 1, out + 1);
	hop_associative_scan(t, sum2, NULL, 1, in + 1, NULL, out + 2);
	hop_return(t, hop_add(t, out[0], hop_sum_all(t, hop_mul(t, out[1], out[2]))));
}

static size_t lines(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static size_t graph_size(int64_t length)
{
	hop_spec in[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, length) };
	const int wrt[2] = { 0, 1 };
	hop_fn *f, *g;
	ok(hop_capture(ctx, three_loops, NULL, 2, in, &f));
	ok(hop_grad(f, 2, wrt, &g));
	size_t n = lines(hop_fn_text(f)) + lines(hop_fn_text(g));
	hop_fn_release(f);
	hop_fn_release(g);
	return n;
}

PITFALL(216, "the graph of a long loop, and of its gradient, is that of a short one")
{
	must(graph_size(1000000) <= graph_size(16) + 4 && graph_size(16) < 400);
	slopes(three_loops, NULL, LIST(F0(1), F(1, 2, 3, 4)), WRT(0, 1));
}

BODY(says_yes)
{
	hop_value y = in[0];
	HOP_IF(t, hop_i(t, *(int *)user), y) {
		y = hop_mulf(t, y, 2);
	} else {
		y = hop_cast(t, y, HOP_f32);
	}
	hop_return(t, y);
}

BODY(constant)
{
	hop_value y = in[0];
	HOP_IF(t, hop_i(t, *(int *)user), y) {
		y = hop_mulf(t, y, 2);
	}
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(217, "the predicate is a constant of the host: the other branch is still looked at")
{
	int pred = 1;
	gives(constant, &pred, LIST(F(1, 2)), LIST(F0(6)));
	gradient(constant, &pred, LIST(F(1, 2)), WRT(0), LIST(F(2, 2)));
	pred = 0;
	gives(constant, &pred, LIST(F(1, 2)), LIST(F0(3)));
	pred = 1;
	refuses_capture(says_yes, &pred, LIST(F(1, 2)), HOP_ETYPE,
	                "cond: y is f64[2] in then, f32[2] in else: cast or reshape one of them");
}
