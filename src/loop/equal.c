/* equal.c -- nests that are equal become calls of one function. A network written out layer
 * by layer has the same loops again and again, on other buffers: what decides the code is
 * the nest with its buffers and registers numbered in the order in which they come, and
 * where that is the same the code is made once. Looks only at nests that stand in the body
 * of a function and take nothing from outside but buffers and constants; sizes are known.
 *
 * needs: a planned function.  fills: calls, and functions of the program */
#include <string.h>

#include "loop/lower.h"

enum { USES = 3, WORTH = 60 };   /* so many of a kind; their weight beyond the first */

/* What is known of the nests of one text. */
typedef struct kind {
	int     uses;
	int64_t weight;
	int     fn;                  /* 1 + index of its function; 0 = none */
} kind;

typedef struct param {
	int     buf;
	int64_t base;                /* where it starts for the nest: no access is below */
	bool    is_written;
	int     at;                  /* position among the arguments */
} param;

/* The nest being read. */
typedef struct reader {
	hop_env   *e;
	hop_arena *a;                /* of the program */
	hop_lfunc *f;
	hop_stmt **def;              /* [nreg+1] constants of the function */
	hop_buf    text;
	bool       ok;
	int       *reg, *buf;        /* [nreg+1], [nbuf] numbers from 1 on; 0 = not met */
	int        nreg, nbuf;
	size_t     regcap, bufcap;
	hop_reg   *met;              /* [nreg] old names; constants are marked in def */
	param     *param;            /* [nbuf] */
} reader;

/* ---- text ---- */

static void put(reader *q, int64_t v)
{
	hop_putn(&q->text, (const char *)&v, sizeof v);
}

static void put_size(reader *q, hop_size s)
{
	q->ok = q->ok && hop_size_const(s);
	put(q, s.k);
}

static int meet(reader *q, hop_reg r)
{
	q->met = hop_arena_grow(&q->e->tmp, q->met, sizeof *q->met, (size_t)q->nreg + 1,
	                        &q->regcap);
	q->met[q->nreg] = r;
	return q->reg[r] = ++q->nreg;
}

static void put_use(reader *q, hop_reg r)
{
	const hop_stmt *c = r ? q->def[r] : NULL;
	if (!r || q->reg[r]) {
		put(q, r ? q->reg[r] : 0);
	} else if (c) {
		put(q, -1);
		put(q, c->sop);
		put(q, c->dtype);
		put(q, c->u.i);              /* the bits, also of a float */
		meet(q, r);
	} else {
		q->ok = false;
	}
}

static void put_def(reader *q, hop_reg r)
{
	put(q, meet(q, r));
}

static void put_addr(reader *q, hop_addr *a, bool is_write)
{
	const hop_lbuf *b = &q->f->buf[a->buf];
	q->ok = q->ok && hop_size_const(a->offset) && hop_size_const(b->count) &&
	        b->kind != HOP_BUF_TAPE && !b->alias;
	if (!q->ok)
		return;
	const param *p = &q->param[q->buf[a->buf] - 1];
	put(q, q->buf[a->buf]);
	put(q, b->dtype);
	put(q, b->count.k - p->base);
	put(q, is_write);
	put(q, a->offset.k - p->base);
	put(q, a->nterm);
	for (int i = 0; i < a->nterm; i++) {
		put_use(q, a->term[i].reg);
		put_size(q, a->term[i].stride);
	}
}

/* The buffers of a nest, in the order in which they come. */
static void meet_addr(void *user, hop_addr *a, bool is_write)
{
	reader *q = user;
	int64_t low = a->offset.k;
	for (int i = 0; i < a->nterm; i++)
		if (a->term[i].stride.e || a->term[i].stride.k < 0)
			low = 0;                     /* it may go down from there */
	if (!q->buf[a->buf]) {
		q->param = hop_arena_grow(&q->e->tmp, q->param, sizeof *q->param,
		                          (size_t)q->nbuf + 1, &q->bufcap);
		q->param[q->nbuf] = (param){ a->buf, low, false, 0 };
		q->buf[a->buf] = ++q->nbuf;
	}
	param *p = &q->param[q->buf[a->buf] - 1];
	p->base = low < p->base ? low : p->base;
	p->is_written |= is_write;
}

static void put_stmt(reader *q, hop_stmt *s);

