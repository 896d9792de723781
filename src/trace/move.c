/* move.c -- constructors of values, views, copies, reductions. Elementwise ones are in
 * ops.c. Axes may be negative here, and only here. */
#include "trace/compose.h"
#include "hop/shape.h"

#include <string.h>

/* The arguments of any constructor below. */
struct move {
	hop_value        x, y, z, r;
	int              rank, axis, other, n;
	const hop_dim   *dim, *after;
	const int       *axes;
	const int64_t   *sizes;
	const hop_value *v;
	hop_dim          start, len;
	int64_t          step;
	hop_dtype        dtype;
	double           f;
	const void      *bytes;
	bool             bits;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line,
                     hop_make_fn *make, struct move m)
{
	return hop_enter(t, op, file, line, make, &m) ? m.r : (hop_value){ 0, 0 };
}

bool hop_dims(hop_trace *t, const char *op, int rank, const hop_dim *d, hop_size *out)
{
	if (rank < 0 || rank > HOP_MAXRANK) {
		hop_trace_fail(t, HOP_EVALUE, "%s: rank %d: from 0 to %d there are", op, rank, HOP_MAXRANK);
		return false;
	}
	if (rank && !d) {
		hop_trace_fail(t, HOP_EVALUE, "%s: no sizes were given for %d axes", op, rank);
		return false;
	}
	for (int i = 0; i < rank; i++) {
		out[i] = (hop_size){ d[i].k, d[i].e };
		if (!hop_size_known(t, op, out[i]))
			return false;
		if (hop_size_const(out[i]) && (out[i].k < 0 || out[i].k > HOP_SIZE_MAX)) {
			hop_trace_fail(t, HOP_EVALUE, "%s: size %lld on axis %d", op,
			               (long long)out[i].k, i);
			return false;
		}
	}
	return true;
}

bool hop_dtype_check(hop_trace *t, const char *op, hop_dtype d)
{
	if ((unsigned)d < HOP_NDTYPE)
		return true;
	hop_trace_fail(t, HOP_EVALUE, "%s: there is no dtype %d", op, (int)d);
	return false;
}

/* ---- making ---- */

static void make_full(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_size d[HOP_MAXRANK];
	if (hop_dtype_check(t, "full", m->dtype) && hop_dims(t, "full", m->rank, m->dim, d))
		m->r = hop_value_new(t, hop_emit_full(&t->b, hop_type_get(hop_env_of(t), m->dtype,
		                                                          m->rank, d), m->f));
}

hop_value hop_at_full(hop_trace *t, const char *file, int line, hop_dtype d, int rank,
                      const hop_dim *dim, double v)
{
	return run(t, "full", file, line, make_full,
	           (struct move){ .dtype = d, .rank = rank, .dim = dim, .f = v });
}

static void make_full_like(hop_trace *t, void *arg)
{
	struct move *m = arg;
	const hop_type *type = hop_value_type(t, m->x);
	if (type)
		m->r = hop_value_new(t, hop_emit_full(&t->b, type, m->f));
}

hop_value hop_at_full_like(hop_trace *t, const char *file, int line, hop_value x, double v)
{
	return run(t, "full_like", file, line, make_full_like, (struct move){ .x = x, .f = v });
}

static void make_data(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_size d[HOP_MAXRANK];
	int64_t count = 1;
	bool ok = hop_dtype_check(t, "data", m->dtype) && m->rank >= 0 && m->rank <= HOP_MAXRANK &&
	          (!m->rank || m->sizes);
	for (int i = 0; ok && i < m->rank; i++) {
		ok = m->sizes[i] >= 0 && m->sizes[i] <= HOP_SIZE_MAX &&
		     !__builtin_mul_overflow(count, m->sizes[i], &count) && count <= HOP_SIZE_MAX;
		d[i] = hop_size_int(m->sizes[i]);
	}
	if (!ok || (count && !m->bytes))
		hop_trace_fail(t, HOP_EVALUE, "data: a rank, a size or the bytes are not valid");
	else
		m->r = hop_value_new(t, hop_emit_data(&t->b, hop_type_get(hop_env_of(t), m->dtype,
		                                                          m->rank, d), m->bytes));
}

