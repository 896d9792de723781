/* cut.c -- the partitioner: cuts a joint graph into a forward and a backward half so that
 * the fewest bytes cross. Does not decide where residuals are kept; the operators do.
 *
 * A value is "forward" if it depends on no cotangent. The backward half needs some of
 * them; each is saved by the forward half or recomputed from saved ones. Every forward
 * value is two vertices joined by an edge whose capacity is the cost of saving it; a path
 * from the source (what is only available in the forward half) to the sink (what the
 * backward half reads) must be cut: a minimum cut is the cheapest set to save. What names say is read
 * by cut_tag.c, a share of the memory is filled by cut_budget.c. */
#include "ad/cut.h"
#include "ad/flow.h"

#include <string.h>

/* Forward nodes whose symbols node n mentions: saving a value does not bind a symbol, so
 * they must be there again wherever n is. Returns how many; at[] gets the symbols. */
static uint32_t mentioned(const hop_cutter *c, const hop_node *n, uint32_t *at)
{
	uint32_t k = 0;
	if (!c->j->nlocal)
		return 0;
	memset(c->mention, 0, c->j->nlocal);
	hop_node_mentions(n, c->j->nsym, c->mention);
	for (uint32_t s = 0; s < c->j->nlocal; s++) {
		const hop_node *d = &c->j->node[c->binder[s]];
		if (c->mention[s] && d != n && !c->late[d->out0.id])
			at[k++] = s;
	}
	return k;
}

/* Sizes are not known here: symbols count as hop_range_usual says. */
int64_t hop_cut_bytes(const hop_cutter *c, const hop_type *t)
{
	enum { MOST = 64 };
	int64_t syms[MOST], n = (int64_t)hop_dtype_bytes((hop_dtype)t->dtype), d;
	uint32_t ns = c->j->nsym + c->j->nlocal;
	for (uint32_t i = 0; i < ns && i < MOST; i++)
		syms[i] = hop_range_usual(c->j->range[i]);
	for (int i = 0; i < t->rank; i++) {
		if (!hop_size_eval(t->dim[i], syms, ns < MOST ? (int)ns : MOST, &d))
			d = HOP_SIZE_USUAL;
		if (d < 1 || __builtin_mul_overflow(n, d, &n) || n > HOP_FLOW_INF >> 20)
			return d < 1 ? 1 : HOP_FLOW_INF >> 20;
	}
	return n;
}

/* Checks of sizes that only the reverse pass knows. */
static void late_checks(hop_cutter *c, hop_build *b, const hop_size *smap)
{
	const hop_graph *j = c->j;
	for (uint32_t i = 0; i < j->ncheck; i++) {
		hop_check k = j->check[i];
		bool late = false;
		memset(c->mention, 0, j->nlocal);
		hop_size_mentions(k.a, j->nsym, c->mention);
		hop_size_mentions(k.b, j->nsym, c->mention);
		for (uint32_t s = 0; s < j->nlocal; s++)
			late |= c->mention[s] && c->late[j->node[c->binder[s]].out0.id];
		k.a = hop_size_subst(c->env, k.a, smap, (int)(j->nsym + j->nlocal));
		k.b = hop_size_subst(c->env, k.b, smap, (int)(j->nsym + j->nlocal));
		if (late && !hop_size_bad(k.a) && !hop_size_bad(k.b))
			hop_build_check(b, k);
	}
}

/* Not negative whether or not the graph runs: by its range, or as a size of a parameter. */
static bool is_size(const hop_cutter *c, hop_size s)
{
	if (hop_size_nonneg(c->env, s, c->j->range, (int)c->j->nsym))
		return true;
	for (uint32_t i = 0; i < c->nprimal; i++)
		for (int k = 0; k < c->j->type[i]->rank; k++) {
			hop_size d = c->j->type[i]->dim[k];
			if (d.e == s.e && s.k >= d.k)
				return true;
		}
	return false;
}

