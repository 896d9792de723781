/* delegate_test.c -- regions that engines take: values, derivatives and batches of them, regions in
 * loops and branches, refusals, who owns what; carving by what an engine supports; compiled code as
 * an engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;

/* What engine `count` was asked. It interprets. */
static struct log {
	int      prepared, runs, freed, dropped, nsym;
	char     text[4000], hints[64];
	int64_t  min, max;
} told;

static hop_status take(const hop_engine_region *r, void **out_handle)
{
	told.prepared++;
	snprintf(told.text, sizeof told.text, "%s", r->text);
	snprintf(told.hints, sizeof told.hints, "%s", r->hints);
	told.nsym = r->nsym;
	if (r->nsym) {
		told.min = r->sym[0].min;
		told.max = r->sym[0].max;
	}
	*out_handle = hop_fn_retain(r->fn);
	return HOP_OK;
}

static hop_status work(void *handle, const hop_host_call *c)
{
	hop_array *in[8], *out[8];
	told.runs++;
	for (int i = 0; i < c->nin; i++)
		if (hop_array_new(ctx, c->in[i].dtype, c->in[i].rank, c->in[i].dim, c->in[i].data, &in[i]))
			return hop_host_fail(c, HOP_ENOMEM, "no array");
	hop_status st = hop_call_with(handle, c->nin, in, c->nout, out, HOP_RUN_OPTS(.interpret = true));
	for (int i = 0; i < c->nout && !st; i++) {
		size_t n = 1;
		for (int k = 0; k < c->out[i].rank; k++)
			n *= (size_t)c->out[i].dim[k];
		memcpy(c->out[i].data, hop_array_data(out[i]), n * sizeof(double));
		hop_array_release(out[i]);
	}
	for (int i = 0; i < c->nin; i++)
		hop_array_release(in[i]);
	return st ? hop_host_fail(c, st, "%s", hop_message(ctx)) : HOP_OK;
}

static void let_go(void *handle)
{
	told.freed++;
	hop_fn_release(handle);
}

static void gone(void *user)
{
	((struct log *)user)->dropped++;
}

static hop_status never(const hop_engine_region *r, void **out_handle)
{
	(void)out_handle;
	return hop_engine_refuse(r, "not on a %s", "Monday");
}

static hop_status angry(void *handle, const hop_host_call *c)
{
	(void)handle;
	return hop_host_fail(c, HOP_EVALUE, "the device is gone");
}

/* All that is elementwise, by name. */
static bool points(void *user, const char *op, int nin, const hop_engine_type *in, int nout,
                   const hop_engine_type *out)
{
	(void)user, (void)nin, (void)in;
	assert_true(nout == 1 && out[0].rank <= 2);
	return !strcmp(op, "sin") || !strcmp(op, "mul") || !strcmp(op, "add");
}

/* ---- programs ---- */

static hop_array *vec(int64_t n, const double *v)
{
	hop_array *a;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &a), HOP_OK);
	return a;
}

static hop_status run_fn(hop_fn *f, const hop_compile_opts *o, int64_t n, const double *x, int nout,
                         double *const *out)
{
	hop_exec *e;
	hop_arg in = { .data = (void *)(uintptr_t)x, .dim = &n }, res[4];
	hop_status st = hop_compile(f, o, &e);
	if (st)
		return st;
	for (int i = 0; i < nout; i++)
		res[i] = (hop_arg){ .data = out[i], .dim = &n };
	void *ws = aligned_alloc(64, ((size_t)hop_exec_workspace(e, &in) + 127) & ~(size_t)63);
	st = hop_run(e, &in, res, ws);
	free(ws);
	hop_exec_release(e);
	return st;
}

static hop_fn *capture(hop_body *f, void *user)
{
	hop_spec s = hop_spec_sym(hop_spec1(HOP_f64, 3), 0, "n", 1, 100);
	hop_fn *fn;
	if (hop_capture(ctx, f, user, 1, &s, &fn))
		fail_msg("%s", hop_message(ctx));
	return fn;
}

static hop_value part(hop_trace *t, hop_value x, const char *to)
{
	hop_value y = x;
	HOP_REGION_WITH(t, "part", HOP_REGION_OPTS(.to = to, .hints = "speed=2"), y)
		y = hop_mul(t, hop_sin(t, y), y);
	return y;
}

static void plain(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_addf(t, part(t, in[0], user), 1));
}

static void twice(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, part(t, part(t, in[0], user), user));
}

static void in_loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	HOP_FOR(t, i, 3, x)
		x = part(t, x, user);
	hop_return(t, x);
}

