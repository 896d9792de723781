/* fold_hop.c -- operators with bodies whose course is known: a cond decided, a scan of no
 * steps or of as many as counted, a while that does not start. */
#include "opt/fold.h"

#include <string.h>

#include "ad/ad.h"
#include "ir/rule.h"

hop_status hop_fold_cond(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                         hop_val *out)
{
	const struct hop_attr_cond *a = attr;
	const void *p = hop_fold_splat(w, in[0]);
	if (!p && a->then != a->else_)
		return hop_rw_keep(w, n, in, attr, out);
	const hop_graph *body = !p || *(const uint8_t *)p ? a->then : a->else_;
	for (uint32_t k = 0; k < n->nout; k++)       /* effects are not emitted twice */
		if (hop_type_subst(w->env, hop_graph_out_type(body, k), a->sargs.v,
		                   (int)a->sargs.n) != hop_rw_type(w, n, k))
			return hop_rw_keep(w, n, in, attr, out);
	if (p && hop_rw_inline(w, body, a->sargs, in + 1, out))
		return w->b.st;
	return hop_emit_call(&w->b, body, a->sargs, in + 1, out);
}

/* The count says nothing: it is the number of trips that the length is made of, or a
 * constant that is large enough. */
static bool counts_all(hop_rw *w, const struct hop_attr_scan *a, hop_val count)
{
	const void *c = hop_fold_splat(w, count);
	if (c && hop_size_const(a->length))
		return *(const int64_t *)c >= a->length.k;
	const hop_node *l = hop_rw_def(w, count, HOP_OP_while);
	if (l && HOP_ATTR(l, while)->sym >= 0 &&
	    count.id == l->out0.id + (uint32_t)HOP_ATTR(l, while)->ncarry)
		return hop_size_eq(a->length,
		                   hop_size_sym(w->env, (int)HOP_ATTR(l, while)->sym));
	const hop_node *s = hop_rw_def(w, count, HOP_OP_size_of);
	return s && hop_size_eq(HOP_ATTR(s, size_of)->size, a->length);
}

hop_status hop_fold_scan(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                         hop_val *out)
{
	struct hop_attr_scan *a = attr;
	uint32_t lead = a->counted ? 1 : 0, nc = (uint32_t)a->ncarry, k;
	const void *c = lead ? hop_fold_splat(w, in[0]) : NULL;
	if (hop_size_is(a->length, 0) || (c && *(const int64_t *)c <= 0)) {
		for (k = 0; k < nc; k++)
			out[k] = in[lead + k];
		for (; k < n->nout; k++)
			out[k] = hop_emit_zeros(&w->b, hop_rw_type(w, n, k));
		return w->b.st;
	}
	if (!a->counted || !counts_all(w, a, in[0]))
		return hop_rw_keep(w, n, in, attr, out);
	a->counted = false;
	hop_node plain = *n;
	plain.nin--;
	return hop_rw_keep(w, &plain, in + 1, attr, out);
}

/* Whether the test is known to fail on the initial values. A test that may not end is not
 * tried. */
static bool never(hop_rw *w, const hop_node *n, const hop_val *in,
                  const struct hop_attr_while *a)
{
	hop_env *e = w->env;
	if (hop_ad_needs_mask(a->test) || !hop_build_accepts(&w->b, a->test, a->sargs))
		return false;
	bool *used = HOP_NEWN(&e->tmp, bool, n->nin), go = true;
	const hop_data **val = HOP_NEWN(&e->tmp, const hop_data *, n->nin);
	int64_t *syms = HOP_NEWN(&e->tmp, int64_t, a->sargs.n);
	hop_rw_needs(e, a->test, NULL, used);
	for (uint32_t i = 0; i < n->nin; i++)
		if (used[i] && !(val[i] = hop_fold_data(w, in[i])))
			return false;
	for (int64_t i = 0; i < a->sargs.n; i++) {
		if (!hop_size_const(a->sargs.v[i]))
			return false;
		syms[i] = a->sargs.v[i].k;
	}
	for (uint32_t i = 0; i < a->test->nnode; i++)
		if (hop_optab[a->test->node[i].op].flags & HOP_F_R)
			return false;
	return a->test->nnode <= HOP_FOLD_MAX && hop_fold_test(w, a->test, syms, val, &go) && !go;
}

hop_status hop_fold_while(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                          hop_val *out)
{
	const struct hop_attr_while *a = attr;
	uint32_t nc = (uint32_t)a->ncarry;
	if (a->sym >= 0 || !never(w, n, in, a))
		return hop_rw_keep(w, n, in, attr, out);
	memcpy(out, in, nc * sizeof *out);
	for (uint32_t k = nc; k < n->nout; k++)      /* trips, and tapes of max_trips entries */
		out[k] = hop_emit_zeros(&w->b, hop_rw_type(w, n, k));
	return w->b.st;
}
