/* scan_group.c -- a scan or map of n steps as one of C = n / K steps that do K each, and one of the
 * n - C*K steps that are left. Rewrites when the operator is emitted; what comes out are scans,
 * maps and conds, so that no rule knows of it.
 *
 *	scan h xs k {length = n}  =  h, ys  = scan h xs[0 : C*K] as [C, K] k {length = C}:
 *	                                     body K times, each on the row after the last
 *	                             h, ys' = scan h xs[C*K : n] k {length = n - C*K}
 *	                             h, ys as [C*K] ++ ys'
 *
 * in reverse the other way round. A counted scan, or one that stops, may end inside a group: there
 * every run of the body but the first is the branch of a cond, which otherwise keeps the carries
 * and gives zeros, as steps that do not run do. */
#include "hops/scan_group.h"

#include <string.h>

#include "ad/ad.h"
#include "hops/body.h"

struct group {
	hop_env             *e;
	hop_build           *b;              /* where the operator stands */
	const hop_scan_args *s;
	const hop_graph     *g;              /* the body of one step */
	uint32_t             nc, nx, nk, ny;
	int64_t              k;              /* steps a group */
	hop_size             groups, whole, rest;      /* C, C*K, n - C*K */
	hop_val              total;          /* steps that are asked for, if counted; HOP_ZERO */
};

static hop_val whole_number(hop_build *b, int64_t v)
{
	return hop_emit_const_i(b, HOP_i64, v);
}

/* ---- the body of a group ---- */

/* Row j of x: [K, ..] -> [..] */
static hop_val row(hop_build *b, hop_val x, int64_t j)
{
	hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK];
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	for (int i = 0; i < t->rank; i++) {
		start[i] = hop_size_int(i ? 0 : j);
		dim[i] = i ? t->dim[i] : hop_size_int(1);
	}
	return hop_emit_reshape(b, hop_emit_slice(b, x, start, dim, NULL), t->rank - 1, dim + 1);
}

/* What a step that does not run gives: the carries, zeros, and no stop. */
static hop_status idle_body(const struct group *p, hop_graph **out_g)
{
	const hop_graph *g = p->g;
	hop_build b;
	hop_val *out = HOP_NEWN(&p->e->tmp, hop_val, g->nparam + g->nout);
	hop_body_open_wide(&b, p->e, g);
	for (uint32_t i = 0; i < g->nparam; i++)
		out[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = p->nc; i < g->nout; i++)
		out[i] = hop_emit_zeros(&b, hop_graph_out_type(g, i));
	return hop_seal(&b, g->nout, out, NULL, out_g);
}

/* The steps of a group, one after the other: where they stand, and what is known so far. */
struct copies {
	hop_build  b;
	hop_val   *in;                       /* carries, row of this step, consts */
	hop_val   *x, *res, *y;              /* rows of the group; of this step; [K * ny] */
	hop_val    first, total;             /* number of the group's first step, if counted */
	hop_val    stopped, ran;             /* if it stops: bool, i64 */
	hop_graph *idle;
};

/* Does step j run at all? HOP_ZERO = it surely does, when the group does. */
static hop_val runs(const struct group *p, struct copies *c, int64_t j)
{
	hop_build *b = &c->b;
	hop_val go = HOP_ZERO;
	if (!hop_is_zero(c->total) && j)
		go = hop_emit(b, lt, hop_emit(b, add, c->first, whole_number(b, j)), c->total);
	if (p->s->stops && !hop_is_zero(c->stopped)) {
		hop_val more = hop_emit(b, not, c->stopped);
		go = hop_is_zero(go) ? more : hop_emit(b, and, go, more);
	}
	return go;
}

