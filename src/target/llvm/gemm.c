/* gemm.c -- the matrix product template. A register tile of rows x vectors is summed over
 * k with its accumulators in registers; B is read in place when its rows are contiguous
 * and small enough to stay in cache, else a panel of it is packed on the stack. Products
 * with a thin side become plain loops, see loop/gemm.c. Does not split k between threads:
 * sums must not depend on their number. */
#include <string.h>

#include "loop/gemm.h"
#include "target/llvm/emit.h"

/* Packed panel: KC rows; rows of C at a time. In place: so much of k at a time. Sums over
 * part of k start from zero and are added to C's, so that errors do not grow with k. */
enum { KC = 128, MC = 192, KB = 512 };

typedef struct tile {
	hop_emit       *e;
	const hop_stmt *s;
	hop_gemm        g;
	int             w, nv, mr;       /* lanes of a vector; vectors and rows of a tile */
	hop_lv         *m, *n, *k;
	hop_lv         *a, *b, *c;       /* base pointers */
	hop_lv         *as[2], *bs[2], *cs[2];
	hop_lt         *et, *vt;         /* element, vector */
	hop_lv         *panel, *sums;    /* on the stack */
	bool            pack, vector_epilogue;
} tile;

/* One register tile. cols counts its vectors; left, if not NULL, is how many columns
 * from jn are real, fewer than the tile has. */
typedef struct cell {
	hop_lv *im, *jn, *left;
	int     rows, cols;
} cell;

static bool thin(const hop_gemm *g, int w)
{
	int64_t m = hop_size_const(g->m) ? g->m.k : 64, n = hop_size_const(g->n) ? g->n.k : 64;
	int64_t k = hop_size_const(g->k) ? g->k.k : 64;
	return m == 1 || n <= w / 2 || k <= 2 || m * n * k <= 512;
}

/* ---- small helpers ---- */

static hop_lv *add(tile *t, hop_lv *a, hop_lv *b)
{
	return hop_e_bin(t->e, LL_ADD, a, b);
}

static hop_lv *mul(tile *t, hop_lv *a, hop_lv *b)
{
	return hop_e_bin(t->e, LL_MUL, a, b);
}

static hop_lv *at(tile *t, hop_lv *p, hop_lv *i)
{
	return t->e->L->BuildGEP2(t->e->b, t->et, p, &i, 1, "");
}

static hop_lv *at2(tile *t, hop_lv *p, hop_lv *i, hop_lv *si, hop_lv *j, hop_lv *sj)
{
	return at(t, at(t, p, mul(t, i, si)), mul(t, j, sj));
}

static hop_lv *num(tile *t, int64_t v)
{
	return hop_e_int(t->e, v);
}

static unsigned align(const tile *t)
{
	return (unsigned)hop_dtype_bytes(t->g.dtype);
}

static hop_lv *load_vec(tile *t, hop_lv *p, hop_lv *mask)
{
	hop_emit *e = t->e;
	hop_lv *v;
	if (mask)
		return hop_e_intrin(e, "llvm.masked.load", 2, (hop_lt *[]){ t->vt, e->ptr }, 4,
		                    (hop_lv *[]){ p, e->L->ConstInt(e->i32, align(t), 0), mask,
		                                  e->L->ConstNull(t->vt) });
	v = e->L->BuildLoad2(e->b, t->vt, p, "");
	e->L->SetAlignment(v, align(t));
	return v;
}

static void store_vec(tile *t, hop_lv *v, hop_lv *p)
{
	t->e->L->SetAlignment(t->e->L->BuildStore(t->e->b, v, p), align(t));
}

/* Which lanes of vector j of a cell are real; NULL = all. */
static hop_lv *cell_mask(tile *t, const cell *c, int j)
{
	hop_lv *left;
	if (!c->left || j < c->cols - 1)
		return NULL;
	left = hop_e_bin(t->e, LL_SUB, c->left, num(t, j * t->w));
	return hop_e_lane_mask(t->e, left, t->w);
}

/* ---- the tile ---- */

/* Sums over k from..to-1 into acc[rows * cols]. B is at b with rows ldb apart, its column
 * 0 being the cell's. */
