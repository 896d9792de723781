/* retain.c -- gradients of values inside. Each mark v becomes v - z, with z one more parameter: what
 * is found for -z is the gradient of v, and z is zero when it runs, so that no bit of v changes. What a
 * hook tells comes out in the same way: as the cotangent of a zero that it takes. In the body of a scan
 * or map z is a slice of a stack, and so is the gradient. */
#include <string.h>

#include "hops/body.h"
#include "hops/transform.h"

struct mark {
	const char     *name;
	const hop_type *type;          /* over the size parameters of the graph it is in */
	bool            told;          /* by a hook */
};

typedef struct marks {
	uint32_t     n, cap;
	struct mark *v;
} marks;

/* ---- what is marked ---- */

static void add(hop_env *e, marks *m, struct mark x)
{
	if (m->n == m->cap) {
		struct mark *v = HOP_NEWN(&e->tmp, struct mark, 2 * m->cap + 4);
		if (m->n)
			memcpy(v, m->v, m->n * sizeof *v);
		m->cap = 2 * m->cap + 4;
		m->v = v;
	}
	m->v[m->n++] = x;
}

static bool steps(const hop_node *n)
{
	return n->op == HOP_OP_scan || n->op == HOP_OP_map;
}

static hop_status collect(hop_env *e, hop_loc loc, const hop_graph *g, marks *out);

static bool tells(const hop_node *n)
{
	return n->op == HOP_OP_hook && HOP_ATTR(n, hook)->tells.n && !HOP_ATTR(n, hook)->ntold;
}

static void add_told(hop_env *e, const hop_node *n, marks *out)
{
	const struct hop_attr_hook *a = HOP_ATTR(n, hook);
	const char *s = a->tells.s, *end = s + a->tells.n;
	for (uint32_t k = 1; s < end; k++) {
		const char *to = memchr(s, ',', (size_t)(end - s));
		to = to ? to : end;
		add(e, out, (struct mark){ hop_arena_str(&e->tmp, s, (size_t)(to - s)),
		                           hop_body_type(e, hop_graph_out_type(a->body, k), a->sargs),
		                           true });
		s = to + 1;
	}
}

/* Those in the bodies of a node, one body after the other, with the types that the bodies see. */
static hop_status inside(hop_env *e, hop_loc loc, const hop_node *n, marks *out)
{
	hop_graphs sub = hop_node_subs(n);
	for (int64_t k = 0; k < sub.n; k++)
		if (sub.v[k] && sub.v[k]->holds & HOP_HOLDS_MARK)
			HOP_TRY(collect(e, loc, sub.v[k], out));
	if (!out->n || steps(n) || n->op == HOP_OP_call || n->op == HOP_OP_checkpoint ||
	    n->op == HOP_OP_cond || n->op == HOP_OP_switch)
		return HOP_OK;
	return hop_fail(e, n->loc ? n->loc : loc, HOP_EREFUSED, "grad: the gradient of %s is asked for, "
	                "which is in the body of %s: it can be had in regions, branches, scans and maps",
	                out->v[0].name, hop_optab[n->op].name);
}

static hop_status collect(hop_env *e, hop_loc loc, const hop_graph *g, marks *out)
{
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		marks in = { 0 };
		uint32_t first = out->n;
		if (n->op == HOP_OP_retain_grad) {
			hop_str s = HOP_ATTR(n, retain_grad)->name;
			add(e, out, (struct mark){ hop_arena_str(&e->tmp, s.s, (size_t)s.n),
			                           g->type[n->out0.id], false });
		} else if (tells(n)) {
			add_told(e, n, out);
		} else {
			HOP_TRY(inside(e, loc, n, &in));
		}
		for (uint32_t k = 0; k < in.n; k++) {
			hop_sizes s = hop_node_sargs(n);
			const hop_type *t = hop_body_type(e, in.v[k].type, s);
			if (steps(n) && t->rank == HOP_MAXRANK)
				return hop_fail(e, n->loc, HOP_ESHAPE, "grad: the gradients of %s have too many axes "
				                "to be stacked", in.v[k].name);
			t = steps(n) ? hop_type_prepend(e, t, hop_steps_of(n).length) : t;
			add(e, out, (struct mark){ in.v[k].name, t, in.v[k].told });
		}
		for (uint32_t k = first; k < out->n; k++)
			for (int d = 0; d < out->v[k].type->rank; d++)
				if ((uint32_t)hop_size_nsym(out->v[k].type->dim[d]) > g->nsym)
					return hop_fail(e, n->loc ? n->loc : loc, HOP_EREFUSED, "grad: dimension %d of "
					                "%s is a size that only the function knows", d,
					                out->v[k].name);
	}
	return HOP_OK;
}

