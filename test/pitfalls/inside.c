/* inside.c -- captures a body, sends it as far as asked, and gives the text of what it is then. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#include "data/fn.h"
#include "driver/pipeline.h"
#include "loop/lower.h"
#include "text/text.h"

hop_fn *captured_at(const char *file, int line, hop_body *f, void *user, int nin, const tensor *in)
{
	hop_spec spec[MAXLIST];
	hop_fn *fn;
	for (int i = 0; i < nin; i++)
		spec[i] = spec_of(&in[i]);
	if (hop_capture(ctx, f, user, nin, spec, &fn))
		fail_at(file, line, "capture: %s", hop_message(ctx));
	return fn;
}

/* Into out, which is open. */
static hop_status told(hop_env *e, enum stage s, const hop_graph *g, hop_buf *out)
{
	const hop_graph *opt = g;
	if (s > TRAINED)
		HOP_TRY(hop_pipeline_run(e, g, false, &opt));
	if (s >= LOWERED) {
		hop_prog *p = NULL;
		hop_buf list;
		hop_buf_open(&list, e);
		HOP_TRY(hop_lower_graph(e, opt, &(hop_lower_opts){ .copies = &list }, &p));
		if (s == COPIES)
			hop_put(out, list.n ? list.s : "");
		else
			hop_prog_print(out, p);
		hop_buf_free(&list);
		hop_prog_free(p, &e->mem);
		return HOP_OK;
	}
	hop_named one = { "main", (hop_graph *)(uintptr_t)opt };
	hop_entries_print(out, 1, &one, 0);
	return HOP_OK;
}

char *inside_at(const char *file, int line, enum stage s, hop_body *f, void *user, int nin,
                const tensor *in)
{
	static const int wrt[1] = { 0 };
	hop_fn *fn = captured_at(file, line, f, user, nin, in), *g = NULL;
	hop_env e;
	hop_frame frame;
	hop_buf out;
	if ((s == TRAINED || s == TRAINED_OPTIMISED || s == TRAINED_LOWERED) &&
	    hop_grad(fn, 1, wrt, &g))
		fail_at(file, line, "grad: %s", hop_message(ctx));
	hop_env_init(&e, ctx, (hop_mem){ 0 });
	if (HOP_GUARD(&e, &frame))
		fail_at(file, line, "no memory");
	hop_buf_open(&out, &e);
	if (told(&e, s, g ? g->g : fn->g, &out))
		fail_at(file, line, "%s", e.diag.text);
	char *text = strdup(out.n ? out.s : "");
	hop_buf_free(&out);
	hop_guard_end(&e, &frame);
	hop_env_fini(&e);
	hop_fn_release(fn);
	hop_fn_release(g);
	if (!text)
		fail_at(file, line, "no memory");
	return text;
}

int times_at(const char *file, int line, const char *word, enum stage s, hop_body *f, void *user,
             int nin, const tensor *in)
{
	char *text = inside_at(file, line, s, f, user, nin, in);
	int n = 0;
	for (const char *p = text; (p = strstr(p, word)); p++)
		n++;
	free(text);
	return n;
}
