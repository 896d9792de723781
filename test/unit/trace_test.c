/* trace_test.c -- what capture must get right, one test an idea: every body runs captured
 * and eagerly, against a plain loop. Misuse is in trace_err_test.c. */
#include "trace_rig.h"

/* ---- ops and promotion ---- */

static void f_ops(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = in[0], n = in[1];
	hop_value a = hop_add(t, hop_mulf(t, x, 0.5), hop_f(t, 1));
	hop_value b = hop_div(t, n, hop_i(t, 2));            /* true division */
	hop_value c = hop_select(t, hop_lt(t, x, hop_f(t, 2)), a, b);
	hop_return(t, c, hop_sum_all(t, hop_mul(t, x, x)), hop_idiv(t, n, hop_i(t, 2)));
}

static void ops(void **state)
{
	(void)state;
	double x[3] = { 1, 2, 3 };
	double c[3] = { 1.5, 3.5, 3.5 }, s[1] = { 14 }, q[1] = { 3 };
	rig_run(&(struct rig){ .f = f_ops, .nin = 2, .in = { vec(3, x), num_i(7) }, .nout = 3,
	                       .want = { c, s, q }, .n = { 3, 1, 1 } });
}

static void f_dtypes(hop_trace *t, const hop_value *in, void *user)
{
	hop_dtype *d = user;
	/* a vector beats a 0-d tensor of its kind; a higher kind beats it; numbers never do */
	d[0] = hop_dtype_of(t, hop_add(t, in[0], in[1]));           /* f32[2] + f64 */
	d[1] = hop_dtype_of(t, hop_add(t, in[2], in[1]));           /* i32[2] + f64 */
	d[2] = hop_dtype_of(t, hop_add(t, in[2], hop_i(t, 1)));     /* i32[2] + int */
	d[3] = hop_dtype_of(t, hop_add(t, in[2], hop_f(t, 1)));     /* i32[2] + float */
	d[4] = hop_dtype_of(t, hop_mul(t, in[1], hop_f(t, 1)));     /* f64 + float */
	d[5] = hop_dtype_of(t, hop_lt(t, in[0], in[2]));
	d[6] = hop_dtype_of(t, hop_exp(t, in[2]));
	d[7] = hop_dtype_of(t, hop_sum_all(t, in[2]));
	hop_return(t, in[0]);
}

static void dtypes(void **state)
{
	(void)state;
	hop_spec in[3] = { hop_spec1(HOP_f32, 2), hop_spec0(HOP_f64), hop_spec1(HOP_i32, 2) };
	hop_dtype d[8], want[8] = { HOP_f32, HOP_f64, HOP_i32, HOP_f32, HOP_f64, HOP_bool,
	                            HOP_f32, HOP_i64 };
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, f_dtypes, d, 3, in, &f), HOP_OK);
	for (int i = 0; i < 8; i++)
		assert_int_equal(d[i], want[i]);
	hop_fn_release(f);
}

static void f_nn(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul(t, in[0], in[1]), hop_softmax(t, in[0], -1),
	           hop_sigmoid(t, in[1]), hop_layer_norm(t, in[0], in[1], in[1], 1e-5));
}

static void nn(void **state)
{
	(void)state;
	double m[6] = { 1, 2, 3, 4, 5, 6.5 }, v[3] = { 0.5, -1, 2 };
	double mv[2], sm[6], sg[3], ln[6];
	for (int i = 0; i < 2; i++) {
		double sum = 0, mean = 0, var = 0;
		mv[i] = 0;
		for (int k = 0; k < 3; k++) {
			mv[i] += m[i * 3 + k] * v[k];
			sum += exp(m[i * 3 + k]);
			mean += m[i * 3 + k] / 3;
		}
		for (int k = 0; k < 3; k++)
			var += (m[i * 3 + k] - mean) * (m[i * 3 + k] - mean) / 3;
		for (int k = 0; k < 3; k++) {
			sm[i * 3 + k] = exp(m[i * 3 + k]) / sum;
			ln[i * 3 + k] = (m[i * 3 + k] - mean) / sqrt(var + 1e-5) * v[k] + v[k];
		}
	}
	for (int k = 0; k < 3; k++)
		sg[k] = 1 / (1 + exp(-v[k]));
	rig_run(&(struct rig){ .f = f_nn, .nin = 2,
	                       .in = { array(HOP_f64, 2, (int64_t[]){ 2, 3 }, m), vec(3, v) },
	                       .nout = 4, .want = { mv, sm, sg, ln }, .n = { 2, 6, 3, 6 } });
}