/* A type that mentions a symbol bound inside cannot leave the forward half; nor, out of a
 * body that may not run, one that is a type only because the body tested its sizes. */
bool hop_cut_local(const hop_cutter *c, const hop_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if ((uint32_t)hop_size_nsym(t->dim[i]) > c->j->nsym ||
		    (c->maybe && !is_size(c, t->dim[i])))
			return true;
	return false;
}

int64_t hop_cut_cost(const hop_cutter *c, uint32_t v)
{
	const hop_type *t = c->j->type[v];
	if (hop_cut_local(c, t))
		return HOP_FLOW_INF;
	if (c->packer[v])
		return hop_cut_crossing(c, v);
	if (v < c->nprimal && !(c->pcost && c->pcost[v]))
		return 0;
	for (uint32_t k = 0; k < c->nout; k++)
		if (c->root[c->j->out[k].id] == v && !(c->ocost && c->ocost[k]))
			return 0;
	return hop_cut_crossing(c, v);
}

/* Reads a late value, or mentions a size that only the reverse pass knows. */
bool hop_cut_late(const hop_cutter *c, const hop_node *n)
{
	for (uint32_t k = 0; k < n->nin; k++)
		if (c->late[n->in[k].id])
			return true;
	if (!c->j->nlocal)
		return false;
	memset(c->mention, 0, c->j->nlocal);
	hop_node_mentions(n, c->j->nsym, c->mention);
	for (uint32_t s = 0; s < c->j->nlocal; s++)
		if (c->mention[s] && c->late[c->j->node[c->binder[s]].out0.id])
			return true;
	return false;
}

static void mark_late(hop_cutter *c)
{
	const hop_graph *j = c->j;
	for (uint32_t i = c->nprimal; i < j->nparam; i++)
		c->late[i] = true;
	for (uint32_t i = 0; i < j->nnode; i++) {
		const hop_node *n = &j->node[i];
		bool late = hop_cut_late(c, n);
		for (uint32_t k = 0; k < n->nout; k++)
			c->late[n->out0.id + k] = late;
		for (uint32_t k = 0; late && k < n->nin; k++)
			c->needed[n->in[k].id] |= !c->late[n->in[k].id];
	}
	for (uint32_t i = c->nout; i < j->nout; i++)
		c->needed[j->out[i].id] |= !c->late[j->out[i].id];
}

/* Work that a saved result is worth: products, loops, reductions. Loops whose tapes cannot
 * leave the forward half must be recomputed whatever they cost. */
static bool is_heavy(const hop_cutter *c, const hop_node *n)
{
	for (uint32_t k = 0; k < n->nout; k++)
		if (hop_cut_local(c, c->j->type[n->out0.id + k]))
			return false;
	for (uint32_t k = 0; k < n->nin; k++)
		if (hop_cut_local(c, c->j->type[n->in[k].id]))
			return false;
	if (hop_optab[n->op].flags & HOP_F_R)
		return !(hop_optab[n->op].flags & HOP_F_G);
	if (hop_optab[n->op].flags & (HOP_F_E | HOP_F_V) || !n->nin)
		return false;
	int64_t in = 0, out = 0;
	for (uint32_t k = 0; k < n->nin; k++)
		in += hop_cut_bytes(c, c->j->type[n->in[k].id]);
	for (uint32_t k = 0; k < n->nout; k++)
		out += hop_cut_bytes(c, c->j->type[n->out0.id + k]);
	return out * 4 < in || hop_optab[n->op].flags & HOP_F_H;
}

/* heavy: what is dear; prefer: what names would rather have saved. */
static void ban(hop_cutter *c, bool heavy, bool prefer)
{
	for (uint32_t i = 0; i < c->j->nnode; i++) {
		const hop_node *n = &c->j->node[i];
		c->banned[i] = hop_cut_banned(c, n, heavy && is_heavy(c, n), prefer);
	}
}

