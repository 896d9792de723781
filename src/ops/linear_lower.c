/* linear_lower.c -- ops on matrices as templates. Small ones become loops here, a vector of them at
 * a time where there is a batch; large ones a tile, for which a library may be asked. Knows no
 * template. */
#include "loop/matrix.h"
#include "ops/linear.h"

enum {
	SMALL = 32,                 /* rows of a matrix up to which calls cost more than they give */
	LINE = 64                   /* bytes of lanes that are computed together */
};

typedef struct linear {
	hop_lower        *l;
	const hop_node   *n;
	const hop_linear *f;
	hop_dtype         d;        /* computed in */
	int               lead;     /* axes in front of the matrices */
	hop_size          batch, rows;
	hop_tile         *tile;
	hop_view          v[2];     /* operands of the template */
} linear;

static hop_size cols_of(const linear *s, int k)
{
	const hop_type *t = hop_lower_in(s->l, s->n, k);
	return t->dim[t->rank - 1];
}

static hop_view strided(hop_lower *l, int buf, int rank, const hop_size *stride)
{
	hop_size *own = HOP_NEWN(l->w, hop_size, rank);
	for (int i = 0; i < rank; i++)
		own[i] = stride[i];
	return (hop_view){ buf, hop_ix_size(l, hop_size_int(0)), own };
}

static hop_reg element(const linear *s, const hop_view *v, int rank, const hop_ix *const *x)
{
	hop_lower *l = s->l;
	if (s->f->element)
		return s->f->element(l, s->d, v, rank, x, s->rows);
	return hop_lower_load(l, s->d, v->buf, hop_view_at(l, v, rank, x), l->q.cur);
}

/* ---- small ones ---- */

typedef struct small {
	linear        q;
	hop_size      lanes, blocks;
	bool          padded;       /* the last block has lanes that are not of the batch */
	const hop_ix *block;
} small;

enum { BLOCK, LANE, ROW, COL, AXES };

/* Room for operands of so many columns, in blocks of lanes; lanes are next to each other. */
static hop_view block_temp(const small *s, hop_size cols)
{
	hop_lower *l = s->q.l;
	hop_size row = hop_size_mul(l->env, cols, s->lanes);
	hop_size stride[AXES] = { [BLOCK] = hop_size_mul(l->env, s->q.rows, row),
	                          [LANE] = hop_size_int(1), [ROW] = row, [COL] = s->lanes };
	hop_size dim[AXES] = { s->blocks, s->q.rows, cols, s->lanes };
	return strided(l, hop_lower_temp(l, hop_type_get(l->env, s->q.d, AXES, dim)).buf, AXES, stride);
}

static hop_targ block_arg(const small *s, const hop_view *v, int access)
{
	hop_lower *l = s->q.l;
	const hop_ix *at = hop_ix_add(l, v->base, hop_ix_mul(l, s->block, v->stride[BLOCK]));
	return (hop_targ){ hop_lower_addr(l, v->buf, at),
	                   { v->stride[LANE], v->stride[ROW], v->stride[COL] }, access, 0 };
}

static int open_block(const small *s, hop_size cols, const hop_ix **x)
{
	hop_size dim[3] = { s->q.rows, cols, s->lanes };
	const hop_ix *y[3];
	int n = hop_lower_open_dims(s->q.l, 3, dim, y);
	x[BLOCK] = s->block;
	x[ROW] = y[0];
	x[COL] = y[1];
	x[LANE] = y[2];
	return n;
}

/* Where element x of a block is in the op's operand or result; 0, or whether it is there. */
static hop_reg whole_index(const small *s, const hop_ix *const *x, bool turned, const hop_ix **out)
{
	hop_lower *l = s->q.l;
	const hop_ix *at = hop_ix_add(l, hop_ix_mul(l, s->block, s->lanes), x[LANE]);
	hop_ix_unflat(l, at, s->q.lead, hop_lower_in(l, s->q.n, 0)->dim, out);
	out[s->q.lead] = x[turned ? COL : ROW];
	out[s->q.lead + 1] = x[turned ? ROW : COL];
	if (!s->padded)
		return 0;
	return hop_lower_do(l, lt, HOP_bool, hop_lower_ixreg(l, at), hop_lower_sizereg(l, s->q.batch));
}

