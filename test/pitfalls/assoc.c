/* assoc.c -- pitfalls of prefixes under an associative combine: gradients, order, lengths. */
#include <stdlib.h>

#include "pitfall.h"

/* (a, b) then (c, d): x -> a x + b, then x -> c x + d. */
BODY(affine)
{
	hop_return(t, hop_mul(t, in[0], in[2]), hop_add(t, hop_mul(t, in[1], in[2]), in[3]));
}

BODY(recurrence)
{
	hop_value out[2];
	hop_associative_scan(t, affine, NULL, 2, in, NULL, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], out[1])), out[0], out[1]);
}

PITFALL(55, "a combine of two leaves, and the loss is of one")
{
	tensor a = F(0.5, 2, -1, 3, 0.25), b = F(1, 2, 3, 4, 5);
	gives(recurrence, NULL, LIST(a, b), LIST(F0(1 + 16 + 1 + 1 + 5.25 * 5.25),
	      F(0.5, 1, -1, -3, -0.75), F(1, 4, -1, 1, 5.25)));
	slopes(recurrence, NULL, LIST(a, b), WRT(0, 1));
	slopes2(recurrence, NULL, LIST(a, b), WRT(0, 1));
}

BODY(weighted)
{
	hop_value w = *(hop_value *)user;
	hop_return(t, hop_add(t, hop_add(t, in[0], in[1]), hop_mul(t, w, hop_mul(t, in[0], in[1]))));
}

BODY(captures)
{
	hop_value out[1], w = in[1];
	hop_associative_scan(t, weighted, &w, 1, in, NULL, out);
	hop_return(t, hop_sum_all(t, hop_sin(t, out[0])));
}

PITFALL(56, "the combine captures a weight, with a gradient")
{
	slopes2(captures, NULL, LIST(F(0.1, 0.2, -0.3, 0.4, 0.5), F0(0.7)), WRT(0, 1));
	slopes(captures, NULL, LIST(F(0.1, 0.2, -0.3, 0.4, 0.5), F0(0.7)), WRT(0, 1));
	lanes(captures, NULL, LIST(F(0.1, 0.2, -0.3), F(0.7, 0, -1)), AXES(-1, 0));
}

PITFALL(57, "prefixes of nothing")
{
	tensor no = EMPTY(HOP_f64);
	gives(recurrence, NULL, LIST(no, no), LIST(F0(0), no, no));
	gives(recurrence, NULL, LIST(UNKNOWN(no, "n"), UNKNOWN(no, "n")), LIST(F0(0), no, no));
	gradient(recurrence, NULL, LIST(no, no), WRT(0, 1), LIST(no, no));
}

BODY(matrices)
{
	hop_return(t, hop_matmul(t, in[0], in[1]));
}

BODY(backwards)
{
	hop_value out[1];
	hop_associative_scan(t, matrices, NULL, 1, in, HOP_ASSOC_OPTS(.reverse = true), out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], in[1])), out[0]);
}

/* The last slice comes first: y[i] = x[n-1] .. x[i+1] x[i]. */
PITFALL(58, "backwards, with a combine of matrices that do not commute")
{
	enum { N = 5 };
	double x[N * 4], y[N * 4], w[N * 4], sum = 0;
	for (int i = 0; i < N * 4; i++) {
		x[i] = sin(i + 1.0);
		w[i] = cos(3.0 * i);
	}
	for (int n = N - 1; n >= 0; n--)
		for (int i = 0; i < 2; i++)
			for (int j = 0; j < 2; j++) {
				const double *p = x + 4 * n, *q = y + 4 * (n + 1);
				y[4 * n + 2 * i + j] = n == N - 1 ? p[2 * i + j] : q[2 * i] * p[j] +
				                       q[2 * i + 1] * p[2 + j];
			}
	for (int i = 0; i < N * 4; i++)
		sum += y[i] * w[i];
	tensor a = tensor_of(HOP_f64, 3, N, 2, 2, x), b = tensor_of(HOP_f64, 3, N, 2, 2, w);
	gives(backwards, NULL, LIST(a, b), LIST(F0(sum), tensor_of(HOP_f64, 3, N, 2, 2, y)));
	slopes(backwards, NULL, LIST(unknown_at(a, 0, "n"), unknown_at(b, 0, "n")), WRT(0));
}

