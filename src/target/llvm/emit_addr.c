/* emit_addr.c -- sizes, addresses, loads and stores.
 *
 * No pass hoists anything later, so an address is built in steps, each placed before the
 * loop that does not change it. Does not check bounds: the lowering made them right. */
#include "target/abi.h"
#include "target/llvm/emit.h"

/* ---- placing code at an outer level ---- */

/* Move the builder to where values of `depth` are known and no deeper loop is open. */
static hop_lbb *go_out(hop_emit *e, int depth)
{
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	if (depth < e->s.depth)
		e->L->PositionBuilderBefore(e->b,
		                e->L->GetBasicBlockTerminator(e->s.pre[depth]));
	return back;
}

static hop_lbb *go_entry(hop_emit *e)
{
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	e->L->PositionBuilderBefore(e->b, e->L->GetBasicBlockTerminator(e->s.entry));
	return back;
}

/* A block that is finished is one we are inserting into from inside. */
static void go_back(hop_emit *e, hop_lbb *back)
{
	hop_lv *t = e->L->GetBasicBlockTerminator(back);
	if (t)
		e->L->PositionBuilderBefore(e->b, t);
	else
		hop_e_at(e, back);
}

/* ---- raw memory ---- */

static hop_lv *gep(hop_emit *e, hop_lt *t, hop_lv *p, hop_lv *i)
{
	return hop_e_known(e, i, 1) == 0 ? p : e->L->BuildGEP2(e->b, t, p, &i, 1, "");
}

hop_lv *hop_e_ptr_load(hop_emit *e, hop_lt *t, hop_lv *p, int64_t byte)
{
	return e->L->BuildLoad2(e->b, t, gep(e, e->i8, p, hop_e_int(e, byte)), "");
}

void hop_e_ptr_store(hop_emit *e, hop_lv *v, hop_lv *p, int64_t byte)
{
	e->L->BuildStore(e->b, v, gep(e, e->i8, p, hop_e_int(e, byte)));
}

/* ---- sizes ---- */

static hop_lv *size_at(hop_emit *e, hop_size s);

static hop_lv *symbol(hop_emit *e, int i)
{
	hop_addr a = { 0 };
	if (i >= e->f->nsym) {
		hop_eaddr at;

		a.buf = e->f->local[i - e->f->nsym];
		at = hop_e_addr(e, &a);
		return e->L->BuildLoad2(e->b, e->i64, at.p, "");
	}
	if (!e->s.sym[i]) {
		hop_lbb *back = go_entry(e);
		e->s.sym[i] = hop_e_ptr_load(e, e->i64, e->s.syms, 8 * (int64_t)i);
		go_back(e, back);
	}
	return e->s.sym[i];
}

/* Floor division and remainder, total: by 0 they give 0. The machine must not see a division
 * by -1 either, which traps for the least number. */
static hop_lv *floor_div(hop_emit *e, hop_lv *a, hop_lv *b, bool mod)
{
	hop_lv *zero = hop_e_int(e, 0), *isz = hop_e_icmp(e, LL_EQ, b, zero);
	hop_lv *minus = hop_e_icmp(e, LL_EQ, b, hop_e_int(e, -1));
	hop_lv *by = hop_e_sel(e, hop_e_bin(e, LL_OR, isz, minus), hop_e_int(e, 1), b);
	hop_lv *q = hop_e_bin(e, LL_SDIV, a, by), *r = hop_e_bin(e, LL_SREM, a, by);
	hop_lv *off = hop_e_icmp(e, LL_SLT, hop_e_bin(e, LL_XOR, r, by), zero);
	off = hop_e_bin(e, LL_AND, off, hop_e_icmp(e, LL_NE, r, zero));
	if (mod)
		q = hop_e_sel(e, off, hop_e_bin(e, LL_ADD, r, by), r);
	else
		q = hop_e_sel(e, off, hop_e_bin(e, LL_SUB, q, hop_e_int(e, 1)), q);
	q = hop_e_sel(e, minus, mod ? zero : hop_e_bin(e, LL_SUB, zero, a), q);
	return hop_e_sel(e, isz, zero, q);
}

