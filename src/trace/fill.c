/* fill.c -- composites that make values from few numbers: scalars, ranges, identities, one-hot
 * rows, normal random numbers. What repeats one number or counts is an op, in move.c. */
#include "trace/compose.h"
#include "hop/shape.h"

struct fill {
	hop_value      x, r;
	hop_dtype      dtype;
	int            rank;
	const hop_dim *dim;
	hop_dim        n, m;
	double         from, to;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line,
                     hop_make_fn *make, struct fill c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.r : (hop_value){ 0, 0 };
}

static bool size_of(hop_trace *t, hop_dim n, hop_size *out)
{
	return hop_dims(t, t->op, 1, &n, out);
}

static void make_scalar(hop_trace *t, void *arg)
{
	struct fill *c = arg;
	if (hop_dtype_check(t, t->op, c->dtype))
		c->r = hop_value_new(t, hop_emit_const_f(&t->b, c->dtype, c->from));
}

hop_value hop_at_scalar(hop_trace *t, const char *file, int line, hop_dtype d, double v)
{
	return run(t, "scalar", file, line, make_scalar, (struct fill){ .dtype = d, .from = v });
}

static void make_arange(hop_trace *t, void *arg)
{
	struct fill *c = arg;
	hop_size n;
	if (hop_dtype_check(t, t->op, c->dtype) && size_of(t, c->n, &n))
		c->r = hop_value_new(t, hop_emit_iota(&t->b, c->dtype, 1, &n, 0));
}

hop_value hop_at_arange(hop_trace *t, const char *file, int line, hop_dtype d, hop_dim n)
{
	return run(t, "arange", file, line, make_arange, (struct fill){ .dtype = d, .n = n });
}

static bool float_check(hop_trace *t, hop_dtype d)
{
	if (!hop_dtype_check(t, t->op, d))
		return false;
	if (!hop_dtype_float(d))
		hop_trace_fail(t, HOP_ETYPE, "%s: the dtype is %s, a float it must be", t->op,
		               hop_dtype_name(d));
	return !t->b.st;
}

/* from + i d below the middle, to - (n - 1 - i) d above: both ends are exact. */
static void make_linspace(hop_trace *t, void *arg)
{
	struct fill *c = arg;
	hop_build *b = &t->b;
	hop_size n;
	if (!float_check(t, c->dtype) || !size_of(t, c->n, &n))
		return;
	hop_dtype d = hop_dtype_computes(c->dtype);
	hop_val i = hop_emit_iota(b, HOP_i64, 1, &n, 0), one = hop_number_like(b, i, 1);
	hop_val count = hop_emit_size(b, n);
	if (b->st)
		return;
	hop_val last = hop_emit(b, sub, hop_emit_match(b, count, hop_typeof(b, i)), one);
	hop_val low = hop_emit(b, le, hop_emit(b, add, i, i), last);
	hop_val back = hop_emit_cast(b, hop_emit(b, sub, last, i), d);
	hop_val gaps = hop_emit_cast(b, hop_emit(b, max, last, one), d);
	i = hop_emit_cast(b, i, d);
	hop_val step = hop_emit(b, div, hop_number_like(b, i, c->to - c->from), gaps);
	hop_val up = hop_emit(b, add, hop_number_like(b, i, c->from), hop_emit(b, mul, step, i));
	hop_val down = hop_emit(b, sub, hop_number_like(b, i, c->to), hop_emit(b, mul, step, back));
	c->r = hop_value_new(t, hop_emit_cast(b, hop_emit(b, select, low, up, down), c->dtype));
}

hop_value hop_at_linspace(hop_trace *t, const char *file, int line, hop_dtype d, double from,
                          double to, hop_dim n)
{
	return run(t, "linspace", file, line, make_linspace,
	           (struct fill){ .dtype = d, .from = from, .to = to, .n = n });
}

static void make_eye(hop_trace *t, void *arg)
{
	struct fill *c = arg;
	hop_build *b = &t->b;
	hop_size d[2];
	if (!hop_dtype_check(t, t->op, c->dtype) || !size_of(t, c->n, &d[0]) ||
	    !size_of(t, c->m, &d[1]))
		return;
	hop_val row = hop_emit_iota(b, HOP_i64, 2, d, 0), column = hop_emit_iota(b, HOP_i64, 2, d, 1);
	c->r = hop_value_new(t, hop_emit_cast(b, hop_emit(b, eq, row, column), c->dtype));
}

