/* tried.c -- programs that PyTorch 2.13 refused, or got wrong, when they were run: control flow that is
 * trained, batched, differentiated forwards, or has nothing to do. Not what its sources say: the
 * files of the single operators. */
#include "pitfall.h"

/* ---- trained ---- */

BODY(doubled)                                          /* x, n -> x doubled n times */
{
	hop_value x = in[0], i = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_lt(t, i, in[1]), x, i) {
		x = hop_mulf(t, x, 2);
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

PITFALL(71, "no trips and one trip of one while have different gradients")
{
	for (int n = 0; n < 5; n++) {
		gives(doubled, NULL, LIST(F0(3), I0(n)), LIST(F0(3 << n)));
		gradient(doubled, NULL, LIST(F0(3), I0(n)), WRT(0), LIST(F0(1 << n)));
	}
}

BODY(gated)                                            /* xs, h: a small recurrent net */
{
	hop_value h = in[1], hs;
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), h) {
		hop_value x = hop_take(t, in[0], i), z = hop_sigmoid(t, hop_add(t, x, h));
		h = HOP_E(t, "z * h + (1 - z) * tanh(x * h)", z, h, x);
		hop_stack(t, &hs, h);
	}
	hop_return(t, HOP_E(t, "h + sum(hs * hs)", h, hs));
}

PITFALL(72, "a scan of tanh and sigmoid is trained as compiled code")
{
	slopes(gated, NULL, LIST(F(0.5, -1, 2, 0.1), F0(0.7)), WRT(0, 1));
	slopes2(gated, NULL, LIST(F(0.5, -1, 2, 0.1), F0(0.7)), WRT(0, 1));
}

BODY(search)                                           /* xs: of each, grown until it is 4 */
{
	hop_value sum = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), sum) {
		hop_value x = hop_take(t, in[0], i), y = x;
		HOP_WHILE(t, hop_lt(t, y, hop_f(t, 4)), y)
			y = HOP_E(t, "y * 1.5 + x * x", y, x);
		sum = HOP_E(t, "0.5 * sum + y", sum, y);
	}
	hop_return(t, sum);
}

PITFALL(73, "a while inside of a scan is trained")
{
	double y[4] = { 1, 2.2, 5, 0.4 }, sum = 0;           /* 3, 1, 0 and 6 trips */
	for (int i = 0; i < 4; i++) {
		double x = y[i];
		while (y[i] < 4)
			y[i] = y[i] * 1.5 + x * x;
		sum = 0.5 * sum + y[i];
	}
	gives(search, NULL, LIST(F(1, 2.2, 5, 0.4)), LIST(F0(sum)));
	slopes(search, NULL, LIST(F(1, 2.2, 5, 0.4)), WRT(0));
	slopes2(search, NULL, LIST(F(1, 2.2, 5, 0.4)), WRT(0));
	lanes(search, NULL, LIST(F2(2, 4, 1, 2.2, 5, 0.4, 3, 0.1, 0.2, 7)), AXES(0));
}

BODY(three_times) { hop_return(t, hop_mulf(t, in[0], 3)); }
BODY(two_squares)
{
	hop_value x = hop_narrow(t, in[0], 0, 0, 2);
	hop_return(t, hop_mul(t, x, x));
}
BODY(unlike)                                           /* x, p */
{
	hop_value out[2];
	hop_cond_sized(t, in[1], three_times, two_squares, NULL, 1, in, 2, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0], out[1]);
}

PITFALL(74, "branches of unlike sizes are trained")
{
	gives(unlike, NULL, LIST(F(1, 2, 3), B0(1)), LIST(F0(18), F(3, 6, 9), I0(3)));
	gives(unlike, NULL, LIST(F(1, 2, 3), B0(0)), LIST(F0(5), F(1, 4, 0), I0(2)));
	gradient(unlike, NULL, LIST(F(1, 2, 3), B0(1)), WRT(0), LIST(F(3, 3, 3)));
	gradient(unlike, NULL, LIST(F(1, 2, 3), B0(0)), WRT(0), LIST(F(2, 4, 0)));
	slopes2(unlike, NULL, LIST(F(1, 2, 3), B0(0)), WRT(0));
}

