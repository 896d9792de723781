/* exec_engine.c -- compiled code as an engine: it runs the function that it was compiled from, where a
 * program applies that. */
#include <string.h>

#include "data/engine.h"
#include "rt/exec.h"

enum { MANY = 128 };             /* inputs and results */

static hop_status prepare(const hop_engine_region *r, void **out_handle)
{
	hop_exec *x = r->user;
	const hop_graph *own = x->own ? x->own : x->g;
	if (r->graph != own)
		return hop_engine_refuse(r, "this is code for one function, and the region is another, or a "
		                         "derivative or a batch of it: say \"NAME, hop\" where those are to be "
		                         "compiled");
	*out_handle = x;
	return HOP_OK;
}

static hop_status run(void *handle, const hop_host_call *c)
{
	hop_exec *x = handle;
	hop_arg arg[MANY];
	int64_t n;
	for (int i = 0; i < c->nin + c->nout; i++) {
		const hop_host_arg *a = i < c->nin ? &c->in[i] : &c->out[i - c->nin];
		arg[i] = (hop_arg){ .data = a->data, .dim = a->dim };
	}
	n = hop_exec_workspace_for(x, arg, arg + c->nin);
	struct hop_spare *s = n < 0 ? NULL : hop_spare_take(x, n);
	if (!s)
		return hop_host_fail(c, HOP_ENOMEM, "no memory to work in, or sizes that do not fit");
	hop_status st = hop_run(x, arg, arg + c->nin, s->p);
	hop_spare_give(x, s);
	return st ? hop_host_fail(c, st, "%s", hop_run_told(st) ? hop_message(x->ctx)
	                                                         : hop_status_name(st)) : HOP_OK;
}

static void drop(void *user)
{
	hop_exec_release(user);
}

hop_status hop_exec_add(hop_ctx *c, const char *name, hop_exec *x)
{
	hop_engine e = { .size = sizeof e, .name = name, .user = x, .prepare = prepare, .run = run,
	                 .drop = drop };
	hop_env env;
	hop_status st = HOP_OK;
	if (!c || !x)
		return HOP_EUSE;
	hop_env_init(&env, c, hop_ctx_mem(c));
	if (x->ctx != c || x->nhidden || x->own ||
	    x->g->nparam + x->g->nout > MANY)
		st = hop_fail(&env, 0, HOP_EREFUSED, "exec_add: %s",
		              x->ctx != c ? "the code is of another context"
		              : x->nhidden ? "the function captured arrays: make them inputs"
		              : x->own ? "a result has a size that only a run knows" : "too many inputs");
	if (st)
		hop_ctx_set_message(c, &env.diag);
	hop_env_fini(&env);
	if (!st && !(st = hop_engine_add(c, &e)))
		hop_exec_retain(x);
	return st;
}
