/* mutation.c -- writes through views, of captured arrays, in loops: what is seen where, what is copied,
 * and what is refused. That writes work at all inside of every operator is in its own file. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* ---- views ---- */

BODY(both_written)                                     /* two views of one base */
{
	hop_mul_(t, in[0], hop_f(t, 10));
	hop_add_(t, in[1], hop_f(t, 1));
	hop_return(t, hop_sum_all(t, in[0]));
}
BODY(overlapping)                                      /* x: parts 0..2 and 1..3 of it, in a region */
{
	hop_value x = hop_clone(t, in[0]), y;
	hop_value part[2] = { hop_narrow(t, x, 0, 0, 3), hop_narrow(t, x, 0, 1, 3) };
	hop_region(t, "both", both_written, NULL, 2, part, 1, &y);
	hop_return(t, y, x);
}

PITFALL(133, "two arguments are views of one tensor, and both are written")
{
	/* 1 2 3 4 -> 10 20 30 4 -> 10 21 31 5; the first part is seen as it is then */
	gives(overlapping, NULL, LIST(F(1, 2, 3, 4)), LIST(F0(62), F(10, 21, 31, 5)));
	gradient(overlapping, NULL, LIST(F(1, 2, 3, 4)), WRT(0), LIST(F(10, 10, 10, 0)));
	lanes(overlapping, NULL, LIST(F2(4, 2, 1, 2, 3, 4, 5, 6, 7, 8)), AXES(1));
}

BODY(moved)                                            /* x: one place to the right */
{
	hop_value x = hop_clone(t, in[0]);
	hop_copy_(t, hop_narrow(t, x, 0, 1, 3), hop_narrow(t, x, 0, 0, 3));
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)), x);
}
BODY(turned)                                           /* x += x transposed */
{
	hop_value x = hop_clone(t, in[0]);
	hop_add_(t, x, hop_transpose(t, x, 0, 1));
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)), x);
}

PITFALL(134, "a write reads the memory that it writes")
{
	gives(moved, NULL, LIST(F(1, 2, 3, 4)), LIST(F0(15), F(1, 1, 2, 3)));
	gradient(moved, NULL, LIST(F(1, 2, 3, 4)), WRT(0), LIST(F(4, 4, 6, 0)));
	gives(turned, NULL, LIST(F2(2, 2, 1, 2, 3, 4)), LIST(F0(4 + 25 + 25 + 64), F2(2, 2, 2, 5, 5, 8)));
	slopes(turned, NULL, LIST(F2(2, 2, 1, 2, 3, 4)), WRT(0));
	lanes(moved, NULL, LIST(F2(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)), AXES(0));
	lanes(turned, NULL, LIST(F3(2, 2, 2, 1, 2, 3, 4, 5, 6, 7, 8)), AXES(1));
}

BODY(view_of_view)                                     /* every second column, backwards, of rows */
{
	hop_value x = hop_clone(t, in[0]), y = hop_transpose(t, x, 0, 1);
	hop_value z = hop_slice(t, y, 0, hop_n(2), hop_n(2), -2);         /* columns 2, 0 */
	HOP_FOR(t, i, 2)
		hop_copy_(t, hop_index(t, z, 1, 1), hop_data(t, HOP_f64, 1, (int64_t[]){ 2 },
		                                             (double[]){ 20, 10 }));
	hop_return(t, x, y);
}

PITFALL(135, "a write through views of views lands in its place")
{
	gives(view_of_view, NULL, LIST(F2(2, 3, 1, 2, 3, 4, 5, 6)),
	      LIST(F2(2, 3, 1, 2, 3, 10, 5, 20), F2(3, 2, 1, 10, 2, 5, 3, 20)));
}

BODY(halves)                                           /* x, n: a loop that writes both halves */
{
	hop_value x = hop_clone(t, in[0]), i = hop_scalar(t, HOP_i64, 0);
	hop_value a = hop_narrow(t, x, 0, 0, 2), b = hop_narrow(t, x, 0, 2, 2);
	HOP_WHILE(t, hop_lt(t, i, in[1]), i) {
		hop_add_(t, a, b);
		hop_mul_(t, b, a);
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, hop_sum_all(t, x), x);
}

