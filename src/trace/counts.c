/* counts.c -- composites that find how many there are: a tensor of a capacity and a count. All of them
 * move what was found to the front: a sum of all before says where each goes, a scatter puts its
 * place there, and a gather by these places takes the values, so that derivatives are a gather's. */
#include "trace/compose.h"
#include "hop/counts.h"

struct finding {
	hop_value             x, mask;
	const hop_count_opts *given;
	hop_value            *out;
	int                   n;
};

/* Options as they are in this trace. */
struct options {
	hop_count_opts o;
	hop_size       cap;
	hop_val        fill;           /* a scalar of the results' dtype */
};

/* ---- options ---- */

/* all: how many there are at most. d: the dtype of what is filled, with `fill` if nothing is said. */
static bool read_options(hop_trace *t, const struct finding *c, hop_size all, hop_dtype d,
                         double fill, struct options *out)
{
	*out = (struct options){ .cap = all };
	if (t->b.st || (c->given && !hop_trace_opts(t, c->given, &out->o, sizeof out->o)))
		return false;
	if (!c->out) {
		hop_trace_fail(t, HOP_EUSE, "%s: no place for the results was given", t->op);
		return false;
	}
	if (out->o.has_cap && !hop_dims(t, t->op, 1, &out->o.cap, &out->cap))
		return false;
	if (!out->o.fill.id && !out->o.fill.trace) {
		out->fill = hop_emit_full(&t->b, hop_type_scalar(hop_env_of(t), d), fill);
		return !t->b.st;
	}
	out->fill = hop_promote_cast(t, out->o.fill, d);
	if (t->b.st)
		return false;
	if (hop_typeof(&t->b, out->fill)->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: the fill is %s, it must be a scalar", t->op,
		               hop_type_text(t, hop_typeof(&t->b, out->fill)));
		return false;
	}
	return true;
}

static bool is_bools(hop_trace *t, hop_val mask)
{
	if (t->b.st)
		return false;
	hop_dtype d = (hop_dtype)hop_typeof(&t->b, mask)->dtype;
	if (!hop_dtype_bool(d))
		hop_trace_fail(t, HOP_ETYPE, "%s: the mask is %s, bools it must be: compare it", t->op,
		               hop_dtype_name(d));
	return hop_dtype_bool(d);
}

/* ---- what was found, to the front ---- */

static hop_val whole(hop_build *b, hop_size n, int64_t v)
{
	return hop_emit_full(b, hop_type_get(b->env, HOP_i64, 1, &n), (double)v);
}

static hop_val row(hop_build *b, hop_size n)
{
	return hop_emit_iota(b, HOP_i64, 1, &n, 0);
}

/* Rows of x at these places. Where there are none for certain, which gather refuses, a row of
 * zeros is taken: no place is below the count. */
static hop_val taken(hop_build *b, hop_val x, hop_val at)
{
	hop_size zero[HOP_MAXRANK], dim[HOP_MAXRANK];
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	if (!hop_size_is(t->dim[0], 0))
		return hop_emit_gather(b, x, at, 0, 0);
	for (int i = 0; i < t->rank; i++) {
		zero[i] = hop_size_int(0);
		dim[i] = i ? t->dim[i] : hop_size_int(1);
	}
	return hop_emit_gather(b, hop_emit_pad(b, x, zero, dim, NULL), at, 0, 0);
}

static hop_val flat(hop_build *b, hop_val x)
{
	hop_size n = b->st ? hop_size_int(0) : hop_type_count(b->env, hop_typeof(b, x));
	return hop_emit_reshape(b, x, 1, &n);
}

/* u[i] at place[i] of cap numbers, 0 where none comes; places from cap on are dropped: they are
 * clamped to one place more, which goes. */
