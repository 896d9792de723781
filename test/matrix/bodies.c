/* Cells: mutation, aliasing, zero. What bodies may do that other systems refuse: write to
 * captured tensors and views, return their inputs, run no time at all. Values only; that
 * such programs differentiate is asked in `zero`, where the gradient is the identity. */
#include <string.h>

#include "support/subject.h"

enum { N = 3, NOUT = 4 };
static const double X[N] = { 0.3, -0.2, 0.5 };

/* Capture body with x: f64[n], call it, compare nout results with want (n numbers each). */
static int expect(hop_ctx *c, hop_body *body, void *user, int n, const double *x, int nout,
                  double want[][N])
{
	hop_spec in[1] = { hop_spec1(HOP_f64, n) };
	hop_array *a[1], *y[NOUT] = { NULL };
	hop_fn *f;
	int bad = 0;

	if (cell_ok(c, hop_capture(c, body, user, 1, in, &f), "capture"))
		return 1;
	for (int eager = 0; eager < 2; eager++) {
		a[0] = subject_vec(c, n, x);
		bad += cell_ok(c, eager ? hop_eager_call(c, body, user, 1, a, nout, y)
		                        : hop_call(f, 1, a, nout, y),
		               eager ? "eager" : "call");
		for (int i = 0; i < nout; i++) {
			bad += cell_near(eager ? "eager result" : "result", n, want[i], y[i], 1e-12);
			hop_array_release(y[i]);
			y[i] = NULL;
		}
		hop_array_release(a[0]);
	}
	hop_fn_release(f);
	return bad;
}

/* ---- mutation: acc is captured; each run of a body adds 2x to it and doubles element 0
 * through a view ---- */

static void write_all(hop_trace *t, hop_value acc, hop_value x)
{
	hop_value first = hop_narrow(t, acc, 0, 0, 1);

	hop_add_(t, acc, hop_mulf(t, x, 2));
	hop_mul_(t, first, hop_f(t, 2));
}

static void write_ref(double *acc, const double *x)
{
	for (int i = 0; i < N; i++)
		acc[i] += 2 * x[i];
	acc[0] *= 2;
}

struct written { int op; hop_value acc; };

static void write_body(hop_trace *t, const hop_value *in, void *user)
{
	struct written *w = user;

	write_all(t, w->acc, in[0]);
	hop_return(t, hop_addf(t, in[0], 1));
}

static void keep_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

static void write_test(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, in[0], hop_i(t, 3)));
}

static void write_trip(hop_trace *t, const hop_value *in, void *user)
{
	struct written *w = user;
	hop_value i = hop_clone(t, in[0]);

	hop_add_(t, i, hop_i(t, 1));
	write_all(t, w->acc, in[1]);
	hop_add_(t, in[1], hop_f(t, 1));           /* the carry itself is written */
	hop_return(t, i, in[1]);
}

/* A custom function keeps its writes to itself: what it captures is constant to it. */
static void custom_fwd(hop_trace *t, const hop_value *in, void *user)
{
	hop_value own = hop_clone(t, in[1]);

	(void)user;
	write_all(t, own, in[0]);
	hop_return(t, hop_addf(t, in[0], 1), own);
}

static void custom_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[1]);
}

static void writer(hop_trace *t, const hop_value *in, void *user)
{
	static const hop_custom_rule rule = { sizeof rule, custom_fwd, custom_bwd, NULL };
	struct written w = { *(int *)user, hop_zeros_like(t, in[0]) };
	hop_value acc = hop_clone(t, w.acc), out[2] = { { 0, 0 }, { 0, 0 } }, init[2];

	w.acc = acc;
	switch (w.op) {
	case OP_COND:
		hop_cond(t, hop_lt(t, hop_f(t, 0), hop_sum_all(t, in[0])), write_body, keep_body,
		         &w, 1, in, 1, out);
		break;
	case OP_SWITCH: {
		hop_body *const branch[3] = { keep_body, keep_body, write_body };

		hop_switch(t, hop_i(t, 7), 3, branch, &w, 1, in, 1, out);
		break;
	}
	case OP_WHILE:
		init[0] = hop_full(t, HOP_i64, 0, NULL, 0);
		init[1] = in[0];
		hop_while(t, write_test, write_trip, &w, 2, init, NULL, out, NULL);
		out[0] = out[1];
		break;
	case OP_SCAN: {
		hop_scan_opts o;

		memset(&o, 0, sizeof o);
		o.size = sizeof o;
		o.has_length = true;
		o.length = hop_n(3);
		hop_scan(t, write_body, &w, 1, in, 0, NULL, &o, 1, out, NULL);
		break;
	}
	case OP_CALL:
		hop_region(t, "writer", write_body, &w, 1, in, 1, out);
		break;
	case OP_CUSTOM:
		init[0] = in[0];
		init[1] = acc;
		hop_custom(t, &rule, NULL, 2, init, 2, out);
		acc = out[1];
		break;
	}
	hop_return(t, out[0], acc);
}

