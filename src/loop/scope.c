/* scope.c -- where statements go: each one into the outermost open block in which its
 * operands exist. Also loads, stores, addresses and loops. Decides nothing about values. */
#include "loop/lower.h"

static void count(hop_lower *l, enum hop_sop s, hop_dtype d)
{
	l->found.size++;
	if (s != HOP_SOP_load && s != HOP_SOP_store)
		l->found.cost += hop_sop_cost(s, (int)d);
}

void hop_lower_note_reg(hop_lower *l, hop_reg r, hop_scope *s)
{
	hop_lnames *n = &l->names;
	n->regscope = hop_arena_grow(l->w, n->regscope, sizeof *n->regscope, (size_t)r + 1, &n->regcap);
	n->regscope[r] = s;
}

hop_scope *hop_lower_reg_scope(hop_lower *l, hop_reg r)
{
	return r && (size_t)r < l->names.regcap && l->names.regscope[r] ? l->names.regscope[r] : l->top;
}

bool hop_lower_visible(hop_lower *l, hop_reg r)
{
	hop_scope *s = hop_lower_reg_scope(l, r), *p = l->q.cur;
	if (s->is_shut)
		return false;
	while (p && p->depth > s->depth)
		p = p->up;
	return p == s;
}

hop_scope *hop_lower_deeper(hop_scope *a, hop_scope *b)
{
	return a->depth >= b->depth ? a : b;
}

hop_scope *hop_lower_ix_scope(hop_lower *l, const hop_ix *x)
{
	hop_scope *s = l->top;
	for (int i = 0; i < x->n; i++) {
		const hop_ixatom *a = x->t[i].a;
		s = hop_lower_deeper(s, a->kind == HOP_IX_REG ? hop_lower_reg_scope(l, a->reg)
		                                              : hop_lower_ix_scope(l, a->of));
	}
	return s;
}

/* Emit the next statement at s, but inside the branch we are in. */
static hop_scope *aim(hop_lower *l, hop_scope *s)
{
	s = hop_lower_deeper(s, l->q.cur->barrier);
	l->q.b.block = s->block;
	return s;
}

static hop_reg emit(hop_lower *l, enum hop_sop sop, hop_dtype d, int na, const hop_reg *a)
{
	hop_scope *s = l->top;
	for (int i = 0; i < na; i++)
		s = hop_lower_deeper(s, hop_lower_reg_scope(l, a[i]));
	s = aim(l, s);
	count(l, sop, d);
	hop_reg r = hop_l_op(&l->q.b, sop, d, na, a);
	hop_lower_note_reg(l, r, s);
	return r;
}

hop_reg hop_lower_op(hop_lower *l, enum hop_sop sop, hop_dtype d, int na, const hop_reg *a)
{
	return emit(l, sop, hop_dtype_computes(d), na, a);
}

/* ---- packed dtypes ---- */

/* The packed register that r is the number of; 0 when there is none. */
static hop_reg narrow_of(hop_lower *l, hop_dtype d, hop_reg r)
{
	struct { int64_t d, r; } key = { d, r };

	return (hop_reg)(uintptr_t)hop_map_get(&l->narrow, &key, sizeof key);
}

/* The number in a packed register. */
static hop_reg widened(hop_lower *l, hop_dtype d, hop_reg r)
{
	hop_reg w = emit(l, HOP_SOP_cast, hop_dtype_computes(d), 1, &r);
	struct { int64_t d, r; } key = { d, w };

	if (!l->q.dry.on)
		hop_map_put(&l->narrow, &key, sizeof key, (void *)(uintptr_t)r);
	return w;
}

static hop_reg narrowed(hop_lower *l, hop_dtype d, hop_reg r)
{
	hop_reg n = narrow_of(l, d, r);
	return n ? n : emit(l, HOP_SOP_cast, d, 1, &r);
}

hop_reg hop_lower_round(hop_lower *l, hop_dtype d, hop_reg r)
{
	if (!hop_dtype_packed(d) || narrow_of(l, d, r))
		return r;
	return widened(l, d, narrowed(l, d, r));
}

/* What the elements of a buffer are; in a dry run it is not there. */
static hop_dtype stored(const hop_lower *l, hop_dtype d, int buf)
{
	return l->q.dry.on ? d : l->q.b.f->buf[buf].dtype;
}

/* ---- constants and sizes ---- */

/* A register that depends on nothing, once a branch. */
static hop_reg known(hop_lower *l, int kind, hop_dtype d, double f, hop_size z)
{
	struct { int64_t kind, d; double f; int64_t k; const void *e, *at; } key =
		{ kind, d, f, z.k, z.e, l->q.cur->barrier };
	hop_reg *r = hop_map_get(&l->memo, &key, sizeof key);

	if (r)
		return *r;
	hop_scope *s = aim(l, l->top);
	r = HOP_NEW(l->w, hop_reg);
	*r = kind == 0 ? hop_l_constf(&l->q.b, d, f) :
	     kind == 1 ? hop_l_consti(&l->q.b, d, z.k) : hop_l_size(&l->q.b, z);
	hop_lower_note_reg(l, *r, s);
	if (!l->q.dry.on)
		hop_map_put(&l->memo, &key, sizeof key, r);
	return *r;
}

