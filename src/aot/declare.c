/* declare.c -- the part of a header that people read: for each function what it is, what it
 * takes, and how much memory it needs. */
#include "aot/aot.h"

#include <string.h>

const char *hop_aot_linkage(const hop_aot *a)
{
	return a->in_c ? "" : hop_aot_fmt(a->env, "%s_API ", a->macro);
}

/* ---- lists of parameters ---- */

enum { WIDTH = 96 };

/* Add text to a list, on a new line where the last one is full. */
static void put_item(hop_buf *o, size_t *line, bool first, const char *text)
{
	if (!first)
		hop_putc(o, ',');
	if (!first && o->n - *line + strlen(text) > WIDTH) {
		hop_put(o, "\n\t");
		*line = o->n;
	} else if (!first) {
		hop_putc(o, ' ');
	}
	hop_put(o, text);
}

void hop_aot_put_params(const hop_aot_fn *f, hop_buf *o, const char *head)
{
	const hop_graph *g = f->g;
	hop_env *e = o->env;
	size_t line = o->n;
	bool first = true;
	hop_putf(o, "%s(", head);
	for (uint32_t i = 0; i < g->nparam; i++, first = false)
		put_item(o, &line, first, hop_aot_fmt(e, "const %s *%s",
		         hop_aot_ctype((hop_dtype)g->type[i]->dtype), f->in[i]));
	for (uint32_t i = 0; i < g->nout; i++, first = false)
		put_item(o, &line, first, hop_aot_fmt(e, "%s *out%u",
		         hop_aot_ctype((hop_dtype)hop_graph_out_type(g, i)->dtype), i));
	for (uint32_t i = 0; i < g->nsym; i++, first = false)
		put_item(o, &line, first, hop_aot_fmt(e, "int64_t %s", f->sym[i]));
	put_item(o, &line, first, "void *workspace");
	put_item(o, &line, false, "const hop_aot_hooks *hooks)");
}

void hop_aot_put_sizes(const hop_aot_fn *f, hop_buf *o, bool types)
{
	hop_putc(o, '(');
	for (uint32_t i = 0; i < f->g->nsym; i++)
		hop_putf(o, "%s%s%s", i ? ", " : "", types ? "int64_t " : "", f->sym[i]);
	hop_put(o, types && !f->g->nsym ? "void)" : ")");
}

/* ---- the words above a function ---- */

static void put_type(const hop_aot_fn *f, hop_buf *o, const hop_type *t)
{
	hop_type_print(o, t, f->sym, (int)f->g->nsym);
}

static void put_range(hop_buf *o, hop_range r)
{
	if (r.hi == HOP_SIZE_MAX)
		hop_putf(o, "%lld or more", (long long)r.lo);
	else
		hop_putf(o, "%lld..%lld", (long long)r.lo, (long long)r.hi);
}

/* A name of a file may hold what ends a comment. */
static void put_file(hop_buf *o, const char *s)
{
	for (; *s; s++)
		hop_putc(o, (*s == '/' && o->s[o->n - 1] == '*') || (unsigned char)*s < 32 ? '_' : *s);
}

static void put_head(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	const hop_graph *g = f->g;
	const char *file;
	int line;
	hop_loc in;
	hop_putf(o, "/* @%s", f->from);
	if (g->nnode && hop_loc_read(a->env->ctx, g->node[0].loc, &file, &line, &in)) {
		hop_put(o, ", ");
		put_file(o, file);
		hop_putf(o, ":%d", line);
	}
	hop_putc(o, '\n');
	for (uint32_t i = 0; i < g->nparam; i++) {
		hop_putf(o, " *\t%-8s ", f->in[i]);
		put_type(f, o, g->type[i]);
		hop_putc(o, '\n');
	}
	for (uint32_t i = 0; i < g->nout; i++) {
		hop_putf(o, " *\tout%-5u ", i);
		put_type(f, o, hop_graph_out_type(g, i));
		hop_putc(o, '\n');
	}
	for (uint32_t i = 0; i < g->nsym; i++) {
		hop_putf(o, " *\t%-8s ", f->sym[i]);
		put_range(o, g->range[i]);
		hop_putc(o, '\n');
	}
}

static void put_needs(const hop_aot_fn *f, hop_buf *o)
{
	const hop_lfunc *m = &f->prog->func[0];
	if (hop_size_is(m->frame, 0))
		hop_put(o, " * No workspace: it may be NULL.");
	else if (hop_size_const(m->frame))
		hop_putf(o, " * Workspace: %s_WORKSPACE bytes, aligned to 64.", f->macro);
	else
		hop_putf(o, " * Workspace: %s_workspace bytes, aligned to 64.", f->name);
	if (f->prog->ntape)
		hop_put(o, "\n * Needs hooks->grow: a loop without max_trips leaves a trail.");
	for (int i = 0, said = 0; i < f->prog->neffect; i++)
		if (!(said & 1 << f->prog->effect[i].is_assert)) {
			said |= 1 << f->prog->effect[i].is_assert;
			hop_putf(o, "\n * %s", f->prog->effect[i].is_assert ? "Asserts." : "Prints.");
		}
	hop_put(o, " */\n");
}

static void put_counts(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	const hop_size frame = f->prog->func[0].frame;
	int64_t n;
	if (hop_size_const(frame))
		hop_putf(o, "#define %s_WORKSPACE %lld\n", f->macro, (long long)frame.k);
	for (uint32_t k = 0; k < f->g->nout; k++)
		if (hop_aot_count(hop_graph_out_type(f->g, k), &n))
			hop_putf(o, "#define %s_OUT%u_COUNT %lld\n", f->macro, k, (long long)n);
	for (uint32_t k = 0; k < f->g->nout; k++)
		if (!hop_aot_count(hop_graph_out_type(f->g, k), &n)) {
			hop_putf(o, "%sint64_t %s_out%u_count", hop_aot_linkage(a), f->name, k);
			hop_aot_put_sizes(f, o, true);
			hop_put(o, ";\n");
		}
}

void hop_aot_declare(hop_aot *a, const hop_aot_fn *f, hop_buf *o)
{
	hop_putc(o, '\n');
	put_head(a, f, o);
	put_needs(f, o);
	hop_aot_put_params(f, o, hop_aot_fmt(a->env, "%sint %s", hop_aot_linkage(a), f->name));
	hop_put(o, ";\n");
	hop_putf(o, "%sint64_t %s_workspace", hop_aot_linkage(a), f->name);
	hop_aot_put_sizes(f, o, true);
	hop_put(o, f->tests ? ";      /* -1: sizes that are refused */\n" : ";\n");
	if (f->tests) {
		hop_putf(o, "%sconst char *%s_why", hop_aot_linkage(a), f->name);
		hop_aot_put_sizes(f, o, true);
		hop_put(o, ";      /* why they are; NULL = they are not */\n");
	}
	put_counts(a, f, o);
}
