/* judge.c -- properties of transforms, checked on random inputs. Knows no op. */
#include "support/judge.h"

#include "text/text.h"
#include "support/program.h"
#include "support/retype.h"
#include "support/unsteady.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 3 };

static uint64_t next(judge *j)
{
	j->seed = j->seed * 6364136223846793005u + 1442695040888963407u;
	return j->seed >> 33;
}

static double uniform(judge *j)
{
	return 0.2 + (double)next(j) / 2147483648.0;
}

static bool is_float(const hop_type *t)
{
	return hop_dtype_float((hop_dtype)t->dtype);
}

static void bad(judge *j, const char *path, const char *check, const hop_graph *g)
{
	j->failures++;
	if (j->failures > 3)
		return;
	fprintf(stderr, "%s: %s of %s failed: %s\n", j->what, check, *path ? path : "itself",
	        j->p->env->diag.text ? j->p->env->diag.text : "values differ");
	if (j->verbose) {
		hop_buf b;
		hop_buf_open(&b, j->p->env);
		hop_graph_print(&b, g);
		fprintf(stderr, "%s", b.s);
		hop_buf_free(&b);
	}
	hop_diag_clear(j->p->env);
}

/* Small ones, none at all, and now and then around the widths of vectors and tiles. */
void judge_sizes(judge *j, const hop_graph *g, int64_t *syms)
{
	static const int64_t odd[] = { 0, 0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 67 };
	int64_t most = gen_loops(g) ? 5 : 67;
	for (uint32_t i = 0; i < g->nsym; i++) {
		int64_t lo = g->range[i].lo, hi = g->range[i].hi < most ? g->range[i].hi : most;
		syms[i] = 3 + (int64_t)(next(j) % 3);
		if (next(j) % 3 == 0)
			syms[i] = odd[next(j) % (sizeof odd / sizeof *odd)];
		syms[i] = syms[i] < lo ? lo : syms[i] > hi ? hi : syms[i];
	}
}

static void fill(judge *j, hop_array *t)
{
	for (int64_t i = 0; i < t->count; i++) {
		if (hop_dtype_float(t->dtype))
			hop_array_set_f(t, i, uniform(j));
		else
			hop_array_set_i(t, i, (int64_t)(next(j) % (t->dtype == HOP_bool ? 2 : 4)));
	}
}

static hop_array *make(judge *j, const hop_type *t, const int64_t *syms, int nsym)
{
	int64_t dim[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++)
		HOP_ASSERT(hop_size_eval(t->dim[i], syms, nsym, &dim[i]));
	return hop_interp_new(j->p, (hop_dtype)t->dtype, t->rank, dim);
}

void judge_inputs(judge *j, const hop_graph *g, const int64_t *syms, hop_array **in)
{
	for (uint32_t i = 0; i < g->nparam; i++) {
		in[i] = make(j, g->type[i], syms, (int)g->nsym);
		fill(j, in[i]);
	}
}

static void drop(judge *j, uint32_t n, hop_array **t)
{
	for (uint32_t i = 0; i < n; i++) {
		hop_interp_release(j->p, t[i]);
		t[i] = NULL;
	}
}

static hop_array *dup(judge *j, const hop_array *t)
{
	hop_array *r = hop_interp_new(j->p, t->dtype, t->rank, t->dim);
	memcpy(r->data, t->data, (size_t)t->count * hop_dtype_bytes(t->dtype));
	return r;
}

/* x + h v for the active inputs. */
static void moved(judge *j, const hop_graph *g, hop_array *const *x, hop_array *const *v,
                  double h, hop_array **out)
{
	for (uint32_t i = 0; i < g->nparam; i++) {
		out[i] = dup(j, x[i]);
		for (int64_t k = 0; is_float(g->type[i]) && k < x[i]->count; k++)
			hop_array_set_f(out[i], k, hop_array_f(x[i], k) + h * hop_array_f(v[i], k));
	}
}

bool judge_near(double a, double b, double tol)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	if (isinf(a) || isinf(b))
		return a == b;
	return fabs(a - b) <= tol * (1 + fabs(a) + fabs(b));
}

static bool close_to(const hop_array *a, const hop_array *b, double tol)
{
	if (a->dtype != b->dtype || a->count != b->count)
		return false;
	for (int64_t i = 0; i < a->count; i++)
		if (!judge_near(hop_array_f(a, i), hop_array_f(b, i), tol))
			return false;
	return true;
}