static void f_batch(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_matmul(t, in[0], in[1]), hop_matmul(t, in[1], hop_index(t, in[0], 0, 1)));
}

static void batched_matmul(void **state)
{
	(void)state;
	double a[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, b[4] = { 1, -1, 2, 0.5 }, c[8], d[4];
	for (int n = 0; n < 2; n++)
		for (int i = 0; i < 2; i++)
			for (int k = 0; k < 2; k++)
				c[n * 4 + i * 2 + k] = a[n * 4 + i * 2] * b[k] + a[n * 4 + i * 2 + 1] * b[2 + k];
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 2; k++)
			d[i * 2 + k] = b[i * 2] * a[4 + k] + b[i * 2 + 1] * a[6 + k];
	rig_run(&(struct rig){ .f = f_batch, .nin = 2,
	                       .in = { array(HOP_f64, 3, (int64_t[]){ 2, 2, 2 }, a),
	                               array(HOP_f64, 2, (int64_t[]){ 2, 2 }, b) },
	                       .nout = 2, .want = { c, d }, .n = { 8, 4 } });
}

static void f_all_rows(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_matmul(t, in[0], in[1])));
}

/* The matrix on the right is not repeated, forwards or backwards. */
static void matmul_of_all_rows(void **state)
{
	(void)state;
	const hop_spec in[2] = { hop_spec3(HOP_f32, 5, 2, 3), hop_spec2(HOP_f32, 3, 4) };
	const int wrt[2] = { 0, 1 };
	hop_fn *f, *g;
	int n = 0;
	assert_int_equal(hop_capture(ctx, f_all_rows, NULL, 2, in, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 2, wrt, &g), HOP_OK);
	for (const char *at = hop_fn_text(g); (at = strstr(at, " dot ")); at++)
		n++;
	assert_int_equal(n, 3);
	assert_null(strstr(hop_fn_text(g), "batch = [0]"));
	assert_non_null(strstr(hop_fn_text(g), "lsum = [0, 1], rsum = [0, 1]"));
	hop_fn_release(g);
	hop_fn_release(f);
}

/* ---- views and writes ---- */

static void f_views(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = hop_clone(t, in[0]);                   /* [2, 3] */
	hop_value row = hop_index(t, x, 0, 1);               /* views of x */
	hop_value col = hop_index(t, hop_transpose(t, x, 0, 1), 0, -1);
	hop_value every = hop_slice(t, x, 1, hop_n(2), hop_n(2), -2);
	hop_add_(t, row, hop_f(t, 10));
	hop_copy_(t, hop_index(t, col, 0, 0), hop_f(t, -1));
	hop_mul_(t, every, hop_f(t, 2));
	hop_value flat = hop_reshape(t, x, 1, (hop_dim[]){ { 6, NULL } });
	hop_index_put_(t, flat, 0, hop_i(t, 1), hop_f(t, 7));
	hop_return(t, x, row, col, every, in[0]);
}

static void views(void **state)
{
	(void)state;
	double x[6] = { 1, 2, 3, 4, 5, 6 };
	double a[6] = { 2, 7, -2, 28, 15, 32 }, row[3] = { 28, 15, 32 }, col[2] = { -2, 32 };
	double every[4] = { -2, 2, 32, 28 };
	rig_run(&(struct rig){ .f = f_views, .nin = 1,
	                       .in = { array(HOP_f64, 2, (int64_t[]){ 2, 3 }, x) }, .nout = 5,
	                       .want = { a, row, col, every, x }, .n = { 6, 3, 2, 4, 6 } });
}