static hop_status copy(const struct group *p, struct copies *c, int64_t j)
{
	hop_build *b = &c->b;
	const hop_graph *g = p->g;
	for (uint32_t i = 0; i < p->nx; i++)
		c->in[p->nc + i] = row(b, c->x[i], j);
	if (b->st)
		return b->st;
	hop_val go = runs(p, c, j);
	if (b->st)
		return b->st;
	if (hop_is_zero(go))
		HOP_TRY(hop_body_inline(b, g, c->in, c->res));
	else
		HOP_TRY(hop_emit_cond(b, g, c->idle, hop_own_sizes(p->e, p->g->nsym), go, c->in, c->res));
	memcpy(c->in, c->res, p->nc * sizeof *c->in);
	for (uint32_t i = 0; i < p->ny; i++)
		c->y[(uint32_t)j * p->ny + i] = hop_emit_lead(b, c->res[p->nc + i], hop_size_int(1));
	if (!p->s->stops)
		return b->st;
	hop_val stop = c->res[g->nout - 1];
	hop_val one = hop_is_zero(go) ? whole_number(b, 1) : hop_emit_cast(b, go, HOP_i64);
	c->ran = hop_is_zero(c->ran) ? one : hop_emit(b, add, c->ran, one);
	c->stopped = hop_is_zero(c->stopped) ? stop : hop_emit(b, or, c->stopped, stop);
	return b->st;
}

/* Parameters: carries, [i], groups of xs, [total], consts; results: carries, ys, [steps that ran],
 * [stopped, as a number], [stop]. */