/* Transforms keep effects and do not repeat them; what is said is of no interest. */
static int count_line(void *user, const char *line)
{
	(void)line;
	++*(long *)user;
	return 0;
}

struct setup {
	const hop_graph *g;
	long             lines;        /* that g prints on x */
	int64_t         *syms;
	hop_array     **x, **v, **y;
	bool            *act, *outs;
	uint32_t         na, no;
};

static bool open_setup(judge *j, struct setup *s, const hop_graph *g)
{
	hop_arena *a = &j->p->env->tmp;
	memset(s, 0, sizeof *s);
	s->g = g;
	s->syms = HOP_NEWN(a, int64_t, g->nsym);
	s->x = HOP_NEWN(a, hop_array *, g->nparam);
	s->v = HOP_NEWN(a, hop_array *, g->nparam);
	s->y = HOP_NEWN(a, hop_array *, g->nout);
	s->act = HOP_NEWN(a, bool, g->nparam);
	s->outs = HOP_NEWN(a, bool, g->nout);
	judge_sizes(j, g, s->syms);
	judge_inputs(j, g, s->syms, s->x);
	judge_inputs(j, g, s->syms, s->v);
	for (uint32_t i = 0; i < g->nparam; i++)
		s->na += s->act[i] = is_float(g->type[i]);
	for (uint32_t i = 0; i < g->nout; i++) {
		const hop_type *t = hop_graph_out_type(g, i);
		bool known = true;
		for (int k = 0; k < t->rank; k++)
			known &= (uint32_t)hop_size_nsym(t->dim[k]) <= g->nsym;
		s->no += s->outs[i] = is_float(t) && known;
	}
	j->p->print = count_line;
	j->p->print_user = &j->lines;
	j->lines = 0;
	bool ok = !hop_interp_graph(j->p, g, s->syms, s->x, s->y);
	s->lines = j->lines;
	return ok;
}

static void close_setup(judge *j, struct setup *s)
{
	drop(j, s->g->nparam, s->x);
	drop(j, s->g->nparam, s->v);
	drop(j, s->g->nout, s->y);
}

/* How far apart two ways to compute the same may be, of graphs with a dtype that ops round to. A
 * bit that falls otherwise in one op is one in the last place of the next; a few meet. */
static double rounding(const hop_graph *g, double f32, double f64)
{
	double eps = gen_eps(g);
	return eps > 0x1p-23 ? 4 * eps : eps == 0x1p-23 ? f32 : f64;
}

/* ---- derivatives ---- */

/* The tangents that forward mode gives, or false. */
static bool run_jvp(judge *j, struct setup *s, hop_array **dy)
{
	const hop_graph *g = s->g, *d;
	hop_arena *a = &j->p->env->tmp;
	if (hop_ad_jvp(j->p->env, g, s->act, s->outs, &d) || hop_verify(j->p->env, d))
		return false;
	hop_array **in = HOP_NEWN(a, hop_array *, d->nparam);
	hop_array **out = HOP_NEWN(a, hop_array *, d->nout);
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->nparam; i++)
		in[n++] = s->x[i];
	for (uint32_t i = 0; i < g->nparam; i++)
		if (s->act[i])
			in[n++] = s->v[i];
	j->lines = 0;
	if (hop_interp_graph(j->p, d, s->syms, in, out))
		return false;
	bool same = j->lines == s->lines;
	for (uint32_t i = 0; i < g->nout; i++)
		same &= close_to(out[i], s->y[i], 1e-12);
	drop(j, g->nout, out);
	memcpy(dy, out + g->nout, s->no * sizeof *dy);
	return same;
}

/* The float results a step h forwards minus those backwards, over 2h, one after another. NULL
 * when they cannot be had. */