hop_value hop_at_eye(hop_trace *t, const char *file, int line, hop_dtype d, hop_dim n, hop_dim m)
{
	return run(t, "eye", file, line, make_eye, (struct fill){ .dtype = d, .n = n, .m = m });
}

static void make_one_hot(hop_trace *t, void *arg)
{
	struct fill *c = arg;
	hop_build *b = &t->b;
	hop_size d[HOP_MAXRANK];
	hop_val x = hop_promote_whole(t, c->x, "the index");
	if (hop_is_bad(x) || !hop_dtype_check(t, t->op, c->dtype))
		return;
	const hop_type *type = hop_typeof(b, x);
	if (type->rank == HOP_MAXRANK) {
		hop_trace_fail(t, HOP_ESHAPE, "one_hot: there are %d axes already", HOP_MAXRANK);
		return;
	}
	for (int i = 0; i < type->rank; i++)
		d[i] = type->dim[i];
	if (!size_of(t, c->n, &d[type->rank]))
		return;
	hop_val k = hop_emit_iota(b, HOP_i64, type->rank + 1, d, type->rank);
	x = b->st ? HOP_BAD : hop_emit_match(b, x, hop_typeof(b, k));
	c->r = hop_value_new(t, hop_emit_cast(b, hop_emit(b, eq, x, k), c->dtype));
}

hop_value hop_at_one_hot(hop_trace *t, const char *file, int line, hop_dtype d, hop_value index,
                         hop_dim n)
{
	return run(t, "one_hot", file, line, make_one_hot,
	           (struct fill){ .dtype = d, .x = index, .n = n });
}

/* ---- normal random numbers ---- */

/* Half 0 or 1 along an axis of 2, which goes. */
static hop_val half(hop_build *b, hop_val u, int axis, int which)
{
	const hop_type *type = hop_typeof(b, u);
	hop_size from[HOP_MAXRANK], d[HOP_MAXRANK], rest[HOP_MAXRANK];
	for (int i = 0, n = 0; i < type->rank; i++) {
		from[i] = hop_size_int(i == axis ? which : 0);
		d[i] = i == axis ? hop_size_int(1) : type->dim[i];
		if (i != axis)
			rest[n++] = type->dim[i];
	}
	return hop_emit_reshape(b, hop_emit_slice(b, u, from, d, NULL), type->rank - 1, rest);
}

/* By Box and Muller (1958), from two uniform numbers each: a radius and an angle. 1 - u is exact
 * and never 0. */
static void make_normal(hop_trace *t, void *arg)
{
	struct fill *c = arg;
	hop_build *b = &t->b;
	hop_size d[HOP_MAXRANK + 1] = { hop_size_int(2) };
	if (!float_check(t, c->dtype) || !hop_dims(t, t->op, c->rank, c->dim, d + 1))
		return;
	hop_val key = hop_promote_whole(t, c->x, "the key");
	if (hop_is_bad(key))
		return;
	int axis = hop_typeof(b, key)->rank;
	if (axis + c->rank >= HOP_MAXRANK) {
		hop_trace_fail(t, HOP_ESHAPE, "normal: rank %d, it needs one axis more and the largest is "
		               "%d", axis + c->rank, HOP_MAXRANK);
		return;
	}
	struct hop_attr_uniform a = { .dtype = hop_dtype_computes(c->dtype),
	                              .dims = { c->rank + 1, d } };
	hop_val u = hop_emit_op(b, HOP_OP_uniform, &a, 1, &key);
	if (b->st)
		return;
	hop_val v = half(b, u, axis, 0), turn = half(b, u, axis, 1);
	v = hop_emit(b, log, hop_emit(b, sub, hop_number_like(b, v, 1), v));
	v = hop_emit(b, sqrt, hop_emit(b, mul, v, hop_number_like(b, v, -2)));
	turn = hop_emit(b, mul, turn, hop_number_like(b, turn, 6.283185307179586));
	v = hop_emit(b, mul, v, hop_emit(b, cos, turn));
	c->r = hop_value_new(t, b->st ? HOP_BAD : hop_emit_cast(b, v, c->dtype));
}

hop_value hop_at_normal(hop_trace *t, const char *file, int line, hop_value key, hop_dtype d,
                        int rank, const hop_dim *dim)
{
	return run(t, "normal", file, line, make_normal,
	           (struct fill){ .x = key, .dtype = d, .rank = rank, .dim = dim });
}
