/* slopes.c -- derivatives and batches of a body by every door, against differences and against one
 * lane after the other. What a body gives is the interpreter's word; pitfall.c compares that. */
#include <stdlib.h>
#include <string.h>

#include "doors.h"

/* ---- a body that differentiates another ---- */

enum way { GRADIENT, DIRECTION, LANES };
struct over {
	hop_body  *f;
	void      *user;
	enum way   way;
	int        nin, nout, nwrt;
	const int *wrt;                /* inputs; of LANES the axis of each input */
};

/* Results: the gradients; the derivatives of all float results along the last nwrt inputs; the
 * results of all lanes. */
static void over(hop_trace *t, const hop_value *in, void *user)
{
	const struct over *o = user;
	hop_value out[2 * MAXLIST];
	int n;
	if (o->way == GRADIENT)
		n = hop_grad_at(t, o->f, o->user, o->nin, in, o->nwrt, o->wrt, 2 * MAXLIST, out);
	else if (o->way == DIRECTION)
		n = hop_jvp_at(t, o->f, o->user, o->nin, in, o->nwrt, o->wrt, in + o->nin, 2 * MAXLIST,
		               out);
	else
		n = hop_vmap_at(t, o->f, o->user, o->nin, in, o->wrt, 2 * MAXLIST, out);
	int first = o->way == LANES ? 0 : o->nout;
	hop_return_n(t, n - first, out + first);
}

void gradient_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                 int nwrt, const int *wrt, int nwant, const tensor *want)
{
	struct over o = { f, user, GRADIENT, nin, results_of(file, line, f, user, nin, in), nwrt, wrt };
	gives_at(file, line, over, &o, nin, in, nwant, want);
}

/* ---- differences ---- */

static double scale(int64_t i)
{
	return 0.75 + 0.5 * (double)(i % 3) - (double)(i % 2);       /* a direction, nowhere 0 */
}

/* What the body's first result is, when the numbers of input k are these. */
static double value(const char *file, int line, const struct over *o, const tensor *in, int k,
                    const double *v)
{
	hop_array *a[MAXLIST], *out[MAXLIST];
	tensor x[MAXLIST];
	memcpy(x, in, (size_t)o->nin * sizeof *x);
	x[k].v = v;
	for (int i = 0; i < o->nin; i++)
		a[i] = array_of(&x[i]);
	if (go_through(INTERPRETED, o->f, o->user, o->nin, x, a, o->nout, out))
		fail_at(file, line, "differences: %s", hop_message(ctx));
	if (hop_array_rank(out[0]) != 0)
		fail_at(file, line, "the first result is no scalar");
	double y = hop_array_at(out[0], 0);
	release(o->nin, a);
	release(o->nout, out);
	return y;
}

/* By central differences of two steps, which together have no error of the third order. */
static double *differences(const char *file, int line, const struct over *o, const tensor *in, int k)
{
	int64_t n = tensor_count(&in[k]);
	double *v = calloc((size_t)n + 1, sizeof *v), *g = calloc((size_t)n + 1, sizeof *g);
	must(v && g && in[k].dtype == HOP_f64);
	for (int64_t i = 0; i < n; i++)
		v[i] = in[k].v ? in[k].v[i] : 0;
	for (int64_t i = 0; i < n; i++) {
		double at = v[i], y[4], h = 1e-3;
		for (int s = 0; s < 4; s++) {
			v[i] = at + h * (double[]){ -2, -1, 1, 2 }[s];
			y[s] = value(file, line, o, in, k, v);
		}
		v[i] = at;
		g[i] = (8 * (y[2] - y[1]) - (y[3] - y[0])) / (12 * h);
	}
	free(v);
	return g;
}

static void near(const char *file, int line, const char *how, const char *what, int64_t i, double x,
                 double y)
{
	if (!(fabs(x - y) <= 1e-7 * (1 + fabs(y))))
		fail_at(file, line, "%s: %s: element %lld is %.12g, by differences %.12g", how, what,
		        (long long)i, x, y);
}

void slopes_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
               int nwrt, const int *wrt)
{
	struct over o = { f, user, GRADIENT, nin, results_of(file, line, f, user, nin, in), nwrt, wrt };
	hop_array *a[2 * MAXLIST], *out[MAXLIST];
	tensor x[2 * MAXLIST];
	double *g[MAXLIST], *dir[MAXLIST], along = 0;
	must(nin + nwrt <= MAXLIST);
	memcpy(x, in, (size_t)nin * sizeof *x);
	for (int k = 0; k < nwrt; k++) {
		int64_t n = tensor_count(&in[wrt[k]]);
		g[k] = differences(file, line, &o, in, wrt[k]);
		must(dir[k] = malloc(((size_t)n + 1) * sizeof *dir[k]));
		for (int64_t i = 0; i < n; i++) {
			dir[k][i] = scale(i + k);
			along += dir[k][i] * g[k][i];
		}
		x[nin + k] = in[wrt[k]];
		x[nin + k].v = dir[k];
	}
	for (enum door d = 0; d < NDOOR; d++) {
		for (int i = 0; i < nin + nwrt; i++)
			a[i] = array_of(&x[i]);
		o.way = GRADIENT;
		if (go_through(d, over, &o, nin, x, a, nwrt, out))
			fail_at(file, line, "%s gradient: %s", door_name[d], hop_message(ctx));
		for (int k = 0; k < nwrt; k++)
			for (int64_t i = 0; i < tensor_count(&in[wrt[k]]); i++)
				near(file, line, door_name[d], "gradient", i, hop_array_at(out[k], i), g[k][i]);
		release(nwrt, out);
		o.way = DIRECTION;
		int n = results_of(file, line, over, &o, nin + nwrt, x);
		if (go_through(d, over, &o, nin + nwrt, x, a, n, out))
			fail_at(file, line, "%s jvp: %s", door_name[d], hop_message(ctx));
		near(file, line, door_name[d], "jvp", 0, hop_array_at(out[0], 0), along);
		release(n, out);
		release(nin + nwrt, a);
	}
	for (int k = 0; k < nwrt; k++) {
		free(g[k]);
		free(dir[k]);
	}
}

