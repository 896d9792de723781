/* join.c -- captured drafts to closed graphs. Decides what the bodies of an operator take in
 * common, in an order that does not depend on the order in which the user's nested calls
 * ran, and copies each draft into a graph with those parameters. The parent is read and
 * written here, and nowhere before. Which operator it is does not matter here. */
#include "trace/mode.h"

#include <string.h>

/* ---- what of a draft is needed, in canonical order ---- */

static void type_syms(const hop_type *t, hop_sym_fn *f, void *user)
{
	for (int i = 0; i < t->rank; i++)
		hop_size_syms(t->dim[i], f, user);
}

static void walk_body(hop_join *j, int k, const hop_outs *o)
{
	hop_trace *t = j->body[k];
	hop_arena *a = &t->arena;
	hop_order r;
	hop_val *out = HOP_NEWN(a, hop_val, o->n + j->nw);
	for (uint32_t i = 0; i < o->n + j->nw; i++)
		out[i] = hop_hooks_read(t, i < o->n ? o->v[i] : j->wout[k][i - o->n]);
	hop_build_order(&t->b, a, o->n + j->nw, out, &r);
	j->seq[k] = r.seq;
	j->nseq[k] = r.nseq;
	uint32_t *leaf_of = HOP_NEWN(a, uint32_t, t->b.nvalue);
	memset(leaf_of, 0xff, t->b.nvalue * sizeof *leaf_of);
	for (uint32_t i = 0; i < t->nleaf; i++)
		leaf_of[t->leaf[i].val.id] = i;
	j->order[k] = HOP_NEWN(a, uint32_t, t->nleaf);
	for (uint32_t i = 0; i < r.nleaf; i++)
		if (leaf_of[r.leaf[i].id] != UINT32_MAX)
			j->order[k][j->norder[k]++] = leaf_of[r.leaf[i].id];
}

/* ---- what is captured ---- */

static uint32_t find_w(const hop_join *j, uint32_t store)
{
	for (uint32_t i = 0; i < j->nw; i++)
		if (j->w[i] == store)
			return i;
	return UINT32_MAX;
}

/* Number in w of a store of a body, or UINT32_MAX. */
static uint32_t body_w(hop_join *j, const hop_trace *body, uint32_t store)
{
	const hop_store *s = &body->store[store];
	if (s->owner == body)
		return UINT32_MAX;
	return find_w(j, hop_store_mirror(j->t, s->owner, s->index));
}

bool hop_join_writes(hop_join *j, const hop_trace *body, uint32_t store)
{
	return body_w(j, body, store) != UINT32_MAX;
}

/* Writes are statements, so their order is the program's. */
static void add_written(hop_join *j, hop_trace *body)
{
	for (uint32_t n = 0; n < body->nwrite; n++)
		for (uint32_t i = 0; i < body->nstore; i++) {
			hop_store s = body->store[i];
			if (!s.version || s.first != n || s.owner == body)
				continue;
			uint32_t p = hop_store_mirror(j->t, s.owner, s.index);
			if (find_w(j, p) == UINT32_MAX)
				j->w[j->nw++] = p;
		}
}

static void collect_written(hop_join *j)
{
	size_t most = 0;
	for (int i = 0; i < j->n; i++)
		most += j->body[i]->nstore;
	hop_arena *a = &j->t->arena;
	j->w = HOP_NEWN(a, uint32_t, most);
	for (int i = 0; i < j->n; i++)
		add_written(j, j->body[i]);
	j->wval = HOP_NEWN(a, hop_val, j->nw);
	j->wtype = HOP_NEWN(a, const hop_type *, j->nw);
	for (uint32_t i = 0; i < j->nw; i++) {
		j->wval[i] = hop_store_cur(j->t, j->w[i]);
		j->wtype[i] = j->t->store[j->w[i]].type;
	}
	for (int k = 0; k < j->n; k++) {
		j->wout[k] = HOP_NEWN(a, hop_val, j->nw);
		for (uint32_t i = 0; i < j->nw; i++) {
			hop_store s = j->t->store[j->w[i]];
			uint32_t m = hop_store_mirror(j->body[k], s.owner, s.index);
			j->wout[k][i] = hop_store_cur(j->body[k], m);
		}
	}
}