hop_value hop_at_data(hop_trace *t, const char *file, int line, hop_dtype d, int rank,
                      const int64_t *dim, const void *bytes)
{
	return run(t, "data", file, line, make_data,
	           (struct move){ .dtype = d, .rank = rank, .sizes = dim, .bytes = bytes });
}

static void make_iota(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_size d[HOP_MAXRANK];
	if (!hop_dtype_check(t, "iota", m->dtype) || !hop_dims(t, "iota", m->rank, m->dim, d))
		return;
	int axis = hop_axis(t, "iota", m->axis, m->rank);
	if (axis >= 0)
		m->r = hop_value_new(t, hop_emit_iota(&t->b, m->dtype, m->rank, d, axis));
}

hop_value hop_at_iota(hop_trace *t, const char *file, int line, hop_dtype d, int rank,
                      const hop_dim *dim, int axis)
{
	return run(t, "iota", file, line, make_iota,
	           (struct move){ .dtype = d, .rank = rank, .dim = dim, .axis = axis });
}

static void make_random(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_size d[HOP_MAXRANK];
	if (!hop_dtype_check(t, t->op, m->dtype) || !hop_dims(t, t->op, m->rank, m->dim, d))
		return;
	hop_val key = hop_promote_whole(t, m->x, "the key");
	if (hop_is_bad(key))
		return;
	hop_sizes s = { m->rank, d };
	struct hop_attr_random_bits bits = { .dims = s };
	struct hop_attr_uniform unif = { .dtype = m->dtype, .dims = s };
	m->r = hop_value_new(t, m->bits ?
	                     hop_emit_op(&t->b, HOP_OP_random_bits, &bits, 1, &key) :
	                     hop_emit_op(&t->b, HOP_OP_uniform, &unif, 1, &key));
}

hop_value hop_at_random(hop_trace *t, const char *file, int line, hop_value key, bool bits,
                        hop_dtype d, int rank, const hop_dim *dim)
{
	return run(t, bits ? "random_bits" : "uniform", file, line, make_random,
	           (struct move){ .x = key, .bits = bits, .dtype = d, .rank = rank, .dim = dim });
}

/* ---- views ---- */

static void make_reshape(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_size d[HOP_MAXRANK];
	if (!hop_dims(t, "reshape", m->rank, m->dim, d))
		return;
	struct hop_attr_reshape a = { .dims = { m->rank, d } };
	m->r = hop_value_view(t, m->x, HOP_OP_reshape, &a);
}

hop_value hop_at_reshape(hop_trace *t, const char *file, int line, hop_value x, int rank,
                         const hop_dim *dim)
{
	return run(t, "reshape", file, line, make_reshape,
	           (struct move){ .x = x, .rank = rank, .dim = dim });
}

static void make_permute(hop_trace *t, void *arg)
{
	struct move *m = arg;
	const hop_type *type = hop_value_type(t, m->x);
	int64_t axes[HOP_MAXRANK];
	if (!type)
		return;
	if (type->rank && !m->axes) {
		hop_trace_fail(t, HOP_EUSE, "permute: no axes were given");
		return;
	}
	for (int i = 0; i < type->rank; i++)
		if ((axes[i] = hop_axis(t, "permute", m->axes[i], type->rank)) < 0)
			return;
	struct hop_attr_permute a = { .axes = { type->rank, axes } };
	m->r = hop_value_view(t, m->x, HOP_OP_permute, &a);
}

hop_value hop_at_permute(hop_trace *t, const char *file, int line, hop_value x,
                         const int *axes)
{
	return run(t, "permute", file, line, make_permute,
	           (struct move){ .x = x, .axes = axes });
}

static void make_transpose(hop_trace *t, void *arg)
{
	struct move *m = arg;
	const hop_type *type = hop_value_type(t, m->x);
	if (!type)
		return;
	int a = hop_axis(t, "transpose", m->axis, type->rank), axes[HOP_MAXRANK];
	int b = a < 0 ? -1 : hop_axis(t, "transpose", m->other, type->rank);
	if (b < 0)
		return;
	for (int i = 0; i < type->rank; i++)
		axes[i] = i == a ? b : i == b ? a : i;
	m->axes = axes;
	make_permute(t, m);
}

