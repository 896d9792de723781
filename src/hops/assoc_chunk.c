/* assoc_chunk.c -- associative_scan and reduce as maps and scans, in three phases: the form that
 * reverse mode differentiates. Differentiates nothing itself.
 *
 *	z = map over C chunks of K elements: the fold of the chunk, all prefixes
 *	p = the fold of the chunks' totals, all prefixes but the last
 *	y = map over the chunks but the first: p o every row of z
 *
 * with K near the square root of the length T, C = ceil(T/K). xs are padded to C*K elements; the
 * scans are counted where they might meet the padding, so that nothing is ever computed from
 * it. A scan that begins with init is one without over one element more, one that runs
 * backwards reads and gives flipped views. reduce needs the totals only, and folds them from
 * init on. */
#include "hops/assoc.h"
#include "hops/scan_chunk.h"

#include <string.h>

struct chunker {
	hop_env         *e;
	const hop_graph *g;                /* that has the node */
	const hop_node  *n;
	hop_assoc        a;
	hop_range        range;            /* of the length */
	hop_size         length;           /* of the node, over the symbols of the graphs made */
	hop_size         total;            /* of what is cut into chunks */
	int64_t          k;                /* elements a chunk */
	hop_size         chunks, later;    /* all; all but the first */
	bool             limited;          /* the last chunk may be short */
	const hop_graph *step;             /* (l, r) -> l o r, l o r */
};

/* n - 1, or 0 if n may be; least: what n is at least. */
static hop_size less_one(hop_env *e, hop_size n, int64_t least)
{
	hop_size m = hop_size_sub(e, n, hop_size_int(1));
	return least >= 1 ? m : hop_size_max(e, m, hop_size_int(0));
}

static struct chunker open_chunker(hop_env *e, const hop_graph *g, const hop_node *n)
{
	struct chunker c = { .e = e, .g = g, .n = n, .a = hop_assoc_of(n) };
	const hop_assoc *a = &c.a;
	hop_range r = hop_size_range(a->length, g->range, (int)(g->nsym + g->nlocal));
	r.lo = r.lo < 0 ? 0 : r.lo;
	r.hi = r.hi < r.lo ? r.lo : r.hi;
	c.range = r;
	c.length = c.total = hop_size_const(a->length) ? a->length
	                                               : hop_size_sym(e, (int)a->combine->nsym);
	if (a->exclusive)
		c.total = less_one(e, c.total, r.lo);
	if (a->ninit && !a->whole) {
		c.total = hop_size_add(e, c.total, hop_size_int(1));
		r.lo = 1;
	}
	c.k = hop_chunk_root(r);
	hop_size k = hop_size_int(c.k);
	c.chunks = hop_size_div(e, hop_size_add(e, c.total, hop_size_int(c.k - 1)), k);
	c.later = less_one(e, c.chunks, r.lo);
	c.limited = !hop_size_eq(c.total, hop_size_mul(e, c.chunks, k));
	return c;
}

/* The symbols of combine, then the length if it is one. They are as wide as the node's size
 * arguments, not as combine says: that is tested where it runs, and it may not. */
static void open_syms(const struct chunker *c, hop_build *b)
{
	hop_sizes s = hop_node_sargs(c->n);
	hop_build_open(b, c->e);
	for (uint32_t i = 0; i < c->a.combine->nsym; i++) {
		hop_range r = hop_size_range(s.v[i], c->g->range, (int)(c->g->nsym + c->g->nlocal));
		r.lo = r.lo < 0 ? 0 : r.lo;
		r.hi = r.hi < r.lo ? r.lo : r.hi;
		hop_build_sym(b, r, c->a.combine->symname[i]);
	}
	if (!hop_size_const(c->length))
		hop_build_sym(b, c->range, NULL);
}

static hop_sizes own_syms(const struct chunker *c, bool length)
{
	return hop_own_sizes(c->e, c->a.combine->nsym + (length && !hop_size_const(c->length)));
}