static void f_put(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = hop_clone(t, in[0]);
	hop_index_put_(t, x, 0, in[1], in[2]);
	hop_return(t, x);
}

static void index_put_last_wins(void **state)
{
	(void)state;
	double x[4] = { 1, 2, 3, 4 }, u[4] = { 10, 20, 30, 40 }, want[4] = { 1, 30, 3, 40 };
	int64_t idx[4] = { 1, 3, 1, 9 }, n = 4;              /* 9 is clamped to 3 */
	rig_run(&(struct rig){ .f = f_put, .nin = 3,
	                       .in = { vec(4, x), array(HOP_i64, 1, &n, idx), vec(4, u) },
	                       .nout = 1, .want = { want }, .n = { 4 } });
}

static void f_write_in(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, hop_narrow(t, in[0], 0, 1, 2), hop_f(t, 5));
	hop_return(t, hop_sum_all(t, in[0]));
}

static void writes_reach_the_caller(void **state)
{
	(void)state;
	double x[3] = { 1, 2, 3 }, after[3] = { 1, 7, 8 }, sum[1] = { 16 };
	rig_run(&(struct rig){ .f = f_write_in, .nin = 1, .in = { vec(3, x) }, .nout = 1,
	                       .want = { sum }, .n = { 1 }, .after = { after } });
}

static void f_swap(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value x = hop_clone(t, in[0]);
	hop_copy_(t, in[0], in[1]);
	hop_copy_(t, in[1], x);
	hop_return(t, hop_sub(t, in[0], in[1]));
}

/* Each array gets what the other had: none is written before both are read. */
static void arrays_swap(void **state)
{
	(void)state;
	double x[2] = { 1, 2 }, y[2] = { 5, 7 }, d[2] = { 4, 5 };
	hop_array *in[2] = { vec(2, x), vec(2, y) }, *out;
	hop_spec spec[2] = { spec_of(in[0]), spec_of(in[1]) };
	hop_fn *f;

	assert_int_equal(hop_capture(ctx, f_swap, NULL, 2, spec, &f), HOP_OK);
	assert_int_equal(hop_call_with(f, 2, in, 1, &out, HOP_RUN_OPTS(.interpret = true)), HOP_OK);
	same(in[0], y, 2);
	same(in[1], x, 2);
	hop_array_release(out);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(f);
	rig_run(&(struct rig){ .f = f_swap, .nin = 2, .in = { vec(2, x), vec(2, y) }, .nout = 1,
	                       .want = { d }, .n = { 2 }, .after = { y, x } });
}

/* ---- cond ---- */

struct pair { hop_value a, b; };

static void then_write(hop_trace *t, const hop_value *in, void *user)
{
	struct pair *p = user;
	hop_add_(t, p->a, in[0]);                            /* captured, written */
	hop_return(t, in[0], p->b, p->b);                    /* identity, captured, twice */
}

static void else_read(hop_trace *t, const hop_value *in, void *user)
{
	struct pair *p = user;
	hop_return(t, hop_mul(t, in[0], p->a), p->b, hop_index(t, hop_expand(t,
	           hop_unsqueeze(t, in[0], 0), 2, (hop_dim[]){ { 1, NULL }, { 2, NULL } }), 0, 0));
}

static void f_cond(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3];
	struct pair p = { hop_mulf(t, in[0], 2), hop_sin(t, in[0]) };
	hop_value view = hop_index(t, p.a, 0, 0);
	(void)user;
	int n = hop_cond(t, hop_gt(t, hop_sum_all(t, in[0]), in[1]), then_write, else_read, &p, 1,
	                 in, 3, out);
	assert_true(hop_failed(t) || n == 3);
	hop_return(t, out[0], out[1], out[2], p.a, view);
}

