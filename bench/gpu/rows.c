/* rows.c -- the programs of the benchmark, through the public interface: loops whose predicate stays
 * on the device, lanes, chains of branches, products small and large, and nests that memory bounds. */
#include "gpu.h"

enum { LOOP = 1024, TRIPS = 2000, CONDS = 32, ITEMS = 256, ITEM = 64, STEPS = 1000, BATCH = 32,
       HIDDEN = 256, LANES = 128, SOURCES = 524288 };

static int64_t size_of(const void *user, int i)
{
	return ((const int64_t *)user)[i];
}

/* ---- loops: x, trips -> x ---- */

static void while_points(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], n = in[1], i = hop_i(t, 0);

	(void)user;
	HOP_WHILE(t, hop_lt(t, i, n), i, x) {
		x = hop_addf(t, hop_mulf(t, x, 0.999), 0.001);
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

/* Each element by its neighbours, around the end. */
static void while_near(hop_trace *t, const hop_value *in, void *user)
{
	int64_t   n = size_of(user, 0);
	hop_value x = in[0], trips = in[1], i = hop_i(t, 0);

	HOP_WHILE(t, hop_lt(t, i, trips), i, x) {
		hop_value left = hop_concat(t, 2, (hop_value[]){ hop_narrow(t, x, 0, n - 1, 1),
		                                                 hop_narrow(t, x, 0, 0, n - 1) }, 0);
		hop_value right = hop_concat(t, 2, (hop_value[]){ hop_narrow(t, x, 0, 1, n - 1),
		                                                  hop_narrow(t, x, 0, 0, 1) }, 0);
		x = hop_add(t, hop_mulf(t, x, 0.5), hop_mulf(t, hop_add(t, left, right), 0.25));
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

/* As long as the sum is not small, which it does not become: the sum decides every trip. */
static void while_sum(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], n = in[1], i = hop_i(t, 0), s = hop_sum_all(t, x);

	(void)user;
	HOP_WHILE(t, hop_and(t, hop_lt(t, i, n), hop_gt(t, s, hop_f(t, -1e9))), i, x, s) {
		x = hop_addf(t, hop_mulf(t, x, 0.999), 0.001);
		s = hop_sum_all(t, x);
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, x);
}

/* Every branch is decided by what the one before it gave. */
static void conds(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];

	(void)user;
	for (int k = 0; k < CONDS; k++) {
		hop_value first = hop_index(t, x, 0, 0);
		HOP_IF(t, hop_lt(t, first, hop_f(t, 0.4 + 0.01 * k)), x)
			x = hop_sin(t, hop_addf(t, x, 0.7));
		else
			x = hop_mul(t, x, hop_cos(t, x));
	}
	hop_return(t, x);
}

static void item(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_softmax(t, hop_matmul(t, in[0], in[0]), 1));
}

static void items(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1] = { { 0, 0 } };

	(void)user;
	hop_map(t, item, NULL, 1, in, 0, 1, out);
	hop_return(t, out[0]);
}

/* ---- lanes ---- */

/* Angles and speeds, as many steps. */
static void pendulums(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], w = in[1];

	HOP_FOR(t, i, size_of(user, 1), a, w) {
		w = hop_sub(t, w, hop_mulf(t, hop_sin(t, a), 0.01));
		a = hop_add(t, a, hop_mulf(t, w, 0.01));
	}
	hop_return(t, hop_add(t, a, w));
}

/* The same of one that stops by itself. */
static void stopping(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a = in[0], w = in[1], n = in[2], i = hop_scalar(t, HOP_i64, 0);

	(void)user;
	HOP_WHILE(t, hop_lt(t, i, n), a, w, i) {
		w = hop_sub(t, w, hop_mulf(t, hop_sin(t, a), 0.01));
		a = hop_add(t, a, hop_mulf(t, w, 0.01));
		i = hop_add(t, i, hop_i(t, 1));
	}
	hop_return(t, hop_add(t, a, w));
}

/* Each after another number of steps, up to as many. */
static void unlike(hop_trace *t, const hop_value *in, void *user)
{
	int64_t   n = size_of(user, 0), most = size_of(user, 1);
	hop_value lane = hop_arange(t, HOP_i64, hop_n(n)), out[1] = { { 0, 0 } };
	hop_value x[3] = { in[0], in[1], hop_rem(t, hop_mul(t, lane, hop_i(t, 7919)), hop_i(t, most + 1)) };

	hop_vmap_at(t, stopping, NULL, 3, x, (const int[]){ 0, 0, 0 }, 1, out);
	hop_return(t, out[0]);
}

/* ---- nests ---- */

static void points(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_addf(t, hop_mulf(t, in[0], 1.5), 0.25));
}

static void softmax(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_softmax(t, in[0], 1));
}

static void norm(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_layer_norm(t, in[0], in[1], in[2], 1e-5));
}

static void columns(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum(t, in[0], 1, (const int[]){ 0 }));
}

static void turn(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_clone(t, hop_transpose(t, in[0], 0, 1)));
}

