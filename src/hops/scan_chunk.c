/* scan_chunk.c -- a scan as a scan over chunks of an inner scan, which keeps one carry a chunk.
 * Differentiates nothing.
 *
 *	scan n h xs k {length = T}  =  scan h i xs' n k {length = C}:
 *	        h, ys = scan clamp(n - i*K, 0, K) h xs'[i] k {length = K}
 *
 * with C chunks of K steps, C*K >= T; xs' is xs padded to C*K and split. Steps past n are
 * never run, so that nothing is ever computed from the padding. It runs forward. */
#include "hops/scan_chunk.h"

#include <string.h>

struct chunker {
	hop_env         *e;
	const hop_graph *g;              /* that has the scan */
	const hop_node  *n;
	hop_steps        a;
	uint32_t         lead, nc, nx, nk, ny;
	hop_chunks       c;
	bool             limited;        /* the inner scans are counted */
};

int64_t hop_chunk_root(hop_range r)
{
	enum { MANY = 1 << 20, USUAL = 32 };
	int64_t k = 1;
	if (r.hi > MANY)
		return USUAL;
	while (k * k < r.hi)
		k++;
	return k;
}

/* As many chunks as may be, or fewer, but not half as few, if that leaves nothing over. */
static int64_t even(int64_t most, hop_range r)
{
	if (r.hi < most)
		return r.hi;
	for (int64_t c = most; r.lo == r.hi && 2 * c > most; c--)
		if (r.hi % c == 0)
			return c;
	return most;
}

static hop_size ceil_div(hop_env *e, hop_size n, int64_t k)
{
	return hop_size_div(e, hop_size_add(e, n, hop_size_int(k - 1)), hop_size_int(k));
}

bool hop_scan_chunks(hop_env *e, const hop_graph *g, const hop_node *n, hop_chunks *c)
{
	enum { FEW = 4 };                /* slots with which the replay does better from the start */
	hop_steps s = hop_steps_of(n);
	hop_range r = hop_size_range(s.length, g->range, (int)(g->nsym + g->nlocal));
	if ((!s.every && s.slots < FEW) || r.hi < 1 || s.reverse)
		return false;
	for (uint32_t i = 0; i < s.body->nparam + s.body->nout; i++) {
		const hop_type *t = i < s.body->nparam ? s.body->type[i] :
		                    hop_graph_out_type(s.body, i - s.body->nparam);
		if (t->rank + 2 > HOP_MAXRANK)
			return false;              /* no room for the axis of the chunks */
	}
	c->length = hop_size_const(s.length) ? s.length : hop_size_sym(e, (int)s.body->nsym);
	if (s.slots) {
		int64_t rows = even(s.slots / 2, r);
		c->chunks = hop_size_int(rows);
		c->each = ceil_div(e, c->length, rows);
		c->every = 0;
	} else {
		int64_t k = s.every > 0 ? s.every : hop_chunk_root(r);
		c->every = k < r.hi ? k : r.hi;
		c->each = hop_size_int(c->every);
		c->chunks = ceil_div(e, c->length, c->every);
	}
	return true;
}

static struct chunker open_chunker(hop_env *e, const hop_graph *g, const hop_node *n,
                                   const hop_chunks *split)
{
	hop_steps s = hop_steps_of(n);
	struct chunker c = { .e = e, .g = g, .n = n, .a = s, .lead = s.lead, .nc = s.nc,
	                     .nx = s.nx, .nk = s.nk, .ny = s.ny, .c = *split };
	c.limited = s.lead || !hop_size_eq(c.c.length, hop_size_mul(e, c.c.chunks, c.c.each));
	return c;
}

hop_size hop_scan_open(hop_build *b, hop_env *e, const hop_graph *g, const hop_node *n)
{
	hop_steps s = hop_steps_of(n);
	int nsym = (int)(g->nsym + g->nlocal);
	hop_build_open(b, e);
	for (uint32_t i = 0; i < s.body->nsym; i++) {
		hop_range r = hop_size_range(s.sargs.v[i], g->range, nsym);
		r.lo = r.lo < 0 ? 0 : r.lo;
		r.hi = r.hi < r.lo ? r.lo : r.hi;
		hop_build_sym(b, r, s.body->symname[i]);
	}
	if (hop_size_const(s.length))
		return s.length;
	return hop_size_sym(e, hop_build_sym(b, hop_size_range(s.length, g->range, nsym), NULL));
}