static void sum_k(tile *t, const cell *c, hop_lv *from, hop_lv *to, hop_lv *b,
                  hop_lv *ldb, hop_lv **acc)
{
	hop_emit *e = t->e;
	int n = c->rows * c->cols;
	hop_lv *next[64], *row[16], *mask = t->pack ? NULL : cell_mask(t, c, c->cols - 1);
	hop_eloop l;
	for (int i = 0; i < c->rows; i++)
		row[i] = at(t, t->a, mul(t, add(t, c->im, num(t, i)), t->as[0]));
	hop_e_loop_begin(e, &l, from, to, 1, n, acc);
	for (int i = 0; i < n; i++)
		next[i] = l.phi[i];
	hop_lv *brow = at(t, b, mul(t, hop_e_bin(e, LL_SUB, l.iv, t->pack ? from : num(t, 0)),
	                            ldb));
	hop_lv *acol = mul(t, l.iv, t->as[1]);
	for (int j = 0; j < c->cols; j++)
		row[12 + j] = load_vec(t, at(t, brow, num(t, j * t->w)),
		                       j == c->cols - 1 ? mask : NULL);
	for (int i = 0; i < c->rows; i++) {
		hop_lv *x = e->L->BuildLoad2(e->b, t->et, at(t, row[i], acol), "");

		x = hop_e_splat(e, x, t->w);
		for (int j = 0; j < c->cols; j++) {
			hop_lv **sum = &next[i * c->cols + j];

			*sum = hop_e_muladd(e, x, row[12 + j], *sum);
		}
	}
	hop_e_loop_end(e, &l, next, acc);
}

/* One vector of finished sums to C, whose row begins at `row`. */
static void to_c(tile *t, hop_lv *row, hop_lv *j, hop_lv *v, hop_lv *mask)
{
	hop_emit *e = t->e;
	hop_eaddr p = { .p = at(t, row, mul(t, j, t->cs[1])), .lane = HOP_LIN,
	                .step = t->cs[1], .dtype = t->g.dtype };
	hop_ev x = { .v = v, .lane = HOP_VAR, .dtype = t->g.dtype };
	e->lanes = t->w;
	e->mask = mask;
	if (t->g.beta)
		x.v = hop_e_fbin(e, LL_FADD, v, hop_e_load(e, &p, NULL).v);
	hop_e_store(e, &p, &x, NULL);
	e->lanes = 1;
	e->mask = NULL;
}

/* Will vectors do for the epilogue? */
static bool vectors(hop_emit *e, const hop_tile *t, uint8_t *cls)
{
	hop_mark m = hop_mark_at(&e->env->tmp);
	hop_lanes w = hop_lanes_new(e->env, e->f, e->m->vbits);
	if (!cls)
		cls = HOP_NEWN(&e->env->tmp, uint8_t, e->f->nreg + 1);
	memset(cls, HOP_UNI, (size_t)e->f->nreg + 1);
	bool ok = hop_lanes_hole(&w, t, 0, cls);
	hop_rewind(&e->env->tmp, m);
	return ok;
}

/* The epilogue at row i, columns j.., on a vector (or on one element). */
static void epilogue(tile *t, hop_lv *i, hop_lv *j, hop_lv *v, hop_lv *mask, int lanes)
{
	hop_emit *e = t->e;
	hop_ev x = { .v = v, .dtype = t->g.dtype, .depth = e->s.depth };
	hop_ev col = { .v = j, .dtype = HOP_i64, .depth = e->s.depth };
	if (lanes > 1) {
		x.lane = HOP_VAR;
		col.lane = HOP_LIN;
		col.step = num(t, 1);
	}
	e->lanes = lanes;
	e->mask = mask;
	if (t->g.beta) {
		hop_eaddr p = { .p = at2(t, t->c, i, t->cs[0], j, t->cs[1]),
		                .lane = lanes > 1 ? HOP_LIN : HOP_UNI, .step = t->cs[1],
		                .dtype = t->g.dtype };
		x.v = hop_e_fbin(e, LL_FADD, v, hop_e_load(e, &p, NULL).v);
	}
	hop_e_set(e, t->g.em, (hop_ev){ .v = i, .dtype = HOP_i64, .depth = e->s.depth });
	hop_e_set(e, t->g.en, col);
	hop_e_set(e, t->g.ev, x);
	if (lanes > 1)
		vectors(e, t->s->tile, e->cls);
	hop_e_block_stmts(e, &t->g.epilogue);
	e->lanes = 1;
	e->mask = NULL;
}

