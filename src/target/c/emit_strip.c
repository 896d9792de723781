/* emit_strip.c -- parallel loops around reductions whose operands lie side by side along the
 * parallel loop: sum over k of a[k, j] for many j. They are done a strip of j at a time, one sum a
 * lane, so that the innermost loop goes along memory. Each statement of the body becomes a loop over
 * lanes, and what one gives another is an array. Does not look at what a sum is of. */
#include "target/c/emit.h"

enum { CHAIN = 128, SHORT = 1024 };    /* additions to one f32 before f64 takes over; see emit_loop.c */

/* ---- which loops ---- */

/* Registers that are neither ours nor the reduction's come from outside. */
typedef struct look {
	const hop_stmt *s, *red;
	bool           *inside;              /* [nreg+1] computed in s */
	bool            helps;
} look;

static void mark(const hop_block *b, bool *inside)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		inside[s->dst] |= s->kind == HOP_L_OP;
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
			inside[s->acc[i].result] = true;
		mark(&s->body, inside);
	}
}

/* Side by side along the strip, or the same for all of it. */
static bool lies_well(look *l, const hop_addr *a)
{
	hop_size along = hop_size_int(0), deep = hop_size_int(0);
	for (int i = 0; i < a->nterm; i++) {
		if (l->inside[a->term[i].reg])
			return false;
		if (a->term[i].reg == l->s->dst)
			along = a->term[i].stride;
		if (a->term[i].reg == l->red->dst)
			deep = a->term[i].stride;
	}
	l->helps |= hop_size_is(along, 1) && !hop_size_is(deep, 0) && !hop_size_is(deep, 1);
	return hop_size_is(along, 0) || hop_size_is(along, 1);
}

static bool red_fits(look *l, const hop_stmt *red)
{
	l->red = red;
	if (red->loop != HOP_LOOP_RED || red->bound)
		return false;
	for (const hop_stmt *s = red->body.first; s; s = s->next)
		if (s->kind != HOP_L_OP || s->sop == HOP_SOP_store ||
		    (s->sop == HOP_SOP_load && !lies_well(l, &s->u.addr)))
			return false;
	return true;
}

static bool fits(hop_cemit *e, const hop_stmt *s)
{
	look l = { .s = s, .inside = HOP_NEWN(&e->env->tmp, bool, e->f->nreg + 1 + HOP_C_OWN) };
	mark(&s->body, l.inside);
	for (const hop_stmt *q = s->body.first; q; q = q->next)
		if (q->kind != HOP_L_OP && (q->kind != HOP_L_LOOP || !red_fits(&l, q)))
			return false;
	return l.helps;
}

/* Lanes of a strip; 0 = too few iterations for one. */
static int width(const hop_stmt *s)
{
	int64_t n = !s->bound && hop_size_const(s->extent) ? s->extent.k : 32;
	return n >= 32 ? 32 : n >= 16 ? 16 : n >= 8 ? 8 : 0;
}

/* ---- one strip ---- */

static void open_lanes(hop_cemit *e, int w)
{
	hop_c_line(e, "HOP_PARALLEL");
	hop_c_open(e, "for (int lane = 0; lane < %d; lane++)", w);
}

static void declare(hop_cemit *e, const hop_block *b, int w)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		bool text = s->sop == HOP_SOP_constf || s->sop == HOP_SOP_consti ||
		            (s->sop == HOP_SOP_size && hop_size_const(s->u.size));
		if (s->kind == HOP_L_OP && s->dst && e->uses[s->dst] && !text)
			hop_c_line(e, "%s r%d_[%d];", hop_c_type((hop_dtype)s->dtype), s->dst, w);
		for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
			if (e->uses[s->acc[i].result])
				hop_c_line(e, "%s r%d_[%d];", hop_c_type(s->acc[i].dtype), s->acc[i].result, w);
	}
}

/* Statements up to the next reduction, all lanes of them. */
static const hop_stmt *ops(hop_cemit *e, const hop_stmt *s, int w)
{
	hop_block one = { 0 };
	open_lanes(e, w);
	for (; s && s->kind == HOP_L_OP; s = s->next) {
		hop_stmt copy = *s;
		copy.next = NULL;
		one.first = one.last = &copy;
		e->strip = true;
		hop_c_block(e, &one);
		e->strip = false;
	}
	hop_c_close(e);
	return s;
}

#define EACH(e, s, c) \
	for (const hop_acc *c = (s)->acc; c < (s)->acc + (s)->nacc; c++) \
		if ((e)->uses[c->result])

