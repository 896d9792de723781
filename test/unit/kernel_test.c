/* kernel_test.c -- kernels of users: functions, C source and LLVM's IR; in place, in loops, branches
 * and lanes, with sizes that the run knows, under a custom gradient; and what is said of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hop/hop.h>

static hop_ctx *ctx;

enum way { COMPILED, INTERPRETED, EAGER, NWAY };

static int calls;                      /* of the functions below */
static int64_t lanes_seen;

/* y = a x, for each lane. */
static int scale(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	const double *a = arg[0], *x = arg[1];
	double *y = arg[2];
	calls++;
	lanes_seen = lanes;
	for (int64_t l = 0; l < lanes; l++)
		for (int64_t i = 0; i < dim[1][0]; i++)
			y[l * dim[1][0] + i] = a[l] * x[l * dim[1][0] + i];
	return 0;
}

/* x <- x + 1 in place; an unknown one. */
static int bump(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	double *x = arg[0];
	(void)lanes;
	calls++;
	for (int64_t i = 0; i < dim[0][0]; i++)
		x[i] += 1;
	return 0;
}

static int fails(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	(void)arg, (void)dim, (void)lanes;
	return 3;
}

#define IN HOP_KERNEL_IN
#define OUT HOP_KERNEL_OUT
#define INOUT HOP_KERNEL_INOUT

static const hop_kernel_arg scale_args[] = {
	{ "a", IN, HOP_f64, 0, NULL }, { "x", IN, HOP_f64, 1, NULL }, { "y", OUT, HOP_f64, 1, "x" },
};
static const hop_kernel_arg axpy_args[] = {
	{ "a", IN, HOP_f64, 0, NULL }, { "x", IN, HOP_f64, 1, NULL }, { "y", INOUT, HOP_f64, 1, NULL },
};
static const hop_kernel_arg one_arg[] = { { "x", INOUT, HOP_f64, 1, NULL } };
static const hop_kernel_arg seen_arg[] = { { "x", IN, HOP_f64, 1, NULL } };

static const char *const axpy_c =
	"int axpy_c(void *const *arg, const int64_t *const *dim, int64_t lanes)\n"
	"{\n"
	"	const double *a = arg[0], *x = arg[1];\n"
	"	double *y = arg[2];\n"
	"	for (int64_t i = 0; i < dim[2][0]; i++)\n"
	"		y[i] += a[0] * x[i];\n"
	"	return lanes != 1;\n"
	"}\n";
static const char *const axpy_llvm =
	"define i32 @axpy_llvm(ptr %arg, ptr %dim, i64 %lanes) {\n"
	"  %pa = load ptr, ptr %arg\n  %a = load double, ptr %pa\n"
	"  %qx = getelementptr ptr, ptr %arg, i64 1\n  %x = load ptr, ptr %qx\n"
	"  %qy = getelementptr ptr, ptr %arg, i64 2\n  %y = load ptr, ptr %qy\n"
	"  %qd = getelementptr ptr, ptr %dim, i64 2\n  %d = load ptr, ptr %qd\n"
	"  %n = load i64, ptr %d\n  br label %head\n"
	"head:\n  %i = phi i64 [ 0, %0 ], [ %j, %body ]\n"
	"  %more = icmp slt i64 %i, %n\n  br i1 %more, label %body, label %end\n"
	"body:\n  %px = getelementptr double, ptr %x, i64 %i\n"
	"  %py = getelementptr double, ptr %y, i64 %i\n"
	"  %vx = load double, ptr %px\n  %vy = load double, ptr %py\n"
	"  %m = fmul double %a, %vx\n  %s = fadd double %vy, %m\n"
	"  store double %s, ptr %py\n  %j = add i64 %i, 1\n  br label %head\n"
	"end:\n  ret i32 0\n}\n";

/* ---- programs ---- */

static hop_array *vec(int64_t n, const double *v)
{
	hop_array *a;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &n, v, &a), HOP_OK);
	return a;
}

