/* loop.c -- build loop programs and print them. The text is complete: it has all that
 * decides the machine code, so its hash is the key of the object cache. Locations are not
 * in it. Does not check anything; loop_verify.c does. */
#include <string.h>

#include "ir/rule.h"
#include "loop/loop.h"

const hop_soprow hop_soptab[HOP_NSOP] = {
	{ "none", 0, 0, 0 },
#define HOP_SOP(name, in, on, cost) { #name, in, HOP_ON_##on, cost },
#define HOP_SOP_IN HOP_SOP
#define HOP_SOP_MEM HOP_SOP
#include "loop/sops.def"
};

bool hop_sop_memory(enum hop_sop s)
{
	return s == HOP_SOP_load || hop_sop_writes(s);
}

bool hop_sop_writes(enum hop_sop s)
{
	return s == HOP_SOP_store || s == HOP_SOP_count;
}

bool hop_sop_takes(enum hop_sop s, int dtype)
{
	return hop_soptab[s].on >> hop_dtype_class((hop_dtype)dtype) & 1;
}

int hop_sop_cost(enum hop_sop s, int dtype)
{
	bool whole = s == HOP_SOP_div && !hop_dtype_real((hop_dtype)dtype);
	bool rounds = s == HOP_SOP_cast && hop_dtype_packed((hop_dtype)dtype);
	return whole ? 20 : rounds ? 6 : hop_soptab[s].cost;
}

static const char *const redname[] = { "add", "max", "min", "mul", "or", "and" };

/* ---- building ---- */

void hop_block_append(hop_block *b, hop_stmt *s)
{
	if (!b)
		return;
	s->next = NULL;
	if (b->last)
		b->last->next = s;
	else
		b->first = s;
	b->last = s;
}

void hop_block_join(hop_block *b, const hop_block *what)
{
	if (!what->first)
		return;
	if (b->last)
		b->last->next = what->first;
	else
		b->first = what->first;
	b->last = what->last;
}

hop_stmt *hop_l_stmt(hop_lbuild *b, enum hop_lkind k)
{
	hop_stmt *s = HOP_NEW(b->a, hop_stmt);
	s->kind = k;
	s->loc = b->loc;
	hop_block_append(b->block, s);
	return s;
}

hop_reg hop_l_reg(hop_lbuild *b)
{
	return ++b->f->nreg;
}

hop_stmt *hop_l_tile(hop_lbuild *b, hop_tile *t)
{
	hop_stmt *s = hop_l_stmt(b, HOP_L_TILE);
	s->tile = t;
	return s;
}

hop_stmt *hop_l_loop(hop_lbuild *b, enum hop_loop_kind k, hop_size n, hop_reg var)
{
	hop_stmt *s = hop_l_stmt(b, HOP_L_LOOP);
	s->loop = (uint8_t)k;
	s->extent = n;
	s->dst = var;
	b->block = &s->body;
	return s;
}

/* The array doubles when its count is a power of two, so no capacity is kept. */
int hop_l_buf(hop_lbuild *b, hop_lbuf v)
{
	hop_lfunc *f = b->f;
	int n = f->nbuf;
	if ((n & (n - 1)) == 0) {
		hop_lbuf *p = HOP_NEWN(b->a, hop_lbuf, n ? 2 * n : 1);

		if (n)
			memcpy(p, f->buf, (size_t)n * sizeof *p);
		f->buf = p;
	}
	f->buf[n] = v;
	return f->nbuf++;
}

static hop_stmt *op(hop_lbuild *b, enum hop_sop s, hop_dtype d, int na, const hop_reg *a)
{
	hop_stmt *st = hop_l_stmt(b, HOP_L_OP);
	HOP_ASSERT(na >= 0 && na <= 3);
	st->sop = s;
	st->dtype = d;
	st->na = na;
	for (int i = 0; i < na; i++)
		st->a[i] = a[i];
	if (s != HOP_SOP_store)
		st->dst = hop_l_reg(b);
	return st;
}

hop_reg hop_l_op(hop_lbuild *b, enum hop_sop s, hop_dtype d, int na, const hop_reg *a)
{
	return op(b, s, d, na, a)->dst;
}

hop_reg hop_l_constf(hop_lbuild *b, hop_dtype d, double v)
{
	hop_stmt *s = op(b, HOP_SOP_constf, d, 0, NULL);
	s->u.f = v;
	return s->dst;
}

hop_reg hop_l_consti(hop_lbuild *b, hop_dtype d, int64_t v)
{
	hop_stmt *s = op(b, HOP_SOP_consti, d, 0, NULL);
	s->u.i = v;
	return s->dst;
}

