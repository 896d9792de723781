/* decide.c -- which values of a graph are stored and which are computed where they are
 * used. Dry runs of the cells tell what an element costs and at which indices operands
 * are wanted, so no rule here knows an op. Emits nothing that stays.
 *
 * needs: parameters of the instance bound.  fills: root, live, has_dest, fixed */
#include <string.h>

#include "loop/lower.h"

enum {
	CHEAP    = 4,       /* cost below which recomputing beats a load and a store */
	TRIVIAL  = 1,       /* the same when a loop recomputes it many times */
	SIZE_MAX_NEST = 120, /* statements inlined into one nest before a value is stored */
	MANY     = 12,      /* wishes for one value before it is stored */
	DEEP     = 100,     /* virtual values in a row: each is a call inside a call here */
	SPARE    = 256      /* registers of a dry run, mostly fewer */
};

static hop_status dry_cell(hop_lower *l, const hop_node *n, enum hop_ask ask,
                           const hop_ix *const *ix)
{
	l->q.ask = ask;
	l->q.ix = ix;
	l->reg = 0;
	return hop_optab[n->op].lower(l, n);
}

/* The cell at an index of fresh loops over the whole value. */
static hop_status dry_whole(hop_lower *l, const hop_node *n, bool special)
{
	const hop_type *t = hop_lower_out(l, n, 0);
	const hop_ix *x[HOP_MAXRANK];
	if (special) {
		l->q.dest = hop_lower_dense(l, 0, t);
		return dry_cell(l, n, HOP_ASK_STORE, NULL);
	}
	int k = hop_lower_open_dims(l, t->rank, t->dim, x);
	hop_status st = dry_cell(l, n, HOP_ASK_AT, x);
	hop_lower_close_n(l, k);
	return st;
}

/* ---- forward: costs ---- */

/* What a run for its own sake takes: all of it is given up again, or it would be most of the
 * memory that lowering needs. */
typedef struct draft {
	hop_lnames names;
	hop_arena *w;
	int        nreg;
	hop_mark   m;
} draft;

static draft draft_begin(hop_lower *l)
{
	draft d = { l->names, l->w, l->q.b.f->nreg, hop_mark_at(l->once) };
	l->w = l->once;
	l->names.ixs = (hop_map){ .a = l->once };
	return d;
}

static void draft_end(hop_lower *l, const draft *d)
{
	l->names = d->names;
	l->w = d->w;
	l->q.b.f->nreg = d->nreg;
	hop_rewind(l->once, d->m);
}

/* Nothing of this run stays but what it says of the value. */
static hop_status try_cell(hop_lower *l, const hop_node *n, hop_lval *x)
{
	draft d = draft_begin(l);
	l->found.cost = l->found.size = l->found.deep = 0;
	l->q.dry.val = x;
	hop_status st = dry_whole(l, n, false);
	l->q.dry.val = NULL;
	x->uniform = l->reg && hop_lower_reg_scope(l, l->reg) == l->q.cur;
	draft_end(l, &d);
	if (x->kind == HOP_LV_BUF)           /* data, found only now */
		x->view = hop_lower_dense(l, x->view.buf, x->type);
	return st;
}

/* In a region that does not fuse: what takes operands and is no view of them. */
static bool kept_apart(const hop_lower *l, const hop_node *n)
{
	return l->no_fuse && n->nin && !(hop_optab[n->op].flags & HOP_F_V);
}

static hop_status measure(hop_lower *l, const hop_node *n, int nuse)
{
	hop_lval *x = &l->q.inst->val[n->out0.id];
	HOP_TRY(try_cell(l, n, x));
	x->cost = l->found.cost < 10000 ? l->found.cost : 10000;
	x->size = l->found.size;
	x->deep = l->found.deep + 1;
	if ((x->size > SIZE_MAX_NEST && !(hop_optab[n->op].flags & HOP_F_V)) || x->deep > DEEP)
		x->must = true;
	if (x->must || x->kind == HOP_LV_BUF || (nuse > 1 && x->cost > CHEAP) || x->heavy) {
		/* consumers will most likely load it */
		x->size = 1;
		if (x->must || x->kind == HOP_LV_BUF)
			x->cost = x->deep = 0;
	}
	if (kept_apart(l, n)) {
		x->size = 1;
		x->cost = x->deep = 0;
	}
	return HOP_OK;
}

