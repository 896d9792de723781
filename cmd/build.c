/* build.c -- hop build: graphs ahead of time, as an object or as C, and a header; or for a device. Only
 * reads the options; src/aot and devices.c do the work. */
#include "cmd.h"

#include "aot/aot.h"
#include "text/lex.h"

#include <string.h>

/* What is asked for: @name or @name:pass,pass, which gives name_pass_pass in C. */
typedef struct want {
	const char **entry;
	int          nentry;
	const char  *passes;           /* for all of them */
	const char  *out;
	const char  *emit;
	bool         cuda, cubin;      /* for a device: a text, or its code */
	hop_aot_opts o;
} want;

/* ---- which graphs ---- */

static bool mentions(const hop_graph *in, const hop_graph *g)
{
	for (uint32_t i = 0; i < in->nnode; i++) {
		hop_graphs subs = hop_node_subs(&in->node[i]);
		for (int64_t k = 0; k < subs.n; k++)
			if (subs.v[k] && (subs.v[k] == g || mentions(subs.v[k], g)))
				return true;
	}
	return false;
}

/* Graphs that no other graph of the text calls. */
static bool is_entry(const hop_module *m, const hop_graph *g)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->entry[i].g != g && mentions(m->entry[i].g, g))
			return false;
	return true;
}

static void take_all(cmd *c, want *w)
{
	w->entry = HOP_NEWN(&c->env->tmp, const char *, c->m->n);
	for (uint32_t i = 0; i < c->m->n; i++)
		if (is_entry(c->m, c->m->entry[i].g))
			w->entry[w->nentry++] = c->m->entry[i].name;
}

/* The text's own words for the inputs of a graph: they are not part of it, so they are read again,
 * `graph @name<sizes>(%word: type, ...)`. */
static void input_words(cmd *c, const char *name, const hop_graph *g, hop_aot_want *out)
{
	const char **in = HOP_NEWN(&c->env->tmp, const char *, g->nparam);
	hop_lex l;
	int depth = 0;
	out->in = in;
	for (hop_lex_init(&l, c->text.s, c->text.n); l.tok.kind != HOP_T_END; hop_lex_next(&l))
		if (l.tok.kind == HOP_T_IDENT && l.tok.n == 5 && !memcmp(l.tok.s, "graph", 5)) {
			hop_lex_next(&l);
			if (l.tok.kind == HOP_T_GRAPH && l.tok.n == strlen(name) &&
			    !memcmp(l.tok.s, name, l.tok.n))
				break;
		}
	while (l.tok.kind != HOP_T_END && !(l.tok.kind == HOP_T_CHAR && l.tok.c == '('))
		hop_lex_next(&l);
	for (; l.tok.kind != HOP_T_END && out->nin < g->nparam; hop_lex_next(&l)) {
		if (l.tok.kind == HOP_T_CHAR)
			depth += l.tok.c == '(' || l.tok.c == '[' ? 1 : l.tok.c == ')' || l.tok.c == ']' ? -1 : 0;
		if (l.tok.kind == HOP_T_VALUE && depth == 1)
			in[out->nin++] = hop_arena_str(&c->env->tmp, l.tok.s, l.tok.n);
	}
}

/* A name in C from `name:pass,pass(key=1)`: name_pass_pass_key_1. */
static const char *entry_name(cmd *c, const char *s)
{
	char *w = hop_arena_str(&c->env->tmp, s, strlen(s)), *to = w;
	bool passes = false, gap = false;
	for (const char *p = w; *p; p++) {
		passes |= *p == ':';
		if (passes && strchr(":,()[]= \t", *p)) {
			gap = true;
			continue;
		}
		if (gap)
			*to++ = '_';
		gap = false;
		*to++ = *p;
	}
	*to = 0;
	return w;
}

static hop_status resolve(cmd *c, const want *w, const char *s, hop_aot_want *out)
{
	const char *passes = strchr(s, ':');
	hop_graph *g;
	c->graph = hop_arena_str(&c->env->tmp, s, passes ? (size_t)(passes - s) : strlen(s));
	HOP_TRY(cmd_pick(c, &g));
	*out = (hop_aot_want){ .name = entry_name(c, s), .g = g };
	input_words(c, c->graph, g, out);
	if (passes)
		HOP_TRY(cmd_passes(c, passes + 1, &out->g));
	return w->passes ? cmd_passes(c, w->passes, &out->g) : HOP_OK;
}

/* ---- the output ---- */

