/* body.c -- checks of bodies against operands, with messages that name which. */
#include "hops/body.h"

#include <string.h>

const hop_type *hop_body_type(hop_env *e, const hop_type *t, hop_sizes sargs)
{
	return hop_type_subst(e, t, sargs.v, (int)sargs.n);
}

hop_status hop_types_agree(hop_infer *f, const hop_type *a, const hop_type *b,
                           const char *what, uint32_t index, const char *left,
                           const char *right)
{
	if (a == b)
		return HOP_OK;
	bool same = a->dtype == b->dtype && a->rank == b->rank;
	for (int i = 0; same && i < a->rank; i++)
		same = hop_build_holds(f->b, HOP_EQ, a->dim[i], b->dim[i]) != HOP_NEVER;
	for (int i = 0; same && i < a->rank; i++)
		if (!hop_infer_holds(f, HOP_EQ, a->dim[i], b->dim[i]))
			HOP_TRY(hop_infer_equal(f, a->dim[i], b->dim[i],
			                        hop_infer_text(f, "axis %d of %s %u has size {0} in %s, "
			                                       "{1} in %s", i, what, index, left,
			                                       right)));
	if (same)
		return HOP_OK;
	hop_buf x, y;
	hop_build *bd = f->b;
	int n = (int)(bd->nsym + bd->nlocal);
	hop_buf_open(&x, f->env);
	hop_buf_open(&y, f->env);
	hop_type_print(&x, a, bd->symname, n);
	hop_type_print(&y, b, bd->symname, n);
	hop_status st = hop_infer_fail(f, HOP_ETYPE, "%s: %s %u is %s in %s, but %s in %s",
	                               hop_optab[f->op].name, what, index, x.s, left, y.s, right);
	hop_buf_free(&y);
	hop_buf_free(&x);
	return st;
}

hop_status hop_body_sargs(hop_infer *f, const char *which, const hop_graph *body,
                          hop_sizes sargs)
{
	const char *op = hop_optab[f->op].name;
	if (!body)
		return hop_infer_fail(f, HOP_ETYPE, "%s: %s is missing", op, which);
	if (sargs.n != body->nsym)
		return hop_infer_fail(f, HOP_ETYPE, "%s: %s takes %u size arguments, got %lld", op,
		                      which, body->nsym, (long long)sargs.n);
	for (int64_t i = 0; i < sargs.n; i++) {
		if ((uint32_t)hop_size_nsym(sargs.v[i]) > f->b->nsym + f->b->nlocal)
			return hop_infer_fail(f, HOP_ETYPE, "%s: size argument %lld uses an unknown symbol",
			                      op, (long long)i);
		if (hop_size_bad(sargs.v[i]))
			return hop_infer_fail(f, HOP_ESHAPE, "%s: size argument %lld is too large to "
			                      "compute", op, (long long)i);
	}
	return HOP_OK;
}

hop_status hop_body_takes(hop_infer *f, const char *which, const hop_graph *body,
                          hop_sizes sargs, uint32_t nin, const hop_type *const *in)
{
	HOP_TRY(hop_body_sargs(f, which, body, sargs));
	if (body->nparam != nin)
		return hop_infer_fail(f, HOP_ETYPE, "%s: %s takes %u operands, got %u",
		                      hop_optab[f->op].name, which, body->nparam, nin);
	for (uint32_t i = 0; i < nin; i++)
		HOP_TRY(hop_types_agree(f, in[i], hop_body_type(f->env, body->type[i], sargs),
		                        "operand", i, "the call", which));
	return HOP_OK;
}

hop_status hop_body_gives(hop_infer *f, const char *which, const hop_graph *body,
                          hop_sizes sargs, uint32_t k, const hop_type **out_t)
{
	const hop_type *t = hop_graph_out_type(body, k);
	for (int i = 0; i < t->rank; i++)
		if ((uint32_t)hop_size_nsym(t->dim[i]) > body->nsym)
			return hop_infer_fail(f, HOP_ESHAPE,
			                      "%s: dimension %d of result %u of %s is a size that only the "
			                      "body knows: return the capacity and a count",
			                      hop_optab[f->op].name, i, k, which);
	*out_t = hop_body_type(f->env, t, sargs);
	return HOP_OK;
}

hop_sizes hop_rule_sargs(hop_build *b, const hop_rule *r)
{
	hop_sizes s = hop_node_sargs(r->n);
	hop_size *v = HOP_NEWN(&b->arena, hop_size, s.n + 1);     /* room for a batch size */
	for (int64_t i = 0; i < s.n; i++)
		v[i] = hop_size_subst(b->env, s.v[i], r->smap, r->nsmap);
	return (hop_sizes){ s.n, v };
}

void *hop_rule_attr(hop_build *b, hop_rule *r)
{
	const hop_node *n = r->n;
	void *attr = hop_attr_copy(b->env, &b->arena, n->op, n->attr, r->smap, r->nsmap);
	int64_t *sym = attr ? hop_attr_sym(n->op, attr) : NULL;
	if (sym && *sym >= 0) {
		int64_t old = *sym;
		*sym = hop_build_local(b, r->g->range[old], NULL);
		r->smap[old] = hop_size_sym(b->env, (int)*sym);
	}
	return attr;
}

void hop_body_open(hop_build *b, hop_env *e, const hop_graph *g)
{
	hop_build_open(b, e);
	hop_build_syms_of(b, g);
}

void hop_body_open_wide(hop_build *b, hop_env *e, const hop_graph *g)
{
	hop_build_open(b, e);
	for (uint32_t i = 0; i < g->nsym; i++)
		hop_build_sym(b, (hop_range){ 0, HOP_SIZE_MAX }, g->symname[i]);
}

hop_sizes hop_own_sizes(hop_env *e, uint32_t n)
{
	hop_size *s = HOP_NEWN(&e->tmp, hop_size, n);
	for (uint32_t i = 0; i < n; i++)
		s[i] = hop_size_sym(e, (int)i);
	return (hop_sizes){ n, s };
}

hop_status hop_body_inline(hop_build *b, const hop_graph *g, const hop_val *in, hop_val *out)
{
	hop_mark m = hop_mark_at(&b->env->tmp);
	hop_status st = hop_emit_inline(b, g, hop_own_sizes(b->env, g->nsym).v, in, out);
	hop_rewind(&b->env->tmp, m);
	return st;
}

static size_t row_bytes(const hop_array *x)
{
	int64_t n = 1;
	for (int i = 1; i < x->rank; i++)
		n *= x->dim[i];
	return (size_t)n * hop_dtype_bytes(x->dtype);
}

hop_array *hop_tensor_row(hop_interp *p, const hop_array *x, int64_t t)
{
	size_t n = row_bytes(x);
	hop_array *r = hop_interp_new(p, x->dtype, x->rank - 1, x->dim + 1);
	memcpy(r->data, (const char *)x->data + (size_t)t * n, n);
	return r;
}

void hop_tensor_put_row(hop_array *y, int64_t t, const hop_array *row)
{
	size_t n = row_bytes(y);
	memcpy((char *)y->data + (size_t)t * n, row->data, n);
}

hop_array *hop_tensor_i64(hop_interp *p, int64_t v)
{
	hop_array *t = hop_interp_new(p, HOP_i64, 0, NULL);
	*(int64_t *)t->data = v;
	return t;
}
