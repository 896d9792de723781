/* loop_ad.c -- reverse mode of one loop step, and the scan that runs it backwards.
 * Residuals have four classes: a const of the loop is read where it is, an x by its index,
 * a carry and an intermediate are stacked. Nothing is flipped and nothing is copied. */
#include "hops/loop_ad.h"

#include <string.h>

/* Where body result k stands: carries, ys, stop. */
static uint32_t nresult(const hop_loop *l)
{
	return l->nc + l->ny + (l->stops ? 1 : 0);
}

/* The forward body: the cut's forward half with stacked residuals behind the ys. */
static hop_status make_fwd(hop_env *e, hop_loop *l)
{
	const hop_graph *g = l->cut->fwd;
	uint32_t no = nresult(l), n = 0;
	hop_build b;
	hop_body_open(&b, e, g);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *mid = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, no + l->cut->nres);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_body_inline(&b, g, in, mid);
	for (uint32_t i = 0; i < l->nc + l->ny; i++)
		out[n++] = mid[i];
	for (uint32_t i = 0; i < l->cut->nres; i++) {
		hop_res q = l->cut->res[i];
		l->stack[i] = -1;
		if (q.kind == HOP_RES_PARAM && q.index >= l->nc)
			continue;              /* xs and consts are there anyway */
		if (q.kind == HOP_RES_OUT && q.index >= l->nc && q.index < l->nc + l->ny)
			continue;              /* so are ys; whether to stop is not */
		l->stack[i] = (int32_t)l->nstack++;
		out[n++] = q.kind == HOP_RES_PARAM ? in[q.index]
		         : q.kind == HOP_RES_OUT ? mid[q.index] : mid[no + q.index];
	}
	if (l->stops)
		out[n++] = mid[no - 1];
	return hop_seal(&b, n, out, NULL, &l->fwd);
}

void hop_loop_active(hop_build *b, hop_loop *l, const bool *act, const bool *ylive)
{
	hop_env *e = b->env;
	uint32_t np = l->nc + l->nx + l->nk, no = nresult(l);
	hop_mark m = hop_mark_at(&e->tmp);
	bool *res = HOP_NEWN(&e->tmp, bool, no), *on = HOP_NEWN(&b->arena, bool, np);
	memcpy(on, act, np);
	for (bool more = true; more; ) {
		more = false;
		hop_ad_active(e, l->body, on, res);
		for (uint32_t k = 0; k < l->nc; k++)
			if (res[k] && !on[k])
				on[k] = more = true;
	}
	l->act = on;
	l->live = HOP_NEWN(&b->arena, bool, no);
	memcpy(l->live, on, l->nc);
	if (l->ny)
		memcpy(l->live + l->nc, ylive, l->ny);
	hop_rewind(&e->tmp, m);
}

hop_status hop_loop_cut(hop_build *b, hop_loop *l, const bool *act, const bool *ylive,
                        enum hop_cut_policy policy)
{
	hop_env *e = b->env;
	const hop_graph *joint;
	uint32_t np = l->nc + l->nx + l->nk, no = nresult(l);
	uint8_t *pcost = HOP_NEWN(&e->tmp, uint8_t, np), *ocost = HOP_NEWN(&e->tmp, uint8_t, no);
	hop_loop_active(b, l, act, ylive);
	memset(pcost, 1, l->nc);
	memset(ocost, 1, l->nc);
	if (l->stops)
		ocost[no - 1] = 1;
	HOP_TRY(hop_ad_vjp(e, l->body, l->live, l->act, &joint));
	HOP_TRY(hop_ad_cut(e, joint, np, no, pcost, ocost, (int)policy | HOP_CUT_MAYBE, 1,
	                   &l->cut));
	l->stack = HOP_NEWN(&b->arena, int32_t, l->cut->nres);
	return make_fwd(e, l);
}

/* How the parameters of the reverse body are laid out. */
struct layout {
	uint32_t nca, nka;               /* active carries, active consts: the carries */
	uint32_t nxs, ny;                /* sliced residuals and live ys' cotangents: the xs */
	uint32_t nk;                     /* whole residuals: the consts */
};

/* A residual read by index of the step? Else it is a const of the reverse scan. */
static bool is_sliced(const hop_loop *l, uint32_t i)
{
	hop_res q = l->cut->res[i];
	return l->stack[i] >= 0 || q.kind == HOP_RES_OUT ||
	       (q.kind == HOP_RES_PARAM && q.index < l->nc + l->nx);
}

static struct layout lay_out(const hop_loop *l)
{
	struct layout y = { 0 };
	for (uint32_t i = 0; i < l->nc; i++)
		y.nca += l->act[i];
	for (uint32_t i = 0; i < l->nk; i++)
		y.nka += l->act[l->nc + l->nx + i];
	for (uint32_t i = 0; i < l->ny; i++)
		y.ny += l->live[l->nc + i];
	for (uint32_t i = 0; i < l->cut->nres; i++) {
		if (is_sliced(l, i))
			y.nxs++;
		else
			y.nk++;
	}
	return y;
}

/* One step backwards: cotangents of carries', sums so far -> cotangents of carries, sums,
 * cotangents of the xs. */
