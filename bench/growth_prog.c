/* growth_prog.c -- the programs of the growth table. Each is a shape that people write by
 * loops in the host language: a long line, a wide graph, scalars, small products, branches in
 * a row, regions, a tower of loops. The results are one scalar, so that all have a gradient. */
#include "growth.h"

static unsigned next(unsigned *s)
{
	return *s = *s * 1664525u + 1013904223u, *s >> 10;
}

/* A line on 1024 numbers: every step one node and a use of the input now and then. */
static void vec(hop_trace *t, const hop_value *in, void *user)
{
	long n = *(long *)user;
	hop_value x = in[0];
	for (long i = 0; i < n; i++)
		x = i % 4 == 0 ? hop_sin(t, x) : i % 4 == 1 ? hop_mul(t, x, in[1]) :
		    i % 4 == 2 ? hop_add(t, x, in[0]) : hop_tanh(t, x);
	hop_return(t, hop_sum_all(t, x));
}

/* Rows of 16 values, each from two of the row before. */
static void wide(hop_trace *t, const hop_value *in, void *user)
{
	enum { ROW = 16 };
	long n = *(long *)user;
	unsigned s = 7;
	hop_value a[ROW], b[ROW], y = in[0];
	for (int i = 0; i < ROW; i++)
		a[i] = i & 1 ? in[1] : in[0];
	for (long i = 0; i < n / ROW; i++) {
		for (int k = 0; k < ROW; k++) {
			hop_value p = a[next(&s) % ROW], q = a[next(&s) % ROW];
			b[k] = k % 4 == 0 ? hop_sin(t, p) : k % 4 == 1 ? hop_mul(t, p, q) :
			       k % 4 == 2 ? hop_sub(t, p, q) : hop_tanh(t, q);
		}
		for (int k = 0; k < ROW; k++)
			a[k] = b[k];
	}
	for (int k = 0; k < ROW; k++)
		y = hop_add(t, y, a[k]);
	hop_return(t, hop_sum_all(t, y));
}

/* Scalars, each from two of the last 32. */
static void scalar(hop_trace *t, const hop_value *in, void *user)
{
	enum { LAST = 32 };
	long n = *(long *)user;
	unsigned s = 11;
	hop_value v[LAST];
	for (int i = 0; i < LAST; i++)
		v[i] = in[i & 1];
	for (long i = 0; i < n; i++) {
		hop_value p = v[next(&s) % LAST], q = v[next(&s) % LAST];
		v[i % LAST] = i % 5 == 0 ? hop_sin(t, p) : i % 5 == 1 ? hop_mul(t, p, q) :
		              i % 5 == 2 ? hop_sub(t, p, q) : i % 5 == 3 ? hop_add(t, p, q)
		                                                         : hop_tanh(t, p);
	}
	for (int i = 1; i < LAST; i++)
		v[0] = hop_add(t, v[0], v[i]);
	hop_return(t, v[0]);
}

static void sines(hop_trace *t, const hop_value *in, void *user)
{
	long n = *(long *)user;
	hop_value x = in[0];
	for (long i = 0; i < n; i++)
		x = hop_sin(t, x);
	hop_return(t, x);
}

static void products(hop_trace *t, const hop_value *in, void *user)
{
	long n = *(long *)user;
	hop_value x = in[0];
	for (long i = 0; i < n / 2; i++)
		x = hop_tanh(t, hop_matmul(t, x, in[1]));
	hop_return(t, hop_sum_all(t, x));
}

static void half(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, hop_sin(t, in[0]), in[1]));
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], in[1]));
}

/* A comparison, a cond and the two nodes of its longer branch. */
static void conds(hop_trace *t, const hop_value *in, void *user)
{
	long n = *(long *)user;
	hop_value a[2] = { in[0], in[1] };
	for (long i = 0; i < n / 4; i++)
		hop_cond(t, hop_lt(t, a[0], hop_f(t, 0.1 + 0.001 * (double)(i % 100))), half, twice,
		         NULL, 2, a, 1, a);
	hop_return(t, a[0]);
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_tanh(t, hop_add(t, hop_mul(t, in[0], in[1]), in[1])));
}

