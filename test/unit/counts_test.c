/* counts_test.c -- how many there are is data: results of a capacity with a count, arrays of exactly
 * that size, and branches whose results have different sizes. Each program runs eagerly, by the
 * interpreter, by native code, with symbols for sizes and as a jit; expected numbers are worked out
 * in plain C. What PyTorch says is in torch_composites_test.c. */
#include "trace_rig.h"

enum { MOST = 8 };

/* ---- one program, every way ---- */

struct want {
	int          rank;
	int64_t      dim[3];
	const double *v;
};
#define V(...) (const double[]){ __VA_ARGS__ }
#define NONE V(0)
#define LINE(n, v) { 1, { n }, v }
#define ONE(k) { 0, { 0 }, V(k) }

static void compare(const char *how, int n, hop_array **out, const struct want *w)
{
	for (int i = 0; i < n; i++) {
		int64_t count = 1;
		if (hop_array_rank(out[i]) != w[i].rank)
			fail_msg("%s: result %d has rank %d", how, i, hop_array_rank(out[i]));
		for (int k = 0; k < w[i].rank; k++) {
			if (hop_array_dims(out[i])[k] != w[i].dim[k])
				fail_msg("%s: axis %d of result %d has %lld", how, k, i,
				         (long long)hop_array_dims(out[i])[k]);
			count *= w[i].dim[k];
		}
		for (int64_t k = 0; k < count; k++) {
			double got = hop_array_at(out[i], k), x = w[i].v[k];
			if (got != x && !(isnan(got) && isnan(x)))
				fail_msg("%s: element %d of result %d is %.17g, not %.17g", how, (int)k, i, got, x);
		}
		hop_array_release(out[i]);
	}
}

static void ok(hop_status st, const char *how)
{
	if (st)
		fail_msg("%s: %s", how, hop_message(ctx));
}

/* Native code must be there: hop_call would interpret what cannot be compiled, and say so. */
static void function(hop_fn *f, const char *how, int nin, hop_array **in, int n,
                     const struct want *w)
{
	hop_array *out[MOST];
	hop_exec *x;
	ok(hop_call_with(f, nin, in, n, out, HOP_RUN_OPTS(.interpret = true)), how);
	compare(how, n, out, w);
	ok(hop_compile(f, NULL, &x), how);
	hop_exec_release(x);
	for (int twice = 0; twice < 2; twice++) {
		ok(hop_call(f, nin, in, n, out), how);
		compare(how, n, out, w);
	}
	hop_fn_release(f);
}

static hop_fn *captured(hop_body *b, void *user, int nin, hop_array **in, bool symbols)
{
	static const char *const name[3] = { "n", "m", "k" };
	hop_spec spec[MOST];
	hop_fn *f;
	for (int i = 0; i < nin; i++) {
		spec[i] = spec_of(in[i]);
		for (int k = 0; symbols && k < hop_array_rank(in[i]); k++)
			spec[i] = hop_spec_sym(spec[i], k, name[k], 0, 2000);
	}
	ok(hop_capture(ctx, b, user, nin, spec, &f), symbols ? "with symbols" : "capture");
	return f;
}

/* symbols: axis i of every input has the same size as that of the others. */
static void every_way(hop_body *b, void *user, int nin, hop_array **in, bool symbols, int n,
                      const struct want *w)
{
	hop_array *out[MOST];
	hop_jit *j;
	ok(hop_eager_call(ctx, b, user, nin, in, n, out), "eager");
	compare("eager", n, out, w);
	function(captured(b, user, nin, in, false), "captured", nin, in, n, w);
	if (symbols)
		function(captured(b, user, nin, in, true), "with symbols", nin, in, n, w);
	ok(hop_jit_new(ctx, b, user, NULL, &j), "jit");
	ok(hop_jit_call(j, nin, in, n, out), "jit");
	compare("jit", n, out, w);
	hop_jit_release(j);
	for (int i = 0; i < nin; i++)
		hop_array_release(in[i]);
}
#define EVERY_WAY(b, symbols, n, in, ...) \
	every_way(b, NULL, (int)(sizeof(in) / sizeof *(in)), in, symbols, n, \
	          (const struct want[]){ __VA_ARGS__ })

#define BODY(name, ...) \
	static void name(hop_trace *t, const hop_value *in, void *user) \
	{ \
		hop_value out[MOST]; \
		(void)user, (void)out; \
		__VA_ARGS__ \
	}

/* ---- what is found ---- */

BODY(positive, hop_masked_select(t, in[0], hop_gt(t, in[0], hop_f(t, 0)), NULL, out);
     hop_return_n(t, 2, out);)
BODY(two_positive, hop_masked_select(t, in[0], hop_gt(t, in[0], hop_f(t, 0)),
                                     HOP_COUNT_OPTS(HOP_CAP(2), .fill = hop_f(t, 9)), out);
     hop_return_n(t, 2, out);)
