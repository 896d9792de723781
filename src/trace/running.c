/* running.c -- composites that go along an axis: sums, products and extremes of all that came
 * before, each an associative_scan over few ops, with its derivatives: no division, so zeros in a
 * product do no harm; and the k largest elements, a scan. */
#include "trace/compose.h"
#include "trace/loop.h"
#include "hop/nn.h"
#include "hop/shape.h"

/* ---- bodies ---- */

/* A body under construction. Its sizes are the caller's: one that is not constant becomes a size
 * parameter. */
struct steps {
	hop_build b;
	hop_size  arg[2];
	int       narg;
};

static void steps_open(struct steps *s, hop_trace *t)
{
	s->narg = 0;
	hop_build_open(&s->b, hop_env_of(t));
	s->b.loc = t->b.loc;
	s->b.as = t->op;
}

static hop_size steps_size(struct steps *s, hop_size n)
{
	if (hop_size_const(n))
		return n;
	s->arg[s->narg++] = n;
	return hop_size_sym(s->b.env, hop_build_sym(&s->b, (hop_range){ 0, HOP_SIZE_MAX }, NULL));
}

/* The scan as a graph of its own, run at once: an eager trace runs nodes without bodies only. */
static hop_status run_alone(hop_trace *t, const hop_scan_args *a, hop_val *out)
{
	hop_build b;
	hop_graph *g;
	hop_scan_args s = *a;
	hop_val in[2] = { a->carry[0], a->konst[0] }, p[2];
	hop_build_open(&b, hop_env_of(t));
	b.loc = t->b.loc;
	for (int i = 0; i < 2; i++)
		p[i] = hop_build_param(&b, hop_typeof(&t->b, in[i]));
	s.carry = &p[0];
	s.konst = &p[1];
	hop_emit_scan(&b, &s, out);
	if ((t->b.st = hop_seal(&b, 2, out, NULL, &g)))
		return t->b.st;
	return hop_call_here(t, g, (hop_sizes){ 0, NULL }, in, out);
}

/* The scan of the body, whose results are the carry and what is stacked; it takes a carry and one
 * operand more. */
static hop_val steps_run(hop_trace *t, struct steps *s, const hop_val *res, hop_val carry,
                         const hop_scan_args *more)
{
	hop_graph *g;
	hop_val out[2];
	hop_status st = hop_seal(&s->b, 2, res, NULL, &g);
	if (st || t->b.st) {
		t->b.st = t->b.st ? t->b.st : st;
		return HOP_BAD;
	}
	hop_scan_args a = *more;
	a.body = g;
	a.sargs = (hop_sizes){ s->narg, s->arg };
	a.ncarry = 1;
	a.carry = &carry;
	a.count = HOP_ZERO;
	st = t->eager ? run_alone(t, &a, out) : hop_emit_scan(&t->b, &a, out);
	return st ? HOP_BAD : out[1];
}

/* ---- an axis in front, the others as one or two ---- */

struct front {
	const hop_type *type;
	int             axis, nrest;
	hop_size        n, rest[2];
};

static struct front front_of(hop_env *e, const hop_type *type, int axis)
{
	struct front f = { .type = type, .axis = axis, .n = type->dim[axis] };
	hop_size side[2] = { hop_size_int(1), hop_size_int(1) };
	for (int i = 0; i < type->rank; i++)
		if (i != axis)
			side[i > axis] = hop_size_mul(e, side[i > axis], type->dim[i]);
	for (int k = 0; k < 2; k++)
		if (!hop_size_is(side[k], 1))
			f.rest[f.nrest++] = side[k];
	return f;
}

/* Are there axes before this one? Then they have to change places. */
static bool is_behind(const struct front *f)
{
	for (int i = 0; i < f->axis; i++)
		if (!hop_size_is(f->type->dim[i], 1))
			return true;
	return false;
}

/* x as [n, rest], n being the axis; and back. */
static hop_val to_front(hop_build *b, const struct front *f, hop_val x)
{
	hop_size d[3] = { f->n, f->rest[0], f->rest[1] };
	if (!is_behind(f))
		return hop_emit_reshape(b, x, 1 + f->nrest, d);
	d[0] = f->rest[0];
	d[1] = f->n;
	x = hop_emit_reshape(b, x, 1 + f->nrest, d);
	return hop_emit_permute(b, x, (int64_t[]){ 1, 0, 2 });
}

