/* common.c -- cells that many rows share: no derivative, zero derivative, linear ops,
 * batching of elementwise ops. Says nothing about any one op, except that the linear
 * rule knows the two linear ops of two operands. */
#include "ops/ops.h"

/* ---- helpers for infer ---- */

const char *hop_dim_text(int axis)
{
	static const char *const text[HOP_MAXRANK] = {
		"dimension 0", "dimension 1", "dimension 2", "dimension 3",
		"dimension 4", "dimension 5", "dimension 6", "dimension 7",
		"dimension 8", "dimension 9", "dimension 10", "dimension 11",
		"dimension 12", "dimension 13", "dimension 14", "dimension 15",
	};
	HOP_ASSERT(axis >= 0 && axis < HOP_MAXRANK);
	return text[axis];
}

hop_status hop_infer_shapes(hop_infer *f, uint32_t i, const char *where_i,
                            uint32_t j, const char *where_j)
{
	const hop_type *a = f->in[i], *b = f->in[j];
	if (a->rank != b->rank)
		return hop_infer_fail(f, HOP_ESHAPE,
		                      "%s: rank %d %s, %d %s: broadcast one of them",
		                      hop_opname(f), a->rank, where_i, b->rank, where_j);
	for (int k = 0; k < a->rank; k++) {
		hop_size m = a->dim[k], n = b->dim[k];
		if (!hop_infer_holds(f, HOP_EQ, m, n))
			HOP_TRY(hop_infer_equal(f, m, n, hop_infer_text(f, "dimension %d is {0} %s, {1} "
			                        "%s", k, where_i, where_j)));
	}
	return HOP_OK;
}

/* Is s a possible size of the graph being built? */
static hop_status check_size(hop_infer *f, hop_size s, const char *what)
{
	int nsym = (int)(f->b->nsym + f->b->nlocal);
	if (hop_size_bad(s))
		return hop_infer_fail(f, HOP_ESHAPE, "%s: %s is too large to compute",
		                      hop_opname(f), what);
	if (hop_size_nsym(s) > nsym)
		return hop_infer_fail(f, HOP_ESHAPE, "%s: %s uses size symbol %d of %d",
		                      hop_opname(f), what, hop_size_nsym(s) - 1, nsym);
	hop_range r = hop_size_range(s, f->b->range, nsym);
	if (r.hi < 0)
		return hop_infer_fail(f, HOP_ESHAPE, "%s: %s is negative (at most %lld)",
		                      hop_opname(f), what, (long long)r.hi);
	if (hop_size_const(s) && s.k > HOP_SIZE_MAX)
		return hop_infer_fail(f, HOP_ESHAPE, "%s: %s is %lld, larger than any size",
		                      hop_opname(f), what, (long long)s.k);
	return HOP_OK;
}

hop_status hop_infer_dims(hop_infer *f, hop_dtype d, const hop_type *head, hop_sizes dims,
                          const hop_type **out)
{
	hop_size all[HOP_MAXRANK];
	int64_t lead = head ? head->rank : 0;
	if (dims.n < 0 || dims.n > HOP_MAXRANK - lead)
		return hop_infer_fail(f, HOP_ESHAPE, "%s: rank %lld, the largest is %d",
		                      hop_opname(f), (long long)(lead + dims.n), HOP_MAXRANK);
	for (int64_t i = 0; i < lead; i++)
		all[i] = head->dim[i];
	for (int64_t i = 0; i < dims.n; i++) {
		HOP_TRY(check_size(f, dims.v[i], hop_dim_text((int)(lead + i))));
		all[lead + i] = dims.v[i];
	}
	const hop_type *t = hop_type_get(f->env, d, (int)(lead + dims.n), all);
	hop_size n = hop_type_count(f->env, t);
	if (hop_size_const(n) && (n.k < 0 || n.k > HOP_SIZE_MAX))
		return hop_infer_fail(f, HOP_ESHAPE, "%s: too many elements to count",
		                      hop_opname(f));
	*out = t;
	return HOP_OK;
}

