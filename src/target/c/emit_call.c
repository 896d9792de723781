/* emit_call.c -- calls of other functions and of the run time. Every one may fail, and then the
 * function returns its status at once. Does not inline anything: the compiler may. */
#include "target/c/emit.h"

/* Pointers to the operands of a statement in an array `a`, in a block that the caller closes. */
static void open_args(hop_cemit *e, const hop_stmt *s)
{
	hop_c_brace(e);
	if (!s->narg) {
		hop_c_line(e, "void *const a[1] = { 0 };");
		return;
	}
	hop_c_line(e, "void *const a[%d] = {", s->narg);
	for (int i = 0; i < s->narg; i++)
		hop_c_line(e, "\t%s,", hop_c_ptr(e, &s->args[i]));
	hop_c_line(e, "};");
}

static void call_part(hop_cemit *e, const hop_stmt *s)
{
	e->params = e->syms = e->ws = e->rt = true;
	hop_c_stop_if(e, hop_c_text(e, "%s_%d(params, syms, ws, rt)", e->name, s->callee));
}

void hop_c_call(hop_cemit *e, const hop_stmt *s)
{
	const char *frame;
	if (s->is_part) {
		call_part(e, s);
		return;
	}
	e->ws = e->rt = true;
	open_args(e, s);
	if (s->nsize) {
		hop_c_line(e, "const int64_t z[%d] = {", s->nsize);
		for (int i = 0; i < s->nsize; i++)
			hop_c_line(e, "\t%s,", hop_c_size(e, s->sizes[i]));
		hop_c_line(e, "};");
	}
	frame = hop_size_is(s->frame, 0) ? "ws" : hop_c_text(e, "ws + (%s)", hop_c_size(e, s->frame));
	hop_c_stop_if(e, hop_c_text(e, "%s_%d(a, %s, %s, rt)", e->name, s->callee,
	                            s->nsize ? "z" : "0", frame));
	hop_c_close(e);
}

/* All size symbols as an array, those bound while running too. */
static const char *symbols(hop_cemit *e)
{
	int ns = e->f->nsym + e->f->nlocal;
	if (!e->f->nlocal) {
		e->syms = true;
		return "syms";
	}
	hop_c_line(e, "const int64_t z[%d] = {", ns);
	for (int i = 0; i < ns; i++)
		hop_c_line(e, "\t%s,", hop_c_size(e, hop_size_sym(e->env, i)));
	hop_c_line(e, "};");
	return "z";
}

void hop_c_effect(hop_cemit *e, const hop_stmt *s)
{
	const char *z;
	e->rt = true;
	open_args(e, s);
	bool some = e->p->effect[s->callee].is_progress;
	if (some) {                            /* trip, trips: the last one, or when it is time */
		hop_c_line(e, "const int64_t i = *(const hop_i64 *)a[0], n = *(const hop_i64 *)a[1];");
		hop_c_open(e, "if (--rt->skip < 0 || (n > 0 && i >= n - 1))");
	}
	z = symbols(e);
	hop_c_stop_if(e, hop_c_text(e, "rt->effect(rt, %d, a, %s)", s->callee, z));
	if (some)
		hop_c_close(e);
	hop_c_close(e);
}

/* Usually one comparison; the run time makes the message, and computes what is too large to be
 * computed here. */
void hop_c_check(hop_cemit *e, const hop_stmt *s)
{
	const hop_lcheck *c = &e->p->check[s->callee];
	const char       *z;
	e->rt = true;
	if (c->wide)
		hop_c_brace(e);
	else
		hop_c_open(e, "if (!(%s %s %s))", hop_c_size(e, c->c.a), c->c.rel == HOP_EQ ? "==" : "<=",
		           hop_c_size(e, c->c.b));
	z = symbols(e);
	hop_c_stop_if(e, hop_c_text(e, "rt->check(rt, %d, %s)", s->callee, z));
	hop_c_close(e);
}

void hop_c_grow(hop_cemit *e, const hop_stmt *s)
{
	const hop_lbuf *b = &e->f->buf[s->buf];
	const char     *n = hop_c_text(e, "%s * %zu", hop_c_reg(e, s->a[0]), hop_dtype_bytes(b->dtype));
	e->rt = true;
	hop_c_open(e, "if (%s > rt->tape[%d].bytes)", n, b->index);
	hop_c_stop_if(e, hop_c_text(e, "rt->grow(rt, %d, %s)", b->index, n));
	hop_c_close(e);
}
