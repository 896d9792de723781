/* seal.c -- from a builder to a sealed graph: keep what results, effects and tests need, in an
 * order that does not depend on the order of construction; hash; intern. */
#include "ir/rule.h"

#include <string.h>

struct mentions { uint8_t *need; uint32_t nsym; };
static void mark(void *user, int sym)
{
	const struct mentions *m = user;
	if ((uint32_t)sym >= m->nsym)
		m->need[(uint32_t)sym - m->nsym] = 1;
}

void hop_size_mentions(hop_size s, uint32_t nsym, uint8_t *need)
{
	hop_size_syms(s, mark, &(struct mentions){ need, nsym });
}

void hop_node_mentions(const hop_node *n, uint32_t nsym, uint8_t *need)
{
	hop_node_syms(n, mark, &(struct mentions){ need, nsym });
}

/* Local symbols are renumbered in the order of their binders; unused ones go. */
static int renumber_locals(const hop_build *b, const hop_order *o, hop_size *map)
{
	int n = (int)b->nsym;
	for (uint32_t i = 0; i < b->nsym; i++)
		map[i] = hop_size_sym(b->env, (int)i);
	for (uint32_t i = 0; i < b->nlocal; i++)
		map[b->nsym + i] = hop_size_int(HOP_SIZE_BAD);
	for (uint32_t k = 0; k < o->nseq; k++) {
		int64_t s = hop_node_binds(&b->node[o->seq[k]]);
		if (s >= b->nsym)
			map[s] = hop_size_sym(b->env, n++);
	}
	return n - (int)b->nsym;
}

static bool identity(const hop_build *b, const hop_size *map, hop_env *e)
{
	for (uint32_t i = 0; i < b->nsym + b->nlocal; i++)
		if (!hop_size_eq(map[i], hop_size_sym(e, (int)i)))
			return false;
	return true;
}

static uint32_t deepest(const hop_node *n, uint32_t depth)
{
	hop_graphs sub = hop_node_subs(n);
	for (int64_t i = 0; i < sub.n; i++)
		if (sub.v[i] && sub.v[i]->depth >= depth)
			depth = sub.v[i]->depth + 1;
	return depth;
}

/* Copy into the graph's own arena in the new order. */
static void fill(hop_graph *g, hop_build *b, const hop_order *o, const hop_size *smap,
                 uint32_t nout, const hop_val *out)
{
	hop_env *e = b->env;
	hop_arena *a = &g->arena;
	int nsym = (int)(b->nsym + b->nlocal);
	bool same = identity(b, smap, e);
	hop_val *map = HOP_NEWN(&e->tmp, hop_val, b->nvalue);
	uint32_t nv = b->nparam;
	for (uint32_t k = 0; k < o->nseq; k++)
		nv += b->node[o->seq[k]].nout;
	const hop_type **type = HOP_NEWN(a, const hop_type *, nv);
	uint32_t *def = HOP_NEWN(a, uint32_t, nv);
	hop_node *node = HOP_NEWN(a, hop_node, o->nseq);
	nv = b->nparam;
	g->depth = 1;
	for (uint32_t i = 0; i < b->nparam; i++) {
		map[i] = (hop_val){ i };
		type[i] = b->type[i];
		def[i] = UINT32_MAX;
	}
	for (uint32_t k = 0; k < o->nseq; k++) {
		const hop_node *s = &b->node[o->seq[k]];
		hop_node *n = &node[k];
		hop_val *in = HOP_NEWN(a, hop_val, s->nin);
		*n = *s;
		n->attr = hop_attr_copy(e, a, s->op, s->attr, smap, same ? -1 : nsym);
		int64_t sym = hop_node_binds(s);
		if (sym >= 0)       /* attr_copy maps sizes, not the index of a bound symbol */
			*hop_attr_sym(s->op, (void *)(uintptr_t)n->attr) = hop_size_nsym(smap[sym]) - 1;
		for (uint32_t i = 0; i < s->nin; i++)
			in[i] = map[s->in[i].id];
		n->in = in;
		n->out0 = (hop_val){ nv };
		for (uint32_t i = 0; i < s->nout; i++) {
			const hop_type *t = b->type[s->out0.id + i];
			map[s->out0.id + i] = (hop_val){ nv };
			type[nv] = same ? t : hop_type_subst(e, t, smap, nsym);
			def[nv++] = k;
		}
		g->has_effect |= hop_node_effect(s);
		g->acts |= hop_node_acts(s);
		g->holds |= hop_node_holds(s);
		g->has_guard |= s->guard;
		g->depth = deepest(s, g->depth);
	}
	hop_val *res = HOP_NEWN(a, hop_val, nout);
	for (uint32_t i = 0; i < nout; i++)
		res[i] = map[out[i].id];
	g->nparam = b->nparam;
	g->nvalue = nv;
	g->nnode = o->nseq;
	g->nout = nout;
	g->type = type;
	g->def = def;
	g->node = node;
	g->out = res;
}

