/* fold_hop.c -- operators with bodies whose course is known by their roles: a branch decided,
 * a loop of no steps or of as many as counted, one that does not start. Knows no operator. */
#include "opt/fold.h"

#include <string.h>

#include "ad/ad.h"
#include "ir/rule.h"

/* The branch taken, if it is known, or if there is nothing to choose. */
static const hop_graph *branch(hop_rw *w, const hop_form *f, const hop_val *in, bool *sure)
{
	const void *p = hop_fold_splat(w, in[0]);
	*sure = p != NULL;
	if (p && f->r.in.pred.n)
		return f->body[*(const uint8_t *)p ? 0 : 1];
	if (p) {
		int64_t k = *(const int64_t *)p, last = f->nbody - 1;
		return f->body[k < 0 ? 0 : k < last ? k : last];
	}
	for (int j = 1; j < f->nbody; j++)
		if (f->body[j] != f->body[0])
			return NULL;
	return f->body[0];
}

static hop_status fold_branch(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                              const hop_form *f, hop_val *out)
{
	bool sure;
	const hop_graph *body = branch(w, f, in, &sure);
	if (!body)
		return hop_rw_keep(w, n, in, attr, out);
	for (uint32_t k = 0; k < n->nout; k++)       /* effects are not emitted twice */
		if (hop_type_subst(w->env, hop_graph_out_type(body, k), f->sargs.v,
		                   (int)f->sargs.n) != hop_rw_type(w, n, k))
			return hop_rw_keep(w, n, in, attr, out);
	if (sure && hop_rw_inline(w, body, f->sargs, in + 1, out))
		return w->b.st;
	return hop_emit_call(&w->b, body, f->sargs, in + 1, out);
}

/* No step runs: carries are as they came, all else is zero. */
static hop_status no_steps(hop_rw *w, const hop_node *n, const hop_val *in, const hop_form *f,
                           hop_val *out)
{
	hop_span c = f->r.out.carry;
	for (uint32_t k = 0; k < n->nout; k++) {
		bool carry = k >= c.at && k < c.at + c.n;
		out[k] = carry ? in[f->r.in.carry.at + k - c.at]
		               : hop_emit_zeros(&w->b, hop_rw_type(w, n, k));
	}
	return w->b.st;
}

/* The count says nothing: it is the number of steps that another loop ran and the length is
 * made of, or a constant that is large enough. */
static bool counts_all(hop_rw *w, hop_size length, hop_val count)
{
	const void *c = hop_fold_splat(w, count);
	if (c && hop_size_const(length))
		return *(const int64_t *)c >= length.k;
	uint32_t d = w->b.def[count.id];
	const hop_node *l = d == UINT32_MAX ? NULL : &w->b.node[d];
	if (l && hop_optab[l->op].flags & HOP_F_R && hop_node_binds(l) >= 0) {
		hop_roles r;
		hop_node_roles(l, &r);
		return r.out.steps.n && count.id == l->out0.id + r.out.steps.at &&
		       hop_size_eq(length, hop_size_sym(w->env, (int)hop_node_binds(l)));
	}
	const hop_node *s = hop_rw_def(w, count, HOP_OP_size_of);
	return s && hop_size_eq(HOP_ATTR(s, size_of)->size, length);
}

static hop_status fold_steps(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                             const hop_form *f, hop_val *out)
{
	const void *c = f->lead ? hop_fold_splat(w, in[0]) : NULL;
	if (hop_size_is(*f->length, 0) || (c && *(const int64_t *)c <= 0))
		return no_steps(w, n, in, f, out);
	if (!f->lead || !counts_all(w, *f->length, in[0]))
		return hop_rw_keep(w, n, in, attr, out);
	hop_sig_count(n->op, attr, HOP_R_count, 0);
	hop_node plain = *n;
	plain.nin--;
	return hop_rw_keep(w, &plain, in + 1, attr, out);
}

/* Whether the test is known to fail on the initial values. A test that may not end is not
 * tried. */
static bool never(hop_rw *w, const hop_node *n, const hop_val *in, const hop_form *f,
                  const hop_graph *test)
{
	hop_env *e = w->env;
	if (hop_ad_needs_mask(test) || !hop_build_accepts(&w->b, test, f->sargs))
		return false;
	bool *used = HOP_NEWN(&e->tmp, bool, n->nin), go = true;
	const hop_data **val = HOP_NEWN(&e->tmp, const hop_data *, n->nin);
	int64_t *syms = HOP_NEWN(&e->tmp, int64_t, f->sargs.n);
	hop_rw_needs(e, test, NULL, used);
	for (uint32_t i = 0; i < n->nin; i++)
		if (used[i] && !(val[i] = hop_fold_data(w, in[i])))
			return false;
	for (int64_t i = 0; i < f->sargs.n; i++) {
		if (!hop_size_const(f->sargs.v[i]))
			return false;
		syms[i] = f->sargs.v[i].k;
	}
	for (uint32_t i = 0; i < test->nnode; i++)
		if (hop_optab[test->node[i].op].flags & HOP_F_R)
			return false;
	return test->nnode <= HOP_FOLD_MAX && hop_fold_test(w, test, syms, val, &go) && !go;
}

/* The body that says whether there is a step to run, or NULL. */
static const hop_graph *test_of(const hop_node *n, void *attr, const hop_form *f)
{
	hop_node now = { .op = n->op, .nin = n->nin, .nout = n->nout, .attr = attr };
	for (int j = 0; j < f->nbody; j++) {
		hop_roles b;
		hop_body_roles(&now, j, &b);
		if (b.out.go.n)
			return f->body[j];
	}
	return NULL;
}

hop_status hop_fold_bodies(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                           hop_val *out)
{
	hop_form f;
	if (!hop_form_read(n, attr, &f))
		return hop_rw_keep(w, n, in, attr, out);
	if (f.r.in.pred.n || f.r.in.index.n)
		return fold_branch(w, n, in, attr, &f, out);
	if (f.length)
		return fold_steps(w, n, in, attr, &f, out);
	const hop_graph *test = test_of(n, attr, &f);
	if (test && hop_node_binds(n) < 0 && never(w, n, in, &f, test))
		return no_steps(w, n, in, &f, out);
	return hop_rw_keep(w, n, in, attr, out);
}