static void cond_aliases_and_writes(void **state)
{
	(void)state;
	double x[2] = { 1, 2 }, sn[2] = { sin(1), sin(2) };
	double a1[2] = { 3, 6 }, v1[1] = { 3 }, a0[2] = { 2, 4 }, v0[1] = { 2 }, m0[2] = { 2, 8 };
	rig_run(&(struct rig){ .f = f_cond, .nin = 2, .in = { vec(2, x), num(0) }, .nout = 5,
	                       .want = { x, sn, sn, a1, v1 }, .n = { 2, 2, 2, 2, 1 } });
	rig_run(&(struct rig){ .f = f_cond, .nin = 2, .in = { vec(2, x), num(9) }, .nout = 5,
	                       .want = { m0, sn, x, a0, v0 }, .n = { 2, 2, 2, 2, 1 } });
}

static void short_one(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_narrow(t, in[0], 0, 0, 2), in[0]);
}

static void long_one(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 3), in[0]);
}

static void f_sized(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[4];
	(void)user;
	int n = hop_cond_sized(t, in[1], short_one, long_one, NULL, 1, in, 4, out);
	assert_true(hop_failed(t) || n == 3);
	hop_return_n(t, n, out);
}

static void cond_of_different_sizes(void **state)
{
	(void)state;
	double x[3] = { 1, 2, 3 }, a[3] = { 1, 2, 0 }, b[3] = { 3, 6, 9 };
	rig_run(&(struct rig){ .f = f_sized, .nin = 2, .in = { vec(3, x), num_i(1) }, .nout = 3,
	                       .want = { a, x, (double[]){ 2 } }, .n = { 3, 3, 1 } });
	rig_run(&(struct rig){ .f = f_sized, .nin = 2, .in = { vec(3, x), num_i(0) }, .nout = 3,
	                       .want = { b, x, (double[]){ 3 } }, .n = { 3, 3, 1 } });
}

/* ---- while ---- */

static void below(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_f(t, 10)));
}

static void grow(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *scale = user;
	hop_mul_(t, in[0], hop_f(t, 2));                     /* a carry written in place */
	hop_return(t, in[0], hop_mul(t, in[1], *scale));
}

static void f_while(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], trips, scale = hop_addf(t, in[1], 1);
	(void)user;
	hop_while(t, below, grow, &scale, 2, in, NULL, out, &trips);
	hop_return(t, out[0], out[1], trips, in[0]);
}

static void while_loops(void **state)
{
	(void)state;
	double x = 1, s = 0.5;
	rig_run(&(struct rig){ .f = f_while, .nin = 2, .in = { num(x), num(s) }, .nout = 4,
	        .want = { (double[]){ 16 }, (double[]){ 0.5 * 1.5 * 1.5 * 1.5 * 1.5 },
	                  (double[]){ 4 }, (double[]){ 1 } }, .n = { 1, 1, 1, 1 } });
	rig_run(&(struct rig){ .f = f_while, .nin = 2, .in = { num(11), num(s) }, .nout = 4,
	        .want = { (double[]){ 11 }, (double[]){ 0.5 }, (double[]){ 0 },
	                  (double[]){ 11 } }, .n = { 1, 1, 1, 1 } });
}

/* The body adds to a captured tensor through a view; the test counts into another. */
struct log { hop_value sum, calls; };

static void test_writes(hop_trace *t, const hop_value *in, void *user)
{
	struct log *l = user;
	hop_add_(t, l->calls, hop_f(t, 1));
	hop_add_(t, in[0], hop_f(t, 0.25));                  /* the body sees this */
	hop_return(t, hop_lt(t, in[0], hop_f(t, 4)));
}