static void block_in(const small *s, int k)
{
	hop_lower *l = s->q.l;
	const hop_ix *x[AXES], *at[HOP_MAXRANK];
	hop_reg was = l->q.mask, v;
	int n = open_block(s, cols_of(&s->q, k), x);
	l->q.mask = hop_lower_and(l, was, whole_index(s, x, k == 0 && s->q.f->turned, at));
	v = hop_lower_arg(l, s->q.n, k, at);
	l->q.mask = was;
	hop_lower_put(l, s->q.d, s->q.v[k].buf, hop_view_at(l, &s->q.v[k], AXES, x), v);
	hop_lower_close_n(l, n);
}

static void block_out(const small *s, int k, const hop_view *to)
{
	hop_lower *l = s->q.l;
	const hop_ix *x[AXES], *at[HOP_MAXRANK];
	hop_reg was = l->q.mask, v;
	int n = open_block(s, cols_of(&s->q, k), x);
	const hop_type *t = hop_lower_out(l, s->q.n, 0);
	v = element(&s->q, &s->q.v[k], AXES, x);
	l->q.mask = hop_lower_and(l, was, whole_index(s, x, false, at));
	hop_lower_put(l, (hop_dtype)t->dtype, to->buf, hop_view_at(l, to, t->rank, at), v);
	l->q.mask = was;
	hop_lower_close_n(l, n);
}

/* Operand 0 where it is, for the only matrix of a batch. */
static hop_status in_place(small *s)
{
	hop_lower *l = s->q.l;
	const hop_type *t = hop_lower_in(l, s->q.n, 0);
	hop_view v;
	bool turned = s->q.f->turned;
	HOP_TRY(hop_lower_arg_view(l, s->q.n, 0, false, &v));
	if (!l->q.dry.on && v.base->n > HOP_MAXTERM - 5) {
		hop_view to = hop_lower_temp(l, t);
		hop_view_copy(l, t, &v, &to);
		v = to;
	}
	hop_size stride[AXES] = { hop_size_int(0), hop_size_int(1), v.stride[s->q.lead + turned],
	                          v.stride[s->q.lead + !turned] };
	s->q.v[0] = strided(l, v.buf, AXES, stride);
	s->q.v[0].base = v.base;
	return HOP_OK;
}

/* Lanes: all of a batch if it is no longer than a line, else a line of it. */
static void divide(small *s)
{
	hop_env *e = s->q.l->env;
	hop_size b = s->q.batch, line = hop_size_int(LINE / (int64_t)hop_dtype_bytes(s->q.d));
	s->lanes = hop_size_const(b) && b.k <= line.k ? b : line;
	s->blocks = hop_size_div(e, hop_size_add(e, b, hop_size_int(s->lanes.k - 1)), s->lanes);
	s->padded = !hop_size_const(b) || b.k % s->lanes.k;
}

static hop_status small_store(small *s)
{
	hop_lower *l = s->q.l;
	hop_view to = l->q.dest;
	int nin = (int)s->q.n->nin;
	bool there = s->q.f->reads && hop_size_is(s->q.batch, 1) &&
	             s->q.d == (hop_dtype)hop_lower_in(l, s->q.n, 0)->dtype;
	if (hop_size_is(s->q.batch, 0))
		return HOP_OK;
	divide(s);
	if (there)
		HOP_TRY(in_place(s));
	for (int k = there; k < nin; k++)
		s->q.v[k] = block_temp(s, cols_of(&s->q, k));
	s->block = hop_lower_open(l, HOP_LOOP_PAR, s->blocks, NULL);
	for (int k = there; k < nin; k++)
		block_in(s, k);
	if (!l->q.dry.on) {
		s->q.tile->extent[0] = s->lanes;
		for (int k = 0; k < nin; k++)
			s->q.tile->arg[k] = block_arg(s, &s->q.v[k], HOP_READ | HOP_WRITE);
		l->q.b.block = l->q.cur->block;
		HOP_ASSERT(s->q.f->of->expand(&l->q.b, s->q.tile));
	}
	block_out(s, nin - 1, &to);
	hop_lower_close_n(l, !hop_size_is(s->blocks, 1));
	return HOP_OK;
}

