/* jacobian.c -- derivatives in whole: Jacobians, Hessians and their products with vectors, made of
 * the two modes and batching. Rows of the identity are the directions; in chunks they are made where
 * they are used. Knows no op. */
#include "hops/transform.h"

#include <string.h>

#include "hops/body.h"
#include "hops/scan_group.h"

/* ---- all directions at once ---- */

/* A graph with one more parameter than g, a direction, and more results, which are linear in it. */
struct rows {
	hop_env         *e;
	hop_build       *b;            /* where the result is made */
	const hop_graph *g, *joint;
	const bool      *outs;         /* forward: whose tangents; wrt: of which input */
	int              wrt;
	const hop_val   *in;           /* [g->nparam] */
	int64_t          chunk;
	hop_size         n;            /* elements of the direction */
	const hop_type  *type;         /* of the direction */
};

/* The direction that is 1 in element i, an i64 scalar, and 0 elsewhere. */
static hop_val one_hot(hop_build *b, hop_val i, hop_size n, const hop_type *type)
{
	hop_val k = hop_emit_iota(b, HOP_i64, 1, &n, 0);
	hop_val hot = b->st ? HOP_BAD : hop_emit(b, eq, k, hop_emit_lead(b, i, n));
	hot = hop_emit_cast(b, hot, (hop_dtype)type->dtype);
	return b->st ? HOP_BAD : hop_emit_reshape(b, hot, type->rank, type->dim);
}

/* Rows of the identity, each of the direction's shape. */
static hop_val identity(hop_build *b, hop_size n, const hop_type *type)
{
	hop_size nn[2] = { n, n }, d[HOP_MAXRANK + 1] = { n };
	hop_val i = hop_emit_iota(b, HOP_i64, 2, nn, 0), k = hop_emit_iota(b, HOP_i64, 2, nn, 1);
	if (b->st)
		return HOP_BAD;
	hop_val eye = hop_emit_cast(b, hop_emit(b, eq, i, k), (hop_dtype)type->dtype);
	for (int a = 0; a < type->rank; a++)
		d[a + 1] = type->dim[a];
	return hop_emit_reshape(b, eye, type->rank + 1, d);
}

/* The direction of a scalar is 1: nothing is batched. */
static hop_status one_row(const struct rows *r, hop_val *out)
{
	hop_val *in = HOP_NEWN(&r->e->tmp, hop_val, r->joint->nparam);
	memcpy(in, r->in, r->g->nparam * sizeof *in);
	in[r->g->nparam] = hop_emit_const_f(r->b, (hop_dtype)r->type->dtype, 1);
	HOP_TRY(hop_emit_inline(r->b, r->joint, hop_own_sizes(r->e, r->g->nsym).v, in, out));
	for (uint32_t k = r->g->nout; k < r->joint->nout; k++)
		out[k] = hop_emit_lead(r->b, out[k], hop_size_int(1));
	return r->b->st;
}

static hop_status all_rows(const struct rows *r, hop_val *out)
{
	const hop_graph *j = r->joint, *h;
	hop_env *e = r->e;
	bool *bat = HOP_NEWN(&e->tmp, bool, j->nparam), *force = HOP_NEWN(&e->tmp, bool, j->nout);
	bool *got = HOP_NEWN(&e->tmp, bool, j->nout);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam);
	hop_size *s = HOP_NEWN(&e->tmp, hop_size, r->g->nsym + 1);
	bat[r->g->nparam] = true;
	for (uint32_t k = r->g->nout; k < j->nout; k++)
		force[k] = true;
	hop_batch_spec spec = { .size = hop_size_const(r->n) ? r->n.k : -1, .in = bat, .force = force };
	HOP_TRY(hop_ad_batch(e, j, &spec, &h, got));
	memcpy(in, r->in, r->g->nparam * sizeof *in);
	in[r->g->nparam] = identity(r->b, r->n, r->type);
	for (uint32_t i = 0; i < r->g->nsym; i++)
		s[i] = hop_size_sym(e, (int)i);
	s[r->g->nsym] = r->n;
	return r->b->st ? r->b->st : hop_emit_inline(r->b, h, s, in, out);
}

/* The half of the joint graph that is linear in the direction, of its number: a step of a map. */
static hop_status step_body(const struct rows *r, const hop_cut *cut, hop_graph **out_g)
{
	const hop_graph *g = cut->bwd;
	hop_build b;
	hop_val *in = HOP_NEWN(&r->e->tmp, hop_val, g->nparam);
	hop_val *out = HOP_NEWN(&r->e->tmp, hop_val, g->nout);
	hop_body_open(&b, r->e, g);
	hop_val i = hop_build_param(&b, hop_type_scalar(r->e, HOP_i64));
	for (uint32_t k = 0; k < cut->nres; k++)
		in[k] = hop_build_param(&b, g->type[k]);
	in[cut->nres] = one_hot(&b, i, r->n, r->type);
	if (!b.st)
		hop_body_inline(&b, g, in, out);
	return hop_seal(&b, g->nout, out, NULL, out_g);
}