/* ---- backward: decisions ---- */

static bool uses_var(const hop_ix *x, const hop_ixatom *v)
{
	for (int i = 0; i < x->n; i++)
		if (x->t[i].a == v || (x->t[i].a->of && uses_var(x->t[i].a->of, v)))
			return true;
	return false;
}

/* No element is computed twice: every loop around the place of computation is in the
 * index. */
static bool once(hop_lower *l, const hop_demand *d, int rank)
{
	hop_scope *s = l->top;
	for (int i = 0; i < rank; i++)
		s = hop_lower_deeper(s, hop_lower_ix_scope(l, d->ix[i]));
	for (; s && s->is_nest; s = s->up) {
		bool used = false;
		for (int i = 0; i < rank && !used; i++)
			used = uses_var(d->ix[i], s->var->t[0].a);
		if (!used)
			return false;
	}
	return true;
}

static bool want_root(hop_lower *l, const hop_linst *in, const hop_node *n, hop_lval *x)
{
	int rank = x->type->rank, flags = hop_optab[n->op].flags;
	bool out = false, cond = false, need = false, step = false, again = false;
	if (x->has_dest || x->must || kept_apart(l, n))
		return true;
	if (flags & HOP_F_V)
		return false;
	for (hop_demand *d = x->demand; d; d = d->next) {
		out |= d->home < 0;
		cond |= d->cond;
		need |= d->need;
		step |= d->home >= 0 && !in->val[d->home].fixed;
		again |= d->home >= 0 && !once(l, d, rank);
	}
	if (need)
		return true;
	if (x->cost == 0 && !x->heavy)
		return false;
	/* under a mask a scalar would be computed again, with all that it is made of */
	if (rank == 0 && cond && x->cost > CHEAP)
		return true;
	if (rank == 0 || x->uniform)
		return x->heavy && (out || x->ndemand > 1);
	if (out || x->ndemand > MANY || (x->fixed && step))
		return true;
	if (x->heavy)
		return cond || x->ndemand > 1 || again;
	if (again)
		return x->cost > TRIVIAL;
	return x->ndemand > 1 && x->cost > CHEAP;
}

/* Pass the wishes for a value on to its operands. */
static hop_status push_wishes(hop_lower *l, const hop_node *n, hop_lval *x)
{
	if (x->root) {
		l->q.dry.home = (int)n->out0.id;
		return dry_whole(l, n, x->special);
	}
	hop_question was = l->q;
	for (hop_demand *d = x->demand; d; d = d->next, l->q = was) {
		l->q.dry.home = d->home;
		l->q.dry.need = d->need;
		if (d->home < 0) {
			HOP_TRY(dry_whole(l, n, false));
		} else {
			l->q.mask = d->cond ? hop_lower_const(l, HOP_bool, 0, 1) : 0;
			l->q.cur = d->scope;
			HOP_TRY(dry_cell(l, n, HOP_ASK_AT, d->ix));
		}
	}
	return HOP_OK;
}

/* One that is written is made where its result will be, so that it needs no place of its own. */
static bool is_written(const hop_node *n, uint32_t k)
{
	hop_ints w = hop_node_writes(n);
	for (int64_t i = 0; i < w.n; i++)
		if (w.v[i] == (int64_t)k)
			return true;
	return false;
}

static void wish_operands(hop_lower *l, const hop_node *n)
{
	l->q.dry.home = -1;
	for (uint32_t k = 0; k < n->nin; k++) {
		const hop_type *t = hop_lower_in(l, n, (int)k);
		const hop_ix *x[HOP_MAXRANK];
		int m = hop_lower_open_dims(l, t->rank, t->dim, x);
		hop_view v;
		if (hop_optab[n->op].flags & (HOP_F_X | HOP_F_W) && !is_written(n, k))
			(void)!hop_lower_arg_view(l, n, (int)k, true, &v);
		else
			(void)hop_lower_arg(l, n, (int)k, x);
		hop_lower_close_n(l, m);
	}
}

static bool wanted(const hop_linst *in, const hop_node *n)
{
	for (uint32_t i = 0; i < n->nout; i++)
		if (in->val[n->out0.id + i].ndemand || in->val[n->out0.id + i].has_dest)
			return true;
	return false;
}