/* Operands that a forward node reads when it is computed again: what packs a value does not run then. */
static uint32_t reads(const hop_node *n)
{
	return n->op == HOP_OP_packed ? 1 : n->nin;
}

/* Symbol k is a vertex, too: reached from the operands of its binder. */
static void symbol_edges(hop_cutter *c, hop_flow *f, int first, int t)
{
	const hop_graph *j = c->j;
	uint32_t *at = HOP_NEWN(&c->env->tmp, uint32_t, j->nlocal);
	for (uint32_t k = 0; k < j->nlocal; k++) {
		const hop_node *n = &j->node[c->binder[k]];
		if (c->late[n->out0.id])
			continue;
		for (uint32_t i = 0; i < n->nin; i++)
			hop_flow_edge(f, 2 * (int)n->in[i].id + 1, first + (int)k, HOP_FLOW_INF);
		for (uint32_t i = 0, m = mentioned(c, n, at); i < m; i++)
			hop_flow_edge(f, first + (int)at[i], first + (int)k, HOP_FLOW_INF);
	}
	for (uint32_t i = 0; i < j->nnode; i++) {
		const hop_node *n = &j->node[i];
		bool late = hop_cut_late(c, n);
		for (uint32_t k = 0, m = mentioned(c, n, at); k < m; k++) {
			if (late)
				hop_flow_edge(f, first + (int)at[k], t, HOP_FLOW_INF);
			for (uint32_t o = 0; !late && !c->banned[i] && o < n->nout; o++)
				if (!hop_cut_pinned(c, n->out0.id + o))
					hop_flow_edge(f, first + (int)at[k], 2 * (int)(n->out0.id + o),
					              HOP_FLOW_INF);
		}
	}
}

/* The edge of v from the forward half into the other: what crossing it costs. Constants are made again
 * where they are needed, names are what they name. What must be saved is the first place to look for. */
static int64_t room(const hop_cutter *c, uint32_t v, const hop_node *d, bool banned)
{
	if (c->root[v] != v || (d && !d->nin && !banned))
		return HOP_FLOW_INF;
	if (hop_cut_pinned(c, v))
		return 0;
	return d && c->tag[v] == HOP_SAVE_must_recompute ? HOP_FLOW_INF : hop_cut_cost(c, v);
}

/* Vertices: 2v and 2v+1 for value v, then source, sink, symbols. */
bool hop_cut_min(hop_cutter *c)
{
	const hop_graph *j = c->j;
	hop_mark m = hop_mark_at(&c->env->tmp);
	int nv = 2 * (int)j->nvalue, s = nv, t = nv + 1, n = nv + 2 + (int)j->nlocal;
	hop_flow f;
	hop_flow_init(&f, &c->env->tmp, n);
	for (uint32_t v = 0; v < j->nvalue; v++) {
		if (c->late[v])
			continue;
		const hop_node *d = j->def[v] == UINT32_MAX ? NULL : &j->node[j->def[v]];
		bool banned = d && (c->banned[j->def[v]] || hop_cut_pinned(c, v));
		hop_flow_edge(&f, 2 * (int)v, 2 * (int)v + 1, room(c, v, d, banned));
		if (!d || banned)
			hop_flow_edge(&f, s, 2 * (int)v, HOP_FLOW_INF);
		else
			for (uint32_t k = 0; k < reads(d); k++)
				hop_flow_edge(&f, 2 * (int)d->in[k].id + 1, 2 * (int)v, HOP_FLOW_INF);
		if (c->needed[v])
			hop_flow_edge(&f, 2 * (int)v + 1, t, HOP_FLOW_INF);
	}
	symbol_edges(c, &f, nv + 2, t);
	bool *in_sink = HOP_NEWN(&c->env->tmp, bool, n);
	int64_t flow = hop_flow_run(&f, s, t, in_sink);
	for (uint32_t v = 0; v < j->nvalue; v++)
		c->saved[v] = !c->late[v] && in_sink[2 * v + 1] && !in_sink[2 * v];
	hop_rewind(&c->env->tmp, m);
	return flow < HOP_FLOW_INF;
}

