/* exec.c -- compiled graphs: making them, stage by stage, and letting them go. Running them
 * is run.c; what the passes do is elsewhere. */
#include "driver/exec.h"

#include <string.h>
#include <time.h>

#include "driver/pipeline.h"
#include "loop/lower.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- making ---- */

/* A result whose size only the program knows has no place in the caller's memory. */
static hop_status check_results(hop_env *e, const hop_graph *g)
{
	for (uint32_t k = 0; k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		for (int i = 0; i < t->rank; i++)
			if ((uint32_t)hop_size_nsym(t->dim[i]) > g->nsym)
				return hop_fail(e, 0, HOP_EREFUSED, "compile: dimension %d of result %u is a "
				                "size that only the program knows: return the capacity and "
				                "a count", i, k);
	}
	return HOP_OK;
}

static hop_status build(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec *x)
{
	const hop_graph *opt = g;
	hop_target_opts to = { .no_cache = o->no_cache,
	                       .no_threads = o->threads == 1 && !o->parallel };
	double t0 = now();
	HOP_TRY(check_results(e, g));
	HOP_TRY(hop_pipeline_run(e, g, &opt));
	double t1 = now();
	HOP_TRY(hop_lower_graph(e, opt, NULL, &x->prog));
	double t2 = now();
	HOP_TRY(hop_code_new(e, x->prog, &to, &x->code));
	x->times = (hop_compile_times){ .opt = t1 - t0, .lower = t2 - t1, .code = now() - t2,
	                                .from_cache = hop_code_cached(x->code) };
	return HOP_OK;
}

static void *make_pool(const hop_mem *m, int threads)
{
	return hop_pool_new(m, threads);
}

static void drop_pool(void *p)
{
	hop_pool_free(p);
}

/* No memory inside must not leak x, so it has a frame of its own. */
static hop_status guarded_build(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                                hop_exec *x)
{
	hop_frame f;
	if (HOP_GUARD(e, &f))
		return hop_guard_nomem(e, &f);
	hop_status st = build(e, g, o, x);
	hop_guard_end(e, &f);
	return st;
}

hop_status hop_exec_new(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec **out_x)
{
	static const hop_compile_opts none;
	*out_x = NULL;
	o = o ? o : &none;
	if (o->size && o->size != sizeof *o)
		return hop_fail(e, 0, HOP_EVALUE, "compile: the options have %zu bytes, this library "
		                "knows %zu: rebuild with its headers", o->size, sizeof *o);
	hop_exec *x = hop_raw_new(e, sizeof *x);
	memset(x, 0, sizeof *x);
	atomic_init(&x->refs, 1);
	x->ctx = e->ctx;
	x->mem = e->mem;
	x->g = hop_graph_retain((hop_graph *)(uintptr_t)g);
	x->parallel = o->parallel;
	x->parallel_user = o->parallel_user;
	hop_status st = guarded_build(e, g, o, x);
	if (!st && o->threads != 1 && !o->parallel &&
	    !(x->pool = hop_ctx_shared(e->ctx, make_pool, drop_pool)))
		st = hop_fail(e, 0, HOP_ENOMEM, "compile: no memory for threads");
	if (st) {
		hop_exec_release(x);
		return st;
	}
	x->nthread = x->pool ? hop_pool_threads(x->pool) : o->parallel ? 2 : 1;
	*out_x = x;
	return HOP_OK;
}

void hop_exec_bind(hop_exec *x, int nhidden, void *const *data, void (*drop)(void *),
                   void *user)
{
	x->nhidden = nhidden;
	x->hidden = (void **)(uintptr_t)data;
	x->drop = drop;
	x->drop_user = user;
}

hop_exec *hop_exec_retain(hop_exec *x)
{
	if (x)
		atomic_fetch_add(&x->refs, 1);
	return x;
}

void hop_exec_release(hop_exec *x)
{
	if (!x || atomic_fetch_sub(&x->refs, 1) != 1)
		return;
	hop_mem m = x->mem;
	hop_exec_drop_spare(x);
	if (x->drop)
		x->drop(x->drop_user);
	hop_code_release(x->code);
	if (x->prog)
		hop_prog_free(x->prog, &m);
	hop_graph_release(x->g);
	hop_raw_free(&m, x, sizeof *x);
}

hop_compile_times hop_exec_times(const hop_exec *x)
{
	return x ? x->times : (hop_compile_times){ 0 };
}

bool hop_exec_is_hard(const hop_exec *x)
{
	return x && x->prog->ntape == 0;
}
