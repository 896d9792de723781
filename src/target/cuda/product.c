/* product.c -- kernels that are nothing but large matrix products, for a library: which they are, when
 * an image is loaded; and in its words, when sizes are known. Everything that it is not sure of stays
 * a kernel. */
#include <string.h>

#include "loop/gemm.h"
#include "target/cuda/image.h"

/* ---- which ---- */

static const hop_stmt *only(const hop_block *b)
{
	return b->first && !b->first->next ? b->first : NULL;
}

/* The stride of r, 0 where it is not there; it is taken out of a. */
static hop_size take(hop_arena *tmp, hop_addr *a, hop_reg r)
{
	hop_addr had = *a;
	hop_size s = hop_size_int(0);
	a->nterm = 0;
	a->term = NULL;
	for (int i = 0; i < had.nterm; i++)
		if (had.term[i].reg == r)
			s = had.term[i].stride;
		else
			hop_addr_add(tmp, a, had.term[i].reg, had.term[i].stride);
	return s;
}

/* What is done with the sums is to store them, rounded or not: then C is where. */
static bool plain_end(hop_env *e, const hop_lfunc *f, hop_gemm *g)
{
	const hop_stmt *s = g->epilogue.first;
	hop_reg v = g->ev;
	if (!s)
		return true;
	if (s->kind == HOP_L_OP && s->sop == HOP_SOP_cast && s->a[0] == v &&
	    hop_dtype_packed((hop_dtype)s->dtype)) {
		v = s->dst;
		s = s->next;
	}
	if (!s || s->next || s->kind != HOP_L_OP || s->sop != HOP_SOP_store || s->a[0] != v || g->beta)
		return false;
	g->c = s->u.addr;
	g->cs[0] = take(&e->tmp, &g->c, g->em);
	g->cs[1] = take(&e->tmp, &g->c, g->en);
	return f->buf[g->c.buf].dtype == (hop_dtype)s->dtype;
}

static bool known(const hop_lfunc *f, const hop_addr *a)
{
	const hop_lbuf *b = &f->buf[a->buf];
	return !a->nterm && (b->kind == HOP_BUF_PARAM || (b->kind == HOP_BUF_TEMP &&
	       (b->space == HOP_SPACE_FRAME || b->space == HOP_SPACE_RESULT ||
	        b->space == HOP_SPACE_SCRATCH)));
}

/* Sums are f32 for packed operands, and the operands' own else. */
static bool dtypes(const hop_lfunc *f, const hop_gemm *g, hop_cuda_product *q)
{
	q->in = f->buf[g->a.buf].dtype;
	q->out = f->buf[g->c.buf].dtype;
	return q->in == f->buf[g->b.buf].dtype && hop_dtype_computes(q->in) == g->dtype &&
	       (q->out == q->in || (q->out == HOP_f32 && hop_dtype_packed(q->in)));
}

static bool describe(hop_env *e, const hop_lfunc *f, hop_cuda_product *q)
{
	const hop_stmt *s = only(&f->body), *loop = NULL;
	if (s && s->kind == HOP_L_LOOP && s->bind.place == HOP_PLACE_BLOCK_Y && !s->bound) {
		loop = s;
		s = only(&s->body);
	}
	if (f->when || !s || s->kind != HOP_L_TILE || s->tile->of != &hop_template_gemm ||
	    s->bind.place != HOP_PLACE_GRID)
		return false;
	hop_gemm  g = hop_gemm_of(s->tile);
	hop_addr *at[] = { &g.a, &g.b, &g.c };
	if (!plain_end(e, f, &g) || !dtypes(f, &g, q))
		return false;
	*q = (hop_cuda_product){ .m = g.m, .n = g.n, .k = g.k, .in = q->in, .out = q->out, .beta = g.beta,
		                 .batch = loop ? loop->extent : hop_size_int(1) };
	for (int i = 0; i < 3; i++) {
		q->step[i] = loop ? take(&e->tmp, at[i], loop->dst) : hop_size_int(0);
		if (!known(f, at[i]) || hop_cuda_copy_arg(e, f, at[i], &q->arg[i]))
			return false;
	}
	memcpy(q->as, g.as, sizeof q->as);
	memcpy(q->bs, g.bs, sizeof q->bs);
	memcpy(q->cs, g.cs, sizeof q->cs);
	return true;
}