/* Rows 0 .. rows-1 of the sums on the stack, rows ld apart, are C's rows from im. */
static void finish(tile *t, hop_lv *im, hop_lv *rows, hop_lv *jn, int cols, hop_lv *left)
{
	hop_emit *e = t->e;
	int ld = t->nv * t->w;
	bool vec = t->vector_epilogue;
	hop_lv *end = left ? left : num(t, (int64_t)cols * t->w);
	hop_eloop lr, lc;
	hop_e_loop_begin(e, &lr, num(t, 0), rows, 1, 0, NULL);
	hop_e_loop_begin(e, &lc, num(t, 0), end, vec ? t->w : 1, 0, NULL);
	{
		hop_lv *p = at(t, at(t, t->sums, mul(t, lr.iv, num(t, ld))), lc.iv);
		hop_lv *i = add(t, im, lr.iv), *j = add(t, jn, lc.iv), *mask = NULL, *v;
		if (vec) {
			if (left)
				mask = hop_e_lane_mask(e, hop_e_bin(e, LL_SUB, left, lc.iv), t->w);
			v = load_vec(t, p, NULL);
		} else {
			v = e->L->BuildLoad2(e->b, t->et, p, "");
		}
		if (t->g.epilogue.first)
			epilogue(t, i, j, v, mask, vec ? t->w : 1);
		else
			to_c(t, at(t, t->c, mul(t, i, t->cs[0])), j, v, mask);
	}
	hop_e_loop_end(e, &lc, NULL, NULL);
	hop_e_loop_end(e, &lr, NULL, NULL);
}

static void no_sums(tile *t, const cell *c, hop_lv **acc)
{
	for (int i = 0; i < c->rows * c->cols; i++)
		acc[i] = hop_e_constf(t->e, t->g.dtype, t->w, 0);
}

static hop_lv *least(tile *t, hop_lv *a, hop_lv *b)
{
	return hop_e_sel(t->e, hop_e_icmp(t->e, LL_SLT, a, b), a, b);
}

/* All of k, with B in place. */
static void sum_direct(tile *t, const cell *c, hop_lv **acc)
{
	hop_lv *part[64], *b = at(t, t->b, c->jn);
	int n = c->rows * c->cols;
	hop_eloop l;
	no_sums(t, c, acc);
	if (hop_e_known(t->e, t->k, INT64_MAX) <= 2 * KB) {
		sum_k(t, c, num(t, 0), t->k, b, t->bs[0], acc);
		return;
	}
	hop_e_loop_begin(t->e, &l, num(t, 0), t->k, KB, n, acc);
	no_sums(t, c, part);
	sum_k(t, c, l.iv, least(t, add(t, l.iv, num(t, KB)), t->k), b, t->bs[0], part);
	for (int i = 0; i < n; i++)
		part[i] = hop_e_fbin(t->e, LL_FADD, l.phi[i], part[i]);
	hop_e_loop_end(t->e, &l, part, acc);
}

/* A whole cell with B in place. */
static void cell_direct(tile *t, const cell *c)
{
	hop_lv *acc[64];
	int n = c->rows * c->cols;
	sum_direct(t, c, acc);
	hop_lv *to = NULL;
	for (int i = 0; i < n; i++) {
		int r = i / c->cols, j = i % c->cols;

		if (!j && !t->g.epilogue.first)
			to = at(t, t->c, mul(t, add(t, c->im, num(t, r)), t->cs[0]));

		if (t->g.epilogue.first)
			store_vec(t, acc[i], at(t, t->sums, num(t, (r * t->nv + j) * t->w)));
		else
			to_c(t, to, add(t, c->jn, num(t, j * t->w)), acc[i], cell_mask(t, c, j));
	}
	if (t->g.epilogue.first)
		finish(t, c->im, num(t, c->rows), c->jn, c->cols, c->left);
}