/* ---- mutation in map: its own values yes, captured ones no ---- */

static void own_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_clone(t, in[0]);

	(void)user;
	hop_add_(t, y, hop_f(t, 1));
	hop_mul_(t, in[0], hop_f(t, 2));           /* a slice is the body's own, too */
	hop_return(t, y, in[0]);
}

static void captured_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_add_(t, *(hop_value *)user, in[0]);
	hop_return(t, in[0]);
}

static void own_writes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { { 0, 0 }, { 0, 0 } };

	(void)user;
	hop_map(t, own_body, NULL, 1, in, 0, 2, out);
	hop_return(t, out[0], out[1]);
}

static void captured_writes(hop_trace *t, const hop_value *in, void *user)
{
	hop_value acc = hop_full(t, HOP_f64, 0, NULL, 0), out = { 0, 0 };

	(void)user;
	hop_map(t, captured_body, &acc, 1, in, 0, 1, &out);
	hop_return(t, out);
}

static int map_writes(hop_ctx *c)
{
	hop_spec in[1] = { hop_spec1(HOP_f64, N) };
	hop_array *a[1] = { subject_vec(c, N, X) }, *y[1] = { NULL };
	double want[2][N];
	hop_fn *f = NULL;
	int bad = 0;

	for (int i = 0; i < N; i++) {
		want[0][i] = X[i] + 1;
		want[1][i] = 2 * X[i];
	}
	bad += expect(c, own_writes, NULL, N, X, 2, want);
	for (int eager = 0; eager < 2; eager++) {
		hop_status st = eager ? hop_eager_call(c, captured_writes, NULL, 1, a, 1, y)
		                      : hop_capture(c, captured_writes, NULL, 1, in, &f);

		if (st != HOP_EREFUSED || !strstr(hop_message(c), "map: a captured tensor is written"))
			bad += cell_bad("a captured write in map: %d, %s", st, hop_message(c));
	}
	hop_array_release(a[0]);
	return bad;
}

static int mutation(hop_ctx *c, int op, int arg)
{
	if (op == OP_MAP)
		return map_writes(c);
	int times = op == OP_WHILE || op == OP_SCAN ? 3 : 1;
	double want[2][N] = { { X[0], X[1], X[2] } };

	(void)arg;
	for (int k = 0; k < times; k++) {
		write_ref(want[1], want[0]);
		for (int i = 0; i < N; i++)
			want[0][i] += 1;
	}
	return expect(c, writer, &op, N, X, 2, want);
}

/* ---- aliasing ---- */

static void twice_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[0]);
}

static void swap_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[1], in[0]);
}

static void swap_trip(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], hop_i(t, 1)), in[2], in[1]);
}

static void slice_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[1]);               /* the carry as it is, the slice as it is */
}

static void pass_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_add(t, in[0], in[1]));
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	static const hop_custom_rule rule = { sizeof rule, twice_body, pass_bwd, NULL };
	hop_value y = hop_mulf(t, in[0], 2), a[3] = { in[0], y, y };
	hop_value out[3] = { { 0, 0 }, { 0, 0 }, { 0, 0 } };

	switch (*(int *)user) {
	case OP_COND:                              /* x > 0 somewhere: (x, y), else (y, x) */
		hop_cond(t, hop_lt(t, hop_f(t, 0), hop_sum_all(t, in[0])), slice_body, swap_body,
		         NULL, 2, a, 2, out);
		break;
	case OP_SWITCH: {                          /* an index before the first */
		hop_body *const branch[3] = { slice_body, swap_body, swap_body };

		hop_switch(t, hop_i(t, -1), 3, branch, NULL, 2, a, 2, out);
		break;
	}
	case OP_MAP:                               /* stacked slices of x and y are x and y */
		hop_map(t, slice_body, NULL, 2, a, 0, 2, out);
		break;
	case OP_WHILE:                             /* three swaps are one */
		a[0] = hop_full(t, HOP_i64, 0, NULL, 0);
		a[1] = y;
		a[2] = in[0];
		hop_while(t, write_test, swap_trip, NULL, 3, a, NULL, out, NULL);
		out[0] = out[1];
		out[1] = out[2];
		break;
	case OP_SCAN:                              /* stacked slices of y are y */
		hop_scan(t, slice_body, NULL, 1, a, 1, a + 1, NULL, 2, out, NULL);
		break;
	case OP_CALL:
		hop_region(t, "twice", twice_body, NULL, 1, in, 2, out);
		out[1] = hop_mulf(t, out[1], 2);
		break;
	case OP_CUSTOM:
		hop_custom(t, &rule, NULL, 1, in, 2, out);
		out[1] = hop_mulf(t, out[1], 2);
		break;
	}
	hop_return(t, out[0], out[1]);
}

static int aliasing(hop_ctx *c, int op, int arg)
{
	double want[2][N];

	(void)arg;
	for (int i = 0; i < N; i++) {
		want[0][i] = X[i];
		want[1][i] = 2 * X[i];
	}
	return expect(c, alias, &op, N, X, 2, want);
}