PITFALL(136, "disjoint parts of one tensor are no aliases")
{
	double x[4] = { 1, 2, 0.5, 0.25 };
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 2; i++) {
			x[i] += x[i + 2];
			x[i + 2] *= x[i];
		}
	gives(halves, NULL, LIST(F(1, 2, 0.5, 0.25), I0(3)),
	      LIST(F0(x[0] + x[1] + x[2] + x[3]), F(x[0], x[1], x[2], x[3])));
	slopes(halves, NULL, LIST(F(1, 2, 0.5, 0.25), I0(3)), WRT(0));
	slopes2(halves, NULL, LIST(F(1, 2, 0.5, 0.25), I0(3)), WRT(0));
	lanes(halves, NULL, LIST(F(1, 2, 0.5, 0.25), I(3, 1, 0)), AXES(-1, 0));
}

BODY(repeated)
{
	hop_value x = hop_expand(t, in[0], 2, (hop_dim[]){ hop_n(3), hop_n(2) });
	hop_add_(t, x, hop_f(t, 1));
	hop_return(t, x);
}

PITFALL(137, "one element of memory is many elements of what is written")
{
	refuses(repeated, NULL, LIST(F(1, 2)), HOP_EREFUSED,
	        "add_: an expanded view cannot be written, since several of its elements are one: clone "
	        "it first");
}

/* ---- copies ---- */

BODY(cached)                                           /* xs: rows into a cache, read as it grows */
{
	hop_value cache = hop_clone(t, hop_zeros_like(t, in[0])), sum = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), sum) {
		hop_index_put_(t, cache, 0, i, hop_mulf(t, hop_take(t, in[0], i), 2));
		sum = hop_add(t, sum, hop_sum_all(t, hop_mul(t, cache, cache)));
	}
	hop_return(t, sum, cache);
}

PITFALL(138, "a cache that a loop writes is not copied every step")
{
	char *left = inside(COPIES, cached, NULL, LIST(F2(3, 2, 1, 2, 3, 4, 5, 6)));
	must(!*left);
	free(left);
	/* rows count 3, 2 and 1 times: 4 (3 * 5 + 2 * 25 + 61) */
	gives(cached, NULL, LIST(F2(3, 2, 1, 2, 3, 4, 5, 6)), LIST(F0(504), F2(3, 2, 2, 4, 6, 8, 10, 12)));
	gradient(cached, NULL, LIST(F2(3, 2, 1, 2, 3, 4, 5, 6)), WRT(0),
	         LIST(F2(3, 2, 24, 48, 48, 64, 40, 48)));
}

BODY(crossed)                                          /* two carries, each made of both */
{
	hop_value a = in[0], b = hop_mulf(t, in[0], 2);
	HOP_FOR(t, i, 4, a, b) {
		hop_value c = hop_matmul(t, a, b);
		b = a;
		a = hop_mulf(t, c, 0.5);
	}
	hop_return(t, hop_sum_all(t, a), b);
}

PITFALL(139, "a copy that stays in a loop is told, with its reason")
{
	char *left = inside(COPIES, crossed, NULL, LIST(F2(2, 2, 1, 0.5, 0, 1)));
	must(strstr(left, "carry 0 is copied, 32 bytes each trip: its new value is "));
	free(left);
	slopes(crossed, NULL, LIST(F2(2, 2, 1, 0.5, 0, 1)), WRT(0));
}

BODY(overwritten)                                      /* x, buffer: all of it is written first */
{
	hop_value buf = hop_clone(t, in[1]);
	HOP_FOR(t, i, 2) {
		hop_copy_(t, buf, in[0]);
		hop_mul_(t, buf, in[0]);
	}
	hop_return(t, hop_sum_all(t, buf), buf);
}

PITFALL(140, "what was in a tensor that is all written does not matter")
{
	gives(overwritten, NULL, LIST(F(2, 3), F(NAN, INFINITY)), LIST(F0(13), F(4, 9)));
	gradient(overwritten, NULL, LIST(F(2, 3), F(NAN, INFINITY)), WRT(0, 1), LIST(F(4, 6), F(0, 0)));
}

/* ---- arrays of the caller ---- */

BODY(add_to_first)
{
	hop_add_(t, in[0], in[1]);
	hop_add_(t, in[0], in[1]);
	hop_return(t, hop_sum_all(t, in[1]));
}

