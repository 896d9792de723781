/* check.c -- conditions on sizes: what is known to hold, what is recorded because it is not,
 * and testing that when the sizes are there. Decides for no op what its conditions are. */
#include "ir/rule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is known ----
 *
 * Facts are differences: d = e + k >= 0 is kept in le under its polynomial e, and of several
 * the one that says most stays; d == 0 is kept in eq under d itself. */

void hop_facts_init(hop_facts *f, hop_env *e, hop_arena *a)
{
	*f = (hop_facts){ .env = e, .le.a = a, .eq.a = a };
}

/* The least k for which e + k >= 0 is known, or NULL. */
static int64_t *bound(const hop_facts *f, hop_size d)
{
	return d.e ? hop_map_get(&f->le, &d.e, sizeof d.e) : NULL;
}

static void learn_bound(hop_facts *f, hop_size d)
{
	if (!d.e)                          /* a constant, or a bad size */
		return;
	int64_t *k = bound(f, d);
	if (!k) {
		k = HOP_NEW(f->le.a, int64_t);
		*k = d.k;
		hop_map_put(&f->le, &d.e, sizeof d.e, k);
	} else if (d.k < *k) {
		*k = d.k;
	}
}

void hop_facts_learn(hop_facts *f, enum hop_rel rel, hop_size x, hop_size y)
{
	hop_size d = hop_size_sub(f->env, y, x), r = hop_size_sub(f->env, x, y);
	learn_bound(f, d);
	if (rel == HOP_LE || hop_size_bad(d))
		return;
	learn_bound(f, r);
	hop_map_put(&f->eq, &d, sizeof d, f);
	hop_map_put(&f->eq, &r, sizeof r, f);
}

void hop_facts_learn_type(hop_facts *f, const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (hop_size_bare(t->dim[i]) < 0)
			learn_bound(f, t->dim[i]);
}

enum hop_truth hop_facts_say(const hop_facts *f, const hop_range *r, int n, enum hop_rel rel,
                             hop_size x, hop_size y)
{
	if (hop_size_eq(x, y) && !hop_size_bad(x))
		return HOP_ALWAYS;
	hop_size d = hop_size_sub(f->env, y, x);
	if (hop_size_bad(d))
		return HOP_MAYBE;
	if (hop_size_const(d))
		return d.k == 0 || (rel == HOP_LE && d.k > 0) ? HOP_ALWAYS : HOP_NEVER;
	if (rel == HOP_EQ) {
		if (hop_map_get(&f->eq, &d, sizeof d))
			return HOP_ALWAYS;
	} else {
		const int64_t *k = bound(f, d);
		if ((k && d.k >= *k) || hop_size_nonneg(f->env, d, r, n))
			return HOP_ALWAYS;
	}
	hop_range in = hop_size_range(d, r, n);
	return in.hi < 0 || (rel == HOP_EQ && in.lo > 0) ? HOP_NEVER : HOP_MAYBE;
}

/* ---- a graph under construction ---- */

static int nsym(const hop_build *b)
{
	return (int)(b->nsym + b->nlocal);
}

enum hop_truth hop_build_holds(hop_build *b, enum hop_rel rel, hop_size x, hop_size y)
{
	return hop_facts_say(&b->facts, b->range, nsym(b), rel, x, y);
}

static void record(hop_build *b, hop_check c)
{
	hop_facts_learn(&b->facts, c.rel, c.a, c.b);
	b->check = hop_arena_grow(&b->arena, b->check, sizeof *b->check, b->ncheck + 1,
	                          &b->checkcap);
	b->check[b->ncheck++] = c;
	b->nwordless += c.op == HOP_OP_nop;
}

static bool is_recorded(const hop_build *b, const hop_check *c)
{
	for (size_t i = 0; i < b->ncheck; i++)
		if (b->check[i].rel == c->rel && hop_size_eq(b->check[i].a, c->a) &&
		    hop_size_eq(b->check[i].b, c->b))
			return true;
	return false;
}

