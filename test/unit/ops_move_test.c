/* ops_move_test.c -- moving, indexing, reducing ops and dot: values, messages, and for each
 * a graph that is differentiated twice and batched over every subset of its operands.
 * Derivatives are compared with differences, batches with one run a lane. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ad/ad.h"
#include "interp/interp.h"

enum { MAXIO = 16, LANES = 3 };

struct rig {
	hop_ctx   *c;
	hop_env    e;
	hop_frame  f;
	hop_interp p;
	uint64_t   seed;
	hop_build  b;            /* the graph of the running case */
};

static int up(void **state)
{
	static struct rig r;
	memset(&r, 0, sizeof r);
	if (hop_ctx_new(NULL, &r.c))
		return -1;
	hop_env_init(&r.e, r.c, hop_ctx_mem(r.c));
	hop_interp_init(&r.p, &r.e);
	r.seed = 12345;
	*state = &r;
	return 0;
}

static int down(void **state)
{
	struct rig *r = *state;
	r->e.frame = NULL;          /* a failed assertion jumps out of its guard */
	hop_interp_fini(&r->p);
	hop_env_fini(&r->e);
	hop_ctx_free(r->c);
	return 0;
}

/* ---- making inputs ---- */

static double uniform(struct rig *r)
{
	r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(r->seed >> 11) * 0x1p-53;
}

static const hop_type *type_of(struct rig *r, hop_dtype d, int rank, const int *dim)
{
	hop_size s[HOP_MAXRANK];
	for (int i = 0; i < rank; i++)
		s[i] = hop_size_int(dim[i]);
	return hop_type_get(&r->e, d, rank, s);
}

#define PARAM(r, d, ...) \
	hop_build_param(&(r)->b, type_of((r), (d), \
	                (int)(sizeof((int[]){ 0, __VA_ARGS__ }) / sizeof(int)) - 1, \
	                (int[]){ 0, __VA_ARGS__ } + 1))
#define INTS(...) ((hop_ints){ sizeof((int64_t[]){ __VA_ARGS__ }) / 8, (int64_t[]){ __VA_ARGS__ } })
#define S(k) hop_size_int(k)

/* Floats in -1 .. 1; integers in -3 .. 7, which leaves every axis of the cases below. */
static hop_array *random_of(struct rig *r, const hop_type *t)
{
	hop_array *x = hop_interp_of(&r->p, t);
	for (int64_t i = 0; i < x->count; i++)
		if (hop_dtype_float(x->dtype))
			hop_array_set_f(x, i, 2 * uniform(r) - 1);
		else
			hop_array_set_i(x, i, (int64_t)(uniform(r) * 11) - 3);
	return x;
}

static void run(struct rig *r, const hop_graph *g, hop_array *const *in, hop_array **out)
{
	hop_status st = hop_interp_graph(&r->p, g, NULL, in, out);
	if (st)
		fail_msg("%s", r->e.diag.text);
}

static void ok(struct rig *r, hop_status st)
{
	if (st)
		fail_msg("%s", r->e.diag.text);
}

/* ---- derivatives ---- */

static hop_array *moved(struct rig *r, const hop_array *x, const hop_array *d, double h)
{
	hop_array *y = hop_interp_new(&r->p, x->dtype, x->rank, x->dim);
	for (int64_t i = 0; i < x->count; i++)
		hop_array_set_f(y, i, hop_array_f(x, i) + h * hop_array_f(d, i));
	return y;
}

static double inner(const hop_array *x, const hop_array *y)
{
	double s = 0;
	assert_int_equal(x->count, y->count);
	for (int64_t i = 0; i < x->count; i++)
		s += hop_array_f(x, i) * hop_array_f(y, i);
	return s;
}

static void near(double got, double want, double eps)
{
	if (!(fabs(got - want) <= eps * (1 + fabs(want))))
		fail_msg("%.17g, not %.17g", got, want);
}