/* f on two vectors, in one of the ways; results one after the other into out. */
static hop_status go(hop_body *f, void *user, enum way w, int64_t n, const double *x,
                     const double *y, int nout, double *out)
{
	hop_array *in[2] = { vec(n, x), vec(n, y) }, *res[4] = { 0 };
	hop_spec s = hop_spec_sym(hop_spec1(HOP_f64, n), 0, "n", 0, 100), spec[2] = { s, s };
	hop_fn *fn = NULL;
	hop_status st;
	calls = 0;
	if (w == EAGER) {
		st = hop_eager_call(ctx, f, user, 2, in, nout, res);
	} else if (!(st = hop_capture(ctx, f, user, 2, spec, &fn))) {
		st = hop_call_with(fn, 2, in, nout, res, HOP_RUN_OPTS(.interpret = w == INTERPRETED));
		hop_fn_release(fn);
	}
	for (int k = 0; k < nout && !st; k++) {
		size_t m = (size_t)(hop_array_rank(res[k]) ? hop_array_dims(res[k])[0] : 1);
		memcpy(out, hop_array_data(res[k]), m * sizeof *out);
		out += m;
	}
	for (int k = 0; k < 2; k++)
		hop_array_release(in[k]);
	for (int k = 0; k < nout; k++)
		hop_array_release(res[k]);
	return st;
}

static hop_value axpy(hop_trace *t, const char *name, double a, hop_value x, hop_value y)
{
	hop_value in[] = { hop_f(t, a), x, y }, out = { 0 };
	hop_kernel(t, name, 3, in, 0, NULL, 1, &out);
	return out;
}

static void do_axpy(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, axpy(t, user, 3, in[0], in[1]), in[1]);
}

static void in_loop(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1];
	HOP_FOR(t, i, 3, y)
		y = axpy(t, user, 2, x, y);
	hop_return(t, y);
}

static void in_branch(hop_trace *t, const hop_value *in, void *user)
{
	hop_value x = in[0], y = in[1];
	HOP_IF(t, hop_gt(t, hop_sum(t, x, 0, NULL), hop_f(t, 0)), y)
		y = axpy(t, user, 2, x, y);
	hop_return(t, y);
}

/* What nobody reads is left out, unless nothing is known of it; equal ones are one. */
static void unread(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[] = { hop_f(t, 2), in[0] }, y, z, w, v;
	(void)user;
	hop_kernel(t, "scale", 2, a, 0, NULL, 1, &v);
	hop_kernel(t, "scale", 2, a, 0, NULL, 1, &y);
	hop_kernel(t, "scale", 2, a, 0, NULL, 1, &z);
	hop_kernel(t, "bump", 1, in, 0, NULL, 1, &w);
	hop_return(t, hop_add(t, y, z));
}

static void test_in_place(void **state)
{
	static const char *const names[] = { "axpy_c", "axpy_body", "axpy_llvm" };
	double x[] = { 1, 2, 3 }, y[] = { 10, 20, 30 }, out[6];
	(void)state;
	for (int i = 0; i < 3; i++)
		for (enum way w = 0; w < NWAY; w++) {
			if (go(do_axpy, (void *)(uintptr_t)names[i], w, 3, x, y, 2, out))
				fail_msg("%s: %s", names[i], hop_message(ctx));
			for (int k = 0; k < 3; k++)
				assert_true(out[k] == y[k] + 3 * x[k] && out[3 + k] == y[k]);
			assert_int_equal(go(in_loop, (void *)(uintptr_t)names[i], w, 2, x, y, 1, out), HOP_OK);
			assert_true(out[0] == 16 && out[1] == 32);
			assert_int_equal(go(in_branch, (void *)(uintptr_t)names[i], w, 2, x, y, 1, out), HOP_OK);
			assert_true(out[0] == 12 && out[1] == 24);
			assert_int_equal(go(in_branch, (void *)(uintptr_t)names[i], w, 1, (double[]){ -1 }, y, 1,
			                    out), HOP_OK);
			assert_true(out[0] == 10);
			assert_int_equal(go(do_axpy, (void *)(uintptr_t)names[i], w, 0, x, y, 2, out), HOP_OK);
		}
}

static void test_unread(void **state)
{
	double x[] = { 1, 2 }, out[2];
	(void)state;
	assert_int_equal(go(unread, NULL, COMPILED, 2, x, x, 1, out), HOP_OK);
	assert_true(out[0] == 4 && out[1] == 8);
	assert_int_equal(calls, 2);              /* one scale, and the unknown one */
	assert_int_equal(go(unread, NULL, EAGER, 2, x, x, 1, out), HOP_OK);
	assert_true(out[0] == 4 && x[0] == 1);   /* which did not touch the input */
}

