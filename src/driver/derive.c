/* derive.c -- derivatives and batching as passes, for the command, with the arguments that it was
 * given: what is not said is all there is. For functions see transform.c. */
#include "driver/pipeline.h"

#include "ad/ad.h"
#include "hops/transform.h"

enum { LANES = 4 };                    /* of vmap, unless it is said */

/* ---- reading arguments ---- */

/* One number, or what it is when it was not given. */
static int64_t number(const hop_pass_args *a, enum hop_pass_key k, int64_t otherwise)
{
	return a->arg[k].given ? a->arg[k].v[0] : otherwise;
}

/* The parameters that are differentiated. */
static hop_status read_wrt(hop_env *e, const hop_graph *g, const hop_pass_args *a, int *out_n,
                           int **out_wrt)
{
	const hop_pass_arg *w = &a->arg[HOP_ARG_WRT];
	int *wrt = HOP_NEWN(&e->tmp, int, (int64_t)g->nparam + w->n), n = 0;
	for (int i = 0; i < w->n; i++) {
		if (w->v[i] > INT32_MAX)
			return hop_fail(e, 0, HOP_EVALUE, "%s: there is no input %lld: there are %u, at character "
			                "%d", a->pass, (long long)w->v[i], g->nparam, w->at);
		wrt[n++] = (int)w->v[i];
	}
	for (uint32_t i = 0; i < g->nparam && !w->given; i++)
		if (hop_type_diff(g->type[i]))
			wrt[n++] = (int)i;
	*out_n = n;
	*out_wrt = wrt;
	if (!hop_ask_check(e, 0, a->pass, (int)g->nparam, g->type, n, wrt))
		return HOP_OK;
	return hop_note(e, 0, "in wrt of %s, at character %d", a->pass, w->at);
}

typedef hop_status ask_fn(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                          const hop_graph **out_g);

static hop_status ask_grad(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                           const hop_graph **out_g)
{
	const char *const *name;
	uint32_t n;
	(void)nout;
	return hop_ask_grad_marked(e, 0, g, nwrt, wrt, out_g, &n, &name);
}

