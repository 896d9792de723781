/* parse.c -- text to graphs: recursive descent over the lexer, emitting as it reads, so
 * that inference speaks about the very line. Attributes and sizes are in parse_attr.c. */
#include "text/parse.h"

#include <stdio.h>
#include <string.h>

/* ---- complaints ---- */

/* The line of the token, and a mark under it. Long lines show the part that matters. */
static void put_line(hop_buf *b, const hop_parser *p, const hop_tok *t)
{
	const char *from = t->at, *to = t->at;
	while (from > p->lex.text && from[-1] != '\n')
		from--;
	while (to < p->lex.end && *to != '\n')
		to++;
	if (t->at - from > 80)
		from = t->at - 60;
	if (to - t->at > 80)
		to = t->at + 80;
	hop_putc(b, '\n');
	for (const char *s = from; s < to; s++)
		hop_putc(b, *s == '\t' || *s == '\r' ? ' ' : *s < 32 && *s >= 0 ? '?' : *s);
	hop_putc(b, '\n');
	for (const char *s = from; s < t->at; s++)
		hop_putc(b, ' ');
	hop_putc(b, '^');
}

/* file:line:column as one location: what it prints last is the column. */
static hop_loc place(hop_parser *p, const hop_tok *t)
{
	const char *from = t->at;
	while (from > p->lex.text && from[-1] != '\n')
		from--;
	hop_buf f;
	hop_buf_open(&f, p->env);
	hop_putf(&f, "%s:%u", p->file, t->line);
	hop_loc at = hop_loc_get(p->env, f.s, (int)(t->at - from) + 1, 0);
	hop_buf_free(&f);
	return at;
}

