/* on_top_test.c -- what is made of other operators: fori_loop, while_stack_output, foreach_map, maps
 * in chunks, scans unrolled. Each computes what the plain form does; derivatives and batches, around
 * and inside of other operators, against differences and loops. */
#include <float.h>

#include "trace_rig.h"

#include "device_rig.h"
#include "support/checks.h"

/* ---- every form, every question of the matrix ---- */

typedef int check_fn(hop_ctx *c, const subject *s);

static void all_checks(int form, int outer, int inner)
{
	static check_fn *const check[] = {
		check_value, check_jvp, check_vjp, check_vmap, check_vmap_vjp,
		check_vjp_vjp, check_jvp_vjp, check_vmap_vmap, check_bf16      /* alone only */
	};
	size_t n = inner < NOPERATOR ? 5 : sizeof check / sizeof *check;
	subject s = { .n = inner < NOPERATOR ? 2 : 1, .ops = { outer, inner }, .form = form };
	for (size_t i = 0; i < n; i++)
		if (check[i](ctx, &s))
			fail_msg("form %d, %s inside, question %d", form,
			         inner < NOPERATOR ? cell_op[inner] : "nothing", (int)i);
}

static void forms(void **state)
{
	static const int inner[] = { NOPERATOR, OP_COND, OP_WHILE };
	(void)state;
	for (int form = FORM_UNROLL; form < NFORM; form++)
		for (int i = 0; i < 3; i++)
			all_checks(form, form == FORM_CHUNK ? OP_MAP : form == FORM_FOREACH ? OP_CALL : OP_SCAN,
			           inner[i]);
}

static void lanes(void **state)
{
	(void)state;
	for (int form = FORM_UNROLL; form < NFORM; form++) {
		subject s = { .n = 1, .ops = { form == FORM_CHUNK ? OP_MAP : form == FORM_FOREACH ? OP_CALL
		                                                                           : OP_SCAN },
		              .form = form };
		assert_int_equal(check_divergent_lanes(ctx, &s), 0);
		assert_int_equal(check_checkpointed(ctx, &s), 0);
	}
}

/* ---- unrolled scans ---- */

struct scanned {
	int  unroll, length, every;
	bool reverse, stops, counted, symbolic;
};

static void scan_step(hop_trace *t, const hop_value *in, void *user)
{
	const struct scanned *s = user;
	hop_value h = hop_sin(t, hop_add(t, hop_mulf(t, in[0], 1.3), in[1]));
	if (s->stops)
		hop_stop_if(t, hop_gt(t, hop_sum_all(t, h), hop_f(t, 1.7)));
	hop_return(t, h, hop_mul(t, h, in[1]));
}

/* n, h, xs -> h, ys, steps */
static void scan_it(hop_trace *t, const hop_value *in, void *user)
{
	const struct scanned *s = user;
	hop_value out[2] = { HOP_NONE, HOP_NONE }, steps = HOP_NONE;
	hop_scan(t, scan_step, user, 1, in + 1, 1, in + 2,
	         HOP_SCAN_OPTS(.reverse = s->reverse, .every = s->every, .counted = s->counted,
	                       .count = in[0], .unroll = s->unroll), 2, out, &steps);
	hop_return(t, out[0], out[1], steps);
}

static void scan_sum(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3];
	memset(out, 0, sizeof out);
	hop_region(t, "it", scan_it, user, 3, in, 3, out);
	hop_return(t, hop_add(t, hop_sum_all(t, out[0]), hop_sum_all(t, hop_sin(t, out[1]))), out[0],
	           out[1], out[2]);
}

