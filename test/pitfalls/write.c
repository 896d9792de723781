/* write.c -- pitfalls of writes in bodies: views and their owners, rows of buffers, and what comes
 * before and after. */
#include "pitfall.h"

BODY(two_ways)
{
	hop_value x = hop_clone(t, in[0]), turned = hop_transpose(t, x, 0, 1), n = in[1];
	hop_value first = hop_index(t, turned, 0, 0);        /* column 0 of x */
	HOP_WHILE(t, hop_gt(t, n, hop_i(t, 0)), n) {
		hop_add_(t, first, hop_index(t, x, 0, 1));       /* row 1 of x, which it changes */
		hop_mul_(t, turned, hop_f(t, 2));
		n = hop_sub(t, n, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)), x, first, turned);
}

PITFALL(232, "a loop writes one view of a buffer and reads another that overlaps it")
{
	double x[2][2] = { { 1, 2 }, { 3, 4 } }, sum = 0;
	for (int n = 0; n < 3; n++) {
		double row[2] = { x[1][0], x[1][1] };
		x[0][0] += row[0];
		x[1][0] += row[1];
		for (int i = 0; i < 4; i++)
			x[i / 2][i % 2] *= 2;
	}
	for (int i = 0; i < 4; i++)
		sum += x[i / 2][i % 2] * x[i / 2][i % 2];
	tensor in = F2(2, 2, 1, 2, 3, 4);
	gives(two_ways, NULL, LIST(in, I0(3)), LIST(F0(sum), F2(2, 2, x[0][0], x[0][1], x[1][0],
	      x[1][1]), F(x[0][0], x[1][0]), F2(2, 2, x[0][0], x[1][0], x[0][1], x[1][1])));
	slopes(two_ways, NULL, LIST(F2(2, 2, 0.1, 0.2, 0.3, 0.4), I0(2)), WRT(0));
	lanes(two_ways, NULL, LIST(F3(2, 2, 2, 1, 2, 3, 4, 5, 6, 7, 8), I(1, 3)), AXES(0, 0));
}

BODY(table)
{
	hop_value buf = hop_zeros(t, HOP_f64, 1, (hop_dim[]){ hop_n(6) });
	hop_copy_(t, hop_narrow(t, buf, 0, 0, 2), in[0]);
	HOP_FOR(t, i, 4) {
		hop_value a = hop_take(t, buf, i), b = hop_take(t, buf, hop_add(t, i, hop_i(t, 1)));
		hop_index_put_(t, buf, 0, hop_add(t, i, hop_i(t, 2)), hop_mul(t, hop_sin(t, a), b));
	}
	hop_return(t, hop_sum_all(t, buf), buf);
}

PITFALL(233, "every step writes a row of a captured buffer, and reads those of the steps before")
{
	double b[6] = { 1, 2 }, sum = 3;
	for (int i = 0; i < 4; i++)
		sum += b[i + 2] = sin(b[i]) * b[i + 1];
	gives(table, NULL, LIST(F(1, 2)), LIST(F0(sum), F(b[0], b[1], b[2], b[3], b[4], b[5])));
	slopes(table, NULL, LIST(F(1, 2)), WRT(0));
	slopes2(table, NULL, LIST(F(1, 2)), WRT(0));
	lanes(table, NULL, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6)), AXES(1));
}

BODY(in_turn)
{
	hop_value x = in[0], y = hop_scalar(t, HOP_f64, 0), all = HOP_NONE, k = in[1];
	hop_add_(t, x, hop_f(t, 1));
	HOP_IF(t, hop_gt(t, k, hop_i(t, 0)), y) {
		y = hop_sum_all(t, x);
		hop_mul_(t, x, hop_f(t, 10));
	}
	HOP_FOR(t, i, 2) {
		hop_stack(t, &all, hop_add(t, hop_sum_all(t, x), y));
		hop_add_(t, x, i);
	}
	hop_sub_(t, x, hop_f(t, 5));
	hop_return(t, all, y);
}

PITFALL(234, "writes before, in and after bodies are seen in the order in which they stand")
{
	leaves(in_turn, NULL, LIST(F(1, 2), I0(1)), LIST(F(55, 55), F0(5)),
	       LIST(F(20 - 4, 30 - 4), I0(1)));
	leaves(in_turn, NULL, LIST(F(1, 2), I0(0)), LIST(F(5, 5), F0(0)), LIST(F(-2, -1), I0(0)));
}

BODY(writes_slice)
{
	hop_mul_(t, in[0], hop_f(t, 10));
	hop_return(t, hop_sum_all(t, in[0]));
}

BODY(over_slices)
{
	hop_value out[1];
	hop_map(t, writes_slice, NULL, 1, in, 0, 1, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0], in[0]);
}