/* ---- packed ---- */

/* panel[k - from][j] = B[k][jn + j] for k in from..to-1 and a vector of columns j. */
static void pack_vector(tile *t, hop_lv *k, hop_lv *from, hop_lv *j, hop_lv *mask,
                        const cell *c)
{
	hop_emit *e = t->e;
	hop_eaddr p = { .p = at2(t, t->b, k, t->bs[0], add(t, c->jn, j), t->bs[1]),
	                .lane = HOP_LIN, .step = t->bs[1], .dtype = t->g.dtype };
	hop_lv *row = mul(t, hop_e_bin(e, LL_SUB, k, from), num(t, t->nv * t->w)), *v;
	e->lanes = t->w;
	e->mask = mask;
	v = hop_e_load(e, &p, NULL).v;
	e->mask = NULL;
	e->lanes = 1;
	store_vec(t, v, at(t, at(t, t->panel, row), j));
}

/* Columns past the end are 0. Where B's columns are apart, a few of them are followed
 * along k at a time: all at once would not stay in the first cache. */
static void pack(tile *t, hop_lv *from, hop_lv *to, const cell *c)
{
	hop_emit *e = t->e;
	hop_eloop l, lj;
	if (hop_size_is(t->g.bs[1], 1)) {
		hop_e_loop_begin(e, &l, from, to, 1, 0, NULL);
		for (int j = 0; j < c->cols; j++)
			pack_vector(t, l.iv, from, num(t, j * t->w), cell_mask(t, c, j), c);
		hop_e_loop_end(e, &l, NULL, NULL);
		return;
	}
	hop_e_loop_begin(e, &lj, num(t, 0), num(t, c->cols * t->w), t->w, 0, NULL);
	hop_e_loop_begin(e, &l, from, to, 1, 0, NULL);
	pack_vector(t, l.iv, from, lj.iv, !c->left ? NULL :
	            hop_e_lane_mask(e, hop_e_bin(e, LL_SUB, c->left, lj.iv), t->w), c);
	hop_e_loop_end(e, &l, NULL, NULL);
	hop_e_loop_end(e, &lj, NULL, NULL);
}

/* Rows im .. of a block whose first row is m0: add the packed part of k to the sums on
 * the stack. */
static void cell_packed(tile *t, const cell *c, hop_lv *m0, hop_lv *from, hop_lv *to)
{
	hop_lv *acc[64], *p;
	int n = c->rows * c->cols;
	p = at(t, t->sums, mul(t, hop_e_bin(t->e, LL_SUB, c->im, m0), num(t, t->nv * t->w)));
	no_sums(t, c, acc);
	sum_k(t, c, from, to, t->panel, num(t, t->nv * t->w), acc);
	for (int i = 0; i < n; i++) {
		hop_lv *sum = at(t, p, num(t, (i / c->cols * t->nv + i % c->cols) * t->w));

		store_vec(t, hop_e_fbin(t->e, LL_FADD, load_vec(t, sum, NULL), acc[i]), sum);
	}
}

/* Call f for all row groups of from..to-1: whole tiles, then what is left: one group of
 * m % mr rows if that is known, else single rows. */
typedef void each_cell(tile *t, const cell *c, void *user);

static void each_rows(tile *t, hop_lv *from, hop_lv *to, cell c, each_cell *f, void *user)
{
	hop_emit *e = t->e;
	hop_lv *len = hop_e_bin(e, LL_SUB, to, from), *mid;
	int64_t m = hop_e_known(e, t->m, -1);
	int rest = m >= 0 ? (int)(m % t->mr) : 1;
	hop_eloop l;
	mid = hop_e_bin(e, LL_SDIV, len, num(t, t->mr));
	mid = add(t, from, mul(t, mid, num(t, t->mr)));
	if (m < 0 || m >= t->mr) {
		c.rows = t->mr;
		hop_e_loop_begin(e, &l, from, mid, t->mr, 0, NULL);
		c.im = l.iv;
		f(t, &c, user);
		hop_e_loop_end(e, &l, NULL, NULL);
	}
	if (!rest)
		return;
	c.rows = rest;
	hop_e_loop_begin(e, &l, mid, to, rest, 0, NULL);
	c.im = l.iv;
	f(t, &c, user);
	hop_e_loop_end(e, &l, NULL, NULL);
}

