/* transform.c -- derivatives and batching inside a body: capture, close, transform, call.
 * What the body captures are constants to this transform, and live to those around it.
 * Transforms of whole functions are in src/driver. */
#include "ad/ad.h"
#include "hops/transform.h"
#include "hops/transpose.h"
#include "trace/control.h"

#include <string.h>

void hop_xform_begin(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	if (x->nin < 0 || (x->nin && !x->in) || x->cap < 0 || (x->cap && !x->out) ||
	    x->nwrt < 0 || (x->nwrt && !x->wrt)) {
		hop_trace_fail(t, HOP_EUSE, "%s: a count is negative or a list is missing", x->op);
		return;
	}
	x->val = HOP_NEWN(&t->arena, hop_val, x->nin);
	x->type = HOP_NEWN(&t->arena, const hop_type *, x->nin);
	for (int i = 0; i < x->nin; i++) {
		x->val[i] = hop_value_read(t, x->in[i]);
		if (hop_is_bad(x->val[i]))
			return;
		x->type[i] = hop_typeof(&t->b, x->val[i]);
	}
	t->b.st = hop_ask_check(hop_env_of(t), t->b.loc, x->op, x->nin, x->type, x->nwrt, x->wrt);
}

bool hop_xform_close(hop_trace *t, hop_xform *x)
{
	hop_trace *b = x->body;
	hop_join j;
	hop_outs o = { b, b->nret, b->out };
	if (!hop_join_open(&j, t, 1, &o, 0, NULL) || !hop_join_pure(&j, x->op))
		return false;
	uint32_t n = (uint32_t)x->nin, np = n + j.nk;
	const hop_type **ty = HOP_NEWN(&t->arena, const hop_type *, np);
	uint32_t *param = HOP_NEWN(&t->arena, uint32_t, n);
	x->operand = HOP_NEWN(&t->arena, hop_val, 2 * np + b->nret);
	for (uint32_t i = 0; i < np; i++) {
		ty[i] = i < n ? x->type[i] : j.ktype[i - n];
		x->operand[i] = i < n ? x->val[i] : j.kval[i - n];
		if (i < n)
			param[i] = i;
	}
	hop_join_syms(&j, np, ty);
	hop_layout l = { .nparam = np, .type = ty, .param = param, .k0 = n };
	if (hop_join_seal(&j, 0, &l, b->nret, b->out, NULL, &x->g))
		return false;
	x->sargs = hop_join_sargs(&j);
	x->nop = np;
	return true;
}

bool hop_xform_room(hop_trace *t, const hop_xform *x, uint32_t n)
{
	if (n <= (uint32_t)x->cap)
		return true;
	hop_trace_fail(t, HOP_EUSE, "%s: gives %u results, there is room for %d", x->op, n,
	               x->cap);
	return false;
}

void hop_xform_finish(hop_trace *t, hop_xform *x, const hop_graph *g)
{
	hop_val *res = HOP_NEWN(&t->arena, hop_val, g->nout);
	if (t->b.st || hop_call_here(t, g, x->sargs, x->operand, res))
		return;
	for (uint32_t i = 0; i < g->nout; i++)
		x->out[i] = hop_value_new(t, res[i]);
	x->n = t->b.st ? 0 : (int)g->nout;
}

/* ---- grad, jvp and vjp ---- */

void hop_grad_end(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	const hop_graph *g;
	if (!hop_xform_close(t, x))
		return;
	const char *const *name;
	uint32_t n;
	t->b.st = hop_ask_grad_marked(hop_env_of(t), t->b.loc, x->g, x->nwrt, x->wrt, &g, &n, &name);
	if (!t->b.st && n && x->block) {
		hop_trace_fail(t, HOP_EREFUSED, "%s: the gradient of %s is asked for by retain_grad, or it is "
		               "told by a hook: a block has no place for it, use hop_grad_at", x->block,
		               name[0]);
		return;
	}
	if (!t->b.st && hop_xform_room(t, x, g->nout))
		hop_xform_finish(t, x, g);
}

bool hop_xform_along(hop_trace *t, hop_xform *x, int i, const hop_type *want, const char *what,
                  const char *of, uint32_t k)
{
	hop_val d = hop_promote_cast(t, x->tangents[i], (hop_dtype)want->dtype);
	if (hop_is_bad(d))
		return false;
	if (hop_typeof(&t->b, d) != want) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: the %s of %s %u is %s, the %s %s", x->op, what, of, k,
		               hop_type_text(t, hop_typeof(&t->b, d)), of, hop_type_text(t, want));
		return false;
	}
	x->operand[x->nop++] = d;
	return true;
}