static double *quotients(judge *j, struct setup *s, double h, int64_t n)
{
	const hop_graph *g = s->g;
	hop_arena *a = &j->p->env->tmp;
	hop_array **xp = HOP_NEWN(a, hop_array *, g->nparam), **xm = HOP_NEWN(a, hop_array *, g->nparam);
	hop_array **yp = HOP_NEWN(a, hop_array *, g->nout), **ym = HOP_NEWN(a, hop_array *, g->nout);
	double *q = HOP_NEWN(a, double, n);
	int64_t k = 0;
	moved(j, g, s->x, s->v, h, xp);
	moved(j, g, s->x, s->v, -h, xm);
	bool ok = !hop_interp_graph(j->p, g, s->syms, xp, yp) &&
	          !hop_interp_graph(j->p, g, s->syms, xm, ym);
	for (uint32_t i = 0; ok && i < g->nout; i++) {
		if (!s->outs[i])
			continue;
		ok = yp[i]->count == ym[i]->count && k + yp[i]->count <= n;
		for (int64_t e = 0; ok && e < yp[i]->count; e++)
			q[k++] = (hop_array_f(yp[i], e) - hop_array_f(ym[i], e)) / (2 * h);
	}
	if (ok) {
		drop(j, g->nout, yp);
		drop(j, g->nout, ym);
	}
	drop(j, g->nparam, xp);
	drop(j, g->nparam, xm);
	return ok && k == n ? q : NULL;
}

/* Quotients by steps that get smaller, each computed when it is asked for. */
enum { STEPS = 6 };
typedef struct smaller {
	judge        *j;
	struct setup *s;
	int64_t       n;
	double        step[STEPS], *q[STEPS];
	int           nstep;
} smaller;

/* A smaller step than h, with which quotient k was q, decides: d is right by one, or the function jumps
 * there, since by the smallest results still differ by as much as they did, and by more than rounding
 * does. */
static bool is_settled(smaller *m, int64_t k, double d, double h, double q)
{
	const double jump = 1e-9;
	double r = 0;
	for (int i = 0; i < m->nstep; i++) {
		m->q[i] = m->q[i] ? m->q[i] : quotients(m->j, m->s, m->step[i], m->n);
		if (!m->q[i])
			return false;
		r = m->q[i][k];
		if (judge_near(d, r, 2e-5))
			return true;
	}
	return fabs(q * h) > jump && fabs(r * m->step[m->nstep - 1]) > fabs(q * h) / 4;
}

/* As small as the function is steep, and some between: of its elements each wants another, since what is
 * small enough for one is lost in the rounding of the next. */
static smaller steps_below(judge *j, struct setup *s, int64_t n, double h, double steep)
{
	smaller m = { .j = j, .s = s, .n = n };
	double least = h / 16 / (1 + fmin(steep, 1e9) / 1e3);
	for (double x = h / 16; m.nstep < STEPS - 1 && x > least; x /= 16)
		m.step[m.nstep++] = x;
	m.step[m.nstep++] = least;
	return m;
}

static void check_differences(judge *j, struct setup *s, hop_array **dy, const char *path)
{
	const double h = 1e-6;
	double steep = 0;
	int64_t n = 0, k = 0;
	uint32_t nd = 0;
	for (uint32_t i = 0; i < s->g->nout; i++)
		nd += s->outs[i];
	for (uint32_t i = 0; i < nd; i++)
		n += dy[i]->count;
	for (uint32_t i = 0; i < nd; i++)
		for (int64_t e = 0; e < dy[i]->count; e++)
			steep = fmax(steep, fabs(hop_array_f(dy[i], e)));
	smaller m = steps_below(j, s, n, h, steep);
	double *q = quotients(j, s, h, n);
	bool ok = q != NULL;
	for (uint32_t i = 0; ok && i < nd; i++)
		for (int64_t e = 0; ok && e < dy[i]->count; e++, k++) {
			double d = hop_array_f(dy[i], e);
			ok = judge_near(d, q[k], 2e-5) || is_settled(&m, k, d, h, q[k]);
		}
	j->checks++;
	if (!ok)
		bad(j, path, q ? "jvp against differences" : "evaluation", s->g);
}

/* A tensor in f64, each element moved by eps of itself, up or down. */
static hop_array *raised(judge *j, const hop_array *t, double eps)
{
	hop_array *r = hop_interp_new(j->p, hop_dtype_real(t->dtype) ? HOP_f64 : t->dtype, t->rank,
	                               t->dim);
	for (int64_t i = 0; i < t->count; i++)
		if (hop_dtype_real(t->dtype))
			hop_array_set_f(r, i, hop_array_f(t, i) * (1 + (next(j) % 2 ? eps : -eps)));
		else
			hop_array_set_i(r, i, hop_array_i(t, i));
	return r;
}