static hop_lv *atom(hop_emit *e, const hop_atom *t)
{
	hop_lv *a, *b;
	if (t->kind == HOP_ATOM_SYM)
		return symbol(e, t->sym);
	a = size_at(e, t->a);
	b = size_at(e, t->b);
	switch (t->kind) {
	case HOP_ATOM_DIV:
		return floor_div(e, a, b, false);
	case HOP_ATOM_MOD:
		return floor_div(e, a, b, true);
	case HOP_ATOM_MIN:
		return hop_e_sel(e, hop_e_icmp(e, LL_SLT, a, b), a, b);
	default:
		return hop_e_sel(e, hop_e_icmp(e, LL_SGT, a, b), a, b);
	}
}

static hop_lv *size_at(hop_emit *e, hop_size s)
{
	hop_lv *sum = hop_e_int(e, s.k);
	for (int i = 0; s.e && i < hop_sexpr_nterm(s.e); i++) {
		hop_lv *t = hop_e_int(e, hop_sexpr_coeff(s.e, i));

		for (int j = 0; j < hop_sexpr_natom(s.e, i); j++)
			t = hop_e_bin(e, LL_MUL, t, atom(e, hop_sexpr_atom(s.e, i, j)));
		sum = hop_e_bin(e, LL_ADD, sum, t);
	}
	return sum;
}

/* Computed once, at entry, unless it uses a size bound while running. */
hop_lv *hop_e_size(hop_emit *e, hop_size s)
{
	struct hop_esize *c;
	hop_lbb *back;
	if (hop_size_const(s))
		return hop_e_int(e, s.k);
	if (hop_size_nsym(s) > e->f->nsym)
		return size_at(e, s);
	for (c = e->s.size; c; c = c->next)
		if (hop_size_eq(c->s, s))
			return c->v;
	c = HOP_NEW(&e->env->tmp, struct hop_esize);
	back = go_entry(e);
	*c = (struct hop_esize){ s, size_at(e, s), e->s.size };
	go_back(e, back);
	e->s.size = c;
	return c->v;
}

/* ---- addresses ---- */

static hop_lv *constant_bytes(hop_emit *e, const hop_lbuf *b)
{
	size_t n = (size_t)b->count.k * hop_dtype_bytes(b->dtype);
	hop_lv *c = e->L->ConstStringInContext2(e->cx, b->data, n, 1);
	hop_lv *g = e->L->AddGlobal(e->mod, e->L->TypeOf(c), "");
	e->L->SetInitializer(g, c);
	e->L->SetGlobalConstant(g, 1);
	e->L->SetLinkage(g, LL_PRIVATE);
	e->L->SetAlignment(g, 64);
	return g;
}

hop_lv *hop_e_base(hop_emit *e, int i)
{
	const hop_lbuf *b = &e->f->buf[i];
	hop_lbb *back;
	hop_lv *v;
	if (b->kind == HOP_BUF_TAPE) {       /* it may have moved */
		v = hop_e_ptr_load(e, e->ptr, e->s.rt, offsetof(hop_rt, tape));
		return hop_e_ptr_load(e, e->ptr, v, b->index * (int64_t)sizeof(struct hop_tape));
	}
	if (e->s.base[i])
		return e->s.base[i];
	bool in_frame = b->kind == HOP_BUF_TEMP && b->space == HOP_SPACE_FRAME;
	if (in_frame && hop_size_nsym(b->offset) > e->f->nsym)
		return gep(e, e->i8, e->s.ws, hop_e_size(e, b->offset));
	if (b->kind == HOP_BUF_CONST) {
		if (!e->data[i])
			e->data[i] = constant_bytes(e, b);
		return e->data[i];
	}
	v = b->kind == HOP_BUF_TEMP ? hop_e_size(e, b->offset) : NULL;
	back = go_entry(e);
	hop_lv *space = in_frame ? e->s.ws :
	                hop_e_ptr_load(e, e->ptr, e->s.params, 8 * (int64_t)b->index);
	v = v ? gep(e, e->i8, space, v) : space;
	go_back(e, back);
	return e->s.base[i] = v;
}