BODY(not_zero, hop_nonzero(t, in[0], NULL, out);
     out[2] = hop_count_nonzero(t, in[0]);
     hop_return_n(t, 3, out);)
BODY(different, hop_unique(t, in[0], HOP_COUNT_OPTS(.inverse = true, .counts = true), out);
     hop_return_n(t, 4, out);)
BODY(two_different, hop_unique(t, in[0], HOP_COUNT_OPTS(HOP_CAP(2), .inverse = true, .counts = true),
                               out);
     hop_return_n(t, 4, out);)

static void some_all_and_none(void **state)
{
	(void)state;
	hop_array *some[] = { vec(5, V(3, -1, 0, 4, 2)) }, *all[] = { vec(2, V(1, 2)) };
	hop_array *none[] = { vec(3, V(-1, 0, NAN)) }, *empty[] = { vec(0, NULL) };
	EVERY_WAY(positive, true, 2, some, LINE(5, V(3, 4, 2, 0, 0)), ONE(3));
	EVERY_WAY(positive, true, 2, all, LINE(2, V(1, 2)), ONE(2));
	EVERY_WAY(positive, true, 2, none, LINE(3, V(0, 0, 0)), ONE(0));
	EVERY_WAY(positive, true, 2, empty, LINE(0, NONE), ONE(0));
}

static void more_than_there_is_room_for(void **state)
{
	(void)state;
	hop_array *many[] = { vec(5, V(3, -1, 7, 4, 2)) }, *one[] = { vec(3, V(-3, 1, 0)) };
	hop_array *empty[] = { vec(0, NULL) }, *five[] = { vec(5, V(3, 1, 2, 1, 3)) };
	EVERY_WAY(two_positive, true, 2, many, LINE(2, V(3, 7)), ONE(4));
	EVERY_WAY(two_positive, true, 2, one, LINE(2, V(1, 9)), ONE(1));
	EVERY_WAY(two_positive, true, 2, empty, LINE(2, V(9, 9)), ONE(0));
	EVERY_WAY(two_different, true, 4, five, LINE(2, V(1, 2)), ONE(3), LINE(5, V(2, 0, 1, 0, 2)),
	          LINE(2, V(2, 1)));
}

static void no_elements(void **state)
{
	(void)state;
	int64_t d[2] = { 0, 3 };
	hop_array *flat[] = { vec(0, NULL) }, *wide[] = { array(HOP_i32, 2, d, NULL) };
	hop_array *scalar[] = { num(2) }, *zero[] = { num(0) }, *again[] = { vec(0, NULL) };
	EVERY_WAY(not_zero, true, 3, flat, { 2, { 0, 1 }, NONE }, ONE(0), ONE(0));
	EVERY_WAY(not_zero, true, 3, wide, { 2, { 0, 2 }, NONE }, ONE(0), ONE(0));
	EVERY_WAY(not_zero, true, 3, scalar, { 2, { 1, 0 }, NONE }, ONE(1), ONE(1));
	EVERY_WAY(not_zero, true, 3, zero, { 2, { 1, 0 }, NONE }, ONE(0), ONE(0));
	EVERY_WAY(different, true, 4, again, LINE(0, NONE), ONE(0), LINE(0, NONE), LINE(0, NONE));
}

BODY(cast_first, hop_dtype d = *(const hop_dtype *)user;
     hop_value x = hop_cast(t, in[0], d);
     hop_unique(t, x, HOP_COUNT_OPTS(.counts = true), out);
     hop_masked_select(t, x, hop_ne(t, x, hop_i(t, 0)), HOP_COUNT_OPTS(HOP_CAP(3)), &out[3]);
     hop_nonzero(t, x, HOP_COUNT_OPTS(HOP_CAP(3)), &out[5]);
     hop_return(t, out[0], out[1], out[2], out[3], hop_reshape(t, out[5], 1,
	           (hop_dim[]){ hop_n(3) }), hop_sort(t, x, 0, true));)

static void every_dtype(void **state)
{
	(void)state;
	static const hop_dtype d[] = { HOP_f64, HOP_f32, HOP_bf16, HOP_f16, HOP_i32, HOP_i64 };
	const struct want numbers[] = {
		LINE(5, V(-2, 0, 1, 3, 0)), ONE(4), LINE(5, V(1, 1, 2, 1, 0)), LINE(3, V(1, 3, -2)),
		LINE(3, V(0, 2, 3)), LINE(5, V(3, 1, 1, 0, -2))
	};
	const struct want truth[] = {
		LINE(5, V(0, 1, 0, 0, 0)), ONE(2), LINE(5, V(1, 4, 0, 0, 0)), LINE(3, V(1, 1, 1)),
		LINE(3, V(0, 2, 3)), LINE(5, V(1, 1, 1, 1, 0))
	};
	hop_dtype b = HOP_bool;
	for (size_t i = 0; i < sizeof d / sizeof *d; i++) {
		hop_array *x[] = { vec(5, V(1, 0, 3, -2, 1)) };
		every_way(cast_first, (void *)&d[i], 1, x, true, 6, numbers);
	}
	hop_array *x[] = { vec(5, V(1, 0, 3, -2, 1)) };
	every_way(cast_first, &b, 1, x, true, 6, truth);
}