static void body_writes(hop_trace *t, const hop_value *in, void *user)
{
	struct log *l = user;
	hop_value before = hop_index(t, l->sum, 0, 1);
	hop_add_(t, before, in[0]);
	hop_return(t, hop_add(t, in[0], hop_f(t, 1)));
}

static void f_log(hop_trace *t, const hop_value *in, void *user)
{
	struct log l = { hop_clone(t, in[1]), hop_full(t, HOP_f64, 0, NULL, 0) };
	hop_value out[1], trips;
	(void)user;
	hop_while(t, test_writes, body_writes, &l, 1, in, NULL, out, &trips);
	hop_return(t, out[0], l.sum, l.calls, trips);
}

static void loops_that_write(void **state)
{
	(void)state;
	double x = 1, sum[2] = { 100, 0 }, calls = 0, trips = 0;
	for (;;) {
		calls++;
		x += 0.25;
		if (!(x < 4))
			break;
		sum[1] += x;
		x += 1;
		trips++;
	}
	rig_run(&(struct rig){ .f = f_log, .nin = 2, .in = { num(1), vec(2, (double[]){ 100, 0 }) },
	                       .nout = 4, .want = { &x, sum, &calls, &trips },
	                       .n = { 1, 2, 1, 1 } });
}

static void forever(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, hop_f(t, 0), in[0]));
}

static void halve(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 0.5));
}

static void f_bounded(hop_trace *t, const hop_value *in, void *user)
{
	hop_while_opts o = { .size = sizeof o, .max_trips = 3 };
	hop_value out[1], trips;
	(void)user;
	hop_while(t, forever, halve, NULL, 1, in, &o, out, &trips);
	hop_return(t, out[0], trips);
}

static void while_with_a_bound(void **state)
{
	(void)state;
	rig_run(&(struct rig){ .f = f_bounded, .nin = 1, .in = { num(8) }, .nout = 2,
	        .want = { (double[]){ 1 }, (double[]){ 3 } }, .n = { 1, 1 } });
}

/* ---- scan ---- */

static void cell(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *w = user;
	hop_value h = hop_tanh(t, hop_add(t, hop_mul(t, in[0], *w), in[1]));
	hop_return(t, h, h, in[0]);                          /* carry as output, twice */
}

static void f_scan(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[3], steps, w = in[2];
	hop_scan(t, cell, &w, 1, in, 1, in + 1, user, 3, out, &steps);
	hop_return(t, out[0], out[1], out[2], steps);
}

static void scans(void **state)
{
	(void)state;
	double x[4] = { 0.1, -0.2, 0.3, 0.5 }, w = 0.7;
	for (int rev = 0; rev < 2; rev++) {
		hop_scan_opts o = { .size = sizeof o, .reverse = rev };
		double h = 0.4, ys[4], hs[4];
		for (int k = 0; k < 4; k++) {
			int i = rev ? 3 - k : k;
			hs[i] = h;
			h = tanh(h * w + x[i]);
			ys[i] = h;
		}
		rig_run(&(struct rig){ .f = f_scan, .user = &o, .nin = 3,
		                       .in = { num(0.4), vec(4, x), num(w) }, .nout = 4,
		                       .want = { &h, ys, hs, (double[]){ 4 } },
		                       .n = { 1, 4, 4, 1 } });
	}
	hop_scan_opts none = { .size = sizeof none };
	rig_run(&(struct rig){ .f = f_scan, .user = &none, .nin = 3,      /* length 0 */
	                       .in = { num(0.4), vec(0, x), num(w) }, .nout = 4,
	                       .want = { (double[]){ 0.4 }, x, x, (double[]){ 0 } },
	                       .n = { 1, 0, 0, 1 } });
}

static void stopping(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *log = user;
	hop_value s = hop_add(t, in[0], in[1]);
	hop_add_(t, *log, s);
	hop_stop_if(t, hop_gt(t, hop_index(t, s, 0, 0), hop_f(t, 5)));
	hop_return(t, s, s);
}

