/* linalg.c -- linear algebra: equations, factors, and parts of matrices. Promotes and broadcasts, as
 * all constructors do; solves nothing itself. */
#include "trace/trace.h"
#include "hop/linalg.h"

struct linalg {
	hop_value x, y, r;
	int       flags;
	int64_t   k;
};

static hop_value run(hop_trace *t, const char *op, const char *file, int line, hop_make_fn *make,
                     struct linalg c)
{
	return hop_enter(t, op, file, line, make, &c) ? c.r : (hop_value){ 0, 0 };
}

/* The dtype that n operands are computed in: f32 for integers. */
static hop_dtype float_of(hop_trace *t, int n, const hop_value *v)
{
	hop_dtype d = hop_promote_dtype(t, n, v);
	return hop_dtype_float(d) ? d : HOP_f32;
}

static bool flags_known(hop_trace *t, int flags, int known)
{
	if (!(flags & ~known))
		return true;
	hop_trace_fail(t, HOP_EVALUE, "%s: flags %d: %d has no meaning here", t->op, flags,
	               flags & ~known);
	return false;
}

/* x as a matrix or a batch of them, in dtype d; HOP_BAD after a failure. */
static hop_val matrices(hop_trace *t, hop_value x, hop_dtype d)
{
	hop_val v = hop_promote_cast(t, x, d);
	if (t->b.st)
		return HOP_BAD;
	const hop_type *type = hop_typeof(&t->b, v);
	if (type->rank >= 2)
		return v;
	hop_trace_fail(t, HOP_ESHAPE, "%s: %s: a matrix is wanted, or a batch of them", t->op,
	               hop_type_text(t, type));
	return HOP_BAD;
}

/* Known to be different: what the op would say in its own name is said in that of the call. */
static bool differ(hop_trace *t, hop_size a, hop_size b)
{
	return hop_build_holds(&t->b, HOP_EQ, a, b) == HOP_NEVER;
}

static bool square(hop_trace *t, const hop_type *x)
{
	if (!differ(t, x->dim[x->rank - 2], x->dim[x->rank - 1]))
		return true;
	hop_trace_fail(t, HOP_ESHAPE, "%s: %s: as many rows as columns are wanted", t->op,
	               hop_type_text(t, x));
	return false;
}

static hop_val triangular(hop_build *b, hop_val a, hop_val x, int flags)
{
	struct hop_attr_triangular_solve p = { .upper = (flags & HOP_UPPER) != 0,
	                                       .transposed = (flags & HOP_TRANSPOSED) != 0,
	                                       .unit = (flags & HOP_UNIT) != 0 };
	return hop_emit_op(b, HOP_OP_triangular_solve, &p, 2, (hop_val[]){ a, x });
}

/* ---- equations ---- */

typedef hop_val equations(hop_build *b, hop_val a, hop_val x, int flags);

/* A vector on the right is one column. */
static void make_equations(hop_trace *t, struct linalg *c, equations *f)
{
	hop_build *b = &t->b;
	hop_value both[2] = { c->x, c->y };
	hop_dtype d = float_of(t, 2, both);
	hop_val x = hop_promote_cast(t, c->x, d), y = hop_promote_cast(t, c->y, d);
	if (b->st)
		return;
	const hop_type *xt = hop_typeof(b, x), *yt = hop_typeof(b, y);
	bool vector = yt->rank == 1;
	if (xt->rank < 2 || !yt->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s: a matrix on the left, and one or a vector "
		               "on the right", t->op, hop_type_text(t, xt), hop_type_text(t, yt));
		return;
	}
	if (!square(t, xt))
		return;
	if (differ(t, xt->dim[xt->rank - 2], yt->dim[vector ? 0 : yt->rank - 2])) {
		hop_trace_fail(t, HOP_ESHAPE, "%s: %s and %s: as many rows are wanted on both sides", t->op,
		               hop_type_text(t, xt), hop_type_text(t, yt));
		return;
	}
	if (vector)
		y = hop_emit_reshape(b, y, 2, (hop_size[]){ yt->dim[0], hop_size_int(1) });
	if (!b->st)
		hop_same_batch(t, &x, &y);
	hop_val v = b->st ? HOP_BAD : f(b, x, y, c->flags);
	if (vector && !b->st)
		v = hop_emit_reshape(b, v, hop_typeof(b, v)->rank - 1, hop_typeof(b, v)->dim);
	c->r = hop_value_new(t, v);
}

static hop_val solve(hop_build *b, hop_val a, hop_val x, int flags)
{
	(void)flags;
	return hop_emit(b, solve, a, x);
}

static void make_solve(hop_trace *t, void *arg)
{
	make_equations(t, arg, solve);
}

hop_value hop_at_solve(hop_trace *t, const char *file, int line, hop_value a, hop_value b)
{
	return run(t, "solve", file, line, make_solve, (struct linalg){ .x = a, .y = b });
}

static void make_triangular(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	if (flags_known(t, c->flags, HOP_UPPER | HOP_TRANSPOSED | HOP_UNIT))
		make_equations(t, c, triangular);
}