/* a and b agree to tol, or to a few times of what b and c differ by. */
static bool all_near(uint32_t n, hop_array *const *a, hop_array *const *b,
                     hop_array *const *c, double tol)
{
	for (uint32_t i = 0; i < n; i++) {
		if (a[i]->count != b[i]->count || a[i]->count != c[i]->count)
			return false;
		for (int64_t k = 0; k < a[i]->count; k++) {
			double x = hop_array_f(a[i], k), y = hop_array_f(b[i], k);
			if (!judge_near(x, y, tol) && !(fabs(x - y) <= 4 * fabs(y - hop_array_f(c[i], k))))
				return false;
		}
	}
	return true;
}

/* The setup in f64, with inputs moved by eps of themselves, and its tangents; false if it does not
 * run. */
static bool upcast(judge *j, struct setup *s, const hop_graph *up, double eps, struct setup *t,
                   hop_array **dy)
{
	hop_arena *a = &j->p->env->tmp;
	*t = *s;
	t->g = up;
	t->x = HOP_NEWN(a, hop_array *, up->nparam);
	t->v = HOP_NEWN(a, hop_array *, up->nparam);
	t->y = HOP_NEWN(a, hop_array *, up->nout);
	for (uint32_t i = 0; i < up->nparam; i++) {
		t->x[i] = raised(j, s->x[i], eps);
		t->v[i] = raised(j, s->v[i], eps);
	}
	j->lines = 0;
	bool ok = !hop_interp_graph(j->p, up, t->syms, t->x, t->y);
	t->lines = j->lines;
	return ok && run_jvp(j, t, dy);
}

/* Of dtypes too coarse for differences: the tangents are those of the same program in f64, up to
 * the roundings of a few ops, or as much as they change when the inputs change by a rounding. A
 * program that goes another way in f64, as its value says, has other tangents there: those only
 * have to be adjoint. Gives the sum of all differences. */
static double check_upcast(judge *j, struct setup *s, hop_array **dy, const char *path)
{
	hop_env *e = j->p->env;
	hop_module *m;
	hop_array **up = HOP_NEWN(&e->tmp, hop_array *, s->no);
	hop_array **off = HOP_NEWN(&e->tmp, hop_array *, s->no);
	struct setup t, u;
	double eps = gen_eps(s->g), tol = 16 * eps;
	if (retype_graph(e, s->g, HOP_f64, &m)) {
		bad(j, path, "reading it in f64", s->g);
		return 0;
	}
	const hop_graph *g = hop_module_find(m, NULL);
	bool ran = upcast(j, s, g, 0, &t, up), again = upcast(j, s, g, eps, &u, off);
	bool ok = ran && again, same = ok && all_near(g->nout, s->y, t.y, u.y, tol);
	double far = 0;
	if (same)
		ok = all_near(s->no, dy, up, off, tol);
	for (uint32_t i = 0; same && ok && i < s->no; i++)
		for (int64_t k = 0; k < dy[i]->count; k++)
			far += fabs(hop_array_f(dy[i], k) - hop_array_f(up[i], k));
	j->checks++;
	j->astray += ok && !same;
	if (!ok)
		bad(j, path, "jvp against f64", s->g);
	if (ran)
		drop(j, s->no, up);
	if (again)
		drop(j, s->no, off);
	close_setup(j, &t);
	close_setup(j, &u);
	hop_module_free(m, &e->mem);
	return isfinite(far) ? far : 0;
}

static double inner(const hop_array *a, const hop_array *b)
{
	double s = 0;
	for (int64_t i = 0; i < a->count; i++)
		s += hop_array_f(a, i) * hop_array_f(b, i);
	return s;
}

