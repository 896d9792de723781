/* assoc.c -- associative_scan: all prefixes of its xs under a combine; reduce: the last of them.
 * What they mean; derivatives are in assoc_ad.c, batching in assoc_batch.c. */
#include "ad/ad.h"
#include "hops/body.h"

#include <string.h>

static bool read_attr(int op, const void *attr, uint32_t nin, hop_assoc *a)
{
	hop_roles r;
	if (op == HOP_OP_reduce) {
		const struct hop_attr_reduce *x = attr;
		*a = (hop_assoc){ .combine = x->combine, .sargs = x->sargs, .length = x->length,
		                  .whole = true };
	} else {
		const struct hop_attr_associative_scan *x = attr;
		*a = (hop_assoc){ .combine = x->combine, .sargs = x->sargs, .length = x->length,
		                  .reverse = x->reverse, .exclusive = x->exclusive };
	}
	if (!a->combine || !hop_sig_read(op, attr, nin, a->combine->nout, &r))
		return false;
	a->ninit = r.in.init.n;
	a->nx = r.in.x.n;
	a->nk = r.in.same.n;
	return true;
}

hop_assoc hop_assoc_of(const hop_node *n)
{
	hop_assoc a;
	bool ok = read_attr(n->op, n->attr, n->nin, &a);
	HOP_ASSERT(ok);
	return a;
}

/* The attributes ask for more than there is: of what? */
static hop_status too_many(hop_infer *f, const hop_graph *combine)
{
	const struct hop_attr_associative_scan *s = f->op == HOP_OP_reduce ? NULL : f->attr;
	const char *op = hop_optab[f->op].name;
	int64_t nx = s ? s->nx : ((const struct hop_attr_reduce *)f->attr)->nx;
	int64_t ninit = s ? s->ninit : nx;
	if (nx < 0 || ninit < 0 || nx > (int64_t)f->nin || nx + ninit > (int64_t)f->nin)
		return hop_infer_fail(f, HOP_EVALUE, "%s: %lld inits and %lld xs of %u operands", op,
		                      (long long)ninit, (long long)nx, f->nin);
	return hop_infer_fail(f, HOP_ETYPE, "%s: combine gives %u results, but there are %lld "
	                      "leaves", op, combine->nout, (long long)nx);
}

/* The effect of g that comes first. */
static const char *effect_of(const hop_graph *g)
{
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		hop_graphs sub = hop_node_subs(n);
		if (hop_optab[n->op].flags & HOP_F_X)
			return hop_optab[n->op].name;
		for (int64_t j = 0; j < sub.n; j++)
			if (sub.v[j] && sub.v[j]->holds & HOP_HOLDS_EFFECT)
				return effect_of(sub.v[j]);
	}
	return "an effect";
}

static hop_status check_counts(hop_infer *f, hop_assoc *a)
{
	const char *op = hop_optab[f->op].name;
	bool ok = read_attr(f->op, f->attr, f->nin, a);
	if (!a->combine)
		return hop_infer_fail(f, HOP_ETYPE, "%s: combine is missing", op);
	if (!ok)
		return too_many(f, a->combine);
	if (!a->nx)
		return hop_infer_fail(f, HOP_EVALUE, "%s: there are no xs: give at least one", op);
	if (a->ninit && a->ninit != a->nx)
		return hop_infer_fail(f, HOP_EVALUE, "%s: %u inits for %u xs: give one for each, or "
		                      "none", op, a->ninit, a->nx);
	if (a->exclusive && !a->ninit)
		return hop_infer_fail(f, HOP_EREFUSED, "%s: an exclusive scan begins with init: give "
		                      "one for each xs", op);
	if (a->combine->holds & HOP_HOLDS_EFFECT)
		return hop_infer_fail(f, HOP_EREFUSED, "%s: combine has an effect (%s), but in which "
		                      "order it runs is not said: move it out, or use scan", op,
		                      effect_of(a->combine));
	if (hop_size_nsym(a->length) > (int)(f->b->nsym + f->b->nlocal))
		return hop_infer_fail(f, HOP_ESHAPE, "%s: length uses an unknown symbol", op);
	return hop_infer_le(f, hop_size_int(0), a->length, "length is {1}");
}

/* The types of the leaves: slices of the xs. */
static hop_status leaves(hop_infer *f, const hop_assoc *a, const hop_type **t)
{
	for (uint32_t k = 0; k < a->nx; k++) {
		const hop_type *x = f->in[a->ninit + k];
		if (!x->rank)
			return hop_infer_fail(f, HOP_ESHAPE, "%s: xs %u is a scalar: it has no axis to "
			                      "scan over", hop_optab[f->op].name, k);
		if (!hop_infer_holds(f, HOP_EQ, x->dim[0], a->length))
			HOP_TRY(hop_infer_equal(f, x->dim[0], a->length,
			                        hop_infer_text(f, "xs %u has {0} slices, the length is "
			                                       "{1}", k)));
		t[k] = hop_type_drop(f->env, x);
		if (a->ninit)
			HOP_TRY(hop_types_agree(f, t[k], f->in[k], "leaf", k, "a slice of xs", "init"));
	}
	return HOP_OK;
}

