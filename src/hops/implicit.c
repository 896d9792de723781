/* implicit.c -- checks of the bodies that root and linear_solve have, and the derivatives of
 * their functions. Solves nothing: that is what the bodies are for. */
#include "hops/implicit.h"

#include <math.h>
#include <string.h>

/* ---- types ---- */

/* i64, with axes that every unknown has in front. */
static hop_status info_check(hop_infer *f, const char *which, const hop_type *t, uint32_t n)
{
	bool ok = t->dtype == HOP_i64;
	for (uint32_t i = 0; ok && i < n; i++) {
		ok = t->rank <= f->in[i]->rank;
		for (int k = 0; ok && k < t->rank; k++)
			ok = hop_size_eq(t->dim[k], f->in[i]->dim[k]);
	}
	if (ok)
		return HOP_OK;
	hop_buf s;
	hop_buf_open(&s, f->env);
	hop_type_print(&s, t, f->b->symname, (int)(f->b->nsym + f->b->nlocal));
	hop_status st = hop_infer_fail(f, HOP_ETYPE, "%s: the info that %s gives is %s, it must be an "
	                               "i64 scalar", hop_optab[f->op].name, which, s.s);
	hop_buf_free(&s);
	return st;
}

/* The first n results of a body are like the unknowns. */
static hop_status like_unknowns(hop_infer *f, const char *which, const hop_graph *g,
                                hop_sizes sargs, uint32_t n, const hop_type **out)
{
	for (uint32_t i = 0; i < n; i++) {
		const hop_type *t;
		HOP_TRY(hop_body_gives(f, which, g, sargs, i, &t));
		HOP_TRY(hop_types_agree(f, f->in[i], t, "value", i, "the operands", which));
		if (out)
			out[i] = f->in[i];
	}
	return HOP_OK;
}

hop_status hop_solver_check(hop_infer *f, const char *which, const hop_graph *g, hop_sizes sargs,
                            uint32_t n, int nlead, const hop_type **out)
{
	uint32_t np = f->nin + (uint32_t)(nlead - 1) * n;
	const hop_type **in = HOP_NEWN(&f->b->arena, const hop_type *, np), *info;
	for (int i = 0; i < nlead; i++)
		memcpy(in + (uint32_t)i * n, f->in, n * sizeof *in);
	memcpy(in + (uint32_t)nlead * n, f->in + n, (f->nin - n) * sizeof *in);
	HOP_TRY(hop_body_takes(f, which, g, sargs, np, in));
	if (g->nout != n + 1)
		return hop_infer_fail(f, HOP_ETYPE, "%s: %s gives %u values, it must give %u like the "
		                      "operands and then info", hop_optab[f->op].name, which, g->nout, n);
	HOP_TRY(like_unknowns(f, which, g, sargs, n, out));
	HOP_TRY(hop_body_gives(f, which, g, sargs, n, &info));
	if (out)
		out[n] = info;
	return info_check(f, which, info, n);
}

hop_status hop_unknowns_check(hop_infer *f, const char *which, const hop_graph *g,
                              hop_sizes sargs, int64_t n)
{
	const char *op = hop_optab[f->op].name;
	if (n < 1 || n > f->nin)
		return hop_infer_fail(f, HOP_EVALUE, "%s: %lld unknowns, but %u operands", op,
		                      (long long)n, f->nin);
	for (uint32_t i = 0; i < n; i++)
		if (!hop_type_diff(f->in[i]))
			return hop_infer_fail(f, HOP_ETYPE, "%s: operand %u is %s: unknowns are floats", op, i,
			                      hop_dtype_name((hop_dtype)f->in[i]->dtype));
	HOP_TRY(hop_body_takes(f, which, g, sargs, f->nin, f->in));
	if (g->nout != n)
		return hop_infer_fail(f, HOP_ETYPE, "%s: %s gives %u values for %lld unknowns", op, which,
		                      g->nout, (long long)n);
	return like_unknowns(f, which, g, sargs, (uint32_t)n, NULL);
}

/* ---- equations ---- */

/* Values that were not found become NaN, and so does every derivative of them. */
static void spoil(hop_build *b, hop_val info, uint32_t n, hop_val *x)
{
	if (b->st)
		return;
	hop_val ok = hop_emit(b, eq, info, hop_emit_zeros(b, hop_typeof(b, info)));
	for (uint32_t i = 0; i < n && !b->st; i++) {
		const hop_type *t = hop_typeof(b, x[i]);
		x[i] = hop_emit(b, mul, x[i], hop_emit(b, select, hop_emit_match(b, ok, t),
		                                       hop_emit_full(b, t, 1), hop_emit_full(b, t, NAN)));
	}
}

