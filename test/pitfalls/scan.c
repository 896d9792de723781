/* scan.c -- pitfalls of loops over slices: lengths, carries, stacks and their gradients. */
#include "pitfall.h"

BODY(decay)
{
	hop_value s = hop_add(t, hop_mulf(t, in[0], 0.5), in[1]);
	hop_return(t, s, hop_mul(t, s, s));
}

BODY(run)
{
	hop_value out[2];
	hop_scan(t, decay, NULL, 1, in, 1, in + 1, NULL, 2, out, NULL);
	hop_return(t, hop_add(t, hop_sum_all(t, out[0]), hop_sum_all(t, out[1])), out[0], out[1]);
}

PITFALL(43, "a scan of no steps")
{
	tensor no = EMPTY(HOP_f64), some = F(1, 2), three = F(1, 2, 3);
	gives(run, NULL, LIST(F0(3), no), LIST(F0(3), F0(3), no));
	gives(run, NULL, LIST(F0(3), UNKNOWN(no, "n")), LIST(F0(3), F0(3), no));
	gives(run, NULL, LIST(F0(4), UNKNOWN(some, "n")), LIST(F0(24.75), F0(3.5), F(9, 12.25)));
	gradient(run, NULL, LIST(F0(3), no), WRT(0, 1), LIST(F0(1), no));
	gradient(run, NULL, LIST(F0(3), UNKNOWN(no, "n")), WRT(0, 1), LIST(F0(1), no));
	lanes(run, NULL, LIST(three, EMPTY2(HOP_f64, 3, 0)), AXES(0, 0));
}

BODY(cube)
{
	hop_return(t, hop_mul(t, in[0], hop_mul(t, in[0], in[0])), in[0]);
}

BODY(only_xs)
{
	hop_value out[2];
	hop_scan(t, cube, NULL, 0, NULL, 1, in, NULL, 2, out, NULL);
	hop_return(t, hop_sum_all(t, out[0]), out[0], out[1]);
}

PITFALL(44, "a scan without carries, which returns its slices")
{
	gives(only_xs, NULL, LIST(F(1, 2, 3)), LIST(F0(36), F(1, 8, 27), F(1, 2, 3)));
	gradient(only_xs, NULL, LIST(F(1, 2, 3)), WRT(0), LIST(F(3, 12, 27)));
}

BODY(double_it)
{
	hop_return(t, hop_mulf(t, in[0], 2), in[0]);
}

BODY(no_xs)
{
	hop_value out[2];
	hop_scan(t, double_it, NULL, 1, in, 0, NULL, HOP_SCAN_OPTS(.has_length = true,
	         .length = hop_dim_of(t, in[1], 0)), 2, out, NULL);
	hop_return(t, hop_sum_all(t, out[1]), out[0], out[1]);
}

BODY(no_length)
{
	hop_value out[2];
	hop_scan(t, double_it, NULL, 1, in, 0, NULL, NULL, 2, out, NULL);
	hop_return(t, out[0]);
}

PITFALL(45, "a scan over nothing, of a length; its carry is what it stacks")
{
	tensor four = F(0, 0, 0, 0);
	gives(no_xs, NULL, LIST(F0(3), four), LIST(F0(45), F0(48), F(3, 6, 12, 24)));
	gives(no_xs, NULL, LIST(F0(3), UNKNOWN(four, "n")), LIST(F0(45), F0(48), F(3, 6, 12, 24)));
	gradient(no_xs, NULL, LIST(F0(3), four), WRT(0), LIST(F0(15)));
	refuses(no_length, NULL, LIST(F0(3)), HOP_EUSE,
	        "scan: without xs, give the length in the options");
}

struct pair {
	hop_value left, right;
};
HOP_TREE(pair_tree, struct pair, left, right);

BODY(dot_step)
{
	hop_return(t, hop_add(t, in[0], hop_mul(t, in[1], in[2])));
}

BODY(dots)
{
	hop_value out[1];
	hop_scan(t, dot_step, NULL, 1, in, 2, in + 1, HOP_SCAN_OPTS(.x = &pair_tree), 1, out, NULL);
	hop_return(t, out[0]);
}