/* All float parameters are moved at once, along random tangents. */
static void check_grad(struct rig *r, const hop_graph *g, int depth)
{
	bool act[MAXIO], outs[MAXIO];
	hop_array *in[2 * MAXIO], *lo[MAXIO], *hi[MAXIO], *d[MAXIO], *ct[MAXIO];
	hop_array *o[2 * MAXIO], *a[MAXIO], *b[MAXIO];
	const hop_graph *j, *v;
	const double h = 1e-5;
	uint32_t n = g->nparam, k = g->nparam, m = g->nout;

	for (uint32_t i = 0; i < n; i++) {
		act[i] = hop_dtype_float(g->type[i]->dtype);
		lo[i] = hi[i] = in[i] = random_of(r, g->type[i]);
		if (!act[i])
			continue;
		d[i] = in[k++] = random_of(r, g->type[i]);
		lo[i] = moved(r, in[i], d[i], -h);
		hi[i] = moved(r, in[i], d[i], h);
	}
	for (uint32_t i = 0; i < m; i++)
		outs[i] = true;
	ok(r, hop_ad_jvp(&r->e, g, act, outs, &j));
	run(r, j, in, o);
	run(r, g, lo, a);
	run(r, g, hi, b);
	double left = 0, right = 0;
	k = n;
	for (uint32_t i = 0; i < m; i++) {
		hop_array *t = o[m + i];
		assert_int_equal(t->count, a[i]->count);
		for (int64_t e = 0; e < t->count; e++)
			near(hop_array_f(t, e),
			     (hop_array_f(b[i], e) - hop_array_f(a[i], e)) / (2 * h), 1e-6);
		ct[i] = in[k++] = random_of(r, hop_graph_out_type(g, i));
		left += inner(ct[i], t);
	}
	ok(r, hop_ad_vjp(&r->e, g, outs, act, &v));
	run(r, v, in, o);
	k = m;
	for (uint32_t i = 0; i < n; i++)
		if (act[i])
			right += inner(o[k++], d[i]);
	near(right, left, 1e-10);
	if (depth > 1) {
		check_grad(r, j, depth - 1);
		check_grad(r, v, depth - 1);
	}
}

/* ---- batching ---- */

static hop_array *lane(struct rig *r, const hop_array *x, int i)
{
	hop_array *y = hop_interp_new(&r->p, x->dtype, x->rank - 1, x->dim + 1);
	size_t n = (size_t)y->count * hop_dtype_bytes(y->dtype);
	memcpy(y->data, (const char *)x->data + (size_t)i * n, n);
	return y;
}

static void check_batch_of(struct rig *r, const hop_graph *g, const bool *bin)
{
	hop_array *in[MAXIO], *one[MAXIO], *o[MAXIO], *w[MAXIO];
	bool bout[MAXIO];
	const hop_graph *v;
	hop_batch_spec s = { .size = LANES, .in = bin };
	ok(r, hop_ad_batch(&r->e, g, &s, &v, bout));
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = random_of(r, v->type[i]);
	run(r, v, in, o);
	for (int k = 0; k < LANES; k++) {
		for (uint32_t i = 0; i < g->nparam; i++)
			one[i] = bin[i] ? lane(r, in[i], k) : in[i];
		run(r, g, one, w);
		for (uint32_t i = 0; i < g->nout; i++) {
			hop_array *t = bout[i] ? lane(r, o[i], k) : o[i];
			assert_int_equal(t->rank, w[i]->rank);
			for (int q = 0; q < t->rank; q++)
				assert_int_equal(t->dim[q], w[i]->dim[q]);
			for (int64_t e = 0; e < t->count; e++)
				near(hop_array_f(t, e), hop_array_f(w[i], e), 1e-12);
		}
	}
}