/* rows, where each of them goes -> sums, in the order of the rows */
static void gather_back(hop_trace *t, const hop_value *in, void *user)
{
	const hop_dim dim[2] = { hop_n(size_of(user, 0)), hop_n(LANES) };

	hop_return(t, hop_scatter_add(t, hop_full(t, HOP_f32, 2, dim, 0), 0, in[1], in[0]));
}

/* The same for each of a batch. */
static void gather_back_each(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1] = { { 0, 0 } };

	hop_vmap_at(t, gather_back, user, 2, in, (const int[]){ 0, 0 }, 1, out);
	hop_return(t, out[0]);
}

/* x [T, B, H], W, U, h -> h */
static void rnn(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = in[3], all = hop_matmul(t, in[0], in[2]), W = in[1];

	HOP_FOR(t, i, size_of(user, 0), h)
		h = hop_tanh(t, hop_add(t, hop_matmul(t, h, W), hop_take(t, all, i)));
	hop_return(t, h);
}

static void product(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul(t, in[0], in[1]));
}

/* What a gradient of weights is: few elements, a long sum. */
static void product_long(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul(t, hop_transpose(t, in[0], 0, 1), in[1]));
}

/* f32 on both ends: what casts take is in it. */
static void product_bf16(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = hop_cast(t, in[0], HOP_bf16), y = hop_cast(t, in[1], HOP_bf16);

	(void)user;
	hop_return(t, hop_cast(t, hop_matmul(t, x, y), HOP_f32));
}

/* ---- the table ---- */

static gpu_row loop_row(const char *name, hop_body *body, int64_t small, double goal)
{
	return (gpu_row){ .name = name, .body = body, .n = { LOOP }, .nin = 2, .per = TRIPS / small,
		              .goal = goal, .in = { hop_spec1(HOP_f32, LOOP), hop_spec0(HOP_i64) },
		              .unit = "us a trip" };
}

/* A state of n numbers that all of the device has. */
static gpu_row wide_row(const char *name, hop_body *body, int64_t n, int64_t small, double goal)
{
	n /= small;
	return (gpu_row){ .name = name, .body = body, .n = { n }, .nin = 2, .per = 100 / small + 1,
		              .goal = goal, .in = { hop_spec1(HOP_f32, n), hop_spec0(HOP_i64) },
		              .unit = "us a trip" };
}

static gpu_row memory_row(const char *name, hop_body *body, int64_t r, int64_t c, double goal)
{
	return (gpu_row){ .name = name, .body = body, .n = { r, c }, .nin = 1, .per = 1, .bytes = 8 * r * c,
		              .in = { hop_spec2(HOP_f32, r, c) }, .goal = goal, .unit = "% of copy" };
}

static gpu_row norm_row(const char *name, int64_t r, int64_t c)
{
	gpu_row w = memory_row(name, norm, r, c, 90);

	w.nin = 3;
	w.in[1] = w.in[2] = hop_spec1(HOP_f32, c);
	return w;
}

static gpu_row column_row(const char *name, int64_t r, int64_t c)
{
	gpu_row w = memory_row(name, columns, r, c, 88);

	w.bytes = 4 * r * c;
	return w;
}

/* Goals of the additions are what the same takes with atomic ones. */
static gpu_row scatter_row(const char *name, int64_t to, int64_t small, double goal)
{
	int64_t from = SOURCES / small;

	return (gpu_row){ .name = name, .body = gather_back, .n = { to / small }, .nin = 2, .per = 1,
		              .goal = goal, .in = { hop_spec2(HOP_f32, from, LANES), hop_spec1(HOP_i64, from) },
		              .unit = "us a call" };
}

/* Steps over two axes: of one table, or each of the first has one. */
static gpu_row scatter_row2(const char *name, bool each, int64_t to, int64_t small, double goal)
{
	gpu_row w = scatter_row(name, to, small, goal);
	int64_t n = 64, m = SOURCES / small / n;

	w.body = each ? gather_back_each : gather_back;
	w.in[0] = hop_spec3(HOP_f32, n, m, LANES);
	w.in[1] = hop_spec2(HOP_i64, n, m);
	return w;
}

/* The same where the first axis of all inputs is a size parameter. */
static gpu_row any_row(gpu_row w)
{
	for (int i = 0; i < w.nin; i++)
		w.in[i].sym[0] = "n";
	return w;
}

static gpu_row cond_row(const char *name, double goal)
{
	return (gpu_row){ .name = name, .body = conds, .n = { LOOP }, .nin = 1,
		              .in = { hop_spec1(HOP_f32, LOOP) }, .per = CONDS, .goal = goal,
	                  .unit = "us each" };
}

static gpu_row item_row(const char *name, int64_t small, double goal)
{
	int64_t n = ITEMS / small;

	return (gpu_row){ .name = name, .body = items, .nin = 1, .in = { hop_spec3(HOP_f32, n, ITEM, ITEM) },
		              .per = n, .goal = goal, .unit = "us an item" };
}