void hop_build_check(hop_build *b, hop_check c)
{
	enum hop_truth t = hop_build_holds(b, c.rel, c.a, c.b);
	if (t == HOP_MAYBE || (t == HOP_NEVER && !is_recorded(b, &c)))
		record(b, c);
}

/* ---- of a graph that is copied or called ---- */

int hop_graph_ranges(const hop_graph *g, uint32_t i, int op, hop_size s, hop_check *out)
{
	hop_range r = g->range[i];
	int n = 0;
	if (hop_size_bad(s))
		return 0;
	out[n++] = (hop_check){ .a = hop_size_int(r.lo), .b = s, .rel = HOP_LE, .op = op,
	                        .what = "a size argument is {1}, the body takes {0} or more" };
	if (r.hi < HOP_SIZE_MAX)
		out[n++] = (hop_check){ .a = s, .b = hop_size_int(r.hi), .rel = HOP_LE, .op = op,
		                        .what = "a size argument is {0}, the body takes at most {1}" };
	return n;
}

/* Check c of g over the symbols of another graph; false when one of them is not there. */
static bool moved(hop_env *e, hop_check *c, const hop_size *map, int nmap)
{
	hop_size a = hop_size_subst(e, c->a, map, nmap), b = hop_size_subst(e, c->b, map, nmap);
	if (hop_size_bad(a) || hop_size_bad(b))
		return false;
	c->a = a;
	c->b = b;
	return true;
}

void hop_build_checks_of(hop_build *b, const hop_graph *g, const hop_size *map, int nmap)
{
	hop_check c[2];
	for (uint32_t i = 0; i < g->nsym; i++)
		for (int n = hop_graph_ranges(g, i, HOP_OP_call, map[i], c); n-- > 0; ) {
			c[n].loc = b->loc;
			hop_build_check(b, c[n]);
		}
	for (uint32_t i = 0; i < g->ncheck; i++) {
		c[0] = g->check[i];
		if (hop_check_waits(&c[0]) <= nmap && moved(b->env, &c[0], map, nmap))
			hop_build_check(b, c[0]);
	}
}

/* The least that is known of any condition of g on these size arguments. Conditions on what
 * g binds itself are unknown. */
static enum hop_truth all_hold(hop_build *b, const hop_graph *g, hop_sizes sargs)
{
	enum hop_truth worst = HOP_ALWAYS, t;
	hop_check c[2];
	for (uint32_t i = 0; i < g->nsym; i++)
		for (int n = hop_graph_ranges(g, i, HOP_OP_call, sargs.v[i], c); n-- > 0; ) {
			t = hop_build_holds(b, HOP_LE, c[n].a, c[n].b);
			worst = t < worst ? t : worst;
		}
	for (uint32_t i = 0; i < g->ncheck; i++) {
		c[0] = g->check[i];
		t = HOP_MAYBE;
		if (hop_size_nsym(c[0].a) <= (int)g->nsym && hop_size_nsym(c[0].b) <= (int)g->nsym &&
		    moved(b->env, &c[0], sargs.v, (int)sargs.n))
			t = hop_build_holds(b, c[0].rel, c[0].a, c[0].b);
		worst = t < worst ? t : worst;
	}
	return worst;
}

bool hop_build_refuses(hop_build *b, const hop_graph *g, hop_sizes sargs)
{
	return all_hold(b, g, sargs) == HOP_NEVER;
}

bool hop_build_accepts(hop_build *b, const hop_graph *g, hop_sizes sargs)
{
	return !g->has_guard && all_hold(b, g, sargs) == HOP_ALWAYS;
}

/* ---- from inference ---- */

void hop_check_put(hop_buf *b, const hop_check *c, const char *const *v)
{
	if (c->as || c->op != HOP_OP_nop)
		hop_putf(b, "%s: ", c->as ? c->as : hop_optab[c->op].name);
	for (const char *s = c->what; *s; s++) {
		if (s[0] == '{' && (s[1] == '0' || s[1] == '1') && s[2] == '}') {
			hop_put(b, v[s[1] - '0']);
			s += 2;
		} else {
			hop_putc(b, *s);
		}
	}
}