hop_value hop_at_transpose(hop_trace *t, const char *file, int line, hop_value x, int a,
                           int b)
{
	return run(t, "transpose", file, line, make_transpose,
	           (struct move){ .x = x, .axis = a, .other = b });
}

hop_value hop_narrowed(hop_trace *t, hop_value x, int axis, hop_size start, hop_size n,
                       int64_t step)
{
	const hop_type *type = hop_value_type(t, x);
	hop_size from[HOP_MAXRANK], d[HOP_MAXRANK];
	int64_t steps[HOP_MAXRANK];
	if (!type)
		return (hop_value){ 0, 0 };
	for (int i = 0; i < type->rank; i++) {
		from[i] = i == axis ? start : hop_size_int(0);
		d[i] = i == axis ? n : type->dim[i];
		steps[i] = i == axis ? step : 1;
	}
	struct hop_attr_slice a = { .start = { type->rank, from }, .dims = { type->rank, d },
	                            .step = { type->rank, steps } };
	return hop_value_view(t, x, HOP_OP_slice, &a);
}

static void make_narrow(hop_trace *t, void *arg)
{
	struct move *m = arg;
	const hop_type *type = hop_value_type(t, m->x);
	int axis = type ? hop_axis(t, "slice", m->axis, type->rank) : -1;
	hop_size start = { m->start.k, m->start.e }, len = { m->len.k, m->len.e };
	if (axis >= 0 && hop_size_known(t, "slice", start) && hop_size_known(t, "slice", len))
		m->r = hop_narrowed(t, m->x, axis, start, len, m->step);
}

hop_value hop_at_slice(hop_trace *t, const char *file, int line, hop_value x, int axis,
                        hop_dim start, hop_dim n, int64_t step)
{
	return run(t, "slice", file, line, make_narrow, (struct move){ .x = x, .axis = axis,
	           .start = start, .len = n, .step = step });
}

static void make_index(hop_trace *t, void *arg)
{
	struct move *m = arg;
	const hop_type *type = hop_value_type(t, m->x);
	int axis = type ? hop_axis(t, "index", m->axis, type->rank) : -1, n = 0;
	hop_size d[HOP_MAXRANK];
	if (axis < 0)
		return;
	for (int i = 0; i < type->rank; i++)
		if (i != axis)
			d[n++] = type->dim[i];
	hop_size at = hop_size_int(m->step);
	if (m->step < 0)
		at = hop_size_add(hop_env_of(t), type->dim[axis], at);
	hop_value one = hop_narrowed(t, m->x, axis, at, hop_size_int(1), 1);
	struct hop_attr_reshape a = { .dims = { n, d } };
	if (one.trace)
		m->r = hop_value_view(t, one, HOP_OP_reshape, &a);
}

hop_value hop_at_index(hop_trace *t, const char *file, int line, hop_value x, int axis,
                       int64_t i)
{
	return run(t, "index", file, line, make_index,
	           (struct move){ .x = x, .axis = axis, .step = i });
}

static void make_expand(hop_trace *t, void *arg)
{
	struct move *m = arg;
	const hop_type *type = hop_value_type(t, m->x);
	hop_size d[HOP_MAXRANK], kept[HOP_MAXRANK];
	int64_t axes[HOP_MAXRANK];
	int n = 0;
	if (!type || !hop_dims(t, "expand", m->rank, m->dim, d))
		return;
	int lead = m->rank - type->rank;
	if (lead < 0) {
		hop_trace_fail(t, HOP_ESHAPE, "expand: %s has more than %d axes",
		               hop_type_text(t, type), m->rank);
		return;
	}
	for (int i = 0; i < type->rank; i++)
		if (!hop_size_is(type->dim[i], 1) || hop_size_is(d[lead + i], 1)) {
			axes[n] = lead + i;
			kept[n++] = type->dim[i];
		}
	struct hop_attr_reshape r = { .dims = { n, kept } };
	struct hop_attr_broadcast a = { .dims = { m->rank, d }, .axes = { n, axes } };
	hop_value x = n < type->rank ? hop_value_view(t, m->x, HOP_OP_reshape, &r) : m->x;
	if (!t->b.st)
		m->r = hop_value_view(t, x, HOP_OP_broadcast, &a);
}

