/* piece.c -- parts of parallel loops as functions of their own, for the threads of the run time.
 * What a piece needs of the function around it stands in a struct: its arguments, how many
 * iterations there are, and registers. Does not divide reductions: a sum must not depend on the
 * number of threads. */
#include <math.h>
#include <string.h>

#include "target/c/emit.h"

/* ---- what is worth it ---- */

enum { FORK = 1 << 18 };       /* products of numbers in a tile that are worth a fork */

static double times(hop_size s)
{
	return hop_size_const(s) ? (double)s.k : HOP_SIZE_USUAL;
}

/* The schedule says whether a tile may be shared; its first extent is what is divided. */
int64_t hop_c_worth(const hop_stmt *s)
{
	const hop_tile *t = s->tile;
	hop_size        n = t->extent[0];
	double          each = 1, least;
	if (!s->bind.thread)
		return 0;
	for (int i = 1; i < t->of->nextent; i++)
		each *= times(t->extent[i]);
	least = fmax(ceil(FORK / fmax(each, 1)), 2);
	return hop_size_const(n) && (double)n.k < least ? 0 : (int64_t)least;
}

/* ---- registers from outside ---- */

typedef struct scan { bool *inside, *used; } scan;

static void note(void *user, hop_reg *r, hop_stmt *def, hop_dtype d)
{
	scan *c = user;
	(void)d;
	if (def)
		c->inside[*r] = true;
	else
		c->used[*r] = true;
}

/* Registers that are variables of ours and read in s; the others are text, or its own. */
static bool *captured(hop_cemit *e, const hop_stmt *s)
{
	scan c = { .inside = HOP_NEWN(&e->env->tmp, bool, e->f->nreg + 1 + HOP_C_OWN),
	           .used = HOP_NEWN(&e->env->tmp, bool, e->f->nreg + 1 + HOP_C_OWN) };
	hop_stmt_regs((hop_stmt *)(uintptr_t)s, note, &c);
	for (int r = 1; r <= e->f->nreg + HOP_C_OWN; r++)
		c.used[r] = c.used[r] && !c.inside[r] && e->uses[r] && e->reg[r] &&
		            strchr("rijkuvx", e->reg[r][0]);
	return c.used;
}

/* ---- the function ---- */

static void put_struct(hop_cemit *e, hop_buf *o, const char *name, const bool *regs)
{
	hop_putf(o, "\nstruct %s {\n\tvoid *const *params;\n\tconst int64_t *syms;\n"
	            "\tvoid *workspace;\n\tstruct hop_rt *rt;\n\tint64_t n;\n", name);
	for (int r = 1; r <= e->f->nreg + HOP_C_OWN; r++)
		if (regs[r])
			hop_putf(o, "\t%s %s;\n", hop_c_type((hop_dtype)e->dtype[r]), e->reg[r]);
	hop_put(o, "};\n");
}

static void put_head(hop_cemit *e, hop_buf *o, const char *name, const bool *regs)
{
	hop_putf(o, "\nstatic void %s(void *arg, int64_t begin, int64_t end)\n{\n", name);
	hop_putf(o, "\tconst struct %s *const c = arg;\n", name);
	if (e->params)
		hop_put(o, "\tvoid *const *const params = c->params;\n");
	if (e->syms)
		hop_put(o, "\tconst int64_t *const syms = c->syms;\n");
	if (e->ws)
		hop_put(o, "\tvoid *const workspace = c->workspace;\n");
	if (e->rt)
		hop_put(o, "\tstruct hop_rt *const rt = c->rt;\n");
	for (int r = 1; r <= e->f->nreg + HOP_C_OWN; r++)
		if (regs[r])
			hop_putf(o, "\tconst %s %s = c->%s;\n", hop_c_type((hop_dtype)e->dtype[r]), e->reg[r],
			         e->reg[r]);
}

static bool has_slice(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->bind.slice;
}

/* Blocks begin .. end-1 of at most HOP_BLOCKS, by the number of iterations alone: each is run in
 * order, in temporaries of its own. */