/* ---- views ---- */

/* n rows of x from `at` on, every step-th. */
static hop_val rows(hop_build *b, hop_val x, hop_size at, hop_size n, int64_t step)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK];
	int64_t by[HOP_MAXRANK];
	for (int i = 0; i < t->rank; i++) {
		start[i] = i ? hop_size_int(0) : at;
		dim[i] = i ? t->dim[i] : n;
		by[i] = i ? 1 : step;
	}
	return step == 1 && hop_size_eq(t->dim[0], n) ? x : hop_emit_slice(b, x, start, dim, by);
}

static hop_val flip(hop_build *b, const struct chunker *c, hop_val x)
{
	hop_size last = hop_size_sub(c->e, c->total, hop_size_int(1));
	return c->a.reverse ? rows(b, x, last, c->total, -1) : x;
}

/* x as the only row of something. */
static hop_val as_row(hop_build *b, hop_val x)
{
	return hop_emit_lead(b, x, hop_size_int(1));
}

static hop_val join_rows(hop_build *b, hop_val x, hop_val y)
{
	return b->st ? HOP_BAD : hop_emit_concat(b, 2, (const hop_val[]){ x, y }, 0);
}

/* [total, ...] -> [C, K, ...]; zeros behind the end. */
static hop_val split(hop_build *b, const struct chunker *c, hop_val x)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	hop_size start[HOP_MAXRANK], dim[HOP_MAXRANK + 1];
	for (int i = 0; i < t->rank; i++) {
		start[i] = hop_size_int(0);
		dim[i] = t->dim[i];
	}
	dim[0] = hop_size_mul(c->e, c->chunks, hop_size_int(c->k));
	if (c->limited)
		x = hop_emit_pad(b, x, start, dim, NULL);
	memmove(dim + 2, dim + 1, (size_t)(t->rank - 1) * sizeof *dim);
	dim[0] = c->chunks;
	dim[1] = hop_size_int(c->k);
	return hop_emit_reshape(b, x, t->rank + 1, dim);
}

/* [C, K, ...] -> [total, ...] */
static hop_val join(hop_build *b, const struct chunker *c, hop_val y)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, y);
	hop_size dim[HOP_MAXRANK];
	for (int i = 1; i < t->rank; i++)
		dim[i - 1] = t->dim[i];
	dim[0] = hop_size_mul(c->e, c->chunks, hop_size_int(c->k));
	y = hop_emit_reshape(b, y, t->rank - 1, dim);
	return rows(b, y, hop_size_int(0), c->total, 1);
}

/* The first row of x, whose leading axis has the size n, 0 or 1: zeros if there is none. */
static hop_val only_row(hop_build *b, hop_val x)
{
	const int64_t axis = 0;
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	bool logic = hop_dtype_bool((hop_dtype)t->dtype);
	return logic ? hop_emit_amax(b, x, 1, &axis) : hop_emit_sum(b, x, 1, &axis);
}

/* ---- bodies ---- */

static hop_val *some(const struct chunker *c, uint32_t n)
{
	return HOP_NEWN(&c->e->tmp, hop_val, n);
}

/* combine that gives each leaf as carry and as row. */
static hop_status step_body(struct chunker *c)
{
	const hop_graph *f = c->a.combine;
	hop_val *in = some(c, f->nparam), *out = some(c, 2 * c->a.nx);
	hop_graph *made;
	hop_build b;
	hop_body_open(&b, c->e, f);
	for (uint32_t i = 0; i < f->nparam; i++)
		in[i] = hop_build_param(&b, f->type[i]);
	hop_body_inline(&b, f, in, out);
	memcpy(out + c->a.nx, out, c->a.nx * sizeof *out);
	HOP_TRY(hop_seal(&b, 2 * c->a.nx, out, NULL, &made));
	c->step = made;
	return HOP_OK;
}