/* Small regions of three nodes, called. */
static void regions(hop_trace *t, const hop_value *in, void *user)
{
	long n = *(long *)user;
	hop_value a[2] = { in[0], in[1] };
	for (long i = 0; i < n / 4; i++)
		hop_region(t, "step", step, NULL, 2, a, 1, a);
	hop_return(t, hop_sum_all(t, a[0]));
}

/* ---- a transformer: attention of four heads and two products, weights of their own ---- */

enum { ROWS = 64, WIDTH = 64, HEADS = 4, PER = 8 };

/* [ROWS, WIDTH] as [HEADS, ROWS, WIDTH / HEADS]. */
static hop_value heads(hop_trace *t, hop_value x)
{
	hop_dim d[3] = { hop_n(ROWS), hop_n(HEADS), hop_n(WIDTH / HEADS) };
	return hop_transpose(t, hop_reshape(t, x, 3, d), 0, 1);
}

/* Inputs: x, then norm, q, k, v, out, norm, wide, narrow. */
static hop_value block_of(hop_trace *t, const hop_value *in)
{
	hop_value x = in[0], none = { 0, 0 };
	hop_dim   d[2] = { hop_n(ROWS), hop_n(WIDTH) };
	hop_value n = hop_layer_norm(t, x, in[1], none, 1e-5);
	hop_value q = heads(t, hop_matmul(t, n, in[2])), k = heads(t, hop_matmul(t, n, in[3]));
	hop_value v = heads(t, hop_matmul(t, n, in[4]));
	hop_value s = hop_softmax(t, hop_mulf(t, hop_matmul(t, q, hop_transpose(t, k, 1, 2)), 0.25), 2);
	hop_value o = hop_reshape(t, hop_transpose(t, hop_matmul(t, s, v), 0, 1), 2, d);
	x = hop_add(t, x, hop_matmul(t, o, in[5]));
	hop_value h = hop_matmul(t, hop_layer_norm(t, x, in[6], none, 1e-5), in[7]);
	h = hop_mul(t, h, hop_sigmoid(t, hop_mulf(t, h, 1.702)));
	return hop_add(t, x, hop_matmul(t, h, in[8]));
}

static void block(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, block_of(t, in));
}

static void net(hop_trace *t, const hop_value *in, long n, bool is_region)
{
	hop_value x = in[0], a[1 + PER];
	for (long i = 0; i < n; i++) {
		a[0] = x;
		for (int k = 0; k < PER; k++)
			a[1 + k] = in[1 + i * PER + k];
		if (is_region)
			hop_region(t, "block", block, NULL, 1 + PER, a, 1, &x);
		else
			x = block_of(t, a);
	}
	hop_return(t, hop_sum_all(t, hop_mul(t, x, x)));
}

static void layers(hop_trace *t, const hop_value *in, void *user)
{
	net(t, in, *(long *)user, false);
}

static void marked(hop_trace *t, const hop_value *in, void *user)
{
	net(t, in, *(long *)user, true);
}

/* ---- loops in loops ---- */

struct tower { int left; };

static void floor_of(hop_trace *t, const hop_value *in, void *user);

static void same(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

static void level(hop_trace *t, hop_value x, int left, hop_value *out)
{
	struct tower w = { left };
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(1) };
	if (left % 2)
		hop_scan(t, floor_of, &w, 1, &x, 0, NULL, &o, 1, out, NULL);
	else
		hop_cond(t, hop_lt(t, x, hop_f(t, 2)), floor_of, same, &w, 1, &x, 1, out);
}

static void floor_of(hop_trace *t, const hop_value *in, void *user)
{
	struct tower w = *(struct tower *)user;
	hop_value x = hop_sin(t, in[0]);
	if (w.left)
		level(t, x, w.left - 1, &x);
	hop_return(t, x);
}

