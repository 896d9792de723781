/* root.c -- root: x where a function of x and of consts is zero. What it means, and its
 * derivatives, by the implicit function theorem: with J = df/dx and K = df/dconsts at x,
 *
 *	J dx = -K dconsts        J^T l = dx,  dconsts = -K^T l
 *
 * as a linear_solve, which differentiates itself. Where the search started does not matter. */
#include "hops/implicit.h"

#include <string.h>

/* root x0 consts {nx sargs f solve tangent cotangent} -- x where f is zero, and info */
hop_status hop_infer_root(hop_infer *f)
{
	const struct hop_attr_root *a = f->attr;
	HOP_TRY(hop_unknowns_check(f, "f", a->f, a->sargs, a->nx));
	uint32_t n = (uint32_t)a->nx;
	hop_infer_outs(f, n + 1);
	HOP_TRY(hop_solver_check(f, "solve", a->solve, a->sargs, n, 1, f->out));
	HOP_TRY(hop_solver_check(f, "tangent", a->tangent, a->sargs, n, 2, NULL));
	if (a->cotangent)
		HOP_TRY(hop_solver_check(f, "cotangent", a->cotangent, a->sargs, n, 2, NULL));
	return HOP_OK;
}

hop_status hop_eval_root(hop_interp *p, const hop_node *n, hop_array *const *in,
                         hop_array **out)
{
	return hop_interp_body(p, n, HOP_ATTR(n, root)->solve, in, out);
}

void hop_active_root(hop_env *e, const hop_node *n, const bool *in, bool *out)
{
	bool any = false;
	(void)e;
	for (uint32_t i = (uint32_t)HOP_ATTR(n, root)->nx; i < n->nin; i++)
		any |= in[i];
	for (uint32_t k = 0; k + 1 < n->nout; k++)
		out[k] = any;
	out[n->nout - 1] = false;
}

/* v, x, consts -> (df/dx) v, of f at x. */
static hop_status matvec(hop_env *e, const hop_graph *f, uint32_t n, const hop_graph **out_g)
{
	const hop_graph *j;
	hop_graph *made;
	hop_build b;
	HOP_TRY(hop_ad_pure(e, f, &f));
	bool *act = HOP_NEWN(&e->tmp, bool, f->nparam), *outs = HOP_NEWN(&e->tmp, bool, f->nout);
	memset(act, 1, n);
	memset(outs, 1, f->nout);
	HOP_TRY(hop_ad_jvp(e, f, act, outs, &j));
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	hop_body_open(&b, e, f);
	for (uint32_t i = 0; i < n; i++)
		in[f->nparam + i] = hop_build_param(&b, f->type[i]);
	for (uint32_t i = 0; i < f->nparam; i++)
		in[i] = hop_build_param(&b, f->type[i]);
	hop_body_inline(&b, j, in, out);
	HOP_TRY(hop_seal(&b, n, out + n, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* The node again, and the equations of its tangents: their consts are x and the node's. */
static hop_status emit_again(hop_build *b, hop_rule *r, hop_system *s)
{
	struct hop_attr_root a = *HOP_ATTR(r->n, root);
	uint32_t n = (uint32_t)a.nx;
	hop_val *konst = HOP_NEWN(&b->arena, hop_val, r->n->nin);
	a.sargs = hop_rule_sargs(b, r);
	hop_val v = hop_emit_op(b, HOP_OP_root, &a, r->n->nin, r->in);
	for (uint32_t k = 0; k < r->n->nout; k++)
		r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	*s = (hop_system){ .solve = a.tangent, .tsolve = a.cotangent, .sargs = a.sargs, .n = n,
	                   .nk = r->n->nin, .konst = konst };
	memcpy(konst, r->out, n * sizeof *konst);
	if (r->n->nin > n)
		memcpy(konst + n, r->in + n, (r->n->nin - n) * sizeof *konst);
	HOP_TRY(b->st);
	return matvec(b->env, a.f, n, &s->matvec);
}

hop_status hop_jvp_root(hop_build *b, hop_rule *r)
{
	const hop_graph *f = HOP_ATTR(r->n, root)->f;
	hop_system s;
	HOP_TRY(emit_again(b, r, &s));
	uint32_t n = s.n, nk = r->n->nin - n;
	bool any = false;
	hop_val *rhs = HOP_NEWN(&b->env->tmp, hop_val, n);
	for (uint32_t i = n; i < r->n->nin; i++)
		any |= r->act[i];
	if (!any)                            /* only the start depends on anything */
		return HOP_OK;
	HOP_TRY(hop_along_consts(b, f, s.sargs, n, r->out, nk, r->in + n, r->act + n, r->din + n,
	                         rhs));
	for (uint32_t i = 0; i < n && !b->st; i++)
		rhs[i] = hop_emit(b, neg, rhs[i]);
	HOP_TRY(b->st);
	return hop_system_solve(b, &s, rhs, r->out, r->dout);
}

hop_status hop_fwd_root(hop_build *b, hop_rule *r)
{
	hop_system *s = HOP_NEW(&b->arena, hop_system);
	r->save = s;
	return emit_again(b, r, s);
}

hop_status hop_bwd_root(hop_build *b, hop_rule *r)
{
	const hop_system *s = r->save;
	hop_system turned = hop_system_turned(s);
	uint32_t n = s->n, nk = r->n->nin - n;
	hop_val *l = HOP_NEWN(&b->env->tmp, hop_val, n);
	HOP_TRY(hop_system_solve(b, &turned, r->dout, r->out, l));
	for (uint32_t i = 0; i < n && !b->st; i++)
		l[i] = hop_emit(b, neg, l[i]);
	HOP_TRY(b->st);
	return hop_back_to_consts(b, HOP_ATTR(r->n, root)->f, s->sargs, n, r->out, nk, r->in + n,
	                          r->act + n, l, r->din + n);
}