BODY(cube_or_sine)                                     /* x, p */
{
	hop_value y = in[0];
	HOP_IF(t, in[1], y)
		y = HOP_E(t, "y * y * y", y);
	else
		y = hop_sin(t, y);
	hop_return(t, hop_sum_all(t, y));
}
BODY(twice_of)                                         /* the gradient of the sum of its gradient */
{
	hop_value out[2];
	hop_grad_at(t, cube_or_sine, NULL, 2, in, WRT(0), 2, out);
	hop_return(t, hop_sum_all(t, out[1]));
}

PITFALL(75, "a branch has a second derivative")
{
	gradient(twice_of, NULL, LIST(F(0.5, -2), B0(1)), WRT(0), LIST(F(3, -12)));
	gradient(twice_of, NULL, LIST(F(0.5, -2), B0(0)), WRT(0), LIST(F(-sin(0.5), -sin(-2))));
	slopes2(cube_or_sine, NULL, LIST(F(0.5, -2), B0(1)), WRT(0));
}

BODY(ramp)                                             /* x, n -> x (0 + 1 + .. n - 1) */
{
	hop_value sum = hop_zeros_like(t, in[0]), i = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_lt(t, i, in[1]), sum, i) {
		sum = hop_add(t, sum, hop_mul(t, in[0], i));
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, sum, i);
}

PITFALL(76, "a while that carries an integer is trained")
{
	gives(ramp, NULL, LIST(F0(1.5), I0(5)), LIST(F0(15), I0(5)));
	gradient(ramp, NULL, LIST(F0(1.5), I0(5)), WRT(0), LIST(F0(10)));
}

BODY(attend)                                           /* q, k, v, bias, slope */
{
	hop_value s = HOP_E(t, "q @ transpose(k, 0, 1) * 0.7", HOP_AS(q, in[0]), HOP_AS(k, in[1]));
	s = hop_add(t, s, hop_mul(t, in[4], in[3]));         /* a score of one's own */
	hop_value y = hop_matmul(t, hop_softmax(t, s, -1), in[2]);
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)));
}

PITFALL(77, "attention with learnt scores is trained on the CPU")
{
	slopes(attend, NULL, LIST(F2(2, 2, 1, 0.5, -1, 2), F2(3, 2, 0.3, 1, 0, -1, 0.8, 0.2),
	                          F2(3, 2, 1, 2, -1, 0.5, 0.1, 3), F2(2, 3, 0, 1, 2, 1, 0, 1), F0(0.4)),
	       WRT(0, 1, 2, 3, 4));
}

/* ---- batched, and forwards ---- */

BODY(pair)                                             /* x, p -> two results */
{
	hop_value y = in[0], z = in[0];
	HOP_IF(t, in[1], y, z) {
		y = hop_exp(t, y);
		z = hop_neg(t, z);
	} else {
		z = hop_mulf(t, z, 10);
	}
	hop_return(t, y, z);
}

PITFALL(78, "a batched predicate selects every result, not the first alone")
{
	lanes(pair, NULL, LIST(F2(3, 2, 1, 2, 3, 4, 5, 6), B(1, 0, 1)), AXES(0, 0));
	lanes(pair, NULL, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6), B(0, 1, 1)), AXES(1, 0));
	lanes(pair, NULL, LIST(F(1, 2), B(0, 1, 1)), AXES(-1, 0));
	lanes(pair, NULL, LIST(F2(2, 2, 1, 2, 3, 4), B0(1)), AXES(0, -1));
}

PITFALL(79, "a while is batched: lanes end when they end")
{
	lanes(doubled, NULL, LIST(F(1, 2, 3, 4), I(3, 0, 1, 7)), AXES(0, 0));
	lanes(doubled, NULL, LIST(F0(1.5), I(3, 0, 1)), AXES(-1, 0));
	lanes(ramp, NULL, LIST(F2(3, 1, 1, 2, 3), I0(4)), AXES(0, -1));
}

BODY(rows)                                             /* m, v: m's rows times v */
{
	hop_value ys;
	HOP_MAP(t, i, hop_dim_of(t, in[0], 0))
		hop_stack(t, &ys, hop_sum_all(t, hop_mul(t, hop_take(t, in[0], i), in[1])));
	hop_return(t, ys);
}

PITFALL(80, "a map is batched")
{
	lanes(rows, NULL, LIST(F3(2, 2, 2, 1, 2, 3, 4, 5, 6, 7, 8), F(1, 10)), AXES(0, -1));
	lanes(rows, NULL, LIST(F3(2, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3), F2(2, 2, 1, 10, 2, 20)),
	      AXES(0, 1));
	lanes(rows, NULL, LIST(F2(2, 2, 1, 2, 3, 4), F2(3, 2, 1, 2, 3, 4, 5, 6)), AXES(-1, 0));
}