/* Values that no step changes: made from fixed parameters by plain ops. What the step has to
 * store as a result is there only inside, unless it costs nothing to say again. */
static void mark_fixed(hop_linst *in, const bool *fixed)
{
	const hop_graph *g = in->g;
	if (!fixed)
		return;
	for (uint32_t i = 0; i < g->nparam; i++)
		in->val[i].fixed = fixed[i];
	for (uint32_t i = 0; i < g->nnode; i++) {
		const hop_node *n = &g->node[i];
		bool ok = !(hop_optab[n->op].flags & HOP_F_WHOLE);
		for (uint32_t k = 0; k < n->nin; k++)
			ok = ok && in->val[n->in[k].id].fixed;
		for (uint32_t k = 0; k < n->nout; k++) {
			const hop_type *t = g->type[n->out0.id + k];
			hop_lval *x = &in->val[n->out0.id + k];
			bool loc = false;
			for (int d = 0; d < t->rank; d++)
				loc |= hop_size_nsym(t->dim[d]) > (int)g->nsym;
			x->fixed = ok && !loc && (!x->has_dest || hop_lower_is_free(x));
		}
	}
}

static hop_status decide(hop_lower *l, hop_linst *in, const hop_view *dest, const bool *fixed)
{
	const hop_graph *g = in->g;
	int *nuse = in->nuse = HOP_NEWN(l->w, int, g->nvalue);
	/* so many registers that no single cell has to make this longer for itself */
	l->names.regscope = hop_arena_grow(l->w, l->names.regscope, sizeof *l->names.regscope,
	                             (size_t)l->q.b.f->nreg + SPARE, &l->names.regcap);
	for (uint32_t i = 0; i < g->nnode; i++)
		for (uint32_t k = 0; k < g->node[i].nin; k++)
			nuse[g->node[i].in[k].id]++;
	for (uint32_t i = 0; i < g->nnode; i++)
		if (!(hop_optab[g->node[i].op].flags & HOP_F_WHOLE))
			HOP_TRY(measure(l, &g->node[i], nuse[g->node[i].out0.id]));
	for (uint32_t i = 0; i < g->nout; i++) {
		hop_lval *x = &in->val[g->out[i].id];
		if (x->kind != HOP_LV_NODE || g->out[i].id < g->nparam)
			continue;
		if (dest[i].buf >= 0 && !x->has_dest) {
			x->has_dest = true;
			x->dest = dest[i];
		} else if (dest[i].buf == HOP_VIEW_REG) {
			l->q.dry.home = -1;
			x->ndemand++;
			x->demand = HOP_NEW(l->w, hop_demand);
			x->demand->home = -1;
		}
	}
	mark_fixed(in, in->tests ? NULL : fixed);
	hop_mark m = hop_mark_at(l->once);
	for (uint32_t i = g->nnode; i-- > 0; hop_rewind(l->once, m)) {
		const hop_node *n = &g->node[i];
		l->q.b.loc = n->loc;
		in->live[i] = hop_node_effect(n) || n->guard || wanted(in, n) || hop_node_binds(n) >= 0 ||
		              (n->nout && in->val[n->out0.id].must);
		if (!in->live[i])
			continue;
		if (hop_optab[n->op].flags & HOP_F_WHOLE) {
			wish_operands(l, n);
			continue;
		}
		hop_lval *x = &in->val[n->out0.id];
		hop_lower_out(l, n, 0);
		if (x->kind != HOP_LV_NODE)
			continue;
		x->root = want_root(l, in, n, x);
		HOP_TRY(push_wishes(l, n, x));
	}
	return HOP_OK;
}

hop_status hop_lower_decide(hop_lower *l, hop_linst *in, const hop_view *dest,
                            const bool *fixed)
{
	hop_question was = l->q;
	if (in->dead)
		return HOP_OK;
	l->q.inst = in;
	l->q.dry.on = true;
	l->q.a = l->q.b.a = l->once;       /* what is emitted now is thrown away */
	l->q.mask = 0;
	hop_lower_enter(l, NULL, NULL, true);
	hop_scope *base = l->q.cur;
	hop_status st = decide(l, in, dest, fixed);
	base->is_shut = true;
	l->q = was;
	return st;
}