/* ---- v - z ---- */

/* Where more parameters go into a graph: n of them at `at`; its own marks begin at `first`. */
struct room {
	uint32_t     at, first;
	const marks *all;
};

static hop_status probed(hop_env *e, const hop_graph *g, const struct room *r, hop_graph **out_g);

/* A hook that gives out what it tells: z[0..] are the zeros for it. */
static hop_val listen(hop_env *e, hop_build *b, const hop_graph *g, const hop_node *n, uint32_t nz,
                      const hop_val *in, const hop_val *z, hop_size *smap, int nsmap)
{
	hop_node w = *n;
	struct hop_attr_hook a = *HOP_ATTR(n, hook);
	hop_val *all = HOP_NEWN(&e->tmp, hop_val, n->nin + nz);
	a.ntold = nz;
	all[0] = in[0];
	memcpy(all + 1, z, nz * sizeof *all);
	memcpy(all + 1 + nz, in + 1, (n->nin - 1) * sizeof *all);
	w.attr = &a;
	w.nin = n->nin + nz;
	return hop_emit_copy(b, g, &w, all, smap, nsmap);
}

/* A node whose bodies have marks: z[0..] are the operands for them. */
static hop_val widen(hop_env *e, hop_build *b, const hop_graph *g, const hop_node *n, const marks *m,
                     const hop_val *in, const hop_val *z, hop_size *smap, int nsmap)
{
	hop_node w = *n;
	int nsub;
	void *attr = hop_attr_copy(e, &e->tmp, n->op, n->attr, NULL, -1);
	const hop_graph **sub = hop_attr_subs(n->op, attr, &nsub);
	hop_val *all = HOP_NEWN(&e->tmp, hop_val, n->nin + m->n);
	uint32_t at = n->nin, lead = n->op == HOP_OP_cond || n->op == HOP_OP_switch, first = 0;
	if (steps(n)) {
		hop_steps s = hop_steps_of(n);
		at = s.lead + s.nc + s.nx;
		lead = s.lead;
		if (n->op == HOP_OP_scan)
			((struct hop_attr_scan *)attr)->nx += m->n;
		else
			((struct hop_attr_map *)attr)->nx += m->n;
	}
	for (int k = 0; k < nsub && !b->st; k++) {
		struct room r = { at - lead, first, m };
		hop_graph *made;
		marks own = { 0 };
		b->st = collect(e, n->loc, sub[k], &own);
		if (!b->st)
			b->st = probed(e, sub[k], &r, &made);
		if (!b->st)
			sub[k] = made;
		first += own.n;
	}
	if (b->st)
		return HOP_BAD;
	memcpy(all, in, at * sizeof *all);
	memcpy(all + at, z, m->n * sizeof *all);
	memcpy(all + at + m->n, in + at, (n->nin - at) * sizeof *all);
	w.attr = attr;
	w.nin = n->nin + m->n;
	return hop_emit_copy(b, g, &w, all, smap, nsmap);
}