int64_t hop_cut_saved(const hop_cutter *c)
{
	int64_t n = 0;
	for (uint32_t v = 0; v < c->j->nvalue; v++)
		n += c->saved[v] ? hop_cut_cost(c, v) : 0;
	return n;
}

static hop_status decide(hop_cutter *c)
{
	bool min = c->policy == HOP_CUT_MIN;
	mark_late(c);
	hop_cut_tags(c);
	ban(c, min, true);
	bool ok = hop_cut_min(c);
	if (ok && min && c->budget < 1) {
		if (c->budget <= 0) {
			ban(c, false, false);
			ok = hop_cut_min(c);
		} else {
			ok = hop_cut_budget(c);
		}
	}
	/* all but the parameters can be computed again, unless a name says of something that it must */
	return ok ? HOP_OK : hop_cut_stuck(c);
}

/* ---- the two halves ---- */

static hop_status copy_node(hop_build *b, const hop_graph *j, const hop_node *n, hop_val *map,
                            hop_size *smap, int nsmap)
{
	hop_mark m = hop_mark_at(&b->env->tmp);
	hop_val *in = HOP_NEWN(&b->env->tmp, hop_val, n->nin);
	for (uint32_t k = 0; k < n->nin; k++)
		in[k] = map[n->in[k].id];
	hop_val v = hop_emit_copy(b, j, n, in, smap, nsmap);
	for (uint32_t k = 0; k < n->nout; k++)
		map[n->out0.id + k] = hop_is_bad(v) ? v : (hop_val){ v.id + k };
	hop_rewind(&b->env->tmp, m);
	return b->st;
}

static void start(hop_cutter *c, hop_build *b, hop_val **map, hop_size **smap)
{
	hop_env *e = c->env;
	hop_build_open(b, e);
	hop_build_syms_of(b, c->j);
	*map = HOP_NEWN(&e->tmp, hop_val, c->j->nvalue);
	*smap = HOP_NEWN(&e->tmp, hop_size, c->j->nsym + c->j->nlocal);
	for (uint32_t i = 0; i < c->j->nsym + c->j->nlocal; i++)
		(*smap)[i] = i < c->j->nsym ? hop_size_sym(e, (int)i) : hop_size_int(HOP_SIZE_BAD);
}

/* Is it a parameter or a result of the forward half anyway, and crosses as it is? */
static bool own(const hop_cutter *c, uint32_t v, hop_res *out)
{
	if (c->packer[v])
		return false;
	if (v < c->nprimal) {
		*out = (hop_res){ HOP_RES_PARAM, v };
		return true;
	}
	for (uint32_t k = 0; k < c->nout; k++)
		if (c->root[c->j->out[k].id] == v) {
			*out = (hop_res){ HOP_RES_OUT, k };
			return true;
		}
	return false;
}

/* Every loop around stacks what crosses once more: many axes cross as one. */
static bool is_flat(const hop_cutter *c, uint32_t v)
{
	enum { DEEP = 8 };
	hop_res r;
	return !own(c, v, &r) && !c->packer[v] && c->j->type[v]->rank > DEEP;
}

/* How many values v is when it crosses, and their types. */
static uint32_t pieces(const hop_cutter *c, uint32_t v)
{
	return c->packer[v] ? HOP_ATTR(c->packer[v], packed)->pack->nout : 1;
}

static const hop_type *crossing(const hop_cutter *c, uint32_t v, uint32_t k)
{
	const hop_type *t = c->j->type[v];
	if (c->packer[v])
		return hop_cut_pack_type(c, c->packer[v], k);
	hop_size n = hop_type_count(c->env, t);
	return is_flat(c, v) ? hop_type_get(c->env, (hop_dtype)t->dtype, 1, &n) : t;
}

