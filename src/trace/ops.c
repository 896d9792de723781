/* ops.c -- constructors of elementwise ops, sizes and effects. Those that move values are
 * in move.c, literals in number.c. No rule of any op is here, only what a caller may
 * leave out. */
#include "trace/fast.h"
#include "trace/raw.h"
#include "hop/ops.h"
#include "hop/shape.h"

#include <stdio.h>
#include <string.h>

/* ---- element by element ---- */

/* The dtype that the operands must have: ops for floats, true division among them, make floats
 * of integers, as PyTorch does. */
static hop_dtype operand_dtype(hop_trace *t, int op, int n, const hop_value *v)
{
	hop_dtype d = hop_promote_dtype(t, n, v);
	return hop_optab[op].flags & HOP_F_F && !hop_dtype_float(d) ? HOP_f32 : d;
}

static hop_val emit_same(hop_trace *t, int op, int n, const hop_value *v, hop_dtype d)
{
	hop_val in[3];
	if (!hop_promote(t, n, v, d, in))
		return HOP_BAD;
	return hop_fast_op(t, op, n, in);
}

static hop_val emit_select(hop_trace *t, const hop_value *v)
{
	hop_val in[3];
	int rank;
	hop_size dim[HOP_MAXRANK];
	hop_dtype d = hop_promote_dtype(t, 2, v + 1);
	in[0] = hop_promote_cast(t, v[0], HOP_bool);
	in[1] = hop_promote_cast(t, v[1], d);
	in[2] = hop_promote_cast(t, v[2], d);
	if (!hop_common_shape(t, 3, in, &rank, dim))
		return HOP_BAD;
	for (int i = 0; i < 3; i++)
		in[i] = hop_broadcast_to(t, in[i], rank, dim);
	return t->b.st ? HOP_BAD : hop_emit_op(&t->b, HOP_OP_select, NULL, 3, in);
}

/* The key and the number are integers; as i64 they say which stream it is. */
static hop_val emit_fold_in(hop_trace *t, const hop_value *v)
{
	if (hop_is_bad(hop_promote_whole(t, v[0], "the key")) ||
	    hop_is_bad(hop_promote_whole(t, v[1], "the number folded in")))
		return HOP_BAD;
	return emit_same(t, HOP_OP_fold_in, 2, v, HOP_i64);
}

hop_val hop_point(hop_trace *t, int op, int n, const hop_value *v)
{
	if (op == HOP_OP_select)
		return emit_select(t, v);
	if (op == HOP_OP_fold_in)
		return emit_fold_in(t, v);
	return emit_same(t, op, n, v, operand_dtype(t, op, n, v));
}

struct point {
	int       op, n;
	hop_value v[3], r;
};

static void make_point(hop_trace *t, void *arg)
{
	struct point *p = arg;
	if (!hop_number_op(t, p->op, false, p->n, p->v, &p->r))
		p->r = hop_value_new(t, hop_point(t, p->op, p->n, p->v));
}

hop_value hop_at_point(hop_trace *t, const char *file, int line, int op, int n,
                       const hop_value *v)
{
	struct point p = { .op = op, .n = n };
	memcpy(p.v, v, (size_t)n * sizeof *v);
	if (!hop_enter(t, hop_optab[op].name, file, line, make_point, &p))
		return (hop_value){ 0, 0 };
	return p.r;
}

/* The sizes of both are equal: asked here, with the sides as the caller has them. */
static bool sizes_agree(hop_trace *t, hop_val x, hop_val y)
{
	const hop_type *a = hop_typeof(&t->b, x), *b = hop_typeof(&t->b, y);
	for (int i = 0; i < a->rank; i++) {
		char text[80];
		if (hop_build_holds(&t->b, HOP_EQ, a->dim[i], b->dim[i]) == HOP_ALWAYS)
			continue;
		if (hop_build_holds(&t->b, HOP_EQ, a->dim[i], b->dim[i]) == HOP_NEVER) {
			hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s: dimension %d differs", t->op,
			               hop_type_text(t, a), hop_type_text(t, b), i);
			return false;
		}
		int n = snprintf(text, sizeof text, "dimension %d is {0} on the left, {1} on the right", i);
		hop_build_check(&t->b, (hop_check){ .a = a->dim[i], .b = b->dim[i], .rel = HOP_EQ,
		                                    .op = HOP_OP_lt, .loc = t->b.loc, .as = t->op,
		                                    .what = hop_ctx_name(hop_env_of(t), text, (size_t)n) });
	}
	return true;
}