static void fill_syms(hop_graph *g, const hop_build *b, const hop_size *smap, int nlocal)
{
	hop_arena *a = &g->arena;
	uint32_t n = b->nsym + (uint32_t)nlocal;
	hop_range *range = HOP_NEWN(a, hop_range, n);
	const char **name = HOP_NEWN(a, const char *, n);
	hop_check *check = HOP_NEWN(a, hop_check, b->ncheck);
	for (uint32_t i = 0; i < b->nsym + b->nlocal; i++) {
		if (!smap[i].e)
			continue;
		int k = hop_size_nsym(smap[i]) - 1;
		range[k] = b->range[i];
		name[k] = b->symname[i];
	}
	g->nsym = b->nsym;
	g->nlocal = (uint32_t)nlocal;
	g->range = range;
	g->symname = name;
	for (size_t i = 0; i < b->ncheck; i++) {
		hop_check *c = &check[i];
		*c = b->check[i];
		c->a = hop_size_subst(b->env, c->a, smap, (int)(b->nsym + b->nlocal));
		c->b = hop_size_subst(b->env, c->b, smap, (int)(b->nsym + b->nlocal));
	}
	g->ncheck = hop_checks_seal(b->env, check, (uint32_t)b->ncheck);
	g->check = check;
}

/* ---- hash: over the canonical form, no names, no locations ---- */

static void put(hop_buf *h, const void *p, size_t n)
{
	hop_putn(h, p, n);
}

static void put_u(hop_buf *h, uint64_t v)
{
	put(h, &v, sizeof v);
}

static void put_size(hop_buf *h, hop_size s)
{
	put_u(h, hop_size_hash(s));
}

static void put_type(hop_buf *h, const hop_type *t)
{
	put_u(h, t->dtype | (uint64_t)t->rank << 8);
	for (int i = 0; i < t->rank; i++)
		put_size(h, t->dim[i]);
}

static void put_attr(hop_buf *h, int op, const void *attr)
{
	for (int i = 0; i < hop_optab[op].nfield; i++) {
		const void *p = (const char *)attr + hop_attr_offset(op, i);
		switch (hop_optab[op].field[i].kind) {
		case HOP_AK_ints: {
			const hop_ints *v = p;
			put_u(h, (uint64_t)v->n);
			put(h, v->v, (size_t)v->n * sizeof *v->v);
			break;
		}
		case HOP_AK_size:
		case HOP_AK_length:
			put_size(h, *(const hop_size *)p);
			break;
		case HOP_AK_sizes:
		case HOP_AK_sargs: {
			const hop_sizes *v = p;
			put_u(h, (uint64_t)v->n);
			for (int64_t k = 0; k < v->n; k++)
				put_size(h, v->v[k]);
			break;
		}
		case HOP_AK_types: {
			const hop_types *v = p;
			put_u(h, (uint64_t)v->n);
			put(h, v->head, 2 * (size_t)v->n * sizeof *v->head);
			for (int64_t k = 0; k < v->ndim; k++)
				put_size(h, v->dim[k]);
			break;
		}
		case HOP_AK_str: {
			const hop_str *v = p;
			put_u(h, (uint64_t)v->n);
			put(h, v->s, (size_t)v->n);
			break;
		}
		case HOP_AK_data: {
			const hop_data *d = *(const hop_data *const *)p;
			put_type(h, d->type);
			put(h, d->bytes, d->nbyte);
			break;
		}
		case HOP_AK_graph: {
			const hop_graph *s = *(const hop_graph *const *)p;
			hop_hash none = { 0, 0 };
			put(h, s ? &s->hash : &none, sizeof none);
			break;
		}
		case HOP_AK_graphs: {
			const hop_graphs *v = p;
			put_u(h, (uint64_t)v->n);
			for (int64_t k = 0; k < v->n; k++)
				put(h, &v->v[k]->hash, sizeof v->v[k]->hash);
			break;
		}
		default:
			put(h, p, 8);
		}
	}
}

static hop_hash hash_graph(hop_env *e, const hop_graph *g)
{
	hop_buf h;
	hop_buf_open(&h, e);
	put_u(&h, g->nsym | (uint64_t)g->nlocal << 32);
	put(&h, g->range, (g->nsym + g->nlocal) * sizeof *g->range);
	put_u(&h, g->nparam | (uint64_t)g->nout << 32);
	for (uint32_t i = 0; i < g->nparam; i++)
		put_type(&h, g->type[i]);
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		put_u(&h, n->op | (uint64_t)n->nin << 16 | (uint64_t)n->nout << 40);
		put(&h, n->in, n->nin * sizeof *n->in);
		put_attr(&h, n->op, n->attr);
	}
	put(&h, g->out, g->nout * sizeof *g->out);
	for (uint32_t i = 0; i < g->ncheck; i++) {
		put_u(&h, g->check[i].rel);
		put_size(&h, g->check[i].a);
		put_size(&h, g->check[i].b);
	}
	hop_hash r = hop_hash_bytes(h.s, h.n);
	hop_buf_free(&h);
	return r;
}

