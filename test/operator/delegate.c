/* delegate: 0.9 f(x), as a region that an engine takes: it compiles the region by itself. */
#include <string.h>

#include "data/engine.h"
#include "operator/operator.h"
#include "trace/trace.h"

static hop_status prepare(const hop_engine_region *r, void **out_handle)
{
	*out_handle = hop_fn_retain(r->fn);
	return HOP_OK;
}

static hop_array *array_of(hop_ctx *c, const hop_host_arg *a)
{
	hop_array *x = NULL;
	return hop_array_new(c, a->dtype, a->rank, a->dim, a->data, &x) ? NULL : x;
}

/* By arrays: a second library would not know ours. */
static hop_status run(void *handle, const hop_host_call *c)
{
	hop_fn *f = handle;
	hop_array *in[64] = { 0 }, *out[64] = { 0 };
	hop_status st = HOP_OK;

	if (c->nin > 64 || c->nout > 64)
		return hop_host_fail(c, HOP_EVALUE, "too many arguments");
	for (int i = 0; i < c->nin && !st; i++)
		st = (in[i] = array_of(f->ctx, &c->in[i])) ? HOP_OK : HOP_ENOMEM;
	if (!st)
		st = hop_call(f, c->nin, in, c->nout, out);
	for (int i = 0; i < c->nout && !st; i++)
		memcpy(c->out[i].data, hop_array_data(out[i]), out[i]->bytes);
	for (int i = 0; i < 64; i++) {
		hop_array_release(in[i]);
		hop_array_release(out[i]);
	}
	return st ? hop_host_fail(c, st, "%s", hop_message(f->ctx)) : HOP_OK;
}

static void let_go(void *handle)
{
	hop_fn_release(handle);
}

static void know(hop_trace *t)
{
	hop_ctx *c = hop_here(t)->root->ctx;
	hop_engine e = { .size = sizeof e, .name = "delegate", .prepare = prepare, .run = run,
	                 .free = let_go };

	if (!hop_engine_find(c, "delegate", 8) && hop_engine_add(c, &e))
		hop_trace_fail(t, HOP_ENOMEM, "no engine");
}

static void body(hop_trace *t, const hop_value *in, void *user)
{
	hop_return(t, chain_inner(t, user, in[0]));
}

static void region(hop_trace *t, hop_body *f, void *user, hop_value x, int n, hop_value *out)
{
	hop_region_opts o = { .size = sizeof o, .to = "delegate" };

	know(t);
	hop_region_with(t, "part", f, user, &o, 1, &x, n, out);
}

hop_value apply_delegate(hop_trace *t, const chain *c, hop_value x)
{
	hop_value out = HOP_NONE;

	region(t, body, (void *)c, x, 1, &out);
	return hop_mulf(t, out, 0.9);
}

void ref_delegate(const ref *r, int n, const double *x, double *out)
{
	ref_inner(r, n, x, out);
	for (int i = 0; i < n; i++)
		out[i] *= 0.9;
}

static void write_run(hop_trace *t, hop_value *acc, hop_value x, hop_value *out)
{
	region(t, body_write, acc, x, 1, out);
}

int mutation_delegate(hop_ctx *c)
{
	return body_writes(c, write_run, 1);
}

static void alias(hop_trace *t, const hop_value *in, void *user)
{
	hop_value out[2] = { HOP_NONE, HOP_NONE };

	(void)user;
	region(t, body_twice, NULL, in[0], 2, out);
	hop_return(t, out[0], hop_mulf(t, out[1], 2));
}

int aliasing_delegate(hop_ctx *c)
{
	return body_aliases(c, alias);
}

int zero_delegate(hop_ctx *c)
{
	(void)c;
	return 0;
}
