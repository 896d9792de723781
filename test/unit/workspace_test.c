/* workspace_test.c -- temporaries that shrank to an iteration of a parallel loop, and those that
 * live in results: the same bits for any number of threads and in any order of the pieces, near
 * the interpreter's, with not a byte touched outside of the workspace and the results; none, one
 * and odd numbers of rows, known and symbolic. And as few bytes as were promised. */
#include "numbers_rig.h"
#include "support/fence.h"

enum { NIN = 5, NOUT = 6 };

static hop_value square_sum(hop_trace *t, hop_value x)
{
	return hop_sum_all(t, hop_mul(t, x, x));
}

static void norm(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_sum_all(t, hop_tanh(t, hop_layer_norm(t, in[0], in[1], in[2], 1e-5))));
}

/* Rows are used twice: by a softmax and by what multiplies it. */
static void soft(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_softmax(t, hop_mul(t, in[0], in[1]), 1);

	(void)user;
	hop_return(t, square_sum(t, hop_mul(t, hop_softmax(t, hop_sin(t, y), 1), in[0])));
}

/* A parallel loop with rows of its own around, no sum. */
static void rows(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = hop_softmax(t, in[0], 1);

	(void)user;
	hop_return(t, hop_softmax(t, hop_mul(t, hop_softmax(t, y, 1), hop_tanh(t, y)), 1));
}

static hop_value gelu(hop_trace *t, hop_value x)
{
	hop_value u = hop_add(t, x, hop_mulf(t, hop_mul(t, hop_mul(t, x, x), x), 0.044715));

	return hop_mul(t, hop_mulf(t, x, 0.5), hop_addf(t, hop_tanh(t, hop_mulf(t, u, 0.8)), 1));
}

static void layers(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = gelu(t, hop_add(t, hop_matmul(t, in[0], in[1]), in[2]));

	(void)user;
	hop_return(t, square_sum(t, hop_add(t, hop_matmul(t, h, in[3]), in[4])));
}

/* ---- making ---- */

typedef struct work {
	const char *name;
	hop_body   *body;
	bool        grad;
	int         nin;
	int64_t     dim[NIN][2];         /* 0: one dimension less */
	bool        symbolic;            /* the rows of input 0 */
} work;

static hop_fn *capture(const work *w)
{
	static const int wrt[NIN] = { 0, 1, 2, 3, 4 };
	hop_spec s[NIN];
	hop_fn  *f, *g;

	for (int i = 0; i < w->nin; i++)
		s[i] = w->dim[i][1] ? hop_spec2(HOP_f32, w->dim[i][0], w->dim[i][1])
		                    : hop_spec1(HOP_f32, w->dim[i][0]);
	if (w->symbolic)
		s[0] = hop_spec_sym(s[0], 0, "n", 0, 0);
	ok(hop_capture(ctx, w->body, NULL, w->nin, s, &f));
	if (!w->grad)
		return f;
	ok(hop_grad(f, w->nin, wrt, &g));
	hop_fn_release(f);
	return g;
}

/* The caller's threads: pieces one by one, the last first. */
static void backwards(void *user, void (*body)(void *arg, int64_t begin, int64_t end), void *arg,
                      int64_t n)
{
	(void)user;
	while (n-- > 0)
		body(arg, n, n + 1);
}

/* n threads; 0: the caller's. */
static hop_exec *compiled(hop_fn *f, int n)
{
	hop_compile_opts o = { .size = sizeof o, .threads = n, .parallel = n ? NULL : backwards };
	hop_exec        *x;

	ok(hop_compile(f, &o, &x));
	return x;
}

/* ---- running ---- */

static void near(const float *got, const hop_array *want, const work *w, int k)
{
	const float *y = hop_array_data((hop_array *)want);

	for (int64_t i = 0; i < hop_array_count(want); i++)
		if (!(fabsf(got[i] - y[i]) <= 2e-4f * (1 + fabsf(y[i]))))
			fail_msg("%s, %lld rows: element %lld of result %d is %.9g, not %.9g", w->name,
			         (long long)w->dim[0][0], (long long)i, k, (double)got[i], (double)y[i]);
}

/* Into memory between pages that nobody may touch, once on each side. */
static void go(hop_fn *f, const work *w, hop_array *const *in, hop_array *const *want, int nthread,
               bool behind, fence *out)
{
	hop_exec *x = compiled(f, nthread);
	hop_arg   a[NIN] = { 0 }, r[NOUT] = { 0 };
	int       nout = hop_fn_nout(f);

	for (int i = 0; i < w->nin; i++)
		a[i] = (hop_arg){ .data = hop_array_data(in[i]), .dim = hop_array_dims(in[i]) };
	for (int i = 0; i < nout; i++) {
		out[i] = fence_new((size_t)hop_array_count(want[i]) * sizeof(float), 4, behind);
		r[i].data = out[i].p;
	}
	int64_t bytes = hop_exec_workspace_for(x, a, r);
	assert_true(bytes >= 0);
	fence room = fence_new((size_t)bytes, 64, behind);
	ok(hop_run(x, a, r, room.p));
	fence_free(&room);
	hop_exec_release(x);
}