/* Every subset of the parameters that is not empty, up to a few of them. */
static void check_batch(struct rig *r, const hop_graph *g)
{
	for (uint32_t set = 1; set < 1u << g->nparam; set++) {
		bool bin[MAXIO];
		for (uint32_t i = 0; i < g->nparam; i++)
			bin[i] = set >> i & 1;
		check_batch_of(r, g, bin);
	}
}

/* Seal the graph with the square of v as its result and try everything on it. */
static void check(struct rig *r, hop_val v)
{
	hop_graph *g;
	hop_val o = r->b.st ? HOP_BAD : hop_emit(&r->b, mul, v, v);
	ok(r, hop_seal(&r->b, 1, &o, NULL, &g));
	check_grad(r, g, 2);
	check_batch(r, g);
	bool act[MAXIO], outs[MAXIO] = { true };
	const hop_graph *d;
	for (uint32_t i = 0; i < g->nparam; i++)
		act[i] = hop_dtype_float(g->type[i]->dtype);
	ok(r, hop_ad_vjp(&r->e, g, outs, act, &d));
	check_batch(r, d);
	/* lanes of lanes */
	bool bin[MAXIO] = { true }, bout[MAXIO];
	hop_batch_spec s = { .size = 2, .in = bin };
	ok(r, hop_ad_batch(&r->e, g, &s, &d, bout));
	check_batch(r, d);
	hop_interp_fini(&r->p);
	hop_interp_init(&r->p, &r->e);
}

/* Open the builder of a case inside a guard. */
#define BEGIN(state) \
	struct rig *r = *(state); \
	if (HOP_GUARD(&r->e, &r->f)) \
		fail(); \
	hop_build *b = &r->b
#define END() hop_guard_end(&r->e, &r->f)
#define OPEN() hop_build_open(b, &r->e)

static void test_views(void **state)
{
	BEGIN(state);
	hop_val x;
	OPEN();
	x = PARAM(r, HOP_f64, 3, 4);
	check(r, hop_emit_broadcast(b, x, 4, (hop_size[]){ S(2), S(3), S(2), S(4) },
	                            (int64_t[]){ 1, 3 }));
	OPEN();
	x = PARAM(r, HOP_f64, 3, 4);
	check(r, hop_emit_reshape(b, x, 3, (hop_size[]){ S(2), S(3), S(2) }));
	OPEN();
	x = PARAM(r, HOP_f64, 3, 4, 2);
	check(r, hop_emit_permute(b, x, (int64_t[]){ 2, 0, 1 }));
	OPEN();
	x = PARAM(r, HOP_f64, 5, 7);
	check(r, hop_emit_slice(b, x, (hop_size[]){ S(4), S(1) }, (hop_size[]){ S(3), S(2) },
	                        (int64_t[]){ -2, 3 }));
	OPEN();
	x = PARAM(r, HOP_f64, 3, 2);
	check(r, hop_emit_pad(b, x, (hop_size[]){ S(4), S(1) }, (hop_size[]){ S(5), S(7) },
	                      (int64_t[]){ -2, 3 }));
	OPEN();
	hop_val in[3];
	in[0] = PARAM(r, HOP_f64, 2, 3);
	in[1] = PARAM(r, HOP_f64, 2, 0);
	in[2] = PARAM(r, HOP_f64, 2, 4);
	check(r, hop_emit_concat(b, 3, in, 1));
	END();
}

static hop_val dynslice(hop_build *b, hop_val x, hop_val i, hop_val j, int m, int n)
{
	struct hop_attr_dynslice a = { .dims = { 2, (hop_size[]){ S(m), S(n) } } };
	return hop_emit_op(b, HOP_OP_dynslice, &a, 3, (hop_val[]){ x, i, j });
}