/* The fold of the n rows of x, of which `count` are there, or all: y, all prefixes, and last. */
static void fold(hop_build *b, const struct chunker *c, const hop_val *x, hop_size n,
                 int64_t least, hop_val count, const hop_val *konst, hop_val *y, hop_val *last)
{
	uint32_t nx = c->a.nx;
	hop_size rest = less_one(c->e, n, least), one = hop_size_sub(c->e, n, rest);
	hop_val *from = some(c, nx), *more = some(c, nx), *res = some(c, 2 * nx);
	for (uint32_t k = 0; k < nx; k++) {
		y[k] = rows(b, x[k], hop_size_int(0), one, 1);
		last[k] = from[k] = only_row(b, y[k]);
		more[k] = rows(b, x[k], one, rest, 1);
	}
	if (hop_size_is(rest, 0) || b->st)
		return;
	if (!hop_is_zero(count))
		count = hop_emit(b, sub, count, hop_emit_const_i(b, HOP_i64, 1));
	hop_scan_args s = { .body = c->step, .sargs = own_syms(c, false), .ncarry = nx, .nx = nx,
	                    .nconst = c->a.nk, .length = rest, .count = count, .carry = from,
	                    .x = more, .konst = konst };
	hop_emit_scan(b, &s, res);
	for (uint32_t k = 0; k < nx; k++) {
		last[k] = res[k];
		y[k] = join_rows(b, y[k], res[nx + k]);
	}
}

/* How many elements chunk i has: clamp(n - i*K, 0, K). */
static hop_val chunk_count(hop_build *b, const struct chunker *c, hop_val i, hop_val n)
{
	hop_val k = hop_emit_const_i(b, HOP_i64, c->k), zero = hop_emit_const_i(b, HOP_i64, 0);
	if (b->st)
		return HOP_BAD;
	hop_val left = hop_emit(b, sub, n, hop_emit(b, mul, i, k));
	return hop_emit(b, max, zero, hop_emit(b, min, left, k));
}

/* Parameters of a map over chunks: [i], per step the leaves in x, [n], consts. */
struct given { hop_val count, *x, *konst; };

static struct given chunk_params(hop_build *b, const struct chunker *c, uint32_t nx,
                                 const hop_type *const *x)
{
	const hop_type *i64 = hop_type_scalar(c->e, HOP_i64);
	struct given p = { HOP_ZERO, some(c, nx), some(c, c->a.nk) };
	hop_val i = c->limited ? hop_build_param(b, i64) : HOP_ZERO;
	for (uint32_t k = 0; k < nx; k++)
		p.x[k] = hop_build_param(b, x[k]);
	hop_val n = c->limited ? hop_build_param(b, i64) : HOP_ZERO;
	for (uint32_t k = 0; k < c->a.nk; k++)
		p.konst[k] = hop_build_param(b, c->a.combine->type[2 * c->a.nx + k]);
	if (c->limited)
		p.count = chunk_count(b, c, i, n);
	return p;
}

/* Chunk -> its prefixes, unless only totals are wanted, then its total. */
static hop_status first_body(const struct chunker *c, hop_graph **out_g)
{
	uint32_t nx = c->a.nx, n = c->a.whole ? 0 : nx;
	hop_val *y = some(c, nx), *last = some(c, nx), *out = some(c, 2 * nx);
	const hop_type **t = HOP_NEWN(&c->e->tmp, const hop_type *, nx);
	hop_build b;
	open_syms(c, &b);
	for (uint32_t k = 0; k < nx; k++)
		t[k] = hop_type_prepend(c->e, c->a.combine->type[k], hop_size_int(c->k));
	struct given p = chunk_params(&b, c, nx, t);
	fold(&b, c, p.x, hop_size_int(c->k), c->k, p.count, p.konst, y, last);
	memcpy(out, y, n * sizeof *out);
	memcpy(out + n, last, nx * sizeof *out);
	return hop_seal(&b, n + nx, out, NULL, out_g);
}