PITFALL(235, "the body of a map writes its slice")
{
	tensor x = F2(2, 2, 1, 2, 3, 4);
	leaves(over_slices, NULL, LIST(x), LIST(F0(100), F(30, 70), x), LIST(x));
	gradient(over_slices, NULL, LIST(x), WRT(0), LIST(F2(2, 2, 10, 10, 10, 10)));
}

struct calls { int test, body, then_, else_; };

BODY(again)
{
	((struct calls *)user)->test++;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 8)));
}

BODY(twice)
{
	((struct calls *)user)->body++;
	hop_return(t, hop_mulf(t, in[0], 2));
}

BODY(up)
{
	((struct calls *)user)->then_++;
	hop_return(t, in[0]);
}

BODY(down)
{
	((struct calls *)user)->else_++;
	hop_return(t, hop_neg(t, in[0]));
}

BODY(counts)
{
	hop_value out[2];
	hop_while(t, again, twice, user, 1, in, NULL, out, NULL);
	hop_cond(t, in[1], up, down, user, 1, out, 1, out + 1);
	hop_return(t, out[1]);
}

PITFALL(236, "an eager run runs bodies as C would; a capture runs each of them once")
{
	struct calls n = { 0 };
	tensor x = F0(1), p = B0(1);
	hop_array *in[2] = { array_of(&x), array_of(&p) }, *out;
	hop_spec spec[2] = { spec_of(&x), spec_of(&p) };
	hop_fn *f;
	ok(hop_eager_call(ctx, counts, &n, 2, in, 1, &out));
	must(hop_array_at(out, 0) == 8 && n.test == 4 && n.body == 3 && n.then_ == 1 && n.else_ == 0);
	hop_array_release(out);
	n = (struct calls){ 0 };
	ok(hop_capture(ctx, counts, &n, 2, spec, &f));
	ok(hop_call(f, 2, in, 1, &out));
	must(hop_array_at(out, 0) == 8 && n.test == 1 && n.body == 1 && n.then_ == 1 && n.else_ == 1);
	hop_array_release(out);
	hop_fn_release(f);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
}

/* ---- sizes from data ---- */

BODY(two_sizes)
{
	hop_value y = HOP_NONE;
	HOP_IF(t, in[2], y) {
		hop_value x = hop_arange(t, HOP_f64, hop_as_size(t, in[0], 0, 9));
		y = hop_sum_all(t, hop_mul(t, x, in[3]));
	} else {
		hop_value x = hop_arange(t, HOP_f64, hop_as_size(t, in[1], 0, 9));
		y = hop_sum_all(t, hop_mul(t, hop_mul(t, x, x), in[3]));
	}
	hop_return(t, y);
}

PITFALL(237, "two branches make sizes from data, each its own")
{
	gives(two_sizes, NULL, LIST(I0(4), I0(3), B0(1), F0(2)), LIST(F0(12)));
	gives(two_sizes, NULL, LIST(I0(4), I0(3), B0(0), F0(2)), LIST(F0(10)));
	gradient(two_sizes, NULL, LIST(I0(4), I0(3), B0(0), F0(2)), WRT(3), LIST(F0(5)));
}

BODY(sum2)
{
	hop_return(t, hop_add(t, in[0], in[1]));
}

BODY(by_count)
{
	hop_dim n = hop_as_size(t, in[0], 0, 8);
	hop_value x = hop_mul(t, hop_addf(t, hop_arange(t, HOP_f64, n), 1), in[1]), k = in[2], out[1];
	HOP_WHILE(t, hop_gt(t, k, hop_i(t, 0)), x, k) {
		x = hop_mul(t, x, in[1]);
		k = hop_sub(t, k, hop_i(t, 1));
	}
	hop_value s = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, n, s) {
		s = hop_add(t, s, hop_sin(t, hop_take(t, x, i)));
	}
	hop_associative_scan(t, sum2, NULL, 1, &x, NULL, out);
	hop_return(t, hop_add(t, s, hop_sum_all(t, out[0])));
}

PITFALL(238, "a carry, a scan and prefixes of a size that is data")
{
	double s = 0, p = 0, w = 0.5;
	for (int i = 1; i <= 3; i++) {
		double x = i * pow(w, 3);
		s += sin(x) + (p += x);
	}
	gives(by_count, NULL, LIST(I0(3), F0(w), I0(2)), LIST(F0(s)));
	gives(by_count, NULL, LIST(I0(0), F0(w), I0(2)), LIST(F0(0)));
	slopes(by_count, NULL, LIST(I0(3), F0(w), I0(2)), WRT(1));
}
