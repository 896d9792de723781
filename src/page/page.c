/* page.c -- the page: a frame, our style and script, and the graphs as JSON that the script
 * unfolds. A graph is written once, whoever holds it and in whatever stage, so that the page grows
 * with the program and not with what it unfolds to. Does not draw: page.js does. */
#include "page/page.h"

#include <string.h>
#include <sys/stat.h>

#include "driver/pipeline.h"
#include "io/file.h"
#include "io/utf8.h"
#include "ir/rule.h"
#include "text/text.h"

static const char style[] = {
#include "page/page.css.inc"
};
static const char script[] = {
#include "page/model.js.inc"
#include "page/page.js.inc"
#include "page/use.js.inc"
};

enum { ELEMENTS = 16, LINE = 240, SOURCE_MAX = 1 << 24 };

typedef struct file {
	const char *name;
	size_t      index;
	hop_map     lines;             /* line -> once it is listed */
	int        *line;
	size_t      nline, cap;
} file;

typedef struct writer {
	hop_buf   *b;
	hop_env   *e;
	hop_ctx   *c;
	hop_map    words, graphs, locs, files;      /* -> 1 + index; files: struct file */
	hop_buf    word, loc;          /* what is in those tables, as JSON */
	size_t     nword, ngraph, nloc, nfile, cap;
	file     **file;
} writer;

/* ---- JSON ---- */

/* How many bytes the character at s has; 0 = it is none. */
static size_t character(const unsigned char *s, size_t n)
{
	size_t k = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	return k <= n && hop_utf8_ok((const char *)s, k) ? k : 0;
}

/* In a script element: a < could end it. */
static void put_json(hop_buf *b, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	hop_putc(b, '"');
	while (n) {
		size_t k = character(s, n);
		if (!k)
			hop_put(b, "\\ufffd");
		else if (*s == '"' || *s == '\\')
			hop_putf(b, "\\%c", *s);
		else if (*s < 32 || *s == '<' || *s == 127)
			hop_putf(b, "\\u%04x", *s);
		else
			hop_putn(b, (const char *)s, k);
		k += !k;
		s += k;
		n -= k;
	}
	hop_putc(b, '"');
}

static void put_html(hop_buf *b, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	for (size_t n = strlen(text); n;) {
		size_t k = character(s, n);
		if (!k || *s < 32 || *s == 127)
			hop_put(b, "&#xfffd;");
		else if (strchr("<>&\"'", *s))
			hop_putf(b, "&#%d;", *s);
		else
			hop_putn(b, (const char *)s, k);
		k += !k;
		s += k;
		n -= k;
	}
}

/* ---- tables: what is there many times is written once ---- */

static size_t index_of(const hop_map *m, const void *key, size_t n)
{
	return (size_t)(uintptr_t)hop_map_get(m, key, n);
}

static void put_index(hop_map *m, const void *key, size_t n, size_t index)
{
	hop_map_put(m, key, n, (void *)(uintptr_t)index);
}

/* Its index, from 0. */
static size_t word(writer *w, const char *s, size_t n)
{
	size_t at = index_of(&w->words, s, n);
	if (!at) {
		at = ++w->nword;
		put_index(&w->words, s, n, at);
		hop_put(&w->word, at > 1 ? ",\n" : "");
		put_json(&w->word, s, n);
	}
	return at - 1;
}

static size_t word_of(writer *w, hop_buf *b)
{
	size_t at = word(w, b->n ? b->s : "", b->n);
	b->n = 0;
	return at;
}

static file *file_of(writer *w, const char *name)
{
	file *f = hop_map_get(&w->files, name, strlen(name));
	if (f)
		return f;
	f = HOP_NEW(&w->e->tmp, file);
	*f = (file){ .name = name, .index = w->nfile, .lines.a = &w->e->tmp };
	hop_map_put(&w->files, name, strlen(name), f);
	w->file = hop_arena_grow(&w->e->tmp, w->file, sizeof *w->file, w->nfile + 1, &w->cap);
	w->file[w->nfile++] = f;
	return f;
}

/* Its index, from 1; 0 = it is not known. The place around it comes before it. */
static size_t location(writer *w, hop_loc at)
{
	const char *name;
	int line;
	hop_loc in;
	size_t i = index_of(&w->locs, &at, sizeof at);
	if (i || !hop_loc_read(w->c, at, &name, &line, &in))
		return i;
	size_t around = in ? location(w, in) : 0;
	file *f = file_of(w, name);
	if (!hop_map_get(&f->lines, &line, sizeof line)) {
		put_index(&f->lines, &line, sizeof line, 1);
		f->line = hop_arena_grow(&w->e->tmp, f->line, sizeof *f->line, f->nline + 1, &f->cap);
		f->line[f->nline++] = line;
	}
	i = ++w->nloc;
	put_index(&w->locs, &at, sizeof at, i);
	hop_putf(&w->loc, "%s[%zu,%d,%zu]", i > 1 ? "," : "", f->index, line, around);
	return i;
}

