/* Kernels of one's own in a program: C that is compiled when they are made known. One has a gradient,
 * which is a kernel too; one works in place, in a loop. */
#include "example.h"

#define IN HOP_KERNEL_IN
#define OUT HOP_KERNEL_OUT
#define INOUT HOP_KERNEL_INOUT

static const hop_kernel_arg point[] = { { "x", IN, HOP_f64, 1, NULL },
                                        { "y", OUT, HOP_f64, 1, "x" } };
static const hop_kernel_arg heat[] = { { "dt", IN, HOP_f64, 0, NULL },
                                       { "u", INOUT, HOP_f64, 1, NULL } };

static void add_kernels(hop_ctx *c)
{
	must(c, hop_kernel_add(c, HOP_KERNEL_DEF(.name = "softplus", .narg = 2, .arg = point, .lanes = true,
		.body = "for (int64_t i = 0; i < x_n; i++)\n"
		        "	y[i] = log1p(exp(x[i]));\n")));
	must(c, hop_kernel_add(c, HOP_KERNEL_DEF(.name = "sigmoid", .narg = 2, .arg = point, .lanes = true,
		.body = "for (int64_t i = 0; i < x_n; i++)\n"
		        "	y[i] = 1 / (1 + exp(-x[i]));\n")));
	/* one step of the heat equation; it needs old values of what it overwrites */
	must(c, hop_kernel_add(c, HOP_KERNEL_DEF(.name = "heat", .narg = 2, .arg = heat,
		.body = "double left = u[0];\n"
		        "for (int64_t i = 1; i + 1 < u_dim[0]; i++) {\n"
		        "	double here = u[i];\n"
		        "	u[i] += dt[0] * (left - 2 * here + u[i + 1]);\n"
		        "	left = here;\n"
		        "}\n")));
}

static hop_value call(hop_trace *t, const char *name, hop_value x)
{
	hop_value y = HOP_NONE;
	hop_kernel(t, name, 1, &x, 0, NULL, 1, &y);
	return y;
}

static void fwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_save(t, 1, in);
	hop_return(t, call(t, "softplus", in[0]));
}

static void bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mul(t, in[1], call(t, "sigmoid", in[0])));
}

static void loss(hop_trace *t, const hop_value *in, void *user)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = fwd, .bwd = bwd };
	hop_value y = HOP_NONE;
	(void)user;
	hop_custom(t, &rule, NULL, 1, in, 1, &y);
	hop_return(t, hop_sum_all(t, hop_mul(t, y, y)));
}

static void cool(hop_trace *t, const hop_value *in, void *user)
{
	hop_value u = in[0], dt = hop_f(t, 0.25);
	(void)user;
	HOP_FOR(t, i, 20, u)
		hop_kernel(t, "heat", 2, (hop_value[]){ dt, u }, 0, NULL, 1, &u);
	hop_return(t, u);
}

int main(void)
{
	hop_ctx *c = context();
	hop_array *x = vector(c, 3, (double[]){ -1, 0, 2 }), *out[2], *u;
	hop_array *rod = vector(c, 6, (double[]){ 0, 0, 1, 0, 0, 1 });
	hop_spec s = hop_spec1(HOP_f64, 3);
	hop_fn *f, *g;
	add_kernels(c);
	must(c, hop_capture(c, loss, NULL, 1, &s, &f));
	must(c, hop_grad(f, 1, (int[]){ 0 }, &g));
	must(c, hop_call(g, 1, &x, 2, out));
	show("sum of softplus(x)^2:", out[0]);
	show("its gradient:        ", out[1]);
	run(c, cool, 1, &rod, 1, &u);
	show("a rod after 20 steps:", u);
	if (hop_kernel_add(c, HOP_KERNEL_DEF(.name = "wrong", .narg = 2, .arg = point,
	                                     .body = "y[0] = x[0]\n")))
		printf("the compiler complains of %.7s\n", strstr(hop_message(c), "wrong:1:"));
	hop_fn_release(f);
	hop_fn_release(g);
	release(2, (hop_array *[]){ x, rod });
	hop_ctx_free(c);
	return 0;
}

/* prints
sum of softplus(x)^2: 5.10241
its gradient:         0.168498 0.693147 3.74678
a rod after 20 steps: 0 0.181534 0.37002 0.569895 0.781332 1
the compiler complains of wrong:1
*/