hop_reg hop_l_size(hop_lbuild *b, hop_size v)
{
	hop_stmt *s = op(b, HOP_SOP_size, HOP_i64, 0, NULL);
	s->u.size = v;
	return s->dst;
}

void hop_addr_add(hop_arena *a, hop_addr *x, hop_reg r, hop_size stride)
{
	hop_term *t = HOP_NEWN(a, hop_term, x->nterm + 1);
	if (x->nterm)
		memcpy(t, x->term, (size_t)x->nterm * sizeof *t);
	t[x->nterm++] = (hop_term){ r, stride };
	x->term = t;
}

hop_reg hop_l_load(hop_lbuild *b, hop_dtype d, const hop_addr *at)
{
	hop_stmt *s = op(b, HOP_SOP_load, d, 0, NULL);
	s->u.addr = *at;
	return s->dst;
}

void hop_l_store(hop_lbuild *b, hop_dtype d, const hop_addr *at, hop_reg v)
{
	op(b, HOP_SOP_store, d, 1, &v)->u.addr = *at;
}

/* ---- printing ---- */

static void put_block(hop_buf *o, const hop_block *b, int depth);

static void put_size(hop_buf *o, hop_size s)
{
	hop_size_print(o, s, NULL, 0);
}

static void put_check(hop_buf *o, const hop_check *c)
{
	put_size(o, c->a);
	hop_put(o, c->rel == HOP_EQ ? " == " : " <= ");
	put_size(o, c->b);
}

static void indent(hop_buf *o, int depth)
{
	for (int i = 0; i < depth; i++)
		hop_put(o, "  ");
}

static void put_addr(hop_buf *o, const hop_addr *a)
{
	hop_putf(o, "b%d[", a->buf);
	for (int i = 0; i < a->nterm; i++) {
		hop_putf(o, "r%d", a->term[i].reg);
		if (!hop_size_is(a->term[i].stride, 1)) {
			hop_put(o, "*(");
			put_size(o, a->term[i].stride);
			hop_putc(o, ')');
		}
		hop_put(o, " + ");
	}
	put_size(o, a->offset);
	hop_putc(o, ']');
}

static void put_regs(hop_buf *o, int n, const hop_reg *a)
{
	for (int i = 0; i < n; i++)
		hop_putf(o, "%s r%d", i ? "," : "", a[i]);
}

static void put_op(hop_buf *o, const hop_stmt *s)
{
	if (s->dst)
		hop_putf(o, "r%d = ", s->dst);
	hop_putf(o, "%s %s", hop_soptab[s->sop].name, hop_dtype_name(s->dtype));
	switch (s->sop) {
	case HOP_SOP_constf:
		hop_putc(o, ' ');
		hop_dtype_put_float(o, (hop_dtype)s->dtype, s->u.f);
		break;
	case HOP_SOP_consti:
		hop_putf(o, " %lld", (long long)s->u.i);
		break;
	case HOP_SOP_size:
		hop_putc(o, ' ');
		put_size(o, s->u.size);
		break;
	case HOP_SOP_load:
	case HOP_SOP_store:
	case HOP_SOP_count:
		hop_putc(o, ' ');
		put_addr(o, &s->u.addr);
		break;
	default:
		break;
	}
	put_regs(o, s->na, s->a);
}

static void put_carries(hop_buf *o, const hop_stmt *s)
{
	for (int i = 0; i < s->ncarry; i++) {
		hop_put(o, i ? ", " : " then ");
		put_addr(o, &s->carry[i].now);
		hop_put(o, " = ");
		put_addr(o, &s->carry[i].next);
		hop_put(o, " x ");
		put_size(o, s->carry[i].count);
	}
}

static void put_bind(hop_buf *o, const hop_bind *b)
{
	static const char *const place[] = { "", "grid", "blocks x", "blocks y", "blocks z", "warps",
	                                     "threads", "lanes" };
	if (b->width && !b->place)
		hop_putf(o, " vector %d x %d%s", b->width, b->jam, b->light ? " light" : "");
	if (b->turned)
		hop_put(o, " turned");
	if (b->thread)
		hop_put(o, " thread");
	if (b->blocks)
		hop_put(o, " blocks");
	if (b->ordered)
		hop_put(o, " ordered");
	if (b->slice)
		hop_putf(o, " slice r%d", b->slice);
	if (b->least)
		hop_putf(o, " from %lld", (long long)b->least);
	if (b->place)
		hop_putf(o, " over %s", place[b->place]);
	if (b->each > 1)
		hop_putf(o, " each %d", b->each);
	if (b->place && b->width > 1)
		hop_putf(o, " width %d", b->width);
}