/* <jvp v, w> = <v, vjp w>; where the jvp is known to be off by `far` in all, so may the vjp be. */
static void check_adjoint(judge *j, struct setup *s, hop_array **dy, double far, const char *path)
{
	const hop_graph *g = s->g, *d;
	hop_arena *a = &j->p->env->tmp;
	j->checks++;
	if (hop_ad_vjp(j->p->env, g, s->outs, s->act, &d) || hop_verify(j->p->env, d)) {
		bad(j, path, "vjp", g);
		return;
	}
	hop_array **in = HOP_NEWN(a, hop_array *, d->nparam);
	hop_array **out = HOP_NEWN(a, hop_array *, d->nout);
	uint32_t n = g->nparam, k = 0;
	double left = 0, right = 0, size = 0;
	memcpy(in, s->x, g->nparam * sizeof *in);
	for (uint32_t i = 0; i < g->nout; i++) {
		if (!s->outs[i])
			continue;
		in[n] = hop_interp_new(j->p, s->y[i]->dtype, s->y[i]->rank, s->y[i]->dim);
		fill(j, in[n]);
		double part = inner(dy[k++], in[n++]);
		left += part;
		size += fabs(part);
	}
	j->lines = 0;
	if (hop_interp_graph(j->p, d, s->syms, in, out)) {
		bad(j, path, "running vjp", d);
		return;
	}
	bool same = j->lines == s->lines;
	for (uint32_t i = 0; i < g->nout; i++)
		same &= close_to(out[i], s->y[i], 1e-12);
	k = g->nout;
	for (uint32_t i = 0; i < g->nparam; i++)
		if (s->act[i])
			right += inner(out[k++], s->v[i]);
	bool equal = fabs(left - right) <= rounding(g, 1e-5, 1e-9) * (1 + size) + 4 * far;
	if (gen_eps(g) > 0x1p-23 && isnan(left))               /* beyond its range */
		equal = isnan(right);
	if (!same || !equal)
		bad(j, path, same ? "jvp against vjp" : "values under vjp", d);
	drop(j, d->nparam - g->nparam, in + g->nparam);
	drop(j, d->nout, out);
}

static void check_derivatives(judge *j, const hop_graph *g, const char *path)
{
	hop_arena *a = &j->p->env->tmp;
	hop_mark m = hop_mark_at(a);
	struct setup s;
	hop_array **dy = HOP_NEWN(a, hop_array *, g->nout);
	if (!open_setup(j, &s, g)) {
		bad(j, path, "evaluation", g);
	} else if (s.na && s.no) {
		if (!run_jvp(j, &s, dy)) {
			bad(j, path, "jvp", g);
		} else {
			double far = 0;
			if (!gen_has_f32(g))
				check_differences(j, &s, dy, path);
			else if (gen_eps(g) > 0x1p-23)
				far = check_upcast(j, &s, dy, path);
			check_adjoint(j, &s, dy, far, path);
			drop(j, s.no, dy);
		}
	}
	close_setup(j, &s);
	hop_rewind(a, m);
}

/* ---- batching ---- */

static hop_array *lane_of(judge *j, const hop_array *t, int64_t lane)
{
	hop_array *r = hop_interp_new(j->p, t->dtype, t->rank - 1, t->dim + 1);
	size_t n = (size_t)r->count * hop_dtype_bytes(t->dtype);
	memcpy(r->data, (const char *)t->data + (size_t)lane * n, n);
	return r;
}

/* Batch over the chosen parameters and compare each lane with a run of its own. */
static void check_batch(judge *j, const hop_graph *g, const bool *bin, const char *path)
{
	hop_arena *a = &j->p->env->tmp;
	hop_mark m = hop_mark_at(a);
	const hop_graph *h;
	bool *bo = HOP_NEWN(a, bool, g->nout);
	hop_batch_spec spec = { .size = LANES, .in = bin };
	j->checks++;
	hop_status st = hop_ad_batch(j->p->env, g, &spec, &h, bo);
	if (st == HOP_EREFUSED) {              /* a size made from data cannot have lanes */
		hop_diag_clear(j->p->env);
		hop_rewind(a, m);
		return;
	}
	if (st || hop_verify(j->p->env, h)) {
		bad(j, path, "vmap", g);
		hop_rewind(a, m);
		return;
	}
	int64_t *syms = HOP_NEWN(a, int64_t, g->nsym);
	hop_array **x = HOP_NEWN(a, hop_array *, g->nparam), **xl = HOP_NEWN(a, hop_array *, g->nparam);
	hop_array **y = HOP_NEWN(a, hop_array *, g->nout), **yl = HOP_NEWN(a, hop_array *, g->nout);
	judge_sizes(j, g, syms);
	judge_inputs(j, h, syms, x);
	bool ok = !hop_interp_graph(j->p, h, syms, x, y);
	for (int64_t l = 0; ok && l < LANES; l++) {
		for (uint32_t i = 0; i < g->nparam; i++)
			xl[i] = bin[i] ? lane_of(j, x[i], l) : hop_array_retain(x[i]);
		ok = !hop_interp_graph(j->p, g, syms, xl, yl);
		for (uint32_t k = 0; ok && k < g->nout; k++) {
			hop_array *got = bo[k] ? lane_of(j, y[k], l) : hop_array_retain(y[k]);
			/* a result of local size is padded to the largest lane */
			if (got->count == yl[k]->count)
				ok &= close_to(got, yl[k], 1e-9);
			else
				ok &= got->count > yl[k]->count;
			hop_interp_release(j->p, got);
		}
		drop(j, g->nparam, xl);
		drop(j, g->nout, yl);
	}
	if (!ok)
		bad(j, path, "vmap against a loop", h);
	drop(j, g->nparam, x);
	drop(j, g->nout, y);
	hop_rewind(a, m);
}