static hop_status probed(hop_env *e, const hop_graph *g, const struct room *r, hop_graph **out_g)
{
	hop_build b;
	int nsym = (int)(g->nsym + g->nlocal);
	hop_val *map = HOP_NEWN(&e->tmp, hop_val, g->nvalue), *z = HOP_NEWN(&e->tmp, hop_val, r->all->n);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_size *smap = HOP_NEWN(&e->tmp, hop_size, nsym);
	uint32_t next = r->first;
	hop_build_open(&b, e);
	hop_build_syms_of(&b, g);
	for (uint32_t i = 0; i < g->nsym; i++)
		smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i <= g->nparam; i++) {
		for (uint32_t k = 0; i == r->at && k < r->all->n; k++)
			z[k] = hop_build_param(&b, r->all->v[k].type);
		if (i < g->nparam)
			map[i] = hop_build_param(&b, g->type[i]);
	}
	for (uint32_t i = 0; i < g->nnode && !b.st; i++) {
		const hop_node *n = &g->node[i];
		hop_val *in = HOP_NEWN(&e->tmp, hop_val, n->nin), v;
		marks own = { 0 };
		for (uint32_t k = 0; k < n->nin; k++)
			in[k] = map[n->in[k].id];
		b.loc = n->loc;
		if (n->op == HOP_OP_retain_grad) {
			v = hop_emit(&b, sub, in[0], z[next++]);
		} else if (tells(n)) {
			add_told(e, n, &own);
			v = listen(e, &b, g, n, own.n, in, z + next, smap, nsym);
			next += own.n;
		} else if (inside(e, n->loc, n, &own)) {
			b.st = e->diag.st;
			break;
		} else if (own.n) {
			v = widen(e, &b, g, n, &own, in, z + next, smap, nsym);
			next += own.n;
		} else {
			v = hop_emit_copy(&b, g, n, in, smap, nsym);
		}
		for (uint32_t k = 0; k < n->nout; k++)
			map[n->out0.id + k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
	}
	for (uint32_t i = 0; i < g->nout && !b.st; i++)
		out[i] = map[g->out[i].id];
	if (!b.st)
		hop_build_checks_of(&b, g, smap, nsym);
	return hop_seal(&b, g->nout, out, g->name, out_g);
}

/* ---- the gradient ---- */

/* Numbers of the marks by name; two of one name are refused. */
static hop_status sorted(hop_env *e, hop_loc loc, const marks *m, uint32_t **out)
{
	uint32_t *at = *out = HOP_NEWN(&e->tmp, uint32_t, m->n);
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t k = i;
		for (; k && strcmp(m->v[at[k - 1]].name, m->v[i].name) > 0; k--)
			at[k] = at[k - 1];
		at[k] = i;
		if (k && !strcmp(m->v[at[k - 1]].name, m->v[i].name))
			return hop_fail(e, loc, HOP_EVALUE, "grad: two values whose gradients are asked for are "
			                "called %s", m->v[i].name);
	}
	return HOP_OK;
}

static hop_status close_zeros(hop_env *e, const hop_graph *g, const hop_graph *j, const marks *m,
                              const uint32_t *at, const hop_graph **out_g)
{
	hop_build b;
	hop_graph *made = NULL;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, j->nparam), *out = HOP_NEWN(&e->tmp, hop_val, j->nout);
	hop_body_open(&b, e, j);
	for (uint32_t i = 0; i < g->nparam; i++)
		in[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t k = 0; k < m->n; k++)
		in[g->nparam + k] = hop_emit_zeros(&b, m->v[k].type);
	hop_body_inline(&b, j, in, out);
	for (uint32_t k = 0, first = j->nout - m->n; k < m->n && !b.st; k++)
		if (!m->v[at[k]].told)
			out[first + k] = hop_emit(&b, neg, out[first + k]);
	hop_status st = hop_seal(&b, j->nout, out, g->name, &made);
	*out_g = made;
	return st;
}