static void check(const work *w)
{
	hop_fn    *f = capture(w);
	hop_array *in[NIN], *want[NOUT];
	fence      one[NOUT], more[NOUT];
	int        nout = hop_fn_nout(f);

	for (int i = 0; i < w->nin; i++) {
		ok(hop_array_new(ctx, HOP_f32, w->dim[i][1] ? 2 : 1, w->dim[i], NULL, &in[i]));
		for (int64_t k = 0; k < hop_array_count(in[i]); k++)
			((float *)hop_array_data(in[i]))[k] = (float)((k * 7919 + i) % 2003) / 2000 - 0.5f;
	}
	ok(hop_call_with(f, w->nin, in, nout, want, HOP_RUN_OPTS(.interpret = true)));
	go(f, w, in, want, 1, true, one);
	for (int i = 0; i < nout; i++)
		near(one[i].p, want[i], w, i);
	for (int k = 0; k < 4; k++) {
		go(f, w, in, want, (const int[]){ 0, 2, 7, 1 }[k], k & 1, more);
		for (int i = 0; i < nout; i++) {
			if (memcmp(one[i].p, more[i].p, (size_t)hop_array_count(want[i]) * sizeof(float)))
				fail_msg("%s, %lld rows: other bits on more threads", w->name,
				         (long long)w->dim[0][0]);
			fence_free(&more[i]);
		}
	}
	for (int i = 0; i < nout; i++) {
		fence_free(&one[i]);
		hop_array_release(want[i]);
	}
	for (int i = 0; i < w->nin; i++)
		hop_array_release(in[i]);
	hop_fn_release(f);
}

/* Every size with forks where they pay, and wherever they can be. */
static void all_rows(work w)
{
	static const int64_t n[] = { 0, 1, 2, 31, 32, 33, 67, 200 };

	for (size_t i = 0; i < sizeof n / sizeof *n; i++)
		for (int k = 0; k < 4; k++) {
			w.dim[0][0] = n[i];
			w.symbolic = k & 1;
			if (k & 2)
				setenv("HOP_FORK", "1", 1);
			check(&w);
			unsetenv("HOP_FORK");
		}
}

static void test_norm(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		int64_t n = (const int64_t[]){ 1, 7, 40 }[i];

		all_rows((work){ "norm", norm, true, 3, { { 0, n }, { n }, { n } }, false });
	}
}

static void test_soft(void **state)
{
	(void)state;
	all_rows((work){ "soft", soft, true, 2, { { 0, 33 }, { 33 } }, false });
	all_rows((work){ "rows", rows, false, 1, { { 0, 19 } }, false });
}

/* 96 rows and more: their temporaries are large enough for results to hold them. */
static void test_layers(void **state)
{
	work w = { "layers", layers, true, 5, { { 0, 128 }, { 128, 256 }, { 256 }, { 256, 128 }, { 128 } },
	           false };

	(void)state;
	for (int i = 0; i < 3; i++) {
		w.dim[0][0] = (const int64_t[]){ 96, 131, 1 }[i];
		w.symbolic = false;
		check(&w);
		w.symbolic = true;
		check(&w);
	}
}

/* ---- how much ---- */

static int64_t bytes(const work *w, int nthread)
{
	hop_fn   *f = capture(w);
	hop_exec *x = compiled(f, nthread);
	hop_arg   in[NIN] = { 0 }, out[NOUT] = { 0 };
	int64_t   n = hop_exec_workspace_for(x, in, out);

	hop_exec_release(x);
	hop_fn_release(f);
	return n;
}

/* At most 1.2 times what XLA's plan for these takes. */
static void test_promise(void **state)
{
	work a = { "norm", norm, true, 3, { { 512, 1024 }, { 1024 }, { 1024 } }, false };
	work b = { "layers", layers, true, 5,
	           { { 512, 1024 }, { 1024, 4096 }, { 4096 }, { 4096, 1024 }, { 1024 } }, false };

	(void)state;
	for (int n = 1; n <= 2; n++) {
		assert_true(bytes(&a, n) > 0 && bytes(&a, n) <= 6299648 * 6 / 5);
		assert_true(bytes(&b, n) > 0 && bytes(&b, n) <= 25165824 / 5 * 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_norm), cmocka_unit_test(test_soft), cmocka_unit_test(test_layers),
		cmocka_unit_test(test_promise)
	};
	return cmocka_run_group_tests(tests, open_ctx, close_ctx);
}