hop_eaddr hop_e_addr(hop_emit *e, const hop_addr *a)
{
	const hop_lbuf *b = &e->f->buf[a->buf];
	hop_lt *t = hop_e_mem(e, b->dtype, 1);
	bool late = hop_size_nsym(a->offset) > e->f->nsym ||
	            b->kind == HOP_BUF_TAPE ||
	            hop_size_nsym(b->offset) > e->f->nsym;
	hop_eaddr r = { .dtype = b->dtype, .readonly = e->readonly[a->buf] };
	hop_lv *st[HOP_MAXTERM], *off = hop_e_size(e, a->offset);
	for (int i = 0; i < a->nterm; i++) {
		st[i] = hop_e_size(e, a->term[i].stride);
		if (hop_size_nsym(a->term[i].stride) > e->f->nsym)
			late = true;
	}
	r.p = hop_e_base(e, a->buf);
	for (int d = late ? e->s.depth : 0; d <= e->s.depth; d++) {
		hop_lv *sum = NULL;
		hop_lbb *back = go_out(e, d);

		if (d == (late ? e->s.depth : 0))
			sum = off;
		for (int i = 0; i < a->nterm; i++) {
			const hop_ev *v = hop_e_reg(e, a->term[i].reg);
			hop_lv *m;

			if (v->lane == HOP_VAR || (v->depth != d && !(late && v->depth <= d)))
				continue;
			m = hop_e_bin(e, LL_MUL, v->v, st[i]);
			sum = sum ? hop_e_bin(e, LL_ADD, sum, m) : m;
		}
		if (sum)
			r.p = gep(e, t, r.p, sum);
		go_back(e, back);
	}
	for (int i = 0; i < a->nterm; i++) {
		const hop_ev *v = hop_e_reg(e, a->term[i].reg);
		hop_lv *m;

		if (v->lane == HOP_LIN) {
			m = hop_e_bin(e, LL_MUL, v->step, st[i]);
			r.step = r.step ? hop_e_bin(e, LL_ADD, r.step, m) : m;
		} else if (v->lane == HOP_VAR) {
			m = hop_e_bin(e, LL_MUL, v->v, hop_e_splat(e, st[i], e->lanes));
			r.idx = r.idx ? hop_e_bin(e, LL_ADD, r.idx, m) : m;
		}
	}
	if (r.step && hop_e_known(e, r.step, 1) == 0)
		r.step = NULL;
	r.lane = r.idx ? HOP_VAR : r.step ? HOP_LIN : HOP_UNI;
	if (r.idx && r.step) {
		hop_lv *io = hop_e_iota(e, e->i64, e->lanes, 1);
		io = hop_e_bin(e, LL_MUL, io, hop_e_splat(e, r.step, e->lanes));
		r.idx = hop_e_bin(e, LL_ADD, r.idx, io);
	}
	return r;
}

/* ---- loads and stores ---- */

hop_lv *hop_e_vec(hop_emit *e, const hop_ev *v)
{
	hop_lv *io;
	if (v->lane == HOP_VAR || e->lanes == 1)
		return v->v;
	if (v->lane == HOP_UNI)
		return hop_e_splat(e, v->v, e->lanes);
	if (hop_e_known(e, v->step, 0) == 1)
		io = hop_e_iota(e, e->i64, e->lanes, 1);
	else
		io = hop_e_bin(e, LL_MUL, hop_e_iota(e, e->i64, e->lanes, 1),
		               hop_e_splat(e, v->step, e->lanes));
	return hop_e_bin(e, LL_ADD, hop_e_splat(e, v->v, e->lanes), io);
}