/* Of 40,000 slices a square of coefficients would be 12 GiB. */
PITFALL(59, "the gradient of long prefixes, in memory of their size")
{
	enum { N = 40000 };
	double *v = calloc(6 * N, sizeof *v), *a = v, *b = v + N, *y = v + 2 * N, *p = v + 3 * N;
	double *da = v + 4 * N, *db = v + 5 * N, sum = 0, back = 0;
	must(v);
	for (int i = 0; i < N; i++) {
		a[i] = 0.9 + 0.1 * sin(i);
		b[i] = cos(i);
		y[i] = i ? y[i - 1] * a[i] + b[i] : b[i];
		p[i] = i ? p[i - 1] * a[i] : a[i];
		sum += y[i] * y[i];
	}
	for (int i = N - 1; i >= 0; i--) {
		back = 2 * y[i] + (i < N - 1 ? back * a[i + 1] : 0);
		db[i] = back;
		da[i] = i ? back * y[i - 1] : 0;
	}
	tensor x[2] = { tensor_of(HOP_f64, 1, N, 0, 0, a), tensor_of(HOP_f64, 1, N, 0, 0, b) };
	gives(recurrence, NULL, 2, x, LIST(F0(sum), tensor_of(HOP_f64, 1, N, 0, 0, p),
	      tensor_of(HOP_f64, 1, N, 0, 0, y)));
	gradient(recurrence, NULL, 2, x, WRT(0, 1), LIST(tensor_of(HOP_f64, 1, N, 0, 0, da),
	         tensor_of(HOP_f64, 1, N, 0, 0, db)));
	free(v);
}

BODY(rows_and_sums)
{
	hop_return(t, hop_add(t, in[0], in[2]), hop_max(t, in[1], in[3]));
}

BODY(unlike)
{
	hop_value out[2];
	hop_associative_scan(t, rows_and_sums, NULL, 2, in, HOP_ASSOC_OPTS(.axis = 1), out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], in[0])), out[0], out[1]);
}

PITFALL(60, "leaves of different shapes and dtypes, along an axis that is not the first")
{
	tensor x = F2(2, 3, 1, 2, 3, 4, 5, 6), k = I2(1, 3, 5, 2, 7);
	gives(unlike, NULL, LIST(x, k), LIST(F0(1 + 6 + 18 + 16 + 45 + 90),
	      F2(2, 3, 1, 3, 6, 4, 9, 15), I2(1, 3, 5, 5, 7)));
	gives(unlike, NULL, LIST(unknown_at(x, 1, "n"), unknown_at(k, 1, "n")),
	      LIST(F0(176), F2(2, 3, 1, 3, 6, 4, 9, 15), I2(1, 3, 5, 5, 7)));
	slopes(unlike, NULL, LIST(x, k), WRT(0));
}

BODY(first)
{
	hop_return(t, in[0], in[3]);
}

BODY(take_sides)
{
	hop_value out[2], whole[2], init[2] = { hop_scalar(t, HOP_f64, 7), hop_scalar(t, HOP_f64, 8) };
	hop_associative_scan(t, first, NULL, 2, in, NULL, out);
	hop_reduce_with(t, first, NULL, 2, init, in, 0, whole);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[1])), out[0], out[1], whole[0], whole[1]);
}

PITFALL(223, "a combine returns its operands")
{
	tensor a = F(1, 2, 3), b = F(4, 5, 6), no = EMPTY(HOP_f64);
	gives(take_sides, NULL, LIST(a, b), LIST(F0(15), F(1, 1, 1), F(4, 5, 6), F0(7), F0(6)));
	gives(take_sides, NULL, LIST(no, no), LIST(F0(0), no, no, F0(7), F0(8)));
	gradient(take_sides, NULL, LIST(a, b), WRT(0, 1), LIST(F(15, 0, 0), F(1, 1, 1)));
	slopes2(take_sides, NULL, LIST(a, b), WRT(0, 1));
}

BODY(larger)
{
	hop_value y = in[1];
	HOP_IF(t, hop_gt(t, in[0], in[1]), y) {
		y = in[0];
	}
	hop_return(t, y);
}

BODY(largest)
{
	hop_value out[1];
	hop_associative_scan(t, larger, NULL, 1, in, NULL, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[0])), out[0]);
}

PITFALL(224, "a combine that branches, over lanes and with a gradient")
{
	gives(largest, NULL, LIST(F(2, 1, 5, 3, 7)), LIST(F0(4 + 4 + 25 + 25 + 49), F(2, 2, 5, 5, 7)));
	gradient(largest, NULL, LIST(F(2, 1, 5, 3, 7)), WRT(0), LIST(F(8, 0, 20, 0, 14)));
	slopes2(largest, NULL, LIST(F(2, 1, 5, 3, 7)), WRT(0));
	lanes(largest, NULL, LIST(F2(3, 2, 1, 9, 3, 2, 2, 8)), AXES(1));
}

BODY(tells)
{
	hop_print(t, "once", 0, NULL);
	hop_return(t, hop_add(t, in[0], in[1]));
}

BODY(told)
{
	hop_value out[1];
	hop_associative_scan(t, tells, NULL, 1, in, NULL, out);
	hop_return(t, out[0]);
}

PITFALL(225, "a combine with an effect")
{
	refuses(told, NULL, LIST(F(1, 2)), HOP_EREFUSED,
	        "associative_scan: combine has an effect (print), but in which order it runs is not "
	        "said: move it out, or use scan");
}