/* ---- zero: loops that do not run give back what they got, with gradient one ---- */

static void never_test(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, hop_sum_all(t, in[0]), hop_f(t, -100)));
}

static void square_body(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[0]));
}

static void idle(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[1] = { { 0, 0 } };

	if (*(int *)user == OP_WHILE) {
		hop_while(t, never_test, square_body, NULL, 1, in, NULL, out, NULL);
	} else {
		hop_scan_opts o;

		memset(&o, 0, sizeof o);
		o.size = sizeof o;
		o.has_length = true;
		o.length = hop_n(0);
		hop_scan(t, square_body, NULL, 1, in, 0, NULL, &o, 1, out, NULL);
	}
	hop_return(t, hop_sum_all(t, out[0]), out[0]);
}

static int idle_loop(hop_ctx *c, int op)
{
	static const int wrt[1] = { 0 };
	static const double one[N] = { 1, 1, 1 };
	hop_spec in[1] = { hop_spec1(HOP_f64, N) };
	hop_array *a[1] = { subject_vec(c, N, X) }, *y[3] = { NULL };
	hop_fn *f = NULL, *g = NULL;
	int bad = cell_ok(c, hop_capture(c, idle, &op, 1, in, &f), "capture") ||
	          cell_ok(c, hop_grad(f, 1, wrt, &g), "grad") ||
	          cell_ok(c, hop_call(g, 1, a, 3, y), "call") ||
	          cell_near("value", N, X, y[1], 0) || cell_near("gradient", N, one, y[2], 0);

	for (int i = 0; i < 3; i++)
		hop_array_release(y[i]);
	hop_array_release(a[0]);
	hop_fn_release(g), hop_fn_release(f);
	return bad;
}

/* No elements at all, value and gradient. */
static int empty(hop_ctx *c, int op)
{
	static const int wrt[2] = { 0, 1 };
	subject s = { 1, { op }, true };
	hop_spec in[2] = { hop_spec1(HOP_f64, 0), hop_spec0(HOP_f64) };
	hop_array *a[2] = { subject_vec(c, 0, X), subject_num(c, 0.5) }, *y[3] = { NULL };
	hop_fn *f = NULL, *g = NULL;
	double zero = 0;
	int bad = cell_ok(c, hop_capture(c, subject_body, &s, 2, in, &f), "capture") ||
	          cell_ok(c, hop_grad(f, 2, wrt, &g), "grad") ||
	          cell_ok(c, hop_call(g, 2, a, 3, y), "call") ||
	          cell_near("value", 1, &zero, y[0], 0) || cell_near("gradient", 0, X, y[1], 0) ||
	          cell_near("gradient of k", 1, &zero, y[2], 0);

	for (int i = 0; i < 3; i++)
		hop_array_release(y[i]);
	hop_array_release(a[0]), hop_array_release(a[1]);
	hop_fn_release(g), hop_fn_release(f);
	return bad;
}

/* A map of no slices: results of no rows, and nothing added to what is shared. */
static void scale_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], *(hop_value *)user));
}

static void no_rows(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim dim[2] = { hop_n(0), hop_n(N) };
	hop_value x = hop_full(t, HOP_f64, 2, dim, 1), y = { 0, 0 }, k = in[0];

	(void)user;
	hop_map(t, scale_body, &k, 1, &x, 0, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

static int empty_map(hop_ctx *c)
{
	static const int wrt[1] = { 0 };
	static const double none[N] = { 0 };
	hop_spec in[1] = { hop_spec1(HOP_f64, N) };
	hop_array *a[1] = { subject_vec(c, N, X) }, *y[2] = { NULL };
	hop_fn *f = NULL, *g = NULL;
	int bad = cell_ok(c, hop_capture(c, no_rows, NULL, 1, in, &f), "capture") ||
	          cell_ok(c, hop_grad(f, 1, wrt, &g), "grad") ||
	          cell_ok(c, hop_call(g, 1, a, 2, y), "call") ||
	          cell_near("value", 1, none, y[0], 0) || cell_near("gradient", N, none, y[1], 0);

	for (int i = 0; i < 2; i++)
		hop_array_release(y[i]);
	hop_array_release(a[0]);
	hop_fn_release(g), hop_fn_release(f);
	return bad;
}

static int zero(hop_ctx *c, int op, int arg)
{
	(void)arg;
	if (op == OP_MAP && empty_map(c))
		return 1;
	return empty(c, op) || ((op == OP_WHILE || op == OP_SCAN) && idle_loop(c, op));
}

int main(void)
{
	int bad = 0;

	for (int op = 0; op < NOPERATOR; op++) {
		bad += cell_run(op, "mutation", mutation, NOPERATOR);
		bad += cell_run(op, "aliasing", aliasing, NOPERATOR);
		bad += cell_run(op, "zero", zero, NOPERATOR);
	}
	return bad != 0;
}