/* For a device there is no header, and nothing to choose. */
static hop_status read_device(cmd *c, want *w, const char **out_path)
{
	const char *end = w->cubin ? ".cubin" : ".cu";
	size_t n = strlen(w->out), k = strlen(end);
	if ((w->o.target && strcmp(w->o.target, "cuda")) || w->o.triple || w->o.threads)
		return hop_fail(c->env, 0, HOP_EUSE, "build: --emit=%s is of the target cuda, and has no %s",
		                w->emit, w->o.triple ? "--triple" : w->o.threads ? "--threads" : "other");
	*out_path = hop_arena_str(&c->env->tmp, w->out, n > k && !strcmp(w->out + n - k, end) ? n - k : n);
	return HOP_OK;
}

/* PATH, PATH.o or PATH.c: the ending says what is written, unless --emit does. */
static hop_status read_output(cmd *c, want *w, const char **out_path)
{
	HOP_TRY(cmd_need(c, "-o", w->out));
	size_t n = strlen(w->out);
	char end = n > 2 && w->out[n - 2] == '.' ? w->out[n - 1] : 0;
	if (end == 'c' || end == 'o')
		n -= 2;
	if (!w->emit)
		w->emit = end == 'c' ? "c" : "obj";
	w->o.emit_c = !strcmp(w->emit, "c");
	w->cubin = !strcmp(w->emit, "cubin");
	w->cuda = w->cubin || !strcmp(w->emit, "cuda");
	if (w->cuda)
		return read_device(c, w, out_path);
	if (!w->o.emit_c && strcmp(w->emit, "obj"))
		return hop_fail(c->env, 0, HOP_EUSE, "build: --emit=%s: c, obj, cuda or cubin is needed",
		                w->emit);
	if (end == (w->o.emit_c ? 'o' : 'c'))
		return hop_fail(c->env, 0, HOP_EUSE, "build: -o %s beside --emit=%s", w->out, w->emit);
	*out_path = hop_arena_str(&c->env->tmp, w->out, n);
	return HOP_OK;
}

static hop_status options(cmd *c, want *w)
{
	const char *s;
	w->entry = HOP_NEWN(&c->env->tmp, const char *, c->argc + 1);
	while (cmd_more(c)) {
		if (cmd_flag(c, "--threads")) {
			w->o.threads = true;
		} else if (cmd_value(c, "-o", &w->out)) {
			HOP_TRY(cmd_need(c, "-o", w->out));
		} else if (cmd_value(c, "-p", &w->passes)) {
			HOP_TRY(cmd_need(c, "-p", w->passes));
		} else if (cmd_value(c, "--emit", &w->emit)) {
			HOP_TRY(cmd_need(c, "--emit", w->emit));
		} else if (cmd_value(c, "--target", &w->o.target)) {
			HOP_TRY(cmd_need(c, "--target", w->o.target));
		} else if (cmd_value(c, "--triple", &w->o.triple)) {
			HOP_TRY(cmd_need(c, "--triple", w->o.triple));
		} else if (cmd_value(c, "--entry", &s)) {
			HOP_TRY(cmd_need(c, "--entry", s));
			w->entry[w->nentry++] = *s == '@' ? s + 1 : s;
		} else {
			HOP_TRY(cmd_other(c));
		}
	}
	if (c->graph)                              /* what all commands have: one entry */
		w->entry[w->nentry++] = c->graph;
	return HOP_OK;
}

static hop_status write_device(cmd *c, const want *w, const hop_aot_want *want, const char *path)
{
	const char **name = HOP_NEWN(&c->env->tmp, const char *, w->nentry);
	const hop_graph **g = HOP_NEWN(&c->env->tmp, const hop_graph *, w->nentry);
	for (int i = 0; i < w->nentry; i++) {
		name[i] = want[i].name;
		g[i] = want[i].g;
	}
	return cmd_write_cuda(c, w->nentry, name, g, w->cubin, path);
}

hop_status cmd_build(cmd *c)
{
	want w = { .o.size = sizeof w.o };
	const char *path = NULL;
	HOP_TRY(options(c, &w));
	HOP_TRY(read_output(c, &w, &path));
	HOP_TRY(cmd_load(c));
	if (!w.nentry)
		take_all(c, &w);
	if (!w.nentry)
		return hop_fail(c->env, 0, HOP_EVALUE, "build: the text has no graph");
	hop_aot_want *want = HOP_NEWN(&c->env->tmp, hop_aot_want, w.nentry);
	for (int i = 0; i < w.nentry; i++)
		HOP_TRY(resolve(c, &w, w.entry[i], &want[i]));
	return w.cuda ? write_device(c, &w, want, path)
	              : hop_aot_files(c->env, w.nentry, want, path, &w.o);
}
