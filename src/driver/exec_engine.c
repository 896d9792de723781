/* exec_engine.c -- compiled code as an engine: it runs the function that it was compiled from, where a
 * program applies that. */
#include <string.h>

#include "data/engine.h"
#include "opt/opt.h"
#include "rt/exec.h"

enum { MANY = 128 };             /* inputs and results */

/* The code, and what regions of its function look like when engines are asked: replays expanded. */
struct fast {
	hop_mem          mem;
	hop_exec        *x;
	const hop_graph *g;            /* retained */
};

static hop_status prepare(const hop_engine_region *r, void **out_handle)
{
	const struct fast *f = r->user;
	if (r->graph != f->g)
		return hop_engine_refuse(r, "this is code for one function, and the region is another, or a "
		                         "derivative or a batch of it: say \"NAME, hop\" where those are to be "
		                         "compiled");
	*out_handle = f->x;
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
	struct fast *f = user;
	hop_mem mem = f->mem;
	hop_exec_release(f->x);
	hop_graph_release((hop_graph *)(uintptr_t)f->g);
	hop_raw_free(&mem, f, sizeof *f);
}

static hop_status check(hop_env *e, const hop_exec *x)
{
	const char *why = x->ctx != e->ctx ? "the code is of another context"
	                : x->nhidden ? "the function captured arrays: make them inputs"
	                : x->own ? "a result has a size that only a run knows"
	                : x->g->nparam + x->g->nout > MANY ? "it has more than 128 inputs and results"
	                : NULL;
	return why ? hop_fail(e, 0, HOP_EREFUSED, "exec_add: %s", why) : HOP_OK;
}

static hop_status open(hop_env *e, hop_exec *x, struct fast **out_f)
{
	const hop_graph *g;
	HOP_TRY(check(e, x));
	HOP_TRY(hop_opt_expand(e, x->g, &g));
	*out_f = hop_raw_new(e, sizeof **out_f);
	**out_f = (struct fast){ e->mem, hop_exec_retain(x), hop_graph_retain((hop_graph *)(uintptr_t)g) };
	return HOP_OK;
}

static hop_status guarded(hop_env *e, hop_exec *x, struct fast **out_f)
{
	hop_frame fr;
	if (HOP_GUARD(e, &fr))
		return hop_guard_nomem(e, &fr);
	hop_status st = open(e, x, out_f);
	hop_guard_end(e, &fr);
	return st;
}

hop_status hop_exec_add(hop_ctx *c, const char *name, hop_exec *x)
{
	struct fast *f = NULL;
	hop_env env;
	if (!c || !x)
		return HOP_EUSE;
	hop_env_init(&env, c, hop_ctx_mem(c));
	hop_status st = guarded(&env, x, &f);
	if (st)
		hop_ctx_set_message(c, &env.diag);
	hop_env_fini(&env);
	if (st)
		return st;
	st = hop_engine_add(c, HOP_ENGINE(.name = name, .user = f, .prepare = prepare, .run = run,
	                                  .drop = drop));
	if (st)
		drop(f);
	return st;
}
