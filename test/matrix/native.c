/* Cells: native. The operator and its gradient, compiled and run through the hard door, on
 * every point, against the reference. Compilation that fails is a failed cell: there is no
 * falling back to the interpreter here. */
#include <stdlib.h>

#include "hop/compile.h"
#include "support/checks.h"

enum { N = CHECK_N };

/* Run x on (point, k); out[i] receives result i. */
static int run(hop_exec *x, const double *point, int nout, double *const *out)
{
	double in0[N], k = check_k;
	hop_arg in[2] = { { .data = in0 }, { .data = &k } }, to[3];
	void *ws;
	int bad;

	for (int i = 0; i < N; i++)
		in0[i] = point[i];
	for (int i = 0; i < nout; i++)
		to[i] = (hop_arg){ .data = out[i] };
	int64_t bytes = hop_exec_workspace(x, in);
	if (bytes < 0)
		return cell_bad("no workspace size");
	ws = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
	bad = !ws || hop_run(x, in, to, ws);
	free(ws);
	return bad ? cell_bad("hop_run failed") : 0;
}

static int close_to(const char *what, int n, const double *want, const double *got, double tol)
{
	for (int i = 0; i < n; i++) {
		double d = got[i] - want[i], s = tol * (1 + (want[i] < 0 ? -want[i] : want[i]));

		if (!(d <= s && d >= -s))
			return cell_bad("%s: element %d is %.15g, expected %.15g", what, i, got[i],
			                want[i]);
	}
	return 0;
}

static int native(hop_ctx *c, int op, int arg)
{
	static const int wrt[2] = { 0, 1 };
	subject s = { .n = 1, .ops = { op } };
	hop_spec in[2] = { hop_spec1(HOP_f64, N), hop_spec0(HOP_f64) };
	hop_fn *f = NULL, *l = NULL, *g = NULL;
	hop_exec *x = NULL, *y = NULL;
	int bad;

	(void)arg;
	bad = cell_ok(c, hop_capture(c, subject_body, &s, 2, in, &f), "capture");
	s.scalar = true;
	bad = bad || cell_ok(c, hop_capture(c, subject_body, &s, 2, in, &l), "capture") ||
	      cell_ok(c, hop_grad(l, 2, wrt, &g), "grad") ||
	      cell_ok(c, hop_compile(f, NULL, &x), "compile") ||
	      cell_ok(c, hop_compile(g, NULL, &y), "compile of the gradient");
	for (int p = 0; p < CHECK_LANES && !bad; p++) {
		double v[N], want[N], sum, dx[N], dk, wdk;
		double *out[1] = { v }, *all[3] = { &sum, dx, &dk };
		double wsum = subject_ref(&s, N, check_x[p], check_k, want);

		bad = run(x, check_x[p], 1, out) || close_to("value", N, want, v, 1e-12);
		subject_grad(&s, N, check_x[p], check_k, want, &wdk);
		bad = bad || run(y, check_x[p], 3, all) || close_to("sum", 1, &wsum, &sum, 1e-12) ||
		      close_to("gradient of x", N, want, dx, 1e-7) ||
		      close_to("gradient of k", 1, &wdk, &dk, 1e-7);
	}
	hop_exec_release(y), hop_exec_release(x);
	hop_fn_release(g), hop_fn_release(l), hop_fn_release(f);
	return bad;
}

int main(void)
{
	int bad = 0;

	for (int op = 0; op < NOPERATOR; op++)
		bad += cell_run(op, "native", native, NOPERATOR);
	return bad != 0;
}