/* What comes before the chunk, its own prefixes -> all prefixes. */
static hop_status last_body(const struct chunker *c, hop_graph **out_g)
{
	const hop_graph *f = c->a.combine, *body;
	uint32_t nx = c->a.nx, nk = c->a.nk;
	hop_val *in = some(c, f->nparam), *out = some(c, nx), *konst = some(c, nx + nk);
	const hop_type **t = HOP_NEWN(&c->e->tmp, const hop_type *, 2 * nx);
	hop_graph *made;
	hop_build b;
	hop_body_open(&b, c->e, f);                    /* the row first, then what stays the same */
	for (uint32_t k = 0; k < nx; k++)
		in[nx + k] = hop_build_param(&b, f->type[k]);
	for (uint32_t k = 0; k < nx; k++)
		in[k] = hop_build_param(&b, f->type[k]);
	for (uint32_t k = 0; k < nk; k++)
		in[2 * nx + k] = hop_build_param(&b, f->type[2 * nx + k]);
	hop_body_inline(&b, f, in, out);
	HOP_TRY(hop_seal(&b, nx, out, NULL, &made));
	body = made;
	open_syms(c, &b);
	for (uint32_t k = 0; k < nx; k++) {
		t[k] = f->type[k];
		t[nx + k] = hop_type_prepend(c->e, f->type[k], hop_size_int(c->k));
	}
	struct given p = chunk_params(&b, c, 2 * nx, t);
	memcpy(konst, p.x, nx * sizeof *konst);
	memcpy(konst + nx, p.konst, nk * sizeof *konst);
	hop_scan_args s = { .body = body, .sargs = own_syms(c, false), .nx = nx, .nconst = nx + nk,
	                    .length = hop_size_int(c->k), .unordered = !c->limited,
	                    .count = p.count, .x = p.x + nx, .konst = konst };
	hop_emit_scan(&b, &s, out);
	return hop_seal(&b, nx, out, NULL, out_g);
}

/* ---- the graph ---- */

/* Map `body` over chunks first .. first + n - 1. */
static void over_chunks(hop_build *b, const struct chunker *c, const hop_graph *body,
                        hop_size first, hop_size n, uint32_t nx, const hop_val *x,
                        const hop_val *konst, hop_val *out)
{
	uint32_t m = 0, mk = 0;
	hop_val *xs = some(c, nx + 1), *k = some(c, c->a.nk + 1);
	if (c->limited) {
		hop_val i = hop_emit_iota(b, HOP_i64, 1, &c->chunks, 0);
		xs[m++] = rows(b, i, first, n, 1);
		k[mk++] = hop_emit_size(b, c->total);
	}
	memcpy(xs + m, x, nx * sizeof *xs);
	memcpy(k + mk, konst, c->a.nk * sizeof *k);
	hop_scan_args s = { .body = body, .sargs = own_syms(c, true), .nx = nx + m,
	                    .nconst = c->a.nk + mk, .length = n, .unordered = true,
	                    .count = HOP_ZERO, .x = xs, .konst = k };
	hop_emit_scan(b, &s, out);
}

/* The three phases: x of `total` rows -> y. */
static hop_status prefixes(hop_build *b, const struct chunker *c, const hop_val *x,
                           const hop_val *konst, hop_val *y)
{
	uint32_t nx = c->a.nx;
	hop_graph *first, *last;
	hop_val *z = some(c, 2 * nx), *in = some(c, 2 * nx), *total = some(c, nx);
	hop_val *last_total = some(c, nx);
	hop_size zero = hop_size_int(0), one = hop_size_sub(c->e, c->chunks, c->later);
	HOP_TRY(first_body(c, &first));
	HOP_TRY(last_body(c, &last));
	for (uint32_t k = 0; k < nx; k++)
		in[k] = split(b, c, x[k]);
	over_chunks(b, c, first, zero, c->chunks, nx, in, konst, z);
	if (hop_size_is(c->later, 0)) {
		for (uint32_t k = 0; k < nx; k++)
			y[k] = join(b, c, z[k]);
		return b->st;
	}
	for (uint32_t k = 0; k < nx; k++)
		total[k] = rows(b, z[nx + k], zero, c->later, 1);
	fold(b, c, total, c->later, hop_size_const(c->later) ? c->later.k : 0, HOP_ZERO, konst, in,
	     last_total);
	for (uint32_t k = 0; k < nx; k++)
		in[nx + k] = rows(b, z[k], one, c->later, 1);
	over_chunks(b, c, last, one, c->later, 2 * nx, in, konst, y);
	for (uint32_t k = 0; k < nx; k++)
		y[k] = join(b, c, join_rows(b, rows(b, z[k], zero, one, 1), y[k]));
	return b->st;
}