PITFALL(46, "what is scanned has different lengths")
{
	refuses(dots, NULL, LIST(F0(0), F(1, 2, 3), F(1, 2)), HOP_ESHAPE,
	        "scan: x.right has length 2, the scan has 3");
	refuses(dots, NULL, LIST(F0(0), F(1, 2, 3), F0(1)), HOP_ESHAPE,
	        "scan: x.right is f64, it has no axis 0");
	refuses_call(dots, NULL, LIST(F0(0), UNKNOWN(F(1, 2, 3), "n"), UNKNOWN(F(1, 2), "m")),
	             HOP_ESHAPE, "scan: xs 1 has 2 slices, the length is 3");
}

BODY(chain)
{
	hop_value a[2], b[2], s = hop_scalar(t, HOP_f64, 0);
	hop_scan(t, decay, NULL, 1, in, 1, in + 1, NULL, 2, a, NULL);
	hop_scan(t, decay, NULL, 1, &s, 1, a + 1, HOP_SCAN_OPTS(.reverse = true), 2, b, NULL);
	hop_scan(t, decay, NULL, 1, a, 1, b + 1, NULL, 2, a, NULL);
	hop_return(t, hop_sum_all(t, a[1]));
}

PITFALL(47, "the gradient of scans in a chain")
{
	slopes(chain, NULL, LIST(F0(0.5), F(0.1, -0.2, 0.3, 0.4)), WRT(0, 1));
	slopes2(chain, NULL, LIST(F0(0.5), F(0.1, -0.2, 0.3)), WRT(0, 1));
}

BODY(cell)
{
	hop_value w = *(hop_value *)user, h = hop_tanh(t, hop_add(t, hop_matmul(t, w, in[0]), in[1]));
	hop_return(t, h);
}

BODY(network)
{
	hop_value out[1], w = in[0], zero = hop_zeros(t, HOP_f64, 1, (hop_dim[]){ hop_n(2) });
	hop_scan(t, cell, &w, 1, &zero, 1, in + 1, NULL, 1, out, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[0])));
}

PITFALL(48, "the gradient of captured weights, where the start needs none")
{
	slopes(network, NULL, LIST(F2(2, 2, 0.5, -1, 1.5, 0.3), F2(3, 2, 1, 2, -1, 0.5, 0.2, 0.1)),
	       WRT(0));
	slopes(network, NULL, LIST(F2(2, 2, 0.5, -1, 1.5, 0.3), F2(3, 2, 1, 2, -1, 0.5, 0.2, 0.1)),
	       WRT(0, 1));
}

PITFALL(49, "a carry that starts the same in all lanes")
{
	tensor x = F2(2, 3, 1, 2, 3, 4, 5, 6);
	lanes(run, NULL, LIST(F0(1), x), AXES(-1, 0));
	lanes(run, NULL, LIST(F0(1), x), AXES(-1, 1));
	lanes(run, NULL, LIST(F(1, 2), F(1, 2, 3)), AXES(0, -1));
	lanes(network, NULL, LIST(F3(2, 2, 2, 1, 2, 3, 4, 5, 6, 7, 8), F2(3, 2, 1, 2, 3, 4, 5, 6)),
	      AXES(0, -1));
	lanes(network, NULL, LIST(F2(2, 2, 1, 2, 3, 4), F3(3, 2, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	      12)), AXES(-1, 1));
}

BODY(columns)
{
	hop_value out[2];
	hop_scan(t, decay, NULL, 1, in, 1, in + 1, HOP_SCAN_OPTS(.axis = -1, .reverse = true), 2, out,
	         NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], in[1])), out[0], out[1]);
}

/* Column 2 first: s = x2, x1 + x2 / 2, x0 + s / 2. */
PITFALL(50, "a scan backwards along the last axis")
{
	tensor x = F2(2, 3, 1, 2, 4, 0, 2, -2);
	gives(columns, NULL, LIST(F(0, 0), x), LIST(F0(9 + 2 * 16 + 4 * 16 + 2 * 1 - 2 * 4),
	      F(3, 0.5), F2(2, 3, 9, 16, 16, 0.25, 1, 4)));
	slopes(columns, NULL, LIST(F(0.5, 1), x), WRT(0, 1));
}