static void run_scan(struct scanned s, int64_t count, bool grad, int nout, hop_array **out)
{
	static const int wrt[2] = { 1, 2 };
	double h[2] = { 0.3, -0.2 }, x[32];
	int64_t dim[2] = { s.length, 2 }, two = 2;
	hop_spec in[3] = { hop_spec0(HOP_i64), hop_spec1(HOP_f64, 2), hop_spec2(HOP_f64, s.length, 2) };
	hop_fn *f, *g = NULL;
	if (s.symbolic)
		in[2] = hop_spec_sym(in[2], 0, "n", 0, 40);
	for (int i = 0; i < 2 * s.length; i++)
		x[i] = 0.1 + 0.07 * i;
	hop_array *a[3] = { num_i(count), array(HOP_f64, 1, &two, h), array(HOP_f64, 2, dim, x) };
	if (hop_capture(ctx, scan_sum, &s, 3, in, &f) || (grad && hop_grad(f, 2, wrt, &g)) ||
	    hop_call(grad ? g : f, 3, a, nout, out))
		fail_msg("%s", hop_message(ctx));
	for (int i = 0; i < 3; i++)
		hop_array_release(a[i]);
	hop_fn_release(g), hop_fn_release(f);
}

/* A device computes a * b + c with one rounding where its compiler puts them together: in a loop that is
 * unrolled that may be elsewhere, and the last bits of a sum of a few terms with it. */
static int alike(hop_array *want, hop_array *got)
{
	double v[64];
	if (!on_device() || getenv("HOP_INTERP"))
		return cell_same("unrolled", want, got);
	assert_true(hop_array_count(want) <= 64);
	for (int64_t i = 0; i < hop_array_count(want); i++)
		v[i] = hop_array_at(want, i);
	return cell_near("unrolled", hop_array_count(want), v, got, 4 * DBL_EPSILON);
}

static void compare(struct scanned s, int64_t count)
{
	struct scanned plain = s;
	hop_array *want[6], *got[6];
	plain.unroll = 0;
	run_scan(plain, count, true, 6, want);
	run_scan(s, count, true, 6, got);
	for (int i = 0; i < 6; i++) {
		if (alike(want[i], got[i]))
			fail_msg("result %d of unroll %d, length %d, every %d, count %d,%s%s%s%s", i, s.unroll,
			         s.length, s.every, (int)count, s.reverse ? " reverse" : "",
			         s.stops ? " stops" : "", s.counted ? " counted" : "",
			         s.symbolic ? " symbolic" : "");
		hop_array_release(want[i]);
		hop_array_release(got[i]);
	}
}

static void unrolled(void **state)
{
	(void)state;
	setenv("HOP_INTERP", "1", 1);
	for (int kind = 0; kind < 16; kind++)
		for (int length = 0; length <= 7; length += 1 + length / 3)
			for (int u = 2; u <= 4; u += 2) {
				struct scanned s = { u, length, kind % 3 ? 0 : 2, kind & 1, kind & 2, kind & 4,
				                     kind & 8 };
				if (s.reverse && s.stops)
					continue;
				compare(s, length - 1);
				if (s.counted)
					compare(s, length + 3);
			}
	unsetenv("HOP_INTERP");
	for (int kind = 0; kind < 8; kind++)
		if ((kind & 3) != 3)
			compare((struct scanned){ 3, 7, -1, kind & 1, kind & 2, kind & 4, false }, 5);
}

/* ---- maps in chunks ---- */

static void map_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value k = *(hop_value *)user;
	hop_value y = hop_matmul(t, k, in[0]);
	hop_return(t, hop_sin(t, y), hop_sum_all(t, k), hop_mul(t, in[0], in[1]));
}

struct mapped { int chunk; bool block; };

/* k, xs, w -> sum, ys.. */
static void map_it(hop_trace *t, const hop_value *in, void *user)
{
	const struct mapped *m = user;
	hop_value out[3] = { HOP_NONE, HOP_NONE, HOP_NONE }, k = in[0];
	if (m->block) {
		HOP_MAP(t, i, hop_dim_of(t, in[1], 0)) {
			hop_value x = hop_take(t, in[1], i), y = hop_matmul(t, k, x);
			hop_chunk(t, m->chunk);
			hop_stack(t, &out[0], hop_sin(t, y));
			hop_stack(t, &out[1], hop_sum_all(t, k));
			hop_stack(t, &out[2], hop_mul(t, x, hop_take(t, in[2], i)));
		}
	} else {
		hop_map_chunked(t, map_step, &k, 2, in + 1, 0, m->chunk, 3, out);
	}
	hop_value s = hop_add(t, hop_sum_all(t, out[0]), hop_sum_all(t, hop_mul(t, out[2], out[2])));
	hop_return(t, hop_add(t, s, hop_sum_all(t, out[1])), out[0], out[1], out[2]);
}