bool hop_graph_equal(const hop_graph *a, const hop_graph *b)
{
	if (a == b)
		return true;
	if (a->nsym != b->nsym || a->nlocal != b->nlocal || a->nparam != b->nparam ||
	    a->nvalue != b->nvalue || a->nnode != b->nnode || a->nout != b->nout ||
	    a->ncheck != b->ncheck ||
	    memcmp(a->range, b->range, (a->nsym + a->nlocal) * sizeof *a->range) ||
	    memcmp(a->type, b->type, a->nvalue * sizeof *a->type) ||
	    memcmp(a->out, b->out, a->nout * sizeof *a->out))
		return false;
	for (uint32_t i = 0; i < a->ncheck; i++)
		if (a->check[i].rel != b->check[i].rel ||
		    !hop_size_eq(a->check[i].a, b->check[i].a) ||
		    !hop_size_eq(a->check[i].b, b->check[i].b))
			return false;
	for (uint32_t i = 0; i < a->nnode; i++) {
		const hop_node *x = &a->node[i], *y = &b->node[i];
		if (x->op != y->op || x->nin != y->nin || x->nout != y->nout ||
		    memcmp(x->in, y->in, x->nin * sizeof *x->in) ||
		    !hop_attr_equal(x->op, x->attr, y->attr))
			return false;
	}
	return true;
}

static void graph_free(hop_ctx *c, hop_graph *g)
{
	hop_mem m = hop_ctx_mem(c);
	hop_arena_free(&g->arena, &m);
}

hop_status hop_seal(hop_build *b, uint32_t nout, const hop_val *out, const char *name,
                    hop_graph **out_g)
{
	hop_env *e = b->env;
	hop_status st = b->st;
	*out_g = NULL;
	if (st) {
		hop_build_drop(b);
		return st;
	}
	for (uint32_t i = 0; i < nout; i++)
		HOP_ASSERT(out[i].id < b->nvalue);
	hop_mark m = hop_mark_at(&e->tmp);
	hop_order o;
	for (uint32_t i = 0; i < b->nnode; i++)      /* more may be known than when it was made */
		if (b->node[i].guard)
			b->node[i].guard = hop_build_guard(b, &b->node[i]);
	hop_build_order(b, &e->tmp, nout, out, &o);
	hop_size *smap = HOP_NEWN(&e->tmp, hop_size, b->nsym + b->nlocal);
	int nlocal = renumber_locals(b, &o, smap);

	hop_arena a;
	hop_arena_open(&a, e);
	hop_graph *g = HOP_NEW(&a, hop_graph);
	hop_arena_move(&g->arena, &a);
	g->ctx = e->ctx;
	fill(g, b, &o, smap, nout, out);
	fill_syms(g, b, smap, nlocal);
	g->name = name ? hop_ctx_name(e, name, strlen(name)) : NULL;
	g->hash = hash_graph(e, g);
	hop_ctx_on_free_graph(e->ctx, graph_free);
	hop_graph *won = hop_ctx_graph_intern(e, g->hash, g, hop_graph_equal);
	if (won == g)
		hop_arena_seal(&g->arena);
	else
		hop_arena_free(&g->arena, &e->mem);
	hop_rewind(&e->tmp, m);
	hop_build_drop(b);
	*out_g = won;
	return HOP_OK;
}

hop_graph *hop_graph_retain(hop_graph *g)
{
	if (g)
		__atomic_fetch_add(&g->refs, 1, __ATOMIC_RELAXED);
	return g;
}

void hop_graph_release(hop_graph *g)
{
	if (g)
		__atomic_fetch_sub(&g->refs, 1, __ATOMIC_ACQ_REL);
}

/* Keep what is held from outside, and with it what it holds. */
static bool wanted(hop_graph *g)
{
	bool keep = g->kept || __atomic_load_n(&g->refs, __ATOMIC_ACQUIRE);
	g->kept = false;
	for (uint32_t i = 0; keep && i < g->nnode; i++) {
		hop_graphs sub = hop_node_subs(&g->node[i]);
		for (int64_t k = 0; k < sub.n; k++)
			if (sub.v[k])
				((hop_graph *)(uintptr_t)sub.v[k])->kept = true;
	}
	return keep;
}

void hop_ctx_trim(hop_ctx *c)
{
	if (c)
		hop_ctx_sweep(c, wanted);
}