static void test_windows(void **state)
{
	BEGIN(state);
	static const int size[][2] = { { 2, 3 }, { 4, 3 }, { 2, 5 }, { 4, 5 }, { 0, 2 } };
	for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
		OPEN();
		hop_val x = PARAM(r, HOP_f64, 4, 5);
		hop_val i = PARAM(r, HOP_i64), j = PARAM(r, HOP_i64);
		check(r, dynslice(b, x, i, j, size[k][0], size[k][1]));
		OPEN();
		x = PARAM(r, HOP_f64, 4, 5);
		hop_val u = PARAM(r, HOP_f64, size[k][0], size[k][1]);
		i = PARAM(r, HOP_i64), j = PARAM(r, HOP_i64);
		check(r, hop_emit(b, dynupdate, x, u, i, j));
	}
	END();
}

static void test_gather(void **state)
{
	BEGIN(state);
	for (int k = 0; k < 6; k++) {
		/* which axis is read, and how many lead */
		static const struct { int axis, nbatch; } c[] = {
			{ 0, 0 }, { 1, 0 }, { 2, 0 }, { 1, 1 }, { 2, 1 }, { 2, 2 },
		};
		hop_dtype d = k % 2 ? HOP_i32 : HOP_i64;
		OPEN();
		hop_val x = PARAM(r, HOP_f64, 2, 3, 4);
		hop_val i = PARAM(r, d, 2, 3);
		check(r, hop_emit_gather(b, x, i, c[k].axis, c[k].nbatch));
		OPEN();
		x = PARAM(r, HOP_f64, 2, 3, 4);
		i = PARAM(r, d, 2, 3);
		hop_val u = hop_emit_gather(b, x, i, c[k].axis, c[k].nbatch);
		const hop_type *t = hop_typeof(b, u);
		hop_build_drop(b);
		OPEN();
		x = PARAM(r, HOP_f64, 2, 3, 4);
		i = PARAM(r, d, 2, 3);
		u = hop_build_param(b, t);
		check(r, hop_emit_scatter(b, HOP_MODE_add, x, i, u, c[k].axis, c[k].nbatch));
	}
	OPEN();
	hop_val x = PARAM(r, HOP_f64, 4), i = PARAM(r, HOP_i64);
	check(r, hop_emit_gather(b, x, i, 0, 0));
	END();
}

static void test_reduce(void **state)
{
	BEGIN(state);
	OPEN();
	hop_val x = PARAM(r, HOP_f64, 3, 4, 2);
	check(r, hop_emit_sum(b, x, 2, (int64_t[]){ 0, 2 }));
	OPEN();
	x = PARAM(r, HOP_f64, 3, 4, 2);
	check(r, hop_emit_amax(b, x, 2, (int64_t[]){ 0, 2 }));
	OPEN();
	x = PARAM(r, HOP_f64, 3, 0);
	check(r, hop_emit_sum(b, x, 1, (int64_t[]){ 1 }));
	struct hop_attr_amax none = { .axes = { 0, NULL } };
	OPEN();
	x = PARAM(r, HOP_f64, 3);
	check(r, hop_emit_op(b, HOP_OP_amax, &none, 1, &x));
	END();
}

static void test_dot(void **state)
{
	BEGIN(state);
	hop_val x, y;
	hop_ints no = { 0, NULL };
	OPEN();                           /* plain product */
	x = PARAM(r, HOP_f64, 3, 4);
	y = PARAM(r, HOP_f64, 4, 2);
	check(r, hop_emit_dot(b, x, y, no, no, INTS(1), INTS(0)));
	OPEN();                           /* inner, outer */
	x = PARAM(r, HOP_f64, 3);
	y = PARAM(r, HOP_f64, 3);
	check(r, hop_emit_dot(b, x, y, no, no, INTS(0), INTS(0)));
	OPEN();
	x = PARAM(r, HOP_f64, 3);
	y = PARAM(r, HOP_f64, 2);
	check(r, hop_emit_dot(b, x, y, no, no, no, no));
	OPEN();                           /* batch axes in the middle, two sums crossed */
	x = PARAM(r, HOP_f64, 2, 3, 4, 5);
	y = PARAM(r, HOP_f64, 4, 3, 2, 2);
	check(r, hop_emit_dot(b, x, y, INTS(1), INTS(1), INTS(2, 0), INTS(0, 3)));
	OPEN();                           /* two batch axes crossed, every axis bound */
	x = PARAM(r, HOP_f64, 2, 3, 4);
	y = PARAM(r, HOP_f64, 3, 4, 2);
	check(r, hop_emit_dot(b, x, y, INTS(2, 0), INTS(1, 2), INTS(1), INTS(0)));
	END();
}