/* The body with one carry more: whether the step said stop. */
static hop_status inner_body(const struct chunker *c, const hop_graph **out_g)
{
	const hop_graph *g = c->a.body;
	hop_env *e = c->e;
	hop_build b;
	hop_graph *made;
	if (!c->a.stops) {
		*out_g = g;
		return HOP_OK;
	}
	hop_body_open(&b, e, g);
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, g->nparam);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout + 1);
	for (uint32_t i = 0; i < c->nc; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_build_param(&b, hop_type_scalar(e, HOP_bool));
	for (uint32_t i = c->nc; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	hop_body_inline(&b, g, in, res);
	memcpy(out, res, c->nc * sizeof *out);
	out[c->nc] = res[g->nout - 1];
	memcpy(out + c->nc + 1, res + c->nc, (c->ny + 1) * sizeof *out);
	HOP_TRY(hop_seal(&b, g->nout + 1, out, NULL, &made));
	*out_g = made;
	return HOP_OK;
}

hop_val hop_chunk_count(hop_build *b, const hop_chunks *c, hop_val n, hop_val i)
{
	hop_val k = hop_emit_size(b, c->each), zero = hop_emit_const_i(b, HOP_i64, 0);
	if (b->st)
		return HOP_BAD;
	hop_val left = hop_emit(b, sub, n, hop_emit(b, mul, i, k));
	return hop_emit(b, max, zero, hop_emit(b, min, left, k));
}

hop_val hop_chunk_visits(hop_build *b, const hop_chunks *c, hop_val n)
{
	hop_val k = hop_emit_size(b, c->each), one = hop_emit_const_i(b, HOP_i64, 1);
	if (b->st)
		return HOP_BAD;
	hop_val up = hop_emit(b, sub, hop_emit(b, add, n, k), one);
	return hop_emit(b, div, up, hop_emit(b, max, k, one));
}

/* Parameters: carries, [steps], [i], chunks of xs, [n], consts; results: carries, [steps],
 * ys, carries as they were, [stop]. */
static hop_status outer_body(const struct chunker *c, hop_graph **out_g)
{
	const hop_steps *a = &c->a;
	const hop_graph *g = a->body, *body;
	hop_env *e = c->e;
	hop_build b;
	HOP_TRY(inner_body(c, &body));
	hop_scan_open(&b, e, c->g, c->n);
	const hop_type *i64 = hop_type_scalar(e, HOP_i64);
	hop_val *carry = HOP_NEWN(&e->tmp, hop_val, c->nc + 1);
	hop_val *x = HOP_NEWN(&e->tmp, hop_val, c->nx), *k = HOP_NEWN(&e->tmp, hop_val, c->nk);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, body->nout);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, body->nout + 1 + c->nc);
	hop_val steps = HOP_ZERO, i = HOP_ZERO, n = HOP_ZERO;
	for (uint32_t j = 0; j < c->nc; j++)
		carry[j] = hop_build_param(&b, g->type[j]);
	if (a->stops)
		steps = hop_build_param(&b, i64);
	if (c->limited)
		i = hop_build_param(&b, i64);
	for (uint32_t j = 0; j < c->nx; j++)
		x[j] = hop_build_param(&b, hop_type_prepend(e, g->type[c->nc + j], c->c.each));
	if (c->limited)
		n = hop_build_param(&b, i64);
	for (uint32_t j = 0; j < c->nk; j++)
		k[j] = hop_build_param(&b, g->type[c->nc + c->nx + j]);
	if (a->stops)
		carry[c->nc] = hop_emit_const_i(&b, HOP_bool, 0);
	hop_scan_args s = { .body = body, .sargs = hop_own_sizes(e, g->nsym),
	                    .ncarry = c->nc + (a->stops ? 1 : 0), .nx = c->nx, .nconst = c->nk,
	                    .length = c->c.each, .stops = a->stops, .carry = carry, .x = x,
	                    .konst = k,
	                    .count = c->limited ? hop_chunk_count(&b, &c->c, n, i) : HOP_ZERO };
	hop_emit_scan(&b, &s, res);
	uint32_t no = 0, y = s.ncarry;
	for (uint32_t j = 0; j < c->nc; j++)
		out[no++] = res[j];
	if (a->stops)
		out[no++] = b.st ? HOP_BAD : hop_emit(&b, add, steps, res[y + c->ny]);
	for (uint32_t j = 0; j < c->ny; j++)
		out[no++] = res[y + j];
	for (uint32_t j = 0; j < c->nc; j++)
		out[no++] = b.st ? HOP_BAD : hop_emit(&b, stop_gradient, carry[j]);
	if (a->stops)
		out[no++] = res[c->nc];
	return hop_seal(&b, no, out, NULL, out_g);
}