/* Call pack or unpack of v's packer; the first result. */
static hop_val call(hop_build *b, const hop_node *p, const hop_graph *body, const hop_val *in,
                    const hop_size *smap, int nsmap)
{
	const struct hop_attr_packed *a = hop_attr_copy(b->env, &b->env->tmp, p->op, p->attr, smap, nsmap);
	struct hop_attr_call c = { .sargs = a->sargs, .body = body };
	b->loc = p->loc;
	return hop_emit_op(b, HOP_OP_call, &c, body->nparam, in);
}

/* The forward half: v, as it crosses. */
static void give(const hop_cutter *c, hop_build *b, uint32_t v, const hop_val *map,
                 const hop_size *smap, hop_val *out)
{
	const hop_node *p = c->packer[v];
	int nsmap = (int)(c->j->nsym + c->j->nlocal);
	if (p) {
		hop_val *in = HOP_NEWN(&c->env->tmp, hop_val, p->nin);
		for (uint32_t k = 0; k < p->nin; k++)
			in[k] = map[p->in[k].id];
		hop_val first = call(b, p, HOP_ATTR(p, packed)->pack, in, smap, nsmap);
		for (uint32_t k = 0; k < pieces(c, v); k++)
			out[k] = hop_is_bad(first) ? first : (hop_val){ first.id + k };
	} else if (is_flat(c, v)) {
		hop_size n = hop_type_count(b->env, hop_typeof(b, map[v]));
		out[0] = hop_emit_reshape(b, map[v], 1, &n);
	} else {
		out[0] = map[v];
	}
}

/* The backward half: v again, from its pieces. */
static hop_val take(const hop_cutter *c, hop_build *b, uint32_t v, const hop_val *in,
                    const hop_size *smap)
{
	const hop_node *p = c->packer[v];
	const hop_type *t = c->j->type[v];
	if (p)
		return hop_emit_as(b, call(b, p, HOP_ATTR(p, packed)->unpack, in, smap, (int)c->j->nsym), t);
	return is_flat(c, v) ? hop_emit_reshape(b, in[0], t->rank, t->dim) : in[0];
}

static hop_status make_fwd(hop_cutter *c, uint32_t nextra, hop_graph **out_g)
{
	const hop_graph *j = c->j;
	hop_build b;
	hop_val *map;
	hop_size *smap;
	hop_res r;
	uint32_t n = c->nout;
	start(c, &b, &map, &smap);
	for (uint32_t i = 0; i < c->nprimal; i++)
		map[i] = hop_build_param(&b, j->type[i]);
	for (uint32_t i = 0; i < j->nnode && !b.st; i++)
		if (!hop_cut_late(c, &j->node[i]))
			copy_node(&b, j, &j->node[i], map, smap, (int)(j->nsym + j->nlocal));
	hop_val *out = HOP_NEWN(&c->env->tmp, hop_val, c->nout + nextra);
	for (uint32_t k = 0; k < c->nout; k++)
		out[k] = map[j->out[k].id];
	for (uint32_t v = 0; v < j->nvalue && !b.st; v++)
		if (c->saved[v] && !own(c, v, &r)) {
			give(c, &b, v, map, smap, out + n);
			n += pieces(c, v);
		}
	if (!b.st)                     /* all that can be tested here is tested here */
		hop_build_checks_of(&b, j, smap, (int)(j->nsym + j->nlocal));
	return hop_seal(&b, c->nout + nextra, out, NULL, out_g);
}