/* Towers of loops and branches, 50 deep in all, as many as make n nodes. */
static void towers(hop_trace *t, const hop_value *in, void *user)
{
	enum { DEPTH = 50 };
	long n = *(long *)user;
	hop_value x = in[0];
	for (long i = 0; i < n / (3 * DEPTH); i++)
		level(t, hop_addf(t, x, 0.01 * (double)(i % 7)), DEPTH - 1, &x);
	hop_return(t, x);
}

/* ---- LU of an n by n matrix, unrolled into scalars ---- */

static void lu(hop_trace *t, const hop_value *in, void *user)
{
	enum { MOST = 64 };
	static hop_value a[MOST][MOST];
	int n = (int)*(long *)user;
	n = n < MOST ? n : MOST;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			a[i][k] = hop_index(t, hop_index(t, in[0], 0, i), 0, k);
	hop_value y = a[0][0];
	for (int k = 0; k < n; k++) {
		for (int i = k + 1; i < n; i++) {
			a[i][k] = hop_div(t, a[i][k], a[k][k]);
			for (int j = k + 1; j < n; j++)
				a[i][j] = hop_sub(t, a[i][j], hop_mul(t, a[i][k], a[k][j]));
		}
		y = k ? hop_mul(t, y, a[k][k]) : y;
	}
	hop_return(t, y);
}

/* A vector taken apart into scalars. */
static void unpack(hop_trace *t, const hop_value *in, void *user)
{
	long n = *(long *)user;
	hop_value y = hop_index(t, in[0], 0, 0);
	for (long i = 1; i < n; i++) {
		hop_value x = hop_index(t, in[0], 0, (int)i);
		y = hop_add(t, hop_mul(t, y, hop_f(t, 0.5)), hop_mul(t, x, x));
	}
	hop_return(t, y);
}

#define SCALAR     { .dtype = HOP_f64 }
#define VEC(n)     { .dtype = HOP_f32, .rank = 1, .dim = { n } }
#define MAT(n, m)  { .dtype = HOP_f32, .rank = 2, .dim = { n, m } }

#define LAYER      { MAT(ROWS, WIDTH), VEC(WIDTH), MAT(WIDTH, WIDTH), MAT(WIDTH, WIDTH), \
                     MAT(WIDTH, WIDTH), MAT(WIDTH, WIDTH), VEC(WIDTH), MAT(WIDTH, 4 * WIDTH), \
                     MAT(4 * WIDTH, WIDTH) }

const growth_kind growth_kinds[] = {
	{ "vec", "a line on f32[1024]", vec, 2, { VEC(1024), VEC(1024) }, 1000, false, 0 },
	{ "wide", "rows of 16 on f32[1024]", wide, 2, { VEC(1024), VEC(1024) }, 1000, false, 0 },
	{ "scalar", "f64 scalars", scalar, 2, { SCALAR, SCALAR }, 1000, false, 0 },
	{ "sines", "sin of sin of a scalar", sines, 1, { SCALAR }, 1000, false, 0 },
	{ "products", "16 x 16 with tanh", products, 2, { MAT(16, 16), MAT(16, 16) }, 1000, false, 0 },
	{ "conds", "branches in a row", conds, 2, { SCALAR, SCALAR }, 1000, false, 0 },
	{ "regions", "calls of a small region", regions, 2, { VEC(64), VEC(64) }, 1000, false, 0 },
	{ "towers", "loops and branches 50 deep", towers, 1, { SCALAR }, 1000, false, 0 },
	{ "layers", "a transformer, layers not marked", layers, 1 + PER, LAYER, 3, true, PER },
	{ "marked", "the same, layers as regions", marked, 1 + PER, LAYER, 3, true, PER },
	{ "lu", "rows of a matrix", lu, 1, { MAT(-1, -1) }, 4, true, 0 },
	{ "unpack", "a vector into scalars", unpack, 1, { VEC(-1) }, 256, true, 0 },
	{ .name = NULL }
};