static void nans_and_zeros(void **state)
{
	(void)state;
	hop_array *x[] = { vec(7, V(NAN, 1, -0.0, NAN, -INFINITY, 0, 1)) };
	EVERY_WAY(different, true, 4, x, LINE(7, V(-INFINITY, 0, 1, NAN, NAN, 0, 0)), ONE(5),
	          LINE(7, V(3, 2, 1, 4, 0, 1, 2)), LINE(7, V(1, 2, 2, 1, 1, 0, 0)));
}

/* ---- against a plain sort, over many sizes ---- */

BODY(sorted, hop_return(t, hop_sort(t, in[0], 0, false), hop_argsort(t, in[0], 0, true));)

static void long_sorts(void **state)
{
	(void)state;
	static double x[1200], up[1200], down[1200];
	static const int size[] = { 1, 2, 3, 31, 32, 33, 500, 1024, 1200 };
	for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
		int n = size[s];
		for (int i = 0; i < n; i++)
			up[i] = x[i] = (double)(i * 7919 % 257 - 100);      /* many are equal */
		for (int i = 1; i < n; i++)
			for (int k = i; k && up[k - 1] > up[k]; k--) {
				double v = up[k];
				up[k] = up[k - 1];
				up[k - 1] = v;
			}
		for (int i = 0; i < n; i++) {
			int at = 0;                         /* how many come before it, the largest first */
			for (int k = 0; k < n; k++)
				at += x[k] > x[i] || (x[k] == x[i] && k < i);
			down[at] = i;
		}
		hop_array *in[] = { vec(n, x) };
		EVERY_WAY(sorted, true, 2, in, LINE(n, up), LINE(n, down));
	}
}

/* ---- arrays of exactly that size ---- */

BODY(exactly, hop_masked_select(t, in[0], hop_gt(t, in[0], hop_f(t, 0)), NULL, out);
     hop_value v = hop_exact(t, out[0], out[1]);
     hop_return(t, v, hop_mul(t, v, v), hop_sum_all(t, v));)
BODY(exact_rows, hop_compact(t, in[0], hop_gt(t, hop_index(t, in[0], 1, 0), hop_f(t, 0)), NULL, out);
     hop_value v = hop_exact(t, out[0], out[1]);
     hop_return(t, hop_transpose(t, v, 0, 1), hop_concat(t, 2, (hop_value[]){ v, v }, 0));)
BODY(exact_clamps, hop_return(t, hop_exact(t, in[0], hop_i(t, 100)), hop_exact(t, in[0], hop_i(t, -1)),
                              hop_exact(t, in[0], hop_i(t, 1)));)
BODY(drawn, hop_dim n = hop_as_size(t, in[1], 0, 4), m = hop_as_size(t, in[2], 1, 3);
     hop_return(t, hop_mul(t, in[0], hop_full(t, HOP_f64, 2, (hop_dim[]){ n, hop_dim_add(t, m, n) }, 2)),
	           hop_size_value(t, n));)
BODY(unbounded, hop_dim n = hop_as_size(t, in[0], 0, (int64_t)1 << 48);
     hop_return(t, hop_zeros(t, HOP_f64, 1, &n));)

static void exact_arrays(void **state)
{
	(void)state;
	int64_t d[2] = { 3, 2 };
	hop_array *some[] = { vec(4, V(3, -1, 0, 4)) }, *none[] = { vec(2, V(-3, -1)) };
	hop_array *empty[] = { vec(0, NULL) }, *rows[] = { array(HOP_f64, 2, d, V(1, 2, -3, 4, 5, 6)) };
	hop_array *two[] = { vec(2, V(7, 8)) }, *wide[] = { num(5), num_i(1), num_i(9) };
	EVERY_WAY(exactly, true, 3, some, LINE(2, V(3, 4)), LINE(2, V(9, 16)), ONE(7));
	EVERY_WAY(exactly, true, 3, none, LINE(0, NONE), LINE(0, NONE), ONE(0));
	EVERY_WAY(exactly, true, 3, empty, LINE(0, NONE), LINE(0, NONE), ONE(0));
	EVERY_WAY(exact_rows, true, 2, rows, { 2, { 2, 2 }, V(1, 5, 2, 6) },
	          { 2, { 4, 2 }, V(1, 2, 5, 6, 1, 2, 5, 6) });
	EVERY_WAY(exact_clamps, true, 3, two, LINE(2, V(7, 8)), LINE(0, NONE), LINE(1, V(7)));
	EVERY_WAY(drawn, false, 2, wide, { 2, { 1, 4 }, V(10, 10, 10, 10) }, ONE(1));
}