const bool *hop_cut_used(hop_cutter *c)
{
	const hop_graph *j = c->j;
	bool *need = HOP_NEWN(&c->env->tmp, bool, j->nvalue);
	bool *used = HOP_NEWN(&c->env->tmp, bool, j->nnode);
	uint32_t *at = HOP_NEWN(&c->env->tmp, uint32_t, j->nlocal);
	for (uint32_t i = c->nout; i < j->nout; i++)
		need[j->out[i].id] = true;
	for (uint32_t i = j->nnode; i-- > 0; ) {
		const hop_node *n = &j->node[i];
		/* an effect of the reverse pass, or what it has to test */
		used[i] |= (hop_node_effect(n) || n->guard) && hop_cut_late(c, n);
		for (uint32_t k = 0; k < n->nout; k++)
			used[i] |= need[n->out0.id + k] && !c->saved[n->out0.id + k];
		for (uint32_t k = 0; used[i] && k < (hop_cut_late(c, n) ? n->nin : reads(n)); k++)
			need[n->in[k].id] = true;
		for (uint32_t k = 0, m = used[i] ? mentioned(c, n, at) : 0; k < m; k++)
			used[c->binder[at[k]]] = true;
	}
	return used;
}

/* Parameters of the backward half: what crosses, then the cotangents. */
static void make_params(const hop_cutter *c, hop_build *b, uint32_t nres, hop_val *map,
                        const hop_size *smap)
{
	const hop_graph *j = c->j;
	hop_val *in = HOP_NEWN(&c->env->tmp, hop_val, nres);
	uint32_t n = 0;
	for (uint32_t v = 0; v < j->nvalue; v++)
		for (uint32_t k = 0; c->saved[v] && k < pieces(c, v); k++)
			in[n++] = hop_build_param(b, crossing(c, v, k));
	for (uint32_t i = c->nprimal; i < j->nparam; i++)
		map[i] = hop_build_param(b, j->type[i]);
	n = 0;
	for (uint32_t v = 0; v < j->nvalue && !b->st; v++)
		if (c->saved[v]) {
			map[v] = take(c, b, v, in + n, smap);
			n += pieces(c, v);
		}
}

/* A node of the backward half. Saved results of a node that is computed again for others stay as they
 * are; what it says was said. */
static void make_node(hop_cutter *c, hop_build *b, const hop_node *n, hop_val *map, hop_size *smap)
{
	hop_mark m = hop_mark_at(&c->env->tmp);
	hop_val *keep = HOP_NEWN(&c->env->tmp, hop_val, n->nout);
	hop_node again = *n;
	memcpy(keep, map + n->out0.id, n->nout * sizeof *keep);
	if (!hop_cut_late(c, n))
		b->st = hop_ad_pure_node(c->env, &c->env->tmp, n, &again);
	copy_node(b, c->j, &again, map, smap, (int)(c->j->nsym + c->j->nlocal));
	for (uint32_t k = 0; k < n->nout; k++)
		if (c->saved[n->out0.id + k])
			map[n->out0.id + k] = keep[k];
	hop_rewind(&c->env->tmp, m);
}

static hop_status make_bwd(hop_cutter *c, uint32_t nres, hop_graph **out_g)
{
	const hop_graph *j = c->j;
	hop_build b;
	hop_val *map;
	hop_size *smap;
	const bool *used = hop_cut_used(c);
	start(c, &b, &map, &smap);
	make_params(c, &b, nres, map, smap);
	for (uint32_t i = 0; i < j->nnode && !b.st; i++) {
		const hop_node *n = &j->node[i];
		if (used[i] && n->op == HOP_OP_packed && !hop_cut_late(c, n))
			map[n->out0.id] = map[n->in[0].id];        /* its captures may not be here */
		else if (used[i])
			make_node(c, &b, n, map, smap);
	}
	hop_val *out = HOP_NEWN(&c->env->tmp, hop_val, j->nout);
	for (uint32_t i = c->nout; i < j->nout; i++)
		out[i - c->nout] = map[j->out[i].id];
	if (!b.st && j->nlocal)
		late_checks(c, &b, smap);
	return hop_seal(&b, j->nout - c->nout, out, NULL, out_g);
}

