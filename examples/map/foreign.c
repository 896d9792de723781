/* foreign.c -- code that is not hop's: functions that a program calls while it runs, kernels on its
 * buffers, engines that take whole regions. */
#include "map.h"

/* ---- functions ---- */

static hop_status find_least(const hop_host_call *call)
{
	const double *x = call->in[0].data;
	double *least = call->out[0].data;
	*least = x[0];
	for (int64_t i = 1; i < call->in[0].dim[0]; i++)
		*least = fmin(*least, x[i]);
	return HOP_OK;
}

BODY(twice_least)
{
	hop_result type = hop_result_of(HOP_f64, 0, NULL);
	hop_value least;
	hop_host(t, "least", 1, in, 1, &type, &least);
	hop_return(t, hop_mulf(t, least, 2));
}

PROGRAM(invoke_leaf_function)
{
	hop_array *x = vector(c, 3, (double[]){ 4, 1, 3 }), *y;
	must(c, hop_host_add(c, HOP_HOST_DEF(.name = "least", .run = find_least, .pure = true)));
	run(c, twice_least, 1, &x, 1, &y);
	expect(c, 1, &y, 2);
	hop_array_release(x);
}

/* ---- objects ---- */

static hop_status add_to(void *self, const hop_host_call *call)
{
	*(double *)self += *(double *)call->in[0].data;
	return HOP_OK;
}

static hop_status total_of(void *self, const hop_host_call *call)
{
	*(double *)call->out[0].data = *(double *)self;
	return HOP_OK;
}

BODY(count_up)
{
	hop_value account = in[0], total, x;
	hop_result type = hop_result_of(HOP_f64, 0, NULL);
	HOP_FOR(t, i, 4) {
		x = hop_cast(t, i, HOP_f64);
		hop_method(t, "account.add", account, 1, &x, 0, NULL, NULL);
	}
	hop_method(t, "account.total", account, 0, NULL, 1, &type, &total);
	hop_return(t, total);
}

/* An object has a handle, a number; methods that change it are called in order. */
PROGRAM(call_torchbind)
{
	static const hop_method_def methods[] = {
		{ .name = "add", .run = add_to }, { .name = "total", .run = total_of }
	};
	double money = 10;
	int64_t handle;
	hop_array *account, *total;

	must(c, hop_class_add(c, HOP_CLASS_DEF(.name = "account", .nmethod = 2, .method = methods)));
	must(c, hop_object_new(c, "account", &money, &handle));
	must(c, hop_array_new(c, HOP_i64, 0, NULL, &handle, &account));
	run(c, count_up, 1, &account, 1, &total);
	expect(c, 1, &total, 16);
	hop_array_release(account);
	hop_object_release(c, handle);
}

/* ---- kernels: what is in and what is out is declared ---- */

/* A kernel as source, compiled when it is added: y = x + 1. */
static const hop_kernel_arg add_args[] = {
	{ "x", HOP_KERNEL_IN, HOP_f64, 1, NULL }, { "y", HOP_KERNEL_OUT, HOP_f64, 1, "x" }
};

BODY(add_one)
{
	hop_value y;
	hop_kernel(t, "add_one", 1, in, 0, NULL, 1, &y);
	hop_return(t, hop_mul(t, y, in[0]));
}

PROGRAM(triton_kernel_wrapper_functional)
{
	hop_array *x = vector(c, 3, (double[]){ 1, 2, 3 }), *y;
	must(c, hop_kernel_add(c, HOP_KERNEL_DEF(.name = "add_one", .narg = 2, .arg = add_args,
	     .body = "for (int64_t i = 0; i < x_n; i++) y[i] = x[i] + 1;")));
	run(c, add_one, 1, &x, 1, &y);
	expect(c, 1, &y, 2, 6, 12);
	hop_array_release(x);
}

/* One that writes its argument in place. The program is pure: x itself stays as it was. */
static const hop_kernel_arg double_args[] = { { "x", HOP_KERNEL_INOUT, HOP_f64, 1, NULL } };

BODY(doubled)
{
	hop_value y;
	hop_kernel(t, "doubled", 1, in, 0, NULL, 1, &y);
	hop_return(t, y, in[0]);
}

static int double_all(void *const *arg, const int64_t *const *dim, int64_t lanes)
{
	double *x = arg[0];
	for (int64_t i = 0; i < dim[0][0] * lanes; i++)
		x[i] *= 2;
	return 0;
}