/* ---- another way to run ---- */

void judge_other(judge *j, const hop_graph *g, const char *path)
{
	hop_arena *a = &j->p->env->tmp;
	hop_mark m = hop_mark_at(a);
	struct setup s;
	hop_array **y = HOP_NEWN(a, hop_array *, g->nout);
	bool ran = open_setup(j, &s, g) && !j->other(j->p, g, s.syms, s.x, y), ok = ran;
	double tol = rounding(g, 2e-5, j->tol ? j->tol : 1e-9);
	j->checks++;
	for (uint32_t k = 0; ok && k < g->nout; k++)
		ok &= close_to(y[k], s.y[k], tol);
	if (ran && !ok && unsteady(j->p, g, s.syms, s.x, s.y, y, tol))
		fprintf(stderr, "%s: %s is unsteady\n", j->what, *path ? path : "f");
	else if (!ok)
		bad(j, path, "native code", g);
	if (ran)
		drop(j, g->nout, y);
	close_setup(j, &s);
	hop_rewind(a, m);
}

/* ---- all of it ---- */

static void deeper(judge *j, hop_status st, const hop_graph *g, int depth, const char *path,
                   const char *step)
{
	char name[256];
	if (st == HOP_EREFUSED && !strcmp(step, "vmap")) {
		hop_diag_clear(j->p->env);
		return;
	}
	if (st) {
		bad(j, path, step, g);
		return;
	}
	snprintf(name, sizeof name, "%s(%s)", step, *path ? path : "f");
	judge_graph(j, g, depth - 1, name);
}

/* JUDGE_EVERY=n: only the first graph of every n of a program, where each takes long to compile. The
 * first of all is the program itself. */
static bool our_turn(judge *j)
{
	const char *every = getenv("JUDGE_EVERY");
	long n = every ? atol(every) : 1;
	return j->graphs++ % (n > 0 ? n : 1) == 0;
}

void judge_graph(judge *j, const hop_graph *g, int depth, const char *path)
{
	hop_arena *a = &j->p->env->tmp;
	hop_mark m = hop_mark_at(a);
	bool *act = HOP_NEWN(a, bool, g->nparam), *outs = HOP_NEWN(a, bool, g->nout);
	bool *bo = HOP_NEWN(a, bool, g->nout), any = false, some = false, local = false;
	const hop_graph *d;
	for (uint32_t i = 0; i < g->nparam; i++)
		any |= act[i] = is_float(g->type[i]);
	for (uint32_t i = 0; i < g->nout; i++) {
		const hop_type *t = hop_graph_out_type(g, i);
		for (int k = 0; k < t->rank; k++)
			local |= (uint32_t)hop_size_nsym(t->dim[k]) > g->nsym;
		some |= outs[i] = is_float(t) && !local;
	}
	if (j->other && our_turn(j))
		judge_other(j, g, path);
	check_derivatives(j, g, path);
	check_batch(j, g, act, path);
	if (g->nparam > 1) {
		bool *one = HOP_NEWN(a, bool, g->nparam);
		one[next(j) % g->nparam] = true;
		check_batch(j, g, one, path);
	}
	if (depth > 0 && any && some) {
		hop_batch_spec spec = { .size = LANES, .in = act };
		hop_status st = hop_ad_vjp(j->p->env, g, outs, act, &d);
		deeper(j, st, d, depth, path, "vjp");
		st = hop_ad_jvp(j->p->env, g, act, outs, &d);
		deeper(j, st, d, depth, path, "jvp");
		st = hop_ad_batch(j->p->env, g, &spec, &d, bo);
		deeper(j, st, d, depth, path, "vmap");
	}
	hop_rewind(a, m);
}