/* Contents in the parent of what a leaf of a body stands for. */
hop_val hop_join_outer(hop_join *j, hop_trace *body, const hop_leaf *l)
{
	if (l->kind == HOP_LEAF_VIEW)
		return hop_value_read(j->t, body->slot[l->slot].outer);
	hop_store s = body->store[l->index];
	return hop_store_cur(j->t, hop_store_mirror(j->t, s.owner, s.index));
}

static uint32_t add_k(hop_join *j, hop_val v)
{
	for (uint32_t i = 0; i < j->nk; i++)
		if (hop_same(j->kval[i], v))
			return i;
	j->kval[j->nk] = v;
	j->ktype[j->nk] = hop_typeof(&j->t->b, v);
	return j->nk++;
}

static void collect_values(hop_join *j, int nfirst, const hop_value *first)
{
	hop_trace *t = j->t;
	hop_arena *a = &t->arena;
	size_t most = 0;
	hop_val **pv = HOP_NEWN(a, hop_val *, j->n);
	for (int k = 0; k < j->n; k++) {
		most += j->norder[k];
		pv[k] = HOP_NEWN(a, hop_val, j->norder[k]);
		for (uint32_t i = 0; i < j->norder[k]; i++) {
			const hop_leaf *l = &j->body[k]->leaf[j->order[k][i]];
			pv[k][i] = HOP_BAD;
			if (l->kind != HOP_LEAF_PARAM && body_w(j, j->body[k], l->index) == UINT32_MAX)
				pv[k][i] = hop_join_outer(j, j->body[k], l);
		}
	}
	if (t->b.st)
		return;
	j->kval = HOP_NEWN(a, hop_val, most);
	j->ktype = HOP_NEWN(a, const hop_type *, most);
	for (int f = 0; f < nfirst; f++) {
		hop_val v = hop_value_read(t, first[f]);
		for (int k = 0; k < j->n; k++)
			for (uint32_t i = 0; i < j->norder[k]; i++)
				if (!hop_is_bad(v) && hop_same(pv[k][i], v))
					add_k(j, v);
	}
	for (int k = 0; k < j->n; k++) {
		j->place[k] = HOP_NEWN(a, uint32_t, j->body[k]->nleaf);
		j->used[k] = HOP_NEWN(a, uint8_t, most);
		for (uint32_t i = 0; i < j->norder[k]; i++)
			if (!hop_is_bad(pv[k][i])) {
				uint32_t n = add_k(j, pv[k][i]);
				j->place[k][j->order[k][i]] = n;
				j->used[k][n] = 1;
			}
	}
}

bool hop_join_open(hop_join *j, hop_trace *t, int n, const hop_outs *o, int nfirst,
                   const hop_value *first)
{
	hop_arena *a = &t->arena;
	*j = (hop_join){ .t = t, .n = n };
	j->body = HOP_NEWN(a, hop_trace *, n);
	j->wout = HOP_NEWN(a, hop_val *, n);
	j->place = HOP_NEWN(a, uint32_t *, n);
	j->used = HOP_NEWN(a, uint8_t *, n);
	j->norder = HOP_NEWN(a, uint32_t, n);
	j->order = HOP_NEWN(a, uint32_t *, n);
	j->nseq = HOP_NEWN(a, uint32_t, n);
	j->seq = HOP_NEWN(a, uint32_t *, n);
	for (int k = 0; k < n; k++)
		j->body[k] = o[k].body;
	collect_written(j);
	for (int k = 0; k < n && !t->b.st; k++) {
		if (!hop_hooks_close(j, j->body[k]))
			return false;
		walk_body(j, k, &o[k]);
		for (uint32_t i = 0; i < o[k].n; i++) {
			const hop_type *type = hop_typeof(&j->body[k]->b, o[k].v[i]);
			int known = (int)j->body[k]->b.nsym, used = 0;
			for (int d = 0; d < type->rank; d++)
				if (hop_size_nsym(type->dim[d]) > used)
					used = hop_size_nsym(type->dim[d]);
			/* what a function gives its caller may be of any size: arrays know theirs */
			if (used > known && (t->up || t->eager))
				hop_trace_fail(t, HOP_EREFUSED, "%s: result %u of %s has a size that is only "
				               "known inside it: pad it to a capacity and return the "
				               "count", t->op, i, j->body[k]->what);
		}
	}
	if (!t->b.st)
		collect_values(j, nfirst, first);
	return !t->b.st;
}

