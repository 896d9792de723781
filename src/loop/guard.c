/* guard.c -- the tests of a function: which checks are known to hold and which become
 * statements, and where. A test stands where its body starts, or behind the node that binds
 * the last size it waits for; from there on nothing leaves the block, since it may rest on
 * the test. Decides nothing about what a check says. */
#include "loop/lower.h"

static int nsym(const hop_lower *l)
{
	return l->q.b.f->nsym + l->q.b.f->nlocal;
}

static enum hop_truth say(hop_lower *l, const hop_check *c)
{
	return hop_facts_say(&l->facts, l->range, nsym(l), c->rel, c->a, c->b);
}

/* Check i of the instance's graph over the symbols of the function. */
static hop_check moved(hop_lower *l, const hop_linst *in, uint32_t i)
{
	hop_check c = in->g->check[i];
	int n = (int)(in->g->nsym + in->g->nlocal);
	c.a = hop_size_subst(l->env, c.a, in->smap, n);
	c.b = hop_size_subst(l->env, c.b, in->smap, n);
	return c;
}

static void test(hop_lower *l, hop_check c)
{
	hop_prog *p = l->prog;
	if (say(l, &c) == HOP_ALWAYS)
		return;
	p->check = hop_arena_grow(p->a, p->check, sizeof *p->check, (size_t)p->ncheck + 1,
	                          &l->all->checkcap);
	p->check[p->ncheck] = (hop_lcheck){ c, !hop_size_fits(c.a, l->range, nsym(l)) ||
	                                       !hop_size_fits(c.b, l->range, nsym(l)) };
	l->q.b.block = l->q.cur->block;
	hop_l_stmt(&l->q.b, HOP_L_CHECK)->callee = p->ncheck++;
	l->q.cur->barrier = l->q.cur;
	if (l->q.cur == l->top)
		hop_facts_learn(&l->facts, c.rel, c.a, c.b);
}

static void consider(hop_lower *l, hop_linst *in, const hop_check *c)
{
	enum hop_truth t = say(l, c);
	in->tests |= t != HOP_ALWAYS;
	in->dead |= t == HOP_NEVER;
}

void hop_guard_look(hop_lower *l, hop_linst *in)
{
	const hop_graph *g = in->g;
	hop_check r[2];
	for (uint32_t i = 0; i < g->nsym; i++)
		for (int k = hop_graph_ranges(g, i, in->op, in->smap[i], r); k-- > 0;)
			consider(l, in, &r[k]);
	for (uint32_t i = 0; i < g->ncheck; i++) {
		hop_check c = moved(l, in, i);
		if (hop_check_waits(&g->check[i]) > (int)g->nsym)
			in->tests = true;
		else
			consider(l, in, &c);
	}
}

/* Elements of values that wait for these symbols. */
static void limits(hop_lower *l, hop_linst *in, int from, int to)
{
	const hop_graph *g = in->g;
	for (uint32_t v = 0; v < g->nvalue; v++) {
		const hop_type *t = g->type[v];
		int w = 0;
		for (int i = 0; i < t->rank; i++)
			w = hop_size_nsym(t->dim[i]) > w ? hop_size_nsym(t->dim[i]) : w;
		if (t->rank && w <= to && (w > from || !from))
			hop_guard_limit(l, hop_guard_room(l, hop_type_subst(l->env, t, in->smap,
			                                  (int)(g->nsym + g->nlocal))));
	}
}

void hop_guard_emit(hop_lower *l, hop_linst *in, int from, int to)
{
	const hop_graph *g = in->g;
	hop_loc loc = l->q.b.loc;
	hop_check r[2];
	for (uint32_t i = 0; !from && i < g->nsym; i++)
		for (int k = hop_graph_ranges(g, i, in->op, in->smap[i], r); k-- > 0;) {
			r[k].loc = loc;
			test(l, r[k]);
		}
	for (uint32_t i = 0; i < g->ncheck; i++) {
		int w = hop_check_waits(&g->check[i]);
		if (w > to || (w <= from && from))
			continue;
		l->q.b.loc = g->check[i].loc;
		test(l, moved(l, in, i));
	}
	l->q.b.loc = loc;
	if (!in->dead)
		limits(l, in, from, to);
}

/* What was tested since the function was entered does not count: the frame is there before. */
hop_size hop_guard_room(hop_lower *l, const hop_type *t)
{
	hop_size n = hop_size_int(1), zero = hop_size_int(0);
	for (int i = 0; i < t->rank; i++) {
		hop_size d = t->dim[i];
		if (hop_facts_say(&l->given, l->range, nsym(l), HOP_LE, zero, d) != HOP_ALWAYS)
			d = hop_size_max(l->env, zero, d);
		n = hop_size_mul(l->env, n, d);
	}
	return n;
}

static hop_check limit(hop_size c, hop_loc loc)
{
	return (hop_check){ .a = c, .b = hop_size_int(HOP_SIZE_MAX), .rel = HOP_LE, .loc = loc,
	                    .what = "a value has {0} elements, the most is {1}" };
}

void hop_guard_limit(hop_lower *l, hop_size c)
{
	hop_lfn *f = l->fn;
	hop_check k = limit(c, l->q.b.loc);
	/* with room for the bytes of an element */
	if (hop_size_fits(hop_size_mul(l->env, c, hop_size_int(16)), l->range, nsym(l)) ||
	    say(l, &k) == HOP_ALWAYS)
		return;
	if (hop_size_nsym(c) > l->q.b.f->nsym) {
		test(l, k);
		return;
	}
	f->limit = hop_arena_grow(l->w, f->limit, sizeof *f->limit, f->nlimit + 1, &f->limitcap);
	f->limit[f->nlimit++] = c;
	hop_facts_learn(&l->facts, HOP_LE, k.a, k.b);
}

void hop_guard_call(hop_lower *l, int op, const hop_graph *g, const hop_size *sargs,
                    const hop_lfn *fn, const hop_size *sizes, int nsize)
{
	hop_check r[2];
	for (uint32_t i = 0; i < g->nsym; i++)
		for (int k = hop_graph_ranges(g, i, op, sargs[i], r); k-- > 0;) {
			r[k].loc = l->q.b.loc;
			test(l, r[k]);
		}
	for (size_t i = 0; i < fn->nlimit; i++)
		hop_guard_limit(l, hop_size_subst(l->env, fn->limit[i], sizes, nsize));
}

void hop_guard_entry(hop_lower *l, const hop_graph *g, const hop_lfn *fn)
{
	hop_prog *p = l->prog;
	p->entry = HOP_NEWN(l->q.a, hop_check, g->ncheck + fn->nlimit);
	for (uint32_t i = 0; i < g->ncheck; i++)
		if (hop_check_waits(&g->check[i]) <= (int)g->nsym)
			p->entry[p->nentry++] = g->check[i];
	for (size_t i = 0; i < fn->nlimit; i++)
		p->entry[p->nentry++] = limit(fn->limit[i], 0);
}
