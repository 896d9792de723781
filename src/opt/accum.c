/* accum.c -- products that a scan only adds up: one product behind it.
 *
 * acc' = acc + dot(a, b), with acc read nowhere else, is init + the dot of all a and all b,
 * summed over time as well. This makes the gradient of a recurrent net's weights one
 * matrix product. The order of additions changes; nothing else does.
 *
 * needs: nothing.  keeps: everything.  a and b leave the loop as ys, if they are not xs
 * already, so a product is taken only if what is newly stored each step is no more than
 * twice the accumulator, which each step would otherwise read and write. In a scan that
 * may stop early both always leave as ys: rows of steps not run are zero in ys only. */
#include "opt/opt.h"
#include "opt/rewrite.h"

#include <string.h>

#include "ir/rule.h"

enum { MAX_TERMS = 16 };

/* One product that leaves. */
struct term {
	uint32_t        carry;
	const hop_node *dot;         /* in the body */
	const hop_node *perm;        /* on top of it, or NULL */
	hop_val         x[2];        /* its operands in the body */
	int32_t         y[2];        /* the new ys, or -1: the xs itself */
};

struct scan {
	hop_rw          *w;
	const hop_graph *g;          /* the body */
	hop_form         f;
	bool             all;        /* every step runs */
	uint32_t        *uses;
	const hop_node **reader;     /* [nvalue] the last node that reads a value */
	uint32_t         nterm, nmore;
	struct term      term[MAX_TERMS];
	hop_val         *more;       /* [nmore] values of the body that become ys */
};

static const hop_node *def(const hop_graph *g, hop_val v)
{
	return g->def[v.id] == UINT32_MAX ? NULL : &g->node[g->def[v.id]];
}

/* What a carry adds up. */
struct sum {
	int     n;
	hop_val rest[MAX_TERMS];     /* what is added to the accumulator, innermost first */
	bool    cut;                 /* some of it leaves; the rest is left in rest */
};

/* Follow carry k from its parameter to its result, if it only passes through adds. */
static bool follow(const struct scan *s, uint32_t k, struct sum *sum)
{
	hop_val v = { k };
	for (sum->n = 0; ; sum->n++) {
		if (s->uses[v.id] != 1 || sum->n == MAX_TERMS)
			return false;
		if (hop_same(v, s->g->out[k]))
			return sum->n > 0;
		const hop_node *a = s->reader[v.id];
		if (!a || a->op != HOP_OP_add)
			return false;
		sum->rest[sum->n] = a->in[hop_same(a->in[0], v) ? 1 : 0];
		v = a->out0;
	}
}

static bool is_x(const struct scan *s, hop_val v)
{
	return v.id >= s->f.nc && v.id < s->f.nc + s->f.nx;
}

static double elements(const struct scan *s, hop_val v)
{
	hop_sizes a = s->f.sargs;
	return hop_rw_guess(&s->w->b, hop_type_subst(s->w->env, s->g->type[v.id], a.v,
	                                             (int)a.n));
}

/* The value has the same meaning outside: no size that only the body knows; one a step. */
static bool can_leave(const struct scan *s, hop_val v)
{
	const hop_type *t = s->g->type[v.id];
	if (v.id >= s->f.nc + s->f.nx && v.id < s->g->nparam)
		return false;                /* the same each step: not a product over time */
	for (int i = 0; i < t->rank; i++)
		if (hop_size_nsym(t->dim[i]) > (int)s->g->nsym)
			return false;
	return t->rank < HOP_MAXRANK;
}

static int32_t leave(struct scan *s, hop_val v)
{
	for (uint32_t i = 0; i < s->nmore; i++)
		if (hop_same(s->more[i], v))
			return (int32_t)i;
	s->more[s->nmore] = v;
	return (int32_t)s->nmore++;
}

/* Take v out of the sum of carry k if it is a product that pays. */
static bool take(struct scan *s, uint32_t k, hop_val v)
{
	struct term t = { .carry = k, .dot = def(s->g, v) };
	if (t.dot && t.dot->op == HOP_OP_permute && s->uses[v.id] == 1) {
		t.perm = t.dot;
		t.dot = def(s->g, t.perm->in[0]);
	}
	if (!t.dot || hop_dtype_packed((hop_dtype)s->g->type[k]->dtype) ||   /* rounded each step */
	    t.dot->op != HOP_OP_dot || s->nterm == MAX_TERMS ||
	    s->uses[t.dot->out0.id] != 1 || !can_leave(s, t.dot->in[0]) ||
	    !can_leave(s, t.dot->in[1]))
		return false;
	double store = 0;
	for (int i = 0; i < 2; i++) {
		t.x[i] = t.dot->in[i];
		if (!s->all || !is_x(s, t.x[i]))
			store += elements(s, t.x[i]);
	}
	if (store > 2 * elements(s, s->g->out[k]))
		return false;
	for (int i = 0; i < 2; i++)
		t.y[i] = s->all && is_x(s, t.x[i]) ? -1 : leave(s, t.x[i]);
	s->term[s->nterm++] = t;
	return true;
}

