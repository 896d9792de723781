/* copies.c -- the copies that a loop program makes, each with its line, its bytes and its reason: what
 * carries a loop could not update in place (they were noted when it was lowered), and every nest
 * that stores what it just loaded. Views that became index arithmetic are none. Changes nothing.
 *
 * needs: functions in their last form, not outlined yet. */
#include "loop/lower.h"
#include "loop/walk.h"

#include <string.h>

typedef struct pass {
	hop_lower  *l;
	hop_lfn    *fn;
	bool        entry;             /* its parameters are the caller's */
	hop_stmt  **def;               /* [nreg+1] the load that a register is; or NULL */
	bool       *read, *stepped;    /* [nbuf] read; written in a loop that goes step by step */
	bool       *noted;             /* [nbuf] the new value of a carry that was noted */
	hop_stmt   *nest[HOP_MAXRANK + 8];     /* parallel loops around, the innermost last */
	int         nnest;
	int         deep;              /* loops around that go step by step */
	int         n, nloop;          /* copies so far; of those in loops */
} pass;

/* ---- what is there ---- */

static void see(void *user, hop_addr *a, bool is_write)
{
	pass *p = user;
	p->read[a->buf] |= !is_write;
	p->stepped[a->buf] |= is_write && p->deep;
}

static void learn(pass *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		bool steps = s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ);
		p->deep += steps;
		hop_stmt_addrs(&p->fn->f, s, see, p);
		for (int i = 0, n = hop_stmt_blocks(s, sub); i < n; i++)
			learn(p, sub[i]);
		p->deep -= steps;
	}
}

/* What is known of the function's buffers. */
static void begin(pass *p, hop_lfn *fn)
{
	p->fn = fn;
	p->def = HOP_NEWN(p->l->w, hop_stmt *, fn->f.nreg + 1);
	p->read = HOP_NEWN(p->l->w, bool, fn->f.nbuf);
	p->stepped = HOP_NEWN(p->l->w, bool, fn->f.nbuf);
	p->noted = HOP_NEWN(p->l->w, bool, fn->f.nbuf);
	learn(p, &fn->f.body);
	for (const hop_lcopy *c = p->l->all->copies; c; c = c->next)
		if (c->fn == fn)
			p->noted[c->buf] = true;
}

static bool is_input(const pass *p, int buf)
{
	const hop_lbuf *b = &p->fn->f.buf[buf];
	return b->kind == HOP_BUF_PARAM && b->index < p->fn->f.nin;
}

static bool is_result(const pass *p, int buf)
{
	const hop_lbuf *b = &p->fn->f.buf[buf];
	return b->kind == HOP_BUF_PARAM && b->index >= p->fn->f.nin;
}

/* ---- words ---- */

static void put_line(pass *p, hop_buf *o, hop_loc loc)
{
	const char *file;
	int line;
	hop_loc in;
	if (hop_loc_read(p->l->env->ctx, loc, &file, &line, &in))
		hop_putf(o, "%s:%d: ", file, line);
}

static void put_buf(const pass *p, hop_buf *o, int buf)
{
	const hop_lbuf *b = &p->fn->f.buf[buf];
	if (is_input(p, buf))
		hop_putf(o, p->entry ? "input %d" : "operand %d", b->index);
	else if (is_result(p, buf))
		hop_putf(o, "result %d", b->index - p->fn->f.nin);
	else
		hop_put(o, b->kind == HOP_BUF_CONST ? "a constant" : "a value");
}

/* ", 32 bytes", or of sizes that only a call knows ", 8 bytes for each of 4*s0". */
static void put_bytes(pass *p, hop_buf *o, int buf, hop_size n)
{
	size_t each = hop_dtype_bytes(p->fn->f.buf[buf].dtype);
	if (hop_size_const(n)) {
		hop_putf(o, ", %lld bytes", (long long)n.k * (long long)each);
		return;
	}
	hop_putf(o, ", %zu bytes for each of ", each);
	hop_size_print(o, n, NULL, 0);
}

