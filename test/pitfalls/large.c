/* large.c -- pitfalls of sizes: what is computed otherwise where lanes, steps or slices are many must
 * come out the same. Against loops in C. */
#include <stdlib.h>

#include "pitfall.h"

static double *numbers(int64_t n)
{
	double *v = calloc((size_t)n, sizeof *v);
	must(v);
	return v;
}

static tensor row(int64_t n, const double *v)
{
	return tensor_of(HOP_f64, 1, n, 0, 0, v);
}

BODY(shrink)
{
	hop_value x = in[0], n = hop_scalar(t, HOP_i64, 0);
	HOP_WHILE(t, hop_gt(t, x, hop_f(t, 1)), x, n) {
		hop_lanes(t, *(enum hop_lanes_how *)user);
		x = hop_mul(t, x, in[1]);
		n = hop_add(t, n, hop_i(t, 1));
	}
	hop_return(t, x, n);
}

BODY(shrink_all)
{
	hop_value out[2];
	const int axes[2] = { 0, -1 };
	hop_vmap_at(t, shrink, user, 2, in, axes, 2, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0], out[1]);
}

PITFALL(227, "thousands of lanes of a loop, each with its own number of trips, under a gradient")
{
	enum { N = 3000 };
	double *v = numbers(4 * N), *x = v, *y = v + N, *n = v + 2 * N, *dx = v + 3 * N;
	double w = 0.9, dw = 0, sum = 0;
	for (int i = 0; i < N; i++) {
		x[i] = i % 7 ? i % 50 * 0.2 : 1e6 * (i + 1);
		double g = 0;
		dx[i] = 1;
		for (y[i] = x[i]; y[i] > 1; n[i]++) {
			g = g * w + y[i];
			dx[i] *= w;
			y[i] *= w;
		}
		dw += g;
		sum += y[i];
	}
	for (enum hop_lanes_how how = HOP_LANES_AUTO; how <= HOP_LANES_COMPACT; how++) {
		gives(shrink_all, &how, LIST(row(N, x), F0(w)), LIST(F0(sum), row(N, y),
		      tensor_of(HOP_i64, 1, N, 0, 0, n)));
		gradient(shrink_all, &how, LIST(row(N, x), F0(w)), WRT(0, 1), LIST(row(N, dx), F0(dw)));
	}
	free(v);
}

BODY(sines)
{
	hop_return(t, hop_sin(t, hop_mul(t, in[0], in[1])));
}

BODY(squares)
{
	hop_return(t, hop_mul(t, in[0], in[0]));
}

BODY(constant)
{
	hop_return(t, hop_scalar(t, HOP_f64, 3));
}

static hop_body *const kinds[] = { sines, squares, constant };

BODY(sort_out)
{
	hop_value out[1];
	hop_switch_partition(t, in[2], 3, kinds, NULL, 2, in, 1, out);
	hop_return(t, out[0]);
}

BODY(sort_all)
{
	hop_value out[1];
	const int axes[3] = { 0, -1, 0 };
	hop_vmap_at(t, sort_out, NULL, 3, in, axes, 1, out);
	hop_return(t, hop_sum_all(t, out[0]), out[0]);
}

PITFALL(228, "thousands of lanes in three branches, each run on its own lanes only")
{
	enum { N = 2500 };
	double *v = numbers(4 * N), *x = v, *y = v + N, *k = v + 2 * N, *dx = v + 3 * N;
	double w = 1.5, dw = 0, sum = 0;
	for (int i = 0; i < N; i++) {
		x[i] = 0.01 * i - 3;
		k[i] = i * i % 5;                            /* 3 and 4 are past the last */
		y[i] = k[i] == 0 ? sin(x[i] * w) : k[i] == 1 ? x[i] * x[i] : 3;
		dx[i] = k[i] == 0 ? w * cos(x[i] * w) : k[i] == 1 ? 2 * x[i] : 0;
		dw += k[i] == 0 ? x[i] * cos(x[i] * w) : 0;
		sum += y[i];
	}
	tensor in[3] = { row(N, x), F0(w), tensor_of(HOP_i64, 1, N, 0, 0, k) };
	gives(sort_all, NULL, 3, in, LIST(F0(sum), row(N, y)));
	gradient(sort_all, NULL, 3, in, WRT(0, 1), LIST(row(N, dx), F0(dw)));
	free(v);
}

struct keeps { int every, slots; };

BODY(steps)
{
	const struct keeps *k = user;
	hop_value s = in[0], ys = HOP_NONE;
	HOP_FOR(t, i, hop_dim_of(t, in[1], 0), s) {
		if (k->every)
			hop_every(t, k->every);
		if (k->slots)
			hop_slots(t, k->slots);
		s = hop_sin(t, hop_add(t, hop_mul(t, s, in[2]), hop_take(t, in[1], i)));
		hop_stack(t, &ys, s);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, ys, ys)), s);
}

