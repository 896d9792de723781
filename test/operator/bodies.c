/* Bodies that write, alias and do not run at all, for the files of operators, and what is expected
 * of them. It knows no operator. */
#include <string.h>

#include "operator/operator.h"

enum { N = BODY_N };
const double body_x[N] = { 0.3, -0.2, 0.5 };

int body_expect(hop_ctx *c, hop_body *body, void *user, int n, const double *x, int nout,
                double want[][N])
{
	hop_spec in[1] = { hop_spec1(HOP_f64, n) };
	hop_array *a[1], *y[BODY_OUT] = { NULL };
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

int body_refused(hop_ctx *c, hop_body *body, const char *words)
{
	hop_spec in[1] = { hop_spec1(HOP_f64, N) };
	hop_array *a[1] = { subject_vec(c, N, body_x) }, *y[1] = { NULL };
	hop_fn *f = NULL;
	int bad = 0;

	for (int eager = 0; eager < 2; eager++) {
		hop_status st = eager ? hop_eager_call(c, body, NULL, 1, a, 1, y)
		                      : hop_capture(c, body, NULL, 1, in, &f);

		if (st != HOP_EREFUSED || !strstr(hop_message(c), words))
			bad += cell_bad("not refused as expected: %d, %s", (int)st, hop_message(c));
	}
	hop_array_release(a[0]);
	return bad;
}

int body_gradient(hop_ctx *c, hop_body *body, const double *value, const double *grad)
{
	static const int wrt[1] = { 0 };
	hop_spec in[1] = { hop_spec1(HOP_f64, N) };
	hop_array *a[1] = { subject_vec(c, N, body_x) }, *y[3] = { NULL };
	hop_fn *f = NULL, *g = NULL;
	int bad = cell_ok(c, hop_capture(c, body, NULL, 1, in, &f), "capture") ||
	          cell_ok(c, hop_grad(f, 1, wrt, &g), "grad") ||
	          cell_ok(c, hop_call(g, 1, a, 3, y), "call") ||
	          cell_near("value", N, value, y[1], 0) || cell_near("gradient", N, grad, y[2], 0);

	for (int i = 0; i < 3; i++)
		hop_array_release(y[i]);
	hop_array_release(a[0]);
	hop_fn_release(g), hop_fn_release(f);
	return bad;
}

/* ---- mutation ---- */

void body_write_all(hop_trace *t, hop_value acc, hop_value x)
{
	hop_value first = hop_narrow(t, acc, 0, 0, 1);

	hop_add_(t, acc, hop_mulf(t, x, 2));
	hop_mul_(t, first, hop_f(t, 2));
}

void body_write(hop_trace *t, const hop_value *in, void *user)
{
	body_write_all(t, *(hop_value *)user, in[0]);
	hop_return(t, hop_addf(t, in[0], 1));
}

struct writer { body_writer *run; };

static void writer(hop_trace *t, const hop_value *in, void *user)
{
	const struct writer *w = user;
	hop_value acc = hop_clone(t, hop_zeros_like(t, in[0])), out = HOP_NONE;

	w->run(t, &acc, in[0], &out);
	hop_return(t, out, acc);
}

int body_writes(hop_ctx *c, body_writer *run, int times)
{
	struct writer w = { run };
	double want[2][N] = { { body_x[0], body_x[1], body_x[2] } };

	for (int k = 0; k < times; k++) {
		for (int i = 0; i < N; i++)
			want[1][i] += 2 * want[0][i];
		want[1][0] *= 2;
		for (int i = 0; i < N; i++)
			want[0][i] += 1;
	}
	return body_expect(c, writer, &w, N, body_x, 2, want);
}

/* ---- aliasing ---- */

int body_aliases(hop_ctx *c, hop_body *body)
{
	double want[2][N];

	for (int i = 0; i < N; i++) {
		want[0][i] = body_x[i];
		want[1][i] = 2 * body_x[i];
	}
	return body_expect(c, body, NULL, N, body_x, 2, want);
}

void body_keep(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

void body_pair(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[1]);
}

void body_swap(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[1], in[0]);
}

void body_twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0], in[0]);
}

void body_square(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[0], in[0]));
}
