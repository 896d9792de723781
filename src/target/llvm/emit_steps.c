/* emit_steps.c -- steps of lanes that are rows of memory: a loop that goes step by step inside of a
 * vector loop, where the steps of a lane are neighbours in memory and lanes are far apart. Squares
 * of as many steps as there are lanes are read row by row and turned, so that a vector holds one
 * step of all lanes; what the steps give is turned back and written row by row. What lanes carry
 * stays in registers. Does not decide: hop_lanes_steps did. */
#include "loop/lower.h"
#include "target/llvm/emit.h"

/* Bytes: how far ahead rows are fetched, a line of the cache, and what is far larger than it. */
enum { AHEAD = 512, WHOLE = 64, LARGE = 1 << 26 };

/* What a statement of the step is here. */
typedef enum role { PLAIN, ROW_LOAD, ROW_STORE, CELL_LOAD, CELL_STORE } role;

typedef struct part {
	const hop_stmt *s;
	role            role;
	int             cell;            /* CELL: which */
	hop_lv        **v;               /* ROW: [lanes] of the square, by step */
} part;

typedef struct steps {
	const hop_stmt *s;
	int             n;               /* lanes, and steps of a square */
	int             nstep;           /* steps taken of it */
	int             npart, ncell;
	part           *part;
	const hop_stmt **cell;           /* [ncell] the first access of it */
	hop_lv        **now;             /* [ncell] */
	hop_lv         *mask;            /* of lanes; NULL = all */
	bool            past;            /* some rows go past the cache */
} steps;

/* ---- what is what ---- */

/* All accesses of the buffer in the step are of one place, which no step moves. */
static bool is_cell(const hop_stmt *s, const hop_addr *a)
{
	if (hop_addr_term(a, s->dst) >= 0 || !hop_lanes_fixed(s, a))
		return false;
	for (const hop_stmt *b = s->body.first; b; b = b->next) {
		bool access = b->sop == HOP_SOP_load || b->sop == HOP_SOP_store;
		if (access && b->u.addr.buf == a->buf &&
		    (!hop_addr_eq(&b->u.addr, a) || b->na > (b->sop == HOP_SOP_store)))
			return false;
	}
	return true;
}

static int cell_of(steps *q, const hop_stmt *b)
{
	for (int i = 0; i < q->ncell; i++)
		if (q->cell[i]->u.addr.buf == b->u.addr.buf)
			return i;
	q->cell[q->ncell] = b;
	return q->ncell++;
}

static void sort_out(hop_emit *e, steps *q)
{
	for (const hop_stmt *b = q->s->body.first; b; b = b->next) {
		bool load = b->sop == HOP_SOP_load, store = b->sop == HOP_SOP_store;
		part *p = &q->part[q->npart++];
		p->s = b;
		if ((load || store) && hop_lanes_row(q->s, b, e->cls)) {
			p->role = load ? ROW_LOAD : ROW_STORE;
			p->v = HOP_NEWN(&e->env->tmp, hop_lv *, q->n);
		} else if ((load || store) && is_cell(q->s, &b->u.addr)) {
			p->role = load ? CELL_LOAD : CELL_STORE;
			p->cell = cell_of(q, b);
		}
	}
}

/* ---- squares ---- */

/* Vector j of n becomes element j of each. */
static void transpose(hop_emit *e, hop_lv **v, int n)
{
	hop_lv *lo[16], *hi[16];
	for (int b = 1; b < n; b *= 2) {
		for (int j = 0; j < n; j++) {
			lo[j] = e->L->ConstInt(e->i32, (unsigned long long)(j & b ? n + j - b : j), 0);
			hi[j] = e->L->ConstInt(e->i32, (unsigned long long)(j & b ? n + j : j + b), 0);
		}
		hop_lv *mlo = e->L->ConstVector(lo, (unsigned)n), *mhi = e->L->ConstVector(hi, (unsigned)n);
		for (int i = 0; i < n; i++) {
			if (i & b)
				continue;
			hop_lv *x = v[i], *y = v[i + b];
			v[i] = e->L->BuildShuffleVector(e->b, x, y, mlo, "");
			v[i + b] = e->L->BuildShuffleVector(e->b, x, y, mhi, "");
		}
	}
}

/* Row i of a square; a lane that does not take part has the row of lane 0. */
static hop_eaddr row(hop_emit *e, const steps *q, const hop_eaddr *a, int i)
{
	hop_lv *at = hop_e_int(e, i);
	hop_eaddr r = *a;
	if (q->mask)
		at = hop_e_sel(e, hop_e_slice(e, q->mask, i, 1), at, hop_e_int(e, 0));
	at = hop_e_bin(e, LL_MUL, at, a->step);
	r.p = e->L->BuildGEP2(e->b, hop_e_mem(e, a->dtype, 1), a->p, &at, 1, "");
	r.step = hop_e_int(e, 1);
	return r;
}

