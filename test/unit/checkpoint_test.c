/* checkpoint_test.c -- what a split saves, as a record; values that cross by way of the host; what
 * is asked of the host in a checkpoint is not asked twice. Gradients and memory are in
 * pitfalls/recompute.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;

/* ---- a file: rows by their number ---- */

enum { LONG = 8 };
static struct { int wrote, read; FILE *file; } disk;

static void seek_row(int64_t k)
{
	assert_int_equal(fseek(disk.file, (long)(k * LONG * (int64_t)sizeof(double)), SEEK_SET), 0);
}

static hop_status put(const hop_host_call *c)
{
	assert_true(c->in[0].rank == 1 && c->in[0].dim[0] == LONG);
	seek_row(disk.wrote);
	assert_int_equal(fwrite(c->in[0].data, sizeof(double), LONG, disk.file), LONG);
	*(int64_t *)c->out[0].data = disk.wrote++;
	return HOP_OK;
}

static hop_status get(const hop_host_call *c)
{
	static const double gone[LONG];
	int64_t k = *(const int64_t *)c->in[0].data;
	assert_true(k >= 0 && k < disk.wrote);
	seek_row(k);
	assert_int_equal(fread(c->out[0].data, sizeof(double), LONG, disk.file), LONG);
	seek_row(k);                                           /* read once */
	assert_int_equal(fwrite(gone, sizeof(double), LONG, disk.file), LONG);
	disk.read++;
	return HOP_OK;
}

static void offload(hop_trace *t, const hop_value *in, void *user)
{
	hop_value at = HOP_NONE;
	(void)user;
	hop_host(t, "put", 1, in, 1, (hop_result[]){ { .dtype = HOP_i64 } }, &at);
	hop_return(t, at);
}

static void fetch(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = HOP_NONE;
	(void)user;
	hop_host(t, "get", 1, in, 1,
	         (hop_result[]){ { .dtype = HOP_f64, .rank = 1, .dim = { hop_n(LONG) } } }, &x);
	hop_return(t, x);
}

/* x: three layers, whose sines go to the file and come back. */
static void stored(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = in[0];
	for (int i = 0; i < 3; i++)
		HOP_CHECKPOINT(t, HOP_CHECKPOINT_OPTS(.must_save = "sin", .pack = user ? offload : NULL,
		                                      .unpack = user ? fetch : NULL), h) {
			h = hop_sin(t, h);
			h = hop_mul(t, h, hop_exp(t, h));
		}
	hop_return(t, hop_sum_all(t, h));
}

static void gradient(void *user, bool interpret, double *g)
{
	hop_fn *f, *d;
	hop_array *x, *y[2];
	double v[LONG];
	hop_spec s = hop_spec1(HOP_f64, LONG);
	int64_t n = LONG;
	for (int i = 0; i < LONG; i++)
		v[i] = 0.3 * i - 1;
	assert_int_equal(hop_capture(ctx, stored, user, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &d), HOP_OK);
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &x), HOP_OK);
	assert_int_equal(hop_call_with(d, 1, &x, 2, y, HOP_RUN_OPTS(.interpret = interpret)), HOP_OK);
	memcpy(g, hop_array_data(y[1]), sizeof v);
	hop_array_release(x);
	hop_array_release(y[0]);
	hop_array_release(y[1]);
	hop_fn_release(f);
	hop_fn_release(d);
}

static void test_offload(void **state)
{
	double a[LONG], b[LONG];
	int on = 1;
	(void)state;
	gradient(NULL, false, a);
	for (int interpret = 0; interpret < 2; interpret++) {
		disk.wrote = disk.read = 0;
		disk.file = tmpfile();
		assert_non_null(disk.file);
		gradient(&on, interpret, b);
		fclose(disk.file);
		assert_int_equal(disk.wrote, 3);
		assert_int_equal(disk.read, 3);
		for (int i = 0; i < LONG; i++)
			assert_true(fabs(a[i] - b[i]) < 1e-12);
	}
}

/* ---- what the host gave is saved, and must be ---- */