/* ---- large ones ---- */

/* Operand k where it may be overwritten, its matrices column after column, or row after row. */
static hop_status copied(linear *s, int k)
{
	hop_lower *l = s->l;
	const hop_type *t = hop_lower_in(l, s->n, k);
	bool turned = s->f->rows == (k == 0 && s->f->turned);
	int row = s->lead, col = row + 1;
	hop_size dim[HOP_MAXRANK], stride[HOP_MAXRANK];
	for (int i = 0; i < row; i++)
		dim[i] = t->dim[i];
	dim[row] = t->dim[turned ? col : row];
	dim[col] = t->dim[turned ? row : col];
	hop_view v = hop_lower_temp(l, hop_type_get(l->env, s->d, t->rank, dim));
	for (int i = 0; i < row; i++)
		stride[i] = v.stride[i];
	stride[row] = v.stride[turned ? col : row];
	stride[col] = v.stride[turned ? row : col];
	s->v[k] = strided(l, v.buf, t->rank, stride);
	return hop_lower_store_arg(l, s->n, k, &s->v[k]);
}

static hop_targ copied_arg(const linear *s, int k)
{
	hop_lower *l = s->l;
	hop_size one = hop_size_int(1), cols = cols_of(s, k);
	hop_targ a = { hop_lower_addr(l, s->v[k].buf, s->v[k].base),
	               { hop_size_mul(l->env, s->rows, cols), one, s->rows },
	               k == 0 && s->f->reads ? HOP_READ : HOP_READ | HOP_WRITE, 0 };
	if (s->f->rows) {
		a.stride[1] = cols;
		a.stride[2] = one;
	}
	return a;
}

static hop_status large_store(linear *s)
{
	hop_lower *l = s->l;
	const hop_type *t = hop_lower_out(l, s->n, 0);
	hop_view to = l->q.dest;
	const hop_ix *x[HOP_MAXRANK];
	int nin = (int)s->n->nin, n;
	for (int k = 0; k < nin; k++)
		HOP_TRY(copied(s, k));
	s->tile->extent[0] = s->batch;
	for (int k = 0; k < nin; k++)
		s->tile->arg[k] = copied_arg(s, k);
	if (s->f->room) {
		hop_view p = hop_lower_temp(l, hop_type_get(l->env, HOP_i32, 1, &s->rows));
		s->tile->arg[nin] = (hop_targ){ hop_lower_addr(l, p.buf, p.base), { hop_size_int(1) },
		                                HOP_WRITE, 0 };
	}
	l->q.b.block = l->q.cur->block;
	hop_l_tile(&l->q.b, s->tile);
	n = hop_lower_open_dims(l, t->rank, t->dim, x);
	hop_reg v = element(s, &s->v[nin - 1], t->rank, x);
	hop_lower_put(l, (hop_dtype)t->dtype, to.buf, hop_view_at(l, &to, t->rank, x), v);
	hop_lower_close_n(l, n);
	return HOP_OK;
}

hop_status hop_lower_linear(hop_lower *l, const hop_node *n, const hop_linear *f)
{
	const hop_type *t = hop_lower_out(l, n, 0);
	if (l->q.ask != HOP_ASK_STORE) {
		hop_lower_must(l);
		return HOP_OK;
	}
	linear q = { .l = l, .n = n, .f = f, .d = hop_dtype_computes((hop_dtype)t->dtype),
	             .lead = t->rank - 2, .batch = hop_size_int(1), .rows = t->dim[t->rank - 2],
	             .tile = HOP_NEW(l->q.a, hop_tile) };
	for (int i = 0; i < q.lead; i++)
		q.batch = hop_size_mul(l->env, q.batch, t->dim[i]);
	*q.tile = (hop_tile){ .of = f->of, .dtype = q.d, .extent = { q.batch, q.rows,
	                                                            t->dim[t->rank - 1] } };
	if (!hop_size_const(q.rows) || q.rows.k > SMALL)
		return large_store(&q);
	if (q.rows.k == 0)
		return HOP_OK;
	return small_store(&(small){ .q = q });
}
