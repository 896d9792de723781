/* The subjects of the matrix, twice: bodies for hop, loops for the reference. The reference
 * shares nothing with hop but the formulas. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/subject.h"

/* ---- for hop ---- */

/* A link of the chain while tracing; the last has op NOPERATOR. */
struct link {
	int                op;
	const struct link *in;
	hop_value          k;
};

static hop_value apply(hop_trace *t, const struct link *s, hop_value x);

static hop_value f64(hop_trace *t, double v)
{
	return hop_full(t, HOP_f64, 0, NULL, v);
}

static void then_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;

	hop_return(t, hop_mulf(t, apply(t, s->in, in[0]), 1.5));
}

static void else_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;
	hop_value y = apply(t, s->in, hop_mulf(t, in[0], -0.5));

	hop_return(t, hop_addf(t, y, 0.25));
}

static void third_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;

	hop_return(t, hop_mulf(t, apply(t, s->in, hop_mulf(t, in[0], 0.3)), 0.8));
}

/* 0 up to 0, 1 up to 2, then 2. */
static hop_value third(hop_trace *t, hop_value x)
{
	hop_value sum = hop_sum_all(t, x);
	hop_value some = hop_cast(t, hop_lt(t, f64(t, 0), sum), HOP_i64);

	return hop_add(t, some, hop_cast(t, hop_lt(t, f64(t, 2), sum), HOP_i64));
}

/* x of the whole map, which all steps share. */
struct mapped {
	const struct link *in;
	hop_value          x;
};

static void map_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct mapped *m = user;

	hop_return(t, apply(t, m->in, hop_add(t, in[0], hop_mul(t, in[1], m->x))));
}

static hop_value map_all(hop_trace *t, const struct link *s, hop_value x)
{
	struct mapped m = { s->in, x };
	hop_dim dim[2] = { hop_n(3), hop_dim_of(t, x, 0) };
	hop_value j = hop_addf(t, hop_iota(t, HOP_f64, 2, dim, 0), 1), xs[2], y = { 0, 0 };
	int first = 0;

	xs[0] = hop_mul(t, hop_mulf(t, j, 0.3), x);
	xs[1] = hop_addf(t, hop_mulf(t, hop_iota(t, HOP_f64, 1, dim, 0), 0.25), 0.5);
	hop_map(t, map_body, &m, 2, xs, 0, 1, &y);
	return hop_mulf(t, hop_sum(t, y, 1, &first), 0.5);
}

static void while_test(hop_trace *t, const hop_value *in, void *user)
{
	hop_value few = hop_lt(t, in[0], hop_i(t, 4));
	hop_value small = hop_lt(t, hop_sum_all(t, in[1]), f64(t, 3));

	(void)user;
	hop_return(t, hop_and(t, few, small));
}

static void while_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;
	hop_value i = hop_add(t, in[0], hop_i(t, 1));
	hop_value y = apply(t, s->in, in[1]);

	hop_return(t, i, hop_addf(t, y, 0.3));
}

static void scan_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;
	hop_value y = apply(t, s->in, hop_mul(t, in[0], in[1]));

	hop_return(t, y, hop_sum_all(t, y));
}

static void call_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;

	hop_return(t, apply(t, s->in, in[0]));
}

/* The rest of the chain with another k: what a custom function computes depends only on
 * its inputs. */
static const struct link *relink(struct link *to, const struct link *s, hop_value k)
{
	int i = 0;

	for (; s; s = s->in, i++) {
		to[i] = *s;
		to[i].k = k;
		to[i].in = s->in ? &to[i + 1] : NULL;
	}
	return to;
}

static void inner_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;
	struct link l[SUBJECT_DEPTH + 1];

	hop_return(t, apply(t, relink(l, s->in, in[1]), in[0]));
}

static void custom_fwd(hop_trace *t, const hop_value *in, void *user)
{
	hop_save(t, 2, in);
	inner_body(t, in, user);
}

/* x, k, ct -> inner(x, k) . ct */
static void paired_body(hop_trace *t, const hop_value *in, void *user)
{
	const struct link *s = user;
	struct link l[SUBJECT_DEPTH + 1];
	hop_value y = apply(t, relink(l, s->in, in[1]), in[0]);

	hop_return(t, hop_sum_all(t, hop_mul(t, y, in[2])));
}

static void custom_bwd(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[2] = { 0, 1 };
	hop_value out[3];

	memset(out, 0, sizeof out);
	hop_grad_at(t, paired_body, user, 3, in, 2, wrt, 3, out);
	hop_return(t, out[1], out[2]);
}