static void run_map(struct mapped m, int n, bool symbolic, bool eager, hop_array **out)
{
	static const int wrt[3] = { 0, 1, 2 };
	double k[4] = { 0.5, -0.3, 0.2, 0.7 }, x[32], w[16];
	int64_t kd[2] = { 2, 2 }, xd[2] = { n, 2 }, wd[1] = { n };
	hop_spec in[3] = { hop_spec2(HOP_f64, 2, 2), hop_spec2(HOP_f64, n, 2), hop_spec1(HOP_f64, n) };
	hop_fn *f, *g;
	if (symbolic)
		for (int i = 1; i < 3; i++)
			in[i] = hop_spec_sym(in[i], 0, "n", 0, 40);
	for (int i = 0; i < n; i++)
		x[2 * i] = 0.1 * i, x[2 * i + 1] = 0.3 - 0.2 * i, w[i] = 1 + 0.1 * i;
	hop_array *a[3] = { array(HOP_f64, 2, kd, k), array(HOP_f64, 2, xd, x),
	                    array(HOP_f64, 1, wd, w) };
	if (eager) {
		if (hop_eager_call(ctx, map_it, &m, 3, a, 4, out))
			fail_msg("%s", hop_message(ctx));
	} else {
		if (hop_capture(ctx, map_it, &m, 3, in, &f) || hop_grad(f, 3, wrt, &g) ||
		    hop_call(g, 3, a, 7, out))
			fail_msg("%s", hop_message(ctx));
		hop_fn_release(g), hop_fn_release(f);
	}
	for (int i = 0; i < 3; i++)
		hop_array_release(a[i]);
}

static void chunked(void **state)
{
	(void)state;
	for (int n = 0; n <= 7; n++)
		for (int kind = 0; kind < 6; kind++) {
			struct mapped plain = { 0, false }, m = { 2 + kind % 3, kind > 2 };
			bool eager = kind == 5;
			int nout = eager ? 4 : 7;
			hop_array *want[7], *got[7];
			run_map(plain, n, false, eager, want);
			run_map(m, n, kind % 2, eager, got);
			for (int i = 0; i < nout; i++) {
				double w[64];
				int64_t count = hop_array_count(want[i]);
				for (int64_t e = 0; e < count; e++)
					w[e] = hop_array_at(want[i], e);
				assert_int_equal(cell_near("chunked", count, w, got[i], 1e-14), 0);
				hop_array_release(want[i]);
				hop_array_release(got[i]);
			}
		}
}

/* ---- fori_loop ---- */

static void fori_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, hop_mulf(t, in[1], 0.5), hop_cast(t, in[0], HOP_f64)),
	           hop_add(t, in[2], hop_i(t, 1)));
}

/* lower, upper, x -> x, trips; user: which of the limits are data, and the bound */
struct limits { int lower, upper; bool data[2]; int64_t bound; };

static void fori_it(hop_trace *t, const hop_value *in, void *user)
{
	const struct limits *l = user;
	hop_value init[2] = { in[2], hop_scalar(t, HOP_i64, 0) }, out[2] = { HOP_NONE, HOP_NONE };
	hop_fori_opts *o = HOP_FORI_OPTS(.max_trips = l->bound);
	if (l->data[0] && l->data[1])
		hop_fori_loop(t, in[0], in[1], fori_body, NULL, 2, init, o, out);
	else if (l->data[0])
		hop_fori_loop(t, in[0], l->upper, fori_body, NULL, 2, init, o, out);
	else if (l->data[1])
		hop_fori_loop(t, l->lower, in[1], fori_body, NULL, 2, init, o, out);
	else
		hop_fori_loop(t, l->lower, l->upper, fori_body, NULL, 2, init, NULL, out);
	hop_return(t, out[0], out[1]);
}