static hop_status unrolled_body(const struct group *p, const hop_graph **out_g)
{
	const hop_graph *g = p->g;
	hop_arena *a = &p->e->tmp;
	const hop_type *i64 = hop_type_scalar(p->e, HOP_i64);
	bool counted = !hop_is_zero(p->total);
	struct copies c = { .in = HOP_NEWN(a, hop_val, g->nparam), .x = HOP_NEWN(a, hop_val, p->nx),
	                    .res = HOP_NEWN(a, hop_val, g->nout), .first = HOP_ZERO, .total = HOP_ZERO,
	                    .y = HOP_NEWN(a, hop_val, p->k * p->ny), .stopped = HOP_ZERO,
	                    .ran = HOP_ZERO };
	hop_val *out = HOP_NEWN(a, hop_val, g->nout + 2), *all = HOP_NEWN(a, hop_val, p->k);
	uint32_t n = 0;
	hop_graph *made;
	HOP_TRY(idle_body(p, &c.idle));
	hop_body_open(&c.b, p->e, g);
	for (uint32_t i = 0; i < p->nc; i++)
		c.in[i] = hop_build_param(&c.b, g->type[i]);
	if (counted)
		c.first = hop_build_param(&c.b, i64);
	for (uint32_t i = 0; i < p->nx; i++)
		c.x[i] = hop_build_param(&c.b, hop_type_prepend(p->e, g->type[p->nc + i],
		                                                hop_size_int(p->k)));
	if (counted)
		c.total = hop_build_param(&c.b, i64);
	for (uint32_t i = 0; i < p->nk; i++)
		c.in[p->nc + p->nx + i] = hop_build_param(&c.b, g->type[p->nc + p->nx + i]);
	if (counted && !c.b.st)
		c.first = hop_emit(&c.b, mul, c.first, whole_number(&c.b, p->k));
	for (int64_t j = 0; j < p->k; j++)
		HOP_TRY(copy(p, &c, p->s->reverse ? p->k - 1 - j : j));
	for (; n < p->nc; n++)
		out[n] = c.in[n];
	for (uint32_t i = 0; i < p->ny; i++) {
		for (int64_t j = 0; j < p->k; j++)
			all[j] = c.y[(uint32_t)j * p->ny + i];
		out[n++] = hop_emit_concat(&c.b, (int)p->k, all, 0);
	}
	if (p->s->stops && !c.b.st) {
		out[n++] = c.ran;
		out[n++] = hop_emit_cast(&c.b, c.stopped, HOP_i64);
		out[n++] = c.stopped;
	}
	HOP_TRY(hop_seal(&c.b, n, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* K slices at once. */
static hop_status batched_body(const struct group *p, const hop_graph **out_g)
{
	hop_arena *a = &p->e->tmp;
	bool *in = HOP_NEWN(a, bool, p->g->nparam), *all = HOP_NEWN(a, bool, p->g->nout);
	bool *got = HOP_NEWN(a, bool, p->g->nout);
	memset(in, 1, p->nx * sizeof *in);
	memset(all, 1, p->g->nout * sizeof *all);
	hop_batch_spec s = { .size = p->k, .in = in, .force = all };
	return hop_ad_batch(p->e, p->g, &s, out_g, got);
}

/* ---- the two loops ---- */

/* n rows of x from start on. */
static hop_val rows(const struct group *p, hop_val x, hop_size start, hop_size n)
{
	hop_size at[HOP_MAXRANK], dim[HOP_MAXRANK];
	const hop_type *t = hop_typeof(p->b, x);
	if (hop_size_eq(n, t->dim[0]))
		return x;
	for (int i = 0; i < t->rank; i++) {
		at[i] = i ? hop_size_int(0) : start;
		dim[i] = i ? t->dim[i] : n;
	}
	return hop_emit_slice(p->b, x, at, dim, NULL);
}

/* [C*K, ..] -> [C, K, ..], and back. */
static hop_val grouped(const struct group *p, hop_val x)
{
	hop_size dim[HOP_MAXRANK + 1] = { p->groups, hop_size_int(p->k) };
	if (p->b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(p->b, x);
	memcpy(dim + 2, t->dim + 1, (size_t)(t->rank - 1) * sizeof *dim);
	return hop_emit_reshape(p->b, x, t->rank + 1, dim);
}

static hop_val in_a_row(const struct group *p, hop_val y)
{
	hop_size dim[HOP_MAXRANK + 1];
	if (p->b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(p->b, y);
	memcpy(dim, t->dim + 1, (size_t)(t->rank - 1) * sizeof *dim);
	dim[0] = p->whole;
	return hop_emit_reshape(p->b, y, t->rank - 1, dim);
}

/* Carries are replaced by those it ends with. out: ys, [how many ran]; out_stopped: HOP_ZERO, or
 * whether it stopped. */
static hop_status groups_loop(const struct group *p, hop_val *carry, hop_val *y, hop_val *out_ran,
                              hop_val *out_stopped)
{
	hop_build *b = p->b;
	hop_scan_args w = *p->s;
	bool counted = !hop_is_zero(p->total);
	hop_val *x = HOP_NEWN(&p->e->tmp, hop_val, p->nx + 1), *res;
	hop_val *k = HOP_NEWN(&p->e->tmp, hop_val, p->nk + 1);
	const int64_t axis = 0;
	HOP_TRY(w.unordered ? batched_body(p, &w.body) : unrolled_body(p, &w.body));
	if (counted) {
		x[0] = hop_emit_iota(b, HOP_i64, 1, &p->groups, 0);
		k[0] = p->total;
		w.count = hop_emit(b, div, hop_emit(b, add, p->total, whole_number(b, p->k - 1)),
		                   whole_number(b, p->k));
	}
	for (uint32_t i = 0; i < p->nx; i++)
		x[counted + i] = grouped(p, rows(p, p->s->x[i], hop_size_int(0), p->whole));
	memcpy(k + counted, p->s->konst, p->nk * sizeof *k);
	w.nx += counted;
	w.nconst += counted;
	w.x = x;
	w.konst = k;
	w.carry = carry;
	w.length = p->groups;
	if (w.every > 0)
		w.every = (w.every + p->k - 1) / p->k;
	res = HOP_NEWN(&p->e->tmp, hop_val, w.body->nout);
	if (b->st || hop_emit_scan(b, &w, res))
		return b->st;
	memcpy(carry, res, p->nc * sizeof *carry);
	for (uint32_t i = 0; i < p->ny; i++)
		y[i] = in_a_row(p, res[p->nc + i]);
	if (!w.stops)
		return b->st;
	*out_ran = hop_emit_sum(b, res[p->nc + p->ny], 1, &axis);
	*out_stopped = hop_emit(b, lt, whole_number(b, 0),
	                        hop_emit_sum(b, res[p->nc + p->ny + 1], 1, &axis));
	return b->st;
}

/* stopped: HOP_ZERO, or nothing may run if it holds. */
static hop_status rest_loop(const struct group *p, hop_val *carry, hop_val stopped, hop_val *y,
                            hop_val *out_ran)
{
	hop_build *b = p->b;
	hop_scan_args w = *p->s;
	hop_val *x = HOP_NEWN(&p->e->tmp, hop_val, p->nx);
	hop_val *res = HOP_NEWN(&p->e->tmp, hop_val, p->g->nout);
	for (uint32_t i = 0; i < p->nx; i++)
		x[i] = rows(p, p->s->x[i], p->whole, p->rest);
	if (!hop_is_zero(p->total))
		w.count = hop_emit(b, sub, p->total, hop_emit_size(b, p->whole));
	if (!hop_is_zero(stopped)) {
		hop_val left = hop_is_zero(p->total) ? hop_emit_size(b, p->rest) : w.count;
		w.count = hop_emit(b, select, stopped, whole_number(b, 0), left);
	}
	w.x = x;
	w.carry = carry;
	w.length = p->rest;
	if (b->st || hop_emit_scan(b, &w, res))
		return b->st;
	memcpy(carry, res, p->nc * sizeof *carry);
	memcpy(y, res + p->nc, p->ny * sizeof *y);
	if (w.stops)
		*out_ran = res[p->g->nout - 1];
	return b->st;
}

hop_status hop_emit_scan_group(hop_build *b, const hop_scan_args *s, int64_t group, hop_val *out)
{
	hop_env *e = b->env;
	struct group p = { .e = e, .b = b, .s = s, .g = s->body, .nc = s->ncarry, .nx = s->nx,
	                   .nk = s->nconst, .k = group, .total = s->count };
	if (hop_size_const(s->length) && s->length.k < group)
		p.k = s->length.k;
	if (p.k < 2 || (s->stops && s->reverse))       /* what is left over might stop it first */
		return hop_emit_scan(b, s, out);
	p.ny = p.g->nout - p.nc - s->stops;
	p.groups = hop_size_div(e, s->length, hop_size_int(p.k));
	p.whole = hop_size_mul(e, p.groups, hop_size_int(p.k));
	p.rest = hop_size_sub(e, s->length, p.whole);
	bool left = !hop_size_is(p.rest, 0);
	hop_val *carry = HOP_NEWN(&e->tmp, hop_val, p.nc), *y = HOP_NEWN(&e->tmp, hop_val, p.ny);
	hop_val *z = HOP_NEWN(&e->tmp, hop_val, p.ny), stopped = HOP_ZERO, ran, more;
	if (p.nc)
		memcpy(carry, s->carry, p.nc * sizeof *carry);
	if (!hop_is_zero(s->count))
		p.total = hop_emit(b, max, whole_number(b, 0),
		                   hop_emit(b, min, s->count, hop_emit_size(b, s->length)));
	if (left && s->reverse)
		HOP_TRY(rest_loop(&p, carry, HOP_ZERO, z, &more));
	HOP_TRY(groups_loop(&p, carry, y, &ran, &stopped));
	if (left && !s->reverse)
		HOP_TRY(rest_loop(&p, carry, stopped, z, &more));
	memcpy(out, carry, p.nc * sizeof *out);
	for (uint32_t i = 0; i < p.ny; i++)
		out[p.nc + i] = left ? hop_emit_concat(b, 2, (hop_val[]){ y[i], z[i] }, 0) : y[i];
	if (s->stops)
		out[p.nc + p.ny] = left ? hop_emit(b, add, ran, more) : ran;
	return b->st;
}