/* A jit whose sizes became symbols; the same code gives arrays of other sizes. */
static void exact_from_a_jit(void **state)
{
	(void)state;
	double x[6] = { 3, -1, 0, 4, 5, -2 };
	hop_jit *j;
	ok(hop_jit_new(ctx, exactly, NULL, NULL, &j), "jit");
	for (int64_t n = 6; n > 2; n--) {
		int64_t m = n > 4 ? 3 : n > 3 ? 2 : 1;
		hop_array *in = vec(n, x), *out[3];
		ok(hop_jit_call(j, 1, &in, 3, out), "jit");
		compare("jit", 3, out, (const struct want[]){ LINE(m, V(3, 4, 5)), LINE(m, V(9, 16, 25)),
		        ONE(m == 3 ? 12 : m == 2 ? 7 : 3) });
		hop_array_release(in);
	}
	hop_jit_release(j);
}

/* The caller's memory: the most there can be, and the size behind the results. */
static void exact_in_the_callers_memory(void **state)
{
	(void)state;
	double x[4] = { 3, -1, 0, 4 }, v[4], sq[4], sum;
	int64_t d[1] = { 4 }, dim[HOP_RANK], n = -1;
	hop_array *in[] = { vec(4, x) };
	hop_fn *f = captured(exactly, NULL, 1, in, true);
	hop_exec *e;
	ok(hop_compile(f, NULL, &e), "compile");
	assert_int_equal(hop_exec_counts(e), 1);
	assert_int_equal(hop_exec_counts(NULL), 0);
	hop_arg ai = { .data = x, .dim = d };
	hop_arg ao[4] = { { .data = v }, { .data = sq }, { .data = &sum }, { .data = &n } };
	assert_int_equal(hop_exec_result(e, &ai, 0, dim), 1);
	assert_int_equal(dim[0], 4);
	assert_int_equal(hop_exec_result(e, &ai, 3, dim), 0);
	void *work = aligned_alloc(64, (size_t)hop_exec_workspace(e, &ai) / 64 * 64 + 64);
	ok(hop_run(e, &ai, ao, work), "run");
	assert_int_equal(n, 2);
	assert_true(v[0] == 3 && v[1] == 4 && v[2] == 0 && sq[1] == 16 && sum == 7);
	free(work);
	hop_exec_release(e);
	hop_fn_release(f);
	hop_array_release(in[0]);
}

/* No bound, no code: hop_compile says so, and hop_call interprets. */
static void exact_without_a_bound(void **state)
{
	(void)state;
	hop_array *in[] = { num_i(3) }, *out[1];
	hop_fn *f = captured(unbounded, NULL, 1, in, false);
	hop_exec *e;
	ok(hop_call_with(f, 1, in, 1, out, HOP_RUN_OPTS(.interpret = true)), "interpret");
	compare("interpret", 1, out, (const struct want[]){ LINE(3, V(0, 0, 0)) });
	assert_int_equal(hop_compile(f, NULL, &e), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "nothing bounds it: return the capacity and a count"));
	hop_fn_release(f);
	hop_array_release(in[0]);
}

/* ---- in loops ---- */

/* A step keeps what is above the carry, and adds how many these were. */
BODY(select_step, hop_masked_select(t, in[1], hop_gt(t, in[1], in[0]), HOP_COUNT_OPTS(HOP_CAP(2)), out);
     hop_return(t, hop_add(t, in[0], hop_cast(t, out[1], HOP_f64)), out[0], out[1]);)
BODY(select_scan, hop_scan(t, select_step, NULL, 1, (hop_value[]){ hop_scalar(t, HOP_f64, 0) }, 1, in,
                           NULL, 3, out, NULL);
     hop_return_n(t, 3, out);)

/* A body with a size of its own inside. */
BODY(exact_step, hop_masked_select(t, in[1], hop_gt(t, in[1], in[0]), NULL, out);
     hop_value v = hop_exact(t, out[0], out[1]);
     hop_return(t, hop_add(t, in[0], hop_sum_all(t, hop_mul(t, v, v))));)
BODY(exact_scan, hop_scan(t, exact_step, NULL, 1, (hop_value[]){ hop_scalar(t, HOP_f64, 0) }, 1, in,
                          NULL, 1, out, NULL);
     hop_return_n(t, 1, out);)