hop_value hop_at_triangular_solve(hop_trace *t, const char *file, int line, hop_value a,
                                  hop_value b, int flags)
{
	return run(t, "triangular_solve", file, line, make_triangular,
	           (struct linalg){ .x = a, .y = b, .flags = flags });
}

/* l l^T x = b, or u^T u x = b */
static hop_val cho_solve(hop_build *b, hop_val l, hop_val x, int flags)
{
	int first = flags & HOP_UPPER ? HOP_UPPER | HOP_TRANSPOSED : HOP_LOWER;
	x = triangular(b, l, x, first);
	return b->st ? HOP_BAD : triangular(b, l, x, first ^ HOP_TRANSPOSED);
}

static void make_cho_solve(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	if (flags_known(t, c->flags, HOP_UPPER))
		make_equations(t, c, cho_solve);
}

hop_value hop_at_cho_solve(hop_trace *t, const char *file, int line, hop_value l, hop_value b,
                           int flags)
{
	return run(t, "cho_solve", file, line, make_cho_solve,
	           (struct linalg){ .x = l, .y = b, .flags = flags });
}

/* ---- factors ---- */

static void make_cholesky(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	hop_build *b = &t->b;
	if (!flags_known(t, c->flags, HOP_UPPER))
		return;
	hop_val a = matrices(t, c->x, float_of(t, 1, &c->x));
	if (b->st)
		return;
	if (!square(t, hop_typeof(b, a)))
		return;
	if (c->flags & HOP_UPPER)
		a = hop_emit_turned(b, a);
	a = hop_emit(b, cholesky, a);
	c->r = hop_value_new(t, c->flags & HOP_UPPER ? hop_emit_turned(b, a) : a);
}

hop_value hop_at_cholesky(hop_trace *t, const char *file, int line, hop_value a, int flags)
{
	return run(t, "cholesky", file, line, make_cholesky, (struct linalg){ .x = a, .flags = flags });
}

/* The identity, for each of the matrices that x is. */
static hop_val identity(hop_build *b, hop_val x)
{
	hop_val low = hop_emit_below(b, x, 0), under = hop_emit_below(b, x, -1);
	if (b->st)
		return HOP_BAD;
	hop_dtype d = (hop_dtype)hop_typeof(b, x)->dtype;
	return hop_emit_cast(b, hop_emit(b, xor, low, under), d);
}

static void make_inv(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	hop_val a = matrices(t, c->x, float_of(t, 1, &c->x));
	if (t->b.st || !square(t, hop_typeof(&t->b, a)))
		return;
	hop_val e = identity(&t->b, a);
	c->r = hop_value_new(t, t->b.st ? HOP_BAD : hop_emit(&t->b, solve, a, e));
}

hop_value hop_at_inv(hop_trace *t, const char *file, int line, hop_value a)
{
	return run(t, "inv", file, line, make_inv, (struct linalg){ .x = a });
}

/* ---- diagonals ---- */

/* Matrices with the vectors x on their diagonals. */
static hop_val spread(hop_build *b, hop_val x)
{
	const hop_type *t = hop_typeof(b, x);
	int r = t->rank;
	hop_size dim[HOP_MAXRANK + 1];
	int64_t axes[HOP_MAXRANK];
	for (int i = 0; i < r; i++) {
		dim[i] = t->dim[i];
		axes[i] = i;
	}
	dim[r] = t->dim[r - 1];
	hop_val m = hop_emit_broadcast(b, x, r + 1, dim, axes);
	hop_val low = hop_emit_below(b, m, 0), under = hop_emit_below(b, m, -1);
	if (b->st)
		return HOP_BAD;
	hop_val on = hop_emit(b, xor, low, under);
	return hop_emit(b, select, on, m, hop_emit_zeros(b, hop_typeof(b, m)));
}

/* The element at i, i is element i * (columns + 1) of a matrix: that is where to gather. */
static hop_val diagonal(hop_build *b, hop_val x)
{
	const hop_type *t = hop_typeof(b, x);
	int r = t->rank;
	hop_size rows = t->dim[r - 2], cols = t->dim[r - 1], n = hop_size_min(b->env, rows, cols);
	hop_size dim[HOP_MAXRANK];
	for (int i = 0; i < r - 2; i++)
		dim[i] = t->dim[i];
	dim[r - 2] = hop_size_mul(b->env, rows, cols);
	hop_val i = hop_emit_iota(b, HOP_i64, 1, &n, 0);
	hop_val step = hop_emit_size(b, hop_size_add(b->env, cols, hop_size_int(1)));
	if (b->st)
		return HOP_BAD;
	i = hop_emit(b, mul, i, hop_emit_match(b, step, hop_typeof(b, i)));
	return hop_emit_gather(b, hop_emit_reshape(b, x, r - 1, dim), i, r - 2, 0);
}

