/* outline.c -- products that stand alone become functions of their own. A matrix product is
 * a hundred times the code of an addition, and the gradient of a layer has several of the
 * same shape: as functions, equal ones are compiled once, and different ones at the same
 * time (target/llvm/parts.c). Leaves what is in loops or has an epilogue where it is: there
 * a call would cost at run time.
 *
 * needs: collected and planned functions.  fills: functions at the end of the program */
#include <string.h>

#include "loop/lower.h"

enum { REST = 40 };              /* weight of what is worth parting from a product */

/* ---- weight ---- */

/* Copying columns that are apart together is as much code as the product. */
static int64_t product_weight(const hop_gemm *g)
{
	return (hop_size_is(g->bs[1], 1) ? 80 : 160) + 2 * hop_block_weight(&g->epilogue);
}

/* Functions of many instructions are called, or few. */
static int64_t op_weight(const hop_stmt *s)
{
	int c = hop_sop_cost(s->sop, s->dtype);
	return c > HOP_SOP_DEAR ? 4 : c > 0;
}

int64_t hop_stmt_weight(const hop_stmt *s)
{
	switch (s->kind) {
	case HOP_L_OP:
		return op_weight(s);
	case HOP_L_GEMM:
		return product_weight(s->gemm);
	case HOP_L_CALL:
		return 6;
	case HOP_L_LOOP:
		return 3 + 2 * hop_block_weight(&s->body);
	default:
		return 2 + hop_block_weight(&s->body) + hop_block_weight(&s->other);
	}
}

int64_t hop_block_weight(const hop_block *b)
{
	int64_t w = 0;
	bool again = false;
	/* calls in a row are little more than data */
	for (const hop_stmt *s = b->first; s; again = s->kind == HOP_L_CALL, s = s->next)
		w += again && s->kind == HOP_L_CALL ? 1 : hop_stmt_weight(s);
	return w;
}

/* ---- products ---- */

/* All that decides the code of a product but where its operands are. */
typedef struct shape {
	int64_t dtype, beta, m, n, k, as[2], bs[2], cs[2];
} shape;

typedef struct kind {
	struct kind *next;
	shape        shape;
	int          uses, index;            /* index 0 = no function yet */
	hop_gemm    *gemm;
	hop_loc      loc;
} kind;

typedef struct outline {
	hop_env  *e;
	hop_prog *p;
	kind     *kinds;
	int       nnew;
} outline;

static bool shape_of(const hop_gemm *g, shape *out)
{
	const hop_size z[] = { g->m, g->n, g->k, g->as[0], g->as[1], g->bs[0], g->bs[1],
	                       g->cs[0], g->cs[1] };
	for (size_t i = 0; i < sizeof z / sizeof *z; i++)
		if (!hop_size_const(z[i]))
			return false;
	*out = (shape){ (int64_t)g->dtype, g->beta, z[0].k, z[1].k, z[2].k,
	                { z[3].k, z[4].k }, { z[5].k, z[6].k }, { z[7].k, z[8].k } };
	return true;
}

/* Small ones are plain loops to a target, and a call is nothing beside the others. */
static bool alone(const hop_stmt *s, shape *out)
{
	const hop_gemm *g = s->gemm;
	return s->kind == HOP_L_GEMM && !g->epilogue.first && !g->a.nterm && !g->b.nterm &&
	       !g->c.nterm && g->a.buf != g->c.buf && g->b.buf != g->c.buf &&
	       shape_of(g, out) && out->m > 1 && out->n >= 16 && out->k > 2 &&
	       (double)out->m * (double)out->n * (double)out->k >= 2048;
}

static kind *kind_of(outline *o, const shape *s)
{
	kind *k = o->kinds;
	while (k && memcmp(&k->shape, s, sizeof *s))
		k = k->next;
	if (!k) {
		k = HOP_NEW(&o->e->tmp, kind);
		k->shape = *s;
		k->next = o->kinds;
		o->kinds = k;
	}
	return k;
}

/* A product that is the only one of its kind and nearly all of its function stays. */
static void visit(outline *o, hop_lfunc *f, bool count)
{
	int64_t w = hop_block_weight(&f->body);
	shape sh;
	for (hop_stmt *s = f->body.first; s; s = s->next) {
		kind *k;
		hop_addr *arg;

		if (!alone(s, &sh))
			continue;
		k = kind_of(o, &sh);
		if (count) {
			k->uses++;
			continue;
		}
		if (k->uses == 1 && w - product_weight(s->gemm) < REST)
			continue;
		if (!k->index) {
			k->index = o->p->nfunc + o->nnew++;
			k->gemm = s->gemm;
			k->loc = s->loc;
		}
		arg = HOP_NEWN(o->p->a, hop_addr, 3);
		arg[0] = s->gemm->a;
		arg[1] = s->gemm->b;
		arg[2] = s->gemm->c;
		*s = (hop_stmt){ .kind = HOP_L_CALL, .next = s->next, .loc = s->loc,
		                 .callee = k->index, .nacc = 2, .narg = 3, .args = arg,
		                 .frame = hop_size_int(0) };
	}
}

static hop_size span(int64_t n0, int64_t n1, const int64_t *stride)
{
	return hop_size_int((n0 - 1) * stride[0] + (n1 - 1) * stride[1] + 1);
}

/* f(a, b, c): c is written, and read too when the product is added to it. */
static hop_lfunc product(outline *o, const kind *k)
{
	const shape *z = &k->shape;
	hop_lfunc f = { .name = "product", .nin = 2, .nout = 1, .frame = hop_size_int(0) };
	hop_lbuild b = { .env = o->e, .a = o->p->a, .f = &f, .block = &f.body,
	                 .loc = k->loc };
	hop_lbuf p = { .kind = HOP_BUF_PARAM, .dtype = k->gemm->dtype };
	hop_gemm *g = HOP_NEW(o->p->a, hop_gemm);
	p.count = span(z->m, z->k, z->as);
	hop_l_buf(&b, p);
	p.index = 1;
	p.count = span(z->k, z->n, z->bs);
	hop_l_buf(&b, p);
	p.index = 2;
	p.count = span(z->m, z->n, z->cs);
	p.is_written = true;
	hop_l_buf(&b, p);
	*g = *k->gemm;
	g->a = (hop_addr){ .buf = 0, .offset = hop_size_int(0) };
	g->b = (hop_addr){ .buf = 1, .offset = hop_size_int(0) };
	g->c = (hop_addr){ .buf = 2, .offset = hop_size_int(0) };
	hop_l_stmt(&b, HOP_L_GEMM)->gemm = g;
	return f;
}

void hop_loop_outline(hop_env *e, hop_prog *p)
{
	hop_mark m = hop_mark_at(&e->tmp);
	outline o = { .e = e, .p = p };
	hop_lfunc *all;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < p->nfunc; i++)
			visit(&o, &p->func[i], pass == 0);
	if (o.nnew) {
		all = HOP_NEWN(p->a, hop_lfunc, p->nfunc + o.nnew);
		memcpy(all, p->func, (size_t)p->nfunc * sizeof *all);
		for (kind *k = o.kinds; k; k = k->next)
			if (k->index)
				all[k->index] = product(&o, k);
		p->func = all;
		p->nfunc += o.nnew;
	}
	hop_rewind(&e->tmp, m);
}