/* ---- graphs ---- */

static size_t graph(writer *w, const hop_graph *g);

static void put_vals(hop_buf *b, uint32_t n, const hop_val *v)
{
	hop_putc(b, '[');
	for (uint32_t i = 0; i < n; i++)
		hop_putf(b, "%s%u", i ? "," : "", v[i].id);
	hop_putc(b, ']');
}

/* What is needed while one graph is written; its text waits until its bodies are there. */
typedef struct body {
	const hop_graph   *g;
	const char *const *sym;
	int                nsym;
	hop_buf            out, t;
} body;

static void put_types(writer *w, body *x, uint32_t first, uint32_t n)
{
	hop_putc(&x->out, '[');
	for (uint32_t i = 0; i < n; i++) {
		hop_type_print(&x->t, x->g->type[first + i], x->sym, x->nsym);
		hop_putf(&x->out, "%s%zu", i ? "," : "", word_of(w, &x->t));
	}
	hop_putc(&x->out, ']');
}

/* [op, operands, types of results, attributes, location, bodies] */
static void put_node(writer *w, body *x, const hop_node *n)
{
	const char *op = hop_optab[n->op].name;
	hop_graphs sub = hop_node_subs(n);
	bool any = false;
	hop_putf(&x->out, "[%zu,", word(w, op, strlen(op)));
	put_vals(&x->out, n->nin, n->in);
	hop_putc(&x->out, ',');
	put_types(w, x, n->out0.id, n->nout);
	hop_attrs_print(&x->t, x->g, x->sym, n, ELEMENTS);
	hop_putf(&x->out, ",%zu,%zu", word_of(w, &x->t), location(w, n->loc));
	for (int64_t i = 0; i < sub.n; i++) {
		if (!sub.v[i])
			continue;
		const char *f = hop_node_subfield(n, (int)i)->name;
		size_t len = strlen(f), as = word(w, f, len && f[len - 1] == '_' ? len - 1 : len);
		hop_putf(&x->out, "%s[%zu,%zu]", any ? "," : ",[", as, graph(w, sub.v[i]));
		any = true;
	}
	hop_put(&x->out, any ? "]]" : "]");
}

static void put_graph(writer *w, body *x)
{
	const hop_graph *g = x->g;
	hop_buf *b = &x->out;
	hop_put(b, "{");
	if (g->name) {
		hop_put(b, "\"name\":");
		put_json(b, g->name, strlen(g->name));
		hop_putc(b, ',');
	}
	for (uint32_t i = 0; i < g->nsym; i++) {
		hop_put(&x->t, i ? ", " : "");
		hop_symbol_print(&x->t, g, x->sym, i);
	}
	hop_putf(b, "\"sym\":%zu,\"in\":", word_of(w, &x->t));
	put_types(w, x, 0, g->nparam);
	hop_put(b, ",\"out\":");
	put_vals(b, g->nout, g->out);
	hop_put(b, ",\"check\":[");
	for (uint32_t i = 0; i < g->ncheck; i++) {
		hop_size_print(&x->t, g->check[i].a, x->sym, x->nsym);
		hop_put(&x->t, g->check[i].rel == HOP_EQ ? " == " : " <= ");
		hop_size_print(&x->t, g->check[i].b, x->sym, x->nsym);
		hop_putf(b, "%s[%zu,%zu]", i ? "," : "", word_of(w, &x->t), location(w, g->check[i].loc));
	}
	hop_put(b, "],\"node\":[");
	for (uint32_t i = 0; i < g->nnode; i++) {
		hop_put(b, i ? ",\n" : "\n");
		put_node(w, x, &g->node[i]);
	}
	hop_put(b, "]}");
}

/* Its index; bodies come before those that hold them. */
static size_t graph(writer *w, const hop_graph *g)
{
	size_t at = index_of(&w->graphs, &g, sizeof g);
	if (at)
		return at - 1;
	body x = { .g = g, .nsym = (int)(g->nsym + g->nlocal) };
	x.sym = hop_graph_symbols(w->e, g);
	hop_buf_open(&x.out, w->e);
	hop_buf_open(&x.t, w->e);
	put_graph(w, &x);
	at = ++w->ngraph;
	put_index(&w->graphs, &g, sizeof g, at);
	hop_put(w->b, at > 1 ? ",\n" : "");
	hop_putn(w->b, x.out.s, x.out.n);
	hop_buf_free(&x.t);
	hop_buf_free(&x.out);
	return at - 1;
}