/* Rows are more streams than a processor follows by itself. */
static void fetch_row(hop_emit *e, const steps *q, const hop_eaddr *r)
{
	hop_lv *ahead = hop_e_int(e, (q->s->reverse ? -AHEAD : AHEAD) /
	                          (int64_t)hop_dtype_bytes(r->dtype));
	hop_lv *p = e->L->BuildGEP2(e->b, hop_e_mem(e, r->dtype, 1), r->p, &ahead, 1, "");
	hop_lv *one = e->L->ConstInt(e->i32, 1, 0);
	hop_e_intrin(e, "llvm.prefetch", 1, (hop_lt *[]){ e->ptr }, 4,
	             (hop_lv *[]){ p, e->L->ConstInt(e->i32, 0, 0), e->L->ConstInt(e->i32, 3, 0), one });
}

/* The steps of a row that there are; NULL = all. */
static hop_lv *steps_mask(hop_emit *e, const steps *q)
{
	return q->nstep < q->n ? hop_e_lane_mask(e, hop_e_int(e, q->nstep), q->n) : NULL;
}

static void read_square(hop_emit *e, const steps *q, part *p)
{
	hop_eaddr a = hop_e_addr(e, &p->s->u.addr);
	for (int i = 0; i < q->n; i++) {
		hop_eaddr r = row(e, q, &a, i);
		if (q->nstep == q->n)
			fetch_row(e, q, &r);
		e->mask = steps_mask(e, q);
		p->v[i] = hop_e_load(e, &r, NULL).v;
	}
	e->mask = NULL;
	transpose(e, p->v, q->n);
}

/* Should rows go to memory past the cache? Where the buffer is far larger than that, and they are
 * whole lines; NULL = surely not. Machines of narrow vectors have no instruction for it. */
static hop_lv *goes_past(hop_emit *e, const steps *q, const part *p, const hop_eaddr *a)
{
	hop_size count = e->f->buf[p->s->u.addr.buf].count;
	int64_t bytes = (int64_t)hop_dtype_bytes(a->dtype);
	hop_lv *low, *large;
	if (e->m->vbits < 256 || q->mask || q->nstep < q->n || bytes * q->n != WHOLE ||
	    (hop_size_const(count) && count.k * bytes < LARGE))
		return NULL;
	low = hop_e_bin(e, LL_MUL, a->step, hop_e_int(e, bytes));
	low = hop_e_bin(e, LL_OR, low, hop_e_cast(e, LL_PTRTOINT, a->p, e->i64));
	low = hop_e_bin(e, LL_AND, low, hop_e_int(e, WHOLE - 1));
	large = hop_e_icmp(e, LL_SGE, hop_e_size(e, count), hop_e_int(e, LARGE / bytes));
	return hop_e_bin(e, LL_AND, large, hop_e_icmp(e, LL_EQ, low, hop_e_int(e, 0)));
}

static void write_past(hop_emit *e, const steps *q, const part *p, const hop_eaddr *a)
{
	hop_lv *one = e->L->ConstInt(e->i32, 1, 0), *node = e->L->MDNodeInContext(e->cx, &one, 1);
	unsigned kind = e->L->GetMDKindIDInContext(e->cx, "nontemporal", 11);
	for (int i = 0; i < q->n; i++) {
		hop_eaddr r = row(e, q, a, i);
		hop_lv *st = e->L->BuildStore(e->b, hop_e_to_mem(e, a->dtype, p->v[i], q->n), r.p);
		e->L->SetAlignment(st, WHOLE);
		e->L->SetMetadata(st, kind, node);
	}
}

static void write_rows(hop_emit *e, const steps *q, const part *p, const hop_eaddr *a)
{
	for (int i = 0; i < q->n; i++) {
		hop_eaddr r = row(e, q, a, i);
		hop_lv *some = steps_mask(e, q);
		if (q->mask)
			e->mask = hop_e_splat(e, hop_e_slice(e, q->mask, i, 1), q->n);
		if (some)
			e->mask = q->mask ? hop_e_bin(e, LL_AND, e->mask, some) : some;
		hop_e_store(e, &r, &(hop_ev){ .v = p->v[i], .lane = HOP_VAR, .dtype = a->dtype }, NULL);
	}
	e->mask = NULL;
}

static void write_square(hop_emit *e, steps *q, part *p)
{
	hop_eaddr a = hop_e_addr(e, &p->s->u.addr);
	hop_lv *past = goes_past(e, q, p, &a);
	for (int k = q->nstep; k < q->n; k++)
		p->v[k] = p->v[0];
	transpose(e, p->v, q->n);
	if (!past) {
		write_rows(e, q, p, &a);
		return;
	}
	hop_lbb *then = hop_e_block(e), *other = hop_e_block(e), *join = hop_e_block(e);
	e->L->BuildCondBr(e->b, past, then, other);
	hop_e_at(e, then);
	write_past(e, q, p, &a);
	e->L->BuildBr(e->b, join);
	hop_e_at(e, other);
	write_rows(e, q, p, &a);
	e->L->BuildBr(e->b, join);
	hop_e_at(e, join);
	q->past = true;
}

/* ---- steps ---- */