hop_value hop_at_expand(hop_trace *t, const char *file, int line, hop_value x, int rank,
                        const hop_dim *dim)
{
	return run(t, "expand", file, line, make_expand,
	           (struct move){ .x = x, .rank = rank, .dim = dim });
}

static void make_unsqueeze(hop_trace *t, void *arg)
{
	struct move *m = arg;
	const hop_type *type = hop_value_type(t, m->x);
	hop_size d[HOP_MAXRANK + 1];
	if (!type)
		return;
	if (type->rank == HOP_MAXRANK) {
		hop_trace_fail(t, HOP_ESHAPE, "unsqueeze: there are %d axes already", HOP_MAXRANK);
		return;
	}
	int axis = hop_axis(t, "unsqueeze", m->axis, type->rank + 1);
	if (axis < 0)
		return;
	for (int i = 0, k = 0; i <= type->rank; i++)
		d[i] = i == axis ? hop_size_int(1) : type->dim[k++];
	struct hop_attr_reshape a = { .dims = { type->rank + 1, d } };
	m->r = hop_value_view(t, m->x, HOP_OP_reshape, &a);
}

hop_value hop_at_unsqueeze(hop_trace *t, const char *file, int line, hop_value x, int axis)
{
	return run(t, "unsqueeze", file, line, make_unsqueeze,
	           (struct move){ .x = x, .axis = axis });
}

/* ---- copies ---- */

static void make_cast(hop_trace *t, void *arg)
{
	struct move *m = arg;
	if (hop_dtype_check(t, "cast", m->dtype))
		m->r = hop_value_new(t, hop_promote_cast(t, m->x, m->dtype));
}

hop_value hop_at_cast(hop_trace *t, const char *file, int line, hop_value x, hop_dtype d)
{
	return run(t, "cast", file, line, make_cast, (struct move){ .x = x, .dtype = d });
}

static void make_clone(hop_trace *t, void *arg)
{
	struct move *m = arg;
	m->r = hop_value_new(t, hop_value_apart(t, hop_value_read(t, m->x)));
}

hop_value hop_at_clone(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "clone", file, line, make_clone, (struct move){ .x = x });
}

static void make_pad(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_val x = hop_value_read(t, m->x);
	hop_size before[HOP_MAXRANK], after[HOP_MAXRANK];
	if (hop_is_bad(x))
		return;
	const hop_type *type = hop_typeof(&t->b, x);
	if (!hop_dims(t, "pad", type->rank, m->dim, before) ||
	    !hop_dims(t, "pad", type->rank, m->after, after))
		return;
	for (int i = 0; i < type->rank; i++)
		after[i] = hop_size_add(hop_env_of(t), after[i],
		                        hop_size_add(hop_env_of(t), before[i], type->dim[i]));
	m->r = hop_value_new(t, hop_emit_pad(&t->b, x, before, after, NULL));
}

hop_value hop_at_pad(hop_trace *t, const char *file, int line, hop_value x,
                     const hop_dim *before, const hop_dim *after)
{
	return run(t, "pad", file, line, make_pad,
	           (struct move){ .x = x, .dim = before, .after = after });
}

static void make_concat(hop_trace *t, void *arg)
{
	struct move *m = arg;
	if (m->n < 1 || !m->v) {
		hop_trace_fail(t, HOP_EVALUE, "concat: nothing to join");
		return;
	}
	hop_dtype d = hop_promote_dtype(t, m->n, m->v);
	hop_val *v = HOP_NEWN(&t->arena, hop_val, m->n);
	for (int i = 0; i < m->n; i++)
		v[i] = hop_promote_cast(t, m->v[i], d);
	if (t->b.st)
		return;
	int axis = hop_axis(t, "concat", m->axis, hop_typeof(&t->b, v[0])->rank);
	if (axis >= 0)
		m->r = hop_value_new(t, hop_emit_concat(&t->b, m->n, v, axis));
}

hop_value hop_at_concat(hop_trace *t, const char *file, int line, int n, const hop_value *x,
                        int axis)
{
	return run(t, "concat", file, line, make_concat,
	           (struct move){ .n = n, .v = x, .axis = axis });
}

/* ---- places that are values ---- */