static hop_status reverse_body(hop_env *e, const hop_loop *l, struct layout y,
                               hop_graph **out_g)
{
	const hop_graph *g = l->cut->bwd;
	uint32_t nres = l->cut->nres, n = 0, k = 0, first = l->nc + l->nx;
	hop_build b;
	hop_body_open(&b, e, g);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_val *acc = HOP_NEWN(&e->tmp, hop_val, y.nka);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	for (uint32_t i = 0; i < l->nc; i++)
		if (l->act[i])
			in[nres + n++] = hop_build_param(&b, l->body->type[i]);
	for (uint32_t i = 0; i < l->nk; i++)
		if (l->act[first + i])
			acc[k++] = hop_build_param(&b, l->body->type[first + i]);
	for (uint32_t i = 0; i < nres; i++)
		if (is_sliced(l, i))
			in[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < l->ny; i++)
		if (l->live[l->nc + i])
			in[nres + n++] = hop_build_param(&b, hop_graph_out_type(l->body, l->nc + i));
	for (uint32_t i = 0; i < nres; i++)
		if (!is_sliced(l, i))
			in[i] = hop_build_param(&b, g->type[i]);
	hop_body_inline(&b, g, in, res);
	uint32_t nx = g->nout - y.nca - y.nka;
	n = 0;
	for (uint32_t i = 0; i < y.nca; i++)
		out[n++] = res[i];
	for (uint32_t i = 0; i < y.nka; i++)
		out[n++] = b.st ? HOP_BAD : hop_emit(&b, add, acc[i], res[y.nca + nx + i]);
	for (uint32_t i = 0; i < nx; i++)
		out[n++] = res[y.nca + i];
	return hop_seal(&b, n, out, NULL, out_g);
}

/* Carries start with the cotangents of the final ones; sums start at zero, or go on. */
static hop_status start_carries(hop_build *b, const hop_loop *l, const hop_loop_vals *v,
                                hop_val *carry)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->nc; i++)
		if (l->act[i])
			carry[n++] = hop_emit_solid(b, v->dcarry[i], hop_typeof(b, v->carry[i]));
	for (uint32_t i = 0; i < l->nk && !b->st; i++)
		if (l->act[l->nc + l->nx + i])
			carry[n++] = v->dk ? v->dk[i] : hop_emit_zeros(b, hop_typeof(b, v->konst[i]));
	return b->st;
}

static void gather_residuals(hop_build *b, const hop_loop *l, const hop_loop_vals *v,
                             hop_val *x, hop_val *konst)
{
	uint32_t nx = 0, nk = 0;
	for (uint32_t i = 0; i < l->cut->nres; i++) {
		hop_res q = l->cut->res[i];
		if (!is_sliced(l, i))
			konst[nk++] = v->konst[q.index - l->nc - l->nx];
		else
			x[nx++] = l->stack[i] >= 0 ? v->stacked[l->stack[i]]
			        : q.kind == HOP_RES_OUT ? v->y[q.index - l->nc] : v->x[q.index - l->nc];
	}
	for (uint32_t i = 0; i < l->ny; i++)
		if (l->live[l->nc + i])
			x[nx++] = hop_emit_solid(b, v->dy[i], hop_typeof(b, v->y[i]));
}

hop_status hop_loop_reverse(hop_build *b, const hop_loop *l, const hop_loop_vals *v,
                            hop_val *dcarry, hop_val *dx, hop_val *dk)
{
	hop_env *e = b->env;
	struct layout y = lay_out(l);
	hop_graph *body;
	HOP_TRY(reverse_body(e, l, y, &body));
	hop_val *carry = HOP_NEWN(&e->tmp, hop_val, y.nca + y.nka);
	hop_val *x = HOP_NEWN(&e->tmp, hop_val, y.nxs + y.ny);
	hop_val *konst = HOP_NEWN(&e->tmp, hop_val, y.nk);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, body->nout);
	HOP_TRY(start_carries(b, l, v, carry));
	gather_residuals(b, l, v, x, konst);
	if (b->st)
		return b->st;
	hop_scan_args s = { .body = body, .sargs = v->sargs, .ncarry = y.nca + y.nka,
	                    .nx = y.nxs + y.ny, .nconst = y.nk, .length = v->length,
	                    .reverse = v->reverse, .unroll = v->unroll, .count = v->count,
	                    .carry = carry, .x = x, .konst = konst };
	s.unordered = v->unordered && !s.ncarry;
	HOP_TRY(hop_emit_scan(b, &s, out));
	uint32_t c = 0, k = y.nca, j = y.nca + y.nka;
	for (uint32_t i = 0; i < l->nc; i++)
		dcarry[i] = l->act[i] ? out[c++] : HOP_ZERO;
	for (uint32_t i = 0; i < l->nk; i++)
		dk[i] = l->act[l->nc + l->nx + i] ? out[k++] : HOP_ZERO;
	for (uint32_t i = 0; i < l->nx; i++)
		dx[i] = l->act[l->nc + i] ? out[j++] : HOP_ZERO;
	return b->st;
}
