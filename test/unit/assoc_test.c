/* assoc_test.c -- associative_scan and reduce_with as users call them: every direction, kind and
 * axis against a plain loop, captured and eager; gradients; a Kalman filter by elements that are
 * combined against the one that goes step by step. What transforms do to programs is judged on
 * test/ad/assoc_*.hop, wrong calls are in agree_hop_test.c. */
#include "unit/trace_rig.h"

/* ---- the affine pair: (a, b) then (c, d) is x -> c (a x + b) + d ---- */

static void affine(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[2]), hop_add(t, hop_mul(t, in[1], in[2]), in[3]));
}

enum { ROWS = 2, COLS = 3, MOST = 9 };

struct form { int length; bool init, reverse, exclusive; };

/* a, b: [ROWS, length, COLS], axis 1; i, j: [ROWS, COLS]. */
static void scanned(hop_trace *t, const hop_value *in, void *user)
{
	const struct form *f = user;
	hop_value out[2];
	int n = hop_associative_scan(t, affine, NULL, 2, in,
	                             HOP_ASSOC_OPTS(.axis = -2, .reverse = f->reverse,
	                                            .exclusive = f->exclusive,
	                                            .init = f->init ? in + 2 : NULL), out);
	hop_return_n(t, n, out);
}

static void reduced(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	int n = hop_reduce_with(t, affine, NULL, 2, in + 2, in, 1, out);
	hop_return_n(t, n, out);
}

/* One lane of the fold; p and q end as the whole of it. */
static void fold(const struct form *f, const double *a, const double *b, double *p, double *q,
                 double *ya, double *yb)
{
	bool any = f->init;
	for (int i = 0; i < f->length; i++) {
		int at = (f->reverse ? f->length - 1 - i : i) * COLS;
		if (f->exclusive) {
			ya[at] = *p;
			yb[at] = *q;
		}
		*q = any ? *q * a[at] + b[at] : b[at];
		*p = any ? *p * a[at] : a[at];
		any = true;
		if (!f->exclusive) {
			ya[at] = *p;
			yb[at] = *q;
		}
	}
}

static void check_form(struct form f)
{
	double x[2][ROWS * MOST * COLS], y[2][ROWS * MOST * COLS], i[2][ROWS * COLS],
	       all[2][ROWS * COLS];
	int64_t dim[3] = { ROWS, f.length, COLS }, n = ROWS * f.length * COLS;
	for (int k = 0; k < 2; k++) {
		for (int m = 0; m < n; m++)
			x[k][m] = k ? sin(m + 1) : 0.5 + 0.1 * cos(3 * m);
		for (int m = 0; m < ROWS * COLS; m++)
			all[k][m] = i[k][m] = k ? 0.3 * m : 1 - 0.2 * m;
	}
	for (int m = 0; m < ROWS * COLS; m++) {
		int at = m / COLS * f.length * COLS + m % COLS;
		fold(&f, x[0] + at, x[1] + at, &all[0][m], &all[1][m], y[0] + at, y[1] + at);
	}
#define IN { array(HOP_f64, 3, dim, x[0]), array(HOP_f64, 3, dim, x[1]), \
	         array(HOP_f64, 2, (int64_t[]){ ROWS, COLS }, i[0]), \
	         array(HOP_f64, 2, (int64_t[]){ ROWS, COLS }, i[1]) }
	rig_run(&(struct rig){ .f = scanned, .user = &f, .nin = 4, .nout = 2, .in = IN,
	                       .want = { y[0], y[1] }, .n = { n, n } });
	if (f.init && !f.reverse && !f.exclusive)
		rig_run(&(struct rig){ .f = reduced, .nin = 4, .nout = 2, .in = IN,
		                       .want = { all[0], all[1] }, .n = { ROWS * COLS, ROWS * COLS } });
#undef IN
}

static void test_forms(void **state)
{
	(void)state;
	for (int length = 0; length <= MOST; length += length < 3 ? 1 : 3)
		for (int k = 0; k < 8; k++)
			if (!(k & 4) || k & 1)
				check_form((struct form){ length, k & 1, k & 2, k & 4 });
}

/* ---- leaves of other shapes, captured values, numbers as inits ---- */

struct kept { hop_value w; };

/* (M, v, n) then (N, w, m): N W M, N (W v) + w, the larger of the counts. */
static void chained(hop_trace *t, const hop_value *in, void *user)
{
	const struct kept *k = user;
	hop_value nw = hop_matmul(t, in[3], k->w);
	hop_return(t, hop_matmul(t, nw, in[0]), hop_add(t, hop_matmul(t, nw, in[1]), in[4]),
	           hop_max(t, in[2], in[5]));
}