static void fori(void **state)
{
	static const int ends[][2] = { { 0, 4 }, { -3, 2 }, { 2, 2 }, { 5, 1 }, { 1, 2 } };
	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		for (int data = 0; data < 4; data++)
			for (int bound = 0; bound <= (data ? 3 : 0); bound += 3) {
				struct limits l = { ends[i][0], ends[i][1], { data & 1, data & 2 }, bound };
				double x = 0.7, n = 0;
				for (int k = l.lower; k < l.upper && (!bound || n < bound); k++, n++)
					x = 0.5 * x + k;
				rig_run(&(struct rig){ .f = fori_it, .user = &l, .nin = 3, .nout = 2,
				                       .in = { num_i(l.lower), num_i(l.upper), num(0.7) },
				                       .want = { &x, &n }, .n = { 1, 1 } });
			}
}

/* The number of trips is a size of the input. */
static void fori_rows(hop_trace *t, const hop_value *in, void *user)
{
	hop_value init[2] = { hop_scalar(t, HOP_f64, 1), hop_scalar(t, HOP_i64, 0) };
	hop_value out[2] = { HOP_NONE, HOP_NONE };
	(void)user;
	hop_fori_loop(t, 2, hop_dim_of(t, in[0], 0), fori_body, NULL, 2, init, NULL, out);
	hop_return(t, out[0], out[1]);
}

static void fori_symbolic(void **state)
{
	hop_spec in = hop_spec_sym(hop_spec1(HOP_f64, 0), 0, "n", 0, 20);
	hop_fn *f;
	(void)state;
	assert_int_equal(hop_capture(ctx, fori_rows, NULL, 1, &in, &f), HOP_OK);
	assert_non_null(strstr(hop_fn_text(f), "scan"));
	for (int64_t n = 0; n < 7; n++) {
		static const double zeros[8];
		hop_array *a = array(HOP_f64, 1, &n, zeros), *y[2];
		double x = 1, trips = n > 2 ? (double)n - 2 : 0;
		for (int k = 2; k < n; k++)
			x = 0.5 * x + k;
		assert_int_equal(hop_call(f, 1, &a, 2, y), HOP_OK);
		same(y[0], &x, 1);
		same(y[1], &trips, 1);
		hop_array_release(a), hop_array_release(y[0]), hop_array_release(y[1]);
	}
	hop_fn_release(f);
}

/* ---- while with stacks ---- */

static void below(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 3)));
}

static void half_more(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 1.5), hop_mul(t, in[0], in[0]));
}

static void stacked(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { HOP_NONE, HOP_NONE }, n = HOP_NONE, x = in[0], ys = HOP_NONE, m = HOP_NONE;
	(void)user;
	hop_while_stack_output(t, below, half_more, NULL, 1, in, HOP_WHILE_OPTS(.max_trips = 6), 2, out,
	                       &n);
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 3)), x) {
		hop_bound(t, 6);
		hop_trips(t, &m);
		hop_stack(t, &ys, hop_mul(t, x, x));
		x = hop_mulf(t, x, 1.5);
	}
	hop_return(t, out[0], out[1], n, x, ys, m);
}

/* No trips, some, more than there is room for: values, and gradients of the stack alone. */
static void while_stack(void **state)
{
	static const double start[] = { 5, 1, 0.05, 2.9 };
	(void)state;
	for (size_t i = 0; i < sizeof start / sizeof *start; i++) {
		double x = start[i], ys[6] = { 0 }, n = 0;
		for (; x < 3 && n < 6; n++, x *= 1.5)
			ys[(int)n] = x * x;
		rig_run(&(struct rig){ .f = stacked, .nin = 1, .nout = 6, .in = { num(start[i]) },
		                       .want = { &x, ys, &n, &x, ys, &n }, .n = { 1, 6, 1, 1, 6, 1 } });
	}
}

