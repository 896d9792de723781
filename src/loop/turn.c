/* turn.c -- steps of a loop that multiply what they carry: h = f(h @ w). Threads of a device that have
 * their part of the new h must wait for all that still read the old one, then again until the new one is
 * there. Two halves, taken in turns, need the second wait only, and f may finish the product in the same
 * kernel (tile.c). Before the loop the old value is copied to one half, behind it from the last.
 *
 * needs: fused loops, no carries yet.  keeps: all other buffers.  fills: hop_lbuf.turns */
#include "loop/lower.h"
#include "loop/walk.h"

enum { LEAST = 1024 };          /* elements; fewer are nothing to wait for */

typedef struct turn {
	hop_env   *e;
	hop_arena *a;
	hop_lfunc *f;
	hop_stmt  *seq, *writer;
	int        buf;
	int64_t    least;
} turn;

/* ---- who touches it ---- */

typedef struct touch { int buf, nread, nwrite; } touch;

static void see(void *user, hop_addr *a, bool is_write)
{
	touch *t = user;
	t->nread += !is_write && a->buf == t->buf;
	t->nwrite += is_write && a->buf == t->buf;
}

static touch touches(turn *t, hop_stmt *s)
{
	touch k = { .buf = t->buf };
	hop_stmt_all_addrs(t->f, s, see, &k);
	return k;
}

static bool multiplies(const turn *t, const hop_stmt *s)
{
	bool any = false;
	if (s->kind != HOP_L_TILE)
		return false;
	for (int i = 0; i < s->tile->of->narg; i++)
		any |= s->tile->arg[i].access == HOP_READ && s->tile->arg[i].at.buf == t->buf;
	return any;
}

static bool has_room(turn *t, hop_block *b)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		hop_addr *a;
		int k = hop_stmt_blocks(s, sub);
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
			if (a->buf == t->buf && a->nterm > HOP_MAXTERM - 2)
				return false;
		for (int i = 0; i < k; i++)
			if (!has_room(t, sub[i]))
				return false;
	}
	return true;
}

/* ---- all of it is written ---- */

/* A loop, or a loop that is nothing but another: the innermost. */
static hop_stmt *inner(hop_stmt *s)
{
	hop_stmt *in = s->body.first;
	return in && !in->next && in->kind == HOP_L_LOOP ? in : s;
}

static bool is_map(const hop_stmt *s)
{
	return s->kind == HOP_L_LOOP && s->loop == HOP_LOOP_PAR && !s->bound && !s->ncarry;
}

/* The element at i, or at i * columns + j, for all of them. */
static bool covers(turn *t, hop_stmt *out, hop_stmt *in, const hop_addr *a)
{
	hop_size n = t->f->buf[t->buf].count, all = in->extent;
	int j = hop_addr_term(a, in->dst), i = out == in ? -1 : hop_addr_term(a, out->dst);
	if (out != in)
		all = hop_size_mul(t->e, out->extent, in->extent);
	if (!hop_size_eq(n, all) || !hop_size_is(a->offset, 0) || j < 0 ||
	    !hop_size_is(a->term[j].stride, 1) || a->nterm != 1 + (out != in))
		return false;
	return out == in || (i >= 0 && hop_size_eq(a->term[i].stride, in->extent));
}

/* Operations that read an element before they write it, and no other. */
static bool writes_all(turn *t, hop_stmt *out)
{
	hop_stmt *in = inner(out), *store = NULL;
	if (!is_map(out) || !is_map(in))
		return false;
	for (hop_stmt *s = in->body.first; s; s = s->next) {
		if (s->kind != HOP_L_OP)
			return false;
		if (s->sop == HOP_SOP_store && s->u.addr.buf == t->buf) {
			if (store || s->na > 1 || !covers(t, out, in, &s->u.addr))
				return false;
			store = s;
		}
	}
	for (hop_stmt *s = in->body.first; s && store; s = s->next) {
		if (s->sop == HOP_SOP_load && s->u.addr.buf == t->buf &&
		    !hop_addr_eq(&s->u.addr, &store->u.addr))
			return false;
		if (s == store)
			for (hop_stmt *q = s->next; q; q = q->next)
				if (q->sop == HOP_SOP_load && q->u.addr.buf == t->buf)
					return false;
	}
	return store;
}

