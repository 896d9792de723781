/* switch.c -- pitfalls of several branches chosen by a number. */
#include "pitfall.h"

BODY(sine)
{
	hop_return(t, hop_sin(t, in[0]), hop_mul(t, in[0], in[1]));
}

BODY(square)
{
	hop_return(t, hop_mul(t, in[0], in[0]), hop_add(t, in[0], in[1]));
}

BODY(swap)
{
	hop_return(t, in[1], in[0]);
}

static hop_body *const three[] = { sine, square, swap };

BODY(choose)
{
	hop_value out[2];
	hop_switch(t, in[2], 3, three, NULL, 2, in, 2, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], hop_exp(t, out[1]))), out[0], out[1]);
}

PITFALL(21, "the gradient of a switch")
{
	for (int i = 0; i < 3; i++) {
		slopes(choose, NULL, LIST(F(0.3, -1), F(0.5, 2), I0(i)), WRT(0, 1));
		slopes2(choose, NULL, LIST(F(0.3, -1), F(0.5, 2), I0(i)), WRT(0, 1));
	}
	gradient(choose, NULL, LIST(F0(2), F0(0), I0(2)), WRT(0, 1), LIST(F0(0), F0(exp(2))));
}

PITFALL(22, "a switch over lanes, each with its own index, and several results")
{
	tensor x = F2(4, 2, 1, 2, 3, 4, 5, 6, 7, 8), y = F(0.5, 0.25);
	lanes(choose, NULL, LIST(x, y, I(2, 0, 1, 0)), AXES(0, -1, 0));
	lanes(choose, NULL, LIST(x, y, I0(1)), AXES(0, -1, -1));
	lanes(choose, NULL, LIST(F(1, 2), y, I(2, 0, 1, 0)), AXES(-1, -1, 0));
}

BODY(ends)
{
	hop_value y = in[0];
	HOP_SWITCH(t, in[1], 3, y) {
	case 0: y = hop_mulf(t, y, 10); break;
	case 1: y = hop_mulf(t, y, 20); break;
	default: y = hop_mulf(t, y, 30); break;
	}
	hop_return(t, hop_sum_all(t, y));
}

PITFALL(23, "the index of a switch is out of range")
{
	gives(ends, NULL, LIST(F(1, 2), I0(-7)), LIST(F0(30)));
	gives(ends, NULL, LIST(F(1, 2), I0(3)), LIST(F0(90)));
	gives(ends, NULL, LIST(F(1, 2), I0(1e18)), LIST(F0(90)));
	gradient(ends, NULL, LIST(F(1, 2), I0(99)), WRT(0), LIST(F(30, 30)));
	lanes(ends, NULL, LIST(F2(4, 1, 1, 2, 3, 4), I(-1, 5, 1, 2)), AXES(0, 0));
}

PITFALL(24, "the index of a switch is no whole number")
{
	refuses(choose, NULL, LIST(F0(1), F0(2), F0(1)), HOP_ETYPE,
	        "switch: the index is f64, an integer it must be: cast it");
}

static hop_body *const with_hole[] = { sine, NULL, swap };

BODY(hole)
{
	hop_value out[2];
	hop_switch(t, in[2], 3, with_hole, NULL, 2, in, 2, out);
	hop_return(t, out[0]);
}

BODY(no_branches)
{
	hop_value out[2];
	hop_switch(t, in[2], 0, three, NULL, 2, in, 2, out);
	hop_return(t, out[0]);
}

PITFALL(25, "a switch without branches, or with a hole among them")
{
	refuses(no_branches, NULL, LIST(F0(1), F0(2), I0(1)), HOP_EUSE,
	        "switch: there is no branch to choose from");
	refuses(hole, NULL, LIST(F0(1), F0(2), I0(0)), HOP_EUSE,
	        "switch: no function was given for branch 1 of switch");
}

BODY(alone)
{
	hop_value out[2];
	hop_switch(t, in[2], 1, three, NULL, 2, in, 2, out);
	hop_return(t, hop_sum_all(t, out[0]), out[1]);
}

PITFALL(26, "a switch with one branch")
{
	gives(alone, NULL, LIST(F(1, 2), F(3, 4), I0(5)), LIST(F0(sin(1) + sin(2)), F(3, 8)));
	lanes(alone, NULL, LIST(F2(2, 1, 1, 2), F(3), I(0, 9)), AXES(0, -1, 0));
	slopes(alone, NULL, LIST(F(1, 2), F(3, 4), I0(5)), WRT(0));
}