struct part { hop_lv *m0, *from, *to; };

static void do_packed(tile *t, const cell *c, void *user)
{
	const struct part *p = user;
	cell_packed(t, c, p->m0, p->from, p->to);
}

static void do_direct(tile *t, const cell *c, void *user)
{
	(void)user;
	cell_direct(t, c);
}

static void zero_sums(tile *t, hop_lv *rows)
{
	hop_eloop l;
	hop_e_loop_begin(t->e, &l, num(t, 0), mul(t, rows, num(t, t->nv)), 1, 0, NULL);
	store_vec(t, hop_e_constf(t->e, t->g.dtype, t->w, 0),
	          at(t, t->sums, mul(t, l.iv, num(t, t->w))));
	hop_e_loop_end(t->e, &l, NULL, NULL);
}

static void columns_packed(tile *t, hop_lv *m0, hop_lv *m1, const cell *c)
{
	hop_lv *rows = hop_e_bin(t->e, LL_SUB, m1, m0);
	hop_eloop l;
	struct part p;
	zero_sums(t, rows);
	hop_e_loop_begin(t->e, &l, num(t, 0), t->k, KC, 0, NULL);
	p = (struct part){ m0, l.iv, least(t, add(t, l.iv, num(t, KC)), t->k) };
	pack(t, p.from, p.to, c);
	each_rows(t, m0, m1, *c, do_packed, &p);
	hop_e_loop_end(t->e, &l, NULL, NULL);
	finish(t, m0, rows, c->jn, c->cols, c->left);
}

static void columns(tile *t, hop_lv *m0, hop_lv *m1, const cell *c)
{
	if (t->pack)
		columns_packed(t, m0, m1, c);
	else
		each_rows(t, m0, m1, *c, do_direct, NULL);
}

/* ---- setting up ---- */

/* Products of one function take turns in the same memory, or many of them would use up
 * the stack: each kind has the size of its largest. */
enum { PANEL, SUMS, TILE };

static hop_lv *stack(tile *t, int kind)
{
	static const int rows[] = { KC, MC, 12 };
	hop_emit *e = t->e;
	hop_lbb *back = e->L->GetInsertBlock(e->b);
	uint64_t bytes = (uint64_t)rows[kind] * (uint64_t)(e->m->vbits / 8) * 4;
	hop_lv *v;
	if (e->s.stack[kind])
		return e->s.stack[kind];
	e->L->PositionBuilderBefore(e->b, e->L->GetBasicBlockTerminator(e->s.entry));
	v = e->L->BuildAlloca(e->b, e->L->ArrayType2(e->i8, bytes), "");
	e->L->SetAlignment(v, 64);
	hop_e_at(e, back);
	return e->s.stack[kind] = v;
}

static void shape(tile *t)
{
	const hop_gemm *g = &t->g;
	int bytes = (int)hop_dtype_bytes(g->dtype);
	int64_t n = hop_size_const(g->n) ? g->n.k : INT64_MAX;
	t->w = t->e->m->vbits / 8 / bytes;
	t->nv = t->e->m->nvreg >= 32 ? 4 : 2;
	t->mr = t->e->m->nvreg >= 32 ? 4 : 6;
	if (t->e->m->nvreg >= 32 && n <= 2 * t->w) {
		t->nv = n <= t->w ? 1 : 2;
		t->mr = 8;
	}
	if (hop_size_const(g->m) && g->m.k < t->mr)
		t->mr = (int)g->m.k;
	t->pack = !hop_size_is(g->bs[1], 1);
	/* Rows of B that lie a multiple of a page apart would fall into the same few lines
	 * of the cache. */
	if (hop_size_const(g->k) && n < INT64_MAX && (!hop_size_const(g->m) || g->m.k >= 32) &&
	    (g->k.k * n * bytes > hop_machine_cache(t->e->m) || (g->k.k > 64 && n * bytes % 2048 == 0)))
		t->pack = true;
}