static hop_val from_front(hop_build *b, const struct front *f, hop_val x)
{
	if (is_behind(f))
		x = hop_emit_permute(b, x, (int64_t[]){ 1, 0, 2 });
	return hop_emit_reshape(b, x, f->type->rank, f->type->dim);
}

/* ---- sums, products, extremes of what came before ---- */

struct running {
	hop_value    x, r;
	enum hop_cum kind;
	int          axis, how;
};

static const char *const running_name[] = {
	[HOP_CUM_SUM] = "cumsum", [HOP_CUM_PROD] = "cumprod", [HOP_CUM_MAX] = "cummax",
	[HOP_CUM_MIN] = "cummin", [HOP_CUM_LOGSUMEXP] = "logcumsumexp",
};
enum { NRUNNING = sizeof running_name / sizeof *running_name };

/* log(exp(x) + exp(y)). Two equal infinities have no difference: 0 stands for it. */
static hop_val log_add(hop_build *b, hop_val x, hop_val y)
{
	hop_val less = hop_emit(b, lt, x, y), inf = hop_number_like(b, x, __builtin_inf());
	hop_val high = hop_emit(b, select, less, y, x), low = hop_emit(b, select, less, x, y);
	hop_val same = hop_emit(b, and, hop_emit(b, eq, low, high),
	                        hop_emit(b, eq, hop_emit(b, abs, low), inf));
	hop_val d = hop_emit(b, select, same, hop_number_like(b, x, 0), hop_emit(b, sub, low, high));
	return hop_emit(b, add, high, hop_emit(b, log1p, hop_emit(b, exp, d)));
}

/* The later of two equal elements, as PyTorch has it; a NaN stays. */
static hop_val extreme(hop_build *b, hop_val had, hop_val x, bool max)
{
	hop_val take = max ? hop_emit(b, le, had, x) : hop_emit(b, le, x, had);
	if (!b->st && hop_dtype_float((hop_dtype)hop_typeof(b, x)->dtype))
		take = hop_emit(b, or, take, hop_emit(b, ne, x, x));
	return hop_emit(b, select, take, x, had);
}

static hop_val joined(hop_build *b, enum hop_cum kind, hop_val had, hop_val x)
{
	switch (kind) {
	case HOP_CUM_SUM:
		return hop_emit(b, add, had, x);
	case HOP_CUM_PROD:
		return hop_emit(b, mul, had, x);
	case HOP_CUM_LOGSUMEXP:
		return log_add(b, had, x);
	default:
		return extreme(b, had, x, kind == HOP_CUM_MAX);
	}
}

/* What comes before the first element. */
static hop_val start(hop_build *b, enum hop_cum kind, const hop_type *type)
{
	hop_dtype d = (hop_dtype)type->dtype;
	bool high = kind == HOP_CUM_MIN;
	hop_val one;
	if (kind == HOP_CUM_SUM || kind == HOP_CUM_PROD)
		return hop_emit_full(b, type, kind == HOP_CUM_PROD);
	if (hop_dtype_float(d))
		one = hop_emit_const_f(b, d, high ? __builtin_inf() : -__builtin_inf());
	else
		one = hop_emit_const_i(b, d, high ? hop_dtype_most(d) : hop_dtype_least(d));
	return hop_emit_broadcast(b, one, type->rank, type->dim, NULL);
}

/* The operand in the dtype that is computed in: integers add up and multiply as i64. */
static hop_val operand(hop_trace *t, enum hop_cum kind, hop_value x)
{
	const hop_type *type = hop_value_type(t, x);
	if (!type)
		return HOP_BAD;
	if (kind == HOP_CUM_MAX || kind == HOP_CUM_MIN)
		return hop_value_read(t, x);
	if (kind != HOP_CUM_LOGSUMEXP && !hop_dtype_float((hop_dtype)type->dtype))
		return hop_promote_cast(t, x, HOP_i64);
	return hop_floats(t, x);
}