BODY(in_place)
{
	hop_value log = *(hop_value *)user;
	hop_mul_(t, in[0], in[1]);
	hop_mul_(t, in[1], hop_f(t, 100));
	hop_add_(t, log, in[0]);
	hop_return(t, in[0], in[1]);
}

BODY(products)
{
	hop_value out[2], log = hop_clone(t, in[2]);
	hop_scan(t, in_place, &log, 1, in, 1, in + 1, NULL, 2, out, NULL);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], log)), log, out[0], out[1], in[0], in[1]);
}

PITFALL(51, "a step writes its carry, its slice and a captured buffer, under a gradient")
{
	gives(products, NULL, LIST(F0(2), F(3, 5), F0(1)), LIST(F0(800 * 37), F0(1 + 6 + 30), F0(30),
	      F(300, 500), F0(2), F(3, 5)));
	slopes(products, NULL, LIST(F0(2), F(3, 5), F0(1)), WRT(0, 1, 2));
	slopes2(products, NULL, LIST(F0(0.2), F(0.3, 0.5), F0(1)), WRT(0, 1, 2));
}

struct lstm {
	hop_value h, c;
};
HOP_TREE(lstm_tree, struct lstm, h, c);

BODY(promotes)
{
	hop_return(t, in[0], hop_add(t, in[1], hop_sum_all(t, in[2])), in[2]);
}

BODY(whole)
{
	hop_value out[3], init[2] = { in[0], hop_cast(t, in[0], HOP_i64) };
	hop_scan(t, promotes, NULL, 2, init, 1, in + 1, HOP_SCAN_OPTS(.carry = &lstm_tree), 3, out,
	         NULL);
	hop_return(t, out[0]);
}

PITFALL(52, "a carry is promoted by what is added to it")
{
	refuses(whole, NULL, LIST(F0(2), F(1, 2)), HOP_ETYPE,
	        "scan: carry.c is i64 when a step begins, f64 when it ends: cast it, or start with that "
	        "dtype");
}

BODY(differences)
{
	hop_value sum = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, 3, sum) {
		hop_value next = hop_take(t, in[0], hop_add(t, i, hop_i(t, 1)));
		hop_value d = hop_sub(t, next, hop_take(t, in[0], i));
		sum = hop_add(t, sum, hop_mul(t, d, d));
	}
	hop_return(t, sum);
}

PITFALL(53, "a step reads other slices than its own of what it goes over")
{
	gives(differences, NULL, LIST(F(1, 3, 7, 4)), LIST(F0(4 + 16 + 9)));
	gradient(differences, NULL, LIST(F(1, 3, 7, 4)), WRT(0), LIST(F(-4, 4 - 8, 8 + 6, -6)));
	lanes(differences, NULL, LIST(F2(2, 4, 1, 3, 7, 4, 0, 1, 0, 2)), AXES(0));
}

BODY(noise)
{
	hop_value x = in[0], two = HOP_NONE, key = in[1];
	int every = *(int *)user;
	HOP_FOR(t, i, 6, x) {
		hop_every(t, every);
		hop_value u = hop_uniform(t, hop_fold_in(t, key, i), HOP_f64, 0, NULL);
		hop_stack(t, &two, u);
		x = hop_mul(t, hop_sin(t, x), hop_addf(t, u, 0.5));
	}
	hop_return(t, hop_sum_all(t, x), two);
}

BODY(all_differ)
{
	hop_value out[2];
	int every = 0;
	hop_region(t, "noise", noise, &every, 2, in, 2, out);
	hop_value d = hop_sub(t, hop_unsqueeze(t, out[1], 0), hop_unsqueeze(t, out[1], 1));
	hop_value same = hop_cast(t, hop_eq(t, d, hop_f(t, 0)), HOP_i64);
	hop_return(t, hop_eq(t, hop_sum_all(t, same), hop_i(t, 6)));
}

PITFALL(54, "random numbers in a loop whose steps run again for the gradient")
{
	for (int every = -1; every < 4; every += 2) {
		slopes(noise, &every, LIST(F0(0.8), I0(7)), WRT(0));
		slopes2(noise, &every, LIST(F0(0.8), I0(7)), WRT(0));
	}
	holds(all_differ, NULL, LIST(F0(0.8), I0(7)));
}