static void stack_loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value ys = HOP_NONE, x = in[0];
	(void)user;
	HOP_WHILE(t, hop_lt(t, x, hop_f(t, 3)), x) {
		hop_bound(t, 6);
		hop_stack(t, &ys, hop_mul(t, x, x));
		x = hop_mulf(t, x, 1.5);
	}
	hop_return(t, hop_sum_all(t, ys));
}

static void while_stack_grad(void **state)
{
	static const double start[] = { 5, 1, 0.05, 2.9 };
	static const int wrt[1] = { 0 };
	hop_spec in = hop_spec0(HOP_f64);
	hop_fn *f, *g;
	(void)state;
	assert_int_equal(hop_capture(ctx, stack_loss, NULL, 1, &in, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, wrt, &g), HOP_OK);
	for (size_t i = 0; i < sizeof start / sizeof *start; i++) {
		double x = start[i], slope = 0, sum = 0;
		hop_array *a = num(start[i]), *y[2];
		for (int n = 0; x < 3 && n < 6; n++, x *= 1.5) {
			sum += x * x;
			slope += 2 * x * x / start[i];
		}
		assert_int_equal(hop_call(g, 1, &a, 2, y), HOP_OK);
		same(y[0], &sum, 1);
		same(y[1], &slope, 1);
		hop_array_release(a), hop_array_release(y[0]), hop_array_release(y[1]);
	}
	hop_fn_release(g), hop_fn_release(f);
}

/* ---- foreach_map ---- */

static void scaled(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_mul(t, in[0], in[1])), hop_mulf(t, in[0], 2));
}

static void foreach(hop_trace *t, const hop_value *in, void *user)
{
	hop_value list[6] = { in[0], in[2], in[1], in[1], in[2], in[0] }, out[6];
	(void)user;
	memset(out, 0, sizeof out);
	assert_int_equal(hop_foreach_map(t, scaled, NULL, 3, 2, list, 6, out), 6);
	hop_return_n(t, 6, out);
}

static void foreach_list(void **state)
{
	double a[3] = { 1, 2, 3 }, b[2] = { 4, 5 }, c[3] = { 1, 0, -1 };
	double ac = -2, bb = 41, a2[3] = { 2, 4, 6 }, b2[2] = { 8, 10 }, c2[3] = { 2, 0, -2 };
	hop_spec in[3] = { hop_spec1(HOP_f64, 3), hop_spec1(HOP_f64, 2), hop_spec1(HOP_f64, 3) };
	hop_fn *f;
	(void)state;
	rig_run(&(struct rig){ .f = foreach, .nin = 3, .nout = 6, .in = { vec(3, a), vec(2, b), vec(3, c) },
	                       .want = { &ac, a2, &bb, b2, &ac, c2 }, .n = { 1, 3, 1, 2, 1, 3 } });
	/* two graphs for three calls */
	assert_int_equal(hop_capture(ctx, foreach, NULL, 3, in, &f), HOP_OK);
	const char *text = hop_fn_text(f);
	int graphs = 0, calls = 0;
	for (const char *p = text; (p = strstr(p, "graph @")); p++)
		graphs++;
	for (const char *p = text; (p = strstr(p, "= call")); p++)
		calls++;
	if (graphs != 3 || calls != 3)
		fail_msg("%d graphs, %d calls:\n%s", graphs, calls, text);
	hop_fn_release(f);
}

/* ---- where such forms go wrong ---- */

/* Value and gradient of f: f64[3] -> a number. */
static void expect_grad(hop_body *f, const double *x, double want, const double *slope)
{
	static const int wrt[1] = { 0 };
	hop_spec in = hop_spec1(HOP_f64, 3);
	hop_array *a = vec(3, x), *y[2];
	hop_fn *fn, *g;
	if (hop_capture(ctx, f, NULL, 1, &in, &fn) || hop_grad(fn, 1, wrt, &g) ||
	    hop_call(g, 1, &a, 2, y))
		fail_msg("%s", hop_message(ctx));
	same(y[0], &want, 1);
	same(y[1], slope, 3);
	hop_array_release(a), hop_array_release(y[0]), hop_array_release(y[1]);
	hop_fn_release(g), hop_fn_release(fn);
}