static void f_stop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], steps, log = hop_zeros_like(t, in[0]);
	hop_scan_opts o = { .size = sizeof o, .axis = 1 };
	(void)user;
	hop_scan(t, stopping, &log, 1, in, 1, in + 1, &o, 2, out, &steps);
	hop_return(t, out[0], out[1], log, steps);
}

static void scan_stops_on_axis_1(void **state)
{
	(void)state;
	/* x[2][4]: steps go along the second axis, and so do the outputs */
	double x[8] = { 1, 2, 3, 4, 10, 20, 30, 40 }, s[2] = { 0, 0 }, log[2] = { 0, 0 };
	double ys[8] = { 0 };
	int n = 0;
	for (int k = 0; k < 4; k++) {
		n++;
		for (int i = 0; i < 2; i++) {
			s[i] += x[i * 4 + k];
			ys[i * 4 + k] = s[i];
			log[i] += s[i];
		}
		if (s[0] > 5)
			break;
	}
	rig_run(&(struct rig){ .f = f_stop, .nin = 2,
	        .in = { vec(2, (double[]){ 0, 0 }), array(HOP_f64, 2, (int64_t[]){ 2, 4 }, x) },
	        .nout = 4, .want = { s, ys, log, (double[]){ n } }, .n = { 2, 8, 2, 1 } });
}

static void counting(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)), in[0]);
}

static void f_counted(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2], steps;
	hop_scan_opts o = { .size = sizeof o, .has_length = true, .length = hop_n(5), .counted = true,
	                    .count = in[0] };
	hop_value zero = hop_i(t, 0);
	(void)user;
	hop_scan(t, counting, NULL, 1, &zero, 0, NULL, &o, 2, out, &steps);
	hop_return(t, out[0], out[1], steps);
}

static void scan_without_xs(void **state)
{
	(void)state;
	rig_run(&(struct rig){ .f = f_counted, .nin = 1, .in = { num_i(3) }, .nout = 3,
	        .want = { (double[]){ 3 }, (double[]){ 0, 1, 2, 0, 0 }, (double[]){ 3 } },
	        .n = { 1, 5, 1 } });
}

/* ---- several levels ---- */

struct deep { hop_value x, y, log; };

static void deep_then(hop_trace *t, const hop_value *in, void *user)
{
	struct deep *d = user;
	hop_add_(t, d->log, hop_mul(t, d->x, in[0]));        /* two traces up */
	hop_return(t, hop_add(t, in[0], d->y));
}

static void deep_else(hop_trace *t, const hop_value *in, void *user)
{
	struct deep *d = user;
	hop_return(t, hop_sub(t, in[0], d->x));
}

static void deep_step(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	hop_cond(t, hop_lt(t, in[0], in[1]), deep_then, deep_else, user, 1, in, 1, out);
	hop_return(t, out[0], out[0]);
}

static void f_deep(hop_trace *t, const hop_value *in, void *user)
{
	struct deep d = { hop_mulf(t, in[0], 2), hop_addf(t, in[0], 0.5),
	                  hop_full(t, HOP_f64, 0, NULL, 0) };
	hop_value out[2];
	(void)user;
	hop_scan(t, deep_step, &d, 1, in, 1, in + 1, NULL, 2, out, NULL);
	hop_return(t, out[0], out[1], d.log);
}

static void lifts_through_levels(void **state)
{
	(void)state;
	double xs[5] = { 2, 0, 5, 1, 9 }, c = 1, ys[5], log = 0;
	for (int i = 0; i < 5; i++) {
		if (c < xs[i]) {
			log += 2 * c;
			c += 1.5;
		} else {
			c -= 2;
		}
		ys[i] = c;
	}
	rig_run(&(struct rig){ .f = f_deep, .nin = 2, .in = { num(1), vec(5, xs) }, .nout = 3,
	                       .want = { &c, ys, &log }, .n = { 1, 5, 1 } });
}