hop_lv *hop_e_lane_mask(hop_emit *e, hop_lv *left, int lanes)
{
	return hop_e_icmp(e, LL_SLT, hop_e_iota(e, e->i64, lanes, 1),
	                  hop_e_splat(e, left, lanes));
}

/* The lanes that take part: those of the tail mask for which the operand holds. */
static hop_lv *lanes_of(hop_emit *e, const hop_ev *mask)
{
	hop_lv *m;
	if (!mask)
		return e->mask;
	m = hop_e_vec(e, mask);
	return e->mask ? hop_e_bin(e, LL_AND, e->mask, m) : m;
}

static hop_lv *plain_load(hop_emit *e, hop_lt *t, hop_lv *p, const hop_eaddr *a)
{
	hop_lv *v = e->L->BuildLoad2(e->b, t, p, "");
	e->L->SetAlignment(v, (unsigned)hop_dtype_bytes(a->dtype));
	if (a->readonly)
		e->L->SetMetadata(v, e->md_invariant, e->md_empty);
	return v;
}

static hop_lv *reverse(hop_emit *e, hop_lv *v, int n)
{
	hop_lv *m[512];
	for (int i = 0; i < n; i++)
		m[i] = e->L->ConstInt(e->i32, (unsigned long long)(n - 1 - i), 0);
	return e->L->BuildShuffleVector(e->b, v, e->L->GetPoison(e->L->TypeOf(v)),
	                                e->L->ConstVector(m, (unsigned)n), "");
}

/* Pointers of all lanes. A small constant step uses 32-bit offsets: one instruction. */
static hop_lv *pointers(hop_emit *e, const hop_eaddr *a)
{
	hop_lt *t = hop_e_mem(e, a->dtype, 1);
	int64_t s = a->lane == HOP_LIN ? hop_e_known(e, a->step, INT64_MAX) : 0;
	hop_lv *i = a->idx;
	if (a->lane != HOP_VAR && s < (1 << 20) && s > -(1 << 20))
		i = hop_e_iota(e, e->i32, e->lanes, s);
	else if (a->lane == HOP_LIN)
		i = hop_e_bin(e, LL_MUL, hop_e_iota(e, e->i64, e->lanes, 1),
		              hop_e_splat(e, a->step, e->lanes));
	return e->L->BuildGEP2(e->b, t, a->p, &i, 1, "");
}

static hop_lv *all_ones(hop_emit *e)
{
	return hop_e_consti(e, HOP_bool, e->lanes, 1);
}

static hop_lv *scalar_load(hop_emit *e, const hop_eaddr *a, const hop_ev *mask)
{
	hop_lt *t = hop_e_mem(e, a->dtype, 1);
	hop_lv *p = a->p, *v;
	if (mask) {
		if (!e->s.dummy) {
			hop_lbb *back = go_entry(e);
			e->s.dummy = e->L->BuildAlloca(e->b, e->i64, "");
			e->L->BuildStore(e->b, hop_e_int(e, 0), e->s.dummy);
			go_back(e, back);
		}
		p = hop_e_sel(e, mask->v, p, e->s.dummy);
	}
	v = plain_load(e, t, p, mask ? &(hop_eaddr){ .dtype = a->dtype } : a);
	return hop_e_to_reg(e, a->dtype, v, 1);
}