/* ---- values that differences cannot show ---- */

static hop_array *result(struct rig *r, hop_val v, hop_array *const *in)
{
	hop_graph *g;
	hop_array *o;
	ok(r, hop_seal(&r->b, 1, &v, NULL, &g));
	run(r, g, in, &o);
	return o;
}

static hop_array *vec(struct rig *r, hop_dtype d, int n, const double *v)
{
	int64_t dim = n;
	hop_array *t = hop_interp_new(&r->p, d, 1, &dim);
	for (int i = 0; i < n; i++)
		hop_array_set_f(t, i, v[i]);
	return t;
}
#define VEC(r, d, ...) vec(r, d, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), \
                           (double[]){ __VA_ARGS__ })

static void same(const hop_array *t, int n, const double *v)
{
	assert_int_equal(t->count, n);
	for (int i = 0; i < n; i++)
		if (!(isnan(v[i]) ? isnan(hop_array_f(t, i)) : hop_array_f(t, i) == v[i]))
			fail_msg("element %d is %g, not %g", i, hop_array_f(t, i), v[i]);
}
#define SAME(t, ...) same(t, sizeof((double[]){ __VA_ARGS__ }) / sizeof(double), \
                          (double[]){ __VA_ARGS__ })

static void test_values(void **state)
{
	BEGIN(state);
	hop_val x, i, u, z;
	OPEN();                           /* reversal, and indices far outside */
	x = PARAM(r, HOP_i32, 4);
	SAME(result(r, hop_emit_slice(b, x, (hop_size[]){ S(3) }, (hop_size[]){ S(4) },
	                              (int64_t[]){ -1 }),
	            (hop_array *[]){ VEC(r, HOP_i32, 1, 2, 3, 4) }), 4, 3, 2, 1);
	OPEN();
	x = PARAM(r, HOP_bool, 3);
	i = PARAM(r, HOP_i64, 4);
	SAME(result(r, hop_emit_gather(b, x, i, 0, 0),
	            (hop_array *[]){ VEC(r, HOP_bool, 1, 0, 1), VEC(r, HOP_i64, -9, 1, 2, 9e18) }),
	     1, 0, 1, 1);
	OPEN();                           /* indices that meet add up; integers wrap */
	x = PARAM(r, HOP_i32, 2);
	i = PARAM(r, HOP_i32, 3);
	u = PARAM(r, HOP_i32, 3);
	SAME(result(r, hop_emit_scatter(b, HOP_MODE_add, x, i, u, 0, 0),
	            (hop_array *[]){ VEC(r, HOP_i32, 2147483647, 5), VEC(r, HOP_i32, 0, 1, 1),
	                              VEC(r, HOP_i32, 1, 10, 100) }), -2147483648.0, 115);
	OPEN();                           /* NaN wins, bool is any, nothing is the least */
	x = PARAM(r, HOP_f32, 3);
	SAME(result(r, hop_emit_amax(b, x, 1, (int64_t[]){ 0 }),
	            (hop_array *[]){ VEC(r, HOP_f32, 1, NAN, 7) }), NAN);
	OPEN();
	x = PARAM(r, HOP_bool, 3);
	SAME(result(r, hop_emit_amax(b, x, 1, (int64_t[]){ 0 }),
	            (hop_array *[]){ VEC(r, HOP_bool, 0, 1, 0) }), 1);
	OPEN();
	x = PARAM(r, HOP_i32, 0);
	SAME(result(r, hop_emit_amax(b, x, 1, (int64_t[]){ 0 }),
	            (hop_array *[]){ vec(r, HOP_i32, 0, NULL) }), INT32_MIN);
	OPEN();                           /* amin: the same the other way round */
	x = PARAM(r, HOP_f32, 3);
	SAME(result(r, hop_emit_amin(b, x, 1, (int64_t[]){ 0 }),
	            (hop_array *[]){ VEC(r, HOP_f32, 1, NAN, -7) }), NAN);
	OPEN();
	x = PARAM(r, HOP_bool, 3);
	SAME(result(r, hop_emit_amin(b, x, 1, (int64_t[]){ 0 }),
	            (hop_array *[]){ VEC(r, HOP_bool, 1, 0, 1) }), 0);
	OPEN();
	x = PARAM(r, HOP_i32, 0);
	SAME(result(r, hop_emit_amin(b, x, 1, (int64_t[]){ 0 }),
	            (hop_array *[]){ vec(r, HOP_i32, 0, NULL) }), INT32_MAX);
	OPEN();                           /* f32 adds in double */
	x = PARAM(r, HOP_f32, 3);
	SAME(result(r, hop_emit_sum(b, x, 1, (int64_t[]){ 0 }),
	            (hop_array *[]){ VEC(r, HOP_f32, 16777216, 1, 1) }), 16777218);
	OPEN();                           /* a sum over nothing, integers */
	x = PARAM(r, HOP_i64, 2);
	z = PARAM(r, HOP_i64, 2);
	SAME(result(r, hop_emit_dot(b, x, z, (hop_ints){ 0, NULL }, (hop_ints){ 0, NULL },
	                            INTS(0), INTS(0)),
	            (hop_array *[]){ VEC(r, HOP_i64, 3, 4), VEC(r, HOP_i64, -1, 2) }), 5);
	END();
}

