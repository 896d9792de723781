/* jacobian.c -- Jacobians, Hessians, their products with vectors, and derivatives to be applied
 * later, inside a body. What they are made of is hops/jacobian.c. */
#include "hop/transform.h"
#include "hops/transform.h"
#include "trace/control.h"

/* ---- Jacobians and Hessians ---- */

static void jac_begin(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	hop_jac_opts o = { 0 };
	if (x->opts && !hop_trace_opts(t, x->opts, &o, sizeof o))
		return;
	x->chunk = o.chunk;
	x->results = o.results ? o.results : 1;
	if (x->results < 0)
		hop_trace_fail(t, HOP_EVALUE, "%s: %d results to differentiate", x->op, x->results);
	else
		hop_xform_begin(t, x);
}

typedef hop_status ask_fn(hop_env *e, const hop_jac_ask *a, const hop_graph *g,
                          const hop_graph **out_g);

static void jac_end(hop_trace *t, hop_xform *x, ask_fn *ask)
{
	const hop_graph *g;
	if (!hop_xform_close(t, x))
		return;
	hop_jac_ask a = { .op = x->op, .loc = t->b.loc, .n = (uint32_t)x->results, .nwrt = x->nwrt,
	                  .wrt = x->wrt, .chunk = x->chunk };
	t->b.st = ask(hop_env_of(t), &a, x->g, &g);
	if (!t->b.st && hop_xform_room(t, x, g->nout))
		hop_xform_finish(t, x, g);
}

static void jacrev_end(hop_trace *t, void *arg)
{
	jac_end(t, arg, hop_ask_jacrev);
}

static void jacfwd_end(hop_trace *t, void *arg)
{
	jac_end(t, arg, hop_ask_jacfwd);
}

static void hessian_end(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	if (x->results > 1)
		hop_trace_fail(t, HOP_EVALUE, "hessian: of the first result only, not of %d", x->results);
	else
		jac_end(t, arg, hop_ask_hessian);
}

int hop_at_jacrev_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                     const hop_value *in, int nwrt, const int *wrt, const hop_jac_opts *opts,
                     int cap, hop_value *out)
{
	hop_xform x = { .op = "jacrev", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt, .opts = opts,
	                .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of jacrev", body, user, jac_begin, jacrev_end);
}

int hop_at_jacfwd_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                     const hop_value *in, int nwrt, const int *wrt, const hop_jac_opts *opts,
                     int cap, hop_value *out)
{
	hop_xform x = { .op = "jacfwd", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt, .opts = opts,
	                .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of jacfwd", body, user, jac_begin, jacfwd_end);
}

int hop_at_hessian_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                      const hop_value *in, int nwrt, const int *wrt, const hop_jac_opts *opts,
                      int cap, hop_value *out)
{
	hop_xform x = { .op = "hessian", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt, .opts = opts,
	                .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of hessian", body, user, jac_begin,
	                     hessian_end);
}

/* ---- products of the Hessian with vectors ---- */

static void hvp_begin(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	if (x->nwrt > 0 && !x->tangents)
		hop_trace_fail(t, HOP_EUSE, "%s: no vectors were given", x->op);
	else
		hop_xform_begin(t, x);
}

static void product_end(hop_trace *t, hop_xform *x, bool back)
{
	const hop_graph *g;
	if (!hop_xform_close(t, x))
		return;
	t->b.st = hop_ask_hvp(hop_env_of(t), t->b.loc, back, x->g, x->nwrt, x->wrt, &g);
	if (t->b.st || !hop_xform_room(t, x, g->nout))
		return;
	for (int i = 0; i < x->nwrt; i++)
		if (!hop_xform_along(t, x, i, x->type[x->wrt[i]], "vector", "input", (uint32_t)x->wrt[i]))
			return;
	hop_xform_finish(t, x, g);
}

static void hvp_end(hop_trace *t, void *arg)
{
	product_end(t, arg, false);
}

static void vhp_end(hop_trace *t, void *arg)
{
	product_end(t, arg, true);
}