static void jvp_end(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	const hop_graph *g;
	if (!hop_xform_close(t, x))
		return;
	t->b.st = hop_marks_drop(hop_env_of(t), x->g, &x->g);
	if (!t->b.st)
		t->b.st = hop_ask_jvp(hop_env_of(t), x->g, x->g->nout, x->nwrt, x->wrt, &g);
	if (t->b.st || !hop_xform_room(t, x, g->nout))
		return;
	for (int i = 0; i < x->nwrt; i++) {
		int k = x->wrt[i];
		if (!hop_xform_along(t, x, i, x->type[k], "tangent", "input", (uint32_t)k))
			return;
	}
	hop_xform_finish(t, x, g);
}

/* The type of result k of the body, over the symbols of this trace. */
static const hop_type *result_type(hop_trace *t, const hop_xform *x, uint32_t k)
{
	return hop_type_subst(hop_env_of(t), hop_graph_out_type(x->g, k), x->sargs.v,
	                      (int)x->sargs.n);
}

static void vjp_end(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	const hop_graph *g;
	if (!hop_xform_close(t, x))
		return;
	int nfloat = 0;
	for (uint32_t k = 0; k < x->g->nout; k++)
		nfloat += hop_type_diff(hop_graph_out_type(x->g, k));
	if (nfloat != x->nct) {
		hop_trace_fail(t, HOP_EUSE, "vjp: %d cotangents for %d float results of the body",
		               x->nct, nfloat);
		return;
	}
	t->b.st = hop_marks_drop(hop_env_of(t), x->g, &x->g);
	if (!t->b.st)
		t->b.st = hop_ask_vjp(hop_env_of(t), x->g, x->g->nout, x->nwrt, x->wrt, &g);
	if (t->b.st || !hop_xform_room(t, x, g->nout))
		return;
	for (uint32_t k = 0, i = 0; k < x->g->nout; k++)
		if (hop_type_diff(hop_graph_out_type(x->g, k)) &&
		    !hop_xform_along(t, x, (int)i++, result_type(t, x, k), "cotangent", "result", k))
			return;
	hop_xform_finish(t, x, g);
}

/* The transposed takes cotangents first, then what the body is not transposed in. */
static void transpose_end(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	const hop_graph *g;
	if (!hop_xform_close(t, x))
		return;
	uint32_t np = x->nop, nout = x->g->nout, k = 0;
	hop_val *old = x->operand;
	bool *lin = HOP_NEWN(&t->arena, bool, np);
	if (nout != (uint32_t)x->nct) {
		hop_trace_fail(t, HOP_EUSE, "linear_transpose: %d cotangents for %u results of the body",
		               x->nct, nout);
		return;
	}
	for (int i = 0; i < x->nwrt; i++)
		lin[x->wrt[i]] = true;
	hop_env *e = hop_env_of(t);
	t->b.st = hop_linear_check(e, "linear_transpose", t->b.loc, x->g, lin);
	if (t->b.st || (t->b.st = hop_graph_transpose(e, x->g, lin, &g)) || !hop_xform_room(t, x, g->nout))
		return;
	x->operand = HOP_NEWN(&t->arena, hop_val, np + nout);
	x->nop = 0;
	for (uint32_t i = 0; i < nout; i++)
		if (!hop_xform_along(t, x, (int)i, result_type(t, x, i), "cotangent", "result", i))
			return;
	for (uint32_t i = 0; i < np; i++)
		if (!lin[i])
			x->operand[x->nop++] = old[i];
	hop_val *res = HOP_NEWN(&t->arena, hop_val, g->nout);
	if (t->b.st || hop_call_here(t, g, x->sargs, x->operand, res))
		return;
	for (uint32_t i = 0; i < np; i++)
		for (int w = 0; lin[i] && w < x->nwrt; w++)
			if (x->wrt[w] == (int)i)
				x->out[w] = hop_value_new(t, res[k++]);
	x->n = t->b.st ? 0 : x->nwrt;
}

/* ---- more of the graph ---- */