/* The new body: carries without what left, ys, the new ys, stop. */
static hop_status build(struct scan *s, const struct sum *sum, const hop_graph **out_g)
{
	const hop_graph *g = s->g;
	hop_env *e = s->w->env;
	hop_rw w;
	hop_graph *made = NULL;
	uint32_t n = 0, last = s->f.nc + s->f.ny;
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout + s->nmore);
	hop_rw_open(&w, e, g);
	for (uint32_t i = 0; i < g->nnode; i++)
		if (hop_rw_copy(&w, &g->node[i]))
			break;
	for (uint32_t k = 0; k < last; k++) {
		out[n] = w.map[g->out[k].id];
		if (k < s->f.nc && sum[k].cut) {
			out[n] = w.map[k];
			for (int i = 0; i < sum[k].n; i++)
				out[n] = hop_emit(&w.b, add, out[n], w.map[sum[k].rest[i].id]);
		}
		n++;
	}
	for (uint32_t i = 0; i < s->nmore; i++)
		out[n++] = w.map[s->more[i].id];
	if (s->f.stops)
		out[n++] = w.map[g->out[last].id];
	hop_status st = hop_rw_seal(&w, n, out, &made);
	*out_g = made;
	return st;
}

/* The product over all steps, as the loop's graph sees it. */
static hop_val product(struct scan *s, const struct term *t, const hop_val *in,
                       const hop_val *ys)
{
	const struct hop_attr_dot *a = HOP_ATTR(t->dot, dot);
	hop_ints old[4] = { a->lbatch, a->rbatch, a->lsum, a->rsum }, now[4];
	int64_t v[4][HOP_MAXRANK];
	hop_val x[2];
	for (int i = 0; i < 4; i++) {
		int64_t n = 0;
		if (i >= 2)
			v[i][n++] = 0;               /* time is summed too */
		for (int64_t k = 0; k < old[i].n; k++)
			v[i][n++] = old[i].v[k] + 1;
		now[i] = (hop_ints){ n, v[i] };
	}
	for (int i = 0; i < 2; i++)
		x[i] = t->y[i] < 0 ? in[s->f.lead + t->x[i].id] : ys[t->y[i]];
	s->w->b.loc = t->dot->loc;
	hop_val d = hop_emit_dot_like(&s->w->b, x[0], x[1], &(struct hop_attr_dot){
		.lbatch = now[0], .rbatch = now[1], .lsum = now[2], .rsum = now[3], .dtype = a->dtype
	});
	return t->perm ? hop_emit_permute(&s->w->b, d, HOP_ATTR(t->perm, permute)->axes.v) : d;
}

static void count_uses(struct scan *s)
{
	const hop_graph *g = s->g;
	s->uses = HOP_NEWN(&s->w->env->tmp, uint32_t, g->nvalue);
	s->reader = HOP_NEWN(&s->w->env->tmp, const hop_node *, g->nvalue);
	for (uint32_t i = 0; i < g->nnode; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++) {
			s->uses[g->node[i].in[k].id]++;
			s->reader[g->node[i].in[k].id] = &g->node[i];
		}
	for (uint32_t i = 0; i < g->nout; i++)
		s->uses[g->out[i].id]++;
}

static hop_status node(hop_rw *w, const hop_node *n, const hop_val *in, void *attr,
                       hop_val *out)
{
	hop_env *e = w->env;
	struct scan s = { .w = w };
	if (!hop_form_read(n, attr, &s.f) || !s.f.length || !s.f.nc)
		return hop_rw_keep(w, n, in, attr, out);
	s.g = s.f.body[s.f.main];
	if (!hop_build_accepts(&w->b, s.g, s.f.sargs))      /* it may refuse; see lift.c */
		return hop_rw_keep(w, n, in, attr, out);
	s.all = s.f.all;
	s.more = HOP_NEWN(&e->tmp, hop_val, 2 * MAX_TERMS);
	count_uses(&s);
	struct sum *sum = HOP_NEWN(&e->tmp, struct sum, s.f.nc);
	for (uint32_t k = 0; k < s.f.nc; k++) {
		int left = 0;
		if (!follow(&s, k, &sum[k]))
			continue;
		for (int i = 0; i < sum[k].n; i++) {
			if (take(&s, k, sum[k].rest[i]))
				sum[k].cut = true;
			else
				sum[k].rest[left++] = sum[k].rest[i];
		}
		sum[k].n = left;
	}
	if (!s.nterm)
		return hop_rw_keep(w, n, in, attr, out);
	HOP_TRY(build(&s, sum, &s.f.body[s.f.main]));
	hop_node wide = *n;
	wide.nout += s.nmore;
	hop_val *res = HOP_NEWN(&e->tmp, hop_val, wide.nout);
	HOP_TRY(hop_rw_keep(w, &wide, in, attr, res));
	uint32_t last = s.f.nc + s.f.ny;
	memcpy(out, res, last * sizeof *out);
	if (s.f.stops)
		out[last] = res[last + s.nmore];
	for (uint32_t i = 0; i < s.nterm && !w->b.st; i++)
		out[s.term[i].carry] = hop_emit(&w->b, add, out[s.term[i].carry],
		                                product(&s, &s.term[i], in, res + last));
	return w->b.st;
}

hop_status hop_opt_accum(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	static const hop_rw_pass pass = { 'O' << 8 | 'a', node, NULL };
	return hop_rw_graph(e, &pass, g, out_g);
}
