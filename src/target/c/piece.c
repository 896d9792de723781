/* piece.c -- parts of parallel loops as functions of their own, for the threads of the run time.
 * What a piece needs of the function around it stands in a struct: its arguments, how many
 * iterations there are, and registers. Does not divide reductions: a sum must not depend on the
 * number of threads. */
#include <math.h>
#include <string.h>

#include "target/c/emit.h"

/* ---- what is worth it ---- */

static double times(hop_size s)
{
	return hop_size_const(s) ? (double)s.k : HOP_SIZE_USUAL;
}

static double tile_cost(const hop_tile *t)
{
	double n = 1;
	for (int i = 0; i < t->of->nextent; i++)
		n *= times(t->extent[i]);
	return n / 4;
}

/* Instructions of a block, about. */
static double cost(const hop_block *b)
{
	double n = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		switch (s->kind) {
		case HOP_L_OP:
			n += hop_sop_cost(s->sop, s->dtype);
			break;
		case HOP_L_LOOP:
			n += (s->bound ? HOP_SIZE_USUAL : times(s->extent)) * (1 + cost(&s->body));
			break;
		case HOP_L_TILE:
			n += tile_cost(s->tile);
			break;
		default:
			n += 1 + cost(&s->body) + cost(&s->other);
		}
	return n;
}

/* Nothing in a piece may end the program. */
static bool may_stop(const hop_stmt *s)
{
	hop_block *sub[2];
	int        k = hop_stmt_blocks((hop_stmt *)(uintptr_t)s, sub);
	if (s->kind >= HOP_L_CALL)
		return true;
	for (int i = 0; i < k; i++)
		for (const hop_stmt *q = sub[i]->first; q; q = q->next)
			if (may_stop(q))
				return true;
	return false;
}

_Static_assert(HOP_L_CALL > HOP_L_TILE && HOP_L_CHECK > HOP_L_CALL, "calls come last");

/* A tile's first extent is what is divided. */
int64_t hop_c_worth(const hop_cemit *e, const hop_stmt *s)
{
	bool     tile = s->kind == HOP_L_TILE;
	hop_size n = tile ? s->tile->extent[0] : s->extent;
	double   each = 1 + (tile ? tile_cost(s->tile) / fmax(times(n), 1) : cost(&s->body)), least;

	if (e->nest || e->fork <= 0 || may_stop(s))
		return 0;
	least = fmax(ceil(e->fork / each), 2);
	return !s->bound && hop_size_const(n) && (double)n.k < least ? 0 : (int64_t)least;
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
	hop_c_fix_bases(e, s);
	if (grain == 1) {
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
	const char *more = "", *count = grain == 1 ? n : hop_c_text(e, "(%s + %lld) / %lld", n,
	                                                (long long)grain - 1, (long long)grain);

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