static hop_val dropping(hop_build *b, enum hop_mode mode, hop_val place, hop_val u, hop_size cap)
{
	hop_size more = hop_size_add(b->env, cap, hop_size_int(1)), zero = hop_size_int(0);
	hop_val all = hop_emit_scatter(b, mode, whole(b, more, 0), place, u, 0, 0);
	return hop_emit_slice(b, all, &zero, &cap, NULL);
}

/* The places of the first cap elements of mask, bools of rank 1, that hold; and how many do. */
static hop_val places(hop_trace *t, hop_val mask, hop_size cap, hop_val *out_count)
{
	hop_build *b = &t->b;
	hop_size n = hop_typeof(b, mask)->dim[0];
	hop_val one = hop_emit_cast(b, mask, HOP_i64), to;
	*out_count = hop_emit_sum(b, one, 1, (int64_t[]){ 0 });
	to = hop_running(t, HOP_CUM_SUM, one, 0, HOP_CUM_EXCLUSIVE);
	if (b->st)
		return HOP_BAD;
	hop_val past = hop_emit_match(b, hop_emit_size(b, cap), hop_typeof(b, to));
	return dropping(b, HOP_MODE_set, hop_emit(b, select, mask, to, past), row(b, n), cap);
}

/* v where its row is below the count, else the fill. */
static hop_val filled(hop_build *b, hop_val v, hop_val count, hop_val fill)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *type = hop_typeof(b, v);
	hop_val at = hop_emit_iota(b, HOP_i64, type->rank, type->dim, 0);
	hop_val is = hop_emit(b, lt, at, hop_emit_match(b, count, hop_typeof(b, at)));
	return hop_emit(b, select, is, v, hop_emit_match(b, fill, type));
}

static void give(hop_trace *t, struct finding *c, int n, const hop_val *v)
{
	for (int i = 0; i < n && !t->b.st; i++)
		c->out[i] = hop_value_new(t, v[i]);
	c->n = t->b.st ? 0 : n;
}

static int run(hop_trace *t, const char *op, const char *file, int line, hop_make_fn *make,
               struct finding c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.n : 0;
}

/* ---- nonzero ---- */

static hop_val not_zero(hop_build *b, hop_val x)
{
	if (b->st || hop_dtype_bool((hop_dtype)hop_typeof(b, x)->dtype))
		return x;
	return hop_emit(b, ne, x, hop_number_like(b, x, 0));
}

/* Flat places to a column for each axis. */
static hop_val columns(hop_build *b, hop_val at, const hop_type *of)
{
	hop_val col[HOP_MAXRANK];
	if (b->st)
		return HOP_BAD;
	const hop_type *type = hop_typeof(b, at);
	hop_size dim[2] = { type->dim[0], hop_size_int(of->rank ? 1 : 0) };
	if (!of->rank)
		return hop_emit_zeros(b, hop_type_get(b->env, HOP_i64, 2, dim));
	for (int i = of->rank - 1; i >= 0; i--) {
		hop_val n = hop_emit_match(b, hop_emit_size(b, of->dim[i]), type);
		col[i] = hop_emit_reshape(b, i ? hop_emit(b, rem, at, n) : at, 2, dim);
		at = i ? hop_emit(b, div, at, n) : at;
	}
	return of->rank == 1 ? col[0] : hop_emit_concat(b, of->rank, col, 1);
}

static void make_nonzero(hop_trace *t, void *arg)
{
	struct finding *c = arg;
	hop_build *b = &t->b;
	struct options o;
	hop_val x = hop_value_read(t, c->x), out[2];
	if (b->st)
		return;
	const hop_type *type = hop_typeof(b, x);
	if (!read_options(t, c, hop_type_count(b->env, type), HOP_i64, -1, &o))
		return;
	hop_val at = places(t, flat(b, not_zero(b, x)), o.cap, &out[1]);
	out[0] = filled(b, columns(b, at, type), out[1], o.fill);
	give(t, c, 2, out);
}