static void one_step(hop_emit *e, steps *q, int k)
{
	for (int i = 0; i < q->npart; i++) {
		part *p = &q->part[i];
		hop_ev v = { .dtype = p->s->dtype, .depth = e->s.depth, .lane = HOP_VAR };
		switch (p->role) {
		case PLAIN:
			e->mask = q->mask;
			hop_e_op(e, p->s);
			e->mask = NULL;
			break;
		case ROW_LOAD:
			v.v = p->v[k];
			hop_e_set(e, p->s->dst, v);
			break;
		case CELL_LOAD:
			v.v = q->now[p->cell];
			hop_e_set(e, p->s->dst, v);
			break;
		case ROW_STORE:
			p->v[k] = hop_e_vec(e, hop_e_reg(e, p->s->a[0]));
			break;
		case CELL_STORE:
			q->now[p->cell] = hop_e_vec(e, hop_e_reg(e, p->s->a[0]));
			break;
		}
	}
}

/* Step `at` of the loop's own count, the k-th of a square that begins at `first`. */
static void square(hop_emit *e, steps *q, hop_lv *first)
{
	hop_ev t = { .dtype = HOP_i64, .depth = e->s.depth, .v = first };
	bool back = q->s->reverse;
	hop_e_set(e, q->s->dst, t);
	for (int i = 0; i < q->npart; i++)
		if (q->part[i].role == ROW_LOAD)
			read_square(e, q, &q->part[i]);
	for (int k = 0; k < q->nstep; k++) {
		int at = back ? q->nstep - 1 - k : k;
		t.v = hop_e_bin(e, LL_ADD, first, hop_e_int(e, at));
		hop_e_set(e, q->s->dst, t);
		one_step(e, q, at);
	}
	t.v = first;
	hop_e_set(e, q->s->dst, t);
	for (int i = 0; i < q->npart; i++)
		if (q->part[i].role == ROW_STORE)
			write_square(e, q, &q->part[i]);
}

static void cells_load(hop_emit *e, steps *q)
{
	for (int i = 0; i < q->ncell; i++) {
		hop_eaddr a = hop_e_addr(e, &q->cell[i]->u.addr);
		hop_ev v = hop_e_load(e, &a, NULL);
		q->now[i] = hop_e_vec(e, &v);
	}
}

/* Only what is written; the others are in memory as they were. */
static void cells_store(hop_emit *e, const steps *q)
{
	for (int i = 0; i < q->npart; i++) {
		const part *p = &q->part[i];
		if (p->role != CELL_STORE)
			continue;
		hop_eaddr a = hop_e_addr(e, &p->s->u.addr);
		hop_e_store(e, &a, &(hop_ev){ .v = q->now[p->cell], .lane = HOP_VAR, .dtype = a.dtype },
		            NULL);
	}
}

/* Whole squares of steps 0 .. mid-1 of end. */
static void squares(hop_emit *e, steps *q, hop_lv *mid, hop_lv *end)
{
	hop_lv **init = q->now, *first;
	hop_eloop l;
	hop_e_loop_begin(e, &l, hop_e_int(e, 0), mid, q->n, q->ncell, init);
	hop_e_poll(e);
	q->now = HOP_NEWN(&e->env->tmp, hop_lv *, q->ncell);
	for (int i = 0; i < q->ncell; i++)
		q->now[i] = l.phi[i];
	first = l.iv;
	if (q->s->reverse)
		first = hop_e_bin(e, LL_SUB, hop_e_bin(e, LL_SUB, end, l.iv), hop_e_int(e, q->n));
	square(e, q, first);
	hop_e_loop_end(e, &l, q->now, q->now);
}

/* A number of steps that is known ends in a part of a square, another in steps one by one. */
void hop_e_steps(hop_emit *e, const hop_stmt *s, hop_lv *end)
{
	int count = hop_block_count(&s->body);
	steps q = { .s = s, .n = e->lanes, .nstep = e->lanes, .mask = e->mask };
	hop_lv *mid = hop_e_bin(e, LL_AND, end, hop_e_int(e, -(int64_t)q.n));
	int64_t known = hop_e_known(e, end, -1);
	q.part = HOP_NEWN(&e->env->tmp, part, count);
	q.cell = HOP_NEWN(&e->env->tmp, const hop_stmt *, count);
	q.now = HOP_NEWN(&e->env->tmp, hop_lv *, count);
	sort_out(e, &q);
	cells_load(e, &q);
	e->mask = NULL;
	if (known < 0 || known >= q.n)
		squares(e, &q, mid, end);
	if (known > 0 && known % q.n) {
		q.nstep = (int)(known % q.n);
		square(e, &q, s->reverse ? hop_e_int(e, 0) : mid);
	}
	if (q.past)                          /* before anybody else may look */
		hop_e_intrin(e, "llvm.x86.sse.sfence", 0, NULL, 0, NULL);
	e->mask = q.mask;
	cells_store(e, &q);
	if (known < 0)
		hop_e_plain_loop(e, s, mid, end);
}