void hop_xform_size(hop_trace *t, hop_xform *x, hop_size n)
{
	hop_size *more = HOP_NEWN(&t->arena, hop_size, x->sargs.n + 1);
	memcpy(more, x->sargs.v, (size_t)x->sargs.n * sizeof *more);
	more[x->sargs.n] = n;
	x->sargs = (hop_sizes){ x->sargs.n + 1, more };
}

static void jac_end(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	const hop_graph *g;
	if (!hop_xform_close(t, x) || !hop_xform_room(t, x, (uint32_t)x->nwrt))
		return;
	if (x->g->nout != 1 || !hop_type_diff(hop_graph_out_type(x->g, 0))) {
		hop_trace_fail(t, HOP_ENODIFF, "jac: the body must give one float tensor");
		return;
	}
	hop_jac_ask a = { .op = "jac", .loc = t->b.loc, .n = 1, .nwrt = x->nwrt, .wrt = x->wrt };
	if ((t->b.st = hop_ask_jacrev(hop_env_of(t), &a, x->g, &g)))
		return;
	hop_val *res = HOP_NEWN(&t->arena, hop_val, g->nout);
	if (hop_call_here(t, g, x->sargs, x->operand, res))
		return;
	for (int i = 0; i < x->nwrt; i++)
		x->out[i] = hop_value_new(t, res[1 + i]);
	x->n = t->b.st ? 0 : x->nwrt;
}

/* ---- the doors ---- */

int hop_xform_run(hop_trace *t, const char *file, int line, hop_xform *x, const char *what,
                     hop_body *body, void *user, hop_make_fn *first, hop_make_fn *last)
{
	t = hop_here(t);
	if (!hop_enter(t, x->op, file, line, first, x))
		return 0;
	hop_body_args a = { .fn = body, .user = user, .what = what, .n = x->nin,
	                    .type = x->type, .in_grad = x->nwrt && last != jvp_end,
	                    .in_jvp = x->nwrt && last == jvp_end };
	x->body = hop_body_run(t, file, line, &a);
	if (x->body)
		hop_enter(t, NULL, file, line, last, x);
	hop_body_drop(x->body);
	return x->n;
}

int hop_at_grad_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
                const hop_value *in, int nwrt, const int *wrt, int cap, hop_value *out)
{
	hop_xform x = { .op = "grad", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt,
	                   .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of grad", body, user, hop_xform_begin,
	                     hop_grad_end);
}

static void jvp_begin(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	if (x->nwrt > 0 && !x->tangents)
		hop_trace_fail(t, HOP_EUSE, "jvp: no tangents were given");
	else
		hop_xform_begin(t, arg);
}

int hop_at_jvp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
               const hop_value *in, int nwrt, const int *wrt, const hop_value *tangents,
               int cap, hop_value *out)
{
	hop_xform x = { .op = "jvp", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt,
	                   .tangents = tangents, .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of jvp", body, user, jvp_begin, jvp_end);
}

static void vjp_begin(hop_trace *t, void *arg)
{
	hop_xform *x = arg;
	if (x->nct < 0 || (x->nct && !x->tangents))
		hop_trace_fail(t, HOP_EUSE, "%s: no cotangents were given", x->op);
	else
		hop_xform_begin(t, arg);
}

int hop_at_vjp_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
               const hop_value *in, int nwrt, const int *wrt, int nct,
               const hop_value *cotangents, int cap, hop_value *out)
{
	hop_xform x = { .op = "vjp", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt,
	                   .tangents = cotangents, .nct = nct, .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of vjp", body, user, vjp_begin, vjp_end);
}

int hop_at_linear_transpose_at(hop_trace *t, const char *file, int line, hop_body *body, void *user,
                               int nin, const hop_value *in, int nwrt, const int *wrt, int nct,
                               const hop_value *ct, int cap, hop_value *out)
{
	hop_xform x = { .op = "linear_transpose", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt,
	                   .tangents = ct, .nct = nct, .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of linear_transpose", body, user, vjp_begin,
	           transpose_end);
}

int hop_at_jac_at(hop_trace *t, const char *file, int line, hop_body *body, void *user, int nin,
               const hop_value *in, int nwrt, const int *wrt, int cap, hop_value *out)
{
	hop_xform x = { .op = "jac", .nin = nin, .in = in, .nwrt = nwrt, .wrt = wrt,
	                   .cap = cap, .out = out };
	return hop_xform_run(t, file, line, &x, "the body of jac", body, user, hop_xform_begin, jac_end);
}