int hop_at_nonzero(hop_trace *t, const char *file, int line, hop_value x,
                   const hop_count_opts *opts, hop_value *out)
{
	return run(t, "nonzero", file, line, make_nonzero,
	           (struct finding){ .x = x, .given = opts, .out = out });
}

static void make_count(hop_trace *t, void *arg)
{
	struct finding *c = arg;
	hop_val is = flat(&t->b, not_zero(&t->b, hop_value_read(t, c->x)));
	hop_val n = hop_emit_sum(&t->b, hop_emit_cast(&t->b, is, HOP_i64), 1, (int64_t[]){ 0 });
	give(t, c, 1, &n);
}

hop_value hop_at_count_nonzero(hop_trace *t, const char *file, int line, hop_value x)
{
	hop_value n = { 0, 0 };
	run(t, "count_nonzero", file, line, make_count, (struct finding){ .x = x, .out = &n });
	return n;
}

/* ---- by a mask ---- */

static void make_select(hop_trace *t, void *arg)
{
	struct finding *c = arg;
	hop_build *b = &t->b;
	struct options o;
	int rank;
	hop_size dim[HOP_MAXRANK];
	hop_val v[2] = { hop_value_read(t, c->x), hop_value_read(t, c->mask) }, out[2];
	if (!is_bools(t, v[1]) || !hop_common_shape(t, 2, v, &rank, dim))
		return;
	for (int i = 0; i < 2; i++)
		v[i] = flat(b, hop_broadcast_to(t, v[i], rank, dim));
	if (b->st || !read_options(t, c, hop_typeof(b, v[0])->dim[0],
	                           (hop_dtype)hop_typeof(b, v[0])->dtype, 0, &o))
		return;
	hop_val at = places(t, v[1], o.cap, &out[1]);
	out[0] = filled(b, taken(b, v[0], at), out[1], o.fill);
	give(t, c, 2, out);
}

int hop_at_masked_select(hop_trace *t, const char *file, int line, hop_value x, hop_value mask,
                         const hop_count_opts *opts, hop_value *out)
{
	return run(t, "masked_select", file, line, make_select,
	           (struct finding){ .x = x, .mask = mask, .given = opts, .out = out });
}

static bool one_a_row(hop_trace *t, const hop_type *x, const hop_type *mask)
{
	if (x->rank < 1 || mask->rank != 1 ||
	    hop_build_holds(&t->b, HOP_EQ, mask->dim[0], x->dim[0]) == HOP_NEVER) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: the mask is %s for an x of %s, it must have one element "
		               "for each row", t->op, hop_type_text(t, mask), hop_type_text(t, x));
		return false;
	}
	hop_build_check(&t->b, (hop_check){ .a = mask->dim[0], .b = x->dim[0], .rel = HOP_EQ,
	                                    .op = HOP_OP_gather, .loc = t->b.loc, .as = t->op,
	                                    .what = "the mask has {0} elements, x has {1} rows" });
	return true;
}

static void make_compact(hop_trace *t, void *arg)
{
	struct finding *c = arg;
	hop_build *b = &t->b;
	struct options o;
	hop_val x = hop_value_read(t, c->x), mask = hop_value_read(t, c->mask), out[2];
	if (!is_bools(t, mask) || !one_a_row(t, hop_typeof(b, x), hop_typeof(b, mask)))
		return;
	const hop_type *type = hop_typeof(b, x);
	if (!read_options(t, c, type->dim[0], (hop_dtype)type->dtype, 0, &o))
		return;
	hop_val at = places(t, mask, o.cap, &out[1]);
	out[0] = filled(b, taken(b, x, at), out[1], o.fill);
	give(t, c, 2, out);
}

int hop_at_compact(hop_trace *t, const char *file, int line, hop_value x, hop_value mask,
                   const hop_count_opts *opts, hop_value *out)
{
	return run(t, "compact", file, line, make_compact,
	           (struct finding){ .x = x, .mask = mask, .given = opts, .out = out });
}