static void asks(hop_trace *t, const hop_value *in, void *user)
{
	const bool *again = user;
	hop_value h = HOP_NONE;
	HOP_CHECKPOINT(t, HOP_CHECKPOINT_OPTS(.must_recompute = *again ? "all" : NULL), h) {
		hop_value at = HOP_NONE;
		hop_host(t, "put", 1, in, 1, (hop_result[]){ { .dtype = HOP_i64 } }, &at);
		at = hop_name(t, at, "at");
		h = hop_mul(t, hop_sin(t, in[0]), hop_cast(t, at, HOP_f64));
	}
	hop_return(t, hop_sum_all(t, h));
}

static void test_host(void **state)
{
	hop_fn *f, *d;
	hop_spec s = hop_spec1(HOP_f64, LONG);
	bool again = false;
	(void)state;
	assert_int_equal(hop_capture(ctx, asks, &again, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &d), HOP_OK);
	const char *text = hop_fn_text(d), *first = strstr(text, "host");
	assert_non_null(first);
	assert_null(strstr(first + 1, "= host"));
	hop_fn_release(d);
	hop_fn_release(f);
	again = true;
	assert_int_equal(hop_capture(ctx, asks, &again, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &d), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "host: result 0, called at must be computed again, but the "
	                       "host is not asked twice: let it be saved"));
	hop_fn_release(f);
}

/* ---- other derivatives see through it ---- */

static void same_value(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, in[0]);
}

/* Linear in x; a gradient is asked for inside if user says so. */
static void linear(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = in[0];
	HOP_CHECKPOINT(t, HOP_CHECKPOINT_OPTS(.must_save = "all", .pack = same_value, .unpack = same_value),
	               h) {
		h = hop_name(t, hop_mulf(t, h, 3), "three");
		if (user)
			h = hop_retain_grad(t, h, "h");
		h = hop_pack(t, hop_mulf(t, h, 2), same_value, same_value, NULL);
	}
	hop_return(t, hop_sum_all(t, h));
}