/* ---- zero, none, todo ---- */

/* The tangent is zero: leave the HOP_ZERO that is there. */
hop_status hop_jvp_zero(hop_build *b, hop_rule *r)
{
	(void)b, (void)r;
	return HOP_OK;
}

hop_status hop_vjp_zero(hop_build *b, hop_rule *r)
{
	(void)b, (void)r;
	return HOP_OK;
}

static hop_status no_derivative(hop_build *b, const hop_rule *r)
{
	return hop_fail(b->env, r->n->loc, HOP_ENODIFF, "%s: no derivative exists",
	                hop_optab[r->n->op].name);
}

hop_status hop_jvp_none(hop_build *b, hop_rule *r)
{
	return no_derivative(b, r);
}

hop_status hop_vjp_none(hop_build *b, hop_rule *r)
{
	return no_derivative(b, r);
}

static hop_status unwritten(hop_build *b, const hop_rule *r, const char *column)
{
	return hop_fail(b->env, r->n->loc, HOP_EREFUSED, "%s: its %s rule is not written yet",
	                hop_optab[r->n->op].name, column);
}

hop_status hop_jvp_todo(hop_build *b, hop_rule *r)
{
	return unwritten(b, r, "jvp");
}

hop_status hop_vjp_todo(hop_build *b, hop_rule *r)
{
	return unwritten(b, r, "vjp");
}

hop_status hop_batch_todo(hop_build *b, hop_rule *r)
{
	return unwritten(b, r, "batch");
}

/* ---- linear ops ---- */

/* d f(x, y) = f(dx, dy). A symbolic zero stays one where the op allows it; only an op
 * that needs every operand (concat) gets real zeros. */
hop_status hop_jvp_linear(hop_build *b, hop_rule *r)
{
	const hop_node *n = r->n;
	const hop_val *d = r->din;
	if (n->op == HOP_OP_add) {
		r->dout[0] = hop_emit_acc(b, d[0], d[1]);
		return HOP_OK;
	}
	if (n->op == HOP_OP_sub && (hop_is_zero(d[0]) || hop_is_zero(d[1]))) {
		r->dout[0] = hop_is_zero(d[1]) ? d[0] : hop_emit(b, neg, d[1]);
		return HOP_OK;
	}
	hop_mark m = hop_mark_at(&b->env->tmp);
	hop_val *solid = HOP_NEWN(&b->env->tmp, hop_val, n->nin);
	for (uint32_t i = 0; i < n->nin; i++)
		solid[i] = hop_is_zero(d[i]) ?
		           hop_emit_zeros(b, hop_typeof(b, r->in[i])) : d[i];
	r->dout[0] = hop_emit_copy(b, r->g, n, solid, r->smap, r->nsmap);
	hop_rewind(&b->env->tmp, m);
	return HOP_OK;
}

/* ---- batching ---- */

/* Elementwise: every operand gets the batch axis, since shapes must be identical. */
hop_status hop_batch_points(hop_build *b, hop_rule *r)
{
	enum { MOST = 3 };
	hop_val in[MOST];
	HOP_ASSERT(r->n->nin <= MOST && r->n->nout == 1);
	for (uint32_t i = 0; i < r->n->nin; i++)
		in[i] = r->bin[i] ? r->in[i] : hop_emit_lead(b, r->in[i], r->bsize);
	r->out[0] = hop_emit_copy(b, r->g, r->n, in, r->smap, r->nsmap);
	r->bout[0] = true;
	return HOP_OK;
}

/* No operands: the same in every lane. */
hop_status hop_batch_leaf(hop_build *b, hop_rule *r)
{
	HOP_ASSERT(r->n->nin == 0 && r->n->nout == 1);
	r->out[0] = hop_emit_copy(b, r->g, r->n, NULL, r->smap, r->nsmap);
	r->bout[0] = false;
	return HOP_OK;
}
