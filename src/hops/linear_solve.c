/* linear_solve.c -- linear_solve: x of A x = b, where A is known by what it does. What it means,
 * and its derivatives, which are linear_solves with the same bodies:
 *
 *	A dx = db - dA x        A^T l = dx,  db = l,  dconsts = -(d(A x) / dconsts)^T l
 *
 * A^T x = b, when transposed, is the same with both exchanged; then (A^T x, l) = (x, A l). */
#include "hops/implicit.h"
#include "hops/transpose.h"

#include <string.h>

/* linear_solve b consts {nb transposed sargs matvec solve tsolve} -- x of A x = b, and info */
hop_status hop_infer_linear_solve(hop_infer *f)
{
	const struct hop_attr_linear_solve *a = f->attr;
	HOP_TRY(hop_unknowns_check(f, "matvec", a->matvec, a->sargs, a->nb));
	uint32_t n = (uint32_t)a->nb;
	hop_infer_outs(f, n + 1);
	HOP_TRY(hop_solver_check(f, "solve", a->solve, a->sargs, n, 1, f->out));
	if (a->tsolve)
		HOP_TRY(hop_solver_check(f, "tsolve", a->tsolve, a->sargs, n, 1, NULL));
	return HOP_OK;
}

hop_status hop_eval_linear_solve(hop_interp *p, const hop_node *n, hop_array *const *in,
                                 hop_array **out)
{
	return hop_interp_body(p, n, HOP_ATTR(n, linear_solve)->solve, in, out);
}

void hop_active_linear_solve(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	bool any = false;
	(void)e;
	for (uint32_t i = 0; i < n->nin; i++)
		any |= in[i];
	for (uint32_t k = 0; k + 1 < n->nout; k++)
		out[k] = any;
	out[n->nout - 1] = false;
}

/* The node again. */
static hop_system emit_again(hop_build *b, hop_rule *r)
{
	const struct hop_attr_linear_solve *a = HOP_ATTR(r->n, linear_solve);
	struct hop_attr_linear_solve c = *a;
	uint32_t n = (uint32_t)a->nb;
	c.sargs = hop_rule_sargs(b, r);
	hop_val v = hop_emit_op(b, HOP_OP_linear_solve, &c, r->n->nin, r->in);
	for (uint32_t k = 0; k < r->n->nout; k++)
		r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	return (hop_system){ .matvec = a->matvec, .solve = a->solve, .tsolve = a->tsolve,
	                     .transposed = a->transposed, .sargs = c.sargs, .n = n,
	                     .nk = r->n->nin - n, .konst = r->in + n };
}

static bool any_of(const bool *on, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (on[i])
			return true;
	return false;
}

static void negate(hop_build *b, uint32_t n, const hop_val *x, hop_val *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = b->st ? HOP_BAD : hop_emit(b, neg, x[i]);
}

hop_status hop_jvp_linear_solve(hop_build *b, hop_rule *r)
{
	hop_env *e = b->env;
	hop_system s = emit_again(b, r);
	hop_val *rhs = HOP_NEWN(&e->tmp, hop_val, s.n);
	memcpy(rhs, r->din, s.n * sizeof *rhs);
	if (any_of(r->act + s.n, s.nk)) {
		const hop_graph *g = s.matvec;
		hop_val *d = HOP_NEWN(&e->tmp, hop_val, s.n);
		if (s.transposed) {
			bool *v = HOP_NEWN(&e->tmp, bool, g->nparam);
			memset(v, 1, s.n);
			HOP_TRY(hop_graph_transpose(e, g, v, &g));
		}
		HOP_TRY(b->st);
		HOP_TRY(hop_along_consts(b, g, s.sargs, s.n, r->out, s.nk, s.konst, r->act + s.n,
		                         r->din + s.n, d));
		negate(b, s.n, d, d);
		for (uint32_t i = 0; i < s.n; i++)
			rhs[i] = hop_emit_acc(b, rhs[i], d[i]);
	}
	return b->st ? b->st : hop_system_solve(b, &s, rhs, r->out, r->dout);
}

hop_status hop_fwd_linear_solve(hop_build *b, hop_rule *r)
{
	hop_system *s = HOP_NEW(&b->arena, hop_system);
	*s = emit_again(b, r);
	r->save = s;
	return b->st;
}

hop_status hop_bwd_linear_solve(hop_build *b, hop_rule *r)
{
	hop_system s = *(const hop_system *)r->save, turned;
	uint32_t n = s.n;
	s.konst = r->in + n;
	turned = hop_system_turned(&s);
	hop_val *l = HOP_NEWN(&b->env->tmp, hop_val, n), *ct = HOP_NEWN(&b->env->tmp, hop_val, n);
	HOP_TRY(hop_system_solve(b, &turned, r->dout, r->out, l));
	for (uint32_t i = 0; i < n; i++)
		if (r->act[i])
			r->din[i] = l[i];
	if (!any_of(r->act + n, s.nk))
		return HOP_OK;
	negate(b, n, s.transposed ? r->out : l, ct);
	HOP_TRY(b->st);
	return hop_back_to_consts(b, s.matvec, s.sargs, n, s.transposed ? l : r->out, s.nk, s.konst,
	                          r->act + n, ct, r->din + n);
}