hop_val hop_chunk_split(hop_build *b, const hop_chunks *c, hop_val x)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	hop_size dim[HOP_MAXRANK + 1], start[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++) {
		start[i] = hop_size_int(0);
		dim[i] = t->dim[i];
	}
	dim[0] = hop_size_mul(b->env, c->chunks, c->each);
	if (!hop_size_eq(dim[0], t->dim[0]))
		x = hop_emit_pad(b, x, start, dim, NULL);
	memmove(dim + 2, dim + 1, (size_t)(t->rank - 1) * sizeof *dim);
	dim[0] = c->chunks;
	dim[1] = c->each;
	return hop_emit_reshape(b, x, t->rank + 1, dim);
}

hop_val hop_chunk_join(hop_build *b, const hop_chunks *c, hop_val y)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, y);
	hop_size dim[HOP_MAXRANK], start[HOP_MAXRANK];
	int rank = t->rank - 1;
	for (int i = 0; i < rank; i++) {
		start[i] = hop_size_int(0);
		dim[i] = t->dim[i + 1];
	}
	dim[0] = hop_size_mul(b->env, c->chunks, c->each);
	y = hop_emit_reshape(b, y, rank, dim);
	if (hop_size_eq(dim[0], c->length))
		return y;
	dim[0] = c->length;
	return hop_emit_slice(b, y, start, dim, NULL);
}

/* The steps to run, 0 .. T. */
static hop_val outer_count(hop_build *b, const struct chunker *c, hop_val count)
{
	hop_val zero = hop_emit_const_i(b, HOP_i64, 0), n = hop_emit_size(b, c->c.length);
	if (!c->lead || b->st)
		return n;
	return hop_emit(b, max, zero, hop_emit(b, min, count, n));
}

hop_status hop_scan_chunk(hop_env *e, const hop_graph *g, const hop_node *node,
                          const hop_chunks *split, hop_graph **out_g)
{
	struct chunker c = open_chunker(e, g, node, split);
	const hop_steps *a = &c.a;
	hop_graph *body;
	hop_build b;
	HOP_TRY(outer_body(&c, &body));
	hop_scan_open(&b, e, g, node);
	uint32_t nout = c.nc + c.ny + (a->stops ? 1 : 0), nc = 0, nx = 0, nk = 0;
	hop_val *carry = HOP_NEWN(&e->tmp, hop_val, c.nc + 1);
	hop_val *x = HOP_NEWN(&e->tmp, hop_val, c.nx + 1), *k = HOP_NEWN(&e->tmp, hop_val, c.nk + 1);
	hop_val *p = HOP_NEWN(&e->tmp, hop_val, node->nin);
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, body->nout);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, nout + c.nc);
	if (c.lead)
		p[0] = hop_build_param(&b, hop_type_scalar(e, HOP_i64));
	for (uint32_t i = 0; i < node->nin - c.lead; i++) {
		const hop_type *t = a->body->type[i];
		if (i >= c.nc && i < c.nc + c.nx)
			t = hop_type_prepend(e, t, c.c.length);
		p[c.lead + i] = hop_build_param(&b, t);
	}
	hop_val n = outer_count(&b, &c, c.lead ? p[0] : HOP_ZERO);
	for (uint32_t i = 0; i < c.nc; i++)
		carry[nc++] = p[c.lead + i];
	if (a->stops)
		carry[nc++] = hop_emit_const_i(&b, HOP_i64, 0);
	if (c.limited)
		x[nx++] = hop_emit_iota(&b, HOP_i64, 1, &c.c.chunks, 0);
	for (uint32_t i = 0; i < c.nx; i++)
		x[nx++] = hop_chunk_split(&b, &c.c, p[c.lead + c.nc + i]);
	if (c.limited)
		k[nk++] = n;
	for (uint32_t i = 0; i < c.nk; i++)
		k[nk++] = p[c.lead + c.nc + c.nx + i];
	hop_scan_args s = { .body = body, .sargs = hop_own_sizes(e, body->nsym), .ncarry = nc,
	                    .nx = nx, .nconst = nk, .length = c.c.chunks, .stops = a->stops,
	                    .carry = carry, .x = x, .konst = k,
	                    .count = c.lead ? hop_chunk_visits(&b, &c.c, n) : HOP_ZERO };
	hop_emit_scan(&b, &s, res);
	memcpy(out, res, c.nc * sizeof *out);
	for (uint32_t i = 0; i < c.ny; i++)
		out[c.nc + i] = hop_chunk_join(&b, &c.c, res[nc + i]);
	if (a->stops)
		out[nout - 1] = res[c.nc];
	memcpy(out + nout, res + nc + c.ny, c.nc * sizeof *out);
	return hop_seal(&b, nout + c.nc, out, NULL, out_g);
}
