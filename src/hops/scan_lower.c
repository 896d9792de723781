/* scan_lower.c -- lowering of scan: one sequential loop, xs read and ys written at the
 * step's index. A scan that may stop is a loop with a test. */
#include "hops/hops.h"
#include "hops/loop_lower.h"

typedef struct scan {
	const hop_node *n;
	hop_steps    a;
	int          nc, nx, ny, first;   /* first: operand of the first carry */
	hop_size     length;
	hop_carries  c;
	hop_view    *ys, *dest;
	hop_linst   *in;
} scan;

static void bind(hop_lower *l, scan *s, const hop_ix *t)
{
	for (int i = 0; i < (int)s->in->g->nparam; i++)
		if (i < s->nc)
			hop_lower_bind_view(l, s->in, i, &s->c.now[i]);
		else
			hop_lower_bind_arg(l, s->n, s->first + i, s->in, i,
			                   i < s->nc + s->nx ? t : NULL);
}

/* What no step changes, before the loop. */
static hop_status before(hop_lower *l, scan *s)
{
	bool *fixed = HOP_NEWN(l->w, bool, s->in->g->nparam);
	for (int i = 0; i < (int)s->in->g->nparam; i++)
		fixed[i] = i >= s->nc + s->nx;
	bind(l, s, hop_ix_size(l, hop_size_int(0)));
	hop_carries_plan(l, &s->c, s->in, s->dest);
	for (int k = 0; k < s->ny; k++)
		s->dest[s->nc + k] = s->ys[k];
	if (s->a.stops)
		s->dest[s->nc + s->ny].buf = HOP_VIEW_REG;
	HOP_TRY(hop_lower_decide(l, s->in, s->dest, fixed));
	return hop_lower_emit(l, s->in, s->dest, true);
}

static hop_status step(hop_lower *l, scan *s, const hop_ix *t)
{
	bind(l, s, t);
	for (int k = 0; k < s->ny; k++) {
		hop_val v = s->in->g->out[s->nc + k];
		hop_lval *x = &s->in->val[v.id];
		s->dest[s->nc + k] = hop_view_lead(l, &s->ys[k], t);
		if (x->has_dest && x->dest.buf == s->ys[k].buf)
			x->dest = s->dest[s->nc + k];
	}
	return hop_lower_emit(l, s->in, s->dest, false);
}

/* The number of steps as a register, 0 when it is the length. */
static hop_reg count(hop_lower *l, scan *s)
{
	hop_reg r;
	if (!s->a.lead)
		return 0;
	r = hop_lower_scalar(l, s->n, 0);
	r = hop_lower_do(l, min, HOP_i64, r, hop_lower_sizereg(l, s->length));
	return hop_lower_do(l, max, HOP_i64, r, hop_lower_const(l, HOP_i64, 0, 0));
}

struct owner { hop_reg var; bool ok; };

static void look(void *user, hop_addr *a, bool is_write)
{
	struct owner *o = user;
	o->ok = o->ok && (!is_write || hop_addr_term(a, o->var) >= 0);
}

/* Operations and loops of them only, as nests have: nothing waits, nobody is called. */
static bool is_nest(hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next)
		if (s->kind != HOP_L_OP &&
		    (s->kind != HOP_L_LOOP || s->loop == HOP_LOOP_SEQ || !is_nest(&s->body)))
			return false;
	return true;
}

/* The steps of a map may run side by side if each writes its own elements only; one that
 * keeps something in a buffer on the way shares it with the others. */
static bool independent(hop_lower *l, hop_stmt *loop)
{
	struct owner o = { loop->dst, true };
	if (is_nest(&loop->body))
		for (hop_stmt *s = loop->body.first; s; s = s->next)
			hop_stmt_all_addrs(l->q.b.f, s, look, &o);
	return o.ok && is_nest(&loop->body);
}