PITFALL(141, "an array is passed twice, and written")
{
	tensor one[1] = { F(1, 2) };
	hop_array *a = array_of(one), *y, *twice[2] = { a, a };
	hop_fn *f = captured(add_to_first, NULL, LIST(F(1, 2), F(1, 2)));
	hop_jit *j;
	must(hop_call(f, 2, twice, 1, &y) == HOP_EUSE);
	must(!strcmp(hop_message(ctx), "error: call: input 0 is written and is also input 1"));
	must(hop_array_at(a, 0) == 1);                       /* and nothing was written */
	ok(hop_jit_new(ctx, add_to_first, NULL, NULL, &j));
	ok(hop_jit_call(j, 2, twice, 1, &y));
	must(hop_array_at(a, 0) == 4 && hop_array_at(a, 1) == 8 && hop_array_at(y, 0) == 12);
	hop_array_release(y);
	hop_array_release(a);
	hop_fn_release(f);
	hop_jit_release(j);
}

BODY(careful)                                          /* x, limit: counts, and then may fail */
{
	hop_value n = hop_use(t, user);
	hop_add_(t, n, hop_i(t, 1));
	hop_assert(t, hop_lt(t, in[0], in[1]), "too large", 0, NULL);
	hop_return(t, hop_mulf(t, in[0], 2));
}

PITFALL(142, "a run that fails has written half of what it writes")
{
	tensor zero[1] = { I0(0) }, in[2][2] = { { F0(1), F0(2) }, { F0(3), F0(2) } };
	hop_array *n = array_of(zero), *y;
	hop_fn *f = captured(careful, n, 2, in[0]);
	for (int k = 0; k < 4; k++) {
		hop_array *a[2] = { array_of(&in[k % 2][0]), array_of(&in[k % 2][1]) };
		hop_status st = hop_call_with(f, 2, a, 1, &y, HOP_RUN_OPTS(.interpret = k > 1));
		must((st == HOP_OK) == (k % 2 == 0));
		must(hop_array_at(n, 0) == 1 + k / 2);           /* those that succeeded */
		if (!st)
			hop_array_release(y);
		hop_array_release(a[0]);
		hop_array_release(a[1]);
	}
	hop_array_release(n);
	hop_fn_release(f);
}

BODY(running)                                          /* xs: a mean that lives in an array */
{
	hop_value mean = hop_use(t, user), sum = hop_scalar(t, HOP_f64, 0);
	HOP_FOR(t, i, hop_dim_of(t, in[0], 0), sum) {
		hop_value x = hop_take(t, in[0], i);
		hop_copy_(t, mean, HOP_E(t, "0.5 * m + 0.5 * x", HOP_AS(m, mean), x));
		sum = HOP_E(t, "sum + (x - m) * (x - m)", sum, x, HOP_AS(m, mean));
	}
	hop_return(t, sum);
}

PITFALL(143, "a buffer of a module is written in a loop while it is trained")
{
	double x[3] = { 1, 3, -2 }, m = 4, sum = 0, dm[3] = { 0 }, d[3] = { 0 };
	for (int i = 0; i < 3; i++) {
		m = 0.5 * m + 0.5 * x[i];
		for (int k = 0; k < 3; k++)
			dm[k] = 0.5 * dm[k] + 0.5 * (k == i);
		sum += (x[i] - m) * (x[i] - m);
		for (int k = 0; k < 3; k++)
			d[k] += 2 * (x[i] - m) * ((k == i) - dm[k]);
	}
	tensor in[1] = { F(1, 3, -2) }, four[1] = { F0(4) };
	for (int interpret = 0; interpret < 2; interpret++) {
		hop_array *mean = array_of(four), *a = array_of(in), *y[2];
		hop_fn *f = captured(running, mean, 1, in), *g;
		int wrt = 0;
		ok(hop_grad(f, 1, &wrt, &g));
		ok(hop_call_with(g, 1, &a, 2, y, HOP_RUN_OPTS(.interpret = interpret)));
		must(fabs(hop_array_at(y[0], 0) - sum) < 1e-12 && fabs(hop_array_at(mean, 0) - m) < 1e-12);
		for (int k = 0; k < 3; k++)
			must(fabs(hop_array_at(y[1], k) - d[k]) < 1e-12);
		hop_array_release(y[0]);
		hop_array_release(y[1]);
		hop_array_release(mean);
		hop_array_release(a);
		hop_fn_release(f);
		hop_fn_release(g);
	}
}