static void test_wrong_call(void **state)
{
	double x[] = { 1 }, out[1];
	static const struct { const char *name, *says; } bad[] = {
		{ "nobody", "no kernel `nobody` is known" }, { "host", "hop_host calls it" },
		{ "scale", "takes 2 operands and 0 types and gives 1 results, not 3, 0 and 1" },
		{ "floats", "kernel floats: argument 1, x, is f64 of rank 1, it takes f32 of rank 1" },
		{ "fails", "kernel `fails`: it returned 3" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_not_equal(go(do_axpy, (void *)(uintptr_t)bad[i].name, COMPILED, 1, x, x, 2, out),
		                     HOP_OK);
		if (!strstr(hop_message(ctx), bad[i].says))
			fail_msg("%s: %s", bad[i].name, hop_message(ctx));
	}
}

/* ---- definitions ---- */

static void refuse(const hop_kernel_def *d, hop_status st, const char *says)
{
	hop_status got = hop_kernel_add(ctx, d);
	if (got != st || !strstr(hop_message(ctx), says))
		fail_msg("%d: %s", got, hop_message(ctx));
}

static void test_wrong_def(void **state)
{
	hop_kernel_arg twice[] = { { "x", IN, HOP_f64, 1, NULL }, { "x", OUT, HOP_f64, 1, NULL } };
	hop_kernel_arg odd[] = { { "x", IN, HOP_f64, 99, NULL } };
	hop_kernel_arg lost[] = { { "x", IN, HOP_f64, 1, NULL }, { "y", OUT, HOP_f64, 2, "x" } };
	hop_kernel_arg anon[] = { { NULL, IN, HOP_f64, 1, NULL } };
	(void)state;
	assert_int_equal(hop_kernel_add(NULL, NULL), HOP_EUSE);
	refuse(NULL, HOP_EUSE, "it has no name");
	refuse(HOP_KERNEL_DEF(.name = "k"), HOP_EUSE, "none of fn, c, body and llvm says what it does");
	refuse(HOP_KERNEL_DEF(.name = "k", .fn = scale, .c = ""), HOP_EUSE, "more than one of");
	refuse(HOP_KERNEL_DEF(.name = "k", .cuda = "x"), HOP_ETARGET, "only CUDA C");
	refuse(HOP_KERNEL_DEF(.name = "k", .fn = scale, .narg = 2), HOP_EUSE, "2 arguments");
	refuse(HOP_KERNEL_DEF(.name = "k.1", .c = ""), HOP_EVALUE, "is no C name");
	refuse(HOP_KERNEL_DEF(.name = "k", .fn = scale, .narg = 2, .arg = twice), HOP_EVALUE,
	       "two arguments are called `x`");
	refuse(HOP_KERNEL_DEF(.name = "k", .fn = scale, .narg = 1, .arg = odd), HOP_EVALUE, "a rank that");
	refuse(HOP_KERNEL_DEF(.name = "k", .fn = scale, .narg = 2, .arg = lost), HOP_EVALUE,
	       "argument 1 is like `x`");
	refuse(HOP_KERNEL_DEF(.name = "k", .body = "", .narg = 1, .arg = anon), HOP_EVALUE,
	       "argument 0 has no C name");
	refuse(HOP_KERNEL_DEF(.name = "scale", .fn = scale), HOP_EVALUE, "there is a function `scale`");
}

static void test_wrong_source(void **state)
{
	(void)state;
	refuse(HOP_KERNEL_DEF(.name = "k", .body = "x[0] = 1;\nx[1] = nobody;\n", .narg = 1,
	                      .arg = one_arg), HOP_ETARGET, "kernel k:2:");
	refuse(HOP_KERNEL_DEF(.name = "k", .body = "x[1] = nobody;\n", .narg = 1, .arg = one_arg,
	                      .file = "mine.c", .line = 40), HOP_ETARGET, "mine.c:40:");
	refuse(HOP_KERNEL_DEF(.name = "k", .body = "x[1] = nobody;\n", .narg = 1, .arg = one_arg),
	       HOP_ETARGET, "in the source of kernel k");
	refuse(HOP_KERNEL_DEF(.name = "k", .body = "x[0] = 1;", .narg = 1, .arg = seen_arg), HOP_ETARGET,
	       "read-only");
	refuse(HOP_KERNEL_DEF(.name = "k", .c = "int j(void) { return 0; }\n"), HOP_ETARGET, "k");
	refuse(HOP_KERNEL_DEF(.name = "k", .llvm = "define i32 @k() { ret i64 0 }"), HOP_ETARGET, "k:1:");
	refuse(HOP_KERNEL_DEF(.name = "k", .llvm = "define i32 @j() { ret i32 0 }"), HOP_ETARGET,
	       "the module has no function `k`");
}

/* ---- transforms ---- */

/* y = sin(x) by a kernel, with the gradient said here. */
static void sin_fwd(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = { 0 };
	(void)user;
	hop_kernel(t, "sine", 1, in, 0, NULL, 1, &y);
	hop_save(t, 1, in);
	hop_return(t, y);
}

static void sin_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[1], hop_cos(t, in[0])));
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	hop_custom_rule rule = { .size = sizeof rule, .fwd = sin_fwd, .bwd = sin_bwd };
	hop_value y = { 0 };
	(void)user;
	hop_custom(t, &rule, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum(t, hop_mul(t, y, y), 0, NULL));
}

