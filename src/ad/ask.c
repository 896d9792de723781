/* ask.c -- derivatives as callers ask for them: of inputs in a list, in the order of the list.
 * For functions, for bodies and for the command alike. */
#include "ad/ad.h"

#include <string.h>

hop_status hop_ask_check(hop_env *e, hop_loc loc, const char *op, int nin,
                         const hop_type *const *type, int nwrt, const int *wrt)
{
	hop_mark m = hop_mark_at(&e->tmp);
	bool *named = HOP_NEWN(&e->tmp, bool, nin);
	hop_status st = HOP_OK;
	if (nwrt < 0 || (nwrt && !wrt))
		st = hop_fail(e, loc, HOP_EVALUE, "%s: %d inputs to differentiate", op, nwrt);
	for (int i = 0; i < nwrt && !st; i++) {
		int k = wrt[i];
		if (k < 0 || k >= nin)
			st = hop_fail(e, loc, HOP_EVALUE, "%s: there is no input %d: there are %d", op, k,
			              nin);
		else if (!hop_type_diff(type[k]))
			st = hop_fail(e, loc, HOP_ENODIFF, "%s: input %d is %s: only float inputs have "
			              "derivatives", op, k, hop_dtype_name((hop_dtype)type[k]->dtype));
		else if (named[k])
			st = hop_fail(e, loc, HOP_EVALUE, "%s: input %d is named twice", op, k);
		else
			named[k] = true;
	}
	hop_rewind(&e->tmp, m);
	return st;
}

bool *hop_ask_flags(hop_env *e, uint32_t n, int nwrt, const int *wrt)
{
	bool *w = HOP_NEWN(&e->tmp, bool, n);
	for (int i = 0; i < nwrt; i++)
		w[wrt[i]] = true;
	return w;
}

uint32_t hop_ask_place(const bool *w, int k)
{
	uint32_t n = 0;
	for (int i = 0; i < k; i++)
		n += w[i];
	return n;
}

/* The first n results that are floats. */
static bool *floats(hop_env *e, const hop_graph *g, uint32_t n)
{
	bool *f = HOP_NEWN(&e->tmp, bool, g->nout);
	for (uint32_t i = 0; i < n; i++)
		f[i] = hop_type_diff(hop_graph_out_type(g, i));
	return f;
}

/* A graph around another: same size parameters, parameters by the caller. */
static void open_around(hop_build *b, hop_env *e, const hop_graph *g, hop_size **out_syms)
{
	hop_build_open(b, e);
	hop_build_syms_of(b, g);
	*out_syms = HOP_NEWN(&e->tmp, hop_size, g->nsym);
	for (uint32_t i = 0; i < g->nsym; i++)
		(*out_syms)[i] = hop_size_sym(e, (int)i);
}

/* Does g itself, and no body of it, say what is saved and how? */
static bool says(const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		if (n->op == HOP_OP_packed || (n->op == HOP_OP_name && HOP_ATTR(n, name)->save))
			return true;
	}
	return false;
}

static hop_val half(hop_build *b, const hop_graph *g, const hop_size *s, const hop_val *in)
{
	struct hop_attr_call a = { .no_inline = true, .sargs = { g->nsym, s }, .body = g };
	return hop_emit_op(b, HOP_OP_call, &a, g->nparam, in);
}

/* The joint graph j of g as two halves, and what is saved between them. */
static hop_status halves(hop_build *b, const hop_graph *g, const hop_graph *j, const hop_size *s,
                         const hop_val *in, hop_val *out)
{
	hop_env *e = b->env;
	const hop_cut *cut;
	HOP_TRY(hop_ad_cut(e, j, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, 1, &cut));
	hop_val *back = HOP_NEWN(&e->tmp, hop_val, cut->bwd->nparam), f = half(b, cut->fwd, s, in);
	for (uint32_t k = 0; k < cut->bwd->nparam && !b->st; k++) {
		hop_res r = k < cut->nres ? cut->res[k] : (hop_res){ HOP_RES_PARAM, 0 };
		back[k] = k >= cut->nres ? in[g->nparam + k - cut->nres]
		        : r.kind == HOP_RES_PARAM ? in[r.index]
		        : (hop_val){ f.id + r.index + (r.kind == HOP_RES_OUT ? 0 : g->nout) };
	}
	hop_val d = b->st ? HOP_BAD : half(b, cut->bwd, s, back);
	for (uint32_t k = 0; k < j->nout && !b->st; k++)
		out[k] = (hop_val){ k < g->nout ? f.id + k : d.id + k - g->nout };
	return b->st;
}

