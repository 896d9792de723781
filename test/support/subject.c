/* The subjects of the matrix: chains of operators for hop, and for the reference, which shares
 * nothing with hop but the formulas. It knows the base function; operators are in test/operator. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operator/operator.h"

#define REFUSE(op, cap, words, reason)

/* ---- for hop ---- */

static hop_value apply(hop_trace *t, const chain *c, hop_value x)
{
	static hop_value (*const of[NOPERATOR])(hop_trace *, const chain *, hop_value) = {
#define OPERATOR(upper, lower) apply_##lower,
#include "operator/operators.def"
#undef OPERATOR
	};

	if (c->op < NOPERATOR)
		return of[c->op](t, c, x);
	return hop_add(t, hop_mulf(t, hop_sin(t, x), 0.7), hop_mul(t, c->k, x));
}

hop_value chain_inner(hop_trace *t, const chain *c, hop_value x)
{
	return apply(t, c->in, x);
}

hop_value chain_ramp(hop_trace *t, hop_value x, int n, double a, double step)
{
	hop_dim dim = hop_n(n);
	hop_value i = hop_iota(t, hop_dtype_of(t, x), 1, &dim, 0);

	return hop_addf(t, hop_mulf(t, i, step), a);
}

void subject_body(hop_trace *t, const hop_value *in, void *user)
{
	const subject *s = user;
	chain l[SUBJECT_DEPTH + 1];

	for (int i = 0; i <= s->n; i++)
		l[i] = (chain){ i < s->n ? s->ops[i] : NOPERATOR, i < s->n ? &l[i + 1] : NULL, s, in[1] };
	hop_value y = apply(t, l, in[0]);
	if (s->scalar) {
		hop_dim d = hop_dim_of(t, y, 0);
		hop_value w = hop_iota(t, hop_dtype_of(t, y), 1, &d, 0);

		w = hop_addf(t, hop_mulf(t, w, 0.5), 1);
		y = hop_sum_all(t, hop_mul(t, y, w));
	}
	hop_return(t, y);
}

/* ---- the reference ---- */

double ref_total(int n, const double *x)
{
	double s = 0;

	for (int i = 0; i < n; i++)
		s += x[i];
	return s;
}

void ref_went(const ref *r, int way)
{
	*r->path = *r->path * 31 + (uint64_t)way + 1;
}

static void ref_at(const ref *r, int n, const double *x, double *out)
{
	static void (*const of[NOPERATOR])(const ref *, int, const double *, double *) = {
#define OPERATOR(upper, lower) ref_##lower,
#include "operator/operators.def"
#undef OPERATOR
	};

	if (r->at < r->s->n) {
		of[r->s->ops[r->at]](r, n, x, out);
		return;
	}
	for (int i = 0; i < n; i++)
		out[i] = 0.7 * sin(x[i]) + r->k * x[i];
}
#undef REFUSE

void ref_inner(const ref *r, int n, const double *x, double *out)
{
	ref in = *r;

	in.at++;
	ref_at(&in, n, x, out);
}

uint64_t subject_path(const subject *s, int nx, const double *x, double k)
{
	double y[SUBJECT_MAX];
	uint64_t path = 0;
	ref r = { s, 0, k, &path };

	ref_at(&r, nx, x, y);
	return path;
}

double subject_weight(int i)
{
	return 0.5 * i + 1;
}

double subject_ref(const subject *s, int nx, const double *x, double k, double *out)
{
	double y[SUBJECT_MAX], sum = 0;
	uint64_t path = 0;
	ref r = { s, 0, k, &path };

	ref_at(&r, nx, x, y);
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

/* Nearest, even among two: of finite numbers. */
static uint16_t bf16_bits(double x)
{
	float f = (float)x;
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

double subject_bf16(double x)
{
	uint32_t u = (uint32_t)bf16_bits(x) << 16;
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

hop_array *subject_array(hop_ctx *c, hop_dtype dtype, int rank, const int64_t *dim,
                         const double *x)
{
	uint16_t half[64];
	int64_t n = 1;
	hop_array *a;

	for (int i = 0; i < rank; i++)
		n *= dim[i];
	if (dtype == HOP_bf16 && n > 64)
		abort();
	for (int64_t i = 0; dtype == HOP_bf16 && i < n; i++)
		half[i] = bf16_bits(x[i]);
	if (hop_array_new(c, dtype, rank, dim, dtype == HOP_bf16 ? (const void *)half : x, &a))
		abort();
	return a;
}

hop_array *subject_vec(hop_ctx *c, int n, const double *x)
{
	int64_t dim[1] = { n };

	return subject_array(c, HOP_f64, 1, dim, x);
}

hop_array *subject_num(hop_ctx *c, double x)
{
	return subject_array(c, HOP_f64, 0, NULL, &x);
}

hop_array *subject_mat(hop_ctx *c, int n, int m, const double *x)
{
	int64_t dim[2] = { n, m };

	return subject_array(c, HOP_f64, 2, dim, x);
}