/* x > y is y < x. */
static void make_turned(hop_trace *t, void *arg)
{
	struct point *p = arg;
	hop_value turned[2] = { p->v[1], p->v[0] };
	hop_val in[2];
	if (hop_number_op(t, p->op, false, 2, turned, &p->r) ||
	    !hop_promote(t, 2, p->v, HOP_NDTYPE, in) || !sizes_agree(t, in[0], in[1]))
		return;
	p->r = hop_value_new(t, hop_emit_op(&t->b, p->op, NULL, 2, (hop_val[]){ in[1], in[0] }));
}

hop_value hop_at_gt(hop_trace *t, const char *file, int line, hop_value x, hop_value y)
{
	struct point p = { .op = HOP_OP_lt, .v = { x, y } };
	return hop_enter(t, "gt", file, line, make_turned, &p) ? p.r : (hop_value){ 0, 0 };
}

hop_value hop_at_ge(hop_trace *t, const char *file, int line, hop_value x, hop_value y)
{
	struct point p = { .op = HOP_OP_le, .v = { x, y } };
	return hop_enter(t, "ge", file, line, make_turned, &p) ? p.r : (hop_value){ 0, 0 };
}

static void make_idiv(hop_trace *t, void *arg)
{
	struct point *p = arg;
	if (!hop_number_op(t, HOP_OP_div, true, 2, p->v, &p->r))
		p->r = hop_value_new(t, emit_same(t, HOP_OP_div, 2, p->v, HOP_NDTYPE));
}

hop_value hop_at_idiv(hop_trace *t, const char *file, int line, hop_value x, hop_value y)
{
	struct point p = { .n = 2, .v = { x, y } };
	return hop_enter(t, "idiv", file, line, make_idiv, &p) ? p.r : (hop_value){ 0, 0 };
}

/* ---- with a number ---- */

static void no_with(hop_trace *t, void *arg)
{
	(void)arg;
	hop_trace_fail(t, HOP_EVALUE, "with: no such operation with a number");
}

hop_value hop_at_with(hop_trace *t, const char *file, int line, enum hop_with w, hop_value x,
                      double v)
{
	static const int op[] = { [HOP_WITH_ADD] = HOP_OP_add, [HOP_WITH_SUB] = HOP_OP_sub,
	                          [HOP_WITH_MUL] = HOP_OP_mul, [HOP_WITH_DIV] = HOP_OP_div };
	if ((unsigned)w > HOP_WITH_DIV) {
		hop_enter(t, "with", file, line, no_with, NULL);
		return (hop_value){ 0, 0 };
	}
	hop_value n = hop_at_f(t, file, line, v);
	return hop_at_point(t, file, line, op[w], 2, (hop_value[]){ x, n });
}

/* ---- sizes ---- */

int hop_axis(hop_trace *t, const char *op, int axis, int rank)
{
	int a = axis < 0 ? axis + rank : axis;
	if (a >= 0 && a < rank)
		return a;
	hop_trace_fail(t, HOP_EVALUE, "%s: axis %d of a value of rank %d", op, axis, rank);
	return -1;
}

bool hop_size_known(hop_trace *t, const char *op, hop_size s)
{
	if (hop_size_nsym(s) <= (int)(t->b.nsym + t->b.nlocal))
		return true;
	hop_trace_fail(t, HOP_EUSE, "%s: a size that is only known inside another body", op);
	return false;
}

struct sizing {
	enum hop_dim_op op;
	hop_size        a, b;
	hop_value       v;
	int             axis;
	int64_t         min, max;
};

static hop_size inner(hop_dim d)
{
	return (hop_size){ d.k, d.e };
}