static void test_others(void **state)
{
	hop_fn *f, *g, *lin;
	hop_array *x, *one, *y[4];
	double v[2] = { 0.5, 2 }, w = 1;
	hop_spec s = hop_spec1(HOP_f64, 2);
	int64_t n = 2;
	int on = 1;
	(void)state;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &x), HOP_OK);
	assert_int_equal(hop_array_new(ctx, HOP_f64, 0, NULL, &w, &one), HOP_OK);
	assert_int_equal(hop_capture(ctx, linear, NULL, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_linear_transpose(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(hop_call(g, 1, &one, 1, y), HOP_OK);
	assert_true(hop_array_at(y[0], 0) == 6 && hop_array_at(y[0], 1) == 6);
	hop_array_release(y[0]);
	hop_fn_release(g);
	assert_int_equal(hop_linearize(f, 1, (int[]){ 0 }, &g, &lin), HOP_OK);
	hop_fn_release(g);
	hop_fn_release(lin);
	hop_fn_release(f);
	assert_int_equal(hop_capture(ctx, linear, &on, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_OK);
	assert_int_equal(hop_fn_nout(g), 3);
	assert_int_equal(hop_call(g, 1, &x, 3, y), HOP_OK);
	assert_true(hop_array_at(y[0], 0) == 15 && hop_array_at(y[1], 0) == 6);
	assert_true(hop_array_at(y[2], 0) == 2 && hop_array_at(y[2], 1) == 2);
	for (int i = 0; i < 3; i++)
		hop_array_release(y[i]);
	hop_fn_release(g);
	hop_fn_release(f);
	hop_array_release(one);
	hop_array_release(x);
}

/* ---- the report ---- */

static void net(hop_trace *t, const hop_value *in, void *user)
{
	hop_value h = in[0];
	(void)user;
	for (int i = 0; i < 3; i++)
		HOP_CHECKPOINT(t, HOP_CHECKPOINT_OPTS(.name = "layer", .must_save = ":sum"), h) {
			h = hop_name(t, hop_matmul(t, h, in[1]), "sum");
			h = hop_tanh(t, h);
		}
	hop_return(t, hop_sum_all(t, hop_name_as(t, hop_exp(t, h), "up", HOP_MUST_RECOMPUTE)));
}

static void test_report(void **state)
{
	hop_fn *f;
	hop_spec s[2] = { hop_spec2(HOP_f32, 8, 16), hop_spec2(HOP_f32, 16, 16) };
	hop_saved r = { .size = sizeof r };
	const int wrt[2] = { 0, 1 };
	(void)state;
	assert_int_equal(hop_capture(ctx, net, NULL, 2, s, &f), HOP_OK);
	assert_int_equal(hop_saved_report(f, 2, wrt, 1, &r), HOP_OK);
	assert_int_equal(r.bytes, 6 * 8 * 16 * 4);              /* three sums, three results */
	assert_false(r.guessed);
	assert_true(r.work_added > 0 && r.work > r.work_added);
	assert_non_null(strstr(r.text, "sum, "));
	assert_non_null(strstr(r.text, "body of checkpoint"));
	bool up = false;
	for (int i = r.nsaved; i < r.nsaved + r.nagain; i++)
		if (r.value[i].name && !strcmp(r.value[i].name, "up")) {
			up = true;
			assert_string_equal(r.value[i].op, "exp");
			assert_string_equal(r.value[i].type, "f32[8, 16]");
			assert_true(r.value[i].line > 0 && strstr(r.value[i].file, "checkpoint_test.c"));
			assert_true(r.value[i].work == 8 * 8 * 16 && r.value[i].bytes == 4 * 8 * 16);
		}
	assert_true(up);
	double added = r.work_added;
	hop_saved_free(&r);
	assert_null(r.value);
	hop_saved_free(&r);
	hop_saved_free(NULL);
	/* said in the same words when all of it has been derived before, and more at a smaller budget */
	assert_int_equal(hop_saved_report(f, 2, wrt, 0, &r), HOP_OK);
	assert_true(r.bytes == 0 && r.work_added > added);
	assert_non_null(strstr(r.text, "body of checkpoint"));
	hop_saved_free(&r);
	hop_fn_release(f);
}

static void writer(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_add_(t, in[0], in[0]);
	hop_return(t, hop_sum_all(t, in[0]));
}

static void test_wrong(void **state)
{
	hop_fn *f, *w;
	hop_spec s[2] = { hop_spec2(HOP_f32, 8, 16), hop_spec2(HOP_f32, 16, 16) };
	hop_saved r = { .size = sizeof r };
	(void)state;
	assert_int_equal(hop_capture(ctx, net, NULL, 2, s, &f), HOP_OK);
	assert_int_equal(hop_capture(ctx, writer, NULL, 1, s, &w), HOP_OK);
	assert_int_equal(hop_saved_report(NULL, 1, (int[]){ 0 }, 1, &r), HOP_EUSE);
	assert_int_equal(hop_saved_report(f, 1, (int[]){ 0 }, 1, NULL), HOP_EUSE);
	assert_int_equal(hop_saved_report(f, 1, (int[]){ 0 }, 1, &(hop_saved){ .size = 3 }), HOP_EUSE);
	assert_int_equal(hop_saved_report(f, 1, (int[]){ 0 }, 1.5, &r), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "saved_report: a budget of 1.5: it must be from 0 to 1"));
	assert_int_equal(hop_saved_report(f, 1, (int[]){ 2 }, 1, &r), HOP_EVALUE);
	assert_non_null(strstr(hop_message(ctx), "saved_report: there is no input 2: there are 2"));
	assert_int_equal(hop_saved_report(w, 1, (int[]){ 0 }, 1, &r), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "saved_report: the function writes input 0"));
	assert_true(!r.value && !r.text && r.size == sizeof r);
	hop_fn_release(f);
	hop_fn_release(w);
}

static int set_up(void **state)
{
	(void)state;
	return hop_ctx_new(NULL, &ctx) || hop_host_add(ctx, HOP_HOST_DEF(.name = "put", .run = put)) ||
	       hop_host_add(ctx, HOP_HOST_DEF(.name = "get", .run = get));
}

static int tear_down(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offload), cmocka_unit_test(test_host), cmocka_unit_test(test_report),
		cmocka_unit_test(test_wrong), cmocka_unit_test(test_others),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