static bool starts(hop_trace *t, const hop_value *v, int rank, hop_val *out)
{
	if (rank && !v) {
		hop_trace_fail(t, HOP_EUSE, "%s: no starts were given", t->op);
		return false;
	}
	for (int i = 0; i < rank; i++)
		out[i] = t->b.st ? HOP_BAD : hop_promote_whole(t, v[i], "a start");
	return !t->b.st;
}

static void make_dynslice(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_val in[1 + HOP_MAXRANK];
	hop_size d[HOP_MAXRANK];
	in[0] = hop_value_read(t, m->x);
	if (hop_is_bad(in[0]))
		return;
	int rank = hop_typeof(&t->b, in[0])->rank;
	if (!hop_dims(t, "dynslice", rank, m->dim, d) || !starts(t, m->v, rank, in + 1))
		return;
	struct hop_attr_dynslice a = { .dims = { rank, d } };
	m->r = hop_value_new(t, hop_emit_op(&t->b, HOP_OP_dynslice, &a, (uint32_t)(1 + rank),
	                                    in));
}

hop_value hop_at_dynslice(hop_trace *t, const char *file, int line, hop_value x,
                          const hop_value *start, const hop_dim *dim)
{
	return run(t, "dynslice", file, line, make_dynslice,
	           (struct move){ .x = x, .v = start, .dim = dim });
}

static void make_dynupdate(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_val in[2 + HOP_MAXRANK];
	in[0] = hop_value_read(t, m->x);
	if (hop_is_bad(in[0]))
		return;
	const hop_type *type = hop_typeof(&t->b, in[0]);
	in[1] = hop_promote_cast(t, m->y, (hop_dtype)type->dtype);
	if (starts(t, m->v, type->rank, in + 2))
		m->r = hop_value_new(t, hop_emit_op(&t->b, HOP_OP_dynupdate, NULL,
		                                    (uint32_t)(2 + type->rank), in));
}

hop_value hop_at_dynupdate(hop_trace *t, const char *file, int line, hop_value x,
                           hop_value u, const hop_value *start)
{
	return run(t, "dynupdate", file, line, make_dynupdate,
	           (struct move){ .x = x, .y = u, .v = start });
}

/* n: gather, or one more than the mode of a scatter. */
static void make_gather(hop_trace *t, void *arg)
{
	struct move *m = arg;
	hop_val x = hop_value_read(t, m->x);
	hop_val idx = hop_is_bad(x) ? HOP_BAD : hop_promote_whole(t, m->y, "the index");
	if (t->b.st)
		return;
	const hop_type *type = hop_typeof(&t->b, x);
	int axis = hop_axis(t, t->op, m->axis, type->rank);
	if (axis < 0)
		return;
	hop_val u = m->n ? hop_promote_cast(t, m->z, (hop_dtype)type->dtype) : HOP_BAD;
	if (!t->b.st)
		m->r = hop_value_new(t, m->n ? hop_emit_scatter(&t->b, (enum hop_mode)(m->n - 1), x, idx,
		                                                u, axis, 0)
		                             : hop_emit_gather(&t->b, x, idx, axis, 0));
}

hop_value hop_at_gather(hop_trace *t, const char *file, int line, hop_value x, int axis,
                        hop_value idx)
{
	return run(t, "gather", file, line, make_gather,
	           (struct move){ .x = x, .axis = axis, .y = idx });
}

#define SAME(here, there) \
	_Static_assert((int)HOP_SCATTER_##here == (int)HOP_MODE_##there, "in one order")
SAME(SET, set);
SAME(ADD, add);
SAME(MUL, mul);
SAME(MIN, min);
SAME(MAX, max);
#undef SAME

hop_value hop_at_scatter(hop_trace *t, const char *file, int line, enum hop_scatter_mode mode,
                         hop_value x, int axis, hop_value idx, hop_value u)
{
	static const char *const name[] = { "scatter", "scatter_add", "scatter_mul", "scatter_min",
	                                    "scatter_max" };
	bool is = (unsigned)mode < HOP_NMODE;
	return run(t, name[is ? mode : HOP_SCATTER_SET], file, line, make_gather,
	           (struct move){ .x = x, .axis = axis, .y = idx, .z = u,
	                          .n = is ? (int)mode + 1 : HOP_NMODE + 1 });
}