static void no_rule(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = { 0 };
	(void)user;
	hop_kernel(t, "sine", 1, in, 0, NULL, 1, &y);
	hop_return(t, hop_sum(t, y, 0, NULL));
}

static void test_gradient(void **state)
{
	hop_spec s = hop_spec1(HOP_f64, 2);
	double x[] = { 0.5, -1.25 };
	hop_array *a = vec(2, x), *out[2];
	hop_fn *f, *g;
	(void)state;
	assert_int_equal(hop_capture(ctx, loss, NULL, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_OK);
	if (hop_call(g, 1, &a, 2, out))
		fail_msg("%s", hop_message(ctx));
	const double *d = hop_array_data(out[1]);
	/* numpy: 2 sin(x) cos(x) */
	assert_true(d[0] > 0.84147098480 && d[0] < 0.84147098481);
	assert_true(d[1] > -0.59847214411 && d[1] < -0.59847214410);
	hop_fn_release(f);
	hop_fn_release(g);
	assert_int_equal(hop_capture(ctx, no_rule, NULL, 1, &s, &f), HOP_OK);
	assert_int_equal(hop_grad(f, 1, (int[]){ 0 }, &g), HOP_ENODIFF);
	assert_non_null(strstr(hop_message(ctx), "`sine` has no"));
	hop_fn_release(f);
	hop_array_release(a);
	hop_array_release(out[0]);
	hop_array_release(out[1]);
}

/* Lanes one by one, and all in one call. */
static void scaled(hop_trace *t, const hop_value *in, void *user)
{
	hop_value y = { 0 };
	hop_kernel(t, user, 2, in, 0, NULL, 1, &y);
	hop_return(t, y);
}

static void test_lanes(void **state)
{
	hop_spec s[2] = { hop_spec0(HOP_f64), hop_spec1(HOP_f64, 2) };
	double a[] = { 2, 3, 5 }, x[] = { 1, 2, 3, 4, 5, 6 };
	int64_t na = 3, nx[] = { 3, 2 };
	hop_array *in[2], *out;
	(void)state;
	assert_int_equal(hop_array_new(ctx, HOP_f64, 1, &na, a, &in[0]), HOP_OK);
	assert_int_equal(hop_array_new(ctx, HOP_f64, 2, nx, x, &in[1]), HOP_OK);
	for (int whole = 0; whole < 2; whole++) {
		hop_fn *f, *g;
		assert_int_equal(hop_capture(ctx, scaled, whole ? "scale_all" : "scale", 2, s, &f), HOP_OK);
		assert_int_equal(hop_vmap_with(f, HOP_VMAP_OPTS(.nin = 2, .nout = 1, .in = (int[]){ 0, 0 }),
		                               &g), HOP_OK);
		calls = 0;
		if (hop_call(g, 2, in, 1, &out))
			fail_msg("%s", hop_message(ctx));
		for (int i = 0; i < 6; i++)
			assert_true(((const double *)hop_array_data(out))[i] == a[i / 2] * x[i]);
		assert_int_equal(calls, whole ? 1 : 3);
		assert_int_equal(lanes_seen, whole ? 3 : 1);
		hop_array_release(out);
		hop_fn_release(f);
		hop_fn_release(g);
	}
	hop_array_release(in[0]);
	hop_array_release(in[1]);
}

/* ---- ahead of time ---- */

static void ahead(hop_trace *t, const hop_value *in, void *user)
{
	hop_value a[] = { hop_f(t, 2), in[0] }, y = { 0 };
	hop_value b[] = { a[0], in[0], in[1] };
	hop_kernel(t, user, user && !strcmp(user, "axpy_body") ? 3 : 2,
	           user && !strcmp(user, "axpy_body") ? b : a, 0, NULL, 1, &y);
	hop_return(t, y);
}

static hop_status write_ahead(const char *kernel, const char *path, const char *target)
{
	hop_spec s = hop_spec_sym(hop_spec1(HOP_f64, 2), 0, "n", 0, 100);
	const char *name = "f";
	hop_fn *f;
	assert_int_equal(hop_capture(ctx, ahead, (void *)(uintptr_t)kernel, 2, (hop_spec[]){ s, s }, &f),
	                 HOP_OK);
	hop_status st = hop_aot_write(ctx, 1, &f, &name, path,
	                              HOP_AOT_OPTS(.target = target, .emit_c = !strcmp(target, "c")));
	hop_fn_release(f);
	return st;
}

typedef int ahead_fn(const double *x, const double *y, double *out, int64_t n, void *workspace,
                     const void *hooks);

static void test_ahead(void **state)
{
	char dir[] = "/tmp/hop-kernel-XXXXXX", path[64], command[300];
	double x[] = { 1, 2, 3 }, y[] = { 10, 20, 30 }, out[3];
	_Alignas(64) char room[4096];
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/model", dir);
	assert_int_equal(write_ahead("scale", path, "llvm"), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "kernel `scale` has no symbol"));
	assert_int_equal(write_ahead("axpy_body", path, "llvm"), HOP_EREFUSED);
	assert_non_null(strstr(hop_message(ctx), "kernel `axpy_body` is C source"));
	assert_int_equal(write_ahead("scale_all", path, "llvm"), HOP_OK);
	if (write_ahead("axpy_body", path, "c"))
		fail_msg("%s", hop_message(ctx));
	snprintf(command, sizeof command, "cd %s && ${HOP_CC:-cc} -shared -fPIC -o model.so model.c -lm",
	         dir);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof path, "%s/model.so", dir);
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(h);
	ahead_fn *f;
	*(void **)&f = dlsym(h, "model_f");
	assert_int_equal(f(x, y, out, 3, room, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_true(out[i] == y[i] + 2 * x[i]);
	dlclose(h);
	snprintf(command, sizeof command, "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	static const hop_kernel_arg floats[] = {
		{ "a", IN, HOP_f64, 0, NULL }, { "x", IN, HOP_f32, 1, NULL }, { "y", INOUT, HOP_f64, 1, NULL },
	};
	static const hop_kernel_arg sine[] = { { "x", IN, HOP_f64, 1, NULL },
	                                       { "y", OUT, HOP_f64, 1, "x" } };
	(void)state;
	if (hop_ctx_new(NULL, &ctx))
		return 1;
	hop_status st =
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "scale", .fn = scale, .narg = 3,
		                                   .arg = scale_args)) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "scale_all", .fn = scale, .narg = 3,
		                                   .arg = scale_args, .lanes = true,
		                                   .symbol = "my_scale")) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "bump", .fn = bump, .narg = 1, .arg = seen_arg,
		                                   .unknown = true)) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "fails", .fn = fails, .narg = 3,
		                                   .arg = axpy_args)) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "floats", .fn = fails, .narg = 3,
		                                   .arg = floats)) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "axpy_c", .c = axpy_c, .narg = 3,
		                                   .arg = axpy_args)) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "axpy_body", .narg = 3, .arg = axpy_args,
		                                   .body = "for (int64_t i = 0; i < y_n; i++)\n"
		                                           "	y[i] += a[0] * x[i];\n")) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "sine", .narg = 2, .arg = sine,
		                                   .body = "for (int64_t i = 0; i < x_n; i++)\n"
		                                           "	y[i] = sin(x[i]);\n")) ||
		hop_kernel_add(ctx, HOP_KERNEL_DEF(.name = "axpy_llvm", .llvm = axpy_llvm, .narg = 3,
		                                   .arg = axpy_args)) ||
		hop_host_add(ctx, HOP_HOST_DEF(.name = "host", .run = (hop_host_fn *)abort));
	if (st)
		print_error("%s\n", hop_message(ctx));
	return st;
}

static int teardown(void **state)
{
	(void)state;
	hop_ctx_free(ctx);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_place), cmocka_unit_test(test_unread),
		cmocka_unit_test(test_wrong_call), cmocka_unit_test(test_wrong_def),
		cmocka_unit_test(test_wrong_source), cmocka_unit_test(test_gradient),
		cmocka_unit_test(test_lanes), cmocka_unit_test(test_ahead),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
