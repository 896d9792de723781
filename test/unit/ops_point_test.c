/* ops_point_test.c -- making, random and elementwise ops: values at the edges, messages,
 * derivatives against differences. The cells are driven from here, one column at a time,
 * so that a failure points at a cell and not at a transform. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctx/ctx.h"
#include "ops/ops.h"
#include "ops/philox.h"

struct rig {
	hop_ctx   *c;
	hop_env    e;
	hop_frame  f;
	hop_interp p;
	char       said[4][200];
	int        nsaid;
};

static int hear(void *user, const char *line)
{
	struct rig *r = user;
	assert_true(r->nsaid < 4);
	strncpy(r->said[r->nsaid++], line, sizeof r->said[0] - 1);
	return 0;
}

static int up(void **state)
{
	static struct rig r;
	memset(&r, 0, sizeof r);
	if (hop_ctx_new(NULL, &r.c))
		return -1;
	hop_env_init(&r.e, r.c, hop_ctx_mem(r.c));
	hop_interp_init(&r.p, &r.e);
	r.p.print = hear;
	r.p.print_user = &r;
	*state = &r;
	return 0;
}

static int down(void **state)
{
	struct rig *r = *state;
	hop_interp_fini(&r->p);
	r->e.frame = NULL;          /* a failed assertion jumps out of its guard */
	hop_env_fini(&r->e);
	hop_ctx_free(r->c);
	return 0;
}

#define BEGIN(r) \
	struct rig *r = *state; \
	if (HOP_GUARD(&r->e, &r->f)) \
		fail_msg("no memory")
#define END(r) hop_guard_end(&r->e, &r->f)

/* ---- building and running ---- */

static const hop_type *shape(struct rig *r, hop_dtype d, int rank, const int64_t *dim)
{
	hop_size s[HOP_MAXRANK];
	for (int i = 0; i < rank; i++)
		s[i] = hop_size_int(dim[i]);
	return hop_type_get(&r->e, d, rank, s);
}

static const hop_type *vec(struct rig *r, hop_dtype d, int64_t n)
{
	return shape(r, d, 1, &n);
}

static hop_graph *seal(struct rig *r, hop_build *b, uint32_t nout, const hop_val *out)
{
	hop_graph *g = NULL;
	if (hop_seal(b, nout, out, NULL, &g))
		fail_msg("%s", r->e.diag.text);
	return g;
}

static hop_array *tensor(struct rig *r, const hop_type *t, const double *v)
{
	hop_array *x = hop_interp_of(&r->p, t);
	for (int64_t i = 0; i < x->count; i++)
		if (hop_dtype_float(x->dtype))
			hop_array_set_f(x, i, v[i]);
		else
			hop_array_set_i(x, i, (int64_t)v[i]);
	return x;
}

static hop_array *ints(struct rig *r, hop_dtype d, int64_t n, const int64_t *v)
{
	hop_array *x = hop_interp_of(&r->p, vec(r, d, n));
	for (int64_t i = 0; i < n; i++)
		hop_array_set_i(x, i, v[i]);
	return x;
}

static const int64_t nosyms[1];

static void run(struct rig *r, const hop_graph *g, hop_array *const *in,
                hop_array **out)
{
	if (hop_interp_graph(&r->p, g, nosyms, in, out))
		fail_msg("%s", r->e.diag.text);
}

/* One op on tensors, with its attributes. */
static hop_array *once(struct rig *r, int op, const void *attr, uint32_t nin,
                        hop_array *const *in)
{
	hop_build b;
	hop_val v[3];
	hop_array *out[1];
	hop_build_open(&b, &r->e);
	for (uint32_t i = 0; i < nin; i++)
		v[i] = hop_build_param(&b, shape(r, in[i]->dtype, in[i]->rank, in[i]->dim));
	hop_val z = hop_emit_op(&b, op, attr, nin, v);
	run(r, seal(r, &b, 1, &z), in, out);
	return out[0];
}

/* ---- driving the derivative columns ---- */

static bool is_float(const hop_graph *g, hop_val v)
{
	return hop_dtype_float((hop_dtype)g->type[v.id]->dtype);
}

