/* map: half the sum of three f(0.3 (i + 1) x + (0.5 + 0.25 i) x), of which the first x is sliced and
 * the second shared. */
#include <string.h>

#include "operator/operator.h"

/* x of the whole map, which all steps share. */
struct shared {
	const chain *c;
	hop_value    x;
};

static void step(hop_trace *t, const hop_value *in, void *user)
{
	const struct shared *m = user;

	hop_return(t, chain_inner(t, m->c, hop_add(t, in[0], hop_mul(t, in[1], m->x))));
}

hop_value apply_map(hop_trace *t, const chain *c, hop_value x)
{
	struct shared m = { c, x };
	hop_dim dim[2] = { hop_n(3), hop_dim_of(t, x, 0) };
	hop_value j = hop_addf(t, hop_iota(t, hop_dtype_of(t, x), 2, dim, 0), 1), y = HOP_NONE;
	hop_value xs[2] = { hop_mul(t, hop_mulf(t, j, 0.3), x), chain_ramp(t, x, 3, 0.5, 0.25) };
	int first = 0;

	hop_map_chunked(t, step, &m, 2, xs, 0, c->s->form == FORM_CHUNK ? 2 : 0, 1, &y);
	return hop_mulf(t, hop_sum(t, y, 1, &first), 0.5);
}

void ref_map(const ref *r, int n, const double *x, double *out)
{
	double a[SUBJECT_MAX], b[SUBJECT_MAX];

	memset(out, 0, sizeof *out * (size_t)n);
	for (int j = 0; j < 3; j++) {
		for (int i = 0; i < n; i++)
			a[i] = 0.3 * (j + 1) * x[i] + (0.25 * j + 0.5) * x[i];
		ref_inner(r, n, a, b);
		for (int i = 0; i < n; i++)
			out[i] += 0.5 * b[i];
	}
}

static void own_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_clone(t, in[0]);

	(void)user;
	hop_add_(t, y, hop_f(t, 1));
	hop_mul_(t, in[0], hop_f(t, 2));           /* a slice is the body's own, too */
	hop_return(t, y, in[0]);
}

static void own(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_map(t, own_body, NULL, 1, in, 0, 2, out);
	hop_return(t, out[0], out[1]);
}

static void captured_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_add_(t, *(hop_value *)user, in[0]);
	hop_return(t, in[0]);
}

static void captured(hop_trace *t, const hop_value *in, void *user)
{
	hop_value acc = hop_full(t, HOP_f64, 0, NULL, 0), out = HOP_NONE;

	(void)user;
	hop_map(t, captured_body, &acc, 1, in, 0, 1, &out);
	hop_return(t, out);
}

/* Its own values yes, captured ones no. */
int mutation_map(hop_ctx *c)
{
	double want[2][BODY_N];

	for (int i = 0; i < BODY_N; i++) {
		want[0][i] = body_x[i] + 1;
		want[1][i] = 2 * body_x[i];
	}
	return body_expect(c, own, NULL, BODY_N, body_x, 2, want) ||
	       body_refused(c, captured, "map: a captured tensor is written");
}

/* Stacked slices of x and y are x and y. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[2] = { in[0], hop_mulf(t, in[0], 2) }, out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	hop_map(t, body_pair, NULL, 2, a, 0, 2, out);
	hop_return(t, out[0], out[1]);
}

int aliasing_map(hop_ctx *c)
{
	return body_aliases(c, alias);
}

static void scale_body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_mul(t, in[0], *(hop_value *)user));
}

static void no_rows(hop_trace *t, const hop_value *in, void *user)
{
	hop_dim dim[2] = { hop_n(0), hop_n(BODY_N) };
	hop_value x = hop_full(t, HOP_f64, 2, dim, 1), y = HOP_NONE, k = in[0];
	int first = 0;

	(void)user;
	hop_map(t, scale_body, &k, 1, &x, 0, 1, &y);
	hop_return(t, hop_sum_all(t, y), hop_sum(t, y, 1, &first));
}

/* A map of no slices: results of no rows, and nothing added to what is shared. */
int zero_map(hop_ctx *c)
{
	static const double none[BODY_N] = { 0 };

	return body_gradient(c, no_rows, none, none);
}