static bool adds(const hop_acc *c)
{
	return c->op == HOP_RED_add && hop_dtype_real(c->dtype);
}

static void start(hop_cemit *e, const hop_stmt *s, int w, bool fresh)
{
	open_lanes(e, w);
	EACH(e, s, c)
		hop_c_line(e, "r%d_[lane] = %s;", c->result,
		           fresh ? hop_c_red_id(e, c->op, c->dtype) : hop_c_reg(e, c->init));
	hop_c_close(e);
}

static void along(hop_cemit *e, const hop_stmt *s, int w, const char *from, const char *to)
{
	const char *v = hop_c_var(e, s->dst);
	hop_c_open(e, "for (int64_t %s = %s; %s < %s; %s++)", v, from, v, to, v);
	open_lanes(e, w);
	hop_c_block(e, &s->body);
	EACH(e, s, c) {
		const char *to_lane = hop_c_text(e, "r%d_[lane]", c->result);
		hop_c_line(e, "%s = %s;", to_lane,
		           hop_c_red(e, c->op, c->dtype, hop_c_reg(e, c->value), to_lane));
	}
	hop_c_close(e);
	hop_c_close(e);
	e->nvar--;
}

/* Blocks of a long one add up in w: floats in f64. */
static void along_blocks(hop_cemit *e, const hop_stmt *s, int w, const char *n)
{
	int b = s->dst;
	EACH(e, s, c)
		hop_c_line(e, "%s w%d_[%d];", adds(c) ? "double" : hop_c_type(c->dtype), c->result, w);
	open_lanes(e, w);
	EACH(e, s, c)
		hop_c_line(e, "w%d_[lane] = %s;", c->result, hop_c_reg(e, c->init));
	hop_c_close(e);
	hop_c_open(e, "for (int64_t b%d = 0; b%d < %s; b%d += %d)", b, b, n, b, CHAIN);
	hop_c_line(e, "const int64_t e%d = hop_min_i64(b%d + %d, %s);", b, b, CHAIN, n);
	start(e, s, w, true);
	along(e, s, w, hop_c_text(e, "b%d", b), hop_c_text(e, "e%d", b));
	open_lanes(e, w);
	EACH(e, s, c) {
		const char *all = hop_c_text(e, "w%d_[lane]", c->result);
		hop_c_line(e, "%s = %s;", all,
		           hop_c_red(e, c->op, adds(c) ? HOP_f64 : c->dtype, all,
		                     hop_c_text(e, "r%d_[lane]", c->result)));
	}
	hop_c_close(e);
	hop_c_close(e);
	open_lanes(e, w);
	EACH(e, s, c)
		hop_c_line(e, "r%d_[lane] = (%s)w%d_[lane];", c->result, hop_c_type(c->dtype), c->result);
	hop_c_close(e);
}

static void reduce(hop_cemit *e, const hop_stmt *s, int w)
{
	const char *n = hop_c_fixed(e, s->extent, s->dst, "n");
	bool        sums = false;
	EACH(e, s, c)
		sums |= adds(c);
	if (sums && !(hop_size_const(s->extent) && s->extent.k <= SHORT)) {
		along_blocks(e, s, w, n);
	} else {
		start(e, s, w, false);
		along(e, s, w, "0", n);
	}
	EACH(e, s, c)
		hop_c_set(e, c->result, c->dtype, hop_c_text(e, "r%d_[lane]", c->result));
}

/* ---- the loop ---- */

bool hop_c_has_strips(hop_cemit *e, const hop_stmt *s)
{
	return width(s) && s->loop == HOP_LOOP_PAR && !s->bind.ordered && fits(e, s);
}

const char *hop_c_strips(hop_cemit *e, const hop_stmt *s, const char *from, const char *to)
{
	int         w = width(s);
	const char *v = hop_c_var(e, s->dst);
	hop_c_line(e, "int64_t %s0 = %s;", v, from);
	hop_c_open(e, "for (; %s0 + %d <= %s; %s0 += %d)", v, w, to, v, w);
	hop_c_set(e, s->dst, HOP_i64, hop_c_text(e, "(%s0 + lane)", v));
	declare(e, &s->body, w);
	for (const hop_stmt *q = s->body.first; q;)
		if (q->kind == HOP_L_OP) {
			q = ops(e, q, w);
		} else {
			reduce(e, q, w);
			q = q->next;
		}
	hop_c_close(e);
	e->nvar--;
	return hop_c_text(e, "%s0", v);
}

#undef EACH
