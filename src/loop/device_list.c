/* device_list.c -- loops in order and branches that a host's list holds, each trip kernels of its own:
 * where a trip moves so much that a launch for each nest costs little, and each nest gains by the team
 * that fits it. The device decides whether there is another trip: a byte, written by the last kernel
 * before the loop and by the last of each trip. About a branch one before it decides, and that is all.
 *
 *	decide                          store byte
 *	while { load byte } { trip; decide }
 *	while once { load byte } { side }
 *
 * Where the run time is asked anything they stay in a kernel: only there they can be left.
 *
 * needs: tiles but products, and carries, as loops.  keeps: meaning.  fills: hosted, decides */
#include "loop/device.h"

#include <float.h>

/* A product keeps the device as long as moving one byte for so many of its steps. A trip that moves so
 * many times what makes it worth it is not told ahead: then each is there when its kernels run, and a
 * library may do its products. */
enum { STEPS_A_BYTE = 5, LONG = 8 };

/* ---- what a trip moves ---- */

static double times(hop_size n)
{
	return hop_size_const(n) && n.k > 0 ? (double)n.k : 0;
}

static double bytes_of(const hop_lfunc *f, const hop_stmt *s, double n);

static double bytes_in(const hop_lfunc *f, const hop_block *b, double n)
{
	double sum = 0;
	for (const hop_stmt *s = b->first; s; s = s->next)
		sum += bytes_of(f, s, n);
	return sum;
}

/* Of a statement that is run n times: no buffer counts for more than it has. A size that is not known
 * counts for nothing. */
static double bytes_of(const hop_lfunc *f, const hop_stmt *s, double n)
{
	if (s->kind == HOP_L_OP && hop_sop_memory(s->sop)) {
		const hop_lbuf *b = &f->buf[s->u.addr.buf];
		double most = times(b->count);
		return (n < most ? n : most) * (double)hop_dtype_bytes(b->dtype);
	}
	if (s->kind == HOP_L_TILE) {
		for (int i = 0; i < s->tile->of->nextent; i++)
			n *= times(s->tile->extent[i]);
		return n / STEPS_A_BYTE;
	}
	if (s->kind == HOP_L_LOOP)
		n *= times(s->extent);
	return bytes_in(f, &s->body, n) + bytes_in(f, &s->other, n);
}

/* ---- which loops ---- */

static bool is_steps(const hop_stmt *s)
{
	return s->kind == HOP_L_WHILE || (s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_SEQ);
}

static bool asks(const hop_dcost *cost, const hop_block *b)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_EFFECT || s->kind == HOP_L_GROW || s->kind == HOP_L_CHECK ||
		    (s->kind == HOP_L_CALL && cost[s->callee].asks) || asks(cost, &s->body) ||
		    asks(cost, &s->other))
			return true;
	return false;
}

static bool is_worth(const hop_machine *m, const hop_lfunc *f, const hop_dcost *cost, hop_stmt *s);
static bool is_worth_side(const hop_machine *m, const hop_lfunc *f, const hop_dcost *cost,
                          const hop_block *b);

static bool is_worth_branch(const hop_machine *m, const hop_lfunc *f, const hop_dcost *cost,
                            const hop_stmt *s)
{
	return s->kind == HOP_L_IF && !s->rare && (is_worth_side(m, f, cost, &s->body) ||
	                                           is_worth_side(m, f, cost, &s->other));
}

/* What is in loops in order, or in branches, is one kernel, and does not gain, unless it is worth it by
 * itself. */
static double moves(const hop_machine *m, const hop_lfunc *f, const hop_dcost *cost, const hop_block *b)
{
	double sum = 0;
	for (hop_stmt *s = b->first; s; s = s->next) {
		if (hop_stmt_is_nest(s))
			sum += bytes_of(f, s, 1);
		else if (s->kind == HOP_L_CALL)
			sum += cost[s->callee].moves;
		else if (is_steps(s) && is_worth(m, f, cost, s))
			return DBL_MAX;
		else if (is_worth_branch(m, f, cost, s))
			return DBL_MAX;
	}
	return sum;
}

