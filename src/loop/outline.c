/* outline.c -- tiles that stand alone become functions of their own. A matrix product is
 * a hundred times the code of an addition, and the gradient of a layer has several of the
 * same shape: as functions, equal ones are compiled once, and different ones at the same
 * time (target/llvm/parts.c). Leaves what is in loops or has a filled hole where it is: there
 * a call would cost at run time.
 *
 * needs: collected and planned functions.  fills: functions at the end of the program */
#include <string.h>

#include "loop/lower.h"

enum { REST = 40 };              /* weight of what is worth parting from a tile */

/* ---- weight ---- */

static int64_t tile_weight(const hop_tile *t)
{
	int64_t w = t->of->weight(t);
	for (int i = 0; i < t->of->nhole; i++)
		w += 2 * hop_block_weight(&t->hole[i].body);
	return w;
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
	case HOP_L_TILE:
		return tile_weight(s->tile);
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

/* ---- tiles ---- */

/* All that decides the code of a tile but where its operands are. */
typedef struct shape {
	const hop_template *of;
	int64_t dtype, extent[HOP_TILE_EXTENTS];
	struct { int64_t access, stored, stride[HOP_TILE_AXES]; } arg[HOP_TILE_ARGS];
} shape;

typedef struct kind {
	struct kind *next;
	shape        shape;
	int          uses, index;            /* index 0 = no function yet */
	hop_tile    *tile;
	hop_bind     bind;
	hop_loc      loc;
} kind;

typedef struct outline {
	hop_env  *e;
	hop_prog *p;
	kind     *kinds;
	int       nnew;
} outline;

static bool known(hop_size s, int64_t *out)
{
	*out = s.k;
	return hop_size_const(s);
}

static bool shape_of(const hop_tile *t, shape *out)
{
	bool ok = true;
	*out = (shape){ .of = t->of, .dtype = (int64_t)t->dtype };
	for (int i = 0; i < t->of->nextent; i++)
		ok = ok && known(t->extent[i], &out->extent[i]);
	for (int i = 0; i < t->of->narg; i++) {
		out->arg[i].access = t->arg[i].access;
		out->arg[i].stored = t->arg[i].stored;
		for (int k = 0; k < t->of->arg[i].naxis; k++)
			ok = ok && known(t->arg[i].stride[k], &out->arg[i].stride[k]);
	}
	return ok;
}

/* Its operands are known before, and what it writes is in a buffer of its own. */
static bool apart(const hop_tile *t)
{
	for (int i = 0; i < t->of->narg; i++) {
		if (t->arg[i].at.nterm || !t->arg[i].access)
			return false;
		for (int k = 0; k < i; k++)
			if (t->arg[i].at.buf == t->arg[k].at.buf && t->arg[i].access & HOP_WRITE)
				return false;
	}
	return true;
}

static bool alone(const hop_stmt *s, shape *out)
{
	return s->kind == HOP_L_TILE && !hop_tile_filled(s->tile) && apart(s->tile) &&
	       shape_of(s->tile, out) && s->tile->of->alone(s->tile);
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

static hop_stmt call(outline *o, const hop_stmt *s, int callee)
{
	int n = s->tile->of->narg, nin = 0;
	hop_addr *arg = HOP_NEWN(o->p->a, hop_addr, n);
	for (int i = 0; i < n; i++) {
		arg[i] = s->tile->arg[i].at;
		nin += !(s->tile->arg[i].access & HOP_WRITE);
	}
	return (hop_stmt){ .kind = HOP_L_CALL, .next = s->next, .loc = s->loc, .callee = callee,
	                   .nacc = nin, .narg = n, .args = arg, .frame = hop_size_int(0) };
}

/* A tile that is the only one of its kind and nearly all of its function stays. */
static void visit(outline *o, hop_lfunc *f, bool count)
{
	int64_t w = hop_block_weight(&f->body);
	shape sh;
	for (hop_stmt *s = f->body.first; s; s = s->next) {
		kind *k;

		if (!alone(s, &sh))
			continue;
		k = kind_of(o, &sh);
		if (count) {
			k->uses++;
			continue;
		}
		if (k->uses == 1 && w - tile_weight(s->tile) < REST)
			continue;
		if (!k->index) {
			k->index = o->p->nfunc + o->nnew++;
			k->tile = s->tile;
			k->bind = s->bind;
			k->loc = s->loc;
		}
		*s = call(o, s, k->index);
	}
}

/* Elements from the first to the last of operand i. */
static hop_size span(const kind *k, int i)
{
	const hop_template *t = k->shape.of;
	int64_t n = 1;
	for (int j = 0; j < t->arg[i].naxis; j++)
		n += (k->shape.extent[t->arg[i].axis[j]] - 1) * k->shape.arg[i].stride[j];
	return hop_size_int(n);
}

/* f(operands): what is written may be read too. */
static hop_lfunc function(outline *o, const kind *k)
{
	const hop_template *t = k->shape.of;
	hop_lfunc f = { .name = t->func, .frame = hop_size_int(0) };
	hop_lbuild b = { .env = o->e, .a = o->p->a, .f = &f, .block = &f.body, .loc = k->loc };
	hop_tile *own = HOP_NEW(o->p->a, hop_tile);
	*own = *k->tile;
	for (int i = 0; i < t->narg; i++) {
		const hop_lbuf p = { .kind = HOP_BUF_PARAM, .index = i, .count = span(k, i),
		                     .dtype = hop_tile_dtype(own, i),
		                     .is_written = own->arg[i].access & HOP_WRITE };
		own->arg[i].at = (hop_addr){ .buf = hop_l_buf(&b, p), .offset = hop_size_int(0) };
		*(p.is_written ? &f.nout : &f.nin) += 1;
	}
	hop_l_tile(&b, own)->bind = k->bind;
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
				all[k->index] = function(&o, k);
		p->func = all;
		p->nfunc += o.nnew;
	}
	hop_rewind(&e->tmp, m);
}