hop_val hop_running(hop_trace *t, enum hop_cum kind, hop_val x, int axis, int how)
{
	hop_build *b = &t->b;
	struct front f = front_of(hop_env_of(t), hop_typeof(b, x), axis);
	hop_dtype d = (hop_dtype)f.type->dtype;
	const hop_type *outer = hop_type_get(hop_env_of(t), d, f.nrest, f.rest);
	bool exclusive = how & HOP_CUM_EXCLUSIVE;
	hop_val in[2] = { HOP_BAD, to_front(b, &f, x) }, y = HOP_BAD;
	if (exclusive)
		in[0] = start(b, kind, outer);
	struct steps s;
	hop_size dim[2];
	hop_graph *g;
	steps_open(&s, t);
	for (int i = 0; i < f.nrest; i++)
		dim[i] = steps_size(&s, f.rest[i]);
	const hop_type *inner = hop_type_get(hop_env_of(t), d, f.nrest, dim);
	hop_val had = hop_build_param(&s.b, inner), next = hop_build_param(&s.b, inner);
	hop_val both = joined(&s.b, kind, had, next);
	hop_status st = hop_seal(&s.b, 1, &both, NULL, &g);
	b->st = b->st ? b->st : st;
	if (b->st)
		return HOP_BAD;
	hop_assoc a = { .combine = g, .sargs = { s.narg, s.arg }, .length = f.n,
	                .ninit = exclusive, .nx = 1, .reverse = how & HOP_CUM_REVERSE,
	                .exclusive = exclusive };
	hop_assoc_here(t, &a, in + !exclusive, &y);
	return b->st ? HOP_BAD : from_front(b, &f, y);
}

static void make_running(hop_trace *t, void *arg)
{
	struct running *c = arg;
	hop_build *b = &t->b;
	if ((unsigned)c->kind >= NRUNNING) {
		hop_trace_fail(t, HOP_EVALUE, "cum: there is no kind %d", (int)c->kind);
		return;
	}
	if (c->how & ~(HOP_CUM_REVERSE | HOP_CUM_EXCLUSIVE)) {
		hop_trace_fail(t, HOP_EVALUE, "%s: how is %d, it may be HOP_CUM_REVERSE, HOP_CUM_EXCLUSIVE "
		               "or both", t->op, c->how);
		return;
	}
	hop_val x = operand(t, c->kind, c->x);
	int axis = b->st ? -1 : hop_axis(t, t->op, c->axis, hop_typeof(b, x)->rank);
	if (axis < 0)
		return;
	hop_val y = hop_running(t, c->kind, x, axis, c->how);
	if (!b->st)
		c->r = hop_rounded(t, y, 1, &c->x);
}

hop_value hop_at_cum(hop_trace *t, const char *file, int line, enum hop_cum kind, hop_value x,
                     int axis, int how)
{
	struct running c = { .x = x, .kind = kind, .axis = axis, .how = how };
	const char *op = (unsigned)kind >= NRUNNING ? "cum" : running_name[kind];
	return hop_enter(t, op, file, line, make_running, &c) ? c.r : (hop_value){ 0, 0 };
}

/* ---- the k largest ---- */

struct top {
	hop_value  x;
	int        axis, n;
	int64_t    k;
	hop_value *out;
};

/* Step by step the first of the largest that were not taken yet; a NaN is larger than all. The
 * carry says which were taken: values do not tell, they may be the least there are.
 * x: [m, n]; gives [k, m]. */