/* ---- the user's lines ---- */

/* The lines of f that are wanted, as "12":"text". */
static void put_lines(hop_buf *b, file *f, const char *s, size_t n)
{
	const char *end = s + n;
	bool any = false;
	for (int line = 1; s < end; line++) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((stop ? stop : end) - s);
		if (hop_map_get(&f->lines, &line, sizeof line)) {
			hop_putf(b, "%s\"%d\":", any ? "," : "", line);
			put_json(b, s, len < LINE ? len : LINE);
			any = true;
		}
		s += len + 1;
	}
}

/* Only what is a file like others: nobody waits for a pipe. */
static bool is_plain(const char *name)
{
	struct stat st;
	return !stat(name, &st) && S_ISREG(st.st_mode);
}

static void put_file(writer *w, const hop_page *p, file *f)
{
	hop_put(w->b, "{\"name\":");
	put_json(w->b, f->name, strlen(f->name));
	hop_put(w->b, ",\"line\":{");
	if (p->file && !strcmp(p->file, f->name)) {
		put_lines(w->b, f, p->text, p->ntext);
	} else if (is_plain(f->name)) {
		hop_buf text;
		hop_buf_open(&text, w->e);
		if (hop_file_read(w->e, f->name, SOURCE_MAX, &text))
			hop_diag_clear(w->e);
		else if (text.n)
			put_lines(w->b, f, text.s, text.n);
		hop_buf_free(&text);
	}
	hop_put(w->b, "}}");
}

/* ---- the page ---- */

static void put_data(writer *w, const hop_page *p)
{
	hop_buf *b = w->b;
	hop_put(b, "{\"title\":");
	put_json(b, p->title, strlen(p->title));
	hop_put(b, ",\"name\":");
	put_json(b, p->name, strlen(p->name));
	hop_put(b, ",\n\"graph\":[");
	for (int i = 0; i < p->nstage; i++)
		graph(w, p->stage[i].g);
	hop_put(b, "],\n\"stage\":[");
	for (int i = 0; i < p->nstage; i++) {
		const hop_stage *s = &p->stage[i];
		hop_putf(b, "%s{\"g\":%zu,\"name\":", i ? ",\n" : "", graph(w, s->g));
		put_json(b, s->name, strlen(s->name));
		hop_put(b, ",\"help\":");
		put_json(b, s->help, strlen(s->help));
		hop_putc(b, '}');
	}
	hop_put(b, "],\n\"word\":[");
	hop_putn(b, w->word.n ? w->word.s : "", w->word.n);
	hop_put(b, "],\n\"loc\":[");
	hop_putn(b, w->loc.n ? w->loc.s : "", w->loc.n);
	hop_put(b, "],\n\"file\":[");
	for (size_t i = 0; i < w->nfile; i++) {
		hop_put(b, i ? ",\n" : "");
		put_file(w, p, w->file[i]);
	}
	hop_put(b, "]}");
}

void hop_page_print(hop_buf *b, const hop_page *p)
{
	hop_arena *tmp = &b->env->tmp;
	hop_mark m = hop_mark_at(tmp);
	writer w = { .b = b, .e = b->env, .c = p->stage[0].g->ctx, .words.a = tmp, .graphs.a = tmp,
	             .locs.a = tmp, .files.a = tmp };
	hop_buf_open(&w.word, b->env);
	hop_buf_open(&w.loc, b->env);
	hop_put(b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
	put_html(b, p->title);
	hop_put(b, "</title>\n<style>\n");
	hop_putn(b, style, sizeof style);
	hop_put(b, "</style></head><body>\n<noscript>This page needs its script.</noscript>\n"
	        "<script type=\"application/json\" id=\"data\">\n");
	put_data(&w, p);
	hop_put(b, "\n</script>\n<script>\n");
	hop_putn(b, script, sizeof script);
	hop_put(b, "</script>\n</body></html>\n");
	hop_buf_free(&w.loc);
	hop_buf_free(&w.word);
	hop_rewind(tmp, m);
}

/* ---- stages ---- */

struct stages { hop_stage *stage; int n; };

static void add(void *user, const hop_pass *p, const hop_graph *g, double seconds)
{
	struct stages *s = user;
	(void)seconds;
	if (s->n < HOP_STAGES)
		s->stage[s->n++] = (hop_stage){ p->name, p->help, g };
}

hop_status hop_page_stages(hop_env *e, const hop_graph *g, hop_stage *stage, int *io_n)
{
	struct stages s = { stage, *io_n };
	const hop_graph *out;
	HOP_TRY(hop_pipeline_watch(e, g, add, &s, &out));
	*io_n = s.n;
	return HOP_OK;
}