/* ---- regions, functions, arrays ---- */

static void layer(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_tanh(t, hop_mul(t, in[0], in[1])));
}

static void f_regions(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	for (int i = 0; i < 3; i++) {
		hop_value arg[2] = { x, hop_index(t, in[1], 0, i) };
		hop_region(t, "layer", layer, NULL, 2, arg, 1, &x);
	}
	hop_return(t, x);
}

static void equal_regions_are_one(void **state)
{
	(void)state;
	double x = 0.3, w[3] = { 1, 2, 3 };
	for (int i = 0; i < 3; i++)
		x = tanh(x * w[i]);
	rig_run(&(struct rig){ .f = f_regions, .nin = 2, .in = { num(0.3), vec(3, w) }, .nout = 1,
	                       .want = { &x }, .n = { 1 } });
	hop_fn *f;
	hop_spec in[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 3) };
	assert_int_equal(hop_capture(ctx, f_regions, NULL, 2, in, &f), HOP_OK);
	const char *s = hop_fn_text(f), *first = strstr(s, "graph @layer");
	assert_non_null(first);
	assert_null(strstr(first + 1, "graph @layer"));
	hop_fn_release(f);
}

static void f_array(hop_trace *t, const hop_value *in, void *user)
{
	hop_value w = hop_use(t, user);
	hop_value y = hop_mul(t, in[0], w);
	hop_add_(t, w, hop_f(t, 1));
	hop_return(t, y);
}

static void captured_arrays(void **state)
{
	(void)state;
	hop_array *w = num(2), *x = num(10), *y;
	hop_spec in = hop_spec0(HOP_f64);
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, f_array, w, 1, &in, &f), HOP_OK);
	for (int i = 0; i < 3; i++) {                        /* written at each call */
		assert_int_equal(hop_call(f, 1, &x, 1, &y), HOP_OK);
		same(y, (double[]){ 10 * (2 + i) }, 1);
		hop_array_release(y);
	}
	same(w, (double[]){ 5 }, 1);
	hop_fn_release(f);
	assert_int_equal(hop_eager_call(ctx, f_array, w, 1, &x, 1, &y), HOP_OK);
	same(y, (double[]){ 50 }, 1);
	same(w, (double[]){ 6 }, 1);
	hop_array_release(y);
	hop_array_release(x);
	hop_array_release(w);
}

static void f_apply(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1];
	hop_apply(t, user, 1, in, 1, out);
	hop_return(t, hop_addf(t, out[0], 1));
}

static void f_sum_sym(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value n = hop_size_of(t, in[0], 0);
	hop_return(t, hop_add(t, hop_sum_all(t, in[0]), hop_cast(t, n, HOP_f64)));
}

static void functions_in_traces_and_sizes(void **state)
{
	(void)state;
	hop_spec in = hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "s", 0, 100);
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, f_sum_sym, NULL, 1, &in, &f), HOP_OK);
	for (int64_t n = 0; n < 4; n++) {
		hop_array *x = vec(n, (double[]){ 1, 2, 3 }), *y;
		assert_int_equal(hop_call(f, 1, &x, 1, &y), HOP_OK);
		same(y, (double[]){ (double)(n + n * (n + 1) / 2) }, 1);
		hop_array_release(x);
		hop_array_release(y);
	}
	rig_run(&(struct rig){ .f = f_apply, .user = f, .nin = 1,
	                       .in = { vec(2, (double[]){ 1, 2 }) }, .nout = 1,
	                       .want = { (double[]){ 6 } }, .n = { 1 } });
	hop_fn_release(f);
}

static void inner_sym(hop_trace *t, const hop_value *in, void *user)
{
	hop_value *v = user;
	hop_return(t, hop_add(t, in[0], *v));
}