/* Fill in the cutter: what is saved. */
static hop_status choose(hop_cutter *c)
{
	const hop_graph *j = c->j;
	hop_arena *tmp = &c->env->tmp;
	c->late = HOP_NEWN(tmp, bool, j->nvalue);
	c->needed = HOP_NEWN(tmp, bool, j->nvalue);
	c->saved = HOP_NEWN(tmp, bool, j->nvalue);
	c->banned = HOP_NEWN(tmp, bool, j->nnode);
	c->binder = HOP_NEWN(tmp, uint32_t, j->nlocal);
	c->mention = HOP_NEWN(tmp, uint8_t, j->nlocal);
	for (uint32_t i = 0; i < j->nnode; i++) {
		int64_t s = hop_node_binds(&j->node[i]);
		if (s >= j->nsym)
			c->binder[s - j->nsym] = i;
	}
	return decide(c);
}

static hop_status cut(hop_cutter *c, const hop_cut **out_cut)
{
	const hop_graph *j = c->j;
	uint32_t nres = 0, n = 0;
	HOP_TRY(choose(c));
	for (uint32_t v = 0; v < j->nvalue; v++)
		nres += c->saved[v] ? pieces(c, v) : 0;
	size_t bytes = sizeof(hop_cut) + nres * sizeof(hop_res);
	hop_cut *w = hop_arena_alloc(&c->env->tmp, bytes);
	hop_graph *fwd, *bwd;
	w->nres = nres;
	w->nextra = 0;
	for (uint32_t v = 0; v < j->nvalue; v++)
		for (uint32_t k = 0; c->saved[v] && k < pieces(c, v); k++, n++)
			if (!own(c, v, &w->res[n]))
				w->res[n] = (hop_res){ HOP_RES_EXTRA, w->nextra++ };
	HOP_TRY(make_fwd(c, w->nextra, &fwd));
	HOP_TRY(make_bwd(c, nres, &bwd));
	w->fwd = fwd;
	w->bwd = bwd;
	*out_cut = hop_ctx_intern(c->env, HOP_IN_CUT, w, bytes, 8);
	return HOP_OK;
}

hop_status hop_ad_cut(hop_env *e, const hop_graph *joint, uint32_t nprimal, uint32_t nout,
                      const uint8_t *pcost, const uint8_t *ocost,
                      int policy, double budget, const hop_cut **out_cut)
{
	hop_mark m = hop_mark_at(&e->tmp);
	struct { uint64_t kind; const hop_graph *g; uint64_t n, policy; double budget; } head = {
		'c', joint, nprimal | (uint64_t)nout << 32, (uint64_t)policy, budget
	};
	size_t n = sizeof head + nprimal + nout;
	char *key = HOP_NEWN(&e->tmp, char, n);
	memcpy(key, &head, sizeof head);
	if (pcost)
		memcpy(key + sizeof head, pcost, nprimal);
	if (ocost)
		memcpy(key + sizeof head + nprimal, ocost, nout);
	const hop_cut *r = hop_ctx_memo_get(e, key, n);
	hop_status st = HOP_OK;
	hop_cutter c = { .env = e, .j = joint, .nprimal = nprimal, .nout = nout, .pcost = pcost,
	                 .ocost = ocost, .maybe = policy & HOP_CUT_MAYBE,
	                 .policy = (enum hop_cut_policy)(policy & HOP_CUT_POLICY), .budget = budget };
	if (e->cuts) {
		hop_cutter seen = c;
		st = choose(&seen);
		if (!st)
			hop_cut_say(&seen, e->cuts);
	}
	if (!r && !st) {
		st = cut(&c, &r);
		if (!st)
			r = hop_ctx_memo_put(e, key, n, (void *)(uintptr_t)r);
	}
	*out_cut = r;
	hop_rewind(&e->tmp, m);
	return st;
}