static void put_block(reader *q, hop_block *b)
{
	for (hop_stmt *s = b->first; s && q->ok; s = s->next)
		put_stmt(q, s);
	put(q, -3);
}

static void put_op(reader *q, hop_stmt *s)
{
	put(q, s->sop);
	put(q, s->dtype);
	put(q, s->na);
	for (int i = 0; i < s->na; i++)
		put_use(q, s->a[i]);
	if (s->sop == HOP_SOP_load || s->sop == HOP_SOP_store)
		put_addr(q, &s->u.addr, s->sop == HOP_SOP_store);
	else if (s->sop == HOP_SOP_size)
		put_size(q, s->u.size);
	else if (s->sop == HOP_SOP_constf || s->sop == HOP_SOP_consti)
		put(q, s->u.i);
	if (s->dst)
		put_def(q, s->dst);
}

static void put_loop(reader *q, hop_stmt *s)
{
	q->ok = q->ok && s->loop != HOP_LOOP_SEQ && !s->bound;
	put(q, s->loop);
	put_size(q, s->extent);
	put(q, s->nacc);
	for (int i = 0; i < s->nacc; i++) {
		put(q, s->acc[i].op);
		put(q, s->acc[i].dtype);
		put_use(q, s->acc[i].init);
	}
	put_def(q, s->dst);
	put(q, s->bind.slice != 0);
	if (s->bind.slice)
		put_def(q, s->bind.slice);
	put_block(q, &s->body);
	for (int i = 0; i < s->nacc; i++)
		put_use(q, s->acc[i].value);
	for (int i = 0; i < s->nacc; i++)
		put_def(q, s->acc[i].result);
}

static void put_tsize(reader *q, hop_size s)
{
	put_size(q, s);
	q->ok = q->ok && s.k >= 0;
}

/* Strides that go down would reach below where its operands begin: see meet_addr. */
static void put_tile(reader *q, hop_tile *t)
{
	put(q, (int64_t)(intptr_t)t->of);
	put(q, t->dtype);
	for (int i = 0; i < t->of->nextent; i++)
		put_tsize(q, t->extent[i]);
	for (int i = 0; i < t->of->narg; i++) {
		put(q, t->arg[i].access);
		put(q, t->arg[i].stored);
		if (!t->arg[i].access)
			continue;
		for (int k = 0; k < t->of->arg[i].naxis; k++)
			put_tsize(q, t->arg[i].stride[k]);
		put_addr(q, &t->arg[i].at, t->arg[i].access & HOP_WRITE);
	}
	for (int i = 0; i < t->of->nhole; i++) {
		hop_hole *h = &t->hole[i];
		for (int k = 0; h->body.first && k < t->of->hole[i].npos + t->of->hole[i].nval; k++)
			put_def(q, h->reg[k]);
		put_block(q, &h->body);
	}
}

static void put_stmt(reader *q, hop_stmt *s)
{
	put(q, s->kind);
	if (s->kind == HOP_L_OP)
		put_op(q, s);
	else if (s->kind == HOP_L_LOOP)
		put_loop(q, s);
	else if (s->kind == HOP_L_TILE)
		put_tile(q, s->tile);
	else
		q->ok = false;
}

static void forget(reader *q)
{
	for (int i = 0; i < q->nreg; i++)
		q->reg[q->met[i]] = 0;
	for (int i = 0; i < q->nbuf; i++)
		q->buf[q->param[i].buf] = 0;
	q->nreg = q->nbuf = 0;
	q->text.n = 0;
}

/* Is it a nest that stands alone? Its text, registers and buffers are in q then. Tiles
 * without more are outline.c's: by their shape, wherever they stand. */
static bool read_nest(reader *q, hop_stmt *s)
{
	forget(q);
	if (s->kind == HOP_L_LOOP ? s->nacc > 0 : s->kind != HOP_L_TILE || !hop_tile_filled(s->tile))
		return false;
	q->ok = true;
	hop_stmt_all_addrs(q->f, s, meet_addr, q);
	put_stmt(q, s);
	return q->ok;
}

/* ---- functions ---- */

static void rename_reg(void *user, hop_reg *r, hop_stmt *def, hop_dtype t)
{
	reader *q = user;
	(void)def, (void)t;
	*r = q->reg[*r];
}

static void move_addr(void *user, hop_addr *a, bool is_write)
{
	reader *q = user;
	param *p = &q->param[q->buf[a->buf] - 1];
	(void)is_write;
	a->offset = hop_size_int(a->offset.k - p->base);
	a->buf = p->at;
}

