/* glue.c -- the functions that are called: they test sizes and pointers as rt/bind.c and rt/run.c
 * do, and call the code. Locals begin with hop_, as no size parameter does. */
#include "aot/aot.h"

#include "ir/build.h"

/* ---- sizes ---- */

static void put_range_test(const hop_aot_fn *f, hop_buf *o, uint32_t i)
{
	hop_range r = f->g->range[i];
	hop_putf(o, "\tif (%s < %lld || %s > INT64_C(%lld))\n\t\treturn ", f->sym[i], (long long)r.lo,
	         f->sym[i], (long long)r.hi);
	hop_aot_put_str(o, hop_aot_fmt(o->env, "%s is outside %lld..%lld", f->sym[i],
	                                (long long)r.lo, (long long)r.hi));
	hop_put(o, ";\n");
}

static void put_dims_test(const hop_aot_fn *f, hop_buf *o, uint32_t i)
{
	const hop_type *t = f->g->type[i];
	hop_buf text;
	int64_t n;
	if (hop_aot_count(t, &n) && n <= HOP_SIZE_MAX)
		return;
	hop_put(o, "\t(void)");
	hop_aot_put_count(o, t, f->sym, 1, "INT64_C(1) << 48");
	hop_buf_open(&text, o->env);
	hop_putf(&text, "%s, ", f->in[i]);
	hop_type_print(&text, t, f->sym, (int)f->g->nsym);
	hop_put(&text, ", would have a negative size or more than 2^48 elements");
	hop_put(o, ";\n\tif (hop_bad)\n\t\treturn ");
	hop_aot_put_str(o, text.s);
	hop_put(o, ";\n");
	hop_buf_free(&text);
}

/* The words of a check over the names of the sizes. */
static void put_check_words(const hop_aot_fn *f, hop_buf *o, const hop_check *c)
{
	hop_buf a, b, text;
	hop_buf_open(&a, o->env);
	hop_buf_open(&b, o->env);
	hop_buf_open(&text, o->env);
	hop_size_print(&a, c->a, f->sym, (int)f->g->nsym);
	hop_size_print(&b, c->b, f->sym, (int)f->g->nsym);
	hop_aot_put_loc(&text, o->env, c->loc);
	hop_check_put(&text, c, (const char *const[]){ a.s, b.s });
	hop_aot_put_str(o, text.s);
	hop_buf_free(&text);
	hop_buf_free(&b);
	hop_buf_free(&a);
}

static void put_check_test(const hop_aot_fn *f, hop_buf *o, const hop_check *c)
{
	hop_put(o, "\thop_a = ");
	hop_aot_put_size(o, c->a, f->sym);
	hop_put(o, ";\n\thop_b = ");
	hop_aot_put_size(o, c->b, f->sym);
	hop_putf(o, ";\n\tif (hop_bad || !(hop_a %s hop_b))\n\t\treturn ", c->rel == HOP_EQ ? "==" : "<=");
	put_check_words(f, o, c);
	hop_put(o, ";\n");
}

static void put_why(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	const hop_graph *g = f->g;
	hop_putf(o, "\n%sconst char *%s_why", hop_aot_linkage(a), f->name);
	hop_aot_put_sizes(f, o, true);
	hop_put(o, "\n{\n");
	if (f->prog->nentry)
		hop_put(o, "\tint64_t hop_a, hop_b;\n");
	hop_put(o, "\tint hop_bad = 0;\n\t(void)hop_bad;\n");
	for (uint32_t i = 0; i < g->nsym; i++)
		put_range_test(f, o, i);
	for (uint32_t i = 0; g->nsym && i < g->nparam; i++)
		put_dims_test(f, o, i);
	for (int i = 0; i < f->prog->nentry; i++)
		put_check_test(f, o, &f->prog->entry[i]);
	hop_put(o, "\treturn NULL;\n}\n");
}

/* Bytes of the frame; that results can be addressed is tested with it, as there. */
static void put_workspace(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	const hop_graph *g = f->g;
	hop_size frame = f->prog->func[0].frame;
	hop_putf(o, "\n%sint64_t %s_workspace", hop_aot_linkage(a), f->name);
	hop_aot_put_sizes(f, o, true);
	hop_put(o, "\n{\n");
	if (!f->tests && hop_size_const(frame)) {
		hop_putf(o, "\treturn %s_WORKSPACE;\n}\n", f->macro);
		return;
	}
	hop_putf(o, "\tint64_t hop_n;\n\tint hop_bad = 0;\n\tif (%s_why", f->name);
	hop_aot_put_sizes(f, o, false);
	hop_put(o, ")\n\t\treturn -1;\n");
	for (uint32_t k = 0; g->nsym && k < g->nout; k++) {
		const hop_type *t = hop_graph_out_type(g, k);
		int64_t n;
		if (hop_aot_count(t, &n) && n <= HOP_SIZE_MAX)
			continue;
		hop_put(o, "\t(void)");
		hop_aot_put_count(o, t, f->sym, (int64_t)hop_dtype_bytes((hop_dtype)t->dtype),
		                  "INT64_MAX - 64");
		hop_put(o, ";\n");
	}
	hop_put(o, "\thop_n = ");
	hop_aot_put_size(o, frame, f->sym);
	hop_put(o, ";\n\treturn hop_bad || hop_n < 0 ? -1 : hop_n;\n}\n");
}