/* The logarithm of a negative number stands in steps that do not run, inside a group too. */
static void never_run(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_scalar(t, HOP_f64, 0), ys = HOP_NONE;
	(void)user;
	HOP_FOR(t, i, 3, s) {
		hop_value x = hop_take(t, in[0], i);
		hop_unroll(t, 3);
		s = hop_add(t, s, hop_log(t, x));
		hop_stack(t, &ys, s);
		hop_stop_if(t, hop_gt(t, x, hop_f(t, 3)));
	}
	hop_return(t, hop_sum_all(t, ys));
}

/* In a batch both branches run. */
static void other_lanes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value ys = HOP_NONE;
	(void)user;
	HOP_MAP(t, i, 3) {
		hop_value x = hop_take(t, in[0], i), y = hop_mulf(t, x, 2);
		hop_chunk(t, 2);
		HOP_IF(t, hop_gt(t, x, hop_f(t, 0)), y)
			y = hop_log(t, x);
		hop_stack(t, &ys, y);
	}
	hop_return(t, hop_sum_all(t, ys));
}

/* Two carries change places, three times; the loss is on one of them. */
static void swap_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[2], in[1]);
}

static void swapped(hop_trace *t, const hop_value *in, void *user)
{
	hop_value init[2] = { in[0], hop_mulf(t, in[0], 3) }, out[2] = { HOP_NONE, HOP_NONE };
	hop_value n = hop_cast(t, hop_addf(t, hop_mulf(t, hop_sum_all(t, in[0]), 0), 3), HOP_i64);
	(void)user;
	hop_fori_loop(t, 0, n, swap_body, NULL, 2, init, NULL, out);
	hop_return(t, hop_sum_all(t, out[0]));
}

/* No trips: everything is as it was. */
static void no_trips(hop_trace *t, const hop_value *in, void *user)
{
	hop_value init[2] = { in[0], in[0] }, out[2] = { HOP_NONE, HOP_NONE }, x = in[0], ys = HOP_NONE;
	hop_value none = hop_cast(t, hop_sum_all(t, hop_mulf(t, in[0], 0)), HOP_i64);
	(void)user;
	hop_fori_loop(t, none, none, swap_body, NULL, 2, init, NULL, out);
	hop_fori_loop(t, 0, none, swap_body, NULL, 2, out, HOP_FORI_OPTS(.max_trips = 4), out);
	HOP_WHILE(t, hop_gt(t, hop_sum_all(t, x), hop_f(t, 1e9)), x) {
		hop_bound(t, 3);
		hop_stack(t, &ys, x);
		x = hop_mul(t, x, x);
	}
	hop_return(t, hop_sum_all(t, hop_add(t, hop_add(t, out[0], x), ys)));
}

static void pitfalls(void **state)
{
	static const double stop[3] = { 2, 4, -1 }, mixed[3] = { 2, -1, 4 }, x[3] = { 1, 2, 3 };
	static const double three[3] = { 3, 3, 3 }, six[3] = { 6, 6, 6 };      /* 3 rows of 2, and zeros */
	const double s[3] = { 2 / 2.0, 1 / 4.0, 0 }, m[3] = { 0.5, 2, 0.25 };
	(void)state;
	expect_grad(never_run, stop, 2 * log(2) + log(4), s);
	expect_grad(other_lanes, mixed, log(2) - 2 + log(4), m);
	expect_grad(swapped, x, 18, three);
	expect_grad(no_trips, x, 36, six);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fori, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(fori_symbolic, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(while_stack, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(while_stack_grad, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(foreach_list, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(pitfalls, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(chunked, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(unrolled, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(forms, rig_up, rig_down),
		cmocka_unit_test_setup_teardown(lanes, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