/* Parameters: g's, a tangent of each float one. Results: g's, then their tangents. */
static hop_graph *jvp(struct rig *r, const hop_graph *g)
{
	hop_build b;
	hop_val map[256], d[256], in[3], din[3], out[64];
	assert_true(g->nvalue <= 256 && 2 * g->nout <= 64);
	hop_build_open(&b, &r->e);
	for (uint32_t i = 0; i < g->nvalue; i++)
		d[i] = HOP_ZERO;
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < g->nparam; i++)
		if (is_float(g, (hop_val){ i }))
			d[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t k = 0; k < g->nnode; k++) {
		const hop_node *n = &g->node[k];
		bool any = false;
		for (uint32_t i = 0; i < n->nin; i++) {
			in[i] = map[n->in[i].id];
			din[i] = d[n->in[i].id];
			any |= !hop_is_zero(din[i]);
		}
		map[n->out0.id] = hop_emit_copy(&b, g, n, in, NULL, 0);
		hop_rule rule = { .g = g, .n = n, .type = g->type, .in = in,
		                  .out = &map[n->out0.id], .din = din, .dout = &d[n->out0.id] };
		if (any)
			assert_int_equal(hop_optab[n->op].jvp(&b, &rule), HOP_OK);
	}
	for (uint32_t i = 0; i < g->nout; i++) {
		out[i] = map[g->out[i].id];
		out[g->nout + i] = hop_emit_solid(&b, d[g->out[i].id], g->type[g->out[i].id]);
	}
	return seal(r, &b, 2 * g->nout, out);
}

/* Parameters: g's, cotangents of its results. Results: cotangents of its parameters, all
 * of which must be floats. */
static hop_graph *vjp(struct rig *r, const hop_graph *g)
{
	hop_build b;
	hop_val map[256], ct[256], in[3], din[3];
	assert_true(g->nvalue <= 256);
	hop_build_open(&b, &r->e);
	for (uint32_t i = 0; i < g->nvalue; i++)
		ct[i] = HOP_ZERO;
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		ct[g->out[i].id] = hop_build_param(&b, g->type[g->out[i].id]);
	for (uint32_t k = 0; k < g->nnode; k++) {
		for (uint32_t i = 0; i < g->node[k].nin; i++)
			in[i] = map[g->node[k].in[i].id];
		map[g->node[k].out0.id] = hop_emit_copy(&b, g, &g->node[k], in, NULL, 0);
	}
	for (uint32_t k = g->nnode; k-- > 0;) {
		const hop_node *n = &g->node[k];
		bool act[3];
		if (hop_is_zero(ct[n->out0.id]))
			continue;
		for (uint32_t i = 0; i < n->nin; i++) {
			in[i] = map[n->in[i].id];
			din[i] = HOP_ZERO;
			act[i] = is_float(g, n->in[i]);
		}
		hop_rule rule = { .g = g, .n = n, .type = g->type, .in = in,
		                  .out = &map[n->out0.id], .din = din, .dout = &ct[n->out0.id],
		                  .act = act };
		assert_int_equal(hop_optab[n->op].vjp(&b, &rule), HOP_OK);
		for (uint32_t i = 0; i < n->nin; i++)
			ct[n->in[i].id] = hop_emit_acc(&b, ct[n->in[i].id], din[i]);
	}
	for (uint32_t i = 0; i < g->nparam; i++)
		ct[i] = hop_emit_solid(&b, ct[i], g->type[i]);
	return seal(r, &b, g->nparam, ct);
}

enum { N = 5, MOSTIO = 16 };

/* A cheap source of directions. */
static double wave(int k, int i)
{
	return sin(1.7 * k + 2.3 * i + 0.4);
}

static double dist(double a, double b)
{
	return fabs(a - b) / (1 + fabs(a) + fabs(b));
}

/* jvp of g at x along waves against central differences. All parameters f64[N]. */
static void check_jvp(struct rig *r, const hop_graph *g, double x[][N], const char *what)
{
	const hop_type *t = vec(r, HOP_f64, N);
	hop_graph *j = jvp(r, g);
	hop_array *in[MOSTIO], *out[MOSTIO], *lo[MOSTIO], *hi[MOSTIO];
	double h = 1e-5, v[N];
	uint32_t np = g->nparam;
	for (uint32_t k = 0; k < np; k++) {
		in[k] = tensor(r, t, x[k]);
		for (int i = 0; i < N; i++)
			v[i] = wave((int)k, i);
		in[np + k] = tensor(r, t, v);
	}
	run(r, j, in, out);
	for (int side = -1; side <= 1; side += 2) {
		for (uint32_t k = 0; k < np; k++) {
			for (int i = 0; i < N; i++)
				v[i] = x[k][i] + side * h * wave((int)k, i);
			in[k] = tensor(r, t, v);
		}
		run(r, g, in, side < 0 ? lo : hi);
	}
	for (uint32_t k = 0; k < g->nout; k++)
		for (int i = 0; i < N; i++) {
			double want = (hop_array_f(hi[k], i) - hop_array_f(lo[k], i)) / (2 * h);
			double got = hop_array_f(out[g->nout + k], i);
			if (!(dist(got, want) < 1e-7))
				fail_msg("%s: tangent %u[%d] is %.12g, differences say %.12g", what, k, i,
				         got, want);
		}
}

