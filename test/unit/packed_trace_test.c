/* packed_trace_test.c -- floats of 16 bits through the public interface: composites, which are
 * rounded once; a function in them and its gradient; captured and eagerly. */
#include "trace_rig.h"

#include "hop/nn.h"

enum { ROWS = 5, COLS = 9, N = ROWS * COLS, MOST = 7 };

static const struct { hop_dtype d; double last; } packed[] = {      /* last place of 1 */
	{ HOP_bf16, 0x1p-7 }, { HOP_f16, 0x1p-10 },
};

/* Eighths, which all of them hold. */
static hop_array *inputs(void)
{
	static const int64_t dim[2] = { ROWS, COLS };
	double x[N];
	for (int i = 0; i < N; i++)
		x[i] = (double)(i * 37 % 41 - 20) / 8;
	return array(HOP_f64, 2, dim, x);
}

/* The body in dtype *user, from f64 to f64; all results are a promise of that dtype. */
static hop_value into(hop_trace *t, hop_value x, const void *user)
{
	return hop_cast(t, x, *(const hop_dtype *)user);
}

static hop_value out_of(hop_trace *t, hop_value y, const void *user)
{
	assert_int_equal(hop_dtype_of(t, y), *(const hop_dtype *)user);
	return hop_cast(t, y, HOP_f64);
}

static void composites(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = into(t, in[0], user), none = { 0, 0 }, w = hop_index(t, x, 0, 0);
	hop_return(t, out_of(t, hop_softmax(t, x, -1), user),
	           out_of(t, hop_layer_norm(t, x, none, none, 1e-5), user),
	           out_of(t, hop_layer_norm(t, x, w, w, 1e-5), user),
	           out_of(t, hop_mean(t, x, 1, (const int[]){ 1 }), user),
	           out_of(t, hop_sigmoid(t, x), user), out_of(t, hop_silu(t, x), user),
	           out_of(t, hop_log_sigmoid(t, x), user));
}

static void run(hop_body *f, hop_dtype d, bool eager, int nout, hop_array **out)
{
	hop_array *in = inputs();
	hop_spec   spec = spec_of(in);
	hop_fn    *fn;
	if (eager) {
		if (hop_eager_call(ctx, f, &d, 1, &in, nout, out))
			fail_msg("%s", hop_message(ctx));
	} else {
		if (hop_capture(ctx, f, &d, 1, &spec, &fn) || hop_call(fn, 1, &in, nout, out))
			fail_msg("%s", hop_message(ctx));
		hop_fn_release(fn);
	}
	hop_array_release(in);
}

/* The exact result, rounded: the number itself or, where f32 is off, the next one. */
static void test_composites(void **state)
{
	(void)state;
	for (int k = 0; k < 4; k++) {
		hop_array *want[MOST], *got[MOST];
		run(composites, HOP_f64, k & 1, MOST, want);
		run(composites, packed[k / 2].d, k & 1, MOST, got);
		for (int i = 0; i < MOST; i++) {
			for (int64_t j = 0; j < hop_array_count(want[i]); j++) {
				double w = hop_array_at(want[i], j), g = hop_array_at(got[i], j);
				if (fabs(w - g) > packed[k / 2].last * (fabs(w) + 1e-6))
					fail_msg("composite %d element %d: %g, not %g", i, (int)j, g, w);
			}
			hop_array_release(want[i]);
			hop_array_release(got[i]);
		}
	}
}

/* A loss of everything, and its gradient: in each dtype near that of f64. */
static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = into(t, in[0], user), y = hop_tanh(t, hop_matmul(t, x, hop_transpose(t, x, 0, 1)));
	hop_return(t, hop_mean(t, hop_mul(t, y, hop_softmax(t, y, -1)), 0, NULL));
}

static void test_gradient(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++) {
		hop_array *in = inputs(), *small = NULL, *y[2], *z[2];
		hop_dtype  d = packed[k].d, f64 = HOP_f64;
		hop_spec   spec = spec_of(in), narrow = spec;
		hop_fn    *f, *g, *df, *dg;
		narrow.dtype = d;
		uint16_t   bits[N];
		for (int i = 0; i < N; i++) {          /* an eighth of a small number, by hand */
			double v = hop_array_at(in, i), m = fabs(v);
			int    e = 0, bias = d == HOP_bf16 ? 127 : 15, man = d == HOP_bf16 ? 7 : 10;
			m = frexp(m, &e);
			bits[i] = (uint16_t)(!v ? 0 : (v < 0) << 15 | (e - 1 + bias) << man |
			                     (int)ldexp(2 * m - 1, man));
		}
		small = array(d, 2, hop_array_dims(in), bits);
		for (int i = 0; i < N; i++)
			assert_true(hop_array_at(small, i) == hop_array_at(in, i));
		if (hop_capture(ctx, loss, &f64, 1, &spec, &f) || hop_capture(ctx, loss, &d, 1, &narrow, &g) ||
		    hop_grad(f, 1, (const int[]){ 0 }, &df) || hop_grad(g, 1, (const int[]){ 0 }, &dg) ||
		    hop_call(df, 1, &in, 2, y) || hop_call(dg, 1, &small, 2, z))
			fail_msg("%s", hop_message(ctx));
		assert_int_equal(hop_array_dtype(z[1]), d);
		for (int i = 0; i < 2; i++)
			for (int64_t j = 0; j < hop_array_count(y[i]); j++)
				if (fabs(hop_array_at(y[i], j) - hop_array_at(z[i], j)) > 4 * packed[k].last)
					fail_msg("result %d element %d: %g, not %g", i, (int)j, hop_array_at(z[i], j),
					         hop_array_at(y[i], j));
		for (int i = 0; i < 2; i++) {
			hop_array_release(y[i]);
			hop_array_release(z[i]);
		}
		hop_array_release(in);
		hop_array_release(small);
		hop_fn_release(df), hop_fn_release(dg), hop_fn_release(f), hop_fn_release(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_composites),
	                                    cmocka_unit_test(test_gradient) };
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