static void custom_jvp(hop_trace *t, const hop_value *in, void *user)
{
	static const int wrt[2] = { 0, 1 };
	hop_value out[2];

	memset(out, 0, sizeof out);
	hop_jvp_at(t, inner_body, user, 2, in, 2, wrt, in + 2, 2, out);
	hop_return(t, out[1]);
}

static hop_value apply(hop_trace *t, const struct link *s, hop_value x)
{
	void *user = (void *)s;
	hop_value out[2], in[2];

	memset(out, 0, sizeof out);
	switch (s->op) {
	case OP_COND:
		hop_cond(t, hop_lt(t, f64(t, 0), hop_sum_all(t, x)), then_body, else_body, user,
		         1, &x, 1, out);
		return out[0];
	case OP_SWITCH: {
		hop_body *const branch[3] = { else_body, then_body, third_body };

		hop_switch(t, third(t, x), 3, branch, user, 1, &x, 1, out);
		return out[0];
	}
	case OP_MAP:
		return map_all(t, s, x);
	case OP_WHILE:
		in[0] = hop_full(t, HOP_i64, 0, NULL, 0);
		in[1] = x;
		hop_while(t, while_test, while_body, user, 2, in, NULL, out, NULL);
		return out[1];
	case OP_SCAN: {
		hop_dim three = hop_n(3);
		hop_value w = hop_iota(t, HOP_f64, 1, &three, 0);

		w = hop_addf(t, hop_mulf(t, w, 0.25), 0.5);
		hop_scan(t, scan_body, user, 1, &x, 1, &w, NULL, 2, out, NULL);
		return hop_add(t, out[0], hop_mulf(t, hop_sum_all(t, out[1]), 0.1));
	}
	case OP_CALL:
		hop_region(t, "part", call_body, user, 1, &x, 1, out);
		return hop_mulf(t, out[0], 1.1);
	case OP_CUSTOM: {
		static const hop_custom_rule rule = { sizeof rule, custom_fwd, custom_bwd, custom_jvp };

		in[0] = x;
		in[1] = s->k;
		hop_custom(t, &rule, user, 2, in, 1, out);
		return out[0];
	}
	}
	return hop_add(t, hop_mulf(t, hop_sin(t, x), 0.7), hop_mul(t, s->k, x));
}

void subject_body(hop_trace *t, const hop_value *in, void *user)
{
	const subject *s = user;
	struct link l[SUBJECT_DEPTH + 1];

	for (int i = 0; i <= s->n; i++) {
		l[i].op = i < s->n ? s->ops[i] : NOPERATOR;
		l[i].in = i < s->n ? &l[i + 1] : NULL;
		l[i].k = in[1];
	}
	hop_value y = apply(t, l, in[0]);
	if (s->scalar) {
		hop_dim d = hop_dim_of(t, y, 0);
		hop_value w = hop_iota(t, HOP_f64, 1, &d, 0);

		w = hop_addf(t, hop_mulf(t, w, 0.5), 1);
		y = hop_sum_all(t, hop_mul(t, y, w));
	}
	hop_return(t, y);
}

/* ---- the reference ---- */

static double total(int n, const double *x)
{
	double s = 0;

	for (int i = 0; i < n; i++)
		s += x[i];
	return s;
}

static void ref(const int *ops, int nop, int n, double k, const double *x, double *out)
{
	double a[SUBJECT_MAX], b[SUBJECT_MAX];

	if (nop == 0) {
		for (int i = 0; i < n; i++)
			out[i] = 0.7 * sin(x[i]) + k * x[i];
		return;
	}
	memcpy(a, x, sizeof *a * (size_t)n);
	switch (ops[0]) {
	case OP_COND:
		if (total(n, x) > 0) {
			ref(ops + 1, nop - 1, n, k, x, out);
			for (int i = 0; i < n; i++)
				out[i] *= 1.5;
		} else {
			for (int i = 0; i < n; i++)
				a[i] = -0.5 * x[i];
			ref(ops + 1, nop - 1, n, k, a, out);
			for (int i = 0; i < n; i++)
				out[i] += 0.25;
		}
		break;
	case OP_SWITCH: {
		double sum = total(n, x), scale = sum > 2 ? 0.3 : sum > 0 ? 1 : -0.5;

		for (int i = 0; i < n; i++)
			a[i] = scale * x[i];
		ref(ops + 1, nop - 1, n, k, a, out);
		for (int i = 0; i < n; i++)
			out[i] = sum > 2 ? 0.8 * out[i] : sum > 0 ? 1.5 * out[i] : out[i] + 0.25;
		break;
	}
	case OP_MAP:
		memset(out, 0, sizeof *out * (size_t)n);
		for (int j = 0; j < 3; j++) {
			for (int i = 0; i < n; i++)
				a[i] = 0.3 * (j + 1) * x[i] + (0.25 * j + 0.5) * x[i];
			ref(ops + 1, nop - 1, n, k, a, b);
			for (int i = 0; i < n; i++)
				out[i] += 0.5 * b[i];
		}
		break;
	case OP_WHILE:
		for (int j = 0; j < 4 && total(n, a) < 3; j++) {
			ref(ops + 1, nop - 1, n, k, a, b);
			for (int i = 0; i < n; i++)
				a[i] = b[i] + 0.3;
		}
		memcpy(out, a, sizeof *a * (size_t)n);
		break;
	case OP_SCAN: {
		double ys = 0;

		for (int j = 0; j < 3; j++) {
			for (int i = 0; i < n; i++)
				b[i] = a[i] * (0.25 * j + 0.5);
			ref(ops + 1, nop - 1, n, k, b, a);
			ys += total(n, a);
		}
		for (int i = 0; i < n; i++)
			out[i] = a[i] + 0.1 * ys;
		break;
	}
	case OP_CALL:
		ref(ops + 1, nop - 1, n, k, x, out);
		for (int i = 0; i < n; i++)
			out[i] *= 1.1;
		break;
	case OP_CUSTOM:
		ref(ops + 1, nop - 1, n, k, x, out);
		break;
	}
}

