/* jit_test.c -- functions that capture themselves: values against fresh captures, when they capture
 * again, what they say about it, and wrong use. */
#include "jit_rig.h"

/* ---- values ---- */

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	runs++;
	hop_return(t, hop_mulf(t, in[0], 2));
}

/* x[n, m], y[m] -> sums of exp(x) * y over the rows, and all of it */
static void rows(hop_trace *t, const hop_value *in, void *user)
{
	const int axis = 1;
	(void)user;
	hop_value z = hop_mul(t, hop_sin(t, in[0]), in[1]);
	hop_return(t, hop_sum(t, z, 1, &axis), hop_add(t, z, hop_size_of(t, in[0], 0)));
}

static void step(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value h = hop_tanh(t, hop_add(t, in[0], in[1]));
	hop_return(t, h, hop_mulf(t, h, 3));
}

/* h[m], xs[n, m] -> a scan */
static void chain(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2];
	(void)user;
	hop_scan(t, step, NULL, 1, &in[1], 1, &in[0], NULL, 2, out, NULL);
	hop_return(t, out[0], out[1]);
}

/* The same call on a capture of its own, interpreted. */
static void fresh(hop_body *f, void *user, int nin, hop_array **in, int nout, hop_array **out)
{
	hop_spec s[RIG_MAX];
	hop_fn *fn;
	for (int i = 0; i < nin; i++)
		s[i] = spec_of(in[i]);
	ok(hop_capture(ctx, f, user, nin, s, &fn));
	ok(hop_call_with(fn, nin, in, nout, out, HOP_RUN_OPTS(.interpret = true)));
	hop_fn_release(fn);
}

/* Sizes at random, of which few bring a capture with them. */
static void test_values(void **state)
{
	static const int64_t sizes[] = { 0, 1, 2, 3, 5, 17 };
	hop_body *const bodies[] = { rows, chain };
	unsigned seed = 7;
	(void)state;
	for (int b = 0; b < 2; b++) {
		hop_jit *j = jit(bodies[b], NULL, HOP_JIT_OPTS(.keep = 20, .check = b));
		for (int i = 0; i < 150; i++) {
			seed = seed * 1664525u + 1013904223u;
			int64_t n = sizes[(seed >> 8 & 0xff) % 6], m = sizes[(seed >> 20) % 6];
			hop_array *in[2] = { ramp2(n, m, 0.1), ramp1(m, -1) }, *got[2], *want[2];
			ok(hop_jit_call(j, 2, in, 2, got));
			fresh(bodies[b], NULL, 2, in, 2, want);
			equal(got[0], want[0]);
			equal(got[1], want[1]);
			release(2, in);
			release(2, got);
			release(2, want);
		}
		/* n and m: 0, 1, first, symbol; each with each, and what equal sizes gave at first */
		int captures = atoi(strstr(hop_explain(j), "hits, ") + 6);
		assert_in_range(captures, 9, 20);
		hop_jit_release(j);
	}
}

/* ---- sizes ---- */

static void test_symbols(void **state)
{
	hop_jit *j = jit(twice, NULL, HOP_JIT_OPTS(.name = "twice"));
	(void)state;
	runs = 0;
	call_n(j, 64);
	call_n(j, 64);
	assert_int_equal(runs, 1);
	call_n(j, 32);                           /* changed: a symbol */
	call_n(j, 16);
	call_n(j, 64);                           /* the first is still there */
	assert_int_equal(runs, 2);
	call_n(j, 1);
	call_n(j, 0);
	call_n(j, 2);
	call_n(j, 1);
	assert_int_equal(runs, 4);
	assert_string_equal(hop_explain(j),
	                    "twice: 9 calls, 5 hits, 4 captures, 4 kept of at most 8\n"
	                    "  capture 4: f64[0]: 0 hits\n"
	                    "  capture 3: f64[1]: 1 hit\n"
	                    "  capture 1: f64[64]: 2 hits\n"
	                    "  capture 2: f64[s0]; symbols are 2 or more: 2 hits\n"
	                    "why\n"
	                    "  capture 1: first call\n"
	                    "  capture 2: argument 0: axis 0 was 64, now 32: became a symbol\n"
	                    "  capture 3: argument 0: axis 0 was 64, now 1: sizes 0 and 1 are kept apart\n"
	                    "  capture 4: argument 0: axis 0 was 1, now 0: sizes 0 and 1 are kept apart\n");
	hop_jit_release(j);
}

