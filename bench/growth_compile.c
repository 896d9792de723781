/* growth_compile.c -- hop_compile, stage by stage. For a device as far as its text: what NVRTC makes of
 * that takes NVRTC's time. */
#include <stdio.h>

#include "driver/pipeline.h"
#include "loop/lower.h"
#include "target/cuda/cuda.h"
#include "growth.h"

static hop_status code_of(hop_env *e, const hop_target *t, const hop_prog *p, const hop_machine *m,
                          const hop_target_opts *o)
{
	hop_code *code;
	hop_buf text;
	if (!m->blocks)
		return hop_code_new(e, t, p, m, o, &code);
	hop_buf_open(&text, e);
	return hop_cuda_emit_text(e, p, "growth", &text);
}

static hop_status stages(hop_env *e, const hop_graph *g, bool device, struct growth_cost *out)
{
	hop_prog *p;
	hop_target_opts o = { .no_cache = true, .no_threads = true };
	const hop_target *t;
	hop_machine m;
	HOP_TRY(hop_target_pick(e, device ? "cuda" : NULL, &t));
	HOP_TRY(t->machine(e, &o, &m));
	HOP_TRY(hop_pipeline_run(e, g, m.blocks > 0, &g));
	growth_end(out, PASSES);
	HOP_TRY(hop_lower_graph(e, g, &(hop_lower_opts){ .machine = &m }, &p));
	growth_end(out, LOWERING);
	HOP_TRY(code_of(e, t, p, &m, &o));
	growth_end(out, CODE);
	return HOP_OK;
}

hop_status growth_compile(hop_ctx *c, const hop_graph *g, bool device, struct growth_cost *out)
{
	hop_env e;
	hop_frame f;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &f))
		return HOP_ENOMEM;
	hop_status st = stages(&e, g, device, out);
	hop_guard_end(&e, &f);
	if (st)
		fprintf(stderr, "%s\n", e.diag.text ? e.diag.text : "");
	hop_env_fini(&e);
	return st;
}