bool hop_body_pure(hop_trace *t, const hop_trace *body, const char *op)
{
	for (size_t i = 0; i < body->nstore && !t->b.st; i++) {
		const hop_store *s = &body->store[i];
		if (s->version && s->owner != body)
			t->b.st = hop_fail(hop_env_of(t), s->wloc, HOP_EREFUSED,
			                   "%s: a captured tensor is written in %s", op, body->what);
	}
	return !t->b.st;
}

bool hop_join_pure(hop_join *j, const char *op)
{
	for (int k = 0; k < j->n; k++)
		if (!hop_body_pure(j->t, j->body[k], op))
			return false;
	return true;
}

/* ---- size parameters ---- */

static void keep_sym(void *user, int sym)
{
	hop_join *j = user;
	int n = (int)(j->t->b.nsym + j->t->b.nlocal);
	if (sym >= n || j->newsym[sym] >= 0)
		return;
	j->newsym[sym] = (int)j->nsym;
	j->sym[j->nsym++] = sym;
}

void hop_join_syms(hop_join *j, uint32_t n, const hop_type *const *types)
{
	uint32_t all = j->t->b.nsym + j->t->b.nlocal;
	j->sym = HOP_NEWN(&j->t->arena, int, all);
	j->newsym = HOP_NEWN(&j->t->arena, int, all);
	for (uint32_t i = 0; i < all; i++)
		j->newsym[i] = -1;
	for (uint32_t i = 0; i < n; i++)
		type_syms(types[i], keep_sym, j);
	for (uint32_t i = 0; i < j->nw; i++)
		type_syms(j->wtype[i], keep_sym, j);
	for (uint32_t i = 0; i < j->nk; i++)
		type_syms(j->ktype[i], keep_sym, j);
	for (int k = 0; k < j->n; k++)
		for (uint32_t i = 0; i < j->nseq[k]; i++)
			hop_node_syms(&j->body[k]->b.node[j->seq[k][i]], keep_sym, j);
	for (int k = 0; k < j->n; k++)
		for (size_t i = 0; i < j->body[k]->b.ncheck; i++) {
			hop_size_syms(j->body[k]->b.check[i].a, keep_sym, j);
			hop_size_syms(j->body[k]->b.check[i].b, keep_sym, j);
		}
	/* views that are derived inside: their steps mention sizes, too */
	for (int k = 0; k < j->n; k++)
		for (size_t i = 0; i < j->body[k]->nleaf; i++) {
			const hop_leaf *l = &j->body[k]->leaf[i];
			if (l->kind != HOP_LEAF_VIEW || body_w(j, j->body[k], l->index) == UINT32_MAX)
				continue;
			const hop_view_step *v = j->body[k]->slot[l->slot].view;
			for (; v; v = v->up)
				hop_node_syms(&(hop_node){ .op = (uint16_t)v->op, .attr = v->attr }, keep_sym, j);
		}
}

hop_sizes hop_join_sargs(hop_join *j)
{
	hop_size *s = HOP_NEWN(&j->t->arena, hop_size, j->nsym);
	for (uint32_t i = 0; i < j->nsym; i++)
		s[i] = hop_size_sym(hop_env_of(j->t), j->sym[i]);
	return (hop_sizes){ j->nsym, s };
}

/* ---- sealing ---- */

/* The view of a leaf, emitted on its written storage. Sizes are the draft's: translated. */
static hop_val derive(hop_build *b, const hop_view_step *w, hop_val v, hop_size *map, int nmap)
{
	size_t n;
	const hop_view_step **s = hop_view_steps(b->env, w, &n);
	for (size_t i = 0; i < n && !b->st; i++) {
		void *attr = hop_attr_copy(b->env, &b->arena, s[i]->op, s[i]->attr, map, nmap);
		v = hop_emit_op(b, s[i]->op, attr, 1, &v);
	}
	return b->st ? HOP_BAD : v;
}

static void place_leaves(hop_join *j, int k, const hop_layout *l, hop_build *nb, hop_val *map,
                         hop_size *smap, int nsym)
{
	hop_trace *body = j->body[k];
	for (size_t i = 0; i < body->nleaf; i++) {
		const hop_leaf *f = &body->leaf[i];
		if (f->kind == HOP_LEAF_PARAM) {
			if (f->index != UINT32_MAX)
				map[f->val.id] = (hop_val){ l->param[f->index] };
			continue;
		}
		uint32_t w = body_w(j, body, f->index);
		if (w == UINT32_MAX)
			map[f->val.id] = (hop_val){ l->k0 + j->place[k][i] };
		else if (f->kind == HOP_LEAF_STORE)
			map[f->val.id] = (hop_val){ l->w0 + w };
		else
			map[f->val.id] = derive(nb, body->slot[f->slot].view,
			                        (hop_val){ l->w0 + w }, smap, nsym);
	}
}