int hop_at_hvp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                  const hop_value *in, int nwrt, const int *wrt, const hop_value *v, int cap,
                  hop_value *out)
{
	hop_xform x = { .op = "hvp", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt, .tangents = v,
	                .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of hvp", body, user, hvp_begin, hvp_end);
}

int hop_at_vhp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                  const hop_value *in, int nwrt, const int *wrt, const hop_value *v, int cap,
                  hop_value *out)
{
	hop_xform x = { .op = "vhp", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt, .tangents = v,
	                .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of vhp", body, user, hvp_begin, vhp_end);
}

/* ---- derivatives to be applied later ---- */

/* A graph of residuals and tangents, and what its residuals are. It is of the outermost trace, so
 * that one which is used too late is told by its values, and not by lost memory. */
struct hop_linear {
	const hop_graph *g;
	hop_sizes        sargs;
	uint32_t         nres;
	hop_value       *res;          /* [nres + 1] the last: some value of the trace it belongs to */
	int              nwrt;
	const int       *wrt;
	const hop_type **type;         /* [nwrt] */
};

struct linearize {
	hop_xform   x;
	hop_linear *made;
};

static hop_value residual(hop_trace *t, const hop_xform *x, hop_res r, const hop_val *fwd)
{
	return hop_value_new(t, r.kind == HOP_RES_PARAM ? x->operand[r.index]
	                      : fwd[r.kind == HOP_RES_OUT ? r.index : x->g->nout + r.index]);
}

static void linearize_end(hop_trace *t, void *arg)
{
	struct linearize *l = arg;
	hop_xform *x = &l->x;
	hop_arena *a = &t->root->arena;
	const hop_cut *cut;
	if (!hop_xform_close(t, x) || !hop_xform_room(t, x, x->g->nout))
		return;
	bool *outs = HOP_NEWN(&t->arena, bool, x->g->nout);
	for (uint32_t k = 0; k < x->g->nout; k++)
		outs[k] = hop_type_diff(hop_graph_out_type(x->g, k));
	t->b.st = hop_ask_linearize(hop_env_of(t), x->g, outs, x->nwrt, x->wrt, &cut);
	if (t->b.st)
		return;
	hop_val *fwd = HOP_NEWN(&t->arena, hop_val, cut->fwd->nout);
	if (hop_call_here(t, cut->fwd, x->sargs, x->operand, fwd))
		return;
	hop_linear *m = HOP_NEW(a, hop_linear);
	int *wrt = HOP_NEWN(a, int, x->nwrt);
	hop_size *s = HOP_NEWN(a, hop_size, x->sargs.n);
	*m = (hop_linear){ .g = cut->bwd, .nres = cut->nres, .nwrt = x->nwrt, .wrt = wrt,
	                   .sargs = { x->sargs.n, s }, .res = HOP_NEWN(a, hop_value, cut->nres + 1),
	                   .type = HOP_NEWN(a, const hop_type *, x->nwrt) };
	for (int64_t i = 0; i < x->sargs.n; i++)
		s[i] = x->sargs.v[i];
	for (int i = 0; i < x->nwrt; i++) {
		wrt[i] = x->wrt[i];
		m->type[i] = x->type[x->wrt[i]];
	}
	for (uint32_t k = 0; k < cut->nres; k++)
		m->res[k] = residual(t, x, cut->res[k], fwd);
	for (uint32_t k = 0; k < x->g->nout; k++)
		x->out[k] = hop_value_new(t, fwd[k]);
	m->res[cut->nres] = x->g->nout ? x->out[0] : (hop_value){ 0, 0 };
	x->n = t->b.st ? 0 : (int)x->g->nout;
	l->made = t->b.st ? NULL : m;
}

int hop_at_linearize_at(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                        int nin, const hop_value *in, int nwrt, const int *wrt, int cap,
                        hop_value *out, hop_linear **out_lin)
{
	struct linearize l = { .x = { .op = "linearize", .nin = nin, .in = in, .nwrt = nwrt,
	                              .wrt = wrt, .cap = cap, .out = out } };
	if (out_lin)
		*out_lin = NULL;
	int n = hop_xform_run(t, file, line, &l.x, "the body of linearize", body, user,
	                      hop_xform_begin, linearize_end);
	if (out_lin)
		*out_lin = l.made;
	return n;
}

struct apply {
	const hop_linear *lin;
	hop_xform         x;
};

static void apply_linear(hop_trace *t, void *arg)
{
	struct apply *a = arg;
	const hop_linear *l = a->lin;
	hop_xform *x = &a->x;
	if (!l) {
		hop_trace_fail(t, HOP_EUSE, "linear_apply: there is no derivative: hop_linearize_at gives "
		               "one");
		return;
	}
	if (x->nct != l->nwrt || (x->nct && !x->tangents)) {
		hop_trace_fail(t, HOP_EUSE, "linear_apply: %d tangents for %d inputs", x->nct, l->nwrt);
		return;
	}
	if (!hop_xform_room(t, x, l->g->nout))
		return;
	x->operand = HOP_NEWN(&t->arena, hop_val, l->g->nparam);
	for (uint32_t k = 0; k <= l->nres; k++) {
		if (k == l->nres && !l->res[k].trace)
			break;
		hop_val v = hop_value_read(t, l->res[k]);
		if (hop_is_bad(v))
			return;
		if (k < l->nres)
			x->operand[x->nop++] = v;
	}
	for (int i = 0; i < l->nwrt; i++)
		if (!hop_xform_along(t, x, i, l->type[i], "tangent", "input", (uint32_t)l->wrt[i]))
			return;
	x->sargs = l->sargs;
	hop_xform_finish(t, x, l->g);
}

int hop_at_linear_apply(hop_trace *t, const char *file, int line, const hop_linear *lin, int n,
                        const hop_value *tangents, int cap, hop_value *out)
{
	struct apply a = { .lin = lin, .x = { .op = "linear_apply", .nct = n, .tangents = tangents,
	                                      .cap = cap, .out = out } };
	hop_enter(t, "linear_apply", file, line, apply_linear, &a);
	return a.x.n;
}
