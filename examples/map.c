/* A map over the rows of a matrix, each with a formula of its own chosen by a switch, and the
 * gradient for what all rows share. */
#include "example.h"

enum { ROWS = 4, COLS = 3 };

static void wave(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sin(t, in[0]));
}

static void bump(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_exp(t, hop_neg(t, hop_mul(t, in[0], in[0]))));
}

static void line(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

/* in: a row and the number of its formula. The weights are of the trace around. */
static void row(hop_trace *t, const hop_value *in, void *user)
{
	hop_body *const formula[] = { wave, bump, line };
	const hop_value *w = user;
	hop_value x = hop_mul(t, in[0], *w), y;
	hop_switch(t, in[1], 3, formula, NULL, 1, &x, 1, &y);
	hop_return(t, hop_sum_all(t, y));
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y, w = in[2];
	(void)user;
	hop_map(t, row, &w, 2, in, 0, 1, &y);
	hop_return(t, hop_sum_all(t, y), y);
}

int main(void)
{
	static const double x[ROWS * COLS] = { 0.1, 0.2, 0.3, 1, 2, 3, -1, 0, 1, 0.5, 0.5, 0.5 };
	static const int64_t kind[ROWS] = { 0, 1, 2, 7 };       /* past the last is the last */
	static const double w[COLS] = { 1, 2, 0.5 };
	static const int64_t dim[2] = { ROWS, COLS };
	static const int wrt = 2;
	hop_spec s[3] = { hop_spec2(HOP_f64, ROWS, COLS), hop_spec1(HOP_i64, ROWS),
	                  hop_spec1(HOP_f64, COLS) };
	hop_ctx *c;
	hop_fn *f, *g;
	hop_array *in[3], *out[3];

	if (hop_ctx_new(NULL, &c))
		return 1;
	must(c, hop_capture(c, loss, NULL, 3, s, &f));
	must(c, hop_grad(f, 1, &wrt, &g));
	must(c, hop_array_new(c, HOP_f64, 2, dim, x, &in[0]));
	must(c, hop_array_new(c, HOP_i64, 1, dim, kind, &in[1]));
	must(c, hop_array_new(c, HOP_f64, 1, dim + 1, w, &in[2]));
	must(c, hop_call(g, 3, in, 3, out));
	for (int i = 0; i < ROWS; i++)
		printf("row %d by formula %d: %.6f\n", i, (int)kind[i], hop_array_at(out[1], i));
	for (int i = 0; i < COLS; i++)
		printf("gradient for weight %d: %.6f\n", i, hop_array_at(out[2], i));
	for (int i = 0; i < 3; i++) {
		hop_array_release(in[i]);
		hop_array_release(out[i]);
	}
	hop_fn_release(g);
	hop_fn_release(f);
	hop_ctx_free(c);
	return 0;
}