static hop_val largest(hop_trace *t, hop_val x, int64_t k)
{
	struct steps s;
	const hop_type *type = hop_typeof(&t->b, x);
	hop_dtype d = (hop_dtype)type->dtype;
	int64_t one = 1;
	steps_open(&s, t);
	hop_build *b = &s.b;
	hop_size m = steps_size(&s, type->dim[0]), dim[2] = { m, steps_size(&s, type->dim[1]) };
	hop_val taken = hop_build_param(b, hop_type_get(b->env, HOP_bool, 2, dim));
	hop_val all = hop_build_param(b, hop_type_get(b->env, d, 2, dim));
	hop_val least = start(b, HOP_CUM_MAX, hop_typeof(b, all));
	hop_val left = hop_emit(b, select, taken, least, all);
	hop_val is = hop_emit(b, eq, all, hop_along(b, left, 1, HOP_OP_amax));
	if (hop_dtype_float(d))
		is = hop_emit(b, or, is, hop_emit(b, ne, all, all));
	is = hop_emit(b, and, is, hop_emit(b, not, taken));
	struct hop_attr_argmax axis = { .axis = 1 };
	hop_val at = hop_emit_op(b, HOP_OP_argmax, &axis, 1, &is);
	hop_val place = hop_emit_iota(b, HOP_i64, 2, dim, 1);
	hop_val here = hop_emit(b, eq, place, hop_widened(b, at, hop_typeof(b, all), 1, &one));
	hop_val res[2] = { hop_emit(b, or, taken, here), at };
	hop_val none = hop_emit_zeros(&t->b, hop_type_with(hop_env_of(t), type, HOP_bool));
	hop_scan_args a = { .nconst = 1, .konst = &x, .length = hop_size_int(k) };
	return steps_run(t, &s, res, none, &a);
}

static bool enough(hop_trace *t, hop_size n, int64_t k)
{
	hop_size want = hop_size_int(k);
	if (k < 1) {
		hop_trace_fail(t, HOP_EVALUE, "topk: k is %lld, it must be at least 1", (long long)k);
		return false;
	}
	if (hop_build_holds(&t->b, HOP_LE, want, n) == HOP_NEVER) {
		hop_trace_fail(t, HOP_ESHAPE, "topk: k is %lld, more than there are on the axis",
		               (long long)k);
		return false;
	}
	hop_build_check(&t->b, (hop_check){ .a = want, .b = n, .rel = HOP_LE, .op = HOP_OP_argmax,
	                                    .loc = t->b.loc, .as = t->op,
	                                    .what = "k is {0}, the axis has {1}" });
	return true;
}

static void make_topk(hop_trace *t, void *arg)
{
	struct top *c = arg;
	hop_build *b = &t->b;
	hop_env *e = hop_env_of(t);
	if (!c->out) {
		hop_trace_fail(t, HOP_EUSE, "topk: no place for the two results was given");
		return;
	}
	hop_val x = hop_value_read(t, c->x);
	int axis = b->st ? -1 : hop_axis(t, "topk", c->axis, hop_typeof(b, x)->rank);
	if (axis < 0 || !enough(t, hop_typeof(b, x)->dim[axis], c->k))
		return;
	const hop_type *type = hop_typeof(b, x);
	int64_t to[HOP_MAXRANK], back[HOP_MAXRANK];
	hop_size dim[HOP_MAXRANK], flat[2] = { hop_size_int(1), type->dim[axis] };
	int last = type->rank - 1;
	for (int i = 0; i <= last; i++) {
		to[i] = i == last ? axis : i + (i >= axis);
		back[to[i]] = i;
		dim[i] = i == last ? hop_size_int(c->k) : type->dim[to[i]];
		if (i < last)
			flat[0] = hop_size_mul(e, flat[0], dim[i]);
	}
	x = hop_emit_reshape(b, hop_emit_permute(b, x, to), 2, flat);
	hop_val at = b->st ? HOP_BAD : largest(t, x, c->k);
	at = b->st ? HOP_BAD : hop_emit_permute(b, at, (int64_t[]){ 1, 0 });
	hop_val v = b->st ? HOP_BAD : hop_emit_gather(b, x, at, 1, 1);
	v = hop_emit_permute(b, hop_emit_reshape(b, v, last + 1, dim), back);
	at = hop_emit_permute(b, hop_emit_reshape(b, at, last + 1, dim), back);
	if (b->st)
		return;
	c->out[0] = hop_value_new(t, v);
	c->out[1] = hop_value_new(t, at);
	c->n = b->st ? 0 : 2;
}

int hop_at_topk(hop_trace *t, const char *file, int line, hop_value x, int axis, int64_t k,
                hop_value *out)
{
	struct top c = { .x = x, .axis = axis, .k = k, .out = out };
	return hop_enter(t, "topk", file, line, make_topk, &c) ? c.n : 0;
}
