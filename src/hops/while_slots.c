/* while_slots.c -- the forward half of a while that keeps a few of its states.
 *
 * How long the loop will run is not known. States are kept every `stride` trips; when the rows
 * are full, every second one is dropped and the stride doubles, so that at least half of the
 * rows are in use. Three loops, so that the rows are written in place and copied only when they
 * are thinned out:
 *
 *	while go:                                  thin out if full
 *		while go and count < rows:         keep the state
 *			while go and trips < count * stride: the body, then the test
 *
 * The test runs as often as in the plain loop, and in the same places. States are kept as
 * constants: derivatives go through the carries. */
#include "hops/while_slots.h"

#include <string.h>

/* The lists of parameters: heads (i64 and bool scalars), carries, [rows], [heads], consts. */
struct keeper {
	hop_env         *e;
	const hop_graph *test, *body;
	uint32_t         nc, nk;
	int64_t          rows, max;
	hop_sizes        own;
	const hop_type  *i64, *flag;
};

struct vals {
	hop_val  go, trips, stride, count;
	hop_val *carry, *row, *konst;
};

enum level { INNER, FILL, OUTER };

#define DO(op, ...) (b->st ? HOP_BAD : hop_emit(b, op, __VA_ARGS__))

static hop_val num(hop_build *b, int64_t v)
{
	return hop_emit_const_i(b, HOP_i64, v);
}

/* inner: go, trips, carries; limit (as count), consts.
 * fill:  go, trips, count, carries, rows; stride, consts.
 * outer: go, trips, count, stride, carries, rows; consts. */
static void params(hop_build *b, const struct keeper *k, enum level at, struct vals *v)
{
	const hop_type *const *t = k->body->type;
	hop_arena *m = &k->e->tmp;
	*v = (struct vals){ .carry = HOP_NEWN(m, hop_val, k->nc), .row = HOP_NEWN(m, hop_val, k->nc),
	                    .konst = HOP_NEWN(m, hop_val, k->nk) };
	v->go = hop_build_param(b, k->flag);
	v->trips = hop_build_param(b, k->i64);
	if (at != INNER)
		v->count = hop_build_param(b, k->i64);
	if (at == OUTER)
		v->stride = hop_build_param(b, k->i64);
	for (uint32_t i = 0; i < k->nc; i++)
		v->carry[i] = hop_build_param(b, t[i]);
	for (uint32_t i = 0; i < k->nc && at != INNER; i++)
		v->row[i] = hop_build_param(b, hop_type_prepend(k->e, t[i], hop_size_int(k->rows)));
	if (at == INNER)
		v->count = hop_build_param(b, k->i64);
	if (at == FILL)
		v->stride = hop_build_param(b, k->i64);
	for (uint32_t i = 0; i < k->nk; i++)
		v->konst[i] = hop_build_param(b, t[k->nc + i]);
}

/* The same lists as operands or results; returns the number of carries of the loop. */
static uint32_t list(const struct keeper *k, enum level at, const struct vals *v, hop_val *out)
{
	uint32_t n = 0;
	out[n++] = v->go;
	out[n++] = v->trips;
	if (at != INNER)
		out[n++] = v->count;
	if (at == OUTER)
		out[n++] = v->stride;
	for (uint32_t i = 0; i < k->nc; i++)
		out[n++] = v->carry[i];
	for (uint32_t i = 0; i < k->nc && at != INNER; i++)
		out[n++] = v->row[i];
	return n;
}