hop_status hop_system_solve(hop_build *b, const hop_system *s, const hop_val *rhs,
                            const hop_val *like, hop_val *out)
{
	struct hop_attr_linear_solve a = { .nb = s->n, .transposed = s->transposed,
	                                   .sargs = s->sargs };
	HOP_TRY(hop_ad_pure(b->env, s->matvec, &a.matvec));
	HOP_TRY(hop_ad_pure(b->env, s->solve, &a.solve));
	if (s->tsolve)
		HOP_TRY(hop_ad_pure(b->env, s->tsolve, &a.tsolve));
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, s->n + s->nk);
	for (uint32_t i = 0; i < s->n && !b->st; i++)
		in[i] = hop_emit_solid(b, rhs[i], hop_typeof(b, like[i]));
	if (s->nk)
		memcpy(in + s->n, s->konst, s->nk * sizeof *in);
	hop_val v = hop_emit_op(b, HOP_OP_linear_solve, &a, s->n + s->nk, in);
	if (b->st)
		return b->st;
	for (uint32_t i = 0; i < s->n; i++)
		out[i] = (hop_val){ v.id + i };
	spoil(b, (hop_val){ v.id + s->n }, s->n, out);
	return b->st;
}

hop_system hop_system_turned(const hop_system *s)
{
	hop_system r = *s;
	if (!s->tsolve)
		return r;
	r.solve = s->tsolve;
	r.tsolve = s->solve;
	r.transposed = !s->transposed;
	return r;
}

/* ---- derivatives of the functions ---- */

/* x, then the consts, and which of them are active. */
static hop_val *all_of(hop_env *e, uint32_t nx, const hop_val *x, uint32_t nk, const hop_val *k,
                       uint32_t more, const bool *act, bool **out_act)
{
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, nx + nk + more);
	bool *on = HOP_NEWN(&e->tmp, bool, nx + nk);
	memcpy(in, x, nx * sizeof *in);
	if (nk) {
		memcpy(in + nx, k, nk * sizeof *in);
		memcpy(on + nx, act, nk * sizeof *on);
	}
	*out_act = on;
	return in;
}

hop_status hop_along_consts(hop_build *b, const hop_graph *g, hop_sizes sargs, uint32_t nx,
                            const hop_val *x, uint32_t nk, const hop_val *k, const bool *act,
                            const hop_val *dk, hop_val *out)
{
	hop_env *e = b->env;
	const hop_graph *j;
	bool *on, *outs = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *in = all_of(e, nx, x, nk, k, nk, act, &on);
	uint32_t n = nx + nk;
	memset(outs, 1, g->nout);
	HOP_TRY(hop_ad_pure(e, g, &g));
	HOP_TRY(hop_ad_jvp(e, g, on, outs, &j));
	for (uint32_t i = 0; i < nk && !b->st; i++)
		if (act[i])
			in[n++] = hop_emit_solid(b, dk[i], hop_typeof(b, k[i]));
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, j->nout);
	if (b->st || hop_emit_call(b, j, sargs, in, res))
		return b->st;
	memcpy(out, res + g->nout, g->nout * sizeof *out);
	return HOP_OK;
}

hop_status hop_back_to_consts(hop_build *b, const hop_graph *g, hop_sizes sargs, uint32_t nx,
                              const hop_val *x, uint32_t nk, const hop_val *k, const bool *act,
                              const hop_val *ct, hop_val *dk)
{
	hop_env *e = b->env;
	const hop_graph *j;
	bool *on, *cts = HOP_NEWN(&e->tmp, bool, g->nout);
	hop_val *in = all_of(e, nx, x, nk, k, g->nout, act, &on);
	uint32_t n = g->nout;
	memset(cts, 1, g->nout);
	HOP_TRY(hop_ad_pure(e, g, &g));
	HOP_TRY(hop_ad_vjp(e, g, cts, on, &j));
	memcpy(in + nx + nk, ct, g->nout * sizeof *in);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, j->nout);
	HOP_TRY(hop_emit_call(b, j, sargs, in, res));
	for (uint32_t i = 0; i < nk; i++)
		if (act[i])
			dk[i] = res[n++];
	return HOP_OK;
}