hop_status hop_ask_grad_marked(hop_env *e, hop_loc loc, const hop_graph *g, int nwrt, const int *wrt,
                               const hop_graph **out_g, uint32_t *out_n,
                               const char *const **out_name)
{
	marks m = { 0 };
	hop_graph *p;
	const hop_graph *j;
	uint32_t *at;
	*out_n = 0;
	if (!(g->holds & HOP_HOLDS_MARK))
		return hop_ask_grad(e, loc, g, nwrt, wrt, out_g);
	HOP_TRY(collect(e, loc, g, &m));
	HOP_TRY(sorted(e, loc, &m, &at));
	HOP_TRY(probed(e, g, &(struct room){ g->nparam, 0, &m }, &p));
	int *all = HOP_NEWN(&e->tmp, int, nwrt + (int64_t)m.n);
	const char **name = HOP_NEWN(&e->tmp, const char *, m.n);
	if (nwrt)
		memcpy(all, wrt, (size_t)nwrt * sizeof *all);
	for (uint32_t k = 0; k < m.n; k++) {
		all[nwrt + (int)k] = (int)(g->nparam + at[k]);
		name[k] = m.v[at[k]].name;
	}
	HOP_TRY(hop_ask_grad(e, loc, p, nwrt + (int)m.n, all, &j));
	*out_n = m.n;
	*out_name = name;
	return close_zeros(e, g, j, &m, at, out_g);
}

/* A hook that tells nothing: attr's body gives the gradient alone. */
static hop_status silence(hop_env *e, struct hop_attr_hook *a)
{
	hop_build b;
	hop_graph *made;
	hop_val *in = HOP_NEWN(&e->tmp, hop_val, a->body->nparam);
	hop_val *out = HOP_NEWN(&e->tmp, hop_val, a->body->nout);
	hop_body_open(&b, e, a->body);
	for (uint32_t i = 0; i < a->body->nparam; i++)
		in[i] = hop_build_param(&b, a->body->type[i]);
	hop_body_inline(&b, a->body, in, out);
	HOP_TRY(hop_seal(&b, 1, out, NULL, &made));
	a->body = made;
	a->tells = (hop_str){ 0, "" };
	return HOP_OK;
}

hop_status hop_marks_drop(hop_env *e, const hop_graph *g, const hop_graph **out_g)
{
	hop_build b;
	hop_graph *made = NULL;
	int nsym = (int)(g->nsym + g->nlocal);
	*out_g = g;
	if (!(g->holds & HOP_HOLDS_MARK))
		return HOP_OK;
	hop_val *map = HOP_NEWN(&e->tmp, hop_val, g->nvalue), *out = HOP_NEWN(&e->tmp, hop_val, g->nout);
	hop_size *smap = HOP_NEWN(&e->tmp, hop_size, nsym);
	hop_build_open(&b, e);
	hop_build_syms_of(&b, g);
	for (uint32_t i = 0; i < g->nsym; i++)
		smap[i] = hop_size_sym(e, (int)i);
	for (uint32_t i = 0; i < g->nparam; i++)
		map[i] = hop_build_param(&b, g->type[i]);
	for (uint32_t i = 0; i < g->nnode && !b.st; i++) {
		hop_node n = g->node[i];
		hop_val *in = HOP_NEWN(&e->tmp, hop_val, n.nin), v;
		int nsub = 0;
		for (uint32_t k = 0; k < n.nin; k++)
			in[k] = map[n.in[k].id];
		if (hop_optab[n.op].flags & HOP_F_R) {
			void *attr = hop_attr_copy(e, &e->tmp, n.op, n.attr, NULL, -1);
			const hop_graph **sub = hop_attr_subs(n.op, attr, &nsub);
			for (int k = 0; k < nsub && !b.st; k++)
				b.st = sub[k] ? hop_marks_drop(e, sub[k], &sub[k]) : HOP_OK;
			if (tells(&n) && !b.st)
				b.st = silence(e, attr);
			n.attr = attr;
		}
		v = n.op == HOP_OP_retain_grad ? in[0] : b.st ? HOP_BAD
		    : hop_emit_copy(&b, g, &n, in, smap, nsym);
		for (uint32_t k = 0; k < n.nout; k++)
			map[n.out0.id + k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
	}
	for (uint32_t i = 0; i < g->nout && !b.st; i++)
		out[i] = map[g->out[i].id];
	if (!b.st)
		hop_build_checks_of(&b, g, smap, nsym);
	hop_status st = hop_seal(&b, g->nout, out, g->name, &made);
	*out_g = made;
	return st;
}
