/* kernel.c -- calls of kernels of users: their types are known, so that most of what a call of the
 * host has to say need not be said. */
#include "data/kernel.h"
#include "trace/raw.h"

#include <string.h>

struct kernel_call {
	const char        *name;
	const hop_foreign *f;
	const hop_user_kernel *k;
	int                nin, ntype, nout;
	const hop_value   *in;
	hop_value         *own;            /* [nin] the same, numbers as what is declared */
	const hop_result  *type;
	hop_value         *out;
};

static bool find(hop_trace *t, struct kernel_call *c)
{
	size_t n = c->name ? strlen(c->name) : 0;
	c->f = c->name ? hop_foreign_find(t->root->ctx, c->name, n) : NULL;
	c->k = c->f ? c->f->kernel : NULL;
	if (!c->k)
		hop_trace_fail(t, HOP_EUSE, c->f ? "kernel: `%s` is a function of the host: hop_host calls it"
		               : "kernel: no kernel `%s` is known to this context: hop_kernel_add makes it "
		               "known", c->name ? c->name : "");
	return c->k;
}

static const char *arg_name(const hop_kernel_arg *a)
{
	return a->name ? a->name : "without a name";
}

/* How many types the call has to give. */
static int wanted(const hop_user_kernel *k)
{
	int n = 0;
	for (int i = 0; i < k->narg; i++)
		n += k->arg[i].use == HOP_KERNEL_OUT && !k->arg[i].like;
	return n;
}

/* How many it gets. */
static int given(const hop_user_kernel *k)
{
	int n = 0;
	for (int i = 0; i < k->narg; i++)
		n += k->arg[i].use != HOP_KERNEL_IN;
	return n;
}

/* Argument i: of its type, or a number, which becomes one of it. */
static hop_value operand(hop_trace *t, const hop_user_kernel *k, int i, hop_value v)
{
	const hop_kernel_arg *a = &k->arg[i];
	const hop_cell *cell = hop_cell_of(t, v);
	if (!cell)
		return v;
	if (cell->weak && !a->rank)
		return hop_value_new(t, hop_promote_cast(t, v, a->dtype));
	const hop_type *ty = hop_value_type(t, v);
	if (ty && (ty->dtype != a->dtype || ty->rank != a->rank))
		hop_trace_fail(t, HOP_ETYPE, "kernel %s: argument %d, %s, is %s of rank %d, it takes %s of rank "
		               "%d: cast or reshape it", k->name, i, arg_name(a),
		               hop_dtype_name((hop_dtype)ty->dtype), ty->rank, hop_dtype_name(a->dtype),
		               a->rank);
	return v;
}

static void check(hop_trace *t, void *arg)
{
	struct kernel_call *c = arg;
	if (!find(t, c))
		return;
	const hop_user_kernel *k = c->k;
	if (c->nin < 0 || (c->nin && !c->in) || c->ntype < 0 || (c->ntype && !c->type) || c->nout < 0 ||
	    (c->nout && !c->out)) {
		hop_trace_fail(t, HOP_EUSE, "kernel: a count is negative or a list is missing");
		return;
	}
	if (c->nin != k->nin || c->ntype != wanted(k) || c->nout < given(k)) {
		hop_trace_fail(t, HOP_EUSE, "kernel %s: takes %d operands and %d types and gives %d results, "
		               "not %d, %d and %d", k->name, k->nin, wanted(k), given(k), c->nin, c->ntype,
		               c->nout);
		return;
	}
	for (int i = 0; i < k->narg && !t->b.st; i++)
		if (k->arg[i].use != HOP_KERNEL_OUT)
			c->own[k->at[i]] = operand(t, k, i, c->in[k->at[i]]);
}

static int arg_named(const hop_user_kernel *k, const char *name)
{
	for (int i = 0; i < k->narg; i++)
		if (k->arg[i].name == name)    /* both interned */
			return i;
	return -1;
}

static hop_result like(hop_trace *t, const char *file, int line, const hop_kernel_arg *a, hop_value v)
{
	hop_result r = { .dtype = a->dtype, .rank = a->rank };
	for (int i = 0; i < a->rank; i++)
		r.dim[i] = hop_at_dim_of(t, file, line, v, i);
	return r;
}

/* A type that the call gives: is it the declared one? */
struct given { const hop_user_kernel *k; int i; const hop_result *r; };

static void check_type(hop_trace *t, void *arg)
{
	const struct given *g = arg;
	const hop_kernel_arg *a = &g->k->arg[g->i];
	if (g->r->dtype != a->dtype || g->r->rank != a->rank)
		hop_trace_fail(t, HOP_ETYPE, "kernel %s: the type that is given for argument %d, %s, is not %s "
		               "of rank %d", g->k->name, g->i, arg_name(a), hop_dtype_name(a->dtype), a->rank);
}

/* The types of what is OUT; false after a failure. */
static bool result_types(hop_trace *t, const char *file, int line, const struct kernel_call *c,
                         hop_result *r)
{
	int at = 0;
	for (int i = 0; i < c->k->narg; i++) {
		const hop_kernel_arg *a = &c->k->arg[i];
		if (a->use != HOP_KERNEL_OUT)
			continue;
		if (a->like) {
			*r++ = like(t, file, line, a, c->own[c->k->at[arg_named(c->k, a->like)]]);
			continue;
		}
		struct given g = { c->k, i, &c->type[at] };
		if (!hop_enter(t, "kernel", file, line, check_type, &g))
			return false;
		*r++ = c->type[at++];
	}
	return true;
}

/* The node gives what is OUT, then what is INOUT; the caller has them in the order of the arguments. */
static int order(const struct kernel_call *c, const hop_value *made)
{
	int n = 0, out = 0, inout = c->k->nout;
	for (int i = 0; i < c->k->narg; i++)
		if (c->k->arg[i].use != HOP_KERNEL_IN)
			c->out[n++] = made[c->k->arg[i].use == HOP_KERNEL_OUT ? out++ : inout++];
	return n;
}

int hop_at_kernel(hop_trace *t, const char *file, int line, const char *name, int nin,
                  const hop_value *in, int ntype, const hop_result *type, int nout, hop_value *out)
{
	struct kernel_call c = { .name = name, .nin = nin, .in = in, .ntype = ntype, .type = type,
	                         .nout = nout, .out = out };
	hop_result r[HOP_KERNEL_ARGS];
	hop_value own[HOP_KERNEL_ARGS], made[HOP_KERNEL_ARGS];
	c.own = own;
	if (!hop_enter(t, "kernel", file, line, check, &c) || !result_types(t, file, line, &c, r))
		return 0;
	hop_raw a[] = { { .p = name }, { .i = c.k->nout, .p = r },
	                { .i = c.f->nwrite, .p = c.f->writes } };
	int op = c.f->pure ? HOP_OP_host_pure : HOP_OP_host;
	return hop_raw_op(t, file, line, op, a, nin, own, HOP_KERNEL_ARGS, made) ? order(&c, made) : 0;
}