/* What does not depend on the direction runs once, the rest `chunk` directions at a time. */
static hop_status chunked_rows(const struct rows *r, hop_val *out)
{
	const hop_graph *g = r->g;
	hop_env *e = r->e;
	const hop_cut *cut;
	hop_graph *body;
	HOP_TRY(r->outs ? hop_ask_linearize(e, g, r->outs, 1, &r->wrt, &cut)
	        : hop_ad_cut(e, r->joint, g->nparam, g->nout, NULL, NULL, HOP_CUT_MIN, 1, &cut));
	HOP_TRY(step_body(r, cut, &body));
	hop_sizes own = hop_own_sizes(e, g->nsym);
	hop_val *fwd = HOP_NEWN(&e->tmp, hop_val, cut->fwd->nout);
	hop_val *konst = HOP_NEWN(&e->tmp, hop_val, cut->nres);
	HOP_TRY(hop_emit_inline(r->b, cut->fwd, own.v, r->in, fwd));
	memcpy(out, fwd, g->nout * sizeof *out);
	for (uint32_t k = 0; k < cut->nres; k++) {
		hop_res x = cut->res[k];
		konst[k] = x.kind == HOP_RES_PARAM ? r->in[x.index]
		         : fwd[x.kind == HOP_RES_OUT ? x.index : g->nout + x.index];
	}
	hop_val i = hop_emit_iota(r->b, HOP_i64, 1, &r->n, 0);
	if (r->b->st)
		return r->b->st;
	hop_scan_args s = { .body = body, .sargs = own, .nx = 1, .nconst = cut->nres, .length = r->n,
	                    .unordered = true, .count = HOP_ZERO, .x = &i, .konst = konst };
	return hop_emit_scan_group(r->b, &s, r->chunk, out + g->nout);
}

/* out: the results of g, then those of the joint graph with the directions in front. */
static hop_status emit_rows(struct rows *r, hop_val *out)
{
	r->n = hop_type_count(r->e, r->type);
	if (!r->type->rank)
		return one_row(r, out);
	return r->chunk ? chunked_rows(r, out) : all_rows(r, out);
}

/* ---- Jacobians ---- */

static hop_status differentiable(hop_env *e, const hop_jac_ask *a, const hop_graph *g)
{
	if (a->chunk < 0)
		return hop_fail(e, a->loc, HOP_EVALUE, "%s: a chunk of %lld: it is how many rows are "
		                "computed at a time, 0 is all of them", a->op, (long long)a->chunk);
	if (!a->n || a->from + a->n > g->nout)
		return hop_fail(e, a->loc, HOP_EVALUE, "%s: %u results to differentiate, the function has "
		                "%u", a->op, a->n, g->nout - a->from);
	for (uint32_t k = a->from; k < a->from + a->n; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		hop_buf s;
		if (hop_type_diff(t)) {
			for (int i = 0; i < a->nwrt; i++)
				if (t->rank + g->type[a->wrt[i]]->rank > HOP_MAXRANK || t->rank == HOP_MAXRANK)
					return hop_fail(e, a->loc, HOP_ESHAPE, "%s: result %u has %d axes and input %d "
					                "has %d: together they have more than %d", a->op, k, t->rank,
					                a->wrt[i], g->type[a->wrt[i]]->rank, HOP_MAXRANK);
			continue;
		}
		hop_buf_open(&s, e);
		hop_type_print(&s, t, g->symname, (int)(g->nsym + g->nlocal));
		hop_status st = hop_fail(e, a->loc, HOP_ENODIFF, "%s: result %u is %s: only float results "
		                         "have derivatives", a->op, k, s.s);
		hop_buf_free(&s);
		return st;
	}
	return HOP_OK;
}

/* Sizes of the result, then of the input. */
static hop_val shaped(hop_build *b, hop_val v, const hop_type *y, const hop_type *x)
{
	hop_size d[HOP_MAXRANK];
	for (int i = 0; i < y->rank; i++)
		d[i] = y->dim[i];
	for (int i = 0; i < x->rank; i++)
		d[y->rank + i] = x->dim[i];
	return b->st ? HOP_BAD : hop_emit_reshape(b, v, y->rank + x->rank, d);
}

/* The leading axis last. */
static hop_val lead_last(hop_build *b, hop_val v)
{
	int64_t perm[HOP_MAXRANK];
	if (b->st)
		return HOP_BAD;
	int rank = hop_typeof(b, v)->rank;
	for (int i = 0; i < rank; i++)
		perm[i] = (i + 1) % rank;
	return hop_emit_permute(b, v, perm);
}