/* Until none is left: all are halved, those below 1 leave, the others move up. */
BODY(some_left, hop_return(t, hop_gt(t, in[1], hop_i(t, 0)));)
BODY(halve, hop_value n = in[1];
     hop_value x = hop_mulf(t, in[0], 0.5), at = hop_arange(t, HOP_i64, hop_dim_of(t, x, 0));
     hop_value stay = hop_and(t, hop_ge(t, x, hop_f(t, 1)), hop_lt(t, at, n));
     hop_compact(t, x, stay, NULL, out);
     hop_return(t, out[0], out[1], hop_add(t, in[2], n));)
BODY(halve_all, hop_value all = hop_size_of(t, in[0], 0);
     hop_while(t, some_left, halve, NULL, 3,
	          (hop_value[]){ in[0], all, hop_scalar(t, HOP_i64, 0) }, NULL, out, NULL);
     hop_return(t, out[1], out[2]);)

static void in_loops(void **state)
{
	(void)state;
	int64_t d[2] = { 3, 3 };
	double x[9] = { 1, -1, 2, 1, 5, 3, 9, 4, 1 };
	hop_array *a[] = { array(HOP_f64, 2, d, x) }, *b[] = { array(HOP_f64, 2, d, x) };
	hop_array *c[] = { vec(4, V(8, 0.5, 3, 100)) }, *none[] = { vec(0, NULL) };
	EVERY_WAY(select_scan, true, 3, a, ONE(5), { 2, { 3, 2 }, V(1, 2, 5, 3, 9, 0) },
	          LINE(3, V(2, 2, 1)));
	EVERY_WAY(exact_scan, true, 1, b, ONE(86));
	/* 4 are halved, then 3 (4, 1.5, 50), 2 (2, 25), 2 (1, 12.5), 1, 1, 1 (3.1, 1.6, 0.8) */
	EVERY_WAY(halve_all, true, 2, c, ONE(0), ONE(14));
	EVERY_WAY(halve_all, true, 2, none, ONE(0), ONE(0));
}

/* ---- derivatives ---- */

BODY(squares, hop_masked_select(t, in[0], hop_gt(t, in[0], hop_f(t, 0)), HOP_COUNT_OPTS(HOP_CAP(3)),
                                out);
     hop_value v = hop_exact(t, out[0], out[1]);
     hop_return(t, hop_sum_all(t, hop_mul(t, hop_mul(t, v, v), v)));)

static void slopes(void **state)
{
	(void)state;
	int wrt = 0;
	hop_array *x[] = { vec(5, V(2, -1, 3, 1, 7)) };
	/* room for three: 2, 3, 1 */
	const struct want w[] = { ONE(36), LINE(5, V(12, 0, 27, 3, 0)) };
	for (int symbols = 0; symbols < 2; symbols++) {
		hop_fn *f = captured(squares, NULL, 1, x, symbols), *g, *j, *h;
		ok(hop_grad(f, 1, &wrt, &g), "grad");
		function(g, "grad", 1, x, 2, w);
		/* forwards, along the last slope; and the slope along it: x[i] * 6 * tangent */
		hop_array *in[] = { x[0], vec(5, V(1, 5, 0, 2, 1)) };
		ok(hop_jvp(f, 1, &wrt, &j), "jvp");
		function(j, "jvp", 2, in, 2, (const struct want[]){ ONE(36), ONE(18) });
		ok(hop_grad(f, 1, &wrt, &g), "grad");
		ok(hop_jvp(g, 1, &wrt, &h), "jvp of grad");
		function(h, "jvp of grad", 2, in, 4, (const struct want[]){ w[0], w[1], ONE(18),
		         LINE(5, V(12, 0, 0, 12, 0)) });
		hop_fn_release(g);
		hop_fn_release(f);
		hop_array_release(in[1]);
	}
	hop_array_release(x[0]);
}

/* The tangent of an exact result has its size; what a cotangent of one would be, nobody can say
 * before the run. */
static void slopes_of_exact_results(void **state)
{
	(void)state;
	int wrt = 0;
	hop_array *in[] = { vec(4, V(3, -1, 0, 4)), vec(4, V(1, 2, 3, 5)) };
	hop_fn *f = captured(exactly, NULL, 1, in, false), *g = NULL;
	ok(hop_jvp(f, 1, &wrt, &g), "jvp");
	function(g, "jvp", 2, in, 6, (const struct want[]){ LINE(2, V(3, 4)), LINE(2, V(9, 16)), ONE(7),
	         LINE(2, V(1, 5)), LINE(2, V(6, 40)), ONE(6) });
	assert_int_equal(hop_vjp(f, 1, &wrt, &g), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "give the result its capacity"));
	hop_fn *fwd = NULL, *bwd = NULL;
	assert_int_equal(hop_split(f, 1, &wrt, 1, &fwd, &bwd), HOP_EREFUSED);
	hop_fn_release(f);
	for (int i = 0; i < 2; i++)
		hop_array_release(in[i]);
}

