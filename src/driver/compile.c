/* compile.c -- compiled graphs: making them, stage by stage. Running them is rt/; what the passes do
 * is elsewhere. */
#include "driver/compile.h"

#include <time.h>

#include "driver/delegate.h"
#include "driver/pipeline.h"
#include "loop/lower.h"
#include "rt/once.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

hop_status hop_exec_code(hop_env *e, const hop_graph *opt, const hop_target *t, const hop_machine *m,
                         const hop_target_opts *to, hop_exec *x)
{
	double t0 = now();
	e->taken = x->taken;
	hop_status st = hop_lower_graph(e, opt, &(hop_lower_opts){ .machine = m }, &x->prog);
	e->taken = NULL;
	if (st)
		return st;
	double t1 = now();
	HOP_TRY(hop_code_new(e, t, x->prog, m, to, &x->code));
	hop_library_open(x->prog);
	x->times = (hop_compile_times){ .lower = t1 - t0, .code = now() - t1,
	                                .from_cache = hop_code_cached(x->code),
	                                .code_bytes = hop_code_bytes(x->code) };
	return HOP_OK;
}

/* f: the function whose captured arrays may be constants; or NULL. */
static hop_status build(hop_env *e, const hop_graph *g, hop_fn *f, const hop_compile_opts *o,
                        hop_exec *x)
{
	const hop_graph *opt = g;
	hop_target_opts to = { .no_cache = o->no_cache,
	                       .no_threads = o->threads == 1 && !o->parallel };
	const hop_target *t;
	hop_machine m;
	double t0 = now();
	HOP_TRY(hop_target_pick(e, o->target, &t));
	HOP_TRY(t->machine(e, &to, &m));
	if (o->delegate)
		HOP_TRY(hop_carve(e, g, o->delegate, &g));
	HOP_TRY(hop_delegate(e, g, &x->taken, &g));
	HOP_TRY((o->watch ? hop_pipeline_looking : hop_pipeline_run)(e, g, m.blocks > 0, &opt));
	t0 = now() - t0;
	if (f && f->nhidden && o->constants == HOP_CONSTANTS_ONCE)
		HOP_TRY(hop_exec_divide(e, f, opt, t, &m, &to, x, &opt));
	HOP_TRY(hop_exec_code(e, opt, t, &m, &to, x));
	x->times.opt = t0;
	return HOP_OK;
}

/* No memory inside must not leak x, so it has a frame of its own. */
static hop_status guarded_build(hop_env *e, const hop_graph *g, hop_fn *f,
                                const hop_compile_opts *o, hop_exec *x)
{
	hop_frame fr;
	if (HOP_GUARD(e, &fr)) {
		e->taken = NULL;
		return hop_guard_nomem(e, &fr);
	}
	hop_status st = build(e, g, f, o, x);
	hop_guard_end(e, &fr);
	return st;
}

static hop_status make(hop_env *e, const hop_graph *g, hop_fn *f, const hop_compile_opts *o,
                       hop_exec **out_x)
{
	static const hop_compile_opts none;
	const hop_graph *wide;
	*out_x = NULL;
	o = o ? o : &none;
	HOP_TRY(hop_results_widen(e, g, &wide));
	hop_exec *x = hop_exec_open(e, wide);
	x->watch = o->watch;
	if (wide != g)
		x->own = hop_graph_retain((hop_graph *)(uintptr_t)g);
	hop_status st = guarded_build(e, wide, f, o, x);
	if (!st)
		st = hop_exec_threads(e, x, o);
	if (st) {
		hop_exec_release(x);
		return st;
	}
	*out_x = x;
	return HOP_OK;
}

hop_status hop_exec_new(hop_env *e, const hop_graph *g, const hop_compile_opts *o,
                        hop_exec **out_x)
{
	return make(e, g, NULL, o, out_x);
}

hop_status hop_exec_of(hop_env *e, hop_fn *f, const hop_compile_opts *o, hop_exec **out_x)
{
	HOP_TRY(make(e, f->g, f, o, out_x));
	hop_exec *x = *out_x;
	hop_status st = x->once ? hop_once_refresh(x->once, true) : HOP_OK;
	if (!st)
		return HOP_OK;
	*out_x = NULL;
	hop_exec_release(x);
	if (hop_run_told(st))
		return hop_fail(e, 0, st, "compile: what captured arrays are made into cannot be computed: %s",
		                hop_message(e->ctx));
	return hop_fail(e, 0, st, "compile: no memory for what captured arrays are made into");
}