/* The parameters of g, in a new graph. */
static hop_val *open_like(hop_build *b, hop_env *e, const hop_graph *g)
{
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_build_open(b, e);
	hop_build_syms_of(b, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(b, g->type[i]);
	return in;
}

/* st after what was emitted so far; the graph is given up, or sealed. */
static hop_status seal(hop_build *b, hop_status st, const hop_graph *g, uint32_t n,
                       const hop_val *out, const hop_graph **out_g)
{
	hop_graph *made = NULL;
	if (!b->st)
		b->st = st;
	st = hop_seal(b, n, out, g->name, &made);
	*out_g = made;
	return st;
}

hop_status hop_ask_jacrev(hop_env *e, const hop_jac_ask *a, const hop_graph *g,
                          const hop_graph **out_g)
{
	hop_build b;
	uint32_t nw = (uint32_t)a->nwrt, n = g->nout;
	HOP_TRY(differentiable(e, a, g));
	HOP_TRY(hop_marks_drop(e, g, &g));
	bool *w = hop_ask_flags(e, g->nparam, a->nwrt, a->wrt), *ct = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, g->nout + nw);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout + a->n * nw);
	hop_val *in = open_like(&b, e, g);
	hop_status st = HOP_OK;
	for (uint32_t k = a->from; k < a->from + a->n && !st; k++) {
		struct rows r = { .e = e, .b = &b, .g = g, .in = in, .chunk = a->chunk,
		                  .type = hop_graph_out_type(g, k) };
		ct[k] = true;
		st = hop_ad_vjp(e, g, ct, w, &r.joint);
		ct[k] = false;
		if (!st)
			st = emit_rows(&r, res);
		if (k == a->from)
			memcpy(out, res, g->nout * sizeof *out);
		for (int i = 0; i < a->nwrt && !st; i++)
			out[n++] = shaped(&b, res[g->nout + hop_ask_place(w, a->wrt[i])], r.type,
			                  g->type[a->wrt[i]]);
	}
	return seal(&b, st, g, n, out, out_g);
}

hop_status hop_ask_jacfwd(hop_env *e, const hop_jac_ask *a, const hop_graph *g,
                          const hop_graph **out_g)
{
	hop_build b;
	uint32_t nw = (uint32_t)a->nwrt;
	HOP_TRY(differentiable(e, a, g));
	HOP_TRY(hop_marks_drop(e, g, &g));
	bool *act = HOP_NEWN(&e->tmp, bool, g->nparam), *outs = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, g->nout + a->n);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout + a->n * nw);
	hop_val *in = open_like(&b, e, g);
	hop_status st = HOP_OK;
	memset(outs + a->from, 1, a->n);
	if (!nw)
		st = hop_emit_inline(&b, g, hop_own_sizes(e, g->nsym).v, in, out);
	for (uint32_t i = 0; i < nw && !st; i++) {
		struct rows r = { .e = e, .b = &b, .g = g, .in = in, .chunk = a->chunk, .outs = outs,
		                  .wrt = a->wrt[i], .type = g->type[a->wrt[i]] };
		act[a->wrt[i]] = true;
		st = hop_ad_jvp(e, g, act, outs, &r.joint);
		act[a->wrt[i]] = false;
		if (!st)
			st = emit_rows(&r, res);
		if (!i)
			memcpy(out, res, g->nout * sizeof *out);
		for (uint32_t k = 0; k < a->n && !st; k++)
			out[g->nout + k * nw + i] = shaped(&b, lead_last(&b, res[g->nout + k]),
			                                   hop_graph_out_type(g, a->from + k), r.type);
	}
	return seal(&b, st, g, g->nout + a->n * nw, out, out_g);
}

hop_status hop_ask_hessian(hop_env *e, const hop_jac_ask *a, const hop_graph *g,
                           const hop_graph **out_g)
{
	const hop_graph *j;
	hop_jac_ask second = *a;
	HOP_TRY(hop_ask_jacrev(e, a, g, &j));
	second.from = g->nout;
	second.n = (uint32_t)a->nwrt;
	if (!a->nwrt) {
		*out_g = j;
		return HOP_OK;
	}
	return hop_ask_jacfwd(e, &second, j, out_g);
}

/* ---- products of the Hessian with vectors ---- */

hop_status hop_ask_hvp(hop_env *e, hop_loc loc, bool back, const hop_graph *g, int nwrt,
                       const int *wrt, const hop_graph **out_g)
{
	const hop_graph *q, *j;
	hop_build b;
	HOP_TRY(hop_marks_drop(e, g, &g));
	HOP_TRY(hop_ask_grad(e, loc, g, nwrt, wrt, &q));
	bool *w = hop_ask_flags(e, g->nparam, nwrt, wrt), *grads = HOP_NEWN(&e->tmp, bool, q->nout);
	memset(grads + g->nout, 1, (size_t)nwrt);
	HOP_TRY(back ? hop_ad_vjp(e, q, grads, w, &j) : hop_ad_jvp(e, q, w, grads, &j));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, j->nout), *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	memcpy(in, open_like(&b, e, g), g->nparam * sizeof *in);
	for (int i = 0; i < nwrt; i++)         /* cotangents are those of the gradients, in order */
		in[g->nparam + (back ? (uint32_t)i : hop_ask_place(w, wrt[i]))] =
			hop_build_param(&b, g->type[wrt[i]]);
	hop_status st = hop_emit_inline(&b, j, hop_own_sizes(e, g->nsym).v, in, res);
	memcpy(out, res, j->nout * sizeof *out);
	for (int i = 0; back && i < nwrt; i++)
		out[q->nout + (uint32_t)i] = res[q->nout + hop_ask_place(w, wrt[i])];
	return seal(&b, st, g, j->nout, out, out_g);
}