static hop_status refuse(hop_build *b, const hop_check *c)
{
	hop_buf l, r, t;
	hop_buf_open(&l, b->env);
	hop_buf_open(&r, b->env);
	hop_buf_open(&t, b->env);
	hop_size_print(&l, c->a, b->symname, nsym(b));
	hop_size_print(&r, c->b, b->symname, nsym(b));
	hop_check_put(&t, c, (const char *const[]){ l.s, r.s });
	hop_status st = hop_fail(b->env, c->loc, HOP_ESHAPE, "%s", t.s);
	hop_buf_free(&t);
	hop_buf_free(&r);
	hop_buf_free(&l);
	return st;
}

hop_status hop_build_refuse(hop_build *b, const hop_graph *g, hop_sizes sargs)
{
	hop_check c[2];
	for (uint32_t i = 0; i < g->nsym; i++)
		for (int n = hop_graph_ranges(g, i, HOP_OP_call, sargs.v[i], c); n-- > 0; )
			if (hop_build_holds(b, HOP_LE, c[n].a, c[n].b) == HOP_NEVER) {
				c[n].loc = b->loc;
				return refuse(b, &c[n]);
			}
	for (uint32_t i = 0; i < g->ncheck; i++) {
		c[0] = g->check[i];
		if (hop_check_waits(&c[0]) <= (int)g->nsym &&
		    moved(b->env, &c[0], sargs.v, (int)sargs.n) &&
		    hop_build_holds(b, c[0].rel, c[0].a, c[0].b) == HOP_NEVER)
			return refuse(b, &c[0]);
	}
	return HOP_OK;
}

/* A check that was read from text gets the words of the op that needs it. */
static void adopt(hop_infer *f, enum hop_rel rel, hop_size x, hop_size y, const char *what)
{
	for (size_t i = 0; i < f->b->ncheck && f->b->nwordless; i++) {
		hop_check *c = &f->b->check[i];
		if (c->op == HOP_OP_nop && c->rel == rel && hop_size_eq(c->a, x) &&
		    hop_size_eq(c->b, y)) {
			f->b->nwordless--;
			c->op = (uint16_t)f->op;
			c->what = what;
			c->loc = f->loc;
		}
	}
}

static hop_status need(hop_infer *f, enum hop_rel rel, hop_size x, hop_size y,
                       const char *what)
{
	hop_check c = { x, y, rel, (uint16_t)f->op, f->loc, what, f->b->as };
	if (hop_size_bad(x) || hop_size_bad(y))
		return hop_infer_fail(f, HOP_ESHAPE, "%s: a size is too large to compute",
		                      f->b->as ? f->b->as : hop_optab[f->op].name);
	switch (hop_build_holds(f->b, rel, x, y)) {
	case HOP_ALWAYS:
		adopt(f, rel, x, y, what);
		return HOP_OK;
	case HOP_NEVER:
		/* In a graph that was accepted one that fails for certain is a matter of run
		 * time: the code may never be reached. */
		if (is_recorded(f->b, &c))
			return HOP_OK;
		if (!f->b->copies || f->b->firm)
			return refuse(f->b, &c);
		break;
	case HOP_MAYBE:
		if (f->b->firm)
			return refuse(f->b, &c);
	}
	record(f->b, c);
	return HOP_OK;
}

hop_status hop_infer_equal(hop_infer *f, hop_size a, hop_size b, const char *what)
{
	return need(f, HOP_EQ, a, b, what);
}

hop_status hop_infer_le(hop_infer *f, hop_size a, hop_size b, const char *what)
{
	return need(f, HOP_LE, a, b, what);
}

bool hop_infer_holds(hop_infer *f, enum hop_rel rel, hop_size a, hop_size b)
{
	if (rel == HOP_EQ && hop_size_eq(a, b))
		return true;
	return !f->b->nwordless && hop_build_holds(f->b, rel, a, b) == HOP_ALWAYS;
}

const char *hop_infer_text(hop_infer *f, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
	return hop_ctx_name(f->env, text, len);
}

/* ---- testing ---- */

