/* effects.c -- writes, printing, conditions, and code that is not hop's. */
#include "map.h"

/* A write through a view is a new value of what it is a view of. */
EXAMPLE(auto_functionalized, IN(M(2, 2, 1, 2, 3, 4)), GIVES(1, 2, 13, 14))
{
	hop_value x = hop_clone(t, in[0]);
	hop_add_(t, hop_index(t, x, 0, 1), hop_f(t, 10));
	hop_return(t, x);
}

/* Two views of one array, which overlap: the second sees what the first wrote. */
EXAMPLE(auto_functionalized_v2, IN(V(1, 2, 3)), GIVES(2, 8, 6))
{
	hop_value x = hop_clone(t, in[0]);
	hop_mul_(t, hop_narrow(t, x, 0, 0, 2), hop_f(t, 2));
	hop_mul_(t, hop_narrow(t, x, 0, 1, 2), hop_f(t, 2));
	hop_return(t, x);
}

/* Effects come in the order of the lines, as often as the body runs. */
EXAMPLE(with_effects, IN(S(3)), GIVES(3))
{
	HOP_FOR(t, i, 2)
		hop_print(t, " trip {}", 1, &i);
	hop_print(t, " then x = {}", 1, in);
	hop_return(t, in[0]);
}

EXAMPLE(print, IN(V(1, 2)), GIVES(3))
{
	hop_print(t, " x is {}", 1, in);
	hop_return(t, hop_sum_all(t, in[0]));
}

BODY(root)
{
	hop_assert(t, hop_ge(t, in[0], hop_f(t, 0)), "{} has no root", 1, in);
	hop_return(t, hop_sqrt(t, in[0]));
}

/* A condition that fails ends the run with its text, and is never dropped. */
PROGRAM(_assert_async)
{
	hop_array *x = scalar(c, -4), *y;
	hop_spec s = hop_spec0(HOP_f64);
	hop_fn *f;

	must(c, hop_capture(c, root, NULL, 1, &s, &f));
	expect_that(hop_call(f, 1, &x, 1, &y) != HOP_OK);
	expect_that(strstr(hop_message(c), "-4.0 has no root"));
	hop_array_release(x);
	hop_fn_release(f);
}
ALSO(_assert_scalar, _assert_async)

/* ---- C that a program calls while it runs; what it is given and gives are declared ---- */

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