static gpu_row rnn_row(const char *name, int64_t small, double goal)
{
	int64_t  n = STEPS / small;
	hop_spec square = hop_spec2(HOP_f32, HIDDEN, HIDDEN);

	return (gpu_row){ .name = name, .body = rnn, .n = { n }, .nin = 4, .per = n, .goal = goal,
		              .scale = 0.06, .in = { hop_spec3(HOP_f32, n, BATCH, HIDDEN), square, square,
		                      hop_spec2(HOP_f32, BATCH, HIDDEN) }, .unit = "us a step" };
}

/* Goals are cuBLAS's times, and those of the casts. */
static gpu_row product_row(const char *name, hop_body *body, int64_t n, double goal)
{
	return (gpu_row){ .name = name, .body = body, .nin = 2, .per = 1, .goal = goal, .scale = 0.06,
		              .in = { hop_spec2(HOP_f32, n, n), hop_spec2(HOP_f32, n, n) },
		              .unit = "us a call" };
}

/* About as long as their arithmetic takes the whole device. */
static gpu_row lanes_row(const char *name, hop_body *body, int64_t small, double goal)
{
	int64_t n = 65536 / small, steps = STEPS / small;

	return (gpu_row){ .name = name, .body = body, .n = { n, steps }, .nin = 2, .per = steps,
		              .goal = goal, .in = { hop_spec1(HOP_f32, n), hop_spec1(HOP_f32, n) },
		              .unit = "us a step" };
}

/* The goal is what a kernel written for it takes. */
static gpu_row long_row(const char *name, int64_t k, double goal)
{
	return (gpu_row){ .name = name, .body = product_long, .nin = 2, .per = 1, .goal = goal,
		              .in = { hop_spec2(HOP_f32, k, HIDDEN), hop_spec2(HOP_f32, k, HIDDEN) },
		              .scale = 0.06, .unit = "us a call" };
}

bool gpu_row_at(int i, int64_t s, gpu_row *out)
{
	const int64_t all = (int64_t)(1 << 26) / s / s;

	switch (i) {
	case 0: *out = loop_row("while 1024, points", while_points, s, 0.03); break;
	case 1: *out = loop_row("while 1024, neighbours", while_near, s, 0.25); break;
	case 2: *out = loop_row("while 1024, sum decides", while_sum, s, 0.3); break;
	case 3: *out = cond_row("32 conds in a chain", 0.5); break;
	case 4: *out = item_row("map softmax(m @ m)", s, 0.06); break;
	case 5: *out = memory_row("elementwise 64M", points, all / 1024, 1024, 90); break;
	case 6: *out = memory_row("softmax rows 1024", softmax, all / 2048, 1024, 90); break;
	case 7: *out = memory_row("softmax rows 4096", softmax, all / 8192, 4096, 90); break;
	case 8: *out = memory_row("softmax rows 8192", softmax, all / 16384, 8192, 90); break;
	case 9: *out = norm_row("layer norm rows 1024", all / 2048, 1024); break;
	case 10: *out = norm_row("layer norm rows 4096", all / 8192, 4096); break;
	case 11: *out = norm_row("layer norm rows 8192", all / 16384, 8192); break;
	case 12: *out = column_row("columns of 65536x1024", all / 1024, 1024); break;
	case 13: *out = column_row("columns of 4096x4096", 4096 / s, 4096 / s); break;
	case 14: *out = memory_row("transpose 8192x8192", turn, 8192 / s, 8192 / s, 90); break;
	case 15: *out = scatter_row("scatter-add to 65536", 65536, s, 199); break;
	case 16: *out = scatter_row("scatter-add to 524288", 524288, s, 294); break;
	case 17: *out = rnn_row("rnn T=1000 B=32 H=256", s, 3); break;
	case 18: *out = product_row("product 4096, f32", product, 4096 / s, 2720); break;
	case 19: *out = product_row("product 4096, bf16", product_bf16, 4096 / s, 260); break;
	/* what a barrier of all and the memory take; no cache holds the last: it is copied once, too */
	case 20: *out = wide_row("while 256K, neighbours", while_near, 1 << 18, s, 1.4); break;
	case 21: *out = wide_row("while 1M, neighbours", while_near, 1 << 20, s, 2.3); break;
	case 22: *out = wide_row("while 16M, neighbours", while_near, 1 << 24, s, 66); break;
	case 23: *out = long_row("product 256x31968x256, f32", 31968 / s, 134); break;
	case 24: *out = lanes_row("65536 lanes, 1000 steps", pendulums, s, 0.2); break;
	case 25: *out = lanes_row("65536 lanes, up to 1000", unlike, s, 0.2); break;
	case 26: *out = any_row(column_row("columns of nx1024", all / 1024, 1024)); break;
	case 27: *out = any_row(scatter_row("scatter-add of n", 65536, s, 199)); break;
	case 28: *out = any_row(long_row("product 256xnx256, f32", 31968 / s, 134)); break;
	case 29: *out = scatter_row2("scatter-add, two axes", false, 65536, s, 199); break;
	case 30: *out = scatter_row2("scatter-add, 64 lanes", true, 1024, s, 199); break;
	default: return false;
	}
	return true;
}