hop_reg hop_lower_const(hop_lower *l, hop_dtype d, double f, int64_t i)
{
	bool fl = hop_dtype_real(d);
	return known(l, !fl, hop_dtype_computes(d), fl ? f : 0, hop_size_int(fl ? 0 : i));
}

/* Local symbols change while running: those sizes are read where they are used. */
hop_reg hop_lower_sizereg(hop_lower *l, hop_size s)
{
	if (hop_size_const(s))
		return hop_lower_const(l, HOP_i64, 0, s.k);
	if (hop_size_nsym(s) <= l->q.b.f->nsym)
		return known(l, 2, HOP_i64, 0, s);
	l->q.b.block = l->q.cur->block;
	hop_reg r = hop_l_size(&l->q.b, s);
	hop_lower_note_reg(l, r, l->q.cur);
	return r;
}

static hop_reg times(hop_lower *l, hop_reg r, hop_size c)
{
	if (hop_size_is(c, 1))
		return r;
	return hop_lower_do(l, mul, HOP_i64, r, hop_lower_sizereg(l, c));
}

/* The register of an atom; quotients and remainders once a scope. */
static hop_reg atom_reg(hop_lower *l, const hop_ixatom *a)
{
	if (a->kind == HOP_IX_REG)
		return a->reg;
	hop_scope *at = hop_lower_deeper(hop_lower_ix_scope(l, a->of), l->q.cur->barrier);
	struct { const void *a, *at; int64_t kind; } key = { a, at, 7 };
	hop_reg *r = hop_map_get(&l->memo, &key, sizeof key);
	if (r && hop_size_nsym(a->by) <= l->q.b.f->nsym && hop_lower_visible(l, *r))
		return *r;
	r = HOP_NEW(l->w, hop_reg);
	hop_reg of = hop_lower_ixreg(l, a->of), by = hop_lower_sizereg(l, a->by);
	*r = a->kind == HOP_IX_DIV ? hop_lower_do(l, div, HOP_i64, of, by)
	                           : hop_lower_do(l, rem, HOP_i64, of, by);
	if (!l->q.dry.on)
		hop_map_put(&l->memo, &key, sizeof key, r);
	return *r;
}

hop_reg hop_lower_ixreg(hop_lower *l, const hop_ix *x)
{
	hop_reg s = 0;
	for (int i = 0; i < x->n; i++) {
		hop_reg t = times(l, atom_reg(l, x->t[i].a), x->t[i].c);
		s = s ? hop_lower_do(l, add, HOP_i64, s, t) : t;
	}
	if (!s)
		return hop_lower_sizereg(l, x->k);
	if (hop_size_is(x->k, 0))
		return s;
	return hop_lower_do(l, add, HOP_i64, s, hop_lower_sizereg(l, x->k));
}

hop_addr hop_lower_addr(hop_lower *l, int buf, const hop_ix *at)
{
	hop_addr a = { .buf = buf, .offset = at->k };
	a.term = at->n ? HOP_NEWN(l->q.a, hop_term, at->n < HOP_MAXTERM ? at->n : HOP_MAXTERM) : NULL;
	for (int i = 0; i < at->n; i++) {
		hop_reg r = atom_reg(l, at->t[i].a);
		if (i >= HOP_MAXTERM - 1 && at->n > HOP_MAXTERM) {      /* the rest in one */
			hop_reg s = times(l, r, at->t[i].c);
			for (i++; i < at->n; i++)
				s = hop_lower_do(l, add, HOP_i64, s,
				                 times(l, atom_reg(l, at->t[i].a), at->t[i].c));
			a.term[a.nterm++] = (hop_term){ s, hop_size_int(1) };
			break;
		}
		a.term[a.nterm++] = (hop_term){ r, at->t[i].c };
	}
	return a;
}

static hop_scope *addr_scope(hop_lower *l, const hop_addr *a, hop_scope *s)
{
	for (int i = 0; i < a->nterm; i++)
		s = hop_lower_deeper(s, hop_lower_reg_scope(l, a->term[i].reg));
	return s;
}

/* s is where the buffer became readable: the load does not leave it. */
hop_reg hop_lower_load(hop_lower *l, hop_dtype d, int buf, const hop_ix *at, hop_scope *s)
{
	hop_addr a = hop_lower_addr(l, buf, at);
	s = addr_scope(l, &a, s);
	if (l->q.mask)
		s = hop_lower_deeper(s, hop_lower_reg_scope(l, l->q.mask));
	s = aim(l, s);
	d = stored(l, d, buf);
	count(l, HOP_SOP_load, d);
	hop_reg r = hop_l_load(&l->q.b, d, &a);
	if (l->q.mask && s->block) {
		s->block->last->na = 1;
		s->block->last->a[0] = l->q.mask;
	}
	hop_lower_note_reg(l, r, s);
	return hop_dtype_packed(d) ? widened(l, d, r) : r;
}