/* ---- lanes ---- */

static void lanes(void **state)
{
	(void)state;
	int64_t d[2] = { 3, 4 };
	bool yes = true;
	hop_array *one[] = { vec(4, NULL) };
	hop_array *x[] = { array(HOP_f64, 2, d, V(3, -1, 0, 4, -1, -2, -3, -4, 1, 2, 3, 4)) };
	hop_fn *f = captured(positive, NULL, 1, one, true), *g, *h;
	ok(hop_vmap(f, &yes, 3, &g), "vmap");
	function(g, "vmap", 1, x, 2, (const struct want[]){
		{ 2, { 3, 4 }, V(3, 4, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4) }, LINE(3, V(2, 0, 4))
	});
	hop_fn_release(f);
	f = captured(different, NULL, 1, one, false);
	ok(hop_vmap(f, &yes, 3, &g), "vmap");
	function(g, "vmap", 1, x, 4, (const struct want[]){
		{ 2, { 3, 4 }, V(-1, 0, 3, 4, -4, -3, -2, -1, 1, 2, 3, 4) }, LINE(3, V(4, 4, 4)),
		{ 2, { 3, 4 }, V(2, 0, 1, 3, 3, 2, 1, 0, 0, 1, 2, 3) },
		{ 2, { 3, 4 }, V(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1) }
	});
	hop_fn_release(f);
	f = captured(halve_all, NULL, 1, one, false);
	ok(hop_vmap(f, &yes, 3, &g), "vmap");
	function(g, "vmap", 1, x, 2, (const struct want[]){ LINE(3, V(0, 0, 0)), LINE(3, V(7, 4, 8)) });
	hop_fn_release(f);
	f = captured(exactly, NULL, 1, one, false);
	assert_int_equal(hop_vmap(f, &yes, 3, &h), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "use the capacity as size and keep the count as data"));
	hop_fn_release(f);
	hop_array_release(one[0]);
	hop_array_release(x[0]);
}

/* ---- branches of different sizes ---- */

BODY(first_two, hop_return(t, hop_narrow(t, in[0], 0, 0, 2), hop_mulf(t, in[0], 2));)
BODY(whole, hop_return(t, in[0], in[0]);)
BODY(above, hop_masked_select(t, in[0], hop_gt(t, in[0], hop_f(t, 0)), NULL, out);
     hop_return(t, hop_exact(t, out[0], out[1]), in[0]);)
BODY(below, hop_masked_select(t, in[0], hop_lt(t, in[0], hop_f(t, 0)), NULL, out);
     hop_return(t, hop_exact(t, out[0], out[1]), hop_neg(t, in[0]));)
BODY(twice, hop_return(t, hop_concat(t, 2, (hop_value[]){ in[0], in[0] }, 0), in[0]);)

static hop_body *const branch[] = { first_two, whole, above, below, twice };

BODY(uneven, hop_cond_sized(t, in[1], first_two, whole, NULL, 1, in, 3, out);
     hop_return_n(t, 3, out);)
BODY(uneven_data, hop_cond_sized(t, in[1], above, below, NULL, 1, in, 3, out);
     hop_return_n(t, 3, out);)
BODY(uneven_switch, hop_switch_sized(t, in[1], 5, branch, NULL, 1, in, 3, out);
     hop_return_n(t, 3, out);)
BODY(exact_cond, hop_cond_exact(t, in[1], above, twice, NULL, 1, in, 2, out);
     hop_return(t, out[0], out[1], hop_sum_all(t, out[0]));)
BODY(exact_switch, hop_switch_exact(t, in[1], 5, branch, NULL, 1, in, 2, out);
     hop_return_n(t, 2, out);)