static void put_loop(hop_buf *o, const hop_stmt *s, int depth)
{
	static const char *const kind[] = { "par", "red", "seq" };

	hop_putf(o, "loop %s%s%s r%d < ", kind[s->loop], s->loose ? " loose" : "",
	         s->reverse ? " reverse" : "", s->dst);
	if (s->bound)
		hop_putf(o, "r%d", s->bound);
	else
		put_size(o, s->extent);
	put_bind(o, &s->bind);
	for (int i = 0; i < s->nacc; i++) {
		const hop_acc *c = &s->acc[i];

		hop_putf(o, ", r%d = %s %s r%d from r%d", c->result, redname[c->op],
		         hop_dtype_name(c->dtype), c->value, c->init);
	}
	hop_put(o, " {\n");
	put_block(o, &s->body, depth + 1);
	indent(o, depth);
	hop_putc(o, '}');
	put_carries(o, s);
}

static void put_operand(hop_buf *o, const hop_tile *t, int i)
{
	hop_putf(o, " %s ", t->of->arg[i].name);
	if (t->arg[i].stored)
		hop_putf(o, "%s ", hop_dtype_name(hop_tile_dtype(t, i)));
	put_addr(o, &t->arg[i].at);
	for (int k = 0; k < t->of->arg[i].naxis; k++) {
		hop_put(o, k ? "," : " by ");
		put_size(o, t->arg[i].stride[k]);
	}
}

static void put_hole(hop_buf *o, const hop_tile *t, int i, int depth)
{
	const hop_hole *h = &t->hole[i];
	hop_put(o, " each");
	for (int k = 0; k < t->of->hole[i].npos + t->of->hole[i].nval; k++)
		hop_putf(o, " r%d", h->reg[k]);
	hop_put(o, " {\n");
	put_block(o, &h->body, depth + 1);
	indent(o, depth);
	hop_putc(o, '}');
}

static void put_tile(hop_buf *o, const hop_stmt *s, int depth)
{
	const hop_tile *t = s->tile;
	bool add = t->of->out && t->arg[t->of->out - 1].access & HOP_READ;
	hop_putf(o, "%s %s%s", t->of->name, hop_dtype_name(t->dtype), add ? " add" : "");
	for (int i = 0; i < t->of->nextent; i++) {
		hop_put(o, i ? " x " : " ");
		put_size(o, t->extent[i]);
	}
	for (int i = 0; i < t->of->narg; i++)
		if (t->arg[i].access)
			put_operand(o, t, i);
	put_bind(o, &s->bind);
	for (int i = 0; i < t->of->nhole; i++)
		if (t->hole[i].body.first)
			put_hole(o, t, i, depth);
}

static void put_args(hop_buf *o, const hop_stmt *s)
{
	for (int i = 0; i < s->narg; i++) {
		hop_put(o, i ? ", " : " ");
		put_addr(o, &s->args[i]);
	}
}

static void put_call(hop_buf *o, const hop_stmt *s)
{
	if (s->is_part) {
		hop_putf(o, "part f%d", s->callee);
		return;
	}
	hop_putf(o, "call f%d frame ", s->callee);
	put_size(o, s->frame);
	for (int i = 0; i < s->nsize; i++) {
		hop_put(o, i ? ", " : " sizes ");
		put_size(o, s->sizes[i]);
	}
	put_args(o, s);
}

static void put_stmt(hop_buf *o, const hop_stmt *s, int depth)
{
	static const char *const barrier[] = { "warp", "block", "team", "last", "last along y" };
	indent(o, depth);
	switch (s->kind) {
	case HOP_L_OP:
		put_op(o, s);
		break;
	case HOP_L_LOOP:
		put_loop(o, s, depth);
		break;
	case HOP_L_IF:
		hop_putf(o, "if r%d {\n", s->a[0]);
		put_block(o, &s->body, depth + 1);
		indent(o, depth);
		if (s->other.first) {
			hop_put(o, "} else {\n");
			put_block(o, &s->other, depth + 1);
			indent(o, depth);
		}
		hop_putc(o, '}');
		break;
	case HOP_L_WHILE:
		hop_put(o, s->once ? "while once" : "while");
		if (s->hosted && s->bind.each > 1)
			hop_putf(o, " each %d", s->bind.each);
		hop_put(o, " {\n");
		put_block(o, &s->other, depth + 1);
		indent(o, depth);
		hop_putf(o, "} r%d {\n", s->a[0]);
		put_block(o, &s->body, depth + 1);
		indent(o, depth);
		hop_putc(o, '}');
		put_carries(o, s);
		break;
	case HOP_L_TILE:
		put_tile(o, s, depth);
		break;
	case HOP_L_CALL:
		put_call(o, s);
		break;
	case HOP_L_GROW:
		hop_putf(o, "grow b%d r%d", s->buf, s->a[0]);
		break;
	case HOP_L_EFFECT:
		hop_putf(o, "effect %d", s->callee);
		put_args(o, s);
		break;
	case HOP_L_CHECK:
		hop_putf(o, "check %d", s->callee);
		break;
	case HOP_L_BARRIER:
		hop_putf(o, "barrier %s", barrier[s->callee]);
		break;
	}
	hop_putc(o, '\n');
}