PROGRAM(triton_kernel_wrapper_mutation)
{
	hop_array *x = vector(c, 2, (double[]){ 1, 2 }), *out[2];
	must(c, hop_kernel_add(c, HOP_KERNEL_DEF(.name = "doubled", .narg = 1, .arg = double_args,
	                                         .fn = double_all)));
	run(c, doubled, 1, &x, 2, out);
	expect(c, 2, out, 2, 4, 1, 2);
	hop_array_release(x);
}

/* One instruction of the processor, for each element. */
PROGRAM(inline_asm_elementwise)
{
	hop_array *x = vector(c, 2, (double[]){ 1, 2 }), *y;
	must(c, hop_kernel_add(c, HOP_KERNEL_DEF(.name = "add_one", .narg = 2, .arg = add_args,
	     .body = "for (int64_t i = 0; i < x_n; i++) {\n"
	             "	double one = 1;\n"
	             "#ifdef __x86_64__\n"
	             "	__asm__(\"addsd %1, %0\" : \"+x\"(one) : \"x\"(x[i]));\n"
	             "#else\n"
	             "	one += x[i];\n"
	             "#endif\n"
	             "	y[i] = one;\n"
	             "}")));
	run(c, add_one, 1, &x, 1, &y);
	expect(c, 1, &y, 2, 6);
	hop_array_release(x);
}

/* ---- engines ---- */

/* This one can do one thing: a region whose only op is sin. */
static hop_status only_sin(const hop_engine_region *r, void **out_handle)
{
	static int taken;
	*out_handle = &taken;
	return strstr(r->text, "= sin %0") ? HOP_OK : hop_engine_refuse(r, "all I can is sin");
}

static hop_status run_sin(void *handle, const hop_host_call *call)
{
	const double *x = call->in[0].data;
	double *y = call->out[0].data;
	++*(int *)handle;
	for (int64_t i = 0; i < call->in[0].dim[0]; i++)
		y[i] = sin(x[i]);
	return HOP_OK;
}

/* The engine takes the region if it can; else hop compiles it, as it does its derivative. */
BODY(wave)
{
	hop_value x = in[0];
	HOP_REGION_WITH(t, "wave", HOP_REGION_OPTS(.to = "waves, hop"), x)
		x = hop_sin(t, x);
	hop_return(t, hop_sum_all(t, x));
}

PROGRAM(executorch_call_delegate)
{
	hop_array *x = vector(c, 2, (double[]){ 0, 1.5707963267948966 }), *out[2];
	hop_spec s = hop_spec1(HOP_f64, 2);
	hop_fn *f, *g;

	must(c, hop_engine_add(c, HOP_ENGINE(.name = "waves", .prepare = only_sin, .run = run_sin)));
	must(c, hop_capture(c, wave, NULL, 1, &s, &f));
	must(c, hop_call(f, 1, &x, 1, out));
	expect(c, 1, out, 1);
	must(c, hop_grad(f, 1, (int[]){ 0 }, &g));
	must(c, hop_call(g, 1, &x, 2, out));
	expect(c, 2, out, 1, 1, 0);
	hop_array_release(x);
	hop_fn_release(f);
	hop_fn_release(g);
}

BODY(cube)
{
	hop_return(t, hop_mul(t, in[0], hop_mul(t, in[0], in[0])));
}

BODY(calls_code)
{
	hop_value y;
	hop_apply_to(t, user, "cube", 1, in, 1, &y);
	hop_return(t, hop_addf(t, y, 1));
}

/* Code that was compiled before, called from another program: it is not compiled again. */
PROGRAM(aoti_call_delegate)
{
	hop_array *x = scalar(c, 2), *y;
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f, *outer;
	hop_exec *code;

	must(c, hop_capture(c, cube, NULL, 1, &s, &f));
	must(c, hop_compile(f, NULL, &code));
	must(c, hop_exec_add(c, "cube", code));
	must(c, hop_capture(c, calls_code, f, 1, &s, &outer));
	must(c, hop_call(outer, 1, &x, 1, &y));
	expect(c, 1, &y, 9);
	hop_array_release(x);
	hop_exec_release(code);
	hop_fn_release(f);
	hop_fn_release(outer);
}