hop_status hop_parse_fail_(hop_parser *p, const hop_tok *t, hop_status st,
                           const char *cfile, int cline, const char *fmt, ...)
{
	if (p->env->diag.st)
		return p->env->diag.st;
	char what[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	hop_buf b;
	hop_buf_open(&b, p->env);
	hop_put(&b, what);
	put_line(&b, p, t);
	hop_fail_(p->env, place(p, t), st, cfile, cline, "%s", b.s);
	hop_buf_free(&b);
	return st;
}

/* Inference failed on the node of token t: say it again with the column and the line. */
static hop_status again(hop_parser *p, const hop_tok *t)
{
	hop_env *e = p->env;
	hop_status st = e->diag.st;
	static const char mark[] = "error: ";
	const char *s = e->diag.text ? strstr(e->diag.text, mark) : NULL;
	if (!s)
		return st;
	const char *cfile = e->diag.cfile;
	int cline = e->diag.cline;
	hop_buf b;
	hop_buf_open(&b, e);
	hop_put(&b, s + sizeof mark - 1);
	hop_diag_clear(e);
	hop_parse_fail_(p, t, st, cfile, cline, "%s", b.s);
	hop_buf_free(&b);
	return st;
}

hop_status hop_parse_want(hop_parser *p, const char *what)
{
	const hop_tok *t = &p->lex.tok;
	if (t->kind == HOP_T_BAD)
		return hop_parse_fail(p, t, "%s", t->what);
	if (t->kind == HOP_T_END)
		return hop_parse_fail(p, t, "%s is missing: the text ends here", what);
	return hop_parse_fail(p, t, "%s is missing here", what);
}

bool hop_parse_word(const hop_parser *p, const char *s)
{
	const hop_tok *t = &p->lex.tok;
	return t->kind == HOP_T_IDENT && t->n == strlen(s) && !memcmp(t->s, s, t->n);
}

bool hop_parse_skip(hop_parser *p, char c)
{
	if (!hop_parse_is(p, c))
		return false;
	hop_lex_next(&p->lex);
	return true;
}

hop_status hop_parse_char(hop_parser *p, char c)
{
	char what[] = { '`', c, '`', '\0' };
	return hop_parse_skip(p, c) ? HOP_OK : hop_parse_want(p, what);
}

hop_status hop_parse_enter(hop_parser *p)
{
	if (++p->depth <= HOP_PARSE_DEPTH)
		return HOP_OK;
	return hop_parse_fail(p, &p->lex.tok, "nested deeper than %d levels", HOP_PARSE_DEPTH);
}

/* ---- values ---- */

typedef struct hop_names {
	hop_tok *t;
	size_t   n, cap;
} hop_names;

static void add_name(hop_parser *p, hop_names *l)
{
	l->t = hop_arena_grow(&p->env->tmp, l->t, sizeof *l->t, l->n + 1, &l->cap);
	l->t[l->n++] = p->lex.tok;
	hop_lex_next(&p->lex);
}

/* %a, %b */
static hop_status value_names(hop_parser *p, hop_names *l)
{
	do {
		if (p->lex.tok.kind != HOP_T_VALUE)
			return hop_parse_want(p, "a value such as %0");
		add_name(p, l);
	} while (hop_parse_skip(p, ','));
	return HOP_OK;
}

static hop_status define(hop_parser *p, hop_parse_scope *s, const hop_tok *t, hop_val v)
{
	if (hop_map_get(&s->vals, t->s, t->n))
		return hop_parse_fail(p, t, "%%%.*s is defined twice", hop_parse_width(t), t->s);
	hop_map_put(&s->vals, t->s, t->n, (void *)((uintptr_t)v.id + 1));
	return HOP_OK;
}

static hop_status look_up(hop_parser *p, hop_parse_scope *s, const hop_names *l, hop_val **out)
{
	*out = HOP_NEWN(&p->env->tmp, hop_val, l->n);
	for (size_t i = 0; i < l->n; i++) {
		void *v = hop_map_get(&s->vals, l->t[i].s, l->t[i].n);
		if (!v)
			return hop_parse_fail(p, &l->t[i], "%%%.*s is not defined before this line in "
			                      "this graph", hop_parse_width(&l->t[i]), l->t[i].s);
		(*out)[i].id = (uint32_t)((uintptr_t)v - 1);
	}
	return HOP_OK;
}

/* ---- types that were written, against those inferred ---- */

static hop_status check_type(hop_parser *p, hop_parse_scope *s, const char *who,
                             const hop_type *is)
{
	hop_tok at = p->lex.tok;
	const hop_type *t;
	HOP_TRY(hop_parse_type(p, s, &t));
	if (t == is)
		return HOP_OK;
	hop_buf x;
	int nsym = (int)(s->b.nsym + s->b.nlocal);
	hop_buf_open(&x, p->env);
	hop_type_print(&x, is, s->b.symname, nsym);
	hop_put(&x, ", written is ");
	hop_type_print(&x, t, s->b.symname, nsym);
	hop_status st = hop_parse_fail_(p, &at, HOP_ETYPE, __FILE__, __LINE__, "%s is %s", who,
	                                x.s);
	hop_buf_free(&x);
	return st;
}

static hop_status check_types(hop_parser *p, hop_parse_scope *s, const char *who, uint32_t n,
                              const hop_val *v)
{
	char name[32];
	for (uint32_t i = 0; i < n; i++) {
		if (i && !hop_parse_skip(p, ','))
			return hop_parse_fail(p, &p->lex.tok, "%u types for %u %ss", i, n, who);
		snprintf(name, sizeof name, "%s %u", who, i);
		HOP_TRY(check_type(p, s, name, hop_typeof(&s->b, v[i])));
	}
	if (hop_parse_is(p, ','))
		return hop_parse_fail(p, &p->lex.tok, "more types than the %u %ss", n, who);
	return HOP_OK;
}

/* ---- nodes ---- */

static hop_status graph_rest(hop_parser *p, const char *name, hop_graph **out_g);

/* A body in place, or by its name where a list of bodies is wanted. */
static hop_status body(hop_parser *p, const hop_draft *d, const hop_tok *word, bool named,
                       const hop_graph **out_g)
{
	hop_graph *g = NULL;
	if (named && p->lex.tok.kind == HOP_T_GRAPH)
		return hop_parse_body_name(p, out_g);
	if (graph_rest(p, NULL, &g))
		return hop_note(p->env, hop_loc_get(p->env, p->file, (int)d->at.line, 0),
		                "in %.*s of %s", hop_parse_width(word), word->s,
		                hop_optab[d->op].name);
	*out_g = g;
	return HOP_OK;
}

/* { then(...) -> ... { ... } else ... }: bodies in place. A list of bodies repeats its word. */
static hop_status bodies(hop_parser *p, hop_draft *d)
{
	const hop_graph **list = NULL;
	size_t cap = 0;
	HOP_TRY(hop_parse_char(p, '{'));
	HOP_TRY(hop_parse_enter(p));
	while (!hop_parse_skip(p, '}')) {
		hop_tok at = p->lex.tok;
		int f = at.kind == HOP_T_IDENT ? hop_parse_field(d->op, at.s, at.n) : -1;
		int kind = f < 0 ? HOP_AK_none : hop_optab[d->op].field[f].kind;
		if (kind != HOP_AK_graph && kind != HOP_AK_graphs) {
			if (at.kind != HOP_T_IDENT)
				return hop_parse_want(p, "the name of a body");
			return hop_parse_fail(p, &at, "%s has no body of this name",
			                      hop_optab[d->op].name);
		}
		if (kind == HOP_AK_graph && d->given & 1u << f)
			return hop_parse_fail(p, &at, "this body is given twice");
		d->given |= 1u << f;
		hop_lex_next(&p->lex);
		void *to = d->attr + hop_attr_offset(d->op, f);
		const hop_graph *g;
		HOP_TRY(body(p, d, &at, kind == HOP_AK_graphs, &g));
		if (kind == HOP_AK_graph) {
			*(const hop_graph **)to = g;
			continue;
		}
		hop_graphs *l = to;
		list = hop_arena_grow(&p->env->tmp, list, sizeof *list, (size_t)l->n + 1, &cap);
		list[l->n++] = g;
		l->v = list;
	}
	p->depth--;
	return HOP_OK;
}

static int find_op(const hop_tok *t)
{
	for (int i = 1; i < HOP_NOPS; i++)
		if (strlen(hop_optab[i].name) == t->n && !memcmp(hop_optab[i].name, t->s, t->n))
			return i;
	return HOP_OP_nop;
}

/* Is this brace one of attributes: { name = ? */
static bool at_attrs(const hop_parser *p)
{
	hop_lex l = p->lex;
	if (!hop_parse_is(p, '{'))
		return false;
	hop_lex_next(&l);
	if (l.tok.kind != HOP_T_IDENT)
		return false;
	hop_lex_next(&l);
	return l.tok.kind == HOP_T_CHAR && l.tok.c == '=';
}

/* Past written types without reading them: they may mention what comes later. */
static void pass_types(hop_parser *p)
{
	while (!hop_parse_is(p, '{') && !hop_parse_is(p, '}') && p->lex.tok.kind != HOP_T_END &&
	       p->lex.tok.kind != HOP_T_BAD)
		hop_lex_next(&p->lex);
}

static hop_status emit(hop_parser *p, hop_parse_scope *s, const hop_draft *d,
                       const hop_names *to, const hop_names *from, hop_val **out_v)
{
	hop_val *in;
	HOP_TRY(look_up(p, s, from, &in));
	s->b.loc = hop_loc_get(p->env, p->file, (int)d->at.line, 0);
	hop_val v = hop_emit_op(&s->b, d->op, hop_optab[d->op].nfield ? d->attr : NULL,
	                        (uint32_t)from->n, in);
	if (s->b.st)
		return again(p, &d->at);
	int row = hop_optab[d->op].nout;
	uint32_t nout = row >= 0 ? (uint32_t)row : s->b.node[s->b.nnode - 1].nout;
	if (to->n != nout)
		return hop_parse_fail(p, to->n ? &to->t[0] : &d->at, "%s has %u result%s, %zu %s "
		                      "named", hop_optab[d->op].name, nout, nout == 1 ? "" : "s",
		                      to->n, to->n == 1 ? "is" : "are");
	*out_v = HOP_NEWN(&p->env->tmp, hop_val, nout);
	for (uint32_t i = 0; i < nout; i++) {
		(*out_v)[i] = (hop_val){ v.id + i };
		HOP_TRY(define(p, s, &to->t[i], (*out_v)[i]));
	}
	return HOP_OK;
}

/* [%a, %b =] op %c, %d {attributes} [: types] [{bodies}] */
static hop_status node(hop_parser *p, hop_parse_scope *s)
{
	hop_names to = { 0 }, from = { 0 };
	if (p->lex.tok.kind == HOP_T_VALUE) {
		HOP_TRY(value_names(p, &to));
		HOP_TRY(hop_parse_char(p, '='));
	}
	if (p->lex.tok.kind != HOP_T_IDENT)
		return hop_parse_want(p, to.n ? "an op" : "an op, a value or `return`");
	hop_draft d = { .op = find_op(&p->lex.tok), .at = p->lex.tok };
	if (d.op == HOP_OP_nop)
		return hop_parse_fail(p, &d.at, "no op is called %.*s", hop_parse_width(&d.at), d.at.s);
	d.attr = hop_arena_alloc(&p->env->tmp, hop_attr_bytes(d.op));
	hop_lex_next(&p->lex);
	if (p->lex.tok.kind == HOP_T_VALUE && p->lex.tok.line == d.at.line)
		HOP_TRY(value_names(p, &from));
	if (at_attrs(p))
		HOP_TRY(hop_parse_attrs(p, s, &d));
	hop_lex types = p->lex;
	bool typed = hop_parse_skip(p, ':');
	if (typed) {
		types = p->lex;
		const hop_type *t;
		do
			HOP_TRY(hop_parse_type(p, s, &t));
		while (hop_parse_skip(p, ','));
	}
	if (hop_parse_is(p, '{'))
		HOP_TRY(bodies(p, &d));
	HOP_TRY(hop_parse_defaults(p, s, &d));
	hop_val *v = NULL;
	HOP_TRY(emit(p, s, &d, &to, &from, &v));
	if (!typed)
		return HOP_OK;
	hop_lex after = p->lex;
	p->lex = types;
	HOP_TRY(check_types(p, s, "result", (uint32_t)to.n, v));
	p->lex = after;
	return HOP_OK;
}

/* ---- graphs ---- */

/* check a == b, check a <= b: what inference could not decide, or what the writer knows. */
static hop_status check(hop_parser *p, hop_parse_scope *s)
{
	hop_check c = { .what = "the check needs {0} == {1}",
	                .loc = hop_loc_get(p->env, p->file, (int)p->lex.tok.line, 0) };
	hop_lex_next(&p->lex);
	s->ahead = true;
	HOP_TRY(hop_parse_size(p, s, &c.a));
	if (p->lex.tok.kind == HOP_T_LE) {
		c.rel = HOP_LE;
		c.what = "the check needs {0} <= {1}";
	} else if (p->lex.tok.kind != HOP_T_EQ) {
		return hop_parse_want(p, "`==` or `<=`");
	}
	hop_lex_next(&p->lex);
	HOP_TRY(hop_parse_size(p, s, &c.b));
	s->ahead = false;
	hop_build_check(&s->b, c);
	return HOP_OK;
}

/* <s: 2..8, t>(%0: f32[s]) */
static hop_status params(hop_parser *p, hop_parse_scope *s)
{
	int64_t sym;
	if (hop_parse_skip(p, '<')) {
		do
			HOP_TRY(hop_parse_sym(p, s, false, &sym));
		while (hop_parse_skip(p, ','));
		HOP_TRY(hop_parse_char(p, '>'));
	}
	HOP_TRY(hop_parse_char(p, '('));
	if (hop_parse_skip(p, ')'))
		return HOP_OK;
	do {
		hop_tok name = p->lex.tok;
		const hop_type *t;
		if (name.kind != HOP_T_VALUE)
			return hop_parse_want(p, "a parameter such as %0");
		hop_lex_next(&p->lex);
		HOP_TRY(hop_parse_char(p, ':'));
		HOP_TRY(hop_parse_type(p, s, &t));
		HOP_TRY(define(p, s, &name, hop_build_param(&s->b, t)));
	} while (hop_parse_skip(p, ','));
	return hop_parse_char(p, ')');
}

static hop_status lines(hop_parser *p, hop_parse_scope *s, uint32_t *out_n, hop_val **out_v)
{
	hop_names ret = { 0 };
	while (hop_parse_word(p, "check"))
		HOP_TRY(check(p, s));
	while (!hop_parse_word(p, "return")) {
		if (hop_parse_is(p, '}'))
			return hop_parse_want(p, "`return`");
		HOP_TRY(node(p, s));
	}
	hop_lex_next(&p->lex);
	if (p->lex.tok.kind == HOP_T_VALUE)
		HOP_TRY(value_names(p, &ret));
	*out_n = (uint32_t)ret.n;
	return look_up(p, s, &ret, out_v);
}

/* From the parameters to the closing brace. */
static hop_status content(hop_parser *p, hop_parse_scope *s, uint32_t *out_n, hop_val **out_v)
{
	HOP_TRY(params(p, s));
	hop_lex types = p->lex;
	bool typed = p->lex.tok.kind == HOP_T_ARROW;
	if (typed) {
		hop_lex_next(&p->lex);
		types = p->lex;
		pass_types(p);
	}
	HOP_TRY(hop_parse_char(p, '{'));
	HOP_TRY(lines(p, s, out_n, out_v));
	if (s->unbound)
		return hop_parse_fail(p, &p->lex.tok, "no line binds the size %s, which a check "
		                      "mentions", s->b.symname[s->b.nsym +
		                                               (uint32_t)__builtin_ctzll(s->unbound)]);
	HOP_TRY(hop_parse_char(p, '}'));
	if (!typed)
		return HOP_OK;
	hop_lex after = p->lex;
	p->lex = types;
	if (!*out_n) {
		HOP_TRY(hop_parse_char(p, '('));
		HOP_TRY(hop_parse_char(p, ')'));
	}
	HOP_TRY(check_types(p, s, "result", *out_n, *out_v));
	if (!hop_parse_is(p, '{'))
		return hop_parse_want(p, "`{`");
	p->lex = after;
	return HOP_OK;
}

static hop_status graph_rest(hop_parser *p, const char *name, hop_graph **out_g)
{
	hop_arena *tmp = &p->env->tmp;
	hop_mark m = hop_mark_at(tmp);
	hop_parse_scope s = { .vals.a = tmp, .syms.a = tmp };
	uint32_t n = 0;
	hop_val *v = NULL;
	hop_build_open(&s.b, p->env);
	hop_status st = content(p, &s, &n, &v);
	if (st)
		hop_build_drop(&s.b);
	else
		st = hop_seal(&s.b, n, v, name, out_g);
	hop_rewind(tmp, m);
	return st;
}

static hop_status graph(hop_parser *p)
{
	hop_lex_next(&p->lex);
	hop_tok t = p->lex.tok;
	if (t.kind != HOP_T_GRAPH)
		return hop_parse_want(p, "a name such as @f");
	if (hop_map_get(&p->graphs, t.s, t.n))
		return hop_parse_fail(p, &t, "a graph of this name stands above");
	const char *name = hop_ctx_name(p->env, t.s, t.n);
	hop_lex_next(&p->lex);
	hop_graph *g;
	HOP_TRY(graph_rest(p, name, &g));
	hop_map_put(&p->graphs, t.s, t.n, g);
	p->entry = hop_arena_grow(p->keep, p->entry, sizeof *p->entry, p->nentry + 1,
	                          &p->entrycap);
	p->entry[p->nentry++] = (hop_named){ name, g };
	return HOP_OK;
}

static hop_status text(hop_parser *p)
{
	if (!hop_parse_word(p, "hop"))
		return hop_parse_want(p, "`hop 1`, the first line,");
	hop_lex_next(&p->lex);
	if (p->lex.tok.kind != HOP_T_INT || p->lex.tok.i != 1)
		return hop_parse_fail(p, &p->lex.tok, "this hop reads version 1 of the text only");
	hop_lex_next(&p->lex);
	while (p->lex.tok.kind != HOP_T_END) {
		if (hop_parse_word(p, "graph"))
			HOP_TRY(graph(p));
		else if (hop_parse_word(p, "data"))
			HOP_TRY(hop_parse_section(p));
		else
			return hop_parse_want(p, "`graph` or `data`");
	}
	return HOP_OK;
}

hop_status hop_module_parse(hop_env *e, const char *s, size_t n, const char *filename,
                            hop_module **out_m)
{
	hop_arena a;
	*out_m = NULL;
	hop_arena_open(&a, e);
	hop_mark m = hop_mark_at(&e->tmp);
	hop_parser p = { .env = e, .file = filename, .keep = &a, .graphs.a = &a, .data.a = &a };
	hop_lex_init(&p.lex, s, n);
	hop_status st = text(&p);
	hop_rewind(&e->tmp, m);
	if (st) {
		hop_arena_free(&a, &e->mem);
		return st;
	}
	hop_module *mod = HOP_NEW(&a, hop_module);
	mod->n = (uint32_t)p.nentry;
	mod->entry = p.entry;
	hop_arena_move(&mod->arena, &a);
	hop_arena_seal(&mod->arena);
	*out_m = mod;
	return HOP_OK;
}

void hop_module_free(hop_module *m, const hop_mem *mem)
{
	if (!m)
		return;
	hop_arena a = m->arena;          /* the module lives in its own arena */
	hop_arena_free(&a, mem);
}

hop_graph *hop_module_find(const hop_module *m, const char *name)
{
	if (!name)
		return m->n ? m->entry[m->n - 1].g : NULL;
	for (uint32_t i = 0; i < m->n; i++)
		if (!strcmp(m->entry[i].name, name))
			return m->entry[i].g;
	return NULL;
}