/* Those that tie share equally. */
static void test_ties(void **state)
{
	BEGIN(state);
	OPEN();
	hop_val x = PARAM(r, HOP_f64, 4);
	hop_val v = hop_emit_amax(b, x, 1, (int64_t[]){ 0 });
	hop_graph *g;
	const hop_graph *d;
	hop_array *o[2], *in[2] = { VEC(r, HOP_f64, 2, 1, 2, 0) };
	ok(r, hop_seal(b, 1, &v, NULL, &g));
	ok(r, hop_ad_vjp(&r->e, g, (bool[]){ true }, (bool[]){ true }, &d));
	in[1] = hop_interp_new(&r->p, HOP_f64, 0, NULL);
	hop_array_set_f(in[1], 0, 3);
	run(r, d, in, o);
	SAME(o[1], 1.5, 0, 1.5, 0);
	END();
}

/* ---- symbolic sizes ---- */

static void test_symbolic(void **state)
{
	BEGIN(state);
	OPEN();
	hop_build_sym(b, (hop_range){ 0, HOP_SIZE_MAX }, "n");
	hop_size n = hop_size_sym(&r->e, 0), two = S(2);
	hop_val x = hop_build_param(b, hop_type_get(&r->e, HOP_f64, 1, &n));
	hop_size start = hop_size_sub(&r->e, n, two);     /* the last two, if there are two */
	hop_val v = hop_emit_slice(b, x, &start, &two, NULL);
	hop_graph *g;
	hop_array *o, *in = VEC(r, HOP_f64, 1, 2, 3);
	ok(r, hop_seal(b, 1, &v, NULL, &g));
	ok(r, hop_interp_graph(&r->p, g, (int64_t[]){ 3 }, &in, &o));
	SAME(o, 2, 3);
	in = VEC(r, HOP_f64, 1);
	assert_int_equal(hop_interp_graph(&r->p, g, (int64_t[]){ 1 }, &in, &o), HOP_ESHAPE);
	assert_string_equal(r->e.diag.text, "error: slice: the window on axis 0 starts at -1");
	hop_diag_clear(&r->e);

	OPEN();                           /* n*2 elements are 2*n; 2n and 6 may be equal */
	hop_build_sym(b, (hop_range){ 0, HOP_SIZE_MAX }, "n");
	hop_size dim[2] = { n, two }, flat = hop_size_mul(&r->e, two, n), six = S(6);
	x = hop_build_param(b, hop_type_get(&r->e, HOP_f64, 2, dim));
	v = hop_emit_reshape(b, x, 1, &flat);
	assert_int_equal(b->ncheck, 0);
	v = hop_emit_reshape(b, v, 1, &six);
	assert_int_equal(b->ncheck, 1);
	ok(r, hop_seal(b, 1, &v, NULL, &g));
	END();
}