static hop_status by_wrt(hop_env *e, const hop_graph *g, const hop_pass_args *a, ask_fn *ask,
                         const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	int n, *wrt;
	hop_status st = read_wrt(e, g, a, &n, &wrt);
	if (!st && ask != ask_grad)
		st = hop_marks_drop(e, g, &g);
	if (!st)
		st = ask(e, g, g->nout, n, wrt, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

/* ---- derivatives ---- */

static hop_status ask_hvp(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                          const hop_graph **out_g)
{
	(void)nout;
	return hop_ask_hvp(e, 0, false, g, nwrt, wrt, out_g);
}

static hop_status ask_vhp(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                          const hop_graph **out_g)
{
	(void)nout;
	return hop_ask_hvp(e, 0, true, g, nwrt, wrt, out_g);
}

hop_status hop_pass_grad(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                         const hop_graph **out_g)
{
	return by_wrt(e, g, a, ask_grad, out_g);
}

hop_status hop_pass_vjp(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                        const hop_graph **out_g)
{
	return by_wrt(e, g, a, hop_ask_vjp, out_g);
}

hop_status hop_pass_jvp(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                        const hop_graph **out_g)
{
	return by_wrt(e, g, a, hop_ask_jvp, out_g);
}

hop_status hop_pass_hvp(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                        const hop_graph **out_g)
{
	return by_wrt(e, g, a, ask_hvp, out_g);
}

hop_status hop_pass_vhp(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                        const hop_graph **out_g)
{
	return by_wrt(e, g, a, ask_vhp, out_g);
}

typedef hop_status jac_fn(hop_env *e, const hop_jac_ask *q, const hop_graph *g,
                          const hop_graph **out_g);

static hop_status jac(hop_env *e, const hop_graph *g, const hop_pass_args *a, jac_fn *ask,
                      const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	int64_t n = number(a, HOP_ARG_RESULTS, 1);
	hop_jac_ask q = { .op = a->pass, .n = n < 0 || n > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)n,
	                  .chunk = number(a, HOP_ARG_CHUNK, 0) };
	int *wrt;
	hop_status st = read_wrt(e, g, a, &q.nwrt, &wrt);
	q.wrt = wrt;
	if (!st)
		st = ask(e, &q, g, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_pass_jacrev(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                           const hop_graph **out_g)
{
	return jac(e, g, a, hop_ask_jacrev, out_g);
}

hop_status hop_pass_jacfwd(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                           const hop_graph **out_g)
{
	return jac(e, g, a, hop_ask_jacfwd, out_g);
}

hop_status hop_pass_hessian(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                            const hop_graph **out_g)
{
	return jac(e, g, a, hop_ask_hessian, out_g);
}

/* Half 1 takes what was kept, and tangents. */
static hop_status halves(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                         const hop_graph **out_g)
{
	const hop_cut *cut;
	int n, *wrt;
	int64_t half = number(a, HOP_ARG_HALF, 0);
	if (half < 0 || half > 1)
		return hop_fail(e, 0, HOP_EVALUE, "linearize: half is 0 or 1, at character %d",
		                a->arg[HOP_ARG_HALF].at);
	HOP_TRY(read_wrt(e, g, a, &n, &wrt));
	bool *outs = HOP_NEWN(&e->tmp, bool, g->nout);
	for (uint32_t k = 0; k < g->nout; k++)
		outs[k] = hop_type_diff(hop_graph_out_type(g, k));
	HOP_TRY(hop_ask_linearize(e, g, outs, n, wrt, &cut));
	*out_g = half ? cut->bwd : cut->fwd;
	return HOP_OK;
}

hop_status hop_pass_linearize(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                              const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_status st = halves(e, g, a, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

/* ---- batching ---- */

/* An axis for each of n: one for all, or a list. */
static hop_status read_axes(hop_env *e, const hop_pass_args *a, enum hop_pass_key k,
                            const char *what, uint32_t n, int **out)
{
	const hop_pass_arg *x = &a->arg[k];
	*out = HOP_NEWN(&e->tmp, int, n);
	if (x->list && (uint32_t)x->n != n)
		return hop_fail(e, 0, HOP_EVALUE, "%s: axes for %d %ss, the graph has %u, at character %d",
		                a->pass, x->n, what, n, x->at);
	for (uint32_t i = 0; i < n && x->given; i++) {
		int64_t v = x->v[x->list ? i : 0];
		(*out)[i] = v > INT32_MAX ? INT32_MAX : (int)v;
	}
	return HOP_OK;
}

static hop_status batch(hop_env *e, const hop_graph *g, const hop_pass_args *a, int64_t size,
                        const hop_graph **out_g)
{
	hop_vmap_ask q = { .size = size, .chunk = number(a, HOP_ARG_CHUNK, 0) };
	int *in, *out;
	bool any = !g->nparam;
	HOP_TRY(read_axes(e, a, HOP_ARG_AXIS, "parameter", g->nparam, &in));
	HOP_TRY(read_axes(e, a, HOP_ARG_OUT, "result", g->nout, &out));
	for (uint32_t i = 0; i < g->nparam; i++)
		any |= in[i] != HOP_VMAP_NONE;
	if (size > HOP_SIZE_MAX)
		return hop_fail(e, 0, HOP_EVALUE, "%s: %lld lanes, at character %d", a->pass,
		                (long long)size, a->arg[HOP_ARG_N].at);
	if ((size < 0 || q.chunk) && (!any || !g->nparam))
		return hop_fail(e, 0, HOP_EVALUE, "%s: no parameter is batched: nothing says how many lanes "
		                "there are", a->pass);
	q.in = in;
	q.out = out;
	return hop_ask_vmap(e, &q, g, out_g);
}

hop_status hop_pass_vmap(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                         const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	int64_t n = number(a, HOP_ARG_N, LANES);
	hop_status st = batch(e, g, a, n == HOP_ARG_ANY ? -1 : n, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}

hop_status hop_pass_vmap_any(hop_env *e, const hop_graph *g, const hop_pass_args *a,
                             const hop_graph **out_g)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_status st = batch(e, g, a, -1, out_g);
	hop_rewind(&e->tmp, m);
	return st;
}