/* How many elements the store of address `a` writes, each once. */
static hop_size elements(pass *p, const hop_addr *a)
{
	hop_size n = hop_size_int(1);
	for (int i = 0; i < p->nnest; i++)
		if (hop_addr_term(a, p->nest[i]->dst) >= 0)
			n = hop_size_mul(p->l->env, n, p->nest[i]->extent);
	return n;
}

static const char *why(pass *p, const hop_addr *from, const hop_addr *to)
{
	const hop_lbuf *s = &p->fn->f.buf[from->buf], *d = &p->fn->f.buf[to->buf];
	hop_addr moved = *from;
	moved.buf = to->buf;
	bool same = hop_addr_eq(&moved, to);
	if (!p->deep && p->stepped[to->buf])
		return "a loop begins with it and changes it";
	if (hop_size_const(s->count) && hop_size_const(d->count) && d->count.k > s->count.k)
		return "it becomes a part of something larger";
	if (same && p->deep && p->stepped[from->buf])
		return "a carry takes what another one was";
	if (same && p->entry && is_input(p, from->buf) && is_result(p, to->buf))
		return "results have memory of their own";
	if (!same && hop_size_eq(s->count, d->count))
		return "its elements are wanted in another order";
	if (!same)
		return "a part of it is wanted by itself";
	return is_result(p, to->buf) ? "it is a result, and something else too" : "both are needed";
}

/* ---- going through ---- */

static void say(pass *p, const hop_stmt *load, const hop_stmt *store)
{
	const hop_addr *from = &load->u.addr, *to = &store->u.addr;
	hop_buf *o = p->l->opt->copies;
	if (from->buf == to->buf || p->noted[from->buf])
		return;
	put_line(p, o, store->loc ? store->loc : load->loc);
	put_buf(p, o, from->buf);
	hop_put(o, is_result(p, to->buf) ? " is copied to " : " is copied");
	if (is_result(p, to->buf))
		put_buf(p, o, to->buf);
	put_bytes(p, o, to->buf, elements(p, to));
	hop_putf(o, "%s: %s\n", p->deep ? " each trip" : "", why(p, from, to));
	p->n++;
	p->nloop += p->deep > 0;
}

static void visit(pass *p, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		bool par = s->kind == HOP_L_LOOP && s->loop != HOP_LOOP_SEQ;
		bool steps = s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && !par);
		int had = p->nnest;
		if (s->kind == HOP_L_OP && s->sop == HOP_SOP_load)
			p->def[s->dst] = s;
		if (s->kind == HOP_L_OP && s->sop == HOP_SOP_store && p->def[s->a[0]] &&
		    p->def[s->a[0]]->dtype == s->dtype)
			say(p, p->def[s->a[0]], s);
		if (par && p->nnest < (int)(sizeof p->nest / sizeof *p->nest))
			p->nest[p->nnest++] = s;
		if (steps)
			p->nnest = 0;
		p->deep += steps;
		for (int i = 0, n = hop_stmt_blocks(s, sub); i < n; i++)
			visit(p, sub[i]);
		p->deep -= steps;
		p->nnest = had;
	}
}

/* Carries, as they were noted, unless fusion has brought them to their place since. */
static void carries(pass *p)
{
	for (const hop_lcopy *c = p->l->all->copies; c; c = c->next) {
		hop_buf *o = p->l->opt->copies;
		if (c->fn != p->fn || !p->read[c->buf])
			continue;
		put_line(p, o, c->loc);
		hop_putf(o, "%s %d is copied", c->what, c->i);
		put_bytes(p, o, c->buf, p->fn->f.buf[c->buf].count);
		hop_putf(o, " each trip: %s\n", c->why);
		p->n++;
		p->nloop++;
	}
}

void hop_lower_copies(hop_lower *l, const hop_lfn *entry)
{
	pass p = { .l = l };
	if (!l->opt->copies)
		return;
	for (hop_lfn *fn = l->all->fns; fn; fn = fn->next) {
		begin(&p, fn);
		p.entry = fn == entry;
		carries(&p);
		visit(&p, &fn->f.body);
	}
	if (p.n)
		hop_putf(l->opt->copies, "%d %s, %d of them in loops\n", p.n, p.n == 1 ? "copy" : "copies",
		         p.nloop);
}