/* Rows m0 .. m1-1 of C: whole tiles of columns, then what is left. */
static void all_columns(tile *t, hop_lv *m0, hop_lv *m1)
{
	hop_emit *e = t->e;
	int64_t n, nr = (int64_t)t->nv * t->w;
	cell c = { 0 };
	hop_eloop l;
	n = hop_e_known(e, t->n, -1);
	c.cols = t->nv;
	if (n < 0 || n >= nr) {
		hop_lv *whole = mul(t, hop_e_bin(e, LL_SDIV, t->n, num(t, nr)), num(t, nr));

		hop_e_loop_begin(e, &l, num(t, 0), whole, nr, 0, NULL);
		c.jn = l.iv;
		columns(t, m0, m1, &c);
		hop_e_loop_end(e, &l, NULL, NULL);
		c.jn = whole;
	} else {
		c.jn = num(t, 0);
	}
	if (n >= 0 && n % nr) {
		int64_t rest = n % nr;

		c.cols = (int)((rest + t->w - 1) / t->w);
		c.left = rest % t->w ? num(t, rest) : NULL;
		columns(t, m0, m1, &c);
	} else if (n < 0) {
		c.cols = 1;
		hop_e_loop_begin(e, &l, c.jn, t->n, t->w, 0, NULL);
		c.jn = l.iv;
		c.left = least(t, hop_e_bin(e, LL_SUB, t->n, l.iv), num(t, t->w));
		columns(t, m0, m1, &c);
		hop_e_loop_end(e, &l, NULL, NULL);
	}
}

static void gemm_rows(hop_emit *e, const hop_stmt *s, hop_lv *m0, hop_lv *m1)
{
	tile t = { .e = e, .s = s, .g = hop_gemm_of(s->tile) };
	const hop_gemm *g = &t.g;
	hop_eloop l;
	shape(&t);
	t.m = hop_e_size(e, g->m);
	t.n = hop_e_size(e, g->n);
	t.k = hop_e_size(e, g->k);
	t.a = hop_e_addr(e, &g->a).p;
	t.b = hop_e_addr(e, &g->b).p;
	if (!g->epilogue.first || g->beta)
		t.c = hop_e_addr(e, &g->c).p;
	for (int i = 0; i < 2; i++) {
		t.as[i] = hop_e_size(e, g->as[i]);
		t.bs[i] = hop_e_size(e, g->bs[i]);
		t.cs[i] = hop_e_size(e, g->cs[i]);
	}
	t.et = hop_e_type(e, g->dtype, 1);
	t.vt = hop_e_type(e, g->dtype, t.w);
	t.vector_epilogue = !g->epilogue.first || vectors(e, s->tile, NULL);
	if (t.pack)
		t.panel = stack(&t, PANEL);
	if (t.pack || g->epilogue.first)
		t.sums = stack(&t, t.pack ? SUMS : TILE);
	if (!t.pack) {
		all_columns(&t, m0, m1);
		return;
	}
	/* These rows of A stay in the second cache while panels of B pass by. */
	hop_e_loop_begin(e, &l, m0, m1, MC, 0, NULL);
	all_columns(&t, l.iv, least(&t, add(&t, l.iv, num(&t, MC)), m1));
	hop_e_loop_end(e, &l, NULL, NULL);
}

void hop_e_gemm(hop_emit *e, const hop_stmt *s)
{
	hop_gemm g = hop_gemm_of(s->tile);
	int w = e->m->vbits / 8 / (int)hop_dtype_bytes(g.dtype);
	hop_lv *m = hop_e_size(e, g.m), *work;
	if (thin(&g, w) && hop_e_tile_loops(e, s))
		return;
	if (!s->bind.thread) {
		gemm_rows(e, s, hop_e_int(e, 0), m);
		return;
	}
	work = hop_e_bin(e, LL_MUL, hop_e_bin(e, LL_MUL, m, hop_e_size(e, g.n)),
	                 hop_e_size(e, g.k));
	if (hop_e_known(e, work, INT64_MAX) < 1 << 19)
		gemm_rows(e, s, hop_e_int(e, 0), m);
	else
		hop_e_parallel(e, s, m, hop_e_int(e, 48), hop_e_icmp(e, LL_SGE, work, hop_e_int(e, 1 << 19)),
		               gemm_rows, 0);
}