static void branches(void **state)
{
	(void)state;
	double x[3] = { 3, -1, 4 };
#define XI(name, k) hop_array *name[] = { vec(3, x), num_i(k) }
	XI(a0, 0); XI(a1, 1); XI(b0, 0); XI(b1, 1); XI(c0, 0); XI(c2, 2); XI(c3, 3); XI(c4, 4);
	XI(d0, 0); XI(d1, 1); XI(e0, 0); XI(e2, 2); XI(e4, 9);
	EVERY_WAY(uneven, true, 3, a1, LINE(3, V(3, -1, 0)), LINE(3, V(6, -2, 8)), ONE(2));
	EVERY_WAY(uneven, true, 3, a0, LINE(3, V(3, -1, 4)), LINE(3, V(3, -1, 4)), ONE(3));
	EVERY_WAY(uneven_data, true, 3, b1, LINE(3, V(3, 4, 0)), LINE(3, V(3, -1, 4)), ONE(2));
	EVERY_WAY(uneven_data, true, 3, b0, LINE(3, V(-1, 0, 0)), LINE(3, V(-3, 1, -4)), ONE(1));
	EVERY_WAY(uneven_switch, true, 3, c0, LINE(6, V(3, -1, 0, 0, 0, 0)), LINE(3, V(6, -2, 8)), ONE(2));
	EVERY_WAY(uneven_switch, true, 3, c2, LINE(6, V(3, 4, 0, 0, 0, 0)), LINE(3, x), ONE(2));
	EVERY_WAY(uneven_switch, true, 3, c3, LINE(6, V(-1, 0, 0, 0, 0, 0)), LINE(3, V(-3, 1, -4)), ONE(1));
	EVERY_WAY(uneven_switch, true, 3, c4, LINE(6, V(3, -1, 4, 3, -1, 4)), LINE(3, x), ONE(6));
	EVERY_WAY(exact_cond, true, 3, d1, LINE(2, V(3, 4)), LINE(3, x), ONE(7));
	EVERY_WAY(exact_cond, true, 3, d0, LINE(6, V(3, -1, 4, 3, -1, 4)), LINE(3, x), ONE(12));
	EVERY_WAY(exact_switch, true, 2, e0, LINE(2, V(3, -1)), LINE(3, V(6, -2, 8)));
	EVERY_WAY(exact_switch, true, 2, e2, LINE(2, V(3, 4)), LINE(3, x));
	EVERY_WAY(exact_switch, true, 2, e4, LINE(6, V(3, -1, 4, 3, -1, 4)), LINE(3, x));
#undef XI
}

BODY(loss, hop_cond_exact(t, in[1], above, twice, NULL, 1, in, 2, out);
     hop_return(t, hop_sum_all(t, hop_mul(t, out[0], hop_mul(t, out[0], out[0]))));)

static void slopes_of_branches(void **state)
{
	(void)state;
	int wrt = 0;
	for (int64_t p = 0; p < 2; p++) {
		hop_array *in[] = { vec(3, V(3, -1, 4)), num_i(p), vec(3, V(1, 1, 2)) };
		const struct want w[] = { ONE(p ? 91 : 180), LINE(3, p ? V(27, 0, 48) : V(54, 6, 96)),
		                          ONE(p ? 123 : 252), LINE(3, p ? V(18, 0, 48) : V(36, -12, 96)) };
		for (int symbols = 0; symbols < 2; symbols++) {
			hop_fn *f = captured(loss, NULL, 2, in, symbols), *g, *h;
			ok(hop_grad(f, 1, &wrt, &g), "grad");
			ok(hop_jvp(g, 1, &wrt, &h), "jvp of grad");
			function(g, "grad", 2, in, 2, w);
			function(h, "jvp of grad", 3, in, 4, w);
			hop_fn_release(f);
		}
		for (int i = 0; i < 3; i++)
			hop_array_release(in[i]);
	}
}

BODY(exact_uneven, hop_cond_exact(t, in[1], first_two, whole, NULL, 1, in, 2, out);
     hop_return_n(t, 2, out);)

/* A predicate for each lane: all are padded, each has its count. One for all: exact too. */
static void lanes_of_branches(void **state)
{
	(void)state;
	int64_t d[2] = { 2, 3 }, two = 2, p[2] = { 1, 0 };
	bool both[2] = { true, true }, data[2] = { true, false };
	hop_array *one[] = { vec(3, NULL), num_i(0) };
	hop_array *x[] = { array(HOP_f64, 2, d, V(3, -1, 4, -1, -2, 5)), array(HOP_i64, 1, &two, p) };
	hop_array *y[] = { x[0], num_i(1) };
	hop_fn *f = captured(uneven, NULL, 2, one, false), *g;
	ok(hop_vmap(f, both, 2, &g), "vmap");
	function(g, "vmap", 2, x, 3, (const struct want[]){ { 2, { 2, 3 }, V(3, -1, 0, -1, -2, 5) },
	         { 2, { 2, 3 }, V(6, -2, 8, -1, -2, 5) }, LINE(2, V(2, 3)) });
	hop_fn_release(f);
	f = captured(exact_uneven, NULL, 2, one, true);
	assert_int_equal(hop_vmap(f, both, 2, &g), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "keep the count as data"));
	ok(hop_vmap(f, data, 2, &g), "vmap");
	function(g, "vmap", 2, y, 2, (const struct want[]){ { 2, { 2, 2 }, V(3, -1, -1, -2) },
	         { 2, { 2, 3 }, V(6, -2, 8, -2, -4, 10) } });
	hop_fn_release(f);
	f = captured(exact_cond, NULL, 2, one, false);
	assert_int_equal(hop_vmap(f, data, 2, &g), HOP_EREFUSED);      /* its data decide sizes */
	hop_fn_release(f);
	for (int i = 0; i < 2; i++) {
		hop_array_release(one[i]);
		hop_array_release(x[i]);
	}
	hop_array_release(y[1]);
}