struct forward { hop_body *f; int nin; };
BODY(forward)                                          /* inputs of f, tangent of the first */
{
	const struct forward *o = user;
	hop_value out[4];
	int n = hop_jvp_at(t, o->f, NULL, o->nin, in, WRT(0), in + o->nin, 4, out);
	hop_return(t, out[n - 1]);
}
BODY(powers)                                           /* xs, h: the sum of h^i x_i, Horner's way */
{
	hop_value h = hop_zeros_like(t, in[1]);
	HOP_FOR_DOWN(t, i, hop_dim_of(t, in[0], 0), h)
		h = hop_add(t, hop_mul(t, h, in[1]), hop_take(t, in[0], i));
	hop_return(t, h);
}

PITFALL(81, "branches and loops are differentiated forwards")
{
	struct forward o = { cube_or_sine, 2 }, w = { doubled, 2 }, s = { powers, 2 };
	gives(forward, &o, LIST(F(0.5, -2), B0(1), F(1, 10)), LIST(F0(0.75 + 120)));
	gives(forward, &o, LIST(F(0.5, -2), B0(0), F(1, 10)), LIST(F0(cos(0.5) + 10 * cos(2))));
	gives(forward, &w, LIST(F0(3), I0(5), F0(0.5)), LIST(F0(16)));
	gives(forward, &w, LIST(F0(3), I0(0), F0(0.5)), LIST(F0(0.5)));
	gives(forward, &s, LIST(F(1, 2, 3), F0(2), F(1, 1, 1)), LIST(F0(7)));
}

BODY(steps)                                            /* x: grad inside of a branch inside of a loop */
{
	hop_value x = in[0], p = hop_lt(t, hop_sum_all(t, x), hop_f(t, 0));
	HOP_FOR(t, i, 3, x) {
		hop_value two[2] = { x, p }, out[2];
		hop_grad_at(t, cube_or_sine, NULL, 2, two, WRT(0), 2, out);
		x = hop_sub(t, x, hop_mulf(t, out[1], 0.1));
	}
	hop_return(t, x);
}

PITFALL(82, "a gradient is taken of a branch, inside of a loop")
{
	double x = 0.8, y = -0.8;
	for (int i = 0; i < 3; i++) {
		x -= 0.1 * cos(x);
		y -= 0.1 * 3 * y * y;
	}
	gives(steps, NULL, LIST(F(0.8)), LIST(F(x)));
	gives(steps, NULL, LIST(F(-0.8)), LIST(F(y)));
}

/* ---- inputs as results ---- */

BODY(fibonacci)                                        /* a, b, n: carries that change places */
{
	hop_value a = in[0], b = in[1], i = hop_scalar(t, HOP_i64, 0), kept = in[0];
	HOP_WHILE(t, hop_lt(t, i, in[2]), a, b, i, kept) {
		hop_value next = hop_add(t, a, b);
		a = b;
		b = next;
		kept = kept;
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, a, b, kept);
}
BODY(exchange) { hop_return(t, in[1], in[0], hop_add(t, in[2], hop_i(t, 1))); }
BODY(thrice) { hop_return(t, hop_lt(t, in[2], hop_i(t, 3))); }
BODY(exchanged)
{
	hop_value init[3] = { in[0], in[1], hop_scalar(t, HOP_i64, 0) }, out[3];
	hop_while(t, thrice, exchange, NULL, 3, init, NULL, out, NULL);
	hop_return(t, out[0], out[1]);
}

PITFALL(83, "a loop returns a carry, and exchanges two")
{
	gives(fibonacci, NULL, LIST(F0(1), F0(2), I0(5)), LIST(F0(13), F0(21), F0(1)));
	gives(exchanged, NULL, LIST(F(1, 2), F(3, 4)), LIST(F(3, 4), F(1, 2)));
	gradient(fibonacci, NULL, LIST(F0(1), F0(2), I0(5)), WRT(0, 1), LIST(F0(3), F0(5)));
}

