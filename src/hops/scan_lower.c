/* scan_lower.c -- lowering of scan: one sequential loop, xs read and ys written at the
 * step's index. A scan that may stop is a loop with a test. Carries that only add up
 * products, as gradients of weights do, leave the loop: the factors of all steps are kept
 * and one large product follows. */
#include "hops/hops.h"
#include "hops/loop_lower.h"

enum { STACK_MIN = 8, STACK_MAX = 1 << 24 };     /* steps; elements kept for a factor */

/* A value of the body kept for all steps. */
typedef struct kept {
	hop_val  v;
	hop_view at;                  /* with the steps in front */
	bool     store;               /* the step has to copy it: it is a carry */
} kept;

/* A carry that becomes one product after the loop. */
typedef struct late {
	int             carry;
	const hop_node *dot;
	int             a, b;         /* factors, in the list of kept values */
} late;

typedef struct scan {
	const hop_node *n;
	hop_steps    a;
	int          nc, nx, ny, first;   /* first: operand of the first carry */
	hop_size     length;
	hop_carries  c;
	hop_view    *ys, *dest;
	hop_linst   *in;
	int          nkept, nlate;
	kept        *kept;            /* [2 * nc] */
	late        *late;            /* [nc] */
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

/* ---- products that can wait ---- */

static int uses_of(const hop_graph *g, hop_val v)
{
	int n = 0;

	for (uint32_t i = 0; i < g->nnode; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++)
			n += hop_same(g->node[i].in[k], v);
	for (uint32_t i = 0; i < g->nout; i++)
		n += hop_same(g->out[i], v);
	return n;
}

/* new = old + dot, and neither is used for anything else. */
static const hop_node *only_adds(const hop_graph *g, int i)
{
	hop_val  v = g->out[i], p = { (uint32_t)i };
	uint32_t d = g->def[v.id];

	if (d == UINT32_MAX || g->node[d].op != HOP_OP_add || uses_of(g, v) != 1 ||
	    uses_of(g, p) != 1)
		return NULL;
	const hop_val *in = g->node[d].in;
	if (!hop_same(in[0], p) && !hop_same(in[1], p))
		return NULL;
	v = in[hop_same(in[0], p)];
	d = g->def[v.id];
	if (d == UINT32_MAX || g->node[d].op != HOP_OP_dot || uses_of(g, v) != 1)
		return NULL;
	return &g->node[d];
}

/* A factor of all steps: an operand that has them already, or a new buffer. -1 = no. */
static int keep(hop_lower *l, scan *s, hop_val v)
{
	const hop_graph *g = s->in->g;
	kept            *k = &s->kept[s->nkept];
	hop_lval        *x = &s->in->val[v.id];

	for (int i = 0; i < s->nkept; i++)
		if (hop_same(s->kept[i].v, v))
			return i;
	*k = (kept){ .v = v };
	if (v.id >= (uint32_t)s->nc && v.id < (uint32_t)(s->nc + s->nx)) {
		if (hop_lower_arg_view(l, s->n, s->first + (int)v.id, false, &k->at))
			return -1;
		return s->nkept++;
	}
	if (v.id < g->nparam ? v.id >= (uint32_t)s->nc : !g->node[g->def[v.id]].nin)
		return -1;
	const hop_type *t = hop_type_prepend(l->env,
		hop_type_subst(l->env, g->type[v.id], s->in->smap, (int)(g->nsym + g->nlocal)),
		s->length);
	hop_size c = hop_type_count(l->env, t);
	if (hop_size_nsym(c) > l->b.f->nsym || (hop_size_const(c) && c.k > STACK_MAX))
		return -1;
	k->at = hop_lower_temp(l, t);
	k->store = v.id < g->nparam;
	if (!k->store) {
		x->has_dest = true;
		x->dest = k->at;
	}
	return s->nkept++;
}

/* After the carries have their places, before anything is decided. */
static void find_late(hop_lower *l, scan *s)
{
	s->kept = HOP_NEWN(l->w, kept, 2 * s->nc);
	s->late = HOP_NEWN(l->w, late, s->nc);
	if (s->a.lead || s->a.stops || s->in->g->has_effect || s->in->tests ||
	    (hop_size_const(s->length) && s->length.k < STACK_MIN))
		return;
	for (int i = 0; i < s->nc; i++) {
		const hop_node *d = only_adds(s->in->g, i);
		if (!d || !hop_dtype_float((hop_dtype)s->c.type[i]->dtype))
			continue;
		late t = { i, d, keep(l, s, d->in[0]), 0 };
		t.b = t.a < 0 ? -1 : keep(l, s, d->in[1]);
		if (t.b < 0 || !hop_lower_dot_steps(l, s->in, d, s->length, &s->kept[t.a].at,
		                                    &s->kept[t.b].at, NULL))
			continue;
		s->late[s->nlate++] = t;
		s->c.next[i] = s->c.now[i];
		s->dest[i].buf = HOP_VIEW_NONE;
	}
}

/* In a step at t: where the factors go. */
static void keep_step(hop_lower *l, scan *s, const hop_ix *t)
{
	for (int i = 0; i < s->nkept; i++) {
		kept            *k = &s->kept[i];
		hop_lval        *x = &s->in->val[k->v.id];
		const hop_type  *ty;
		const hop_ix    *y[HOP_MAXRANK];
		if (k->store) {
			ty = s->c.type[k->v.id];
			hop_view to = hop_view_lead(l, &k->at, t);
			const hop_view *from = &s->c.now[k->v.id];
			int      m = hop_lower_open_dims(l, ty->rank, ty->dim, y);
			hop_reg  r = hop_lower_load(l, (hop_dtype)ty->dtype, from->buf,
			                            hop_view_at(l, from, ty->rank, y), l->cur);
			hop_lower_put(l, (hop_dtype)ty->dtype, to.buf,
			              hop_view_at(l, &to, ty->rank, y), r);
			hop_lower_close_n(l, m);
		} else if (x->has_dest && x->dest.buf == k->at.buf) {
			x->dest = hop_view_lead(l, &k->at, t);
		}
	}
}

static void late_products(hop_lower *l, scan *s)
{
	for (int i = 0; i < s->nlate; i++) {
		const late *t = &s->late[i];
		bool ok = hop_lower_dot_steps(l, s->in, t->dot, s->length, &s->kept[t->a].at,
		                              &s->kept[t->b].at, &s->c.now[t->carry]);
		HOP_ASSERT(ok);
	}
}

/* ---- steps ---- */

/* What no step changes, before the loop. */
static hop_status before(hop_lower *l, scan *s)
{
	bool *fixed = HOP_NEWN(l->w, bool, s->in->g->nparam);

	for (int i = 0; i < (int)s->in->g->nparam; i++)
		fixed[i] = i >= s->nc + s->nx;
	bind(l, s, hop_ix_size(l, hop_size_of(0)));
	hop_carries_plan(l, &s->c, s->in, s->dest);
	for (int k = 0; k < s->ny; k++)
		s->dest[s->nc + k] = s->ys[k];
	if (s->a.stops)
		s->dest[s->nc + s->ny].buf = HOP_VIEW_REG;
	find_late(l, s);
	HOP_TRY(hop_lower_decide(l, s->in, s->dest, fixed));
	return hop_lower_emit(l, s->in, s->dest, true);
}

static hop_status step(hop_lower *l, scan *s, const hop_ix *t)
{
	bind(l, s, t);
	for (int k = 0; k < s->ny; k++) {
		hop_val   v = s->in->g->out[s->nc + k];
		hop_lval *x = &s->in->val[v.id];
		s->dest[s->nc + k] = hop_view_lead(l, &s->ys[k], t);
		if (x->has_dest && x->dest.buf == s->ys[k].buf)
			x->dest = s->dest[s->nc + k];
	}
	keep_step(l, s, t);
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

static hop_status plain(hop_lower *l, scan *s)
{
	hop_reg       n = count(l, s);
	const hop_ix *t = hop_lower_open(l, HOP_LOOP_SEQ, s->length, NULL);

	l->cur->stmt->bound = n;
	l->cur->stmt->reverse = s->a.reverse;
	HOP_TRY(step(l, s, t));
	hop_carries_step(l, s->n, &s->c);
	hop_lower_close(l);
	late_products(l, s);
	return HOP_OK;
}

static hop_status stopping(hop_lower *l, scan *s)
{
	hop_reg   n = count(l, s), one = hop_lower_const(l, HOP_i64, 0, 1), t, p, stop;
	hop_view  steps = hop_lower_result(l, s->n, s->nc + s->ny);
	hop_view  go = hop_cell_new(l, HOP_bool, hop_lower_const(l, HOP_bool, 0, 1));
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
		s.ys[k] = hop_lower_result(l, n, s.nc + k);
		if (s.a.lead || s.a.stops)
			hop_lower_fill(l, hop_lower_out(l, n, s.nc + k), &s.ys[k]);
	}
	s.in = hop_lower_body(l, n, s.a.body);
	s.in->many = !hop_size_const(s.length) || s.length.k >= 8;
	HOP_TRY(before(l, &s));
	return s.a.stops ? stopping(l, &s) : plain(l, &s);
}