/* A scalar of the gradients that bends with each of them. */
static void bend(hop_trace *t, const hop_value *in, void *user)
{
	const struct over *o = user;
	hop_value out[2 * MAXLIST], sum = hop_scalar(t, HOP_f64, 0);
	hop_grad_at(t, o->f, o->user, o->nin, in, o->nwrt, o->wrt, 2 * MAXLIST, out);
	for (int k = 0; k < o->nwrt; k++) {
		hop_value g = out[o->nout + k];
		sum = hop_add(t, sum, hop_sum_all(t, hop_mul(t, g, hop_addf(t, hop_mulf(t, g, 0.5), 1 + k))));
	}
	hop_return(t, sum);
}

void slopes2_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
                int nwrt, const int *wrt)
{
	struct over o = { f, user, GRADIENT, nin, results_of(file, line, f, user, nin, in), nwrt, wrt };
	slopes_at(file, line, bend, &o, nin, in, nwrt, wrt);
}

/* ---- batches ---- */

/* Lane l of a tensor along an axis; numbers into v. */
static tensor lane_of(const tensor *x, int axis, int64_t l, double *v)
{
	tensor y = *x;
	int64_t inner = 1, outer = 1, n = x->dim[axis];
	for (int i = 0; i < x->rank; i++) {
		if (i < axis)
			outer *= x->dim[i];
		else if (i > axis)
			inner *= x->dim[i];
	}
	for (int i = axis; i + 1 < x->rank; i++) {
		y.dim[i] = x->dim[i + 1];
		y.sym[i] = x->sym[i + 1];
	}
	y.rank--;
	for (int64_t i = 0; i < outer * inner; i++)
		v[i] = x->v ? x->v[(i / inner * n + l) * inner + i % inner] : 0;
	y.v = v;
	return y;
}

void lanes_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in,
              const int *axes)
{
	struct over o = { f, user, LANES, nin, 0, 0, axes };
	hop_array *a[MAXLIST], *out[MAXLIST], *all[NDOOR][MAXLIST];
	int n = results_of(file, line, over, &o, nin, in);
	int64_t count = 0;
	for (int i = 0; i < nin; i++)
		if (axes[i] >= 0)
			count = in[i].dim[axes[i]];
	for (enum door d = 0; d < NDOOR; d++) {
		for (int i = 0; i < nin; i++)
			a[i] = array_of(&in[i]);
		if (go_through(d, over, &o, nin, in, a, n, all[d]))
			fail_at(file, line, "%s lanes: %s", door_name[d], hop_message(ctx));
		release(nin, a);
	}
	for (int64_t l = 0; l < count; l++) {
		tensor x[MAXLIST];
		double *v[MAXLIST];
		for (int i = 0; i < nin; i++) {
			must(v[i] = malloc(((size_t)tensor_count(&in[i]) + 1) * sizeof *v[i]));
			x[i] = axes[i] < 0 ? in[i] : lane_of(&in[i], axes[i], l, v[i]);
			a[i] = array_of(&x[i]);
		}
		if (go_through(INTERPRETED, f, user, nin, x, a, n, out))
			fail_at(file, line, "lane %lld: %s", (long long)l, hop_message(ctx));
		for (int k = 0; k < n; k++) {
			int64_t size = hop_array_count(out[k]);
			for (enum door d = 0; d < NDOOR; d++) {
				if (hop_array_count(all[d][k]) != size * count)
					fail_at(file, line, "%s: result %d has %lld elements, not %lld lanes of %lld",
					        door_name[d], k, (long long)hop_array_count(all[d][k]),
					        (long long)count, (long long)size);
				for (int64_t i = 0; i < size; i++) {
					double y = hop_array_at(out[k], i), z = hop_array_at(all[d][k], l * size + i);
					if (!(isnan(y) && isnan(z)) && !(fabs(z - y) <= 1e-12 * (1 + fabs(y))))
						fail_at(file, line, "%s: result %d, lane %lld: element %lld is %.17g, "
						        "alone %.17g", door_name[d], k, (long long)l, (long long)i, z, y);
				}
			}
		}
		for (int i = 0; i < nin; i++)
			free(v[i]);
		release(nin, a);
		release(n, out);
	}
	for (enum door d = 0; d < NDOOR; d++)
		release(n, all[d]);
}