PITFALL(229, "a scan of many steps, and its gradient in every way to keep less")
{
	enum { N = 5003 };
	static const struct keeps ways[] = { { 0, 0 }, { 64, 0 }, { -1, 0 }, { 0, 5 } };
	double *v = numbers(3 * N + 1), *x = v, *s = v + N, *dx = v + 2 * N + 1, sum = 0, w = 0.7;
	double g = 0, dw = 0;
	s[0] = 0.25;
	for (int i = 0; i < N; i++) {
		x[i] = cos(0.1 * i);
		s[i + 1] = sin(s[i] * w + x[i]);
		sum += s[i + 1] * s[i + 1];
	}
	for (int i = N - 1; i >= 0; i--) {
		dx[i] = (g + 2 * s[i + 1]) * cos(s[i] * w + x[i]);
		dw += dx[i] * s[i];
		g = dx[i] * w;
	}
	for (int k = 0; k < 4; k++) {
		struct keeps way = ways[k];
		tensor in[3] = { F0(0.25), k % 2 ? UNKNOWN(row(N, x), "n") : row(N, x), F0(w) };
		gives(steps, &way, 3, in, LIST(F0(sum), F0(s[N])));
		gradient(steps, &way, 3, in, WRT(0, 1, 2), LIST(F0(g), row(N, dx), F0(dw)));
	}
	free(v);
}

BODY(affine)
{
	hop_return(t, hop_mul(t, in[0], in[2]), hop_add(t, hop_mul(t, in[1], in[2]), in[3]));
}

BODY(filter)
{
	hop_value out[2];
	hop_associative_scan(t, affine, NULL, 2, in, HOP_ASSOC_OPTS(.reverse = *(bool *)user), out);
	hop_return(t, out[1]);
}

BODY(filters)
{
	hop_value out[1];
	const int axes[2] = { 0, -1 };
	hop_vmap_at(t, filter, user, 2, in, axes, 1, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[0])), out[0]);
}

PITFALL(230, "long prefixes in lanes, of which one leaf is wanted, forwards and backwards")
{
	enum { N = 3001, L = 3 };
	for (int way = 0; way < 4; way++) {
		double *v = numbers((3 * L + 2) * N), *a = v, *y = v + L * N, *da = v + 2 * L * N;
		double *b = v + 3 * L * N, *db = b + N, sum = 0;
		bool reverse = way & 1;
		for (int i = 0; i < N; i++)
			b[i] = cos(0.3 * i);
		for (int l = 0; l < L; l++) {
			double s = 0, g = 0;
			for (int k = 0; k < N; k++) {
				int i = reverse ? N - 1 - k : k, j = l * N + i;
				a[j] = 0.9 + 0.1 * sin(0.7 * j);
				y[j] = s = s * (k ? a[j] : 0) + b[i];
				sum += s * s;
			}
			for (int k = N - 1; k >= 0; k--) {
				int i = reverse ? N - 1 - k : k, j = l * N + i;
				g += 2 * y[j];
				db[i] += g;
				da[j] = k ? g * y[reverse ? j + 1 : j - 1] : 0;
				g *= a[j];
			}
		}
		tensor x[2] = { tensor_of(HOP_f64, 2, L, N, 0, a), row(N, b) };
		if (way & 2) {
			x[0] = unknown_at(x[0], 1, "n");
			x[1] = UNKNOWN(x[1], "n");
		}
		gives(filters, &reverse, 2, x, LIST(F0(sum), tensor_of(HOP_f64, 2, L, N, 0, y)));
		gradient(filters, &reverse, 2, x, WRT(0, 1), LIST(tensor_of(HOP_f64, 2, L, N, 0, da),
		         row(N, db)));
		free(v);
	}
}

BODY(neuron)
{
	hop_value *w = user;
	hop_return(t, hop_tanh(t, hop_matmul(t, in[0], w[0])));
}

BODY(layer)
{
	hop_value out[2], w = in[1];
	hop_map(t, neuron, &w, 1, in, 0, 1, out);
	hop_map_chunked(t, neuron, &w, 1, in, 0, 64, 1, out + 1);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[0], out[1])), out[0], out[1]);
}

PITFALL(231, "a map over many rows and the gradient of its weights, whole and some at a time")
{
	enum { N = 1000, M = 4 };
	double *v = numbers(N * (M + 1)), *x = v, *y = v + N * M, dw[M] = { 0 }, sum = 0;
	const double w[M] = { 0.5, -0.25, 1, 0.125 };
	for (int i = 0; i < N; i++) {
		double s = 0;
		for (int j = 0; j < M; j++)
			s += (x[i * M + j] = sin(i + 10.0 * j)) * w[j];
		y[i] = tanh(s);
		sum += y[i] * y[i];
		for (int j = 0; j < M; j++)
			dw[j] += 2 * y[i] * (1 - y[i] * y[i]) * x[i * M + j];
	}
	tensor in[2] = { tensor_of(HOP_f64, 2, N, M, 0, x), tensor_of(HOP_f64, 1, M, 0, 0, w) };
	gives(layer, NULL, 2, in, LIST(F0(sum), row(N, y), row(N, y)));
	gradient(layer, NULL, 2, in, WRT(1), LIST(tensor_of(HOP_f64, 1, M, 0, 0, dw)));
	free(v);
}