static void put_out_counts(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	int64_t n;
	for (uint32_t k = 0; k < f->g->nout; k++) {
		const hop_type *t = hop_graph_out_type(f->g, k);
		if (hop_aot_count(t, &n))
			continue;
		hop_putf(o, "\n%sint64_t %s_out%u_count", hop_aot_linkage(a), f->name, k);
		hop_aot_put_sizes(f, o, true);
		hop_putf(o, "\n{\n\tint64_t hop_n;\n\tint hop_bad = 0;\n\tif (%s_why", f->name);
		hop_aot_put_sizes(f, o, false);
		hop_put(o, ")\n\t\treturn -1;\n\thop_n = ");
		hop_aot_put_count(o, t, f->sym, 1, "INT64_MAX");
		hop_put(o, ";\n\treturn hop_bad ? -1 : hop_n;\n}\n");
	}
}

/* ---- the call ---- */

/* A pointer may be missing where there are no elements. */
static void put_pointer_test(const hop_aot_fn *f, hop_buf *o, const hop_type *t, const char *name)
{
	int64_t n;
	if (hop_aot_count(t, &n) && !n)
		return;
	hop_putf(o, "\tif (!%s", name);
	if (!hop_aot_count(t, &n)) {
		hop_put(o, " && ");
		hop_aot_put_count(o, t, f->sym, 1, "INT64_MAX");
	}
	hop_put(o, ")\n\t\treturn HOP_AOT_EUSE;\n");
}

static void put_tests(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	const hop_graph *g = f->g;
	if (f->tests) {
		hop_putf(o, "\tif (%s_why", f->name);
		hop_aot_put_sizes(f, o, false);
		hop_put(o, ")\n\t\treturn HOP_AOT_ESHAPE;\n");
	}
	hop_putf(o, "\thop_n = %s_workspace", f->name);
	hop_aot_put_sizes(f, o, false);
	hop_put(o, ";\n\tif (hop_n < 0)\n\t\treturn HOP_AOT_ENOMEM;\n"
	        "\tif (hop_n && (!workspace || (uintptr_t)workspace % 64))\n"
	        "\t\treturn HOP_AOT_EUSE;\n");
	for (uint32_t i = 0; i < g->nparam; i++)
		put_pointer_test(f, o, g->type[i], f->in[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		put_pointer_test(f, o, hop_graph_out_type(g, i), hop_aot_fmt(a->env, "out%u", i));
}

static void put_call(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	const hop_graph *g = f->g;
	const hop_prog *p = f->prog;
	hop_putc(o, '\n');
	hop_aot_put_params(f, o, hop_aot_fmt(a->env, "%sint %s", hop_aot_linkage(a), f->name));
	hop_put(o, "\n{\n");
	if (g->nparam + g->nout)
		hop_putf(o, "\tvoid *hop_params[%u];\n", g->nparam + g->nout);
	if (g->nsym)
		hop_putf(o, "\tint64_t hop_syms[%u];\n", g->nsym);
	if (p->ntape)
		hop_putf(o, "\tstruct hop_tape hop_tapes[%d];\n", p->ntape);
	hop_put(o, "\thop_aot_call hop_call;\n\tint64_t hop_n;\n\tint hop_bad = 0;\n\t(void)hop_bad;\n");
	put_tests(a, f, o);
	for (uint32_t i = 0; i < g->nparam; i++)
		hop_putf(o, "\thop_params[%u] = (void *)(uintptr_t)%s;\n", i, f->in[i]);
	for (uint32_t i = 0; i < g->nout; i++)
		hop_putf(o, "\thop_params[%u] = out%u;\n", g->nparam + i, i);
	for (uint32_t i = 0; i < g->nsym; i++)
		hop_putf(o, "\thop_syms[%u] = %s;\n", i, f->sym[i]);
	hop_put(o, "\thop_aot_open(&hop_call);\n");
	if (p->ntape)
		hop_put(o, "\thop_call.rt.tape = hop_tapes;\n");
	if (p->neffect)
		hop_putf(o, "\thop_call.rt.effect = %s_effect;\n", f->name);
	if (p->ncheck)
		hop_putf(o, "\thop_call.rt.check = %s_check;\n", f->name);
	hop_putf(o, "\treturn hop_aot_run(&hop_call, %s_raw, %s, %s, workspace, %d, "
	         "hooks);\n}\n", f->name, g->nparam + g->nout ? "hop_params" : "NULL",
	         g->nsym ? "hop_syms" : "NULL", p->ntape);
}

void hop_aot_glue(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	if (f->tests)
		put_why(a, f, o);
	put_workspace(a, f, o);
	put_out_counts(a, f, o);
	hop_aot_effects(a, f, o);
	put_call(a, f, o);
}