/* In a loop: a body's own sizes, added up. */
BODY(branch_step, hop_value x = in[1];
     hop_value args[2];
     args[0] = x;
     hop_cond_exact(t, hop_gt(t, in[0], hop_f(t, 5)), above, twice, NULL, 1, args, 2, out);
     hop_return(t, hop_add(t, in[0], hop_sum_all(t, out[0])));)
BODY(branch_scan, hop_scan(t, branch_step, NULL, 1, (hop_value[]){ hop_scalar(t, HOP_f64, 0) }, 1, in,
                           NULL, 1, out, NULL);
     hop_return_n(t, 1, out);)
BODY(shrinks, hop_return(t, hop_exact(t, in[0], hop_i(t, 2)));)
BODY(one_left, hop_return(t, hop_gt(t, hop_sum_all(t, in[0]), hop_f(t, 0)));)
BODY(shrink, hop_while(t, one_left, shrinks, NULL, 1, in, NULL, out, NULL);
     hop_return(t, out[0]);)
BODY(plain, hop_cond(t, in[1], above, below, NULL, 1, in, 2, out);
     hop_return_n(t, 2, out);)

static void branches_in_loops(void **state)
{
	(void)state;
	int64_t d[2] = { 2, 3 };
	double x[6] = { 3, -1, 4, -1, 2, 5 };
	hop_array *a[] = { array(HOP_f64, 2, d, x) };
	EVERY_WAY(branch_scan, true, 1, a, ONE(19));
	hop_spec s[2] = { hop_spec_of(HOP_f64, 1, (int64_t[]){ 3 }), hop_spec_of(HOP_i64, 0, NULL) };
	rig_fails(shrink, NULL, 1, s, HOP_ESHAPE, "give it a capacity, and carry a count");
	rig_fails(plain, NULL, 2, s, HOP_EREFUSED, "pad it to a capacity and return the count");
}

/* ---- wrong calls; the others are in wrong_calls.h ---- */

BODY(no_bools, hop_masked_select(t, in[0], in[0], NULL, out);)
BODY(no_rows, hop_compact(t, in[0], hop_gt(t, hop_narrow(t, in[0], 0, 0, 2), hop_f(t, 0)), NULL, out);)
BODY(long_fill, hop_unique(t, in[0], HOP_COUNT_OPTS(.fill = in[0]), out);)
BODY(no_place, hop_nonzero(t, in[0], NULL, NULL);)
BODY(less_room, hop_nonzero(t, in[0], HOP_COUNT_OPTS(HOP_CAP(-1)), out);)
BODY(no_count, hop_exact(t, in[0], in[0]);)
BODY(two_caps, HOP_E(t, "unique(x, cap=(1, 2))", HOP_AS(x, in[0]));)

static void refusals(void **state)
{
	(void)state;
	hop_spec s = hop_spec_of(HOP_f64, 1, (int64_t[]){ 3 });
	rig_fails(no_bools, NULL, 1, &s, HOP_ETYPE, "masked_select: the mask is f64, bools it must be");
	rig_fails(no_rows, NULL, 1, &s, HOP_ESHAPE, "compact: the mask is bool[2] for an x of f64[3]");
	rig_fails(long_fill, NULL, 1, &s, HOP_ESHAPE, "unique: the fill is f64[3], it must be a scalar");
	rig_fails(no_place, NULL, 1, &s, HOP_EUSE, "nonzero: no place for the results was given");
	rig_fails(less_room, NULL, 1, &s, HOP_EVALUE, "nonzero: size -1");
	rig_fails(no_count, NULL, 1, &s, HOP_ETYPE, "the count is f64");
	rig_fails(two_caps, NULL, 1, &s, HOP_EVALUE, "unique: there is one capacity");
}

int main(void)
{
	const struct CMUnitTest all[] = {
		cmocka_unit_test(some_all_and_none), cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(no_elements), cmocka_unit_test(every_dtype),
		cmocka_unit_test(nans_and_zeros), cmocka_unit_test(long_sorts),
		cmocka_unit_test(exact_arrays), cmocka_unit_test(exact_from_a_jit),
		cmocka_unit_test(exact_in_the_callers_memory),
		cmocka_unit_test(exact_without_a_bound), cmocka_unit_test(in_loops),
		cmocka_unit_test(slopes), cmocka_unit_test(slopes_of_exact_results),
		cmocka_unit_test(lanes), cmocka_unit_test(branches), cmocka_unit_test(slopes_of_branches),
		cmocka_unit_test(lanes_of_branches), cmocka_unit_test(branches_in_loops),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(all, rig_up, rig_down);
}