/* The checks of a draft that wait for symbols above `from`, and for none above n. */
static void copy_checks(const hop_build *draft, hop_build *to, const hop_size *map, int n, int from)
{
	for (size_t i = 0; i < draft->ncheck && !to->st; i++) {
		hop_check c = draft->check[i];
		int waits = hop_check_waits(&c);
		if (waits <= from || waits > n)
			continue;
		c.a = hop_size_subst(to->env, c.a, map, n);
		c.b = hop_size_subst(to->env, c.b, map, n);
		hop_build_check(to, c);
	}
}

hop_status hop_join_seal(hop_join *j, int k, const hop_layout *l, uint32_t nout,
                         const hop_val *out, const char *name, const hop_graph **out_g)
{
	hop_trace *body = j->body[k];
	hop_build *db = &body->b, nb;
	hop_env *e = db->env;
	hop_arena *a = &j->t->arena;
	int nsym = (int)(db->nsym + db->nlocal);
	hop_size *smap = HOP_NEWN(a, hop_size, nsym);
	uint32_t most = 0;
	for (uint32_t i = 0; i < db->nnode; i++)
		most = db->node[i].nin > most ? db->node[i].nin : most;
	hop_val *map = HOP_NEWN(a, hop_val, db->nvalue), *arg = HOP_NEWN(a, hop_val, most);
	hop_graph draft = { .nsym = db->nsym, .nlocal = db->nlocal, .range = db->range,
	                    .symname = db->symname };

	*out_g = NULL;
	hop_build_open(&nb, e);
	for (uint32_t i = 0; i < j->nsym; i++)
		hop_build_sym(&nb, db->range[j->sym[i]], db->symname[j->sym[i]]);
	for (uint32_t i = 0; i < db->nsym; i++)
		if (j->newsym[i] >= 0)
			smap[i] = hop_size_sym(e, j->newsym[i]);
	for (uint32_t i = 0; i < l->nparam; i++)
		hop_build_param(&nb, hop_type_subst(e, l->type[i], smap, nsym));
	place_leaves(j, k, l, &nb, map, smap, nsym);
	copy_checks(db, &nb, smap, (int)db->nsym, -1);     /* with their words, before infer finds its */
	for (uint32_t i = 0; i < j->nseq[k] && !nb.st; i++) {
		const hop_node *n = &db->node[j->seq[k][i]];
		for (uint32_t m = 0; m < n->nin; m++)
			arg[m] = map[n->in[m].id];
		hop_val o = hop_emit_copy(&nb, &draft, n, arg, smap, nsym);
		for (uint32_t m = 0; m < n->nout; m++)
			map[n->out0.id + m] = (hop_val){ o.id + m };
	}
	copy_checks(db, &nb, smap, nsym, (int)db->nsym);
	hop_val *res = HOP_NEWN(a, hop_val, nout + l->nextra + l->nzero);
	for (uint32_t i = 0; i < nout; i++)
		res[i] = map[hop_hooks_read(body, out[i]).id];
	const hop_val *left = out + nout;
	for (uint32_t i = 0; i < l->nextra; i++)
		res[nout++] = (hop_val){ l->extra[i] };
	for (uint32_t i = 0; i < l->nzero; i++)
		res[nout++] = l->zero[i] ? hop_emit_zeros(&nb, hop_type_subst(e, l->zero[i], smap, nsym))
		                         : map[hop_hooks_read(body, *left++).id];
	hop_graph *g = NULL;
	hop_status st = hop_seal(&nb, nout, res, name, &g);
	if (st)
		j->t->b.st = st;
	*out_g = g;
	return st;
}

void hop_join_wrote(hop_join *j, const hop_val *v)
{
	for (uint32_t i = 0; i < j->nw; i++)
		hop_store_set(j->t, j->w[i], hop_mode_stops(j->t) ?
		              hop_mode_written(j->t, hop_store_cur(j->t, j->w[i]), v[i]) : v[i]);
}