static void call_2(hop_jit *j, int64_t n, int64_t m)
{
	hop_array *in[2] = { ramp1(n, 0), ramp1(m, 1) };
	ok(call(j, 2, in, 1));
	release(2, in);
}

/* Axes that change together are one symbol as long as they do. */
static void test_together(void **state)
{
	hop_jit *j = jit(add, NULL, NULL);
	hop_array *in[2] = { ramp1(7, 0), ramp1(7, 1) };
	hop_fn *f;
	hop_spec s[2];
	(void)state;
	runs = 0;
	call_2(j, 64, 64);
	call_2(j, 32, 32);
	call_2(j, 5, 5);
	assert_int_equal(runs, 2);
	ok(hop_jit_fn(j, 2, in, &f));
	assert_true(hop_fn_in_type(f, 0, &s[0]) && hop_fn_in_type(f, 1, &s[1]));
	assert_string_equal(s[0].sym[0], s[1].sym[0]);
	assert_int_equal(s[0].dim[0], 2);
	assert_null(strstr(hop_fn_text(f), "check"));
	hop_fn_release(f);
	call_2(j, 5, 1);                         /* broadcast; says nothing of what is together */
	call_2(j, 9, 9);
	assert_int_equal(runs, 3);
	hop_array *odd[2] = { ramp1(4, 0), ramp1(6, 0) };
	assert_int_equal(call(j, 2, odd, 1), HOP_ESHAPE);    /* a symbol each, and a check */
	why(j, 3, "argument 1: axis 0 was the symbol s0, now 1: sizes 0 and 1 are kept apart");
	says(j, "jit: ", "7 calls, 3 hits, 4 captures, 4 kept of at most 8");
	release(2, in);
	release(2, odd);
	hop_jit_release(j);
}

static void outer(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	runs++;
	hop_return(t, hop_mul(t, hop_unsqueeze(t, in[0], 1), in[1]));
}

static void test_apart(void **state)
{
	hop_jit *j = jit(outer, NULL, NULL);
	(void)state;
	runs = 0;
	call_2(j, 64, 64);
	call_2(j, 32, 32);
	call_2(j, 32, 48);
	call_2(j, 10, 20);
	call_2(j, 20, 20);                       /* the shared symbol serves that, too */
	assert_int_equal(runs, 3);
	why(j, 3, "argument 1: axis 0 was the symbol s0, now 48: a symbol of its own");
	hop_jit_release(j);
	j = jit(outer, NULL, HOP_JIT_OPTS(.exact = true));
	runs = 0;
	call_2(j, 64, 64);
	call_2(j, 32, 32);
	call_2(j, 16, 32);
	assert_int_equal(runs, 3);
	why(j, 2, "argument 0: axis 0 was 64, now 32: sizes are numbers here; "
	          "argument 1: axis 0 was 64, now 32: sizes are numbers here");
	hop_jit_release(j);
}

/* C code that needs the number. */
static void unrolled(hop_trace *t, const hop_value *in, void *user)
{
	hop_value s = hop_f(t, 0);
	int64_t n = hop_dim_int(t, hop_dim_of(t, in[0], 0));
	(void)user;
	runs++;
	for (int64_t i = 0; i < n; i++)
		s = hop_add(t, hop_mulf(t, s, 2), hop_index(t, in[0], 0, i));
	hop_return(t, s);
}

static void test_numbers(void **state)
{
	hop_jit *j = jit(unrolled, NULL, NULL);
	(void)state;
	runs = 0;
	for (int64_t n = 2; n < 6; n++) {
		hop_array *x = ramp1(n, 1), *got, *want;
		ok(hop_jit_call(j, 1, &x, 1, &got));
		if (n == 3)                          /* that symbols failed is no failure */
			assert_string_equal(hop_message(ctx), "");
		fresh(unrolled, NULL, 1, &x, 1, &want);
		equal(got, want);
		hop_array_release(x);
		hop_array_release(got);
		hop_array_release(want);
	}
	assert_int_equal(runs, 4 + 5);           /* four are fresh, one failed with a symbol */
	const char *text = strstr(hop_explain(j), "capture 2: argument");
	assert_non_null(text);
	assert_non_null(strstr(text, "axis 0 was 2, now 3: sizes are numbers here; "
	                       "with symbols it fails ("));
	assert_non_null(strstr(text, "dim_int: the size is a symbol"));
	hop_jit_release(j);
	/* a symbol that was asked for is an error */
	hop_spec s = hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 2, 0);
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, unrolled, NULL, 1, &s, &f), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "dim_int: the size is a symbol, no number"));
}