static void chain(hop_trace *t, const hop_value *in, void *user)
{
	struct kept k = { in[3] };
	hop_value out[3];
	(void)user;
	hop_associative_scan(t, chained, &k, 3, in, NULL, out);
	hop_return_n(t, 3, out);
}

static void add(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], in[1]));
}

static void sums(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y[1], s[1], zero = hop_f(t, 0), ten = hop_i(t, 10);
	(void)user;
	hop_associative_scan(t, add, NULL, 1, in,
	                     HOP_ASSOC_OPTS(.exclusive = true, .init = &zero), y);
	hop_reduce_with(t, add, NULL, 1, &ten, in, -1, s);
	hop_return(t, y[0], s[0]);
}

static void test_leaves(void **state)
{
	enum { T = 5 };
	static const double w[4] = { 0.5, 1, -1, 0.25 };
	static const int64_t n[T] = { 3, 1, 4, 1, 5 };
	double m[T][4], v[T][2], ym[T][4], yv[T][2], yn[T] = { 3, 3, 4, 4, 5 };
	double x[4] = { 1, 2, 3, 4 }, before[4] = { 0, 1, 3, 6 }, last[1] = { 20 };
	(void)state;
	for (int i = 0; i < T; i++) {
		for (int k = 0; k < 4; k++)
			m[i][k] = ym[i][k] = sin(4 * i + k);
		for (int k = 0; k < 2; k++)
			v[i][k] = yv[i][k] = cos(2 * i + k);
		for (int r = 0; i && r < 2; r++) {
			double nw[2] = { m[i][2 * r] * w[0] + m[i][2 * r + 1] * w[2],
			                 m[i][2 * r] * w[1] + m[i][2 * r + 1] * w[3] };
			for (int c = 0; c < 2; c++)
				ym[i][2 * r + c] = nw[0] * ym[i - 1][c] + nw[1] * ym[i - 1][2 + c];
			yv[i][r] = nw[0] * yv[i - 1][0] + nw[1] * yv[i - 1][1] + v[i][r];
		}
	}
	rig_run(&(struct rig){ .f = sums, .nin = 1, .nout = 2, .in = { vec(4, x) },
	                       .want = { before, last }, .n = { 4, 1 } });
	rig_run(&(struct rig){ .f = chain, .nin = 4, .nout = 3,
	                       .in = { array(HOP_f64, 3, (int64_t[]){ T, 2, 2 }, m),
	                               array(HOP_f64, 2, (int64_t[]){ T, 2 }, v),
	                               array(HOP_i64, 1, (int64_t[]){ T }, n),
	                               array(HOP_f64, 2, (int64_t[]){ 2, 2 }, w) },
	                       .want = { ym[0], yv[0], yn }, .n = { 4 * T, 2 * T, T } });
}

/* ---- gradients of a loss on one leaf ---- */

/* Of sum(k_t b'_t) for the second leaf b' only: the first one's gradient is not zero. */
static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	hop_associative_scan(t, affine, NULL, 2, in, NULL, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, in[2], out[1])));
}

static hop_fn *captured(hop_body *body, void *user, int n, const hop_spec *s)
{
	hop_fn *f;
	if (hop_capture(ctx, body, user, n, s, &f))
		fail_msg("%s", hop_message(ctx));
	return f;
}

static void near(const hop_array *a, const double *want, int64_t n, double tol)
{
	assert_int_equal(hop_array_count(a), n);
	for (int64_t i = 0; i < n; i++)
		if (!(fabs(hop_array_at(a, i) - want[i]) <= tol * (1 + fabs(want[i]))))
			fail_msg("element %d is %.15g, not %.15g", (int)i, hop_array_at(a, i), want[i]);
}

static void test_one_leaf(void **state)
{
	enum { T = 200 };
	double a[T], b[T], k[T], y[T], da[T], db[T], g = 0;
	(void)state;
	for (int i = 0; i < T; i++) {
		a[i] = 0.9 + 0.2 * sin(i);
		b[i] = cos(2 * i);
		k[i] = sin(5 * i);
		y[i] = i ? y[i - 1] * a[i] + b[i] : b[i];
	}
	for (int i = T - 1; i >= 0; i--) {
		g = k[i] + (i + 1 < T ? g * a[i + 1] : 0);
		db[i] = g;
		da[i] = i ? g * y[i - 1] : 0;
	}
	hop_spec s[3] = { hop_spec1(HOP_f64, T), hop_spec1(HOP_f64, T), hop_spec1(HOP_f64, T) };
	hop_fn *f = captured(loss, NULL, 3, s), *d;
	assert_int_equal(hop_grad(f, 2, (int[]){ 0, 1 }, &d), HOP_OK);
	hop_array *in[3] = { vec(T, a), vec(T, b), vec(T, k) }, *out[3];
	for (int way = 0; way < 2; way++) {
		assert_int_equal(hop_call_with(d, 3, in, 3, out, HOP_RUN_OPTS(.interpret = way)), HOP_OK);
		near(out[1], da, T, 1e-11);
		near(out[2], db, T, 1e-11);
		for (int i = 0; i < 3; i++)
			hop_array_release(out[i]);
	}
	for (int i = 0; i < 3; i++)
		hop_array_release(in[i]);
	hop_fn_release(d);
	hop_fn_release(f);
}