/* Products read it, then one loop writes all of it, then nobody needs it in this step. */
static bool fits(turn *t)
{
	const hop_lbuf *b = &t->f->buf[t->buf];
	bool used = false;
	t->writer = NULL;
	if (t->seq->bound || t->seq->ncarry || !hop_size_const(b->count) || b->count.k < t->least ||
	    (b->kind != HOP_BUF_TEMP && b->kind != HOP_BUF_PARAM) || !has_room(t, &t->seq->body))
		return false;
	for (hop_stmt *s = t->seq->body.first; s; s = s->next) {
		touch k = touches(t, s);
		if (t->writer ? k.nread || k.nwrite : k.nwrite && !writes_all(t, s))
			return false;
		if (k.nwrite)
			t->writer = s;
		used |= !t->writer && multiplies(t, s);
	}
	return t->writer && used;
}

/* ---- two halves ---- */

static void move(turn *t, hop_block *b, int to, hop_reg now, hop_reg next, hop_size n)
{
	for (hop_stmt *s = b->first; s; s = s->next) {
		hop_block *sub[2];
		hop_addr *a;
		int k = hop_stmt_blocks(s, sub);
		for (int i = 0; (a = hop_stmt_addr(s, i)); i++)
			if (a->buf == t->buf) {
				a->buf = to;
				hop_addr_add(t->a, a, hop_stmt_access(s, i) & HOP_WRITE ? next : now, n);
			}
		for (int i = 0; i < k; i++)
			move(t, sub[i], to, now, next, n);
	}
}

static hop_stmt *copy(turn *t, int from, hop_size at, int to, hop_size where)
{
	hop_size n = t->f->buf[t->buf].count;
	hop_dtype d = t->f->buf[t->buf].dtype;
	hop_block out = { 0 };
	hop_lbuild b = { .env = t->e, .a = t->a, .f = t->f, .block = &out, .loc = t->seq->loc };
	hop_reg i = hop_l_reg(&b);
	hop_addr x = { .buf = from, .offset = at }, y = { .buf = to, .offset = where };
	hop_addr_add(t->a, &x, i, hop_size_int(1));
	hop_addr_add(t->a, &y, i, hop_size_int(1));
	hop_l_loop(&b, HOP_LOOP_PAR, n, i);
	hop_reg v = hop_l_load(&b, d, &x);
	hop_l_store(&b, d, &y, v);
	return out.first;
}

/* The half that a step reads is that of its number. */
static void halve(turn *t, hop_block *around)
{
	hop_stmt *seq = t->seq, *before, *after;
	const hop_lbuf was = t->f->buf[t->buf];
	hop_size two = hop_size_int(2), n = was.count, first = hop_size_int(0), last;
	hop_block head = { 0 };
	hop_lbuild b = { .env = t->e, .a = t->a, .f = t->f, .block = &head, .loc = seq->loc };
	int to = hop_l_buf(&b, (hop_lbuf){ .kind = HOP_BUF_TEMP, .dtype = was.dtype, .is_written = true,
	                                   .count = hop_size_mul(t->e, two, n), .turns = true });
	hop_reg now = hop_l_op(&b, HOP_SOP_rem, HOP_i64, 2, (hop_reg[]){ seq->dst, hop_l_size(&b, two) });
	hop_reg next = hop_l_op(&b, HOP_SOP_sub, HOP_i64, 2,
	                        (hop_reg[]){ hop_l_size(&b, hop_size_int(1)), now });
	last = hop_size_mod(t->e, seq->extent, two);
	if (seq->reverse) {
		first = hop_size_mod(t->e, hop_size_add(t->e, seq->extent, hop_size_int(1)), two);
		last = hop_size_int(1);
	}
	move(t, &seq->body, to, now, next, n);
	head.last->next = seq->body.first;
	seq->body.first = head.first;
	before = copy(t, t->buf, hop_size_int(0), to, hop_size_mul(t->e, first, n));
	after = copy(t, to, hop_size_mul(t->e, last, n), t->buf, hop_size_int(0));
	after->next = seq->next;
	seq->next = after;
	if (around->last == seq)
		around->last = after;
	before->next = seq;
	hop_stmt **at = &around->first;
	while (*at != seq)
		at = &(*at)->next;
	*at = before;
}

void hop_loop_turn(hop_env *e, hop_arena *a, const hop_machine *m, hop_lfunc *f)
{
	turn t = { .e = e, .a = a, .f = f, .least = m->small ? 1 : LEAST };
	for (hop_stmt *s = f->body.first, *next; s; s = next) {
		next = s->next;
		t.seq = s;
		if (s->kind != HOP_L_LOOP || s->loop != HOP_LOOP_SEQ)
			continue;
		for (t.buf = 0; t.buf < f->nbuf; t.buf++)
			if (!f->buf[t.buf].turns && fits(&t))
				halve(&t, &f->body);
	}
}