/* Size parameters in the types and as the batch size: every rule must map them. */
static void test_symbolic_rules(void **state)
{
	BEGIN(state);
	OPEN();
	hop_build_sym(b, (hop_range){ 3, HOP_SIZE_MAX }, "n");
	hop_size n = hop_size_sym(&r->e, 0), wide[2] = { n, S(4) };
	hop_size part[2] = { hop_size_sub(&r->e, n, S(1)), S(2) };
	hop_val x = hop_build_param(b, hop_type_get(&r->e, HOP_f64, 2, wide));
	hop_val i = PARAM(r, HOP_i64), j = PARAM(r, HOP_i64);
	struct hop_attr_dynslice a = { .dims = { 2, part } };
	hop_val v = hop_emit_op(b, HOP_OP_dynslice, &a, 3, (hop_val[]){ x, i, j });
	v = hop_emit(b, dynupdate, x, hop_emit(b, mul, v, v), j, i);
	v = hop_emit_dot(b, v, x, (hop_ints){ 0, NULL }, (hop_ints){ 0, NULL }, INTS(0), INTS(0));
	v = hop_emit_amax(b, v, 1, (int64_t[]){ 1 });
	hop_graph *g;
	const hop_graph *d, *w;
	ok(r, hop_seal(b, 1, &v, NULL, &g));
	bool bout[2], lanes[4] = { false, true, true, false };
	ok(r, hop_ad_vjp(&r->e, g, (bool[]){ true }, (bool[]){ true, false, false }, &d));
	hop_batch_spec s = { .size = -1, .in = lanes };
	ok(r, hop_ad_batch(&r->e, d, &s, &w, bout));

	/* n = 5, three lanes: as each lane alone */
	int64_t syms[2] = { 5, LANES };
	hop_array *in[4], *one[4], *o[2], *want[2];
	in[0] = random_of(r, type_of(r, HOP_f64, 2, (int[]){ 5, 4 }));
	in[1] = random_of(r, type_of(r, HOP_i64, 1, (int[]){ LANES }));
	in[2] = random_of(r, type_of(r, HOP_i64, 1, (int[]){ LANES }));
	in[3] = random_of(r, type_of(r, HOP_f64, 1, (int[]){ 4 }));
	ok(r, hop_interp_graph(&r->p, w, syms, in, o));
	for (int k = 0; k < LANES; k++) {
		for (int q = 0; q < 4; q++)
			one[q] = lanes[q] ? lane(r, in[q], k) : in[q];
		ok(r, hop_interp_graph(&r->p, d, syms, one, want));
		for (int q = 0; q < 2; q++)
			for (int64_t e = 0; e < want[q]->count; e++)
				near(hop_array_f(lane(r, o[q], k), e), hop_array_f(want[q], e), 1e-12);
	}
	END();
}

/* ---- messages ---- */

static void refused(struct rig *r, hop_val v, hop_status st, const char *text)
{
	assert_true(hop_is_bad(v));
	assert_int_equal(r->b.st, st);
	assert_string_equal(r->e.diag.text, text);
	hop_build_drop(&r->b);
	hop_diag_clear(&r->e);
	hop_build_open(&r->b, &r->e);
}