/* ---- one leaf is wanted, of so many slices that they go in blocks ---- */

static void one_wanted(hop_trace *t, const hop_value *in, void *user)
{
	const struct form *f = user;
	hop_value out[2], all[2], init[2] = { hop_scalar(t, HOP_f64, 1), hop_scalar(t, HOP_f64, 0) };
	hop_associative_scan(t, affine, NULL, 2, in, HOP_ASSOC_OPTS(.reverse = f->reverse,
	                     .init = f->init ? init : NULL), out);
	hop_reduce_with(t, affine, NULL, 2, init, in, 0, all);
	hop_return(t, out[1], all[1]);
}

static void check_long(struct form f)
{
	int64_t n = f.length;
	double *v = malloc(3 * (size_t)n * sizeof *v), *a = v, *b = v + n, *y = v + 2 * n, q = 0, all = 0;
	assert_non_null(v);
	for (int i = 0; i < n; i++) {
		a[i] = 0.9 + 0.1 * sin(i);
		b[i] = cos(i);
		all = all * a[i] + b[i];
	}
	for (int i = 0; i < n; i++) {
		int64_t at = f.reverse ? n - 1 - i : i;
		y[at] = q = q * a[at] + b[at];
	}
	rig_run(&(struct rig){ .f = one_wanted, .user = &f, .nin = 2, .in = { vec(n, a), vec(n, b) },
	                       .nout = 2, .want = { y, &all }, .n = { n, 1 } });
	free(v);
}

static void test_one_wanted(void **state)
{
	const int length[] = { 1281, 3000, 270000 };
	(void)state;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++)
			check_long((struct form){ length[i], k & 1, k & 2, false });
}

/* ---- a Kalman filter, by steps and by elements ----
 *
 * x' = F x + noise q, y = H x + noise r. An element (A, b, C, eta, J) says what a stretch of
 * measurements makes of the state before it; Särkkä and García-Fernández, "Temporal
 * parallelization of Bayesian smoothers", 2021, lemma 8. The start is an element as well. */

enum { N = 2, T = 21 };
struct model { hop_value f, ft, h, one, q, r; };

static hop_value T_(hop_trace *t, hop_value x)
{
	return hop_transpose(t, x, 0, 1);
}

static struct model model_of(hop_trace *t, const hop_value *noise)
{
	double f[] = { 1, 0.1, -0.2, 0.95 }, h[] = { 1, 0.5 }, one[] = { 1, 0, 0, 1 };
	int64_t d[2] = { N, N }, row[2] = { 1, N };
	struct model m = { .f = hop_data(t, HOP_f64, 2, d, f), .h = hop_data(t, HOP_f64, 2, row, h),
	                   .one = hop_data(t, HOP_f64, 2, d, one) };
	m.ft = T_(t, m.f);
	m.q = hop_mul(t, m.one, hop_index(t, *noise, 0, 0));
	m.r = hop_reshape(t, hop_index(t, *noise, 0, 1), 2, (hop_dim[]){ hop_n(1), hop_n(1) });
	return m;
}

static void by_step(hop_trace *t, const hop_value *in, void *user)
{
	const struct model *m = user;
	hop_value x = hop_matmul(t, m->f, in[0]);
	hop_value p = hop_add(t, hop_matmul(t, hop_matmul(t, m->f, in[1]), m->ft), m->q);
	hop_value ph = hop_matmul(t, p, T_(t, m->h));
	hop_value s = hop_add(t, hop_matmul(t, m->h, ph), m->r), k = hop_div(t, ph, s);
	x = hop_add(t, x, hop_matmul(t, k, hop_sub(t, in[2], hop_matmul(t, m->h, x))));
	p = hop_sub(t, p, hop_matmul(t, k, T_(t, ph)));
	hop_return(t, x, p, x, p);
}