static void make_dim_op(hop_trace *t, void *arg)
{
	static hop_size (*const f[])(hop_env *, hop_size, hop_size) = {
		[HOP_DIM_ADD] = hop_size_add, [HOP_DIM_SUB] = hop_size_sub,
		[HOP_DIM_MUL] = hop_size_mul, [HOP_DIM_DIV] = hop_size_div,
		[HOP_DIM_MIN] = hop_size_min, [HOP_DIM_MAX] = hop_size_max,
	};
	struct sizing *s = arg;
	if ((unsigned)s->op > HOP_DIM_MAX)
		hop_trace_fail(t, HOP_EVALUE, "dim_op: no such operation on sizes");
	else if (hop_size_known(t, t->op, s->a) && hop_size_known(t, t->op, s->b))
		s->a = f[s->op](hop_env_of(t), s->a, s->b);
}

hop_dim hop_at_dim_op(hop_trace *t, const char *file, int line, enum hop_dim_op op,
                      hop_dim a, hop_dim b)
{
	struct sizing s = { .op = op, .a = inner(a), .b = inner(b) };
	if (!hop_enter(t, "dim_op", file, line, make_dim_op, &s))
		return hop_n(1);
	return (hop_dim){ s.a.k, s.a.e };
}

static void make_dim_int(hop_trace *t, void *arg)
{
	const struct sizing *s = arg;
	if (!hop_size_const(s->a))
		hop_trace_fail(t, HOP_EVALUE, "dim_int: the size is a symbol, no number: capture with "
		               "numbers there, or compute with the hop_dim");
}

int64_t hop_at_dim_int(hop_trace *t, const char *file, int line, hop_dim d)
{
	struct sizing s = { .a = inner(d) };
	return hop_enter(t, "dim_int", file, line, make_dim_int, &s) ? d.k : 1;
}

static void make_size(hop_trace *t, void *arg)
{
	struct sizing *s = arg;
	if (hop_size_known(t, t->op, s->a))
		s->v = hop_value_new(t, hop_emit_size(&t->b, s->a));
}

hop_value hop_at_size_value(hop_trace *t, const char *file, int line, hop_dim d)
{
	struct sizing s = { .a = inner(d) };
	return hop_enter(t, "size_value", file, line, make_size, &s) ? s.v
	                                                             : (hop_value){ 0, 0 };
}

static void make_size_of(hop_trace *t, void *arg)
{
	struct sizing *s = arg;
	const hop_type *type = hop_value_type(t, s->v);
	int axis = type ? hop_axis(t, "size_of", s->axis, type->rank) : -1;
	s->v = (hop_value){ 0, 0 };
	if (axis >= 0)
		s->v = hop_value_new(t, hop_emit_size(&t->b, type->dim[axis]));
}

hop_value hop_at_size_of(hop_trace *t, const char *file, int line, hop_value v, int axis)
{
	struct sizing s = { .v = v, .axis = axis };
	return hop_enter(t, "size_of", file, line, make_size_of, &s) ? s.v
	                                                             : (hop_value){ 0, 0 };
}

/* Eager: the number is there, so the size is a constant. */
hop_size hop_sized(hop_trace *t, hop_val v, hop_range r)
{
	if (hop_is_bad(v) || t->b.st)
		return hop_size_int(0);
	if (t->eager) {
		hop_eager_settle(t);
		if (hop_env_of(t)->diag.st)
			return hop_size_int(0);
		int64_t n = hop_array_i(hop_eager_array(t, v), 0);
		return hop_size_int(n < r.lo ? r.lo : n > r.hi ? r.hi : n);
	}
	int sym = hop_build_local(&t->b, r, NULL);
	struct hop_attr_as_size a = { .min = r.lo, .max = r.hi, .sym = sym };
	v = hop_emit_op(&t->b, HOP_OP_as_size, &a, 1, &v);
	return hop_is_bad(v) ? hop_size_int(0) : hop_size_sym(hop_env_of(t), sym);
}

