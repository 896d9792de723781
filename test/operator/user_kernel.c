/* user_kernel: 0.75 f(x), the product by a kernel in C source, whose derivatives are itself. What is
 * around it has another dtype at times: the kernel has f64. */
#include <string.h>

#include "data/kernel.h"
#include "operator/operator.h"
#include "trace/trace.h"

static const hop_kernel_arg args[] = { { "x", HOP_KERNEL_IN, HOP_f64, 1, NULL },
                                       { "y", HOP_KERNEL_OUT, HOP_f64, 1, "x" } };
static const hop_kernel_arg in_place[] = { { "x", HOP_KERNEL_IN, HOP_f64, 1, NULL },
                                           { "acc", HOP_KERNEL_INOUT, HOP_f64, 1, NULL } };

static void know(hop_trace *t)
{
	hop_ctx *c = hop_here(t)->root->ctx;
	hop_kernel_def d = { .size = sizeof d, .name = "user_kernel", .narg = 2, .arg = args,
		                 .body = "for (int64_t i = 0; i < x_n; i++)\n	y[i] = 0.75 * x[i];\n"};
	hop_kernel_def w = { .size = sizeof w, .name = "pile", .narg = 2, .arg = in_place,
	                     .body = "for (int64_t i = 0; i < x_n; i++)\n	acc[i] += 2 * x[i];\n"
	                             "acc[0] *= 2;\n" };

	hop_kernel_def m = { .size = sizeof m, .name = "mix", .narg = 2, .arg = in_place,
		                 .body = "for (int64_t i = 0; i < x_n; i++)\n	acc[i] += x[i];\n"};

	if (hop_foreign_find(c, "user_kernel", 11))
		return;
	if (hop_kernel_add(c, &d) || hop_kernel_add(c, &w) || hop_kernel_add(c, &m))
		hop_trace_fail(t, HOP_ETARGET, "%s", hop_message(c));
}

static hop_value lean(hop_trace *t, hop_value x)
{
	hop_value y = HOP_NONE;

	hop_kernel(t, "user_kernel", 1, &x, 0, NULL, 1, &y);
	return y;
}

static void fwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, lean(t, in[0]));
}

/* cotangent -> cotangent: a custom of its own, so that there is another derivative. */
static hop_value leaned(hop_trace *t, hop_value x);

static void bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, leaned(t, in[0]));
}

static void jvp(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, leaned(t, in[1]));
}

/* The same by ops of ours, where a rule would not end. */
static void plain_bwd(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[0], 0.75));
}

static void plain_jvp(hop_trace *t, const hop_value *in, void *user)
{
	(void)user;
	hop_return(t, hop_mulf(t, in[1], 0.75));
}

static hop_value leaned(hop_trace *t, hop_value x)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = fwd, .bwd = plain_bwd,
	                                      .jvp = plain_jvp };
	hop_value y = HOP_NONE;

	hop_custom(t, &rule, NULL, 1, &x, 1, &y);
	return y;
}

hop_value apply_user_kernel(hop_trace *t, const chain *c, hop_value x)
{
	static const hop_custom_rule rule = { .size = sizeof rule, .fwd = fwd, .bwd = bwd, .jvp = jvp };
	hop_value y = chain_inner(t, c, x), z = HOP_NONE;
	hop_value wide = hop_cast(t, y, HOP_f64);

	know(t);
	hop_custom(t, &rule, NULL, 1, &wide, 1, &z);
	return hop_cast(t, z, hop_dtype_of(t, x));
}

void ref_user_kernel(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] *= 0.75;
}

/* What the kernel writes in place is a new value. */
static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	hop_value in[2] = { x, *acc };

	know(t);
	hop_kernel(t, "pile", 2, in, 0, NULL, 1, acc);
	*out = hop_addf(t, x, 1);
}

int mutation_user_kernel(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

/* One operand in place and in: they are two buffers. */
static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value two[2] = { in[0], in[0] }, y = HOP_NONE;

	(void)user;
	know(t);
	hop_kernel(t, "mix", 2, two, 0, NULL, 1, &y);
	hop_return(t, in[0], y);
}

int aliasing_user_kernel(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_user_kernel(hop_ctx *c)
{
	(void)c;
	return 0;
}