static void in_branch(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	HOP_IF(t, hop_gt(t, hop_sum(t, x, 0, NULL), hop_f(t, 0)), x)
		x = part(t, x, user);
	hop_return(t, x);
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, hop_sum(t, part(t, in[0], user), 0, NULL));
}

static double f(double x) { return sin(x) * x; }
static double df(double x) { return cos(x) * x + sin(x); }
static bool near(double a, double b) { return fabs(a - b) < 1e-12; }

static void test_values(void **state)
{
	double x[] = { 0.5, 1, 2 }, y[3], *out[] = { y };
	hop_fn *fn = capture(plain, "count");
	(void)state;
	memset(&told, 0, sizeof told);
	if (run_fn(fn, NULL, 3, x, 1, out))
		fail_msg("%s", hop_message(ctx));
	for (int i = 0; i < 3; i++)
		assert_true(near(y[i], f(x[i]) + 1));
	assert_true(told.prepared == 1 && told.runs == 1 && told.freed == 1);
	assert_true(told.nsym == 1 && told.min == 1 && told.max == 100);
	assert_string_equal(told.hints, "speed=2");
	assert_non_null(strstr(told.text, "sin %0"));
	hop_fn_release(fn);
	fn = capture(twice, "count");                    /* equal regions are shown once */
	memset(&told, 0, sizeof told);
	assert_int_equal(run_fn(fn, NULL, 3, x, 1, out), HOP_OK);
	assert_true(near(y[1], f(f(1))) && told.prepared == 1 && told.runs == 2 && told.freed == 1);
	hop_fn_release(fn);
	fn = capture(in_loop, "count");
	assert_int_equal(run_fn(fn, NULL, 3, x, 1, out), HOP_OK);
	assert_true(near(y[0], f(f(f(0.5)))) && told.runs == 5);
	hop_fn_release(fn);
	fn = capture(in_branch, "count");
	assert_int_equal(run_fn(fn, NULL, 3, x, 1, out), HOP_OK);
	assert_true(near(y[2], f(2)) && told.runs == 6);
	assert_int_equal(run_fn(fn, NULL, 1, (double[]){ -1 }, 1, out), HOP_OK);
	assert_true(y[0] == -1 && told.runs == 6);
	hop_fn_release(fn);
}

/* Interpreted and eager: the kept graph; no engine is asked. */
static void test_kept(void **state)
{
	double x[] = { 0.5, 1, 2 };
	hop_array *a = vec(3, x), *out;
	hop_fn *fn = capture(plain, "nobody");
	(void)state;
	memset(&told, 0, sizeof told);
	assert_int_equal(hop_call_with(fn, 1, &a, 1, &out, HOP_RUN_OPTS(.interpret = true)), HOP_OK);
	assert_true(near(((const double *)hop_array_data(out))[2], f(2) + 1));
	hop_array_release(out);
	assert_int_equal(hop_eager_call(ctx, plain, "count", 1, &a, 1, &out), HOP_OK);
	assert_true(near(((const double *)hop_array_data(out))[2], f(2) + 1) && !told.prepared);
	hop_array_release(out);
	hop_array_release(a);
	hop_fn_release(fn);
}

/* Reverse mode makes two regions of one; both go to the engine, as do those of a batch. */
static void test_transforms(void **state)
{
	double x[] = { 0.5, 1, 2 }, y, d[3], *out[] = { &y, d };
	hop_fn *fn = capture(loss, "count"), *g, *h;
	(void)state;
	assert_int_equal(hop_grad(fn, 1, (int[]){ 0 }, &g), HOP_OK);
	memset(&told, 0, sizeof told);
	if (run_fn(g, NULL, 3, x, 2, out))
		fail_msg("%s", hop_message(ctx));
	assert_true(near(y, f(0.5) + f(1) + f(2)));
	for (int i = 0; i < 3; i++)
		assert_true(near(d[i], df(x[i])));
	assert_true(told.prepared == 2 && told.runs == 2 && told.freed == 2);
	hop_fn_release(g);
	assert_int_equal(hop_jvp(fn, 1, (int[]){ 0 }, &g), HOP_OK);
	hop_array *in[] = { vec(3, x), vec(3, (double[]){ 1, 0, 0 }) }, *res[2];
	memset(&told, 0, sizeof told);
	assert_int_equal(hop_call(g, 2, in, 2, res), HOP_OK);
	assert_true(near(((const double *)hop_array_data(res[1]))[0], df(0.5)) && told.runs == 1);
	hop_array_release(res[0]);
	hop_array_release(res[1]);
	hop_array_release(in[0]);
	hop_array_release(in[1]);
	hop_fn_release(g);
	hop_fn_release(fn);
	fn = capture(plain, "count");
	assert_int_equal(hop_vmap_with(fn, HOP_VMAP_OPTS(.nin = 1, .nout = 1, .in = (int[]){ 0 }), &h),
	                 HOP_OK);
	int64_t dim[] = { 2, 2 };
	hop_array *m, *r;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 2, dim, (double[]){ 1, 2, 3, 4 }, &m), HOP_OK);
	memset(&told, 0, sizeof told);
	if (hop_call(h, 1, &m, 1, &r))
		fail_msg("%s", hop_message(ctx));
	assert_true(near(((const double *)hop_array_data(r))[3], f(4) + 1) && told.runs == 1);
	assert_non_null(strstr(told.text, "f64["));
	hop_array_release(m);
	hop_array_release(r);
	hop_fn_release(h);
	hop_fn_release(fn);
}