/* The totals of the chunks, folded from init on. */
static hop_status whole(hop_build *b, const struct chunker *c, const hop_val *init,
                        const hop_val *x, const hop_val *konst, hop_val *y)
{
	uint32_t nx = c->a.nx;
	hop_graph *first;
	hop_val *in = some(c, nx), *total = some(c, nx);
	HOP_TRY(first_body(c, &first));
	for (uint32_t k = 0; k < nx; k++)
		in[k] = split(b, c, x[k]);
	over_chunks(b, c, first, hop_size_int(0), c->chunks, nx, in, konst, total);
	hop_scan_args s = { .body = c->a.combine, .sargs = own_syms(c, false), .ncarry = nx,
	                    .nx = nx, .nconst = c->a.nk, .length = c->chunks, .count = HOP_ZERO,
	                    .carry = init, .x = total, .konst = konst };
	return hop_emit_scan(b, &s, y);
}

/* The elements that are combined, init among them, in the order of their positions. */
static hop_val elements(hop_build *b, const struct chunker *c, hop_val init, hop_val x)
{
	hop_size n = hop_size_sub(c->e, c->total, hop_size_int(1));
	if (!c->a.ninit)
		return x;
	if (c->a.reverse)
		return join_rows(b, rows(b, x, hop_size_sub(c->e, c->length, n), n, 1),
		                 as_row(b, init));
	return join_rows(b, as_row(b, init), rows(b, x, hop_size_int(0), n, 1));
}

/* Of the prefixes of all elements those that are results: not init alone, or not but that. */
static hop_val wanted(hop_build *b, const struct chunker *c, hop_val y)
{
	bool front = c->a.exclusive != c->a.reverse;
	hop_size at = hop_size_sub(c->e, c->total, c->length);
	return rows(b, y, front ? hop_size_int(0) : at, c->length, 1);
}

hop_status hop_assoc_chunk(hop_env *e, const hop_graph *g, const hop_node *n,
                           hop_graph **out_g)
{
	struct chunker c = open_chunker(e, g, n);
	uint32_t ni = c.a.ninit, nx = c.a.nx;
	hop_val *p = some(&c, n->nin), *x = some(&c, nx), *y = some(&c, nx);
	hop_status st;
	hop_build b;
	HOP_TRY(step_body(&c));
	open_syms(&c, &b);
	for (uint32_t i = 0; i < n->nin; i++) {
		const hop_type *t = c.a.combine->type[i < ni ? i : i - ni + (i < ni + nx ? 0 : nx)];
		p[i] = hop_build_param(&b, i >= ni && i < ni + nx ? hop_type_prepend(e, t, c.length) : t);
	}
	const hop_val *konst = p + ni + nx;
	if (c.a.whole) {
		st = whole(&b, &c, p, p + ni, konst, y);
	} else {
		for (uint32_t k = 0; k < nx; k++)
			x[k] = flip(&b, &c, elements(&b, &c, ni ? p[k] : HOP_ZERO, p[ni + k]));
		st = prefixes(&b, &c, x, konst, y);
		for (uint32_t k = 0; k < nx && !st; k++)
			y[k] = wanted(&b, &c, flip(&b, &c, y[k]));
	}
	if (!b.st)
		b.st = st;
	return hop_seal(&b, nx, y, NULL, out_g);
}