/* The joint graph j of g with its gradients in the order asked for. one: no cotangents are
 * given, that of result 0 is 1. whole: not in halves, whatever g says. */
static hop_status reorder(hop_env *e, const hop_graph *g, const hop_graph *j, const bool *w,
                          int nwrt, const int *wrt, bool one, bool whole, const hop_graph **out_g)
{
	hop_build b;
	hop_size *s;
	hop_graph *made;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, j->nout);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	open_around(&b, e, j, &s);
	for (uint32_t i = 0; i < j->nparam; i++)
		in[i] = one && i >= g->nparam
		        ? hop_emit_const_f(&b, (hop_dtype)hop_graph_out_type(g, 0)->dtype, 1)
		        : hop_build_param(&b, j->type[i]);
	hop_status st = whole || !says(g) ? hop_emit_inline(&b, j, s, in, res)
	                                  : halves(&b, g, j, s, in, res);
	if (st && !b.st)
		b.st = st;
	memcpy(out, res, g->nout * sizeof *out);
	for (int i = 0; i < nwrt; i++)
		out[g->nout + (uint32_t)i] = res[g->nout + hop_ask_place(w, wrt[i])];
	HOP_TRY(hop_seal(&b, g->nout + (uint32_t)nwrt, out, g->name, &made));
	*out_g = made;
	return HOP_OK;
}

static hop_status not_scalar(hop_env *e, hop_loc loc, const hop_graph *g, const hop_type *t)
{
	hop_buf s;
	hop_buf_open(&s, e);
	hop_put(&s, t ? "" : "missing");
	if (t)
		hop_type_print(&s, t, g->symname, (int)(g->nsym + g->nlocal));
	hop_status st = hop_fail(e, loc, HOP_ENODIFF, "grad: the first result is %s, it must be a "
	                         "float scalar: sum it, or use vjp", s.s);
	hop_buf_free(&s);
	return st;
}

hop_status hop_ask_grad(hop_env *e, hop_loc loc, const hop_graph *g, int nwrt, const int *wrt,
                        const hop_graph **out_g)
{
	const hop_type *t = g->nout ? hop_graph_out_type(g, 0) : NULL;
	const hop_graph *j;
	if (!t || t->rank || !hop_type_diff(t))
		return not_scalar(e, loc, g, t);
	bool *w = hop_ask_flags(e, g->nparam, nwrt, wrt), *ct = HOP_NEWN(&e->tmp, bool, g->nout);
	ct[0] = true;
	HOP_TRY(hop_ad_vjp(e, g, ct, w, &j));
	return reorder(e, g, j, w, nwrt, wrt, true, false, out_g);
}

static hop_status vjp(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                      bool whole, const hop_graph **out_g)
{
	const hop_graph *j;
	bool *w = hop_ask_flags(e, g->nparam, nwrt, wrt);
	HOP_TRY(hop_ad_vjp(e, g, floats(e, g, nout), w, &j));
	return reorder(e, g, j, w, nwrt, wrt, false, whole, out_g);
}

hop_status hop_ask_vjp(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                       const hop_graph **out_g)
{
	return vjp(e, g, nout, nwrt, wrt, false, out_g);
}

hop_status hop_ask_joint(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                         const hop_graph **out_g)
{
	return vjp(e, g, nout, nwrt, wrt, true, out_g);
}

hop_status hop_ask_jvp(hop_env *e, const hop_graph *g, uint32_t nout, int nwrt, const int *wrt,
                       const hop_graph **out_g)
{
	const hop_graph *j;
	hop_build b;
	hop_size *s;
	hop_graph *made;
	bool *w = hop_ask_flags(e, g->nparam, nwrt, wrt);
	HOP_TRY(hop_ad_jvp(e, g, w, floats(e, g, nout), &j));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	open_around(&b, e, j, &s);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, j->type[i]);
	for (int i = 0; i < nwrt; i++)
		in[g->nparam + hop_ask_place(w, wrt[i])] = hop_build_param(&b, g->type[wrt[i]]);
	hop_emit_inline(&b, j, s, in, out);
	HOP_TRY(hop_seal(&b, j->nout, out, g->name, &made));
	*out_g = made;
	return HOP_OK;
}