/* x[1:] + y: of two elements one is left, which broadcasts. */
static void tail(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_dim n = hop_dim_sub(t, hop_dim_of(t, in[0], 0), hop_n(1));
	hop_return(t, hop_add(t, hop_slice(t, in[0], 0, hop_n(1), n, 1), in[1]));
}

static void test_refused(void **state)
{
	static const int64_t sizes[] = { 6, 2, 2, 6, 3 };
	hop_jit *j = jit(tail, NULL, NULL);
	hop_array *y = ramp1(5, 10);
	(void)state;
	for (int i = 0; i < 5; i++) {
		hop_array *in[2] = { ramp1(sizes[i], 1), y }, *got, *want;
		if (sizes[i] == 3) {
			assert_int_equal(call(j, 2, in, 1), HOP_ESHAPE);
			assert_non_null(strstr(hop_message(ctx), "jit_test.c:"));
			assert_non_null(strstr(hop_message(ctx), "add: f64[2] and f64[5] do not broadcast"));
		} else {
			ok(hop_jit_call(j, 2, in, 1, &got));
			fresh(tail, NULL, 2, in, 1, &want);
			equal(got, want);
			hop_array_release(got);
			hop_array_release(want);
		}
		hop_array_release(in[0]);
	}
	assert_non_null(strstr(hop_explain(j), "capture 3: capture 2 refuses these sizes; with symbols it "
	                       "fails ("));
	says(j, "jit: ", "5 calls, 3 hits, 3 captures, 3 kept of at most 8");
	hop_array_release(y);
	hop_jit_release(j);
}

static void total(hop_trace *t, const hop_value *in, void *user)
{
	const int *n = user;
	hop_value s = hop_f(t, 0);
	for (int i = 0; i < *n; i++)
		s = hop_add(t, s, hop_sum_all(t, in[i]));
	hop_return(t, s);
}

/* More axes than there can be symbols, and more arguments than fit on the stack of a call. */
static void test_many(void **state)
{
	enum { N = 70 };
	int n = N;
	hop_array *in[N];
	hop_jit *j = jit(total, &n, NULL);
	(void)state;
	for (int round = 0; round < 4; round++) {
		hop_array *got;
		double want = 0;
		for (int i = 0; i < N; i++) {
			int64_t size = 2 + (i * 7 + round * (i + 1)) % 90;
			in[i] = ramp1(size, i);
			for (int64_t k = 0; k < size; k++)
				want += hop_array_at(in[i], k);
		}
		ok(hop_jit_call(j, N, in, 1, &got));
		assert_true(fabs(hop_array_at(got, 0) - want) < 1e-9 * want);
		release(N, in);
		hop_array_release(got);
	}
	assert_non_null(strstr(hop_explain(j), "; and 66 more"));
	hop_jit_release(j);
}

/* ---- dtypes, ranks, counts ---- */