static void put_blocks(hop_cemit *e, const hop_stmt *s, hop_c_piecefn *body)
{
	hop_c_line(e, "const int64_t len = (c->n + %d) / %d;", HOP_BLOCKS - 1, HOP_BLOCKS);
	hop_c_open(e, "for (int64_t slice = begin; slice < end; slice++)");
	hop_c_line(e, "const int64_t from = slice * len, to = hop_min_i64(from + len, c->n);");
	hop_c_set(e, s->bind.slice, HOP_i64, "slice");
	body(e, s, "from", "to");
	hop_c_close(e);
}

/* The piece has names of its own for pointers and sizes, and the same ones for registers. */
static void put_piece(hop_cemit *e, const hop_stmt *s, const char *name, int64_t grain,
                      const bool *regs, hop_c_piecefn *body)
{
	hop_cemit outer = *e;
	hop_buf   text, head;

	hop_buf_open(&head, e->env);
	hop_buf_open(&text, e->env);
	e->o = &text;
	e->indent = 1;
	e->base = HOP_NEWN(&e->env->tmp, const char *, e->f->nbuf + 1);
	e->used = HOP_NEWN(&e->env->tmp, bool, e->f->nbuf + 1);
	e->sym = HOP_NEWN(&e->env->tmp, bool, e->f->nsym + 1);
	e->params = e->syms = e->ws = e->rt = e->status = false;
	e->nest++;
	e->outlined = true;
	hop_c_fix_bases(e, s);
	if (has_slice(s)) {
		put_blocks(e, s, body);
	} else if (grain == 1) {
		body(e, s, "begin", "end");
	} else {
		hop_c_line(e, "const int64_t from = begin * %lld;", (long long)grain);
		hop_c_line(e, "const int64_t to = hop_min_i64(end * %lld, c->n);", (long long)grain);
		body(e, s, "from", "to");
	}
	hop_c_declare(e, &head);
	put_struct(e, e->pieces, name, regs);
	put_head(e, e->pieces, name, regs);
	hop_putn(e->pieces, head.s ? head.s : "", head.n);
	hop_put(e->pieces, "\n");
	hop_putn(e->pieces, text.s, text.n);
	hop_put(e->pieces, "}\n");
	for (int i = 0; i < e->f->nbuf; i++)
		outer.used[i] |= e->used[i] && e->f->buf[i].kind == HOP_BUF_CONST;
	outer.loc = e->loc;
	outer.nfix = e->nfix;
	*e = outer;
	hop_buf_free(&text);
	hop_buf_free(&head);
}

void hop_c_fork(hop_cemit *e, const hop_stmt *s, const char *n, int64_t least, int64_t grain,
                hop_c_piecefn *body)
{
	bool       *regs = captured(e, s);
	const char *name = e->index ? hop_c_text(e, "%s_%d_piece%d", e->name, e->index, ++e->npiece)
	                            : hop_c_text(e, "%s_piece%d", e->name, ++e->npiece);
	const char *more = "", *count = n;
	if (has_slice(s))
		count = hop_c_text(e, "hop_min_i64(%s, %d)", n, HOP_BLOCKS);
	else if (grain > 1)
		count = hop_c_text(e, "(%s + %lld) / %lld", n, (long long)grain - 1, (long long)grain);

	put_piece(e, s, name, grain, regs, body);
	e->params = e->syms = e->ws = e->rt = true;
	hop_c_brace(e);
	for (int r = 1; r <= e->f->nreg + HOP_C_OWN; r++)
		if (regs[r])
			more = hop_c_text(e, "%s, %s", more, e->reg[r]);
	hop_c_line(e, "struct %s c = { params, syms, ws, rt, %s%s };", name, n, more);
	hop_c_line(e, "if (rt->nthread > 1 && %s >= %lld)", n, (long long)least);
	hop_c_line(e, "\trt->parallel(rt, %s, &c, %s);", name, count);
	hop_c_line(e, "else");
	hop_c_line(e, "\t%s(&c, 0, %s);", name, count);
	hop_c_close(e);
}