static void make_as_size(hop_trace *t, void *arg)
{
	struct sizing *s = arg;
	hop_val v = hop_promote_whole(t, s->v, "what makes the size");
	if (hop_is_bad(v))
		return;
	if (hop_typeof(&t->b, v)->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "as_size: %s is not a scalar",
		               hop_type_text(t, hop_typeof(&t->b, v)));
		return;
	}
	if (s->min < 0 || s->max < s->min || s->max > HOP_SIZE_MAX) {
		hop_trace_fail(t, HOP_EVALUE, "as_size: the range %lld..%lld is not one of sizes",
		               (long long)s->min, (long long)s->max);
		return;
	}
	s->a = hop_sized(t, v, (hop_range){ s->min, s->max });
}

hop_dim hop_at_as_size(hop_trace *t, const char *file, int line, hop_value v, int64_t min,
                       int64_t max)
{
	struct sizing s = { .v = v, .min = min, .max = max };
	if (!hop_enter(t, "as_size", file, line, make_as_size, &s))
		return hop_n(1);
	return (hop_dim){ s.a.k, s.a.e };
}

/* ---- effects ---- */

struct saying {
	int              op, n;
	const hop_value *v;
	hop_value        ok;
	const char      *text;
};

static void make_effect(hop_trace *t, void *arg)
{
	struct saying *s = arg;
	int first = s->op == HOP_OP_assert;
	if (s->n < 0 || (s->n && !s->v) || !s->text) {
		hop_trace_fail(t, HOP_EUSE, "%s: no text, or no values", hop_optab[s->op].name);
		return;
	}
	hop_val *in = HOP_NEWN(&t->arena, hop_val, s->n + first);
	if (first)
		in[0] = hop_promote_cast(t, s->ok, HOP_bool);
	for (int i = 0; i < s->n; i++)
		in[first + i] = hop_value_read(t, s->v[i]);
	if (t->b.st)
		return;
	struct hop_attr_print a = { .text = { (int64_t)strlen(s->text), s->text } };
	hop_emit_op(&t->b, s->op, &a, (uint32_t)(s->n + first), in);
}

static void make_progress(hop_trace *t, void *arg)
{
	struct saying *s = arg;
	if (!s->text) {
		hop_trace_fail(t, HOP_EUSE, "progress: no text");
		return;
	}
	hop_val in[2] = { hop_promote_whole(t, s->v[0], "the trip"),
		              t->b.st ? HOP_BAD : hop_promote_whole(t, s->v[1], "the number of trips") };
	struct hop_attr_progress a = { .text = { (int64_t)strlen(s->text), s->text } };
	if (!t->b.st)
		hop_emit_op(&t->b, HOP_OP_progress, &a, 2, in);
}

void hop_at_progress(hop_trace *t, const char *file, int line, hop_value i, hop_value n,
                     const char *text)
{
	hop_value v[2] = { i, n };
	hop_enter(t, "progress", file, line, make_progress, &(struct saying){ .v = v, .text = text });
}

void hop_at_print(hop_trace *t, const char *file, int line, const char *text, int n,
                  const hop_value *v)
{
	hop_enter(t, "print", file, line, make_effect,
	          &(struct saying){ .op = HOP_OP_print, .n = n, .v = v, .text = text });
}

void hop_at_assert(hop_trace *t, const char *file, int line, hop_value ok, const char *text,
                   int n, const hop_value *v)
{
	hop_enter(t, "assert", file, line, make_effect,
	          &(struct saying){ .op = HOP_OP_assert, .n = n, .v = v, .ok = ok,
	                            .text = text });
}

static void make_watch(hop_trace *t, void *arg)
{
	struct saying *s = arg;
	if (!s->text || !*s->text) {
		hop_trace_fail(t, HOP_EUSE, "watch: the value needs a name");
		return;
	}
	hop_val v = hop_value_read(t, s->ok);
	struct hop_attr_watch a = { .name = { (int64_t)strlen(s->text), s->text } };
	if (!t->b.st)
		hop_emit_op(&t->b, HOP_OP_watch, &a, 1, &v);
}

void hop_at_watch(hop_trace *t, const char *file, int line, hop_value v, const char *name)
{
	hop_enter(t, "watch", file, line, make_watch, &(struct saying){ .ok = v, .text = name });
}