static hop_status make_test(const struct keeper *k, enum level at, const hop_graph **out_g)
{
	hop_build bd, *b = &bd;
	hop_graph *made;
	struct vals v;
	hop_body_open_wide(b, k->e, k->body);
	params(b, k, at, &v);
	hop_val go = v.go;
	if (at == INNER)
		go = DO(and, go, DO(lt, v.trips, v.count));
	if (at == FILL)
		go = DO(and, go, DO(lt, v.count, num(b, k->rows)));
	HOP_TRY(hop_seal(b, 1, &go, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* go = test(carries), unless there were enough trips. */
static void ask(hop_build *b, const struct keeper *k, struct vals *v)
{
	hop_val *in = HOP_NEWN(&k->e->tmp, hop_val, k->nc + k->nk);
	memcpy(in, v->carry, k->nc * sizeof *in);
	memcpy(in + k->nc, v->konst, k->nk * sizeof *in);
	hop_body_inline(b, k->test, in, &v->go);
	if (k->max)
		v->go = DO(and, v->go, DO(lt, v->trips, num(b, k->max)));
}

static hop_status make_inner(const struct keeper *k, const hop_graph **out_g)
{
	hop_build bd, *b = &bd;
	hop_graph *made;
	struct vals v;
	hop_val *in = HOP_NEWN(&k->e->tmp, hop_val, k->nc + k->nk);
	hop_val *out = HOP_NEWN(&k->e->tmp, hop_val, k->nc + 2);
	hop_body_open(b, k->e, k->body);
	params(b, k, INNER, &v);
	memcpy(in, v.carry, k->nc * sizeof *in);
	memcpy(in + k->nc, v.konst, k->nk * sizeof *in);
	hop_body_inline(b, k->body, in, v.carry);
	v.trips = DO(add, v.trips, num(b, 1));
	ask(b, k, &v);
	uint32_t n = list(k, INNER, &v, out);
	HOP_TRY(hop_seal(b, n, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* Emit the loop of a level on v; v becomes its results. */
static hop_status loop(hop_build *b, const struct keeper *k, enum level at, const hop_graph *body,
                       struct vals *v)
{
	const hop_graph *test;
	hop_val *in = HOP_NEWN(&k->e->tmp, hop_val, 5 + 2 * k->nc + k->nk), *konst;
	hop_val *out = HOP_NEWN(&k->e->tmp, hop_val, body->nout + 1);
	HOP_TRY(make_test(k, at, &test));
	uint32_t nc = list(k, at, v, in), nk = 0, n = 0;
	konst = in + nc;
	if (at == INNER)
		konst[nk++] = v->count;
	if (at == FILL)
		konst[nk++] = v->stride;
	memcpy(konst + nk, v->konst, k->nk * sizeof *konst);
	hop_while_args w = { .test = test, .body = body, .sargs = k->own, .ncarry = nc,
	                     .nconst = nk + k->nk, .carry = in, .konst = konst };
	HOP_TRY(hop_emit_while(b, &w, out));
	v->go = out[n++];
	v->trips = out[n++];
	if (at != INNER)
		v->count = out[n++];
	if (at == OUTER)
		v->stride = out[n++];
	memcpy(v->carry, out + n, k->nc * sizeof *out);
	if (at != INNER)
		memcpy(v->row, out + n + k->nc, k->nc * sizeof *out);
	return b->st;
}

/* Keep the state of this trip, and run on to the next that is kept. */
static hop_status make_fill(const struct keeper *k, const hop_graph **out_g)
{
	hop_build bd, *b = &bd;
	hop_graph *made;
	const hop_graph *inner;
	struct vals v;
	hop_val *out = HOP_NEWN(&k->e->tmp, hop_val, 3 + 2 * k->nc);
	HOP_TRY(make_inner(k, &inner));
	hop_body_open_wide(b, k->e, k->body);
	params(b, k, FILL, &v);
	for (uint32_t i = 0; i < k->nc; i++)
		v.row[i] = hop_emit_scatter(b, HOP_MODE_set, v.row[i], v.count,
		                            DO(stop_gradient, v.carry[i]), 0, 0);
	hop_val next = DO(add, v.count, num(b, 1));
	v.count = DO(mul, next, v.stride);
	if (!b->st)
		loop(b, k, INNER, inner, &v);
	v.count = next;
	uint32_t n = list(k, FILL, &v, out);
	HOP_TRY(hop_seal(b, n, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* Thin out, then fill. */
static hop_status make_outer(const struct keeper *k, const hop_graph **out_g)
{
	hop_build bd, *b = &bd;
	hop_graph *made;
	const hop_graph *fill;
	struct vals v;
	hop_size n = hop_size_int(k->rows);
	hop_val *out = HOP_NEWN(&k->e->tmp, hop_val, 4 + 2 * k->nc);
	HOP_TRY(make_fill(k, &fill));
	hop_body_open_wide(b, k->e, k->body);
	params(b, k, OUTER, &v);
	hop_val full = DO(le, num(b, k->rows), v.count);
	hop_val by = DO(select, full, num(b, 2), num(b, 1));
	hop_val from = DO(mul, hop_emit_iota(b, HOP_i64, 1, &n, 0), hop_emit_lead(b, by, n));
	for (uint32_t i = 0; i < k->nc; i++)
		v.row[i] = hop_emit_gather(b, v.row[i], from, 0, 0);
	v.count = DO(div, v.count, by);
	v.stride = DO(mul, v.stride, by);
	if (!b->st)
		loop(b, k, FILL, fill, &v);
	uint32_t no = list(k, OUTER, &v, out);
	HOP_TRY(hop_seal(b, no, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

/* The plain loop: with so few slots, the replay does better from the start. */
static hop_status keep_first(hop_build *b, hop_rule *r, hop_kept *out)
{
	hop_val v = hop_emit_copy(b, r->g, r->n, r->in, r->smap, r->nsmap);
	for (uint32_t k = 0; k < r->n->nout; k++)
		r->out[k] = b->st ? HOP_BAD : (hop_val){ v.id + k };
	*out = (hop_kept){ .stride = num(b, 1), .count = num(b, 1), .rows = 1,
	                    .more = HOP_ATTR(r->n, while)->slots };
	return b->st;
}

hop_status hop_while_keep(hop_build *b, hop_rule *r, hop_sizes sargs, hop_kept *out)
{
	enum { FEW = 4 };
	const struct hop_attr_while *a = HOP_ATTR(r->n, while);
	hop_env *e = b->env;
	struct keeper k = { .e = e, .test = a->test, .body = a->body, .nc = (uint32_t)a->ncarry,
	                    .nk = r->n->nin - (uint32_t)a->ncarry, .max = a->max_trips,
	                    .rows = a->slots / 4 * 2, .own = hop_own_sizes(e, a->body->nsym),
	                    .i64 = hop_type_scalar(e, HOP_i64), .flag = hop_type_scalar(e, HOP_bool) };
	const hop_graph *outer;
	if (a->slots < FEW)
		return keep_first(b, r, out);
	HOP_TRY(make_outer(&k, &outer));
	k.own = sargs;                               /* in the graph of the rule */
	struct vals v = { .trips = num(b, 0), .stride = num(b, 1), .count = num(b, 0),
	                  .carry = HOP_NEWN(&e->tmp, hop_val, k.nc),
	                  .row = HOP_NEWN(&b->arena, hop_val, k.nc),
	                  .konst = HOP_NEWN(&e->tmp, hop_val, k.nk) };
	memcpy(v.carry, r->in, k.nc * sizeof *v.carry);
	memcpy(v.konst, r->in + k.nc, k.nk * sizeof *v.konst);
	for (uint32_t i = 0; i < k.nc && !b->st; i++) {
		const hop_type *t = hop_typeof(b, r->in[i]);
		v.row[i] = hop_emit_zeros(b, hop_type_prepend(e, t, hop_size_int(k.rows)));
	}
	if (b->st)
		return b->st;
	HOP_TRY(hop_emit_call(b, a->test, sargs, r->in, &v.go));
	HOP_TRY(loop(b, &k, OUTER, outer, &v));
	memcpy(r->out, v.carry, k.nc * sizeof *v.carry);
	r->out[k.nc] = v.trips;
	*out = (hop_kept){ .state = v.row, .stride = v.stride, .count = v.count, .rows = k.rows,
	                    .more = a->slots - k.rows };
	return b->st;
}

#undef DO