static void make_diag(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	hop_val x = hop_value_read(t, c->x);
	if (t->b.st)
		return;
	const hop_type *type = hop_typeof(&t->b, x);
	if (!type->rank) {
		hop_trace_fail(t, HOP_ESHAPE, "diag: %s: a vector or a matrix is wanted",
		               hop_type_text(t, type));
		return;
	}
	c->r = hop_value_new(t, type->rank == 1 ? spread(&t->b, x) : diagonal(&t->b, x));
}

hop_value hop_at_diag(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "diag", file, line, make_diag, (struct linalg){ .x = x });
}

/* Integers add up as i64, as they do in hop_sum. */
static hop_val sum_diagonal(hop_build *b, hop_val x)
{
	if (b->st)
		return HOP_BAD;
	const hop_type *t = hop_typeof(b, x);
	int64_t axis = t->rank - 2;
	if (!hop_dtype_float((hop_dtype)t->dtype))
		x = hop_emit_cast(b, x, HOP_i64);
	x = diagonal(b, x);
	return b->st ? HOP_BAD : hop_emit_sum(b, x, 1, &axis);
}

static void make_diag_sum(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	hop_val x = matrices(t, c->x, hop_promote_dtype(t, 1, &c->x));
	c->r = hop_value_new(t, sum_diagonal(&t->b, x));
}

hop_value hop_at_diag_sum(hop_trace *t, const char *file, int line, hop_value x)
{
	return run(t, "diag_sum", file, line, make_diag_sum, (struct linalg){ .x = x });
}

/* Twice the sum of the logarithms of the diagonal. A packed dtype is rounded once. */
static void make_cho_logdet(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	hop_build *b = &t->b;
	hop_dtype d = float_of(t, 1, &c->x);
	hop_val x = matrices(t, c->x, hop_dtype_computes(d));
	if (b->st)
		return;
	int64_t axis = hop_typeof(b, x)->rank - 2;
	x = diagonal(b, x);
	x = b->st ? HOP_BAD : hop_emit_sum(b, hop_emit(b, log, x), 1, &axis);
	x = b->st ? HOP_BAD : hop_emit(b, mul, x, hop_emit_full(b, hop_typeof(b, x), 2));
	c->r = hop_value_new(t, b->st ? HOP_BAD : hop_emit_cast(b, x, d));
}

hop_value hop_at_cho_logdet(hop_trace *t, const char *file, int line, hop_value l)
{
	return run(t, "cho_logdet", file, line, make_cho_logdet, (struct linalg){ .x = l });
}

/* ---- triangles and products ---- */

static void make_triangle(hop_trace *t, struct linalg *c, bool upper)
{
	hop_build *b = &t->b;
	hop_val x = matrices(t, c->x, hop_promote_dtype(t, 1, &c->x));
	int64_t most = upper && c->k > INT64_MIN ? c->k - 1 : c->k;
	hop_val low = b->st ? HOP_BAD : hop_emit_below(b, x, most);
	if (b->st)
		return;
	hop_val zero = hop_emit_zeros(b, hop_typeof(b, x));
	c->r = hop_value_new(t, hop_emit(b, select, low, upper ? zero : x, upper ? x : zero));
}

static void make_tril(hop_trace *t, void *arg)
{
	make_triangle(t, arg, false);
}

static void make_triu(hop_trace *t, void *arg)
{
	make_triangle(t, arg, true);
}

hop_value hop_at_tril(hop_trace *t, const char *file, int line, hop_value x, int64_t k)
{
	return run(t, "tril", file, line, make_tril, (struct linalg){ .x = x, .k = k });
}

hop_value hop_at_triu(hop_trace *t, const char *file, int line, hop_value x, int64_t k)
{
	return run(t, "triu", file, line, make_triu, (struct linalg){ .x = x, .k = k });
}

static void make_outer(hop_trace *t, void *arg)
{
	struct linalg *c = arg;
	hop_build *b = &t->b;
	hop_value both[2] = { c->x, c->y };
	hop_dtype d = hop_promote_dtype(t, 2, both);
	hop_val x = hop_promote_cast(t, c->x, d), y = hop_promote_cast(t, c->y, d);
	if (b->st)
		return;
	const hop_type *xt = hop_typeof(b, x), *yt = hop_typeof(b, y);
	if (xt->rank != 1 || yt->rank != 1) {
		hop_trace_fail(t, HOP_ESHAPE, "outer: %s and %s: two vectors are wanted",
		               hop_type_text(t, xt), hop_type_text(t, yt));
		return;
	}
	hop_size dim[2] = { xt->dim[0], yt->dim[0] };
	x = hop_emit_broadcast(b, x, 2, dim, (int64_t[]){ 0 });
	y = hop_emit_broadcast(b, y, 2, dim, (int64_t[]){ 1 });
	c->r = hop_value_new(t, hop_emit(b, mul, x, y));
}

hop_value hop_at_outer(hop_trace *t, const char *file, int line, hop_value x, hop_value y)
{
	return run(t, "outer", file, line, make_outer, (struct linalg){ .x = x, .y = y });
}