static void test_messages(void **state)
{
	BEGIN(state);
	hop_ints no = { 0, NULL };
	OPEN();
	hop_val x = PARAM(r, HOP_f32, 2, 3), y = PARAM(r, HOP_f32, 4, 2);
	refused(r, hop_emit_dot(b, x, y, no, no, INTS(1), INTS(0)), HOP_ESHAPE,
	        "error: dot: left axis 1 has size 3, right axis 0 has size 4");
	x = PARAM(r, HOP_f32, 2), y = PARAM(r, HOP_f64, 2);
	refused(r, hop_emit_dot(b, x, y, no, no, INTS(0), INTS(0)), HOP_ETYPE,
	        "error: dot: f32 on the left, f64 on the right: cast one of them");
	x = PARAM(r, HOP_f32, 2);
	refused(r, hop_emit_broadcast(b, x, 2, (hop_size[]){ S(3), S(4) }, (int64_t[]){ 1 }),
	        HOP_ESHAPE, "error: broadcast: operand axis 0 has size 2, result axis 1 has size 4");
	x = PARAM(r, HOP_f32, 2, 3);
	refused(r, hop_emit_reshape(b, x, 1, (hop_size[]){ S(5) }), HOP_ESHAPE,
	        "error: reshape: the operand has 6 elements, the result 5");
	x = PARAM(r, HOP_f32, 5);
	refused(r, hop_emit_slice(b, x, (hop_size[]){ S(2) }, (hop_size[]){ S(3) },
	                          (int64_t[]){ 2 }), HOP_ESHAPE,
	        "error: slice: the window on axis 0 ends at 7, the axis has size 5");
	x = PARAM(r, HOP_f32, 5);
	refused(r, hop_emit_slice(b, x, (hop_size[]){ S(1) }, (hop_size[]){ S(3) },
	                          (int64_t[]){ -1 }), HOP_ESHAPE,
	        "error: slice: the window on axis 0 starts at -1");
	x = PARAM(r, HOP_f32, 3), y = PARAM(r, HOP_i64);
	refused(r, hop_emit(b, dynupdate, x, x), HOP_ETYPE,
	        "error: dynupdate: the operand has 1 axes, 0 starts are given");
	x = PARAM(r, HOP_f32, 0), y = PARAM(r, HOP_i64, 2);
	refused(r, hop_emit_gather(b, x, y, 0, 0), HOP_ESHAPE,
	        "error: gather: axis 0 of the operand is empty, the index is not");
	x = PARAM(r, HOP_bool, 3);
	refused(r, hop_emit_sum(b, x, 1, (int64_t[]){ 0 }), HOP_ETYPE,
	        "error: sum: bool cannot be added: cast first");
	x = PARAM(r, HOP_f32, 2, 3), y = PARAM(r, HOP_f32, 4, 3);
	refused(r, hop_emit_concat(b, 2, (hop_val[]){ x, y }, 1), HOP_ESHAPE,
	        "error: concat: operand 0 axis 0 has size 2, operand 1 axis 0 has size 4");
	hop_build_drop(b);
	END();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_views, up, down),
		cmocka_unit_test_setup_teardown(test_windows, up, down),
		cmocka_unit_test_setup_teardown(test_gather, up, down),
		cmocka_unit_test_setup_teardown(test_reduce, up, down),
		cmocka_unit_test_setup_teardown(test_dot, up, down),
		cmocka_unit_test_setup_teardown(test_values, up, down),
		cmocka_unit_test_setup_teardown(test_ties, up, down),
		cmocka_unit_test_setup_teardown(test_symbolic, up, down),
		cmocka_unit_test_setup_teardown(test_symbolic_rules, up, down),
		cmocka_unit_test_setup_teardown(test_messages, up, down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