/* Nothing in it that has a state of its own beside buffers, and nothing that the run time is asked. */
static bool is_plain(const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next) {
		bool ok = s->kind == HOP_L_OP || s->kind == HOP_L_LOOP || s->kind == HOP_L_IF ||
		          s->kind == HOP_L_WHILE || s->kind == HOP_L_TILE;
		if (!ok || !is_plain(&s->body) || !is_plain(&s->other))
			return false;
	}
	return true;
}

static hop_status plain(hop_lower *l, scan *s)
{
	hop_reg n = count(l, s);
	const hop_ix *t = hop_lower_open(l, HOP_LOOP_SEQ, s->length, NULL);
	hop_stmt *loop = l->q.cur->stmt;
	loop->bound = n;
	loop->reverse = s->a.reverse;
	HOP_TRY(step(l, s, t));
	hop_carries_step(l, s->n, &s->c);
	hop_lower_close(l);
	if (s->a.unordered && independent(l, loop))
		loop->loop = HOP_LOOP_PAR;
	loop->loose = s->a.unordered && loop->loop == HOP_LOOP_SEQ && is_plain(&loop->body);
	return HOP_OK;
}

static hop_status stopping(hop_lower *l, scan *s)
{
	hop_reg n = count(l, s), one = hop_lower_const(l, HOP_i64, 0, 1), t, p, stop;
	hop_view steps = hop_lower_result(l, s->n, s->nc + s->ny);
	hop_view go = hop_cell_new(l, HOP_bool, hop_lower_const(l, HOP_bool, 0, 1));
	hop_stmt *w = hop_lower_new(l, HOP_L_WHILE);
	if (!n)
		n = hop_lower_sizereg(l, s->length);
	hop_cell_set(l, HOP_i64, &steps, hop_lower_const(l, HOP_i64, 0, 0));
	hop_lower_enter(l, w, &w->other, false);
	t = hop_cell_get(l, HOP_i64, &steps);
	p = hop_lower_do(l, and, HOP_bool, hop_cell_get(l, HOP_bool, &go),
	                 hop_lower_do(l, lt, HOP_bool, t, n));
	w->na = 1;
	w->a[0] = p;
	hop_lower_enter(l, w, &w->body, false);
	t = hop_cell_get(l, HOP_i64, &steps);
	hop_reg at = t;
	if (s->a.reverse)
		at = hop_lower_do(l, sub, HOP_i64, hop_lower_do(l, sub, HOP_i64, n, one), t);
	HOP_TRY(step(l, s, hop_ix_reg(l, at, s->length)));
	stop = hop_lower_out_reg(l, s->in, s->nc + s->ny);
	hop_carries_step(l, s->n, &s->c);
	hop_cell_set(l, HOP_bool, &go, hop_lower_do(l, not, HOP_bool, stop));
	hop_cell_set(l, HOP_i64, &steps, hop_lower_do(l, add, HOP_i64, t, one));
	hop_lower_leave(l, false);
	hop_lower_leave(l, true);
	return HOP_OK;
}

hop_status hop_lower_scan(hop_lower *l, const hop_node *n)
{
	scan s = { .n = n, .a = hop_steps_of(n) };
	s.nc = (int)s.a.nc;
	s.nx = (int)s.a.nx;
	s.first = (int)s.a.lead;
	s.ny = (int)s.a.ny;
	s.length = hop_lower_size(l, s.a.length);
	s.ys = HOP_NEWN(l->w, hop_view, s.ny);
	s.dest = HOP_NEWN(l->w, hop_view, s.a.body->nout);
	HOP_TRY(hop_carries_init(l, n, s.first, s.nc, &s.c));
	for (int k = 0; k < s.ny; k++) {
		s.ys[k] = hop_stack_result(l, n, s.nc + k);
		if (s.a.lead || s.a.stops)
			hop_lower_fill(l, hop_lower_out(l, n, s.nc + k), &s.ys[k]);
	}
	s.in = hop_lower_body(l, n, s.a.body);
	s.in->many = !hop_size_const(s.length) || s.length.k >= 8;
	HOP_TRY(before(l, &s));
	return s.a.stops ? stopping(l, &s) : plain(l, &s);
}
