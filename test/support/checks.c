/* Value, derivatives and batches of a subject, each compared with differences of the
 * reference. It does not choose subjects. */
#include <string.h>

#include "support/checks.h"

enum { N = CHECK_N, L = CHECK_LANES };
const double check_x[L][N] = {
	{ 0.3, -0.2, 0.5 }, { -0.4, 0.1, -0.6 }, { 1.1, 0.9, 1.4 }, { 0.05, 0.02, -0.01 }
};
const double check_k = 0.35;

static int capture(hop_ctx *c, const subject *s, bool scalar, hop_fn **f)
{
	hop_spec in[2] = { hop_spec1(HOP_f64, N), hop_spec0(HOP_f64) };
	subject copy = *s;

	copy.scalar = scalar;
	return cell_ok(c, hop_capture(c, subject_body, &copy, 2, in, f), "capture");
}

static void drop(int n, hop_array **a)
{
	for (int i = 0; i < n; i++) {
		hop_array_release(a[i]);
		a[i] = NULL;
	}
}

int check_value(hop_ctx *c, const subject *s)
{
	hop_fn *f;
	int bad = 0;

	if (capture(c, s, false, &f))
		return 1;
	for (int p = 0; p < L; p++) {
		hop_array *a[2] = { subject_vec(c, N, check_x[p]), subject_num(c, check_k) };
		hop_array *y[1] = { NULL };
		double want[N];

		subject_ref(s, N, check_x[p], check_k, want);
		bad += cell_ok(c, hop_call(f, 2, a, 1, y), "call");
		bad += cell_near("value", N, want, y[0], 1e-12);
		drop(2, a), drop(1, y);
	}
	hop_fn_release(f);
	return bad;
}

int check_jvp(hop_ctx *c, const subject *s)
{
	static const int wrt[2] = { 0, 1 };
	static const double v[N] = { 0.7, -1.2, 0.4 };
	hop_fn *f, *d = NULL;
	int bad = 0;

	if (capture(c, s, false, &f))
		return 1;
	bad += cell_ok(c, hop_jvp(f, 2, wrt, &d), "jvp");
	for (int p = 0; p < L && !bad; p++) {
		hop_array *a[4] = { subject_vec(c, N, check_x[p]), subject_num(c, check_k),
		                    subject_vec(c, N, v), subject_num(c, 0.6) };
		hop_array *y[2] = { NULL, NULL };
		double want[N];

		bad += cell_ok(c, hop_call(d, 4, a, 2, y), "call");
		subject_ref(s, N, check_x[p], check_k, want);
		bad += cell_near("value", N, want, y[0], 1e-12);
		subject_along(s, N, check_x[p], check_k, v, 0.6, want);
		bad += cell_near("tangent", N, want, y[1], 1e-7);
		drop(4, a), drop(2, y);
	}
	hop_fn_release(d);
	hop_fn_release(f);
	return bad;
}

int check_vjp(hop_ctx *c, const subject *s)
{
	static const int wrt[2] = { 0, 1 };
	hop_fn *f, *d = NULL;
	int bad = 0;

	if (capture(c, s, false, &f))
		return 1;
	bad += cell_ok(c, hop_vjp(f, 2, wrt, &d), "vjp");
	for (int p = 0; p < L && !bad; p++) {
		double w[N], want[N], dk;

		for (int i = 0; i < N; i++)
			w[i] = subject_weight(i);
		hop_array *a[3] = { subject_vec(c, N, check_x[p]), subject_num(c, check_k),
		                    subject_vec(c, N, w) };
		hop_array *y[3] = { NULL, NULL, NULL };

		bad += cell_ok(c, hop_call(d, 3, a, 3, y), "call");
		subject_ref(s, N, check_x[p], check_k, want);
		bad += cell_near("value", N, want, y[0], 1e-12);
		subject_grad(s, N, check_x[p], check_k, want, &dk);
		bad += cell_near("gradient of x", N, want, y[1], 1e-7);
		bad += cell_near("gradient of k", 1, &dk, y[2], 1e-7);
		drop(3, a), drop(3, y);
	}
	hop_fn_release(d);
	hop_fn_release(f);
	return bad;
}

static const double along[N] = { 0.7, -1.2, 0.4 };

/* The gradient of a function, dotted with a fixed direction. */
static void directed(hop_trace *t, const hop_value *in, void *user)
{
	static const int64_t dim[1] = { N };
	hop_value out[2], v = hop_data(t, HOP_f64, 1, dim, along);

	memset(out, 0, sizeof out);
	hop_apply(t, user, 2, in, 2, out);
	hop_return(t, hop_sum_all(t, hop_mul(t, out[1], v)));
}

int check_vjp_vjp(hop_ctx *c, const subject *s)
{
	static const int wrt[1] = { 0 };
	hop_spec in[2] = { hop_spec1(HOP_f64, N), hop_spec0(HOP_f64) };
	hop_fn *f, *g = NULL, *h = NULL, *d = NULL;
	int bad = 0;

	if (capture(c, s, true, &f))
		return 1;
	bad = cell_ok(c, hop_grad(f, 1, wrt, &g), "grad") ||
	      cell_ok(c, hop_capture(c, directed, g, 2, in, &h), "capture of the gradient") ||
	      cell_ok(c, hop_grad(h, 1, wrt, &d), "grad of grad");
	for (int p = 0; p < L && !bad; p++) {
		hop_array *a[2] = { subject_vec(c, N, check_x[p]), subject_num(c, check_k) };
		hop_array *y[2] = { NULL, NULL };
		double want[N];

		bad += cell_ok(c, hop_call(d, 2, a, 2, y), "call");
		subject_hess(s, N, check_x[p], check_k, along, want);
		bad += cell_near("second derivative", N, want, y[1], 1e-5);
		drop(2, a), drop(2, y);
	}
	hop_fn_release(d), hop_fn_release(h), hop_fn_release(g), hop_fn_release(f);
	return bad;
}