static void put_block(hop_buf *o, const hop_block *b, int depth)
{
	for (const hop_stmt *s = b->first; s; s = s->next)
		put_stmt(o, s, depth);
}

static void put_buf(hop_buf *o, const hop_lbuf *b, int i)
{
	static const char *const kind[] = { "param", "temp", "const", "tape" };

	hop_putf(o, "  b%d: %s", i, kind[b->kind]);
	if (b->kind == HOP_BUF_PARAM || b->kind == HOP_BUF_TAPE)
		hop_putf(o, " %d", b->index);
	hop_putf(o, " %s[", hop_dtype_name(b->dtype));
	put_size(o, b->count);
	hop_putc(o, ']');
	if (b->kind == HOP_BUF_TEMP) {
		if (b->space == HOP_SPACE_RESULT)
			hop_putf(o, " in param %d", b->index);
		else if (b->space != HOP_SPACE_FRAME)
			hop_putf(o, " %s", b->space == HOP_SPACE_SHARED ? "shared" :
			         b->space == HOP_SPACE_LOCAL ? "local" :
			         b->space == HOP_SPACE_OWN ? "own" : "scratch");
		hop_put(o, " at ");
		put_size(o, b->offset);
	}
	if (b->kind == HOP_BUF_CONST) {
		size_t n = (size_t)b->count.k * hop_dtype_bytes(b->dtype);
		hop_hash h = hop_hash_bytes(b->data, n);

		hop_putf(o, " #%016llx%016llx", (unsigned long long)h.hi,
		         (unsigned long long)h.lo);
	}
	if (b->alias)
		hop_putf(o, " may be param %d", b->alias - 1);
	if (b->is_written)
		hop_put(o, " written");
	if (b->is_private)
		hop_put(o, " private");
	if (b->decides || b->counts)
		hop_put(o, b->decides ? " decides" : " counts");
	hop_putc(o, '\n');
}

static void put_team(hop_buf *o, const hop_lfunc *f)
{
	if (f->level != HOP_LEVEL_KERNEL)
		return;
	hop_putf(o, ", %d threads x ", f->team.threads);
	for (int i = 0; i < 3; i++) {
		hop_put(o, i ? "," : "");
		put_size(o, f->team.blocks[i]);
	}
	hop_put(o, f->team.resident ? " resident" : f->team.exact ? " exact" : "");
	if (f->when)
		hop_putf(o, ", when b%d", f->when - 1);
	if (f->shared)
		hop_putf(o, ", shares %lld", (long long)f->shared);
}

static void put_func(hop_buf *o, const hop_lfunc *f, int i)
{
	static const char *const level[] = { "func", "host", "kernel", "team", "thread" };
	hop_putf(o, "%s f%d @%s sizes %d in %d out %d frame ", level[f->level], i,
	         f->name ? f->name : "", f->nsym, f->nin, f->nout);
	put_size(o, f->frame);
	put_team(o, f);
	for (int k = 0; k < f->nlocal; k++)
		hop_putf(o, ", s%d in b%d", f->nsym + k, f->local[k]);
	hop_put(o, " {\n");
	for (int k = 0; k < f->nbuf; k++)
		put_buf(o, &f->buf[k], k);
	put_block(o, &f->body, 1);
	hop_put(o, "}\n");
}

void hop_prog_print(hop_buf *out, const hop_prog *p)
{
	for (int i = 0; i < p->neffect; i++)
		hop_putf(out, "effect %d: %s %s\n", i, hop_optab[p->effect[i].op].name,
		         p->effect[i].text ? p->effect[i].text : "");
	for (int i = 0; i < p->nentry; i++) {
		hop_put(out, "entry ");
		put_check(out, &p->entry[i]);
		hop_putc(out, '\n');
	}
	for (int i = 0; i < p->ncheck; i++) {
		hop_putf(out, "check %d: ", i);
		put_check(out, &p->check[i].c);
		hop_put(out, p->check[i].wide ? " wide\n" : "\n");
	}
	if (p->ntape)
		hop_putf(out, "tapes %d\n", p->ntape);
	for (int i = 0; i < p->nfunc; i++)
		put_func(out, &p->func[i], i);
}