static bool is_worth_side(const hop_machine *m, const hop_lfunc *f, const hop_dcost *cost,
                          const hop_block *b)
{
	return b->first && !asks(cost, b) && moves(m, f, cost, b) >= (double)m->loops;
}

static void mark(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	(void)t;
	if (def)
		((bool *)user)[*r] = true;
}

typedef struct crossing { const bool *made; bool any; } crossing;

static void cross(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	crossing *c = user;
	(void)t;
	c->any |= !def && c->made[*r];
}

/* The trip reads what decided about it: then that cannot be done at the end of the last one. */
static bool is_read(hop_dfunc *d, hop_stmt *s)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	bool *made = HOP_NEWN(&d->e->tmp, bool, d->f->nreg + 1);
	crossing c = { made, false };
	hop_block_regs(&s->other, mark, made);
	hop_block_regs(&s->body, cross, &c);
	hop_rewind(&d->e->tmp, m);
	return c.any;
}

static bool is_worth(const hop_machine *m, const hop_lfunc *f, const hop_dcost *cost, hop_stmt *s)
{
	if (!is_steps(s) || s->ncarry || s->apart || s->loose || asks(cost, &s->body) ||
	    asks(cost, &s->other))
		return false;
	double n = moves(m, f, cost, &s->body);
	return n + moves(m, f, cost, &s->other) >= (double)m->loops;
}

void hop_device_cost(const hop_machine *m, const hop_prog *p, hop_dcost *out)
{
	for (int i = p->nfunc - 1; m->loops && i >= 0; i--) {
		out[i].asks = asks(out, &p->func[i].body);
		out[i].moves = moves(m, &p->func[i], out, &p->func[i].body);
	}
}

/* ---- making them ---- */

static hop_addr whole(int buf)
{
	return (hop_addr){ .buf = buf, .offset = hop_size_int(0) };
}

static hop_reg two(hop_lbuild *b, enum hop_sop s, hop_dtype t, hop_reg x, hop_reg y)
{
	return hop_l_op(b, s, t, 2, (hop_reg[]){ x, y });
}

/* The steps of a scan, counted in memory; what a step is given is made again wherever it is wanted. */
static void count_steps(hop_lbuild *b, hop_dfunc *d, const hop_stmt *s, int go, hop_block *trip)
{
	hop_block own = { 0 };
	hop_addr at = whole(hop_device_scratch(d, HOP_i64, hop_size_int(1))), to = whole(go);
	d->f->buf[at.buf].counts = true;
	hop_reg n = s->bound ? s->bound : hop_l_size(b, s->extent);
	hop_reg zero = hop_l_consti(b, HOP_i64, 0), one = hop_l_consti(b, HOP_i64, 1);
	hop_l_store(b, HOP_i64, &at, s->reverse ? two(b, HOP_SOP_sub, HOP_i64, n, one) : zero);
	hop_l_store(b, HOP_bool, &to, two(b, HOP_SOP_lt, HOP_bool, zero, n));
	hop_block *outer = b->block;
	b->block = &own;
	hop_stmt *load = hop_l_stmt(b, HOP_L_OP);
	load->sop = HOP_SOP_load;
	load->dtype = HOP_i64;
	load->dst = s->dst;
	load->u.addr = at;
	hop_block_join(&own, trip);
	hop_reg next = two(b, s->reverse ? HOP_SOP_sub : HOP_SOP_add, HOP_i64, s->dst, one);
	hop_l_store(b, HOP_i64, &at, next);
	hop_l_store(b, HOP_bool, &to, s->reverse ? two(b, HOP_SOP_le, HOP_bool, zero, next) :
	            two(b, HOP_SOP_lt, HOP_bool, next, n));
	b->block = outer;
	*trip = own;
}