/* What is only read comes first. */
static int order(reader *q)
{
	int nin = 0, k;
	for (int i = 0; i < q->nbuf; i++)
		nin += !q->param[i].is_written;
	k = nin;
	for (int i = 0, j = 0; i < q->nbuf; i++)
		q->param[i].at = q->param[i].is_written ? k++ : j++;
	return nin;
}

/* The function whose body is s, which is used up. */
static hop_lfunc function(reader *q, hop_stmt *s, int nin)
{
	hop_lfunc f = { .name = "nest", .nin = nin, .nout = q->nbuf - nin,
	                .frame = hop_size_int(0), .nreg = q->nreg, .nbuf = q->nbuf };
	hop_lbuild b = { .env = q->e, .a = q->a, .f = &f, .block = &f.body, .loc = s->loc };
	f.buf = HOP_NEWN(q->a, hop_lbuf, q->nbuf);
	for (int i = 0; i < q->nbuf; i++) {
		const param *p = &q->param[i];
		const hop_lbuf *o = &q->f->buf[p->buf];
		f.buf[p->at] = (hop_lbuf){ .kind = HOP_BUF_PARAM, .dtype = o->dtype, .index = p->at,
		                           .count = hop_size_int(o->count.k - p->base),
		                           .is_written = p->is_written };
	}
	for (int i = 0; i < q->nreg; i++) {
		const hop_stmt *c = q->def[q->met[i]];
		if (!c)
			continue;
		hop_stmt *k = hop_l_stmt(&b, HOP_L_OP);
		*k = *c;
		k->next = NULL;
		k->dst = i + 1;
	}
	hop_stmt_all_addrs(q->f, s, move_addr, q);
	hop_stmt_regs(s, rename_reg, q);
	hop_stmt *body = hop_l_stmt(&b, HOP_L_LOOP);
	*body = *s;
	body->next = NULL;
	return f;
}

static void call(reader *q, hop_stmt *s, int fn, int nin)
{
	hop_addr *arg = HOP_NEWN(q->a, hop_addr, q->nbuf);
	for (int i = 0; i < q->nbuf; i++)
		arg[q->param[i].at] = (hop_addr){ .buf = q->param[i].buf,
		                                  .offset = hop_size_int(q->param[i].base) };
	*s = (hop_stmt){ .kind = HOP_L_CALL, .next = s->next, .loc = s->loc, .callee = fn,
	                 .nacc = nin, .narg = q->nbuf, .args = arg, .frame = hop_size_int(0) };
}

static void find_constants(reader *q, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next)
		if (s->kind == HOP_L_OP && (s->sop == HOP_SOP_constf || s->sop == HOP_SOP_consti))
			q->def[s->dst] = s;
}

static kind *kind_of(reader *q, hop_map *kinds)
{
	kind *k = hop_map_get(kinds, q->text.s, q->text.n);
	if (!k) {
		k = HOP_NEW(kinds->a, kind);
		hop_map_put(kinds, q->text.s, q->text.n, k);
	}
	return k;
}

void hop_loop_equal(hop_lower *l, hop_lfunc *f)
{
	reader q = { .e = l->env, .a = l->q.a, .f = f };
	bool all = hop_loop_part_weight() < WORTH;         /* in tests */
	hop_buf_open(&q.text, l->env);
	q.def = HOP_NEWN(l->w, hop_stmt *, f->nreg + 1);
	q.reg = HOP_NEWN(l->w, int, f->nreg + 1);
	q.buf = HOP_NEWN(l->w, int, f->nbuf + 1);
	find_constants(&q, &f->body);
	for (int pass = 0; pass < 2; pass++)
		for (hop_stmt *s = f->body.first; s; s = s->next) {
			if (!read_nest(&q, s))
				continue;
			kind *k = kind_of(&q, &l->all->nests);
			if (pass == 0) {
				k->uses++;
				k->weight = hop_stmt_weight(s);
				continue;
			}
			if (!k->fn && !all && (k->uses < USES || (k->uses - 1) * k->weight < WORTH))
				continue;
			int nin = order(&q);
			if (!k->fn)
				k->fn = 1 + hop_lower_add(l, function(&q, s, nin));
			call(&q, s, k->fn - 1, nin);
		}
	hop_buf_free(&q.text);
}