static void f_sym(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim s = hop_dim_of(t, in[0], 0), both = hop_dim_add(t, s, hop_dim_of(t, in[1], 0));
	hop_value z = hop_zeros(t, HOP_f64, 1, &both), v = hop_addf(t, z, 1), out[1];
	hop_value cat = hop_concat(t, 2, in, 0);
	(void)user;
	hop_region(t, "add", inner_sym, &v, 1, &cat, 1, out);
	hop_return(t, out[0]);
}

static void symbolic_sizes_in_bodies(void **state)
{
	(void)state;
	hop_spec in[2] = { hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "n", 1, 9),
	                   hop_spec_sym(hop_spec1(HOP_f64, 1), 0, "m", 1, 9) };
	hop_fn *f;
	if (hop_capture(ctx, f_sym, NULL, 2, in, &f))
		fail_msg("%s", hop_message(ctx));
	hop_array *x[2] = { vec(2, (double[]){ 1, 2 }), vec(1, (double[]){ 5 }) }, *y;
	if (hop_call(f, 2, x, 1, &y))
		fail_msg("%s", hop_message(ctx));
	same(y, (double[]){ 2, 3, 6 }, 3);
	hop_array_release(x[0]);
	hop_array_release(x[1]);
	hop_array_release(y);
	hop_fn_release(f);
}

/* ---- eager loops hold one trip, not all of them ---- */

static size_t peak, live;

static void *counted_alloc(void *user, void *ptr, size_t osize, size_t nsize)
{
	(void)user;
	live += nsize - osize;
	peak = live > peak ? live : peak;
	if (nsize)
		return realloc(ptr, nsize);
	free(ptr);
	return NULL;
}

static void add_to_log(hop_trace *t, const hop_value *in, void *user)
{
	hop_add_(t, *(hop_value *)user, hop_f(t, 1));
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)));
}

static void thousand(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_i(t, 1000)));
}

static void eager_loops_hold_one_trip(void **state)
{
	(void)state;
	hop_ctx_opts o = { .size = sizeof o, .alloc = counted_alloc };
	hop_ctx *c;
	hop_trace *t;
	hop_array *a;
	int64_t n = 4096;
	assert_int_equal(hop_ctx_new(&o, &c), HOP_OK);
	assert_int_equal(hop_array_new(c, HOP_f64, 1, &n, NULL, &a), HOP_OK);
	assert_int_equal(hop_eager_new(c, &t), HOP_OK);
	hop_value log = hop_use(t, a), zero = hop_full(t, HOP_i64, 0, NULL, 0), out[1];
	hop_while(t, thousand, add_to_log, &log, 1, &zero, NULL, out, NULL);
	assert_int_equal(hop_eager_free(t), HOP_OK);
	assert_true(hop_array_at(a, 4095) == 1000);
	assert_true(peak < 32 * 8 * 4096);
	hop_array_release(a);
	hop_ctx_free(c);
	assert_int_equal(live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops),
		cmocka_unit_test(dtypes),
		cmocka_unit_test(nn),
		cmocka_unit_test(batched_matmul),
		cmocka_unit_test(matmul_of_all_rows),
		cmocka_unit_test(views),
		cmocka_unit_test(index_put_last_wins),
		cmocka_unit_test(writes_reach_the_caller),
		cmocka_unit_test(arrays_swap),
		cmocka_unit_test(cond_aliases_and_writes),
		cmocka_unit_test(cond_of_different_sizes),
		cmocka_unit_test(while_loops),
		cmocka_unit_test(loops_that_write),
		cmocka_unit_test(while_with_a_bound),
		cmocka_unit_test(scans),
		cmocka_unit_test(scan_stops_on_axis_1),
		cmocka_unit_test(scan_without_xs),
		cmocka_unit_test(lifts_through_levels),
		cmocka_unit_test(equal_regions_are_one),
		cmocka_unit_test(captured_arrays),
		cmocka_unit_test(functions_in_traces_and_sizes),
		cmocka_unit_test(symbolic_sizes_in_bodies),
		cmocka_unit_test(eager_loops_hold_one_trip),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