static void decide_twice(hop_lbuild *b, const hop_stmt *s, int go, hop_block *trip)
{
	hop_addr to = whole(go);
	hop_block first = hop_block_copy(b->a, &s->other), again = hop_block_copy(b->a, &s->other);
	hop_block_join(b->block, &first);
	hop_l_store(b, HOP_bool, &to, s->a[0]);
	hop_block_join(trip, &again);
	hop_block *outer = b->block;
	b->block = trip;
	hop_l_store(b, HOP_bool, &to, s->a[0]);
	b->block = outer;
}

/* ---- fewer kernels ---- */

/* What is small and between nests would be a kernel of its own. As far as nothing needs it before, it
 * goes to the end of the trip, where what decides is one anyway. */
typedef struct late {
	hop_dfunc *d;
	hop_block  held;               /* in order */
	bool      *made;               /* [nreg+1] by one of them */
	bool       met;
} late;

static void meet_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	late *l = user;
	(void)t;
	l->met |= !def && l->made[*r];
}

static void meet_addr(void *user, hop_addr *a, bool is_write)
{
	late *l = user;
	for (const hop_stmt *s = l->held.first; s && !l->met; s = s->next) {
		bool loads = s->sop == HOP_SOP_load, stores = hop_sop_writes(s->sop);
		l->met = (stores || (loads && is_write)) && hop_device_meet(l->d, s->u.addr.buf, a->buf);
	}
}

static bool needs_held(late *l, hop_stmt *s)
{
	l->met = s->kind == HOP_L_CALL && l->held.first;       /* it may touch any temporary */
	hop_stmt_regs(s, meet_reg, l);
	if (s->kind != HOP_L_OP && !l->met)
		hop_stmt_all_addrs(l->d->f, s, meet_addr, l);
	return l->met;
}

/* What decides, and sizes that are bound: any statement may rest on these without a trace of it. */
static bool is_bound(const hop_lfunc *f, int buf)
{
	bool bound = f->buf[buf].decides;
	for (int i = 0; i < f->nlocal; i++)
		bound |= f->local[i] == buf;
	return bound;
}

/* Memory, and what rests on what is held. */
static bool can_wait(late *l, hop_stmt *s)
{
	bool memory = hop_sop_memory(s->sop);
	if (s->kind != HOP_L_OP || (memory && is_bound(l->d->f, s->u.addr.buf)))
		return false;
	return needs_held(l, s) || (memory && !(s->sop == HOP_SOP_load &&
	                                        l->d->f->buf[s->u.addr.buf].counts));
}

static void let_wait(hop_dfunc *d, hop_block *b)
{
	hop_mark m = hop_mark_at(&d->e->tmp);
	hop_block out = { 0 };
	late l = { .d = d, .made = HOP_NEWN(&d->e->tmp, bool, d->f->nreg + 1) };
	for (hop_stmt *s = b->first, *next; s; s = next) {
		next = s->next;
		if (can_wait(&l, s)) {
			l.made[s->dst] |= s->dst != 0;
			hop_block_append(&l.held, s);
			continue;
		}
		bool ends = s->kind == HOP_L_OP && s->sop == HOP_SOP_store;    /* a bound one */
		if (l.held.first && (ends || needs_held(&l, s))) {
			hop_block_join(&out, &l.held);
			l.held = (hop_block){ 0 };
		}
		hop_block_append(&out, s);
	}
	hop_block_join(&out, &l.held);         /* of a branch: nothing decides at its end */
	*b = out;
	hop_rewind(&d->e->tmp, m);
}

void hop_device_prepare(hop_dfunc *d, hop_block *b)
{
	hop_device_order(d, b);
	hop_device_split_columns(d, b);
	hop_device_split_products(d, b);
}

static int decider(hop_dfunc *d)
{
	int go = hop_device_scratch(d, HOP_bool, hop_size_int(1));
	d->f->buf[go].decides = true;
	return go;
}