static void refused(hop_body *body, const char *to, hop_status st, const char *says)
{
	double x[] = { 0.5, 1, 2 }, y[3], *out[] = { y };
	hop_fn *fn = capture(body, (void *)(uintptr_t)to);
	hop_status got = run_fn(fn, NULL, 3, x, 1, out);
	if (got != st || !strstr(hop_message(ctx), says))
		fail_msg("%d: %s", got, hop_message(ctx));
	hop_fn_release(fn);
}

static void test_refusals(void **state)
{
	double x[] = { 0.5, 1, 2 }, y[3], *out[] = { y };
	(void)state;
	refused(plain, "nobody", HOP_EVALUE,
	        "region: engine `nobody` is not known to this context, which knows `");
	refused(plain, "never", HOP_EREFUSED, "engine `never` refuses region part: not on a Monday");
	refused(plain, "never, nobody", HOP_EVALUE, "engine `nobody` is not known");
	refused(plain, "angry", HOP_EVALUE, "engine `angry`: the device is gone");
	hop_fn *fn = capture(plain, "never, hop");
	assert_int_equal(run_fn(fn, NULL, 3, x, 1, out), HOP_OK);
	assert_true(near(y[2], f(2) + 1));
	hop_fn_release(fn);
	fn = capture(plain, "never, count, hop");
	memset(&told, 0, sizeof told);
	assert_int_equal(run_fn(fn, NULL, 3, x, 1, out), HOP_OK);
	assert_true(near(y[2], f(2) + 1) && told.runs == 1);
	hop_fn_release(fn);
}

/* Ahead of time there is no engine. */
static void test_ahead(void **state)
{
	char dir[] = "/tmp/hop-delegate-XXXXXX", path[64], command[64];
	const char *name = "f";
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/model", dir);
	hop_fn *fn = capture(plain, "count");
	assert_int_equal(hop_aot_write(ctx, 1, &fn, &name, path, NULL), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "this region is for engine `count`"));
	hop_fn_release(fn);
	fn = capture(plain, "count, hop");
	assert_int_equal(hop_aot_write(ctx, 1, &fn, &name, path, NULL), HOP_OK);
	hop_fn_release(fn);
	snprintf(command, sizeof command, "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static void test_wrong(void **state)
{
	(void)state;
	assert_int_equal(hop_engine_add(NULL, NULL), HOP_EUSE);
	assert_int_equal(hop_engine_add(ctx, HOP_ENGINE(.name = "x")), HOP_EUSE);
	assert_non_null(strstr(hop_message(ctx), "one has a name, prepare and run"));
	assert_int_equal(hop_engine_add(ctx, HOP_ENGINE(.name = "hop", .prepare = take, .run = work)),
	                 HOP_EVALUE);
	assert_int_equal(hop_engine_add(ctx, HOP_ENGINE(.name = "a b", .prepare = take, .run = work)),
	                 HOP_EVALUE);
	assert_int_equal(hop_engine_add(ctx, HOP_ENGINE(.name = "count", .prepare = take, .run = work)),
	                 HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "there is one called `count` already"));
	assert_int_equal(hop_exec_add(ctx, "x", NULL), HOP_EUSE);
}

/* ---- carving ---- */

/* Around what is not supported there is a way: one region would be a circle. */
static void circle(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value a = hop_sin(t, in[0]), b = hop_exp(t, a), c = hop_add(t, a, b), d = hop_mul(t, c, a);
	hop_return(t, d);
}

static void carved_loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0];
	(void)user;
	HOP_FOR(t, i, 2, x)
		x = hop_exp(t, hop_mul(t, hop_sin(t, x), x));
	hop_return(t, x);
}