/* <ct, jvp v> = <vjp ct, v>, element by element since all is elementwise. */
static void check_dual(struct rig *r, const hop_graph *g, double x[][N], const char *what)
{
	const hop_type *t = vec(r, HOP_f64, N);
	hop_array *in[MOSTIO], *jo[MOSTIO], *vo[MOSTIO];
	double v[MOSTIO][N], ct[MOSTIO][N];
	uint32_t np = g->nparam;
	for (uint32_t k = 0; k < MOSTIO; k++)
		for (int i = 0; i < N; i++) {
			v[k][i] = wave((int)k, i);
			ct[k][i] = wave((int)k + 40, i);
		}
	for (uint32_t k = 0; k < np; k++) {
		in[k] = tensor(r, t, x[k]);
		in[np + k] = tensor(r, t, v[k]);
	}
	run(r, jvp(r, g), in, jo);
	for (uint32_t k = 0; k < g->nout; k++)
		in[np + k] = tensor(r, t, ct[k]);
	run(r, vjp(r, g), in, vo);
	for (int i = 0; i < N; i++) {
		double a = 0, b = 0;
		for (uint32_t k = 0; k < g->nout; k++)
			a += hop_array_f(jo[g->nout + k], i) * ct[k][i];
		for (uint32_t k = 0; k < np; k++)
			b += hop_array_f(vo[k], i) * v[k][i];
		if (!(dist(a, b) < 1e-13))
			fail_msg("%s: <ct, jvp> is %.17g, <vjp, v> is %.17g at %d", what, a, b, i);
	}
}

/* f(x, y) * y for one op f: so that second derivatives mix. */
static hop_graph *around(struct rig *r, int op)
{
	hop_build b;
	hop_build_open(&b, &r->e);
	hop_val x = hop_build_param(&b, vec(r, HOP_f64, N));
	hop_val y = hop_build_param(&b, vec(r, HOP_f64, N));
	hop_val z;
	if (op == HOP_OP_select) {
		hop_val p = hop_emit(&b, lt, x, y);
		z = hop_emit(&b, select, p, hop_emit(&b, sin, x), hop_emit(&b, mul, x, y));
	} else if (op == HOP_OP_cast) {
		z = hop_emit_cast(&b, hop_emit_cast(&b, x, HOP_i64), HOP_f64);
		z = hop_emit(&b, add, z, hop_emit(&b, mul, x, x));
	} else {
		z = hop_emit_op(&b, op, NULL, (uint32_t)hop_optab[op].nin, (hop_val[]){ x, y });
	}
	z = hop_emit(&b, mul, z, y);
	return seal(r, &b, 1, &z);
}

static void test_derivatives(void **state)
{
	static const int op[] = {
		HOP_OP_add, HOP_OP_sub, HOP_OP_mul, HOP_OP_div, HOP_OP_rem, HOP_OP_max,
		HOP_OP_min, HOP_OP_neg, HOP_OP_exp, HOP_OP_log, HOP_OP_sin, HOP_OP_cos,
		HOP_OP_tanh, HOP_OP_sqrt, HOP_OP_floor, HOP_OP_ceil, HOP_OP_trunc, HOP_OP_round,
		HOP_OP_select, HOP_OP_cast,
	};
	/* Away from ties, and from where rem and the casts jump. The last row is a direction
	 * of the cotangent. */
	double x[][N] = { { 0.3, 1.7, 2.6, 0.9, 4.4 }, { 0.7, 0.8, -1.1, 1.3, -2.9 },
	                  { 1.0, -0.5, 0.25, 2.0, -1.5 } };
	BEGIN(r);
	for (size_t i = 0; i < sizeof op / sizeof *op; i++) {
		const char *name = hop_optab[op[i]].name;
		hop_graph *g = around(r, op[i]), *v = vjp(r, g), *j = jvp(r, g);
		check_jvp(r, g, x, name);
		check_dual(r, g, x, name);
		check_jvp(r, v, x, name);           /* forward over reverse */
		check_dual(r, v, x, name);          /* reverse over reverse */
		double xs[4][N];
		memcpy(xs[0], x[0], sizeof *xs);
		memcpy(xs[1], x[1], sizeof *xs);
		memcpy(xs[2], x[2], sizeof *xs);
		memcpy(xs[3], x[0], sizeof *xs);
		check_jvp(r, j, xs, name);          /* forward over forward */
		check_dual(r, j, xs, name);         /* reverse over forward */
	}
	END(r);
}

/* Linear ops on a tangent that is symbolically zero. */
static void test_linear(void **state)
{
	double c[N] = { 1, 2, 3, 4, 5 }, x[][N] = { { 3, 1, 4, 1, 5 } };
	BEGIN(r);
	hop_build b;
	hop_build_open(&b, &r->e);
	const hop_type *t = vec(r, HOP_f64, N);
	hop_val v = hop_build_param(&b, t), k = hop_emit_data(&b, t, c);
	hop_val left = hop_emit(&b, sub, v, k), right = hop_emit(&b, sub, k, v);
	hop_val both = hop_emit_concat(&b, 2, (hop_val[]){ k, hop_emit(&b, neg, v) }, 0);
	hop_size at = hop_size_int(N - 2);
	hop_val tail = hop_emit_slice(&b, both, &at, t->dim, NULL);
	hop_val out[] = { hop_emit(&b, add, left, k), right, tail };
	check_jvp(r, seal(r, &b, 3, out), x, "linear");
	END(r);
}