double subject_weight(int i)
{
	return 0.5 * i + 1;
}

double subject_ref(const subject *s, int nx, const double *x, double k, double *out)
{
	double y[SUBJECT_MAX], sum = 0;

	ref(s->ops, s->n, nx, k, x, y);
	for (int i = 0; i < nx; i++)
		sum += subject_weight(i) * y[i];
	if (out)
		memcpy(out, y, sizeof *y * (size_t)nx);
	return sum;
}

void subject_grad(const subject *s, int nx, const double *x, double k, double *dx, double *dk)
{
	const double h = 1e-5;
	double p[SUBJECT_MAX] = { 0 }, hi;

	memcpy(p, x, sizeof *p * (size_t)nx);
	for (int i = 0; i < nx; i++) {
		p[i] = x[i] + h;
		hi = subject_ref(s, nx, p, k, NULL);
		p[i] = x[i] - h;
		dx[i] = (hi - subject_ref(s, nx, p, k, NULL)) / (2 * h);
		p[i] = x[i];
	}
	hi = subject_ref(s, nx, x, k + h, NULL);
	*dk = (hi - subject_ref(s, nx, x, k - h, NULL)) / (2 * h);
}

void subject_hess(const subject *s, int nx, const double *x, double k, const double *v,
                  double *out)
{
	const double h = 1e-4;
	static const int sign[2] = { 1, -1 };

	for (int j = 0; j < nx; j++) {
		double p[SUBJECT_MAX] = { 0 }, sum = 0;

		for (int a = 0; a < 2; a++) {
			for (int b = 0; b < 2; b++) {
				for (int i = 0; i < nx; i++)
					p[i] = x[i] + h * (sign[a] * v[i] + sign[b] * (i == j));
				sum += sign[a] * sign[b] * subject_ref(s, nx, p, k, NULL);
			}
		}
		out[j] = sum / (4 * h * h);
	}
}

void subject_along(const subject *s, int nx, const double *x, double k, const double *v,
                   double dk, double *out)
{
	const double h = 1e-5;
	double p[SUBJECT_MAX] = { 0 }, lo[SUBJECT_MAX];

	for (int i = 0; i < nx; i++)
		p[i] = x[i] - h * v[i];
	subject_ref(s, nx, p, k - h * dk, lo);
	for (int i = 0; i < nx; i++)
		p[i] = x[i] + h * v[i];
	subject_ref(s, nx, p, k + h * dk, out);
	for (int i = 0; i < nx; i++)
		out[i] = (out[i] - lo[i]) / (2 * h);
}

/* ---- arrays; a test that has no memory has nothing to say ---- */

static hop_array *array(hop_ctx *c, int rank, const int64_t *dim, const double *x)
{
	hop_array *a;

	if (hop_array_new(c, HOP_f64, rank, dim, x, &a))
		abort();
	return a;
}

hop_array *subject_vec(hop_ctx *c, int n, const double *x)
{
	int64_t dim[1] = { n };

	return array(c, 1, dim, x);
}

hop_array *subject_num(hop_ctx *c, double x)
{
	return array(c, 0, NULL, &x);
}

hop_array *subject_mat(hop_ctx *c, int n, int m, const double *x)
{
	int64_t dim[2] = { n, m };

	return array(c, 2, dim, x);
}