BODY(both) { hop_return(t, in[0], in[0], in[1], in[1]); }
BODY(told_twice)                                       /* h, x -> h; h, x, x */
{
	hop_value out[4];
	hop_scan(t, both, NULL, 1, in, 1, in + 1, NULL, 4, out, NULL);
	hop_add_(t, out[2], hop_f(t, 100));                  /* no results share memory */
	hop_return_n(t, 4, out);
}

PITFALL(84, "a scan returns its carry and its slice, each twice")
{
	gives(told_twice, NULL, LIST(F0(7), F(1, 2)), LIST(F0(7), F(7, 7), F(101, 102), F(1, 2)));
}

BODY(keep) { hop_return(t, in[0]); }
BODY(items)
{
	hop_value out;
	hop_map(t, keep, NULL, 1, in, 0, 1, &out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out, out)), out);
}

PITFALL(85, "a map returns its item")
{
	gives(items, NULL, LIST(F2(2, 2, 1, 2, 3, 4)), LIST(F0(30), F2(2, 2, 1, 2, 3, 4)));
	gradient(items, NULL, LIST(F2(2, 2, 1, 2, 3, 4)), WRT(0), LIST(F2(2, 2, 2, 4, 6, 8)));
}

/* ---- writes while training ---- */

BODY(written)                                          /* x, p: a branch writes a buffer */
{
	hop_value buf = hop_clone(t, in[0]);
	HOP_IF(t, in[1])
		hop_mul_(t, buf, in[0]);
	hop_return(t, hop_sum_all(t, hop_mul(t, buf, buf)), buf);
}
BODY(counted)                                          /* x, n: a loop writes one */
{
	hop_value buf = hop_clone(t, in[0]), i = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_lt(t, i, in[1]), i) {
		hop_mul_(t, buf, in[0]);
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, buf), buf);
}

PITFALL(86, "branches and loops write what they captured while they are trained")
{
	gives(written, NULL, LIST(F(2, 3), B0(1)), LIST(F0(97), F(4, 9)));
	gradient(written, NULL, LIST(F(2, 3), B0(1)), WRT(0), LIST(F(32, 108)));
	gradient(written, NULL, LIST(F(2, 3), B0(0)), WRT(0), LIST(F(4, 6)));
	gives(counted, NULL, LIST(F(2, 3), I0(3)), LIST(F0(97), F(16, 81)));
	gradient(counted, NULL, LIST(F(2, 3), I0(3)), WRT(0), LIST(F(32, 108)));
	gradient(counted, NULL, LIST(F(2, 3), I0(0)), WRT(0), LIST(F(1, 1)));
	slopes2(counted, NULL, LIST(F(2, 3), I0(3)), WRT(0));
	lanes(written, NULL, LIST(F2(2, 2, 2, 3, 4, 5), B(1, 0)), AXES(0, 0));
	lanes(counted, NULL, LIST(F2(3, 2, 2, 3, 4, 5, 1, 2), I(1, 0, 4)), AXES(0, 0));
}

BODY(history)                                          /* xs: running sums, written row by row */
{
	hop_value table = hop_clone(t, hop_zeros_like(t, in[0])), h = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), h) {
		h = hop_add(t, h, hop_take(t, in[0], i));
		hop_index_put_(t, table, 0, i, hop_mul(t, h, h));
	}
	hop_return(t, hop_sum_all(t, table), table);
}

PITFALL(87, "a scan writes what it captured while it is trained")
{
	gives(history, NULL, LIST(F(1, 2, 3)), LIST(F0(46), F(1, 9, 36)));
	gradient(history, NULL, LIST(F(1, 2, 3)), WRT(0), LIST(F(20, 18, 12)));
	slopes2(history, NULL, LIST(F(1, 2, 3)), WRT(0));
	lanes(history, NULL, LIST(F2(3, 2, 2, 3, 4, 5, 1, 2)), AXES(1));
}

BODY(race)
{
	hop_value sum = hop_clone(t, hop_zeros_like(t, in[0])), ys;
	HOP_MAP(t, i, 3) {
		hop_add_(t, sum, in[0]);
		hop_stack(t, &ys, sum);
	}
	hop_return(t, ys);
}

PITFALL(88, "the steps of a map race for a tensor that they write")
{
	refuses(race, NULL, LIST(F(1, 2)), HOP_EREFUSED,
	        "map: a captured tensor is written in HOP_MAP");
}

/* ---- nothing to do ---- */

