/* emit.c -- loop programs to C: registers, statements, functions. The text is what a person would
 * step through; what is fast about it the compiler finds. Does not lay out lines to a width. */
#include <stdio.h>
#include <string.h>

#include "target/c/emit.h"

/* ---- lines ---- */

/* For debuggers: what the compiler takes the next line of text for. */
static void put_place(hop_cemit *e)
{
	const char *file;
	int         line;
	hop_loc     in;

	if (!e->look || !hop_loc_read(e->env->ctx, e->loc, &file, &line, &in) || line < 1)
		return;
	hop_putf(e->o, "#line %d \"", line);
	for (; *file; file++)
		if ((unsigned char)*file >= ' ')
			hop_putf(e->o, *file == '"' || *file == '\\' ? "\\%c" : "%c", *file);
	hop_put(e->o, "\"\n");
}

static void put_line(hop_cemit *e, const char *fmt, va_list ap, const char *end)
{
	char    small[256];
	va_list again;
	int     n;

	put_place(e);

	va_copy(again, ap);
	n = vsnprintf(small, sizeof small, fmt, ap);
	for (int i = 0; n && i < e->indent; i++)
		hop_putc(e->o, '\t');
	if (n < (int)sizeof small) {
		hop_put(e->o, small);
	} else {
		char *s = hop_arena_alloc(&e->env->tmp, (size_t)n + 1);
		vsnprintf(s, (size_t)n + 1, fmt, again);
		hop_put(e->o, s);
	}
	hop_put(e->o, end);
	va_end(again);
}

void hop_c_line(hop_cemit *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put_line(e, fmt, ap, "\n");
	va_end(ap);
}

void hop_c_open(hop_cemit *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put_line(e, fmt, ap, " {\n");
	va_end(ap);
	e->indent++;
}

void hop_c_brace(hop_cemit *e)
{
	hop_c_line(e, "{");
	e->indent++;
}

void hop_c_close(hop_cemit *e)
{
	e->indent--;
	hop_c_line(e, "}");
}