static void test_types(void **state)
{
	hop_jit *j = jit(add, NULL, HOP_JIT_OPTS(.args = &names));
	const int64_t n = 4;
	hop_array *a = ramp1(4, 1), *b = ramp(HOP_f32, 1, &n, 2), *c = num(3), *out;
	(void)state;
	ok(call(j, 2, (hop_array *[]){ a, a }, 1));
	ok(call(j, 2, (hop_array *[]){ a, b }, 1));
	ok(call(j, 2, (hop_array *[]){ c, b }, 1));
	ok(hop_jit_call(j, 2, (hop_array *[]){ b, b }, 1, &out));
	assert_int_equal(hop_array_dtype(out), HOP_f32);
	hop_array_release(out);
	assert_int_equal(call(j, 3, (hop_array *[]){ b, b, c }, 1), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: the body has names for 2 arguments, got 3");
	why(j, 2, "dtype of argument 1 (w) was f64, now f32");
	why(j, 3, "rank of argument 0 (x) was 1, now 0");
	why(j, 4, "dtype of argument 0 (x) was f64, now f32; rank of argument 0 (x) was 0, now 1");
	hop_jit_release(j);
	j = jit(add, NULL, NULL);
	ok(call(j, 2, (hop_array *[]){ a, b }, 1));
	ok(call(j, 3, (hop_array *[]){ a, b, c }, 1));
	why(j, 2, "there were 2 arguments, now 3");
	for (int n1 = 0; n1 < 2; n1++) {
		assert_int_equal(call(j, n1, (hop_array *[]){ a }, 1), HOP_EUSE);
		assert_non_null(strstr(hop_message(ctx), "add: a value that was never set"));
	}
	release(3, (hop_array *[]){ a, b, c });
	hop_jit_release(j);
}

/* ---- static data ---- */

static void test_static(void **state)
{
	struct config c;
	int other = 1;
	memset(&c, 0, sizeof c);
	c.layers = 2;
	c.scale = 3;
	(void)state;
	hop_jit *j = jit(configured, &c, HOP_JIT_OPTS(.statics = { HOP_STATIC(&other, sizeof other),
	                                                           HOP_STATIC(&c, sizeof c) }));
	runs = 0;
	assert_true(at_two(j) == 18);
	c.layers = 3;
	assert_true(at_two(j) == 54);
	c.scale = 1;
	assert_true(at_two(j) == 2);
	other = 2;
	assert_true(at_two(j) == 2);
	c.layers = 2;
	c.scale = 3;
	other = 1;
	assert_true(at_two(j) == 18);            /* what was, is kept */
	assert_int_equal(runs, 4);
	why(j, 2, "static data 1 changed at byte 0");
	why(j, 3, "static data 1 changed at byte 22");       /* 3.0 and 1.0 begin alike */
	why(j, 4, "static data 0 changed at byte 0");
	hop_jit_release(j);
}

/* ---- what is kept ---- */

static void test_dropped(void **state)
{
	hop_jit *j = jit(twice, NULL, HOP_JIT_OPTS(.keep = 2, .exact = true));
	(void)state;
	runs = 0;
	call_n(j, 10);
	call_n(j, 11);
	call_n(j, 10);
	call_n(j, 12);                           /* 11 goes */
	call_n(j, 10);
	assert_int_equal(runs, 3);
	call_n(j, 11);                           /* 12 goes */
	call_n(j, 10);
	assert_int_equal(runs, 4);
	why(j, 3, "argument 0: axis 0 was 10, now 12: sizes are numbers here; "
	          "capture 2 was dropped: 2 are kept");
	why(j, 4, "capture 2, which fits, was dropped; capture 3 was dropped: 2 are kept");
	says(j, "jit: ", "7 calls, 3 hits, 4 captures, 2 kept of at most 2");
	for (int i = 0; i < 100; i++)
		call_n(j, 20 + i);
	call_n(j, 10);
	assert_non_null(strstr(hop_explain(j), "  captures 1 to 73: forgotten\n  capture 74: "));
	hop_jit_release(j);
	j = jit(twice, NULL, HOP_JIT_OPTS(.keep = 1));
	runs = 0;
	call_n(j, 10);
	call_n(j, 11);
	call_n(j, 12);
	call_n(j, 10);
	assert_int_equal(runs, 2);               /* the symbol serves all of them */
	why(j, 2, "argument 0: axis 0 was 10, now 11: became a symbol; "
	          "capture 1 was dropped: 1 is kept");
	hop_jit_release(j);
}

/* ---- wrong use ---- */

static void broken(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	runs++;
	hop_return(t, hop_reshape(t, in[0], 1, (const hop_dim[]){ hop_n(77) }));
}

static void selfish(hop_trace *t, const hop_value *in, void *user)
{
	hop_array *x = num(1);
	hop_status st = call(*(hop_jit **)user, 1, &x, 1);
	assert_int_equal(st, HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "the body calls its own jit"));
	hop_array_release(x);
	hop_return(t, in[0]);
}