/* Ties: half to each side. */
static void test_ties(void **state)
{
	double x[][N] = { { 1, 2, 3, NAN, 1 }, { 1, 3, 2, 1, NAN } };
	double one[N] = { 1, 1, 1, 1, 1 };
	double max[2][N] = { { .5, 0, 1, 1, 1 }, { .5, 1, 0, 1, 1 } };
	BEGIN(r);
	const hop_type *t = vec(r, HOP_f64, N);
	for (int k = 0; k < 2; k++) {
		int op = k ? HOP_OP_min : HOP_OP_max;
		hop_build b;
		hop_array *in[3], *out[2];
		hop_build_open(&b, &r->e);
		hop_val p = hop_build_param(&b, t), q = hop_build_param(&b, t);
		hop_val z = hop_emit_op(&b, op, NULL, 2, (hop_val[]){ p, q });
		in[0] = tensor(r, t, x[0]);
		in[1] = tensor(r, t, x[1]);
		in[2] = tensor(r, t, one);
		run(r, vjp(r, seal(r, &b, 1, &z)), in, out);
		for (int i = 0; i < N; i++)
			for (int s = 0; s < 2; s++) {
				double want = max[i == 1 || i == 2 ? s ^ k : s][i];
				assert_true(hop_array_f(out[s], i) == want);
			}
	}
	END(r);
}

/* ---- values ---- */

static void want_ints(const hop_array *t, const int64_t *want)
{
	for (int64_t i = 0; i < t->count; i++)
		assert_int_equal(hop_array_i(t, i), want[i]);
}

static void test_integers(void **state)
{
	enum { K = 7 };
	int64_t x[K] = { 7, -7, 7, INT32_MIN, INT32_MIN, 5, INT32_MAX };
	int64_t y[K] = { 2, 2, 0, -1, 0, -3, 2 };
	int64_t div[K] = { 3, -3, 0, INT32_MIN, 0, -1, INT32_MAX / 2 };
	int64_t rem[K] = { 1, -1, 7, 0, INT32_MIN, 2, 1 };
	int64_t add[K] = { 9, -5, 7, INT32_MAX, INT32_MIN, 2, INT32_MIN + 1 };
	int64_t mul[K] = { 14, -14, 0, INT32_MIN, 0, -15, -2 };
	BEGIN(r);
	hop_array *in[] = { ints(r, HOP_i32, K, x), ints(r, HOP_i32, K, y) };
	want_ints(once(r, HOP_OP_div, NULL, 2, in), div);
	want_ints(once(r, HOP_OP_rem, NULL, 2, in), rem);
	want_ints(once(r, HOP_OP_add, NULL, 2, in), add);
	want_ints(once(r, HOP_OP_mul, NULL, 2, in), mul);

	int64_t big[3] = { INT64_MIN, INT64_MAX, INT64_MIN }, by[3] = { -1, 1, 0 };
	hop_array *w[] = { ints(r, HOP_i64, 3, big), ints(r, HOP_i64, 3, by) };
	want_ints(once(r, HOP_OP_div, NULL, 2, w), (int64_t[]){ INT64_MIN, INT64_MAX, 0 });
	want_ints(once(r, HOP_OP_rem, NULL, 2, w), (int64_t[]){ 0, 0, INT64_MIN });
	want_ints(once(r, HOP_OP_neg, NULL, 1, w),
	          (int64_t[]){ INT64_MIN, -INT64_MAX, INT64_MIN });
	want_ints(once(r, HOP_OP_not, NULL, 1, w),
	          (int64_t[]){ INT64_MAX, INT64_MIN, INT64_MAX });

	int64_t p[4] = { 0, 0, 1, 1 }, q[4] = { 0, 1, 0, 1 };
	hop_array *l[] = { ints(r, HOP_bool, 4, p), ints(r, HOP_bool, 4, q) };
	want_ints(once(r, HOP_OP_and, NULL, 2, l), (int64_t[]){ 0, 0, 0, 1 });
	want_ints(once(r, HOP_OP_max, NULL, 2, l), (int64_t[]){ 0, 1, 1, 1 });
	want_ints(once(r, HOP_OP_not, NULL, 1, l), (int64_t[]){ 1, 1, 0, 0 });
	want_ints(once(r, HOP_OP_lt, NULL, 2, l), (int64_t[]){ 0, 1, 0, 0 });
	END(r);
}