/* What one measurement says. */
static void element(hop_trace *t, const hop_value *in, void *user)
{
	const struct model *m = user;
	hop_value qh = hop_matmul(t, m->q, T_(t, m->h));
	hop_value s = hop_add(t, hop_matmul(t, m->h, qh), m->r), k = hop_div(t, qh, s);
	hop_value rest = hop_sub(t, m->one, hop_matmul(t, k, m->h));
	hop_value fh = hop_matmul(t, m->ft, T_(t, m->h));
	hop_return(t, hop_matmul(t, rest, m->f), hop_matmul(t, k, in[0]), hop_matmul(t, rest, m->q),
	           hop_matmul(t, hop_div(t, fh, s), in[0]),
	           hop_matmul(t, hop_div(t, fh, s), T_(t, fh)));
}

enum { A_, B_, C_, ETA, J_, LEAVES };

static void combine(hop_trace *t, const hop_value *in, void *user)
{
	const hop_value *i = in, *j = in + LEAVES, one = ((const struct model *)user)->one;
	/* A_j (1 + C_i J_j)^-1 and A_i' (1 + J_j C_i)^-1, each from the other side */
	hop_value cj = hop_add(t, one, hop_matmul(t, i[C_], j[J_]));
	hop_value fore = T_(t, hop_solve(t, T_(t, cj), T_(t, j[A_])));
	hop_value back = T_(t, hop_solve(t, cj, i[A_]));
	hop_value b = hop_add(t, i[B_], hop_matmul(t, i[C_], j[ETA]));
	hop_value eta = hop_sub(t, j[ETA], hop_matmul(t, j[J_], i[B_]));
	hop_return(t, hop_matmul(t, fore, i[A_]), hop_add(t, hop_matmul(t, fore, b), j[B_]),
	           hop_add(t, hop_matmul(t, hop_matmul(t, fore, i[C_]), T_(t, j[A_])), j[C_]),
	           hop_add(t, hop_matmul(t, back, eta), i[ETA]),
	           hop_add(t, hop_matmul(t, hop_matmul(t, back, j[J_]), i[A_]), i[J_]));
}

/* noise[2], y[T, 1, 1] -> means, covariances, a loss; user: by elements? */
static void filter(hop_trace *t, const hop_value *in, void *user)
{
	struct model m = model_of(t, in);
	double start[] = { 1, -1 };
	int64_t d[2] = { N, 1 };
	hop_value none = hop_sub(t, m.one, m.one), out[LEAVES];
	hop_value zero = hop_narrow(t, none, 1, 0, 1), x0 = hop_data(t, HOP_f64, 2, d, start);
	hop_value x, p;
	if (user) {
		hop_value e[LEAVES], init[LEAVES] = { none, x0, m.one, zero, none };
		hop_map(t, element, &m, 1, &in[1], 0, LEAVES, e);
		hop_associative_scan(t, combine, &m, LEAVES, e, HOP_ASSOC_OPTS(.init = init), out);
		x = out[B_];
		p = out[C_];
	} else {
		hop_value init[2] = { x0, m.one };
		hop_scan(t, by_step, &m, 2, init, 1, &in[1], NULL, 4, out, NULL);
		x = out[2];
		p = out[3];
	}
	hop_value l = hop_sum_all(t, hop_log(t, hop_abs(t, p)));
	hop_return(t, hop_add(t, l, hop_sum_all(t, hop_mul(t, x, x))), x, p);
}

static void test_kalman(void **state)
{
	static const double noise[2] = { 0.3, 0.8 };
	double y[T];
	hop_spec s[2] = { hop_spec1(HOP_f64, 2), hop_spec3(HOP_f64, T, 1, 1) };
	(void)state;
	for (int i = 0; i < T; i++)
		y[i] = sin(0.7 * i) + 0.1 * cos(31 * i);
	hop_array *in[2] = { vec(2, noise), array(HOP_f64, 3, (int64_t[]){ T, 1, 1 }, y) };
	hop_array *out[2][5];
	for (int way = 0; way < 2; way++)
		for (int k = 0; k < 2; k++) {
			hop_fn *f = captured(filter, k ? &k : NULL, 2, s), *g;
			assert_int_equal(hop_grad(f, 2, (int[]){ 0, 1 }, &g), HOP_OK);
			if (hop_call_with(g, 2, in, 5, out[k], HOP_RUN_OPTS(.interpret = way)))
				fail_msg("%s", hop_message(ctx));
			hop_fn_release(g);
			hop_fn_release(f);
			for (int i = 0; k && i < 5; i++) {
				near(out[1][i], hop_array_data(out[0][i]), hop_array_count(out[0][i]), 1e-9);
				hop_array_release(out[0][i]);
				hop_array_release(out[1][i]);
			}
		}
	hop_array_release(in[0]);
	hop_array_release(in[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_one_leaf),
		cmocka_unit_test(test_one_wanted),
		cmocka_unit_test(test_kalman),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