static void test_misuse(void **state)
{
	hop_jit *j = (hop_jit *)&runs;
	hop_array *x = ramp1(3, 1), *y[2];
	hop_ctx *other;
	hop_fn *f;
	(void)state;
	assert_int_equal(hop_jit_new(ctx, NULL, NULL, NULL, &j), HOP_EUSE);
	assert_null(j);
	assert_string_equal(hop_message(ctx), "error: jit: no function was given for the body");
	assert_int_equal(hop_jit_new(NULL, twice, NULL, NULL, &j), HOP_EUSE);
	assert_int_equal(hop_jit_new(ctx, twice, NULL, NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_jit_new(ctx, twice, NULL, HOP_JIT_OPTS(.keep = -1), &j), HOP_EVALUE);
	assert_int_equal(hop_jit_new(ctx, twice, NULL, &(hop_jit_opts){ .size = 3 }, &j), HOP_EVALUE);
	assert_int_equal(hop_jit_new(ctx, twice, NULL, HOP_JIT_OPTS(.compile =
	                             &(hop_compile_opts){ .size = 3 }), &j), HOP_EVALUE);
	assert_int_equal(hop_jit_call(NULL, 0, NULL, 0, NULL), HOP_EUSE);
	assert_int_equal(hop_jit_fn(NULL, 0, NULL, &f), HOP_EUSE);
	assert_int_equal(hop_jit_grad(NULL, 0, NULL, &j), HOP_EUSE);
	assert_null(hop_explain(NULL));
	assert_null(hop_jit_retain(NULL));
	hop_jit_release(NULL);

	j = jit(twice, NULL, NULL);
	hop_jit_release(hop_jit_retain(j));
	assert_string_equal(hop_explain(j), "jit: 0 calls, 0 hits, 0 captures, 0 kept of at most 8\n");
	runs = 0;
	assert_int_equal(hop_jit_call(j, -1, &x, 1, y), HOP_EUSE);
	assert_int_equal(hop_jit_call(j, 1, NULL, 1, y), HOP_EUSE);
	assert_int_equal(hop_jit_call(j, 1, &x, -1, y), HOP_EUSE);
	assert_int_equal(hop_jit_call(j, 1, &x, 1, NULL), HOP_EUSE);
	assert_int_equal(hop_jit_call(j, 1, &(hop_array *){ NULL }, 1, y), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: argument 0 is missing or of another context");
	ok(hop_ctx_new(NULL, &other));
	hop_array *foreign;
	ok(hop_array_new(other, HOP_f64, 0, NULL, NULL, &foreign));
	assert_int_equal(call(j, 1, &foreign, 1), HOP_EUSE);
	hop_array_release(foreign);
	hop_ctx_free(other);
	assert_int_equal(runs, 0);
	assert_int_equal(call(j, 1, &x, 2), HOP_EUSE);
	assert_string_equal(hop_message(ctx), "error: jit: the body gives 1 results, 2 were asked for");
	assert_int_equal(runs, 1);
	ok(call(j, 1, &x, 1));
	assert_int_equal(runs, 2);               /* nothing was kept of the first */
	assert_int_equal(call(j, 1, &x, 0), HOP_EUSE);
	assert_int_equal(hop_jit_call_with(j, 1, &x, 1, y, &(hop_run_opts){ .size = 2 }), HOP_EVALUE);
	hop_jit_release(j);

	j = jit(broken, NULL, NULL);
	runs = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(call(j, 1, &x, 1), HOP_ESHAPE);
		assert_non_null(strstr(hop_message(ctx), "jit_test.c:"));
	}
	assert_int_equal(runs, 2);
	assert_string_equal(hop_explain(j), "jit: 2 calls, 0 hits, 0 captures, 0 kept of at most 8\n");
	hop_jit_release(j);

	j = jit(selfish, &j, NULL);
	ok(call(j, 1, &x, 1));
	hop_jit_release(j);
	hop_array_release(x);
}

/* ---- options of compiling and of runs ---- */

static void forever(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_lt(t, hop_f(t, -1), hop_abs(t, in[0])));
}

static void grow(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_addf(t, in[0], 1));
}

static void endless(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x;
	(void)user;
	hop_while(t, forever, grow, NULL, 1, in, NULL, &x, NULL);
	hop_return(t, x);
}

static void test_options(void **state)
{
	hop_array *x = num(1), *y;
	hop_cancel stop = { 0 };
	(void)state;
	hop_jit *j = jit(twice, NULL, HOP_JIT_OPTS(.compile = HOP_COMPILE_OPTS(.target = "abacus")));
	assert_int_equal(call(j, 1, &x, 1), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "abacus"));
	/* interpreted it needs no code, and is kept; then it does */
	ok(hop_jit_call_with(j, 1, &x, 1, &y, HOP_RUN_OPTS(.interpret = true)));
	assert_true(hop_array_at(y, 0) == 2);
	hop_array_release(y);
	assert_int_equal(call(j, 1, &x, 1), HOP_EVALUE);
	hop_jit_release(j);
	j = jit(endless, NULL, HOP_JIT_OPTS(.compile = HOP_COMPILE_OPTS(.threads = 1)));
	hop_cancel_set(&stop);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(hop_jit_call_with(j, 1, &x, 1, &y, HOP_RUN_OPTS(.cancel = &stop)),
		                 HOP_ECANCELED);
		assert_null(y);
	}
	hop_jit_release(j);
	hop_array_release(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_options),
	};
	return cmocka_run_group_tests(tests, rig_up, rig_down);
}