hop_ev hop_e_load(hop_emit *e, const hop_eaddr *a, const hop_ev *mask)
{
	int n = e->lanes, al = (int)hop_dtype_bytes(a->dtype);
	hop_lt *t = hop_e_mem(e, a->dtype, n);
	int64_t s = a->lane == HOP_LIN ? hop_e_known(e, a->step, 0) : 0;
	hop_lv *p = a->p, *m, *v, *align;
	hop_ev r = { .dtype = a->dtype, .depth = e->s.depth, .lane = HOP_VAR };
	if (n == 1 || (a->lane == HOP_UNI && (!mask || mask->lane == HOP_UNI))) {
		r.lane = HOP_UNI;
		r.v = scalar_load(e, a, mask);
		return r;
	}
	m = lanes_of(e, mask);
	align = e->L->ConstInt(e->i32, (unsigned long long)al, 0);
	if (s == 1 || s == -1) {
		if (s == -1) {
			hop_lv *i = hop_e_int(e, 1 - n);

			p = e->L->BuildGEP2(e->b, hop_e_mem(e, a->dtype, 1), p, &i, 1, "");
			m = m ? reverse(e, m, n) : m;
		}
		if (m)
			v = hop_e_intrin(e, "llvm.masked.load", 2, (hop_lt *[]){ t, e->ptr }, 4,
			                 (hop_lv *[]){ p, align, m, e->L->ConstNull(t) });
		else
			v = plain_load(e, t, p, a);
		if (s == -1)
			v = reverse(e, v, n);
	} else {
		hop_lv *ps = pointers(e, a);
		v = hop_e_intrin(e, "llvm.masked.gather", 2, (hop_lt *[]){ t, e->L->TypeOf(ps) }, 4,
		                 (hop_lv *[]){ ps, align, m ? m : all_ones(e),
		                               e->L->ConstNull(t) });
	}
	r.v = hop_e_to_reg(e, a->dtype, v, n);
	return r;
}

static void scalar_store(hop_emit *e, const hop_eaddr *a, hop_lv *v, const hop_ev *mask)
{
	hop_lbb *join = NULL;
	hop_lv *st;
	if (mask) {
		hop_lbb *then = hop_e_block(e);
		join = hop_e_block(e);
		e->L->BuildCondBr(e->b, mask->v, then, join);
		hop_e_at(e, then);
	}
	st = e->L->BuildStore(e->b, hop_e_to_mem(e, a->dtype, v, 1), a->p);
	e->L->SetAlignment(st, (unsigned)hop_dtype_bytes(a->dtype));
	if (mask) {
		e->L->BuildBr(e->b, join);
		hop_e_at(e, join);
	}
}

void hop_e_store(hop_emit *e, const hop_eaddr *a, const hop_ev *val, const hop_ev *mask)
{
	int n = e->lanes, al = (int)hop_dtype_bytes(a->dtype);
	hop_lt *t = hop_e_mem(e, a->dtype, n);
	int64_t s = a->lane == HOP_LIN ? hop_e_known(e, a->step, 0) : 0;
	hop_lv *p = a->p, *m, *v, *align;
	if (n == 1) {
		scalar_store(e, a, val->v, mask);
		return;
	}
	HOP_ASSERT(a->lane != HOP_UNI);      /* lanes.c refuses such loops */
	m = lanes_of(e, mask);
	v = hop_e_to_mem(e, a->dtype, hop_e_vec(e, val), n);
	align = e->L->ConstInt(e->i32, (unsigned long long)al, 0);
	if (s == 1 || s == -1) {
		if (s == -1) {
			hop_lv *i = hop_e_int(e, 1 - n);

			p = e->L->BuildGEP2(e->b, hop_e_mem(e, a->dtype, 1), p, &i, 1, "");
			m = m ? reverse(e, m, n) : m;
			v = reverse(e, v, n);
		}
		if (m)
			hop_e_intrin(e, "llvm.masked.store", 2, (hop_lt *[]){ t, e->ptr }, 4,
			             (hop_lv *[]){ v, p, align, m });
		else
			e->L->SetAlignment(e->L->BuildStore(e->b, v, p), (unsigned)al);
	} else {
		hop_lv *ps = pointers(e, a);
		hop_e_intrin(e, "llvm.masked.scatter", 2, (hop_lt *[]){ t, e->L->TypeOf(ps) }, 4,
		             (hop_lv *[]){ v, ps, align, m ? m : all_ones(e) });
	}
}