PITFALL(89, "scans, maps and prefixes of no rows have values and gradients")
{
	gives(powers, NULL, LIST(EMPTY(HOP_f64), F0(2)), LIST(F0(0)));
	gradient(powers, NULL, LIST(EMPTY(HOP_f64), F0(2)), WRT(0, 1), LIST(EMPTY(HOP_f64), F0(0)));
	gives(items, NULL, LIST(EMPTY2(HOP_f64, 0, 2)), LIST(F0(0), EMPTY2(HOP_f64, 0, 2)));
	gradient(items, NULL, LIST(EMPTY2(HOP_f64, 0, 2)), WRT(0), LIST(EMPTY2(HOP_f64, 0, 2)));
}

BODY(tally)                                            /* xs: how many are positive, their sum */
{
	hop_value n = hop_scalar(t, HOP_i64, 0), sum = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), n, sum) {
		hop_value x = hop_take(t, in[0], i), yes = hop_gt(t, x, hop_f(t, 0));
		n = hop_add(t, n, hop_cast(t, yes, HOP_i64));
		sum = hop_select(t, yes, hop_add(t, sum, hop_mul(t, n, x)), sum);
	}
	hop_return(t, sum, n);
}
BODY(square) { hop_return(t, hop_mul(t, in[0], in[0])); }
BODY(no_carry)
{
	hop_value out;
	hop_scan(t, square, NULL, 0, NULL, 1, in, NULL, 1, &out, NULL);
	hop_return(t, hop_sum_all(t, out), out);
}

PITFALL(90, "a scan carries an integer, or nothing")
{
	gives(tally, NULL, LIST(F(1, -2, 3, 4)), LIST(F0(1 + 6 + 12), I0(3)));
	gradient(tally, NULL, LIST(F(1, -2, 3, 4)), WRT(0), LIST(F(1, 0, 2, 3)));
	gives(no_carry, NULL, LIST(F(1, 2, 3)), LIST(F0(14), F(1, 4, 9)));
	gradient(no_carry, NULL, LIST(F(1, 2, 3)), WRT(0), LIST(F(2, 4, 6)));
}

BODY(larger_or_sum)                                    /* two leaves, elementwise, that meet */
{
	hop_return(t, HOP_E(t, "max(a, c)", HOP_AS(a, in[0]), HOP_AS(c, in[2])),
	           HOP_E(t, "log(exp(b) + exp(d))", HOP_AS(b, in[1]), HOP_AS(d, in[3])));
}
BODY(prefixes)                                         /* xs, ys */
{
	hop_value out[2];
	hop_associative_scan(t, larger_or_sum, NULL, 2, in, NULL, out);
	hop_return(t, HOP_E(t, "sum(m * s)", HOP_AS(m, out[0]), HOP_AS(s, out[1])), out[0], out[1]);
}

PITFALL(91, "an elementwise associative scan runs and is trained on the CPU")
{
	double s[3] = { 1, log(exp(1) + exp(0.5)), log(exp(1) + exp(0.5) + exp(2)) };
	gives(prefixes, NULL, LIST(F(3, 1, 4), F(1, 0.5, 2)),
	      LIST(F0(3 * s[0] + 3 * s[1] + 4 * s[2]), F(3, 3, 4), F(s[0], s[1], s[2])));
	slopes(prefixes, NULL, LIST(F(3, 1, 4, 2, 5), F(1, 0.5, 2, -1, 0)), WRT(0, 1));
	slopes2(prefixes, NULL, LIST(F(3, 1, 4, 2, 5), F(1, 0.5, 2, -1, 0)), WRT(0, 1));
	lanes(prefixes, NULL, LIST(F2(2, 3, 3, 1, 4, 2, 5, 6), F(1, 0.5, 2)), AXES(0, -1));
	gives(prefixes, NULL, LIST(EMPTY(HOP_f64), EMPTY(HOP_f64)),
	      LIST(F0(0), EMPTY(HOP_f64), EMPTY(HOP_f64)));
}

BODY(talks)                                            /* n */
{
	hop_value i = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_lt(t, i, in[0]), i) {
		HOP_IF(t, hop_eq(t, i, hop_i(t, 1)))
			hop_print(t, "one", 0, NULL);
		else
			hop_print(t, "trip {}", 1, &i);
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, i);
}

PITFALL(92, "bodies print, in order, as often as they run")
{
	prints(talks, NULL, LIST(I0(3)), "trip 0\none\ntrip 2\n");
	prints(talks, NULL, LIST(I0(0)), "");
}