bool hop_check_holds(const hop_check *c, const int64_t *syms, int n)
{
	int64_t a, b;
	return hop_size_eval(c->a, syms, n, &a) && hop_size_eval(c->b, syms, n, &b) &&
	       (c->rel == HOP_EQ ? a == b : a <= b);
}

bool hop_check_test(hop_env *e, const hop_check *c, const int64_t *syms, int n)
{
	const hop_size side[2] = { c->a, c->b };
	char text[2][32];
	int64_t v;
	if (hop_check_holds(c, syms, n))
		return true;
	for (int i = 0; i < 2; i++)
		if (hop_size_eval(side[i], syms, n, &v))
			snprintf(text[i], sizeof text[i], "%lld", (long long)v);
		else
			snprintf(text[i], sizeof text[i], "more than 2^63");
	hop_buf t;
	hop_buf_open(&t, e);
	hop_check_put(&t, c, (const char *const[]){ text[0], text[1] });
	(void)!hop_fail(e, c->loc, HOP_ESHAPE, "%s", t.s);
	hop_buf_free(&t);
	return false;
}

int hop_check_waits(const hop_check *c)
{
	int a = hop_size_nsym(c->a), b = hop_size_nsym(c->b);
	return a > b ? a : b;
}

hop_status hop_checks_test(hop_env *e, const hop_graph *g, const int64_t *syms, int from,
                           int to)
{
	for (uint32_t i = 0; i < g->ncheck; i++) {
		int w = hop_check_waits(&g->check[i]);
		if (w > to)
			break;                       /* they are in this order */
		if ((w > from || !from) && !hop_check_test(e, &g->check[i], syms, to))
			return e->diag.st;
	}
	return HOP_OK;
}

hop_status hop_ranges_test(hop_env *e, const hop_node *n, const hop_graph *body,
                           const int64_t *syms)
{
	hop_check c[2];
	for (uint32_t i = 0; i < body->nsym; i++)
		for (int k = hop_graph_ranges(body, i, n->op, hop_size_int(syms[i]), c); k-- > 0; ) {
			c[k].loc = n->loc;
			if (!hop_check_test(e, &c[k], NULL, 0))
				return e->diag.st;
		}
	return HOP_OK;
}

/* ---- sealing ---- */

static int by_wait(const void *p, const void *q)
{
	const hop_check *a = p, *b = q;
	int d = hop_check_waits(a) - hop_check_waits(b);
	if (!d)
		d = (int)a->rel - (int)b->rel;
	if (!d)
		d = hop_size_cmp(a->a, b->a);
	return d ? d : hop_size_cmp(a->b, b->b);
}

uint32_t hop_checks_seal(hop_env *e, hop_check *c, uint32_t n)
{
	hop_mark m = hop_mark_at(&e->tmp);
	hop_map best = { .a = &e->tmp };
	uint32_t left = 0;
	if (n > 1)
		qsort(c, n, sizeof *c, by_wait);
	/* of the bounds on one polynomial the strongest stays */
	for (uint32_t i = 0; i < n; i++) {
		hop_size d = hop_size_sub(e, c[i].b, c[i].a);
		const hop_check **old = c[i].rel == HOP_LE && d.e ? hop_map_get(&best, &d.e, sizeof d.e)
		                                                  : NULL;
		if (c[i].rel != HOP_LE || !d.e)
			continue;
		if (!old) {
			old = HOP_NEW(&e->tmp, const hop_check *);
			*old = &c[i];
			hop_map_put(&best, &d.e, sizeof d.e, old);
		} else if (d.k < hop_size_sub(e, (*old)->b, (*old)->a).k) {
			*old = &c[i];
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		hop_size d = hop_size_sub(e, c[i].b, c[i].a);
		bool keep = !left || by_wait(&c[i], &c[left - 1]);
		if (keep && c[i].rel == HOP_LE && d.e)
			keep = *(const hop_check **)hop_map_get(&best, &d.e, sizeof d.e) == &c[i];
		if (keep)
			c[left++] = c[i];
	}
	hop_rewind(&e->tmp, m);
	return left;
}