static hop_status check_combine(hop_infer *f, const hop_assoc *a, const hop_type *const *t)
{
	const hop_graph *g = a->combine;
	HOP_TRY(hop_body_sargs(f, "combine", g, a->sargs));
	if (g->nparam != 2 * a->nx + a->nk)
		return hop_infer_fail(f, HOP_ETYPE, "%s: combine takes %u operands, needs %u: left "
		                      "and right of %u leaves, then %u operands as they are",
		                      hop_optab[f->op].name, g->nparam, 2 * a->nx + a->nk, a->nx,
		                      a->nk);
	for (uint32_t i = 0; i < g->nparam; i++) {
		bool leaf = i < 2 * a->nx;
		uint32_t k = leaf ? i % a->nx : i - 2 * a->nx;
		HOP_TRY(hop_types_agree(f, leaf ? t[k] : f->in[a->ninit + a->nx + k],
		                        hop_body_type(f->env, g->type[i], a->sargs),
		                        leaf ? "leaf" : "operand", k,
		                        leaf ? "a slice of xs" : "the call",
		                        !leaf ? "combine" : i < a->nx ? "combine, on the left"
		                                                      : "combine, on the right"));
	}
	for (uint32_t k = 0; k < a->nx; k++) {
		const hop_type *y;
		HOP_TRY(hop_body_gives(f, "combine", g, a->sargs, k, &y));
		HOP_TRY(hop_types_agree(f, t[k], y, "leaf", k, "a slice of xs",
		                        "the results of combine"));
	}
	return HOP_OK;
}

/* associative_scan inits xs consts -- all prefixes of xs under an associative combine
 * Begins with the inits if there are any, and without what it stands at if it is exclusive.
 * reduce inits xs consts -- inits and all slices of xs under an associative combine */
hop_status hop_infer_assoc(hop_infer *f)
{
	hop_assoc a;
	HOP_TRY(check_counts(f, &a));
	const hop_type **t = HOP_NEWN(&f->b->arena, const hop_type *, a.nx);
	HOP_TRY(leaves(f, &a, t));
	HOP_TRY(check_combine(f, &a, t));
	hop_infer_outs(f, a.nx);
	for (uint32_t k = 0; k < a.nx; k++)
		f->out[k] = a.whole ? t[k] : hop_type_prepend(f->env, t[k], a.length);
	return HOP_OK;
}

/* One step of the fold: left becomes left o slice t of the xs. */
static hop_status step(hop_interp *p, const hop_node *n, const hop_assoc *a,
                       hop_array *const *x, int64_t t, hop_array **val)
{
	hop_array **res = HOP_NEWN(&p->env->tmp, hop_array *, a->nx);
	for (uint32_t k = 0; k < a->nx; k++)
		val[a->nx + k] = hop_tensor_row(p, x[k], t);
	if (!val[0]) {
		memcpy(val, val + a->nx, a->nx * sizeof *val);
		return HOP_OK;
	}
	hop_interp_trip(p, t);
	HOP_TRY(hop_interp_body(p, n, a->combine, val, res));
	for (uint32_t k = 0; k < 2 * a->nx; k++)
		hop_interp_release(p, val[k]);
	memcpy(val, res, a->nx * sizeof *val);
	return HOP_OK;
}

hop_status hop_eval_assoc(hop_interp *p, const hop_node *n, hop_array *const *in,
                          hop_array **out)
{
	hop_assoc a = hop_assoc_of(n);
	hop_array *const *x = in + a.ninit;
	hop_array **val = HOP_NEWN(&p->env->tmp, hop_array *, a.combine->nparam);
	int64_t len = hop_interp_size(p, a.length);
	for (uint32_t k = 0; k < a.ninit; k++)
		val[k] = hop_array_retain(in[k]);
	memcpy(val + 2 * a.nx, x + a.nx, a.nk * sizeof *val);
	for (uint32_t k = 0; k < a.nx && !a.whole; k++)
		out[k] = hop_interp_of(p, p->g->type[n->out0.id + k]);
	for (int64_t i = 0; i < len; i++) {
		int64_t t = a.reverse ? len - 1 - i : i;
		hop_mark m = hop_mark_at(&p->env->tmp);
		if (!a.exclusive)
			HOP_TRY(step(p, n, &a, x, t, val));
		for (uint32_t k = 0; k < a.nx && !a.whole; k++)
			hop_tensor_put_row(out[k], t, val[k]);
		if (a.exclusive && i + 1 < len)
			HOP_TRY(step(p, n, &a, x, t, val));
		hop_rewind(&p->env->tmp, m);
	}
	for (uint32_t k = 0; k < a.nx && val[k]; k++)
		if (a.whole)
			out[k] = val[k];
		else
			hop_interp_release(p, val[k]);
	return HOP_OK;
}