int check_vmap(hop_ctx *c, const subject *s)
{
	static const bool batched[2] = { true, false };
	hop_fn *f, *m = NULL;
	hop_array *a[2] = { NULL, NULL }, *y[1] = { NULL };
	double want[L][N];
	int bad = 0;

	if (capture(c, s, false, &f))
		return 1;
	bad += cell_ok(c, hop_vmap(f, batched, L, &m), "vmap");
	if (!bad) {
		a[0] = subject_mat(c, L, N, check_x[0]);
		a[1] = subject_num(c, check_k);
		bad += cell_ok(c, hop_call(m, 2, a, 1, y), "call");
		for (int p = 0; p < L; p++)
			subject_ref(s, N, check_x[p], check_k, want[p]);
		bad += cell_near("lanes", L * N, want[0], y[0], 1e-12);
	}
	drop(2, a), drop(1, y);
	hop_fn_release(m), hop_fn_release(f);
	return bad;
}

int check_vmap_vjp(hop_ctx *c, const subject *s)
{
	static const bool batched[2] = { true, false };
	static const int wrt[2] = { 0, 1 };
	hop_fn *f, *g = NULL, *m = NULL;
	hop_array *a[2] = { NULL, NULL }, *y[3] = { NULL, NULL, NULL };
	double want[L][N], sum[L], dk[L];
	int bad = 0;

	if (capture(c, s, true, &f))
		return 1;
	bad = cell_ok(c, hop_grad(f, 2, wrt, &g), "grad") ||
	      cell_ok(c, hop_vmap(g, batched, L, &m), "vmap of grad");
	if (!bad) {
		a[0] = subject_mat(c, L, N, check_x[0]);
		a[1] = subject_num(c, check_k);
		bad += cell_ok(c, hop_call(m, 2, a, 3, y), "call");
		for (int p = 0; p < L; p++) {
			sum[p] = subject_ref(s, N, check_x[p], check_k, NULL);
			subject_grad(s, N, check_x[p], check_k, want[p], &dk[p]);
		}
		bad += cell_near("sums", L, sum, y[0], 1e-12);
		bad += cell_near("gradients of x", L * N, want[0], y[1], 1e-7);
		bad += cell_near("gradients of k", L, dk, y[2], 1e-7);
	}
	drop(2, a), drop(3, y);
	hop_fn_release(m), hop_fn_release(g), hop_fn_release(f);
	return bad;
}

int check_jvp_vjp(hop_ctx *c, const subject *s)
{
	static const int wrt[1] = { 0 };
	hop_fn *f, *g = NULL, *d = NULL;
	int bad = 0;

	if (capture(c, s, true, &f))
		return 1;
	bad = cell_ok(c, hop_grad(f, 1, wrt, &g), "grad") ||
	      cell_ok(c, hop_jvp(g, 1, wrt, &d), "jvp of grad");
	for (int p = 0; p < L && !bad; p++) {
		hop_array *a[3] = { subject_vec(c, N, check_x[p]), subject_num(c, check_k),
		                    subject_vec(c, N, along) };
		hop_array *y[4] = { NULL, NULL, NULL, NULL };   /* sum, gradient; tangents of both */
		double want[N];

		bad += cell_ok(c, hop_call(d, 3, a, 4, y), "call");
		subject_hess(s, N, check_x[p], check_k, along, want);
		bad += cell_near("tangent of the gradient", N, want, y[3], 1e-5);
		drop(3, a), drop(4, y);
	}
	hop_fn_release(d), hop_fn_release(g), hop_fn_release(f);
	return bad;
}

/* The inner batch shares k, the outer one has one each. */
int check_vmap_vmap(hop_ctx *c, const subject *s)
{
	enum { M = 3 };
	static const bool inner[2] = { true, false }, outer[2] = { true, true };
	static const double k[M] = { 0.35, -0.2, 0.6 }, shift[M] = { 0, 0.15, -0.25 };
	static const int64_t dim[3] = { M, L, N };
	double x[M][L][N], want[M][L][N];
	hop_fn *f, *m = NULL, *mm = NULL;
	hop_array *a[2] = { NULL, NULL }, *y[1] = { NULL };
	int bad = 0;

	if (capture(c, s, false, &f))
		return 1;
	for (int j = 0; j < M; j++)
		for (int p = 0; p < L; p++) {
			for (int i = 0; i < N; i++)
				x[j][p][i] = check_x[p][i] + shift[j];
			subject_ref(s, N, x[j][p], k[j], want[j][p]);
		}
	bad = cell_ok(c, hop_vmap(f, inner, L, &m), "vmap") ||
	      cell_ok(c, hop_vmap(m, outer, M, &mm), "vmap of vmap");
	if (!bad) {
		a[0] = subject_array(c, HOP_f64, 3, dim, x[0][0]);
		a[1] = subject_vec(c, M, k);
		bad += cell_ok(c, hop_call(mm, 2, a, 1, y), "call");
		bad += cell_near("lanes of lanes", M * L * N, want[0][0], y[0], 1e-12);
	}
	drop(2, a), drop(1, y);
	hop_fn_release(mm), hop_fn_release(m), hop_fn_release(f);
	return bad;
}