/* The loop at the end of b: the trip ends in what decides about the next, if there may be one. */
static hop_stmt *put_loop(hop_lbuild *b, hop_dfunc *d, const hop_dcost *cost, int go, hop_block trip)
{
	hop_block other = { 0 }, *out = b->block;
	hop_addr at = whole(go);
	hop_device_list(d, cost, &trip);
	let_wait(d, &trip);
	b->block = &other;
	hop_reg r = hop_l_load(b, HOP_bool, &at);
	b->block = out;
	hop_stmt *w = hop_l_stmt(b, HOP_L_WHILE);
	w->hosted = true;
	w->a[0] = r;
	w->other = other;
	w->body = trip;
	w->bind = (hop_bind){ .each = 1 };
	return w;
}

static void host_loop(hop_dfunc *d, const hop_dcost *cost, hop_stmt *s, hop_block *out)
{
	hop_lbuild b = { .env = d->e, .a = d->a, .f = d->f, .block = out, .loc = s->loc };
	int go = decider(d);
	hop_block trip = s->body;
	bool is_long = !d->m->small && moves(d->m, d->f, cost, &trip) >= (double)LONG * (double)d->m->loops;
	hop_device_prepare(d, &trip);
	hop_device_prepare(d, &s->other);
	if (s->kind == HOP_L_WHILE)
		decide_twice(&b, s, go, &trip);
	else
		count_steps(&b, d, s, go, &trip);
	bool few = s->kind == HOP_L_LOOP && hop_size_const(s->extent) && s->extent.k < HOP_DEVICE_AHEAD;
	uint8_t each = !few ? HOP_DEVICE_AHEAD : (uint8_t)(s->extent.k > 1 ? s->extent.k : 1);
	hop_stmt *w = put_loop(&b, d, cost, go, trip);
	w->bind.each = is_long || s->bind.each == 1 ? 1 : each;
	if (s->kind == HOP_L_LOOP && !s->bound)
		w->extent = s->extent;
}

/* ---- branches ---- */

static void host_side(hop_dfunc *d, const hop_dcost *cost, hop_lbuild *b, hop_reg when, hop_block side)
{
	int go = decider(d);
	hop_addr to = whole(go);
	hop_l_store(b, HOP_bool, &to, when);
	hop_device_prepare(d, &side);
	put_loop(b, d, cost, go, side)->once = true;
}

/* Each side by itself: of the list, or, if it is not worth it, a branch of a kernel. */
static void host_branch(hop_dfunc *d, const hop_dcost *cost, hop_stmt *s, hop_block *out)
{
	hop_lbuild b = { .env = d->e, .a = d->a, .f = d->f, .block = out, .loc = s->loc };
	hop_reg p = s->a[0];
	for (int side = 0; side < 2; side++) {
		hop_block own = side ? s->other : s->body;
		hop_reg when = side ? hop_l_op(&b, HOP_SOP_not, HOP_bool, 1, &p) : p;
		if (is_worth_side(d->m, d->f, cost, &own)) {
			host_side(d, cost, &b, when, own);
		} else if (own.first) {
			hop_stmt *q = hop_l_stmt(&b, HOP_L_IF);
			q->na = s->na;
			q->a[0] = when;
			q->body = own;
		}
	}
}

void hop_device_list(hop_dfunc *d, const hop_dcost *cost, hop_block *b)
{
	hop_block out = { 0 };
	for (hop_stmt *s = b->first, *next; s; s = next) {
		next = s->next;
		s->next = NULL;
		if (d->m->loops && is_worth(d->m, d->f, cost, s) && !is_read(d, s))
			host_loop(d, cost, s, &out);
		else if (d->m->loops && is_worth_branch(d->m, d->f, cost, s))
			host_branch(d, cost, s, &out);
		else
			hop_block_append(&out, s);
	}
	*b = out;
}