void hop_lower_put(hop_lower *l, hop_dtype d, int buf, const hop_ix *at, hop_reg v)
{
	hop_addr a = hop_lower_addr(l, buf, at);
	d = stored(l, d, buf);
	if (hop_dtype_packed(d))
		v = narrowed(l, d, v);
	l->q.b.block = l->q.cur->block;
	count(l, HOP_SOP_store, d);
	hop_l_store(&l->q.b, d, &a, v);
	if (l->q.mask && l->q.b.block) {
		l->q.b.block->last->na = 2;
		l->q.b.block->last->a[1] = l->q.mask;
	}
}

const hop_ix *hop_lower_clamp(hop_lower *l, hop_reg r, hop_size n)
{
	hop_reg last, zero = hop_lower_const(l, HOP_i64, 0, 0);
	last = hop_lower_sizereg(l, hop_size_sub(l->env, n, hop_size_int(1)));
	r = hop_lower_do(l, min, HOP_i64, r, last);
	return hop_ix_reg(l, hop_lower_do(l, max, HOP_i64, r, zero), n);
}

hop_reg hop_lower_to(hop_lower *l, hop_dtype d, hop_dtype from, hop_reg r)
{
	return hop_dtype_computes(d) == hop_dtype_computes(from) ? r : hop_lower_do(l, cast, d, r);
}

hop_reg hop_lower_as_i64(hop_lower *l, hop_reg r, hop_dtype d)
{
	return hop_lower_to(l, HOP_i64, d, r);
}

hop_reg hop_lower_and(hop_lower *l, hop_reg a, hop_reg b)
{
	return !a ? b : !b ? a : hop_lower_do(l, and, HOP_bool, a, b);
}

/* ---- scopes ---- */

static hop_scope *push(hop_lower *l, hop_scope *up, hop_stmt *s, hop_block *b)
{
	hop_scope *n = HOP_NEW(l->w, hop_scope);
	n->up = up;
	n->back = l->q.cur;
	n->barrier = up->barrier;
	n->depth = up->depth + 1;
	n->stmt = s;
	n->block = l->q.dry.on ? NULL : b;
	l->q.cur = n;
	return n;
}

hop_stmt *hop_lower_new(hop_lower *l, enum hop_lkind k)
{
	hop_stmt *s = HOP_NEW(l->q.a, hop_stmt);
	s->kind = k;
	s->loc = l->q.b.loc;
	return s;
}

const hop_ix *hop_lower_open(hop_lower *l, enum hop_loop_kind k, hop_size extent,
                             hop_scope *at)
{
	if (k == HOP_LOOP_PAR && hop_size_is(extent, 1))
		return hop_ix_size(l, hop_size_int(0));
	hop_stmt *s = hop_lower_new(l, HOP_L_LOOP);
	s->loop = k;
	s->extent = extent;
	s->dst = hop_l_reg(&l->q.b);
	if (at)
		at = hop_lower_deeper(at, l->q.cur->barrier);
	hop_scope *n = push(l, at ? at : l->q.cur, s, &s->body);
	n->is_nest = k != HOP_LOOP_SEQ;
	hop_lower_note_reg(l, s->dst, n);
	n->var = hop_ix_reg(l, s->dst, extent);
	l->found.size++;
	return n->var;
}

void hop_lower_close(hop_lower *l)
{
	hop_scope *n = l->q.cur;
	hop_stmt *s = n->stmt;
	hop_block_append(n->up->block, s);
	n->is_shut = true;
	for (int i = 0; s->kind == HOP_L_LOOP && i < s->nacc; i++)
		hop_lower_note_reg(l, s->acc[i].result, n->up);
	l->q.cur = n->back;
}

int hop_lower_open_dims(hop_lower *l, int rank, const hop_size *dim, const hop_ix **x)
{
	int n = 0;
	for (int i = 0; i < rank; i++) {
		x[i] = hop_lower_open(l, HOP_LOOP_PAR, dim[i], NULL);
		n += !hop_size_is(dim[i], 1);
	}
	return n;
}

void hop_lower_close_n(hop_lower *l, int n)
{
	while (n-- > 0)
		hop_lower_close(l);
}

hop_reg hop_lower_acc(hop_lower *l, enum hop_red r, hop_dtype d, hop_reg init, hop_reg v)
{
	hop_stmt *s = l->q.cur->stmt;
	hop_acc *c = HOP_NEWN(l->q.a, hop_acc, s->nacc + 1);
	HOP_ASSERT(s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_RED);
	for (int i = 0; i < s->nacc; i++)
		c[i] = s->acc[i];
	c[s->nacc] = (hop_acc){ r, hop_dtype_computes(d), init, v, hop_l_reg(&l->q.b) };
	s->acc = c;
	l->found.cost++;
	return c[s->nacc++].result;
}

void hop_lower_enter(hop_lower *l, hop_stmt *s, hop_block *b, bool barrier)
{
	hop_scope *n = push(l, l->q.cur, s, b);
	if (barrier)
		n->barrier = n;
}

void hop_lower_leave(hop_lower *l, bool link)
{
	hop_scope *n = l->q.cur;
	if (link)
		hop_block_append(n->back->block, n->stmt);
	n->is_shut = true;
	l->q.cur = n->back;
}