const hop_cuda_product *hop_cuda_product_of(hop_env *e, hop_cuda_image *i, const hop_lfunc *f)
{
	hop_cuda_product q = { 0 }, *own;
	hop_mark at = hop_mark_at(&e->tmp);
	bool is = describe(e, f, &q);
	hop_rewind(&e->tmp, at);
	if (!is)
		return NULL;
	own = HOP_NEW(&i->a, hop_cuda_product);
	*own = q;
	return own;
}

/* ---- for sizes that are known ---- */

/* A matrix of so many rows and columns by columns, or turned, so that one of the steps is 1. */
static bool matrix(hop_lt_operand *o, int32_t *turn, int64_t rows, int64_t cols, const int64_t step[2],
                   int64_t next)
{
	*turn = step[0] != 1;
	*o = *turn ? (hop_lt_operand){ cols, rows, step[0], next }
	           : (hop_lt_operand){ rows, cols, step[1], next };
	return step[*turn] == 1 && o->lead >= o->rows && next >= 0;
}

/* All that there is to know, in numbers. */
typedef struct numbers { int64_t m, n, k, batch, as[2], bs[2], cs[2], step[3]; } numbers;

static bool evaluate(const hop_cuda_product *q, const int64_t *syms, int nsym, numbers *out)
{
	const hop_size s[] = { q->m, q->n, q->k, q->batch, q->as[0], q->as[1], q->bs[0], q->bs[1], q->cs[0],
	                       q->cs[1], q->step[0], q->step[1], q->step[2] };
	int64_t v[sizeof s / sizeof *s];
	_Static_assert(sizeof v == sizeof *out, "one for each");
	for (size_t i = 0; i < sizeof s / sizeof *s; i++)
		if (!hop_size_eval(s[i], syms, nsym, &v[i]))
			return false;
	memcpy(out, v, sizeof v);
	return true;
}

/* C by rows is C transposed by columns, the product of the transposed the other way around. */
static void turn_all(numbers *x, int order[3])
{
	numbers y = *x;
	for (int i = 0; i < 2; i++) {
		x->as[i] = y.bs[!i];
		x->bs[i] = y.as[!i];
		x->cs[i] = y.cs[!i];
		x->step[i] = y.step[!i];
	}
	x->m = y.n;
	x->n = y.m;
	order[0] = 1;
	order[1] = 0;
}

static bool is_large(const numbers *x, hop_dtype in)
{
	enum { MOST = 1 << 30 };               /* that an int holds, for sure */
	if (x->m < 2 || x->n < 2 || x->k < 2 || x->batch < 1 || x->m > MOST || x->n > MOST || x->k > MOST ||
	    x->batch > MOST)
		return false;
	return 2. * (double)x->m * (double)x->n * (double)x->k * (double)x->batch >= hop_lt_least(in);
}

static bool shape_of(const hop_cuda_product *q, const numbers *x, hop_lt_shape *s)
{
	int32_t turned;
	*s = (hop_lt_shape){ .batch = x->batch, .dtype_in = q->in, .dtype_out = q->out, .beta = q->beta };
	return matrix(&s->l, &s->turn_l, x->m, x->k, x->as, x->step[0]) &&
	       matrix(&s->r, &s->turn_r, x->k, x->n, x->bs, x->step[1]) &&
	       matrix(&s->d, &turned, x->m, x->n, x->cs, x->step[2]) && !turned &&
	       (x->batch == 1 || x->step[2] > 0);
}

const hop_lt *hop_cuda_product_way(hop_cuda_image *i, const hop_cuda_product *q, const int64_t *syms,
                                   int nsym, int order[3])
{
	numbers x;
	hop_lt_shape s;
	for (int k = 0; k < 3; k++)
		order[k] = k;
	if (!evaluate(q, syms, nsym, &x) || !is_large(&x, q->in))
		return NULL;
	if (x.cs[0] != 1)
		turn_all(&x, order);
	if (!shape_of(q, &x, &s))
		return NULL;
	pthread_mutex_lock(&i->lock);
	const hop_lt *way = hop_lt_find(i->d, &i->mem, &s, &i->products);
	pthread_mutex_unlock(&i->lock);
	return way;
}