static void test_floats(void **state)
{
	enum { K = 5 };
	double x[K] = { 1, NAN, 2, -7.5, INFINITY }, y[K] = { NAN, 1, 2, 2, -INFINITY };
	BEGIN(r);
	const hop_type *t = vec(r, HOP_f32, K);
	hop_array *in[] = { tensor(r, t, x), tensor(r, t, y) }, *z;
	z = once(r, HOP_OP_max, NULL, 2, in);
	assert_true(isnan(hop_array_f(z, 0)) && isnan(hop_array_f(z, 1)));
	assert_true(hop_array_f(z, 3) == 2 && hop_array_f(z, 4) == INFINITY);
	z = once(r, HOP_OP_min, NULL, 2, in);
	assert_true(isnan(hop_array_f(z, 0)) && isnan(hop_array_f(z, 1)));
	assert_true(hop_array_f(once(r, HOP_OP_rem, NULL, 2, in), 3) == -1.5);
	want_ints(once(r, HOP_OP_eq, NULL, 2, in), (int64_t[]){ 0, 0, 1, 0, 0 });
	want_ints(once(r, HOP_OP_ne, NULL, 2, in), (int64_t[]){ 1, 1, 0, 1, 1 });
	want_ints(once(r, HOP_OP_lt, NULL, 2, in), (int64_t[]){ 0, 0, 0, 1, 0 });
	want_ints(once(r, HOP_OP_le, NULL, 2, in), (int64_t[]){ 0, 0, 1, 1, 0 });
	END(r);
}

static hop_array *cast(struct rig *r, hop_array *x, hop_dtype d)
{
	struct hop_attr_cast a = { .dtype = d };
	return once(r, HOP_OP_cast, &a, 1, &x);
}

static void test_cast(void **state)
{
	enum { K = 6 };
	double x[K] = { 2.9, -2.9, NAN, 1e30, -INFINITY, 0 };
	BEGIN(r);
	hop_array *f = tensor(r, vec(r, HOP_f64, K), x);
	want_ints(cast(r, f, HOP_i32), (int64_t[]){ 2, -2, 0, INT32_MAX, INT32_MIN, 0 });
	want_ints(cast(r, f, HOP_i64), (int64_t[]){ 2, -2, 0, INT64_MAX, INT64_MIN, 0 });
	want_ints(cast(r, f, HOP_bool), (int64_t[]){ 1, 1, 1, 1, 1, 0 });
	int64_t v[3] = { 0x100000001, -1, 0x8000008000000001 };
	hop_array *i = ints(r, HOP_i64, 3, v);
	want_ints(cast(r, i, HOP_i32), (int64_t[]){ 1, -1, 1 });
	/* Rounding to f64 on the way would make a tie of it. */
	assert_true(hop_array_f(cast(r, i, HOP_f32), 2) == (double)(float)v[2]);
	END(r);
}

/* ---- making values, random numbers ---- */

static void test_make(void **state)
{
	BEGIN(r);
	hop_size dims[2] = { hop_size_int(2), hop_size_int(3) };
	struct hop_attr_iota a = { .dtype = HOP_i32, .dims = { 2, dims }, .axis = 1 };
	want_ints(once(r, HOP_OP_iota, &a, 0, NULL), (int64_t[]){ 0, 1, 2, 0, 1, 2 });
	a.axis = 0;
	want_ints(once(r, HOP_OP_iota, &a, 0, NULL), (int64_t[]){ 0, 0, 0, 1, 1, 1 });
	END(r);
}

