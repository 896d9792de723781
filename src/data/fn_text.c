/* fn_text.c -- functions from text, and what a function takes and gives. The other way, to text,
 * is in fn.c. */
#include "data/fn.h"
#include "text/text.h"

static hop_status parse(hop_env *e, hop_ctx *c, const char *text, size_t n, const char *name,
                        hop_fn **out_f)
{
	hop_module *m;
	HOP_TRY(hop_module_parse(e, text, n, "text", &m));
	hop_graph *g = hop_module_find(m, name);
	hop_status st = HOP_OK;
	if (!g)
		st = hop_fail(e, 0, HOP_EVALUE, name ? "fn_parse: there is no graph @%s"
		                                     : "fn_parse: there is no graph in the text", name);
	for (uint32_t i = 0; g && !st && i < g->nout; i++)
		for (int k = 0; k < hop_graph_out_type(g, i)->rank; k++)
			if ((uint32_t)hop_size_nsym(hop_graph_out_type(g, i)->dim[k]) > g->nsym)
				st = hop_fail(e, 0, HOP_EREFUSED, "fn_parse: result %u has a size that only the "
				              "graph knows: return the capacity and a count", i);
	if (!st)
		st = hop_fn_new(c, g, (int)g->nparam, (int)g->nout, 0, NULL, 0, NULL, out_f);
	hop_module_free(m, &e->mem);
	return st;
}

hop_status hop_fn_parse(hop_ctx *c, const char *text, size_t n, const char *name, hop_fn **out_f)
{
	hop_env e;
	hop_frame f;
	hop_status st;
	if (out_f)
		*out_f = NULL;
	if (!c || !out_f || (n && !text))
		return HOP_EUSE;
	hop_env_init(&e, c, hop_ctx_mem(c));
	if (HOP_GUARD(&e, &f)) {
		st = hop_guard_nomem(&e, &f);
	} else {
		st = parse(&e, c, text ? text : "", n, name, out_f);
		hop_guard_end(&e, &f);
	}
	if (st)
		hop_ctx_set_message(c, &e.diag);
	hop_env_fini(&e);
	return st;
}

static bool describe(const hop_graph *g, const hop_type *t, hop_spec *out)
{
	*out = (hop_spec){ .dtype = (hop_dtype)t->dtype, .rank = t->rank };
	for (int i = 0; i < t->rank; i++) {
		int s = hop_size_bare(t->dim[i]);
		out->dim[i] = hop_size_const(t->dim[i]) ? t->dim[i].k : -1;
		if (s < 0 || (uint32_t)s >= g->nsym)
			continue;
		out->dim[i] = g->range[s].lo;
		out->max[i] = g->range[s].hi == HOP_SIZE_MAX ? 0 : g->range[s].hi;
		out->sym[i] = g->symname[s] ? g->symname[s] : "";
	}
	return true;
}

bool hop_fn_in_type(const hop_fn *f, int i, hop_spec *out)
{
	return f && out && i >= 0 && i < f->nin && describe(f->g, f->g->type[i], out);
}

bool hop_fn_out_type(const hop_fn *f, int i, hop_spec *out)
{
	return f && out && i >= 0 && i < f->nout &&
	       describe(f->g, hop_graph_out_type(f->g, (uint32_t)i), out);
}