/* ---- unique ---- */

/* Is each of x, in order, another than the one before? The first is. A NaN always is. */
static hop_val begins(hop_build *b, hop_val x)
{
	if (b->st)
		return HOP_BAD;
	hop_val at = row(b, hop_typeof(b, x)->dim[0]);
	hop_val was = hop_emit_gather(b, x, hop_emit(b, sub, at, hop_number_like(b, at, 1)), 0, 0);
	return hop_emit(b, or, hop_emit(b, eq, at, hop_number_like(b, at, 0)), hop_emit(b, ne, x, was));
}

static void make_unique(hop_trace *t, void *arg)
{
	struct finding *c = arg;
	hop_build *b = &t->b;
	struct options o;
	struct hop_attr_argsort axis = { .axis = 0 };
	hop_val given = hop_value_read(t, c->x), x = flat(b, given), out[4];
	int n = 2;
	if (b->st)
		return;
	hop_size all = hop_typeof(b, x)->dim[0];
	if (!read_options(t, c, all, (hop_dtype)hop_typeof(b, x)->dtype, 0, &o))
		return;
	hop_val order = hop_emit_op(b, HOP_OP_argsort, &axis, 1, &x);
	hop_val first = begins(b, hop_emit_gather(b, x, order, 0, 0));
	if (b->st)
		return;
	hop_val at = places(t, first, o.cap, &out[1]);
	at = taken(b, order, at);
	out[0] = filled(b, taken(b, x, at), out[1], o.fill);
	if ((o.o.inverse || o.o.counts) && !b->st) {
		hop_val which = hop_running(t, HOP_CUM_SUM, hop_emit_cast(b, first, HOP_i64), 0, 0);
		which = hop_emit(b, sub, which, whole(b, all, 1));
		hop_val back = hop_emit_scatter(b, HOP_MODE_set, whole(b, all, 0), order, which, 0, 0);
		if (o.o.inverse && !b->st)
			out[n++] = hop_emit_reshape(b, back, hop_typeof(b, given)->rank,
			                            hop_typeof(b, given)->dim);
		if (o.o.counts)
			out[n++] = dropping(b, HOP_MODE_add, which, whole(b, all, 1), o.cap);
	}
	give(t, c, n, out);
}

int hop_at_unique(hop_trace *t, const char *file, int line, hop_value x,
                  const hop_count_opts *opts, hop_value *out)
{
	return run(t, "unique", file, line, make_unique,
	           (struct finding){ .x = x, .given = opts, .out = out });
}

/* ---- a size of its own ---- */

static void make_exact(hop_trace *t, void *arg)
{
	struct finding *c = arg;
	const hop_type *type = hop_value_type(t, c->x);
	hop_val n = hop_promote_whole(t, c->mask, "the count");
	if (!type || hop_is_bad(n))
		return;
	if (!type->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "exact: x is %s, it has no rows", hop_type_text(t, type));
		return;
	}
	if (hop_typeof(&t->b, n)->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "exact: the count is %s, it must be a scalar",
		               hop_type_text(t, hop_typeof(&t->b, n)));
		return;
	}
	hop_val most = hop_emit_size(&t->b, type->dim[0]);
	hop_size size = hop_sized(t, hop_emit(&t->b, min, n, most),
	                          (hop_range){ 0, hop_size_range(type->dim[0], t->b.range,
	                                       (int)(t->b.nsym + t->b.nlocal)).hi });
	if (!t->b.st)
		*c->out = hop_narrowed(t, c->x, 0, hop_size_int(0), size, 1);
}

hop_value hop_at_exact(hop_trace *t, const char *file, int line, hop_value x, hop_value count)
{
	hop_value r = { 0, 0 };
	hop_enter(t, "exact", file, line, make_exact,
	          &(struct finding){ .x = x, .mask = count, .out = &r });
	return r;
}