/* The published test vectors of Philox4x32-10, and the split of a stream into words. */
static void test_philox(void **state)
{
	static const struct { uint32_t c[4]; uint64_t key; uint32_t want[4]; } known[] = {
		{ { 0, 0, 0, 0 }, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { ~0u, ~0u, ~0u, ~0u }, ~(uint64_t)0,
		  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, 0x299f31d0a4093822,
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		uint32_t c[4];
		memcpy(c, known[i].c, sizeof c);
		hop_philox(known[i].key, c);
		assert_memory_equal(c, known[i].want, sizeof c);
	}
	BEGIN(r);
	int64_t key[2] = { 0, 42 };
	hop_array *k = ints(r, HOP_i64, 2, key);
	hop_size dim = hop_size_int(6);
	struct hop_attr_random_bits a = { .dims = { 1, &dim } };
	hop_array *z = once(r, HOP_OP_random_bits, &a, 1, &k);
	assert_int_equal(z->rank, 2);
	assert_int_equal((uint32_t)hop_array_i(z, 1), 0xe169c58d);
	for (int i = 0; i < 12; i++)
		assert_int_equal(hop_array_i(z, i),
		                 (int32_t)hop_philox_word((uint64_t)key[i / 6], (uint64_t)i % 6));
	struct hop_attr_uniform u = { .dtype = HOP_f32, .dims = { 1, &dim } };
	hop_array *f = once(r, HOP_OP_uniform, &u, 1, &k);
	for (int i = 0; i < 12; i++)
		assert_true(hop_array_f(f, i) ==
		            (double)((uint32_t)hop_array_i(z, i) >> 8) * 0x1p-24);
	u.dtype = HOP_f64;
	f = once(r, HOP_OP_uniform, &u, 1, &k);
	for (int i = 0; i < 12; i++)
		assert_true(hop_array_f(f, i) >= 0 && hop_array_f(f, i) < 1);
	hop_array *fold = once(r, HOP_OP_fold_in, NULL, 2, (hop_array *[]){ k, k });
	assert_int_not_equal(hop_array_i(fold, 0), hop_array_i(fold, 1));
	END(r);
}

/* as_size binds a local symbol that later types mention. */
static void test_as_size(void **state)
{
	BEGIN(r);
	hop_build b;
	hop_build_open(&b, &r->e);
	hop_val x = hop_build_param(&b, hop_type_scalar(&r->e, HOP_i64));
	int s = hop_build_local(&b, (hop_range){ 1, 4 }, NULL);
	struct hop_attr_as_size a = { .min = 1, .max = 4, .sym = s };
	hop_emit_op(&b, HOP_OP_as_size, &a, 1, &x);
	hop_size dim = hop_size_sym(&r->e, s);
	hop_val out[2] = { hop_emit_iota(&b, HOP_i64, 1, &dim, 0), hop_emit_size(&b, dim) };
	hop_graph *g = seal(r, &b, 2, out);
	for (int64_t n = -2; n <= 7; n++) {
		int64_t want = n < 1 ? 1 : n > 4 ? 4 : n;
		hop_array *in = hop_interp_of(&r->p, hop_type_scalar(&r->e, HOP_i64)), *o[2];
		hop_array_set_i(in, 0, n);
		run(r, g, &in, o);
		assert_int_equal(o[0]->count, want);
		assert_int_equal(hop_array_i(o[1], 0), want);
	}
	END(r);
}

/* ---- batching ---- */

/* Batch the only node of g over B lanes. */
static hop_graph *batch(struct rig *r, const hop_graph *g, const bool *bin, int64_t lanes,
                        bool masked)
{
	const hop_node *n = &g->node[g->nnode - 1];
	hop_build b;
	hop_val in[4], out[1] = { HOP_BAD };
	bool bout[1] = { false };
	hop_build_open(&b, &r->e);
	hop_size size = hop_size_int(lanes);
	assert_true(g->nnode == 1 && n->nin <= 4);
	for (uint32_t i = 0; i < n->nin; i++) {
		const hop_type *t = g->type[n->in[i].id];
		in[i] = hop_build_param(&b, bin[i] ? hop_type_prepend(&r->e, t, size) : t);
	}
	hop_val mask = masked ? hop_build_param(&b, vec(r, HOP_bool, lanes)) : HOP_ZERO;
	hop_rule rule = { .g = g, .n = n, .type = g->type, .in = in, .out = out, .bin = bin,
	                  .bout = bout, .bsize = size, .mask = mask };
	if (hop_optab[n->op].batch(&b, &rule)) {
		hop_build_drop(&b);
		return NULL;
	}
	return seal(r, &b, n->nout, out);
}

static hop_graph *single(struct rig *r, int op, const void *attr, uint32_t nin,
                         const hop_type *const *t)
{
	hop_build b;
	hop_val v[4];
	hop_build_open(&b, &r->e);
	for (uint32_t i = 0; i < nin; i++)
		v[i] = hop_build_param(&b, t[i]);
	hop_val z = hop_emit_op(&b, op, attr, nin, v);
	return seal(r, &b, hop_optab[op].nout ? 1 : 0, &z);
}

static void test_batch(void **state)
{
	BEGIN(r);
	const hop_type *t = vec(r, HOP_f64, 2);
	hop_graph *g = single(r, HOP_OP_sub, NULL, 2, (const hop_type *[]){ t, t });
	hop_graph *v = batch(r, g, (bool[]){ true, false }, 3, false);
	hop_array *in[2], *out[1];
	in[0] = tensor(r, hop_type_prepend(&r->e, t, hop_size_int(3)),
	               (double[]){ 1, 2, 3, 4, 5, 6 });
	in[1] = tensor(r, t, (double[]){ 10, 20 });
	run(r, v, in, out);
	assert_int_equal(out[0]->rank, 2);
	for (int i = 0; i < 6; i++)
		assert_true(hop_array_f(out[0], i) == i + 1 - (i % 2 ? 20 : 10));

	/* A key in each lane. */
	hop_size dim = hop_size_int(2);
	struct hop_attr_random_bits a = { .dims = { 1, &dim } };
	const hop_type *key = hop_type_scalar(&r->e, HOP_i64);
	g = single(r, HOP_OP_random_bits, &a, 1, &key);
	v = batch(r, g, (bool[]){ true }, 3, false);
	in[0] = ints(r, HOP_i64, 3, (int64_t[]){ 7, 8, 9 });
	run(r, v, in, out);
	assert_int_equal(hop_array_i(out[0], 5), (int32_t)hop_philox_word(9, 1));

	/* A size is the same in every lane. */
	hop_build b;
	hop_build_open(&b, &r->e);
	hop_val x = hop_build_param(&b, key);
	int s = hop_build_local(&b, (hop_range){ 0, 4 }, NULL);
	struct hop_attr_as_size size = { .min = 0, .max = 4, .sym = s };
	hop_val z = hop_emit_op(&b, HOP_OP_as_size, &size, 1, &x);
	g = seal(r, &b, 1, &z);
	assert_null(batch(r, g, (bool[]){ true }, 3, false));
	assert_int_equal(r->e.diag.st, HOP_EREFUSED);
	assert_non_null(strstr(r->e.diag.text, "a size cannot differ between lanes"));
	END(r);
}

/* ---- effects ---- */

static void test_print(void **state)
{
	BEGIN(r);
	hop_array *in[3];
	const hop_type *s = hop_type_scalar(&r->e, HOP_i64), *t = vec(r, HOP_f32, 2);
	struct hop_attr_print a = { .text = { 9, "x {} y {}" } };
	hop_graph *g = single(r, HOP_OP_print, &a, 2, (const hop_type *[]){ s, t });
	in[0] = tensor(r, s, (double[]){ -3 });
	in[1] = tensor(r, t, (double[]){ 1, 0.1 });
	run(r, g, in, NULL);
	assert_string_equal(r->said[0], "x -3 y [1.0, 0.1]");

	r->nsaid = 0;
	hop_graph *v = batch(r, g, (bool[]){ true, false }, 3, true);
	in[0] = ints(r, HOP_i64, 3, (int64_t[]){ 5, 6, 7 });
	in[2] = ints(r, HOP_bool, 3, (int64_t[]){ 1, 0, 1 });
	run(r, v, in, NULL);
	assert_int_equal(r->nsaid, 2);
	assert_string_equal(r->said[0], "lane 0: x 5 y [1.0, 0.1]");
	assert_string_equal(r->said[1], "lane 2: x 7 y [1.0, 0.1]");

	/* Without a mask all lanes speak. */
	r->nsaid = 0;
	run(r, batch(r, g, (bool[]){ true, false }, 3, false), in, NULL);
	assert_int_equal(r->nsaid, 3);

	/* Batched twice, lanes have two numbers, and both masks must hold. */
	r->nsaid = 0;
	struct hop_attr_print w = { .text = { 2, "{}" }, .when = 1 };
	const hop_type *lane = vec(r, HOP_i64, 3), *when = vec(r, HOP_bool, 3);
	g = single(r, HOP_OP_print, &w, 2, (const hop_type *[]){ lane, when });
	v = batch(r, g, (bool[]){ false, false }, 2, true);
	in[0] = ints(r, HOP_i64, 3, (int64_t[]){ 5, 6, 7 });
	in[1] = ints(r, HOP_bool, 3, (int64_t[]){ 0, 1, 1 });
	in[2] = ints(r, HOP_bool, 2, (int64_t[]){ 0, 1 });
	run(r, v, in, NULL);
	assert_int_equal(r->nsaid, 2);
	assert_string_equal(r->said[0], "lane 1,1: 6");
	assert_string_equal(r->said[1], "lane 1,2: 7");

	/* Large tensors are cut. */
	r->nsaid = 0;
	struct hop_attr_print all = { .text = { 2, "{}" } };
	const hop_type *long_ = vec(r, HOP_i32, 2000);
	hop_graph *big = single(r, HOP_OP_print, &all, 1, &long_);
	in[0] = hop_interp_of(&r->p, long_);
	for (int i = 0; i < 2000; i++)
		hop_array_set_i(in[0], i, i);
	run(r, big, in, NULL);
	assert_string_equal(r->said[0], "[0, 1, 2, ..., 1997, 1998, 1999]");
	END(r);
}

static void test_assert(void **state)
{
	BEGIN(r);
	struct hop_attr_assert a = { .text = { 8, "x was {}" } };
	const hop_type *p = vec(r, HOP_bool, 2), *s = hop_type_scalar(&r->e, HOP_f64);
	hop_graph *g = single(r, HOP_OP_assert, &a, 2, (const hop_type *[]){ p, s });
	hop_array *in[3];
	in[0] = tensor(r, p, (double[]){ 1, 1 });
	in[1] = tensor(r, s, (double[]){ 2.5 });
	run(r, g, in, NULL);
	in[0] = tensor(r, p, (double[]){ 1, 0 });
	assert_int_equal(hop_interp_graph(&r->p, g, nosyms, in, NULL), HOP_EASSERT);
	assert_non_null(strstr(r->e.diag.text, "assert: x was 2.5"));
	hop_diag_clear(&r->e);

	/* A lane that is masked out may fail. */
	hop_graph *v = batch(r, g, (bool[]){ false, true }, 2, true);
	in[1] = tensor(r, vec(r, HOP_f64, 2), (double[]){ 1, 2 });
	in[2] = ints(r, HOP_bool, 2, (int64_t[]){ 0, 0 });
	run(r, v, in, NULL);
	in[2] = ints(r, HOP_bool, 2, (int64_t[]){ 0, 1 });
	assert_int_equal(hop_interp_graph(&r->p, v, nosyms, in, NULL), HOP_EASSERT);
	assert_non_null(strstr(r->e.diag.text, "assert: lane 1: x was 2.0"));
	END(r);
}

/* ---- messages ---- */

static void refuse(struct rig *r, hop_status st, const char *text, int op,
                   const void *attr, uint32_t nin, const hop_type *const *t)
{
	hop_build b;
	hop_val v[4];
	hop_build_open(&b, &r->e);
	for (uint32_t i = 0; i < nin; i++)
		v[i] = hop_build_param(&b, t[i]);
	hop_emit_op(&b, op, attr, nin, v);
	assert_int_equal(b.st, st);
	if (!strstr(r->e.diag.text, text))
		fail_msg("'%s' does not say '%s'", r->e.diag.text, text);
	hop_build_drop(&b);
	hop_diag_clear(&r->e);
}

#define TYPES(...) (const hop_type *[]){ __VA_ARGS__ }

static void test_messages(void **state)
{
	BEGIN(r);
	const hop_type *a = shape(r, HOP_f32, 2, (int64_t[]){ 4, 128 });
	const hop_type *b = shape(r, HOP_f32, 2, (int64_t[]){ 4, 10 });
	const hop_type *i = shape(r, HOP_i64, 2, (int64_t[]){ 4, 128 });
	const hop_type *p = shape(r, HOP_bool, 2, (int64_t[]){ 4, 128 });
	const hop_type *s = hop_type_scalar(&r->e, HOP_i64);
	refuse(r, HOP_ESHAPE, "add: dimension 1 is 128 on the left, 10 on the right",
	       HOP_OP_add, NULL, 2, TYPES(a, b));
	refuse(r, HOP_ETYPE, "add: f32 on the left, i64 on the right: cast one of them",
	       HOP_OP_add, NULL, 2, TYPES(a, i));
	refuse(r, HOP_ESHAPE, "lt: rank 2 on the left, 0 on the right", HOP_OP_lt, NULL, 2,
	       TYPES(i, s));
	refuse(r, HOP_ETYPE, "mul: no arithmetic on bool: cast first", HOP_OP_mul, NULL, 2,
	       TYPES(p, p));
	refuse(r, HOP_ETYPE, "exp: the operand is i64, not a float: cast first", HOP_OP_exp,
	       NULL, 1, TYPES(i));
	refuse(r, HOP_ETYPE, "and: on bool and integers, not on f32", HOP_OP_and, NULL, 2,
	       TYPES(a, a));
	refuse(r, HOP_ETYPE, "select: the condition is i64, not bool", HOP_OP_select, NULL, 3,
	       TYPES(i, a, a));
	refuse(r, HOP_ESHAPE, "select: dimension 1 is 128 in the condition, 10 where it holds",
	       HOP_OP_select, NULL, 3, TYPES(p, b, b));
	refuse(r, HOP_ETYPE, "fold_in: the key must be i64, not f32", HOP_OP_fold_in, NULL, 2,
	       TYPES(a, i));
	refuse(r, HOP_EVALUE, "print: the text has 2 {}, for 1 operands", HOP_OP_print,
	       &(struct hop_attr_print){ .text = { 4, "{}{}" } }, 1, TYPES(a));
	refuse(r, HOP_ETYPE, "assert: the condition is f32, not bool", HOP_OP_assert,
	       &(struct hop_attr_assert){ .text = { 0, "" } }, 1, TYPES(a));
	refuse(r, HOP_EVALUE, "as_size: bounds 3..2 are no sizes", HOP_OP_as_size,
	       &(struct hop_attr_as_size){ .min = 3, .max = 2 }, 1, TYPES(s));
	refuse(r, HOP_EVALUE, "as_size: 0 is not a local size symbol", HOP_OP_as_size,
	       &(struct hop_attr_as_size){ .min = 0, .max = 2 }, 1, TYPES(s));
	hop_size neg = hop_size_int(-1);
	refuse(r, HOP_ESHAPE, "iota: dimension 0 is negative", HOP_OP_iota,
	       &(struct hop_attr_iota){ .dtype = HOP_i32, .dims = { 1, &neg } }, 0, NULL);
	END(r);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, up, down)
	const struct CMUnitTest tests[] = {
		T(test_derivatives), T(test_linear), T(test_ties), T(test_integers),
		T(test_floats), T(test_cast), T(test_make), T(test_philox), T(test_as_size),
		T(test_batch), T(test_print), T(test_assert), T(test_messages),
	};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