/* Neither waits for the other but through values that the engine does not make: one region. */
static void joined(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_value e = hop_exp(t, in[0]), s = hop_sin(t, in[0]);
	hop_return(t, hop_mul(t, hop_add(t, s, e), s));
}

static void test_carve(void **state)
{
	double x[] = { 0.5, 1, 0.25 }, y[3], *out[] = { y };
	const hop_compile_opts *o = HOP_COMPILE_OPTS(.delegate = "count");
	(void)state;
	hop_fn *fn = capture(circle, NULL);
	memset(&told, 0, sizeof told);
	if (run_fn(fn, o, 3, x, 1, out))
		fail_msg("%s", hop_message(ctx));
	for (int i = 0; i < 3; i++)
		assert_true(near(y[i], (sin(x[i]) + exp(sin(x[i]))) * sin(x[i])));
	assert_true(told.prepared == 2 && told.runs == 2);
	hop_fn_release(fn);
	fn = capture(carved_loop, NULL);
	memset(&told, 0, sizeof told);
	assert_int_equal(run_fn(fn, o, 3, x, 1, out), HOP_OK);
	assert_true(near(y[0], exp(f(exp(f(0.5))))) && told.prepared == 1 && told.runs == 2);
	hop_fn_release(fn);
	fn = capture(joined, NULL);
	memset(&told, 0, sizeof told);
	assert_int_equal(run_fn(fn, o, 3, x, 1, out), HOP_OK);
	assert_true(near(y[1], (sin(1) + exp(1)) * sin(1)) && told.prepared == 1 && told.runs == 1);
	assert_int_equal(run_fn(fn, HOP_COMPILE_OPTS(.delegate = "nobody"), 3, x, 1, out), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "compile: engine `nobody` is not known"));
	assert_int_equal(run_fn(fn, HOP_COMPILE_OPTS(.delegate = "angry"), 3, x, 1, out), HOP_OK);
	hop_fn_release(fn);
}

/* ---- compiled code ---- */

static void apply(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = { 0 };
	hop_apply_to(t, user, "fast, hop", 1, in, 1, &y);
	hop_return(t, hop_sum(t, y, 0, NULL));
}

static void apply_only(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = { 0 };
	hop_apply_to(t, user, "fast", 1, in, 1, &y);
	hop_return(t, hop_sum(t, y, 0, NULL));
}

static void test_exec(void **state)
{
	double x[] = { 0.5, 1, 2 }, y, d[3], *out[] = { &y, d };
	hop_fn *one = capture(twice, NULL), *fn, *g;
	hop_exec *e;
	(void)state;
	assert_int_equal(hop_compile(one, NULL, &e), HOP_OK);
	assert_int_equal(hop_exec_add(ctx, "fast", e), HOP_OK);
	hop_exec_release(e);
	fn = capture(apply, one);
	if (run_fn(fn, NULL, 3, x, 1, out))
		fail_msg("%s", hop_message(ctx));
	assert_true(near(y, f(f(0.5)) + f(f(1)) + f(f(2))));
	assert_int_equal(hop_grad(fn, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(run_fn(g, NULL, 3, x, 2, out), HOP_OK);
	assert_true(near(d[1], df(f(1)) * df(1)));
	hop_fn_release(g);
	hop_fn_release(fn);
	fn = capture(apply_only, one);
	assert_int_equal(run_fn(fn, NULL, 3, x, 1, out), HOP_OK);
	assert_int_equal(hop_grad(fn, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(run_fn(g, NULL, 3, x, 2, out), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "code for one function"));
	hop_fn_release(g);
	hop_fn_release(fn);
	hop_fn_release(one);
}

static int setup(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) ||
	       hop_engine_add(ctx, HOP_ENGINE(.name = "count", .user = &told, .prepare = take, .run = work,
	                                      .free = let_go, .supports = points, .drop = gone)) ||
	       hop_engine_add(ctx, HOP_ENGINE(.name = "never", .prepare = never, .run = work)) ||
	       hop_engine_add(ctx, HOP_ENGINE(.name = "angry", .prepare = take, .run = angry,
	                                      .free = let_go));
}

static int teardown(void **state)
{
	(void)state;
	told.dropped = 0;
	hop_ctx_free(ctx);
	return told.dropped != 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_kept),
		cmocka_unit_test(test_transforms), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_wrong), cmocka_unit_test(test_ahead), cmocka_unit_test(test_carve),
		cmocka_unit_test(test_exec),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