const char *hop_c_text(hop_cemit *e, const char *fmt, ...)
{
	char    small[256];
	va_list ap;
	char   *s;
	int     n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if (n < (int)sizeof small)
		return hop_arena_str(&e->env->tmp, small, (size_t)n);
	s = hop_arena_alloc(&e->env->tmp, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

/* ---- registers ---- */

const char *hop_c_reg(const hop_cemit *e, hop_reg r)
{
	HOP_ASSERT(r > 0 && r <= e->f->nreg + HOP_C_OWN && e->reg[r]);
	return e->reg[r];
}

void hop_c_set(hop_cemit *e, hop_reg r, hop_dtype d, const char *text)
{
	e->reg[r] = text;
	e->dtype[r] = (uint8_t)d;
}

const char *hop_c_var(hop_cemit *e, hop_reg r)
{
	static const char letter[] = "ijkuv";
	int               n = e->nvar++;
	const char       *t = n < (int)sizeof letter - 1 ? hop_c_text(e, "%c", letter[n])
	                                                 : hop_c_text(e, "x%d_", n);
	hop_c_set(e, r, HOP_i64, t);
	return t;
}

/* ---- locations ---- */

void hop_c_put_name(hop_buf *o, const char *s)
{
	for (; *s; s++)
		hop_putc(o, *s == '*' || *s < ' ' ? '_' : *s);
}

/* The user's line and those that called for it, where they change. */
void hop_c_comment(hop_cemit *e, hop_loc loc)
{
	const char *file, *sep = "/* ";
	hop_loc     in;
	int         line;

	if (!loc || loc == e->loc)
		return;
	e->loc = loc;
	for (; loc && hop_loc_read(e->env->ctx, loc, &file, &line, &in); loc = in, sep = ", from ") {
		for (int i = 0; sep[0] == '/' && i < e->indent; i++)
			hop_putc(e->o, '\t');
		hop_put(e->o, sep);
		hop_c_put_name(e->o, file);
		hop_putf(e->o, ":%d", line);
	}
	if (sep[0] != '/')
		hop_put(e->o, " */\n");
}

/* ---- operations ---- */

static const char *masked_load(hop_cemit *e, const hop_stmt *s)
{
	const char *t = hop_c_load(e, &s->u.addr);
	return s->na ? hop_c_text(e, "%s ? %s : 0", hop_c_reg(e, s->a[0]), t) : t;
}

static void emit_store(hop_cemit *e, const hop_stmt *s)
{
	if (s->na > 1) {
		hop_c_line(e, "if (%s)", hop_c_reg(e, s->a[1]));
		e->indent++;
	}
	hop_c_line(e, "%s = %s;", hop_c_at(e, &s->u.addr), hop_c_reg(e, s->a[0]));
	e->indent -= s->na > 1;
}

const char *hop_c_value(hop_cemit *e, const hop_stmt *s)
{
	hop_dtype   d = (hop_dtype)s->dtype;
	int         from = s->sop == HOP_SOP_select ? 1 : 0;
	const char *a[3] = { 0 }, *t;

	switch (s->sop) {
	case HOP_SOP_constf:
		hop_c_set(e, s->dst, d, hop_c_float(e, d, s->u.f));
		return NULL;
	case HOP_SOP_consti:
		hop_c_set(e, s->dst, d, hop_dtype_bool(d) ? s->u.i & 1 ? "1" : "0"
		                                          : hop_c_int(e, s->u.i));
		return NULL;
	case HOP_SOP_size:
		t = hop_c_size(e, s->u.size);
		if (!hop_size_const(s->u.size))
			return t;
		hop_c_set(e, s->dst, d, t);
		return NULL;
	case HOP_SOP_load:
		return masked_load(e, s);
	default:
		for (int i = 0; i < s->na; i++)
			a[i] = hop_c_reg(e, s->a[i]);
		return hop_c_sop(e, s->sop, d, (hop_dtype)e->dtype[s->a[from]], a[0], a[1], a[2]);
	}
}

static void emit_op(hop_cemit *e, const hop_stmt *s)
{
	hop_dtype   d = (hop_dtype)s->dtype;
	const char *t = hop_c_value(e, s);

	if (!t)
		return;
	if (e->strip)
		hop_c_line(e, "r%d_[lane] = %s;", s->dst, t);
	else
		hop_c_line(e, "const %s r%d = %s;", hop_c_type(d), s->dst, t);
	hop_c_set(e, s->dst, d, hop_c_text(e, e->strip ? "r%d_[lane]" : "r%d", s->dst));
}

/* ---- control flow ---- */

void hop_c_stop_if(hop_cemit *e, const char *call)
{
	e->status = true;
	hop_c_line(e, "if ((st = %s) != 0)", call);
	hop_c_line(e, "\treturn st;");
}

/* A piece has no status: who forked looks again. */
void hop_c_poll(hop_cemit *e)
{
	if (e->nest > (e->part.s || e->asks))
		return;
	e->rt = true;
	if (e->outlined) {
		hop_c_line(e, "if (hop_poll(rt))");
		hop_c_line(e, "\treturn;");
		return;
	}
	hop_c_stop_if(e, "hop_poll(rt)");
}

void hop_c_if(hop_cemit *e, const hop_stmt *s, hop_c_blockfn *block)
{
	hop_c_open(e, "if (%s)", hop_c_reg(e, s->a[0]));
	block(e, &s->body);
	if (s->other.first) {
		e->indent--;
		hop_c_open(e, "} else");
		block(e, &s->other);
	}
	hop_c_close(e);
}

/* One after the other, so all in the same registers. */
void hop_c_carries(hop_cemit *e, const hop_stmt *s)
{
	for (int i = 0; i < s->ncarry; i++) {
		hop_stmt   one = { .ncarry = 1, .carry = &s->carry[i] };
		hop_lfunc  f = { .nreg = e->f->nreg };
		hop_block  copy = { 0 };
		hop_lbuild b = { .env = e->env, .a = &e->env->tmp, .f = &f, .block = &copy };
		bool       single = hop_size_is(s->carry[i].count, 1);

		hop_carry_loops(&b, e->f, &one);
		hop_c_live_own(e, &copy);
		if (single)
			hop_c_brace(e);
		hop_c_block(e, &copy);
		if (single)
			hop_c_close(e);
	}
}

static void emit_while(hop_cemit *e, const hop_stmt *s)
{
	hop_c_open(e, "for (;;)");
	hop_c_poll(e);
	hop_c_block(e, &s->other);
	hop_c_line(e, "if (!%s)", hop_c_reg(e, s->a[0]));
	hop_c_line(e, "\tbreak;");
	hop_c_block(e, &s->body);
	hop_c_carries(e, s);
	hop_c_close(e);
}

/* A nest that is worth asking before it may take a fraction of a millisecond. What threads share
 * finds its own pointers. */
static void emit_nest(hop_cemit *e, const hop_stmt *s)
{
	bool shared = s->kind == HOP_L_TILE ? hop_c_worth(s) > 0 : s->bind.thread;
	bool fix = !e->nest && !shared;
	if (hop_nest_is_long(s))
		hop_c_poll(e);
	if (fix)
		hop_c_fix_bases(e, s);
	if (s->kind == HOP_L_TILE)
		hop_c_tile(e, s);
	else
		hop_c_loop(e, s);
	if (fix)
		hop_c_free_bases(e);
}

bool hop_c_is_dead(const hop_cemit *e, const hop_stmt *s)
{
	return s->kind == HOP_L_OP && s->dst && !e->uses[s->dst];
}

bool hop_c_is_silent(const hop_stmt *s)
{
	return s->sop == HOP_SOP_constf || s->sop == HOP_SOP_consti;
}

static void emit_stmt(hop_cemit *e, const hop_stmt *s)
{
	if (hop_c_is_dead(e, s))
		return;
	if (!hop_c_is_silent(s))
		hop_c_comment(e, s->loc);
	switch (s->kind) {
	case HOP_L_OP:
		if (s->sop == HOP_SOP_store)
			emit_store(e, s);
		else
			emit_op(e, s);
		break;
	case HOP_L_LOOP:
	case HOP_L_TILE:
		if (hop_stmt_is_nest(s))
			emit_nest(e, s);
		else
			hop_c_loop(e, s);
		break;
	case HOP_L_IF:
		hop_c_if(e, s, hop_c_block);
		break;
	case HOP_L_WHILE:
		emit_while(e, s);
		break;
	case HOP_L_CALL:
		hop_c_call(e, s);
		break;
	case HOP_L_GROW:
		hop_c_grow(e, s);
		break;
	case HOP_L_EFFECT:
		hop_c_effect(e, s);
		break;
	case HOP_L_CHECK:
		hop_c_check(e, s);
		break;
	case HOP_L_BARRIER:                /* of kernels, which are not for us */
		break;
	}
}

void hop_c_block(hop_cemit *e, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		emit_stmt(e, s);
}

/* ---- functions ---- */

static void put_head(hop_buf *o, const char *name, int i)
{
	if (i)
		hop_putf(o, "static int %s_%d", name, i);
	else
		hop_putf(o, "int %s", name);
	hop_put(o, "(void *const *params, const int64_t *syms, void *workspace, struct hop_rt *rt)");
}

static void put_unused(hop_cemit *e, hop_buf *o)
{
	const struct { const char *name; bool used; } arg[] = {
		{ "params", e->params }, { "syms", e->syms }, { "workspace", e->ws }, { "rt", e->rt }
	};
	for (int i = 0; i < 4; i++)
		if (!arg[i].used)
			hop_putf(o, "\t(void)%s;\n", arg[i].name);
}

static void emit_func(hop_cemit *e, int i, hop_buf *out)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	hop_buf  body, head, pieces;

	hop_buf_open(&pieces, e->env);
	hop_buf_open(&head, e->env);
	hop_buf_open(&body, e->env);
	*e = (hop_cemit){ .env = e->env, .p = e->p, .name = e->name,
	                  .look = e->look, .f = &e->p->func[i], .index = i, .pieces = &pieces, .o = &body,
	                  .indent = 1 };
	e->reg = HOP_NEWN(&e->env->tmp, const char *, e->f->nreg + 1 + HOP_C_OWN);
	e->dtype = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1 + HOP_C_OWN);
	e->base = HOP_NEWN(&e->env->tmp, const char *, e->f->nbuf + 1);
	e->used = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf + 1);
	e->sym = HOP_NEWN(&e->env->tmp, bool, e->f->nsym + 1);
	hop_c_live(e);
	hop_c_block(e, &e->f->body);
	hop_c_line(e, "return 0;");
	hop_c_declare(e, &head);
	hop_put(out, "\n");
	hop_c_data(e, out);
	hop_putn(out, pieces.s ? pieces.s : "", pieces.n);
	if (pieces.n)
		hop_put(out, "\n");
	if (e->f->name && *e->f->name) {
		hop_put(out, "/* @");
		hop_c_put_name(out, e->f->name);
		hop_put(out, " */\n");
	}
	put_head(out, e->name, i);
	hop_put(out, "\n{\n");
	put_unused(e, out);
	hop_putn(out, head.s ? head.s : "", head.n);
	hop_put(out, "\n");
	hop_putn(out, body.s, body.n);
	hop_put(out, "}\n");
	hop_buf_free(&body);
	hop_buf_free(&head);
	hop_buf_free(&pieces);
	hop_rewind(&e->env->tmp, m);
}

/* For debuggers: functions are called after graph and nest, and numbered, so that none is twice. */
static void put_alias(hop_buf *o, const hop_prog *p, const char *name, int i)
{
	hop_putf(o, "#define %s_%d hop_", name, i);
	for (const char *s = p->func[i].name; *s; s++) {
		bool word = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		            (*s >= '0' && *s <= '9');
		hop_putc(o, word ? *s : '_');
	}
	hop_putf(o, "_f%d\n", i);
}

/* Callees come after their callers in a program and before them in the text. */
hop_status hop_c_prog(hop_env *env, const hop_prog *p, const char *name, bool look, hop_buf *out)
{
	hop_cemit e = { .env = env, .p = p, .name = name, .look = look };

	HOP_TRY(hop_c_check_tiles(env, p));
	hop_put(out, "\n");
	for (int i = 1; i < p->nfunc; i++) {
		if (look)
			put_alias(out, p, name, i);
		put_head(out, name, i);
		hop_put(out, ";\n");
	}
	for (int i = p->nfunc - 1; i >= 0; i--)
		emit_func(&e, i, out);
	return HOP_OK;
}
